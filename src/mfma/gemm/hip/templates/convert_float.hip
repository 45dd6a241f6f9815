// ${given} to ${wanted}, ${rounds}${beyond}.
__host__ __device__ inline ${wanted_type} ${name}(${given_type} element) {
${split}
    if (significand == 0) return __builtin_bit_cast(${wanted_type}, (${result_type})${zero});
    // The number is significand * 2^exponent; the result has its last place at 2^(leading - ${significand}).
    int leading = exponent + ${top} - ${clz}(significand);
    if (leading < ${min_exponent}) leading = ${min_exponent};
${scaled}    // The leading bit, and a carry out of the significand, both add 1 to the exponent.
    result += (${word})(leading + ${lowest_field}) << ${significand};
${limited}${no_sign}    return __builtin_bit_cast(${wanted_type}, (${result_type})(${signed}));
}

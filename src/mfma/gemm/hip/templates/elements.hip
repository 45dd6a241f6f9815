${vector_types}
using elem_a = ${elem_a};  // ${note_a}
using elem_b = ${elem_b};  // ${note_b}
using elem_c = ${elem_c};  // ${note_c}: accumulators and C
${conversions}
constexpr int wave_size = 64;

${values}

// a * b + c ${rounding}.
__host__ __device__ inline elem_c multiply_add(elem_c a, elem_c b, elem_c c) {
    return ${multiply_add};
}

__host__ __device__ inline elem_c multiply(elem_c a, elem_c b) { return ${multiply}; }

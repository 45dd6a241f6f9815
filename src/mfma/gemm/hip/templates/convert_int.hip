// ${given} to ${wanted}${beyond}.
__host__ __device__ inline ${wanted_type} ${name}(${given_type} element) {
    return (${wanted_type})(${value});
}

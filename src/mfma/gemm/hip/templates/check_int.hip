// Whether an element of the result is right: exactly, modulo 2^32.
template <typename ComputePolicy>
bool is_right(const Problem& p, const Operands& operands, size_t at, ${mem_c} computed) {
    const size_t product = at / p.n / p.m, i = at / p.n % p.m, j = at % p.n;
    std::uint32_t sum = 0;
    for (size_t kk = 0; kk < (size_t)p.k; ++kk) {
        const int a = ${operand_a};
        const int b = ${operand_b};
        sum += (std::uint32_t)(a * b);
    }
    const std::uint32_t alpha = p.alpha, beta = p.beta, c = ${operand_c};
${verdict}
}

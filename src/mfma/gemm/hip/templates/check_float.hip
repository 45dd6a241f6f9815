// Whether an element of the result is right. Each of the k products and the sums with C may lose a unit in the last
// place of the largest of them, no more.
template <typename ComputePolicy>
bool is_right(const Problem& p, const Operands& operands, size_t at, ${mem_c} computed) {
    const size_t product = at / p.n / p.m, i = at / p.n % p.m, j = at % p.n;
    ${wide} sum = 0, magnitude = 0;
    for (size_t kk = 0; kk < (size_t)p.k; ++kk) {
        const ${wide} a = ${operand_a};
        const ${wide} b = ${operand_b};
        sum += a * b;
        magnitude += std::fabs(a * b);
    }
${given_c}    const ${wide} alpha = p.alpha, scaled_c = p.beta == 0 ? 0 : (${wide})p.beta * ${operand_c};
    const ${wide} expected = alpha * sum + scaled_c;
    const ${wide} tolerance = (p.k + 8) * (${wide})std::numeric_limits<elem_c>::epsilon() *
                             (std::fabs(alpha) * magnitude + std::fabs(scaled_c));
${verdict}
}

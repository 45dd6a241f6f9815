"""How a matrix instruction adds up, as records that the arithmetic takes as arguments.

The rules were established by randomised comparison with MI300X hardware (MMA-Sim, arXiv 2511.10909;
the values are those of its package mmasim 2.1.1) and by MI300X outputs that are public. The records hold
the numbers only; `mfma.numerics` has the two implementations.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Accumulation", "FmaChain", "GroupSum", "IntegerSum"]


@dataclass(frozen=True)
class FmaChain:
    """``d = fma(a[k], b[k], d)`` for ascending k: one IEEE rounding, to nearest even, for every k."""

    @property
    def group(self) -> int:
        """Products that are added before a rounding."""
        return 1


@dataclass(frozen=True)
class GroupSum:
    """Exact products of ``group`` consecutive k, aligned, cut, added, and rounded once to binary32.

    With ``e`` the exponent of a product (the sum of its operands' exponents, not renormalised), ``e_dot``
    the largest of a group and ``E = max(e_dot, exponent of c)``:

    1. each product is cut toward zero to a multiple of ``2**(e_dot - product_bits)``, and they are added;
    2. if ``parity``, even and odd k go through step 1 apart, and both sums are then floored to a multiple of
       ``2**(e_dot - product_bits)`` of the common ``e_dot``;
    3. the sum is floored to a multiple of ``2**(E - sum_bits)``, c to one of ``2**(E - addend_bits)``; if
       ``far_addend`` is given, a c whose exponent is at most ``E - far_addend`` counts as zero;
    4. their total, of exponent ``t``, is floored to a multiple of ``2**(t - total_bits)``;
    5. and rounded to nearest even to binary32, which is the c of the next group.
    """

    group: int
    parity: bool = False
    far_addend: int | None = None
    product_bits: int = 24
    sum_bits: int = 32
    addend_bits: int = 24
    total_bits: int = 31


@dataclass(frozen=True)
class IntegerSum:
    """Exact integer products and sum, modulo 2**32."""

    @property
    def group(self) -> int:
        """Products that are added before a reduction; the order cannot matter."""
        return 1


Accumulation = FmaChain | GroupSum | IntegerSum

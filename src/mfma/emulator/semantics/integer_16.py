"""Integer arithmetic of the vector ALU on 16 bits, one number per register.

The older instructions zero the other half of the destination; those that came with GFX9 keep it, and choose halves
with op_sel.
"""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.semantics.bits import maximum, minimum, shift_count, signed_maximum, signed_minimum
from mfma.emulator.semantics.integer import exact, saturating
from mfma.emulator.semantics.valu import vector
from mfma.emulator.semantics.values import B16, B32, B64, Value

saturating("v_add_u16", B16, False, lambda a, b: a + b)
saturating("v_sub_u16", B16, False, lambda a, b: a - b)
saturating("v_subrev_u16", B16, False, lambda a, b: b - a)
saturating("v_add_i16", B16, True, lambda a, b: a + b, preserve_high=True)
saturating("v_sub_i16", B16, True, lambda a, b: a - b, preserve_high=True)
saturating("v_mad_legacy_u16", B16, False, lambda a, b, c: a * b + c, 3)
saturating("v_mad_legacy_i16", B16, True, lambda a, b, c: a * b + c, 3)
saturating("v_mad_u16", B16, False, lambda a, b, c: a * b + c, 3, preserve_high=True)
saturating("v_mad_i16", B16, True, lambda a, b, c: a * b + c, 3, preserve_high=True)

vector("v_mul_lo_u16", result=B16, sources=(B16, B16))(lambda a, b: a * b)
vector("v_lshlrev_b16", result=B16, sources=(B16, B16))(lambda a, b: b << shift_count(a, B16))
vector("v_lshrrev_b16", result=B16, sources=(B16, B16))(lambda a, b: b >> shift_count(a, B16))
vector("v_ashrrev_i16", result=B16, sources=(B16, B16))(lambda a, b: b.sar(shift_count(a, B16)))

Function = Callable[..., Value]

for kind, small, large in (("i16", signed_minimum, signed_maximum), ("u16", minimum, maximum)):
    three: dict[str, Function] = {
        f"v_min3_{kind}": lambda a, b, c, f=small: f(f(a, b), c),
        f"v_max3_{kind}": lambda a, b, c, f=large: f(f(a, b), c),
        f"v_med3_{kind}": lambda a, b, c, low=small, high=large: low(high(a, b), high(low(a, b), c)),
    }
    vector(f"v_min_{kind}", result=B16, sources=(B16, B16))(small)
    vector(f"v_max_{kind}", result=B16, sources=(B16, B16))(large)
    for name, function in three.items():
        vector(name, result=B16, sources=(B16, B16, B16), preserve_high=True)(function)


# 32-bit sums of exact products

exact(
    "v_mad_u32_u16",
    result=B32,
    sources=(B16, B16, B32),
    signed=False,
    function=lambda a, b, c: a.zext(B64) * b.zext(B64) + c.zext(B64),
)
exact(
    "v_mad_i32_i16",
    result=B32,
    sources=(B16, B16, B32),
    signed=True,
    function=lambda a, b, c: a.sext(B64) * b.sext(B64) + c.sext(B64),
)

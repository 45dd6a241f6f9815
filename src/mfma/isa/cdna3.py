"""The matrix instructions of CDNA3 (gfx942: MI300X, MI300A, MI325X), one row each.

Sources: the ROCm page "CDNA3 dense MFMA builtins" (names, operations, cycles, co-execution), AMD's matrix
instruction calculator 1.3.2 (shapes, blocks, modifiers, sparse rows) and LLVM 22 (opcodes, builtin names).
The three agree on every row, except that the calculator prints opcode 0x54 for both wide i8 forms.
"""

from mfma.formats import BF8, BF16, F16, F32, F64, FP8, I8, I32, XF32
from mfma.isa.accumulation import FmaChain, GroupSum, IntegerSum
from mfma.isa.spec import Blgp, MatrixOp, Pipe

__all__ = ["DENSE", "SPARSE", "TARGET"]

TARGET = "gfx942"

CHAIN = FmaChain()
INTEGER = IntegerSum()
SUM4, SUM8 = GroupSum(4), GroupSum(8)
SUM16 = GroupSum(16, parity=True, far_addend=26)

XDL, SGEMM, DGEMM = Pipe.XDL, Pipe.SGEMM, Pipe.DGEMM
LANES, NEG, NONE = Blgp.LANES, Blgp.NEG, Blgp.NONE

#    out   m   n   k  blk  a     b     suffix      opcode cyc coex pipe   blgp   accumulation
DENSE = tuple(
    MatrixOp(TARGET, *row)
    for row in (
        (F32, 32, 32, 1, 2, F32, F32, "f32", 0x40, 64, 0, SGEMM, LANES, CHAIN),
        (F32, 16, 16, 1, 4, F32, F32, "f32", 0x41, 32, 0, SGEMM, LANES, CHAIN),
        (F32, 4, 4, 1, 16, F32, F32, "f32", 0x42, 8, 0, SGEMM, LANES, CHAIN),
        (F32, 32, 32, 2, 1, F32, F32, "f32", 0x44, 64, 0, SGEMM, LANES, CHAIN),
        (F32, 16, 16, 4, 1, F32, F32, "f32", 0x45, 32, 0, SGEMM, LANES, CHAIN),
        (F32, 32, 32, 4, 2, F16, F16, "f16", 0x48, 64, 60, XDL, LANES, SUM4),
        (F32, 16, 16, 4, 4, F16, F16, "f16", 0x49, 32, 28, XDL, LANES, SUM4),
        (F32, 4, 4, 4, 16, F16, F16, "f16", 0x4A, 8, 4, XDL, LANES, SUM4),
        (F32, 32, 32, 8, 1, F16, F16, "f16", 0x4C, 32, 28, XDL, NONE, SUM8),
        (F32, 16, 16, 16, 1, F16, F16, "f16", 0x4D, 16, 12, XDL, NONE, SUM8),
        (F32, 32, 32, 4, 2, BF16, BF16, "bf16_1k", 0x5D, 64, 60, XDL, LANES, SUM4),
        (F32, 16, 16, 4, 4, BF16, BF16, "bf16_1k", 0x5E, 32, 28, XDL, LANES, SUM4),
        (F32, 4, 4, 4, 16, BF16, BF16, "bf16_1k", 0x5F, 8, 4, XDL, LANES, SUM4),
        (F32, 32, 32, 8, 1, BF16, BF16, "bf16_1k", 0x60, 32, 28, XDL, NONE, SUM8),
        (F32, 16, 16, 16, 1, BF16, BF16, "bf16_1k", 0x61, 16, 12, XDL, NONE, SUM8),
        (F32, 32, 32, 4, 1, XF32, XF32, "_xf32", 0x3F, 32, 28, XDL, NONE, SUM4),
        (F32, 16, 16, 8, 1, XF32, XF32, "_xf32", 0x3E, 16, 12, XDL, NONE, SUM4),
        (F32, 32, 32, 16, 1, FP8, FP8, "_fp8_fp8", 0x77, 32, 28, XDL, NONE, SUM16),
        (F32, 32, 32, 16, 1, FP8, BF8, "_fp8_bf8", 0x76, 32, 28, XDL, NONE, SUM16),
        (F32, 32, 32, 16, 1, BF8, FP8, "_bf8_fp8", 0x75, 32, 28, XDL, NONE, SUM16),
        (F32, 32, 32, 16, 1, BF8, BF8, "_bf8_bf8", 0x74, 32, 28, XDL, NONE, SUM16),
        (F32, 16, 16, 32, 1, FP8, FP8, "_fp8_fp8", 0x73, 16, 12, XDL, NONE, SUM16),
        (F32, 16, 16, 32, 1, FP8, BF8, "_fp8_bf8", 0x72, 16, 12, XDL, NONE, SUM16),
        (F32, 16, 16, 32, 1, BF8, FP8, "_bf8_fp8", 0x71, 16, 12, XDL, NONE, SUM16),
        (F32, 16, 16, 32, 1, BF8, BF8, "_bf8_bf8", 0x70, 16, 12, XDL, NONE, SUM16),
        (F64, 16, 16, 4, 1, F64, F64, "f64", 0x6E, 32, 0, DGEMM, NEG, CHAIN),
        (F64, 4, 4, 4, 4, F64, F64, "f64", 0x6F, 16, 0, DGEMM, NEG, CHAIN),
        (I32, 32, 32, 4, 2, I8, I8, "i8", 0x50, 64, 60, XDL, LANES, INTEGER),
        (I32, 16, 16, 4, 4, I8, I8, "i8", 0x51, 32, 28, XDL, LANES, INTEGER),
        (I32, 4, 4, 4, 16, I8, I8, "i8", 0x52, 8, 4, XDL, LANES, INTEGER),
        (I32, 32, 32, 16, 1, I8, I8, "_i8", 0x56, 32, 28, XDL, NONE, INTEGER),
        (I32, 16, 16, 32, 1, I8, I8, "_i8", 0x57, 16, 12, XDL, NONE, INTEGER),
    )
)
"""The 32 dense instructions, in the page's order."""

SPARSE = tuple(
    MatrixOp(TARGET, *row, XDL, NONE, None, sparse=True)
    for row in (
        (F32, 16, 16, 32, 1, F16, F16, "_f16", 0x62, 16, 8),
        (F32, 32, 32, 16, 1, F16, F16, "_f16", 0x64, 32, 24),
        (F32, 16, 16, 32, 1, BF16, BF16, "_bf16", 0x66, 16, 8),
        (F32, 32, 32, 16, 1, BF16, BF16, "_bf16", 0x68, 32, 24),
        (I32, 16, 16, 64, 1, I8, I8, "_i8", 0x6A, 16, 8),
        (I32, 32, 32, 32, 1, I8, I8, "_i8", 0x6C, 32, 24),
        (F32, 16, 16, 64, 1, BF8, BF8, "_bf8_bf8", 0x78, 16, 8),
        (F32, 16, 16, 64, 1, BF8, FP8, "_bf8_fp8", 0x79, 16, 8),
        (F32, 16, 16, 64, 1, FP8, BF8, "_fp8_bf8", 0x7A, 16, 8),
        (F32, 16, 16, 64, 1, FP8, FP8, "_fp8_fp8", 0x7B, 16, 8),
        (F32, 32, 32, 32, 1, BF8, BF8, "_bf8_bf8", 0x7C, 32, 24),
        (F32, 32, 32, 32, 1, BF8, FP8, "_bf8_fp8", 0x7D, 32, 24),
        (F32, 32, 32, 32, 1, FP8, BF8, "_fp8_bf8", 0x7E, 32, 24),
        (F32, 32, 32, 32, 1, FP8, FP8, "_fp8_fp8", 0x7F, 32, 24),
    )
)
"""The 14 sparse instructions (SMFMAC): placement is known, nobody has established their arithmetic."""

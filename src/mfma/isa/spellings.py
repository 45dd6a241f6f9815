"""Older assembler spellings of the matrix instructions, as gfx942's assembler resolves them.

An older spelling drops the block count and the underscore before the type: ``v_mfma_f32_32x32x4f16`` is
``v_mfma_f32_32x32x4_2b_f16``. Source: every combination of shape, block count and type tried with LLVM 22.
"""

from __future__ import annotations

from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.spec import MatrixOp

__all__ = ["ASSEMBLER_SPELLINGS", "CHANGED_SINCE_GFX90A", "RETIRED", "older_spellings"]


def older_spellings(op: MatrixOp) -> tuple[str, ...]:
    """Return the spellings other than ``op.mnemonic`` that the assembler takes for this instruction.

    >>> from mfma.isa.cdna3 import DENSE
    >>> older_spellings(DENSE[10])
    ('v_mfma_f32_32x32x4bf16', 'v_mfma_f32_32x32x4bf16_1k')
    """
    # The 8-bit floats came after the change of names: their two types are never run into the shape.
    if op.a.bits == 8 and not op.a.is_integer:
        return ()
    joined = f"v_{op.family}_{op.out}_{op.m}x{op.n}x{op.k}{op.a}"
    as_builtin = f"v_{op.family}_{op.name}"
    return tuple(sorted({joined, as_builtin} - {op.mnemonic}))


ASSEMBLER_SPELLINGS: dict[str, str] = {
    spelling: op.mnemonic for op in DENSE + SPARSE for spelling in older_spellings(op)
}
"""Older spelling -> mnemonic, for all 46 instructions. It does not hold the mnemonics themselves."""

RETIRED: dict[str, str] = {
    "v_mfma_f32_32x32x2bf16": "v_mfma_f32_32x32x4_2b_bf16",
    "v_mfma_f32_16x16x2bf16": "v_mfma_f32_16x16x4_4b_bf16",
    "v_mfma_f32_4x4x2bf16": "v_mfma_f32_4x4x4_16b_bf16",
    "v_mfma_f32_16x16x8bf16": "v_mfma_f32_16x16x16_bf16",
    "v_mfma_i32_32x32x8i8": "v_mfma_i32_32x32x16_i8",
    "v_mfma_i32_16x16x16i8": "v_mfma_i32_16x16x32_i8",
}
"""gfx90a spelling that gfx942's assembler refuses -> the instruction of the same tile with twice the K."""

CHANGED_SINCE_GFX90A: dict[str, str] = {
    "v_mfma_f32_32x32x4bf16": "v_mfma_f32_32x32x8_bf16",
}
"""gfx90a spelling that means another instruction on gfx942 -> the one of the same tile with twice the K.

On gfx90a ``v_mfma_f32_32x32x4bf16`` is one block of A and B in one register each; gfx942's assembler takes the
same text for ``v_mfma_f32_32x32x4_2b_bf16``. It is the only spelling that both accept with different meanings.
"""

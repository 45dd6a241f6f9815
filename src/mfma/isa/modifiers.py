"""Which ``cbsz``, ``abid`` and ``blgp`` are legal, with a reason for every refusal.

``cbsz`` broadcasts blocks of A in groups of ``2**cbsz``, ``abid`` picks the block of the group that is read, and
``blgp`` selects a lane pattern of B or, on f64, negates A (bit 0), B (bit 1) and C (bit 2). Compilers check only that
the three are constants: clang truncates what does not fit its field and encodes the rest, so these rules are the only
protection. They are those of AMD's matrix instruction calculator 1.3.2.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import SupportsIndex

from mfma.errors import ModifierError
from mfma.formats import BF16, F16
from mfma.isa.spec import Blgp, MatrixOp, Pipe

__all__ = ["blgp_is_disputed", "check_modifiers", "legal_modifiers", "max_blgp"]

UNCHECKED = "Compilers do not check this."

MAX_BLGP = {Blgp.LANES: 7, Blgp.NEG: 7, Blgp.NONE: 0}


def max_blgp(op: MatrixOp) -> int:
    """Return the largest legal ``blgp`` of an instruction: 7, or 0 where the field must be 0."""
    return MAX_BLGP[op.blgp]


def blgp_is_disputed(op: MatrixOp) -> bool:
    """Say whether two vendor texts disagree about ``blgp``: on the one-block f16 and bf16 forms."""
    return op.blgp is Blgp.NONE and not op.sparse and op.a in (F16, BF16)


def check_modifiers(op: MatrixOp, cbsz: SupportsIndex, abid: SupportsIndex, blgp: SupportsIndex) -> None:
    """Raise `ModifierError` unless the three modifiers are legal together for this instruction.

    >>> from mfma.isa.cdna3 import DENSE
    >>> check_modifiers(DENSE[0], 1, 1, 7)
    >>> check_modifiers(DENSE[0], 2, 0, 0)
    Traceback (most recent call last):
        ...
    mfma.errors.ModifierError: f32_32x32x1f32 takes cbsz 0..1, not 2: it has 2 blocks. Compilers do not check this.
    """
    size, block, pattern = _integer("cbsz", cbsz), _integer("abid", abid), _integer("blgp", blgp)
    if not 0 <= size <= op.max_cbsz:
        raise ModifierError(
            f"{op} takes cbsz {_upto(op.max_cbsz)}, not {size}: {_why_cbsz(op)}. {UNCHECKED}{_no_dense_rule(op)}"
        )
    if not 0 <= block < 1 << size:
        raise ModifierError(
            f"{op} with cbsz {size} takes abid {_upto((1 << size) - 1)}, not {block}: "
            f"abid is the block within a group of 2**cbsz that all of the group read. {UNCHECKED}{_no_dense_rule(op)}"
        )
    if not 0 <= pattern <= max_blgp(op):
        raise ModifierError(f"{op} takes blgp {_upto(max_blgp(op))}, not {pattern}: {_why_blgp(op)}. {UNCHECKED}")


def legal_modifiers(op: MatrixOp) -> Iterator[tuple[int, int, int]]:
    """Yield every legal ``(cbsz, abid, blgp)`` of an instruction, in ascending order.

    >>> from mfma.isa.cdna3 import DENSE
    >>> sum(1 for _ in legal_modifiers(DENSE[0]))  # (1 + 2) broadcasts, 8 lane patterns
    24
    """
    for cbsz in range(op.max_cbsz + 1):
        for abid in range(1 << cbsz):
            for blgp in range(max_blgp(op) + 1):
                yield cbsz, abid, blgp


def _integer(name: str, value: SupportsIndex) -> int:
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise ModifierError(f"{name} must be an integer constant, as in C; got {value!r} ({type(value).__name__}).")


def _upto(highest: int) -> str:
    return f"0..{highest}" if highest else "0 only"


def _why_cbsz(op: MatrixOp) -> str:
    if op.pipe is Pipe.DGEMM:
        return "f64 instructions cannot broadcast A"
    return f"it has {op.blocks} blocks" if op.blocks > 1 else "it has one block, so there is nothing to broadcast"


def _why_blgp(op: MatrixOp) -> str:
    if op.blgp is Blgp.LANES:
        return "blgp selects one of eight lane patterns of B"
    if op.blgp is Blgp.NEG:
        return "on f64 its bits 0, 1 and 2 negate A, B and C"
    if blgp_is_disputed(op):
        return (
            "two vendor texts disagree about it (AMD's builtin reference offers lane patterns on this form, "
            "AMD's matrix instruction calculator says that CDNA3 does not support them)"
        )
    return "it has no lane patterns of B"


def _no_dense_rule(op: MatrixOp) -> str:
    """Word the caveat of the sparse forms, whose ``cbsz`` and ``abid`` would choose the index field."""
    if not op.sparse:
        return ""
    return " On sparse instructions three vendor texts disagree about what cbsz and abid do, so both must be 0 here."

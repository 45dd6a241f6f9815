"""What a mnemonic says about its operands: the conventions of the assembler, as data.

The unit is the word before the first underscore. An instruction writes its first operand, unless one of the words
that follow says otherwise. Source: the operand lists that LLVM documents for gfx940 and gfx942.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.spec import MatrixOp
from mfma.isa.spellings import ASSEMBLER_SPELLINGS

__all__ = ["Destination", "Flow", "Form", "Forms", "Kind"]


class Kind(enum.Enum):
    """What executes an instruction, as far as wait states depend on it."""

    SCALAR = "SALU, s_waitcnt and other instructions without vector registers"
    NOP = "s_nop"
    BRANCH = "ends a basic block"
    VALU = "VALU"
    DOT = "dot product in the VALU"
    MATRIX = "MFMA or SMFMAC"
    MEMORY = "VMEM, FLAT or LDS"


class Destination(enum.Enum):
    """Which vector registers of its operands an instruction writes; it reads the others."""

    NONE = "none"
    FIRST = "the first operand"
    ALL = "all operands"
    RETURNED = "the first operand, which it does not read, if a modifier asks for the value before an atomic operation"
    EXCHANGED = "the same, but the first operand is also the data"


class Flow(enum.Enum):
    """Where execution goes after an instruction that ends a block."""

    JUMP = "the label"
    EITHER = "the label or the next instruction"
    NEXT = "the next instruction"
    STOP = "nowhere that the text tells"


@dataclass(frozen=True)
class Form:
    """What follows from a mnemonic alone."""

    kind: Kind
    destination: Destination = Destination.NONE
    writes_exec: bool = False
    is_f64_fma: bool = False
    flow: Flow | None = None
    op: MatrixOp | None = None


UNITS = {
    "v": Kind.VALU,
    "s": Kind.SCALAR,
    "ds": Kind.MEMORY,
    "global": Kind.MEMORY,
    "flat": Kind.MEMORY,
    "scratch": Kind.MEMORY,
    "buffer": Kind.MEMORY,
    "tbuffer": Kind.MEMORY,
}

SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa")
"""What the assembler allows behind a VALU mnemonic to choose its encoding."""

DS_RESULT = frozenset(
    ["read", "read2", "read2st64", "load", "rtn", "permute", "bpermute", "swizzle", "append", "consume", "ordered"]
)
"""Words of the LDS instructions that return something."""

FLOWS = {
    "s_branch": Flow.JUMP,
    "s_cbranch_scc0": Flow.EITHER,
    "s_cbranch_scc1": Flow.EITHER,
    "s_cbranch_vccz": Flow.EITHER,
    "s_cbranch_vccnz": Flow.EITHER,
    "s_cbranch_execz": Flow.EITHER,
    "s_cbranch_execnz": Flow.EITHER,
    "s_cbranch_cdbgsys": Flow.EITHER,
    "s_cbranch_cdbguser": Flow.EITHER,
    "s_cbranch_cdbgsys_or_user": Flow.EITHER,
    "s_cbranch_cdbgsys_and_user": Flow.EITHER,
    "s_call_b64": Flow.EITHER,
    "s_swappc_b64": Flow.NEXT,
    "s_setpc_b64": Flow.STOP,
    "s_rfe_b64": Flow.STOP,
    "s_endpgm": Flow.STOP,
    "s_endpgm_saved": Flow.STOP,
}

WRITES_ALL = frozenset(["v_swap_b32"])
WRITES_NONE = frozenset(["v_nop", "v_clrexcp"])
F64_FMA = frozenset(["v_fma_f64", "v_fmac_f64"])
DOT_WORDS = frozenset(["dot2", "dot4", "dot8", "dot2c", "dot4c", "dot8c"])
MATRIX_WORDS = frozenset(["mfma", "smfmac"])

OPS = {op.mnemonic: op for op in DENSE + SPARSE}
MATRIX = OPS | {old: OPS[mnemonic] for old, mnemonic in ASSEMBLER_SPELLINGS.items()}


class Forms(dict[str, Form | None]):
    """Mnemonic -> form, found at the first use; None for what is no instruction of gfx942's kind."""

    def __missing__(self, mnemonic: str) -> Form | None:
        form = self[mnemonic] = _form(mnemonic.lower())
        return form


def _form(mnemonic: str) -> Form | None:
    unit, _, rest = mnemonic.partition("_")
    kind = UNITS.get(unit)
    if kind is None or not rest:
        return None
    if kind is Kind.SCALAR:
        return _scalar(mnemonic)
    if kind is Kind.VALU:
        return _valu(mnemonic)
    return Form(kind, _memory(unit, frozenset(rest.split("_"))))


def _scalar(mnemonic: str) -> Form:
    if mnemonic == "s_nop":
        return Form(Kind.NOP)
    flow = FLOWS.get(mnemonic)
    return Form(Kind.BRANCH if flow else Kind.SCALAR, flow=flow)


def _valu(mnemonic: str) -> Form:
    suffix = next((end for end in SUFFIXES if mnemonic.endswith(end)), "")
    name = mnemonic.removesuffix(suffix)
    word = name.split("_")[1]
    if word in MATRIX_WORDS:
        return Form(Kind.MATRIX, Destination.FIRST, op=MATRIX.get(name))
    destination = (
        Destination.NONE if name in WRITES_NONE else Destination.ALL if name in WRITES_ALL else Destination.FIRST
    )
    return Form(
        Kind.DOT if word in DOT_WORDS else Kind.VALU,
        destination,
        writes_exec=word == "cmpx",
        is_f64_fma=name in F64_FMA,
    )


def _memory(unit: str, words: frozenset[str]) -> Destination:
    if unit == "ds":
        return Destination.FIRST if words & DS_RESULT else Destination.NONE
    if "atomic" in words:
        return Destination.EXCHANGED if unit == "buffer" else Destination.RETURNED
    # A load to LDS writes no vector register.
    return Destination.FIRST if "load" in words and "lds" not in words else Destination.NONE

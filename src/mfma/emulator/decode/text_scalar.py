"""The numbers of scalar instructions as text: counters, messages, hardware registers, branches."""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.decode.instruction import Instruction
from mfma.emulator.decode.records import Encoding
from mfma.emulator.decode.text import SINGLES_OF, WRITERS, operands_text
from mfma.encoding.word import Bits, Word

__all__ = ["GPR_INDEX", "Hwreg", "Message", "Waitcnt"]


class Waitcnt(Word):
    """The number of ``s_waitcnt``: outstanding operations to wait down to; all ones do not wait."""

    __slots__ = ()
    vmcnt_low, expcnt, lgkmcnt, vmcnt_high = Bits(3, 0), Bits(6, 4), Bits(11, 8), Bits(15, 14)

    @property
    def vmcnt(self) -> int:
        """Vector memory operations."""
        return self.vmcnt_low | self.vmcnt_high << 4


class Message(Word):
    """The number of ``s_sendmsg``."""

    __slots__ = ()
    identity, operation, stream = Bits(3, 0), Bits(6, 4), Bits(9, 8)


class Hwreg(Word):
    """The number of ``s_getreg`` and ``s_setreg``: a hardware register and a bit field of it."""

    __slots__ = ()
    identity, offset, width_less_one = Bits(5, 0), Bits(10, 6), Bits(15, 11)


HARDWARE_REGISTERS = {
    1: "HW_REG_MODE",
    2: "HW_REG_STATUS",
    3: "HW_REG_TRAPSTS",
    4: "HW_REG_HW_ID",
    5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC",
    7: "HW_REG_IB_STS",
    15: "HW_REG_SH_MEM_BASES",
    16: "HW_REG_TBA_LO",
    17: "HW_REG_TBA_HI",
    18: "HW_REG_TMA_LO",
    19: "HW_REG_TMA_HI",
    20: "HW_REG_XCC_ID",
    21: "HW_REG_SQ_PERF_SNAPSHOT_DATA",
    22: "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
    23: "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
    24: "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
}
MESSAGES = {
    1: "MSG_INTERRUPT",
    4: "MSG_SAVEWAVE",
    5: "MSG_STALL_WAVE_GEN",
    6: "MSG_HALT_WAVES",
    7: "MSG_ORDERED_PS_DONE",
    8: "MSG_EARLY_PRIM_DEALLOC",
    9: "MSG_GS_ALLOC_REQ",
    10: "MSG_GET_DOORBELL",
}
"""Messages without an operation."""

MSG_GS_DONE, MSG_SYSMSG = 3, 15
GEOMETRY = {2: "MSG_GS", MSG_GS_DONE: "MSG_GS_DONE"}
GS_OPERATIONS = {0: "GS_OP_NOP", 1: "GS_OP_CUT", 2: "GS_OP_EMIT", 3: "GS_OP_EMIT_CUT"}
SYSTEM_OPERATIONS = {1: "SYSMSG_OP_ECC_ERR_INTERRUPT", 2: "SYSMSG_OP_REG_RD", 4: "SYSMSG_OP_TTRACE_PC"}
GPR_INDEX = ("SRC0", "SRC1", "SRC2", "DST")
"""What bits 0 to 3 of the index mode turn on."""


def _waitcnt(imm: int) -> str:
    fields, largest = Waitcnt(imm), Waitcnt(0xFFFF)
    counters = [(name, getattr(fields, name), getattr(largest, name)) for name in ("vmcnt", "expcnt", "lgkmcnt")]
    waiting = [counter for counter in counters if counter[1] != counter[2]]
    return " ".join(f"{name}({value})" for name, value, _ in waiting or counters)


def _message(imm: int) -> str:
    message = Message(imm)
    identity, operation, stream = message.identity, message.operation, message.stream
    if identity in MESSAGES and not operation and not stream:
        return f"sendmsg({MESSAGES[identity]})"
    if identity == MSG_SYSMSG and operation in SYSTEM_OPERATIONS and not stream:
        return f"sendmsg(MSG_SYSMSG, {SYSTEM_OPERATIONS[operation]})"
    if identity in GEOMETRY and operation in GS_OPERATIONS:
        if operation:
            return f"sendmsg({GEOMETRY[identity]}, {GS_OPERATIONS[operation]}, {stream})"
        if identity == MSG_GS_DONE and not stream:
            return f"sendmsg({GEOMETRY[identity]}, {GS_OPERATIONS[0]})"
    whole = Message(identity=identity, operation=operation, stream=stream).word == imm
    return f"sendmsg({identity}, {operation}, {stream})" if whole else str(imm)


def _hwreg(imm: int) -> str:
    register = Hwreg(imm)
    name = HARDWARE_REGISTERS.get(register.identity, str(register.identity))
    width = register.width_less_one + 1
    whole = not register.offset and width == 32
    return f"hwreg({name})" if whole else f"hwreg({name}, {register.offset}, {width})"


def _gpr_index(imm: int) -> str:
    if imm >= 1 << len(GPR_INDEX):
        return f"{imm:#x}"
    return f"gpr_idx({','.join(name for bit, name in enumerate(GPR_INDEX) if imm >> bit & 1)})"


def _number(imm: int) -> str:
    return str(imm) if imm <= 64 else f"{imm:#x}"


NUMBERS: dict[str, Callable[[int], str]] = {
    "branch": str,
    "decimal": str,
    "number": _number,
    "hexadecimal": hex,
    "waitcnt": _waitcnt,
    "message": _message,
    "hwreg": _hwreg,
    "gpr_index": _gpr_index,
}
"""Style of a row -> the text of its number."""


def _with_number(instruction: Instruction) -> str:
    row, imm = instruction.row, instruction.modifiers.imm
    if not row.style:
        return operands_text(instruction)
    if row.style == "optional":
        return str(imm) if imm else ""
    if row.style == "setreg":
        value = instruction.src[0].literal
        source = operands_text(instruction) if value is None else SINGLES_OF.get(value, f"{value:#x}")
        return f"{_hwreg(imm)}, {source}"
    operands = operands_text(instruction)
    return f"{operands}, {NUMBERS[row.style](imm)}".removeprefix(", ")


for encoding in (Encoding.SOPK, Encoding.SOPP, Encoding.SOPC):
    WRITERS[encoding] = _with_number

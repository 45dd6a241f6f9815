"""Scalar instructions that do more than compute: program flow, the wave's registers, indexed registers.

Waiting, priorities and caches do not change what a program computes here, where memory is always up to date.
"""

from __future__ import annotations

from collections.abc import Callable

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import EXEC, M0, VCC, Machine
from mfma.emulator.semantics.registry import machine
from mfma.emulator.semantics.values import B32, B64, Op, Value

NOTHING = (
    "s_nop", "s_waitcnt", "s_setprio", "s_icache_inv", "s_incperflevel", "s_decperflevel", "s_ttracedata",
    "s_sendmsg", "s_wakeup",
)  # fmt: skip


@machine(*NOTHING, note="waits, caches, priorities and messages to the host change no register")
def _nothing(m: Machine, i: Instruction) -> None:
    pass


@machine("s_sleep")
def _sleep(m: Machine, i: Instruction) -> None:
    m.act(Op.YIELD)


@machine("s_barrier")
def _barrier(m: Machine, i: Instruction) -> None:
    m.act(Op.BARRIER)


@machine("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done")
def _endpgm(m: Machine, i: Instruction) -> None:
    m.act(Op.END)


@machine("s_setkill")
def _setkill(m: Machine, i: Instruction) -> None:
    if i.modifiers.imm & 1:
        m.act(Op.END)


@machine("s_trap", note="trap 3 is a breakpoint, which does nothing without a debugger")
def _trap(m: Machine, i: Instruction) -> None:
    number = i.modifiers.imm & 0xFF
    if number != 3:
        m.act(Op.TRAP, data=f"s_trap {number}")


@machine("s_sethalt", note="only the host could resume a halted wave")
def _sethalt(m: Machine, i: Instruction) -> None:
    if i.modifiers.imm & 1:
        m.act(Op.TRAP, data=f"s_sethalt {i.modifiers.imm}")


@machine("s_sendmsghalt", note="only the host could resume a halted wave")
def _sendmsghalt(m: Machine, i: Instruction) -> None:
    m.act(Op.TRAP, data=f"s_sendmsghalt {i.modifiers.imm}")


@machine("s_rfe_b64", "s_rfe_restore_b64", note="legal in trap handlers only")
def _privileged(m: Machine, i: Instruction) -> None:
    m.act(Op.TRAP, data=f"{i.name} outside a trap handler")


# branches


def target(i: Instruction) -> int:
    """Address that the instruction's own number names."""
    assert i.target is not None
    return i.target


@machine("s_branch")
def _branch(m: Machine, i: Instruction) -> None:
    m.jump(m.constant(B64, target(i)))


def zero(m: Machine, register: int) -> Value:
    """Whether a pair of scalar registers is 0."""
    return m.sgpr(register, 2).equals(0)


def status(m: Machine, bit: int) -> Value:
    """A bit of STATUS."""
    return (m.hardware("STATUS") >> bit & 1).differs(0)


CONDITIONS: dict[str, Callable[[Machine], Value]] = {
    "s_cbranch_scc0": lambda m: ~m.scc,
    "s_cbranch_scc1": lambda m: m.scc,
    "s_cbranch_vccz": lambda m: zero(m, VCC),
    "s_cbranch_vccnz": lambda m: ~zero(m, VCC),
    "s_cbranch_execz": lambda m: zero(m, EXEC),
    "s_cbranch_execnz": lambda m: ~zero(m, EXEC),
    # a debugger sets these bits, for the user and for the system
    "s_cbranch_cdbguser": lambda m: status(m, 20),
    "s_cbranch_cdbgsys": lambda m: status(m, 21),
    "s_cbranch_cdbgsys_or_user": lambda m: status(m, 21) | status(m, 20),
    "s_cbranch_cdbgsys_and_user": lambda m: status(m, 21) & status(m, 20),
}


@machine(*CONDITIONS)
def _cbranch(m: Machine, i: Instruction) -> None:
    m.branch(CONDITIONS[i.name](m), target(i))


@machine("s_getpc_b64")
def _getpc(m: Machine, i: Instruction) -> None:
    m.write(i.dst[0], m.constant(B64, m.next))


@machine("s_setpc_b64")
def _setpc(m: Machine, i: Instruction) -> None:
    m.jump(m.read(i.src[0], B64))


@machine("s_swappc_b64")
def _swappc(m: Machine, i: Instruction) -> None:
    address = m.read(i.src[0], B64)
    m.write(i.dst[0], m.constant(B64, m.next))
    m.jump(address)


@machine("s_call_b64")
def _call(m: Machine, i: Instruction) -> None:
    m.write(i.dst[0], m.constant(B64, m.next))
    m.jump(m.constant(B64, target(i)))


# registers of the hardware, by the number in bits 5:0; bits 10:6 are the first bit, 15:11 the width less 1

REGISTERS = {
    1: "MODE", 2: "STATUS", 3: "TRAPSTS", 4: "HW_ID", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS", 20: "XCC_ID",
}  # fmt: skip


def register_field(m: Machine, i: Instruction) -> tuple[Value, int, int] | None:
    """The register that SOPK's number names, the first bit and the mask of its width; None if it has no model."""
    imm = i.modifiers.imm
    name = REGISTERS.get(imm & 63)
    if name is None:
        m.act(Op.TRAP, data=f"{i.name} of hardware register {imm & 63}, which this emulator does not have")
        return None
    return m.hardware(name), imm >> 6 & 31, (2 << (imm >> 11)) - 1


@machine("s_getreg_b32")
def _getreg(m: Machine, i: Instruction) -> None:
    field = register_field(m, i)
    if field is not None:
        register, low, mask = field
        m.write(i.dst[0], register >> low & mask)


@machine("s_setreg_b32", "s_setreg_imm32_b32", note="only MODE is writable; writes to other registers are ignored")
def _setreg(m: Machine, i: Instruction) -> None:
    field = register_field(m, i)
    if field is None or REGISTERS[i.modifiers.imm & 63] != "MODE":
        return
    register, low, mask = field
    mask = mask << low & 0xFFFF_FFFF
    m.act(Op.SET_MODE, register & ~mask | m.read(i.src[0]) << low & mask)


# scalar registers whose number M0 says

LAST_SGPR = 101


@machine("s_movrels_b32", "s_movrels_b64", note="a register that does not exist reads as s0")
def _movrels(m: Machine, i: Instruction) -> None:
    first, dwords, index = i.src[0].code, i.src[0].dwords, m.sgpr(M0)
    value = m.sgpr(0, dwords)
    for number in range(first, LAST_SGPR + 2 - dwords, dwords):
        value = index.equals(number - first).select(m.sgpr(number, dwords), value)
    m.write(i.dst[0], value)


@machine("s_movreld_b32", "s_movreld_b64", note="a write to a register that does not exist is ignored")
def _movreld(m: Machine, i: Instruction) -> None:
    first, dwords, index = i.dst[0].code, i.dst[0].dwords, m.sgpr(M0)
    value = m.read(i.src[0], B64 if dwords == 2 else B32)
    for number in range(first, LAST_SGPR + 2 - dwords, dwords):
        m.set_sgpr(number, index.equals(number - first).select(value, m.sgpr(number, dwords)))


# vector registers whose number M0 says: `Machine.read` and `Machine.set_vgpr_indexed` do it

GPR_IDX_EN = 1 << 27


def set_m0(m: Machine, mask: int, value: Value | int) -> None:
    """Replace the bits of M0 that the mask names."""
    m.set_sgpr(M0, m.sgpr(M0) & ~mask | value)


@machine("s_set_gpr_idx_on")
def _set_gpr_idx_on(m: Machine, i: Instruction) -> None:
    set_m0(m, 0xF0FF, m.read(i.src[0]) & 0xFF | (i.modifiers.imm & 15) << 12)
    m.act(Op.SET_MODE, m.hardware("MODE") | GPR_IDX_EN)


@machine("s_set_gpr_idx_off")
def _set_gpr_idx_off(m: Machine, i: Instruction) -> None:
    m.act(Op.SET_MODE, m.hardware("MODE") & ~GPR_IDX_EN)


@machine("s_set_gpr_idx_mode")
def _set_gpr_idx_mode(m: Machine, i: Instruction) -> None:
    set_m0(m, 0xF000, (i.modifiers.imm & 15) << 12)


@machine("s_set_gpr_idx_idx")
def _set_gpr_idx_idx(m: Machine, i: Instruction) -> None:
    set_m0(m, 0xFF, m.read(i.src[0]) & 0xFF)


@machine("s_setvskip", note="vector instructions are not skipped here; no compiler uses it")
def _setvskip(m: Machine, i: Instruction) -> None:
    m.act(Op.TRAP, data="s_setvskip, which this emulator does not have")


# forks: the wave runs the smaller side first; CSP, in MODE[31:29], counts what waits in groups of four SGPRs

CSP, LEVELS = 29, 8


def csp(m: Machine) -> Value:
    """How many sides wait."""
    return m.hardware("MODE") >> CSP


def fork(m: Machine, i: Instruction, there: Value) -> None:
    """Lanes of the mask go ``there``, the others on; if there are both, the larger side waits on the stack."""
    exec_, mask = m.sgpr(EXEC, 2), m.read(i.src[0], B64)
    passing, failing = mask & exec_, ~mask & exec_
    here = m.constant(B64, m.next)
    all_pass, all_fail = passing.equals(exec_), failing.equals(exec_)
    fail_first = failing.popcount().ult(passing.popcount())
    divides = ~(all_pass | all_fail)
    level = csp(m)
    waiting = fail_first.select(there, here), fail_first.select(passing, failing)
    for slot in range(LEVELS):
        pushed = divides & level.equals(slot)
        for number, value in zip((4 * slot + 2, 4 * slot), waiting, strict=True):
            m.set_sgpr(number, pushed.select(value, m.sgpr(number, 2)))
    m.set_sgpr(EXEC, divides.select(fail_first.select(failing, passing), exec_))
    m.act(Op.SET_MODE, m.hardware("MODE") + (divides.zext(B32) << CSP))
    m.jump((all_pass | divides & ~fail_first).select(there, here))


@machine("s_cbranch_g_fork")
def _cbranch_g_fork(m: Machine, i: Instruction) -> None:
    fork(m, i, m.read(i.src[1], B64))


@machine("s_cbranch_i_fork")
def _cbranch_i_fork(m: Machine, i: Instruction) -> None:
    fork(m, i, m.constant(B64, target(i)))


@machine("s_cbranch_join")
def _cbranch_join(m: Machine, i: Instruction) -> None:
    level = csp(m)
    done = level.equals(m.read(i.src[0]))
    below = level - 1
    address, mask = m.constant(B64, m.next), m.sgpr(EXEC, 2)
    for slot in range(LEVELS):
        popped = ~done & below.equals(slot)
        address = popped.select(m.sgpr(4 * slot + 2, 2), address)
        mask = popped.select(m.sgpr(4 * slot, 2), mask)
    m.act(Op.SET_MODE, m.hardware("MODE") - ((~done).zext(B32) << CSP))
    m.set_sgpr(EXEC, mask)
    m.jump(address)

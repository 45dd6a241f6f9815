"""The nodes that read or change the wave: registers, control, matrix instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mfma.emulator.interpreter import memory_nodes
from mfma.emulator.interpreter.hardware import HARDWARE, set_mode
from mfma.emulator.interpreter.wave import Status, Wave
from mfma.emulator.semantics.machine import EXEC, MatrixCall
from mfma.emulator.semantics.values import B64, WAVE, Node, Op

__all__ = ["stateful"]

Array = Any
Function = Callable[..., Array]


def stateful(node: Node) -> Function:
    """Function from the wave and a node's arguments to the node's result."""
    return _MAKERS[node.op](node)


def _sgpr(node: Node) -> Function:
    number = node.data
    if node.type == B64:
        return lambda wave: np.uint64(int(wave.s[number]) | int(wave.s[number + 1]) << 32)
    return lambda wave: wave.s[number]


def _set_sgpr(node: Node) -> Function:
    number = node.data
    touches_exec = number in (EXEC, EXEC + 1)

    def set_one(wave: Wave, value: Array) -> None:
        wave.s[number] = value
        if touches_exec:
            wave.exec_changed()

    def set_pair(wave: Wave, value: Array) -> None:
        wave.s[number] = int(value) & 0xFFFF_FFFF
        wave.s[number + 1] = int(value) >> 32
        if touches_exec:
            wave.exec_changed()

    return set_pair if node.type == B64 else set_one


def _set_scc(wave: Wave, value: Array) -> None:
    wave.scc = value


def _vgpr(node: Node) -> Function:
    number = node.data
    # a copy, because the instruction may write the register before it uses what it read
    if node.type == B64:
        return lambda wave: _pair(wave, number)
    return lambda wave: wave.v[number].copy()


def _pair(wave: Wave, number: int) -> Array:
    return wave.v[number : number + 2].T.copy().view(np.uint64)[:, 0]


def _set_vgpr(node: Node) -> Function:
    number = node.data

    def set_one(wave: Wave, value: Array, mask: Array) -> None:
        np.copyto(wave.v[number], value, where=mask)

    def set_pair(wave: Wave, value: Array, mask: Array) -> None:
        halves = value.view(np.uint32).reshape(WAVE, 2).T
        np.copyto(wave.v[number : number + 2], halves, where=mask)

    return set_pair if node.type == B64 else set_one


def _vgpr_at(node: Node) -> Function:
    return lambda wave, offset: wave.v[wave.launch.register(wave, node.data, int(offset))].copy()


def _set_vgpr_at(node: Node) -> Function:
    def write(wave: Wave, offset: Array, value: Array, mask: Array) -> None:
        np.copyto(wave.v[wave.launch.register(wave, node.data, int(offset))], value, where=mask)

    return write


def _write_lane(node: Node) -> Function:
    def write(wave: Wave, value: Array, lane: Array) -> None:
        wave.v[node.data, lane] = value

    return write


def _jump(wave: Wave, address: Array) -> None:
    _go(wave, int(address))


def _branch(node: Node) -> Function:
    target = node.data

    def branch(wave: Wave, condition: Array) -> None:
        if condition:
            _go(wave, target)

    return branch


def _go(wave: Wave, target: int) -> None:
    if target < wave.pc and wave.executed >= wave.turn:
        wave.status = Status.YIELDED
    wave.pc = target


def _becomes(status: Status) -> Callable[[Node], Function]:
    def set_status(wave: Wave) -> None:
        wave.status = status

    return lambda node: set_status


def _trap(node: Node) -> Function:
    def trap(wave: Wave) -> None:
        wave.launch.trap(wave, node.data)

    return trap


def _matrix(node: Node) -> Function:
    from mfma.builtins.entry import native_entry

    call: MatrixCall = node.data
    op, cd = call.op, call.op.registers.cd.vgprs
    constant = None
    if call.c is None:
        pattern = np.uint64(call.c_bits) if op.out.bits == 64 else np.uint32(call.c_bits)
        words = np.array([pattern]).view(np.uint32)
        constant = np.tile(np.repeat(words[:, None], WAVE, 1), (cd // len(words), 1))

    def run(wave: Wave) -> None:
        entry = native_entry(op, call.fp16_ovfl).call
        base, stride = wave.v.ctypes.data, 4 * WAVE
        c = constant.ctypes.data if constant is not None else base + stride * (call.c or 0)
        entry(
            base + stride * call.d, base + stride * call.a, base + stride * call.b, c,
            call.cbsz, call.abid, call.blgp, 1, 0, 0, 0, 0,
        )  # fmt: skip

    return run


def _memory(function: Callable[..., Array]) -> Callable[[Node], Function]:
    def make(node: Node) -> Function:
        access = node.data
        return lambda wave, *arguments: function(wave, access, *arguments)

    return make


_MAKERS: dict[Op, Callable[[Node], Function]] = {
    Op.SGPR: _sgpr,
    Op.SET_SGPR: _set_sgpr,
    Op.EXEC_MASK: lambda node: lambda wave: wave.mask,
    Op.SCC: lambda node: lambda wave: wave.scc,
    Op.SET_SCC: lambda node: _set_scc,
    Op.VGPR: _vgpr,
    Op.SET_VGPR: _set_vgpr,
    Op.VGPR_AT: _vgpr_at,
    Op.SET_VGPR_AT: _set_vgpr_at,
    Op.WRITE_LANE: _write_lane,
    Op.HARDWARE: lambda node: HARDWARE[node.data],
    Op.SET_MODE: lambda node: set_mode,
    Op.LOAD: _memory(memory_nodes.load),
    Op.PART: lambda node: lambda wave, parts: parts[node.data],
    Op.STORE: _memory(memory_nodes.store),
    Op.ATOMIC: _memory(memory_nodes.atomic),
    Op.LOAD_WAVE: _memory(memory_nodes.load_wave),
    Op.MATRIX: _matrix,
    Op.JUMP: lambda node: _jump,
    Op.BRANCH: _branch,
    Op.BARRIER: _becomes(Status.BARRIER),
    Op.END: _becomes(Status.ENDED),
    Op.YIELD: _becomes(Status.YIELDED),
    Op.TRAP: _trap,
}

"""From an instruction's program to what the interpreter runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mfma.emulator.decode import Instruction
from mfma.emulator.interpreter.primitives import pure
from mfma.emulator.interpreter.state import stateful
from mfma.emulator.interpreter.wave import Wave
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.semantics.registry import program
from mfma.emulator.semantics.values import Op, Program, Type, Value
from mfma.errors import MemoryFault

__all__ = ["Function", "Step", "evaluate", "link"]

RESULTLESS = {
    Op.SET_SGPR, Op.SET_SCC, Op.SET_VGPR, Op.SET_VGPR_AT, Op.WRITE_LANE, Op.SET_MODE, Op.LOAD, Op.STORE, Op.ATOMIC,
    Op.LOAD_WAVE, Op.MATRIX, Op.JUMP, Op.BRANCH, Op.BARRIER, Op.END, Op.YIELD, Op.TRAP,
}  # fmt: skip
"""Ops that happen whether or not somebody uses their result."""

Operation = tuple[int, Callable[..., Any], bool, tuple[int, ...]]


class Step:
    """One instruction, ready to run: the operations that remain after folding constants."""

    __slots__ = ("instruction", "next", "operations", "values", "writes")

    def __init__(self, instruction: Instruction, mode: Mode) -> None:
        self.instruction = instruction
        self.next = instruction.address + instruction.size
        nodes = program(instruction, mode)
        self.values, self.operations = link(nodes)
        self.writes = sum(node.op in (Op.STORE, Op.ATOMIC) for node in nodes.nodes)

    def run(self, wave: Wave) -> None:
        """Execute the instruction; if it faults, memory is as it was before.

        Raises:
            MemoryFault: it accessed memory that it may not.
            KernelError: it did something else that ends the launch.
        """
        if self.writes < 2:  # one store checks all lanes before it writes
            evaluate(self.values, self.operations, wave)
            return
        wave.undo = []
        try:
            evaluate(self.values, self.operations, wave)
        except MemoryFault:
            for memory, where, old in reversed(wave.undo):
                memory[where] = old
            raise
        finally:
            wave.undo = None


class Function:
    """A pure definition as a function of arrays; ``define`` gets a value of the lanes for each type."""

    def __init__(self, define: Callable[..., Value], types: Sequence[Type]) -> None:
        program_ = Program()
        arguments = [program_.emit(Op.ARGUMENT, type_, True, data=i) for i, type_ in enumerate(types)]
        self.result = define(*arguments).index
        self.values, self.operations = link(program_, self.result)

    def __call__(self, *arrays: Any) -> Any:
        """Evaluate on arrays, one for each argument, of any common shape."""
        values = [*arrays, *self.values[len(arrays) :]]
        return evaluate(values, self.operations, None)[self.result]


def evaluate(constants: list[Any], operations: list[Operation], wave: Wave | None) -> list[Any]:
    """Run the operations; every node's value in the order of the program."""
    values = constants.copy()
    for index, function, needs_wave, arguments in operations:
        given = [values[argument] for argument in arguments]
        values[index] = function(wave, *given) if needs_wave else function(*given)
    return values


def link(program_: Program, result: int | None = None) -> tuple[list[Any], list[Operation]]:
    """Values known beforehand, by node, and the operations that are left for run time.

    Nodes that neither act nor lead to an action (or to node ``result``) are left out.
    """
    nodes = program_.nodes
    used = [node.op in RESULTLESS or index == result for index, node in enumerate(nodes)]
    for index in reversed(range(len(nodes))):
        if used[index]:
            for argument in nodes[index].arguments:
                used[argument] = True
    values: list[Any] = [None] * len(nodes)
    known = [False] * len(nodes)
    operations: list[Operation] = []
    for index, node in enumerate(nodes):
        if not used[index] or node.op is Op.ARGUMENT:
            continue
        function = pure(node)
        if function is None:
            operations.append((index, stateful(node), True, node.arguments))
        elif all(known[argument] for argument in node.arguments):
            values[index] = function(*(values[argument] for argument in node.arguments))
            known[index] = True
        else:
            operations.append((index, function, False, node.arguments))
    return values, operations

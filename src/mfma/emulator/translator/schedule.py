"""When each node of a program happens in native code.

Native code passes over the 64 lanes in chunks, and within a pass everything that a lane computes for itself happens,
chunk after chunk, in registers. What belongs to the wave, or takes the values of other lanes, happens between passes.
So there are times: even ones between passes, odd ones within one. What a node computes is available later at the same
time; values of the lanes that are used at another time than they are computed go through memory, and masks through 64
bits.

At an even time everything that only computes or reads comes first, and with it every check that may refuse the
instruction; what changes the wave or memory follows, and is seen from the next time on. A program that would change
something before a check cannot be scheduled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mfma.emulator.semantics.values import B1, B32, Node, Op

__all__ = ["EFFECTS", "FAULTS", "LEAVES", "Schedule", "UnscheduledError", "schedule", "used"]

SCALARS, VECTORS, MEMORY = "scalar registers", "vector registers", "memory"
TOUCHES = {
    Op.SGPR:        (SCALARS, False),
    Op.SCC:         (SCALARS, False),
    Op.EXEC_MASK:   (SCALARS, False),
    Op.SET_SGPR:    (SCALARS, True),
    Op.SET_SCC:     (SCALARS, True),
    Op.VGPR:        (VECTORS, False),
    Op.VGPR_AT:     (VECTORS, False),
    Op.SET_VGPR:    (VECTORS, True),
    Op.SET_VGPR_AT: (VECTORS, True),
    Op.WRITE_LANE:  (VECTORS, True),
    Op.MATRIX:      (VECTORS, True),
    Op.LOAD:        (MEMORY, False),
    Op.LOAD_WAVE:   (MEMORY, False),
    Op.STORE:       (MEMORY, True),
    Op.ATOMIC:      (MEMORY, True),
}  # fmt: skip
"""The state that an op reads or (true) changes."""
EFFECTS = frozenset(op for op, (_, changes) in TOUCHES.items() if changes) | {Op.JUMP, Op.BRANCH}
"""Ops that change the wave or memory."""
ACTS = EFFECTS | {Op.LOAD, Op.LOAD_WAVE, Op.BARRIER, Op.END, Op.YIELD, Op.TRAP, Op.SET_MODE}
"""Ops that happen whether or not their result is used."""
FAULTS = frozenset({Op.LOAD, Op.LOAD_WAVE, Op.STORE, Op.ATOMIC, Op.VGPR_AT, Op.SET_VGPR_AT})
"""Ops with a check that may refuse the instruction."""
LEAVES = frozenset({Op.LANE, Op.EXEC_MASK, Op.UNBALLOT, Op.PART})
"""Values of the lanes that any pass can make anew, from what is in memory or belongs to the wave."""
BETWEEN = LEAVES | {Op.LOAD, Op.STORE, Op.ATOMIC, Op.MATRIX, Op.WRITE_LANE}
"""Ops with values of the lanes that happen between passes."""
INSIDE = frozenset({Op.VGPR, Op.VGPR_AT, Op.SET_VGPR, Op.SET_VGPR_AT, Op.GATHER})
"""Ops that only passes can do, whatever their arguments are."""


class UnscheduledError(Exception):
    """A program that native code cannot run: it would change something before a check."""


@dataclass
class Schedule:
    """Times of the nodes that count, and what is kept between times.

    Attributes:
        at: numbers of nodes by time, in the order of the program.
        uniform: nodes of the lanes that are the same in every lane, and computed between passes.
        inside: nodes whose value their own pass needs, or keeps.
        arrays: nodes whose values are kept in memory, one for each lane.
        ballots: masks that are kept as 64 bits.
        rows: vector registers that are read where they stand, between passes.
    """

    at: dict[int, list[int]] = field(default_factory=dict)
    uniform: set[int] = field(default_factory=set)
    inside: set[int] = field(default_factory=set)
    arrays: set[int] = field(default_factory=set)
    ballots: set[int] = field(default_factory=set)
    rows: set[int] = field(default_factory=set)


@dataclass
class _State:
    """Times of a part of the state: when it was read and written last, and from when on that write is seen."""

    read: int = 0
    written: int = 0
    seen: int = 0


class _Scheduler:
    """Places nodes in the order of the program."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.plan = Schedule()
        self.time = [0] * len(nodes)
        self.early: dict[int, int] = {}  # vector registers: when they can first be read between passes
        self.state = {name: _State() for name in (SCALARS, VECTORS, MEMORY)}
        self.vectors_change = False
        self.changed: int | None = None  # when the first effect is

    def place(self, number: int) -> None:
        """Set the time of a node whose arguments have theirs."""
        node, plan = self.nodes[number], self.plan
        op = node.op
        in_pass = op in INSIDE or (op not in BETWEEN and node.lanes)
        if in_pass and op not in INSIDE and all(self._same(argument) for argument in node.arguments):
            plan.uniform.add(number)
            in_pass = False
        now, vectors = self._earliest(op), self.state[VECTORS]
        for position, argument in enumerate(node.arguments):
            outside = not in_pass or (op is Op.GATHER and position == 0)
            now = max(now, self._outside(argument, op) if outside else self.time[argument])
        now += (now & 1) != in_pass
        if op is Op.VGPR:
            self.early[number] = vectors.seen + (vectors.seen & 1)
        for position, argument in enumerate(node.arguments):
            if argument in plan.rows:
                vectors.read = max(vectors.read, now)
            if in_pass and not (op is Op.GATHER and position == 0):
                self._take(argument, now)
        if in_pass and op in EFFECTS:
            plan.inside.add(number)
        self.time[number] = now
        plan.at.setdefault(now, []).append(number)
        self._mark(op, now)
        if op is Op.ATOMIC:
            self.time[number] = now + 1  # the old values are there after the time's changes

    def _same(self, number: int) -> bool:
        return not self.nodes[number].lanes or number in self.plan.uniform

    def _take(self, number: int, now: int) -> None:
        """Let a pass use a value of the lanes: of the same pass in registers, else through memory."""
        if self._same(number) or self.nodes[number].op in LEAVES:
            return
        self.plan.inside.add(number)
        if self.time[number] != now:
            self._keep(number)

    def _outside(self, number: int, op: Op) -> int:
        """Keep a value for use beyond its pass by ``op``; returns when it is there."""
        node, time = self.nodes[number], self.time[number]
        if self._same(number):
            if node.lanes and op in (Op.LOAD, Op.STORE, Op.ATOMIC):
                self._keep(number)
            return time
        if node.op is Op.VGPR and node.type == B32 and op is not Op.GATHER and not self.vectors_change:
            self.plan.rows.add(number)
            return self.early[number]
        if node.op in BETWEEN:
            if node.op is Op.LANE:
                self._keep(number)
            return time
        self.plan.inside.add(number)
        self._keep(number)
        return time + 1

    def _keep(self, number: int) -> None:
        (self.plan.ballots if self.nodes[number].type == B1 else self.plan.arrays).add(number)

    def _earliest(self, op: Op) -> int:
        """Time from which on an op may happen, by what happened before to the state that it touches."""
        if op not in TOUCHES:
            return 0
        name, changes = TOUCHES[op]
        state = self.state[name]
        return max(state.written, state.read) if changes else state.seen

    def _mark(self, op: Op, now: int) -> None:
        """Take down what an op does to the state. What changes between passes is seen from the next time on."""
        if op in FAULTS and self.changed is not None and self.changed < now & ~1:
            raise UnscheduledError(f"{op.name} after a change")
        if op in EFFECTS and self.changed is None:
            self.changed = now
        if op not in TOUCHES:
            return
        name, changes = TOUCHES[op]
        state = self.state[name]
        if changes:
            state.written, state.seen = now, now | 1
            self.vectors_change |= name == VECTORS
        else:
            state.read = max(state.read, now)


def used(nodes: Sequence[Node]) -> list[bool]:
    """Which nodes act or lead to one that does."""
    found = [node.op in ACTS for node in nodes]
    for number in reversed(range(len(nodes))):
        if found[number]:
            for argument in nodes[number].arguments:
                found[argument] = True
    return found


def schedule(nodes: Sequence[Node]) -> Schedule:
    """Find the time of every node, all of which must be `used`.

    Raises:
        UnscheduledError: the program would change something before a check.
    """
    scheduler = _Scheduler(nodes)
    for number in range(len(nodes)):
        scheduler.place(number)
    return scheduler.plan

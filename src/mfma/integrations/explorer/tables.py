"""The data of the page: placements, lane sources and facts of all dense instructions, each table once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from mfma.errors import ModifierError
from mfma.isa.catalogue import names, ops
from mfma.isa.evidence import evidence
from mfma.isa.modifiers import check_modifiers, legal_modifiers, max_blgp
from mfma.isa.signature import required_feature, signature
from mfma.isa.spec import WAVE, Blgp, MatrixOp
from mfma.layout import Layout, Slot, layout
from mfma.layout.picture import formulas, lane_group
from mfma.layout.queries import runs, spell
from mfma.timing.throughput import throughput

__all__ = ["MATRICES", "tables"]

MATRICES = "ABCD"
SHOWN_EVIDENCE = ("arithmetic", "layout", "modifiers", "timing")

Key = TypeVar("Key", bound=Hashable)


class Once(Generic[Key]):
    """A list of distinct tables; `number` makes one unless it is there, and returns its place."""

    def __init__(self) -> None:
        self.tables: list[Any] = []
        self._numbers: dict[Key, int] = {}

    def number(self, key: Key, make: Callable[[], Any] | None = None) -> int:
        """Return the place of the table with this key; without ``make`` the key is the table."""
        if key not in self._numbers:
            self._numbers[key] = len(self.tables)
            self.tables.append(make() if make else key)
        return self._numbers[key]


def tables() -> dict[str, Any]:
    """Return everything that the page knows, as plain data for JSON.

    ``layouts`` hold, for every [block][row][column] in turn, the ``lane`` and which ``element`` of that lane it is;
    ``starts`` gives VGPR and lowest bit of each element of a lane, ``register`` and ``part`` their text before and
    after the lane. ``sources`` are lists of 64: the lane that a lane position is read from. ``colours`` are lists of
    64, the classes of each lane. The instructions point into these by number: ``layouts`` by matrix, ``sources`` by
    matrix and ``"cbsz,abid"`` (A) or ``"blgp"`` (B); ``negated`` lists by matrix the ``blgp`` that negate it.

    >>> data = tables()
    >>> op = data["ops"][8]
    >>> op["name"], op["modifiers"]["cbsz"]
    ('f32_32x32x8f16', [{'label': '0', 'abid': ['0']}])
    >>> placed = data["layouts"][op["layouts"]["D"]]
    >>> placed["lane"][32 * 5 + 7], placed["element"][32 * 5 + 7]  # D[5][7]
    (39, 1)
    """
    layouts: Once[Any] = Once()
    sources: Once[tuple[int, ...]] = Once()
    colours: Once[tuple[str, ...]] = Once()
    rows = [_instruction(op, layouts, sources, colours) for op in ops()]
    return {
        "target": rows[0]["target"],
        "layouts": layouts.tables,
        "sources": sources.tables,
        "colours": colours.tables,
        "ops": rows,
    }


def _instruction(
    op: MatrixOp, layouts: Once[Any], sources: Once[tuple[int, ...]], colours: Once[tuple[str, ...]]
) -> dict[str, Any]:
    moved: dict[str, dict[str, int]] = {"A": {}, "B": {}}
    negated: dict[str, list[int]] = {}
    for cbsz, abid, blgp in legal_modifiers(op):
        for matrix in MATRICES:
            placed = layout(op, matrix, cbsz, abid, blgp)
            if placed.lane_sources is not None:
                key = {"A": f"{cbsz},{abid}", "B": f"{blgp}"}[matrix]
                moved[matrix][key] = sources.number(placed.lane_sources)
            if placed.negated:
                negated.setdefault(matrix, []).append(blgp)
    return {
        "name": op.name,
        "names": names(op),
        "target": op.target,
        "mnemonic": op.mnemonic,
        "types": f"{op.a} × {op.b} → {op.out}" if op.a is not op.b else f"{op.a} → {op.out}",
        "m": op.m,
        "n": op.n,
        "k": op.k,
        "blocks": op.blocks,
        "layouts": {matrix: _placement(layout(op, matrix), layouts, colours) for matrix in MATRICES},
        "sources": moved,
        "negated": negated,
        "modifiers": _modifiers(op),
        "reasons": _reasons(op),
        "facts": _facts(op),
    }


def _placement(placed: Layout, layouts: Once[Any], colours: Once[tuple[str, ...]]) -> int:
    """Add a layout without modifiers, unless it is there; the same pattern and width place alike."""

    def table() -> dict[str, Any]:
        slots = placed.slots()
        starts = [divmod(placed.bits * n, 32) for n in range(placed.pattern.register_shape[1])]
        texts = (str(Slot(0, vgpr, low, low + placed.bits - 1)).split("{0}") for vgpr, low in starts)
        register, part = zip(*texts, strict=True)
        number = {start: n for n, start in enumerate(starts)}
        places = zip(slots.vgpr.ravel().tolist(), slots.low_bit.ravel().tolist(), strict=True)
        return {
            "axes": placed.pattern.coordinates,
            "shape": placed.shape,
            "bits": placed.bits,
            "starts": starts,
            "register": register,
            "part": part,
            "lane": slots.lane.ravel().tolist(),
            "element": [number[place] for place in places],
            "formulas": formulas(placed),
            "colours": colours.number(tuple(lane_group(placed, lane) for lane in range(WAVE))),
        }

    return layouts.number((placed.pattern, placed.bits), table)


def _modifiers(op: MatrixOp) -> dict[str, Any]:
    """Every legal value of the three modifiers, by what it does; ``abid`` stands below its ``cbsz``."""
    abids: dict[int, list[int]] = {}
    for cbsz, abid, _ in legal_modifiers(op):
        if abid not in abids.setdefault(cbsz, []):
            abids[cbsz].append(abid)
    return {
        "cbsz": [
            {
                "label": f"{cbsz} · groups of {2**cbsz} blocks" if cbsz else "0",
                "abid": [f"{abid} · block {abid} of each" if cbsz else f"{abid}" for abid in allowed],
            }
            for cbsz, allowed in abids.items()
        ],
        "blgp": [f"{blgp} · {_effect(op, blgp)}" if blgp else "0" for blgp in range(max_blgp(op) + 1)],
    }


def _effect(op: MatrixOp, blgp: int) -> str:
    if op.blgp is Blgp.NEG:
        return " ".join(f"−{matrix}" for matrix in MATRICES if layout(op, matrix, blgp=blgp).negated)
    return f"lanes {_stretches(layout(op, 'B', blgp=blgp).lane_sources or ())}"


def _stretches(sources: tuple[int, ...]) -> str:
    """Write a list of lanes as stretches that count up.

    >>> _stretches((0, 1, 2, 3, 0, 1, 2, 3)), _stretches((2, 3, 0, 1))
    ('0..3 ×2', '2..3, 0..1')
    """
    starts = [n for n, lane in enumerate(sources) if n == 0 or lane != sources[n - 1] + 1]
    ends = [*starts[1:], len(sources)]
    stretches = [spell(runs(sources[first:end])) for first, end in zip(starts, ends, strict=True)]
    alike = len(stretches) > 1 and len(set(stretches)) == 1
    return f"{stretches[0]} ×{len(stretches)}" if alike else ", ".join(stretches)


def _reasons(op: MatrixOp) -> dict[str, str]:
    """Say of each modifier why a larger value is not legal."""
    beyond = {"cbsz": (op.max_cbsz + 1, 0, 0), "abid": (0, 1, 0), "blgp": (0, 0, max_blgp(op) + 1)}
    reasons = {}
    for name, values in beyond.items():
        try:
            check_modifiers(op, *values)
        except ModifierError as error:
            reasons[name] = str(error).split(": ", 1)[1]
    return reasons


def _facts(op: MatrixOp) -> list[tuple[str, str]]:
    c, registers, speed = signature(op), op.registers, throughput(op)
    unit = "TOPS" if op.out.is_integer else "TFLOPS"
    peaks = ", ".join(f"{device} {tflops:.1f}" for device, tflops in speed.peaks.items())
    known = evidence(op)
    return [
        ("assembler", op.mnemonic),
        ("C", f"{c.d} {op.builtin}({c.a} a, {c.b} b, {c.c} c, int cbsz, int abid, int blgp)"),
        ("needs", f"{op.target}, target feature {required_feature(op)}"),
        ("registers a lane", f"A {registers.a.vgprs}, B {registers.b.vgprs}, C and D {registers.cd.vgprs} each"),
        ("cycles", f"{op.cycles} ({op.passes} passes), {op.coexecution} of them free for the VALU"),
        ("operations", f"{op.operations}; {speed.per_cu_per_cycle} a cycle on each CU"),
        (f"peak, {unit}", peaks),
        *((f"{aspect}", f"{known[aspect].level}: {known[aspect].source}") for aspect in SHOWN_EVIDENCE),
    ]

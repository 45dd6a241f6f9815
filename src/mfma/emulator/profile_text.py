"""A profile as text: sections, which are titles with tables or with names and values, and an annotated listing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mfma.emulator.cycles import ASSUMPTIONS
from mfma.emulator.decode import Instruction, Undecoded, decode_all
from mfma.emulator.profile_lines import Class
from mfma.emulator.start import UNITS
from mfma.render import Cell, Table

if TYPE_CHECKING:
    from mfma.codeobject import Symbol
    from mfma.emulator.profile import Profile
    from mfma.emulator.profile_lines import Line

__all__ = ["Section", "listing", "sections"]

WORST = 10
"""Instructions in the table of bank conflicts."""
HEADINGS = "waves", "active lanes of one on average", "cycles of LDS that one loses to bank conflicts on average"
"""What stands before each line of a listing."""

Section = tuple[str, Table | Sequence[tuple[str, str]]]


def sections(profile: Profile) -> Iterator[Section]:
    """Yield titles and what stands below them."""
    yield "", _head(profile)
    yield "Instructions of waves", _mix(profile)
    if profile.matrix:
        rows = tuple((op.name, n, op.operations, n * op.operations, op.cycles) for op, n in profile.matrix.items())
        yield (
            "Matrix instructions",
            Table(("instruction", "count", "operations of one", "operations", "cycles of one"), rows),
        )
    if profile.traffic:
        head = "memory", "loads", "bytes", "stores", "bytes", "atomics", "bytes"
        yield "Memory (bytes of active lanes)", Table(head, tuple(one.row for one in profile.traffic))
    if profile.banks.lost:
        yield _conflicts(profile)
    yield "Occupancy of a compute unit", profile.occupancy.table
    cycles = profile.cycles
    yield (
        f"Least cycles on {cycles.device}, by what is busy",
        Table(("unit", "cycles"), tuple((unit, round(n)) for unit, n in cycles.by_unit.items())),
    )
    yield "This takes for granted", ASSUMPTIONS


def _mix(profile: Profile) -> Table:
    total, lanes = profile.executed, profile.lanes
    rows = tuple(
        (kind.value, count, f"{count / total:.1%}", f"{lanes[kind]:.1f}" if kind in lanes else "")
        for kind, count in profile.mix.items()
    )
    return Table(("class", "count", "share", "active lanes"), rows)


def _conflicts(profile: Profile) -> Section:
    """The instructions that lose the most cycles to bank conflicts of LDS."""
    found = sorted((line for line in profile.lines if line.activity.lost), key=lambda line: -line.activity.lost)
    sources = [profile.source(line.instruction.address) for line in found[:WORST]]
    rows: list[tuple[Cell, ...]] = []
    for line, source in zip(found, sources, strict=False):
        instruction, sums = line.instruction, line.activity
        counted = line.count, sums.conflicting, sums.ideal + sums.lost, sums.lost
        rows.append((f"{instruction.address:x}", instruction.text, *counted, *([source] if any(sources) else [])))
    title = "LDS bank conflicts" + (f": the worst {WORST} of {len(found)}" if len(found) > WORST else "")
    head = "address", "instruction", "count", "conflicting", "cycles", "lost", *(["source"] if any(sources) else [])
    return title, Table(head, tuple(rows))


def _head(profile: Profile) -> list[tuple[str, str]]:
    room, cycles = profile.occupancy, profile.cycles
    groups = profile.grid[0] * profile.grid[1] * profile.grid[2]
    pairs = [
        ("kernel", str(profile.kernel)),
        (
            "launch",
            f"grid {_times(profile.grid)}, block {_times(profile.block)}: {profile.waves:,} waves, {groups:,} "
            f"work-groups for {UNITS} compute units",
        ),
        ("executed", f"{profile.executed:,} instructions of waves"),
    ]
    if Class.VALU in profile.lanes:
        pairs.append(("lanes", f"{profile.lanes[Class.VALU]:.1f} of 64 active in VALU instructions, on average"))
    banks = profile.banks
    if banks.ideal:
        lost = f"{banks.lost:,} of them" if banks.lost else "none"
        pairs.append(("LDS", f"{banks.ideal + banks.lost:,} cycles of its banks in all, {lost} lost to conflicts"))
    if profile.operations:
        pairs.append(("operations", f"{profile.operations:,} of matrix instructions"))
    limit = ", ".join(room.limited_by)
    pairs += [
        ("room", f"{room.groups} work-groups per compute unit, {room.waves_per_simd:g} waves per SIMD; limit: {limit}"),
        (
            "time",
            f"at least {round(cycles.cycles):,} cycles, {1e6 * cycles.seconds:.3g} us on {cycles.device} at "
            f"{cycles.device.clock_mhz} MHz, without memory; bound by {cycles.bound}",
        ),
    ]
    if profile.operations:
        pairs.append(
            (
                "matrix cores",
                f"busy for at most {cycles.utilisation:.1%} of that time, {cycles.simds:,} of "
                f"{cycles.device.matrix_cores:,} of them; at most {cycles.tera_operations:.1f} * 10**12 operations "
                "a second",
            )
        )
    return pairs


def _times(numbers: tuple[int, int, int]) -> str:
    return " × ".join(map(str, numbers))


def listing(profile: Profile) -> Iterator[str]:
    """Yield the lines of `Profile.listing`."""
    yield "; " + ", ".join(HEADINGS if profile.banks.lost else HEADINGS[:2])
    ran = {line.instruction.address: line for line in profile.lines}
    parts: dict[Symbol | None, list[Line]] = {}
    for line in profile.lines:
        parts.setdefault(profile.code.function_at(line.instruction.address), []).append(line)
    for function, lines in parts.items():
        if function is None:
            yield from _listed(profile, (line.instruction for line in lines), ran)
            continue
        last = lines[-1].instruction
        size = function.size or last.address + last.size - function.address
        code = profile.code.read(function.address, size)
        yield f"\n{function.address:016x} <{function.name}>:"
        yield from _listed(profile, decode_all(code, function.address), ran)


def _listed(profile: Profile, items: Iterable[Instruction | Undecoded], ran: Mapping[int, Line]) -> Iterator[str]:
    width = len(f"{max(line.count for line in profile.lines):,}")
    conflicts = bool(profile.banks.lost)
    before = ""
    for item in items:
        place = profile.source(item.address)
        if place and place != before:
            yield f"; {place}"
            before = place
        line = ran.get(item.address)
        count = f"{line.count:,}" if line else ""
        lanes = f"{line.lanes / line.count:.1f}" if line and line.lanes is not None else ""
        lost = f"{line.activity.lost / line.count:+.1f}" if line and line.banked else ""
        columns = f"{count:>{width}}  {lanes:>4}" + (f"  {lost:>6}" if conflicts else "")
        words = item.text if isinstance(item, Instruction) else f".long {item.word:#010x}"
        yield f"{columns}  {item.address:8x}:  {words}"

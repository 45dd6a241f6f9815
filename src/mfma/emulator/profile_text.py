"""A profile as text: sections, which are titles with tables or with names and values, and an annotated listing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mfma.emulator.cycles import ASSUMPTIONS
from mfma.emulator.decode import Instruction, Undecoded, decode_all
from mfma.emulator.start import UNITS
from mfma.render import Table

if TYPE_CHECKING:
    from mfma.codeobject import Symbol
    from mfma.emulator.profile import Profile
    from mfma.emulator.profile_lines import Line

__all__ = ["Section", "listing", "sections"]

Section = tuple[str, Table | Sequence[tuple[str, str]]]


def sections(profile: Profile) -> Iterator[Section]:
    """Yield titles and what stands below them."""
    yield "", _head(profile)
    total = profile.executed
    yield (
        "Instructions of waves",
        Table(("class", "count", "share"), tuple((k.value, n, f"{n / total:.1%}") for k, n in profile.mix.items())),
    )
    if profile.matrix:
        rows = tuple((op.name, n, op.operations, n * op.operations, op.cycles) for op, n in profile.matrix.items())
        yield (
            "Matrix instructions",
            Table(("instruction", "count", "operations of one", "operations", "cycles of one"), rows),
        )
    if profile.traffic:
        how = "of active lanes" if profile.counted_lanes else "upper bounds, as if all 64 lanes were active"
        head = "memory", "loads", "bytes", "stores", "bytes", "atomics", "bytes"
        yield f"Memory (bytes: {how})", Table(head, tuple(one.row for one in profile.traffic))
    yield "Occupancy of a compute unit", profile.occupancy.table
    cycles = profile.cycles
    yield (
        f"Least cycles on {cycles.device}, by what is busy",
        Table(("unit", "cycles"), tuple((unit, round(n)) for unit, n in cycles.by_unit.items())),
    )
    yield "This takes for granted", ASSUMPTIONS


def _head(profile: Profile) -> list[tuple[str, str]]:
    room, cycles = profile.occupancy, profile.cycles
    groups = profile.grid[0] * profile.grid[1] * profile.grid[2]
    pairs = [
        ("kernel", profile.kernel.name),
        (
            "launch",
            f"grid {_times(profile.grid)}, block {_times(profile.block)}: {profile.waves:,} waves, {groups:,} "
            f"work-groups for {UNITS} compute units",
        ),
        ("executed", f"{profile.executed:,} instructions of waves"),
    ]
    if profile.lanes is not None:
        pairs.append(("lanes", f"{profile.lanes:.1f} of 64 active in VALU instructions, on average"))
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
    before = ""
    for item in items:
        place = profile.source(item.address)
        if place and place != before:
            yield f"; {place}"
            before = place
        line = ran.get(item.address)
        count = f"{line.count:,}" if line else ""
        lanes = ""
        if profile.counted_lanes:
            average = f"{line.lanes / line.count:.1f}" if line and line.lanes is not None else ""
            lanes = f"  {average:>4}"
        words = item.text if isinstance(item, Instruction) else f".long {item.word:#010x}"
        yield f"{count:>{width}}{lanes}  {item.address:8x}:  {words}"

"""What differs between the instruction lists of two targets, and where a name exists.

Builtins are compared by name. The same name always means the same shape, but not always the same speed, and with
8-bit floats not the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from mfma.isa.spellings import ASSEMBLER_SPELLINGS, CHANGED_SINCE_GFX90A, RETIRED
from mfma.isa.targets import BY_SPELLING, TARGETS, Listing, Target, why_not
from mfma.isa.targets import target as find_target

__all__ = ["Availability", "Change", "Differences", "availability", "differences"]


@dataclass(frozen=True)
class Change:
    """A builtin that both targets have; ``what`` says what is not the same, ``cycles 64 -> 32`` and the like."""

    old: Listing
    new: Listing
    what: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.new}: {', '.join(self.what)}"


@dataclass(frozen=True)
class Differences:
    """Builtins of ``new`` against those of ``old``, dense and sparse, each in the order of its target's list."""

    old: Target
    new: Target
    added: tuple[Listing, ...]
    dropped: tuple[Listing, ...]
    changed: tuple[Change, ...]
    notes: tuple[str, ...]

    def instead(self, listing: Listing) -> str:
        """Say what to use for a dropped builtin, and what the compiler says of it."""
        return str(why_not(listing.builtin, self.new.name))


@dataclass(frozen=True)
class Availability:
    """Whether one target has a builtin: its listing, or else the reason, the replacement and clang's words."""

    target: Target
    listing: Listing | None
    reason: str | None

    def __str__(self) -> str:
        return f"{self.target}: {'yes' if self.listing else 'no'}"


def differences(old: str, new: str) -> Differences:
    """Compare the builtins of two targets.

    >>> changes = differences("gfx90a", "gfx942")
    >>> len(changes.added), [str(listing) for listing in changes.dropped][-2:]
    (26, ['i32_32x32x8i8', 'i32_16x16x16i8'])
    >>> print(changes.changed[5])
    f32_32x32x8f16: cycles 64 -> 32, co-execution 60 -> 28

    Raise `UnknownNameError` for a name that is not a target.
    """
    before, after = find_target(old), find_target(new)
    had = {listing.builtin: listing for listing in before.listings}
    has = {listing.builtin: listing for listing in after.listings}
    both = ((listing, has[name]) for name, listing in had.items() if name in has)
    changes = (Change(one, other, _changes(one, other, before, after)) for one, other in both)
    return Differences(
        before,
        after,
        added=tuple(listing for name, listing in has.items() if name not in had),
        dropped=tuple(listing for name, listing in had.items() if name not in has),
        changed=tuple(change for change in changes if change.what),
        notes=_notes(before, after),
    )


def availability(name: str) -> tuple[Availability, ...]:
    """Say for every target, oldest first, whether it has a builtin, and if not why and what to use.

    ``name`` is any spelling of the builtin. Raise `UnknownNameError` for a name that no target has.

    >>> for item in availability("f32_32x32x4_xf32"): print(item)
    gfx908: no
    gfx90a: no
    gfx942: yes
    gfx950: no
    """
    reasons = {on: why_not(name, on) for on in TARGETS}
    found = BY_SPELLING.get(name.strip().lower(), {})
    return tuple(Availability(TARGETS[on], found.get(on), reason) for on, reason in reasons.items())


def _changes(one: Listing, other: Listing, before: Target, after: Target) -> tuple[str, ...]:
    what = []
    if one.cycles != other.cycles:
        what.append(f"cycles {one.cycles} -> {other.cycles}")
    # None is a column that the target's page does not have, so it is no change.
    if None not in (one.coexecution, other.coexecution) and one.coexecution != other.coexecution:
        what.append(f"co-execution {one.coexecution} -> {other.coexecution}")
    for name in dict.fromkeys((one.a, one.b)):
        meanings = [str(getattr(on, name).dtype) for on in (before, after) if getattr(on, name, None)]
        if len(set(meanings)) > 1:
            what.append(f"{name} {' -> '.join(meanings)}")
    return tuple(what)


def _notes(before: Target, after: Target) -> tuple[str, ...]:
    notes = list(NOTES.get((before.name, after.name), ()))
    old, new = (" and ".join(floats.dtype for floats in (on.fp8, on.bf8) if floats) for on in (before, after))
    if old and new and old != new:
        notes.append(
            f"fp8 and bf8 are {old} on {before}, {new} on {after}: the same bits of OCP are twice the FNUZ number."
        )
    return tuple(notes)


NOTES: dict[tuple[str, str], tuple[str, ...]] = {
    ("gfx908", "gfx90a"): ("C and D may be VGPRs; on gfx908 they are AGPRs only.",),
    ("gfx90a", "gfx942"): (
        "f16 and bf16 instructions keep subnormals; on gfx90a they flush them to zero.",
        "blgp of f64 instructions negates A, B and C; on gfx90a it must be 0.",
        *(
            f"The assembler text {old} means {ASSEMBLER_SPELLINGS[old]} now; {mnemonic} is the one of the old tile."
            for old, mnemonic in CHANGED_SINCE_GFX90A.items()
        ),
        f"The assembler refuses {', '.join(RETIRED)}.",
    ),
}
"""(older target, newer one) -> what differs besides the lists. Sources: the ROCm pages, AMD's matrix instruction
calculator 1.3.2, MIOpen's notes on MI200, LLVM 22."""

"""Which instruction for a product of given sizes and formats, and why not another.

Every dense instruction of a target that takes the formats can compute any product: what does not fill its tile is
padded with zeros. They differ in what that costs. The count is that of one matrix core doing the whole product:

* passes, of four cycles each, over all instructions: padding and a slow form both show here;
* among equals, registers of A and B that the instructions read: larger tiles reuse more;
* among equals, blocks: a product with fewer blocks needs fewer independent tiles at a time.

The blocks of one instruction are taken as so many tiles of the output, side by side or of a batch.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import SupportsIndex

from mfma.errors import OptionError, UnknownNameError, near
from mfma.formats import FORMATS, FP8, OCP_BF8, OCP_FP8, Format
from mfma.isa import cdna3
from mfma.isa.spec import WAVE
from mfma.isa.targets import INSTEAD, Listing, Target
from mfma.isa.targets import target as find_target

__all__ = ["Candidate", "Choice", "Product", "choose"]

Cost = tuple[int, int, int]

NEAREST = 4
"""How many near misses a refusal names."""

BITS = {name: format.bits for name, format in FORMATS.items()} | {"f8f6f4": 8}
"""Widest element of an operand type."""

TAKES = {"f8f6f4": ("f8f6f4", "fp8", "bf8")}
"""Types that an operand of another label takes as well: block-scaled forms, whose scales may all be 1."""


@dataclass(frozen=True)
class Product:
    """``batch`` independent products of an (m, k) and a (k, n) matrix."""

    m: int
    n: int
    k: int
    batch: int = 1

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}" + (f", {self.batch} of them" if self.batch > 1 else "")

    @property
    def macs(self) -> int:
        """Multiply-adds, without padding."""
        return self.m * self.n * self.k * self.batch


@dataclass(frozen=True)
class Candidate:
    """One instruction for a product: what it costs there. Registers are 32-bit ones of a lane."""

    listing: Listing
    product: Product

    def __str__(self) -> str:
        return str(self.listing)

    @property
    def tiles(self) -> int:
        """Tiles of the output, those of a batch together."""
        product, side = self.product, self.listing.m
        return product.batch * -(-product.m // side) * -(-product.n // side)

    @property
    def instructions(self) -> int:
        """Instructions for the whole product."""
        return -(-self.tiles // self.listing.blocks) * -(-self.product.k // self.listing.k)

    @property
    def passes(self) -> int:
        """Passes of all instructions on one matrix core; block-scaled forms are counted with 8-bit elements."""
        return self.instructions * (self.listing.cycles_8bit or self.listing.cycles) // 4

    @property
    def macs_per_pass(self) -> Fraction:
        """Multiply-adds of the instruction in one pass, padding included."""
        return Fraction(self.listing.operations * 2, self.listing.cycles_8bit or self.listing.cycles)

    @property
    def padding(self) -> float:
        """Share of the multiply-adds that is spent on padding, 0 to 1."""
        return 1 - self.product.macs / (self.instructions * self.listing.operations // 2)

    @property
    def operand_vgprs(self) -> int:
        """Registers of A and B that one instruction reads."""
        elements = self.listing.m * self.listing.k * self.listing.blocks // WAVE
        return sum(elements * BITS[name] // 32 for name in (self.listing.a, self.listing.b))

    @property
    def accumulator_vgprs(self) -> int:
        """Registers of C and D of one instruction."""
        return self.listing.m * self.listing.m * self.listing.blocks * self.listing.out.bits // 32 // WAVE

    @property
    def operand_reads(self) -> int:
        """Registers of A and B that all instructions read."""
        return self.instructions * self.operand_vgprs

    @property
    def cost(self) -> Cost:
        """What `choose` ranks by, smallest first."""
        return self.passes, self.operand_reads, self.listing.blocks

    def compared_with(self, best: Candidate) -> str:
        """Say why ``best`` comes before this one."""
        reasons = []
        if self.passes > best.passes:
            reasons.append(f"{_times(self.passes, best.passes)} the passes")
            if self.padding > best.padding:
                reasons.append(f"{self.padding:.0%} of it padding, not {best.padding:.0%}")
            if self.macs_per_pass < best.macs_per_pass:
                reasons.append(f"{self.macs_per_pass} multiply-adds a pass, not {best.macs_per_pass}")
        elif self.operand_reads > best.operand_reads:
            reasons.append(
                f"as fast, but reads {_times(self.operand_reads, best.operand_reads)} the registers of A and B"
            )
        else:
            reasons.append(f"as fast, but needs {self.listing.blocks} blocks at a time")
        return "; ".join(reasons)


@dataclass(frozen=True)
class Choice:
    """The instructions for a product on a target, best first."""

    target: Target
    product: Product
    candidates: tuple[Candidate, ...]

    def __str__(self) -> str:
        return f"{self.best} for {self.product} on {self.target}"

    @property
    def best(self) -> Candidate:
        """The one of least cost."""
        return self.candidates[0]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why each candidate stands where it does."""
        best = self.best
        first = (
            f"{best.passes} passes in {best.instructions} instructions, {best.padding:.0%} of it padding; "
            f"{best.operand_vgprs} registers of A and B, {best.accumulator_vgprs} of the accumulator"
        )
        return (first, *(other.compared_with(best) for other in self.candidates[1:]))


def choose(
    m: SupportsIndex,
    n: SupportsIndex,
    k: SupportsIndex,
    a: str | Format,
    b: str | Format | None = None,
    *,
    out: str | Format | None = None,
    batch: SupportsIndex = 1,
    pad: bool = True,
    target: str = cdna3.TARGET,
) -> Choice:
    """Rank the dense instructions of a target for a product of (m, k) by (k, n).

    ``a`` and ``b`` are operand types as in instruction names (``"f16"``, ``"xf32"``, ``"fp8"``), number formats or
    their records; ``b`` is by default ``a``, ``out`` any accumulator. ``batch`` counts independent products. Without
    ``pad`` only instructions whose tiles fill the product exactly are taken.

    >>> choose(4096, 4096, 4096, "f16").best.listing.name
    'f32_32x32x8f16'
    >>> for candidate in choose(16, 16, 64, "f16").candidates: print(candidate, candidate.passes)
    f32_16x16x16f16 16
    f32_4x4x4f16 32
    f32_32x32x8f16 64
    f32_16x16x4f16 128
    f32_32x32x4f16 256

    Raises:
        UnknownNameError: there is no such target or type, or no instruction meets the conditions; the message names
            the nearest ones and what they fail.
        OptionError: a size is not a positive integer.
    """
    on = find_target(target)
    product = Product(*(_size(name, value) for name, value in (("m", m), ("n", n), ("k", k), ("batch", batch))))
    wanted = {"a": _label(a, on), "b": _label(a if b is None else b, on)}
    if out is not None:
        wanted["out"] = _label(out, on)
    misses = {listing: _misses(listing, product, wanted, pad) for listing in on.dense}
    fitting = [Candidate(listing, product) for listing, missed in misses.items() if not missed]
    if not fitting:
        raise UnknownNameError(_nothing_fits(on, product, wanted, pad, misses))
    return Choice(on, product, tuple(sorted(fitting, key=lambda candidate: candidate.cost)))


def _misses(listing: Listing, product: Product, wanted: dict[str, str], pad: bool) -> list[str]:
    """What an instruction fails, in words."""
    labels = {field: str(getattr(listing, field)) for field in wanted}
    missed = [f"{field} {label}" for field, label in labels.items() if wanted[field] not in TAKES.get(label, (label,))]
    if pad:
        return missed
    for name, size, step in (("m", product.m, listing.m), ("n", product.n, listing.m), ("k", product.k, listing.k)):
        if size % step:
            missed.append(f"{name} {size} is no multiple of {step}: pad it to {-(-size // step) * step}")
    tiles = Candidate(listing, product).tiles
    if tiles % listing.blocks and not missed:
        missed.append(f"its {listing.blocks} blocks take as many tiles at a time, and there are {tiles}")
    return missed


def _nothing_fits(
    on: Target, product: Product, wanted: dict[str, str], pad: bool, misses: dict[Listing, list[str]]
) -> str:
    def other_types(listing: Listing) -> int:
        return len(_misses(listing, product, wanted, pad=True))

    def distance(listing: Listing) -> tuple[int, int, Cost]:
        widths = (abs(BITS[wanted[field]] - BITS[str(getattr(listing, field))]) for field in wanted)
        return len(misses[listing]), sum(widths), Candidate(listing, product).cost

    fewest = min(map(other_types, misses))
    nearest = sorted((listing for listing in misses if other_types(listing) == fewest), key=distance)[:NEAREST]
    types = ", ".join(f"{field}={name}" for field, name in wanted.items())
    sizes = "" if pad else f" whose tiles fill {product} without padding"
    named = ", ".join(f"{listing} ({', '.join(misses[listing])})" for listing in nearest)
    return f"{on} has no instruction with {types}{sizes}; nearest are {named}.{_advice(on, wanted, nearest[0])}"


def _advice(on: Target, wanted: dict[str, str], nearest: Listing) -> str:
    """What to do instead, where more than the shape is at fault."""
    for name in (wanted["a"], wanted["b"]):
        if name in (OCP_FP8.name, OCP_BF8.name) and on.fp8 is FP8:
            return f" The 8-bit floats of {on} are FNUZ: convert OCP ones with mfma.fp8.from_ocp."
        if name in INSTEAD and not any(name in (listing.a, listing.b) for listing in on.dense):
            return f" {on} has none for {name}: {INSTEAD[name]}."
    if (nearest.a, nearest.b) == (wanted["a"], wanted["b"]) and "out" in wanted and wanted["out"] != nearest.out.name:
        return f" Products of {nearest.a} are accumulated in {nearest.out}: convert the result afterwards."
    return ""


def _label(format: str | Format, on: Target) -> str:
    """The type as instruction names have it: OCP formats are called fp8 and bf8 where those mean them."""
    name = str(format).strip().lower()
    known = [*BITS, *(f.dtype for f in FORMATS.values())]
    if name not in known:
        raise UnknownNameError(f"no operand type is called {format!r}: give {', '.join(BITS)}.{near(name, known)}")
    record = FORMATS.get(name) or next((f for f in FORMATS.values() if f.dtype == name), None)
    if record is not None and record in (on.fp8, on.bf8):
        return "fp8" if record is on.fp8 else "bf8"
    return name if record is None else record.name


def _size(name: str, value: SupportsIndex) -> int:
    try:
        size = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        size = 0
    if size < 1:
        raise OptionError(f"{name} is {value!r}, but a size is an integer of at least 1.")
    return size


def _times(more: int, less: int) -> str:
    return f"{more / less:.3g} times"

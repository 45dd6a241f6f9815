"""Whether a matrix product is bound by the matrix cores or by the memory of a device, with every number shown.

Three things that no kernel beats: the matrix cores multiply whole tiles, so edges count as if they were padded with
zeros; A, B and D (and C, if it is read) cross the memory bus at least once; a matrix core that owns an output tile
walks all of K. Caches only bring a kernel nearer to the second: a product that fits into a cache and is there already
does not pay it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

from mfma.errors import OptionError
from mfma.isa.spec import MatrixOp
from mfma.timing.devices import Device
from mfma.timing.peak import Peak, peak

__all__ = ["Roofline", "roofline"]


@dataclass(frozen=True)
class Roofline:
    """The bounds of ``batch`` products of M by K and K by N matrices with one instruction on one device."""

    m: int
    n: int
    k: int
    batch: int
    read_c: bool
    peak: Peak

    @property
    def op(self) -> MatrixOp:
        """The instruction."""
        return self.peak.op

    @property
    def device(self) -> Device:
        """The device."""
        return self.peak.device

    @property
    def tiles(self) -> int:
        """Output tiles; the instruction's edges hang over the matrix where its size is no multiple."""
        return self.batch * math.ceil(self.m / self.op.m) * math.ceil(self.n / self.op.n)

    @property
    def chains(self) -> int:
        """Accumulators of one instruction: an instruction of several blocks works on as many output tiles at once."""
        return math.ceil(self.tiles / self.op.blocks)

    @property
    def k_steps(self) -> int:
        """Instructions that follow one another in an accumulator."""
        return math.ceil(self.k / self.op.k)

    @property
    def instructions(self) -> int:
        """Matrix instructions of all waves together, padding included."""
        return self.chains * self.k_steps

    @property
    def operations(self) -> int:
        """Useful operations: 2·M·N·K for each product."""
        return 2 * self.m * self.n * self.k * self.batch

    @property
    def padded_operations(self) -> int:
        """Operations that the matrix cores do, padding included."""
        return self.instructions * self.op.operations

    @property
    def useful(self) -> float:
        """Share of the work that is not padding, from 0 to 1."""
        return self.operations / self.padded_operations

    @property
    def bytes(self) -> int:
        """Bytes that cross the memory bus if each matrix does so once, in the formats of the instruction."""
        a = self.m * self.k * self.op.a.bits
        b = self.k * self.n * self.op.b.bits
        d = self.m * self.n * self.op.out.bits * (2 if self.read_c else 1)
        return self.batch * (a + b + d) // 8

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: useful operations for each byte."""
        return self.operations / self.bytes

    @property
    def ridge(self) -> float:
        """Intensity at which the memory of the device feeds its matrix cores just fast enough."""
        return self.peak.tflops / self.device.hbm_tb_per_s

    @property
    def compute_seconds(self) -> float:
        """Least time of the matrix cores, all of them busy to the end."""
        return self.padded_operations / (self.peak.tflops * 1e12)

    @property
    def chain_seconds(self) -> float:
        """Least time of the matrix cores if each accumulator stays on one of them (no split of K)."""
        rounds = math.ceil(self.chains / self.device.matrix_cores)
        return rounds * self.k_steps * self.op.cycles / (self.peak.clock_mhz * 1e6)

    @property
    def memory_seconds(self) -> float:
        """Least time of the memory."""
        return self.bytes / (self.device.hbm_tb_per_s * 1e12)

    @property
    def seconds(self) -> float:
        """The larger of the bounds of matrix cores and memory: no kernel with this instruction is faster."""
        return max(self.compute_seconds, self.memory_seconds)

    @property
    def bound(self) -> str:
        """What binds: ``compute`` or ``memory``."""
        return "compute" if self.compute_seconds >= self.memory_seconds else "memory"

    @property
    def tflops(self) -> float:
        """Useful operations in a second at the bound, in units of 10**12."""
        return self.operations / self.seconds / 1e12

    @property
    def formulas(self) -> tuple[tuple[str, str], ...]:
        """Every quantity with the calculation that gives it, numbers filled in."""
        op, device, unit = self.op, self.device, self.peak.unit
        batch = f"{self.batch} × " if self.batch > 1 else ""
        moved = f"{self.m}·{self.n}·{op.out.bits}" + (" × 2 (C and D)" if self.read_c else "")
        return (
            ("tiles", f"{batch}⌈{self.m} / {op.m}⌉ × ⌈{self.n} / {op.n}⌉ = {self.tiles} of {op.m}×{op.n}"),
            (
                "instructions",
                f"⌈{self.tiles} tiles / {op.blocks} {'blocks' if op.blocks > 1 else 'block'}⌉"
                f" × ⌈{self.k} / {op.k}⌉ = {self.instructions}",
            ),
            ("operations", f"{batch}2·{self.m}·{self.n}·{self.k} = {self.operations}"),
            (
                "padded operations",
                f"{self.instructions} × {op.operations} = {self.padded_operations}; {self.useful:.1%} of them useful",
            ),
            (
                "bytes",
                f"{batch}({self.m}·{self.k}·{op.a.bits} + {self.k}·{self.n}·{op.b.bits} + {moved}) bits / 8"
                f" = {self.bytes}",
            ),
            ("intensity", f"{self.operations} / {self.bytes} = {self.intensity:.1f} operations per byte"),
            ("peak", self.peak.formula),
            (
                "ridge",
                f"{self.peak.tflops:.1f} {unit} / {device.hbm_tb_per_s} TB/s = {self.ridge:.1f} operations per byte",
            ),
            (
                "compute bound",
                f"{self.padded_operations} / {self.peak.tflops:.1f} {unit} = {_time(self.compute_seconds)}",
            ),
            (
                "without split K",
                f"⌈{self.chains} / {device.matrix_cores} matrix cores⌉ × {self.k_steps} × {op.cycles} cycles"
                f" / {self.peak.clock_mhz:.12g} MHz = {_time(self.chain_seconds)}",
            ),
            ("memory bound", f"{self.bytes} / {device.hbm_tb_per_s} TB/s = {_time(self.memory_seconds)}"),
            (
                "at best",
                f"{_time(self.seconds)}, {self.tflops:.1f} {unit}: bound by "
                f"{'the matrix cores' if self.bound == 'compute' else 'the memory'}",
            ),
        )

    @property
    def source(self) -> str:
        """How well the numbers of the device are established."""
        return f"{self.peak.source}; memory: {self.device.sources['hbm_tb_per_s']}"

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.formulas)
        return "\n".join(f"{name:{width}}  {formula}" for name, formula in self.formulas)


def _time(seconds: float) -> str:
    """Word a time to three digits in seconds, ms, µs or ns."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 1000 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def roofline(
    m: int,
    n: int,
    k: int,
    op: object,
    device: str | Device = "MI300X",
    *,
    batch: int = 1,
    read_c: bool = False,
    clock_mhz: float | None = None,
) -> Roofline:
    """Say whether D = A·B (+ C) is bound by the matrix cores or by the memory of a device.

    A is ``m`` by ``k``, B ``k`` by ``n``, ``batch`` of them; ``op`` is any name of a dense instruction, or an object
    or record; ``read_c`` counts C as read from memory too. The matrices lie in memory in the formats of the
    instruction. ``clock_mhz`` is, left out, the device's peak clock.

    Raise `OptionError` for a size that is no positive whole number, for a sparse instruction and for a bad clock,
    `UnknownNameError` for a device that is not known: no other is taken in its place.

    >>> big = roofline(4096, 4096, 4096, "f32_32x32x8f16")
    >>> big.instructions, big.bound, f"{big.compute_seconds * 1e6:.1f} µs"
    (8388608, 'compute', '105.1 µs')
    >>> roofline(4096, 16, 4096, "f32_16x16x16f16").bound
    'memory'
    """
    for name, size in (("M", m), ("N", n), ("K", k), ("batch", batch)):
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise OptionError(f"{name} is {size!r}, but a size is a whole number from 1.")
    found = peak(op, device, clock_mhz)
    if found.op.sparse:
        raise OptionError(
            f"{found.op} is a sparse instruction, and its bytes depend on how the kernel stores the indices; "
            "give a dense instruction."
        )
    return Roofline(int(m), int(n), int(k), int(batch), bool(read_c), found)

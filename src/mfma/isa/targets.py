"""Which builtins exist on which GPU, and what to use where one does not.

Only gfx942 has full records (`mfma.isa.catalogue`); the other targets are lists of names with their rates. Sources:
the ROCm pages of the four CDNA generations, and clang 19 and 22, which select an instruction for exactly these
builtins on each target. LLVM 22's scheduling model agrees with every rate but one: it has 16 cycles for
``f64_4x4x4f64`` on gfx950, the page 32.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mfma.errors import UnknownNameError, near
from mfma.formats import BF8, F32, F64, FP8, I32, OCP_BF8, OCP_FP8, Format
from mfma.isa import cdna3
from mfma.isa.signature import required_feature
from mfma.isa.spec import MatrixOp

__all__ = ["TARGETS", "Listing", "Target", "available", "spellings", "target", "where", "why_not"]


@dataclass(frozen=True)
class Listing:
    """One builtin of one target: enough to say that it exists and how fast it is.

    ``a`` and ``b`` are the ISA's labels of the operand types; every tile is square, ``m`` by ``m``. ``coexecution``
    is None where the page gives none. ``cycles_8bit`` holds if A or B of a block-scaled form has 8-bit elements.
    """

    out: Format
    m: int
    k: int
    blocks: int
    a: str
    b: str
    suffix: str
    cycles: int
    coexecution: int | None
    feature: str
    sparse: bool = False
    cycles_8bit: int | None = None

    def __str__(self) -> str:
        return self.name if self.family == "mfma" else f"{self.family}_{self.name}"

    @property
    def family(self) -> str:
        """``mfma``, ``mfma_scale`` for the block-scaled forms, ``smfmac`` for the sparse ones."""
        if self.sparse:
            return "smfmac"
        return "mfma_scale" if self.cycles_8bit else "mfma"

    @property
    def name(self) -> str:
        """Short name, as in ``f32_32x32x4bf16``."""
        return f"{self.out}_{self.m}x{self.m}x{self.k}{self.suffix}"

    @property
    def builtin(self) -> str:
        """Name of the compiler builtin."""
        return f"__builtin_amdgcn_{self.family}_{self.name}"

    @property
    def intrinsic(self) -> str:
        """Name of LLVM's intrinsic."""
        return f"llvm.amdgcn.{self.family}.{self.name}".replace("_", ".")

    @property
    def operations(self) -> int:
        """Multiplications and additions of one instruction."""
        return 2 * self.m * self.m * self.k * self.blocks


@dataclass(frozen=True)
class Target:
    """One GPU target: its builtins, clang's features for them, and what its 8-bit floats are (None: it has none)."""

    name: str
    architecture: str
    devices: tuple[str, ...]
    features: frozenset[str]
    fp8: Format | None
    bf8: Format | None
    listings: tuple[Listing, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def dense(self) -> tuple[Listing, ...]:
        """The dense builtins."""
        return tuple(listing for listing in self.listings if not listing.sparse)

    @property
    def sparse(self) -> tuple[Listing, ...]:
        """The sparse builtins."""
        return tuple(listing for listing in self.listings if listing.sparse)


def spellings(family: str, name: str) -> tuple[str, ...]:
    """Return the names of a builtin: short, with its family, C (with and without prefix), LLVM's, MLIR's, with ``v_``.

    >>> spellings("mfma", "f32_32x32x4bf16_1k")[4:]
    ('llvm.amdgcn.mfma.f32.32x32x4bf16.1k', 'rocdl.mfma.f32.32x32x4bf16.1k', 'v_mfma_f32_32x32x4bf16_1k')
    """
    full = f"{family}_{name}"
    dotted = full.replace("_", ".")
    return (
        name,
        full,
        f"__builtin_amdgcn_{full}",
        f"amdgcn_{full}",
        f"llvm.amdgcn.{dotted}",
        f"rocdl.{dotted}",
        f"v_{full}",
    )


def _listing(op: MatrixOp) -> Listing:
    return Listing(
        op.out,
        op.m,
        op.k,
        op.blocks,
        op.a.name,
        op.b.name,
        op.suffix,
        op.cycles,
        op.coexecution,
        required_feature(op),
        op.sparse,
    )


Shape = tuple[Format, int, int, int, str, str]

#    out   m  k blocks type  suffix
CDNA1_SHAPES: tuple[Shape, ...] = (
    (F32, 32, 1, 2, "f32", "f32"),
    (F32, 16, 1, 4, "f32", "f32"),
    (F32, 4, 1, 16, "f32", "f32"),
    (F32, 32, 2, 1, "f32", "f32"),
    (F32, 16, 4, 1, "f32", "f32"),
    (F32, 32, 4, 2, "f16", "f16"),
    (F32, 16, 4, 4, "f16", "f16"),
    (F32, 4, 4, 16, "f16", "f16"),
    (F32, 32, 8, 1, "f16", "f16"),
    (F32, 16, 16, 1, "f16", "f16"),
    (F32, 32, 2, 2, "bf16", "bf16"),
    (F32, 16, 2, 4, "bf16", "bf16"),
    (F32, 4, 2, 16, "bf16", "bf16"),
    (F32, 32, 4, 1, "bf16", "bf16"),
    (F32, 16, 8, 1, "bf16", "bf16"),
    (I32, 32, 4, 2, "i8", "i8"),
    (I32, 16, 4, 4, "i8", "i8"),
    (I32, 4, 4, 16, "i8", "i8"),
    (I32, 32, 8, 1, "i8", "i8"),
    (I32, 16, 16, 1, "i8", "i8"),
)

CDNA2_SHAPES: tuple[Shape, ...] = (
    *CDNA1_SHAPES,
    (F32, 32, 4, 2, "bf16", "bf16_1k"),
    (F32, 16, 4, 4, "bf16", "bf16_1k"),
    (F32, 4, 4, 16, "bf16", "bf16_1k"),
    (F32, 32, 8, 1, "bf16", "bf16_1k"),
    (F32, 16, 16, 1, "bf16", "bf16_1k"),
)

# The first two generations spend the same cycles on a tile size whatever the type: m -> cycles, co-execution.
CDNA1_RATES = {32: (64, 56), 16: (32, 24), 4: (8, 0)}
CDNA2_RATES = {32: (64, 60), 16: (32, 28), 4: (8, 4)}

CDNA2_F64 = (
    Listing(F64, 16, 4, 1, "f64", "f64", "f64", 32, 0, "mai-insts"),
    Listing(F64, 4, 4, 4, "f64", "f64", "f64", 16, 0, "mai-insts"),
)

CDNA3_LISTINGS = tuple(_listing(op) for op in (*cdna3.DENSE, *cdna3.SPARSE))

CDNA4_CYCLES = {16: 16, 32: 32}
CDNA4_F64_CYCLES = {16: 64, 4: 32}

#    out   m   k   A and B  suffix
CDNA4_WIDE = (
    (F32, 32, 16, "f16", "_f16"),
    (F32, 16, 32, "f16", "_f16"),
    (F32, 32, 16, "bf16", "_bf16"),
    (F32, 16, 32, "bf16", "_bf16"),
    (I32, 32, 32, "i8", "_i8"),
    (I32, 16, 64, "i8", "_i8"),
)

#    out   m   k    A       B      suffix
CDNA4_SPARSE = (
    (F32, 16, 64, "f16", "f16", "_f16"),
    (F32, 32, 32, "f16", "f16", "_f16"),
    (F32, 16, 64, "bf16", "bf16", "_bf16"),
    (F32, 32, 32, "bf16", "bf16", "_bf16"),
    (I32, 16, 128, "i8", "i8", "_i8"),
    (I32, 32, 64, "i8", "i8", "_i8"),
    *((F32, m, k, a, b, f"_{a}_{b}") for m, k in ((16, 128), (32, 64)) for a in ("bf8", "fp8") for b in ("bf8", "fp8")),
)


def _rated(shapes: Iterable[Shape], rates: dict[int, tuple[int, int]]) -> tuple[Listing, ...]:
    return tuple(
        Listing(out, m, k, blocks, kind, kind, suffix, *rates[m], "mai-insts")
        for out, m, k, blocks, kind, suffix in shapes
    )


def _cdna4() -> tuple[Listing, ...]:
    kept = (
        replace(listing, coexecution=None, cycles=CDNA4_F64_CYCLES[listing.m] if listing.out is F64 else listing.cycles)
        for listing in CDNA3_LISTINGS
        if listing.a != "xf32"
    )
    wide = (
        Listing(out, m, k, 1, kind, kind, suffix, CDNA4_CYCLES[m], None, "gfx950-insts")
        for out, m, k, kind, suffix in CDNA4_WIDE
    )
    scaled = (
        Listing(F32, m, k, 1, "f8f6f4", "f8f6f4", "_f8f6f4", cycles, None, "gfx950-insts", cycles_8bit=2 * cycles)
        for m, k, cycles in ((32, 64, 32), (16, 128, 16))
    )
    sparse = (
        Listing(out, m, k, 1, a, b, suffix, CDNA4_CYCLES[m], None, "gfx950-insts", sparse=True)
        for out, m, k, a, b, suffix in CDNA4_SPARSE
    )
    return (*kept, *wide, *scaled, *sparse)


CDNA1_FEATURES = frozenset({"mai-insts"})
CDNA3_FEATURES = CDNA1_FEATURES | {"fp8-insts"}

TARGETS: dict[str, Target] = {
    item.name: item
    for item in (
        Target("gfx908", "CDNA", ("MI100",), CDNA1_FEATURES, None, None, _rated(CDNA1_SHAPES, CDNA1_RATES)),
        Target(
            "gfx90a",
            "CDNA2",
            ("MI210", "MI250", "MI250X"),
            CDNA1_FEATURES,
            None,
            None,
            _rated(CDNA2_SHAPES, CDNA2_RATES) + CDNA2_F64,
        ),
        Target("gfx942", "CDNA3", ("MI300A", "MI300X", "MI325X"), CDNA3_FEATURES, FP8, BF8, CDNA3_LISTINGS),
        Target(
            "gfx950",
            "CDNA4",
            ("MI350X", "MI355X"),
            CDNA3_FEATURES | {"gfx950-insts"},
            OCP_FP8,
            OCP_BF8,
            _cdna4(),
        ),
    )
}
"""Target name -> its record, oldest first."""

WMMA_TARGETS = ("gfx11", "gfx12")
WMMA = (
    "gfx11 and gfx12 GPUs have WMMA instructions, whose names, operands and register layouts are others; "
    "nothing here applies to them"
)

INSTEAD = {
    "xf32": "use the f32 instructions, which keep all bits of A and B, or split A and B into bf16 parts",
    "fp8": "use the f16 instructions: f16 holds every fp8 and bf8 number",
    "bf8": "use the f16 instructions: f16 holds every fp8 and bf8 number",
    "f64": "no matrix instruction takes f64",
    "f8f6f4": "no matrix instruction takes block scales: apply them in the kernel, to operands of a wider type",
}
"""Operand type -> what to do on a target that has no instruction for it at all."""


def target(name: str) -> Target:
    """Return the record of a GPU target; a full target ID such as ``gfx942:sramecc+:xnack-`` is understood.

    Raise `UnknownNameError` for any other GPU, with the known ones.

    >>> target("gfx942").fp8.max, target("gfx950").fp8.max
    (240.0, 448.0)
    """
    base = str(name).strip().lower().partition(":")[0]
    if base in TARGETS:
        return TARGETS[base]
    if base.startswith(WMMA_TARGETS):
        raise UnknownNameError(f"{name} has no MFMA instructions: {WMMA}.")
    for item in TARGETS.values():
        if base in {alias.lower() for alias in (item.architecture, *item.devices)}:
            raise UnknownNameError(f"{name} is not the name of a target; its target is {item}.")
    raise UnknownNameError(f"unknown target {name!r}; known are {', '.join(TARGETS)}.")


def where(name: str) -> tuple[str, ...]:
    """Return the targets that have a builtin, oldest first; an unknown name gives none.

    >>> where("f32_32x32x4bf16")
    ('gfx908', 'gfx90a')
    """
    return tuple(_found(name))


def available(name: str, target_name: str = cdna3.TARGET) -> bool:
    """Say whether a builtin exists on a target.

    >>> available("i32_32x32x8i8", "gfx942")
    False
    """
    return target(target_name).name in _found(name)


def why_not(name: str, target_name: str = cdna3.TARGET) -> str | None:
    """Return why a builtin does not exist on a target, what to use instead and what clang says; None if it exists.

    Raise `UnknownNameError` for a name that no target has.

    >>> print(why_not("f32_32x32x4bf16", "gfx942"))
    f32_32x32x4bf16 exists on gfx908 and gfx90a; on gfx942 use f32_32x32x8bf16_1k (K 8 instead of 4). \
clang accepts the call on gfx942 and then fails: Cannot select: intrinsic %llvm.amdgcn.mfma.f32.32x32x4bf16.
    """
    found = _found(name)
    if not found:
        if "wmma" in name.lower():
            raise UnknownNameError(f"{name} is not an MFMA instruction: {WMMA}.")
        raise UnknownNameError(f"no target has a builtin {name!r}.{near(name, list(BY_SPELLING))}")
    listing = next(iter(found.values()))
    if target_name.lower().startswith(WMMA_TARGETS):
        return f"{listing} does not exist on {target_name}: {WMMA}. {_clang_says(listing, target_name, frozenset())}"
    wanted = target(target_name)
    if wanted.name in found:
        return None
    return (
        f"{listing} exists on {_listed(list(found))}; on {wanted} {_instead(listing, wanted)}. "
        f"{_clang_says(listing, wanted.name, wanted.features)}"
    )


def _instead(listing: Listing, wanted: Target) -> str:
    """Word the replacement: the same tile, blocks and operand types with the nearest K."""

    def same(other: Listing) -> bool:
        return (other.out, other.m, other.blocks, other.a, other.b, other.sparse) == (
            listing.out,
            listing.m,
            listing.blocks,
            listing.a,
            listing.b,
            listing.sparse,
        )

    candidates = sorted(filter(same, wanted.listings), key=lambda other: abs(other.k - listing.k))
    if candidates:
        best = candidates[0]
        return f"use {best} (K {best.k} instead of {listing.k})"
    if listing.sparse and not wanted.sparse:
        return "there are no sparse instructions: use a dense one"
    return INSTEAD[listing.a]


def _clang_says(listing: Listing, on: str, features: frozenset[str]) -> str:
    # Clang knows the builtins by feature, not by target: what passes its check fails in the back end.
    if listing.feature not in features:
        return f"clang says: '{listing.builtin}' needs target feature {listing.feature}."
    return f"clang accepts the call on {on} and then fails: Cannot select: intrinsic %{listing.intrinsic}."


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _index() -> dict[str, dict[str, Listing]]:
    index: dict[str, dict[str, Listing]] = {}
    # Dense first: where a bare name is a dense builtin of one target and a sparse one of another, it means the dense.
    for sparse in (False, True):
        for item in TARGETS.values():
            for listing in item.sparse if sparse else item.dense:
                for spelling in spellings(listing.family, listing.name):
                    targets = index.setdefault(spelling.lower(), {})
                    if all(other.sparse is sparse for other in targets.values()):
                        targets[item.name] = listing
    index |= {op.mnemonic: index[op.builtin] for op in (*cdna3.DENSE, *cdna3.SPARSE)}
    return index


BY_SPELLING = _index()
"""Lower-case spelling -> target -> listing."""


def _found(name: str) -> dict[str, Listing]:
    return BY_SPELLING.get(name.strip().lower(), {})

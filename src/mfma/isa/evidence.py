"""How well each behaviour of an instruction is established, and by whom.

No claim is stronger than its source: only one instruction has public MI300X output, so only that one is `recorded`.
Claims are selected by what a row says (formats, shape, pipe, accumulation), never by names.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from mfma.formats import BF8, BF16, F16, F32, F64, FP8, I8, XF32
from mfma.isa.accumulation import GroupSum
from mfma.isa.modifiers import blgp_is_disputed
from mfma.isa.spec import MatrixOp

__all__ = ["CLAIMS", "SOURCES", "TRANSCENDENTAL", "Claim", "Evidence", "Level", "Source", "claims", "evidence"]


class Level(enum.StrEnum):
    """How well a behaviour is established, the strongest first; ``>`` means better established.

    >>> Level.RECORDED > Level.TESTED > Level.ASSUMED
    True
    >>> str(min(Level.TESTED, Level.DOCUMENTED))
    'documented'
    """

    RECORDED = "recorded"
    STATISTICS = "statistics"
    TESTED = "tested"
    DOCUMENTED = "documented"
    ASSUMED = "assumed"

    @property
    def meaning(self) -> str:
        """What somebody has done to establish a behaviour of this level."""
        return MEANINGS[self]

    @property
    def rank(self) -> int:
        """Place in the order: 0 is the strongest."""
        return tuple(Level).index(self)

    # A string would compare by its letters.
    def __lt__(self, other: str) -> bool:
        return self.rank > Level(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank >= Level(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank < Level(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank <= Level(other).rank


MEANINGS = {
    Level.RECORDED: "output bits that an MI300X printed are public, and this package reproduces them",
    Level.STATISTICS: "published error statistics of an MI300X are reproduced to every digit",
    Level.TESTED: "the authors of the model compared it with an MI300X on random bit patterns; the raw values are not "
    "public",
    Level.DOCUMENTED: "a vendor's text or tool says so",
    Level.ASSUMED: "nobody has published anything: the behaviour is this package's choice",
}


@dataclass(frozen=True)
class Source:
    """A publication: ``reference`` finds it again (arXiv number, package and version, repository and file)."""

    title: str
    reference: str

    def __str__(self) -> str:
        return f"{self.title} ({self.reference})"


MMA_SIM_PAPER = Source("MMA-Sim: bit-accurate model of matrix cores, with MI300X tests", "arXiv:2511.10909v2")
MMA_SIM = Source("MMA-Sim's model", "PyPI mmasim 2.1.1, mmasim/amd/sim.py")
MMA_SIM_TESTS = Source(
    "MMA-Sim's random comparison with an MI300X",
    "github.com/microsoft/MMA-Sim, tests/equivalence/test_amd_cdna3.py",
)
MMA_SIM_PROBES = Source(
    "MI300X outputs printed by MMA-Sim's probes",
    "github.com/microsoft/MMA-Sim@0cb78465, tests/probe/probe_amd_cdna3.ipynb",
)
MMA_SIM_BIAS = Source(
    "MI300X mean errors printed by MMA-Sim",
    "github.com/microsoft/MMA-Sim, tests/accuracy/compare_cdna3_accum.ipynb",
)
TF32_STATISTICS = Source(
    "Error statistics of f32 and xf32 GEMMs on an MI300X", "github.com/jeffdaily/tf32_analysis, results.json"
)
XF32_THREADS = Source(
    "Reports of xf32 truncation by AMD and users",
    "github.com/ROCm/rocm-libraries pull 9176, github.com/triton-lang/triton pull 11783",
)
ISA_MANUAL = Source("AMD CDNA3 ISA manual", "table 28 and sections 7.1 and 7.3")
CALCULATOR = Source(
    "AMD's matrix instruction calculator", "github.com/ROCm/amd_matrix_instruction_calculator, version 1.3.2"
)
ROCM_PAGE = Source("ROCm page", "CDNA3 dense MFMA builtins")
LLVM = Source("LLVM's scheduling model and hazard recogniser", "LLVM 19 and 22, gfx942")
OWN_CHOICE = Source("Choice of this package", "no publication")

SOURCES = (
    MMA_SIM_PAPER,
    MMA_SIM,
    MMA_SIM_TESTS,
    MMA_SIM_PROBES,
    MMA_SIM_BIAS,
    TF32_STATISTICS,
    XF32_THREADS,
    ISA_MANUAL,
    CALCULATOR,
    ROCM_PAGE,
    LLVM,
    OWN_CHOICE,
)


class Evidence(NamedTuple):
    """How well one behaviour of one instruction is established, and the sources in words."""

    level: Level
    source: str


@dataclass(frozen=True)
class Claim:
    """A behaviour, the instructions it holds for, its level, its sources and, where it needs one, a remark."""

    aspect: str
    applies: Callable[[MatrixOp], bool]
    level: Level
    sources: tuple[Source, ...]
    remark: str = ""

    @property
    def evidence(self) -> Evidence:
        """The claim as level and text."""
        text = "; ".join(map(str, self.sources))
        return Evidence(self.level, f"{text}: {self.remark}" if self.remark else text)


def _every(_op: MatrixOp) -> bool:
    return True


def _takes(*formats: object) -> Callable[[MatrixOp], bool]:
    return lambda op: not op.sparse and op.a in formats


def _is_dense(op: MatrixOp) -> bool:
    return not op.sparse


def _is_float(op: MatrixOp) -> bool:
    return not op.sparse and not op.out.is_integer


def _is_probed(op: MatrixOp) -> bool:
    """Whether this is the one instruction whose MI300X outputs are public."""
    return not op.sparse and (op.m, op.k, op.a, op.b) == (16, 32, FP8, FP8)


def _is_unprobed_8bit_float(op: MatrixOp) -> bool:
    return _takes(FP8, BF8)(op) and not _is_probed(op)


def _is_bias_measured(op: MatrixOp) -> bool:
    return not op.sparse and (op.m, op.blocks, op.a) == (32, 1, F16)


def _sums_groups(op: MatrixOp) -> bool:
    return isinstance(op.accumulation, GroupSum)


RECORDED, STATISTICS, TESTED = Level.RECORDED, Level.STATISTICS, Level.TESTED
DOCUMENTED, ASSUMED = Level.DOCUMENTED, Level.ASSUMED
MODEL = (MMA_SIM_TESTS, MMA_SIM_PAPER, MMA_SIM)

CLAIMS = (
    Claim("arithmetic", _is_probed, RECORDED, (MMA_SIM_PROBES, *MODEL)),
    Claim("arithmetic", _is_unprobed_8bit_float, TESTED, MODEL),
    Claim("arithmetic", _takes(F16, BF16, F64), TESTED, MODEL),
    Claim("arithmetic", _takes(F32), STATISTICS, (TF32_STATISTICS, *MODEL)),
    Claim(
        "arithmetic",
        _takes(XF32),
        STATISTICS,
        (TF32_STATISTICS, *MODEL, XF32_THREADS),
        "the low 13 bits of A and B are cut, groups of 4",
    ),
    Claim("arithmetic", _takes(I8), DOCUMENTED, (ISA_MANUAL,), "as long as no sum leaves 32 bits"),
    Claim("accumulation bias", _is_bias_measured, STATISTICS, (MMA_SIM_BIAS,)),
    Claim(
        "integer overflow",
        _takes(I8),
        DOCUMENTED,
        (ISA_MANUAL,),
        "wraps modulo 2**32; clamps if MODE.FP16_OVFL is set",
    ),
    Claim(
        "float overflow",
        _is_float,
        DOCUMENTED,
        (ISA_MANUAL,),
        "to infinity; to the largest finite number if MODE.FP16_OVFL is set",
    ),
    Claim("rounding mode", _is_probed, DOCUMENTED, (ISA_MANUAL, MMA_SIM_PROBES), "MODE is ignored; recordings agree"),
    Claim(
        "rounding mode",
        lambda op: _is_float(op) and not _is_probed(op),
        DOCUMENTED,
        (ISA_MANUAL,),
        "MODE is ignored: to nearest, ties to even",
    ),
    Claim(
        "denormals switched off",
        _takes(F32),
        ASSUMED,
        (ISA_MANUAL,),
        "table 28 says that MODE is ignored, section 7.3 that A and B honour it; subnormals are kept here",
    ),
    Claim("NaN bits", _is_float, ASSUMED, (OWN_CHOICE,), "sign and payload; that the result is a NaN is tested"),
    Claim("cancellation to zero", _is_probed, RECORDED, (MMA_SIM_PROBES,), "products that cancel exactly give +0"),
    Claim(
        "signed zero",
        _sums_groups,
        ASSUMED,
        (OWN_CHOICE,),
        "-0 in C under products that are all zero, and results too small for f32",
    ),
    Claim(
        "infinity or NaN in C",
        _takes(FP8, BF8),
        ASSUMED,
        (OWN_CHOICE,),
        "it propagates, however large the products beside it are",
    ),
    Claim("width of the sum", _sums_groups, TESTED, MODEL, "the sum of products is floored at 32 bits"),
    Claim("product overflow", _takes(BF16, XF32), TESTED, MODEL, "one product of 2**128 or more counts as infinity"),
    Claim(
        "operand decoding",
        _is_probed,
        RECORDED,
        (MMA_SIM_PROBES, *MODEL),
        "FNUZ; 25 of the 255 numbers occur in the recordings",
    ),
    Claim("operand decoding", _is_unprobed_8bit_float, TESTED, MODEL, "FNUZ"),
    Claim("NaN operand", _takes(FP8, BF8), TESTED, MODEL, "0x80 is the one NaN; no recording has it"),
    Claim("layout", _every, DOCUMENTED, (CALCULATOR, MMA_SIM_TESTS), "every kernel of the comparison relies on it"),
    Claim("modifiers", lambda op: _is_dense(op) and not blgp_is_disputed(op), DOCUMENTED, (CALCULATOR, ROCM_PAGE)),
    Claim(
        "modifiers",
        blgp_is_disputed,
        DOCUMENTED,
        (CALCULATOR, ROCM_PAGE),
        "the two disagree about blgp on one-block f16 and bf16: the builtins refuse it, a compiled kernel that uses it "
        "runs with the lane pattern applied, which is an assumption",
    ),
    Claim(
        "modifiers",
        lambda op: op.sparse,
        ASSUMED,
        (CALCULATOR, ROCM_PAGE),
        "three vendor texts disagree about cbsz and abid",
    ),
    Claim("timing", _every, DOCUMENTED, (ROCM_PAGE, CALCULATOR, LLVM), "cycles, passes and co-execution; all agree"),
    Claim("wait states", _every, DOCUMENTED, (LLVM, ISA_MANUAL)),
)
"""Every claim about matrix instructions. At most one per aspect holds for an instruction."""

TRANSCENDENTAL = Claim(
    "v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin and v_cos",
    lambda _op: False,
    ASSUMED,
    (ISA_MANUAL,),
    "correctly rounded here; the manual gives an error bound, nobody the bits",
)
"""The vector instructions that compiled kernels use beside the matrix cores."""


def claims(op: MatrixOp) -> tuple[Claim, ...]:
    """Return the claims that hold for an instruction, with their sources as records."""
    return tuple(claim for claim in CLAIMS if claim.applies(op))


def evidence(op: MatrixOp) -> dict[str, Evidence]:
    """Return how well each aspect of an instruction is established: aspect -> (level, source).

    >>> from mfma.isa.cdna3 import DENSE
    >>> level, source = evidence(DENSE[0])["arithmetic"]
    >>> str(level)
    'statistics'
    """
    return {claim.aspect: claim.evidence for claim in claims(op)}

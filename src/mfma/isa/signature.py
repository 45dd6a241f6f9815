"""C types of the compiler builtins: the page's aliases and the types that clang itself declares.

The two differ in names only: the page writes ``v4half`` for what clang 19 declares as four ``__fp16`` and clang 22 as
four ``_Float16``, and ``long long`` for clang's 64-bit ``long``; clang converts between them silently.
"""

from __future__ import annotations

from dataclasses import dataclass

from mfma.formats import BF16, F16, F32, F64, I32, XF32, Format
from mfma.isa.spec import MatrixOp, Operand

__all__ = [
    "REGISTER_TYPES",
    "CType",
    "Signature",
    "backend_feature",
    "guard_macro",
    "required_feature",
    "signature",
]


@dataclass(frozen=True)
class CType:
    """A C type of a builtin: ``count`` elements, a scalar if 1.

    ``stem`` is the end of the page's alias, ``element`` the C++ element type behind it, which is also what clang 22
    declares, apart from its 64-bit ``long``; ``clang_element`` is the one that clang 19 declares.
    """

    count: int
    stem: str
    element: str
    clang_element: str

    def __str__(self) -> str:
        return self.name

    @property
    def is_scalar(self) -> bool:
        """Whether the type is no vector: such an operand has one register value per lane."""
        return self.count == 1

    @property
    def name(self) -> str:
        """The page's name: ``v4half``, or ``float`` for a scalar."""
        return self.element if self.is_scalar else f"v{self.count}{self.stem}"

    @property
    def clang(self) -> str:
        """Type that clang 19 declares: ``v4<__fp16>`` stands for a vector of four, 8 bytes in all."""
        return self._vector(self.clang_element)

    @property
    def clang22(self) -> str:
        """Type that clang 22 declares."""
        return self._vector(NEWER_ELEMENTS.get(self.clang_element, self.clang_element))

    def _vector(self, element: str) -> str:
        return element if self.is_scalar else f"v{self.count}<{element}>"

    @property
    def declaration(self) -> str:
        """The alias as the page declares it, for clang 22; clang 19 ignores this attribute. Empty for a scalar."""
        return "" if self.is_scalar else f"using {self.name} = {self.element} [[clang::ext_vector_type({self.count})]];"

    @property
    def typedef(self) -> str:
        """The alias as every clang and C take it. Empty for a scalar."""
        if self.is_scalar:
            return ""
        return f"typedef {self.element} {self.name} __attribute__((ext_vector_type({self.count})));"


@dataclass(frozen=True)
class Signature:
    """The parameters of a builtin. ``str()`` gives the page's spelling, `clang` the compiler's.

    Three ``int`` follow C: the constants cbsz, abid, blgp; on sparse instructions the index register, cbsz, abid.
    """

    d: CType
    a: CType
    b: CType
    c: CType

    def __str__(self) -> str:
        return f"{self.d.name} ({self.a.name}, {self.b.name}, {self.c.name}, int, int, int)"

    @property
    def clang(self) -> str:
        """The signature in the types of clang 19."""
        return f"{self.d.clang} ({self.a.clang}, {self.b.clang}, {self.c.clang}, int, int, int)"

    @property
    def clang22(self) -> str:
        """The signature in the types of clang 22."""
        return f"{self.d.clang22} ({self.a.clang22}, {self.b.clang22}, {self.c.clang22}, int, int, int)"


NEWER_ELEMENTS = {"__fp16": "_Float16"}
"""Element type that clang 19 declares -> what clang 22 declares in its place."""

#            stem      C++ element  clang 19's element
ELEMENTS: dict[Format, tuple[str, str, str]] = {
    F32: ("float", "float", "float"),
    XF32: ("float", "float", "float"),
    F16: ("half", "_Float16", "__fp16"),
    BF16: ("bfloat", "short", "short"),
    F64: ("double", "double", "double"),
    I32: ("int", "int", "int"),
}

# Operands of 8-bit elements are integers that hold them: one register, a pair, or a vector of registers.
INT, LONG = CType(1, "int", "int", "int"), CType(1, "longlong", "long long", "long")

REGISTER_TYPES = tuple(
    CType(count, *ELEMENTS[format])
    for format, counts in ((F32, (2, 4, 16, 32)), (F16, (4,)), (I32, (4, 16, 32)), (BF16, (2, 4)), (F64, (4,)))
    for count in counts
)
"""The eleven vector types of the page, in its order. ``v2bfloat`` belongs to builtins that gfx942 has dropped."""


def signature(op: MatrixOp) -> Signature:
    """Return the C signature of an instruction's builtin.

    >>> from mfma.isa.cdna3 import DENSE
    >>> str(signature(DENSE[8]))
    'v16float (v4half, v4half, v16float, int, int, int)'
    >>> signature(DENSE[8]).clang
    'v16<float> (v4<__fp16>, v4<__fp16>, v16<float>, int, int, int)'
    """
    registers = op.registers
    cd = _type(registers.cd, op.sparse)
    return Signature(cd, _type(registers.a, op.sparse), _type(registers.b, op.sparse), cd)


def required_feature(op: MatrixOp) -> str:
    """Return the target feature that clang 19 and 22 demand before they accept a call of the builtin."""
    return "fp8-insts" if op.a.bits == 8 and not op.a.is_integer else "mai-insts"


def backend_feature(op: MatrixOp) -> str:
    """Return the target feature without which LLVM's back end fails with "Cannot select" (LLVM 22).

    It differs from `required_feature` on xf32: clang lets the call pass on every target with ``mai-insts``.
    """
    return "xf32-insts" if op.a is XF32 else required_feature(op)


def guard_macro(op: MatrixOp) -> str:
    """Return the macro that marks device code compiled for the instruction's target; no host pass defines it.

    >>> from mfma.isa.cdna3 import DENSE
    >>> guard_macro(DENSE[0])
    '__gfx942__'
    """
    return f"__{op.target}__"


def _type(operand: Operand, sparse: bool) -> CType:
    if operand.format.bits > 8:
        return CType(operand.elements, *ELEMENTS[operand.format])
    if sparse:
        return CType(operand.vgprs, *ELEMENTS[I32])
    return INT if operand.vgprs == 1 else LONG

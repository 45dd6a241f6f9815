"""The public face of one matrix instruction: call it, ask it, place its operands."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.builtins.entry import NativeEntry, native_entry
from mfma.builtins.operands import from_words, lane_shape, output, to_words
from mfma.errors import OperandShapeError
from mfma.formats import Format, arrays
from mfma.isa import catalogue
from mfma.isa.accumulation import Accumulation
from mfma.isa.cdna3 import TARGET
from mfma.isa.evidence import Evidence, evidence
from mfma.isa.modifiers import check_modifiers
from mfma.isa.signature import Signature, signature
from mfma.isa.spec import WAVE, MatrixOp, Registers
from mfma.layout import Layout, layout
from mfma.native.threads import run, thread_count
from mfma.numerics.fast import multiply

__all__ = ["Op", "op", "ops"]

WAVES_PER_PIECE = 64


class Op:
    """A dense matrix instruction, as `mfma.op` returns it; calling it is calling the builtin.

    The object stands for one row of the instruction table (`record`), has its facts as attributes and is equal
    to every other object for the same row.
    """

    def __init__(self, record: MatrixOp):
        self.record = record
        self._operands = record.registers

    def __repr__(self) -> str:
        return f"mfma.op({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and self.record == other.record

    def __hash__(self) -> int:
        return hash(self.record)

    def __call__(
        self,
        a: object,
        b: object,
        c: object,
        cbsz: int = 0,
        abid: int = 0,
        blgp: int = 0,
        *,
        out: Any = None,
        fp16_ovfl: bool = False,
    ) -> NDArray[Any]:
        """Execute the instruction on the registers of 64 lanes: D = A·B + C.

        The operands are per-lane vectors as in C: shape (..., 64, n) for a vector of n elements, (..., 64) for a
        scalar; leading axes are independent waves and broadcast. An operand that C passes as ``int`` or
        ``long long`` may be int32 or int64 (..., 64), or its 8-bit elements (..., 64, 4) or (..., 64, 8).
        ``out`` receives the result and may be ``c``. ``fp16_ovfl`` is the mode bit of that name: overflow gives
        the largest finite number, or the nearest int32.

        Returns the result as a NumPy array shaped as ``c``. Raises `OperandShapeError`, `OperandTypeError` and
        `ModifierError` for what the instruction does not take.

        >>> import numpy as np, mfma
        >>> op = mfma.op("f32_32x32x8f16")
        >>> a = b = np.ones((64, 4), np.float16)
        >>> op(a, b, np.zeros((64, 16), np.float32))[0, :4]
        array([8., 8., 8., 8.], dtype=float32)
        """
        record, registers = self.record, self._operands
        check_modifiers(record, cbsz, abid, blgp)
        x = to_words(a, registers.a, "A")
        y = to_words(b, registers.b, "B")
        z = to_words(c, registers.cd, "C")
        waves = _common(x.shape[:-2], y.shape[:-2], z.shape[:-2])
        target = output(out, (*waves, *lane_shape(registers.cd)), record.out)
        d = np.empty((*waves, WAVE, registers.cd.vgprs), np.uint32)
        if d.size:
            given = [_per_wave(v, waves) for v in (d, x, y, z)]
            _run(native_entry(record, fp16_ovfl), given, (cbsz, abid, blgp))
        result = from_words(d, registers.cd)
        if target is None:
            return result
        target[...] = result
        return out  # type: ignore[no-any-return]

    def matmul(
        self, a: object, b: object, c: object = None, *, out: Any = None, fp16_ovfl: bool = False
    ) -> NDArray[Any]:
        """Execute the instruction on logical matrices: D = A·B + C, block by block.

        A is (..., blocks, M, K), B (..., blocks, K, N), C and D (..., blocks, M, N); leading axes broadcast.
        ``c`` None is zero; ``out`` receives the result and may be ``c``.

        Raises `OperandShapeError` and `OperandTypeError` for what the instruction does not take.

        >>> import numpy as np, mfma
        >>> op = mfma.op("i32_4x4x4i8")
        >>> a = np.ones((16, 4, 4), np.int8)
        >>> op.matmul(a, a)[15]
        array([[4, 4, 4, 4],
               [4, 4, 4, 4],
               [4, 4, 4, 4],
               [4, 4, 4, 4]], dtype=int32)
        """
        record = self.record
        m, n, k, blocks = record.m, record.n, record.k, record.blocks
        x = _matrices(a, record.a, "A", (blocks, m, k))
        y = _matrices(b, record.b, "B", (blocks, k, n))
        z = np.zeros((blocks, m, n), arrays.code_dtype(record.out))
        if c is not None:
            z = _matrices(c, record.out, "C", (blocks, m, n))
        waves = _common(x.shape[:-3], y.shape[:-3], z.shape[:-3])
        target = output(out, (*waves, blocks, m, n), record.out)
        d = np.array(np.broadcast_to(z, (*waves, blocks, m, n)), order="C")
        multiply(record, x, y, d, fp16_ovfl=fp16_ovfl)
        result = arrays.view(d, record.out)
        if target is None:
            return result
        target[...] = result
        return out  # type: ignore[no-any-return]

    def layout(self, matrix: str, cbsz: int = 0, abid: int = 0, blgp: int = 0) -> Layout:
        """Placement of ``"A"``, ``"B"``, ``"C"`` or ``"D"`` in registers, under these modifiers.

        >>> import mfma
        >>> print(mfma.op("f32_32x32x8f16").layout("D").locate(i=5, j=7))
        v1{39}
        """
        return layout(self.record, matrix, cbsz, abid, blgp)

    def native(self, fp16_ovfl: bool = False) -> NativeEntry:
        """Machine code of the instruction on raw registers, for compiled callers."""
        return native_entry(self.record, fp16_ovfl)

    @property
    def target(self) -> str:
        """LLVM name of the GPU."""
        return self.record.target

    @property
    def name(self) -> str:
        """Short name: the builtin's without its prefix."""
        return self.record.name

    @property
    def builtin(self) -> str:
        """Name of the compiler builtin."""
        return self.record.builtin

    @property
    def mnemonic(self) -> str:
        """Name in the ISA manual and the assembler."""
        return self.record.mnemonic

    @property
    def signature(self) -> Signature:
        """C signature; ``str()`` gives the page's aliases, ``.clang`` clang's types."""
        return signature(self.record)

    @property
    def m(self) -> int:
        """Rows of a block of A, C and D."""
        return self.record.m

    @property
    def n(self) -> int:
        """Columns of a block of B, C and D."""
        return self.record.n

    @property
    def k(self) -> int:
        """Columns of a block of A, rows of a block of B."""
        return self.record.k

    @property
    def blocks(self) -> int:
        """Independent products of one instruction."""
        return self.record.blocks

    @property
    def a(self) -> Format:
        """Number format of A."""
        return self.record.a

    @property
    def b(self) -> Format:
        """Number format of B."""
        return self.record.b

    @property
    def cd(self) -> Format:
        """Number format of C and D."""
        return self.record.out

    @property
    def accumulation(self) -> Accumulation | None:
        """How the instruction adds up."""
        return self.record.accumulation

    @property
    def operations(self) -> int:
        """Multiplications and additions: 2·M·N·K·blocks."""
        return self.record.operations

    @property
    def cycles(self) -> int:
        """Cycles for which the instruction occupies its matrix core."""
        return self.record.cycles

    @property
    def passes(self) -> int:
        """Passes of four cycles."""
        return self.record.passes

    @property
    def valu_coexecution_cycles(self) -> int:
        """Cycles of them in which the vector ALU can execute other instructions."""
        return self.record.coexecution

    @property
    def opcode(self) -> int:
        """Opcode in the VOP3P-MAI encoding."""
        return self.record.opcode

    @property
    def registers(self) -> Registers:
        """Elements and 32-bit registers per lane of A, B and C/D."""
        return self._operands

    @property
    def evidence(self) -> Mapping[str, Evidence]:
        """How well each behaviour is established: aspect -> (level, source)."""
        return evidence(self.record)


def op(name: str | Op | MatrixOp, target: str = TARGET) -> Op:
    """Find an instruction by any of its names, in any case.

    ``name`` is the builtin's with or without its prefix, the ISA mnemonic (older spellings too), or LLVM's or
    MLIR's intrinsic. Raises `UnknownNameError`, which says where the name exists and what replaces it here, or
    names near matches.

    >>> import mfma
    >>> mfma.op("v_mfma_f32_32x32x8_f16").builtin
    '__builtin_amdgcn_mfma_f32_32x32x8f16'
    """
    if isinstance(name, Op):
        return name
    return _face(name if isinstance(name, MatrixOp) else catalogue.find(name, target))


def ops(target: str = TARGET) -> tuple[Op, ...]:
    """Return the dense instructions of a target, in the order of the ROCm page.

    >>> import mfma
    >>> len(mfma.ops())
    32
    """
    return tuple(_face(record) for record in catalogue.ops(target))


@functools.cache
def _face(record: MatrixOp) -> Op:
    return Op(record)


def _common(a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...]) -> tuple[int, ...]:
    """Leading axes of the result."""
    if a == b == c:
        return a
    try:
        return np.broadcast_shapes(a, b, c)
    except ValueError:
        raise OperandShapeError(
            f"the leading axes of A {a}, B {b} and C {c} do not broadcast to one number of waves."
        ) from None


def _per_wave(words: NDArray[np.uint32], waves: tuple[int, ...]) -> NDArray[np.uint32]:
    """Words of every wave (waves, 64, vgprs), without a copy where all waves share them or none does."""
    one = words.shape[-2:]
    if words.shape[:-2] != waves and words.size > one[0] * one[1]:
        words = np.broadcast_to(words, waves + one)
    return words.reshape(-1, *one)


def _run(entry: NativeEntry, operands: Sequence[NDArray[np.uint32]], modifiers: tuple[int, int, int]) -> None:
    """Run the instruction on the words of all waves of D, A, B and C, in pieces for threads."""
    d, *inputs = operands
    waves = len(d)

    def piece(first: int) -> None:
        lines = slice(first, first + WAVES_PER_PIECE)
        here = [_registers(x[lines] if len(x) == waves else x) for x in inputs]
        result = np.empty((len(d[lines]), d.shape[2], WAVE), np.uint32)
        arrays = [result, *here]
        steps = [x.shape[1] * WAVE if len(x) > 1 else 0 for x in arrays]
        pointers = [x.__array_interface__["data"][0] for x in arrays]
        entry.call(*pointers, *modifiers, len(result), *steps)
        d[lines] = result.swapaxes(1, 2)

    if waves <= WAVES_PER_PIECE:
        piece(0)
    else:
        firsts = range(0, waves, WAVES_PER_PIECE)
        run([functools.partial(piece, first) for first in firsts], thread_count(None))


def _registers(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Words of lanes as registers: (waves, vgprs, 64)."""
    return np.ascontiguousarray(words.swapaxes(1, 2))


def _matrices(array: object, format: Format, what: str, shape: tuple[int, int, int]) -> NDArray[Any]:
    codes = arrays.codes(array, format, what)
    if codes.shape[-3:] != shape:
        raise OperandShapeError(
            f"{what} has shape {codes.shape}, but (..., blocks, rows, columns) is (..., {', '.join(map(str, shape))})."
        )
    return codes

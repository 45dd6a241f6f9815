"""The layout of one operand: locate elements, name what a register slot holds, pack and unpack whole operands."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NoReturn, SupportsIndex

import numpy as np
import numpy.typing as npt

from mfma.errors import OperandShapeError, OperandTypeError, OptionError
from mfma.isa.modifiers import check_modifiers
from mfma.isa.spec import Blgp, MatrixOp
from mfma.layout.patterns import PATTERNS, Pattern, operand_pattern
from mfma.layout.refusals import batched, refuse_coordinates
from mfma.layout.slots import Element, Slot, SlotArrays
from mfma.layout.sources import lane_sources

__all__ = ["Layout", "layout"]

INDEX_BITS = 4
"""Width of an element of the sparse index: two 2-bit positions of kept elements."""

Coordinates = tuple[int | None, int | None, int | None, int]
"""An `Element` or a plain tuple like it."""

NEGATE_BIT = {"A": 1, "B": 2, "C": 4}
"""Bit of ``blgp`` that negates a matrix on f64."""


@dataclass(frozen=True)
class Layout:
    """Placement of one operand of one instruction, made by `layout`.

    ``cbsz``, ``abid`` and ``blgp`` hold only what acts on this matrix, so layouts that place alike are equal.
    """

    op: MatrixOp
    matrix: str
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0

    def __str__(self) -> str:
        return f"{self.matrix} of {self.op}{' with ' * bool(self._modifiers)}{' '.join(self._modifiers)}"

    def __repr__(self) -> str:
        return f"mfma.op({self.op.name!r}).layout({', '.join([repr(self.matrix), *self._modifiers])})"

    def _repr_svg_(self) -> str:
        """Draw the operand where a notebook shows it."""
        from mfma.layout.picture import picture

        return picture(self)

    @property
    def _modifiers(self) -> list[str]:
        given = {"cbsz": self.cbsz, "abid": self.abid, "blgp": self.blgp}
        return [f"{name}={value}" for name, value in given.items() if value]

    @cached_property
    def pattern(self) -> Pattern:
        """The einops pattern with its numbers; modifiers are not part of it."""
        return operand_pattern(self.op, self.matrix)

    @cached_property
    def lane_sources(self) -> tuple[int, ...] | None:
        """For each lane position the lane whose registers are read, or None if its own."""
        return lane_sources(self.op, self.matrix, self.cbsz, self.abid, self.blgp)

    @property
    def negated(self) -> bool:
        """Whether the hardware negates every element while reading it."""
        return self.op.blgp is Blgp.NEG and self.blgp != 0

    @cached_property
    def bits(self) -> int:
        """Width of an element."""
        formats = {"A": self.op.a, "B": self.op.b, "C": self.op.out, "D": self.op.out}
        return formats[self.matrix].bits if self.matrix in formats else INDEX_BITS

    @property
    def shape(self) -> tuple[int, int, int]:
        """Logical shape (blocks, rows, columns)."""
        return self.pattern.shape

    @property
    def register_shape(self) -> tuple[int, ...]:
        """Register shape: (64, elements per lane), or (64,) where the C type is a scalar."""
        lanes, elements = self.pattern.register_shape
        return (lanes, elements) if elements > 1 else (lanes,)

    def locate(self, *, i: int | None = None, j: int | None = None, k: int | None = None, block: int = 0) -> Slot:
        """Return the slot where the hardware reads an element, or writes it if the matrix is D.

        Give the two coordinates that the matrix has. On sparse instructions k of ``"A"`` counts the kept elements,
        and k of the index ``"K"`` the groups of four.

        >>> from mfma.isa.cdna3 import DENSE
        >>> layout(DENSE[8], "A").locate(i=5, k=6)  # f32_32x32x8f16
        Slot(lane=37, vgpr=1, low_bit=0, high_bit=15, negated=False)
        >>> print(layout(DENSE[8], "A").locate(i=5, k=6))
        v1{37}.[15:0]

        Raises:
            OptionError: a coordinate is missing, out of range, or not one of this matrix.
        """
        try:
            return self._slot_of[i, j, k, block]
        except (KeyError, TypeError):
            self._refuse_element(i=i, j=j, k=k, block=block)

    def elements(self, *, lane: int, vgpr: int, low_bit: int = 0) -> tuple[Element, ...]:
        """Return every element that the hardware reads from a slot: one, or under a broadcast several or none.

        ``low_bit`` is the element's lowest bit in its register; a 64-bit element is named by the first VGPR of its
        pair.

        >>> from mfma.isa.cdna3 import DENSE
        >>> layout(DENSE[0], "B", blgp=1).elements(lane=5, vgpr=0)  # f32_32x32x1f32
        (Element(i=None, j=5, k=0, block=0), Element(i=None, j=5, k=0, block=1))
        >>> layout(DENSE[0], "B", blgp=1).elements(lane=37, vgpr=0)
        ()

        Raises:
            OptionError: no element of this operand starts there, with or without modifiers.
        """
        try:
            return self._elements_of[lane, vgpr, low_bit]
        except (KeyError, TypeError):
            self._refuse_slot(lane=lane, vgpr=vgpr, low_bit=low_bit)

    def element(self, *, lane: int, vgpr: int, low_bit: int = 0) -> Element:
        """Return the one element of a slot.

        >>> from mfma.isa.cdna3 import DENSE
        >>> layout(DENSE[8], "D").element(lane=39, vgpr=1)  # f32_32x32x8f16
        Element(i=5, j=7, k=None, block=0)

        Raises:
            OptionError: no element starts there, or the modifiers make it several or none (ask `elements`).
        """
        found = self.elements(lane=lane, vgpr=vgpr, low_bit=low_bit)
        if len(found) != 1:
            slot = Slot(lane, vgpr, low_bit, low_bit + self.bits - 1)
            raise OptionError(f"{slot} holds {len(found) or 'no'} elements of {self}, not one: ask elements() for all.")
        return found[0]

    def slots(self) -> SlotArrays:
        """Return lane, VGPR and low bit of every element, as read-only arrays indexed [block, row, column].

        >>> from mfma.isa.cdna3 import DENSE
        >>> layout(DENSE[8], "D").slots().lane[0, 5, 7]  # f32_32x32x8f16
        np.int64(39)
        """
        return self._slots

    def pack(self, matrices: npt.ArrayLike) -> npt.NDArray[Any]:
        """Place logical matrices in registers: the operand that makes the hardware read these matrices.

        Args:
            matrices: (..., blocks, rows, columns) of any element type, which is kept.

        Returns:
            (..., 64, elements), elements of a lane from the lowest bit up, or (..., 64) where the C type is a
            scalar. Registers that nothing reads under the modifiers are zero. Without modifiers the answer may
            share memory with the argument.

        Raises:
            OperandShapeError: the shape is not this operand's, or elements that a modifier makes the hardware
                read from one slot differ in their bits.
            OperandTypeError: f64 with negation, and elements that are neither floats nor integers of up to 64 bits.

        >>> from mfma.isa.cdna3 import DENSE
        >>> d = np.arange(32 * 32).reshape(1, 32, 32)
        >>> layout(DENSE[8], "D").pack(d)[39]  # f32_32x32x8f16: lane 39 has column 7, rows 4..7, 12..15, ...
        array([135, 167, 199, 231, 391, 423, 455, 487, 647, 679, 711, 743, 903,
               935, 967, 999])
        """
        array = np.asarray(matrices)
        if array.shape[-3:] != self.shape:
            hint = "; the one block keeps its axis: add it with m[..., None, :, :]" if self.shape[0] == 1 else ""
            raise OperandShapeError(
                f"{self} has shape {batched(self.shape)}, that is {batched(self.pattern.coordinates)}, not "
                f"{array.shape}{hint}."
            )
        registers = self._write(self._negate(self.pattern.to_registers(array)))
        return registers if len(self.register_shape) > 1 else registers[..., 0]

    def unpack(self, registers: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the logical matrices that the hardware reads from registers, or writes if the matrix is D.

        The inverse of `pack`. Under a broadcast the elements of a slot appear in every place that reads them.

        Args:
            registers: (..., 64, elements), or (..., 64) where the C type is a scalar; packed 8-bit operands are
                given as their elements.

        Returns:
            (..., blocks, rows, columns) of the same element type. It may share memory with the argument.

        Raises:
            OperandShapeError: the shape is not this operand's.
            OperandTypeError: f64 with negation, and elements that are neither floats nor integers of up to 64 bits.
        """
        array = np.asarray(registers)
        if array.shape[-len(self.register_shape) :] != self.register_shape:
            raise OperandShapeError(
                f"Registers of {self} have shape {batched(self.register_shape)}, that is "
                f"{batched(('lane', 'element')[: len(self.register_shape)])}, not {array.shape}."
            )
        by_lane = array if len(self.register_shape) > 1 else array[..., None]
        return self._negate(self._read(by_lane))

    def _read(self, registers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Take every lane position from its source, then apply the pattern."""
        if self.lane_sources is not None:
            registers = registers[..., self.lane_sources, :]
        return self.pattern.to_matrices(registers)

    def _write(self, positions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Put every lane position where it is read from; refuse two different values for one register."""
        if self.lane_sources is None:
            return positions
        registers = np.zeros_like(positions)
        registers[..., self.lane_sources, :] = positions
        differs = _bytes(registers[..., self.lane_sources, :]) != _bytes(positions)
        if differs.any():
            lane, byte = np.argwhere(differs)[0][-2:].tolist()
            self._refuse_conflict(lane, byte // positions.itemsize)
        return registers

    def _negate(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Flip the sign bit if this operand is negated: by the bits, so that NaN and -0 flip on every host."""
        if not self.negated:
            return array
        if array.dtype.kind not in "fiu" or array.itemsize > 8:
            raise OperandTypeError(
                f"{self} is negated, by its sign bit: give float64 or its bits as int64, not {array.dtype}."
            )
        unsigned = np.dtype(f"{array.dtype.byteorder}u{array.itemsize}")
        sign = np.array(1 << (8 * array.itemsize - 1), unsigned)
        # A ufunc answers in native byte order, so return to the argument's before taking the bits as its type.
        flipped: npt.NDArray[Any] = np.bitwise_xor(array.view(unsigned), sign).astype(unsigned, copy=False)
        return flipped.view(array.dtype)

    @cached_property
    def _starts(self) -> tuple[tuple[int, int], ...]:
        """VGPR and low bit of each element of a lane."""
        return tuple(divmod(self.bits * element, 32) for element in range(self.pattern.register_shape[1]))

    @cached_property
    def _slots(self) -> SlotArrays:
        lanes, elements = self.pattern.register_shape
        position = self._read(np.arange(lanes * elements).reshape(lanes, elements))
        vgpr, low_bit = np.array(self._starts).T
        arrays = SlotArrays(position // elements, vgpr[position % elements], low_bit[position % elements])
        for array in arrays:
            array.setflags(write=False)
        return arrays

    @cached_property
    def _slot_of(self) -> dict[Coordinates, Slot]:
        """Every element's slot: a look-up is one dictionary access."""
        _, row, column = self.pattern.coordinates
        blocks, rows, columns = map(range, self.shape)
        elements = (Element(**{row: r, column: c}, block=b) for b, r, c in product(blocks, rows, columns))
        places = zip(*(array.ravel().tolist() for array in self._slots), strict=True)
        return {
            element: Slot(lane, vgpr, low_bit, low_bit + self.bits - 1, self.negated)
            for element, (lane, vgpr, low_bit) in zip(elements, places, strict=True)
        }

    @cached_property
    def _elements_of(self) -> dict[tuple[int, int, int], tuple[Element, ...]]:
        """The elements of every slot, those that nothing reads included."""
        lanes = range(self.pattern.register_shape[0])
        held: dict[tuple[int, int, int], list[Element]] = {(n, *start): [] for n, start in product(lanes, self._starts)}
        for element, slot in self._slot_of.items():
            held[slot[:3]].append(Element(*element))
        return {place: tuple(elements) for place, elements in held.items()}

    def _refuse_element(self, **given: object) -> NoReturn:
        block, row, column = zip(self.pattern.coordinates, map(range, self.shape), strict=True)
        refuse_coordinates(f"{self} is located by", dict((row, column, block)), given)

    def _refuse_slot(self, **given: object) -> NoReturn:
        vgprs, low_bits = (sorted(set(values)) for values in zip(*self._starts, strict=True))
        allowed = {"lane": range(self.register_shape[0]), "vgpr": vgprs, "low_bit": low_bits}
        refuse_coordinates(f"{self} has elements at", allowed, given)

    def _refuse_conflict(self, lane: int, element: int) -> NoReturn:
        sources = self.lane_sources or ()
        last = max(position for position, source in enumerate(sources) if source == sources[lane])
        vgpr, low_bit = self._starts[element]
        unmodified = layout(self.op, self.matrix)
        cells = [unmodified.element(lane=position, vgpr=vgpr, low_bit=low_bit) for position in (lane, last)]
        slot = Slot(sources[lane], vgpr, low_bit, low_bit + self.bits - 1)
        raise OperandShapeError(
            f"{self} cannot be packed: the hardware reads {' and '.join(map(self._name, cells))} from the same {slot}, "
            "but their bits differ; give equal elements there, or leave the modifier out."
        )

    def _name(self, element: Element) -> str:
        _, row, column = self.pattern.coordinates
        return f"{self.matrix}[{getattr(element, row)}][{getattr(element, column)}] of block {element.block}"


def layout(
    op: MatrixOp, matrix: str, cbsz: SupportsIndex = 0, abid: SupportsIndex = 0, blgp: SupportsIndex = 0
) -> Layout:
    """Return the layout of one operand of an instruction: ``"A"``, ``"B"``, ``"C"`` or ``"D"``.

    The modifiers describe the instruction, so they are checked against it and may be given for every matrix; each
    matrix takes what acts on it: A ``cbsz`` and ``abid``, B ``blgp``, and on f64 A, B and C their bit of ``blgp``.
    Nothing acts on D. The sparse instructions also have ``"K"``, the index of their A: one nibble for every group of
    four k, the two 2-bit positions of the kept elements; columns of their ``"A"`` are the kept elements.

    >>> from mfma.isa.cdna3 import DENSE
    >>> layout(DENSE[7], "A", cbsz=2, abid=1)
    mfma.op('f32_4x4x4f16').layout('A', cbsz=2, abid=1)
    >>> layout(DENSE[7], "D", cbsz=2, abid=1)
    mfma.op('f32_4x4x4f16').layout('D')

    Raises:
        OptionError: the instruction has no such matrix.
        ModifierError: the modifiers are not legal for the instruction.
    """
    matrices = [name for name in PATTERNS if op.sparse or name != "K"]
    if matrix not in matrices:
        raise OptionError(f"{op} has the matrices {', '.join(matrices)}, not {matrix!r}.")
    check_modifiers(op, cbsz, abid, blgp)
    size, block, lanes = map(operator.index, (cbsz, abid, blgp))
    if matrix != "A":
        size = block = 0
    if op.blgp is Blgp.NEG:
        lanes &= NEGATE_BIT.get(matrix, 0)
    elif matrix != "B":
        lanes = 0
    return _shared(op, matrix, size, block, lanes)


@lru_cache(maxsize=1024)
def _shared(op: MatrixOp, matrix: str, cbsz: int, abid: int, blgp: int) -> Layout:
    """One object per layout, so that its tables are built once."""
    return Layout(op, matrix, cbsz, abid, blgp)


def _bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Bytes of an array along its last axis: equality of bits, also for NaN and -0."""
    return np.ascontiguousarray(array).view(np.uint8)

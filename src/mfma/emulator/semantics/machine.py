"""What a definition sees of the wave: registers, operands, memory and control, each a node of the program."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from mfma.emulator.decode import Instruction, Operand
from mfma.emulator.semantics.values import B1, B16, B32, B64, F32, F64, Op, Program, Type, Value
from mfma.isa.spec import MatrixOp

__all__ = ["ACC", "EXEC", "M0", "VCC", "Access", "Machine", "MatrixCall", "Mode", "Space", "constant_bits"]

VCC, M0, EXEC = 106, 124, 126
VCCZ, EXECZ, SCC, LITERAL, FIRST_VGPR, POPS_EXITING_WAVE_ID = 251, 252, 253, 255, 256, 239
ACC = 256
"""Number of the first accumulation VGPR in the register file of a wave."""

APERTURES = {235: "shared_base", 236: "shared_limit", 237: "private_base", 238: "private_limit"}

# Inline constants 240 to 248, as numbers; 248 is 1/(2 pi), whose patterns the ISA manual gives.
FLOATS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
FORMATS = {16: "<e", 32: "<f", 64: "<d"}
INVERSE_TWO_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}


def constant_bits(code: int, bits: int) -> int:
    """Bits of an inline constant (source codes 128 to 208 and 240 to 248) for an operand of this width.

    Integer operands of 16 and 32 bits take the pattern of the float of their width too; those of 64 bits that of
    float64.
    """
    mask = (1 << bits) - 1
    if 128 <= code <= 192:
        return code - 128
    if 193 <= code <= 208:
        return 192 - code & mask
    if code == 248:
        return INVERSE_TWO_PI[bits]
    return int.from_bytes(struct.pack(FORMATS[bits], FLOATS[code - 240]), "little")


class Space(Enum):
    """Address spaces of memory nodes."""

    GLOBAL = "global"
    LDS = "LDS"
    SCRATCH = "scratch"
    FLAT = "flat"  # every lane's address says which of the other three


@dataclass(frozen=True)
class Access:
    """What a memory node touches: ``bytes_`` for every lane (1, 2, 4, 8, 12 or 16; more for the wave's own loads).

    ``alignment`` is what the address must be a multiple of. Of an atomic, ``combine`` makes the new value of memory
    from the old one and the operands (values of ``bytes_``), or None where memory keeps the old one; ``rounds`` says
    that the result depends on the order of the lanes.
    """

    space: Space
    bytes_: int
    alignment: int = 1
    combine: Callable[..., Value] | None = None
    rounds: bool = False


@dataclass(frozen=True)
class MatrixCall:
    """One matrix instruction on the register file: numbers of first registers (AGPRs from 256 on), or constant bits.

    ``c`` is a register number, or the 32- or 64-bit pattern ``c_bits`` that fills every element.
    """

    op: MatrixOp
    d: int
    a: int
    b: int
    c: int | None
    c_bits: int
    cbsz: int
    abid: int
    blgp: int
    fp16_ovfl: bool


@dataclass(frozen=True)
class Mode:
    """The part of the MODE register that changes what instructions compute; a program holds for one mode.

    ``flush_32`` and ``flush_16_64`` treat subnormals as zeros, in operands and in results, per type of float.
    ``gpr_idx_en`` (bit 27) lets M0 index the vector registers of VALU instructions.
    """

    flush_32: bool = False
    flush_16_64: bool = False
    dx10_clamp: bool = True
    ieee: bool = True
    fp16_ovfl: bool = False
    gpr_idx_en: bool = False

    def flushes(self, type_: Type) -> bool:
        """Whether subnormals of this float type are zeros."""
        return self.flush_32 if type_ == F32 else self.flush_16_64


class Machine:
    """The wave while one instruction is being defined."""

    def __init__(self, instruction: Instruction, mode: Mode) -> None:
        self.instruction = instruction
        self.mode = mode
        self.program = Program()

    # constants and state

    def constant(self, type_: Type, number: int | float) -> Value:
        """A constant of the wave."""
        return self.program.constant(type_, number)

    def lane(self) -> Value:
        """Every lane's own number, B32."""
        return self.program.lane()

    def sgpr(self, number: int, dwords: int = 1) -> Value:
        """Scalar register (by operand code), B32, or a pair as B64."""
        return self.program.emit(Op.SGPR, B64 if dwords == 2 else B32, False, data=number)

    def set_sgpr(self, number: int, value: Value) -> None:
        """Write a B32 or, into a pair, a B64 of the wave."""
        self.program.emit(Op.SET_SGPR, value.type, False, value, data=number)

    @property
    def exec(self) -> Value:
        """EXEC as a mask."""
        return self.program.emit(Op.EXEC_MASK, B1, True)

    @property
    def scc(self) -> Value:
        """SCC, B1 of the wave."""
        return self.program.emit(Op.SCC, B1, False)

    def set_scc(self, value: Value) -> None:
        """Write SCC."""
        self.program.emit(Op.SET_SCC, B1, False, value)

    def vgpr(self, number: int, dwords: int = 1) -> Value:
        """Vector register (accumulation registers from `ACC` on), B32, or a pair as B64."""
        return self.program.emit(Op.VGPR, B64 if dwords == 2 else B32, True, data=number)

    def set_vgpr(self, number: int, value: Value, mask: Value | None = None) -> None:
        """Write a B32, or a B64 into a pair, where ``mask`` (EXEC if none is given) is true."""
        mask = self.exec if mask is None else mask
        self.program.emit(Op.SET_VGPR, value.type, True, value.splat(), mask, data=number)

    # VGPR indexing: M0[7:0] is added to the register numbers of the operands that M0[15:12] names

    def _index(self, operand: int) -> Value:
        """What M0 adds to the register of source 0, 1, 2 or (3) of the destination."""
        m0 = self.sgpr(M0)
        return m0.bits(12 + operand, 1) * (m0 & 0xFF)

    def vgpr_indexed(self, number: int, operand: int, dwords: int = 1) -> Value:
        """Register of source 0, 1, 2 or (3) of the destination, whose number M0 can index."""
        if not self.mode.gpr_idx_en:
            return self.vgpr(number, dwords)
        index = self._index(operand)
        low, *high = (self.program.emit(Op.VGPR_AT, B32, True, index, data=number + i) for i in range(dwords))
        return low.concat(high[0]) if high else low

    def set_vgpr_indexed(self, number: int, value: Value, mask: Value) -> None:
        """Write a destination of the VALU, whose number M0 can index."""
        if not self.mode.gpr_idx_en:
            self.set_vgpr(number, value, mask)
            return
        index = self._index(3)
        parts = [value] if value.type == B32 else [value.trunc(B32), (value >> 32).trunc(B32)]
        for i, part in enumerate(parts):
            self.program.emit(Op.SET_VGPR_AT, B32, True, index, part.splat(), mask, data=number + i)

    def hardware(self, name: str, type_: Type = B32) -> Value:
        """Hardware register or counter by the ISA's name, for the wave."""
        return self.program.emit(Op.HARDWARE, type_, False, data=name)

    # operands

    def register(self, operand: Operand) -> int:
        """Number of the first vector register of an operand that is one."""
        number = operand.vgpr
        assert number is not None
        return number + ACC if operand.acc else number

    def read(self, operand: Operand, type_: Type = B32, source: int | None = None, signed: bool = False) -> Value:
        """Value of a source: of the lanes for a vector register, else of the wave. Constants take the type's pattern.

        Args:
            operand: one of the instruction's sources.
            type_: how its bits are read.
            source: its number, if M0 can index its register (`Mode.gpr_idx_en`).
            signed: whether a literal of 64 bits is sign-extended.
        """
        if operand.code >= FIRST_VGPR:
            number, dwords = self.register(operand), 2 if type_.bits == 64 else 1
            value = self.vgpr(number, dwords) if source is None else self.vgpr_indexed(number, source, dwords)
        else:
            value = self._read_scalar(operand, type_, signed)
        return (value.trunc(type_.integer) if value.type.bits > type_.bits else value).bitcast(type_)

    def _read_scalar(self, operand: Operand, type_: Type, signed: bool) -> Value:
        code = operand.code
        wide = type_.integer if type_.bits == 64 else B32
        if code == LITERAL:
            bits = operand.literal or 0
            if type_ == F64:  # the high half
                bits <<= 32
            elif signed:
                bits = (bits ^ 1 << 31) - (1 << 31)
            return self.constant(wide, bits)
        if 128 <= code <= 208 or 240 <= code <= 248:
            # 16-bit integers take the low half of the 32-bit pattern
            return self.constant(wide, constant_bits(code, 32 if type_ == B16 else type_.bits))
        return self._read_state(code, type_)

    def _read_state(self, code: int, type_: Type) -> Value:
        """A scalar register, or a part of the wave's state that stands among them."""
        wide = type_.integer if type_.bits == 64 else B32
        if code in APERTURES:
            value = self.hardware(APERTURES[code], B64)
            return value if type_.bits == 64 else value.trunc(B32)
        if code in (VCCZ, EXECZ):
            register = self.sgpr(VCC if code == VCCZ else EXEC, 2)
            return register.equals(0).zext(wide)
        if code == SCC:
            return self.scc.zext(wide)
        if code == POPS_EXITING_WAVE_ID:  # of pixel shaders
            return self.constant(wide, 0)
        return self.sgpr(code, 2 if type_.bits == 64 else 1)

    def write(self, operand: Operand, value: Value) -> None:
        """Write a destination: a vector register under EXEC, or a scalar register."""
        if operand.code >= FIRST_VGPR:
            self.set_vgpr(self.register(operand), value.as_int())
        else:
            self.set_sgpr(operand.code, value.as_int())

    # memory

    def load(self, access: Access, address: Value, mask: Value | None = None) -> list[Value]:
        """Registers that every lane of the mask loads; narrow accesses are zero-extended to one register."""
        mask = self.exec if mask is None else mask
        loaded = self.program.emit(Op.LOAD, B32, True, address.splat(), mask, data=access)
        return self._parts(loaded, access)

    def load_wave(self, address: Value, dwords: int) -> list[Value]:
        """Registers that the wave loads from global memory (B64 address, a multiple of 4)."""
        access = Access(Space.GLOBAL, 4 * dwords, 4)
        return self._parts(self.program.emit(Op.LOAD_WAVE, B32, False, address, data=access), access)

    def store(self, access: Access, address: Value, data: Sequence[Value], mask: Value | None = None) -> None:
        """Store registers of every lane of the mask; narrow accesses take the low bits of one register."""
        mask = self.exec if mask is None else mask
        parts = [value.splat() for value in data]
        self.program.emit(Op.STORE, B32, True, address.splat(), mask, *parts, data=access)

    def atomic(self, access: Access, address: Value, operands: Sequence[Value]) -> list[Value]:
        """Combine memory with operands lane by lane, in the order of the lanes; the old value, register by register.

        Operands have the access's width: B32 or B64.
        """
        parts = [operand.splat() for operand in operands]
        old = self.program.emit(Op.ATOMIC, B32, True, address.splat(), self.exec, *parts, data=access)
        return self._parts(old, access)

    def _parts(self, loaded: Value, access: Access) -> list[Value]:
        count = max(1, access.bytes_ // 4)
        return [self.program.emit(Op.PART, B32, loaded.lanes, loaded, data=part) for part in range(count)]

    # matrix and control

    def matrix(self, call: MatrixCall) -> None:
        """Run a matrix instruction; EXEC does not matter."""
        self.program.emit(Op.MATRIX, B32, True, data=call)

    @property
    def next(self) -> int:
        """Address of the instruction behind this one."""
        return self.instruction.address + self.instruction.size

    def jump(self, address: Value) -> None:
        """Continue at a B64 address of the wave."""
        self.program.emit(Op.JUMP, B64, False, address)

    def branch(self, condition: Value, target: int) -> None:
        """Continue at ``target`` if the B1 of the wave is true."""
        self.program.emit(Op.BRANCH, B1, False, condition, data=target)

    def act(self, op: Op, *arguments: Value, data: object = None) -> None:
        """Emit an action without a result: `Op.BARRIER`, `Op.END`, `Op.YIELD`, `Op.TRAP`, `Op.SET_MODE`."""
        self.program.emit(op, B32, False, *arguments, data=data)

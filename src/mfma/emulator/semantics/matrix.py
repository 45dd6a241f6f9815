"""Matrix instructions: the arithmetic of `mfma.builtins` on the wave's registers, whatever EXEC says."""

from __future__ import annotations

import functools

from mfma.emulator.semantics.machine import Machine, MatrixCall, constant_bits
from mfma.emulator.semantics.registry import Basis, Definition, define
from mfma.emulator.semantics.values import Op
from mfma.errors import ModifierError
from mfma.isa.cdna3 import DENSE
from mfma.isa.modifiers import check_modifiers
from mfma.isa.spec import MatrixOp

__all__: list[str] = []


def _build(op: MatrixOp, machine: Machine) -> None:
    instruction = machine.instruction
    modifiers = instruction.modifiers
    try:
        check_modifiers(op, modifiers.cbsz, modifiers.abid, modifiers.blgp)
    except ModifierError as error:
        machine.act(Op.TRAP, data=str(error))
        return
    a, b, c = instruction.src
    is_register = c.vgpr is not None
    machine.matrix(
        MatrixCall(
            op=op,
            d=machine.register(instruction.dst[0]),
            a=machine.register(a),
            b=machine.register(b),
            c=machine.register(c) if is_register else None,
            c_bits=0 if is_register else constant_bits(c.code, op.out.bits),
            cbsz=modifiers.cbsz,
            abid=modifiers.abid,
            blgp=modifiers.blgp,
            fp16_ovfl=machine.mode.fp16_ovfl,
        )
    )


for _op in DENSE:
    define(Definition(_op.mnemonic, functools.partial(_build, _op), Basis.MATRIX))

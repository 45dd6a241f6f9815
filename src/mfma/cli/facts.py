"""All that is known about one instruction, as plain data for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mfma.isa import catalogue
from mfma.isa.accumulation import FmaChain, GroupSum, IntegerSum
from mfma.isa.modifiers import max_blgp
from mfma.isa.spec import MatrixOp, Operand

if TYPE_CHECKING:
    from mfma.isa.signature import CType, Signature
    from mfma.timing.peak import Peak
    from mfma.timing.throughput import Throughput

__all__ = ["accumulation_words", "facts", "peak_facts", "summary", "throughput_facts"]

MATRICES = ("A", "B", "C", "D")


def summary(op: MatrixOp) -> dict[str, Any]:
    """Give what ``mfma list`` says of an instruction."""
    registers = op.registers
    return {
        "name": op.name,
        "target": op.target,
        "builtin": op.builtin,
        "mnemonic": op.mnemonic,
        "sparse": op.sparse,
        "opcode": op.opcode,
        "m": op.m,
        "n": op.n,
        "k": op.k,
        "blocks": op.blocks,
        "a": op.a.name,
        "b": op.b.name,
        "cd": op.out.name,
        "registers": {name: _operand(x) for name, x in (("a", registers.a), ("b", registers.b), ("cd", registers.cd))},
        "operations": op.operations,
        "cycles": op.cycles,
        "passes": op.passes,
        "valu_coexecution_cycles": op.coexecution,
        "pipe": op.pipe.value,
    }


def facts(op: MatrixOp) -> dict[str, Any]:
    """Give everything that is known about an instruction."""
    from mfma.isa.evidence import evidence
    from mfma.isa.signature import backend_feature, guard_macro, required_feature, signature
    from mfma.isa.targets import target

    c = signature(op)
    return {
        **summary(op),
        "architecture": target(op.target).architecture,
        "names": list(catalogue.names(op)),
        "signature": {
            "page": str(c),
            "clang": {"clang 19": c.clang, "clang 22": c.clang22},
            "declarations": [x.declaration for x in _aliases(c)],
            "typedefs": [x.typedef for x in _aliases(c)],
        },
        "required_feature": required_feature(op),
        "backend_feature": backend_feature(op),
        "guard_macro": guard_macro(op),
        "peaks": [peak_facts(peak) for peak in _peaks(op)],
        "modifiers": _modifiers(op),
        "layouts": {matrix: _layout(op, matrix) for matrix in (*MATRICES, *("K" * op.sparse))},
        "accumulation": _accumulation(op),
        "evidence": {
            aspect: {"level": str(known.level), "source": known.source} for aspect, known in evidence(op).items()
        },
    }


def peak_facts(peak: Peak) -> dict[str, Any]:
    """Give a peak as plain data."""
    return {
        "op": peak.op.name,
        "device": peak.device.name,
        "clock_mhz": peak.clock_mhz,
        "tflops": peak.tflops,
        "unit": peak.unit,
        "per_cu_per_cycle": peak.per_cu_per_cycle,
        "formula": peak.formula,
        "source": peak.source,
    }


def throughput_facts(rate: Throughput) -> dict[str, Any]:
    """Give a throughput as plain data."""
    a, b, cd = rate.registers
    return {
        "op": rate.name,
        "target": rate.target,
        "operations": rate.operations,
        "cycles": rate.cycles,
        "passes": rate.passes,
        "valu_coexecution_cycles": rate.coexecution,
        "per_cu_per_cycle": rate.per_cu_per_cycle,
        "vgprs": {"a": a, "b": b, "cd": cd},
        "peaks": dict(rate.peaks),
    }


def accumulation_words(op: MatrixOp) -> str:
    """Say in words how an instruction adds up."""
    cut = f"The low {op.a.ignored} bits of A and B are cut off first. " if op.a.ignored else ""
    match op.accumulation:
        case FmaChain():
            return f"{cut}d = fma(a[k], b[k], d) for ascending k: for every k one rounding, to nearest even."
        case IntegerSum():
            return f"{cut}Exact products and an exact sum, modulo 2**32."
        case GroupSum() as rule:
            return cut + " ".join(_group_sum(rule))
        case None:
            return "Nobody has established how this instruction adds up."


def _group_sum(rule: GroupSum) -> Iterator[str]:
    yield (
        f"Groups of {rule.group} consecutive k. The exact products of a group are cut toward zero "
        f"{rule.product_bits} bits below the largest exponent of a product, and added."
    )
    if rule.parity:
        yield "Even and odd k are added apart, each below its own largest exponent, then floored to the common one."
    yield (
        f"With E the larger of that exponent and c's, the sum is floored {rule.sum_bits} bits below E and c "
        f"{rule.addend_bits} bits below E."
    )
    if rule.far_addend is not None:
        yield f"A c whose exponent is at most E - {rule.far_addend} counts as zero."
    yield (
        f"Their total is floored {rule.total_bits} bits below its own exponent and rounded to nearest even to f32, "
        "which is the c of the next group."
    )


def _operand(operand: Operand) -> dict[str, Any]:
    return {"format": operand.format.name, "elements": operand.elements, "vgprs": operand.vgprs}


def _aliases(c: Signature) -> tuple[CType, ...]:
    """The vector types of a signature, each once."""
    return tuple(dict.fromkeys(x for x in (c.a, c.b, c.d) if not x.is_scalar))


def _peaks(op: MatrixOp) -> tuple[Peak, ...]:
    from mfma.timing.devices import DEVICES
    from mfma.timing.peak import peak

    return tuple(peak(op, device) for device in DEVICES.values() if device.target == op.target)


def _modifiers(op: MatrixOp) -> dict[str, str]:
    broadcasts = f"0..{op.max_cbsz}: broadcasts blocks of A in groups of 2**cbsz" if op.max_cbsz else "must be 0"
    chosen = "0..2**cbsz - 1: the block of the group that is read" if op.max_cbsz else "must be 0"
    highest = max_blgp(op)
    return {
        "cbsz": broadcasts,
        "abid": chosen,
        "blgp": f"0..{highest}: {op.blgp.value}" if highest else op.blgp.value,
    }


def _layout(op: MatrixOp, matrix: str) -> dict[str, Any]:
    from mfma.layout import layout

    placed = layout(op, matrix)
    return {
        "shape": list(placed.shape),
        "pattern": str(placed.pattern),
        "equations": list(placed.pattern.equations),
        "bits": placed.bits,
    }


def _accumulation(op: MatrixOp) -> dict[str, Any]:
    rule = op.accumulation
    numbers = {} if rule is None else {"rule": type(rule).__name__, "group": rule.group, **asdict(rule)}
    return {**numbers, "words": accumulation_words(op)}

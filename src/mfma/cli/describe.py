"""All that is known about one instruction, as text."""

from __future__ import annotations

from typing import Any

from mfma.cli.facts import facts
from mfma.isa.evidence import claims
from mfma.isa.signature import signature
from mfma.isa.spec import MatrixOp
from mfma.render import Table, fields, paragraph, text

__all__ = ["describe"]

INDENT = "  "


def describe(op: MatrixOp) -> str:
    """Write everything that is known about an instruction as text."""
    known = facts(op)
    blocks = "one block" if op.blocks == 1 else f"{op.blocks} blocks"
    title = f"{op} on {op.target} ({known['architecture']}): D = A·B + C, {blocks} of {op.m}x{op.n}x{op.k}"
    sections = {
        "names": "\n".join(INDENT + name for name in known["names"]),
        "C": _c(known),
        "operands": _operands(op, known),
        "speed": _speed(op, known),
        "modifiers": fields(known["modifiers"].items(), indent=INDENT),
        "layout": _layouts(known["layouts"]),
        "accumulation": paragraph(known["accumulation"]["words"], indent=INDENT),
        "evidence": _evidence(op),
    }
    return "\n\n".join((title, *(f"{name}\n{body}" for name, body in sections.items())))


def _c(known: dict[str, Any]) -> str:
    features = known["required_feature"]
    if known["backend_feature"] != features:
        features += f" for clang, {known['backend_feature']} for the back end"
    c = known["signature"]
    pairs = [
        ("signature", c["page"]),
        *_by_compiler(c["clang"]),
        ("aliases", "\n".join(c["typedefs"]) or "none"),
        ("target feature", features),
        ("device guard", f"#if defined({known['guard_macro']})"),
        ("opcode", f"0x{known['opcode']:02X}"),
    ]
    return fields(pairs, indent=INDENT)


def _by_compiler(signatures: dict[str, str]) -> list[tuple[str, str]]:
    """The compilers' own types, in one line where all agree."""
    if len(set(signatures.values())) == 1:
        return [(", ".join(signatures), next(iter(signatures.values())))]
    return [*signatures.items()]


def _operands(op: MatrixOp, known: dict[str, Any]) -> str:
    c, registers = signature(op), op.registers
    operands = {
        "A": (registers.a, c.a),
        "B": (registers.b, c.b),
        "C": (registers.cd, c.c),
        "D": (registers.cd, c.d),
    }
    rows = tuple(
        (matrix, x.format.name, "x".join(map(str, known["layouts"][matrix]["shape"])), x.elements, x.vgprs, ctype.name)
        for matrix, (x, ctype) in operands.items()
    )
    return text(
        Table(("", "format", "blocks x rows x columns", "elements of a lane", "VGPRs", "C type"), rows), indent=INDENT
    )


def _speed(op: MatrixOp, known: dict[str, Any]) -> str:
    pairs = [
        ("operations", str(op.operations)),
        ("cycles", f"{op.cycles} on one matrix core, {op.passes} passes"),
        ("co-execution", f"{op.coexecution} of the cycles leave the vector ALU free"),
        ("pipe", op.pipe.value),
    ]
    rows = tuple((p["device"], p["per_cu_per_cycle"], f"{p['tflops']:.1f} {p['unit']}") for p in known["peaks"])
    peaks = Table(("device", "operations per CU and cycle", "peak"), rows)
    return "\n\n".join((fields(pairs, indent=INDENT), text(peaks, indent=INDENT)))


def _layouts(layouts: dict[str, dict[str, Any]]) -> str:
    """Write the pattern and the equations of every matrix, C and D once if they are alike."""
    matrices: dict[str, list[str]] = {}
    for matrix, layout in layouts.items():
        matrices.setdefault("\n".join((layout["pattern"], *layout["equations"])), []).append(matrix)
    return fields(((", ".join(names), body) for body, names in matrices.items()), indent=INDENT)


def _evidence(op: MatrixOp) -> str:
    """Write the claims, with numbers for their sources, and then the sources."""
    held = claims(op)
    numbers = {source: n for n, source in enumerate(dict.fromkeys(s for claim in held for s in claim.sources), 1)}
    rows = tuple(
        (claim.aspect, str(claim.level), ",".join(str(numbers[s]) for s in claim.sources), claim.remark)
        for claim in held
    )
    levels = sorted({claim.level for claim in held}, reverse=True)
    return "\n\n".join(
        (
            text(Table(("aspect", "level", "sources", "remark"), rows), indent=INDENT),
            fields(((str(level), level.meaning) for level in levels), indent=INDENT),
            fields(((f"{n}", str(source)) for source, n in numbers.items()), indent=INDENT),
        )
    )

"""Find an instruction by any of its names, by opcode or by what it multiplies.

Names are generated from the rows and looked up, never taken apart. Every name is accepted in any case.
"""

from __future__ import annotations

import functools

from mfma.errors import UnknownNameError, near
from mfma.formats import Format
from mfma.isa import cdna3, targets
from mfma.isa.spec import MatrixOp
from mfma.isa.spellings import ASSEMBLER_SPELLINGS

__all__ = ["by_opcode", "find", "names", "ops", "select", "sparse_ops"]

RECORDS: dict[str, tuple[MatrixOp, ...]] = {cdna3.TARGET: cdna3.DENSE}
SPARSE_RECORDS: dict[str, tuple[MatrixOp, ...]] = {cdna3.TARGET: cdna3.SPARSE}


def ops(target: str = cdna3.TARGET) -> tuple[MatrixOp, ...]:
    """Return the dense instructions of a target, in the order of the ROCm page.

    Raise `UnknownNameError` for a target without full records; `mfma.isa.targets` lists the names of some of those.

    >>> len(ops())
    32
    """
    return RECORDS[_with_records(target)]


def sparse_ops(target: str = cdna3.TARGET) -> tuple[MatrixOp, ...]:
    """Return the sparse instructions of a target: their placement is known, their arithmetic is not.

    >>> len(sparse_ops())
    14
    """
    return SPARSE_RECORDS[_with_records(target)]


def names(op: MatrixOp) -> tuple[str, ...]:
    """Return every name under which `find` knows an instruction, the short one first.

    >>> from mfma.isa.cdna3 import DENSE
    >>> for name in names(DENSE[5]): print(name)
    f32_32x32x4f16
    mfma_f32_32x32x4f16
    __builtin_amdgcn_mfma_f32_32x32x4f16
    amdgcn_mfma_f32_32x32x4f16
    llvm.amdgcn.mfma.f32.32x32x4f16
    rocdl.mfma.f32.32x32x4f16
    v_mfma_f32_32x32x4_2b_f16
    v_mfma_f32_32x32x4f16
    """
    older = (old for old, mnemonic in ASSEMBLER_SPELLINGS.items() if mnemonic == op.mnemonic)
    *generated, _ = targets.spellings(op.family, op.name)
    return (*generated, op.mnemonic, *older)


def find(name: str, target: str = cdna3.TARGET, *, sparse: bool = False) -> MatrixOp:
    """Return the instruction with this name.

    ``name`` is the short name, the builtin's with any part of its prefix, the ISA mnemonic, or the name of LLVM's or
    MLIR's intrinsic. With the ``v_`` prefix an older spelling means what the target's assembler makes of it.
    ``sparse`` looks among the sparse instructions instead. Raise `UnknownNameError` for a name that does not exist
    here, with the reason and the replacement where another GPU has it, and with near matches where none has.

    >>> find("V_MFMA_F32_32X32X8_F16").builtin
    '__builtin_amdgcn_mfma_f32_32x32x8f16'
    >>> find("f32_16x16x16f61")
    Traceback (most recent call last):
        ...
    mfma.errors.UnknownNameError: gfx942 has no instruction 'f32_16x16x16f61'. Did you mean f32_16x16x16f16, \
f32_16x16x4f16 or f32_16x16x1f32?
    """
    base = _with_records(target)
    if not isinstance(name, str):
        raise UnknownNameError(f"an instruction name is a string; got {name!r} ({type(name).__name__}).")
    key = name.strip().lower()
    known = _by_name(base, sparse)
    if key in known:
        return known[key]
    raise UnknownNameError(_why_unknown(name, key, base, sparse))


def by_opcode(opcode: int, target: str = cdna3.TARGET) -> MatrixOp:
    """Return the instruction, dense or sparse, with this opcode (bits 22:16 of its first word).

    >>> by_opcode(0x4C).name
    'f32_32x32x8f16'
    """
    for op in (*ops(target), *sparse_ops(target)):
        if op.opcode == opcode:
            return op
    shown = hex(opcode) if isinstance(opcode, int) else repr(opcode)
    raise UnknownNameError(f"no matrix instruction of {target} has opcode {shown}.")


def select(
    target: str = cdna3.TARGET,
    *,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    blocks: int | None = None,
    a: str | Format | None = None,
    b: str | Format | None = None,
) -> tuple[MatrixOp, ...]:
    """Return the dense instructions that meet every given condition; ``a`` and ``b`` are formats such as ``"f16"``.

    Raise `UnknownNameError` if there is none, naming some of those that miss the fewest conditions.

    >>> [op.name for op in select(m=16, k=16)]
    ['f32_16x16x16f16', 'f32_16x16x16bf16_1k']
    >>> select(m=32, k=16, a="f16")
    Traceback (most recent call last):
        ...
    mfma.errors.UnknownNameError: gfx942 has no instruction with m=32, k=16, a=f16; nearest are f32_32x32x4f16 (k 4), \
f32_32x32x8f16 (k 8), f32_16x16x16f16 (m 16), f32_32x32x16_fp8_fp8 (a fp8).
    """
    asked = {"m": m, "n": n, "k": k, "blocks": blocks, "a": a, "b": b}
    conditions = {field: str(value) for field, value in asked.items() if value is not None}

    def misses(op: MatrixOp) -> list[str]:
        return [field for field, value in conditions.items() if str(getattr(op, field)) != value]

    missed = {op: misses(op) for op in ops(target)}
    fewest = min(len(fields) for fields in missed.values())
    nearest = [op for op, fields in missed.items() if len(fields) == fewest]
    if fewest == 0:
        return tuple(nearest)
    wanted = ", ".join(f"{field}={value}" for field, value in conditions.items())
    reasons = (f"{op} ({', '.join(f'{field} {getattr(op, field)}' for field in missed[op])})" for op in nearest[:4])
    raise UnknownNameError(f"{target} has no instruction with {wanted}; nearest are {', '.join(reasons)}.")


@functools.cache
def _by_name(base: str, sparse: bool) -> dict[str, MatrixOp]:
    records = SPARSE_RECORDS if sparse else RECORDS
    return {name.lower(): op for op in records[base] for name in names(op)}


def _with_records(name: str) -> str:
    known = targets.target(name)
    if known.name not in RECORDS:
        raise UnknownNameError(
            f"{known} ({known.architecture}) is known by the names and rates of its builtins only "
            f"(mfma.isa.targets.target({known.name!r})): its arithmetic differs and is not implemented; "
            f"full records exist for {', '.join(RECORDS)}."
        )
    return known.name


def _why_unknown(name: str, key: str, base: str, sparse: bool) -> str:
    """Say why a name is not among the (sparse or dense) instructions of a target."""
    elsewhere = targets.where(key)
    if elsewhere and base not in elsewhere:
        return str(targets.why_not(key, base))
    other_family = _by_name(base, not sparse)
    if key in other_family and sparse:
        return f"{other_family[key]} is a dense instruction: find it without sparse=True."
    if key in other_family:
        return (
            f"{name} is a sparse instruction: its placement is known (find it with sparse=True), "
            "but nobody has established its arithmetic, so it cannot be called."
        )
    if "wmma" in key:
        return f"{name} is not an MFMA instruction: {targets.WMMA}."
    hint = near(key, list(_by_name(base, sparse))) or " `mfma list` shows those it has."
    return f"{base} has no instruction {name!r}.{hint}"

"""One output explained: every product, what was cut off where, every rounding, and how well all that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfma.builtins.op import Op
from mfma.builtins.op import op as find
from mfma.errors import OperandShapeError
from mfma.formats import Format, arrays
from mfma.formats.codec import encode
from mfma.isa.evidence import Evidence
from mfma.matrices.order import KOrder, steps
from mfma.numerics import reference
from mfma.numerics.trace import Trace
from mfma.render import paragraph

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True)
class Explanation:
    """A trace with its evidence; ``str()`` reads as tables, `as_dict` is ready for JSON.

    ``trace`` has the steps; ``evidence`` says how well the behaviours that took part are established.
    """

    trace: Trace
    evidence: dict[str, Evidence]

    @property
    def result(self) -> int:
        """The output, as a code of the result format."""
        return self.trace.result

    @property
    def value(self) -> float:
        """The output."""
        return self.trace.value

    @property
    def steps(self) -> tuple[Any, ...]:
        """The steps in order."""
        return self.trace.steps

    def as_dict(self) -> dict[str, Any]:
        """Give the explanation as plain data."""
        evidence = {aspect: {"level": str(e.level), "source": e.source} for aspect, e in self.evidence.items()}
        return {**self.trace.as_dict(), "evidence": evidence}

    def __str__(self) -> str:
        arithmetic = self.evidence["arithmetic"]
        sources = paragraph(f"evidence: {arithmetic.level}, by {arithmetic.source}")
        return f"{self.trace}\n\n{sources}"


def explain(
    op: str | Op, a_row: object, b_column: object, c: object = 0.0, k_order: KOrder = None, *, fp16_ovfl: bool = False
) -> Explanation:
    """Explain one output of a product: a row of A times a column of B, plus c.

    ``a_row`` and ``b_column`` are arrays of K elements of the types that the instruction takes, ``c`` a number or a
    zero-dimensional array of the accumulator's type; ``k_order`` is as in `mfma.matmul`. The computation is the
    reference in exact integers, which the fast kernels match bit for bit.

    Raises `UnknownNameError`, `OperandShapeError`, `OperandTypeError` and `OptionError`.

    >>> import numpy as np, mfma
    >>> a, b = np.array([2048, 2048], np.float16), np.array([2048, -2048], np.float16)
    >>> mfma.explain("f32_32x32x8f16", a, b, -1e-6).value
    -0.25
    """
    face = find(op)
    record = face.record
    x, y = _vector(a_row, record.a, "a_row"), _vector(b_column, record.b, "b_column")
    if len(x) != len(y):
        raise OperandShapeError(f"a_row has {len(x)} elements and b_column {len(y)}: give both the same K.")
    order = steps(record, len(x), k_order)
    if isinstance(k_order, Mapping):
        order = steps(record, len(order), k_order)  # the same, but the zeros that pad have their k, too
    ks: Sequence[int] = order.tolist()
    a_codes, b_codes = ([int(codes[k]) if k < len(codes) else 0 for k in ks] for codes in (x, y))
    trace = reference.trace(record, a_codes, b_codes, _scalar(c, record.out), fp16_ovfl=fp16_ovfl, ks=ks)
    return Explanation(trace, dict(face.evidence))


def _vector(array: object, format: Format, what: str) -> NDArray[Any]:
    codes = arrays.codes(array, format, what)
    if codes.ndim != 1:
        raise OperandShapeError(f"{what} has shape {codes.shape}, but it is one row or column of K elements, (K,).")
    return codes


def _scalar(c: object, format: Format) -> int:
    """Code of c: an array scalar of the accumulator's type as it is, a Python number correctly rounded."""
    if isinstance(c, np.generic | np.ndarray) or not isinstance(c, int | float):
        array = np.asarray(c) if isinstance(c, np.generic) else c
        codes = arrays.codes(array, format, "c")
        if codes.size != 1:
            raise OperandShapeError(f"c has shape {codes.shape}, but it is one number.")
        return int(codes.reshape(-1)[0])
    return int(arrays.codes(encode(np.asarray(c), format), format, "c"))

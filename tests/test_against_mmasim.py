"""The fast kernels against mmasim 2.1.1, whose authors compared it with an MI300X, on 14 million outputs.

mmasim needs torch and a C++ compiler, so it is an optional dependency of the tests.
"""

import importlib
import os
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mfma.isa.accumulation import GroupSum
from mfma.isa.cdna3 import DENSE
from mfma.isa.spec import MatrixOp
from mfma.numerics.fast import multiply
from mfma.numerics.nans import same_bits
from numeric_products import DATA, Codes, Draw

SIZE = 256
"""Rows and columns of a product."""
GROUP = 16
"""Products that an 8-bit float instruction adds at once."""


@pytest.fixture(scope="module")
def mmasim() -> Any:
    """The module with mmasim's instructions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("mmasim.amd")
    except ImportError as error:
        if os.environ.get("CI"):
            pytest.fail(f"mmasim is missing ({error}): install mmasim==2.1.1 and the CPU build of torch.")
        pytest.skip(f"mmasim is missing ({error})")


def theirs(instruction: Any, a: Codes, b: Codes, c: Codes) -> Codes:
    """Compute d by mmasim from codes."""
    torch = importlib.import_module("torch")
    types = instruction.a_type, instruction.b_type, instruction.c_type
    signed = (np.ascontiguousarray(x).view(f"int{8 * x.itemsize}") for x in (a, b, c))
    d = instruction(*(torch.from_numpy(x).view(type_) for x, type_ in zip(signed, types, strict=True)))
    return d.view({4: torch.int32, 8: torch.int64}[c.itemsize]).numpy().view(c.dtype)  # type: ignore[no-any-return]


def may_lose_c(op: MatrixOp, a: Codes, b: Codes, c: Codes) -> NDArray[np.bool_]:
    """Mark outputs whose infinite or NaN c mmasim drops.

    It gives such a c the exponent -1, so that a group of 8-bit floats with a product of exponent 25 or more takes it
    for one too small to matter. No other kind drops a c.
    """
    lost = np.zeros(c.shape, np.bool_)
    if not (isinstance(op.accumulation, GroupSum) and op.accumulation.parity):
        return lost
    exponents = []
    for codes, format in ((a, op.a), (b, op.b)):
        field = (codes & 0x7F).astype(np.int64) >> format.significand
        exponents.append(np.where(codes & 0x7F == 0, -1000, np.maximum(field, 1) - format.bias))
    before = c.copy()
    for first in range(0, op.k, GROUP):
        ks = slice(first, first + GROUP)
        e_dot = (exponents[0][:, ks, None] + exponents[1][None, ks, :]).max(axis=1)
        lost |= (before & 0x7F800000 == 0x7F800000) & (e_dot > 24)
        multiply(op, a[:, ks], b[ks], before)
    return lost


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("data", DATA, ids=lambda data: data.__name__)
@pytest.mark.parametrize("op", [op for op in DENSE if not op.out.is_integer], ids=str)
def test_every_float_instruction(op: MatrixOp, data: Draw, mmasim: Any, record_property: Any) -> None:
    instruction = mmasim.MFMA("CDNA3", op.mnemonic.removeprefix("v_mfma_"))
    a, b, c = data(np.random.default_rng(op.opcode), op, SIZE, SIZE, op.k)
    d = c.copy()
    multiply(op, a, b, d)
    expected, lost = theirs(instruction, a, b, c), may_lose_c(op, a, b, c)
    record_property("compared", int((~lost).sum()))
    assert lost.mean() < 0.5
    wrong = np.argwhere(~same_bits(d, expected, op.out) & ~lost)
    for i, j in wrong[:1]:
        case = a[i].tolist(), b[:, j].tolist(), f"{c[i, j]:x}", f"{d[i, j]:x}", f"{expected[i, j]:x}"
        pytest.fail(f"{len(wrong)} of {d.size} differ; a, b, c, ours, theirs: {case}")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_what_mmasim_loses(mmasim: Any) -> None:
    """The one known difference: an infinite c beside a product of 2**25, which must come out."""
    op = next(op for op in DENSE if op.mnemonic == "v_mfma_f32_32x32x16_bf8_bf8")
    a, b = np.zeros((1, 16), np.uint8), np.zeros((16, 1), np.uint8)
    c = np.array([[0x7F800000]], np.uint32)
    for field, lost in ((24, False), (25, True)):
        a[0, 0], b[0, 0] = (field - 12 + op.a.bias) << 2, (12 + op.b.bias) << 2
        assert may_lose_c(op, a, b, c)[0, 0] == lost
        d = c.copy()
        multiply(op, a, b, d)
        assert d[0, 0] == 0x7F800000
        assert (theirs(mmasim.MFMA("CDNA3", "f32_32x32x16_bf8_bf8"), a, b, c)[0, 0] != d[0, 0]) == lost

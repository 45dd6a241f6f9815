"""A layer of a language model on the matrix cores of an MI300X, in every arithmetic they have.

The operands are real: activations that enter the second feed-forward matrix of all-MiniLM-L6-v2 for six
sentences, and part of that matrix (examples/data/README.md). Every product is computed three times: with the
bits of the hardware, with a plain chain of fused multiply-adds, and exactly with one rounding.
"""

import time
from pathlib import Path

import numpy as np

import mfma
from mfma.matrices.compare import compare
from mfma.render import Table, text

DATA = Path(__file__).parent / "data"


def _quantize_i8(x: np.ndarray) -> tuple[np.ndarray, float]:
    scale = float(np.abs(x).max()) / 127
    return mfma.encode(x.astype(np.float64) / scale, "i8", overflow="saturate"), scale


#           what      instruction            rounding of both operands to its formats: (array, scale)
ARITHMETICS = {
    "f16": ("f32_32x32x8f16", lambda x: (mfma.encode(x, "f16"), 1.0)),
    "bf16": ("f32_32x32x8bf16_1k", lambda x: (mfma.encode(x, "bf16"), 1.0)),
    "xf32": ("f32_16x16x8_xf32", lambda x: (x, 1.0)),
    "fp8": ("f32_16x16x32_fp8_fp8", lambda x: mfma.fp8.quantize(x, "fp8")),
    "i8": ("i32_16x16x32_i8", _quantize_i8),
}


def main() -> None:
    a, b = np.load(DATA / "activations.npy"), np.load(DATA / "weight.npy")
    m, k = a.shape
    n = b.shape[1]
    print(f"activations {m} x {k} times weight {k} x {n}, both of all-MiniLM-L6-v2, as an MI300X multiplies them\n")
    started = time.perf_counter()
    rows = []
    for name, (instruction, convert) in ARITHMETICS.items():
        (x, x_scale), (y, y_scale) = convert(a), convert(b)
        op = mfma.op(instruction)
        hardware, fma, exact = (mfma.matmul(x, y, op=op, model=model) for model in ("hardware", "fma", "exact"))
        to_exact, to_fma = compare(hardware, exact, op.cd), compare(fma, hardware, op.cd)
        scale = x_scale * y_scale
        error = np.abs(hardware.astype(np.float64) - exact).mean() * scale
        peak = mfma.peak(op)
        rows.append(
            (
                name,
                op.mnemonic,
                f"{to_exact.differing / to_exact.outputs:6.1%}",
                f"{error:7.1e}",
                f"{to_exact.bias * scale:+8.1e}",
                f"{to_fma.differing / to_fma.outputs:6.1%}",
                f"{peak.tflops:4.0f} {peak.unit}",
            )
        )
    print(text(Table(("", "instruction", "inexact", "mean error", "bias", "FMA wrong", "peak"), tuple(rows))))
    outputs, products = m * n, m * n * k * len(ARITHMETICS)
    print(
        f"\nOf {outputs} outputs each. inexact: not the exact product of the same operands, rounded once; mean error"
        "\nand bias: distance from it, without and with its sign; FMA wrong: a CPU's fused multiply-adds give"
        "\nother bits than the MI300X; peak: of this instruction on an MI300X."
        f"\n{3 * products / 1e6:.0f} million multiply-adds in {time.perf_counter() - started:.1f} s on this machine,"
        " compilation included.\n"
    )
    _explain(mfma.encode(a, "f16"), mfma.encode(b, "f16"))


def _explain(a: np.ndarray, b: np.ndarray) -> None:
    """Show the last group of an output in which the three arithmetics part."""
    op = mfma.op("f32_32x32x8f16")
    tail = slice(-op.k, None)
    c = mfma.matmul(a[:, : -op.k], b[: -op.k], op=op)
    results = [mfma.matmul(a[:, tail], b[tail], c, op=op, model=model) for model in ("hardware", "fma", "exact")]
    hardware, fma, exact = (r.view(np.uint32).astype(np.int64) for r in results)
    parted = (hardware != fma) & (hardware != exact) & (fma != exact)
    i, j = np.unravel_index(np.argmax(parted * np.abs(hardware - exact)), parted.shape)
    k = a.shape[1]
    print(f"Output ({i}, {j}) of the f16 product parts in its last group, k {k - op.k} to {k - 1}, here from 0:\n")
    print(mfma.explain(op, a[i, tail], b[tail, j], c[i, j]))


if __name__ == "__main__":
    main()

"""The package as a reader meets it: names, lazy imports, and the facts on the object that `mfma.op` returns."""

import importlib.resources
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mfma
from mfma import MfmaError, Op, UnknownNameError
from mfma.isa.cdna3 import DENSE
from mfma.isa.evidence import Level

each_op = pytest.mark.parametrize("op", mfma.ops(), ids=str)


def python(code: str, *options: str) -> str:
    """Run code in a fresh interpreter and give what it prints."""
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- the package ----------------------------------------------------------------------------------------------

PUBLIC = {"op", "ops", "matmul", "explain", "peak", "encode", "errata", "fp8", "builtins", "Op"} | {
    *("chain", "choose", "compare", "contents", "gemm", "lint", "roofline", "throughput", "timeline", "where"),
    *("Device", "load", "triton"),
}
ERRORS = {
    "MfmaError": Exception,
    "UnknownNameError": LookupError,
    "ModifierError": ValueError,
    "OperandShapeError": ValueError,
    "OperandTypeError": TypeError,
    "OptionError": ValueError,
    "EncodingError": ValueError,
    "CodeObjectError": ValueError,
    "EvidenceError": ValueError,
    "LaunchError": ValueError,
    "KernelError": RuntimeError,
    "MemoryFault": RuntimeError,
    "WatchdogError": TimeoutError,
    "MissingToolError": LookupError,
}


def test_all_names_everything_public() -> None:
    assert set(mfma.__all__) == PUBLIC | ERRORS.keys()
    assert mfma.__all__ == sorted(mfma.__all__)
    for name in mfma.__all__:
        assert getattr(mfma, name) is getattr(mfma, name)
        assert name in dir(mfma)
    assert dir(mfma) == sorted(set(dir(mfma)))


def test_star_import() -> None:
    scope: dict[str, object] = {}
    exec("from mfma import *", scope)
    assert scope.keys() - {"__builtins__"} == set(mfma.__all__)
    assert all(value is getattr(mfma, name) for name, value in scope.items() if name != "__builtins__")


@pytest.mark.parametrize(("name", "expected"), ERRORS.items(), ids=ERRORS)
def test_every_error_is_also_what_python_readers_expect(name: str, expected: type[Exception]) -> None:
    assert issubclass(getattr(mfma, name), (MfmaError, expected))
    assert issubclass(getattr(mfma, name), MfmaError)
    assert issubclass(getattr(mfma, name), expected)


def test_a_missing_name_is_an_ordinary_one() -> None:
    with pytest.raises(AttributeError, match="module 'mfma' has no attribute 'matmull'"):
        mfma.matmull  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'matmull'"):
        from mfma import matmull  # noqa: F401
    assert not hasattr(mfma, "__wrapped__")


def test_version_and_types_are_shipped() -> None:
    assert mfma.__version__ == importlib.metadata.version("mfma")
    assert importlib.resources.files("mfma").joinpath("py.typed").is_file()


HEAVY = ("numpy", "llvmlite", "einops", "ml_dtypes", "click", "rich", "tabulate", "torch", "triton")


def test_importing_costs_nothing() -> None:
    """Look-ups must start fast: no heavy package comes in with the first line, nor with dir()."""
    code = f"import sys, mfma; dir(mfma); print([name for name in {HEAVY} if name in sys.modules])"
    assert python(code).strip() == "[]"
    timed = "import time; start = time.perf_counter(); import mfma; print(time.perf_counter() - start)"
    assert min(float(python(timed)) for _ in range(3)) < 0.15


@pytest.mark.parametrize("look", ["mfma.peak('f32_32x32x8f16')", "mfma.errata()"])
def test_looking_up_needs_no_compiler(look: str) -> None:
    code = f"import sys, mfma; {look}; print([name for name in {HEAVY} if name in sys.modules])"
    assert python(code).strip() == "[]"


@pytest.mark.parametrize("name", ["Device", "Op", "builtins", "encode", "explain", "fp8", "load", "matmul", "triton"])
def test_every_name_can_come_first(name: str) -> None:
    """No name depends on another one having been imported before."""
    assert python(f"from mfma import {name}; print({name!r})").strip() == name


# --- the object that mfma.op returns ------------------------------------------------------------------------

ROWS = json.loads((Path(__file__).parent / "golden" / "builtins_cdna3.json").read_text())
# The golden file has the calculator's type names.
TYPES = {
    "f64": "fp64",
    "f32": "fp32",
    "xf32": "xf32",
    "f16": "fp16",
    "bf16": "bf16",
    "fp8": "amd_fp8",
    "bf8": "amd_bf8",
    "i8": "int8",
    "i32": "int32",
}


def test_ops_are_the_published_32_in_their_order() -> None:
    assert [op.builtin for op in mfma.ops()] == [row["builtin"] for row in ROWS]
    assert mfma.ops() == mfma.ops("gfx942") == mfma.ops(target="gfx942")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["builtin"].removeprefix("__builtin_amdgcn_mfma_"))
def test_the_facts_are_the_published_ones(row: dict[str, Any]) -> None:
    op = mfma.op(row["builtin"])
    assert (op.mnemonic, op.opcode) == (row["isa"], int(row["opcode"], 16))
    assert (op.m, op.n, op.k, op.blocks) == (row["M"], row["N"], row["K"], row["blocks"])
    assert [TYPES[f.name] for f in (op.a, op.b, op.cd)] == [row[f"{m}_type"] for m in ("a", "b", "cd")]
    assert (op.operations, op.cycles, op.passes) == (row["ops"], row["cycles"], row["passes"])
    assert op.valu_coexecution_cycles == row["valu_coexec"]
    a, b, cd = op.registers.a, op.registers.b, op.registers.cd
    assert (a.elements, a.vgprs) == (b.elements, b.vgprs) == (row["elems_per_lane_AB"], row["vgprs_AB"])
    assert (cd.elements, cd.vgprs) == (row["elems_per_lane_CD"], row["vgprs_CD"])
    assert op.signature.clang == row["signature"]
    assert (op.name, op.target) == (row["builtin"].removeprefix("__builtin_amdgcn_mfma_"), "gfx942")
    assert op.accumulation is op.record.accumulation


@each_op
def test_evidence_has_a_level_and_a_source(op: Op) -> None:
    assert {"arithmetic", "layout"} <= set(op.evidence)
    for level, source in op.evidence.values():
        assert level in Level
        assert source


@each_op
def test_an_op_is_found_by_every_name_and_by_itself(op: Op) -> None:
    dotted = op.builtin.removeprefix("__builtin_").replace("amdgcn_mfma_", "amdgcn.mfma.").replace(op.name, "")
    intrinsic = f"llvm.{dotted}{op.name.replace('_', '.')}"
    for name in (op, op.record, op.name, op.builtin, op.mnemonic, intrinsic, op.name.upper(), op.mnemonic.upper()):
        assert mfma.op(name) is op


@each_op
def test_repr_evaluates_to_an_equal_op(op: Op) -> None:
    assert eval(repr(op), {"mfma": mfma}) == op
    assert str(op) == op.name


def test_ops_are_values() -> None:
    fresh = [Op(record) for record in DENSE]
    assert fresh == list(mfma.ops())
    assert len(set(fresh) | set(mfma.ops())) == 32
    assert len({hash(op) for op in fresh}) == 32
    assert mfma.op("f32_32x32x8f16") != mfma.op("f32_16x16x16f16")
    assert mfma.op("f32_32x32x8f16") != "f32_32x32x8f16"
    assert all(pickle.loads(pickle.dumps(op)) == op for op in mfma.ops())


@each_op
def test_every_layout_is_within_reach(op: Op) -> None:
    for matrix in "ABCD":
        lay = op.layout(matrix)
        slot = lay.locate(**dict(zip(lay.pattern.coordinates[1:], (0, 0), strict=True)), block=0)
        assert (slot.lane, slot.vgpr, slot.low_bit) == (0, 0, 0)
    assert op.layout("B", blgp=0) == op.layout("B")


def test_placements_that_users_ask_for() -> None:
    """AMD's matrix instruction calculator 1.3.2."""
    answers = {
        ("f32_32x32x8f16", "D", (5, 7), 0): "v1{39}",
        ("f32_32x32x8f16", "A", (5, 6), 0): "v1{37}.[15:0]",
        ("f32_16x16x4f32", "D", (6, 9), 0): "v2{25}",
        ("f64_16x16x4f64", "D", (6, 9), 0): "v[3:2]{41}",
        ("f32_4x4x4f16", "D", (2, 1), 5): "v2{21}",
        ("i32_16x16x32_i8", "A", (3, 21), 0): "v1{35}.[15:8]",
        ("f32_16x16x32_fp8_fp8", "B", (21, 3), 0): "v1{35}.[15:8]",
        ("f32_32x32x1f32", "D", (0, 1), 1): "v16{1}",
    }
    for (name, matrix, (row, column), block), answer in answers.items():
        lay = mfma.op(name).layout(matrix)
        coordinates = dict(zip(lay.pattern.coordinates[1:], (row, column), strict=True))
        assert str(lay.locate(**coordinates, block=block)) == answer


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        ("f32_32x32x8f61", "gfx942", "gfx942 has no instruction 'f32_32x32x8f61'. Did you mean f32_32x32x8f16"),
        ("i32_32x32x8i8", "gfx942", "on gfx942 use i32_32x32x16_i8"),
        ("f32_32x32x8f16", "gfx90a", "its arithmetic differs and is not implemented; full records exist for gfx942."),
        (7, "gfx942", "an instruction name is a string; got 7 (int)."),
    ],
)
def test_a_name_that_means_nothing_is_refused(name: Any, target: str, words: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        mfma.op(name, target)
    assert words in str(caught.value)
    assert isinstance(caught.value, LookupError)


def test_every_function_takes_a_name_or_the_object() -> None:
    op = mfma.op("f32_32x32x8f16")
    one = np.ones((1, 1), np.float16)
    assert mfma.matmul(one, one, op=op) == mfma.matmul(one, one, op="v_mfma_f32_32x32x8_f16") == 1
    assert mfma.explain(op, one[0], one[0]) == mfma.explain(op.builtin, one[0], one[0])
    assert mfma.peak(op) == mfma.peak("f32_32x32x8f16")


def test_the_example_of_the_front_page() -> None:
    """0.1 in half precision, squared and added 64 times, in four instructions of two groups each."""
    a = np.full((16, 64), 0.1, np.float16)
    d = mfma.matmul(a, a.T, op="f32_16x16x16f16")
    assert d.shape == (16, 16)
    exact = 64 * float(np.float16(0.1)) ** 2
    assert abs(d[0, 0] - exact) < 2.0**-22
    assert mfma.matmul(a, a.T, op="f32_16x16x16f16", model="exact")[0, 0] == np.float32(exact)

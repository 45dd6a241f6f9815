"""Peak figures: AMD's published numbers to the printed digit, and the laws of the formula.

Published: the MI300 microarchitecture page of the ROCm documentation (TFLOPS and operations per clock and CU of
MI300X), AMD's blog on matrix core programming (MI325X). The MI300A column is computed, except 122.6 and 980.6, which
reports quote. Operations, cycles and passes of single instructions: AMD's matrix instruction calculator 1.3.2
and llvm-mca 19 for gfx942.
"""

import dataclasses
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.errors import MfmaError, OptionError, UnknownNameError
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.timing.devices import DEVICES, Device, Origin, device
from mfma.timing.peak import peak

OPS = {op.name: op for op in DENSE + SPARSE}

#    operations per CU and cycle, T(FL)OPS of 304 CUs and of 228 CUs at 2100 MHz
RATES = {
    128: ("81.7", "61.3"),
    256: ("163.4", "122.6"),
    1024: ("653.7", "490.3"),
    2048: ("1307.4", "980.6"),
    4096: ("2614.9", "1961.2"),
}
PER_CU_PER_CYCLE = {
    "f64_16x16x4f64": 256,
    "f64_4x4x4f64": 128,
    "f32_32x32x1f32": 256,
    "f32_16x16x1f32": 256,
    "f32_4x4x1f32": 256,
    "f32_32x32x2f32": 256,
    "f32_16x16x4f32": 256,
    "f32_32x32x4_xf32": 1024,
    "f32_16x16x8_xf32": 1024,
    "f32_32x32x8f16": 2048,
    "f32_16x16x16f16": 2048,
    "f32_32x32x8bf16_1k": 2048,
    "f32_16x16x16bf16_1k": 2048,
    # Shapes of several blocks reach half of the f16 and a quarter of the i8 peak.
    "f32_32x32x4f16": 1024,
    "f32_16x16x4f16": 1024,
    "f32_4x4x4f16": 1024,
    "f32_32x32x4bf16_1k": 1024,
    "f32_16x16x4bf16_1k": 1024,
    "f32_4x4x4bf16_1k": 1024,
    "i32_32x32x4i8": 1024,
    "i32_16x16x4i8": 1024,
    "i32_4x4x4i8": 1024,
    "i32_32x32x16_i8": 4096,
    "i32_16x16x32_i8": 4096,
    **{
        f"f32_{shape}_{a}_{b}": 4096
        for shape in ("32x32x16", "16x16x32")
        for a in ("fp8", "bf8")
        for b in ("fp8", "bf8")
    },
}

dense = pytest.mark.parametrize("name", PER_CU_PER_CYCLE)


def test_every_dense_instruction_has_a_published_rate():
    assert set(PER_CU_PER_CYCLE) == {op.name for op in DENSE}


@dense
def test_published_figures(name):
    rate = PER_CU_PER_CYCLE[name]
    whole, apu = RATES[rate]
    assert peak(OPS[name]).per_cu_per_cycle == rate
    assert f"{peak(OPS[name]).tflops:.1f}" == whole
    assert f"{peak(OPS[name], 'MI325X').tflops:.1f}" == whole
    assert f"{peak(OPS[name], 'MI300A').tflops:.1f}" == apu


@pytest.mark.parametrize(
    ("name", "operations", "cycles", "passes", "coexecution"),
    [
        ("i32_32x32x16_i8", 32768, 32, 8, 28),
        ("f32_32x32x8bf16_1k", 16384, 32, 8, 28),
        ("f32_32x32x8f16", 16384, 32, 8, 28),
        ("f64_4x4x4f64", 512, 16, 4, 0),
        ("f64_16x16x4f64", 2048, 32, 8, 0),
        ("f32_16x16x8_xf32", 4096, 16, 4, 12),
        ("f32_16x16x4f32", 2048, 32, 8, 0),
    ],
)
def test_figures_that_others_got_wrong(name, operations, cycles, passes, coexecution):
    op = OPS[name]
    assert (op.operations, op.cycles, op.passes, op.coexecution) == (operations, cycles, passes, coexecution)


@pytest.mark.parametrize("op", SPARSE, ids=str)
def test_sparsity_doubles_the_dense_peak(op):
    assert peak(op).per_cu_per_cycle == (8192 if op.a.bits == 8 else 4096)
    assert "4:2 sparsity" in peak(op).source


@pytest.mark.parametrize("op", DENSE + SPARSE, ids=str)
def test_operations_per_cycle_are_whole(op):
    assert Fraction(op.operations * 4, op.cycles) == peak(op).per_cu_per_cycle


@dense
def test_formula_says_what_it_computes(name):
    """Reads the printed formula back and calculates it."""
    result = peak(OPS[name], "MI300A", clock_mhz=1234.5)
    left, right = result.formula.split(" = ")
    numbers = [float(word) for word in left.split() if word[0].isdigit()]
    operations, cycles, cores, units, mhz = numbers
    assert (cores, units, mhz) == (4, 228, 1234.5)
    assert right == f"{operations / cycles * cores * units * mhz / 1e6:.1f} {result.unit}"


def test_formula_and_str():
    formula = "16384 operations / 32 cycles × 4 matrix cores × 304 CUs × 2100 MHz = 1307.4 TFLOPS"
    assert peak(OPS["f32_32x32x8f16"]).formula == formula
    assert str(peak(OPS["f32_32x32x8f16"])) == (
        f"f32_32x32x8f16 on MI300X: {formula}; 2048 operations per CU and cycle"
    )


@dense
def test_unit(name):
    assert peak(OPS[name]).unit == ("TOPS" if name.startswith("i32") else "TFLOPS")


@given(clock=st.floats(1e-3, 1e6), op=st.sampled_from(DENSE), part=st.sampled_from(sorted(DEVICES)))
@settings(deadline=None)
def test_peak_is_proportional_to_the_clock(clock, op, part):
    exact = Fraction(clock) * op.operations / op.cycles * DEVICES[part].matrix_cores / 10**6
    assert math.isclose(peak(op, part, clock).tflops, float(exact), rel_tol=1e-15)


@pytest.mark.parametrize("clock", [np.float32(1900), np.int64(1900), Fraction(1900)])
def test_any_real_number_is_a_clock(clock):
    assert peak(DENSE[0], clock_mhz=clock) == peak(DENSE[0], clock_mhz=1900)


def test_source_names_what_is_inferred():
    assert "clock: stated by AMD" in peak(DENSE[0], "MI325X").source
    assert "clock: inferred" in peak(DENSE[0], "MI300A").source
    assert "clock: as asked for" in peak(DENSE[0], "MI300A", clock_mhz=1900).source


@pytest.mark.parametrize(("part", "published"), [("MI300X", "1307.4"), ("MI300A", "980.6")])
def test_inferred_clock_is_the_only_one_that_fits(part, published):
    fits = [mhz for mhz in range(1, 4000) if f"{peak(OPS['f32_32x32x8f16'], part, mhz).tflops:.1f}" == published]
    assert fits == [DEVICES[part].clock_mhz]


@pytest.mark.parametrize("part", DEVICES.values(), ids=str)
def test_every_number_has_a_source(part):
    numbers = {f.name for f in dataclasses.fields(part) if isinstance(getattr(part, f.name), int | float)}
    assert set(part.sources) == numbers
    assert all(source.origin in Origin and source.detail for source in part.sources.values())


def test_devices():
    assert {name: (d.compute_units, d.matrix_cores, d.hbm_gib) for name, d in DEVICES.items()} == {
        "MI300X": (304, 1216, 192),
        "MI300A": (228, 912, 128),
        "MI325X": (304, 1216, 256),
    }
    assert {d.target for d in DEVICES.values()} == {"gfx942"}
    assert device("mi300x") is device("Mi300X") is device(DEVICES["MI300X"]) is DEVICES["MI300X"]
    assert len({hash(d) for d in DEVICES.values()}) == 3


def test_a_device_of_ones_own():
    half = dataclasses.replace(DEVICES["MI300X"], name="half an MI300X", compute_units=152)
    assert isinstance(half, Device)
    assert peak(DENSE[0], half).tflops == peak(DENSE[0]).tflops / 2


@pytest.mark.parametrize("name", ["MI250X", "MI300", "A100", "", "gfx942", None, 300])
def test_unknown_device_is_an_error(name):
    with pytest.raises(UnknownNameError) as caught:
        peak(DENSE[0], name)
    assert str(caught.value) == (
        f"There are no figures for the device {name!r}; known are MI300X, MI300A, MI325X. "
        "Name one of these: no other part is taken in its place."
    )
    assert isinstance(caught.value, MfmaError)
    assert isinstance(caught.value, LookupError)


def test_device_of_another_target_is_an_error():
    older = dataclasses.replace(OPS["f32_32x32x8f16"], target="gfx90a", cycles=64)
    with pytest.raises(OptionError) as caught:
        peak(older)
    assert str(caught.value) == (
        "f32_32x32x8f16 is the instruction of gfx90a, but MI300X is a gfx942; "
        "look f32_32x32x8f16 up for target gfx942, or name a gfx90a device."
    )
    mi250x = dataclasses.replace(DEVICES["MI300X"], name="MI250X", target="gfx90a")
    assert peak(older, mi250x).per_cu_per_cycle == 1024


@pytest.mark.parametrize("clock", [0, -2100, math.nan, math.inf, True, "2100", 2100j])
def test_bad_clock_is_an_error(clock):
    with pytest.raises(OptionError) as caught:
        peak(DENSE[0], "MI300A", clock_mhz=clock)
    assert str(caught.value) == (
        f"clock_mhz is {clock!r}, but a clock is a positive, finite number of MHz; "
        "leave it out for the peak clock of MI300A, 2100 MHz."
    )


def test_lookup_needs_no_numpy():
    code = "import sys, mfma.timing.peak; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

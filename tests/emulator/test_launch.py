"""Launching: arguments, geometry, device memory, order, watchdog, and every message of a refusal."""

import _thread
import ctypes
import re
import threading

import numpy as np
import pytest

import mfma
from corpus.case import OBJECTS

VECTOR, FLOW, ATOMICS = (OBJECTS / f"hip_{name}.co" for name in ("vector", "flow", "atomics"))


@pytest.fixture
def add():
    return mfma.load(VECTOR)["add_f32"]


def numbers(count=100):
    x = np.arange(count, dtype=np.float32)
    return [x, 2 * x, np.zeros(count, np.float32), count]


def test_arrays_are_read_and_written_in_place(add):
    arguments = numbers()
    report = add.launch(2, 64, arguments)
    assert np.array_equal(arguments[2], 3 * arguments[0])
    assert report.grid == (2, 1, 1)
    assert report.block == (64, 1, 1)
    assert report.executed == sum(ran.count for ran in report.instructions)


def test_device_arrays_keep_their_contents():
    device = mfma.Device()
    add = mfma.load(VECTOR, device)["add_f32"]
    x, y, out, n = numbers()
    on_device = [device.array(values) for values in (x, y, out)]
    for _ in range(2):
        add.launch(2, 64, [on_device[0], on_device[2], on_device[2], n])
    assert np.array_equal(on_device[2].numpy(), 2 * x)
    assert not out.any()


def test_views_of_one_array_alias(add):
    both = np.arange(200, dtype=np.float32)
    expected = both[:100] + both[100:]
    add.launch(2, 64, [both[:100], both[100:], both[:100], 100])
    assert np.array_equal(both[:100], expected)


def test_a_kernel_may_be_given_addresses_and_null():
    device = mfma.Device()
    add = mfma.load(VECTOR, device)["add_f32"]
    x = device.array(np.ones(64, np.float32))
    out = device.array(np.zeros(64, np.float32))
    add.launch(1, 64, [x.address, x.address, out.address, 64])
    assert np.array_equal(out.numpy(), np.full(64, 2, np.float32))
    add.launch(1, 64, [None, None, None, 0])


REFUSALS = {
    "too few": (
        {"args": []},
        "add_f32 takes 4 arguments and 0 were given; it wants argument 0 (a buffer), argument 1 "
        "(a buffer), argument 2 (a buffer), argument 3 (4 bytes).",
    ),
    "number for pointer": (
        {"change": {0: 1.5}},
        "argument 0 is a pointer and float 1.5 was given; pass a NumPy array, "
        "a CPU torch tensor, a device array, a device address or None.",
    ),
    "array for number": (
        {"change": {3: np.zeros(3)}},
        "argument 3 has 4 bytes and an array of float64 (3,) has 24.",
    ),
    "wide scalar": ({"change": {3: np.float64(1)}}, "argument 3 has 4 bytes and float64 np.float64(1.0) has 8."),
    "large integer": ({"change": {3: 1 << 32}}, "argument 3 has 4 bytes, which do not hold 4294967296."),
    "text": (
        {"change": {3: "100"}},
        "argument 3 is a value of 4 bytes and str '100' was given; pass a number or a NumPy scalar of that size.",
    ),
    "gaps": (
        {"change": {0: np.zeros(200, np.float32)[::2]}},
        "argument 0 is an array with gaps between its elements; pass np.ascontiguousarray(...) and copy back.",
    ),
    "large float": ({"change": {3: 1e300}}, "argument 3 is a float of 4 bytes, which does not hold 1e+300."),
    "bytes": ({"change": {3: b"abc"}}, "argument 3 has 4 bytes and 3 were given."),
    "block": ({"block": 2048}, "block (2048, 1, 1) has 2,048 work-items and add_f32 was compiled for at most 1,024."),
    "zero grid": ({"grid": 0}, "grid is one to three positive numbers (x, y, z), not 0."),
    "four sizes": ({"grid": (1, 1, 1, 1)}, "grid is one to three positive numbers (x, y, z), not (1, 1, 1, 1)."),
    "float size": ({"block": 64.0}, "block is one to three positive numbers (x, y, z), not 64.0."),
    "huge grid": ({"grid": 1 << 30}, "the grid has 68,719,476,736 work-items in x; at most 4,294,967,295 go."),
    "LDS": (
        {"lds": 70_000},
        "add_f32 has 0 bytes of LDS and 70,000 dynamic ones were asked for; a work-group has 65,536.",
    ),
    "negative LDS": ({"lds": -1}, "lds is a number of bytes, not -1."),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(add, name):
    what, message = REFUSALS[name]
    arguments = what.get("args", numbers())
    for place, value in what.get("change", {}).items():
        arguments[place] = value
    with pytest.raises(mfma.LaunchError, match=f"^{re.escape(message)}$"):
        add.launch(what.get("grid", 2), what.get("block", 64), arguments, lds=what.get("lds", 0))


def test_overlapping_arrays_that_do_not_contain_each_other(add):
    both = np.zeros(150, np.float32)
    with pytest.raises(mfma.LaunchError, match=r"^argument 0, argument 1 overlap without one containing the others;"):
        add.launch(2, 64, [both[:100], both[50:], np.zeros(100, np.float32), 100])


def test_freed_device_array(add):
    device = mfma.Device()
    add = mfma.load(VECTOR, device)["add_f32"]
    x = device.array(np.ones(64, np.float32))
    device.free(x)
    with pytest.raises(mfma.LaunchError, match=r"^argument 0 is a device array that was freed\.$"):
        add.launch(1, 64, [x, x, x, 64])
    with pytest.raises(mfma.LaunchError, match="was freed"):
        x.numpy()


def test_unknown_kernel():
    with pytest.raises(mfma.UnknownNameError, match=r"^No kernel 'add_f33'; there are .* Did you mean add_f32"):
        mfma.load(VECTOR)["add_f33"]


def test_read_only_array_is_not_written(add):
    x, y, out, n = numbers()
    out.flags.writeable = False
    with pytest.raises(mfma.MemoryFault, match="read-only"):
        add.launch(2, 64, [x, y, out, n])
    assert not out.any()


def test_a_fault_says_where(add):
    x, y, out, _ = numbers()
    with pytest.raises(mfma.MemoryFault) as caught:
        add.launch(2, 64, [x, y, out, 128])
    message = str(caught.value)
    assert message.startswith("work-group (1, 0, 0), wave 0, add_f32+0x")
    assert "global_load_dword" in message
    assert "lane 36" in message
    assert not isinstance(caught.value, ValueError)


def test_use_after_free():
    device = mfma.Device()
    add = mfma.load(VECTOR, device)["add_f32"]
    x = device.array(np.ones(64, np.float32), name="weights")
    out = device.array(np.ones(64, np.float32))
    device.free(x)
    with pytest.raises(mfma.MemoryFault, match=r"weights.*freed|freed.*weights"):
        add.launch(1, 64, [x.address, x.address, out, 64])


def test_watchdog_of_instructions():
    gcd = mfma.load(FLOW)["collatz"]
    x = np.full(64, 837_799, np.uint32)
    with pytest.raises(mfma.WatchdogError, match=r"the launch was stopped after 2,000 instructions; raise"):
        gcd.launch(1, 64, [x, np.zeros(64, np.uint32), 64], max_instructions=2_000)


def test_watchdog_of_time():
    collatz = mfma.load(FLOW)["collatz"]
    x = np.full(64, 837_799, np.uint32)
    with pytest.raises(mfma.WatchdogError, match=r"the launch was stopped after 1e-06 s; raise `timeout`"):
        collatz.launch(1, 64, [x, np.zeros(64, np.uint32), 64], timeout=1e-6)


@pytest.mark.parametrize(
    ("name", "limit"),
    [*((name, limit) for name in ("timeout", "max_instructions") for limit in (-1, float("nan"), "1")),
     ("max_instructions", 20.5)],
)  # fmt: skip
def test_limits_are_numbers(name, limit):
    collatz = mfma.load(FLOW)["collatz"]
    number = "number" if name == "timeout" else "whole number"
    with pytest.raises(mfma.OptionError, match=rf"^{name} is {limit!r}; give a {number} of at least 0, or None\.$"):
        collatz.launch(1, 64, [None, None, 64], **{name: limit})


def test_ctrl_c_ends_a_launch():
    collatz = mfma.load(FLOW)["collatz"]
    x = np.full(64 * 500, 837_799, np.uint32)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        collatz.launch(500, 64, [x, np.zeros_like(x), x.size], engine="interpreter")
    timer.join()
    arguments = numbers()
    mfma.load(VECTOR)["add_f32"].launch(2, 64, arguments)
    assert np.array_equal(arguments[2], 3 * arguments[0])


def test_results_do_not_depend_on_the_floating_point_environment(add):
    libm = ctypes.CDLL("libm.so.6")
    arguments = numbers()
    arguments[0] += np.float32(2**-24)
    arguments[1] *= np.float32(1 / 3)
    expected = arguments[0] + arguments[1]
    upward, nearest = 0x800, 0
    libm.fesetround(upward)
    try:
        add.launch(2, 64, arguments)
        assert libm.fegetround() == upward
    finally:
        libm.fesetround(nearest)
    assert np.array_equal(arguments[2], expected)


def test_require(add):
    report = add.launch(2, 64, numbers())
    report.require("tested")
    assert report.weakest == "defined"
    with pytest.raises(mfma.OptionError, match=r"^'good' is no level of evidence; give one of recorded, statistics,"):
        report.require("good")

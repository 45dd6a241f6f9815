"""Sums of floats in memory: both engines, lane after lane, against exact sums, and the record of which ones met.

That a single sum is right in every case is the business of `emulator.test_forms_memory`, whose exact sums these are.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfma
from corpus.case import Case
from corpus.cases_hip import CASES as HIP
from corpus.cases_triton import CASES as TRITON
from emulator import native
from emulator.forms import ADDRESS, ALL, EXEC, KEEP_SUBNORMALS, LANES, Register, get_lane, instruction, put
from emulator.memory_world import BYTES, GLOBAL, LOCAL, PRIVATE, World
from emulator.test_forms_memory import FLOAT_CASES, Places, float_sum, float_values, halves
from mfma.emulator.interpreter.float_order import CELL, NUMBERS, FloatOrder
from mfma.emulator.interpreter.step import Step
from mfma.emulator.interpreter.wave import Group, Wave
from mfma.emulator.report import Report
from mfma.emulator.semantics.machine import Mode
from mfma.emulator.translator.forms import compile
from mfma.errors import MemoryFault

ENGINES = "interpreter", "native"
SUMS = {text: rest for text, *rest in FLOAT_CASES if rest[1] == "add"}
"""Text to the way to its addresses, kind, format, whether LDS flushes its subnormals, and whether it returns."""


# the record by itself


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), max_size=6),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_record(notes: list[tuple[int, list[tuple[int, int]], bool]]) -> None:
    """Memories that share bytes or not, one of which may end; a sum counts if others added to its place."""
    array, apart = np.zeros(64, np.uint8), np.zeros(32, np.uint8)
    memories = [array[:32], array[16:48], array[32:], array[24:56], apart, apart[:]]
    order, settled = FloatOrder(), 0
    adders: defaultdict[int, list[int]] = defaultdict(list)

    def met() -> int:
        return sum(len(numbers) for numbers in adders.values() if len(set(numbers)) > 1)

    for which, lanes, ends in notes:
        memory = memories[which]
        offsets, numbers = (np.array([lane[i] for lane in lanes], np.int64) for i in range(2))
        order.note(memory, CELL * offsets, numbers)
        for offset, number in lanes:
            adders[memory.__array_interface__["data"][0] + CELL * offset].append(number)
        assert order.lanes == settled + met()
        if ends and which > 3:
            order.close(memory)
            here = [place for place in adders if apart.ctypes.data <= place < apart.ctypes.data + apart.size]
            before = met()
            for place in here:
                del adders[place]
            settled += before - met()
            assert order.lanes == settled + met()


def test_close_of_a_memory_that_nobody_added_to() -> None:
    order = FloatOrder()
    order.close(np.zeros(0, np.uint8))
    assert order.lanes == 0


# instructions


class Adders:
    """Waves that add to one memory, with one of the engines, and what is expected of them."""

    def __init__(self, text: str, engine: str, mode: Mode, seed: str = "") -> None:
        self.text, self.engine, self.mode = text, engine, mode
        self.locate, _, self.format, flushes, self.returns = SUMS[text]
        self.flush = flushes and mode.flush_32
        self.bytes = 8 if self.format == "f64" else 4
        self.world = World(text + seed)
        self.group = Group((0, 0, 0), 0)
        self.values = np.array(float_values(self.format, self.world.random), np.uint64)
        self.adders: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        self._fill()

    def _fill(self) -> None:
        """Memory gets such values as are added."""
        for memory in (self.world.buffer.bytes, self.world.lds, self.world.scratch):
            words = memory.reshape(-1).view(f"u{self.bytes}")
            words[:] = self._random(len(words))

    def _random(self, count: int) -> Any:
        found = self.world.random.choice(self.values, count)
        if self.format in ("f16", "bf16"):
            found |= self.world.random.choice(self.values, count) << np.uint64(16)
        return found

    def sum(self, m: int, d: int) -> int:
        """One lane's sum."""
        if self.format in ("f16", "bf16"):
            return halves(lambda m, d: float_sum(m, d, self.format, self.flush), m, d)
        return float_sum(m, d, self.format, self.flush)

    def wave(self, offsets: list[int], exec_: int, serial: int) -> tuple[Wave, Places]:
        """A wave whose lanes are to add at these offsets, and their places."""
        world = self.world
        places: Places = self.locate(world, offsets)
        put(world.before, "v", 20, self._random(LANES).tolist(), self.bytes // 4)
        put(world.before, "s", EXEC, exec_, 2)
        launch: Any = SimpleNamespace(space=world.space)
        wave = Wave(launch, self.group, 0, ADDRESS, KEEP_SUBNORMALS, 0)
        wave.lds, wave.scratch, wave.serial = world.lds, world.scratch, serial
        wave.v[:], wave.s[:] = world.before.v, world.before.s
        return wave, places

    def execute(self, wave: Wave) -> bool:
        """Execute the instruction; whether the native function refused it."""
        at = instruction(self.text)
        if self.engine == "native":
            return not native.call(_form(self.text, self.mode), wave, at)
        with np.errstate(all="ignore"):
            Step(at, self.mode).run(wave)
        return False

    def add(self, offsets: list[int], exec_: int, serial: int) -> None:
        """Let one wave add, and compare what it leaves."""
        world = self.world
        wave, places = self.wave(offsets, exec_, serial)
        world.begin()
        result = Register("v", 20 if self.text.startswith("buffer") else 30, self.bytes // 4)
        expected = wave.v.copy()
        for lane in range(LANES):
            if not exec_ >> lane & 1:
                continue
            space, address = places[lane]
            inside = space != GLOBAL or address - world.buffer.address <= BYTES - self.bytes
            old = world.read(space, lane, address, self.bytes) if inside else 0
            if inside:
                data = get_lane(world.before, Register("v", 20, self.bytes // 4), lane)
                world.write(space, lane, address, self.bytes, self.sum(old, data))
            if inside and space != PRIVATE:
                self.adders[space, address // CELL].append((LANES * serial + lane) % NUMBERS)
            if self.returns:
                for i in range(result.dwords):
                    expected[result.number + i, lane] = old >> 32 * i & 0xFFFF_FFFF
        assert not self.execute(wave)
        assert (wave.v == expected).all()
        for name, memory in ((GLOBAL, world.buffer.bytes), (LOCAL, world.lds)):
            assert memory.tobytes() == bytes(world.memory[name])
        for lane in range(LANES):
            assert world.scratch[lane].tobytes() == bytes(world.memory[PRIVATE, lane])
        assert self.group.float_order.lanes == self.met

    @property
    def met(self) -> int:
        """Lanes, once for each of their sums, at whose place others added too."""
        return sum(len(lanes) for lanes in self.adders.values() if len(set(lanes)) > 1)


@functools.cache
def _form(text: str, mode: Mode) -> Any:
    forms = compile([instruction(text) for text in SUMS], mode)
    return dict(zip(SUMS, forms, strict=True))[text]


masks = st.sampled_from([0, 1, 1 << 63, ALL]) | st.integers(0, ALL)
serials = st.sampled_from([0, 1, 2, (1 << 26) - 1, 1 << 26])  # the last ones' numbers do not fit into 32 bits
modes = st.sampled_from([Mode(), Mode(flush_32=True, flush_16_64=True)])
rounds = st.lists(st.tuples(st.integers(0, 2**32), st.integers(1, 40), masks, serials), min_size=1, max_size=4)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", SUMS)
@settings(max_examples=3, deadline=None)
@given(mode=modes, rounds=rounds)
def test_waves_that_meet(text: str, engine: str, mode: Mode, rounds: list[tuple[int, int, int, int]]) -> None:
    """Lanes of several waves share cells; some of a buffer's are out of range and do nothing."""
    adders = Adders(text, engine, mode, str(rounds))
    for seed, cells, exec_, serial in rounds:
        random = np.random.default_rng(seed)
        offsets = 64 + random.integers(0, cells, LANES) * adders.bytes
        if text.startswith("buffer"):
            offsets[random.random(LANES) < 0.2] += BYTES
        adders.add(offsets.tolist(), exec_, serial)


FAULTING = [text for text in SUMS if not text.startswith("buffer")]


@pytest.mark.parametrize("text", FAULTING)
def test_nothing_is_taken_down_if_a_lane_faults(text: str) -> None:
    """Not even of lanes that may add: the native function refuses, and the interpreter names those that may not."""
    adders = Adders(text, "native", Mode())
    offsets = [64 + adders.bytes * lane for lane in range(LANES)]
    adders.add(offsets, ALL, 0)
    wave, _ = adders.wave(offsets, ALL, 1)
    before = adders.world.buffer.bytes.copy(), adders.world.lds.copy()
    wave.v[2, 9] += 2  # no multiple of what is added
    assert adders.execute(wave)
    with pytest.raises(MemoryFault, match="by lane 9 is misaligned"):
        Step(instruction(text), Mode()).run(wave)
    assert (adders.world.buffer.bytes == before[0]).all()
    assert (adders.world.lds == before[1]).all()
    adders.add(offsets, ALL, 0)  # the same lanes again: still nobody else
    assert adders.met == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_buffers_that_share_memory(engine: str) -> None:
    """Two device buffers of one array: lanes meet in its bytes, whatever their addresses are."""
    (text,) = (text for text in SUMS if text.startswith("global_atomic_add_f32 v[2:3]"))
    adders = Adders(text, engine, Mode())
    world = adders.world
    second = world.space.allocate(BYTES // 2, name="second half", data=world.buffer.bytes[BYTES // 2 :])
    for first, serial in ((world.buffer.address + BYTES // 2, 0), (second.address, 1)):
        wave, _ = adders.wave([0] * LANES, ALL, serial)
        put(wave, "v", 2, [first + 16 + CELL * lane for lane in range(LANES)], 2)
        assert not adders.execute(wave)
        assert adders.group.float_order.lanes == 2 * LANES * serial


# launches

CASES: dict[str, Case] = {case.name: case for case in (*HIP, *TRITON)}
ADDING = (
    "lds: atomics_float", "lds_O0: atomics_float", "buffers: atomics", "atomics: floats", "atomics: floats_returning",
    "networks: split_k", "triton_atomic_floats", "triton_atomic_fp64", "triton_atomic_fp16", "triton_atomic_bf16",
    "triton_atomic_buffer", "triton_gemm_split",
)  # fmt: skip


def launch(case: Case, **options: Any) -> tuple[list[Any], Report]:
    arguments = case.arguments()
    kernel = mfma.load(case.path, mfma.Device())[case.kernel]
    report = kernel.launch(case.grid, case.block, arguments, lds=case.lds, **options)
    return [x if x is None else np.asarray(x).tobytes() for x in arguments], report


@pytest.mark.parametrize("name", ADDING)
def test_kernels(name: str) -> None:
    wanted, reference = launch(CASES[name], engine="interpreter")
    got, report = launch(CASES[name], engine="native")
    assert got == wanted
    assert report == reference
    assert report.interpreted == 0


def test_threads_count_alike() -> None:
    """Work-groups that add in LDS alone run on several threads, each with a record of its own."""
    case = CASES["lds: atomics_float"]
    arguments = case.arguments()
    module = mfma.load(case.path, mfma.Device())
    assert module.independent(module[case.kernel].kernel)
    one = module[case.kernel].launch(1, case.block, arguments, lds=case.lds).float_atomics
    for threads in (1, 3):
        report = module[case.kernel].launch(20, case.block, arguments, lds=case.lds, threads=threads)
        assert report.float_atomics == 20 * one > 0
        assert report.interpreted == 0

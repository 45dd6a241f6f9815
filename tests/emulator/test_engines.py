"""Native code against the interpreter: the same bits in memory and registers, the same counts, the same messages.

The interpreter is the reference, which other tests compare with computations of their own.
"""

from __future__ import annotations

import _thread
import dataclasses
import functools
import hashlib
import re
import struct
import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

import mfma
from corpus.case import OBJECTS
from corpus.cases_hip import CASES as HIP
from corpus.cases_triton import CASES as TRITON
from emulator.forms import golden
from mfma.emulator.arguments import Geometry
from mfma.emulator.decode import Instruction, decode
from mfma.emulator.interpreter.engine import Launch
from mfma.emulator.interpreter.hardware import decode_mode
from mfma.emulator.interpreter.wave import Group, Wave
from mfma.emulator.memory import AddressSpace
from mfma.emulator.semantics.registry import DEFINITIONS
from mfma.emulator.start import Start
from mfma.emulator.translator import forms
from mfma.emulator.translator.driver import Stop
from mfma.emulator.translator.engine import NativeLaunch
from mfma.errors import DecodeError

CASES = {case.name: case for case in (*HIP, *TRITON)}
ENGINES = "interpreter", "native"
EVERY = 5
"""One in so many of the quick cases is compared in every run, the others in long ones."""
PROFILED = "lds: reduce", "scratch_O0: generic", "networks: gemm_f16", "triton_gemm_split", "lds: atomics_float"
THREADED = "triton_gemm_fp16_16", "triton_softmax_fp32", "flow: primes", "lds: transpose_f32", "scratch: insertion"
"""And these: all that profiles count is in the first, and the others are long enough for several threads."""
QUICK = list(dict.fromkeys([*PROFILED, *THREADED, *[name for name, case in CASES.items() if case.quick][::EVERY]]))
LONG = [name for name in CASES if name not in QUICK]

VECTOR, FLOW = (OBJECTS / f"hip_{name}.co" for name in ("vector", "flow"))


def launch(case, engine, **options):
    """Arguments after the launch of a case, and its report. The device is new, so addresses are always the same."""
    arguments = case.arguments()
    module = mfma.load(case.path, mfma.Device())
    report = module[case.kernel].launch(case.grid, case.block, arguments, lds=case.lds, engine=engine, **options)
    return arguments, report


def same_arguments(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        assert type(a) is type(b)
        assert a is None or np.asarray(a).tobytes() == np.asarray(b).tobytes()


def compare(case):
    """Launch with both engines: the same arguments, counts and profile; and more threads change nothing of them."""
    (wanted, reference), (got, report) = (launch(case, engine, profile=True) for engine in ENGINES)
    assert dataclasses.replace(report, interpreted=0) == reference
    assert report.profile.lines == reference.profile.lines
    assert report.profile.as_dict() == reference.profile.as_dict()
    assert report.profile.executed == report.executed
    same_arguments(got, wanted)
    for threads in 1, 2, 3:
        got, on_threads = launch(case, "native", threads=threads)
        assert on_threads == report
        same_arguments(got, wanted)


@pytest.mark.parametrize("name", QUICK)
def test_arguments_counts_and_profile(name, at_once):
    compare(CASES[name])


@pytest.mark.long
@pytest.mark.parametrize("name", LONG)
def test_arguments_counts_and_profile_of_all_others(name, at_once):
    compare(CASES[name])


def stops(monkeypatch, engine):
    """A list that gets the whole state of every wave whenever it stops, and each time after many instructions."""
    seen: list[Any] = []

    def record(wave):
        state = hashlib.sha256(wave.v.tobytes() + wave.s.tobytes() + wave.scratch.tobytes() + wave.lds.tobytes())
        place = wave.pc, wave.at, wave.executed, wave.mode, int(wave.scc), wave.status
        now = wave.group.index, wave.number, wave.serial, *place, state.hexdigest()
        if now not in seen[-1:]:
            seen.append(now)

    def attend(self, place, stop):
        attend_(self, place, stop)
        if stop == Stop.WATCH:
            record(place.wave)

    attend_ = NativeLaunch._attend
    if engine == "native":
        monkeypatch.setattr("mfma.emulator.translator.engine.BUDGET", 0)
        monkeypatch.setattr(NativeLaunch, "_attend", attend)
    else:
        monkeypatch.setattr(Launch, "_watch", lambda self, wave, executed: record(wave))
    return seen


STOPPING = (
    "vector: add f32", "lds: exchange", "flow: primes", "flow_O0: collatz", "triton_spin_lock", "triton_gemm_fp16_16",
    "triton_scan",
    "triton_reduce_fp32", "triton_attention_d64_1x128x64", "scratch: insertion",
)  # fmt: skip


@pytest.mark.parametrize("name", STOPPING)
def test_every_register_at_every_stop(name, monkeypatch):
    states = []
    for engine in ENGINES:
        with monkeypatch.context() as patch:
            states.append(stops(patch, engine))
            launch(CASES[name], engine, threads=1)
    assert states[0] == states[1]
    assert len(states[0]) > 1


# single instructions and small programs on waves full of noise

END, FOREVER = bytes.fromhex("000081bf"), bytes.fromhex("ffff82bf")
"""s_endpgm, and s_branch to itself."""
CODE, BYTES, LDS_BYTES, SCRATCH_BYTES = 1 << 40, 1 << 14, 1024, 256
MODES = 0x0F0, 0x2F0, 0x3F0, 0x0C0, 0x000, 0x0880_00F0


class World:
    """Waves in registers, LDS, scratch and a buffer full of noise, ready to run code with one of the engines."""

    def __init__(
        self, engine: str, seed: int, code: bytes, starts: list[int], mode: int | None = None, **options: Any
    ) -> None:
        self.random = np.random.default_rng(seed)
        self.space = AddressSpace()
        self.buffer = self.space.allocate(BYTES, name="data", data=self.random.integers(0, 256, BYTES, np.uint8))
        self.starts, self.mode = starts, mode
        arguments = self.space, self.start, [(CODE, code)], (len(starts), 1, 1), len(starts), {}
        if engine == "native":
            reach = functools.partial(straight, code)
            self.launch: Launch = NativeLaunch(*arguments, natives={}, reach=reach, **options)
        else:
            self.launch = Launch(*arguments, **options)
        self.waves: list[Wave] = []

    def start(self, launch: Launch, index: tuple[int, int, int]) -> Group:
        """A work-group of one wave, which begins where the list says."""
        group = Group(index, LDS_BYTES, launch.float_order)
        mode = int(self.random.choice(MODES)) if self.mode is None else self.mode
        wave = Wave(launch, group, 0, CODE + self.starts[index[0]], mode, SCRATCH_BYTES)
        for memory in (group.lds, wave.scratch):
            memory[:] = self.random.integers(0, 256, memory.shape, np.uint8)
        for registers in (wave.v, wave.s):
            registers[:] = self.random.integers(0, 1 << 32, registers.shape, np.uint64)
            rows = registers.reshape(len(registers), -1)
            small = self.random.random(len(rows)) < 0.4
            rows[small] &= 0x1FF
            for low in np.flatnonzero(self.random.random(len(rows) // 2) < 0.4) * 2:
                rows[low] = (self.buffer.address & 0xFFFF_FFFF) + self.random.integers(0, BYTES - 64, rows.shape[1])
                rows[low + 1] = self.buffer.address >> 32
        if self.random.random() < 0.5:
            wave.s[126:128] = 0xFFFF_FFFF
        wave.scc = np.bool_(self.random.random() < 0.5)
        group.waves.append(wave)
        self.waves.append(wave)
        return group

    def run(self) -> tuple[Any, ...]:
        """Everything that the launch leaves."""
        error = ""
        try:
            self.launch.run()
        except mfma.MfmaError as caught:
            error = f"{type(caught).__name__}: {caught}"
        states = []
        for wave in self.waves:
            memory = [x.tobytes() for x in (wave.v, wave.s, wave.scratch, wave.lds)]
            states.append((memory, wave.pc, wave.executed, wave.mode, int(wave.scc), wave.status, wave.at))
        counts = Counter({i.address: n for i, n in self.launch.counts()})
        return error, states, self.buffer.bytes.tobytes(), counts, self.launch.float_order.lanes


def straight(code: bytes, pc: int) -> list[Instruction]:
    """Instructions from an address on, until one ends or the code does."""
    found = []
    while pc - CODE < len(code):
        try:
            found.append(decode(code, pc, pc - CODE))
        except DecodeError:
            break
        if found[-1].name == "s_endpgm":
            break
        pc += found[-1].size
    return found


def both(seed: int, code: bytes, starts: list[int] | None = None, **options: Any) -> tuple[Any, ...]:
    """What both engines leave, which has to be the same."""
    wanted, got = (World(engine, seed, code, starts or [0], **options).run() for engine in ENGINES)
    assert got[0] == wanted[0]
    assert got == wanted
    return got


TEXTS = sorted(golden())
TOGETHER = 10
"""Instructions of a random program."""


def programs(texts: list[str]) -> list[bytes]:
    """The texts in the order given, so many in a program; none of them goes anywhere but to what follows it."""
    words = golden()
    return [b"".join(words[t] for t in texts[i : i + TOGETHER]) + END for i in range(0, len(texts), TOGETHER)]


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    order = np.random.default_rng(seed).permutation(len(TEXTS))[:200]
    for number, code in enumerate(programs([TEXTS[i] for i in order])):
        both(1000 * seed + number, code)


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_every_instruction(mode):
    words = golden()
    decoded = [decode(words[text], CODE) for text in TEXTS]
    forms.compile([i for i in decoded if i.name in DEFINITIONS], decode_mode(mode))  # all at once is faster
    for number, text in enumerate(TEXTS):
        both(number, words[text] + END, mode=mode)


LEAVING_TRACES = bytes.fromhex(
    "00001ad800000000"  # ds_write_b32 v0, v0
    "044070dc00007f00"  # scratch_store_dword off, v0, off offset:4
    "0940d9d300010018"  # v_accvgpr_write_b32 a9, v0
    "0003fe7f"  # v_mov_b32_e32 v255, v0
    "ff00e3be4d000000"  # s_mov_b32 s99, 0x4d
)


@pytest.mark.parametrize("seed", range(3))
def test_work_groups_begin_alike_whatever_others_left(seed, monkeypatch):
    """In registers, LDS and scratch, where they follow one another natively: all but those with x = 0 end at once."""
    words, order = golden(), np.random.default_rng(seed).permutation(len(TEXTS))
    texts = [TEXTS[i] for i in order if TEXTS[i].startswith("v_")]
    traces = LEAVING_TRACES + b"".join(words[text] for text in texts[:TOGETHER])
    kernel = mfma.load(OBJECTS / "hip_vector.co")["add_f32"].kernel
    grid, block = (3, 2, 2), (100, 1, 1)
    start = Start(kernel, Geometry(grid, block, 0), CODE, 0x1234_5678_9ABC, b"", 0, LDS_BYTES, SCRATCH_BYTES)
    s_cmp_lg_u32, s_cbranch_scc1 = 0xBF07_8000 | (start.numbers[0] or 0), 0xBF85_0000 | len(traces) // 4
    code = struct.pack("<II", s_cmp_lg_u32, s_cbranch_scc1) + traces + END
    found = []
    for engine in ENGINES:
        with monkeypatch.context() as patch:
            found.append(stops(patch, engine))
            native = {"natives": {}, "reach": functools.partial(straight, code)} if engine == "native" else {}
            kind: Any = NativeLaunch if native else Launch
            launch = kind(AddressSpace(), start, [(CODE, code)], grid, 100, {}, **native)
            launch.run()
    assert found[0] == found[1]
    assert len({index for index, *_ in found[0]}) == 12


# what ends a launch


@pytest.mark.parametrize("branch", [0xBF82, 0xBF87, 0xBF89], ids=["s_branch", "s_cbranch_vccnz", "s_cbranch_execnz"])
@pytest.mark.parametrize("dwords", [-2, -5, 2, 99])
def test_branches_out_of_the_code(branch, dwords):
    """To before its first instruction, or behind the last."""
    error, *_ = both(1, struct.pack("<hH", dwords, branch) + END)
    assert f"the wave goes on at {CODE + 4 + 4 * dwords:#x}, which is no code" in error


def test_faults_have_the_same_message():
    messages = []
    for engine in ENGINES:
        add = mfma.load(VECTOR, mfma.Device())["add_f32"]
        x = np.ones(100, np.float32)
        with pytest.raises(mfma.MemoryFault) as caught:
            add.launch(2, 64, [x, x, np.zeros(100, np.float32), 128], engine=engine)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "lane 36" in messages[0]


@pytest.mark.parametrize("limit", [1_500, 2_000, 5_000])
def test_the_watchdog_stops_at_the_same_instruction(limit):
    found = []
    for engine in ENGINES:
        collatz = mfma.load(FLOW, mfma.Device())["collatz"]
        out = np.zeros(128, np.uint32)
        with pytest.raises(mfma.WatchdogError) as caught:
            collatz.launch(2, 64, [np.full(128, 837_799, np.uint32), out, 128], max_instructions=limit, engine=engine)
        found.append(str(caught.value))
    assert found[0] == found[1]
    assert f"after {limit:,} instructions" in found[0]


def test_an_endless_loop_ends_in_time():
    world = World("native", 0, FOREVER, [0], seconds=0.2)
    start = time.monotonic()
    error, *_ = world.run()
    assert re.fullmatch(r"WatchdogError: work-group .* was stopped after 0\.2 s; .*", error)
    assert time.monotonic() - start < 2


def test_ctrl_c_ends_an_endless_loop():
    world = World("native", 0, FOREVER, [0], seconds=20)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        world.run()
    timer.join()


NOP = bytes.fromhex("000080bf")
LEAVING = {
    "behind the code": NOP,
    "no instruction": NOP + bytes.fromhex("ffffffff"),
    "out of the code": NOP + bytes.fromhex("008082bf"),  # s_branch far back
}


@pytest.mark.parametrize("name", LEAVING)
def test_leaving_the_code(name):
    error, *_ = both(0, LEAVING[name])
    assert error.startswith("KernelError: work-group (0, 0, 0), wave 0, after ")


def test_code_that_begins_at_no_multiple_of_4(monkeypatch):
    """Its last word, which a wave can be at, is no whole one."""
    monkeypatch.setitem(globals(), "CODE", CODE + 2)
    error, *_ = both(0, NOP + NOP + END, [2])
    assert error.endswith(f"0xbf81 at {CODE + 10:#x} is no instruction of gfx942")


def test_symbols_between_dwords_name_no_code(monkeypatch):
    """Half a word behind the first instruction is an s_endpgm, at which no wave can be."""
    aligned = straight

    def reach(code, pc):
        return [*aligned(code, pc), decode(code, CODE + 2, 2)]

    monkeypatch.setitem(globals(), "straight", reach)
    _, ((_, _, executed, *_),), *_ = both(0, NOP + bytes.fromhex("81bf80bf") + END)
    assert executed == 3


def test_a_rounding_mode_that_is_refused_from_the_start():
    error, *_ = both(0, END, mode=0x0F1)
    assert error.startswith("KernelError: work-group (0, 0, 0), wave 0, at its start: MODE sets floating-point round")


# the interpreter in the middle of native code


def without_forms(share: int):
    """A compiler of forms that leaves out those of one in ``share`` instructions."""
    compile_ = forms.compile

    def some(instructions, mode):
        found = compile_(instructions, mode)
        return [None if i.address // 4 % share == 0 else form for i, form in zip(instructions, found, strict=True)]

    return some


@pytest.mark.parametrize("name", ["flow: primes", "lds: exchange", "triton_gemm_fp16_16", "triton_spin_lock"])
@pytest.mark.parametrize("share", [1, 3])
def test_instructions_without_a_form_are_interpreted(name, share, monkeypatch):
    case = CASES[name]
    arguments, report = launch(case, "native")
    monkeypatch.setattr("mfma.emulator.translator.translation.compile", without_forms(share))
    monkeypatch.setattr("mfma.emulator.translator.kernel.Reach", type(None))  # so that nothing is kept on disk
    slowly, reported = launch(case, "native")
    assert [np.asarray(x).tobytes() for x in slowly] == [np.asarray(x).tobytes() for x in arguments]
    assert 0 < reported.interpreted <= reported.executed
    assert dataclasses.replace(reported, interpreted=report.interpreted) == report
    assert f"{reported.interpreted:,} instructions without a native form were interpreted" in str(reported)


def test_an_observer_sees_every_instruction():
    class Observer:
        def __init__(self):
            self.seen = 0

        def before(self, wave, instruction):
            self.seen += 1

        def after(self, wave, instruction, seen):
            raise AssertionError("nobody asked")

    observer = Observer()
    _, report = launch(CASES["vector: add f32"], "native", observer=observer)
    assert observer.seen == report.executed


def test_unknown_engine():
    with pytest.raises(mfma.OptionError, match=r"^engine is 'fast'; give native or interpreter\.$"):
        launch(CASES["vector: add f32"], "fast")


def test_launches_at_the_same_time(monkeypatch):
    """Two threads of Python run one module, whose code neither has seen."""
    case = CASES["flow: primes"]
    module = mfma.load(case.path, mfma.Device())
    arguments = [case.arguments() for _ in range(4)]

    def run(given):
        module[case.kernel].launch(case.grid, case.block, given, lds=case.lds, engine="native")

    threads = [threading.Thread(target=run, args=(given,)) for given in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for given in arguments:
        case.check(given)


# threads


@pytest.fixture
def at_once(monkeypatch):
    """A list of the numbers of further threads, which begin as soon as the first one has looked at the time."""
    started = []
    further = NativeLaunch._further

    def counting(self, count):
        started.append(count)
        return further(self, count)

    monkeypatch.setattr(NativeLaunch, "_further", counting)
    monkeypatch.setattr("mfma.emulator.translator.workers.PATIENCE", 0)
    monkeypatch.setattr("mfma.emulator.translator.engine.BUDGET", 100)
    return started


@pytest.mark.parametrize("name", THREADED)
def test_further_threads_begin(name, at_once):
    for threads in 2, 3:
        arguments, _ = launch(CASES[name], "native", threads=threads)
        CASES[name].check(arguments)
    assert len(at_once) == 2


def test_a_short_launch_has_one_thread(monkeypatch):
    """Whatever is asked for, nobody pays for threads before there is work for them."""
    monkeypatch.setattr("mfma.emulator.translator.workers.PATIENCE", 1e9)
    monkeypatch.setattr(NativeLaunch, "_further", None)
    launch(CASES["flow: primes"], "native", threads=8)


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "triton_gemm_fp16_16": True,
        "vector: add f32": True,
        "triton_spin_lock": False,  # atomics
        "triton_atomic_integers": False,
        "triton_histogram": True,  # atomics in LDS only
        "flow_O0: breaks": True,
        "globals: pointers": False,  # a call through a pointer
    }.items(),
)
def test_which_work_groups_are_independent(name, expected):
    case = CASES[name]
    module = mfma.load(case.path)
    assert module.independent(module[case.kernel].kernel) is expected


def test_the_first_work_group_that_faults_is_named(at_once):
    for _ in range(5):
        add = mfma.load(VECTOR, mfma.Device())["add_f32"]
        x = np.ones(100, np.float32)
        with pytest.raises(mfma.MemoryFault, match=r"^work-group \(1, 0, 0\)"):
            add.launch(64, 64, [x, x, np.zeros(100, np.float32), 64 * 64], engine="native", threads=4)


def test_progress_counts_the_work_groups_of_all_threads(at_once):
    seen = []
    add = mfma.load(VECTOR, mfma.Device())["add_f32"]
    x = np.ones(64 * 20, np.float32)
    arguments = [x, x, np.zeros_like(x), x.size]
    add.launch(20, 64, arguments, engine="native", threads=3, progress=lambda *counts: seen.append(counts))
    assert seen == [(i + 1, 20) for i in range(20)]


def test_ctrl_c_ends_all_threads():
    world = World("native", 0, FOREVER, [0, 0, 0], seconds=20, threads=3)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        world.run()
    assert time.monotonic() - start < 5
    timer.join()


def test_no_threads():
    with pytest.raises(mfma.OptionError, match=r"^threads is 0: give a whole number of at least 1"):
        launch(CASES["vector: add f32"], "native", threads=0)

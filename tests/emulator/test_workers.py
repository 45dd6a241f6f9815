"""Threads of a launch: when there are no more, when they are interrupted, and what keeps a kernel on one."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import mfma
from corpus.case import OBJECTS
from mfma.emulator.decode import decode
from mfma.emulator.translator import workers
from mfma.emulator.translator.workers import LARGEST_PART, Workers, independent


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.0)


def test_a_system_without_more_threads(monkeypatch):
    started, start = [], threading.Thread.start

    def refuse_the_third(thread):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_the_third)
    team, done = Workers(100, 8, None), []

    def work():
        team.look()
        while part := team.part():
            done.extend(part)

    team.run(work, lambda count: [work] * count)
    assert sorted(done) == list(range(100))
    assert len(started) == 2


def test_no_thread_is_left_when_ctrl_c_comes_twice():
    team, going = Workers(100, 3, None), threading.Barrier(3)

    def work():
        team.look()
        going.wait()

    def stubborn():
        going.wait()
        time.sleep(0.5)

    def interrupt():
        for _ in range(2):
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)

    before = threading.active_count()
    killer = threading.Thread(target=interrupt)
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        team.run(work, lambda count: [stubborn] * count)
    killer.join()
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [1, 2])
def test_parts_are_numbers_of_native_code(threads):
    team = Workers(1 << 90, threads, None)
    assert team.part() == range(LARGEST_PART)
    assert team.part() == range(LARGEST_PART, 2 * LARGEST_PART)


@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_more_work_groups_than_there_are_numbers(engine):
    add = mfma.load(OBJECTS / "hip_vector.co")["add_f32"]
    x = np.ones(1, np.float32)
    with pytest.raises(mfma.WatchdogError, match="after 200 instructions"):
        add.launch((2**32 - 1, 2**32 - 1, 2), 1, [x, x, x.copy(), 0], max_instructions=200, engine=engine)


@pytest.mark.parametrize(
    ("text", "word", "expected"),  # of llvm-mc 22
    [
        ("s_dcache_wb", "000084c000000000", False),
        ("s_dcache_inv", "000080c000000000", False),
        ("s_load_dword s0, s[2:3], 0x0", "010002c000000000", True),
        ("buffer_inv sc1", "0080a4e000000000", False),
        ("buffer_wbl2 sc0 sc1", "00c0a0e000000000", False),
        ("global_load_dword v0, v[2:3], off", "008050dc02007f00", True),
        ("global_load_dword v0, v[2:3], off sc1", "008050de02007f00", False),
    ],
)
def test_what_lets_a_work_group_learn_of_others(text, word, expected):
    instruction = decode(bytes.fromhex(word), 0)
    assert instruction.text == text
    assert independent([instruction]) is expected

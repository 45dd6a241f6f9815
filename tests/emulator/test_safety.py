"""Hostile kernels: every one is stopped with a message that says where, and the host has nothing to fear.

The kernels are the cases of ``golden/emulator/hostile.s``.
"""

from __future__ import annotations

import contextlib
import gc
import math
import random
import re
import struct
import subprocess
import sys
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mfma
from hip_tools import tool
from mfma.codeobject import elf
from mfma.emulator.arguments import Geometry
from mfma.emulator.decode import decode, decoder
from mfma.emulator.geometry import LARGEST_SCRATCH
from mfma.emulator.interpreter.engine import Launch
from mfma.emulator.memory import PRIVATE_BASE, REMEMBERED, SHARED_BASE, AddressSpace
from mfma.emulator.schedule import FIRST
from mfma.emulator.semantics.machine import ACC, Mode
from mfma.emulator.semantics.registry import DEFINITIONS, program
from mfma.emulator.semantics.values import B64, Op
from mfma.emulator.start import Start, resident
from mfma.errors import DecodeError

GOLDEN = Path(__file__).parent.parent / "golden" / "emulator"
OBJECT, SOURCE = GOLDEN / "hostile.co", GOLDEN / "hostile.s"
OUT, IN = 64, 16
"""Dwords of the arrays."""
GUARD = 64


class World:
    """A device with the object on it, and two arrays between guards."""

    def __init__(self, out: int = OUT) -> None:
        self.device = mfma.Device()
        self.module = mfma.load(OBJECT, self.device)
        self.addresses = {symbol.name: symbol.address for symbol in self.module.code.symbols}
        self.whole = np.full(out + 2 * GUARD, 0xA5A5_A5A5, np.uint32)
        self.out = self.whole[GUARD:-GUARD]
        self.out[:] = 0
        self.input = np.arange(IN, dtype=np.uint32)
        self.input.flags.writeable = False

    def run(
        self, case: str, *, grid: int = 1, block: int = 64, number: int = 0, address: int = 0, **options: Any
    ) -> Any:
        """Launch a case; afterwards the guards and ``in`` must be what they were."""
        where = self.addresses[case] - self.addresses["base"]
        arguments = [self.out, self.input, np.uint32(where), np.uint32(number), np.uint64(address)]
        try:
            return self.module["hostile"].launch(grid, block, arguments, **options)
        finally:
            assert (self.whole[:GUARD] == 0xA5A5_A5A5).all()
            assert (self.whole[-GUARD:] == 0xA5A5_A5A5).all()
            assert np.array_equal(self.input, np.arange(IN))
            assert [buffer.name for buffer in self.device.space] == ["the code object"]


def line_of(case: str, text: str) -> int:
    """Line of an instruction of a case in the source."""
    lines = SOURCE.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(rf"  \.?case {case}\b|case {case}\b", line))
    return next(i for i in range(start + 1, len(lines)) if lines[i].split(";")[0].strip() == text) + 1


X, ALL = "0x[0-9a-f]+", "by lane 0 and 63 more"
OUTSIDE = "is outside every buffer"
FAR_AWAY = f"by lane 0 and 63 more {OUTSIDE}, and far from all"
IN_OUT = rf"'out' \({X}000 to {X}0ff, 256 bytes\)"
IN_IN = rf"'in' \({X}000 to {X}03f, 64 bytes\)"
HUGE = 1 << 63

# case: the instruction that faults, and the message behind it
FAULTS = {
    "store_below": (
        "global_store_dword v2, v4, s[8:9] offset:-4",
        rf"store of 4 bytes at global address {X}ffc by lane 0 {OUTSIDE}, 4 bytes before {IN_OUT}",
    ),
    "store_above": (
        "global_store_dword v2, v4, s[8:9] offset:4",
        rf"store of 4 bytes at global address {X}100 by lane 63 {OUTSIDE}, 1 byte behind {IN_OUT}",
    ),
    "load_between": (
        "global_load_dword v5, v2, s[8:9] offset:1024",
        rf"load of 4 bytes at global address {X}400 {ALL} {OUTSIDE}, 769 bytes behind {IN_OUT}",
    ),
    "load_across": (
        "global_load_dword v5, v3, s[8:9] offset:254",
        rf"load of 4 bytes at global address {X}0fe {ALL} is in {IN_OUT}, and crosses its end",
    ),
    "atomic_misaligned": (
        "global_atomic_add v2, v4, s[8:9] offset:2",
        rf"atomic of 4 bytes at global address {X}002 {ALL} is misaligned: atomics need a multiple of 4 bytes",
    ),
    "ds_atomic_misaligned": (
        "ds_add_u64 v6, v[8:9]",
        rf"atomic of 8 bytes at LDS address 0x6 {ALL} is misaligned: atomics need a multiple of 8 bytes",
    ),
    "buffer_atomic_misaligned": (
        "buffer_atomic_add v4, v2, s[16:19], 0 offen offset:1",
        rf"atomic of 4 bytes at global address {X}001 {ALL} is misaligned: atomics need a multiple of 4 bytes",
    ),
    "lds_past": (
        "ds_read_b32 v5, v6",
        rf"load of 4 bytes at LDS address 0xfd {ALL} is outside the LDS of 256 bytes",
    ),
    "lds_far": (
        "ds_write_b32 v3, v4 offset:65532",
        rf"store of 4 bytes at LDS address 0xfffc {ALL} is outside the LDS of 256 bytes",
    ),
    "lds_second": (
        "ds_write2_b32 v3, v4, v4 offset0:1 offset1:64",
        rf"store of 4 bytes at LDS address 0x100 {ALL} is outside the LDS of 256 bytes",
    ),
    "scratch_past": (
        "scratch_store_dword off, v4, off offset:61",
        rf"store of 4 bytes at scratch address 0x3d {ALL} is outside the scratch of 64 bytes",
    ),
    "scratch_below": (
        "scratch_load_dword v5, off, off offset:-4",
        rf"load of 4 bytes at scratch address 0xfffffffc {ALL} is outside the scratch of 64 bytes",
    ),
    "flat_lds": (
        "flat_load_dword v5, v[6:7]",
        rf"load of 4 bytes at LDS address 0x100 {ALL} is outside the LDS of 256 bytes",
    ),
    "flat_scratch": (
        "flat_store_dword v[6:7], v4",
        rf"store of 4 bytes at scratch address 0x40 {ALL} is outside the scratch of 64 bytes",
    ),
    "flat_atomic": (
        "flat_atomic_add v[6:7], v4",
        rf"atomic of 4 bytes at flat address 0x1000000000002 {ALL} is misaligned: atomics need a multiple of 4 bytes",
    ),
    "scalar_past": (
        "s_load_dwordx2 s[16:17], s[8:9], 0xfc",
        rf"load of 8 bytes at global address {X}0fc by the wave is in {IN_OUT}, and crosses its end",
    ),
    "buffer_records": (
        "buffer_load_dword v5, v6, s[16:19], 0 offen",
        rf"load of 4 bytes at global address {X} {ALL} {OUTSIDE}, [0-9,]+ bytes behind 'the dispatch packet' .*",
    ),
    "buffer_base": (
        "buffer_load_dword v5, off, s[16:19], 0",
        rf"load of 4 bytes at global address 0x123456789000 {ALL} {OUTSIDE}, and far from all; .*",
    ),
    "buffer_partly": (
        "buffer_store_dwordx4 v[8:11], off, s[16:19], 0 offset:252",
        rf"store of 4 bytes at global address {X}100 {ALL} {OUTSIDE}, 1 byte behind {IN_OUT}",
    ),
    "to_lds": (
        "global_load_lds_dword v2, s[8:9]",
        r"store of 4 bytes at LDS address 0x100 by lane 63 is outside the LDS of 256 bytes",
    ),
    "write_code": (
        "global_store_dword v3, v4, s[16:17]",
        rf"store of 4 bytes at global address {X} {ALL} is in 'the code object' .*, which is read-only",
    ),
    "write_arguments": (
        "global_store_dword v3, v4, s[0:1]",
        rf"store of 4 bytes at global address {X} {ALL} is in \"the kernel's arguments\" .*, which is read-only",
    ),
    "write_in": (
        "global_store_dword v2, v4, s[10:11]",
        rf"store of 4 bytes at global address {X}000 {ALL} is in {IN_IN}, which is read-only",
    ),
    "recursion": (
        "scratch_store_dword off, v6, s32",
        rf"store of 4 bytes at scratch address 0x40 {ALL} is outside the scratch of 64 bytes",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults(case: str) -> None:
    """The message has work-group, wave, lane, instruction, source line, address and the nearest buffer."""
    text, message = FAULTS[case]
    world, seen = World(), []
    with pytest.raises(mfma.MemoryFault) as caught:
        world.run(case, observer=SimpleNamespace(before=lambda wave, instruction: seen.append(wave)))
    label = "deeper" if case == "recursion" else case
    place = rf"work-group \(0, 0, 0\), wave 0, {case}\+0x[0-9a-f]+ \(\./hostile\.s:(\d+)\) `{re.escape(text)}`: "
    found = re.fullmatch(place + message, str(caught.value))
    assert found, str(caught.value)
    if label == case:
        assert int(found[1]) == line_of(case, text)
    assert not world.out.any(), "of an instruction that faults nothing is written"
    assert not seen[0].lds.any()
    assert caught.value.bytes_ == int(re.search(r"of (\d+) bytes at", message)[1])
    assert f"{caught.value.address:#x}" in str(caught.value)


def test_the_place_is_the_one_of_the_wave_that_faults() -> None:
    world = World(out=64 * 5)
    with pytest.raises(mfma.MemoryFault, match=r"^work-group \(0, 0, 0\), wave 4, store_above\+0x0 .* by lane 63 is"):
        world.run("store_above", block=320)
    # the third work-group waits for a fourth dword, and there are three
    with pytest.raises(
        mfma.MemoryFault, match=r"^work-group \(2, 0, 0\), wave 0, chain\+0x.* by lane 0 and 63 more is out"
    ):
        World(out=3).run("chain", grid=4, number=3)


@pytest.mark.parametrize(
    ("case", "address", "message"),
    [
        ("load_at", -4 % 2**64, f"at global address 0xc {ALL} {OUTSIDE}; its pointer is null"),
        ("load_at", -20 % 2**64, f"at global address 0xfffffffffffffffc {FAR_AWAY}"),
        ("store_at", -4 % 2**64, f"at global address 0xfffffffffffffffc {FAR_AWAY}"),
        ("store_at", 0, f"at global address 0x0 {ALL} {OUTSIDE}; its pointer is null"),
        ("store_at", SHARED_BASE - 4, f"at global address 0xfffffffffffc {FAR_AWAY}"),
        ("store_at", SHARED_BASE + 2**32 - 4, "at LDS address 0xfffffffc by lane 0 .* outside the LDS of 256 bytes"),
        ("store_at", PRIVATE_BASE + 2**32 - 4, "at scratch address 0xfffffffc .* outside the scratch of 64 bytes"),
        ("store_at", PRIVATE_BASE + 2**32, f"address 0x2000100000000 {FAR_AWAY}"),
        ("store_at", PRIVATE_BASE + 60, "at scratch address 0x3c by lane 0 .* outside the scratch of 64 bytes"),
        ("store_at", HUGE, f"at global address 0x8000000000000000 {FAR_AWAY}"),
        ("scalar_store", 4, "load of 4 bytes at global address 0x4 by the wave is outside every buffer"),
    ],
)  # fmt: skip
def test_wild_addresses(case: str, address: int, message: str) -> None:
    with pytest.raises(mfma.MemoryFault, match=message):
        World().run(case, address=address)


def test_use_after_free() -> None:
    world = World()
    weights = world.device.array(np.ones(64, np.float32), name="weights")
    world.device.free(weights)
    with pytest.raises(
        mfma.MemoryFault, match=r"is in 'weights' \(0x[0-9a-f]+ to 0x[0-9a-f]+, 256 bytes\), which was freed"
    ):
        world.run("store_at", address=weights.address)
    other = world.device.array(np.ones(64, np.float32))
    assert other.address > weights.address, "an address is never given out again"
    world.device.free(other)


def test_memory_of_an_earlier_launch_is_gone() -> None:
    world = World()
    world.run("index_good", number=4)
    first = min(buffer.address for buffer in world.device.space._table.buffers if buffer.name == "out")
    before = world.out.copy()
    with pytest.raises(mfma.MemoryFault, match=r"is in 'out' .*, which was freed"):
        world.run("store_at", address=first)
    assert np.array_equal(world.out, before)


def test_freed_buffers_do_not_pile_up() -> None:
    space = AddressSpace()
    kept = space.allocate(16, name="kept")
    for number in range(10 * REMEMBERED):
        last = space.allocate(16, name=str(number))
        space.free(last)
    assert len(space._table.buffers) <= 2 * REMEMBERED + 2
    assert space.find(kept.address) is kept
    assert space.known(last.address) is last
    assert space.allocate(16, name="new").address > last.address


@pytest.mark.parametrize("engine", ["interpreter", "native"])
@pytest.mark.parametrize(
    ("case", "error"), [("saved", None), ("trap", mfma.KernelError), ("endless", mfma.WatchdogError)]
)
def test_a_module_that_is_gone_frees_its_image(case: str, error: type[Exception] | None, engine: str) -> None:
    """However its launches ended; nobody waits for the garbage collector, which sees cycles and not sizes."""
    gc.collect()
    gc.disable()
    try:
        world = World()
        device = world.device
        with pytest.raises(error) if error else contextlib.nullcontext():
            world.run(case, engine=engine, max_instructions=5000)
        assert len(list(device.space)) == 1
        del world
        assert not list(device.space)
    finally:
        gc.enable()


def test_threads_share_a_device() -> None:
    world, arrays = World(), [np.zeros(64, np.uint32) for _ in range(8)]
    where = np.uint32(world.addresses["float_sum"] - world.addresses["base"])

    def launch(out: np.ndarray) -> None:
        for _ in range(10):
            world.module["hostile"].launch(1, 64, [out, None, where, np.uint32(0), np.uint64(0)])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(arrays)) as pool:
            list(pool.map(launch, arrays))
    finally:
        sys.setswitchinterval(interval)
    # 10 sums of the subnormal float with bits 7
    assert all((out == 70).all() for out in arrays)
    table = world.device.space._table
    assert len(set(table.addresses)) == len(table.addresses)


# control flow


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (6, r"the wave goes on at 0x6, which is no code"),
        (HUGE, r"the wave goes on at 0x8000000000000000, which is no code"),
        ("data", r"the wave goes on at 0x[0-9a-f]+, which is no code"),
        ("odd", r"the wave goes on at 0x[0-9a-f]+, which is no multiple of 4"),
        ("end", r"the wave goes on at 0x[0-9a-f]+, which is no code"),
    ],
)
def test_jumps_to_where_no_code_is(address: Any, message: str) -> None:
    world = World()
    base = world.module.image.address
    (start, code), *_ = world.module.executable
    places = {"data": base + world.addresses["hostile.kd"], "odd": start + 2, "end": start + len(code)}
    line = line_of("jump", "s_setpc_b64 s[14:15]")
    place = rf"^work-group \(0, 0, 0\), wave 0, after jump\+0x0 \(\./hostile\.s:{line}\) "
    with pytest.raises(mfma.KernelError, match=place + r"`s_setpc_b64 s\[14:15\]`: " + message + "$"):
        world.run("jump", address=places.get(address, address))


def test_illegal_instruction() -> None:
    message = (
        r"^work-group \(0, 0, 0\), wave 0, after illegal\+0x10 \(\./hostile\.s:\d+\) `s_setpc_b64 s\[16:17\]`: "
        r"0xffffffff at illegal\+0x14 \(\./hostile\.s:\d+\) is no instruction of gfx942$"
    )
    with pytest.raises(mfma.KernelError, match=message):
        World().run("illegal")


def test_no_first_instruction() -> None:
    """Without one there is no instruction to name; only firmware that skips a kernel's first bytes leads there."""
    kernel = World().module["hostile"].kernel
    start = Start(kernel, Geometry((1, 1, 1), (64, 1, 1), 0), 0x5000, 0, b"", 0, 0, 0)
    launch = Launch(AddressSpace(), start, [(0x1000, bytes(4))], (1, 1, 1), 1, {})
    with pytest.raises(mfma.KernelError, match=r"wave 0, at its start: the wave goes on at 0x5000, which is no code$"):
        launch.run()


def test_instruction_across_the_end_of_the_code() -> None:
    with pytest.raises(mfma.KernelError, match=r"`: 0xdc508000 at straddle\+0x14 .* is no instruction of gfx942$"):
        World().run("straddle")


@pytest.mark.parametrize("case", ["endless", "endless_sleep", "endless_barrier", "calls", "one_spins"])
def test_what_never_ends_is_stopped(case: str) -> None:
    place = r"^work-group \(0, 0, 0\), wave \d, .*\+0x[0-9a-f]+ \(\./hostile\.s:\d+\) `s_.*`: the launch was stopped "
    with pytest.raises(mfma.WatchdogError, match=place + r"after 0.05 s; raise `timeout` if it is no endless loop\.$"):
        World().run(case, block=128, timeout=0.05)
    with pytest.raises(mfma.WatchdogError, match=place + "after 30,000 instructions; raise `max_instructions` if it"):
        World().run(case, block=128, max_instructions=30_000)


def test_a_wave_that_ended_is_not_waited_for() -> None:
    world = World()
    world.run("one_ends", block=128)
    assert (world.out == 7).all()


@pytest.mark.parametrize(("case", "what"), [("trap", "s_trap 2"), ("halt", "s_sethalt 1")])
def test_the_kernel_stops_itself(case: str, what: str) -> None:
    with pytest.raises(mfma.KernelError, match=rf"`{what}`: the kernel stopped itself: {what}$"):
        World().run(case)


@pytest.mark.parametrize("case", ["breakpoint", "saved"])
def test_harmless_ends(case: str) -> None:
    world = World()
    world.run(case)
    assert (world.out == 7).all()


def test_rounding_modes_are_refused() -> None:
    with pytest.raises(mfma.KernelError, match=r"`s_setreg_imm32_b32 .*`: MODE sets floating-point rounding to 0x1;"):
        World().run("rounding")


@pytest.mark.parametrize(
    ("case", "number", "message"),
    [
        ("index_source", 6, r"`v_mov_b32_e32 v5, v250`: M0 adds 6 to v250, and the last register is v255$"),
        ("index_source", 255, r"M0 adds 255 to v250"),
        ("index_destination", 6, r"`v_mov_b32_e32 v250, v4`: M0 adds 6 to v250"),
    ],
)
def test_register_indices(case: str, number: int, message: str) -> None:
    World().run(case, number=5)
    with pytest.raises(mfma.KernelError, match=message):
        World().run(case, number=number)


def test_register_index() -> None:
    world = World()
    world.run("index_good", number=4)
    assert (world.out == 7).all()


def test_lds_addresses_wrap() -> None:
    world = World()
    world.run("lds_wraps")
    assert (world.out == 7).all()


def test_modes_that_change_nothing_take_no_memory() -> None:
    """A kernel that writes many values to MODE gets its instructions once."""
    world = World()
    world.run("modes", number=4)
    steps = len(world.module.steps)
    world.run("modes", number=4000)
    assert len(world.module.steps) == steps


EDGES = [*range(99, 109), *range(121, 130), 192, 208, *range(234, 241), *range(247, 258), *range(496, 512)]
"""Operand codes beside the ends of register files, and those that mean no register."""


def check_registers(text: str, program: Any) -> None:
    """All registers that a program names exist; a pair or tuple does not leave its file."""
    for node in program.nodes:
        more = int(node.type == B64)
        if node.op in (Op.SGPR, Op.SET_SGPR):
            assert 0 <= node.data <= 127 - more, text
        elif node.op in (Op.VGPR, Op.SET_VGPR, Op.VGPR_AT, Op.SET_VGPR_AT, Op.WRITE_LANE):
            assert 0 <= node.data <= 511 - more, text
            assert node.data % ACC + more < ACC, text
        elif node.op is Op.MATRIX:
            registers = node.data.op.registers
            tuples = (registers.cd, node.data.d), (registers.a, node.data.a), (registers.b, node.data.b)
            for operand, first in (*tuples, (registers.cd, node.data.c or 0)):
                assert 0 <= first < 2 * ACC, text
                assert first % ACC + operand.vgprs <= ACC, text


def check_rows(attempts: int) -> None:
    rng, found = random.Random(attempts), set()
    for form in decoder.FORMS:
        for opcode, row in form.rows.items():
            fields = [getattr(form.word, slot.field, None) for slot in (*row.dst, *row.src)]
            fields = [bits for bits in fields if bits is not None]
            for _ in range(attempts if row.name in DEFINITIONS else 0):
                word = rng.getrandbits(64)
                for bits in fields:
                    if rng.random() < 0.7:
                        word = word & ~(bits.largest << bits.low) | (rng.choice(EDGES) & bits.largest) << bits.low
                word = word & ~form.mask & ~(form.largest << form.low) | form.value | opcode << form.low
                try:
                    instruction = decode((word & ~form.word.zero(row)).to_bytes(8, "little"))
                except DecodeError:
                    continue
                if instruction.name in DEFINITIONS:
                    found.add(instruction.name)
                    check_registers(instruction.text, program(instruction, Mode(gpr_idx_en=rng.random() < 0.2)))
    assert len(found) > 0.8 * len(DEFINITIONS)


def test_registers_exist() -> None:
    check_rows(3)


@pytest.mark.long
def test_registers_exist_in_many_words() -> None:
    check_rows(30)


# work-groups that wait for one another


@pytest.mark.parametrize("case", ["chain", "chain_barrier"])
@pytest.mark.parametrize("groups", [2, 40])
def test_a_work_group_may_wait_for_a_later_one(case: str, groups: int) -> None:
    world = World(out=groups)
    world.run(case, grid=groups, number=groups - 1, block=64 if case == "chain" else 128)
    assert (world.out == 7).all()


@pytest.mark.long
def test_a_thousand_work_groups_wait_for_the_next() -> None:
    world = World(out=1000)
    world.run("chain", grid=1000, number=999)
    assert (world.out == 7).all()


def test_turns_end_even_between_barriers() -> None:
    """The wave's turn is one of the work-group's, however many barriers are in it."""
    world = World(out=2)
    report = world.run("chain_barrier", grid=2, number=1)
    assert report.executed < 2 * FIRST


# float sums


@pytest.mark.parametrize(
    ("case", "grid", "block", "met"),
    [
        ("float_sum", 1, 64, 0),
        ("float_sum", 3, 64, 3 * 64),
        ("float_sum", 1, 32, 0),
        ("float_sum_one", 1, 64, 64),
        ("float_sum_one", 1, 1, 0),
        ("float_sum_one", 2, 1, 2),
        ("float_sum_one", 1, 65, 65),
        ("float_sum_lds", 5, 64, 0),
        ("float_sum_scratch", 2, 64, 0),
    ],
)
def test_float_sums_whose_order_matters(case: str, grid: int, block: int, met: int) -> None:
    assert World().run(case, grid=grid, block=block).float_atomics == met


# sizes


def test_huge_grids_start_at_once() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(mfma.WatchdogError):
            World().run("endless", grid=1 << 25, timeout=0.1)
        assert tracemalloc.get_traced_memory()[1] < 1 << 30
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("vgprs", "block", "lds", "scratch", "expected"),
    [
        (64, 64, 0, 0, 4096),  # 304 * 32 would take more than the room
        (512, 64, 0, 0, 304 * 4),
        (512, 1024, 0, 0, 1),
        (64, 1024, 0, 0, 256),
        (64, 256, 65_536, 0, 304),
        (64, 64, 33_000, 0, 304),
        (64, 1024, 0, LARGEST_SCRATCH, 3),
    ],
)
def test_how_many_work_groups_are_resident(vgprs: int, block: int, lds: int, scratch: int, expected: int) -> None:
    kernel: Any = SimpleNamespace(descriptor=SimpleNamespace(vgprs=vgprs))
    geometry = Geometry((1, 1, 1), (block, 1, 1), 0)
    assert resident(kernel, geometry, lds, scratch) == expected
    assert expected == 1 or expected * math.ceil(block / 64) * 64 * (2048 + scratch) <= 1 << 29


def changed(**sizes: int) -> bytes:
    """The object with other sizes in the metadata and zeros in the descriptor, which then does not contradict."""
    import msgpack

    content = mfma.codeobject.content.Content(OBJECT.read_bytes())
    data = bytearray(content.data)
    file = elf.Elf(content)
    note = next(note for note in file.notes() if note.owner == b"AMDGPU" or note.owner == "AMDGPU")
    document = msgpack.unpackb(bytes(note.content))
    (kernel,) = document["amdhsa.kernels"]
    kernel |= {f".{name}": value for name, value in sizes.items() if f".{name}" in kernel}
    for argument in kernel[".args"]:
        if argument[".name"] == "out":
            argument |= {f".{name[4:]}": value for name, value in sizes.items() if name.startswith("out_")}
        argument.pop(".address_space", None)
    packed = msgpack.packb(document)
    at = bytes(data).index(bytes(note.content))
    assert len(packed) <= len(note.content)
    data[at : at + len(note.content)] = packed.ljust(len(note.content), b"\0")
    start = at - 20
    struct.pack_into("<I", data, bytes(data).rindex(b"AMDGPU\0", start, at) - 8, len(packed))
    rodata = file.section(".rodata")
    data[rodata.offset : rodata.offset + 12] = bytes(12)
    return bytes(data)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"private_segment_fixed_size": 131_057},
            "hostile has 131,057 bytes of scratch for each lane; a lane has 131,056.",
        ),
        ({"kernarg_segment_size": (1 << 20) + 1}, "hostile wants 1,048,577 bytes of arguments; at most 1,048,576 go."),
        ({"out_size": 4}, "hostile has a global_buffer of 4 bytes, which is another size."),
        ({"group_segment_fixed_size": 65_537}, "hostile has 65,537 bytes of LDS and 0 dynamic ones were asked for; a "),
    ],
)
def test_sizes_that_no_kernel_has(sizes: dict[str, int], message: str) -> None:
    module = mfma.load(changed(**sizes), mfma.Device())
    with pytest.raises(mfma.LaunchError, match="^" + re.escape(message)):
        module["hostile"].launch(1, 64, [None, None, np.uint32(0), np.uint32(0), np.uint64(0)])


# the host's side of arguments


def launch_with(out: Any, case: str = "float_sum") -> None:
    world = World()
    where = np.uint32(world.addresses[case] - world.addresses["base"])
    world.module["hostile"].launch(1, 1, [out, None, where, np.uint32(0), np.uint64(0)])
    assert [buffer.name for buffer in world.device.space] == ["the code object"]


def test_arrays_of_python_objects_are_refused() -> None:
    objects = np.array([None, "text"], object)
    with pytest.raises(mfma.LaunchError, match=r"^out is an array of Python objects; pass one of numbers\.$"):
        launch_with(objects)
    with pytest.raises(mfma.LaunchError, match=r"^an array of Python objects cannot go to the device; give one of num"):
        mfma.Device().array(objects)


def test_arrays_without_dimensions_and_of_subclasses() -> None:
    masked = np.ma.masked_array(np.zeros(2, np.uint32), mask=[True, False])
    with warnings.catch_warnings(action="ignore"):
        matrix = np.asmatrix(np.zeros((1, 2), np.uint32))
    for out in (np.zeros((), np.uint32), matrix, masked):
        launch_with(out)
        assert np.asarray(out).reshape(-1)[0] == 7


def test_a_refused_launch_leaves_nothing_mapped() -> None:
    world = World()
    both = np.zeros(96, np.uint32)
    with pytest.raises(mfma.LaunchError, match="overlap"):
        world.module["hostile"].launch(
            1, 64, [both[:64], both[32:], np.uint32(0), np.uint32(0), np.uint64(0)]
        )  # fmt: skip
    assert [buffer.name for buffer in world.device.space] == ["the code object"]


@pytest.mark.long
def test_the_object_comes_from_its_source(tmp_path) -> None:
    assembler, linker = tool("llvm-mc-22"), tool("ld.lld-22")
    flags = ["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj", "-g", "-fdebug-compilation-dir=."]
    made, linked = tmp_path / "hostile.o", tmp_path / "hostile.co"
    subprocess.run([assembler, *flags, SOURCE.name, "-o", made], check=True, cwd=SOURCE.parent)
    subprocess.run([linker, "-shared", made, "-o", linked], check=True)
    new, old = (elf.Elf(mfma.codeobject.content.Content(path.read_bytes())) for path in (linked, OBJECT))
    for name in (".text", ".rodata", ".note"):
        assert bytes(new.bytes_of(new.section(name))) == bytes(old.bytes_of(old.section(name)))

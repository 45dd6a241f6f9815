"""Damaged kernels, hostile arguments, random instructions: a launch ends well or in one of the package's errors.

``python -m emulator.fuzz_launch SEED SECONDS`` (in tests/) runs for so long and prints what it saw; ``--one NUMBER``
runs one iteration alone. Iterations depend on seed and number only. Every array that a kernel gets lies between
guards, another one lies beside and is never passed; after each launch all of them are looked at. Every launch runs on
both engines, which must end alike and leave the same memory. It also runs on several threads, where what it leaves may
depend on them: a damaged kernel's work-groups may store to the same places. The address space of the process is
limited, and an iteration that hangs ends the process with a traceback.
"""

from __future__ import annotations

import argparse
import dataclasses
import faulthandler
import hashlib
import random
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import mfma
from corpus.case import OBJECTS, Case
from corpus.cases_hip import CASES as HIP
from corpus.cases_triton import CASES as TRITON
from mfma.codeobject import elf
from mfma.codeobject.content import Content
from mfma.emulator import semantics  # noqa: F401 registers the definitions
from mfma.emulator.decode import decode, decode_all, decoder
from mfma.emulator.interpreter.engine import Launch
from mfma.emulator.interpreter.wave import Group, Wave
from mfma.emulator.memory import BASE, PRIVATE_BASE, SHARED_BASE
from mfma.emulator.report import Report
from mfma.emulator.semantics.machine import EXEC
from mfma.emulator.translator import workers
from mfma.errors import DecodeError

CASES = [case for case in (*HIP, *TRITON) if case.quick]
ENGINES = "interpreter", "native"
THREADS = "threads"
"""The native engine on several threads."""
GUARD = 4096
TIMEOUT = 0.3
"""Seconds that a launch gets."""
SLACK = 3.0
"""Seconds of the processor that loading, checking and one instruction may take beside."""
PROGRAMS = 5
"""Of random instructions in an iteration."""
HANGS = 120
ROOM = 8 << 30
"""Bytes of address space of the process."""
ENDPGM = bytes.fromhex("000081bf")


class Guarded:
    """Arrays between guard patterns, and what their surroundings must still be afterwards."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kept: list[tuple[np.ndarray, int, int, bytes]] = []
        self.bystander = self.array(np.frombuffer(rng.randbytes(4096), np.uint8))
        self.before = self.bystander.tobytes()

    def array(self, values: np.ndarray) -> np.ndarray:
        """Copy an array to where the guards are."""
        size = values.nbytes
        whole = np.frombuffer(bytearray(self.rng.randbytes(GUARD) * 2 + bytes(size)), np.uint8).copy()
        whole = np.concatenate([whole[:GUARD], np.zeros(size, np.uint8), whole[GUARD : 2 * GUARD]])
        self.kept.append((whole, GUARD, GUARD + size, whole[:GUARD].tobytes() + whole[GUARD + size :].tobytes()))
        view = whole[GUARD : GUARD + size].view(values.dtype).reshape(values.shape)
        view[...] = values
        return view

    def check(self) -> None:
        """Raise AssertionError if anything outside the arrays, or in the bystander, has changed."""
        for whole, start, end, guards in self.kept:
            assert whole[:start].tobytes() + whole[end:].tobytes() == guards, "a guard was overwritten"
        assert self.bystander.tobytes() == self.before, "an array that was not passed was overwritten"


# code


def words(rng: random.Random) -> bytes:
    """One instruction that the decoder knows, with random operands."""
    while True:
        form = rng.choice([form for form in decoder.FORMS if form.rows])
        opcode, row = rng.choice(list(form.rows.items()))
        word = rng.getrandbits(64)
        if rng.random() < 0.5:  # few registers, so that instructions meet
            word &= rng.getrandbits(64) & rng.getrandbits(64)
        word = word & ~form.mask & ~(form.largest << form.low) | form.value | opcode << form.low
        word &= ~form.word.zero(row)
        try:
            instruction = decode(word.to_bytes(8, "little"))
        except DecodeError:
            continue
        return instruction.word.to_bytes(instruction.size, "little")


def section(data: bytes, name: str) -> tuple[int, int]:
    """File offset and size of a section."""
    found = elf.Elf(Content(data)).section(name)
    return (found.offset, found.size) if found else (0, 0)


def flipped(rng: random.Random, data: bytearray, start: int, size: int) -> None:
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        data[start + rng.randrange(size)] ^= 1 << rng.randrange(8)


def overwritten(rng: random.Random, data: bytearray, start: int, size: int) -> None:
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = start + rng.randrange(size)
        new = rng.choice((rng.randbytes(4), bytes(4), b"\xff" * 4, rng.randbytes(1)))[: start + size - at]
        data[at : at + len(new)] = new


def reordered(rng: random.Random, data: bytearray, start: int, size: int) -> None:
    """Swap, repeat or leave out instructions; the section keeps its size."""
    items = [
        (getattr(item, "word", 0)).to_bytes(getattr(item, "size", 4), "little")
        for item in decode_all(bytes(data[start : start + size]))
    ]
    for _ in range(rng.choice((1, 2, 4))):
        i, j = rng.randrange(len(items)), rng.randrange(len(items))
        match rng.randrange(3):
            case 0:
                items[i], items[j] = items[j], items[i]
            case 1:
                items[i:i] = [items[j]]
            case 2:
                del items[i : i + rng.randrange(1, 4)]
                items = items or [ENDPGM]
    data[start : start + size] = b"".join(items).ljust(size, b"\0")[:size]


def inserted(rng: random.Random, data: bytearray, start: int, size: int) -> None:
    """Put random instructions over some of the code."""
    for _ in range(rng.choice((1, 3, 10))):
        at = start + 4 * rng.randrange(size // 4)
        for _ in range(rng.randrange(1, 6)):
            new = words(rng)
            if at + len(new) <= start + size:
                data[at : at + len(new)] = new
                at += len(new)


PLACES = {
    ".text": (flipped, overwritten, reordered, inserted, inserted),
    ".rodata": (flipped, overwritten),
    ".note": (flipped, overwritten),
    "": (flipped, overwritten),
}


def mutant(rng: random.Random, data: bytes) -> bytes:
    """Change an object in one place or two."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice((".text", ".text", ".text", ".rodata", ".note", ""))
        try:
            start, size = section(bytes(result), name) if name else (0, len(result))
        except mfma.CodeObjectError:
            return bytes(result)
        if size >= 8 and start + size <= len(result):
            rng.choice(PLACES[name])(rng, result, start, size)
    return bytes(result)


# arguments


def wild(rng: random.Random) -> int:
    """An address or a size that nobody wants to meet."""
    near = rng.choice((0, BASE, BASE + 0x10000, SHARED_BASE, PRIVATE_BASE, 1 << 31, 1 << 32, 1 << 48, 1 << 63))
    return rng.choice((rng.getrandbits(64), near + rng.randrange(-70_000, 70_000), near, rng.getrandbits(20))) % 2**64


def arguments(rng: random.Random, case: Case, guarded: Guarded) -> list[Any]:
    """The case's arguments between guards, sometimes with others in their place."""
    hostile = rng.random() < 0.4
    given = []
    for value in case.arguments():
        worse = hostile and rng.random() < 0.4
        if isinstance(value, np.ndarray) and value.ndim:
            value = guarded.array(value)  # noqa: PLW2901
            if worse:
                part = value.reshape(-1)[: rng.randrange(value.size + 1)]
                given.append(rng.choice((None, wild(rng), part, wild(rng))))
                continue
            if rng.random() < 0.1:
                value.flags.writeable = False
        elif worse and value is not None:
            given.append(np.frombuffer(wild(rng).to_bytes(8, "little") * 2, value.dtype)[0])
            continue
        given.append(value)
    if hostile and rng.random() < 0.1:
        rng.shuffle(given)
    return given


def shape(rng: random.Random, extent: Sequence[int]) -> tuple[int, ...]:
    return tuple(rng.choice((n, n, n, 1, 2, 3, n + 1, 64, 1 << 20)) for n in extent)


# iterations


def launch_mutant(rng: random.Random, device: mfma.Device, guarded: Guarded, engine: str) -> object:
    """Load a changed object and launch one of its kernels; what the report says."""
    case = rng.choice(CASES)
    data = case.path.read_bytes()
    if rng.random() < 0.9:
        data = mutant(rng, data)
    module = mfma.load(data, device)
    if not module:
        return None
    kernel = module[case.kernel if case.kernel in module and rng.random() < 0.9 else rng.choice(list(module))]
    grid, block = case.grid, case.block
    if rng.random() < 0.2:
        grid, block = shape(rng, grid), shape(rng, block)
    lds = case.lds if rng.random() < 0.8 else rng.choice((0, 1, 64, 65_536, case.lds // 2))
    limit = rng.choice((None, 2_000, 20_000))
    threads = 1
    if engine == THREADS:
        engine, threads, limit = "native", rng.choice((2, 3)), None
    report = kernel.launch(
        grid, block, arguments(rng, case, guarded), lds=lds, timeout=TIMEOUT, max_instructions=limit, engine=engine,
        threads=threads,
    )  # fmt: skip
    return dataclasses.replace(report, interpreted=0)


def run_noise(rng: random.Random, device: mfma.Device, guarded: Guarded, engine: str) -> object:
    """Run random instructions on waves whose registers hold addresses, small numbers and noise; what is left there."""
    array = guarded.array(np.zeros(8192, np.uint8))
    buffer = device.space.allocate(array.size, name="data", data=array)
    generator = np.random.default_rng(rng.getrandbits(64))
    modes = (0x0F0, 0x2F0, 0x3F0, 0x0C0, 0x000, 0x0880_00F0)
    left: list[object] = []
    waves: list[Wave] = []

    def start(launch: Launch, index: tuple[int, int, int]) -> Group:
        group = Group(index, 1024, launch.float_order)
        for number in range(2):
            wave = Wave(launch, group, number, 1 << 40, rng.choice(modes), 256)
            for registers in (wave.v, wave.s):
                noise = generator.integers(0, 1 << 32, registers.shape, np.uint64)
                small = generator.integers(0, 1024, registers.shape, np.uint64)
                kinds = generator.integers(0, 3, registers.shape[:1])
                kinds = kinds.reshape(-1, *[1] * (registers.ndim - 1))
                registers[:] = np.where(kinds == 0, noise, small)
                for pair in range(0, len(registers) - 1, 2):  # addresses, and buffer resources
                    if rng.random() < 0.4:
                        registers[pair] = (buffer.address & 0xFFFF_FFFF) + registers[pair] % 4096
                        registers[pair + 1] = buffer.address >> 32
            if rng.random() < 0.7:
                wave.s[EXEC : EXEC + 2] = 0xFFFF_FFFF
            group.waves.append(wave)
        waves.extend(group.waves)
        return group

    try:
        for _ in range(PROGRAMS):
            code = b"".join(words(rng) for _ in range(rng.choice((1, 1, 3, 10, 40)))) + ENDPGM
            whole = [(1 << 40, code)]
            launch = prepared(engine, device.space, start, whole, (1, 1, 1), 1, {}, limit=5_000, seconds=TIMEOUT)
            try:
                launch.run()
            except mfma.MfmaError as error:
                left.append(repr(error))
            left.append(str(Report.of("noise", (1, 1, 1), (128, 1, 1), launch.counts(), launch.float_order.lanes)))
        left += [
            hashlib.sha256(memory).hexdigest() for wave in waves for memory in (wave.v, wave.s, wave.scratch, wave.lds)
        ]
        return left
    finally:
        device.space.free(buffer)


def prepared(engine: str, *args: Any, **options: Any) -> Launch:
    """A launch by an engine of code that is in no module."""
    if engine == "interpreter":
        return Launch(*args, **options)
    from mfma.emulator.translator.engine import NativeLaunch

    return NativeLaunch(*args, natives={}, reach=lambda address: [], threads=2 if engine == THREADS else 1, **options)


def healthy(device: mfma.Device) -> None:
    """Launch a kernel that is right: what came before must not show."""
    x = np.arange(100, dtype=np.float32)
    out = np.zeros(100, np.float32)
    mfma.load(OBJECTS / "hip_vector.co", device)["add_f32"].launch(2, 64, [x, x, out, 100])
    assert np.array_equal(out, 2 * x), "a healthy launch went wrong"


def attempt(seed: int, number: int, engine: str) -> tuple[str, object]:
    """One launch on one engine: how it ended, and what it left."""
    rng = random.Random(f"{seed} {number}")
    device, guarded = mfma.Device(), Guarded(rng)
    began = time.process_time()
    kind = launch_mutant if rng.random() < 0.7 else run_noise
    outcome, left = "run", None
    try:
        left = kind(rng, device, guarded, engine)
    except mfma.MfmaError as error:
        outcome, left = type(error).__name__, str(error)
        assert left, "an error says nothing"
        assert len(left) < 2000, f"an error says too much: {left[:300]}"
    spent = time.process_time() - began
    assert spent < PROGRAMS * TIMEOUT + SLACK, f"{spent:.1f} s of the processor"
    guarded.check()
    live = sum(buffer.size for buffer in device.space)
    assert not live, f"{live:,} bytes of device memory were left behind"
    return f"{kind.__name__}: {outcome}", (left, [whole.tobytes() for whole, *_ in guarded.kept])


def iteration(seed: int, number: int, engines: Sequence[str] = ENGINES) -> str:
    """One launch on each engine; how it ended: ``run``, or the name of the error."""
    ends = [attempt(seed, number, engine) for engine in engines]
    if "native" in engines:
        attempt(seed, number, THREADS)
    # when a launch takes too long depends on the engine
    if not any(outcome.endswith("WatchdogError") or " s; raise `timeout`" in str(left) for outcome, left in ends):
        for outcome, left in ends[1:]:
            assert outcome == ends[0][0], f"{[(o, left[0]) for o, left in ends]}"
            assert left == ends[0][1], f"{difference(left, ends[0][1])}"
    return ends[0][0]


def difference(one: Any, other: Any) -> str:
    """What differs first between what two engines left."""
    if one[0] != other[0]:
        pairs = zip(one[0], other[0], strict=False) if isinstance(one[0], list) else [(one[0], other[0])]
        return next((f"{a}\n--\n{b}" for a, b in pairs if a != b), "lengths")
    return f"array {next(i for i, (a, b) in enumerate(zip(one[1], other[1], strict=True)) if a != b)}"


def limited() -> None:
    """Refuse images above 16 MiB, and memory above `ROOM`; let threads begin at once."""
    workers.PATIENCE = 0.0
    elf.LARGEST = 1 << 24  # type: ignore[misc]
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, resource.getrlimit(resource.RLIMIT_AS)[1]))


def run(
    seed: int,
    seconds: float,
    first: int = 0,
    most: int = 1 << 60,
    go_on: bool = False,
    engines: Sequence[str] = ENGINES,
) -> Counter[str]:
    """Iterate for so long; how often which outcome was seen. With ``go_on`` failures are printed and counted, too."""
    seen: Counter[str] = Counter()
    end = time.monotonic() + seconds
    device = mfma.Device()
    healthy(device)
    for number in range(first, first + most):
        if time.monotonic() > end:
            break
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            seen[iteration(seed, number, engines)] += 1
            if number % 16 == 0:
                healthy(device)
        except Exception:
            print(f"seed {seed}, iteration {number}", traceback.format_exc(limit=-6), file=sys.stderr, flush=True)
            seen["FAILED"] += 1
            if not go_on:
                raise
        finally:
            faulthandler.cancel_dump_traceback_later()
    return seen


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--one", type=int, help="number of a single iteration")
    parser.add_argument("--most", type=int, default=1 << 60, help="iterations at most")
    parser.add_argument("--go-on", action="store_true", help="report failures and go on")
    parser.add_argument("--engine", choices=ENGINES, help="only this one")
    given = parser.parse_args()
    limited()
    faulthandler.enable()
    began = time.monotonic()
    one = (given.one, 1) if given.one is not None else (0, given.most)
    engines = [given.engine] if given.engine else ENGINES
    seen = run(given.seed, given.seconds, *one, go_on=given.go_on, engines=engines)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{seen.total()} iterations in {time.monotonic() - began:.0f} s, {peak} MiB at most")
    for outcome, count in sorted(seen.items()):
        print(f"{count:8} {outcome}")


if __name__ == "__main__":
    main()

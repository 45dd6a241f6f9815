"""One instruction at a time: assembly text to words, run on one wave, and everything that it changed.

A test says what an instruction must do with Python's integers, per lane or for the wave, from the ISA manual and not
from the definitions. All registers hold noise before; whatever the test does not expect to change must not change.

The words of every text come from the golden files beside, which ``python -m emulator.forms`` (in ``tests/``) writes
with llvm-mc and a long test compares with it.
"""

from __future__ import annotations

import importlib
import itertools
import random
import re
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from emulator import native
from mfma.emulator import semantics  # noqa: F401 registers the definitions
from mfma.emulator.decode import Instruction, decode
from mfma.emulator.interpreter.step import Step
from mfma.emulator.interpreter.wave import Group, Status, Wave
from mfma.emulator.semantics.machine import Mode

GOLDEN = Path(__file__).parent.parent / "golden" / "emulator"
HEADER = (
    "# Words of single instructions, by LLVM's assembler: llvm-mc 22.1.8 -triple=amdgcn -mcpu=gfx942 --show-encoding.\n"
    "# One instruction a line: its bytes in the order of memory, then its text.\n"
)
COMMAND = ("llvm-mc-22", "-triple=amdgcn", "-mcpu=gfx942", "--show-encoding")

VCC, M0, EXEC, LANES = 106, 124, 126, 64
ALL = (1 << LANES) - 1
KEEP_SUBNORMALS = 0xF0
ADDRESS = 0x1_0000
"""Where the instruction stands."""

# texts and words

TEXTS: dict[str, None] = {}
"""Every text that a test module has named, in order."""


def form(text: str) -> str:
    """Name a text: `run` needs its words, and the golden file lists them."""
    TEXTS[text] = None
    return text


def assemble(texts: Iterable[str]) -> dict[str, bytes]:
    """Words of each text from LLVM's assembler."""
    texts = list(texts)
    done = subprocess.run(COMMAND, input="\n".join(texts), capture_output=True, text=True, check=False)
    words = re.findall(r"encoding: \[([0-9a-fx,]+)\]", done.stdout)
    if done.returncode or len(words) != len(texts):
        raise ValueError(done.stderr)
    return {t: bytes(int(byte, 16) for byte in w.split(",")) for t, w in zip(texts, words, strict=True)}


@cache
def golden() -> dict[str, bytes]:
    """Words of all texts in the golden files."""
    words = {}
    for path in sorted(GOLDEN.glob("forms_*.txt")):
        for line in path.read_text().splitlines():
            if not line.startswith("#"):
                code, text = line.split(maxsplit=1)
                words[text] = bytes.fromhex(code)
    return words


def write_golden(name: str) -> None:
    """Assemble the texts of one test module into its golden file."""
    TEXTS.clear()
    importlib.import_module(f"emulator.test_{name}")
    lines = [f"{code.hex()} {text}\n" for text, code in assemble(sorted(TEXTS)).items()]
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / f"{name}.txt").write_text(HEADER + "".join(lines))


@cache
def instruction(text: str) -> Instruction:
    """Decode the words of a text, all of them."""
    code = golden()[text]
    decoded = decode(code, ADDRESS)
    assert decoded.size == len(code), text
    return decoded


# running


@dataclass
class Registers:
    """What a wave holds: vector registers by number, scalar ones by operand code, and the rest."""

    v: Any
    s: Any
    scc: int = 0
    mode: int = KEEP_SUBNORMALS
    pc: int = 0
    status: Status = Status.READY
    traps: list[Any] = field(default_factory=list)


def noise(seed: str) -> Registers:
    """Registers full of random bits, the same every time; all lanes are on."""
    generator = np.random.default_rng(zlib.crc32(seed.encode()))
    v = generator.integers(0, 1 << 32, (512, LANES), np.uint64).astype(np.uint32)
    s = generator.integers(0, 1 << 32, 128, np.uint64).astype(np.uint32)
    before = Registers(v, s)
    before.s[EXEC : EXEC + 2] = 0xFFFF_FFFF
    return before


ENGINES: tuple[str, ...] = ("interpreter",)
"""Which engines execute instructions, ``interpreter``, ``native`` or both: fixture ``engines`` sets it."""


@cache
def _step(text: str, mode: Mode) -> Step:
    return Step(instruction(text), mode)


def run(wave: Wave, text: str, mode: Mode | None = None, engine: str | None = None) -> None:
    """Execute an instruction, on the first of `ENGINES` unless told otherwise.

    What the native engine leaves to the interpreter is run there: it must have done nothing.
    """
    mode = mode or Mode()
    step = _step(text, mode)
    wave.pc = step.next
    if (engine or ENGINES[0]) == "native" and native.run(wave, step.instruction, mode):
        return
    with np.errstate(all="ignore"):
        step.run(wave)


def execute(text: str, before: Registers, mode: Mode | None = None) -> Registers:
    """Registers after the instruction, which are the same on all `ENGINES`."""
    first, *others = (executed(text, before, mode, engine) for engine in ENGINES)
    for other in others:
        same(text, other, first, " of the native engine, against the interpreter")
    return first


def executed(text: str, before: Registers, mode: Mode | None, engine: str) -> Registers:
    """Registers after the instruction on one engine."""
    traps: list[Any] = []
    launch: Any = SimpleNamespace(
        space=None, register=lambda wave, number, offset: number + offset, trap=lambda wave, what: traps.append(what)
    )
    wave = Wave(launch, Group((0, 0, 0), 0), 0, ADDRESS, before.mode, 0)
    wave.v[:], wave.s[:], wave.scc = before.v, before.s, np.bool_(before.scc)
    run(wave, text, mode, engine)
    return Registers(wave.v, wave.s, int(wave.scc), wave.mode, wave.pc, wave.status, traps)


def put(registers: Registers, file: str, number: int, values: Any, dwords: int = 1) -> None:
    """Set a vector register (a value per lane) or a scalar one, or the tuple that begins there."""
    target = registers.v if file == "v" else registers.s
    for i in range(dwords):
        if file == "v":
            target[number + i] = [value >> 32 * i & 0xFFFF_FFFF for value in values]
        else:
            target[number + i] = values >> 32 * i & 0xFFFF_FFFF


def get(registers: Registers, file: str, number: int, dwords: int = 1) -> Any:
    """Values of a vector register (a list, per lane) or a scalar one, or of the tuple that begins there."""
    parts = [(registers.v if file == "v" else registers.s)[number + i] for i in range(dwords)]
    if file == "v":
        return [sum(int(part[lane]) << 32 * i for i, part in enumerate(parts)) for lane in range(LANES)]
    return sum(int(part) << 32 * i for i, part in enumerate(parts))


def same(text: str, got: Registers, expected: Registers, which: str = "") -> None:
    """Compare everything that a wave holds, with a message that names what differs first."""
    for lane_registers, name in ((512, "v"), (128, "s")):
        mine, theirs = getattr(got, name), getattr(expected, name)
        differing = np.argwhere(mine != theirs)
        if len(differing):
            at = tuple(differing[0])
            where = f"{name}{at[0]}" + (f" lane {at[1]}" if len(at) > 1 else "")
            raise AssertionError(
                f"{text}{which}: {where} is {mine[at]:#x}, not {theirs[at]:#x} ({len(differing)} differ)"
            )
        assert mine.shape[0] == lane_registers
    for name in ("scc", "mode", "status", "traps"):
        assert getattr(got, name) == getattr(expected, name), f"{text}{which}: {name}"
    assert got.pc == (expected.pc or ADDRESS + instruction(text).size), f"{text}{which}: pc"


# operands in the text

OPERAND = re.compile(r"(?<![\w\[])([vsa])(?:(\d+)|\[(\d+):(\d+)\])")


@dataclass(frozen=True)
class Register:
    """A register that a text names: file ``v``, ``s`` or ``a``, number, dwords."""

    file: str
    number: int
    dwords: int = 1


def registers_of(text: str) -> list[Register]:
    """Registers in the order of the text; VCC and EXEC count as scalar pairs."""
    text = re.sub(r"\bvcc\b", f"s[{VCC}:{VCC + 1}]", re.sub(r"\bexec\b", f"s[{EXEC}:{EXEC + 1}]", text))
    text = text.replace(" m0", f" s{M0}")
    return [
        Register(file, int(one or first), int(last) - int(first) + 1 if first else 1)
        for file, one, first, last in OPERAND.findall(text.split(maxsplit=1)[1] if " " in text else "")
    ]


def edges(bits: int) -> list[int]:
    """Values where integer operations change their behaviour."""
    values = {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0xFFFF, 0x8000, 0x7FFF, 0x10000}
    values |= {0x7F_FFFF, 0x80_0000, 0xFF_FFFF, 0x8000_8000, 0x7FFF_7FFF, 0x0100_00FF, 0x5555_5555, 0x8080_8080}
    for width in (32, 64):
        values |= {(1 << width) - 1, (1 << width) - 2, 1 << width - 1, (1 << width - 1) - 1, (1 << width - 1) + 1}
    return sorted({value & (1 << bits) - 1 for value in values})


def samples(seed: str, bits: int, count: int) -> Iterator[int]:
    """All edge values in some order, again and again, and between them random ones, also of few bits."""
    generator = random.Random(zlib.crc32(seed.encode()))
    special: list[int] = []
    for i in range(count):
        if i % 2:
            yield generator.getrandbits(bits) >> (generator.randrange(bits) if i % 4 == 1 else 0)
            continue
        if not special:
            special = edges(bits)
            generator.shuffle(special)
        yield special.pop()


def tuples(seed: str, widths: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """Values of several operands: combinations of the extremes, then `samples`, of which some are equal."""
    extremes = list(itertools.product(*((0, (1 << n) - 1, 1 << n - 1, (1 << n - 1) - 1) for n in widths)))
    random.Random(seed).shuffle(extremes)
    columns = (samples(f"{seed} {i}", bits, count) for i, bits in enumerate(widths))
    mixed = list(zip(*columns, strict=True))
    for i in range(0, count, 5):
        mixed[i] = tuple(mixed[i][0] & (1 << bits) - 1 for bits in widths)
    return (extremes[: count // 3] + mixed)[:count]


def signed(value: int, bits: int) -> int:
    """The low bits as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def clamp(value: int, bits: int, is_signed: bool) -> int:
    """The nearest number of so many bits, as bits."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return max(low, min(high, value)) & (1 << bits) - 1


EXECS = (ALL, 0xF0F0_5A5A_0FF1_8003, 0x8000_0000_0000_0001)


def check_lanes(
    text: str,
    function: Callable[..., Any],
    *,
    rounds: int = 3,
    bits: Mapping[int, Callable[[str, int, int], Iterable[int]]] | None = None,
    mode: Mode | None = None,
    results: int = 1,
    reads_result: bool = False,
    also: tuple[int, ...] = (),
) -> None:
    """Run a vector instruction and compare every lane of EXEC with ``function`` of its source operands.

    The registers in the text are first ``results`` results, then sources. A scalar register among the sources counts
    in every lane, a pair of them where the function's argument is called ``mask`` as the lane's bit. The function
    returns the bits of the result, or one value per result: a scalar result is a mask.

    Args:
        text: the instruction.
        function: source values of one lane to the results.
        rounds: how often, each time with other values and another EXEC.
        bits: source number to the function that makes its values, instead of `samples`.
        mode: of the program.
        results: how many results there are.
        reads_result: whether the old value of the (first) result is the first argument.
        also: scalar pairs that take the mask as well.
    """
    operands = registers_of(text)
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    outs, sources = operands[:results], operands[results:]
    first_source = int(reads_result)
    for round_ in range(rounds):
        seed = f"{text} {round_}"
        before = noise(seed)
        exec_ = EXECS[round_ % len(EXECS)]
        put(before, "s", EXEC, exec_, 2)
        drawn = tuples(seed, [32 * source.dwords for source in sources], LANES) if sources else []
        for i, source in enumerate(sources):
            column = [values[i] for values in drawn]
            if bits and i in bits:
                column = list(bits[i](f"{seed} {i}", 32 * source.dwords, LANES))
            if source.file == "s":
                put(before, "s", source.number, column[round_ % LANES], source.dwords)
            else:
                put(before, "v", source.number + 256 * (source.file == "a"), column, source.dwords)
        values = []
        for i, source in enumerate(sources):
            if source.file == "s":
                value = get(before, "s", source.number, source.dwords)
                is_mask = first_source + i < len(names) and names[first_source + i] == "mask"
                values.append([value >> lane & 1 if is_mask else value for lane in range(LANES)])
            else:
                values.append(get(before, "v", source.number + 256 * (source.file == "a"), source.dwords))
        expected = Registers(before.v.copy(), before.s.copy(), before.scc, before.mode)
        masks = [0] * results
        for lane in range(LANES):
            if not exec_ >> lane & 1:
                continue
            arguments = [value[lane] for value in values]
            if reads_result:
                arguments.insert(0, get_lane(before, outs[0], lane))
            answer = function(*arguments)
            answers = answer if isinstance(answer, tuple) else (answer,)
            for position, (out, part) in enumerate(zip(outs, answers, strict=True)):
                if out.file == "s":
                    masks[position] |= bool(part) << lane
                else:
                    put_lane(expected, out, lane, part)
        for out, mask in zip(outs, masks, strict=True):
            if out.file == "s":
                for number in (out.number, *also):
                    put(expected, "s", number, mask, 2)
        same(text, execute(text, before, mode), expected)


def get_lane(registers: Registers, register: Register, lane: int) -> int:
    """One lane of a vector register."""
    number = register.number + 256 * (register.file == "a")
    return sum(int(registers.v[number + i, lane]) << 32 * i for i in range(register.dwords))


def put_lane(registers: Registers, register: Register, lane: int, value: int) -> None:
    """Set one lane of a vector register."""
    number = register.number + 256 * (register.file == "a")
    for i in range(register.dwords):
        registers.v[number + i, lane] = value >> 32 * i & 0xFFFF_FFFF


# which test covers which mnemonic

COVERS: dict[str, list[str]] = {}
"""Mnemonic (as decoded) -> the tests that run it, as in ``test_forms_integer.test_lanes``."""


def covers(test: str, texts: Iterable[str]) -> list[str]:
    """Enter the texts of a parametrised test; returns them, for the parametrisation."""
    texts = [form(text) for text in texts]
    test = f"{sys._getframe(1).f_globals['__name__'].rpartition('.')[2]}.{test}"
    for text in texts:
        mnemonic = re.sub(r"_(e32|e64|sdwa|dpp)$", "", text.split()[0])
        tests = COVERS.setdefault(mnemonic, [])
        if test not in tests:
            tests.append(test)
    return texts


def main() -> None:
    """Write the golden file of every test module of this folder."""
    for module in sorted(Path(__file__).parent.glob("test_forms_*.py")):
        write_golden(module.stem.removeprefix("test_"))
        print(module.stem, len(TEXTS), file=sys.stderr)


if __name__ == "__main__":
    # the test modules enter their texts with `emulator.forms`, which is another module than `__main__`
    importlib.import_module("emulator.forms").main()

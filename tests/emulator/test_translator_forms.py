"""Native functions of instructions against the interpreter, bit for bit, on states full of noise; and their caches.

That the interpreter is right is the business of the tests of instructions, which run on both engines.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emulator import native
from emulator.forms import ADDRESS, EXEC, KEEP_SUBNORMALS, M0, golden, instruction
from mfma.codeobject import load_object
from mfma.emulator.decode import Instruction
from mfma.emulator.interpreter.step import Step
from mfma.emulator.interpreter.wave import Group, Status, Wave
from mfma.emulator.memory import PRIVATE_BASE, SHARED_BASE, AddressSpace
from mfma.emulator.reach import reachable
from mfma.emulator.semantics.machine import ACC, Access, Machine, Mode, Space
from mfma.emulator.semantics.registry import DEFINITIONS, program
from mfma.emulator.semantics.values import Op, Program
from mfma.emulator.translator import lower
from mfma.emulator.translator.forms import compile
from mfma.emulator.translator.schedule import UnscheduledError, schedule, used
from mfma.emulator.translator.store import Store
from mfma.emulator.translator.template import Templates
from mfma.emulator.translator.writer import Writer
from mfma.errors import MemoryFault, MfmaError
from mfma.native import jit

OBJECTS = Path(__file__).parent.parent / "corpus" / "objects"
QUICK = ("triton_attention_fp16", "triton_gemm_fp8e4nv", "hip_rare", "hip_lanes")
APERTURES = {"shared_base", "shared_limit", "private_base", "private_limit"}
INTERPRETED = {Op.BARRIER, Op.END, Op.YIELD, Op.TRAP, Op.SET_MODE}
EDGES = np.array(
    [
        0, 1, 31, 32, 63, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001,
        0x3F800000, 0x7F7FFFFF, 0x00800000, 0x007FFFFF, 0x7C00, 0x7C01FC00, 0x3C003C00, 0x00010001, 0x7FF00000,
        0xFFF00000, 0x7FF80000, 0x7FF00001, 0x3FF00000, 0x7FEFFFFF,
    ],
    np.uint32,
)  # fmt: skip
"""Values at which integers or floats of some width behave differently."""


# two waves in one state


@cache
def noise(seed: int) -> tuple[Any, Any, Any]:
    """Vector registers, scalar ones and LDS: random bits, edges, and floats near 1."""
    generator = np.random.default_rng(seed)
    v, s = registers(generator), registers(generator)[0, :].repeat(2)[:128]
    s[M0] = generator.integers(0, 300)
    return v, s, generator.integers(0, 256, 1 << 16, np.uint8)


def registers(generator: np.random.Generator) -> Any:
    v = generator.integers(0, 1 << 32, (512, 64), np.uint64).astype(np.uint32)
    kind = generator.random((512, 64))
    v = np.where(kind < 0.4, generator.choice(EDGES, (512, 64)), v)
    return np.where(kind > 0.8, v & 0x01FF_FFFF | 0x3F00_0000, v)


class Pair:
    """Two waves with equal registers and memory of their own, one for each engine."""

    def __init__(self, seed: str, at: Instruction, exec_: int) -> None:
        v, s, lds = noise(zlib.crc32(seed.encode()) % 64)
        launch: Any = SimpleNamespace(space=AddressSpace(), register=self._register)
        self.waves = [Wave(launch, Group((0, 0, 0), 1 << 16), 0, ADDRESS, KEEP_SUBNORMALS, 256) for _ in range(2)]
        for wave in self.waves:
            wave.v[:], wave.s[:], wave.scc = v, s, exec_ & 1
            wave.s[EXEC : EXEC + 2] = exec_ & 0xFFFF_FFFF, exec_ >> 32
            wave.lds[:] = lds
            wave.pc = at.address + at.size

    @staticmethod
    def _register(wave: Wave, number: int, offset: int) -> int:
        if number % ACC + offset >= ACC:
            raise MemoryFault("no register")  # any error of the interpreter will do
        return number + offset

    def differences(self) -> str:
        """What is not equal, or nothing."""
        one, other = self.waves
        for name in ("v", "s", "lds", "scratch"):
            mine, theirs = getattr(one, name), getattr(other, name)
            differing = np.argwhere(mine != theirs)
            if len(differing):
                at = tuple(differing[0])
                return f"{name}{at} is {theirs[at]:#x}, not {mine[at]:#x} ({len(differing)} differ)"
        for name in ("scc", "pc", "mode"):
            if getattr(one, name) != getattr(other, name):
                return f"{name} is {getattr(other, name)}, not {getattr(one, name)}"
        return ""


EXECS = ((1 << 64) - 1, 0xF0F0_5A5A_0FF1_8002, 0)


def check(instructions: Sequence[Instruction], mode: Mode | None = None, states: int = 3) -> int:
    """Run each instruction on both engines in a few states; how many have a native function."""
    mode = mode or Mode()
    found = 0
    for at, form in zip(instructions, compile(instructions, mode), strict=True):
        if form is None:
            continue
        found += 1
        step = Step(at, mode)
        for state in range(states):
            exec_ = EXECS[(found + state) % len(EXECS)]
            pair = Pair(f"{at.word} {exec_}", at, exec_)
            try:
                with np.errstate(all="ignore"):
                    step.run(pair.waves[0])
                faults = False
            except MfmaError:
                faults = True
            assert native.call(form, pair.waves[1], at) is not faults, f"{at}: fault"
            assert pair.waves[1].status is Status.READY
            difference = pair.differences()
            assert not difference, f"{at}: {difference}"
    return found


# the corpus


@cache
def corpus(names: tuple[str, ...]) -> list[Instruction]:
    """Every different instruction of code objects: by its words."""
    found = {}
    for path in sorted(OBJECTS.glob("*co")):
        if names and path.stem not in names:
            continue
        code = load_object(path)
        for kernel in code.kernels.values():
            for at in reachable(code, kernel.entry):
                if isinstance(at, Instruction) and at.name in DEFINITIONS:
                    found[at.word] = at
    return list(found.values())


def test_corpus() -> None:
    instructions = corpus(QUICK)
    assert check(instructions, states=1) > 0.98 * len(instructions) > 1000


PARTS = 8


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_whole_corpus(part: int) -> None:
    instructions = corpus(())
    assert len(instructions) > 10_000
    some = instructions[part::PARTS]
    assert check(some, states=2) > 0.98 * len(some)


# registers that are sources and destinations at once


def overlapping() -> Iterator[Instruction]:
    """Vector instructions whose destination is their first source, or begins one register behind it."""
    for text in golden():
        at = instruction(text)
        if not text.startswith(("v_", "ds_bpermute", "ds_permute", "ds_swizzle")) or at.name not in DEFINITIONS:
            continue
        if at.dst and at.src and at.dst[0].vgpr is not None and at.src[0].vgpr is not None and not at.dst[0].acc:
            for step in (0, 1, -1):
                source = dataclasses.replace(at.src[0], code=at.dst[0].code + step, acc=False)
                yield dataclasses.replace(at, src=(source, *at.src[1:]), address=at.address + step)


def test_destination_is_source() -> None:
    """Lanes are computed in chunks, and none may see what another chunk wrote."""
    assert check(list(overlapping())[::7]) > 100


@pytest.mark.long
def test_every_destination_is_source() -> None:
    assert check(list(overlapping())) > 1000


def test_indexed_registers() -> None:
    """M0 reaches behind the last register of a file: the interpreter says so."""
    texts = [text for text in golden() if text.startswith(("v_mov_b32_e32", "v_add_f64", "v_mov_b32_e64"))]
    assert check([instruction(text) for text in texts], Mode(gpr_idx_en=True)) > 2


MODES = [
    Mode(flush_32=True),
    Mode(flush_16_64=True),
    Mode(flush_32=True, flush_16_64=True, ieee=False),
    Mode(dx10_clamp=False, fp16_ovfl=True),
]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_modes(mode: Mode) -> None:
    texts = [text for text in golden() if text.startswith("v_") and text.split()[0].rstrip("e_3264").endswith("_f")]
    assert check([instruction(text) for text in texts[::9]], mode) > 10


# memory: lanes in several buffers, at their edges and beyond

SIZES = (64, 4096, 3, 4096, 0, 333)


class World(Pair):
    """Two waves, each with the same buffers at the same addresses; one buffer is read-only."""

    def __init__(self, seed: str, at: Instruction, exec_: int) -> None:
        super().__init__(seed, at, exec_)
        data = np.random.default_rng(zlib.crc32(seed.encode()))
        contents = [data.integers(0, 256, size, np.uint8) for size in SIZES]
        for wave in self.waves:
            wave.space = AddressSpace()
            for i, content in enumerate(contents):
                wave.space.allocate(content.size, name=f"buffer {i}", writable=i != 3, data=content.copy())

    def differences(self) -> str:
        for one, other in zip(*(wave.space for wave in self.waves), strict=True):
            if (one.bytes != other.bytes).any():
                return f"{one.name} differs"
        return super().differences()


def addresses(generator: np.random.Generator, space: AddressSpace, kind: str, offset: int) -> Any:
    """An address for every lane, multiples of 8: within one buffer, within writable ones, or anywhere near them."""
    buffers = list(space)
    large, writable = [buffers[1]], [buffers[0], buffers[1], buffers[5]]
    chosen = {"one": large, "several": writable, "edges": buffers, "apart": writable}[kind]
    found = []
    for lane in range(64):
        buffer = chosen[generator.integers(len(chosen))]
        # sometimes a lane that is not where the others are
        stray = kind == "edges" and generator.random() < 0.03
        low, high = (-24, buffer.size + 8) if stray else (0, max(buffer.size - 16, 1))
        address = buffer.address + int(generator.integers(low, high)) // 8 * 8
        if kind == "apart" and lane % 3:
            address = (SHARED_BASE, PRIVATE_BASE)[lane % 3 - 1] + int(generator.integers(0, 240)) // 8 * 8
        found.append(address - offset)
    return np.array(found, np.int64)


def accesses() -> list[str]:
    """Texts with an address of 64 bits for every lane."""
    texts = [text for text in golden() if text.startswith(("global_", "flat_")) and " lds" not in text]
    return [text for text in texts if (o := instruction(text).get("vaddr")) is not None and o.dwords == 2]


@pytest.mark.parametrize("kind", ["one", "several", "edges", "apart"])
def test_global_memory(kind: str) -> None:
    """Whatever the interpreter refuses is refused, before anything has changed."""
    texts = accesses()
    outcomes = {True: 0, False: 0}
    for text, form in zip(texts, compile([instruction(text) for text in texts], Mode()), strict=True):
        at = instruction(text)
        vaddr = at.get("vaddr")
        if form is None or vaddr is None or (kind == "apart" and not text.startswith("flat")):
            continue
        for exec_ in EXECS:
            world = World(f"{text} {exec_}", at, exec_)
            generator = np.random.default_rng(zlib.crc32(text.encode()) ^ exec_ & 0xFFFF)
            where = addresses(generator, world.waves[0].space, kind, at.modifiers.offset)
            for wave in world.waves:
                wave.v[vaddr.vgpr : vaddr.vgpr + 2] = where.view(np.uint32).reshape(64, 2).T
            faults = False
            try:
                with np.errstate(all="ignore"):
                    Step(at, Mode()).run(world.waves[0])
            except MemoryFault:
                faults = True
            assert native.call(form, world.waves[1], at) is not faults, f"{text}: fault"
            difference = world.differences()
            assert not difference, f"{text}: {difference}"
            outcomes[faults] += 1
    assert outcomes[False] > 20
    assert (outcomes[True] > 20) is (kind == "edges")


# which instructions have no function


def test_what_is_left_to_the_interpreter() -> None:
    """Control, MODE, clocks and other hardware registers."""
    for text in golden():
        at = instruction(text)
        if at.name not in DEFINITIONS or (at.row.access is not None and at.row.access.components):
            continue
        nodes = program(at, Mode()).nodes
        left = any(
            node.op in INTERPRETED or (node.op is Op.HARDWARE and node.data not in APERTURES)
            for node, counts in zip(nodes, used(nodes), strict=True)
            if counts
        )
        assert (Templates(Mode(), {}).find(at) is None) is left, text


# one function for many instructions


def same_function(texts: Sequence[str]) -> bool:
    forms = compile([instruction(text) for text in texts], Mode())
    return len({form.address for form in forms if form is not None}) == 1


def variant(text: str, **operands: int) -> Instruction:
    """An instruction with other codes of operands, by field."""
    at = instruction(text)

    def changed(slots: Any, given: Any) -> Any:
        return tuple(
            dataclasses.replace(operand, code=operands.get(slot.field, operand.code))
            for slot, operand in zip(slots, given, strict=True)
        )

    return dataclasses.replace(at, dst=changed(at.row.dst, at.dst), src=changed(at.row.src, at.src))


ADD = "v_add_u32_e32 v40, v10, v11"


def test_registers_are_operands() -> None:
    one, other = compile([instruction(ADD), variant(ADD, vdst=256 + 255, src0=256 + 3, vsrc1=256)], Mode())
    assert one is not None
    assert other is not None
    assert one.address == other.address
    assert sorted(one.operands) == [10, 11, 40]
    assert sorted(other.operands) == [0, 3, 255]


def test_constants_are_operands() -> None:
    one, other = compile([variant(ADD, src0=128 + 7), variant(ADD, src0=193)], Mode())
    assert one is not None
    assert other is not None
    assert one.address == other.address
    assert 7 in one.operands
    assert -1 & 0xFFFF_FFFF in other.operands


def test_address_is_an_operand() -> None:
    text = "s_getpc_b64 s[10:11]"
    at = next(instruction(t) for t in golden() if t.startswith("s_getpc_b64"))
    one, other = compile([at, dataclasses.replace(at, address=0x1234_5678_0000)], Mode())
    assert one is not None, text
    assert other is not None
    assert one.address == other.address
    assert 0x1234_5678_0004 in other.operands


@pytest.mark.parametrize("name", ["s_branch", "s_cbranch_scc0", "s_cbranch_execz", "s_setpc_b64", "s_call_b64"])
def test_jumps_and_branches(name: str) -> None:
    at = next(instruction(text) for text in golden() if text.split()[0] == name)
    (form,) = compile([at], Mode())
    assert form is not None
    assert form.branches is name.startswith("s_cbranch")
    assert form.jumps is not form.branches
    assert check([at]) == 1


# a program that would change something before a check


def test_effects_come_after_checks() -> None:
    p = Program()
    machine = Machine.__new__(Machine)
    machine.program = p
    machine.set_vgpr(1, machine.vgpr(0))
    (value,) = machine.load(Access(Space.LDS, 4), machine.vgpr(1))
    machine.set_vgpr(2, value)
    with pytest.raises(UnscheduledError, match="LOAD after a change"):
        schedule(p.nodes)


# float16 without the hardware's conversions


@cache
def _converter(source: str, target: str, operation: str) -> Any:
    """A native function of one number, written for a target that cannot convert."""
    import ctypes

    declarations: dict[str, str] = {}
    writer = Writer(declarations)
    value = getattr(lower._Pure(writer, 1), operation)(writer.let(f"load {source}, ptr %wave"))
    writer.do(f"store {target} {value}, ptr %operands")
    writer.do("ret i64 0")
    code = jit.compile_object(
        "\n".join([*declarations.values(), writer.text(operation, "ptr %wave, ptr %operands")]), 0
    )
    address = jit.load_object(code)(operation)
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)


def converted(values: Any, function: Any, target: str) -> Any:
    result = np.zeros(len(values), target)
    for i in range(len(values)):
        function(values[i:].ctypes.data, result[i:].ctypes.data)
    return result


def test_half_to_float(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "converts_half", lambda: False)
    halves = np.arange(1 << 16, dtype=np.uint16)
    got, expected = (
        converted(halves, _converter("i16", "float", "half_to_float"), "<f4"),
        halves.view("<f2").astype("<f4"),
    )
    numbers = ~np.isnan(expected)
    assert (got.view("u4")[numbers] == expected.view("u4")[numbers]).all()
    assert np.isnan(got[~numbers]).all()


def test_float_to_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "converts_half", lambda: False)
    halves = np.arange(0x7C00, dtype=np.uint16).view("<f2").astype("<f4")
    middles = (halves[1:] + halves[:-1]) / 2
    floats = np.concatenate([halves, middles, np.nextafter(middles, np.float32(9e9)), np.nextafter(middles, -middles)])
    floats = np.concatenate([floats, -floats, registers(np.random.default_rng(3)).view("<f4").ravel()[:5000]])
    floats = np.concatenate([floats, np.array([65519.9, 65520, 65535, 65536, 1e38, np.inf], "<f4")])
    got = converted(floats, _converter("float", "i16", "float_to_half"), "<u2")
    with np.errstate(all="ignore"):
        expected = floats.astype("<f2").view("<u2")
    numbers = ~np.isnan(floats)
    assert (got[numbers] == expected[numbers]).all()
    assert np.isnan(got[~numbers].view("<f2")).all()


# the store


TEXT = "define i64 @{0}(ptr %wave, ptr %operands) {{\n  ret i64 {1}\n}}"


def functions(**results: int) -> dict[str, str]:
    return {name: TEXT.format(name, result) for name, result in results.items()}


def learned() -> dict[str, Any]:
    templates = Templates(Mode(), {})
    for text in (ADD, "s_barrier"):
        templates.find(instruction(text))
    return templates.taken()


def test_store_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    Store(folder).add(functions(one=1, two=2), {}, learned())
    Store(folder).add(functions(three=3), {}, {})
    again = Store(folder)
    addresses = [again.address(name) for name in ("one", "two", "three")]
    assert all(addresses)
    assert again.address("four") is None
    known = {digest: fact and dataclasses.replace(fact, template=None) for digest, fact in learned().items()}
    assert again.known == known
    assert None in known.values()


def test_store_without_a_folder(tmp_path: Path) -> None:
    for folder in (None, tmp_path / "file" / "store"):
        (tmp_path / "file").write_text("no folder")
        store = Store(folder)
        store.add(functions(one=1), {}, {})
        assert store.address("one")
        assert Store(folder).address("one") is None


@pytest.mark.parametrize("damage", ["cut", "other", "type", "object"])
def test_damaged_store(tmp_path: Path, damage: str) -> None:
    Store(tmp_path).add(functions(one=1), {}, learned())
    Store(tmp_path).add(functions(two=2), {}, {})
    index = tmp_path / "index"
    first, second = index.read_text().splitlines()
    if damage == "object":
        path = tmp_path / f"{json.loads(first)[0]}.o"
        path.write_bytes(path.read_bytes()[:-1])
    else:
        index.write_text({"cut": first[:-9], "other": "?", "type": "[1, 2, 3, 4]"}[damage] + "\n" + second + "\n")
    store = Store(tmp_path)
    assert store.address("one") is None
    assert store.address("two")
    store.add(functions(one=1), {}, {})
    assert store.address("one")
    assert Store(tmp_path).address("one")


def test_function_that_is_gone_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the store knows of an instruction is no use without its function."""
    from mfma.emulator.translator import forms

    at = variant(ADD, vdst=256 + 77)
    monkeypatch.setattr(forms, "store", cache(lambda: Store(tmp_path)))
    monkeypatch.setattr(forms, "_templates", cache(lambda mode: Templates(mode, forms.store().known)))
    assert compile([at], Mode())[0]
    for path in tmp_path.glob("*.o"):
        path.unlink()
    monkeypatch.setattr(forms, "store", cache(lambda: Store(tmp_path)))
    monkeypatch.setattr(forms, "_templates", cache(lambda mode: Templates(mode, forms.store().known)))
    assert forms.store().known
    assert compile([at], Mode())[0]
    assert check([at]) == 1

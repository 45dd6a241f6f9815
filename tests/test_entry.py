"""Native entries: the machine code of an instruction, called on raw registers as an emulator would."""

import ctypes
import platform
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir
from numpy.typing import NDArray

import mfma
from mfma import Op
from mfma.formats import Format
from mfma.formats.arrays import code_dtype, view
from mfma.isa.modifiers import legal_modifiers
from mfma.isa.spec import Operand
from numeric_cases import EDGES
from numeric_products import numbers

Array = NDArray[Any]
Words = NDArray[np.uint32]

each_op = pytest.mark.parametrize("op", mfma.ops(), ids=str)


def draw(rng: np.random.Generator, operand: Operand, waves: int) -> Array:
    """Per-lane vectors (waves, 64, elements): numbers around 1, and edge values among them."""
    format: Format = operand.format
    shape = (waves, 64, operand.elements)
    edges = rng.choice(np.array(EDGES[format.name], code_dtype(format)), shape)
    return view(np.where(rng.random(shape) < 0.06, edges, numbers(rng, format, shape, -6, 6)), format)


def words(vectors: Array) -> Words:
    """Registers (waves, vgprs, 64): word r of a lane's vector is register r."""
    lane_by_lane = np.ascontiguousarray(vectors).view(np.uint32)
    return np.ascontiguousarray(lane_by_lane.swapaxes(-1, -2))


def operands(rng: np.random.Generator, op: Op, waves: int = 1) -> tuple[Array, Array, Array]:
    a, b, c = (draw(rng, operand, waves) for operand in (op.registers.a, op.registers.b, op.registers.cd))
    return a, b, c


def by_op(op: Op, a: Array, b: Array, c: Array, *modifiers: int) -> Words:
    """What calling the builtin gives, as registers."""
    a, b, c = (x[..., 0] if x.shape[-1] == 1 else x for x in (a, b, c))
    cbsz, abid, blgp = modifiers or (0, 0, 0)
    d = op(a, b, c, cbsz, abid, blgp)
    return words(d if op.registers.cd.elements > 1 else d[..., None])


def some_modifiers(op: Op) -> list[tuple[int, int, int]]:
    legal = list(legal_modifiers(op.record))
    return legal[:: max(len(legal) // 8, 1)] + legal[-1:]


class RegisterFile:
    """Registers at odd places of one block of memory: d, a, b, c wherever the caller puts them."""

    def __init__(self, size: int):
        self.memory = np.full(size, 0xDEADBEEF, np.uint32)

    def put(self, place: int, registers: Words) -> int:
        """Copy registers to word ``place`` and give their address."""
        self.memory[place : place + registers.size] = registers.ravel()
        return self.address(place)

    def address(self, place: int) -> int:
        return self.memory.ctypes.data + 4 * place

    def at(self, place: int, shape: tuple[int, ...]) -> Words:
        return self.memory[place : place + int(np.prod(shape))].reshape(shape)


@each_op
def test_an_entry_gives_the_bits_of_the_builtin(op: Op) -> None:
    """Registers at odd word offsets, one after another; nothing else in the file is written."""
    rng = np.random.default_rng(op.opcode)
    a, b, c = operands(rng, op)
    x, y, z = words(a), words(b), words(c)
    for modifiers in some_modifiers(op):
        file = RegisterFile(x.size + y.size + 2 * z.size + 20)
        starts = np.cumsum([3, x.size + 2, y.size + 1, z.size + 4]).tolist()
        addresses = [file.put(start, r) for start, r in zip(starts, (x, y, z), strict=False)]
        before = file.memory.copy()
        op.native().call(file.address(starts[3]), *addresses, *modifiers, 1, 0, 0, 0, 0)
        assert np.array_equal(file.at(starts[3], z.shape), by_op(op, a, b, c, *modifiers)[0].reshape(z.shape))
        before[starts[3] : starts[3] + z.size] = file.at(starts[3], (z.size,))
        assert np.array_equal(file.memory, before)


@pytest.mark.parametrize("alias", ["A", "B", "C"])
@each_op
def test_d_may_lie_on_an_operand(op: Op, alias: str) -> None:
    """Exactly, or shifted so that the two overlap in part: all operands are read before D is written."""
    rng = np.random.default_rng(op.opcode)
    a, b, c = operands(rng, op)
    expected = by_op(op, a, b, c)[0]
    given = dict(zip("ABC", (words(a), words(b), words(c)), strict=True))
    size = given["C"].size
    for shift in (0, 1, 64, -32):
        file = RegisterFile(7 * size)
        addresses, target = {}, 0
        for number, (name, registers) in enumerate(given.items()):
            place = 1 + (2 * number + 1) * size  # the others lie clear of D
            addresses[name] = file.put(place, registers)
            target = place + shift if name == alias else target
        op.native().call(file.address(target), *addresses.values(), 0, 0, 0, 1, 0, 0, 0, 0)
        assert np.array_equal(file.at(target, expected.shape), expected), shift


@each_op
def test_waves_lie_steps_apart(op: Op) -> None:
    """Every operand with a step of its own; a step of 0 shares it."""
    rng, waves = np.random.default_rng(op.opcode), 3
    a, b, c = operands(rng, op, waves)
    x, y, z = words(a), words(b), words(c)
    steps = {"d": z[0].size + 5, "a": x[0].size + 1, "b": 0, "c": z[0].size}
    file_a, file_d = RegisterFile(waves * steps["a"]), RegisterFile(waves * steps["d"])
    for wave in range(waves):
        file_a.put(wave * steps["a"], x[wave])
    call = op.native().call
    call(file_d.address(0), file_a.address(0), y.ctypes.data, z.ctypes.data, 0, 0, 0, waves, *steps.values())
    expected = by_op(op, a, np.broadcast_to(b[:1], b.shape), c)
    for wave in range(waves):
        assert np.array_equal(file_d.at(wave * steps["d"], z[wave].shape), expected[wave])
        assert (file_d.at(wave * steps["d"] + z[wave].size, (5,)) == 0xDEADBEEF).all()


def test_no_waves_write_nothing() -> None:
    op = mfma.op("f32_32x32x8f16")
    file = RegisterFile(16 * 64)
    op.native().call(*[file.address(0)] * 4, 0, 0, 0, 0, 0, 0, 0, 0)
    assert (file.memory == 0xDEADBEEF).all()


@pytest.mark.parametrize("name", ["f32_32x32x8bf16_1k", "i32_16x16x32_i8", "f32_4x4x1f32"])
def test_fp16_ovfl_has_an_entry_of_its_own(name: str) -> None:
    op = mfma.op(name)
    assert op.native() is op.native()
    assert op.native(True).address != op.native().address
    top = 2**31 - 1 if op.cd.is_integer else op.cd.max
    a, b, c = operands(np.random.default_rng(1), op)
    c = np.full_like(c, top)
    a, b = np.ones_like(a), np.full_like(b, 64)
    d = np.empty_like(words(c))
    for clamped in (False, True):
        registers = d, words(a), words(b), words(c)
        op.native(clamped).call(*(r.ctypes.data for r in registers), 0, 0, 0, 1, 0, 0, 0, 0)
        x, y = (m[..., 0] if m.shape[-1] == 1 else m for m in (a, b))
        assert np.array_equal(d, words(op(x, y, c, fp16_ovfl=clamped)))


def test_entries_run_on_several_threads_at_once() -> None:
    """Every thread has its own registers, and all of them share the machine code."""
    jobs = []
    for op in mfma.ops()[::3]:
        a, b, c = operands(np.random.default_rng(op.opcode), op, waves=8)
        jobs.append((op, words(a), words(b), words(c), by_op(op, a, b, c)))

    def work(job: tuple[Op, Words, Words, Words, Words]) -> bool:
        op, x, y, z, expected = job
        d = np.zeros_like(z)
        steps = [m[0].size for m in (d, x, y, z)]
        for _ in range(20):
            op.native().call(d.ctypes.data, x.ctypes.data, y.ctypes.data, z.ctypes.data, 0, 0, 0, 8, *steps)
            if not np.array_equal(d, expected):
                return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, jobs * 3))


def test_compiled_code_calls_an_entry() -> None:
    """A function of another compiler, in another module, chains the instruction n times through its accumulator."""
    op = mfma.op("f32_32x32x8f16")
    entry = op.native()
    module = ir.Module("caller")
    word, pointer = ir.IntType(64), ir.PointerType()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer] * 3 + [word]), "chain")
    d, a, b, n = function.args
    start = function.append_basic_block()
    loop, end = function.append_basic_block(), function.append_basic_block()
    build = ir.IRBuilder(start)
    build.branch(loop)
    build.position_at_end(loop)
    count = build.phi(word)
    called = ir.FunctionType(ir.VoidType(), [pointer] * 4 + [word] * 8)
    target = build.inttoptr(ir.Constant(word, entry.address), called.as_pointer())
    build.call(target, [d, a, b, d, *(ir.Constant(word, x) for x in (0, 0, 0, 1, 0, 0, 0, 0))])
    following = build.add(count, ir.Constant(word, 1))
    count.add_incoming(ir.Constant(word, 0), start)
    count.add_incoming(following, loop)
    build.cbranch(build.icmp_signed("<", following, n), loop, end)
    build.position_at_end(end)
    build.ret_void()

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    chain = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(engine.get_function_address("chain"))

    x, y, z = operands(np.random.default_rng(2), op)
    registers = words(z)
    a_registers, b_registers = words(x), words(y)
    chain(registers.ctypes.data, a_registers.ctypes.data, b_registers.ctypes.data, 5)
    expected = z
    for _ in range(5):
        expected = op(x, y, expected)
    assert np.array_equal(registers, words(expected))


FE_UPWARD = {"x86_64": 0x800, "aarch64": 0x400000}


@pytest.mark.skipif(platform.machine() not in FE_UPWARD, reason="FE_UPWARD is not known here")
@each_op
def test_the_rounding_mode_of_the_thread_does_not_matter(op: Op) -> None:
    """Another library may have left any mode behind; it finds it again."""
    libm = ctypes.CDLL(None)
    a, b, c = operands(np.random.default_rng(op.opcode), op)
    expected = by_op(op, a, b, c)
    found = libm.fegetround()
    try:
        assert libm.fesetround(FE_UPWARD[platform.machine()]) == 0
        d = by_op(op, a, b, c)
        assert libm.fegetround() == FE_UPWARD[platform.machine()]
    finally:
        libm.fesetround(found)
    assert np.array_equal(d, expected)

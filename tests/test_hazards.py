"""Wait states: equal to what LLVM inserts, pair by pair (tests/golden/hazards), and the errors of bad questions."""

import csv
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfma.errors import OptionError
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.spec import MatrixOp, Pipe
from mfma.timing.hazards import COLUMNS, OUT_OF_MFMA, WINDOW, First, Operand, Second, required, s_nops

GOLDEN = Path(__file__).parent / "golden" / "hazards" / "hazards_gfx942.tsv"
OPS = {op.name: op for op in DENSE}
HALF, SINGLE, DOUBLE, SMALL_DOUBLE = (
    OPS[name] for name in ("f32_16x16x16f16", "f32_16x16x4f32", "f64_16x16x4f64", "f64_4x4x4f64")
)

WITHIN = {
    "VALU read D": Second.VALU_READ,
    "VALU write D": Second.VALU_WRITE,
    "store D": Second.STORE,
    "load into D": Second.LOAD,
    "lds store D": Second.STORE,
    "VALU write C (WAR)": Second.WRITE_C,
    "VALU write A (WAR)": Second.WRITE_AB,
}
OTHERS = {
    "xdl 16x16x16f16 A<-D": (HALF, Operand.AB),
    "f32 16x16x4 A<-D": (SINGLE, Operand.AB),
    "f64 16x16x4 A<-D": (DOUBLE, Operand.AB),
    "xdl 16x16x16f16 C<-D[0:3]": (HALF, None),
    "f32 16x16x4 C<-D[0:3]": (SINGLE, None),
    "f64 16x16x4 C<-D ovl": (DOUBLE, None),
    "f64 4x4x4 C<-D ovl": (SMALL_DOUBLE, None),
}
SAME = {
    "same op C==D": Operand.C_SAME,
    "same op A<-D": Operand.AB,
    "same op C overlaps D": Operand.C_PART,
}
INTO = {"VALU write A then mfma": First.VALU_WRITE, "VALU write C then mfma": First.VALU_WRITE}


def _golden():
    with GOLDEN.open() as file:
        header, *rows = csv.reader(file, delimiter="\t")
    for name, *cells in rows:
        for column, cell in zip(header[1:], cells, strict=True):
            if cell:
                yield pytest.param(OPS[name], column, int(cell), id=f"{name}-{column}")


def _required(op: MatrixOp, column: str) -> int:
    if column in WITHIN:
        return required(op, WITHIN[column]).states
    if column in SAME:
        return required(op, op, SAME[column]).states
    if column in INTO:
        return required(INTO[column], op).states
    second, operand = OTHERS[column]
    # A C as wide as D starts where D starts and ends where it ends.
    as_c = Operand.C_SAME if _same_width(op, second) else Operand.C_PART
    return required(op, second, operand or as_c).states


def _same_width(first: MatrixOp, second: MatrixOp) -> bool:
    return first.registers.cd.vgprs == second.registers.cd.vgprs


@pytest.mark.parametrize(("op", "column", "states"), list(_golden()))
def test_what_llvm_19_inserts(op, column, states):
    assert _required(op, column) == states


def test_the_golden_table_is_whole():
    # Two cells are empty: no C of f64_4x4x4f64 overlaps its D in part.
    assert len(list(_golden())) == 26 * 20 - 2


@pytest.mark.parametrize("op", DENSE + SPARSE, ids=str)
def test_every_instruction_has_a_column(op):
    assert op.passes in COLUMNS[op.pipe]
    for row in OUT_OF_MFMA:
        wait = row.wait(op)
        assert 0 <= wait.states <= wait.cautious <= WINDOW
        assert bool(wait.dissent) == (wait.cautious > wait.states)


def test_numbers_that_people_ask_for():
    assert required(OPS["f32_16x16x8_xf32"], Second.VALU_READ).states == 7  # s_nop 6
    assert required(DOUBLE, Second.STORE).states == WINDOW - 1 == 18
    assert required(DOUBLE, Second.FMA_F64).states == 2
    assert required(HALF, Second.FMA_F64).states == 0
    assert required(First.VALU_EXEC, HALF).states == 4
    assert required(First.SALU_EXEC, HALF).states == required(First.DOT_WRITE, HALF).states == 0


def test_where_sources_disagree():
    chained = required(HALF, SINGLE, Operand.C_SAME)
    assert (chained.states, chained.cautious) == (0, 5)
    assert "218363" in chained.dissent
    assert not required(HALF, HALF, Operand.C_SAME).dissent
    part = required(SINGLE, HALF, Operand.C_PART)
    assert (part.states, part.cautious) == (0, 8)
    assert "the manual" in part.dissent


@given(st.integers(0, 200))
def test_s_nops_make_the_wait_states(states):
    counts = s_nops(states)
    assert sum(count + 1 for count in counts) == states
    assert all(0 <= count <= 15 for count in counts)
    assert len(counts) == -(-states // 16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (HALF, SINGLE),
            "f32_16x16x16f16 before f32_16x16x4f32: give the operand that is D of the first, one of Operand.AB, "
            "Operand.C_SAME, Operand.C_PART.",
        ),
        (
            (HALF, Second.STORE, Operand.AB),
            "operand (as A or B, or as the index of a sparse instruction) is for two matrix instructions; leave it out "
            "here.",
        ),
        (
            (First.VALU_EXEC, Second.STORE),
            "a VALU instruction (v_cmpx...) wrote EXEC before a VMEM, FLAT or LDS instruction reads D: at least one "
            "must be the record of a matrix instruction, the other a record too, a First before it or a Second after "
            "it.",
        ),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(OptionError) as error:
        required(*arguments)
    assert str(error.value) == message


# What follows asks llc 22 about every pair, in its own representation of machine code.


def _llc() -> str:
    found = shutil.which("llc-22")
    if found is None:
        message = "llc-22 is not installed (Debian: llvm-22)"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return found


def _tuple(first: int, count: int) -> str:
    return "$" + "_".join(f"vgpr{first + n}" for n in range(count))


def _mfma(op: MatrixOp, d: int, a: int, b: int, c: int) -> str:
    """Write an instruction; ``c`` is the index of a sparse one, which adds to D."""
    registers = op.registers
    name = op.name.upper().replace("_XF32", "XF32")
    operands = f"{_tuple(a, registers.a.vgprs)}, {_tuple(b, registers.b.vgprs)}"
    written = _tuple(d, registers.cd.vgprs)
    if op.sparse:
        return f"{written} = V_SMFMAC_{name}_e64 {operands}, {_tuple(c, 1)}, 0, 0, {written}, {IMPLICIT}"
    name = name.replace("_I8", "I8")
    return f"{written} = V_MFMA_{name}_vgprcd_e64 {operands}, {_tuple(c, registers.cd.vgprs)}, 0, 0, 0, {IMPLICIT}"


IMPLICIT = "implicit $mode, implicit $exec"
D, C, A, B, INDEX, FREE = 0, 40, 80, 88, 100, 120
SECONDS = [
    (Second.VALU_READ, f"$vgpr200 = V_ADD_F32_e32 $vgpr{D}, $vgpr201, {IMPLICIT}"),
    (Second.VALU_WRITE, f"$vgpr{D} = V_MOV_B32_e32 0, implicit $exec"),
    (Second.STORE, f"GLOBAL_STORE_DWORD $vgpr202_vgpr203, $vgpr{D}, 0, 0, implicit $exec"),
    (Second.STORE, f"DS_WRITE_B32_gfx9 $vgpr204, $vgpr{D}, 0, 0, implicit $exec"),
    (Second.LOAD, f"$vgpr{D} = GLOBAL_LOAD_DWORD $vgpr202_vgpr203, 0, 0, implicit $exec"),
    (Second.LOAD, f"$vgpr{D} = DS_READ_B32_gfx9 $vgpr204, 0, 0, implicit $exec"),
    (Second.WRITE_C, f"$vgpr{C} = V_MOV_B32_e32 0, implicit $exec"),
    (Second.WRITE_C, f"$vgpr{C} = GLOBAL_LOAD_DWORD $vgpr202_vgpr203, 0, 0, implicit $exec"),
    (Second.WRITE_AB, f"$vgpr{A} = V_MOV_B32_e32 0, implicit $exec"),
    (Second.FMA_F64, f"$vgpr210_vgpr211 = V_FMA_F64_e64 {'0, $vgpr212_vgpr213, ' * 3}0, 0, {IMPLICIT}"),
]
FIRSTS = [
    (First.VALU_WRITE, f"$vgpr{A} = V_MOV_B32_e32 0, implicit $exec"),
    (First.VALU_EXEC, "V_CMPX_EQ_I32_e32 $vgpr220, $vgpr221, implicit-def $exec, implicit-def $vcc, implicit $exec"),
    (First.SALU_EXEC, "$exec = S_MOV_B64 -1"),
    (First.DOT_WRITE, f"$vgpr{A} = V_DOT4_I32_I8 8, $vgpr221, 8, $vgpr222, 0, 0, 0, 0, 0, implicit $exec"),
]


def _pairs():
    """Yield the wait states that we say, and the two instructions."""
    for op in DENSE + SPARSE:
        first = _mfma(op, D, A, B, INDEX if op.sparse else C)
        for second, text in SECONDS:
            if not (op.sparse and second is Second.WRITE_C):
                yield required(op, second).states, first, text
        for before, text in FIRSTS:
            yield required(before, op).states, text, first
        for other in DENSE + SPARSE:
            yield required(op, other, Operand.AB).states, first, _mfma(other, FREE, D, B, 160)
            yield 0, first, _mfma(other, FREE, 90, 98, 160)  # independent
            if other.sparse:
                yield required(op, other, Operand.AB).states, first, _mfma(other, FREE, 90, 98, D)
            if _same_width(op, other):
                last = _mfma(other, D, 90, 98, 160 if other.sparse else D)
                yield required(op, other, Operand.C_SAME).states, first, last
                if not other.sparse:
                    yield 0, first, _mfma(other, D, 90, 98, 160)  # D overwritten
            if not other.sparse and not (_same_width(op, other) and op.registers.cd.vgprs == 2):
                c = D + 2 if _same_width(op, other) else D
                yield required(op, other, Operand.C_PART).states, first, _mfma(other, FREE, 90, 98, c)


@pytest.mark.long
def test_what_llvm_22_inserts_between_every_pair(tmp_path):
    pairs = list(_pairs())
    assert len(pairs) > 7000
    file = tmp_path / "pairs.mir"
    file.write_text(
        "".join(
            f"---\nname: f{n}\nbody: |\n  bb.0:\n    {first}\n    {second}\n    S_ENDPGM 0\n...\n"
            for n, (_, first, second) in enumerate(pairs)
        )
    )
    command = [_llc(), "-mtriple=amdgcn", "-mcpu=gfx942", "-run-pass=post-RA-hazard-rec", "-o", "-", str(file)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    functions = re.split(r"^name: *f", output, flags=re.MULTILINE)[1:]
    inserted = {
        int(text.split()[0]): sum(int(count) + 1 for count in re.findall(r"S_NOP (\d+)", text)) for text in functions
    }
    wrong = [(pair, inserted[n]) for n, pair in enumerate(pairs) if inserted[n] != pair[0]]
    assert len(inserted) == len(pairs)
    assert wrong == []


def test_pipes_are_those_of_the_table():
    assert {op.pipe for op in SPARSE} == {Pipe.XDL}

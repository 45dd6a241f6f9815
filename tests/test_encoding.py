import os
import random
import re
import shutil
import string
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma.encoding import InlineConstant, Instruction, Vgprs, decode, encode, parse
from mfma.encoding.operands import INV_2PI
from mfma.encoding.word import MAI, Bits, MaiWord
from mfma.errors import EncodingError
from mfma.isa.cdna3 import DENSE, SPARSE
from mfma.isa.spec import Blgp, MatrixOp
from mfma.isa.spellings import ASSEMBLER_SPELLINGS, CHANGED_SINCE_GFX90A, RETIRED

OPS = {op.mnemonic: op for op in DENSE + SPARSE}
GOLDEN = Path(__file__).parent / "golden" / "encodings"

F16 = OPS["v_mfma_f32_4x4x4_16b_f16"]
WIDE = OPS["v_mfma_f32_32x32x8_f16"]
F64 = OPS["v_mfma_f64_16x16x4_f64"]
SMFMAC = OPS["v_smfmac_f32_16x16x32_f16"]


def lines(name: str) -> list[str]:
    return [line for line in (GOLDEN / name).read_text().splitlines() if line and not line.startswith("#")]


def word_of(hex_bytes: str) -> int:
    return int.from_bytes(bytes(int(byte, 16) for byte in hex_bytes.split(",")), "little")


def taken(text: str) -> Instruction | None:
    try:
        return parse(text)
    except EncodingError:
        return None


# What other tools have printed


LEGAL = [
    line.split("enc=")[-1].split("  ", 1)
    for name in ("encodings_gfx942.txt", "encodings_agpr_gfx942.txt")
    for line in lines(name)
]


def test_golden_has_every_dense_instruction():
    assert len(LEGAL) == 64 + 480
    assert {text.split()[0] for _, text in LEGAL} == {op.mnemonic for op in DENSE}


@pytest.mark.parametrize(("encoded", "text"), LEGAL)
def test_golden_words_in_both_directions(encoded, text):
    word = word_of(encoded)
    assert str(decode(word)) == text
    assert encode(parse(text)) == word
    assert parse(text) == decode(word)


ASSEMBLED = [line.split("\t") for line in lines("assembler_gfx942.tsv")]


def test_golden_assembler_has_every_instruction_and_refusals():
    printed = {printed.split()[0] for _, encoded, printed in ASSEMBLED if encoded != "refused"}
    assert printed == set(OPS)
    assert sum(encoded == "refused" for _, encoded, _ in ASSEMBLED) > 200


@pytest.mark.parametrize(("text", "encoded", "printed"), ASSEMBLED)
def test_golden_assembler(text, encoded, printed):
    if encoded == "refused":
        with pytest.raises(EncodingError):
            parse(text)
    else:
        assert encode(parse(text)) == word_of(encoded)
        assert str(decode(word_of(encoded))) == printed


# Spellings


SPELLINGS = [line.split("\t") for line in lines("spellings.tsv")]
ON_GFX942 = {name: meaning for name, meaning, _, _, _ in SPELLINGS if meaning != "refused"}
ON_GFX90A = {name for name, _, _, meaning, _ in SPELLINGS if meaning != "refused"}


def test_spellings_are_those_of_the_assembler():
    assert {name: name for name in OPS} | ASSEMBLER_SPELLINGS == ON_GFX942


def test_parse_takes_every_spelling():
    for name, mnemonic in ON_GFX942.items():
        operands = str(sample(OPS[mnemonic])).split(" ", 1)[1]
        assert parse(f"{name} {operands}") == sample(OPS[mnemonic])
        assert parse(f"{name.upper()}_e64 {operands}") == sample(OPS[mnemonic])


def test_spellings_that_changed_or_went_since_gfx90a():
    assert ON_GFX90A - set(ON_GFX942) == set(RETIRED)
    changed = {name for name, _, here, _, there in SPELLINGS if here and there and here != there}
    assert changed == set(CHANGED_SINCE_GFX90A)


@pytest.mark.parametrize(("old", "new"), (RETIRED | CHANGED_SINCE_GFX90A).items())
def test_replacements_are_the_same_tile_with_twice_the_k(old, new):
    op = OPS[new]
    assert old == f"v_mfma_{op.out}_{op.m}x{op.n}x{op.k // 2}{op.a}"


# Laws


def sample(op) -> Instruction:
    """One legal instruction: D, A, B, C one behind the other."""
    widths = op.registers
    d = Vgprs(0, widths.cd.vgprs)
    a = Vgprs(32, widths.a.vgprs)
    b = Vgprs(48, widths.b.vgprs)
    return Instruction(op, d, a, b, Vgprs(64, 1) if op.sparse else Vgprs(64, d.count))


INTEGERS = range(-16, 65)
FLOATS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, INV_2PI)


@st.composite
def registers(draw, count, acc):
    step = 2 if count > 1 else 1
    return Vgprs(step * draw(st.integers(0, (256 - count) // step)), count, draw(acc))


@st.composite
def instructions(draw):
    op = draw(st.sampled_from(DENSE + SPARSE))
    widths = op.registers
    d = draw(registers(widths.cd.vgprs, st.booleans()))
    constants = st.sampled_from([*INTEGERS, *FLOATS]).map(InlineConstant.of)
    if op.sparse:
        c = draw(registers(1, st.just(False)))
    else:
        same_file = registers(d.count, st.just(d.acc))
        apart = same_file.filter(lambda c: d.count <= 4 or not c.overlaps(d))
        c = draw(st.one_of(st.just(d), apart, constants))
    return Instruction(
        op,
        d,
        draw(registers(widths.a.vgprs, st.booleans())),
        draw(registers(widths.b.vgprs, st.booleans())),
        c,
        cbsz=draw(st.integers(0, 7)),
        abid=draw(st.integers(0, 15)),
        blgp=0 if op.sparse else draw(st.integers(0, 7)),
    )


@settings(deadline=None)
@given(instructions())
def test_encode_and_str_have_inverses(instruction):
    assert decode(encode(instruction)) == instruction
    assert parse(str(instruction)) == instruction


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(DENSE + SPARSE), st.integers(0, 2**64 - 1))
def test_decode_loses_no_bit(op, noise):
    fields = MaiWord(noise)
    fields.encoding, fields.op = MAI, op.opcode
    try:
        instruction = decode(fields.word)
    except EncodingError:
        return
    assert encode(instruction) == fields.word


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_decode_refuses_every_other_word(word):
    fields = MaiWord(word)
    if fields.encoding != MAI or fields.op not in {op.opcode for op in DENSE + SPARSE}:
        with pytest.raises(EncodingError, match="no matrix instruction"):
            decode(word)


PIECES = ("v0", "v[0:3]", "a", "acc[", "cbsz:", "neg:[1,0,1]", "1.0", "1e9", "08", "٣", "0x1")
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from([*string.punctuation, *OPS, *PIECES])).map(" ".join),
)


@settings(deadline=None, max_examples=300)
@given(TEXTS, st.sampled_from([*OPS, "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]"]))
def test_parse_never_fails_otherwise(text, start):
    taken(text)
    taken(f"{start} {text}")


def test_fields_cover_the_word_once():
    fields = [field for field in vars(MaiWord).values() if isinstance(field, Bits)]
    places = sorted(place for field in fields for place in range(field.low, field.high + 1))
    assert places == list(range(64))


def test_inline_constants():
    for value in (*INTEGERS, *FLOATS):
        constant = InlineConstant.of(value)
        assert constant.value == value
        assert type(constant.value) is type(value)
    assert InlineConstant.of(1) != InlineConstant.of(1.0)
    assert struct.unpack("<f", InlineConstant.of(-0.5).pattern(32).to_bytes(4, "little")) == (-0.5,)
    assert struct.unpack("<d", InlineConstant.of(-0.5).pattern(64).to_bytes(8, "little")) == (-0.5,)
    assert InlineConstant.of(-1).pattern(32) == 0xFFFFFFFF
    # LLVM's own patterns of 1/(2π).
    assert InlineConstant.of(INV_2PI).pattern(32) == 0x3E22F983
    assert InlineConstant.of(INV_2PI).pattern(64) == 0x3FC45F306DC9C882


@pytest.mark.parametrize("op", DENSE, ids=str)
def test_sources_of_c(op):
    accepted = set()
    for code in range(512):
        try:
            decode(MaiWord(encode(sample(op)), src2=code).word)
        except EncodingError:
            continue
        accepted.add(code)
    constants = {*range(128, 209), *range(240, 249)}
    apart = {256 + first for first in range(0, 257 - op.registers.cd.vgprs, 2)}
    if op.registers.cd.vgprs > 4:
        apart -= {256 + first for first in range(1, op.registers.cd.vgprs)}
    assert accepted == constants | apart


def test_encoding_is_more_permissive_than_the_builtins():
    text = "v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[6:7], v[0:3] cbsz:7 abid:15 blgp:7"
    assert str(parse(text)) == text


# Every sentence


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Vgprs(254, 4),
            "v[254:257] is out of range: registers go from 0 to 255; a tuple of 4 starts at 252 or below.",
        ),
        (lambda: Vgprs(0, 0), "A tuple of 0 registers cannot be named; give 1 to 256."),
        (
            lambda: InlineConstant(209),
            "Source code 209 is no inline constant; integers are 128 to 208, floats 240 to 248.",
        ),
        (
            lambda: InlineConstant.of(3.0),
            "3.0 is no inline constant; C takes 0 to 64, -1 to -16, ±0.5, ±1.0, ±2.0, ±4.0, 1/(2π) or registers.",
        ),
        (
            lambda: Instruction(F16, Vgprs(0, 4), InlineConstant.of(1), Vgprs(6, 2), Vgprs(0, 4)),
            "A of v_mfma_f32_4x4x4_16b_f16 cannot be the constant 1; give registers.",
        ),
        (
            lambda: Instruction(F16, Vgprs(0, 4), Vgprs(4, 1), Vgprs(6, 2), Vgprs(0, 4)),
            "A of v_mfma_f32_4x4x4_16b_f16 has width 2, but v4 has width 1; write it as in v[0:1].",
        ),
        (
            lambda: Instruction(F16, Vgprs(0, 4), Vgprs(4, 2), Vgprs(7, 2, acc=True), Vgprs(0, 4)),
            "a[7:8] cannot be B of v_mfma_f32_4x4x4_16b_f16; tuples must be 64-bit aligned, so start at an even "
            "register, as a[6:7] does.",
        ),
        (
            lambda: Instruction(F16, Vgprs(0, 4), Vgprs(4, 2), Vgprs(6, 2), Vgprs(0, 4, acc=True)),
            "D is v[0:3] and C is a[0:3], in different register files; put both in v or both in a.",
        ),
        (
            lambda: Instruction(WIDE, Vgprs(0, 16), Vgprs(16, 2), Vgprs(18, 2), Vgprs(2, 16)),
            "C, v[2:17], partly overlaps D, v[0:15]; above 4 registers they must be the same or apart.",
        ),
        (
            lambda: Instruction(SMFMAC, Vgprs(0, 4), Vgprs(4, 2), Vgprs(8, 4), Vgprs(1, 1, acc=True)),
            "a1 cannot be the index of v_smfmac_f32_16x16x32_f16; give one of v0 to v255.",
        ),
        (
            lambda: Instruction(SMFMAC, Vgprs(0, 4), Vgprs(4, 2), Vgprs(8, 4), Vgprs(1, 1), blgp=1),
            "v_smfmac_f32_16x16x32_f16 has no blgp, but blgp=1 was given; leave it 0.",
        ),
        (
            lambda: Instruction(F16, Vgprs(0, 4), Vgprs(4, 2), Vgprs(6, 2), Vgprs(0, 4), cbsz=8),
            "cbsz=8 does not fit its field of 3 bits; give 0 to 7.",
        ),
        (
            lambda: decode(1 << 64),
            "0x10000000000000000 is no word of 64 bits; give both dwords, the first in the low half.",
        ),
        (
            lambda: decode(0xBF800000),
            "0x00000000bf800000 is no matrix instruction of gfx942; give a word with 0b110100111 in bits 31 to 23 "
            "and the opcode of one in bits 22 to 16.",
        ),
        (
            lambda: decode(MaiWord(encoding=MAI, op=F16.opcode, src0=260, src1=6, src2=256).word),
            "B has source code 6, which is no vector register; those are 256 to 511.",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x2bf16 v[0:3], v4, v5, v[0:3]"),
            "v_mfma_f32_4x4x2bf16 is not on gfx942; use v_mfma_f32_4x4x4_16b_bf16, the same tile with twice the K.",
        ),
        (
            lambda: parse("v_mfma_f32_32x32x8_f17 v0"),
            "v_mfma_f32_32x32x8_f17 is no matrix instruction of gfx942. Did you mean v_mfma_f32_32x32x8_f16, "
            "v_mfma_f32_32x32x8_bf16 or v_mfma_f32_32x32x8f16?",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3] abid:1 cbsz:1"),
            "'cbsz : 1' cannot stand behind the operands of v_mfma_f32_4x4x4_16b_f16; it takes cbsz, abid, blgp, "
            "each at most once and in this order.",
        ),
        (
            lambda: parse("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7] blgp:1"),
            "'blgp : 1' cannot stand behind the operands of v_mfma_f64_16x16x4_f64; it takes cbsz, abid, neg, each at "
            "most once and in this order.",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], ?"),
            "'?' cannot be read as assembler text; remove or correct it.",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[0:3], 1.0, v[6:7], 0"),
            "Where A should stand, stands '1.0 , v [ 6 : 7 ] , 0'; write a name, such as v4, v[0:3] or a[0:15] for "
            "registers.",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5]"),
            "Where B should stand, the line ends; write a name, such as v4, v[0:3] or a[0:15] for registers.",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[0:3, v[4:5]"),
            "']' is missing before ', v [ 4 : 5 ]'; add it.",
        ),
        (lambda: parse("v_mfma_f32_4x4x4_16b_f16 v"), "'[' is missing at the end of the line; add it."),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[08:11], v[4:5], v[6:7], 0"),
            "08 is no octal number, as its leading 0 says; drop the 0.",
        ),
        (
            lambda: parse("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7] neg:[2,0,1]"),
            "neg takes a 0 or 1 for each of A, B and C, not [2, 0, 1]; write neg:[1,0,0].",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 65"),
            "65 gives no inline constant in 32 bits; C takes 0 to 64, -1 to -16, ±0.5, ±1.0, ±2.0, ±4.0, 1/(2π) or "
            "registers.",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], -v[0:3]"),
            "'-' cannot stand before 'v [ 0 : 3 ]'; only f64 negates C, with neg:[0,0,1].",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 [v0,v2,v3,v4], v[4:5], v[6:7], 0"),
            "[v0, v2, v3, v4] is no tuple; list single registers of one file with ascending numbers.",
        ),
        (
            lambda: parse("v_mfma_f32_4x4x4_16b_f16 s[0:3], v[4:5], v[6:7], 0"),
            "'s' is no vector register for D; write v4, v[0:3] or a[0:15].",
        ),
        (lambda: parse("v_mfma_f32_4x4x4_16b_f16 v[3:0], v[4:5], v[6:7], 0"), "v[3:0] runs backwards; write v[0:3]."),
    ],
)
def test_sentences(make, sentence):
    with pytest.raises(EncodingError) as refusal:
        make()
    assert str(refusal.value) == sentence


# The assembler and disassembler themselves


def random_registers(rng: random.Random, count: int, acc: bool) -> str:
    """Registers of this width, now and then wrong in some way, in one of the spellings of the assembler."""
    if rng.random() < 0.04:
        count = rng.choice((1, 2, 3, 4, 5, 8, 16, 32))
    if rng.random() < 0.04:
        acc = not acc
    first = rng.randrange(0, 257 - count)
    if count > 1 and rng.random() < 0.96:
        first &= ~1
    if rng.random() < 0.03:
        first = rng.randrange(250, 260)
    file = rng.choice(("a", "a", "acc")) if acc else "v"
    style = rng.random()
    if style < 0.06:
        return "[" + ", ".join(f"{file}{first + n}" for n in range(count)) + "]"
    if style < 0.1:
        return f"{file}[{first:#x}:0b{first + count - 1:b}]"
    if style < 0.13:
        return f"{file} [ 0{first:o} : {first + count - 1} ]"
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


NUMBERS = (  # noqa: SIM905
    "0 1 64 65 -1 -16 -17 0.5 -0.5 1.0 -1.0 2.0 -2.0 4.0 -4.0 3.0 0.0 -0.0 .5 1. 1e0 1E+0 0x40 0x41 0xffffffff -011 08 "
    "0x3f800000 0xbf000000 0x3e22f983 0x3ff0000000000000 0x3fc45f306dc9c882 0xffffffffffffffff 0xfffffff0 0b11 -0 "
    "0.15915494 0.15915494309189532 -0.15915494 1.00000001 1e-45 1e40 1e400 18446744073709551616 4294967295"
).split()


COLONS = (":", ":", " : ")


def random_modifiers(rng: random.Random, op: MatrixOp) -> list[str]:
    third = ["blgp", "neg"] if op.blgp is Blgp.NEG else ["neg", "blgp"]
    names = ["cbsz", "abid", third[rng.random() < 0.95]]
    if op.sparse and rng.random() < 0.95:
        names.pop()
    modifiers = []
    for name in names:
        value = rng.choice("0000111112") if name == "neg" else rng.randrange(17 if name == "abid" else 9)
        signs = ",".join(rng.choice("01") for _ in range(rng.randrange(3)))
        text = f"neg:[{signs}{',' if signs else ''}{value}]" if name == "neg" else f"{name}{rng.choice(COLONS)}{value}"
        if rng.random() < 0.4:
            modifiers.append(text)
    if rng.random() < 0.05:
        rng.shuffle(modifiers)
    if modifiers and rng.random() < 0.03:
        modifiers.append(rng.choice(modifiers))
    return modifiers


def random_line(rng: random.Random) -> str:
    """A matrix instruction as text; about half of them the assembler refuses."""
    op = rng.choice(DENSE + SPARSE)
    names = [op.mnemonic, op.mnemonic, *(old for old, new in ASSEMBLER_SPELLINGS.items() if new == op.mnemonic)]
    name = rng.choice(names)
    if rng.random() < 0.05:
        name = rng.choice((name.upper(), f"{name}_e64", f"{name}_e32", f"{name}_1k", *RETIRED))
    widths = op.registers
    acc = rng.random() < 0.4
    d = random_registers(rng, widths.cd.vgprs, acc)
    a = random_registers(rng, widths.a.vgprs, rng.random() < 0.4)
    b = random_registers(rng, widths.b.vgprs, rng.random() < 0.4)
    kind = rng.random()
    if op.sparse:
        c = random_registers(rng, 1, False)
    elif kind < 0.35:
        c = d
    elif kind < 0.6:
        c = rng.choice(NUMBERS)
    elif kind < 0.7:
        first = 2 * rng.randrange(0, 8)
        d, c = (f"v[{at}:{at + widths.cd.vgprs - 1}]" for at in (8, first))
    else:
        c = random_registers(rng, widths.cd.vgprs, acc)
    if rng.random() < 0.02:
        a = rng.choice(("1.0", "0", "s[0:1]", "vcc", "-v0"))
    modifiers = random_modifiers(rng, op)
    comma = rng.choice((", ", ", ", ", ", ",", " , ", " "))
    tail = rng.choice(("", "", "", "", " ", " // cbsz:9", "; x", ",", " ,,"))
    behind = rng.choice((" ", " ", " ", ", ", " /* x */ "))
    return f"{name} {comma.join((d, a, b, c))}{behind}{' '.join(modifiers)}{tail}"


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None and os.environ.get("CI"):
        pytest.fail(f"{name} is missing; install LLVM 22 here.")
    if path is None:
        pytest.skip(f"{name} (LLVM 22) is not installed.")
    return path


def assembled(texts: list[str]) -> list[tuple[int, str] | None]:
    """Word and printed text of each line by llvm-mc, None where it refuses."""
    command = [tool("llvm-mc-22"), "-triple=amdgcn", "-mcpu=gfx942", "-show-encoding"]
    # After some errors LLVM skips the next line, so every second one is empty.
    done = subprocess.run(command, input="\n\n".join(texts), capture_output=True, text=True, check=False)
    refused = {int(number) for number in re.findall(r"<stdin>:(\d+):\d+: error:", done.stderr)}
    printed = iter(re.findall(r"^\t(v_.*?) +(?://.*?)?; encoding: \[(.*)\]", done.stdout, re.MULTILINE))
    answers = []
    for number in range(len(texts)):
        if 2 * number + 1 in refused:
            answers.append(None)
        else:
            text, encoded = next(printed)
            answers.append((word_of(encoded), text))
    assert next(printed, None) is None
    return answers


def disassembled(words: list[int], folder: Path) -> list[str]:
    """What llvm-objdump prints for each word."""
    nops = "0xbf800000, 0xbf800000"  # so that a word that fails to decode leaves the next in step
    source = "".join(f".long {word & 0xFFFFFFFF:#x}, {word >> 32:#x}, {nops}\n" for word in words)
    made = folder / "words.o"
    assemble = [tool("llvm-mc-22"), "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj", "-o", str(made)]
    subprocess.run(assemble, input=source, text=True, check=True)
    listing = subprocess.run(
        [tool("llvm-objdump-22"), "-d", "--mcpu=gfx942", str(made)], capture_output=True, text=True, check=True
    ).stdout
    found = {int(at, 16): text for text, at in re.findall(r"^\t(.*?) *// ([0-9A-F]{12}):", listing, re.MULTILINE)}
    return [found[16 * number].strip() for number in range(len(words))]


@pytest.mark.long
def test_assembler_and_parse_take_and_refuse_the_same():
    rng = random.Random(942)
    texts = [random_line(rng) for _ in range(6000)]
    answers = assembled(texts)
    differing = []
    for text, answer in zip(texts, answers, strict=True):
        instruction = taken(text)
        ours = None if instruction is None else (encode(instruction), str(instruction))
        if ours != answer:
            differing.append((text, ours, answer))
    assert not differing
    assert 2000 < sum(answer is None for answer in answers) < 4500


# Without the scalar sources that decode refuses on purpose (235 to 239, 251 to 253) and 255, a literal, on which
# LLVM 22's disassembler crashes.
SOURCES = [*range(235), *range(240, 251), 254]


@pytest.mark.long
def test_disassembler_prints_what_decode_prints(tmp_path):
    rng = random.Random(9)
    fields = [
        MaiWord(
            rng.getrandbits(64),
            encoding=MAI,
            op=rng.choice(DENSE + SPARSE).opcode,
            src0=256 + rng.randrange(256),
            src1=256 + rng.randrange(256),
            src2=rng.choice((256 + rng.randrange(256), rng.choice(SOURCES))),
        )
        for _ in range(4000)
    ]
    # Half of them aligned and without a blgp that sparse instructions lack, so that many decode.
    for word in fields[::2]:
        word.vdst, word.src0, word.src1, word.src2 = word.vdst & ~1, word.src0 & ~1, word.src1 & ~1, word.src2 & ~1
        word.blgp = rng.choice((0, word.blgp))
    words = [word.word for word in fields]
    printed = disassembled(words, tmp_path)
    # A word is legal if the disassembler names an instruction whose text assembles to the word again.
    again = assembled([text if text.startswith("v_") else "none" for text in printed])
    decoded = 0
    for word, text, answer in zip(words, printed, again, strict=True):
        if answer == (word, text):
            assert str(decode(word)) == text
            decoded += 1
        else:
            with pytest.raises(EncodingError):
                decode(word)
    assert decoded > 500


@pytest.mark.long
def test_golden_assembler_is_what_the_assembler_says():
    answers = assembled([text for text, _, _ in ASSEMBLED])
    for (_, encoded, printed), answer in zip(ASSEMBLED, answers, strict=True):
        assert answer == (None if encoded == "refused" else (word_of(encoded), printed))

"""The decoder, and the scalar and vector encodings: words to instructions and text as LLVM has them."""

import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vector_words
from hip_tools import DEVICE, tool
from mfma.emulator.decode import Dpp, Instruction, Modifiers, Operand, Sdwa, Undecoded, decode, decode_all
from mfma.emulator.decode.decoder import FORMS
from mfma.encoding import Instruction as MatrixInstruction
from mfma.encoding import Vgprs, encode
from mfma.errors import DecodeError
from mfma.isa.cdna3 import DENSE, SPARSE

ENCODINGS = [encoding for encodings in vector_words.FILES.values() for encoding in encodings]
GOLDEN = [
    line.split(maxsplit=1)
    for name in vector_words.FILES
    for line in (vector_words.GOLDEN / f"{name}.txt").read_text().splitlines()
    if line[0] != "#"
]
WORDS = [int(word, 16) for word, text in GOLDEN if text != "-"]
OBJECTS = Path(__file__).parent / "corpus" / "objects"


def of(word, address=0):
    return decode(word.to_bytes(8, "little"), address)


def text_of(word):
    try:
        return of(word).text
    except DecodeError:
        return None


# What LLVM says


def test_golden_words():
    for word, text in GOLDEN:
        assert text_of(int(word, 16)) == (None if text == "-" else text), word


def form_of(word):
    """Return the form that reads a word: of those that match, the first with the row."""
    row = of(word).row
    matching = (form for form in FORMS if (word ^ form.value) & form.mask == 0)
    return next(form for form in matching if row in form.rows.values())


def test_the_golden_words_have_every_row_in_every_form():
    found = {(form_of(word).word, of(word).row) for word in WORDS}
    forms = [form for form in FORMS if form.word.encoding in ENCODINGS]
    assert found == {(form.word, row) for form in forms for row in form.rows.values()}


def test_the_golden_words_have_every_modifier():
    words = Counter(re.split(r"[:(\[]", part)[0] for _, text in GOLDEN for part in text.split()[1:])
    assert {
        *("clamp", "mul", "div", "op_sel", "op_sel_hi", "neg_lo", "neg_hi", "cbsz", "abid", "blgp", "neg", "lit"),
        *("dst_sel", "dst_unused", "src0_sel", "src1_sel", "sext", "quad_perm", "row_newbcast", "row_mask"),
        *("bank_mask", "bound_ctrl", "hwreg", "sendmsg", "vmcnt", "gpr_idx"),
    } <= set(words)


def test_how_many_rows():
    rows = Counter(row.encoding for row in {row for form in FORMS for row in form.rows.values()})
    assert [rows[encoding] for encoding in ENCODINGS] == [54, 53, 21, 20, 31, 84, 61, 198, 443, 33, 48]


@pytest.mark.parametrize("op", DENSE + SPARSE, ids=str)
def test_matrix_instructions_read_as_in_the_encoding_package(op):
    registers = op.registers
    acc = op.n == 16
    c = Vgprs(77, 1) if op.sparse else Vgprs(8, registers.cd.vgprs, acc)
    a, b = Vgprs(40, registers.a.vgprs), Vgprs(50, registers.b.vgprs, True)
    matrix = MatrixInstruction(op, Vgprs(8, registers.cd.vgprs, acc), a, b, c, cbsz=1, abid=2)
    instruction = of(encode(matrix))
    assert instruction.text == str(matrix)
    assert instruction.src[:2] == (Operand(296, a.count), Operand(306, b.count, True))
    assert (instruction.modifiers.cbsz, instruction.modifiers.abid) == (1, 2)


# What an instruction says of itself


def v(number, dwords=1):
    return Operand(256 + number, dwords)


def a(number, dwords=1):
    return Operand(256 + number, dwords, True)


def s(number, dwords=1):
    return Operand(number, dwords)


VCC, ONE = Operand(106, 2), Operand(242)
WORDS_AND_THEIR_MEANING = {
    # The assembler's text of each word is in its comment.
    0xBE82_0104: ([s(2, 2)], [s(4, 2)], Modifiers()),  # s_mov_b64 s[2:3], s[4:5]
    0xBE82_0105: ([s(2, 2)], [s(4, 2)], Modifiers()),  # the same: an odd pair is the even one below
    0xB003_FFFF: ([s(3)], [], Modifiers(imm=0xFFFF)),  # s_movk_i32 s3, 0xffff
    0xBF0A_8005: ([], [s(5), s(128)], Modifiers()),  # s_cmp_lt_u32 s5, 0
    0xBF11_0905: ([], [s(5)], Modifiers(imm=9)),  # s_set_gpr_idx_on s5, gpr_idx(SRC0,DST)
    0xBA00_0801: ([], [Operand(255, literal=0x1234)], Modifiers(imm=0x801)),  # s_setreg_imm32_b32 hwreg(..), 0x1234
    0x0002_0702: ([v(1)], [v(2), v(3), VCC], Modifiers()),  # v_cndmask_b32_e32 v1, v2, v3, vcc
    0x3208_0702: ([v(4), VCC], [v(2), v(3)], Modifiers()),  # v_add_co_u32_e32 v4, vcc, v2, v3
    0x3008_0702: ([v(4)], [v(2), v(3), Operand(255, literal=0x1234)], Modifiers()),  # v_fmaak_f32 v4, v2, v3, 0x1234
    0x7CC2_04FF: ([VCC], [Operand(255, 2, literal=0x1234), v(2, 2)], Modifiers()),  # v_cmp_lt_f64 vcc, 0x1234, v[2:3]
    # v_max_f32_e64 v5, -|v2|, -v3 clamp mul:4
    0x7002_0702_D10B_8105: ([v(5)], [v(2), v(3)], Modifiers(neg=3, abs=1, clamp=True, omod=2)),
    # v_addc_co_u32_e64 v5, s[8:9], v2, 7, s[10:11]
    0x0029_0F02_D11C_0805: ([v(5), s(8, 2)], [v(2), s(135), s(10, 2)], Modifiers()),
    # v_add_f16_sdwa v4, -v2, |s3| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 src1_sel:DWORD
    0xA611_1502_3E08_06F9: ([v(4)], [v(2), s(3)], Modifiers(neg=1, abs=2, sdwa=Sdwa(5, 2, 1, 6))),
    # v_add_u32_sdwa v4, v2, sext(v3) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:BYTE_3
    0x0B04_0602_6808_06F9: ([v(4)], [v(2), v(3)], Modifiers(sdwa=Sdwa(6, 0, 4, 3, False, True))),
    # v_cmp_lt_f32_sdwa s[4:5], v2, v3 src0_sel:WORD_0 src1_sel:DWORD
    0x0604_8402_7C82_06F9: ([s(4, 2)], [v(2), v(3)], Modifiers(sdwa=Sdwa(6, 0, 4, 6))),
    # v_mov_b32_dpp v4, v2 quad_perm:[2,3,0,1] row_mask:0xa bank_mask:0x5 bound_ctrl:1
    0xA508_4E02_7E08_02FA: ([v(4)], [v(2)], Modifiers(dpp=Dpp(0x4E, 10, 5, True))),
    # v_pk_fma_f16 v5, v2, v3, v4 op_sel:[1,0,0] op_sel_hi:[1,1,0] neg_lo:[0,1,0] neg_hi:[0,0,1]
    0x5C12_0702_D38E_0C05: ([v(5)], [v(2), v(3), v(4)], Modifiers(neg=2, neg_hi=4, op_sel=1, op_sel_hi=3)),
    # v_fma_mix_f32 v5, -v2, |v3|, 1.0 op_sel:[0,1,0] op_sel_hi:[1,1,0]
    0x3BCA_0702_D3A0_1205: ([v(5)], [v(2), v(3), ONE], Modifiers(neg=1, abs=2, op_sel=2, op_sel_hi=3)),
    # v_mad_u16 v5, v2, v3, v4 op_sel:[0,1,0,1]
    0x0412_0702_D204_5005: ([v(5)], [v(2), v(3), v(4)], Modifiers(op_sel=0b1010)),
    # v_cvt_sr_fp8_f32 v5, v2, v3 op_sel:[0,0,1,1]
    0x0002_0702_D2A4_6005: ([v(5)], [v(2), v(3)], Modifiers(op_sel=0b1100)),
    0x0000_F902_D289_0004: ([s(4)], [v(2), s(124)], Modifiers()),  # v_readlane_b32 s4, v2, m0
    0x1800_0102_D3D8_4005: ([v(5)], [a(2)], Modifiers()),  # v_accvgpr_read_b32 v5, a2
    # v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], a[4:5], 1.0 blgp:3
    0x73CA_0902_D3CD_8000: ([a(0, 4)], [v(2, 2), a(4, 2), Operand(242, 4)], Modifiers(blgp=3)),
}


@pytest.mark.parametrize(("word", "meaning"), WORDS_AND_THEIR_MEANING.items(), ids=map(hex, WORDS_AND_THEIR_MEANING))
def test_operands_and_modifiers(word, meaning):
    dst, src, modifiers = meaning
    # Where a literal is wanted, it is 0x1234.
    instruction = of(word if word >> 32 else word | 0x1234 << 32)
    assert (instruction.dst, instruction.src) == (tuple(dst), tuple(src))
    assert instruction.modifiers == modifiers


def test_names_and_mnemonics():
    for word, name, mnemonic in (
        (0x0202_0702, "v_add_f32", "v_add_f32_e32"),
        (0x0002_0702_D101_0001, "v_add_f32", "v_add_f32_e64"),
        (0x0606_0602_0202_06F9, "v_add_f32", "v_add_f32_sdwa"),
        (0xFF08_4E02_0202_06FA, "v_add_f32", "v_add_f32_dpp"),
        (0x0412_0702_D1CB_0001, "v_fma_f32", "v_fma_f32"),
        (0xBF8C_0000, "s_waitcnt", "s_waitcnt"),
    ):
        assert (of(word).name, of(word).mnemonic) == (name, mnemonic)


def test_branches_have_targets():
    assert of(0xBF82_0003, 0x1000).target == 0x1010
    assert of(0xBF84_FFFF, 0x1000).target == 0x1000
    assert of(0xBF82_8000, 0).target == 2**64 - 4 * 0x8000 + 4
    assert of(0xBA84_0002, 0x1000).target == 0x100C  # s_call_b64 s[4:5], 2
    assert of(0xBE80_1D04).target is None  # s_setpc_b64 s[4:5]
    assert of(0xBF8C_0000).target is None


# Bytes


def test_a_literal_belongs_to_the_instruction():
    code = bytes.fromhex("ff020002 0000c03f 0000007e")
    sizes = [(item.address, item.size, item.word) for item in decode_all(code, 0x100)]
    assert sizes == [(0x100, 8, 0x3FC0_0000_0200_02FF), (0x108, 4, 0x7E00_0000)]
    assert decode(code, 0x108, 8).text == "v_nop"


@pytest.mark.parametrize("code", ["", "00", "ff0200", "ff020002", "ff020002 0000c0", "000001d1", "ffffffff"])
def test_bytes_that_are_no_instruction(code):
    with pytest.raises(DecodeError, match=r"^0x\w+ at 0x40 is no gfx942 instruction; give the bytes of code, from its"):
        decode(bytes.fromhex(code), 0x40)


@given(st.binary(max_size=64))
def test_any_bytes_are_instructions_and_other_dwords(code):
    items = list(decode_all(code, 4096))
    rest = len(code) % 4
    whole = b"".join(item.word.to_bytes(item.size if isinstance(item, Instruction) else 4, "little") for item in items)
    assert whole == code[: len(code) - rest]
    addresses = [item.address - 4096 for item in items]
    assert all(
        decoded(code[address:]) is isinstance(item, Instruction) for address, item in zip(addresses, items, strict=True)
    )
    assert [item.word for item in items if isinstance(item, Undecoded)] == [
        int.from_bytes(code[address : address + 4], "little") for address in addresses if not decoded(code[address:])
    ]


def decoded(code):
    try:
        return bool(decode(code).text)
    except DecodeError:
        return False


# Long: live against LLVM


@pytest.mark.long
def test_random_words_against_llvm():
    rng = random.Random(22)
    forms = vector_words.forms(ENCODINGS)
    same = 0
    for _ in range(20):
        tried = [vector_words.random_word(rng, rng.choice(forms)) for _ in range(50_000)]
        words = [word for word in tried if not vector_words.crashes(word)]
        for word, text in zip(words, vector_words.disassembled(words), strict=True):
            assert text_of(word) == text, hex(word)
            same += text is not None
    assert same > 500_000


@pytest.mark.long
def test_every_number_of_messages_counters_and_hardware_registers():
    for word in (0xBF90_0000, 0xBF8C_0000, 0xBF9D_0000, 0xBF81_0000, 0xBF80_0000, 0xB882_0000, 0xB002_0000):
        words = [word | number for number in range(1 << 16)]
        assert [text_of(word) for word in words] == vector_words.disassembled(words)


@pytest.mark.long
def test_the_golden_files_are_what_llvm_says():
    assert [" ".join(line) for line in GOLDEN] == [
        line for name in vector_words.FILES for line in vector_words.golden(name)
    ]


LINE = re.compile(vector_words.LINE.pattern + r"(?:<(\S+?)\+0x([0-9a-f]+)>)?", re.MULTILINE)
SYMBOL = re.compile(r"^([0-9a-f]{16}) <(.+)>:$", re.MULTILINE)


def listed(file):
    """Yield each instruction of llvm-objdump's listing: address, bytes, text, and where a branch goes."""
    command = [tool("llvm-objdump-22"), "--disassemble-zeroes", "-d", file]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = {name: int(address, 16) for address, name in SYMBOL.findall(listing)}
    for text, address, dwords, symbol, offset in LINE.findall(listing):
        code = b"".join(int(dword, 16).to_bytes(4, "little") for dword in dwords.split())
        target = symbols[symbol] + int(offset, 16) if offset else symbols.get(symbol)
        yield int(address, 16), code, " ".join(text.split()), target


def compare(file):
    lines = 0
    for address, code, text, target in listed(file):
        instruction = decode(code, address)
        assert (instruction.text, instruction.size) == (text, len(code)), (file.name, hex(address))
        assert target is None or instruction.target == target, (file.name, hex(address))
        lines += 1
    return lines


@pytest.mark.long
def test_compiled_kernels_against_llvm():
    assert sum(map(compare, sorted([*OBJECTS.glob("*.co"), *OBJECTS.glob("*.hsaco")]))) > 100_000


@pytest.mark.long
@pytest.mark.parametrize("level", range(4))
def test_compiled_programs_against_llvm(tmp_path, level):
    for source in sorted((OBJECTS.parent / "hip").glob("*.hip")):
        if level == 0 and "asm" in source.read_text():
            continue  # its operands need an optimizer
        code = tmp_path / f"{source.stem}.co"
        command = [tool("clang-22"), "-x", "hip", "-std=c++17", "--offload-arch=gfx942", *DEVICE, f"-O{level}"]
        subprocess.run([*command, "-w", source, "-o", code], check=True)
        assert compare(code) > 100

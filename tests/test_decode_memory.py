"""The memory encodings: words to text as LLVM has it, roles of operands, and what is accessed."""

import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import memory_words
from hip_tools import tool
from mfma.emulator.decode import Encoding, Half, Kind, Number, Operation, decode, rows
from mfma.errors import DecodeError

ENCODINGS = (
    Encoding.SMEM,
    Encoding.DS,
    Encoding.FLAT,
    Encoding.GLOBAL,
    Encoding.SCRATCH,
    Encoding.MUBUF,
    Encoding.MTBUF,
)
ROWS = [row for row in rows() if row.encoding in ENCODINGS]
GOLDEN = [line.split(maxsplit=1) for line in memory_words.GOLDEN.read_text().splitlines() if line[0] != "#"]
TEXTS = {text: int(word, 16) for word, text in GOLDEN if text != "-"}
OBJECTS = Path(__file__).parent / "corpus" / "objects"


def of(word):
    return decode(word.to_bytes(8, "little"))


def text_of(word):
    try:
        return of(word).text
    except DecodeError:
        return None


def test_golden_words():
    for word, text in GOLDEN:
        assert text_of(int(word, 16)) == (None if text == "-" else text), word


def test_the_golden_words_have_every_row_and_modifier():
    assert {of(word).row for word in TEXTS.values()} == set(ROWS)
    modifiers = {"offset", "offset0", "offset1", "glc", "sc0", "nt", "sc1", "gds", "lds", "idxen", "offen", "format"}
    assert modifiers <= {part.partition(":")[0] for text in TEXTS for part in text.split()}


def test_how_many_opcodes():
    opcodes = Counter(encoding for encoding, _ in {(row.encoding, row.opcode) for row in ROWS})
    assert [opcodes[encoding] for encoding in ENCODINGS] == [84, 128, 54, 59, 27, 73, 16]


# Words as listings have them, low dword first; registers as code:dwords, VGPRs from 256.
@pytest.mark.parametrize(
    ("word", "fields"),
    [
        (0xDC508000_047F0002, "vdst=260:1 vaddr=258:2 saddr=None vdata=None"),
        (0xDC508000_04060002, "vdst=260:1 vaddr=258:1 saddr=6:2 vdata=None"),
        (0xDC708000_007F0402, "vdst=None vaddr=258:2 saddr=None vdata=260:1"),
        (0xDD088000_007F0402, "vdst=None vaddr=258:2 vdata=260:1"),
        (0xDD098000_087F0402, "vdst=264:1 vaddr=258:2 vdata=260:1"),
        (0xDC504000_047F0002, "vdst=260:1 vaddr=None saddr=None"),
        (0xDC506000_04060002, "vdst=260:1 vaddr=258:1 saddr=6:1"),
        (0xDC500000_04000002, "vdst=260:1 vaddr=258:2 saddr=None"),
        (0xD8EE0201_04000002, "vdst=260:4 addr=258:1 data0=None"),
        (0xD8600010_08060402, "vdst=264:1 addr=258:1 data0=260:1 data1=262:1"),
        (0xE0500010_80010200, "vdst=258:1 vaddr=None srsrc=4:4 soffset=128:1 vdata=None"),
        (0xE0503010_05010204, "vdst=258:1 vaddr=260:2 srsrc=4:4 soffset=5:1"),
        (0xE0700010_05010200, "vdst=None vdata=258:1 srsrc=4:4"),
        (0xE1044000_05010200, "vdst=258:1 vdata=258:2"),
        (0xE0510000_05010200, "vdst=None vdata=None srsrc=4:4"),
        (0xC0020084_00000010, "sdst=2:1 sbase=8:2 soffset=None"),
        (0xC0024084_0C000000, "sdst=2:1 sbase=8:2 soffset=6:1"),
        (0xC2090084_00000010, "sdst=2:1 sdata=2:1 sbase=8:2"),
    ],
)
def test_roles_of_operands(word, fields):
    instruction = of((word & 0xFFFF_FFFF) << 32 | word >> 32)
    for field, expected in (part.split("=") for part in fields.split()):
        operand = instruction.get(field)
        assert ("None" if operand is None else f"{operand.code}:{operand.dwords}") == expected, (
            instruction.text,
            field,
        )


def test_agprs_are_data_and_never_addresses():
    for word in TEXTS.values():
        instruction = of(word)
        if instruction.row.access.kind is not Kind.GWS:
            for field in ("vaddr", "addr"):
                operand = instruction.get(field)
                assert operand is None or not operand.acc


def registers(row, *fields):
    return sum(slot.dwords for slot in row.dst + row.src if slot.field in fields)


def test_accesses_are_as_wide_as_their_registers():
    for row in ROWS:
        access = row.access
        both = 2 if access.operation is Operation.CMPSWAP and row.encoding is not Encoding.DS else 1
        data = registers(row, "vdata", "sdata", "data0")
        if access.components:
            each = 2 if access.half is Half.PACKED else 1
            expected = 0 if access.kind is Kind.TO_LDS else -(-access.components // each)
            assert registers(row, "vdst", "vdata") == expected, row
        elif access.kind is Kind.ATOMIC:
            assert 4 * data == access.bytes * both or access.operation in (Operation.APPEND, Operation.CONSUME), row
            assert 4 * registers(row, "vdst", "sdst") in (0, access.bytes * access.addresses), row
        elif access.kind is Kind.LOAD:
            assert 4 * registers(row, "vdst", "sdst") == max(access.bytes, 4) * access.addresses, row
        elif access.kind is Kind.STORE:
            assert 4 * data == max(access.bytes, 4), row
            assert (access.addresses == 2) is bool(registers(row, "data1")), row


SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "96": 12, "128": 16, "byte": 1, "short": 2, "dword": 4}
LOADS = re.compile(
    r"(?P<way>load|read|store|write)2?(?:st64)?_(?:addtid_)?(?:lds_)?(?P<type>[usbi]?)(?P<size>dword|byte|short|\d+)"
    r"(?:x(?P<times>\d+))?(?P<d16>_d16)?(?P<hi>_hi)?(?=_|$)"
)


def test_accesses_are_what_the_mnemonics_say():
    """The mnemonics are LLVM's, the records ours."""
    for row in ROWS:
        access, match = row.access, LOADS.search(row.name)
        if match is None or "format" in row.name:
            assert access.kind not in (Kind.LOAD, Kind.STORE, Kind.TO_LDS) or access.components, row
            continue
        assert (access.kind is Kind.STORE) is (match["way"] in ("store", "write")), row
        assert access.bytes == SIZES[match["size"]] * int(match["times"] or 1), row
        assert access.signed is (match["type"] in ("s", "i") and match["way"] in ("load", "read")), row
        assert access.half is (Half.HIGH if match["hi"] else Half.LOW if match["d16"] else None), row
        assert (access.kind is Kind.TO_LDS) is ("_lds_" in row.name or (access.m0 and "addtid" not in row.name)), row


def test_atomics_are_what_the_mnemonics_say():
    plain = re.compile(r"_(?:pk_)?([su]?)(swap|cmpswap|add|sub|min|max|and|or|xor|inc|dec)(?:_(x2|f32|f64|f16|bf16))?$")
    for row in ROWS:
        access = row.access
        match = plain.search(row.name) if "atomic" in row.name else None
        assert (match is not None) is (access.kind is Kind.ATOMIC and row.encoding is not Encoding.DS), row
        if match is None:
            continue
        sign, operation, size = match.groups()
        assert access.operation.name == operation.upper(), row
        assert access.bytes == (8 if size in ("x2", "f64") else 4), row
        floats = {"f32": Number.FLOAT, "f64": Number.FLOAT, "f16": Number.PK_F16, "bf16": Number.PK_BF16}
        signs = {"s": Number.SIGNED, "u": Number.UNSIGNED}
        assert access.number is (floats.get(size) or signs.get(sign) or access.number), row
        assert not ({access.number} & set(floats.values())) or size in floats, row


def test_ds_numbers_are_what_the_mnemonics_say():
    types = {"u": Number.UNSIGNED, "i": Number.SIGNED, "f": Number.FLOAT, "b": Number.BITS}
    for row in ROWS:
        match = re.fullmatch(r"ds_(\w+?)(?:_rtn)?_([uifb])(32|64)", row.name)
        if row.encoding is Encoding.DS and row.access.kind is Kind.ATOMIC and match and "wrap" not in row.name:
            assert row.access.number is types[match[2]], row
            assert row.access.bytes == int(match[3]) // 8, row
            operation = {"wrxchg": "SWAP", "cmpst": "CMPSWAP", "condxchg32": "CONDXCHG"}
            name = match[1] if match[1] in operation else re.sub(r"2(st64)?$", "", match[1])
            assert row.access.operation.name == operation.get(name, name.upper()), row


@pytest.mark.parametrize(
    "word",
    [
        0x017F0001_DC548000,  # global_load_dwordx2 into v[1:2]
        0x007F00FF_DC548000,  # an address in v[255:256]
        0x00000010_C0021F42,  # s_load_dword of null
        0xFF010200_E0500010,  # buffer_load_dword with a literal as soffset
        0xFE010200_E0500010,  # and with LDS_DIRECT
        0x00000000_DFFCC000,  # no segment
        0x00000001_D8280000,  # ds_nop with an address
    ],
)
def test_words_that_are_no_instructions(word):
    with pytest.raises(DecodeError):
        of(word)


def test_offsets_have_the_signs_of_their_encodings():
    minus = {
        Encoding.GLOBAL: 0x007F0002_DC509FFF,
        Encoding.SCRATCH: 0x007F0000_DC505FFF,
        Encoding.SMEM: 0x001FFFFF_C0020000,
    }
    for encoding, word in minus.items():
        assert (of(word).row.encoding, of(word).modifiers.offset) == (encoding, -1)
    assert of(0x00000002_DC501FFF).modifiers.offset == 0x1FFF
    assert of(0x00000002_D86CFFFF).modifiers.offset == 0xFFFF


@pytest.mark.long
def test_random_words_against_llvm():
    rng = random.Random(22)
    for encoding in memory_words.ENCODINGS:
        words = [memory_words.random_word(rng, encoding) for _ in range(40_000)]
        answers = list(memory_words.disassembled(words))
        assert sum(text is not None for _, text in answers) > 4_000
        for word, text in answers:
            assert text_of(word) == text, hex(word)


@pytest.mark.long
def test_the_golden_file_is_what_llvm_says():
    assert memory_words.golden() == [" ".join(line) for line in GOLDEN]


@pytest.mark.long
def test_compiled_kernels_against_llvm():
    prefixes = {prefix for prefix, *_ in memory_words.ENCODINGS.values()}
    lines = 0
    for file in sorted(OBJECTS.glob("*.co")):
        command = [tool("llvm-objdump-22"), "-d", file]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for text, _, dwords in memory_words.LINE.findall(listing):
            low, *high = (int(dword, 16) for dword in dwords.split())
            if low >> 26 in prefixes:
                assert text_of(high[0] << 32 | low) == text, (file.name, dwords)
                lines += 1
    assert lines > 10_000

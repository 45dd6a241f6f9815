"""Random words of the scalar and vector encodings and their text in llvm-objdump. Run it to write the golden files."""

import random
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from hip_tools import tool
from mfma.emulator.decode import Encoding
from mfma.emulator.decode.decoder import FORMS
from mfma.emulator.decode.words_vector import Vop1Dpp, Vop2Dpp

GOLDEN = Path(__file__).parent / "golden" / "decode"
ORIGIN = """\
# Words of the {name} encodings of gfx942 and their text in llvm-objdump 22.1.8 -d --mcpu=gfx942; "-" where it finds
# no instruction. Chosen at random by tests/vector_words.py: three words for each opcode of each form.
# Words that it marks as invalid count as no instructions (see there).
"""
FILES = {
    "scalar": (Encoding.SOP1, Encoding.SOP2, Encoding.SOPK, Encoding.SOPC, Encoding.SOPP),
    "vector": (Encoding.VOP1, Encoding.VOP2, Encoding.VOPC),
    "vector3": (Encoding.VOP3, Encoding.VOP3P, Encoding.MAI),
}
"""Golden file -> encodings in it."""

NOPS = 0xBF80_0000_BF80_0000
LINE = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)", re.MULTILINE)
INVALID = re.compile(
    r"/\*|/\* "  # marked
    r"|\b[va]\[\d*[13579]:"  # odd tuples of vector registers, which it marks in most rows but not in all
    r"|\b[va]\[\d+:2(?:5[6-9]|[6-9]\d)\]"  # tuples that end behind v255, likewise
    r"|\bnull\b|\bsrc_flat_scratch_base|\bsrc_lds_direct"  # what gfx942 does not have, says the assembler
    r"|^v_(?:cmp\w+|readfirstlane_b32|readlane_b32) (?:src_|-?\d)"  # results into a constant or a status register
    r"|^v_(?:cndmask|addc|subb|subbrev)_\w+ .*, v\[\d+:\d+\](?: clamp)?$"  # a mask in vector registers
    r"|^v_(?:readfirstlane|readlane|swap|accvgpr_mov|accvgpr_read)_b32 \w+, src_"  # vector registers only, says
    r"|^v_s?mf\w+ .*\bsrc_"  # the assembler
)
LITERALS = (
    0, 1, 0x40, 0x41, 0x3118, 0x3C00, 0xBC00, 0xFFEF, 0xFFFF, 0x3F80_0000, 0x3E22_F983, 0x3FF0_0000, 0xC010_0000,
    0x3C00_3C00, 0x8000_0000, 0xFFFF_FFEF, 0xFFFF_FFF0, 0xFFFF_FFFF,
)  # fmt: skip
"""Numbers that inline constants of some type have, and their neighbours."""

NUMBERS = [
    *[0xBF90_0000 | number for number in (*range(0x80), 0x83, 0x112, 0x323, 0x401, 0x40A, 0x722, 0x800, 0xFFFF)],
    *[0xBF9D_0000 | number for number in range(18)],
    *[0xBF11_0005 | number << 8 for number in range(18)],
    *[0xB882_0000 | number for number in (*range(0x40), 0xF801, 0xF841, 0xFFC1, 0x7BC4)],
    *[0xBF8C_0000 | number for number in (0, 0x0F70, 0x3F7F, 0xC07F, 0xCF7F, 0xFFFF, 0x8F71, 0xC00F)],
    *[0xBF81_0000 | number for number in (0, 1, 99)],
]
"""Words whose text depends on their number: messages, indices, hardware registers, counters, ends."""

SDWA, LITERAL = 249, 255
SOURCES = (32, 41, 50)
"""First bits of the sources of the long encodings."""
SELECTIONS = (40, 48, 56)
"""First bits of the selections of SDWA."""
NO_VGPR = frozenset([*range(193, 209), *range(240, 249), LITERAL])


def crashes(word):
    """Whether LLVM 22.1.8 ends with a segmentation fault: it does not expect some numbers in some fields."""
    first, sources = word & 0xFFFF_FFFF, [word >> low & 511 for low in SOURCES]
    if first >> 26 == 0b110100:
        opcode = first >> 16 & 1023
        scalar_result = opcode < 0x100 or opcode == 0x289
        matrix = opcode >= 0x3B8
        return (
            LITERAL in sources
            or (scalar_result and first & 255 == LITERAL)
            or (matrix and not NO_VGPR.isdisjoint(sources))
        )
    if first >> 31 == 0 and first & 511 == SDWA:
        return any(word >> low & 7 == 7 for low in SELECTIONS)
    accvgpr_mov = first & 0xFE01_FF00 == 0x7E00_A400
    return accvgpr_mov or (first >> 26 in (0b111000, 0b111010) and word >> 56 == LITERAL)


def forms(encodings):
    """Return the forms of these encodings, each with its opcodes."""
    return [form for form in FORMS if form.word.encoding in encodings]


def random_word(rng, form, opcode=None):
    """Return a word of this form that has a fair chance of being an instruction."""
    if opcode is None:
        opcode = rng.choice([*form.rows, rng.randrange(form.largest + 1)])
    word = rng.getrandbits(64) & ~form.mask | form.value
    word = word & ~(form.largest << form.low) | opcode << form.low
    row = form.rows.get(opcode)
    if row is not None and rng.random() < 0.8:
        word &= ~form.word.zero(row)
    if form.word.size == 4:
        if rng.random() < 0.3:
            word = word & 0xFFFF_FFFF | rng.choice(LITERALS) << 32
        if rng.random() < 0.2 and form.mask.bit_count() < 16:
            word |= LITERAL
        return word
    if form.word is Vop1Dpp or form.word is Vop2Dpp:
        if rng.random() < 0.5:  # the movements of 64-bit operands
            word = word & ~(0xFF0 << 40) | 0x150 << 40
        even = 1 << 32 | 1 << 17 | (1 << 9 if form.word is Vop2Dpp else 0)
        return word & ~even if rng.random() < 0.5 else word
    if rng.random() < 0.4:  # few modifiers
        word &= ~(0xF800_0000_0000_FF00 & ~form.mask & ~(form.largest << form.low))
    if rng.random() < 0.4:  # vector registers, often of even numbers
        for low in SOURCES:
            word = word & ~(1 << low) | 256 << low
    return word


def disassembled(words):
    """Return the text of each word in llvm-objdump, or None if it is no instruction or is marked as invalid."""
    with tempfile.TemporaryDirectory() as folder:
        source, code = Path(folder) / "words.s", Path(folder) / "words.o"
        # Behind each word stands so much of nothing that wrong beginnings end before the next.
        source.write_text("".join(f".quad {word:#x}, {NOPS:#x}\n" for word in words))
        target = ("-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942")
        subprocess.run([tool("llvm-mc-22"), *target, "-filetype=obj", source, "-o", code], check=True)
        command = [tool("llvm-objdump-22"), "--disassemble-zeroes", "-d", code]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    texts = {int(address, 16): text for text, address, _ in LINE.findall(lines)}
    return [valid(texts.get(16 * index)) for index in range(len(words))]


def valid(text):
    """Return the text with single spaces, None for what is no instruction."""
    if text is None or text.startswith(".") or INVALID.search(text):
        return None
    return " ".join(text.split())


def golden(name):
    """Return the lines of a golden file: for each opcode of each form three instructions, and some other words."""
    rng, lines = random.Random(942), []
    for form in forms(FILES[name]):
        tried = [random_word(rng, form, opcode) for opcode in form.rows for _ in range(150)]
        words = [word for word in tried if not crashes(word)]
        found = Counter()
        for word, text in zip(words, disassembled(words), strict=True):
            opcode = word >> form.low & form.largest if text is not None else None
            wanted = found[opcode] < 3 if text is not None else rng.random() < 0.01
            if wanted:
                found[opcode] += 1
                lines.append(f"{word:016x} {text or '-'}")
    if name == "scalar":
        lines += [f"{word:016x} {text or '-'}" for word, text in zip(NUMBERS, disassembled(NUMBERS), strict=True)]
    return lines


def write(name):
    """Write a golden file."""
    (GOLDEN / f"{name}.txt").write_text(ORIGIN.format(name=name) + "\n".join(golden(name)) + "\n")


if __name__ == "__main__":
    for name in FILES:
        write(name)

"""Random words of the memory encodings and their text in llvm-objdump. Run it to write the golden file anew."""

import random
import re
import subprocess
import tempfile
from pathlib import Path

from hip_tools import tool

GOLDEN = Path(__file__).parent / "golden" / "decode" / "memory.txt"
ORIGIN = """\
# Words of the memory encodings of gfx942 and their text in llvm-objdump 22.1.8 -d --mcpu=gfx942;
# "-" where it finds no instruction. Chosen at random by tests/memory_words.py: for each opcode, one word for each
# combination of the kinds of its operands. Words that it marks as invalid count as no instructions (see there).
"""

#           prefix, first bit and width of the opcode, fields that must often be 0, low bits of the registers of tuples
ENCODINGS = {
    "SMEM":  (0b110000, 18, 8, (), 0xC1),
    "DS":    (0b110110, 17, 8, ((32, 8), (40, 8), (48, 8), (56, 8), (16, 1), (25, 1), (0, 16)), 0x0303_0303 << 32),
    "FLAT":  (0b110111, 18, 7, ((13, 1), (48, 7), (55, 1), (56, 8)), 0x0300_0303 << 32),
    "MUBUF": (0b111000, 18, 7, ((16, 1), (12, 2), (55, 1), (0, 12)), 0x0303 << 32),
    "MTBUF": (0b111010, 15, 4, ((12, 2), (55, 1)), 0x0303 << 32),
}  # fmt: skip
NO_SADDR = 0x7F << 48
LITERAL = 0xFF << 56
NOPS = 0xBF80_0000_BF80_0000
LINE = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]+): ([0-9A-F]{8}(?: [0-9A-F]{8})?)\b", re.MULTILINE)
BUFFERS = (0b111000, 0b111010)
"""Prefixes of the buffer encodings. With a literal as ``soffset`` LLVM 22.1.8 crashes."""

INVALID = re.compile(
    r"/\*Invalid register"
    r"|\b[va]\[\d*[13579]:"  # odd tuples of vector registers, which it marks in most rows but not in all
    r"|\b[va]\[\d+:25[6-9]\]"  # tuples that end behind v255, likewise
    r"|\bnull\b|\bsrc_flat_scratch_base"  # registers that gfx942 does not have
)


def random_word(rng, encoding, opcode=None):
    """Return a word that has a fair chance of being an instruction."""
    prefix, low, bits, fields, tuples = ENCODINGS[encoding]
    word = prefix << 26 | rng.getrandbits(26) | rng.getrandbits(32) << 32
    if opcode is not None:
        word = word & ~((1 << bits) - 1 << low) | opcode << low
    if rng.random() < 0.2:
        return word  # anything at all
    for first, width in fields:
        if rng.random() < 0.5:
            word &= ~((1 << width) - 1 << first)
    if encoding == "FLAT" and rng.random() < 0.4:
        word |= NO_SADDR
    return word & ~tuples if rng.random() < 0.8 else word


def disassembled(words):
    """Yield each word with its text in llvm-objdump, or None if it is no instruction or is marked as invalid."""
    asked = [word for word in words if word >> 26 & 63 not in BUFFERS or word & LITERAL != LITERAL]
    with tempfile.TemporaryDirectory() as folder:
        source, code = Path(folder) / "words.s", Path(folder) / "words.o"
        # Behind each word stands so much of nothing that wrong beginnings end before the next.
        source.write_text("".join(f".quad {word:#x}, {NOPS:#x}\n" for word in asked))
        target = ("-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942")
        subprocess.run([tool("llvm-mc-22"), *target, "-filetype=obj", source, "-o", code], check=True)
        command = [tool("llvm-objdump-22"), "-d", code]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    texts = {int(address, 16): _valid(text, dwords) for text, address, dwords in LINE.findall(lines)}
    answers = {word: texts.get(16 * index) for index, word in enumerate(asked)}
    for word in words:
        yield word, answers.get(word)


def _valid(text, dwords):
    return None if len(dwords) != len("01234567 01234567") or INVALID.search(text) else " ".join(text.split())


def shape(text):
    """Return mnemonic, kinds of operands in the place of their numbers, and whether an atomic returns."""
    operands, _, modifiers = re.sub(r" (?=offset|sc0|nt|sc1|glc|format|idxen|offen|lds|gds)", "|", text).partition("|")
    returns = "atomic" in text and re.search("sc0|glc", modifiers)
    operands = re.sub(r"\b([va])\[\d+:\d+\]", r"\1\1", operands)
    operands = re.sub(r"\b([va])\d+\b", r"\1", operands)
    operands = re.sub(r"(?<= )-?0x\w+", "n", operands)
    operands = re.sub(r"(?<= )(?!(?:off|n|[va]{1,2})\b)[^,]+", "s", operands)
    return operands + " returns" * bool(returns)


def golden():
    """Return the lines of the golden file."""
    rng, found = random.Random(942), {}
    for encoding, (_, _, bits, *_) in ENCODINGS.items():
        tries = 200 if encoding == "MTBUF" else 500
        words = [random_word(rng, encoding, opcode) for opcode in range(1 << bits) for _ in range(tries)]
        refused = 0
        for word, text in disassembled(words):
            if text is not None:
                found.setdefault((encoding, shape(text)), (word, text))
            elif refused < 60 and rng.random() < 0.005:
                refused += 1
                found[word] = word, "-"
    words = (0b110110 << 26 | 61 << 17 | offset | 2 << 32 for offset in SWIZZLES)
    found |= {word: (word, text) for word, text in disassembled(list(words))}
    return [f"{word:016x} {text}" for word, text in found.values()]


SWIZZLES = (
    0, 0x1F, 0x41F, 0x7C1F, 0x3C1F, 0xC1F, 0x1E, 0x3E, 0x20, 0x3F0, 0x2A5B, 0x10, 0x8000, 0x801B, 0x80E4,
    0x8100, 0xBFFF, 0xC000, 0xC3E0, 0xC400, 0xDFFF, 0xE000, 0xFFFF,
)  # fmt: skip

if __name__ == "__main__":
    GOLDEN.write_text(ORIGIN + "\n".join(golden()) + "\n")

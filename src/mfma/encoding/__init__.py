"""Instruction words of the matrix instructions: encode, decode, read and write assembler text.

What the assembler takes is taken and what it refuses is refused. Left out are expressions in the place of numbers,
hexadecimal floats, and scalar sources of C such as ``src_scc``, which LLVM 22 assembles but reads back only for
f64_4x4x4.

>>> instruction = parse("v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]")
>>> hex(encode(instruction)), decode(encode(instruction)) == instruction
('0x4022510d3cc8000', True)
"""

from mfma.encoding.codec import decode, encode
from mfma.encoding.instruction import Instruction
from mfma.encoding.operands import InlineConstant, Source, Vgprs
from mfma.encoding.text import parse

__all__ = ["InlineConstant", "Instruction", "Source", "Vgprs", "decode", "encode", "parse"]

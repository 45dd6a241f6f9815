"""The kernel descriptor: 64 bytes that tell the hardware how to start a wave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from mfma.encoding.word import Bits, Word

__all__ = ["Descriptor"]

RSRC3, RSRC1, RSRC2, PROPERTIES, PRELOAD = 8 * 44, 8 * 48, 8 * 52, 8 * 56, 8 * 58
"""Bits from which on the registers and the kernel's properties stand."""


class Field(Bits):
    """``width`` bits from ``low`` on; ``must_be_zero`` on gfx942, where the hardware or its firmware fills them in."""

    def __init__(self, low: int, width: int, *, must_be_zero: bool = False) -> None:
        super().__init__(low + width - 1, low)
        self.must_be_zero = must_be_zero


class Descriptor(Word):
    """A kernel descriptor for gfx942; every field is an attribute that holds what is encoded.

    ``accum_offset`` and ``granulated_workitem_vgpr_count`` are in units, less one; `first_agpr` and `vgprs` say the
    same in registers.

    >>> descriptor = Descriptor(kernarg_size=24, accum_offset=1, granulated_workitem_vgpr_count=2)
    >>> descriptor.first_agpr, descriptor.vgprs, len(bytes(descriptor))
    (8, 24, 64)
    """

    __slots__ = ()

    SIZE = 64

    group_segment_fixed_size = Field(0, 32)
    private_segment_fixed_size = Field(32, 32)
    kernarg_size = Field(64, 32)
    reserved_0 = Field(96, 32, must_be_zero=True)
    encoded_entry_byte_offset = Field(128, 64)
    reserved_1 = Field(192, 160, must_be_zero=True)

    accum_offset = Field(RSRC3 + 0, 6)
    reserved_2 = Field(RSRC3 + 6, 10, must_be_zero=True)
    tg_split = Field(RSRC3 + 16, 1)
    reserved_3 = Field(RSRC3 + 17, 15, must_be_zero=True)

    granulated_workitem_vgpr_count = Field(RSRC1 + 0, 6)
    granulated_wavefront_sgpr_count = Field(RSRC1 + 6, 4)
    priority = Field(RSRC1 + 10, 2, must_be_zero=True)
    float_round_mode_32 = Field(RSRC1 + 12, 2)
    float_round_mode_16_64 = Field(RSRC1 + 14, 2)
    float_denorm_mode_32 = Field(RSRC1 + 16, 2)
    float_denorm_mode_16_64 = Field(RSRC1 + 18, 2)
    priv = Field(RSRC1 + 20, 1, must_be_zero=True)
    enable_dx10_clamp = Field(RSRC1 + 21, 1)
    debug_mode = Field(RSRC1 + 22, 1, must_be_zero=True)
    enable_ieee_mode = Field(RSRC1 + 23, 1)
    bulky = Field(RSRC1 + 24, 1, must_be_zero=True)
    cdbg_user = Field(RSRC1 + 25, 1, must_be_zero=True)
    fp16_ovfl = Field(RSRC1 + 26, 1)
    reserved_4 = Field(RSRC1 + 27, 5, must_be_zero=True)

    enable_private_segment = Field(RSRC2 + 0, 1)
    user_sgpr_count = Field(RSRC2 + 1, 5)
    enable_trap_handler = Field(RSRC2 + 6, 1, must_be_zero=True)
    enable_sgpr_workgroup_id_x = Field(RSRC2 + 7, 1)
    enable_sgpr_workgroup_id_y = Field(RSRC2 + 8, 1)
    enable_sgpr_workgroup_id_z = Field(RSRC2 + 9, 1)
    enable_sgpr_workgroup_info = Field(RSRC2 + 10, 1)
    enable_vgpr_workitem_id = Field(RSRC2 + 11, 2)
    enable_exception_address_watch = Field(RSRC2 + 13, 1, must_be_zero=True)
    enable_exception_memory = Field(RSRC2 + 14, 1, must_be_zero=True)
    granulated_lds_size = Field(RSRC2 + 15, 9, must_be_zero=True)
    enable_exception_ieee_754_fp_invalid_operation = Field(RSRC2 + 24, 1)
    enable_exception_fp_denormal_source = Field(RSRC2 + 25, 1)
    enable_exception_ieee_754_fp_division_by_zero = Field(RSRC2 + 26, 1)
    enable_exception_ieee_754_fp_overflow = Field(RSRC2 + 27, 1)
    enable_exception_ieee_754_fp_underflow = Field(RSRC2 + 28, 1)
    enable_exception_ieee_754_fp_inexact = Field(RSRC2 + 29, 1)
    enable_exception_int_divide_by_zero = Field(RSRC2 + 30, 1)
    reserved_5 = Field(RSRC2 + 31, 1, must_be_zero=True)

    # Flat scratch is part of the architecture here, so no SGPRs are set up for it.
    enable_sgpr_private_segment_buffer = Field(PROPERTIES + 0, 1, must_be_zero=True)
    enable_sgpr_dispatch_ptr = Field(PROPERTIES + 1, 1)
    enable_sgpr_queue_ptr = Field(PROPERTIES + 2, 1)
    enable_sgpr_kernarg_segment_ptr = Field(PROPERTIES + 3, 1)
    enable_sgpr_dispatch_id = Field(PROPERTIES + 4, 1)
    enable_sgpr_flat_scratch_init = Field(PROPERTIES + 5, 1, must_be_zero=True)
    enable_sgpr_private_segment_size = Field(PROPERTIES + 6, 1)
    reserved_6 = Field(PROPERTIES + 7, 3, must_be_zero=True)
    enable_wavefront_size32 = Field(PROPERTIES + 10, 1, must_be_zero=True)
    uses_dynamic_stack = Field(PROPERTIES + 11, 1)
    reserved_7 = Field(PROPERTIES + 12, 4, must_be_zero=True)

    kernarg_preload_spec_length = Field(PRELOAD + 0, 7)
    kernarg_preload_spec_offset = Field(PRELOAD + 7, 9)
    reserved_8 = Field(480, 32, must_be_zero=True)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        """Read the 64 bytes."""
        return cls(int.from_bytes(data, "little"))

    def __bytes__(self) -> bytes:
        return self.word.to_bytes(self.SIZE, "little")

    @classmethod
    def fields(cls) -> Iterator[Field]:
        """Yield the fields from the lowest bit to the highest; together they are all 512 bits."""
        return iter(sorted((item for item in vars(Descriptor).values() if isinstance(item, Field)), key=_low))

    @property
    def kernel_code_entry_byte_offset(self) -> int:
        """Bytes from the descriptor to the kernel's first instruction, which may stand before it."""
        offset = self.encoded_entry_byte_offset
        return offset - (offset >> 63 << 64)

    @property
    def first_agpr(self) -> int:
        """Where the accumulation VGPRs begin in a wave's vector registers: the number of the others."""
        return 4 * (self.accum_offset + 1)

    @property
    def vgprs(self) -> int:
        """Vector registers that a wave gets, of both kinds together."""
        return 8 * (self.granulated_workitem_vgpr_count + 1)

    @property
    def unusable(self) -> tuple[str, ...]:
        """The names of the fields that must be zero and are not."""
        return tuple(field.name for field in self.fields() if field.must_be_zero and getattr(self, field.name))


def _low(field: Field) -> int:
    return field.low

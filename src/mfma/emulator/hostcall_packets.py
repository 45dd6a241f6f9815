"""Requests of a running kernel to the host, of which printing is one: the host's side of AMD's hostcalls.

A kernel that may ask for something has the hidden argument ``hidden_hostcall_buffer``, the address of a buffer that
device libraries and runtime share. In it are packets, one of which a wave takes from the stack of free ones. It writes
for each active lane eight words, puts the packet on the stack of ready ones and sleeps until the host has cleared the
packet's ready flag. Entries of a stack are packet numbers below a tag that changes with each use, and 0 is the end.

The layout is that of ROCm 4 to 7 (``rocclr/device/devhostcall.hpp`` of ROCm/clr, and ``__ockl_hostcall_internal`` of
the device libraries, as in Debian's rocm-device-libs 5.2 and Triton 3.9). A packet for each resident wave is there,
because the device libraries do not look whether one is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from mfma.emulator.hostcall_format import Streams
from mfma.emulator.memory import AddressSpace
from mfma.emulator.semantics.values import WAVE
from mfma.errors import KernelError

__all__ = ["Hostcalls"]

WORDS = 8
"""Words of 64 bits for each lane of a packet."""
HEADER = np.dtype([("next", "<u8"), ("active", "<u8"), ("service", "<u4"), ("control", "<u4")])
READY = 1
"""The bit of ``control`` that is set until the host has answered."""
SIGNAL_AT, HEADERS_AT = 64, 128
"""Bytes from the start of the buffer. The signal is zeros, a counter that wakes nobody: the host comes anyway."""
LONGEST = 1 << 20
"""Bytes of a message that the host keeps until its end has come."""


class Word(IntEnum):
    """Words of 64 bits at the start of the buffer."""

    HEADERS = 0  # device address
    PAYLOADS = 1  # device address
    DOORBELL = 2  # device address of a signal, which the kernel counts up
    FREE = 3  # top of the stack
    READY = 4  # top of the stack
    MASK = 5  # selects the packet's number in a stack's entry


class Service(IntEnum):
    """What a packet may ask for."""

    FUNCTION_CALL = 1
    PRINTF = 2
    DEVMEM = 3


class Hostcalls:
    """Serves the hostcalls of one launch.

    Args:
        space: device memory.
        waves: how many of them are under way at once, at most.
        streams: where they print.
    """

    def __init__(self, space: AddressSpace, waves: int, streams: Streams) -> None:
        packets = max(waves, 2)
        payloads_at = HEADERS_AT + HEADER.itemsize * packets
        size = payloads_at + 8 * WORDS * WAVE * packets
        self.buffer = space.allocate(size, name="the hostcall buffer")
        self.streams = streams
        self._messages: dict[int, bytearray] = {}
        self._next_message = 0
        memory, address = self.buffer.bytes, self.buffer.address
        self._words = memory[:SIGNAL_AT].view("<u8")
        self._headers = memory[HEADERS_AT:payloads_at].view(HEADER)
        self._payloads = memory[payloads_at:].view("<u8").reshape(packets, WAVE, WORDS)
        self._mask = (1 << (packets - 1).bit_length()) - 1
        # every packet leads to the one before it, the second to packet 0, whose entry must not be 0, the end
        self._headers["next"][1:] = np.arange(packets - 1)
        self._headers["next"][1] = self._mask + 1
        for word, value in {
            Word.HEADERS: address + HEADERS_AT,
            Word.PAYLOADS: address + payloads_at,
            Word.DOORBELL: address + SIGNAL_AT,
            Word.FREE: packets - 1,
            Word.MASK: self._mask,
        }.items():
            self._words[word] = value

    def serve(self) -> None:
        """Answer all packets that are ready, in the order in which they became so, and their lanes in ascending order.

        Raises:
            KernelError: one asks for what no host has, prints nonsense, or the buffer is damaged.
        """
        if not self._words[Word.READY]:
            return
        for packet in reversed(list(self._ready())):
            header = self._headers[packet]
            active = int(header["active"])
            for lane in range(WAVE):
                if active >> lane & 1:
                    self._answer(int(header["service"]), self._payloads[packet, lane])
            header["control"] &= ~np.uint32(READY)

    def _ready(self) -> Iterator[int]:
        """Take all packets from the stack, the last one first."""
        entry = int(self._words[Word.READY])
        self._words[Word.READY] = 0
        for _ in self._headers:
            packet = entry & self._mask
            if packet >= len(self._headers):
                break
            yield packet
            entry = int(self._headers["next"][packet])
            if not entry:
                return
        raise KernelError("the kernel damaged the hostcall buffer, through which it prints")

    def _answer(self, service: int, words: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> None:
        """Do what a lane asks for and put the answer in its words."""
        match service:
            case Service.PRINTF:
                words[0] = self._receive(int(words[0]), words[1:].tobytes())
            case Service.FUNCTION_CALL:
                raise KernelError(f"the kernel calls the host's function at {int(words[0]):#x}, and there is none")
            case Service.DEVMEM:
                raise KernelError(
                    "the kernel allocates device memory while it runs, which is not supported; pass it an array"
                )
            case _:
                raise KernelError(f"the kernel asks the host for service {service}, which nobody knows")

    def _receive(self, descriptor: int, data: bytes) -> int:
        """Take a part of a message and return its number, or, at the end, print it and return its length.

        The descriptor's bit 0 begins a message and bit 1 ends it; bits 5 to 7 are the words of this part, and those
        from bit 8 on the message's number, which the host gives out at its beginning.
        """
        begins, ends, words, number = descriptor & 1, descriptor >> 1 & 1, descriptor >> 5 & 7, descriptor >> 8
        if begins:
            number = self._next_message
            self._next_message += 1
            self._messages[number] = bytearray()
        message = self._messages.get(number)
        if message is None:
            raise KernelError(f"the kernel goes on with message {number}, which it has not begun")
        message += data[: 8 * words]
        if len(message) > LONGEST:
            raise KernelError(f"the kernel prints more than {LONGEST:,} bytes at once")
        if not ends:
            return number << 8 | descriptor & 0xFE
        del self._messages[number]
        control = int.from_bytes(message[:8], "little")
        if len(message) < 8 or control > 1:
            raise KernelError(f"the kernel prints to stream {control}; there are 0, stdout, and 1, stderr")
        return self.streams.print(bytes(message[8:]), error=bool(control))

"""Damaged files: whatever is in them, reading ends in an object or in one sentence. Run it with a number of mutants."""

import random
import resource
import sys
import time
from pathlib import Path

from mfma.codeobject import elf, load_object, read_objects
from mfma.errors import CodeObjectError

GOLDEN = Path(__file__).parent / "golden" / "codeobject"
SEEDS = (
    "kernels_v5_dwarf5.co",
    "kernels_v6_dwarf4.co",
    "descriptor.co",
    "bundle.hipfb",
    "compressed.hipfb",
)
EDGES = (0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
WIDE = (*EDGES, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 24, (1 << 64) - 1)


def mutant(rng: random.Random, data: bytes) -> bytes:
    """Change a few bytes, or cut or repeat some."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        # Most of what decides is in the tables, which are at both ends.
        at = rng.choice((rng.randrange(64), rng.randrange(1024), rng.randrange(len(data)), -rng.randrange(1, 2048)))
        at %= max(len(result), 1)
        match rng.randrange(8):
            case 0 | 1:
                result[at : at + 1] = bytes([rng.randrange(256)])
            case 2 | 3:
                size = rng.choice((2, 4, 8))
                at -= at % size
                value = rng.choice((*WIDE, len(data), rng.randrange(len(data) * 2))) % (1 << 8 * size)
                result[at : at + size] = value.to_bytes(size, "little")
            case 4:
                result[at : at + 1] = bytes([result[at] ^ 1 << rng.randrange(8)]) if result else b""
            case 5:
                other = rng.randrange(len(data))
                size = rng.choice((4, 8, 24, 64))
                result[at : at + size] = data[other : other + size]
            case 6:
                result[at : at + rng.choice((1, 8, 64))] = b""
            case 7:
                del result[rng.choice((at, len(result) - 1)) :]
    return bytes(result)


def probe(data: bytes) -> bool:
    """Use everything that an object offers; say whether that succeeded."""
    try:
        for entry in read_objects(data):
            str(entry.target_id)
        item = load_object(data)
        len(item.image)
        item.relocated(1 << 40, lambda name: 1 << 41)
        for at, code in item.text:
            for address in range(at, at + len(code), 64):
                item.source_line(address)
                item.function_at(address)
        repr(item), repr(item.kernels)
    except CodeObjectError as error:
        text = str(error)
        assert text.endswith("."), text
        assert "\n" not in text, text
        assert len(text) < 600, text
        return False
    return True


def limited(patch) -> None:
    """Refuse images above 16 MiB already, so that thousands of mutants do not take a gigabyte each."""
    patch(elf, "LARGEST", 1 << 24)


def run(count: int, seed: int = 0) -> tuple[int, int]:
    """Probe mutants of every seed in turn; return how many were read and refused."""
    rng = random.Random(seed)
    seeds = [(GOLDEN / name).read_bytes() for name in SEEDS]
    assert all(probe(data) for data in seeds[:4])
    read = sum(probe(mutant(rng, seeds[number % len(seeds)])) for number in range(count))
    return read, count - read


if __name__ == "__main__":
    limited(setattr)
    start = time.time()
    print(run(int(sys.argv[1]), int(sys.argv[2])), f"{time.time() - start:.1f} s")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MB")

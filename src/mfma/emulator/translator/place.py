"""Memory in which work-groups run natively, and what native code knows of a thread's part of a launch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfma.emulator.interpreter.wave import Group, Status, Wave
from mfma.emulator.semantics.machine import ACC
from mfma.emulator.translator.driver import Run, Stop
from mfma.emulator.translator.layout import SCALARS, SCRATCH, address
from mfma.emulator.translator.turn import IMAGE, ROW, Word

__all__ = ["Place", "Words"]


class Words:
    """Words of 64 bits that Python and native code share.

    Attributes:
        place: their host address.
    """

    def __init__(self, words: Sequence[int]) -> None:
        array = np.array(words, np.int64)
        self.place = address(array)
        self._words = memoryview(array)  # type: ignore[arg-type]

    def __getitem__(self, word: int) -> int:
        return self._words[word]

    def __setitem__(self, word: int, value: int) -> None:
        self._words[word] = value

    @classmethod
    def of_run(cls, grid: tuple[int, int, int], numbers: Sequence[int | None]) -> Words:
        """Those of a thread, see `Run`, where scalar registers begin with the numbers of a work-group, if at all."""
        words = dict.fromkeys(Run, 0)
        words[Run.COLUMNS], words[Run.ROWS], _ = grid
        words[Run.X], words[Run.Y], words[Run.Z] = (-1 if number is None else number for number in numbers)
        words[Run.VECTORS] = words[Run.ACCUMULATORS] = ACC
        return cls(list(words.values()))


class Place:
    """A place, see `mfma.emulator.translator.turn`.

    Args:
        group: the work-group that begins there.
        number: its number in the launch.
        keep: whether other work-groups can follow, which begin as this one did.

    Attributes:
        group: the work-group that is there.
        words: see `Word`.
    """

    def __init__(self, group: Group, number: int, keep: bool) -> None:
        self.group = group
        self.keep = keep
        waves = group.waves
        images = np.empty((len(waves) * keep, IMAGE), np.uint8)
        for image, wave in zip(images, waves, strict=False):
            image[:ROW] = wave.memory[:ROW]
            image[ROW:] = wave.memory[SCALARS:SCRATCH]
        self._images = images
        words = dict.fromkeys(Word, 0) | {
            Word.STOP: Stop.YIELDED, Word.WAVE: -1, Word.WAVES: len(waves), Word.NUMBER: number, Word.LAST: number,
            Word.IMAGES: address(images),
        }  # fmt: skip
        del words[Word.BLOCKS]
        self.words = Words([*words.values(), *(wave.place for wave in waves)])

    @property
    def wave(self) -> Wave:
        """The wave that goes on; between turns one that has not ended, or the last one."""
        number, waves = self.words[Word.WAVE], self.group.waves
        if number >= 0:
            return waves[number]
        return next((wave for wave in waves if wave.status is not Status.ENDED), waves[-1])

    def follow(self, number: int) -> None:
        """Let the work-group of this number begin when its turn is run."""
        self.words[Word.NUMBER] = number - 1

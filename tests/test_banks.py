"""Cycles of the banks of LDS: laws of strides, and a count of its own with sets of words, lane by lane."""

from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mfma.timing.banks import ATOMIC, BANKS, PHASES, READ, WRITE, bank_cycles, phases

LANES = np.arange(64)
ALL = np.ones((1, 64), np.bool_)
DIRECTIONS = READ, WRITE, ATOMIC
WIDTHS = 1, 2, 4, 8, 12, 16


def counted(addresses, width, direction, active):
    """Cycles and phases of one wave: each bank has a list, each lane of a phase puts its words there."""
    cycles = ideal = 0
    for lanes in phases(direction, width):
        asked = [[] for _ in range(BANKS)]
        for lane in lanes:
            for word in range(addresses[lane] // 4, addresses[lane] // 4 + max(width // 4, 1)) if active[lane] else ():
                if direction == ATOMIC or word not in asked[word % BANKS]:
                    asked[word % BANKS].append(word)
        cycles += max(map(len, asked))
        ideal += any(asked)
    return cycles, ideal


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("width", [4, 8, 16])
def test_strides(width, direction):
    """Lanes a stride apart meet in banks as often as the stride shares factors of two with the lanes of a phase."""
    for stride in range(1, 130):
        found = bank_cycles(stride * width * LANES[None], width, direction, ALL)
        together = 128 // width
        assert found.ideal == 64 // together
        assert found.cycles == found.ideal * gcd(stride, together)


@pytest.mark.parametrize("width", WIDTHS)
def test_one_address_is_one_access_but_for_atomics(width):
    everywhere = np.full((1, 64), 4 * 77)
    for direction in (READ, WRITE):
        found = bank_cycles(everywhere, width, direction, ALL)
        assert found.cycles == found.ideal
    assert bank_cycles(everywhere, width, ATOMIC, ALL).cycles == 64


def test_bytes_of_a_word_are_one_access():
    assert bank_cycles(LANES[None], 1, READ, ALL) == (2, 2)
    assert bank_cycles(2 * LANES[None], 2, WRITE, ALL) == (2, 2)


def test_lanes_that_are_off_ask_for_nothing():
    addresses = 128 * LANES[None]
    assert bank_cycles(addresses, 4, READ, ~ALL) == (0, 0)
    assert bank_cycles(addresses, 4, READ, LANES[None] < 5) == (5, 1)
    assert bank_cycles(addresses, 4, READ, LANES[None] % 32 == 9) == (2, 2)


def test_every_lane_is_served_once():
    for (_, width), groups in PHASES.items():
        assert sorted(lane for lanes in groups for lane in lanes) == list(LANES)
        assert {len(lanes) * width for lanes in groups} == {128}


@given(
    arrays(np.int64, 64, elements=st.integers(0, 1 << 16)),
    st.sampled_from(WIDTHS),
    st.sampled_from(DIRECTIONS),
    arrays(np.bool_, 64),
    st.sampled_from([1, 4, 16, 128]),
)
def test_random_addresses(addresses, width, direction, active, step):
    addresses = addresses // step * step
    assert bank_cycles(addresses[None], width, direction, active[None]) == counted(addresses, width, direction, active)


def test_waves_add_up():
    random = np.random.default_rng(0)
    addresses, active = random.integers(0, 4096, (9, 64)), random.random((9, 64)) < 0.7
    apart = [counted(a, 8, READ, on) for a, on in zip(addresses, active, strict=True)]
    assert bank_cycles(addresses, 8, READ, active) == tuple(map(sum, zip(*apart, strict=True)))

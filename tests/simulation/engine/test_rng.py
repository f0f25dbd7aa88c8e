"""The generator in plain Python draws what the compiled one draws."""

import numpy as np
import pytest
from numba import njit

from varts.simulation.engine import splitmix
from varts.simulation.engine.compiled import rng

WORDS = [0, 1, 2**63, 2**64 - 1, *map(int, np.random.default_rng(1).integers(2**63, size=40))]


@njit
def compiled(seed, key, count):
    first = rng.stream(seed, key)
    word, second = rng.bits(first)
    arm, third = rng.below(count, second)
    u, fourth = rng.uniform(second)
    return first, word, second, arm, third, u, fourth


def plain(seed, key, count):
    first = splitmix.stream(seed, key)
    word, second = splitmix.bits(first)
    arm, third = splitmix.below(count, second)
    other, fourth = splitmix.bits(second)
    return first, word, second, arm, third, (other >> 11) * splitmix.TO_UNIT, fourth


@pytest.mark.parametrize("seed", WORDS)
def test_both_generators_are_the_same(seed):
    for key in (0, 1, 2, 4, 10**6, 2**62):
        for count in (1, 2, 3, 10, 1000, 10**6):
            both = compiled(np.uint64(seed), np.int64(key), np.int64(count))
            assert tuple(both) == plain(seed, key, count)


def test_published_numbers_of_splitmix64():
    """The first outputs for the seed 1234567, of the authors' own program."""
    state, found = 1234567, []
    for _ in range(5):
        word, state = splitmix.bits(state)
        found.append(word)
    assert found == [
        6457827717110365317, 3203168211198807973, 9817491932198370423,
        4593380528125082431, 16408922859458223821,
    ]  # fmt: skip


def test_numpy_integers_are_welcome():
    assert splitmix.stream(np.uint64(2**63), np.int64(3)) == splitmix.stream(2**63, 3)
    assert splitmix.below(np.int64(7), np.uint64(2**64 - 1)) == splitmix.below(7, 2**64 - 1)

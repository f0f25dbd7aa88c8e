"""SplitMix64 on Python's integers: twins of the first functions in `compiled/rng.py`.

The loop also runs uncompiled, around policies in plain Python. There, these are several times
faster than calls into compiled code. `tests/simulation/engine/test_rng.py` compares the two.
"""

from __future__ import annotations

GOLDEN, MIX1, MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
TO_UNIT = 2.0**-53
WORD = 2**64 - 1
REWARD_STRIDE = (GOLDEN << 20) & WORD  # 2^20 steps: see `compiled/reward_tape.py`


def mix(z: int) -> int:
    """Scramble a 64-bit word, one to one."""
    z = ((z ^ (z >> 30)) * MIX1) & WORD
    z = ((z ^ (z >> 27)) * MIX2) & WORD
    return z ^ (z >> 31)


def stream(seed: int, key: int) -> int:
    """Return the first state of the stream `key` under `seed`. Streams nest: a seed is a state."""
    return mix((mix(int(seed)) + mix((int(key) * GOLDEN + GOLDEN) & WORD)) & WORD)


def bits(state: int) -> tuple[int, int]:
    """Draw 64 random bits; also return the new state."""
    state = (int(state) + GOLDEN) & WORD
    return mix(state), state


def uniform_at(tape: int, place: int) -> float:
    """Return the uniform number from [0, 1) at a place of a stream, counted from 0."""
    word, _ = bits((int(tape) + int(place) * GOLDEN) & WORD)
    return (word >> 11) * TO_UNIT


def below(count: int, state: int) -> tuple[int, int]:
    """Draw an integer from 0 to count - 1; also return the new state."""
    word, state = bits(state)
    return int((word >> 11) * TO_UNIT * count), state

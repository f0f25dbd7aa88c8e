"""NumPy random streams keyed by integers; nothing is spawned statefully, nothing is global."""

from __future__ import annotations

import numpy as np

# What a stream is for. The numbers are part of every result: append, never renumber.
INSTANCES, PRIOR_SAMPLES, PROBLEM_CHECK, DRIFT, HELD_OUT, VISITS = 0, 1, 2, 3, 4, 5


def generator(seed: int, *key: int) -> np.random.Generator:
    """The generator for (seed, key): the same numbers whoever asks, in whatever order.

    >>> generator(7, INSTANCES, 3).random() == generator(7, INSTANCES, 3).random()
    True
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))

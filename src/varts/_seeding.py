"""NumPy random streams keyed by integers; nothing is spawned statefully, nothing is global."""

from __future__ import annotations

import numpy as np

# The purpose of each stream. The numbers are part of every result: append, never renumber.
INSTANCES, PRIOR_SAMPLES, PROBLEM_CHECK, DRIFT, HELD_OUT, VISITS = 0, 1, 2, 3, 4, 5


def generator(seed: int, *key: int) -> np.random.Generator:
    """The generator for (seed, key). Its numbers don't depend on what other code has drawn.

    >>> generator(7, INSTANCES, 3).random() == generator(7, INSTANCES, 3).random()
    True
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))

"""Seeds of statistical tests: fixed by default, fresh when `VARTS_TEST_SEED` is set.

With fixed seeds a test passes or fails the same way every time. `make test-seeds` sets
`VARTS_TEST_SEED` to a new number, so that every statistical test runs on data it has never seen,
and fails with its stated false-alarm rate. A failure prints the command that repeats it.
"""

import os

import numpy as np

VARIABLE = "VARTS_TEST_SEED"


def fresh(seed):
    """Return `seed`, or with `VARTS_TEST_SEED` set a number that depends on both.

    Args:
        seed: The fixed seed, a whole number from 0.
    """
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return seed
    return int(np.random.SeedSequence([int(chosen), seed]).generate_state(1)[0])

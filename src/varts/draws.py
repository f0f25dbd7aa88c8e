"""Random numbers for a `StatePolicy`: the same calls work compiled and in plain Python.

In a simulation, `rng` is the run's own stream of random numbers; elsewhere it is NumPy's generator.

    >>> import numpy as np
    >>> from varts import draws
    >>> rng = np.random.default_rng(1)
    >>> round(draws.uniform(rng), 3), draws.integer(rng, 10)
    (0.512, 7)
"""

from __future__ import annotations

import numpy as np

Rng = np.random.Generator


def uniform(rng: Rng) -> float:
    """Draw a number from [0, 1).

    Args:
        rng: The `rng` argument of `pick` or `learn`.
    """
    return rng.random()


def normal(rng: Rng) -> float:
    """Draw a standard normal number.

    Args:
        rng: The `rng` argument of `pick` or `learn`.
    """
    return rng.standard_normal()


def exponential(rng: Rng) -> float:
    """Draw a standard exponential number.

    Args:
        rng: The `rng` argument of `pick` or `learn`.
    """
    return rng.standard_exponential()


def gamma(rng: Rng, shape: float) -> float:
    """Draw from a Gamma distribution with scale 1.

    Args:
        rng: The `rng` argument of `pick` or `learn`.
        shape: The shape, above 0.
    """
    return rng.standard_gamma(shape)


def beta(rng: Rng, a: float, b: float) -> float:
    """Draw from a Beta distribution.

    Args:
        rng: The `rng` argument of `pick` or `learn`.
        a: The first parameter, above 0.
        b: The second.
    """
    return rng.beta(a, b)


def student(rng: Rng, df: float) -> float:
    """Draw from a standard t distribution.

    Args:
        rng: The `rng` argument of `pick` or `learn`.
        df: The degrees of freedom, above 0; np.inf for a normal number.
    """
    return rng.standard_normal() if df == np.inf else rng.standard_t(df)


def integer(rng: Rng, below: int) -> int:
    """Draw an integer from 0 to `below` - 1, all equally likely.

    Args:
        rng: The `rng` argument of `pick` or `learn`.
        below: How many there are to choose from.
    """
    return int(rng.integers(below))

"""Drawn instances of a bandit problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from varts._validation import Floats, reals


@dataclass(frozen=True)
class Instances:
    """Drawn instances: arrays with a row per instance and a column per arm.

    Args:
        mean: The arms' means.
        variance: The variances of their rewards.
        a: The first argument of the reward function.
        b: The second.
    """

    mean: Floats
    variance: Floats
    a: Floats
    b: Floats

    def array(self, name: str, size: int, K: int) -> Floats:
        """Return one of the arrays, checked.

        Args:
            name: Its name.
            size: How many instances there must be.
            K: How many arms.
        """
        numbers = reals(f"{name} of drawn instances", getattr(self, name), infinite=name != "mean")
        if numbers.shape != (size, K):
            raise ValueError(
                f"{name} of drawn instances must have the shape {(size, K)}, got {numbers.shape}"
            )
        return np.ascontiguousarray(numbers)  # else every layout would have a kernel of its own


def gaussian_instances(mean: Floats, sigma: Floats) -> Instances:
    """Rewards N(mean, sigma^2)."""
    return Instances(mean, sigma**2, a=mean, b=sigma)


def bernoulli_instances(mean: Floats) -> Instances:
    """Rewards 0 or 1."""
    return Instances(mean, mean * (1 - mean), a=mean, b=np.zeros_like(mean))


def beta_instances(mean: Floats, s: float) -> Instances:
    """Rewards Beta(s mean, s (1 - mean))."""
    return Instances(mean, mean * (1 - mean) / (s + 1), a=s * mean, b=s * (1 - mean))

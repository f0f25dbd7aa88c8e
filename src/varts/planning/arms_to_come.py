"""The arms that an experiment may have, drawn from a prior that is uncertain itself.

A prior that was fitted to five past experiments might have been a little different after five other
ones. So each block of simulated experiments first draws a prior from what the fit leaves open, and
then its arms from that prior. The policy knows nothing of this: it gets the prior as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from varts._validation import Floats, is_real, real
from varts.priors import NormalGamma
from varts.priors.own_arms import ALPHA_CENTER, KAPPA_CENTER, LOG_SD
from varts.problems import BernoulliBandit, GaussianBandit, Instances, Problem
from varts.problems.classic import bernoulli_instances, gaussian_instances
from varts.simulation.results import RUNS_PER_BLOCK

# Errors of logarithms above this say that the history hardly knows the number at all.
LARGEST_LOG_ERROR = 1.5
LARGEST_RATE_SPREAD = 0.5  # sd of the arms' rates, relative to their mean


class GaussianArms(Problem):
    """Gaussian rewards of arms whose prior is uncertain.

    Args:
        theta: mu, log kappa, log alpha and log(beta/alpha), a row per arm.
        covariance: How uncertain these are: of all arms together, since they share the history.
    """

    def __init__(self, theta: Floats, covariance: Floats) -> None:
        self.theta, self.K = theta, len(theta)
        sd = np.sqrt(np.diag(covariance))
        shrink = np.minimum(1.0, np.append(1.0, LARGEST_LOG_ERROR / np.maximum(sd[1:], 1e-9)))
        self.covariance = covariance * shrink * shrink[:, None]

    reward = staticmethod(GaussianBandit.reward)

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        rows = []
        for start in range(0, size, RUNS_PER_BLOCK):
            runs = min(RUNS_PER_BLOCK, size - start)
            error = rng.multivariate_normal(np.zeros(4), self.covariance, method="eigh")
            mu, *logs = (self.theta + error).T
            kappa, alpha, v = np.exp(logs)
            rows.append(NormalGamma(mu, kappa, alpha, alpha * v).sample(rng, runs))
        mean, lam = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return gaussian_instances(mean, 1 / np.sqrt(lam))

    def describe(self) -> dict[str, Any]:
        numbers = {"theta": self.theta.tolist(), "covariance": self.covariance.tolist()}
        return {**super().describe(), **numbers}


class RateArms(Problem):
    """Rewards 0 or 1 of arms whose chances are Beta with a known mean and an uncertain spread.

    Args:
        rate: The mean chance.
        K: The number of arms.
        spread: The sd of the arms' chances; None if nothing is known about it.
    """

    def __init__(self, rate: float, K: int, spread: float | None) -> None:
        self.rate, self.K, self.spread = rate, K, spread

    reward = staticmethod(BernoulliBandit.reward)

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        p, rows = self.rate, []
        for start in range(0, size, RUNS_PER_BLOCK):
            runs = min(RUNS_PER_BLOCK, size - start)
            spread = self.spread
            if spread is None:
                kappa = KAPPA_CENTER * np.exp(LOG_SD * rng.standard_normal())
                spread = min(np.sqrt(p * (1 - p) / kappa), LARGEST_RATE_SPREAD * min(p, 1 - p))
            total = p * (1 - p) / spread**2 - 1
            rows.append(rng.beta(p * total, (1 - p) * total, (runs, self.K)))
        return bernoulli_instances(np.concatenate(rows))

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "rate": self.rate, "spread": self.spread}


def arms_from_prior(prior: NormalGamma, fit: Mapping[str, Any]) -> tuple[Problem, int | None]:
    """The arms to come, and the number of past experiments that the prior was fitted to, if any.

    Args:
        prior: The prior with an entry per arm.
        fit: The "fit" section in the file of a fitted prior; empty for a prior without a history.
    """
    numbers, covariance = fit.get("estimate"), np.asarray(fit.get("covariance", ()), dtype=float)
    if not isinstance(numbers, Mapping) or covariance.shape != (4, 4):
        return GaussianBandit(prior), None
    mu, kappa, alpha, beta = (float(numbers[name]) for name in ("mu", "kappa", "alpha", "beta"))
    theta = np.array([mu, np.log(kappa), np.log(alpha), np.log(beta / alpha)])
    experiments: Any = fit.get("experiments")
    K = int(np.size(prior.mu))
    found = GaussianArms(np.tile(theta, (K, 1)), covariance)
    return found, int(experiments) if is_real(experiments) else None


def arms_without_prior(mean: Any, sd: Any, K: int, spread: Any) -> GaussianArms:
    """Gaussian arms that differ as those of an experiment without a prior are assumed to.

    Args:
        mean: A typical mean reward.
        sd: A typical standard deviation of rewards.
        K: The number of arms.
        spread: The sd of the arms' means; None if nothing is known about it.
    """
    mean, sd = real("mean", mean), real("reward_sd", sd, above=0)
    kappa, error = KAPPA_CENTER, LOG_SD
    if spread is not None:
        kappa, error = (sd / real("mean_sd", spread, above=0)) ** 2, 0.0
    theta = np.array([mean, np.log(kappa), np.log(ALPHA_CENTER), 2 * np.log(sd)])
    return GaussianArms(np.tile(theta, (K, 1)), np.diag([0.0, error**2, LOG_SD**2, 0.0]))

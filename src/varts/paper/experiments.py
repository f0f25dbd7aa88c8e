"""The settings of the paper's experiments: three problems, eight algorithms, their priors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from varts.policies import (
    TS14,
    TS20,
    UCB1,
    UCBV,
    BernoulliTS,
    GaussianTS,
    Policy,
    UCB1Tuned,
    VarTS,
)
from varts.priors import NormalGamma
from varts.problems import BernoulliBandit, BetaBandit, GaussianBandit, Problem

FIGURE1_ARMS = 10
FIGURE2_ARMS = (2, 4, 8, 16, 32)  # the paper names only the last
PRIOR_SAMPLES = 10_000  # per arm, for the method of moments


def gaussian_prior(K: int) -> NormalGamma:
    """mu_i = i/(K+1), kappa = K, alpha = 4, beta = 1: the Gaussian problem's own prior.

    >>> gaussian_prior(3)
    NormalGamma(mu=[0.25 0.5  0.75], kappa=[3. 3. 3.], alpha=[4. 4. 4.], beta=[1. 1. 1.])
    """
    return NormalGamma(np.arange(1, K + 1) / (K + 1), float(K), 4.0, 1.0)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "bernoulli": BernoulliBandit,
    "beta": BetaBandit,
    "gaussian": lambda K: GaussianBandit(gaussian_prior(K)),
}


def varts_prior(problem: Problem) -> NormalGamma:
    """The true prior where there is one, else the method of moments on samples of the problem."""
    if isinstance(problem, GaussianBandit) and isinstance(problem.prior, NormalGamma):
        return problem.prior
    return problem.estimate_prior(samples=PRIOR_SAMPLES)


def policies(problem: Problem) -> dict[str, Policy]:
    """VarTS and the seven baselines, in the order of the paper."""
    made = [
        VarTS(varts_prior(problem)),
        UCB1(),
        UCB1Tuned(),
        UCBV(),
        BernoulliTS(),
        GaussianTS(),
        TS14(),
        TS20(),
    ]
    return {policy.label: policy for policy in made}

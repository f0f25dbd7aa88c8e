"""The settings of the paper's experiments: three problems, eight algorithms, their priors."""

from __future__ import annotations

from varts.policies import Policy, VarTS, baselines
from varts.problems import BernoulliBandit, BetaBandit, GaussianBandit, Problem

FIGURE1_ARMS = 10
FIGURE2_ARMS = (2, 4, 8, 16, 32)  # the paper names only the last

# With a number of arms alone, each has the paper's prior.
PROBLEMS: dict[str, type[BernoulliBandit | BetaBandit | GaussianBandit]] = {
    "bernoulli": BernoulliBandit,
    "beta": BetaBandit,
    "gaussian": GaussianBandit,
}


def policies(problem: Problem) -> dict[str, Policy]:
    """VarTS and the seven baselines, in the order of the paper."""
    return {VarTS.label: VarTS(problem.own_prior()), **baselines()}

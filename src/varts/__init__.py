"""varts: variance-adaptive Thompson sampling, its rivals, and what it takes to compare them.

    >>> import numpy as np, varts
    >>> prior = varts.NormalGamma(mu=0, kappa=1, alpha=2, beta=1)
    >>> stats = varts.ArmStats.from_rewards([[1, 3, 5], [2, 2, 2]])
    >>> varts.choose(varts.VarTS(prior), stats, t=7, rng=np.random.default_rng(0))
    0

Importing this package does not import Numba, matplotlib or polars; what needs them loads them.
"""

from typing import TYPE_CHECKING, Any

from varts import bounds
from varts.beliefs import Beta, StudentT
from varts.policies import (
    MVTS,
    TS14,
    TS20,
    UCB1,
    UCBV,
    BeliefPolicy,
    BernoulliTS,
    EvenSplit,
    GaussianTS,
    IndexPolicy,
    KnownVarianceTS,
    Policy,
    UCB1Tuned,
    VarTS,
    choose,
    index_policy,
    register,
)
from varts.priors import Normal, NormalGamma
from varts.problems import BernoulliBandit, BetaBandit, GaussianBandit, Instances, Problem
from varts.stats import ArmStats

if TYPE_CHECKING:
    from varts import live
    from varts.fitting import FittedPrior, fit_prior
    from varts.live import Decision, Experiment, open
    from varts.planning import Plan, plan
    from varts.study import Study, simulate

__version__ = "0.1.0"

__all__ = [
    "MVTS",
    "TS14",
    "TS20",
    "UCB1",
    "UCBV",
    "ArmStats",
    "BeliefPolicy",
    "BernoulliBandit",
    "BernoulliTS",
    "Beta",
    "BetaBandit",
    "Decision",
    "EvenSplit",
    "Experiment",
    "FittedPrior",
    "GaussianBandit",
    "GaussianTS",
    "IndexPolicy",
    "Instances",
    "KnownVarianceTS",
    "Normal",
    "NormalGamma",
    "Plan",
    "Policy",
    "Problem",
    "StudentT",
    "Study",
    "UCB1Tuned",
    "VarTS",
    "bounds",
    "choose",
    "fit_prior",
    "index_policy",
    "live",
    "open",
    "plan",
    "register",
    "simulate",
]

_later = {
    "Decision": "varts.live",
    "Experiment": "varts.live",
    "FittedPrior": "varts.fitting",
    "Plan": "varts.planning",
    "Study": "varts.study",
    "fit_prior": "varts.fitting",
    "open": "varts.live",
    "plan": "varts.planning",
    "simulate": "varts.study",
}


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for (PEP 562)."""
    from importlib import import_module

    if name == "live":
        return import_module("varts.live")
    if name not in _later:
        raise AttributeError(f"module 'varts' has no attribute {name!r}")
    value = getattr(import_module(_later[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

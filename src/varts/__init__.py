"""varts: variance-adaptive Thompson sampling, its rivals, and what it takes to compare them.

    >>> import numpy as np, varts
    >>> prior = varts.NormalGamma(mu=0, kappa=1, alpha=2, beta=1)
    >>> stats = varts.ArmStats.from_rewards([[1, 3, 5], [2, 2, 2]])
    >>> varts.choose(varts.VarTS(prior), stats, t=7, rng=np.random.default_rng(0))
    0

Importing this package imports next to nothing; what is asked for is loaded then.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from varts import bounds, live
    from varts.beliefs import Beta, StudentT
    from varts.fitting import FittedPrior, fit_prior
    from varts.live import Decision, Experiment, open
    from varts.planning import Plan, plan
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

_modules = ("bounds", "live")
_homes = {
    "varts.beliefs": ("Beta", "StudentT"),
    "varts.fitting": ("FittedPrior", "fit_prior"),
    "varts.live": ("Decision", "Experiment", "open"),
    "varts.planning": ("Plan", "plan"),
    "varts.policies": (
        "MVTS",
        "TS14",
        "TS20",
        "UCB1",
        "UCBV",
        "BeliefPolicy",
        "BernoulliTS",
        "EvenSplit",
        "GaussianTS",
        "IndexPolicy",
        "KnownVarianceTS",
        "Policy",
        "UCB1Tuned",
        "VarTS",
        "choose",
        "index_policy",
        "register",
    ),
    "varts.priors": ("Normal", "NormalGamma"),
    "varts.problems": ("BernoulliBandit", "BetaBandit", "GaussianBandit", "Instances", "Problem"),
    "varts.stats": ("ArmStats",),
    "varts.study": ("Study", "simulate"),
}
_home = {name: module for module, names in _homes.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it first is (PEP 562): nothing here is needed by every program,
    and the command line can be interrupted while it loads."""
    if name in _modules:
        return import_module(f"varts.{name}")
    if name not in _home:
        raise AttributeError(f"module 'varts' has no attribute {name!r}")
    value = getattr(import_module(_home[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

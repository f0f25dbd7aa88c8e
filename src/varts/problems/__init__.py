"""Bandit problems: the source of a simulation's arms and rewards.

`base` defines a problem. `classic` has the paper's three, `revenue` rewards that are mostly 0,
`heavy_tails` Pareto rewards and mixtures, and `recorded` recorded rewards. In `drift` the arms
change during a run, and in `contextual` rewards depend on features. In `returning` rewards of the
same visitor are alike.
"""

from varts.problems.base import Fixed, Instances, Problem
from varts.problems.classic import BernoulliBandit, BetaBandit, GaussianBandit
from varts.problems.contextual import ContextualProblem, LinearBandit, RecordedBandit, Visits, Wheel
from varts.problems.drift import Cycle, Drifting, Steps, Walk
from varts.problems.heavy_tails import MixtureBandit, ParetoBandit
from varts.problems.recorded import EmpiricalBandit
from varts.problems.returning import Returning
from varts.problems.revenue import RevenueBandit

__all__ = [
    "BernoulliBandit",
    "BetaBandit",
    "ContextualProblem",
    "Cycle",
    "Drifting",
    "EmpiricalBandit",
    "Fixed",
    "GaussianBandit",
    "Instances",
    "LinearBandit",
    "MixtureBandit",
    "ParetoBandit",
    "Problem",
    "RecordedBandit",
    "Returning",
    "RevenueBandit",
    "Steps",
    "Visits",
    "Walk",
    "Wheel",
]

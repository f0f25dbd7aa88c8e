"""Bandit problems: what a simulation draws its arms and rewards from.

`base` says what a problem is, `classic` has the paper's three, `revenue` rewards that are mostly 0,
`recorded` rewards that were recorded. In `drift` the arms change while a run goes on, in
`contextual` rewards depend on who comes.
"""

from varts.problems.base import Fixed, Instances, Problem
from varts.problems.classic import BernoulliBandit, BetaBandit, GaussianBandit
from varts.problems.contextual import ContextualProblem, LinearBandit, RecordedBandit, Visits, Wheel
from varts.problems.drift import Cycle, Drifting, Steps, Walk
from varts.problems.recorded import EmpiricalBandit
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
    "Problem",
    "RecordedBandit",
    "RevenueBandit",
    "Steps",
    "Visits",
    "Walk",
    "Wheel",
]

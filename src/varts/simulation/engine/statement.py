"""Whether a problem pays what it states: the built-in ones are known to, others are tried once."""

from __future__ import annotations

import hashlib
from typing import Any

from varts import _seeding
from varts.problems import (
    BernoulliBandit,
    BetaBandit,
    Drifting,
    EmpiricalBandit,
    Fixed,
    GaussianBandit,
    Problem,
    RevenueBandit,
)
from varts.problems.revenue import REVENUES
from varts.simulation.engine.kernel import data_array, reward_kind, reward_of

BUILT_IN = (GaussianBandit, BernoulliBandit, BetaBandit, Fixed, EmpiricalBandit, RevenueBandit)
_checked: set[tuple[Any, ...]] = set()  # other problems, by their reward and a drawn instance


def check_problem(problem: Problem) -> None:
    """Hold a user's own problem against what it states, the first time that it is met."""
    for part in problem.parts if isinstance(problem, Drifting) else (problem,):
        _check(part)


def _check(problem: Problem) -> None:
    reward = reward_of(problem)
    known = reward is None or problem.reward in REVENUES.values()
    if type(problem) in BUILT_IN and known:
        return
    drawn = problem.draw(_seeding.generator(0, _seeding.PROBLEM_CHECK), 1)
    arrays = (drawn.array(name, 1, problem.K) for name in ("mean", "variance", "a", "b"))
    content = b"".join(array.tobytes() for array in (*arrays, data_array(problem)))
    instance = hashlib.sha256(content).digest()
    met = reward_kind(problem), reward, instance
    if met not in _checked:
        problem.check()
        _checked.add(met)

"""EUCBV (Mukherjee, Naveen, Sudarsanam & Ravindran 2018): UCB-V in phases that drop arms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, integer, real
from varts.beliefs import pick_best
from varts.policies.base import Policy
from varts.policies.registry import register
from varts.stats import ArmStats


@dataclass
class Phases:
    """Where a run is: its phase, the arms still in play and what they have paid."""

    stats: ArmStats
    active: NDArray[np.bool_]
    end: float  # the plays after which the phase may end
    number: int = 0
    epsilon: float = 1.0


@register
@dataclass(frozen=True)
class EUCBV(Policy):
    """EUCBV: mean + sqrt(rho (v + 2) ln(psi horizon epsilon) / (4 n)) of the arms not dropped.

    For rewards in [0, 1], and simulations only: an arm is dropped once its upper bound is below
    another's lower bound, and epsilon is halved from phase to phase, so the choice depends on the
    path and not on the statistics alone. It is interpreted, and slow.

    Args:
        horizon: The number of rounds.
        rho: The factor of the bonus.
        psi: The factor of the horizon in the logarithm; horizon / K^2 by default.

    >>> policy = EUCBV(horizon=2000)
    >>> stats = ArmStats(n=[10] * 10, mean=[0.5] * 10, m2=[4.0] * 10)
    >>> policy.widths(stats, epsilon=1.0)[0].round(9)
    np.float64(0.563825365)
    """

    horizon: int
    rho: float = 0.5
    psi: float | None = None

    label: ClassVar[str] = "EUCBV"
    forced: ClassVar[int] = 1

    def __post_init__(self) -> None:
        integer("horizon", self.horizon, at_least=1)
        real("rho", self.rho, above=0)
        if self.psi is not None:
            real("psi", self.psi, above=0)

    def _log(self, K: int, factor: float) -> float:
        """ln(psi horizon factor), not below 0, which late phases would come to."""
        psi = self.horizon / K**2 if self.psi is None else self.psi
        return max(float(np.log(psi * self.horizon * factor)), 0.0)

    def pulls(self, K: int, epsilon: float) -> int:
        """Return how often a phase pulls each arm: ln(psi horizon epsilon^2) / (2 epsilon).

        Args:
            K: The number of arms.
            epsilon: That of the phase.
        """
        return int(np.ceil(self._log(K, epsilon**2) / (2 * epsilon)))

    def widths(self, stats: ArmStats, epsilon: float) -> Floats:
        """Return the bonus of every arm.

        Args:
            stats: The arms' statistics.
            epsilon: That of the phase.
        """
        variance = stats.m2 / stats.n
        log = self._log(stats.K, epsilon)
        return np.asarray(np.sqrt(self.rho * (variance + 2) * log / (4 * stats.n)))

    def start(self, K: int, rng: np.random.Generator) -> None:
        run = Phases(ArmStats.empty(K), np.ones(K, dtype=np.bool_), K * self.pulls(K, 1.0))
        self.__dict__["_run"] = run

    def update(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        run: Phases = self.__dict__["_run"]
        run.stats = stats = run.stats.observe(arm, reward)
        plays, K = int(stats.n.sum()), stats.K
        if plays <= K:  # the forced pulls
            return
        width = self.widths(stats, run.epsilon)
        lower = np.max(stats.mean - width, where=run.active, initial=-np.inf)
        run.active &= stats.mean + width >= lower
        if plays >= run.end and run.number <= np.floor(0.5 * np.log2(self.horizon / math.e)):
            run.number, run.epsilon = run.number + 1, run.epsilon / 2
            run.end = plays + int(run.active.sum()) * self.pulls(K, run.epsilon)

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        run: Phases = self.__dict__["_run"]
        upper = stats.mean + self.widths(stats, run.epsilon)
        return pick_best(np.where(run.active, upper, -np.inf), rng)

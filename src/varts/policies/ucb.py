"""Upper confidence bounds in closed form: UCB1, UCB1-Tuned and UCB1-Normal (Auer, Cesa-Bianchi &
Fischer 2002), UCB-V (Audibert, Munos & Szepesvari 2009), MOSS (Audibert & Bubeck 2009) and its
anytime form (Degenne & Perchet 2016). All but UCB1-Normal are for rewards in [0, 1] by default.

In round t there have been t - 1 pulls: the UCB1 policies use ln(t - 1) and UCB-V uses ln(t), as in
the original papers. Variances are biased, m2 / n, as in these papers; UCB1-Normal's is unbiased.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, integer, real
from varts.beliefs import pick_best
from varts.policies.base import IndexPolicy, Policy, even_share
from varts.policies.registry import register
from varts.stats import ArmStats


@register
@dataclass(frozen=True)
class UCB1(IndexPolicy):
    """UCB1: mean + sqrt(2 ln(plays) / n).

    >>> stats = ArmStats(n=[4, 4], mean=[0.5, 0.25], m2=[1.0, 0.75])
    >>> UCB1().indices(stats, t=9).round(4)          # 0.5 + sqrt(2 ln(8) / 4) = 1.5197
    array([1.5197, 1.2697])
    """

    label: ClassVar[str] = "UCB1"
    grows: ClassVar[bool] = True

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any) -> Any:
        return mean, np.sqrt(2 / n)

    @staticmethod
    def clock(t: Any) -> Any:
        return np.sqrt(np.log(t - 1))

    @staticmethod
    def index(mean: Any, width: Any, growth: Any) -> Any:
        return mean + width * growth


@register
@dataclass(frozen=True)
class UCB1Tuned(IndexPolicy):
    """UCB1-Tuned: the variance replaces UCB1's constant, capped at 1/4, the largest in [0, 1].

    Without the cap, the regret in the paper's Gaussian experiment is far larger.

    >>> stats = ArmStats(n=[400, 4], mean=[0.5, 0.25], m2=[4.0, 0.75])
    >>> UCB1Tuned().indices(stats, t=405).round(4)   # 0.5 + sqrt(0.01500 * (0.01 + 0.1732))
    array([0.5524, 0.8624])
    """

    label: ClassVar[str] = "UCB1-Tuned"
    grows: ClassVar[bool] = True

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any) -> Any:
        return mean, 1 / n, m2 / n

    @staticmethod
    def clock(t: Any) -> Any:
        return np.log(t - 1)

    @staticmethod
    def index(mean: Any, nth: Any, variance: Any, log_plays: Any) -> Any:
        exploration = log_plays * nth
        return mean + np.sqrt(exploration * np.minimum(0.25, variance + np.sqrt(2 * exploration)))


@register
@dataclass(frozen=True)
class UCBV(IndexPolicy):
    """UCB-V: mean + sqrt(2 v E / n) + 3 c b E / n with E = zeta ln(t), for rewards in [0, b].

    Args:
        zeta: The factor of ln(t).
        c: The factor of the last term.
        b: The largest possible reward.
        horizon: If given, use the fixed-horizon setting E = ln(3 horizon^2), which ignores zeta
            and t.

    >>> stats = ArmStats(n=[4], mean=[0.5], m2=[1.0])
    >>> UCBV().indices(stats, t=9).round(4)     # E = 2.1972: 0.5 + sqrt(2*0.25*E/4) + 3*E/4
    array([2.672])
    >>> UCBV(horizon=2000).indices(stats, t=9).round(4)     # E = ln(12,000,000) = 16.3004
    array([14.1527])
    """

    zeta: float = 1.0
    c: float = 1.0
    b: float = 1.0
    horizon: int | None = None

    label: ClassVar[str] = "UCB-V"
    grows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("zeta", "c", "b"):
            real(name, getattr(self, name), above=0)
        if self.horizon is not None:
            integer("horizon", self.horizon, at_least=1)

    def parameters(self, stats: ArmStats) -> Floats:
        """Return constant and slope of E = constant + slope ln(t), and c b; a row per arm.

        Args:
            stats: The arms' statistics.
        """
        constant, slope = 0.0, self.zeta
        if self.horizon is not None:
            constant, slope = np.log(3 * float(self.horizon) ** 2), 0.0
        return np.tile(np.array([constant, slope, self.c * self.b]), (stats.K, 1))

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any, constant: Any, slope: Any, cb: Any) -> Any:
        spread, range_ = np.sqrt(2 * m2) / n, 3 * cb / n  # of sqrt(E) and of E
        base = mean + spread * np.sqrt(constant) + range_ * constant
        return base, spread * np.sqrt(slope), range_ * slope

    @staticmethod
    def clock(t: Any) -> Any:
        return np.log(t)

    @staticmethod
    def index(base: Any, spread: Any, range_: Any, log_t: Any) -> Any:
        return base + spread * np.sqrt(log_t) + range_ * log_t


@register
@dataclass(frozen=True)
class UCB1Normal(IndexPolicy):
    """UCB1-Normal: an arm with n < 8 ln(t) first, else mean + sqrt(16 m2/(n-1) ln(t-1) / n).

    For Gaussian rewards of unknown variance. The first rule alone costs 8 ln(t) times every gap.

    >>> stats = ArmStats(n=[40, 36], mean=[0.5, 0.6], m2=[4.0, 4.0])
    >>> UCB1Normal().indices(stats, t=100).round(4)    # 8 ln(100) = 36.8 pulls come first
    array([0.9342,    inf])
    """

    label: ClassVar[str] = "UCB1-Normal"
    initial_pulls: ClassVar[int] = 2
    grows: ClassVar[bool] = True

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any) -> Any:
        return n, mean, np.sqrt(16 * m2 / (n - 1) / n)

    @staticmethod
    def clock(t: Any) -> Any:
        return 8 * np.log(t), np.sqrt(np.log(t - 1))

    @staticmethod
    def index(n: Any, mean: Any, width: Any, due: Any, growth: Any) -> Any:
        return np.where(n < due, np.inf, mean + width * growth)


@register
@dataclass(frozen=True)
class MOSS(IndexPolicy):
    """MOSS: mean + sqrt(max(ln(horizon / (K n)), 0) / n).

    Args:
        horizon: The number of rounds of a run.

    >>> stats = ArmStats(n=[10] * 10, mean=[0.5] * 10, m2=[4.0] * 10)
    >>> MOSS(horizon=2000).indices(stats, t=101)[0].round(9)
    np.float64(1.047332831)
    """

    horizon: int

    label: ClassVar[str] = "MOSS"
    grows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer("horizon", self.horizon, at_least=1)

    def parameters(self, stats: ArmStats) -> Floats:
        """Return horizon / K, an even share of the rounds; a row per arm.

        Args:
            stats: The arms' statistics.
        """
        return np.full((stats.K, 1), self.horizon / stats.K)

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any, share: Any) -> Any:
        return (mean + np.sqrt(np.maximum(np.log(share / n), 0.0) / n),)

    @staticmethod
    def index(upper: Any, t: Any) -> Any:
        return upper


@register
@dataclass(frozen=True)
class MOSSAnytime(IndexPolicy):
    """MOSS-Anytime: mean + sqrt((1 + a)/2 max(ln(t / (K n)), 0) / n).

    Args:
        a: The factor of the bonus; its authors recommend 1.35.

    >>> stats = ArmStats(n=[4] * 10, mean=[0.5] * 10, m2=[1.0] * 10)
    >>> MOSSAnytime().indices(stats, t=2000)[0].round(4)   # 0.5 + sqrt(1.175 ln(50) / 4)
    np.float64(1.572)
    """

    a: float = 1.35

    label: ClassVar[str] = "MOSS-Anytime"
    grows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real("a", self.a, above=0)

    def parameters(self, stats: ArmStats) -> Floats:
        """Return (1 + a)/2 and K; a row per arm.

        Args:
            stats: The arms' statistics.
        """
        return np.tile([(1 + self.a) / 2, float(stats.K)], (stats.K, 1))

    @staticmethod
    def terms(n: Any, mean: Any, m2: Any, factor: Any, K: Any) -> Any:
        return mean, factor / n, np.log(K * n)

    @staticmethod
    def clock(t: Any) -> Any:
        return np.log(t)

    @staticmethod
    def index(mean: Any, rate: Any, log_share: Any, log_t: Any) -> Any:
        return mean + np.sqrt(rate * np.maximum(log_t - log_share, 0.0))


@register
@dataclass(frozen=True)
class EvenSplit(IndexPolicy):
    """Even split: pull the arm with the fewest pulls, so that all arms get the same share.

    >>> from varts import ArmStats
    >>> EvenSplit().indices(ArmStats(n=[3, 2], mean=[9.0, 0.0], m2=[1, 1]), t=6)
    array([-3., -2.])
    """

    label: ClassVar[str] = "Even-Split"
    grows: ClassVar[bool] = True
    counts_pulls: ClassVar[bool] = True

    @staticmethod
    def index(n: Any, mean: Any, m2: Any, t: Any) -> Any:
        return -n


# ---------------------------------------------------------------------------------- epsilon-greedy
# Epsilon-greedy whose epsilon decays (Auer, Cesa-Bianchi & Fischer 2002).


@register
@dataclass(frozen=True)
class EpsilonGreedy(IndexPolicy):
    """Epsilon-greedy: any arm with probability min(1, c K / (d^2 t)), else the largest mean.

    Its regret grows like ln(t) if c > 5 and d is at most the smallest gap.

    Args:
        c: How much to explore.
        d: A lower bound of the gap between the best arm and the next, for rewards in [0, 1].

    >>> stats = ArmStats(n=[50, 50], mean=[0.4, 0.6], m2=[12, 12])
    >>> EpsilonGreedy().epsilon(K=2, t=101)                   # 5 * 2 / 101
    0.09900990099009901
    >>> EpsilonGreedy().probabilities(stats, t=101).round(4)
    array([0.0495, 0.9505])
    """

    c: float = 5.0
    d: float = 1.0

    label: ClassVar[str] = "Epsilon-Greedy"
    chance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real("c", self.c, above=0)
        real("d", self.d, above=0)

    def parameters(self, stats: ArmStats) -> Floats:
        """Return c K / d^2, the number of rounds with epsilon = 1; a row per arm.

        Args:
            stats: The arms' statistics.
        """
        return np.full((stats.K, 1), self.c * stats.K / self.d**2)

    def epsilon(self, K: int, t: int) -> float:
        """Return the probability of exploring.

        Args:
            K: The number of arms.
            t: The round, counted from 1.
        """
        return min(1.0, float(self.parameters(ArmStats.empty(K))[0, 0]) / t)

    def probabilities(self, stats: ArmStats, t: int) -> Floats:
        self._ready(stats)
        epsilon = self.epsilon(stats.K, self._round(stats, t))
        return epsilon / stats.K + (1 - epsilon) * even_share(stats.mean)

    @staticmethod
    def index(n: Any, mean: Any, m2: Any, t: Any, u: Any, first: Any) -> Any:
        return np.where(u * t < first, 0.0, mean)  # ties are broken at random


# ------------------------------------------------------------------------------------------- EUCBV
# EUCBV (Mukherjee, Naveen, Sudarsanam & Ravindran 2018): UCB-V in phases that drop arms.


@dataclass
class Phases:
    """The state of a run: its phase, the arms still in play and their rewards."""

    stats: ArmStats
    active: NDArray[np.bool_]
    end: float  # the number of pulls after which the phase may end
    number: int = 0
    epsilon: float = 1.0


@register
@dataclass(frozen=True)
class EUCBV(Policy):
    """EUCBV: mean + sqrt(rho (v + 2) ln(psi horizon epsilon) / (4 n)) of the arms not dropped.

    For rewards in [0, 1], and for simulations only: an arm is dropped once its upper bound is below
    another's lower bound, and epsilon is halved from phase to phase, so the choice depends on the
    history and not on the statistics alone. It is played in plain Python, and slow.

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
    initial_pulls: ClassVar[int] = 1

    def __post_init__(self) -> None:
        integer("horizon", self.horizon, at_least=1)
        real("rho", self.rho, above=0)
        if self.psi is not None:
            real("psi", self.psi, above=0)

    def _log(self, K: int, factor: float) -> float:
        """ln(psi horizon factor), but at least 0: it would become negative in late phases."""
        psi = self.horizon / K**2 if self.psi is None else self.psi
        return max(float(np.log(psi * self.horizon * factor)), 0.0)

    def pulls(self, K: int, epsilon: float) -> int:
        """Return how often a phase pulls each arm: ln(psi horizon epsilon^2) / (2 epsilon).

        Args:
            K: The number of arms.
            epsilon: The epsilon of the phase.
        """
        return int(np.ceil(self._log(K, epsilon**2) / (2 * epsilon)))

    def widths(self, stats: ArmStats, epsilon: float) -> Floats:
        """Return the bonus of every arm.

        Args:
            stats: The arms' statistics.
            epsilon: The epsilon of the phase.
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
        if plays <= K or stats.n.min() == 0:  # the initial pulls; rewards may be late
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

"""Stopping rules, shared by studies, plans and live reports.

- `StopAtError` is exact: the chance that it ever names a wrong arm is at most its `error`, under
  any policy and no matter how often you look (docs/anytime.md).
- `StopAtPBest` and `StopAtLoss` are as good as the prior, and looking often makes them optimistic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from varts._validation import Floats, choice, real
from varts.anytime import (
    ERROR,
    N_OPT,
    PAIRS,
    Evidence,
    Pairs,
    burn_in,
    mixture_for,
    pair_threshold,
)
from varts.policies import VarTS
from varts.priors import NormalGamma, PriorLike, prior_from
from varts.stats import ArmStats

ForEngine = Literal["", "evidence", "user"]


class StopRule:
    """The base of all stopping rules."""

    #: Which compiled function decides in every round; "" for a rule that needs integrals, which are
    #: too slow for that and are computed at checkpoints only.
    compiled: ClassVar[ForEngine] = ""
    #: A rule of your own that is compiled and asked after every round:
    #: `stops(t, n, mean, m2, *fields) -> bool`, a static method. `n`, `mean` and `m2` are arrays
    #: with a number per arm, and the dataclass's fields follow. The run then stops with the arm
    #: that has the highest mean.
    stops: ClassVar[Callable[..., Any] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.stops is not None and cls.compiled == "":
            cls.compiled = "user"

    def decide(self, stats: ArmStats) -> int | None:
        """Return the arm to stop with, or None to continue.

        Args:
            stats: The arms' statistics.

        >>> class Enough(StopRule):
        ...     @staticmethod
        ...     def stops(t, n, mean, m2):
        ...         return n.min() >= 50
        >>> Enough().decide(ArmStats([60, 55], [1.0, 1.2], [60, 55]))
        1
        """
        if self.stops is None:
            raise NotImplementedError(f"{type(self).__name__} must define decide(stats)")
        t, own = int(stats.n.sum()), self.numbers(stats.K)
        done = self.stops(t, stats.n, stats.mean, stats.m2, *own)
        return int(stats.mean.argmax()) if done else None

    def numbers(self, K: int) -> Floats:
        """Return the arguments of the compiled function: threshold, c2 and rewards needed.

        Args:
            K: The number of arms.
        """
        if self.stops is None:
            raise NotImplementedError(f"{type(self).__name__} is not compiled")
        names: list[str] = [each.name for each in fields(self)] if is_dataclass(self) else []
        return np.array([real(name, getattr(self, name)) for name in names])


@dataclass(frozen=True)
class StopAtError(StopRule):
    """Stop once all arms but one are ruled out, with a probability of `error` of ever being wrong.

    The evidence is that of `Evidence.certain_best`. It grows only if the other arms are pulled, so
    a policy that maximizes reward may never stop.

    Args:
        error: The probability of ever naming a wrong arm, no matter how often you look.
        kurtosis: The kurtosis of the rewards: an arm counts after `burn_in(kurtosis)` rewards. None
            if they are certainly Gaussian.
        n_opt: The rewards of an arm at which the rule is sharpest.
        pairs: How the evidence of two arms is combined: "fisher", or "product", which stops sooner.
            For "product", the error is proven only if the choice of arms doesn't depend on the
            rewards; see `Evidence`.

    >>> rule = StopAtError(0.05)
    >>> rule.decide(ArmStats([400, 300], [1.3, 0.8], [420, 280]))
    0
    >>> rule.decide(ArmStats([40, 30], [1.3, 0.8], [42, 28])) is None
    True
    >>> float(rule.numbers(K=5)[0].round(6))      # of evidence in each of four pairs
    6.380926
    >>> float(StopAtError(0.05, pairs="product").numbers(K=5)[0].round(6))
    4.382027
    """

    error: float = ERROR
    kurtosis: float | None = None
    n_opt: float = N_OPT
    pairs: Pairs = "fisher"

    compiled: ClassVar[ForEngine] = "evidence"

    def __post_init__(self) -> None:
        real("error", self.error, above=0, below=1)
        burn_in(self.kurtosis)
        real("n_opt", self.n_opt, above=0)
        choice("pairs", self.pairs, PAIRS)

    def decide(self, stats: ArmStats) -> int | None:
        evidence = Evidence(stats, self.kurtosis, self.n_opt, self.pairs)
        return self.winner(evidence.possible_best(self.error))

    def numbers(self, K: int) -> Floats:
        threshold = pair_threshold(self.error / max(K - 1, 1), self.pairs)
        return np.array([threshold, mixture_for(self.n_opt), burn_in(self.kurtosis)[0]])

    @staticmethod
    def winner(possible: Any) -> int | None:
        """Return the only arm that may be best; None if there are several.

        Args:
            possible: Whether each arm may be best, from `Evidence.possible_best`.
        """
        left = np.flatnonzero(possible)
        return int(left[0]) if left.size == 1 else None


@dataclass(frozen=True)
class _ByBelief(StopRule):
    """A rule that decides by the belief of VarTS with this prior, under any policy."""

    level: float
    prior: NormalGamma | None = None

    if TYPE_CHECKING:

        def __init__(self, level: float, prior: PriorLike | None = None) -> None: ...

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", prior_from(self.prior, NormalGamma))

    def _belief(self, stats: ArmStats) -> Any:
        """Return None while arms have too few rewards for a belief, or only equal ones."""
        judge = VarTS(self.prior)
        if (stats.n < judge.pulls_needed(stats.K)).any() or (
            self.prior is None and not stats.differ()
        ):
            return None
        return judge._belief(stats)


class StopAtPBest(_ByBelief):
    """Stop once some arm's P(best) is high enough.

    Args:
        level: The probability, such as 0.95.
        prior: The prior of the belief, as for `VarTS`.

    >>> StopAtPBest(0.95).decide(ArmStats([40, 30], [1.3, 0.8], [42, 28]))
    0
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        real("level", self.level, above=0, below=1)

    def decide(self, stats: ArmStats) -> int | None:
        belief = self._belief(stats)
        return None if belief is None else self.winner(belief.p_best())

    def winner(self, p_best: Floats) -> int | None:
        """Return the arm whose P(best) is high enough; None if there is no such arm.

        Args:
            p_best: P(best) of every arm; NaN if unknown.
        """
        best = int(np.nanargmax(p_best))
        return best if p_best[best] >= self.level else None


class StopAtLoss(_ByBelief):
    """Stop once some arm's expected loss is small enough.

    Args:
        level: The expected loss, in the unit of the rewards.
        prior: The prior of the belief, as for `VarTS`.

    >>> StopAtLoss(0.01).decide(ArmStats([40, 30], [1.3, 0.8], [42, 28]))
    0
    >>> StopAtLoss(0.001).decide(ArmStats([40, 30], [1.3, 0.8], [42, 28])) is None
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        real("level", self.level, above=0)

    def decide(self, stats: ArmStats) -> int | None:
        belief = self._belief(stats)
        return None if belief is None else self.winner(belief.expected_loss())

    def winner(self, loss: Floats) -> int | None:
        """Return the arm whose expected loss is small enough; None if there is no such arm.

        Args:
            loss: The expected loss of every arm; NaN if unknown.
        """
        least = int(np.nanargmin(loss))
        return least if loss[least] <= self.level else None

"""Bayes-UCB (Kaufmann, Cappe & Garivier 2012): the upper quantile of a belief about the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, integer, real
from varts.beliefs import StudentT
from varts.policies.divergence import (
    TINY,
    gap_above,
    gap_below,
    log1p_above,
    log1p_below,
    verdict,
)
from varts.policies.formulas import normal_gamma_belief
from varts.policies.largest_index import IndexPolicy
from varts.policies.registry import register
from varts.policies.student_quantile import (
    hill_numbers,
    log_in_bulk,
    student_quantile_at,
    tail_numbers,
)
from varts.priors import NormalGamma, PriorLike, prior_from
from varts.stats import ArmStats

HILL_SLACK = 1e-5  # more than Hill's second expansion is off by, beside Wallace's bounds
NO_PRIOR = 0.0, 0.0, -0.5, 0.0  # density 1/sigma^2: location mean, n - 1 degrees of freedom


def tail_of(t: Any, patience: Any) -> Any:
    """Compute 1 / (t patience), and at most 1/2: a quantile of 0 is -inf in every belief."""
    return 1 / (np.maximum(t, 2.0) * patience)


@register
@dataclass(frozen=True)
class BayesUCB(IndexPolicy):
    """Bayes-UCB: the quantile 1 - 1 / (t ln(horizon)^c) of a Student-t belief about the mean.

    The belief is VarTS's, or without a prior that of the prior 1/sigma^2, after two pulls of each
    arm; equal rewards then make a point. `indices` and live experiments have the exact quantile,
    simulations Hill's approximation of it, good to 3e-6 from three degrees of freedom on
    (`student_quantile.py`).

    Args:
        prior: A NormalGamma, what `fit_prior` returned, the path of a prior's JSON, a mapping of
            its numbers, or None.
        c: The exponent of ln(horizon); 5 in the theory, 0 in practice.
        horizon: The number of rounds, for c > 0.

    >>> stats = ArmStats(n=[10], mean=[0.5], m2=[4.0])
    >>> BayesUCB().indices(stats, t=100).round(9)
    array([1.09481134])
    >>> BayesUCB(NormalGamma(0, 1, 2, 1)).indices(stats, t=100).round(9)
    array([0.98230267])
    """

    prior: NormalGamma | None = None
    c: float = 0.0
    horizon: int | None = None

    label: ClassVar[str] = "Bayes-UCB"

    if TYPE_CHECKING:  # what is given may stand for a prior, what is kept is one

        def __init__(
            self, prior: PriorLike | None = None, c: float = 0.0, horizon: int | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", prior_from(self.prior, NormalGamma))
        if real("c", self.c, at_least=0) > 0 and self.horizon is None:
            raise ValueError(f"horizon must be given where c > 0, got c = {self.c:g} without it")
        if self.horizon is not None:
            integer("horizon", self.horizon, at_least=3)

    def owed(self, K: int) -> NDArray[np.int64]:
        if self.prior is None:
            return np.full(K, 2, dtype=np.int64)
        return np.asarray(self.prior.per_arm(K)[1] == 0, dtype=np.int64)

    def belief(self, stats: ArmStats) -> StudentT:
        self._ready(stats)
        return StudentT(
            *normal_gamma_belief(stats.n, stats.mean, stats.m2, *self.parameters(stats).T[1:])
        )

    def parameters(self, stats: ArmStats) -> Floats:
        """Return ln(horizon)^c and the prior's four numbers; a row per arm.

        Args:
            stats: The arms' statistics.
        """
        patience = 1.0 if self.horizon is None else np.log(self.horizon) ** self.c
        rows = np.empty((stats.K, 5))
        rows[:, 0] = patience
        rows[:, 1:] = NO_PRIOR if self.prior is None else np.stack(self.prior.per_arm(stats.K), 1)
        return rows

    def indices(self, stats: ArmStats, t: int, u: float | None = None) -> Floats:
        tail = tail_of(float(self._round(stats, t)), self.parameters(stats)[0, 0])
        return self.belief(stats).quantile(1 - tail)

    def approximate_indices(self, stats: ArmStats, t: int) -> Floats:
        """Return `indices` as simulations have them.

        Args:
            stats: The arms' statistics.
            t: The round, counted from 1.

        >>> stats = ArmStats(n=[10], mean=[0.5], m2=[4.0])
        >>> policy = BayesUCB()
        >>> abs(policy.approximate_indices(stats, 100) / policy.indices(stats, 100) - 1) < 1e-8
        array([ True])
        """
        return super().indices(stats, t)

    @staticmethod
    def terms(
        n: Any, mean: Any, m2: Any, patience: Any, mu: Any, kappa: Any, alpha: Any, beta: Any
    ) -> Any:
        loc, scale, df = normal_gamma_belief(n, mean, m2, mu, kappa, alpha, beta)
        df, a, b, c, d, log_d, log_switch = hill_numbers(df)
        return loc, scale, df, a, b, c, d, log_d, log_switch

    @staticmethod
    def clock(t: Any, patience: Any, mu: Any, kappa: Any, alpha: Any, beta: Any) -> Any:
        return tail_numbers(tail_of(t, patience))

    @staticmethod
    def index(
        loc: Any, scale: Any, df: Any, a: Any, b: Any, c: Any, d: Any, log_d: Any, log_switch: Any,
        z: Any, log_tails: Any, log_one: Any, log_two: Any,
    ) -> Any:  # fmt: skip
        return loc + scale * student_quantile_at(
            z, log_tails, log_one, log_two, df, a, b, c, d, log_d, log_switch
        )

    @staticmethod
    def reaches(
        level: Any,
        loc: Any, scale: Any, df: Any, a: Any, b: Any, c: Any, d: Any, log_d: Any, log_switch: Any,
        z: Any, log_tails: Any, log_one: Any, log_two: Any,
    ) -> Any:  # fmt: skip
        # Of ln(1 + t^2/df), t being the quantile. Beyond the bulk Wallace (1959) has bounds of the
        # normal deviate's square: it is between df - 1/2 and df times as much.
        bulk = (df > 2) & (2 * (log_d + log_tails) > df * log_switch)
        log = log_in_bulk(z, df, a, b, c, d)
        low, high = np.where(bulk, log, z * z / df), np.where(bulk, log, z * z * a)
        near, far, width = gap_below(level, loc), gap_above(level, loc), scale * scale * df + TINY
        surely = log1p_above(far * far / width) <= low * (1 - HILL_SLACK)
        perhaps = log1p_below(near * near / width) <= high * (1 + HILL_SLACK)
        return np.where(df < 1, 0.0, verdict(surely, perhaps))

"""Bayes-UCB (Kaufmann, Cappe & Garivier 2012): the upper quantile of a belief about the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, integer, real
from varts.beliefs import StudentT
from varts.policies.base import Compiled, IndexPolicy
from varts.policies.divergence import TINY, gap_above, gap_below, log1p_above, log1p_below, verdict
from varts.policies.registry import register
from varts.priors import NormalGamma, PriorLike, prior_from
from varts.priors.normal import normal_gamma_belief
from varts.stats import ArmStats

HILL_SLACK = 1e-5  # more than the error of Hill's second expansion, next to Wallace's bounds
NO_PRIOR = 0.0, 0.0, -0.5, 0.0  # density 1/sigma^2: location mean, n - 1 degrees of freedom


def tail_of(t: Any, patience: Any) -> Any:
    """Compute 1 / (t patience), and at most 1/2: a quantile of 0 is -inf in every belief."""
    return 1 / (np.maximum(t, 2.0) * patience)


@register
@dataclass(frozen=True)
class BayesUCB(IndexPolicy):
    """Bayes-UCB: the quantile 1 - 1 / (t ln(horizon)^c) of a Student-t belief about the mean.

    The belief is that of VarTS. Without a prior it comes from the improper prior 1/sigma^2, after
    two pulls of each arm, and equal rewards make it a point. `indices` and live experiments compute
    the exact quantile. Simulations use Hill's approximation (`student_quantile`), whose relative
    error is below 3e-6 from three degrees of freedom on.

    Args:
        prior: A NormalGamma, a result of `fit_prior`, the path of a prior's JSON file, a mapping of
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
    # Declared again because `indices` is overridden: simulations approximate the exact quantile.
    compiled: ClassVar[Compiled | None] = Compiled("index", ("choose", "transform", "indices"))

    if TYPE_CHECKING:  # the argument may be anything that converts to a prior

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

    def pulls_needed(self, K: int) -> NDArray[np.int64]:
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
        # Bounds on ln(1 + t^2/df), where t is the quantile. Outside the bulk, Wallace (1959) bounds
        # the square of the normal deviate: it is between df - 1/2 and df times as much.
        bulk = (df > 2) & (2 * (log_d + log_tails) > df * log_switch)
        log = log_in_bulk(z, df, a, b, c, d)
        low, high = np.where(bulk, log, z * z / df), np.where(bulk, log, z * z * a)
        near, far, width = gap_below(level, loc), gap_above(level, loc), scale * scale * df + TINY
        surely = log1p_above(far * far / width) <= low * (1 - HILL_SLACK)
        perhaps = log1p_below(near * near / width) <= high * (1 + HILL_SLACK)
        return np.where(df < 1, 0.0, verdict(surely, perhaps))


# --------------------------------------------------------------------------------------- quantiles
# Quantiles of the normal and of Student's t in plain arithmetic, for formulas that are compiled.
#
# The normal quantile is Wichura's AS 241 (1988), with a relative error of 1e-15. The t quantile is
# Hill's Algorithm 396 (1970). For tails from 1/3 to 1e-6, its relative error is 3e-6 from three
# degrees of freedom on, and up to 0.2 % between two and three. One and two are exact; between them
# we interpolate the logarithm in 1/df, with an error of up to 4 %. Below one we extrapolate that
# line, which gets the order of magnitude right. Code that isn't compiled uses `StudentT.quantile`,
# which is exact.


LARGEST_EXPONENT = 700.0  # np.where computes both branches, and the unused branch must not overflow
# The smallest quantile for one and two degrees of freedom. Both are 0 at a tail of 1/2, and for
# fewer degrees we divide one by the other.
LEAST = 1e-16
# Where Hill's two expansions meet. Hill uses 0.05 + a, where the second still has an error of
# 1.5e-5 at three degrees of freedom; with 0.05 + 0.6 a both have errors below 2e-6.
SWITCH_AT, SWITCH_SLOPE = 0.05, 0.6


def normal_quantile(tail: Any) -> Any:
    """Compute the number that a standard normal exceeds with probability `tail`.

    Args:
        tail: At most 1/2 and above 0, a number or an array.

    >>> round(float(normal_quantile(0.025)), 12)
    1.95996398454
    """
    centre = 0.5 - tail
    near = np.minimum(np.abs(centre), 0.425)
    r = 0.180625 - near * near
    top = 2.5090809287301226727e3 * r + 3.3430575583588128105e4
    top = (top * r + 6.7265770927008700853e4) * r + 4.5921953931549871457e4
    top = (top * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3
    top = (top * r + 1.3314166789178437745e2) * r + 3.3871328727963666080e0
    low = 5.2264952788528545610e3 * r + 2.8729085735721942674e4
    low = (low * r + 3.9307895800092710610e4) * r + 2.1213794301586595867e4
    low = (low * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2
    low = (low * r + 4.2313330701600911252e1) * r + 1.0
    middle = near * top / low

    depth = np.sqrt(-np.log(np.minimum(tail, 0.5)))
    r = np.minimum(depth, 5.0) - 1.6
    top = 7.74545014278341407640e-4 * r + 2.27238449892691845833e-2
    top = (top * r + 2.41780725177450611770e-1) * r + 1.27045825245236838258e0
    top = (top * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0
    top = (top * r + 4.63033784615654529590e0) * r + 1.42343711074968357734e0
    low = 1.05075007164441684324e-9 * r + 5.47593808499534494600e-4
    low = (low * r + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1
    low = (low * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0
    low = (low * r + 2.05319162663775882187e0) * r + 1.0
    outer = top / low

    r = np.maximum(depth, 5.0) - 5.0
    top = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
    top = (top * r + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2
    top = (top * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0
    top = (top * r + 5.46378491116411436990e0) * r + 6.65790464350110377720e0
    low = 2.04426310338993978564e-15 * r + 1.42151175831644588870e-7
    low = (low * r + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4
    low = (low * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1
    low = (low * r + 5.99832206555887937690e-1) * r + 1.0
    outermost = top / low
    return np.where(centre <= 0.425, middle, np.where(depth <= 5.0, outer, outermost))


def student_quantile(tail: Any, df: Any) -> Any:
    """Compute the number that a Student t exceeds with probability `tail`.

    Args:
        tail: At most 1/2 and above 0, a number or an array.
        df: The degrees of freedom.

    >>> round(float(student_quantile(0.025, 9.0)), 4)       # tables have 2.2622
    2.2622
    """
    return student_quantile_at(*tail_numbers(tail), *hill_numbers(df))


def tail_numbers(tail: Any) -> tuple[Any, Any, Any, Any]:
    """Compute the part of t quantiles that depends only on the tail.

    These are the normal quantile, and the logarithms of both tails together and of the t quantiles
    for one and two degrees of freedom.

    Args:
        tail: At most 1/2 and above 0.
    """
    one = np.maximum(1 / np.tan(np.pi * tail), LEAST)
    two = np.maximum((1 - 2 * tail) / np.sqrt(2 * tail * (1 - tail)), LEAST)
    return normal_quantile(tail), np.log(2 * tail), np.log(one), np.log(two)


def hill_numbers(df: Any) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
    """Compute the part of t quantiles that depends only on the degrees of freedom.

    These are df, Hill's a, b, c and d, the logarithm of d, and the logarithm of the point where his
    two expansions meet.

    Args:
        df: The degrees of freedom.
    """
    enough = np.maximum(df, 1.0)  # with fewer degrees of freedom, none of these is used
    a = 1 / (enough - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * np.sqrt(a * np.pi / 2) * enough
    return df, a, b, c, d, np.log(d), np.log(SWITCH_AT + SWITCH_SLOPE * a)


def log_in_bulk(z: Any, df: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Compute ln(1 + t^2 / df) for a quantile t that isn't far out in the tail.

    This is Hill's first expansion, around the normal quantile.

    Args:
        z: The normal quantile.
        df: The degrees of freedom.
        a: From `hill_numbers`, as are the next three.
        b: See `a`.
        c: See `a`.
        d: See `a`.
    """
    x, square = -z, z * z  # Hill uses the quantile of the lower tail
    c = c + np.where(df < 5, 0.3 * (df - 4.5) * (x + 0.6), 0.0)
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
    y = (((((0.4 * square + 6.3) * square + 36) * square + 94.5) / c - square - 3) / b + 1) * x
    return a * y * y


def student_quantile_at(
    z: Any, log_tails: Any, log_one: Any, log_two: Any,
    df: Any, a: Any, b: Any, c: Any, d: Any, log_d: Any, log_switch: Any,
) -> Any:  # fmt: skip
    """Compute `student_quantile` from `tail_numbers` and `hill_numbers`.

    Args:
        z: The normal quantile.
        log_tails: The logarithm of both tails together.
        log_one: The logarithm of the quantile for one degree of freedom.
        log_two: The logarithm of the quantile for two.
        df: The degrees of freedom.
        a: From `hill_numbers`, as are the next five.
        b: See `a`.
        c: See `a`.
        d: See `a`.
        log_d: See `a`.
        log_switch: See `a`.
    """
    few, w = df <= 2, 2 / df
    depth = w * (log_d + log_tails)
    exponent = np.where(few, (w - 1) * log_one + (2 - w) * log_two, depth)
    between = np.exp(np.minimum(exponent, LARGEST_EXPONENT))
    near = np.expm1(np.minimum(log_in_bulk(z, df, a, b, c, d), LARGEST_EXPONENT))
    # Hill's second expansion, around the power law of the far tail.
    y = np.minimum(np.maximum(between, TINY), SWITCH_AT + SWITCH_SLOPE * a)
    far = 1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3)
    far = ((far + 0.5 / (df + 4)) * y - 1) * (df + 1) / (df + 2) + 1 / y
    return np.where(few, between, np.sqrt(df * np.where(depth > log_switch, near, far)))

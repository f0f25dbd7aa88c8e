"""Policies for rewards that depend on the features of a unit: a linear regression per arm.

At features x, an arm's regression gives a Normal-Gamma belief like that of an arm without features:
the expected mean `loc`, the effective sample size `n_eff` behind it, alpha and beta. A policy turns
these four numbers into a belief to draw from (`believe`) or an index (`index`), in plain
arithmetic; the engine compiles the same functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._validation import Floats, real, reals
from varts.beliefs import StudentT, pick_best
from varts.linear_stats import LinearStats, check_linear_stats
from varts.policies.base import Compiled, Policy, name_of
from varts.policies.formulas import unit_free_prior
from varts.policies.registry import register
from varts.priors import LinearNormalGamma, PriorLike, prior_from, student_t
from varts.priors.linear import Regression, regress
from varts.stats import ArmStats


@dataclass(frozen=True)
class LinearPolicy(Policy):
    """The base of policies for rewards that depend on features.

    Every arm has its own regression and noise variance. Without a prior, the policy plays every arm
    twice. Level and slopes then start from an estimate over all arms with the weight of one reward,
    so features and rewards may have any scale.

    Args:
        prior: A LinearNormalGamma or something that converts to one (a path, a mapping), or None.
    """

    prior: LinearNormalGamma | None = None

    contextual: ClassVar[bool] = True
    #: True when a larger `n_eff` never makes the scale or index larger, and changes nothing else.
    #: The engine then skips arms that cannot win; the choices are the same.
    narrows: ClassVar[bool] = False

    if TYPE_CHECKING:  # the argument may be anything that converts to a prior

        def __init__(self, prior: PriorLike | None = None) -> None: ...

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", prior_from(self.prior, LinearNormalGamma))

    def pulls_needed(self, K: int) -> NDArray[np.int64]:
        if self.prior is None:
            return np.full(K, 2, dtype=np.int64)
        return np.asarray(self.prior.regression(K).kappa == 0, dtype=np.int64)

    def least_weight(self, K: int) -> Floats:
        return np.zeros(K) if self.prior is None else self.pulls_needed(K).astype(np.float64)

    def posterior(self, stats: LinearStats) -> LinearNormalGamma:
        """Return the posterior of every arm's regression.

        Args:
            stats: The arms' statistics.
        """
        if self.prior is not None:
            return self.prior.posterior(stats)
        pooled = check_linear_stats(stats, stats.d).pooled()
        prior = unit_free_linear_prior(pooled)
        return prior._learned(*unit_free_posterior(prior.regression(stats.K), stats, pooled))

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        raise ValueError(f"{name_of(self)} needs the features of a unit: give x")

    def extra(self) -> tuple[float, ...]:
        """Return the fields that `believe` or `index` take in addition to the regression's four."""
        return tuple(real(name, value) for name, value in self._values().items() if name != "prior")

    def check(self, K: int) -> None:
        self.pulls_needed(K)


@dataclass(frozen=True)
class LinearSampler(LinearPolicy):
    """Thompson sampling: draw every arm's mean at x, play the largest draw.

    `believe(loc, n_eff, alpha, beta, *fields)` returns location, scale and degrees of freedom.

    Args:
        prior: As for `LinearPolicy`.
    """

    compiled: ClassVar[Compiled | None] = Compiled(
        "linear_belief", ("choose_at", "transform", "posterior", "belief_at", "belief_from")
    )

    @property
    def samples(self) -> bool:
        return True

    @staticmethod
    def believe(*args: Any, **kwargs: Any) -> Any:
        """Compute location, scale and degrees of freedom: plain arithmetic.

        Args:
            args: loc, n_eff, alpha, beta and the fields beside the prior.
            kwargs: Not used.
        """
        raise NotImplementedError("a LinearSampler must define believe(loc, n_eff, alpha, beta)")

    def belief_at(self, stats: LinearStats, x: Any) -> StudentT:
        """Return the policy's belief about each arm's mean for a unit.

        Args:
            stats: The arms' statistics.
            x: The unit's features, or a row per unit; the belief then has a row per unit, too.
        """
        self._ready(stats)
        return self.belief_from(self.posterior(stats), x)

    def belief_from(self, posterior: LinearNormalGamma, x: Any) -> StudentT:
        """Return `belief_at` for a posterior that you already have.

        Args:
            posterior: The result of `posterior(stats)`.
            x: The unit's features, or a row per unit.
        """
        return self._belief_given(posterior, *posterior.at(x))

    def _belief_from(self, posterior: LinearNormalGamma, rows: Floats) -> StudentT:
        """Return `belief_from` without checking the features, a row per unit."""
        return self._belief_given(posterior, *posterior._at(rows))

    def _belief_given(self, posterior: LinearNormalGamma, loc: Floats, n_eff: Floats) -> StudentT:
        with np.errstate(divide="ignore"):
            loc, scale, df = self.believe(
                loc, n_eff, posterior.alpha, posterior.beta, *self.extra()
            )
        if np.shape(scale) != loc.shape or (scale.size and not scale.min() >= 0):
            return StudentT(loc, scale, df)  # raises if it is invalid
        every = np.empty(loc.shape)
        every[...] = df
        return StudentT._trusted(loc, scale, every)

    def choose_at(self, stats: LinearStats, x: Any, t: int, rng: np.random.Generator) -> int:
        return self.belief_at(stats, x).argmax(rng)


@dataclass(frozen=True)
class LinearIndexPolicy(LinearPolicy):
    """Play the arm with the largest index at x: `index(loc, n_eff, alpha, beta, t, *fields)`.

    Args:
        prior: As for `LinearPolicy`.
    """

    compiled: ClassVar[Compiled | None] = Compiled(
        "linear_index", ("choose_at", "transform", "posterior", "indices_at", "indices_from")
    )

    @staticmethod
    def index(*args: Any, **kwargs: Any) -> Any:
        """Compute the index: plain arithmetic on numbers or arrays.

        Args:
            args: loc, n_eff, alpha, beta, t and the fields beside the prior.
            kwargs: Not used.
        """
        raise NotImplementedError(
            "a LinearIndexPolicy must define index(loc, n_eff, alpha, beta, t)"
        )

    def indices_at(self, stats: LinearStats, x: Any, t: int) -> Floats:
        """Return the index of every arm for a unit.

        Args:
            stats: The arms' statistics.
            x: The unit's features, or a row per unit.
            t: The round, counted from 1.
        """
        self._ready(stats)
        return self.indices_from(self.posterior(stats), x, t)

    def indices_from(self, posterior: LinearNormalGamma, x: Any, t: int) -> Floats:
        """Return `indices_at` for a posterior that you already have.

        Args:
            posterior: The result of `posterior(stats)`.
            x: The unit's features, or a row per unit.
            t: The round, counted from 1.
        """
        loc, n_eff = posterior.at(x)
        with np.errstate(divide="ignore"):
            return np.asarray(
                self.index(loc, n_eff, posterior.alpha, posterior.beta, float(t), *self.extra())
            )

    def choose_at(self, stats: LinearStats, x: Any, t: int, rng: np.random.Generator) -> int:
        return pick_best(self.indices_at(stats, x, t), rng)


@register
@dataclass(frozen=True)
class LinearVarTS(LinearSampler):
    """VarTS with features: a regression with unknown noise variance per arm.

    Args:
        prior: As for `LinearPolicy`.

    >>> stats = LinearStats.empty(K=2, d=1).observe(
    ...     [0, 0, 0, 1, 1, 1], [[0], [1], [2], [0], [1], [2]], [1.0, 3.1, 5.0, 3.0, 3.2, 2.9])
    >>> belief = LinearVarTS().belief_at(stats, [[0.0], [2.0]])     # for two units
    >>> belief.p_best().round(2)
    array([[0.08, 0.92],
           [0.92, 0.08]])
    """

    label: ClassVar[str] = "LinearVarTS"
    narrows: ClassVar[bool] = True

    @staticmethod
    def believe(loc: Any, n_eff: Any, alpha: Any, beta: Any) -> Any:
        return student_t(loc, n_eff, alpha, beta)


@register
@dataclass(frozen=True)
class LinearTS(LinearSampler):
    """Linear Thompson sampling with a known standard deviation of the noise.

    Args:
        prior: A LinearNormalGamma, of which alpha and beta are not used, or None.
        sigma: The standard deviation of the rewards of units with the same features.
    """

    sigma: float = 1.0

    label: ClassVar[str] = "LinearTS"
    narrows: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, prior: PriorLike | None = None, sigma: float = 1.0) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sigma", float(reals("sigma", self.sigma, above=0)))

    @staticmethod
    def believe(loc: Any, n_eff: Any, alpha: Any, beta: Any, sigma: Any) -> Any:
        return loc, sigma / np.sqrt(n_eff), np.inf


@register
@dataclass(frozen=True)
class LinUCB(LinearIndexPolicy):
    """LinUCB (Li et al. 2010): the expected mean plus a multiple of its width.

    Args:
        prior: A LinearNormalGamma, of which alpha and beta are not used, or None;
            `LinearNormalGamma.ridge(d)` is the textbook's.
        bonus: The number of widths; one width is the standard error for noise of variance 1.
    """

    bonus: float = 1.0

    label: ClassVar[str] = "LinUCB"
    narrows: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, prior: PriorLike | None = None, bonus: float = 1.0) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bonus", float(reals("bonus", self.bonus, at_least=0)))

    @staticmethod
    def index(loc: Any, n_eff: Any, alpha: Any, beta: Any, t: Any, bonus: Any) -> Any:
        return loc + bonus / np.sqrt(n_eff)


@register
@dataclass(frozen=True)
class LinearBayesUCB(LinearIndexPolicy):
    """Bayes-UCB on the regression's Student t: its quantile 1 - 1/t.

    Args:
        prior: As for `LinearPolicy`.
    """

    label: ClassVar[str] = "Linear-Bayes-UCB"
    narrows: ClassVar[bool] = True

    @staticmethod
    def index(loc: Any, n_eff: Any, alpha: Any, beta: Any, t: Any) -> Any:
        loc, scale, df = student_t(loc, n_eff, alpha, beta)
        return loc - scale * special.stdtrit(df, 1 / np.maximum(t, 2.0))


@register
@dataclass(frozen=True)
class LinearGreedy(LinearIndexPolicy):
    """Play the arm with the highest expected mean: contexts that vary may explore enough.

    Args:
        prior: As for `LinearPolicy`.
    """

    label: ClassVar[str] = "Linear-Greedy"
    narrows: ClassVar[bool] = True

    @staticmethod
    def index(loc: Any, n_eff: Any, alpha: Any, beta: Any, t: Any) -> Any:
        return loc


# --------------------------------------------------------------------------------- without a prior
# Linear policies without a prior start from one that adapts to the scale of features and rewards.


# The precision of the slope of a feature that has not varied yet: it has no effect until it varies.
NO_EFFECT = 1e300
# A relative spread below this is rounding error, so the feature has not varied: the mean of a
# hundred values of 0.1 is not exactly 0.1.
ROUNDING = 1e-14


def unit_free_linear_prior(pooled: LinearStats) -> LinearNormalGamma:
    """Return a prior from all arms together, with the weight of one reward and slopes of 0.

    The precision of a slope is the feature's variance: the information of one reward about it.

    Args:
        pooled: The statistics of all arms pooled into one.

    >>> pooled = LinearStats.empty(1, 1).observe([0, 0], [[3.0], [5.0]], [10.0, 30.0])
    >>> prior = unit_free_linear_prior(pooled)
    >>> prior.mu, prior.center, prior.precision.tolist(), prior.beta
    (20.0, array([4.]), [[1.0]], 50.0)
    """
    return LinearNormalGamma(*(number[0] for number in unit_free_regression(pooled)))


def unit_free_regression(pooled: LinearStats) -> Regression:
    """Return `unit_free_linear_prior` of many sets of arms, an entry per set.

    Args:
        pooled: The statistics of each set, pooled into one arm.
    """
    n, mean = pooled.n, pooled.mean
    squares = np.diagonal(pooled.products, axis1=1, axis2=2)
    mu, kappa, alpha, beta = unit_free_prior(n, mean[:, -1], squares[:, -1])
    x = mean[:, :-1]
    precision = slope_precision(squares[:, :-1] / n[:, None], x)
    return Regression(
        mu,
        np.full(n.shape, kappa),
        np.full(n.shape, alpha),
        np.maximum(beta, np.finfo(float).tiny),  # rewards may all be equal
        np.zeros(x.shape),
        precision[:, :, None] * np.eye(pooled.d),
        x,
    )


def unit_free_posterior(prior: Regression, stats: LinearStats, pooled: LinearStats) -> Regression:
    """Return the posterior without a prior of one's own.

    Equal rewards carry no information about a variance: see `unit_free_belief`.

    Args:
        prior: `unit_free_regression`, an entry per arm.
        stats: The arms' statistics.
        pooled: The statistics of all arms pooled, one entry or one per arm.
    """
    learnt = regress(prior, stats)
    own = stats.products[:, -1, -1] > 0
    alpha = np.where(own, learnt.alpha, pooled.n / 2)
    beta = np.where(own, learnt.beta, pooled.products[:, -1, -1] / 2)
    return learnt._replace(alpha=alpha, beta=beta)


def slope_precision(variance: Any, mean: Any) -> Any:
    """Return the information of one reward about the slope of a feature: its prior precision.

    Args:
        variance: The feature's variance over all units.
        mean: Its mean.
    """
    varied = variance > (ROUNDING * mean) ** 2
    # The engine calls it with numbers, for which Numba has no np.where.
    return varied * variance + (1 - varied) * NO_EFFECT


# -------------------------------------------------------------------------- slopes that are shrunk
# A prior for slopes, estimated from the arms' own regressions.
#
# `unit_free_linear_prior` lets the effect of one standard deviation of a feature be as large as the
# standard deviation of the rewards. Real effects are much smaller, so with many features such a
# prior mistakes noise for effects. This prior has two parts, both learned from the data:
#
# - A slope that all arms share. For each arm it is estimated from the *other* arms, so that no
#   reward counts twice. How far shared slopes are from 0 is estimated from all arms together.
# - The difference between an arm's slopes and the shared ones. How large differences are is
#   estimated by how well the other arms predict each arm's rewards.
#
# Sizes are in units of (noise sd) / (sd of the feature), on a grid with a wide hyperprior.


# The size of an effect: one sd of a feature moves the mean reward by this many sds of the noise.
# The hyperprior is lognormal: most effects lie between 0.03 and 0.3.
SIZES = np.geomspace(0.005, 2.0, 14)
TYPICAL, SPREAD = 0.1, 1.25
LOG_HYPERPRIOR = -0.5 * (np.log(SIZES / TYPICAL) / SPREAD) ** 2


def shrunk_linear_prior(stats: LinearStats, wider: float = 1.0) -> LinearNormalGamma:
    """Return a prior per arm: level and variance as without a prior, slopes from the other arms.

    Args:
        stats: The arms' statistics; at least one reward.
        wider: By how much the variance of the differences between arms is larger than estimated;
            above 1 it pulls arms together less.

    >>> rng = np.random.default_rng(1)
    >>> arm, x = rng.integers(0, 3, 600), rng.standard_normal((600, 2))
    >>> stats = LinearStats.empty(K=3, d=2).observe(arm, x, x[:, 0] + rng.standard_normal(600))
    >>> prior = shrunk_linear_prior(stats)
    >>> prior.slopes.round(1).tolist()              # feature 1 has the same effect in all arms
    [[1.0, -0.0], [1.1, -0.0], [1.0, -0.0]]
    """
    pooled = check_linear_stats(stats, stats.d).pooled()
    plain = unit_free_linear_prior(pooled)
    K, d = stats.K, stats.d
    variance = np.diagonal(plain.precision)
    varied = np.flatnonzero(variance < NO_EFFECT)
    if not varied.size:
        return plain.for_arms(K)
    per_sd = 1 / np.sqrt(variance[varied])  # standardizes features
    xx = stats.products[:, varied[:, None], varied] * per_sd[:, None] * per_sd
    xy, yy = stats.products[:, varied, d] * per_sd, stats.products[:, d, d]
    center, covariance = _slopes_from_others(stats.n, xx, xy, yy, wider)
    slopes, precision = np.zeros((K, d)), np.zeros((K, d, d)) + NO_EFFECT * np.eye(d)
    slopes[:, varied] = center * per_sd
    found = np.linalg.inv(covariance) / (per_sd[:, None] * per_sd)
    precision[:, varied[:, None], varied] = (found + np.swapaxes(found, 1, 2)) / 2
    return LinearNormalGamma(
        *(plain.mu, plain.kappa, plain.alpha, plain.beta), slopes, precision, plain.center
    )


def _slopes_from_others(
    n: Floats, xx: Floats, xy: Floats, yy: Floats, wider: float
) -> tuple[Floats, Floats]:
    """Prior means and covariances (over the noise variance) of every arm's standardized slopes.

    Args:
        n: The number of rewards of each arm.
        xx: The sums of products of the features within each arm.
        xy: The sums of their products with the reward.
        yy: The sums of squared rewards.
        wider: The factor of the variance of differences between arms.
    """
    K, d = xy.shape
    one = np.eye(d)
    shared = _size_of_shared(n, xx.sum(axis=0), xy.sum(axis=0), yy.sum())
    if K == 1:
        return np.zeros((1, d)), wider * shared * one[None]
    others = np.linalg.inv(xx.sum(axis=0) - xx + one / shared)
    mean = (others @ (xy.sum(axis=0) - xy)[:, :, None])[:, :, 0]
    own = _size_of_differences(n, xx, xy, yy, mean, others)
    return mean, wider * own * one + others


def _size_of_shared(n: Floats, xx: Floats, xy: Floats, yy: float) -> float:
    """The mean square of shared slopes, given the sums within arms."""
    s, basis = np.linalg.eigh(xx)
    s, u, size = np.maximum(s, 0.0), basis.T @ xy, SIZES[:, None] ** 2
    left = yy - (u * u * size / (1 + size * s)).sum(axis=1)
    determinant = np.log1p(size * s).sum(axis=1)
    freedom = max(float(n.sum()) - len(n), 1.0)
    return _mean_square(_log_evidence(determinant, left, freedom, yy / freedom))


def _size_of_differences(
    n: Floats, xx: Floats, xy: Floats, yy: Floats, mean: Floats, others: Floats
) -> float:
    """The mean square of the differences between arms' slopes and the shared ones."""
    K, d = xy.shape
    pull = xy - (xx @ mean[:, :, None])[:, :, 0]
    rest = np.maximum(yy - (mean * (xy + pull)).sum(axis=1), 0.0)
    freedom = np.maximum(n - 1, 0.0)
    noise = yy.sum() / max(freedom.sum(), 1.0)
    evidence = np.zeros(len(SIZES))
    for i, size in enumerate(SIZES):  # one at a time, to save memory with hundreds of features
        # With V the covariance, (xx + V^-1)^-1 pull is (1 + V xx)^-1 V pull.
        covariance = size**2 * np.eye(d) + others
        inner = np.eye(d) + covariance @ xx
        determinant = np.linalg.slogdet(inner)[1]
        move = np.linalg.solve(inner, covariance @ pull[:, :, None])[:, :, 0]
        left = rest - (pull * move).sum(axis=1)
        evidence[i] = _log_evidence(determinant, left, freedom, noise).sum()
    # K arms that are predicted from each other show K - 1 differences.
    return _mean_square(evidence * (K - 1) / K)


def _log_evidence(determinant: Floats, left: Floats, freedom: Any, noise: float) -> Floats:
    """The log marginal density, for an unknown noise variance with a prior weight of one reward."""
    rate = noise / 2 + np.maximum(left, 0.0) / 2
    return np.asarray(-determinant / 2 - (freedom + 1) / 2 * np.log(np.maximum(rate, 1e-300)))


def _mean_square(evidence: Floats) -> float:
    """The posterior mean of a squared size, given the log evidence for each of SIZES."""
    score = evidence + LOG_HYPERPRIOR
    weight = np.exp(score - score.max())
    return float((weight * SIZES**2).sum() / weight.sum())

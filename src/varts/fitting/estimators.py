"""A history -> the theta of a prior: the estimators, with and without features, and groups of arms.

Everything is in the history's own unit (`varts.fitting.unit`); `varts.fitting.likelihood` defines
theta. `Estimator.fit` is the one way from a history to a `Fit`, of all arms or of each group.

Groups of arms with different prior means learn from each other. The mu of a group is itself drawn,
from N(m0, tau^2), and integrated out (adaptive Gauss-Hermite quadrature per group) when m0, tau,
kappa, alpha and v are estimated. A group with few arms is then drawn towards the others, its mu
stays as uncertain as it is, and kappa is not overestimated because a mu was fitted to two arms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._progress import Progress
from varts._validation import Floats
from varts.fitting.history import History
from varts.fitting.likelihood import (
    ALPHA,
    GUESSES,
    KAPPA,
    MU,
    Layout,
    Maximum,
    V,
    climb,
    evidence_terms,
    maximise,
    maximise_with_slopes,
    pull_towards,
    slope_starting_points,
    starting_points,
    weak_penalty,
    weak_slope_penalty,
)
from varts.fitting.unit import LinearUnit, Unit, standardise, standardise_features
from varts.linear_stats import LinearStats
from varts.priors import LinearNormalGamma, NormalGamma
from varts.stats import ArmStats

REWARDS_FOR_MOMENTS = 6  # the fewest of an arm: below, 1/variance^2 has no mean
POOL_WORTH_ARMS = 10.0  # what the pooled shape counts for in each group, with per_group="all"
EACH_GROUP = f"then each group, the others worth {POOL_WORTH_ARMS:g} arms"
CLEAR = 0.95  # the level at which slopes get a precision each
HERMITE_NODES, _weights = np.polynomial.hermite.hermgauss(21)
LOG_WEIGHTS = np.log(_weights) + HERMITE_NODES**2  # for an integrand without its Gaussian factor
MODE_STEPS = 50  # towards the mode of a group's mu; the quadrature does not need it exactly


@dataclass(frozen=True)
class Estimate:
    """A theta and its covariance per group, in the history's own unit."""

    theta: Floats  #: (G, p); p = 4 without features
    covariance: Floats  #: (G, p, p)
    converged: bool
    search: str  #: how it was found
    value: float | None = None  #: the log evidence of the arms, if theta is where it is largest


@dataclass(frozen=True)
class Fit:
    """The result of an estimator, without diagnostics."""

    stats: ArmStats | LinearStats  #: in the history's own unit
    unit: Unit | LinearUnit
    shared: Estimate  #: of all arms
    best: Estimate  #: of each group
    index: NDArray[np.int64]  #: the group of each arm
    labels: dict[str, Any]  #: what the entries of the prior are for
    notes: list[str]

    @property
    def prior(self) -> NormalGamma | LinearNormalGamma:
        """The prior to use: the estimate, widened by its uncertainty."""
        made = self.unit.prior(self._pick(self.best.theta), self._pick(self.best.covariance))
        return replace(made, **self.labels)

    @property
    def estimate(self) -> NormalGamma | LinearNormalGamma:
        """The prior as it was found, without widening."""
        made = self.unit.prior(self._pick(self.best.theta))
        return replace(made, **self.labels)

    @property
    def errors(self) -> dict[str, Any]:
        """The standard errors of the estimate."""
        return self.unit.errors(self._pick(self.best.theta), self._pick(self.best.covariance))

    @property
    def covariance(self) -> Floats | None:
        """The covariance of theta in the rewards' unit; None with features."""
        if not isinstance(self.unit, Unit):
            return None
        return self.unit.covariance(self._pick(self.best.covariance))

    def _pick(self, entries: Floats) -> Floats:
        """One prior for all arms is a number per field, not a vector of one."""
        return entries if self.labels else entries[0]


@dataclass(frozen=True)
class Estimator:
    """How priors are estimated.

    Args:
        method: "likelihood" or "moments".
        per_group: "mu" or "all": what groups have of their own.
        group: The column of the groups, and whether it is the arm's own; None without groups.
        features: Whether rewards depend on the features that the history was read with.
        searches: From how many starts to search, with features.
    """

    method: str
    per_group: str
    group: tuple[str, bool] | None
    features: bool = False
    searches: int = len(GUESSES)

    def fit(self, history: History, shown: Progress | None = None) -> Fit:
        """Estimate the prior of all arms, or one per group."""
        shown = shown or Progress()
        stats: ArmStats | LinearStats
        unit: Unit | LinearUnit
        if self.features:
            stats, unit, notes = standardise_features(history)
            shown.stage(f"fitting {stats.K} arms with {len(unit.names)} features")
            shared, layout = fit_slopes(stats, self.searches)
            unit = replace(unit, layout=layout)
        else:
            stats, unit, notes = standardise(history)
            shown.stage(f"fitting {stats.K} arms")
            if self.method == "likelihood":
                shared = fit_likelihood(stats)
            else:
                shared, more = fit_moments(stats)
                notes += more
        if self.group is None:
            index = np.zeros(stats.K, np.int64)
            return Fit(stats, unit, shared, shared, index, {}, notes)
        names, index = group_arms(history)
        if isinstance(stats, LinearStats):
            best = fit_slopes_by_group(stats, layout, index, shared, shown)
        else:
            best = fit_groups(stats, index, shared, self.per_group, shown)
        twice = stats.K - history.arms.select("experiment", "arm").n_unique()
        if twice:
            notes.append(f"{twice} arms belong to more than one group and count once in each")
        column, is_arm = self.group
        rest = unit.prior(shared.theta[0], shared.covariance[0])
        labels = {"names": names, "others": rest, "group": None if is_arm else column}
        return Fit(stats, unit, shared, best, index, labels, notes)


# ------------------------------------------------------------------------------- without features


def fit_likelihood(stats: ArmStats) -> Estimate:
    """The maximum of the marginal likelihood."""
    found = maximise(stats, starting_points(stats))
    return _one_estimate(found, _describe_search(found))


def _one_estimate(found: Maximum, search: str) -> Estimate:
    """The estimate that all arms share."""
    theta, covariance = found.theta[None], found.covariance[None]
    return Estimate(theta, covariance, found.converged, search, found.value)


def _describe_search(found: Maximum) -> str:
    """How many of the searches found the maximum."""
    return f"likelihood: {found.agreed} of {found.starts} searches ended at this maximum"


def fit_groups(
    stats: ArmStats,
    index: NDArray[np.int64],
    shared: Estimate,
    per_group: str,
    shown: Progress,
) -> Estimate:
    """One theta per group; `index` is the group of each arm."""
    shown.stage("pooling groups")
    pooled = pool_means(stats, index, shared.theta[0])
    if per_group == "mu":
        return pooled.estimate
    shown.stage("fitting groups", len(pooled.estimate.theta))
    found = []
    for maximum in pool_partly(stats, index, pooled, POOL_WORTH_ARMS):
        found.append(maximum)
        shown.at(len(found))
    return Estimate(
        np.array([one.theta for one in found]),
        np.array([one.covariance for one in found]),
        pooled.estimate.converged and all(one.converged for one in found),
        f"{pooled.estimate.search}; {EACH_GROUP}",
    )


def fit_moments(stats: ArmStats) -> tuple[Estimate, list[str]]:
    """The paper's moments with the sampling noise of means and variances removed.

    With d = n - 1, (d - 2)/m2 and (d - 2)(d - 4)/m2^2 have the means lam and lam^2 exactly; the
    variance of the observed means exceeds that of the true ones by the mean of variance/n. kappa is
    the mean variance over the variance of the means. Errors are from leaving out one arm at a time.
    """
    kept = stats.n >= REWARDS_FOR_MOMENTS
    J = int(kept.sum())
    if J < 3:
        raise ValueError(
            f"moments need at least 3 arms with {REWARDS_FOR_MOMENTS} rewards or more, "
            f"got {J} of {stats.K}; method='likelihood' uses every arm"
        )
    n, mean, m2 = stats.n[kept], stats.mean[kept], stats.m2[kept]
    d, variance = n - 1, m2 / (n - 1)
    lam = (d - 2) / m2
    lam2 = lam**2 * (d - 4) / (d - 2)
    columns = [np.ones(J), mean, mean**2, variance, variance / n, lam, lam**2, lam2, 2 / (d - 4)]
    total = np.sum(columns, axis=1, keepdims=True)
    theta, limited = _match_moments(total)
    without, _ = _match_moments(total - columns)
    gaps = without - without.mean(axis=1, keepdims=True)
    covariance = gaps @ gaps.T * (J - 1) / J
    notes = []
    if J < stats.K:
        few = f"{stats.K - J} arms with fewer than {REWARDS_FOR_MOMENTS} rewards"
        notes.append(f"{few} have no such moments and were left out of the estimate")
    named = zip(("means", "precisions"), ("kappa", "alpha"), limited, strict=True)
    for what, name, at_limit in named:
        if at_limit[0]:
            notes.append(
                f"the arms' {what} vary no more than their sampling noise: {name} is set from one "
                "standard error of that spread, and any larger number would do as well"
            )
    search = f"moments of {J} arms, sampling noise removed"
    return Estimate(theta.T, covariance[None], True, search), notes


def _match_moments(total: Floats) -> tuple[Floats, tuple[Any, Any]]:
    """theta from sums over arms (columns: samples), and which spreads were not above their noise.

    Such a spread is replaced by one standard error of the noise.
    """
    J = total[0]
    m, mean2, variance, noise, lam, lam_squares, lam2, lam_noise = total[1:] / J
    error = np.sqrt(2 / (J - 1))
    spread = (mean2 - m**2) * J / (J - 1) - noise
    nu = lam2 - (J * lam**2 - lam_squares) / (J - 1)  # pairs of different arms: no noise in common
    limited = spread <= 0, nu <= 0
    spread = np.where(limited[0], noise * error, spread)
    nu = np.where(limited[1], lam**2 * lam_noise * error, nu)
    theta = np.array([m, np.log(variance / spread), np.log(lam**2 / nu), -np.log(lam)])
    return theta, limited


@dataclass(frozen=True)
class Pooled:
    """Groups that share kappa, alpha and v, and what their mu scatter around."""

    estimate: Estimate
    center: float  #: m0, what the groups' mu scatter around
    tau: float  #: and by how much


def pool_means(stats: ArmStats, index: NDArray[np.int64], guess: Floats) -> Pooled:
    """One mu per group, and the same kappa, alpha and v for all of them.

    `index` is the group of each arm, `guess` the theta that all arms would share.
    """
    integral = _Integral(stats, index)
    # The distance between groups explains part or all of the spread of the means.
    spread = max(float(np.var(integral.averages)), 1e-6)
    starts = [
        np.array([guess[MU], np.log(spread * part), guess[KAPPA] + more, guess[ALPHA], guess[V]])
        for part, more in ((0.5, 1.0), (0.02, 0.0))
    ]
    limits = [(None, None), (-40, 40), (-25, 25), (-10, 15), (-30, 30)]  # far from any solution
    found = climb(integral, starts, limits, stats.K)
    phi = found.theta
    G = integral.G
    theta = np.column_stack([integral.mean, np.tile(phi[2:], (G, 1))])
    spreads = np.zeros((G, 4, 4))
    spreads[:, MU, MU] = integral.variance
    spreads[:, 1:, 1:] = found.covariance[2:, 2:]
    estimate = Estimate(theta, spreads, found.converged, _describe_search(found))
    return Pooled(estimate, float(phi[0]), float(np.exp(phi[1] / 2)))


def pool_partly(
    stats: ArmStats, index: NDArray[np.int64], pooled: Pooled, worth: float
) -> Iterator[Maximum]:
    """All four numbers per group, one group after the other.

    The pooled kappa, alpha and v count as much as `worth` average arms in every group (a Gaussian
    with that information), and mu is drawn from N(m0, tau^2): a group with few arms stays close to
    the others, one with many follows its own rewards.
    """
    H = evidence_terms(stats, pooled.estimate.theta[index].T)[2].sum(axis=2)
    precision = np.zeros((4, 4))
    precision[1:, 1:] = -H[1:, 1:] * worth / stats.K
    precision[MU, MU] = pooled.tau**-2
    for g, theta in enumerate(pooled.estimate.theta):
        own = index == g
        arms = ArmStats(stats.n[own], stats.mean[own], stats.m2[own])
        center = np.concatenate([[pooled.center], theta[1:]])
        starts = [theta, np.array([np.median(arms.mean), *theta[1:]])]
        yield maximise(arms, starts, pull_towards(center, precision))


class _Integral:
    """The log evidence with the groups' mu integrated out, in phi = (m0, log tau^2, shape)."""

    def __init__(self, stats: ArmStats, index: NDArray[np.int64]) -> None:
        self.stats, self.index = stats, index
        self.G = int(index.max()) + 1
        self.averages = self._sum(stats.mean) / np.bincount(index)
        self.mean = self.averages.copy()  # of each mu, given the rewards; kept as the next start
        self.variance = np.ones(self.G)

    def _sum(self, values: Floats) -> Floats:
        """Over the arms of each group."""
        return np.asarray(np.bincount(self.index, values, self.G), np.float64)

    def __call__(self, phi: Floats) -> tuple[float, Floats]:
        m0, log_tau2, x, y, z = phi
        n, index = self.stats.n, self.index
        k, a, tau2 = np.exp(x), np.exp(y), np.exp(log_tau2)
        b = a * np.exp(z)
        q = n / (k + n)
        h, A = k * q, a + n / 2

        # Towards the mode of each mu: a weighted mean, the weights of a t distribution (EM).
        center = self.mean
        for _ in range(MODE_STEPS):
            weight = (
                A * h / (b + 0.5 * (self.stats.m2 + h * (self.stats.mean - center[index]) ** 2))
            )
            total = self._sum(weight) + 1 / tau2
            moved = (self._sum(weight * self.stats.mean) + m0 / tau2) / total
            done = np.abs(moved - center).max() * np.sqrt(total.max()) < 1e-6
            center = moved
            if done:
                break
        width = 1 / np.sqrt(total)

        # The evidence of every arm at every node of its group, (nodes, J), and of every group.
        nodes = center + np.sqrt(2) * width * HERMITE_NODES[:, None]
        gap2 = (self.stats.mean - nodes[:, index]) ** 2
        S = 0.5 * (self.stats.m2 + h * gap2)
        grown, share = np.log1p(S / b), b / (b + S)
        log_f = np.stack([self._sum(-A * row) for row in grown])
        log_f -= 0.5 * ((nodes - m0) ** 2 / tau2 + np.log(2 * np.pi * tau2))
        log_w = log_f + LOG_WEIGHTS[:, None] + np.log(np.sqrt(2) * width)
        log_group = special.logsumexp(log_w, axis=0)
        weight = np.exp(log_w - log_group)  # the mu of a group, given its rewards, at its nodes
        constant = special.gammaln(A) - special.gammaln(a) - n / 2 * np.log(2 * np.pi * b)
        value = log_group.sum() + (constant + 0.5 * np.log1p(-q)).sum()

        # The gradient of a log integral is the mean of the gradient over that distribution.
        of_arms = weight[:, index]
        grown, share, pull = (
            (of_arms * t).sum(axis=0) for t in (grown, share, 0.5 * h * q * gap2 * share / b)
        )
        self.mean = (weight * nodes).sum(axis=0)
        self.variance = (weight * (nodes - self.mean) ** 2).sum(axis=0)
        off = self.mean - m0
        gradient = np.array(
            [
                (off / tau2).sum(),
                0.5 * ((self.variance + off**2) / tau2 - 1).sum(),
                (0.5 * q - A * pull).sum(),
                (a * (special.psi(A) - special.psi(a) - grown) + a - A * share).sum(),
                (a - A * share).sum(),
            ]
        )
        held, slope = self._penalty(phi)
        return value + held, gradient + slope

    def _penalty(self, phi: Floats) -> tuple[float, Floats]:
        """The weak penalty on kappa, alpha and v, and a similar one on tau^2 relative to v."""
        value, gradient, _ = weak_penalty(np.array([0.0, *phi[2:]]))  # mu has none
        slope = np.concatenate([[0.0], gradient])
        apart = phi[1] - phi[4]
        t = 0.5 * np.tanh(apart / 2)
        slope += np.array([0.0, -t, 0.0, 0.0, t])
        return value - np.log(np.cosh(apart / 2)), slope


# ---------------------------------------------------------------------------------- with features


def fit_slopes(stats: LinearStats, searches: int) -> tuple[Estimate, Layout]:
    """One prior for all arms: with one precision for all slopes, or with one each where that makes
    the rewards clearly more probable (a likelihood ratio test)."""
    one, each = Layout(stats.d, False), Layout(stats.d, True)
    starts = slope_starting_points(stats, one, searches)
    found, layout = maximise_with_slopes(stats, one, starts, weak_slope_penalty(stats, one)), one
    search = _describe_search(found)
    if stats.d > 1:
        start = np.insert(found.theta, one.alpha, np.full(stats.d - 1, found.theta[one.kappa + 1]))
        rich = maximise_with_slopes(stats, each, [start], weak_slope_penalty(stats, each))
        gain = 2 * (rich.value - found.value)
        if rich.converged and gain > special.chdtri(stats.d - 1, 1 - CLEAR):
            found, layout = rich, each
    words = "a precision for each slope" if layout.each else "one precision for all slopes"
    return _one_estimate(found, f"{search}; {words}"), layout


def fit_slopes_by_group(
    stats: LinearStats,
    layout: Layout,
    index: NDArray[np.int64],
    shared: Estimate,
    shown: Progress,
) -> Estimate:
    """All numbers per group; what all arms say counts as much as some arms in every group."""
    precision = np.linalg.pinv(shared.covariance[0], hermitian=True) * POOL_WORTH_ARMS / stats.K
    penalty = pull_towards(shared.theta[0], precision)
    groups = int(index.max()) + 1
    shown.stage("fitting groups", groups)
    found = []
    for g in range(groups):
        arms = stats.take(index == g)
        found.append(maximise_with_slopes(arms, layout, [shared.theta[0]], penalty))
        shown.at(len(found))
    return Estimate(
        np.array([one.theta for one in found]),
        np.array([one.covariance for one in found]),
        all(one.converged for one in found),
        f"{shared.search}; {EACH_GROUP}",
    )


# ------------------------------------------------------------------------------------------ groups


def group_arms(history: History) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The names of the groups in a natural order (2 before 10), and the group of each arm."""
    column = history.arms["group"].to_list()
    names = tuple(sorted(set(column), key=_natural_order))
    if len(names) < 2:
        raise ValueError(
            f"groups must have at least 2 values in the history, got {names[0]!r} only"
        )
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[name] for name in column])


def _natural_order(name: str) -> list[Any]:
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]

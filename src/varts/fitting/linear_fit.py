"""`fit_prior` with features: from rewards and contexts to a `LinearNormalGamma` prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._progress import Progress
from varts._validation import Floats
from varts.fitting.columns import KEYS
from varts.fitting.contexts import encode_contexts
from varts.fitting.diagnostics import Diagnostics, find_outliers, shape_p_value, two_sided
from varts.fitting.estimators import POOL_WORTH_ARMS, describe_search, mean_spread
from varts.fitting.groups import group_arms
from varts.fitting.history import History
from varts.fitting.linear_held_out import HeldOutEvidence
from varts.fitting.linear_likelihood import (
    GUESSES,
    Shape,
    evidence_terms,
    maximise,
    starting_points,
    weak_linear_penalty,
)
from varts.fitting.linear_unit import LinearUnit, standardise_contexts
from varts.fitting.marginal_likelihood import Maximum, pull_towards
from varts.fitting.notes import note_limits, note_linear_trial, note_tails
from varts.kurtosis import Tails
from varts.linear_stats import LinearStats
from varts.priors import LinearNormalGamma
from varts.priors.linear import regress
from varts.stats import ArmStats

LARGE = {"kappa": 18.0, "precision": 18.0, "alpha": 12.0}  # logs: no differences between arms
VISIBLE = 1.35  # of the log evidence: 5 % of histories without differences come out above
CLEAR = 0.95  # the level at which slopes get a precision each


@dataclass(frozen=True)
class LinearFit:
    """What the estimator makes of a history, before anything is said about it."""

    stats: LinearStats  #: in the history's own unit
    unit: LinearUnit
    shape: Shape
    shared: Maximum  #: of all arms
    found: tuple[Maximum, ...]  #: one per group
    index: NDArray[np.int64]  #: the group of each arm
    labels: dict[str, Any]  #: what the entries of the prior are for
    search: str
    notes: list[str]

    @property
    def prior(self) -> LinearNormalGamma:
        return self._join(
            [self.unit.prior(self.shape, one.theta, one.covariance) for one in self.found]
        )

    @property
    def estimate(self) -> LinearNormalGamma:
        return self._join([self.unit.estimate(self.shape, one.theta) for one in self.found])

    def _join(self, priors: list[LinearNormalGamma]) -> LinearNormalGamma:
        if not self.labels:
            return priors[0]
        fields: dict[str, Any] = {
            name: np.array([getattr(prior, name) for prior in priors])
            for name in LinearNormalGamma._fields
        }
        return LinearNormalGamma(**fields, features=priors[0].features, **self.labels)

    @property
    def errors(self) -> dict[str, Any]:
        every = [self.unit.errors(self.shape, one.theta, one.covariance) for one in self.found]
        if not self.labels:
            return every[0]
        return {name: np.array([one[name] for one in every]) for name in every[0]}


@dataclass(frozen=True)
class LinearEstimator:
    """How linear priors are estimated; `group` is the column and whether it is the arm's own."""

    group: tuple[str, bool] | None
    searches: int = len(GUESSES)

    def fit(self, history: History, shown: Progress | None = None) -> LinearFit:
        """Estimate the prior of all arms, or one per group."""
        shown = shown or Progress()
        stats, unit, notes = standardise_contexts(history)
        shown.stage(f"fitting {stats.K} arms with {len(unit.names)} features")
        shape, shared, words = _fit_shared(stats, self.searches)
        search = f"{describe_search(shared.agreed, shared.starts)}; {words}"
        if self.group is None:
            index = np.zeros(stats.K, np.int64)
            return LinearFit(stats, unit, shape, shared, (shared,), index, {}, search, notes)
        names, index = group_arms(history)
        found = _fit_groups(stats, shape, shared, index, shown)
        column, is_arm = self.group
        rest = unit.prior(shape, shared.theta, shared.covariance)
        labels = {"names": names, "others": rest, "group": None if is_arm else column}
        search += f"; then each group, the others worth {POOL_WORTH_ARMS:g} arms"
        return LinearFit(stats, unit, shape, shared, found, index, labels, search, notes)


def _fit_shared(stats: LinearStats, searches: int) -> tuple[Shape, Maximum, str]:
    """One prior for all arms: with one precision for all slopes, or with one each where that makes
    the rewards clearly more probable (a likelihood ratio test)."""
    one, each = Shape(stats.d, False), Shape(stats.d, True)
    starts = starting_points(stats, one, searches)
    simple = maximise(stats, one, starts, weak_linear_penalty(stats, one))
    words = "one precision for all slopes"
    if stats.d < 2:
        return one, simple, words
    start = np.insert(simple.theta, one.alpha, np.full(stats.d - 1, simple.theta[one.kappa + 1]))
    rich = maximise(stats, each, [start], weak_linear_penalty(stats, each))
    gain = 2 * (rich.value - simple.value)
    if rich.converged and gain > special.chdtri(stats.d - 1, 1 - CLEAR):
        return (
            each,
            replace(rich, starts=simple.starts, agreed=simple.agreed),
            "a precision for each slope",
        )
    return one, simple, words


def _note_alike(stats: LinearStats, shape: Shape, found: Maximum) -> list[str]:
    """Where the arms do not seem to differ."""
    penalty = weak_linear_penalty(stats, shape)
    slopes = range(shape.kappa + 1, shape.alpha)
    entries = {"kappa": [shape.kappa], "precision": list(slopes), "alpha": [shape.alpha]}
    named = {"kappa": "means", "precision": "slopes", "alpha": "variances"}
    notes = []
    for name, where in entries.items():
        same = maximise(
            stats, shape, [found.theta], penalty, fixed=dict.fromkeys(where, LARGE[name])
        )
        if found.value - same.value < VISIBLE:
            notes.append(
                f"no differences between the arms' {named[name]} are visible beyond chance: "
                f"{name} is a cautious guess, and any larger number would do as well"
            )
    return notes


def _fit_groups(
    stats: LinearStats,
    shape: Shape,
    shared: Maximum,
    index: NDArray[np.int64],
    shown: Progress,
) -> tuple[Maximum, ...]:
    """All numbers per group; what all arms say counts as much as some arms in every group."""
    precision = np.linalg.pinv(shared.covariance, hermitian=True) * POOL_WORTH_ARMS / stats.K
    penalty = pull_towards(shared.theta, precision)
    groups = int(index.max()) + 1
    shown.stage("fitting groups", groups)
    found = []
    for g in range(groups):
        found.append(maximise(stats.take(index == g), shape, [shared.theta], penalty))
        shown.at(len(found))
    return tuple(found)


def residual_tails(history: History, prior: LinearNormalGamma) -> Tails | None:
    """The shape of what the features leave unexplained, from the sample of the rewards.

    The rewards themselves would hide it: slopes times features add to them what looks Gaussian.
    """
    features, contexts, sample = history.features, history.contexts, history.sample
    if features is None or contexts is None or sample is None:
        return None
    entries = replace(prior, names=None, group=None, others=None)
    if prior.names is not None:
        place = {name: i for i, name in enumerate(prior.names)}
        entries = entries.take([place[group] for group in history.arms["group"]])
    learnt = entries.posterior(contexts)
    keys = [key for key in KEYS if key in sample.columns]
    arms = history.arms.with_row_index("row").select("row", *keys)
    found = sample.join(arms, on=keys, maintain_order="left")
    row = found["row"].to_numpy()
    away = encode_contexts(features, found) - learnt.center[row]
    rest = found["value"].to_numpy() - learnt.mu[row] - (away * learnt.slopes[row]).sum(axis=1)
    ends = np.cumsum(np.bincount(row))[:-1]
    parts = np.split(rest[np.argsort(row, kind="stable")], ends)
    tails = Tails.of(ArmStats.from_rewards([part.tolist() for part in parts]))
    return tails if tails.n else None


def diagnose_linear(
    history: History, fit: LinearFit, trial: HeldOutEvidence | None, tried: bool
) -> Diagnostics:
    """How the arms fit the estimate, with all notes."""
    stats, shape = fit.stats, fit.shape
    mean_pit, variance_pit = np.empty((2, stats.K))
    mean_chance, variance_chance = np.empty((2, stats.K))
    scores = np.empty((shape.size, stats.K))
    for g, one in enumerate(fit.found):
        mine = np.flatnonzero(fit.index == g)
        part = stats.take(mine)
        found = _locate(part, shape, one.theta)
        mean_pit[mine], mean_chance[mine], variance_pit[mine], variance_chance[mine] = found
        scores[:, mine] = evidence_terms(part, one.theta, shape)[1]
    mean_p, variance_p = shape_p_value(mean_pit, scores), shape_p_value(variance_pit, scores)
    priors = [fit.unit.prior(shape, one.theta, one.covariance).level() for one in fit.found]
    wide = np.array([_spread(prior) for prior in priors])
    growth = wide / mean_spread(np.array([one.theta[shape.level] for one in fit.found]))
    alpha = min(float(prior.alpha) for prior in priors)
    notes = fit.notes + _note_alike(stats, shape, fit.shared)
    notes += note_limits(alpha, stats.K, growth / fit.unit.rewards.scale)
    notes += note_linear_trial((mean_p, variance_p), trial, tried) + note_tails(
        residual_tails(history, fit.prior)
    )
    converged = all(one.converged for one in fit.found)
    if not converged:
        notes.append("the search did not converge: do not rely on these numbers")
    return Diagnostics(
        arms=stats.K,
        experiments=history.arms["experiment"].n_unique(),
        rewards=int(stats.n.sum()),
        rows=history.rows,
        left_out=history.left_out,
        converged=converged,
        search=fit.search,
        mean_pit=mean_pit,
        variance_pit=variance_pit,
        mean_p=mean_p,
        variance_p=variance_p,
        outliers=find_outliers(
            history.labels, history.stats, {"mean": mean_chance, "sd": variance_chance}
        ),
        notes=tuple(notes),
        held_out=trial,
        word=history.word,
    )


def _spread(level: Any) -> float:
    return float(np.sqrt(level.beta / level.alpha / level.kappa))


def _locate(stats: LinearStats, shape: Shape, phi: Floats) -> tuple[Floats, ...]:
    """Where each arm lies in what is expected of it, and the chances of lying so far out.

    The mean of n rewards, at the mean of their features, is a Student t; the sum of squares of all
    rewards, each in the direction and the width that the prior expects, over n v is F(n, 2 alpha).
    """
    prior = shape.regression(phi, stats.K)
    learnt = regress(prior, stats)
    x, y = stats.mean[:, :-1], stats.mean[:, -1]
    v, df = prior.beta / prior.alpha, 2 * prior.alpha
    own = np.diagonal(prior.precision, axis1=1, axis2=2)
    width = np.sqrt(v * (1 / prior.kappa + 1 / stats.n + (x * x / own).sum(axis=1)))
    z = (y - prior.mu - (x * prior.slopes).sum(axis=1)) / width
    ratio = 2 * (learnt.beta - prior.beta) / stats.n / v
    low, high = special.fdtr(stats.n, df, ratio), special.fdtrc(stats.n, df, ratio)
    mean_pit = special.stdtr(df, z)
    return mean_pit, 2 * special.stdtr(df, -np.abs(z)), low, two_sided(low, high)

"""`fit_prior`: from the history of past experiments to a Normal-Gamma prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._progress import Progress, show_progress
from varts._validation import Floats, choice, integer
from varts.checks.rewards import is_trend, variance_trend
from varts.fitting.columns import Columns
from varts.fitting.contexts import FeaturesLike
from varts.fitting.diagnostics import Diagnostics, find_outliers, locate_arms, shape_p_value
from varts.fitting.estimators import (
    Estimate,
    fit_groups,
    fit_likelihood,
    fit_moments,
    mean_spread,
    widen,
)
from varts.fitting.groups import group_arms
from varts.fitting.held_out import HeldOut, hold_out
from varts.fitting.history import History, HistoryLike, read_history
from varts.fitting.linear_fit import LinearEstimator, diagnose_linear, residual_tails
from varts.fitting.linear_held_out import hold_out_evidence
from varts.fitting.marginal_likelihood import ALPHA, MU, evidence_terms
from varts.fitting.notes import note_limits, note_reporting, note_tails, note_trend, note_trial
from varts.fitting.result import FittedPrior
from varts.fitting.unit import Unit, standardise
from varts.priors import NormalGamma
from varts.stats import ArmStats

METHODS = ("likelihood", "moments")
TREND_SDS = 5.0  # of the correlation of means (minus mu) and variances, before it is noted


def fit_prior(
    history: HistoryLike,
    *,
    features: FeaturesLike | None = None,
    method: str = "likelihood",
    groups: str | None = None,
    per_group: str | None = None,
    experiment: str | None = "experiment",
    arm: str = "arm",
    reward: str = "reward",
    held_out: bool = True,
    goal: str = "max",
    horizon: int | None = None,
    progress: bool | Progress | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> FittedPrior:
    """Estimate the prior that the arms of past experiments were drawn from.

    Args:
        history: A polars or pandas DataFrame, a LazyFrame, a `History`, or a path to CSV or Parquet
            files (a file, a folder or a pattern), with one row per reward, or aggregated with the
            columns n, mean and sd or m2.
        features: What rewards may depend on, for a `LinearNormalGamma` prior: a `Features`, kinds
            by name such as `{"country": ["NL", "BE"], "visits": "number"}`, or the names of
            columns, which are then described from their first million rows. It takes a row per
            reward.
        method: "likelihood" maximises the marginal likelihood of every arm's statistics, "moments"
            is the paper's method with the sampling noise removed.
        groups: None for one prior that all arms share; "arm" for one per arm name, if names recur
            in several experiments; otherwise the column of a category, for one prior per value.
            Groups with few arms are drawn towards the others.
        per_group: "mu" for one mu per group and the same kappa, alpha and beta for all, "all" for
            all numbers per group; by default "mu", and "all" with features.
        experiment: The column that names the experiment; None if there is only one experiment.
        arm: The column that names the arm.
        reward: The column of rewards.
        held_out: Whether to try the prior on arms that were held out, which takes a few seconds:
            VarTS with it against VarTS without one; with features, how well it foresees their
            rewards.
        goal: Whether higher or lower rewards are better, "max" or "min", for that trial alone.
        horizon: For that trial, how many rounds an experiment will have; by default 100 per arm. A
            prior that costs regret in a short experiment may cost nothing in a long one. More than
            20,000 rounds are not played.
        progress: Whether to show progress on standard error; None shows it only on a terminal.
        separator: What stands between the cells of CSV files; found by default.
        decimal: The decimal mark of numbers in CSV files, "." or ",". Numbers that are written
            differently are refused, not guessed.
        encoding: The encoding of CSV files, such as "latin-1"; UTF-8 by default.

    Returns:
        The prior, its standard errors, and how well it fits the history.

    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> truth = NormalGamma(mu=5, kappa=2, alpha=4, beta=12)
    >>> mean, lam = truth.sample(rng, 300)
    >>> history = pl.DataFrame({
    ...     "experiment": np.arange(300) // 3, "arm": np.arange(300) % 3, "n": 20,
    ...     "mean": mean + rng.standard_normal(300) / np.sqrt(20 * lam),
    ...     "m2": rng.chisquare(19, 300) / lam,
    ... })
    >>> fit = fit_prior(history)
    >>> print(np.round([fit.prior.mu, fit.prior.kappa, fit.prior.alpha, fit.prior.beta], 1))
    [ 4.9  2.4  3.8 11.7]
    >>> round(fit.errors["mu"], 2), fit.diagnostics.converged
    (0.07, True)
    """
    choice("method", method, METHODS)
    per_group = per_group or ("mu" if features is None else "all")
    choice("per_group", per_group, ("mu", "all"))
    choice("goal", goal, ("max", "min"))
    if horizon is not None:
        integer("horizon", horizon, at_least=1)
        if features is not None or not held_out:
            when = "there are features" if features is not None else "nothing is held out"
            raise ValueError(f"horizon must be left out when {when}, got {horizon}")
    wish = "arms are grouped" if groups is not None else "there are features"
    if (groups is not None or features is not None) and method != "likelihood":
        raise ValueError(f"method must be 'likelihood' when {wish}, got {method!r}")
    if features is not None and per_group != "all":
        raise ValueError(f"per_group must be 'all' when there are features, got {per_group!r}")
    group = arm if groups == "arm" else groups
    own = None if group is None else (group, group == arm)
    columns = Columns(experiment, arm, reward, group)
    with show_progress(progress) as shown:
        read = read_history(history, columns, shown, separator, features, decimal, encoding)
        fitted: dict[str, Any]
        if features is None:
            estimator = _Estimator(method, per_group, own)
            fitted = _fit_arms(read, estimator, held_out, goal, horizon, shown)
        else:
            fitted = _fit_contexts(read, LinearEstimator(own), held_out, shown)
    tails = read.tails if features is None else residual_tails(read, fitted["prior"])
    for name in ("prior", "estimate"):
        fitted[name] = replace(fitted[name], tails=tails)
    return FittedPrior(**fitted, method=method, history=read)


def _fit_arms(
    history: History,
    estimator: _Estimator,
    held_out: bool,
    goal: str,
    horizon: int | None,
    shown: Progress,
) -> dict[str, Any]:
    fit, trial = estimator.fit(history, shown), None
    if held_out:
        shown.stage("trying the prior on arms held out")
        trial = hold_out(history, lambda part: estimator.fit(part).prior, goal, horizon)
    found = _diagnose(history, fit, trial, held_out)
    return {
        "prior": fit.prior,
        "estimate": fit.estimate,
        "errors": fit.errors,
        "covariance": fit.unit.covariance(fit.best.covariance[fit.pick]),
        "diagnostics": found,
    }


def _fit_contexts(
    history: History, estimator: LinearEstimator, held_out: bool, shown: Progress
) -> dict[str, Any]:
    fit, trial = estimator.fit(history, shown), None
    if held_out:
        shown.stage("trying the prior on arms held out")
        quick = replace(estimator, searches=1)
        trial = hold_out_evidence(history, lambda part: quick.fit(part).prior)
    found = diagnose_linear(history, fit, trial, held_out)
    return {
        "prior": fit.prior,
        "estimate": fit.estimate,
        "errors": fit.errors,
        "diagnostics": found,
    }


@dataclass(frozen=True)
class _Fit:
    """What an estimator makes of a history, before anything is said about it."""

    stats: ArmStats  #: in the history's own unit
    unit: Unit
    best: Estimate
    index: NDArray[np.int64]  #: the group of each arm
    wide: Floats  #: theta per group, widened by its uncertainty
    labels: dict[str, Any]  #: what the entries of the prior are for
    notes: list[str]

    @property
    def pick(self) -> Any:
        """One prior is four numbers, not vectors of one."""
        return slice(None) if self.labels else 0

    @property
    def prior(self) -> NormalGamma:
        return replace(self.unit.prior(self.wide[self.pick]), **self.labels)

    @property
    def estimate(self) -> NormalGamma:
        return replace(self.unit.prior(self.best.theta[self.pick]), **self.labels)

    @property
    def errors(self) -> dict[str, Any]:
        return self.unit.errors(self.best.theta[self.pick], self.best.covariance[self.pick])


@dataclass(frozen=True)
class _Estimator:
    """How priors are estimated; `group` is the column and whether it is the arm's own."""

    method: str
    per_group: str
    group: tuple[str, bool] | None

    def fit(self, history: History, shown: Progress | None = None) -> _Fit:
        """Estimate the prior of all arms, or one per group."""
        shown = shown or Progress()
        stats, unit, notes = standardise(history)
        shown.stage(f"fitting {stats.K} arms")
        shared, more = (fit_likelihood if self.method == "likelihood" else fit_moments)(stats)
        notes += more
        best, index = shared, np.zeros(stats.K, np.int64)
        labels: dict[str, Any] = {}
        if self.group is not None:
            names, index = group_arms(history)
            best = fit_groups(stats, index, shared, self.per_group, shown)
            twice = stats.K - history.arms.select("experiment", "arm").n_unique()
            if twice:
                notes.append(f"{twice} arms belong to more than one group and count once in each")
            rest = unit.prior(widen(shared.theta[0], shared.covariance[0]))
            column, is_arm = self.group
            labels = {"names": names, "others": rest, "group": None if is_arm else column}
        wide = np.array([widen(*pair) for pair in zip(best.theta, best.covariance, strict=True)])
        return _Fit(stats, unit, best, index, wide, labels, notes)


def _diagnose(history: History, fit: _Fit, trial: HeldOut | None, tried: bool) -> Diagnostics:
    """How the arms fit the estimate (not the widened prior), with all notes."""
    stats, best = fit.stats, fit.best
    own = best.theta[fit.index]  # of every arm
    mean_pit, variance_pit, mean_chance, variance_chance = locate_arms(stats, Unit(0, 1).prior(own))
    scores = evidence_terms(stats, own.T)[1]
    mean_p, variance_p = shape_p_value(mean_pit, scores), shape_p_value(variance_pit, scores)
    growth = mean_spread(fit.wide) / mean_spread(best.theta)
    alpha = float(np.exp(fit.wide[:, ALPHA]).min())
    residual = fit.unit.scale * (stats.mean - own[:, MU])
    related, known = variance_trend(history.stats.variance, residual)
    trend = related if is_trend(related, known, TREND_SDS) else None
    notes = fit.notes + note_limits(alpha, stats.K, growth)
    notes += note_trial((mean_p, variance_p), trial, tried) + note_reporting(trial)
    notes += note_tails(history.tails)
    notes += note_trend(trend, float(residual.mean()))
    if not best.converged:
        notes.append("the search did not converge: do not rely on these numbers")
    return Diagnostics(
        arms=stats.K,
        experiments=history.arms["experiment"].n_unique(),
        rewards=int(stats.n.sum()),
        rows=history.rows,
        left_out=history.left_out,
        converged=best.converged,
        search=best.search,
        mean_pit=mean_pit,
        variance_pit=variance_pit,
        mean_p=mean_p,
        variance_p=variance_p,
        outliers=find_outliers(
            history.labels, history.stats, {"mean": mean_chance, "sd": variance_chance}
        ),
        notes=tuple(notes),
        trend=trend,
        held_out=trial,
        word=history.word,
    )

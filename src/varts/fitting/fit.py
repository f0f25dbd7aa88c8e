"""`fit_prior`: from the history of past experiments to a Normal-Gamma prior.

Everything is estimated in the history's own unit (origin: the median of the arms' means; scale: the
median of their sds) and converted back at the end, so that cents and euros, or an offset of 1e9,
give the same prior up to the unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._progress import Progress, show_progress
from varts._validation import Floats, choice
from varts.fitting.columns import Columns
from varts.fitting.diagnostics import (
    DOUBTFUL_P,
    Diagnostics,
    find_outliers,
    locate_arms,
    shape_p_value,
)
from varts.fitting.estimators import (
    Estimate,
    fit_groups,
    fit_likelihood,
    fit_moments,
    mean_spread,
    widen,
)
from varts.fitting.history import History, HistoryLike, read_history
from varts.fitting.marginal_likelihood import ALPHA, KAPPA, MU, V, evidence_terms
from varts.fitting.result import FittedPrior
from varts.priors import NormalGamma
from varts.stats import ArmStats

METHODS = ("likelihood", "moments")
NOTED_WIDENING = 1.05  # a note says so if a prior is widened by more than 5 %
LITTLE_HISTORY_ARMS = 30
NOTED_CORRELATION = 0.3  # of means and variances; a smaller one hardly moves mu


def fit_prior(
    history: HistoryLike,
    *,
    method: str = "likelihood",
    groups: str | None = None,
    per_group: str = "mu",
    experiment: str | None = "experiment",
    arm: str = "arm",
    reward: str = "reward",
    progress: bool | Progress | None = None,
) -> FittedPrior:
    """Estimate the prior that the arms of past experiments were drawn from.

    Args:
        history: A polars or pandas DataFrame, a LazyFrame, a `History`, or a path to CSV or Parquet
            files (a file, a folder or a pattern), with one row per reward, or aggregated with the
            columns n, mean and sd or m2.
        method: "likelihood" maximises the marginal likelihood of every arm's statistics, "moments"
            is the paper's method with the sampling noise removed.
        groups: None for one prior that all arms share; "arm" for one per arm name, if names recur
            in several experiments; otherwise the column of a category, for one prior per value.
            Groups with few arms are drawn towards the others.
        per_group: "mu" for one mu per group and the same kappa, alpha and beta for all, "all" for
            four numbers per group.
        experiment: The column that names the experiment; None if there is only one experiment.
        arm: The column that names the arm.
        reward: The column of rewards.
        progress: Whether to show progress on standard error; None shows it only on a terminal.

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
    choice("per_group", per_group, ("mu", "all"))
    if groups is not None and method != "likelihood":
        raise ValueError(f"method must be 'likelihood' when arms are grouped, got {method!r}")
    group = arm if groups == "arm" else groups
    with show_progress(progress) as shown:
        read = read_history(history, Columns(experiment, arm, reward, group), shown)
        stats, unit, notes = _standardise(read)
        shown.stage(f"fitting {stats.K} arms")
        shared, more = (fit_likelihood if method == "likelihood" else fit_moments)(stats)
        notes += more
        if groups is None:
            best, names, index = shared, None, np.zeros(stats.K, np.int64)
        else:
            names, index = _group_arms(read)
            best = fit_groups(stats, index, shared, per_group, shown)
            twice = stats.K - read.arms.select("experiment", "arm").n_unique()
            if twice:
                notes.append(f"{twice} arms belong to more than one group and count once in each")

    wide = np.array([widen(*pair) for pair in zip(best.theta, best.covariance, strict=True)])
    pick = 0 if names is None else slice(None)  # one prior is four numbers, not vectors of one
    labels: dict[str, Any] = {}
    if names is not None:
        rest = unit.prior(widen(shared.theta[0], shared.covariance[0]))
        labels = {"names": names, "others": rest, "group": None if group == arm else group}
    return FittedPrior(
        prior=replace(unit.prior(wide[pick]), **labels),
        estimate=replace(unit.prior(best.theta[pick]), **labels),
        errors=unit.errors(best.theta[pick], best.covariance[pick]),
        method=method,
        diagnostics=_diagnose(read, stats, unit, best, index, wide, notes),
        history=read,
    )


@dataclass(frozen=True)
class Unit:
    """The history's origin and scale."""

    origin: float
    scale: float

    def prior(self, theta: Floats) -> NormalGamma:
        """The prior that rows of theta stand for, in the rewards' unit."""
        m, x, y, z = theta.T
        kappa, alpha, v = np.exp(x), np.exp(y), np.exp(z)
        return NormalGamma(self.origin + self.scale * m, kappa, alpha, alpha * v * self.scale**2)

    def errors(self, theta: Floats, covariance: Floats) -> dict[str, Any]:
        """Standard errors by the delta method: a log's error is a relative one."""
        kappa, alpha, v = np.exp(theta[..., 1:]).T
        of_log = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1)).T
        cross = 2 * covariance[..., ALPHA, V]
        of_beta = np.sqrt(np.maximum(of_log[ALPHA] ** 2 + of_log[V] ** 2 + cross, 0))
        errors = {
            "mu": self.scale * of_log[MU],
            "kappa": kappa * of_log[KAPPA],
            "alpha": alpha * of_log[ALPHA],
            "beta": alpha * v * self.scale**2 * of_beta,
        }
        return {name: error if error.ndim else float(error) for name, error in errors.items()}


# --------------------------------------------------------------------------- before the estimation


def _standardise(history: History) -> tuple[ArmStats, Unit, list[str]]:
    """The statistics in the history's own unit; too little history is refused."""
    if history.arms.height == 0:
        lost = ", ".join(f"{count} {reason}" for reason, count in history.left_out.items())
        raise ValueError(f"history must have a usable reward, got {lost or 'no rows'}")
    stats = history.stats
    several = stats.n > 1
    if stats.K < 2:
        raise ValueError(
            "history must have at least 2 arms, got 1: it says nothing about how arms differ"
        )
    if several.sum() < 2:
        raise ValueError(
            f"at least 2 arms of the history must have 2 rewards or more, got {several.sum()} of "
            f"{stats.K}: else the spread within arms cannot be told from that between them"
        )
    if not (stats.m2 > 0).any():
        raise ValueError(
            "rewards must differ within at least one arm, got equal ones in each: "
            "there is no reward variance to learn"
        )
    stats, notes = _fill_in_variances(stats)
    origin = float(np.median(stats.mean))
    scale = float(np.sqrt(np.median(stats.variance[several])))
    own = ArmStats(stats.n, (stats.mean - origin) / scale, stats.m2 / scale**2)
    return own, Unit(origin, scale), notes


def _fill_in_variances(stats: ArmStats) -> tuple[ArmStats, list[str]]:
    """A variance for arms whose rewards are all equal, where rewards come in steps.

    A variance of 0 would be infinitely informative, and a tiny one nearly so: arms without a single
    buyer would then determine mu. Equal rewards say next to nothing about a variance, so they get
    the typical one of the other arms. A single reward has no variance, but equal single rewards in
    several arms would be a spike that outweighs everything else: they are treated as rounded. The
    smallest m2 is about a step squared; a step of one sd hides 1/12 of the typical variance.
    """
    flat, single = stats.m2 == 0, stats.n == 1
    equal = flat & ~single
    alone = stats.mean[single]
    if not equal.any() and np.unique(alone).size == alone.size:
        return stats, []
    typical = np.median(stats.m2[~flat] / (stats.n[~flat] - 1))
    hidden = np.minimum(stats.m2[~flat].min() / 4, typical / 12)
    spread = np.where(single, hidden, (stats.n - 1) * typical)
    notes = []
    if equal.any():
        notes.append(
            f"{equal.sum()} arms have equal rewards only, which says next to nothing about their "
            "variance: they count with the typical one of the others"
        )
    if single.any():
        notes.append(
            f"{single.sum()} arms have one reward only, and rewards come in steps: it counts as if "
            "it were off by half a step"
        )
    return ArmStats(stats.n, stats.mean, np.where(flat, spread, stats.m2)), notes


def _group_arms(history: History) -> tuple[tuple[str, ...], NDArray[np.int64]]:
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


# ---------------------------------------------------------------------------- after the estimation


def _diagnose(
    history: History,
    stats: ArmStats,
    unit: Unit,
    best: Estimate,
    index: NDArray[np.int64],
    wide: Floats,
    notes: list[str],
) -> Diagnostics:
    """How the arms fit the estimate (not the widened prior), with all notes."""
    own = best.theta[index]  # of every arm
    mean_pit, variance_pit, mean_chance, variance_chance = locate_arms(stats, Unit(0, 1).prior(own))
    scores = evidence_terms(stats, own.T)[1]
    mean_p, variance_p = shape_p_value(mean_pit, scores), shape_p_value(variance_pit, scores)
    growth = mean_spread(wide) / mean_spread(best.theta)
    notes = notes + _note_limits(
        float(np.exp(wide[:, ALPHA]).min()), stats.K, growth, mean_p, variance_p
    )
    notes += _note_correlation(history.stats.variance, unit.scale * (stats.mean - own[:, MU]))
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
    )


def _note_correlation(variance: Floats, residual: Floats) -> list[str]:
    """A note if the arms' variances are correlated with their means (minus mu).

    Under the model a mean is as likely above mu as below it, whatever the variance; the rank
    correlation of J arms then has an sd of 1/sqrt(J - 1) to 1.25/sqrt(J - 1).
    """
    known = ~np.isnan(variance)
    ranks = [np.unique(x[known], return_inverse=True)[1] for x in (variance, residual)]
    with np.errstate(invalid="ignore"):  # all equal: NaN, which is not large
        related = float(np.asarray(np.corrcoef(ranks))[0, 1])
    if not abs(related) > max(NOTED_CORRELATION, 5 / np.sqrt(known.sum() - 1)):
        return []
    off = float(residual.mean())
    return [
        f"the arms' variances {'rise' if related > 0 else 'fall'} with their means (rank "
        f"correlation {related:.2f}), which the model does not expect: mu follows the arms of "
        f"small variance, {abs(off):.3g} {'below' if off > 0 else 'above'} the average of the means"
    ]


def _note_limits(
    alpha: float, arms: int, growth: Floats, mean_p: float, variance_p: float
) -> list[str]:
    """Notes on how far the prior can be relied on."""
    notes = []
    unsure, most = growth > NOTED_WIDENING, f"the spread of the means by {growth.max() - 1:.0%}"
    if unsure.any():
        why = (
            f"{arms} arms are little history"
            if arms < LITTLE_HISTORY_ARMS
            else "the estimate is uncertain"
        )
        which = f" in {unsure.sum()} of {growth.size} groups, at most" if growth.size > 1 else ""
        notes.append(f"{why}: the prior is widened for it, {most}{which}")
    if alpha <= 1:
        notes.append(
            "alpha <= 1: reward variances so uncertain have no mean, and Theorem 2 has no bound"
        )
    notes += [
        f"the arms' {what} do not have the shape the model expects (p = {p:.1g}): see the plot"
        for what, p in (("means", mean_p), ("variances", variance_p))
        if p < DOUBTFUL_P
    ]
    return notes

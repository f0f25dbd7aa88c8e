"""Does a fitted prior fit? Where its arms lie in what it expects, and the notes about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize, special

from varts._text import printable
from varts._validation import Floats
from varts.checks.finding import OK
from varts.checks.rewards import check_tails, describe_trend, is_trend, variance_trend
from varts.fitting.aggregate import describe_left_out
from varts.fitting.estimators import Fit
from varts.fitting.held_out import FEWEST_ARMS, ROUNDS_PER_ARM, HeldOut, rewards_needed
from varts.fitting.history import History, find_residuals
from varts.fitting.likelihood import (
    ALPHA,
    KAPPA,
    MU,
    Layout,
    evidence_terms,
    maximise,
    maximise_with_slopes,
    slope_evidence_terms,
    weak_slope_penalty,
)
from varts.fitting.unit import LinearUnit, Unit
from varts.kurtosis import Tails
from varts.linear_stats import LinearStats
from varts.priors import LinearNormalGamma, NormalGamma
from varts.priors.linear import regress
from varts.stats import ArmStats

OUTLIER_CHANCE = 0.01  # that in a history that fits, some mean (or some variance) is an outlier
SMALLEST_P = 0.0001  # that is shown: with many arms any model has a tiny one
DOUBTFUL_P = 0.01  # below this p-value the shape is said not to fit
PIT_LEVELS = (np.arange(50) + 0.5) / 50  # where the test of the shape looks at the PITs
FEWEST_ARMS_TO_TEST = 10  # with fewer arms the shape is not tested
TREND_SDS = 5.0  # of the correlation of means (minus mu) and variances, before it is noted
NOTED_WIDENING = 1.05  # a prior that is widened by more than 5 % gets a note
LITTLE_HISTORY_ARMS = 30
# Logarithms at which arms do not differ, and what does not differ then.
ALIKE = {"kappa": (18.0, "means"), "precision": (18.0, "slopes"), "alpha": (12.0, "variances")}
VISIBLE = 1.35  # of the log evidence: 5 % of histories without differences come out above


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """What to know before using the prior; `print` it, or read the fields."""

    arms: int
    experiments: int
    rewards: int
    rows: int  #: rows read
    left_out: Mapping[str, int]  #: rows that could not be used, by reason
    converged: bool
    search: str  #: how the numbers were found
    mean_pit: Floats  #: where each arm's mean lies in what the prior expects of it, 0 to 1
    variance_pit: Floats  #: the same for its variance; NaN for an arm with one reward
    mean_p: float  #: p-value of the means' shape; NaN with fewer than 10 arms
    variance_p: float
    outliers: tuple[dict[str, Any], ...]  #: each with arm, row of the history, what, value, chance
    notes: tuple[str, ...]  #: warnings, one sentence each
    trend: float | None = None  #: rank correlation of variances and means, if beyond chance
    #: The result on arms that the prior was not learnt from.
    held_out: HeldOut | None = None
    word: str | None = None  #: a reward that is not a number, as written

    def __str__(self) -> str:
        lines = [
            f"{self.rewards:,} rewards of {self.arms:,} arms, {self.experiments:,} "
            f"experiment{'s' if self.experiments > 1 else ''}"
        ]
        if self.left_out:
            lines.append(describe_left_out(self.left_out, self.rows, self.word))
        lines.append(f"{self.search}{'' if self.converged else '; NOT CONVERGED'}")
        for what, p in (("means", self.mean_p), ("variances", self.variance_p)):
            if np.isnan(p):
                lines.append(f"shape of the {what}: too few arms to tell")
            else:
                verdict = "fits" if p >= DOUBTFUL_P else "does not fit"
                shown = f"p = {p:.2g}" if p >= SMALLEST_P else f"p < {SMALLEST_P:g}"
                lines.append(f"shape of the {what}: {verdict} ({shown})")
        lines += [
            f"outlier: {odd['arm']}, {odd['what']} {odd['value']:.4g} (chance {odd['chance']:.1g})"
            for odd in self.outliers[:10]
        ]
        if len(self.outliers) > 10:
            lines.append(f"and {len(self.outliers) - 10} more outliers")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(map(printable, lines))

    __repr__ = __str__


def diagnose(
    history: History, fit: Fit, tails: Tails | None, trial: HeldOut | None, tried: bool
) -> Diagnostics:
    """How the arms fit the estimate (not the widened prior), with all notes.

    Args:
        history: The history that was fitted.
        fit: The fit.
        tails: The shape of what the estimate leaves unexplained.
        trial: The result on arms that were held out, if there was one.
        tried: Whether some were to be held out.
    """
    stats = fit.stats
    mean_pit, variance_pit, mean_chance, variance_chance, scores = _locate(fit)
    mean_p, variance_p = shape_p_value(mean_pit, scores), shape_p_value(variance_pit, scores)
    trend, off = _find_trend(history, fit)
    notes = [*fit.notes, *note_alike(fit), *note_limits(fit)]
    d = len(fit.unit.names) if isinstance(fit.unit, LinearUnit) else 0
    notes += note_trial((mean_p, variance_p), trial, tried, rewards_needed(d))
    notes += note_tails(tails) + note_trend(trend, off)
    if not fit.best.converged:
        notes.append("the search did not converge: do not rely on these numbers")
    return Diagnostics(
        arms=stats.K,
        experiments=history.arms["experiment"].n_unique(),
        rewards=int(stats.n.sum()),
        rows=history.rows,
        left_out=history.left_out,
        converged=fit.best.converged,
        search=fit.best.search,
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


# --------------------------------------------------------------------------------------- the shape


def _locate(fit: Fit) -> tuple[Floats, ...]:
    """The places of all arms and their chances, and the directions in which the fit pulled them."""
    stats, unit, theta = fit.stats, fit.unit, fit.best.theta
    if isinstance(stats, ArmStats):
        own = theta[fit.index]  # of every arm
        return *locate_arms(stats, Unit(0, 1).prior(own)), evidence_terms(stats, own.T)[1]
    assert isinstance(unit, LinearUnit)
    found = np.empty((4, stats.K))
    scores = np.empty((unit.layout.size, stats.K))
    for g in np.unique(fit.index):
        mine = np.flatnonzero(fit.index == g)
        part = stats.take(mine)
        found[:, mine] = locate_lines(part, theta[g], unit.layout)
        scores[:, mine] = slope_evidence_terms(part, theta[g], unit.layout)[1]
    return *found, scores


def _find_trend(history: History, fit: Fit) -> tuple[float | None, float]:
    """Whether variances go with means, and how far mu is from the average of the means."""
    if isinstance(fit.stats, LinearStats):
        return None, 0.0
    assert isinstance(fit.unit, Unit)
    residual = fit.unit.scale * (fit.stats.mean - fit.best.theta[fit.index, MU])
    related, known = variance_trend(history.stats.variance, residual)
    return related if is_trend(related, known, TREND_SDS) else None, float(residual.mean())


def locate_arms(stats: ArmStats, prior: NormalGamma) -> tuple[Floats, Floats, Floats, Floats]:
    """Where each arm lies in what its prior expects: PITs of means and variances, then the
    two-sided chances of lying so far out.

    Before any reward is seen, the mean of n rewards is a Student t with 2 alpha degrees of freedom
    and scale sqrt(v (1/kappa + 1/n)), v = beta/alpha; their variance over v is F(n - 1, 2 alpha).
    """
    mu, kappa, alpha, beta = prior.per_arm(stats.K)
    v, df = beta / alpha, 2 * alpha
    z = (stats.mean - mu) / np.sqrt(v * (1 / kappa + 1 / stats.n))
    several = stats.n > 1
    ratio = np.where(several, stats.variance, v) / v
    low = special.fdtr(np.maximum(stats.n - 1, 1), df, ratio)
    high = special.fdtrc(np.maximum(stats.n - 1, 1), df, ratio)
    return (
        special.stdtr(df, z),
        np.where(several, low, np.nan),
        2 * special.stdtr(df, -np.abs(z)),
        np.where(several, two_sided(low, high), np.nan),
    )


def two_sided(low: Floats, high: Floats) -> Floats:
    """The chance of lying as far out on either side."""
    return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))


def locate_lines(stats: LinearStats, theta: Floats, layout: Layout) -> tuple[Floats, ...]:
    """Where each arm lies in what is expected of it, and the chances of lying so far out.

    The mean of n rewards, at the mean of their features, is a Student t; the sum of squares of all
    rewards, each in the direction and the width that the prior expects, over n v is F(n, 2 alpha).
    """
    prior = layout.regression(theta, stats.K)
    learnt = regress(prior, stats)
    x, y = stats.mean[:, :-1], stats.mean[:, -1]
    v, df = prior.beta / prior.alpha, 2 * prior.alpha
    own = np.diagonal(prior.precision, axis1=1, axis2=2)
    width = np.sqrt(v * (1 / prior.kappa + 1 / stats.n + (x * x / own).sum(axis=1)))
    z = (y - prior.mu - (x * prior.slopes).sum(axis=1)) / width
    ratio = 2 * (learnt.beta - prior.beta) / stats.n / v
    low, high = special.fdtr(stats.n, df, ratio), special.fdtrc(stats.n, df, ratio)
    mean_pit = special.stdtr(df, z)
    return mean_pit, low, 2 * special.stdtr(df, -np.abs(z)), two_sided(low, high)


def shape_p_value(pit: Floats, scores: Floats) -> float:
    """Are these PITs uniform? A Cramer-von Mises test that knows the prior was fitted to them.

    Fitting pulls the prior towards the arms, in the directions of `scores` (4, J), or of more with
    features, the gradients of the arms' log evidence. The share of PITs below each level is
    compared with the level after regressing these directions out; the sum of squares is then a
    weighted sum of chi-squares.
    NaN with fewer than 10 arms, or than two per direction.

    >>> even, none = np.linspace(0.005, 0.995, 100), np.zeros((4, 100))
    >>> shape_p_value(even, none) > 0.9, shape_p_value(even**2, none) < 1e-4
    (True, True)
    """
    known = ~np.isnan(pit)
    J = int(known.sum())
    fewest = max(FEWEST_ARMS_TO_TEST, 2 * len(scores))
    if fewest > J:
        return float("nan")
    pit, scores = pit[known], scores[:, known].T
    if np.unique(pit).size < J / 2:  # rewards in steps: a few scores would explain every step
        scores = np.zeros_like(scores)
    order = np.argsort(pit)
    count = np.searchsorted(pit[order], PIT_LEVELS, side="right")  # of arms below each level
    running = np.vstack([np.zeros(scores.shape[1]), np.cumsum(scores[order], axis=0)])
    S_sum, SS = running[-1], scores.T @ scores
    B_sum, SB = count - J * PIT_LEVELS, running[count].T - np.outer(S_sum, PIT_LEVELS)
    coefficients = np.linalg.pinv(SS, hermitian=True) @ SB
    distance = float(np.mean((B_sum - S_sum @ coefficients) ** 2)) / J
    bridge = np.minimum.outer(PIT_LEVELS, PIT_LEVELS) - np.outer(PIT_LEVELS, PIT_LEVELS)
    weights = np.linalg.eigvalsh(bridge - SB.T @ coefficients / J) / PIT_LEVELS.size
    return chi_square_sum_tail(distance, weights[weights > 1e-9 * weights[-1]])


def chi_square_sum_tail(x: float, weights: Floats) -> float:
    """P(sum of weights * chi-squares with one degree of freedom > x), by saddlepoint.

    Kuonen (1999); accurate to a few per cent. An ordinary chi-square with 10 degrees of freedom:

    >>> round(chi_square_sum_tail(18.307, np.ones(10)), 3)
    0.05
    """
    mean = float(weights.sum())
    if abs(x / mean - 1) < 1e-3:  # the formula is 0/0 at the mean, and smooth beside it
        x = 1.001 * mean

    def slope(s: float) -> float:
        return float((weights / (1 - 2 * weights * s)).sum()) - x

    limit, low = 0.5 / weights.max(), -1.0 / mean
    while slope(low) > 0:
        low *= 4
    s = optimize.brentq(slope, low, limit * (1 - 1e-12), xtol=1e-13 * limit)
    K = -0.5 * np.log1p(-2 * weights * s).sum()
    curve = 2 * (weights**2 / (1 - 2 * weights * s) ** 2).sum()
    w, v = np.sign(s) * np.sqrt(2 * (s * x - K)), s * np.sqrt(curve)
    return float(special.ndtr(-(w + np.log(v / w) / w)))


def find_outliers(
    labels: list[str], stats: ArmStats, chances: Mapping[str, Floats]
) -> tuple[dict[str, Any], ...]:
    """The arms whose mean or variance is very improbable under the prior, the worst first."""
    values = {"mean": stats.mean, "sd": np.sqrt(np.nan_to_num(stats.variance))}
    odd = [
        {
            "arm": labels[j],
            "row": int(j),
            "what": what,
            "value": float(values[what][j]),
            "chance": float(p[j]),
        }
        for what, p in chances.items()
        for j in np.flatnonzero(p < OUTLIER_CHANCE / stats.K)
    ]
    return tuple(sorted(odd, key=lambda row: row["chance"]))


def residual_tails(history: History, prior: LinearNormalGamma) -> Tails | None:
    """The shape of what the features leave unexplained, from the sample of the rewards.

    The rewards themselves would hide it: slopes times features add to them what looks Gaussian.
    """
    contexts = history.contexts
    if contexts is None or history.sample is None:
        return None
    entries = replace(prior, names=None, group=None, others=None)
    if prior.names is not None:
        place = {name: i for i, name in enumerate(prior.names)}
        entries = entries.take([place[group] for group in history.arms["group"]])
    line = regress(entries.regression(contexts.K), contexts)
    row, _, rest = find_residuals(history, line)
    ends = np.cumsum(np.bincount(row))[:-1]
    parts = np.split(rest[np.argsort(row, kind="stable")], ends)
    tails = Tails.of(ArmStats.from_rewards([part.tolist() for part in parts]))
    return tails if tails.n else None


# --------------------------------------------------------------------------------------- the notes


def note_alike(fit: Fit) -> list[str]:
    """In what the arms don't seem to differ: theta can be fixed there at hardly any cost."""
    stats, unit, theta = fit.stats, fit.unit, fit.shared.theta[0]
    if fit.shared.value is None:
        return []
    if isinstance(unit, LinearUnit):
        at = unit.layout
        slopes = [*range(at.size)[at.precisions]]
        entries = {"kappa": [at.kappa], "precision": slopes, "alpha": [at.alpha]}
    else:
        entries = {"kappa": [KAPPA], "alpha": [ALPHA]}
    notes = []
    for name, places in entries.items():
        large, what = ALIKE[name]
        fixed = dict.fromkeys(places, large)
        if isinstance(stats, LinearStats):
            same = maximise_with_slopes(stats, at, [theta], weak_slope_penalty(stats, at), fixed)
        else:
            same = maximise(stats, [theta], fixed=fixed)
        if fit.shared.value - same.value < VISIBLE:
            guess = name if len(places) > 1 else f"{name} = {np.exp(theta[places[0]]):.3g}"
            notes.append(
                f"no differences between the arms' {what} are visible beyond chance: "
                f"{guess} is a cautious guess, and any larger number would do as well"
            )
    return notes


def note_limits(fit: Fit) -> list[str]:
    """How far the prior can be relied on."""
    prior, estimate = (
        one.level() if isinstance(one, LinearNormalGamma) else one
        for one in (fit.prior, fit.estimate)
    )
    growth = np.atleast_1d(_spread(prior) / _spread(estimate))
    notes = []
    unsure, most = growth > NOTED_WIDENING, f"the spread of the means by {growth.max() - 1:.0%}"
    if unsure.any():
        why = (
            f"{fit.stats.K} arms are little history"
            if fit.stats.K < LITTLE_HISTORY_ARMS
            else "the estimate is uncertain"
        )
        which = f" in {unsure.sum()} of {growth.size} groups, at most" if growth.size > 1 else ""
        notes.append(f"{why}: the prior is widened for it, {most}{which}")
    if np.min(prior.alpha) <= 1:
        notes.append(
            "alpha <= 1: reward variances so uncertain have no mean, and Theorem 2 has no bound"
        )
    return notes


def _spread(prior: NormalGamma) -> Any:
    """The scale sqrt(v/kappa) of the arms' means."""
    return np.sqrt(prior.beta / prior.alpha / prior.kappa)


def note_trial(
    p_values: tuple[float, float], trial: HeldOut | None, tried: bool, fewest: int
) -> list[str]:
    """Whether to choose and to report with the prior: by held-out arms, not by its shape.

    Args:
        p_values: Those of the shapes of means and variances.
        trial: The result on held-out arms, if there is one.
        tried: Whether arms were to be held out.
        fewest: The rewards that an arm needs to be played.
    """
    unfit = min(p_values) < DOUBTFUL_P  # NaN, too few arms, is not
    if trial is None:
        why = "nothing was held out"
        if tried:
            why = f"too few arms to hold out ({FEWEST_ARMS} with {fewest} rewards or more)"
        if not unfit:
            return [f"{why}: whether the prior helps was not tried"] if tried else []
        return [f"the shape does not fit, and {why}: whether the prior helps was not tried"]
    advice = {
        "use": "use it",
        "leave": "choose without it, or give groups of arms a prior each",
        "unclear": "use it or leave it",
    }
    but = {"use": ", although its shape does not fit", "leave": "; its shape does not fit either"}
    notes = [
        f"for choosing, held out: {trial}: {advice[trial.verdict]}"
        f"{but.get(trial.verdict, '; its shape does not fit') if unfit else ''}"
    ]
    if trial.verdict == "leave" and trial.rounds == ROUNDS_PER_ARM * trial.arms:
        notes[0] += "; over more rounds it may cost nothing: try your horizon (--horizon)"
    if trial.reporting is not None:
        report = {
            "use": "report with it",
            "leave": "report without it, or give groups of arms a prior each",
            "unclear": "report with it or without it",
        }
        found = trial.reporting
        notes.append(f"for reporting, held out: {found}: {report[found.verdict]}")
    return notes


def note_tails(tails: Tails | None) -> list[str]:
    """Rewards far from Gaussian."""
    if tails is None:
        return []
    kurtosis, _ = check_tails(tails)
    return [] if kurtosis.number is None or kurtosis.verdict == OK else [kurtosis.sentence]


def note_trend(trend: float | None, off: float) -> list[str]:
    """Variances that go with the means, and where mu is for it."""
    if trend is None:
        return []
    return [
        f"{describe_trend(trend)}; mu follows the arms of small variance, "
        f"{abs(off):.3g} {'below' if off > 0 else 'above'} the average of the means"
    ]

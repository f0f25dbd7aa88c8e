"""Does a fitted prior fit? Where its arms lie in what it expects, and which lie far out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special

from varts._text import printable
from varts._validation import Floats
from varts.fitting.aggregate import describe_left_out
from varts.fitting.held_out import HeldOut
from varts.fitting.linear_held_out import HeldOutEvidence
from varts.priors import NormalGamma
from varts.stats import ArmStats

OUTLIER_CHANCE = 0.01  # that in a history that fits, some mean (or some variance) is an outlier
SMALLEST_P = 0.0001  # that is shown: with many arms any model has a tiny one
DOUBTFUL_P = 0.01  # below this p-value the shape is said not to fit
PIT_LEVELS = (np.arange(50) + 0.5) / 50  # where the test of the shape looks at the PITs
FEWEST_ARMS_TO_TEST = 10  # with fewer arms the shape is not tested


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
    held_out: HeldOut | HeldOutEvidence | None = (
        None  #: what the prior gained on arms that it was not learnt from
    )
    word: str | None = None  #: one of the rewards that are not numbers, as it stands there

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

"""The policies that a plan compares: VarTS, other policies, an even split, and wrong priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from varts._intervals import mean_interval, t_factor
from varts._validation import Floats
from varts.planning.columns import TABLES
from varts.planning.identification import Identification
from varts.policies import EvenSplit, Policy, VarTS, baselines
from varts.priors import NormalGamma
from varts.simulation.study import Study

POINTS_PER_CURVE = 100  # that a plan keeps of a regret curve
MAIN, PLAIN, EVEN = VarTS.label, "VarTS, no prior", EvenSplit.label
RIGHT = "the right prior"
ASSUMES = {
    "UCB1": "rewards in [0, 1]",
    "UCB1-Tuned": "rewards in [0, 1]",
    "UCB-V": "rewards in [0, 1]",
    "Bernoulli-TS": "rewards in [0, 1]",
    "Gaussian-TS": "means N(0, 1), rewards of variance 1",
    "TS20": "rewards of variance near 1",
}


def make_policies(prior: NormalGamma, goal: str) -> dict[str, Policy]:
    """VarTS with and without the prior, the paper's baselines, and an even split."""
    made = {MAIN: VarTS(prior), PLAIN: VarTS(), **baselines()}
    if goal == "min":  # negated rewards would all be clipped to 0
        del made["Bernoulli-TS"]
    return {**made, EVEN: EvenSplit()}


def make_wrong_priors(prior: NormalGamma, goal: str = "max") -> dict[str, NormalGamma]:
    """Priors for VarTS that are wrong in one way each.

    Means: every mu is moved by one sd of that arm's mean. Where the arms' priors differ, their
    order may be wrong, too: the favourite is moved one way and all others the other way.

    Variance: VarTS believes that rewards vary c times as much as they do, but is right about the
    means. As the sd of a mean is sqrt(beta / (kappa (alpha - 1))), both beta and kappa are
    multiplied by c, which leaves the prior of the means as it is.

    >>> wrong = make_wrong_priors(NormalGamma(mu=[0.0, 0.0], kappa=1, alpha=2, beta=4))
    >>> wrong["means 1 sd too high"]
    NormalGamma(mu=[2. 2.], kappa=[1. 1.], alpha=[2. 2.], beta=[4. 4.])
    >>> wrong["variance 10x too small"]
    NormalGamma(mu=[0. 0.], kappa=[0.1 0.1], alpha=[2. 2.], beta=[0.4 0.4])
    """
    mu, kappa, alpha, beta = prior.per_arm(int(np.size(prior.mu)))
    sd = finite_mean_sd(prior)
    up, down = ("high", "low") if goal == "max" else ("low", "high")
    made = {
        f"means 1 sd too {up}": NormalGamma(mu + sd, kappa, alpha, beta),
        f"means 1 sd too {down}": NormalGamma(mu - sd, kappa, alpha, beta),
    }
    if any(np.ptp(x) > 0 for x in (mu, kappa, alpha, beta)):
        favourite = np.arange(mu.size) == prior.belief().p_best().argmax()
        way = np.where(favourite, sd, -sd)
        made["favourite 1 sd too good, others too bad"] = NormalGamma(mu + way, kappa, alpha, beta)
        made["favourite 1 sd too bad, others too good"] = NormalGamma(mu - way, kappa, alpha, beta)
    for factor in (2, 10):
        made[f"variance {factor}x too large"] = NormalGamma(
            mu, kappa * factor, alpha, beta * factor
        )
        made[f"variance {factor}x too small"] = NormalGamma(
            mu, kappa / factor, alpha, beta / factor
        )
    return made


def finite_mean_sd(prior: NormalGamma) -> Floats:
    """The sd of an arm's mean; where it is infinite (alpha <= 1), half the central 68.27 %."""
    exact, belief = prior.mean_sd, prior.belief()
    middle = belief.scale * special.stdtrit(belief.df, special.ndtr(1.0))
    return np.where(np.isfinite(exact), exact, middle)


# --------------------------------------------------------------------------------------- tables


def policy_table(study: Study, labels: list[str], inner: NormalGamma, goal: str) -> pl.DataFrame:
    """Regret and reward of each policy; `inner` is the prior for which more is better."""
    belief = inner.belief()
    # E[max of the means] by quadrature: the reward is then as precise as the regret.
    best = float(belief.expected_loss()[0] + belief.loc[0]) * study.horizon
    sign = 1.0 if goal == "max" else -1.0
    rows = []
    for label in labels:
        regret = study.final[label]
        mean, low, high = mean_interval(regret)
        rewards = sorted(sign * (best - x) for x in (low, high))
        against = mean_interval(regret - study.final[MAIN])
        inferior = mean_interval(1 - study.best_share[label])
        row = [mean, low, high, *np.quantile(regret, [0.5, 0.95]), sign * (best - mean), *rewards]
        row += [inferior[0], max(inferior[1], 0.0), min(inferior[2], 1.0)]
        row += [None] * 3 if label == MAIN else against
        rows.append([label, *row, ASSUMES.get(label)])
    return (
        TABLES["table"]
        .frame(rows)
        .sort(pl.col("policy") != MAIN, pl.col("policy") == EVEN, "regret", maintain_order=True)
    )


def wrong_table(study: Study, at_end: Mapping[str, Identification]) -> pl.DataFrame:
    """The cost of each wrong prior to VarTS, and the arm that it recommends in the end."""
    right = study.final[MAIN]
    rows: list[list[Any]] = []
    for what, end in at_end.items():
        regret = right if what == RIGHT else study.final[what]
        extra: list[float | None] = [None] * 4
        if what != RIGHT:
            mean, low, high = mean_interval(regret - right)
            extra = [mean, low, high, mean / right.mean() if right.mean() > 0 else None]
        q95, p_best = np.quantile(regret, 0.95), end.p_best.mean()
        rows.append([what, regret.mean(), *extra, q95, p_best, *end.share_identified(0)])
    return TABLES["wrong"].frame(rows)


def arm_table(
    given: NormalGamma, inner: NormalGamma, names: tuple[str, ...] | None
) -> pl.DataFrame:
    """The prior of every arm; `inner` is the same prior if higher rewards are better."""
    K = given.mu.size
    labels = names or [str(i + 1) for i in range(K)]
    chances = inner.belief().p_best()
    return TABLES["arms"].frame(zip(labels, given.mu, finite_mean_sd(given), chances, strict=True))


def curve_table(study: Study, labels: list[str]) -> pl.DataFrame:
    """The regret of each policy over the rounds."""
    step = -(-len(study.rounds) // POINTS_PER_CURVE)
    at = np.arange((len(study.rounds) - 1) % step, len(study.rounds), step)  # with the last one
    factor = t_factor(study.runs)
    rows = []
    for label in labels:
        regret, half = study.regret[label][at], factor * study.se[label][at]
        for n, middle, width in zip(study.rounds[at], regret, half, strict=True):
            rows.append([label, n, middle, middle - width, middle + width])
    return TABLES["curves"].frame(rows)

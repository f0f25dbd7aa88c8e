"""A plan on recorded rewards, beside the model's: where the two differ, and why.

Three simulations tell the causes apart: arms drawn from the prior with normal rewards (the plan),
the recorded arms with normal rewards of the same means and variances, and the recorded rewards.
From the first to the second only the arms change, from the second to the third only the shape of
the rewards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._intervals import mean_interval, standard_error
from varts._progress import Progress
from varts._validation import Floats, integer, is_real
from varts.fitting.aggregate import describe_left_out
from varts.planning.columns import TABLES, count_decimals, write_amount
from varts.planning.comparators import EVEN, MAIN
from varts.planning.identification import (
    Identification,
    SimulatedRuns,
    sure_table,
)
from varts.policies import Policy
from varts.priors import NormalGamma
from varts.problems import EmpiricalBandit, Fixed, GaussianBandit
from varts.problems.classic import gaussian_instances
from varts.problems.recorded import RewardTable
from varts.simulation.simulate import simulate
from varts.simulation.study import Study

ALARM = 3.0  # standard errors from which on a difference between two simulations is spoken of
SURE_LEVEL = 0.95  # of P(best), whose word is compared in the text


def find_rewards(
    rewards: EmpiricalBandit | RewardTable, arms: int | Iterable[str] | None
) -> EmpiricalBandit:
    """The recorded rewards of the arms to plan for; all of them if none are named."""
    problem = rewards if isinstance(rewards, EmpiricalBandit) else EmpiricalBandit(rewards)
    if arms is None:
        return problem
    if not is_real(arms):
        return problem.for_arms(arms)  # type: ignore[arg-type]
    if integer("arms", arms, at_least=1) != problem.K:
        raise ValueError(f"arms must be the {problem.K} of the recorded rewards, got {arms}")
    return problem


def check_order(prior: NormalGamma, problem: EmpiricalBandit, arms: Any) -> None:
    """Refuse to guess which entry of a prior belongs to which arm of a log."""
    if prior.K is not None and prior.names is None and problem.names is not None and arms is None:
        raise ValueError(
            "arms must be named in the order of the prior's entries, which have no names, got none"
        )


def with_normal_rewards(problem: EmpiricalBandit) -> Fixed:
    """The same means and variances, but normal rewards."""
    return Fixed(GaussianBandit, gaussian_instances(problem.mean, np.sqrt(problem.variance)))


class Played(NamedTuple):
    """The simulations of the recorded arms."""

    recorded: Study
    normal: Study  #: with normal rewards instead
    identified: dict[str, Identification]  #: on the recorded rewards, by policy


def play(
    problem: EmpiricalBandit,
    named: Mapping[str, Policy],
    prior: NormalGamma,
    numbers: tuple[int, int, int, int | None],
    followed: tuple[NDArray[np.int64], int],
    bar: Progress,
) -> Played:
    """Play the policies on the recorded arms; `problem` and `prior` are for higher is better.

    `numbers` are horizon, runs, seed and threads; `followed` are the checkpoints at which P(best)
    is computed, and in how many runs.
    """
    bar.prefix = "normal rewards: "
    normal = simulate(with_normal_rewards(problem), named, *numbers, progress=bar)
    bar.prefix = "recorded rewards: "
    recorded = simulate(problem, named, *numbers, progress=bar)
    identified = {}
    for label in (MAIN, EVEN):
        bar.stage(f"P(best) of {label}", 1.0)
        checkpoints, count = followed
        runs = SimulatedRuns(problem, named[label], prior, count, *numbers[2:])
        identified[label] = runs.identify(checkpoints, bar)
    bar.prefix = ""
    return Played(recorded, normal, identified)


def make_tables(
    problem: EmpiricalBandit, played: Played, table: pl.DataFrame, sure: pl.DataFrame, goal: str
) -> dict[str, Any]:
    """The tables of a `Plan` about the recorded rewards, besides the model's `table` and `sure`."""
    arms = _arm_table(problem if goal == "max" else problem.mirrored())
    recorded_sure = sure_table(played.identified)
    return {
        "recorded": _policy_table(played, table, goal, problem),
        "recorded_sure": recorded_sure,
        "recorded_arms": arms,
        "comparison": _compare(played, table, arms, sure, recorded_sure),
    }


def _policy_table(
    played: Played, expected: pl.DataFrame, goal: str, problem: EmpiricalBandit
) -> pl.DataFrame:
    """One row per policy, in the order of the plan's own table, whose regret is `prior`."""
    recorded, normal, rows = played.recorded, played.normal, []
    sign, best = 1.0 if goal == "max" else -1.0, problem.mean.max() * recorded.horizon
    for label, from_prior, assumes in expected.select("policy", "regret", "assumes").iter_rows():
        regret = recorded.final[label]
        quantiles = np.quantile(regret, [0.5, 0.95])
        share = 1 - recorded.best_share[label].mean()
        reward = sign * (best - regret.mean())
        rows.append(
            [
                label, *mean_interval(regret), *quantiles, reward, share,
                *mean_interval(normal.final[label]), from_prior, assumes,
            ]
        )  # fmt: skip
    return TABLES["recorded"].frame(rows)


def _arm_table(problem: EmpiricalBandit) -> pl.DataFrame:
    """The recorded rewards of every arm, summarized in the rewards' own sign."""
    names = problem.names or [str(i + 1) for i in range(problem.K)]
    rows = [
        [name, x.size, mean, np.sqrt(variance), (x == 0).mean(), kurtosis(x)]
        for name, x, mean, variance in zip(
            names, problem.rewards, problem.mean, problem.variance, strict=True
        )
    ]
    return TABLES["recorded_arms"].frame(rows)


def kurtosis(x: Floats) -> float:
    """The fourth moment over the variance squared: 3 if normal; NaN if all are equal.

    >>> round(kurtosis(np.array([0.0, 0.0, 0.0, 1.0])), 6)          # 0/1: (1 - 3 p q) / (p q)
    2.333333
    """
    squares = (x - x.mean()) ** 2
    return float((squares**2).mean() / squares.mean() ** 2) if np.ptp(x) > 0 else float("nan")


def _compare(
    played: Played,
    expected: pl.DataFrame,
    arms: pl.DataFrame,
    sure: pl.DataFrame,
    recorded_sure: pl.DataFrame,
) -> tuple[str, ...]:
    """In a few sentences, what the recorded rewards change, and why."""
    from_prior = dict(expected.select("policy", "regret").iter_rows())
    said = [_compare_main(played, from_prior[MAIN], arms)]
    fair = expected.filter(pl.col("assumes").is_null(), pl.col("policy") != MAIN)["policy"]
    ratio = {
        label: played.recorded.final[label].mean() / from_prior[label]
        for label in (MAIN, *fair)
        if from_prior[label] > 0
    }
    far = max(ratio, key=lambda label: ratio[label], default=MAIN)
    if far != MAIN:
        both = (study.final[far].mean() for study in (played.recorded, played.normal))
        real, model, believed = _numbers(*both, from_prior[far])
        said.append(
            f"{far} loses most against what the prior expects: {real} instead of {believed} "
            f"({model} if the rewards were normal)"
        )
    return (*said, *_compare_sure(sure, recorded_sure))


def _compare_main(played: Played, from_prior: float, arms: pl.DataFrame) -> str:
    real, gaussian = played.recorded.final[MAIN], played.normal.final[MAIN]
    gap = real.mean() - gaussian.mean()
    lost, believed, model, shape = _numbers(real.mean(), from_prior, gaussian.mean(), abs(gap))
    text = (
        f"on the recorded rewards {MAIN} loses {lost} where the prior expects {believed}; normal "
        f"rewards of the recorded means and variances would lose {model}: "
    )
    error = np.hypot(standard_error(real), standard_error(gaussian))
    effect = f"their shape {'costs' if gap > 0 else 'saves'} {shape}"
    if not abs(gap) > ALARM * error:
        effect = f"{real.size:,} experiments show no effect of their shape"
    return f"{text}{effect} ({_describe_shape(arms)})"


def _describe_shape(arms: pl.DataFrame) -> str:
    """Zeros and kurtosis, averaged over arms by their number of rewards."""
    zeros = float(np.average(arms["zeros"], weights=arms["n"]))
    known = arms.filter(pl.col("kurtosis").is_not_null())
    if known.is_empty():
        return "every arm pays one and the same"
    tails = float(np.average(known["kurtosis"], weights=known["n"]))
    share = f"{zeros:.0%} zeros, " if zeros >= 0.005 else ""
    return f"{share}kurtosis {tails:,.{0 if tails >= 10 else 1}f}, normal ones have 3"


def _compare_sure(model: pl.DataFrame, recorded: pl.DataFrame) -> list[str]:
    """How often P(best) keeps its word, where the two intervals do not meet."""
    one, other = (
        table.filter(policy=MAIN, level=SURE_LEVEL).row(0, named=True)
        for table in (model, recorded)
    )
    if one["right"] is None or other["right"] is None:
        return []
    if one["right_low"] <= other["right_high"] and other["right_low"] <= one["right_high"]:
        return []
    return [
        f"when P(best) first reached {SURE_LEVEL:.0%} under {MAIN}, that arm was the best in "
        f"{other['right']:.0%} of cases on the recorded rewards, {one['right']:.0%} in the model"
    ]


def write_notes(problem: EmpiricalBandit, fitted: bool) -> tuple[str, ...]:
    """What to keep in mind about the recorded rewards; `problem` is for higher is better."""
    notes = []
    if problem.left_out:
        notes.append(describe_left_out(problem.left_out, problem.rows, problem.word))
    if fitted:
        notes.append(
            "the prior was fitted to the recorded rewards, and so knows the level and the spread "
            "of the arms it is then tried on"
        )
    if problem.K > 1:
        second, first = np.argsort(problem.mean, kind="stable")[-2:]
        gap = problem.mean[first] - problem.mean[second]
        error = float(np.sqrt((problem.variance / problem.counts)[[first, second]].sum()))
        if gap < 2 * error:
            digits = count_decimals(error)
            notes.append(
                "the recorded means are taken for the true ones, and the two best arms are "
                f"only {write_amount(gap, digits)} ± {write_amount(error, digits)} (one standard "
                "error) apart: the true regret may differ"
            )
    return tuple(notes)


def _numbers(*values: float) -> list[str]:
    """Numbers to be compared: three digits of the largest.

    >>> _numbers(2562.1, 2109.4, 20.7), _numbers(0.1234, 0.05)
    (['2,562', '2,109', '21'], ['0.123', '0.050'])
    """
    largest = max(map(abs, values))
    digits = max(0, 2 - int(np.floor(np.log10(largest)))) if largest > 0 else 0
    return [write_amount(x, digits) for x in values]

"""`evaluate`: off-policy evaluation of a log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from varts._intervals import CONFIDENCE
from varts._text_format import check_format
from varts._validation import Floats, real
from varts.anytime import burn_in
from varts.checks.decisions import NOTED_MISSING, SMALL_PROBABILITY
from varts.checks.finding import percent, plural
from varts.evaluation.decisions import Decisions
from varts.evaluation.result import ArmMean, Estimate, Evaluation
from varts.evaluation.scores import Estimated, Scores, played_arms, weighted_mean
from varts.evaluation.targets import ROUNDING, Target, check_target, describe_target, shares_of
from varts.kurtosis import Tails
from varts.stats import ArmStats

if TYPE_CHECKING:
    from varts.fitting.contexts import FeaturesLike
    from varts.fitting.sources import Table

FEWEST_WORTH = 100  # effective sample size; with less there is a note
MOST_ERRORS = 4  # standard errors by which the mean weight may differ from 1
MOST_CERTAIN = 0.5  # share of the decisions that may have probability 1
ARMS_NAMED = 5  # in a note; more are only counted
ADAPTIVE, DOUBLY_ROBUST = "adaptive", "doubly robust"
SELF_NORMALISED, INVERSE_PROBABILITY = "self-normalised", "inverse probability"


def evaluate(
    log: Table,
    policy: Target,
    *,
    against: Target | None = None,
    level: float = CONFIDENCE,
    arm: str = "arm",
    reward: str | None = None,
    probability: str = "probability",
    unit: str = "unit",
    experiment: str | None = None,
    only: str | None = None,
    chances: Mapping[str, str] | None = None,
    features: FeaturesLike | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Evaluation:
    """Estimate what another policy would have earned, from the log of one experiment.

    Every row of the log needs the probability of its arm. Besides the columns that you name, the
    estimate uses time, settled_time, version, settled_version, estimated, reason and settled if
    they exist, as `Experiment.export` writes them. Without any of these, rows must be in order, and
    every reward must have been known before the next row. The log is read into memory.

    Args:
        log: A polars or pandas DataFrame, a LazyFrame, or a path to CSV, TSV, Parquet or NDJSON
            files (a file, a folder or a pattern), with a row per decision.
        policy: `always("12")`, shares of the arms such as `{"9": 0.2, "12": 0.8}`, `EvenSplit()` or
            `with_floor(0.05)`; with features also `greedy(posterior)`, `thompson(posterior)` or a
            function that returns an arm, or shares of the arms, for a context. A policy that learns
            is refused: simulate it on the log's rewards instead.
        against: A policy to compare with; None compares with the rewards in the log.
        level: The confidence of the intervals.
        arm: The column that names the arm.
        reward: The column of rewards; by default `value` if it exists, else `reward`.
        probability: The column of the chosen arm's probability.
        unit: The column that names the unit (user, session) of a decision, if there is one.
        experiment: The column that names the experiment; by default `experiment`, if it exists.
        only: In a log of several experiments: the experiment to use.
        chances: For every arm the column of its probability, if the log has them all.
        features: The columns of the contexts: a `Features`, kinds by name, or the names of columns.
            The doubly robust estimate then uses a regression per arm.
        separator: The separator of CSV files; detected by default.
        decimal: The decimal mark of numbers in CSV files, "." or ",". Numbers that are written
            differently are refused, not guessed.
        encoding: The encoding of CSV files, such as "latin-1"; UTF-8 by default.

    Returns:
        The estimates, the means of all arms, and notes on what makes them doubtful. `print` it.

    >>> import polars as pl
    >>> from varts.evaluation import always
    >>> log = pl.DataFrame({"arm": ["a", "b"] * 200, "reward": [1.0, 3.0, 2.0, 6.0] * 100})
    >>> found = evaluate(log.with_columns(probability=0.5), always("b"))
    >>> round(found.value, 2), round(found.se, 2), found.worth
    (4.5, 0.11, 200.0)
    """
    from varts.evaluation.log import read_decisions

    name = os.path.basename(os.fspath(log)) if isinstance(log, (str, os.PathLike)) else "log"
    check_targets(policy, against)
    decisions = read_decisions(
        log,
        arm=arm,
        reward=reward,
        probability=probability,
        unit=unit,
        experiment=experiment,
        only=only,
        chances=chances,
        features=features,
        text=check_format(separator, decimal, encoding),
    )
    return evaluate_decisions(name, decisions, policy, against, level)


def check_targets(policy: object, against: object) -> None:
    """Check both policies before the log is read."""
    check_target("policy", policy)
    if against is not None:
        check_target("against", against)


def evaluate_decisions(
    name: str, log: Decisions, policy: Target, against: Target | None, level: float
) -> Evaluation:
    """Evaluate a policy on decisions that have already been read."""
    z = float(special.ndtri((1 + real("level", level, above=0, below=1)) / 2))

    def bounded(found: Estimated) -> Estimate:
        se = found.standard_error(log.unit)
        return Estimate(found.value, se, found.value - z * se, found.value + z * se)

    scores, shares = Scores(log), shares_of(policy, log)
    weights, comparable = scores.weights(shares), scores.comparable(shares)
    _refuse_blindness(log, shares, weights, describe_target(policy))
    found = _estimate(scores, shares)
    headline = ADAPTIVE if ADAPTIVE in found and shares.max() == 1 else DOUBLY_ROBUST
    other = scores.collected(shares)
    if against is not None:
        other_shares = shares_of(against, log)
        _refuse_blindness(log, other_shares, scores.weights(other_shares), describe_target(against))
        others = _estimate(scores, other_shares)
        # Two single arms are compared by their adaptive means, mixtures by unweighted scores.
        alike = headline if headline in others and other_shares.max() == 1 else DOUBLY_ROBUST
        found_alike, other = found[alike], others[alike]
    else:
        found_alike = found[headline]
    mean_weight = weighted_mean(weights, comparable.astype(np.float64))
    by_unit = np.bincount(log.unit, weights)
    heavy = weights > 0
    used, unused = int(comparable.sum()), int((~comparable).sum())
    left_out = dict(log.left_out) | ({"without a choice": unused} if unused else {})
    evaluation = Evaluation(
        name=name,
        target=describe_target(policy),
        against="what was collected" if against is None else describe_target(against),
        level=level,
        headline=headline,
        estimates={each: bounded(one) for each, one in found.items()},
        difference=bounded(found_alike.minus(other)),
        arms=tuple(_arm_mean(scores, arm, bounded) for arm in range(len(log.arms))),
        worth=float(by_unit.sum() ** 2 / np.square(by_unit).sum()),
        largest_weight=float(weights.max()),
        largest_share=float(weights.max() / weights.sum()),
        mean_weight=mean_weight.value,
        mean_weight_se=mean_weight.standard_error(log.unit),
        smallest_probability=float(log.probability[heavy].min()),
        used=used,
        rows=log.rows,
        left_out=left_out,
        notes=(),
    )
    return replace(evaluation, notes=tuple(_notes(evaluation, log)))


def _estimate(scores: Scores, shares: Floats) -> dict[str, Estimated]:
    """The estimate of every estimator.

    There is no adaptive estimate if shares differ between decisions. Nor is there one with
    contexts: weights by probabilities would count some units more than others.
    """
    weighted = shares.ndim == 1 and scores.log.x is None
    found = {ADAPTIVE: scores.adaptive(shares)} if weighted else {}
    return found | {
        DOUBLY_ROBUST: scores.doubly_robust(shares),
        SELF_NORMALISED: scores.self_normalised(shares),
        INVERSE_PROBABILITY: scores.inverse_probability(shares),
    }


def _arm_mean(scores: Scores, arm: int, bounded: Callable[[Estimated], Estimate]) -> ArmMean:
    log = scores.log
    rewards = log.reward[log.arm == arm]
    if not len(rewards):
        return ArmMean(log.arms[arm], 0, None, None)
    seen = bounded(scores.adaptive_mean(arm) if log.x is None else scores.plain_mean(arm))
    return ArmMean(log.arms[arm], len(rewards), float(rewards.mean()), seen)


def _refuse_blindness(log: Decisions, shares: Floats, weights: Floats, target: str) -> None:
    """Refuse a log without random choices, or without random choices of an arm of the target."""
    sure = log.probability == 1
    certain, others = int(sure.sum()) - log.after_end, len(log) - log.after_end
    same = shares.ndim == 1 and bool((shares[log.arm[sure]] == 1).all())  # as the target does
    if certain > MOST_CERTAIN * others and not same:
        raise ValueError(
            f"the log can't show what {target} would have earned: {certain:,} of {others:,} "
            "decisions were certain (probability 1), as those of index policies are; collect a log "
            "with a floor"
        )
    for arm in played_arms(shares):
        if not (weights[log.arm == arm] > 0).any():
            raise ValueError(
                f"the log can't show what {target} would have earned: it has no reward from a "
                f"random choice of arm {log.arms[arm]!r}"
            )


def _note_tails(found: Evaluation, log: Decisions) -> Iterator[str]:
    """Note if rewards are too few, for their kurtosis, for normal intervals to hold."""
    by_arm = [log.reward[log.arm == arm] for arm in range(len(log.arms))]
    kurtosis = Tails.of(ArmStats.from_rewards(by_arm)).kurtosis
    _, needed = burn_in(kurtosis)
    few = [one.arm for one in found.arms if 0 < one.n < needed]
    if found.worth < needed or few:
        who = ["this policy"] if found.worth < needed else []
        if len(few) > ARMS_NAMED:
            who.append(plural(len(few), "arm"))
        elif few:
            who.append(f"arm{'s' if len(few) > 1 else ''} {', '.join(few)}")
        yield (
            f"the intervals of {' and '.join(who)} may miss more often than they claim: with "
            f"kurtosis {kurtosis:.3g} (3 is Gaussian) they need {needed:,.0f} rewards"
        )


def _notes(found: Evaluation, log: Decisions) -> Iterator[str]:
    if found.worth < FEWEST_WORTH:
        yield (
            "the log says too little about this policy: its effective sample size is "
            f"{plural(round(found.worth), 'decision')}, and {FEWEST_WORTH} are needed"
        )
    if found.smallest_probability < SMALL_PROBABILITY:
        yield (
            f"the smallest probability is {found.smallest_probability:.2g}: one such decision "
            f"counts as {1 / found.smallest_probability:,.0f}; a floor of "
            f"{percent(SMALL_PROBABILITY)} or more from the start avoids that"
        )
    yield from _note_tails(found, log)
    if abs(found.mean_weight - 1) > MOST_ERRORS * found.mean_weight_se + ROUNDING:
        yield (
            f"the mean weight is {found.mean_weight:.3f} and should be 1: the logged "
            "probabilities are wrong, or an arm was not always in play"
        )
    waiting = sum(log.left_out.get(why, 0) for why in ("pending", "expired", "reward missing"))
    if waiting > NOTED_MISSING * log.rows:
        yield (
            f"{percent(waiting / log.rows)} of the decisions have no reward and were left out, "
            "which is right only if rewards are missing at random"
        )
    if log.estimated:
        yield f"{log.estimated:,} of the probabilities were estimated from draws"

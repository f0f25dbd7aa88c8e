"""The estimators. Each is a weighted mean of scores with a standard error clustered by unit.

A score of an arm is a number per decision whose expectation, given everything known before the arm
was drawn, is the arm's mean. Weights, too, may only depend on what was known then. The errors of
the weighted mean then form a martingale, however the experiment adapted:
Hadad, Hirshberg, Zhan, Wager and Athey, Confidence intervals for policy evaluation in adaptive
experiments, PNAS 118 (2021).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.evaluation.decisions import Decisions
from varts.evaluation.reward_model import expected_rewards


class Estimated(NamedTuple):
    """An estimate, and the contribution of every decision to its error."""

    value: float
    errors: Floats

    def minus(self, other: Estimated) -> Estimated:
        """The difference of two estimates from the same log."""
        return Estimated(self.value - other.value, self.errors - other.errors)

    def standard_error(self, unit: NDArray[np.int64]) -> float:
        """The standard error, clustered by unit: a unit's decisions may depend on each other."""
        return float(np.sqrt(np.square(np.bincount(unit, self.errors)).sum()))


def weighted_mean(scores: Floats, weights: Floats) -> Estimated:
    """The weighted mean of scores, with the contribution of each score to its error.

    >>> found = weighted_mean(np.array([1.0, 2.0, 6.0]), np.ones(3))
    >>> found.value, round(found.standard_error(np.arange(3)), 4)    # sqrt(14) / 3
    (3.0, 1.2472)
    """
    total = weights.sum()
    value = float((weights * scores).sum() / total)  # a dot product may depend on the threads
    return Estimated(value, weights * (scores - value) / total)


def played_arms(shares: Floats) -> list[int]:
    """The arms that have a share of at least one decision."""
    found: list[int] = np.flatnonzero(shares.reshape(-1, shares.shape[-1]).any(axis=0)).tolist()
    return found


class Scores:
    """The scores of a log's arms.

    Args:
        log: The decisions.
        start: The expected reward of an arm before its first reward is known; by default the mean
            of all rewards, so that a shift of all rewards shifts all estimates alike.
    """

    def __init__(self, log: Decisions, start: float | None = None) -> None:
        self.log = log
        self.start = float(log.reward.mean()) if start is None else start
        self.first = log.first_of_unit()
        self._known: dict[int, Floats] = {}

    def known_means(self, arm: int) -> Floats:
        """The mean of the arm's rewards that were known when each decision was drawn; or, with
        features, the prediction of a regression on these rewards."""
        if arm not in self._known:  # several estimators need it, and a regression is slow
            self._known[arm] = self._know(arm)
        return self._known[arm]

    def _know(self, arm: int) -> Floats:
        log, mine = self.log, self.log.arm == arm
        order = np.argsort(log.settled[mine], kind="stable")
        if log.x is not None:
            known = log.known[self.first]
            count = np.searchsorted(log.settled[mine][order], known, side="right")
            return expected_rewards(log.x, log.reward, np.flatnonzero(mine)[order], count)
        gaps = np.cumsum((log.reward[mine] - self.start)[order])
        means = np.concatenate([[0.0], gaps / np.arange(1, len(gaps) + 1)]) + self.start
        count = np.searchsorted(log.settled[mine][order], log.known[self.first], side="right")
        return np.asarray(means[count])

    def known_chances(self, arm: int) -> Floats:
        """The probability of the arm at each decision, as far as it was known before the draw.

        If the log has only the chosen arm's probability, this is the last one logged for the arm.
        That is allowed because a weight may be any number that was known before the draw.
        """
        log = self.log
        if log.chances is not None:
            return log.chances[:, arm]
        rows = np.flatnonzero(log.arm == arm)
        before = np.searchsorted(rows, self.first, side="left") - 1
        last = log.probability[rows[np.maximum(before, 0)]]
        guess = np.where(before >= 0, last, 1 / len(log.arms))
        return np.where(self.possible(arm), guess, 0.0)

    def possible(self, arm: int) -> NDArray[np.bool_]:
        """The decisions at which the arm could have been chosen, as far as the log shows."""
        log = self.log
        if log.chances is not None:
            return np.asarray(log.chances[:, arm] > 0)
        left_to_chance = np.asarray((log.probability < 1) | (log.arm == arm))
        return left_to_chance if log.in_play is None else left_to_chance & log.in_play[:, arm]

    def of_arm(self, arm: int) -> Floats:
        """The known mean, plus its error divided by the probability if the arm was chosen."""
        log, means = self.log, self.known_means(arm)
        surprise = (log.reward - means) / log.probability
        return means + np.where(log.arm == arm, surprise, 0.0)

    def adaptive_mean(self, arm: int) -> Estimated:
        """The mean of scores weighted by the root of the arm's probability; only without contexts.

        The variance of a score is proportional to 1 / probability. So decisions that rarely choose
        the arm count less, and all weighted scores have about the same variance.
        """
        return weighted_mean(self.of_arm(arm), np.sqrt(self.known_chances(arm)))

    def plain_mean(self, arm: int) -> Estimated:
        """The mean of unweighted scores: the arm's mean over all units, not just its own."""
        return weighted_mean(self.of_arm(arm), self.possible(arm).astype(np.float64))

    # ------------------------------------------------------------------ target policies

    def weights(self, shares: Floats) -> Floats:
        """Inverse propensity weights of the chosen arms; 0 for decisions that aren't comparable."""
        log = self.log
        of_chosen = shares[log.arm] if shares.ndim == 1 else shares[np.arange(len(log)), log.arm]
        return np.where(self.comparable(shares), of_chosen / log.probability, 0.0)

    def comparable(self, shares: Floats) -> NDArray[np.bool_]:
        """The decisions at which every arm with a share could have been chosen."""
        played = shares.reshape(-1, shares.shape[-1]) > 0
        out = np.ones(len(self.log), dtype=bool)
        for arm in played_arms(shares):
            out &= self.possible(arm) | ~played[:, arm]
        return out

    def adaptive(self, shares: Floats) -> Estimated:
        """The average of the arms' adaptive means, weighted by the shares."""
        value, errors = 0.0, np.zeros(len(self.log))
        for arm in played_arms(shares):
            one = self.adaptive_mean(arm)
            value += float(shares[arm]) * one.value
            errors += shares[arm] * one.errors
        return Estimated(value, errors)

    def doubly_robust(self, shares: Floats) -> Estimated:
        """The mean of the arms' scores, weighted by the shares (AIPW). It is unbiased."""
        total: Floats = np.zeros(len(self.log))
        for arm in played_arms(shares):
            total = total + shares[..., arm] * self.of_arm(arm)
        return weighted_mean(total, self.comparable(shares).astype(np.float64))

    def self_normalised(self, shares: Floats) -> Estimated:
        """The mean of the rewards, weighted and divided by the sum of weights (SNIPS)."""
        return weighted_mean(self.log.reward, self.weights(shares))

    def inverse_probability(self, shares: Floats) -> Estimated:
        """The plain mean of rewards times weights (IPS)."""
        weights, comparable = self.weights(shares), self.comparable(shares)
        return weighted_mean(weights * self.log.reward, comparable.astype(np.float64))

    def collected(self, shares: Floats) -> Estimated:
        """The mean reward in the log, over the decisions comparable with the shares."""
        return weighted_mean(self.log.reward, self.comparable(shares).astype(np.float64))

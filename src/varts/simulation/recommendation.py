"""Which arm would be recommended, given what a run knows: for many runs and rounds at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.policies import BeliefPolicy, BernoulliTS, Policy, SequentialHalving
from varts.policies.fading import split_fading
from varts.stats import ArmStats

#: How an arm is recommended: the highest mean of its rewards, or the highest mean that the policy
#: believes in (one without beliefs goes by the rewards).
RECOMMENDATIONS = ("mean", "belief")


def recommend_arms(scores: Floats, pulls: Floats, turns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The arm with the highest score in every row.

    Of equal ones it is the one pulled most; what is still level takes turns, so that no arm is
    favoured by its place and nothing need be drawn.

    Args:
        scores: A row of numbers per arm; -inf for an arm that is out of the question.
        pulls: How often each arm was pulled, likewise.
        turns: Whose turn it is, a number per row.

    >>> scores, pulls = np.array([[0.5, 0.5, 0.2]] * 3), np.array([[1, 1, 7]] * 3)
    >>> recommend_arms(scores, pulls, np.arange(3))
    array([0, 1, 0])
    """
    arms: NDArray[np.int64] = scores.argmax(axis=-1)
    tied = scores == np.take_along_axis(scores, arms[:, None], axis=-1)
    for row in np.flatnonzero(np.count_nonzero(tied, axis=-1) > 1):
        level = np.flatnonzero(tied[row])
        most = pulls[row, level]
        level = level[most == most.max()]
        arms[row] = level[turns[row] % len(level)]
    return arms


def is_highest_mean(policy: Policy, by: str) -> bool:
    """Whether it is the arm with the highest mean of all that a run of the policy recommends.

    Args:
        policy: The policy.
        by: "mean" or "belief".
    """
    return by == "mean" and not isinstance(split_fading(policy)[0], SequentialHalving)


def score_arms(policy: Policy, n: Floats, mean: Floats, m2: Floats, *, by: str) -> Floats:
    """What an arm is recommended by, for arrays whose last axis is that of the arms.

    Args:
        policy: The policy, whose belief it may be.
        n: The numbers of rewards, or their weights where they fade.
        mean: Their means.
        m2: Their sums of squared deviations.
        by: "mean" or "belief".
    """
    plain = split_fading(policy)[0]
    asked = n > 0
    if isinstance(plain, SequentialHalving):  # who is out stays out
        asked = n == n.max(axis=-1, keepdims=True)
    seen = np.where(asked, mean, -np.inf)
    if by == "mean" or type(plain).belief is Policy.belief:
        return seen
    K = n.shape[-1]
    ready = (n >= plain.least_weight(K)).all(axis=-1)  # formulas hold only then
    scores = seen.copy()
    rows = (x[ready] for x in (n, mean, m2))
    scores[ready] = _believed_means(plain, *rows)
    return scores


def _believed_means(policy: Policy, n: Floats, mean: Floats, m2: Floats) -> Floats:
    """The means of the policy's belief, a row per run and round."""
    kind, K = type(policy), n.shape[-1]
    if isinstance(policy, BernoulliTS) and kind.belief is BernoulliTS.belief:
        a, b = policy.believe(n, mean, m2)
        return np.asarray(a / (a + b))
    inherited = isinstance(policy, BeliefPolicy) and kind.belief is BeliefPolicy.belief
    if inherited and not (policy.pooled or policy.tailed):  # type: ignore[attr-defined]
        made: Any = policy.believe(n, mean, m2, *policy.parameters(ArmStats.empty(K)).T)  # type: ignore[attr-defined]
        return np.broadcast_to(made[0], n.shape)
    # A belief that depends on the rewards of all arms is computed row by row. A study keeps no m3
    # and m4. Those of Gaussian rewards will do: they hardly move a belief.
    rows = zip(n, mean, m2, strict=True)
    moments = ((*row, np.zeros(K), 3 * row[2] ** 2 / np.maximum(row[0], 1)) for row in rows)
    return np.array([policy.believed(ArmStats(*row)).mean for row in moments]).reshape(n.shape)

"""From a state and a context to the next arm: the policy's part of `allocation`, unit by unit.

Floor, holdout and forced pulls are as without contexts. What the policy believes of the arms it
believes for a unit with features x, and so the probability that is logged is P(best | x).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._validation import Floats
from varts.beliefs import StudentT
from varts.features import Features
from varts.linear_stats import LinearStats
from varts.live.allocation import (
    CHOICE,
    DRAWS_PER_ESTIMATE,
    ESTIMATE,
    Allocation,
    keyed_generator,
    pick_evenly,
)
from varts.live.row import LARGEST_REWARD
from varts.live.state import Config, State
from varts.policies.evaluation import chosen_arm
from varts.policies.linear import LinearIndexPolicy, LinearSampler
from varts.priors import LinearNormalGamma

Context = dict[str, float | str]


def allocate(seed: int, state: State) -> Allocation:
    """Who gets what in a state."""
    kind = ContextualAllocation if state.config.policy.contextual else Allocation
    return kind(seed, state)


def linear_statistics(state: State) -> LinearStats:
    """What every arm has paid to whom, of rewards whose features are known: all epochs, weights as
    of now."""
    K, D = len(state.config.arms), features_of(state.config).d + 1
    n, mean, products = np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D))
    for arm, row in state.by_arm().items():
        if row.line is not None:
            n[arm], products[arm] = row.line.n, row.line.products
            mean[arm] = row.line.origin + row.line.mean
    return LinearStats._trusted(n, mean, products)


def features_of(config: Config) -> Features:
    """The features of an experiment whose policy looks at them."""
    if config.features is None:
        raise ValueError("the experiment must have features, got none")
    return config.features


def encode(features: Features, contexts: Sequence[Context | None]) -> Floats:
    """The numbers of contexts that were checked, a row each, as decisions and rewards use them."""
    rows = []
    for context in contexts:
        if context is None:
            raise ValueError("the context of a unit must be known, got none")
        rows.append(features.encode_checked(context))
    x = np.array(rows).reshape(len(rows), features.d)
    return np.asarray(np.minimum(np.maximum(x, -LARGEST_REWARD), LARGEST_REWARD))


def features_marks(config: Config, decisions: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The features of each decision's unit, by its id, as the event of its reward says them; those
    are left out that have none, or whose context was forgotten."""
    if config.features is None:
        return {}
    known = {one.id: one.context for one in decisions if one.context is not None}
    if not known:
        return {}
    x = encode(config.features, [json.loads(context) for context in known.values()]).tolist()
    # Whole numbers as such take less space in a log.
    return {
        id: {"x": [int(one) if one.is_integer() and abs(one) < 2**53 else one for one in row]}
        for id, row in zip(known, x, strict=True)
    }


class ContextualAllocation(Allocation):
    """Who gets what in a state, by the features of whoever asks."""

    def _statistics(self) -> LinearStats:
        return linear_statistics(self.state)

    @computed_once
    def posterior(self) -> LinearNormalGamma:
        """What is known of the arms that are ready."""
        policy: Any = self.ready_policy
        posterior: LinearNormalGamma = policy.posterior(self.ready_stats)
        return posterior

    def _known(self, contexts: Sequence[Context | None]) -> Known:
        """What the policy knows of units with these contexts."""
        return Known(self, encode(features_of(self.state.config), contexts))

    def _policy_choices(
        self, keys: Sequence[str], u: Floats, rows: list[int], known: Known
    ) -> list[int]:
        K, policy = self.K, self.policy
        if isinstance(policy, LinearSampler):
            columns = self.ready if len(self.ready) < K else slice(None)
            u = u[rows]
            first, second = u[:, 2 : 2 + K], u[:, 2 + K :]
            belief = _some(known.belief, rows)
            best = belief.argmax_at(first[:, columns], second[:, columns], u[:, 1])
            arms: list[int] = self.ready[best].tolist()
            return arms
        if isinstance(policy, LinearIndexPolicy):
            return [pick_evenly(self.ready[known.largest[i]], u[i, 1]) for i in rows]
        rngs = (keyed_generator(self.seed, CHOICE, keys[i]) for i in rows)
        return [
            int(self.ready[self._chosen_at(known.x[i], rng)])
            for i, rng in zip(rows, rngs, strict=True)
        ]

    def _chances_of(self, arms: Sequence[int], rows: Sequence[int], known: Known) -> list[float]:
        chances = self._probabilities_of(known, rows)
        return [float(chance[arms[i]]) for chance, i in zip(chances, rows, strict=True)]

    def chances_for(self, context: Context | None) -> Floats:
        return np.asarray(self._probabilities_of(self._known([context]), [0])[0])

    def _probabilities_of(self, known: Known, rows: Sequence[int]) -> Floats:
        """The chance of every arm outside the holdout, a row for each of these units."""
        policy = np.zeros((len(rows), self.K))
        if len(self.ready) and len(rows):
            policy[:, self.ready] = self._policy_probabilities_of(known, rows)
        return self._shared(policy)

    def _policy_probabilities_of(self, known: Known, rows: Sequence[int]) -> Floats:
        if isinstance(self.policy, LinearSampler):
            return _some(known.belief, rows).p_best()
        if isinstance(self.policy, LinearIndexPolicy):
            largest = known.largest[rows]
            return np.asarray(largest / largest.sum(axis=1, keepdims=True))
        return np.array([self._estimate_at(known.x[i]) for i in rows])

    def _estimate_at(self, x: Floats) -> Floats:
        key = f"{self.state.version}/{x.tobytes().hex()}"
        rng = keyed_generator(self.seed, ESTIMATE, key)
        return self._spread([self._chosen_at(x, rng) for _ in range(DRAWS_PER_ESTIMATE)])

    def _chosen_at(self, x: Floats, rng: np.random.Generator) -> int:
        return chosen_arm(self.ready_policy, self.ready_stats, self.t, rng, x)

    @property
    def _has_formula(self) -> bool:
        return isinstance(self.policy, (LinearSampler, LinearIndexPolicy))


class Known:
    """What a policy knows of units with features x, a row each; worked out when first asked for."""

    def __init__(self, allocation: ContextualAllocation, x: Floats) -> None:
        self.allocation, self.x = allocation, x

    @computed_once
    def belief(self) -> StudentT:
        """What is believed of the arms that are ready, a row per unit."""
        policy = self.allocation.ready_policy
        assert isinstance(policy, LinearSampler)
        return policy.believed_of(self.allocation.posterior, self.x)

    @computed_once
    def largest(self) -> NDArray[np.bool_]:
        """Which of these arms have the largest index."""
        policy, t = self.allocation.ready_policy, self.allocation.t
        assert isinstance(policy, LinearIndexPolicy)
        index = policy.indexed_at(self.allocation.posterior, self.x, t)
        if np.isnan(index).any():
            raise ValueError(f"the index of every arm must be a number, got {index}")
        largest: NDArray[np.bool_] = index == index.max(axis=1, keepdims=True)
        return largest


def _some(belief: StudentT, rows: Sequence[int]) -> StudentT:
    """The belief about some of the units."""
    if len(rows) == len(belief.loc):
        return belief
    return StudentT._trusted(*(each[rows] for each in (belief.loc, belief.scale, belief.df)))

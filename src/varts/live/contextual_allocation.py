"""From a state and a context to the next arm: the policy's part of `allocation`, unit by unit.

Floor, holdout and forced pulls are as without contexts. What the policy believes of the arms it
believes for a unit with features x, and so the probability that is logged is P(best | x).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
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


def encoded(features: Features, context: Context) -> list[float]:
    """The numbers of a context that was checked, as both decision and reward use them.

    Whole ones are kept as such, which takes less space in a log.
    """
    limits = -LARGEST_REWARD, LARGEST_REWARD
    with np.errstate(over="ignore"):  # in a product of two
        row = np.clip(features.encode_checked(context), *limits)
    return [int(x) if x.is_integer() and abs(x) < 2**53 else x for x in row.tolist()]


def features_mark(config: Config, decision: Any) -> dict[str, Any]:
    """The features of a decision's unit, as the event of its reward says them; empty if it has
    none, or if they were forgotten."""
    if config.features is None or decision.context is None:
        return {}
    return {"x": encoded(config.features, json.loads(decision.context))}


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

    def _encode(self, contexts: Sequence[Context | None], rows: Sequence[int]) -> Floats:
        """The features of some of the decisions, a row each."""
        features, out = features_of(self.state.config), []
        for i in rows:
            context = contexts[i]
            if context is None:
                raise ValueError("the context must be known, got none")
            out.append(encoded(features, context))
        return np.array(out, dtype=np.float64).reshape(len(rows), features.d)

    def _policy_choices(
        self,
        keys: Sequence[str],
        u: Floats,
        rows: list[int],
        contexts: Sequence[Context | None],
    ) -> list[int]:
        x, policy = self._encode(contexts, rows), self.policy
        if isinstance(policy, LinearSampler):
            columns = self.ready if len(self.ready) < self.stats.K else slice(None)
            u = u[rows]
            first, second = u[:, 2 : 2 + self.stats.K], u[:, 2 + self.stats.K :]
            best = self._belief_at(x).argmax_at(first[:, columns], second[:, columns], u[:, 1])
            arms: list[int] = self.ready[best].tolist()
            return arms
        if isinstance(policy, LinearIndexPolicy):
            largest = self._largest_at(x)
            return [
                pick_evenly(self.ready[which], u[i, 1])
                for which, i in zip(largest, rows, strict=True)
            ]
        rngs = (keyed_generator(self.seed, CHOICE, keys[i]) for i in rows)
        return [
            int(self.ready[self._chosen_at(one, rng)]) for one, rng in zip(x, rngs, strict=True)
        ]

    def _chances_of(
        self,
        arms: Sequence[int],
        rows: Sequence[int],
        contexts: Sequence[Context | None],
    ) -> list[float]:
        chances = self.probabilities_at(self._encode(contexts, rows))
        return [float(chance[arms[i]]) for chance, i in zip(chances, rows, strict=True)]

    def chances_for(self, context: Context | None) -> Floats:
        return np.asarray(self.probabilities_at(self._encode([context], [0]))[0])

    def probabilities_at(self, x: Floats) -> Floats:
        """The chance of every arm outside the holdout, a row per unit."""
        policy = np.zeros((len(x), self.stats.K))
        if len(self.ready) and len(x):
            policy[:, self.ready] = self._policy_probabilities_at(x)
        return self._shared(policy)

    def _policy_probabilities_at(self, x: Floats) -> Floats:
        if isinstance(self.policy, LinearSampler):
            return self._belief_at(x).p_best()
        if isinstance(self.policy, LinearIndexPolicy):
            largest = self._largest_at(x)
            return np.asarray(largest / largest.sum(axis=1, keepdims=True))
        return np.array([self._estimate_at(one) for one in x])

    def _estimate_at(self, x: Floats) -> Floats:
        key = f"{self.state.version}/{x.tobytes().hex()}"
        rng = keyed_generator(self.seed, ESTIMATE, key)
        chosen = [self._chosen_at(x, rng) for _ in range(DRAWS_PER_ESTIMATE)]
        return self._spread(chosen)

    def _belief_at(self, x: Floats) -> StudentT:
        policy = self.ready_policy
        assert isinstance(policy, LinearSampler)
        return policy.believed_at(self.posterior, x)

    def _largest_at(self, x: Floats) -> NDArray[np.bool_]:
        policy = self.ready_policy
        assert isinstance(policy, LinearIndexPolicy)
        index = policy.indexed_at(self.posterior, x, self.t)
        if np.isnan(index).any():
            raise ValueError(f"the index of every arm must be a number, got {index}")
        largest: NDArray[np.bool_] = index == index.max(axis=1, keepdims=True)
        return largest

    def _chosen_at(self, x: Floats, rng: np.random.Generator) -> int:
        return chosen_arm(self.ready_policy, self.ready_stats, self.t, rng, x)

    @property
    def _has_formula(self) -> bool:
        return isinstance(self.policy, (LinearSampler, LinearIndexPolicy))

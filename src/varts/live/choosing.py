"""From a state to the next arm: a pure function of (seed, state, decision id).

Who gets what, in words: a share `floor` of the traffic goes to each arm in play; an arm the policy
still owes forced pulls gets an even share, so that late rewards or a new arm cannot draw all the
traffic; the rest is the policy's choice among the other arms. The same words give the probability
that is logged with every decision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts.beliefs import Belief
from varts.checks import Floats
from varts.live.state import State
from varts.policies import IndexPolicy, Policy
from varts.stats import ArmStats

# Why an arm was chosen, as the log says it.
POLICY, FORCED, FLOOR, HOLDOUT, STICKY, WINNER = (
    "policy",
    "forced",
    "floor",
    "holdout",
    "sticky",
    "winner",
)
# Draws behind the probability of a policy that has neither belief nor index.
DRAWS = 1000
MEMBERSHIP, CHOICE, TOSS, ESTIMATE = b"holdout", b"choice", b"toss", b"estimate"


class Choice(NamedTuple):
    """An arm, its probability and the reason."""

    arm: int
    probability: float
    reason: str
    estimated: bool = False


def uniforms(seed: int, purpose: bytes, key: str, size: int) -> Floats:
    """`size` numbers in (0, 1) that depend on the arguments alone.

    >>> uniforms(7, CHOICE, "d1", 2).round(3)
    array([0.317, 0.632])
    """
    start = b"%d/%b/%b" % (seed, purpose, key.encode("utf-8", "surrogatepass"))
    words = np.frombuffer(hashlib.shake_128(start).digest(8 * size), dtype="<u8")
    return np.asarray(((words >> np.uint64(11)) + 0.5) * 2.0**-53, dtype=np.float64)


def keyed_generator(seed: int, purpose: bytes, key: str) -> np.random.Generator:
    """A NumPy generator that depends on the arguments alone."""
    start = b"%d/%b/%b" % (seed, purpose, key.encode("utf-8", "surrogatepass"))
    entropy = int.from_bytes(hashlib.shake_128(start).digest(16), "little")
    return np.random.Generator(np.random.PCG64(entropy))


def in_holdout(seed: int, share: float, unit: str) -> bool:
    """Whether this unit belongs to the part that never adapts: always or never."""
    return share > 0 and bool(uniforms(seed, MEMBERSHIP, unit, 1)[0] < share)


class Chooser:
    """Everything about a state that a choice needs, each part worked out when first asked for."""

    def __init__(self, seed: int, state: State) -> None:
        self.seed, self.state, self.options = seed, state, state.config.options
        self.active = np.array(state.config.active)
        self.policy = state.config.policy
        self.stats = seen_by(self.policy, self.options.goal, state.statistics())
        played = self.stats.n[self.active]
        owed = played < self.policy.owed(self.stats.K)[self.active]
        self.owed, self.ready = self.active[owed], self.active[~owed]
        # Of the traffic that the floor leaves over, the share of the arms that are owed pulls.
        self.forced = len(self.owed) / len(self.active)
        self.even = self.options.floor * len(self.active)

    # ------------------------------------------------------------------ choosing

    def choose(self, key: str, unit: str | None = None, exact: bool = True) -> Choice:
        """The choice of decision `key`; without `exact`, its probability is left out (NaN)."""
        config = self.state.config
        if config.winner is not None:
            return Choice(config.winner, 1.0, WINNER)
        K = self.stats.K
        u = uniforms(self.seed, CHOICE, key, 2 + 2 * K)
        if in_holdout(self.seed, self.options.holdout, key if unit is None else unit):
            return Choice(pick(self.active, u[1]), 1 / len(self.active), HOLDOUT)
        first = u[0]
        if first < self.even:
            arm, reason = pick(self.active, u[1]), FLOOR
        elif (first - self.even) / (1 - self.even) < self.forced:
            arm, reason = pick(self.owed, u[1]), FORCED
        else:
            arm, reason = self._by_policy(key, u), POLICY
        if not exact:
            return Choice(arm, np.nan, reason)
        return Choice(arm, float(self.probabilities[arm]), reason, self.estimated)

    def _by_policy(self, key: str, u: Floats) -> int:
        if self.belief is not None:
            K = self.stats.K
            largest = self.belief.largest_at(u[2 : 2 + K][self.ready], u[2 + K :][self.ready])
            return pick(self.ready[largest], u[1])
        if isinstance(self.policy, IndexPolicy):
            return pick(self.ready[self._largest], u[1])
        rng = keyed_generator(self.seed, CHOICE, key)
        return int(self.ready[self.ready_policy.choose(self.ready_stats, self.t, rng)])

    # ------------------------------------------------------------------ what it rests on

    @cached_property
    def ready_policy(self) -> Policy:
        """The policy for the arms that are ready."""
        if len(self.ready) == self.stats.K:
            return self.policy
        return self.policy.restricted(self.ready)

    @cached_property
    def ready_stats(self) -> ArmStats:
        """The statistics of the arms that are ready."""
        if len(self.ready) == self.stats.K:
            return self.stats
        stats = self.stats
        return ArmStats._trusted(stats.n[self.ready], stats.mean[self.ready], stats.m2[self.ready])

    @cached_property
    def belief(self) -> Belief | None:
        """The belief whose largest draw is the choice, if the policy is of that kind."""
        return self.ready_policy.belief(self.ready_stats) if self.policy.samples else None

    @property
    def t(self) -> int:
        """The round: one more than the rewards so far, weighed as the statistics are."""
        stats = self.ready_stats
        return max(int(stats.n.sum()), int(self.ready_policy.owed(stats.K).sum())) + 1

    @cached_property
    def _largest(self) -> NDArray[np.bool_]:
        policy = self.ready_policy
        assert isinstance(policy, IndexPolicy)
        index = policy.indices(self.ready_stats, self.t)
        if np.isnan(index).any():
            raise ValueError(f"the index of every arm must be a number, got {index}")
        largest: NDArray[np.bool_] = index == index.max()
        return largest

    @property
    def estimated(self) -> bool:
        """Whether the probabilities come from draws, because there is no formula for them."""
        return (
            bool(len(self.ready))
            and self.belief is None
            and not isinstance(self.policy, IndexPolicy)
        )

    @cached_property
    def probabilities(self) -> Floats:
        """The chance of every arm at the next decision outside the holdout."""
        policy = np.zeros(self.stats.K)
        policy[self.owed] = 1 / len(self.active)
        if len(self.ready):
            policy[self.ready] = (1 - self.forced) * self._policy_probabilities()
        out = (1 - self.even) * policy
        out[self.active] += self.options.floor
        return out

    def _policy_probabilities(self) -> Floats:
        if self.belief is not None:
            return self.belief.p_best()
        if isinstance(self.policy, IndexPolicy):
            return np.asarray(self._largest / self._largest.sum())
        rng = keyed_generator(self.seed, ESTIMATE, str(self.state.version))
        chosen = [self.ready_policy.choose(self.ready_stats, self.t, rng) for _ in range(DRAWS)]
        # One more draw than was made, spread evenly: no choice is ever logged as impossible.
        count = np.bincount(chosen, minlength=len(self.ready)) + 1 / len(self.ready)
        return np.asarray(count / (DRAWS + 1))


def seen_by(policy: Policy, goal: str, stats: ArmStats) -> ArmStats:
    """The statistics as a policy that maximises sees them."""
    if goal == "max":
        return stats
    return ArmStats._trusted(stats.n, policy.reflection - stats.mean, stats.m2)


def pick(arms: Sequence[int] | NDArray[np.int64], u: float) -> int:
    """One of the arms, evenly."""
    return int(arms[min(int(u * len(arms)), len(arms) - 1)])

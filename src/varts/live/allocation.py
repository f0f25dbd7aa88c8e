"""From a state to the next arm: a pure function of (seed, state, key).

The key is the decision's id, or a random text that is stored with the decision.

Who gets what, in words: a share `floor` of the traffic goes to each arm in play; an arm the policy
still owes forced pulls gets an even share, so that late rewards or a new arm cannot draw all the
traffic; the rest is the policy's choice among the other arms. The same words give the probability
that is logged with every decision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._validation import Floats, integer
from varts.beliefs import Belief
from varts.linear_stats import LinearStats
from varts.live.row import limited
from varts.live.state import Config, State
from varts.policies import IndexPolicy, Policy
from varts.policies.evaluation import chosen_arm
from varts.stats import ArmStats

# Why an arm was chosen, as the log says it.
POLICY, FORCED, FLOOR = "policy", "forced", "floor"
HOLDOUT, STICKY, WINNER = "holdout", "sticky", "winner"
DRAWS_PER_ESTIMATE = 1000  # for a policy that has neither belief nor index
# Of 64 random bits, 52 make a float that is neither 0 nor 1. Arrays, since NumPy takes longer with
# plain numbers.
WORD, UNUSED_BITS = np.dtype("<u8"), np.array(12, dtype=np.uint64)
STEP, HALF_A_STEP = np.array(2.0**-52), np.array(2.0**-53)
MEMBERSHIP, CHOICE, TOSS, ESTIMATE = b"holdout", b"choice", b"toss", b"estimate"
SEEDING = b"varts seed"
FORGOTTEN = "forgotten:"  # what the name begins with that a forgotten unit has in the log


class Choice(NamedTuple):
    """An arm, its probability and the reason."""

    arm: int
    probability: float
    reason: str
    estimated: bool = False


def seed_for(name: str, given: int) -> int:
    """What the decisions of the experiment of this name follow from when it is given this seed.

    Two experiments that are given the same one decide differently. (In experiments of schema 0001
    they followed from the given one itself.)

    >>> seed_for("price", 1) == seed_for("banner", 1)
    False
    """
    key = integer("seed", given, 0, 2**63 - 1).to_bytes(8, "little")
    digest = hashlib.blake2b(name.encode(), digest_size=8, key=key, person=SEEDING).digest()
    return int.from_bytes(digest, "little") >> 1  # 63 bits: what both databases can hold


def uniforms(seed: int, purpose: bytes, keys: Sequence[str], size: int) -> Floats:
    """`size` numbers in (0, 1) for every key, which depend on the arguments alone.

    >>> uniforms(7, CHOICE, ["d1", "d2"], 2).round(3)
    array([[0.53 , 0.839],
           [0.767, 0.556]])
    """
    start = b"%d/%b/" % (seed, purpose)
    random = b"".join([hashlib.shake_128(start + key.encode()).digest(8 * size) for key in keys])
    out: Floats = (np.frombuffer(random, dtype=WORD) >> UNUSED_BITS) * STEP
    out += HALF_A_STEP
    return out.reshape(len(keys), size)


def keyed_generator(seed: int, purpose: bytes, key: str) -> np.random.Generator:
    """A NumPy generator that depends on the arguments alone."""
    entropy = hashlib.shake_128(b"%d/%b/%b" % (seed, purpose, key.encode())).digest(16)
    return np.random.Generator(np.random.PCG64(int.from_bytes(entropy, "little")))


def clipped(config: Config, raw: float) -> float:
    """A reward within the option `clip`."""
    if config.options.clip is None:
        return limited(raw)
    low, high = config.options.clip
    return limited(min(max(raw, low), high))


def tosses(config: Config) -> bool:
    """Whether the policy wants to see something else than rewards, drawn by them."""
    return type(config.policy).transform is not Policy.transform


def counted(seed: int, config: Config, id: str, raw: float) -> float:
    """A reward as the statistics count it: clipped, and tossed if the policy wants that."""
    value = clipped(config, raw)
    if not tosses(config):
        return value
    return float(config.policy.transform(value, keyed_generator(seed, TOSS, id)))


def in_holdout(seed: int, config: Config, decision: Any) -> bool | None:
    """Whether a decision is in the holdout; None if it is to be compared with neither side: it was
    made before the share was changed, or after the end, or nobody knows any more."""
    options = config.options
    if not options.holdout or decision.epoch < config.holdout_since or decision.reason == WINNER:
        return None
    if decision.reason != STICKY:
        return bool(decision.reason == HOLDOUT)
    if decision.unit.startswith(FORGOTTEN):
        return None
    return _members(seed, [decision.unit], options.holdout)[0]


def holdout_mark(seed: int, config: Config, decision: Any) -> dict[str, bool]:
    """`in_holdout` as the event of the decision's reward says it; empty if on neither side."""
    held = in_holdout(seed, config, decision)
    return {} if held is None else {"held": held}


def _members(seed: int, who: Sequence[str], share: float) -> list[bool]:
    """Which of these names belong to the holdout."""
    uniform: list[float] = uniforms(seed, MEMBERSHIP, who, 1)[:, 0].tolist()
    return [u < share for u in uniform]


class Allocation:
    """Who gets what in a state; each part is worked out when first asked for."""

    def __init__(self, seed: int, state: State) -> None:
        self.seed, self.state, self.options = seed, state, state.config.options
        self.active = state.config.active
        self.policy = state.config.policy
        self.stats: Any = seen_by(self.policy, self.options.goal, self._statistics())
        self.K: int = self.stats.K
        owed = state.owed(self.policy, self.stats, state.config.asked)[self.active]
        self.owed, self.ready = self.active[owed], self.active[~owed]
        # Of the traffic that the floor leaves over, the share of the arms that are owed pulls.
        self.forced = len(self.owed) / len(self.active)
        self.share = 1 / len(self.active)
        self.even = self.options.floor * len(self.active)

    def _statistics(self) -> Any:
        """What the policy looks at."""
        return self.state.statistics()

    # ------------------------------------------------------------------ choosing

    def choose(
        self,
        keys: Sequence[str],
        units: Sequence[str | None],
        exact: bool = True,
        held: Sequence[bool] | None = None,
        contexts: Sequence[Any] = (),
    ) -> list[Choice]:
        """The choices for these keys; without `exact`, their probabilities are NaN.

        Whether a unit is in the holdout depends on its name alone, and without one on the key;
        `held` says it of units whose names have been forgotten. `contexts`, one per key, are for
        policies that look at them.
        """
        winner, known = self.state.config.winner, self._known(contexts)
        if winner is not None:
            return [Choice(winner, 1.0, WINNER)] * len(keys)
        u = uniforms(self.seed, CHOICE, keys, 2 + 2 * self.K)
        held = self._holdout(keys, units) if held is None else held
        forced = self.even + (1 - self.even) * self.forced
        arms, reasons, by_policy = [], [], []
        # One number decides between floor, forced and the policy, another picks evenly.
        for i, (which, pick) in enumerate(u[:, :2].tolist()):
            if held[i] or which < self.even:
                arm, reason = pick_evenly(self.active, pick), HOLDOUT if held[i] else FLOOR
            elif which < forced:
                arm, reason = pick_evenly(self.owed, pick), FORCED
            else:
                arm, reason = -1, POLICY
                by_policy.append(i)
            arms.append(arm)
            reasons.append(reason)
        if by_policy:
            chosen = self._policy_choices(keys, u, by_policy, known)
            for i, arm in zip(by_policy, chosen, strict=True):
                arms[i] = arm
        free = [i for i, one in enumerate(held) if not one]
        chances = iter(self._chances_of(arms, free, known) if exact else [np.nan] * len(free))
        share, estimated = self.share, exact and self.estimated
        return [
            Choice(arm, share, reason) if one else Choice(arm, next(chances), reason, estimated)
            for arm, reason, one in zip(arms, reasons, held, strict=True)
        ]

    def _holdout(self, keys: Sequence[str], units: Sequence[str | None]) -> Sequence[bool]:
        if not self.options.holdout:
            return [False] * len(keys)
        who = [key if unit is None else unit for key, unit in zip(keys, units, strict=True)]
        return _members(self.seed, who, self.options.holdout)

    def _known(self, contexts: Sequence[Any]) -> Any:
        """What the policy knows of the units: nothing, unless it looks at their contexts."""
        return None

    def _policy_choices(
        self, keys: Sequence[str], u: Floats, rows: list[int], known: Any
    ) -> list[int]:
        """What the policy would have these of the decisions play."""
        K = self.K
        if self.belief is not None:
            u = u if len(rows) == len(u) else u[rows]
            first, second = u[:, 2 : 2 + K], u[:, 2 + K :]
            if len(self.ready) < K:
                first, second = first[:, self.ready], second[:, self.ready]
            best = self.belief.argmax_at(first, second, u[:, 1])
            arms: list[int] = (best if len(self.ready) == K else self.ready[best]).tolist()
            return arms
        if isinstance(self.policy, IndexPolicy):
            return [pick_evenly(self.ready[self._largest(u[i, 2])], u[i, 1]) for i in rows]
        rngs = (keyed_generator(self.seed, CHOICE, keys[i]) for i in rows)
        return [int(self.ready[self._chosen(rng)]) for rng in rngs]

    def _chances_of(self, arms: Sequence[int], rows: Sequence[int], known: Any) -> list[float]:
        """The chance that each of these decisions had of its arm."""
        chances = self.chances
        return [chances[arms[i]] for i in rows]

    def chances_for(self, context: Any) -> Floats:
        """The chance of every arm at a decision outside the holdout, for a unit of this context."""
        return self.probabilities

    def _chosen(self, rng: np.random.Generator) -> int:
        return chosen_arm(self.ready_policy, self.ready_stats, self.t, rng)

    # ------------------------------------------------------------------ what it rests on

    @computed_once
    def ready_policy(self) -> Policy:
        """The policy for the arms that are ready."""
        if len(self.ready) == self.K:
            return self.policy
        return self.policy.restricted(self.ready)

    @computed_once
    def ready_stats(self) -> Any:
        """The statistics of the arms that are ready."""
        if len(self.ready) == self.K:
            return self.stats
        return self.stats.take(self.ready)

    @computed_once
    def belief(self) -> Belief | None:
        """The belief whose largest draw is the choice, if the policy is of that kind."""
        return self.ready_policy.believed(self.ready_stats) if self.policy.samples else None

    @property
    def t(self) -> int:
        """The round: one more than the rewards so far, weighed as the statistics are."""
        stats = self.ready_stats
        return max(int(stats.n.sum()), int(self.ready_policy.owed(stats.K).sum())) + 1

    def _largest(self, u: float) -> NDArray[np.bool_]:
        """The arms with the largest index; u is the number that some policies ask for."""
        assert isinstance(self.policy, IndexPolicy)
        return self._largest_at(u) if self.policy.chance else self._largest_always

    @computed_once
    def _largest_always(self) -> NDArray[np.bool_]:
        return self._largest_at(None)

    def _largest_at(self, u: float | None) -> NDArray[np.bool_]:
        policy = self.ready_policy
        assert isinstance(policy, IndexPolicy)
        index = policy.indices(self.ready_stats, self.t, u)
        if np.isnan(index).any():
            raise ValueError(f"the index of every arm must be a number, got {index}")
        largest: NDArray[np.bool_] = index == index.max()
        return largest

    @property
    def estimated(self) -> bool:
        """Whether the probabilities come from draws, because there is no formula for them."""
        return bool(len(self.ready)) and not self._has_formula

    @property
    def _has_formula(self) -> bool:
        return self.belief is not None or self._exact_probabilities is not None

    @computed_once
    def _exact_probabilities(self) -> Floats | None:
        """The chances that a policy gives the arms that are ready, if it can say."""
        policy = self.ready_policy
        if isinstance(policy, IndexPolicy) and not policy.chance:
            return np.asarray(self._largest_always / self._largest_always.sum())
        return policy.probabilities(self.ready_stats, self.t)

    @computed_once
    def probabilities(self) -> Floats:
        """The chance of every arm at the next decision outside the holdout."""
        policy = np.zeros(self.K)
        if len(self.ready):
            policy[self.ready] = self._policy_probabilities()
        return self._shared(policy)

    def _shared(self, policy: Floats) -> Floats:
        """The chances of all arms by those that the policy gives to the ready ones."""
        policy[..., self.ready] *= 1 - self.forced
        policy[..., self.owed] = self.share
        out = (1 - self.even) * policy
        out[..., self.active] += self.options.floor
        return np.asarray(out)

    @computed_once
    def chances(self) -> list[float]:
        """`probabilities` as plain numbers."""
        return list(self.probabilities.tolist())

    def _policy_probabilities(self) -> Floats:
        if self.belief is not None:
            return self.belief.p_best()
        if self._exact_probabilities is not None:
            return self._exact_probabilities
        rng = keyed_generator(self.seed, ESTIMATE, str(self.state.version))
        return self._spread([self._chosen(rng) for _ in range(DRAWS_PER_ESTIMATE)])

    def _spread(self, chosen: list[int]) -> Floats:
        """How often each of the arms that are ready was chosen."""
        # One more draw than was made, spread evenly: no choice is ever logged as impossible.
        count = np.bincount(chosen, minlength=len(self.ready)) + 1 / len(self.ready)
        return np.asarray(count / (DRAWS_PER_ESTIMATE + 1))


Statistics = TypeVar("Statistics", ArmStats, LinearStats)


def seen_by(policy: Policy, goal: str, stats: Statistics) -> Statistics:
    """The statistics as a policy that maximises sees them."""
    if goal == "max":
        return stats
    return stats.mirrored(policy.reflection)


def pick_evenly(arms: NDArray[np.int64], u: float) -> int:
    """One of the arms, by a number in (0, 1)."""
    return int(arms[int(u * len(arms))])

"""From a state to the next arm: a pure function of (seed, state, key).

The key is the decision's id, or a random text that is stored with the decision.

How traffic is split: each arm in play gets a share of `floor`. An arm that still needs initial
pulls gets an even share of the rest, so that late rewards or a new arm can't attract all traffic.
The policy splits what is left among the other arms. An arm with too little data to be compared gets
at most an even share of that, whatever the policy thinks of it. The probability that is logged with
every decision follows the same rules.

With features, the policy's part depends on the unit's features x, and the logged probability is
P(best | x). Floor, holdout and initial pulls work as they do without.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._validation import Floats, integer
from varts.beliefs import Belief, StudentT
from varts.features import Features
from varts.linear_stats import LinearStats
from varts.live.core.effective import thin_arms
from varts.live.core.local import is_held, public_key
from varts.live.core.state import Config, State
from varts.live.core.sums import LARGEST_REWARD, limited
from varts.live.errors import ExperimentStopped, Refused
from varts.policies import IndexPolicy, Policy
from varts.policies.base import chosen_arm
from varts.policies.linear import LinearIndexPolicy, LinearSampler
from varts.priors import LinearNormalGamma
from varts.stats import ArmStats

# Why an arm was chosen, in the words of the log.
POLICY, FORCED, FLOOR = "policy", "forced", "floor"
HOLDOUT, STICKY, WINNER = "holdout", "sticky", "winner"
LOCAL = "local"  # a client drew it from an allocation; see `varts.live.local`
FALLBACK = "fallback"  # a client chose it; see `varts.live.fallbacks`
DRAWS_PER_ESTIMATE = 1000  # for a policy that has neither a belief nor an index
# 52 of 64 random bits make a float strictly between 0 and 1. These are arrays because NumPy takes
# longer with plain numbers.
WORD, UNUSED_BITS = np.dtype("<u8"), np.array(12, dtype=np.uint64)
STEP, HALF_A_STEP = np.array(2.0**-52), np.array(2.0**-53)
MEMBERSHIP, CHOICE, TOSS, ESTIMATE = b"holdout", b"choice", b"toss", b"estimate"
HALF = b"half"
SEEDING = b"varts seed"
FORGOTTEN = "forgotten:"  # the log's name for a forgotten unit starts with this


class Choice(NamedTuple):
    """An arm, its probability and the reason."""

    arm: int
    probability: float
    reason: str
    estimated: bool = False


def seed_for(name: str, given: int) -> int:
    """The seed of an experiment's decisions, from its name and the seed that the user gave.

    Two experiments with the same given seed decide differently. (Experiments of schema 0001 used
    the given seed itself.)

    >>> seed_for("price", 1) == seed_for("banner", 1)
    False
    """
    key = integer("seed", given, 0, 2**63 - 1).to_bytes(8, "little")
    digest = hashlib.blake2b(name.encode(), digest_size=8, key=key, person=SEEDING).digest()
    return int.from_bytes(digest, "little") >> 1  # 63 bits, which both databases can hold


def uniforms(seed: int, purpose: bytes, keys: Sequence[str], size: int) -> Floats:
    """`size` numbers in (0, 1) for every key. They depend on nothing but the arguments.

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
    """A NumPy generator that depends on nothing but the arguments."""
    entropy = hashlib.shake_128(b"%d/%b/%b" % (seed, purpose, key.encode())).digest(16)
    return np.random.Generator(np.random.PCG64(int.from_bytes(entropy, "little")))


def clipped(config: Config, raw: float) -> float:
    """A reward, limited by the option `clip`."""
    if config.options.clip is None:
        return limited(raw)
    low, high = config.options.clip
    return limited(min(max(raw, low), high))


def tosses(config: Config) -> bool:
    """Whether the policy counts a random number drawn from the reward, such as a coin toss."""
    return type(config.policy).transform is not Policy.transform


def counted(seed: int, config: Config, id: str, raw: float) -> float:
    """A reward as the statistics count it: clipped, and tossed if the policy needs that."""
    value = clipped(config, raw)
    if not tosses(config):
        return value
    return float(config.policy.transform(value, keyed_generator(seed, TOSS, id)))


def in_holdout(seed: int, config: Config, decision: Any) -> bool | None:
    """Whether a decision is in the holdout; None if it belongs to neither side: it was made before
    the share changed, or after the experiment stopped, or its unit was forgotten."""
    options = config.options
    if not options.holdout or decision.epoch < config.holdout_since or decision.reason == WINNER:
        return None
    if decision.reason not in (STICKY, LOCAL):
        return bool(decision.reason == HOLDOUT)
    who = decision.id if decision.unit is None else decision.unit
    if decision.unit is not None and who.startswith(FORGOTTEN):
        return None
    return members(seed, config, [who])[0]


def holdout_mark(seed: int, config: Config, decision: Any) -> dict[str, bool]:
    """`in_holdout` for the event of the decision's reward; empty if it belongs to neither side."""
    held = in_holdout(seed, config, decision)
    return {} if held is None else {"held": held}


def drawn_in_holdout(seed: int, config: Config, decision: Any) -> bool:
    """Whether a client drew an arm in the holdout, given the configuration at that version.

    If the unit was forgotten, only the probability shows it.
    """
    if not config.options.holdout:
        return False
    who = decision.id if decision.unit is None else decision.unit
    if decision.unit is not None and who.startswith(FORGOTTEN):
        return bool(decision.probability == 1 / len(config.active))
    return members(seed, config, [who])[0]


def members(seed: int, config: Config, who: Sequence[str]) -> list[bool]:
    """Which of these units, or of the ids of decisions without one, are in the holdout."""
    share = config.options.holdout
    if config.public_holdout:
        key = public_key(seed)
        return [is_held(key, one, share) for one in who]
    uniform: list[float] = uniforms(seed, MEMBERSHIP, who, 1)[:, 0].tolist()
    return [u < share for u in uniform]


class Allocation:
    """How a state splits traffic; each part is computed when it is first needed."""

    def __init__(self, seed: int, state: State) -> None:
        self.seed, self.state, self.options = seed, state, state.config.options
        self.active = state.config.active
        self.policy = state.config.policy
        self.stats: Any = seen_by(self.policy, self.options.goal, self._statistics())
        self.K: int = self.stats.K
        waiting = state.needs_pulls(self.policy, self.stats, state.config.initial_pulls)
        waiting = waiting[self.active]
        self.waiting, self.ready = self.active[waiting], self.active[~waiting]
        # Of the traffic that the floor leaves over, the share of arms that need initial pulls.
        self.forced = len(self.waiting) / len(self.active)
        self.share = 1 / len(self.active)
        self.even = self.options.floor * len(self.active)

    def _statistics(self) -> Any:
        """The statistics that the policy uses."""
        return self.state.effective().choosing

    # ------------------------------------------------------------------ choosing

    def choose(
        self,
        keys: Sequence[str],
        units: Sequence[str | None],
        exact: bool = True,
        held: Sequence[bool] | None = None,
        contexts: Sequence[Any] = (),
    ) -> list[Choice]:
        """Choose an arm for each key.

        Args:
            keys: One key per choice; the arm is drawn from it.
            units: The unit of each key. Its name decides whether it is in the holdout; without a
                unit the key does.
            exact: Whether to compute probabilities; otherwise they are NaN.
            held: Whether each unit is in the holdout, if the names were forgotten.
            contexts: The context of each key, for policies that use features.
        """
        winner, known = self.state.config.winner, self._known(contexts)
        if winner is not None:
            return [Choice(winner, 1.0, WINNER)] * len(keys)
        u = uniforms(self.seed, CHOICE, keys, 2 + 2 * self.K)
        held = self._holdout(keys, units) if held is None else held
        forced = self.even + (1 - self.even) * self.forced
        arms, reasons, by_policy = [], [], []
        left: list[float] = []  # what is random about the first number once the policy chooses
        # One number decides between floor, forced and the policy, another picks evenly.
        for i, (which, pick) in enumerate(u[:, :2].tolist()):
            if held[i] or which < self.even:
                arm, reason = pick_evenly(self.active, pick), HOLDOUT if held[i] else FLOOR
            elif which < forced:
                arm, reason = pick_evenly(self.waiting, pick), FORCED
            else:
                arm, reason = -1, POLICY
                by_policy.append(i)
                left.append((which - forced) / (1 - forced))
            arms.append(arm)
            reasons.append(reason)
        if by_policy:
            chosen = self._policy_choices(keys, u, by_policy, known)
            for i, arm, again in zip(by_policy, chosen, left, strict=True):
                arms[i] = arm if self._limits is None else self._limits.limited(arm, again)
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
        return members(self.seed, self.state.config, who)

    def _known(self, contexts: Sequence[Any]) -> Any:
        """The policy's beliefs or indices for the units; None unless it uses features."""
        return None

    def _policy_choices(
        self, keys: Sequence[str], u: Floats, rows: list[int], known: Any
    ) -> list[int]:
        """The policy's choices for some of the keys."""
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
        """The probability with which each of these decisions got its arm."""
        chances = self.chances
        return [chances[arms[i]] for i in rows]

    def chances_for(self, contexts: Sequence[Any]) -> Floats:
        """The probability of every arm outside the holdout, a row for each of these contexts."""
        return np.broadcast_to(self.probabilities, (len(contexts), self.K))

    def _chosen(self, rng: np.random.Generator) -> int:
        return chosen_arm(self.ready_policy, self.ready_stats, self.t, rng)

    # ------------------------------------------------------------------ the policy

    @computed_once
    def ready_policy(self) -> Policy:
        """The policy for the arms that have their initial pulls."""
        if len(self.ready) == self.K:
            return self.policy
        return self.policy.restricted(self.ready)

    @computed_once
    def ready_stats(self) -> Any:
        """The statistics of these arms."""
        if len(self.ready) == self.K:
            return self.stats
        return self.stats.take(self.ready)

    @computed_once
    def belief(self) -> Belief | None:
        """The belief whose largest draw is the choice, if the policy is a sampler."""
        return self.ready_policy._belief(self.ready_stats) if self.policy.samples else None

    @property
    def t(self) -> int:
        """The round: one more than the total weight of the rewards so far."""
        stats = self.ready_stats
        return max(int(stats.n.sum()), int(self.ready_policy.pulls_needed(stats.K).sum())) + 1

    def _largest(self, u: float) -> NDArray[np.bool_]:
        """The arms with the largest index; u is the random number that some policies use."""
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
        """Whether the probabilities are estimated by drawing, because there is no formula."""
        return bool(len(self.ready)) and not self._has_formula

    @property
    def _has_formula(self) -> bool:
        return self.belief is not None or self._exact_probabilities is not None

    @computed_once
    def _exact_probabilities(self) -> Floats | None:
        """The policy's probabilities for the ready arms, if there is a formula."""
        policy = self.ready_policy
        if isinstance(policy, IndexPolicy) and not policy.chance:
            return np.asarray(self._largest_always / self._largest_always.sum())
        return policy.probabilities(self.ready_stats, self.t)

    @computed_once
    def probabilities(self) -> Floats:
        """The probability of every arm at the next decision outside the holdout."""
        policy = np.zeros(self.K)
        if len(self.ready):
            policy[self.ready] = self._policy_probabilities()
        return self._shared(policy)

    def _shared(self, policy: Floats) -> Floats:
        """The probabilities of all arms, given the policy's for the ready ones."""
        policy[..., self.ready] *= 1 - self.forced
        policy[..., self.waiting] = self.share
        out = (1 - self.even) * policy
        out[..., self.active] += self.options.floor
        return np.asarray(out)

    @computed_once
    def chances(self) -> list[float]:
        """`probabilities` as plain numbers."""
        return list(self.probabilities.tolist())

    def _policy_probabilities(self) -> Floats:
        """The probabilities of the ready arms in the policy's part of the traffic."""
        return self._unlimited if self._limits is None else self._limits.probabilities[self.ready]

    @computed_once
    def _limits(self) -> Limits | None:
        """How arms with too little data are limited; None if none is."""
        if self.options.rules == 1 or not len(self.ready):
            return None
        rows = self.state.by_arm()
        counts, varies = [0] * self.K, [False] * self.K
        for arm, sums in rows.items():
            counts[arm], varies[arm] = sums.rewards, sums.m2 > 0
        few = thin_arms(self.state.config, counts, varies)
        if not few:
            return None
        thin, enough = np.intersect1d(few, self.ready), np.setdiff1d(self.ready, few)
        own = np.zeros(self.K)
        own[self.ready] = self._unlimited
        if not len(enough) or (own[thin] <= self.share).all():
            return None
        return Limits.of(own, thin, enough, self.share)

    @computed_once
    def _unlimited(self) -> Floats:
        """The probabilities that the policy itself gives to the ready arms."""
        if self.belief is not None:
            return self.belief.p_best()
        if self._exact_probabilities is not None:
            return self._exact_probabilities
        rng = keyed_generator(self.seed, ESTIMATE, str(self.state.version))
        return self._spread([self._chosen(rng) for _ in range(DRAWS_PER_ESTIMATE)])

    def _spread(self, chosen: list[int]) -> Floats:
        """How often each of the ready arms was chosen."""
        # Add one draw, spread evenly, so that no choice is ever logged with probability 0.
        count = np.bincount(chosen, minlength=len(self.ready)) + 1 / len(self.ready)
        return np.asarray(count / (DRAWS_PER_ESTIMATE + 1))


class Limits(NamedTuple):
    """A policy's probabilities, with a limit for arms that have too little data.

    Args:
        probabilities: The probability of every arm, limited.
        keep: By arm, the probability with which a choice of the policy stands.
        enough: The arms that get the rest, in proportion to what the policy gives them.
        steps: The sums of their shares of the rest.
    """

    probabilities: Floats
    keep: Floats
    enough: NDArray[np.int64]
    steps: Floats

    @classmethod
    def of(
        cls, own: Floats, thin: NDArray[np.int64], enough: NDArray[np.int64], share: float
    ) -> Limits:
        """Limit the probabilities of the thin arms to `share`.

        >>> made = Limits.of(np.array([0.7, 0.2, 0.1]), np.array([0]), np.array([1, 2]), 0.25)
        >>> made.probabilities.round(2), made.limited(0, 0.3), made.limited(0, 0.99)
        (array([0.25, 0.5 , 0.25]), 0, 2)
        """
        keep, limited = np.ones(len(own)), own.copy()
        over = thin[own[thin] > share]
        keep[over], limited[over] = share / own[over], share
        weights = own[enough] if own[enough].sum() > 0 else np.ones(len(enough))
        weights = weights / weights.sum()
        limited[enough] += (own - limited).sum() * weights
        return cls(limited, keep, enough, weights.cumsum())

    def limited(self, arm: int, u: float) -> int:
        """The arm that takes the place of the policy's choice; u is uniform in (0, 1)."""
        keep = self.keep[arm]
        if u < keep:
            return arm
        place = int(np.searchsorted(self.steps, (u - keep) / (1 - keep), side="right"))
        return int(self.enough[min(place, len(self.enough) - 1)])


Statistics = TypeVar("Statistics", ArmStats, LinearStats)


def seen_by(policy: Policy, goal: str, stats: Statistics) -> Statistics:
    """The statistics for a policy, which always maximizes."""
    if goal == "max":
        return stats
    return stats.mirrored(policy.reflection)


def pick_evenly(arms: NDArray[np.int64], u: float) -> int:
    """Pick one of the arms with a number in (0, 1)."""
    return int(arms[int(u * len(arms))])


def split_traffic(name: str, allocation: Allocation) -> Floats:
    """The share of all traffic that every arm gets, holdout included.

    Args:
        name: The experiment's name.
        allocation: The allocation of its state.

    Raises:
        Refused: Arms are chosen by features.
        ExperimentStopped: It was stopped without a winner.
    """
    config = allocation.state.config
    if config.winner is not None:
        return np.asarray(np.arange(len(config.arms)) == config.winner, dtype=np.float64)
    if config.stopped:
        raise ExperimentStopped(f"experiment {name!r} is stopped and splits no traffic")
    if config.policy.contextual:
        raise Refused(
            f"experiment {name!r} chooses arms by features, so it has no split for everybody; "
            "decide for each unit"
        )
    holdout = config.options.holdout
    shares = (1 - holdout) * allocation.probabilities
    shares[config.active] += holdout / len(config.active)
    return np.asarray(shares)


Context = dict[str, float | str]


def allocate(seed: int, state: State) -> Allocation:
    """How a state splits traffic."""
    kind = ContextualAllocation if state.config.policy.contextual else Allocation
    return kind(seed, state)


def linear_statistics(state: State, corrected: bool = True) -> LinearStats:
    """The regression statistics of every arm, from rewards with known features: all blocks, weights
    as of now. For reports they are corrected for units with several rewards."""
    lines = {arm: row.line for arm, row in state.by_arm().items()}
    return _linear(state, {arm: line.whole for arm, line in lines.items() if line}, corrected)


def halves_of(state: State) -> tuple[LinearStats, LinearStats]:
    """The regression statistics of the two random halves of the decisions. Rewards that were
    recorded before decisions had halves are in neither."""
    lines = {arm: row.line for arm, row in state.by_arm().items() if row.line is not None}
    one, two = (
        _linear(state, {arm: line.parts[half] for arm, line in lines.items()}) for half in (0, 1)
    )
    return one, two


def residuals_of(state: State) -> ArmStats:
    """The moments of what features leave unexplained, of rewards with a half."""
    rows = state.by_arm()
    lines = [rows[arm].line if arm in rows else None for arm in range(len(state.config.arms))]
    moments = [(0.0,) * 5 if line is None else line.residuals.moments for line in lines]
    return ArmStats._trusted(*np.array(moments).T.copy())


def _linear(state: State, sums: dict[int, Any], corrected: bool = True) -> LinearStats:
    K, D = len(state.config.arms), features_of(state.config).d + 1
    n, mean, products = np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D))
    effects = state.effective().design_effect if corrected else None
    share = np.ones(K) if effects is None else 1 / effects
    for arm, line in sums.items():
        if line is not None:
            n[arm], products[arm] = line.n * share[arm], line.products * share[arm]
            mean[arm] = line.origin + line.mean
    return LinearStats._trusted(n, mean, products)


def features_of(config: Config) -> Features:
    """The features of an experiment; raises ValueError if it has none."""
    if config.features is None:
        raise ValueError("the experiment must have features, got none")
    return config.features


def encode(features: Features, contexts: Sequence[Context | None]) -> Floats:
    """Encode checked contexts as numbers, one row each."""
    rows = []
    for context in contexts:
        if context is None:
            raise ValueError("a decision must have a context, got none")
        rows.append(features.encode_checked(context))
    x = np.array(rows).reshape(len(rows), features.d)
    return np.asarray(np.minimum(np.maximum(x, -LARGEST_REWARD), LARGEST_REWARD))


def features_by_id(config: Config, decisions: Iterable[Any]) -> dict[str, list[float]]:
    """By decision id, the features for the event of its reward. Decisions without a context, or
    whose context was forgotten, are left out."""
    if config.features is None:
        return {}
    known = {one.id: one.context for one in decisions if one.context is not None}
    if not known:
        return {}
    x = encode(config.features, [json.loads(context) for context in known.values()]).tolist()
    # Integers take less space in the log.
    return {
        id: [int(one) if one.is_integer() and abs(one) < 2**53 else one for one in row]
        for id, row in zip(known, x, strict=True)
    }


def features_marks(
    seed: int, config: Config, decisions: Collection[Any]
) -> dict[str, dict[str, Any]]:
    """By decision id, its features and the random half that it is in, for the event of its reward.

    All decisions of a unit are in the same half."""
    found = features_by_id(config, decisions)
    known = [one for one in decisions if one.id in found]
    units = [one.id if one.unit is None else one.unit for one in known]
    halves = (uniforms(seed, HALF, units, 1)[:, 0] < 1 / 2).tolist() if units else []
    return {
        one.id: {"x": found[one.id], "half": int(half)}
        for one, half in zip(known, halves, strict=True)
    }


class ContextualAllocation(Allocation):
    """How a state splits traffic, given the features of each unit."""

    _limits = None  # arms that seem to suit only some units can't be limited for all of them

    def _statistics(self) -> LinearStats:
        return linear_statistics(self.state, corrected=False)

    @computed_once
    def posterior(self) -> LinearNormalGamma:
        """The posterior of the ready arms."""
        policy: Any = self.ready_policy
        posterior: LinearNormalGamma = policy.posterior(self.ready_stats)
        return posterior

    def _known(self, contexts: Sequence[Context | None]) -> Known:
        """The policy's beliefs or indices for units with these contexts."""
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

    def chances_for(self, contexts: Sequence[Context | None]) -> Floats:
        return self._probabilities_of(self._known(contexts), list(range(len(contexts))))

    def _probabilities_of(self, known: Known, rows: Sequence[int]) -> Floats:
        """The probability of every arm outside the holdout, one row per unit."""
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
    """A policy's beliefs or indices for units, one row of features x each; computed when needed."""

    def __init__(self, allocation: ContextualAllocation, x: Floats) -> None:
        self.allocation, self.x = allocation, x

    @computed_once
    def belief(self) -> StudentT:
        """The belief about the ready arms, one row per unit."""
        policy = self.allocation.ready_policy
        assert isinstance(policy, LinearSampler)
        return policy._belief_from(self.allocation.posterior, self.x)

    @computed_once
    def largest(self) -> NDArray[np.bool_]:
        """Which of the ready arms have the largest index."""
        policy, t = self.allocation.ready_policy, self.allocation.t
        assert isinstance(policy, LinearIndexPolicy)
        index = policy.indices_from(self.allocation.posterior, self.x, t)
        if np.isnan(index).any():
            raise ValueError(f"the index of every arm must be a number, got {index}")
        largest: NDArray[np.bool_] = index == index.max(axis=1, keepdims=True)
        return largest


def _some(belief: StudentT, rows: Sequence[int]) -> StudentT:
    """The belief for some of the units."""
    if len(rows) == len(belief.loc):
        return belief
    return StudentT._trusted(*(each[rows] for each in (belief.loc, belief.scale, belief.df)))

"""The state of an experiment: a fold over its log, and nothing else.

Events have versions 1, 2, 3 ..., and `State.apply_many` applies them in order. The database caches
the result. `verify` computes it again, and a replayed decision uses the state at its version. There
is no clock, no database and no randomness here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._validation import Floats, choice
from varts.features import Features as Kinds
from varts.live.core.events import (
    ADD_ARM,
    CONFIGURE,
    CORRECTIONS,
    CREATE,
    ERASE,
    EXPIRED,
    FORGET,
    HELD,
    NOT_HELD,
    PAUSE,
    REPAIR,
    RESTART,
    RESUME,
    REWARDLIKE,
    STOP,
    THE_REWARD,
    Event,
    Key,
    described,
)
from varts.live.core.sums import NO_REWARDS, Features, Sums
from varts.live.options import Options, read_features
from varts.policies import Policy
from varts.stats import ArmStats, faded

Added = tuple[float, int, Features | None]  # a reward, its number, the features of its unit
FEWEST_MERGED = 50  # rewards of an arm that are worth adding up first


@dataclass(frozen=True)
class Config:
    """The configuration after all changes so far."""

    arms: tuple[str, ...]
    options: Options
    initial: int  # the number of arms at creation
    epoch: int = 1
    paused: frozenset[int] = frozenset()
    stopped: bool = False
    winner: int | None = None
    holdout_since: int = 1  # the epoch in which the holdout was last changed

    @computed_once
    def features(self) -> Kinds | None:
        """What a context must have; None if decisions have no context."""
        return read_features(self.options.features)

    @computed_once
    def policy(self) -> Policy:
        """The policy for all the arms."""
        return self.options.build(len(self.arms))

    @computed_once
    def initial_pulls(self) -> tuple[NDArray[np.int64], Floats]:
        """What that policy needs before it can choose; see `initial_pulls`."""
        return initial_pulls(self.policy, len(self.arms))

    @computed_once
    def active(self) -> NDArray[np.int64]:
        """The arms in play."""
        arms = [arm for arm in range(len(self.arms)) if arm not in self.paused]
        return np.array(arms, dtype=np.int64)

    def changed(self, kind: str, body: dict[str, Any]) -> Config:
        """The configuration after one more event."""
        if kind == CONFIGURE:
            options, epoch = Options.from_json(body["options"]), self.epoch + 1
            same = options.holdout == self.options.holdout
            since = self.holdout_since if same else epoch
            return replace(self, options=options, epoch=epoch, holdout_since=since)
        if kind == ADD_ARM:
            new = len(self.arms)
            options = self.options.with_arm(new, body["prior"])
            paused = self.paused | {new} if body.get("paused") else self.paused
            return replace(self, arms=(*self.arms, body["arm"]), options=options, paused=paused)
        if kind == PAUSE:
            return replace(self, paused=self.paused | {self.index(body["arm"])})
        if kind == RESUME:
            return replace(self, paused=self.paused - {self.index(body["arm"])})
        if kind == RESTART:
            return replace(self, stopped=False, winner=None)
        choice("kind of event", kind, (STOP,))
        winner = None if body["winner"] is None else self.index(body["winner"])
        return replace(self, stopped=True, winner=winner)

    def check(self, before: Config | None = None) -> None:
        """Raise ValueError if it can't be used. Whatever equals `before` is not checked again."""
        if not len(self.active):
            raise ValueError("at least one arm must stay in play, got none")
        self.options.check_floor(len(self.active))
        if before is None or (self.arms, self.options) != (before.arms, before.options):
            self.options.build(len(self.arms))

    def index(self, arm: str) -> int:
        """The index of an arm."""
        return self.arms.index(arm)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "arms": list(self.arms),
            "options": self.options.to_json(),
            "initial": self.initial,
            "epoch": self.epoch,
            "paused": sorted(self.paused),
            "stopped": self.stopped,
            "winner": self.winner,
            "holdout_since": self.holdout_since,
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Config:
        """Read the result of `to_json`; other keys, which an event may have, are ignored."""
        names = [field.name for field in fields(cls)]
        return cls(
            **{
                **{name: body[name] for name in names if name in body},
                "arms": tuple(body["arms"]),
                "options": Options.from_json(body["options"]),
                "paused": frozenset(body["paused"]),
            }
        )


@dataclass
class State:
    """Configuration and statistics at a version of the log.

    Args:
        config: The configuration.
        version: How many events the log has.
        rewards: How many rewards were counted so far, voided ones included: the clock of the
            half-life.
        rows: Sums by metric, arm and epoch. Only methods of this class may change them.
        batch: The batch number of the last event.
        revision: The version of the last change of configuration.
        touched: The rows that changed since the last copy.
        reconfigured: Whether the configuration changed since the last copy.
        stale: Rows that lost digits in a correction and must be rebuilt from the log.
    """

    config: Config
    version: int = 0
    rewards: int = 0
    rows: dict[Key, Sums] = field(default_factory=dict)
    batch: int | None = field(default=None, compare=False)
    revision: int = 1
    touched: set[Key] = field(default_factory=set, compare=False)
    reconfigured: bool = field(default=False, compare=False)
    stale: set[Key] = field(default_factory=set, compare=False)
    # By arm: the sums of all epochs, and (newest epoch, sums of the others). Rewards nearly always
    # belong to the newest epoch, so a decision costs the same after any number of epochs.
    _merged: dict[int, Sums] = field(default_factory=dict, compare=False, repr=False)
    _older: dict[int, tuple[int, Sums | None]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def created(cls, event: Event) -> State:
        """The state after the first event of a log."""
        choice("kind of event", event.kind, (CREATE,))
        return cls(Config.from_json(event.body or {}), version=1, batch=event.batch)

    def copy(self) -> State:
        """A state to change, with nothing marked as touched."""
        return State(
            self.config,
            self.version,
            self.rewards,
            dict(self.rows),
            self.batch,
            self.revision,
            _merged=dict(self._merged),
            _older=dict(self._older),
        )

    def advanced(
        self, version: int, rewards: int, rows: dict[Key, Sums], batch: int | None
    ) -> State:
        """This state after others have added rewards: only these rows differ."""
        new = self.copy()
        new.version, new.rewards, new.batch = version, rewards, batch
        for key, sums in rows.items():
            new.set_row(key, sums)
        new.touched.clear()
        return new

    # ------------------------------------------------------------------ events

    def apply(self, event: Event) -> None:
        """Apply the next event; raises ValueError if that is impossible."""
        self.apply_many([event])

    def apply_many(self, events: Sequence[Event], exact: bool = True) -> None:
        """Apply the next events of the log, in order.

        Rewards in a row are added arm by arm. To the last bit that is the same as one by one.

        Args:
            events: Events whose versions follow this state's.
            exact: Whether every bit matters. Otherwise many rewards of an arm may be added up first
                and then merged, which is faster and differs by rounding.

        Raises:
            ValueError: One of them can't be applied. If all of them are rewards, none was.
        """
        start = 0
        while start < len(events):
            end = start
            while end < len(events) and events[end].kind in REWARDLIKE:
                end += 1
            together = events[start : max(end, start + 1)]
            self._check_versions([event.version for event in together])
            last = together[-1]
            if end > start:
                self._add(together, exact)
            elif last.kind in CORRECTIONS:
                self._correct(last)
            elif last.kind == ERASE:
                keys = {(THE_REWARD, arm, epoch) for arm, epoch in (last.body or {})["rows"]}
                self.stale, self.touched = self.stale | keys, self.touched | keys
            elif last.kind not in (REPAIR, FORGET):
                self._reconfigure(last)
            self.version, self.batch = last.version, last.batch
            start += len(together)

    def _check_versions(self, found: list[int]) -> None:
        expected = range(self.version + 1, self.version + 1 + len(found))
        if found != list(expected):
            wrong = next(pair for pair in zip(expected, found, strict=True) if pair[0] != pair[1])
            raise ValueError(f"version must be {wrong[0]}, got {wrong[1]}")

    def _add(self, events: Sequence[Event], exact: bool) -> None:
        """Add rewards to the rows that they count for."""
        number = self.rewards
        given: dict[Key, list[Added]] = {}
        rewards_of: dict[tuple[int | None, int | None], list[Added]] = {}  # some of these lists
        for event in events:
            _, kind, _, _, arm, epoch, _, value, _, _, body = event  # faster than by name
            if kind == EXPIRED:
                continue
            if value is None:
                raise ValueError("a reward must have a value, got none")
            rewards = rewards_of.get((arm, epoch))
            if rewards is None:
                rewards = rewards_of[arm, epoch] = given[self._key(arm, epoch)] = []
            number += 1
            x = None
            if body is not None:
                x = event.covariates
                for name, one in described(event).items():
                    given.setdefault((name, cast(int, arm), 0), []).append((one, number, None))
            rewards.append((value, number, x))
        half_life, added = self.config.options.half_life, {}
        exact = exact or half_life is not None or self.config.options.features is not None
        for key, rewards in given.items():
            sums = self.rows.get(key, NO_REWARDS)
            if exact or len(rewards) < FEWEST_MERGED:
                added[key] = sums.observe_all(rewards, half_life if key[0] == THE_REWARD else None)
            else:
                new = Sums.of([value for value, _, _ in rewards], rewards[-1][1])
                added[key] = sums.merge(new)._replace(at=new.at) if sums.rewards else new
        for key, sums in added.items():
            self.set_row(key, sums)
        self.rewards = number

    def _correct(self, event: Event) -> None:
        """Replace a reward that was counted with another one, or with none."""
        key, body = self._key(event.arm, event.epoch), event.body or {}
        weight = self._weight(self.rows.get(key, NO_REWARDS), body.get("number"))
        self._replace(key, body["before"], event.value, weight, event.covariates)
        before, after = described(event, "before"), described(event)
        for name in sorted(before.keys() | after.keys()):
            self._replace((name, key[1], 0), before.get(name), after.get(name), 1.0, None)

    def _replace(
        self, key: Key, before: float | None, after: float | None, weight: float | None, x: Any
    ) -> None:
        if before == after:
            return
        sums = self.rows.get(key, NO_REWARDS)
        new = None if weight is None else sums.replaced(before, after, weight, x)
        if new is None:
            self.stale.add(key)
            self.touched.add(key)
        else:
            self.set_row(key, new)

    def _weight(self, sums: Sums, number: int | None) -> float | None:
        """The weight of the experiment's reward of this number; None if that is unknown."""
        half_life = self.config.options.half_life
        if half_life is None:
            return 1.0 if sums.n == sums.rewards else None
        return None if number is None else faded(sums.at - number, half_life)

    def _key(self, arm: int | None, epoch: int | None) -> Key:
        """The row of the rewards of an arm in an epoch."""
        if arm is None or epoch is None:
            raise ValueError("a reward must have an arm and an epoch, got none")
        if not 0 <= arm < len(self.config.arms):
            raise ValueError(f"arm must be below {len(self.config.arms)}, got {arm}")
        return THE_REWARD, arm, epoch

    def _reconfigure(self, event: Event) -> None:
        before = self.config
        self.config = before.changed(event.kind, event.body or {})
        self.reconfigured, self.revision = True, event.version
        if before.options.half_life != self.config.options.half_life:
            for key, sums in list(self.rows.items()):
                if key[0] == THE_REWARD:
                    self.set_row(key, sums.settled(self.rewards, before.options.half_life))
        if before.holdout_since != self.config.holdout_since:
            # Shares of different sizes can't be compared, so counting starts again.
            for key in self.rows:
                if key[0] in (HELD, NOT_HELD):
                    self.set_row(key, NO_REWARDS)

    def set_row(self, key: Key, sums: Sums) -> None:
        """Replace the sums of a metric, arm and epoch."""
        self.rows[key] = sums
        self.touched.add(key)
        metric, arm, epoch = key
        if metric == THE_REWARD:
            self._merged.pop(arm, None)
            newest, older = self._older.get(arm, (epoch, None))
            if epoch > newest:
                before = self.rows.get((THE_REWARD, arm, newest))
                half_life = self.config.options.half_life
                merged = older if before is None else _merged(older, before, half_life)
                self._older[arm] = epoch, merged
            elif epoch < newest:
                del self._older[arm]

    # ------------------------------------------------------------------ statistics

    def statistics(self) -> ArmStats:
        """The moments of every arm for policies: all epochs, weights as of now."""
        return self._moments(self.by_arm())

    def by_arm(self) -> dict[int, Sums]:
        """The sums of every arm that has some: all epochs, weights as of now."""
        if not self._merged:
            self._check_arms()
        half_life = self.config.options.half_life
        out = {}
        for arm in range(len(self.config.arms)):
            sums = self._merged.get(arm)
            if sums is None:
                sums = self._merged[arm] = self._merge_epochs(arm, half_life)
            if sums is not NO_REWARDS:
                out[arm] = sums if half_life is None else sums.settled(self.rewards, half_life)
        return out

    def _merge_epochs(self, arm: int, half_life: float | None) -> Sums:
        """The sums of all epochs. They depend on nothing but the rows, so that every process and a
        replay get the same bits."""
        if arm not in self._older:
            keys = ((THE_REWARD, arm, epoch) for epoch in range(1, self.config.epoch + 1))
            *rest, newest = [key for key in keys if key in self.rows] or [(THE_REWARD, arm, 0)]
            older: Sums | None = None
            for key in rest:
                older = _merged(older, self.rows[key], half_life)
            self._older[arm] = newest[2], older
        epoch, older = self._older[arm]
        return _merged(older, self.rows.get((THE_REWARD, arm, epoch), NO_REWARDS), half_life)

    def _check_arms(self) -> None:
        K = len(self.config.arms)
        for metric, arm, _ in self.rows:
            if metric == THE_REWARD and arm >= K:
                raise ValueError(
                    f"arm of the statistics must be below {K}, got {arm}; verify says what is wrong"
                )

    def metric_statistics(self) -> dict[str, ArmStats]:
        """The moments of every arm, by the metrics of the options."""
        found: dict[str, dict[int, Sums]] = {name: {} for name in self.config.options.metrics}
        for (metric, arm, _), sums in self.rows.items():
            if metric in found:
                found[metric][arm] = sums
        return {name: self._moments(rows) for name, rows in found.items()}

    def holdout_statistics(self) -> ArmStats | None:
        """Rewards outside the holdout (0) and in it (1) since its share was last changed."""
        if not self.config.options.holdout:
            return None
        sides = {NOT_HELD: NO_REWARDS, HELD: NO_REWARDS}
        for (metric, _, _), sums in sorted(self.rows.items()):
            if metric in sides and sums.rewards:
                sides[metric] = sides[metric].merge(sums) if sides[metric].rewards else sums
        return ArmStats._trusted(*np.array([sums.moments for sums in sides.values()]).T.copy())

    def _moments(self, rows: dict[int, Sums]) -> ArmStats:
        arms = range(len(self.config.arms))
        moments = [rows.get(arm, NO_REWARDS).moments for arm in arms]
        return ArmStats._trusted(*np.array(moments).T.copy())

    def needs_pulls(self, policy: Policy, stats: Any, needed: Any = None) -> NDArray[np.bool_]:
        """Which arms have too few rewards for a policy, or too little weight left of them."""
        least, weight = needed or initial_pulls(policy, stats.K)
        counts = self.counts(True) if policy.contextual else self.counts()
        out: NDArray[np.bool_] = (counts < least) | (stats.n < weight)
        return out

    @property
    def counted(self) -> int:
        """How many rewards the statistics have: `rewards` without the voided ones."""
        return int(self.counts().sum())

    def counts(self, with_features: bool = False) -> NDArray[np.int64]:
        """How many rewards each arm has; optionally, only rewards with known features."""
        counts = np.zeros(len(self.config.arms), dtype=np.int64)
        for arm, sums in self.by_arm().items():
            counted = sums.line if with_features else sums
            counts[arm] = 0 if counted is None else counted.rewards
        return counts


def _merged(one: Sums | None, other: Sums, half_life: float | None) -> Sums:
    """Two epochs of an arm together, with weights as of the later of their last rewards."""
    if one is None:
        return other
    if half_life is not None:
        at = max(one.at, other.at)
        one, other = one.settled(at, half_life), other.settled(at, half_life)
    return one.merge(other)


def initial_pulls(policy: Policy, K: int) -> tuple[NDArray[np.int64], Floats]:
    """How many rewards a policy needs from each of K arms before it can choose, and how much weight
    must be left of them."""
    return policy.owed(K), policy.least_weight(K)

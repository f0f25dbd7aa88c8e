"""The state of an experiment: a fold over its log, and nothing else.

Events have versions 1, 2, 3 ..., and `State.apply_many` applies them in order. The database caches
the result. `verify` computes it again, and a replayed decision uses the state at its version. There
is no clock, no database and no randomness here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._decoding import NotSent, decode
from varts._validation import Floats, choice, unknown
from varts.features import Features
from varts.live.core import aggregates
from varts.live.core.effective import (
    Cells,
    Effective,
    effective_statistics,
    independent,
    plain,
)
from varts.live.core.events import (
    ADD_ARM,
    AGGREGATE,
    AGGREGATED,
    ARRIVAL,
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
from varts.live.core.sums import (
    NO_REWARDS,
    NO_UNIT,
    NOT_SHARED,
    Added,
    Sums,
    UnitKey,
    UnitSums,
    limited,
)
from varts.live.errors import Refused, UnknownArm
from varts.live.options import Options, read_features
from varts.policies import BernoulliTS, Policy
from varts.stats import ArmStats, faded

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
    # Whether clients can compute which units are in the holdout. False in logs from before they
    # could draw arms by themselves.
    public_holdout: bool = False

    @computed_once
    def features(self) -> Features | None:
        """The features that a context must have; None if decisions have no context."""
        return read_features(self.options.features or self.options.adjust)

    @computed_once
    def policy(self) -> Policy:
        """The policy for all the arms."""
        return self.options.build(len(self.arms))

    @computed_once
    def initial_pulls(self) -> tuple[NDArray[np.int64], Floats]:
        """The pulls that the policy needs before it can choose; see `initial_pulls`."""
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
            raise Refused("at least one arm must stay in play, got none")
        self.options.check_floor(len(self.active))
        self.options.check_control(self.arms)
        if before is None or (self.arms, self.options) != (before.arms, before.options):
            self.options.build(len(self.arms))

    def index(self, arm: str) -> int:
        """The index of an arm; raises UnknownArm if no arm has that name."""
        if arm not in self.arms:
            raise UnknownArm(unknown("arm", arm, self.arms))
        return self.arms.index(arm)

    def to_json(self) -> dict[str, Any]:
        """Plain values for the log."""
        return {
            "arms": list(self.arms),
            "options": self.options.stored(),
            "initial": self.initial,
            "epoch": self.epoch,
            "paused": sorted(self.paused),
            "stopped": self.stopped,
            "winner": self.winner,
            "holdout_since": self.holdout_since,
            "public_holdout": self.public_holdout,
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
        rows: Sums by metric, arm and block. Only methods of this class may change them.
        batch: The batch number of the last event.
        revision: The version of the last change of configuration.
        configured: The batch number of that change.
        touched: The rows that changed since the last copy.
        reconfigured: Whether the configuration changed since the last copy.
        stale: Rows that lost digits in a correction and must be rebuilt from the log.
        recount: Whether all rows must be rebuilt from the log, because they count differently now.
        recounted: Whether that was done since the last copy.
        units: The sums of units by metric, arm and unit: of all units if the state follows a log,
            otherwise of those that were loaded for the events to come.
        touched_units: The units that changed since the last copy.
    """

    config: Config
    version: int = 0
    rewards: int = 0
    rows: dict[Key, Sums] = field(default_factory=dict)
    batch: int | None = field(default=None, compare=False)
    revision: int = 1
    configured: int | None = field(default=None, compare=False)
    touched: set[Key] = field(default_factory=set, compare=False)
    reconfigured: bool = field(default=False, compare=False)
    stale: set[Key] = field(default_factory=set, compare=False)
    recount: bool = field(default=False, compare=False)
    recounted: bool = field(default=False, compare=False)
    units: dict[UnitKey, UnitSums] = field(default_factory=dict, compare=False, repr=False)
    touched_units: set[UnitKey] = field(default_factory=set, compare=False, repr=False)
    # By arm: the sums of all blocks, and (newest block, sums of the others). Rewards nearly always
    # belong to the newest block, so a decision costs the same after any number of blocks.
    _merged: dict[int, Sums] = field(default_factory=dict, compare=False, repr=False)
    _older: dict[int, tuple[int, Sums | None]] = field(
        default_factory=dict, compare=False, repr=False
    )
    # By arm, its blocks in order; None until they are needed.
    _blocks: dict[int, list[int]] | None = field(default=None, compare=False, repr=False)
    _cells: Cells | None = field(default=None, compare=False, repr=False)

    @classmethod
    def created(cls, event: Event) -> State:
        """The state after the first event of a log."""
        choice("kind of event", event.kind, (CREATE,))
        config = Config.from_json(event.body or {})
        return cls(config, version=1, batch=event.batch, configured=event.batch)

    @classmethod
    def simulated(cls, config: Config, by_arm: Mapping[int, Sums], cells: Cells | None) -> State:
        """The state of an experiment that has sums but no log, such as one that a plan simulates.

        Args:
            config: The configuration.
            by_arm: The sums of every arm that has rewards, over all blocks of time.
            cells: The same by arm and block; None if arms aren't compared within blocks.
        """
        state = cls(config, rewards=sum(sums.rewards for sums in by_arm.values()))
        every = dict.fromkeys(range(len(config.arms)), NO_REWARDS)
        state._merged, state._cells = {**every, **by_arm}, cells
        return state

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the configuration and how far the log is, without the sums."""
        return {
            "config": self.config.to_json(),
            "version": self.version,
            "rewards": self.rewards,
            "revision": self.revision,
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> State:
        """Read the result of `to_dict`. Using the sums, which it leaves out, raises an error.

        Args:
            body: Plain values by name.
        """
        config = decode(Config, body["config"], "config")
        numbers = [decode(int, body[name], name) for name in ("version", "rewards", "revision")]
        places = {*config.paused, 0 if config.winner is None else config.winner}
        if not config.arms or not places <= {*range(len(config.arms))}:
            raise ValueError("config must name its own arms as paused and as winner")
        rows: Any = NotSent(
            "a service doesn't send the sums of the rewards; the frame of a report has the means"
        )
        return cls(config, numbers[0], numbers[1], rows, revision=numbers[2])

    def copy(self) -> State:
        """A state to change, with nothing marked as touched."""
        return State(
            self.config,
            self.version,
            self.rewards,
            dict(self.rows),
            self.batch,
            self.revision,
            self.configured,
            _merged=dict(self._merged),
            _older=dict(self._older),
            _blocks=None if self._blocks is None else dict(self._blocks),
            _cells=self._cells,
        )

    @property
    def tag(self) -> str:
        """Names the configuration; see `tag_of`."""
        return tag_of(self.revision, self.configured)

    def forget_units(self) -> None:
        """Keep no units in memory: the store has them."""
        self.units, self.touched_units = {}, set()

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
            elif last.kind == AGGREGATE:
                self._merge(last)
            elif last.kind == ERASE:
                keys = {(THE_REWARD, arm, epoch) for arm, epoch in (last.body or {})["rows"]}
                if self.config.options.rules > 1:  # rows are of blocks of time, not of epochs
                    arms = {arm for _, arm, _ in keys}
                    keys = {key for key in self.rows if key[0] == THE_REWARD and key[1] in arms}
                self.stale, self.touched = self.stale | keys, self.touched | keys
            elif last.kind not in (REPAIR, FORGET, ARRIVAL):
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
        number, options = self.rewards, self.config.options
        given: dict[Key, list[Added]] = {}
        rewards_of: dict[tuple[Any, Any, Any], list[Added]] = {}  # some of these lists
        rules, length = options.rules, options.block_length
        for event in events:
            # Faster than by name.
            _, kind, _, _, arm, epoch, _, value, _, _, body, _, unit, made = event
            if kind == EXPIRED:
                continue
            if value is None:
                raise ValueError("a reward must have a value, got none")
            block = _block(rules, length, epoch, made)
            rewards = rewards_of.get((arm, epoch, block))
            if rewards is None:
                key = self._key(arm, epoch, made)
                rewards = rewards_of[arm, epoch, block] = given.setdefault(key, [])
            number += 1
            x = None
            if body is not None:
                x = event.covariates
                for name, one in described(event).items():
                    key = self._metric_key(name, cast(int, arm))
                    its = None if unit is None else (name, key[1], unit)
                    given.setdefault(key, []).append((one, number, None, its))
            own = None if unit is None else (THE_REWARD, cast(int, arm), unit)
            rewards.append((value, number, x, own))
        half_life, added = options.half_life, {}
        # Kept apart until all rewards are known to be possible.
        units = NewUnits(self.units) if options.counts_units else None
        exact = exact or half_life is not None or self.config.features is not None
        for key, rewards in given.items():
            sums = self.rows.get(key, NO_REWARDS)
            if exact or len(rewards) < FEWEST_MERGED or (units is not None and _named(rewards)):
                fades = half_life if key[0] == THE_REWARD else None
                added[key] = sums.observe_all(rewards, fades, units)
            else:
                values = [value for value, _, _, _ in rewards]
                new = Sums.of(values, rewards[-1][1], units is not None)
                added[key] = sums.merge(new)._replace(at=new.at) if sums.rewards else new
        for key, sums in added.items():
            self.set_row(key, sums)
        if units:
            self.units.update(units)
            self.touched_units.update(units)
        self.rewards = number

    def _correct(self, event: Event) -> None:
        """Replace a reward that was counted with another one, or with none."""
        key, body = self._key(event.arm, event.epoch, event.made), event.body or {}
        weight = self._weight(self.rows.get(key, NO_REWARDS), body.get("number"))
        self._replace(key, body["before"], event.value, weight, event.covariates, event.unit)
        before, after = described(event, "before"), described(event)
        for name in sorted(before.keys() | after.keys()):
            its_key = self._metric_key(name, key[1])
            self._replace(its_key, before.get(name), after.get(name), 1.0, None, event.unit)

    def _merge(self, event: Event) -> None:
        """Merge rewards that came as an aggregate. A correction leaves its rows to be rebuilt."""
        found, options = aggregates.read(event), self.config.options
        key, length = self._key(found.arm, event.epoch, found.period.start), options.block_length
        spans = length is not None and (found.period.end - 1) // length > key[2]
        keys = (key, (AGGREGATED, found.arm, int(spans)))
        self.rewards += found.new
        if found.before is not None:
            self.stale.update(keys)
            self.touched.update(keys)
            return
        new = found.numbers.sums(self.rewards)
        if not options.counts_units:
            new = new._replace(shared=NOT_SHARED)
        for key in keys:
            sums = self.rows.get(key, NO_REWARDS)
            self.set_row(key, sums.merge(new)._replace(at=new.at) if sums.rewards else new)

    def _replace(
        self,
        key: Key,
        before: float | None,
        after: float | None,
        weight: float | None,
        x: Any,
        unit: str | None,
    ) -> None:
        if before == after:
            return
        sums = self.rows.get(key, NO_REWARDS)
        new = None if weight is None else sums.replaced(before, after, weight, x)
        if self.config.options.counts_units:
            shared, own = sums.shared, (key[0], key[1], unit or "")
            known = UnitSums(int(before is not None), limited(before or 0.0))
            if unit is not None:
                known = self.units.get(own, NO_UNIT)
            for value, sign in ((before, -1), (after, 1)):
                if value is not None:
                    shared, known = shared.changed(known, limited(value), sign, sums.origin)
            if unit is not None:
                self.units[own] = known
                self.touched_units.add(own)
            new = new and new._replace(shared=shared)
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

    def _key(self, arm: int | None, epoch: int | None, made: int | None) -> Key:
        """The row of a reward: of its arm, and of the block of time in which the decision was
        made."""
        if arm is None or epoch is None:
            raise ValueError("a reward must have an arm and an epoch, got none")
        if not 0 <= arm < len(self.config.arms):
            raise ValueError(f"arm must be below {len(self.config.arms)}, got {arm}")
        options = self.config.options
        return THE_REWARD, arm, _block(options.rules, options.block_length, epoch, made)

    def _metric_key(self, name: str, arm: int) -> Key:
        """The row of a metric. A unit may have had several arms on its side of the holdout, so that
        all arms of a side have one row."""
        together = name in (HELD, NOT_HELD) and self.config.options.rules > 1
        return name, 0 if together else arm, 0

    def _reconfigure(self, event: Event) -> None:
        before = self.config
        self.config = before.changed(event.kind, event.body or {})
        self.reconfigured, self.revision, self.configured = True, event.version, event.batch
        if before.options.accounting != self.config.options.accounting:
            self.recount = True
        if before.options.half_life != self.config.options.half_life:
            for key, sums in list(self.rows.items()):
                if key[0] == THE_REWARD:
                    self.set_row(key, sums.settled(self.rewards, before.options.half_life))
        if before.holdout_since != self.config.holdout_since:
            # Shares of different sizes can't be compared, so counting starts again.
            for key in self.rows:
                if key[0] in (HELD, NOT_HELD):
                    self.set_row(key, NO_REWARDS)
            if self.config.options.counts_units:
                self.recount = True  # units start again, too, and only the store knows all of them
                self.units = {
                    k: one for k, one in self.units.items() if k[0] not in (HELD, NOT_HELD)
                }

    def set_row(self, key: Key, sums: Sums) -> None:
        """Replace the sums of a metric, arm and block."""
        new = key not in self.rows
        self.rows[key] = sums
        self.touched.add(key)
        metric, arm, block = key
        if metric != THE_REWARD:
            return
        self._merged.pop(arm, None)
        newest, older = self._older.get(arm, (block, None))
        if block > newest:
            before = self.rows.get((THE_REWARD, arm, newest))
            half_life = self.config.options.half_life
            merged = older if before is None else _merged(older, before, half_life)
            self._older[arm] = block, merged
        elif block < newest:
            del self._older[arm]
        if new and self._blocks is not None:
            self._blocks[arm] = sorted([*self._blocks.get(arm, ()), block])
        self._cells = self._cells and self._cells.changed(arm, block, sums)

    def replace_rows(self, rows: dict[Key, Sums]) -> None:
        """Replace all sums."""
        self.rows, self._merged, self._older, self.touched = {}, {}, {}, set()
        self._blocks = self._cells = None
        for key, sums in sorted(rows.items()):
            self.set_row(key, sums)

    # ------------------------------------------------------------------ statistics

    def statistics(self) -> ArmStats:
        """The effective statistics of every arm, which policies and reports use."""
        return self.effective().stats

    def raw_statistics(self) -> ArmStats:
        """The moments of every arm's rewards as they came, as if all were independent."""
        return self._moments(self.by_arm())

    def effective(self) -> Effective:
        """The statistics of every arm, and how they were corrected for units, time and
        covariates."""
        options, merged, K = self.config.options, self.by_arm(), len(self.config.arms)
        if options.rules == 1:
            stats = self._moments(merged)
            return Effective(stats, stats, merged)
        limits = (0.0, 1.0) if options.policy["label"] == BernoulliTS.label else None
        adjust = options.adjust is not None
        return effective_statistics(merged, self.cells(), K, self.config.active, adjust, limits)

    def cells(self) -> Cells | None:
        """The rewards by arm and block of time; None if there is only one block."""
        if self.config.options.block_length is None:
            return None
        if self._cells is None or len(self.config.arms) > self._cells.K:
            rows = {
                (arm, block): self.rows[THE_REWARD, arm, block]
                for arm, blocks in self._index().items()
                for block in blocks
            }
            keep = self.config.options.adjust is not None
            self._cells = Cells.of(rows, len(self.config.arms), keep)
        return self._cells

    def by_arm(self) -> dict[int, Sums]:
        """The sums of every arm that has some: all blocks, weights as of now."""
        if not self._merged:
            self._check_arms()
        half_life = self.config.options.half_life
        out = {}
        for arm in range(len(self.config.arms)):
            sums = self._merged.get(arm)
            if sums is None:
                sums = self._merged[arm] = self._merge_blocks(arm, half_life)
            if sums is not NO_REWARDS:
                out[arm] = sums if half_life is None else sums.settled(self.rewards, half_life)
        return out

    def _index(self) -> dict[int, list[int]]:
        """By arm, its blocks in order."""
        if self._blocks is None:
            found: dict[int, list[int]] = {}
            for metric, arm, block in sorted(self.rows):
                if metric == THE_REWARD:
                    found.setdefault(arm, []).append(block)
            self._blocks = found
        return self._blocks

    def _merge_blocks(self, arm: int, half_life: float | None) -> Sums:
        """The sums of all blocks. They depend on nothing but the rows, so that every process and a
        replay get the same bits."""
        if arm not in self._older:
            *rest, newest = self._index().get(arm, [0])
            older: Sums | None = None
            for block in rest:
                older = _merged(older, self.rows[THE_REWARD, arm, block], half_life)
            self._older[arm] = newest, older
        block, older = self._older[arm]
        return _merged(older, self.rows.get((THE_REWARD, arm, block), NO_REWARDS), half_life)

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
        return {name: self._independent(rows) for name, rows in found.items()}

    def holdout_statistics(self) -> ArmStats | None:
        """Rewards outside the holdout (0) and in it (1) since its share was last changed."""
        if not self.config.options.holdout:
            return None
        sides = {NOT_HELD: NO_REWARDS, HELD: NO_REWARDS}
        for (metric, _, _), sums in sorted(self.rows.items()):
            if metric in sides and sums.rewards:
                sides[metric] = sides[metric].merge(sums) if sides[metric].rewards else sums
        return self._independent(dict(enumerate(sides.values())), 2)

    def _independent(self, rows: dict[int, Sums], K: int | None = None) -> ArmStats:
        """The moments of rows without blocks, corrected for units with several rewards."""
        if not self.config.options.counts_units:
            return self._moments(rows, K)
        return independent(rows, len(self.config.arms) if K is None else K)

    def _moments(self, rows: dict[int, Sums], K: int | None = None) -> ArmStats:
        return plain(rows, len(self.config.arms) if K is None else K)

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

    def aggregated(self, spanning: bool = False) -> NDArray[np.int64]:
        """How many rewards of each arm came as aggregates; optionally, only those of periods that
        are in several blocks of time."""
        counts = np.zeros(len(self.config.arms), dtype=np.int64)
        for (metric, arm, spans), sums in self.rows.items():
            if metric == AGGREGATED and (spans or not spanning):
                counts[arm] += sums.rewards
        return counts

    def counts(self, with_features: bool = False) -> NDArray[np.int64]:
        """How many rewards each arm has; optionally, only rewards with known features."""
        counts = np.zeros(len(self.config.arms), dtype=np.int64)
        for arm, sums in self.by_arm().items():
            counted = sums.line if with_features else sums
            counts[arm] = 0 if counted is None else counted.rewards
        return counts


def tag_of(revision: int, batch: int | None) -> str:
    """Text that no other configuration has, not even one of a later experiment of the same name, or
    of a store that was restored.

    Args:
        revision: The version of the change that made it the configuration.
        batch: The batch number of that event; None in a log of schema 0001.

    >>> tag_of(17, 0x5EED)
    '17-5eed'
    """
    return f"{revision}-{batch or 0:x}"


class NewUnits(dict[UnitKey, UnitSums]):
    """The units that change, on top of those that are known."""

    def __init__(self, known: dict[UnitKey, UnitSums]) -> None:
        self.known = known

    def __missing__(self, key: UnitKey) -> UnitSums:
        return self.known.get(key, NO_UNIT)


def _merged(one: Sums | None, other: Sums, half_life: float | None) -> Sums:
    """Two blocks of an arm together, with weights as of the later of their last rewards."""
    if one is None:
        return other
    if half_life is not None:
        at = max(one.at, other.at)
        one, other = one.settled(at, half_life), other.settled(at, half_life)
    return one.merge(other)


def _block(rules: int, length: int | None, epoch: Any, made: int | None) -> Any:
    """The block of a decision: of the time when it was made, or under rules 1 its epoch."""
    if rules == 1:
        return epoch
    return 0 if length is None or made is None else made // length


def _named(rewards: Sequence[Added]) -> bool:
    """Whether one of these rewards is from a unit with a name."""
    return any(unit is not None for _, _, _, unit in rewards)


def initial_pulls(policy: Policy, K: int) -> tuple[NDArray[np.int64], Floats]:
    """How many rewards a policy needs from each of K arms before it can choose, and how much weight
    must be left of them."""
    return policy.pulls_needed(K), policy.least_weight(K)

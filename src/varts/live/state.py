"""The state of an experiment: a fold over its log, and nothing else.

Every event of the log has a version, 1, 2, 3 ...; `State.apply` takes them one by one, in order.
What the database caches is this fold's result, `verify` runs it again, and a replayed decision
looks at it as it was at the decision's version. No clock, no database, no random numbers here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._validation import Floats, choice
from varts.features import Features
from varts.live.option_values import read_features
from varts.live.options import Options
from varts.live.row import NO_REWARDS, Row
from varts.policies import Policy
from varts.stats import ArmStats, faded

# What an event is. REWARD and MISSING carry a value for the statistics, EXPIRED settles a decision
# without one; AMEND, VOID and PART change the reward of one that has been settled. REPAIR says how
# the caches differed from the log, FORGET that a unit's name was taken out of it, ERASE that the
# features of its rewards were, too. The others change the configuration.
REWARD, MISSING, EXPIRED = "reward", "missing", "expired"
AMEND, VOID, PART = "amend", "void", "part"
REPAIR, FORGET, ERASE = "repair", "forget", "erase"
CREATE, CONFIGURE, ADD_ARM = "create", "configure", "add-arm"
PAUSE, RESUME, STOP, RESTART = "pause-arm", "resume-arm", "stop", "restart"
CORRECTIONS = (AMEND, VOID, PART)

# Statistics are kept by (metric, arm, epoch). The reward itself is the metric "", and so are its
# copies for the two sides of the holdout, whose names no metric can have. Only the reward has
# epochs and fades with a half-life; the others are in epoch 0.
Key = tuple[str, int, int]
THE_REWARD, HELD, NOT_HELD = "", "in the holdout", "not in the holdout"


class Event(NamedTuple):
    """One line of the log."""

    version: int
    kind: str
    time: int  # microseconds since 1970, UTC
    decision: str | None = None
    arm: int | None = None
    epoch: int | None = None  # that of the decision, for rewards
    raw: float | None = None  # as it came
    value: float | None = None  # as the statistics count it: clipped, tossed
    # A random number of the transaction that wrote it. Two logs with the same one at a version are
    # the same up to there, however a database was restored since; logs of schema 0001 have none.
    batch: int | None = None
    corrects: str | None = None  # the decision whose reward it changes; raw and value are the new
    # What a change of configuration says; of a reward, its metrics, whether it is in the holdout,
    # and x, the features of its unit; of a correction also what the statistics counted before.
    body: dict[str, Any] | None = None

    @property
    def x(self) -> list[float] | None:
        """The features of whom a reward came from, as far as the log has them."""
        return None if self.body is None else self.body.get("x")


@dataclass(frozen=True)
class Config:
    """What the changes of configuration add up to."""

    arms: tuple[str, ...]
    options: Options
    initial: int  # how many arms it was created with
    epoch: int = 1
    paused: frozenset[int] = frozenset()
    stopped: bool = False
    winner: int | None = None
    holdout_since: int = 1  # the epoch that the holdout was last changed in

    @computed_once
    def features(self) -> Features | None:
        """What a context must have; None if decisions have none."""
        return read_features(self.options.features)

    @computed_once
    def policy(self) -> Policy:
        """The policy for all the arms."""
        return self.options.build(len(self.arms))

    @computed_once
    def asked(self) -> tuple[NDArray[np.int64], Floats]:
        """What that policy asks of them first."""
        return asked_by(self.policy, len(self.arms))

    @computed_once
    def active(self) -> NDArray[np.int64]:
        """The arms in play."""
        arms = [arm for arm in range(len(self.arms)) if arm not in self.paused]
        return np.array(arms, dtype=np.int64)

    def changed(self, kind: str, body: dict[str, Any]) -> Config:
        """After one change, as the log has it."""
        if kind == CONFIGURE:
            options, epoch = Options.from_json(body["options"]), self.epoch + 1
            same = options.holdout == self.options.holdout
            since = self.holdout_since if same else epoch
            return replace(self, options=options, epoch=epoch, holdout_since=since)
        if kind == ADD_ARM:
            options = self.options.with_arm(len(self.arms), body["prior"])
            return replace(self, arms=(*self.arms, body["arm"]), options=options)
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
        """Raise ValueError if it cannot be played; what is as `before` was checked then."""
        if not len(self.active):
            raise ValueError("one arm must stay in play, got none")
        self.options.check_floor(len(self.active))
        if before is None or (self.arms, self.options) != (before.arms, before.options):
            self.options.build(len(self.arms))

    def index(self, arm: str) -> int:
        """An arm's place, by its name."""
        return self.arms.index(arm)

    def to_json(self) -> dict[str, Any]:
        """Plain values only."""
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
        """What `to_json` gave; the event it comes from may say more."""
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
    """Configuration and statistics at a version of the log."""

    config: Config
    version: int = 0
    rewards: int = 0  # counted so far, those that were voided since included: the half-life's clock
    rows: dict[Key, Row] = field(default_factory=dict)
    batch: int | None = field(default=None, compare=False)  # of the last event
    revision: int = 1  # the version of the last change of configuration
    # Since the copy was made: the rows that changed, and whether the configuration did.
    touched: set[Key] = field(default_factory=set, compare=False)
    reconfigured: bool = field(default=False, compare=False)
    # Rows to be made anew from the log when a transaction ends: corrected at the cost of digits.
    stale: set[Key] = field(default_factory=set, compare=False)

    def copy(self) -> State:
        """A state to change, with nothing marked as touched."""
        rows = dict(self.rows)
        return State(self.config, self.version, self.rewards, rows, self.batch, self.revision)

    def apply(self, event: Event) -> None:
        """Take in the next event; raises ValueError for one that cannot be."""
        if event.version != self.version + 1:
            raise ValueError(f"version must be {self.version + 1}, got {event.version}")
        if event.kind in (REWARD, MISSING):
            self._count(event)
        elif event.kind in CORRECTIONS:
            self._correct(event)
        elif event.kind == ERASE:
            keys = {(THE_REWARD, arm, epoch) for arm, epoch in (event.body or {})["rows"]}
            self.stale, self.touched = self.stale | keys, self.touched | keys
        elif event.kind not in (EXPIRED, REPAIR, FORGET):
            self._reconfigure(event)
        self.version, self.batch = event.version, event.batch

    def _count(self, event: Event) -> None:
        """One reward more."""
        arm, epoch = self._place(event)
        if event.value is None:
            raise ValueError("a reward must have a value, got none")
        self.rewards += 1
        half_life = self.config.options.half_life
        self._observe((THE_REWARD, arm, epoch), event.value, half_life, event.x)
        for name, value in described(event).items() if event.body else ():
            self._observe((name, arm, 0), value, None, None)

    def _observe(self, key: Key, value: float, half_life: float | None, x: Any) -> None:
        self.rows[key] = self.rows.get(key, NO_REWARDS).observe(value, self.rewards, half_life, x)
        self.touched.add(key)

    def _correct(self, event: Event) -> None:
        """Another reward, or none, in the place of one that was counted."""
        arm, epoch = self._place(event)
        body = event.body or {}
        key = THE_REWARD, arm, epoch
        weight = self._weight(self.rows.get(key, NO_REWARDS), body.get("number"))
        self._replace(key, body["before"], event.value, weight, event.x)
        before, after = described(event, "before"), described(event)
        for name in sorted(before.keys() | after.keys()):
            self._replace((name, arm, 0), before.get(name), after.get(name), 1.0, None)

    def _replace(
        self, key: Key, before: float | None, after: float | None, weight: float | None, x: Any
    ) -> None:
        if before == after:
            return
        self.touched.add(key)
        row = self.rows.get(key, NO_REWARDS)
        new = None if weight is None else row.replaced(before, after, weight, x)
        if new is None:
            self.stale.add(key)
        else:
            self.rows[key] = new

    def _weight(self, row: Row, number: int | None) -> float | None:
        """What the experiment's reward of this number weighs in a row; None if nobody knows."""
        half_life = self.config.options.half_life
        if half_life is None:
            return 1.0 if row.n == row.rewards else None
        return None if number is None else faded(row.at - number, half_life)

    def _place(self, event: Event) -> tuple[int, int]:
        if event.arm is None or event.epoch is None:
            raise ValueError("a reward must have an arm and an epoch, got none")
        if not 0 <= event.arm < len(self.config.arms):
            raise ValueError(f"arm must be below {len(self.config.arms)}, got {event.arm}")
        return event.arm, event.epoch

    def _reconfigure(self, event: Event) -> None:
        before = self.config
        self.config = before.changed(event.kind, event.body or {})
        self.reconfigured, self.revision = True, event.version
        if before.options.half_life != self.config.options.half_life:
            for key, row in self.rows.items():
                if key[0] == THE_REWARD:
                    self.rows[key] = row.settled(self.rewards, before.options.half_life)
                    self.touched.add(key)
        if before.holdout_since != self.config.holdout_since:
            # Shares of another size cannot be compared with these: the count begins again.
            for key in self.rows:
                if key[0] in (HELD, NOT_HELD):
                    self.rows[key] = NO_REWARDS
                    self.touched.add(key)

    @classmethod
    def created(cls, event: Event) -> State:
        """After the first event of a log."""
        choice("kind of event", event.kind, (CREATE,))
        return cls(Config.from_json(event.body or {}), version=1, batch=event.batch)

    def statistics(self) -> ArmStats:
        """The moments of every arm as a policy sees it: all epochs, weights as of now."""
        return self._moments(self.by_arm())

    def by_arm(self) -> dict[int, Row]:
        """The sums of every arm that has some."""
        half_life = self.config.options.half_life
        merged: dict[int, Row] = {}
        for (metric, arm, _), row in sorted(self.rows.items()):
            if metric != THE_REWARD:
                break  # they are sorted, and no other name is as short
            if half_life is not None:
                row = row.settled(self.rewards, half_life)
            merged[arm] = merged[arm].merge(row) if arm in merged else row
        return merged

    def metric_statistics(self) -> dict[str, ArmStats]:
        """The moments of every arm by metric, those of the options."""
        found: dict[str, dict[int, Row]] = {name: {} for name in self.config.options.metrics}
        for (metric, arm, _), row in self.rows.items():
            if metric in found:
                found[metric][arm] = row
        return {name: self._moments(rows) for name, rows in found.items()}

    def holdout_statistics(self) -> ArmStats | None:
        """Rewards outside the holdout (0) and in it (1) since its share was last changed."""
        if not self.config.options.holdout:
            return None
        sides = {NOT_HELD: NO_REWARDS, HELD: NO_REWARDS}
        for (metric, _, _), row in sorted(self.rows.items()):
            if metric in sides and row.rewards:
                sides[metric] = sides[metric].merge(row) if sides[metric].rewards else row
        return ArmStats._trusted(*np.array([row.moments for row in sides.values()]).T.copy())

    def _moments(self, rows: dict[int, Row]) -> ArmStats:
        """By arm."""
        K = len(self.config.arms)
        if rows and max(rows) >= K:
            raise ValueError(f"arm of the statistics must be below {K}, got {max(rows)}; verify")
        moments = [rows.get(arm, NO_REWARDS).moments for arm in range(K)]
        return ArmStats._trusted(*np.array(moments).T.copy())

    def owed(self, policy: Policy, stats: Any, asked: Any = None) -> NDArray[np.bool_]:
        """Which arms are owed pulls: they had too few rewards, or too little of them is left."""
        least, weight = asked or asked_by(policy, stats.K)
        counts = self.counts(True) if policy.contextual else self.counts()
        owed: NDArray[np.bool_] = (counts < least) | (stats.n < weight)
        return owed

    @property
    def counted(self) -> int:
        """How many rewards the statistics count: `rewards` without those that were voided."""
        return int(self.counts().sum())

    def counts(self, with_features: bool = False) -> NDArray[np.int64]:
        """How many rewards each arm has had; or those whose features are known."""
        counts = [0] * len(self.config.arms)
        for (metric, arm, _), row in self.rows.items():
            counted = row.line if with_features else row
            if metric == THE_REWARD and counted is not None:
                counts[arm] += counted.rewards
        return np.array(counts, dtype=np.int64)


def asked_by(policy: Policy, K: int) -> tuple[NDArray[np.int64], Floats]:
    """How many rewards a policy first asks of each of K arms, and how much must be left of them."""
    return policy.owed(K), policy.least_weight(K)


def described(event: Event, when: str = "after") -> dict[str, float]:
    """What a reward says beside itself, by the metric of the statistics that count it: as it is
    "after" the event, or as it was "before"."""
    body = event.body or {}
    out: dict[str, float] = dict(body.get("metrics" if when == "after" else "metrics_before", {}))
    value = event.value if when == "after" else body["before"]
    if "held" in body and value is not None:
        out[HELD if body["held"] else NOT_HELD] = value
    return out

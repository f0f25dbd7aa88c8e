"""The state of an experiment: a fold over its log, and nothing else.

Every event of the log has a version, 1, 2, 3 ...; `State.apply` takes them one by one, in order.
What the database caches is this fold's result, `verify` runs it again, and a replayed decision
looks at it as it was at the decision's version. No clock, no database, no random numbers here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._validation import choice
from varts.live.options import Options
from varts.policies import Policy
from varts.stats import ArmStats, faded, merged_moments

LARGEST_REWARD = 1e70  # more counts as this: its fourth power must fit into a float, n times

# What an event is. REWARD and MISSING carry a value for the statistics, EXPIRED settles a
# decision without one, REPAIR says how the caches differed from the log; the others change the
# configuration.
REWARD, MISSING, EXPIRED, REPAIR = "reward", "missing", "expired", "repair"
CREATE, CONFIGURE, ADD_ARM, PAUSE, RESUME, STOP = (
    "create",
    "configure",
    "add-arm",
    "pause-arm",
    "resume-arm",
    "stop",
)


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
    body: dict[str, Any] | None = None  # what a change of configuration says


class Row(NamedTuple):
    """The statistics of one arm in one epoch; `mean` is relative to `origin`, the first reward.

    A fixed origin near the rewards keeps all digits of rewards like 1e9 + 0.001. `n` and the sums
    of powers are weights as of the experiment's reward number `at`; with a half-life they fade from
    there on.
    """

    rewards: int = 0
    n: float = 0.0
    mean: float = 0.0
    m2: float = 0.0
    m3: float = 0.0
    m4: float = 0.0
    origin: float = 0.0
    at: int = 0

    def observe(self, value: float, at: int, half_life: float | None) -> Row:
        """One reward more, the experiment's reward number `at`.

        >>> row = Row().observe(1e9 + 1, 1, None).observe(1e9 + 3, 2, None)
        >>> row.mean, row.m2, row.origin
        (1.0, 2.0, 1000000001.0)
        """
        value = limited(value)
        origin = self.origin if self.rewards else value
        fade = faded(at - self.at, half_life)
        n = self.n * fade + 1.0
        offset = value - origin
        gap = offset - self.mean
        mean = self.mean + gap / n
        m2 = self.m2 * fade + gap * (offset - mean)
        before = (self.n * fade, self.mean, self.m2 * fade, self.m3 * fade, self.m4 * fade)
        *_, m3, m4 = merged_moments(*before, 1.0, offset, 0.0, 0.0, 0.0)
        return Row(self.rewards + 1, n, mean, m2, m3, m4, origin, at)

    def merge(self, other: Row) -> Row:
        """Both rows together (Chan's formula), about this one's origin."""
        n = self.n + other.n
        share = other.n / n if n > 0 else 0.0
        gap = (other.origin - self.origin) + (other.mean - self.mean)
        m2 = self.m2 + other.m2 + gap * gap * self.n * share
        *_, m3, m4 = merged_moments(
            self.n, 0.0, self.m2, self.m3, self.m4, other.n, gap, other.m2, other.m3, other.m4
        )
        rewards, mean = self.rewards + other.rewards, self.mean + gap * share
        return self._replace(rewards=rewards, n=n, mean=mean, m2=m2, m3=m3, m4=m4)

    def settled(self, at: int, half_life: float | None) -> Row:
        """The same row with its weights as of reward number `at`."""
        fade = faded(at - self.at, half_life)
        sums = {name: getattr(self, name) * fade for name in ("n", "m2", "m3", "m4")}
        return self._replace(**sums, at=at)


def limited(value: float) -> float:
    """A reward that can be counted.

    >>> limited(-1e300)
    -1e+70
    """
    return min(max(value, -LARGEST_REWARD), LARGEST_REWARD)


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

    @computed_once
    def policy(self) -> Policy:
        """The policy for all the arms."""
        return self.options.build(len(self.arms))

    @computed_once
    def active(self) -> NDArray[np.int64]:
        """The arms in play."""
        arms = [arm for arm in range(len(self.arms)) if arm not in self.paused]
        return np.array(arms, dtype=np.int64)

    def changed(self, kind: str, body: dict[str, Any]) -> Config:
        """After one change, as the log has it."""
        if kind == CONFIGURE:
            return replace(self, options=Options.from_json(body["options"]), epoch=self.epoch + 1)
        if kind == ADD_ARM:
            options = self.options.with_arm(len(self.arms), body["prior"])
            return replace(self, arms=(*self.arms, body["arm"]), options=options)
        if kind == PAUSE:
            return replace(self, paused=self.paused | {self.index(body["arm"])})
        if kind == RESUME:
            return replace(self, paused=self.paused - {self.index(body["arm"])})
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
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Config:
        """What `to_json` gave."""
        return cls(
            **{
                **body,
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
    rewards: int = 0
    rows: dict[tuple[int, int], Row] = field(default_factory=dict)
    batch: int | None = field(default=None, compare=False)  # of the last event
    # Since the copy was made: the rows that changed, and whether the configuration did.
    touched: set[tuple[int, int]] = field(default_factory=set, compare=False)
    reconfigured: bool = field(default=False, compare=False)

    def copy(self) -> State:
        """A state to change, with nothing marked as touched."""
        return State(self.config, self.version, self.rewards, dict(self.rows), self.batch)

    def apply(self, event: Event) -> None:
        """Take in the next event; raises ValueError for one that cannot be."""
        if event.version != self.version + 1:
            raise ValueError(f"version must be {self.version + 1}, got {event.version}")
        if event.kind in (REWARD, MISSING):
            if event.arm is None or event.epoch is None or event.value is None:
                raise ValueError("a reward must have an arm, an epoch and a value, got none")
            if not 0 <= event.arm < len(self.config.arms):
                raise ValueError(f"arm must be below {len(self.config.arms)}, got {event.arm}")
            self.rewards += 1
            key = event.arm, event.epoch
            row = self.rows.get(key, Row())
            half_life = self.config.options.half_life
            self.rows[key] = row.observe(event.value, self.rewards, half_life)
            self.touched.add(key)
        elif event.kind not in (EXPIRED, REPAIR):
            before = self.config.options.half_life
            self.config = self.config.changed(event.kind, event.body or {})
            self.reconfigured = True
            if before != self.config.options.half_life:
                for key, row in self.rows.items():
                    self.rows[key] = row.settled(self.rewards, before)
                self.touched.update(self.rows)
        self.version, self.batch = event.version, event.batch

    @classmethod
    def created(cls, event: Event) -> State:
        """After the first event of a log."""
        choice("kind of event", event.kind, (CREATE,))
        return cls(Config.from_json(event.body or {}), version=1, batch=event.batch)

    def statistics(self) -> ArmStats:
        """The moments of every arm as a policy sees it: all epochs, weights as of now."""
        half_life = self.config.options.half_life
        merged: dict[int, Row] = {}
        for (arm, _), row in sorted(self.rows.items()):
            if half_life is not None:
                row = row.settled(self.rewards, half_life)
            merged[arm] = merged[arm].merge(row) if arm in merged else row
        moments = np.zeros((5, len(self.config.arms)))
        for arm, row in merged.items():
            if arm >= len(self.config.arms):
                known = len(self.config.arms)
                raise ValueError(f"arm of the statistics must be below {known}, got {arm}; verify")
            moments[:, arm] = row.n, row.origin + row.mean, row.m2, row.m3, row.m4
        return ArmStats._trusted(*moments)

    def owed(self, policy: Policy, stats: ArmStats) -> NDArray[np.bool_]:
        """Which arms are owed pulls: they had too few rewards, or too little of them is left."""
        K = stats.K
        return (self.counts() < policy.owed(K)) | (stats.n < policy.least_weight(K))

    def counts(self) -> NDArray[np.int64]:
        """How many rewards each arm has had."""
        out = np.zeros(len(self.config.arms), dtype=np.int64)
        for (arm, _), row in self.rows.items():
            out[arm] += row.rewards
        return out

"""A live experiment: decide, reward, report. The verbs; the parts are in the other files."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from varts.checks import integer, short, unknown
from varts.live.arguments import arm_names, for_arms, pair, reward_of, several, text_of
from varts.live.choosing import STICKY, Chooser, counted
from varts.live.errors import (
    ExperimentStopped,
    RewardConflict,
    StoreError,
    UnknownDecision,
)
from varts.live.export import export
from varts.live.log import Counts, Log
from varts.live.options import Options, stored_prior
from varts.live.report import Report, report
from varts.live.state import (
    ADD_ARM,
    CONFIGURE,
    EXPIRED,
    MISSING,
    PAUSE,
    RESUME,
    REWARD,
    STOP,
    Config,
    Event,
    Row,
    State,
)
from varts.live.store import Store, open_store
from varts.live.verify import Verification, verify

SWEEP = 1000  # decisions settled as missing in one transaction


class Decision(NamedTuple):
    """An arm to play. `version` is that of the state it was made from."""

    id: str
    arm: str
    probability: float
    version: int
    reason: str
    estimated: bool = False


def open_experiment(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str | Store = "sqlite:///varts.db",
    seed: int | None = None,
    **options: Any,
) -> Experiment:
    """Create an experiment, or open the one of that name.

    `options` are those of `varts.live.Options`: goal, policy, prior, floor, holdout, sticky, clip,
    window, missing, half_life, stop_p_best, stop_loss, hash_units. An experiment that exists keeps
    its own; one given here must agree with it.

    >>> exp = open_experiment("price", arms=["9", "12"], store="memory://", seed=1)
    >>> decision = exp.decide(unit="user-42")
    >>> exp.reward(decision.id, 11.70), exp.reward(decision.id, 11.70)
    (True, False)
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name must be a word, got {short(name)}")
    text_of("name", name)
    place = open_store(store)
    if not place.has(name):
        if arms is None:
            raise StoreError(
                f"unknown experiment {name!r} in store {place.name}; give its arms to create it"
            )
        names = arm_names(arms)
        made = Options.made(**for_arms(options, names))
        config = Config(tuple(names), made, initial=len(names))
        config.check()
        number = secrets.randbits(63) if seed is None else integer("seed", seed, 0, 2**63 - 1)
        if place.create(name, number, config.to_json()):
            return Experiment(name, place)
    experiment = Experiment(name, place)
    experiment._agree(arms, seed, options)
    return experiment


class Experiment:
    """A live experiment in a store; any number of them, in any process, may share it.

    Made by `varts.open`. Safe to use from several threads.
    """

    def __init__(self, name: str, store: Store) -> None:
        self.name, self.store = name, store
        with store.reading() as log:
            row = log.find(name)
            self._id, self.seed = row.id, row.seed
            log.experiment = self._id
            self._state = self._load(log)
        self._chooser: Chooser | None = None
        self._publishing = threading.Lock()

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {len(self.arms)} arms, {self.store.name})"

    @property
    def state(self) -> State:
        """Configuration and statistics as of the last call; to look at, not to change."""
        return self._state

    @property
    def arms(self) -> list[str]:
        """The arms' names, paused ones too, as of the last call."""
        return list(self._state.config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last call."""
        return self._state.config.options

    # ------------------------------------------------------------------ decide

    def decide(self, unit: str | None = None, id: str | None = None) -> Decision:
        """The arm for one unit (a user, a session); a known `id` gives its decision again."""
        return self._decide([unit], None if id is None else [id])[0]

    def decide_many(
        self, units: int | Sequence[str | None], ids: Sequence[str] | None = None
    ) -> list[Decision]:
        """Several decisions in one transaction: for these units, or so many without any."""
        if isinstance(units, (str, bytes)) or not isinstance(units, Sequence):
            units = [None] * integer("units", units, at_least=0)
        return self._decide(units, ids)

    def _decide(self, units: Sequence[str | None], ids: Sequence[str] | None) -> list[Decision]:
        fresh = ids is None
        if ids is None:
            start, random = f"{self.store.clock():014x}", secrets.token_hex(7 * len(units))
            ids = [start + random[i : i + 14] for i in range(0, len(random), 14)]
        else:
            ids = [text_of("id", one) for one in several("ids", ids)]
        if len(ids) != len(units):
            raise ValueError(f"ids must be one per unit ({len(units)}), got {len(ids)}")
        units = [self._stored(text_of("unit", unit)) for unit in units]
        if not ids:
            return []
        self._expire()
        with self.store.writing(self._id) as log:
            found = {} if fresh else log.decided(ids)
            state = self._current(log)  # later than what was found: it knows all their arms
            if len(found) < len(set(ids)):
                if state.config.options.sticky:
                    log.lock()  # else two processes could assign one unit twice
                    state = self._current(log)
                    found = log.decided(ids)
                rows = self._new_decisions(log, self._choosing(state), ids, units, found)
                if not (fresh or log.steady):  # or two batches of the same ids, each with a part
                    rows.sort(key=lambda row: str(row["id"]))  # of them, wait for each other
                if rows and log.add_decisions(rows) < len(rows):
                    found = log.decided(ids)  # another process was first with the same id
                    state = self._current(log)  # and may have seen a newer state
                else:
                    found |= {row["id"]: SimpleNamespace(**row) for row in rows}
        names = state.config.arms
        return [
            Decision(id, names[d.arm], d.probability, d.version, d.reason, bool(d.estimated))
            for id, d in ((id, found[id]) for id in ids)
        ]

    def _new_decisions(
        self,
        log: Log,
        chooser: Chooser,
        ids: Sequence[str],
        units: Sequence[str | None],
        found: Mapping[str, Any],
    ) -> list[dict[str, Any]]:
        state, now = chooser.state, self.store.clock()
        config = state.config
        if config.stopped and config.winner is None:
            raise ExperimentStopped(f"experiment {self.name!r} is stopped and decides no more")
        sticky = config.options.sticky and config.winner is None
        assigned: dict[str, Any] = {}
        if sticky:
            assigned = dict(log.assigned([unit for unit in set(units) if unit is not None]))
        keep = {  # a unit whose arm is still in play keeps it
            unit: (row.arm, row.probability, STICKY, bool(row.estimated))
            for unit, row in assigned.items()
            if row.arm not in config.paused
        }
        asked: dict[str, str | None] = {}  # in order, each id and each sticky new unit once
        waiting: set[str] = set()
        for id, unit in zip(ids, units, strict=True):
            if id not in found and id not in asked:
                if not (sticky and unit is not None and (unit in keep or unit in waiting)):
                    asked[id] = unit
                    waiting |= {unit} if unit is not None else set()
        chosen = dict(zip(asked, chooser.choose(list(asked), list(asked.values())), strict=True))
        newly = []
        if sticky:
            for id, unit in asked.items():
                if unit is not None:
                    arm, probability, _, estimated = chosen[id]
                    keep[unit] = arm, probability, STICKY, estimated
                    newly.append(
                        {
                            "experiment": self._id,
                            "unit": unit,
                            "arm": arm,
                            "probability": probability,
                            "estimated": estimated,
                            "decision": id,
                        }
                    )
        if newly:
            log.assign(newly)
        rows: dict[str, dict[str, Any]] = {}
        for id, unit in zip(ids, units, strict=True):
            if id in found or id in rows:
                continue
            arm, probability, reason, estimated = chosen[id] if id in chosen else keep[str(unit)]
            rows[id] = {
                "experiment": self._id,
                "id": id,
                "version": state.version,
                "epoch": config.epoch,
                "arm": arm,
                "probability": probability,
                "estimated": estimated,
                "reason": reason,
                "unit": unit,
                "time": now,
            }
        return list(rows.values())

    # ------------------------------------------------------------------ reward

    def reward(self, id: str, value: float) -> bool:
        """Record what a decision earned: True if applied, False if it was there already."""
        return self.reward_many([(id, value)])[0]

    def reward_many(self, rewards: Mapping[str, float] | Iterable[tuple[str, float]]) -> list[bool]:
        """Several rewards in one transaction; if one is refused, none is applied."""
        given = rewards.items() if isinstance(rewards, Mapping) else rewards
        pairs = [pair(one) for one in several("rewards", given)]
        asked = [(text_of("id", id), reward_of(value)) for id, value in pairs]
        if not asked:
            return []
        self._expire()
        ids = [id for id, _ in asked]
        with self.store.writing(self._id) as log:
            log.lock()
            state = self._current(log).copy()
            options = state.config.options
            decided, settled = log.decided(ids), log.rewarded(ids)
            known = {id: (row.kind, row.raw) for id, row in settled.items()}
            now, new, applied = self.store.clock(), [], []
            for id, raw in asked:
                row = decided.get(id)
                if row is None:
                    raise UnknownDecision(f"unknown decision {id!r} in experiment {self.name!r}")
                kind, before = known.get(id, (None, None))
                if kind == REWARD:
                    if before != raw:
                        raise RewardConflict(
                            f"decision {id!r} already has the reward {before!r}, got {raw!r}"
                        )
                    applied.append(False)
                    continue
                late = options.window is not None and now - row.time > options.window * 1e6
                if kind is not None or late:
                    raise UnknownDecision(
                        f"decision {id!r} expired: its reward came "
                        f"{(now - row.time) / 1e6:.0f} s after it"
                    )
                value = counted(self.seed, state.config, id, raw)
                event = Event(state.version + 1, REWARD, now, id, row.arm, row.epoch, raw, value)
                state.apply(event)
                new.append(event)
                known[id] = REWARD, raw
                applied.append(True)
            if new:
                log.add_events(new)
                log.save(state)
        self._publish(state)
        return applied

    def _expire(self, everything: bool = False) -> None:
        """Settle decisions whose reward window has passed: an event each, in the log.

        A sweep goes on where the last one ended; one of `everything` begins at the beginning.
        """
        while (window := self.options.window) and (everything or self._some_are_due(window)):
            with self.store.writing(self._id) as log:
                log.lock()
                state = self._current(log).copy()
                window, missing = state.config.options.window, state.config.options.missing
                if window is None:  # by now
                    return
                until, now, new = self._past(window), self.store.clock(), []
                rows = log.overdue(0 if everything else self._swept(log), until, SWEEP)
                for row in rows:
                    event = Event(state.version + 1, EXPIRED, now, row.id, row.arm, row.epoch)
                    if missing is not None:
                        value = counted(self.seed, state.config, row.id, missing)
                        event = event._replace(kind=MISSING, value=value)
                    state.apply(event)
                    new.append(event)
                if new:
                    log.add_events(new)
                # Others of the last one's time may have been cut off.
                cut = len(rows) == SWEEP
                log.save(state, swept=rows[-1].time - 1 if cut else log.latest(until))
            self._publish(state)
            if not cut:
                return

    def _some_are_due(self, window: float) -> bool:
        with self.store.reading(self._id) as log:
            return log.latest(self._past(window)) > self._swept(log)

    def _swept(self, log: Log) -> int:
        """Up to which time decisions are known to be settled."""
        return int(log.head(self._state.version)[0].swept)

    def _past(self, window: float) -> int:
        """Up to which time the window of decisions has passed."""
        return max(math.ceil(self.store.clock() - window * 1e6) - 1, 0)

    # ------------------------------------------------------------------ look

    def report(self, level: float = 0.95) -> Report:
        """Which arm is best, how sure that is, and whether the stop rule is met."""
        self._expire()
        state, decided, settled, missed = self._counts()
        if missed:
            self._expire(everything=True)
            state, decided, settled, _ = self._counts()
        return report(self.name, state, decided, settled, level)

    def _counts(self) -> tuple[State, Counts, Counts, bool]:
        """The state, how many decisions its arms have, how many of them are settled, and whether
        a sweep has missed some: those stamped, by a clock that is behind or in a transaction that
        outlasted the window, before the time that was swept already."""
        with self.store.reading(self._id) as log:
            state = self._load(log)
            self._publish(state)
            decided, settled = self._decided(log, state), log.settled_by_arm()
            window, missed = state.config.options.window, False
            if window is not None:
                pending = sum(decided.values()) - sum(settled.values())
                missed = pending > log.unsettled(self._past(window))
            return state, decided, settled, missed

    def _decided(self, log: Log, state: State) -> Counts:
        """How many decisions every arm has."""
        counts, K = log.decided_by_arm(), len(state.config.arms)
        for arm in counts:
            if not 0 <= arm < K:
                raise StoreError(
                    f"the log of experiment {self.name!r} in store {self.store.name} must have "
                    f"{K} arms, got a decision for number {arm}; verify tells more"
                )
        return counts

    def export(self, path: str | Path) -> int:
        """Write the log, a row per decision with its reward, as .parquet, .csv or .ndjson."""
        with self.store.reading(self._id) as log:
            state = self._load(log)
            self._publish(state)
            self._decided(log, state)
            return export(log, state.config.arms, Path(path))

    def verify(self, replay: bool = False) -> Verification:
        """Rebuild the statistics from the log and compare; `replay` also makes every decision
        again."""
        with self.store.reading(self._id) as log:
            state = self._load(log)
            self._publish(state)
            return verify(log, self.seed, state, replay)

    # ------------------------------------------------------------------ change

    def add_arm(self, arm: str, prior: Any = None) -> None:
        """A new arm; its prior is the shared one, or must be given if every arm has its own."""
        name = arm_names([arm])[0]
        given = for_arms({"prior": prior}, [name])
        self._change(ADD_ARM, {"arm": name, "prior": stored_prior(given.get("prior"))})

    def pause_arm(self, arm: str) -> None:
        """Take an arm out of play; rewards of its decisions still count."""
        self._change(PAUSE, {"arm": arm})

    def resume_arm(self, arm: str) -> None:
        """Bring a paused arm back."""
        self._change(RESUME, {"arm": arm})

    def stop(self, winner: str | None = None) -> None:
        """End the experiment: from now on everybody gets the winner, or decide refuses."""
        self._change(STOP, {"winner": winner})

    def configure(self, **options: Any) -> None:
        """Change options from here on; a new epoch begins."""
        self._change(CONFIGURE, options)

    def _change(self, kind: str, body: dict[str, Any]) -> None:
        self._expire()
        with self.store.writing(self._id) as log:
            log.lock()
            state = self._current(log).copy()
            config = state.config
            name = body.get("arm", body.get("winner"))
            if kind == ADD_ARM and name in config.arms:
                raise ValueError(f"arm must be a new one, got {name!r}")
            if kind in (PAUSE, RESUME) or (kind == STOP and name is not None):
                if name not in config.arms:
                    raise ValueError(unknown("arm", name, config.arms))
            if kind == CONFIGURE:
                body = {
                    "options": config.options.reconfigured(for_arms(body, config.arms)).to_json()
                }
            event = Event(state.version + 1, kind, self.store.clock(), body=body)
            state.apply(event)
            if state.config == config:
                return  # nothing changes: no event
            state.config.check(before=config)
            log.add_events([event])
            log.save(state)
        self._publish(state)

    # ------------------------------------------------------------------ the state in this process

    def _load(self, log: Log) -> State:
        """The whole state, from a transaction that sees one moment."""
        head = log.head(0)
        try:
            config = Config.from_json(log.config())
        except (ValueError, LookupError, TypeError, AttributeError):
            raise StoreError(
                f"the configuration of experiment {self.name!r} in store {self.store.name} must be "
                "what varts wrote there, got something else; restore it from a backup"
            ) from None
        state = State(config, head[0].version, head[0].rewards)
        _take(state, head)
        return state

    def _current(self, log: Log) -> State:
        """The state as the transaction sees it; only what changed is read."""
        state = self._state
        head = log.head(state.version)
        first = head[0]
        if first.version == state.version:
            return state
        if first.revision > state.version:
            if log.steady:
                state = self._load(log)
            else:
                with self.store.reading(self._id) as moment:
                    state = self._load(moment)
        else:
            state = State(state.config, first.version, first.rewards, dict(state.rows))
            _take(state, head)
        self._publish(state)
        return state

    def _publish(self, state: State) -> None:
        """Let later calls start from this state."""
        with self._publishing:
            if state.version > self._state.version:
                self._state = state

    def _choosing(self, state: State) -> Chooser:
        """The chooser of a state, kept until the state changes."""
        chooser = self._chooser
        if chooser is None or chooser.state.version != state.version:
            chooser = self._chooser = Chooser(self.seed, state)
        return chooser

    def _stored(self, unit: str | None) -> str | None:
        if unit is None or not self.options.hash_units:
            return unit
        key = self.seed.to_bytes(8, "little")
        return blake2b(unit.encode("utf-8"), key=key, digest_size=16).hexdigest()

    def _agree(
        self, arms: Sequence[str] | None, seed: int | None, options: Mapping[str, Any]
    ) -> None:
        """Refuse to open an experiment as something it is not."""
        config = self._state.config
        names = config.arms if arms is None else tuple(arm_names(arms))
        if names != config.arms[: len(names)] or len(names) < config.initial:
            raise ValueError(
                f"arms must be those of the experiment {self.name!r}, "
                f"{', '.join(config.arms)}, got {', '.join(names)}"
            )
        if seed is not None and seed != self.seed:
            raise ValueError(f"seed must be that of the experiment, {self.seed}, got {seed}")
        if not options:  # always allowed, even where the policy is not known
            return
        found = config.options.differences(for_arms(options, names), len(names))
        for name, (stored, asked) in found.items():
            raise ValueError(
                f"{name} of the experiment {self.name!r} is {short(stored)}, "
                f"got {short(asked)}; change it with configure"
            )

    def close(self) -> None:
        """Give the store's connections back."""
        self.store.close()

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _take(state: State, head: Sequence[Any]) -> None:
    for row in head:
        if row.arm is not None:
            state.rows[row.arm, row.epoch] = Row(
                row.rewarded, row.n, row.mean, row.m2, row.origin, row.at
            )

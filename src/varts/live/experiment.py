"""A live experiment: decide, reward, report. The verbs; the parts are in the other files."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from varts._validation import abbreviate, integer, unknown
from varts.live.allocation import counted
from varts.live.assignment import Decision, new_decisions
from varts.live.errors import RewardConflict, StoreError, UnknownDecision
from varts.live.expiry import expire, sweeps_missed_some
from varts.live.export import export
from varts.live.options import Options, stored_prior
from varts.live.report import Report, report
from varts.live.snapshot import View
from varts.live.state import (
    ADD_ARM,
    CONFIGURE,
    PAUSE,
    RESUME,
    REWARD,
    STOP,
    Config,
    Event,
    State,
)
from varts.live.store import Store, open_store
from varts.live.transaction import Counts, Log
from varts.live.validation import arm_names, match_priors, pair, reward_of, several, text_of
from varts.live.verify import Verification, verify
from varts.priors import PriorLike


def open_experiment(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str | Store = "sqlite:///varts.db",
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    **options: Any,
) -> Experiment:
    """Create an experiment, or open the one of that name.

    `options` are those of `varts.live.Options`: goal, policy, prior, floor, holdout, sticky, clip,
    window, missing, half_life, stop_p_best, stop_loss, hash_units. An experiment that exists keeps
    its own; one given here must agree with it. `groups` has the group of each arm, for a prior that
    was fitted by group.

    >>> exp = open_experiment("price", arms=["9", "12"], store="memory://", seed=1)
    >>> decision = exp.decide(unit="user-42")
    >>> exp.reward(decision.id, 11.70), exp.reward(decision.id, 11.70)
    (True, False)
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name must be a word, got {abbreviate(name)}")
    text_of("name", name)
    place = open_store(store)
    if not place.has(name):
        if arms is None:
            raise StoreError(
                f"unknown experiment {name!r} in store {place.name}; give its arms to create it"
            )
        names = arm_names(arms)
        made = Options.made(**match_priors(options, names, groups))
        config = Config(tuple(names), made, initial=len(names))
        config.check()
        number = secrets.randbits(63) if seed is None else integer("seed", seed, 0, 2**63 - 1)
        if place.create(name, number, config.to_json()):
            return Experiment(name, place)
    experiment = Experiment(name, place)
    experiment._agree(arms, seed, groups, options)
    return experiment


class Experiment:
    """A live experiment in a store; any number of them, in any process, may share it.

    Made by `varts.open`. Safe to use from several threads.
    """

    def __init__(self, name: str, store: Store) -> None:
        self.name, self.store = name, store
        self._view = View(name, store)
        self.seed: int = self._view.seed

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {len(self.arms)} arms, {self.store.name})"

    @property
    def state(self) -> State:
        """Configuration and statistics as of the last call; to look at, not to change."""
        return self._view.state

    @property
    def arms(self) -> list[str]:
        """The arms' names, paused ones too, as of the last call."""
        return list(self.state.config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last call."""
        return self.state.config.options

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
        expire(self._view)
        with self._view.writing() as log:
            found = {} if fresh else log.decided(ids)
            state = self._view.current(log)  # later than what was found: it knows all their arms
            if len(found) < len(set(ids)):
                if state.config.options.sticky:
                    log.lock()  # else two processes could assign one unit twice
                    state = self._view.current(log)
                    found = log.decided(ids)
                rows = new_decisions(self._view, log, state, ids, units, found)
                if not (fresh or log.steady):  # or two batches of the same ids, each with a part
                    rows.sort(key=lambda row: str(row["id"]))  # of them, wait for each other
                if rows and log.add_decisions(rows) < len(rows):
                    found = log.decided(ids)  # another process was first with the same id
                    state = self._view.current(log)  # and may have seen a newer state
                else:
                    found |= {row["id"]: SimpleNamespace(**row) for row in rows}
        names = state.config.arms
        return [
            Decision(id, names[d.arm], d.probability, d.version, d.reason, bool(d.estimated))
            for id, d in ((id, found[id]) for id in ids)
        ]

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
        expire(self._view)
        ids = [id for id, _ in asked]
        with self._view.writing() as log:
            log.lock()
            state = self._view.current(log).copy()
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
        self._view.publish(state)
        return applied

    # ------------------------------------------------------------------ look

    def report(self, level: float = 0.95) -> Report:
        """Which arm is best, how sure that is, and whether the stop rule is met."""
        expire(self._view)
        state, decided, settled, missed = self._counts()
        if missed:
            expire(self._view, everything=True)
            state, decided, settled, _ = self._counts()
        return report(self.name, state, decided, settled, level)

    def _counts(self) -> tuple[State, Counts, Counts, bool]:
        """The state, how many decisions its arms have, how many of them are settled, and whether
        a sweep has missed some."""
        with self._view.reading() as log:
            state = self._view.whole(log)
            decided, settled = self._decided(log, state), log.settled_by_arm()
            pending = sum(decided.values()) - sum(settled.values())
            return state, decided, settled, sweeps_missed_some(self._view, log, pending)

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
        with self._view.reading() as log:
            state = self._view.whole(log)
            self._decided(log, state)
            return export(log, state.config.arms, Path(path))

    def verify(self, replay: bool = False) -> Verification:
        """Rebuild the statistics from the log and compare; `replay` also makes every decision
        again."""
        with self._view.reading() as log:
            state = self._view.whole(log)
            return verify(log, self.seed, state, replay)

    # ------------------------------------------------------------------ change

    def add_arm(
        self, arm: str, prior: PriorLike | None = None, groups: Mapping[str, str] | None = None
    ) -> None:
        """Add an arm; its prior is the shared one, or must be given if every arm has its own."""
        name = arm_names([arm])[0]
        given = match_priors({"prior": prior}, [name], groups)
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

    def configure(self, *, groups: Mapping[str, str] | None = None, **options: Any) -> None:
        """Change options from here on; a new epoch begins. `groups` as in `varts.open`."""
        self._change(CONFIGURE, options, groups)

    def _change(
        self, kind: str, body: dict[str, Any], groups: Mapping[str, str] | None = None
    ) -> None:
        expire(self._view)
        with self._view.writing() as log:
            log.lock()
            state = self._view.current(log).copy()
            config = state.config
            name = body.get("arm", body.get("winner"))
            if kind == ADD_ARM and name in config.arms:
                raise ValueError(f"arm must be a new one, got {name!r}")
            if kind in (PAUSE, RESUME) or (kind == STOP and name is not None):
                if name not in config.arms:
                    raise ValueError(unknown("arm", name, config.arms))
            if kind == CONFIGURE:
                given = match_priors(body, config.arms, groups)
                body = {"options": config.options.reconfigured(given).to_json()}
            event = Event(state.version + 1, kind, self.store.clock(), body=body)
            state.apply(event)
            if state.config == config:
                return  # nothing changes: no event
            state.config.check(before=config)
            log.add_events([event])
            log.save(state)
        self._view.publish(state)

    def _stored(self, unit: str | None) -> str | None:
        if unit is None or not self.options.hash_units:
            return unit
        key = self.seed.to_bytes(8, "little")
        return blake2b(unit.encode("utf-8"), key=key, digest_size=16).hexdigest()

    def _agree(
        self,
        arms: Sequence[str] | None,
        seed: int | None,
        groups: Mapping[str, str] | None,
        options: Mapping[str, Any],
    ) -> None:
        """Refuse to open an experiment as something it is not."""
        config = self.state.config
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
        given = match_priors(options, names, groups)
        found = config.options.differences(given, len(names))
        for name, (stored, asked) in found.items():
            raise ValueError(
                f"{name} of the experiment {self.name!r} is {abbreviate(stored)}, "
                f"got {abbreviate(asked)}; change it with configure"
            )

    def close(self) -> None:
        """Give the store's connections back."""
        self.store.close()

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""Random sessions of two processes against a plain-Python model.

Hypothesis makes up calls: decide, retry, fall back, reward, repeat, contradict, be late, amend,
void, add a part, forget a unit, change arms and options, stop, restart, reopen, restore a backup
under both, and break off in the middle of a transaction. Some experiments begin with rules 1. After
every call the log, the report and the statistics must be what the model says, which has nothing but
a list of rewards: by arm, by block of time and by unit. At the end every decision is made again
from the log.
Mutants at the end of the file show that the model notices.
"""

import itertools
import random
import secrets
import sys
import traceback
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import varts
from tests.live.conformance import START, Clock, log_of
from tests.live.diaries import contents, restore
from tests.live.local_client import LocalClient
from tests.live.loops import effects_of, stored_units
from varts.live import (
    DecisionConflict,
    ExperimentStopped,
    ExpiredDecision,
    InvalidReward,
    LiveError,
    RewardConflict,
    Store,
    StoreError,
    UnknownDecision,
    experiment,
    local,
    rewards,
    settle,
)
from varts.live.core import allocation, sums
from varts.live.core.allocation import linear_statistics
from varts.live.core.events import (
    AMEND,
    ARRIVAL,
    CORRECTIONS,
    EXPIRED,
    MISSING,
    PART,
    REWARD,
    THE_REWARD,
    VOID,
)
from varts.live.core.local import number, public_key
from varts.live.core.state import State
from varts.live.core.sums import RegressionSums, Sums
from varts.live.options import Options
from varts.live.session import Session
from varts.live.store import transaction
from varts.live.store.transaction import Transaction

UNITS = st.sampled_from([None, None, "ann", "bob", "cyd"])
REWARDS = st.one_of(st.sampled_from([0.0, 1.0, -2.5, 1e300]), st.floats(-1e6, 1e6, allow_nan=False))
BAD = st.sampled_from([float("nan"), float("inf"), "1", None, True])
THREE = st.lists(REWARDS, min_size=3, max_size=3)
SECONDS = st.sampled_from([0, 1, 4, 30, 100])
WHO = st.integers(0, 1)  # which of the two processes
PICK = st.integers(0, 10**6)  # one of the decisions, by its number modulo how many there are
PRIOR = varts.NormalGamma(0, 1, 2, 3)
POLICIES = ["VarTS", "VarTS", "UCB1", "TS14", "Gaussian-TS"]
LINEAR = ["LinearVarTS", "LinearVarTS", "LinUCB", "VarTS"]  # of sessions with contexts
FEATURES = varts.Features({"kind": ["p", "q"], "size": "number"})
VALUES = {
    "floor": st.sampled_from([0.0, 0.1]),
    "holdout": st.sampled_from([0.0, 0.3]),
    "half_life": st.sampled_from([None, 2.5, 40]),
    "clip": st.sampled_from([None, (0, 1), (-3.0, 1e299)]),
    "sticky": st.booleans(),
    "client_ids": st.booleans(),
    "window": st.sampled_from([5, 60, None]),
    "missing": st.sampled_from([None, 0.0, 7.0]),
    "block": st.sampled_from(["auto", 30.0, None]),
    "rules": st.sampled_from([1, 2, 2, 2]),
}
OPTIONS = st.fixed_dictionaries(VALUES)
ALONE = ("floor", "holdout", "clip", "sticky", "client_ids")
CHANGES = st.one_of(
    *(st.fixed_dictionaries({name: VALUES[name]}) for name in ALONE),
    st.fixed_dictionaries({"window": st.sampled_from([5, 60]), "missing": VALUES["missing"]}),
    st.just({"window": None, "missing": None}),
    st.fixed_dictionaries({"half_life": VALUES["half_life"], "block": st.just("auto")}),
    st.fixed_dictionaries({"half_life": st.none(), "block": VALUES["block"]}),
    st.just({"rules": 2}),
    st.fixed_dictionaries({"policy": st.sampled_from(POLICIES), "prior": st.none()}),
    st.just({"policy": "VarTS", "prior": PRIOR}),
)


RESTORED = (
    *("arms", "paused", "stopped", "winner", "options", "version", "epoch"),
    *("decisions", "times", "epochs", "settled", "assigned", "order", "values", "weights"),
    *("totals", "first", "waiting", "parts", "measured", "sides", "marks", "since"),
    *("units", "named", "forgotten", "unknown", "erased", "fallbacks", "given"),
)  # what the model knows of the database; ids that were lost are not used again


class Broken(Exception):  # noqa: N818
    """Thrown into a transaction."""


class _Drawn:
    """A sticky unit's arm that a client drew."""

    def __init__(self, arm):
        self.arm = arm


class Sessions(RuleBasedStateMachine):
    """`connect()` opens the store, which uses `clock`; `random` stands in for `secrets`."""

    clock = Clock()
    random = None
    connect = None
    count = 0

    # ------------------------------------------------------------------ the model

    featured = False

    @initialize(
        options=OPTIONS,
        policy=st.sampled_from([*POLICIES, "Bernoulli-TS", "prior"]),
        linear=PICK,
        seed=PICK,
    )
    def create(self, options, policy, linear, seed):
        if self.featured:
            policy = LINEAR[linear % len(LINEAR)]
        self.arms, self.paused, self.stopped, self.winner = ["a", "b"], set(), False, None
        self.options = {**options, "policy": policy, "prior": None}
        if policy == "prior":
            self.options |= {"policy": "VarTS", "prior": PRIOR}
        if options["window"] is None:
            self.options["missing"] = None
        if options["half_life"] is not None:
            self.options["block"] = "auto"
        self.tossing = policy == "Bernoulli-TS"
        self.version, self.epoch, self.number = 1, 1, 0
        self.decisions, self.times, self.epochs = {}, {}, {}
        self.settled, self.assigned = {}, {}
        # Ids in the order that they were counted in, with their weights; what counts now, by id:
        # (arm, value), the reward in all, its parts, the metric m, and the side of the holdout.
        self.order, self.weights, self.values = [], np.zeros(0), {}
        self.totals, self.parts, self.measured, self.sides = {}, {}, {}, {}
        # The reward as it came first with its metrics, and whose windows are still open.
        self.first, self.waiting = {}, set()
        self.marks = {}  # the side, as the reward's event has it
        self.since = 1  # the epoch since which the holdout has its share
        # Units by decision, by their names and by the names that they have in the log; decisions
        # whose context is forgotten, those whose rewards count without features, and the version
        # since which decisions can be made again.
        self.units, self.named = {}, {}
        self.forgotten, self.unknown, self.erased = set(), set(), 0
        # Decisions that clients made by themselves, some of which the log has with another arm: by
        # id the arm, and the reward so far.
        self.fallbacks, self.given = {}, {}
        type(self).count += 1
        self.name = f"{type(self).__name__}-{self.count}"
        self.random.seed(seed)
        self.clock.now = START  # a session that is run again must meet the same blocks of time
        features = {"features": FEATURES} if self.featured else {}
        self.processes = [
            self.open(self.arms, metrics=["m"], **self.options, **features),
            self.open(),
        ]
        self.seed = self.processes[0]._session.seed
        self.decide(0, ["ann", "bob", None, None], False, 0)

    def open(self, arms=None, **options):
        """The experiment, in a process that comes new."""
        return varts.open(self.name, arms, store=self.connect(), **options)

    def contexts(self, ids):
        """What is known of the units of these decisions, as the keyword that it is."""
        return {"contexts": [context_of(id) for id in ids]} if self.featured else {}

    def overdue(self, id):
        window = self.options["window"]
        return window is not None and self.clock.now - self.times[id] > window * 1e6

    def open_and_overdue(self):
        """What a process that knows the window should have settled."""
        return [id for id in self.decisions if id not in self.settled and self.overdue(id)]

    def at_close(self):
        """Whether a decision counts when its window closes."""
        return self.options["rules"] == 2 and self.options["window"] is not None

    def status(self, id):
        """What a decision is once a call has settled all that is overdue."""
        if id in self.settled:
            return self.settled[id]
        if not self.overdue(id):
            return ARRIVAL if id in self.waiting else None
        if id in self.waiting:
            return EXPIRED if self.totals[id] is None else REWARD
        return EXPIRED if self.options["missing"] is None else MISSING

    def is_void(self, id):
        return self.values[id] is None if id in self.values else self.totals.get(id) is None

    def observe(self, event):
        half_life = self.options["half_life"]
        fade = 1.0 if half_life is None else 2.0 ** (-1 / half_life)
        self.weights = np.append(self.weights * fade, 1.0)
        id = event.decision
        self.order.append(id)
        self.values[id], self.totals[id] = (event.arm, event.value), event.raw

    def weigh_again(self):
        """Under rules 2, all rewards count by the half-life of now."""
        half_life, count = self.options["half_life"], len(self.order)
        if self.options["rules"] == 2:
            ages = np.arange(count)[::-1]
            self.weights = np.ones(count) if half_life is None else 2.0 ** (-ages / half_life)

    def counted(self, raw):
        low, high = self.options["clip"] or (-1e70, 1e70)
        return min(max(raw, low, -1e70), high, 1e70)

    def uncountable(self, raw):
        return self.tossing and not 0 <= self.counted(raw) <= 1

    def log(self):
        return log_of(self.processes[0])

    def follow(self, *expected, flushed=False):
        """What the log has got: first what was overdue, then exactly (kind, decision, raw).

        If the experiment loses its window, all that waits for one to close counts now: `flushed`.
        """
        new = self.log()[self.version :]
        assert [e.version for e in new] == [self.version + 1 + i for i in range(len(new))]
        asked = {id for kind, id, _ in expected if kind in (REWARD, EXPIRED)}
        swept = list(
            takewhile(
                lambda e: e.kind in (EXPIRED, MISSING, REWARD) and e.decision not in asked, new
            )
        )
        for event in swept:
            id, missing = event.decision, self.options["missing"]
            assert id not in self.settled
            assert self.overdue(id) or (flushed and id in self.waiting)
            raw = given = self.totals[id] if id in self.waiting else None
            if id in self.waiting:
                assert event.kind == (EXPIRED if raw is None else REWARD)
            else:
                given = missing
                assert event.kind == (EXPIRED if missing is None else MISSING)
            assert event.raw == raw and (event.value is None) == (given is None)
            self.settle(event, given)
        assert not (flushed and self.waiting)
        rest = new[len(swept) :]
        found = [(e.kind, e.decision or e.corrects or e.arrives, e.raw) for e in rest]
        assert found == list(expected)
        for event in rest:
            if event.kind == REWARD:
                self.settle(event, event.raw)
            if event.kind == EXPIRED:
                self.settled[event.decision] = EXPIRED
            if event.kind == ARRIVAL:
                self.arrive(event)
            if event.kind in CORRECTIONS:
                self.correct(event)
        self.version += len(new)

    def arrive(self, event):
        """A reward, or another one, that doesn't count yet."""
        id = event.arrives
        if id in self.fallbacks:
            assert (event.value, event.decision) == (None, None)
            self.given[id] = event.raw
            return
        assert self.at_close() and id not in self.settled and not self.overdue(id)
        assert event.arm == self.arms.index(self.decisions[id].arm)
        assert (event.epoch, event.value, event.decision) == (self.epochs[id], None, None)
        self.waiting.add(id)
        self.totals[id] = event.raw

    def correct(self, event):
        id = event.corrects
        assert event.arm == self.arms.index(self.decisions[id].arm)
        assert event.epoch == self.epochs[id]
        if event.value is not None and not self.tossing:
            assert event.value == self.counted(event.raw)
        self.values[id] = None if event.value is None else (event.arm, event.value)
        self.totals[id] = event.raw

    def counting(self):
        """How many rewards count now."""
        return sum(value is not None for value in self.values.values())

    def settle(self, event, raw):
        id = event.decision
        assert event.arm == self.arms.index(self.decisions[id].arm)
        assert event.epoch == self.epochs[id]
        self.settled[id] = event.kind
        self.waiting.discard(id)
        self.marks[id] = self.held(id)
        if event.kind != EXPIRED:
            if self.tossing:
                assert event.value in (0.0, 1.0)
            else:
                assert event.value == self.counted(raw)
            self.observe(event)

    def is_there(self, id, value):
        """Whether a decision has this reward already: as it came first, or as it is by now."""
        if self.first[id] == "in parts":
            return False
        now = self.totals[id] == value and id not in self.measured
        return self.first[id] == (value, {}) or now

    def some(self, pick, settled=None):
        """One of the decisions: any, or one that has (no) reward or was (not) settled; else
        None."""
        known = self.settled.keys() | self.waiting
        own = [id for id in self.decisions if id not in self.fallbacks]
        ids = [id for id in own if settled in (None, id in known)]
        return ids[pick % len(ids)] if ids else None

    # ------------------------------------------------------------------ decide

    @rule(who=WHO, units=st.lists(UNITS, min_size=1, max_size=4), old=st.booleans(), pick=PICK)
    def decide(self, who, units, old, pick):
        ids = [f"d{self.number + i}" for i in range(len(units))]
        place = pick % len(ids)
        if old and self.some(pick):  # a retried one among the new
            ids[place] = self.some(pick)
            if self.conflicts(ids[place], units[place]):
                with pytest.raises(DecisionConflict):
                    self.processes[who].decide_many(
                        [units[place]], [ids[place]], **self.contexts(ids[place : place + 1])
                    )
                self.follow()
                units = [*units[:place], None, *units[place + 1 :]]
        if self.stopped and self.winner is None and any(id not in self.decisions for id in ids):
            with pytest.raises(ExperimentStopped):
                self.processes[who].decide_many(units, ids, **self.contexts(ids))
            return self.follow()
        exp = self.processes[who]
        knew = exp.options.window == self.options["window"]
        new = [unit for unit, id in zip(units, ids, strict=True) if id not in self.decisions]
        if self.options["sticky"] and self.winner is None and None in new:
            with pytest.raises(ValueError, match=r"^unit must be given, because .* is sticky"):
                exp.decide_many(units, ids, **self.contexts(ids))
            self.follow()
            units = [
                unit if id in self.decisions else unit or f"guest {self.number + i}"
                for i, (unit, id) in enumerate(zip(units, ids, strict=True))
            ]
        made = exp.decide_many(units, ids, **self.contexts(ids))
        self.follow()
        assert not (knew and self.open_and_overdue())
        assert [d.id for d in made] == ids
        self.number += len(ids)
        for unit, d in zip(units, made, strict=True):
            if d.id in self.decisions:
                assert d == self.decisions[d.id]
            else:
                self.remember(unit, d)

    def conflicts(self, id, unit):
        """Whether a decision was made for another unit, as far as that is known."""
        known = self.named[id]
        return unit is not None and unit != known and not str(known).startswith("forgotten")

    @rule(who=WHO, asked=st.lists(st.tuples(UNITS, st.integers(0, 3)), min_size=1), pick=PICK)
    def decide_each(self, who, asked, pick):
        """Known ids and new ones, some of them twice, for whatever unit."""
        units = [unit for unit, _ in asked]
        ids = [
            (None if number else self.some(pick)) or f"d{self.number + number}"
            for _, number in asked
        ]
        expected, new = [], {}
        for unit, id in zip(units, ids, strict=True):
            if id in self.decisions:
                expected.append(DecisionConflict if self.conflicts(id, unit) else id)
            elif id in new:
                expected.append(id if unit in (None, new[id]) else DecisionConflict)
            elif self.stopped and self.winner is None:
                expected.append(ExperimentStopped)
            elif self.options["sticky"] and self.winner is None and unit is None:
                expected.append(ValueError)
            else:
                new[id] = unit
                expected.append(id)
        made = self.processes[who].decide_each(units, ids, **self.contexts(ids))
        self.follow()
        assert [type(d) if isinstance(d, Exception) else d.id for d in made] == expected
        self.number += 4
        for d in made:
            if not isinstance(d, Exception):
                if d.id not in self.decisions:
                    self.remember(new[d.id], d)
                assert d == self.decisions[d.id]

    # ------------------------------------------------------------------ fallbacks

    @rule(who=WHO, pick=PICK, unit=UNITS, late=st.booleans())
    def fall_back(self, who, pick, unit, late):
        """A client makes a decision by itself; the log may have one of that id."""
        exp, arm = self.processes[who], self.arms[pick % len(self.arms)]
        id = (self.some(pick) if late else None) or f"d{self.number}"
        self.number += 1
        item, known = (id, arm, unit), id in self.decisions
        if known and (self.conflicts(id, unit) or id in self.settled or id in self.waiting):
            assert [type(one) for one in exp.record_fallbacks([item])] == [DecisionConflict]
            return self.follow()
        assert exp.record_fallbacks([item]) == ["recorded"]
        self.fallbacks[id] = arm
        if not known:
            self.units[id] = self.named[id] = unit
            self.times[id] = self.clock.now
        self.follow((EXPIRED, id, None))
        assert exp.record_fallbacks([item, (id, arm, None)]) == ["duplicate", "duplicate"]
        other = next(one for one in self.arms if one != arm)
        assert isinstance(exp.record_fallbacks([(id, other, None)])[0], DecisionConflict)
        self.follow()

    @precondition(lambda self: self.fallbacks)
    @rule(who=WHO, pick=PICK, value=REWARDS)
    def reward_fallback(self, who, pick, value):
        """It is acknowledged and can be corrected, and nothing counts."""
        exp, id = self.processes[who], list(self.fallbacks)[pick % len(self.fallbacks)]
        if self.uncountable(value):
            value = 0.25
        if id not in self.given and self.overdue(id):
            with pytest.raises(ExpiredDecision):
                exp.reward(id, value)
            return self.follow()
        if id not in self.given:
            assert exp.reward(id, value) is True
            self.follow((ARRIVAL, id, value))
            assert exp.reward(id, value) is False
        elif self.given[id] is None or self.given[id] != value:
            assert exp.amend(id, value) is True
            self.follow((ARRIVAL, id, value))
        else:
            assert exp.void(id) is True and exp.void(id) is False
            self.follow((ARRIVAL, id, None))
        record = exp.decision(id)
        assert (record.arm, record.reason) == (self.fallbacks[id], "fallback")
        assert (record.reward, record.value) == (self.given[id], None)
        self.follow()

    def remember(self, unit, d):
        assert d.version == self.version
        assert 0 < d.probability <= 1
        if self.winner is not None:
            assert (d.arm, d.probability, d.reason) == (self.winner, 1.0, "winner")
        else:
            assert d.arm in self.arms and d.arm not in self.paused
            kept = self.assigned.get(unit) if self.options["sticky"] else None
            if kept is not None and kept.arm not in self.paused:
                assert (d.arm, d.probability, d.reason) == (kept.arm, kept.probability, "sticky")
            else:
                assert d.reason in ("policy", "forced", "floor", "holdout")
                if self.options["sticky"] and unit is not None:
                    self.assigned[unit] = d
        self.decisions[d.id], self.times[d.id], self.epochs[d.id] = d, self.clock.now, self.epoch
        self.units[d.id] = self.named[d.id] = unit
        self.sides[d.id] = unit if d.reason == "sticky" else d.reason == "holdout"
        if d.reason == "winner":
            self.sides[d.id] = None

    def held(self, id):
        """Which side of the holdout a decision is on; None if on neither."""
        share, side = self.options["holdout"], self.sides[id]
        if not share or self.epochs[id] < self.since or not isinstance(side, str):
            return side if share and self.epochs[id] >= self.since else None
        return number(public_key(self.seed), "holdout", side, 0) < share

    @rule(who=WHO, unit=UNITS, seconds=SECONDS, value=REWARDS)
    def visit(self, who, unit, seconds, value):
        """One decision and, some time later, its reward."""
        if self.stopped and self.winner is None:
            return
        before = set(self.decisions)
        self.decide(who, [unit], False, 0)
        self.time_passes(seconds)
        (id,) = set(self.decisions) - before
        self.give(1 - who, id, value)

    def meet(self, who, unit, value):
        """The same in one process, at once."""
        self.decide(who, [unit], False, 0)
        self.give(who, f"d{self.number - 1}", value)

    @rule(units=st.lists(UNITS, min_size=3, max_size=3), seconds=SECONDS, values=THREE)
    def visits(self, units, seconds, values):
        for who, unit, value in zip((0, 1, 0), units, values, strict=True):
            self.visit(who, unit, seconds, value)

    @rule(who=WHO, pick=PICK, unit=UNITS)
    def retry(self, who, pick, unit):
        if (id := self.some(pick)) is not None:
            known = {"context": context_of("another")} if self.featured else {}
            if self.conflicts(id, unit):
                with pytest.raises(DecisionConflict):
                    self.processes[who].decide(unit, id, **known)
                unit = None
            assert self.processes[who].decide(unit, id, **known) == self.decisions[id]
            self.follow()

    # ------------------------------------------------------------------ reward

    @rule(who=WHO, pick=PICK, value=REWARDS)
    def reward(self, who, pick, value):
        if (id := self.some(pick, settled=False)) is not None:
            self.give(who, id, value)

    def give(self, who, id, value):
        if self.overdue(id):
            with pytest.raises(UnknownDecision, match="expired"):
                self.processes[who].reward(id, value)
            return self.follow()
        if self.uncountable(value):
            with pytest.raises(InvalidReward, match=r"^reward must be from 0 to 1"):
                self.processes[who].reward(id, value)
            self.follow()
            value = 0.25
        metrics = {"m": value / 2} if self.number % 2 else {}
        assert self.processes[who].reward(id, value, **metrics) is True
        if metrics:
            self.measured[id] = metrics["m"]
        self.first[id] = value, metrics
        self.follow((ARRIVAL if self.at_close() else REWARD, id, value))

    # ------------------------------------------------------------------ correct

    @rule(who=WHO, pick=PICK, value=REWARDS, measure=st.booleans())
    def amend(self, who, pick, value, measure):
        if (id := self.some(pick, settled=True)) is None:
            return
        exp, metrics = self.processes[who], {"m": value / 4} if measure else {}
        status = self.status(id)
        if status == EXPIRED:
            with pytest.raises(ExpiredDecision, match="expired without a reward"):
                exp.amend(id, value, **metrics)
            return self.follow()
        new = {"m": self.measured[id]} | metrics if id in self.measured else metrics
        old = {"m": self.measured[id]} if id in self.measured else {}
        if not self.is_void(id) and self.totals[id] == value and old == new:
            assert exp.amend(id, value, **metrics) is False
            return self.follow()
        if self.uncountable(value):
            with pytest.raises(InvalidReward, match=r"^reward must be from 0 to 1"):
                exp.amend(id, value, **metrics)
            return self.follow()
        assert exp.amend(id, value, **metrics) is True
        self.follow((ARRIVAL if status == ARRIVAL else AMEND, id, value))
        if new:
            self.measured[id] = new["m"]

    @rule(who=WHO, pick=PICK)
    def void(self, who, pick):
        if (id := self.some(pick, settled=True)) is not None:
            self.take_back(who, id)

    @rule(who=WHO, unit=UNITS, value=REWARDS, seconds=SECONDS)
    def change_of_mind(self, who, unit, value, seconds):
        """A reward that is voided, mostly before its window closes."""
        if self.stopped and self.winner is None:
            return
        self.meet(who, unit, value)
        self.take_back(1 - who, f"d{self.number - 1}")
        self.time_passes(seconds)

    def take_back(self, who, id):
        status, given = self.status(id), id in self.first
        if status == EXPIRED and not given:
            return
        gone = status == EXPIRED or self.is_void(id)
        assert self.processes[who].void(id) is not gone
        self.follow(*[(ARRIVAL if status == ARRIVAL else VOID, id, None)][: not gone])
        self.measured.pop(id, None)

    @rule(who=WHO, pick=PICK, value=st.floats(-1e3, 1e3), key=st.sampled_from("xyz"))
    def add_part(self, who, pick, value, key):
        if (id := self.some(pick)) is None:
            return
        exp, parts = self.processes[who], self.parts.setdefault(id, {})
        status = self.status(id)
        if key in parts and parts[key] == value:
            assert exp.add_reward(id, value, key) is False
            return self.follow()
        if key in parts:
            with pytest.raises(RewardConflict):
                exp.add_reward(id, value, key)
            return self.follow()
        if self.totals.get(id) is None and status not in (REWARD, ARRIVAL):
            if status is not None:
                with pytest.raises(ExpiredDecision):
                    exp.add_reward(id, value, key)
                return self.follow()
            if self.uncountable(value):
                with pytest.raises(InvalidReward):
                    exp.add_reward(id, value, key)
                return self.follow()
            assert exp.add_reward(id, value, key) is True
            self.first[id] = "in parts"
            self.follow((ARRIVAL if self.at_close() else REWARD, id, value))
        elif self.is_void(id):
            with pytest.raises(RewardConflict):
                exp.add_reward(id, value, key)
            return self.follow()
        elif self.uncountable(self.totals[id] + value):
            with pytest.raises(InvalidReward):
                exp.add_reward(id, value, key)
            return self.follow()
        else:
            total = self.totals[id] + value
            assert exp.add_reward(id, value, key) is True
            assert exp.add_reward(id, value, key) is False
            self.follow((ARRIVAL if status == ARRIVAL else PART, id, total))
        parts[key] = value

    @precondition(lambda self: not self.tossing)
    @rule(who=WHO, clip=VALUES["clip"])
    def recount(self, who, clip):
        """A clip range for all rewards, those that came before it included."""
        self.processes[who].settle()  # by the options of now
        self.follow()
        self.processes[who].configure(clip=clip, recount=True)
        before = {id: value for id, value in self.values.items() if value is not None}
        self.options["clip"] = clip
        changed = [
            (AMEND, id, self.totals[id])
            for id in self.decisions
            if id in before
            and self.totals[id] is not None
            and self.counted(self.totals[id]) != before[id][1]
        ]
        log = self.log()[self.version :]
        assert sorted((e.kind, e.corrects, e.raw) for e in log if e.kind == AMEND) == sorted(
            changed
        )
        order = [(e.kind, e.corrects, e.raw) for e in log if e.kind == AMEND]
        self.follow(("configure", None, None), *order)
        self.epoch += 1

    @rule(who=WHO, unit=st.sampled_from(["ann", "bob", "nobody"]), keep=st.booleans())
    def forget(self, who, unit, keep):
        given = {"keep_numbers": keep} if self.featured else {}
        count = self.processes[who].forget_unit(unit, **given)
        mine = {id for id, one in self.units.items() if one == unit}
        assert count == len(mine)
        lost = (
            set() if keep else {id for id in mine if id in self.values and id not in self.unknown}
        )
        kind = "erase" if lost and self.featured else "forget"
        self.follow(*[(kind, None, None)][: bool(count)])
        if kind == "erase":
            self.erased = self.version
        self.forgotten |= mine
        self.unknown |= mine if not keep else {id for id in mine if id not in self.values}
        for id in mine:
            self.units[id], self.named[id] = None, f"forgotten at {self.version}"
        self.assigned.pop(unit, None)
        for id, side in self.sides.items():
            if side == unit:  # it was kept on its side by its name
                self.sides[id] = None

    @rule(who=WHO, pick=PICK, value=REWARDS)
    def repeat_or_contradict(self, who, pick, value):
        if (id := self.some(pick, settled=True)) is None:
            return
        status, first = self.status(id), self.first.get(id)
        if status in (EXPIRED, MISSING) and first in (None, "in parts"):
            with pytest.raises(ExpiredDecision):
                self.processes[who].reward(id, value)
        elif first == "in parts":
            with pytest.raises(RewardConflict, match="in parts"):
                self.processes[who].reward(id, value)
        else:
            raw, metrics = first
            assert self.processes[who].reward(id, raw, **metrics) is False
            if not self.is_there(id, value):
                error = ExpiredDecision if status == EXPIRED else RewardConflict
                with pytest.raises(error):
                    self.processes[who].reward(id, value)
        self.follow()

    @rule(who=WHO, value=REWARDS)
    def reward_what_is_unknown(self, who, value):
        with pytest.raises(UnknownDecision, match="unknown"):
            self.processes[who].reward("never", value)
        self.follow()

    @rule(who=WHO, pick=PICK, value=BAD)
    def reward_with_nonsense(self, who, pick, value):
        with pytest.raises(InvalidReward):
            self.processes[who].reward(self.some(pick) or "never", value)
        self.follow()

    @rule(who=WHO, pairs=st.lists(st.tuples(PICK, REWARDS), min_size=1, max_size=6))
    def reward_many(self, who, pairs):
        """Whatever comes: new ones, repeated, contradictory, late; all of it or nothing."""
        if self.some(0) is None:
            return
        asked = [(self.some(pick), value) for pick, value in pairs]
        outcomes, expected = self.outcomes(asked)
        errors = [one for one in outcomes if not isinstance(one, bool)]
        if errors:
            with pytest.raises(UnknownDecision if errors[0] is ExpiredDecision else errors[0]):
                self.processes[who].reward_many(asked)
            return self.follow()
        assert self.processes[who].reward_many(asked) == outcomes
        self.remember_first(expected)
        self.follow(*expected)

    def outcomes(self, asked):
        """The outcomes of these rewards, one after the other, and the events."""
        given, out, expected = {}, [], []
        kind = ARRIVAL if self.at_close() else REWARD
        for id, value in asked:
            status = self.status(id)
            if type(value) is not float or not np.isfinite(value):
                out.append(InvalidReward)
            elif id in given:
                out.append(False if given[id] == value else RewardConflict)
            elif id in self.first and self.is_there(id, value):
                out.append(False)
            elif status in (REWARD, ARRIVAL):
                out.append(RewardConflict)
            elif status is not None:
                out.append(ExpiredDecision)
            elif self.uncountable(value):
                out.append(InvalidReward)
            else:
                given[id] = value
                expected.append((kind, id, value))
                out.append(True)
        return out, expected

    def remember_first(self, expected):
        for _, id, value in expected:
            self.first[id] = value, {}

    @rule(who=WHO, pairs=st.lists(st.tuples(PICK, st.one_of(REWARDS, BAD)), max_size=6))
    def reward_each(self, who, pairs):
        """The same, but what is refused keeps nothing else from counting."""
        if self.some(0) is None:
            return
        asked = [(self.some(pick), value) for pick, value in pairs]
        outcomes, expected = self.outcomes(asked)
        found = self.processes[who].reward_each(asked)
        assert [one if isinstance(one, bool) else type(one) for one in found] == outcomes
        self.remember_first(expected)
        self.follow(*expected)

    # ------------------------------------------------------------------ change

    @precondition(lambda self: len(self.arms) < 5)
    @rule(who=WHO)
    def add_arm(self, who):
        name = "abcde"[len(self.arms)]
        self.processes[who].add_arm(name)
        self.follow(("add-arm", None, None))
        self.arms.append(name)

    @rule(who=WHO, pick=PICK)
    def pause_arm(self, who, pick):
        arm = self.arms[pick % len(self.arms)]
        if self.paused | {arm} == set(self.arms):
            with pytest.raises(ValueError, match="one arm must stay in play"):
                self.processes[who].pause_arm(arm)
            return self.follow()
        self.processes[who].pause_arm(arm)
        self.follow(*[("pause-arm", None, None)][: arm not in self.paused])
        self.paused.add(arm)

    @rule(who=WHO, pick=PICK)
    def resume_arm(self, who, pick):
        arm = self.arms[pick % len(self.arms)]
        self.processes[who].resume_arm(arm)
        self.follow(*[("resume-arm", None, None)][: arm in self.paused])
        self.paused.discard(arm)

    @rule(who=WHO, change=CHANGES)
    def configure(self, who, change):
        if self.featured and "policy" in change and change["prior"] is None:
            change = {**change, "policy": LINEAR[POLICIES.index(change["policy"]) % len(LINEAR)]}
        if self.tossing and "policy" in change:
            with pytest.raises(ValueError, match="policy must count rewards as Bernoulli-TS does"):
                self.processes[who].configure(**change)
            return self.follow()
        if change.get("rules") == 2 and not isinstance(self.options["block"], str | None):
            assert self.options["half_life"] is None
        self.processes[who].configure(**change)
        flushed = self.at_close() and change.get("window", 1) is None
        self.follow(("configure", None, None), flushed=flushed)
        self.epoch += 1
        if change.get("holdout", self.options["holdout"]) != self.options["holdout"]:
            self.since = self.epoch
        self.options |= change
        if "half_life" in change or "rules" in change:
            self.weigh_again()

    @precondition(lambda self: len(self.decisions) > 12)
    @rule(who=WHO, pick=PICK)
    def stop(self, who, pick):
        winner = [None, *self.arms][pick % (1 + len(self.arms))]
        if winner is None and self.winner is not None:
            with pytest.raises(ValueError, match=r"^winner must be given: everybody gets"):
                self.processes[who].stop()
            return self.follow()
        self.processes[who].stop(winner)
        self.follow(*[("stop", None, None)][: not self.stopped or winner != self.winner])
        self.stopped, self.winner = True, winner

    @rule(who=WHO)
    def restart(self, who):
        self.processes[who].restart()
        self.follow(*[("restart", None, None)][: self.stopped])
        self.stopped, self.winner = False, None

    # ------------------------------------------------------------------ time, crashes, reopening

    @rule(seconds=SECONDS)
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @rule(who=WHO)
    def reopen(self, who):
        """A new process; the old one is simply gone."""
        exp = self.processes[who] = self.open(["a", "b"], seed=self.seed)
        assert exp.arms == self.arms
        assert exp.state.config.paused == {self.arms.index(arm) for arm in self.paused}
        assert (exp.state.config.epoch, exp.state.version) == (self.epoch, self.version)
        self.follow()

    @rule()
    def back_up(self):
        """Database and model, as they are now."""
        kept = {name: value for name, value in vars(self).items() if name in RESTORED}
        self.backup = contents(self.processes[0].store), deepcopy(kept)

    @precondition(lambda self: self.backup is not None)
    @rule()
    def restore(self):
        """Under both processes, which may know of a later state, or of another one as late."""
        rows, kept = self.backup
        restore(self.processes[0].store, rows)
        vars(self).update(deepcopy(kept))
        self.follow()

    @rule(who=WHO, unit=UNITS, values=THREE)
    def repeat_history(self, who, unit, values):
        """What one process did is lost, the other does as much, and the first one goes on."""
        if self.stopped and self.winner is None:
            return
        self.back_up()
        self.meet(who, unit, values[0])
        self.restore()
        self.meet(1 - who, unit, values[1])
        self.meet(who, unit, values[2])

    @rule(who=WHO, verb=PICK, late=st.booleans(), survives=st.booleans(), pick=PICK)
    def crash(self, who, verb, late, survives, pick):
        """A transaction breaks off after its writes, and the process may go with it."""
        exp = self.processes[who]
        id = self.some(pick, settled=False) or "never"
        rewarded = self.some(pick, settled=True) or "never"
        step, broken_context = "save" if late else "add_events", self.contexts(["broken"])
        step, call = [
            ("add_decisions", lambda: exp.decide_many(["ann"], ["broken"], **broken_context)),
            (step, lambda: exp.reward(id, 1.0)),
            (step, lambda: exp.configure(floor=0.05)),
            (step, lambda: exp.add_arm("x")),
            (step, lambda: exp.stop("a")),
            (step, lambda: exp.restart()),
            (step, lambda: exp.void(rewarded)),
            (step, lambda: exp.amend(rewarded, 0.5)),
            (step, lambda: exp.add_reward(rewarded, 0.5, "broken")),
            (step, lambda: exp.forget_unit("ann")),
        ][verb % 10]
        with broken(step), suppress(Broken, LiveError):  # some of these have nothing to write
            call()
        self.follow()
        if not survives:
            self.reopen(who)

    # ------------------------------------------------------------------ what must hold

    @rule(who=WHO)
    def report(self, who):
        exp = self.processes[who]
        knew = exp.options.window == self.options["window"]
        frame = exp.report().frame
        self.follow()
        assert not (knew and self.open_and_overdue())
        assert frame["arm"].to_list() == self.arms
        assert frame["n"].sum() == self.counting()
        seen, total = exp.state.statistics(), max(1, len(self.decisions))
        effects, alone = self.check_units(exp.state), exp.state.effective().time is None
        for i, arm in enumerate(self.arms):
            mine = [d for d in self.decisions.values() if d.arm == arm]
            assert frame["share"][i] == pytest.approx(len(mine) / total)
            assert frame["pending"][i] == sum(d.id not in self.settled for d in mine)
            x, w = self.rewards_of(i)
            assert frame["n"][i] == len(x)
            if not len(x):
                continue
            mean, size = (w * x).sum() / w.sum(), np.abs(x).max()
            if not alone:  # arms are compared within blocks, which has tests of its own
                assert frame["mean"][i] == pytest.approx(mean, rel=1e-9, abs=1e-9 * size)
                continue
            assert seen.n[i] * effects[i] == pytest.approx(w.sum(), rel=1e-9)
            assert frame["mean"][i] == pytest.approx(mean, rel=1e-9, abs=1e-9 * size)
            m2 = (w * (x - mean) ** 2).sum()
            near = max(1e-9 * size**2, 1e-300)  # smaller numbers have few digits
            assert seen.m2[i] * effects[i] == pytest.approx(m2, rel=1e-9, abs=near)
        self.check_blocks(exp.state)
        self.check_metric_and_holdout(exp.state)
        if self.featured:
            self.check_features(exp.state)

    def rewards_of(self, arm, block=None):
        """The rewards of an arm that count, in all or in a block, and their weights."""
        now = [self.values[id] or (None, None) for id in self.order]
        here = [a == arm for a, _ in now]
        if block is not None:
            at = [self.block_of(id) == block for id in self.order]
            here = [one and other for one, other in zip(here, at, strict=True)]
        here = np.array(here, dtype=bool)
        return np.array([v for _, v in now], dtype=float)[here], self.weights[here]

    def block_of(self, id):
        """The block of time that a decision was made in."""
        block = self.options["block"]
        if self.options["rules"] == 1:
            return self.epochs[id]
        if self.featured or block is None or self.options["half_life"] is not None:
            return 0
        return self.times[id] // (86400 if block == "auto" else int(block)) // 10**6

    def check_blocks(self, state):
        """The sums of every arm and block, by plain arithmetic."""
        half_life = self.options["half_life"]
        places = {(self.values[id][0], self.block_of(id)) for id in self.order if self.values[id]}
        rows = {key[1:]: row for key, row in state.rows.items() if key[0] == THE_REWARD}
        assert {place for place, row in rows.items() if row.rewards} == places
        for arm, block in places:
            x, w = self.rewards_of(arm, block)
            row = rows[arm, block].settled(state.rewards, half_life)
            mean, size = (w * x).sum() / w.sum(), np.abs(x).max()
            assert row.rewards == len(x)
            assert row.n == pytest.approx(w.sum(), rel=1e-9)
            assert row.origin + row.mean == pytest.approx(mean, rel=1e-9, abs=1e-9 * size)
            m2 = (w * (x - mean) ** 2).sum()
            assert row.m2 == pytest.approx(m2, rel=1e-9, abs=1e-9 * size**2)

    def check_units(self, state):
        """The design effect of every arm, by plain arithmetic on the rewards of every unit."""
        effective = state.effective()
        if self.options["rules"] == 1:
            assert effective.design_effect is None and not stored_units(self.processes[0])
            return np.ones(len(self.arms))
        counted = {id: value for id, value in self.values.items() if value is not None}
        groups = [
            [(self.named[id] or id, x) for id, (arm, x) in counted.items() if arm == i]
            for i in range(len(self.arms))
        ]
        if self.options["half_life"] is not None:  # weighted rewards count as independent
            assert not stored_units(self.processes[0])
            assert effective.design_effect is None
            return np.ones(len(groups))
        within = None if effective.time is None else effective.time.within
        expected, slack = effects_of(groups, within)
        assert effective.units.tolist() == [len({unit for unit, _ in one}) for one in groups]
        effects = effective.design_effect
        effects = np.ones(len(groups)) if effects is None else effects
        assert (np.abs(effects - expected) <= slack).all()
        table = {}
        for arm, group in enumerate(groups):
            for unit in {unit for unit, _ in group}:
                mine = [x for one, x in group if one == unit]
                table[arm, unit] = len(mine), np.mean(mine), np.abs(mine).max()
        found = stored_units(self.processes[0])
        names = set(self.named.values()) - {None}
        wanted = {(a, u): one for (a, u), one in table.items() if u in names}
        # The names of forgotten units are unknown.
        known = {u for _, u in wanted if not u.startswith("forgotten")}
        assert {k for k in found if k[1] in known} == {k for k in wanted if k[1] in known}
        assert sum(n for n, _ in found.values()) == sum(one[0] for one in wanted.values())
        for key in wanted.keys() & found.keys():
            n, mean, size = wanted[key]
            assert found[key][0] == n and abs(found[key][1] - mean) <= 1e-9 * size
        return effects

    def check_features(self, state):
        """The regression's numbers, by plain arithmetic on the rewards whose features are known."""
        seen, effects = linear_statistics(state), state.effective().design_effect
        effects = np.ones(len(self.arms)) if effects is None else effects
        for i in range(len(self.arms)):
            rows = [
                (w, [*FEATURES.encode(context_of(id)), self.values[id][1]])
                for w, id in zip(self.weights, self.order, strict=True)
                if self.values[id] is not None and self.values[id][0] == i
                if id not in self.unknown
            ]
            w, x = np.array([w for w, _ in rows]), np.array([row for _, row in rows])
            assert seen.n[i] * effects[i] == pytest.approx(w.sum(), rel=1e-9)
            if not rows:
                continue
            mean, size = w @ x / w.sum(), np.abs(x).max(axis=0)
            assert (np.abs(seen.mean[i] - mean) <= 1e-9 * size).all()
            products = ((x - mean).T * w) @ (x - mean)
            found = seen.products[i] * effects[i]
            assert (np.abs(found - products) <= 1e-9 * np.outer(size, size)).all()

    def check_metric_and_holdout(self, state):
        """Beside the rewards, the same for the metric of each arm and the sides of the holdout."""
        counted = {id: value for id, value in self.values.items() if value is not None}
        (metric,) = state.metric_statistics().values()
        named = {id: self.named[id] or id for id in counted}
        measured = [
            [
                (named[id], min(max(m, -1e70), 1e70))  # more counts as that
                for id, m in self.measured.items()
                if id in counted and counted[id][0] == i
            ]
            for i in range(len(self.arms))
        ]
        tables = [(metric, measured)]
        if self.options["holdout"]:
            here = [id for id in counted if self.epochs[id] >= self.since]
            sides = [
                [(named[id], counted[id][1]) for id in here if self.marks[id] is bool(side)]
                for side in (0, 1)
            ]
            tables.append((state.holdout_statistics(), sides))
        for stats, groups in tables:
            effects, slack = np.ones(len(groups)), np.zeros(len(groups))
            if self.options["rules"] == 2 and self.options["half_life"] is None:
                effects, slack = effects_of(groups)
            for place, group in enumerate(groups):
                values = np.array([x for _, x in group])
                assert (stats.n[place] > 0) == bool(group)
                if not group:
                    continue
                assert abs(len(values) / stats.n[place] - effects[place]) <= slack[place] + 1e-9
                size, effect = np.abs(values).max(), len(values) / stats.n[place]
                m2 = ((values - values.mean()) ** 2).sum()
                assert stats.mean[place] == pytest.approx(values.mean(), rel=1e-9, abs=1e-9 * size)
                near = max(1e-9 * size**2, 1e-300)  # smaller numbers have few digits
                assert stats.m2[place] * effect == pytest.approx(m2, rel=1e-9, abs=near)

    @invariant()
    def the_cache_is_the_fold_of_the_log(self):
        if self.processes:
            found = self.processes[0].verify()
            assert found, str(found)
            assert found.rewards == self.counting()
            assert found.decisions == len(self.decisions | self.fallbacks)

    processes, backup = (), None

    def teardown(self):
        """Every decision, made again; unless a check has failed, which must not be hidden."""
        if self.processes and sys.exception() is None:
            self.report(0)
            found = self.processes[1].verify(replay=True)
            assert found, str(found)
            again = [
                id
                for id, d in self.decisions.items()
                if not self.featured or (id not in self.forgotten and d.version >= self.erased)
            ]
            assert found.replayed == len(again)


class ContextSessions(Sessions):
    """The same with features: every decision has a context."""

    featured = True


class LocalSessions(Sessions):
    """The same with clients that draw arms by themselves."""

    @rule(who=WHO, units=st.lists(UNITS, min_size=1, max_size=4), pick=PICK, seconds=SECONDS)
    def draw(self, who, units, pick, seconds):
        """A client draws arms from an allocation, and another process gets them later."""
        try:
            allocation = self.processes[who].allocation()
        except ExperimentStopped:
            assert self.stopped and self.winner is None
            return self.follow()
        sticks = self.options["sticky"] and self.winner is None
        if sticks:
            units = [unit or f"guest {self.number + i}" for i, unit in enumerate(units)]
        client = LocalClient(allocation, pick)
        client.count = itertools.count(self.number)
        drawn = [client.decide(unit) for unit in units]
        made = self.clock.now
        self.number += len(units)
        self.time_passes(seconds)
        sent = [one | {"age": float(seconds)} for one in drawn]
        exp, expected, kept = self.processes[1 - who], [], dict(self.assigned)
        for unit, one in zip(units, drawn, strict=True):
            before = kept.get(unit) if sticks else None
            if before is not None and before.arm not in (*self.paused, one["arm"]):
                expected.append("conflict")
            else:
                expected.append("recorded")
                kept[unit] = before if before and before.arm == one["arm"] else _Drawn(one["arm"])
        if self.options["window"] is not None and seconds > self.options["window"]:
            expected = ["too-old"] * len(units)
        found = exp.record_exposures(sent, [allocation.ticket], "client")
        self.follow()
        assert [one.status for one in found] == expected
        for unit, one, status in zip(units, drawn, expected, strict=True):
            if status == "recorded":
                d = exp.decide(id=one["id"])
                self.follow()
                assert d.arm == one["arm"] and d.version <= self.version
                self.remember_drawn(unit, d, client, made)

    def remember_drawn(self, unit, d, client, made):
        """A decision that a client made."""
        before = self.assigned.get(unit) if self.options["sticky"] else None
        if self.winner is not None:
            assert (d.arm, d.probability, d.reason) == (self.winner, 1.0, "winner")
        elif before is not None and before.arm == d.arm:
            assert (d.probability, d.reason) == (before.probability, "sticky")
        else:
            given = client.probabilities(d.id if unit is None else unit)
            assert (d.probability, d.reason) == (given[self.arms.index(d.arm)], "local")
            if self.options["sticky"] and unit is not None:
                self.assigned[unit] = d
        self.decisions[d.id], self.times[d.id], self.epochs[d.id] = d, made, self.epoch
        self.units[d.id] = self.named[d.id] = unit
        self.sides[d.id] = None if d.reason == "winner" else unit or d.id


def context_of(id):
    """That of a decision: the same in every process."""
    number = sum(id.encode())
    return {"kind": "pqr"[number % 3], "size": number % 5 + 1e6}


@contextmanager
def broken(step):
    """Inside, every transaction breaks off right after this step."""
    original = getattr(Transaction, step)

    def breaking(self, *args, **kwargs):
        # A single statement, as PostgreSQL writes most decisions, commits by itself.
        if self.sqlite or step != "add_decisions":
            original(self, *args, **kwargs)
        raise Broken

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transaction, step, breaking)
        yield


# ------------------------------------------------------------------------------ running it


def run(connect, seeds, clock, base=Sessions):
    """Few sessions per seed, since later ones tend to be variations of earlier ones."""
    members = {"connect": staticmethod(connect), "clock": clock, "random": random.Random()}
    kind = type("Sessions", (base,), members)
    chosen = settings(
        max_examples=6,
        stateful_step_count=30,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # add Phase.shrink for a shorter session: it takes minutes
        print_blob=False,
    )
    with pytest.MonkeyPatch.context() as patch:
        # Hypothesis runs a failing session a second time. With new seeds and salts it would often
        # report a flaky test instead of the failure.
        patch.setattr(secrets, "randbits", kind.random.getrandbits)
        patch.setattr(secrets, "token_hex", lambda size: kind.random.randbytes(size).hex())
        for number in seeds:
            run_state_machine_as_test(seed(number)(kind), settings=chosen)


def in_memory(clock):
    store = Store("memory://", clock)
    return lambda: store


KINDS = pytest.mark.parametrize("kind", [Sessions, ContextSessions, LocalSessions])


def seeds_below(count):
    """Seed 0 before every commit; the others only with the full suite."""
    more = [pytest.param(number, marks=pytest.mark.full) for number in range(1, count)]
    return pytest.mark.parametrize("number", [0, *more])


@KINDS
@seeds_below(3)
def test_memory(clock, kind, number):
    run(in_memory(clock), [number], clock, kind)


@KINDS
@seeds_below(2)
def test_sqlite(clock, tmp_path, kind, number):
    run(lambda: Store(f"sqlite:///{tmp_path / 'varts.db'}", clock), [number], clock, kind)


@pytest.mark.full
@KINDS
def test_postgres(clock, postgres, kind):
    url = postgres()
    run(lambda: Store(url, clock), [0], clock, kind)


# ------------------------------------------------------------------------------ mutants


def lost_statistics(patch):
    """The cache misses some rewards."""
    save = Transaction.save

    def saved(self, state, swept=None):
        if state.rewards % 3 == 0:
            state.touched.clear()
        save(self, state, swept)

    patch.setattr(Transaction, "save", saved)


def wrong_variance(patch):
    """What is stored is right, and what policies and reports make of it is wrong."""
    statistics = State.statistics

    def wrong(self):
        right = statistics(self)
        return replace(right, m2=right.m2 * 1.001)

    patch.setattr(State, "statistics", wrong)


def no_window(patch):
    """Late rewards are taken if nobody has settled them."""
    patch.setattr(experiment, "settle_some", lambda session, beside: None)


def raw_values(patch):
    """The clip range is forgotten."""
    for module in (rewards, settle):
        patch.setattr(module, "counted", lambda seed, config, id, raw: raw)


def restless(patch):
    """A choice depends on something that is not in the log: on how many are made at once."""
    uniforms = allocation.uniforms

    def other(seed, purpose, keys, size):
        return uniforms(seed + len(keys), purpose, keys, size)

    patch.setattr(allocation, "uniforms", other)


def not_sticky(patch):
    """The arms of sticky units are not kept."""
    patch.setattr(Transaction, "assign", lambda self, rows: len(rows))


def half_written(patch):
    """Events are committed before the statistics are."""
    add_events = Transaction.add_events

    def added(self, new):
        add_events(self, new)
        self.connection.execute("COMMIT")
        self.connection.execute("BEGIN")

    patch.setattr(Transaction, "add_events", added)


def twice(patch):
    """A repeated reward counts again."""
    made, settled = rewards._Recorder.__init__, Transaction.settled

    def only_fallbacks(self, ids):
        found = settled(self, ids)
        return {id: row for id, row in found.items() if rewards.played_by_client(row) is not None}

    def forgetful(self, *given):
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(Transaction, "settled", only_fallbacks)
            made(self, *given)

    patch.setattr(rewards._Recorder, "__init__", forgetful)


def fallbacks_as_traffic(patch):
    """Decisions that clients made by themselves are counted with the others."""
    patch.setattr(transaction, "FALLBACKS", 0)


def lost_fallbacks(patch):
    """Their rewards are refused as if they had expired."""
    patch.setattr(rewards, "played_by_client", lambda settling: None)


def one_history(patch):
    """A log that grew again after a restore is taken for the one that was lost."""
    patch.setattr(Transaction, "batch", 7)


def lost_digits(patch):
    """A reward is taken out of the sums whatever that leaves of them."""
    replaced = Sums.replaced

    def careless(self, before, after, weight, x=None):
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(sums, "LEAST_LEFT", -1e300)
            inside.setattr(sums, "FARTHEST_ORIGIN", 1e300)
            with suppress(ValueError):  # of a variance below 0
                return replaced(self, before, after, weight, x)
            return self

    patch.setattr(Sums, "replaced", careless)


def parts_again(patch):
    """A part counts as often as it comes."""
    made = rewards.Outcome.__init__

    def forgetful(self, events):
        made(self, events)
        self.parts = {}

    patch.setattr(rewards.Outcome, "__init__", forgetful)


def full_weight(patch):
    """A correction weighs as much as a new reward, however old what it corrects is."""
    patch.setattr(State, "_weight", lambda self, row, number: 1.0)


def counted_at_arrival(patch):
    """A reward counts when it arrives, though its window is open."""
    patch.setattr(Options, "settles_at_close", False)


def counted_though_void(patch):
    """A reward that was voided while the window was open counts all the same."""

    class Forgiving(settle.Outcome):
        def __init__(self, events):
            super().__init__(events)
            self.total = self.raw if self.total is None else self.total

    patch.setattr(settle, "Outcome", Forgiving)


def another_side(patch):
    """Log the draws of clients as if the holdout were larger."""
    is_held = local.is_held
    patch.setattr(local, "is_held", lambda key, who, share: is_held(key, who, (1 + share) / 2))


def unit_twice(patch):
    """A unit that comes again is another unit, in the cache and in the fold alike."""
    changed = sums._changed

    def again(*given):
        *_, n, _, _, sign, _ = given
        units, *others = changed(*given)
        return units + (sign > 0 and n > 0), *others

    patch.setattr(sums, "_changed", again)


def strangers(patch):
    """All rewards count as if they were from different units."""
    changed = sums._changed

    def alone(*given):
        *shared, _, _, value, sign, origin = given
        before = (0, 0.0) if sign > 0 else (1, value)
        return *changed(*shared, *before, value, sign, origin)[:4], *changed(*given)[4:]

    patch.setattr(sums, "_changed", alone)


def block_of_the_reward(patch):
    """A reward counts in the block in which it came, in the cache and in the fold alike."""
    apply_many = State.apply_many

    def late(self, events, exact=True):
        events = [e if e.made is None else e._replace(made=e.time) for e in events]
        apply_many(self, events, exact)

    patch.setattr(State, "apply_many", late)


def lost_features(patch):
    """Some rewards are counted without their features."""
    features_marks = rewards.features_marks

    def some(seed, config, decisions):
        marks = features_marks(seed, config, decisions)
        return {id: mark for id, mark in marks.items() if int(id[1:]) % 3}

    patch.setattr(rewards, "features_marks", some)


def wrong_slope(patch):
    """In the cache and in the fold alike: only the model can tell."""
    observe = RegressionSums.observe
    patch.setattr(
        RegressionSums, "observe", lambda self, point: observe(self, point * [1, 1, 1.001, 1])
    )


def another_context(patch):
    """A choice is made for a unit with another context than the log has."""
    allocation_for = Session.allocation

    def other(self, state):
        made = allocation_for(self, state)
        known = type(made)._known
        made._known = lambda contexts: known(made, [context_of("another")] * len(contexts))
        return made

    patch.setattr(Session, "allocation", other)


def unforgotten(patch):
    """The contexts of a forgotten unit stay where they are."""
    patch.setattr(Transaction, "_forget_contexts", lambda self, unit, keep_numbers: set())


# The model notices a mutant if an assertion fails, a `pytest.raises` sees nothing, or the library
# refuses a call. Anything else, such as a NameError, is a mistake in this file.
NOTICED = (AssertionError, pytest.fail.Exception, LiveError)


def what_notices(connect, seeds, clock, base=Sessions):
    """The method of the model that fails first, and the type of its exception."""
    with pytest.raises(NOTICED) as caught:
        run(connect, seeds, clock, base)
    frames = (frame for frame, _ in traceback.walk_tb(caught.tb))
    inside = [f.f_code.co_name for f in frames if isinstance(f.f_locals.get("self"), Sessions)]
    return inside[-1], caught.type


FOLD = "the_cache_is_the_fold_of_the_log"


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "mutant", "check", "error"),
    [
        (Sessions, lost_digits, FOLD, AssertionError),
        (Sessions, parts_again, "add_part", AssertionError),
        (Sessions, full_weight, FOLD, AssertionError),
        (Sessions, lost_statistics, FOLD, AssertionError),
        (Sessions, wrong_variance, "report", AssertionError),
        (Sessions, no_window, "decide", AssertionError),
        (Sessions, raw_values, "settle", AssertionError),
        (Sessions, restless, "teardown", AssertionError),
        (Sessions, not_sticky, FOLD, AssertionError),
        (Sessions, half_written, "follow", AssertionError),
        (Sessions, twice, "repeat_or_contradict", StoreError),
        (Sessions, fallbacks_as_traffic, FOLD, AssertionError),
        (Sessions, lost_fallbacks, "reward_fallback", ExpiredDecision),
        (Sessions, one_history, FOLD, AssertionError),
        (Sessions, counted_at_arrival, "follow", AssertionError),
        (Sessions, counted_though_void, "follow", AssertionError),
        (LocalSessions, another_side, "remember_drawn", AssertionError),
        (Sessions, unit_twice, "check_units", AssertionError),
        (Sessions, strangers, "check_units", AssertionError),
        (Sessions, block_of_the_reward, "check_blocks", AssertionError),
        (ContextSessions, lost_features, FOLD, AssertionError),
        (ContextSessions, wrong_slope, "check_features", AssertionError),
        (ContextSessions, another_context, "teardown", AssertionError),
        (ContextSessions, unforgotten, "follow", AssertionError),
    ],
)
def test_a_mutant_is_caught(kind, mutant, check, error, clock, monkeypatch):
    mutant(monkeypatch)
    assert what_notices(in_memory(clock), range(6), clock, kind) == (check, error)


def typo_in_the_mutant(patch):
    patch.setattr(Transaction, "save", lambda self, state, swept=None: misspelt)  # noqa: F821


def typo_in_the_model(patch):
    patch.setattr(Sessions, "follow", lambda self, *expected: misspelt)  # noqa: F821


@pytest.mark.full
@pytest.mark.parametrize("mistake", [typo_in_the_mutant, typo_in_the_model])
def test_a_mistake_in_this_file_catches_no_mutant(mistake, clock, monkeypatch):
    mistake(monkeypatch)
    with pytest.raises(NameError, match="misspelt"):
        what_notices(in_memory(clock), [0], clock)


@pytest.mark.full
def test_the_library_as_it_is_counts_as_unnoticed(clock):
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        what_notices(in_memory(clock), [0], clock)

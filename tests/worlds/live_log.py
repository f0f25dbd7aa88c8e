"""Two ways to run the same live experiment: with the pure core alone, and with a whole store.

`CoreLog` turns decisions and rewards that arrive into events and applies them with the functions of
`varts.live.core`, without a database. `StoreLog` makes the same calls as a user of `varts.open`.
Both have the same methods, and a test shows that they give the same arms, statistics and reports.

Whatever `varts.live` does between a call and the events that it writes is repeated here, in
`CoreLog`, and nowhere else: when a reward is counted, what a window does, what is sticky, which
decisions are in the holdout.
"""

import json

import numpy as np

import varts
from varts.live.core.allocation import (
    STICKY,
    allocate,
    counted,
    features_marks,
    holdout_mark,
    seed_for,
)
from varts.live.core.events import (
    ADD_ARM,
    ARRIVAL,
    CREATE,
    EXPIRED,
    MISSING,
    PAUSE,
    RESUME,
    REWARD,
    Event,
)
from varts.live.core.state import Config, State
from varts.live.experiment import MOST_CONTEXTS
from varts.live.options import Options
from varts.live.report.report import report_of
from varts.live.settle import is_late
from varts.live.store.store import Store
from varts.live.store.transaction import NewDecision, Traffic

NAME = "shop"


class CoreLog:
    """A live experiment without a store.

    Args:
        arms: The names of the arms.
        options: As for `varts.open`.
        seed: As for `varts.open`.
        now: The time of its creation, in microseconds.
        exact: Whether statistics must equal those of a store to the last bit, which is slower.
    """

    def __init__(self, arms, options, seed, now, exact=False):
        self.seed, self._exact = seed_for(NAME, seed), exact
        made = Options.made(**options)
        body = Config(tuple(arms), made, len(arms), public_holdout=True).to_json()
        self.state = State.created(Event(1, CREATE, now, body=body))
        # The decisions, by number.
        self._arms, self._epochs, self._times = [], [], []
        self._units, self._reasons, self._contexts = [], [], []
        self._settled = []  # whether each of them has a reward, or none after its window
        self._arrived = {}  # by number, rewards that count when their window closes
        self._swept = 0  # all decisions before this one have a closed window
        self._decisions = {}  # by version, the number of the decision that the event settled
        self._values = {}  # by number, the reward as it was counted
        self._kept = {}  # by sticky unit, its arm

    @property
    def chosen(self):
        """The arms of all decisions."""
        return np.array(self._arms, dtype=np.int64)

    @property
    def held(self):
        """Which decisions are in the holdout."""
        config, every = self.state.config, range(len(self._arms))
        marks = (holdout_mark(self.seed, config, self._decision(i)) for i in every)
        return np.array([mark.get("held", False) for mark in marks])

    # ------------------------------------------------------------------ calls

    def decide(self, now, count, units=None, contexts=None):
        """Choose the arms of the next decisions; units and contexts are one per decision."""
        self.settle(now)
        config, first = self.state.config, len(self._arms)
        units = [None] * count if units is None else units
        choosing, new = range(count), {}
        if config.options.sticky:
            for i, unit in enumerate(units):
                if self._kept.get(unit, -1) not in config.paused and unit in self._kept:
                    continue
                new.setdefault(unit, i)
            choosing = list(new.values())
        ids = [f"d{first + i}" for i in choosing]
        some = () if contexts is None else [contexts[i] for i in choosing]
        allocation = allocate(self.seed, self.state)  # a new one: the state changes in place
        found = allocation.choose(ids, [units[i] for i in choosing], False, contexts=some)
        if config.options.sticky:
            self._kept.update(zip(new, (choice.arm for choice in found), strict=True))
            chosen = [self._kept[unit] for unit in units]
            reasons = [STICKY] * count
            for i, choice in zip(choosing, found, strict=True):
                reasons[i] = choice.reason
        else:
            chosen, reasons = [one.arm for one in found], [one.reason for one in found]
        self._arms += chosen
        self._reasons += reasons
        self._units += units
        self._epochs += [config.epoch] * count
        self._times += [now] * count
        self._settled += [False] * count
        self._contexts += [None] * count if contexts is None else contexts
        return np.array(chosen, dtype=np.int64)

    def reward(self, now, numbers, values):
        """Rewards of decisions, by their numbers, that arrive now."""
        self.settle(now)
        rewards = {i: float(y) for i, y in zip(numbers, values, strict=True)}
        if self.state.config.options.settles_at_close:
            self._arrived |= rewards
            version = self.state.version
            self.state.apply_many(
                [
                    Event(version + 1 + k, ARRIVAL, now, raw=y, arrives=f"d{i}")
                    for k, (i, y) in enumerate(rewards.items())
                ]
            )
        else:
            self._write(now, [(REWARD, i, y) for i, y in rewards.items()])

    def add_arm(self, now, arm):
        """Add an arm."""
        self._change(now, ADD_ARM, {"arm": arm, "prior": None})

    def pause_arm(self, now, arm):
        """Take an arm out of play."""
        self._change(now, PAUSE, {"arm": arm})

    def resume_arm(self, now, arm):
        """Bring it back."""
        self._change(now, RESUME, {"arm": arm})

    def report(self, now, level=0.95):
        """The report as of now."""
        self.settle(now)
        contexts, rewards = (), ()
        if self.state.config.options.contextual:
            contexts, rewards = self._some_contexts()
        options, closes = self.state.config.options, None
        if options.window is not None and self._swept < len(self._times):
            closes = round(self._times[self._swept] + (options.window + options.skew) * 1e6)
        return report_of(NAME, self.state.copy(), self._traffic(), level, contexts, rewards, closes)

    # ------------------------------------------------------------------ from calls to events

    def settle(self, now):
        """Settle all decisions whose window has closed."""
        options = self.state.config.options
        if options.window is None:
            return
        start = self._swept
        while self._swept < len(self._times) and is_late(now, self._times[self._swept], options):
            self._swept += 1
        none = MISSING if options.missing is not None else EXPIRED
        self._write(
            now,
            [
                (REWARD, i, self._arrived.pop(i)) if i in self._arrived else (none, i, None)
                for i in range(start, self._swept)
                if not self._settled[i]
            ],
        )

    def _write(self, now, outcomes):
        """Count these outcomes: kind, number of the decision, reward."""
        config, version = self.state.config, self.state.version
        options, events, marks = config.options, [], {}
        if config.features is not None:
            some = [self._decision(i) for _, i, _ in outcomes]
            marks = features_marks(self.seed, config, some)
        for kind, i, raw in outcomes:
            version += 1
            given, id = options.missing if kind == MISSING else raw, f"d{i}"
            value = None if kind == EXPIRED else counted(self.seed, config, id, given)
            body = {}
            if options.holdout:
                body |= holdout_mark(self.seed, config, self._decision(i))
            body |= marks.get(id, {})
            events.append(
                Event(
                    version, kind, now, id, self._arms[i], self._epochs[i], raw, value,
                    body=body or None, unit=self._units[i], made=self._times[i],
                )
            )  # fmt: skip
            self._settled[i], self._decisions[version], self._values[i] = True, i, value
        self.state.apply_many(events, exact=self._exact)

    def _change(self, now, kind, body):
        self.settle(now)
        self.state.apply(Event(self.state.version + 1, kind, now, body=body))

    def _decision(self, i):
        """The row of a decision, as far as the holdout and the features need it."""
        row = dict.fromkeys(NewDecision._fields)
        row |= {"epoch": self._epochs[i], "unit": self._units[i], "reason": self._reasons[i]}
        if self._contexts[i] is not None:
            row |= {"id": f"d{i}", "context": json.dumps(self._contexts[i])}
        return NewDecision(**row)

    def _traffic(self):
        K, arms = len(self.state.config.arms), self.chosen
        decided = np.bincount(arms, minlength=K).tolist()
        settled = np.bincount(arms[np.array(self._settled, dtype=bool)], minlength=K).tolist()
        return Traffic(dict(enumerate(decided)), dict(enumerate(settled)))

    def _some_contexts(self):
        """Contexts of settled decisions, evenly spaced over the log: those that a store reads."""
        version = self.state.version
        step = max(version / MOST_CONTEXTS, 1.0)
        versions = {version - int(i * step) for i in range(min(MOST_CONTEXTS, version))}
        known = sorted(i for i in map(self._decisions.get, versions) if i is not None)
        rewards = [(self._arms[i], self._values[i]) for i in known]
        return [self._contexts[i] for i in known], rewards


class StoreLog:
    """The same calls to an experiment in a store.

    Args:
        arms: The names of the arms.
        options: As for `varts.open`.
        seed: As for `varts.open`.
        now: The time of its creation, in microseconds.
        url: Where the store is.
    """

    def __init__(self, arms, options, seed, now, url="memory://"):
        self._now = now
        store = Store(url, clock=lambda: self._now)
        self.experiment = varts.open(NAME, list(arms), store=store, seed=seed, **options)
        self._decided = []

    @property
    def state(self):
        return self.experiment.state

    @property
    def chosen(self):
        return np.array(self._decided, dtype=np.int64)

    def decide(self, now, count, units=None, contexts=None):
        self.settle(now)
        ids = [f"d{len(self._decided) + i}" for i in range(count)]
        made = self.experiment.decide_many(units=units, ids=ids, contexts=contexts)
        arms = [self.state.config.index(one.arm) for one in made]
        self._decided += arms
        return np.array(arms, dtype=np.int64)

    def reward(self, now, numbers, values):
        self.settle(now)
        rewards = [(f"d{i}", float(y)) for i, y in zip(numbers, values, strict=True)]
        self.experiment.reward_many(rewards)

    def add_arm(self, now, arm):
        self.settle(now)
        self.experiment.add_arm(arm)

    def pause_arm(self, now, arm):
        self.settle(now)
        self.experiment.pause_arm(arm)

    def resume_arm(self, now, arm):
        self.settle(now)
        self.experiment.resume_arm(arm)

    def report(self, now, level=0.95):
        self._now = now
        return self.experiment.report(level)

    def settle(self, now):
        """Settle everything that is due: single calls settle only a part of a backlog."""
        self._now = now
        if self.state.config.options.window is not None:
            self.experiment.settle()

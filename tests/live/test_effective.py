"""Effective statistics against plain loops over raw rewards: units, blocks, covariates, rules."""

import threading

import numpy as np
import pytest

import varts
from tests.live.loops import effects_of, stored_units
from varts.live import Store
from varts.live.core import sums
from varts.live.core.effective import SHARED_SLOPES, design_effects
from varts.live.core.state import NewUnits
from varts.live.core.sums import NO_REWARDS, Shared, Sums, UnitSums

ARMS = ["9", "12", "15"]
DAY = 86400


@pytest.fixture
def begin(clock):
    """Opens an experiment of this name, in a process that comes new."""
    store = Store("memory://", clock)
    return lambda name="shop", arms=ARMS, **options: varts.open(
        name, arms, store=store, seed=1, **options
    )


class Visits:
    """Plays an experiment and keeps what it must count: {id: (arm, unit, value, time)}."""

    def __init__(self, exp, clock, seed=3):
        self.exp, self.clock, self.rng = exp, clock, np.random.default_rng(seed)
        self.rewards, self.levels, self.side = {}, self.rng.normal(0, 2, 40), {}

    def play(self, count, each=3600, **given):
        for _ in range(count):
            number = len(self.rewards)
            unit = int(self.rng.integers(40) ** 2 // 40)  # some come often
            name = None if unit == 0 else f"unit {unit}"
            d = self.exp.decide(name, f"d{number}")
            value = float(self.levels[unit] + self.rng.normal())
            assert self.exp.reward(d.id, value, **given)
            self.rewards[d.id] = d.arm, name or d.id, value, self.clock.now
            if d.reason != "sticky":
                self.side[name or d.id] = d.reason == "holdout"
            self.clock.advance(each)

    def change(self, id, value):
        arm, unit, _, time = self.rewards[id]
        self.rewards[id] = arm, unit, value, time

    def groups(self, among=None):
        return [
            [(u, x) for id, (a, u, x, _) in self.rewards.items() if a == arm and x is not None]
            for arm in self.exp.arms
        ]


def check(visits, exp=None):
    """The design effects and effective statistics of an experiment without blocks."""
    exp, groups = exp or visits.exp, visits.groups()
    expected, slack = effects_of(groups)
    found = exp.state.effective()
    effects = np.ones(len(groups)) if found.design_effect is None else found.design_effect
    assert (np.abs(effects - expected) <= slack).all()
    assert found.units.tolist() == [len({unit for unit, _ in group}) for group in groups]
    for arm, group in enumerate(groups):
        x = np.array([value for _, value in group])
        assert found.stats.n[arm] == pytest.approx(len(x) / expected[arm], rel=1e-9)
        assert found.stats.mean[arm] == pytest.approx(x.mean(), rel=1e-9)
        for power, name in ((2, "m2"), (3, "m3"), (4, "m4")):
            exact = ((x - x.mean()) ** power).sum() / expected[arm]
            assert getattr(found.stats, name)[arm] == pytest.approx(exact, rel=1e-8, abs=1e-8)
    return expected


# ------------------------------------------------------------------------------ units


def test_the_example_of_two_units():
    row, units = Sums(), NewUnits({})
    for at, (unit, value) in enumerate([("one", 1.0), ("one", 3.0), ("two", 5.0)], 1):
        row = row.observe_all([(value, at, None, ("", 0, unit))], None, units)
    assert (row.n, row.mean + row.origin, row.m2) == (3, 3.0, 8.0)
    assert units == {("", 0, "one"): UnitSums(2, 2.0), ("", 0, "two"): UnitSums(1, 5.0)}
    assert design_effects({0: row}, np.array([8.0])).tolist() == [2.25]


@pytest.mark.parametrize("sticky", [False, True])
def test_design_effects_with_corrections_and_parts(begin, clock, sticky):
    exp = begin(block=None, sticky=sticky)
    visits = Visits(exp, clock)
    if sticky:
        visits.levels[0] = 0.0
        visits.rng = np.random.default_rng(5)
        exp_decide = exp.decide
        exp.decide = lambda unit, id: exp_decide(unit or f"guest {id}", id)
    visits.play(120)
    assert (check(visits) > 1.1).any()  # the negative control: units matter here
    for number in range(0, 60, 7):
        exp.amend(f"d{number}", 2.5 + number)
        visits.change(f"d{number}", 2.5 + number)
    for number in range(1, 60, 9):
        exp.void(f"d{number}")
        visits.change(f"d{number}", None)
    for number in range(2, 60, 11):
        before = visits.rewards[f"d{number}"][2]
        if before is None:
            continue
        exp.add_reward(f"d{number}", -1.5, "refund")
        visits.change(f"d{number}", before - 1.5)
    check(visits)
    exp.amend("d1", 4.0)  # given again
    visits.change("d1", 4.0)
    exp.amend("d3", 1e12)
    exp.amend("d3", 1.0)  # a slip, which costs digits
    visits.change("d3", 1.0)
    check(visits)
    check(visits, begin())
    found = exp.verify(replay=True)
    assert found, str(found)


def test_a_wrong_design_effect_is_noticed(begin, clock, monkeypatch):
    """The negative control: rewards of a unit that count as if they were of several."""
    visits = Visits(begin(block=None), clock)
    changed = sums._changed

    def alone(*shared_and_unit_and_reward):
        *shared, n, _, value, sign, origin = shared_and_unit_and_reward
        return *changed(*shared, 0, 0.0, value, sign, origin)[:4], n + 1, value

    monkeypatch.setattr(sums, "_changed", alone)
    visits.play(60)
    with pytest.raises(AssertionError):
        check(visits)


def test_few_units_use_the_design_effect_of_all_arms(begin, clock):
    exp = begin(block=None, arms=["a", "b"])
    rewards = {"a": [], "b": []}
    for i in range(200):
        d = exp.decide(f"unit {i % 4 if i % 10 == 0 else i % 50}", f"d{i}")
        value = float(i % 5 if d.arm == "a" else (i % 50) % 7)
        exp.reward(d.id, value)
        rewards[d.arm].append((f"unit {i % 4 if i % 10 == 0 else i % 50}", value))
    expected, slack = effects_of(list(rewards.values()))
    assert (np.abs(exp.state.effective().design_effect - expected) <= slack).all()


def test_a_forgotten_unit_changes_no_sums(begin, clock):
    exp = begin(block=None, holdout=0.3, metrics=["m"])
    visits = Visits(exp, clock)
    visits.play(80, m=1.0)
    before = exp.state.statistics(), exp.state.rows, exp.state.holdout_statistics()
    assert exp.forget_unit("unit 3") + exp.forget_unit("unit 1") > 2
    assert exp.state.statistics() == before[0] and exp.state.rows == before[1]
    assert exp.state.holdout_statistics() == before[2]
    assert not {"unit 3", "unit 1"} & {unit for _, unit in stored_units(exp)}
    ids = [id for id, (_, unit, _, _) in visits.rewards.items() if unit == "unit 1"]
    exp.amend(ids[0], 3.5)  # still the same unit as its other rewards
    visits.change(ids[0], 3.5)
    check(visits)
    assert exp.verify(replay=True)


def test_metrics_and_the_holdout_are_corrected_for_units(begin, clock):
    exp = begin(block=None, holdout=0.4, metrics=["margin"])
    visits, margins = Visits(exp, clock), {}
    for number in range(120):
        visits.play(1, margin=float(number % 9))
        margins[f"d{number}"] = float(number % 9)
    exp.amend("d4", 3.0, margin=20.0)
    visits.change("d4", 3.0)
    margins["d4"] = 20.0
    exp.void("d5")
    visits.change("d5", None)
    del margins["d5"]
    tables = [
        (
            exp.state.metric_statistics()["margin"],
            [
                [(visits.rewards[id][1], m) for id, m in margins.items() if _arm(visits, id) == arm]
                for arm in exp.arms
            ],
        ),
        (
            exp.state.holdout_statistics(),
            [[(u, x) for _, u, x, _ in visits.rewards.values() if x is not None] for _ in range(2)],
        ),
    ]
    for side in (0, 1):
        tables[1][1][side] = [
            (unit, x) for unit, x in tables[1][1][side] if visits.side[unit] is bool(side)
        ]
    for stats, groups in tables:
        expected, _ = effects_of(groups)
        sizes = np.array([len(group) for group in groups])
        assert stats.n == pytest.approx(sizes / expected, rel=1e-9)
        means = [np.mean([x for _, x in group]) for group in groups]
        assert stats.mean == pytest.approx(np.array(means), rel=1e-9)
    assert (effects_of(tables[1][1])[0] > 1.1).any()
    exp.configure(holdout=0.2)  # units begin again, too
    for number in range(2):
        d = exp.decide("unit 2", f"again {number}")
        exp.reward(d.id, 1.0 + number)
    stats = exp.state.holdout_statistics()
    assert sorted(stats.n.tolist()) == [0.0, 2.0]
    assert exp.verify(replay=True)


def _arm(visits, id):
    return visits.rewards[id][0]


def test_two_processes_reward_the_same_unit(tmp_path):
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    exp = varts.open("shop", ARMS, store=url, seed=1, block=None)
    others = [varts.open("shop", store=Store(url)) for _ in range(4)]
    made = [[one.decide("ann", f"{w}-{i}") for i in range(10)] for w, one in enumerate(others)]

    def work(w):
        for i, d in enumerate(made[w]):
            others[w].reward(d.id, float(w + i * i))

    threads = [threading.Thread(target=work, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    exp.report()
    arms, units = [d.arm for one in made for d in one], stored_units(exp)
    for arm, name in enumerate(ARMS):
        assert units.get((arm, "ann"), (0, 0.0))[0] == arms.count(name)
        row = exp.state.by_arm().get(arm, NO_REWARDS)
        assert row.shared.units == (name in arms) and row.shared.counts == arms.count(name) ** 2
    assert exp.verify(replay=True)
    for one in (exp, *others):
        one.close()


# ------------------------------------------------------------------------------ blocks of time


def test_blocks_are_those_of_the_decisions(begin, clock):
    exp = begin(block=6 * 3600.0)
    visits = Visits(exp, clock)
    visits.play(60, each=2 * 3600)
    late = exp.decide("unit 5", "late")
    when = clock.now
    clock.advance(5 * DAY)
    exp.reward("late", 1e6)
    visits.rewards["late"] = late.arm, "unit 5", 1e6, when
    exp.amend("late", 3.0)
    exp.amend("d7", 4.0)
    visits.change("late", 3.0)
    visits.change("d7", 4.0)
    cells = {}
    for arm, _, x, time in visits.rewards.values():
        cells.setdefault((exp.arms.index(arm), time // (6 * 3600 * 10**6)), []).append(x)
    rows = {key[1:]: row for key, row in exp.state.rows.items()}
    assert rows.keys() == cells.keys() and len({block for _, block in cells}) > 10
    for place, values in cells.items():
        assert rows[place].rewards == len(values)
        assert rows[place].origin + rows[place].mean == pytest.approx(np.mean(values), rel=1e-9)
        assert rows[place].m2 == pytest.approx(np.var(values) * len(values), abs=1e-8)
    for arm, group in enumerate(visits.groups()):
        row, x = exp.state.by_arm()[arm], [value for _, value in group]
        total = {}
        for unit, value in group:
            total[unit] = total.get(unit, 0.0) + value - np.mean(x)
        exact = sum(one**2 for one in total.values())
        assert row.shared.squared_totals(row.mean) == pytest.approx(exact, rel=1e-8)
        assert row.shared.units == len(total)
    assert exp.verify(replay=True)
    before = exp.state.by_arm()
    for block in (DAY / 2, None, "auto"):
        exp.configure(block=block)
        for arm, row in exp.state.by_arm().items():
            assert row.rewards == before[arm].rewards
            assert row.m2 == pytest.approx(before[arm].m2, rel=1e-9)
            assert row.shared.units == before[arm].shared.units
        assert exp.verify(replay=True)
    assert begin().state.rows.keys() == exp.state.rows.keys()


# ------------------------------------------------------------------------------ covariates


def test_adjusted_means_are_those_of_a_regression(begin, clock):
    """Slopes of each arm, shrunk toward those of all arms, at the average covariates of all."""
    exp = begin(block=None, adjust={"spend": "number", "visits": "number"})
    rng, rows = np.random.default_rng(2), {arm: [] for arm in ARMS}
    for i in range(240):
        x = rng.normal(5, 2, 2)
        d = exp.decide(None, f"d{i}", context={"spend": x[0], "visits": x[1]})
        y = float(ARMS.index(d.arm) / 4 + (1 + ARMS.index(d.arm)) * x[0] - x[1] + rng.normal())
        exp.reward(d.id, y)
        rows[d.arm].append([*x, y])
    data = [np.array(rows[arm]) for arm in ARMS]
    assert min(map(len, data)) > 4
    products = [(one - one.mean(axis=0)).T @ (one - one.mean(axis=0)) for one in data]
    shared = sum(products) / 240
    center = np.concatenate(data)[:, :2].mean(axis=0)
    found = exp.state.effective().stats
    for arm, one in enumerate(data):
        mixed = products[arm] + SHARED_SLOPES * 2 * shared
        slope = np.linalg.solve(mixed[:2, :2], mixed[:2, 2])
        mean = one[:, 2].mean() - slope @ (one[:, :2].mean(axis=0) - center)
        assert found.mean[arm] == pytest.approx(mean, rel=1e-9)
        assert abs(found.mean[arm] - one[:, 2].mean()) > 1e-3  # the negative control
        left = one[:, 2] - one[:, :2] @ slope
        used = min(2, len(one) / 2) * len(one) / (len(one) + SHARED_SLOPES * 2)
        m2 = ((left - left.mean()) ** 2).sum() * len(one) / (len(one) - used)
        n = found.n[arm]
        assert found.m2[arm] / n == pytest.approx(m2 / len(one), rel=0.02)
    assert exp.verify(replay=True)


# ------------------------------------------------------------------------------ rules


@pytest.mark.parametrize("half_life", [None, 30.0])
def test_an_old_experiment_that_changes_its_rules_counts_as_a_new_one(begin, clock, half_life):
    options = {"holdout": 0.3, "metrics": ["m"]}
    old = begin("shop", rules=1, half_life=half_life, **options)
    visits = Visits(old, clock)
    visits.play(70, m=2.0)
    old.amend("d3", 9.0)
    old.void("d4")
    old.configure(floor=0.02)
    visits.play(20, each=DAY // 3, m=1.0)
    assert old.state.effective().design_effect is None and not stored_units(old)
    if half_life is not None:
        old.configure(half_life=None)
    with pytest.raises(ValueError, match="rules must be 2 with adjust"):
        old.configure(adjust={"x": "number"})
    old.configure(rules=2, why="a new season")
    visits.change("d3", 9.0)
    visits.change("d4", None)
    effective = old.state.effective()
    groups = visits.groups()
    expected, slack = effects_of(groups, effective.time.within)
    assert (np.abs(effective.design_effect - expected) <= slack).all()
    assert (expected > 1).any() and len(effective.units) == 3
    blocks = {time // (DAY * 10**6) for _, _, _, time in visits.rewards.values()}
    assert {block for metric, _, block in old.state.rows if not metric} == blocks
    found = old.verify(replay=True)
    assert found, str(found)
    assert begin().state.rows == old.state.rows
    with pytest.raises(ValueError, match="rules must be at least 2, got 1"):
        old.configure(rules=1)
    visits.play(10, m=0.0)
    assert old.verify(replay=True)


def test_rules_1_count_as_before(begin, clock):
    exp = begin(rules=1, window=60.0, missing=0.0)
    exp.decide("ann", "a")
    exp.decide("ann", "b")
    assert exp.reward("a", 5.0)
    assert exp.report().frame["n"].sum() == 1  # at once
    clock.advance(100)
    assert exp.report().frame["n"].sum() == 2
    assert {key[2] for key in exp.state.rows} == {1}  # by epoch
    assert exp.state.by_arm()[exp.arms.index(exp.decision("a").arm)].shared == Shared()
    exp.decide("ann", "c")
    exp.configure(rules=2)
    assert exp.reward("c", 1.0) and exp.report().frame["n"].sum() == 2
    clock.advance(100)
    assert exp.report().frame["n"].sum() == 3 and exp.verify(replay=True)

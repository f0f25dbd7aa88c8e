"""Traffic splits, and rewards that come back as aggregates: each counts once, corrections leave no
trace, and reports say the same as from single rewards."""

import threading
from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import varts
from tests.live.diaries import contents
from tests.live.stores import refused, shared
from varts._text import percentages
from varts.live import (
    ExperimentStopped,
    InvalidReward,
    Refused,
    Report,
    RewardConflict,
    Store,
    UnknownArm,
    copy_store,
)
from varts.live.arguments import check_period
from varts.live.core.aggregates import Numbers, Period
from varts.live.core.sums import Sums
from varts.live.report.rules import aggregate_notes

ARMS = ["short", "long", "funny"]
DAY = timedelta(days=1)
ROWS = [
    ("short", "2025-11-03", 1200, 0.40, 1.5),
    ("long", "2025-11-03", 1100, 0.50, 1.6),
    ("funny", "2025-11-03", 1000, 0.45, 1.4),
    ("short", "2025-11-04", 600, 0.42, 1.5),
    ("long", "2025-11-04", 1700, 0.55, 1.7),
    ("funny", "2025-11-04", 700, 0.41, 1.6),
]


def open_mail(store="memory://", **options):
    return varts.open("mail", ARMS, store=store, seed=1, **options)


def rows_of(exp):
    """All sums without the clock of the half-life, which also counts what was corrected."""
    return {key: sums._replace(at=0) for key, sums in exp.state.rows.items() if sums.rewards}


# ------------------------------------------------------------------------------ splits


@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=40).filter(lambda some: sum(some) > 0.01),
    places=st.integers(0, 6),
)
def test_percentages_add_up_to_100_and_are_off_by_less_than_a_step(shares, places):
    exact = np.array(shares) / sum(shares) * 100
    found = percentages(shares, places)
    steps = [int(one.replace(".", "")) for one in found]
    assert sum(steps) == 100 * 10**places
    off = np.array([float(one) for one in found]) - exact
    assert (np.abs(off) < 10.0**-places * (1 + 1e-6) + 1e-9).all()
    assert all(one == 0 for one, share in zip(steps, shares, strict=True) if share == 0)


def test_a_split_is_what_decisions_get_holdout_included():
    """At most one false alarm in 10,000; the control leaves the holdout out."""
    exp = open_mail(holdout=0.4, floor=0.1)
    exp.reward_aggregates(ROWS[:3])
    shares = exp.split()
    assert sum(shares.values()) == pytest.approx(1, abs=1e-12)
    arms = [one.arm for one in exp.decide_many(20_000)]
    counts = np.array([arms.count(arm) for arm in ARMS])
    expected = np.array([shares[arm] for arm in ARMS])
    assert chisquare(counts, expected * counts.sum()).pvalue > 1e-4
    without = (expected - 0.4 / 3) / 0.6
    assert chisquare(counts, without * counts.sum()).pvalue < 1e-4


def test_arms_out_of_play_get_nothing_and_a_winner_everything():
    exp = open_mail(holdout=0.2)
    exp.reward_aggregates(ROWS)
    exp.pause_arm("funny")
    shares = exp.split()
    assert shares["funny"] == 0 and shares["long"] > shares["short"] > 0.09
    exp.stop("funny")
    assert exp.split() == {"short": 0, "long": 0, "funny": 1}
    exp.restart()
    exp.stop()
    refused(exp.split, "is stopped", error=ExperimentStopped)


def test_a_policy_that_uses_features_has_no_split():
    exp = open_mail(features={"visits": "number"})
    refused(exp.split, "by features", "decide for each unit", error=Refused)


# ------------------------------------------------------------------------------ what counts


def one_by_one(clock, values_of):
    """An experiment with single rewards over three days, and the same as aggregates."""
    single, rows = open_mail(Store("memory://", clock), floor=0.3), []
    for day in range(3):
        clock.advance(86_400)
        made = single.decide_many(900)
        today = datetime.fromtimestamp(clock() / 1e6, UTC).date()
        for place, arm in enumerate(ARMS):
            values = values_of(place, day)
            ids = [one.id for one in made if one.arm == arm][: len(values)]
            single.reward_many(zip(ids, values, strict=True))
            rows.append((arm, today, len(values), values.mean(), values.std(ddof=1)))
    together = open_mail(Store("memory://", clock), floor=0.3)
    together.reward_aggregates(rows)
    return single.report(), together.report()


def like_gaussian(place, day):
    """Rewards with the skewness and the kurtosis of Gaussian ones."""
    return 10 + day + place / 20 + np.sqrt(3) * np.repeat([-1.0, 0.0, 1.0], [40, 160, 40])


def skewed(place, day):
    return np.repeat([10.0, 30.0 + day + place], [232, 8])


COMPARED = ("mean", "sd", "estimate", "mean_low", "mean_high", "p_best", "expected_loss")


def differences(single, together):
    """By column, the largest difference between two reports."""
    assert (single.frame["n"] == together.frame["n"]).all()
    return {name: (single.frame[name] - together.frame[name]).abs().max() for name in COMPARED}


def test_a_report_says_the_same_as_from_single_rewards(clock):
    single, together = one_by_one(clock, like_gaussian)
    assert max(differences(single, together).values()) < 1e-9
    assert together.frame["p_best"].max() < 0.9999  # so that P(best) is a number to compare
    # The tails decide when there is an anytime-valid interval, and aggregates don't have them.
    assert single.frame["anytime_low"].is_not_null().all()
    assert together.frame["anytime_low"].is_null().all()
    assert "not available with aggregates" in together.certainty


def test_the_tails_of_aggregates_are_those_of_gaussian_rewards(clock):
    """The control of the test above: of skewed rewards, means and sds alone are the same."""
    single, together = one_by_one(clock, skewed)
    found = differences(single, together)
    assert found["mean"] < 1e-9 and found["sd"] < 1e-9
    assert found["p_best"] > 1e-4


def test_a_reward_alone_is_an_aggregate_of_one():
    assert Numbers(1, 7.0).sums(1) == Sums.of([7.0], 1, count_units=True)


def test_aggregates_and_single_rewards_add_up():
    exp = open_mail()
    made = exp.decide_many(60)
    exp.reward_many((one.id, float(i % 7)) for i, one in enumerate(made))
    before = exp.report().frame
    exp.reward_aggregates(ROWS[:3])
    after = exp.report()
    assert (after.frame["n"] - before["n"]).to_list() == [1200, 1100, 1000]
    n, mean = before["n"].to_numpy(), before["mean"].to_numpy()
    expected = (n * mean + np.array([480, 550, 450])) / np.add(n, [1200, 1100, 1000])
    assert np.allclose(after.frame["mean"], expected, rtol=1e-12)
    assert after.aggregated == {"short": 1200, "long": 1100, "funny": 1000}
    assert exp.verify(replay=True).ok


# ------------------------------------------------------------------------------ identity


def test_the_same_numbers_count_once_and_others_are_a_conflict():
    exp = open_mail()
    assert exp.reward_aggregates(ROWS) == [True] * 6
    assert exp.reward_aggregates(ROWS) == [False] * 6
    assert exp.reward_aggregate("short", date(2025, 11, 3), 1200, 0.40, 1.5) is False
    refused(
        lambda: exp.reward_aggregate("short", "2025-11-03", 1200, 0.41, 1.5),
        "has n 1200, mean 0.4, sd 1.5, got n 1200, mean 0.41, sd 1.5",
        "send it as a correction",
        error=RewardConflict,
    )
    assert exp.report().frame["n"].sum() == sum(row[2] for row in ROWS)


def test_several_are_recorded_together_or_each_by_itself():
    exp = open_mail()
    rows = [ROWS[0], ("lung", "2025-11-03", 5, 1.0, 1.0), ROWS[1], ROWS[1]]
    with pytest.raises(UnknownArm):
        exp.reward_aggregates(rows)
    assert exp.state.rewards == 0 and exp.report().aggregated == {}
    found = exp.reward_aggregates_each([*rows, ("short", "2025-11-05", 0, 1.0, 1.0), "abcde"])
    assert (found[0], found[2], found[3]) == (True, True, False)
    assert [type(found[i]) for i in (1, 4, 5)] == [UnknownArm, ValueError, TypeError]
    assert exp.reward_aggregates([]) == exp.reward_aggregates_each([]) == []


def test_periods_of_an_arm_dont_overlap():
    exp = open_mail()
    exp.reward_aggregate("short", "2025-11-03/2025-11-09", 70, 1.0, 1.0)
    clash = lambda: exp.reward_aggregate("short", "2025-11-05", 10, 1.0, 1.0)  # noqa: E731
    refused(clash, "overlaps the one in 2025-11-03/2025-11-09", error=RewardConflict)
    assert exp.reward_aggregate("short", "2025-11-10", 10, 1.0, 1.0)  # the next day
    assert exp.reward_aggregate("long", "2025-11-05", 10, 1.0, 1.0)  # another arm
    exp.void_aggregate("short", "2025-11-03/2025-11-09")
    assert clash()
    again = lambda: exp.reward_aggregate(  # noqa: E731
        "short", "2025-11-03/2025-11-09", 71, 1.0, 1.0, correct=True
    )
    refused(again, "overlaps the one in 2025-11-05", error=RewardConflict)
    assert exp.verify().ok


def test_a_period_that_has_not_begun_is_refused(clock):
    exp = open_mail(Store("memory://", clock))
    today = datetime.fromtimestamp(clock() / 1e6, UTC).date()
    assert exp.reward_aggregate("short", today, 10, 1.0, 1.0)
    later = lambda: exp.reward_aggregate("short", today + DAY, 10, 1.0, 1.0)  # noqa: E731
    refused(later, "period must have begun", error=InvalidReward)
    clock.advance(86_400)
    assert later()


SAME = [
    ("2025-11-03", "2025-11-03/2025-11-03"),
    ("2025-11-03", " 2025-11-03 "),
    ("2025-11-03", "2025-11-03T00:00/2025-11-04T00:00Z"),
    ("2025-11-03", "2025-11-03T01:00+01:00/2025-11-03"),
    ("2025-11-03", "20251103"),
]
NOT_PERIODS = [
    *("", "monday", "2025-11-31", "2025-11-03/", "/2025-11-03", "2025-11-03T09:00", "9999-12-31"),
    *("2025-11-03/2025-11-04/2025-11-05", "2025-11-04/2025-11-03", 20251103, None, 0.5),
    *("2025-11-03T09:00/2025-11-03T09:00", datetime(2025, 11, 3)),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_period_may_be_written_in_several_ways(one, other):
    assert check_period(one) == check_period(other)
    assert str(check_period(other)) == one


@given(st.integers(0, 2 * 10**15), st.integers(1, 10**14))
def test_a_period_is_read_back_as_it_is_shown(start, length):
    period = Period(start, start + length)
    assert check_period(str(period)) == period


@pytest.mark.parametrize("value", NOT_PERIODS)
def test_what_is_no_period_is_refused(value):
    with pytest.raises((ValueError, TypeError), match=r"^period must"):
        check_period(value)


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ((0, 1.0, 1.0), "n"),
        ((1.5, 1.0, 1.0), "n"),
        ((True, 1.0, 1.0), "n"),
        (("10", 1.0, 1.0), "n"),
        ((10**13, 1.0, 1.0), "n"),
        ((10, float("nan"), 1.0), "mean"),
        ((10, 1e71, 1.0), "mean"),
        ((10, 1.0, -0.1), "sd"),
        ((10, 1.0, float("inf")), "sd"),
        ((1, 1.0, 0.1), "sd"),
    ],
)
def test_impossible_numbers_are_refused(numbers, name):
    exp = open_mail()
    with pytest.raises((ValueError, TypeError), match=f"^{name} must be"):
        exp.reward_aggregate("short", "2025-11-03", *numbers)
    assert exp.reward_aggregate("short", "2025-11-03", 1, 1.0, 0)


# ------------------------------------------------------------------------------ corrections


def play(exp, rows):
    """Single rewards between aggregates."""
    made = exp.decide_many([f"unit {i % 50}" for i in range(120)], [f"d{i}" for i in range(120)])
    for i, row in enumerate(rows):
        exp.reward_aggregates([row])
        exp.reward_many((one.id, float(j % 5)) for j, one in enumerate(made[20 * i : 20 * i + 20]))


WRONG = ("long", "2025-11-03", 900, 1e9, 40.0)


@shared
def test_a_correction_leaves_no_trace_in_the_digits(store_url):
    exp, right = open_mail(store_url, metrics=[]), open_mail()
    play(right, ROWS)
    play(exp, [ROWS[0], WRONG, *ROWS[2:]])
    assert rows_of(exp) != rows_of(right)
    assert exp.reward_aggregates([ROWS[1]], correct=True, by="eva", why="a slip") == [True]
    assert rows_of(exp) == rows_of(right)
    assert exp.verify(replay=True).ok
    assert exp.reward_aggregates([ROWS[1]], correct=True) == [False]
    # A nightly job sends the old file again.
    assert exp.reward_aggregates([WRONG]) == [False]
    (change,) = exp.changes(after=1)
    assert (change.kind, change.by, change.why) == ("aggregate", "eva", "a slip")
    assert change.change == {
        "arm": "long",
        "period": "2025-11-03",
        "before": {"n": 900, "mean": 1e9, "sd": 40.0},
        "after": {"n": 1100, "mean": 0.5, "sd": 1.6},
    }


@shared
def test_a_voided_aggregate_leaves_no_trace(store_url):
    exp, without = open_mail(store_url), open_mail()
    play(exp, ROWS)
    play(without, ROWS)
    without.reward_aggregate("long", "2025-11-05", 10, 0.0, 0.0)
    assert exp.void_aggregate("long", "2025-11-04", why="the tool was down")
    assert exp.void_aggregate("long", date(2025, 11, 4)) is False
    assert exp.report().aggregated["long"] == 1100
    assert exp.reward_aggregates([ROWS[4]]) == [False]  # the nightly job again
    conflict = ("long", "2025-11-04", 1, 1.0, 0.0)
    refused(
        lambda: exp.reward_aggregates([conflict]),
        "was voided, and had n 1700",
        error=RewardConflict,
    )
    rewards = exp.state.rewards
    assert exp.reward_aggregates([ROWS[4]], correct=True) == [True]
    assert exp.state.rewards == rewards  # all of them had been counted before
    exp.reward_aggregate("long", "2025-11-05", 10, 0.0, 0.0)
    assert rows_of(exp) == rows_of(without)
    assert exp.verify(replay=True).ok
    refused(lambda: exp.void_aggregate("long", "2025-11-06"), "no aggregate", error=Refused)
    assert [one.change["after"] for one in exp.changes(after=1)] == [
        None,
        {"n": 1700, "mean": 0.55, "sd": 1.7},
    ]


def test_a_correction_may_be_the_first_and_a_reason_lists_it():
    exp = open_mail()
    assert exp.reward_aggregates(ROWS[:1], correct=True) == [True]
    assert exp.reward_aggregates(ROWS[1:2], why="by hand") == [True]
    (change,) = exp.changes(after=1)
    assert change.change["before"] is None and change.why == "by hand"


def test_an_arm_whose_only_aggregate_was_voided_starts_again():
    exp = open_mail()
    exp.reward_aggregates(ROWS[:3])
    exp.void_aggregate("short", "2025-11-03")
    found = exp.report()
    assert found.frame["n"].to_list() == [0, 1100, 1000] and found.best is None
    assert exp.split()["short"] == pytest.approx(1 / 3)


DAYS = [f"2025-11-{day:02}" for day in range(3, 8)]
NUMBERS = st.tuples(
    st.integers(1, 50),
    st.sampled_from([0.0, 0.3, -2.0, 1e9, 7.5]),
    st.sampled_from([0.0, 1.0, 3.5]),
).map(lambda one: (one[0], one[1], one[2] if one[0] > 1 else 0.0))
STEPS = st.one_of(
    st.tuples(st.just("aggregate"), st.sampled_from(ARMS), st.sampled_from(DAYS), NUMBERS),
    st.tuples(st.just("void aggregate"), st.sampled_from(ARMS), st.sampled_from(DAYS)),
    st.tuples(st.just("reward"), st.integers(0, 11), st.sampled_from([0.0, 2.0, 1e9])),
    st.tuples(st.just("void"), st.integers(0, 11)),
    st.tuples(st.just("block"), st.sampled_from(["auto", None, "7d"])),
    st.tuples(st.just("pause"), st.just("funny")),
)


@given(st.lists(STEPS, max_size=25))
def test_whatever_was_corrected_the_sums_are_those_of_what_is_right_now(steps):
    exp = open_mail()
    made = exp.decide_many(["anna", "bert", None] * 4)
    single, together = {}, {}
    for what, *about in steps:
        if what == "aggregate":
            arm, day, numbers = about
            new = exp.reward_aggregate(arm, day, *numbers, correct=True)
            assert new == (together.get((arm, day)) != numbers)
            together[arm, day] = numbers
        elif what == "void aggregate" and tuple(about) in together:
            assert exp.void_aggregate(*about) == (together[tuple(about)] is not None)
            together[tuple(about)] = None
        elif what == "reward":
            place, value = about
            known = place in single
            (exp.amend if known else exp.reward)(made[place].id, value)
            single[place] = value
        elif what == "void" and about[0] in single:
            exp.void(made[about[0]].id)
            single[about[0]] = None
        elif what == "block":
            exp.configure(block=about[0])
        elif what == "pause" and not exp.state.config.paused:
            exp.pause_arm(*about)
    assert exp.verify(replay=True).ok
    stats, aggregated = exp.state.raw_statistics(), exp.state.aggregated()
    for place, arm in enumerate(ARMS):
        parts = [one for (name, _), one in together.items() if name == arm and one]
        assert aggregated[place] == sum(n for n, _, _ in parts)
        values = [v for i, v in single.items() if made[i].arm == arm and v is not None]
        parts += [(1, value, 0.0) for value in values]
        n = sum(n for n, _, _ in parts)
        assert stats.n[place] == n
        if n:
            mean = sum(n * mean for n, mean, _ in parts) / n
            m2 = sum((k - 1) * sd**2 + k * (own - mean) ** 2 for k, own, sd in parts)
            assert np.isclose(stats.mean[place], mean, rtol=1e-9)
            assert np.isclose(stats.m2[place], m2, rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------------------ refusals

INCAPABLE = {
    "half_life": ({"half_life": 100}, "half-life"),
    "features": ({"features": {"visits": "number"}}, "context of every reward"),
    "adjust": ({"adjust": {"visits": "number"}}, "context of every reward"),
    "rules": ({"rules": 1}, "configure it with rules 2"),
    "policy": ({"policy": "Bernoulli-TS"}, "use another policy"),
}


@pytest.mark.parametrize("which", INCAPABLE)
def test_an_experiment_that_needs_single_rewards_takes_no_aggregates(which):
    options, reason = INCAPABLE[which]
    exp = open_mail(**options)
    refused(
        lambda: exp.reward_aggregates(ROWS), "'mail' can't count aggregates", reason, error=Refused
    )
    assert exp.state.version == 1


def test_an_experiment_with_aggregates_gets_no_half_life():
    exp = open_mail()
    exp.configure(half_life=100)  # without aggregates
    exp.configure(half_life=None)
    exp.reward_aggregates(ROWS)
    before = exp.state.version
    change = lambda: exp.configure(half_life=100)  # noqa: E731
    refused(change, "came as aggregates: with a half-life", error=Refused)
    assert exp.state.version == before
    exp.configure(floor=0.1)


def test_a_mean_is_within_clip():
    exp = open_mail(clip=(0.0, 1.0))
    beyond = ("short", "2025-11-03", 10, 1.01, 0.1)
    refused(
        lambda: exp.reward_aggregates([beyond]), "mean must be within clip", error=InvalidReward
    )
    exp.reward_aggregates(ROWS)
    narrower = lambda: exp.configure(clip=(0.0, 0.5), recount=True)  # noqa: E731
    words = "mean of arm 'long' in 2025-11-04 must be within clip, 0 to 0.5, got 0.55"
    refused(narrower, words, error=InvalidReward)
    exp.configure(clip=(0.0, 0.6), recount=True)


def test_paused_arms_and_stopped_experiments_take_aggregates_like_rewards():
    exp = open_mail()
    exp.pause_arm("short")
    exp.stop("long")
    assert exp.reward_aggregates(ROWS) == [True] * 6


# ------------------------------------------------------------------------------ reports and logs


def test_a_report_says_how_many_rewards_came_as_aggregates():
    exp = open_mail(holdout=0.5, metrics=["refund"])
    made = exp.decide_many([f"unit {i}" for i in range(200)])
    exp.reward_many((one.id, float(i % 9), {"refund": i % 2}) for i, one in enumerate(made))
    before = exp.report()
    exp.reward_aggregates(ROWS)
    found = exp.report()
    sentence = (
        "6,300 of 6,500 rewards came as aggregates, 2,800 of long, 1,800 of short and 1,700 of "
        "funny"
    )
    (note,) = [one for one in found.notes if sentence in one]
    assert sentence in str(found) and found.to_dict()["aggregated"]["long"] == 2800
    # Neither the gain nor the metrics have them.
    assert found.gain == before.gain and found.metrics.equals(before.metrics)
    assert found.frame["share"].to_list() == before.frame["share"].to_list()
    assert not any("aggregates" in one for one in before.notes)
    # The same sentence wherever rewards are left out.
    assert exp.check()["aggregates"].sentence == note
    assert note in exp.evaluate(varts.always("long")).notes
    history = exp.history(points=5)
    assert history.notes == [note] and note in str(history)


def test_an_export_has_no_aggregates(tmp_path):
    exp = open_mail()
    exp.reward_aggregates(ROWS)
    assert exp.export(tmp_path / "log.csv") == 0
    with pytest.raises(ValueError, match="must have decisions to evaluate, got only aggregates"):
        exp.evaluate(varts.always("long"))


def test_a_report_goes_through_json_and_comes_from_older_services():
    exp = open_mail()
    exp.reward_aggregates(ROWS)
    body = exp.report().to_dict()
    assert Report.from_dict(body).to_dict() == body
    del body["aggregated"]
    assert Report.from_dict(body).aggregated == {}


def test_many_arms_are_not_all_named():
    names = [f"arm {i}" for i in range(8)]
    (note,) = aggregate_notes(names, [10] * 8, [*range(8)])
    assert "7 of arm 7, 6 of arm 6, 5 of arm 5, 4 of arm 4, 3 of arm 3 and the rest of 2" in note
    assert aggregate_notes(names, [10] * 8, [0] * 8) == []


def test_a_period_over_several_blocks_counts_in_the_first_one():
    exp, days = open_mail(), open_mail()
    week = [(arm, "2025-11-03/2025-11-09", 700, 1.0 + i, 2.0) for i, arm in enumerate(ARMS)]
    exp.reward_aggregates(week)
    days.reward_aggregates((arm, "2025-11-03", *numbers) for arm, _, *numbers in week)
    assert exp.report().frame.equals(days.report().frame)
    spans = [one for one in exp.report().notes if "several blocks of time" in one]
    assert len(spans) == 1 and spans[0].startswith("2,100 of the aggregated rewards")
    assert not any("several blocks" in one for one in days.report().notes)
    exp.configure(block=None)
    assert not any("several blocks" in one for one in exp.report().notes)
    assert exp.verify().ok


def test_days_that_differ_are_compared_within_days():
    """All arms earn 5 more on the second day, when the traffic goes to another arm."""
    exp = open_mail(block="1d")
    exp.reward_aggregates(
        [
            ("short", "2025-11-03", 2000, 1.0, 1.0),
            ("long", "2025-11-03", 200, 1.2, 1.0),
            ("funny", "2025-11-03", 200, 0.5, 1.0),
            ("short", "2025-11-04", 200, 6.0, 1.0),
            ("long", "2025-11-04", 200, 6.2, 1.0),
            ("funny", "2025-11-04", 2000, 5.5, 1.0),
        ]
    )
    found = exp.report()
    assert found.frame["mean"].arg_max() == 2 and found.best == "long"


@shared
def test_a_history_follows_aggregates(store_url):
    exp = open_mail(store_url)
    exp.reward_aggregates(ROWS[:3])
    made = exp.decide_many(30)
    exp.reward_many((one.id, float(i)) for i, one in enumerate(made))
    exp.reward_aggregates(ROWS[3:])
    exp.void_aggregate("long", "2025-11-04")
    frame = exp.history(points=50).frame
    versions = frame["version"].unique().sort().to_list()
    assert versions[-1] == exp.state.version and len(versions) == frame["checkpoint"].max()
    assert frame["rewards"].is_sorted()
    last = frame.tail(3)
    assert last["aggregated"].to_list() == [1800, 1100, 1700]
    assert last["n"].sum() == 4630 and last["nonzero"].sum() == 29
    sums = 1200 * 0.4 + 1100 * 0.5 + 1000 * 0.45 + 600 * 0.42 + 700 * 0.41 + sum(range(30))
    assert last["cumulative_reward"].sum() == pytest.approx(sums)
    assert last["p_best"].to_list() == exp.report().frame["p_best"].to_list()
    daily = exp.history(every="1d").frame
    assert daily.tail(3)["n"].to_list() == last["n"].to_list()


@shared
def test_damaged_caches_are_repaired_from_the_log(store_url):
    exp = open_mail(store_url)
    play(exp, [ROWS[0], WRONG, *ROWS[2:]])
    exp.reward_aggregates([ROWS[1]], correct=True)
    rows = rows_of(exp)
    with exp.store.writing(exp._session.id) as transaction:
        transaction.connection.execute("UPDATE varts_statistics SET mean = mean + 1, n = n + 1", ())
    assert not exp.verify().ok
    assert exp.verify(repair=True).repaired
    exp.report()
    assert rows_of(exp) == rows and exp.verify().ok


def test_a_copy_has_the_aggregates(tmp_path):
    source, target = (f"sqlite:///{tmp_path}/{name}.db" for name in "ab")
    with open_mail(source) as exp:
        play(exp, ROWS)
        exp.void_aggregate("short", "2025-11-03")
        rows = rows_of(exp)
    copy_store(source, target)
    with varts.open("mail", store=target) as copied:
        assert rows_of(copied) == rows and copied.verify(replay=True).ok
        assert copied.reward_aggregates(ROWS[1:]) == [False] * 5
    with closing(Store(source)) as one, closing(Store(target)) as other:
        events = contents(one)["varts_events"]
        assert len(events) > 100 and contents(other)["varts_events"] == events


@shared
def test_decisions_and_their_logs_are_none_the_wiser(store_url):
    """Aggregates share a column of the log with rewards that wait for their window."""
    exp = open_mail(store_url, window="1h", missing=0.0)
    exp.decide_many(ids=["a", "b"])
    exp.reward("a", 2.0)
    exp.reward_aggregates(ROWS)
    exp.reward("b", 3.0)
    assert [exp.decision(id).reward for id in "ab"] == [2.0, 3.0]
    assert exp.report().frame["pending"].sum() == 2
    with varts.open("mail", store=Store(store_url)) as other:
        assert other.report().frame["n"].sum() == 6300 and other.verify(replay=True).ok


# ------------------------------------------------------------------------------ at once


def at_once(url, calls):
    """The results of several processes that call at the same time."""
    barrier, found = threading.Barrier(len(calls)), [None] * len(calls)

    def run(place, call):
        with varts.open("mail", store=url) as exp:
            barrier.wait()
            found[place] = call(exp)

    threads = [threading.Thread(target=run, args=one) for one in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@shared
def test_the_same_aggregates_at_once_count_exactly_once(store_url):
    with open_mail(store_url) as exp:
        found = at_once(store_url, [lambda exp: exp.reward_aggregates(ROWS)] * 6)
        assert sorted(found) == [[False] * 6] * 5 + [[True] * 6]
        assert exp.report().aggregated == {"short": 1800, "long": 2800, "funny": 1700}
        assert exp.verify().ok


@shared
def test_different_corrections_at_once_leave_one_of_them(store_url):
    with open_mail(store_url) as exp:
        exp.reward_aggregates(ROWS)
        calls = [
            lambda exp, n=n: exp.reward_aggregate("short", "2025-11-03", n, 1.0, 1.0, correct=True)
            for n in (100, 200, 300, 400)
        ]
        assert at_once(store_url, calls) == [True] * 4
        assert exp.report().aggregated["short"] - 600 in (100, 200, 300, 400)
        assert len(exp.changes(after=1)) == 4 and exp.verify().ok

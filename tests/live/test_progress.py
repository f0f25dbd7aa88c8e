"""How far a stop rule is, and forecasts of when it is met: against experiments that go on."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import varts
from varts.anytime import Evidence
from varts.live.report.progress import (
    MOST_TIMES,
    Forecast,
    first_met,
    forecast_stop,
    recent_pace,
    stop_progress,
)
from varts.stats import ArmStats


def played(rewards=400, gap=0.2, seed=1, arms=("a", "b"), **options):
    """An experiment whose second arm pays more."""
    exp = varts.open("price", list(arms), store="memory://", seed=seed, **options)
    rng = np.random.default_rng(seed)
    go_on(exp, rng, rewards, gap)
    return exp, rng


def go_on(exp, rng, rewards, gap):
    start = exp.state.version
    made = exp.decide_many(ids=[f"v{start}-{i}" for i in range(rewards)])
    exp.reward_many([(one.id, float(rng.normal(gap * (one.arm == "b")))) for one in made])


# ------------------------------------------------------------------------------ where it is


def test_progress_has_the_numbers_of_the_report():
    rules = {"stop_p_best": 1 - 1e-9, "stop_loss": 1e-6, "stop_error": 0.01}
    exp, _ = played(floor=0.1, **rules)
    found = exp.report()
    shown = {one.option: (one.now, one.target, one.met) for one in stop_progress(found)}
    assert shown == {
        "stop_p_best": (found.frame["p_best"].max(), 1 - 1e-9, False),
        "stop_loss": (found.frame["expected_loss"].min(), 1e-6, False),
        "stop_error": (2.0, 1.0, False),
    }
    exp.configure(stop_p_best=0.5)
    assert next(iter(stop_progress(exp.report()))).met


def test_progress_is_unknown_while_arms_cannot_be_compared():
    exp = varts.open("price", ["a", "b"], store="memory://", stop_p_best=0.9, stop_error=0.05)
    assert [one.now for one in stop_progress(exp.report())] == [None, None]
    assert not any(one.met for one in stop_progress(exp.report()))


# ------------------------------------------------------------------------------ forecasts


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "no stop rule was set"),
        ({"stop_p_best": 0.5}, "a stop rule has reached its target"),
        ({"stop_p_best": 0.9999, "half_life": 100.0}, "old rewards fade with the half-life"),
    ],
)
def test_no_forecast_where_none_makes_sense(options, why):
    exp, _ = played(**options)
    assert forecast_stop(exp.report()) == why


def test_no_forecast_from_thin_data():
    exp, rng = played(rewards=30, stop_p_best=0.99999, floor=0.5)
    assert "rewards that a forecast needs" in forecast_stop(exp.report())
    go_on(exp, rng, 200, 0.2)
    assert isinstance(forecast_stop(exp.report()), Forecast)
    exp.configure(floor=0.0)
    exp.add_arm("c")
    assert forecast_stop(exp.report()) == "some arms have too few different rewards"
    exp.decide_many(500)
    exp.pause_arm("c")
    assert forecast_stop(exp.report()) == "most decisions have no reward yet"
    exp.pause_arm("b")
    assert isinstance(forecast_stop(exp.report()), str)


def test_a_stopped_experiment_has_no_forecast():
    exp, _ = played(stop_p_best=0.9999)
    exp.stop("b")
    assert isinstance(forecast_stop(exp.report()), str)


def test_the_same_report_has_the_same_forecast():
    exp, _ = played(stop_p_best=0.9999)
    assert forecast_stop(exp.report()) == forecast_stop(exp.report())


def test_arms_that_get_no_traffic_are_no_basis():
    exp, _ = played(stop_p_best=0.9999)
    assert forecast_stop(exp.report(), {"a": 0.0}) == "no arm gets any traffic"
    some = forecast_stop(exp.report(), {"a": 0.0, "b": 1.0})
    assert some.high is None  # the other arm's mean stays as uncertain as it is


def test_equal_arms_have_no_end_in_sight_and_a_clear_lead_has():
    exp, _ = played(gap=0.0, stop_p_best=0.99999, floor=0.5)
    assert forecast_stop(exp.report()).high is None
    exp, _ = played(gap=0.45, stop_p_best=1 - 1e-9, floor=0.5)
    ahead = forecast_stop(exp.report())
    assert 0 < ahead.low < ahead.high < MOST_TIMES * 400


def test_the_goal_makes_no_difference():
    ahead = []
    for sign, goal in ((1, "max"), (-1, "min")):
        exp = varts.open(
            "p", ["a", "b"], store="memory://", seed=1, goal=goal, floor=0.5, stop_p_best=1 - 1e-9
        )
        rng = np.random.default_rng(1)
        made = exp.decide_many(ids=[f"v{i}" for i in range(400)])
        paid = [float(rng.normal(0.4 * (one.arm == "b"))) for one in made]
        exp.reward_many([(one.id, sign * value) for one, value in zip(made, paid, strict=True)])
        ahead.append(forecast_stop(exp.report()))
    assert isinstance(ahead[0], Forecast) and ahead[0] == ahead[1]


def test_first_met_agrees_with_experiments_played_reward_by_reward():
    """The same quantiles as in an independent simulation, which adds single rewards.

    Two arms have had 50 rewards each of variance 1, and lead by 0.2: the difference of the true
    means is then normal around 0.2 with variance 2/50. P(best) of the leader is Phi of the
    difference of the averages in standard errors, sqrt(2/n). With 2,000 runs on either side the
    standard error of a share of runs is 1.6 percentage points, so 6 points fail in one of 10,000
    comparisons of correct code.
    """
    n, lead, target, steps, runs = 50, 0.2, 0.99, 400, 2000
    rng = np.random.default_rng(7)
    truth = rng.normal(lead, np.sqrt(2 / n), runs)
    # Pairs of rewards: their difference has mean `truth` and variance 2.
    total = n * lead + np.cumsum(rng.normal(truth[:, None], np.sqrt(2), (runs, steps)), axis=1)
    z = total / np.sqrt(2 * (n + np.arange(1, steps + 1)))
    over = np.abs(z) >= 2.3263478740408408  # Phi(2.326) = 0.99, for either arm
    met = np.where(over.any(axis=1), over.argmax(axis=1), steps)
    growth = np.repeat((n + np.arange(1, steps + 1))[:, None] / n, 2, axis=1)
    sd = np.full(2, 1 / np.sqrt(n))
    mine = first_met(np.array([0.0, lead]), sd, growth, p_best=target, runs=runs)
    for after in (10, 50, 150, 399):
        assert (mine <= after).mean() == pytest.approx((met <= after).mean(), abs=0.06)
    # The negative control: a forecast that takes the lead for the truth is far too sure.
    sure = np.cumsum(rng.normal(lead, np.sqrt(2), (runs, steps)), axis=1) + n * lead
    sure = np.abs(sure / np.sqrt(2 * (n + np.arange(1, steps + 1)))) >= 2.3263478740408408
    assert abs(sure[:, :400].any(axis=1).mean() - (mine < steps).mean()) > 0.06


def test_the_expected_loss_of_two_arms_is_exact():
    """E max(0, X) for X ~ N(-gap, s^2), by numerical integration."""
    mean, sd, growth = np.array([0.0, 0.3]), np.array([0.1, 0.2]), np.ones((1, 2))
    s = np.hypot(*sd)
    x = np.linspace(0, 3, 200_001)
    density = np.exp(-(((x + 0.3) / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi))
    loss = np.trapezoid(x * density, x)
    assert (first_met(mean, sd, growth, loss=loss * 1.001) == 0).all()
    assert (first_met(mean, sd, growth, loss=loss * 0.999) == 1).all()


def test_arms_are_ruled_out_when_the_evidence_says_so():
    """With one step and no growth, the rule is met exactly if `Evidence` rules the arm out."""
    exp, _ = played(stop_error=0.05, floor=0.5, gap=0.0)
    ahead = forecast_stop(exp.report())
    assert isinstance(ahead, Forecast) and ahead.high is None
    stats = ArmStats([400, 300], [0.0, 0.0], [420, 280])
    _, reach = Evidence(stats).difference_interval([0, 1], [1, 0])
    pairs = np.array([[[0.0, reach[0]], [reach[1], 0.0]]])
    for factor, step in ((1.01, 0), (0.99, 1)):
        mean = np.array([factor * float(reach[0]), 0.0])
        assert (first_met(mean, np.full(2, 0.05), np.ones((1, 2)), reach=pairs) == step).all()


# ------------------------------------------------------------------------------ pace


def test_the_pace_is_that_of_the_latter_half_up_to_now():
    start = datetime(2026, 11, 16, tzinfo=UTC)
    times = [start + timedelta(hours=h) for h in (0, 2, 4, 6, 8)]
    history = pl.DataFrame({"time": times, "rewards": [0, 10, 20, 120, 220]}).with_columns(
        pl.col("time").dt.cast_time_unit("us")
    )
    now = start.timestamp() + 8 * 3600
    assert recent_pace(history, now) == (pytest.approx(200 / 14400), 4 * 3600)
    assert recent_pace(history, now + 3600 * 100) is None  # nothing has arrived for days
    assert recent_pace(history, start.timestamp()) is None
    assert recent_pace(history.head(0), now) is None

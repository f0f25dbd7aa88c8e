"""Plans in days: the stop rule is that of the live report, and the numbers are those of theory."""

import json
import re

import numpy as np
import polars as pl
import pytest

import varts
from tests.worlds.live_player import play
from tests.worlds.shops import Ones, World
from varts.live.core.effective import design_effects
from varts.live.core.sums import NO_UNIT, Shared, Sums
from varts.planning.arms_to_come import GaussianArms, RateArms, arms_from_prior
from varts.planning.daily_looks import ZERO_ONE, Shape, Stopped, Visitors, find_stop
from varts.planning.experiment import mean_of_blocks
from varts.planning.experiment_text import percent
from varts.planning.recorded_visits import read_visits
from varts.planning.timetable import read_timetable, read_traffic
from varts.problems import Returning
from varts.simulation.simulate import make_work

PRIOR = varts.NormalGamma.elicit(mean=12, mean_sd=1, reward_sd=8, worth=20)
QUICK = {"traffic": "200/day", "days": 7, "runs": 32, "threads": 1, "progress": False}

# ------------------------------------------------------------------ the stop rule is the live one


def as_the_live_report_stops(world, seed, shape):
    """When the live report of a world says to stop, and when `find_stop` does on the same rewards,
    of which it sees n, mean and m2 at the end of each day."""
    played = play(world, seed)
    stops = [look.report for look in played.looks if look.report.stop]
    day = next((i for i, look in enumerate(played.looks) if look.report.stop), -1)
    arm = -1 if day < 0 else stops[0].state.config.index(stops[0].winner)
    raw = [look.report.state.raw_statistics() for look in played.looks]
    known = np.array([[getattr(one, name) for one in raw] for name in ("n", "mean", "m2")])
    config = played.looks[-1].report.state.config
    return Stopped(day, arm), find_stop(config, known, shape, None)


@pytest.mark.parametrize(
    "options",
    [
        {"stop_p_best": 0.9},
        {"stop_loss": 0.01},
        {"stop_error": 0.2, "floor": 0.2},
        {"stop_p_best": 0.99, "stop_loss": 0.01, "window": 2.0, "floor": 0.1},
        {"stop_p_best": 0.9, "block": None},
    ],
    ids=str,
)
def test_a_simulated_experiment_stops_when_the_live_report_says_so(options):
    """Rewards are 0 or 1, so that n and the mean say all about them: the same day, the same arm.

    What a plan doesn't know are days that begin in the middle: the world's days are whole ones.
    """
    world = World(
        "three arms", "plan", (0.2, 0.4, 0.25), Ones(), days=12, per_day=150, steps=1,
        options=options, looks=tuple(range(1, 13)),
    )  # fmt: skip
    found = [as_the_live_report_stops(world, seed, ZERO_ONE) for seed in range(6)]
    assert all(live == planned for live, planned in found), found
    assert len({live.look for live, _ in found}) > 1  # not all of them on the same day


def test_another_shape_of_the_rewards_stops_at_another_time():
    """The negative control: with a kurtosis that is far off, the days differ."""
    world = World(
        "two arms", "plan", (0.02, 0.05), Ones(), days=20, per_day=50, steps=1,
        options={"stop_p_best": 0.9}, looks=tuple(range(1, 21)),
    )  # fmt: skip
    wrong = Shape(0.0, 1.0)
    found = [as_the_live_report_stops(world, seed, wrong) for seed in range(6)]
    assert any(live != planned for live, planned in found)


# -------------------------------------------------------------------------- returning visitors


@pytest.mark.parametrize("sticky", [False, True])
def test_the_expected_sums_of_visitors_are_the_average_ones(sticky):
    """400 simulated arms, summed up unit by unit with the live code; the errors are 3 standard
    errors of the averages (false alarms below 2 in 100)."""
    M, total, correlation, K = 60, 240, 0.4, 2
    visitors = Visitors(total / M, correlation, M, sticky)
    rng, effects, expected, units = np.random.default_rng(3), [], [], []
    for _ in range(400):
        who = rng.integers(M, size=total)
        home = rng.integers(K, size=M)
        arm = home[who] if sticky else rng.integers(K, size=total)
        own = rng.standard_normal(M)
        shared = rng.random(total) < np.sqrt(correlation)
        y = np.where(shared, own[who], rng.standard_normal(total))
        mine = arm == 0
        rewards = [
            (x, i, None, ("", 0, str(u)))
            for i, (x, u) in enumerate(zip(y[mine], who[mine], strict=True), 1)
        ]
        sums = Sums().observe_all(rewards, None, _Units())
        effects.append(design_effects({0: sums}, np.array([sums.m2]))[0])
        made = visitors.shared(sums.n, sums.m2, float(total))
        row = sums._replace(mean=0.0, origin=0.0, shared=made)
        expected.append(design_effects({0: row}, np.array([sums.m2]))[0])
        units.append(sums.shared.units - made.units)
    gap = np.array(effects) - np.array(expected)
    # The live estimate is never below 1, which biases its average upwards a little.
    assert abs(gap.mean()) < 3 * gap.std() / 20 + 0.05
    assert abs(np.mean(units)) < 3 * np.std(units) / 20 + 0.5
    assert np.mean(expected) > 1 + correlation  # the negative control: it is not 1


class _Units(dict):
    def __missing__(self, key):
        return NO_UNIT


def test_visitors_without_correlation_change_nothing():
    made = Visitors(3.0, 0.0, 100).shared(200.0, 50.0, 400.0)
    row = Sums(rewards=200, n=200.0, m2=50.0, shared=made)
    assert design_effects({0: row}, np.array([50.0]))[0] == pytest.approx(1, abs=1e-9)
    assert isinstance(made, Shared)


# ------------------------------------------------------------------------------ arms to come


def test_arms_of_a_fitted_prior_differ_more_than_those_of_the_estimate():
    """The log of kappa has an sd of 1 over priors: so the variance of means is exp(1/2) times as
    large, 1.65 (with an error of 4 % at 20,000 blocks)."""
    theta = np.tile([5.0, np.log(4.0), np.log(50.0), 0.0], (3, 1))
    sure = GaussianArms(theta, np.zeros((4, 4)))
    unsure = GaussianArms(theta, np.diag([0.0, 1.0, 0.0, 0.0]))
    rng = np.random.default_rng(0)
    spread = [each.draw(rng, 80_000).mean.var() for each in (sure, unsure)]
    assert spread[1] / spread[0] == pytest.approx(np.exp(0.5), rel=0.1)


def test_experiments_of_a_block_share_a_prior():
    theta = np.tile([0.0, 0.0, 5.0, 0.0], (2, 1))
    unsure = GaussianArms(theta, np.diag([100.0, 0.0, 0.0, 0.0]))
    mean = unsure.draw(np.random.default_rng(0), 64).mean
    within = mean.reshape(8, -1).var(axis=1).mean()
    assert mean.var() > 10 * within
    sure = GaussianArms(theta, np.zeros((4, 4))).draw(np.random.default_rng(0), 64).mean
    assert sure.var() < 3 * sure.reshape(8, -1).var(axis=1).mean()  # the negative control


def test_rates_have_the_mean_and_the_sd_that_they_should():
    drawn = RateArms(0.1, 2, 0.03).draw(np.random.default_rng(0), 40_000)
    assert drawn.mean.mean() == pytest.approx(0.1, rel=0.01)
    assert drawn.mean.std() == pytest.approx(0.03, rel=0.02)
    assert drawn.variance == pytest.approx(drawn.mean * (1 - drawn.mean))


def test_a_prior_without_a_history_is_taken_as_it_is():
    problem, past = arms_from_prior(PRIOR.for_arms(3), {})
    assert past is None and isinstance(problem, varts.GaussianBandit)
    fit = {"estimate": {"mu": 1, "kappa": 2, "alpha": 3, "beta": 4}, "experiments": 5}
    problem, past = arms_from_prior(PRIOR.for_arms(3), fit | {"covariance": np.eye(4).tolist()})
    assert past == 5 and isinstance(problem, GaussianArms)


def test_the_interval_of_the_average_covers_it():
    """Blocks of 8 whose priors differ: the mean under one of these priors lies inside the interval
    in 95 % of cases (1,000 of them, 3 standard errors are 2 %); the standard error of the overall
    mean alone covers far less."""
    rng, hits, naive = np.random.default_rng(1), 0, 0
    for _ in range(1000):
        truth, *level = 3 + 0.5 * rng.standard_normal(31)
        values = (np.array(level)[:, None] + rng.standard_normal((30, 8))).ravel()
        mean, low, high = mean_of_blocks(values, uncertain=True)
        hits += low <= truth <= high
        half = 1.96 * values.std() / np.sqrt(values.size)
        naive += mean - half <= truth <= mean + half
    assert abs(hits / 1000 - 0.95) < 0.03
    assert naive / 1000 < 0.4


# ------------------------------------------------------------------------------- what it says


def test_the_answer_comes_first_and_fits_the_line():
    made = varts.plan_experiment(PRIOR, 2, stop_p_best=0.9, **QUICK)
    for width in (80, 120):
        lines = made.text(width).split("\n")
        assert max(map(len, lines)) <= width
        assert lines[0].startswith("You'd stop after about")
    assert json.loads(made.to_json())["answer"] == list(made.answer)
    assert made.table["policy"].to_list() == ["VarTS", "Even-Split"]
    again = varts.plan_experiment(PRIOR, 2, stop_p_best=0.9, **{**QUICK, "threads": 2})
    assert again.to_json() == made.to_json()


def test_without_a_stop_rule_it_says_what_the_days_cost():
    made = varts.plan_experiment(PRIOR, 2, **QUICK)
    assert made.answer[0].startswith("In 7 days you'd give up about")
    assert "stop" not in " ".join(made.answer)
    assert made.by_week["day"].to_list() == [7]


def test_prices_scale_amounts_and_nothing_else():
    given = {"arms": 2, "rate": 0.1, "mean_sd": 0.03, **QUICK}
    one = varts.plan_experiment(**given, stop_loss=0.002)
    many = varts.plan_experiment(**given, stop_loss=0.1, price=50)
    assert one.table.equals(many.table)
    assert (50 * one.by_week["given_up"]).to_list() == many.by_week["given_up"].to_list()


def test_lower_is_better_mirrors_a_prior():
    up = varts.plan_experiment(PRIOR, 2, stop_p_best=0.9, **QUICK)
    down = varts.plan_experiment(PRIOR.mirrored(), 2, stop_p_best=0.9, goal="min", **QUICK)
    assert up.table["days"].to_list() == down.table["days"].to_list()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traffic": "500/dya"}, "traffic must be visitors per time, such as 500/day, got '500"),
        ({"traffic": 0}, "traffic per day must be finite and >= 1"),
        ({"days": 2.5}, "days must be a whole number from 1 to 3,650"),
        ({"window": "7d"}, "window must be shorter than the experiment"),
        ({"floor": 0.6}, "floor must be at most 1/2 with 2 arms in play"),
        ({"rate": 0.1}, "rate must be left out with a prior"),
        ({"correlation": 0.1}, "returning must be given with correlation"),
        ({"policy": "LinearVarTS"}, "features"),
        ({"stop_p_best": 2}, "stop_p_best must be"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_before_anything_is_simulated(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        varts.plan_experiment(PRIOR, 2, **{**QUICK, **change})


def test_without_a_prior_the_level_of_the_rewards_must_be_given():
    with pytest.raises(ValueError, match="give either a typical conversion rate"):
        varts.plan_experiment(arms=2, **QUICK)
    with pytest.raises(ValueError, match="reward_sd must be given with a mean"):
        varts.plan_experiment(arms=2, mean=3, **QUICK)
    with pytest.raises(TypeError, match="arms must be given without a prior"):
        varts.plan_experiment(rate=0.1, **QUICK)


def test_times_are_read_as_they_are_written():
    assert read_traffic("2k/week") == pytest.approx(2000 / 7)
    table = read_timetable("10/hour", "2 weeks", "36h")
    assert (table.per_day, table.days, table.delay) == (240, 14, 360)


def test_percentages_are_never_rounded_to_nothing_or_to_everything():
    assert [percent(x) for x in (0, 0.0004, 0.5, 0.9999, 1)] == [
        "0 %", "0.040 %", "50 %", "more than 99 %", "100 %",
    ]  # fmt: skip


# -------------------------------------------------------------------------------- recorded rewards


def test_the_similarity_of_visitors_is_read_from_a_log(tmp_path):
    """4,000 visitors with 3 rewards on average: the error of the correlation is about 0.01."""
    rng = np.random.default_rng(5)
    visits = 1 + rng.poisson(2, 4000)
    who = np.repeat(np.arange(4000), visits)
    alike = rng.random(who.size) < np.sqrt(0.25)
    reward = np.where(alike, rng.exponential(size=4000)[who], rng.exponential(size=who.size))
    arm = np.where(who % 2 == 0, "a", "b")
    log = pl.DataFrame({"arm": arm, "user": who, "reward": reward + 5.0 * (who % 2)})
    found = read_visits(log, "user")
    assert (found.units, found.visits) == (4000, pytest.approx(visits.mean()))
    assert found.correlation == pytest.approx(0.25, abs=0.04)
    shuffled = log.with_columns(user=pl.Series(rng.permutation(who)))  # the negative control
    assert read_visits(shuffled, "user").correlation < 0.02
    log.write_csv(tmp_path / "log.csv")
    again = read_visits(tmp_path / "log.csv", "user")
    assert again.correlation == pytest.approx(found.correlation)
    with pytest.raises(ValueError, match="unknown column 'visitor'"):
        read_visits(log, "visitor")


def test_recorded_rewards_are_paid_as_they_are():
    rewards = {"low": [0.0] * 9 + [1.0], "high": [0.0] * 9 + [50.0]}
    made = varts.plan_experiment(rewards=rewards, stop_p_best=0.95, **QUICK)
    assert made.arms == ("low", "high")
    assert "90 % of them zeros" in made.arms_from
    assert made.main.best[0] == pytest.approx(5.0 * 200 * made.main.day[0])
    with pytest.raises(ValueError, match="rate must be left out with recorded rewards"):
        varts.plan_experiment(rewards=rewards, rate=0.1, **QUICK)


# ------------------------------------------------------------------------------ returning visitors


@pytest.mark.parametrize("sticky", [False, True])
def test_rewards_of_a_visitor_are_alike_and_have_the_same_distribution(sticky):
    """The variance of a mean grows by 1 + 0.4 * (other visits of a visitor to the arm), and the
    variance of rewards stays 1. 1,200 means: 3 standard errors of a variance are 12 %."""
    shop = Returning(varts.GaussianBandit.fixed([0.0] * 3, 1.0), 200, 0.4, sticky)
    work = make_work(shop, "Even-Split", 2000, 400, 0, checkpoints=[2000])
    n, mean, m2 = np.concatenate([work.noted("Even-Split", b) for b in range(50)], axis=1)[:3, :, 0]
    others = 1999 / 200 if sticky else (2000 / 3 - 1) / 200
    assert (n * mean**2).mean() == pytest.approx(1 + 0.4 * others, rel=0.12)
    assert (m2 / n).mean() == pytest.approx(1.0, abs=0.02)
    assert (n * mean**2).mean() > 1.2  # the negative control: independent rewards give 1


@pytest.mark.parametrize("sticky", [False, True])
def test_plain_python_plays_returning_visitors_as_compiled_code_does(sticky):
    class Evenly(varts.EvenSplit):
        label = "Evenly"

        def choose(self, stats, t, rng):
            return super().choose(stats, t, rng)

    shop = Returning(varts.BernoulliBandit.fixed([0.1, 0.6]), 20, 0.5, sticky)
    made = [
        make_work(shop, {"it": policy}, 60, 8, 3, checkpoints=[60]).noted("it", 0)
        for policy in (varts.EvenSplit(), Evenly())
    ]
    if not sticky:  # an even split breaks ties in its own way
        assert made[0][3].tolist() == made[1][3].tolist()
    assert made[1][3].sum() == 8 * 60
    assert ((made[1][1] >= 0) & (made[1][1] <= 1)).all()


# ------------------------------------------------------------------------- the plan and the window


def test_a_plan_without_the_window_is_too_optimistic():
    """The negative control of the closed loop: without the window, the first rewards count a week
    too early, so that the plan's 90 % range ends before most experiments do."""
    given = {"arms": 2, "traffic": "100/day", "days": 14, "rate": 0.3, "mean_sd": 0.1,
             "stop_p_best": 0.9, "runs": 64, "threads": 1, "progress": False}  # fmt: skip
    late = varts.plan_experiment(**given, window="7d")
    soon = varts.plan_experiment(**given)
    assert late.quantile(0.05) > 7 > soon.quantile(0.5)
    assert soon.table["given_up"][0] < late.table["given_up"][0]

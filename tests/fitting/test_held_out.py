"""What a prior gains on arms that it was not learnt from."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import special, stats

import varts
from tests.seeds import fresh
from varts import NormalGamma, fit_prior
from varts.fitting.aggregate import LARGEST_SAMPLE
from varts.fitting.diagnostics import note_trial
from varts.fitting.held_out import (
    FEWEST_REWARDS,
    HeldOut,
    Reporting,
    _compare,
    _Lines,
    _LineTable,
    _MeanTable,
    _Rewards,
    hold_out,
    rewards_needed,
)
from varts.fitting.history import History, read_history
from varts.simulation.simulate import simulate

pytestmark = pytest.mark.when_changed("src/varts/fitting")


def history(J=300, n=60, seed=0, prior=None, K=3):
    """Arms of a prior, as rewards."""
    rng = np.random.default_rng(seed)
    mean, lam = (prior or NormalGamma(5, 2, 4, 12)).sample(rng, J)
    arm = np.repeat(np.arange(J), n)
    return pl.DataFrame(
        {
            "experiment": arm // K,
            "arm": arm % K,
            "reward": mean[arm] + rng.standard_normal(J * n) / np.sqrt(lam[arm]),
        }
    )


def test_the_true_kind_of_prior_is_worth_using():
    fit = fit_prior(history())
    trial = fit.diagnostics.held_out
    assert (trial.verdict, trial.splits, trial.better, trial.recorded) == ("use", 20, 20, True)
    assert trial.cut > 0.1
    (note,) = [n for n in fit.diagnostics.notes if n.startswith("for choosing, held out: ")]
    assert note.endswith(": use it") and "over 300 rounds with 3 arms" in note
    assert json.loads(fit.to_json())["fit"]["held_out"]["verdict"] == "use"


def test_a_prior_that_misleads_is_said_to():
    """The control: the same arms, and a prior that is sure of something else."""
    read = read_history(history())
    wrong = varts.NormalGamma(2, 200, 8, 0.2)  # every mean is 2, or next to it, and rewards too
    trial = varts.fitting.held_out.hold_out(read, lambda part: wrong)
    assert (trial.verdict, trial.better) == ("leave", 0)
    assert "raises regret by" in str(trial)


def test_a_prior_by_group_is_tried_by_group():
    """Arms differ by their name alone: one shared prior cannot know that, one by arm does."""
    rng = np.random.default_rng(2)
    arm = np.tile(np.repeat(np.arange(4), 40), 30)
    log = pl.DataFrame(
        {
            "experiment": np.repeat(np.arange(30), 160),
            "arm": arm,
            "reward": arm + 3 * rng.standard_normal(arm.size),
        }
    )
    shared, by_arm = (
        fit_prior(log, groups=groups).diagnostics.held_out for groups in (None, "arm")
    )
    assert by_arm.verdict == "use"
    assert by_arm.cut > shared.cut + 0.3


def test_ratings_whose_shape_does_not_fit_are_used_all_the_same():
    """Ratings 1 to 5 of 600 films: no Normal-Gamma has their shape, and the prior helps."""
    rng = np.random.default_rng(3)
    film = np.repeat(np.arange(600), rng.integers(30, 120, 600))
    taste = rng.choice([-0.8, 0.0, 0.5], 600, p=[0.3, 0.3, 0.4]) + rng.normal(0, 0.1, 600)
    stars = np.clip(np.round(3.5 + taste[film] + rng.normal(0, 1, film.size)), 1, 5)
    fit = fit_prior(pl.DataFrame({"arm": film, "reward": stars}), experiment=None)
    assert fit.diagnostics.mean_p < 1e-4
    text = str(fit.diagnostics)
    assert "does not fit (p < 0.0001)" in text and "e-" not in text
    assert ": use it, although its shape does not fit" in text


def test_statistics_pay_gaussian_rewards():
    log = history()
    rows = log.group_by("experiment", "arm", maintain_order=True).agg(
        n=pl.len(), mean=pl.col("reward").mean(), sd=pl.col("reward").std()
    )
    trial = fit_prior(rows).diagnostics.held_out
    assert trial.verdict == "use" and not trial.recorded
    assert trial.cut == pytest.approx(fit_prior(log).diagnostics.held_out.cut, abs=0.1)


def test_the_same_history_gives_the_same_bits():
    log = history(J=60)
    a, b = (fit_prior(log).diagnostics.held_out for _ in range(2))
    assert a.with_prior.tobytes() == b.with_prior.tobytes()
    assert a.without.tobytes() == b.without.tobytes()


def test_lower_is_better_is_the_mirror_image():
    log = history()
    mirror = log.with_columns(reward=-pl.col("reward"))
    a = fit_prior(log).diagnostics.held_out
    b = fit_prior(mirror, goal="min").diagnostics.held_out
    assert b.cut == pytest.approx(a.cut, abs=1e-6)


def test_too_few_arms_are_said_to_be():
    few = fit_prior(history(J=18)).diagnostics
    assert few.held_out is None
    assert any("too few arms to hold out (20 with 30 rewards or more)" in n for n in few.notes)
    thin = fit_prior(history(n=FEWEST_REWARDS - 1)).diagnostics
    assert thin.held_out is None
    off = fit_prior(history(), held_out=False).diagnostics
    assert off.held_out is None and not any("held out" in note for note in off.notes)


@pytest.mark.statistical
def test_the_bandits_are_those_of_the_simulator():
    """Gaussian arms of a prior, played here and by the engine: mean regret of 500 and 4,000 runs,
    with and without the prior, within 4 standard errors: 1 false alarm in 8,000."""
    prior = NormalGamma(0, 5, 6, 6)
    rng = np.random.default_rng(fresh(4))
    mean, lam = prior.sample(rng, 2000)
    arms = pl.DataFrame(
        {
            "experiment": np.repeat(np.arange(500), 4).astype(str),
            "arm": np.tile(np.arange(4), 500).astype(str),
            "n": 1e6,
            "mean": mean,
            "m2": (1e6 - 1) / lam,
            "m3": np.nan,
            "m4": np.nan,
        }
    )
    bandits = [(np.arange(4 * i, 4 * i + 4), prior.per_arm(4)) for i in range(500)]
    table = _MeanTable(bandits, _Rewards(History(arms, 0, {})), "max")
    tape = rng.random((500, 4, table.rounds))
    policies = {"with": varts.VarTS(prior), "without": varts.VarTS()}
    problem = varts.GaussianBandit(prior, K=4)
    study = simulate(problem, policies, table.rounds, 4000, seed=fresh(0), threads=1)
    for name, with_prior in (("with", True), ("without", False)):
        here, there = table.play(with_prior, tape, rng), study.final[name]
        error = np.sqrt(here.var() / here.size + there.var() / there.size)
        assert abs(here.mean() - there.mean()) < 4 * error


def test_recorded_rewards_are_drawn_evenly():
    """An arm of 100 different rewards: each is drawn for its share of the uniform numbers."""
    log = pl.DataFrame({"arm": "a", "experiment": "x", "reward": np.arange(100.0)})
    rewards = _Rewards(read_history(log))
    drawn = rewards.draw(np.zeros(1000, np.int64), (np.arange(1000) + 0.5) / 1000)
    assert np.unique(drawn, return_counts=True)[1].tolist() == [10] * 100
    assert rewards.mean[0] == 49.5


def test_the_sample_of_a_long_log_is_even(monkeypatch):
    """Every second row is of arm b, and arms come in runs: no period of the log shows."""
    monkeypatch.setattr("varts.fitting.aggregate.LARGEST_SAMPLE", 1000)
    n = 50_000
    log = pl.DataFrame({"experiment": "x", "arm": ["a", "b"] * (n // 2), "reward": np.arange(n)})
    sample = read_history(log).sample
    assert LARGEST_SAMPLE == 500_000 and 500 <= sample.height <= 1000
    count = dict(sample["arm"].value_counts().iter_rows())
    assert count["a"] == pytest.approx(count["b"], rel=0.1)
    gaps = np.diff(sample["value"].to_numpy())
    assert gaps.min() > 0 and gaps.max() < 5 * gaps.mean()


@pytest.mark.parametrize(
    ("with_prior", "without", "verdict"),
    [
        ([1.0] * 20, [2.0] * 20, "use"),
        ([2.0] * 20, [1.0] * 20, "leave"),
        ([0.98] * 20, [1.0] * 20, "unclear"),
        ([1.0] * 10 + [2.0] * 10, [1.5] * 20, "unclear"),
        ([0.0] * 20, [0.0] * 20, "unclear"),
        ([1.0] * 15 + [9.0] * 5, [2.0] * 20, "unclear"),
    ],
)
def test_verdicts(with_prior, without, verdict):
    trial = HeldOut(np.array(with_prior), np.array(without), 3, 60, True)
    assert trial.verdict == verdict
    assert json.loads(json.dumps(trial.to_dict()))["verdict"] == verdict


def test_notes_advise_on_choosing_and_reporting():
    """A prior that misleads over the default rounds may be worth a try over more."""
    cost, good = np.full(20, 2.0), (0.95, 0.95)
    report = Reporting(np.full(20, 0.3), 0.9412, 0.907, 0.75)
    short = HeldOut(cost, cost / 2, 3, 300, True, report)
    choosing, reporting = note_trial(good, short, True, 30)
    assert choosing == (
        "for choosing, held out: over 300 rounds with 3 arms, the prior raises regret by 100 % (in "
        "20 of 20 splits): choose without it, or give groups of arms a prior each; over more "
        "rounds it may cost nothing: try your horizon (--horizon)"
    )
    assert reporting == (
        "for reporting, held out: 95 % intervals cover 94 % of the true means with the prior and "
        "91 % without it; with it they are 25 % narrower, and the true means are more probable in "
        "20 of 20 splits: report with it"
    )
    (given,) = note_trial(good, HeldOut(cost, cost / 2, 3, 20_000, True), True, 30)
    assert "over 20,000 rounds with" in given and "try your horizon" not in given
    (unfit,) = note_trial((0.001, 0.5), HeldOut(cost / 2, cost, 3, 300, True), True, 30)
    assert unfit.endswith(": use it, although its shape does not fit")


def test_histories_carry_the_tails_of_their_rewards(tmp_path):
    rng = np.random.default_rng(5)
    log = history(J=30).with_columns(reward=pl.Series(rng.exponential(size=1800)))
    fit = fit_prior(log, held_out=False)
    rewards = [group["reward"].to_list() for _, group in log.group_by("experiment", "arm")]
    right = varts.Tails.of(varts.ArmStats.from_rewards(rewards))
    assert fit.prior.tails.kurtosis == pytest.approx(right.kurtosis, rel=1e-9)
    assert fit.prior.tails.slope == pytest.approx(right.slope, rel=1e-9)
    fit.save(tmp_path / "prior.json")
    assert varts.NormalGamma.load(tmp_path / "prior.json").tails == fit.prior.tails
    statistics = pl.DataFrame({"arm": list("abc"), "n": 9, "mean": [1.0, 2, 3], "sd": 1.0})
    assert fit_prior(statistics, experiment=None).prior.tails is None
    both = pl.concat([read_history(log).arms, read_history(log).arms[:1].with_columns(m4=np.nan)])
    assert History(both, 0, {}).tails.n == 1800


def test_reports_are_judged_apart_from_choices():
    fit = fit_prior(history())
    told = fit.diagnostics.held_out.reporting
    assert told.verdict == "use" and told.better >= 16 and told.gain.size == 20
    assert 0.92 < told.covered_with < 0.97 and 0.92 < told.covered_without < 0.99
    assert told.width < 1
    (note,) = [n for n in fit.diagnostics.notes if n.startswith("for reporting, held out: ")]
    assert note.endswith(": report with it") and "narrower" in note
    saved = json.loads(fit.to_json())["fit"]["held_out"]["reporting"]
    assert saved["verdict"] == "use" and saved["width"] == told.width


def test_control_a_prior_that_misleads_is_bad_for_reports_too():
    wrong = varts.NormalGamma(2, 200, 8, 0.2)
    trial = varts.fitting.held_out.hold_out(read_history(history()), lambda part: wrong)
    assert trial.reporting.verdict == "leave" and trial.reporting.better == 0
    assert trial.reporting.covered_with < 0.5 < trial.reporting.covered_without


def test_coverage_and_density_are_those_of_scipy():
    """Against scipy's t, arm by arm."""
    truth, loc = np.array([0.3, 2.0, -1.0]), np.array([0.0, 0.1, -0.9])
    scale, df = np.array([0.5, 0.4, 0.2]), np.array([3.0, 9.0, 40.0])
    inside, log, reach = _compare(truth, loc, scale, df)
    for i in range(3):
        t = stats.t(df[i], loc[i], scale[i])
        low, high = t.interval(0.95)
        assert inside[i] == (low <= truth[i] <= high)
        assert log[i] == pytest.approx(t.logpdf(truth[i]))
        assert reach[i] == pytest.approx((high - low) / 2)
    assert inside.tolist() == [True, False, True]


def test_the_horizon_is_that_of_the_next_experiment():
    log = history(J=60)
    short, usual, long = (
        fit_prior(log, horizon=rounds).diagnostics.held_out for rounds in (30, None, 1000)
    )
    assert (short.rounds, usual.rounds, long.rounds) == (30, 300, 1000)
    assert str(short).startswith("over 30 rounds with 3 arms, the prior")
    assert short.with_prior.mean() < usual.with_prior.mean() < long.with_prior.mean()
    one = fit_prior(log, horizon=1).diagnostics  # no arm has two rewards yet
    assert one.held_out.reporting is None and not any("for reporting" in n for n in one.notes)
    with pytest.raises(ValueError, match="horizon must be a whole number >= 1, got 0"):
        fit_prior(log, horizon=0)
    with pytest.raises(ValueError, match="horizon must be left out when nothing is held out"):
        fit_prior(log, horizon=9, held_out=False)


def test_long_horizons_play_fewer_experiments(monkeypatch):
    monkeypatch.setattr("varts.fitting.held_out.MOST_ROUNDS", 50)
    monkeypatch.setattr("varts.fitting.held_out.MOST_REWARDS", 20 * 10 * 50 * 3)
    trial = fit_prior(history(J=60), horizon=10**9).diagnostics.held_out
    assert trial.rounds == 50 and trial.splits == 20


# -------------------------------------------------------------------------------------- features


LINES = varts.LinearNormalGamma(
    0.5, 2, 4, 4, slopes=[1.0, -0.5], precision=[4.0, 40.0], center=[0.0, 5.0]
)


def lines(prior=LINES, J=80, n=60, seed=0, K=4):
    """Arms of a prior with two features, as rewards."""
    rng = np.random.default_rng(seed)
    level, slopes, lam = (part[:, 0] for part in prior.sample(rng, J))
    arm = np.repeat(np.arange(J), n)
    x = rng.normal(size=(arm.size, 2)) + prior.center
    mean = level[arm] + ((x - prior.center) * slopes[arm]).sum(axis=1)
    return pl.DataFrame(
        {
            "experiment": arm // K,
            "arm": arm % K,
            "reward": mean + rng.standard_normal(arm.size) / np.sqrt(lam[arm]),
            "a": x[:, 0],
            "b": x[:, 1],
        }
    )


def test_a_prior_with_features_is_played_and_judged_for_both():
    fit = fit_prior(lines(), features=["a", "b"], horizon=200)
    trial = fit.diagnostics.held_out
    assert (trial.verdict, trial.splits, trial.arms, trial.rounds) == ("use", 10, 4, 200)
    assert trial.reporting.verdict == "use" and trial.reporting.width < 1
    assert 0.9 < trial.reporting.covered_with < 0.97
    said = [note for note in fit.diagnostics.notes if ", held out: " in note]
    assert said[0].startswith("for choosing, held out: over 200 rounds with 4 arms, the prior cuts")
    assert said[1].endswith(": report with it")
    assert json.loads(fit.to_json())["fit"]["held_out"]["reporting"]["verdict"] == "use"


def test_control_a_prior_with_features_that_misleads():
    wrong = varts.LinearNormalGamma(
        3, 200, 40, 400, slopes=[-1.0, 1.0], precision=[99.0, 99.0], center=[0.0, 5.0]
    )
    read = read_history(lines(), features=["a", "b"])
    trial = hold_out(read, lambda part: wrong, horizon=200, with_features=True)
    assert (trial.verdict, trial.reporting.verdict) == ("leave", "leave")
    assert trial.reporting.covered_with < 0.5 < trial.reporting.covered_without


def test_with_features_lower_is_the_mirror_image_and_groups_have_their_own_entries():
    log, named = lines(J=60), {"features": ["a", "b"], "horizon": 60}
    mirror = log.with_columns(reward=-pl.col("reward"))
    a = fit_prior(log, **named).diagnostics.held_out
    again = fit_prior(log, **named).diagnostics.held_out
    b = fit_prior(mirror, goal="min", **named).diagnostics.held_out
    assert a.with_prior.tobytes() == again.with_prior.tobytes()
    assert b.cut == pytest.approx(a.cut, abs=0.02)
    apart = log.with_columns(reward=pl.col("reward") + 4 * pl.col("arm"))  # by their name alone
    shared, by_arm = (
        fit_prior(apart, groups=groups, **named).diagnostics.held_out for groups in (None, "arm")
    )
    assert by_arm.with_prior.mean() < 0.7 * shared.with_prior.mean()


def test_an_arm_must_have_rewards_for_every_number_of_its_line():
    assert [rewards_needed(d) for d in (0, 1, 2, 5)] == [30, 30, 30, 60]
    few = fit_prior(lines(n=29), features=["a", "b"]).diagnostics
    assert few.held_out is None
    assert any("too few arms to hold out (20 with 30 rewards or more)" in n for n in few.notes)


def test_arms_pay_their_line_and_its_residuals():
    """The residuals of an arm have mean 0 and the sd of its noise, and lines are those that drew
    the history: 4,000 rewards an arm, errors below 5 standard ones."""
    rng = np.random.default_rng(8)
    arm, x = np.repeat([0, 1], 4000), rng.normal(size=(8000, 2))
    reward = 3 * arm + x @ [1.0, -2.0] + np.array([1.0, 2.0])[arm] * rng.standard_normal(8000)
    log = pl.DataFrame({"arm": arm, "reward": reward, "a": x[:, 0], "b": x[:, 1]})
    world = _Lines(
        read_history(log, varts.fitting.Columns(None), features={"a": "number", "b": "number"})
    )
    at = np.array([[1.0, 1.0], [0.0, 2.0]])
    assert world.mean(np.array([0, 1]), at) == pytest.approx(
        [-1, -1], abs=5 * 2 * 5**0.5 / 4000**0.5
    )
    u = (np.arange(4000) + 0.5) / 4000
    for j in range(2):
        drawn = world.noise(np.full(4000, j), u)
        assert drawn.mean() == pytest.approx(0, abs=1e-12)
        assert drawn.std() == pytest.approx(j + 1, rel=5 / 8000**0.5)


class Gaussian:
    """Arms of `LINES`, as `_Lines` has those of a history."""

    def __init__(self, rng, J):
        self.level, self.slopes, lam = (part[:, 0] for part in LINES.sample(rng, J))
        self.sd = 1 / np.sqrt(lam)
        self.x = rng.normal(size=(50 * J, 2)) + LINES.center
        self.size, self.start = np.full(J, 50), 50 * np.arange(J)

    def mean(self, arms, x):
        return self.level[arms] + ((x - LINES.center) * self.slopes[arms]).sum(axis=-1)

    def noise(self, arms, u):
        return self.sd[arms] * special.ndtri(u)


@pytest.mark.statistical
def test_the_bandits_with_features_are_those_of_the_simulator():
    """Mean regret of 300 and 2,000 runs here and by the engine, with and without the prior, within
    4 standard errors: 1 false alarm in 8,000. The control: without the prior is not with it."""
    rng = np.random.default_rng(fresh(4))
    bandits = [(np.arange(4 * i, 4 * i + 4), LINES.per_arm(4)) for i in range(300)]
    table = _LineTable(bandits, Gaussian(rng, 1200), "max", horizon=200)
    tape = rng.random((300, 4, 200))
    table.draw_units(rng)
    policies = {"with": varts.LinearVarTS(LINES), "without": varts.LinearVarTS()}
    problem = varts.LinearBandit(
        LINES, K=4, contexts=lambda rng, size: rng.normal(size=(size, 2)) + LINES.center
    )
    study = simulate(problem, policies, 200, 2000, seed=fresh(0), threads=1)
    here = {name: table.play(name == "with", tape, rng) for name in policies}

    def gap(one, other):
        return abs(one.mean() - other.mean()) / np.sqrt(
            one.var() / one.size + other.var() / other.size
        )

    for name in policies:
        assert gap(here[name], study.final[name]) < 4
    assert gap(here["with"], study.final["without"]) > 4

"""`fit_prior` with features: what it reads, finds, says and refuses."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import optimize
from scipy import stats as st

import varts
from tests.seeds import fresh
from varts.features import Features
from varts.fitting.columns import Columns
from varts.fitting.contexts import encode_contexts, read_contexts, select_contexts
from varts.fitting.history import read_history
from varts.fitting.likelihood import Layout, slope_evidence_terms, weak_slope_penalty
from varts.fitting.sources import Source

TRUTH = varts.LinearNormalGamma(
    0.5, 2, 4, 4, slopes=[1.0, -0.5], precision=[4.0, 40.0], center=[0.0, 5.0]
)


def drawn(truth=TRUTH, arms=60, rewards=40, seed=1, noise=None):
    """A history of arms drawn from a prior, as a table with a row per reward."""
    rng = np.random.default_rng([seed, arms])
    level, slopes, lam = (part[:, 0] for part in truth.sample(rng, arms))
    arm = np.repeat(np.arange(arms), rewards)
    x = rng.normal(size=(arm.size, truth.d)) + truth.center
    e = rng.standard_normal(arm.size) if noise is None else noise(rng, arm.size)
    reward = level[arm] + ((x - truth.center) * slopes[arm]).sum(axis=1) + e / np.sqrt(lam[arm])
    features = {f"x{j}": x[:, j] for j in range(truth.d)}
    return pl.DataFrame({"experiment": arm // 5, "arm": arm % 5, "reward": reward, **features})


def stats_of(table, d):
    """A row's statistics by `LinearStats.observe`, arm after arm."""
    names = table.select("experiment", "arm").unique(maintain_order=True).rows()
    place = {name: i for i, name in enumerate(names)}
    arm = [place[row] for row in table.select("experiment", "arm").iter_rows()]
    x = table.select(f"x{j}" for j in range(d)).to_numpy()
    return varts.LinearStats.empty(len(names), d).observe(arm, x, table["reward"].to_numpy())


fit = varts.fit_prior


# ------------------------------------------------------------------------------------ contexts


DESCRIBED = Features(
    {"country": ["NL", "BE"], "visits": "number", "member": ["True", "False"]},
    interactions=[("country", "visits"), ("member", "country")],
    optional=["visits"],
)
ROWS = [
    {"country": "NL", "visits": 3.0, "member": True},
    {"country": "BE", "visits": None, "member": False},
    {"country": "FR", "visits": -1.5, "member": None},
    {"country": None, "visits": float("nan"), "member": True},
]


def test_columns_are_encoded_as_contexts_are():
    """Against `Features.encode`, one context at a time."""
    table = pl.DataFrame(ROWS)
    read = table.select(**select_contexts(DESCRIBED, Source("rows", table.lazy())))
    assert read["context lost"].null_count() == len(ROWS)
    assert (encode_contexts(DESCRIBED, read) == DESCRIBED.encode_many(ROWS)).all()
    assert read_contexts(DESCRIBED, read) == [DESCRIBED.check(row) for row in ROWS]


def test_so_are_the_words_of_a_csv_file(tmp_path):
    pl.DataFrame(ROWS).with_columns(pl.col("member").cast(pl.String).str.to_titlecase()).write_csv(
        tmp_path / "rows.csv"
    )
    table = pl.read_csv(tmp_path / "rows.csv", infer_schema=False)
    read = table.select(**select_contexts(DESCRIBED, Source("rows", table.lazy(), csv=True)))
    assert (encode_contexts(DESCRIBED, read) == DESCRIBED.encode_many(ROWS)).all()


def test_a_history_becomes_the_statistics_of_its_arms(monkeypatch):
    """In batches, as the whole is; features and rewards like 1e9 +/- 1 keep their digits."""
    table = drawn(arms=10).with_columns(pl.col("reward", "x1") + 1e9)
    whole = read_history(table, features=["x0", "x1"])
    shifted = stats_of(table.with_columns(pl.col("reward", "x1") - 1e9), 2)
    monkeypatch.setattr("varts.fitting.aggregate.ROWS_PER_BATCH", 7)
    parts = read_history(table, features=["x0", "x1"])
    for found in (whole.contexts, parts.contexts):
        assert (found.n == shifted.n).all()
        assert found.products == pytest.approx(shifted.products, rel=1e-5, abs=1e-4)
    assert whole.contexts.products[:, -1, -1] == pytest.approx(whole.stats.m2, rel=1e-6)


def test_files_give_the_same_prior_as_tables(tmp_path):
    table = drawn(arms=12, rewards=20)
    table.write_parquet(tmp_path / "a.parquet")
    table.write_csv(tmp_path / "b.csv")
    whole = fit(table, features=["x0", "x1"], held_out=False)
    for name in ("a.parquet", "b.csv"):
        other = fit(tmp_path / name, features=["x0", "x1"], held_out=False)
        assert other.prior == whole.prior
        assert other.features == whole.features


def test_columns_that_are_named_are_described():
    table = drawn(arms=4).with_columns(
        country=pl.Series(["NL"] * 100 + ["BE"] * 50 + ["LU"] * 4 + [None] * 6),
        x0=pl.col("x0").cast(pl.String),
        x1=pl.when(pl.int_range(pl.len()) > 2).then("x1"),
    )
    found = read_history(table, features=["country", "x0", "x1"]).features
    assert found.kinds == {"country": ("NL", "BE"), "x0": "number", "x1": "number"}
    assert found.optional == ("x1",)


def test_rows_without_a_context_are_counted():
    table = drawn(arms=4).with_columns(
        x0=pl.when(pl.int_range(pl.len()) > 1).then(pl.col("x0").cast(pl.String)),
        x1=pl.when(pl.int_range(pl.len()) == 5).then(float("inf")).otherwise("x1"),
    )
    table = table.with_columns(
        x0=pl.when(pl.int_range(pl.len()) == 9).then(pl.lit("many")).otherwise("x0"),
        reward=pl.when(pl.int_range(pl.len()) != 20).then("reward"),
    )
    history = read_history(table, features={"x0": "number", "x1": "number"})
    assert history.left_out == {
        "reward missing": 1,
        "x0 missing": 2,
        "x0 not a number": 1,
        "x1 not finite": 1,
    }
    assert history.rows == 160
    assert history.contexts.n.sum() == history.stats.n.sum() == 155


def test_a_history_is_read_once_and_fitted_often():
    table = drawn(arms=20)
    history = read_history(table, features=["x0", "x1"])
    assert fit(history, held_out=False).prior == fit(table, held_out=False).prior
    named = {"features": ["x0", "x1"], "held_out": False}
    assert fit(history, **named).prior == fit(table, **named).prior
    by_arm = fit(history, **named, groups="arm").prior
    assert by_arm == fit(table, **named, groups="arm").prior
    grouped = read_history(
        table.with_columns(half=pl.int_range(pl.len()) % 2), Columns(group="half"), features=["x0"]
    )
    merged = read_history(grouped, Columns(), features=["x0"])
    assert merged.contexts.products == pytest.approx(
        read_history(table, features=["x0"]).contexts.products, rel=1e-9
    )


def test_one_experiment_needs_no_column():
    table = drawn(arms=5)
    alone = fit(table.drop("experiment"), experiment=None, features=["x0"], held_out=False)
    assert alone.prior == fit(table, features=["x0"], held_out=False).prior


# ------------------------------------------------------------------------------------ evidence


def test_evidence_is_that_of_a_multivariate_t():
    """Rewards given their features: t with 2 alpha degrees of freedom, by scipy."""
    rng = np.random.default_rng(5)
    prior = varts.LinearNormalGamma(
        1.0, 2.0, 3.0, 4.0, slopes=[0.5, -1], precision=[[3, 1], [1, 2]], center=[0.2, 1]
    )
    x, y = rng.normal(size=(7, 2)), rng.normal(size=7)
    away = x - prior.center
    shape = np.eye(7) + 1 / prior.kappa + away @ np.linalg.inv(prior.precision) @ away.T
    right = st.multivariate_t.logpdf(
        y, prior.mu + away @ prior.slopes, prior.beta / prior.alpha * shape, 2 * prior.alpha
    )
    stats = varts.LinearStats.empty(1, 2).observe(np.zeros(7, int), x, y)
    assert prior.log_evidence(stats)[0] == pytest.approx(right, rel=1e-12)
    wrong = varts.LinearNormalGamma(
        1.0, 2.0, 3.0, 4.0, slopes=[0.5, -1], precision=[3, 2], center=[0.2, 1]
    )
    assert abs(wrong.log_evidence(stats)[0] - right) > 0.01  # the control


@pytest.mark.parametrize("each", [False, True])
def test_gradients_are_those_of_the_evidence(each):
    stats, layout = stats_of(drawn(arms=10), 2), Layout(2, each)
    phi = np.random.default_rng(3).normal(size=layout.size) / 2
    penalty = weak_slope_penalty(stats, layout)
    value, gradient = slope_evidence_terms(stats, phi, layout)
    numbers = layout.regression(phi, 1)
    prior = varts.LinearNormalGamma(*(part[0] for part in numbers))
    assert value == pytest.approx(prior.log_evidence(stats), rel=1e-12)
    rough = optimize.approx_fprime(
        phi, lambda p: slope_evidence_terms(stats, p, layout)[0].sum(), 1e-6
    )
    assert gradient.sum(axis=1) == pytest.approx(rough, rel=1e-3, abs=1e-2)
    rough = optimize.approx_fprime(phi, lambda p: penalty(p)[0], 1e-6)
    assert penalty(phi)[1] == pytest.approx(rough, abs=1e-5)


# ------------------------------------------------------------------------------------ the prior


def scores(found, truth):
    """Errors of the estimate in units of the reported ones; of logs where a number is above 0.

    The estimate is compared at the truth's center, which is 0.05 sds from the history's.
    """
    one, errors = found.estimate, found.errors
    level = one.mu + (truth.center - one.center) @ one.slopes
    logs = [
        np.log(getattr(one, name) / getattr(truth, name)) / (errors[name] / getattr(one, name))
        for name in ("kappa", "alpha", "beta")
    ]
    own, right = np.diag(one.precision), np.diag(truth.precision)
    return np.concatenate(
        [
            [(level - truth.mu) / errors["mu"]],
            logs,
            (one.slopes - truth.slopes) / errors["slopes"],
            np.log(own / right) / (errors["precision"] / own),
        ]
    )


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/fitting")
def test_it_recovers_the_prior_that_drew_the_history():
    """20 histories of 100 arms, 8 numbers: their mean standardised errors are within 5/sqrt(20) and
    a bias of 2/sqrt(100), which fails in 1 of 1e5 cases by accident; the sds of 20 normals are in
    0.4 to 1.75, but for 1 in 1e5. The control is another truth."""
    found = [
        fit(drawn(arms=100, rewards=20, seed=fresh(seed)), features=["x0", "x1"], held_out=False)
        for seed in range(20)
    ]
    assert all(one.diagnostics.converged for one in found)
    z = np.array([scores(one, TRUTH) for one in found])
    limit = 5 / np.sqrt(20) + 0.2
    assert (np.abs(z.mean(axis=0)) < limit).all()
    assert ((z.std(axis=0) > 0.4) & (z.std(axis=0) < 1.75)).all()
    other = varts.LinearNormalGamma(
        0.8, 3, 6, 8, slopes=[0.8, -0.4], precision=[8.0, 10.0], center=[0.0, 5.0]
    )
    wrong = np.array([scores(one, other) for one in found])
    assert (np.abs(wrong.mean(axis=0)) > limit).all()


def test_slopes_have_one_precision_unless_the_history_says_otherwise():
    alike = varts.LinearNormalGamma(0, 2, 4, 4, slopes=[1.0, 1.0], precision=[9.0, 9.0])
    one = fit(drawn(alike), features=["x0", "x1"], held_out=False)
    assert "one precision for all slopes" in one.diagnostics.search
    sds = np.sqrt(np.diag(one.estimate.precision))
    x = drawn(alike).select("x0", "x1").to_numpy().std(axis=0)
    assert sds[0] / sds[1] == pytest.approx(x[0] / x[1], rel=1e-9)
    apart = varts.LinearNormalGamma(0, 2, 4, 4, slopes=[1.0, 1.0], precision=[1.0, 100.0])
    two = fit(drawn(apart), features=["x0", "x1"], held_out=False)
    assert "a precision for each slope" in two.diagnostics.search
    assert np.diag(two.estimate.precision)[1] > 10 * np.diag(two.estimate.precision)[0]


def test_units_do_not_matter():
    """Cents and euros, another origin of a feature, levels of 1e9: the same prior in other words.

    Rewards of 1e9 +/- 1 have 7 digits after the point."""
    table = drawn(arms=30)
    one = fit(table, features=["x0", "x1"], held_out=False).prior
    moved = table.with_columns(
        reward=100 * pl.col("reward") + 1e9, x0=pl.col("x0") / 1000 + 1e6, x1=1e6 * pl.col("x1")
    )
    two = fit(moved, features=["x0", "x1"], held_out=False).prior
    assert two.mu - 1e9 == pytest.approx(100 * one.mu, rel=1e-5)
    assert (two.kappa, two.alpha) == pytest.approx((one.kappa, one.alpha), rel=1e-4)
    assert two.beta == pytest.approx(1e4 * one.beta, rel=1e-4)
    back = two.recoded([[1000, 0], [0, 1e-6]], [-1e9, 0])
    assert back.slopes / 100 == pytest.approx(one.slopes, rel=1e-4)
    assert back.precision == pytest.approx(one.precision, rel=1e-3, abs=1e-3)
    assert back.center == pytest.approx(one.center, abs=1e-6)


def test_columns_that_say_the_same_share_their_effect():
    table = drawn(arms=30)
    one = fit(table, features=["x0", "x1"], held_out=False)
    both = fit(table.with_columns(x2="x0"), features=["x0", "x1", "x2"], held_out=False)
    assert both.diagnostics.converged
    assert both.estimate.slopes[[0, 2]].sum() == pytest.approx(one.estimate.slopes[0], abs=1e-3)
    assert (both.errors["slopes"][[0, 2]] > 5).all()  # each alone is not known
    x = np.array([[0.7, 5.5], [-2, 3]])
    twice = np.column_stack([x, x[:, 0]])
    loc, worth = one.estimate.at(x)
    loc2, worth2 = both.estimate.at(twice)
    assert loc2 == pytest.approx(loc, abs=1e-3)
    assert worth2 == pytest.approx(worth, rel=0.02)
    # How the spread is shared out is not known either, so that the prior is wider, by less than e.
    ratio = one.prior.at(x)[1] / both.prior.at(twice)[1]
    assert ((ratio > 1) & (ratio < np.e)).all()


def test_a_category_never_seen_has_an_effect_like_the_others():
    table = drawn(arms=30).with_columns(country=pl.lit("NL"))
    kinds = {"x0": "number", "x1": "number", "country": ["NL", "BE"]}
    found = fit(table, features=kinds, held_out=False)
    alone = fit(table, features=["x0", "x1"], held_out=False)
    assert found.prior.slopes[:2] == pytest.approx(alone.prior.slopes)
    assert (found.prior.slopes[2:] == 0).all()
    spread = found.prior.slope_beliefs().scale[0]
    assert spread[:2].min() < spread[2] < spread[:2].max()
    assert any(
        note.startswith("country=BE, country=other never varied")
        for note in found.diagnostics.notes
    )
    with pytest.raises(ValueError, match="features must vary in the history, got country=BE"):
        fit(table, features={"country": ["NL", "BE"]})


def test_few_arms_make_a_wide_prior():
    table = drawn(arms=2)
    found = fit(table, features=["x0", "x1"])
    prior, rough = found.prior, found.estimate
    assert found.diagnostics.converged
    assert prior.kappa < rough.kappa / 2
    assert (np.diag(prior.precision) < np.diag(rough.precision)).all()
    assert any("little history" in note for note in found.diagnostics.notes)
    assert any(
        "too few arms to hold out (20 with 30 rewards or more)" in one
        for one in found.diagnostics.notes
    )
    with pytest.raises(ValueError, match="history must have at least 2 arms"):
        fit(table.filter(pl.col("arm") == 0), features=["x0"])


def test_arms_that_do_not_differ_are_noted():
    same = varts.LinearNormalGamma(1, 1e9, 1e9, 1e9, slopes=[1.0, 0.0], precision=[1e9, 1e9])
    found = fit(drawn(same), features=["x0", "x1"], held_out=False)
    said = " ".join(found.diagnostics.notes)
    for what in ("means", "slopes", "variances"):
        assert f"no differences between the arms' {what} are visible" in said
    other = " ".join(fit(drawn(), features=["x0", "x1"], held_out=False).diagnostics.notes)
    assert "no differences" not in other  # the control


def gain_on_new_arms(found, table, d=2):
    """Nats an arm that the prior gains over what LinearVarTS starts from, on other arms."""
    arms = stats_of(table, d)
    plain = varts.policies.linear.unit_free_linear_prior(stats_of(found[1], d).pooled())
    return (found[0].prior.log_evidence(arms) - plain.log_evidence(arms)).mean()


@pytest.mark.when_changed("src/varts/fitting")
def test_it_foresees_arms_of_the_same_world_and_does_no_harm_elsewhere():
    """On 200 arms that were not in the history; the gain was 3.3 nats an arm, and 0.7 where arms
    have nothing in common: the unit-free start counts the spread between arms as noise."""
    history = drawn(arms=40)
    found = fit(history, features=["x0", "x1"])
    assert gain_on_new_arms((found, history), drawn(arms=200, seed=9)) > 2
    assert found.diagnostics.held_out.verdict == "use"
    wild = varts.LinearNormalGamma(0, 1e-3, 0.5, 1, slopes=[0.0, 0.0], precision=[1e-3, 1e-3])
    history = drawn(wild, arms=40)
    found = fit(history, features=["x0", "x1"])
    assert gain_on_new_arms((found, history), drawn(wild, arms=200, seed=9)) > 0
    assert found.diagnostics.held_out.verdict != "leave"


def test_a_prior_of_another_world_is_worse():
    """The control of the test before."""
    other = varts.LinearNormalGamma(
        3, 200, 40, 400, slopes=[-1.0, 1.0], precision=[99.0, 99.0], center=[0.0, 5.0]
    )
    found = fit(drawn(other, arms=40), features=["x0", "x1"], held_out=False)
    assert gain_on_new_arms((found, drawn(arms=40)), drawn(arms=200, seed=9)) < -2


def skewed(rng, n):
    """Lognormal noise with mean 0 and sd 1."""
    return (rng.lognormal(size=n) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


def residual_kurtosis(table):
    """Of what least squares leaves in every arm, averaged over the arms, which are equally long."""
    found = []
    for _, arm in table.group_by("experiment", "arm"):
        x = np.column_stack([np.ones(arm.height), arm.select("x0", "x1")])
        rest = arm["reward"] - x @ np.linalg.lstsq(x, arm["reward"], rcond=None)[0]
        found.append((rest**4).mean() / (rest**2).mean() ** 2)
    return np.mean(found)


@pytest.mark.when_changed("src/varts/fitting")
def test_rewards_that_are_not_gaussian():
    """Mean slopes do not mind: errors below 5 standard ones, exceeded by accident once in 1e6. The
    kurtosis is that of what features leave unexplained; that of the rewards themselves would not
    be noted, since slopes times features add what looks Gaussian."""
    table = drawn(arms=100, noise=skewed)
    found = fit(table, features=["x0", "x1"], held_out=False)
    assert found.diagnostics.converged
    z = (found.estimate.slopes - TRUTH.slopes) / found.errors["slopes"]
    assert (np.abs(z) < 5).all()
    right = residual_kurtosis(table)
    assert found.prior.tails.kurtosis == pytest.approx(right, rel=0.05)
    assert found.history.tails.kurtosis < 6 < right  # the control, and where notes begin
    assert any(note.startswith("kurtosis ") for note in found.diagnostics.notes)
    gaussian = fit(drawn(arms=100), features=["x0", "x1"], held_out=False)
    assert gaussian.prior.tails.kurtosis == pytest.approx(3, abs=0.3)
    assert not any("kurtosis" in note for note in gaussian.diagnostics.notes)
    by_arm = fit(gaussian.history, features=["x0", "x1"], groups="arm", held_out=False)
    assert by_arm.prior.tails.kurtosis == pytest.approx(gaussian.prior.tails.kurtosis, abs=0.1)


def test_groups_have_entries_of_their_own():
    up = varts.LinearNormalGamma(3, 4, 4, 4, slopes=[2.0, 0.0], precision=[40, 40.0], center=[0, 5])
    down = varts.LinearNormalGamma(
        -3, 4, 4, 4, slopes=[-2.0, 0], precision=[40, 40.0], center=[0, 5]
    )
    table = pl.concat(
        [
            drawn(up, arms=25).with_columns(kind=pl.lit("up")),
            drawn(down, arms=25, seed=2).with_columns(
                experiment=pl.col("experiment") + 100, kind=pl.lit("down")
            ),
        ]
    )
    found = fit(table, features=["x0", "x1"], groups="kind", held_out=False)
    assert found.groups == ("down", "up")
    assert found.prior.slopes[:, 0] == pytest.approx([-2, 2], abs=0.3)
    assert found.prior.mu == pytest.approx([-3, 3], abs=0.8)
    assert found.errors["slopes"].shape == (2, 2)
    arms = found.prior.for_arms(groups={"a": "up", "b": "down"})
    assert arms.slopes[0, 0] > 1 > -1 > arms.slopes[1, 0]
    assert abs(found.shared.slopes[0]) < 0.5


def test_it_is_kept_as_json_with_its_features(tmp_path):
    found = fit(drawn(arms=20), features=["x0", "x1"], groups="arm")
    found.save(tmp_path / "prior.json")
    assert varts.Prior.load(tmp_path / "prior.json") == found.prior
    body = json.loads((tmp_path / "prior.json").read_text())
    assert Features.from_dict(body["fit"]["features"]) == found.features
    assert body["fit"]["held_out"]["splits"] == 10
    assert varts.LinearVarTS(found).prior == found.prior
    with pytest.raises(ValueError, match="must have no features to be drawn"):
        found.plot()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"features": ["x9"]}, r"unknown column 'x9'; .*\(for a feature\)"),
        ({"features": []}, "features must be at least one column, got none"),
        ({"features": ["x0"], "method": "moments"}, "method must be 'likelihood' when there are"),
        ({"features": ["x0"], "per_group": "mu"}, "per_group must be 'all' when there are"),
        ({"features": {"x0": ["a", "b"]}}, "column 'x0' must hold categories, got Float64"),
    ],
)
def test_mistakes(options, said):
    with pytest.raises(ValueError, match=said):
        fit(drawn(arms=4), **options)


def test_more_mistakes():
    with pytest.raises(TypeError, match="features must be a Features, kinds by name or names of"):
        fit(drawn(arms=4), features="x0")
    table = pl.DataFrame({"experiment": [1, 1], "arm": [1, 2], "n": 9, "mean": 1.0, "sd": 1.0})
    with pytest.raises(ValueError, match="features need a row per reward"):
        fit(table.with_columns(x0=1.0), features=["x0"])
    history = read_history(drawn(arms=4), features=["x0"])
    with pytest.raises(ValueError, match="history must be read with these features, got x0"):
        fit(history, features=["x1"])
    with pytest.raises(ValueError, match="history must be read with these features, got none"):
        fit(read_history(drawn(arms=4)), features=["x1"])

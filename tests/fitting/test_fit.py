"""`fit_prior`: corners, units, names, files, notes; what it recovers is in test_fit_statistics."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_hex

import varts
from varts import ArmStats, NormalGamma, fit_prior
from varts.fitting.estimators import REWARDS_FOR_MOMENTS, _natural_order
from varts.fitting.fit import FittedPrior, summarise_prior
from varts.fitting.history import read_history
from varts.fitting.unit import fill_in_variances, widen
from varts.priors import Prior, UnknownArmsWarning, prior_from


def rewards(seed=0, experiments=12, arms=4, n=15):
    """A log in which arm k pays k on average, with an sd of its own in every experiment."""
    rng = np.random.default_rng(seed)
    arm = np.tile(np.repeat(np.arange(arms), n), experiments)
    experiment = np.repeat(np.arange(experiments), arms * n)
    sd = np.exp(0.4 * rng.standard_normal((experiments, arms)))[experiment, arm]
    mean = (np.arange(arms) + 0.5 * rng.standard_normal((experiments, arms)))[experiment, arm]
    reward = mean + sd * rng.standard_normal(arm.size)
    return pl.DataFrame({"experiment": experiment, "arm": arm, "reward": reward})


LOG = rewards()


def log_of(arms, reward, experiment=1):
    return pl.DataFrame({"experiment": experiment, "arm": list(arms), "reward": reward})


def numbers(prior):
    return np.array([getattr(prior, name) for name in ("mu", "kappa", "alpha", "beta")])


# ------------------------------------------------------------------------------------ the result


def test_a_shared_prior_is_four_numbers_with_errors():
    fit = fit_prior(LOG)
    assert isinstance(fit, FittedPrior) and isinstance(fit.prior, NormalGamma)
    assert fit.prior.K is None and fit.groups is None and fit.shared is fit.prior
    assert all(isinstance(error, float) and error > 0 for error in fit.errors.values())
    assert (fit.diagnostics.arms, fit.diagnostics.experiments) == (48, 12)
    assert fit.diagnostics.rewards == fit.diagnostics.rows == 720
    assert repr(fit).startswith("FittedPrior(likelihood, 48 arms: NormalGamma(mu=")


def test_groups_have_an_entry_each_in_a_natural_order():
    fit = fit_prior(
        LOG.with_columns(pl.format("arm {}", pl.col("arm") + 8).alias("arm")), groups="arm"
    )
    assert fit.groups == ("arm 8", "arm 9", "arm 10", "arm 11")
    assert fit.prior.mu == pytest.approx([0, 1, 2, 3], abs=0.5)
    assert fit.prior.K == 4 and fit.errors["mu"].shape == (4,)
    assert len(set(fit.prior.alpha)) == 1
    assert "4 groups" in repr(fit)
    every = fit_prior(LOG, groups="arm", per_group="all")
    assert len(set(every.prior.alpha)) == 4


def test_natural_order():
    names = ["b10", "b9", "10", "9", "a", "", "b9x", "m²"]
    assert sorted(names, key=_natural_order) == ["", "9", "10", "a", "b9", "b9x", "b10", "m²"]


def test_arms_by_name_in_any_order_and_a_name_never_seen():
    fit = fit_prior(LOG, groups="arm")
    with pytest.warns(UnknownArmsWarning, match="no entry for the arm 'new'"):
        chosen = fit.prior.for_arms(["3", "new", "0"])
    assert chosen.mu.tolist() == [fit.prior.mu[3], fit.shared.mu, fit.prior.mu[0]]
    assert chosen.kappa[1] == fit.shared.kappa
    assert (chosen.names, chosen.group) == (("3", "new", "0"), None)
    shared = fit_prior(LOG).prior.for_arms(["a", "b"])
    assert replace(shared, names=None) == fit_prior(LOG).prior.for_arms(2)


def test_a_category_is_a_group_too():
    log = LOG.with_columns(
        kind=pl.when(pl.col("arm") < 2).then(pl.lit("low")).otherwise(pl.lit("high"))
    )
    fit = fit_prior(log, groups="kind")
    assert fit.groups == ("high", "low") and fit.prior.group == "kind"
    assert fit.shared == fit.prior.others and fit.shared.K is None
    assert fit_prior(log, groups="arm").prior.group is None  # by arm, not by a group of arms
    chosen = fit.prior.for_arms(["a", "b"], {"a": "low", "b": "high"})
    assert chosen.mu.tolist() == fit.prior.mu[::-1].tolist()
    assert fit.prior.mu == pytest.approx([2.5, 0.5], abs=0.5)


def test_an_arm_in_two_groups_is_said_to_be():
    log = LOG.with_columns(kind=pl.int_range(pl.len()) % 2)
    notes = fit_prior(log, groups="kind").diagnostics.notes
    assert any("48 arms belong to more than one group" in note for note in notes)


def test_a_history_is_read_once_and_fitted_often():
    history = read_history(LOG)
    assert fit_prior(history).prior == fit_prior(history).prior
    by_arm = fit_prior(history, groups="arm")
    assert by_arm.groups == ("0", "1", "2", "3")
    assert fit_prior(by_arm.history, groups="arm").prior == by_arm.prior
    with pytest.raises(ValueError, match="must be read with the group 'kind', got none"):
        fit_prior(history, groups="kind")


def test_a_history_read_by_category_can_be_fitted_by_arm_or_without_groups():
    """Arms of two categories are one arm again."""
    log = LOG.with_columns(kind=pl.int_range(pl.len()) % 2)
    history = fit_prior(log, groups="kind").history
    assert fit_prior(history, groups="arm").groups == ("0", "1", "2", "3")
    shared = fit_prior(history)
    assert shared.diagnostics.arms == 48
    assert numbers(shared.prior) == pytest.approx(numbers(fit_prior(LOG).prior), rel=1e-9)


def test_pandas_gives_the_same_prior():
    frame = pd.DataFrame(LOG.to_dict(as_series=False))
    assert numbers(fit_prior(frame).prior) == pytest.approx(numbers(fit_prior(LOG).prior), rel=1e-9)


# ----------------------------------------------------------------------------------------- units


@pytest.mark.parametrize("options", [{}, {"method": "moments"}, {"groups": "arm"}])
@pytest.mark.parametrize(
    ("factor", "offset", "digits"), [(100, 0, 1e-7), (1e-6, 5, 1e-6), (1, 1e9, 1e-5)]
)
def test_the_unit_of_the_rewards_changes_nothing_else(options, factor, offset, digits):
    """kappa and alpha are the same, mu and beta have the new unit; 1e9 costs the digits it must."""
    here = fit_prior(LOG, **options)
    there = fit_prior(LOG.with_columns(pl.col("reward") * factor + offset), **options)
    assert there.prior.kappa == pytest.approx(here.prior.kappa, rel=digits)
    assert there.prior.alpha == pytest.approx(here.prior.alpha, rel=digits)
    assert there.prior.beta == pytest.approx(here.prior.beta * factor**2, rel=digits)
    assert (there.prior.mu - offset) / factor == pytest.approx(here.prior.mu, abs=10 * digits)
    assert there.errors["kappa"] == pytest.approx(here.errors["kappa"], rel=100 * digits)


def test_cents_and_euros_give_the_same_decisions():
    euros = fit_prior(LOG, groups="arm").prior
    cents = fit_prior(LOG.with_columns(pl.col("reward") * 100), groups="arm").prior
    rng = np.random.default_rng(3)
    for t in range(50):
        arms = [rng.normal(2, 1, size) for size in rng.integers(0, 6, 4)]
        made = [
            varts.choose(
                varts.VarTS(prior),
                ArmStats.from_rewards([scale * arm for arm in map(np.asarray, arms)]),
                rng=np.random.default_rng(t),
            )
            for prior, scale in ((euros, 1), (cents, 100))
        ]
        assert made[0] == made[1]


# --------------------------------------------------------------------------------------- corners


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (log_of("aaa", [1.0, 2.0, 4.0]), "at least 2 arms, got 1"),
        (log_of("abc", [1.0, 2.0, 4.0]), "must have 2 rewards or more, got 0 of 3"),
        (log_of("aabc", [1.0, 2.0, 4.0, 5.0]), "must have 2 rewards or more, got 1 of 3"),
        (log_of("aabb", [2.0, 2.0, 2.0, 2.0]), "rewards must differ within at least one arm"),
        (log_of("aaabbb", [0.1] * 3 + [0.7] * 3), "rewards must differ within at least one arm"),
        (log_of("ab", [None, float("nan")]), "usable reward, got 1 reward missing, 1 reward not"),
        (log_of("", []), "usable reward, got no rows"),
    ],
)
def test_a_history_that_says_nothing_is_refused_in_one_sentence(log, sentence):
    log = log.with_columns(pl.col("reward").cast(pl.Float64))
    with pytest.raises(ValueError) as caught:
        fit_prior(log)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_options_are_checked():
    for options, words in (
        ({"method": "moment"}, "unknown method 'moment'; did you mean 'moments'?"),
        ({"groups": "arm", "per_group": "two"}, "unknown per_group 'two'"),
        (
            {"groups": "arm", "method": "moments"},
            "method must be 'likelihood' when arms are grouped",
        ),
        ({"groups": "colour"}, "unknown column 'colour'"),
    ):
        with pytest.raises(ValueError, match=r".") as caught:
            fit_prior(LOG, **options)
        assert words in str(caught.value)
    with pytest.raises(ValueError, match="at least 2 values in the history, got 'x' only"):
        fit_prior(LOG.with_columns(kind=pl.lit("x")), groups="kind")


def test_ten_rows_are_widened_and_said_to_be_few():
    rng = np.random.default_rng(1)
    fit = fit_prior(log_of("aabbccddee", rng.standard_normal(10)))
    assert np.isfinite(numbers(fit.prior)).all()
    assert fit.prior.kappa < fit.estimate.kappa and fit.prior.alpha < fit.estimate.alpha
    assert any("5 arms are little history" in note for note in fit.diagnostics.notes)
    assert np.isnan(fit.diagnostics.mean_p)
    assert "too few arms to tell" in str(fit.diagnostics)


def test_arms_that_do_not_differ_give_a_finite_prior_and_a_note():
    """40 arms of 50 rewards from one normal: kappa must exceed an arm's own 50 rewards."""
    log = log_of(np.repeat(np.arange(40), 50), np.random.default_rng(2).standard_normal(2000))
    fit = fit_prior(log)
    assert 50 < fit.estimate.kappa < 1e4 and 20 < fit.estimate.alpha < 1e4
    text = str(fit.diagnostics)
    assert "differences between the arms' means" in text
    assert "differences between the arms' variances" in text
    assert "differences" not in str(fit_prior(LOG).diagnostics)  # the control


def test_moments_say_when_a_spread_is_no_spread():
    """Means of four arms closer together than their noise allows, and variances all equal."""
    table = pl.DataFrame(
        {"experiment": 1, "arm": list("abcd"), "n": 50, "mean": [1.0, 1.01, 0.99, 1.0], "sd": 1.0}
    )
    fit = fit_prior(table, method="moments")
    assert np.isfinite(numbers(fit.prior)).all()
    notes = " ".join(fit.diagnostics.notes)
    assert "means vary no more than their sampling noise: kappa" in notes
    assert "precisions vary no more than their sampling noise: alpha" in notes


def test_moments_by_hand():
    """n = 11, d = 10: precisions 8/m2 = 1, 2, 4; mean 7/3. Second moments 48/m2^2 = 3/4 of the
    squares 1, 4, 16, mean 21/4; mean product of pairs (2 + 4 + 8)/3; nu = 21/4 - 14/3 = 7/12."""
    table = pl.DataFrame(
        {
            "experiment": 1,
            "arm": list("abc"),
            "n": 11,
            "mean": [0.0, 3.0, 6.0],
            "m2": [8.0, 4.0, 2.0],
        }
    )
    estimate = fit_prior(table, method="moments").estimate
    assert estimate.mu == pytest.approx(3)
    assert estimate.alpha == pytest.approx((7 / 3) ** 2 / (7 / 12))
    assert estimate.beta == pytest.approx((7 / 3) / (7 / 12))
    # variances 0.8, 0.4, 0.2; of the observed means 9, less (14/30)/11
    assert estimate.kappa == pytest.approx((14 / 30) / (9 - 14 / 330))


def test_moments_leave_out_arms_with_few_rewards_and_count_them():
    few = rewards(seed=1, n=REWARDS_FOR_MOMENTS - 1).with_columns(pl.col("arm") + 10)
    log = pl.concat([rewards(n=10), few])
    fit = fit_prior(log, method="moments")
    assert any("48 arms with fewer than 6 rewards" in note for note in fit.diagnostics.notes)
    assert numbers(fit.estimate) == pytest.approx(
        numbers(fit_prior(rewards(n=10), method="moments").estimate), rel=1e-6
    )
    with pytest.raises(ValueError, match="at least 3 arms with 6 rewards or more, got 0 of 48"):
        fit_prior(rewards(n=5), method="moments")


def test_arms_with_one_reward_count():
    """They say how far arms lie apart: 300 of them narrow the error of mu."""
    rng = np.random.default_rng(5)
    singles = log_of([f"s{i}" for i in range(300)], rng.normal(1.5, 1.5, 300), 99)
    log = LOG.with_columns(pl.col("arm").cast(str), pl.col("experiment").cast(pl.Int32))
    more = fit_prior(pl.concat([log, singles.with_columns(pl.col("experiment").cast(pl.Int32))]))
    assert more.diagnostics.arms == 348
    assert more.errors["mu"] < 0.6 * fit_prior(LOG).errors["mu"]


def test_equal_rewards_in_some_arms_do_not_take_over():
    """Ratings from 1 to 5: an arm of three fives has some variance, no infinite precision."""
    rng = np.random.default_rng(6)
    stars = np.clip(np.round(rng.normal(3.8, 1.0, 600)), 1, 5)
    log = log_of(np.repeat(np.arange(60), 10), stars)
    flat = log_of(["f1"] * 3 + ["f2"] * 3, [5.0] * 6)
    both = pl.concat([log.with_columns(pl.col("arm").cast(str)), flat])
    fit, without = fit_prior(both), fit_prior(log)
    assert fit.prior.mu == pytest.approx(without.prior.mu, abs=0.2)
    assert summarise_prior(fit.prior).reward_sd == pytest.approx(
        summarise_prior(without.prior).reward_sd, rel=0.15
    )
    assert any("2 arms have equal rewards only" in note for note in fit.diagnostics.notes)
    assert not any("equal rewards" in note for note in without.diagnostics.notes)


def test_only_arms_without_spread_are_given_one():
    """Typical variance 2; a single reward among equal ones: min(smallest m2 / 4, 2 / 12)."""
    ordinary = ArmStats([1, 1, 3, 5], [0.5, 0.7, 1, 2], [0, 0, 4, 8])
    assert fill_in_variances(ordinary) == (ordinary, [])
    steps = ArmStats([1, 4, 3, 5], [0, 0, 1, 2], [0, 0, 4, 8])
    made, notes = fill_in_variances(steps)
    assert made.m2.tolist() == [1 / 6, 6, 4, 8]
    assert (made.n == steps.n).all() and (made.mean == steps.mean).all()
    assert ["1 arms have equal" in notes[0], "1 arms have one reward" in notes[1]] == [True, True]
    ties = ArmStats([1, 1, 3, 5], [7, 7, 1, 2], [0, 0, 0.4, 8])
    made, notes = fill_in_variances(ties)
    assert made.m2 == pytest.approx([1.1 / 12, 1.1 / 12, 0.4, 8]) and len(notes) == 1


def test_one_wild_arm_does_not_break_the_fit():
    fit = fit_prior(pl.concat([LOG, log_of([7, 7, 7], [1e6, -1e6, 3e6]).cast(dict(LOG.schema))]))
    assert np.isfinite(numbers(fit.prior)).all() and fit.diagnostics.converged


@pytest.mark.filterwarnings("error")
def test_extreme_histories_are_fitted_without_warnings():
    """An arm at 1e12 among ordinary ones; groups 2,500 sds apart, more than exp can take."""
    rng = np.random.default_rng(9)
    arm, noise = np.repeat(np.arange(20), 5), rng.standard_normal(100)
    assert fit_prior(log_of(arm, noise + 1e12 * (arm == 3))).diagnostics.arms == 20
    apart = log_of(arm, 2 * noise + 5000 * (arm > 9)).with_columns(kind=arm > 9)
    assert np.isfinite(fit_prior(apart, groups="kind").errors["beta"]).all()


# --------------------------------------------------------------------------------- widening, words


def test_what_is_known_for_sure_is_not_widened():
    theta = np.array([0.3, 2.0, 1.0, -0.5])
    assert widen(theta, np.zeros((4, 4))) == pytest.approx(theta, abs=1e-9)


def test_widening_is_the_spread_of_a_mixture():
    """Against draws: theta normal, then an arm. The spread of log precision and of means agree."""
    rng = np.random.default_rng(7)
    theta = np.array([1.0, np.log(5), np.log(6), 0.2])
    covariance = np.diag([0.2, 0.3, 0.3, 0.2]) ** 2
    m, x, y, z = rng.multivariate_normal(theta, covariance, 400_000).T
    lam = rng.gamma(np.exp(y)) / np.exp(y + z)
    wide = widen(theta, covariance)
    again = rng.gamma(np.exp(wide[2]), size=400_000) / np.exp(wide[2] + wide[3])
    assert np.log(again).mean() == pytest.approx(np.log(lam).mean(), abs=0.02)
    assert np.log(again).std() == pytest.approx(np.log(lam).std(), rel=0.02)
    # the scale of the means at the typical precision: sqrt(v/kappa), mu's own error included
    scale2 = np.mean(np.exp(-x)) * np.exp(theta[3]) + m.var()
    assert np.exp(wide[3] - wide[1]) == pytest.approx(scale2, rel=0.01)


def test_no_error_widens_more_than_e_fold():
    theta = np.array([0.0, 5.0, 5.0, 0.0])
    wide = widen(theta, np.diag([0.0, 1e6, 0.0, 0.0]))
    assert wide[1] == pytest.approx(theta[1] - 1)
    assert np.isfinite(widen(theta, np.diag([1e3, 1e6, 1e6, 1e6]))).all()


def test_the_summary_of_a_prior_is_the_inverse_of_elicit():
    words = summarise_prior(NormalGamma.elicit(mean=[1, 2], mean_sd=3, reward_sd=4, worth=[5, 6]))
    assert words.mean.tolist() == [1, 2]
    assert words.mean_sd == pytest.approx([3, 3])
    assert words.worth_of_sd == pytest.approx([5, 6])
    assert words.worth_of_mean == pytest.approx([16 / 9] * 2)
    assert summarise_prior(NormalGamma(0, 1, 0.5, 1)).mean_sd == float("inf")
    assert summarise_prior(NormalGamma(0, 1, 0.002, 1)).reward_sd > 1e10  # of half of the arms


# ----------------------------------------------------------------------------------------- files


def test_the_saved_prior_is_an_ordinary_one(tmp_path):
    fit = fit_prior(LOG)
    fit.save(tmp_path / "prior.json")
    assert Prior.load(tmp_path / "prior.json") == prior_from(tmp_path / "prior.json") == fit.prior
    assert varts.VarTS(tmp_path / "prior.json").prior == fit.prior
    assert Prior.load(tmp_path / "prior.json").for_arms(2) == fit.prior.for_arms(2)
    body = json.loads((tmp_path / "prior.json").read_text())
    assert body["fit"]["arms"] == 48 and body["fit"]["errors"] == fit.errors
    assert np.sqrt(body["fit"]["covariance"][0][0]) == pytest.approx(fit.errors["mu"])
    kappa = np.sqrt(body["fit"]["covariance"][1][1]) * body["fit"]["estimate"]["kappa"]
    assert kappa == pytest.approx(fit.errors["kappa"])


def test_a_saved_prior_knows_its_arms_by_name(tmp_path):
    fit = fit_prior(LOG, groups="arm")
    path = tmp_path / "prior.json"
    fit.save(path)
    assert NormalGamma.load(path) == fit.prior
    assert NormalGamma.load(path).names == ("0", "1", "2", "3")
    assert prior_from(json.loads(path.read_text())) == prior_from(fit) == fit.prior


def test_names_in_a_prior_file_are_checked():
    fields = {"type": "NormalGamma", "mu": [0, 1], "kappa": 1, "alpha": 2, "beta": 1}
    for names in (["a"], ["a", "a"], "ab", 3):
        with pytest.raises(ValueError, match="names must be 2 different names"):
            prior_from({**fields, "arms": names})
    with pytest.raises(ValueError, match="unknown arm 'c'; known: a, b"):
        prior_from({**fields, "arms": ["a", "b"]}).for_arms(["a", "c"])
    with pytest.raises(ValueError, match="at least one arm, got none"):
        prior_from({**fields, "arms": ["a", "b"]}).for_arms([])
    for others, words in (
        (3, "others of a prior must be the fields of a prior, got 3"),
        ({"type": "Normal", "mu": 0, "sigma": 1}, "unknown prior type 'Normal'"),
        (fields, "others of a prior must be shared, got one for 2 arms"),
    ):
        with pytest.raises(ValueError, match=words):
            prior_from({**fields, "arms": ["a", "b"], "others": others})
    with pytest.raises(ValueError, match="names must not be given for a prior that all arms share"):
        prior_from({**fields, "mu": 0, "arms": ["a"]})
    with pytest.raises(ValueError, match="must have the fields"):
        prior_from({**fields, "colour": 1})
    with pytest.raises(ValueError, match="must have one entry per arm"):
        NormalGamma([0, 1], 1, 2, 1).for_arms(["a", "b", "c"])


# --------------------------------------------------------------------------------------- drawing


def test_the_drawing_has_every_arm_once_and_marks_outliers():
    odd = log_of([9] * 15, 500 + np.random.default_rng(8).standard_normal(15), 0)
    fit = fit_prior(pl.concat([LOG, odd.cast(dict(LOG.schema))]))
    assert [row["arm"] for row in fit.diagnostics.outliers] == ["0/9"]
    axes = fit.plot()
    assert len(axes) == 3
    for ax in axes:
        arms, marked = ax.collections[:2]
        assert len(arms.get_offsets()) == 49
        assert len(marked.get_offsets()) == 1
    assert to_hex(axes[0].patches[0].get_edgecolor()) == "#d55e00"
    assert [ax.get_title().split(",")[0] for ax in axes[1:]] == [
        "Shape of the means",
        "Shape of the sds",
    ]
    for ax in axes:
        ax.figure.canvas.draw()


def test_the_outlier_of_an_arm_in_two_groups_is_the_one_marked():
    """Arm 0/0 is ordinary as kind a and far out as kind b: the two have the same name."""
    odd = log_of([0] * 15, 500 + np.random.default_rng(8).standard_normal(15), 0)
    log = pl.concat(
        [
            LOG.with_columns(kind=pl.lit("a")),
            LOG.with_columns(pl.col("experiment") + 50, kind=pl.lit("b")),
            odd.cast(dict(LOG.schema)).with_columns(kind=pl.lit("b")),
        ]
    )
    fit = fit_prior(log, groups="kind")
    assert {arm["arm"] for arm in fit.diagnostics.outliers} == {"0/0"}
    marked = np.asarray(fit.plot()[0].collections[1].get_offsets())
    assert marked[:, 0] == pytest.approx([500] * len(marked), abs=5) and len(marked) > 0


def test_a_drawing_by_group_names_them():
    axes = fit_prior(LOG, groups="arm").plot()
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["0", "1", "2", "3"]
    assert len(fit_prior(log_of("aabb", [1.0, 2.0, 3.0, 5.0])).plot()) == 3  # two arms: no test

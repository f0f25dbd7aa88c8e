"""Recorded rewards: what the table says is what is paid, on any number of threads."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from numba import cloudpickle
from scipy import stats

import varts
from tests.endings import endings_of
from tests.seeds import fresh
from tests.simulation.engine.calling import pulled
from varts import EmpiricalBandit
from varts.simulation.engine.kernel import kernel_of
from varts.simulation.engine.work import Work
from varts.simulation.results import RUNS_PER_BLOCK

TABLE = {"red": [0.0, 0.0, 0.0, 12.5, 3.0], "blue": [1.0, 2.5], "green": [-4.0, 30.0, 0.1, 0.2]}
LOG = pl.DataFrame(
    {
        "arm": [name for name, rewards in TABLE.items() for _ in rewards],
        "reward": [x for rewards in TABLE.values() for x in rewards],
    }
)
FALSE_ALARM = 1e-6


@pytest.fixture
def problem():
    return EmpiricalBandit(TABLE)


# ------------------------------------------------------------------------------------- the table


def test_means_and_variances_are_those_of_the_table(problem):
    """To the last bit: compared with fractions, whose arithmetic has no rounding at all."""
    for i, rewards in enumerate(TABLE.values()):
        exact = [Fraction(x) for x in rewards]
        mean = sum(exact) / len(exact)
        assert problem.mean[i] == pytest.approx(float(mean), rel=2**-52, abs=0)
        variance = sum((x - mean) ** 2 for x in exact) / len(exact)
        assert problem.variance[i] == pytest.approx(float(variance), rel=1e-15, abs=0)


def test_the_order_of_rewards_does_not_move_a_mean(rng):
    """Else one of two equal arms would be the better one, by a rounding."""
    rewards = rng.lognormal(3, 2, 10_000)
    problem = EmpiricalBandit([rewards, rng.permutation(rewards)])
    assert problem.mean[0] == problem.mean[1]
    assert varts.simulate(problem, "UCB1", 50, 8).final["UCB1"].tolist() == [0.0] * 8


def test_every_run_has_the_same_instance(problem, rng):
    drawn = problem.draw(rng, 3)
    assert (drawn.mean == problem.mean).all() and drawn.mean.shape == (3, 3)
    assert (drawn.variance == problem.variance).all()


@pytest.mark.parametrize(
    "source",
    [
        lambda folder: LOG,
        lambda folder: LOG.lazy(),
        lambda folder: pytest.importorskip("pandas").DataFrame(LOG.to_dict(as_series=False)),
        lambda folder: LOG.write_csv(folder / "log.csv") or folder / "log.csv",
        lambda folder: LOG.write_parquet(folder / "log.parquet") or str(folder / "log.parquet"),
        lambda folder: LOG.rename({"arm": "price"}).with_columns(experiment=pl.lit("spring")),
    ],
    ids=["polars", "lazy", "pandas", "csv", "parquet", "other columns"],
)
def test_a_log_is_the_same_table(source, tmp_path):
    log = source(tmp_path)
    arm = "price" if isinstance(log, pl.DataFrame) and "price" in log.columns else "arm"
    problem = EmpiricalBandit(log, arm=arm)
    assert problem.names == ("blue", "green", "red")  # sorted by name, as in a History
    for name, rewards in zip(problem.names, problem.rewards, strict=True):
        assert rewards.tolist() == TABLE[name]
    again = EmpiricalBandit(TABLE, arms=problem.names)
    assert problem.digest == again.digest and problem.describe() == again.describe()


def test_a_list_of_lists_has_no_names():
    problem = EmpiricalBandit(list(TABLE.values()))
    assert problem.names is None and problem.K == 3
    assert EmpiricalBandit(np.ones((2, 5))).counts.tolist() == [5, 5]
    assert EmpiricalBandit([[1], [2]], arms=["a", "b"]).names == ("a", "b")


def test_arms_are_taken_by_name_in_any_order(problem):
    picked = EmpiricalBandit(TABLE, arms=["green", "red"])
    assert picked.names == ("green", "red")
    assert picked.mean.tolist() == problem.mean[[2, 0]].tolist()


def test_rows_that_cannot_be_used_are_counted():
    log = pl.DataFrame(
        {"arm": ["a", "a", "", "b", "b", "b"], "reward": ["1", "two", "3", "na", "inf", "4"]}
    )
    problem = EmpiricalBandit(log)
    assert [x.tolist() for x in problem.rewards] == [[1.0], [4.0]]
    assert problem.left_out == {
        "arm missing": 1,
        "reward not a number": 1,
        "reward missing": 1,
        "reward not finite": 1,
    }
    assert problem.rows == 6 and problem.describe()["left_out"] == problem.left_out
    assert repr(problem) == "EmpiricalBandit(2 arms, 2 rewards, 4 rows left out)"
    assert problem.left_out == varts.read_history(log, varts.fitting.Columns(None)).left_out


def test_one_experiment_of_several():
    log = pl.concat([LOG.with_columns(test=pl.lit(name)) for name in ("may", "june")])
    log = log.with_columns(reward=pl.col("reward") + 100 * (pl.col("test") == "june"))
    problem = EmpiricalBandit(log, experiment="test", only="june")
    assert problem.rows == LOG.height
    shift = problem.mean - EmpiricalBandit(LOG).mean
    assert shift.tolist() == pytest.approx([100] * 3)
    for given, said in (
        ({"experiment": "test"}, "the log must be of one experiment, got 2; .*'june', with only"),
        ({"experiment": "test", "only": "july"}, "unknown experiment 'july'; .*known: june, may"),
        ({"experiment": "tset"}, r"unknown column 'tset'; did you mean 'test'\?"),
        ({"only": "june"}, "only must be left out for a log without experiments, got 'june'"),
    ):
        with pytest.raises(ValueError, match=f"^{said}"):
            EmpiricalBandit(log, **given)


def test_the_prior_is_what_fit_makes_of_the_log(rng):
    table = {f"{i}": rng.normal(i, 3, 40) for i in range(8)}
    frame = pl.DataFrame(
        {"arm": np.repeat(list(table), 40), "reward": np.concatenate(list(table.values()))}
    )
    fitted = varts.fit_prior(frame, experiment=None).prior
    own = EmpiricalBandit(table).own_prior()
    for field in ("mu", "kappa", "alpha", "beta"):
        assert getattr(own, field) == pytest.approx(getattr(fitted, field), rel=1e-6)
    problem = EmpiricalBandit(table)
    assert problem.estimate_prior() == varts.NormalGamma.from_moments(
        problem.mean, 1 / problem.variance
    )


def test_provenance_knows_the_table_by_its_content(problem):
    body = varts.simulate(problem, "UCB1", 20, 8).provenance["problem"]
    assert body["rewards"] == 11 and body["arms"] == list(TABLE)
    changed = EmpiricalBandit({**TABLE, "blue": [1.0, 2.6]})
    moved = EmpiricalBandit([[0.0], [0.0, 0.0, 12.5, 3.0]])  # as many numbers, in other arms
    merged = EmpiricalBandit([[0.0, 0.0], [0.0, 12.5, 3.0]])
    assert len({body["sha256"], changed.digest, moved.digest, merged.digest}) == 4


def test_mirrored_rewards(problem):
    other = problem.mirrored()
    assert other.names == problem.names and other.mean.tolist() == (-problem.mean).tolist()
    assert (other.data == -problem.data).all()


@pytest.mark.parametrize(
    ("table", "error", "said"),
    [
        (3, TypeError, "table must be the rewards of each arm, a DataFrame or the path of a log"),
        ({}, ValueError, "arms must name at least one arm, got none"),
        ([], ValueError, "table must have at least one arm, got none"),
        ({"a": []}, ValueError, r"rewards of arm 'a' must be a list of numbers, got \[\]"),
        ({"a": 5}, ValueError, "rewards of arm 'a' must be a list of numbers, got 5"),
        ({"a": ["x"]}, TypeError, "rewards of arm 'a' must be finite"),
        ({"a": [1, math.nan]}, ValueError, "rewards of arm 'a' must be finite .*, got nan"),
        ({"a": [1e200]}, ValueError, r"rewards of arm 'a' must be finite .*, got 1e\+200"),
        ("nowhere.csv", FileNotFoundError, "no such file"),
        (pl.DataFrame({"arm": ["a"]}), ValueError, "unknown column 'reward'; known: arm "),
        (LOG.drop("arm"), ValueError, "unknown column 'arm'; known: reward "),
        (LOG.clear(), ValueError, "the log must have a usable reward, got no rows"),
        (
            LOG.with_columns(reward=pl.lit("cheap")),
            ValueError,
            "the log must have a usable reward, got 11 reward not a number",
        ),
    ],
)
def test_a_wrong_table_is_one_sentence(table, error, said):
    with pytest.raises(error, match=said):
        EmpiricalBandit(table)


def test_other_wrong_arguments():
    with pytest.raises(ValueError, match="unknown arm 'pink'; known: red, blue, green"):
        EmpiricalBandit(TABLE, arms=["red", "pink"])
    with pytest.raises(ValueError, match="arms must have different names"):
        EmpiricalBandit(TABLE, arms=["red", "red"])
    with pytest.raises(ValueError, match="arms must name all 2 arms, got 1"):
        EmpiricalBandit([[1], [2]], arms=["a"])
    with pytest.raises(ValueError, match="experiment and only must be left out"):
        EmpiricalBandit(TABLE, only="june")


# -------------------------------------------------------------------------------------- the draws


def chi_square_p(x, values):
    """The p-value of the counts of these values against equal chances."""
    found = [(x == value).sum() for value in values]
    assert sum(found) == len(x)
    return stats.chisquare(found).pvalue


@pytest.mark.statistical
@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_every_recorded_reward_is_as_likely(count):
    """Chi-square with a false-alarm rate of one in a million, over each of two arms."""
    first, second = np.arange(count) + 0.5, -1.0 - np.arange(count)
    problem = EmpiricalBandit([first, second])
    for arm, values in enumerate((first, second)):
        x = pulled(problem, arm, 200_000, fresh(3))
        assert count == 1 or chi_square_p(x, values) > FALSE_ALARM


@pytest.mark.statistical
def test_the_chi_square_test_can_fail():
    """The control: one reward in seven is 10 % likelier than the others."""
    rng = np.random.default_rng(fresh(20230309))
    values = np.arange(7.0)
    x = rng.choice(values, 200_000, p=np.array([1.1, *[1] * 6]) / 7.1)
    assert chi_square_p(x, values) < FALSE_ALARM


def test_no_uniform_number_is_beyond_the_table():
    """The largest u is 1 - 2^-53, whatever the number of rewards."""
    counts = np.array([1, 2, 3, 5, 1000, 2**20 - 1, 2**20, 2**20 + 1, 3**25], dtype=float)
    place = np.int64(np.nextafter(1.0, 0.0) * counts)
    assert (place == counts - 1).all()


@pytest.mark.statistical
def test_pulls_of_an_arm_are_independent(problem):
    """Lag-one correlation within 5 standard errors: a false-alarm rate of 6e-7."""
    x = pulled(problem, 0, 100_000, fresh(9))
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 5 / np.sqrt(len(x))


def test_the_problem_passes_its_own_check_and_a_wrong_one_does_not(problem, monkeypatch):
    problem.check(pulls=200_000)
    monkeypatch.setattr(problem, "mean", problem.mean + 0.2)
    with pytest.raises(ValueError, match="must have the mean that draw states"):
        problem.check(pulls=200_000)


# ----------------------------------------------------------------------------------- in the engine


seen: list[list[list[float]]] = []  # of each run, the rewards of each arm


class Witness(varts.Policy):
    """Pulls the arms in turn and tells what they paid."""

    label = "Witness"

    def start(self, K, rng):
        seen.append([[] for _ in range(K)])

    def update(self, arm, reward, rng):
        seen[-1][arm].append(reward)

    def choose(self, stats, t, rng):
        return t % stats.K


def endings(problem, policy, horizon, runs=RUNS_PER_BLOCK, seed=5):
    """The statistics at the end of a block's runs."""
    work = Work(problem, {"": policy}, horizon, runs, seed, np.array([horizon]))
    work.compile()
    return [stats for _, stats in endings_of(work, "", 0)]


def test_policies_in_plain_python_meet_the_rewards_that_compiled_ones_meet(problem):
    """The j-th pull of an arm pays the same: UCB1's statistics are those of the witness's list."""
    seen.clear()
    endings(problem, Witness(), 300)
    compiled = endings(problem, varts.UCB1(), 60)
    assert len(seen) == len(compiled) == RUNS_PER_BLOCK
    for rewards, stats_ in zip(seen, compiled, strict=True):
        same = varts.ArmStats.from_rewards(
            [paid[: int(n)] for paid, n in zip(rewards, stats_.n, strict=True)]
        )
        assert np.allclose(same.mean, stats_.mean, rtol=1e-12, atol=0)
        assert np.allclose(same.m2, stats_.m2, rtol=1e-9, atol=1e-12)
        assert {x for paid in rewards for x in paid} <= set(problem.data)


def test_the_same_bits_on_any_number_of_threads(problem):
    policies = [varts.VarTS(), "UCB1", "TS14", "Bernoulli-TS"]
    one, two, three = (
        varts.simulate(problem, policies, 200, 100, seed=4, threads=threads)
        for threads in (1, 2, 3)
    )
    assert one == two == three
    assert one != varts.simulate(problem, policies, 200, 100, seed=5)


def test_a_pickled_problem_plays_the_same(problem):
    there = cloudpickle.loads(cloudpickle.dumps(problem))
    assert there.digest == problem.digest
    assert varts.simulate(there, "VarTS", 100, 16) == varts.simulate(problem, "VarTS", 100, 16)


def test_another_table_compiles_nothing(problem):
    """The table is an argument: one kernel, whatever is in it."""
    others = [EmpiricalBandit(np.ones((3, 9))), EmpiricalBandit(LOG), EmpiricalBandit([[1.0, 2.0]])]
    assert len({kernel_of(varts.VarTS(), each).digest for each in (problem, *others)}) == 1
    for each in (problem, *others):
        varts.simulate(each, "VarTS", 20, 8)


def test_a_constant_arm_is_found(problem):
    """An arm that always pays 9 is better than all others, and VarTS soon pulls nothing else."""
    best = EmpiricalBandit({**TABLE, "gold": [9.0, 9.0]})
    assert varts.simulate(best, "VarTS", 2000, 40).best_share["VarTS"].mean() > 0.9


def test_a_prior_goes_by_the_names_of_the_arms():
    prior = varts.NormalGamma([1, 2, 3], 1, 2, 5, names=["green", "blue", "red"])
    sorted_ = varts.NormalGamma([3, 2, 1], 1, 2, 5)
    named = varts.simulate(EmpiricalBandit(TABLE), varts.VarTS(prior), 100, 16)
    assert named == varts.simulate(
        EmpiricalBandit(list(TABLE.values())), varts.VarTS(sorted_), 100, 16
    )


# ------------------------------------------------------------------- a problem with data of its own


class Scaled(varts.Problem):
    """Normal rewards whose sd is a number that all arms share."""

    K = 2

    def __init__(self, data):
        self.data = data

    def draw(self, rng, size):
        mean = np.broadcast_to([0.0, 1.0], (size, 2))
        return varts.Instances(mean, np.full((size, 2), 4.0), a=mean, b=mean)

    @staticmethod
    def reward(a, b, z, u, data):
        return a + data[0] * z


def test_a_problem_of_ones_own_may_have_data():
    study = varts.simulate(Scaled([2.0]), "UCB1", 100, 16)
    assert study == varts.simulate(Scaled(np.array([2.0])), "UCB1", 100, 16)
    assert study != varts.simulate(Scaled([1.9]), "UCB1", 100, 16)
    with pytest.raises(ValueError, match="reward of Scaled must have the variance that draw"):
        varts.simulate(Scaled([3.0]), "UCB1", 100, 16)


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (["x"], TypeError, "data of Scaled must be finite, got"),
        ([[2.0]], ValueError, "data of Scaled must be a list of numbers, got the shape"),
        ([], ValueError, "data of Scaled must be a list of numbers, got the shape"),
    ],
)
def test_wrong_data(data, error, said):
    with pytest.raises(error, match=said):
        varts.simulate(Scaled(data), "UCB1", 100, 16)


def test_a_formula_with_data_that_does_not_compile_is_named():
    class Searching(Scaled):
        @staticmethod
        def reward(a, b, z, u, data):
            return a + stats.norm.ppf(u) * data[0]

    with pytest.raises(ValueError, match=r"^reward of Searching must"):
        varts.simulate(Searching([2.0]), "UCB1", 100, 16)

"""Simulations with context: the compiled loops against LinearStats and plain Python."""

from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from scipy import special

import varts
from tests.policies.built import built
from tests.seeds import fresh
from varts.linear_stats import LinearStats
from varts.priors.linear import Regression, regress
from varts.simulation.engine.compiled import linear
from varts.simulation.engine.linear_memory import allocate_linear, layout_of
from varts.simulation.engine.work import Work
from varts.simulation.results import recorded_rounds

pytestmark = pytest.mark.no_cover

PRIOR = varts.LinearNormalGamma(0.5, 2, 3, 2, [0.2, -0.3], [[2, 0.5], [0.5, 1]], [0.3, -0.2])
# No two arms alike: ties are broken at random, and differently in plain Python.
UNLIKE = replace(PRIOR, mu=[0.5, 0.6, 0.4, 0.7])


def interpreted(policy, **changed):
    """The same policy in plain Python: by LinearStats, `regress` and NumPy's own draws."""

    def choose_at(self, stats, x, t, rng):
        return type(policy).choose_at(self, stats, x, t, rng)

    kind = type("Plain", (type(policy),), {"choose_at": choose_at, **changed})
    made = object.__new__(kind)
    made.__dict__.update(policy.__dict__)
    return made


def play(problem, policy, horizon=200, runs=4, naive=False, seed=3):
    named = {"it": policy}
    rounds = recorded_rounds(horizon)
    work = Work(problem, named, horizon, runs, seed, rounds, naive=naive)
    return work.play_blocks(0, work.blocks).policies["it"]


# ------------------------------------------------------------------------------ the same choices


@pytest.mark.when_changed("src/varts/simulation", except_for=["linear-LinUCB-no prior"])
@pytest.mark.parametrize("prior", [UNLIKE, None], ids=["prior", "no prior"])
@pytest.mark.parametrize("kind", [varts.LinUCB, varts.LinearGreedy])
@pytest.mark.parametrize("effect", ["linear", "threshold"])
def test_deterministic_policies_choose_as_in_plain_python(kind, prior, effect):
    """On the same visits and rewards; a different choice would show in the regret of its round."""
    problem = varts.LinearBandit(PRIOR, K=4, effect=effect, noise="fan")
    compiled, plain = play(problem, kind(prior)), play(problem, interpreted(kind(prior)))
    np.testing.assert_allclose(compiled.final, plain.final, rtol=1e-9)
    np.testing.assert_allclose(compiled.curve.mean, plain.curve.mean, rtol=1e-9)
    other = play(problem, interpreted(varts.LinUCB(prior, bonus=0.9)))  # the negative control
    assert not np.allclose(compiled.final, other.final, rtol=1e-9)


def test_a_table_is_played_as_by_hand():
    """No noise and no ties: everything follows from the order of the rows."""
    rng = np.random.default_rng(0)
    x, rewards = rng.standard_normal((70, 2)), rng.standard_normal((70, 3))
    unlike = replace(PRIOR, mu=[0.5, 0.6, 0.4])
    problem, policy = varts.RecordedBandit(x, rewards), varts.LinUCB(unlike, bonus=0.5)
    study = varts.simulate(problem, policy, horizon=100, runs=2, threads=1)
    for run in range(2):
        stats, regret, t = LinearStats.empty(3, 2), 0.0, 0
        for visits in problem.visits(0, run):
            for row, pays in zip(visits.x, visits.mean, strict=True):
                t += 1
                if t > 100:
                    break
                arm = int(np.argmax(policy.indices_at(stats, row, t)))
                stats = stats.observe(arm, row, pays[arm])
                regret += pays.max() - pays[arm]
            if t > 100:
                break
        assert study.final["LinUCB"][run] == pytest.approx(regret, rel=1e-12)


def test_all_rows_of_a_table_come_before_any_comes_again():
    problem = varts.RecordedBandit(np.arange(2500.0)[:, None], np.ones((2500, 1)))
    visits = problem.visits(0, 0)
    pieces = [next(visits).x[:, 0] for _ in range(6)]
    first, second = np.concatenate(pieces[:3]), np.concatenate(pieces[3:])
    assert sorted(first) == sorted(second) == list(range(2500))
    assert not np.array_equal(first, second)


@pytest.mark.when_changed("src/varts/simulation", except_for=["policy0"])
@pytest.mark.parametrize(
    "policy",
    [
        varts.LinearVarTS(PRIOR),
        varts.LinearTS(PRIOR, sigma=0.7),
        varts.LinUCB(PRIOR),
        varts.LinearBayesUCB(PRIOR),
        varts.LinearVarTS(varts.LinearNormalGamma(0, 1, 0.5, 1, [0, 0], [1e-6, 1e6])),
    ],
)
def test_leaving_out_arms_that_cannot_win_changes_no_choice(policy):
    problem = varts.LinearBandit(PRIOR, K=12)
    assert play(problem, policy, 500, 8) == play(problem, policy, 500, 8, naive=True)


# ------------------------------------------------------------------------------------ statistics


def apart(one, other):
    """Standard errors between the means of paired numbers."""
    gap = one - other
    return abs(gap.mean()) / (gap.std(ddof=1) / np.sqrt(len(gap)))


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation")
@pytest.mark.parametrize("prior", [PRIOR, None], ids=["prior", "no prior"])
def test_thompson_sampling_agrees_with_plain_python(prior):
    """False-alarm rate: 4 standard errors, 6e-5. The control draws twice as widely."""
    problem, policy = varts.LinearBandit(PRIOR, K=4), varts.LinearVarTS(prior)

    def twice(loc, worth, alpha, beta):
        loc, scale, df = varts.LinearVarTS.believe(loc, worth, alpha, beta)
        return loc, 2 * scale, df

    seed = fresh(3)
    compiled = play(problem, policy, 60, 100, seed=seed).final
    assert apart(compiled, play(problem, interpreted(policy), 60, 100, seed=seed).final) < 4
    wide = interpreted(policy, believe=staticmethod(twice))
    assert apart(compiled, play(problem, wide, 60, 100, seed=seed).final) > 4


@pytest.mark.statistical
def test_without_features_it_is_the_engine_without_context():
    """False-alarm rate: 4 standard errors, 6e-5; the control has another prior."""
    level = varts.NormalGamma(mu=[0.2, 0.5, 0.8], kappa=3, alpha=4, beta=1)
    prior = varts.LinearNormalGamma(level.mu, 3.0, 4.0, 1.0, np.zeros((3, 0)), np.zeros((0, 0)))
    seed = fresh(3)
    known = play(varts.GaussianBandit(level), varts.VarTS(level), 300, 2000, seed=seed).final
    problem = varts.LinearBandit(prior)
    sure = varts.LinearNormalGamma(level.mu, 30.0, 4.0, 1.0, np.zeros((3, 0)), np.zeros((0, 0)))
    found = play(problem, varts.LinearVarTS(prior), 300, 2000, seed=seed).final
    wrong = play(problem, varts.LinearVarTS(sure), 300, 2000, seed=seed).final

    def gap(one, other):
        error = np.hypot(one.std(ddof=1), other.std(ddof=1)) / np.sqrt(len(one))
        return abs(one.mean() - other.mean()) / error

    assert gap(found, known) < 4
    assert gap(wrong, known) > 4


@pytest.mark.when_changed("src/varts/simulation")
def test_features_are_worth_something():
    problem = varts.LinearBandit(K=5, d=3)
    policies = [varts.LinearVarTS(problem.prior), varts.LinearVarTS(), varts.VarTS(), varts.UCB1()]
    labels = ["prior", "none", "VarTS", "UCB1"]
    study = varts.simulate(problem, dict(zip(labels, policies, strict=True)), 500, 64)
    regret = {label: final.mean() for label, final in study.final.items()}
    assert regret["prior"] < regret["none"] < regret["VarTS"] / 3
    assert study.summary()["policy"][0] == "prior"


# -------------------------------------------------------------------------------------- numerics


@njit
def learn_all(rows, rewards, d, memory):
    for r in range(len(rows)):
        row = np.append(rows[r], rewards[r])
        learn(0, 1, d, memory, row, memory)  # with a prior it counts in the memory, not in n


learn = linear.learn_by_prior


def learned(prior, rows, rewards):
    """The regression of one arm that the engine arrives at, reward by reward."""
    d, at = prior.d, layout_of(1, prior.d)
    memory = allocate_linear(varts.LinearVarTS(prior), 1, d)
    learn_all(rows, rewards, d, memory)
    numbers, slopes = memory[at.numbers : at.slopes], memory[at.slopes : at.center]
    center, root = memory[at.center : at.root], memory[at.root : at.reach].reshape(d, d)
    return *numbers, slopes, root @ root.T, center


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("level", [0.0, 1e6])
def test_the_root_does_not_drift(unit, level):
    """100,000 rewards one by one against `regress` at once; the tolerance is for rounding, which
    takes some of the digits that a level of a million leaves."""
    rng = np.random.default_rng(1)
    rows = unit * (rng.standard_normal((100_000, 3)) + np.array([0, 5, 0]))
    rows[:, 2] = rows[:, 0] + 1e-3 * unit * rng.standard_normal(len(rows))  # nearly collinear
    rewards = level + rows @ [1 / unit, -2 / unit, 0.5 / unit] + rng.standard_normal(len(rows))
    prior = varts.LinearNormalGamma(level, 1, 2, 1, np.zeros(3), np.full(3, unit**2))
    found = learned(prior, rows, rewards)
    stats = LinearStats.empty(1, 3).observe(np.zeros(len(rows), int), rows, rewards)
    right = Regression(*(each[0] for each in regress(prior.regression(1), stats)))
    np.testing.assert_allclose(found[:4], right[:4], rtol=1e-8)
    np.testing.assert_allclose(found[4] * unit, right.slopes * unit, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        found[5] @ right.precision, np.eye(3), atol=1e-6 * np.sqrt(len(rows))
    )
    np.testing.assert_allclose(found[6] / unit, right.center / unit, rtol=1e-9, atol=1e-9)


EXTREMES = {
    "more features than rewards": varts.LinearBandit(K=3, d=60),
    "200 features": varts.LinearBandit(K=2, d=200),
    "1,000 arms": varts.LinearBandit(K=1000, d=3),
    "one arm": varts.LinearBandit(K=1, d=2),
    "no features": varts.LinearBandit(K=3, d=0),
    "constant features": varts.LinearBandit(K=3, d=2, contexts=[[1.0, 7.0]]),
    "collinear": varts.LinearBandit(K=3, d=2, contexts=[[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]),
    "1e-9": varts.LinearBandit(K=3, d=2, contexts=lambda rng, n: 1e-9 * rng.random((n, 2))),
    "1e9": varts.LinearBandit(K=3, d=2, contexts=lambda rng, n: 1e9 + rng.random((n, 2))),
}


@pytest.mark.parametrize("case", EXTREMES)
@pytest.mark.parametrize("with_prior", [True, False])
@pytest.mark.parametrize("kind", [varts.LinearVarTS, varts.LinUCB, varts.LinearBayesUCB])
def test_extremes_have_finite_regret(case, with_prior, kind):
    problem = EXTREMES[case]
    horizon = 40 if problem.K < 1000 else 2020
    result = play(problem, kind(problem.prior if with_prior else None), horizon, 1)
    assert np.isfinite(result.curve.mean).all() and (result.final >= 0).all()


def test_the_quantile_is_that_of_scipy():
    stdtrit = njit(lambda df, p: special.stdtrit(df, p))
    p = 1 / np.array([2, 2.5, 3, 5, 10, 100, 1e4, 1e6])
    rest = (2.5, 2e-3), (3, 3e-6), (5, 3e-6), (30, 3e-6), (1e8, 1e-7), (np.inf, 1e-14)
    for df, digits in ((1, 1e-9), (2, 1e-9), *rest):
        found = [stdtrit(float(df), each) for each in p]
        np.testing.assert_allclose(found, special.stdtrit(df, p), rtol=digits)


# ------------------------------------------------------------------- what else a study can do

TABLE = varts.RecordedBandit(
    [[0.1, 2.0], [0.5, 1.0], [0.9, 0.0]], {"a": [1.0, 0.0, 2.0], "b": [0.0, 1.0, 1.0]}
)
PROBLEMS = [varts.LinearBandit(PRIOR, K=3, effect="threshold", noise="fan"), varts.Wheel(), TABLE]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
def test_a_saved_study_goes_on(problem, tmp_path):
    """From the recipe in its file: the problem and the policies are made again."""
    policies = ["LinearVarTS", "UCB1"]
    if problem.d == PRIOR.d and problem is not TABLE:
        policies = {"with a prior": varts.LinearVarTS(PRIOR), "UCB1": varts.UCB1()}
    few = varts.simulate(problem, policies, horizon=60, runs=16)
    loaded = varts.Study.load(few.save(tmp_path / "few"))
    assert loaded.extend(30) == varts.simulate(problem, policies, horizon=60, runs=30)
    parts = [few.select(label) for label in few.labels]
    assert parts[0].merge(parts[1]) == few
    assert all(seconds > 0 for seconds in few.seconds.values())


def test_the_seed_of_the_instances_is_that_of_the_visits():
    """The arms of a run and who comes; by default both have the seed of everything else."""
    problem, numbers = PROBLEMS[0], {"horizon": 50, "runs": 8}
    plain = varts.simulate(problem, "UCB1", **numbers, seed=5)
    same = varts.simulate(problem, "UCB1", **numbers, seed=5, instance_seed=5)
    other = varts.simulate(problem, "UCB1", **numbers, seed=5, instance_seed=6)
    assert same == plain and other != plain


def test_a_sweep_over_features():
    def make(d):
        return varts.LinearBandit(K=2, d=d), ["LinearVarTS", "VarTS"]

    done = varts.sweep({"d": [1, 2]}, make, horizon=40, runs=8)
    assert done.study(d=2) == varts.simulate(*make(2), horizon=40, runs=8)


def test_what_has_no_instances_says_so():
    with pytest.raises(ValueError, match="has no instances without features"):
        varts.simulate(PROBLEMS[0], "VarTS", 9, 8).instances  # noqa: B018


@pytest.mark.when_changed(
    "src/varts/simulation", except_for=["KnownVarianceTS", "Bernoulli-TS", "UCB1"]
)
@pytest.mark.parametrize(
    "label", [name for name, kind in varts.policies.known().items() if not kind.contextual]
)
def test_policies_without_features_play_as_if_there_were_none(label):
    """Visits that differ in nothing, arms that pay 0 and 1: regret counts pulls of the first."""
    problem = varts.RecordedBandit([[0.0], [0.0]], {"a": [0.0, 0.0], "b": [1.0, 1.0]})
    study = varts.simulate(problem, {"it": built(label)}, horizon=60, runs=4)
    pulls = study.final["it"]
    assert (pulls == pulls.round()).all() and (pulls <= 60).all()
    np.testing.assert_allclose(study.best_share["it"], 1 - pulls / 60, rtol=1e-12)


# --------------------------------------------------------------------------------- the guarantees


def test_threads_and_company_change_no_bit():
    problem = varts.LinearBandit(K=4, d=2, noise="fan")
    both = {"one": varts.LinearVarTS(), "other": varts.VarTS(), "third": varts.LinUCB(PRIOR)}
    one = varts.simulate(problem, both, 1500, 40, threads=1)
    assert one == varts.simulate(problem, both, 1500, 40, threads=3)
    alone = varts.simulate(problem, {"third": varts.LinUCB(PRIOR)}, 1500, 16)
    assert np.array_equal(alone.final["third"], one.final["third"][:16])
    shorter = varts.simulate(problem, both, 700, 40)
    assert np.array_equal(shorter.regret["one"], one.regret["one"][:700])
    assert one != varts.simulate(problem, both, 1500, 40, seed=1)


def test_a_policy_in_plain_python_sees_features_and_may_remember():
    class Patient(varts.Policy):
        label, contextual, forced = "Patient", True, 1

        def start(self, K, rng):
            self.rewards = []

        def update(self, arm, reward, rng):
            self.rewards.append(reward)

        def choose_at(self, stats, x, t, rng):
            assert x.shape == (2,) and stats.n.sum() == len(self.rewards) == t - 1
            total = stats.n @ stats.mean[:, -1]
            assert total == pytest.approx(sum(self.rewards))
            return int(x[0] > 0)

    study = varts.simulate(varts.LinearBandit(K=2, d=2), Patient(), 50, 4)
    assert study.runs == 4

    class Wrong(varts.Policy):
        contextual = True

        def choose_at(self, stats, x, t, rng):
            return 2

    with pytest.raises(ValueError, match="Wrong must choose an arm from 0 to 1, got 2"):
        varts.simulate(varts.LinearBandit(K=2, d=2), Wrong(), 50, 4)


def test_what_does_not_fit_is_refused_in_a_sentence():
    problem = varts.LinearBandit(K=3, d=3)
    for wrong, policy, sentence in (
        (
            varts.BernoulliBandit(K=3),
            "LinearVarTS",
            "it needs features, but a BernoulliBandit has none",
        ),
        (problem, varts.LinUCB(PRIOR), "prior must have the problem's 3 features, got 2"),
    ):
        with pytest.raises(ValueError, match=sentence):
            varts.simulate(wrong, policy, 10, 1)
    with pytest.raises(ValueError, match="problem must be one without context, got LinearBandit"):
        varts.Steps(problem, every=10)


def test_a_users_formula_is_compiled_whether_it_narrows_or_not():
    from dataclasses import dataclass

    from varts.policies.linear import LinearIndexPolicy

    @dataclass(frozen=True)
    class Timid(LinearIndexPolicy):
        """Prefers what it knows: its index grows with the worth."""

        label = "Timid"
        fear: float = 0.5

        @staticmethod
        def index(loc, worth, alpha, beta, t, fear):
            return loc - fear / np.sqrt(worth)

    problem = varts.LinearBandit(PRIOR, K=4)
    compiled, plain = play(problem, Timid(UNLIKE)), play(problem, interpreted(Timid(UNLIKE)))
    np.testing.assert_allclose(compiled.final, plain.final, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("expected", lambda self, arms, x: np.ones((4, 9)), "expected of Odd must have the shape"),
        ("expected", lambda self, arms, x: np.full(2, np.nan), "expected of Odd must be finite"),
        ("scatter", lambda self, arms, x: np.ones((7, 7)), "scatter of Odd must have the shape"),
        ("draw_features", lambda self, rng, n: np.ones((n, 2)), "x must have 1 features"),
        ("draw_features", lambda self, rng, n: np.ones((0, 1)), "must be rows of 1, got shape"),
        (
            "visits",
            lambda self, seed, run: iter([VISIT]),
            "must be endless, got 1 of 20",
        ),
    ],
)
def test_a_problem_that_is_none_is_refused(name, given, sentence):
    class Odd(varts.ContextualProblem):
        K, d = 2, 1

        def draw_arms(self, rng):
            return None

        def expected(self, arms, x):
            return x * np.array([1.0, -1.0])

    assert varts.simulate(Odd(), "UCB1", 20, 1, threads=1).runs == 1
    setattr(Odd, name, given)
    with pytest.raises(ValueError, match=sentence):
        varts.simulate(Odd(), "UCB1", 20, 1, threads=1)


VISIT = varts.Visits(np.ones((1, 1)), np.ones((1, 2)), np.ones((1, 2)))


def test_rewards_need_not_be_gaussian():
    class Clicks(varts.ContextualProblem):
        K, d = 2, 1
        reward = staticmethod(varts.BernoulliBandit.reward)

        def draw_arms(self, rng):
            return np.array([2.0, -2.0])

        def expected(self, arms, x):
            return 1 / (1 + np.exp(-x * arms))

    class Recorder(varts.Policy):
        label = "Recorder"

        def choose(self, stats, t, rng):
            assert set(np.round(stats.n * stats.mean, 9) % 1) <= {0.0}
            return t % 2

    study = varts.simulate(Clicks(), ["LinearVarTS", Recorder(), "VarTS"], 300, 16)
    assert study.summary()["policy"][0] == "LinearVarTS"

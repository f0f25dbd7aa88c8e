"""Index policies beyond the paper's: worked values, independent solutions, both engines alike."""

import numpy as np
import pytest
from scipy import stats as distributions
from scipy.optimize import brentq

import varts
from tests.endings import endings_of
from tests.policies.built import built
from tests.seeds import fresh
from varts import ArmStats, BernoulliBandit, GaussianBandit, NormalGamma
from varts.policies.bayes_ucb import normal_quantile, student_quantile
from varts.policies.divergence import neg_entropy, upper_mean
from varts.simulation.engine.work import Work

ONE = ArmStats(n=[10], mean=[0.5], m2=[4.0])
TWO = ArmStats(n=[10, 20], mean=[0.5, 0.8], m2=[4.0, 3.0])
TEN = ArmStats(n=[10] * 10, mean=[0.5] * 10, m2=[4.0] * 10)
PRIOR = NormalGamma(0, 1, 2, 1)

# Worked by hand for n = 10, mean = 0.5, m2 = 4, t = 100, and best = 0.8 where there is one.
WORKED = [
    (varts.KLUCB(), ONE, 0.887908762),
    (varts.KLUCBGauss(), ONE, 0.979852591),
    (varts.CHK(), ONE, 1.430005948),
    (varts.BayesUCB(), ONE, 1.094811341),
    (varts.BayesUCB(PRIOR), ONE, 0.982302668),
    (varts.IMED(), TWO, -4.534020606),
    (varts.IMEDUV(), TWO, -3.317289313),
    (varts.IMEDGauss(), TWO, -(10 * 0.3**2 / 0.5 + np.log(10))),
    (varts.MOSS(2000), TEN, 1.047332831),
]


@pytest.mark.parametrize(("policy", "stats", "value"), WORKED)
def test_worked_values(policy, stats, value):
    t = 101 if stats is TEN else 100
    assert policy.indices(stats, t)[0] == pytest.approx(value, abs=1e-9)


def approximate_indices(policy, stats, t):
    """The indices of Bayes-UCB by the formula that simulations compile; its own are exact."""
    return varts.IndexPolicy.indices(policy, stats, t)


def test_ucb1_normal_pulls_first_what_was_pulled_too_little():
    """2.307661689 once 8 ln(t) pulls are done; before that, infinity."""
    terms = varts.UCB1Normal.terms(10.0, 0.5, 4.0)
    later = varts.UCB1Normal.index(*terms, 0.0, varts.UCB1Normal.clock(100.0)[1])
    assert later == pytest.approx(2.307661689, abs=1e-9)
    for n, due in ((36, True), (37, False)):  # 8 ln(100) = 36.8
        found = varts.UCB1Normal().indices(ArmStats([n], [0.5], [4.0]), 100)[0]
        assert np.isinf(found) == due


def test_moss_anytime_by_hand():
    expected = 0.5 + np.sqrt(2.35 / 2 * np.log(2000 / 100) / 10)
    assert varts.MOSSAnytime().indices(TEN, 2000)[0] == pytest.approx(expected, rel=1e-12)


def test_the_median_of_any_belief_is_its_centre():
    """With few degrees of freedom, too: a tail of 1/2 is that of the first two rounds."""
    for df in (0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 50.0):
        assert 0 <= student_quantile(0.5, df) < 1e-15


# ----------------------------------------------------------------------------- independent ways


def divergence(p, q):
    return distributions.entropy([p, 1 - p], [q, 1 - q])


def test_kl_ucb_solves_its_equation():
    """By bisection of SciPy's relative entropy; klucbBern(0.3, 0.1) of SMPyBandits is the same."""
    assert upper_mean(0.3, 0.1, neg_entropy(0.3)) == pytest.approx(0.5210276121, abs=1e-10)
    rng = np.random.default_rng(0)
    for p, d in zip(rng.random(200), 10 ** rng.uniform(-5, 0, 200), strict=True):
        if divergence(p, 1 - 1e-9) <= d:
            continue
        expected = brentq(lambda q, p=p, d=d: divergence(p, q) - d, p, 1 - 1e-9, xtol=1e-15)
        assert upper_mean(p, d, neg_entropy(p)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("mean", [-3.0, 0.0, 1.0, 7.0])
def test_kl_ucb_and_imed_clip_means(mean):
    stats = ArmStats(n=[10, 10], mean=[mean, 0.5], m2=[1.0, 1.0])
    clipped = ArmStats(n=[10, 10], mean=[np.clip(mean, 0, 1), 0.5], m2=[1.0, 1.0])
    for policy in (varts.KLUCB(), varts.IMED()):
        found = policy.indices(stats, 100)
        assert np.isfinite(found).all()
        assert found == pytest.approx(policy.indices(clipped, 100), abs=1e-12)


def test_chk_solves_its_equation():
    """(n - 2)/2 ln(1 + (u - mean)^2/v) = ln(t); with n - 1 for n - 2 it does not."""
    rng = np.random.default_rng(0)
    n, mean = rng.integers(3, 500, 300), rng.normal(size=300)
    stats, t = ArmStats(n, mean, rng.exponential(size=300) * n), 10**6
    left = np.log1p((varts.CHK().indices(stats, t) - mean) ** 2 / (stats.m2 / n))
    assert (n - 2) / 2 * left == pytest.approx(np.full(300, np.log(t)), rel=1e-9)
    assert not np.allclose((n - 1) / 2 * left, np.log(t), rtol=1e-3)


@pytest.mark.parametrize("policy", [varts.IMED(), varts.IMEDGauss(), varts.IMEDUV()], ids=repr)
def test_imed_flips_where_the_two_sides_are_equal(policy):
    """Two arms: the worse is pulled until n D + ln(n) passes the ln(n) of the best."""
    v, gap, best_n = 0.2, 0.3, 5000
    D = {
        "IMED": divergence(0.5, 0.8),
        "IMED-Gauss": gap**2 / 0.5,
        "IMED-UV": 0.5 * np.log1p(gap**2 / v),
    }[policy.label]
    flip = brentq(lambda n: n * D + np.log(n) - np.log(best_n), 1, best_n)
    for n, arm in ((int(np.floor(flip)), 0), (int(np.ceil(flip)), 1)):
        stats = ArmStats([n, best_n], [0.5, 0.8], [v * n, v * best_n])
        assert varts.choose(policy, stats, rng=0) == arm


def test_imed_uv_does_not_write_off_an_arm_of_equal_rewards():
    stats = ArmStats([3, 40, 40], [0.0, 0.1, 0.2], [0.0, 3.0, 3.0])
    found = varts.IMEDUV().indices(stats, 84)
    assert found[0] == pytest.approx(-(1.5 * np.log1p(0.04 / (6 / 83 / 3)) + np.log(3)))
    assert np.isfinite(varts.IMEDUV().indices(ArmStats([3, 3], [0, 1e9], [0, 0]), 7)).all()


def test_quantiles_of_student():
    """3e-6 from three degrees of freedom on, exact for one and two."""
    tail, df = np.meshgrid(1 / 10 ** np.linspace(np.log10(3), 6, 300), [*range(3, 60), 3.5, 1e4])
    exact = distributions.t.isf(tail, df)
    assert np.abs(student_quantile(tail, df) / exact - 1).max() < 3e-6
    for few in (1.0, 2.0):
        expected = distributions.t.isf(tail[0], few)
        assert student_quantile(tail[0], few) == pytest.approx(expected, rel=1e-12)
    between = student_quantile(tail[0], 1.5) / distributions.t.isf(tail[0], 1.5) - 1
    assert 0.01 < np.abs(between).max() < 0.04
    deep = 10 ** np.linspace(-300, -1, 500)
    assert normal_quantile(deep) == pytest.approx(distributions.norm.isf(deep), rel=1e-14)


@pytest.mark.parametrize("policy", [varts.BayesUCB(), varts.BayesUCB(PRIOR)], ids=repr)
def test_bayes_ucb_is_the_quantile_of_the_belief(policy):
    n = np.array([4.0, 6, 12, 100, 5000])
    stats = ArmStats(n, [0.1, 0.5, 0.2, -3.0, 2.0], n * [0.5, 0.2, 1.0, 4.0, 0.1])
    for t in (5123, 10**6):
        exact, belief = policy.indices(stats, t), policy.belief(stats)
        assert exact == pytest.approx(belief.quantile(1 - 1 / t), rel=1e-12)
        off = (approximate_indices(policy, stats, t) - exact) / (exact - belief.loc)
        assert np.abs(off).max() < 3e-6


def test_bayes_ucb_with_the_theorys_exponent():
    policy, tail = varts.BayesUCB(c=5.0, horizon=2000), 1 / (100 * np.log(2000) ** 5)
    assert policy.indices(ONE, 100) == pytest.approx(policy.belief(ONE).quantile(1 - tail))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: varts.BayesUCB(c=1), "horizon must be given where c > 0, got c = 1 without it"),
        (lambda: varts.BayesUCB(c=-1), "c must be "),
        (lambda: varts.KLUCB(c=-1), "c must be "),
        (lambda: varts.KLUCBGauss(sigma=0), "sigma must be "),
        (lambda: varts.IMEDGauss(sigma=0), "sigma must be "),
        (lambda: varts.EpsilonGreedy(c=0), "c must be "),
        (lambda: varts.EpsilonGreedy(d=0), "d must be "),
        (lambda: varts.MOSSAnytime(a=0), "a must be "),
        (lambda: varts.EUCBV(100, rho=0), "rho must be "),
        (lambda: varts.EUCBV(100, psi=0), "psi must be "),
    ],
)
def test_wrong_options(make, words):
    with pytest.raises(ValueError) as error:
        make()
    assert str(error.value).startswith(words) and ", got " in str(error.value)


@pytest.mark.statistical
def test_epsilon_greedy_keeps_its_probabilities():
    """Choices against the exact chances: false alarms once in 1e6; those of c / 2 must fail."""
    policy, stats = varts.EpsilonGreedy(), ArmStats([40] * 3, [0.2, 0.6, 0.6], [1.0] * 3)
    exact, epsilon = policy.probabilities(stats, 121), 15 / 121
    assert exact == pytest.approx([epsilon / 3, *[(1 - epsilon) / 2 + epsilon / 3] * 2])
    rng = np.random.default_rng(fresh(3))
    counts = np.bincount([policy.choose(stats, 121, rng) for _ in range(20_000)], minlength=3)
    assert distributions.chisquare(counts, 20_000 * exact).pvalue > 1e-6
    wrong = varts.EpsilonGreedy(c=2.5).probabilities(stats, 121)
    assert distributions.chisquare(counts, 20_000 * wrong).pvalue < 1e-6
    with pytest.raises(TypeError, match="u must be"):
        policy.indices(stats, 121)


@pytest.mark.statistical
def test_simulated_epsilon_greedy_explores_as_it_says():
    """The worse of two sure arms is pulled when exploring only: false alarms below 1e-6."""
    problem = BernoulliBandit.fixed([0.0, 1.0])
    study = varts.simulate(problem, {"it": varts.EpsilonGreedy()}, 400, 200, seed=fresh(0))
    expected = 1 + (np.minimum(1, 10 / np.arange(3, 401)) / 2).sum()
    error = study.final["it"].std(ddof=1) / np.sqrt(200)
    assert abs(study.final["it"].mean() - expected) < 5 * error
    assert abs(study.final["it"].mean() - 0.8 * expected) > 5 * error


# ------------------------------------------------------------------------------ both engines alike


class Interpreted(varts.Policy):
    """The same policy, played in plain Python."""

    def __init__(self, policy):
        self.policy = policy

    def pulls_needed(self, K):
        return self.policy.pulls_needed(K)

    def choose(self, stats, t, rng):
        bayes = isinstance(self.policy, varts.BayesUCB)
        if bayes:
            return int(np.argmax(approximate_indices(self.policy, stats, t)))
        return int(np.argmax(self.policy.indices(stats, t)))


LABELS = ["MOSS", "MOSS-Anytime", "KL-UCB-Gauss", "CHK", "Bayes-UCB", "IMED-Gauss", "IMED-UV",
          "KL-UCB", "IMED"]  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_compiled_and_interpreted_choose_alike(label):
    """The same runs: initial pulls and rewards are keyed by the run."""
    prior = NormalGamma([0.3, 0.5, 0.6], 30, 40, 0.4)  # means in [0, 1], no ties
    ends = []
    for policy in (built(label), Interpreted(built(label))):
        work = Work(GaussianBandit(prior), {"": policy}, 150, 2, 5, np.array([150]))
        ends.append(endings_of(work, "", 0))
    for (_, compiled), (_, interpreted) in zip(*ends, strict=True):
        assert np.array_equal(compiled.n, interpreted.n)


def test_eucbv_in_phases():
    policy = varts.EUCBV(horizon=2000)
    assert policy.widths(TEN, 1.0)[0] == pytest.approx(0.563825365, abs=1e-9)
    assert policy.pulls(10, 1.0) == 6  # ln(20 * 2000) / 2 = 5.3
    assert policy.pulls(10, 2.0**-12) == 0  # a logarithm below 0
    rng = np.random.default_rng(0)
    policy.start(2, rng)
    for i in range(400):
        policy.update(i % 2, float(i % 2), rng)
    run = policy.__dict__["_run"]
    assert run.active.tolist() == [False, True] and run.epsilon < 1
    assert policy.choose(run.stats, 401, rng) == 1


def test_eucbv_is_for_simulations():
    with pytest.raises(ValueError, match="EUCBV has a memory"):
        varts.choose(varts.EUCBV(100), TEN, rng=0)


# K = 10, n = 2000, beta rewards: an independent simulation of 1,000 runs (standard errors 0.1 to
# 0.5). Five of its and our standard errors: false alarms below 1e-5 over all of them.
REFERENCE = {"CHK": 34.0, "IMED-UV": 18.6, "Bayes-UCB": 23.6, "IMED": 33.9, "KL-UCB": 36.9}


class OneTooMany(varts.CHK):
    """The control: n - 1 for n - 2, which comes to 30.4."""

    label = "wrong"

    @staticmethod
    def terms(n, mean, m2):
        return mean, m2 / n, 2 / (n - 1)


@pytest.mark.statistical
def test_regret_is_that_of_the_reference():
    policies = {label: built(label) for label in REFERENCE} | {"wrong": OneTooMany()}
    study = varts.simulate(varts.BetaBandit(10), policies, 2000, 200, seed=fresh(2))
    for label, expected in REFERENCE.items():
        error = np.hypot(study.se[label][-1], 0.5 if label in ("IMED", "KL-UCB") else 0.15)
        assert abs(study.final[label].mean() - expected) < 5 * error, label
    off = abs(study.final["wrong"].mean() - REFERENCE["CHK"])
    assert off > 5 * np.hypot(study.se["wrong"][-1], 0.15)


@pytest.mark.parametrize("goal", ["max", "min"])
@pytest.mark.parametrize("label", ["KL-UCB", "IMED", "IMED-UV", "Bayes-UCB", "Epsilon-Greedy"])
def test_live_chances_are_exact(label, goal, tmp_path):
    store = f"sqlite:///{tmp_path}/it.db"
    exp = varts.open("it", ["a", "b"], store=store, policy=label, goal=goal, seed=1)
    rng = np.random.default_rng(0)
    for i in range(60):
        decision = exp.decide(id=f"d{i}")
        mean = {"a": 0.2, "b": 0.8}[decision.arm]
        exp.reward(decision.id, float(np.clip(rng.normal(mean, 0.1), 0, 1)))
    last = [exp.decide(id=f"e{i}") for i in range(100)]
    chances = {decision.arm: decision.probability for decision in last}
    assert not any(decision.estimated for decision in last)
    best = {"max": "b", "min": "a"}[goal]
    if label == "Epsilon-Greedy":
        assert chances[best] == pytest.approx(1 - 10 / 61 / 2)
        assert 0 < sum(decision.arm != best for decision in last) < 40
    else:
        (sure,) = chances.values()
        assert sure == 1.0
    assert exp.verify(replay=True).ok

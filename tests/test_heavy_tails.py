"""Pareto rewards, mixtures and correlated means: moments and rewards against SciPy's."""

import json

import numpy as np
import pytest
from scipy import stats

import varts
from tests.seeds import fresh
from tests.simulation.engine import calling
from varts import GaussianBandit, MixtureBandit, Normal, ParetoBandit
from varts.problems.heavy_tails import SMALLEST_TAIL, standardized_mixture
from varts.simulation import study_file
from varts.simulation.storage import describe, rebuild

FALSE_ALARM = 1e-6
TAILS = [1.3, 2.5, 6.0]
CONTAMINATED = {"weights": [95, 5], "offsets": [0, 0], "scales": [1, 10]}
SKEWED = {"weights": [0.9, 0.07, 0.03], "offsets": [0, 4, 20], "scales": [1, 2, 0.5]}


def law_of(weights, offsets, scales):
    """The distribution function of a mixture, shifted and scaled to mean 0 and variance 1."""
    w, d, s = (np.array(x, dtype=float) for x in (weights, offsets, scales))
    w /= w.sum()
    center, second = w @ d, w @ (d**2 + s**2)
    sd = np.sqrt(second - center**2)

    def cdf(x):
        raw = np.asarray(x)[..., None] * sd + center
        return (w * stats.norm.cdf(raw, d, s)).sum(axis=-1)

    return cdf


def pulled(problem, arm, count=50_000):
    """Rewards of one arm by the engine's own `pay`."""
    return calling.pulled(problem, arm, count, fresh(2))


@pytest.mark.parametrize("tail", TAILS)
def test_pareto_moments_are_scipys(tail):
    drawn = ParetoBandit.fixed([2.0, 30.0], tail).draw(None, 1)
    for i, mean in enumerate([2.0, 30.0]):
        law = stats.pareto(tail, scale=drawn.a[0, i])
        assert drawn.mean[0, i] == mean == pytest.approx(law.mean(), rel=1e-12)
        assert drawn.variance[0, i] == pytest.approx(law.var(), rel=1e-9)
    assert np.isinf(drawn.variance).all() == (tail <= 2)


@pytest.mark.statistical
@pytest.mark.parametrize("tail", TAILS)
def test_pareto_rewards_are_scipys(tail):
    """Kolmogorov-Smirnov at one in a million; the control is a tail index 5 % larger."""
    problem = ParetoBandit.fixed([2.0], tail)
    x = pulled(problem, 0)
    law = stats.pareto(tail, scale=problem.row.a[0])
    other = stats.pareto(1.05 * tail, scale=problem.row.a[0])
    assert stats.kstest(x, law.cdf).pvalue > FALSE_ALARM > stats.kstest(x, other.cdf).pvalue


def test_the_smallest_tail_reaches_the_stated_mean():
    """The largest uniform number is 1 - 2^-53; what lies beyond has 0.06 % of the mean. At an index
    of 1.1, which is refused, it would have 3.5 %."""
    missing = lambda tail: (2.0**-53) ** (1 - 1 / tail)  # noqa: E731
    assert missing(SMALLEST_TAIL) < 0.001 and missing(1.1) > 0.03
    with pytest.raises(ValueError, match=r"^tail must be finite and >= 1.25, got 1.1$"):
        ParetoBandit(tail=1.1)


@pytest.mark.parametrize("parts", [CONTAMINATED, SKEWED])
def test_mixtures_have_the_stated_moments(parts):
    """Exactly, from the components; and as `check` sees them."""
    problem = MixtureBandit.fixed([1.0, -2.0], [0.5, 3.0], **parts)
    upper, offsets, scales = np.reshape(problem.data, (3, -1))
    weights = np.diff(upper, prepend=0)
    assert weights @ offsets == pytest.approx(0, abs=1e-12)
    assert weights @ (offsets**2 + scales**2) == pytest.approx(1, rel=1e-12)
    problem.check()
    louder = np.concatenate([upper, 1.3 * offsets, 1.3 * scales])  # the control
    wrong = varts.problems.Fixed(MixtureBandit, problem.row, louder)
    with pytest.raises(ValueError, match="must have the variance that draw states"):
        wrong.check()


@pytest.mark.statistical
@pytest.mark.parametrize("parts", [CONTAMINATED, SKEWED], ids=["contaminated", "skewed"])
def test_mixture_rewards_have_the_stated_law(parts):
    """Kolmogorov-Smirnov at one in a million; the control is the normal law of the same moments."""
    x = (pulled(MixtureBandit.fixed([1.0], 2.0, **parts), 0) - 1.0) / 2.0
    assert stats.kstest(x, law_of(**parts)).pvalue > FALSE_ALARM > stats.kstest(x, "norm").pvalue


@pytest.mark.parametrize(
    "problem",
    [
        ParetoBandit(4, tail=3.0),
        ParetoBandit(tail=[1.5, 3.0]),
        MixtureBandit(K=4),
        MixtureBandit(Normal([0, 1], 2), sigma=[1, 2], correlation=0.5, **SKEWED),
    ],
    ids=repr,
)
def test_every_problem_passes_its_check(problem):
    problem.check()
    drawn = problem.draw(np.random.default_rng(0), 3)
    assert drawn.mean.shape == (3, problem.K) and json.dumps(problem.describe())
    again = rebuild(json.loads(json.dumps(describe(problem))))
    assert np.array_equal(again.draw(np.random.default_rng(0), 3).mean, drawn.mean)


def test_compiled_and_plain_rewards_agree():
    """To rounding: LLVM's powers may differ from Python's in the last place."""
    for problem in (ParetoBandit(3, tail=1.5), MixtureBandit(K=3, **SKEWED)):
        one = varts.trace(problem, "UCB1", horizon=40).rounds["reward"].to_numpy()

        class Plain(varts.UCB1):
            compiled = None

        other = varts.trace(problem, Plain(), horizon=40).rounds["reward"].to_numpy()
        assert np.sort(one)[-12:] == pytest.approx(np.sort(other)[-12:], rel=1e-12)


def test_infinite_variance_has_no_prior():
    with pytest.raises(ValueError, match=r"^ParetoBandit has no prior to estimate, because"):
        ParetoBandit(tail=[3.0, 2.0]).own_prior()
    assert ParetoBandit(tail=2.5).own_prior().K == 5


MATRIX = np.array([[1, 0.9, 0], [0.9, 1, -0.3], [0, -0.3, 1]])


@pytest.mark.statistical
@pytest.mark.parametrize("correlation", [0.6, MATRIX], ids=["number", "matrix"])
def test_means_are_correlated_as_stated(correlation):
    """Fisher's z of 20,000 instances: six standard errors are a false alarm of 6e-9.

    The marginals stay those of the prior (Kolmogorov-Smirnov). The control: independent means.
    """
    prior = Normal([0, 1, 2], [1, 0.5, 2])
    problem = GaussianBandit(prior, sigma=1, correlation=correlation)
    plain = GaussianBandit(prior, sigma=1)
    rng = np.random.default_rng(fresh(3))
    x, other = (each.draw(rng, 20_000).mean for each in (problem, plain))
    wanted = np.broadcast_to(correlation, (3, 3))[np.triu_indices(3, 1)]
    for sample, close in ((x, True), (other, False)):
        got = np.corrcoef(sample.T)[np.triu_indices(3, 1)]
        assert (np.abs(np.arctanh(got) - np.arctanh(wanted)).max() * np.sqrt(20_000) < 6) == close
    for i in range(3):
        law = stats.norm([0, 1, 2][i], [1, 0.5, 2][i])
        assert stats.kstest(x[:, i], law.cdf).pvalue > FALSE_ALARM


def test_a_shock_of_the_round_cannot_be_seen():
    """Rewards of a round that go together across arms have the law of rewards that don't.

    Two arms; in each round both get the same shock. A policy sees one arm per round, so the history
    has the same law as with independent noise of the same variance: the regret of UCB1-Tuned in
    2,000 runs differs by less than four standard errors (a false alarm of 6e-5), and differs by
    more from rewards with three times the noise.
    """

    def play(seed, noise, shared):
        rng, runs = np.random.default_rng(seed), 2000
        n, mean, m2 = np.zeros((3, runs, 2))
        regret, rows = np.zeros(runs), np.arange(runs)
        for t in range(1, 101):
            arm = np.full(runs, t % 2)
            if t > 4:
                part = np.minimum(0.25, m2 / n + np.sqrt(2 * np.log(t) / n))
                arm = (mean + np.sqrt(np.log(t) / n * part)).argmax(1)
            both = rng.normal(0, noise, (runs, 2))
            own = both[:, 0] if shared else both[rows, arm]
            x = 0.3 * arm + own
            n[rows, arm] += 1
            step = x - mean[rows, arm]
            mean[rows, arm] += step / n[rows, arm]
            m2[rows, arm] += step * (x - mean[rows, arm])
            regret += 0.3 * (1 - arm)
        return regret

    one, other, louder = play(1, 0.3, True), play(2, 0.3, False), play(3, 0.9, False)
    apart = lambda x, y: abs(x.mean() - y.mean()) / np.sqrt((x.var() + y.var()) / 2000)  # noqa: E731
    assert apart(one, other) < 4 < apart(one, louder)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ParetoBandit(3, tail=[2, 3]), "K must be the number of arms (2), got 3"),
        (lambda: ParetoBandit.fixed([0.0]), "mean must be finite and > 0, got 0"),
        (lambda: MixtureBandit(K=2, weights=[1], scales=[1, 2]),
         "weights, offsets and scales must have an entry per component, got 1, 2 and 2"),
        (lambda: standardized_mixture([1, 0], [0, 0], [1, 1]), "weights must be finite and > 0"),
        (lambda: standardized_mixture([1, 1], [0, 0], [1, -1]), "scales must be finite and >= 0"),
        (lambda: standardized_mixture([1, 1], [2, 2], [0, 0]), "must give rewards that vary"),
        (lambda: GaussianBandit(K=3, correlation=0.5),
         "correlation must be left out with a NormalGamma prior, got 0.5"),
        (lambda: GaussianBandit(Normal(0, 1), 3, sigma=1, correlation=-0.6),
         "correlation must be a positive definite matrix, got -0.6"),
        (lambda: GaussianBandit(Normal(0, 1), 2, sigma=1, correlation=[[1, 2], [0, 1]]),
         "correlation must be a number or a matrix of correlations between 2 arms"),
    ],
)  # fmt: skip
def test_mistakes(make, words):
    with pytest.raises(ValueError) as error:
        make()
    assert words in str(error.value)


def made(**problem):
    return study_file.parse({"problem": problem, "policies": {"VarTS": {}}}).problem


def test_study_files():
    pareto = made(kind="pareto", K=3, tail=2.5, amount=4.0)
    assert isinstance(pareto, ParetoBandit) and pareto.tail.tolist() == [2.5] * 3
    fixed = made(kind="pareto", mean=[1.0, 2.0], tail=1.5)
    assert fixed.kind is ParetoBandit and fixed.K == 2
    mixture = made(kind="mixture", K=3, **SKEWED)
    assert isinstance(mixture, MixtureBandit) and mixture.K == 3
    fixed = made(kind="mixture", mean=[0.0, 1.0], sigma=2.0, **SKEWED)
    assert fixed.kind is MixtureBandit and np.array_equal(fixed.data, mixture.data)
    known = {"mu": [0, 0, 1], "sigma": 1.0}
    together = made(kind="gaussian", prior=known, sigma=0.5, correlation=0.8)
    assert together.correlation[0].tolist() == [1, 0.8, 0.8]
    with pytest.raises(ValueError, match="unknown key of a gaussian problem without a prior"):
        made(kind="gaussian", K=3, correlation=0.5)
    with pytest.raises(ValueError, match="a mixture problem with means needs sigma"):
        made(kind="mixture", mean=[0.0, 1.0])
    body = {"problem": {"kind": "pareto", "tail": [1.5, 3.0]}, "policies": {"VarTS": {}}}
    settings = study_file.parse_settings(body)  # two settings, not two arms
    assert [each.values for each in settings] == [{"tail": 1.5}, {"tail": 3.0}]

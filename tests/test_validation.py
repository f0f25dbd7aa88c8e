"""Bad input: an error of one line that names the argument, the rule and the offending value."""

import json

import numpy as np
import pytest

import varts
from varts import (
    MVTS,
    TS14,
    UCBV,
    ArmStats,
    BernoulliBandit,
    BetaBandit,
    GaussianBandit,
    KnownVarianceTS,
    Normal,
    NormalGamma,
    StudentT,
    VarTS,
    choose,
    simulate,
)
from varts.bounds import theorem1, theorem2
from varts.policies import make
from varts.priors import Prior

NAN, INF = float("nan"), float("inf")
PRIOR = NormalGamma([0, 1], 1, 2, 1)
NORMAL = Normal([0, 1], 1)
PROBLEM = GaussianBandit(PRIOR)
STATS = ArmStats([5, 5], [0.5, 0.4], [1, 1])
FIELDS = {"type": "NormalGamma", "mu": 0, "kappa": 1, "alpha": 2, "beta": 1}


def prior_json(**changes):
    return lambda: Prior.from_json(json.dumps({**FIELDS, **changes}))


def play(**changes):
    return lambda: simulate(**{"problem": PROBLEM, "policies": "UCB1", "runs": 8, **changes})


# what is called, then what its message must contain: the name and the offending value
CASES = {
    # priors
    "kappa < 0": (lambda: NormalGamma(0, -1, 1, 1), "kappa must be", ">= 0, got -1"),
    "alpha = 0": (lambda: NormalGamma(0, 1, 0, 1), "alpha must be", "> 0, got 0"),
    "alpha < 0 in one arm": (lambda: NormalGamma(0, 1, [1, -2], 1), "alpha must be", "got -2.0"),
    "beta = 0": (lambda: NormalGamma(0, 1, 1, 0.0), "beta must be", "> 0, got 0.0"),
    "mu NaN": (lambda: NormalGamma(NAN, 1, 1, 1), "mu must be finite", "got nan"),
    "mu infinite": (lambda: NormalGamma(INF, 1, 1, 1), "mu must be finite", "got inf"),
    "mu a word": (lambda: NormalGamma("high", 1, 1, 1), "mu must be", "got 'high'"),
    "mu nothing": (lambda: NormalGamma(None, 1, 1, 1), "mu must be", "got None"),
    "lengths": (lambda: NormalGamma([0, 1], [1, 1, 1], 1, 1), "mu", "kappa has 3"),
    "two axes": (lambda: NormalGamma([[0, 1]], 1, 1, 1), "one number or one per arm", "(1, 2)"),
    "no arms": (lambda: NormalGamma([], 1, 1, 1), "mu", "at least one arm"),
    "sigma = 0": (lambda: Normal(0, 0), "sigma must be", "> 0, got 0"),
    "arms of a prior": (lambda: PRIOR.posterior(ArmStats.empty(3)), "prior must", "got 2"),
    "known sigma": (lambda: NORMAL.posterior(STATS, sigma=-3), "sigma must be", "got -3"),
    "moments of one": (lambda: NormalGamma.from_moments([1], [1]), "at least 2 samples", "(1,)"),
    "moments unequal": (lambda: NormalGamma.from_moments([1, 2], [1]), "equal shapes", "(2,)"),
    "moments without spread": (
        lambda: NormalGamma.from_moments([1, 1], [1, 2]),
        "variance of the means",
        "got 0.0",
    ),
    "precision <= 0": (lambda: NormalGamma.from_moments([1, 2], [1, -1]), "precisions", "got -1.0"),
    "moments, kappa": (lambda: NormalGamma.from_moments([1, 2], [1, 2], "x"), "kappa", "'x'"),
    "consistent needs alpha > 1": (
        lambda: NormalGamma.from_moments([1, 2, 3], [1, 1, 100], "consistent"),
        "alpha",
        "> 1, got 0.5",
    ),
    "elicit mean_sd": (lambda: NormalGamma.elicit(0, 0, 1, 1), "mean_sd must be", "got 0"),
    "elicit reward_sd": (lambda: NormalGamma.elicit(0, 1, -1, 1), "reward_sd must be", "got -1"),
    "elicit worth": (lambda: NormalGamma.elicit(0, 1, 1, NAN), "worth must be", "got nan"),
    "no JSON": (lambda: Prior.from_json("{mu:"), "prior must be JSON", "("),
    "JSON list": (lambda: Prior.from_json("[1]"), "prior type", "NormalGamma"),
    "JSON type": (prior_json(type="Gamma"), "prior type", "'Gamma'"),
    "JSON of another type": (
        lambda: Normal.from_json(PRIOR.to_json()),
        "prior type",
        "'NormalGamma'",
    ),
    "JSON extra field": (prior_json(delta=1), "must have the fields mu, kappa", "delta"),
    "JSON bad value": (prior_json(beta=-1), "beta must be", "got -1"),
    # statistics
    "n < 0": (lambda: ArmStats([-1], [0], [0]), "n must be", "got -1"),
    "m2 < 0": (lambda: ArmStats([1], [0], [-0.5]), "m2 must be", "got -0.5"),
    "mean NaN": (lambda: ArmStats([1], [NAN], [0]), "mean must be", "got nan"),
    "stats lengths": (lambda: ArmStats([1, 1], [0, 0, 0], [0]), "mean has 3", "n has 2"),
    "K = 0": (lambda: ArmStats.empty(0), "K must be", "got 0"),
    "K = 2.5": (lambda: ArmStats.empty(2.5), "K must be", "got 2.5"),
    "reward NaN": (lambda: STATS.observe(0, NAN), "reward must be finite", "got nan"),
    "rewards inf": (lambda: STATS.observe([0, 1], [1, INF]), "reward must be finite", "got inf"),
    "rewards NaN": (lambda: ArmStats.from_rewards([[1, 2], [NAN]]), "rewards of arm 1", "got nan"),
    "rewards of no arm": (lambda: ArmStats.from_rewards([]), "rewards must have", "none"),
    "arm too large": (lambda: STATS.observe(2, 1.0), "arm must be an index from 0 to 1", "got 2"),
    "arm negative": (lambda: STATS.observe([0, -1], [1, 1]), "arm must be", "got -1"),
    "arm a float": (lambda: STATS.observe(0.5, 1.0), "arm must be", "got 0.5"),
    "arm a flag": (lambda: STATS.observe(True, 1.0), "arm must be", "got True"),
    "observe lengths": (lambda: STATS.observe([0, 1], [1, 2, 3]), "equal lengths", "2 and 3"),
    "merge other arms": (lambda: STATS.merge(ArmStats.empty(3)), "equal numbers of arms", "2, 3"),
    # beliefs
    "scale < 0": (lambda: StudentT(0, -1, 1), "scale must be", "got -1"),
    "df = 0": (lambda: StudentT(0, 1, 0), "df must be", "got 0"),
    "quantile 1": (lambda: StudentT(0, 1, 3).quantile(1), "p must be", "got 1"),
    "interval 95": (lambda: StudentT(0, 1, 3).interval(95), "level must be", "got 95"),
    "Beta a": (lambda: varts.Beta(0, 1), "a must be", "got 0"),
    # policies
    "unknown policy": (lambda: make("vart"), "unknown policy 'vart'", "VarTS, "),
    "policy a number": (lambda: make(3), "policy must be", "got 3"),
    "unknown option": (lambda: make("UCB-V", zeeta=1), "'zeeta'", "did you mean 'zeta'"),
    "option of none": (lambda: make("UCB1", c=1), "UCB1 takes no options", "'c'"),
    "zeta": (lambda: UCBV(zeta=0), "zeta must be", "got 0"),
    "c": (lambda: UCBV(c=-1), "c must be", "got -1"),
    "b": (lambda: UCBV(b=NAN), "b must be", "got nan"),
    "UCB-V horizon": (lambda: UCBV(horizon=0), "horizon must be", "got 0"),
    "TS14 a": (lambda: TS14(a=INF), "a must be", "got inf"),
    "rho": (lambda: MVTS(rho=-1), "rho must be", "got -1"),
    "rho NaN": (lambda: MVTS(rho=NAN), "rho must be", "got nan"),
    "known variance": (lambda: KnownVarianceTS(sigma=0), "sigma must be", "got 0"),
    "VarTS takes NormalGamma": (lambda: VarTS(NORMAL), "prior must be a NormalGamma", "Normal"),
    "KnownVarianceTS takes Normal": (lambda: KnownVarianceTS(PRIOR), "must be a Normal", "Gamma"),
    "sigma per arm": (
        lambda: choose(KnownVarianceTS(NORMAL, [1, 2, 3]), STATS),
        "sigma must be",
        "got 3",
    ),
    "arms of a policy": (lambda: choose(VarTS(PRIOR), ArmStats.empty(5)), "prior must", "got 2"),
    "t = 0": (lambda: choose("UCB1", STATS, t=0), "t must be", "got 0"),
    "t = 1.5": (lambda: choose("UCB1", STATS, t=1.5), "t must be", "got 1.5"),
    "not tossed": (
        lambda: choose("Bernoulli-TS", ArmStats([2], [3.0], [0])),
        "tossed rewards",
        "got 3.0",
    ),
    "no label": (lambda: varts.register(varts.Policy), "must have a label", "Policy"),
    "forced": (lambda: varts.index_policy("x", forced=0)(abs), "forced must be", "got 0"),
    # problems
    "prior of a problem": (lambda: GaussianBandit(3), "prior must be", "got 3"),
    "no sigma": (lambda: GaussianBandit(NORMAL), "sigma must be given", "None"),
    "sigma twice": (lambda: GaussianBandit(PRIOR, sigma=1), "sigma must be left out", "1"),
    "K missing": (lambda: GaussianBandit(NormalGamma(0, 1, 2, 1)), "K must be given", "None"),
    "K other": (lambda: GaussianBandit(PRIOR, K=5), "prior must", "got 2"),
    "fixed sigma": (lambda: GaussianBandit.fixed([0, 1], 0), "sigma must be", "got 0"),
    "fixed mean": (lambda: BernoulliBandit.fixed([0.5, 1.5]), "mean must be", "got 1.5"),
    "Bernoulli K": (lambda: BernoulliBandit(0), "K must be", "got 0"),
    "a without b": (lambda: BernoulliBandit(a=[1, 2]), "a and b must be given together", "None"),
    "a = 0": (lambda: BernoulliBandit(a=[0, 1], b=1), "a must be", "got 0.0"),
    "K and a": (lambda: BernoulliBandit(3, a=[1, 2], b=1), "K must be", "got 3"),
    "s": (lambda: BetaBandit(3, s=0), "s must be", "got 0"),
    "prior samples": (lambda: BernoulliBandit(3).estimate_prior(1), "samples must be", "got 1"),
    "prior kappa": (lambda: BernoulliBandit(3).estimate_prior(kappa="y"), "kappa", "'y'"),
    # bounds
    "theorem 1 prior": (lambda: theorem1(PRIOR, 1, 10), "prior must be a Normal", "NormalGamma"),
    "theorem 2 prior": (lambda: theorem2(NORMAL, 10), "prior must be a NormalGamma", "Normal"),
    "theorem 2 alpha": (
        lambda: theorem2(NormalGamma([0], 1, 1, 1), 10),
        "alpha must",
        "> 1, got 1",
    ),
    "theorem 2 kappa": (lambda: theorem2(NormalGamma([0], 0, 2, 1), 10), "kappa must", "got 0"),
    "delta 0": (lambda: theorem2(PRIOR, 10, delta=0), "delta must be", "got 0"),
    "delta 1": (lambda: theorem1(NORMAL, 1, 10, delta=1), "delta must be", "< 1, got 1"),
    "delta 1.5": (lambda: theorem1(NORMAL, 1, 10, delta=1.5), "delta must be", "got 1.5"),
    "n = 1": (lambda: theorem2(PRIOR, 1), "n must be", ">= 2, got 1"),
    "n = 0": (lambda: theorem2(PRIOR, 0, delta=0.5), "n must be", ">= 1, got 0"),
    "bound sigma": (lambda: theorem1(NORMAL, 0, 10), "sigma must be", "got 0"),
    "bound lengths": (lambda: theorem1(NORMAL, [1, 2, 3], 10), "sigma", "3"),
    # studies
    "runs": (play(runs=0), "runs must be", "got 0"),
    "runs a float": (play(runs=2.5), "runs must be", "got 2.5"),
    "runs a word": (play(runs="10"), "runs must be", "got '10'"),
    "horizon": (play(horizon=-5), "horizon must be", "got -5"),
    "seed": (play(seed=-1), "seed must be", "got -1"),
    "threads": (play(threads=0), "threads must be", "got 0"),
    "no policies": (play(policies=[]), "policies must name at least one", "none"),
    "policies twice": (play(policies=["UCB1", "ucb1"]), "different labels", "'UCB1' twice"),
    "policy of a study": (play(policies=["UBC1"]), "'UBC1'", "did you mean 'UCB1'"),
    "policy in a mapping": (play(policies={"x": 4}), "policy must be", "got 4"),
    "problem": (play(problem="gaussian"), "problem must be", "got 'gaussian'"),
    "arms of a study": (play(policies=VarTS(NormalGamma([0] * 3, 1, 2, 1))), "VarTS", "2 arms"),
    "against": (lambda: play(horizon=5)().summary("UCB2"), "'UCB2'", "known: UCB1"),
    "level": (lambda: play(horizon=5)().summary(level=1), "level must be", "got 1"),
    # what slips through most easily
    "several lines": (
        lambda: theorem2(PRIOR, 10, delta=np.full((3, 3), 0.5)),
        "delta must be one number",
        "0.5",
    ),
    "several lines of a prior": (
        lambda: theorem1(NormalGamma(np.arange(60), 1, 2, 1), 1, 10),
        "prior must be",
        "Gamma",
    ),
    "several lines of a problem": (play(problem=np.zeros((9, 9))), "problem must be", "array"),
    "policies a number": (play(policies=5), "policies must", "got 5"),
    "seed of 65 bits": (play(seed=2**64), "seed must be", "18446744073709551616"),
    "rewards a number": (lambda: ArmStats.from_rewards(5), "rewards must", "got 5"),
    "rewards with two axes": (lambda: ArmStats.from_rewards([[[1, 2], [3, 4]]]), "arm 0", "(2, 2)"),
    "merge with a number": (lambda: STATS.merge(5), "must be", "got 5"),
    "choose from a number": (lambda: choose("UCB1", 5), "stats must be", "got 5"),
    "prior a number": (lambda: VarTS(5), "prior must be", "got 5"),
    "JSON type a list": (prior_json(type=[]), "prior type", "[]"),
    "kappa a numeral": (lambda: NormalGamma(0, "1.5", 1, 1), "kappa must be", "'1.5'"),
    "elicit mean": (lambda: NormalGamma.elicit(NAN, 1, 1, 1), "mean must be", "got nan"),
    "sigma of another K": (
        lambda: GaussianBandit(Normal(0, 1), sigma=[1, 2], K=5),
        "sigma must",
        "got 2",
    ),
    "precisions without spread": (
        lambda: NormalGamma.from_moments([1, 2, 3], [0.1] * 3),
        "variance of the precisions",
        "0",
    ),
    "fixed instance as a prior": (
        lambda: BernoulliBandit.fixed([0.1, 0.3]).estimate_prior(),
        "variance of the means",
        "0",
    ),
    "TS14 a = -1e300": (lambda: TS14(a=-1e300).owed(2), "a must be", "-1e+300"),
    "value of a 0-d array": (
        lambda: NormalGamma(0, 0, 1, 1).sample(np.random.default_rng(0)),
        "kappa",
        "> 0, got 0",
    ),
    "UCB1 in round 1": (lambda: choose("UCB1", STATS, t=1), "t must be", "got 1"),
}


def check(call, *parts):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    for part in parts:
        assert part in message


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_in_one_sentence(name):
    check(*CASES[name])


def test_a_complex_number_is_not_its_real_part():
    with pytest.raises(ValueError, match=r"mu must be finite, got \(1\+2j\)"):
        varts.NormalGamma(1 + 2j, 1, 2, 1)


def test_a_mapping_of_arrays_is_a_prior():
    """Not bad input at all: the fields of a prior as NumPy arrays."""
    fields = {"mu": [0.0, 1.0], "kappa": 1, "alpha": 2, "beta": 1}
    assert VarTS(fields).prior == PRIOR


def test_a_mapping_of_numpy_arrays_is_a_prior():
    fields = {"mu": np.array([0.0, 1.0]), "kappa": 1, "alpha": 2, "beta": 1}
    assert VarTS(fields).prior == PRIOR


def test_an_empty_list_of_rewards_is_fine():
    assert STATS.observe([], []) == STATS


def test_theorem1_at_tiny_noise_is_its_limit():
    assert theorem1(NORMAL, 1e-170, 10) == pytest.approx(theorem1(NORMAL, 1e-50, 10))


def test_a_missing_prior_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        VarTS(tmp_path / "nowhere.json")

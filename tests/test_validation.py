"""Bad input: an error of one line that names the argument, the rule and the offending value.

A wrong type is a TypeError, a wrong value a ValueError.
"""

import json
from decimal import Decimal
from fractions import Fraction

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
from varts._validation import integer, real, reals
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


# What is called, then what its message must contain: the name and the offending value.
WRONG_VALUES = {
    # priors
    "kappa < 0": (lambda: NormalGamma(0, -1, 1, 1), "kappa must be", ">= 0, got -1"),
    "alpha = 0": (lambda: NormalGamma(0, 1, 0, 1), "alpha must be", "> 0, got 0"),
    "alpha < 0 in one arm": (lambda: NormalGamma(0, 1, [1, -2], 1), "alpha must be", "got -2.0"),
    "beta = 0": (lambda: NormalGamma(0, 1, 1, 0.0), "beta must be", "> 0, got 0.0"),
    "mu NaN": (lambda: NormalGamma(NAN, 1, 1, 1), "mu must be finite", "got nan"),
    "mu infinite": (lambda: NormalGamma(INF, 1, 1, 1), "mu must be finite", "got inf"),
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
    "initial_pulls": (
        lambda: varts.index_policy("x", initial_pulls=0)(abs),
        "initial_pulls must be",
        "got 0",
    ),
    # problems
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
    "horizon": (play(horizon=-5), "horizon must be", "got -5"),
    "seed": (play(seed=-1), "seed must be", "got -1"),
    "threads": (play(threads=0), "threads must be", "got 0"),
    "no policies": (play(policies=[]), "policies must name at least one", "none"),
    "policies twice": (play(policies=["UCB1", "ucb1"]), "different labels", "'UCB1' twice"),
    "policy of a study": (play(policies=["UBC1"]), "'UBC1'", "did you mean 'UCB1'"),
    "arms of a study": (play(policies=VarTS(NormalGamma([0] * 3, 1, 2, 1))), "VarTS", "2 arms"),
    "against": (lambda: play(horizon=5)().summary("UCB2"), "'UCB2'", "known: UCB1"),
    "level": (lambda: play(horizon=5)().summary(level=1), "level must be", "got 1"),
    # what slips through most easily
    "seed of 65 bits": (play(seed=2**64), "seed must be", "18446744073709551616"),
    "rewards with two axes": (lambda: ArmStats.from_rewards([[[1, 2], [3, 4]]]), "arm 0", "(2, 2)"),
    "JSON type a list": (prior_json(type=[]), "prior type", "[]"),
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
    "TS14 a = -1e300": (lambda: TS14(a=-1e300).pulls_needed(2), "a must be", "-1e+300"),
    "value of a 0-d array": (
        lambda: NormalGamma(0, 0, 1, 1).sample(np.random.default_rng(0)),
        "kappa",
        "> 0 to sample from a prior, got 0",
    ),
    "UCB1 in round 1": (lambda: choose("UCB1", STATS, t=1), "t must be", "got 1"),
    "mu too large for a float": (
        lambda: NormalGamma(10**400, 1, 1, 1),
        "mu must be finite",
        "1000",
    ),
    "loc in rows of different lengths": (
        lambda: StudentT([[1], [2, 3]], 1, 1),
        "loc must",
        "[2, 3]",
    ),
    "K infinite": (lambda: ArmStats.empty(INF), "K must be a whole number", "got inf"),
}
WRONG_TYPES = {
    "mu a word": (lambda: NormalGamma("high", 1, 1, 1), "mu must be", "got 'high'"),
    "mu nothing": (lambda: NormalGamma(None, 1, 1, 1), "mu must be", "got None"),
    "arm a float": (lambda: STATS.observe(0.5, 1.0), "arm must be", "got 0.5"),
    "arm a flag": (lambda: STATS.observe(True, 1.0), "arm must be", "got True"),
    "policy a number": (lambda: make(3), "policy must be", "got 3"),
    "VarTS takes NormalGamma": (lambda: VarTS(NORMAL), "prior must be a NormalGamma", "Normal"),
    "KnownVarianceTS takes Normal": (lambda: KnownVarianceTS(PRIOR), "must be a Normal", "Gamma"),
    "prior of a problem": (lambda: GaussianBandit(3), "prior must be", "got 3"),
    "theorem 1 prior": (lambda: theorem1(PRIOR, 1, 10), "prior must be a Normal", "NormalGamma"),
    "theorem 2 prior": (lambda: theorem2(NORMAL, 10), "prior must be a NormalGamma", "Normal"),
    "runs a word": (play(runs="10"), "runs must be", "got '10'"),
    "policy in a mapping": (play(policies={"x": 4}), "policy must be", "got 4"),
    "problem": (play(problem="gaussian"), "problem must be", "got 'gaussian'"),
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
    "rewards a number": (lambda: ArmStats.from_rewards(5), "rewards must", "got 5"),
    "merge with a number": (lambda: STATS.merge(5), "must be", "got 5"),
    "choose from a number": (lambda: choose("UCB1", 5), "stats must be", "got 5"),
    "prior a number": (lambda: VarTS(5), "prior must be", "got 5"),
    "kappa a numeral": (lambda: NormalGamma(0, "1.5", 1, 1), "kappa must be", "'1.5'"),
    "mu a complex number": (lambda: NormalGamma(1 + 2j, 1, 1, 1), "mu must be", "got (1+2j)"),
    "mu a date": (lambda: NormalGamma(np.datetime64("2023-03-09"), 1, 1, 1), "mu must be", "2023"),
    "one mu of two missing": (lambda: NormalGamma([0, None], 1, 1, 1), "mu must be", "[0, None]"),
    "K a flag": (lambda: ArmStats.empty(True), "K must be a whole number", "got True"),
    "moments, kappa a number": (
        lambda: NormalGamma.from_moments([1, 2], [1, 2], 3),
        "unknown kappa 3",
        "known: paper",
    ),
    "register an instance": (lambda: varts.register(VarTS()), "register takes a class", "VarTS"),
}


def check(kind, call, *parts):
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    for part in parts:
        assert part in message


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_a_wrong_value_is_refused_in_one_sentence(name):
    check(ValueError, *WRONG_VALUES[name])


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_a_wrong_type_is_refused_in_one_sentence(name):
    check(TypeError, *WRONG_TYPES[name])


def test_what_is_wrong_in_a_prior_file_is_a_wrong_value_of_that_file(tmp_path):
    (tmp_path / "prior.json").write_text(json.dumps({**FIELDS, "mu": "high"}))
    check(ValueError, lambda: Prior.load(tmp_path / "prior.json"), "prior.json: mu must", "'high'")


@pytest.mark.parametrize("number", [2**64, np.float32(4), np.uint8(4)])
def test_numbers_of_every_type_are_numbers(number):
    assert NormalGamma(number, 1, 1, 1).mu == float(number)
    assert ArmStats.empty(np.float32(3)).K == 3


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


# ------------------------------------------------------------------------------ numbers of any type

ONES = [1, 1.0, np.float32(1), np.int8(1), np.array(1), np.array(1.0), Fraction(1), Decimal("1.0")]


@pytest.mark.parametrize("one", ONES, ids=lambda one: f"{type(one).__name__} {one}")
def test_a_number_may_be_of_any_type(one):
    assert NormalGamma(one, one, one, one) == NormalGamma(1, 1, 1, 1)
    assert integer("runs", one, at_least=1, at_most=1) == 1
    assert type(integer("runs", one)) is int
    assert reals("mu", [one, one]).tolist() == [1.0, 1.0]
    assert real("mu", one, above=0, at_most=1) == 1.0


@pytest.mark.parametrize("name", ["NaN", "sNaN", "Infinity", "-Infinity", "1e999999999", "1.5"])
def test_a_decimal_that_is_no_whole_number(name):
    """The last but one has a billion digits, if somebody writes them out."""
    with pytest.raises(ValueError, match=rf"^runs must be a whole number >= 1, got .*{name[-3:]}"):
        integer("runs", Decimal(name), at_least=1, at_most=9)
    if name != "1.5":
        with pytest.raises(ValueError, match=r"^mu must be finite, got "):
            real("mu", Decimal(name))


@pytest.mark.parametrize("value", [np.array(True), np.array("1"), np.array([1, 2]), 1j, "1", None])
def test_what_is_no_number_is_no_whole_number(value):
    with pytest.raises(TypeError, match=r"^runs must be a whole number, got "):
        integer("runs", value)


# ------------------------------------------------------------------------------ nested too deeply


def nested(depth, inner=0):
    for _ in range(depth):
        inner = [inner]
    return inner


def test_a_value_that_cannot_be_written_out_is_refused_in_one_sentence():
    for value in (nested(100), nested(100_000), 10**5000, Fraction(10**5000)):
        with pytest.raises((TypeError, ValueError), match=r"^mu must be finite, got ") as refused:
            NormalGamma(value, 1, 1, 1)
        assert len(str(refused.value)) < 120


OTHERS = json.dumps(FIELDS)[:-1] + ', "others": '


@pytest.mark.parametrize("depth", [200, 980, 100_000])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"others": ', "}"), (OTHERS, "}")])
def test_json_that_is_nested_deeply_is_no_prior(tmp_path, depth, start, end):
    file = tmp_path / "prior.json"
    fields = json.dumps(FIELDS)[:-1]
    for before in ("", f'{fields}, "others": ', f'{fields}, "mu": '):
        file.write_text(before + start * depth + "0" + end * depth + "}" * bool(before))
        with pytest.raises(ValueError) as refused:
            Prior.load(file)
        assert str(refused.value).startswith(f"{file}: ") and len(str(refused.value)) < 300


def test_json_that_is_nested_deeply_is_no_plan():
    with pytest.raises(ValueError, match=r"^a plan must be JSON that Plan\.to_json wrote"):
        varts.Plan.from_json("[" * 100_000)

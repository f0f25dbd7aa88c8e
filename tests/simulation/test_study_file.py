"""Study files: every key is honoured, every typo is answered with the keys there are."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import varts
from varts import policies
from varts.paper.reproduce import PROBLEMS
from varts.simulation import study_file
from varts.simulation.sweep import Setting, play_settings

NORMAL_GAMMA = {"mu": 12.0, "kappa": 16.0, "alpha": 11.0, "beta": 640.0}
NORMAL = {"mu": 0.0, "sigma": 1.0}


def body(problem=None, policies=None, **top):
    return {
        "problem": problem or {"kind": "bernoulli", "K": 3},
        "policies": policies or {"UCB1": {}},
        **top,
    }


def test_the_example_is_a_valid_study():
    asked = study_file.parse(tomllib.loads(study_file.EXAMPLE))
    assert (asked.horizon, asked.runs, asked.seed, asked.problem.K) == (2000, 1000, 0, 10)
    assert list(asked.policies) == ["VarTS", "VarTS, no prior", "UCB1-Tuned", "UCB-V", "TS14"]
    assert asked.policies["VarTS"].prior == varts.GaussianBandit(K=10).prior
    assert asked.policies["VarTS, no prior"].prior is None
    assert asked.policies["UCB-V"].zeta == 1.2


def test_the_numbers_of_the_top_level():
    asked = study_file.parse(body(horizon=50, runs=1e3, seed=7))
    assert (asked.horizon, asked.runs, asked.seed) == (50, 1000, 7)
    asked = study_file.parse(body())
    assert (asked.horizon, asked.runs, asked.seed) == (2000, 1000, 0)


def test_a_file_is_read_as_its_mapping_is(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('runs = 5\n[problem]\nkind = "beta"\nK = 2\n[policies]\nTS20 = {}\n')
    asked = study_file.read(path)
    assert asked.runs == 5
    assert isinstance(asked.problem, varts.BetaBandit)
    assert isinstance(asked.policies["TS20"], policies.TS20)


@pytest.mark.parametrize("kind", ["bernoulli", "beta", "gaussian"])
def test_without_more_a_problem_is_the_papers(kind):
    problem = study_file.parse(body({"kind": kind, "K": 4})).problem
    assert problem.describe() == PROBLEMS[kind](K=4).describe()
    assert study_file.parse(body({"kind": kind})).problem.K == 10


def test_the_keys_of_the_beta_priors():
    problem = study_file.parse(body({"kind": "bernoulli", "a": [1, 2], "b": [2, 1]})).problem
    assert (problem.K, list(problem.a), list(problem.b)) == (2, [1, 2], [2, 1])
    problem = study_file.parse(body({"kind": "beta", "K": 3, "s": 4, "a": 1, "b": 2})).problem
    assert (problem.K, problem.s, list(problem.b)) == (3, 4, [2, 2, 2])


def test_the_keys_of_the_gaussian_problem():
    problem = study_file.parse(body({"kind": "gaussian", "K": 2, "prior": NORMAL_GAMMA})).problem
    assert problem.prior == varts.NormalGamma(**NORMAL_GAMMA).for_arms(2)
    table = {"kind": "gaussian", "K": 2, "prior": NORMAL, "sigma": 0.5}
    problem = study_file.parse(body(table)).problem
    assert problem.prior == varts.Normal(0.0, 1.0).for_arms(2)
    assert problem.sigma == 0.5


def test_arms_that_are_the_same_in_every_run():
    table = {"kind": "gaussian", "mean": [1.0, 0.8], "sigma": [1, 0.5]}
    problem = study_file.parse(body(table)).problem
    assert problem.describe() == varts.GaussianBandit.fixed([1.0, 0.8], [1, 0.5]).describe()
    problem = study_file.parse(body({"kind": "bernoulli", "mean": [0.1, 0.2]})).problem
    assert problem.describe() == varts.BernoulliBandit.fixed([0.1, 0.2]).describe()
    problem = study_file.parse(body({"kind": "beta", "mean": [0.1, 0.2], "s": 3})).problem
    assert problem.describe() == varts.BetaBandit.fixed([0.1, 0.2], s=3).describe()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kind": "gaussian", "mean": [1, 2]}, "a gaussian problem with means needs sigma"),
        ({"kind": "gaussian", "mean": [1, 2], "sigma": 1, "K": 2}, "unknown key .* 'K'"),
        ({"kind": "bernoulli", "mean": [1, 2]}, "mean must be at most 1, got 2"),
        ({"kind": "bernoulli", "mean": [0.1], "a": 1, "b": 1}, "unknown key .* 'a'"),
        ({"kind": "revenue", "mean": [1, 2]}, "unknown key .* 'mean'"),
    ],
)
def test_mistakes_in_arms_that_are_the_same(table, said):
    with pytest.raises(ValueError, match=said):
        study_file.parse(body(table))


def test_names_of_arms_that_are_the_same_must_be_as_many():
    fixed = body({"kind": "gaussian", "mean": [1, 2], "sigma": 1}, arms=["x", "y", "z"])
    with pytest.raises(ValueError, match=r"mean must have an entry per arm \(3\), got 2"):
        study_file.parse(fixed)


def test_fixed_arms_come_from_no_prior():
    told = {"VarTS": {"prior": "problem"}}
    with pytest.raises(ValueError, match="needs a problem that draws its arms, got fixed"):
        study_file.parse(body({"kind": "bernoulli", "mean": [0.1, 0.2]}, told))


def test_several_problems_are_played_in_turn():
    problems = [
        {"name": "two", "kind": "bernoulli", "mean": [0.1, 0.2]},
        {"name": "many", "kind": "beta", "K": 7},
    ]
    settings = study_file.parse_settings(body(problems, horizon=[10, 20]))
    assert [each.values for each in settings] == [
        {"horizon": n, "problem": name} for n in (10, 20) for name in ("two", "many")
    ]
    assert [each.problem.K for each in settings] == [2, 7, 2, 7]


@pytest.mark.parametrize(
    ("problems", "error", "said"),
    [
        (
            [{"kind": "beta"}],
            ValueError,
            "several problems must each have a different name, got None",
        ),
        ([{"name": "x", "kind": "beta"}] * 2, ValueError, "a different name, got 'x'"),
        ([{"name": "x", "kind": "betta"}], ValueError, "'beta'"),
        ([3], TypeError, "a problem must be a table, got 3"),
    ],
)
def test_mistakes_in_several_problems(problems, error, said):
    with pytest.raises(error, match=said):
        study_file.parse_settings(body(problems))


def test_a_policy_may_have_any_label_and_a_prior_of_its_own():
    table = {"mine": {"policy": "VarTS", "prior": NORMAL_GAMMA}, "UCB-V": {"c": 0.5, "b": 2.0}}
    made = study_file.parse(body(policies=table)).policies
    assert made["mine"].prior == varts.NormalGamma(**NORMAL_GAMMA)
    assert (made["UCB-V"].c, made["UCB-V"].b) == (0.5, 2.0)


def test_prior_files_are_found_beside_the_study(tmp_path, monkeypatch):
    folder = tmp_path / "study"
    folder.mkdir()
    prior = varts.NormalGamma([0.0, 1.0], 2.0, 3.0, 1.0)
    prior.save(folder / "prior.json")
    (folder / "study.toml").write_text(
        '[problem]\nkind = "gaussian"\nprior = "prior.json"\n'
        '[policies]\nVarTS = { prior = "prior.json" }\n'
    )
    monkeypatch.chdir(tmp_path)
    asked = study_file.read("study/study.toml")
    assert asked.problem.prior == asked.policies["VarTS"].prior == prior


@pytest.mark.parametrize("kind", ["bernoulli", "beta", "gaussian"])
def test_the_problems_own_prior_for_varts(kind):
    asked = study_file.parse(body({"kind": kind, "K": 3}, {"VarTS": {"prior": "problem"}}))
    assert asked.policies["VarTS"].prior == asked.problem.own_prior()
    assert np.allclose(asked.policies["VarTS"].prior.mu, [0.25, 0.5, 0.75], atol=0.01)


def test_the_problems_own_prior_when_variances_are_known():
    problem = {"kind": "gaussian", "K": 2, "prior": NORMAL, "sigma": 0.5}
    made = study_file.parse(body(problem, {"KnownVarianceTS": {"prior": "problem"}})).policies
    assert made["KnownVarianceTS"].prior == varts.Normal(0.0, 1.0).for_arms(2)
    assert made["KnownVarianceTS"].sigma == 0.5


GENRES = varts.NormalGamma([3, 4], 1, 2, 5, names=["comedy", "drama"], group="genre")
FILMS = {"Saint, The (1997)": "drama", "Clerks": "comedy", "Fargo": "drama"}


def test_priors_go_by_the_names_of_the_arms(tmp_path):
    varts.NormalGamma([10, 20], 1, 2, 5, names=["red", "blue"]).save(tmp_path / "prior.json")
    table = {"VarTS": {"prior": "prior.json"}}
    problem = {"kind": "gaussian", "prior": "prior.json"}
    asked = study_file.parse(body(problem, table, arms=["blue", "red"]), tmp_path)
    assert asked.problem.names == ("blue", "red")
    assert asked.problem.prior.mu.tolist() == asked.policies["VarTS"].prior.mu.tolist() == [20, 10]
    asked = study_file.parse(body({"kind": "beta"}, table, arms=["blue"]), tmp_path)
    assert asked.problem.K == 1 and asked.policies["VarTS"].prior.mu.tolist() == [20]


def test_arms_may_be_in_groups(tmp_path):
    GENRES.save(tmp_path / "genres.json")
    (tmp_path / "films.csv").write_text(
        "film,genre\n" + "".join(f'"{film}",{genre}\n' for film, genre in FILMS.items())
    )
    problem = {"kind": "gaussian", "prior": "genres.json"}
    for groups in ("films.csv", FILMS):
        asked = study_file.parse(
            body(problem, {"VarTS": {"prior": "genres.json"}}, arm_groups=groups), tmp_path
        )
        assert asked.problem.names == tuple(FILMS)
        assert asked.problem.prior.mu.tolist() == [4, 3, 4]
        assert asked.policies["VarTS"].prior == asked.problem.prior
    asked = study_file.parse(body(problem, arms=["Clerks"], arm_groups=FILMS), tmp_path)
    assert asked.problem.prior.mu.tolist() == [3]
    with pytest.raises(ValueError, match=r"the prior is by genre, .* arm_groups in a study file"):
        study_file.parse(body(problem, arms=list(FILMS)), tmp_path)


GAUSSIAN = {"kind": "gaussian", "K": 3}
WRONG = [
    (
        body(horizn=5),
        [
            "'horizn'",
            "did you mean 'horizon'",
            "runs, seed, delay, batch, floor, arms, arm_groups, problem, policies",
        ],
    ),
    (body({"kind": "gausian"}), ["'gausian'", "did you mean 'gaussian'", "bernoulli, beta"]),
    (body({"K": 3}), ["kind", "bernoulli, beta, gaussian"]),
    (body({**GAUSSIAN, "pror": 1}), ["'pror'", "'prior'", "kind, K, prior, sigma"]),
    (body({"kind": "beta", "S": 3}), ["'S'", "'s'", "kind, K, s, a, b"]),
    (body({"kind": "bernoulli", "s": 3}), ["'s'", "kind, K, a, b"]),
    (body({**GAUSSIAN, "sigma": 1}), ["sigma"]),
    (body({**GAUSSIAN, "prior": NORMAL}), ["sigma", "Normal"]),
    (body({**GAUSSIAN, "prior": {"mu": 0, "kapa": 1}}), ["mu, kappa, alpha, beta", "kapa"]),
    (body({"kind": "gaussian", "K": 0}), ["K must be", "0"]),
    (body({"kind": "beta", "s": -1}), ["s must be", "-1"]),
    (body({"kind": "bernoulli", "a": 1}), ["a and b"]),
    (body(policies={"UCB9": {}}), ["'UCB9'", "did you mean 'UCB1'", "VarTS"]),
    (body(policies={"mine": {"policy": "VarT"}}), ["'VarT'", "'VarTS'"]),
    (body(policies={"UCB-V": {"zta": 1}}), ["'zta'", "'zeta'", "zeta, c, b, horizon"]),
    (body(policies={"UCB-V": {"zeta": "a"}}), ["zeta", "'a'"]),
    (body(policies={"UCB1": 3}), ["'UCB1'", "table", "3"]),
    (body(policies={"UCB1": {"prior": "problem"}}), ["'UCB1'", "VarTS"]),
    (body(policies={"KnownVarianceTS": {"prior": "problem"}}), ["'KnownVarianceTS'"]),
    (body(arms="abc"), ["arms must be a list of names", "'abc'"]),
    (body(arms=["a", "b"]), ["K must be the number of arms (2), got 3"]),
    (body({"kind": "beta"}, arms=["a", "a"]), ["arms must have different names", "['a', 'a']"]),
    (body({"kind": "beta"}, arms=[]), ["arms must name at least one arm"]),
    (body(arm_groups=3), ["arm_groups must be a table or the name of a CSV file", "3"]),
    (body(runs=0), ["runs must be", "0"]),
    (body(runs="many"), ["runs must be", "'many'"]),
    (body(runs=True), ["runs must be", "True"]),
    (body(horizon=2.5), ["horizon must be", "2.5"]),
    (body(seed=-1), ["seed must be", "-1"]),
    ({"policies": {"UCB1": {}}}, ["[problem]"]),
    ({"problem": GAUSSIAN}, ["[policies]"]),
    ({"problem": 3, "policies": {"UCB1": {}}}, ["[problem]", "3"]),
    ({"problem": GAUSSIAN, "policies": {}}, ["[policies]"]),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_a_mistake_is_one_sentence_with_the_known_words(wrong, said):
    with pytest.raises((TypeError, ValueError)) as caught:
        study_file.parse(wrong)
    sentence = str(caught.value)
    assert "\n" not in sentence
    for words in said:
        assert words in sentence


@pytest.mark.parametrize("prior", [3, [0, 1, 2, 3]])
def test_a_prior_that_is_no_prior(prior):
    with pytest.raises(TypeError, match="prior"):
        study_file.parse(body(GAUSSIAN, {"VarTS": {"prior": prior}}))


@pytest.mark.parametrize("text", [b"runs = ", b"\xff\xfe", b"runs = 1\nruns = 2"])
def test_what_is_not_toml_names_the_file(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=r"study\.toml must be a TOML file"):
        study_file.read(path)


@pytest.mark.parametrize("depth", [60, 300, 100_000])
@pytest.mark.parametrize(
    "text",
    [
        "problem = NESTED",
        'horizon = NESTED\n[problem]\nkind = "bernoulli"\nK = 3\n[policies]\nUCB1 = {}',
        '[problem]\nkind = "gaussian"\nK = NESTED\n[policies]\nUCB1 = {}',
        '[problem]\nkind = "gaussian"\nprior = NESTED\n[policies]\nUCB1 = {}',
        '[problem]\nkind = "bernoulli"\nK = 3\n[policies]\nUCB1 = NESTED',
        '[problem]\nkind = "bernoulli"\nK = 3\n[policies]\nUCB-V = { zeta = NESTED }',
    ],
)
def test_a_study_that_is_nested_deeply_is_one_sentence(tmp_path, text, depth):
    path = tmp_path / "study.toml"
    path.write_text(text.replace("NESTED", "[" * depth + "]" * depth))
    with pytest.raises((TypeError, ValueError)) as refused:
        study_file.read(path)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


# ------------------------------------------------------------------- revenue and recorded rewards


def log(folder, text="arm,reward\nred,0\nred,9\nblue,2\nblue,x\n"):
    (folder / "log.csv").write_text(text)
    return {"kind": "table", "path": "log.csv"}


def test_the_keys_of_the_revenue_problem():
    table = {"kind": "revenue", "chance": [0.1, 0.2], "amount": [5, 7], "arm_spread": 0,
             "spread": 0.5, "shape": "gamma"}  # fmt: skip
    problem = study_file.parse(body(table, {"VarTS": {"prior": "problem"}})).problem
    expected = varts.RevenueBandit(2, chance=(0.1, 0.2), amount=[5, 7], arm_spread=0, spread=0.5,
                                   shape="gamma")  # fmt: skip
    assert problem.describe() == expected.describe()
    assert study_file.parse(body({"kind": "revenue"})).problem.K == 5
    assert study_file.parse(body({"kind": "revenue"}, arms=["a", "b"])).problem.K == 2


def test_a_log_is_found_beside_the_study(tmp_path):
    problem = study_file.parse(body(log(tmp_path)), tmp_path).problem
    assert problem.names == ("blue", "red") and problem.mean.tolist() == [2.0, 4.5]
    assert problem.left_out == {"reward not a number": 1}
    problem = study_file.parse(body(log(tmp_path), arms=["red", "blue"]), tmp_path).problem
    assert problem.names == ("red", "blue")


def test_the_columns_of_a_log(tmp_path):
    text = "test,price,eur\nmay,9,1\nmay,12,2\njune,9,3\njune,12,4\n"
    columns = {"experiment": "test", "arm": "price", "reward": "eur", "only": "june"}
    asked = study_file.parse(body({**log(tmp_path, text), **columns}), tmp_path)
    assert asked.problem.names == ("12", "9") and asked.problem.mean.tolist() == [4.0, 3.0]


@pytest.mark.parametrize(
    ("change", "top", "said"),
    [
        ({"path": "lgo.csv"}, {}, "no such file"),
        ({"path": 3}, {}, "path of a table problem must be the name of a log, got 3"),
        ({"path": None}, {}, "path of a table problem must be the name of a log, got None"),
        ({"arm": 3}, {}, "arm of a table problem must be a name, got 3"),
        ({"reward": "rewrad"}, {}, "unknown column 'rewrad'; did you mean 'reward'"),
        ({"arm": "colour"}, {}, "unknown column 'colour'; known: arm, reward"),
        ({"reward": "arm"}, {}, "the log must have a usable reward, got 4 reward not a number"),
        ({"only": "may"}, {}, "only must be left out for a log without experiments, got 'may'"),
        ({"K": 2}, {}, "unknown key of a table problem 'K'; known: kind, path, arm, reward"),
        ({}, {"arms": ["red", "pink"]}, "unknown arm 'pink'; known: blue, red"),
    ],
)
def test_a_wrong_log_is_one_sentence(tmp_path, change, top, said):
    table = {**log(tmp_path), **change}
    table = {key: value for key, value in table.items() if value is not None}
    with pytest.raises((TypeError, ValueError, FileNotFoundError)) as caught:
        study_file.parse(body(table, **top), tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"chance": 0.5}, "chance must be two numbers that increase, got 0.5"),
        ({"shape": "weibull"}, "unknown shape 'weibull'; known: lognormal, gamma, normal"),
        ({"spred": 1}, "unknown key of a revenue problem 'spred'; did you mean 'spread'?"),
    ],
)
def test_a_wrong_revenue_problem_is_one_sentence(change, said):
    with pytest.raises((TypeError, ValueError)) as caught:
        study_file.parse(body({"kind": "revenue", **change}))
    assert str(caught.value).startswith(said)


# ------------------------------------------------------------------------------------------- drift


def gaussian(**drift):
    return {"kind": "gaussian", "K": 2, "prior": NORMAL_GAMMA, "drift": drift}


def test_the_kinds_of_drift():
    steps = study_file.parse(body(gaussian(kind="steps", every=40, random=True))).problem
    assert isinstance(steps, varts.Steps) and (steps.every, steps.random) == (40, True)
    assert study_file.parse(body(gaussian(kind="steps", at=[5, 9]))).problem.at.tolist() == [5, 9]
    cycle = study_file.parse(body(gaussian(kind="cycle", period=7, amplitude=[1, 2]))).problem
    assert isinstance(cycle, varts.Cycle) and cycle.amplitude.tolist() == [1, 2]
    walk = study_file.parse(body(gaussian(kind="walk", step=0.1, spread=2, center=12))).problem
    assert isinstance(walk, varts.Walk) and walk.spread.tolist() == [2, 2]
    assert walk.problem.prior == varts.NormalGamma(**NORMAL_GAMMA).for_arms(2)


def test_any_policy_may_have_a_half_life():
    table = {
        "VarTS": {"prior": "problem", "half_life": 50},
        "slow": {"policy": "UCB1", "half_life": 500},
        "never": {"policy": "UCB1", "half_life": float("inf")},
    }
    made = study_file.parse(body(gaussian(kind="walk", step=0.1), table)).policies
    assert made["VarTS"].half_life == 50
    assert made["VarTS"].policy.prior == varts.NormalGamma(**NORMAL_GAMMA).for_arms(2)
    assert made["slow"] == varts.Fading("UCB1", 500)
    assert made["never"].fade == 1
    known = {"kind": "gaussian", "K": 2, "prior": NORMAL, "sigma": 0.5}
    known["drift"] = {"kind": "walk", "step": 0.1}
    table = {"KnownVarianceTS": {"prior": "problem"}}
    assert study_file.parse(body(known, table)).policies["KnownVarianceTS"].sigma == 0.5


@pytest.mark.parametrize(
    ("drift", "kind", "words"),
    [
        ("fast", TypeError, "drift must be a table with a kind, got 'fast'"),
        ({}, TypeError, "unknown drift kind None; known: steps, cycle, walk"),
        ({"kind": "jump"}, ValueError, "unknown drift kind 'jump'; known: steps, cycle, walk"),
        ({"kind": "walk"}, ValueError, "drift of kind 'walk' needs step"),
        ({"kind": "cycle", "period": 5}, ValueError, "drift of kind 'cycle' needs amplitude"),
        ({"kind": "steps", "step": 5}, ValueError, "unknown key of drift 'steps' 'step'"),
        ({"kind": "steps"}, ValueError, "every or at must be given, and not both"),
    ],
)
def test_a_mistake_in_the_drift_is_one_sentence(drift, kind, words):
    table = {"kind": "gaussian", "K": 2, "prior": NORMAL_GAMMA, "drift": drift}
    with pytest.raises(kind, match=words):
        study_file.parse(body(table))


def test_a_half_life_must_be_positive():
    with pytest.raises(ValueError, match="half_life must be a number and > 0, got 0"):
        study_file.parse(body(policies={"UCB1": {"half_life": 0}}))


# ------------------------------------------------------------------------------- with features


def test_problems_with_features(tmp_path):
    (tmp_path / "units.csv").write_text("age,member\n20,1\n40,0\n")
    (tmp_path / "rows.csv").write_text("age,red,blue,note\n20,1,0,7\n40,0,1.5,8\n")
    prior = {"mu": 0.0, "kappa": 1.0, "alpha": 2.0, "beta": 1.0}
    prior |= {"slopes": [0.5, 0.0], "precision": [4.0, 1.0]}
    linear = {"kind": "linear", "K": 3, "prior": prior, "contexts": "units.csv"}
    rivals = {"LinearVarTS": {"prior": "problem"}, "LinUCB": {"bonus": 0.5}, "VarTS": {}}
    asked = study_file.parse(body(linear, rivals), tmp_path)
    assert isinstance(asked.problem, varts.LinearBandit)
    assert asked.problem.contexts.tolist() == [[20.0, 1.0], [40.0, 0.0]]
    assert asked.policies["LinearVarTS"].prior == asked.problem.prior
    wheel = study_file.parse(body({"kind": "wheel", "delta": 0.9})).problem
    assert isinstance(wheel, varts.Wheel) and wheel.delta == 0.9
    recorded = {"kind": "recorded", "path": "rows.csv", "rewards": ["red", "blue"]}
    table = study_file.parse(body(recorded), tmp_path).problem
    assert isinstance(table, varts.RecordedBandit)
    assert (table.names, table.d, table.rewards.tolist()) == (
        ("red", "blue"),
        2,
        [[1, 0], [0, 1.5]],
    )
    chosen = study_file.parse(body({**recorded, "features": ["age"]}), tmp_path).problem
    assert chosen.x.tolist() == [[20.0], [40.0]]


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (
            {"kind": "recorded", "path": "rows.csv"},
            "a recorded problem needs rewards",
        ),
        ({"kind": "recorded", "path": "words.csv", "rewards": ["x"]}, "must contain only numbers"),
        ({"kind": "recorded", "path": "rows.csv", "rewards": ["rde"]}, "did you mean 'red'"),
        (
            {"kind": "linear", "effect": "cubic"},
            "unknown effect 'cubic'; .*known: linear, quadratic",
        ),
        ({"kind": "linear", "contexts": "rows.csv"}, "contexts must be rows of 5 features, got"),
        ({"kind": "wheel", "delta": 2}, "delta must be .*<= 1, got 2"),
        ({"kind": "wheel", "drift": {"kind": "steps", "every": 9}}, "must be one without context"),
    ],
)
def test_mistakes_in_problems_with_features(problem, sentence, tmp_path):
    (tmp_path / "rows.csv").write_text("age,red\n20,1\n40,0\n")
    (tmp_path / "words.csv").write_text("age,x\n20,yes\n")
    with pytest.raises(ValueError, match=sentence):
        study_file.parse(body(problem), tmp_path)


def test_a_table_that_cannot_be_read_is_not_called_a_wrong_one(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.csv"):
        study_file.parse(body({"kind": "linear", "contexts": "folder.csv"}), tmp_path)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(ValueError, match=r"contexts must be a CSV file, got 'empty\.csv'"):
        study_file.parse(body({"kind": "linear", "contexts": "empty.csv"}), tmp_path)


# ---------------------------------------------------------- files that come with the package


@pytest.mark.parametrize(
    ("name", "arms"), [("family", [10, 10, 10]), ("instances", [4, 5, 5])], ids=study_file.SHIPPED
)
def test_the_files_of_the_package_are_studies(name, arms):
    settings = study_file.read_settings(study_file.find(name))
    assert [each.problem.K for each in settings] == arms
    few = [
        Setting(each.values, each.problem, each.policies, {**each.numbers, "runs": 2})
        for each in settings
    ]
    played = play_settings(few, checkpoints=[100], recommend="belief")
    assert len(played) == 3
    for study in played.studies:
        assert (study.runs, study.horizon) == (2, settings[0].numbers["horizon"])
        for regret in study.final.values():
            assert np.isfinite(regret).all() and (regret >= 0).all()


@pytest.mark.parametrize("name", study_file.SHIPPED)
def test_policies_of_the_package_s_files_know_the_horizon(name):
    settings = study_file.read_settings(study_file.find(name))
    told = {
        policy.horizon
        for each in settings
        for policy in each.policies.values()
        if getattr(policy, "horizon", None) is not None
    }
    assert told == {settings[0].numbers["horizon"]}


def test_a_file_of_ones_own_goes_before_that_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert study_file.find("family").is_file()
    (tmp_path / "family").write_text("")
    assert study_file.find("family") == Path("family")
    assert study_file.find("absent.toml") == Path("absent.toml")

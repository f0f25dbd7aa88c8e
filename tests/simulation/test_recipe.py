"""Provenance from which a study can be made again, and studies that are made of studies."""

import json
import pickle
import re

import numpy as np
import pytest

import varts
from tests.policies.built import built
from varts import BetaBandit, Fading, GaussianBandit, NormalGamma, Study, simulate
from varts.simulation.storage import describe, rebuild

PRIOR = NormalGamma(mu=[0.2, 0.5, 0.8], kappa=3, alpha=4, beta=1)


@varts.index_policy("Mine")
def mine(n, mean, m2, t):
    return mean + np.sqrt(np.log(t) / n)


class Shifted(GaussianBandit):
    """A problem of the user's own."""

    def __init__(self, shift):
        super().__init__(K=3)
        self.shift = shift


def through_json(value):
    return rebuild(json.loads(json.dumps(describe(value))))


@pytest.mark.parametrize(
    "policy", [varts.VarTS(PRIOR), varts.UCBV(zeta=1.7), Fading("TS14", 30), mine, varts.UCB1()]
)
@pytest.mark.parametrize(
    "problem",
    [
        GaussianBandit(PRIOR), BetaBandit(3, s=4), GaussianBandit.fixed([0, 1, 2], 0.5),
        varts.Steps(BetaBandit(3), every=9), Shifted(2.5), varts.RevenueBandit(3),
        varts.EmpiricalBandit({"a": [1, 2.5], "b": [3], "c": [0, 0, 1]}),
    ],
)  # fmt: skip
def test_what_is_made_again_is_the_same(problem, policy):
    """To the last bit: the recipes are equal, and so are parameters and instances."""
    again, same = through_json(problem), through_json(policy)
    assert type(again) is type(problem) and type(same) is type(policy)
    assert describe(again) == describe(problem) and describe(same) == describe(policy)
    drawn = [each.draw(np.random.default_rng(0), 4).mean for each in (problem, again)]
    assert np.array_equal(*drawn)


OWN = [
    *(built(label) for label in varts.policies.known()),
    Fading("TS14", 30),
    *(GaussianBandit(PRIOR), BetaBandit(3), varts.BernoulliBandit(3), varts.RevenueBandit(3)),
    *(GaussianBandit.fixed([0, 1], 0.5), varts.BernoulliBandit.fixed([0.1, 0.2])),
    varts.Steps(BetaBandit(3), every=9),
    varts.Cycle(BetaBandit(3), period=9, amplitude=0.1),
    varts.Walk(BetaBandit(3), step=0.1, spread=0.1),
    varts.EmpiricalBandit({"a": [1, 2.5], "b": [3]}),
    *(varts.LinearBandit(K=3, d=2, effect="quadratic", noise="fan"), varts.Wheel(0.9)),
    varts.RecordedBandit([[1.0], [2.0]], {"a": [1.0, 2.0], "b": [1.0, 3.0]}),
    *(varts.StopAtError(0.05), varts.StopAtLoss(1), varts.StopAtPBest(0.9)),
]


@pytest.mark.parametrize("value", OWN, ids=lambda value: type(value).__name__)
def test_recipes_name_no_file_of_this_package(value):
    """Files may be split and merged: a public class goes by its public name."""
    recipe = describe(value)
    paths = re.findall(r'"(varts[\w.]*):(\w+)[\w.]*"', json.dumps(recipe))
    assert recipe["object"] in (f"varts:{type(value).__name__}", "varts.problems:Fixed")
    for module, name in paths:
        assert module == ("varts" if name in dir(varts) else "varts.problems")


def test_recipes_that_name_files_are_still_read():
    """Older versions wrote them; where code has moved since, it is found by its name."""
    for path, kind in {
        "varts.policies.thompson:VarTS": varts.VarTS,
        "varts.thompson:VarTS": varts.VarTS,
        "varts.problems.base:Fixed": varts.problems.Fixed,
        "varts.problems.elsewhere:Fixed": varts.problems.Fixed,
        "varts.problems.elsewhere:_linear": varts.problems.contextual._linear,
        "varts.problems.classic:GaussianBandit.reward": GaussianBandit.reward,
    }.items():
        assert rebuild({"class": path}) is kind
    for path in ("varts.nowhere:Gone", "varts:Gone", "varts.problems:Gone", "varts.cli.app:Gone"):
        with pytest.raises(ValueError, match="Gone was not found in varts"):
            rebuild({"class": path})


def test_classes_of_users_go_by_their_own_module():
    assert describe(Shifted(1.0))["object"] == f"{__name__}:Shifted"


def test_parameters_are_there_in_full():
    prior = NormalGamma(np.linspace(0, 1, 1000) / 3, 1, 2, 1)
    made = simulate(GaussianBandit(prior), {"it": varts.VarTS(prior)}, 3, 8).provenance
    state = made["recipe"]["policies"]["it"]["state"]["prior"]["state"]
    assert state["mu"]["array"] == (np.linspace(0, 1, 1000) / 3).tolist()
    assert len(made["versions"]["sources"]) == 16


def test_closures_are_there_in_full():
    width = 1.25

    @varts.index_policy("Closed")
    def closed(n, mean, m2, t):
        return mean + width / np.sqrt(n)

    recipe = describe(type(closed).index)
    assert recipe["closure"] == {"width": 1.25}
    before = recipe["code"]
    width = 1.5
    assert describe(type(closed).index)["code"] != before


def test_code_that_changed_is_refused(monkeypatch):
    recipe = describe(mine)
    assert rebuild(recipe).indices(varts.ArmStats([1, 1], [0, 1], [0, 0]), 3).shape == (2,)
    changed = {**recipe, "code": "0" * 64}
    with pytest.raises(ValueError, match=r"the code of mine in .*test_recipe has changed"):
        rebuild(changed)
    with pytest.raises(ValueError, match=r"gone was not found in .*test_recipe; import"):
        rebuild({**recipe, "object": recipe["object"].replace("mine", "gone")})
    with pytest.raises(ValueError, match=r"was not found in os\.path_that_is_not"):
        rebuild({"object": "os.path_that_is_not:system", "state": {}})


# --------------------------------------------------------------------------- from study to study


@pytest.mark.parametrize("first", [8, 20, 64])
@pytest.mark.parametrize("asked", [False, True])
def test_extending_is_what_simulate_does_at_once(tmp_path, first, asked):
    """To the last bit, also from a file, and also if it ends in the middle of a block."""
    policies = {"VarTS": varts.VarTS(PRIOR), "mine": mine}
    short, long = (
        simulate(GaussianBandit(PRIOR), policies, 50, n, 7, checkpoints=asked) for n in (first, 203)
    )
    assert short.extend(203) == long
    assert short.extend(first + 5).extend(203, threads=1) == long
    loaded = Study.load(short.save(tmp_path / "short"))
    assert loaded == short and loaded.extend(203) == long
    assert pickle.loads(pickle.dumps(short)).extend(203) == long
    assert np.array_equal(loaded.instances.mean, long.instances.mean[:first])
    assert loaded.seconds == short.seconds


def test_runs_that_are_there_are_not_played_again(monkeypatch):
    short = simulate(GaussianBandit(PRIOR), "UCB1", 50, 48)
    drawn = []
    original = GaussianBandit.draw
    monkeypatch.setattr(GaussianBandit, "draw", lambda *a: drawn.append(a) or original(*a))
    short.extend(64, threads=1)
    few = len(drawn)
    old = Study(short.rounds, short.results, {**short.provenance, "versions": {}}, short.parts)
    assert old.extend(64, threads=1) == short.extend(64)
    assert few < 3
    with pytest.raises(ValueError, match="runs must be a whole number >= 49, got 48"):
        short.extend(48)


def test_select_and_merge():
    policies = {"VarTS": varts.VarTS(PRIOR), "UCB1": "UCB1", "TS14": "TS14"}
    both = simulate(GaussianBandit(PRIOR), policies, 50, 20)
    some = both.select(["TS14", "VarTS"])
    assert some == simulate(GaussianBandit(PRIOR), {k: policies[k] for k in some.labels}, 50, 20)
    assert some.labels == ["TS14", "VarTS"] and both.select("UCB1").labels == ["UCB1"]
    together = some.merge(both.select(["UCB1", "VarTS"]))
    assert together.labels == ["TS14", "VarTS", "UCB1"] and together.results == both.results
    assert together.extend(40).results == both.extend(40).results
    for wrong in ([], ["none"]):
        with pytest.raises(ValueError, match="policy"):
            both.select(wrong)


def test_only_studies_of_the_same_runs_are_merged():
    three = BetaBandit(3)

    def study(problem=three, horizon=20, runs=8, seed=0, **policy):
        return simulate(problem, policy or {"a": "UCB1"}, horizon, runs, seed)

    for other, what in (
        (study(seed=1, b="TS14"), "seed, got 0 and 1"),
        (study(horizon=30, b="TS14"), "horizon, got 20 and 30"),
        (study(runs=16, b="TS14"), "runs, got 8 and 16"),
        (study(BetaBandit(3, s=2), b="TS14"), "problem"),
    ):
        with pytest.raises(ValueError, match=f"two studies must have the same {what}"):
            study().merge(other)
    with pytest.raises(ValueError, match="must have different labels, got 'a' twice"):
        study().merge(study(a="TS14"))
    with pytest.raises(TypeError, match="other must be a Study, got 3"):
        study().merge(3)
    assert study().merge(study(b="TS14")) == study(a="UCB1", b="TS14")


def test_a_file_of_before_has_no_recipe(tmp_path):
    new = simulate(BetaBandit(3), "UCB1", 20, 8)
    old = {name: value for name, value in new.provenance.items() if name != "recipe"}
    with pytest.raises(ValueError, match="this study has no recipe"):
        Study(new.rounds, new.results, old).extend(16)


@pytest.mark.parametrize(
    "numbers",
    [[], [2.5], [2.5] * 9, [0.0, -0.0], [np.nan] * 3, [1, 1, 1], [[1.5, 1.5], [1.5, 1.5]]],
)
def test_equal_numbers_are_listed_as_any_others(numbers):
    array = np.array(numbers)
    listed = describe(array)["array"]
    assert repr(listed) == repr(array.tolist())  # -0.0 is not 0.0
    assert through_json(array).tobytes() == array.tobytes()


def test_a_number_that_all_arms_share_is_one_object():
    listed = describe(np.full(1000, 0.1))["array"]
    assert {id(number) for number in listed} == {id(listed[0])}

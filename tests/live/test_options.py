"""Options and arguments: what is good is kept as it was given, what is bad gets one sentence."""

import inspect
import json
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Unpack, get_args, get_origin, get_type_hints

import pytest

import varts
from tests.live.stores import open_in, sentence
from varts import Normal, NormalGamma
from varts.live import Options
from varts.live.store.store import Store
from varts.policies import registry
from varts.priors import UnknownArmsWarning

NAN, INF = float("nan"), float("inf")
SHARED = NormalGamma(0, 1, 2, 1)
EACH = NormalGamma([1.0, 2.0, 3.0], 1, 2, 1)
ARMS = ["a", "b", "c"]

VISITS = {"visits": "number"}
LINEAR = {"features": VISITS, "policy": "LinearVarTS"}
LINE = varts.LinearNormalGamma.ridge(2)
BAD = [
    ({"goal": "maximum"}, "unknown goal 'maximum'; did you mean 'max'? known: max, min"),
    ({"goal": None}, "unknown goal None; known: max, min"),
    ({"goal": 1}, "unknown goal 1; known: max, min"),
    ({"policy": "vart"}, "unknown policy 'vart'; did you mean 'VarTS'?"),
    ({"policy": 5}, "policy must be a policy or its label, got 5"),
    ({"policy": None}, "policy must be a policy or its label, got None"),
    ({"policy": varts.VarTS}, "did you mean VarTS()?"),
    ({"policy": {"label": "UCB1", "c": 2}}, "UCB1 takes no options, got 'c'"),
    ({"policy": {"label": "TS14", "b": 2}}, "unknown option of TS14 'b'; known: a"),
    ({"policy": {"label": "TS14", "a": NAN}}, "TS14: a must be finite"),
    ({"policy": {"a": 2}}, "unknown policy ''; known: VarTS"),
    (
        {"policy": varts.KnownVarianceTS(sigma=[1, 2])},
        "sigma must be one number or one per arm (3)",
    ),
    ({"prior": 5}, "prior must be a prior, its fields or a JSON file, got 5"),
    ({"prior": [0, 1, 2, 1]}, "prior must be a prior, its fields or a JSON file, got [0, 1, 2, 1]"),
    ({"prior": {"mu": 0}}, "a NormalGamma must have the fields mu, kappa, alpha, beta, got mu"),
    ({"prior": {"mu": 0, "kappa": -1, "alpha": 1, "beta": 1}}, "kappa must be finite and >= 0"),
    ({"prior": NormalGamma([1, 2], 1, 2, 1)}, "prior must have one entry per arm (3)"),
    ({"prior": Normal(0, 1)}, "VarTS: prior must be a NormalGamma, got a Normal"),
    ({"policy": "UCB1", "prior": SHARED}, "UCB1 takes no prior: give prior=None with"),
    ({"policy": "TS14", "prior": SHARED}, "TS14 takes no prior: give prior=None with"),
    ({"policy": varts.VarTS(SHARED), "prior": EACH}, "prior must be given once"),
    ({"floor": -0.1}, "floor must be finite and >= 0 and < 1, got -0.1"),
    ({"floor": 1}, "floor must be finite and >= 0 and < 1, got 1"),
    ({"floor": 0.5}, "floor must be at most 1/3 with 3 arms in play, got 0.5"),
    ({"floor": "0.1"}, "floor must be finite and >= 0 and < 1, got '0.1'"),
    ({"floor": None}, "floor must be finite and >= 0 and < 1, got None"),
    ({"floor": [0.1]}, "floor must be one number, got [0.1]"),
    ({"floor": NAN}, "floor must be finite and >= 0 and < 1, got nan"),
    ({"holdout": 1.0}, "holdout must be finite and >= 0 and < 1, got 1.0"),
    ({"holdout": -0.5}, "holdout must be finite and >= 0 and < 1, got -0.5"),
    ({"sticky": 1}, "sticky must be True or False, got 1"),
    ({"sticky": "yes"}, "sticky must be True or False, got 'yes'"),
    ({"clip": 5}, "clip must be two numbers, low and high, got 5"),
    ({"clip": (1,)}, "clip must be two numbers, low and high, got (1,)"),
    ({"clip": (2, 1)}, "clip must be two numbers, low < high, got (2, 1)"),
    ({"clip": (1, 1)}, "clip must be two numbers, low < high, got (1, 1)"),
    ({"clip": (0, INF)}, "clip must be finite, got inf"),
    ({"clip": ("0", "1")}, "clip must be finite, got '0'"),
    ({"clip": "01"}, "clip must be two numbers, low and high, got '01'"),
    ({"window": 0}, "window must be finite and > 0 and <= 3.15576e+09, got 0"),
    ({"window": -1}, "window must be finite and > 0 and <= 3.15576e+09, got -1"),
    ({"window": INF}, "window must be finite and > 0 and <= 3.15576e+09, got inf"),
    ({"window": 1e303}, "window must be finite and > 0 and <= 3.15576e+09, got 1e+303"),
    ({"window": "a day"}, "window must be seconds or a time like 30m, 24h or 7d, got 'a day'"),
    ({"skew": -1}, "skew must be finite and >= 0 and <= 3.15576e+09, got -1"),
    ({"skew": None}, "skew must be seconds or a time like 30m, 24h or 7d, got None"),
    ({"skew": 1e303}, "skew must be finite and >= 0 and <= 3.15576e+09, got 1e+303"),
    (
        {"missing": 0.0},
        "window must be given with missing, got none: a reward is missing once its window has "
        "passed",
    ),
    ({"missing": NAN, "window": 5}, "missing must be finite, got nan"),
    ({"missing": "0", "window": 5}, "missing must be finite, got '0'"),
    ({"half_life": 0}, "half_life must be finite and > 0, got 0"),
    ({"half_life": INF}, "half_life must be finite and > 0, got inf"),
    ({"stop_p_best": 0}, "stop_p_best must be finite and > 0 and < 1, got 0"),
    ({"stop_p_best": 95}, "stop_p_best must be finite and > 0 and < 1, got 95"),
    ({"stop_loss": 0}, "stop_loss must be finite and > 0, got 0"),
    ({"stop_loss": "x"}, "stop_loss must be finite and > 0, got 'x'"),
    ({"stop_error": 1}, "stop_error must be finite and > 0 and < 1, got 1"),
    ({"hash_units": 1}, "hash_units must be True or False, got 1"),
    ({"client_ids": "yes"}, "client_ids must be True or False, got 'yes'"),
    ({"metrics": "refund"}, "metrics must be a list of different names"),
    ({"metrics": ["refund", "refund"]}, "such as refund or latency_ms, got ['refund', 'refund']"),
    (
        {"metrics": ["a b"]},
        "metrics must be a list of different names such as refund or latency_ms",
    ),
    ({"metrics": ["value"]}, "such as refund or latency_ms, got 'value'"),
    ({"metrics": [5]}, "such as refund or latency_ms, got 5"),
    ({"metrics": None}, "such as refund or latency_ms, got None"),
    ({"guards": {"refund": ("below", 0.05)}}, "unknown metric 'refund'; no metric exists"),
    ({"guards": [1]}, 'guards must be like {"refund": ("below", 0.05)}, got [1]'),
    ({"metrics": ["r"], "guards": {"r": 5}}, 'guard of r must be like ("below", 0.05), got 5'),
    ({"metrics": ["r"], "guards": {"r": ("under", 5)}}, "unknown guard of r 'under'; known: below"),
    ({"metrics": ["r"], "guards": {"r": ("below", NAN)}}, "guard of r must be finite, got nan"),
    ({"features": 5}, 'features must be like {"country": ["NL", "BE"], "visits": "number"}, got 5'),
    ({"features": {}}, "features must have at least one feature, got none"),
    ({"features": {"visits": "numbers"}}, 'visits must be "number" or a list of categories'),
    ({"features": {"time": "number"}}, "features must not be named like a metric or a column"),
    ({"features": {"kinds": VISITS, "version": 2}}, "version of the features must be 1, got 2"),
    ({**LINEAR, "prior": LINE}, "prior must have 1 features, for the columns ['visits'], got 2"),
    (
        {**LINEAR, "prior": varts.LinearNormalGamma.elicit(1, 1, 1, 2, {"sales": 1})},
        "prior must be for the columns ['visits'], got ['sales']",
    ),
    ({"policy": "LinearVarTS"}, "features must be given for LinearVarTS, got none"),
    ({"control": 5}, "control must be text of 1 to"),
    ({"control": ""}, "control must be text of 1 to"),
    ({"control": "d"}, "control must be one of the arms ['a', 'b', 'c'], got 'd'"),
    ({"window": 60, "missing_metrics": [1]}, 'missing_metrics must be like {"margin": 0.0}, got'),
    ({"window": 60, "missing_metrics": {"r": 0}}, "unknown metric 'r'; no metric exists"),
    ({"metrics": ["r"], "missing_metrics": {"r": 0}}, "window must be given with missing_metrics"),
    ({"block": 0}, "block must be finite and >= 1"),
    ({"block": "daily"}, "block must be"),
    ({"block": 60.0, "half_life": 5}, "block must be auto or none with a half-life"),
    ({"adjust": {}}, "must have at least one feature, got none"),
    ({"adjust": VISITS, "half_life": 5}, "half_life must be left out with adjust, got both"),
    ({"rules": 3}, "rules must be"),
    ({"owner": ""}, "owner must be text of 1 to 100 characters, got ''"),
    ({"owner": "x" * 101}, "owner must be text of 1 to 100 characters, got 'xxx"),
    ({"hypothesis": 5}, "hypothesis must be text of 1 to 2000 characters, got 5"),
    ({"hypothesis": "x" * 2001}, "hypothesis must be text of 1 to 2000 characters, got 'xxx"),
    ({"rules": 1, "adjust": VISITS}, "rules must be 2 with adjust, got 1"),
    ({"flor": 0.1}, "unknown option 'flor'; did you mean 'floor'? known: goal, policy,"),
]
GOOD = {
    "goal": ["max", "min"],
    "policy": [
        "UCB1",
        "ts_14",
        varts.TS14(a=0.0),
        varts.UCBV(horizon=50),
        {"label": "MVTS", "rho": 2},
    ],
    "prior": [SHARED, EACH, {"mu": 0, "kappa": 1, "alpha": 2, "beta": 1}],
    "floor": [0, 0.1, 1 / 3],
    "holdout": [0.5],
    "sticky": [True],
    "clip": [(0, 1), [-5.5, 1e300], None],
    "window": [60, 0.5, "24h", timedelta(days=7)],
    "skew": [0, 3600.0, "30m", timedelta(hours=1)],
    "missing": [None],
    "half_life": [100, 0.5],
    "stop_p_best": [0.95],
    "stop_loss": [0.01],
    "stop_error": [0.05],
    "hash_units": [True],
    "client_ids": [True],
    "metrics": [["refund", "latency_ms"], ("refund",), []],
    "guards": [{}],
    "features": [None, VISITS, {"country": ["NL", "BE"]}, varts.Features(VISITS)],
    "control": [None, "b"],
    "missing_metrics": [{}],
    "block": ["auto", None, 3600, 1.0],
    "adjust": [None, VISITS, varts.Features(VISITS)],
    "rules": [1, 2],
    "owner": [None, "the shop team", "x" * 100],
    "hypothesis": [None, "Cheaper sells more:\nfriends said so.", "x" * 2000],
}


# ------------------------------------------------------------------------------ options


@pytest.mark.parametrize(("options", "said"), BAD, ids=[f"{i}" for i in range(len(BAD))])
def test_a_bad_option_gets_one_sentence(options, said):
    store = Store("memory://")
    with pytest.raises((TypeError, ValueError)) as error:
        open_in(store, **options)
    assert said in sentence(error)
    assert store.names() == []  # and nothing was created
    exp = open_in(store)
    with pytest.raises(error.type) as again:
        exp.configure(**options)
    text = sentence(again)
    assert text == sentence(error) or text.startswith(f"{next(iter(options))} must stay")
    assert exp.report().version == 1
    with pytest.raises(error.type) as opened:
        open_in(store, **options)  # also of an experiment that exists
    assert sentence(opened)


def test_every_option_has_its_bad_and_its_good_values():
    names = {field.name for field in fields(Options)}
    assert {name for options, _ in BAD for name in options} == names | {"flor"}
    assert set(GOOD) == names


@pytest.mark.parametrize("name", GOOD)
def test_good_options_are_kept(name):
    for value in GOOD[name]:
        store = Store("memory://")
        made = open_in(store, **{name: value}).options
        again = open_in(store).options
        assert again == made == Options.from_json(json.loads(json.dumps(made.to_json())))
        assert made.build(3) is not None
        same = open_in(store, **{name: value})  # given again, it agrees with itself
        same.configure(**{name: value})
        assert same.options == made
        if made != Options.made():
            with pytest.raises(ValueError, match=r"change it with configure$"):
                open_in(store, **{name: other_than(name)})


def other_than(name):
    return {"policy": "TS20", "prior": NormalGamma(7, 7, 7, 7), "goal": "max"}.get(
        name,
        {
            "block": 7200.0,
            "rules": 2,
            "adjust": {"sales": "number"},
            "sticky": False,
            "hash_units": False,
            "client_ids": False,
            "clip": (3, 4),
            "metrics": ["other"],
            "features": {"other": "number"},
            "control": "c",
            "owner": "somebody else",
            "hypothesis": "something else",
        }.get(name, 0.123),
    )


def test_options_can_be_taken_back():
    exp = open_in("memory://", prior=EACH, window=60, missing=0.0, clip=(0, 1), half_life=9)
    with pytest.raises(ValueError, match="window must be given with missing"):
        exp.configure(window=None)
    exp.configure(prior=None, window=None, missing=None, clip=None, half_life=None)
    assert exp.options == Options.made()


def test_a_policy_brings_its_prior():
    exp = open_in("memory://", policy=varts.VarTS(EACH))
    assert exp.options == Options.made(prior=EACH)
    exp.configure(policy=varts.VarTS(SHARED))
    assert exp.options.prior["mu"] == 0.0
    exp.configure(policy="TS14", prior=None)
    assert exp.options.policy == {"label": "TS14"}


def test_a_policy_without_a_prior_is_told_how_to_lose_it():
    exp = open_in("memory://", prior=SHARED)
    with pytest.raises(ValueError, match=r"^UCB1 takes no prior: .* \(--prior none\)$"):
        exp.configure(policy="UCB1")
    exp.configure(policy="UCB1", prior=None)
    assert exp.options.policy == {"label": "UCB1"}


def test_a_prior_file(tmp_path):
    EACH.save(tmp_path / "prior.json")
    exp = open_in("memory://", prior=tmp_path / "prior.json")
    assert exp.options == open_in("memory://", prior=str(tmp_path / "prior.json")).options
    assert exp.options.prior["mu"] == [1.0, 2.0, 3.0]
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ValueError, match="prior must be JSON") as error:
        open_in("memory://", prior=tmp_path / "bad.json")
    assert sentence(error)
    with pytest.raises(OSError, match=r"nowhere\.json") as missing:
        open_in("memory://", prior=tmp_path / "nowhere.json")
    assert sentence(missing)


NAMED = {
    "type": "NormalGamma",
    **{"mu": [20.0, 30.0, 10.0], "kappa": [2.0, 3.0, 1.0], "alpha": [2.0] * 3, "beta": [5.0] * 3},
    "arms": ["b", "c", "a"],
    "others": {"type": "NormalGamma", "mu": 9, "kappa": 9, "alpha": 2, "beta": 5},
}


def test_a_prior_for_named_arms_goes_by_the_names_however_it_comes(tmp_path):
    file = tmp_path / "prior.json"
    file.write_text(json.dumps(NAMED))
    again = tmp_path / "again.json"
    NormalGamma.load(file).save(again)  # which keeps the names
    for given in (
        {"prior": file},
        {"prior": str(again)},
        {"prior": NormalGamma.load(file)},
        {"prior": NAMED},
        {"policy": varts.VarTS(file)},
        {"policy": varts.VarTS(NormalGamma.load(file))},
        {"policy": {"label": "VarTS", "prior": str(file)}},
    ):
        exp = open_in("memory://", **given)
        assert exp.options.prior["mu"] == [10.0, 20.0, 30.0]
        assert exp.options.prior["kappa"] == [1.0, 2.0, 3.0]
        with pytest.warns(UnknownArmsWarning, match="no entry for the arm 'new'"):
            two = open_in("memory://", arms=["c", "new"], **given)
        assert two.options.prior["mu"] == [30.0, 9.0]
        with pytest.warns(UnknownArmsWarning):
            two.configure(**given)
        two.add_arm("b", prior=file)
        assert two.options.prior["mu"] == [30.0, 9.0, 20.0]
    assert varts.VarTS(file).prior.mu.tolist() == NAMED["mu"]  # without names: by position


def test_a_policy_must_be_found_again(monkeypatch):
    @dataclass(frozen=True)
    class Mine(varts.Policy):
        label = "Mine"

        def choose(self, stats, t, rng):
            return 0

    class Bare(Mine.__base__):
        label = "Bare"
        choose = Mine.choose

    with pytest.raises(ValueError, match=r"policy must be registered .* varts.register") as error:
        open_in("memory://", policy=Mine())
    assert sentence(error)
    monkeypatch.setitem(registry._registry, "mine", Mine)
    assert open_in("memory://", policy=Mine()).decide().arm == "a"
    monkeypatch.setitem(registry._registry, "bare", Bare)
    with pytest.raises(ValueError, match="policy must be a dataclass") as error:
        open_in("memory://", policy=Bare())
    assert sentence(error)

    @dataclass(frozen=True)
    class Impostor(varts.VarTS):
        """Has the label of another."""

    with pytest.raises(ValueError, match="policy must be registered under its label"):
        open_in("memory://", policy=Impostor())


def test_a_policy_with_memory_is_refused(monkeypatch):
    class Last(varts.Policy):
        label = "Last"

        def update(self, arm, reward, rng):
            self.arm = arm

        def choose(self, stats, t, rng):
            return 0

    monkeypatch.setitem(registry._registry, "last", Last)
    with pytest.raises(ValueError, match="'Last', which has its own memory"):
        open_in("memory://", policy="Last")


def test_a_policy_that_goes_missing_is_named_where_it_is_needed(monkeypatch, tmp_path):
    """Written by a program that registers it, read by one that does not."""

    @dataclass(frozen=True)
    class Mine(varts.Policy):
        label = "Mine"

        def choose(self, stats, t, rng):
            return 0

    store = Store("memory://")
    with monkeypatch.context() as patch:
        patch.setitem(registry._registry, "mine", Mine)
        exp = open_in(store, policy="Mine")
        ids = [d.id for d in exp.decide_many(9)]
        exp.reward_many((id, i % 2) for i, id in enumerate(ids[:8]))
        exp.configure(floor=0.1)
        exp.add_arm("d")
    exp = open_in(store)
    needing = [
        lambda: exp.decide(),
        lambda: exp.reward(ids[8], 1.0),  # a policy may toss rewards
        lambda: exp.configure(floor=0.2),
        lambda: exp.add_arm("e"),
    ]
    for call in needing:
        with pytest.raises(ValueError, match="unknown policy 'Mine'; known: VarTS") as error:
            call()
        assert sentence(error)
    exp.pause_arm("a")
    exp.resume_arm("a")
    assert exp.verify()
    (problem,) = exp.verify(replay=True).problems
    assert "cannot be made again: unknown policy 'Mine'" in problem
    assert exp.export(tmp_path / "log.csv") == 9
    report = exp.report()  # as with UCB1, what VarTS believes
    assert report.frame["n"].sum() == 8 and report.frame["p_best"].to_list() == [None] * 4
    exp.stop("a")
    assert exp.report().stop


# ------------------------------------------------------------------------------ one definition


@pytest.mark.parametrize("function", [varts.open, varts.Experiment.configure])
def test_editors_see_every_option_as_a_keyword(function):
    """`Unpack` is what type checkers and editors read."""
    from_services = {"RemoteExperiment": varts.client.RemoteExperiment}  # imported when needed
    hint = get_type_hints(function, localns=from_services)["options"]
    assert get_origin(hint) is Unpack
    (shown,) = get_args(hint)
    assert list(get_type_hints(shown)) == [field.name for field in fields(Options)]
    assert shown.__required_keys__ == frozenset()
    last = list(inspect.signature(function).parameters.values())[-1]
    assert (last.name, last.kind) == ("options", inspect.Parameter.VAR_KEYWORD)


def test_every_option_is_described_once():
    described = Options.descriptions()
    assert list(described) == [field.name for field in fields(Options)]
    for name, text in described.items():
        assert text.endswith(".") and "\n" not in text and len(text) > 20, name
    assert all(f"{name}" in varts.open.__doc__ for name in described)

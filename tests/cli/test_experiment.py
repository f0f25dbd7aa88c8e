"""Live experiments on the command line: every verb, what it prints, one sentence for a mistake."""

import inspect
import io
import json
import os
import re
import shlex
import shutil
import sqlite3
import statistics
import subprocess
import sys
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import polars as pl
import pytest
from rich.cells import cell_len

import varts
from varts import cli
from varts._validation import needs_extra
from varts.cli.experiment import experiment
from varts.cli.experiment_flags import STORE, TYPED, Flags
from varts.fitting.columns import Columns
from varts.live import Options
from varts.live.arguments import check_arms
from varts.policies import registry

COMMAND = str(Path(sys.executable).with_name("varts"))
VERBS = [
    "create",
    "decide",
    "reward",
    "split",
    "report",
    "history",
    "changes",
    "decision",
    "ages",
    "export",
    "verify",
    "check",
    "evaluate",
    "list",
    "add-arm",
    "pause-arm",
    "resume-arm",
    "configure",
    "stop",
    "restart",
    "amend",
    "void",
    "forget-unit",
    "delete",
]
SHARED = {"mu": 12.0, "kappa": 16.0, "alpha": 11.0, "beta": 640.0}


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """`varts experiment ...` in an empty folder; returns (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARTS_STORE", raising=False)

    def run(*arguments):
        try:
            cli.main(["experiment", *(str(argument) for argument in arguments)])
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def done(call):
    """The same for calls that must succeed; returns stdout."""

    def run(*arguments):
        code, out, err = call(*arguments)
        assert (code, err) == (0, "")
        return out

    return run


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A store with an experiment whose seed, and so every decision, is known."""
    path = tmp_path_factory.mktemp("store") / "varts.db"
    with varts.open("price", ["9", "12", "15"], store=f"sqlite:///{path}", seed=1):
        return path


@pytest.fixture
def price(call, database):
    """The name of that experiment; the store is a copy, where `call` looks for it."""
    shutil.copy(database, "varts.db")
    return "price"


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def stored(done, name="price"):
    """What `list` knows about an experiment."""
    return next(one for one in lines(done("list", "--json")) if one["name"] == name)


def contents():
    """Every row of the store."""
    with closing(sqlite3.connect("varts.db")) as database:
        return list(database.iterdump())


def refused(answer, *words, code=2):
    """This exit code, nothing on stdout and one sentence on stderr that has the words."""
    got, out, err = answer
    assert (got, out) == (code, "")
    assert err.startswith("varts: ") and err.count("\n") == 1 and err.endswith("\n")
    assert "Traceback" not in err
    for word in words:
        assert str(word) in err


def play(done, rewards, name="price"):
    """Decide and reward so often; returns the rewards of every arm."""
    ids = [f"visit-{i}" for i in range(len(rewards))]
    told = done("decide", name, *(word for id in ids for word in ("--id", id)))
    arms = [line.split("\t")[0] for line in told.splitlines()]
    done("reward", name, *(word for pair in zip(ids, rewards, strict=True) for word in pair))
    got = {}
    for arm, value in zip(arms, rewards, strict=True):
        got.setdefault(arm, []).append(value)
    return got


# ------------------------------------------------------------------------------ help


def test_the_help_lists_every_verb(done):
    assert {name for name in experiment if not name.startswith("-")} == set(VERBS)
    out = done("--help")
    for verb in VERBS:
        assert re.search(rf"^│ {verb} ", out, re.MULTILINE)
    assert "VARTS_STORE" in out and "varts experiment create" in out
    assert done() == out


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_an_example_and_the_store(done, verb):
    out = done(verb, "--help")
    assert f"Example: varts experiment {verb}" in out
    assert "--store" in out and "VARTS_STORE" in out
    assert "--json" in out


def test_the_guide_shows_every_verb():
    page = (Path(__file__).parents[2] / "docs" / "live-options.md").read_text("utf-8")
    assert [verb for verb in VERBS if f"varts experiment {verb}" not in page] == []


# ------------------------------------------------------------------------------ options

# Every option as it is typed, and what is stored then; the last column: what it needs beside it.
EXAMPLES = {
    "goal": ("min", "min", []),
    "policy": ("ucb-v,zeta=1.2", {"label": "UCB-V", "zeta": 1.2}, []),
    "prior": ("mu=12,kappa=16,alpha=11,beta=640", SHARED, []),
    "floor": ("0.05", 0.05, []),
    "holdout": ("1e-1", 0.1, []),
    "sticky": (True, True, []),
    "clip": ("-5,100.5", [-5.0, 100.5], []),
    "window": ("24h", 86400.0, []),
    "skew": ("5m", 300.0, []),
    "missing": ("-1", -1.0, ["--window", "60"]),
    "half_life": ("500", 500.0, []),
    "stop_p_best": ("0.95", 0.95, []),
    "stop_loss": ("0.01", 0.01, []),
    "stop_error": ("0.05", 0.05, []),
    "hash_units": (True, True, []),
    "client_ids": (True, True, []),
    "metrics": ("refund, latency", ["refund", "latency"], []),
    "guards": ("r<0.05,q>4", {"r": ["below", 0.05], "q": ["above", 4.0]}, ["--metrics", "r,q"]),
    "features": (
        "visits=number",
        {"version": 1, "kinds": {"visits": "number"}, "interactions": [], "optional": []},
        ["--policy", "VarTS"],
    ),
    "missing_metrics": ("r=0,q=1.5", {"r": 0.0, "q": 1.5}, ["--metrics", "r,q", "--window", "60"]),
    "block": ("1h", 3600.0, []),
    "adjust": (
        "spent=number",
        {"version": 1, "kinds": {"spent": "number"}, "interactions": [], "optional": []},
        [],
    ),
    "rules": ("1", 1, []),
    "control": ("b", "b", []),
    "owner": ("the shop team", "the shop team", []),
    "hypothesis": ("b sells more", "b sells more", []),
}
BESIDE = {
    "missing": {"window": 60.0},
    "guards": {"metrics": ["r", "q"]},
    "features": {},
    "missing_metrics": {"metrics": ["r", "q"], "window": 60.0},
}


def flag(name):
    return "--" + name.replace("_", "-")


def test_the_default_store_is_that_of_python():
    assert inspect.signature(varts.open).parameters["store"].default == STORE


def test_an_option_of_a_policy_may_be_a_yes_or_no(done):
    done("create", "sales", "a", "b", "--policy", "VarTS,tails=true")
    assert stored(done, "sales")["options"]["policy"] == {"label": "VarTS", "tails": True}


def test_every_option_of_an_experiment_has_a_flag(done):
    names = [field.name for field in fields(Options)]
    assert [field.name for field in fields(Flags)] == names == list(EXAMPLES)
    for verb in ("create", "configure"):
        out = done(verb, "--help")
        assert [name for name in names if flag(name) + " " not in out] == []


def test_the_help_of_an_option_is_its_description_with_its_default():
    for name, hint in get_type_hints(Flags, include_extras=True).items():
        (parameter,) = hint.__metadata__
        default = str(getattr(Options(), name)) if name in TYPED else f"--no-{flag(name)[2:]}"
        default = {"None": "none", "0.0": "0", "()": "none", "{}": "none"}.get(default, default)
        text = Options.descriptions()[name]
        assert parameter.help == f"{text.removesuffix('.')} ({default})."


def test_every_option_is_typed_or_a_yes_or_no():
    yes_or_no = [name for name, default in vars(Options()).items() if isinstance(default, bool)]
    names = {field.name for field in fields(Options)}
    assert set(TYPED) == names - set(yes_or_no)


def test_the_database_is_loaded_when_an_experiment_is_asked_for():
    program = """
import sys
from varts.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("sqlalchemy" in sys.modules)
"""
    for words, loaded in ((["--help"], "False"), (["experiment", "--help"], "True")):
        told = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
        )
        assert "Live experiments: decide, reward, report" in told.stdout
        assert told.stdout.split()[-1] == loaded


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_option_is_stored_as_typed_and_none_takes_it_back(call, done, name):
    typed, kept, more = EXAMPLES[name]
    asked = [flag(name)] if typed is True else [flag(name), typed]
    done("create", "one", "a", "b", *asked, *more)
    default = Options.made().to_json()
    expected = {**default, name: kept} | (BESIDE[name] if more else {})
    assert stored(done, "one")["options"] == expected
    back = ["--no-" + flag(name)[2:]] if typed is True else [flag(name), "none"]
    answer = call("configure", "one", *back)
    if name in Options.FIXED:
        refused(answer, name, "must stay")
        return
    assert answer[0] == 0 and "epoch 2" in answer[1]
    none = None if name == "block" else default[name]  # no blocks are not the default
    assert stored(done, "one")["options"] == {**expected, name: none}
    if name == "rules":  # the log is never counted by older rules again
        refused(call("configure", "one", *asked), "rules must be at least 2, got 1")
        return
    done("configure", "one", *asked)  # and by configure, too
    assert stored(done, "one")["options"] == expected
    assert stored(done, "one")["epoch"] == 3


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [("90", 90), ("90s", 90), ("30m", 1800), ("1.5H", 5400), ("7d", 604800), ("1e3", 1000)],
)
def test_a_window_in_the_units_people_use(done, typed, seconds):
    done("create", "one", "a", "b", "--window", typed)
    assert stored(done, "one")["options"]["window"] == seconds


def test_configure_changes_what_is_given_and_says_so(done, price):
    done("configure", price, "--floor", "0.1", "--clip=-1,30")
    out = done("configure", price, "--floor", "none", "--half-life", "500")
    assert out == "price: floor 0, half_life 500; epoch 3\n"
    options = stored(done)["options"]
    assert (options["floor"], options["half_life"], options["clip"]) == (0, 500, [-1, 30])


def test_a_prior_file_for_named_arms_is_taken_by_name(call, done, tmp_path):
    """The order of the file is not that of the arms; an arm it lacks gets `others`."""
    fitted = {
        "type": "NormalGamma",
        "mu": [10.0, 30.0],
        "kappa": [1.0, 3.0],
        "alpha": [2.0, 2.0],
        "beta": [5.0, 5.0],
        "arms": ["dear", "cheap"],
        "others": {"type": "NormalGamma", "mu": 20, "kappa": 2, "alpha": 2, "beta": 5},
        "fit": {"method": "likelihood"},
    }
    Path("prior.json").write_text(json.dumps(fitted))
    same = ["create", "one", "cheap", "new", "dear", "--prior"]
    code, _, err = call(*same, "prior.json")
    assert (code, err.count("\n")) == (0, 1)  # said once, although it is tried out first
    assert err.startswith("varts: note: the prior has no entry for the arm 'new', which gets")
    assert stored(done, "one")["options"]["prior"]["mu"] == [30, 20, 10]
    assert "already exists" in call(*same, "prior.json")[1]
    refused(
        call(*same, "mu=1,kappa=1,alpha=2,beta=5"), "prior of the experiment", "configure", code=5
    )
    refused(call("add-arm", "one", "late"), "prior must be given")
    err = call("add-arm", "one", "late", "--prior", "prior.json")[2]
    assert "no entry for the arm 'late'" in err
    done("add-arm", "one", "later", "--prior", "mu=7,kappa=1,alpha=2,beta=5")
    prior = stored(done, "one")["options"]["prior"]
    assert prior["mu"] == [30, 20, 10, 20, 7] and prior["kappa"] == [3, 2, 1, 2, 1]


def test_arms_and_their_groups_come_from_files(call, done):
    varts.NormalGamma([3, 4], 1, 2, 5, names=["comedy", "drama"], group="genre").save("prior.json")
    Path("arms.txt").write_text("Saint, The (1997)\nClerks\n")
    Path("films.csv").write_text('film,genre\n"Saint, The (1997)",drama\nClerks,comedy\n')
    films = ("--arms-file", "arms.txt", "--prior", "prior.json")
    refused(call("create", "films", *films), "the prior is by genre, not by arm", "--arm-groups")
    groups = ("--arm-groups", "films.csv")
    done("create", "films", *films, *groups)
    assert stored(done, "films")["arms"] == ["Saint, The (1997)", "Clerks"]
    assert stored(done, "films")["options"]["prior"]["mu"] == [4, 3]
    assert "already exists" in done("create", "films", *films, *groups)
    Path("more.csv").write_text("film,genre\nHeat,drama\n")
    done("add-arm", "films", "Heat", "--prior", "prior.json", "--arm-groups", "more.csv")
    assert stored(done, "films")["options"]["prior"]["mu"] == [4, 3, 4]
    Path("films.csv").write_text("film,genre\nSaint, The (1997),drama\n")  # not quoted
    change = call("configure", "films", "--prior", "prior.json", *groups)
    refused(change, "films.csv must have two columns")
    refused(call("create", "two", "a", *films), "--arms-file", "both")


def test_a_shared_prior_file_stays_shared(done):
    varts.NormalGamma(**SHARED).save("prior.json")
    done("create", "one", "a", "b", "--prior", "prior.json")
    assert stored(done, "one")["options"]["prior"] == SHARED
    done("add-arm", "one", "c")
    assert stored(done, "one")["arms"] == ["a", "b", "c"]


# ------------------------------------------------------------------------------ create and list


def test_create_again_is_harmless_and_another_option_is_refused(call, done, price):
    assert "created; 2 arms in sqlite:///varts.db" in done("create", "other", "a", "b")
    before = stored(done)
    assert "already exists, unchanged" in done("create", price, "9", "12", "15")
    assert "already exists, unchanged" in done("create", price, "--seed", "1", "--floor", "0")
    refused(
        call("create", price, "9", "12", "15", "--floor", "0.1"),
        "floor",
        "0.1",
        "configure",
        code=5,
    )
    refused(call("create", price, "9", "12"), "arms", "9, 12, 15", "got 9, 12", code=5)
    refused(call("create", price, "9", "12", "15", "--seed", "2"), "seed", "got another", code=5)
    assert stored(done) == before


def test_list_for_people(done, price):
    done("create", "latency", "old", "new", "--goal", "min", "--policy", "UCB1")
    play(done, [1.0] * 7)
    done("pause-arm", price, "15")
    out = done("list").splitlines()
    assert out[0].split() == ["name", "arms", "rewards", "epoch", "policy", "status"]
    assert out[1].split() == ["latency", "2", "0", "1", "UCB1", "running"]
    assert out[2].split() == ["price", "3", "7", "1", "VarTS", "running,", "1", "arm", "paused"]


def test_list_of_an_empty_store(done):
    varts.live.Store("sqlite:///varts.db").close()
    assert done("list") == "no experiments in sqlite:///varts.db\n"
    assert done("list", "--json") == ""


def test_a_policy_of_ones_own_does_not_stand_in_the_way_of_looking(call, done, price):
    """The command line does not know what a program registered."""
    mine = varts.index_policy("Mine", initial_pulls=2)(lambda n, mean, m2, t: mean)
    varts.register(type(mine))
    with varts.open("own", ["a", "b"], store="sqlite:///varts.db", policy="Mine") as exp:
        exp.reward_many([(d.id, i % 3) for i, d in enumerate(exp.decide_many(12))])
    del registry._registry["mine"]
    out = done("list").splitlines()
    assert out[1].split() == ["own", "2", "12", "1", "Mine", "running"] and "price" in out[2]
    assert len(lines(done("list", "--json"))) == 2
    assert done("report", "own").startswith("own: Mine, goal: maximize, 12 rewards")
    assert "12 decisions written" in done("export", "own", "log.csv")
    assert "agree with the log" in done("verify", "own")
    refused(call("decide", "own"), "unknown policy 'Mine'")
    done("pause-arm", "own", "a")
    assert done("stop", "own", "--winner", "b") == "own: stopped, b for everybody\n"


# ------------------------------------------------------------------------------ decide and reward


def test_decide_prints_the_arm_and_the_id(done, price):
    arm, id = done("decide", price, "--unit", "user-42").rstrip("\n").split("\t")
    assert arm in ("9", "12", "15") and len(id) >= 16
    again = lines(done("decide", price, "--id", id, "--json"))
    assert again == [
        {
            "id": id,
            "arm": arm,
            "probability": 1 / 3,
            "version": 1,
            "reason": "forced",
            "estimated": False,
        }
    ]
    with varts.open(price, store="sqlite:///varts.db") as exp:
        assert exp.decide(id=id).arm == arm


def test_several_units_get_a_line_each_and_ids_may_be_your_own(call, done, price):
    told = done("decide", price, "--unit", "a", "--unit", "b", "--id", "1", "--id", "2")
    assert [line.split("\t")[1] for line in told.splitlines()] == ["1", "2"]
    assert done("decide", price, "--id", "2", "--id", "1").splitlines() == told.splitlines()[::-1]
    refused(call("decide", price, "--unit", "a", "--id", "1", "--id", "2"), "ids", "one per unit")


def test_many_ids_come_from_a_file_or_standard_input(call, done, price, monkeypatch):
    names = [f"visit {i}" for i in range(2000)]
    Path("ids.txt").write_text("\n".join(names))
    Path("units.txt").write_text("".join(f"unit {i}\n" for i in range(2000)))
    told = done("decide", price, "--ids-file", "ids.txt", "--units-file", "units.txt")
    assert [line.split("\t")[1] for line in told.splitlines()] == names
    assert done("decide", price, "--ids-file", "ids.txt") == told
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(names)))
    assert done("decide", price, "--ids-file", "-", "--units-file", "units.txt") == told
    refused(
        call("decide", price, "--ids-file", "ids.txt", "--id", "x"), "--id", "--ids-file", "both"
    )
    refused(call("decide", price, "--ids-file", "none.txt"), "none.txt", code=4)
    refused(call("decide", price, "--ids-file", "ids.txt", "--unit", "a"), "ids", "one per unit")
    Path("ids.txt").write_text("")
    assert done("decide", price, "--ids-file", "ids.txt") == ""


def test_a_sticky_unit_keeps_its_arm(done):
    done("create", "one", *"abcdefgh", "--sticky")
    arms = {done("decide", "one", "--unit", "me").split("\t")[0] for _ in range(5)}
    assert len(arms) == 1  # 8 arms: by chance once in 4096


def test_reward_prints_applied_then_duplicate(call, done, price):
    done("decide", price, "--id", "v1", "--id", "v2", "--id", "v3")
    assert done("reward", price, "v1", "11.70") == "applied\tv1\n"
    assert done("reward", price, "v1", "11.7", "v2", "-3") == "duplicate\tv1\napplied\tv2\n"
    refused(call("reward", price, "v1", "12"), "'v1'", "11.7", "12.0", code=5)
    refused(call("reward", price, "v3", "1", "nobody", "2"), "unknown decision 'nobody'", code=4)
    assert stored(done)["rewards"] == 2  # v3 was not counted either


# ------------------------------------------------------------------------------ report


def test_report_for_scripts_has_the_numbers(done, price):
    values = [1e9 + i % 5 for i in range(40)]
    got = play(done, values)
    done("decide", price, "--id", "open")
    (body,) = lines(done("report", price, "--json", "--level", "0.9"))
    assert (body["name"], body["goal"], body["level"]) == (price, "max", 0.9)
    assert (body["stop"], body["because"]) == (False, "no stop rule was set")
    assert body["version"] == 1 + len(values)
    assert [arm["arm"] for arm in body["arms"]] == ["9", "12", "15"]
    columns = ["arm", "n", "effective_n", "mean", "sd", "estimate", "mean_low", "mean_high"]
    columns += [
        "anytime_low",
        "anytime_high",
        "p_best",
        "expected_loss",
        "may_be_best",
        "share",
        "pending",
    ]
    assert all(list(arm) == columns for arm in body["arms"])
    for arm in body["arms"]:
        rewards = got[arm["arm"]]
        assert arm["n"] == len(rewards)
        assert arm["mean"] == pytest.approx(statistics.mean(rewards), abs=1e-6)
        assert arm["sd"] == pytest.approx(statistics.stdev(rewards), rel=1e-9)
        assert arm["mean_low"] < arm["mean"] < arm["mean_high"]
        assert arm["mean_low"] < arm["estimate"] < arm["mean_high"]
    assert sum(arm["p_best"] for arm in body["arms"]) == pytest.approx(1)
    assert sum(arm["pending"] for arm in body["arms"]) == 1
    best = max(body["arms"], key=lambda arm: arm["p_best"])
    assert body["best"] == best["arm"]
    assert (body["gain"], body["metrics"], body["guards"]) == (None, None, [])


def test_report_for_people(done, price):
    values = [1e9 + i % 5 for i in range(40)]
    got = play(done, values)
    done("pause-arm", price, "15")
    out = done("report", price).splitlines()
    assert (
        out[0]
        == "price: VarTS, goal: maximize, 40 rewards, 0 pending, epoch 1, running, 1 arm paused"
    )
    assert "95 % interval" in out[1] and "P(best)" in out[1] and "expected loss" in out[1]
    (nine,) = (line for line in out[2:4] if line.startswith("9 "))
    assert re.match(rf"9 +{len(got['9'])} +\d\.\d+ +10000000\d\d\.\d", nine)  # where they differ
    assert re.match(r"15 \(paused\) .* - +- ", out[4])
    assert out[5] in (
        *(f"best so far: {arm}; no stop rule was set" for arm in ("9", "12")),
        "too early to say which arm is best; no stop rule was set",
    )


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({"a": [0, 1] * 3, "b": [5, 6] * 3}, "too early to say which arm is best"),  # six are few
        ({"a": [0, 1] * 8, "b": [5, 6] * 8}, "best so far: b"),
        ({"a": [0, 1] * 8, "b": [0, 1] * 8}, "too early to say which arm is best"),  # even odds
        ({"a": [0, 1] * 3, "b": [5, 6] * 20}, "best so far: b"),  # a has been given up
        ({"a": [0, 1] * 2, "b": [5, 6] * 20}, "too early to say which arm is best"),  # too soon
        ({"a": [0] * 9, "b": [5, 6] * 20}, "too early to say which arm is best"),  # all equal
        ({arm: [0, 1] * 8 for arm in "abcdefg"}, "too early to say which arm is best"),
        ({"a": [1, 2] * 8, **{arm: [0, 1] * 8 for arm in "bcdefg"}}, "best so far: a"),
    ],
)
def test_an_arm_is_named_once_something_is_known(done, values, verdict):
    done("create", "named", *values)
    with varts.open("named", store="sqlite:///varts.db") as exp:
        wanted = {arm: list(rewards) for arm, rewards in values.items()}
        while any(wanted.values()):
            for decision in exp.decide_many(20):
                if wanted[decision.arm]:
                    exp.reward(decision.id, float(wanted[decision.arm].pop()))
            exp.configure(floor=1 / len(values))  # an even split: every arm gets its rewards
        found = exp.report()
    out = done("report", "named").splitlines()
    assert out[1 + len(values) + 1].startswith(f"{verdict}; ")
    assert found.best is not None  # scripts get the numbers, whatever they say


def test_the_likeliest_arms_come_first_and_top_says_how_many(call, done):
    done(
        "create",
        "many",
        *(f"arm-{i:03}" for i in range(120)),
        "--prior",
        "mu=12,kappa=16,alpha=11,beta=640",
    )
    play(done, [12 + i % 7 for i in range(60)], "many")
    (body,) = lines(done("report", "many", "--json"))
    chances = {arm["arm"]: arm["p_best"] for arm in body["arms"]}
    assert list(chances) == [f"arm-{i:03}" for i in range(120)]  # scripts get them as they are
    order = sorted(chances, key=lambda arm: -chances[arm])
    for shown, words in ((20, []), (3, ["--top", "3"]), (120, ["--top", "1e6"])):
        out = done("report", "many", *words).splitlines()
        assert [line.split()[0] for line in out[2 : 2 + shown]] == order[:shown]
        assert (out[2 + shown] == f"and {120 - shown} more") == (shown < 120)
    for wrong in ("0", "-3", "2.5", "all"):
        refused(call("report", "many", "--top", wrong), "--top must be a whole number", wrong)


def test_the_table_of_a_report_is_never_cut_and_keeps_its_columns(done):
    """Names that a terminal would obey, brackets that rich would take for markup, wide letters."""
    names = ["a\x1b[2J", "[red]b[/red]", "価格" * 30, "plain"]
    done("create", "odd", *names)
    _, titles, *rows, _ = done("report", "odd").splitlines()
    assert [row[: cell_len(titles)].split("  ")[0] for row in rows] == [
        "a\\u001b[2J",
        *names[1:],
    ]
    assert {cell_len(row) for row in rows} == {cell_len(titles)}


def test_a_report_before_any_reward(done, price):
    out = done("report", price)
    assert "no stop rule was set" in out and "nan" not in out and "None" not in out
    (body,) = lines(done("report", price, "--json"))
    assert body["best"] is None and body["arms"][0]["mean"] is None


def test_the_stop_rule_is_told_and_never_acts(done):
    done("create", "price", "9", "12", "--seed", "1", "--stop-p-best", "0.9", "--floor", "0.2")
    told = done("decide", "price", *(word for i in range(20) for word in ("--id", i)))
    arms = [line.split("\t")[0] for line in told.splitlines()]
    worth = {"9": 1, "12": 5}
    done("reward", "price", *(word for i in range(20) for word in (i, worth[arms[i]] + i / 10)))
    *_, out, certainty, optimism = done("report", "price").splitlines()
    assert optimism.startswith("note: P(best) is optimistic when it first reaches its target")
    assert certainty == (
        "the stop rule assumes a single look; if you look repeatedly, you can't rule out 9 or 12 "
        "yet (5 % error)"
    )
    assert re.fullmatch(
        r"the stop rule is met: P\(best\) of 12 is [01]\.\d{4} \(target: at least 0\.9\); "
        r"to stop with this arm, run: varts experiment stop price --winner 12",
        out,
    )
    (body,) = lines(done("report", "price", "--json"))
    assert body["stop"] is True and body["because"] in out
    assert stored(done)["status"] == "running"
    assert done("decide", "price")


def test_infinite_numbers_are_null_in_json(done):
    """alpha = 0.2 makes a belief with 0.4 degrees of freedom: it has no mean, so no loss."""
    done("create", "one", "a", "b", "--prior", "mu=0,kappa=1,alpha=0.2,beta=1")
    (body,) = lines(done("report", "one", "--json"))
    assert [arm["p_best"] for arm in body["arms"]] == pytest.approx([0.5, 0.5])
    assert [arm["expected_loss"] for arm in body["arms"]] == [None, None]


@pytest.mark.parametrize("name", ["[red]", "a[/]", "naïve — €9", "two words"])
def test_names_are_shown_as_they_are(done, name):
    done("create", name, name, "b", "--seed", "3")
    for out in (done("list"), done("report", name), done("add-arm", name, name + "!")):
        assert name in out
    assert name in stored(done, name)["arms"]


HOSTILE = "red\x1b]0;gone\x07\x9b2J\r\n\u202eblue\u2028\x7f"
WRITTEN = r"red\u001b]0;gone\u0007\u009b2J\r\n\u202eblue\u2028\u007f"


def test_a_terminal_obeys_no_name(call, done, monkeypatch):
    """Of an experiment, an arm, an id, a unit, a file or a store: what is printed is text, and the
    line ends and tabs of the command itself."""
    # Older experiments may have arms whose names contain line breaks.
    monkeypatch.setattr("varts.live.experiment.check_new_arms", check_arms)
    exp, arm, id = (f"{HOSTILE} {what}" for what in ("exp", "arm", "id"))
    url = f"sqlite:///{HOSTILE}.db"
    calls = [
        (0, "create", exp, arm, "--stop-p-best", "0.5", "--store", url),
        (0, "create", exp, arm, "--store", url),
        (0, "decide", exp, "--unit", HOSTILE, "--id", id, "--store", url),
        (0, "decide", exp, "--id", id, "--json", "--store", url),
        (0, "reward", exp, id, "1", "--store", url),
        (0, "report", exp, "--store", url),
        (0, "report", exp, "--json", "--store", url),
        (0, "add-arm", exp, f"{HOSTILE} c", "--store", url),
        (0, "pause-arm", exp, arm, "--store", url),
        (0, "resume-arm", exp, arm, "--store", url),
        (0, "list", "--store", url),
        (0, "list", "--json", "--store", url),
        (0, "export", exp, f"{HOSTILE}.csv", "--store", url),
        (0, "verify", exp, "--store", url),
        (0, "stop", exp, "--winner", arm, "--store", url),
        (4, "report", HOSTILE, "--store", url),
        (4, "pause-arm", exp, HOSTILE, "--store", url),
        (4, "reward", exp, HOSTILE, "1", "--store", url),
        (5, "create", exp, HOSTILE, "--store", url),
        (2, "create", exp, arm, "--floor", HOSTILE, "--store", url),
        (4, "create", exp, arm, "--prior", HOSTILE, "--store", url),
        (4, "export", exp, f"{HOSTILE}/log.csv", "--store", url),
        (4, "list", "--store", f"sqlite:///gone/{HOSTILE}.db"),
        (2, HOSTILE),
    ]
    shown = []
    for code, *words in calls:
        answer = call(*words)
        assert answer[0] == code, answer
        shown.append(answer[1] + answer[2])
        assert shown[-1].replace("\n", "").replace("\t", "").isprintable(), words
    assert sum(WRITTEN in text for text in shown) >= 15
    assert shown[2] == f"{WRITTEN} arm\t{WRITTEN} id\n"
    (body,) = lines(done("report", exp, "--json", "--store", url))
    assert (body["name"], body["winner"]) == (exp, arm)
    with varts.open(exp, store=url) as again:
        text = str(again.report()) + repr(again) + str(again.verify())
    assert text.replace("\n", "").isprintable() and WRITTEN in text


def test_the_seed_is_in_no_output(call, done, price):
    play(done, [1.0] * 5)
    done("export", price, "log.ndjson")
    shown = [done("list", "--json"), done("report", price, "--json"), done("verify", price)]
    shown += [done("report", price), call("create", price, "--seed", "9")[2]]
    shown.append(Path("log.ndjson").read_text("utf-8"))
    with closing(sqlite3.connect("varts.db")) as database:
        ((seed,),) = database.execute("SELECT seed FROM varts_experiments")
    assert not any(str(seed) in text or '"seed"' in text for text in shown)


# ------------------------------------------------------------------------------ export and verify


def test_a_spreadsheet_runs_no_exported_name_and_fit_knows_them_all(done):
    arms = ["=1+1", "+1", "-1", "@SUM(1)", "'=1", "''-1", "'tis", "plain", "a,=1"]
    Path("arms.txt").write_text("\n".join(arms), "utf-8")
    done("create", "price", "--arms-file", "arms.txt", "--floor", "0.1", "--seed", "1")
    play(done, [float(i % 7) for i in range(120)])
    done("export", "price", "log.csv")
    done("export", "price", "log.parquet")
    cells = pl.read_csv("log.csv", infer_schema=False)
    for column in ("id", "unit", "arm", "reason", "settled"):
        assert not any(cell[0] in "=+-@\t\r" for cell in cells[column].drop_nulls())
    assert set(cells["arm"]) == {f"'{arm}" for arm in arms[:6]} | set(arms[6:])
    one = Columns(experiment=None)
    read = [varts.read_history(f"log.{kind}", one) for kind in ("csv", "parquet")]
    assert read[0].arms["arm"].to_list() == sorted(arms)
    assert read[0].arms.equals(read[1].arms)


@pytest.mark.parametrize(
    ("file", "read"),
    [("log.parquet", pl.read_parquet), ("log.csv", pl.read_csv), ("log.ndjson", pl.read_ndjson)],
)
def test_export_writes_a_row_per_decision(done, price, file, read):
    got = play(done, [1.0, 2.0, 3.0])
    done("decide", price, "--id", "open")
    assert done("export", price, file) == f"4 decisions written to {file}\n"
    frame = read(file)
    assert frame["id"].to_list() == ["visit-0", "visit-1", "visit-2", "open"]
    assert frame["reward"].to_list() == [1, 2, 3, None]
    assert set(map(str, frame["arm"][:3])) == set(got)


def test_verify_says_that_all_is_well(done, price):
    play(done, [1.0, 2.0, 3.0])
    assert "3 decisions, 3 rewards: the statistics agree" in done("verify", price)
    (body,) = lines(done("verify", price, "--replay", "--json"))
    assert body == {
        "ok": True,
        "decisions": 3,
        "rewards": 3,
        "replayed": 3,
        "found": 0,
        "problems": [],
        "repaired": [],
    }


@pytest.mark.parametrize(
    ("tampering", "problem", "options"),
    [
        ("UPDATE varts_statistics SET mean = mean + 0.5", "mean is", []),
        ("UPDATE varts_events SET value = value + 1 WHERE kind = 'reward'", "in the log", []),
        ("UPDATE varts_decisions SET arm = (arm + 1) % 3", "made again", ["--replay"]),
    ],
)
def test_verify_has_exit_code_1_when_something_was_changed(
    call, done, price, tampering, problem, options
):
    play(done, [1.0, 2.0, 3.0, 4.0])
    with closing(sqlite3.connect("varts.db")) as store, store:
        store.execute(tampering)
    code, out, err = call("verify", price, *options)
    assert (code, err) == (1, "") and problem in out
    code, out, err = call("verify", price, "--json", *options)
    assert (code, err) == (1, "")
    (body,) = lines(out)
    assert body["ok"] is False and body["found"] == len(body["problems"]) > 0


def test_verify_repairs_what_could_not_even_be_opened(call, done, price):
    play(done, [1.0, 2.0, 3.0])
    with closing(sqlite3.connect("varts.db")) as store, store:
        store.execute("UPDATE varts_experiments SET config = 'x'")
        store.execute("DELETE FROM varts_statistics")
    refused(call("report", price), "verify --repair restores it from the log", code=6)
    first, *_, last = done("verify", price, "--repair").splitlines()
    assert first == "repaired: the configuration could not be read"
    assert last == "3 decisions, 3 rewards: the statistics agree with the log"
    (body,) = lines(done("verify", price, "--repair", "--json"))
    assert body["ok"] and body["repaired"] == []


# ------------------------------------------------------------------------------ changes


def test_arms_come_pause_and_come_back(call, done, price):
    assert done("add-arm", price, "18") == "price: 18 added; 4 arms\n"
    refused(call("add-arm", price, "18"), "new name", "'18'")
    assert done("pause-arm", price, "18") == "price: 18 paused; 3 arms in play\n"
    assert stored(done)["paused"] == ["18"]
    told = done("decide", price, *(word for i in range(60) for word in ("--id", i)))
    assert {line.split("\t")[0] for line in told.splitlines()} == {"9", "12", "15"}
    assert done("resume-arm", price, "18") == "price: 18 resumed; 4 arms in play\n"
    told = done("decide", price, *(word for i in range(60, 120) for word in ("--id", i)))
    assert {line.split("\t")[0] for line in told.splitlines()} == {"9", "12", "15", "18"}
    refused(call("pause-arm", price, "99"), "unknown arm '99'", "9, 12, 15, 18", code=4)


def test_stop_with_a_winner_serves_it(done, price):
    done("decide", price, "--id", "before")
    assert done("stop", price, "--winner", "12") == "price: stopped, 12 for everybody\n"
    assert lines(done("decide", price, "--json"))[0]["arm"] == "12"
    assert done("reward", price, "before", "3") == "applied\tbefore\n"
    assert done("report", price).splitlines()[-1] == "the experiment was stopped"
    assert stored(done)["status"] == "stopped, 12 for everybody"


def test_stop_without_a_winner_refuses(call, done, price):
    assert done("stop", price) == "price: stopped\n"
    refused(call("decide", price), "stopped", code=3)


# ------------------------------------------------------------------------------ the store


def test_the_store_comes_from_the_environment_unless_given(call, done, monkeypatch):
    monkeypatch.setenv("VARTS_STORE", "sqlite:///mine.db")
    assert "sqlite:///mine.db" in done("create", "one", "a", "b")
    done("create", "two", "a", "b", "--store", "sqlite:///other.db")
    assert [one["name"] for one in lines(done("list", "--json"))] == ["one"]
    refused(call("report", "two"), "unknown experiment 'two'", "known: one", code=4)
    assert {path.name for path in Path().glob("*.db")} == {"mine.db", "other.db"}


def test_a_password_is_never_shown(call, done, monkeypatch):
    url = "postgresql://me:sesame@127.0.0.1:1/varts"
    refused(call("list", "--store", url), "127.0.0.1", code=6)
    monkeypatch.setenv("VARTS_STORE", url)
    shown = [call("list"), call("create", "x", "a", "b"), call("list", "--help")]
    assert not any("sesame" in text for _, out, err in shown for text in (out, err))


def test_only_create_makes_a_file_and_not_for_a_mistake(call):
    for verb in VERBS:
        words = {
            "reward": ["d", "1"],
            "amend": ["d", "1"],
            "void": ["d"],
            "decision": ["d"],
            "forget-unit": ["ann"],
            "delete": ["--confirm", "price"],
            "export": ["x.csv"],
            "list": None,
        }.get(verb, [])
        words = ["a"] if verb.endswith("-arm") else words
        words = ["--floor", "0.1"] if verb in ("configure", "evaluate") else words
        if verb != "create":
            name = [] if words is None else ["price"]
            answer = call(verb, *name, *(words or []))
            refused(answer, "sqlite:///varts.db", "doesn't exist", code=4)
    for url in ("sqlite+pysqlite:///varts.db", "sqlite:///varts.db?timeout=5"):
        answer = call("decide", "price", "--store", url)
        refused(answer, url.partition("?")[0], "doesn't exist", code=4)
    refused(call("create", "price", "a", "b", "--floor", "2"), "floor")
    refused(call("create", "price", "a", "b", "--floor", "0.6"), "floor", "1/2")
    assert list(Path().iterdir()) == []


def test_a_missing_driver_is_one_sentence(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    told = call("list", "--store", "postgresql://me@127.0.0.1:1/varts")
    refused(told, needs_extra("PostgreSQL", "postgres"))


# ------------------------------------------------------------------------------ mistakes

WRONG = [
    (["crate", "x", "a", "b"], ["crate", "create"]),
    (["create"], ["NAME"]),
    (["create", " ", "a", "b"], ["name", "' '"]),
    (["create", "new", "a", "a"], ["arms", "'a' twice"]),
    (["create", "new", "a", ""], ["arm", "''"]),
    (["create", "new", "a", "b", "--store", "memory://"], ["store", "memory://"]),
    (["create", "new", "a", "b", "--store", "sqlite://"], ["store must outlast", "sqlite://"]),
    (["list", "--store", "sqlite:///:memory:"], ["store must outlast", "memory"]),
    (["create", "new", "a", "b", "--store", "sqlite://varts.db"], ["three slashes"]),
    (
        ["create", "new", "a", "b", "--store", "sqlite:///varts.db?x=1"],
        ["valid options"],
    ),
    (["create", "new", "a", "b", "--store", "nonsense"], ["store", "URL"]),
    (["create", "new", "a", "b", "--store", "mysql://h/d"], ["store", "mysql"]),
    (["create", "new", "a", "b", "--goal", "up"], ["goal", "'up'", "max, min"]),
    (["create", "new", "a", "b", "--policy", "vart"], ["'vart'", "'VarTS'"]),
    (["create", "new", "a", "b", "--policy", "UCB-V,zta=1"], ["'zta'", "'zeta'"]),
    (["create", "new", "a", "b", "--policy", "UCB-V,zeta"], ["policy", "'UCB-V,zeta'"]),
    (["create", "new", "a", "b", "--prior", "mu=1"], ["kappa"]),
    (["create", "new", "a", "b", "--prior", "mu=1,kappa=x"], ["mu=1,kappa=x"]),
    (["create", "new", "a", "b", "--prior", "mu=1,sigma=1"], ["NormalGamma", "Normal"]),
    (["create", "new", "a", "b", "--floor", "-0.1"], ["floor", "-0.1"]),
    (["create", "new", "a", "b", "--floor", "some"], ["floor", "a number", "'some'"]),
    (["create", "new", "a", "b", "--holdout", "1"], ["holdout", "1"]),
    (["create", "new", "a", "b", "--clip", "1"], ["clip", "LOW,HIGH", "'1'"]),
    (["create", "new", "a", "b", "--clip", "5,1"], ["clip", "low < high"]),
    (["create", "new", "a", "b", "--clip", "a,b"], ["clip", "'a,b'"]),
    (["create", "new", "a", "b", "--window", "3y"], ["window", "24h", "'3y'"]),
    (["create", "new", "a", "b", "--window", "h"], ["window", "'h'"]),
    (["create", "new", "a", "b", "--window", ""], ["window", "''"]),
    (["create", "new", "a", "b", "--window", "0"], ["window", "> 0"]),
    (["create", "new", "a", "b", "--missing", "0"], ["window"]),
    (["create", "new", "a", "b", "--half-life", "-1"], ["half_life", "-1"]),
    (["create", "new", "a", "b", "--stop-p-best", "95"], ["stop_p_best", "95"]),
    (["create", "new", "a", "b", "--stop-loss", "0"], ["stop_loss", "> 0"]),
    (["create", "new", "a", "b", "--halflife", "3"], ["--halflife"]),
    (["create", "new", "a", "b", "--seed", "-1"], ["seed", "-1"]),
    (["create", "new", "a", "b", "--floor"], ["--floor"]),
    (["decide"], ["NAME"]),
    (["decide", "price", "--unit", ""], ["unit", "''"]),
    (["decide", "price", "--id", "x" * 300], ["id", "255"]),
    (["reward", "price"], ["pairs", "0 words"]),
    (["reward", "price", "v1"], ["pairs", "1 words"]),
    (["reward", "price", "v1", "much"], ["reward", "finite", "'much'"]),
    (["reward", "price", "v1", "nan"], ["reward", "finite", "nan"]),
    (["reward", "price", "v1", "-inf"], ["reward", "finite", "-inf"]),
    (["reward", "price", "v1", "1e999"], ["reward", "finite", "inf"]),
    (["report", "price", "--level", "95"], ["level", "95"]),
    (["report", "price", "--level", "high"], ["--level", "high"]),
    (["export", "price"], ["FILE"]),
    (["export", "price", "log.xlsx"], [".parquet", "log.xlsx"]),
    (["add-arm", "price", "18", "--prior", "mu=1,kappa=1,alpha=1,beta=1"], ["prior", "left out"]),
    (["configure", "price"], ["option"]),
    (["configure", "price", "--floor", "0.5"], ["floor", "1/3"]),
    (["configure", "price", "--goal", "min"], ["goal", "must stay 'max'"]),
    (["configure", "price", "--policy", "Bernoulli-TS"], ["policy", "VarTS", "Bernoulli-TS"]),
]
# What is wrong is not the call, but what it is about.
OTHERS = [
    (4, ["create", "new"], ["unknown experiment 'new'", "arms"]),
    (6, ["create", "new", "a", "b", "--store", "sqlite:///no/such/x.db"], ["no/such/x.db"]),
    (4, ["create", "new", "a", "b", "--prior", "none.json"], ["none.json"]),
    (5, ["create", "price", "9", "12"], ["arms must be those of the experiment"]),
    (5, ["create", "price", "9", "12", "15", "--floor", "0.1"], ["floor", "configure"]),
    (4, ["decide", "pirce"], ["'pirce'", "'price'"]),
    (4, ["reward", "price", "nobody", "1"], ["unknown decision 'nobody'", "'price'"]),
    (4, ["export", "price", "no/such/log.csv"], ["no/such/log.csv"]),
    (4, ["pause-arm", "price", "99"], ["unknown arm '99'"]),
    (4, ["stop", "price", "--winner", "99"], ["unknown arm '99'"]),
]


@pytest.mark.parametrize(("code", "arguments", "words"), OTHERS)
def test_every_kind_of_failure_has_its_exit_code(call, price, code, arguments, words):
    before = contents()
    refused(call(*arguments), *words, code=code)
    assert contents() == before


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda one: " ".join(one)[:60])
def test_a_mistake_is_one_sentence_and_changes_nothing(call, price, arguments, words):
    before = contents()
    refused(call(*arguments), *words)
    assert contents() == before


def test_pausing_the_last_arm_is_refused(call, done):
    done("create", "one", "a", "b")
    done("pause-arm", "one", "a")
    refused(call("pause-arm", "one", "b"), "one arm must stay in play", code=3)


def test_a_file_that_is_no_database(call):
    Path("varts.db").write_text("these are not the bytes of a database" * 100)
    refused(call("list"), "varts.db", code=6)


def test_a_full_disk_is_one_sentence(call, done, price):
    play(done, [1.0] * 3)
    for kind in ("parquet", "csv", "ndjson"):
        Path(f"log.{kind}").symlink_to("/dev/full")
        refused(call("export", price, f"log.{kind}"), "No space left", code=6)


def test_the_advice_to_stop_can_be_run(done, monkeypatch):
    """Whatever the names, and wherever the store."""
    url = f"sqlite:///{Path.cwd() / 'other one.db'}"
    arms = ["a b", "it's $HOME"]
    with varts.open("my exp", arms, store=url, seed=1, stop_p_best=0.9, floor=0.4) as exp:
        for i, d in enumerate(exp.decide_many(20)):
            exp.reward(d.id, 100 * arms.index(d.arm) + i % 3)
    said = done("report", "my exp", "--store", url)
    advice = re.search("to stop with this arm, run: (.*)", said)[1]
    words = shlex.split(advice)
    assert words[:4] == ["varts", "experiment", "stop", "my exp"] and words[-2:] == ["--store", url]
    monkeypatch.setenv("VARTS_STORE", url)
    assert "--store" not in done("report", "my exp")
    assert done(*words[2:]) == "my exp: stopped, it's $HOME for everybody\n"


@pytest.mark.parametrize("width", ["60", "80", None])
def test_a_table_is_never_cut(done, monkeypatch, width):
    """In a narrow terminal its lines go on in the next one; a pipe gets them whole."""
    arms = ["Crowd Pleaser", "The Sequel of the Sequel " * 8]
    with varts.open("x" * 90, arms, store="sqlite:///varts.db", seed=1) as exp:
        exp.reward_many([(d.id, 12345.678 + i) for i, d in enumerate(exp.decide_many(20))])
    if width is not None:
        monkeypatch.setenv("COLUMNS", width)
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for out in (done("report", "x" * 90), done("list")):
        assert "…" not in out
    assert arms[1].strip() in done("report", "x" * 90)


# ------------------------------------------------------------------------------ processes


@pytest.mark.full(except_for=["policies"])
@pytest.mark.parametrize("words", ["experiment list", "policies", "--help", "experiment --help"])
def test_nobody_reads_on(done, price, words):
    """`varts experiment list | true` is no failure."""
    read, write = os.pipe()
    os.close(read)
    varts_command = [COMMAND, *words.split()]
    done = subprocess.run(varts_command, stdout=write, stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def together(*calls):
    """Start these commands at the same time; returns what each printed."""
    processes = [
        subprocess.Popen(
            [COMMAND, "experiment", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in calls
    ]
    told = []
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        told.append(out)
    return told


@pytest.mark.full
def test_two_processes_share_a_store(done, price):
    """Both get the same decision, and only one reward counts."""
    first, second = together(*[["decide", price, "--id", "v1"]] * 2)
    assert first == second
    told = together(*[["reward", price, "v1", "3"]] * 2)
    assert sorted(told) == ["applied\tv1\n", "duplicate\tv1\n"]
    assert stored(done)["rewards"] == 1
    assert "the statistics agree" in done("verify", price, "--replay")

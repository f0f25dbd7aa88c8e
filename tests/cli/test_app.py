"""The command line as it starts."""

import ast
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import varts
import varts.cli
from varts.cli.app import CODES, EXITS, kind_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", ["numpy", "cyclopts", "varts.cli.simulate"])
def test_ctrl_c_while_the_command_line_loads(module):
    program = f"""
        import sys
        class Interrupt:
            def find_spec(self, name, *rest):
                if name == {module!r}:
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupt())
        from varts.cli import main
        main(["policies"])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    told = "varts: stopped; nothing was complete yet\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", told)


def test_too_little_memory_is_one_sentence(call, monkeypatch):
    """Python says nothing then but the name of the error."""

    def fail(*given, **options):
        raise MemoryError

    monkeypatch.setattr(varts, "fit_prior", fail)
    assert call("fit", "log.csv") == (2, "", "varts: there is not enough memory for this\n")


# ------------------------------------------------------------------------------ exit codes, JSON


def test_the_help_and_the_guide_have_the_table_of_exit_codes(call):
    help = " ".join(call("--help")[1].split())
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    for one in EXITS:
        assert f"{one.code} {one.kind} {one.meaning}" in help
        assert f"| {one.code} | {one.kind} | {one.meaning} |" in page
    assert len({one.code for one in EXITS}) == len({one.kind for one in EXITS}) == len(EXITS)


def test_every_error_of_live_experiments_has_a_kind():
    from varts.client import NotAllowed, UnknownToken
    from varts.live import errors

    found = {
        name: kind_of(error("x"))
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, errors.LiveError)
    }
    assert found == {
        "LiveError": "usage",
        "UnknownExperiment": "not-found",
        "UnknownArm": "not-found",
        "UnknownDecision": "not-found",
        "ExpiredDecision": "refused",
        "DecisionConflict": "conflict",
        "RewardConflict": "conflict",
        "InvalidReward": "usage",
        "Changed": "conflict",
        "NotLocal": "refused",
        "Refused": "refused",
        "Differs": "conflict",
        "ExperimentStopped": "refused",
        "StoreError": "unavailable",
        "ConnectionLost": "unavailable",
    }
    assert {kind_of(error("x")) for error in (NotAllowed, UnknownToken)} == {"not-allowed"}


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["plan", "--json"], "usage"),
        (["plan", "--jsn", "--json"], "usage"),
        (["nonsense", "--json"], "usage"),
        (["fit", "gone.csv", "--json"], "not-found"),
        (["experiment", "report", "price", "--json"], "not-found"),
        (["token", "list", "--token-file", "gone.toml", "--json"], "not-found"),
        (
            ["experiment", "list", "--json", "--store", "http://127.0.0.1:1"],
            "unavailable",
        ),
    ],
)
def test_an_error_is_one_line_of_json(call, tmp_path, monkeypatch, arguments, kind):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARTS_STORE", raising=False)
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (CODES[kind], "", 1)
    body = json.loads(err)
    assert body == {"error": {"kind": kind, "message": body["error"]["message"]}}
    assert body["error"]["message"]


def test_a_note_is_a_line_of_json_too(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    varts.NormalGamma([0, 1], 1, 3, 1, names=["a", "b"]).save("prior.json")
    body = json.loads(Path("prior.json").read_text())
    body["others"] = {"type": "NormalGamma", "mu": 0, "kappa": 1, "alpha": 3, "beta": 1}
    Path("prior.json").write_text(json.dumps(body))
    words = ["experiment", "create", "one", "a", "new", "--prior", "prior.json", "--json"]
    code, out, err = call(*words, "--store", "sqlite:///x.db")
    assert code == 0 and json.loads(out)["created"] is True
    assert "no entry for the arm 'new'" in json.loads(err)["note"]


@pytest.mark.parametrize(
    "words",
    [
        ["policies"],
        ["bound", "mu=0,kappa=10,alpha=4,beta=1", "--arms", "10", "--horizon", "2000"],
    ],
)
def test_json_of_other_commands(call, words):
    code, out, err = call(*words, "--json")
    assert (code, err) == (0, "")
    assert all(json.loads(line) for line in out.splitlines())


# ------------------------------------------------------------------------------ as a new user


@pytest.mark.parametrize("words", [[], ["experiment"], ["token"]])
def test_commands_are_listed_in_workflow_order(call, words):
    order = {
        (): "fit plan experiment serve token check evaluate policies simulate bound reproduce",
        ("experiment",): "create list decide reward report history check stop restart amend delete",
        ("token",): "new list revoke",
    }[tuple(words)].split()
    out = call(*words, "--help")[1]
    places = [out.index(f"│ {name} ") for name in order]
    assert places == sorted(places)


def test_no_command_needs_more_than_a_narrow_terminal():
    """Paragraphs are wrapped by the terminal, not where the source has line ends."""
    for command in ("fit", "experiment decide"):
        program = [sys.executable, "-c", "from varts.cli import main; main()", *command.split()]
        done = subprocess.run(
            [*program, "--help"],
            env={**os.environ, "COLUMNS": "50"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert max(map(len, done.stdout.splitlines())) <= 50


def test_a_pipe_may_be_closed_early():
    command = "from varts.cli import main; main(['fit', '--example'])"
    done = subprocess.run(
        f'"{sys.executable}" -c "{command}" | head -1',
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("route,slot,early\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_flags(call, shell):
    code, out, err = call("completion", shell)
    assert (code, err) == (0, "")
    for word in ("varts", "experiment", "pause-arm", "units-file", "reward-column", "revoke"):
        assert word in out
    if shell == "bash" and shutil.which("bash"):
        subprocess.run(["bash", "-n"], input=out, text=True, check=True)


def test_completion_of_another_shell(call):
    code, out, err = call("completion", "tcsh")
    assert (code, out) == (2, "") and "tcsh" in err and err.count("\n") == 1


@pytest.mark.parametrize("verb", [["decide", "price"], ["reward", "price", "v1", "1"], ["list"]])
def test_a_database_needs_no_client(tmp_path, verb):
    with varts.open("price", ["a", "b"], store=f"sqlite:///{tmp_path}/x.db") as exp:
        exp.decide(id="v1")
    words = ["experiment", *verb, "--store", f"sqlite:///{tmp_path}/x.db"]
    program = f"""
        import sys
        from varts.cli import main
        main({words!r})
        loaded = {{name.partition(".")[0] for name in sys.modules}} & {{"httpx", "httpcore"}}
        print(sorted(loaded), "varts.client" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[] False"


def test_only_two_functions_of_the_command_line_print():
    """Everything goes through `say`, `complain` and `show`, which make it harmless first."""
    found = set()
    for file in Path(varts.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
                if any(getattr(one.func, "id", "") == "print" for one in calls):
                    found.add((file.stem, node.name))
    printing = {("app", name) for name in ("say", "say_columns", "complain")}
    assert found == printing | {("__init__", "stop")}

"""The command line: what it writes and prints, and one sentence for every mistake."""

import csv
import inspect
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import varts
import varts.paper.reproduce
from varts import paper
from varts.cli import fit, plan, simulate
from varts.simulation import study_file

COMMAND = str(Path(sys.executable).with_name("varts"))
STUDY = """\
horizon = 30
runs = 10
[problem]
kind = "gaussian"
K = 3
[policies]
VarTS = { prior = "problem" }
UCB1 = {}
"""
PRIOR = "mu=0,kappa=10,alpha=4,beta=1"


@pytest.fixture
def study(call, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def rows(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def refused(answer, *names, code=2):
    """This exit code, nothing on stdout and one sentence on stderr that names the offender."""
    got, out, err = answer
    assert (got, out) == (code, "")
    assert err.startswith("varts: ") and err.count("\n") == 1 and err.endswith("\n")
    assert "Traceback" not in err
    for name in names:
        assert str(name) in err


@pytest.mark.parametrize(
    ("command", "functions", "shared"),
    [
        (simulate.reproduce, [paper.reproduce.reproduce], 7),
        (fit.fit, [varts.fit_prior], 5),
        (plan.plan, [varts.plan, varts.Plan.rounds_to_loss, varts.Plan.rounds_to_sure], 8),
    ],
)
def test_defaults_are_those_of_the_library(command, functions, shared):
    """Written twice, as --help is to show them without importing the library."""
    defaults = {}
    for function in functions:
        parameters = inspect.signature(function).parameters.values()
        defaults |= {p.name: p.default for p in parameters if p.default is not p.empty}
    asked = inspect.signature(command).parameters
    common = [name for name in defaults if name in asked]
    assert len(common) >= shared
    for name in common:
        given = asked[name].default
        given = getattr(given, name, given)  # of a group of flags
        if given is None and defaults[name] is not None:  # left to the library; --help says what
            assert f"{defaults[name]:,} by default" in command.__doc__, name
            continue
        assert (str(given) if isinstance(given, Path) else given) == defaults[name], name


# Help and the commands that only print.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["reproduce", "simulate", "bound", "policies", "--version", "study.toml"]),
        ([], ["reproduce", "simulate", "bound", "policies"]),
        (
            ["reproduce", "--help"],
            ["--figure", "--runs", "--horizon", "--seed", "--out", "--threads", "--bound"],
        ),
        (
            ["simulate", "--help"],
            ["--example", "--runs", "--horizon", "--seed", "--out", "--threads", "--against"],
        ),
        (["bound", "--help"], ["PRIOR", "--horizon", "--arms", "--sigma", "--delta", "kappa="]),
        (["policies", "--help"], ["label", "options"]),
    ],
)
def test_help_names_every_option_and_shows_an_example(call, arguments, words):
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    for word in [*words, "varts", "Example"]:
        assert word in out


def test_version(call):
    assert call("--version") == (0, varts.__version__ + "\n", "")


def test_policies_lists_every_label_with_its_options(call):
    code, out, err = call("policies")
    assert (code, err) == (0, "")
    lines = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert set(lines) == set(varts.policies.known())
    for option in ("zeta=1.0", "c=1.0", "b=1.0"):
        assert option in lines["UCB-V"]
    assert "prior" in lines["VarTS"]


def test_bound_is_theorem_2_as_printed_and_corrected(call):
    code, out, err = call("bound", PRIOR, "--arms", 10, "--horizon", 2000)
    assert (code, err) == (0, "")
    prior = varts.NormalGamma(0, 10, 4, 1).for_arms(10)
    for corrected in (False, True):
        assert f"{varts.bounds.theorem2(prior, 2000, corrected=corrected):.2f}" in out


def test_bound_is_theorem_1_for_known_variances(call):
    _, out, _ = call("bound", "mu=0,sigma=1", "--sigma", 0.5, "--arms", 4, "--horizon", 100)
    value = varts.bounds.theorem1(varts.Normal(0, 1).for_arms(4), 0.5, 100)
    assert "Theorem 1" in out and f"{value:.2f}" in out


def test_bound_takes_a_prior_file_and_a_delta(call, tmp_path):
    prior = varts.NormalGamma([0.0, 1.0], 2.0, 3.0, 1.0)
    prior.save(tmp_path / "prior.json")
    _, out, _ = call("bound", "prior.json", "--horizon", 100, "--delta", 0.2)
    assert f"{varts.bounds.theorem2(prior, 100, 0.2):.2f}" in out and "2 arms" in out


# Studies.


def test_the_example_study_reads_back(call, tmp_path):
    code, out, err = call("simulate", "--example")
    assert (code, out, err) == (0, study_file.EXAMPLE, "")
    (tmp_path / "study.toml").write_text(out)
    assert study_file.read(tmp_path / "study.toml").runs == 1000


def test_a_study_of_the_package_goes_by_its_name(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call("simulate", "instances", "--runs", "2")
    assert code == 0
    assert "3 settings; written to instances-results" in out
    found = rows(tmp_path / "instances-results" / "summary.csv")
    assert {row["problem"] for row in found} == {"four arms", "standard", "easy"}
    assert {row["runs"] for row in found} == {"2"}


def test_simulate_writes_what_the_study_holds(call, study):
    code, out, _ = call("simulate", study)
    assert code == 0
    folder = study.parent / "study-results"
    names = {"summary.csv", "curves.csv", "regret.png", "regret.svg", "study.npz", "studies"}
    assert {path.name for path in folder.iterdir()} == names
    loaded = varts.Study.load(folder / "study.npz")
    assert (loaded.runs, loaded.horizon, loaded.labels) == (10, 30, ["VarTS", "UCB1"])
    for row in rows(folder / "summary.csv"):
        assert float(row["regret"]) == pytest.approx(loaded.final[row["policy"]].mean())
        assert f"{float(row['regret']):.2f}" in out
    curves = rows(folder / "curves.csv")
    assert list(curves[0]) == ["policy", "round", "regret", "se"]
    assert len(curves) == 2 * 30
    assert "study-results" in out


def test_options_override_the_file_and_a_rerun_overwrites(call, study):
    for runs in (4, 6):
        options = {"runs": runs, "horizon": 12, "seed": 5, "threads": 1, "out": "out"}
        assert call("simulate", study, *(f"--{k}={v}" for k, v in options.items()))[0] == 0
    loaded = varts.Study.load("out/study.npz")
    assert (loaded.runs, loaded.horizon, loaded.provenance["seed"]) == (6, 12, 5)
    assert {row["runs"] for row in rows("out/summary.csv")} == {"6"}


def test_differences_are_taken_to_the_policy_asked_for(call, study):
    _, out, _ = call("simulate", study, "--against", "UCB1", "--out", "out")
    assert "minus UCB1" in out
    against = {row["policy"]: float(row["difference"]) for row in rows("out/summary.csv")}
    assert against["UCB1"] == 0 and against["VarTS"] != 0


def test_one_arm_has_no_regret(call, study):
    study.write_text(STUDY.replace("K = 3", "K = 1"))
    assert call("simulate", study)[0] == 0
    assert {float(row["regret"]) for row in rows("study-results/summary.csv")} == {0.0}


# The reproduction.


def test_reproduce_into_a_folder_that_exists(call, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("kept")
    options = ["--figure", 1, "--runs", 9, "--horizon", 20, "--out", "out"]
    summaries = []
    for threads in (1, 2):
        code, out, _ = call("reproduce", *options, "--threads", threads)
        assert code == 0
        summaries.append((tmp_path / "out" / "summary.csv").read_bytes())
    assert summaries[0] == summaries[1]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"mine.txt", "summary.csv", "claims.md", "figure1.png", "figure1.svg"}
    page = (tmp_path / "out" / "claims.md").read_text("utf-8")
    printed = re.findall(r"^(not reproduced|reproduced)\s", out, re.MULTILINE)
    assert printed == re.findall(r"^\*\*(.*)\*\*:", page, re.MULTILINE)
    assert len(printed) == 11
    assert len(rows(tmp_path / "out" / "summary.csv")) == 3 * 8


# Mistakes.

SMALL = ("--runs", 2, "--horizon", 3)
WRONG = [
    (["reprodce"], ["reprodce", "reproduce"]),
    (["--foo"], ["--foo"]),
    (["policies", "VarTS"], ["VarTS"]),
    (["reproduce", "extra"], ["extra"]),
    (["reproduce", "--figure", "3"], ['"3"', '"1", "2", "all"']),
    (["reproduce", "--figure"], ["--figure needs a value; see varts reproduce --help"]),
    (["reproduce", "--figur", "1"], ["--figur", "--figure"]),
    (["reproduce", "--runs", "0"], ["runs", ">= 2", "got 0"]),
    (["reproduce", "--runs", "1"], ["runs", ">= 2", "got 1"]),
    (["reproduce", "--runs", "many"], ["--runs", "many"]),
    (["reproduce", "--runs", "1.5"], ["runs", "1.5"]),
    (["reproduce", "--runs", "2", "--horizon", "0"], ["horizon", "got 0"]),
    (["reproduce", "--horizon", "-3"], ["horizon", "-3"]),
    (["reproduce", "--horizon", "1", "--runs", "2", "--bound"], ["horizon", "got 1"]),
    (["reproduce", "--seed", "-1"], ["seed", "-1"]),
    (["reproduce", *SMALL, "--seed", 2**64], ["seed", 2**64]),
    (["reproduce", "--threads", "0"], ["threads", "got 0"]),
    (["reproduce", *SMALL, "--out", "study.toml"], ["study.toml", "folder"]),
    (["reproduce", *SMALL, "--out", "study.toml/x"], ["study.toml"]),
    (["simulate"], ["TOML", "--example"]),
    (["simulate", "none.toml"], ["none.toml"]),
    (["simulate", "."], ["directory"]),
    (["simulate", "study.toml", "--runs", "0"], ["runs", "got 0"]),
    (["simulate", "study.toml", "--runs", "2.7"], ["runs", "2.7"]),
    (["simulate", "study.toml", "--horizon", "0"], ["horizon", "got 0"]),
    (["simulate", "study.toml", "--horizon", 10**20], ["horizon", 10**20]),
    (["simulate", "study.toml", "--seed", 2**64], ["seed", 2**64]),
    (["simulate", "study.toml", "--out", "study.toml"], ["study.toml"]),
    (["simulate", "study.toml", "--out", ""], ["--out must be a path, got ''"]),
    (["simulate", ""], ["must be a path, got ''"]),
    (["simulate", "study.toml", "--runs", ""], ["varts: --runs must be a whole number, got ''"]),
    (
        ["simulate", "study.toml", "--scheduler", "here"],
        ["scheduler must be an address like tcp://", "here"],
    ),
    (["bound"], ["varts: bound needs PRIOR; see varts bound --help"]),
    (["bound", "", "--horizon", "9"], ["prior must be numbers like mu=0", "got ''"]),
    (["bound", "binary.json", "--horizon", "9"], ["binary.json: prior must be JSON, got binary"]),
    (["bound", PRIOR, "--horizon", "9", "--delta", "x"], ["--delta must be a number, got 'x'"]),
    (["bound", PRIOR, "--arms", "3"], ["bound needs --horizon; see varts bound --help"]),
    (["bound", PRIOR, "--arms"], ["--arms needs a value; see varts bound --help"]),
    (["bound", PRIOR, "--horizon", "9"], ["arms"]),
    (["bound", PRIOR, "--horizon", "1", "--arms", "3"], ["got 1"]),
    (["bound", PRIOR, "--horizon", "9", "--arms", "0"], ["got 0"]),
    (["bound", PRIOR, "--horizon", "9", "--arms", "3", "--delta", "2"], ["delta", "2.0"]),
    (["bound", PRIOR, "--horizon", "9", "--arms", "3", "--sigma", "2"], ["sigma", "2.0"]),
    (["bound", "mu=0,sigma=1", "--horizon", "9", "--arms", "3"], ["sigma", "Theorem 1"]),
    (["bound", "mu=0,kapa=1", "--horizon", "9", "--arms", "3"], ["kappa", "kapa"]),
    (["bound", "mu=a,sigma=1", "--horizon", "9", "--arms", "3"], ["mu=a"]),
    (["bound", PRIOR.replace("alpha=4", "alpha=1"), "--horizon", "9", "--arms", "3"], ["alpha"]),
    (["bound", "none.json", "--horizon", "9"], ["none.json"]),
    (["bound", "study.toml", "--horizon", "9"], ["prior", "JSON"]),
]


@pytest.mark.parametrize(("arguments", "names"), WRONG)
def test_a_wrong_call_is_one_sentence_and_exit_code_2(call, study, arguments, names):
    (study.parent / "binary.json").write_bytes(bytes(range(256)))
    refused(
        call(*arguments), *names, code=4 if arguments[1:2] in (["none.toml"], ["none.json"]) else 2
    )


@pytest.mark.parametrize(
    "error",
    [
        ValueError("what is wrong"),
        TypeError("what is wrong"),
        ImportError("what is wrong"),
        ConnectionError("what is wrong"),
        ArithmeticError("what is wrong"),
        MemoryError("what is wrong"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_every_kind_are_one_sentence_and_exit_code_2(call, study, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("varts.simulation.sweep.study_of", fail)
    code = 6 if isinstance(error, ConnectionError) else 2
    assert call("simulate", study) == (code, "", "varts: what is wrong\n")


def test_an_error_in_the_program_itself_keeps_its_traceback(call, study, monkeypatch):
    monkeypatch.setattr("varts.simulation.sweep.study_of", lambda *_, **__: {}["missing"])
    with pytest.raises(KeyError):
        call("simulate", study)


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("horizon", "horizn", ["'horizn'", "'horizon'"]),
        ("runs = 10", "runs = 0", ["runs", "got 0"]),
        ("runs = 10", "runs =", ["study.toml", "line 2"]),
        ("gaussian", "gausian", ["'gausian'", "'gaussian'"]),
        ("K = 3", "k = 3", ["'k'", "'K'"]),
        ("UCB1", "UCB9", ["'UCB9'", "'UCB1'"]),
        ("UCB1 = {}", "UCB1 = { zeta = 1 }", ["UCB1", "'zeta'"]),
        ('"problem" }', '"none.json" }', ["none.json"]),
        ('"problem" }', "3 }", ["prior", "3"]),
    ],
)
def test_a_wrong_study_file_is_one_sentence_and_exit_code_2(call, study, old, new, names):
    study.write_text(STUDY.replace(old, new))
    refused(call("simulate", study), *names, code=4 if "none.json" in names else 2)
    assert not (study.parent / "study-results").exists()


@pytest.mark.parametrize("option", [["--against", "nobody"], ["--out", "study.toml"]])
def test_mistakes_are_found_before_the_study_is_played(call, study, monkeypatch, option):
    monkeypatch.setattr("varts.simulation.sweep.study_of", lambda *_, **__: pytest.fail("played"))
    refused(call("simulate", study, *option), option[1])


@pytest.mark.parametrize("option", [["--horizon", "0"], ["--threads", "0"], ["--figure", "3"]])
def test_a_wrong_call_leaves_no_folder_behind(call, tmp_path, option):
    assert call("reproduce", *option, "--out", "out")[0] == 2
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written(call, study):
    locked = study.parent / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write everywhere")
    refused(call("simulate", study, "--out", locked / "out"), locked / "out")


@pytest.mark.parametrize("label", ["[red]", "a[/]", "$a_{$", ""])
def test_labels_are_shown_as_they_are(call, study, label):
    study.write_text(STUDY.replace("UCB1 = {}", f'"{label}" = {{ policy = "UCB1" }}'))
    code, out, err = call("simulate", study)
    if label:
        assert code == 0 and label in out
    else:
        refused((code, out, err), "label")


def test_a_terminal_obeys_no_label(call, study):
    study.write_text(STUDY.replace("UCB1 = {}", '"a\\u001b[2J" = { policy = "UCB1" }'))
    code, out, err = call("simulate", study, "--against", "a\x1b[2J")
    assert code == 0 and r"minus a\u001b[2J" in out
    assert (out + err).replace("\n", "").isprintable()


# As a process of its own.


@pytest.mark.when_changed("src/varts/simulation", "src/varts/cli")
def test_the_entry_point_keeps_progress_off_stdout(study, tmp_path):
    """And reports compiling only when it compiles: a half-life isn't built in, and the second
    process finds its kernel on disk."""
    study.write_text(STUDY.replace("UCB1 = {}", "UCB1 = { half_life = 500 }"))
    there = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(out):
        command = [COMMAND, "simulate", study, "--out", tmp_path / out]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=there)

    first, done = run("first"), run("second")
    assert first.returncode == done.returncode == 0
    assert first.stdout.replace("first", "second") == done.stdout
    assert first.stderr.startswith("compiling ") and first.stderr.count("UCB1 ...") == 1
    assert "compiling" not in first.stdout
    assert "compiling" not in done.stderr
    assert "Traceback" not in done.stderr and "Warning" not in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:3]] == ["policy", "VarTS", "UCB1"]
    assert "\x1b" not in done.stdout + done.stderr


def interrupt(arguments, ready):
    """Start a command, press Ctrl-C once stderr has said `ready`; returns what it left."""
    process = subprocess.Popen(
        [COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        said = ""
        while ready not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=20)  # generous: drawing on a busy machine
    finally:
        process.kill()
    return process.returncode, said + rest


def test_ctrl_c_keeps_the_complete_runs_of_a_study(study):
    code, err = interrupt(["simulate", study, "--runs", "100000000"], "playing")
    assert code == 130 and "Traceback" not in err
    said = "the results cover the runs that were complete; run the same command to continue"
    assert err.endswith(f"varts: stopped; {said}\n")
    loaded = varts.Study.load(study.parent / "study-results" / "study.npz")
    assert loaded.interrupted and loaded.runs > 0
    summary = rows(study.parent / "study-results" / "summary.csv")
    assert {row["runs"] for row in summary} == {str(loaded.runs)}
    assert (study.parent / "study-results" / "regret.svg").read_text().endswith("</svg>\n")


@pytest.mark.full
def test_ctrl_c_keeps_the_complete_runs_of_a_reproduction(call, tmp_path):
    arguments = ["--figure", "1", "--runs", "100000000", "--horizon", "50", "--out", "out"]
    code, err = interrupt(["reproduce", *arguments], "bernoulli, K = 10: playing")
    assert code == 130 and "Traceback" not in err
    assert err.endswith("varts: stopped; the files hold the runs that were complete\n")
    summary = rows(tmp_path / "out" / "summary.csv")
    assert [row["problem"] for row in summary] == ["bernoulli"] * 8
    assert 0 < int(summary[0]["runs"]) < 100_000_000
    assert summary[0]["runs"] in (tmp_path / "out" / "claims.md").read_text("utf-8")


@pytest.mark.full
def test_ctrl_c_before_anything_is_done_says_so(study):
    code, err = interrupt(["simulate", study, "--horizon", "1000000000"], "playing")
    assert code == 130 and "Traceback" not in err
    assert "stopped" in err
    assert not [path for path in study.parent.glob("study-results/**/*") if path.is_file()]


def test_a_study_on_recorded_rewards_says_what_was_left_out(call, tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward\nred,0\nred,9\nblue,2\nblue,5\nblue,x\n,1\n")
    path = tmp_path / "log.toml"
    text = STUDY.replace('"gaussian"\nK = 3', '"table"\npath = "log.csv"')
    path.write_text(text)
    code, out, _ = call("simulate", path)
    assert code == 0
    lost = "left out: 2 of 6 rows (1 reward not a number, such as 'x', 1 arm missing)"
    assert out.endswith(f"{lost}\n")
    loaded = varts.Study.load("log-results/study.npz")
    assert loaded.provenance["problem"]["arms"] == ["blue", "red"]
    path.write_text(text.replace("log.csv", "lgo.csv"))
    code, out, err = call("simulate", path)
    assert (code, out) == (4, "") and "no such file" in err and "lgo.csv" in err


# ------------------------------------------------------------------------------- many settings

GRID = """\
horizon = 40
runs = 8

[problem]
kind = "beta"
K = [2, 3]

[policies]
TS14 = {}
UCB-V = { zeta = [1.0, 1.5] }
"""


def test_lists_in_a_file_make_one_table(call, tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    code, out, _ = call("simulate", "grid.toml", "--threads", "1")
    assert code == 0
    assert out.split("\n")[0].split()[:4] == ["K", "UCB-V", "zeta", "policy"]
    assert "4 settings; written to grid-results" in out
    folder = tmp_path / "grid-results"
    names = ["curves.csv", "regret.png", "regret.svg", "studies", "summary.csv"]
    assert sorted(p.name for p in folder.iterdir()) == names
    table = pl.read_csv(folder / "summary.csv")
    assert table.columns[:3] == ["K", "UCB-V zeta", "policy"] and table.height == 8
    kept = {path: path.stat().st_mtime_ns for path in (folder / "studies").iterdir()}
    assert len(kept) == 6  # TS14 doesn't depend on the option of UCB-V: two files, not four
    code, again, _ = call("simulate", "grid.toml")  # from the folder
    said = f"reused 64 of 64 runs (counted per policy) from {Path('grid-results/studies')}\n"
    assert code == 0 and again == out.replace("reused 16 of 64", "reused 64 of 64")
    assert again.endswith(said)
    assert {path: path.stat().st_mtime_ns for path in (folder / "studies").iterdir()} == kept


def test_a_study_plays_only_what_is_missing(call, tmp_path):
    """Runs and a policy are added: the files are those of a new study."""
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    assert "reused" not in call("simulate", "small.toml", "--runs", "16")[1]
    path.write_text(STUDY + "TS20 = {}\n")
    code, out, _ = call("simulate", "small.toml", "--runs", "40")
    assert code == 0
    kept = f"reused 32 of 120 runs (counted per policy) from {Path('small-results/studies')}"
    assert out.splitlines()[-1] == kept
    assert call("simulate", "small.toml", "--runs", "40", "--out", "new")[0] == 0
    for name in ("summary.csv", "curves.csv", "regret.svg"):
        assert (tmp_path / "small-results" / name).read_text() == (
            tmp_path / "new" / name
        ).read_text()
    load = varts.Study.load
    assert load("small-results/study.npz") == load("new/study.npz")


@pytest.mark.parametrize(
    ("change", "flags", "message"),
    [
        (("K = [2, 3]", "K = []"), (), "K must have at least one value, got []"),
        (("K = [2, 3]", "K = [2, 0]"), (), "K must be a whole number >= 1, got 0"),
        (
            ("runs = 8", "runs = [8, 9]"),
            ("--runs", "5"),
            "--runs must be left out if the file has a",
        ),
        (("", ""), ("--against", "UCB-W"), "unknown policy 'UCB-W'; did you mean 'UCB-V'?"),
    ],
)
def test_mistakes_in_a_grid(call, tmp_path, change, flags, message):
    (tmp_path / "grid.toml").write_text(GRID.replace(*change))
    code, out, err = call("simulate", "grid.toml", *flags)
    assert (code, out) == (2, "") and err.startswith(f"varts: {message}")
    assert not (tmp_path / "grid-results").exists()

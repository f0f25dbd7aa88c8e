"""Files as people have them, on the command line: other separators, words, misspelt columns."""

import pytest

from varts import cli

ROWS = [
    f"{experiment};{arm};{(7 * experiment + 3 * i) % 11 + i / 8}"
    for experiment in range(3)
    for arm in "ab"
    for i in range(4)
]
COMMANDS = {
    "fit": ["fit", "log.csv", "--no-held-out"],
    "check": ["check", "log.csv"],
    "plan": ["plan", "--from-history", "log.csv", "--only=0", "--runs=8", "--horizon=20"],
}


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """`varts COMMAND` on a file of these rows: exit code, lines printed, standard error."""
    monkeypatch.chdir(tmp_path)

    def run_on(rows, arguments):
        (tmp_path / "log.csv").write_text("\n".join(["experiment;arm;reward", *rows]))
        try:
            cli.main(arguments)
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return run_on


@pytest.mark.parametrize("command", COMMANDS)
def test_semicolons_are_recognised(run, command):
    code, said, _ = run(ROWS, COMMANDS[command])
    assert code == 0 and not any("left out" in line for line in said)
    assert run(ROWS, [*COMMANDS[command], "--separator", ";"])[:2] == (0, said)
    code, _, err = run(ROWS, [*COMMANDS[command], "--separator", ","])  # the control
    assert code == 2 and "unknown column" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_words_are_reported_first(run, command):
    words = ["0;a;none yet", "0;b;two", "0;b;n/a", "0;a;none yet"]
    code, said, _ = run([*ROWS, *words], COMMANDS[command])
    assert code == 0
    first = said[1] if command == "check" else said[0]  # below the name of the log
    if command == "check":
        assert first.split(maxsplit=2)[:2] == ["rows", "warning"]
        assert first.endswith("3 rows left out: 3 reward not a number, such as 'none yet'")
    else:
        assert first == "3 rewards are not numbers, such as 'none yet', and were left out"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_column_gets_a_suggestion(run, command):
    code, said, err = run(ROWS, [*COMMANDS[command], "--reward-column", "Rewards"])
    assert (code, said) == (2, [])
    assert err.startswith("varts: unknown column 'Rewards'; did you mean 'reward'? known: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_separator_is_one_sentence(run, command):
    code, said, err = run(ROWS, [*COMMANDS[command], "--separator", "::"])
    assert (code, said) == (2, [])
    assert err.startswith("varts: separator must be one ASCII character such as ; or the word tab")


def test_a_separator_needs_a_log_to_plan_with(run):
    code, _, err = run(ROWS, ["plan", "mu=0,kappa=1,alpha=2,beta=1", "--separator", ";"])
    assert code == 2 and "--separator must be given together with --from-history" in err

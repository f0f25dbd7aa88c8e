"""`varts experiment split` and `reward --aggregate`, on a file and on a service."""

import io
import json
import sys

import pytest

import varts
from tests.client.services import Running
from varts import cli
from varts.live import Store

ROWS = "short,2025-11-03,1200,0.4,1.5\nlong,2025-11-03,1100,0.5,1.6\n"
TABLE = f"arm,period,n,mean,sd\n{ROWS}"


@pytest.fixture(params=["file", "service"])
def run(request, capsys, tmp_path, monkeypatch):
    """`varts experiment ...`: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    for name in ("VARTS_STORE", "VARTS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with Running(Store("memory://")) as service:
        if request.param == "service":
            monkeypatch.setenv("VARTS_STORE", service.address)
            monkeypatch.setenv("VARTS_TOKEN", service.token)

        def run(*arguments):
            try:
                cli.main(["experiment", *arguments])
                code = 0
            except SystemExit as ended:
                code = ended.code or 0
            return code, *capsys.readouterr()

        run("create", "mail", "short", "long")
        yield run
    service.store.close()


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


def test_a_split_is_shown_as_a_table_as_csv_and_as_json(run):
    assert run("split", "mail") == (0, "arm    traffic\nshort   50.0 %\nlong    50.0 %\n", "")
    run("reward", "mail", "--aggregate", write("a.csv", TABLE))
    _, out, _ = run("split", "mail", "--decimals", "0", "--csv")
    assert out.splitlines() == ["arm,percent", "short,6", "long,94"]
    found = json.loads(run("split", "mail", "--json")[1])
    assert found["percent"] == {"short": 6.2, "long": 93.8} and found["name"] == "mail"
    assert found["shares"]["long"] == pytest.approx(0.938, abs=5e-4)
    assert run("split", "mail", "--decimals", "7")[0] == 2
    code, _, err = run("split", "mail", "--csv", "--json")
    assert code == 2 and "--csv and --json must not be given together" in err


def test_a_file_of_aggregates_counts_once(run):
    assert run("reward", "mail", "--aggregate", write("a.csv", TABLE))[:2] == (
        0,
        "applied 2, duplicates 0, refused 0\n",
    )
    more = TABLE + "short,2025-11-04,10,1,1\nlung,2025-11-04,10,1,1\nshort,2025-11-03,1,1,0\n"
    code, out, err = run("reward", "mail", "--aggregate", write("a.csv", more))
    assert (code, out) == (1, "applied 1, duplicates 2, refused 2\n")
    assert err.splitlines()[0].startswith("line 5: unknown arm 'lung'")
    assert "line 6: aggregate of arm 'short' in 2025-11-03 has n 1200" in err
    assert "2,310 of 2,310 rewards came as aggregates" in run("report", "mail")[1]
    assert "2,310 of 2,310 rewards came as aggregates" in run("history", "mail")[1]
    assert "2,310 of 2,310 rewards came as aggregates" in run("check", "mail")[1]


FILES = {
    "a.tsv": TABLE.replace(",", "\t"),
    "semicolons.csv": TABLE.replace(",", ";"),
    "order.csv": "sd;mean;n;period;arm\n1.5;0.4;1200;2025-11-03;short\n"
    "1.6;0.5;1100;2025-11-03;long\n",
    "a.ndjson": '{"arm":"short","period":"2025-11-03","n":1200,"mean":0.4,"sd":1.5}\n'
    '{"arm":"long","period":"2025-11-03","n":1100,"mean":0.5,"sd":1.6}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_may_have_any_format_that_rewards_have(run, name):
    found = run("reward", "mail", "--aggregate", write(name, FILES[name]))
    assert found == (0, "applied 2, duplicates 0, refused 0\n", "")


def test_standard_input_is_a_file(run, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(TABLE.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert run("reward", "mail", "--aggregate", "-")[1] == "applied 2, duplicates 0, refused 0\n"


def test_other_columns_are_refused_before_anything_is_recorded(run):
    extra = TABLE.replace("sd\n", "sd,clicks\n").replace("1.5\n", "1.5,3\n")
    for text in (extra, "arm,period,n,mean\nshort,2025-11-03,1,1\n"):
        code, _, err = run("reward", "mail", "--aggregate", write("a.csv", text))
        assert code == 2 and "columns must be arm, period, n, mean and sd, got arm, period" in err
    comma = TABLE.replace("0.4,1.5", '"0,4","1,5"')
    code, _, err = run("reward", "mail", "--aggregate", write("a.csv", comma))
    assert code == 2 and "decimal point" in err
    assert "0 rewards" in run("report", "mail")[1]
    line = '{"arm":"short","period":"2025-11-03","n":1,"mean":1,"sd":0,"clicks":3}\n'
    code, out, err = run("reward", "mail", "--aggregate", write("a.ndjson", line))
    assert (code, out) == (1, "applied 0, duplicates 0, refused 1\n") and "columns must be" in err


def test_a_file_corrects_and_voids(run):
    run("reward", "mail", "--aggregate", write("a.csv", TABLE))
    write("b.csv", TABLE.replace("1200,0.4", "1300,0.6"))
    correct = ("reward", "mail", "--aggregate", "b.csv", "--correct", "--why", "late sales")
    assert run(*correct)[1] == "applied 1, duplicates 1, refused 0\n"
    assert run("changes", "mail", "--after", "1")[1].rstrip().endswith("late sales")
    assert "2,400 rewards" in run("export", "mail", "log.csv")[1]
    write("void.csv", "period,arm\n2025-11-03,short\n2025-11-09,short\nmonday,short\n")
    code, out, err = run("reward", "mail", "--aggregate", "void.csv", "--void")
    assert (code, out) == (1, "applied 1, duplicates 0, refused 2\n")
    assert "line 3: arm 'short' has no aggregate in 2025-11-09 to void" in err
    assert "line 4: period must be a date" in err
    found = run("reward", "mail", "--aggregate", "a.csv", "--void", "--json")
    assert json.loads(found[1])["duplicates"] == 1
    assert "0 rewards" in run("report", "mail")[1]


@pytest.mark.parametrize(
    "flags",
    [
        ("v1", "2"),
        ("--file", "a.csv"),
        ("--key", "k"),
        ("--metric", "m=1"),
        ("--id-column", "x"),
        ("--correct", "--void"),
    ],
)
def test_flags_that_make_no_sense_together_are_refused(run, flags):
    write("a.csv", TABLE)
    code, _, err = run("reward", "mail", "--aggregate", "a.csv", *flags)
    assert code == 2 and "must not be given together" in err


@pytest.mark.parametrize("flags", [("--correct",), ("--void",), ("--why", "x")])
def test_flags_of_aggregates_need_aggregates(run, flags):
    code, _, err = run("reward", "mail", "v1", "2", *flags)
    assert code == 2 and "must be given together with --aggregate" in err


def test_a_deleted_experiment_says_what_its_file_lacks(run):
    run("reward", "mail", "--aggregate", write("a.csv", TABLE))
    _, out, _ = run("delete", "mail", "--confirm", "mail", "--export", "log.csv")
    assert "2,300 rewards that came as aggregates are not in it" in out


def test_aggregates_are_for_experiments_that_can_count_them(run):
    run("create", "clicks", "a", "b", "--policy", "Bernoulli-TS")
    write("a.csv", "arm,period,n,mean,sd\na,2025-11-03,10,0.5,0.5\n")
    code, _, err = run("reward", "clicks", "--aggregate", "a.csv")
    assert code == 3 and "use another policy" in err


def test_the_names_of_arms_are_no_formulas(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    varts.open("mail", ["=1+1", "b"], store="sqlite:///varts.db").close()
    cli.main(["experiment", "split", "mail", "--csv"])
    assert "'=1+1,50.0" in capsys.readouterr().out

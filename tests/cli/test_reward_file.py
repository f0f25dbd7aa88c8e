"""`varts experiment reward --file`: every line counts by itself, once; refusals are told."""

import gzip
import io
import json
import sys

import pytest

import varts
from varts import cli
from varts._text_format import check_separator, find_separator
from varts.cli import reward_file


@pytest.fixture
def exp(tmp_path, monkeypatch):
    """An experiment with the decisions v0 to v9, in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARTS_STORE", raising=False)
    with varts.open("price", ["9", "12"], store="sqlite:///varts.db") as made:
        made.decide_many(ids=[f"v{i}" for i in range(10)])
        yield made


@pytest.fixture
def reward(capsys, exp):
    """`varts experiment reward price ...`: exit code, lines printed, standard error."""

    def run(*arguments):
        try:
            cli.main(["experiment", "reward", "price", *map(str, arguments)])
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return run


def rewards_of(exp):
    exp.export("log.ndjson")
    with open("log.ndjson") as file:
        rows = map(json.loads, file)
        return {row["id"]: row["reward"] for row in rows if row["reward"] is not None}


FILES = {
    "r.csv": "id,reward\nv1,2.5\nv2,-1\n",
    "semicolons.csv": "id;reward\nv1;2.5\nv2;-1\n",
    "bars.csv": "reward|id\r\n2.5|v1\r\n-1|v2\r\n",
    "marked.csv": '\ufeff"id",note,reward\nv1,"a, b\nc",2.5\n\nv2,, -1 \n',
    "r.tsv": "id\treward\nv1\t2.5\nv2\t-1",
    "r.ndjson": '{"id": "v1", "reward": 2.5}\n\n{"reward": "-1", "id": "v2", "more": [1]}\n',
    "r.csv.gz": "id,reward\nv1,2.5\nv2,-1\n",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("stdin", [False, True])
def test_a_file_of_every_kind(reward, exp, monkeypatch, name, stdin):
    content = FILES[name].encode()
    file = name
    if stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        file = "-"
    else:
        with (gzip.open if name.endswith(".gz") else open)(name, "wb") as opened:
            opened.write(content)
    assert reward("--file", file) == (0, ["applied 2, duplicates 0, refused 0"], "")
    assert rewards_of(exp) == {"v1": 2.5, "v2": -1.0}
    if not stdin:
        assert reward("--file", file)[1] == ["applied 0, duplicates 2, refused 0"]
        assert rewards_of(exp) == {"v1": 2.5, "v2": -1.0}


def test_a_bad_line_fails_no_other(reward, exp, tmp_path):
    exp.reward("v5", 5.0)
    lines = ["id,reward", "v0,1", "v1,n/a", "who,1", "v5,6", "v5,5", "v2,inf", "v3", ",4", "v4,4"]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    code, (summary,), err = reward("--file", "r.csv")
    assert (code, summary) == (1, "applied 2, duplicates 1, refused 6")
    said = err.splitlines()
    assert said == [
        "line 3: reward must be a finite number, got 'n/a'",
        "line 4: unknown decision 'who' in experiment 'price'",
        "line 5: decision 'v5' already has the reward 5.0, got 6.0; amend changes it",
        "line 7: reward must be a finite number, got inf",
        "line 8: line must have 2 cells, as the first has, got 1",
        "and 1 more",
    ]
    assert rewards_of(exp) == {"v0": 1.0, "v5": 5.0, "v4": 4.0}
    body = json.loads(reward("--file", "r.csv", "--json")[1][0])
    assert (body["applied"], body["duplicates"], body["refused"]) == (0, 3, 6)
    assert body["refusals"][1] == {"line": 4, "error": said[1].removeprefix("line 4: ")}
    assert exp.verify(replay=True)


def test_bytes_and_objects_that_make_no_sense_are_refused_line_by_line(reward, exp, tmp_path):
    (tmp_path / "r.csv").write_bytes(b'id,reward\n\xff,1\nv0,1\n"v1,2\n')
    code, said, err = reward("--file", "r.csv")
    assert (code, said) == (1, ["applied 1, duplicates 0, refused 2"])
    assert err.startswith("line 2: id must be text that is valid Unicode")
    assert err.splitlines()[1].startswith("line 4: line must be valid CSV")
    lines = ['{"id": "v2", "rewards": 1}', "[", "7", '{"id": "v2", "reward": true}', "[" * 10**5]
    (tmp_path / "r.jsonl").write_text("\n".join([*lines, '{"id": "v2", "reward": 1}']))
    code, said, err = reward("--file", "r.jsonl")
    assert (code, said) == (1, ["applied 1, duplicates 0, refused 5"])
    assert err.startswith("line 1: unknown column 'reward'; did you mean 'rewards'?")
    assert err.splitlines()[3] == "line 4: reward must be a finite number, got True"


def test_batches_are_transactions_of_their_own(reward, exp, tmp_path, monkeypatch):
    monkeypatch.setattr(reward_file, "LINES_PER_BATCH", 3)
    sizes = []
    each = varts.live.Experiment.reward_each

    def counted(self, pairs):
        pairs = list(pairs)
        sizes.append(len(pairs))
        if len(sizes) == 3:
            raise varts.live.StoreError("gone for a while")
        return each(self, pairs)

    monkeypatch.setattr(varts.live.Experiment, "reward_each", counted)
    rows = "".join(f"v{i},{i}\n" for i in range(10))
    (tmp_path / "r.csv").write_text("id,reward\n" + rows)
    code, _, err = reward("--file", "r.csv")
    assert (code, sizes) == (6, [3, 3, 3]) and "gone for a while" in err
    assert rewards_of(exp) == {f"v{i}": float(i) for i in range(6)}
    assert reward("--file", "r.csv")[1] == ["applied 4, duplicates 6, refused 0"]  # once more


def test_an_export_can_be_read_back(reward, exp):
    strange = ["=1+1", "-x", "'-y", 'a "b", c', "ü;|"]
    exp.decide_many(ids=strange)
    exp.reward_many((id, i / 7) for i, id in enumerate(strange))
    exp.export("log.csv")
    code, said, err = reward("--file", "log.csv")
    assert (code, said) == (1, ["applied 0, duplicates 5, refused 10"])  # v0 to v9 have none yet
    assert err.startswith("line 2: reward must be a finite number, got ''\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--file", "gone.csv"], "gone.csv: no such file or directory"),
        (["--file", "log.parquet"], "--file must be a CSV, TSV or NDJSON file, got 'log.parquet'"),
        (["--file", "empty.csv"], "--file must begin with a line of column names or an object"),
        (["--file", "r.csv", "v1", "2"], "rewards and --file must not be given together"),
        (["v1", "2", "--id-column", "x"], "--id-column must be given together with --file"),
        (["--file", "r.csv", "--separator", "ab"], "separator must be one ASCII character"),
        (["--file", "r.ndjson", "--separator", ";"], "--separator must be left out for NDJSON"),
        (
            ["--file", "r.csv", "--reward-column", "Rewards"],
            "unknown column 'Rewards'; did you mean 'reward'? known: id, reward (for the reward)",
        ),
        ([], "rewards must be pairs, ID VALUE, got 0 words"),
    ],
)
def test_a_mistake_is_one_sentence(reward, exp, tmp_path, arguments, sentence):
    (tmp_path / "empty.csv").touch()
    for name in ("r.csv", "r.ndjson"):
        (tmp_path / name).write_text(FILES[name])
    code, said, err = reward(*arguments)
    assert (code, said) == (4 if "no such file" in sentence else 2, [])
    assert err.startswith(f"varts: {sentence}") and err.count("\n") == 1
    assert rewards_of(exp) == {}


def test_typed_rewards_as_json(reward):
    assert reward("v1", "2", "--json")[1] == ['{"id": "v1", "applied": true}']
    assert reward("v1", "2", "--json")[1] == ['{"id": "v1", "applied": false}']


def test_separators():
    assert [find_separator(line) for line in ("a,b", "a;b;c,d", "a\tb", "a|b", "a", "")] == [
        *(",", ";", "\t", "|", ",", ","),
    ]
    assert check_separator("\\t") == check_separator("tab") == check_separator("\t") == "\t"
    for wrong in ("", "ab", "x", '"', "\n", "§", None, 5):
        with pytest.raises((ValueError, TypeError), match=r"^separator must be one ASCII"):
            check_separator(wrong)

"""Files with decimal commas, thousands separators and currency signs: read as told, or refused.

No part of the money may be left out, or read as another amount, without an error.
"""

import json

import pytest

import varts
from tests.cli.test_check import refused

MIXED = ["1,234.50", "1.234,50", "12,5", "17.25", "8.5", "99.9"]
LIKE_NUMBERS = ["1,234.50", "1.234,50", "12,5", "1 234.5", "€12", "12 €", "USD 12", "5%", "(12.50)"]
LIKE_NUMBERS += ["1'234.50", "1\u00a0234", "1\u202f234,5", "−5", "1_000", "12-"]
COMMANDS = {
    "fit": ["fit", "log.csv", "--no-held-out"],
    "check": ["check", "log.csv"],
    "plan": ["plan", "--from-history", "log.csv", "--only=0", "--runs=8", "--horizon=20"],
    "evaluate": ["evaluate", "log.csv", "--even", "--only=0"],
}


def write_log(path, values, encoding="utf-8", decimal="."):
    """A log of three experiments and two arms with these rewards among others."""
    plain = [f"{(7 * i) % 11 + i / 8:.3f}" for i in range(30)]
    if decimal == ",":
        plain = [value.replace(".", ",") for value in plain]
    half = f"0{decimal}5"
    rows = [f"{i % 3};{'ab'[i % 2]};{v};{half};é" for i, v in enumerate([*plain, *values])]
    text = "\n".join(["experiment;arm;reward;probability;note", *rows, ""])
    path.write_bytes(text.encode(encoding))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_mixed_numbers_are_refused_in_every_command(call, folder, command):
    write_log(folder / "log.csv", MIXED)
    for flags in ([], ["--json"]):
        code, out, err = call(*COMMANDS[command], *flags)
        assert (code, out, err.count("\n")) == (2, "", 1)
        sentence = json.loads(err)["error"]["message"] if flags else err
        assert "column 'reward' of log.csv must have numbers with a decimal point" in sentence
        assert "got '1,234.50' in row 31 below the header" in sentence
        assert "write all numbers of the column the same way" in sentence


@pytest.mark.parametrize("cell", LIKE_NUMBERS)
def test_no_number_in_another_format_is_left_out(call, folder, cell):
    write_log(folder / "log.csv", [cell])
    refused(call("fit", "log.csv", "--no-held-out"), "must have numbers with a decimal point")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_decimal_comma_is_read_as_told_and_never_guessed(call, folder, command):
    write_log(folder / "log.csv", [])
    right = call(*COMMANDS[command], "--json")[1]
    write_log(folder / "log.csv", [], decimal=",")
    answer = call(*COMMANDS[command])
    refused(answer, "if the comma is the decimal mark, use decimal=',' (--decimal ,)")
    code, out, _ = call(*COMMANDS[command], "--decimal", ",", "--json")
    assert (code, out) == (0, right)
    # With a decimal comma, a point can only be a mistake or a thousands separator.
    write_log(folder / "log.csv", ["1.234"], decimal=",")
    refused(call(*COMMANDS[command], "--decimal", ","), "decimal comma, such as 1234,5", "1.234")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_an_encoding_is_read_as_told(call, folder, command, encoding):
    write_log(folder / "log.csv", [])
    right = call(*COMMANDS[command], "--json")[1]
    write_log(folder / "log.csv", [], encoding=encoding)
    code, out, _ = call(*COMMANDS[command], "--encoding", encoding, "--json")
    assert (code, out) == (0, right)


def test_wrong_formats_are_one_sentence(call, folder):
    write_log(folder / "log.csv", [])
    fit = ("fit", "log.csv", "--no-held-out")
    refused(call(*fit, "--decimal", ";"), "decimal must be a point or a comma, got ';'")
    refused(call(*fit, "--decimal", ",", "--separator", ","), "must be different characters")
    refused(call(*fit, "--encoding", "klingon"), "encoding must be one such as utf-8, latin-1")
    refused(call(*fit, "--encoding", "ascii"), "log.csv must be text in the encoding ascii")
    (folder / "log.ndjson").write_text('{"experiment": "x", "arm": "a", "reward": 1}\n')
    refused(call("fit", "log.ndjson", "--decimal", ","), "must be left out for a NDJSON file")
    write_log(folder / "log.csv", [], encoding="utf-16")
    refused(call(*fit), "if it is text in another encoding, give it, such as utf-16")


def test_ndjson_has_its_own_decimal_mark(call, price, folder):
    (folder / "r.ndjson").write_text('{"id": "v0", "reward": "1,5"}\n')
    answer = call("experiment", "reward", "price", "--file", "r.ndjson")
    refused(answer, "'1,5' in line 1; write all numbers of the column the same way")
    rows = [{"experiment": i % 3, "arm": "ab"[i % 2], "reward": "1,5"} for i in range(9)]
    (folder / "log.ndjson").write_text("\n".join(map(json.dumps, rows)))
    refused(call("fit", "log.ndjson"), "write all numbers of the column the same way")


def test_files_in_a_folder_are_named(call, folder):
    (folder / "logs").mkdir()
    write_log(folder / "logs" / "may.csv", [])
    write_log(folder / "logs" / "june.csv", ["2", "3,5"])
    refused(call("fit", "logs"), "logs/june.csv", "'3,5' in row 32 below the header")


def test_a_feature_with_decimal_commas_is_no_category(call, folder):
    rows = [f'e{i % 3},{"ab"[i % 2]},{i % 5},"{i},5"' for i in range(40)]
    (folder / "log.csv").write_text("\n".join(["experiment,arm,reward,visits", *rows]))
    asked = ("fit", "log.csv", "--features", "visits", "--no-held-out")
    refused(call(*asked), "column 'visits' of log.csv", "--decimal ,")


def test_python_refuses_them_as_well(folder):
    write_log(folder / "log.csv", MIXED)
    for read in (varts.fit_prior, varts.check, varts.read_history):
        with pytest.raises(ValueError, match=r"^column 'reward' of log\.csv must have numbers"):
            read("log.csv")


# ------------------------------------------------------------------------------ rewards from a file


@pytest.fixture
def price(folder, monkeypatch):
    monkeypatch.delenv("VARTS_STORE", raising=False)
    with varts.open("price", ["9", "12"], store="sqlite:///varts.db") as made:
        made.decide_many(ids=[f"v{i}" for i in range(6)])
        yield made


def write_rewards(path, values):
    path.write_text("id;reward\n" + "".join(f"v{i};{v}\n" for i, v in enumerate(values)))


def test_a_file_of_mixed_rewards_records_nothing(call, price, folder):
    write_rewards(folder / "r.csv", ["8.5", *MIXED[:5]])
    answer = call("experiment", "reward", "price", "--file", "r.csv")
    refused(answer, "column 'reward' of r.csv", "'1,234.50' in line 3", "write all numbers")
    assert price.report().ranking["n"].sum() == 0


def test_rewards_with_decimal_commas(call, price, folder):
    write_rewards(folder / "r.csv", ["8,5", "12,25", "3"])
    asked = ("experiment", "reward", "price", "--file", "r.csv")
    refused(call(*asked), "use decimal=',' (--decimal ,)")
    assert call(*asked, "--decimal", ",")[1] == "applied 3, duplicates 0, refused 0\n"
    assert [price.decision(f"v{i}").reward for i in range(3)] == [8.5, 12.25, 3.0]
    write_rewards(folder / "r.csv", ["8,5", "12,25", "3", "1.234"])
    refused(call(*asked, "--decimal", ","), "decimal comma", "'1.234' in line 5")


def test_standard_input_stops_at_the_first_such_number(call, price, monkeypatch):
    import io
    import sys

    from varts.cli import reward_file

    monkeypatch.setattr(reward_file, "LINES_PER_BATCH", 2)
    text = b"id;reward\nv0;1\nv1;2\nv2;3\nv3;1,5\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    answer = call("experiment", "reward", "price", "--file", "-")
    refused(answer, "standard input", "'1,5' in line 5", "lines count only once")
    assert price.report().ranking["n"].sum() == 2


def test_rewards_in_another_encoding(call, price, folder):
    (folder / "r.csv").write_bytes("id,reward,käufer\nv0,1,é\n".encode("utf-16"))
    asked = ("experiment", "reward", "price", "--file", "r.csv", "--encoding")
    assert call(*asked, "utf-16")[1] == "applied 1, duplicates 0, refused 0\n"
    refused(call(*asked, "ascii"), "r.csv must be text in the encoding ascii")

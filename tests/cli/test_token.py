"""`varts token`: new, list, revoke."""

import json
import os
import stat
import tomllib

import pytest

from tests.cli.test_check import refused
from varts.serve.tokens import read_tokens

SHOP = "ab" * 32
FILE = f"""\
# Tokens of the shop's service.

# the web shop, asks for prices
[[token]]
name = "shop"  # don't rename
sha256 = "{SHOP}"
scopes = ["decide", "reward"]

# the screen in the hall
[[token]]
name = "board"
sha256 = "{"cd" * 32}"
scopes = ["read"]
expires = 2020-01-01T00:00:00Z

[[ token ]]
name = "ops"
sha256 = "{"ef" * 32}"
scopes = ["admin"]
experiments = ["price*", "mail"]
"""


@pytest.fixture
def tokens(tmp_path, monkeypatch):
    """The token file, in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARTS_TOKEN_FILE", raising=False)
    file = tmp_path / "tokens.toml"
    file.write_text(FILE)
    file.chmod(0o640)
    return file


def test_tokens_are_listed(call, tokens):
    code, out, err = call("token", "list")
    assert (code, err) == (0, "")
    head, *rows = [line.split() for line in out.splitlines()]
    assert head == ["name", "scopes", "experiments", "expires", "rate"]
    assert [row[0] for row in rows] == ["shop", "board", "ops"]
    assert "2020-01-01T00:00:00+00:00 (expired)" in out and "price*, mail" in out
    assert SHOP not in out
    found = [json.loads(line) for line in call("token", "list", "--json")[1].splitlines()]
    assert [(one["name"], one["expired"]) for one in found] == [
        ("shop", False),
        ("board", True),
        ("ops", False),
    ]


@pytest.mark.parametrize("name", ["shop", "board", "ops"])
def test_a_revoked_token_is_gone_and_all_else_is_there(call, tokens, name):
    code, out, err = call("token", "revoke", name)
    assert (code, err) == (0, "")
    assert out.startswith(f"{name}: revoked in tokens.toml; a running service accepts it until")
    assert "kill -HUP" in out
    left = tokens.read_text()
    assert [one.name for one in read_tokens(tokens)] == [
        other for other in ("shop", "board", "ops") if other != name
    ]
    comments = [line for line in FILE.splitlines() if line.startswith("#")]
    assert [line for line in left.splitlines() if line.startswith("#")] == comments
    assert set(left.splitlines()) <= set(FILE.splitlines())
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o640
    assert os.listdir(tokens.parent) == ["tokens.toml"]


def test_a_link_to_the_file_stays_a_link(call, tokens, tmp_path):
    (tmp_path / "link.toml").symlink_to(tokens)
    assert call("token", "revoke", "ops", "--token-file", "link.toml")[0] == 0
    assert (tmp_path / "link.toml").is_symlink()
    assert len(read_tokens(tokens)) == 2


def test_what_cannot_be_revoked(call, tokens):
    refused(call("token", "revoke", "shp"), "unknown token 'shp'", "did you mean 'shop'", code=4)
    refused(call("token", "revoke", "shop", "--token-file", "none.toml"), "none.toml", code=4)
    call("token", "revoke", "shop")
    call("token", "revoke", "board")
    before = tokens.read_text()
    refused(call("token", "revoke", "ops"), "ops is the only token in", code=3)
    assert tokens.read_text() == before


def test_a_file_that_cannot_be_edited_safely_is_left_alone(call, tokens):
    entries = tomllib.loads(FILE)["token"][:1] * 2
    rows = ", ".join(
        f'{{name = "t{i}", sha256 = "{one["sha256"]}", scopes = ["read"]}}'
        for i, one in enumerate(entries)
    )
    tokens.write_text(f"token = [{rows}]\n")
    before = tokens.read_text()
    refused(call("token", "revoke", "t1"), "can't be removed safely; edit the file")
    assert tokens.read_text() == before


def test_a_deeply_nested_file_is_one_sentence(call, tokens):
    tokens.write_text("a = " + "[" * 100_000)
    refused(call("token", "list"), "token_file must be TOML", "nested too deeply")
    tokens.write_bytes(b"\xff\xfe")
    refused(call("token", "list"), "token_file must be TOML")
    tokens.write_text("")
    refused(call("token", "list"), "token_file must have entries [[token]]")


def test_a_new_token_goes_to_two_places(call, tokens):
    code, out, err = call("token", "new", "web", "--scopes", "read", "--expires", "7d")
    assert code == 0 and err.startswith("varts: token varts_")
    assert tomllib.loads(out)["token"][0]["name"] == "web"
    body = json.loads(call("token", "new", "web", "--scopes", "read", "--json")[1])
    assert body["name"] == "web" and body["token"].startswith("varts_")
    assert tomllib.loads(body["entry"])["token"][0]["scopes"] == ["read"]
    refused(call("token", "new", "a b", "--scopes", "read"), "name must be letters")
    refused(call("token", "new", "a", "--scopes", "red"), "unknown scope 'red'")
    refused(call("token", "new", "a", "--scopes", "read", "--expires", "soon"), "expires must be")
    odd = call("token", "new", "a", "--scopes", "read", "--experiments", "x\x7f\x1b")
    refused(odd, r"must be printable, got 'x\x7f\x1b'")

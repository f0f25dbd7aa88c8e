"""Tokens and their file; rates; settings."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from varts.serve.auth import MOST_BUCKETS, Rates
from varts.serve.settings import Settings
from varts.serve.tokens import Token, Tokens, digest, new_token, read_tokens

TOMORROW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)


def test_a_file_gives_back_what_was_written(tmp_path):
    page = {"public": True, "origins": ("https://shop.example",)}
    made = [
        new_token("shop", ["decide", "reward"], experiments=("price*", "b-1"), rate=5.0),
        new_token("board", ["read"], expires=TOMORROW),
        new_token("page", ["decide"], **page),
    ]
    file = tmp_path / "tokens.toml"
    file.write_text("\n".join(token.to_toml() for _, token in made))
    found = read_tokens(file)
    assert len(found) == 3
    for secret, token in made:
        assert found.find(secret) == token
        assert secret not in file.read_text()
    assert found.find("varts_other") is None and found.find("") is None
    assert found.origins == {"https://shop.example"}
    assert not found.named("shop").covers("b-2") and found.named("shop").covers("price-de")


def test_secrets_differ_and_are_256_bits():
    secrets = {new_token("a", ["read"])[0] for _ in range(100)}
    assert len(secrets) == 100 and all(len(secret) == 6 + 43 for secret in secrets)


def test_a_token_ends_when_it_says():
    secret, token = new_token("a", ["read"], expires=TOMORROW)
    assert Tokens([token]).find(secret) == token
    assert token.is_over(TOMORROW) and not token.is_over(TOMORROW - timedelta(seconds=1))


GOOD = 'name = "a"\nsha256 = "' + digest("x") + '"\nscopes = ["read"]\n'
WRONG = {
    "x = 1": "token_file must have entries",
    "[[token]": "token_file must be TOML",
    "": "token_file must have entries",
    "[[token]]": "token 'one without a name' must have a name, got none",
    "[[token]]\n" + GOOD.replace("read", "raed"): "unknown scope 'raed'; did you mean 'read'",
    "[[token]]\n" + GOOD + "colour = 1": "token 'a' must have no 'colour'; known: name, sha256",
    "[[token]]\n" + GOOD + 'rate = "fast"': "rate of token 'a' has the wrong type, got 'fast'",
    "[[token]]\n" + GOOD + "rate = 0": "rate must be finite and > 0, got 0",
    "[[token]]\n" + GOOD + "experiments = [1]": "experiments of token 'a' has the wrong type",
    "[[token]]\n" + GOOD + "experiments = []": "experiments must be patterns",
    "[[token]]\n" + GOOD + "expires = 2027-01-01T00:00:00": "must have a time zone",
    "[[token]]\n" + GOOD + "public = true": "a public token must have only the scope decide",
    "[[token]]\n" + GOOD.replace("[0-9a-f]", "?")[:-30] + '"\nscopes = ["read"]': "sha256 must be",
    ("[[token]]\n" + GOOD) * 2: "tokens must have different names, got 'a' twice",
    "[[token]]\n" + GOOD.replace('"a"', '"a b"'): "name must be letters, digits, dots and dashes",
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.items())
def test_a_wrong_file_is_refused_in_a_sentence(tmp_path, text, sentence):
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises((ValueError, TypeError)) as refusal:
        read_tokens(file)
    assert sentence in str(refusal.value)
    file.write_text("[[token]]\n" + GOOD)
    assert len(read_tokens(file)) == 1


def test_receipts_are_for_one_decision_and_one_token():
    page = {"public": True, "origins": ("https://a.example",)}
    (_, one), (_, two) = (new_token(name, ["decide"], **page) for name in ("one", "two"))
    assert one.gave(one.receipt("price", "a"), "price", "a")
    assert not one.gave(one.receipt("price", "a"), "price", "b")
    assert not one.gave(one.receipt("pric", "ea"), "price", "a")
    assert not two.gave(one.receipt("price", "a"), "price", "a")
    assert not one.gave(None, "price", "a")


def test_admins_may_do_everything_and_others_what_they_say():
    sha = digest("x")
    assert all(Token("a", sha, ("admin",)).may(scope) for scope in ("read", "decide", "reward"))
    assert not Token("a", sha, ("decide", "reward")).may("read")


def test_rates_forget_who_has_not_come_for_long():
    now = 0.0
    rates = Rates(lambda: now)
    for n in range(MOST_BUCKETS + 1):
        now = float(n)
        assert rates.wait(n, 1.0) == 0.0
    assert len(rates._buckets) <= MOST_BUCKETS
    assert MOST_BUCKETS in rates._buckets and 0 not in rates._buckets


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"host": "0.0.0.0"}, "token_file must be given before other machines"),
        ({"host": "varts.example.com"}, "token_file must be given before other machines"),
        ({"host": "0.0.0.0", "no_auth": True}, "host must be a loopback address without tokens"),
        ({"no_auth": True, "token_file": Path("t")}, "no_auth must not be given with a token_file"),
        ({"port": 70000}, "port must be a whole number >= 0 and <= 65535, got 70000"),
        ({"log": "xml"}, "unknown log 'xml'; known: json, text"),
        ({"drain": -1}, "drain must be finite and >= 0, got -1"),
        ({"public_url": "varts.example.com"}, "public_url must be like https://varts.example.com"),
        ({"public_url": "https://a.example/b"}, "public_url must be like https://varts.exam"),
        ({"allow_origins": ("board.example",)}, "allow_origin must be like https://board.example"),
        ({"allow_origins": ("https://a.example/",)}, "allow_origin must be like https://board"),
        ({"allow_origins": ("https://A.example",)}, "allow_origin must be like https://board"),
        ({"allow_origins": ("*",)}, "allow_origin must be like https://board.example, got '*'"),
        ({"trusted_proxies": ("proxy",)}, "trusted_proxy must be an address like 10.0.0.7"),
    ],
)
def test_settings_are_checked(given, sentence):
    with pytest.raises(ValueError) as refusal:
        Settings(**given)
    assert sentence in str(refusal.value)


def test_settings_of_this_machine_need_no_tokens():
    for host in ("localhost", "127.0.0.1", "127.8.8.8", "::1"):
        assert Settings(host=host).is_local
    assert Settings(host="0.0.0.0", uds=Path("socket")).is_local
    assert not Settings(host="0.0.0.0", token_file=Path("t")).is_local


def test_a_service_goes_by_its_address_but_not_by_every_address():
    assert "192.0.2.7" in Settings(host="192.0.2.7", token_file=Path("t")).hosts
    assert "[2001:db8::7]" in Settings(host="2001:db8::7", token_file=Path("t")).hosts
    assert "[2001:db8::8]" in Settings(public_url="http://[2001:db8::8]:80").hosts
    for everywhere in ("0.0.0.0", "::"):
        hosts = Settings(host=everywhere, token_file=Path("t")).hosts
        assert hosts == {"localhost", "127.0.0.1", "[::1]"}

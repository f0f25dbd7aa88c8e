"""Traffic splits and aggregates over HTTP, and on the page of an experiment."""

import pytest

import varts
from tests.serve.clients import Serving
from varts.serve.tokens import Tokens, new_token

E = "/v1/experiments/mail"
A = f"{E}/aggregates"


def rows(*given):
    names = ("arm", "period", "n", "mean", "sd")
    return {"aggregates": [dict(zip(names, row, strict=True)) for row in given]}


FIRST = [("short", "2025-11-03", 1200, 0.4, 1.5), ("long", "2025-11-03", 1100, 0.5, 1.6)]


@pytest.fixture
def mail(serving):
    """A service with an experiment of two arms."""
    serving.ok("PUT", E, {"arms": ["short", "long"]})
    return serving


def statuses(serving, method, body):
    return [one["status"] for one in serving.ok(method, A, body)["results"]]


def test_every_aggregate_has_an_outcome(mail):
    assert statuses(mail, "POST", rows(*FIRST)) == ["applied", "applied"]
    assert statuses(mail, "POST", rows(*FIRST)) == ["duplicate", "duplicate"]
    sent = rows(
        ("short", "2025-11-03", 1, 1.0, 0.0),
        ("lung", "2025-11-04", 5, 1.0, 1.0),
        ("short", "monday", 5, 1.0, 1.0),
        ("short", "2025-11-04", 0, 1.0, 1.0),
        ("short", "2025-11-04", 10, 1.0, 1.0),
    )
    results = mail.ok("POST", A, sent)["results"]
    assert [one["status"] for one in results] == [
        *("conflict", "unknown-arm", "invalid", "invalid", "applied"),
    ]
    assert results[2]["arm"] == "short" and results[2]["period"] == "monday"
    assert "period must be a date such as" in results[2]["detail"]
    assert "detail" not in results[4]
    found = mail.ok("GET", f"{E}/report")
    assert found["aggregated"] == {"short": 1210, "long": 1100}
    assert any("2,310 of 2,310 rewards came as aggregates" in one for one in found["notes"])


def test_put_corrects_and_delete_voids_by_the_name_of_the_token(mail):
    mail.ok("POST", A, rows(*FIRST))
    assert statuses(mail, "PUT", rows(("short", "2025-11-03", 1300, 0.5, 1.5))) == ["applied"]
    path = f"{A}?arm=short&period=2025-11-03/2025-11-03&why=a+test"
    assert mail.ok("DELETE", path)["status"] == "applied"
    assert mail.ok("DELETE", path)["status"] == "duplicate"
    mail.refused(422, "refused", "DELETE", f"{A}?arm=short&period=2025-11-09")
    mail.refused(404, "unknown-arm", "DELETE", f"{A}?arm=lung&period=2025-11-03")
    mail.refused(422, "refused", "DELETE", f"{A}?arm=short&period=monday")
    first, voided = mail.ok("GET", f"{E}/events?after=1")["events"]
    assert (first["kind"], first["by"], first["why"]) == ("aggregate", "operator", None)
    assert first["change"]["before"]["n"] == 1200 and first["change"]["after"]["n"] == 1300
    assert (voided["why"], voided["change"]["after"]) == ("a test", None)
    assert mail.ok("GET", f"{E}/report")["aggregated"] == {"long": 1100}


def test_an_experiment_that_needs_single_rewards_refuses_all(serving):
    serving.ok("PUT", E, {"arms": ["short", "long"], "half_life": 100.0})
    assert "half-life" in serving.refused(422, "refused", "POST", A, rows(*FIRST))


def test_a_body_is_strict(mail):
    wrong = [
        {},
        {"aggregates": []},
        {"aggregates": [{"arm": "short", "period": "2025-11-03", "n": 1, "mean": 1.0}]},
        rows(("short", "2025-11-03", "10", 1.0, 1.0)),
        rows(("short", "2025-11-03", 1.5, 1.0, 1.0)),
        {**rows(*FIRST), "correct": True},
    ]
    for body in wrong:
        mail.refused(400, "invalid", "POST", A, body)


def test_recording_needs_another_scope_than_correcting():
    tokens = {scope: new_token(scope, [scope]) for scope in ("reward", "read", "admin")}
    with Serving("memory://", Tokens([token for _, token in tokens.values()])) as serving:
        serving.ok("PUT", E, {"arms": ["short", "long"]})
        secret = {scope: one for scope, (one, _) in tokens.items()}
        serving.ok("POST", A, rows(*FIRST), token=secret["reward"])
        serving.refused(403, "forbidden", "PUT", A, rows(*FIRST), token=secret["reward"])
        path = f"{A}?arm=short&period=2025-11-03"
        serving.refused(403, "forbidden", "DELETE", path, token=secret["reward"])
        serving.refused(403, "forbidden", "GET", f"{E}/split", token=secret["reward"])
        serving.refused(403, "forbidden", "POST", A, rows(*FIRST), token=secret["read"])
        assert set(serving.ok("GET", f"{E}/split", token=secret["read"])["shares"]) == {
            "short",
            "long",
        }


def test_a_split_follows_the_aggregates(mail):
    assert mail.ok("GET", f"{E}/split") == {"shares": {"short": 0.5, "long": 0.5}}
    mail.ok("POST", A, rows(*FIRST))
    shares = mail.ok("GET", f"{E}/split")["shares"]
    assert shares["long"] > 0.8 and sum(shares.values()) == pytest.approx(1)
    mail.ok("POST", f"{E}/stop", {}, headers={"If-Match": "*"})
    mail.refused(409, "stopped", "GET", f"{E}/split")
    mail.ok(
        "PUT", "/v1/experiments/by-context", {"arms": ["a"], "features": {"kinds": {"n": "number"}}}
    )
    mail.refused(422, "refused", "GET", "/v1/experiments/by-context/split")


def test_the_page_says_what_came_as_aggregates_and_was_corrected(mail):
    mail.ok("POST", A, rows(*FIRST))
    mail.ok("PUT", A, rows(("short", "2025-11-03", 1300, 0.5, 1.5)))
    page = mail.ask("GET", "/experiments/mail").text
    assert "2,400 of 2,400 rewards came as aggregates" in page
    assert "aggregate of short in 2025-11-03" in page and "n 1,300, mean 0.5, sd 1.5" in page


def test_services_on_one_store_see_the_same(shared_url):
    with Serving(shared_url) as one, Serving(shared_url) as other:
        one.ok("PUT", E, {"arms": ["short", "long"]})
        assert statuses(one, "POST", rows(*FIRST)) == ["applied", "applied"]
        assert statuses(other, "POST", rows(*FIRST)) == ["duplicate", "duplicate"]
        assert one.ok("GET", f"{E}/split") == other.ok("GET", f"{E}/split")
        with varts.open("mail", store=shared_url) as exp:
            assert exp.verify(replay=True).ok

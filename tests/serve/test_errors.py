"""What goes wrong has a status by its class, and bodies are read strictly."""

import inspect

import pytest

from varts.live import errors
from varts.serve.errors import KINDS, Problem, encode_problem, problem_of

E = "/v1/experiments/price"


def test_every_error_of_live_experiments_has_a_kind_of_its_own():
    found = [
        one
        for _, one in inspect.getmembers(errors, inspect.isclass)
        if issubclass(one, errors.LiveError) and one is not errors.LiveError
        if one is not errors.ConnectionLost  # which nobody but the service can do anything about
    ]
    assert len(found) >= 9
    slugs = {one: problem_of(one("why")).slug for one in found}
    assert "internal" not in slugs.values(), slugs
    assert len(set(slugs.values())) == len(slugs)
    assert problem_of(errors.StoreError("x")).kind.status == 503  # a ConnectionError, too
    assert problem_of(errors.ConnectionLost("x")).slug == "store"
    statuses = {
        errors.ExpiredDecision: 410,
        errors.UnknownArm: 404,
        errors.UnknownDecision: 404,
        errors.Changed: 412,
    }
    assert {one: problem_of(one("x")).kind.status for one in statuses} == statuses
    assert problem_of(errors.ExpiredDecision("x")).kind.outcome == "expired"


def test_what_nobody_thought_of_is_our_mistake():
    assert problem_of(RuntimeError("x")).kind.status == 500
    assert problem_of(KeyError("x")).detail == problem_of(RuntimeError("y")).detail


def test_refusals_that_pass_say_when_to_come_back():
    for slug, kind in KINDS.items():
        problem = Problem(slug, "why")
        assert ("retry-after" in problem.headers) == (kind.status in (429, 503))
        assert ("www-authenticate" in problem.headers) == (kind.status == 401)
        assert b'"detail":"why","request":"abc"' in encode_problem(problem, "abc")


NOT_REWARDS = [
    b'{"value": "3.5"}',
    b'{"value": true}',
    b'{"value": null}',
    b'{"value": NaN}',
    b'{"value": 1e999}',
    b'{"value": [1]}',
    b'{"value": 1, "valeu": 2}',
    b"{}",
    b"",
    b"3.5",
    b"[]",
    b'{"value": 1',
    b'{"value": 1} x',
    b'{"value": \xff}',
    b'{"value": 1, "receipt": "\\ud800"}',
    b"[" * 100_000,
    b'{"a":' * 10_000,
    b'{"value": ' + b"9" * 5_000 + b"}",
]


@pytest.mark.parametrize("body", NOT_REWARDS, ids=lambda body: repr(body[:24]))
def test_a_reward_is_a_number_and_nothing_else(price, body):
    price.ok("PUT", f"{E}/decisions/a")
    headers = {"Content-Type": "application/json"}
    path = f"{E}/decisions/a/reward"
    answer = price.ask("PUT", path, headers=headers, content=body)
    assert answer.status_code in (400, 415) and "\n" not in answer.json()["detail"], answer.text
    assert price.ok("PUT", path, {"value": 3})["status"] == "applied"


def test_bodies_must_say_that_they_are_json(price):
    for kind in ("text/plain", "", "application/x-www-form-urlencoded", "application/jsonp"):
        headers = {"Content-Type": kind}
        answer = price.ask("PUT", f"{E}/decisions/a", headers=headers, content=b'{"unit": "u"}')
        assert answer.status_code == 415
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = price.ask("PUT", f"{E}/decisions/a", headers=headers, content=b'{"unit": "u"}')
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", f"{E}/decisions/a%00b", None),
        ("PUT", f"{E}/decisions/%FF", None),
        ("PUT", f"{E}/decisions/{'x' * 256}", None),
        ("GET", "/v1/experiments/%00", None),
        ("GET", "/v1/experiments?limit=0", None),
        ("GET", "/v1/experiments?limit=1001", None),
        ("GET", "/v1/experiments?limit=1.5", None),
        ("GET", "/v1/experiments?page=2", None),
        ("GET", "/v1/experiments?after=%FF", None),
        ("GET", f"{E}/report?level=1", None),
        ("GET", f"{E}/report?level=nan", None),
        ("PUT", f"{E}/decisions/a", {"unit": ""}),
        ("PUT", f"{E}/decisions/a", {"unit": "a\x00"}),
        ("POST", f"{E}/decisions", {"decisions": []}),
        ("POST", f"{E}/decisions", {"decisions": [{}] * 1001}),
        ("POST", f"{E}/rewards", {"rewards": [{"id": "a", "value": 1}] * 1001}),
        ("PUT", "/v1/experiments/x", {"arms": []}),
        ("PUT", "/v1/experiments/x", {"arms": "ab"}),
        ("PUT", "/v1/experiments/x", {"arms": ["a"], "seed": 1}),
        ("PUT", "/v1/experiments/x", {"arms": ["a"], "flor": 0.1}),
    ],
)
def test_what_is_not_valid_is_refused_before_it_reaches_the_store(price, method, path, body):
    price.refused(400, "invalid", method, path, body)


def test_a_thousand_items_are_not_too_many(price):
    made = price.ok("POST", f"{E}/decisions", {"decisions": [{}] * 1000})["decisions"]
    assert len({one["id"] for one in made}) == 1000
    rewards = [{"id": one["id"], "value": 1.0} for one in made]
    results = price.ok("POST", f"{E}/rewards", {"rewards": rewards})["results"]
    assert {one["status"] for one in results} == {"applied"}

"""Plans over HTTP: the same as the library's, made in a worker process, one after the other."""

import json
import time

import pytest

import varts
from varts.serve.background import MOST_WAITING, Cache, Limits

WORDS = {"mean": 12, "mean_sd": 2, "reward_sd": 8, "worth": 20}
ASKED = {"prior": WORDS, "arms": 3, "horizon": 60, "runs": 16, "followed": 4}


def finished(serving, id):
    until = time.monotonic() + 200  # it may have to compile
    while time.monotonic() < until:
        found = serving.ok("GET", f"/v1/plans/{id}")
        if found["status"] != "running":
            return found
        time.sleep(0.1)
    raise AssertionError("the plan takes too long")


def test_a_plan_is_that_of_the_library(serving):
    begun = serving.ask("POST", "/v1/plans", ASKED)
    assert begun.status_code == 202 and begun.json()["status"] == "running"
    assert begun.headers["location"] == f"/v1/plans/{begun.json()['id']}"
    assert serving.ask("POST", "/v1/plans", ASKED).json()["id"] == begun.json()["id"]
    found = finished(serving, begun.json()["id"])
    assert (found["status"], found["detail"]) == ("done", None)
    expected = varts.plan(
        varts.NormalGamma.elicit(**WORDS), arms=3, horizon=60, runs=16, followed=4, progress=False
    )
    assert found["plan"] == json.loads(expected.to_json())
    numbers = {"mu": 12.0, "kappa": 16.0, "alpha": 11.0, "beta": 640.0}
    again = serving.ask("POST", "/v1/plans", {**ASKED, "prior": numbers})
    assert again.json()["status"] == "done"  # the same in numbers, and it is there already


def test_what_cannot_be_planned_is_said_in_a_sentence(serving):
    detail = serving.refused(422, "refused", "POST", "/v1/plans", {**ASKED, "prior": {"mu": 1}})
    assert "kappa" in detail
    begun = serving.ask("POST", "/v1/plans", {**ASKED, "arms": None}).json()
    found = finished(serving, begun["id"])
    assert found["status"] == "failed" and "arms" in found["detail"]
    serving.refused(400, "invalid", "POST", "/v1/plans", {**ASKED, "horizon": 10**6})
    serving.refused(400, "invalid", "POST", "/v1/plans", {**ASKED, "seed": 1})
    serving.refused(404, "not-found", "GET", "/v1/plans/never")


def test_a_plan_that_takes_too_long_is_given_up(serving):
    serving.service.background.deadline = 0.05
    begun = serving.ask("POST", "/v1/plans", ASKED).json()
    found = finished(serving, begun["id"])
    assert (found["status"], found["detail"]) == (
        "failed",
        "the work took longer than 0.05 s and was ended",
    )


def test_plans_wait_for_each_other_and_the_line_is_bounded(serving, monkeypatch):
    monkeypatch.setattr("varts.serve.background.Background._perform", lambda self, work: _wait())
    for arms in range(2, 2 + MOST_WAITING):
        begun = serving.ask("POST", "/v1/plans", {**ASKED, "arms": arms})
        assert begun.json()["status"] == "running"
        serving.ask("GET", "/healthz")  # so that it gets to wait
    serving.refused(503, "busy", "POST", "/v1/plans", {**ASKED, "arms": 50})


def _wait():
    time.sleep(3)
    return b"{}", 2


@pytest.mark.when_changed("src/varts/serve")
def test_only_the_last_plans_are_kept(serving):
    serving.service.background.cache = Cache(Limits(2, 10**6), Limits(10, 10**6))
    ids = []
    for arms in (2, 3, 4):
        asked = {"prior": WORDS, "arms": None, "horizon": arms}
        ids.append(serving.ask("POST", "/v1/plans", asked).json()["id"])
        finished(serving, ids[-1])
    serving.refused(404, "not-found", "GET", f"/v1/plans/{ids[0]}")
    assert serving.ok("GET", f"/v1/plans/{ids[2]}")["status"] == "failed"

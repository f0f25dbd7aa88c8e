"""Rewards in parts, metrics, corrections, and what is taken away, on SQLite and PostgreSQL."""

import json
import time

import pytest

import varts
from tests.serve.clients import Serving
from varts.live import ConnectionLost, Experiment, StoreError
from varts.serve.tokens import Tokens, new_token

E = "/v1/experiments/price"
ANY = {"If-Match": "*"}


@pytest.fixture
def shared(shared_url):
    """A service on a real store, with an experiment that measures something else, too."""
    with Serving(shared_url) as made:
        made.url = shared_url
        made.ok("PUT", E, {"arms": ["9", "12"], "metrics": ["refund", "clicks"], "floor": 0.1})
        made.ok("POST", f"{E}/decisions", {"decisions": [{"id": id} for id in "abcd"]})
        yield made


def decision(serving, id):
    return serving.ok("GET", f"{E}/decisions/{id}")


def test_a_reward_has_metrics(shared):
    path = f"{E}/decisions/a/reward"
    sent = {"value": 11.7, "metrics": {"refund": 2, "clicks": None}, "key": None}
    assert shared.ok("PUT", path, sent)["status"] == "applied"
    assert shared.ok("PUT", path, {**sent, "metrics": {"refund": 2}})["status"] == "duplicate"
    shared.refused(409, "reward-conflict", "PUT", path, {"value": 11.7})
    wrong = {"value": 1, "metrics": {"refnud": 1}}
    detail = shared.refused(422, "invalid-reward", "PUT", f"{E}/decisions/b/reward", wrong)
    assert detail == "unknown metric 'refnud'; did you mean 'refund'? known: refund, clicks"
    for metrics in ({"refund": "1"}, {"refund": True}, {"": 1}, [1]):
        shared.refused(400, "invalid", "PUT", path, {"value": 1, "metrics": metrics})
    found = decision(shared, "a")
    assert (found["reward"], found["metrics"], found["settled"]) == (11.7, {"refund": 2}, "reward")


def test_a_reward_comes_in_parts_each_of_which_counts_once(shared):
    path = f"{E}/decisions/a/reward"
    parts = [("order-1", 10.0), ("order-2", 5.0), ("order-1", 10.0), ("refund", -5.0)]
    found = [shared.ok("PUT", path, {"value": v, "key": k})["status"] for k, v in parts]
    assert found == ["applied", "applied", "duplicate", "applied"]
    assert decision(shared, "a")["reward"] == 10.0
    shared.refused(409, "reward-conflict", "PUT", path, {"value": 3, "key": "order-2"})
    shared.refused(409, "reward-conflict", "PUT", path, {"value": 10.0})
    with varts.open("price", store=shared.url) as exp:
        assert exp.verify(replay=True).ok


def test_several_rewards_have_metrics_and_keys(shared):
    rewards = [
        {"id": "a", "value": 1, "metrics": {"refund": 1}},
        {"id": "b", "value": 2, "key": "x"},
        {"id": "b", "value": 3, "key": "y", "metrics": {"refund": 4}},
        {"id": "b", "value": 3, "key": "y", "metrics": {"refund": 4}},
        {"id": "c", "value": 1, "metrics": {"none": 1}},
        {"id": "z", "value": 1},
    ]
    results = shared.ok("POST", f"{E}/rewards", {"rewards": rewards})["results"]
    words = ["applied", "applied", "applied", "duplicate", "invalid", "unknown"]
    assert [one["status"] for one in results] == words
    assert decision(shared, "b")["reward"] == 5 and decision(shared, "b")["metrics"] == {
        "refund": 4
    }


def test_a_reward_that_comes_too_late_is_gone(serving):
    serving.ok("PUT", E, {"arms": ["a", "b"], "window": 0.001})
    serving.ok("PUT", f"{E}/decisions/late")
    path = f"{E}/decisions/late/reward"
    time.sleep(0.02)
    detail = serving.refused(410, "expired", "PUT", path, {"value": 1})
    assert detail.startswith("decision 'late' expired: its reward came 0 s after it")
    sent = {"rewards": [{"id": "late", "value": 1}]}
    (result,) = serving.ok("POST", f"{E}/rewards", sent)["results"]
    assert result["status"] == "expired" and "expired" in result["detail"]
    serving.refused(410, "expired", "PATCH", path, {"value": 1})


def test_rewards_are_amended_and_voided_by_somebody_for_a_reason(shared):
    path = f"{E}/decisions/a/reward"
    shared.refused(404, "unknown-decision", "PATCH", path, {"value": 1})
    shared.refused(404, "unknown-decision", "DELETE", path)
    shared.ok("PUT", path, {"value": 117, "metrics": {"refund": 1}})
    amended = {"value": 11.7, "metrics": {"clicks": 3}, "why": "a typing error"}
    assert shared.ok("PATCH", path, amended) == {"id": "a", "status": "applied"}
    assert shared.ok("PATCH", path, amended)["status"] == "duplicate"
    assert decision(shared, "a")["metrics"] == {"refund": 1, "clicks": 3}
    assert shared.ok("DELETE", f"{path}?why=a%20bot") == {"id": "a", "status": "applied"}
    assert shared.ok("DELETE", path)["status"] == "duplicate"
    found = decision(shared, "a")
    assert (found["settled"], found["reward"], found["corrections"]) == ("void", None, 2)
    shared.refused(422, "invalid-reward", "PATCH", path, {"value": 1, "metrics": {"x": 1}})
    shared.refused(400, "invalid", "DELETE", f"{path}?because=x")
    events = shared.ok("GET", f"{E}/events?after=1")["events"]
    assert [(one["kind"], one["by"], one["why"]) for one in events] == [
        ("amend", "operator", "a typing error"),
        ("void", "operator", "a bot"),
    ]
    assert events[0]["change"] == {"decision": "a", "before": 117.0, "after": 11.7}
    audit = [(line["verb"], line["why"]) for line in shared.log if line["event"] == "change"]
    assert audit == [("create", None), ("amend", "a typing error"), ("void", "a bot")]
    with varts.open("price", store=shared.url) as exp:
        assert exp.verify().ok


def test_a_stopped_experiment_goes_on(shared):
    shared.refused(428, "if-match", "POST", f"{E}/restart", {})
    shared.ok("POST", f"{E}/stop", {"winner": "9"}, headers=ANY)
    tag = {"If-Match": shared.ask("GET", E).headers["etag"]}
    assert shared.ok("POST", f"{E}/restart", {"why": "back"}, headers=tag)["status"] == "running"
    shared.refused(412, "changed", "POST", f"{E}/restart", {}, headers=tag)
    last = shared.ok("GET", f"{E}/events")["events"][-1]
    assert (last["kind"], last["by"], last["why"]) == ("restart", "operator", "back")


def test_two_services_on_one_store_cannot_pass_each_other(shared, monkeypatch):
    """The other one changes it after this one has compared the tag, before it writes."""
    unchanged = Experiment.stop

    def passed(experiment, winner, **known):
        monkeypatch.setattr(Experiment, "stop", unchanged)
        with varts.open("price", store=shared.url) as other:
            other.configure(floor=0.2)
        return unchanged(experiment, winner, **known)

    monkeypatch.setattr(Experiment, "stop", passed)
    tag = {"If-Match": shared.ask("GET", E).headers["etag"]}
    detail = shared.refused(412, "changed", "POST", f"{E}/stop", {}, headers=tag)
    assert "somebody else has changed" in detail
    found = shared.ok("GET", E)
    assert (found["status"], found["options"]["floor"]) == ("running", 0.2)
    monkeypatch.setattr(Experiment, "stop", passed)  # whoever says * wants it in any case
    assert shared.ok("POST", f"{E}/stop", {}, headers=ANY)["status"] == "stopped"


def test_arms_can_be_added_and_paused_at_once_with_a_tag(shared):
    tag = {"If-Match": shared.ask("GET", E).headers["etag"]}
    body = {"paused": True, "why": "not yet"}
    assert shared.ask("PUT", f"{E}/arms/15", body, headers=tag).status_code == 201
    shared.refused(412, "changed", "PUT", f"{E}/arms/15", {}, headers=tag)
    events = shared.ok("GET", f"{E}/events?after=1")["events"]
    assert [(one["kind"], one["why"]) for one in events] == [("add-arm", "not yet")]
    assert shared.ok("GET", E)["arms"][-1] == {"name": "15", "paused": True}


def test_a_new_clip_may_count_all_rewards_again(shared):
    for id, value in zip("abcd", (1, 2, 30, 400), strict=True):
        shared.ok("PUT", f"{E}/decisions/{id}/reward", {"value": value})
    shared.ok("PATCH", E, {"clip": [0, 50]}, headers=ANY)
    assert decision(shared, "d")["value"] == 400
    changed = {"clip": [0, 20], "recount": True, "why": "outliers"}
    shared.ok("PATCH", E, changed, headers=ANY)
    assert [decision(shared, id)["value"] for id in "abcd"] == [1, 2, 20, 20]
    with varts.open("price", store=shared.url) as exp:
        assert exp.verify().ok


def test_a_unit_is_forgotten_and_its_name_is_nowhere(shared):
    secret, reader = new_token("reader", ["read"])
    shared.admission.tokens = Tokens([shared.operator, reader])
    for n in range(3):
        shared.ok("PUT", f"{E}/decisions/ann-{n}", {"unit": "ann"})
    stored = decision(shared, "ann-0")["unit"]
    assert stored is not None
    for_readers = shared.ok("GET", f"{E}/decisions/ann-0", token=secret)
    assert for_readers == {**decision(shared, "ann-0"), "unit": None}
    asked = {"unit": "ann", "why": "she asked"}
    assert shared.ok("POST", f"{E}/forget", asked) == {"decisions": 3}
    assert shared.ok("POST", f"{E}/forget", asked) == {"decisions": 0}
    alias = decision(shared, "ann-0")["unit"]
    assert alias not in (None, stored)
    for token in ("", secret):
        events = shared.ask("GET", f"{E}/events", token=token)
        assert alias not in events.text and stored not in events.text and "ann" not in events.text
        last = events.json()["events"][-1]
        assert (last["kind"], last["why"]) == ("forget", "she asked")
        assert last["change"] == {"decisions": 3}


def test_an_experiment_is_deleted_by_its_name(shared):
    shared.refused(400, "invalid", "DELETE", E)
    detail = shared.refused(422, "refused", "DELETE", f"{E}?confirm=prices")
    assert detail == "confirm must be the experiment's name, 'price', got 'prices'"
    assert decision(shared, "a")["id"] == "a"
    assert shared.ok("DELETE", f"{E}?confirm=price") == {"decisions": 4}
    for method, path in (("GET", E), ("GET", f"{E}/report"), ("PUT", f"{E}/decisions/a")):
        shared.refused(404, "unknown-experiment", method, path)
    assert shared.ok("GET", "/v1/experiments")["experiments"] == []
    shared.ok("PUT", E, {"arms": ["x"]})
    assert shared.ok("PUT", f"{E}/decisions/a")["arm"] == "x"


def test_an_experiment_that_somebody_else_deletes_is_soon_gone_here(shared):
    shared.ok("GET", f"{E}/report")
    with varts.open("price", store=shared.url) as other:
        other.delete("price", export=None)
    codes = [shared.ask("GET", f"{E}/report").status_code for _ in range(2)]
    assert codes == [503, 404]
    shared.ok("PUT", E, {"arms": ["x", "y"]})
    assert len(shared.ok("GET", f"{E}/report")["arms"]) == 2


def test_a_page_may_send_a_value_alone(serving):
    page = "https://shop.example"
    secret, token = new_token("page", ["decide"], public=True, origins=(page,))
    serving.admission.tokens = Tokens([serving.operator, token])
    serving.ok("PUT", E, {"arms": ["a"], "clip": [0, 1], "metrics": ["m"]})
    more = {"token": secret, "headers": {"Origin": page}}
    (made,) = serving.ok("POST", f"{E}/decisions", {"decisions": [{}]}, **more)["decisions"]
    path = f"{E}/decisions/{made['id']}/reward"
    body = {"value": 1, "receipt": made["receipt"]}
    for extra in ({"metrics": {"m": 1e9}}, {"key": "again"}):
        serving.refused(422, "invalid-reward", "PUT", path, {**body, **extra}, **more)
    assert serving.ok("PUT", path, body, **more)["status"] == "applied"
    assert json.loads(serving.ask("GET", f"{E}/log").text)["reward"] == 1


@pytest.mark.parametrize(
    ("error", "codes"), [(ConnectionLost, [200, 200]), (StoreError, [503, 503])]
)
def test_a_batch_is_tried_again_after_a_lost_connection_alone(price, monkeypatch, error, codes):
    decide, reward, failing = Experiment.decide_each, Experiment.reward_each, {"d", "r"}

    def fail_once(which, method, *arguments):
        if which in failing:
            failing.remove(which)
            raise error("lost")
        return method(*arguments)

    monkeypatch.setattr(Experiment, "decide_each", lambda *a: fail_once("d", decide, *a))
    monkeypatch.setattr(Experiment, "reward_each", lambda *a: fail_once("r", reward, *a))
    path = f"{E}/decisions/a"
    found = [price.ask("PUT", path).status_code]
    if error is StoreError:
        price.ok("PUT", path)
    found.append(price.ask("PUT", f"{path}/reward", {"value": 1}).status_code)
    assert found == codes and not failing
    assert price.ask("PUT", f"{path}/reward", {"value": 1}).status_code == 200

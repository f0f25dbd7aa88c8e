"""Local decisions over HTTP."""

import threading

import msgspec
import pytest

import varts
from tests.live.local_client import LocalClient
from tests.serve.clients import PAGE, Serving
from varts.live import LocalAllocation
from varts.serve import schemas
from varts.serve.tokens import new_token

E = "/v1/experiments/price"


def client_of(serving, path=E, **more):
    """A client with the allocation of an experiment."""
    body = serving.ok("GET", f"{path}/allocation", **more)
    return LocalClient(LocalAllocation.from_dict(body))


def exposures(client, drawn, name="c"):
    return {"client": name, "tickets": [client.allocation.ticket], "exposures": drawn}


def test_a_client_draws_and_sends_what_it_drew(price):
    client = client_of(price)
    assert client.allocation.probabilities == [1 / 3] * 3
    body = exposures(client, [client.decide(age=0.5) for _ in range(3)])
    for status in ("recorded", "duplicate"):
        found = price.ok("POST", f"{E}/exposures", body)["results"]
        assert found == [{"id": one["id"], "status": status} for one in body["exposures"]]
    rewards = [{"id": one["id"], "value": 1.0} for one in body["exposures"]]
    results = price.ok("POST", f"{E}/rewards", {"rewards": rewards})["results"]
    assert {one["status"] for one in results} == {"applied"}
    assert price.ok("GET", f"{E}/decisions/{rewards[0]['id']}")["reason"] == "local"


def test_an_allocation_is_sent_again_only_if_it_changed(price):
    first = price.ask("GET", f"{E}/allocation")
    assert first.headers["cache-control"] == "private, max-age=1"
    known = {"If-None-Match": first.headers["etag"]}
    same = price.ask("GET", f"{E}/allocation", headers=known)
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == first.headers["etag"]
    assert same.headers["cache-control"] == "private, max-age=1"
    price.ok("PUT", f"{E}/decisions/d", {})
    assert price.ask("GET", f"{E}/allocation", headers=known).status_code == 304
    price.ok("PUT", f"{E}/decisions/d/reward", {"value": 1})
    again = price.ask("GET", f"{E}/allocation", headers=known)
    assert again.status_code == 200 and again.headers["etag"] != first.headers["etag"]
    version = again.json()["version"]
    assert version == 2 and again.headers["etag"].startswith('"2-')


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"holdout": 0.1}, "hashed units"),
        ({"features": {"visits": "number"}}, "the number 'visits'"),
    ],
)
def test_experiments_that_only_the_service_can_decide(serving, options, words):
    serving.ok("PUT", "/v1/experiments/other", {"arms": ["a", "b"], **options})
    detail = serving.refused(409, "not-local", "GET", "/v1/experiments/other/allocation")
    assert words in detail and "ask the decisions endpoint" in detail


def test_a_stopped_experiment_has_no_allocation_unless_it_has_a_winner(price):
    headers = {"If-Match": "*"}
    price.ok("POST", f"{E}/stop", {}, headers=headers)
    price.refused(409, "stopped", "GET", f"{E}/allocation")
    price.ok("POST", f"{E}/stop", {"winner": "12"}, headers=headers)
    assert client_of(price).allocation.probabilities == [0, 1, 0]


def test_each_exposure_has_an_outcome(price):
    client = client_of(price)
    good, wrong = client.decide(), client.decide()
    results = price.ok(
        "POST",
        f"{E}/exposures",
        exposures(client, [good, {**wrong, "arm": "16"}, {**good, "arm": _other(good["arm"])}]),
    )["results"]
    assert [one["status"] for one in results] == ["recorded", "impossible-arm", "conflict"]
    assert results[1]["detail"].startswith("unknown arm '16'")
    assert results[2]["arm"] == good["arm"]
    for invalid in ({"age": -1}, {"version": 1.5}, {"id": ""}, {"unit": 5}, {"probability": 1}):
        body = exposures(client, [{**wrong, **invalid}])
        price.refused(400, "invalid", "POST", f"{E}/exposures", body)
    for body in (exposures(client, []), {**exposures(client, [wrong]), "client": ""}):
        price.refused(400, "invalid", "POST", f"{E}/exposures", body)


def _other(arm):
    return next(one for one in ("9", "12") if one != arm)


def test_a_wrong_client_is_refused_and_the_others_are_not(price):
    honest, faulty = client_of(price), client_of(price)
    faulty.skew, faulty.prefix = (lambda p: [1, 0, 0]), "f"
    body = exposures(faulty, [faulty.decide() for _ in range(200)], "faulty")
    found = price.ok("POST", f"{E}/exposures", body)["results"]
    assert {one["status"] for one in found} == {"unlikely"}
    assert "don't match their probabilities" in found[0]["detail"]
    body = exposures(honest, [honest.decide() for _ in range(200)], "honest")
    found = price.ok("POST", f"{E}/exposures", body)["results"]
    assert {one["status"] for one in found} == {"recorded"}
    body = exposures(faulty, [faulty.decide()], "faulty")
    assert price.ok("POST", f"{E}/exposures", body)["results"][0]["status"] == "unlikely"


def test_a_page_gets_receipts_for_what_it_drew():
    secret, token = new_token("page", ["decide"], public=True, origins=(PAGE,))
    with Serving("memory://", [token]) as made:
        made.ok("PUT", E, {"arms": ["9", "12"], "clip": [0, 20]})
        more = {"token": secret, "headers": {"Origin": PAGE}}
        client = client_of(made, **more)
        drawn = [client.decide("anna") for _ in range(2)]
        made.admission._rates._buckets.clear()
        body = exposures(client, [*drawn, {**client.decide(), "arm": "15"}])
        results = made.ok("POST", f"{E}/exposures", body, **more)["results"]
        assert [one["status"] for one in results] == ["recorded", "recorded", "impossible-arm"]
        assert ["receipt" in one for one in results] == [True, True, False]
        again = made.ok("POST", f"{E}/exposures", exposures(client, drawn), **more)["results"]
        assert [one["receipt"] for one in again] == [one["receipt"] for one in results[:2]]
        path = f"{E}/decisions/{drawn[0]['id']}/reward"
        reward = {"value": 3, "receipt": results[1]["receipt"]}
        made.refused(403, "forbidden", "PUT", path, reward, **more)
        reward["receipt"] = results[0]["receipt"]
        assert made.ok("PUT", path, reward, **more)["status"] == "applied"
        made.admission._rates._buckets.clear()
        body = exposures(client, [client.decide() for _ in range(11)])
        made.refused(413, "too-large", "POST", f"{E}/exposures", body, **more)


def test_a_page_sends_no_numbers():
    secret, token = new_token("page", ["decide"], public=True, origins=(PAGE,))
    with Serving("memory://", [token]) as made:
        made.ok("PUT", E, {"arms": ["9", "12"], "adjust": {"visits": "number"}})
        more = {"token": secret, "headers": {"Origin": PAGE}}
        made.refused(403, "forbidden", "GET", f"{E}/allocation", **more)
        client = client_of(made)
        body = exposures(client, [client.decide(context={"visits": 1e60})])
        made.refused(403, "forbidden", "POST", f"{E}/exposures", body, **more)
        found = made.ok("POST", f"{E}/exposures", body)["results"]
        assert [one["status"] for one in found] == ["recorded"]


def send_all(serving, bodies):
    """The results of these requests, which are sent at the same time."""
    results = [None] * len(bodies)

    def send(i):
        results[i] = serving.ok("POST", f"{E}/exposures", bodies[i])["results"]

    threads = [threading.Thread(target=send, args=(i,)) for i in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_many_clients_at_once_send_again_after_a_restart(shared_url):
    with Serving(shared_url) as made:
        made.ok("PUT", E, {"arms": ["9", "12", "15"], "sticky": True})
        allocation = client_of(made).allocation
        clients = [LocalClient(allocation, i, prefix=f"{i}-") for i in range(8)]
        bodies = [
            exposures(one, [one.decide(f"{i}-{n % 7}") for n in range(25)], f"client {i}")
            for i, one in enumerate(clients)
        ]
        first = send_all(made, bodies)
    with Serving(shared_url) as made:
        second = send_all(made, bodies)
        (listed,) = made.ok("GET", "/v1/experiments")["experiments"]
    for status, results in (("recorded", first), ("duplicate", second)):
        for body, found in zip(bodies, results, strict=True):
            assert found == [{"id": one["id"], "status": status} for one in body["exposures"]]
    assert listed["pending"] == 200


def test_the_schema_has_the_fields_of_an_allocation():
    """They are listed twice: for the OpenAPI document, and for clients in Python."""
    with varts.open("fields", ["a", "b"], store="memory://") as exp:
        sent = set(exp.allocation().to_dict())
    assert {one.name for one in msgspec.structs.fields(schemas.AllocationShown)} == sent

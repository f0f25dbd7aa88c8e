"""Local decisions over HTTP."""

from tests.live.local_client import LocalClient
from varts.live import LocalAllocation

E = "/v1/experiments/price"


def fetch(serving, path=E):
    return LocalAllocation.from_dict(serving.ok("GET", f"{path}/allocation"))


def test_a_client_draws_and_sends_what_it_drew(price):
    answer = price.ask("GET", f"{E}/allocation")
    assert answer.headers["cache-control"] == "private, max-age=1"
    assert answer.json()["probabilities"] == [1 / 3] * 3
    known = {"If-None-Match": answer.headers["etag"]}
    assert price.ask("GET", f"{E}/allocation", headers=known).status_code == 304
    client = LocalClient(LocalAllocation.from_dict(answer.json()))
    body = {
        "client": "c",
        "tickets": [client.allocation.ticket],
        "exposures": [client.decide() for _ in range(3)],
    }
    for status in ("recorded", "duplicate"):
        found = price.ok("POST", f"{E}/exposures", body)["results"]
        assert found == [{"id": one["id"], "status": status} for one in body["exposures"]]
    rewards = [{"id": one["id"], "value": 1.0} for one in body["exposures"]]
    price.ok("POST", f"{E}/rewards", {"rewards": rewards})
    assert price.ask("GET", f"{E}/allocation", headers=known).status_code == 200


def test_an_experiment_that_clients_cannot_decide(serving):
    body = {"arms": ["a", "b"], "holdout": 0.1}
    serving.ok("PUT", "/v1/experiments/hashed", body)
    answer = serving.ask("GET", "/v1/experiments/hashed/allocation")
    assert answer.status_code == 409 and answer.json()["type"] == "/problems/not-local"

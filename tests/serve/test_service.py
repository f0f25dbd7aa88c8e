"""Decisions, rewards, reports and changes over HTTP, on SQLite and PostgreSQL."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

import varts
from tests.serve.clients import Serving
from varts.live import Experiment, StoreError
from varts.live.store.url import read_url
from varts.serve import runtime
from varts.serve.tokens import Tokens, new_token

E = "/v1/experiments/price"


@pytest.fixture
def shared(shared_url):
    """A service on a real store, its URL with it."""
    with Serving(shared_url) as made:
        made.url = shared_url
        made.ok("PUT", E, {"arms": ["9", "12"], "floor": 0.1})
        yield made


def test_pairs_from_many_clients_are_all_in_the_log(shared):
    """Every acknowledged decision and reward is there, with the same arm and value."""

    def pair(n):
        made = shared.ok("PUT", f"{E}/decisions/visit-{n}", {"unit": f"user-{n}"})
        sent = shared.ok("PUT", f"{E}/decisions/visit-{n}/reward", {"value": n / 8})
        return made, sent

    with ThreadPoolExecutor(16) as clients:
        pairs = list(clients.map(pair, range(96)))
    assert {sent["status"] for _, sent in pairs} == {"applied"}
    batches = shared.service.metrics.batch_items.labels("decide")._sum.get()
    assert batches == 96
    for n, (made, _) in enumerate(pairs):
        found = shared.ok("GET", f"{E}/decisions/visit-{n}")
        assert (found["arm"], found["reward"]) == (made["arm"], n / 8)
    with varts.open("price", store=shared.url) as exp:
        assert exp.verify(replay=True).ok
        assert exp.report().frame["n"].sum() == 96


def test_decisions_and_rewards_may_be_repeated(shared):
    first = shared.ok("PUT", f"{E}/decisions/a%2Fb%20%C3%BC")
    assert first["id"] == "a/b ü"
    path = f"{E}/decisions/a%2Fb%20%C3%BC"
    assert shared.ok("PUT", path) == first
    detail = shared.refused(409, "decision-conflict", "PUT", path, {"unit": "other"})
    assert detail.startswith("decision 'a/b ü' was made without a unit")
    path = f"{E}/decisions/a%2Fb%20%C3%BC/reward"
    assert shared.ok("PUT", path, {"value": 3}) == {"id": "a/b ü", "status": "applied"}
    assert shared.ok("PUT", path, {"value": 3.0})["status"] == "duplicate"
    detail = shared.refused(409, "reward-conflict", "PUT", path, {"value": 4})
    assert detail == "decision 'a/b ü' already has the reward 3.0, got 4.0; amend changes it"
    shared.refused(404, "unknown-decision", "PUT", f"{E}/decisions/never/reward", {"value": 1})
    shared.refused(404, "unknown-decision", "GET", f"{E}/decisions/never")


def test_one_bad_reward_of_several_keeps_none_from_counting(shared):
    asked = [{"id": "a"}, {"unit": "u"}, {"id": "c", "unit": "u"}]
    made = shared.ok("POST", f"{E}/decisions", {"decisions": asked})["decisions"]
    assert [made[0]["id"], made[2]["id"]] == ["a", "c"]
    shared.ok("PUT", f"{E}/decisions/c/reward", {"value": 5})
    ids = ["a", "never", made[1]["id"], "c", "c", "a"]
    rewards = [{"id": id, "value": value} for id, value in zip(ids, range(6), strict=True)]
    results = shared.ok("POST", f"{E}/rewards", {"rewards": rewards})["results"]
    assert [one["id"] for one in results] == ids
    words = ["applied", "unknown", "applied", "conflict", "conflict", "conflict"]
    assert [one["status"] for one in results] == words
    assert results[1]["detail"] == "unknown decision 'never' in experiment 'price'"
    report = shared.ok("GET", f"{E}/report")
    assert sum(arm["n"] for arm in report["arms"]) == 3


def test_a_report_is_that_of_the_command_line_and_has_a_tag(shared, call):
    made = shared.ok("POST", f"{E}/decisions", {"decisions": [{}] * 40})["decisions"]
    rewards = [{"id": one["id"], "value": at % 7} for at, one in enumerate(made)]
    shared.ok("POST", f"{E}/rewards", {"rewards": rewards})
    answer = shared.ask("GET", f"{E}/report?level=0.9")
    code, out, _ = call("experiment", "report", "price", "--level", "0.9", "--json", "--store",
                        shared.url)  # fmt: skip
    assert code == 0
    assert answer.json() == json.loads(out)
    tag = {"If-None-Match": answer.headers["etag"]}
    same = shared.ask("GET", f"{E}/report?level=0.9", headers=tag)
    assert (same.status_code, same.content) == (304, b"")
    shared.ok("PUT", f"{E}/decisions/one-more")
    assert shared.ask("GET", f"{E}/report?level=0.9", headers=tag).status_code == 200


def test_the_log_is_that_of_export_and_units_are_for_administrators(shared, tmp_path):
    secret, reader = new_token("reader", ["read"])
    shared.admission.tokens = Tokens([shared.operator, reader])
    shared.ok("PUT", f"{E}/decisions/a", {"unit": "somebody"})
    shared.ok("PUT", f"{E}/decisions/b", {"unit": "else"})
    shared.ok("PUT", f"{E}/decisions/a/reward", {"value": 2.5})
    with varts.open("price", store=shared.url) as exp:
        exp.export(tmp_path / "log.ndjson")
    whole = shared.ask("GET", f"{E}/log")
    assert whole.text == (tmp_path / "log.ndjson").read_text()
    assert whole.headers["content-type"] == "application/x-ndjson"
    rows = [json.loads(line) for line in whole.text.splitlines()]
    read = [json.loads(line) for line in shared.ask("GET", f"{E}/log", token=secret).iter_lines()]
    assert read == [{**row, "unit": None} for row in rows]
    assert "somebody" not in whole.text and all(row["unit"] for row in rows)  # hashed by default


def test_connections_that_the_database_ends_cost_nobody_anything(postgres):
    """Every backend of the service is terminated again and again while clients are at work."""
    url = postgres()
    with (
        Serving(url) as made,
        sa.create_engine(read_url(url), poolclass=sa.NullPool).connect() as other,
    ):
        made.ok("PUT", E, {"arms": ["9", "12"]})
        codes = []

        def pair(n):
            codes.append(made.ask("PUT", f"{E}/decisions/{n}").status_code)
            codes.append(made.ask("PUT", f"{E}/decisions/{n}/reward", {"value": 1}).status_code)

        ended = 0
        with ThreadPoolExecutor(8) as clients:
            sent = [clients.submit(pair, n) for n in range(200)]
            while not all(one.done() for one in sent):
                ended += len(other.execute(sa.text(TERMINATE)).all())
                other.rollback()
                time.sleep(0.2)
        assert ended > 2
        # A second connection may end while the batch is tried again: that is 503, and no worse.
        assert set(codes) <= {200, 404, 503} and codes.count(200) > 0.9 * len(codes)
        assert codes.count(404) <= codes.count(503)  # rewards of decisions that were not made
    with varts.open("price", store=url) as exp:
        assert exp.verify(replay=True).ok


TERMINATE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


# ------------------------------------------------------------------------------ configuration


def test_creating_twice_is_once(serving):
    asked = {"arms": ["a", "b"], "prior": {"mean": 12, "mean_sd": 2, "reward_sd": 8, "worth": 20}}
    first = serving.ask("PUT", E, asked)
    assert first.status_code == 201
    prior = {"mu": 12.0, "kappa": 16.0, "alpha": 11.0, "beta": 640.0}
    assert first.json()["options"]["prior"] == prior
    assert first.json()["options"]["hash_units"] is True
    again = serving.ask("PUT", E, {**asked, "prior": prior})
    assert (again.status_code, again.json()) == (200, first.json())
    detail = serving.refused(409, "differs", "PUT", E, {**asked, "floor": 0.1})
    assert detail == "floor of the experiment 'price' is 0.0, got 0.1; change it with configure"
    detail = serving.refused(422, "refused", "PUT", "/v1/experiments/other", {"arms": ["a", "a"]})
    assert detail == "arms must have different names, got 'a' twice"
    serving.refused(422, "refused", "PUT", "/v1/experiments/a%2Fb", {"arms": ["a"]})


def test_no_body_can_name_a_file_of_the_server(serving, tmp_path):
    file = tmp_path / "prior.json"
    file.write_text('{"type": "NormalGamma", "mu": 0, "kappa": 1, "alpha": 2, "beta": 1}')
    for options in ({"prior": str(file)}, {"prior": {"mu": str(file)}}):
        answer = serving.ask("PUT", E, {"arms": ["a"], **options})
        assert answer.status_code in (400, 422), answer.text
    policy = {"label": "VarTS", "prior": str(file)}
    detail = serving.refused(422, "refused", "PUT", E, {"arms": ["a"], "policy": policy})
    assert detail == "prior must be given next to the policy, got one in it"
    serving.refused(404, "unknown-experiment", "GET", E)


def test_changes_need_the_tag_of_what_they_change(price):
    price.refused(428, "if-match", "PATCH", E, {"floor": 0.1})
    first = {"If-Match": price.ask("GET", E).headers["etag"]}
    changed = price.ask("PATCH", E, {"floor": 0.1, "why": "more certainty"}, headers=first)
    assert changed.status_code == 200
    assert changed.json()["options"]["floor"] == 0.1 and changed.json()["epoch"] == 2
    assert changed.headers["etag"] != first["If-Match"]
    detail = price.refused(412, "changed", "PATCH", E, {"floor": 0.2}, headers=first)
    assert changed.headers["etag"] in detail
    assert price.ok("GET", E)["options"]["floor"] == 0.1
    current = {"If-Match": f'"other", {changed.headers["etag"]}'}
    detail = price.refused(422, "refused", "PATCH", E, {"goal": "min"}, headers=current)
    assert detail == "goal must stay 'max' once an experiment exists, got 'min'"
    audit = [line for line in price.log if line["event"] == "change"]
    assert [(line["verb"], line["token"], line["why"]) for line in audit] == [
        ("create", "operator", None),
        ("configure", "operator", "more certainty"),
    ]


def test_arms_are_added_paused_and_brought_back(price):
    def arms(body, arm, tag="*"):
        answer = price.ask("PUT", f"{E}/arms/{arm}", body, headers={"If-Match": tag})
        return answer.status_code, {one["name"]: one["paused"] for one in answer.json()["arms"]}

    assert arms({}, "18") == (201, {"9": False, "12": False, "15": False, "18": False})
    assert arms({"paused": True}, "18")[1]["18"] is True
    assert arms({"paused": True}, "20%2F2") == (
        201,
        {"9": False, "12": False, "15": False, "18": True, "20/2": True},
    )
    assert arms({}, "18") == (
        200,
        {"9": False, "12": False, "15": False, "18": False, "20/2": True},
    )
    before = price.ask("GET", E).headers["etag"]
    assert arms({}, "18", before)[0] == 200
    assert price.ask("GET", E).headers["etag"] == before  # nothing has changed
    prior = {"prior": {"mean": 1, "mean_sd": 1, "reward_sd": 1, "worth": 1}}
    for arm, body in (("18", prior), ("new", prior), ("a%09b", {})):
        any_tag = {"If-Match": "*"}
        price.refused(422, "refused", "PUT", f"{E}/arms/{arm}", body, headers=any_tag)


def test_a_stopped_experiment_gives_its_winner_or_refuses(price):
    kept = price.ok("PUT", f"{E}/decisions/before")
    stop = {"If-Match": "*"}
    detail = price.refused(404, "unknown-arm", "POST", f"{E}/stop", {"winner": "10"}, headers=stop)
    assert detail == "unknown arm '10'; known: 9, 12, 15"
    price.ok("POST", f"{E}/stop", {"why": "budget"}, headers=stop)
    assert price.ok("GET", E)["status"] == "stopped"
    price.refused(409, "stopped", "PUT", f"{E}/decisions/after")
    assert price.ok("PUT", f"{E}/decisions/before") == kept
    together = [{"id": "before"}, {"id": "after"}]
    detail = price.refused(409, "stopped", "POST", f"{E}/decisions", {"decisions": together})
    assert detail.startswith("decision 'after' was refused: ")
    assert detail.endswith("; decisions made: 1 of 2")
    price.ok("POST", f"{E}/stop", {"winner": "12"}, headers=stop)
    assert price.ok("GET", E)["winner"] == "12"
    assert price.ok("PUT", f"{E}/decisions/after")["arm"] == "12"


def test_a_neighbour_without_a_unit_fails_alone(serving):
    serving.ok("PUT", E, {"arms": ["a", "b"], "sticky": True})

    def decide(n):
        body = {} if n % 5 == 0 else {"unit": f"user-{n}"}
        return serving.ask("PUT", f"{E}/decisions/{n}", body).status_code

    with ThreadPoolExecutor(20) as clients:
        codes = list(clients.map(decide, range(100)))
    assert codes == [422 if n % 5 == 0 else 200 for n in range(100)]


def test_lists_come_in_pages(serving):
    names = ["a", "b.c", "d-1", "e", "f"]
    for name in reversed(names):
        serving.ok("PUT", f"/v1/experiments/{name}", {"arms": ["x", "y"], "goal": "min"})
    found, after = [], ""
    for _ in range(3):
        page = serving.ok("GET", f"/v1/experiments?limit=2{after}")
        found += [one["name"] for one in page["experiments"]]
        after = f"&after={page['next']}"
    assert found == names and page["next"] is None
    assert page["experiments"][0]["arms"] == 2 and page["experiments"][0]["goal"] == "min"


def test_overdue_decisions_are_settled_without_being_asked(serving):
    serving.ok("PUT", E, {"arms": ["a", "b"], "window": 0.05, "missing": 0})
    serving.ok("PUT", f"{E}/decisions/late")
    kinds, until = [], time.monotonic() + 5
    while "missing" not in kinds and time.monotonic() < until:
        time.sleep(0.05)
        with serving.service.store._begun() as connection:
            rows = connection.execute("SELECT kind FROM varts_events").fetchall()
        kinds = [kind for (kind,) in rows]
    assert kinds == ["create", "missing"]
    found = serving.ok("GET", f"{E}/decisions/late")
    assert (found["settled"], found["reward"]) == ("missing", None)


def test_checks_and_evaluations(price):
    made = price.ok("POST", f"{E}/decisions", {"decisions": [{}] * 200})["decisions"]
    rewards = [{"id": one["id"], "value": float(one["arm"]) + n % 5} for n, one in enumerate(made)]
    price.ok("POST", f"{E}/rewards", {"rewards": rewards})
    exp = varts.open("price", store=price.service.store)
    assert price.ok("GET", f"{E}/check") == json.loads(json.dumps(exp.check().to_dict()))
    found = price.ok("POST", f"{E}/evaluate", {"always": "15", "against": "9"})
    expected = exp.evaluate(varts.always("15"), varts.always("9"))
    assert found["estimates"][found["headline"]]["value"] == expected.value
    shares = {"shares": {"9": 0.5, "15": 0.5}, "level": 0.5}
    assert price.ok("POST", f"{E}/evaluate", shares)["level"] == 0.5
    for body in ({}, {"even": True, "always": "9"}, {"always": "10"}, {"floor": 2}):
        price.refused(422, "refused", "POST", f"{E}/evaluate", body)


def test_everybody_is_told_that_there_is_no_such_experiment(serving):
    detail = serving.refused(404, "unknown-experiment", "PUT", f"{E}/decisions/a")
    assert detail == "unknown experiment 'price'"  # and not in which store
    assert serving.refused(404, "unknown-experiment", "GET", E) == detail


# ------------------------------------------------------------------------------ trouble


def test_an_experiment_that_has_not_changed_is_not_sent_again(price):
    tag = {"If-None-Match": price.ask("GET", E).headers["etag"]}
    same = price.ask("GET", E, headers=tag)
    assert (same.status_code, same.content) == (304, b"")
    price.ok("POST", f"{E}/stop", {}, headers={"If-Match": "*"})
    assert price.ask("GET", E, headers=tag).status_code == 200


def test_a_service_that_shuts_down_says_so(price):
    price.service.draining = True
    answer = price.ask("GET", "/readyz", token=None)
    assert (answer.status_code, answer.json()) == (503, {"status": "draining"})
    price.wait(price.service.running("price")).deciding._closed = True
    price.refused(503, "draining", "PUT", f"{E}/decisions/a")


def test_a_store_that_does_not_answer_keeps_nobody_waiting(serving, monkeypatch):
    monkeypatch.setattr(runtime, "READING_SECONDS", 0.05)
    monkeypatch.setattr(serving.service.store, "summaries", lambda after: time.sleep(0.5))
    started = time.monotonic()
    serving.refused(503, "busy", "GET", "/v1/experiments")
    assert time.monotonic() - started < 0.4


def test_settling_goes_on_after_a_failure(serving, monkeypatch):
    serving.ok("PUT", E, {"arms": ["a"], "window": 10})
    errors = [StoreError("lost"), RuntimeError("ours"), None]
    tried = []

    def settle(experiment):
        tried.append(experiment.name)
        error = errors.pop(0) if errors else None
        if error is not None:
            raise error

    monkeypatch.setattr(Experiment, "settle", settle)
    monkeypatch.setattr(runtime, "TICK_SECONDS", 0.01)
    serving.ok("PUT", f"{E}/decisions/a")
    until = time.monotonic() + 5
    while len(tried) < 4 and time.monotonic() < until:
        time.sleep(0.02)
    assert set(tried) == {"price"} and len(tried) >= 4
    lines = [line for line in serving.log if "not settled" in line["event"]]
    assert [line["level"] for line in lines] == ["warning", "error"]


def test_a_body_that_is_too_large_is_refused(price):
    headers = {"Content-Type": "application/json"}
    content = b'{"unit": "u"}' + b" " * 1_000_000
    path = f"{E}/decisions/a"
    price.refused(413, "too-large", "PUT", path, headers=headers, content=content)
    assert price.ask("PUT", path, headers=headers, content=content[:1_000_000]).status_code == 200

    async def parts():
        for at in range(0, len(content), 100_000):
            yield content[at : at + 100_000]

    price.refused(413, "too-large", "PUT", path, headers=headers, content=parts())

"""How the application treats requests of every kind: errors, tags, probes, hosts."""

import asyncio
import json
import pickle
import re
import sys
import threading
import time

import msgspec
import numpy as np
import pytest

import varts
from tests.serve.clients import PAGE, Serving
from tests.serve.test_auth import log_in
from tests.serve.test_limits import Local, read_all
from varts.features import Features
from varts.live import Experiment, StoreError
from varts.live.core.events import ADD_ARM
from varts.serve import runtime
from varts.serve.errors import Problem, refusing
from varts.serve.responses import JSONResponse, is_tag, read_tags
from varts.serve.schemas import MOST_ITEMS
from varts.serve.tokens import new_token

E = "/v1/experiments/price"
ANY = {"If-Match": "*"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def fail(*arguments, **more):
    raise ValueError("operands could not be broadcast")


# ------------------------------------------------------------------------------ bugs and refusals


@pytest.mark.parametrize(
    ("method", "path", "body", "broken"),
    [
        ("GET", f"{E}/report", None, "report"),
        ("GET", f"{E}/check", None, "check"),
        ("GET", f"{E}/events", None, "changes"),
        ("PATCH", E, {"floor": 0.1}, "configure"),
        ("POST", f"{E}/stop", {}, "stop"),
        ("PUT", f"{E}/decisions/a", {}, "decide_each"),
        ("PUT", f"{E}/decisions/a/reward", {"value": 1}, "reward_each"),
        ("GET", "/experiments/price", None, "report"),
    ],
)
def test_a_bug_is_a_500_with_a_request_id_whatever_its_class(
    price, monkeypatch, method, path, body, broken
):
    monkeypatch.setattr(Experiment, broken, fail)
    headers = {**ANY, "X-Request-Id": "lost-and-found"}
    answer = price.ask(method, path, body, headers=headers)
    assert answer.status_code == 500 and "broadcast" not in answer.text
    assert answer.headers["x-request-id"] == "lost-and-found"
    assert answer.headers["x-content-type-options"] == "nosniff"
    (line,) = [line for line in price.log if line["event"] == "internal"]
    assert line["request"] == "lost-and-found" and "operands could not" in line["error"]
    assert "Traceback" in line["error"]


def test_an_error_of_another_package_is_no_refusal():
    with pytest.raises(ValueError, match="Expecting value"), refusing():
        json.loads("")
    with pytest.raises(Problem) as refused, refusing():
        varts.with_floor(2)
    assert refused.value.slug == "refused"
    with pytest.raises(KeyError), refusing():
        {}["floor"]
    with pytest.raises(StoreError), refusing():
        raise StoreError("lost")


def test_a_bug_while_a_context_is_checked_is_no_refusal(serving, monkeypatch):
    serving.ok("PUT", E, {"arms": ["a", "b"], "features": {"kinds": {"n": "number"}}})
    monkeypatch.setattr(Features, "check", fail)
    path = f"{E}/decisions/a"
    detail = serving.refused(500, "internal", "PUT", path, {"context": {"n": 1}})
    assert "broadcast" not in detail
    (line,) = [line for line in serving.log if line["event"] == "internal"]
    assert "operands could not" in line["error"]


def test_a_problem_survives_a_process():
    problem = pickle.loads(pickle.dumps(Problem("busy", "others wait", {"x": "y"})))
    assert (problem.slug, problem.detail) == ("busy", "others wait")
    assert problem.headers == {"x": "y", "retry-after": "1"}


def test_people_get_a_page_for_an_unknown_path_and_programs_a_problem(serving):
    page = serving.ask("GET", "/experimenst", headers=BROWSER, token=None)
    assert page.status_code == 404 and page.headers["content-type"].startswith("text/html")
    assert "Not found" in page.text
    serving.refused(404, "not-found", "GET", "/experimenst", token=None)
    serving.refused(404, "not-found", "GET", "/static/nothing.css", token=None)


# ------------------------------------------------------------------------------ batches


def count_transactions(serving, monkeypatch):
    """A list that grows with every transaction of the service's store."""
    begun, engine = [], serving.service.store.engine
    usual = engine.transaction
    monkeypatch.setattr(
        engine, "transaction", lambda *a, **more: begun.append(1) or usual(*a, **more)
    )
    return begun


def ask_together(serving, bodies):
    """Many PUT decisions at once; their statuses."""

    async def ask(n, body):
        headers = {"Authorization": f"Bearer {serving.secret}"}
        answer = await serving._request("PUT", f"{E}/decisions/v{n}", json=body, headers=headers)
        return answer.status_code

    async def ask_all():
        return await asyncio.gather(*(ask(n, body) for n, body in enumerate(bodies)))

    return serving.wait(ask_all())


def test_a_refused_decision_costs_its_neighbours_no_transactions(serving, monkeypatch):
    serving.ok("PUT", E, {"arms": ["a", "b"], "sticky": True})
    serving.ok("PUT", f"{E}/decisions/first", {"unit": "u"})
    begun = count_transactions(serving, monkeypatch)
    bodies = [{} if n == 50 else {"unit": f"u{n}"} for n in range(102)]
    statuses = ask_together(serving, bodies)
    assert statuses == [422 if n == 50 else 200 for n in range(102)]
    assert len(begun) < 20


def test_a_stopped_experiment_refuses_a_batch_in_one_transaction(price, monkeypatch):
    price.ok("POST", f"{E}/stop", {}, headers=ANY)
    begun = count_transactions(price, monkeypatch)
    assert set(ask_together(price, [{}] * 100)) == {409}
    assert len(begun) < 10


def test_wrong_contexts_do_not_open_the_experiment_again_and_again(serving, monkeypatch):
    serving.ok("PUT", E, {"arms": ["a", "b"], "features": {"kinds": {"n": "number"}}})
    opened = []
    usual = runtime.open_experiment
    monkeypatch.setattr(runtime, "DOUBT_SECONDS", 60.0)
    monkeypatch.setattr(
        runtime, "open_experiment", lambda *a: opened.append(1) or usual(*a), raising=True
    )
    for n in range(10):
        serving.refused(422, "refused", "PUT", f"{E}/decisions/v{n}", {"context": {"m": 1}})
    assert len(opened) <= 2


def test_an_id_belongs_to_one_unit(price):
    price.ok("PUT", f"{E}/decisions/a", {"unit": "anna"})
    detail = price.refused(409, "decision-conflict", "PUT", f"{E}/decisions/a", {"unit": "bert"})
    assert "use a new id" in detail
    assert price.ok("PUT", f"{E}/decisions/a", {"unit": "anna"})["id"] == "a"


def test_decisions_of_clients_are_logged_and_count_nowhere(price):
    sent = [
        {"id": "a", "arm": "9", "unit": "anna"},
        {"id": "a", "arm": "9", "unit": "anna"},
        {"id": "a", "arm": "12", "unit": "bert"},
        {"id": "b", "arm": "10"},
    ]
    results = price.ok("POST", f"{E}/fallbacks", {"decisions": sent})["results"]
    assert [one["id"] for one in results] == ["a", "a", "a", "b"]
    statuses = ["recorded", "duplicate", "conflict", "unknown-arm"]
    assert [one["status"] for one in results] == statuses
    assert results[3]["detail"].startswith("unknown arm '10'")
    assert price.ok("GET", f"{E}/decisions/a")["reason"] == "fallback"
    assert price.ok("PUT", f"{E}/decisions/a/reward", {"value": 9})["status"] == "applied"
    assert sum(arm["n"] for arm in price.ok("GET", f"{E}/report")["arms"]) == 0
    secret, reader = new_token("reader", ["read"])
    price.admission.tokens = type(price.admission.tokens)([price.operator, reader])
    body = {"decisions": sent}
    price.refused(403, "forbidden", "POST", f"{E}/fallbacks", body, token=secret)


# ------------------------------------------------------------------------------ entity tags


def test_a_tag_of_a_deleted_experiment_changes_no_other_one(price):
    tag = {"If-Match": price.ask("GET", E).headers["etag"]}
    price.ok("DELETE", f"{E}?confirm=price")
    price.ok("PUT", E, {"arms": ["9", "12", "15"]})
    price.refused(412, "changed", "PATCH", E, {"floor": 0.1}, headers=tag)
    assert price.ok("GET", E)["options"]["floor"] == 0


def test_an_experiment_with_new_rewards_is_sent_again_and_can_still_be_changed(price):
    price.ok("PUT", f"{E}/decisions/a")
    tag = price.ask("GET", E).headers["etag"]
    price.ok("PUT", f"{E}/decisions/a/reward", {"value": 1})
    found = price.ask("GET", E, headers={"If-None-Match": tag})
    assert found.status_code == 200 and found.json()["rewards"] == 1
    assert price.ask("PATCH", E, {"floor": 0.1}, headers={"If-Match": tag}).status_code == 200
    price.refused(412, "changed", "PATCH", E, {"floor": 0.2}, headers={"If-Match": tag})


@pytest.mark.parametrize("path", [E, f"{E}/report", "/experiments/price", "/", "/static/live.js"])
@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"a",W/{},"b"', "*"])
def test_a_client_may_say_in_many_ways_that_it_has_seen_an_answer(price, path, form):
    tag = price.ask("GET", path).headers["etag"]
    sent = {"If-None-Match": form.format(tag)}
    assert price.ask("GET", path, headers=sent).status_code == 304
    other = {"If-None-Match": form.format('"other"').replace("*", '"*"')}
    assert price.ask("GET", path, headers=other).status_code == 200


@pytest.mark.parametrize("form", ['W/"{}"', '"{}-gzip"', 'W/"{}-zstd"', '"x", "{}-br"'])
def test_tags_that_a_compressing_proxy_has_changed_are_understood(price, form):
    """Such as Caddy with `encode`, which adds the name of the compression, or nginx."""
    tag = price.ask("GET", E).headers["etag"].strip('"')
    sent = {"If-None-Match": form.format(tag)}
    assert price.ask("GET", E, headers=sent).status_code == 304
    sent = {"If-Match": form.format(tag)}
    assert price.ask("PATCH", E, {"floor": 0.1}, headers=sent).status_code == 200


def test_a_tag_is_not_the_beginning_of_another():
    assert not is_tag("17-5eed.310", "17-5eed.31") and is_tag("17-5eed.31-br", "17-5eed.31")
    assert read_tags('"a" , W/"b","c') == ["a", "b"]


def test_long_headers_of_tags_are_read_in_linear_time(price):
    """The old pattern took minutes for 60 kB of spaces."""
    started = time.monotonic()
    for long in (" " * 60_000 + "x", '"' * 60_001, '"a, ' * 15_000, "W/" * 30_000):
        for name in ("If-Match", "If-None-Match"):
            price.ask("PATCH" if name == "If-Match" else "GET", E, {}, headers={name: long})
    assert time.monotonic() - started < 10


# ------------------------------------------------------------------------------ hosts and origins


def answered(serving, headers, path="/healthz"):
    """The status and headers of an answer to raw headers."""
    sent = []

    async def ask():
        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "scheme": "http",
            "headers": headers,
            "client": None,
        }
        await serving.transport.app(scope, receive, send)

    serving.wait(ask())
    return sent[0]["status"], dict(sent[0]["headers"])


def test_a_request_has_one_host(serving):
    local, evil = (b"host", b"localhost:8321"), (b"host", b"evil.example")
    assert answered(serving, [local])[0] == 200
    for both in ([local, evil], [evil, local], [local, local]):
        assert answered(serving, both)[0] == 400


def test_the_host_of_an_absolute_url_is_the_one_that_counts():
    async def echo(scope, receive, send):
        if scope["type"] == "lifespan":
            return
        body = b",".join(value for name, value in scope["headers"] if name == b"host")
        headers = [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    with Local(echo) as local:
        for target, host in (
            ("http://evil.example/", "evil.example"),
            ("http://localhost@evil.example:80/x", "localhost@evil.example:80"),
            ("/x", "localhost"),
        ):
            with local.connect() as connection:
                head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"
                connection.sendall(head.encode())
                assert read_all(connection).endswith(f"\r\n\r\n{host}".encode())


@pytest.mark.parametrize(
    ("public", "host", "origin", "ours"),
    [
        (None, "localhost:8321", "http://localhost:8321", True),
        (None, "localhost:8321", "https://localhost:8321", False),
        (None, "localhost:8321", "http://localhost:9000", False),
        ("https://varts.example.com", "varts.example.com", "https://varts.example.com", True),
        ("https://varts.example.com", "varts.example.com", "http://varts.example.com", False),
    ],
)
def test_an_origin_is_ours_only_with_its_scheme(public, host, origin, ours):
    with Serving("memory://", public_url=public) as made:
        cookie = made.admission.sessions.header(made.operator).partition(";")[0]
        headers = {"Host": host, "Origin": origin, "Cookie": cookie}
        answer = made.ask("PUT", E, {"arms": ["a"]}, token=None, headers=headers)
        assert answer.status_code == (201 if ours else 403)


def test_only_a_site_with_https_says_that_it_has_nothing_else():
    with Serving("memory://", public_url="https://varts.example.com") as made:
        header = made.ask("GET", "/healthz").headers["strict-transport-security"]
        assert header == "max-age=31536000"
    with Serving("memory://") as made:
        assert "strict-transport-security" not in made.ask("GET", "/healthz").headers


def test_without_tokens_another_site_can_start_no_work(monkeypatch):
    exported = []
    monkeypatch.setattr(Experiment, "export", lambda *a: exported.append(1) or 0)
    with Serving("memory://", no_auth=True) as made:
        made.ok("PUT", E, {"arms": ["a"]}, token=None)
        for site in ("cross-site", "same-site"):
            foreign = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
            for path in (f"{E}/log", f"{E}/check", f"{E}/report", "/experiments/price"):
                assert made.ask("GET", path, token=None, headers=foreign).status_code == 403
            linked = {**foreign, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
            page = made.ask("GET", "/experiments/price", token=None, headers=linked)
            assert page.status_code == 200
            made.refused(403, "forbidden", "GET", f"{E}/log", token=None, headers=linked)
        made.ok("GET", f"{E}/report", token=None)
    assert not exported


# ------------------------------------------------------------------------------ limits


def test_metrics_name_only_the_experiments_of_a_token():
    secret, token = new_token("team", ["read"], experiments=("banner*",))
    with Serving("memory://", [token]) as made:
        for name in ("banner-1", "price"):
            made.ok("PUT", f"/v1/experiments/{name}", {"arms": ["a", "b"]})
            made.ok("PUT", f"/v1/experiments/{name}/decisions/x")
            made.ok("PUT", f"/v1/experiments/{name}/decisions/x/reward", {"value": 1})
        shown = made.ask("GET", "/metrics", token=secret).text
        assert 'varts_decisions_total{experiment="banner-1"} 1.0' in shown and "price" not in shown
        whole = made.ask("GET", "/metrics").text
        assert 'varts_rewards_total{experiment="price",outcome="applied"} 1.0' in whole


def test_the_limit_counts_decisions_and_not_requests():
    secret, token = new_token("page", ["decide"], public=True, origins=(PAGE,), rate=10.0)
    here = {"Origin": PAGE}
    with Serving("memory://", [token]) as made:
        made.ok("PUT", E, {"arms": ["a", "b"]})
        started, count = time.monotonic(), 0
        for size in (9, MOST_ITEMS, 10, 9, 11, 5):
            body = {"decisions": [{}] * size}
            answer = made.ask("POST", f"{E}/decisions", body, token=secret, headers=here)
            assert answer.status_code in (200, 413, 429)
            assert answer.status_code != 200 or size <= 10
            assert answer.status_code != 413 or size > 10
            count += size if answer.status_code == 200 else 0
        assert 9 <= count <= 10 + 10 * (time.monotonic() - started)


def test_the_limit_counts_rewards_and_not_requests():
    secret, token = new_token("shop", ["reward"], rate=20.0)
    with Serving("memory://", [token]) as made:
        made.ok("PUT", E, {"arms": ["a", "b"]})
        body = {"rewards": [{"id": "x", "value": 1}] * 15}
        codes = [made.ask("POST", f"{E}/rewards", body, token=secret).status_code for _ in range(3)]
        assert codes[0] == 200 and 429 in codes


def test_visitors_behind_a_socket_have_limits_of_their_own():
    """A Unix socket has no addresses: the proxy behind it says whose requests they are."""
    secret, token = new_token("page", ["decide"], public=True, origins=(PAGE,), rate=2.0)
    with Serving("memory://", [token]) as made:
        made.ok("PUT", E, {"arms": ["a", "b"]})
        made.transport.client = None

        def ask(came_from):
            headers = {"Origin": PAGE, "X-Forwarded-For": came_from}
            body = {"decisions": [{}]}
            answer = made.ask("POST", f"{E}/decisions", body, token=secret, headers=headers)
            return answer.status_code

        first = [ask("203.0.113.1") for _ in range(6)]
        assert 429 in first
        assert ask("203.0.113.2") == 200
        # Whatever a visitor writes into the header comes before what the proxy adds.
        assert 429 in [ask(f"198.51.100.{n}, 203.0.113.1") for n in range(6)]


def test_nobody_sends_much_before_they_are_known(serving):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    large = "token=" + "x" * 20_000
    for path in ("/login", "/logout"):
        answer = serving.ask("POST", path, token=None, headers=form, content=large)
        assert answer.status_code == 413
    assert log_in(serving, serving.secret)


# ------------------------------------------------------------------------------ readiness


def test_the_probe_asks_the_store_once_a_second(serving, monkeypatch):
    asked = []
    monkeypatch.setattr(serving.service.store, "has", lambda name: asked.append(name) or False)
    for _ in range(50):
        assert serving.ask("GET", "/readyz", token=None).status_code == 200
    assert len(asked) <= 5


def test_a_store_that_hangs_takes_one_thread_of_the_probe_and_no_reader(serving, monkeypatch):
    serving.ok("PUT", E, {"arms": ["a"]})
    go, asked = threading.Event(), []
    monkeypatch.setattr(runtime, "PROBE_SECONDS", 0.1)
    monkeypatch.setattr(runtime, "PROBE_LASTS_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(serving.service.store, "has", lambda name: asked.append(1) or go.wait(20))
        for _ in range(8):
            assert serving.ask("GET", "/readyz", token=None).json() == {"status": "store"}
        assert len(asked) == 1
        serving.ok("GET", f"{E}/report")
        go.set()
    until = time.monotonic() + 10
    while serving.ask("GET", "/readyz", token=None).status_code != 200:
        assert time.monotonic() < until


# ------------------------------------------------------------------------------ forms


def test_the_page_after_a_refused_form_knows_its_address(price):
    cookie = log_in(price, price.secret)
    form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    content = "revision=1&floor=9"
    answer = price.ask(
        "POST",
        "/experiments/price/configure",
        token=None,
        headers={**cookie, **form},
        content=content,
    )
    assert answer.status_code == 422
    assert 'data-address="/experiments/price"' in answer.text
    shown = price.ask("GET", "/experiments/price", token=None, headers=cookie)
    assert "data-address" not in shown.text


def test_arms_with_control_characters_can_be_paused_on_the_page(serving):
    arms = ["red\nblue", "tab\there", "50 %", "plain"]
    exp = varts.open("price", ["plain"], store=serving.service.store)
    for arm in arms[:3]:  # as older versions allowed
        exp._change(ADD_ARM, lambda config, arm=arm: {"arm": arm, "prior": None})
    cookie = log_in(serving, serving.secret)
    form = {"Sec-Fetch-Site": "same-origin", **cookie}
    page = serving.ask("GET", "/experiments/price", token=None, headers=cookie).text
    for arm, sent in zip(arms[:3], ("red%0Ablue", "tab%09here", "50 %25"), strict=True):
        assert f'name="arm" value="{sent}"' in page
        revision = serving.ok("GET", E)["revision"]
        data = {"revision": str(revision), "arm": sent}
        answer = serving.ask(
            "POST", "/experiments/price/pause-arm", token=None, headers=form, data=data
        )
        assert answer.status_code == 303, answer.text
        paused = {one["name"] for one in serving.ok("GET", E)["arms"] if one["paused"]}
        assert arm in paused


def test_a_form_of_a_deleted_experiment_changes_no_other_one(price):
    cookie = log_in(price, price.secret)
    page = price.ask("GET", "/experiments/price", token=None, headers=cookie).text
    (revision,) = set(re.findall(r'name="revision" value="(.*?)"', page))
    price.ok("DELETE", f"{E}?confirm=price")
    price.ok("PUT", E, {"arms": ["9", "12", "15"]})
    data = {"revision": revision, "arm": "12"}
    sent = {"Sec-Fetch-Site": "same-origin", **cookie}
    path = "/experiments/price/pause-arm"
    assert price.ask("POST", path, token=None, headers=sent, data=data).status_code == 412
    assert not any(arm["paused"] for arm in price.ok("GET", E)["arms"])


def test_a_form_and_a_request_leave_the_same_line_in_the_log(price):
    cookie = log_in(price, price.secret)
    price.ok("PUT", f"{E}/arms/12", {"paused": True, "why": "slow"}, headers=ANY)
    price.ok("PUT", f"{E}/arms/12", {}, headers=ANY)
    revision = price.ok("GET", E)["revision"]
    data = {"revision": str(revision), "arm": "12", "why": "slow"}
    sent = {"Sec-Fetch-Site": "same-origin", **cookie}
    path = "/experiments/price/pause-arm"
    assert price.ask("POST", path, token=None, headers=sent, data=data).status_code == 303
    lines = [line for line in price.log if line["event"] == "change" and line["verb"] == "pause"]
    first, second = [
        {name: value for name, value in one.items() if name not in ("time", "request")}
        for one in lines
    ]
    assert first == second


# ------------------------------------------------------------------------------ straight paths


def files_of(serving, method, path, body):
    """The files of varts that a request passes through, in the thread of the service and those of
    its batches."""
    seen = set()

    def profile(frame, event, argument):
        if event == "call" and "/varts/" in frame.f_code.co_filename:
            seen.add(frame.f_code.co_filename.rpartition("/varts/")[2])

    async def begin():
        sys.setprofile(profile)

    async def end():
        sys.setprofile(None)

    threads = serving.service._batches

    def everywhere(function):
        barrier = threading.Barrier(threads._max_workers)
        list(threads.map(lambda n: (barrier.wait(20), sys.setprofile(function)),
                         range(threads._max_workers)))  # fmt: skip

    everywhere(profile)
    serving.wait(begin())
    try:
        serving.ok(method, path, body)
    finally:
        serving.wait(end())
        everywhere(None)
    return {one for one in seen if one.startswith("serve/")}


def test_a_decision_passes_through_few_files_of_the_service(price):
    for n in range(5):
        price.ok("PUT", f"{E}/decisions/v{n}", {"unit": "u"})
    found = files_of(price, "PUT", f"{E}/decisions/one", {"unit": "u"})
    assert len(found) <= 8, sorted(found)


def test_an_unchanged_page_needs_one_transaction(price, monkeypatch):
    answer = price.ask("GET", "/experiments/price")
    until = time.monotonic() + 10
    while "Reading the log" in answer.text:
        assert time.monotonic() < until
        answer = price.ask("GET", "/experiments/price")
    seen = {"If-None-Match": answer.headers["etag"]}
    price.ask("GET", "/experiments/price", headers=seen)
    begun = count_transactions(price, monkeypatch)
    answer = price.ask("GET", "/experiments/price", headers=seen)
    assert answer.status_code == 304
    assert len(begun) == 1


def test_numbers_of_numpy_go_over_the_wire():
    assert JSONResponse({"a": np.float64(1.5)}).body == b'{"a":1.5}'
    assert msgspec.json.decode(JSONResponse(b"{}").body) == {}

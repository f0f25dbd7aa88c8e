"""What every request passes: hosts, origins, headers, ids; and what no log line ever says."""

import json

import pytest

import varts
from tests.serve.clients import PAGE, Serving
from varts.serve.routes import ENDPOINTS
from varts.serve.tokens import new_token

HOSTS = {
    "localhost": 200,
    "127.0.0.1:8321": 200,
    "[::1]:1": 200,
    "varts.example.com": 200,
    "VARTS.example.com:443": 200,
    "evil.example": 421,
    "localhost.evil.example": 421,
    "localhost:80@evil.example": 421,
    "": 421,
}


@pytest.mark.parametrize(("host", "status"), HOSTS.items())
def test_only_our_own_names_are_answered_to(host, status):
    with Serving("memory://", public_url="https://varts.example.com") as made:
        headers = {"Host": host}
        assert made.ask("GET", "/v1/experiments", headers=headers).status_code == status
        assert made.ask("GET", "/healthz", headers=headers).status_code == 200


def test_other_pages_get_no_permission_and_those_of_public_tokens_do(serving):
    _, page = new_token("page", ["decide"], public=True, origins=(PAGE,))
    with Serving("memory://", [page]) as made:
        preflight = {"Access-Control-Request-Method": "PUT"}

        def allowed(origin, method):
            headers = {"Origin": origin, **(preflight if method == "OPTIONS" else {})}
            answer = made.ask(method, "/v1/experiments", headers=headers)
            return answer.status_code, answer.headers.get("access-control-allow-origin")

        assert allowed(PAGE, "GET") == (200, PAGE)
        assert allowed(PAGE, "OPTIONS") == (200, PAGE)
        assert allowed("https://evil.example", "GET") == (200, None)
        assert allowed("https://evil.example", "OPTIONS") == (400, None)
        for origin in (PAGE, "https://evil.example"):
            answer = made.ask("GET", "/healthz", headers={"Origin": origin})
            assert "access-control-allow-credentials" not in answer.headers


def test_pages_of_allowed_sites_may_use_all_of_it_with_a_token():
    board = "https://board.example"
    with Serving("memory://", allow_origins=(board,)) as made:
        asked = {"Origin": board, "Access-Control-Request-Method": "PATCH"}
        answer = made.ask("OPTIONS", "/v1/experiments/price", headers=asked, token=None)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, board)
        methods = answer.headers["access-control-allow-methods"].split(", ")
        assert set(methods) == {one.method for one in ENDPOINTS}
        assert "if-match" in answer.headers["access-control-allow-headers"]
        here = {"Origin": board, "Sec-Fetch-Site": "cross-site"}
        created = made.ask("PUT", "/v1/experiments/price", {"arms": ["a"]}, headers=here)
        assert created.status_code == 201
        assert "etag" in created.headers["access-control-expose-headers"]
        # Without a token it is a page like any other: a cookie does not help it.
        cookie = made.admission.sessions.header(made.operator).partition(";")[0]
        behind = {**here, "Cookie": cookie}
        for headers in (here, behind):
            answer = made.ask("PUT", "/v1/experiments/x", {"arms": ["a"]}, None, headers)
            assert answer.status_code in (401, 403)
        evil = {"Origin": "https://evil.example"}
        found = made.ask("GET", "/v1/experiments", headers=evil)
        assert "access-control-allow-origin" not in found.headers


@pytest.mark.parametrize("path", ["/healthz", "/v1/experiments", "/nothing", "/openapi.json"])
def test_every_answer_has_the_headers_that_keep_browsers_safe(serving, path):
    headers = serving.ask("GET", path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


def test_a_request_keeps_its_id_if_it_is_one(serving):
    def id_for(given):
        return serving.ask("GET", "/healthz", headers={"X-Request-Id": given}).headers[
            "x-request-id"
        ]

    assert id_for("order-17.b") == "order-17.b"
    for bad in ("", "a b", "x" * 65, "a\tb", '"quoted"'):
        assert id_for(bad) != bad and len(id_for(bad)) == 16
    assert id_for("") != id_for("")


def test_a_path_says_all_its_methods(serving):
    answer = serving.ask("POST", "/v1/experiments/price")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, HEAD, PATCH, PUT")
    assert serving.ask("POST", "/openapi.json").headers["allow"] == "GET, HEAD"
    assert serving.ask("BREW", "/healthz").status_code == 405
    assert serving.ask("GET", "/v1/experiments/").status_code == 404
    serving.refused(404, "not-found", "GET", "/v2")


def test_nothing_secret_is_in_logs_answers_or_metrics(tmp_path):
    """A password, a token, a unit and an id that are unlike anything else, and a look at it all."""
    secret, token = new_token("shop", ["decide", "reward", "read"])
    unit, id, why = "Unit-4711-Mustermann", "Id-0815-basket", "asked by finance"
    url = f"sqlite:///{tmp_path / 'varts.db'}"
    with Serving(url, [token]) as made:
        path = "/v1/experiments/price"
        answers = [made.ask("PUT", path, {"arms": ["a", "b"], "stop_p_best": 0.9})]
        for method, where, body in (
            ("PUT", f"{path}/decisions/{id}", {"unit": unit}),
            ("PUT", f"{path}/decisions/{id}/reward", {"value": 123.456}),
            ("PUT", f"{path}/decisions/{id}/reward", {"value": "no"}),
            ("PUT", f"{path}/decisions/{id}-unknown/reward", {"value": 1}),
            ("GET", f"{path}/report", None),
            ("GET", f"{path}/log", None),
            ("GET", path, None),
            ("GET", "/metrics", None),
            ("PUT", "/v1/experiments/other/decisions/a", None),
            ("GET", "/v1/experiments/other", None),
            ("GET", f"{path}?token={secret}", None),
        ):
            answers.append(made.ask(method, where, body, token=secret))
        stop = {"If-Match": "*"}
        answers.append(made.ask("POST", f"{path}/stop", {"why": why}, headers=stop))
        made.ask("GET", path, token=None, headers={"Authorization": f"Basic {secret}"})
        with varts.open("price", store=url) as exp:
            seed = str(exp._session.seed)
        metrics = made.ask("GET", "/metrics").text
        log = made.lines.getvalue()
    said = "\n".join(answer.text for answer in answers)
    assert seed not in said + metrics + log
    assert secret not in said + metrics + log and made.secret not in said + metrics + log
    assert unit not in said + metrics + log
    assert id not in metrics + log and "123.456" not in metrics + log
    assert str(tmp_path) not in said + metrics and "varts.db" not in said + metrics
    assert id in said and why in log and '"token": "shop"' in log  # the test does look there
    assert '"route": "/v1/experiments/{name}/decisions/{id}"' in log


def test_a_store_that_fails_is_not_described_to_strangers(tmp_path):
    file = tmp_path / "varts.db"
    with Serving(f"sqlite:///{file}?timeout=1") as made:
        made.ok("PUT", "/v1/experiments/price", {"arms": ["a"]})
        for one in tmp_path.iterdir():
            one.unlink()
        file.mkdir()
        path = "/v1/experiments/price/decisions/x"
        answer = made.ask("PUT", path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["detail"] == "the store cannot be used at the moment"
        assert made.ask("GET", "/readyz").json() == {"status": "store"}
        assert made.ask("GET", "/healthz").status_code == 200
        lines = [line for line in made.log if line["event"] == "store"]
        assert "varts.db" in lines[0]["error"]
        assert made.service.metrics.store_errors._value.get() == 1
        file.rmdir()


def test_an_error_of_our_own_is_logged_and_not_shown(serving, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(serving.service.store, "summaries", fail)
    detail = serving.refused(500, "internal", "GET", "/v1/experiments")
    assert "secret detail" not in detail
    (line,) = [line for line in serving.log if line["event"] == "internal"]
    assert "secret detail" in line["error"] and "Traceback" in line["error"]


def test_lines_can_be_read_by_people_too():
    with Serving("memory://", style="text") as made:
        made.ask("GET", "/healthz", headers={"X-Request-Id": "abc"})
        line = made.lines.getvalue()
    assert ' info request route="/healthz" method="GET" status=200 ms=' in line
    assert 'request="abc" token="operator"' in line
    with pytest.raises(json.JSONDecodeError):
        json.loads(line)

"""Who may do what: every endpoint with every kind of caller, from the table itself."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.serve.clients import PAGE, Serving
from varts.serve import auth
from varts.serve.auth import OPEN, Actor
from varts.serve.routes import ENDPOINTS, Endpoint
from varts.serve.tokens import SCOPES, Tokens, new_token

YESTERDAY = datetime.now(UTC) - timedelta(days=1)
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
BODIES = {
    "create_experiment": {"arms": ["9", "12"]},
    "decide_several": {"decisions": [{}]},
    "record_exposures": {
        "client": "c",
        "tickets": [],
        "exposures": [{"id": "a", "arm": "9", "version": 1, "age": 0}],
    },
    "reward_one": {"value": 1.0},
    "amend_reward": {"value": 1.0},
    "forget_unit": {"unit": "somebody"},
    "reward_several": {"rewards": [{"id": "a", "value": 1.0}]},
    "evaluate_experiment": {"even": True},
    "start_plan": {"prior": {}},
}
# Made once: the secrets and entries of callers by name.
CALLERS = {
    **{scope: new_token(scope, [scope]) for scope in SCOPES},
    "expired": new_token("expired", ["admin"], expires=YESTERDAY),
    "other experiment": new_token("other", ["admin"], experiments=("banner*",)),
    "public": new_token("page", ["decide"], public=True, origins=(PAGE,)),
    "removed": new_token("removed", ["admin"]),
}
ENTRIES = [token for name, (_, token) in CALLERS.items() if name != "removed"]


@pytest.fixture(scope="module")
def guarded():
    with Serving("memory://", ENTRIES) as made:
        made.ok("PUT", "/v1/experiments/price", {"arms": ["9", "12"]})
        yield made


def ask(guarded, endpoint, token, **headers):
    path = endpoint.path.format(name="price", id="visit", arm="12")
    more = {"If-Match": "*"} if "if-match" in endpoint.problems else {}
    body = BODIES.get(endpoint.handler.__name__, {} if endpoint.body else None)
    return guarded.ask(endpoint.method, path, body, token=token, headers={**more, **headers})


def expected(endpoint, caller):
    """The refusal that a caller must get; None if they are let in. Written from SECURITY.md."""
    if caller in ("nobody", "wrong", "expired", "removed"):
        return 401
    if caller == "other experiment":
        return 403 if "{name}" in endpoint.path else None
    if caller == "public":
        open_to_all = ("/decisions", "/allocation", "/exposures")
        return None if endpoint.path.endswith(open_to_all) else 403
    return None if caller in (endpoint.scope, "admin") else 403


GUARDED = [endpoint for endpoint in ENDPOINTS if endpoint.scope != OPEN]


@pytest.mark.parametrize("caller", ["nobody", "wrong", *CALLERS])
@pytest.mark.parametrize("endpoint", GUARDED, ids=lambda one: one.handler.__name__)
def test_the_matrix_of_endpoints_and_callers(guarded, endpoint, caller):
    secrets = {"nobody": None, "wrong": "varts_wrong"}
    token = secrets[caller] if caller in secrets else CALLERS[caller][0]
    origin = {"Origin": PAGE} if caller == "public" else {}
    guarded.admission._rates._buckets.clear()
    status = ask(guarded, endpoint, token, **origin).status_code
    refused = status if status in (401, 403) else None
    assert refused == expected(endpoint, caller)


def test_the_matrices_notice_a_door_that_stands_open(monkeypatch):
    """Negative control: scopes that are not looked at, and origins that are not."""
    monkeypatch.setattr(Actor, "may", lambda actor, scope: True)
    monkeypatch.setattr(auth, "check_origin", lambda headers, own, must_say: None)
    (create,) = (one for one in GUARDED if one.handler.__name__ == "create_experiment")
    with Serving("memory://", ENTRIES) as made:
        assert expected(create, "read") == 403
        assert ask(made, create, CALLERS["read"][0]).status_code == 201
        cookie = log_in(made, CALLERS["admin"][0])
        foreign = {**cookie, "Sec-Fetch-Site": "cross-site"}
        assert ask(made, create, None, **foreign).status_code == 200


def test_what_is_open_says_nothing_about_experiments():
    found = {endpoint.path for endpoint in ENDPOINTS if endpoint.scope == OPEN}
    assert found == {"/healthz", "/readyz"}


def test_an_endpoint_without_a_scope_cannot_be_made():
    async def handler(call):
        """Do something."""

    with pytest.raises(TypeError, match="scope"):
        Endpoint(method="GET", path="/x", handler=handler, answers={})
    with pytest.raises(ValueError, match="unknown scope 'raed'; did you mean 'read'"):
        Endpoint(method="GET", path="/x", scope="raed", handler=handler, answers={})


def test_lists_show_what_a_token_is_for(guarded):
    guarded.ok("PUT", "/v1/experiments/banner-1", {"arms": ["a"]})

    def names(token):
        found = guarded.ok("GET", "/v1/experiments", token=token)
        return [one["name"] for one in found["experiments"]]

    assert names(CALLERS["read"][0]) == ["banner-1", "price"]
    assert names(CALLERS["other experiment"][0]) == ["banner-1"]


# ------------------------------------------------------------------------------ cookies


def log_in(serving, token):
    form = {"Content-Type": "application/x-www-form-urlencoded", **SAME_SITE}
    answer = serving.ask("POST", "/login", token=None, headers=form, content=f"token={token}")
    assert answer.status_code == 303, answer.text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly; SameSite=Lax" in cookie
    return {"Cookie": cookie.partition(";")[0]}


# One function lets cookies in. The gate tries everything at two endpoints, and at each of the
# others one request that must be let in and one that must not.
@pytest.mark.when_changed(
    "src/varts/serve",
    except_for=[
        *("create_experiment", "list_experiments"),
        *("http://localhost:8321-same-origin", "https://evil.example-cross-site"),
    ],
)
@pytest.mark.parametrize("site", ["same-origin", "none", "same-site", "cross-site", None])
@pytest.mark.parametrize("origin", ["http://localhost:8321", "https://evil.example", None])
@pytest.mark.parametrize("endpoint", GUARDED, ids=lambda one: one.handler.__name__)
def test_a_cookie_works_from_our_own_pages_alone(guarded, endpoint, site, origin):
    headers = log_in(guarded, CALLERS["admin"][0])
    headers |= {} if site is None else {"Sec-Fetch-Site": site}
    headers |= {} if origin is None else {"Origin": origin}
    known = site or origin  # what says whose page it was
    let_in = known in ("same-origin", "none", "http://localhost:8321")
    if endpoint.method == "GET" and known is None:
        let_in = True  # no browser sends such a request for another site's page
    guarded.admission._rates._buckets.clear()
    status = ask(guarded, endpoint, None, **headers).status_code
    assert (status in (401, 403)) == (not let_in)


def test_a_page_of_another_site_can_neither_log_in_nor_out(serving):
    form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "cross-site"}
    for path, content in (("/login", f"token={serving.secret}"), ("/logout", "")):
        answer = serving.ask("POST", path, token=None, headers=form, content=content)
        assert answer.status_code == 403


def test_a_session_ends_with_its_token_its_time_and_its_signature(serving, monkeypatch):
    secret, token = new_token("guest", ["read"])
    serving.admission.tokens = Tokens([serving.operator, token])
    cookie = log_in(serving, secret)
    assert serving.ask("GET", "/v1/experiments", token=None, headers=cookie).status_code == 200
    name, until, signature = cookie["Cookie"].partition("=")[2].split(":")
    forged = [
        f"operator:{until}:{signature}",
        f"{name}:{int(until) + 1}:{signature}",
        f"{name}:{until}:{'0' * 64}",
        f"{name}:{until}",
        f"{name}:١:{signature}",
        "",
    ]
    for value in forged:
        answer = serving.ask(
            "GET", "/v1/experiments", token=None, headers={"Cookie": f"varts={value}".encode()}
        )
        assert answer.status_code == 401, value
    with monkeypatch.context() as patch:
        patch.setattr("varts.serve.auth.time.time", lambda: float(until) + 1)
        answer = serving.ask("GET", "/v1/experiments", token=None, headers=cookie)
        assert answer.status_code == 401
    serving.admission.tokens = Tokens([serving.operator])
    assert serving.ask("GET", "/v1/experiments", token=None, headers=cookie).status_code == 401


def test_the_link_is_spent_by_its_first_use(serving):
    once = serving.admission.sessions.make_link(serving.operator)
    first = serving.ask("GET", f"/login?once={once}", token=None)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = {"Cookie": first.headers["set-cookie"].partition(";")[0]}
    assert serving.ask("GET", "/v1/experiments", token=None, headers=cookie).status_code == 200
    for spent in (once, "%C3%BC", ""):
        answer = serving.ask("GET", f"/login?once={spent}", token=None)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers


def test_cookies_of_a_secure_site_are_for_it_alone():
    with Serving("memory://", public_url="https://varts.example.com") as made:
        header = made.admission.sessions.header(made.operator)
        assert header.startswith("__Host-varts=operator:") and header.endswith("; Secure")


# ------------------------------------------------------------------------------ public tokens


def test_a_page_decides_with_ids_of_the_service_and_rewards_with_receipts(guarded):
    secret, token = CALLERS["public"]
    path, here = "/v1/experiments/bounded", {"Origin": PAGE}
    guarded.admission._rates._buckets.clear()
    guarded.ok("PUT", path, {"arms": ["9", "12"], "clip": [0, 20]})
    own = {"decisions": [{"id": "mine"}]}
    guarded.refused(403, "forbidden", "POST", f"{path}/decisions", own, token=secret, headers=here)
    asked = {"decisions": [{"unit": "u"}]}
    elsewhere = {"Origin": "https://evil.example"}
    for headers in ({}, elsewhere):
        guarded.refused(
            403, "forbidden", "POST", f"{path}/decisions", asked, token=secret, headers=headers
        )
    answer = guarded.ask("POST", f"{path}/decisions", asked, token=secret, headers=here)
    assert answer.headers["access-control-allow-origin"] == PAGE
    (made,) = answer.json()["decisions"]
    reward = f"{path}/decisions/{made['id']}/reward"
    for wrong in (None, "", "ü", "0" * 64, token.receipt("bounded", "other")):
        body = {"value": 3, "receipt": wrong}
        guarded.refused(403, "forbidden", "PUT", reward, body, token=secret, headers=here)
    body = {"value": 3, "receipt": made["receipt"]}
    assert guarded.ok("PUT", reward, body, token=secret, headers=here)["status"] == "applied"
    assert "receipt" not in guarded.ok("POST", f"{path}/decisions", asked)["decisions"][0]


def test_a_page_rewards_only_where_rewards_are_bounded(guarded):
    secret, _ = CALLERS["public"]
    here = {"Origin": PAGE}
    guarded.admission._rates._buckets.clear()
    guarded.ok("PUT", "/v1/experiments/free", {"arms": ["a"]})
    asked = {"decisions": [{}]}
    path = "/v1/experiments/free/decisions"
    (made,) = guarded.ok("POST", path, asked, token=secret, headers=here)["decisions"]
    body = {"value": 1e9, "receipt": made["receipt"]}
    where = f"{path}/{made['id']}/reward"
    detail = guarded.refused(422, "invalid-reward", "PUT", where, body, token=secret, headers=here)
    assert "clip" in detail


# ------------------------------------------------------------------------------ rates


def test_more_than_its_rate_is_too_many():
    secret, slow = new_token("slow", ["read"], rate=3.0)
    with Serving("memory://", [slow]) as made:
        answers = [made.ask("GET", "/v1/experiments", token=secret) for _ in range(8)]
        codes = [answer.status_code for answer in answers]
        assert codes[:3] == [200] * 3 and 429 in codes
        assert answers[codes.index(429)].headers["retry-after"] == "1"
        assert made.ask("GET", "/v1/experiments").status_code == 200  # others are not affected


def test_who_guesses_tokens_is_slowed_down():
    with Serving("memory://") as made:
        answers = [made.ask("GET", "/v1/experiments", token=f"varts_{n}") for n in range(30)]
        assert {answer.status_code for answer in answers} == {401, 429}
        assert made.ask("GET", "/v1/experiments").status_code == 200


# ------------------------------------------------------------------------------ without tokens


def test_without_authentication_other_sites_are_still_kept_out():
    with Serving("memory://", no_auth=True) as made:
        arms = {"arms": ["a"]}
        assert made.ask("PUT", "/v1/experiments/x", arms, token=None).status_code == 201
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
            made.refused(
                403, "forbidden", "PUT", "/v1/experiments/y", arms, token=None, headers=headers
            )
        rebound = {"Host": "evil.example"}
        made.refused(421, "misdirected", "GET", "/v1/experiments", token=None, headers=rebound)

"""What can be read: lists, events, histories, pages of the log; and that reading only reads."""

import json
import re

import pytest
import sqlalchemy as sa

import varts
from tests.serve.clients import Serving
from varts.live import StoreError
from varts.live.report.report import report_of
from varts.live.store.transaction import Traffic
from varts.live.store.url import read_url
from varts.serve import background
from varts.serve.api import analysis
from varts.serve.background import Background
from varts.serve.routes import ENDPOINTS
from varts.serve.telemetry import MOST_ARMS_COUNTED
from varts.serve.tokens import Tokens, new_token

E = "/v1/experiments/price"
ANY = {"If-Match": "*"}


@pytest.fixture
def shared(shared_url):
    """A service on a real store, with an experiment that has learnt something."""
    with Serving(shared_url) as made:
        made.url = shared_url
        made.ok("PUT", E, {"arms": ["9", "12", "15"], "floor": 0.1})
        learn(made, 60)
        yield made


def learn(serving, count, path=E):
    """So many decisions; all but ten get a reward that depends on their arm."""
    asked = {"decisions": [{"id": f"visit-{n}"} for n in range(count)]}
    made = serving.ok("POST", f"{path}/decisions", asked)["decisions"]
    rewards = [
        {"id": one["id"], "value": float(one["arm"]) + n % 7} for n, one in enumerate(made[10:])
    ]
    serving.ok("POST", f"{path}/rewards", {"rewards": rewards})


def test_a_list_says_which_arm_leads(shared):
    shared.ok("PUT", "/v1/experiments/other", {"arms": ["x", "y"], "goal": "min"})
    other, price = shared.ok("GET", "/v1/experiments")["experiments"]
    assert (other["best"], other["p_best"], other["pending"]) == (None, None, 0)
    found = shared.ok("GET", f"{E}/report")
    chances = {arm["arm"]: arm["p_best"] for arm in found["arms"]}
    assert (price["best"], price["p_best"]) == (found["best"], chances[found["best"]])
    assert price["pending"] == 10 == sum(arm["pending"] for arm in found["arms"])
    one = shared.ok("GET", E)
    assert {name: one[name] for name in price.keys() & one.keys() - {"arms"}} == {
        name: price[name] for name in price.keys() & one.keys() - {"arms"}
    }


def test_a_leader_is_the_one_of_the_report_whatever_the_goal_and_who_is_paused(tmp_path):
    for number, goal in enumerate(("max", "min")):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        with varts.open("p", ["9", "12", "15"], store=url, goal=goal, seed=3) as exp:
            for n in range(30):
                made = exp.decide(id=str(n))
                exp.reward(made.id, float(made.arm) + n % 7)
                if n % 10 == 9:
                    exp.pause_arm("9") if n == 19 else exp.resume_arm("9")
                expected = report_of("p", exp.state, Traffic({}, {}))
                found = Background(exp.store).p_best("p", exp.state)
                frame = zip(expected.frame["arm"], expected.frame["p_best"], strict=True)
                assert found == {arm: chance for arm, chance in frame if chance is not None}
            (one,) = Background(exp.store).standings(lambda name: True)
            assert one.best == expected.best is not None


def test_p_best_is_computed_once_for_every_state(shared, monkeypatch):
    computed = []

    def counted(state, compute=background.p_best_in_play):
        computed.append(state.version)
        return compute(state)

    monkeypatch.setattr(background, "p_best_in_play", counted)
    first = shared.ok("GET", "/v1/experiments")
    assert shared.ok("GET", "/v1/experiments") == first and len(computed) == 1
    shared.ask("GET", "/metrics")
    shared.ok("PUT", f"{E}/decisions/more")  # no event: nothing was learnt
    assert shared.ok("GET", "/v1/experiments")["experiments"][0]["pending"] == 11
    assert len(computed) == 1
    shared.ok("PUT", f"{E}/decisions/more/reward", {"value": 3})
    shared.ok("GET", "/v1/experiments")
    assert len(computed) == 2
    # One that was created anew is not taken for the old one, even at the same version.
    shared.ok("DELETE", f"{E}?confirm=price")
    shared.ok("PUT", E, {"arms": ["a", "b"]})
    assert shared.ok("GET", "/v1/experiments")["experiments"][0]["best"] is None


def test_pages_of_a_list_have_what_a_token_is_for(serving):
    for n in range(12):
        serving.ok("PUT", f"/v1/experiments/{'ab'[n % 2]}-{n:02}", {"arms": ["x"]})
    secret, token = new_token("b", ["read"], experiments=("b-*",))
    serving.admission.tokens = Tokens([serving.operator, token])
    found, after = [], ""
    while after is not None:
        page = serving.ok("GET", f"/v1/experiments?limit=2&after={after or 'a'}", token=secret)
        assert len(page["experiments"]) <= 2
        found += [one["name"] for one in page["experiments"]]
        after = page["next"]
    assert found == [f"b-{n:02}" for n in range(1, 12, 2)]


def test_metrics_tell_what_waits_and_which_arm_leads(shared):
    arms = [f"arm-{n}" for n in range(MOST_ARMS_COUNTED + 1)]
    prior = {"mean": 1, "mean_sd": 1, "reward_sd": 1, "worth": 5}
    shared.ok("PUT", "/v1/experiments/many", {"arms": arms, "prior": prior})
    shared.ok("PUT", "/v1/experiments/few", {"arms": arms[:-1], "prior": prior})
    shared.ok("PUT", "/v1/experiments/over", {"arms": ["a"]})
    shared.ok("POST", "/v1/experiments/over/stop", {}, headers=ANY)
    secret, token = new_token("board", ["read"], experiments=("price", "many"))
    shared.admission.tokens = Tokens([shared.operator, token])

    def series(name, token=""):
        text = shared.ask("GET", "/metrics", token=token).text
        return dict(re.findall(rf"^{name}\{{(.*)\}} (\S+)$", text, re.MULTILINE))

    assert series("varts_pending") == {
        f'experiment="{name}"': count
        for name, count in (("few", "0.0"), ("many", "0.0"), ("price", "10.0"))
    }
    assert set(series("varts_pending", secret)) == {'experiment="many"', 'experiment="price"'}
    found = series("varts_p_best")
    assert len(found) == 3 + MOST_ARMS_COUNTED and not any("many" in one for one in found)
    chances = [arm["p_best"] for arm in shared.ok("GET", f"{E}/report")["arms"]]
    told = [float(found[f'arm="{arm}",experiment="price"']) for arm in ("9", "12", "15")]
    assert told == pytest.approx(chances, abs=1e-12)


def test_metrics_are_there_without_the_store(price, monkeypatch):
    monkeypatch.setattr(price.service.store, "summaries", lambda after: 1 / 0)
    assert price.ask("GET", "/metrics").status_code == 500  # a mistake of ours is no store's

    def lost(after):
        raise StoreError("lost")

    monkeypatch.setattr(price.service.store, "summaries", lost)
    found = price.ask("GET", "/metrics")
    assert found.status_code == 200 and "varts_requests_total" in found.text
    assert "varts_pending{" not in found.text


def test_events_come_in_pages(shared):
    for floor in (0.02, 0.04, 0.06):
        shared.ok("PATCH", E, {"floor": floor, "why": f"{floor}"}, headers=ANY)
    found, after = [], 0
    while after is not None:
        page = shared.ok("GET", f"{E}/events?limit=2&after={after}")
        found += page["events"]
        after = page["next"]
    assert [one["kind"] for one in found] == ["create", *["configure"] * 3]
    assert [one["why"] for one in found] == [None, "0.02", "0.04", "0.06"]
    assert all(re.fullmatch(r"20\d\d-.*T.*\.\d{6}Z", one["time"]) for one in found)
    with varts.open("price", store=shared.url) as exp:
        changes = exp.changes()
    assert [one["version"] for one in found] == [one.version for one in changes]
    assert [one["change"] for one in found] == json.loads(json.dumps([c.change for c in changes]))
    assert shared.ok("GET", f"{E}/events?after={2**63 - 1}") == {"events": [], "next": None}
    for query in ("after=-1", f"after={2**63}", "limit=0", "limit=1001", "after=x"):
        shared.refused(400, "invalid", "GET", f"{E}/events?{query}")


def test_a_history_is_that_of_the_library(shared):
    points = shared.ok("GET", f"{E}/history?points=5&level=0.9")["points"]
    with varts.open("price", store=shared.url) as exp:
        frame = exp.history(5, level=0.9).frame
    rows = [
        {**arm, "version": point["version"], "rewards": point["rewards"]}
        for point in points
        for arm in point["arms"]
    ]
    expected = frame.drop("checkpoint", "time").to_dicts()
    assert rows == expected and len(points) == 5
    assert len(shared.ok("GET", f"{E}/history")["points"]) == 50  # rewards
    assert len(shared.ok("GET", f"{E}/history?every_rewards=20")["points"]) == 3
    assert len(shared.ok("GET", f"{E}/history?every=1d")["points"]) in (1, 2)
    for query in ("points=0", "points=1001", "points=x", "level=1", "every_rewards=0"):
        shared.refused(400, "invalid", "GET", f"{E}/history?{query}")
    for query in ("points=5&every=1h", "every=soon", "every=-1h", "every=nan", "every=1e999d"):
        shared.refused(422, "refused", "GET", f"{E}/history?{query}")


def test_a_history_that_is_too_long_is_refused(price, monkeypatch):
    learn(price, 30)
    monkeypatch.setattr(analysis, "MOST_ROWS", 20)
    assert len(price.ok("GET", f"{E}/history?points=6")["points"]) == 6
    detail = price.refused(422, "refused", "GET", f"{E}/history?points=7")
    assert detail.endswith("at every checkpoint, got 21")


def test_the_log_comes_in_pages_that_make_up_the_whole(shared):
    odd = 'odd "<>&;,ü/ '
    for id in (odd, "last"):
        shared.ok("POST", f"{E}/decisions", {"decisions": [{"id": id}]})
    whole = shared.ask("GET", f"{E}/log")
    assert "link" not in whole.headers
    # 62 lines: a page ends at the odd id (61), and the last one has a single line.
    for limit in (61, 20, 31, 62, 100):
        found, path, pages = "", f"{E}/log?limit={limit}", 0
        while path:
            answer = shared.ask("GET", path)
            assert answer.status_code == 200 and answer.text.count("\n") <= limit
            found += answer.text
            path = answer.links["next"]["url"] if "link" in answer.headers else None
            pages += 1
        assert found == whole.text and pages == 62 // limit + 1
    *_, before, _, _ = lines = whole.text.splitlines(keepends=True)
    rest = shared.ask("GET", f"{E}/log?after={json.loads(before)['id']}").text
    assert rest == "".join(lines[-2:]) and json.loads(lines[-2])["id"] == odd
    shared.refused(404, "unknown-decision", "GET", f"{E}/log?after=never")
    for query in ("limit=0", "limit=x", "after=", "after=%00"):
        shared.refused(400, "invalid", "GET", f"{E}/log?{query}")


def test_a_whole_log_is_read_page_by_page(shared, monkeypatch):
    whole = shared.ask("GET", f"{E}/log").text
    assert whole.count("\n") == 60
    secret, token = new_token("board", ["read"])
    shared.admission.tokens = Tokens([shared.operator, token])
    hidden = shared.ask("GET", f"{E}/log", token=secret).text
    assert [json.loads(line)["unit"] for line in hidden.splitlines()] == 60 * [None]
    calls = []
    read = analysis.read_log_page

    def counted(experiment, after, limit, hidden):
        calls.append(limit)
        return read(experiment, after, limit, hidden)

    monkeypatch.setattr(analysis, "read_log_page", counted)
    for size in (1, 7, 20, 59, 60, 61):
        monkeypatch.setattr(analysis, "LINES_PER_PAGE", size)
        assert shared.ask("GET", f"{E}/log").text == whole
        assert calls == (60 // size + 1) * [size]
        calls.clear()
    assert shared.ask("GET", f"{E}/log", token=secret).text == hidden
    # A page is never larger, whatever is asked for, and says where the next one is.
    monkeypatch.setattr(analysis, "LINES_PER_PAGE", 7)
    page = shared.ask("GET", f"{E}/log?limit=50")
    assert page.text == "".join(whole.splitlines(keepends=True)[:7])
    assert page.links["next"]["url"].endswith("limit=50")
    assert shared.service.streams == 0


def test_whole_logs_that_are_sent_at_a_time_are_bounded(price):
    price.service.streams = analysis.MOST_STREAMS
    detail = price.refused(503, "busy", "GET", f"{E}/log")
    assert detail == "16 logs are being sent; repeat the request, or ask for pages"
    assert price.ask("GET", f"{E}/log?limit=5").status_code == 200


def test_answers_from_the_log_say_as_of_which_version_and_are_kept(shared, monkeypatch):
    read = []
    evaluate = varts.live.Experiment.evaluate
    monkeypatch.setattr(
        varts.live.Experiment,
        "evaluate",
        lambda self, **asked: read.append(1) or evaluate(self, **asked),
    )
    version = str(shared.ok("GET", E)["version"])
    for path in ("check", "history"):
        assert shared.ask("GET", f"{E}/{path}").headers["varts-version"] == version
    for _ in range(3):
        found = shared.ask("POST", f"{E}/evaluate", {"always": "12"})
        assert found.headers["varts-version"] == version
    assert len(read) == 1
    shared.ok("PUT", f"{E}/decisions/visit-0/reward", {"value": 3})
    found = shared.ask("POST", f"{E}/evaluate", {"always": "12"})
    assert found.headers["varts-version"] == str(int(version) + 1) and len(read) == 2


def test_reward_by_age_needs_a_window(price):
    detail = price.refused(422, "refused", "GET", f"{E}/reward-by-age")
    assert "has no window" in detail


# ------------------------------------------------------------------------------ reading only reads

READS = [one for one in ENDPOINTS if not one.writes and "{name}" in one.path]


def make_older(url):
    """Make all decisions a minute older, so that their windows have closed."""
    engine = sa.create_engine(read_url(url))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE varts_decisions SET time = time - 60000000"))
    engine.dispose()


def test_what_reads_settles_nothing(tmp_path, monkeypatch):
    """Overdue decisions stay as they are; only the clock settles, which is stopped here."""
    monkeypatch.setattr("varts.serve.runtime.TICK_SECONDS", 1e9)
    url = f"sqlite:///{tmp_path / 'varts.db'}"
    with Serving(url) as made:
        made.ok("PUT", E, {"arms": ["9", "12", "15"], "floor": 0.1, "window": 30, "missing": 0})
        learn(made, 60)
        make_older(url)
        made.ok("PUT", f"{E}/decisions/first")  # who decides, settles some
        late = {"decisions": [{"id": f"late-{n}"} for n in range(10)]}
        made.ok("POST", f"{E}/decisions", late)
        make_older(url)
        before = made.ok("GET", E)["version"]
        assert before == 1 + 50 + 60  # creation, arrivals, and decisions when their windows closed
        for endpoint in READS:
            path = endpoint.path.format(name="price", id="visit-0")
            body = {"even": True} if endpoint.method == "POST" else None
            assert made.ask(endpoint.method, path, body).status_code == 200, path
            assert made.ok("GET", E)["version"] == before, path
        assert {one.method for one in READS} == {"GET", "POST"} and len(READS) >= 7
        made.ok("PUT", f"{E}/decisions/another")
        assert made.ok("GET", E)["version"] == before + 1 + 10


def test_a_read_only_service_refuses_all_that_writes(tmp_path):
    url = f"sqlite:///{tmp_path / 'varts.db'}"
    with Serving(url) as made:
        made.ok("PUT", E, {"arms": ["9", "12", "15"], "window": 0.001, "missing": 0})
        made.ok("PUT", f"{E}/decisions/a")
    file = tmp_path / "varts.db"
    file.chmod(0o444)
    before = file.read_bytes()
    with Serving(url, read_only=True) as made:
        assert made.service._ticking is None
        for endpoint in ENDPOINTS:
            path = endpoint.path.format(name="price", id="a", arm="9")
            answer = made.ask(endpoint.method, path, {}, headers=ANY)
            refused = answer.status_code == 403 and answer.json()["type"] == "/problems/read-only"
            assert refused == (endpoint.scope in ("decide", "reward", "admin")), path
        detail = made.refused(403, "read-only", "PUT", f"{E}/decisions/b")
        assert detail == "the service is read-only: nothing can be changed here"
        made.refused(401, "unauthorized", "PUT", f"{E}/decisions/b", token=None)
        assert made.ok("GET", f"{E}/decisions/a")["settled"] is None
        assert made.ok("GET", "/v1/experiments")["experiments"][0]["pending"] == 1
    assert file.read_bytes() == before


def test_a_read_only_service_needs_no_right_to_write(postgres):
    """As on a replica: the database itself refuses every transaction that writes."""
    url = postgres()
    with Serving(url) as made:
        made.ok("PUT", E, {"arms": ["9", "12", "15"], "floor": 0.1, "window": 30})
        learn(made, 60)
        make_older(url)
        made.ok("PUT", f"{E}/decisions/first")  # who decides, settles some
    replica = f"{url}{'&' if '?' in url else '?'}options=-cdefault_transaction_read_only%3Don"
    with Serving(replica) as made:  # negative control: it does refuse
        assert made.ask("PUT", f"{E}/decisions/b").status_code == 503
    with Serving(replica, read_only=True) as made:
        for endpoint in READS:
            path = endpoint.path.format(name="price", id="visit-0")
            body = {"even": True} if endpoint.method == "POST" else None
            assert made.ask(endpoint.method, path, body).status_code == 200, path
        for path in ("/v1/experiments", "/metrics", "/readyz"):
            assert made.ask("GET", path).status_code == 200

"""The pages over HTTP: who sees them, what their forms do, and how little a look costs."""

import csv
import html
import io
import re
import time
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import varts
from tests.serve.clients import PAGE, Serving
from tests.serve.test_auth import log_in
from varts.serve.auth import OPEN
from varts.serve.routes import ENDPOINTS, PAGES
from varts.serve.tokens import SCOPES, new_token
from varts.serve.web import FORMS, STATIC, handlers

E = "/experiments/price"
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CALLERS = {
    **{scope: new_token(scope, [scope]) for scope in SCOPES},
    "other experiment": new_token("other", ["admin"], experiments=("banner*",)),
    "public": new_token("page", ["decide"], public=True, origins=(PAGE,)),
}
GUARDED = [one for one in PAGES if one.scope != OPEN]


def fill(store, visits=300):
    """An experiment of three prices that has learnt a little."""
    options = {"floor": 0.05, "stop_p_best": 0.99, "seed": 1}
    exp = varts.open("price", ["9", "12", "15"], store=store, **options)
    rng = np.random.default_rng(1)
    units, ids = zip(*((f"unit-{i}", f"visit-{i}") for i in range(visits)), strict=True)
    made = exp.decide_many(units, ids)
    exp.reward_many([(one.id, float(one.arm) * (rng.random() < 0.4)) for one in made])
    return exp


@pytest.fixture
def shop(monkeypatch):
    monkeypatch.setattr("varts.serve.background.PATIENCE_SECONDS", 60.0)  # whoever else is at work
    with Serving("memory://", [token for _, token in CALLERS.values()]) as made:
        made.exp = fill(made.service.store)
        made.cookie = log_in(made, made.secret)
        yield made


@pytest.fixture(scope="module")
def guarded():
    with Serving("memory://", [token for _, token in CALLERS.values()]) as made:
        fill(made.service.store, visits=4)
        yield made


def see(serving, path, **headers):
    """A page that must be there."""
    answer = serving.ask("GET", path, token=None, headers={**serving.cookie, **headers})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


def send(serving, path, cookie=None, headers=SAME_SITE, **fields):
    """What a form of a page gets for an answer."""
    sent = {**(serving.cookie if cookie is None else cookie), **headers}
    return serving.ask("POST", path, token=None, headers=sent, data=fields)


def error_of(answer):
    """The sentence above a form."""
    (found,) = re.findall(r'class="refused" role="alert">(.*?)</p>', answer.text)
    return html.unescape(found)


# ------------------------------------------------------------------------------ who


def answered(guarded, endpoint, token, **headers):
    path = endpoint.path.format(name="price", file="style.css")
    more = FORM if endpoint.method == "POST" else {}
    sent = {**more, **headers}
    content = b"" if endpoint.method == "POST" else None
    return guarded.ask(endpoint.method, path, token=token, headers=sent, content=content)


@pytest.mark.parametrize("caller", ["nobody", *CALLERS])
@pytest.mark.parametrize("endpoint", GUARDED, ids=lambda one: f"{one.method} {one.path}")
def test_the_matrix_of_pages_and_callers(guarded, endpoint, caller):
    guarded.admission._rates._buckets.clear()
    token = None if caller == "nobody" else CALLERS[caller][0]
    origin = {"Origin": PAGE} if caller == "public" else {}
    answer = answered(guarded, endpoint, token, **origin)
    if caller == "nobody":
        asked_in = answer.status_code == 303 and answer.headers["location"].startswith("/login?")
        assert asked_in if endpoint.method == "GET" else answer.status_code == 401
        return
    other = caller == "other experiment" and "{name}" in endpoint.path
    let_in = caller in (endpoint.scope, "admin", "other experiment") and not other
    assert (answer.status_code == 403) == (not let_in)


@pytest.mark.parametrize("endpoint", GUARDED, ids=lambda one: f"{one.method} {one.path}")
@pytest.mark.parametrize("site", ["same-origin", "cross-site", "same-site", None])
def test_forms_are_taken_from_our_own_pages_alone(guarded, endpoint, site):
    guarded.admission._rates._buckets.clear()
    headers = log_in(guarded, CALLERS["admin"][0])
    headers |= {} if site is None else {"Sec-Fetch-Site": site}
    status = answered(guarded, endpoint, None, **headers).status_code
    let_in = site == "same-origin" or (endpoint.method == "GET" and site is None)
    assert (status == 403) == (not let_in)
    opened = {
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }  # from a chat
    status = answered(guarded, endpoint, None, **headers, **opened).status_code
    assert (status == 403) == (not let_in and endpoint.method != "GET")


def test_every_form_has_its_place_in_the_table_and_no_page_is_in_that_of_programs():
    table = {(one.method.lower(), one.path): one for one in PAGES}
    for form in FORMS.values():
        assert (table[form.method, form.path].scope == OPEN) == (form.scope is None)
        assert form.scope is None or table[form.method, form.path].scope == form.scope
    assert not {one.path for one in PAGES} & {one.path for one in ENDPOINTS}


def test_who_is_not_logged_in_goes_on_where_they_wanted(shop):
    first = shop.ask("GET", f"{E}?by=time", token=None)
    where = urlsplit(first.headers["location"])
    assert (first.status_code, where.path) == (303, "/login")
    (wanted,) = parse_qs(where.query)["next"]
    form = shop.ask("GET", first.headers["location"], token=None).text
    assert f'name="next" value="{html.escape(wanted)}"' in form
    done = send(shop, "/login", {}, token=shop.secret, next=wanted)
    assert (done.status_code, done.headers["location"]) == (303, f"{E}?by=time")


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/\\evil", "", "x"])
def test_nobody_is_sent_elsewhere(shop, path):
    done = send(shop, "/login", {}, token=shop.secret, next=path)
    assert done.headers["location"] == "/"


def test_a_wrong_token_is_told_so_on_the_page(shop):
    for token, words in (
        ("varts_wrong", "This token can't be used to log in."),
        (CALLERS["public"][0], "This token can't be used to log in."),
        (CALLERS["decide"][0], "The token decide lacks the scope read."),
    ):
        answer = send(shop, "/login", {}, token=token)
        assert (answer.status_code, error_of(answer)) == (403, words)
        assert "set-cookie" not in answer.headers


def test_logging_out_ends_the_session(shop):
    done = send(shop, "/logout")
    assert (done.status_code, done.headers["location"]) == (303, "/login")
    assert "Max-Age=0" in done.headers["set-cookie"]


def test_a_form_of_a_session_that_is_over_changes_nothing(shop):
    answer = send(shop, f"{E}/stop", {}, revision="1")
    assert answer.status_code == 401
    assert error_of(answer) == "Your session has ended and nothing was changed; log in again."
    assert not shop.exp.report().state.config.stopped


def test_without_tokens_nobody_is_asked_for_one():
    with Serving("memory://", no_auth=True) as made:
        fill(made.service.store)
        made.cookie = {}
        page = see(made, E)
        assert "Log out" not in page and "Stop…" in page
        assert made.ask("GET", "/login", token=None).headers["location"] == "/"
        assert send(made, "/login", token="x").headers["location"] == "/"
        assert send(made, f"{E}/pause-arm", arm="9", revision="1").status_code == 303


def test_readers_see_no_buttons_and_lists_only_what_they_may(shop):
    varts.open("banner-1", ["a", "b"], store=shop.service.store)
    reader = {"cookie": log_in(shop, CALLERS["read"][0])}
    for path in (E, "/"):
        page = shop.ask("GET", path, token=None, headers=reader["cookie"]).text
        assert set(re.findall(r'action="(.*?)"', page)) <= {"/logout", "/"}  # log out and search
        assert 'href="/new"' not in page
    assert "Stop…" in see(shop, E)  # others do
    other = log_in(shop, CALLERS["other experiment"][0])
    page = shop.ask("GET", "/", token=None, headers=other).text
    assert "/experiments/banner-1" in page and "/experiments/price" not in page


def test_a_service_that_only_reads_has_no_buttons(shop, monkeypatch):
    assert "Stop…" in see(shop, E)
    monkeypatch.setattr(shop.service.store.engine, "read_only", True)
    assert set(re.findall(r'action="(.*?)"', see(shop, E))) == {"/logout"}
    assert send(shop, f"{E}/stop", revision="1").status_code == 403


# ------------------------------------------------------------------------------ looking


def test_the_page_of_an_experiment_is_its_report_and_history(shop):
    page = see(shop, E)
    found = shop.exp.report()
    assert f"{found.state.rewards} rewards · 0 pending" in page
    assert page.count('role="img"') == 3  # no holdout, no gain
    assert "created with 3 arms" in page and "unit-" not in page
    assert str(shop.exp._session.seed) not in page
    assert 'aria-current="true">time' in see(shop, f"{E}?by=time")
    answer = shop.ask("GET", f"{E}?by=arms", token=None, headers=shop.cookie)
    assert answer.status_code == 422 and "known: rewards, time" in answer.text


def test_the_gain_over_the_holdout_is_drawn_with_its_band(shop):
    exp = varts.open("held", ["9", "12"], store=shop.service.store, holdout=0.3)
    for start in range(0, 400, 50):
        made = exp.decide_many(50)
        exp.reward_many([(d.id, float(d.arm) + i % 7) for i, d in enumerate(made, start)])
    page = see(shop, "/experiments/held")
    assert page.count('role="img"') == 4 and 'class="band arm-0"' in page
    assert "Gain over the holdout, 95 %" in page


def test_the_page_of_an_experiment_has_the_findings_of_its_checks(shop, monkeypatch):
    monkeypatch.setattr("varts.serve.background.FREE_SECONDS", 1e9)  # read again at every look
    found = shop.exp.check()
    told = [one for one in found if one.verdict != "ok"]
    page = html.unescape(see(shop, E))
    assert told and all(one.sentence in page for one in told)
    for d in shop.exp.decide_many(200, [f"late-{i}" for i in range(200)]):
        shop.exp.reward(d.id, 50.0)  # all of them alike: others are told now
    again = [one.sentence for one in shop.exp.check() if one.verdict != "ok"]
    assert again != [one.sentence for one in told]
    assert all(sentence in html.unescape(see(shop, E)) for sentence in again)


def test_what_has_not_changed_is_not_sent_again(shop, monkeypatch):
    monkeypatch.setattr(handlers, "ago", lambda moment, now: "just now")  # it changes every second
    for path in ("/", E, f"{E}/what-if?stop_p_best=0.9"):
        see(shop, path)  # now everything has been read
        tag = shop.ask("GET", path, token=None, headers=shop.cookie).headers["etag"]
        known = {**shop.cookie, "If-None-Match": tag}
        with monkeypatch.context() as patch:  # no report is made for it
            patch.setattr(type(shop.exp), "report", None)
            patch.setattr(handlers, "report_of", None)
            answer = shop.ask("GET", path, token=None, headers=known)
            assert (answer.status_code, answer.content) == (304, b"")
        reader = {**log_in(shop, CALLERS["read"][0]), "If-None-Match": tag}
        assert shop.ask("GET", path, token=None, headers=reader).status_code == 200
    tag = shop.ask("GET", E, token=None, headers=shop.cookie).headers["etag"]
    known = {**shop.cookie, "If-None-Match": tag}
    (one,) = shop.exp.decide_many(1)
    assert "1 pending" in shop.ask("GET", E, token=None, headers=known).text
    shop.exp.reward(one.id, 3.0)
    assert "301 rewards" in shop.ask("GET", E, token=None, headers=known).text


def test_a_look_writes_nothing(shop):
    shop.exp.configure(window=0.001)
    shop.exp.decide_many(3)
    version = shop.exp.report(settle=False).state.version
    shop.loop.call_soon_threadsafe(shop.service._ticking.cancel)  # which would settle them
    for path in ("/", E):
        see(shop, path)
    assert varts.open("price", store=shop.service.store).state.version == version


def test_curves_of_a_long_log_come_later_and_say_as_of_when(shop, monkeypatch):
    monkeypatch.setattr("varts.serve.background.PATIENCE_SECONDS", 0.0)
    page = see(shop, E)
    assert "Reading the log for the charts" in page and page.count('role="img"') == 1
    until = time.monotonic() + 20
    while "Reading the log" in (page := see(shop, E)):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert page.count('role="img"') == 3 and "as of" not in page
    (one,) = shop.exp.decide_many(1)
    shop.exp.reward(one.id, 3.0)
    page = see(shop, E)
    assert "301 rewards" in page and re.search(
        r"from the log are as of <time [^>]*data-clock>20", page
    )


def test_the_list_comes_in_pages(shop, monkeypatch):
    monkeypatch.setattr(handlers, "EXPERIMENTS_PER_PAGE", 2)
    for name in ("a b", "banner", "zebra"):
        varts.open(name, ["x", "y"], store=shop.service.store)
    found, path = [], "/"
    while path:
        page = see(shop, path)
        found += re.findall(r'href="/experiments/(.*?)"', page)
        more = re.findall(r'href="(/\?after=.*?)"', page)
        path = more[0] if more else None
    assert found == ["a%20b", "banner", "price", "zebra"]
    assert "2 experiments" in see(shop, "/")


def test_the_list_knows_what_the_reports_know(shop):
    page = re.sub(r"<.*?>", " ", see(shop, "/"))
    shop.exp.decide_many(7)
    after = re.sub(r"<.*?>", " ", see(shop, "/"))
    assert re.search(r"price\s+running\s+(too early|1?\d)\s+(-|\d\d\.\d %)\s+300\s+0 ", page)
    assert re.search(r"300\s+7 ", after)


def test_what_is_not_there_is_told_on_a_page(shop):
    answer = shop.ask("GET", "/experiments/none", token=None, headers=shop.cookie)
    assert answer.status_code == 404 and "<h1>Unknown experiment</h1>" in answer.text
    assert shop.ask("GET", "/plan?plan=none").status_code == 404
    answer = shop.ask("DELETE", "/new")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_a_store_that_fails_is_told_on_a_page(shop, monkeypatch):
    def fail(*arguments):
        raise varts.live.StoreError("lost the connection to postgresql://db.internal")

    monkeypatch.setattr(shop.service.store, "glance", fail)
    answer = shop.ask("GET", E, token=None, headers=shop.cookie)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "db.internal" not in answer.text and f'href="{E}"' in answer.text


def test_files_are_kept_for_as_long_as_their_address(shop):
    page = see(shop, "/")
    for path in re.findall(r'(/static/\S+?)"', page):
        answer = shop.ask("GET", html.unescape(path), token=None)
        assert answer.content == (STATIC / urlsplit(path).path.rpartition("/")[2]).read_bytes()
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        plain = shop.ask("GET", urlsplit(path).path, token=None)
        assert plain.headers["cache-control"] == "no-cache"
        known = {"If-None-Match": plain.headers["etag"]}
        assert shop.ask("GET", urlsplit(path).path, headers=known).status_code == 304
    for path in ("/static/", "/static/..%2Fapp.py", "/static/%2e%2e", "/static/live.js%00"):
        assert shop.ask("GET", path, token=None).status_code in (400, 404)


def test_the_list_can_be_searched_page_by_page(shop, monkeypatch):
    monkeypatch.setattr(handlers, "EXPERIMENTS_PER_PAGE", 2)
    store = shop.service.store
    for name, owner in (("a", "Pricing team"), ("b", None), ("c", "pricing"), ("d", "the pricing")):
        varts.open(name, ["x", "y"], store=store, owner=owner, hypothesis="More & <b>more</b>")
    found, path = [], "/?q=PRICING+more"
    while path:
        page = see(shop, path)
        found += re.findall(r'href="/experiments/(.*?)"', page)
        more = re.findall(r'href="(/\?after=.*?)"', page)
        path = html.unescape(more[0]) if more else None
    assert found == ["a", "c", "d"]
    nothing = see(shop, "/?q=%3Cscript%3E")
    assert "No experiment has &lt;script&gt;" in nothing and "Show all" in nothing
    other = log_in(shop, CALLERS["other experiment"][0])
    hidden = shop.ask("GET", "/?q=pri", token=None, headers=other).text
    assert "/experiments/" not in hidden


def test_table_and_figures_can_be_downloaded(shop):
    page = see(shop, E)
    links = [html.unescape(one) for one in re.findall(r'href="(.*?)" download', page)]
    assert [one.partition("?")[0].rpartition("/")[2] for one in links] == [
        *("arms.csv", "means.svg", "p-best.svg", "traffic.svg", "log"),
    ]
    for link in links:
        answer = shop.ask("GET", link, token=None, headers=shop.cookie)
        assert answer.status_code == 200, link
        if "/files/" in link:
            kind = answer.headers["content-disposition"]
            assert kind.startswith("attachment; filename*=UTF-8''price-")
    table = shop.ask("GET", links[0], token=None, headers=shop.cookie).text
    rows = list(csv.DictReader(io.StringIO(table)))
    found = shop.exp.report()
    assert [row["arm"] for row in rows] == found.ranking["arm"].to_list()
    assert [float(row["p_best"]) for row in rows] == found.ranking["p_best"].to_list()
    assert len(shop.ask("GET", links[-1], token=None, headers=shop.cookie).text.splitlines()) == 300
    for wrong in ("gain.svg", "arms.svg", "means.csv", "..%2Farms.csv"):
        assert shop.ask("GET", f"{E}/files/{wrong}").status_code == 404
    assert shop.ask("GET", f"{E}/files/means.svg?by=x").status_code == 422


# ------------------------------------------------------------------------------ changing


def revision_of(page):
    (found,) = set(re.findall(r'name="revision" value="([-\w]+)"', page))
    return found


def test_changes_have_an_author_a_reason_and_their_own_page_again(shop):
    for path, fields, kind in (
        ("pause-arm", {"arm": "9"}, "pause-arm"),
        ("resume-arm", {"arm": "9"}, "resume-arm"),
        ("add-arm", {"arm": " 18 "}, "add-arm"),
        ("configure", {"floor": "0.02", "stop_p_best": "0.9"}, "configure"),
        ("stop", {"winner": "arm:12"}, "stop"),
        ("restart", {}, "restart"),
        ("stop", {"winner": "none"}, "stop"),
    ):
        revision = revision_of(see(shop, E))
        why = f"because of {path}"
        done = send(shop, f"{E}/{path}", revision=revision, why=why, **fields)
        assert (done.status_code, done.headers["location"]) == (303, E), done.text
        last = shop.exp.changes()[-1]
        assert (last.kind, last.by, last.why) == (kind, "operator", why)
        assert why in see(shop, E)
    config = shop.exp.report().state.config
    assert config.arms == ("9", "12", "15", "18") and config.stopped and config.winner is None
    assert (config.options.floor, config.options.stop_p_best) == (0.02, 0.9)
    audit = [line for line in shop.log if line["event"] == "change"]
    assert [line["verb"] for line in audit][:3] == ["pause", "resume", "add"]
    assert audit[0]["token"] == "operator" and audit[0]["why"] == "because of pause-arm"


def test_a_page_that_is_out_of_date_changes_nothing(shop):
    revision = revision_of(see(shop, E))
    assert send(shop, f"{E}/pause-arm", arm="9", revision=revision).status_code == 303
    late = send(shop, f"{E}/stop", winner="arm:15", revision=revision, why="too late")
    assert late.status_code == 412
    assert error_of(late).startswith("Somebody changed the experiment")
    assert revision_of(late.text) != revision and "<h1>price</h1>" in late.text
    assert not shop.exp.report().state.config.stopped
    again = send(shop, f"{E}/stop", winner="arm:15", revision=revision_of(late.text))
    assert again.status_code == 303 and shop.exp.report().state.config.winner == 2


def test_what_is_refused_is_told_above_the_same_page(shop):
    revision = revision_of(see(shop, E))
    for path, fields, words in (
        ("add-arm", {"arm": "9"}, "Arm must be a new name, got '9'."),
        ("pause-arm", {"arm": "10"}, "Unknown arm '10'; known: 9, 12, 15."),
        ("configure", {"floor": "0.5"}, "Floor must be "),
        ("configure", {"floor": "many"}, "Floor must be "),
        ("stop", {"winner": "arm:99"}, "Unknown arm '99'; "),
        ("stop", {"winner": ""}, "Winner must be an arm or none, got ''"),
        ("stop", {}, "Winner must be an arm or none, got ''"),
        ("stop", {"winner": "12"}, "Winner must be an arm or none, got '12'"),
    ):
        answer = send(shop, f"{E}/{path}", revision=revision, **fields)
        assert answer.status_code == 422 and error_of(answer).startswith(words)
        assert revision_of(answer.text) == revision
    kept = send(shop, f"{E}/configure", revision=revision, floor="many", stop_loss="0.25")
    assert 'value="many"' in kept.text and 'value="0.25"' in kept.text
    for wrong in ("", "r1", "-1", "1.0", "١", "9" * 30):
        answer = send(shop, f"{E}/stop", revision=wrong)
        assert answer.status_code == 422 and "Revision must be" in error_of(answer)
    assert not shop.exp.report().state.config.stopped


NEW = {
    "name": "shipping",
    "arms": "free\r\n 4.90 \r\n\r\n",
    "goal": "min",
    "knowledge": "words",
    "mean": "12",
    "mean_sd": "2",
    "reward_sd": "8",
    "worth": "20",
    "floor": "0.1",
    "hash_units": "on",
}


def test_an_experiment_is_made_with_a_prior_in_words(shop):
    done = send(shop, "/new", **NEW)
    assert (done.status_code, done.headers["location"]) == (303, "/experiments/shipping")
    made = varts.open("shipping", store=shop.service.store)
    assert made.arms == ["free", "4.90"] and made.options.goal == "min"
    assert made.options.floor == 0.1 and made.options.hash_units
    assert made.options.prior == {"mu": 12.0, "kappa": 16.0, "alpha": 11.0, "beta": 640.0}
    assert [line["verb"] for line in shop.log if line["event"] == "change"] == ["create"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "price"}, "Name must be new, got that of the existing experiment 'price'."),
        ({"name": "a/b"}, "Name must be letters, digits, dots and dashes, at most 100, got 'a/b'."),
        ({"arms": ""}, "Arms must "),
        ({"arms": "a\na"}, "Arms must "),
        ({"floor": "9"}, "Floor must "),
        ({"worth": "-1"}, "Worth must "),
        ({"mean": "much"}, "Mean must be a number, got 'much'."),
    ],
)
def test_a_new_experiment_that_cannot_be_is_refused_with_what_was_typed(shop, changed, words):
    answer = send(shop, "/new", **{**NEW, **changed})
    assert answer.status_code == 422 and error_of(answer).startswith(words)
    assert 'value="20"' in answer.text or "worth" in changed
    assert shop.service.store.names() == ["price"]


def test_nobody_makes_an_experiment_that_their_token_is_not_for(shop):
    cookie = log_in(shop, CALLERS["other experiment"][0])
    answer = send(shop, "/new", cookie, **NEW)
    assert error_of(answer) == "The token other is not for the experiment 'shipping'."
    assert send(shop, "/new", cookie, **{**NEW, "name": "banner-2"}).status_code == 303


def test_a_picture_of_the_prior(shop):
    words = "mean=12&mean_sd=2&reward_sd=8&worth=20"
    answer = shop.ask("GET", f"/prior.svg?{words}")
    assert answer.headers["content-type"] == "image/svg+xml" and "from 9.5 to 14.5" in answer.text
    assert shop.ask("GET", "/prior.svg?mean=12").status_code == 400


# ------------------------------------------------------------------------------ asking


def settled(serving, path):
    """A page, once what it waits for is there."""
    until = time.monotonic() + 200  # a plan may have to compile
    while 'http-equiv="refresh"' in (page := see(serving, path)):
        assert time.monotonic() < until
        time.sleep(0.1)
    return page


def test_what_would_have_happened(shop):
    page = settled(shop, f"{E}/what-if?play=arm:12&against=even")
    expected = shop.exp.evaluate(varts.always("12"), varts.EvenSplit())
    (said,) = re.findall(r'class="answer">(.*?)</p>', page)
    places = re.search(r": (\S+) \[", html.unescape(said))[1]
    headline = expected.estimates[expected.headline].value
    assert abs(float(places) - headline) < 0.01
    page = settled(shop, f"{E}/what-if?stop_p_best=0.5")
    assert "P(best) of 0.5 was first reached after" in page
    for query, words in (
        ("play=arm:99", "99"),
        ("play=odd", "Unknown play 'odd'; "),
        ("stop_p_best=2", "Stop_p_best must "),
        (
            "stop_p_best=0.9&stop_loss=1",
            "One of stop_p_best and stop_loss must be given, got both.",
        ),
    ):
        answer = shop.ask("GET", f"{E}/what-if?{query}", token=None, headers=shop.cookie)
        assert answer.status_code == 422 and words in error_of(answer)


def test_a_plan_in_days_is_made_by_a_form(shop):
    typed = {"mean": "12", "mean_sd": "2", "reward_sd": "8", "worth": "20", "arms": "2"}
    days = {"traffic": "100/day", "days": "3", "window": "1d", "stop_p_best": "0.9"}
    begun = send(shop, "/plan", **typed, **days)
    path = begun.headers["location"]
    assert begun.status_code == 303 and "traffic=100%2Fday" in path
    page = settled(shop, path)
    assert "stop after about" in page and "The first rewards take 1 day to settle" in page
    for wrong in ({"traffic": "100/dya"}, {"window": "4d"}, {"traffic": "1e8/day"}, {"days": ""}):
        assert send(shop, "/plan", **{**typed, **days, **wrong}).status_code == 422


def test_a_plan_is_made_while_one_looks_at_its_page(shop):
    typed = {"mean": "12", "mean_sd": "2", "reward_sd": "8", "worth": "20", "goal": "max"}
    begun = send(shop, "/plan", arms="9\r\n12", horizon="30", **typed)
    path = begun.headers["location"]
    assert begun.status_code == 303 and path.startswith("/plan?mean=12&")
    first = see(shop, path)
    assert "<progress" in first and 'http-equiv="refresh"' in first
    other = send(shop, "/plan", arms="3", horizon="30", **typed).headers["location"]
    assert "<progress" in see(shop, other) and "waiting for other work" in see(shop, other)
    page = settled(shop, path)
    assert "What to expect" in page and 'id="chart-regret"' in page
    assert "<progress" not in page
    for wrong, words in (
        ({"horizon": "1e9"}, "Horizon must be a whole number >= 1 and <= 100000"),
        ({"horizon": "soon"}, "Horizon must be a whole number >= 1, got 'soon'."),
        ({"arms": "5000"}, "Arms must be "),
        ({"worth": ""}, "Worth must be a number, got ''."),
    ):
        answer = send(shop, "/plan", **{"arms": "3", "horizon": "30", **typed, **wrong})
        assert answer.status_code == 422 and error_of(answer).startswith(words), answer.text

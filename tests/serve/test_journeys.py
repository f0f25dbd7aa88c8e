"""What people do with the pages of a real service, in a browser: with script and without it, in
light and dark, on a desk and on a phone. Nothing may be said on the console, and nothing be asked
of another host."""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from tests.serve.browser import axe, launch
from tests.serve.processes import serve
from varts.serve.security import CONTENT_POLICY
from varts.serve.tokens import new_token

pytestmark = pytest.mark.no_cover

NAME = "varts.test"  # of this machine, in this browser
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}
PATHS = (
    "/",
    "/experiments/price",
    "/experiments/price?by=time",
    "/?q=price",
    "/experiments/price/what-if?stop_p_best=0.5",
    "/new",
    "/plan",
    "/login",
    "/experiments/none",
)


@pytest.fixture(scope="module")
def browser():
    started, stop = launch(f"--host-resolver-rules=MAP {NAME} 127.0.0.1")
    yield started
    started.close()
    stop()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serve(tmp_path_factory.mktemp("journeys"), store="sqlite:///varts.db") as made:
        yield made


class Person:
    """Somebody at a browser, who notes what its console says and which hosts it asks."""

    def __init__(self, browser, service, script=True, **look):
        self.service, self.script = service, script
        self.context = browser.new_context(java_script_enabled=script, **look)
        self.context.set_default_timeout(10_000)
        self.said, self.foreign = [], []
        self.page = self.tab()

    def tab(self):
        """Another page of the same browser."""
        page = self.context.new_page()
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", self.note)
        return page

    def note(self, request):
        if urlsplit(request.url).netloc != urlsplit(self.service.address).netloc:
            self.foreign.append(request.url)

    def log_in(self):
        page = self.page
        page.goto(f"{self.service.address}/login")
        page.fill("input[name=token]", self.service.token)
        page.click("main button")
        page.wait_for_url(f"{self.service.address}/")

    def go(self, path, page=None):
        return (page or self.page).goto(self.service.address + path)

    def act(self, title, button, page=None, fill=None, choose=None):
        """Open what a button asks first, fill it in, and say yes."""
        page = page or self.page
        page.locator("summary", has_text=title).first.click()
        sheet = page.locator("dialog[open]" if self.script else "details.action[open]")
        for name, value in (fill or {}).items():
            sheet.locator(f"[name={name}]").fill(value)
        if choose is not None:
            sheet.locator("select").select_option(choose)
        with page.expect_navigation():
            sheet.locator("button", has_text=button).click()

    def reads(self, selector, words, page=None):
        """Wait until a part of the page has these words, which may be after a refresh."""
        page = page or self.page
        part = page.locator(selector, has_text=re.compile(words)).first
        if self.script:
            part.wait_for(timeout=30_000)
            return
        until = time.monotonic() + 30
        while not part.count():
            assert time.monotonic() < until
            time.sleep(0.5)
            page.reload()


@contextmanager
def person(browser, service, expected=(), **options):
    """Somebody, who must meet no complaint but the expected ones."""
    made = Person(browser, service, **options)
    yield made
    made.context.close()
    said = [text for text in made.said if not any(words in text for words in expected)]
    assert said == [] and made.foreign == []


def visit(service, name, visitors, start=0):
    """Visitors decide and reward over HTTP; what they pay grows with the number of their arm."""
    rng = np.random.default_rng(start)
    where = f"{service.address}/v1/experiments/{name}"
    with httpx.Client(headers=service.headers) as http:
        asked = {"decisions": [{"id": f"{name}-{start + i}"} for i in range(visitors)]}
        made = http.post(f"{where}/decisions", json=asked).raise_for_status().json()["decisions"]
        paid = [
            {"id": one["id"], "value": float(one["arm"]) * float(rng.random() < 0.4)}
            for one in made
        ]
        http.post(f"{where}/rewards", json={"rewards": paid}).raise_for_status()


@pytest.fixture(scope="module")
def price(service):
    """An experiment to look at."""
    httpx.put(
        f"{service.address}/v1/experiments/price",
        headers=service.headers,
        json={
            "arms": ["9", "12", "15"],
            "floor": 0.05,
            "holdout": 0.1,
            "stop_p_best": 0.99,
            "control": "9",
            "owner": "pricing",
            "hypothesis": "12 earns more than 9",
        },
    ).raise_for_status()
    visit(service, "price", 300)
    return service


def test_the_printed_link_lets_one_in_once(browser, service):
    with person(browser, service, expected=("403 (Forbidden)",)) as somebody:
        page = somebody.page
        answer = page.goto(service.link)
        assert urlsplit(page.url).path == "/" and page.inner_text("h1") == "Experiments"
        assert answer.headers["content-security-policy"] == CONTENT_POLICY
        page.click("text=Log out")
        page.wait_for_url("**/login")
        assert page.goto(service.link).status == 403
        assert "used before" in page.inner_text("main")
        somebody.go("/experiments/price?by=time")
        assert urlsplit(page.url).path == "/login"


@pytest.mark.when_changed("src/varts/serve", except_for=["script"])
@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_whole_experiment(browser, service, script):
    """Create it in words, watch it learn, pause, add, stop with a winner, and go on."""
    name = "with-script" if script else "without-script"
    with person(browser, service, script=script) as somebody:
        page = somebody.page
        somebody.log_in()
        page.click("nav >> text=New")
        page.fill("#create-name", name)
        page.fill("#create-arms", "9\n12\n15")
        if not script:
            page.check("input[name=knowledge][value=words]")
        for field, value in (("mean", "5"), ("mean_sd", "2"), ("reward_sd", "6"), ("worth", "20")):
            page.fill(f"#create-{field}", value)
        if script:
            page.locator("[data-picture] svg").wait_for()
            assert page.is_checked("input[name=knowledge][value=words]")
        page.click("summary >> text=Traffic")
        page.fill("#create-floor", "0.05")
        page.click("text=Create the experiment")
        page.wait_for_url(f"**/experiments/{name}")
        assert " 0 rewards" in page.inner_text("#meta")

        page.evaluate("window.here = true") if script else None
        visit(service, name, 200)
        somebody.reads("#meta", "200 rewards")
        if script:
            assert page.evaluate("window.here") is True  # it was not loaded again
        somebody.reads("#chart-traffic .said", "went to")

        somebody.act("Pause…", "Pause", fill={"why": "out of stock"})
        somebody.reads("#arms", "paused")
        somebody.act("Add an arm…", "Add the arm", fill={"arm": "18", "why": "asked by sales"})
        assert page.locator("table.arms th[scope=row]", has_text="18").count() == 1
        visit(service, name, 50, start=1000)
        somebody.act("Stop…", "Stop the experiment", fill={"why": "done"}, choose="arm:12")
        assert "12 for everybody" in page.inner_text("#meta")
        assert page.locator("text=Pause…").count() == 0
        somebody.act("Restart…", "Restart the experiment", fill={"why": "not done"})
        history = page.inner_text("#history")
        for words in ("out of stock", "added 18", "stopped, 12 for everybody", "not done"):
            assert words in history
        assert history.count("operator") == 4
        assert "running" in page.inner_text("#meta")


@pytest.mark.when_changed("src/varts/serve")
@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_the_second_of_two_tabs_is_told_that_somebody_was_first(browser, price, script):
    # The browser notes that a page came with the status 412.
    with person(browser, price, script=script, expected=("412 (Precondition Failed)",)) as somebody:
        somebody.log_in()
        first, second = somebody.page, somebody.tab()
        for tab in (first, second):
            somebody.go("/experiments/price", tab)
        somebody.act("Pause…", "Pause", page=first)
        somebody.act("Stop…", "Stop the experiment", page=second, choose="arm:9")
        assert "Somebody changed the experiment" in second.inner_text("[role=alert]")
        assert "running" in second.inner_text("#meta")
        somebody.act("Resume…", "Resume", page=second)  # its page is a fresh one
        assert second.locator("[role=alert]").count() == 0


@pytest.mark.when_changed("src/varts/serve")
def test_a_plan_without_script(browser, price):
    with person(browser, price, script=False) as somebody:
        somebody.log_in()
        page = somebody.page
        somebody.go("/plan")
        for field, value in (("mean", "5"), ("mean_sd", "2"), ("reward_sd", "6"), ("worth", "20")):
            page.fill(f"#plan-{field}", value)
        page.fill("#plan-horizon", "30")
        page.click("main button.main")
        page.locator("#chart-regret").wait_for(timeout=120_000)  # by its own refreshes
        assert "What to expect" in page.inner_text("main")


@pytest.mark.when_changed("src/varts/serve")
def test_forms_work_where_browsers_do_not_say_which_site_they_are_from(browser, tmp_path):
    """Over plain http by an address, they send no Sec-Fetch-Site; the origin must do."""
    secret, entry = new_token("ops", ["admin"])
    file = tmp_path / "tokens.toml"
    file.write_text(entry.to_toml())
    with serve(tmp_path, "--token-file", str(file), "--public-url", f"http://{NAME}") as service:
        service.address = f"http://{NAME}:{urlsplit(service.address).port}"
        service.token = secret
        # The browser notes that one of the headers is for safe connections alone.
        with person(browser, service, expected=("Cross-Origin-Opener-Policy",)) as somebody:
            seen = []
            somebody.page.on("request", lambda request: seen.append(request.all_headers()))
            somebody.log_in()
            assert seen and not any("sec-fetch-site" in headers for headers in seen)


@pytest.mark.when_changed("src/varts/serve")
@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_use_every_page(browser, price, look):
    script = axe()
    expected = ("404 (Not Found)",)  # of the experiment that is not there
    with person(browser, price, expected=expected, **LOOKS[look]) as somebody:
        somebody.log_in()
        found = {}
        for path in PATHS:
            somebody.go(path)
            broken = violations(somebody.page, script)
            if broken:
                found[path] = broken
            assert (
                somebody.page.evaluate("document.documentElement.scrollWidth")
                <= (LOOKS[look]["viewport"]["width"])
            )
        assert found == {}


@pytest.mark.when_changed("src/varts/serve")
def test_axe_finds_what_is_broken(browser, price):
    """Negative control: a field without a label, and words that nobody can read."""
    with person(browser, price) as somebody:
        somebody.log_in()
        somebody.page.evaluate(
            "document.querySelector('main').innerHTML = '<h1>x</h1><input name=a>'"
        )
        assert [one["id"] for one in violations(somebody.page, axe())] == ["label"]


def violations(page, script):
    """What axe-core finds wrong with a page."""
    page.evaluate(script)
    found = page.evaluate("axe.run().then((found) => JSON.stringify(found.violations))")
    return [
        {"id": one["id"], "where": [node["html"][:200] for node in one["nodes"]]}
        for one in json.loads(found)
    ]

"""What live.js does, in a browser, under the policy that the service sets: pages that refresh
themselves and never what one is reading, dialogs, the picture of a prior; and all without it."""

from __future__ import annotations

from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from tests.serve.browser import launch
from tests.serve.scenes import ADMIN, NOW, shop
from varts.serve.web import STATIC, experiment, plan
from varts.serve.web.experiment import describe_changes

HOST = "http://varts.test"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@pytest.fixture(scope="module")
def browser():
    started, stop = launch()
    yield started
    started.close()
    stop()


@pytest.fixture(scope="module")
def exp():
    return shop(rounds=400, batches=8)


class Site:
    """A service of one page, which notes what it is asked for."""

    def __init__(self, browser, **context):
        self.context = browser.new_context(**context)
        self.context.set_default_timeout(5000)
        self.page = self.context.new_page()
        self.html, self.tag, self.asked, self.sent, self.said = "", '"1"', [], [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.route("**/*", self.answer)

    def answer(self, route, request):
        url = urlsplit(request.url)
        assert request.url.startswith(HOST), f"a foreign request: {request.url}"
        if request.method == "POST":
            self.sent.append((url.path, dict(parse_qsl(request.post_data or ""))))
            return route.fulfill(status=200, body="<!doctype html><title>done</title>")
        if url.path.startswith("/static/"):
            file = STATIC / url.path.removeprefix("/static/")
            return route.fulfill(body=file.read_bytes(), content_type=TYPES[file.suffix])
        self.asked.append(request.url)
        if url.path == "/prior.svg":
            words = {name: values[0] for name, values in parse_qs(url.query).items()}
            try:
                return route.fulfill(body=plan.prior_svg(words), content_type="image/svg+xml")
            except ValueError:
                return route.fulfill(status=400, body="")
        if request.headers.get("if-none-match") == self.tag:
            return route.fulfill(status=304)
        headers = {"Content-Security-Policy": POLICY, "ETag": self.tag}
        return route.fulfill(body=self.html, content_type="text/html", headers=headers)

    def show(self, html):
        self.html = html
        self.page.clock.install()
        self.page.goto(f"{HOST}/experiments/price")
        self.asked.clear()

    def wait(self, seconds):
        """Let time pass in the page, and the answers arrive."""
        self.page.clock.run_for(1000 * seconds)
        self.page.wait_for_timeout(150)


@pytest.fixture
def site(browser):
    made = Site(browser)
    yield made
    said = [text for text in made.said if "400 (Bad Request)" not in text]  # a prior that is none
    made.context.close()
    assert said == []


def page_of(exp, rewards=None):
    made, history, gain = exp
    found = made.report()
    html = experiment.page(ADMIN, found, revision=7, now=NOW, history=history, gain=gain)
    return html if rewards is None else html.replace("400 rewards", f"{rewards} rewards")


def test_numbers_change_without_a_reload(site, exp):
    site.show(page_of(exp))
    site.page.evaluate("window.here = true")
    site.html, site.tag = page_of(exp, "401"), '"2"'
    assert "400 rewards" in site.page.inner_text("#meta")
    site.wait(5.5)
    assert "401 rewards" in site.page.inner_text("#meta")
    assert site.page.evaluate("window.here") is True
    assert set(site.asked) == {f"{HOST}/experiments/price"}


@pytest.mark.when_changed("src/varts/serve")
def test_it_asks_less_and_less_while_nothing_changes(site, exp):
    site.show(page_of(exp))
    for _ in range(35):
        site.wait(5)
    # After 5, 15, 35, 75 and 135 s, then every 60: the first has no tag and finds nothing new.
    assert 4 <= len(site.asked) <= 6


@pytest.mark.when_changed("src/varts/serve")
def test_what_one_reads_is_left_alone_and_changed_later(site, exp):
    site.show(page_of(exp))
    site.page.click("#chart-means summary")
    opened = site.page.inner_text("#chart-means .said")
    site.html, site.tag = page_of(exp, "401").replace("the dot is the median", "it moved"), '"2"'
    site.wait(5.5)
    assert "401 rewards" in site.page.inner_text("#meta")  # the rest goes on
    assert site.page.inner_text("#chart-means .said") == opened
    site.page.click("#chart-means summary")
    site.page.evaluate("document.activeElement.blur()")
    site.wait(61)
    assert "it moved" in site.page.inner_text("#chart-means .said")


def test_selected_text_is_left_alone(site, exp):
    site.show(page_of(exp))
    site.page.evaluate("getSelection().selectAllChildren(document.getElementById('meta'))")
    site.html, site.tag = page_of(exp, "401"), '"2"'
    site.wait(5.5)
    assert "400 rewards" in site.page.inner_text("#meta")


def test_a_service_that_is_gone_is_said(site, exp):
    site.show(page_of(exp))
    site.page.unroute("**/*")
    site.page.route("**/*", lambda route: route.abort())
    site.wait(5.5)
    assert "doesn't respond" in site.page.inner_text(".live-state")
    site.said.clear()  # the browser notes the failed request


def test_a_dialog_asks_and_can_be_cancelled(site, exp):
    site.show(page_of(exp))
    site.page.click("text=Stop…")
    dialog = site.page.locator("dialog[open]")
    assert "Only a restart undoes this." in dialog.inner_text()
    dialog.locator("text=Cancel").click()
    site.page.locator("dialog").wait_for(state="detached")
    assert site.sent == []
    assert site.page.evaluate("document.activeElement.textContent") == "Stop…"
    site.page.click("text=Stop…")
    site.page.fill("dialog input[name=why]", "asked by finance")
    site.page.click(
        "dialog button.danger"
    )  # nothing is chosen yet, and the browser shows a message
    assert site.sent == [] and site.page.locator("dialog select:invalid").count() == 1
    site.page.select_option("dialog select", "arm:12")
    site.page.click("dialog button.danger")
    site.page.wait_for_url("**/stop")
    wanted = {"revision": "7", "winner": "arm:12", "why": "asked by finance"}
    assert site.sent == [("/experiments/price/stop", wanted)]


def test_times_are_local_and_do_not_count_as_changes(browser, exp):
    site = Site(browser, timezone_id="America/New_York", locale="en-US")
    exp.exp.configure(stop_p_best=0.98)
    changes = describe_changes(exp.exp.changes())
    made, history, gain = exp
    html = experiment.page(
        ADMIN, made.report(), revision=7, now=NOW, history=history, gain=gain, by="time",
        changes=[one._replace(time=NOW) for one in changes],
    )  # fmt: skip
    site.show(html)
    shown = site.page.locator("#history time[data-clock]").first
    assert shown.inner_text().replace("\u202f", " ") == "Nov 16, 2026, 7:00 AM"  # noon in UTC
    assert shown.get_attribute("title") == "2026-11-16 12:00 UTC"
    table = site.page.locator("#chart-p-best tbody th time").last
    assert "Nov 16, 2026" in table.text_content()
    site.page.evaluate("document.querySelector('#history').mark = true")
    site.tag = '"2"'
    site.wait(5.5)
    assert site.page.evaluate("document.querySelector('#history').mark")  # it wasn't replaced
    site.context.close()


def test_escape_closes_a_dialog(site, exp):
    site.show(page_of(exp))
    site.page.click("text=Pause… >> nth=0")
    assert site.page.locator("dialog[open]").count() == 1
    site.page.keyboard.press("Escape")
    site.page.locator("dialog").wait_for(state="detached")
    assert site.sent == []


def test_the_picture_follows_what_is_typed(site):
    site.show(plan.create_page(ADMIN))
    for name, value in (("mean", "12"), ("mean_sd", "2"), ("reward_sd", "8"), ("worth", "20")):
        site.page.fill(f"#create-{name}", value)
    site.wait(0.5)
    assert "from 9.5 to 14.5" in site.page.inner_text("[data-said]")
    assert site.page.is_checked("input[name=knowledge][value=words]")
    site.page.fill("#create-mean", "112")
    site.wait(0.5)
    assert "from 109.5 to 114.5" in site.page.inner_text("[data-said]")
    assert site.page.locator("[data-picture] .hill").count() == 2
    site.page.fill("#create-worth", "-1")
    site.wait(0.5)
    assert "don't make a prior" in site.page.inner_text("[data-said]")


def test_everything_works_without_script(browser, exp):
    site = Site(browser, java_script_enabled=False)
    site.html = page_of(exp)
    site.page.goto(f"{HOST}/experiments/price")
    site.page.click("text=Pause… >> nth=0")
    first = exp.exp.report().ranking["arm"][0]
    site.page.click(f"text=Pause {first} >> visible=true")
    site.page.wait_for_url("**/pause-arm")
    assert site.sent == [("/experiments/price/pause-arm", {"revision": "7", "arm": first})]
    site.context.close()


@pytest.mark.when_changed("src/varts/serve", except_for=["light"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone(browser, exp, scheme):
    site = Site(browser, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    for html in (page_of(exp), plan.create_page(ADMIN)):
        site.show(html)
        wide = site.page.evaluate("document.documentElement.scrollWidth")
        assert wide == 390
        ground = site.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(20, 23, 26)") == (scheme == "dark")
    site.context.close()

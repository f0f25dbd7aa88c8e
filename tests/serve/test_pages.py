"""Pages without a browser: whole, labelled, harmless, and true to what they are given."""

import io
import re
from datetime import timedelta
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import varts
from tests.serve.scenes import ADMIN, BUYS, NOW, READER, played, price_paid, shop
from varts.live.options import Options
from varts.live.report.earned import conversions, total_rewards
from varts.live.report.text import (
    amount,
    arm_cells,
    gain_text,
    lift_text,
    main_comparison,
    percentage,
)
from varts.serve.web import (
    FORMS,
    STATIC,
    Actor,
    experiment,
    listing,
    plan,
    what_if,
)
from varts.serve.web.experiment import describe_changes
from varts.serve.web.forms import (
    FLAGS,
    GROUPS,
    LABELS,
    NOT_CONFIGURED,
    SHOWN,
    policies,
    read_new,
    read_options,
    read_plan,
    read_plan_in_days,
    read_target,
    read_winner,
    typed_options,
)
from varts.serve.web.listing import Listed
from varts.serve.web.render import login_page, refusal_page, standalone

NASTY = "<script>alert(1)</script>"
WORDS = {"mean": "12", "mean_sd": "2", "reward_sd": "8", "worth": "20"}
VOID = {"br", "meta", "link", "input"}


class Page(HTMLParser):
    """A page taken apart: elements must close in the order in which they were opened."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.all, self.texts, self.forms = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert len(given) == len(attrs), f"an attribute of {tag} stands there twice"
        self.all.append((tag, given, list(self.open)))
        if tag == "form":
            self.forms.append({"given": given, "names": set()})
        elif tag in ("input", "select", "textarea") and any(t == "form" for t, _ in self.open):
            self.forms[-1]["names"].add(given["name"])
        if tag not in VOID:
            self.open.append((tag, given))

    def handle_startendtag(self, tag, attrs):
        self.all.append((tag, dict(attrs), list(self.open)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, tag):
        return [given for name, given, _ in self.all if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def checked(html):
    """What holds for every page."""
    page = Page(html)
    assert html.startswith("<!doctype html>")
    assert page.named("html") == [{"lang": "en"}]
    assert len(page.named("title")) >= 1 and len(page.named("h1")) == 1
    assert len(page.named("main")) == 1
    assert any(given.get("class") == "skip" for given in page.named("a"))
    ids = [given["id"] for _, given, _ in page.all if "id" in given]
    assert len(ids) == len(set(ids))
    labelled = {given["for"] for given in page.named("label") if "for" in given}
    assert labelled <= set(ids)
    for tag, given, around in page.all:
        assert "style" not in given, "inline styles are against the policy"
        assert not any(name.startswith("on") for name in given)
        for name in ("href", "src", "action", "formaction"):
            assert given.get(name, "/")[0] in "/#", "nothing is asked of another host"
            assert not given.get(name, "/").startswith("//")
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(given.get(name, "").split()) <= set(ids)
        if tag in ("input", "select", "textarea") and given.get("type") != "hidden":
            inside = any(name == "label" for name, _ in around)
            assert inside or given["id"] in labelled, given
        if tag == "svg":
            hidden = given.get("aria-hidden") == "true"
            assert hidden or (given["role"] == "img" and given["aria-labelledby"] in ids)
        if tag == "script":
            assert given["src"].startswith("/static/")
        assert tag != "style"
    assert len(page.named("table")) == len(page.named("caption"))
    for tag, given, _ in page.all:
        if tag == "th":
            assert given["scope"] in ("col", "row")
        if tag == "form":
            known = [form for form in FORMS.values() if matches(form, given)]
            assert known, given
            assert given["method"] in ("post", "get")
    for form in page.forms:
        fields = [set(one.fields) for one in FORMS.values() if matches(one, form["given"])]
        assert any(form["names"] <= each for each in fields), form
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ElementTree.fromstring(svg)
    for figure in re.findall(r"<figure.*?</figure>", html, re.DOTALL):
        assert ("<svg" in figure) == ("<table" in figure), "a picture has its numbers beside it"
        assert '<p class="said">' in figure
    assert "<script>" not in html
    return page


def matches(form, given):
    pattern = re.escape(form.path).replace(r"\{name\}", "[^/]+")
    return form.method == given["method"] and re.fullmatch(pattern, given["action"])


def experiment_page(exp, history=None, gain=None, viewer=ADMIN, **given):
    found, seen = exp.report(), {"history": history, "gain": gain}
    return experiment.page(viewer, found, revision=7, now=NOW, **seen, **given)


@pytest.fixture(scope="module")
def shop_scene():
    return shop(rounds=800, batches=16)


# ------------------------------------------------------------------------------ one experiment


def test_the_page_of_an_experiment_shows_what_the_report_says(shop_scene):
    exp = shop_scene.exp
    found = exp.report()
    page = checked(experiment_page(*shop_scene, checks=exp.check()))
    for row in arm_cells(found, percent=True):
        assert [cell for cell in (row.arm, *row[2:]) if cell not in page.text] == []
    assert found.because in page.text and found.certainty[1:] in page.text
    assert f"{found.state.rewards:,} rewards" in page.text
    for title in (
        *("What each arm earns", "Chance of being best", "Who gets the traffic"),
        "Gain over the holdout",
    ):
        assert title in page.text
    assert len([given for given in page.named("svg") if given.get("role") == "img"]) == 4
    assert {given["value"] for given in page.named("input") if given["name"] == "revision"} == {"7"}


def test_buttons_are_for_admins(shop_scene):
    exp, history, _ = shop_scene
    asked = {given["action"] for given in checked(experiment_page(exp, history)).named("form")}
    assert asked == {
        "/logout",
        *(f"/experiments/price/{verb}" for verb in ("pause-arm", "add-arm", "configure", "stop")),
    }
    page = checked(experiment_page(exp, history, viewer=READER))
    assert {given["action"] for given in page.named("form")} == {"/logout"}
    assert "New" not in page.text


def test_confirmations_say_what_they_do(shop_scene):
    text = checked(experiment_page(*shop_scene)).text
    assert "Only a restart undoes this." in text and "Resume undoes this." in text


def test_a_met_stop_rule_offers_its_winner():
    exp, history, _ = shop(rounds=2000, batches=2)
    found = exp.report()
    assert found.stop and found.winner == "12"
    html = experiment_page(exp, history)
    assert "The stop rule is met" in html and "Stop with 12" in html
    assert '<input type="hidden" name="winner" value="arm:12">' in html


def test_what_is_said_of_the_gain_is_the_report_s_own(shop_scene):
    exp, history, gain = shop_scene
    said = str(exp.report().gain)
    for band in (gain, None):
        html = experiment_page(exp, history, band)
        assert said[1:] in html and "So far +" not in html
    without = played(["a", "b"], lambda arm, rng: rng.random(), 40, batches=4)
    assert without.gain is None and without.exp.report().gain is None
    assert "There is no holdout to compare with." in experiment_page(*without)


def test_metrics_and_broken_guards():
    options = {"metrics": ["refund"], "guards": {"refund": ("below", 0.05)}}
    exp = varts.open("price", ["a", NASTY], store="memory://", **options)
    for i, one in enumerate(exp.decide_many(ids=[f"v{i}" for i in range(200)])):
        exp.reward(one.id, float(i % 3), refund=float(i % 2))
    found = exp.report()
    assert found.guards
    page = checked(experiment_page(exp))
    assert "Refund." in page.text and "Guardrail: below 0.05" in page.text
    for broken in found.guards:
        assert broken.rstrip(".")[1:] in page.text


@pytest.mark.parametrize("by", ["rewards", "time"])
def test_axes_are_rewards_or_times(shop_scene, by):
    html = experiment_page(*shop_scene, by=by)
    checked(html)
    assert f'?by={by}" aria-current="true"' in html
    assert ("time, UTC" in html) == (by == "time")


def test_an_unknown_axis_is_refused(shop_scene):
    with pytest.raises(ValueError, match=r"unknown by 'tim'; did you mean 'time'\?"):
        experiment_page(*shop_scene, by="tim")


@pytest.mark.parametrize("goal", ["max", "min"])
def test_arms_may_have_any_name(goal):
    arms = [NASTY, "quo\"te's & <b>", "right\u202eto left", "é" * 200]
    exp, history, _ = played(
        arms, lambda arm, rng: rng.normal(len(arm), 1), 80, batches=4, goal=goal
    )
    html = experiment_page(exp, history)
    page = checked(html)
    assert NASTY in page.text and "\u202e" not in html
    assert ("goal: minimize" in page.text) is (goal == "min")
    sent = [given["value"] for given in page.named("input") if given["name"] == "arm"]
    assert NASTY in sent and arms[1] in sent  # as they are, so that they are found again


def test_a_sentence_leaves_the_name_of_an_arm_as_it_is():
    scene = played(["blue", "red"], lambda arm, rng: rng.random(), 40, batches=2)
    scene.exp.pause_arm("red")
    assert scene.exp.report().certainty == "blue is the only arm in play"
    text = checked(experiment_page(*scene)).text
    assert "blue is the only arm in play; no stop rule was set." in text and "Blue" not in text


def test_one_arm():
    checked(experiment_page(*played(["only"], lambda arm, rng: rng.normal(), 40, batches=4)))


def test_the_last_arm_in_play_cannot_be_paused():
    exp, history, _ = shop(rounds=60, batches=2)
    exp.pause_arm("9")
    exp.pause_arm("15")
    page = checked(experiment_page(exp, history))
    actions = [given["action"].rsplit("/")[-1] for given in page.named("form")]
    assert actions.count("resume-arm") == 2 and "pause-arm" not in actions
    assert "running, 2 arms paused" in page.text


def test_a_hundred_arms():
    arms = [f"arm {i}" for i in range(100)]
    exp, history, _ = played(arms, lambda arm, rng: rng.normal(int(arm[4:]), 5), 1000, batches=5)
    html = experiment_page(exp, history)
    page = checked(html)
    rows = re.findall(r'<th scope="row"><span class="swatch [^"]+"></span>(arm \d+)', html)
    assert sorted(rows) == sorted(arms)
    chances = dict(exp.report().frame.select("arm", "p_best").iter_rows())
    assert chances[rows[0]] == max(chances.values())
    assert "92 other arms" in page.text


def test_no_rewards_yet():
    exp, _, _ = played(["a", "b"], None, 0, batches=0)
    page = checked(experiment_page(exp, None))
    assert "There are too few rewards to estimate any arm's mean yet." in page.text
    assert "0 rewards" in page.text


def test_all_rewards_equal():
    exp, history, _ = played(["a", "b"], lambda arm, rng: 0.0, 40, batches=4, stop_loss=0.1)
    assert "all rewards so far are equal" in checked(experiment_page(exp, history)).text


def test_huge_and_tiny_rewards():
    for unit in (1e70, 1e-70):
        exp, history, _ = played(
            ["a", "b"], lambda arm, rng, u=unit: u * rng.random(), 40, batches=4
        )
        checked(experiment_page(exp, history))


def test_a_stopped_experiment_offers_a_restart_and_no_other_change(shop_scene):
    exp, history, _ = shop(rounds=60, batches=2)
    exp.stop("12")
    page = checked(experiment_page(exp, history))
    assert "stopped, 12 for everybody" in page.text and "The experiment was stopped." in page.text
    asked = {given["action"] for given in page.named("form")}
    assert asked == {"/logout", "/experiments/price/restart"}
    page = checked(experiment_page(exp, history, viewer=READER))
    assert {given["action"] for given in page.named("form")} == {"/logout"}


def test_a_service_without_tokens_has_nobody_to_log_out(shop_scene):
    page = checked(experiment_page(*shop_scene, viewer=Actor(None, frozenset({"admin"}))))
    assert "Log out" not in page.text and "Stop…" in page.text and "New" in page.text


@pytest.mark.parametrize("by", ["rewards", "time"])
def test_the_history_that_the_library_keeps_is_drawn(by):
    """Also that of an arm which came later, and has no past."""
    exp = shop(rounds=300, batches=3).exp
    exp.add_arm("18")
    rng = np.random.default_rng(2)
    for one in exp.decide_many(ids=[f"w{i}" for i in range(300)]):
        exp.reward(one.id, rng.normal(6, 2))
    frame = exp.history(points=12).frame
    html = experiment_page(exp, frame, by=by)
    page = checked(html)
    assert len([given for given in page.named("svg") if given.get("role") == "img"]) == 3
    last = frame.filter(pl.col("checkpoint") == frame["checkpoint"].max())
    best = last.sort("p_best", descending=True, nulls_last=True).row(0, named=True)
    said = f"At the last checkpoint, P(best) of {best['arm']} was {percentage(best['p_best'])}."
    assert said in page.text
    table = re.search(r'id="chart-traffic".*?<tbody>(.*?)</tbody>', html, re.DOTALL)[1]
    first = re.findall(r"<td>(.*?)</td>", table)[:4]
    assert first[3] == "0 %" and first[0] != "0 %"


def test_a_refused_change_is_said_with_what_was_typed(shop_scene):
    sent = {"floor": "0.9", "why": "more"}
    html = experiment_page(*shop_scene, error="floor must be at most 1/3, got 0.9", sent=sent)
    page = checked(html)
    assert "Floor must be at most 1/3, got 0.9." in page.text
    assert 'value="0.9"' in html


# ------------------------------------------------------------------------------ what comes first


def facts_of(html):
    """The numbers at the top of the page, by name: value and what stands below it."""
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?) <span class=\"hint\">(.*?)</span></dd>", html)
    return {unescape(name): (unescape(value), unescape(more)) for name, value, more in found}


def test_the_lift_over_the_control_comes_first():
    exp, history, gain = shop(rounds=800, batches=4, control="9")
    html = experiment_page(exp, history, gain)
    page, found = checked(html), exp.report()
    one = main_comparison(found)
    assert next(iter(facts_of(html))) == f"{one.arm} compared with 9"
    value, more = facts_of(html)[f"{one.arm} compared with 9"]
    assert value == f"{one.lift:+.1f} %"
    assert f"{one.lift_low:.1f} to {one.lift_high:.1f} %" in more
    assert percentage(one.p_better) in more
    assert html.index("Compared with 9, the control") < html.index("Arms ranked by")
    heads = re.findall(r'<th scope="col">(.*?)</th>', html)
    assert heads[:4] == ["Arm", "Lift", "95 % interval of the lift", "P(better)"]
    assert "Lift" not in checked(experiment_page(*shop(rounds=60, batches=2))).text
    assert page.text.count("Compared with 9, the control.") == 1


def test_without_percentages_the_difference_is_shown():
    """An interval of the control's mean around 0 allows no ratio."""
    scene = played(["a", "b"], lambda arm, rng: rng.normal(), 200, batches=2, control="a")
    assert scene.exp.report().control.note
    value, more = facts_of(experiment_page(*scene))["b compared with a"]
    assert "%" not in value and "no percentage yet" in more


def test_money_in_total_and_by_arm(shop_scene):
    exp, history, gain = shop_scene
    html = experiment_page(exp, history, gain)
    page, found = checked(html), exp.report()
    totals = total_rewards(found)
    last = history.filter(history["rewards"] == history["rewards"].max())
    earned = dict(last.select("arm", "cumulative_reward").iter_rows())
    assert totals == pytest.approx(earned)
    assert facts_of(html)["Total reward"][0] == amount(sum(earned.values()))
    for total in totals.values():
        assert amount(total) in page.text
    value, more = facts_of(html)["Gain from learning"]
    assert gain_text(found).startswith(f"{value} [")
    assert ("no clear gain yet" in more) == (not found.gain.clear)


def test_a_sum_of_milliseconds_is_not_shown():
    scene = played(["a", "b"], lambda arm, rng: rng.random(), 40, batches=2, goal="min")
    assert "Total reward" not in checked(experiment_page(*scene)).text


def test_conversion_is_shown_where_most_rewards_are_0(shop_scene):
    exp, history, gain = shop_scene
    html = experiment_page(exp, history, gain)
    page, found = checked(html), conversions(history)
    bought, rewards = sum(one.nonzero for one in found), sum(one.rewards for one in found)
    value, more = facts_of(html)["Conversion rate"]
    assert value == percentage(bought / rewards) and f"{bought} of {rewards} rewards" in more
    for one in found:
        assert percentage(one.rate) in page.text
        assert one.value == pytest.approx(float(one.arm))  # the price
    assert "not corrected for anything" in page.text
    clicks = played(["a", "b"], lambda arm, rng: float(rng.random() < 0.2), 200, batches=2)
    text = checked(experiment_page(*clicks)).text
    assert "Conversion rate" in text and "Value of one" not in text  # which is always 1
    always = played(["a", "b"], lambda arm, rng: rng.random(), 40, batches=2)
    assert "Conversion" not in checked(experiment_page(*always)).text


def outlook_of(page):
    """The page's forecast of when a stop rule will be met."""
    return re.findall(r"(?:Rough forecast|Can't say yet when).*?\.", page.text)


def test_how_far_the_stop_rule_is():
    exp, history, gain = shop(rounds=400, batches=4, stop_p_best=0.999, stop_loss=1e-6)
    html = experiment_page(exp, history, gain)
    found = exp.report()
    assert not found.stop
    value, more = facts_of(html)["Highest P(best)"]
    assert value == percentage(found.frame["p_best"].max()) and "at least 99.9 %" in more
    assert "at most 1e-06" in facts_of(html)["Lowest expected loss"][1]
    (said,) = outlook_of(checked(html))
    assert "80 % range" in said and "more rewards" in said


def test_no_forecast_stands_beside_a_verdict_that_contradicts_it():
    thin = shop(rounds=30, batches=1, stop_p_best=0.999)
    (said,) = outlook_of(checked(experiment_page(*thin)))
    assert said.startswith("Can't say yet when")
    met = shop(rounds=2000, batches=2)
    assert met.exp.report().stop
    assert outlook_of(checked(experiment_page(*met))) == []
    # A rule has its number, but the arm violates its guardrail: only the verdict mentions it.
    options = {"metrics": ["refund"], "guards": {"refund": ("below", 0.05)}, "stop_p_best": 0.9}
    exp = varts.open("price", ["a", "b"], store="memory://", **options)
    rng = np.random.default_rng(1)
    for one in exp.decide_many(ids=[f"v{i}" for i in range(400)]):
        exp.reward(one.id, rng.normal(one.arm == "b"), refund=float(rng.random() < 0.3))
    found = exp.report()
    assert found.frame["p_best"].max() > 0.9 and not found.stop
    assert outlook_of(checked(experiment_page(exp))) == []
    exp.stop("a")
    text = checked(experiment_page(exp)).text
    assert "Highest P(best)" not in text and "stop rule:" not in text


def test_a_chance_just_below_its_target_does_not_look_as_if_it_were_met():
    exp, history, gain = shop(rounds=400, batches=2)
    now = exp.report().frame["p_best"].max()
    exp.configure(stop_p_best=now + 1e-9)
    value, more = facts_of(experiment_page(exp, history, gain))["Highest P(best)"]
    assert value.startswith("just below") and percentage(now) in more


# ------------------------------------------------------------------------------ for everybody


def test_readers_see_the_options(shop_scene):
    exp, history, gain = shop_scene
    html = experiment_page(exp, history, gain, viewer=READER)
    shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html.partition("options-title")[2]))
    assert shown["Stop at P(best)"] == "0.97" and shown["Smallest share of each arm"] == "0.05"
    assert shown["Policy"] == "VarTS" and shown["Sticky units"] == "no"
    assert {*LABELS.values(), "Goal", "Prior"} == set(shown)


def test_owner_and_hypothesis_are_shown_and_are_not_markup():
    scene = shop(rounds=60, batches=2, owner=NASTY, hypothesis=f"Cheaper sells more\n{NASTY}")
    page = checked(experiment_page(*scene))
    assert page.text.count(NASTY) == 4 and "Cheaper sells more" in page.text


def test_the_stop_dialog_chooses_nothing_and_warns():
    options = {"metrics": ["refund"], "guards": {"refund": ("below", 0.05)}}
    exp = varts.open("price", ["a", NASTY, "c"], store="memory://", stop_p_best=0.999, **options)
    for i, one in enumerate(exp.decide_many(ids=[f"v{i}" for i in range(200)])):
        exp.reward(one.id, float(i % 3), refund=float(one.arm == NASTY))
    exp.pause_arm("c")
    html = experiment_page(exp)
    checked(html)
    (form,) = re.findall(r'action="/experiments/price/stop".*?</form>', html, re.DOTALL)
    choices = re.findall(r'<option value="(.*?)"(.*?)>(.*?)</option>', form)
    assert choices[0] == ("", " selected", "Choose…") and 'name="winner" required' in form
    assert sum("selected" in more for _, more, _ in choices) == 1
    said = {unescape(value): words for value, _, words in choices}
    assert "breaks a guardrail: refund is" in said[f"arm:{NASTY}"]
    assert said["arm:a"] == "everybody gets a" and said["arm:c"] == "everybody gets c (paused)"
    assert "refuses to decide" in said["none"]
    assert "guardrail broken by" in form.lower() and exp.report().because[1:] in unescape(form)
    for value in said:
        if value:
            assert read_winner({"winner": value}) in ("a", NASTY, "c", None)
    for wrong in ({}, {"winner": ""}, {"winner": "a"}):
        with pytest.raises(ValueError, match="winner must be an arm or none"):
            read_winner(wrong)


def test_times_have_their_zone_and_what_live_js_needs(shop_scene):
    exp, history, gain = shop_scene
    as_of = "numbers from the log are as of 2026-11-16 11:58 UTC"
    changes = describe_changes(exp.changes())
    html = experiment_page(exp, history, gain, by="time", as_of=as_of, changes=changes)
    checked(html)
    assert '<time datetime="2026-11-16T11:58Z" data-clock>2026-11-16 11:58 UTC</time>' in html
    for moment in re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d(.{4})", html):
        assert moment == " UTC"
    assert html.count("data-clock") >= len(changes) + 1


def test_the_table_of_the_arms_as_csv():
    exp = varts.open("price", ["=1+1", NASTY], store="memory://", control=NASTY)
    rng = np.random.default_rng(1)
    made = exp.decide_many(ids=[f"v{i}" for i in range(80)])
    exp.reward_many([(one.id, 5 + rng.normal()) for one in made])
    found = exp.report()
    table = pl.read_csv(io.StringIO(experiment.arms_csv(found)))
    assert set(table["arm"]) == {"'=1+1", NASTY}  # a spreadsheet must not run it
    assert table["p_best"].to_list() == found.ranking["p_best"].to_list()
    assert table["total_reward"].sum() == pytest.approx(sum(total_rewards(found).values()))
    assert table.filter(table["arm"] != NASTY)["lift"][0] == found.control["=1+1"].lift
    assert table.filter(table["arm"] == NASTY)["lift"][0] is None


def test_a_figure_is_whole_without_our_style(shop_scene):
    exp, history, gain = shop_scene
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", style.partition("@media")[0]))
    for chart in experiment.charts(exp.report(), history, gain):
        svg = standalone(chart.svg)
        root = ElementTree.fromstring(svg)
        assert "var(" not in svg and float(root.attrib["width"]) > 0
        assert light["arm-0"] in svg and "fill: #ffffff" in svg
        drawn = {name for node in root.iter() for name in node.attrib.get("class", "").split()}
        sheet = next(node.text for node in root if node.tag.endswith("style"))
        plain = {"tick", "axis-title", "picture"}
        assert {one for one in drawn - plain if f".{one}" not in sheet} == set()


# ------------------------------------------------------------------------------ changes


def test_changes_are_told_in_words():
    exp = shop(rounds=60, batches=2).exp
    exp.configure(stop_p_best=0.99, half_life=500.0)
    exp.configure(prior=varts.NormalGamma(12, 16, 11, 640))
    exp.add_arm("18")
    exp.pause_arm("9")
    exp.resume_arm("9")
    exp.amend("v0-0", 7.5)
    exp.stop("12")
    exp.restart(by="ops", why=NASTY)
    found = describe_changes(exp.changes())
    assert re.fullmatch(r"amend v0-0: 7.5 \(was \d+\)", found[2].what)
    assert [change.what for change in (*found[:2], *found[3:])] == [
        "restarted",
        "stopped, 12 for everybody",
        "resumed 9",
        "paused 9",
        "added 18",
        "prior mu=12,kappa=16,alpha=11,beta=640 (was none)",
        "half_life 500 (was none), stop_p_best 0.99 (was 0.97)",
        "created with 3 arms",
    ]
    assert (found[0].by, found[0].why, found[1].by) == ("ops", NASTY, "")
    page = checked(experiment_page(exp, changes=found))
    assert NASTY in page.text and "stop_p_best 0.99 (was 0.97)" in page.text


# ------------------------------------------------------------------------------ the list


def test_the_list(shop_scene):
    exp, _, _ = shop_scene
    early = varts.open("early", ["a", "b"], store="memory://")
    rows = [
        Listed.of(exp.report(), NOW - timedelta(seconds=3)),
        Listed.of(early.report()),
        Listed(NASTY, "stopped, blue for everybody", None, None, 40113, 0),
    ]
    page = checked(listing.page(ADMIN, rows, NOW))
    best = exp.report()
    assert rows[0].best == best.best and percentage(rows[0].p_best) in page.text
    total = best.gain.total
    assert f"{total:+,.0f} [" in page.text and "3 s ago" in page.text
    assert "too early" in page.text and "never" in page.text and NASTY in page.text
    assert "/experiments/%3Cscript%3Ealert%281%29%3C%2Fscript%3E" in {
        given["href"] for given in page.named("a")
    }


def test_the_list_says_when_one_may_stop():
    exp, _, _ = shop(rounds=2000, batches=2)
    assert Listed.of(exp.report()).status == "may stop"
    exp.stop("12")
    assert Listed.of(exp.report()).status == "stopped, 12 for everybody"
    assert Listed.of(exp.report()).best is None


def test_the_list_shows_lift_owner_and_hypothesis():
    exp, _, _ = shop(rounds=800, batches=2, control="9", owner="Pricing", hypothesis=NASTY)
    row = Listed.of(exp.report())
    page = checked(listing.page(READER, [row], NOW))
    assert lift_text(main_comparison(exp.report())) == row.lift and row.lift in page.text
    assert "Pricing" in page.text and NASTY in page.text
    without = checked(listing.page(READER, [Listed.of(shop(rounds=60).exp.report())], NOW))
    assert "Lift" not in without.text


def test_a_search_without_a_result_leads_back():
    page = checked(listing.page(READER, [], NOW, query=NASTY))
    assert f"No experiment has {NASTY}" in page.text
    assert {"href": "/", "class": "button"} in page.named("a")
    assert [given["value"] for given in page.named("input") if given.get("name") == "q"] == [NASTY]


def test_an_empty_list_shows_what_to_do():
    assert 'href="/new">Create one' in listing.page(ADMIN, [], NOW)
    assert "Create one" not in listing.page(READER, [], NOW)
    checked(listing.page(READER, [], NOW))


# ------------------------------------------------------------------------------ create


def test_the_form_of_a_new_experiment_has_the_fields_of_the_table():
    page = checked(plan.create_page(ADMIN))
    names = next(form for form in page.forms if form["given"]["action"] == "/new")["names"]
    assert names == set(FORMS["create"].fields)


def test_every_option_is_on_the_form_or_has_a_reason_not_to_be():
    assert set(SHOWN) == set(Options.descriptions()) - {"goal", "prior"}
    assert set(SHOWN) == set(LABELS) == {name for group in GROUPS for name in group.options}
    assert set(FLAGS) == {"sticky", "hash_units", "client_ids"}


def test_a_prior_in_words_has_its_picture():
    page = checked(plan.create_page(ADMIN, {**WORDS, "knowledge": "words", "arms": "9\n12"}))
    sentence = (
        "8 of 10 arms have a mean from 9.5 to 14.5; 9 of 10 single rewards lie from -1.5 to 25.5."
    )
    assert sentence in page.text
    assert ElementTree.fromstring(plan.prior_svg(WORDS))[0].text == sentence
    assert "Fill in all four numbers" in checked(plan.create_page(ADMIN, {"mean": "12"})).text
    assert (
        "Fill in all four numbers"
        in checked(plan.create_page(ADMIN, {**WORDS, "worth": "-1"})).text
    )
    with pytest.raises(ValueError, match="mean must be a number, got 'x'"):
        plan.prior_svg({**WORDS, "mean": "x"})
    with pytest.raises(ValueError, match="worth must be finite and > 0, got -1"):
        plan.prior_svg({**WORDS, "worth": "-1"})


def test_what_was_typed_is_still_there_after_a_refusal():
    sent = {"name": NASTY, "arms": f"9\n{NASTY}", "goal": "min", "clip": "0,100", "sticky": "on"}
    html = plan.create_page(ADMIN, sent, "clip must be two numbers, low < high, got (1.0, 0.0)")
    page = checked(html)
    assert "Clip must be two numbers" in page.text and NASTY in page.text
    assert 'value="min" checked' in html and 'value="0,100"' in html
    assert f"9\n{NASTY.replace('<', '&lt;').replace('>', '&gt;')}" in html
    assert re.search(r'name="sticky" type="checkbox" checked', html)
    assert not re.search(r'name="client_ids" type="checkbox" checked', html)


def test_what_the_form_sends_makes_the_experiment():
    sent = {
        **{name: "" for name in FORMS["create"].fields if name not in FLAGS},
        **WORDS,
        **{"name": " price ", "arms": "9\r\n12\r\n\r\n 15", "goal": "min", "knowledge": "words"},
        **{"floor": "0.05", "window": "24h", "missing": "0", "clip": "0,100", "hash_units": "on"},
    }
    name, arms, options = read_new(sent)
    exp = varts.open(name, arms, store="memory://", **options)
    assert exp.name == "price" and exp.arms == ["9", "12", "15"]
    made = exp.options
    assert (made.goal, made.floor, made.window, made.missing) == ("min", 0.05, 86400.0, 0.0)
    assert made.clip == (0.0, 100.0) and made.hash_units and not made.sticky
    assert made.prior == {"mu": 12.0, "kappa": 16.0, "alpha": 11.0, "beta": 640.0}
    assert made.stop_p_best is None


def test_policy_and_prior_come_from_the_form():
    html = plan.create_page(ADMIN, {"policy": "VarTS,tails=true", "knowledge": "fitted"})
    checked(html)
    assert 'value="VarTS,tails=true"' in html and '<option value="UCB-V">' in html
    sent = {"name": "price", "arms": "9\n12", "policy": "VarTS,tails=true", "knowledge": "fitted"}
    new = read_new({**sent, "fitted": "mu=5,kappa=1,alpha=2,beta=8"})
    exp = varts.open(new.name, new.arms, store="memory://", **new.options)
    assert exp.options.policy == {"label": "VarTS", "tails": True}
    assert exp.options.prior == {"mu": 5.0, "kappa": 1.0, "alpha": 2.0, "beta": 8.0}
    with pytest.raises(ValueError, match="fitted must be JSON, or numbers like"):
        read_new({**sent, "fitted": "mu=a lot"})


def test_a_blank_policy_is_the_default_for_the_features():
    new = read_new({"name": "p", "arms": "a\nb", "features": "visits=number", "policy": ""})
    assert varts.open(new.name, new.arms, store="memory://", **new.options).options.contextual


def test_every_policy_that_the_form_suggests_can_be_chosen():
    for label in policies():
        Options.made(policy=label, features={"x": "number"} if "Lin" in label else None)
    assert {"VarTS", "UCB-V", "LinearVarTS"} <= set(policies())
    assert "Sequential-Halving" not in policies()


def test_a_fitted_prior_is_pasted_and_never_a_path_on_the_server():
    fitted = varts.NormalGamma(12, 16, 11, 640).to_json()
    made = read_new({"knowledge": "fitted", "fitted": fitted, "arms": "a"})
    assert made.options["prior"].mu == 12.0
    with pytest.raises(ValueError, match="prior must be JSON"):
        read_new({"knowledge": "fitted", "fitted": "/etc/passwd", "arms": "a"})


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"floor": "a lot"}, "floor must be a number, got 'a lot'"),
        ({"window": "a day"}, "window must be seconds or a time like 30m, 24h or 7d, got 'a day'"),
        ({"clip": "1"}, "clip must be two numbers, LOW,HIGH, got '1'"),
        ({"knowledge": "all"}, "unknown knowledge 'all'; known: nothing, words, fitted"),
        ({"knowledge": "words"}, "mean must be a number, got ''"),
    ],
)
def test_wrong_fields_are_refused_in_a_sentence(sent, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_new(sent)


def test_options_survive_the_form_that_begins_with_them():
    """Also with more digits than a person would type."""
    given = {"floor": 1 / 30, "clip": (0.1, 1234567.25), "window": 1234567.0, "sticky": True}
    others = {"metrics": ["refund", "stars"], "guards": {"refund": ("below", 1 / 3)}}
    options = Options.made(**given, **others, half_life=1e6 + 1, missing=-0.5)
    read = read_options(typed_options(options), "configure")
    assert Options().changed(read) == options
    assert set(read) == {name for name in SHOWN if name not in NOT_CONFIGURED}


@pytest.mark.parametrize(
    "given",
    [
        {"block": None},
        {"block": 5400.5},
        {"block": "auto"},
        {"rules": 1},
        {"metrics": ["a", "b"], "missing_metrics": {"a": 1 / 3, "b": -2.0}, "window": 60.0},
    ],
)
def test_options_for_returning_units_and_time_survive_the_form_too(given):
    options = Options.made(**given)
    assert Options().changed(read_options(typed_options(options), "configure")) == options


# ------------------------------------------------------------------------------ plan, what if


@pytest.fixture(scope="module")
def small_plan():
    prior = varts.NormalGamma.elicit(12, 2, 8, 20)
    return varts.plan(prior, arms=3, horizon=100, runs=16, followed=4)


def test_the_page_of_a_plan_in_days():
    sent = {**WORDS, "arms": "2", "traffic": "100/day", "days": "3", "stop_p_best": "0.9"}
    given = read_plan_in_days(sent)
    made = varts.plan_experiment(**given, runs=16, threads=1, progress=False)
    page = checked(plan.page(READER, sent, in_days=made.to_dict()))
    assert " ".join(made.answer) in page.text
    assert "VarTS" in page.text and "Even-Split" in page.text
    assert 'value="100/day"' in plan.page(READER, sent, done=0.5)
    with pytest.raises(ValueError, match="days must be given together with traffic"):
        read_plan_in_days({**sent, "days": " "})


def test_the_pages_of_a_plan(small_plan):
    page = checked(plan.page(READER))
    names = next(form for form in page.forms if form["given"]["action"] == "/plan")["names"]
    assert names == set(FORMS["plan"].fields)
    running = checked(plan.page(READER, WORDS, done=0.4))
    assert running.named("progress")[0]["value"] == "0.4"
    page = checked(plan.page(READER, {**WORDS, "arms": "3", "horizon": "100"}, found=small_plan))
    assert "3 arms, 100 rounds" in page.text and "What a wrong prior costs VarTS" in page.text
    for cell in ("VarTS", "Even-Split", f"{small_plan.bound['printed']:,.0f}"):
        assert cell in page.text


def test_a_plan_shows_every_cell_that_its_text_has(small_plan):
    """The page and `print(plan)` are made of the same tables."""
    page = checked(plan.page(READER, WORDS, found=small_plan))
    numbers = set(re.findall(r"[-+\[]?\d[\d,.]*%?", str(small_plan)))
    assert len(numbers) > 50
    assert {number for number in numbers if number not in page.text} == set()


def test_a_plan_may_be_asked_for_by_the_form_of_a_new_experiment():
    asked = read_plan({**WORDS, "arms": "9\n12\n15", "goal": "min"})
    assert (asked["arms"], asked["horizon"], asked["goal"]) == (3, 2000, "min")
    assert read_plan({**WORDS, "arms": "10", "horizon": "5,000"})["horizon"] == 5000
    with pytest.raises(ValueError, match="horizon must be a whole number >= 1, got 'long'"):
        read_plan({**WORDS, "arms": "3", "horizon": "long"})
    with pytest.raises(ValueError, match="arms must be a whole number >= 1, got 0"):
        read_plan({**WORDS, "arms": ""})


def test_what_would_have_happened(shop_scene):
    exp, _, _ = shop_scene
    assert read_target({"play": "arm:12"}, "play") == varts.always("12")
    assert isinstance(read_target({"play": "even"}, "play"), varts.EvenSplit)
    assert read_target({}, "against") is None
    with pytest.raises(ValueError, match="unknown play 'all'"):
        read_target({"play": "all"}, "play")
    found = exp.evaluate(varts.always("12"))
    sent = {"play": "arm:12"}
    html = what_if.page(READER, "price", exp.arms, sent, found=found)
    page = checked(html)
    assert f"{found.used:,} of {found.rows:,} decisions used" in page.text
    assert f"{found.value:.3f}" in page.text or f"{found.value:.2f}" in page.text
    assert 'value="arm:12" selected' in html
    checked(what_if.page(READER, NASTY, [NASTY], error="unknown arm 'x'; known: 9, 12"))


def test_when_a_stop_rule_would_have_been_met():
    at = [NOW, NOW, NOW + timedelta(hours=1), NOW + timedelta(hours=1)]
    history = pl.DataFrame(
        {
            "time": at,
            "rewards": [10, 10, 20, 20],
            "arm": ["a", "b", "a", "b"],
            "p_best": [0.4, 0.6, 0.1, 0.9],
            "expected_loss": [2.0, 1.0, 3.0, 0.5],
        }
    )
    met = what_if.find_stop(history, stop_p_best=0.9)
    assert (met.rewards, met.arm, met.value) == (20, "b", 0.9)
    assert what_if.find_stop(history, stop_loss=1.0).rewards == 10
    assert what_if.find_stop(history, stop_p_best=0.95) is None
    with pytest.raises(ValueError, match="one of stop_p_best and stop_loss must be given"):
        what_if.find_stop(history)
    page = checked(what_if.page(READER, "price", ["a"], asked_stop="P(best) of 0.9", met=met))
    assert "first reached after 20 rewards, at 2026-11-16 13:00 UTC , by b (0.9)" in page.text
    page = checked(what_if.page(READER, "price", ["a"], asked_stop="P(best) of 0.95"))
    assert "was not reached" in page.text


# ------------------------------------------------------------------------------ the rest


def test_login_and_refusals():
    page = checked(login_page('/"><b>', "token must be one of this service's, got another"))
    assert {given["name"] for given in page.named("input")} == set(FORMS["login"].fields)
    assert page.named("input")[0]["value"] == '/"><b>'
    assert "Log out" not in page.text
    checked(refusal_page(None, "Not found", "unknown experiment 'x'"))
    checked(
        refusal_page(Actor(NASTY, frozenset({"read"})), "Changed by somebody else", NASTY, "/x")
    )


def test_scopes():
    assert ADMIN.may("read") and READER.may("read") and not READER.may("admin")
    assert READER.role == "read" and ADMIN.role == "admin"


def test_static_files_need_nothing_from_elsewhere():
    script = (STATIC / "live.js").read_text(encoding="utf-8")
    assert len(script.splitlines()) < 150
    for forbidden in ("innerHTML", "eval(", "Function(", "document.write", "http:", "https:"):
        assert forbidden not in script
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    assert "@import" not in style and "url(" not in style
    ElementTree.parse(STATIC / "icon.svg")


def test_every_class_of_a_picture_has_a_style(shop_scene):
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    html = experiment_page(*shop_scene)
    pictures = " ".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    used = {word for found in re.findall(r'class="([^"]+)"', pictures) for word in found.split()}
    plain = {"tick", "axis-title"}  # as all text of a picture
    assert len(used) > 12
    assert {name for name in used - plain if f".{name}" not in style} == set()


def contrast(one, other):
    """The ratio of WCAG 2 between two colours #rrggbb."""

    def luminance(colour):
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_seen(theme):
    assert contrast("#000000", "#ffffff") == pytest.approx(21)  # by definition
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # a known near miss
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[theme]))
    assert len(colours) > 20
    for ground in ("page", "sheet"):
        for ink in ("ink", "quiet", "accent"):
            assert contrast(colours[ink], colours[ground]) >= 4.5
        for arm in (name for name in colours if name.startswith("arm-")):
            assert contrast(colours[arm], colours[ground]) >= 3, arm
    for kind in ("good", "warn", "bad"):
        assert contrast(colours[kind], colours[f"{kind}-soft"]) >= 4.5


def test_the_words_of_scenes_are_those_of_the_model():
    """The scene is what it says: without it other tests would check nothing."""
    exp, history, _ = played(BUYS, price_paid, 90, batches=3)
    assert history["rewards"].unique().sort().to_list() == [30, 60, 90]
    assert exp.report().state.rewards == 90
    shares = history.group_by("rewards").agg(pl.col("traffic").sum())["traffic"]
    np.testing.assert_allclose(shares, 1)

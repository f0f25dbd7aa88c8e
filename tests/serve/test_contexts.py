"""What is known of units, over HTTP: who may say and see it, and which arm is for whom."""

import asyncio
import json

import numpy as np
import pytest

import varts
from tests.live.contexts import FEATURES, context, visit
from tests.serve.clients import PAGE, Serving
from tests.serve.scenes import NOW, READER
from tests.serve.test_auth import log_in
from tests.serve.test_pages import checked, experiment_page
from tests.serve.test_views import error_of, see, send
from varts.context import text
from varts.features import MOST_COLUMNS
from varts.live import Experiment
from varts.live.report.estimates import posterior
from varts.serve.tokens import new_token
from varts.serve.web import listing
from varts.serve.web.listing import BY_FEATURES, Listed

E = "/v1/experiments/mug"
ARMS = ["9", "12", "15"]
READ, READ_TOKEN = new_token("reader", ["read"])
PUBLIC, PUBLIC_TOKEN = new_token("page", ["decide"], public=True, origins=(PAGE,))
HOME = {"country": "NL", "visits": 3}


@pytest.fixture
def mug():
    """A service with an experiment that has features."""
    with Serving("memory://", [READ_TOKEN, PUBLIC_TOKEN]) as made:
        made.ok("PUT", E, {"arms": ARMS, "features": FEATURES})
        yield made


@pytest.fixture
def learnt(mug):
    """The same after 150 rewards."""
    visit(Experiment("mug", mug.service.store), 150)
    return mug


def stored(serving, name="mug"):
    """The experiment in the database."""
    return Experiment(name, serving.service.store)


# ------------------------------------------------------------------------------ what is sent


def test_features_are_given_and_shown(mug):
    kinds = {"country": ["NL", "BE"], "visits": "number"}
    shown = mug.ok("GET", E)["options"]
    assert shown["features"]["kinds"] == kinds and shown["policy"] == {"label": "LinearVarTS"}
    more = {"kinds": kinds, "interactions": [["country", "visits"]], "optional": ["visits"]}
    made = mug.ok("PUT", "/v1/experiments/other", {"arms": ["a"], "features": more})
    assert made["options"]["features"] == {"version": 1, **more}
    mug.ok("PUT", E, {"arms": ARMS, "features": FEATURES})  # the same again
    other = {"arms": ARMS, "features": {"visits": "number"}}
    assert "features" in mug.refused(409, "differs", "PUT", E, other)
    new, wrong = "/v1/experiments/new", {"visits": "numbre"}
    detail = mug.refused(422, "refused", "PUT", new, {"arms": ["a"], "features": wrong})
    assert detail == "visits must be \"number\" or a list of categories, got 'numbre'"
    headers = {"If-Match": "*"}
    body = {"features": {"visits": "number"}}
    detail = mug.refused(422, "refused", "PATCH", E, body, headers=headers)
    assert detail.startswith("features must stay")


def test_a_decision_is_made_by_its_context(learnt):
    made = learnt.ok("PUT", f"{E}/decisions/one", {"unit": "ann", "context": HOME})
    away = {"country": "BE", "visits": 3}
    asked = [{"id": f"at home {i}", "context": HOME} for i in range(20)]
    asked += [{"id": f"away {i}", "context": away} for i in range(20)]
    several = learnt.ok("POST", f"{E}/decisions", {"decisions": asked})["decisions"]
    assert {made["arm"], *(one["arm"] for one in several[:20])} == {"9"}
    assert sum(one["arm"] == "9" for one in several[20:]) <= 1  # P(best) of 9 is below 0.01
    exp = stored(learnt)
    assert exp.decision("one").context == {"country": "NL", "visits": 3.0}
    assert exp.decision("away 3").context == {"country": "BE", "visits": 3.0}
    found = exp.verify(replay=True)
    assert found.ok and found.replayed == 191, str(found)


WRONG = [
    (None, 422, "context must be given, since experiment 'mug' has features, got none"),
    ({}, 422, "context must have the number 'visits', got none; list it as optional if"),
    ({"visits": 1, "land": "NL"}, 422, "unknown feature 'land'; known: country, visits"),
    ({"visits": "3"}, 422, "visits must be a number, got '3'"),
    ({"visits": 1, "country": 2.5}, 422, "country must be a category, got 2.5"),
    ({"visits": 1, "country": "a\x00b"}, 422, "country must be text of 1 to 255 characters"),
    ({"visits": 10**400}, 422, "visits must be a number of at most 1e70, got 1000"),
    ({"visits": 1, "country": "x" * 256}, 400, "the body is not valid: Expected `str` of length"),
    ({"visits": [1]}, 400, "the body is not valid: Expected `bool | int | float | str | null`"),
    (
        {f"f{i}": 1 for i in range(MOST_COLUMNS + 1)},
        400,
        "the body is not valid: Expected `object`",
    ),
    ("NL", 400, "the body is not valid: Expected `object | null`, got `str`"),
]


@pytest.mark.parametrize(("wrong", "status", "said"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_context_gets_one_sentence_and_nobody_a_decision(mug, wrong, status, said):
    slug = {400: "invalid", 422: "refused"}[status]
    detail = mug.refused(status, slug, "PUT", f"{E}/decisions/one", {"context": wrong})
    assert detail.startswith(said)
    both = {"decisions": [{"context": HOME}, {"context": wrong}]}
    assert mug.refused(status, slug, "POST", f"{E}/decisions", both).startswith(said)
    assert stored(mug).report().frame["pending"].sum() == 0


def test_where_there_are_no_features_there_is_no_context(mug):
    mug.ok("PUT", "/v1/experiments/price", {"arms": ARMS})
    path = "/v1/experiments/price/decisions/one"
    detail = mug.refused(422, "refused", "PUT", path, {"context": HOME})
    assert detail.startswith("context must be left out, since experiment 'price' has no features")
    assert mug.ok("PUT", path, {"context": None})["arm"] in ARMS


def test_decisions_of_many_share_transactions_and_keep_their_contexts(mug):
    """Every fifth of 200 requests at once is wrong, and keeps nobody else from a decision."""
    batches = []
    running = mug.wait(mug.service.running("mug"))
    running.deciding._observe = lambda items, seconds: batches.append(items)

    async def ask(i):
        known = {"visits": "many"} if i % 5 == 4 else context(i)
        body = {"unit": f"unit {i % 11}", "context": known}
        headers = {"Authorization": f"Bearer {mug.secret}"}
        return await mug._request("PUT", f"{E}/decisions/v{i}", json=body, headers=headers)

    async def ask_all():
        return await asyncio.gather(*map(ask, range(200)))

    statuses = [answer.status_code for answer in mug.wait(ask_all())]
    assert statuses == [422 if i % 5 == 4 else 200 for i in range(200)]
    assert sum(batches) == 200 and len(batches) < 80
    exp = stored(mug)
    for i in (0, 1, 3, 107, 198):
        assert exp.decision(f"v{i}").context == exp.features.check(context(i))
    assert exp.verify(replay=True).ok


def test_an_experiment_that_was_made_anew_is_noticed(mug):
    """By others, with other features: at the latest by the second request."""
    mug.ok("PUT", f"{E}/decisions/one", {"context": HOME})
    stored(mug).delete("mug", export=None)
    varts.open("mug", ARMS, store=mug.service.store, features={"age": "number"})
    answers = [
        mug.ask("POST", f"{E}/decisions", {"decisions": [{"context": {"age": 40}}]})
        for _ in range(2)
    ]
    assert answers[1].status_code == 200, answers[1].text


# ------------------------------------------------------------------------------ who may see it


def test_contexts_are_for_administrators(learnt):
    whole = learnt.ok("GET", f"{E}/decisions/v0")
    assert whole["context"] == {"country": "NL", "visits": 0.25}
    less = learnt.ok("GET", f"{E}/decisions/v0", token=READ)
    assert less == {**whole, "unit": None, "context": None}

    def lines(token):
        answer = learnt.ask("GET", f"{E}/log", token=token)
        return [json.loads(line) for line in answer.text.splitlines()]

    admin, reader = lines(""), lines(READ)
    known = [stored(learnt).features.check(context(i)) for i in range(150)]
    assert [{name: row[name] for name in FEATURES} for row in admin] == known
    hidden = dict.fromkeys(["unit", *FEATURES])
    assert reader == [{**row, **hidden} for row in admin]


def test_contexts_are_in_no_log_and_no_metric(mug):
    """Neither a good one nor a wrong one, nor one that the service stumbles over."""
    secret = "vier-hoog-achter"
    good = {"country": secret, "visits": 31415.925}
    mug.ok("PUT", f"{E}/decisions/one", {"unit": "u", "context": good})
    for wrong in ({"country": 31415.925, "visits": 1}, {"visits": secret}, {secret: 1}):
        mug.refused(422, "refused", "PUT", f"{E}/decisions/two", {"context": wrong})
    flag = "/ofrep/v1/evaluate/flags/mug"
    assert mug.ask("POST", flag, {"context": {"visits": secret}}).status_code == 400
    running = mug.wait(mug.service.running("mug"))

    def stumble(asked):
        raise RuntimeError("out of order")

    running.deciding._act = stumble
    assert mug.ask("PUT", f"{E}/decisions/three", {"context": good}).status_code == 500
    told = mug.lines.getvalue() + mug.ask("GET", "/metrics").text
    assert "out of order" in told and 'varts_decisions_total{experiment="mug"} 1.0' in told
    assert secret not in told and "31415" not in told


def test_a_public_token_says_nothing_that_is_not_bounded(mug):
    headers = {"Origin": PAGE}
    detail = mug.refused(
        403,
        "forbidden",
        "POST",
        f"{E}/decisions",
        {"decisions": [{"context": {**HOME, "visits": 1e300}}]},
        token=PUBLIC,
        headers=headers,
    )
    assert detail == "a public token may decide only where no feature is a number"
    mug.ok("PUT", "/v1/experiments/banner", {"arms": ["a"], "features": {"device": ["phone"]}})
    body = {"decisions": [{"context": {"device": "phone"}}, {"context": {"device": "fridge"}}]}
    path = "/v1/experiments/banner/decisions"
    made = mug.ok("POST", path, body, token=PUBLIC, headers=headers)["decisions"]
    assert stored(mug, "banner").decision(made[1]["id"]).context == {"device": "fridge"}


@pytest.mark.parametrize(("keep", "left"), [({}, 136), ({"keep_numbers": True}, 150)])
def test_a_forgotten_unit_takes_its_contexts_along_or_leaves_its_numbers(learnt, keep, left):
    """14 of the 150 rewards are of that unit."""
    assert stored(learnt).state.counts(with_features=True).sum() == 150
    assert learnt.ok("POST", f"{E}/forget", {"unit": "unit 3", **keep}) == {"decisions": 14}
    exp = stored(learnt)
    assert exp.decision("v3").context is None
    assert exp.state.counts(with_features=True).sum() == left


# ------------------------------------------------------------------------------ OpenFeature


FLAG = "/ofrep/v1/evaluate/flags/mug"


def test_attributes_that_are_features_are_the_context(learnt):
    given = {"targetingKey": "ann", **HOME, "plan": "gold", "cart": {"items": [1, 2]}}
    found = learnt.ok("POST", FLAG, {"context": given})
    assert found["value"] == "9"
    record = stored(learnt).decision(found["metadata"]["decision"])
    assert record.context == {"country": "NL", "visits": 3.0} and record.unit is not None
    learnt.ok("PUT", "/v1/experiments/price", {"arms": ["a"]})
    learnt.ok("POST", FLAG.replace("mug", "price"), {"context": given})  # has no features


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "context must have the number 'visits', got none"),
        ({"visits": "3"}, "visits must be a number, got '3'"),
        ({"targetingKey": "u", "visits": {"a": 1}}, "visits must be a number, got {'a': 1}"),
        ({"visits": 1, "country": "x" * 256}, "country must be text of 1 to 255 characters"),
    ],
)
def test_a_flag_of_a_wrong_context_has_no_value(mug, given, said):
    answer = mug.ask("POST", FLAG, {"context": given})
    found = answer.json()
    assert (answer.status_code, found["errorCode"]) == (400, "INVALID_CONTEXT")
    assert found["errorDetails"].startswith(said)


# ------------------------------------------------------------------------------ what is told


def test_a_report_tells_which_arm_for_whom(mug):
    """After 150 rewards of as many units: eleven that return would be too few."""
    visit(stored(mug), 150, units=150)
    found = mug.ok("GET", f"{E}/report?level=0.9", token=READ)
    here = stored(mug).report(0.9).to_dict()
    assert found["context"]["worth"] == pytest.approx(here["context"]["worth"])
    assert found["context"]["segments"] == here["context"]["segments"]
    named = {one["value"]: one["arm"] for one in found["context"]["segments"] if one["named"]}
    assert named["NL"] == "9"
    assert found == json.loads(json.dumps(here))


def test_a_list_names_no_arm_where_it_depends_on_the_unit(learnt):
    """The average unit's best arm may be another one than the report's."""
    learnt.ok("PUT", "/v1/experiments/price", {"arms": ARMS})
    visited = stored(learnt, "price").decide_many(60)
    stored(learnt, "price").reward_many((d.id, float(d.arm) + i % 3) for i, d in enumerate(visited))
    mug, price = learnt.ok("GET", "/v1/experiments")["experiments"]
    assert (mug["best"], mug["p_best"]) == (None, None)
    assert price["best"] == "15" and price["p_best"] > 0.9  # which the others still have
    metrics = learnt.ask("GET", "/metrics").text
    assert 'varts_p_best{arm="15",experiment="price"}' in metrics
    assert 'experiment="mug"}' in metrics and 'arm="9",experiment="mug"' not in metrics
    page = see_page(learnt, "/")
    assert page.count(BY_FEATURES) == 1


def see_page(serving, path):
    serving.cookie = log_in(serving, serving.secret)
    return see(serving, path)


# ------------------------------------------------------------------------------ pages


@pytest.fixture(scope="module")
def scene():
    """An experiment with features, after 300 rewards of as many units."""
    exp = varts.open("mug", ARMS, store="memory://", features=FEATURES, seed=1, stop_p_best=0.3)
    visit(exp, 300, units=300)
    return exp


def test_the_page_has_the_tables_of_the_report(scene):
    page = checked(experiment_page(scene, viewer=READER))
    found = scene.report().context
    assert "Which arm for whom" in page.text
    for heads, *rows in (text.segment_cells(found), text.coefficient_cells(found)):
        assert len(heads) == len(rows[0])
        for row in rows:
            assert " ".join(row) in page.text
    (worth,) = text.sentences(found)
    assert f"{worth[0].upper()}{worth[1:]}." in page.text
    assert "Interval" in page.text and " 9 Interval 12 Interval 15 Interval " in page.text


@pytest.mark.parametrize("units", [300, 11])
def test_the_hills_are_of_the_units_that_the_table_is_about(units):
    """However often a unit returns: each of its rewards has a context to average over."""
    exp = varts.open("mug", ARMS, store="memory://", features=FEATURES, seed=1)
    visit(exp, 300, units=units)
    assert (exp.state.effective().design_effect is None) == (units == 300)
    found = exp.report()
    (_, belief), (_, other) = (
        posterior(found.state, given) for given in (found.context.units.contexts, ())
    )
    assert belief.quantile(0.5) == pytest.approx(found.frame["estimate"].to_numpy(), rel=1e-12)
    assert other.quantile(0.5) == pytest.approx(found.frame["estimate"].to_numpy(), rel=1e-6)


def test_a_page_without_rewards_says_that_it_is_too_early():
    exp = varts.open("mug", ["<b>", "12"], store="memory://", features=FEATURES)
    page = checked(experiment_page(exp))
    assert "Not enough data yet to say which arm is best for whom." in page.text
    plain = varts.open("price", ["9", "12"], store="memory://")
    assert "for whom" not in checked(experiment_page(plain)).text


def test_an_arm_and_a_category_may_have_any_name():
    nasty = "<script>alert(1)</script>"
    features = {"land": [nasty, "BE"], "visits": "number"}
    exp = varts.open("mug", [nasty, "12"], store="memory://", features=features, seed=1)
    rng = np.random.default_rng(1)
    for i in range(60):
        made = exp.decide(context={"land": [nasty, "BE"][i % 2], "visits": i % 4})
        exp.reward(made.id, rng.normal())
    assert f"land {nasty}" in checked(experiment_page(exp)).text


def test_the_row_of_a_list_does_not_contradict_the_page(scene):
    """A stop rule that is met for the average unit need not be for all units, of whom a list
    knows nothing."""
    assert scene.report().stop
    row = Listed.of(scene.report())
    assert (row.status, row.best, row.p_best) == ("running", BY_FEATURES, None)
    assert BY_FEATURES in checked(listing.page(READER, [row], NOW)).text
    plain = varts.open("price", ARMS, store="memory://", seed=1, stop_p_best=0.3)
    made = plain.decide_many(60)
    plain.reward_many((d.id, float(d.arm) + i % 3) for i, d in enumerate(made))
    assert Listed.of(plain.report()).status == "may stop"


def test_an_experiment_with_features_is_made_with_a_form(mug):
    page = see_page(mug, "/new")
    assert "country=NL/BE,visits=number" in page
    given = {"name": "form", "arms": "red\nblue", "goal": "max", "knowledge": "nothing"}
    typed = "country=NL/BE, visits=number/missing"
    assert send(mug, "/new", **given, features=typed).headers["location"] == "/experiments/form"
    made = stored(mug, "form")
    assert made.features == varts.Features(
        {"country": ["NL", "BE"], "visits": "number"}, optional=["visits"]
    )
    assert "Which arm for whom" in see(mug, "/experiments/form")
    for wrong, said in {
        "country": "features must be like country=NL/BE,visits=number, or JSON, got 'country'.",
        "country=NL/NL": 'Country must be "number" or a list of categories, all different',
    }.items():
        answer = send(mug, "/new", **{**given, "name": "wrong"}, features=wrong)
        assert answer.status_code == 422 and said.lower() in error_of(answer).lower()
        assert f'value="{wrong}"' in answer.text
    words = {"mean": "12", "mean_sd": "2", "reward_sd": "8", "worth": "20"}
    asked = {**given, **words, "name": "wrong", "knowledge": "words"}
    answer = send(mug, "/new", **asked, features="visits=number")
    assert answer.status_code == 422
    assert "prior" in error_of(answer)

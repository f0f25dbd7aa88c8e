"""What would have happened: with another way of deciding, or another stop rule."""

from __future__ import annotations

from functools import partial
from typing import Any

from varts.live import Experiment
from varts.live.options import TYPED_OPTIONS, Options
from varts.serve.calls import Call, Reply
from varts.serve.pages import what_if
from varts.serve.pages.forms import FORMS, Sent, read_target, read_text
from varts.serve.readings import Reading
from varts.serve.views.answers import show, tag_of, unchanged, viewer_of
from varts.serve.views.overview import Asked, about_log, describe_reading, history_of, look

RULES = {"stop_p_best": "P(best) of {:g}", "stop_loss": "An expected loss of {:g}"}


async def ask_what_if(call: Call) -> Reply:
    """Ask what would have happened."""
    service, viewer, sent = call.service, viewer_of(call), call.query
    made = (await service.running(call.path["name"])).experiment
    seen = await service.read(look, service, made)
    page = partial(what_if.page, viewer, made.name, made.arms, sent)
    try:
        question = read_question(made, seen.version, sent)
    except (ValueError, TypeError) as error:
        return show(page(error=str(error)), 422)
    if question is None:
        return show(page())
    rule, asked = question
    found = await service.readings.ask(*asked)
    if found is not None and isinstance(found.error, ValueError | TypeError):
        return show(page(error=str(found.error)), 422)
    if found is not None and found.error is not None:
        raise found.error
    as_of = None if found is None else describe_reading(found, seen.version)
    tag = tag_of("what-if", viewer, sorted(sent.items()), found and found.time, as_of)
    known = unchanged(call, tag)
    if known is not None:
        return known
    answer = partial(page, as_of=as_of, waiting=found is None, **_answer(rule, found))
    return show(await service.read(answer), headers={"etag": tag})


Rule = dict[str, float]


def read_question(made: Experiment, version: int, sent: Sent) -> tuple[Rule | None, Asked] | None:
    """What is asked: about a stop rule, or about another way of deciding; and the reading that
    answers it. None if nothing is."""
    rule = {
        name: float(TYPED_OPTIONS[name][1](name, read_text(sent, name)))
        for name in FORMS["stop-rule"].fields
        if read_text(sent, name)
    }
    if len(rule) > 1:
        raise ValueError("one of stop_p_best and stop_loss must be given, got both")
    Options.made(**rule)  # refuses what cannot be one
    if rule:
        return rule, history_of(made, version)
    target, against = read_target(sent, "play"), read_target(sent, "against")
    if target is None:
        return None
    key = ("evaluation", made.name, sent["play"], sent.get("against", ""))
    read = partial(Experiment.evaluate, policy=target, against=against)
    return None, about_log(made, version, key, read)


def _answer(rule: Rule | None, found: Reading | None) -> dict[str, Any]:
    if rule is None:
        return {"found": None if found is None else found.value}
    ((name, limit),) = rule.items()
    read = None if found is None else found.value
    met = None if read is None else what_if.find_stop(read[0], **rule)
    return {"asked_stop": RULES[name].format(limit), "met": met}

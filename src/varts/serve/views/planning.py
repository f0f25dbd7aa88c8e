"""The page of a plan: asked for by its form, made by a job, waited for without any script."""

from __future__ import annotations

from urllib.parse import urlencode

import msgspec

from varts._validation import integer
from varts.live.options import stored_prior
from varts.planning.result import Plan
from varts.serve.bodies import MOST_ARMS
from varts.serve.calls import Call, Reply
from varts.serve.jobs import Job
from varts.serve.pages import Viewer, plan
from varts.serve.pages.forms import FORMS, Sent, read_plan
from varts.serve.plans import MOST_ROUNDS, PlanAsked
from varts.serve.problems import Problem
from varts.serve.views.answers import see, show, tag_of, unchanged, viewer_of

JOB = "plan"  # the field of the address that says which


async def show_plan(call: Call) -> Reply:
    """The form of a plan, with the plan once it is made."""
    viewer = viewer_of(call)
    typed = {name: call.query[name] for name in FORMS["plan"].fields if name in call.query}
    if JOB not in call.query:
        return show(plan.page(viewer, typed or None))
    job = call.service.jobs.find(call.query[JOB])
    tag = tag_of("plan", viewer, typed, job.id, job.status, job.stage, job.done)
    known = unchanged(call, tag)
    return known or show(await call.service.scan(_draw, viewer, typed, job), headers={"etag": tag})


async def ask_for_plan(call: Call) -> Reply:
    """Begin to make a plan, and show how far it is."""
    viewer, sent = viewer_of(call), call.body
    try:
        given = read_plan(sent)
        integer("arms", given["arms"], at_least=1, at_most=MOST_ARMS)
        integer("horizon", given["horizon"], at_least=1, at_most=MOST_ROUNDS)
        asked = PlanAsked(**{**given, "prior": stored_prior(given["prior"])})
        job = call.service.jobs.start(msgspec.to_builtins(asked))
    except (ValueError, TypeError) as error:
        return show(plan.page(viewer, sent, error=str(error)), 422)
    except Problem as problem:
        page = plan.page(viewer, sent, error=problem.detail)
        return show(page, problem.kind.status, problem.headers)
    typed = {name: sent[name] for name in FORMS["plan"].fields if name in sent}
    return see(f"{FORMS['plan'].path}?{urlencode({**typed, JOB: job.id})}")


def _draw(viewer: Viewer, typed: Sent, job: Job) -> str:
    if job.status == "failed":
        return plan.page(viewer, typed, error=job.detail or "the plan was not made")
    if job.plan is None:
        return plan.page(viewer, typed, done=job.done or 0.0, stage=job.stage)
    return plan.page(viewer, typed, found=Plan.from_json(job.plan.decode()))

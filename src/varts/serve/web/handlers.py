"""The handlers of the pages: they collect what a page shows and send it.

A page that hasn't changed isn't drawn again: one small transaction tells. Results that need the
whole log come from the background worker and may be a little old.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from varts._validation import abbreviate, choice, integer
from varts.live import (
    Experiment,
    History,
    LiveError,
    Report,
    Store,
    UnknownExperiment,
)
from varts.live.core.state import State
from varts.live.options import TYPED_OPTIONS, Options, stored_prior
from varts.live.report.report import report_of
from varts.live.store.store import Activity
from varts.planning.result import Plan
from varts.planning.timetable import read_timetable
from varts.serve import commands
from varts.serve.api.plans import MOST_ROUNDS, PlanAsked
from varts.serve.auth import Actor
from varts.serve.background import Answer, Background, Job, Key, Moment
from varts.serve.errors import Problem, problem_of, refusing
from varts.serve.responses import not_modified
from varts.serve.runtime import Service
from varts.serve.schemas import MOST_ARMS
from varts.serve.web import STATIC, experiment, listing, plan, what_if
from varts.serve.web.charts.timeseries import Band, moment_text
from varts.serve.web.experiment import AXES, describe_changes
from varts.serve.web.forms import (
    FORMS,
    Sent,
    read_arm,
    read_new,
    read_options,
    read_plan,
    read_plan_in_days,
    read_target,
    read_text,
    read_winner,
)
from varts.serve.web.listing import Listed
from varts.serve.web.render import ago, asset, experiment_path, login_page, refusal_page, standalone

# ---------------------------------------------------------------------------- what all pages share

HTML = "text/html; charset=utf-8"
LOGIN = "/login"
HOME = "/"
_PATH = re.compile(r"/(?![/\\])[\x21-\x7e]*")
_PROCESS = secrets.token_hex(8)  # another process may have other templates


def viewer_of(request: Request) -> Actor:
    """The actor that a page is for; nobody gets buttons where nothing can be changed."""
    actor: Actor = request.state.actor
    if request.app.state.service.store.read_only:
        return actor._replace(scopes=frozenset({"read"}))
    return actor


def show(html: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A page."""
    return HTMLResponse(html, status, headers)


def see(path: str, cookie: str | None = None) -> Response:
    """Another page, which the browser asks for."""
    headers = {} if cookie is None else {"set-cookie": cookie}
    return Response(status_code=303, headers={"location": path, **headers})


def tag_of(*parts: object) -> str:
    """The ETag of a page that is made from these parts."""
    return hashlib.sha256(repr((_PROCESS, parts)).encode()).hexdigest()[:32]


def tagged(html: str, tag: str) -> Response:
    """A page with its ETag."""
    return show(html, headers={"etag": f'"{tag}"'})


def own_path(text: str) -> str:
    """A path of this service; whatever leads elsewhere is the first page.

    >>> own_path("/experiments/a%20b?by=time"), own_path("//evil.example"), own_path("/\\\\evil")
    ('/experiments/a%20b?by=time', '/', '/')
    """
    return text if _PATH.fullmatch(text) else HOME


def refuse(problem: Problem, request: Request) -> Response:
    """A problem as a page. Without a session, it asks to log in and then continues.

    Args:
        problem: The problem.
        request: The request that failed.
    """
    path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
    asked, reads = f"{path}?{query}" if query else path, request.method in ("GET", "HEAD")
    if problem.slug == "unauthorized":
        if reads:
            return see(f"{LOGIN}?next={quote(own_path(asked), safe='')}")
        said = "your session has ended and nothing was changed; log in again"
        return show(login_page(HOME, said), problem.kind.status, problem.headers)
    if problem.kind.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        back = own_path(asked) if reads else HOME
    else:
        back = HOME if asked != HOME else LOGIN
    page = refusal_page(None, problem.kind.title, problem.detail, back)
    return show(page, problem.kind.status, problem.headers)


def refusal_of(error: Problem | LiveError) -> Problem:
    """Why a form was refused, to be shown above it; raises errors that aren't about the form."""
    problem = problem_of(error)
    if problem.kind.status >= HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(
        error, UnknownExperiment
    ):
        raise error
    return problem


# ------------------------------------------------------------------------------ logging in and out


async def show_login(request: Request) -> Response:
    """Ask for a token, or begin a session with the one-time link that `varts serve` prints."""
    auth, query = request.app.state.auth, request.state.query
    path = own_path(query.get("next", HOME))
    if auth.tokens is None:
        return see(path)
    if "once" not in query:
        return show(login_page(path))
    token = auth.sessions.spend_link(query["once"], auth.tokens)
    if token is None:
        raise Problem("forbidden", "this link was used before, or another service printed it")
    return see(path, auth.sessions.header(token))


async def log_in(request: Request) -> Response:
    """Begin a browser session with a token."""
    auth, sent = request.app.state.auth, request.state.body
    path = own_path(sent.get("next", HOME))
    if auth.tokens is None:
        return see(path)
    token = auth.tokens.find(sent.get("token", "").strip())
    if token is None or token.public:
        return show(login_page(path, "this token can't be used to log in"), 403)
    if not token.may("read"):
        return show(login_page(path, f"the token {token.name} lacks the scope read"), 403)
    return see(path, auth.sessions.header(token))


async def log_out(request: Request) -> Response:
    """End the browser session."""
    return see(LOGIN, request.app.state.auth.sessions.ending())


if TYPE_CHECKING:
    import polars as pl

EXPERIMENTS_PER_PAGE = 100
# The columns of a history that the page shows.
COLUMNS = (
    *("time", "rewards", "arm", "p_best", "expected_loss", "traffic"),
    *("n", "cumulative_reward", "nonzero", "aggregated"),
)
MOST_SHOWN = 200  # changes
Asked = tuple[Key, Callable[[Experiment], Any]]  # a question, and what answers it


# ------------------------------------------------------------------------------ the list


async def list_experiments(request: Request) -> Response:
    """The experiments, and how far each is."""
    service, viewer = request.app.state.service, viewer_of(request)
    after, query = request.state.query.get("after"), read_text(request.state.query, "q")

    def covers(name: str, options: Options) -> bool:
        return viewer.covers(name) and listing.matches(name, options, query)

    rows = await service.read(_list, service.store, service.background, covers, after)
    now = datetime.now(UTC)
    shown, more = rows[:EXPERIMENTS_PER_PAGE], len(rows) > EXPERIMENTS_PER_PAGE
    ages = [ago(one.last_reward, now) for one in shown]
    tag = tag_of("list", viewer.name, viewer.scopes, query, shown, more, ages)
    known = not_modified(request, tag)
    return known or tagged(listing.page(viewer, shown, now, more, query), tag)


def _list(
    store: Store,
    background: Background,
    covers: Callable[[str, Options], bool],
    after: str | None,
) -> list[Listed]:
    """The rows of a page of the list, and one more if there is another page."""
    rows: list[Listed] = []
    while len(rows) <= EXPERIMENTS_PER_PAGE:
        states = store.states(after, EXPERIMENTS_PER_PAGE)
        if not states:
            break
        after = list(states)[-1]
        asked = [name for name, state in states.items() if covers(name, state.config.options)]
        busy = store.activities(asked)
        for name, activity in busy.items():
            row = partial(_row, name, states[name], activity)
            rows.append(background.remember((name, "row"), (states[name], activity), row))
    return rows


def _row(name: str, state: State, activity: Activity) -> Listed:
    return Listed.of(report_of(name, state, activity.traffic), activity.last_reward)


# ------------------------------------------------------------------------------ one experiment


async def show_experiment(request: Request) -> Response:
    """The page of an experiment."""
    return await _show(request, request.state.query.get("by", "rewards"))


async def _show(
    request: Request,
    by: str = "rewards",
    status: int = 200,
    error: str | None = None,
    sent: Sent | None = None,
) -> Response:
    """The page of an experiment; after a refused form, with why, and with what had been typed."""
    service: Service = request.app.state.service
    viewer = viewer_of(request)
    with refusing():
        choice("by", by, AXES)
    made = (await service.running(request.path_params["name"])).experiment
    name, background = made.name, service.background
    seen = await service.read(background.look, name)
    history, checked = await asyncio.gather(
        background.ask((name, "curves"), seen.moment, read_history),
        background.ask(
            (name, "check"), seen.moment, commands.read_checks, max_age=commands.CHECK_SECONDS
        ),
    )
    now, created = datetime.now(UTC), seen.changes[0].time
    as_of = describe_answer(history, seen.moment)
    tested = None if checked is None else [one.sentence for one in checked.value or ()]
    age = ago(created, now)
    tag = tag_of("experiment", viewer.name, viewer.scopes, by, seen, as_of, tested, age)
    if error is None and (known := not_modified(request, tag)) is not None:
        return known

    curves, gain = (None, None) if history is None else history.value or (None, None)

    def draw() -> str:
        found: Report = made.report(settle=False)
        return experiment.page(
            viewer,
            found,
            revision=found.state.tag,
            now=now,
            created=created,
            history=curves,
            gain=gain,
            as_of=as_of,
            checks=None if checked is None else checked.value,
            changes=describe_changes(seen.changes)[:MOST_SHOWN],
            by=by,
            error=error,
            sent=sent,
        )

    html = await service.read(draw)
    return tagged(html, tag) if error is None else show(html, status)


async def download(request: Request) -> Response:
    """Send the table of the arms as CSV, or a chart as SVG."""
    service: Service = request.app.state.service
    name, file = request.path_params["name"], request.path_params["file"]
    made = (await service.running(name)).experiment
    found = await service.read(partial(made.report, settle=False))
    if file == "arms.csv":
        body, kind = experiment.arms_csv(found), "text/csv"
    else:
        moment = await service.read(service.background.moment, made.name)
        history = await service.background.ask((made.name, "curves"), moment, read_history)
        curves, gain = (None, None) if history is None else history.value or (None, None)
        with refusing():
            drawn = experiment.charts(found, curves, gain, request.state.query.get("by", "rewards"))
        pictures = {f"{chart.key}.svg": chart.svg for chart in drawn if chart.svg}
        if file not in pictures:
            raise Problem("not-found", "there is no file with this name")
        body, kind = standalone(pictures[file]), SVG
    saved = f"attachment; filename*=UTF-8''{quote(name, safe='')}-{file}"
    headers = {"content-disposition": saved, "cache-control": "no-store"}
    return Response(body, media_type=kind, headers=headers)


def read_history(made: Experiment) -> tuple[pl.DataFrame, Band | None]:
    """The parts of a history that the page draws: its curves, and the gain over the holdout."""
    found = made.history(settle=False)
    return found.frame.select(COLUMNS), gain_of(found)


def gain_of(history: History) -> Band | None:
    """The gain over the holdout at each of the moments that are drawn; None without a holdout."""
    moments = history.frame.select("checkpoint", "time", "rewards").unique(
        ["time", "rewards"], keep="last", maintain_order=True
    )
    gains = [history.gains[number - 1] for number in moments["checkpoint"]]
    if all(one is None for one in gains):
        return None
    rows = [
        (np.nan,) * 3 if one is None else (one.total, one.total_low, one.total_high)
        for one in gains
    ]
    return Band(*np.array(rows, dtype=np.float64).T)


def describe_answer(found: Answer | None, moment: Moment) -> str | None:
    """As of when the curves are; None if they are those of the log as it is now."""
    if found is None:
        return "reading the log for the charts; they will appear here"
    if isinstance(found.error, Problem):
        return f"the charts can't be drawn: {found.error.detail}"
    if found.error is not None:
        return "the log can't be read for the charts; run varts experiment verify to find out why"
    if found.moment == moment:
        return None
    return f"numbers from the log are as of {moment_text(found.time)} UTC; a refresh is on its way"


# -------------------------------------------------------------------------------- a new experiment

SVG = "image/svg+xml"


async def show_form(request: Request) -> Response:
    """The form for a new experiment."""
    return show(plan.create_page(viewer_of(request), request.state.query or None))


async def create_experiment(request: Request) -> Response:
    """Make the experiment that the form asks for, or say above it what is wrong."""
    service, actor, sent = request.app.state.service, request.state.actor, request.state.body
    try:
        with refusing():
            new = read_new(sent)
        await commands.create(service, actor, new.name, new.arms, new.options, must_be_new=True)
    except (Problem, LiveError) as error:
        problem = refusal_of(error)
        return show(plan.create_page(viewer_of(request), sent, problem.detail), 422)
    return see(experiment_path(new.name))


async def draw_prior(request: Request) -> Response:
    """The picture of a prior that is described in a form."""
    try:
        with refusing():
            return Response(plan.prior_svg(request.state.query), media_type=SVG)
    except Problem as problem:
        raise Problem("invalid", problem.detail) from None


# -------------------------------------------------------------------------------- changes by forms

FIRST = (
    "somebody changed the experiment after you opened this page, so your change wasn't made; check "
    "the page as it is now and try again"
)

Command = Callable[[Service, Actor, str, Sent, commands.Note], Awaitable[None]]


async def _configure(
    service: Service, actor: Actor, name: str, sent: Sent, note: commands.Note
) -> None:
    with refusing():
        options = read_options(sent, "configure")
    await commands.configure(service, actor, name, options, note)


async def _stop(service: Service, actor: Actor, name: str, sent: Sent, note: commands.Note) -> None:
    with refusing():
        winner = read_winner(sent)
    await commands.stop(service, actor, name, winner, note)


CHANGES: dict[str, Command] = {
    "pause": lambda service, actor, name, sent, note: commands.pause_arm(
        service, actor, name, read_arm(sent), note
    ),
    "resume": lambda service, actor, name, sent, note: commands.resume_arm(
        service, actor, name, read_arm(sent), note
    ),
    "add": lambda service, actor, name, sent, note: commands.add_arm(
        service, actor, name, read_text(sent, "arm"), note
    ),
    "configure": _configure,
    "stop": _stop,
    "restart": lambda service, actor, name, sent, note: commands.restart(
        service, actor, name, note
    ),
}


def changing(form: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of one of the forms of `CHANGES`."""

    async def change(request: Request) -> Response:
        """Change an experiment as its page asks.

        The form says which configuration its page showed. If somebody was first,
        nothing is changed, and the page comes again as it is now.
        """
        service, actor, sent = request.app.state.service, request.state.actor, request.state.body
        name = request.path_params["name"]
        try:
            with refusing():
                why, expected = read_text(sent, "why") or None, read_revision(sent)
                known: commands.Note = {"why": why, "expected": expected}
                command = CHANGES[form](service, actor, name, sent, known)
            await command
        except (Problem, LiveError) as error:
            problem, kept = refusal_of(error), sent if form == "configure" else None
            if problem.slug == "changed":
                return await _show(request, status=412, error=FIRST)
            return await _show(request, status=422, error=problem.detail, sent=kept)
        return see(experiment_path(name))

    return change


def read_revision(sent: Sent) -> int | str:
    """The configuration that a page showed: its tag, or the number of its revision.

    >>> read_revision({"revision": "17-5eed"}), read_revision({"revision": "17"})
    ('17-5eed', 17)
    """
    typed = sent.get("revision", "")
    if not re.fullmatch(r"[0-9]{1,19}(-[0-9a-f]{1,16})?", typed):
        raise ValueError(f"revision must be one of the experiment, got {abbreviate(typed)}")
    return typed if "-" in typed else integer("revision", int(typed), at_least=1)


# ------------------------------------------------------------------------ what would have happened

RULES = {"stop_p_best": "P(best) of {:g}", "stop_loss": "An expected loss of {:g}"}


async def ask_what_if(request: Request) -> Response:
    """Ask what would have happened."""
    service: Service = request.app.state.service
    viewer, sent = viewer_of(request), request.state.query
    made = (await service.running(request.path_params["name"])).experiment
    name, background = made.name, service.background
    moment = await service.read(background.moment, name)
    page = partial(what_if.page, viewer, made.name, made.arms, sent)
    try:
        with refusing():
            question = read_question(sent)
    except Problem as problem:
        return show(page(error=problem.detail), problem.kind.status)
    if question is None:
        return show(page())
    rule, (asked, read) = question
    found = await background.ask((name, *asked), moment, read)
    if found is not None:
        try:
            found.get()
        except (Problem, LiveError) as error:
            refused = refusal_of(error)
            return show(page(error=refused.detail), refused.kind.status)
    as_of = None if found is None else describe_answer(found, moment)
    answered = found and found.time
    tag = tag_of("what-if", viewer.name, viewer.scopes, sorted(sent.items()), answered, as_of)
    known = not_modified(request, tag)
    if known is not None:
        return known
    answer = partial(page, as_of=as_of, waiting=found is None, **_answer(rule, found))
    return tagged(await service.read(answer), tag)


Rule = dict[str, float]


def read_question(sent: Sent) -> tuple[Rule | None, Asked] | None:
    """The question about a stop rule or another way of deciding; None if there isn't one."""
    rule = {
        name: float(TYPED_OPTIONS[name][1](name, read_text(sent, name)))
        for name in FORMS["stop-rule"].fields
        if read_text(sent, name)
    }
    if len(rule) > 1:
        raise ValueError("one of stop_p_best and stop_loss must be given, got both")
    Options.made(**rule)  # refuses what cannot be one
    if rule:
        return rule, (("curves",), read_history)
    target, against = read_target(sent, "play"), read_target(sent, "against")
    if target is None:
        return None
    return None, commands.evaluation_of(target, against)


def _answer(rule: Rule | None, found: Answer | None) -> dict[str, Any]:
    if rule is None:
        return {"found": None if found is None else found.value}
    ((name, limit),) = rule.items()
    read = None if found is None else found.value
    met = None if read is None else what_if.find_stop(read[0], **rule)
    return {"asked_stop": RULES[name].format(limit), "met": met}


# ------------------------------------------------------------------------------------------- plans

JOB = "plan"  # the field of the address that says which


async def show_plan(request: Request) -> Response:
    """The form of a plan, with the plan once it is made."""
    service: Service = request.app.state.service
    viewer, query = viewer_of(request), request.state.query
    typed = {name: query[name] for name in FORMS["plan"].fields if name in query}
    if JOB not in query:
        return show(plan.page(viewer, typed or None))
    job = service.background.find_plan(query[JOB])
    state = job.id, job.status, job.stage, job.done
    tag = tag_of("plan", viewer.name, viewer.scopes, typed, *state)
    known = not_modified(request, tag)
    return known or tagged(await service.read(_draw, viewer, typed, job), tag)


async def ask_for_plan(request: Request) -> Response:
    """Begin to make a plan, and show how far it is."""
    viewer, sent = viewer_of(request), request.state.body
    try:
        with refusing():
            asked = _plan_in_days(sent) if sent.get("traffic", "").strip() else _plan(sent)
        job = request.app.state.service.background.start_plan(asked)
    except Problem as problem:
        page = plan.page(viewer, sent, error=problem.detail)
        return show(page, problem.kind.status, problem.headers)
    typed = {name: sent[name] for name in FORMS["plan"].fields if name in sent}
    return see(f"{FORMS['plan'].path}?{urlencode({**typed, JOB: job.id})}")


def _plan(sent: Sent) -> dict[str, Any]:
    """The arguments of a plan in rounds."""
    given = read_plan(sent)
    integer("arms", given["arms"], at_least=1, at_most=MOST_ARMS)
    integer("horizon", given["horizon"], at_least=1, at_most=MOST_ROUNDS)
    asked = PlanAsked(**{**given, "prior": stored_prior(given["prior"])})
    made: dict[str, Any] = msgspec.to_builtins(asked)
    return made


def _plan_in_days(sent: Sent) -> dict[str, Any]:
    """The arguments of a plan in days, of which the most that it may simulate is limited."""
    given = read_plan_in_days(sent)
    integer("arms", given["arms"], at_least=2, at_most=MOST_ARMS)
    table = read_timetable(given["traffic"], given["days"], given.get("window"))
    if table.horizon > MOST_ROUNDS:
        raise ValueError(
            f"traffic times days must be at most {MOST_ROUNDS:,} decisions on this page, got "
            f"{table.horizon:,}; varts plan --traffic has no limit"
        )
    return {**given, "prior": stored_prior(given["prior"])}


def _draw(viewer: Actor, typed: Sent, job: Job) -> str:
    if job.status == "failed":
        return plan.page(viewer, typed, error=job.detail or "the plan was not made")
    if job.plan is None:
        return plan.page(viewer, typed, done=job.done or 0.0, stage=job.stage)
    if "traffic" in typed and typed["traffic"].strip():
        return plan.page(viewer, typed, in_days=json.loads(job.plan))
    return plan.page(viewer, typed, found=Plan.from_json(job.plan.decode()))


# -------------------------------------------------------------------------- files beside the pages

FOREVER = "public, max-age=31536000, immutable"


class StaticPages(StaticFiles):
    """The files beside the pages. A changed file gets another address, so browsers may keep them
    for as long as they like."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """A file."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        version = asset(Path(full_path).name).rpartition("?")[2]
        lasting = scope["query_string"] == version.encode()
        response.headers["cache-control"] = FOREVER if lasting else "no-cache"
        return response

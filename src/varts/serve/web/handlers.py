"""The pages over HTTP: what `varts.serve.web` draws, with what it is drawn from.

A page that has not changed is not made again: its tag is known from three small queries. What takes
a whole log to know is the latest reading of it, as of some time ago.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from varts._validation import integer
from varts.live import (
    ChangeRecord,
    Experiment,
    History,
    LiveError,
    Report,
    Store,
    UnknownExperiment,
)
from varts.live.options import TYPED_OPTIONS, Options, stored_prior
from varts.live.report.report import report_of
from varts.live.store.store import Activity
from varts.planning.result import Plan
from varts.serve import commands
from varts.serve.auth import Actor
from varts.serve.errors import Problem, problem_of, refusing
from varts.serve.jobs import Job
from varts.serve.long_logs import is_long, reading
from varts.serve.plans import MOST_ROUNDS, PlanAsked
from varts.serve.readings import Reading
from varts.serve.responses import not_modified
from varts.serve.runtime import Service
from varts.serve.schemas import MOST_ARMS
from varts.serve.web import STATIC, experiment, listing, plan, what_if
from varts.serve.web.charts.timeseries import Band, moment_text
from varts.serve.web.experiment import describe_changes
from varts.serve.web.forms import (
    FORMS,
    Sent,
    read_arm,
    read_new,
    read_options,
    read_plan,
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
_PROCESS = secrets.token_hex(8)  # the templates of another one may differ


def viewer_of(request: Request) -> Actor:
    """Who looks at a page; nobody gets buttons where nothing can be changed."""
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
    """A problem as a page; whoever isn't logged in is asked to log in and then continues.

    Args:
        problem: The problem.
        request: The request that failed.
    """
    path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
    asked, reads = f"{path}?{query}" if query else path, request.method in ("GET", "HEAD")
    if problem.slug == "unauthorized":
        if reads:
            return see(f"{LOGIN}?next={quote(own_path(asked), safe='')}")
        said = "the session is over and nothing was changed; log in again"
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
# What the page shows of a history.
COLUMNS = (
    *("time", "rewards", "arm", "p_best", "expected_loss", "traffic"),
    *("n", "cumulative_reward", "nonzero"),
)
MOST_SHOWN = 200  # changes
Asked = tuple[tuple[str, ...], int, Callable[[], Any], bool]
# The list's rows, with what they were made from: a report takes milliseconds, and there are many.
_rows: WeakKeyDictionary[Store, dict[str, tuple[Any, Listed]]] = WeakKeyDictionary()


# ------------------------------------------------------------------------------ the list


async def list_experiments(request: Request) -> Response:
    """The experiments, and how far each is."""
    service, viewer = request.app.state.service, viewer_of(request)
    after, query = request.state.query.get("after"), read_text(request.state.query, "q")
    rows = await service.read(_list, service.store, viewer.covers, after, query)
    now = datetime.now(UTC)
    shown, more = rows[:EXPERIMENTS_PER_PAGE], len(rows) > EXPERIMENTS_PER_PAGE
    ages = [ago(one.last_reward, now) for one in shown]
    tag = tag_of("list", viewer.name, viewer.scopes, query, shown, more, ages)
    known = not_modified(request, tag)
    return known or tagged(listing.page(viewer, shown, now, more, query), tag)


def _list(
    store: Store, covers: Callable[[str], bool], after: str | None, query: str
) -> list[Listed]:
    """The rows of a page of the list, and one more if there is another page."""
    rows: list[Listed] = []
    kept = _rows.setdefault(store, {})
    while len(rows) <= EXPERIMENTS_PER_PAGE:
        states = store.states(after, EXPERIMENTS_PER_PAGE)
        if not states:
            break
        after = list(states)[-1]
        asked = [
            name
            for name, state in states.items()
            if covers(name) and listing.matches(name, state.config.options, query)
        ]
        busy = store.activities(asked)
        for name, activity in busy.items():
            # States, not their versions: the experiment may be another one of the same name.
            now = states[name], activity
            known = kept.get(name)
            if known is None or known[0] != now:
                found = report_of(name, states[name], activity.traffic)
                known = kept[name] = now, Listed.of(found, activity.last_reward)
            rows.append(known[1])
    return rows


# ------------------------------------------------------------------------------ one experiment


class Seen(NamedTuple):
    """How far an experiment is."""

    version: int
    revision: int
    activity: Activity
    changes: list[ChangeRecord]


async def show_experiment(request: Request) -> Response:
    """What an experiment has learnt, how it got there, and what can be changed."""
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
    made = (await service.running(request.path_params["name"])).experiment
    seen = await service.read(look, service, made)
    history, checked = await asyncio.gather(
        service.readings.ask(*history_of(made, seen.version)),
        service.readings.ask(*about_log(made, seen.version, ("check", made.name), read_checks)),
    )
    now, created = datetime.now(UTC), seen.changes[0].time
    as_of = describe_reading(history, seen.version)
    tested = None if checked is None else checked.version
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
            revision=found.state.revision,
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
        seen = await service.read(look, service, made)
        history = await service.readings.ask(*history_of(made, seen.version))
        curves, gain = (None, None) if history is None else history.value or (None, None)
        with refusing():
            drawn = experiment.charts(found, curves, gain, request.state.query.get("by", "rewards"))
        pictures = {f"{chart.key}.svg": chart.svg for chart in drawn if chart.svg}
        if file not in pictures:
            raise Problem("not-found", "there is no such file")
        body, kind = standalone(pictures[file]), SVG
    saved = f"attachment; filename*=UTF-8''{quote(name, safe='')}-{file}"
    headers = {"content-disposition": saved, "cache-control": "no-store"}
    return Response(body, media_type=kind, headers=headers)


def look(service: Service, made: Experiment) -> Seen:
    """How far an experiment is, from a few rows."""
    row = service.store.find(made.name)
    if row is None:
        raise UnknownExperiment(f"unknown experiment {made.name!r}")
    activity = service.store.activities([made.name])[made.name]
    return Seen(row.version, row.revision, activity, service.chronicles.read(made))


def history_of(made: Experiment, version: int) -> Asked:
    """The reading of an experiment's history."""
    return about_log(made, version, ("history", made.name), read_history)


def about_log(
    made: Experiment, version: int, key: tuple[str, ...], read: Callable[[Experiment], Any]
) -> Asked:
    """A reading of an experiment's log, as `Readings.ask` takes it."""
    return key, version, reading(made, version, read), not is_long(made, version)


def read_history(made: Experiment) -> tuple[pl.DataFrame, Band | None]:
    """What is drawn of a history: its curves, and the gain over the holdout."""
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


def read_checks(made: Experiment) -> Any:
    """What the checks of rewards and decisions find."""
    return made.check(settle=False)


def describe_reading(found: Reading | None, version: int) -> str | None:
    """As of when a reading is; None if it is that of the log as it is now."""
    if found is None:
        return "the log is being read for the curves, which will be here"
    if found.error is not None:
        return "the log could not be read for the curves; varts experiment verify tells more"
    if found.version == version:
        return None
    return (
        f"what comes from the log is as of {moment_text(found.time)} UTC; it is read every so often"
    )


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
        return show(plan.create_page(viewer_of(request), sent, problem.detail), problem.kind.status)
    return see(experiment_path(new.name))


async def draw_prior(request: Request) -> Response:
    """The picture of a prior in words."""
    try:
        with refusing():
            return Response(plan.prior_svg(request.state.query), media_type=SVG)
    except Problem as problem:
        raise Problem("invalid", problem.detail) from None


# -------------------------------------------------------------------------------- changes by forms

FIRST = "somebody was first: the experiment was changed after this page was made; look again"

Command = Callable[[Service, Actor, str, Sent, commands.Note], Awaitable[None]]


async def _configure(
    service: Service, actor: Actor, name: str, sent: Sent, note: commands.Note
) -> None:
    with refusing():
        options = read_options(sent, "configure")
    await commands.configure(service, actor, name, options, **note)


CHANGES: dict[str, Command] = {
    "pause": lambda service, actor, name, sent, note: commands.pause_arm(
        service, actor, name, read_arm(sent), **note
    ),
    "resume": lambda service, actor, name, sent, note: commands.resume_arm(
        service, actor, name, read_arm(sent), **note
    ),
    "add": lambda service, actor, name, sent, note: commands.add_arm(
        service, actor, name, read_text(sent, "arm"), **note
    ),
    "configure": _configure,
    "stop": lambda service, actor, name, sent, note: commands.stop(
        service, actor, name, read_winner(sent), **note
    ),
    "restart": lambda service, actor, name, sent, note: commands.restart(
        service, actor, name, **note
    ),
}


def changing(form: str) -> Callable[[Request], Awaitable[Response]]:
    """What answers one of the forms of `CHANGES`."""

    async def change(request: Request) -> Response:
        """Change an experiment as its page asks.

        The form says which revision of the experiment its page showed. If somebody was first,
        nothing is changed, and the page comes again as it is now.
        """
        service, actor, sent = request.app.state.service, request.state.actor, request.state.body
        name = request.path_params["name"]
        try:
            with refusing():
                why, expected = read_text(sent, "why") or None, read_revision(sent)
            await CHANGES[form](service, actor, name, sent, {"why": why, "expected": expected})
        except (Problem, LiveError) as error:
            problem, kept = refusal_of(error), sent if form == "configure" else None
            said = FIRST if problem.slug == "changed" else problem.detail
            return await _show(request, "rewards", problem.kind.status, said, kept)
        return see(experiment_path(name))

    return change


def read_revision(sent: Sent) -> int:
    """The revision that a page showed.

    >>> read_revision({"revision": "17"})
    17
    """
    typed = sent.get("revision", "")
    if not (typed.isascii() and typed.isdigit() and len(typed) < 20):
        raise ValueError(f"revision must be that of the experiment, got {typed[:20]!r}")
    return integer("revision", int(typed), at_least=1)


# ------------------------------------------------------------------------ what would have happened

RULES = {"stop_p_best": "P(best) of {:g}", "stop_loss": "An expected loss of {:g}"}


async def ask_what_if(request: Request) -> Response:
    """Ask what would have happened."""
    service: Service = request.app.state.service
    viewer, sent = viewer_of(request), request.state.query
    made = (await service.running(request.path_params["name"])).experiment
    seen = await service.read(look, service, made)
    page = partial(what_if.page, viewer, made.name, made.arms, sent)
    try:
        with refusing():
            question = read_question(made, seen.version, sent)
    except Problem as problem:
        return show(page(error=problem.detail), problem.kind.status)
    if question is None:
        return show(page())
    rule, asked = question
    found = await service.readings.ask(*asked)
    if found is not None and found.error is not None:
        try:
            with refusing():
                raise found.error
        except (Problem, LiveError) as error:
            refused = refusal_of(error)
            return show(page(error=refused.detail), refused.kind.status)
    as_of = None if found is None else describe_reading(found, seen.version)
    answered = found and found.time
    tag = tag_of("what-if", viewer.name, viewer.scopes, sorted(sent.items()), answered, as_of)
    known = not_modified(request, tag)
    if known is not None:
        return known
    answer = partial(page, as_of=as_of, waiting=found is None, **_answer(rule, found))
    return tagged(await service.read(answer), tag)


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


# ------------------------------------------------------------------------------------------- plans

JOB = "plan"  # the field of the address that says which


async def show_plan(request: Request) -> Response:
    """The form of a plan, with the plan once it is made."""
    service: Service = request.app.state.service
    viewer, query = viewer_of(request), request.state.query
    typed = {name: query[name] for name in FORMS["plan"].fields if name in query}
    if JOB not in query:
        return show(plan.page(viewer, typed or None))
    job = service.jobs.find(query[JOB])
    state = job.id, job.status, job.stage, job.done
    tag = tag_of("plan", viewer.name, viewer.scopes, typed, *state)
    known = not_modified(request, tag)
    return known or tagged(await service.scan(_draw, viewer, typed, job), tag)


async def ask_for_plan(request: Request) -> Response:
    """Begin to make a plan, and show how far it is."""
    viewer, sent = viewer_of(request), request.state.body
    try:
        with refusing():
            given = read_plan(sent)
            integer("arms", given["arms"], at_least=1, at_most=MOST_ARMS)
            integer("horizon", given["horizon"], at_least=1, at_most=MOST_ROUNDS)
            asked = PlanAsked(**{**given, "prior": stored_prior(given["prior"])})
        job = request.app.state.service.jobs.start(msgspec.to_builtins(asked))
    except Problem as problem:
        page = plan.page(viewer, sent, error=problem.detail)
        return show(page, problem.kind.status, problem.headers)
    typed = {name: sent[name] for name in FORMS["plan"].fields if name in sent}
    return see(f"{FORMS['plan'].path}?{urlencode({**typed, JOB: job.id})}")


def _draw(viewer: Actor, typed: Sent, job: Job) -> str:
    if job.status == "failed":
        return plan.page(viewer, typed, error=job.detail or "the plan was not made")
    if job.plan is None:
        return plan.page(viewer, typed, done=job.done or 0.0, stage=job.stage)
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

"""The pages over HTTP: what `varts.serve.web` draws, with what it is drawn from.

A page that has not changed is not made again: its tag is known from three small queries. What takes
a whole log to know is the latest reading of it, as of some time ago.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from varts._validation import abbreviate, integer
from varts.live import Changed, ChangeRecord, Experiment, History, Report, Store, UnknownExperiment
from varts.live.experiment import Note, open_experiment
from varts.live.options import TYPED_OPTIONS, Options, stored_prior
from varts.live.report.report import report_of
from varts.live.store.store import Activity
from varts.planning.result import Plan
from varts.serve.calls import Call, Reply, tell_change
from varts.serve.errors import Problem
from varts.serve.jobs import Job
from varts.serve.long_logs import is_long, reading
from varts.serve.plans import MOST_ROUNDS, PlanAsked
from varts.serve.readings import Reading
from varts.serve.runtime import Service
from varts.serve.schemas import MOST_ARMS
from varts.serve.web import (
    ANYBODY,
    STATIC,
    Viewer,
    experiment,
    listing,
    plan,
    what_if,
)
from varts.serve.web.charts.timeseries import Band, moment_text
from varts.serve.web.experiment import describe_changes
from varts.serve.web.forms import (
    FORMS,
    NAME_RULE,
    NewExperiment,
    Sent,
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


def viewer_of(call: Call) -> Viewer:
    """Who looks at a page; nobody has buttons where nothing can be changed."""
    token = call.caller.token
    viewer = ANYBODY if token is None else Viewer(token.name, frozenset(token.scopes))
    return Viewer(viewer.name, frozenset({"read"})) if call.service.store.read_only else viewer


def show(html: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A page."""
    return Reply(html.encode(), status, dict(headers or {}), HTML)


def see(path: str, cookie: str | None = None) -> Reply:
    """Another page, which the browser asks for."""
    headers = {"location": path} if cookie is None else {"location": path, "set-cookie": cookie}
    return Reply(status=303, headers=headers)


def tag_of(*parts: object) -> str:
    """The ETag of what is made of these parts."""
    return f'"{hashlib.sha256(repr((_PROCESS, parts)).encode()).hexdigest()[:32]}"'


def unchanged(call: Call, tag: str) -> Reply | None:
    """The answer to who has the page of this tag already."""
    known = call.headers.get("if-none-match") == tag
    return Reply(status=304, headers={"etag": tag}) if known else None


def own_path(text: str) -> str:
    """A path of this service; whatever leads elsewhere is the first page.

    >>> own_path("/experiments/a%20b?by=time"), own_path("//evil.example"), own_path("/\\\\evil")
    ('/experiments/a%20b?by=time', '/', '/')
    """
    return text if _PATH.fullmatch(text) else HOME


def refuse(problem: Problem, method: str, path: str) -> Reply:
    """A problem as a page; who is not logged in is asked to, and then goes on.

    Args:
        problem: It.
        method: That of the request.
        path: What was asked for, with what follows it.
    """
    if problem.slug == "unauthorized":
        if method in ("GET", "HEAD"):
            return see(f"{LOGIN}?next={quote(own_path(path), safe='')}")
        said = "the session is over and nothing was changed; log in again"
        return show(login_page(HOME, said), problem.kind.status, problem.headers)
    if problem.kind.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        back = own_path(path) if method in ("GET", "HEAD") else HOME
    else:
        back = HOME if path != HOME else LOGIN
    page = refusal_page(None, problem.kind.title, problem.detail, back)
    return show(page, problem.kind.status, problem.headers)


# ------------------------------------------------------------------------------ logging in and out


async def show_login(call: Call) -> Reply:
    """Ask for a token, or begin a session with the one-time link that `varts serve` prints."""
    admission = call.admission
    path = own_path(call.query.get("next", HOME))
    if admission.tokens is None:
        return see(path)
    if "once" not in call.query:
        return show(login_page(path))
    token = admission.sessions.spend_link(call.query["once"], admission.tokens)
    if token is None:
        raise Problem("forbidden", "the link was used before, or is none of this service")
    return see(path, admission.sessions.header(token))


async def log_in(call: Call) -> Reply:
    """Begin a browser session with a token."""
    admission = call.admission
    path = own_path(call.body.get("next", HOME))
    if admission.tokens is None:
        return see(path)
    token = admission.tokens.find(call.body.get("token", "").strip())
    if token is None or token.public:
        return show(login_page(path, "this is no token that can log in"), 403)
    if not token.may("read"):
        return show(login_page(path, f"the token {token.name} lacks the scope read"), 403)
    return see(path, admission.sessions.header(token))


async def log_out(call: Call) -> Reply:
    """End the browser session."""
    return see(LOGIN, call.admission.sessions.ending())


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


async def list_experiments(call: Call) -> Reply:
    """The experiments, and how far each is."""
    after, query = call.query.get("after"), read_text(call.query, "q")
    rows = await call.service.read(_list, call.service.store, call.caller.covers, after, query)
    viewer, now = viewer_of(call), datetime.now(UTC)
    shown, more = rows[:EXPERIMENTS_PER_PAGE], len(rows) > EXPERIMENTS_PER_PAGE
    tag = tag_of("list", viewer, query, shown, more, [ago(one.last_reward, now) for one in shown])
    known = unchanged(call, tag)
    return known or show(listing.page(viewer, shown, now, more, query), headers={"etag": tag})


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


async def show_experiment(call: Call) -> Reply:
    """What an experiment has learnt, how it got there, and what can be changed."""
    return await _show(call, call.query.get("by", "rewards"))


async def show_with_error(call: Call, status: int, error: str, sent: Sent | None = None) -> Reply:
    """The same page, with why a change was refused and the options as they were typed."""
    return await _show(call, "rewards", status, error, sent)


async def _show(
    call: Call, by: str, status: int = 200, error: str | None = None, sent: Sent | None = None
) -> Reply:
    service, viewer = call.service, viewer_of(call)
    made = (await service.running(call.path["name"])).experiment
    seen = await service.read(look, service, made)
    history, checked = await asyncio.gather(
        service.readings.ask(*history_of(made, seen.version)),
        service.readings.ask(*about_log(made, seen.version, ("check", made.name), read_checks)),
    )
    now, created = datetime.now(UTC), seen.changes[0].time
    as_of = describe_reading(history, seen.version)
    tested = None if checked is None else checked.version
    tag = tag_of("experiment", viewer, by, seen, as_of, tested, ago(created, now))
    if error is None and (known := unchanged(call, tag)) is not None:
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
    return show(html, status, {} if error else {"etag": tag})


async def download(call: Call) -> Reply:
    """Send the table of the arms as CSV, or a chart as SVG."""
    service, name, file = call.service, call.path["name"], call.path["file"]
    made = (await service.running(name)).experiment
    key, _, suffix = file.rpartition(".")
    if (key, suffix) == ("arms", "csv"):
        found = await service.read(partial(made.report, settle=False))
        body, kind = experiment.arms_csv(found), "text/csv; charset=utf-8"
    else:
        seen = await service.read(look, service, made)
        history = await service.readings.ask(*history_of(made, seen.version))
        curves, gain = (None, None) if history is None else history.value or (None, None)
        found = await service.read(partial(made.report, settle=False))
        by = call.query.get("by", "rewards")
        charts = {one.key: one.svg for one in experiment.charts(found, curves, gain, by)}
        if suffix != "svg" or not charts.get(key):
            raise Problem("not-found", "there is no such file")
        body, kind = standalone(charts[key]), SVG
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}-{file}",
        "cache-control": "no-store",
    }
    return Reply(body.encode(), 200, headers, kind)


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


async def show_form(call: Call) -> Reply:
    """The form for a new experiment."""
    return show(plan.create_page(viewer_of(call), call.query or None))


async def create_experiment(call: Call) -> Reply:
    """Make the experiment that the form asks for, or say above it what is wrong."""
    try:
        asked = read_new(call.body)
        if not call.caller.covers(asked.name):
            raise ValueError(f"name must be one that the token is for, got {asked.name!r}")
        await call.service.write(_create, call.service.store, asked)
    except (ValueError, TypeError) as error:
        return show(plan.create_page(viewer_of(call), call.body, str(error)), 422)
    tell_change(call, "create", None, asked.name)
    return see(experiment_path(asked.name))


def _create(store: Store, asked: NewExperiment) -> None:
    if not re.fullmatch(NAME_RULE, asked.name):
        raise ValueError(
            f"name must be letters, digits, dots and dashes, at most 100, "
            f"got {abbreviate(asked.name)}"
        )
    if store.has(asked.name):
        raise ValueError(f"name must be a new one, got that of an experiment, {asked.name!r}")
    open_experiment(asked.name, asked.arms, store=store, **asked.options)


async def draw_prior(call: Call) -> Reply:
    """The picture of a prior in words."""
    try:
        return Reply(plan.prior_svg(call.query).encode(), media_type=SVG)
    except (ValueError, TypeError) as error:
        raise Problem("invalid", str(error)) from None


# -------------------------------------------------------------------------------- changes by forms

FIRST = "somebody was first: the experiment was changed after this page was made; look again"


def _stop(experiment: Experiment, sent: Sent, known: Note) -> None:
    experiment.stop(read_winner(sent), **known)


def _configure(experiment: Experiment, sent: Sent, known: Note) -> None:
    experiment.configure(**read_options(sent, "configure"), **known)


CHANGES: dict[str, Callable[[Experiment, Sent, Note], None]] = {
    "pause": lambda experiment, sent, known: experiment.pause_arm(sent.get("arm", ""), **known),
    "resume": lambda experiment, sent, known: experiment.resume_arm(sent.get("arm", ""), **known),
    "add": lambda experiment, sent, known: experiment.add_arm(read_text(sent, "arm"), **known),
    "configure": _configure,
    "stop": _stop,
    "restart": lambda experiment, sent, known: experiment.restart(**known),
}


def changing(form: str) -> Callable[[Call], Awaitable[Reply]]:
    """What answers one of the forms of `CHANGES`."""

    async def change(call: Call) -> Reply:
        """Change an experiment as its page asks."""
        return await _change(call, form)

    return change


async def _change(call: Call, form: str) -> Reply:
    name, sent = call.path["name"], call.body
    running = await call.service.running(name)
    try:
        known = Note(
            by=call.caller.name,
            why=read_text(sent, "why") or None,
            expected=read_revision(sent),
        )
        async with running.changing:
            await call.service.write(partial(CHANGES[form], running.experiment, sent, known))
    except Changed:
        return await show_with_error(call, 412, FIRST)
    except (ValueError, TypeError) as error:
        kept = sent if form == "configure" else None
        return await show_with_error(call, 422, str(error), kept)
    tell_change(call, form, known["why"])
    return see(experiment_path(name))


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


# ------------------------------------------------------------------------------------------- plans

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


# -------------------------------------------------------------------------- files beside the pages

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOREVER = "public, max-age=31536000, immutable"


async def send_file(call: Call) -> Reply:
    """A static file."""
    file = next((one for one in STATIC.iterdir() if one.name == call.path["file"]), None)
    if file is None or file.suffix not in TYPES:
        raise Problem("not-found", "there is no such file")
    version = asset(file.name).rpartition("=")[2]
    lasting = call.query.get("v") == version
    tag = f'"{version}"'
    headers = {"etag": tag, "cache-control": FOREVER if lasting else "no-cache"}
    return unchanged(call, tag) or Reply(file.read_bytes(), 200, headers, TYPES[file.suffix])

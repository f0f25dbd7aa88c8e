"""An experiment's analysis over HTTP: its report, history, checks, evaluations, changes, log."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

import varts
from varts._intervals import CONFIDENCE
from varts.live import ChangeRecord, Experiment
from varts.serve import commands
from varts.serve.background import Answer as Found
from varts.serve.background import about
from varts.serve.errors import Problem, refusing
from varts.serve.responses import JSONResponse, encode_json, not_modified, rfc3339
from varts.serve.runtime import Service
from varts.serve.schemas import Answer, Body, EvaluationAsked, Level, Text

if TYPE_CHECKING:
    import polars as pl

    from varts.evaluation.targets import Target

NDJSON = "application/x-ndjson"
LINES_PER_PAGE = 10_000  # of the log; a few megabytes
MOST_STREAMS = 16  # whole logs that are sent at a time: each holds a page in memory
MOST_ROWS = 100_000  # of a history
LARGEST_VERSION = 2**63 - 1  # that a database can keep
Number = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class EventsQuery(Body):
    """Which changes: those after a version."""

    after: Annotated[int, Meta(ge=0, le=LARGEST_VERSION)] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


class HistoryQuery(Body):
    """Which checkpoints: one of `points`, `every_rewards` and `every`."""

    points: Annotated[int, Meta(ge=1, le=1_000)] | None = None
    every_rewards: Number | None = None
    every: Text | None = None
    level: Level = CONFIDENCE


class LogQuery(Body):
    """A part of the log: at most `limit` decisions, after the decision with the id `after`."""

    after: Text | None = None
    limit: Number | None = None


class EventShown(Answer):
    """A change of an experiment, or a correction: what was done, by whom and why."""

    version: int
    time: str
    kind: str
    by: str | None
    why: str | None
    change: dict[str, Any]


class EventsShown(Answer):
    """A page of changes, oldest first; `next` is the `after` of the next one."""

    events: list[EventShown]
    next: int | None


class SplitShown(Answer):
    """The share of the traffic that each arm should get until the next split."""

    shares: dict[str, float]


class AgeShown(Answer):
    """How much of the reward had arrived when decisions were this old, in seconds."""

    age: float
    reward: float
    share: float | None


class AgesShown(Answer):
    """Reward by age, from decisions whose window has closed."""

    ages: list[AgeShown]


class HistoryPoint(Answer):
    """A checkpoint; arms have the columns of `varts.live.History.frame`."""

    time: str
    version: int
    rewards: int
    gain: dict[str, Any] | None
    arms: list[dict[str, Any]]


class HistoryShown(Answer):
    """How an experiment came to where it is; the last checkpoint is the present."""

    name: str
    level: float
    start: str
    by_time: bool
    state: dict[str, Any]
    points: list[HistoryPoint]


def as_of(found: Found) -> dict[str, str]:
    """The header that says as of which version of the log an answer is."""
    return {} if found.moment is None else {"varts-version": str(found.moment.version)}


async def show_report(request: Request) -> Response:
    """Report which arm is best, how sure that is, and whether the stop rule is met."""
    service: Service = request.app.state.service
    level = request.state.query.level
    found = await service.look(
        request.path_params["name"], lambda experiment: experiment.report(level, settle=False)
    )
    body = encode_json(found.to_dict())
    tag = hashlib.sha256(body).hexdigest()[:32]
    known = not_modified(request, tag)
    return JSONResponse(body, headers={"etag": f'"{tag}"'}) if known is None else known


async def show_split(request: Request) -> Response:
    """Show how to split the traffic among the arms, for tools that only accept shares."""
    service: Service = request.app.state.service
    shares = await service.look(
        request.path_params["name"], lambda experiment: experiment.split(settle=False)
    )
    return JSONResponse(SplitShown(shares=shares))


async def check_experiment(request: Request) -> Response:
    """Check rewards and decisions: do they fit the model, and is each one accounted for?"""
    service: Service = request.app.state.service
    found = await service.answer(
        request.path_params["name"],
        ("check",),
        commands.read_checks,
        max_age=commands.CHECK_SECONDS,
    )
    return JSONResponse(found.value.to_dict(), headers=as_of(found))


async def show_reward_by_age(request: Request) -> Response:
    """Show how old decisions are when their rewards arrive."""
    service: Service = request.app.state.service
    found = await service.answer(request.path_params["name"], ("ages",), _read_ages)
    ages = [AgeShown(**row) for row in found.value.to_dicts()]
    return JSONResponse(AgesShown(ages=ages), headers=as_of(found))


def _read_ages(experiment: Experiment) -> pl.DataFrame:
    with refusing():
        return experiment.reward_by_age(settle=False)


async def evaluate_experiment(request: Request) -> Response:
    """Estimate from the log what another way of deciding would have earned."""
    body: EvaluationAsked = request.state.body
    with refusing():
        target = read_target(body)
        against = None if body.against is None else varts.always(body.against)
    service: Service = request.app.state.service
    asked = commands.evaluation_of(target, against, body.level)
    found = await service.answer(request.path_params["name"], *asked)
    return JSONResponse(found.value.to_dict(), headers=as_of(found))


def read_target(body: EvaluationAsked) -> Target:
    """The one way of deciding that was asked about."""
    ways: dict[str, Target] = {}
    if body.always is not None:
        ways["always"] = varts.always(body.always)
    if body.even:
        ways["even"] = varts.EvenSplit()
    if body.shares is not None:
        ways["shares"] = body.shares
    if body.floor is not None:
        ways["floor"] = varts.with_floor(body.floor)
    if len(ways) != 1:
        got = " and ".join(ways) or "none"
        raise ValueError(f"one of always, even, shares and floor must be given, got {got}")
    return next(iter(ways.values()))


async def show_events(request: Request) -> Response:
    """List the changes of an experiment, with who made them and why."""
    service: Service = request.app.state.service
    after, limit = request.state.query.after, request.state.query.limit
    found = await service.look(
        request.path_params["name"], lambda experiment: experiment.changes(after, limit + 1)
    )
    page = found[:limit]
    more = page[-1].version if len(found) > limit else None
    return JSONResponse(EventsShown(events=list(map(_event, page)), next=more))


def _event(record: ChangeRecord) -> EventShown:
    """A change for everybody: the name that a forgotten unit has now is that of a unit, too."""
    change = {name: value for name, value in record.change.items() if name != "alias"}
    return EventShown(**{**record._asdict(), "time": rfc3339(record.time), "change": change})


async def show_history(request: Request) -> Response:
    """Show how an experiment developed: its report at a number of checkpoints."""
    service: Service = request.app.state.service
    query: HistoryQuery = request.state.query

    asked = ("history", repr(query))
    read = partial(_read_history, query=query, most=MOST_ROWS)
    found = await service.answer(request.path_params["name"], asked, read)
    return JSONResponse(found.value, headers=as_of(found))


def _read_history(experiment: Experiment, query: HistoryQuery, most: int) -> bytes:
    """The answer itself, in JSON: encoding it takes time, too."""
    with refusing():
        found = experiment.history(
            query.points,
            every_rewards=query.every_rewards,
            every=query.every,
            level=query.level,
            settle=False,
        )
    if found.frame.height > most:
        raise Problem(
            "refused",
            f"history must have at most {most:,} rows, one for every arm at every checkpoint, "
            f"got {found.frame.height:,}",
        )
    return encode_json(found.to_dict())


async def stream_log(request: Request) -> Response:
    """Send the log, a line per decision with its reward. Only administrators see units.

    The log is read page by page while the client takes it: a slow client holds nothing but a page,
    and no file on the disk grows with the log. If the store fails before the first page is there,
    that is a problem like any other; later, the connection is closed before the end of the answer.
    """
    service: Service = request.app.state.service
    name, query = request.path_params["name"], request.state.query
    limit = min(query.limit or LINES_PER_PAGE, LINES_PER_PAGE)
    hidden = not request.state.actor.may("admin")

    moment = await service.read(service.background.moment, name)

    async def read(after: str | None, let_in: bool = True) -> LogPage:
        call = about(name, partial(read_log_page, after=after, limit=limit, hidden=hidden))
        page: LogPage = await service.background.run(
            (name, "log"), call, rows=min(limit, moment.rows), let_in=let_in
        )
        return page

    if query.limit is None and service.streams >= MOST_STREAMS:
        detail = f"{service.streams} logs are being sent; repeat the request, or ask for pages"
        raise Problem("busy", detail, {"retry-after": "5"})
    first = await read(query.after, let_in=False)
    if query.limit is None:
        return StreamingResponse(_pages(service, first, limit, read), media_type=NDJSON)
    headers = {}
    if first.size == limit and first.last is not None:
        where = f"/v1/experiments/{quote(name, safe='')}/log"
        after = quote(first.last, safe="")
        headers["link"] = f'<{where}?after={after}&limit={query.limit}>; rel="next"'
    return Response(first.lines, headers=headers, media_type=NDJSON)


class LogPage(NamedTuple):
    """Lines of the log, how many they are, and the id of the last decision."""

    lines: bytes
    size: int
    last: str | None


async def _pages(
    service: Service, page: LogPage, limit: int, read: Callable[[str | None], Awaitable[LogPage]]
) -> AsyncIterator[bytes]:
    service.streams += 1
    try:
        yield page.lines
        while page.size == limit:
            page = await read(page.last)
            yield page.lines
    finally:
        service.streams -= 1


def read_log_page(experiment: Experiment, after: str | None, limit: int, hidden: bool) -> LogPage:
    """Read a page of the log.

    Args:
        experiment: The experiment.
        after: The id of the decision after which to begin; None for the first one.
        limit: How many lines at most.
        hidden: Whether units and contexts are null.
    """
    with tempfile.TemporaryDirectory(prefix="varts-") as folder:
        path = Path(folder) / "log.ndjson"
        count = experiment.export(path, after, limit)
        text = path.read_bytes()
    last = None
    if count:
        (line,) = text.rstrip(b"\n").rsplit(b"\n", 1)[-1:]
        last = str(msgspec.json.decode(line)["id"])
    if hidden:
        features = experiment.features
        blank = dict.fromkeys(["unit", *(() if features is None else features.kinds)])
        lines = (
            msgspec.json.encode({**msgspec.json.decode(line), **blank}) + b"\n"
            for line in text.splitlines()
        )
        text = b"".join(lines)
    return LogPage(text, count, last)

"""What an experiment has learnt, over HTTP: its report, history, checks, evaluations, changes,
log."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import msgspec
import polars as pl
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

import varts
from varts._intervals import CONFIDENCE
from varts.live import ChangeRecord, Experiment, History
from varts.serve import commands
from varts.serve.errors import Problem, refusing
from varts.serve.responses import JSONResponse, encode_json, not_modified, rfc3339
from varts.serve.runtime import Service
from varts.serve.schemas import Answer, Body, EvaluationAsked, Level, Text

if TYPE_CHECKING:
    from varts.evaluation.targets import Target

NDJSON = "application/x-ndjson"
LINES_PER_CHUNK = 1_000
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
    """Which part of the log: so many decisions after the one of an id."""

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
    arms: list[dict[str, Any]]


class HistoryShown(Answer):
    """How an experiment came to where it is; the last checkpoint is the present."""

    points: list[HistoryPoint]


async def show_report(request: Request) -> Response:
    """Tell which arm is best, how sure that is, and whether the stop rule is met."""
    service: Service = request.app.state.service
    level = request.state.query.level
    found = await service.look(
        request.path_params["name"], lambda experiment: experiment.report(level, settle=False)
    )
    body = encode_json(found.to_dict())
    tag = hashlib.sha256(body).hexdigest()[:32]
    known = not_modified(request, tag)
    return JSONResponse(body, headers={"etag": f'"{tag}"'}) if known is None else known


async def check_experiment(request: Request) -> Response:
    """Check rewards and decisions: do they suit the model, and is every one accounted for?"""
    service: Service = request.app.state.service
    name = request.path_params["name"]
    found = await service.look(name, lambda one: one.check(settle=False), scanning=True)
    return JSONResponse(found.to_dict())


async def show_reward_by_age(request: Request) -> Response:
    """Show how old decisions are when their rewards arrive."""
    service: Service = request.app.state.service

    def look(experiment: Experiment) -> pl.DataFrame:
        with refusing():
            return experiment.reward_by_age(settle=False)

    found = await service.look(request.path_params["name"], look, scanning=True)
    return JSONResponse(AgesShown(ages=[AgeShown(**row) for row in found.to_dicts()]))


async def evaluate_experiment(request: Request) -> Response:
    """Say what another way of deciding would have earned a decision, from the log."""
    body: EvaluationAsked = request.state.body
    with refusing():
        target = read_target(body)
        against = None if body.against is None else varts.always(body.against)
    service, name = request.app.state.service, request.path_params["name"]
    found = await commands.evaluate(service, name, target, against, body.level)
    return JSONResponse(found.to_dict())


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
    """Tell what was done to an experiment, by whom and why."""
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
    """Tell how an experiment came to where it is: what was known and done at checkpoints."""
    service: Service = request.app.state.service
    query: HistoryQuery = request.state.query

    def look(experiment: Experiment) -> list[HistoryPoint]:
        with refusing():
            found = experiment.history(
                query.points,
                every_rewards=query.every_rewards,
                every=query.every,
                level=query.level,
                settle=False,
            )
        if found.frame.height > MOST_ROWS:
            raise Problem(
                "refused",
                f"history must have at most {MOST_ROWS:,} rows, one for every arm at every "
                f"checkpoint, got {found.frame.height:,}",
            )
        return list(_points(found))

    points = await service.look(request.path_params["name"], look, scanning=True)
    return JSONResponse(HistoryShown(points=points))


def _points(found: History) -> Iterator[HistoryPoint]:
    """Its checkpoints, with what is the same for all arms said once."""
    rows = found.frame.drop("checkpoint", "time", "version", "rewards").to_dicts()
    checkpoints = found.frame.group_by("checkpoint", maintain_order=True).agg(
        pl.col("time", "version", "rewards").first(), pl.len().alias("arms")
    )
    lines = iter(rows)
    for one in checkpoints.iter_rows(named=True):
        yield HistoryPoint(
            time=rfc3339(one["time"]),
            version=one["version"],
            rewards=one["rewards"],
            arms=list(islice(lines, one["arms"])),
        )


async def stream_log(request: Request) -> Response:
    """Write the log, a line per decision with its reward; who units are is for administrators."""
    service: Service = request.app.state.service
    name, query = request.path_params["name"], request.state.query
    after, limit = query.after, query.limit

    def export(experiment: Experiment) -> tuple[IO[bytes], str | None, list[str]]:
        features = experiment.features
        known = [] if features is None else list(features.kinds)
        return *export_log(experiment, after, limit), known

    file, last, known = await service.look(name, export, scanning=True)
    headers = {}
    if last is not None:
        where = f"/v1/experiments/{quote(name, safe='')}/log"
        headers["link"] = f'<{where}?after={quote(last, safe="")}&limit={limit}>; rel="next"'
    chunks = read_log(file, [] if request.state.actor.may("admin") else ["unit", *known])
    return StreamingResponse(chunks, headers=headers, media_type=NDJSON)


def export_log(
    experiment: Experiment, after: str | None = None, limit: int | None = None
) -> tuple[IO[bytes], str | None]:
    """The log in a file that is gone when it is closed: whatever goes wrong with the store does so
    before the answer begins. With it the id of the last decision, if there may be more of them."""
    with tempfile.TemporaryDirectory(prefix="varts-") as folder:
        path = Path(folder) / "log.ndjson"
        full = experiment.export(path, after, limit) == limit
        file = path.open("rb")
    if not full:
        return file, None
    for line in file:
        last = line
    file.seek(0)
    return file, str(msgspec.json.decode(last)["id"])


def read_log(file: IO[bytes], hidden: Sequence[str]) -> Iterator[bytes]:
    """The lines of a log, some at a time, with null in the columns that are hidden."""
    blank = dict.fromkeys(hidden)

    def without(line: bytes) -> bytes:
        return msgspec.json.encode({**msgspec.json.decode(line), **blank}) + b"\n"

    with file:
        while lines := list(islice(file, LINES_PER_CHUNK)):
            yield b"".join(map(without, lines) if blank else lines)

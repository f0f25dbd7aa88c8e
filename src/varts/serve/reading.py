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
from msgspec import Meta

import varts
from varts._intervals import CONFIDENCE
from varts.live import ChangeRecord, Experiment
from varts.serve.bodies import Answer, Body, EvaluationAsked, Level, Text
from varts.serve.calls import Call, Reply, encode_json, rfc3339

if TYPE_CHECKING:
    from varts.evaluation import Evaluation
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


async def show_report(call: Call) -> Reply:
    """Tell which arm is best, how sure that is, and whether the stop rule is met."""
    level = call.query.level
    found = await call.service.look(
        call.path["name"], lambda experiment: experiment.report(level, settle=False)
    )
    body = encode_json(found.to_dict())
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if call.headers.get("if-none-match") == tag:
        return Reply(status=304, headers={"etag": tag})
    return Reply(body, headers={"etag": tag})


async def check_experiment(call: Call) -> Reply:
    """Check rewards and decisions: do they suit the model, and is every one accounted for?"""
    found = await call.service.look(
        call.path["name"], lambda experiment: experiment.check(settle=False), scanning=True
    )
    return Reply(found.to_dict())


async def show_reward_by_age(call: Call) -> Reply:
    """Show how old decisions are when their rewards arrive."""
    found = await call.service.look(
        call.path["name"], lambda experiment: experiment.reward_by_age(settle=False), scanning=True
    )
    return Reply(AgesShown(ages=[AgeShown(**row) for row in found.to_dicts()]))


async def evaluate_experiment(call: Call) -> Reply:
    """Say what another way of deciding would have earned a decision, from the log."""
    body: EvaluationAsked = call.body
    target = read_target(body)
    against = None if body.against is None else varts.always(body.against)

    def evaluate(experiment: Experiment) -> Evaluation:
        return experiment.evaluate(target, against, body.level, settle=False)

    found = await call.service.look(call.path["name"], evaluate, scanning=True)
    return Reply(found.to_dict())


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


async def show_events(call: Call) -> Reply:
    """Tell what was done to an experiment, by whom and why."""
    after, limit = call.query.after, call.query.limit
    found = await call.service.look(
        call.path["name"], lambda experiment: experiment.changes(after, limit + 1)
    )
    page = found[:limit]
    more = page[-1].version if len(found) > limit else None
    return Reply(EventsShown(events=list(map(_event, page)), next=more))


def _event(record: ChangeRecord) -> EventShown:
    """A change for everybody: the name that a forgotten unit has now is that of a unit, too."""
    change = {name: value for name, value in record.change.items() if name != "alias"}
    return EventShown(**{**record._asdict(), "time": rfc3339(record.time), "change": change})


async def show_history(call: Call) -> Reply:
    """Tell how an experiment came to where it is: what was known and done at checkpoints."""
    query: HistoryQuery = call.query

    def look(experiment: Experiment) -> dict[str, Any]:
        found = experiment.history(
            query.points,
            every_rewards=query.every_rewards,
            every=query.every,
            level=query.level,
            settle=False,
        )
        if found.frame.height > MOST_ROWS:
            raise ValueError(
                f"history must have at most {MOST_ROWS:,} rows, one for every arm at every "
                f"checkpoint, got {found.frame.height:,}"
            )
        return found.to_dict()

    return Reply(encode_json(await call.service.look(call.path["name"], look, scanning=True)))


async def stream_log(call: Call) -> Reply:
    """Write the log, a line per decision with its reward; who units are is for administrators."""
    name, after, limit = call.path["name"], call.query.after, call.query.limit

    def export(experiment: Experiment) -> tuple[IO[bytes], str | None, list[str]]:
        features = experiment.features
        known = [] if features is None else list(features.kinds)
        return *export_log(experiment, after, limit), known

    file, last, known = await call.service.look(name, export, scanning=True)
    headers = {}
    if last is not None:
        where = f"/v1/experiments/{quote(name, safe='')}/log"
        headers["link"] = f'<{where}?after={quote(last, safe="")}&limit={limit}>; rel="next"'
    chunks = read_log(file, [] if call.caller.may("admin") else ["unit", *known])
    return Reply(headers=headers, media_type=NDJSON, chunks=chunks)


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

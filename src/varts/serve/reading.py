"""What an experiment has learnt, over HTTP: its report, checks, evaluations, log."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

import varts
from varts.live import Experiment
from varts.serve.bodies import EvaluationAsked
from varts.serve.calls import Call, Reply, encode_json

if TYPE_CHECKING:
    from varts.evaluation.targets import Target

NDJSON = "application/x-ndjson"
LINES_PER_CHUNK = 1_000


async def show_report(call: Call) -> Reply:
    """Tell which arm is best, how sure that is, and whether the stop rule is met."""
    running = await call.service.running(call.path["name"])
    found = await call.service.read(running.experiment.report, call.query.level, False)
    body = encode_json(found.to_dict())
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if call.headers.get("if-none-match") == tag:
        return Reply(status=304, headers={"etag": tag})
    return Reply(body, headers={"etag": tag})


async def check_experiment(call: Call) -> Reply:
    """Check rewards and decisions: do they suit the model, and is every one accounted for?"""
    running = await call.service.running(call.path["name"])
    found = await call.service.scan(running.experiment.check)
    return Reply(found.to_dict())


async def evaluate_experiment(call: Call) -> Reply:
    """Say what another way of deciding would have earned a decision, from the log."""
    body: EvaluationAsked = call.body
    target = read_target(body)
    against = None if body.against is None else varts.always(body.against)
    running = await call.service.running(call.path["name"])
    found = await call.service.scan(running.experiment.evaluate, target, against, body.level)
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


async def stream_log(call: Call) -> Reply:
    """Write the log, a line per decision with its reward; units are for administrators."""
    running = await call.service.running(call.path["name"])
    file = await call.service.scan(export_log, running.experiment)
    return Reply(media_type=NDJSON, chunks=read_log(file, with_units=call.caller.may("admin")))


def export_log(experiment: Experiment) -> IO[bytes]:
    """The whole log in a file that is gone when it is closed: whatever goes wrong with the store
    does so before the answer begins."""
    with tempfile.TemporaryDirectory(prefix="varts-") as folder:
        path = Path(folder) / "log.ndjson"
        experiment.export(path)
        return path.open("rb")


def read_log(file: IO[bytes], with_units: bool) -> Iterator[bytes]:
    """The lines of a log, some at a time."""
    with file:
        while lines := list(islice(file, LINES_PER_CHUNK)):
            yield b"".join(lines if with_units else map(_without_unit, lines))


def _without_unit(line: bytes) -> bytes:
    row = msgspec.json.decode(line)
    row["unit"] = None
    return msgspec.json.encode(row) + b"\n"

"""The list of experiments, the page of one, and what would have happened with it.

A page that has not changed is not made again: its tag is known from three small queries. What takes
a whole log to know is the latest reading of it, as of some time ago.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from varts.live import ChangeRecord, Experiment, History, Report, Store, UnknownExperiment
from varts.live.report.report import report_of
from varts.live.store.store import Activity
from varts.serve.calls import Call, Reply
from varts.serve.charts.course import Band, moment_text
from varts.serve.long_logs import is_long, reading
from varts.serve.pages import experiment, listing
from varts.serve.pages.changes import describe_changes
from varts.serve.pages.forms import Sent
from varts.serve.pages.listing import Listed
from varts.serve.pages.rendering import ago
from varts.serve.readings import Reading
from varts.serve.service import Service
from varts.serve.views.answers import show, tag_of, unchanged, viewer_of

if TYPE_CHECKING:
    import polars as pl

EXPERIMENTS_PER_PAGE = 100
COLUMNS = ("time", "rewards", "arm", "p_best", "expected_loss", "traffic")  # that are drawn
MOST_SHOWN = 200  # changes
Asked = tuple[tuple[str, ...], int, Callable[[], Any], bool]
# The list's rows, with what they were made from: a report takes milliseconds, and there are many.
_rows: WeakKeyDictionary[Store, dict[str, tuple[Any, Listed]]] = WeakKeyDictionary()


# ------------------------------------------------------------------------------ the list


async def list_experiments(call: Call) -> Reply:
    """The experiments, and how far each is."""
    after = call.query.get("after")
    rows = await call.service.read(_list, call.service.store, call.caller.covers, after)
    viewer, now = viewer_of(call), datetime.now(UTC)
    shown, more = rows[:EXPERIMENTS_PER_PAGE], len(rows) > EXPERIMENTS_PER_PAGE
    tag = tag_of("list", viewer, shown, more, [ago(one.last_reward, now) for one in shown])
    known = unchanged(call, tag)
    return known or show(listing.page(viewer, shown, now, more), headers={"etag": tag})


def _list(store: Store, covers: Callable[[str], bool], after: str | None) -> list[Listed]:
    """The rows of a page of the list, and one more if there is another page."""
    rows: list[Listed] = []
    kept = _rows.setdefault(store, {})
    while len(rows) <= EXPERIMENTS_PER_PAGE:
        states = store.states(after, EXPERIMENTS_PER_PAGE)
        if not states:
            break
        after = list(states)[-1]
        busy = store.activities([name for name in states if covers(name)])
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

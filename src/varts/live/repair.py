"""Caches made anew from the log: configuration, statistics and the arms of sticky units."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

from varts._progress import Progress
from varts.live.comparison import Verification, compare, compare_traffic, compare_units
from varts.live.errors import StoreError, UnknownExperiment
from varts.live.fold import DAMAGE, Fold
from varts.live.log import Log
from varts.live.snapshot import Change
from varts.live.state import REPAIR, Config, State
from varts.live.store import Store
from varts.live.verify import assignments


def repair_caches(name: str, store: Store) -> list[str]:
    """Make the caches anew if they differ from the log; what was changed, a sentence each.

    The experiment need not be one that can be opened. The repair is an event in its log.

    Args:
        name: The experiment's name.
        store: The database that it is in.

    Raises:
        UnknownExperiment: There is none of that name.
        StoreError: There is something to repair, but the log itself makes no sense.
    """
    row = store.find(name)
    if row is None:
        raise UnknownExperiment(f"unknown experiment {name!r} in store {store.name}")
    with store.writing(row.id) as transaction:
        transaction.lock()
        log, problems = Log(transaction, lambda: nullcontext(transaction)), Verification()
        fold = Fold(log, row.seed, problems)
        fold.finish(Progress())
        if fold.state is None or fold.broken:
            raise StoreError(
                f"experiment {name!r} in store {store.name} cannot be repaired, restore it from a "
                f"backup: {problems.problems[-1]}"
            )
        assigned = assignments(log, fold.options)
        head = transaction.head(name, row.seed, -1)
        changed = Verification()
        try:
            config = Config.from_json(json.loads(head.config or "{}"))
        except DAMAGE:
            changed.add_problem("the configuration could not be read")
        else:
            compare(fold.state, State(config, head.version, head.rewards, head.rows), changed)
        compare_units(assigned, log.assigned(), changed)
        compare_traffic(transaction.traffic(), transaction.count_traffic(), changed)
        fold.tell_gaps(changed)
        if changed.ok:
            return []
        change = Change(transaction, fold.state, head)
        body = {"found": changed.found, "changed": changed.problems, "missing": fold.gaps}
        change.apply(REPAIR, body=body)
        transaction.add_events(change.events)
        transaction.save_anew(fold.state, [_assigned(row) for row in assigned.values()])
    return changed.problems


def _assigned(decision: Any) -> dict[str, Any]:
    """The arm of a sticky unit, as it is cached."""
    return {
        "unit": decision.unit,
        "arm": decision.arm,
        "probability": decision.probability,
        "estimated": decision.estimated,
        "decision": decision.id,
    }

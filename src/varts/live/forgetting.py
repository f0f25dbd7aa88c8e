"""Names of units taken out of a log, and experiments taken out of a store."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from varts.live.allocation import FORGOTTEN
from varts.live.assignment import stored_unit
from varts.live.errors import Changed
from varts.live.log import Log
from varts.live.snapshot import Snapshot
from varts.live.state import ERASE, FORGET


def forget(snapshot: Snapshot, unit: str, note: Mapping[str, str], keep_numbers: bool) -> int:
    """Put a random name in the place of a unit's, in every decision; returns their number.

    All of its decisions get the same one, so that a sticky experiment can still be verified. Their
    contexts go. Unless the numbers are kept that these were made into, its rewards no longer count
    for the effects of features, and the statistics are made anew without.
    """
    stored = stored_unit(snapshot, unit)
    alias = FORGOTTEN + secrets.token_hex(16)
    with snapshot.changing() as change:
        lost: set[tuple[int, int]] = set()
        if change.state.config.features is not None:
            lost = change.transaction.forget_contexts(stored, keep_numbers)
        count = change.transaction.rename_unit(stored, alias)
        if count:
            rows = {"rows": sorted(lost)} if lost else {}
            body = {"alias": alias, "decisions": count, **rows, **note}
            change.apply(ERASE if lost else FORGET, body=body)
    return count


def delete(snapshot: Snapshot, exported: Log | None) -> int:
    """Delete an experiment, unless it has gone on since its log was exported; returns the number
    of its decisions."""
    with snapshot.writing() as transaction:
        transaction.lock()
        snapshot.head(transaction, -1)  # refuses another experiment of the same name
        if exported is not None:
            now = Log(transaction, snapshot.reading)
            if (now.version, now.seq) != (exported.version, exported.seq):
                raise used_meanwhile(snapshot.name)
        return transaction.delete()


def used_meanwhile(name: str) -> Changed:
    """Why an experiment was not deleted."""
    return Changed(
        f"experiment {name!r} was used while its log was exported, so it was not deleted; stop it "
        "first"
    )

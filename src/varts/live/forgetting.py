"""Names of units taken out of a log, and experiments taken out of a store."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from varts.live.allocation import FORGOTTEN
from varts.live.assignment import stored_unit
from varts.live.errors import Changed
from varts.live.log import Log
from varts.live.snapshot import Snapshot
from varts.live.state import FORGET


def forget(snapshot: Snapshot, unit: str, note: Mapping[str, str]) -> int:
    """Put a random name in the place of a unit's, in every decision; returns their number.

    All of its decisions get the same one, so that a sticky experiment can still be verified.
    """
    stored = stored_unit(snapshot, unit)
    alias = FORGOTTEN + secrets.token_hex(16)
    with snapshot.changing() as change:
        count = change.transaction.rename_unit(stored, alias)
        if count:
            change.apply(FORGET, body={"alias": alias, "decisions": count, **note})
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

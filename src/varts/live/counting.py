"""Rewards in a row, taken in together: what `State.apply` does with each, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varts.live.row import Row
from varts.live.state import EXPIRED, MISSING, REWARD, THE_REWARD, Key, State, described
from varts.live.transaction import read_event

QUICK = (REWARD, MISSING, EXPIRED)  # events that can be taken in together


def count_together(state: State, rows: Sequence[Any]) -> None:
    """Take in the next events of a log, as they are stored, all of these kinds.

    An arm sees its own rewards only, so each gets them at once, in their order.

    Args:
        state: What they are added to; as it was, if one of them makes no sense.
        rows: The events, with the columns of `Event`.

    Raises:
        ValueError: One of them cannot be applied; others raise what its values do.
    """
    K, half_life, number = len(state.config.arms), state.config.options.half_life, state.rewards
    given: dict[Key, list[tuple[float, int, Any]]] = {}
    for row in rows:
        _, kind, _, _, arm, epoch, _, value, _, _, body = row
        if kind == EXPIRED:
            continue
        if value is None or epoch is None or not 0 <= arm < K:
            raise ValueError("a reward must have a value, an epoch and one of the arms, got others")
        number += 1
        event = None if body is None else read_event(row)
        x = None if event is None else event.x
        given.setdefault((THE_REWARD, arm, epoch), []).append((value, number, x))
        if event is not None:
            for name, one in described(event).items():
                given.setdefault((name, arm, 0), []).append((one, number, None))
    observed = {
        key: state.rows.get(key, Row()).observe_all(
            rewards, half_life if key[0] == THE_REWARD else None
        )
        for key, rewards in given.items()
    }
    state.rows |= observed
    state.rewards, state.version, state.batch = number, rows[-1][0], rows[-1][8]

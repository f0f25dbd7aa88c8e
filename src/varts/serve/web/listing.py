"""The list of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from varts._text import decimal, places_for
from varts.live.report.report import Report
from varts.live.report.text import status
from varts.serve.auth import Actor
from varts.serve.web.render import render

MAY_STOP = "may stop"
BY_FEATURES = "depends on the unit"  # whose page tells; one arm for all would contradict it


class Listed(NamedTuple):
    """An experiment in the list; what is not known is None."""

    name: str
    status: str
    best: str | None
    p_best: float | None
    rewards: int
    pending: int
    gain: str | None = None
    last_reward: datetime | None = None

    @classmethod
    def of(cls, found: Report, last_reward: datetime | None = None) -> Listed:
        """The row of an experiment whose report this is.

        Args:
            found: The report; where arms are chosen by features, its own page says which.
            last_reward: When the last one came.
        """
        config = found.state.config
        named = None if config.stopped or not found.has_leader else found.best
        chances = dict(zip(found.frame["arm"], found.frame["p_best"], strict=True))
        p_best = None if named is None else chances[named]
        may_stop = found.stop and not config.stopped
        if config.options.contextual and not config.stopped:
            named, p_best, may_stop = BY_FEATURES, None, False
        return cls(
            found.name,
            MAY_STOP if may_stop else status(found.state),
            named,
            p_best,
            found.state.counted,
            int(found.frame["pending"].sum()),
            _total(found),
            last_reward,
        )


def page(viewer: Actor, experiments: Sequence[Listed], now: datetime, more: bool = False) -> str:
    """The list of experiments.

    Args:
        viewer: Who asks.
        experiments: Those that they may see.
        now: The time, in the zone of `last_reward`.
        more: Whether there are others after them.
    """
    return render("listing.html", viewer=viewer, experiments=experiments, now=now, more=more)


def _total(found: Report) -> str | None:
    """What learning has earned in all, with its interval; None while that is not known."""
    gain = found.gain
    if gain is None or gain.total is None or gain.total_low is None or gain.total_high is None:
        return None
    places = max(places_for([gain.total_high - gain.total_low]) - 1, 0)
    total, low, high = (
        decimal(x, places, "+,") for x in (gain.total, gain.total_low, gain.total_high)
    )
    return f"{total} [{low}, {high}]"

"""The list of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from varts.live.options import Options
from varts.live.report.report import Report
from varts.live.report.text import gain_text, lift_text, main_comparison, status
from varts.serve.auth import Actor
from varts.serve.web.render import render

MAY_STOP = "may stop"
BY_FEATURES = "depends on the unit"  # one arm for everybody would contradict the page


class Listed(NamedTuple):
    """An experiment in the list. Fields that aren't known are None.

    `lift` compares the best arm that isn't the control with the control.
    """

    name: str
    status: str
    best: str | None
    p_best: float | None
    rewards: int
    pending: int
    gain: str | None = None
    last_reward: datetime | None = None
    lift: str | None = None
    owner: str | None = None
    hypothesis: str | None = None

    @classmethod
    def of(cls, found: Report, last_reward: datetime | None = None) -> Listed:
        """The row of an experiment whose report this is.

        Args:
            found: The report. If features choose the arms, the page of the experiment says which.
            last_reward: When the last reward arrived.
        """
        config = found.state.config
        named = None if config.stopped or not found.has_leader else found.best
        chances = dict(zip(found.frame["arm"], found.frame["p_best"], strict=True))
        p_best = None if named is None else chances[named]
        may_stop = found.stop and not config.stopped
        if config.options.contextual and not config.stopped:
            named, p_best, may_stop = BY_FEATURES, None, False
        compared = main_comparison(found)
        return cls(
            found.name,
            MAY_STOP if may_stop else status(found.state),
            named,
            p_best,
            found.state.counted,
            int(found.frame["pending"].sum()),
            gain_text(found),
            last_reward,
            None if compared is None else lift_text(compared),
            config.options.owner,
            config.options.hypothesis,
        )


def matches(name: str, options: Options, query: str) -> bool:
    """Whether an experiment has every word of a query in its name, its owner or its hypothesis.

    >>> options = Options.made(owner="Pricing team")
    >>> matches("spring-sale", options, "SALE pricing"), matches("spring-sale", options, "autumn")
    (True, False)
    """
    text = f"{name}\n{options.owner or ''}\n{options.hypothesis or ''}".casefold()
    return all(word in text for word in query.casefold().split())


def page(
    viewer: Actor,
    experiments: Sequence[Listed],
    now: datetime,
    more: bool = False,
    query: str = "",
) -> str:
    """The list of experiments.

    Args:
        viewer: The person who is looking.
        experiments: The experiments that they may see.
        now: The time, in the zone of `last_reward`.
        more: Whether there are others after these.
        query: The words they searched for.
    """
    return render(
        "listing.html", viewer=viewer, experiments=experiments, now=now, more=more, query=query
    )

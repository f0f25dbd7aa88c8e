"""How old decisions are when their rewards arrive, and what a shorter window would capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from varts.live.errors import Refused
from varts.live.options import Options
from varts.live.store.log import Log

if TYPE_CHECKING:
    import polars as pl

STEPS = 50  # of the window


def reward_by_age(name: str, log: Log, options: Options) -> pl.DataFrame:
    """How much of the reward had arrived by each age, from decisions whose window has closed.

    Args:
        name: The experiment's name.
        log: Its log.
        options: Its options.

    Returns:
        Columns `age` in seconds, from a fiftieth of the window to all of it, `reward` that had
        arrived by then in total, and its `share` of what arrived within the window; null if
        nothing did.
    """
    import polars as pl

    if options.window is None:
        raise Refused(
            f"experiment {name!r} has no window, so it isn't known which rewards are complete; "
            "set the option window"
        )
    width = options.window * 1e6 / STEPS
    total = np.zeros(STEPS)
    for age, change in log.arrivals():
        total[min(max(int(age / width), 0), STEPS - 1)] += change
    reward = total.cumsum()
    share = reward / reward[-1] if reward[-1] else np.full(STEPS, np.nan)
    ages = np.arange(1, STEPS + 1) * options.window / STEPS
    return pl.DataFrame({"age": ages, "reward": reward, "share": share}).fill_nan(None)

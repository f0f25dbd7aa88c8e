"""What is known of units, as it is sent to a service, and which arm is for whom, as it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from varts.client.frames import read_frame
from varts.context import ContextReport, Worth

# The columns of the tables that are no fractions; all others are Float64.
TYPES = {
    **dict.fromkeys(("arm", "feature", "value", "column", "effect"), "String"),
    "units": "Int64",
    "named": "Boolean",
}


class ToldContext(ContextReport):
    """A `ContextReport` as a service tells it: its numbers and tables, and not the units and the
    posterior that they were made from.

    Args:
        body: What `ContextReport.to_dict` has told.
    """

    _told: Mapping[str, Any]

    def __init__(self, body: Mapping[str, Any]) -> None:
        frame = read_frame(body["arms"], TYPES)
        known = {
            "arms": frame["arm"].to_list(),
            "goal": body["goal"],
            "level": body["level"],
            "frame": frame,
            "segments": read_frame(body["segments"], TYPES),
            "coefficients": read_frame(body["coefficients"], TYPES),
            "worth": Worth(**body["worth"], crossfitted=body.get("crossfitted", False)),
            "unsplit": body.get("unsplit", 0.0),
            "_told": {name: body[name] for name in ("units", "enough", "unknown", "rule_loss")},
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def unit_count(self) -> int:
        """How many units it is about."""
        return int(self._told["units"])

    @property
    def enough(self) -> bool:
        """Whether there are enough units, and rewards for each arm on average, to say anything."""
        return bool(self._told["enough"])

    @property
    def unknown(self) -> float:
        """The share of units that differ from all with rewards in something never seen before."""
        return float(self._told["unknown"])

    @property
    def rule_loss(self) -> float:
        """The expected loss per unit of the rule, compared with the best arm for each unit."""
        return float(self._told["rule_loss"])

    @property
    def units(self) -> NoReturn:
        """They are not told: contexts may identify people."""
        raise _not_told()

    @property
    def posterior(self) -> NoReturn:
        """It is not told."""
        raise _not_told()


def _not_told() -> NotImplementedError:
    return NotImplementedError(
        "a service does not tell the units of a report, nor the posterior; its tables are here"
    )

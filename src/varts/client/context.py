"""What is known of units, as it is sent to a service, and which arm is for whom, as it is told."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from varts._validation import refusal
from varts.client.frames import read_frame
from varts.context import ContextReport, Worth
from varts.features import A_CONTEXT, NUMBER, Features
from varts.live.arguments import check_text

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


def plain_context(context: Any) -> dict[str, Any]:
    """A context as JSON has it, where features are not known: the service will check the rest.

    Args:
        context: A mapping from the names of features to values.

    >>> plain_context({"country": "NL", "visits": np.int64(3), "age": float("nan")})
    {'country': 'NL', 'visits': 3, 'age': None}
    """
    if not isinstance(context, Mapping):
        raise TypeError(refusal("context", A_CONTEXT, context))
    return {name: _plain(name, value) for name, value in context.items()}


def _plain(name: Any, value: Any) -> str | bool | int | float | None:
    if isinstance(value, str):
        return check_text(name, value) if value else value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return Features({name: NUMBER}, optional=[name]).check({name: value}).get(name)

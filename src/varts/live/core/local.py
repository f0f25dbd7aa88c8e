"""Local decisions: what a client needs to draw arms by itself, and how it draws them.

A client fetches an allocation, draws arms from it, and sends the service what it drew. Every
allocation comes with a ticket: its content, signed with a key that only the experiment's seed
gives. So the service can check what a client drew long after the statistics have moved on, without
keeping anything.

Clients in other languages compute the same numbers, so nothing in `number` may ever change.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from varts._decoding import decode
from varts.features import NUMBER, Features
from varts.live.errors import NotLocal

REFRESH_SECONDS = 10.0  # after which a client asks again; docs/local.md explains the number
LIFETIME_SECONDS = 3600.0  # how long it may use one if the service doesn't answer
MOST_CELLS = 1_000
MOST_PROBABILITIES = 10_000  # of all cells: a ticket has all of them, and a request several tickets
MOST_ESTIMATED = 20  # cells whose probabilities are estimated by drawing, which takes long
MEMBERSHIP = "holdout"  # the purpose of numbers that say which units are in the holdout
WORDS = 4  # of 8 bytes each, in a SHA-256
FLOATS = np.dtype("<f8")


class Cells(NamedTuple):
    """The combinations of categories that an allocation has probabilities for.

    Args:
        features: The names of the features.
        values: The categories of each feature; the last one is "other".
        probabilities: A row per combination, with a number per arm. The last feature varies
            fastest.
    """

    features: list[str]
    values: list[list[str]]
    probabilities: list[list[float]]


@dataclass(frozen=True)
class LocalAllocation:
    """Everything a client needs to draw arms by itself.

    Args:
        experiment: The name of the experiment.
        version: The version of the experiment.
        arms: The names of the arms, paused ones included.
        probabilities: The probability of each arm outside the holdout; None if there are cells.
        cells: The probabilities by the categories of a unit, if the policy uses features.
        holdout: The share of units that get each arm in play with the same probability.
        active: By arm, whether it is in play.
        sticky: Whether a unit keeps its arm.
        context: The names that a context must have; None if decisions have no context.
        key: The key that units are hashed with.
        refresh: Seconds after which to ask again.
        lifetime: Seconds after the last answer of the service during which it may be used.
        winner: The arm that everybody gets, if the experiment was stopped with one.
        ticket: Proves to the service where an exposure comes from.
        tag: Names this allocation, for If-None-Match; it is not part of the JSON.
    """

    experiment: str
    version: int
    arms: list[str]
    probabilities: list[float] | None
    cells: Cells | None
    holdout: float
    active: list[bool]
    sticky: bool
    context: list[str] | None
    key: str
    refresh: float
    lifetime: float
    winner: str | None
    ticket: str
    tag: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        cells = None if self.cells is None else self.cells._asdict()
        body = {**asdict(self), "cells": cells}
        del body["tag"]
        return body

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> LocalAllocation:
        """Read the result of `to_dict`.

        Args:
            body: Plain values by name.
        """
        made: LocalAllocation = decode(cls, body, "allocation")
        return made


# ------------------------------------------------------------------------------ keys


def public_key(seed: int) -> str:
    """The key that clients hash units with. The seed can't be computed from it.

    >>> public_key(7)
    'b1f707b2ab76902d1387f58a4bf7bbdd'
    """
    return _derived(seed, b"varts public", 16).hex()


def _derived(seed: int, person: bytes, size: int) -> bytes:
    key = seed.to_bytes(8, "little")
    return hashlib.blake2b(key, digest_size=size, person=person).digest()


# ------------------------------------------------------------------------------ drawing


def number(key: str, purpose: str, text: str, i: int) -> float:
    """A number in (0, 1) that depends on nothing but the arguments.

    Args:
        key: The key of the allocation.
        purpose: "holdout" or "sticky".
        text: A unit, or the id of a decision.
        i: Which one: the place of the arm, or 0.

    >>> number("00" * 16, "holdout", "user-1", 0)
    0.035929694800281076
    """
    digest = hashlib.sha256(f"{key}/{purpose}/{i // WORDS}/{text}".encode()).digest()
    start = 8 * (i % WORDS)
    return ((int.from_bytes(digest[start : start + 8], "big") >> 12) + 0.5) * 2.0**-52


def is_held(key: str, who: str, share: float) -> bool:
    """Whether a unit, or a decision without one, is in the holdout of this share.

    >>> is_held("00" * 16, "user-1", 0.1), is_held("00" * 16, "user-1", 0.01)
    (True, False)
    """
    return number(key, MEMBERSHIP, who, 0) < share


# ------------------------------------------------------------------------------ cells


def check_cells(features: Features, K: int, estimated: bool) -> None:
    """Raise NotLocal if an allocation can't list its probabilities by features.

    Args:
        features: The features that the policy uses.
        K: The number of arms.
        estimated: Whether the probabilities are estimated by drawing.
    """
    numbers = [name for name, kind in features.kinds.items() if kind == NUMBER]
    if numbers:
        raise NotLocal(
            f"the policy uses the number {numbers[0]!r}, so its probabilities can't be listed; "
            "ask the decisions endpoint for every decision"
        )
    cells = math.prod(len(values) for values in features.categories.values())
    most = min(MOST_ESTIMATED if estimated else MOST_CELLS, MOST_PROBABILITIES // K)
    if cells > most:
        raise NotLocal(
            f"the features have {cells:,} combinations of categories, and at most {most:,} can be "
            f"listed for {K} arms and this policy; ask the decisions endpoint for every decision"
        )


def combinations(features: Features) -> list[dict[str, str]]:
    """A context for each combination of categories; the last feature varies fastest.

    >>> combinations(Features({"country": ["NL"], "device": ["phone"]}))[1]
    {'country': 'NL', 'device': 'other'}
    """
    names = list(features.categories)
    return [
        dict(zip(names, values, strict=True)) for values in product(*features.categories.values())
    ]


# ------------------------------------------------------------------------------ tickets


@dataclass(frozen=True)
class Ticket:
    """The properties of an allocation that the service needs to check draws from it.

    Args:
        version: The version of the experiment.
        batch: The batch number of the event at that version.
        epoch: The epoch of the configuration.
        rows: The probabilities of the arms, in a row per combination of categories; one row
            without cells.
        values: By feature, its categories; None without cells.
        active: The arms in play.
        holdout: The share of the holdout.
        sticky: Whether units keep their arms.
        winner: The arm that everybody gets, if there is one.
        estimated: Whether the probabilities were estimated by drawing.
    """

    version: int
    batch: int | None
    epoch: int
    rows: Sequence[Sequence[float]]
    values: dict[str, list[str]] | None
    active: list[int]
    holdout: float
    sticky: bool
    winner: int | None
    estimated: bool

    def row(self, context: Mapping[str, Any] | None) -> int:
        """The place of the row for a checked context."""
        if self.values is None or context is None:
            return 0
        place = 0
        for name, values in self.values.items():
            value = context[name]
            last = len(values) - 1
            place *= last + 1
            place += values.index(value) if value in values else last
        return place

    def sign(self, seed: int, experiment: str) -> str:
        """The ticket as signed text, which only the service can make.

        Args:
            seed: The seed of the experiment.
            experiment: Its name.
        """
        head = {
            "experiment": experiment,
            "version": self.version,
            "batch": self.batch,
            "epoch": self.epoch,
            "cells": len(self.rows),
            "values": self.values,
            "active": self.active,
            "holdout": self.holdout,
            "sticky": self.sticky,
            "winner": self.winner,
            "estimated": self.estimated,
        }
        # Numbers of 8 bytes are exact, and take half of what they take as text.
        payload = json.dumps(head, separators=(",", ":")).encode() + b"\0"
        payload += np.array(self.rows, dtype=FLOATS).tobytes()
        return f"{_as_text(payload)}.{_as_text(_mac(seed, payload))}"


def read_ticket(seed: int, experiment: str, text: str) -> Ticket | None:
    """Read a ticket; None if it isn't one of this experiment.

    Args:
        seed: The seed of the experiment.
        experiment: Its name.
        text: The ticket.
    """
    sent, _, mac = text.partition(".")
    try:
        payload, given = _as_bytes(sent), _as_bytes(mac)
    except (ValueError, binascii.Error):
        return None
    if not hmac.compare_digest(given, _mac(seed, payload)):
        return None
    head, _, numbers = payload.partition(b"\0")
    body = json.loads(head)
    if body.pop("experiment") != experiment:
        return None
    rows = np.frombuffer(numbers, dtype=FLOATS).reshape(body.pop("cells"), -1)
    return Ticket(rows=rows.tolist(), **body)


def _mac(seed: int, payload: bytes) -> bytes:
    return hmac.new(_derived(seed, b"varts ticket", 32), payload, "sha256").digest()


def _as_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _as_bytes(text: str) -> bytes:
    data = text.encode("ascii")
    return base64.b64decode(data + b"=" * (-len(data) % 4), altchars=b"-_", validate=True)

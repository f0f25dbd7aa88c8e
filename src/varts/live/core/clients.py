"""Whether clients that draw arms by themselves draw them with the probabilities that they were
given."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from varts.checks.ratio import Bets

MOST_CLIENTS = 10_000  # remembered; beyond this, those that were seen least recently are forgotten
ALARM = 10_000.0  # at most one honest client in so many ever gets there


class Draws(NamedTuple):
    """Arms that a client drew.

    Args:
        arms: The names of the arms, in order.
        probabilities: The probability of each.
        known: The names of all arms.
    """

    arms: list[str]
    probabilities: list[float]
    known: Sequence[str]


class Clients:
    """The evidence against each client, in the memory of this process; threads may share it."""

    def __init__(self) -> None:
        self._bets: OrderedDict[Any, Bets | None] = OrderedDict()  # None: too much evidence
        self._lock = threading.Lock()

    def are_refused(self, client: Any) -> bool:
        """Whether a client's arms were found not to match the probabilities."""
        with self._lock:
            return client in self._bets and self._bets[client] is None

    def test(self, client: Any, draws: Draws) -> bool:
        """Whether these draws, after those so far, are likely enough; if not, the client is refused
        from now on.

        Args:
            client: Names the client and the experiment.
            draws: What it drew.
        """
        with self._lock:
            bets = deepcopy(self._find(client))
            return self._is_likely(client, bets, draws)

    def count(self, client: Any, draws: Draws) -> None:
        """Count draws that were recorded.

        Args:
            client: Names the client and the experiment.
            draws: What it drew.
        """
        with self._lock:
            self._is_likely(client, self._find(client), draws)

    def _find(self, client: Any) -> Bets | None:
        from varts.checks.ratio import Bets  # imports polars

        if client not in self._bets:
            self._bets[client] = Bets(2)
        self._bets.move_to_end(client)
        while len(self._bets) > MOST_CLIENTS:
            self._bets.popitem(last=False)
        return self._bets[client]

    def _is_likely(self, client: Any, bets: Bets | None, draws: Draws) -> bool:
        if bets is not None:
            bets.expect(draws.known)
            bets.add(draws.arms, np.array(draws.probabilities))
            if bets.log_e_value < math.log(ALARM):
                return True
        self._bets[client] = None
        return False

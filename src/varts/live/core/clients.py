"""Whether clients that draw arms by themselves draw them with the probabilities that they were
given."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from varts.checks.ratio import Bets

MOST_CLIENTS = 10_000  # remembered
MOST_ARMS = 500_000  # of all of them together: about 100 MB
ALARM = 10_000.0  # the chance that an honest client ever gets there is at most 1 / ALARM


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
    """The evidence against each client, in the memory of this process; threads may share it.

    When the evidence takes too much memory, the clients that were seen least recently are
    forgotten first.
    """

    def __init__(self) -> None:
        self._bets: OrderedDict[Any, Bets | None] = OrderedDict()  # None: too much evidence
        self._arms = 0  # of all of them together
        self._lock = threading.Lock()

    def are_refused(self, client: Any) -> bool:
        """Whether a client's arms were found not to match the probabilities."""
        with self._lock:
            return client in self._bets and self._bets[client] is None

    def test(self, client: Any, draws: Draws) -> Tested | None:
        """The evidence after these draws, to be kept once they are recorded; None if it is too
        much. Then the client is refused from now on.

        Args:
            client: Names the client and the experiment.
            draws: The arms that it drew.
        """
        from varts.checks.ratio import Bets  # imports polars

        with self._lock:
            before = self._bets.get(client, Bets(2))
            after = None if before is None else _added(before, draws)
            if before is None or after is None:
                self._put(client, None)
                return None
            self._put(client, before)
        return Tested(client, draws, before, after)

    def keep(self, tested: Tested) -> None:
        """Count draws that were recorded.

        Args:
            tested: The result of `test`.
        """
        with self._lock:
            now = self._bets.get(tested.client, tested.before)
            if now is tested.before:
                self._put(tested.client, tested.after)
            elif now is not None:  # others of the same client were recorded meanwhile
                self._put(tested.client, _added(now, tested.draws))

    def _put(self, client: Any, bets: Bets | None) -> None:
        self._arms += _size(bets) - _size(self._bets.pop(client, None))
        self._bets[client] = bets
        while len(self._bets) > MOST_CLIENTS or self._arms > MOST_ARMS:
            self._arms -= _size(self._bets.popitem(last=False)[1])


def _size(bets: Bets | None) -> int:
    return 0 if bets is None else len(bets.arms)


class Tested(NamedTuple):
    """Draws that are likely enough.

    Args:
        client: The client.
        draws: The arms that it drew.
        before: The evidence before that.
        after: The evidence after that.
    """

    client: Any
    draws: Draws
    before: Bets
    after: Bets


def _added(bets: Bets, draws: Draws) -> Bets | None:
    """The evidence with some more draws; None if it is too much."""
    after = copy(bets)  # its arrays are replaced, never changed
    after.arms = dict(bets.arms)
    after.expect(draws.known)
    after.add(draws.arms, np.array(draws.probabilities))
    return after if after.log_e_value < math.log(ALARM) else None

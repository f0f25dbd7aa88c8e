"""Which arm leads an experiment, computed once for every state that it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from varts.live import Store
from varts.live.core.state import State
from varts.live.report.estimates import p_best_in_play

STATES_PER_PAGE = 1_000  # held in memory at a time


class Standing(NamedTuple):
    """Where an experiment stands.

    Args:
        name: The experiment's.
        state: Its configuration and statistics.
        created: When it was, in microseconds since 1970.
        pending: How many of its decisions wait for a reward.
        p_best: By arm, for those in play; empty while too little is known, and where that depends
            on the features of a unit.
    """

    name: str
    state: State
    created: int
    pending: int
    p_best: dict[str, float]

    @property
    def best(self) -> str | None:
        """The arm that is most likely the best."""
        return max(self.p_best, key=self.p_best.__getitem__, default=None)


class Standings:
    """The standings of a store's experiments; P(best) is kept until the state changes.

    States are compared and not their versions alone: an experiment may have been deleted and
    created anew, or its store restored.

    Args:
        store: The database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[State, dict[str, float]]] = {}

    def walk(
        self,
        covers: Callable[[str], bool],
        after: str | None = None,
        at_a_time: int = STATES_PER_PAGE,
    ) -> Iterator[Standing]:
        """Where experiments stand, by name: two statements a page, and one for all.

        Args:
            covers: Tells which ones are wanted.
            after: Only those whose names come later.
            at_a_time: How many are read together.
        """
        summaries = self._store.summaries(after)
        while states := self._store.states(after, at_a_time):
            for name, state in states.items():
                if covers(name) and name in summaries:  # else created just now
                    yield Standing(name, state, *summaries[name], self.p_best(name, state))
            after = list(states)[-1]

    def p_best(self, name: str, state: State) -> dict[str, float]:
        """P(best) of the arms in play, in a state of an experiment.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://", seed=1)
        >>> for i, paid in enumerate([9.0, 0.0, 12.0, 12.0]):
        ...     applied = exp.reward(exp.decide(id=f"visit-{i}").id, paid)
        >>> found = Standings(exp.store).p_best("price", exp.state)
        >>> {arm: round(chance, 2) for arm, chance in found.items()}
        {'9': 0.26, '12': 0.74}
        """
        known = self._known.get(name)
        if known is not None and known[0] == state:
            return known[1]
        arms, active = state.config.arms, state.config.active
        found = dict(
            zip((arms[at] for at in active), map(float, p_best_in_play(state)), strict=False)
        )
        self._known[name] = state, found
        return found

    def drop(self, name: str) -> None:
        """Forget an experiment that is no more.

        Args:
            name: The experiment's.
        """
        self._known.pop(name, None)

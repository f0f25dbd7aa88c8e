"""What the lazy sampler of `lazy_argmax.py` must know of a family of beliefs.

The modules `student_envelope` and `beta_envelope` are the two envelopes. An arm's belief is a row
of the array `beliefs`, whose columns only the envelope knows. `i` is an arm, `tau` a level and
`state` that of the random numbers, which a function that draws takes and returns last.
"""

from __future__ import annotations

from typing import Any, Protocol

from varts._validation import Floats

State = Any  # a np.uint64


class Envelope(Protocol):
    """Bounds on the chances of rare events, draws of those events, and full draws."""

    __name__: str
    #: In which steps to look for a better z.
    Z_STEPS: tuple[float, ...]

    def __hash__(self) -> int: ...

    def first_z(self, K: int) -> float:
        """The z to begin a run with."""

    def center(self, i: int, beliefs: Floats) -> float:
        """Where an arm's belief is."""

    def level_at(self, z: float, i: int, beliefs: Floats) -> float:
        """The tau that is z scales below an arm."""

    def bound_above(self, i: int, tau: float, beliefs: Floats) -> float:
        """A bound on the chance of a draw above tau; notes what it was computed for."""

    def bound_above_holds(self, i: int, tau: float, beliefs: Floats) -> bool:
        """Whether what was noted is a bound for the present belief."""

    def bound_below(self, i: int, tau: float, beliefs: Floats) -> float:
        """The same for the leader and a draw below tau."""

    def bound_below_holds(self, i: int, tau: float, beliefs: Floats) -> bool:
        """Whether the leader's bound still holds."""

    def chance_above(self, i: int, tau: float, beliefs: Floats) -> float:
        """Roughly `bound_above`, to compare levels."""

    def chance_below(self, z: float, i: int, beliefs: Floats) -> float:
        """Roughly the chance that the leader's draw is more than z scales low."""

    def examine(
        self, i: int, below: bool, tau: float, chance: float, beliefs: Floats, state: State
    ) -> tuple[bool, float, State]:
        """Whether the event happened, and the draw."""

    def drawn(self, i: int, beliefs: Floats, state: State) -> tuple[float, float, State]:
        """A full draw, and the signed logarithm of an infinite one."""

    def drawn_given(
        self, i: int, tau: float, above: bool, beliefs: Floats, state: State
    ) -> tuple[float, float, State]:
        """A full draw that is above tau, or one that is not."""

    def drawn_above(
        self, i: int, tau: float, best: float, beliefs: Floats, state: State
    ) -> tuple[bool, float, float, State]:
        """A draw only as far as is needed to know whether it can win; first whether it is done."""

    def unfinished(self, i: int, beliefs: Floats) -> bool:
        """Whether `drawn_above` left the draw half done."""

    def finished(self, i: int, beliefs: Floats, state: State) -> tuple[float, State]:
        """The rest of it."""

"""Problems that drift: the arms' means change during a run.

`Steps` changes abruptly, `Cycle` by the hour or the season, `Walk` a little in every round. Each
wraps a problem. Rewards belong to rounds, not to pulls: in round t, an arm pays the same under
every policy, so policies are compared on the same rewards even if they react at different times.
Regret is against the arm that is best in that round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts import _seeding
from varts._validation import Floats, abbreviate, integer, real, reals, refusal
from varts.priors import NormalGamma
from varts.problems.base import Instances, Problem

STILL, CYCLE, WALK = 0, 1, 2  # how the means of a phase move
PHASES_PER_STREAM = 16  # drawn together; results depend on this number
MOST_MEANS = 2**25  # of one run, all phases and arms: 800 MB with the other numbers of an arm


class Path(NamedTuple):
    """How the arms of one run drift: phases, and within them a motion of the means."""

    starts: NDArray[np.int64]  # the first round of each phase
    mean: Floats  # a row per phase, as are a and b
    a: Floats
    b: Floats
    motion: int = STILL
    numbers: Floats = np.zeros((3, 1))  # of the motion: three rows, a column per arm


class Drifting(Problem):
    """The base of the problems whose means change from round to round.

    Args:
        problem: The arms of the first round, and their rewards.
    """

    def __init__(self, problem: Problem):
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a Problem, got {abbreviate(problem)}")
        if isinstance(problem, Drifting):
            raise ValueError(f"problem must be one that does not drift, got {abbreviate(problem)}")
        if problem.contextual:
            raise ValueError(f"problem must be one without context, got {abbreviate(problem)}")
        self.problem, self.K, self.names = problem, problem.K, problem.names
        self.reward = problem.reward  # type: ignore[method-assign]
        self.data = problem.data

    @property
    def parts(self) -> tuple[Problem, ...]:
        """The problems that this one wraps."""
        return (self.problem,)

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        return self.problem.draw(rng, size)

    def own_prior(self) -> NormalGamma:
        """Return the prior of the arms in the first round."""
        return self.problem.own_prior()

    def path(self, start: Floats, horizon: int, seed: int, run: int) -> Path:
        """Return the path of a run. A shorter path is the beginning of a longer one.

        Args:
            start: The arms' mean, a and b in the first round, a row each.
            horizon: The rounds of the run.
            seed: The seed of the study.
            run: The number of the run.
        """
        return Path(np.ones(1, dtype=np.int64), *(row[None] for row in start))

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "of": self.problem.describe()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem!r})"

    def _per_arm(self, name: str, value: Any, **limits: Any) -> Floats:
        """Return one number per arm, from one number or one per arm."""
        numbers = reals(name, value, **limits)
        if numbers.ndim > 1 or numbers.size not in (1, self.K):
            rule = f"one number or one per arm ({self.K})"
            raise ValueError(refusal(name, rule, value))
        return np.broadcast_to(numbers, self.K).copy()


class Steps(Drifting):
    """Abrupt changes: from time to time the arms are drawn again, or the next problem takes over.

    Args:
        phases: One problem: every phase is a new instance of it. Or several, which take turns; they
            must have the same kind of rewards, such as all `BernoulliBandit.fixed`.
        every: How many rounds a phase has.
        random: Whether phases have this length only on average, with random changes.
        at: Instead of `every`, the rounds in which a new phase begins, counted from 1.

    >>> prior = NormalGamma(mu=0, kappa=1, alpha=3, beta=2)
    >>> from varts import BernoulliBandit, GaussianBandit
    >>> Steps(GaussianBandit(prior, K=3), every=500).K
    3
    >>> usual = BernoulliBandit.fixed([0.5, 0.3, 0.4])
    >>> better = BernoulliBandit.fixed([0.5, 0.3, 0.9])
    >>> problem = Steps([usual, better, usual], at=[3000, 5000])     # Garivier & Moulines (2011)
    >>> start = np.stack([usual.row.mean, usual.row.a, usual.row.b])
    >>> problem.path(start, horizon=10_000, seed=0, run=0).mean[:, 2]
    array([0.4, 0.9, 0.4])
    """

    def __init__(
        self,
        phases: Problem | Sequence[Problem],
        every: float | None = None,
        *,
        random: bool = False,
        at: Sequence[int] | None = None,
    ):
        listed = [phases] if isinstance(phases, Problem) else _listed(phases)
        if not listed:
            raise ValueError("phases must have at least one problem, got none")
        super().__init__(listed[0])
        for other in listed[1:]:
            Drifting(other)  # raises if it isn't a problem, or drifts itself
            if other.K != self.K or other.reward is not self.reward:
                raise ValueError(
                    "phases must have the same number of arms and the same kind of rewards, got "
                    f"{abbreviate(listed[0])} and {abbreviate(other)}"
                )
        self._phases = tuple(listed)
        if (every is None) == (at is None):
            raise ValueError(f"every or at must be given, and not both, got {every!r} and {at!r}")
        if not isinstance(random, bool):
            raise TypeError(refusal("random", "True or False", random))
        if random and every is None:
            raise ValueError("random must be left out with at, got True")
        self.random, self.every, self.at = random, None, None
        if every is not None:
            self.every = real("every", every, at_least=1) if random else integer("every", every, 1)
            return
        self.at = np.array([integer("at", x, at_least=2) for x in _listed(at)], dtype=np.int64)
        if (np.diff(self.at) <= 0).any():
            raise ValueError(refusal("at", "rounds that increase", at))

    @property
    def parts(self) -> tuple[Problem, ...]:
        return self._phases

    def path(self, start: Floats, horizon: int, seed: int, run: int) -> Path:
        starts = self._starts(horizon, seed, run)
        arrays = np.empty((3, len(starts), self.K))
        arrays[:, 0] = start
        for first in range(1, len(starts), PHASES_PER_STREAM):
            rng = _seeding.generator(seed, _seeding.DRIFT, run, 1 + first // PHASES_PER_STREAM)
            drawn = [part.draw(rng, PHASES_PER_STREAM) for part in self._phases]
            tables = [
                [one.array(name, PHASES_PER_STREAM, self.K) for name in ("mean", "a", "b")]
                for one in drawn
            ]
            for phase in range(first, min(first + PHASES_PER_STREAM, len(starts))):
                for array, table in zip(arrays, tables[phase % len(tables)], strict=True):
                    array[phase] = table[phase - first]
        return Path(starts, *arrays)

    def _starts(self, horizon: int, seed: int, run: int) -> NDArray[np.int64]:
        most = MOST_MEANS // self.K
        if self.at is not None:
            return np.concatenate([[1], self.at[self.at <= horizon]]).astype(np.int64)
        assert self.every is not None
        if horizon / self.every > most:
            raise ValueError(
                f"every must be at least {horizon / most:.3g} for {horizon} rounds of {self.K} "
                f"arms, because a run keeps the means of all its phases, got {self.every:g}"
            )
        if not self.random:
            return np.arange(1, horizon + 1, int(self.every), dtype=np.int64)
        rng = _seeding.generator(seed, _seeding.DRIFT, run, 0)
        starts = [1]
        while starts[-1] <= horizon:
            starts.append(starts[-1] + int(rng.geometric(1 / self.every)))
        return np.array(starts[:-1], dtype=np.int64)

    def describe(self) -> dict[str, Any]:
        when = {"every": self.every, "random": self.random}
        if self.at is not None:
            when = {"at": self.at.tolist()}
        parts = [part.describe() for part in self._phases]
        return {**Problem.describe(self), "of": parts[0] if len(parts) == 1 else parts, **when}

    def __repr__(self) -> str:
        inner = self._phases[0] if len(self._phases) == 1 else list(self._phases)
        when = f"at={abbreviate(self.at.tolist())}" if self.at is not None else f"{self.every:g}"
        return f"Steps({inner!r}, {when}{', random=True' if self.random else ''})"


class Cycle(Drifting):
    """Means that go up and down like a sine, as over the hours of a day or the days of a week.

    Each arm's rewards are shifted by `amplitude` times the sine of its position in the cycle.

    Args:
        problem: The arms without the cycle.
        period: The rounds of a cycle, shared or per arm.
        amplitude: How far a mean goes up and down, shared or per arm.
        phase: Where in the cycle each arm begins, from 0 to 1; by default drawn for every arm and
            run. With one number for all, the arms rise and fall together, and the best arm stays
            the best.

    >>> Cycle.shift(np.array([25, 50, 75]), amplitude=2.0, period=100.0, phase=0.0).round(6)
    array([ 2.,  0., -2.])
    """

    def __init__(self, problem: Problem, period: Any, amplitude: Any, phase: Any = None):
        super().__init__(problem)
        self.period = self._per_arm("period", period, above=0)
        self.amplitude = self._per_arm("amplitude", amplitude, at_least=0)
        self.phase = None if phase is None else self._per_arm("phase", phase)

    @staticmethod
    def shift(t: Any, amplitude: Any, period: Any, phase: Any) -> Any:
        """Compute the distance of an arm's mean from its value without the cycle.

        Args:
            t: The round, counted from 1.
            amplitude: The arm's amplitude.
            period: Its period.
            phase: Its position in the cycle before the first round.
        """
        return amplitude * np.sin(2 * np.pi * (t / period + phase))

    def path(self, start: Floats, horizon: int, seed: int, run: int) -> Path:
        phase = self.phase
        if phase is None:
            phase = _seeding.generator(seed, _seeding.DRIFT, run, 0).random(self.K)
        numbers = np.stack([self.amplitude, self.period, phase])
        return super().path(start, horizon, seed, run)._replace(motion=CYCLE, numbers=numbers)

    def describe(self) -> dict[str, Any]:
        phase = None if self.phase is None else self.phase.tolist()
        numbers = {"period": self.period.tolist(), "amplitude": self.amplitude.tolist()}
        return {**super().describe(), **numbers, "phase": phase}


class Walk(Drifting):
    """Means that wander: in every round, each takes a normal step and is pulled back a little.

    Without `spread`, nothing pulls a mean back: after t rounds it is about `step` sqrt(t) from its
    start. With it, the walk is an Ornstein-Uhlenbeck process: in the long run a mean is at
    `center`, give or take `spread`, and forgets its position within about (spread / step)^2 rounds.

    Args:
        problem: The arms in the first round.
        step: The standard deviation of a step, shared or per arm; 0 for no drift.
        spread: The standard deviation of a mean in the long run; at least `step`.
        center: The mean is pulled back to this; by default its start. Only with `spread`.

    >>> from varts import GaussianBandit, Normal
    >>> arms = GaussianBandit(Normal(0, 0.5), K=5, sigma=1)
    >>> Walk(arms, step=0.02, spread=0.5, center=0).decay.round(6)     # sqrt(1 - 0.04^2)
    array([0.9992, 0.9992, 0.9992, 0.9992, 0.9992])
    """

    def __init__(self, problem: Problem, step: Any, spread: Any = None, center: Any = None):
        super().__init__(problem)
        self.step = self._per_arm("step", step, at_least=0)
        self.spread = self.center = None
        self.decay = np.ones(self.K)
        if spread is not None:
            self.spread = self._per_arm("spread", spread, above=0)
            if (self.spread < self.step).any():
                raise ValueError(refusal("spread", "at least step", spread))
            self.decay = np.sqrt(1 - (self.step / self.spread) ** 2)
        if center is not None:
            if spread is None:
                raise ValueError(refusal("center", "given with spread", center))
            self.center = self._per_arm("center", center)

    @staticmethod
    def moved(away: Any, decay: Any, step: Any, z: Any) -> Any:
        """Compute the distance of a mean from its center after another round.

        Args:
            away: The distance now.
            decay: The share of it that remains.
            step: The standard deviation of the step.
            z: A standard normal number.
        """
        return decay * away + step * z

    def path(self, start: Floats, horizon: int, seed: int, run: int) -> Path:
        center = start[0] if self.center is None else self.center
        numbers = np.stack([self.decay, self.step, center])
        return super().path(start, horizon, seed, run)._replace(motion=WALK, numbers=numbers)

    def describe(self) -> dict[str, Any]:
        optional = {"spread": self.spread, "center": self.center}
        listed = {name: None if x is None else x.tolist() for name, x in optional.items()}
        return {**super().describe(), "step": self.step.tolist(), **listed}


def _listed(values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"phases and at must be lists, got {abbreviate(values)}")
    return list(values)

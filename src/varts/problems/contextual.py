"""Problems with context: rewards depend on the features of a unit.

A run draws its arms once. In every round a unit visits: it has features x and an expected reward
for each arm. Visits and rewards belong to rounds, so every policy meets the same units, and an arm
pays a unit the same under every policy. Regret is against the best arm *for x*. Visits are drawn
in chunks during a run, so memory doesn't grow with the horizon.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from varts import _seeding
from varts._validation import Floats, abbreviate, choice, integer, real, reals
from varts.linear_stats import feature_rows
from varts.policies import Policy
from varts.priors import LinearNormalGamma, NormalGamma, PriorLike, prior_from
from varts.priors.matching import arm_names
from varts.problems.base import Instances, Problem
from varts.problems.classic import GaussianBandit

# The largest chunk of visits, in numbers and in rounds. Results depend on both.
NUMBERS_TOGETHER, ROUNDS_TOGETHER = 2**17, 1024


class Visits(NamedTuple):
    """The units of some rounds, a row each.

    Args:
        x: Their features.
        mean: The expected reward of each arm.
        b: Each arm's second number for `reward`: by default the noise's standard deviation.
    """

    x: Floats
    mean: Floats
    b: Floats


class ContextualProblem(Problem):
    """The base of problems whose rewards depend on features.

    A reward is `reward(a, b, z, u)`, where a is the arm's expected reward and b its standard
    deviation; by default a + b z, Gaussian.

    >>> class Seasons(ContextualProblem):
    ...     K, d = 2, 1
    ...     def draw_arms(self, rng):
    ...         return rng.standard_normal(2)
    ...     def expected(self, arms, x):
    ...         return arms * np.sin(x)                  # a row per visit, a column per arm
    >>> next(Seasons().visits(seed=0, run=0)).mean.shape
    (1024, 2)
    """

    d: int
    contextual: ClassVar[bool] = True
    reward = staticmethod(GaussianBandit.reward)

    def draw_arms(self, rng: np.random.Generator) -> Any:
        """Draw the arms of a run, as `expected` and `scatter` take them.

        Args:
            rng: The random generator.
        """
        raise NotImplementedError(f"{type(self).__name__} must define draw_arms(rng)")

    def draw_features(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw the features of units, a row each: standard normal by default.

        Args:
            rng: The random generator.
            size: How many units.
        """
        return rng.standard_normal((size, self.d))

    def expected(self, arms: Any, x: Floats) -> Floats:
        """Return the arms' expected rewards, a row per visit and a column per arm.

        Args:
            arms: The result of `draw_arms`.
            x: The features, a row per visit.
        """
        raise NotImplementedError(f"{type(self).__name__} must define expected(arms, x)")

    def scatter(self, arms: Any, x: Floats) -> Floats:
        """Return the noise's standard deviations; they broadcast to the shape of `expected`.

        Args:
            arms: The result of `draw_arms`.
            x: The features, a row per visit.
        """
        return np.ones(1)

    def visits(self, seed: int, run: int) -> Iterator[Visits]:
        """Yield the visits of a run in chunks, forever.

        Args:
            seed: The seed of the study.
            run: The number of the run.
        """
        arms = self.draw_arms(_seeding.generator(seed, _seeding.INSTANCES, run))
        rng, size = _seeding.generator(seed, _seeding.VISITS, run), self.rounds_together
        while True:
            x = self.draw_features(rng, size)
            yield self.checked(x, self.expected(arms, x), self.scatter(arms, x))

    @property
    def rounds_together(self) -> int:
        """How many rounds a chunk of visits has."""
        return min(ROUNDS_TOGETHER, max(1, NUMBERS_TOGETHER // (self.d + 2 * self.K)))

    def checked(self, x: Floats, mean: Any, b: Any) -> Visits:
        """Validate one chunk of visits and return it.

        Args:
            x: The features, a row per visit.
            mean: The arms' expected rewards.
            b: Their standard deviations.
        """
        x = feature_rows(x, self.d)
        if x.ndim != 2 or not len(x):
            raise ValueError(
                f"features of {type(self).__name__} must be rows of {self.d}, got shape {x.shape}"
            )
        arrays, shape = [np.array(x, order="C")], (len(x), self.K)
        for name, given in (("expected", mean), ("scatter", b)):
            what = f"{name} of {type(self).__name__}"
            array = reals(what, given)
            try:
                arrays.append(np.array(np.broadcast_to(array, shape), order="C"))
            except ValueError:
                raise ValueError(f"{what} must have the shape {shape}, got {array.shape}") from None
        return Visits(*arrays)

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        raise ValueError(f"{type(self).__name__} has no instances without features; use visits()")

    def estimate_prior(
        self, samples: int = 10_000, seed: int = 0, kappa: str = "paper"
    ) -> NormalGamma:
        """Raise ValueError: the means of these arms depend on features.

        Args:
            samples: Not used.
            seed: Not used.
            kappa: Not used.
        """
        raise ValueError(f"{type(self).__name__} has no prior for policies without features")

    def check(self, pulls: int = 25_000, seed: int = 0) -> None:
        """Raise ValueError if the first chunk of visits is invalid.

        Args:
            pulls: Not used.
            seed: Same seed, same visits.
        """
        next(self.visits(seed, 0))

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "d": self.d}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K}, d={self.d})"


def check_context(policy: Policy, problem: Problem) -> None:
    """Raise ValueError if a policy can't play a problem because of features.

    Args:
        policy: The policy.
        problem: The problem, with context or without.
    """
    plain, _ = policy.split_fading()
    if not isinstance(problem, ContextualProblem):
        if plain.contextual:
            kind = type(problem).__name__
            raise ValueError(f"it needs features, but a {kind} has none")
        return
    prior = getattr(plain, "prior", None)
    if isinstance(prior, LinearNormalGamma) and prior.d != problem.d:
        raise ValueError(f"prior must have the problem's {problem.d} features, got {prior.d}")


# ---------------------------------------------------------------------------------- ready problems
# Ready problems with context: linear, nearly linear, the wheel, and a recorded table.


Curve: TypeAlias = "Callable[[Floats], Any]"


def _linear(u: Floats) -> Floats:
    return u


def _quadratic(u: Floats) -> Floats:
    return u + u * u / 2


# The effect of a feature at a distance u from the center, divided by its slope.
EFFECTS: dict[str, Curve] = {
    "linear": _linear,
    "quadratic": _quadratic,
    "threshold": np.sign,
}


def _even(x: Floats) -> Floats:
    return np.ones(1)


def _fan(x: Floats) -> Floats:
    return np.exp(x[:, :1] / 2)


# Factors of the noise's standard deviation, for features x.
NOISES: dict[str, Curve] = {"even": _even, "fan": _fan}


class LinearBandit(ContextualProblem):
    """Arms whose mean rewards are linear in the features, or nearly; Gaussian noise.

    Every run draws a level, slopes and a noise variance for every arm from the prior. With another
    `effect` or `noise`, the assumptions of linear policies are violated.

    Args:
        prior: A LinearNormalGamma, in any form that `prior_from` takes. By default levels and
            slopes have the weight of one reward each, and noise precisions come from Gamma(2, 1):
            nine of ten standard deviations are between 0.46 and 1.68.
        K: The number of arms; by default that of the prior, or 10.
        d: The number of features, only without a prior; 5 by default.
        contexts: The distribution of features: None for standard normal ones, a table with a row
            per unit (each equally likely in every round), or a function of a generator and a number
            of rows.
        effect: The effect of a feature at distance u from the center, divided by its slope:
            "linear" (u), "quadratic" (u + u^2/2), "threshold" (the sign of u), or a function of
            arrays.
        noise: A factor of the noise's standard deviation: "even" (1), "fan" (exp(x1 / 2)), or a
            function of rows of features that returns a column.

    >>> problem = LinearBandit(K=3, d=2)
    >>> visits = next(problem.visits(seed=0, run=0))
    >>> visits.x.shape, visits.mean.shape
    ((1024, 2), (1024, 3))
    >>> LinearBandit(K=3, d=1, contexts=[[0.0], [1.0]], effect="threshold")
    LinearBandit(K=3, d=1, contexts=2 rows, effect='threshold')
    """

    def __init__(
        self,
        prior: PriorLike | None = None,
        K: int | None = None,
        *,
        d: int | None = None,
        contexts: Any = None,
        effect: str | Curve = "linear",
        noise: str | Curve = "even",
    ) -> None:
        if prior is None:
            K = integer("K", 10 if K is None else K, at_least=1)
            d = integer("d", 5 if d is None else d, at_least=0)
            prior = LinearNormalGamma(0.0, 1.0, 2.0, 1.0, np.zeros(d), np.eye(d))
        elif d is not None:
            raise ValueError(f"d must be left out with a prior, which has it, got {d!r}")
        made = prior_from(prior, LinearNormalGamma)
        size = made.K if K is None else K
        if size is None:
            raise ValueError("K must be given when every arm shares the prior, got None")
        self.K, self.d = integer("K", size, at_least=1), made.d
        self.prior = made.for_arms(self.K)
        self.names = self.prior.names
        self.contexts = contexts if callable(contexts) else _rows(contexts, self.d)
        self.effect, self.noise = effect, noise
        self._curve = _curve("effect", effect, EFFECTS)
        self._factor = _curve("noise", noise, NOISES)

    def draw_arms(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        level, slopes, lam = self.prior.sample(rng)
        return level[0], slopes[0], 1 / np.sqrt(lam[0])

    def draw_features(self, rng: np.random.Generator, size: int) -> Floats:
        if self.contexts is None:
            return super().draw_features(rng, size)
        if callable(self.contexts):
            return np.asarray(self.contexts(rng, size))
        rows: Floats = self.contexts[rng.integers(len(self.contexts), size=size)]
        return rows

    def expected(self, arms: Any, x: Floats) -> Floats:
        level, slopes, _ = arms
        centers = np.broadcast_to(self.prior.center, (self.K, self.d))
        if (centers == centers[0]).all():  # sums of BLAS depend on its threads
            return np.asarray(level + np.einsum("nd,kd->nk", self._curve(x - centers[0]), slopes))
        each = (np.einsum("nd,d->n", self._curve(x - centers[i]), slopes[i]) for i in range(self.K))
        return np.asarray(level + np.stack(list(each), axis=1))

    def scatter(self, arms: Any, x: Floats) -> Floats:
        return np.asarray(arms[2] * self._factor(x))

    def describe(self) -> dict[str, Any]:
        contexts = {} if self.contexts is None else {"contexts": _described(self.contexts)}
        curves = {name: _described(getattr(self, name)) for name in ("effect", "noise")}
        return {**super().describe(), "prior": self.prior.to_dict(), **contexts, **curves}

    def __repr__(self) -> str:
        said = f"K={self.K}, d={self.d}"
        if self.contexts is not None:
            rows = "a function" if callable(self.contexts) else f"{len(self.contexts)} rows"
            said += f", contexts={rows}"
        for name, usual in (("effect", "linear"), ("noise", "even")):
            value = getattr(self, name)
            said += "" if value == usual else f", {name}={_described(value)!r}"
        return f"LinearBandit({said})"


class Wheel(ContextualProblem):
    """The wheel of Riquelme, Tucker & Snoek (2018): a large reward that linear models miss.

    Features are uniform in the unit disc. Arm 0 pays N(1.2, 0.05^2), the four others N(1, 0.05^2),
    except that beyond radius delta the arm of the quadrant pays N(50, 0.01^2).

    Args:
        delta: The radius, from 0 to 1. The larger it is, the rarer is the large reward.

    >>> visits = next(Wheel(delta=0.5).visits(seed=0, run=0))
    >>> far = np.hypot(*visits.x.T) > 0.5
    >>> sorted(set(visits.mean[far].max(axis=1))), sorted(set(visits.mean[~far].max(axis=1)))
    ([np.float64(50.0)], [np.float64(1.2)])
    """

    K, d = 5, 2

    def __init__(self, delta: float = 0.5) -> None:
        self.delta = real("delta", delta, at_least=0, at_most=1)

    def draw_arms(self, rng: np.random.Generator) -> None:
        """Draw nothing: the wheel is the same in every run.

        Args:
            rng: Not used.
        """

    def draw_features(self, rng: np.random.Generator, size: int) -> Floats:
        radius, angle = np.sqrt(rng.random(size)), 2 * np.pi * rng.random(size)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)

    def expected(self, arms: Any, x: Floats) -> Floats:
        return np.where(self._won(x), 50.0, [1.2, 1.0, 1.0, 1.0, 1.0])

    def scatter(self, arms: Any, x: Floats) -> Floats:
        return np.where(self._won(x), 0.01, 0.05)

    def _won(self, x: Floats) -> Any:
        """Return which arm, if any, pays the large reward, a row per visit."""
        quadrant = 1 + (x[:, 0] < 0) + 2 * (x[:, 1] < 0)
        far = np.hypot(x[:, 0], x[:, 1]) > self.delta
        return far[:, None] & (quadrant[:, None] == np.arange(5))

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "delta": self.delta}

    def __repr__(self) -> str:
        return f"Wheel(delta={self.delta:g})"


class RecordedBandit(ContextualProblem):
    """A table with the reward of every arm for every row: its rows are the visits.

    Every run goes through the rows in its own random order, and then again in another.

    Args:
        x: The features, a row per visit.
        rewards: The arms' rewards, a row per visit and a column per arm, or a mapping from names to
            columns.

    >>> problem = RecordedBandit(x=[[0.0], [1.0]], rewards={"red": [1, 0], "blue": [0, 1]})
    >>> problem, problem.names
    (RecordedBandit(K=2, d=1, 2 rows), ('red', 'blue'))
    """

    def __init__(self, x: Any, rewards: Any) -> None:
        if isinstance(rewards, Mapping):
            self.names = arm_names(rewards)
            rewards = np.stack([reals("rewards", each) for each in rewards.values()], axis=-1)
        self.x, self.rewards = reals("x", x), reals("rewards", rewards)
        for name, array in (("x", self.x), ("rewards", self.rewards)):
            if array.ndim != 2 or not array.size:
                raise ValueError(
                    f"{name} must be a table with rows and columns, got shape {array.shape}"
                )
        if len(self.x) != len(self.rewards):
            raise ValueError(
                f"x and rewards must have the same number of rows, got {len(self.x)} and "
                f"{len(self.rewards)}"
            )
        self.d, self.K = self.x.shape[1], self.rewards.shape[1]

    @classmethod
    def from_labels(cls, x: Any, labels: Sequence[Any]) -> RecordedBandit:
        """Make a bandit from a classification: an arm per label, which pays 1 if it is correct.

        Args:
            x: The features, a row per visit.
            labels: The correct label of every row.

        >>> RecordedBandit.from_labels([[0.0], [1.0], [2.0]], ["cat", "dog", "cat"]).names
        ('cat', 'dog')
        """
        known, place = np.unique(np.asarray(labels), return_inverse=True)
        right = np.eye(len(known))[place]
        return cls(x, dict(zip(map(str, known.tolist()), right.T, strict=True)))

    def visits(self, seed: int, run: int) -> Iterator[Visits]:
        rng, size = _seeding.generator(seed, _seeding.VISITS, run), self.rounds_together
        while True:
            order = rng.permutation(len(self.x))
            for first in range(0, len(order), size):
                rows = order[first : first + size]
                yield self.checked(self.x[rows], self.rewards[rows], np.zeros(1))

    def describe(self) -> dict[str, Any]:
        named = {} if self.names is None else {"arms": list(self.names)}
        table = {"x": _described(self.x), "rewards": _described(self.rewards)}
        return {**super().describe(), **named, **table}

    def __repr__(self) -> str:
        return f"RecordedBandit(K={self.K}, d={self.d}, {len(self.x)} rows)"


def _rows(contexts: Any, d: int) -> Floats | None:
    if contexts is None:
        return None
    rows = reals("contexts", contexts)
    if rows.ndim != 2 or rows.shape[1] != d or not len(rows):
        raise ValueError(f"contexts must be rows of {d} features, got shape {rows.shape}")
    return rows


def _curve(name: str, given: Any, known: Mapping[str, Curve]) -> Curve:
    if callable(given):
        return given  # type: ignore[no-any-return]
    if not isinstance(given, str):
        raise TypeError(
            f"{name} must be one of {', '.join(known)} or a function, got {abbreviate(given)}"
        )
    return known[choice(name, given, known)]


def _described(value: Any) -> Any:
    """Return the description of a table or a function for saved studies."""
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "sha256": hashlib.sha256(value.tobytes()).hexdigest()}
    return getattr(value, "__name__", "a function") if callable(value) else value

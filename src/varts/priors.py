"""Priors over an arm's mean (and variance), and what rewards make of them.

A posterior has the type of its prior. The update formulas are plain arithmetic, written once: the
classes below apply them to NumPy arrays, the engine compiles the same functions for its loops.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from varts._validation import Floats, abbreviate, choice, common_shape, integer, reals, unknown
from varts.beliefs import StudentT
from varts.stats import ArmStats

Self = TypeVar("Self", bound="Prior")


def data_share(n: Any, kappa: Any) -> Any:
    """How much n rewards weigh against a prior worth kappa of them.

    The tiny number only makes 0 / 0 into 0.

    >>> data_share(3, 1)
    0.75
    """
    return n / (kappa + n + 1e-300)


def normal_gamma_update(
    n: Any, mean: Any, m2: Any, mu: Any, kappa: Any, alpha: Any, beta: Any
) -> tuple[Any, Any, Any, Any]:
    """Algorithm 2, lines 9 to 14: the Normal-Gamma posterior of one arm.

    >>> normal_gamma_update(3, 3.0, 8.0, 0.0, 1.0, 2.0, 1.0)   # beta: 1 + 8/2 + 1*3*3^2/(2*4)
    (2.25, 4.0, 3.5, 8.375)
    """
    share, gap = data_share(n, kappa), mean - mu
    return mu + share * gap, kappa + n, alpha + n / 2, beta + (m2 + kappa * share * gap * gap) / 2


def normal_update(n: Any, mean: Any, mu: Any, kappa: Any) -> tuple[Any, Any]:
    """Algorithm 1, lines 9 and 10: location and weight, when `mu` is worth `kappa` rewards.

    >>> normal_update(3, 5.0, 1.0, 1)      # (1*1 + 3*5) / 4
    (4.0, 4)
    """
    return mu + data_share(n, kappa) * (mean - mu), kappa + n


def student_t(mu: Any, kappa: Any, alpha: Any, beta: Any) -> tuple[Any, Any, Any]:
    """The marginal of the mean: location, scale and degrees of freedom of a Student t."""
    return mu, np.sqrt(beta / (alpha * kappa)), 2 * alpha


class Prior:
    """What `NormalGamma` and `Normal` share: fields that broadcast over arms, JSON, equality."""

    _fields: ClassVar[tuple[str, ...]]
    #: The arms that the entries are for and the prior of any other, if its JSON said so.
    names: tuple[str, ...] | None = None
    others: Prior | None = None

    def _store(self, **arrays: Floats) -> None:
        shape = common_shape(**arrays)
        for name, array in arrays.items():
            array = np.broadcast_to(array, shape).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array if shape else float(array))

    @property
    def K(self) -> int | None:
        """The number of arms; None for a prior that every arm shares."""
        first = getattr(self, self._fields[0])
        return len(first) if isinstance(first, np.ndarray) else None

    def per_arm(self, K: int) -> tuple[Floats, ...]:
        """The fields as arrays of length K."""
        if self.K not in (None, 1, K):
            raise ValueError(f"prior must have one entry per arm ({K}) or be shared, got {self.K}")
        return tuple(
            np.array(np.broadcast_to(getattr(self, name), K), dtype=np.float64)
            for name in self._fields
        )

    def for_arms(self: Self, K: int) -> Self:
        """The same prior written out for K arms."""
        return type(self)(*self.per_arm(integer("K", K, at_least=1)))

    def take(self: Self, arms: Any) -> Self:
        """The prior of some of the arms, by their indices; a shared one stays as it is."""
        if self.K in (None, 1):
            return self
        return type(self)(*(getattr(self, name)[arms] for name in self._fields))

    def mirrored(self: Self) -> Self:
        """The prior of -reward, for where lower is better.

        >>> NormalGamma(2, 1, 2, 1).mirrored()
        NormalGamma(mu=-2.0, kappa=1.0, alpha=2.0, beta=1.0)
        """
        mu, *rest = (getattr(self, name) for name in self._fields)
        return type(self)(-mu, *rest)  # type: ignore[call-arg]

    def to_dict(self) -> dict[str, Any]:
        """The prior's type and its fields, as numbers and lists, and the arms' names if known.

        >>> Normal([1, 2], sigma=3).to_dict()
        {'type': 'Normal', 'mu': [1.0, 2.0], 'sigma': [3.0, 3.0]}
        """
        body = {name: np.asarray(getattr(self, name)).tolist() for name in self._fields}
        if self.names is not None:
            body["arms"] = list(self.names)
        if self.others is not None:
            body["others"] = self.others.to_dict()
        return {"type": type(self).__name__, **body}

    def to_json(self) -> str:
        """`to_dict()` as a JSON object."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls: type[Self], text: str, arms: Iterable[str] | None = None) -> Self:
        """The inverse of `to_json`; `Prior.from_json` takes any type of prior.

        The JSON may name the arms its entries are for, and a prior for any others (`varts fit`
        does). With `arms`, the result has an entry for each of these names, in their order.

        >>> text = (
        ...     '{"type": "Normal", "mu": [1, 2], "sigma": 1, "arms": ["a", "b"],'
        ...     ' "others": {"type": "Normal", "mu": 9, "sigma": 3}}'
        ... )
        >>> Prior.from_json(text, arms=["b", "new", "a"])
        Normal(mu=[2. 9. 1.], sigma=[1. 3. 1.])
        """
        try:
            body = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"prior must be JSON, got something else ({error})") from None
        return cls._from_fields(body if isinstance(body, dict) else {}, arms)

    @classmethod
    def _from_fields(
        cls: type[Self], body: dict[str, Any], arms: Iterable[str] | None = None
    ) -> Self:
        body = {key: value for key, value in body.items() if key != "fit"}  # where it comes from
        names, others = body.pop("arms", None), body.pop("others", None)
        kinds = {kind.__name__: kind for kind in (NormalGamma, Normal) if issubclass(kind, cls)}
        name = body.pop("type", None)
        if not isinstance(name, str) or name not in kinds:
            raise ValueError(unknown("prior type", name, kinds))
        kind = kinds[name]
        if set(body) != set(kind._fields):
            raise ValueError(
                f"a {name} must have the fields {', '.join(kind._fields)}, got {', '.join(body)}"
            )
        prior = cast("Self", kind(**body))
        if names is not None and (
            not isinstance(names, list) or len({*map(str, names)}) != prior.K
        ):
            rule = (
                "left out of one that all share"
                if prior.K is None
                else f"{prior.K} different names"
            )
            raise ValueError(f"arms of a prior must be {rule}, got {abbreviate(names)}")
        if names is not None:  # kept: whoever knows the arms' names can still go by them
            object.__setattr__(prior, "names", tuple(map(str, names)))
        if others is not None:
            object.__setattr__(prior, "others", kind._from_others(others))
        return cast("Self", prior_from(prior, arms))

    @classmethod
    def _from_others(cls: type[Self], fields: Any) -> Self:
        """The prior of arms without a name: of the same type, for any number of them."""
        if not isinstance(fields, dict):
            raise ValueError(
                f"others of a prior must be the fields of a prior, got {abbreviate(fields)}"
            )
        others = cls._from_fields(fields)
        if others.K not in (None, 1):
            raise ValueError(f"others of a prior must be shared, got one for {others.K} arms")
        return others

    def save(self, path: str | Path) -> None:
        """Write `to_json()` to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(
        cls: type[Self], path: str | os.PathLike[str], arms: Iterable[str] | None = None
    ) -> Self:
        """Read what `save` or `varts fit` wrote; `arms` as in `from_json`."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"), arms)
        except UnicodeDecodeError:
            raise ValueError(f"{path}: prior must be JSON, got binary data") from None
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self._fields
        )

    __hash__ = None  # type: ignore[assignment]  # it may hold arrays

    def __repr__(self) -> str:
        body = ", ".join(f"{name}={getattr(self, name)}" for name in self._fields)
        return f"{type(self).__name__}({body})"


@dataclass(frozen=True, eq=False, repr=False)
class NormalGamma(Prior):
    """Mean and precision unknown: lam ~ Gamma(alpha, rate beta), mean ~ N(mu, 1/(kappa lam)).

    Scalars are shared by all arms, vectors have one entry per arm. kappa = 0 says nothing about
    the mean: a policy then pulls that arm once before it samples.

    >>> prior = NormalGamma(mu=0, kappa=1, alpha=2, beta=1)
    >>> posterior = prior.posterior(ArmStats.from_rewards([[1, 3, 5]]))
    >>> posterior
    NormalGamma(mu=[2.25], kappa=[4.], alpha=[3.5], beta=[8.375])
    >>> posterior.belief().interval(0.9)[1].round(4)   # 2.25 + sqrt(8.375/14) * t(7; 0.95)
    array([3.7153])
    """

    mu: Any
    kappa: Any
    alpha: Any
    beta: Any

    _fields: ClassVar[tuple[str, ...]] = ("mu", "kappa", "alpha", "beta")

    def __post_init__(self) -> None:
        self._store(
            mu=reals("mu", self.mu),
            kappa=reals("kappa", self.kappa, at_least=0),
            alpha=reals("alpha", self.alpha, above=0),
            beta=reals("beta", self.beta, above=0),
        )

    def posterior(self, stats: ArmStats) -> NormalGamma:
        """What is known after these rewards."""
        prior = self.per_arm(stats.K)
        return NormalGamma(*normal_gamma_update(stats.n, stats.mean, stats.m2, *prior))

    def belief(self) -> StudentT:
        """The marginal of each arm's mean: Student t with 2 alpha degrees of freedom."""
        with np.errstate(divide="ignore"):  # kappa = 0: infinitely wide
            return StudentT(*student_t(*(np.asarray(getattr(self, f)) for f in self._fields)))

    @property
    def mean_sd(self) -> Floats:
        """The sd of an arm's mean, infinite for alpha <= 1.

        >>> NormalGamma(mu=12, kappa=16, alpha=11, beta=640).mean_sd      # sqrt(640 / (16 * 10))
        array(2.)
        """
        kappa, alpha, beta = (np.asarray(x) for x in (self.kappa, self.alpha, self.beta))
        with np.errstate(divide="ignore"):
            return np.asarray(np.sqrt(beta / (kappa * np.maximum(alpha - 1, 0))))

    def sample(self, rng: np.random.Generator, size: Any = None) -> tuple[Floats, Floats]:
        """Means and precisions, one pair per arm (times `size`)."""
        mu, kappa, alpha, beta = (np.asarray(getattr(self, f)) for f in self._fields)
        if not (kappa > 0).all():
            raise ValueError("kappa of a prior that is sampled must be > 0, got 0.0")
        shape = _shape(mu, size)
        lam = rng.standard_gamma(alpha, shape) / beta
        with np.errstate(divide="ignore", over="ignore"):
            return mu + rng.standard_normal(shape) / np.sqrt(kappa * lam), lam

    @classmethod
    def from_moments(cls, means: Any, precisions: Any, kappa: str = "paper") -> NormalGamma:
        """The method of moments, from samples of (mean, precision): rows samples, columns arms.

        With m, V the mean and variance (divisor: the number of samples) of the means, and l, nu
        those of the precisions: mu = m, beta = l/nu, alpha = l^2/nu. The paper sets
        kappa = beta/(alpha V), which takes 1/E[precision] for E[variance]; "consistent" uses
        beta/((alpha - 1) V) and needs alpha > 1.

        >>> NormalGamma.from_moments([1, 3], [2, 6])    # m=2, V=1, l=4, nu=4
        NormalGamma(mu=2.0, kappa=0.25, alpha=4.0, beta=1.0)
        """
        choice("kappa", kappa, ("paper", "consistent"))
        means, precisions = reals("means", means), reals("precisions", precisions, above=0)
        if means.shape != precisions.shape or means.ndim not in (1, 2) or len(means) < 2:
            raise ValueError(
                "means and precisions must have equal shapes and at least 2 samples, "
                f"got {means.shape} and {precisions.shape}"
            )
        m, V = means.mean(axis=0), means.var(axis=0)
        lbar, nu = precisions.mean(axis=0), precisions.var(axis=0)
        for name, values, variance in (("means", means, V), ("precisions", precisions, nu)):
            spread = np.where(np.ptp(values, axis=0) > 0, variance, 0.0)  # rounding is no spread
            reals(f"variance of the {name}", spread, above=0)
        beta = lbar / nu
        alpha = beta * lbar
        if kappa == "consistent":
            reals('alpha for kappa="consistent"', alpha, above=1)
            return cls(m, beta / ((alpha - 1) * V), alpha, beta)
        return cls(m, beta / (alpha * V), alpha, beta)

    @classmethod
    def elicit(cls, mean: Any, mean_sd: Any, reward_sd: Any, worth: Any) -> NormalGamma:
        """A prior in a person's words.

        "The mean is about `mean`, give or take `mean_sd`; single rewards scatter by `reward_sd`,
        and that I know as well as if I had seen `worth` of them." Then E[variance] = reward_sd^2
        and the sd of the mean is mean_sd, exactly.

        >>> NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)
        NormalGamma(mu=12.0, kappa=16.0, alpha=11.0, beta=640.0)
        """
        mean = reals("mean", mean)
        mean_sd = reals("mean_sd", mean_sd, above=0)
        reward_sd = reals("reward_sd", reward_sd, above=0)
        worth = reals("worth", worth, above=0)
        kappa, alpha = (reward_sd / mean_sd) ** 2, 1 + worth / 2
        return cls(mean, kappa, alpha, reward_sd**2 * worth / 2)


@dataclass(frozen=True, eq=False, repr=False)
class Normal(Prior):
    """Only the mean unknown: mean ~ N(mu, sigma^2), with the reward's own sd known elsewhere.

    >>> Normal(mu=0, sigma=2).posterior(ArmStats.from_rewards([[1, 3, 5]]), sigma=2)
    Normal(mu=[2.25], sigma=[1.])
    """

    mu: Any
    sigma: Any

    _fields: ClassVar[tuple[str, ...]] = ("mu", "sigma")

    def __post_init__(self) -> None:
        self._store(mu=reals("mu", self.mu), sigma=reals("sigma", self.sigma, above=0))

    def posterior(self, stats: ArmStats, sigma: Any) -> Normal:
        """What is known after these rewards, each of which had standard deviation `sigma`."""
        mu, sigma0 = self.per_arm(stats.K)
        sigma = reals("sigma", sigma, above=0)
        common_shape(sigma=sigma, mu=mu)
        mu, kappa = normal_update(stats.n, stats.mean, mu, (sigma / sigma0) ** 2)
        return Normal(mu, sigma / np.sqrt(kappa))

    def belief(self) -> StudentT:
        """The Gaussian itself, as a t with df = inf."""
        return StudentT(self.mu, self.sigma, np.asarray(np.inf))

    def sample(self, rng: np.random.Generator, size: Any = None) -> Floats:
        """Means, one per arm (times `size`)."""
        mu = np.asarray(self.mu)
        shape = _shape(mu, size)
        return np.asarray(mu + self.sigma * rng.standard_normal(shape))


def _shape(mu: Floats, size: Any) -> tuple[int, ...]:
    if size is None:
        return mu.shape
    return (size if isinstance(size, tuple) else (size,)) + mu.shape


def for_names(
    prior: Self, names: Iterable[str] | None, arms: Iterable[str], others: Self | None = None
) -> Self:
    """The entries of `arms`, in their order, of a prior whose entries have `names`.

    A name it does not have gets `others`; a prior without names is the same for every arm.

    >>> for_names(Normal([1, 2], 1), ["a", "b"], ["b", "c"], Normal(9, 3))
    Normal(mu=[2. 9.], sigma=[1. 3.])
    """
    arms = [str(arm) for arm in arms]
    if not arms:
        raise ValueError("arms must name at least one arm, got none")
    if names is None:
        return prior.for_arms(len(arms))
    place = {str(name): i for i, name in enumerate(names)}
    strange = [arm for arm in arms if arm not in place]
    if strange and others is None:
        raise ValueError(unknown("arm", strange[0], place))
    rows = np.column_stack(prior.per_arm(len(place)))
    rest = None if others is None else [float(x[0]) for x in others.per_arm(1)]
    chosen = np.array([rows[place[arm]] if arm in place else rest for arm in arms])
    return type(prior)(*chosen.T)


def prior_from(value: Any, arms: Iterable[str] | None = None) -> Prior:
    """A prior from a prior, a path to its JSON or a mapping of fields; `arms` as in `from_json`."""
    if isinstance(value, Prior):
        return value if arms is None else for_names(value, value.names, arms, value.others)
    if isinstance(value, dict):
        body = {"type": "Normal" if "sigma" in value else "NormalGamma", **value}
        return Prior._from_fields(body, arms)
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(
            f"prior must be a prior, its fields or a JSON file, got {abbreviate(value)}"
        )
    return Prior.load(value, arms)

"""The prior for rewards that depend on features: the Normal-Gamma update with slopes.

The model of one arm: a unit with features x pays L + (x - c)'s + noise, where the noise has
precision lam ~ Gamma(alpha, rate beta), the level L at the center c is N(mu, 1/(kappa lam)), and
the slopes s are N(m, (lam P)^-1). Every Gaussian prior of intercept and slopes has this form: c is
the place where level and slopes are independent. So the prior looks like data: kappa units whose
mean features are c and mean reward mu, with cross products P. Merging them with the data as Chan's
formula would gives the posterior in the same form, and without features it is
`normal_gamma_update`, digit by digit.

Arrays have one arm per row; the compiled engine has the same update for one reward at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from varts._caching import computed_once
from varts._validation import Floats, abbreviate, integer, reals, unknown
from varts.beliefs import StudentT
from varts.linear_stats import LinearStats, check_linear_stats, feature_rows, is_symmetric
from varts.priors.base import Prior
from varts.priors.normal import NormalGamma, data_share, student_t


class Regression(NamedTuple):
    """Numbers of a linear prior or posterior, one row (or matrix) per arm."""

    mu: Floats
    kappa: Floats
    alpha: Floats
    beta: Floats
    slopes: Floats
    precision: Floats
    center: Floats


def regress(prior: Regression, stats: LinearStats) -> Regression:
    """Return the posterior of every arm.

    Args:
        prior: An entry per arm.
        stats: The arms' statistics.
    """
    mu, kappa, alpha, beta, slopes, precision, center = prior
    d = stats.d
    n, x, y = stats.n, stats.mean[:, :d], stats.mean[:, d]
    xx, xy, yy = stats.products[:, :d, :d], stats.products[:, :d, d], stats.products[:, d, d]
    share = data_share(n, kappa)
    away, gap = x - center, y - mu
    if not d:
        rate = beta + (yy + kappa * share * gap * gap) / 2
        return Regression(mu + share * gap, kappa + n, alpha + n / 2, rate, *prior[4:])
    # Work with the residuals of the prior's slopes: sums of squares of small numbers lose no
    # digits, however steep the slopes are.
    weight = kappa * share
    surprise = gap - (away * slopes).sum(axis=1)
    explained = (xx @ slopes[:, :, None])[:, :, 0]
    pull = xy - explained + (weight * surprise)[:, None] * away
    residual = yy - (slopes * (2 * xy - explained)).sum(axis=1)
    square = away[:, :, None] * away[:, None, :]
    learned = precision + xx + weight[:, None, None] * square
    move = solve(learned, pull)
    fit = residual + weight * surprise * surprise - (pull * move).sum(axis=1)
    return Regression(
        mu + share * gap,
        kappa + n,
        alpha + n / 2,
        beta + np.maximum(fit, 0.0) / 2,  # below 0 only by rounding
        slopes + move,
        learned,
        center + share[:, None] * away,
    )


def solve(matrix: Floats, vector: Floats) -> Floats:
    """Solve symmetric positive definite systems, one per arm, in any units of the features.

    Args:
        matrix: A matrix per arm.
        vector: A vector per arm.
    """
    unit = 1 / np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))
    scaled = matrix * unit[..., :, None] * unit[..., None, :]
    return np.asarray(np.linalg.solve(scaled, (vector * unit)[..., None])[..., 0] * unit)


def inverse_root(matrix: Floats) -> Floats:
    """Return W with W matrix W' = 1, a lower triangle per arm, in any units of the features.

    Then x' matrix^-1 x is the squared length of W x.

    Args:
        matrix: A symmetric positive definite matrix per arm.
    """
    unit = 1 / np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))
    scaled = matrix * unit[..., :, None] * unit[..., None, :]
    one = np.broadcast_to(np.eye(matrix.shape[-1]), matrix.shape)
    root = np.linalg.solve(np.linalg.cholesky(scaled), one)
    return np.asarray(root * unit[..., None, :])


def check_definite(precision: Floats) -> None:
    """Raise ValueError unless every matrix is symmetric and positive definite.

    Args:
        precision: A matrix per arm, or one.
    """
    diagonal = np.diagonal(precision, axis1=-2, axis2=-1)
    fine = bool((diagonal > 0).all()) and is_symmetric(precision)
    if fine and precision.size:
        try:
            inverse_root(precision)
        except np.linalg.LinAlgError:
            fine = False
    if not fine:
        raise ValueError(
            f"precision must be symmetric and positive definite, got {abbreviate(precision)}"
        )


def log_evidence(prior: Regression, posterior: Regression, n: Floats) -> Floats:
    """Return the log of the rewards' marginal density, per arm.

    Args:
        prior: The prior.
        posterior: The result of `regress`.
        n: The number of rewards.
    """
    out = -0.5 * n * np.log(2 * np.pi) + 0.5 * np.log(prior.kappa / posterior.kappa)
    out += prior.alpha * np.log(prior.beta) - posterior.alpha * np.log(posterior.beta)
    out += gammaln(posterior.alpha) - gammaln(prior.alpha)
    if prior.slopes.shape[-1]:
        before, after = (np.linalg.slogdet(each.precision)[1] for each in (prior, posterior))
        out += 0.5 * (before - after)
    return np.asarray(out)


# --------------------------------------------------------------------------------------- the prior
# The prior of linear VarTS: level, slopes and noise variance of an arm are unknown.


@dataclass(frozen=True, eq=False, repr=False)
class LinearNormalGamma(Prior):
    """`NormalGamma` for rewards that depend on features with unknown effects.

    At the center, the mean reward has the prior NormalGamma(mu, kappa, alpha, beta). Away from it,
    each unit of feature j moves the mean by slopes[j]. The weight of the slopes is `precision`, a
    matrix of squared features: slopes ~ N(slopes, (lam precision)^-1). Every Gaussian prior of a
    line can be written this way. All arms share numbers without an axis for arms.

    Args:
        mu: The expected mean of a unit at the center.
        kappa: The weight of `mu`, in rewards; at least 0. A huge number fixes the level.
        alpha: The shape of the noise precision's Gamma distribution; above 0.
        beta: Its rate; above 0.
        slopes: The effects of the d features, or a row of them per arm.
        precision: A positive definite matrix, d by d, or one per arm; d numbers are its diagonal.
        center: The features of the unit that `mu` is for, or a row per arm; by default all 0.
        features: The names of the features, if known.
        names: The arms that the entries are for (see `Prior`).
        others: The prior of all other arms.
        group: The kind of group that the entries are for, if they are for groups.
        tails: The shape of the residuals, if known; no policy uses it.

    >>> prior = LinearNormalGamma(mu=0, kappa=1, alpha=2, beta=1, slopes=[0.0], precision=[1.0])
    >>> stats = LinearStats.empty(K=1, d=1).observe([0, 0, 0], [[1], [2], [3]], [5.0, 7.0, 9.0])
    >>> posterior = prior.posterior(stats)
    >>> posterior.slopes.round(4), posterior.mu
    (array([[2.4167]]), array([5.25]))
    >>> posterior.belief([2.0]).interval(0.9)[1].round(2)
    array([7.78])
    """

    mu: Any
    kappa: Any
    alpha: Any
    beta: Any
    slopes: Any
    precision: Any
    center: Any = None
    features: tuple[str, ...] | None = None

    _fields: ClassVar[tuple[str, ...]] = Regression._fields
    _optional: ClassVar[tuple[str, ...]] = ("center",)
    _words: ClassVar[tuple[str, ...]] = ("features",)

    def __post_init__(self) -> None:
        slopes = np.atleast_1d(reals("slopes", self.slopes))
        d = slopes.shape[-1]
        center = np.zeros(d) if self.center is None else np.atleast_1d(reals("center", self.center))
        given = np.atleast_1d(reals("precision", self.precision))
        precision = given * np.eye(d) if given.ndim == 1 and given.shape in ((d,), (1,)) else given
        if not precision.size and not d:  # empty nested lists have no shape
            precision = np.zeros((*slopes.shape, 0))
        arrays = {
            "mu": reals("mu", self.mu),
            "kappa": reals("kappa", self.kappa, at_least=0),
            "alpha": reals("alpha", self.alpha, above=0),
            "beta": reals("beta", self.beta, above=0),
            "slopes": slopes,
            "precision": precision,
            "center": center,
        }
        inner = {"slopes": (d,), "precision": (d, d), "center": (d,)}
        entries = set()
        for name, array in arrays.items():
            shape, own = array.shape, inner.get(name, ())
            if shape[len(shape) - len(own) :] != own or len(shape) > len(own) + 1:
                rule = " by ".join(map(str, own)) or "one number"
                raise ValueError(
                    f"{name} must be {rule} for {d} features, shared or per arm, got shape {shape}"
                )
            entries |= {shape[0]} if len(shape) > len(own) else set()
        if len(entries - {1}) > 1:
            raise ValueError(f"a prior must have one number of arms, got {sorted(entries)}")
        check_definite(precision)
        lead = (max(entries),) if entries else ()
        for name, array in arrays.items():
            array = np.broadcast_to(array, lead + inner.get(name, ())).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array if array.ndim else float(array))
        if self.features is not None:
            object.__setattr__(self, "features", _feature_names(self.features, d))
        self._check_names()
        self._check_others_and_group()

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.slopes.shape[-1])

    # ------------------------------------------------------------------ beliefs

    def regression(self, K: int) -> Regression:
        """Return the numbers with an entry for each of K arms.

        Args:
            K: The number of arms.
        """
        return Regression(*self.per_arm(K))

    def posterior(self, stats: LinearStats) -> LinearNormalGamma:
        """Return the posterior after these rewards.

        Args:
            stats: The arms' statistics; as many arms as the prior has entries, or any number for
                a shared prior.
        """
        check_linear_stats(stats, self.d)
        return self._learned(*regress(self.regression(stats.K), stats))

    def _learned(self, *numbers: Floats) -> Self:
        # The numbers follow from checked ones. Checking them would take longer than the update.
        made = object.__new__(type(self))
        names = self.names if len(numbers[0]) == self.K else None
        kept = {"features": self.features, "others": self.others, "group": None, "tails": None}
        made.__dict__.update(zip(self._fields, numbers, strict=True), names=names, **kept)
        return made

    def log_evidence(self, stats: LinearStats) -> Floats:
        """Return the log of the marginal density of each arm's rewards.

        Args:
            stats: The arms' statistics.
        """
        prior = self.regression(check_linear_stats(stats, self.d).K)
        return log_evidence(prior, regress(prior, stats), stats.n)

    def belief(self, x: Any) -> StudentT:
        """Return the belief about each arm's mean reward for a unit: one Student t per arm.

        Args:
            x: The unit's features, or a row of them per unit; the belief then has a row for each.
        """
        loc, worth = self.at(x)
        with np.errstate(divide="ignore"):  # a weight of 0: infinitely wide
            return StudentT(*student_t(loc, worth, np.asarray(self.alpha), np.asarray(self.beta)))

    def at(self, x: Any) -> tuple[Floats, Floats]:
        """Return the expected mean at x and its weight in rewards, per arm.

        Args:
            x: The features of a unit, or a row of them per unit.

        >>> prior = LinearNormalGamma(12, 16, 11, 640, slopes=[0.5], precision=[4.0], center=[3.0])
        >>> [each.round(2).tolist() for each in prior.at([[3.0], [5.0]])]   # 1/(1/16 + 2^2/4)
        [[[12.0], [13.0]], [[16.0], [0.94]]]
        """
        return self._at(feature_rows(x, self.d))

    def _at(self, rows: Floats) -> tuple[Floats, Floats]:
        mu, kappa, slopes, center = self._shaped
        away = rows[..., None, :] - center
        reach = (self._root @ away[..., None])[..., 0]
        distance = np.add.reduce(reach * reach, axis=-1)
        return mu + np.add.reduce(away * slopes, axis=-1), kappa / (1 + kappa * distance)

    @computed_once
    def _shaped(self) -> tuple[Floats, ...]:
        level = [np.atleast_1d(each) for each in (self.mu, self.kappa)]
        return (*level, np.atleast_2d(self.slopes), np.atleast_2d(self.center))

    @computed_once
    def _root(self) -> Floats:
        precision = np.asarray(self.precision)
        return inverse_root(precision if precision.ndim == 3 else precision[None])

    def level(self) -> NormalGamma:
        """Return the prior of the mean at the center, as of arms without features."""
        return NormalGamma(self.mu, self.kappa, self.alpha, self.beta, names=self.names)

    def slope_beliefs(self) -> StudentT:
        """Return the belief about each slope: a row per arm, a column per feature."""
        spread = (self._root**2).sum(axis=-2)  # the diagonal of the precision's inverse
        alpha, beta = (np.atleast_1d(each)[:, None] for each in (self.alpha, self.beta))
        return StudentT(np.atleast_2d(self.slopes), np.sqrt(beta / alpha * spread), 2 * alpha)

    def sample(self, rng: np.random.Generator, size: int = 1) -> tuple[Floats, Floats, Floats]:
        """Draw levels at the center, slopes and noise precisions of every arm.

        Args:
            rng: The random generator.
            size: How many draws.

        Returns:
            Arrays of shapes (size, K), (size, K, d) and (size, K); K is 1 for a shared prior.
        """
        numbers = self.regression(self.K or 1)
        if not (numbers.kappa > 0).all():
            raise ValueError("kappa must be > 0 to sample from a prior, got 0.0")
        size, K = integer("size", size, at_least=1), len(numbers.mu)
        lam = rng.standard_gamma(numbers.alpha, (size, K)) / numbers.beta
        level = numbers.mu + rng.standard_normal((size, K)) / np.sqrt(numbers.kappa * lam)
        z = rng.standard_normal((size, K, 1, self.d)) / np.sqrt(lam)[:, :, None, None]
        return level, numbers.slopes + (z @ self._root)[:, :, 0], lam

    # ------------------------------------------------------------------ from a guess

    @classmethod
    def elicit(
        cls,
        mean: Any,
        mean_sd: Any,
        reward_sd: Any,
        worth: Any,
        effects: Mapping[str, float],
        typical: Mapping[str, float] | None = None,
    ) -> LinearNormalGamma:
        """Make a prior from a person's guess.

        "For a typical unit, the mean is about `mean`, give or take `mean_sd`. A step of 1 in a
        feature moves it by about `effects`. Rewards of similar units have a standard deviation of
        `reward_sd`, and I know that as well as from `worth` observations." The standard deviations
        of level and slopes are then exactly as stated.

        Args:
            mean: The expected mean of an arm, for a typical unit.
            mean_sd: The standard deviation of the arms' means, for a typical unit.
            reward_sd: The standard deviation of one arm's rewards, for similar units.
            worth: How many observations the guess of `reward_sd` is worth.
            effects: For each feature, how far a step of 1 may move the mean (an sd).
            typical: The features of a typical unit; 0 by default.

        >>> prior = LinearNormalGamma.elicit(12, 2, 8, worth=20, effects={"visits": 0.5})
        >>> prior.kappa, prior.precision.tolist(), prior.features
        (16.0, [[256.0]], ('visits',))
        """
        if not isinstance(effects, Mapping):
            raise TypeError(
                f"effects must be a size for every feature by name, got {abbreviate(effects)}"
            )
        if not isinstance(typical, Mapping | None):
            raise TypeError(f"typical must be a value by feature, got {abbreviate(typical)}")
        level = NormalGamma.elicit(mean, mean_sd, reward_sd, worth)
        names = tuple(map(str, effects))
        for name in typical or {}:
            if name not in names:
                raise ValueError(unknown("feature", name, names))
        sizes = reals("effects", list(effects.values()), above=0)
        center = [(typical or {}).get(name, 0.0) for name in names]
        squares = np.asarray(reals("reward_sd", reward_sd))[..., None] ** 2 / sizes**2
        return cls(
            *(level.mu, level.kappa, level.alpha, level.beta),
            slopes=np.zeros(len(names)),
            precision=squares[..., None] * np.eye(len(names)),
            center=center,
            features=names,
        )

    @classmethod
    def ridge(cls, d: int, strength: float = 1.0, alpha: float = 1.0, beta: float = 1.0) -> Self:
        """Return the textbook prior of LinUCB and linear Thompson sampling: all coefficients 0.

        Args:
            d: The number of features, without the constant one.
            strength: The weight of the 0 of each coefficient, in rewards.
            alpha: The shape of the noise precision's Gamma distribution.
            beta: Its rate.
        """
        d = integer("d", d, at_least=0)
        return cls(0.0, strength, alpha, beta, np.zeros(d), strength * np.eye(d))

    # ------------------------------------------------------------------ other features

    def recoded(self, matrix: Any, shift: Any = 0.0) -> LinearNormalGamma:
        """Return the same prior for features `matrix @ x + shift`.

        Args:
            matrix: An invertible matrix, d by d.
            shift: The number to add, or one per feature.

        >>> prior = LinearNormalGamma(0, 1, 2, 1, slopes=[3.0], precision=[4.0])
        >>> prior.recoded([[100.0]]).slopes          # per cent instead of shares
        array([0.03])
        """
        matrix = reals("matrix", matrix)
        rule = f"matrix must be invertible, {self.d} by {self.d}, got {abbreviate(matrix.tolist())}"
        if matrix.shape != (self.d, self.d):
            raise ValueError(rule)
        try:
            back = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            raise ValueError(rule) from None
        precision = matrix @ np.asarray(self.precision) @ matrix.T
        return replace(
            self,
            slopes=np.asarray(self.slopes) @ back,
            precision=(precision + np.swapaxes(precision, -1, -2)) / 2,
            center=np.asarray(self.center) @ matrix.T + reals("shift", shift),
            features=None,
            others=None if self.others is None else self.others.recoded(matrix, shift),  # type: ignore[attr-defined]
        )

    def mirrored(self) -> Self:
        return replace(super().mirrored(), slopes=-self.slopes)

    def per_arm(self, K: int) -> tuple[Floats, ...]:
        self._check_entries(K)
        inner = (0, 0, 0, 0, 1, 2, 1)
        return tuple(
            np.array(np.broadcast_to(array, (K, *array.shape[array.ndim - own :])))
            for own, array in zip(
                inner, (np.asarray(getattr(self, name)) for name in self._fields), strict=True
            )
        )


def _feature_names(features: Any, d: int) -> tuple[str, ...]:
    if isinstance(features, (str, bytes)) or not isinstance(features, Iterable):
        raise TypeError(f"features must be a list of names, got {abbreviate(features)}")
    names = tuple(map(str, features))
    if len(names) != d or len(set(names)) != d:
        raise ValueError(f"features must be {d} different names, got {abbreviate(list(names))}")
    return names

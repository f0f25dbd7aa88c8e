"""`fit_prior`: from the history of past experiments to a prior, with errors and diagnostics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import special

from varts._files import write_text
from varts._progress import Progress, show_progress
from varts._validation import choice, integer
from varts.features import Features
from varts.fitting.columns import Columns
from varts.fitting.contexts import FeaturesLike
from varts.fitting.diagnostics import Diagnostics, diagnose, residual_tails
from varts.fitting.estimators import Estimator
from varts.fitting.held_out import hold_out
from varts.fitting.history import History, HistoryLike, read_history
from varts.priors import LinearNormalGamma, NormalGamma

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = ("likelihood", "moments")


def fit_prior(
    history: HistoryLike,
    *,
    features: FeaturesLike | None = None,
    method: str = "likelihood",
    groups: str | None = None,
    per_group: str | None = None,
    experiment: str | None = "experiment",
    arm: str = "arm",
    reward: str = "reward",
    held_out: bool = True,
    goal: str = "max",
    horizon: int | None = None,
    progress: bool | Progress | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> FittedPrior:
    """Estimate the prior that the arms of past experiments were drawn from.

    Args:
        history: A polars or pandas DataFrame, a LazyFrame, a `History`, or a path to CSV or Parquet
            files (a file, a folder or a pattern), with one row per reward, or aggregated with the
            columns n, mean and sd or m2.
        features: What rewards may depend on, for a `LinearNormalGamma` prior: a `Features`, kinds
            by name such as `{"country": ["NL", "BE"], "visits": "number"}`, or the names of
            columns, which are then described from their first million rows. It takes a row per
            reward.
        method: "likelihood" maximises the marginal likelihood of every arm's statistics, "moments"
            is the paper's method with the sampling noise removed.
        groups: None for one prior that all arms share; "arm" for one per arm name, if names recur
            in several experiments; otherwise the column of a category, for one prior per value.
            Groups with few arms are drawn towards the others.
        per_group: "mu" for one mu per group and the same kappa, alpha and beta for all, "all" for
            all numbers per group; by default "mu", and "all" with features.
        experiment: The column that names the experiment; None if there is only one experiment.
        arm: The column that names the arm.
        reward: The column of rewards.
        held_out: Whether to try the prior on arms that were held out, which takes a few seconds:
            VarTS (with features, LinearVarTS) with it against the same without one. It is judged
            for choosing, by the regret, and for reporting, by intervals and probabilities of the
            true means.
        goal: Whether higher or lower rewards are better, "max" or "min", for that trial alone.
        horizon: For that trial, how many rounds your next experiment will have; by default 100 per
            arm. A prior that costs regret in a short experiment may cost nothing in a long one. At
            most 20,000 rounds are played, which takes up to a minute.
        progress: Whether to show progress on standard error; None shows it only on a terminal.
        separator: The separator of the cells of CSV files; found by default.
        decimal: The decimal mark of numbers in CSV files, "." or ",". Numbers that are written
            differently are refused, not guessed.
        encoding: The encoding of CSV files, such as "latin-1"; UTF-8 by default.

    Returns:
        The prior, its standard errors, and how well it fits the history.

    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> truth = NormalGamma(mu=5, kappa=2, alpha=4, beta=12)
    >>> mean, lam = truth.sample(rng, 300)
    >>> history = pl.DataFrame({
    ...     "experiment": np.arange(300) // 3, "arm": np.arange(300) % 3, "n": 20,
    ...     "mean": mean + rng.standard_normal(300) / np.sqrt(20 * lam),
    ...     "m2": rng.chisquare(19, 300) / lam,
    ... })
    >>> fit = fit_prior(history)
    >>> print(np.round([fit.prior.mu, fit.prior.kappa, fit.prior.alpha, fit.prior.beta], 1))
    [ 4.9  2.4  3.8 11.7]
    >>> round(fit.errors["mu"], 2), fit.diagnostics.converged
    (0.07, True)
    """
    choice("method", method, METHODS)
    per_group = per_group or ("mu" if features is None else "all")
    choice("per_group", per_group, ("mu", "all"))
    choice("goal", goal, ("max", "min"))
    if horizon is not None:
        integer("horizon", horizon, at_least=1)
        if not held_out:
            raise ValueError(f"horizon must be left out when nothing is held out, got {horizon}")
    wish = "arms are grouped" if groups is not None else "there are features"
    if (groups is not None or features is not None) and method != "likelihood":
        raise ValueError(f"method must be 'likelihood' when {wish}, got {method!r}")
    if features is not None and per_group != "all":
        raise ValueError(f"per_group must be 'all' when there are features, got {per_group!r}")
    group = arm if groups == "arm" else groups
    own = None if group is None else (group, group == arm)
    columns = Columns(experiment, arm, reward, group)
    with_features = features is not None
    estimator = Estimator(method, per_group, own, with_features)
    quick = replace(estimator, searches=1)
    with show_progress(progress) as shown:
        read = read_history(history, columns, shown, separator, features, decimal, encoding)
        fit, trial = estimator.fit(read, shown), None
        if held_out:
            shown.stage("trying the prior on arms held out")
            trial = hold_out(read, lambda part: quick.fit(part).prior, goal, horizon, with_features)
    prior, tails = fit.prior, read.tails
    if isinstance(prior, LinearNormalGamma):
        tails = residual_tails(read, prior)
    return FittedPrior(
        prior=replace(prior, tails=tails),
        estimate=replace(fit.estimate, tails=tails),
        errors=fit.errors,
        method=method,
        diagnostics=diagnose(read, fit, tails, trial, held_out),
        history=read,
        covariance=fit.covariance,
    )


@dataclass(frozen=True, repr=False)
class FittedPrior:
    """A prior estimated from a history; `fit_prior` makes one.

    It can be given wherever a prior is taken. With groups, `prior`, `estimate` and `errors` have an
    entry per group; the prior knows their names and has a prior for all other arms.

    Args:
        prior: The prior to use: the estimate, widened by its own uncertainty. With features it is a
            `LinearNormalGamma`.
        estimate: The prior as estimated from the history.
        errors: The standard errors of the estimate, by the name of the number.
        method: "likelihood" or "moments".
        diagnostics: How well the prior fits the history; `print` it.
        history: The history that it was fitted to.
        covariance: The covariance matrix of the estimated mu, log kappa, log alpha and
            log(beta/alpha); None with features. With groups, one matrix per group.
    """

    prior: NormalGamma | LinearNormalGamma
    estimate: NormalGamma | LinearNormalGamma
    errors: Mapping[str, Any]
    method: str
    diagnostics: Diagnostics
    history: History
    covariance: Any = None

    @property
    def groups(self) -> tuple[str, ...] | None:
        """The names of the prior's entries; None if all arms share one prior."""
        return self.prior.names

    @property
    def shared(self) -> NormalGamma | LinearNormalGamma:
        """The prior of an arm that belongs to no group."""
        return cast("NormalGamma | LinearNormalGamma", self.prior.others or self.prior)

    @property
    def features(self) -> Features | None:
        """The features of the contexts, for the next experiment; None for a prior without them."""
        return self.history.features if isinstance(self.prior, LinearNormalGamma) else None

    def to_json(self) -> str:
        """Return the JSON of `prior`, which `Prior.load` reads, and beside it where it is from."""
        body = self.prior.to_dict()
        found = self.diagnostics
        body["fit"] = {
            "method": self.method,
            "arms": found.arms,
            "experiments": found.experiments,
            "rewards": found.rewards,
            "left_out": dict(found.left_out),
            "errors": {name: np.asarray(error).tolist() for name, error in self.errors.items()},
            "notes": list(found.notes),
            "trend": found.trend,
            "held_out": None if found.held_out is None else found.held_out.to_dict(),
        }
        if self.covariance is not None:
            estimate = self.estimate
            numbers = {name: getattr(estimate, name) for name in estimate._fields}
            body["fit"]["estimate"] = {name: np.asarray(x).tolist() for name, x in numbers.items()}
            body["fit"]["covariance"] = np.asarray(self.covariance).tolist()
        if self.features is not None:
            body["fit"]["features"] = self.features.to_dict()
        return json.dumps(body)

    def save(self, path: str | Path) -> None:
        """Write `to_json()` to a file.

        Args:
            path: The file; an existing one is replaced.
        """
        write_text(Path(path), self.to_json() + "\n")

    def plot(self, axes: Any = None) -> list[Axes]:
        """Draw the arms under the prior, and how well its shape fits.

        Args:
            axes: Three matplotlib axes to draw on; new ones by default.
        """
        from varts.plotting.prior import prior_check

        if self.features is not None:
            raise ValueError("a prior must have no features to be drawn, got one with features")

        return prior_check(self, axes)

    def __repr__(self) -> str:
        grouped = f", {len(self.groups)} groups" if self.groups else ""
        return f"FittedPrior({self.method}, {self.diagnostics.arms} arms{grouped}: {self.prior})"


@dataclass(frozen=True)
class PriorSummary:
    """A prior in the words of `NormalGamma.elicit`; one number each, or one per arm.

    >>> words = summarise_prior(NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20))
    >>> words.mean_sd, words.worth_of_mean, words.worth_of_sd
    (2.0, 16.0, 20.0)
    >>> round(words.reward_sd, 1), round(words.low_sd, 1), round(words.high_sd, 1)
    (7.7, 6.4, 9.5)
    """

    mean: Any
    mean_sd: Any  #: sd of the arms' means; infinite for alpha <= 1
    reward_sd: Any  #: the typical sd of an arm's rewards: half of the arms have less
    low_sd: Any  #: a tenth of the arms have less
    high_sd: Any  #: a tenth of the arms have more
    worth_of_mean: Any  #: how many rewards of an arm the prior mean is worth
    worth_of_sd: Any  #: how many the prior variance is worth: `worth` of `elicit`, at least 0


def summarise_prior(prior: NormalGamma) -> PriorSummary:
    """The inverse of `NormalGamma.elicit`, and how much the arms' sds differ."""
    mu, kappa, alpha, beta = (np.asarray(getattr(prior, name)) for name in prior._fields)
    with np.errstate(divide="ignore"):
        low, middle, high = (np.sqrt(beta / special.gammaincinv(alpha, p)) for p in (0.9, 0.5, 0.1))
    made = (mu, prior.mean_sd, middle, low, high, kappa, np.maximum(2 * (alpha - 1), 0))
    return PriorSummary(*(x if x.ndim else float(x) for x in made))

"""What `varts.fit_prior` returns: the prior, its errors, and how well it fits the history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import special

from varts._files import write_text
from varts.features import Features
from varts.fitting.diagnostics import Diagnostics
from varts.fitting.history import History
from varts.priors import LinearNormalGamma, NormalGamma

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class FittedPrior:
    """A prior estimated from a history; `fit_prior` makes one.

    It can be given wherever a prior is taken. With groups, `prior`, `estimate` and `errors` have an
    entry per group; the prior knows their names and has a prior for all other arms.

    Args:
        prior: The prior to use: the estimate, widened by its own uncertainty. With features it is a
            `LinearNormalGamma`.
        estimate: What the history says.
        errors: The standard errors of the estimate, by the name of the number.
        method: "likelihood" or "moments".
        diagnostics: How well the prior fits the history; `print` it.
        history: What it was fitted to.
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
        """What the contexts have, for the next experiment; None for a prior without features."""
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

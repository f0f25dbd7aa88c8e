"""VarTS and its known-variance sibling: the paper's algorithms 2 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate, common_shape, reals
from varts.beliefs import SkewedT
from varts.kurtosis import Tails
from varts.policies.base import BeliefPolicy
from varts.policies.formulas import (
    known_variance_belief,
    normal_gamma_belief,
    pooled_rows,
    skewed_belief,
    tailed_belief,
    unit_free_belief,
    unit_free_known_belief,
    unit_free_tailed_belief,
)
from varts.policies.registry import register
from varts.priors import Normal, NormalGamma, PriorLike, prior_from
from varts.stats import ArmStats


@register
@dataclass(frozen=True)
class VarTS(BeliefPolicy):
    """VarTS (Algorithm 2): Gaussian-Gamma Thompson sampling for unknown means and variances.

    Without a prior, the policy pulls every arm twice and then starts from a unit-free prior worth
    one observation.

    Args:
        prior: A NormalGamma, what `fit_prior` returned, the path of a prior's JSON, a mapping of
            its numbers, or None.
        tails: Whether to learn variances only as fast as the rewards' kurtosis allows. On revenue
            and the like it costs some mean regret and saves the worst cases.

    >>> stats = ArmStats.from_rewards([[1, 3, 5], [2, 2, 2]])
    >>> VarTS(NormalGamma(0, 1, 2, 1)).belief(stats).scale.round(4)   # sqrt(8.375/14), sqrt(2.5/14)
    array([0.7734, 0.4226])
    >>> VarTS().belief(stats).scale.round(4)     # sqrt(9.5/6/4): the spread of all six rewards
    array([0.7815, 0.6292])
    >>> sales = ArmStats.from_rewards([[0.0] * 40 + [30.0], [0.0] * 40 + [20.0]])
    >>> VarTS().belief(sales).df.round(1), VarTS(tails=True).belief(sales).df.round(1)
    (array([42., 42.]), array([5.5, 5.5]))
    """

    prior: NormalGamma | None = None
    tails: bool = False

    label: ClassVar[str] = "VarTS"

    if TYPE_CHECKING:  # what is given may stand for a prior, what is kept is one

        def __init__(self, prior: PriorLike | None = None, tails: bool = False) -> None: ...

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", prior_from(self.prior, NormalGamma))
        if not isinstance(self.tails, bool):
            raise TypeError(f"tails must be True or False, got {abbreviate(self.tails)}")

    @property
    def pooled(self) -> bool:  # type: ignore[override]
        return self.prior is None

    @property
    def tailed(self) -> bool:  # type: ignore[override]
        return self.tails

    @property
    def believe(self) -> Any:
        if self.tails:
            return unit_free_tailed_belief if self.prior is None else tailed_belief
        return unit_free_belief if self.prior is None else normal_gamma_belief

    def tails_of(self, stats: ArmStats) -> Tails:
        """Return the shape of the rewards so far, together with those that the prior is from.

        Args:
            stats: The arms' statistics, with m3 and m4.
        """
        before = None if self.prior is None else self.prior.tails
        seen = Tails.of(stats)
        return seen if before is None else before.merge(seen)

    def inference(self, stats: ArmStats) -> SkewedT:
        """Return what to tell people of the arms' means, whatever chose the arms.

        Choosing may take rewards for Gaussian and do well; who is told an interval relies on it.
        So this belief minds the rewards' tails: variances are learnt as fast as the kurtosis
        allows, and move with the means where rewards are skewed. Gaussian rewards give what
        `belief` gives, but for what the measured skewness and kurtosis happen to be.

        Args:
            stats: The arms' statistics, with m3 and m4.

        >>> sales = ArmStats.from_rewards([[0.0] * 95 + [12.0, 20.0, 25.0, 30.0, 60.0]])
        >>> [end.round(1) for end in VarTS().belief(sales).interval()]
        [array([0.]), array([2.9])]
        >>> [end.round(1) for end in VarTS().inference(sales).interval()]
        [array([0.4]), array([3.6])]
        """
        self._ready(stats)
        return self.inferred(stats)

    def inferred(self, stats: ArmStats) -> SkewedT:
        """Return `inference(stats)`, for a caller who knows that no arm is owed a pull.

        Args:
            stats: The arms' statistics; weights may have faded below the forced pulls.
        """
        tails = self.tails_of(stats)
        believe: Any = unit_free_tailed_belief
        rows, kappa = pooled_rows(stats).T, np.ones(stats.K)
        if self.prior is not None:
            believe, rows = tailed_belief, np.stack(self.prior.per_arm(stats.K))
            kappa = rows[1]
        t = believe(stats.n, stats.mean, stats.m2, *rows, tails.worth_beside_mean)
        loc, scale, df = t
        made = skewed_belief(loc, scale, df, kappa + stats.n, tails.slopes(stats))
        return SkewedT(*made)

    def owed(self, K: int) -> NDArray[np.int64]:
        if self.prior is None:
            return np.full(K, 2, dtype=np.int64)
        return np.asarray(self.prior.per_arm(K)[1] == 0, dtype=np.int64)

    def least_weight(self, K: int) -> Floats:
        return least_weight_of(self, K)

    def parameters(self, stats: ArmStats) -> Floats:
        if self.prior is None:
            rows = pooled_rows(stats)
        else:
            rows = np.stack(self.prior.per_arm(stats.K), axis=1)
        if not self.tailed:
            return rows
        return np.column_stack([rows, np.full(stats.K, self.tails_of(stats).worth_for_choosing)])


@register
@dataclass(frozen=True)
class KnownVarianceTS(BeliefPolicy):
    """Algorithm 1: Gaussian Thompson sampling with known standard deviations of the rewards.

    Without a prior it pulls every arm once and starts from the pooled mean, worth one reward.

    Args:
        prior: A Normal, the path of its JSON, a mapping of its numbers, or None.
        sigma: The rewards' standard deviation, shared or per arm.

    >>> policy = KnownVarianceTS(Normal(0, 2), sigma=2)
    >>> policy.belief(ArmStats.from_rewards([[1, 3, 5]])).loc
    array([2.25])
    """

    prior: Normal | None = None
    sigma: Any = 1.0

    label: ClassVar[str] = "KnownVarianceTS"

    if TYPE_CHECKING:

        def __init__(self, prior: PriorLike | None = None, sigma: Any = 1.0) -> None: ...

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", prior_from(self.prior, Normal))
        sigma = reals("sigma", self.sigma, above=0)
        common_shape(sigma=sigma)
        object.__setattr__(self, "sigma", sigma if sigma.ndim else float(sigma))

    @property
    def pooled(self) -> bool:  # type: ignore[override]
        return self.prior is None

    @property
    def believe(self) -> Any:
        return unit_free_known_belief if self.prior is None else known_variance_belief

    def owed(self, K: int) -> NDArray[np.int64]:
        return np.full(K, 1 if self.prior is None else 0, dtype=np.int64)

    def least_weight(self, K: int) -> Floats:
        return least_weight_of(self, K)

    def parameters(self, stats: ArmStats) -> Floats:
        sigma = np.asarray(self.sigma)
        if sigma.size not in (1, stats.K):
            raise ValueError(
                f"sigma must be one number or one per arm ({stats.K}), got {sigma.size}"
            )
        sigma = np.broadcast_to(sigma, stats.K)
        if self.prior is None:
            return np.column_stack([pooled_rows(stats), sigma])
        mu, sigma0 = self.prior.per_arm(stats.K)
        return np.column_stack([mu, (sigma / sigma0) ** 2, sigma])


def least_weight_of(policy: BeliefPolicy, K: int) -> Floats:
    """None where the belief falls back to that of all rewards: it widens, and is drawn from."""
    return np.zeros(K) if policy.pooled and policy.samples else policy.owed(K).astype(np.float64)

"""EB-VarTS: VarTS whose prior comes from the arms themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, real
from varts.beliefs import SkewedT, StudentT
from varts.kurtosis import Tails
from varts.policies.base import BeliefPolicy
from varts.policies.formulas import own_prior_belief, skewed_belief
from varts.policies.registry import register
from varts.priors import own_prior
from varts.priors.own_arms import rounded_numbers
from varts.stats import ArmStats

HARDLY = 0.03  # sds of a reward: arms of many A/B tests differ by no more


@register
@dataclass(frozen=True)
class EBVarTS(BeliefPolicy):
    """VarTS with a prior that it learns from the arms themselves, after two pulls of each.

    After every reward, `own_prior` estimates from all arms how far their means lie apart and how
    much their variances differ. With many arms that saves a good part of the exploration that VarTS
    without a prior needs; with two to five arms it makes little difference. In simulations it is a
    policy in plain Python, and far slower than VarTS.

    >>> stats = ArmStats.from_rewards([[1, 3, 5], [2, 2, 2], [4, 3, 3]])
    >>> round(own_prior(stats).kappa, 1)
    2.6
    >>> EBVarTS().belief(stats).loc.round(2)
    array([2.9 , 2.36, 3.08])
    """

    label: ClassVar[str] = "EB-VarTS"
    forced: ClassVar[int] = 2
    pooled: ClassVar[bool] = True  # every reward moves every belief

    believe: ClassVar[Any] = staticmethod(own_prior_belief)

    def belief(self, stats: ArmStats) -> StudentT:
        # Its own, so that simulations play it as it is: compiled loops know no such prior. An arm
        # without rewards, or whose rewards have faded, has the prior of the others.
        own_prior(stats)  # refuses statistics without any reward
        return self.believed(stats)

    def believed(self, stats: ArmStats) -> StudentT:
        loc, scale, df = own_prior_belief(
            stats.n, stats.mean, stats.m2, *rounded_numbers(stats), 1.0
        )
        return StudentT._trusted(loc, scale, df)

    def inference(self, stats: ArmStats) -> SkewedT:
        """Return what to report about the arms' means: beliefs that account for tails.

        As `VarTS.inference`, with the prior of the arms themselves.

        Args:
            stats: The arms' statistics, with m3 and m4.

        >>> few, most = [0.0] * 98 + [9.0, 9.0], [0.0] * 95 + [12.0, 20.0, 25.0, 30.0, 60.0]
        >>> sales = ArmStats.from_rewards([most, few])
        >>> [end.round(1) for end in EBVarTS().inference(sales).interval()]
        [array([0.5, 0.1]), array([3.5, 1.3])]
        """
        own_prior(stats)
        return self.inferred(stats)

    def inferred(self, stats: ArmStats) -> SkewedT:
        """Return `inference(stats)` without the check that there are rewards.

        Args:
            stats: The arms' statistics, with m3 and m4; weights may have faded.
        """
        return self._reported(stats, rounded_numbers(stats))

    def sceptical(self, stats: ArmStats, spread: float = HARDLY) -> SkewedT:
        """Return what to report if the arms hardly differ: the other end of what is plausible.

        With two to five arms nobody can tell from the arms alone how much such arms differ. If you
        stop at the first look with P(best) >= 0.95, that number is right in about 95 of 100
        experiments whose arms differ by a tenth of an sd or more, but too high where they differ
        less. The P(best) of this belief is right where they differ by `spread`.

        Args:
            stats: The arms' statistics, with m3 and m4.
            spread: The sd of the arms' means, in sds of a reward.

        >>> stats = ArmStats([2000, 2000], [0.06, 0.0], [2000, 2000])
        >>> EBVarTS().inferred(stats).p_best()[0].round(2)
        np.float64(0.97)
        >>> EBVarTS().sceptical(stats).p_best()[0].round(2)
        np.float64(0.94)
        """
        real("spread", spread, above=0)
        mu, kappa, alpha, beta = rounded_numbers(stats)
        return self._reported(stats, (mu, np.maximum(kappa, spread**-2), alpha, beta))

    def _reported(self, stats: ArmStats, numbers: tuple[Any, Any, Any, Any]) -> SkewedT:
        tails = Tails.of(stats)
        worth = tails.worth_beside_mean
        loc, scale, df = own_prior_belief(stats.n, stats.mean, stats.m2, *numbers, worth)
        weight = numbers[1] + stats.n
        return SkewedT(*skewed_belief(loc, scale, df, weight, tails.slopes(stats)))

    def least_weight(self, K: int) -> Floats:
        return np.zeros(K)  # an arm whose rewards have faded has the prior of the others

    def parameters(self, stats: ArmStats) -> Floats:
        return np.tile([*map(float, rounded_numbers(stats)), 1.0], (stats.K, 1))

    def restricted(self, arms: NDArray[np.int64]) -> EBVarTS:
        return self  # it holds nothing per arm

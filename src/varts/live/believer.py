"""What is believed of the arms of an experiment, as its reports say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.beliefs import Belief
from varts.context import ContextReport, Units, report_on
from varts.context.overall import averaged
from varts.linear_stats import LinearStats
from varts.live.allocation import seen_by
from varts.live.contextual_allocation import linear_statistics
from varts.live.state import Config, State
from varts.policies import BernoulliTS, KnownVarianceTS, LinearVarTS, Policy, VarTS
from varts.priors import LinearNormalGamma
from varts.stats import ArmStats

CERTAIN_OF_THEIR_REWARDS = (VarTS, BernoulliTS, KnownVarianceTS, LinearVarTS)


class Believer:
    """The policy whose beliefs are reported, with what it has seen.

    `seen` are the statistics as it sees them, and `owed` are the arms of which it knows too little.
    Where the policy looks at features, the belief is about the average unit so far, and the best
    arm is asked for at every unit.

    Args:
        state: That of the experiment.
        stats: The statistics of its arms.
        contexts: Those of some of its units, where the policy looks at features.
    """

    def __init__(
        self, state: State, stats: ArmStats, contexts: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        goal = state.config.options.goal
        self.policy = _believer(state.config)
        self.seen: ArmStats = seen_by(self.policy, goal, stats)
        self.linear: LinearStats | None = None
        if self.policy.contextual:
            self.linear = seen_by(self.policy, goal, linear_statistics(state))
        self.units: Units | None = None
        if self.linear is not None and contexts:
            self.units = Units.seen(state.config.features, contexts)
        looked_at = self.seen if self.linear is None else self.linear
        self.owed: NDArray[np.bool_] = state.owed(self.policy, looked_at) | self._all_equal()

    def belief(self, arms: NDArray[np.int64]) -> Belief:
        """What is said of the means of these arms."""
        policy, linear = self.policy.restricted(arms), self.linear
        if linear is not None:
            average = linear.pooled().mean[0, :-1] if self.units is None else self.units.mean
            return self.posterior(arms).belief(average)
        seen = self.seen.take(arms)
        return policy.inferred(seen) if isinstance(policy, VarTS) else policy.believed(seen)

    def best(self, arms: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """P(best) and expected loss of these arms: for the average unit, or averaged over units."""
        if self.units is None:
            belief = self.belief(arms)
            return belief.p_best(), belief.expected_loss()
        p_best, loss, _ = averaged(self.posterior(arms).belief, self.units)
        return p_best, loss

    def posterior(self, arms: NDArray[np.int64]) -> LinearNormalGamma:
        """What is known of the regressions of these arms, where the policy looks at features."""
        policy = self.policy.restricted(arms)
        assert isinstance(policy, LinearVarTS) and self.linear is not None
        return policy.posterior(self.linear.take(arms))

    def _all_equal(self) -> bool:
        """Whether nothing at all is known of the rewards' spread: neither a prior nor two of them
        that differ."""
        learns = isinstance(self.policy, (VarTS, LinearVarTS))
        return learns and getattr(self.policy, "prior", None) is None and not self.seen.differ()


def _believer(config: Config) -> Policy:
    """The policy whose beliefs are reported.

    Bernoulli-TS knows its rewards to be 0 or 1, and KnownVarianceTS is told their variances. For
    all others it is VarTS, whatever chose the arms: its `inference` minds the rewards' tails, and
    no other believer here does. Where arms are chosen by features, it is LinearVarTS: the rewards
    of an arm are then those of the units that it seemed to suit.
    """
    options = config.options
    if options.policy_is_known and type(config.policy) in CERTAIN_OF_THEIR_REWARDS:
        return config.policy
    return LinearVarTS() if options.contextual else VarTS()


def by_context(
    state: State, contexts: Sequence[Mapping[str, Any]], level: float
) -> ContextReport | None:
    """Which of the arms in play for whom, in the rewards' unit; None while too little is known."""
    believer, config = Believer(state, state.statistics(), contexts), state.config
    active, goal = config.active, config.options.goal
    if believer.units is None or believer.linear is None or believer.owed[active].any():
        return None
    posterior = believer.posterior(active)
    return report_on(
        posterior if goal == "max" else posterior.mirrored(),
        believer.linear.n[active],
        config.features,
        believer.units.contexts,
        arms=[config.arms[arm] for arm in active],
        goal=goal,
        level=level,
    )

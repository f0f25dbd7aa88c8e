"""A half-life for any policy: what it learned long ago counts less and less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate, real
from varts.beliefs import Belief
from varts.policies.base import Policy, name_of
from varts.policies.registry import PolicyLike, make
from varts.stats import ArmStats, faded


@dataclass(frozen=True)
class Fading(Policy):
    """A policy whose statistics fade: after `half_life` rewards an older one counts half.

    Every reward of a run multiplies the weights of all older ones, whatever arm they are of, by
    2^(-1/half_life), as the option `half_life` of a live experiment does. The policy sees weights
    in the place of counts; the round of an index policy is one more than their sum. An arm of which
    less is remembered than the policy needs (`Policy.least_weight`) is pulled again.

    Args:
        policy: The policy or its label; one without a memory of its own.
        half_life: After so many rewards of the whole run one counts half; None or infinity: never.

    >>> policy = Fading("UCB1", half_life=500)
    >>> policy.label, round(policy.fade, 6)
    ('UCB1, half-life 500', 0.998615)
    """

    policy: Policy
    half_life: float | None

    if TYPE_CHECKING:

        def __init__(self, policy: PolicyLike, half_life: float | None) -> None: ...

    def __post_init__(self) -> None:
        policy = make(self.policy)
        if isinstance(policy, Fading):
            raise ValueError(f"policy must be one that does not fade, got {abbreviate(policy)}")
        if policy.has_memory:
            raise ValueError(
                f"policy must be one without memory of its own, which would not fade, got "
                f"{name_of(policy)}"
            )
        object.__setattr__(self, "policy", policy)
        if self.half_life is not None:
            half_life = real("half_life", self.half_life, above=0, infinite=True)
            object.__setattr__(self, "half_life", half_life)

    @property
    def label(self) -> str:  # type: ignore[override]
        """The label of the policy, with the half-life."""
        name = name_of(self.policy)
        return name if self.half_life is None else f"{name}, half-life {self.half_life:g}"

    @property
    def reflection(self) -> float:  # type: ignore[override]
        """That of the policy."""
        return self.policy.reflection

    @property
    def fade(self) -> float:
        """What a reward multiplies the weights of older ones by."""
        return faded(1, self.half_life)

    def pulls_needed(self, K: int) -> NDArray[np.int64]:
        return self.policy.pulls_needed(K)

    def least_weight(self, K: int) -> Floats:
        return self.policy.least_weight(K)

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        return self.policy.choose(stats, t, rng)

    def transform(self, reward: float, rng: np.random.Generator) -> float:
        return self.policy.transform(reward, rng)

    @property
    def samples(self) -> bool:
        return self.policy.samples

    def belief(self, stats: ArmStats) -> Belief:
        return self.policy.belief(stats)

    def restricted(self, arms: NDArray[np.int64]) -> Self:
        return replace(self, policy=self.policy.restricted(arms))

    def for_arms(self, arms: Iterable[str], groups: Mapping[str, str] | None = None) -> Self:
        return replace(self, policy=self.policy.for_arms(arms, groups))

    def parameters(self, stats: ArmStats) -> Floats:
        return self.policy.parameters(stats)

    def check(self, K: int) -> None:
        self.policy.check(K)


def split_fading(policy: Policy) -> tuple[Policy, float]:
    """A policy without its half-life, and what a reward multiplies older weights by: 1 for none."""
    return (policy.policy, policy.fade) if isinstance(policy, Fading) else (policy, 1.0)

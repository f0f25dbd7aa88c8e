"""A half-life for any policy: old rewards count less and less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from varts._validation import abbreviate, real
from varts.policies.base import Compiled, Policy, name_of
from varts.policies.registry import PolicyLike, make
from varts.stats import faded


@dataclass(frozen=True)
class Fading(Policy):
    """A policy whose statistics fade: a reward counts half after `half_life` more rewards.

    Every reward of a run multiplies the weights of all older rewards, of all arms, by
    2^(-1/half_life), as the option `half_life` of a live experiment does. The policy sees weights
    instead of counts; the round of an index policy is one more than their sum. An arm whose weight
    falls below `Policy.least_weight` is pulled again.

    Args:
        policy: The policy or its label; it must not have a memory (`Policy.has_memory`).
        half_life: The number of rewards, of all arms together, after which a reward counts half;
            None or infinity for no fading.

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
            raise ValueError(f"policy must not be Fading already, got {abbreviate(policy)}")
        if policy.has_memory:
            raise ValueError(
                f"policy must not have a memory (start, update), which would not fade, got "
                f"{name_of(policy)}"
            )
        object.__setattr__(self, "policy", policy)
        if self.half_life is not None:
            half_life = real("half_life", self.half_life, above=0, infinite=True)
            object.__setattr__(self, "half_life", half_life)

    if not TYPE_CHECKING:  # to a type checker this is a Policy, with the methods of one

        def __getattribute__(self, name: str) -> Any:
            """Return the policy's attribute, unless this class (or a subclass) defines its own.

            Forwarding everything by one rule can't miss a method that `Policy` gets later, and it
            covers what only some policies have, such as `posterior` or `prior`.
            """
            if name.startswith("__") or name == "policy" or name in self.__dict__:
                return object.__getattribute__(self, name)
            kinds = type(self).__mro__
            if any(name in vars(kind) for kind in kinds[: kinds.index(Policy)]):
                return object.__getattribute__(self, name)
            return getattr(self.policy, name)

    #: None because the engine takes the policy out of its half-life: see `split_fading`.
    compiled: ClassVar[Compiled | None] = None

    @property
    def label(self) -> str:  # type: ignore[override]
        """The label of the policy, with the half-life."""
        name = name_of(self.policy)
        return name if self.half_life is None else f"{name}, half-life {self.half_life:g}"

    @property
    def fade(self) -> float:
        """The factor by which a reward multiplies the weights of older ones."""
        return faded(1, self.half_life)

    def split_fading(self) -> tuple[Policy, float]:
        return self.policy, self.fade

    def restricted(self, arms: NDArray[np.int64]) -> Self:
        return replace(self, policy=self.policy.restricted(arms))

    def for_arms(self, arms: Iterable[str], groups: Mapping[str, str] | None = None) -> Self:
        return replace(self, policy=self.policy.for_arms(arms, groups))

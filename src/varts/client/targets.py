"""Ways of deciding, as a service reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from varts.evaluation.targets import WithFloor, check_target, describe_target
from varts.policies import EvenSplit

if TYPE_CHECKING:
    from varts.evaluation.targets import Target


def write_targets(policy: Target, against: Target | None) -> dict[str, Any]:
    """What to evaluate, and what to compare it with.

    >>> import varts
    >>> write_targets(varts.with_floor(0.05), varts.always("12"))
    {'floor': 0.05, 'against': '12'}
    """
    check_target("policy", policy)
    if not isinstance(policy, (Mapping, WithFloor, EvenSplit)):
        raise ValueError(
            "policy must not depend on the context for an experiment behind a service, "
            f"got {describe_target(policy)}; export the log, and evaluate that"
        )
    body: dict[str, Any] = {"even": True}
    if isinstance(policy, Mapping):
        body = {"shares": {arm: float(share) for arm, share in policy.items()}}
    elif isinstance(policy, WithFloor):
        body = {"floor": policy.floor}
    if against is None:
        return body
    check_target("against", against)
    played = [*against.items()] if isinstance(against, Mapping) else []
    if len(played) != 1 or played[0][1] != 1:
        raise ValueError('against must be always("arm") for an experiment behind a service')
    return {**body, "against": played[0][0]}

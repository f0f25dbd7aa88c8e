"""Policies by their label, and the next arm of one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from varts._validation import abbreviate, integer, unknown
from varts.policies.base import Policy
from varts.stats import ArmStats

_registry: dict[str, type[Policy]] = {}
P = TypeVar("P", bound=type[Policy])


def register(kind: P) -> P:
    """Class decorator: make a policy known by its label, everywhere a label is taken."""
    if not (isinstance(kind, type) and issubclass(kind, Policy)):
        raise TypeError(f"register takes a class of policies, got {kind!r}; try type(policy)")
    if not kind.label:
        raise ValueError(f"a policy must have a label to be registered, got {kind.__name__}")
    _registry[_plain(kind.label)] = kind
    return kind


def known() -> dict[str, type[Policy]]:
    """Every registered policy by its label."""
    return {kind.label: kind for kind in _registry.values()}


def make(policy: Policy | str, **options: Any) -> Policy:
    """A policy from its label (without regard to case, `-` or `_`) and options.

    >>> make("ucb_v", zeta=1.2).label
    'UCB-V'
    >>> make("vart")
    Traceback (most recent call last):
    ...
    ValueError: unknown policy 'vart'; did you mean 'VarTS'? known: VarTS, KnownVarianceTS, \
Bernoulli-TS, Gaussian-TS, TS14, TS20, MVTS, UCB1, UCB1-Tuned, UCB-V, Even-Split
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        hint = f"; did you mean {policy.__name__}()?" if isinstance(policy, type) else ""
        raise TypeError(f"policy must be a policy or its label, got {policy!r}{hint}")
    kind = _registry.get(_plain(policy))
    if kind is None:
        raise ValueError(unknown("policy", policy, known()))
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name in options:
        if name not in names:
            if not names:
                raise ValueError(f"{kind.label} must be left without options, got {name!r}")
            raise ValueError(unknown(f"option of {kind.label}", name, names))
    try:
        return kind(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{kind.label}: {str(error).split('() ')[-1]}") from None


def _plain(label: str) -> str:
    return label.casefold().replace("-", "").replace("_", "").replace(" ", "")


def choose(
    policy: Policy | str,
    stats: ArmStats,
    t: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> int:
    """The arm to pull next.

    While arms are owed forced pulls, one of those is drawn uniformly: rewards that arrive late
    cannot send all early traffic to one arm. `t` is the round from 1 (by default one more than the
    pulls so far).

    >>> stats = ArmStats.from_rewards([[0.1, 0.2], [0.8, 0.9], [0.4, 0.6]])
    >>> choose("UCB1-Tuned", stats, rng=np.random.default_rng(0))
    1
    """
    policy = make(policy)
    if not isinstance(stats, ArmStats):
        raise TypeError(f"stats must be an ArmStats, got {abbreviate(stats)}")
    rng = np.random.default_rng(rng)
    owed = np.flatnonzero(stats.n < policy.owed(stats.K))
    if owed.size:
        return int(rng.choice(owed))
    t = int(stats.n.sum()) + 1 if t is None else integer("t", t, at_least=1)
    return int(policy.choose(stats, t, rng))

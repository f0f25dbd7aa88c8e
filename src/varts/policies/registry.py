"""Find policies by label, and choose the next arm with one."""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias, TypeVar

import numpy as np

from varts._validation import abbreviate, integer, unknown
from varts.linear_stats import LinearStats, feature_rows
from varts.policies.base import Policy, chosen_arm, name_of
from varts.stats import ArmStats

#: A policy, or the label of a registered one.
PolicyLike: TypeAlias = Policy | str

_registry: dict[str, type[Policy]] = {}
P = TypeVar("P", bound=type[Policy])


def register(kind: P) -> P:
    """Register a class of policies, so that its label stands for it everywhere: a decorator.

    Args:
        kind: The class; it must have a label.

    >>> @register
    ... class Uniform(Policy):
    ...     label = "Uniform"
    ...     def choose(self, stats, t, rng):
    ...         return rng.integers(stats.K)
    >>> choose("uniform", ArmStats.empty(3), rng=np.random.default_rng(1))
    1
    >>> del _registry["uniform"]
    """
    if not (isinstance(kind, type) and issubclass(kind, Policy)):
        raise TypeError(f"register takes a class of policies, got {kind!r}; try type(policy)")
    if not kind.label:
        raise ValueError(f"a policy must have a label to be registered, got {kind.__name__}")
    _registry[_plain(kind.label)] = kind
    return kind


def known() -> dict[str, type[Policy]]:
    """Return every registered policy by its label."""
    return {kind.label: kind for kind in _registry.values()}


def options_of(kind: type[Policy]) -> dict[str, inspect.Parameter]:
    """Return the options of a class of policies by name, as its constructor takes them.

    Args:
        kind: The class, a dataclass or not.

    >>> from varts import UCBV
    >>> list(options_of(UCBV))
    ['zeta', 'c', 'b', 'horizon']
    """
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    taken = inspect.signature(kind).parameters
    return {name: option for name, option in taken.items() if option.kind not in several}


def make(policy: PolicyLike, **options: Any) -> Policy:
    """Return the policy for a label; a policy is returned as it is.

    Args:
        policy: A label (case, `-`, `_` and spaces are ignored), or a policy.
        options: The policy's options; `varts policies` lists them.

    >>> make("ucb_v", zeta=1.2).label
    'UCB-V'
    >>> make("vart")
    Traceback (most recent call last):
    ...
    ValueError: unknown policy 'vart'; did you mean 'VarTS'? known: VarTS, KnownVarianceTS, \
EB-VarTS, Bernoulli-TS, Gaussian-TS, TS14, TS20, MVTS, UCB1, UCB1-Tuned, UCB-V, UCB1-Normal, \
MOSS, MOSS-Anytime, Even-Split, Epsilon-Greedy, EUCBV, LinearVarTS, LinearTS, LinUCB, 15 more
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        hint = f"; did you mean {policy.__name__}()?" if isinstance(policy, type) else ""
        raise TypeError(f"policy must be a policy or its label, got {policy!r}{hint}")
    kind = _registry.get(_plain(policy))
    if kind is None:
        raise ValueError(unknown("policy", policy, known()))
    names = options_of(kind)
    for name in options:
        if name not in names:
            if not names:
                raise ValueError(f"{kind.label} takes no options, got {name!r}")
            raise ValueError(unknown(f"option of {kind.label}", name, names))
    try:
        return kind(**options)
    except (TypeError, ValueError) as error:
        raised = TypeError if isinstance(error, TypeError) else ValueError
        raise raised(f"{kind.label}: {str(error).split('() ')[-1]}") from None


def _plain(label: str) -> str:
    return label.casefold().replace("-", "").replace("_", "").replace(" ", "")


def choose(
    policy: PolicyLike,
    stats: ArmStats | LinearStats,
    t: int | None = None,
    rng: np.random.Generator | int | None = None,
    x: Any = None,
) -> int:
    """Return the arm to pull next.

    As long as some arms lack initial pulls, one of those is drawn uniformly, so that late rewards
    can't send all early traffic to one arm.

    Args:
        policy: The policy, or its label.
        stats: The arms' statistics; a `LinearStats` for a policy that uses features.
        t: The round, counted from 1; by default one more than the pulls so far.
        rng: The random number generator to use, or a seed.
        x: The features of the unit, for a policy that uses them.

    >>> stats = ArmStats.from_rewards([[0.1, 0.2], [0.8, 0.9], [0.4, 0.6]])
    >>> choose("UCB1-Tuned", stats, rng=np.random.default_rng(0))
    1
    """
    policy = make(policy)
    kind = LinearStats if policy.contextual else ArmStats
    if not isinstance(stats, kind):
        raise TypeError(
            f"stats must be of the type {kind.__name__} for {name_of(policy)}, "
            f"got {abbreviate(stats)}"
        )
    if (x is not None) != policy.contextual:
        given = "given" if policy.contextual else "left out"
        raise ValueError(f"x must be {given} for {name_of(policy)}, got {abbreviate(x)}")
    if isinstance(stats, LinearStats) and feature_rows(x, stats.d).ndim > 1:
        raise ValueError(f"x must be the features of one unit, got {len(x)} rows")
    if policy.has_memory:
        raise ValueError(
            f"{name_of(policy)} has a memory: call its start, choose and update yourself"
        )
    rng = np.random.default_rng(rng)
    lacking = np.flatnonzero(stats.n < policy.pulls_needed(stats.K))
    if lacking.size:
        return int(rng.choice(lacking))
    t = int(stats.n.sum()) + 1 if t is None else integer("t", t, at_least=1)
    if isinstance(stats, LinearStats):
        return policy.choose_at(stats, x, t, rng)
    return chosen_arm(policy, stats, t, rng)


# --------------------------------------------------------------------------------------- baselines
# The seven algorithms that VarTS is compared with, in the paper and by default elsewhere.


def baselines() -> dict[str, Policy]:
    """The baselines by label, in the paper's order.

    >>> list(baselines())
    ['UCB1', 'UCB1-Tuned', 'UCB-V', 'Bernoulli-TS', 'Gaussian-TS', 'TS14', 'TS20']
    """
    # Here, because they import `register`.
    from varts.policies.thompson import TS14, TS20, BernoulliTS, GaussianTS
    from varts.policies.ucb import UCB1, UCBV, UCB1Tuned

    made = [UCB1(), UCB1Tuned(), UCBV(), BernoulliTS(), GaussianTS(), TS14(), TS20()]
    return {policy.label: policy for policy in made}

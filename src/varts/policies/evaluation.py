"""What a policy's own functions return, checked: one sentence that names the policy if it is wrong.

A formula gets arrays here and single numbers in the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from varts._validation import Floats, abbreviate
from varts.beliefs import StudentT

if TYPE_CHECKING:
    from varts.policies.base import BeliefPolicy, Policy
    from varts.policies.largest_index import IndexPolicy

# What users write, and what Python then says.
HINTS = {
    "truth value of an array": "write np.where for if, np.minimum for min",
    "arrays can be converted": "write np.log for math.log",
}


def name_of(policy: Policy) -> str:
    """What errors call a policy."""
    return policy.label or type(policy).__name__


def chosen_arm(
    policy: Policy, stats: Any, t: int, rng: np.random.Generator, x: Floats | None = None
) -> int:
    """The arm that `policy.choose` returns, or for a unit with features `policy.choose_at`."""
    arm = policy.choose(stats, t, rng) if x is None else policy.choose_at(stats, x, t, rng)
    return checked_arm(policy, arm, stats.K)


def checked_arm(policy: Policy, arm: Any, K: int) -> int:
    """What a policy has chosen, if it is one of K arms."""
    wrong = f"{name_of(policy)} must choose an arm from 0 to {K - 1}, got {abbreviate(arm)}"
    if isinstance(arm, bool) or not isinstance(arm, (int, np.integer)):
        raise TypeError(wrong)
    if not 0 <= arm < K:
        raise ValueError(wrong)
    return int(arm)


def call_formula(policy: Policy, name: str, *arguments: Any) -> Any:
    """`policy.index(...)` and the like."""
    try:
        return getattr(policy, name)(*arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        hint = "".join(f"; {hint}" for said, hint in HINTS.items() if said in str(error))
        raise ValueError(
            f"{name} of {name_of(policy)} must be plain arithmetic on arrays, got "
            f"{type(error).__name__}: {' '.join(str(error).split())}{hint}"
        ) from error


def terms_of(policy: IndexPolicy, *arguments: Any) -> tuple[Any, ...]:
    """What `policy.terms` returns."""
    made = call_formula(policy, "terms", *arguments)
    if not isinstance(made, tuple):
        raise ValueError(
            f"terms of {name_of(policy)} must be a tuple of numbers, got {abbreviate(made)}"
        )
    return made


def takes_fields(clock: Any) -> bool:
    """Whether a clock takes the policy's fields, too."""
    return bool(getattr(clock, "py_func", clock).__code__.co_argcount > 1)


def clock_of(policy: IndexPolicy, t: float, *fields: Any) -> Any:
    """What `policy.clock` returns: a number or a tuple of them."""
    wanted = fields if takes_fields(policy.clock) else ()
    return _one_or_several(policy, "clock", call_formula(policy, "clock", t, *wanted))


def common_of(policy: IndexPolicy, n: Floats, mean: Floats, m2: Floats) -> Any:
    """What `policy.common` returns: a number or a tuple of them."""
    return _one_or_several(policy, "common", call_formula(policy, "common", n, mean, m2))


def _one_or_several(policy: Policy, name: str, made: Any) -> Any:
    if not all(_are_numbers(each) and np.ndim(each) == 0 for each in as_numbers(made)):
        raise ValueError(
            f"{name} of {name_of(policy)} must be a number or a tuple of numbers, got "
            f"{abbreviate(made)}"
        )
    return made


def as_numbers(made: Any) -> tuple[Any, ...]:
    """What a formula returned, as a tuple."""
    return made if isinstance(made, tuple) else (made,)


def index_of(policy: IndexPolicy, *arguments: Any, K: int) -> Floats:
    """What `policy.index` returns, for every arm."""
    index = call_formula(policy, "index", *arguments)
    if not _are_numbers(index):
        raise ValueError(f"index of {name_of(policy)} must be a number, got {abbreviate(index)}")
    return np.array(np.broadcast_to(index, K), dtype=np.float64)


def belief_of(policy: BeliefPolicy, *arguments: Any, K: int) -> StudentT:
    """What `policy.believe` returns, for every arm."""
    made = call_formula(policy, "believe", *arguments)
    if not (isinstance(made, tuple) and len(made) == 3 and all(map(_are_numbers, made))):
        raise ValueError(
            f"believe of {name_of(policy)} must return location, scale and degrees of freedom, "
            f"got {abbreviate(made)}"
        )
    try:
        return StudentT(*(np.broadcast_to(each, K) for each in made))
    except ValueError as error:
        raise ValueError(f"belief of {name_of(policy)}: {error}") from None


def _are_numbers(value: Any) -> bool:
    """Whether it is a number or an array of them; a list is none, compiled."""
    return not isinstance(value, (list, tuple)) and np.asarray(value).dtype.kind in "biuf"

"""Whether rewards have the means and variances that are stated for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from varts._validation import Floats, abbreviate

# In standard errors. A normal number is as far out once in 500 million times; with two tests for
# each of a few arms, and the tails of sums that are not quite normal, a false alarm has a chance of
# less than one in a million.
ALARM = 6.0
ROUNDING = 1e-9  # relative: smaller differences don't count


def check_moments(
    what: str, reward: Callable[..., Any], arms: Floats, pulls: int, rng: np.random.Generator
) -> None:
    """Raise ValueError if `pulls` rewards of each arm are not as stated.

    `arms` has a column per arm: mean, variance, a and b.

    Standard errors are from the stated variance or that of the sample, whichever is larger: rare
    large rewards may be missing from the one, or be in the other more often than they should. A
    stated variance is refused only if it is too small, since rewards too rare to be drawn may
    account for more.
    """
    mean, variance, a, b = arms
    shape = pulls, len(mean)
    x = _rewards(what, reward, a, b, rng.standard_normal(shape), rng.random(shape))
    got, squares = x.mean(axis=0), (x - mean) ** 2
    tiny = ROUNDING * np.maximum(np.abs(mean), np.abs(x).max(axis=0))
    error = np.where(np.abs(got - mean) > tiny, got - mean, 0.0)
    with np.errstate(invalid="ignore"):
        z = np.nan_to_num(error / np.sqrt(np.maximum(variance, x.var(axis=0)) / pulls))
    if max(np.abs(z).max(), abs(z.sum()) / np.sqrt(len(z))) > ALARM:
        arm = int(np.abs(z).argmax())
        raise ValueError(
            f"{what} must have the mean that draw states for an arm, {mean[arm]:.6g}, got "
            f"{got[arm]:.6g} in {pulls} pulls"
        )
    excess = squares.mean(axis=0) - variance - tiny**2 - ROUNDING * variance
    if (excess > ALARM * squares.std(axis=0) / np.sqrt(pulls)).any():
        arm = int((excess / np.maximum(variance, 1e-300)).argmax())
        raise ValueError(
            f"{what} must have the variance that draw states for an arm, {variance[arm]:.6g}, got "
            f"{squares.mean(axis=0)[arm]:.6g} in {pulls} pulls"
        )


def _rewards(
    what: str, reward: Callable[..., Any], a: Floats, b: Floats, z: Floats, u: Floats
) -> Floats:
    """All at once, or one by one if the function takes numbers only, as it may."""
    with np.errstate(all="ignore"):
        try:
            one = reward(a[0], b[0], z[0, 0], u[0, 0])
        except Exception as error:
            raise ValueError(
                f"{what} must be plain arithmetic, got {type(error).__name__}: {error}"
            ) from error
        if isinstance(one, (list, tuple)) or np.asarray(one).dtype.kind not in "biuf":
            raise ValueError(f"{what} must be a number, got {abbreviate(one)}")
        try:
            x = np.broadcast_to(np.asarray(reward(a, b, z, u), dtype=np.float64), z.shape)
        except Exception:
            x = np.vectorize(reward, otypes=[np.float64])(a, b, z, u)
    if not np.isfinite(x).all():
        raise ValueError(f"{what} must be a finite number, got {x[~np.isfinite(x)][0]}")
    return x

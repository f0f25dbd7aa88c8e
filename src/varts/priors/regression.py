"""What rewards make of a linear prior: the Normal-Gamma update with slopes.

The model of one arm: a unit with features x pays L + (x - c)'s + noise, where the noise has
precision lam ~ Gamma(alpha, rate beta), the level L at the center c is N(mu, 1/(kappa lam)), and
the slopes s are N(m, (lam P)^-1). Every Gaussian prior of intercept and slopes has this form: c is
the place where level and slopes are independent. So the prior looks like data: kappa units whose
mean features are c and mean reward mu, with cross products P. Merging them with the data as Chan's
formula would gives the posterior in the same form, and without features it is
`normal_gamma_update`, digit by digit.

Arrays have one arm per row; the compiled engine has the same update for one reward at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from varts._validation import Floats, abbreviate
from varts.linear_stats import LinearStats, is_symmetric
from varts.priors.updates import data_share


class Regression(NamedTuple):
    """Numbers of a linear prior or posterior, one row (or matrix) per arm."""

    mu: Floats
    kappa: Floats
    alpha: Floats
    beta: Floats
    slopes: Floats
    precision: Floats
    center: Floats


def regress(prior: Regression, stats: LinearStats) -> Regression:
    """Return the posterior of every arm.

    Args:
        prior: An entry per arm.
        stats: The arms' statistics.
    """
    mu, kappa, alpha, beta, slopes, precision, center = prior
    d = stats.d
    n, x, y = stats.n, stats.mean[:, :d], stats.mean[:, d]
    xx, xy, yy = stats.products[:, :d, :d], stats.products[:, :d, d], stats.products[:, d, d]
    share = data_share(n, kappa)
    away, gap = x - center, y - mu
    if not d:
        rate = beta + (yy + kappa * share * gap * gap) / 2
        return Regression(mu + share * gap, kappa + n, alpha + n / 2, rate, *prior[4:])
    # What the prior's slopes leave unexplained: sums of squares of small numbers lose no digits,
    # however steep the slopes.
    weight = kappa * share
    surprise = gap - (away * slopes).sum(axis=1)
    explained = (xx @ slopes[:, :, None])[:, :, 0]
    pull = xy - explained + (weight * surprise)[:, None] * away
    residual = yy - (slopes * (2 * xy - explained)).sum(axis=1)
    square = away[:, :, None] * away[:, None, :]
    learnt = precision + xx + weight[:, None, None] * square
    move = solve(learnt, pull)
    fit = residual + weight * surprise * surprise - (pull * move).sum(axis=1)
    return Regression(
        mu + share * gap,
        kappa + n,
        alpha + n / 2,
        beta + np.maximum(fit, 0.0) / 2,  # it may only round below 0
        slopes + move,
        learnt,
        center + share[:, None] * away,
    )


def solve(matrix: Floats, vector: Floats) -> Floats:
    """Solve symmetric positive definite systems, one per arm, whatever the features' units are.

    Args:
        matrix: A matrix per arm.
        vector: A vector per arm.
    """
    unit = 1 / np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))
    scaled = matrix * unit[..., :, None] * unit[..., None, :]
    return np.asarray(np.linalg.solve(scaled, (vector * unit)[..., None])[..., 0] * unit)


def inverse_root(matrix: Floats) -> Floats:
    """Return W with W matrix W' = 1, a lower triangle per arm, whatever the features' units are.

    x' matrix^-1 x is then the squared length of W x.

    Args:
        matrix: A symmetric positive definite matrix per arm.
    """
    unit = 1 / np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))
    scaled = matrix * unit[..., :, None] * unit[..., None, :]
    one = np.broadcast_to(np.eye(matrix.shape[-1]), matrix.shape)
    root = np.linalg.solve(np.linalg.cholesky(scaled), one)
    return np.asarray(root * unit[..., None, :])


def check_definite(precision: Floats) -> None:
    """Raise unless every matrix is symmetric and positive definite, whatever the features' units.

    Args:
        precision: A matrix per arm, or one.
    """
    diagonal = np.diagonal(precision, axis1=-2, axis2=-1)
    fine = bool((diagonal > 0).all()) and is_symmetric(precision)
    if fine and precision.size:
        try:
            inverse_root(precision)
        except np.linalg.LinAlgError:
            fine = False
    if not fine:
        raise ValueError(
            f"precision must be symmetric and positive definite, got {abbreviate(precision)}"
        )


def log_evidence(prior: Regression, posterior: Regression, n: Floats) -> Floats:
    """Return the log of the rewards' marginal density, per arm.

    Args:
        prior: What was believed before.
        posterior: What `regress` made of it.
        n: The number of rewards.
    """
    out = -0.5 * n * np.log(2 * np.pi) + 0.5 * np.log(prior.kappa / posterior.kappa)
    out += prior.alpha * np.log(prior.beta) - posterior.alpha * np.log(posterior.beta)
    out += gammaln(posterior.alpha) - gammaln(prior.alpha)
    if prior.slopes.shape[-1]:
        before, after = (np.linalg.slogdet(each.precision)[1] for each in (prior, posterior))
        out += 0.5 * (before - after)
    return np.asarray(out)

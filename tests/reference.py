"""Reference distributions for the tests, from SciPy's special functions and quadrature alone."""

import numpy as np
from scipy import special
from scipy.stats import chisquare

from varts import ArmStats


def uniform_p(u, bins=50):
    """P-value of a chi-square test that u is uniform on [0, 1]; NaN counts as wrong."""
    u = np.asarray(u)
    assert not np.isnan(u).any()
    return chisquare(np.histogram(u, bins, (0, 1))[0]).pvalue


def frequency_p(choices, probabilities):
    """P-value of a chi-square test of arms chosen against their probabilities."""
    probabilities = np.asarray(probabilities)
    counts = np.bincount(choices, minlength=probabilities.size)
    return chisquare(counts, probabilities / probabilities.sum() * counts.sum()).pvalue


def log_gamma_cdf(log_x, shape):
    """CDF of log Gamma(shape, 1); below e^-30 the power x^a / Gamma(a + 1) is exact to 1e-13."""
    log_x = np.asarray(log_x)
    power = np.exp(shape * np.minimum(log_x, 0) - special.gammaln(shape + 1))
    return np.where(log_x < -30, power, special.gammainc(shape, np.exp(np.maximum(log_x, -30))))


def t_tail(log_x, df):
    """P(|T| > x) for a standard t, given log x, however large: y = df / (df + T^2) is Beta."""
    if np.isinf(df):
        return 2 * special.ndtr(-np.exp(np.minimum(log_x, 10)))
    a = df / 2
    log_y = -np.logaddexp(0, 2 * np.asarray(log_x) - np.log(df))
    power = np.exp(a * log_y - np.log(a) - special.betaln(a, 0.5))
    return np.where(log_y < -30, power, special.betainc(a, 0.5, np.exp(log_y)))


def t_cdf(sign, log_x, df):
    """CDF of a standard t at sign * x, given log x."""
    half = t_tail(log_x, df) / 2
    return np.where(sign > 0, 1 - half, half)


def t_quantile(u, df):
    """The inverse of `t_cdf`: sign and log x."""
    sign = np.where(u > 0.5, 1.0, -1.0)
    tail = 2 * np.minimum(u, 1 - u)
    if np.isinf(df):
        return sign, np.log(-special.ndtri(tail / 2))
    a = df / 2
    log_y = (np.log(tail) + np.log(a) + special.betaln(a, 0.5)) / a
    with np.errstate(divide="ignore"):
        inner = np.log(special.betaincinv(a, 0.5, tail))
    log_y = np.where(log_y < -30, log_y, inner)
    return sign, 0.5 * (np.log(df) - log_y + np.log1p(-np.exp(log_y)))


def p_best(loc, scale, df, nodes=8000):
    """P(arm has the largest of independent t draws): for each arm, the midpoint rule over its own
    quantiles of the product of the others' CDFs. Draws beyond e^600 are compared by logarithm."""
    loc, scale, df = (np.asarray(x, dtype=float) for x in np.broadcast_arrays(loc, scale, df))
    u = (np.arange(nodes) + 0.5) / nodes
    result = np.empty(loc.size)
    for i in range(loc.size):
        sign, log_x = t_quantile(u, df[i])
        log_x = log_x + np.log(scale[i])
        x = loc[i] + sign * np.exp(np.minimum(log_x, 600))
        product = np.ones(nodes)
        for j in range(loc.size):
            if j != i:
                far = log_x > 600
                with np.errstate(divide="ignore"):
                    log_gap = np.where(far, log_x, np.log(np.abs(x - loc[j])))
                side = np.where(far, sign, np.sign(x - loc[j]))
                product *= t_cdf(side, log_gap - np.log(scale[j]), df[j])
        result[i] = product.mean()
    return result


def without_features(stats):
    """The rewards of linear statistics alone."""
    squares = np.maximum(stats.products[:, -1, -1], 0.0)
    return ArmStats(stats.n, stats.mean[:, -1], squares)

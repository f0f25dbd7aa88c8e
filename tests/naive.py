"""A second, deliberately naive implementation of every policy and problem, for the tests only.

It loops over rounds and is vectorised over runs, keeps plain sums instead of centred statistics,
draws with NumPy's Generator, and shares no formula with the package. A policy here is
`score(rng, t, n, total, squares)`: an array runs x arms whose largest entry in a row is pulled.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# ------------------------------------------------------------------------------------- problems


@dataclass
class Instance:
    """Means (runs x arms) and `pay(rng, rows, arm)`, one reward per run."""

    mean: np.ndarray
    pay: Callable


def gaussian(prior):
    """(mu, kappa, alpha, beta): precision ~ Gamma(alpha, rate beta), mean ~ N(mu, var / kappa)."""
    mu, kappa, alpha, beta = (np.asarray(x, dtype=float) for x in prior)

    def draw(rng, runs):
        precision = rng.gamma(alpha, 1 / beta, (runs, mu.size))
        sd = precision**-0.5
        mean = rng.normal(mu, sd / np.sqrt(kappa))
        return Instance(mean, lambda rng, rows, arm: rng.normal(mean[rows, arm], sd[rows, arm]))

    return draw


def gaussian_known(mu, sigma0, sigma):
    """mean ~ N(mu, sigma0^2), rewards N(mean, sigma^2)."""
    mu, sigma = np.asarray(mu, dtype=float), np.asarray(sigma, dtype=float)

    def draw(rng, runs):
        mean = rng.normal(mu, sigma0, (runs, mu.size))
        return Instance(mean, lambda rng, rows, arm: rng.normal(mean[rows, arm], sigma[arm]))

    return draw


def unit_means(rng, runs, K):
    i = np.arange(1, K + 1)
    return rng.beta(i, K + 1 - i, (runs, K))


def bernoulli(K):
    """mean_i ~ Beta(i, K + 1 - i), rewards 0 or 1."""

    def draw(rng, runs):
        mean = unit_means(rng, runs, K)
        return Instance(mean, lambda rng, rows, arm: rng.binomial(1, mean[rows, arm]).astype(float))

    return draw


def beta_rewards(K, s=10.0):
    """The same means, rewards Beta(s mean, s (1 - mean))."""

    def draw(rng, runs):
        mean = unit_means(rng, runs, K)

        def pay(rng, rows, arm):
            m = mean[rows, arm]
            return rng.beta(s * m, s * (1 - m))

        return Instance(mean, pay)

    return draw


# ------------------------------------------------------------------------------------- the loop


def highest(score, rng):
    """Per row, the column of the largest entry; equal ones are drawn from uniformly."""
    best = score == score.max(axis=1, keepdims=True)
    return (best * (1 + rng.random(score.shape))).argmax(axis=1)


def play(draw, score, horizon, runs, rng, owed=0, toss=False):
    """Cumulated pseudo-regret, runs x horizon."""
    instance = draw(rng, runs)
    rows, K = np.arange(runs), instance.mean.shape[1]
    n, total, squares = (np.zeros((runs, K)) for _ in range(3))
    regret = np.empty((runs, horizon))
    for t in range(1, horizon + 1):
        due = n < owed
        forced = due.any(axis=1)
        with np.errstate(all="ignore"):  # scores of arms that are still owed mean nothing
            free = np.zeros((runs, K)) if forced.all() else score(rng, t, n, total, squares)
        arm = highest(np.where(forced[:, None], due, free), rng)
        x = instance.pay(rng, rows, arm)
        if toss:
            x = (rng.random(runs) < np.clip(x, 0, 1)).astype(float)
        n[rows, arm] += 1
        total[rows, arm] += x
        squares[rows, arm] += x * x
        regret[:, t - 1] = instance.mean.max(axis=1) - instance.mean[rows, arm]
    return regret.cumsum(axis=1)


def play_late(draw, score, horizon, runs, rng, delay, batch=1, owed=0, floor=0.0):
    """Like `play`, with rewards that are late. What is still to come is one sum per future round.

    `delay(rng, x)` returns how many rounds late the rewards x of a round are, one per run. An arm
    that lacks known rewards after its initial pulls is pulled again, the least pulled one first.
    """
    instance = draw(rng, runs)
    rows, K = np.arange(runs), instance.mean.shape[1]
    known, pulls = np.zeros((3, runs, K)), np.zeros((runs, K))
    future = np.zeros((horizon + 1, 3, runs, K))
    regret = np.empty((runs, horizon))
    for t in range(1, horizon + 1):
        first, lacking = pulls < owed, known[0] < owed
        with np.errstate(all="ignore"):
            free = score(rng, t, *known) if t > 1 or not owed else np.zeros((runs, K))
        wish = np.where(first.any(axis=1, keepdims=True), np.where(first, 0.0, -np.inf), np.nan)
        extra = np.where(
            lacking.any(axis=1, keepdims=True), np.where(lacking, -pulls, -np.inf), free
        )
        arm = highest(np.where(np.isnan(wish), extra, wish), rng)
        arm = np.where(rng.random(runs) < K * floor, rng.integers(K, size=runs), arm)
        x = instance.pay(rng, rows, arm)
        pulls[rows, arm] += 1
        due = np.ceil((t + delay(rng, x)) / batch) * batch
        heard = due <= horizon
        for row, part in enumerate((np.ones(runs), x, x * x)):
            np.add.at(
                future[:, row], (due[heard].astype(int), rows[heard], arm[heard]), part[heard]
            )
        known += future[t]
        regret[:, t - 1] = instance.mean.max(axis=1) - instance.mean[rows, arm]
    return regret.cumsum(axis=1)


# ------------------------------------------------------------------------------------- policies


def spread(n, total, squares):
    """Sum of squared deviations from the mean; rounding may not make it negative."""
    return np.maximum(squares - total**2 / n, 0)


def order_key(mean, z, log_precision):
    """Orders mean + z / sqrt(precision) even where that overflows: sign(x) * log(1 + |x|)."""
    log_deviation = np.log(np.abs(z)) - log_precision / 2
    x = mean + np.sign(z) * np.exp(np.minimum(log_deviation, 600))
    return np.where(
        log_deviation < 600, np.sign(x) * np.log1p(np.abs(x)), np.sign(z) * log_deviation
    )


def log_gamma_draw(rng, shape):
    """log of Gamma(shape, 1): Gamma(a) is Gamma(a + 1) * U^(1/a)."""
    return np.log(rng.gamma(shape + 1)) + np.log(1 - rng.random(shape.shape)) / shape


def var_ts(prior, beta_is_scale=False):
    """Precision from its Gamma, then the mean given the precision (the wrong reading on demand)."""
    mu0, kappa0, alpha0, beta0 = (np.asarray(x, dtype=float) for x in prior)

    def score(rng, t, n, total, squares):
        return normal_gamma_draw(rng, n, total, squares, mu0, kappa0, alpha0, beta0, beta_is_scale)

    return score


def normal_gamma_draw(rng, n, total, squares, mu0, kappa0, alpha0, beta0, beta_is_scale=False):
    kappa = kappa0 + n
    mu = (kappa0 * mu0 + total) / kappa
    alpha = alpha0 + n / 2
    beta = beta0 + (squares + kappa0 * mu0**2 - kappa * mu**2) / 2
    beta = np.maximum(beta, 1e-300)  # equal rewards and no prior spread: a point mass
    log_lam = log_gamma_draw(rng, alpha) + (1 if beta_is_scale else -1) * np.log(beta)
    return order_key(mu, rng.standard_normal(n.shape), np.log(kappa) + log_lam)


def unit_free_var_ts(rng, t, n, total, squares):
    """VarTS without a prior: all rewards so far, seen as one arm, are worth one observation.

    An arm whose rewards were all equal has Gamma(all_n / 2, all_n variance / 2) precision: alpha0
    and beta0 are such that the update arrives there.
    """
    all_n, all_total = n.sum(axis=1, keepdims=True), total.sum(axis=1, keepdims=True)
    center = all_total / all_n
    variance = squares.sum(axis=1, keepdims=True) / all_n - center**2
    equal = n * squares - total**2 <= 1e-12 * n * squares
    update = (squares + center**2 - (center + total) ** 2 / (1 + n)) / 2
    alpha0 = np.where(equal, (all_n - n) / 2, 0.5)
    beta0 = np.where(equal, all_n * variance / 2 - update, variance / 2)
    return normal_gamma_draw(rng, n, total, squares, center, 1.0, alpha0, beta0)


def known_variance_ts(mu0, sigma0, sigma):
    mu0, sigma = np.asarray(mu0, dtype=float), np.asarray(sigma, dtype=float)

    def score(rng, t, n, total, squares):
        precision = 1 / sigma0**2 + n / sigma**2
        return rng.normal((mu0 / sigma0**2 + total / sigma**2) / precision, precision**-0.5)

    return score


def unit_free_known_ts(sigma):
    """KnownVarianceTS without a prior: the pooled mean, worth one reward."""
    sigma = np.asarray(sigma, dtype=float)

    def score(rng, t, n, total, squares):
        center = total.sum(axis=1, keepdims=True) / n.sum(axis=1, keepdims=True)
        return rng.normal((center + total) / (1 + n), sigma / np.sqrt(1 + n))

    return score


def ucb1(rng, t, n, total, squares):
    plays = n.sum(axis=1, keepdims=True)
    return total / n + (2 * np.log(plays) / n) ** 0.5


def ucb1_tuned(cap=0.25):
    def score(rng, t, n, total, squares):
        plays = n.sum(axis=1, keepdims=True)
        v = spread(n, total, squares) / n + (2 * np.log(plays) / n) ** 0.5
        return total / n + (np.log(plays) / n * np.minimum(cap, v)) ** 0.5

    return score


def ucb_v(horizon=None, zeta=1.0, factor=3.0):
    def score(rng, t, n, total, squares):
        E = zeta * np.log(t) if horizon is None else np.log(3 * horizon**2)
        v = spread(n, total, squares) / n
        return total / n + (2 * v * E / n) ** 0.5 + factor * E / n

    return score


def bernoulli_ts(rng, t, n, total, squares):
    """`total` counts the tossed rewards."""
    return rng.beta(1 + total, 1 + n - total)


def gaussian_ts(rng, t, n, total, squares):
    return rng.normal(total / (n + 1), 1 / np.sqrt(n + 1))


def ts14(a, df_shift=0.0):
    def score(rng, t, n, total, squares):
        df = np.maximum(n + 2 * a - 1, 1e-9)  # not positive only for arms still owed pulls
        scale = np.sqrt(spread(n, total, squares) / (n * df))
        return total / n + scale * rng.standard_t(df + df_shift)

    return score


def ts20(rng, t, n, total, squares):
    """tau ~ Gamma(1/2 + n/2, rate 1/2 + m2/2), then the mean ~ N(mean, 1 / (n tau))."""
    tau = rng.gamma(0.5 + n / 2, 1 / (0.5 + spread(n, total, squares) / 2))
    return rng.normal(total / n, 1 / np.sqrt(n * tau))


def mvts(rho):
    def score(rng, t, n, total, squares):
        theta = rng.normal(total / n, n**-0.5)
        tau = rng.gamma(0.5 + n / 2, 1 / (0.5 + spread(n, total, squares) / 2))
        return theta if np.isinf(rho) else rho * theta - 1 / tau

    return score

"""VarTS on the paper's Gaussian problem in NumPy, vectorised over runs: one round of all runs is
one array operation a step. Posterior parameters are kept and only pulled arms' entries change."""

import numpy as np


def play(prior, horizon, runs, seed):
    """Regret at the horizon of `runs` runs. `prior` has mu, kappa, alpha and beta per arm."""
    rng = np.random.Generator(np.random.SFC64(seed))  # NumPy's fastest
    shape = runs, len(prior.mu)
    sigma = 1 / np.sqrt(rng.standard_gamma(prior.alpha, shape) / prior.beta)
    truth = prior.mu + rng.standard_normal(shape) * sigma / np.sqrt(prior.kappa)
    best, regret = truth.max(axis=1), np.zeros(runs)
    mu, kappa, alpha, beta = (
        np.tile(x, (runs, 1)) for x in (prior.mu, prior.kappa, prior.alpha, prior.beta)
    )
    spread = np.sqrt(beta / kappa)
    first = np.arange(runs) * shape[1]  # where each run begins in the flattened arrays
    gamma, draw = np.empty(shape), np.empty(shape)
    for _ in range(horizon):
        rng.standard_gamma(alpha, out=gamma)
        rng.standard_normal(out=draw)
        np.sqrt(gamma, out=gamma)
        draw /= gamma
        draw *= spread
        draw += mu
        arm = first + draw.argmax(axis=1)
        mean = truth.take(arm)
        regret += best - mean
        reward = mean + sigma.take(arm) * rng.standard_normal(runs)
        k, m = kappa.take(arm), mu.take(arm)
        step, more = reward - m, k + 1
        b = beta.take(arm) + 0.5 * k / more * step * step
        kappa.put(arm, more)
        mu.put(arm, m + step / more)
        alpha.put(arm, alpha.take(arm) + 0.5)
        beta.put(arm, b)
        spread.put(arm, np.sqrt(b / more))
    return regret

"""A shop whose best arm depends on the visitor, and its report."""

import numpy as np

import varts

ARMS = ["plain", "offer", "video"]
FEATURES = varts.Features({"country": ["NL", "BE"], "visits": "number"})


def visitors(n, seed=1):
    rng = np.random.default_rng(seed)
    countries = rng.choice(["NL", "BE", "FR"], p=[0.6, 0.3, 0.1], size=n)
    pairs = zip(countries, rng.poisson(3, size=n), strict=True)
    return [{"country": str(country), "visits": int(visits)} for country, visits in pairs]


def played(n=600, seed=1, sd=(3.0, 4.0, 6.0)):
    """What random arms paid so many visitors, and who they were."""
    rng = np.random.default_rng([seed, 2])
    contexts = visitors(n, seed)
    x, arm = FEATURES.encode_many(contexts), rng.integers(0, 3, n)
    slopes = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 0.2], [0.0, 1.0, -0.3]])
    mean = np.array([10.0, 11.0, 12.0])[arm] + (x * slopes[arm]).sum(axis=1)
    reward = mean + np.array(sd)[arm] * rng.standard_normal(n)
    return varts.LinearStats.empty(3, FEATURES.d).observe(arm, x, reward), contexts


def report(n=600, seed=1, **options):
    stats, contexts = played(n, seed)
    return varts.context_report(
        varts.LinearVarTS(), stats, FEATURES, contexts, arms=ARMS, **options
    )


def drawn_means(posterior, x, draws, seed=5):
    """Joint draws of every arm's mean at every x: draws, units, arms."""
    level, slopes, _ = posterior.sample(np.random.default_rng(seed), draws)
    away = x[:, None, :] - posterior.center
    return level[:, None, :] + np.einsum("nkd,skd->snk", away, slopes)

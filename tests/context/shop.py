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


def raw(n=600, seed=1, sd=(3.0, 4.0, 6.0)):
    """Arms, features and rewards of so many visitors, who got random arms, and who they were."""
    rng = np.random.default_rng([seed, 2])
    contexts = visitors(n, seed)
    x, arm = FEATURES.encode_many(contexts), rng.integers(0, 3, n)
    slopes = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 0.2], [0.0, 1.0, -0.3]])
    mean = np.array([10.0, 11.0, 12.0])[arm] + (x * slopes[arm]).sum(axis=1)
    reward = mean + np.array(sd)[arm] * rng.standard_normal(n)
    return arm, x, reward, contexts


def played(n=600, seed=1, sd=(3.0, 4.0, 6.0)):
    """What random arms paid so many visitors, and who they were."""
    *rows, contexts = raw(n, seed, sd)
    return varts.LinearStats.empty(3, FEATURES.d).observe(*rows), contexts


def halved(n=600, seed=1):
    """The statistics of every other visitor, and of the rest."""
    arm, x, reward, _ = raw(n, seed)
    return tuple(
        varts.LinearStats.empty(3, FEATURES.d).observe(arm[i::2], x[i::2], reward[i::2])
        for i in (0, 1)
    )


def report(n=600, seed=1, halves=False, **options):
    stats, contexts = played(n, seed)
    if halves:
        options["halves"] = halved(n, seed)
    return varts.context_report(
        varts.LinearVarTS(), stats, FEATURES, contexts, arms=ARMS, **options
    )


def drawn_means(posterior, x, draws, seed=5):
    """Joint draws of every arm's mean at every x: draws, units, arms."""
    level, slopes, _ = posterior.sample(np.random.default_rng(seed), draws)
    away = x[:, None, :] - posterior.center
    return level[:, None, :] + np.einsum("nkd,skd->snk", away, slopes)

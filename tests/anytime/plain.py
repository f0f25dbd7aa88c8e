"""Always-valid inference again, arm by arm and look by look: plain loops and SciPy's optimisers.

Nothing here is imported from the package, and the formulas are those of the sources: the martingale
as a ratio of marginal likelihoods with two logarithms, a pair by bounded minimisation, an interval
by root finding.
"""

import math
from itertools import pairwise

import numpy as np
from scipy import optimize, stats


def lam(error):
    """The root of x - log(1 + x) = -2 log(error): the best ratio of n to c2."""
    return optimize.brentq(lambda x: x - math.log1p(x) + 2 * math.log(error), 1e-6, 1e3, rtol=1e-14)


def log_m(n, gap, m2, c2):
    kappa, r = c2 / (n + c2), n * gap**2 / m2
    return 0.5 * math.log(kappa) + n / 2 * (math.log1p(r) - math.log1p(kappa * r))


def half_width(n, m2, error, c2):
    sd = math.sqrt(m2 / n)

    def excess(w):
        return log_m(n, w, m2, c2) + math.log(error)

    if excess(1e9 * sd) < 0:
        return math.inf
    return optimize.brentq(excess, 0, 1e9 * sd, xtol=1e-14 * sd, rtol=1e-13)


def pair_evidence(a, b, difference, c2):
    """a and b are (n, mean, m2); the least over 200 cells of the way from one mean to the other."""
    ends = a[1], b[1] + difference
    if ends[0] == ends[1]:
        return log_m(a[0], 0, a[2], c2) + log_m(b[0], 0, b[2], c2)

    def total(mu):
        return log_m(a[0], a[1] - mu, a[2], c2) + log_m(b[0], b[1] + difference - mu, b[2], c2)

    edges = np.linspace(min(ends), max(ends), 201)
    least = min(map(total, edges))
    for low, high in pairwise(edges):
        if min(total(low), total(high)) < least + 0.1:
            found = optimize.minimize_scalar(
                total, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
            )
            least = min(least, found.fun)
    return least


def possible_best(n, mean, m2, error, c2):
    K = len(n)
    threshold = stats.chi2.isf(error / (K - 1), 4) / 2
    arms = list(zip(n, mean, m2, strict=True))
    ruled_out = set()
    for i in range(K):
        for j in range(K):
            if mean[j] > mean[i] and min(n[i], n[j]) >= 2 and min(m2[i], m2[j]) > 0:
                if pair_evidence(arms[j], arms[i], 0.0, c2) >= threshold:
                    ruled_out.add(i)
    return [i not in ruled_out for i in range(K)]

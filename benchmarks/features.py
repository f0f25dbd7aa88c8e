"""`python -m benchmarks.features [--held-out]`: are the numbers about features right?

Worlds are played by LinearVarTS or an even split, many experiments at once; the policy learns in
batches that grow by 3 %. At the end of each experiment the functions of the report compute:

- the cross-fitted gain of choosing by context: how often it is claimed, its estimate next to the
  true gain of the same rules, how often its interval has that;
- the arms' means for the average unit and at x (20 units): how often the intervals have them.

Development worlds are those of the issue; constants were chosen on them. The held-out worlds were
written down before anything was run on them.
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from varts import LinearStats, LinearVarTS
from varts.context import Halves, Units, crossfitted_worth
from varts.context.inference import inferred_line
from varts.context.worth import best_of
from varts.linear_stats import merged_products
from varts.live.core.sums import Line, point_of
from varts.policies.formulas import unit_free_prior
from varts.policies.unit_free_line import slope_precision
from varts.priors.regression import Regression, inverse_root, regress
from varts.stats import ArmStats

EXPERIMENTS, UNITS, AT, GROWTH = 300, 200, 20, 0.03


@dataclass(frozen=True)
class World:
    """Units with features, and arms whose rewards depend on them."""

    name: str
    K: int
    d: int
    n: int
    slopes: Any = 0.0  # the sd of an arm's own slopes
    shared: float = 0.0  # the sd of slopes that all arms share
    levels: float = 0.0  # the sd of the arms' levels
    noise: str = "gaussian"
    units: str = "gaussian"
    policy: str = "LinearVarTS"
    twist: float = 0.0  # an interaction that the regression leaves out
    sparse: int = 0  # so many features have slopes; 0 is all

    def draw(self, rng, R):
        """Levels, slopes and twists of R experiments."""
        own = self.slopes * rng.standard_normal((R, self.K, self.d))
        shared = self.shared * rng.standard_normal((R, 1, self.d))
        if self.sparse:
            own[:, :, self.sparse :] = 0
        level = self.levels * rng.standard_normal((R, self.K))
        return level, own + shared, self.twist * rng.choice([-1.0, 1.0], (R, self.K))

    def features(self, rng, R, m):
        """Encoded contexts, (R, m, d)."""
        if self.units == "skewed":
            return rng.standard_exponential((R, m, self.d)) - 1
        if self.units == "categories":  # dummies of categories with four values, some of them rare
            groups = -(-self.d // 3)
            word = rng.choice(4, (R, m, groups), p=[0.5, 0.3, 0.15, 0.05])
            dummies = (word[..., None] == np.arange(1, 4)).reshape(R, m, 3 * groups)
            return dummies[..., : self.d].astype(float)
        return rng.standard_normal((R, m, self.d))

    def means(self, made, x):
        """The mean reward of every arm, (R, m, K)."""
        level, slopes, twist = made
        out = level[:, None] + np.einsum("rmd,rkd->rmk", x, slopes)
        if self.twist:
            out += twist[:, None] * (x[..., 0] * x[..., 1])[..., None]
        if self.noise in ("revenue", "counts"):  # means must be above 0
            return np.exp(0.3 * out) * (2.0 if self.noise == "revenue" else 1.5)
        return out

    def rewards(self, rng, mean, x):
        """Rewards with these means; the noise of all but revenue and counts has sd 1."""
        if self.noise == "revenue":  # 6 % pay a lognormal amount
            pays = rng.random(mean.shape) < 0.06
            return pays * mean / 0.06 * rng.lognormal(-0.5, 1.0, mean.shape)
        if self.noise == "flat revenue":
            pays = rng.random(mean.shape) < 0.06
            paid = pays * rng.lognormal(0.0, 1.0, mean.shape)
            first, second = 0.06 * np.exp(0.5), 0.06 * np.exp(2.0)
            return mean + (paid - first) / np.sqrt(second - first**2)
        if self.noise == "counts":  # negative binomial
            return rng.poisson(mean * rng.standard_gamma(0.5, mean.shape) / 0.5).astype(float)
        if self.noise == "t3":
            return mean + rng.standard_t(3, mean.shape) / np.sqrt(3)
        if self.noise == "by x":
            return mean + np.exp(0.4 * x[..., 0] - 0.16) * rng.standard_normal(mean.shape)
        return mean + rng.standard_normal(mean.shape)


USELESS = [
    World(f"useless, d = {d}", 3, d, 1500, policy=p)
    for d in (2, 5, 10, 20)
    for p in ("even", "LinearVarTS")
]
DEVELOPMENT = [
    *USELESS,
    World("useless, 10,000 rewards", 3, 20, 10_000),
    World("small effects", 3, 3, 3000, 0.15),
    World("large effects", 3, 3, 3000, 0.5),
    World("20 effects", 3, 20, 2000, 0.1, levels=0.1),
    *[
        World(f"{noise}, n = {n}", 3, 4, n, slopes, noise=noise, policy=p)
        for noise, slopes in (("flat revenue", 0.1), ("revenue", 0.2), ("counts", 0.3))
        for n, p in ((150, "even"), (600, "even"), (3000, "even"), (3000, "LinearVarTS"))
    ],
    World("missing interaction", 3, 3, 3000, 0.2, twist=0.4),
]

# Written down before anything was run on them.
HELD_OUT = [
    World("useless, unequal arms, skewed features", 4, 12, 2000, levels=0.1, units="skewed"),
    World("useless, shared effects", 3, 8, 2000, 0.0, shared=0.3),
    World("useless, revenue", 3, 10, 3000, noise="revenue"),
    World("useless, six arms, t3 noise", 6, 6, 3000, noise="t3"),
    World("categories, counts", 3, 6, 2000, 0.3, shared=0.3, noise="counts", units="categories"),
    World("sparse effects", 4, 15, 3000, 0.3, levels=0.1, sparse=2),
    World("revenue with effects", 3, 6, 4000, 0.4, levels=0.2, noise="revenue"),
    World("noise grows with x", 3, 5, 2000, 0.2, shared=0.2, noise="by x"),
    World("two arms, few rewards", 2, 8, 300, 0.2, levels=0.2, policy="even"),
]

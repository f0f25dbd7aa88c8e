"""`python -m benchmarks.features [--held-out] [--old] [--regret]`: are reports on features right?

Worlds are played by LinearVarTS or an even split, many experiments at once; the policy learns in
batches that grow by 3 %. At the end of each experiment the functions of the report compute:

- the cross-fitted gain of choosing by context: how often it is claimed, its estimate next to the
  true gain of the same rules, how often its interval has that;
- the arms' means for the average unit and at x (20 units): how often the intervals have them.

`--old` has the numbers of older versions: not cross-fitted, slopes and tails as the policy takes
them. `--regret` compares choosing with slopes as free as they are, and with those of a report.

Development worlds are those of the issue; constants were chosen on them. The held-out worlds were
written down before anything was run on them.
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from varts import LinearStats, LinearVarTS
from varts.context import Units, crossfitted_worth, infer, infer_halves, worth_of_context
from varts.context.worth import best_of
from varts.linear_stats import merged_products
from varts.live.core.sums import Line, point_of
from varts.policies.formulas import unit_free_prior
from varts.policies.linear import shrunk_linear_prior, slope_precision
from varts.priors.linear import Regression, inverse_root, regress
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
    World("large effects, few rewards", 3, 3, 240, 0.5),
    World("20 effects", 3, 20, 2000, 0.1, levels=0.1),
    *[
        World(f"{noise}, n = {n}", 3, 4, n, slopes, noise=noise, policy=p)
        for noise, slopes in (("flat revenue", 0.1), ("revenue", 0.2), ("counts", 0.3))
        for n, p in ((150, "even"), (600, "even"), (3000, "even"), (3000, "LinearVarTS"))
    ],
    World("missing interaction", 3, 3, 3000, 0.2, twist=0.4),
    World("three of ten effects", 3, 10, 2500, 0.3, sparse=3),
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
# Written down after "sparse effects" had covered the average unit in only 85 %.

HELD_OUT += [
    World("one of 20 effects, five arms", 5, 20, 3000, 0.4, levels=0.1, sparse=1),
    World(
        "sparse, two arms, skewed features", 2, 12, 2000, 0.25, shared=0.1, units="skewed", sparse=3
    ),
]


class Played:
    """What R experiments of a world have recorded, after n rewards each."""

    def __init__(self, world, R, seed, shrink=False):
        self.world, self.rng, self.shrink = world, np.random.default_rng(seed), shrink
        self.made = world.draw(self.rng, R)
        K, D = world.K, world.d + 1
        self.n, self.mean = np.zeros((R, K)), np.zeros((R, K, D))
        self.products, self.log = np.zeros((R, K, D, D)), []
        self.played = 0
        while self.played < world.n:
            more = 2 * K if not self.played else int(np.ceil(GROWTH * self.played))
            self.batch(min(more, world.n - self.played))
        self.x, self.arm, self.reward = (
            np.concatenate(each, axis=1) for each in zip(*self.log, strict=True)
        )

    def batch(self, size):
        world, rng, (R, K) = self.world, self.rng, self.n.shape
        x = world.features(rng, R, size)
        if self.played and world.policy == "LinearVarTS":
            arm = self.thompson(x)
        else:
            arm = np.tile((self.played + np.arange(size)) % K, (R, 1))
        mean = np.take_along_axis(world.means(self.made, x), arm[..., None], 2)[..., 0]
        reward = world.rewards(rng, mean, x)
        self.log.append((x, arm, reward))
        rows = np.concatenate([x, reward[..., None]], axis=2)
        mine = (arm[..., None] == np.arange(K)).astype(float)
        n = mine.sum(axis=1)
        center = np.einsum("rmk,rmd->rkd", mine, rows) / np.maximum(n, 1)[..., None]
        square = np.einsum("rmk,rmd,rme->rkde", mine, rows, rows, optimize=True)
        square -= n[..., None, None] * center[..., :, None] * center[..., None, :]
        self.n, self.mean, self.products = merged_products(
            self.n, self.mean, self.products, n, center, square
        )
        self.played += size

    def thompson(self, x):
        """LinearVarTS without a prior, for all experiments at once."""
        (R, K), d = self.n.shape, self.world.d
        total = self.n.sum(axis=1)
        mean = (self.n[..., None] * self.mean).sum(axis=1) / total[:, None]
        gap = self.mean - mean[:, None]
        squares = np.diagonal(self.products, axis1=2, axis2=3) + self.n[..., None] * gap**2
        squares = squares.sum(axis=1)
        mu, kappa, alpha, beta = unit_free_prior(total, mean[:, -1], squares[:, -1])
        diagonal = slope_precision(squares[:, :-1] / total[:, None], mean[:, :-1])
        prior = [mu, np.full(R, kappa), np.full(R, alpha), np.maximum(beta, 1e-300)]
        prior += [np.zeros((R, d)), diagonal[..., None] * np.eye(d), mean[:, :-1]]
        prior = [np.repeat(each, K, axis=0) for each in prior]
        if self.shrink:
            found = [
                shrunk_linear_prior(LinearStats._trusted(*each)).regression(K)
                for each in zip(self.n, self.mean, self.products, strict=True)
            ]
            prior = [np.concatenate(each) for each in zip(*found, strict=True)]
        rows = LinearStats._trusted(
            self.n.ravel(), self.mean.reshape(R * K, -1), self.products.reshape(R * K, d + 1, -1)
        )
        post = regress(Regression(*prior), rows)
        level, kappa, alpha, beta, slopes, precision, center = (
            each.reshape(R, K, *each.shape[1:]) for each in post
        )
        own = squares[:, -1:] * 0 + self.products[..., -1, -1] > 0
        alpha = np.where(own, alpha, total[:, None] / 2)
        beta = np.where(own, beta, squares[:, -1:] / 2)
        away = x[:, :, None] - center[:, None]
        reach = np.einsum("rkde,rmke->rmkd", inverse_root(precision), away)
        spread = 1 / kappa[:, None] + (reach**2).sum(axis=-1)
        loc = level[:, None] + (away * slopes[:, None]).sum(axis=-1)
        scale = np.sqrt((beta / alpha)[:, None] * spread)
        t = self.rng.standard_t(np.broadcast_to(2 * alpha[:, None], loc.shape))
        return (loc + scale * t).argmax(axis=2)

    def regret(self):
        """The regret of every experiment."""
        means = self.world.means(self.made, self.x)
        chosen = np.take_along_axis(means, self.arm[..., None], 2)[..., 0]
        return (means.max(axis=2) - chosen).sum(axis=1)


def residuals_of(arm, x, reward, half, K):
    """One-step-ahead residuals as a live experiment keeps them."""
    lines = [Line.empty() for _ in range(K)]
    for i, row, value, side in zip(arm.tolist(), x, reward.tolist(), half.tolist(), strict=True):
        lines[i] = lines[i].observe(point_of(row, value), side)
    moments = [line.residuals.moments for line in lines]
    return ArmStats._trusted(*np.array(moments).T.copy())


def judge(world, played, r, rng, old):
    """The numbers of one report next to the truth."""
    K, d, arms = world.K, world.d, [str(i) for i in range(world.K)]
    x, arm, reward = played.x[r], played.arm[r], played.reward[r]
    half = rng.integers(0, 2, len(arm))
    empty = LinearStats.empty(K, d)
    stats = empty.observe(arm, x, reward)
    sides = [empty.observe(arm[half == i], x[half == i], reward[half == i]) for i in (0, 1)]
    made = tuple(each[r : r + 1] for each in played.made)
    at = world.features(rng, 1, UNITS)
    truth, at = world.means(made, at)[0], at[0]
    units = Units(None, tuple(range(UNITS)), at)
    if old:
        posterior = LinearVarTS().posterior(stats)
        worth = worth_of_context(posterior, units, arms, "max")
        rules = [posterior, posterior]
    else:
        residuals = residuals_of(arm, x, reward, half, K)
        posterior = infer(None, stats, residuals)
        halves = infer_halves(None, tuple(sides), residuals)
        if halves is None:
            return None
        rules = [half.rule for half in halves]
        worth = crossfitted_worth(halves, units, "", "max")
    gains = []
    for rule in rules:
        estimates = rule.at(at)[0]
        picked = best_of(estimates, "max")
        single = best_of(rule.at(units.mean)[0], "max")
        gains.append((truth[np.arange(UNITS), picked] - truth[:, single]).mean())
    gain = float(np.mean(gains))
    whole = posterior.at(at)[0]
    best = truth.mean(axis=0).max()
    full = (truth[np.arange(UNITS), best_of(whole, "max")]).mean() - best
    average = posterior.belief(units.mean)
    low, high = average.interval()
    mean = truth.mean(axis=0)
    few = posterior.belief(at[:AT])
    few_low, few_high = few.interval()
    rounding = 1e-9
    return {
        "claimed": float(worth.low > 0),
        "estimate": worth.gain,
        "gain": gain,
        "full": float(full),
        "covers": float(worth.low - rounding <= gain <= worth.high + rounding),
        "average": float(((low <= mean) & (mean <= high)).mean()),
        "at x": float(((few_low <= truth[:AT]) & (truth[:AT] <= few_high)).mean()),
        "width": float((high - low).mean()),
    }


HEADS = (
    *(
        "world",
        "policy",
        "gain claimed",
        "estimate",
        "truth",
        "rule of all data",
        "interval covers",
    ),
    *("average unit", "at x", "width", "reports"),
)


def study(worlds, experiments, old):
    """Print a row per world."""
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for number, world in worlds:
        played = Played(world, experiments, [number, 1])
        rng = np.random.default_rng([number, 2])
        found = [judge(world, played, r, rng, old) for r in range(experiments)]
        found = [one for one in found if one is not None]  # too few rewards in a half
        mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        cells = [world.name, world.policy, f"{mean['claimed']:.1%}"]
        cells += [f"{mean[name]:.4f}" for name in ("estimate", "gain", "full")]
        cells += [f"{mean[name]:.1%}" for name in ("covers", "average", "at x")]
        cells += [f"{mean['width']:.3f}", f"{len(found)}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def regrets(worlds, experiments):
    """Print the regret of choosing with today's prior, and with that of `shrunk_linear_prior`."""
    print("| world | regret | with shrunk slopes | difference |\n|---|---|---|---|")
    for number, world in worlds:
        plain, shrunk = (
            Played(world, experiments, [number, 3], shrink).regret() for shrink in (False, True)
        )
        if not plain.any():
            continue  # arms are equal
        gap = shrunk - plain
        share, error = gap.mean() / plain.mean(), gap.std() / np.sqrt(experiments) / plain.mean()
        print(
            f"| {world.name} | {plain.mean():.1f} | {shrunk.mean():.1f} | "
            f"{100 * share:+.0f} ± {100 * error:.0f} % |",
            flush=True,
        )


def main(words):
    """Run the worlds of one kind, all of them or those with these numbers."""
    worlds = list(enumerate(HELD_OUT if "--held-out" in words else DEVELOPMENT))
    given = [int(word) for word in words if word.isdigit()]
    worlds = [worlds[i] for i in given] or worlds
    if "--regret" in words:
        regrets([each for each in worlds if each[1].policy != "even"], EXPERIMENTS // 5)
    else:
        study(worlds, EXPERIMENTS, "--old" in words)


if __name__ == "__main__":
    main(sys.argv[1:])

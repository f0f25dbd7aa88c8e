"""What reports say, and what choosing with tails costs, on rewards that the model did not make.

`make bench NAME=real` writes two tables into docs/tails.md: 1,000 experiments for every world.
In the first, VarTS without a prior chooses, in a plain compiled loop of this file; the beliefs
that are judged are the package's. In the second, the package's simulator plays paired runs.
"""

import argparse

import numpy as np
from numba import njit, prange

import varts
from benchmarks.report import put, table
from varts import ArmStats, VarTS
from varts.simulation.engine.compiled.jit import compile_formula

PAGE = "tails.md"
LEVEL, SURE, IMPOSSIBLE = 0.95, 0.95, 0.01


# ----------------------------------------------------------------------------------- the worlds


class World(varts.Problem):
    """Arms from a function of (rng, size); `horizon` is when the report is read."""

    def __init__(self, words, K, horizon, drawn):
        self.words, self.K, self.horizon, self.drawn = words, K, horizon, drawn

    def draw(self, rng, size):
        return varts.Instances(*(np.broadcast_to(x, (size, self.K)) for x in self.drawn(rng, size)))


def revenue(name, spread, horizon, chance=(0.02, 0.06)):
    class Revenue(World):
        @staticmethod
        def reward(a, b, z, u):
            return np.where(u < a, np.exp(b + spread * z), 0.0)

    def drawn(rng, size):
        p, m = rng.uniform(*chance, (size, 5)), rng.normal(3, 0.2, (size, 5))
        mean = p * np.exp(m + spread**2 / 2)
        return mean, p * np.exp(2 * m + 2 * spread**2) - mean**2, p, m

    return Revenue(name, 5, horizon, drawn)


class Exponential(World):
    @staticmethod
    def reward(a, b, z, u):
        return -a * np.log1p(-u)


class ZeroOne(World):
    @staticmethod
    def reward(a, b, z, u):
        return np.where(u < a, 1.0, 0.0)


class Gaussian(World):
    @staticmethod
    def reward(a, b, z, u):
        return a + b * z


class Prices(World):
    @staticmethod
    def reward(a, b, z, u):
        return np.where(u < b, a, 0.0)


def exponential(rng, size):
    a = rng.uniform(0.5, 1.5, (size, 5))
    return a, a**2, a, a


def zero_one(rng, size):
    a = rng.uniform(0.02, 0.06, (size, 5))
    return a, a * (1 - a), a, a


def gaussian(rng, size):
    a, b = rng.normal(0, 0.5, (size, 5)), np.exp(rng.uniform(np.log(0.3), np.log(3), (size, 5)))
    return a, b**2, a, b


def prices(rng, size):
    a, b = np.array([9.0, 12.0, 15.0]), np.array([0.5, 0.45, 0.25])
    return a * b, a**2 * b * (1 - b), a, b


WORLDS = [
    revenue("revenue: 2 to 6 % buy, log-sd 0.8, 10,000 visitors", 0.8, 10_000),
    revenue("revenue, log-sd 1.5, 10,000 visitors", 1.5, 10_000),
    revenue("revenue, log-sd 0.8, 2,000 visitors", 0.8, 2_000),
    Exponential("exponential, means 0.5 to 1.5, 2,000 rewards", 5, 2_000, exponential),
    ZeroOne("0/1, 2 to 6 % ones, 10,000 rewards", 5, 10_000, zero_one),
    Gaussian("Gaussian, sds 0.3 to 3, 2,000 rewards", 5, 2_000, gaussian),
    Prices("the README's prices, 400 visitors", 3, 400, prices),
]


# ------------------------------------------------------------------------- experiments and reports


@njit
def moments_with(x, n, mean, m2, m3, m4):
    """One reward more, by the textbook (Pebay 2008)."""
    total = n + 1
    d = x - mean
    m4 += d**4 * n * (n * n - n + 1) / total**3 + 6 * d * d * m2 / total**2 - 4 * d * m3 / total
    m3 += d**3 * n * (n - 1) / total**2 - 3 * d * m2 / total
    return total, mean + d / total, m2 + d * d * n / total, m3, m4


@njit
def worth(arms):
    """2 / (kurtosis - 1), the arms' kurtosis averaged by their rewards; at most 1."""
    weighted = total = 0.0
    for i in range(arms.shape[1]):
        n, m2, m4 = arms[0, i], arms[2, i], arms[4, i]
        if m2 > 0:
            weighted += n * n * m4 / m2**2
            total += n
    return min(1.0, 2 / max(weighted / total - 1, 1e-12)) if total > 0 else 1.0


@njit(parallel=True)
def play(reward, a, b, horizon, tails, seed):
    """The arms' five moments at the end, a row per experiment: VarTS() by its textbook."""
    runs, K = a.shape
    out = np.zeros((runs, 5, K))
    for r in prange(runs):
        np.random.seed(seed + r)
        arms, everything = out[r], np.zeros(5)
        for t in range(horizon):
            arm = t % K
            if t >= 2 * K:
                w = worth(arms) if tails else 1.0
                N, center, spread = everything[0], everything[1], everything[2]
                best = -np.inf
                for i in range(K):
                    n, mean, m2 = arms[0, i], arms[1, i], arms[2, i]
                    gap = mean - center
                    shape = 0.5 + w * n / 2
                    rate = 0.5 * spread / N + w * (m2 + n / (1 + n) * gap * gap) / 2
                    if not tails and m2 == 0:
                        shape, rate = N / 2, spread / 2
                    x = center + n / (1 + n) * gap
                    x += np.random.normal() * np.sqrt(rate / (1 + n) / np.random.gamma(shape, 1.0))
                    if x > best:
                        best, arm = x, i
            x = reward(a[r, arm], b[r, arm], np.random.normal(), np.random.random())
            arms[0, arm], arms[1, arm], arms[2, arm], arms[3, arm], arms[4, arm] = moments_with(
                x, arms[0, arm], arms[1, arm], arms[2, arm], arms[3, arm], arms[4, arm]
            )
            (everything[0], everything[1], everything[2], everything[3], everything[4]) = (
                moments_with(
                    x, everything[0], everything[1], everything[2], everything[3], everything[4]
                )
            )
    return out


def judge(played, means, believe):
    """How a belief about the arms fares: coverage, coverage of arms with less traffic than the
    median, best arms called impossible, sure ones, and how many of these are right."""
    held, little, impossible, sure, right = [], [], 0, 0, 0
    for moments, mean in zip(played, means, strict=True):
        belief = believe(ArmStats(*moments))
        low, high = belief.interval(LEVEL)
        inside = (low <= mean) & (mean <= high)
        held += list(inside)
        little += list(inside[moments[0] < np.median(moments[0])])
        p = belief.p_best()
        impossible += p[mean.argmax()] < IMPOSSIBLE
        sure += p.max() >= SURE
        right += p.max() >= SURE and mean[p.argmax()] == mean.max()
    runs = len(played)
    return np.mean(held), np.mean(little), impossible / runs, sure / runs, right / max(sure, 1)


def reports(runs, seed):
    """The first table: a row per world."""
    rows, found = [], {}
    for world in WORLDS:
        drawn = world.draw(np.random.default_rng(seed), runs)
        means, a, b = drawn.mean, np.array(drawn.a, dtype=float), np.array(drawn.b, dtype=float)
        reward = compile_formula(world.reward)
        plain = play(reward, a, b, world.horizon, False, seed)
        tailed = play(reward, a, b, world.horizon, True, seed)
        said = {
            "before": judge(plain, means, VarTS().belief),
            "report": judge(plain, means, VarTS().inference),
            "both": judge(tailed, means, VarTS().inference),
        }
        found[world.words] = said
        row = [world.words]
        for name in said:
            held, little, impossible, sure, right = said[name]
            row.append(f"{held:.3f} ({little:.3f})")
            row.append(f"{100 * impossible:.1f} %")
            row.append(f"{100 * sure:.1f} %, {100 * right:.0f} %" if sure else "0 %")
        rows.append(row)
        print(row, flush=True)
    return rows, found


def choices(runs, seed):
    """The second table: regret with tails against that without, paired."""
    rows = []
    for world in WORLDS:
        policies = {"plain": VarTS(), "tails": VarTS(tails=True)}
        study = varts.simulate(world, policies, world.horizon, runs, seed=seed, progress=False)
        plain, tails = (study.final[name] for name in policies)
        ends = np.quantile(plain, 0.95), np.quantile(tails, 0.95)
        rows.append(
            [
                world.words,
                f"{plain.mean():.4g}",
                f"{tails.mean():.4g}",
                f"{tails.mean() / plain.mean():.2f}",
                f"{ends[0]:.4g}",
                f"{ends[1]:.4g}",
                f"{ends[1] / ends[0]:.2f}",
            ]
        )
        print(rows[-1], flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry", action="store_true", help="print only")
    given = parser.parse_args()
    rows, _ = reports(given.runs, given.seed)
    heads = ["world"]
    for who in ("Gaussian belief", "report", "report, chosen with tails"):
        heads += [f"{who}: interval holds", "best arm < 1 %", "P(best) ≥ 0.95, right"]
    chosen = choices(given.runs, given.seed)
    if not given.dry:
        put("reports", table(heads, rows), PAGE)
        columns = ["mean regret", "with tails", "ratio", "1 in 20 above", "with tails", "ratio"]
        put("choices", table(["world", *columns], chosen), PAGE)


if __name__ == "__main__":
    main()

"""`python -m benchmarks.time_effects`: what comparing arms within blocks of time costs and saves.

Plays experiments whose common level moves, and some where nothing moves, day by day. Arms are
chosen by P(best) of plain statistics or of those of `varts.blocks`, and each log is reported in
every way. The table has one row per world, way of choosing, and way of reporting:

- regret: of the choices, over that of plain choices on the same rewards
- lead: how often the 95 % interval of the leader's lead over the second arm covers the truth
- means: how often the 95 % interval of an arm's mean, over all traffic, covers the truth
- wrong: how often the arm with P(best) >= 0.95 at the end is not the best, of those experiments
- ruled out: how often equal arms are ruled out at one of ten looks, at the anytime level of 5 %
- sure: how often one of equal arms has P(best) >= 0.95 at the end
- power: how often an arm that is 0.3 sds worse is ruled out at one of ten looks

`--worlds development` was used to choose the constants of `varts.blocks`, `--worlds held-out` was
not: these worlds were written down before any of them was run.
"""

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from varts import Evidence, Tails, VarTS, blocks

POLICY = VarTS()
LOOKS, SURE, ERROR, Z = 10, 0.95, 0.05, 1.959964
WAYS = ("plain", "flat", "blocks")


@dataclass(frozen=True)
class World:
    """A common level of each day, in sds of a reward, and how rewards vary around it."""

    name: str
    level: Callable
    K: int = 4
    traffic: Callable = lambda days: np.full(days, 100)
    days: int = 40
    noise: str = "normal"
    spread: float = 0.2  # of the arms' means, if they are not equal
    sds: tuple = (1.0,)  # of the arms' rewards, repeated


def steady(days, rng):
    return np.zeros(days)


def cycle(period, size=1.0):
    return lambda days, rng: size * np.sin(2 * np.pi * (np.arange(days) / period + rng.random()))


def rising(size=1.0):
    return lambda days, rng: size * np.arange(days) / days


def random_days(sd):
    return lambda days, rng: sd * rng.normal(size=days)


def campaign(size, length, at):
    """A higher level for some days, the first of which is random within `at`."""

    def level(days, rng):
        day, start = np.arange(days), rng.integers(*at)
        return size * ((day >= start) & (day < start + length))

    return level


def step_change(size):
    return lambda days, rng: size * (np.arange(days) >= rng.integers(days // 4, 3 * days // 4))


def weekend(size):
    return lambda days, rng: -size * ((np.arange(days) + rng.integers(7)) % 7 >= 5)


def wandering(step):
    return lambda days, rng: step * rng.normal(size=days).cumsum()


def shock(size):
    """One day only, such as an outage or a big sale."""
    return lambda days, rng: size * (np.arange(days) == rng.integers(3, days))


def growing(first, last):
    return lambda days: np.geomspace(first, last, days).astype(int)


# The worlds of ALGORITHMS-3.
DEVELOPMENT = [
    World("nothing moves", steady),
    World("cycle of 5 days", cycle(5)),
    World("cycle of 20 days", cycle(20)),
    World("rising by 1 sd", rising()),
    World("random days, sd .5", random_days(0.5)),
    World("campaign of 10 days", campaign(1.0, 10, (5, 25))),
]

# Written down before any of them was run, and used for nothing but judging.
HELD_OUT = [
    World("steady, K = 2", steady, K=2),
    World("steady, K = 10, sds 0.5 to 2", steady, K=10, sds=(0.5, 1.0, 2.0)),
    World("steady, revenue, K = 3", steady, K=3, noise="revenue"),
    World("step change by .5 sd, K = 3", step_change(0.5), K=3),
    World("weekend dips, K = 5, 56 days", weekend(0.5), K=5, days=56),
    World("growing traffic, falling level", rising(-0.6), traffic=growing(20, 300)),
    World("slow sine, revenue, K = 3", cycle(60, 0.3), K=3, days=60, noise="revenue"),
    World("one-day shock, K = 8", shock(2.0), K=8),
    World("wandering level, K = 2", wandering(0.1), K=2),
    World("slow rise by .25 sd, K = 4", rising(0.25)),
    World("slowly wandering, K = 6, sds .5, 1.5", wandering(0.03), K=6, sds=(0.5, 1.5)),
    World("random days, exponential, K = 3", random_days(0.15), K=3, noise="exponential"),
]


def noise_of(world, rng, size):
    """Noise with mean 0 and variance 1."""
    if world.noise == "normal":
        return rng.normal(size=size)
    if world.noise == "exponential":
        return rng.exponential(size=size) - 1
    # One visitor in five spends a lognormal amount: kurtosis about 45.
    spent = np.where(rng.random(size) < 0.2, np.exp(0.8 * rng.normal(size=size)), 0.0)
    mean, square = 0.2 * math.exp(0.32), 0.2 * math.exp(1.28)
    return (spent - mean) / math.sqrt(square - mean**2)


# ------------------------------------------------------------------------- ways of seeing the log


def plain(sums):
    return blocks._compared(list(sums), 1, 0.0, False).stats


def flat(sums):
    return blocks._compared(list(sums), 1, math.inf, False).stats


def within(sums):
    return blocks.compare_within_blocks(*sums).stats


SEEN = {"plain": plain, "flat": flat, "blocks": within}


# ------------------------------------------------------------------------------- one experiment


def play(world, arms, way, floor, seed):
    """Return the sums per arm and day, the true effects, the truth, and the regret."""
    rng = np.random.default_rng(seed)
    K, days = world.K, world.days
    sd = np.resize(world.sds, K)
    if arms == "random":
        effect = world.spread * rng.normal(size=K)
    else:
        effect = np.zeros(K)
        effect[0] = {"equal": 0.0, "gap": 0.3}[arms]
    level, traffic = world.level(days, rng), world.traffic(days)
    sums, regret = np.zeros((5, K, days)), 0.0
    chance = np.full(K, 1 / K)
    for day in range(days):
        count = traffic[day]
        # The same rewards and uniform numbers whatever the way of choosing.
        uniform, noise = rng.random(count), noise_of(world, rng, count)
        arm = np.minimum(np.searchsorted(chance.cumsum(), uniform), K - 1)
        reward = effect[arm] + level[day] + sd[arm] * noise
        n = np.bincount(arm, minlength=K)
        mean = np.bincount(arm, reward, K) / np.maximum(n, 1)
        gap = reward - mean[arm]
        sums[:, :, day] = n, mean, *(np.bincount(arm, gap**k, K) for k in (2, 3, 4))
        regret += float((effect.max() - effect[arm]).sum())
        if day + 1 < days:
            stats = SEEN[way](sums[:, :, : day + 1])
            chance = floor + (1 - K * floor) * POLICY._belief(stats).p_best()
    truth = effect + (level * traffic).sum() / traffic.sum()
    return sums, effect, truth, regret


def report(sums, effect, truth, way):
    """What the report says at the end, and whether an arm was ruled out at one of ten looks."""
    days, out = sums.shape[2], False
    for day in np.linspace(days / LOOKS, days, LOOKS).astype(int):
        stats = SEEN[way](sums[:, :, :day])
        if not out:
            possible = Evidence(stats, Tails.of(stats).kurtosis).possible_best(ERROR)
            out = bool((~possible & ((effect < effect.max()) | (np.ptp(effect) == 0))).any())
    belief = POLICY._inference(stats)
    p_best = belief.p_best()
    low, high = belief.interval()
    half, middle = (high - low) / 2, (high + low) / 2
    first, second = np.argsort(-p_best)[:2]
    error = middle[first] - middle[second] - (effect[first] - effect[second])
    return {
        "lead": abs(error) <= math.hypot(half[first], half[second]),
        "means": ((low <= truth) & (truth <= high)).mean(),
        "sure": p_best.max() >= SURE,
        "wrong": p_best.max() >= SURE and effect[first] < effect.max(),
        "out": out,
        "width": half[first] + half[second],
    }


def study(world, floor, runs, choosing, reporting):
    """One row per way of choosing and reporting."""
    regrets, found = {}, {}
    for arms, some in (("random", runs), ("equal", runs), ("gap", runs // 2)):
        for way in choosing:
            for run in range(some):
                sums, effect, truth, regret = play(world, arms, way, floor, (run, len(arms)))
                regrets.setdefault((arms, way), []).append(regret)
                for told in reporting:
                    one = report(sums, effect, truth, told)
                    found.setdefault((arms, way, told), []).append(one)
    base = np.mean(regrets["random", choosing[0]])
    for way in choosing:
        got = np.array(regrets["random", way])
        pairs = got - np.array(regrets["random", choosing[0]])
        error = pairs.std() / math.sqrt(len(pairs)) / base
        for told in reporting:
            rate = {
                arms: {key: np.mean([one[key] for one in found[arms, way, told]]) for key in
                       ("lead", "means", "sure", "wrong", "out", "width")}
                for arms in ("random", "equal", "gap")
            }  # fmt: skip
            sure = rate["random"]["sure"]
            yield [
                world.name, f"{floor:g}", way, told, f"{got.mean():.0f}",
                f"{got.mean() / base:.2f} ± {error:.2f}",
                *(f"{100 * rate['random'][key]:.0f}" for key in ("lead", "means")),
                f"{100 * rate['random']['wrong'] / max(sure, 1e-9):.0f} of {100 * sure:.0f}",
                *(f"{100 * rate['equal'][key]:.0f}" for key in ("lead", "out", "sure")),
                f"{100 * rate['gap']['out']:.0f}",
            ]  # fmt: skip


HEADS = [
    "world", "floor", "chosen by", "reported by", "regret", "ratio", "lead", "means",
    "wrong of sure", "lead, equal arms", "ruled out", "sure", "power",
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", choices=["development", "held-out"], default="held-out")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--floors", type=float, nargs="+", default=[0.0, 0.05])
    parser.add_argument("--only", type=int, nargs="+", help="indices of worlds")
    parser.add_argument("--choose", nargs="+", choices=WAYS, default=["plain", "blocks"])
    parser.add_argument("--report", nargs="+", choices=WAYS, default=list(WAYS))
    asked = parser.parse_args()
    worlds = DEVELOPMENT if asked.worlds == "development" else HELD_OUT
    start = time.perf_counter()
    print("| " + " | ".join(HEADS) + " |")
    print("|" + "---|" * len(HEADS), flush=True)
    for index, world in enumerate(worlds):
        if asked.only is None or index in asked.only:
            for floor in asked.floors:
                for row in study(world, floor, asked.runs, asked.choose, asked.report):
                    print("| " + " | ".join(row) + " |", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

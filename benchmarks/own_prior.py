"""`python -m benchmarks.own_prior`: what a prior from the experiment's own arms gains and costs.

Prints Markdown: the regret of EB-VarTS next to that of VarTS(), on worlds that it was developed on
and on twelve that were written down before any of them was run, and how well P(best) is calibrated.

All runs of a world are played at once. Beliefs are updated every 10 to 50 decisions, for both
policies alike, after two pulls of each arm. Both meet the same arms; ± is one standard error of the
paired difference. "With a history" is VarTS with a prior from thousands of arms of the same world,
the most that a prior of this kind can gain.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from varts import ArmStats, EBVarTS, Evidence, NormalGamma, StudentT, VarTS
from varts.kurtosis import variance_weight
from varts.policies.formulas import own_prior_belief, unit_free_belief
from varts.policies.thompson import HARDLY
from varts.priors import own_kurtosis, own_numbers
from varts.stats import merged_moments

HISTORY = 300  # rewards of each past arm


@dataclass(frozen=True)
class World:
    """`draw(rng, runs, K)` returns true means (runs, K) and pay(run, arm, t, rng) -> rewards."""

    name: str
    K: int
    rounds: int
    draw: Callable


# ---------------------------------------------------------------------- how arms pay


def gaussian(spread, sds=(1.0, 1.0), noisy_best=False, level=None):
    """Means N(0, spread^2), sds uniform; `level(t)` is added to every reward, but not to regret."""

    def draw(rng, runs, K):
        mean, sd = rng.normal(0, spread, (runs, K)), rng.uniform(*sds, (runs, K))
        if noisy_best:
            mean, sd = np.sort(mean, axis=1), np.sort(sd, axis=1)

        def pay(run, arm, t, rng):
            moved = 0.0 if level is None else level(t)
            return mean[run, arm] + moved + sd[run, arm] * rng.standard_normal(run.size)

        return mean, pay

    return draw


def conversion(a, b):
    """0/1 rewards, rates from Beta(a, b)."""

    def draw(rng, runs, K):
        rate = rng.beta(a, b, (runs, K))
        return rate, lambda run, arm, t, rng: (rng.random(run.size) < rate[run, arm]) * 1.0

    return draw


def lognormal_revenue(a, b, spread, log_sd):
    """A share Beta(a, b) buys, for a lognormal amount."""

    def draw(rng, runs, K):
        rate, log_mean = rng.beta(a, b, (runs, K)), rng.normal(3, spread, (runs, K))

        def pay(run, arm, t, rng):
            amount = np.exp(log_mean[run, arm] + log_sd * rng.standard_normal(run.size))
            return (rng.random(run.size) < rate[run, arm]) * amount

        return rate * np.exp(log_mean + log_sd**2 / 2), pay

    return draw


def gamma_revenue(a, b, spread, cv):
    """A share Beta(a, b) buys, for a gamma amount around 40."""

    def draw(rng, runs, K):
        rate = rng.beta(a, b, (runs, K))
        typical = 40 * np.exp(rng.normal(0, spread, (runs, K)))

        def pay(run, arm, t, rng):
            amount = typical[run, arm] * cv**2 * rng.standard_gamma(1 / cv**2, run.size)
            return (rng.random(run.size) < rate[run, arm]) * amount

        return rate * typical, pay

    return draw


def stars(shares):
    """Ratings from 1 to 5; `shares(rng, runs, K)` are the probabilities of each."""

    def draw(rng, runs, K):
        share = shares(rng, runs, K)
        steps = share.cumsum(axis=-1)[..., :-1]

        def pay(run, arm, t, rng):
            return 1.0 + (rng.random(run.size)[:, None] > steps[run, arm]).sum(axis=-1)

        return share @ np.arange(1.0, 6.0), pay

    return draw


def bell_shares(rng, runs, K):
    """Shares of the stars like a bell around a center near 3.6."""
    center = rng.normal(3.6, 0.35, (runs, K, 1))
    share = np.exp(-0.5 * ((np.arange(1, 6) - center) / 1.1) ** 2)
    return share / share.sum(axis=-1, keepdims=True)


def dirichlet_shares(rng, runs, K):
    """Mostly 5 and 1, as in shops."""
    share = rng.standard_gamma(np.array([2.0, 1.0, 2.0, 5.0, 10.0]) * 1.5, (runs, K, 5))
    return share / share.sum(axis=-1, keepdims=True)


def exponential(spread):
    """Exponential rewards."""

    def draw(rng, runs, K):
        mean = np.exp(rng.normal(0, spread, (runs, K)))
        return mean, lambda run, arm, t, rng: mean[run, arm] * rng.standard_exponential(run.size)

    return draw


def latency(rng, runs, K):
    """Seconds, lognormal, 1 to 4 % time out at 30 s. Lower is better: rewards are mirrored."""
    log_mean, out = rng.normal(0, 0.25, (runs, K)), rng.uniform(0.01, 0.04, (runs, K))

    def pay(run, arm, t, rng):
        seconds = np.minimum(np.exp(log_mean[run, arm] + 0.7 * rng.standard_normal(run.size)), 30)
        return -np.where(rng.random(run.size) < out[run, arm], 30.0, seconds)

    return -((1 - out) * np.exp(log_mean + 0.7**2 / 2) + out * 30.0), pay


def counts(spread, dispersion):
    """Poisson counts around 2, of a gamma rate with this squared coefficient of variation."""

    def draw(rng, runs, K):
        mean = 2 * np.exp(rng.normal(0, spread, (runs, K)))

        def pay(run, arm, t, rng):
            rate = mean[run, arm]
            if dispersion:
                rate = rate * dispersion * rng.standard_gamma(1 / dispersion, run.size)
            return rng.poisson(rate).astype(float)

        return mean, pay

    return draw


def margins(rng, runs, K):
    """K prices from 20 to 60 for a product that costs 12; fewer buy at a higher price."""
    price = np.linspace(20, 60, K)
    appeal = rng.normal(35, 8, (runs, 1)) + rng.normal(0, 2, (runs, K))
    rate = 0.15 / (1 + np.exp((price - appeal) / 10))

    def pay(run, arm, t, rng):
        return (rng.random(run.size) < rate[run, arm]) * (price[arm] - 12.0)

    return rate * (price - 12.0), pay


def returning(rng, runs, K):
    """400 visitors per run come back at random; 30 % of the variance of a reward is their own."""
    mean, visitor = rng.normal(0, 0.25, (runs, K)), rng.normal(0, np.sqrt(0.3), (runs, 400))

    def pay(run, arm, t, rng):
        own = visitor[run, rng.integers(400, size=run.size)]
        return mean[run, arm] + own + np.sqrt(0.7) * rng.standard_normal(run.size)

    return mean, pay


# ---------------------------------------------------------------------- the worlds

DEVELOPMENT = [
    World("Gaussian, sd of means 0.2", 2, 2000, gaussian(0.2)),
    World("Gaussian, 0.6", 2, 1000, gaussian(0.6)),
    World("far apart, 3", 3, 1000, gaussian(3.0)),
    World("Gaussian, 0.3", 5, 2000, gaussian(0.3)),
    World("Gaussian, 0.3", 10, 2000, gaussian(0.3)),
    World("Gaussian, 0.3", 20, 2000, gaussian(0.3)),
    World("Gaussian, 0.5", 100, 1000, gaussian(0.5)),
    World("different sds", 10, 2000, gaussian(0.3, (0.3, 2.0))),
    World("noisiest arm best", 8, 2000, gaussian(0.3, (0.3, 2.0), noisy_best=True)),
    World("conversion 5 %", 4, 4000, conversion(20, 380)),
    World("conversion 5 %", 50, 5000, conversion(5, 95)),
    World("ratings", 100, 2000, stars(bell_shares)),
    World("revenue", 5, 4000, lognormal_revenue(4, 76, 0.2, 1.0)),
    World("revenue", 30, 6000, lognormal_revenue(4, 76, 0.2, 1.0)),
    World("exponential", 3, 1000, exponential(0.2)),
    World("exponential", 8, 1000, exponential(0.4)),
]

# Written down before any of them was run, and used for nothing else.
HELD_OUT = [
    World("conversion 5 %", 2, 8000, conversion(30, 570)),
    World("counts, Poisson", 2, 2000, counts(0.1, 0.0)),
    World("revenue, gamma, 8 % buy", 5, 6000, gamma_revenue(8, 92, 0.15, 1.2)),
    World("ratings, mostly 5 and 1", 5, 2000, stars(dirichlet_shares)),
    World("latency with timeouts, mirrored", 5, 4000, latency),
    World("price margins", 5, 5000, margins),
    World("a level that rises by 1 sd", 5, 4000, gaussian(0.25, level=lambda t: t / 4000)),
    World("revenue, lognormal, 3 % buy", 20, 10_000, lognormal_revenue(6, 194, 0.2, 0.8)),
    World("counts, overdispersed", 20, 3000, counts(0.2, 0.8)),
    World("returning visitors", 20, 3000, returning),
    World("conversion 5 %", 100, 10_000, conversion(3, 57)),
    World("ratings, mostly 5 and 1", 100, 3000, stars(dirichlet_shares)),
]

# ---------------------------------------------------------------------- playing


def plain_beliefs(n, mean, m2, m4):
    """`VarTS().believed` of many experiments at once."""
    total = n.sum(-1, keepdims=True)
    center = (n * mean).sum(-1, keepdims=True) / total
    spread = (m2 + n * (mean - center) ** 2).sum(-1, keepdims=True)
    return unit_free_belief(n, mean, m2, total, center, spread)


def own_beliefs(n, mean, m2, m4):
    """`EBVarTS().believed` of many experiments at once."""
    numbers = own_numbers(n, mean, m2, variance_weight(own_kurtosis(n, m2, m4)))
    return own_prior_belief(n, mean, m2, *(x[..., None] for x in numbers), 1.0)


def fitted_beliefs(world, seed):
    """Beliefs of VarTS with a prior from a long history of the same world: what can be gained."""
    rng = np.random.default_rng([seed, 3])
    runs = max(20, 4000 // world.K)
    _, pay = world.draw(rng, runs, world.K)
    run, arm = (x.ravel() for x in np.indices((runs, world.K)))
    stats = np.zeros((5, run.size))
    for t in range(HISTORY):
        stats = np.array(merged_moments(*stats, 1.0, pay(run, arm, t, rng), 0.0, 0.0, 0.0))
    n, mean, m2, _, m4 = stats
    prior = own_numbers(n, mean, m2, variance_weight(own_kurtosis(n, m2, m4)))
    return lambda n, mean, m2, m4: own_prior_belief(n, mean, m2, *prior, 1.0)


def play(world, believe, runs, seed):
    """Return the regret of every run."""
    K, rounds = world.K, world.rounds
    batch = int(min(50, max(10, rounds // 100)))
    mean, pay = world.draw(np.random.default_rng([seed, 1]), runs, K)
    rng = np.random.default_rng([seed, 2])
    stats, run = np.zeros((5, runs, K)), np.arange(runs)
    best, regret = mean.max(axis=1), np.zeros(runs)

    def pull(arm, t):
        before = stats[:, run, arm]
        reward = pay(run, arm, t, rng)
        stats[:, run, arm] = merged_moments(*before, 1.0, reward, 0.0, 0.0, 0.0)
        regret[:] += best - mean[run, arm]

    for t in range(2 * K):
        pull(np.full(runs, t % K), t)
    t = 2 * K
    while t < rounds:
        size = min(batch, rounds - t)
        loc, scale, df = believe(stats[0], stats[1], stats[2], stats[4])
        z = rng.standard_normal((size, runs, K), dtype=np.float32)
        half = np.broadcast_to(df / 2, z.shape).astype(np.float32)
        g = np.maximum(rng.standard_gamma(half, dtype=np.float32), 1e-30) / half
        for arm in (loc + scale * z / np.sqrt(g)).argmax(axis=-1):
            pull(arm, t)
            t += 1
    return regret


def runs_of(world, share):
    """Enough for a standard error of 1 or 2 %."""
    return int(share * (4000 if world.K <= 5 else 1000 if world.K <= 30 else 200))


def check_beliefs():
    """The beliefs that are played here, many at once, are those of the package."""
    rng = np.random.default_rng(0)
    known = [ArmStats.from_rewards(rng.exponential(size=(4, 9))) for _ in range(3)]
    rows = [np.array([getattr(one, x) for one in known]) for x in ("n", "mean", "m2", "m4")]
    for believe, policy in ((own_beliefs, EBVarTS()), (plain_beliefs, VarTS())):
        for i, one in enumerate(known):
            belief = policy._belief(one)
            for x, y in zip(believe(*rows), (belief.loc, belief.scale, belief.df), strict=True):
                np.testing.assert_allclose(x[i], y, rtol=1e-12)


def print_regret(title, worlds, share, seed):
    """A table of both policies' regret."""
    print(f"### {title}\n")
    heads = ("world", "K", "rounds", "runs", "VarTS()", "EB-VarTS", "difference", "1 in 20 above")
    print("|", " | ".join((*heads, "with a history")), "|")
    print("|---|---|---|---|---|---|---|---|---|")
    for world in worlds:
        runs = runs_of(world, share)
        with np.errstate(all="ignore"):  # arms whose rewards are all equal
            plain = play(world, plain_beliefs, runs, seed)
            own = play(world, own_beliefs, runs, seed)
            most = play(world, fitted_beliefs(world, seed), runs, seed).mean() / plain.mean() - 1
        error = (own - plain).std() / np.sqrt(runs) / plain.mean()
        worst = np.quantile(own, 0.95) / np.quantile(plain, 0.95) - 1
        print(
            f"| {world.name} | {world.K} | {world.rounds:,} | {runs:,} | {plain.mean():.4g} "
            f"| {own.mean():.4g} | {own.mean() / plain.mean() - 1:+.1%} ± {error:.1%} "
            f"| {worst:+.0%} | {most:+.0%} |",
            flush=True,
        )
    print()


# ---------------------------------------------------------------------- calibration of P(best)

DAYS, PER_DAY, LEVEL = 40, 200, 0.95
RULES = {
    "first P(best) >= .95": (0.95, 1),
    ".95 at 3 looks in a row": (0.95, 3),
    ".95 at 7 looks in a row": (0.95, 7),
    "first P(best) >= .99": (0.99, 1),
    ".99 at 3 looks in a row": (0.99, 3),
}


def daily_looks(world, believe, runs, seed):
    """True means, and P(best) of every arm (days, runs, K) with statistics, updated once a day."""
    mean, pay = world.draw(np.random.default_rng([seed, 1]), runs, world.K)
    rng, run = np.random.default_rng([seed, 2]), np.arange(runs)
    stats, looks, kept = np.zeros((5, runs, world.K)), [], []
    draws = np.zeros((PER_DAY, runs), np.int64) + np.arange(PER_DAY)[:, None] % world.K
    for _ in range(DAYS):
        for arm in draws:
            before = stats[:, run, arm]
            reward = pay(run, arm, 0, rng)
            stats[:, run, arm] = merged_moments(*before, 1.0, reward, 0.0, 0.0, 0.0)
        belief = StudentT(*believe(stats[0], stats[1], stats[2], stats[4]))
        looks.append(belief.p_best())
        kept.append(stats.copy())
        draws = belief.sample(rng, PER_DAY).argmax(axis=-1)
    return mean, np.array(looks), np.array(kept)


def first_stops(looks, level, held):
    """For runs in which one arm had P(best) >= level at `held` looks in a row: run, day, arm."""
    streak, out = np.zeros(looks.shape[1:], np.int64), []
    waiting = np.ones(looks.shape[1], bool)
    for day, p in enumerate(looks):
        streak = np.where(p >= level, streak + 1, 0)
        for run in np.flatnonzero(waiting & (streak >= held).any(axis=1)):
            out.append((run, day, int(streak[run].argmax())))
            waiting[run] = False
    return np.array(out, np.int64).reshape(-1, 3)


def anytime_stops(looks, kept):
    """The same for runs in which all other arms are ruled out at the anytime level of 5 %."""
    out, waiting = [], np.ones(looks.shape[1], bool)
    for day in range(4, len(looks), 5):
        for run in np.flatnonzero(waiting & (looks[day].max(axis=1) >= LEVEL)):
            n, mean, m2 = kept[day, :3, run]
            possible = np.flatnonzero(Evidence(ArmStats(n, mean, m2)).possible_best())
            if possible.size == 1:
                out.append((run, day, possible[0]))
                waiting[run] = False
    return np.array(out, np.int64).reshape(-1, 3)


def sceptical_p_best(kept, run, day, arm):
    """P(best) of the arm stopped at, by the beliefs of `EBVarTS.sceptical` for Gaussian rewards."""
    n, mean, m2, _, m4 = kept[day, :, run].transpose(1, 0, 2)
    mu, kappa, alpha, beta = own_numbers(n, mean, m2, variance_weight(own_kurtosis(n, m2, m4)))
    numbers = mu, np.maximum(kappa, HARDLY**-2), alpha, beta
    belief = StudentT(*own_prior_belief(n, mean, m2, *(x[..., None] for x in numbers), 1.0))
    return belief.p_best()[np.arange(run.size), arm]


def print_stops(share, seed=26):
    """How often the arm that a rule stops at is the best one."""
    print("### When a stop rule fires: printed P(best) and how often it was right\n")
    print(f"Gaussian rewards, {DAYS} daily looks, {PER_DAY} decisions a day.\n")
    print("| K | sd of means | policy | rule | fires | median day | printed | sceptical | right |")
    print("|---|---|---|---|---|---|---|---|---|")
    for K, spread in STOPPING:
        world, runs = World("", K, 0, gaussian(spread)), int(400 * share)
        kinds = {
            "VarTS()": plain_beliefs,
            "EB-VarTS": own_beliefs,
            "fitted prior": fitted_beliefs(world, seed),
        }
        for label, believe in kinds.items():
            mean, looks, kept = daily_looks(world, believe, runs, seed)
            stops = {rule: first_stops(looks, *how) for rule, how in RULES.items()}
            stops["anytime, every 5th day"] = anytime_stops(looks, kept)
            for rule, found in stops.items():
                run, day, arm = found.T
                if run.size < 10:
                    print(f"| {K} | {spread} | {label} | {rule} | {run.size / runs:.0%} | | | | |")
                    continue
                printed = looks[day, run, arm].mean()
                doubt = sceptical_p_best(kept, run, day, arm).mean()
                right = (mean[run].argmax(axis=1) == arm).mean()
                error = np.sqrt(right * (1 - right) / run.size)
                print(
                    f"| {K} | {spread} | {label} | {rule} | {run.size / runs:.0%} "
                    f"| {np.median(day) + 1:.0f} | {printed:.2f} | {doubt:.2f} "
                    f"| {right:.2f} ± {error:.2f} |",
                    flush=True,
                )
    print()


STOPPING = [(4, 0.03), (4, 0.1), (4, 0.3), (2, 0.03), (2, 0.1), (10, 0.03), (10, 0.1)]


def print_new_arm(share, seed=26):
    """A new arm after its first two visitors."""
    print("### A new arm next to 6,000 visitors, after its first two visitors\n")
    print("0/1 rewards, rates from Beta(25, 475), three arms of 2,000 visitors each.\n")
    print("| of two visitors | policy | printed P(best) | true |")
    print("|---|---|---|---|")
    rng, runs = np.random.default_rng([seed, 4]), 40_000
    rate = rng.beta(25, 475, (runs, 4))
    sales = rng.binomial([2000, 2000, 2000, 2], rate)
    visitors = np.array([2000.0, 2000.0, 2000.0, 2.0])
    prior = NormalGamma.elicit(mean=0.05, mean_sd=0.0097, reward_sd=0.218, worth=40)
    policies = {"VarTS()": VarTS(), "EB-VarTS": EBVarTS(), "fitted prior": VarTS(prior)}
    for sold in (0, 1):
        rows = np.flatnonzero(sales[:, 3] == sold)
        true = (rate[rows].argmax(axis=1) == 3).mean()
        for label, policy in policies.items():
            printed = [
                policy._inference(zero_one(visitors, sales[row])).p_best()[3]
                for row in rows[: int(300 * share)]
            ]
            print(f"| {sold} bought | {label} | {np.mean(printed):.2f} | {true:.2f} |", flush=True)
    print()


def zero_one(n, ones):
    """The statistics of 0/1 rewards."""
    p = ones / n
    q = 1 - p
    return ArmStats(n, p, n * p * q, n * p * q * (q - p), n * p * q * (q**3 + p**3))


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=["development", "held-out", "calibration"])
    parser.add_argument("--world", default="", help="only worlds with this in their names")
    parser.add_argument("--arms", type=int, help="only worlds with this number of arms")
    parser.add_argument("--share", type=float, default=1.0, help="of the runs")
    asked = parser.parse_args()
    start = time.time()
    check_beliefs()
    tried, judged = (
        [w for w in worlds if asked.world in w.name and asked.arms in (None, w.K)]
        for worlds in (DEVELOPMENT, HELD_OUT)
    )
    if asked.only in (None, "development"):
        print_regret("Development worlds", tried, asked.share, seed=0)
    if asked.only in (None, "held-out"):
        print_regret("Held-out worlds", judged, asked.share, seed=26)
    if asked.only in (None, "calibration"):
        print_stops(asked.share)
        print_new_arm(asked.share)
    print(f"{time.time() - start:.0f} s")


if __name__ == "__main__":
    main()

"""`python -m benchmarks.closed_loop`: do experiments end and cost as their plans said?

Each case is planned once, as a user would. Then the live code runs it many times: the player of
`tests.worlds`, which is tested to decide and report exactly as an experiment in a store does. Arms
are drawn from the same prior by other code, visitors return or don't, and rewards count when their
window closes. A plan is right if the day of the stop and what was given up until then fall inside
its 90 % ranges in about 90 % of the experiments; less than 85 % is a failure.

`HELD_OUT` was written before any of these cases was run, and is used for nothing else. The last
case is a negative control: its plan leaves the window out, and must be wrong.

Writes a table into docs/planning.md.
"""

import argparse
import time
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

import varts
from benchmarks.report import put, table
from tests.worlds.live_player import play
from tests.worlds.shops import Gaussian, Ones, Users, World
from varts.simulation.engine.work import draw_arms

PAGE = "planning.md"
STEPS = 8  # batches of decisions per day


@dataclass(frozen=True)
class Case:
    """A plan and the experiments that follow it.

    Args:
        name: What is special about it.
        plan: The arguments of `varts.plan_experiment`.
        draw: (rng) -> means and sds of the arms; sds are None for rewards of 0 and 1.
        users: The visitors of the live world who return.
        forget: Arguments that are left out of the plan, to show that it is then wrong.
    """

    name: str
    plan: dict
    draw: object
    users: Users | None = None
    forget: tuple[str, ...] = field(default=())


def from_prior(prior, K):
    """Draw means and sds as the prior says, with NumPy alone."""

    def draw(rng):
        lam = rng.gamma(prior.alpha, 1 / prior.beta, K)
        return prior.mu + rng.standard_normal(K) / np.sqrt(prior.kappa * lam), 1 / np.sqrt(lam)

    return draw


def rates(mean, sd, K):
    """Draw conversion rates from a Beta distribution."""
    total = mean * (1 - mean) / sd**2 - 1
    return lambda rng: (rng.beta(mean * total, (1 - mean) * total, K), None)


ORDERS = varts.NormalGamma.elicit(mean=30, mean_sd=1.5, reward_sd=12, worth=30)
TIMES = varts.NormalGamma.elicit(mean=2.0, mean_sd=0.1, reward_sd=0.8, worth=50)

DEVELOPMENT = [
    Case(
        "orders, two arms, a prior",
        {"prior": ORDERS, "arms": 2, "traffic": "200/day", "days": 21, "window": "2d",
         "floor": 0.05, "stop_p_best": 0.95},
        from_prior(ORDERS, 2),
    ),
]  # fmt: skip

HELD_OUT = [
    Case(
        "a prior, 4 arms, window of 3 days",
        {"prior": TIMES, "arms": 4, "traffic": "250/day", "days": 21, "window": "3d",
         "floor": 0.05, "stop_loss": 0.005},
        from_prior(TIMES, 4),
    ),
    Case(
        "no prior, conversion, 3 arms, window of 7 days, a holdout",
        {"arms": 3, "traffic": "300/day", "days": 28, "window": "7d", "floor": 0.03,
         "holdout": 0.1, "rate": 0.1, "mean_sd": 0.025, "stop_p_best": 0.95, "stop_loss": 0.0005},
        rates(0.1, 0.025, 3),
    ),
    Case(
        "a prior, 3 arms, visitors return 6 times",
        {"prior": TIMES, "arms": 3, "traffic": "200/day", "days": 21, "window": "2d",
         "floor": 0.1, "stop_loss": 0.01, "returning": 6.0, "correlation": 0.3},
        from_prior(TIMES, 3),
        Users(200 * 21 // 6, "even", share=0.3),
    ),
    Case(
        "the same with sticky visitors",
        {"prior": TIMES, "arms": 3, "traffic": "200/day", "days": 21, "window": "2d",
         "floor": 0.1, "stop_loss": 0.01, "returning": 6.0, "correlation": 0.3, "sticky": True},
        from_prior(TIMES, 3),
        Users(200 * 21 // 6, "even", share=0.3),
    ),
    Case(
        "no prior, conversion, 6 arms",
        {"arms": 6, "traffic": "300/day", "days": 21, "window": "1d", "floor": 0.02,
         "rate": 0.2, "mean_sd": 0.05, "stop_p_best": 0.9, "stop_loss": 0.002},
        rates(0.2, 0.05, 6),
    ),
]  # fmt: skip
CONTROL = replace(
    HELD_OUT[1],
    name="negative control: the second case, planned without its window",
    forget=("window",),
)


KEPT = ("prior", "floor", "holdout", "sticky")


def live(case, run, limit):
    """One live experiment: the day on which its stop rule is met, and the share given up."""
    plan = case.plan
    means, sds = case.draw(np.random.default_rng([run, 77]))
    options = {name: plan[name] for name in plan if name.startswith("stop_") or name in KEPT}
    world = World(
        case.name,
        "plan",
        tuple(means),
        Ones() if sds is None else Gaussian(tuple(sds)),
        days=limit,
        per_day=int(plan["traffic"].split("/")[0]),
        steps=STEPS,
        users=case.users,
        options={**options, "window": float(plan["window"].rstrip("d"))},
        looks=tuple(range(1, limit + 1)),
    )
    played = play(world, 1000 + run, captured=1.0, until_stop=True)
    last = played.looks[-1]
    day = last.day if last.report.stop else np.inf
    return day, played.regret / (last.decided * means.max())


def check(case, runs, plan_runs):
    """The plan's ranges, and the shares of the live experiments inside them."""
    began = time.perf_counter()
    given = {name: value for name, value in case.plan.items() if name not in case.forget}
    plan = varts.plan_experiment(**given, runs=plan_runs, seed=1, threads=1, progress=False)
    ranges = {of: (plan.quantile(0.05, of), plan.quantile(0.95, of)) for of in ("day", "given_up")}
    planned = time.perf_counter() - began
    found = np.array([live(case, run, plan.limit) for run in range(runs)])
    inside = [
        (low <= values) & (values <= high)
        for (low, high), values in zip(ranges.values(), found.T, strict=True)
    ]
    seconds = time.perf_counter() - began - planned
    print(f"{case.name}: plan {planned:.0f} s, live {seconds:.0f} s", flush=True)
    middle = [
        np.median(found[:, 0]),
        plan.quantile(0.5),
        found[:, 1].mean(),
        plan.table["given_up"][0],
    ]
    return ranges, [each.mean() for each in inside], middle


def row(case, ranges, inside, middle):
    """A row of the table."""

    def day(value):
        return "later" if np.isinf(value) else f"{value:.0f}"

    (low, high), (least, most) = ranges["day"], ranges["given_up"]
    return [
        case.name, f"{day(middle[1])} [{day(low)}, {day(high)}]", day(middle[0]),
        f"{inside[0]:.0%}", f"{middle[3]:.1%} [{least:.1%}, {most:.1%}]", f"{middle[2]:.1%}",
        f"{inside[1]:.0%}",
    ]  # fmt: skip


# ------------------------------------------------------------------- what a prior leaves open

PAST, PAST_ARMS, PAST_REWARDS = 5, 4, 1500  # experiments, arms of each, rewards of each arm
TRUTHS = {
    "arms differ little": varts.NormalGamma(20.0, 80.0, 6.0, 300.0),
    "arms differ a lot": varts.NormalGamma(5.0, 15.0, 3.0, 8.0),
}


def past_experiments(truth, rng):
    """A history of a few experiments whose arms come from this prior."""
    size = PAST * PAST_ARMS
    lam = rng.gamma(truth.alpha, 1 / truth.beta, size)
    mean = truth.mu + rng.standard_normal(size) / np.sqrt(truth.kappa * lam)
    return pl.DataFrame(
        {
            "experiment": np.arange(size) // PAST_ARMS,
            "arm": np.arange(size) % PAST_ARMS,
            "n": PAST_REWARDS,
            "mean": mean + rng.standard_normal(size) / np.sqrt(PAST_REWARDS * lam),
            "m2": rng.chisquare(PAST_REWARDS - 1, size) / lam,
        }
    )


def regrets(truth, policy, horizon, runs, seed):
    """What a policy gives up under the true prior, as a share of what the best arm earns."""
    problem = varts.GaussianBandit(truth, PAST_ARMS)
    study = varts.simulate(problem, {"it": policy}, horizon, runs, seed, threads=1, progress=False)
    best = draw_arms(problem, seed, 0, runs)[0].max(axis=1)
    return study.final["it"] / (horizon * best)


def prior_coverage(name, repetitions):
    """How often the intervals contain the truth if the prior is fitted to five experiments."""
    truth, hits = TRUTHS[name], []
    for repetition in range(repetitions):
        rng = np.random.default_rng([500 + repetition, 11])
        fitted = varts.fit_prior(past_experiments(truth, rng), held_out=False, progress=False)
        given = {"arms": PAST_ARMS, "traffic": "200/day", "days": 10, "runs": 240,
                 "threads": 1, "progress": False, "seed": repetition}  # fmt: skip
        true = regrets(truth, varts.VarTS(fitted.prior), 2000, 4000, 10_000 + repetition)
        one = []
        for prior in (fitted, fitted.prior):  # with the history behind it, and as if it were exact
            plan = varts.plan_experiment(prior, **given)
            row = plan.table.row(0, named=True)
            if prior is fitted:
                low, high = row["given_up_low"], row["given_up_high"]
            else:  # the interval of the simulation's error alone
                share = plan.main.given_up / plan.main.best
                half = 1.96 * share.std() / np.sqrt(share.size)
                low, high = row["given_up"] - half, row["given_up"] + half
            least, most = (plan.quantile(q, "given_up") for q in (0.05, 0.95))
            one += [low <= true.mean() <= high, np.mean((least <= true) & (true <= most))]
        hits.append(one)
    return [name, *(f"{share:.0%}" for share in np.mean(hits, axis=0))]


PRIOR_HEADS = ["world", "average: 95 % interval covers", "single: 90 % range covers",
               "average, prior taken as exact", "single, prior taken as exact"]  # fmt: skip
HEADS = ["case", "days: plan", "live", "inside", "given up: plan", "live", "inside"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=200, help="live experiments per case")
    parser.add_argument("--plan-runs", type=int, default=400, help="simulated ones per plan")
    parser.add_argument("--development", action="store_true", help="not the held-out cases")
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--priors", type=int, default=0, help="repetitions with a fitted prior")
    arguments = parser.parse_args()
    if arguments.priors:
        rows = [prior_coverage(name, arguments.priors) for name in TRUTHS]
        print(table(PRIOR_HEADS, rows))
        put("uncertain priors", table(PRIOR_HEADS, rows), PAGE)
        return
    cases = DEVELOPMENT if arguments.development else [*HELD_OUT, CONTROL]
    if arguments.case is not None:
        cases = cases[arguments.case : arguments.case + 1]
    rows = []
    for case in cases:
        rows.append(row(case, *check(case, arguments.runs, arguments.plan_runs)))
        print(*rows[-1], sep=" | ", flush=True)
    if not arguments.development and arguments.case is None:
        put("closed loop", table(HEADS, rows), PAGE)


if __name__ == "__main__":
    main()

"""`make bench NAME=linear`: policies with features compared, and their time beside C and a peer.

Writes the sections of docs/context-results.md; `--speed` writes only the times.
"""

import argparse
import sys

import numpy as np

import varts
from benchmarks import ours, report
from benchmarks.environments import BUILD, Peer, PeerError, version_of
from benchmarks.peers import CONTEXTUAL_PEERS
from benchmarks.timing import in_turns, ratio, seconds
from tests.c_players.compiled import linear_player
from varts.simulation.engine.work import Work
from varts.simulation.results import recorded_rounds

PAGE = "context-results.md"
HORIZON, RUNS, K = 5000, 200, 10
SPEED_HORIZON, SPEED_RUNS, SPEED_D = 2000, 60, 10
PEER_SECONDS = 1.0


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


# -------------------------------------------------------------------------------------- regret


def in_unit(size):
    """The linear problem with rewards of another unit."""
    prior = varts.LinearNormalGamma(0.0, 1.0, 2.0, size**2, np.zeros(5), np.eye(5))
    return varts.LinearBandit(prior, K)


WORLDS = {
    "linear, d = 5": varts.LinearBandit(K=K, d=5),
    "linear, d = 20": varts.LinearBandit(K=K, d=20),
    "quadratic effects, d = 5": varts.LinearBandit(K=K, d=5, effect="quadratic"),
    "thresholds, d = 5": varts.LinearBandit(K=K, d=5, effect="threshold"),
    "noise that depends on x, d = 5": varts.LinearBandit(K=K, d=5, noise="fan"),
    "rewards ten times as large, d = 5": in_unit(10.0),
    "rewards a tenth as large, d = 5": in_unit(0.1),
    "wheel, delta = 0.5": varts.Wheel(0.5),
    "wheel, delta = 0.95": varts.Wheel(0.95),
}


def policies(problem):
    """Those with the problem's prior, those of the textbook, and those that know nothing.

    The textbook's prior of level and slopes is the true one of these problems.
    """
    ridge = varts.LinearNormalGamma.ridge(problem.d)
    known = getattr(problem, "prior", None)
    informed = {} if known is None else {
        "LinearVarTS, true prior": varts.LinearVarTS(known),
        "Linear-Bayes-UCB, true prior": varts.LinearBayesUCB(known),
        "Linear-Greedy, true prior": varts.LinearGreedy(known),
    }  # fmt: skip
    return {
        **informed,
        "LinearVarTS, no prior": varts.LinearVarTS(),
        "LinearTS, ridge, sigma 1": varts.LinearTS(ridge),
        "LinUCB, ridge": varts.LinUCB(ridge),
        "Linear-Greedy, no prior": varts.LinearGreedy(),
        "VarTS, no features": varts.VarTS(),
    }


def compare(name, problem, runs, threads):
    """A table of one world: regret, and the paired difference to the first policy."""
    say(name)
    rivals = policies(problem)
    study = varts.simulate(problem, rivals, HORIZON, runs, threads=threads, progress=False)
    first = study.labels[0]
    rows = []
    for row in study.summary(against=first).iter_rows(named=True):
        low, high = row["difference_low"], row["difference_high"]
        gap = "" if row["policy"] == first else f"{low:+,.0f} to {high:+,.0f}"
        cells = f"{row['regret']:,.0f} ± {row['regret_high'] - row['regret']:,.0f}"
        rows.append([row["policy"], cells, f"{row['best_share']:.1%}", gap])
    heads = [name, "regret", "best arm for x", f"minus {first}, 95 %"]
    return report.table(heads, rows)


def regrets(runs, threads):
    """The tables of all worlds."""
    said = f"{runs} runs of {HORIZON:,} rounds, K = {K} (the wheel has 5 arms)."
    tables = [compare(name, problem, runs, threads) for name, problem in WORLDS.items()]
    return "\n\n".join([said, *tables])


# --------------------------------------------------------------------------------------- speed


def engine(problem, policy, naive=False):
    """Regret per run, by one thread."""
    rounds = recorded_rounds(SPEED_HORIZON)
    work = Work(problem, {"it": policy}, SPEED_HORIZON, SPEED_RUNS, 0, rounds, naive=naive)
    return work.play_blocks(0, work.blocks).policies["it"].final


def beside_c(turns):
    """ns per round of LinearVarTS by varts, by varts without leaving out arms, and by C."""
    say(f"LinearVarTS, K = {K}, d = {SPEED_D}: the engine, without skipping, and C in turns")
    problem, c = varts.LinearBandit(K=K, d=SPEED_D), linear_player(BUILD)
    policy = varts.LinearVarTS(problem.prior)
    case = problem, policy
    actions = {
        "varts": lambda: ours.engine(case, SPEED_HORIZON, SPEED_RUNS),
        "varts, every width computed": lambda: engine(problem, policy, naive=True),
        "varts, no prior": lambda: engine(problem, varts.LinearVarTS()),
    }
    if c is not None:
        size = K, SPEED_D, SPEED_HORIZON, SPEED_RUNS
        actions["C, Cholesky per arm"] = lambda: c(problem.prior, *size, 1)
    times, share = in_turns(actions, turns), SPEED_RUNS * SPEED_HORIZON
    rows = [
        [name, report.short(min(took) / share * 1e9), f"{ratio(times['varts'], took):.2f}"]
        for name, took in times.items()
    ]
    parts = [report.table(["", "ns per round", "time of varts / time of it"], rows)]
    if c is not None:
        found = engine(problem, policy), c(problem.prior, *size, 2)
        errors = [each.std(ddof=1) / np.sqrt(each.size) for each in found]
        apart = abs(found[0].mean() - found[1].mean()) / np.hypot(*errors)
        parts.append(f"The mean regrets of varts and C are {apart:.1f} standard errors apart.")
    return "\n\n".join(parts)


def beside_peers(turns):
    """Packages with a posterior of unknown noise variance, each driven in every way it has."""
    problem = varts.LinearBandit(K=K, d=SPEED_D)
    case = problem, varts.LinearVarTS(problem.prior)
    rows = []

    def round_of_varts():
        took = seconds(lambda: ours.engine(case, SPEED_HORIZON, SPEED_RUNS))
        return took / SPEED_RUNS / SPEED_HORIZON

    for package, ways in CONTEXTUAL_PEERS.items():
        for policy, how in ways:
            say(f"{package}, {how}")
            peer = None
            try:
                name = f"{package} {version_of(package)}"
                peer = Peer(package, policy, how, K, PEER_SECONDS)
                actions = {"peer": lambda peer=peer: peer() / 1e9, "varts": round_of_varts}
                times = in_turns(actions, turns)
            except PeerError as error:
                rows.append([f"{package}, {how}", str(error), ""])
                continue
            finally:
                if peer is not None:
                    peer.close()
            faster = ratio(times["peer"], times["varts"])
            cells = report.short(min(times["peer"]) * 1e9), report.short(faster)
            rows.append([f"{name}, {how}", *cells])
    return report.table(["", "ns per round", "varts is so many times faster"], rows)


def speed(turns, with_peers):
    said = f"One thread, K = {K}, d = {SPEED_D}, {SPEED_RUNS} runs of {SPEED_HORIZON:,} rounds."
    parts = [said, beside_c(turns)]
    return "\n\n".join([*parts, beside_peers(max(1, turns // 2))] if with_peers else parts)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=7, help="repeats of what is timed")
    options.add_argument("--runs", type=int, default=RUNS, help="runs of what is compared")
    options.add_argument("--threads", type=int, help="threads of what is compared")
    options.add_argument("--no-peers", action="store_true", help="only what needs no network")
    options.add_argument("--speed", action="store_true", help="only the times")
    options.add_argument("--regret", action="store_true", help="only the regrets")
    options = options.parse_args()
    if not options.speed:
        text = regrets(options.runs, options.threads)
        report.put("context-regret", text, PAGE)
        print(text)
    if not options.regret:
        text = speed(options.turns, not options.no_peers)
        report.put("context-speed", text, PAGE)
        print(text)


if __name__ == "__main__":
    main()

"""`make bench NAME=speed`: measure everything, write results.json and docs/benchmarks.md."""

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

from benchmarks import numpy_batch, ours, report
from benchmarks.environments import BUILD, Peer, PeerError, version_of
from benchmarks.ours import HORIZON
from benchmarks.peers import PEERS
from benchmarks.timing import in_turns, ratio, seconds
from tests.c_players import compiled
from varts.problems import GaussianBandit

HERE = Path(__file__).parent
RUNS = {10: 600, 32: 300, 1000: 32}
PEER_SECONDS = 0.5  # a measurement of a peer
THREADS_RUNS_FACTOR = 8  # more runs where threads are compared: starting and ending weigh little


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def side_by_side(K, runs, turns, expert, plain):
    """VarTS by the engine and by four other ways, in turns; times are per round of a run."""
    say(f"VarTS, K = {K}: the engine, C, the naive sampler and NumPy in turns")
    case, prior = ours.varts_case(K), GaussianBandit(K=K).prior
    actions = {
        "varts, 1 thread": lambda: ours.engine(case, HORIZON, runs, 1),
        "expert C, 1 thread": lambda: expert(prior, HORIZON, runs, 1),
        "plain C, 1 thread": lambda: plain(prior, HORIZON, runs, 1),
        "varts, 2 threads": lambda: ours.engine(case, HORIZON, runs, 2),
        "expert C, 2 threads": lambda: expert(prior, HORIZON, runs, 1, 2),
        "naive sampler, 1 thread": lambda: ours.naive(case, HORIZON, runs),
        "NumPy over runs": lambda: numpy_batch.play(prior, HORIZON, runs, 1),
    }
    if expert is None:
        actions = {name: action for name, action in actions.items() if " C," not in name}
    times = in_turns(actions, turns)
    one = times["varts, 1 thread"]
    return {
        name: {"ns": min(took) / runs / HORIZON * 1e9, "varts / this": ratio(one, took)}
        for name, took in times.items()
    }


def speed_up(K, runs, turns, expert):
    """How much two threads gain, for the engine and for C."""
    say(f"VarTS, K = {K}: two threads")
    case, prior = ours.varts_case(K), GaussianBandit(K=K).prior
    times = in_turns(
        {
            "varts 1": lambda: ours.engine(case, HORIZON, runs, 1),
            "varts 2": lambda: ours.engine(case, HORIZON, runs, 2),
            "expert C 1": lambda: expert(prior, HORIZON, runs, 1),
            "expert C 2": lambda: expert(prior, HORIZON, runs, 1, 2),
        },
        turns,
    )
    return {name: ratio(times[f"{name} 1"], times[f"{name} 2"]) for name in ("varts", "expert C")}


def agreement(K, runs, expert, plain):
    """Mean regret by every way, and how many standard errors it is from the engine's."""
    say(f"VarTS, K = {K}: do they agree?")
    case, prior = ours.varts_case(K), GaussianBandit(K=K).prior
    finals = {
        "varts": ours.engine(case, HORIZON, 4 * runs, 2, seed=1),
        "naive sampler": ours.naive(case, HORIZON, runs, seed=2),
        "NumPy over runs": numpy_batch.play(prior, HORIZON, runs, 3),
    }
    if expert is not None:
        finals["expert C"] = expert(prior, HORIZON, 2 * runs, 4, 2)
        finals["plain C"] = plain(prior, HORIZON, 2 * runs, 5, 2)

    def summary(final):
        return final.mean(), final.std(ddof=1) / np.sqrt(final.size)

    centre, error = summary(finals["varts"])
    return {
        name: {"regret": mean, "se": se, "apart": abs(mean - centre) / np.hypot(se, error)}
        for name, (mean, se) in ((name, summary(final)) for name, final in finals.items())
    }


def one_peer(package, policy, how, K, turns):
    """A peer and the engine in turns, on the same problem."""
    case = ours.varts_case(K) if policy == "VarTS" else ours.SHARED[policy]
    runs = RUNS[K]
    row = {"package": package, "policy": policy, "how": how, "K": K}
    peer = None
    try:
        row["version"] = version_of(package)
        peer = Peer(package, policy, how, K, PEER_SECONDS)
        times = in_turns(
            {
                "peer": lambda: peer() / 1e9,
                "varts": lambda: seconds(lambda: ours.engine(case, HORIZON, runs)) / runs / HORIZON,
            },
            turns,
        )
    except PeerError as error:
        return {**row, "error": str(error)}
    finally:
        if peer is not None:
            peer.close()
    least = {name: min(took) * 1e9 for name, took in times.items()}
    faster = ratio(times["peer"], times["varts"])
    return {**row, "ns": least["peer"], "varts ns": least["varts"], "times faster": faster}


def all_peers(turns):
    rows = []
    for package, cases in PEERS.items():
        say(f"{package} and the engine in turns")
        for policy, how in cases:
            for K in RUNS if policy == "VarTS" else (10,):
                rows.append(one_peer(package, policy, how, K, turns))
    return rows


def earlier_peers():
    """What was measured of peers the last time, and when."""
    earlier = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    return earlier["peers"], earlier.get("peers when", earlier["machine"]["when"])


def growth(turns, expert):
    """ns per round of one thread as arms and horizon grow, where C takes not too long."""
    say("growth with arms and horizon")
    arms, horizons = (2, 4, 10, 32, 100, 316, 1000, 3162), (100, 1000, 10_000, 100_000, 1_000_000)

    def at(K, horizon):
        case, prior = ours.varts_case(K), GaussianBandit(K=K).prior
        runs = max(8, int(4e8 / (K + 100) / horizon))  # the fixed cost of a call weighs little
        ways = {"varts": lambda: ours.engine(case, horizon, runs)}
        if expert is not None and arms[-1] > K and horizon < horizons[-1]:
            ways["expert C"] = lambda: expert(prior, horizon, runs, 1)
        times = in_turns(ways, turns)
        found = {name: min(took) / runs / horizon * 1e9 for name, took in times.items()}
        if len(ways) == 2:
            found["varts / expert C"] = ratio(times["varts"], times["expert C"])
        return found

    return {
        "arms": {K: at(K, HORIZON) for K in arms},
        "horizon": {horizon: at(10, horizon) for horizon in horizons},
    }


def targets(found):
    """What was aimed at: text, the limit as a test, and what was measured."""
    rows = []

    def aim(text, value, limit, at_most):
        if value is not None:
            met = value <= limit if at_most else value >= limit
            rows.append({"target": text, "limit": limit, "measured": value, "met": bool(met)})

    by_arms = found["per round"]
    for K, limit in ((10, 0.40), (32, 0.24), (1000, 0.05)):
        share = by_arms[K].get("expert C, 1 thread", {}).get("varts / this")
        aim(f"K = {K}: time of varts / time of expert C, at most", share, limit, True)
    few, brief = (found["growth"][kind] for kind in ("arms", "horizon"))
    for text, times in (("K = 2", few[2]), ("K = 4", few[4]), ("K = 10, 100 rounds", brief[100])):
        share = times.get("varts / expert C")
        aim(f"{text}: time of varts / time of expert C, at most", share, 1, True)
    faster = 1 / by_arms[10]["NumPy over runs"]["varts / this"]
    aim("K = 10: times faster than NumPy, at least", faster, 5, False)
    for K, gain in found["two threads"].items():
        share = gain["varts"] / gain["expert C"]
        aim(f"K = {K}: speed-up by two threads / that of C, at least", share, 0.9, False)
    for policy in ("VarTS", *ours.SHARED):
        rivals = [r for r in found["peers"] if r["policy"] == policy and "ns" in r and r["K"] == 10]
        if rivals:
            best = min(rivals, key=lambda row: row["times faster"])
            text = f"{policy}, K = 10: times faster than {best['package']}, the fastest, at least"
            aim(text, best["times faster"], 100 if policy == "VarTS" else 5, False)
    aim("figure 1, seconds on two cores, at most", found["figure 1"]["all"], 8, True)
    aim("T3C, K = 10: time of a round / that of VarTS, at most", found["T3C"], 3, True)
    for label, share in found["index policies"].items():
        aim(f"{label}, K = 10: time of a round / that of UCB1, at most", share, 2, True)
    apart = max(row["apart"] for K in found["agreement"].values() for row in K.values())
    aim("mean regrets, standard errors apart, at most", apart, 5, True)
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=7, help="repeats of what is compared")
    options.add_argument("--no-peers", action="store_true", help="those of the last time stay")
    options = options.parse_args()
    expert, plain = (compiled.gaussian_player(name, BUILD) for name in ("expert", "naive"))
    few_turns = max(1, options.turns // 2)
    found = {
        "machine": report.machine("varts", "numpy", "numba")
        | {"compiler": compiled.version() or "none found"}
    }
    found["per round"] = {
        K: side_by_side(K, runs, options.turns, expert, plain) for K, runs in RUNS.items()
    }
    found["two threads"] = {}
    if expert is not None and (os.cpu_count() or 1) > 1:
        found["two threads"] = {
            K: speed_up(K, THREADS_RUNS_FACTOR * runs, few_turns, expert)
            for K, runs in RUNS.items()
        }
    found["agreement"] = {K: agreement(K, runs, expert, plain) for K, runs in RUNS.items()}
    if options.no_peers:
        found["peers"], found["peers when"] = earlier_peers()
    else:
        found["peers"], found["peers when"] = all_peers(few_turns), found["machine"]["when"]
    say("figure 1, twice")
    repeats = [ours.figure1() for _ in range(2)]
    best = min(repeats, key=lambda took: sum(took.values()))
    found["figure 1"] = {**best, "all": sum(best.values())}
    say("T3C")
    found["T3C"] = ours.top_two()
    say("index policies")
    found["index policies"] = ours.index_policies()
    found["growth"] = growth(few_turns, expert)
    say("start-up and memory")
    found["start-up"], found["memory"] = ours.start_up(), ours.memory()
    found["targets"] = targets(found)
    (HERE / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    report.draw_growth(found["growth"])
    text = report.markdown(found)
    report.put("bench", text, measured=found["machine"])
    put_speed(found)
    print(text)


def put_speed(found):
    """Write the row of README.md: the time of a round beside that of expert C, by arms."""
    arms = {int(K): times["varts / expert C"] for K, times in found["growth"]["arms"].items()
            if "varts / expert C" in times}  # fmt: skip
    row = report.table(
        ["arms", *arms], [["varts / expert C", *(f"{one:.2f}" for one in arms.values())]]
    )
    report.put("speed", row, "../README.md", found["machine"])


if __name__ == "__main__":
    main()

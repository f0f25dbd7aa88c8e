"""`make bench NAME=worlds`: are an experiment's numbers right in worlds whose truth is known?

Plays every world through the live code and writes the tables of docs/assumptions.md and
docs/results/worlds.md. A part of the worlds can be played at a time: `--section II` or
`--only sticky`. Results of the other worlds stay as they are in benchmarks/results-worlds.json.
`--runs 30` is quick; `--label before` stores the results in another column, for comparison with an
older revision; `--tables` writes the tables without playing.
"""

import argparse
import json
import time
from pathlib import Path

from benchmarks.worlds import held_out, measured
from benchmarks.worlds.measures import simulate, summarize
from benchmarks.worlds.tables import write_tables

RESULTS = Path(__file__).parents[1] / "results-worlds.json"
# Rare events and small changes need more experiments than a world asks for.
LEAST = {"regret": 1000, "IV": 600}
SETS = {"measured": measured.WORLDS, "held-out": held_out.WORLDS}


def read(path):
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def chosen(arguments):
    """The worlds to play."""
    sets = [arguments.set] if arguments.set else list(SETS)
    worlds = [world for name in sets for world in SETS[name]]
    if arguments.section:
        worlds = [world for world in worlds if world.section == arguments.section]
    if arguments.only:
        worlds = [w for w in worlds if any(words in w.name for words in arguments.only)]
    return worlds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=SETS)
    parser.add_argument("--section", choices=("I", "II", "III", "IV", "V", "VI", "regret"))
    parser.add_argument("--only", nargs="+", metavar="WORDS", help="worlds whose name has these")
    parser.add_argument("--runs", type=int, help="experiments per world")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--label", default="now", help="the column of the tables")
    parser.add_argument(
        "--options", type=json.loads, default={}, help="of all experiments, as JSON"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="start no world after this")
    parser.add_argument("--missing", action="store_true", help="only worlds with too few runs yet")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--tables", action="store_true", help="only write the tables")
    arguments = parser.parse_args()
    began = time.monotonic()
    for world in [] if arguments.tables else chosen(arguments):
        runs = arguments.runs or max(world.runs, LEAST.get(world.section, 0))
        known = read(arguments.out).get(arguments.label, {}).get(world.name)
        if arguments.missing and known is not None and known["runs"] >= runs:
            continue
        if time.monotonic() - began > 60 * arguments.minutes:
            break
        start = time.monotonic()
        found = simulate(world, runs, arguments.seed, **arguments.options)
        seconds = time.monotonic() - start
        numbers = summarize(found)
        print(f"{world.name}: {runs} experiments in {seconds:.0f} s", flush=True)
        for name, number in numbers.items():
            print(f"    {name:32s}{number.value:10.4f} ± {number.error:.4f} ({number.n})")
        entry = {
            "section": world.section,
            "runs": runs,
            "seconds": round(seconds, 1),
            "numbers": {
                name: [*map(_short, number[:2]), number.n] for name, number in numbers.items()
            },
        }
        if world.section == "regret":
            entry["regrets"] = [_short(one) for one in found["regret"].tolist()]
        results = read(arguments.out)  # somebody else may have written others
        results.setdefault(arguments.label, {})[world.name] = entry
        arguments.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if arguments.out == RESULTS:
        write_tables(read(RESULTS), SETS)


def _short(value):
    return float(f"{value:.5g}") if value == value else None


if __name__ == "__main__":
    main()

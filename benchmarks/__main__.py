"""`make bench NAME=...`: run benchmarks by name, or list them.

Each one prints its tables and writes them between the marks of a page, with machine, date, revision
and load. Run them on a quiet machine, one at a time.
"""

import os
import shlex
import subprocess
import sys

# By name: what it measures, and the modules that do, with their arguments.
BENCHMARKS = {
    "speed": (
        "times beside C, NumPy and other packages, into README.md and docs/benchmarks.md",
        ["run", "linear --speed", "asking"],
    ),
    "versions": (
        "what people wait for, by an earlier revision (ARGS=revision) and by this one, into "
        "docs/benchmarks.md",
        ["versions"],
    ),
    "large": ("long runs with many arms, into docs/benchmarks.md", ["large"]),
    "linear": ("policies with features on problems with context", ["linear"]),
    "context": ("linear policies beside other packages on scikit-learn's tables", ["context"]),
    "family": ("regret and identification of all policies beside published numbers", ["family"]),
    "best-arm": ("how soon the best arm is found, and how often rules err", ["best_arm"]),
    "heavy-tails": ("regret on heavy-tailed rewards and correlated means", ["heavy_tails"]),
    "delays": ("what late and batched rewards cost, by policy", ["delays"]),
    "refresh": ("what it costs to refresh local allocations rarely, by policy", ["refresh"]),
    "ingestion": ("local decisions in batches beside single decisions over HTTP", ["ingestion"]),
    "local": ("the time of a local decision beside a lookup in a dictionary", ["local"]),
    "live": ("live experiments on SQLite and PostgreSQL", ["live"]),
    "logs": ("reading a log of a million decisions", ["logs"]),
    "serve": ("varts serve beside the library and a thread pool", ["serve"]),
    "history": ("the history of a million decisions", ["history"]),
    "pages": ("the pages of varts serve with ten million decisions", ["pages"]),
    "fit": ("priors from history: recovery, gain, large logs", ["fitting"]),
    "real": ("reports and choices on rewards that the model didn't generate", ["real"]),
    "beliefs": ("times and errors of P(best) and the expected loss", ["beliefs"]),
    "anytime": ("errors and detection times of anytime-valid inference", ["anytime"]),
    "worlds": ("the numbers of live experiments in worlds whose truth is known", ["worlds"]),
    "closed-loop": (
        "whether experiments keep to their plans",
        ["closed_loop", "closed_loop --priors 40"],
    ),
    "calibration": ("ranks, reliability and coverage of beliefs and reports", ["calibration"]),
    "evaluation": ("bias and coverage of estimates from logs", ["evaluation"]),
    "evaluation-contexts": ("the same for logs with contexts", ["evaluation_contexts"]),
    "context-worth": ("whether the interval of what context is worth holds", ["context_worth"]),
    "idle-connections": ("what 1,000 idle connections cost other clients", ["idle_connections"]),
    "time-effects": ("reports when the level moves for all arms", ["time_effects"]),
    "metrics": ("which policy for revenue, ratings, latency and clicks", ["metrics"]),
    "obp": ("estimates from logs beside those of the Open Bandit Pipeline", ["agreement"]),
}
# `make bench NAME=tables`: every table about other papers and packages. It takes hours.
TABLES = (
    *("speed", "large", "linear", "live", "logs", "serve", "context", "family", "best-arm"),
    "heavy-tails",
)


def main(names, arguments):
    """Run the benchmarks of these names, one after another; list all of them if there are none."""
    wanted = [each for name in names for each in (TABLES if name == "tables" else [name])]
    unknown = [name for name in wanted if name not in BENCHMARKS]
    if unknown or not wanted:
        if unknown:
            print(f"unknown benchmark {unknown[0]!r}", file=sys.stderr)
        for name, (what, _) in BENCHMARKS.items():
            print(f"{name:22}{what}")
        print(f"{'tables':22}{', '.join(TABLES)}: hours, on a quiet machine")
        return 2 if unknown else 0
    for name in wanted:
        for module in BENCHMARKS[name][1]:
            command = [sys.executable, "-m", *shlex.split(f"benchmarks.{module}"), *arguments]
            print("==", *command[1:], flush=True)
            code = subprocess.call(command)
            if code:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], shlex.split(os.environ.get("ARGS", ""))))

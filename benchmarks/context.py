"""`make bench NAME=context`: contextual policies of varts and of other packages on the same rows.

Tables of scikit-learn are played as bandits, each package in an environment of its own. Writes into
docs/benchmarks-context.md and results-context.json. `BENCH="--runs 2"` is a quick try, which writes
nothing; `BENCH="--packages varts mabwiser"` measures these and keeps what was found of the others.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import varts
from benchmarks.context_players import PLAYERS
from benchmarks.environments import HERE, PeerError, last_line, python_of, version_of
from benchmarks.report import machine, put, table

RESULTS = HERE / "results-context.json"
RUNS = 20
SECONDS = 240  # of one player on one task; no run begins later
STANDARD = ["digits", "wine", "breast cancer", "diabetes"]
RAW = ["wine, raw", "breast cancer, raw", "diabetes, raw"]
BESIDE = {"vowpalwabbit": ("numpy",)}  # it does not ask for what its players need
TABLES = "bayesianbandits"  # it comes with scikit-learn
TOLERANCE = 1e-10


def interpreter(package):
    if package == "varts":
        return sys.executable
    return python_of(package, "context", BESIDE.get(package, ()))


def answer(package, script, *words):
    """What a script says in a package's environment, on one thread; PeerError if it fails."""
    command = [interpreter(package), HERE / script, *map(str, words)]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=alone)
    if done.returncode:
        raise PeerError(last_line(done.stderr))
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else None


def play_all(tables, runs, packages):
    """Rows of results: package, player, task and regrets and seconds, or an error."""
    for package in packages:
        for player in PLAYERS[package]:
            for task in STANDARD + RAW:
                row = {"package": package, "player": player, "task": task}
                words = (package, player, tables, task, runs, SECONDS)
                try:
                    row |= answer(package, "context_players.py", "play", *words)
                except PeerError as error:
                    row["error"] = str(error)
                print(package, player, task, cell(row), flush=True)
                yield row


def compare_posteriors(tables):
    """The largest relative differences between our posterior and that of bayesianbandits."""
    with np.load(tables) as file:
        data = {task: (file[f"{task} / x"], file[f"{task} / pays"]) for task in STANDARD}
    for task, (x, pays) in data.items():
        other = answer(TABLES, "context_players.py", "posterior", tables, task)
        rows, d = x[::2], x.shape[1]
        prior = varts.LinearNormalGamma.ridge(d, alpha=0.1, beta=0.1)  # theirs by default
        stats = varts.LinearStats.empty(1, d).observe(
            np.zeros(len(rows), dtype=int), rows, pays[::2, 0]
        )
        mine = prior.posterior(stats)
        coef = np.append(mine.slopes[0], mine.at(np.zeros(d))[0])
        size = np.abs(other["coef"]).max()
        yield {
            "task": task,
            "coefficients": float(np.abs(coef - other["coef"]).max() / size),
            "shape": float(abs(mine.alpha[0] / other["a"] - 1)),
            "rate": float(abs(mine.beta[0] / other["b"] - 1)),
            "rate of one reward less": float(abs(one_less(prior, rows, pays) / other["b"] - 1)),
        }


def compare_spreads(tables):
    """How widely LinTS of contextualbandits draws, beside A^-1 and A; None if it does not run."""
    try:
        return answer("contextualbandits", "context_players.py", "spread", tables, "breast cancer")
    except PeerError:
        return None


def one_less(prior, rows, pays):
    """The control: the rate of a posterior that has missed a reward."""
    arms = np.zeros(len(rows) - 1, dtype=int)
    stats = varts.LinearStats.empty(1, prior.d).observe(arms, rows[1:], pays[2::2, 0])
    return prior.posterior(stats).beta[0]


# ------------------------------------------------------------------------------- the page


def cell(row):
    """Regret in per cent, with its standard error and the number of runs if there were fewer."""
    if "error" in row:
        return "fails"
    regrets = 100 * np.array(row["regrets"])
    fewer = f" ({len(regrets)} runs)" if len(regrets) < RUNS else ""
    if len(regrets) == 1:
        return f"{regrets[0]:.1f} (1 run)"
    return f"{regrets.mean():.1f} ± {regrets.std(ddof=1) / np.sqrt(len(regrets)):.1f}{fewer}"


def milliseconds(row):
    if "error" in row:
        return "fails"
    return f"{1e3 * row['seconds per round']:.2f}" if "seconds per round" in row else "-"


def by_player(found, tasks, show):
    lines = []
    for package, players in PLAYERS.items():
        name = f"{package} {found['versions'][package]}"
        for player in players:
            own = {
                row["task"]: row
                for row in found["rows"]
                if (row["package"], row["player"]) == (package, player)
            }
            if own:
                cells = [show(own[task]) if task in own else "-" for task in tasks]
                lines.append([name, player, *cells])
    return table(["", "policy", *tasks], lines, words=2)


def markdown(found):
    errors = {
        f"- {row['package']}, {row['player']}, {row['task']}: {row['error']}"
        for row in found["rows"]
        if "error" in row
    }
    columns = ("coefficients", "shape", "rate", "rate of one reward less")
    checks = [[row["task"], *(f"{row[name]:.0e}" for name in columns)] for row in found["checks"]]
    drawn = found["spread"]
    parts = [
        "### Regret, % of uniform choices, standardised features",
        by_player(found, STANDARD, cell),
        "### The same with features as they are",
        by_player(found, RAW, cell),
        "### Milliseconds of processor time per round, to decide and to learn",
        by_player(found, STANDARD, milliseconds),
        *(["### What fails", "\n".join(sorted(errors))] if errors else []),
        "### The posterior beside that of bayesianbandits, relative differences",
        table(["", *columns], checks),
    ]
    if drawn:
        parts += [
            "### How widely LinTS of contextualbandits draws by default",
            "On breast cancer, its standard deviation is "
            f"{drawn['inverse']:,.3g} times that of the covariance A^-1, which linear Thompson "
            f"sampling has, and {drawn['matrix']:.3g} times that of the covariance A.",
        ]
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--packages", nargs="+", choices=list(PLAYERS), default=list(PLAYERS))
    asked = parser.parse_args()
    runs = asked.runs
    if not 1 <= runs <= RUNS:
        parser.error(f"argument --runs: must be from 1 to {RUNS}, got {runs}")
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / "tables.npz"
        try:
            answer(TABLES, "context_tables.py", tables)
        except PeerError as error:
            sys.exit(f"{TABLES} does not install, and with it the tables: {error}")
        checks, drawn = list(compare_posteriors(tables)), compare_spreads(tables)
        rows = kept(asked.packages) + list(play_all(tables, runs, asked.packages))
    found = {
        "machine": machine("varts", "numpy"),
        "versions": {package: release(package) for package in PLAYERS},
        "checks": checks,
        "spread": drawn,
        "rows": rows,
    }
    print(markdown(found))
    names = ("coefficients", "shape", "rate")
    right = all(row[name] <= TOLERANCE for row in checks for name in names)
    if not right or any(row["rate of one reward less"] <= TOLERANCE for row in checks):
        sys.exit("the posteriors are not as they should be; nothing was written")
    if runs == RUNS:
        put("context", markdown(found), "benchmarks-context.md", found["machine"])
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def kept(packages):
    """Rows of the last run about all other packages."""
    if not RESULTS.exists():
        return []
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    return [row for row in rows if row["package"] not in packages]


def release(package):
    if package == "varts":
        return varts.__version__
    try:
        return version_of(package, "context")
    except PeerError:
        return "(does not install)"


if __name__ == "__main__":
    main()

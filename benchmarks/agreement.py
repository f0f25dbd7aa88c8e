"""`make bench NAME=obp`: do our estimates from a log agree with those of another implementation?

Three logs go over to the Open Bandit Pipeline (obp) as CSV files, and it evaluates them in an
environment of its own (`open_bandit.py`). Writes a table into docs/evaluation-results.md,
and obp's numbers into the file with which a test compares ours.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.environments import HERE, PeerError, python_of, version_of
from benchmarks.report import put, table
from tests.evaluation.open_bandit import CONTROL, RESULTS, TOLERANCE, compare, jobs


def theirs(asked, folder):
    """By obp, in its own process."""
    file = folder / "jobs.json"
    asks = [{"log": str(path), "arms": arms, "target": t} for _, path, arms, t in asked]
    file.write_text(json.dumps(asks), encoding="utf-8")
    command = [python_of("obp"), HERE / "open_bandit.py", file]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        asked = jobs(folder)
        try:
            found = theirs(asked, folder)
        except PeerError as error:
            sys.exit(f"obp does not install: {error}")
        rows = list(compare(asked, found))
    made = table(
        ["log", "policy", "estimator", "varts", "obp", "difference"],
        [(*words, f"{a:.10f}", f"{b:.10f}", f"{a - b:+.1e}") for *words, a, b in rows],
        words=3,
    )
    print(made)
    wrong = [row for row in rows if (abs(row[3] - row[4]) > TOLERANCE) != (row[2] == CONTROL)]
    if wrong:
        sys.exit(f"{len(wrong)} of {len(rows)} rows are not as they should be; nothing was written")
    release = f"obp {version_of('obp')}"
    put("obp", made, "evaluation-results.md")
    results = [
        {"log": log, "target": target, **one}
        for (log, _, _, target), one in zip(asked, found, strict=True)
    ]
    text = json.dumps({"by": release, "found": results}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

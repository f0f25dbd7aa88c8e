"""`make bench NAME=versions ARGS=revision`: what people wait for, by another version and by
this one in turns; prints, and writes results-versions.json and docs/benchmarks.md."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import live, report

HERE = Path(__file__).parent
ROOT = HERE.parent


def say(text):
    print(f"bench-versions: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Version:
    """One tree of sources, with a folder for its cache and its databases."""

    name: str
    source: Path
    folder: Path

    def ask(self, call, cache=None):
        """What a function of `waits.py` answers in a new process."""
        code = f"import json; from benchmarks import waits; print(json.dumps(waits.{call}))"
        # The other version may need packages that this one doesn't: PYTHONPATH can add them.
        more = filter(None, [os.environ.get("PYTHONPATH")])
        places = os.pathsep.join([str(self.source), str(ROOT), *more])
        cache = cache or self.folder / "cache"
        environment = {**os.environ, "PYTHONPATH": places, "NUMBA_CACHE_DIR": str(cache)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT
        )
        if done.returncode:
            raise RuntimeError(f"{call} with the version {self.name}: {done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def ask_cold(self, call):
        """The same with an empty cache."""
        with tempfile.TemporaryDirectory(dir=self.folder) as empty:
            return self.ask(call, empty)


def unpack(revision, folder):
    """The sources of a revision of this repository."""
    tree = folder / "tree"
    tree.mkdir()
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", revision, "src"], check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
    return tree / "src"


def in_turns(versions, turns, ask, pick=min):
    """{version: the best of several answers}, one version after the other."""
    found = {version.name: [] for version in versions}
    for _ in range(turns):
        for version in versions:
            found[version.name].append(ask(version))
    return {
        name: pick(answers)
        if isinstance(answers[0], float)
        else {key: pick(one[key] for one in answers) for key in answers[0]}
        for name, answers in found.items()
    }


# Each of these answers rows: what, the limit, {version: value}.


def first_use(versions, turns):
    say("first use: empty caches")
    study = in_turns(versions, turns, lambda v: v.ask_cold("first_study()"))
    more = in_turns(versions, turns, lambda v: v.ask_cold("further_policies()"))
    tossing = in_turns(versions, turns, lambda v: v.ask_cold("first_bernoulli_study()"))
    planned = in_turns(versions, turns, lambda v: v.ask_cold("first_plan()"))
    for version in versions:
        version.ask("own_policy()")
    own = in_turns(versions, turns, lambda v: v.ask("own_policy()"))
    yield "first small study, s", 5, only(study, "seconds")
    yield "the same, s of CPU", None, only(study, "CPU")
    yield "a further policy, median of eight, s", 1, only(more, "median")
    yield "a further policy, the slowest of eight, s", 1, only(more, "slowest")
    yield "first study with Bernoulli TS, s", 5, only(tossing, "seconds")
    yield "first `plan`, default arguments, s", None, only(planned, "seconds")
    yield "a user's own policy in a second process, s", 1, only(own, "seconds")


def planning(versions, turns):
    say("plan")
    took = in_turns(versions, turns, lambda v: v.ask("default_plan()"))
    yield "`plan`, default arguments, s of CPU", 8, only(took, "CPU")


def deciding(versions, turns, databases):
    say("live")
    for store, new in databases.items():
        alone = in_turns(versions, turns, lambda v, new=new: v.ask(f"one_by_one({new()!r})"))
        yield f"{store}: a decision and its reward, us of CPU", 1200, alone
    for (store, new), limit in zip(databases.items(), (40_000, 15_000), strict=True):
        many = in_turns(versions, turns, lambda v, new=new: v.ask(f"in_batches({new()!r})"), max)
        yield f"{store}: batches of 500, pairs a second, at least", limit, many
    for store, new in databases.items():
        for arms in (10, 1000):
            for how in ("one_by_one", "in_batches"):
                for processes in (1, 4):
                    call = f"together({{!r}}, {arms}, {processes}, {how!r})"

                    def ask(version, new=new, call=call):
                        return version.ask(call.format(new()))

                    found = in_turns(versions, turns, ask, max)
                    many = "1 process" if processes == 1 else f"{processes} processes"
                    what = f"{arms:,} arms, {how.replace('_', ' ')}, {many}, pairs a second"
                    yield f"{store}: {what}", None, found


def big_logs(versions, pairs, databases):
    for store, new in databases.items():
        say(f"a log of {pairs:,} decisions on {store}")
        urls = {version: new() for version in versions}
        for version in versions:
            version.ask(f"filled({urls[version]!r}, {pairs})")

        def each(call, urls=urls):
            return {v.name: v.ask(call.format(repr(urls[v]), v.folder)) for v in versions}

        opened = each("opened({})")
        reported = each("reported({})")
        followed = each("history({})")
        verified = each("verified({})")
        exported = each("exported({}, '{}/log.parquet')")
        yield f"{store}, {pairs:,} decisions: open, s", 1, only(opened, "seconds")
        yield f"{store}, {pairs:,} decisions: report, s", 0.5, only(reported, "seconds")
        yield f"{store}, {pairs:,} decisions: history, s", None, only(followed, "seconds")
        yield f"{store}, {pairs:,} decisions: verify, s", 10, only(verified, "seconds")
        yield f"{store}, {pairs:,} decisions: verify, peak MB", None, only(verified, "peak MB")
        yield f"{store}, {pairs:,} decisions: export, s", 10, only(exported, "seconds")
        yield f"{store}, {pairs:,} decisions: export, peak MB", None, only(exported, "peak MB")


def only(found, key):
    return {name: one[key] for name, one in found.items()}


def markdown(found):
    heads = ["", "wanted", *found["versions"], "after / before", "met"]
    rows = []
    for row in found["rows"]:
        before, after = row["values"].values()
        limit, met = row["limit"], ""
        if limit is not None:
            good = after >= limit if "at least" in row["what"] else after <= limit
            met = "yes" if good else "**no**"
        wanted = "" if limit is None else f"{limit:,}"
        numbers = [report.short(before), report.short(after), f"{after / before:.2f}"]
        rows.append([row["what"], wanted, *numbers, met])
    return f"Before is revision {found['before']}.\n\n" + report.table(heads, rows)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("before", help="a revision of this repository to compare with")
    options.add_argument("--turns", type=int, default=2)
    options.add_argument("--pairs", type=int, default=1_000_000, help="decisions of a big log")
    options.add_argument("--sections", nargs="*", help="first-use, plan, live, logs; default: all")
    options.add_argument("--trial", action="store_true", help="leave no trace")
    asked = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="varts-bench-"))
    folder.chmod(0o755)  # the PostgreSQL server may run as another user
    found = {"machine": report.machine("varts", "numpy", "numba")}
    revision = subprocess.check_output(
        ["git", "-C", ROOT, "rev-parse", "--short", asked.before], text=True
    )
    found |= {"before": revision.strip(), "versions": ["before", "after"], "rows": []}
    try:
        versions = [
            Version("before", unpack(asked.before, folder), folder / "before"),
            Version("after", ROOT / "src", folder / "after"),
        ]
        for version in versions:
            version.folder.mkdir()
        files = (f"sqlite:///{folder}/bench-{i}.db" for i in range(10**9))
        with live.postgres(folder) as (database, _):
            databases = {"SQLite": lambda: next(files), "PostgreSQL": database}
            sections = {
                "first-use": lambda: first_use(versions, asked.turns),
                "plan": lambda: planning(versions, asked.turns),
                "live": lambda: deciding(versions, asked.turns, databases),
                "logs": lambda: big_logs(versions, asked.pairs, databases),
            }
            for section in asked.sections or sections:
                for what, limit, values in sections[section]():
                    say(f"{what}: {values}")
                    found["rows"].append({"what": what, "limit": limit, "values": values})
    finally:
        shutil.rmtree(folder)
    text = markdown(found)
    print(text)
    if not asked.trial:
        results = HERE / "results-versions.json"
        results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        report.put("versions", text, measured=found["machine"])


if __name__ == "__main__":
    main()

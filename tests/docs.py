"""Runs the examples in README.md and docs/ and compares their output with the page.

`tests/test_docs.py` checks every page. After a change that was meant to alter the output, run

    .venv/bin/python -m tests.docs --accept [PAGE ...]

in the root of the repository. It rewrites the output that no longer matches, and nothing else. If a
page has an error (an exception or the wrong exit code), the page stays as it is and the command
exits with 1. Without `--accept` it only reports.

Rules for a page:
- ```python blocks run in order, in an empty folder, and share one namespace; they can import
  `varts_client`, the client that people copy into their programs;
- a ```text or ```output block right after a python block is the output of that block;
- in a ```console block, every `$ varts ...`, `$ cat ...` and `$ curl ...` runs in the same folder,
  and the lines below a command are its output;
- `$ varts serve ... &` runs until the end of the page, and the line below it is the first line it
  prints;
- a ```toml block that begins with `# name.toml` becomes that file in the folder;
- `...` matches anything, and any whitespace matches any other;
- ```{name} blocks are directives for the site (`make docs`) and don't run;
- `<!-- not run: reason -->` on the line before a block skips it;
- `<!-- exit code 2 -->` on the line before a block means that its commands fail with that code, and
  that the output is what they write to standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
EXECUTABLES = ("varts", "cat", "curl")
ACCEPT = ".venv/bin/python -m tests.docs --accept"


# ------------------------------------------------------------------------------ reading a page


@dataclass
class Step:
    """One thing to run, and the output that the page shows for it (None: it shows none)."""

    kind: str  # python, command or file
    line: int
    code: str
    expected: str | None = None
    exit_code: int = 0
    shown: tuple[int, int] = (0, 0)  # the lines of the page that `expected` is, counted from 0


FENCE = re.compile(r"^(`{3,})([\w+-]*|\{[\w-]+\}.*)\s*$")
NOT_RUN = re.compile(r"^<!-- not run: .+ -->$")
EXIT_CODE = re.compile(r"^<!-- exit code (\d+) -->$")


def steps_of(text: str) -> list[Step]:
    """The steps of a page, in order."""
    steps: list[Step] = []
    lines = text.splitlines()
    at, note, previous = 0, "", None  # the current line, the line before, the block just before
    while at < len(lines):
        fence = FENCE.match(lines[at])
        if not fence:
            if lines[at].strip():
                note, previous = lines[at].strip(), None
            at += 1
            continue
        start = at + 1
        end = next(i for i in range(start, len(lines)) if lines[i].strip() == fence[1])
        body, kind = lines[start:end], fence[2]
        block: Step | None = None
        if not NOT_RUN.match(note):
            found = EXIT_CODE.match(note)
            code = int(found[1]) if found else 0
            if kind in ("text", "output") and previous is not None:
                previous.expected, previous.shown = "\n".join(body), (start, end)
            elif kind == "python":
                block = Step("python", start + 1, "\n".join(body))
                steps.append(block)
            elif kind == "console":
                steps += commands(body, start, code)
            elif kind == "toml" and body and (name := re.match(r"# (\S+\.toml)$", body[0])):
                steps.append(Step("file", start + 1, "\n".join(body) + "\n", name[1]))
        previous, note, at = block, "", end + 1
    return steps


def commands(body: list[str], start: int, exit_code: int) -> list[Step]:
    """One step per prompt of a console block; `start` is the index of its first line."""
    found: list[Step] = []
    output: list[list[str]] = []
    for at, text in enumerate(body, start):
        if text.startswith("$ "):
            found.append(Step("command", at + 1, text[2:], None, exit_code, (at + 1, at + 1)))
            output.append([])
        elif found and found[-1].code.endswith("\\") and not output[-1]:
            found[-1].code = found[-1].code[:-1] + text.strip()
            found[-1].shown = (at + 1, at + 1)
        elif found:
            output[-1].append(text)
            found[-1].shown = (found[-1].shown[0], at + 1)
    for step, lines in zip(found, output, strict=True):
        step.expected = "\n".join(lines) if any(lines) else None
    return [step for step in found if step.code.split()[0] in EXECUTABLES]


# ------------------------------------------------------------------------------ running a page


@contextlib.contextmanager
def page_runner():
    """Start `tests/page_runner.py`; yields a function that runs steps in a folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    client = ROOT / "clients/python"  # a page imports it as if it had been copied into its folder
    modules = os.pathsep.join([str(client), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.page_runner"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "MPLBACKEND": "Agg",
            "PATH": path,
            "PYTHONPATH": modules,
            "NO_COLOR": "1",
        },
    ) as process:

        def run(steps, folder):
            timeout = threading.Timer(300, process.kill)
            timeout.start()
            print(json.dumps([str(folder), steps]), file=process.stdin, flush=True)
            done = process.stdout.readline()
            timeout.cancel()
            if not done:
                raise RuntimeError("the page took more than five minutes or killed its process")
            return json.loads(done)

        yield run
        process.stdin.close()


@dataclass
class Mistake:
    """A step whose result differs from the page."""

    step: Step
    message: str
    printed: str | None  # the output to accept; None after an error

    def __str__(self) -> str:
        code = self.step.code.splitlines()
        return f"line {self.step.line}: {code[0] if code else ''}\n  {self.message}"


def mistakes(text: str, folder: Path, runner) -> list[Mistake]:
    """What is wrong with a page. The run stops at a python block that raises."""
    steps = steps_of(text)
    done = runner([asdict(step) for step in steps], folder) if steps else []
    found = (judge(step, did) for step, did in zip(steps, done, strict=False))
    return [mistake for mistake in found if mistake]


def judge(step: Step, did: dict) -> Mistake | None:
    """Compare what a step did with what the page says."""
    if did["code"] != step.exit_code:
        message = f"exit code {did['code']}, expected {step.exit_code}:\n{did['err']}"
        return Mistake(step, message, None)
    printed = did["err"] if step.exit_code else did["out"]
    if step.kind == "file" or step.expected is None or matches(step.expected, printed):
        return None
    if "Traceback (most recent call last)" in did["out"] + did["err"]:
        return Mistake(step, f"an exception:\n{did['out']}{did['err']}", None)
    return Mistake(step, f"the page shows:\n{step.expected}\n  printed:\n{printed}", printed)


def matches(expected: str, printed: str) -> bool:
    """Whether the texts are equal up to whitespace, where `...` matches anything.

    It looks for each part at the first possible place. A regular expression would backtrack, and
    take very long for a block with many wildcards that doesn't match.
    """
    first, *others = (part.strip() for part in one_line(expected).split("..."))
    text = one_line(printed)
    if not others:
        return text == first
    if not text.startswith(first):
        return False
    *middle, last = others
    at = len(first)
    for part in middle:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return text.endswith(last) and len(text) - len(last) >= at


def one_line(text: str) -> str:
    return " ".join(text.split())


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# ---------------------------------------------------------------------------- accepting output


def rewritten(text: str, found: list[Mistake]) -> str:
    """The page with the output that was printed."""
    lines = text.splitlines(keepends=True)
    for mistake in reversed(found):  # from the bottom up, so that line numbers stay valid
        start, end = mistake.step.shown
        while end > start and not lines[end - 1].strip():
            end -= 1
        while start < end and not lines[start].strip():
            start += 1
        line_break = lines[start - 1][len(lines[start - 1].rstrip("\r\n")) :]
        shown = [line.rstrip("\r\n") for line in lines[start:end]]
        printed = [line.rstrip() for line in mistake.printed.strip("\n").splitlines()]
        lines[start:end] = [line + line_break for line in merged(shown, printed)]
    new = "".join(lines)
    before, after = ([(s.kind, s.code) for s in steps_of(page)] for page in (text, new))
    if before != after:
        raise ValueError("the new output contains a line that looks like a prompt or a fence")
    return new


def merged(shown: list[str], printed: list[str]) -> list[str]:
    """The printed lines, but with each shown line that still matches kept as it is.

    This is an alignment like that of `diff`. Keeping a line scores best, so wildcards stay where
    they match. A changed line replaces the shown line with the most words in common. Dropping a
    line or adding one scores worst, so that a `...` doesn't swallow lines that the page shows.
    """
    rows, columns = len(shown), len(printed)
    best = [[(0.0, 0, 0, "")] * (columns + 1) for _ in range(rows + 1)]
    for a in range(rows, -1, -1):
        for b in range(columns, -1, -1):
            # Each move: its score, the next state (a, b), and the line it writes.
            moves: list[tuple[float, int, int, str | None]] = []
            if a < rows and shown[a].strip() == "...":
                moves.append((1, a + 1, b, shown[a]))
                if b < columns:
                    moves.append((0, a, b + 1, None))
            else:
                if b < columns:
                    moves.append((-2, a, b + 1, printed[b]))
                if a < rows:
                    moves.append((-2, a + 1, b, None))
                if a < rows and b < columns:
                    alike = similarity(shown[a], printed[b])
                    moves.append((alike - 1, a + 1, b + 1, reworded(shown[a], printed[b])))
                    for end in matching_ends(shown[a], printed, b):
                        score = (2 if "..." in shown[a] else 3) - (end - b - 1)
                        moves.append((score, a + 1, end, shown[a]))
            if moves:
                best[a][b] = max(
                    ((score + best[x][y][0], x, y, line) for score, x, y, line in moves),
                    key=lambda move: move[0],
                )
    result, a, b = [], 0, 0
    while (a, b) != (rows, columns):
        _, a, b, line = best[a][b]
        if line is not None:
            result.append(line)
    return result if matches("\n".join(result), "\n".join(printed)) else printed


def matching_ends(line: str, printed: list[str], start: int) -> list[int]:
    """Where printed lines from `start` on can end that match a shown line.

    A line with a wildcard may match several printed lines.
    """
    if "..." not in line:
        return [start + 1] if matches(line, printed[start]) else []
    if not matches(f"{line.split('...')[0]}...", printed[start]):
        return []
    ends = range(start + 1, len(printed) + 1)
    return [end for end in ends if matches(line, "\n".join(printed[start:end]))]


def reworded(line: str, printed: str) -> str:
    """The printed line, with the wildcards of the line it replaces if most words are the same."""
    words = line.split()
    if "..." not in line or len(words) < 2 or similarity(line, printed) < 0.5:
        return printed
    indent = printed[: len(printed) - len(printed.lstrip())]
    return indent + " ".join(merged(words, printed.split()))


def similarity(line: str, other: str) -> float:
    """The share of words that two lines have in common."""
    words, others = set(line.split()), set(other.split())
    return len(words & others) / max(len(words), len(others), 1)


def check(page: Path, run, accept: bool) -> bool:
    """Run a page, report what is wrong, and rewrite its output; whether all is well then."""
    with page.open(encoding="utf-8", newline="") as file:  # keeps line breaks as they are
        text = file.read()
    name = os.path.relpath(page)
    with tempfile.TemporaryDirectory() as folder:
        found = mistakes(text, Path(folder), run)
    errors = [mistake for mistake in found if mistake.printed is None]
    if errors or not accept:
        for mistake in errors if accept else found:
            print(f"{name}, {mistake}\n")
        if errors and accept:
            print(f"{name}: not changed, because an error is not output\n")
        return not found
    try:
        new = rewritten(text, found)
    except ValueError as error:
        print(f"{name}: not changed, because {error}\n")
        return False
    if found:
        page.write_text(new, encoding="utf-8", newline="")
    for before, after in zip(steps_of(text), steps_of(new), strict=True):
        if before.expected != after.expected:
            print(f"{name}:{after.line}: accepted the output of: {after.code.splitlines()[0]}")
    return True


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.docs", description="Run the examples in the documentation."
    )
    parser.add_argument("--accept", action="store_true", help="rewrite output that doesn't match")
    parser.add_argument("pages", nargs="*", type=Path, help="default: README.md and all of docs/")
    chosen = parser.parse_args(arguments)
    for page in chosen.pages:
        if not page.is_file():
            parser.error(f"there is no page {page}")
    with page_runner() as run:
        right = [check(page, run, chosen.accept) for page in chosen.pages or PAGES]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())

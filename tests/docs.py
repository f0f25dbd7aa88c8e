"""The pages are run: what README.md and docs/ show is what a reader gets.

Rules for a page:
- ```python blocks run in order and share one namespace, in an empty folder;
- a ```text or ```output block right after one is what it printed;
- in a ```console block every `$ varts ...`, `$ cat ...` and `$ curl ...` runs in that folder, and
  the lines below it are what it printed;
- `$ varts serve ... &` runs until the page ends, and the line below it is the first it printed;
- a ```toml block that begins with `# name.toml` becomes that file in the folder;
- `...` stands for anything, and runs of blanks for one;
- ```{name} blocks are for the site (`make docs`), and nothing to run;
- `<!-- not run: reason -->` on the line before a block leaves it out, and
  `<!-- exit code 2 -->` says that a command is meant to fail: its output is then standard error.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
EXECUTABLES = ("varts", "cat", "curl")


# ------------------------------------------------------------------------------ reading a page


@dataclass
class Step:
    """Something to do, where it stands, and what it should print (None: not shown)."""

    kind: str  # python, command or file
    line: int
    code: str
    expected: str | None = None
    exit_code: int = 0


FENCE = re.compile(r"^(`{3,})([\w+-]*|\{[\w-]+\}.*)\s*$")
NOT_RUN = re.compile(r"^<!-- not run: .+ -->$")
EXIT_CODE = re.compile(r"^<!-- exit code (\d+) -->$")


def steps_of(text: str) -> list[Step]:
    """The steps of a page, in its order."""
    steps: list[Step] = []
    lines = text.splitlines()
    at, note, previous = 0, "", None  # the line read, the line before, the block just ended
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
                previous.expected = "\n".join(body)
            elif kind == "python":
                block = Step("python", start + 1, "\n".join(body))
                steps.append(block)
            elif kind == "console":
                steps += commands(body, start + 1, code)
            elif kind == "toml" and body and (name := re.match(r"# (\S+\.toml)$", body[0])):
                steps.append(Step("file", start + 1, "\n".join(body) + "\n", name[1]))
        previous, note, at = block, "", end + 1
    return steps


def commands(body: list[str], line: int, exit_code: int) -> list[Step]:
    """One step per prompt; the lines below it are its output."""
    found: list[tuple[int, str, list[str]]] = []
    for offset, text in enumerate(body):
        if text.startswith("$ "):
            found.append((line + offset, text[2:], []))
        elif found and found[-1][1].endswith("\\") and not found[-1][2]:
            found[-1] = (found[-1][0], found[-1][1][:-1] + text.strip(), [])
        elif found:
            found[-1][2].append(text)
    return [
        Step("command", at, command, "\n".join(shown) if any(shown) else None, exit_code)
        for at, command, shown in found
        if command.split()[0] in EXECUTABLES
    ]


# ------------------------------------------------------------------------------ running a page


@contextlib.contextmanager
def page_runner():
    """`tests/page_runner.py` at work: a function from steps and a folder to what came of them."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.page_runner"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg", "PATH": path, "NO_COLOR": "1"},
    ) as process:

        def run(steps, folder):
            patience = threading.Timer(300, process.kill)
            patience.start()
            print(json.dumps([str(folder), steps]), file=process.stdin, flush=True)
            done = process.stdout.readline()
            patience.cancel()
            assert done, "a page took longer than five minutes, or ended its process"
            return json.loads(done)

        yield run
        process.stdin.close()


def run_page(text: str, folder: Path, runner) -> list[tuple[Step, dict]]:
    """Every step of the page with what came of it; stops at a python block that raises."""
    steps = steps_of(text)
    done = runner([asdict(step) for step in steps], folder) if steps else []
    return list(zip(steps, done, strict=False))


def mistakes(text: str, folder: Path, runner) -> list[str]:
    """What is wrong with a page, a sentence each."""
    found = []
    for step, did in run_page(text, folder, runner):
        what = f"line {step.line}: {step.code.splitlines()[0] if step.code else ''}"
        if did["code"] != step.exit_code:
            found.append(f"{what}\n  exit code {did['code']}, {did['err']}")
        elif step.kind != "file" and step.expected is not None:
            printed = did["err"] if step.exit_code else did["out"]
            if not matches(step.expected, printed):
                found.append(f"{what}\n  shown:\n{step.expected}\n  printed:\n{printed}")
    return found


def matches(expected: str, printed: str) -> bool:
    """Equal up to blanks, `...` standing for anything."""
    wanted = " ".join(expected.split())
    pattern = ".*".join(re.escape(part.strip()) for part in wanted.split("..."))
    pattern = pattern.replace(".*", r"\s*.*\s*")
    return re.fullmatch(pattern, " ".join(printed.split()), re.DOTALL) is not None


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()

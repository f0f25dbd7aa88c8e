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

import inspect
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

import varts
from varts.cli import load_commands

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
HOUSE_PAGES = sorted({*PAGES, *ROOT.glob("*.md")})
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


@pytest.fixture(scope="module")
def runner():
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


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_page_does_what_it_shows(page, tmp_path, runner):
    found = mistakes(page.read_text(encoding="utf-8"), tmp_path, runner)
    assert not found, "\n\n".join(found)


# ------------------------------------------------------- the test itself must be able to fail

GOOD = """
```python
a = 1
```

Text between blocks.

```python
print(a + 1, "   and more")
```
```text
2 and ...
```

```toml
# note.toml
x = 1
```

```console
$ varts --version
{version}
$ cat note.toml
# note.toml
x = 1
$ make sandwich
```

<!-- exit code 2 -->
```console
$ varts nonsense
varts: Unknown command ...
```

<!-- not run: it would raise -->
```python
raise SystemExit
```
"""


SITE = "````{grid} 2\n```{card} A title\n```\n````\n\n```{toctree}\n:hidden:\n```\n"
SERVE = "```console\n$ varts serve --no-auth &\n"
FILE = "```toml\n# note.toml\n```\n\n"


def test_the_runner_accepts_a_right_page(tmp_path, runner):
    assert mistakes(GOOD.format(version=varts.__version__), tmp_path, runner) == []


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```\n", "printed:\n1"),
        ("```python\nprint(1)\n```\n\n```output\n1 1\n```\n", "printed:\n1"),
        ("```python\nprint(undefined)\n```\n", "NameError"),
        (SITE + "```python\nprint(undefined)\n```\n", "NameError"),
        (FILE + "```console\n$ cat note.toml\n# other.toml\n```\n", "shown:\n# other.toml"),
        ("```console\n$ cat gone.toml\n```\n", "exit code 1"),
        ("```console\n$ varts serve --host 0.0.0.0 &\n```\n", "exit code 1"),
        ("```console\n$ varts serve --no-auth &\nvarts: on http://\n```\n", "on http://"),
        (SERVE + "$ curl -s http://127.0.0.1:8321/healthz\ndead\n```\n", '{"status":"alive"}'),
        (FILE + "<!-- exit code 1 -->\n```console\n$ cat note.toml\n```\n", "exit code 0"),
    ],
)
def test_the_runner_rejects_a_wrong_page(page, complaint, tmp_path, runner):
    found = mistakes(page, tmp_path, runner)
    assert len(found) == 1
    assert complaint in found[0]


def test_output_apart_from_its_block_is_not_its_output(tmp_path, runner):
    page = "```python\nprint(1)\n```\n\nA sentence.\n\n```text\n2\n```\n"
    assert mistakes(page, tmp_path, runner) == []


# ------------------------------------------------------------------------ nothing is left out


def test_every_command_is_documented():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = [name for name in load_commands() if not name.startswith("-")]
    assert commands
    assert [name for name in commands if f"varts {name}" not in text] == []


def test_no_page_gives_a_live_experiment_a_seed():
    """Readers copy what they see, and a seed that is known is none."""
    code = [step.code for page in PAGES for step in steps_of(page.read_text(encoding="utf-8"))]
    live = [text for text in code if "varts.open(" in text or "experiment create" in text]
    assert len(live) > 3
    assert [text for text in live if re.search(r"--seed|varts\.open\([^)]*seed=", text)] == []


def test_every_public_class_and_function_has_a_docstring():
    public = {name: getattr(varts, name) for name in dir(varts)}
    silent = [
        name
        for name, value in public.items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and (not value.__doc__ or value.__doc__.startswith(f"{name}("))  # a dataclass's own
    ]
    assert silent == []


def test_the_reference_has_a_place_for_every_public_name():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/api").glob("*.md"))
    listed = " ".join(re.findall(r"^```\{public\} (.+)$", pages, re.MULTILINE)).split()
    assert len(listed) == len(set(listed))
    modules = {f"varts.{name}" for name in varts.__all__ if inspect.ismodule(getattr(varts, name))}
    assert set(listed) == modules | set(varts._home.values())


def test_the_tree_in_the_readme_is_that_of_the_package():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = re.search(r"^src/varts/\n((?:  .+\n)+)", text, re.MULTILINE)[1]
    named = {word.rstrip("/") for word in re.findall(r"[a-z_]+(?:\.py|/(?= ))", tree)}
    there = {path.name for path in (ROOT / "src/varts").iterdir() if path.name[0] not in "_."}
    assert named - {"engine"} == there - {"data", "py.typed"}


def test_the_citation_names_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r'^version: "(.+)"$', citation, re.MULTILINE)[1] == varts.__version__


# -------------------------------------------------------------------------------------- links

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def prose(text: str) -> str:
    """The page without its blocks and code spans."""
    return re.sub(
        r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    )


def anchors(text: str) -> set[str]:
    """The anchors that headings get."""
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", without_blocks, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def broken_links(page: Path) -> list[str]:
    """Relative links of a page that lead nowhere."""
    text = page.read_text(encoding="utf-8")
    broken = []
    for link in (a or b for a, b in LINK.findall(prose(text))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (
            anchor
            and target.suffix == ".md"
            and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", HOUSE_PAGES, ids=_name)
def test_every_relative_link_resolves(page):
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A title\n[a](#a-title) [b](#other) [c](gone.md) [d](page.md) [e](https://example.org)"
    )
    assert broken_links(page) == ["#other", "gone.md"]

"""Runs the pages of README.md and docs/; `tests/docs.py` has the rules for a page."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

import varts
from tests.docs import ACCEPT, PAGES, ROOT, mistakes, name_of, page_runner, steps_of
from varts.cli import load_commands

HOUSE_PAGES = sorted({*PAGES, *ROOT.glob("*.md")})


@pytest.fixture(scope="module")
def runner():
    with page_runner() as run:
        yield run


def page_parameter(page):
    """A page to run: README.md and the tutorials in every run, others if they changed."""
    name = name_of(page)
    always = name == "README.md" or name.startswith("docs/tutorials/")
    return pytest.param(page, id=name, marks=[] if always else pytest.mark.when_changed(name))


@pytest.mark.parametrize("page", [page_parameter(page) for page in PAGES])
def test_the_page_shows_what_its_examples_print(page, tmp_path, runner):
    found = mistakes(page.read_text(encoding="utf-8"), tmp_path, runner)
    if found:
        hint = f"If the new output is right, accept it: {ACCEPT} {name_of(page)}"
        pytest.fail("\n\n".join([*map(str, found), hint]), pytrace=False)


# ---------------------------------------------------------------- the runner finds mistakes

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
CHEAP = [
    ("```python\nprint(1)\n```\n```text\n2\n```\n", "printed:\n1"),
    ("```python\nprint(undefined)\n```\n", "NameError"),
]
OTHERS = [
    ("```python\nprint(1)\n```\n\n```output\n1 1\n```\n", "printed:\n1"),
    (SITE + "```python\nprint(undefined)\n```\n", "NameError"),
    (FILE + "```console\n$ cat note.toml\n# other.toml\n```\n", "shows:\n# other.toml"),
    ("```console\n$ cat gone.toml\n```\n", "exit code 1"),
    ("```console\n$ varts serve --host 0.0.0.0 &\n```\n", "exit code 1"),
    ("```console\n$ varts serve --no-auth &\nvarts: on http://\n```\n", "on http://"),
    (SERVE + "$ curl -s http://127.0.0.1:8321/healthz\ndead\n```\n", '{"status":"alive"}'),
    (FILE + "<!-- exit code 1 -->\n```console\n$ cat note.toml\n```\n", "exit code 0"),
]
if_the_runner_changed = pytest.mark.when_changed(
    "tests/docs.py", "tests/page_runner.py", "tests/test_docs.py"
)


@if_the_runner_changed
def test_the_runner_accepts_a_right_page(tmp_path, runner):
    assert mistakes(GOOD.format(version=varts.__version__), tmp_path, runner) == []


@pytest.mark.parametrize(
    ("page", "complaint"),
    [*CHEAP, *(pytest.param(*case, marks=if_the_runner_changed) for case in OTHERS)],
)
def test_the_runner_rejects_a_wrong_page(page, complaint, tmp_path, runner):
    found = mistakes(page, tmp_path, runner)
    assert len(found) == 1
    assert complaint in str(found[0])


@if_the_runner_changed
def test_a_text_block_after_a_sentence_is_not_output(tmp_path, runner):
    page = "```python\nprint(1)\n```\n\nA sentence.\n\n```text\n2\n```\n"
    assert mistakes(page, tmp_path, runner) == []


# ------------------------------------------------------------------ the pages are complete


def test_every_command_is_documented():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = [name for name in load_commands() if not name.startswith("-")]
    assert commands
    assert [name for name in commands if f"varts {name}" not in text] == []


def test_no_page_gives_a_live_experiment_a_seed():
    """Readers copy what they see, and a published seed makes decisions predictable."""
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
        and (not value.__doc__ or value.__doc__.startswith(f"{name}("))  # a dataclass writes one
    ]
    assert silent == []


def test_the_reference_lists_every_public_name_once():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/api").glob("*.md"))
    listed = " ".join(re.findall(r"^```\{public\} (.+)$", pages, re.MULTILINE)).split()
    assert len(listed) == len(set(listed))
    modules = {f"varts.{name}" for name in varts.__all__ if inspect.ismodule(getattr(varts, name))}
    assert set(listed) == modules | (set(varts._home.values()) - {"varts"})


def test_the_tree_on_the_page_about_architecture_matches_the_package():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    tree = re.search(r"^src/varts/\n((?:  .+\n)+)", text, re.MULTILINE)[1]
    named = {word.rstrip("/") for word in re.findall(r"[a-z_]+(?:\.py|/(?= ))", tree)}
    there = {path.name for path in (ROOT / "src/varts").iterdir() if path.name[0] not in "_."}
    assert named - {"engine"} == there - {"data", "py.typed"}


def test_the_project_describes_itself_in_one_way():
    said = " ".join(varts.__doc__.partition("\n\n")[0].split())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["description"] == said
    for name in ("README.md", "docs/index.md"):
        assert f"\n{said}\n" in (ROOT / name).read_text(encoding="utf-8"), name
    assert f'abstract: "{said}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_citation_names_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r'^version: "(.+)"$', citation, re.MULTILINE)[1] == varts.__version__


# -------------------------------------------------------------------------------------- links

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def prose(text: str) -> str:
    """The page without code blocks and code spans."""
    return re.sub(
        r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    )


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page."""
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", without_blocks, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def broken_links(page: Path) -> list[str]:
    """The relative links of a page that don't resolve."""
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


@pytest.mark.parametrize("page", HOUSE_PAGES, ids=name_of)
def test_every_relative_link_resolves(page):
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A title\n[a](#a-title) [b](#other) [c](gone.md) [d](page.md) [e](https://example.org)"
    )
    assert broken_links(page) == ["#other", "gone.md"]

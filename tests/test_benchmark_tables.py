"""`make bench NAME=tables` makes every generated table about other papers and packages again."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LISTS = {  # read, not imported: tests must run without what benchmarks need
    line.targets[0].id: line.value
    for line in ast.parse((ROOT / "benchmarks/__main__.py").read_text(encoding="utf-8")).body
    if isinstance(line, ast.Assign)
}
BENCHMARKS = ast.literal_eval(LISTS["BENCHMARKS"])
TABLES = [one.value for one in ast.walk(LISTS["TABLES"]) if isinstance(one, ast.Constant)]
PAGES = ("family", "best-arm", "heavy-tails", "benchmarks", "benchmarks-live", "benchmarks-context")


def modules_run(names):
    """The modules of benchmarks/ that these benchmarks run."""
    return {module.split()[0] for name in names for module in BENCHMARKS[name][1]}


def modules_writing(pages):
    """The modules that write between the marks of a page: `put` without a page is benchmarks.md."""
    found = {}
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r'"([\w-]+)\.md"', text)) & set(pages)
        if re.search(r"report\.put\(\"[\w-]+\", text(, measured=.*)?\)", text):
            named.add("benchmarks")
        if named and path.stem != "report":
            found[path.stem] = named
    return found


def test_every_page_with_generated_tables_is_remade():
    writing = modules_writing(PAGES)
    assert set().union(*writing.values()) == set(PAGES)
    # `versions` is left out: it needs an earlier revision as an argument.
    assert set(writing) - {"versions"} <= modules_run(TABLES)


def test_a_benchmark_that_is_left_out_is_noticed():
    """The control."""
    without = [name for name in TABLES if name != "family"]
    assert set(modules_writing(PAGES)) - modules_run(without) - {"versions"} == {"family"}
    marked = {
        page.stem for page in (ROOT / "docs").glob("*.md")
        if page.stem in PAGES and ": generated -->" in page.read_text(encoding="utf-8")
    }  # fmt: skip
    assert marked == set(PAGES)


def test_every_program_has_a_name_for_make():
    run = modules_run(BENCHMARKS)
    assert [
        name
        for name in run
        if not any((ROOT / "benchmarks" / one).exists() for one in (f"{name}.py", name))
    ] == []
    programs = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    assert {name for name in programs - run - {"__main__"} if not _is_a_part(name)} == set()


def _is_a_part(name):
    """Whether another benchmark starts it in a process or an environment of its own."""
    others = (path for path in (ROOT / "benchmarks").glob("*.py") if path.stem != name)
    return any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in others)


def test_an_unknown_benchmark_lists_the_known_ones():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "sped"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "unknown benchmark 'sped'\n"
    assert "\nspeed" in f"\n{done.stdout}"

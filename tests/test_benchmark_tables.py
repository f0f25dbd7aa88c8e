"""`make bench-tables` remakes every generated table about other papers and packages."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PAGES = ("family", "best-arm", "heavy-tails", "benchmarks", "benchmarks-live", "benchmarks-context")


def modules_run(makefile):
    """The modules of benchmarks/ that `make bench-tables` runs."""
    targets = re.search(r"^TABLES := ((?:.*\\\n)*.*)$", makefile, re.M).group(1)
    runs = []
    for target in targets.replace("\\\n", " ").split():
        recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.M).group(1)
        runs += re.findall(r"-m benchmarks\.(\w+)", recipe)
    return set(runs)


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
    assert set(writing) <= modules_run(MAKEFILE)


def test_a_benchmark_that_is_left_out_is_noticed():
    """The control."""
    without = re.sub(r"bench-family bench-best-arm", "bench-best-arm", MAKEFILE)
    assert set(modules_writing(PAGES)) - modules_run(without) == {"family"}
    marked = {
        page.stem for page in (ROOT / "docs").glob("*.md")
        if page.stem in PAGES and ": generated -->" in page.read_text(encoding="utf-8")
    }  # fmt: skip
    assert marked == set(PAGES)

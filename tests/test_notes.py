"""docs/notes.md names every note, warning and finding that there is in the code, and no others.

The sentences are read from the source: those of a `Finding` that is not ok, of `notes.append(...)`
and `warnings.warn(...)`, of functions that are called after notes, of the stop rule, and of the few
functions below that write sentences for these. Numbers and names stand between the words of a
sentence; every run of `WORDS` words or more between them must be on the page as it is printed.
"""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "varts"
PAGE = (ROOT / "docs" / "notes.md").read_text(encoding="utf-8")
WORDS = 3  # fewer, such as "at most", tell nothing by themselves
SHORT = (  # of fewer words
    *("kurtosis ...", "outlier: "),
    *("learning earned", "learning probably earned"),
)
STOP_RULE = "live/report/rules.py"
WRITERS = {  # by file, beside the functions that have "note" in their names
    "checks/rewards.py": {"describe_trend"},
    "checks/tally.py": {"_disorder"},
    "cli/report.py": {"_advice"},
    "context/text.py": {"_why_not"},
    "evaluation/evaluate.py": {"_refuse_blindness"},
    "fitting/aggregate.py": {"describe_words"},
    "fitting/diagnostics.py": {"__str__"},
    "fitting/held_out.py": {"__str__"},
    "live/report/control.py": {"compare_with_control"},
    "live/report/estimates.py": {"anytime_unavailable"},
    "live/report/gain.py": {"__str__"},
    "live/report/guardrails.py": {"explain"},
    "live/report/report.py": {"report_of", "verdict"},
    "planning/result.py": {"_advise_half_life"},
    "priors/matching.py": {"arms_not_found"},
}


def is_call(node, name, of=None):
    """Whether it calls `name`, or `of.name`."""
    if not isinstance(node, ast.Call):
        return False
    words = ast.unparse(node.func).split(".")
    return words == ([name] if of is None else [of, name])


def strings(node):
    """The fixed parts of all strings below a node."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def constants(module, node):
    """The strings of the constants that are named below a node."""
    for name in ast.walk(node):
        if isinstance(name, ast.Name):
            value = getattr(module, name.id, None)
            yield from value.values() if isinstance(value, dict) else [value]


class Function:
    """What a function says."""

    def __init__(self, node, module):
        self.node, self.module = node, module
        self.given = []  # (line, name, value) of its variables
        for part in ast.walk(node):
            if isinstance(part, ast.Assign) and len(part.targets) == 1:
                target, value = part.targets[0], part.value
                pairs = [(target, value)]
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = zip(target.elts, value.elts, strict=True)
                self.given += [(part.lineno, ast.unparse(a), b) for a, b in pairs]

    def everything(self):
        """All its strings but the docstring."""
        for statement in self.node.body[ast.get_docstring(self.node) is not None :]:
            yield from strings(statement)
            yield from constants(self.module, statement)

    def findings(self):
        """The calls that make a finding which is not ok."""
        for part in ast.walk(self.node):
            ok = is_call(part, "Finding") and ast.unparse(part.args[1]) == "OK"
            if not ok and (is_call(part, "Finding") or is_call(part, "too_few")):
                yield part

    def texts(self, node, line):
        """Its strings, and those of the variables in it as they are on that line."""
        yield from strings(node)
        yield from constants(self.module, node)
        for name in {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}:
            given = [(at, value) for at, other, value in self.given if other == name and at < line]
            if given:
                at, value = max(given, key=lambda one: one[0])
                yield from self.texts(value, at)


def functions(path):
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    calls = ("Finding", "too_few")
    wanted = [n for n in found if any(is_call(part, c) for part in ast.walk(n) for c in calls)]
    named = [node for node in found if is_writer(path, node.name)]
    module = importlib.import_module(name) if wanted or named else None
    return tree, [Function(n, module) for n in wanted], [Function(n, module) for n in named]


def is_writer(path, name):
    file = path.relative_to(SOURCE).as_posix()
    return "note" in name or file == STOP_RULE or name in WRITERS.get(file, ())


def told(path):
    """All strings of a file that a user may be told."""
    tree, checks, writers = functions(path)
    for function in checks:
        for call in function.findings():
            yield from function.texts(call, call.lineno)
    for function in writers:
        yield from function.everything()
    for node in ast.walk(tree):
        if is_call(node, "append", "notes") or is_call(node, "warn", "warnings"):
            yield from strings(node)


def words_of(text):
    """On one line, and without marks at its ends."""
    return " ".join(text.split()).strip(" ,;:.()±'\"")


def pieces(paths):
    """Each run of words with the file that has it."""
    found = {}
    for path in paths:
        for text in told(path):
            words = words_of(text) if isinstance(text, str) else ""
            if len(words.split()) >= WORDS:
                found.setdefault(words, path.relative_to(SOURCE).as_posix())
    return found


@pytest.fixture(scope="module")
def said():
    return pieces(sorted(SOURCE.rglob("*.py")))


def missing(said, page):
    """What is said and not on the page."""
    text = " ".join(page.replace("`", "").replace("*", "").split())
    return {words: file for words, file in said.items() if words not in text}


def rows_of(page):
    """What is said, of every row: the cell after the name of a check, else the first."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) in (3, 4) and cells[-3] not in ("---", "it says"):
            yield cells[-3]


def test_the_page_has_every_sentence(said):
    assert missing(said, PAGE) == {}


def test_sentences_come_from_everywhere(said):
    """Or the test above would pass for want of anything to look for."""
    assert set(said.values()) >= {
        "checks/decisions.py", "checks/rewards.py", "checks/tally.py", "cli/report.py",
        "evaluation/evaluate.py", "fitting/estimators.py", "fitting/diagnostics.py",
        "fitting/unit.py", "live/report/rules.py", "planning/plan.py", "planning/recorded.py",
        "priors/matching.py", "simulation/engine/kernel_cache.py",
    }  # fmt: skip
    assert len(said) > 100


def test_the_page_has_nothing_else(said):
    """Every row quotes a sentence that there is."""
    stale = [
        row
        for row in rows_of(PAGE)
        if not any(words in row.replace("*", "") for words in said) and not row.startswith(SHORT)
    ]
    assert stale == []


def test_a_new_sentence_is_missed(tmp_path, monkeypatch):
    """The control: a note and a finding that nobody has described yet."""
    monkeypatch.setitem(globals(), "SOURCE", tmp_path / "invented")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "invented").mkdir()
    file = tmp_path / "invented" / "checks.py"
    file.write_text(
        'CURE = "eat an apple every day"\n'
        "def check_moon(moon):\n"
        '    name, text = "moon", f"the moon is {moon}"\n'
        "    if moon:\n"
        '        return Finding(name, OK, moon, "all is well tonight")\n'
        '    return Finding(name, NOTE, moon, f"{text} and sheds no light; {CURE}")\n'
        "def fit(notes):\n"
        '    notes.append("the tide is out today")\n',
        encoding="utf-8",
    )
    found = missing(pieces([file]), PAGE)
    assert set(found) == {
        "the moon is", "and sheds no light", "eat an apple every day", "the tide is out today"
    }  # fmt: skip


def names():
    """The names of all findings."""
    for path in sorted((SOURCE / "checks").glob("*.py")):
        for function in functions(path)[1]:
            for call in function.findings():
                texts = function.texts(call.args[0], call.lineno)
                yield from (text for text in texts if isinstance(text, str))


def test_the_page_names_every_finding():
    found = set(names())
    assert {"zeros", "drift", "rows", "rewards by arm"} <= found
    assert found - set(re.findall(r"^\| `([^`]+)` \|", PAGE, flags=re.MULTILINE)) == set()


def test_the_page_has_every_reason_to_leave_a_row_out():
    section = PAGE.split("## Rows that are left out")[1]
    for file in ("evaluation/log.py", "fitting/aggregate.py"):
        tree = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
        reasons = [
            words_of(text)
            for node in ast.walk(tree)
            if is_call(node, "lit", "pl")
            for text in strings(node)
        ]
        assert len(reasons) > 2
        assert [text for text in reasons if text not in section] == []

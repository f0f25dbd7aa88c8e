"""`python -m tests.docs --accept` rewrites stale output and nothing else."""

from contextlib import nullcontext

import pytest

from tests import docs
from tests.docs import check, main, merged, page_runner

PAGE = """\
# A page \t

````{tab-set}
```python
print("inside a longer fence: not run")
```
```text
not output
```
````

```python
print(a)
print(b)
```

```output
1
2  \t
```
```console
$ varts one \\
    --more
old
  kept   ...
...
last

$ make sandwich
a sandwich
$ varts two
right
```

<!-- exit code 2 -->
```console
$ varts three
varts: wrong
```

````python
print("```")
````
````text
```
````
"""
DONE = [
    {"code": 0, "out": "1\n3\n", "err": ""},
    {"code": 0, "out": "new\n  kept as it was\na\nb\nlast\n", "err": "a warning"},
    {"code": 0, "out": "right\n", "err": ""},
    {"code": 2, "out": "", "err": "varts: still wrong\n"},
    {"code": 0, "out": "```\n", "err": ""},
]
ACCEPTED = (
    PAGE.replace("2  \t\n", "3\n").replace("old\n", "new\n").replace(": wrong", ": still wrong")
)
TRACEBACK = "Traceback (most recent call last):\nKeyError: 1\n"


@pytest.fixture
def accept(tmp_path, monkeypatch):
    """Write a page and accept the given results; whether all went well, and the page afterwards."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"

    def run(text, done):
        page.write_bytes(text.encode())
        went_well = check(page, lambda steps, folder: done, accept=True)
        return went_well, page.read_bytes().decode()

    return run


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_it_rewrites_stale_output_and_nothing_else(accept, capsys, line_break):
    before, after = (page.replace("\n", line_break) for page in (PAGE, ACCEPTED))
    assert accept(before, DONE) == (True, after)
    assert capsys.readouterr().out.splitlines() == [
        "page.md:13: accepted the output of: print(a)",
        "page.md:22: accepted the output of: varts one --more",
        "page.md:37: accepted the output of: varts three",
    ]
    assert accept(after, DONE) == (True, after)
    assert capsys.readouterr().out == ""


def test_line_numbers_are_those_of_the_new_page(accept, capsys):
    page = "```console\n$ cat a\n1\n$ cat b\n1\n```\n"
    done = [{"code": 0, "out": "2\n3\n", "err": ""}, {"code": 0, "out": "", "err": ""}]
    assert accept(page, done) == (True, "```console\n$ cat a\n2\n3\n$ cat b\n```\n")
    assert "page.md:5: accepted the output of: cat b" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("index", "result", "message"),
    [
        (0, {"code": 1, "out": "", "err": TRACEBACK}, "KeyError"),
        (1, {"code": 2, "out": "new", "err": "varts: no"}, "exit code 2, expected 0"),
        (3, {"code": 0, "out": "new", "err": ""}, "exit code 0, expected 2"),
        (3, {"code": 2, "out": "", "err": TRACEBACK}, "KeyError"),
        (2, {"code": 0, "out": "$ varts four\n", "err": ""}, "looks like a prompt"),
        (2, {"code": 0, "out": "```\n", "err": ""}, "looks like a prompt or a fence"),
    ],
)
def test_it_leaves_a_page_with_an_error_alone(accept, capsys, index, result, message):
    done = [*DONE[:index], result, *DONE[index + 1 :]]
    assert accept(PAGE, done) == (False, PAGE)
    out = capsys.readouterr().out
    assert message in out
    assert "page.md: not changed" in out


@pytest.mark.parametrize(
    ("shown", "printed", "result"),
    [
        ("a|b", "a|b", "a|b"),
        ("a|...|b 1|c", "a|x|y|b 2|c", "a|...|b 2|c"),
        ("a|...|b", "a|x|c", "a|...|c"),  # `...` doesn't swallow what replaces a shown line
        ("old|...", "new|x|y", "new|..."),
        ("...|VarTS 90% 477|...", "h|VarTS 50% 1|VarTS 90% 2|TS14 90% 3", "...|VarTS 90% 2|..."),
        ("t: ... s|old", "t: 3 s|new", "t: ... s|new"),
        ("t: ... s|old", "u: 3 s|new", "u: 3 s|new"),
        ("  to 5 in ... of all|b", "  to 2 in 1% [0%, 2%] of all|b", "  to 2 in ... of all|b"),
        ("from ... to|old", "from|here|to|new", "from ... to|new"),
        ("a|...", "a2", "a2|..."),
        ("a|b|c", "a|c", "a|c"),
        ("a|c", "a|b|c", "a|b|c"),
        ("a   b|old", "a b|new", "a   b|new"),
        ("a", "", ""),
        ("", "a", "a"),
    ],
)
def test_lines_that_still_match_are_kept(shown, printed, result):
    lines = [text.split("|") if text else [] for text in (shown, printed, result)]
    assert merged(*lines[:2]) == lines[2]


@pytest.mark.when_changed("tests/docs.py", "tests/page_runner.py", "tests/test_accept_docs.py")
def test_the_command_runs_pages_and_reports_errors(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    stale, wrong = tmp_path / "stale.md", tmp_path / "wrong.md"
    stale.write_text("```python\nprint(1 + 1)\n```\n```text\n3\n```\n")
    wrong.write_text("```python\nprint(1 + 1)\n1 / 0\n```\n```text\n3\n```\n")
    before = wrong.read_bytes()
    with page_runner() as run:  # one for all calls: it takes seconds to start
        monkeypatch.setattr(docs, "page_runner", lambda: nullcontext(run))
        assert main(["stale.md"]) == 1  # it only reports
        assert stale.read_text().endswith("3\n```\n")
        assert main(["--accept", "wrong.md", "stale.md"]) == 1
        assert main(["--accept", "stale.md"]) == 0
    assert stale.read_text().endswith("2\n```\n")
    assert wrong.read_bytes() == before
    assert "ZeroDivisionError" in capsys.readouterr().out

"""Progress in a notebook, and one bar for several pieces of work."""

import sys
from types import SimpleNamespace

import pytest

from varts import _progress
from varts._progress import Progress, SharedProgress, in_notebook, show_progress


@pytest.fixture
def notebook(monkeypatch):
    """IPython as it is in a kernel; the real one need not be there."""
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(_progress, "DELAY_SECONDS", -1)


def test_a_notebook_sees_progress_unless_it_is_silenced(notebook, capsys):
    assert in_notebook()
    for show in (None, True):
        with show_progress(show) as bar:
            bar.stage("playing", 200)
            bar.at(50)
        written = capsys.readouterr().err
        assert "\rplaying: 25%, 0 s" in written
        assert written.rsplit("\r", 1)[1] == ""  # and is cleared
    with show_progress(False) as bar:
        bar.stage("playing", 200)
        bar.at(50)
    assert capsys.readouterr().err == ""


def test_other_shells_are_no_notebooks(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: object()))
    assert not in_notebook()


def test_a_shared_bar_begins_once_and_goes_on():
    class Seen(Progress):
        def __init__(self):
            self.calls = []

        def stage(self, text, total=None):
            self.calls.append((text, total))

        def at(self, done):
            self.calls.append(done)

    seen = Seen()
    shared = SharedProgress(seen, "all", [10.0, 30.0])
    for size in (10, 30):
        shared.next()
        shared.stage("playing", size)
        shared.at(size)
    assert seen.calls == [("all", 40.0), 0.0, 10.0, 10.0, 40.0]
    shared.stage("compiling x")
    shared.stage("playing", 30)
    assert seen.calls[-2:] == [("compiling x", None), ("all", 40.0)]

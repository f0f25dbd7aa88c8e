"""Kernels that are missing: found, compiled in several processes, and announced."""

import tempfile
import threading
from dataclasses import replace

import numpy as np
import pytest

import varts
from varts._progress import Progress
from varts.simulation.engine import compilers, kernel_cache
from varts.simulation.engine.compilers import compiling, missing_kernels, prepare_kernels
from varts.simulation.simulate import make_work

pytestmark = pytest.mark.when_changed("src/varts/simulation/engine")


class Stages(Progress):
    def __init__(self):
        super().__init__()
        self.texts = []

    def stage(self, text, total=None):
        self.texts.append(text)


def bonus(size):
    """An index of one's own: another size makes another kernel."""

    @varts.index_policy(f"bonus {size}")
    def index(n, mean, m2, t):
        return mean + size / np.sqrt(n)

    return index


def work_of(*policies, **named):
    policies = named or policies
    return make_work(varts.GaussianBandit(K=3), policies, horizon=40, runs=16, seed=1)


def hits(work):
    """Which kernels were found on disk, by label."""
    loops = {label: prepared.loop for label, prepared in work.prepared.items()}
    return [label for label, loop in loops.items() if sum(loop.stats.cache_hits.values())]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compilers.os, "cpu_count", lambda: 2)


def test_several_processes_compile_several_kernels():
    work, bar = work_of(*map(bonus, (0.51, 0.52, 0.53))), Stages()
    prepare_kernels(work, 2, bar)
    # Of three, the first and the last are compiled here; the one between comes from disk.
    assert hits(work) == ["bonus 0.52"]
    assert bar.texts == [
        "compiling 1 of 3: bonus 0.51",
        "compiling 2 of 3: bonus 0.53",
        "compiling 3 of 3: bonus 0.52",
    ]
    again = Stages()
    prepare_kernels(replace(work), 2, again)
    assert again.texts == [] and missing_kernels(work) == []
    # Two policies that share a new kernel have it compiled in this process, and nobody counts.
    more, bar = work_of(old=bonus(0.51), new=bonus(0.54), same=bonus(0.54)), Stages()
    prepare_kernels(more, 2, bar)
    assert bar.texts == ["compiling new"] and hits(more) == []


@pytest.mark.parametrize("why", ["one thread", "no folder"])
def test_where_it_is_of_no_use_no_process_is_started(monkeypatch, why):
    monkeypatch.setattr(compilers, "compiling", None)  # whoever called it would fail
    monkeypatch.setattr(compilers.Work, "compile", lambda self, label: None)
    monkeypatch.setattr(compilers, "missing_kernels", lambda work: list(work.policies))
    if why == "no folder":
        monkeypatch.setattr(kernel_cache, "cache_folders", list)
    work, bar = work_of(*map(bonus, (0.51, 0.52, 0.53))), Stages()
    prepare_kernels(work, 1 if why == "one thread" else 2, bar)
    assert len(bar.texts) == 3
    if why == "one thread":  # the same with two
        with pytest.raises(TypeError, match="NoneType"):
            prepare_kernels(work, 2, bar)


def test_what_another_process_fails_at_is_compiled_here(monkeypatch):
    monkeypatch.setattr(compilers, "PROGRAM", "raise SystemExit('no')")
    work, bar = work_of(*map(bonus, (0.61, 0.62, 0.63))), Stages()
    prepare_kernels(work, 2, bar)
    assert hits(work) == [] and len(bar.texts) == 3
    assert missing_kernels(work) == []


def test_an_error_in_a_formula_is_told_as_ever():
    @varts.index_policy("wrong")
    def wrong(n, mean, m2, t):
        return mean + open("x")

    work = work_of(bonus(0.51), wrong, bonus(0.52))
    with pytest.raises(ValueError, match="index of wrong must be plain arithmetic"):
        prepare_kernels(work, 2, Stages())


def test_a_policy_that_cannot_be_pickled_starts_no_process(monkeypatch):
    work = work_of(bonus(0.51))
    started = []
    monkeypatch.setattr(compilers.subprocess, "Popen", lambda *_, **__: started.append(1))
    object.__setattr__(work, "recommend", threading.Lock())
    with compiling(work, ["bonus 0.51"]) as wait:
        assert wait() is None and not started
    monkeypatch.setattr(tempfile, "TemporaryFile", None)  # nor where there is no room for a task
    with compiling(replace(work, recommend="mean"), ["bonus 0.51"]) as wait:
        assert wait() is None and not started


def test_a_process_that_is_not_needed_any_more_is_ended(monkeypatch):
    monkeypatch.setattr(compilers, "PROGRAM", "import time; time.sleep(600)")
    with compiling(work_of(bonus(0.51)), ["bonus 0.51"]) as wait:
        process = wait.__self__
        assert process.poll() is None
    assert process.returncode < 0

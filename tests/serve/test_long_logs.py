"""Long logs are read in a process of their own, with the same result."""

import multiprocessing
import os
import threading
import time
from functools import partial

import pytest

import varts
from varts.live import Experiment, StoreError
from varts.serve import long_logs
from varts.serve.long_logs import reading
from varts.serve.web.handlers import read_history


@pytest.fixture(params=["sqlite", "postgres"])
def exp(request, tmp_path, monkeypatch):
    monkeypatch.setattr(long_logs, "LONG", 10)
    url = f"sqlite:///{tmp_path / 'a b.db'}?timeout=9"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres")()
    made = varts.open("price", ["9", "12"], store=url)
    made.reward_many([(one.id, float(one.arm)) for one in made.decide_many(60)])
    return made


def pid(exp):
    return os.getpid()


def fail(exp):
    raise ValueError(f"no such thing in {exp.name}")


def die(exp):
    os._exit(1)


@pytest.mark.when_changed("src/varts/live", "src/varts/serve")
def test_it_is_read_elsewhere_and_the_same(exp):
    version = exp.state.version
    assert reading(exp, version, pid)() != os.getpid()
    (there, no_gain), (here, _) = reading(exp, version, read_history)(), read_history(exp)
    assert there.equals(here) and no_gain is None
    evaluate = partial(Experiment.evaluate, policy=varts.always("12"), against=varts.EvenSplit())
    assert str(reading(exp, version, evaluate)()) == str(evaluate(exp))


@pytest.mark.when_changed("src/varts/serve")
def test_what_goes_wrong_there_is_told_here(exp):
    version = exp.state.version
    with pytest.raises(ValueError, match="no such thing in price"):
        reading(exp, version, fail)()
    with pytest.raises(RuntimeError, match="has ended before its time"):
        reading(exp, version, die)()
    exp.store.close()
    assert multiprocessing.active_children() == []


def test_short_logs_and_those_in_memory_are_read_here(monkeypatch, tmp_path):
    kept = varts.open("price", ["9", "12"], store="memory://")
    short = varts.open("price", ["9", "12"], store=f"sqlite:///{tmp_path / 'short.db'}")
    assert reading(kept, 10**9, pid)() == reading(short, 5, pid)() == os.getpid()


@pytest.mark.when_changed("src/varts/serve")
def test_a_store_that_is_gone_is_a_store_error(tmp_path, monkeypatch):
    monkeypatch.setattr(long_logs, "LONG", 1)
    made = varts.open("price", ["9"], store=f"sqlite:///{tmp_path / 'gone.db'}")
    read = reading(made, 5, pid)
    made.close()
    for file in tmp_path.iterdir():
        file.unlink()
    (tmp_path / "gone.db").mkdir()
    with pytest.raises(StoreError):
        read()


def sleep(exp):
    time.sleep(60)


def test_it_ends_with_the_service(exp):
    ended = []

    def read():
        try:
            reading(exp, 99, sleep)()
        except RuntimeError as error:
            ended.append(str(error))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    while not multiprocessing.active_children():
        time.sleep(0.01)
    (process,) = multiprocessing.active_children()
    assert process.daemon
    process.terminate()  # as the end of the service does with all of them
    thread.join(20)
    assert ended == ["the process that read a log has ended before its time"]

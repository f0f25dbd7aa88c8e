"""What takes a whole log to know: read in the background, kept, and made anew with rests."""

import asyncio
import threading
import time

import pytest

import varts
from varts.serve import chronicles, readings
from varts.serve.chronicles import Chronicles
from varts.serve.readings import MOST_KEPT, REST, Readings


class Clock:
    """Stands still until it is told."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def reading(value, clock=None, seconds=0.0):
    """What takes so long to read, and how often it was read."""
    counted = []

    def read():
        counted.append(value)
        if clock is not None:
            clock.now += seconds
        return value

    return read, counted


def run(coroutine):
    return asyncio.run(coroutine)


def test_what_is_quick_is_there_at_once_and_read_once(clock):
    async def ask():
        kept, (read, counted) = Readings(clock), reading("found", clock)
        first = await kept.ask(("a",), 1, read)
        again = await kept.ask(("a",), 1, read)
        assert (first.value, first.version, again) == ("found", 1, first)
        assert counted == ["found"]
        assert (await kept.ask(("a",), 2, read)).version == 2
        await kept.close()

    run(ask())


def test_a_long_log_is_read_a_twentieth_of_the_time(clock):
    async def ask():
        kept, (read, counted) = Readings(clock), reading("found", clock, seconds=10.0)
        await kept.ask(("a",), 1, read)
        for version in range(2, 40):
            clock.now += REST * 10 / 19.5
            assert (await kept.ask(("a",), version, read)).version < version
            await asyncio.sleep(0.01)
        assert len(counted) == 2  # after 190 s of rest, and not before
        await kept.close()

    run(ask())


def test_nobody_waits_for_long(monkeypatch):
    monkeypatch.setattr(readings, "PATIENCE_SECONDS", 0.1)

    async def ask():
        kept, go = Readings(), threading.Event()
        began = time.monotonic()
        assert await kept.ask(("a",), 1, go.wait) is None
        assert await kept.ask(("a",), 1, go.wait) is None  # the same one is still being read
        assert time.monotonic() - began < 5
        assert threading.active_count() < 10
        go.set()
        while await kept.ask(("a",), 1, go.wait) is None:
            await asyncio.sleep(0.01)
        await kept.close()

    run(ask())


def test_nobody_waits_at_all_for_what_cannot_be_quick(monkeypatch):
    monkeypatch.setattr(readings, "PATIENCE_SECONDS", 60.0)

    async def ask():
        kept, go = Readings(), threading.Event()
        assert await kept.ask(("a",), 1, go.wait, quick=False) is None
        go.set()
        assert (await kept.ask(("a",), 1, go.wait)).value is True
        await kept.close()

    run(ask())


def test_an_error_is_kept_like_an_answer():
    async def ask():
        def fail():
            raise ValueError("play must be an arm")

        kept = Readings()
        found = await kept.ask(("a",), 1, fail)
        assert str(found.error) == "play must be an arm" and found.value is None
        await kept.close()

    run(ask())


def test_only_the_latest_are_kept():
    async def ask():
        kept = Readings()
        for n in range(MOST_KEPT + 5):
            await kept.ask((n,), 1, lambda: None)
        assert len(kept._known) == MOST_KEPT and (0,) not in kept._known
        await kept.close()

    run(ask())


def test_a_service_that_ends_waits_for_no_log():
    async def ask():
        kept, go = Readings(), threading.Event()
        task = asyncio.create_task(kept.ask(("a",), 1, go.wait))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await kept.close()
        await task
        assert time.monotonic() - began < 1
        return go

    go = run(ask())
    (thread,) = [one for one in threading.enumerate() if one.name == "varts-reading"]
    assert thread.daemon
    go.set()
    thread.join(10)  # it finds that nobody listens any more, and says nothing


# ------------------------------------------------------------------------------ chronicles


def test_a_chronicle_is_all_changes_and_the_latest_corrections(monkeypatch):
    monkeypatch.setattr(chronicles, "MOST_CORRECTIONS", 5)
    monkeypatch.setattr(chronicles, "PAGE", 3)
    exp = varts.open("price", ["9", "12"], store="memory://")
    made = exp.decide_many(20)
    exp.reward_many([(one.id, 1.0) for one in made])
    kept = Chronicles()
    assert [one.kind for one in kept.read(exp)] == ["create"]
    exp.pause_arm("9", by="ops", why="broken")
    for one in made[:12]:
        exp.amend(one.id, 2.0)
    exp.resume_arm("9")
    found = kept.read(exp)
    assert [one.kind for one in found] == ["create", "pause-arm", *5 * ["amend"], "resume-arm"]
    every = exp.changes()
    assert [one for one in every if one.kind != "amend"] == [
        one for one in found if one.kind != "amend"
    ]
    assert [one for one in every if one.kind == "amend"][-5:] == found[2:7]
    assert kept.read(exp) == found


def test_another_experiment_of_the_same_name_has_another_chronicle():
    exp = varts.open("price", ["9", "12"], store="memory://")
    exp.pause_arm("9")
    kept = Chronicles()
    assert len(kept.read(exp)) == 2
    store = exp.store
    exp.delete("price", export=None)
    again = varts.open("price", ["a", "b"], store=store)
    (created,) = kept.read(again)
    assert created.change["arms"] == ["a", "b"]

"""Micro-batches against a model: whatever comes together, everybody gets what one by one gives."""

import asyncio
import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiers import examples
from varts.serve import runtime
from varts.serve.errors import Problem
from varts.serve.runtime import LARGEST_BATCH, Batcher


class Broken(Exception):  # noqa: N818
    """What a store that cannot be used raises."""


class Ledger:
    """What a batcher works on: gives every item twice itself, and refuses multiples of seven."""

    def __init__(self):
        self.batches = []
        self.failures = 0

    def act(self, items):
        self.batches.append(list(items))
        if self.failures:
            self.failures -= 1
            raise Broken
        return [ValueError(item) if item % 7 == 0 else 2 * item for item in items]


def plain(outcomes):
    return [None if isinstance(one, ValueError) else one for one in outcomes]


def one_by_one(items):
    """The model."""
    return [None if item % 7 == 0 else 2 * item for item in items]


async def send(batcher, requests, pauses):
    """All requests at once, each after a number of turns of the loop."""

    async def one(items, turns):
        for _ in range(turns):
            await asyncio.sleep(0)
        return plain(await batcher.submit(items))

    sent = zip(requests, pauses, strict=True)
    try:
        return await asyncio.gather(*(one(items, turns) for items, turns in sent))
    finally:
        await batcher.close()


requests_and_pauses = st.lists(
    st.tuples(
        st.lists(st.integers(1, 1000), min_size=1, max_size=4),
        st.integers(min_value=0, max_value=5),
    ),
    max_size=20,
)


@given(requests_and_pauses)
@examples(50)
def test_everybody_gets_what_one_by_one_gives(sent):
    ledger = Ledger()
    requests = [items for items, _ in sent]
    batcher = Batcher(ledger.act, Broken)
    answers = asyncio.run(send(batcher, requests, [turns for _, turns in sent]))
    assert answers == list(map(one_by_one, requests))
    done = Counter(item for batch in ledger.batches for item in batch)
    assert done == Counter(item for items in requests for item in items)
    assert batcher.waiting == 0


def test_the_property_finds_answers_that_are_mixed_up():
    """Negative control: a batcher that hands out the outcomes in another order."""

    class Careless(Batcher):
        def _deliver(self, batch, outcomes):
            super()._deliver(batch, outcomes[::-1])

    requests = [[1, 2], [3], [4, 5]]
    answers = asyncio.run(send(Careless(Ledger().act, Broken), requests, [0, 0, 0]))
    assert answers != list(map(one_by_one, requests))


def test_a_batch_has_at_most_500_items_and_nothing_is_lost():
    ledger = Ledger()
    requests = [list(range(1, 1001)), *([n] * 3 for n in range(1, 300))]
    answers = asyncio.run(send(Batcher(ledger.act, Broken), requests, [0] * len(requests)))
    assert answers == list(map(one_by_one, requests))
    assert max(map(len, ledger.batches)) == LARGEST_BATCH
    assert [item for batch in ledger.batches for item in batch] == [
        item for items in requests for item in items
    ]


def test_what_arrives_during_a_transaction_goes_into_the_next_one():
    free, ledger = threading.Event(), Ledger()

    def act(items):
        free.wait(10)
        return ledger.act(items)

    async def run():
        batcher = Batcher(act, Broken)
        sent = [asyncio.create_task(batcher.submit([n])) for n in range(1, 7)]
        await asyncio.sleep(0.05)
        more = [asyncio.create_task(batcher.submit([n])) for n in range(8, 14)]
        await asyncio.sleep(0.05)
        free.set()
        await asyncio.gather(*sent, *more)
        await batcher.close()

    asyncio.run(run())
    assert ledger.batches == [list(range(1, 7)), list(range(8, 14))]


def test_a_request_that_is_cancelled_while_it_waits_is_not_done_and_hurts_nobody():
    free, ledger = threading.Event(), Ledger()

    def act(items):
        free.wait(10)
        return ledger.act(items)

    async def run():
        batcher = Batcher(act, Broken)
        under_way = asyncio.create_task(batcher.submit([1]))
        await asyncio.sleep(0.05)
        waiting = [asyncio.create_task(batcher.submit([n])) for n in (2, 3, 4)]
        await asyncio.sleep(0.05)
        under_way.cancel()
        waiting[1].cancel()
        await asyncio.sleep(0)
        free.set()
        assert await waiting[0] == [4] and await waiting[2] == [8]
        assert batcher.waiting == 0
        await batcher.close()

    asyncio.run(run())
    assert ledger.batches == [[1], [2, 4]]  # what was under way could not be taken back


def test_a_connection_that_breaks_is_tried_again_with_the_whole_batch_once():
    ledger = Ledger()
    ledger.failures = 1
    answers = asyncio.run(send(Batcher(ledger.act, Broken), [[1, 2], [3]], [0, 0]))
    assert answers == [[2, 4], [6]]
    assert ledger.batches == [[1, 2, 3], [1, 2, 3]]


def test_a_store_that_stays_broken_fails_all_of_a_batch_and_not_the_next():
    ledger = Ledger()
    ledger.failures = 2

    async def run():
        batcher = Batcher(ledger.act, Broken)
        sent = [batcher.submit([1, 2]), batcher.submit([3])]
        failed = await asyncio.gather(*sent, return_exceptions=True)
        return failed, await batcher.submit([4])

    failed, after = asyncio.run(run())
    assert [type(one) for one in failed] == [Broken, Broken]
    assert after == [8]


def test_a_failure_that_took_its_time_is_not_tried_again(monkeypatch):
    monkeypatch.setattr(runtime, "PROMPT_SECONDS", -1.0)
    ledger = Ledger()
    ledger.failures = 1
    with pytest.raises(Broken):
        asyncio.run(send(Batcher(ledger.act, Broken), [[1]], [0]))
    assert ledger.batches == [[1]]


@pytest.mark.parametrize("most", [runtime.MOST_WAITING, 7])
def test_too_many_that_wait_are_refused_at_once(most):
    free = threading.Event()

    def act(items):
        free.wait(10)
        return items

    async def run():
        batcher = Batcher(act, Broken, most_waiting=most)
        taken = asyncio.create_task(batcher.submit([0]))
        await asyncio.sleep(0.05)
        waiting = [asyncio.create_task(batcher.submit([n])) for n in range(most)]
        await asyncio.sleep(0.05)
        with pytest.raises(Problem, match=f"{most} items are waiting") as refusal:
            await batcher.submit([1])
        assert refusal.value.kind.status == 503
        assert refusal.value.headers["retry-after"] == "1"
        free.set()
        await asyncio.gather(taken, *waiting)
        assert await batcher.submit([1]) == [1]
        await batcher.close()

    asyncio.run(run())


def test_nobody_joins_a_queue_that_does_not_move(monkeypatch):
    monkeypatch.setattr(runtime, "LONGEST_WAIT_SECONDS", 0.02)
    free = threading.Event()

    async def run():
        batcher = Batcher(lambda items: items if free.wait(10) else [], Broken)
        waiting = [asyncio.create_task(batcher.submit([1]))]
        await asyncio.sleep(0.01)
        waiting.append(asyncio.create_task(batcher.submit([2])))
        await asyncio.sleep(0.05)
        with pytest.raises(Problem, match="other requests have been waiting"):
            await batcher.submit([3])
        free.set()
        await asyncio.gather(*waiting)
        await batcher.close()

    asyncio.run(run())


def test_a_closed_batcher_has_finished_and_takes_no_more():
    ledger = Ledger()

    async def run():
        batcher = Batcher(ledger.act, Broken)
        sent = [asyncio.create_task(batcher.submit([n])) for n in range(1, 6)]
        await asyncio.sleep(0)
        await batcher.close()
        assert all(task.done() or batcher.waiting == 0 for task in sent)
        assert await asyncio.gather(*sent) == [[2], [4], [6], [8], [10]]
        with pytest.raises(Problem, match="shutting down"):
            await batcher.submit([1])

    asyncio.run(run())


def test_any_other_failure_is_not_tried_again():
    tried = []

    def act(items):
        tried.append(items)
        raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        asyncio.run(send(Batcher(act, Broken), [[1]], [0]))
    assert tried == [[1]]

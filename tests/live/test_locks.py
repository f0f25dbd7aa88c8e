"""Queues and forks: nobody keeps a lock that is not theirs."""

import fcntl
import os
import signal
import threading

import pytest

import varts
from tests.live import chaos
from tests.live.chaos import in_new_process
from tests.live.stores import shared, with_rewards


@shared
def test_children_go_on_when_their_parent_has_closed(store_url):
    """SQLite's locks are not inherited but the memory of them is: a child that kept its parent's
    connections would write into a file that the parent deletes when it closes."""
    told = in_new_process("family", store_url)
    assert told["codes"] == [0] * 12 and told["stderr"] == ""
    assert told["acknowledged"].count(5) >= 12 and len(told["acknowledged"]) == 3 + 12
    with varts.open("family", store=store_url) as exp:
        assert exp.verify(replay=True).ok
        assert exp.report().frame["n"].sum() == sum(told["acknowledged"])


def test_a_place_in_the_queue_dies_with_its_process(url, file):
    """...even if that process had forked a child that lives on."""
    exp = with_rewards(url)
    stay_read, stay = os.pipe()
    born_read, born = os.pipe()

    def parent():
        inside = threading.Event()

        def hold():
            with exp.store._queue:
                inside.set()
                threading.Event().wait()

        threading.Thread(target=hold, daemon=True).start()
        inside.wait()
        os.close(stay)
        chaos.forked(lambda: (os.write(born, b"x"), os.read(stay_read, 1)))
        os.read(stay_read, 1)

    pid = chaos.forked(parent)
    os.read(born_read, 1)
    queue = os.open(f"{file}-queue", os.O_RDWR)
    with pytest.raises(BlockingIOError):  # the parent has it
        fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the child has not
    for descriptor in (queue, stay, stay_read, born, born_read):
        os.close(descriptor)
    exp.close()

"""What is computed once, and by whom."""

import threading

from varts._caching import computed_once


class Thing:
    made = 0

    def __init__(self, wait=None):
        self.wait = wait

    @computed_once
    def value(self):
        """A number."""
        if self.wait is not None:
            self.wait()
        Thing.made += 1
        return Thing.made


def test_it_is_computed_once():
    thing = Thing()
    assert thing.value == thing.value and Thing().value != thing.value
    assert Thing.value.__doc__ == "A number."


def test_nobody_waits_for_a_thread_that_computes_another_one():
    """In Python 3.11 `functools.cached_property` does, and in a forked child for ever."""
    begun, over = threading.Event(), threading.Event()

    def wait():
        begun.set()
        over.wait(60)

    slow = threading.Thread(target=lambda: Thing(wait).value)
    slow.start()
    assert begun.wait(30)
    found = []
    quick = threading.Thread(target=lambda: found.append(Thing().value), daemon=True)
    quick.start()
    quick.join(30)
    over.set()
    slow.join()
    assert found

"""The demo: a shop with a past, and visitors who come while one watches."""

import subprocess
import sys
import time

import httpx
import numpy as np
import pytest

import varts
from tests.serve.processes import serve, wait_until
from varts.live import Experiment, Store
from varts.serve import demo
from varts.serve.demo import SHOP, VISITORS, Visitors, fill, visited

pytestmark = pytest.mark.no_cover


@pytest.fixture(scope="module")
def store():
    made = Store("memory://")
    fill(made)
    return made


def test_the_shop_has_a_past(store):
    assert store.names() == sorted(SHOP)
    for name, scene in SHOP.items():
        exp = Experiment(name, store)
        found = exp.report()
        assert found.state.rewards == scene.visits
        created, *rest = exp.changes()
        days = (found_end(exp) - created.time).total_seconds() / 86400
        assert abs(days - scene.days) < 0.1
        assert found.state.config.stopped == scene.over == bool(rest)
        assert exp.verify(replay=True).ok
    stopped = Experiment("banner", store)
    assert "P(best)" in stopped.changes()[-1].why
    assert SHOP["checkout-latency"].options["goal"] == "min"


def found_end(exp):
    return (
        exp.history(points=1).frame["time"][-1]
        if not exp.state.config.stopped
        else (exp.changes()[-1].time)
    )


def test_the_clock_of_the_store_is_its_own_again(store):
    assert abs(store.clock() / 1e6 - time.time()) < 60


def test_visitors_come_at_their_rate_and_pay_later():
    store = Store("memory://")
    fill(store)
    mine = varts.open("mine", ["a", "20"], store=store, sticky=True)  # made on a page
    before = {name: Experiment(name, store).report().state.rewards for name in store.names()}
    visitors = Visitors(store)
    ticks = 40
    for tick in range(ticks):
        visitors.come(tick * demo.TICK_SECONDS)
    for name in store.names():
        found = Experiment(name, store).report()
        decided = found.state.rewards - before[name] + int(found.frame["pending"].sum())
        # Poisson with a mean of 160: five standard deviations, once in a million.
        mean = ticks * demo.TICK_SECONDS * VISITORS
        assert abs(decided - mean) < 5 * np.sqrt(mean)
        assert found.frame["pending"].sum() > 0
        assert Experiment(name, store).verify().ok
    assert mine.report().best == "20"  # it pays what it is called


def test_visitors_survive_what_people_do():
    store = Store("memory://")
    fill(store)
    price = Experiment("price", store)
    with visited(store):
        wait_until(lambda: price.report().state.rewards > SHOP["price"].visits, 30)
        price.stop()  # nobody gets anything any more
        price.add_arm("free")
        price.restart()
        Experiment("banner", store).delete("banner", export=None)
        arms = price.report().frame
        wait_until(lambda: price.report().frame["share"][-1] > 0, 60)
    assert arms["arm"][-1] == "free"
    at_the_end = price.report().state.version
    time.sleep(2 * demo.TICK_SECONDS)
    assert price.report().state.version == at_the_end


def test_only_an_empty_store_is_filled(store, tmp_path):
    with pytest.raises(ValueError, match=r"store must have no experiments for a demo, got 3 in"):
        fill(store)
    url = f"sqlite:///{tmp_path / 'mine.db'}"
    varts.open("mine", ["a"], store=url).close()
    program = [sys.executable, "-c", "from varts.cli import main\nmain()"]
    command = [*program, "serve", "--demo", "--port", "0", "--store", url]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "store must have no experiments for a demo, got 1 in" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_newcomer_soon_sees_a_page_that_lives(tmp_path):
    began = time.monotonic()
    with serve(tmp_path, "--demo", store="sqlite:///varts.db") as service:
        with httpx.Client(follow_redirects=True) as browser:
            page = browser.get(service.link).text
            assert all(f"/experiments/{name}" in page for name in SHOP)

            def rewards():
                found = browser.get(f"{service.address}/v1/experiments/price").json()
                return found["rewards"]

            first = rewards()
            wait_until(lambda: rewards() > first)
        took = time.monotonic() - began
        service.process.terminate()
        assert service.process.wait(10) == 0
    assert not (tmp_path / "varts.db").exists()  # it had a store of its own, which is gone
    assert took < 40  # 4 where nobody else is at work

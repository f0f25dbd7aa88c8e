"""A shop to look at: `varts serve --demo` fills a store with experiments, and visitors whom it
simulates decide and reward while one watches.

They use the library beside the service, as any other process on the same store would. Experiments
that are made on the pages get visitors, too.
"""

from __future__ import annotations

import contextlib
import heapq
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from varts.live import Experiment, ExperimentStopped, Store
from varts.live.experiment import open_experiment
from varts.priors import NormalGamma
from varts.serve.telemetry import tell_error

TICK_SECONDS = 0.5
VISITORS = 8.0  # a second, in every experiment
REWARD_SECONDS = 3.0  # from a decision to its reward, on average
MOST_EXPERIMENTS = 20  # that get visitors
DAY = 86_400_000_000  # microseconds
BATCHES = 48  # that the past consists of
OPERATOR = "demo"

Pay = Callable[[str, np.random.Generator], float]


def number_in(arm: str) -> float:
    """The number that an arm is called, or else one that follows from its name.

    >>> number_in("12.50"), number_in("blue")
    (12.5, 11.0)
    """
    try:
        return float(arm)
    except ValueError:
        return 8.0 + zlib.crc32(arm.encode()) % 9


def pay_price(arm: str, rng: np.random.Generator) -> float:
    """Half of the visitors buy as long as it is cheap; at 15 half of those are left."""
    price = number_in(arm)
    return price * bool(rng.random() < 0.52 / (1 + np.exp(min((price - 15) / 1.6, 50.0))))


def take_time(arm: str, rng: np.random.Generator) -> float:
    """Milliseconds, a few of them many times as long as most."""
    usual = {"plain": 180.0, "cache": 140.0, "edge": 132.0}.get(arm, 10 * number_in(arm))
    return float(usual * rng.lognormal(-0.125, 0.5))


def spend(arm: str, rng: np.random.Generator) -> float:
    """A little less or more than the arm's number."""
    usual = {"red": 9.8, "green": 10.4, "blue": 10.9, "photo": 11.6}.get(arm, number_in(arm))
    return float(rng.normal(usual, 4.0))


class Scene(NamedTuple):
    """An experiment of the shop: its arms and options, what they pay, how many visitors it has had,
    in how many days, and whether it is over."""

    arms: tuple[str, ...]
    options: dict[str, Any]
    pay: Pay
    visits: int
    days: float
    over: bool = False


SHOP = {
    "price": Scene(
        ("9", "12", "15"),
        {
            "prior": NormalGamma.elicit(mean=5, mean_sd=2, reward_sd=6, worth=20),
            "floor": 0.05,
            "holdout": 0.1,
            "stop_p_best": 0.99,
            "control": "9",
            "owner": "pricing team",
            "hypothesis": "Visitors who buy at 9 would mostly buy at 12, too.",
        },
        pay_price,
        visits=480,
        days=2.0,
    ),
    "checkout-latency": Scene(
        ("plain", "cache", "edge"),
        {"goal": "min", "floor": 0.05, "stop_loss": 1.0},
        take_time,
        visits=240,
        days=1.0,
    ),
    "banner": Scene(
        ("red", "green", "blue", "photo"),
        {"floor": 0.05, "stop_p_best": 0.95},
        spend,
        visits=1440,
        days=12.0,
        over=True,
    ),
}


def fill(store: Store, seed: int = 1) -> None:
    """Make the shop, with its past.

    Args:
        store: One without experiments.
        seed: Of what the visitors do.
    """
    if store.names():
        raise ValueError(
            f"store must have no experiments for a demo, got {len(store.names())} in {store.name}"
        )
    rng, clock, now = np.random.default_rng(seed), store.clock, time.time_ns() // 1000
    moment = now
    store.clock = lambda: moment
    try:
        for name, scene in SHOP.items():
            end = now - 3 * DAY if scene.over else now
            moment = end - int(scene.days * DAY)
            made = open_experiment(name, scene.arms, store=store, **scene.options)
            for _ in range(BATCHES):
                moment += int(scene.days * DAY) // BATCHES
                chosen = made.decide_many(scene.visits // BATCHES)
                made.reward_many([(one.id, scene.pay(one.arm, rng)) for one in chosen])
            if scene.over:
                found = made.report()
                made.stop(found.best, by=OPERATOR, why=found.because)
    finally:
        store.clock = clock


class Visitors:
    """They come at a bounded rate to all experiments of a store, decide, and reward a little later.

    Args:
        store: The store.
        seed: Of what they do.
    """

    def __init__(self, store: Store, seed: int = 2) -> None:
        self.store = store
        self._rng = np.random.default_rng(seed)
        self._open: dict[str, Experiment] = {}
        self._due: list[tuple[float, str, str, float]] = []  # when, experiment, id, reward

    def come(self, now: float) -> None:
        """One tick: new visitors, and the rewards that are due.

        Args:
            now: The time, in seconds.
        """
        for name in self.store.names()[:MOST_EXPERIMENTS]:
            if name not in self._open:
                self._open[name] = Experiment(name, self.store)
            with contextlib.suppress(ExperimentStopped):
                self._visit(self._open[name], now)
        due: dict[str, list[tuple[str, float]]] = {}
        while self._due and self._due[0][0] <= now:
            _, name, id, value = heapq.heappop(self._due)
            due.setdefault(name, []).append((id, value))
        for name, rewards in due.items():
            self._open[name].reward_each(rewards)  # one that is refused was too late

    def forget(self) -> None:
        """Open the experiments again, and give up on rewards that are due."""
        self._open.clear()
        self._due.clear()

    def _visit(self, made: Experiment, now: float) -> None:
        pay = SHOP[made.name].pay if made.name in SHOP else spend
        count = self._rng.poisson(VISITORS * TICK_SECONDS)
        units = [f"visitor-{self._rng.integers(2**62)}" for _ in range(count)]
        for one in made.decide_many(units) if units else ():
            when = now + self._rng.exponential(REWARD_SECONDS)
            heapq.heappush(self._due, (when, made.name, one.id, pay(one.arm, self._rng)))


@contextlib.contextmanager
def visited(store: Store) -> Iterator[None]:
    """Visitors come for as long as this lasts.

    Args:
        store: One that `fill` has filled.
    """
    visitors, over = Visitors(store), threading.Event()

    def come() -> None:
        while not over.wait(TICK_SECONDS):
            try:
                visitors.come(time.monotonic())
            except Exception as error:  # an experiment that is gone, a store in trouble
                tell_error("visitors were not served", error)
                visitors.forget()

    thread = threading.Thread(target=come, name="varts-demo", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

"""What the service counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from varts.serve.standings import Standing

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BATCH_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
MOST_ARMS_COUNTED = 20  # of an experiment whose P(best) is told: each is a series of its own


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "varts_requests", "Requests answered.", ["route", "method", "status"], registry=registry
        )
        self.seconds = Histogram(
            "varts_request_seconds", "How long requests took.", ["route"], registry=registry
        )
        self.batch_items = Histogram(
            "varts_batch_items",
            "Items in a transaction.",
            ["verb"],
            registry=registry,
            buckets=BATCH_SIZES,
        )
        self.batch_seconds = Histogram(
            "varts_batch_seconds", "How long transactions took.", ["verb"], registry=registry
        )
        self.waiting = Gauge(
            "varts_waiting", "Items that wait for a transaction.", ["verb"], registry=registry
        )
        self.decisions = Counter(
            "varts_decisions", "Decisions answered.", ["experiment"], registry=registry
        )
        self.rewards = Counter(
            "varts_rewards", "Rewards answered.", ["experiment", "outcome"], registry=registry
        )
        self.store_errors = Counter(
            "varts_store_errors", "Calls that the store failed.", registry=registry
        )

    def observe_batch(self, verb: str, items: int, seconds: float) -> None:
        """Count a transaction."""
        self.batch_items.labels(verb).observe(items)
        self.batch_seconds.labels(verb).observe(seconds)

    def text(
        self,
        standings: Iterable[Standing] = (),
        covers: Callable[[str], bool] = lambda experiment: True,
    ) -> bytes:
        """All of them, as Prometheus reads them.

        Args:
            standings: Experiments whose standing is shown, too; they are not remembered.
            covers: Whether an experiment may be shown.
        """
        registry = CollectorRegistry()
        pending = Gauge(
            "varts_pending", "Decisions that wait for a reward.", ["experiment"], registry=registry
        )
        p_best = Gauge(
            "varts_p_best", "The chance to be the best.", ["experiment", "arm"], registry=registry
        )
        for one in standings:
            pending.labels(one.name).set(one.pending)
            if len(one.p_best) <= MOST_ARMS_COUNTED:
                for arm, chance in one.p_best.items():
                    p_best.labels(one.name, arm).set(chance)
        shown = CollectorRegistry()
        shown.register(Covered(self._registry, covers))
        return generate_latest(shown) + generate_latest(registry)


class Covered(Collector):
    """The metrics of a registry without those of some experiments.

    Args:
        registry: The registry.
        covers: Whether an experiment is among them.
    """

    def __init__(self, registry: CollectorRegistry, covers: Callable[[str], bool]) -> None:
        self.registry, self.covers = registry, covers

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        for metric in self.registry.collect():
            metric.samples = [
                one
                for one in metric.samples
                if "experiment" not in one.labels or self.covers(one.labels["experiment"])
            ]
            yield metric

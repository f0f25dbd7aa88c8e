"""What the service counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BATCH_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500)


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

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)

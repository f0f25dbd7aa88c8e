"""The conformance suite of stores, through a service."""

import pytest

from tests.client.services import Running, Witnessed, slug
from tests.live.conformance import ARMS, StoreConformance
from varts.live import Store

# Tests that a service does not pass, and why; every one of them must fail.
OTHERWISE = {}


class TestRemote(StoreConformance):
    @pytest.fixture
    def running(self, tmp_path, clock):
        with Running(Store(f"sqlite:///{tmp_path / 'varts.db'}", clock)) as made:
            yield made
        made.store.close()

    @pytest.fixture
    def begin(self, request, running):
        """A service draws its seed itself, and hashes units unless it is told not to."""
        if request.node.name in OTHERWISE:
            reason = OTHERWISE[request.node.name]
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
        opened = []

        def begin(arms=ARMS, seed=None, part="", **options):
            name = slug(request.node.name + part)
            if arms is not None and not running.store.has(name):
                options.setdefault("hash_units", False)
            opened.append(Witnessed(running.open(name, arms, **options), running.store))
            return opened[-1]

        yield begin
        for experiment in opened:
            experiment.close()

"""What the tests of the clients share."""

import pytest

from tests.client.services import Running
from tests.live.conftest import clock, postgres  # noqa: F401  the same time, the same server
from varts.live import Store


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    """None in the environment: every test says which one it has."""
    monkeypatch.delenv("VARTS_TOKEN", raising=False)


@pytest.fixture
def running():
    """A service in memory."""
    with Running(Store("memory://")) as made:
        yield made
    made.store.close()


@pytest.fixture
def price(running):
    """An experiment of three arms in it, without connections of its own left open."""
    with running.open("price", ["9", "12", "15"]) as experiment:
        yield experiment

"""What the tests of the service share: stores, and a service in this process to ask."""

import pytest

from tests.live.conftest import postgres  # noqa: F401  the same server
from tests.serve.clients import Serving


@pytest.fixture(params=["sqlite", "postgres"])
def shared_url(request, tmp_path):
    """The URL of an empty store that several services can share, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'varts.db'}"
    return request.getfixturevalue("postgres")()


@pytest.fixture
def serving():
    """A service in memory, with a token for everything: `serving.put("/v1/...", {...})`."""
    with Serving("memory://") as made:
        yield made


@pytest.fixture
def price(serving):
    """The same, with an experiment of three arms."""
    serving.ok("PUT", "/v1/experiments/price", {"arms": ["9", "12", "15"]})
    return serving

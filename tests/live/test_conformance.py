"""The conformance suite on every store of this package."""

import pytest

from tests.live.conformance import StoreConformance
from tests.live.contexts import ContextConformance
from varts.live import Store


@pytest.mark.when_changed("src/varts/live")
class TestMemory(ContextConformance, StoreConformance):
    @pytest.fixture
    def connect(self, clock):
        store = Store("memory://", clock)  # lives as long as somebody holds it
        return lambda clock: store


class TestSQLite(ContextConformance, StoreConformance):
    @pytest.fixture
    def connect(self, tmp_path):
        return lambda clock: Store(f"sqlite:///{tmp_path / 'varts.db'}", clock)


@pytest.fixture(scope="module")
def database(postgres):
    return postgres()


@pytest.mark.full
class TestPostgreSQL(ContextConformance, StoreConformance):
    @pytest.fixture
    def connect(self, database):
        stores = []

        def connect(clock):
            stores.append(Store(database, clock))
            return stores[-1]

        yield connect
        for store in stores:
            store.close()

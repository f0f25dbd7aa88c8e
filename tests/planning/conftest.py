"""The plan that several test files look at."""

import pytest

from tests.planning.shared import PRIOR
from varts import plan


@pytest.fixture(scope="session")
def expected():
    return plan(PRIOR, arms=4, horizon=400, runs=400, followed=80)

"""Which errors are which: what was refused is a ValueError, a store that is lost is none."""

import pytest

from varts.live import (
    ExperimentStopped,
    InvalidReward,
    LiveError,
    RewardConflict,
    StoreError,
    UnknownDecision,
    UnknownExperiment,
)


@pytest.mark.parametrize(
    "kind",
    [ExperimentStopped, InvalidReward, RewardConflict, UnknownDecision, UnknownExperiment],
)
def test_a_refusal_is_a_value_error(kind):
    assert issubclass(kind, LiveError) and issubclass(kind, ValueError)
    assert not issubclass(kind, ConnectionError)


def test_a_lost_store_is_a_connection_error_and_no_value_error():
    assert issubclass(StoreError, LiveError) and issubclass(StoreError, ConnectionError)
    assert not issubclass(StoreError, ValueError) and not issubclass(LiveError, ValueError)
    assert str(StoreError("one sentence")) == "one sentence"

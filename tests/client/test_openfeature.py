"""The stock OpenFeature provider for Python, against a service."""

import time

import pytest

pytest.importorskip("openfeature.contrib.provider.ofrep", reason="the provider is not installed")

from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.track import TrackingEventDetails


@pytest.fixture
def flags(running):
    headers = {"Authorization": f"Bearer {running.make_token('decide')}"}
    provider = OFREPProvider(running.address, headers_factory=lambda: headers)
    api.set_provider(provider, domain="varts")
    yield api.get_client("varts")
    api.clear_providers()
    provider.session.close()


def test_a_flag_is_an_arm_whose_decision_can_be_rewarded(price, flags):
    user = EvaluationContext("user-42")
    found = flags.get_string_details("price", "9", user)
    assert found.value in price.arms and found.reason == "SPLIT" and found.error_code is None
    made = price.decision(found.flag_metadata["decision"])
    assert (made.arm, made.probability) == (found.value, found.flag_metadata["probability"])
    assert price.reward(made.id, 11.7) is True


def test_attributes_that_are_features_are_the_context(running, flags):
    kinds = {"country": ["NL", "BE"], "visits": "number"}
    with running.open("mug", ["red", "blue"], features=kinds) as mug:
        attributes = {"country": "NL", "visits": 3, "plan": "gold"}
        found = flags.get_string_details("mug", "none", EvaluationContext("user-42", attributes))
        made = mug.decision(found.flag_metadata["decision"])
        assert made.context == {"country": "NL", "visits": 3.0} and made.arm == found.value
        wrong = flags.get_string_details("mug", "none", EvaluationContext("user-42"))
        assert wrong.value == "none" and wrong.error_code == ErrorCode.INVALID_CONTEXT


def test_tracking_sends_nothing(price, flags, running):
    """The protocol has no request for it: a reward that is tracked is lost without a word."""
    found = flags.get_string_details("price", "9", EvaluationContext("user-42"))
    flags.track("purchase", EvaluationContext("user-42"), TrackingEventDetails(value=11.7))
    time.sleep(0.2)
    assert price.decision(found.flag_metadata["decision"]).settled is None
    assert price.report().frame["n"].sum() == 0


def test_a_program_has_a_value_of_its_own(price, flags):
    assert flags.get_string_value("prise", "9", EvaluationContext("user-42")) == "9"
    price.stop()
    assert flags.get_string_value("price", "15", EvaluationContext("user-42")) == "15"
    price.stop("12")
    assert flags.get_string_value("price", "15", EvaluationContext("user-42")) == "12"

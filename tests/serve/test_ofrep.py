"""Experiments as OpenFeature flags: answers are those of its remote evaluation protocol."""

E = "/v1/experiments/price"
FLAG = "/ofrep/v1/evaluate/flags/price"


def test_a_flag_is_a_decision_that_can_be_rewarded(price):
    found = price.ok("POST", FLAG, {"context": {"targetingKey": "user-1", "country": "de"}})
    assert set(found) == {"key", "value", "variant", "reason", "metadata"}
    assert (found["key"], found["reason"]) == ("price", "SPLIT")
    assert found["value"] == found["variant"] in ("9", "12", "15")
    id = found["metadata"]["decision"]
    assert price.ok("GET", f"{E}/decisions/{id}")["arm"] == found["value"]
    assert price.ok("PUT", f"{E}/decisions/{id}/reward", {"value": 3})["status"] == "applied"
    again = price.ok("POST", FLAG, {})
    assert again["metadata"]["decision"] != id


def failure(serving, path, body):
    answer = serving.ask("POST", path, body)
    found = answer.json()
    assert set(found) == {"key", "errorCode", "errorDetails"}
    return answer.status_code, found["errorCode"]


def test_failures_are_those_of_the_protocol(price):
    assert failure(price, FLAG.replace("price", "gone"), {}) == (404, "FLAG_NOT_FOUND")
    wrong = {"context": {"targetingKey": 7}}
    assert failure(price, FLAG, wrong) == (400, "INVALID_CONTEXT")
    sticky = {"arms": ["a", "b"], "sticky": True}
    price.ok("PUT", "/v1/experiments/sticky", sticky)
    assert failure(price, FLAG.replace("price", "sticky"), {}) == (400, "TARGETING_KEY_MISSING")
    unit = {"context": {"targetingKey": "u"}}
    first = price.ok("POST", FLAG.replace("price", "sticky"), unit)
    second = price.ok("POST", FLAG.replace("price", "sticky"), unit)
    assert first["value"] == second["value"]


def test_a_stopped_experiment_leaves_the_program_its_own_value(price):
    price.ok("POST", f"{E}/stop", {}, headers={"If-Match": "*"})
    assert failure(price, FLAG, {}) == (400, "GENERAL")
    price.ok("POST", f"{E}/stop", {"winner": "12"}, headers={"If-Match": "*"})
    found = price.ok("POST", FLAG, {})
    assert (found["value"], found["reason"]) == ("12", "STATIC")

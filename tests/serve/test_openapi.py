"""The OpenAPI document: valid, complete, frozen; and a fuzzer that believes it."""

import json
import re
from functools import cache
from pathlib import Path

import httpx
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, reject, settings
from schemathesis.core import NotSet

from tests.serve.clients import Serving
from tests.tiers import examples
from varts.serve.openapi import PATH, document
from varts.serve.routes import ENDPOINTS, FORM

FROZEN = Path(__file__).parent / "openapi.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"  # that of OpenAPI 3.1
FEATURES = {"country": ["NL", "BE"], "visits": "number"}
COMPONENTS = {"components": document()["components"]}
PAGE = Path(__file__).parents[2] / "docs" / "serve.md"


def test_the_document_is_the_frozen_one():
    """After a change that is meant, write it again: python -m tests.serve.test_openapi."""
    assert document() == json.loads(FROZEN.read_text())


def test_every_endpoint_is_in_the_document_and_on_the_page():
    paths = document()["paths"]
    page = PAGE.read_text()
    for endpoint in ENDPOINTS:
        operation = paths[endpoint.path][endpoint.method.lower()]
        assert operation["summary"] == endpoint.summary != ""
        shown = endpoint.path.replace("/v1/experiments/{name}", "E")
        assert f"`{endpoint.method} {shown}`" in page
    assert sum(map(len, paths.values())) == len(ENDPOINTS)
    assert len({one.handler for one in ENDPOINTS}) == len(ENDPOINTS)  # operationIds differ


def test_schemas_are_schemas_and_references_lead_somewhere():
    found = document()
    schemas = found["components"]["schemas"]
    for schema in schemas.values():
        jsonschema_rs.meta.validate({"$schema": DIALECT, **schema})
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(found)))
    assert references == set(schemas)
    with pytest.raises(jsonschema_rs.ValidationError):  # the check can fail
        jsonschema_rs.meta.validate({"$schema": DIALECT, "type": "nonsense"})


def test_anybody_may_read_it(serving):
    answer = serving.ask("GET", PATH, token=None)
    assert answer.status_code == 200 and answer.json() == document()


# ------------------------------------------------------------------------------ fuzzing


@pytest.fixture
def fuzzed():
    """A service for each endpoint, with something to ask about."""
    with Serving("memory://") as made:
        made.ok("PUT", "/v1/experiments/price", {"arms": ["9", "12"]})
        made.ok("PUT", "/v1/experiments/price/decisions/visit", {"unit": "u"})
        made.ok("PUT", "/v1/experiments/mug", {"arms": ["red", "blue"], "features": FEATURES})
        made.ok("PUT", "/v1/experiments/mug/decisions/visit", {"context": {"visits": 3}})
        yield made


schema = schemathesis.openapi.from_dict(document())


@cache
def validator(reference):
    """Checks an answer against a schema of the document."""
    return jsonschema_rs.validator_for({**json.loads(reference), **COMPONENTS})


@schema.parametrize()
@settings(examples(25), suppress_health_check=list(HealthCheck))
def test_no_request_meets_an_answer_that_the_document_does_not_know(fuzzed, case):
    fuzzed.admission._rates._buckets.clear()
    answer = ask(fuzzed, case)
    known = case.operation.definition.raw["responses"]
    assert answer.status_code < 500
    assert str(answer.status_code) in known, (answer.status_code, answer.text)
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if answer.content:
        contents = {one.partition(";")[0] for one in known[str(answer.status_code)]["content"]}
        assert kind in contents
    if kind in ("application/json", "application/problem+json") and answer.content:
        expected = known[str(answer.status_code)]["content"][kind]["schema"]
        validator(json.dumps(expected)).validate(answer.json())


def ask(fuzzed, case):
    """Send it as it is, but for its experiment: two times of three it is one that is there."""
    place = len(case.path_parameters.get("name", "")) % 3
    if place < 2:
        case.path_parameters["name"] = ("price", "mug")[place]
    headers = {name: str(value) for name, value in (case.headers or {}).items()}
    sent = {}
    if isinstance(case.body, NotSet):
        pass
    elif isinstance(case.body, bytes):
        sent["content"] = case.body
    elif case.media_type == FORM and isinstance(case.body, dict):
        sent["data"] = case.body
    else:
        sent["content"] = json.dumps(case.body).encode()
    if sent and case.media_type is not None:
        headers["Content-Type"] = case.media_type
    query = case.query or None
    try:
        return fuzzed.ask(case.method, case.formatted_path, headers=headers, params=query, **sent)
    except (httpx.InvalidURL, UnicodeEncodeError, TypeError):
        reject()  # no client can send this


if __name__ == "__main__":
    FROZEN.write_text(json.dumps(document(), indent=1) + "\n")

"""The OpenAPI document, from the table of endpoints."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

import varts
from varts.serve.auth import OPEN
from varts.serve.errors import KINDS, MEDIA_TYPE, ProblemBody
from varts.serve.responses import JSON
from varts.serve.routes import ENDPOINTS, Endpoint
from varts.serve.schemas import Text

PATH = "/openapi.json"


def document() -> dict[str, Any]:
    """The whole of it."""
    types = [one for e in ENDPOINTS for one in (e.body, *e.answers.values())]
    known = [one for one in types if one is not None and not isinstance(one, str)]
    _, components = _schemas([*known, ProblemBody])
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "varts",
            "version": varts.__version__,
            "description": "Live experiments: decide, reward, report.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "summary": endpoint.summary,
        "responses": _responses(endpoint),
        "security": [] if endpoint.scope == OPEN else [{"token": []}],
    }
    if endpoint.scope != OPEN:
        operation["description"] = f"Scope: {endpoint.scope}."
    parameters = [*_path_parameters(endpoint), *_query_parameters(endpoint)]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        content = {endpoint.media_type: {"schema": _schema(endpoint.body)}}
        operation["requestBody"] = {"required": needs_body(endpoint.body), "content": content}
    return operation


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    schema = msgspec.json.schema(Text)
    found = [
        {"name": name, "in": "path", "required": True, "schema": schema} for name in endpoint.names
    ]
    if "if-match" in endpoint.problems:
        described = {"type": "string", "description": "The ETag of the experiment, or *."}
        found.append({"name": "If-Match", "in": "header", "required": True, "schema": described})
    return found


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if endpoint.query is None:
        return []
    (schema,), components = _schemas([endpoint.query])
    fields = components[schema["$ref"].rpartition("/")[2]]
    needed = fields.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": part}
        for name, part in fields["properties"].items()
    ]


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    """The responses by status; several problems may share one."""
    found: dict[str, Any] = {}
    for status, answer in endpoint.answers.items():
        found[str(status)] = {"description": HTTPStatus(status).phrase}
        if isinstance(answer, str):
            found[str(status)]["content"] = {answer: {"schema": {"type": "string"}}}
        elif answer is not None:
            found[str(status)]["content"] = {JSON: {"schema": _schema(answer)}}
    for slug in endpoint.all_problems:
        kind = KINDS[slug]
        here = found.setdefault(str(kind.status), {"description": ""})
        here["description"] = "; ".join(filter(None, [here["description"], kind.title]))
        here.setdefault("content", {})[MEDIA_TYPE] = {"schema": _schema(ProblemBody)}
    return dict(sorted(found.items()))


def _schema(kind: Any) -> Any:
    (schema,), _ = _schemas([kind])
    return schema


def _schemas(kinds: Iterable[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")


def needs_body(kind: Any) -> bool:
    """Whether a body of this type must have something in it."""
    known = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return known and any(one.required for one in msgspec.structs.fields(kind))

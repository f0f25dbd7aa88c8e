"""The files beside the pages: kept by browsers for as long as they like, since a change of one is
another address."""

from __future__ import annotations

from varts.serve.calls import Call, Reply
from varts.serve.pages import STATIC
from varts.serve.pages.rendering import asset
from varts.serve.problems import Problem
from varts.serve.views.answers import unchanged

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOREVER = "public, max-age=31536000, immutable"


async def send_file(call: Call) -> Reply:
    """A static file."""
    file = next((one for one in STATIC.iterdir() if one.name == call.path["file"]), None)
    if file is None or file.suffix not in TYPES:
        raise Problem("not-found", "there is no such file")
    version = asset(file.name).rpartition("=")[2]
    lasting = call.query.get("v") == version
    tag = f'"{version}"'
    headers = {"etag": tag, "cache-control": FOREVER if lasting else "no-cache"}
    return unchanged(call, tag) or Reply(file.read_bytes(), 200, headers, TYPES[file.suffix])

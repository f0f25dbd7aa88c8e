"""A service in this process, and a client that asks it."""

import asyncio
import io
import json
import threading

import httpx

from varts.live.store.store import Store, open_store
from varts.serve.app import make_app
from varts.serve.auth import Auth, Sessions
from varts.serve.runtime import Service
from varts.serve.settings import Settings
from varts.serve.telemetry import begin_logging
from varts.serve.tokens import Tokens, new_token

PAGE = "https://shop.example"


class Serving:
    """A running service; by default its only token may do everything."""

    def __init__(self, url, tokens=None, no_auth=False, style="json", **settings):
        self.secret, operator = new_token("operator", ["admin"])
        known = Tokens([operator, *(tokens or ())])
        self.settings = Settings(store=url, no_auth=no_auth, **settings)
        read_only = self.settings.read_only
        self.service = Service(Store(url, read_only=True) if read_only else open_store(url))
        self.admission = Auth(None if no_auth else known, Sessions(self.settings.is_secure))
        self.operator = operator
        self.lines = io.StringIO()
        begin_logging(style, self.lines)
        app = make_app(self.service, self.admission, self.settings)
        self.transport = httpx.ASGITransport(app, client=("192.0.2.1", 1))
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self):
        self._thread.start()
        self.wait(self.service.start())
        return self

    def __exit__(self, *error):
        self.wait(self.service.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def wait(self, coroutine):
        """What a coroutine of the service's loop returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    async def _request(self, *arguments, **options):
        base = "http://localhost:8321"
        async with httpx.AsyncClient(transport=self.transport, base_url=base) as client:
            return await client.request(*arguments, **options)

    def ask(self, method, path, body=None, token="", headers=None, **more):
        """The answer to a request; `token` is None for none, or the secret of another one."""
        sent = dict(headers or {})
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token or self.secret}")
        if body is not None:
            more["json"] = body
        return self.wait(self._request(method, path, headers=sent, **more))

    def ok(self, method, path, body=None, **more):
        """The body of an answer that must be a good one."""
        answer = self.ask(method, path, body, **more)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def refused(self, status, slug, method, path, body=None, **more):
        """The detail of an answer that must be this problem."""
        answer = self.ask(method, path, body, **more)
        problem = answer.json()
        assert (answer.status_code, problem["type"]) == (status, f"/problems/{slug}"), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert problem["status"] == status
        assert problem["request"] == answer.headers["x-request-id"]
        return problem["detail"]

    @property
    def log(self):
        """The log lines so far."""
        return [json.loads(line) for line in self.lines.getvalue().splitlines()]

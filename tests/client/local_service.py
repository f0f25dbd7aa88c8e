"""A service on loopback that speaks the endpoints of local decisions, for the tests of clients.

It checks everything that a client sends, and fails in the ways that a test asks for.
"""

import json
import threading
import time
from collections import Counter

from tests.client.hostile import Hostile, read_request

ARMS = ["9", "12", "15"]
PROBABILITIES = [0.1, 0.6, 0.3]


def allocation(version=1, **fields):
    """An allocation as the service sends it."""
    return {
        "experiment": "price",
        "version": version,
        "arms": ARMS,
        "probabilities": PROBABILITIES,
        "cells": None,
        "holdout": 0.0,
        "active": [True] * len(fields.get("arms", ARMS)),
        "sticky": False,
        "context": None,
        "key": "0123456789abcdef0123456789abcdef",
        "refresh": 10.0,
        "lifetime": 3600.0,
        "winner": None,
        "ticket": f"ticket of {version}",
        **fields,
    }


class LocalService:
    """The service. Use it with `with`; `address` is where it listens.

    `mode` says how it behaves: "up", "down" (closes connections), "silent" (never answers), "slow"
    (answers after half a second), "lost" (does the work, and closes instead of answering), a status
    to refuse everything with, or bytes to answer everything with.
    """

    def __init__(self, **fields):
        self.mode = "up"
        self.modes = {}  # by the last part of the path, before `mode`
        self.kinds = {}  # of problems, by status
        self.statuses = {}  # of exposures and fallbacks, by id
        self.poison = set()  # ids of items that spoil a whole request
        self.recorded, self.fallbacks, self.rewards = {}, {}, {}
        self.clients, self.units, self.paths, self.mistakes = Counter(), {}, [], []
        self.batches = []  # (path, number of items)
        self.not_modified, self.refused = 0, Counter()
        self._lock = threading.Lock()
        self.allocations = {}
        self.change(**fields)
        self._server = Hostile(self)
        self.address = self._server.address

    def __enter__(self):
        self._server.__enter__()
        return self

    def __exit__(self, *error):
        self._server.__exit__(*error)
        assert not self.mistakes, self.mistakes[:3]

    @property
    def connections(self):
        return self._server.connections

    def change(self, version=1, **fields):
        """From now on, this is the allocation."""
        self.allocation = allocation(version, **fields)
        self.allocations[self.allocation["ticket"]] = self.allocation

    def __call__(self, server, connection):
        while read_request(server, connection):
            head, headers, body = server.requests.pop()
            path = head.split()[1].decode().rpartition("/")[2]
            mode = self.modes.get(path, self.mode)
            if mode == "down":
                connection.close()
                return
            if mode == "silent":
                server.over.wait()
            if mode == "slow":
                time.sleep(0.5)
            if isinstance(mode, bytes):
                connection.sendall(mode)
                connection.close()
                return
            if isinstance(mode, int):
                self.refused[path] += 1
                status, answer = mode, self._problem(mode)
            else:
                with self._lock:
                    status, answer = self._answer(path, headers, body)
            if mode == "lost":
                connection.close()
                return
            content = b"" if status == 304 else json.dumps(answer).encode()
            tag = f'ETag: "{self.allocation["version"]}-0"\r\n'
            size = f"Content-Length: {len(content)}\r\n"
            start = f"HTTP/1.1 {status} Status\r\n{tag}{size}\r\n"
            connection.sendall(start.encode() + content)

    def _problem(self, status):
        kind = self.kinds.get(status, "store")
        return {"type": f"/problems/{kind}", "detail": f"refused with {status}"}

    def _answer(self, path, headers, body):
        self.paths.append(path)
        if path == "allocation":
            if headers.get(b"if-none-match") == f'"{self.allocation["version"]}-0"'.encode():
                self.not_modified += 1
                return 304, None
            return 200, self.allocation
        sent = json.loads(body)
        items = next(sent[name] for name in ("exposures", "decisions", "rewards") if name in sent)
        self.batches.append((path, len(items)))
        if len(items) > 1000 or len(body) > 2**20 or not items:
            self.mistakes.append((path, len(items), len(body)))
        if self.poison & {one["id"] for one in items}:
            return 400, {"type": "/problems/invalid", "detail": "one of them is poison"}
        if path == "decisions":
            return 200, {"decisions": [self._decide(one) for one in items]}
        do = {"exposures": self._record, "fallbacks": self._fall_back, "rewards": self._reward}
        return 200, {"results": [{"id": one["id"], **do[path](one, sent)} for one in items]}

    def _decide(self, one):
        made = {"id": one["id"], "arm": "12", "probability": 0.5, "version": 7}
        made = {**made, "reason": "policy", "estimated": False}
        return self.recorded.setdefault(one["id"], made)

    def _record(self, one, sent):
        if (status := self.statuses.get(one["id"], self.statuses.get("*"))) is not None:
            return status if isinstance(status, dict) else {"status": status}
        self.clients[sent["client"]] += 1
        known = {self.allocations[ticket]["version"] for ticket in sent["tickets"]}
        if len(set(sent["tickets"])) < len(sent["tickets"]) or one["version"] not in known:
            self.mistakes.append(("tickets", sent["tickets"], one))
        if not 0 <= one["age"] < 3600 or one["arm"] not in self.allocation["arms"]:
            self.mistakes.append(one)
        if one["id"] in self.recorded:
            return {"status": "duplicate"}
        if self.allocation["sticky"]:
            arm = self.units.setdefault(one["unit"], one["arm"])
            if arm != one["arm"]:
                return {"status": "conflict", "detail": "the unit has an arm", "arm": arm}
        self.recorded[one["id"]] = {**one, "arrived": time.monotonic()}
        return {"status": "recorded"}

    def _fall_back(self, one, sent):
        if (status := self.statuses.get(one["id"])) is not None:
            return {"status": status}
        new = self.fallbacks.setdefault(one["id"], one) is one
        return {"status": "recorded" if new else "duplicate"}

    def _reward(self, one, sent):
        if one["id"] not in self.recorded and one["id"] not in self.fallbacks:
            return {"status": "unknown", "detail": "unknown decision"}
        key = one["id"], one.get("key")
        kept = self.rewards.setdefault(key, one)
        if kept is one:
            return {"status": "applied"}
        if kept != one:
            return {"status": "conflict", "detail": "it already has another reward"}
        return {"status": "duplicate"}

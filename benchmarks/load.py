"""Load for an HTTP service, from a process of its own: `python load.py ADDRESS '{"how": ...}'`.

Connections are kept alive and each has one request under way. HTTP is written and read by hand, for
the generator must take less time than what it measures. Prints one object in JSON.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from urllib.parse import urlsplit

import numpy as np

WARM_UP = 0.5  # seconds that do not count
BATCH = 100
LOCAL_BATCH = 1_000  # what a client sends at a time
REFRESHED = 50  # batches between two requests for an allocation
BUSY, BUSY_SECONDS = b"503", 0.02  # a request that is refused for now is sent again after these
REFUSED = 0.05  # of the rewards, where some are refused
LOOK_SECONDS = 1.0  # between two looks at a page that is open


class Target:
    """Where requests go, and with which token."""

    def __init__(self, address, token):
        parts = urlsplit(address)
        self.host, self.port = parts.hostname, parts.port
        self._head = f"Host: {parts.hostname}:{parts.port}\r\n"
        if token is not None:
            self._head += f"Authorization: Bearer {token}\r\n"

    def request(self, method, path, body=None, header=""):
        """The bytes of a request."""
        text = "" if body is None else json.dumps(body)
        sent = f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n" if text else ""
        return f"{method} {path} HTTP/1.1\r\n{self._head}{header}{sent}\r\n{text}".encode()


# ------------------------------------------------------------------------------ what to ask
# Generators of (request, seconds to wait before it, items that its answer completes); each is sent
# the answers: headers and body.


def ask_pairs(target, number, refused=0.0):
    """A decision, its reward, the next decision; some rewards may be for decisions never made."""
    rng, run = random.Random(number), os.getpid()
    for i in range(10**9):
        path = f"/v1/experiments/bench/decisions/{run}-{number}-{i}"
        yield target.request("PUT", path, {}), 0.0, 0
        path = f"{path}-never" if rng.random() < refused else path
        yield target.request("PUT", f"{path}/reward", {"value": rng.gauss(0, 1)}), 0.0, 1


def ask_refused(target, number):
    """The same, and some rewards are refused."""
    return ask_pairs(target, number, REFUSED)


def ask_decisions(target, number):
    """Decisions alone, one by one."""
    for i in range(10**9):
        path = f"/v1/experiments/bench/decisions/{os.getpid()}-{number}-{i}"
        yield target.request("PUT", path, {}), 0.0, 1


def ask_batches(target, number):
    """A hundred decisions at a time."""
    for i in range(10**9):
        ids = [{"id": f"{os.getpid()}-{number}-{i}-{j}"} for j in range(BATCH)]
        path = "/v1/experiments/bench/decisions"
        yield target.request("POST", path, {"decisions": ids}), 0.0, BATCH


def ask_local(target, number):
    """A thousand decisions that were made locally, then their rewards, with up to date tickets."""
    rng, experiment = random.Random(number), "/v1/experiments/bench"
    client = f"{os.getpid()}-{number}"
    for i in range(10**9):
        if i % REFRESHED == 0:
            _, body = yield target.request("GET", f"{experiment}/allocation"), 0.0, 0
            allocation = json.loads(body)
            shown = {"version": allocation["version"], "age": 0.5}
        arms = rng.choices(allocation["arms"], allocation["probabilities"], k=LOCAL_BATCH)
        ids = [f"{client}-{i}-{j}" for j in range(LOCAL_BATCH)]
        exposures = [{"id": id, "arm": arm, **shown} for id, arm in zip(ids, arms, strict=True)]
        sent = {"client": client, "tickets": [allocation["ticket"]], "exposures": exposures}
        body = yield from insist(target.request("POST", f"{experiment}/exposures", sent), 0)
        if body.count(b'"recorded"') != LOCAL_BATCH:
            raise RuntimeError(f"not all exposures were recorded: {body[:500]!r}")
        sent = {"rewards": [{"id": id, "value": rng.gauss(0, 1)} for id in ids]}
        yield from insist(target.request("POST", f"{experiment}/rewards", sent), LOCAL_BATCH)


def insist(request, items):
    """Send a request until the service has room for it; its body is returned."""
    pause = 0.0
    while True:
        head, body = yield request, pause, items
        if head[9:12] != BUSY:
            return body
        pause = BUSY_SECONDS


def ask_nothing(target, number):
    """Whether the service is alive: HTTP alone."""
    while True:
        yield target.request("GET", "/healthz"), 0.0, 1


def look(target, number):
    """The report, every second, unless it is as it was."""
    tag, pause = "", LOOK_SECONDS * random.Random(number).random()
    while True:
        head, _ = yield target.request("GET", "/v1/experiments/bench/report", None, tag), pause, 1
        found = [line for line in head.split(b"\r\n") if line.lower().startswith(b"etag:")]
        tag = f"If-None-Match: {found[0][5:].decode().strip()}\r\n" if found else ""
        pause = LOOK_SECONDS


WAYS = {
    "pairs": ask_pairs,
    "refused": ask_refused,
    "decisions": ask_decisions,
    "batches": ask_batches,
    "local": ask_local,
    "nothing": ask_nothing,
    "look": look,
}


# ------------------------------------------------------------------------------ asking


class Tally:
    """What came back, between the warm-up and the end."""

    def __init__(self, seconds):
        self.begin = time.perf_counter() + WARM_UP
        self.end = self.begin + seconds
        self.times, self.items, self.statuses = [], 0, Counter()

    def note(self, asked, answered, status, items):
        if self.begin <= asked and answered <= self.end:
            self.times.append(answered - asked)
            self.items += items if status == "200" else 0
            self.statuses[status] += 1


class Connection(asyncio.Protocol):
    """One client: the next request when the answer to the last one is there."""

    def __init__(self, requests, tally):
        self._requests, self._tally, self._data = requests, tally, b""

    def connection_made(self, transport):
        self._transport = transport
        self._plan(next(self._requests))

    def _plan(self, asked):
        request, pause, self._items = asked
        if pause:
            asyncio.get_running_loop().call_later(pause, self._send, request)
        else:
            self._send(request)

    def _send(self, request):
        self._asked = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data):
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        self._data = b""
        now = time.perf_counter()
        self._tally.note(self._asked, now, head[9:12].decode(), self._items)
        if now < self._tally.end:
            self._plan(self._requests.send((head, body)))


def _length(head):
    at = head.lower().find(b"content-length:")
    return 0 if at < 0 else int(head[at + 15 :].split(b"\r\n", 1)[0])


async def load(address, how, clients, seconds, token=None):
    """Ask for so long; what came back."""
    target, tally = Target(address, token), Tally(seconds)
    loop, ways = asyncio.get_running_loop(), WAYS[how]
    for number in range(clients):
        requests = ways(target, number)
        await loop.create_connection(
            lambda requests=requests: Connection(requests, tally), target.host, target.port
        )
    await asyncio.sleep(tally.begin - time.perf_counter())
    before = time.process_time()
    await asyncio.sleep(seconds)
    spent = time.process_time() - before
    p50, p99 = np.percentile(np.array(tally.times) * 1e3, [50, 99]).tolist()
    return {
        "items a second": tally.items / seconds,
        "requests a second": len(tally.times) / seconds,
        "p50 ms": p50,
        "p99 ms": p99,
        "statuses": dict(tally.statuses),
        "generator CPU": spent / seconds,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(load(sys.argv[1], **json.loads(sys.argv[2])))))

"""`python -m benchmarks.idle_connections`: what 1,000 idle connections cost the other clients.

The same clients send pairs of decision and reward, in turns with and without idle connections. The
ratio of their rates must be at least 0.8. Others may use the machine: a ratio is of one turn.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import contextlib
import socket
import sys
import tempfile
from urllib.parse import urlsplit

import varts
from benchmarks import live
from benchmarks.serve import ARMS, service
from benchmarks.timing import ratio

IDLE = 1_000
ADDRESSES = [f"127.0.0.{n}" for n in range(2, 10)]  # none has more than it may
GOAL = 0.8
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextlib.contextmanager
def idle_connections(address, count):
    """So many connections with one request each, and then none."""
    parts = urlsplit(address)
    with contextlib.ExitStack() as stack:
        opened = []
        for n in range(count):
            source = ADDRESSES[n % len(ADDRESSES)], 0
            connection = socket.create_connection((parts.hostname, parts.port), 10, source)
            opened.append(stack.enter_context(connection))
            connection.sendall(REQUEST)
            while not connection.recv(65536).endswith(b"}"):
                pass
        yield
        for connection in opened:
            connection.setblocking(False)
            try:
                connection.recv(1)
            except BlockingIOError:
                continue
            raise RuntimeError("the service has closed an idle connection: measure for less long")


def measure(served, rounds, seconds, clients, idle):
    """[(pairs a second without idle connections, with them)], turn by turn."""
    found = []
    for n in range(rounds):
        turn = {}
        for many in (0, idle) if n % 2 else (idle, 0):
            with idle_connections(served.address, many):
                turn[many] = served("pairs", clients, seconds)["items a second"]
        found.append((turn[0], turn[idle]))
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    options.add_argument("--clients", type=int, default=64)
    options.add_argument("--idle", type=int, default=IDLE)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="varts-bench-") as folder:
        url = f"sqlite:///{folder}/varts.db"
        varts.open("bench", ARMS, store=url, prior=live.PRIOR).close()
        with service(url, folder) as served:
            found = measure(served, asked.rounds, asked.seconds, asked.clients, asked.idle)
    for without, beside in found:
        print(f"{without:,.0f} pairs a second; {beside:,.0f} beside {asked.idle:,} idle ones")
    without, beside = zip(*found, strict=True)
    kept = ratio(beside, without)
    print(f"ratio {kept:.2f}, at least {GOAL}")
    sys.exit(0 if kept >= GOAL else 1)


if __name__ == "__main__":
    main()

"""A carousel that recommends while it learns: the paper's example as a small web app.

    python examples/carousel.py            rate movies yourself on http://127.0.0.1:8000
    python examples/carousel.py --demo     simulated visitors do it, for half a minute

Movies are rated 1 to 5 stars, and neither a movie's mean rating nor how much opinions on it differ
is known beforehand. The whole experiment is three calls: `decide` when a page is shown, `reward`
when its stars arrive, `report` for the page that tells how it goes. The standard library serves the
pages, to browsers on this machine; any number of such servers may share one store.
"""

from __future__ import annotations

import argparse
import html
import io
import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np

import varts
from varts.live import LiveError, RewardConflict, StoreError, UnknownDecision

# What simulated visitors think: the chances of 1, 2, 3, 4 and 5 stars. The app does not know them.
MOVIES = {
    "Crowd Pleaser": (0.01, 0.03, 0.11, 0.35, 0.50),  # mean 4.30, sd 0.85
    "Solid Thriller": (0.00, 0.02, 0.23, 0.65, 0.10),  # mean 3.83, sd 0.62
    "Love It or Hate It": (0.30, 0.05, 0.05, 0.10, 0.50),  # mean 3.45, sd 1.77
    "Slow Burner": (0.05, 0.15, 0.40, 0.30, 0.10),  # mean 3.25, sd 0.99
    "The Sequel": (0.10, 0.25, 0.40, 0.20, 0.05),  # mean 2.85, sd 1.01
}
LARGEST_BODY = 1000  # bytes; an id and a number of stars need fewer
SECONDS_PER_REQUEST = 10.0  # in all: who sends it more slowly is cut off
REQUESTS_AT_ONCE = 32  # the next ones wait until one of them is done


def open_carousel(store: str = "memory://", **options: Any) -> varts.Experiment:
    """The experiment. It has no window: a rating counts when it comes, within seconds, and visitors
    who don't rate count for nothing.

    Visitors may choose the ids of /recommend, so choices must not follow from them.
    """
    return varts.open("carousel", list(MOVIES), store=store, client_ids=True, **options)


# ------------------------------------------------------------------------------------- the pages

# Nothing is loaded from elsewhere, and no other site shows these pages within its own.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Carousel</title>{head}<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem;
       color: #222 }}
h1 {{ font-size: 2.2rem; margin: .2rem 0 1rem }} small, .dim {{ color: #777 }}
button {{ font-size: 1.3rem; border: 1px solid #ccc; border-radius: .4rem; background: #fff;
         padding: .3rem .8rem; cursor: pointer }} button:hover {{ background: #fff3c4 }}
.arm {{ margin: 1.1rem 0 }} .track {{ position: relative; height: 1rem; background: #eee;
       border-radius: .3rem; margin: .15rem 0 }}
.share, .mean {{ position: absolute; top: 0; height: 100%; border-radius: .3rem }}
.share {{ background: #3b6ea5 }} .mean {{ background: #e0a030 }} .thin {{ height: .4rem }}
.row {{ display: flex; justify-content: space-between }}
</style></head><body>{body}</body></html>"""


def movie_page(decision: varts.Decision) -> str:
    """The recommended movie with a button per rating."""
    buttons = " ".join(
        f'<button name="stars" value="{stars}" title="{stars} of 5">{"★" * stars}</button>'
        for stars in range(1, 6)
    )
    body = (
        f'<p class="dim">Tonight we recommend</p><h1>{html.escape(decision.arm)}</h1>'
        f'<form method="post" action="/rate">'
        f'<input type="hidden" name="id" value="{html.escape(decision.id)}">{buttons}</form>'
        f"<p><small>shown to {decision.probability:.0%} of visitors at the moment · "
        f'<a href="/report">how it goes</a></small></p>'
    )
    return PAGE.format(head="", body=body)


def report_page(report: varts.live.Report) -> str:
    """A bar per movie: its share of the traffic, and where its mean rating lies on 1 to 5."""
    rows = []
    for arm in report.frame.iter_rows(named=True):
        left, right = (
            (min(max((end - 1) / 4, 0), 1) for end in (arm["mean_low"], arm["mean_high"]))
            if arm["mean_low"] is not None
            else (0, 1)
        )
        best = (
            "too early to say"
            if arm["p_best"] is None
            else f"chance of being best: {arm['p_best']:.1%}"
        )
        mean = "no rating yet" if arm["mean"] is None else f"mean {arm['mean']:.2f}"
        rows.append(
            f'<div class="arm"><div class="row"><b>{html.escape(arm["arm"])}</b>'
            f"<span>{arm['share']:.0%} of the traffic</span></div>"
            f'<div class="track"><div class="share" style="width:{arm["share"]:.1%}"></div></div>'
            f'<div class="track thin"><div class="mean" '
            f'style="left:{left:.1%};width:{right - left:.1%}"></div></div>'
            f'<div class="row"><small>{arm["n"]} ratings, {mean}</small>'
            f"<small>{best}</small></div></div>"
        )
    body = (
        f"<h1>How it goes</h1>{''.join(rows)}"
        "<p><small>Blue: share of all recommendations. Amber: where the mean rating lies, from 1 "
        'to 5 stars, with 95&nbsp;% probability. <a href="/">Rate a movie</a></small></p>'
    )
    return PAGE.format(head='<meta http-equiv="refresh" content="1">', body=body)


# ------------------------------------------------------------------------------------ the server


class Incoming(io.RawIOBase):
    """What a browser sends, as long as it is in time: many short waits are a long one, too."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.until = connection, time.monotonic() + SECONDS_PER_REQUEST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.connection.settimeout(max(self.until - time.monotonic(), 0.001))
        return self.connection.recv_into(buffer)


class Handler(BaseHTTPRequestHandler):
    """Three addresses to look at, one to send stars to."""

    server: Server
    default_request_version = "HTTP/1.0"  # also for what is no request: its answer has a status

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(Incoming(self.connection))

    def parse_request(self) -> bool:
        """Whether the request is one for us, sent by a page of ours or by a program.

        The pages of other sites can make a browser send requests here, too. Their names are in the
        Host, if they have their name lead to this machine, else in the Origin of what they post.
        """
        if not super().parse_request():
            return False
        hosts = [f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")]
        host, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(host) != 1 or host[0] not in hosts:
            self.answer(421, f"This server is {hosts[0]}, and no other.")
            return False
        if any(origin not in [f"http://{name}" for name in hosts] for origin in origins):
            self.answer(403, "Other sites must not send requests here.")
            return False
        return True

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        try:
            if address.path == "/":
                self.answer(200, movie_page(self.server.experiment.decide()), "text/html")
            elif address.path == "/report":
                self.answer(200, report_page(self.server.experiment.report()), "text/html")
            elif address.path == "/recommend":  # the same for a program; a retry gets it again
                asked = parse_qs(address.query).get("id", [None])[0]
                decision = self.server.experiment.decide(id=asked)
                self.answer(200, json.dumps(decision._asdict()), "application/json")
            else:
                self.answer(404, "There is nothing here.")
        except (ValueError, LiveError) as error:
            self.refuse(error)

    def do_POST(self) -> None:
        body = self.read_body()
        if body is None:
            return
        form = parse_qs(body.decode("utf-8", "replace"))
        id, stars = form.get("id", [""])[0], form.get("stars", [""])[0]
        if self.path != "/rate" or stars not in ("1", "2", "3", "4", "5"):
            self.answer(400, "Send id and stars, 1 to 5, to /rate.")
            return
        try:
            self.server.experiment.reward(id, int(stars))
        except (ValueError, LiveError) as error:
            self.refuse(error)
            return
        self.send_response(303)  # so that a reload does not send the stars again
        self.send_header("Location", "/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def read_body(self) -> bytes | None:
        """All of the body; None if it was refused."""
        sizes = self.headers.get_all("Content-Length", [])
        if not sizes:
            self.answer(411, "Content-Length must be given.")
        elif len(sizes) > 1 or not (sizes[0].isascii() and sizes[0].isdecimal()):
            self.answer(400, "Content-Length must be one whole number.")
        elif len(sizes[0]) > 9 or int(sizes[0]) > LARGEST_BODY:
            self.answer(413, f"The body must have at most {LARGEST_BODY} bytes.")
        elif len(body := self.rfile.read(int(sizes[0]))) < int(sizes[0]):
            self.answer(400, "The body must be as long as Content-Length says.")
        else:
            return body
        return None

    def refuse(self, error: Exception) -> None:
        """Say in one sentence why nothing was written."""
        statuses = {UnknownDecision: 404, RewardConflict: 409, StoreError: 503}
        self.answer(statuses.get(type(error), 400), str(error))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses, in one sentence as well."""
        self.answer(code, f"{message or HTTPStatus(code).phrase}.")

    def answer(self, status: int, text: str, kind: str = "text/plain") -> None:
        """Send a sentence, or a page."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *parts: object) -> None:
        """Keep the terminal for the demo."""


class Server(ThreadingHTTPServer):
    """A thread per request, for as many as there is room for."""

    request_queue_size = 128

    def __init__(self, experiment: varts.Experiment, port: int) -> None:
        self.experiment, self.room = experiment, threading.Semaphore(REQUESTS_AT_ONCE)
        super().__init__(("127.0.0.1", port), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        # Twice as long as any of them may take, or one that ends just then would come too late.
        if self.room.acquire(timeout=2 * SECONDS_PER_REQUEST):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if not isinstance(error, ConnectionError):  # who has hung up needs no answer
            print(f"carousel: {type(error).__name__}: {error}", file=sys.stderr)


@contextmanager
def serving(experiment: varts.Experiment, port: int = 0) -> Iterator[str]:
    """Serve on this machine alone; gives the address, shuts down cleanly at the end."""
    server = Server(experiment, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# --------------------------------------------------------------------------- simulated visitors


def visit(url: str, number: int, seed: int = 1) -> str:
    """One visitor: get a movie, rate it; returns the movie."""
    with closing(HTTPConnection(urlsplit(url).netloc)) as server:
        server.request("GET", f"/recommend?id=visitor-{number}")
        decision = json.load(server.getresponse())
        opinion = np.random.default_rng([seed, number])
        stars = 1 + opinion.choice(5, p=MOVIES[decision["arm"]])
        server.request("POST", "/rate", urlencode({"id": decision["id"], "stars": stars}))
        server.getresponse()
        return str(decision["arm"])


def demo(url: str, visitors: int, seconds: float, start: int = 0) -> list[str]:
    """Visitors one by one, spread over some seconds; prints a line for every tenth of them."""
    print("share of".ljust(13) + "  ".join(MOVIES))
    began, seen, told = time.monotonic(), [], 0
    for i in range(visitors):
        time.sleep(max(0.0, began + seconds * i / visitors - time.monotonic()))
        seen.append(visit(url, start + i))
        if (i + 1) * 10 // visitors > i * 10 // visitors:
            some, told = Counter(seen[told:]), i + 1
            shares = [f"{some[name] / some.total():.0%}".rjust(len(name)) for name in MOVIES]
            print(f"{told - some.total() + 1}-{told}".ljust(13) + "  ".join(shares), flush=True)
    return seen


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="A carousel that recommends while it learns.")
    parser.add_argument("--demo", action="store_true", help="send simulated visitors, then stop")
    parser.add_argument("--visitors", type=int, default=600, help="how many (%(default)s)")
    parser.add_argument("--seconds", type=float, default=30, help="in what time (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="0 for a free one (%(default)s)")
    parser.add_argument(
        "--store", default="memory://", help="sqlite:///carousel.db keeps what was learnt"
    )
    asked = parser.parse_args()
    try:
        with open_carousel(asked.store) as experiment, serving(experiment, asked.port) as url:
            print(f"{url} shows a movie, {url}/report how it goes; Ctrl-C stops", flush=True)
            if not asked.demo:
                threading.Event().wait()
            start = experiment.state.rewards  # a store that was used before: new visitors
            seen = demo(url, asked.visitors, asked.seconds, start)
            last = seen[-len(seen) // 3 :]
            name, count = Counter(last).most_common(1)[0]
            print(f"{name}: {count / len(last):.0%} of the last third of the visitors")
    except KeyboardInterrupt:
        print("stopped")
    except (ValueError, OSError) as error:  # a store or a port that cannot be used
        sys.exit(f"carousel: {error}")


if __name__ == "__main__":
    main()

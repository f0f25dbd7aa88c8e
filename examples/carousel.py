"""A carousel that recommends while it learns: the paper's example as a small web app.

    python examples/carousel.py            rate movies yourself on http://127.0.0.1:8000
    python examples/carousel.py --demo     simulated visitors do it, for half a minute

Movies are rated 1 to 5 stars, and neither a movie's mean rating nor how much opinions on it differ
is known beforehand. The whole experiment is three calls: `decide` when a page is shown, `reward`
when its stars arrive, `report` for the page that tells how it goes. The standard library serves the
pages; any number of such servers may share one store.
"""

from __future__ import annotations

import argparse
import html
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
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
HOUR = 3600


def open_carousel(store: str = "memory://", seed: int = 1, **options: Any) -> varts.Experiment:
    """The experiment; who has not rated within an hour never will, and counts for nothing."""
    return varts.open("carousel", list(MOVIES), store=store, seed=seed, window=HOUR, **options)


# ------------------------------------------------------------------------------------- the pages

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


class Handler(BaseHTTPRequestHandler):
    """Three addresses to look at, one to send stars to."""

    experiment: varts.Experiment

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/":
            self.answer(200, movie_page(self.experiment.decide()))
        elif address.path == "/report":
            self.answer(200, report_page(self.experiment.report()))
        elif address.path == "/recommend":  # the same for a program; a retry gets the same movie
            asked = parse_qs(address.query).get("id", [None])[0]
            try:
                decision = self.experiment.decide(id=asked)
            except (ValueError, LiveError) as error:
                self.refuse(error)
                return
            self.answer(200, json.dumps(decision._asdict()), "application/json")
        else:
            self.answer(404, "There is nothing here.", "text/plain")

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "0")
        body = self.rfile.read(min(int(size), 10_000)) if size.isdecimal() else b""
        form = parse_qs(body.decode("utf-8", "replace"))
        id, stars = form.get("id", [""])[0], form.get("stars", [""])[0]
        if self.path != "/rate" or stars not in ("1", "2", "3", "4", "5"):
            self.answer(400, "Send id and stars, 1 to 5, to /rate.", "text/plain")
            return
        try:
            self.experiment.reward(id, int(stars))
        except (ValueError, LiveError) as error:
            self.refuse(error)
            return
        self.send_response(303)  # so that a reload does not send the stars again
        self.send_header("Location", "/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def refuse(self, error: Exception) -> None:
        """Say in one sentence why nothing was written."""
        statuses = {UnknownDecision: 404, RewardConflict: 409, StoreError: 503}
        self.answer(statuses.get(type(error), 400), str(error), "text/plain")

    def answer(self, status: int, text: str, kind: str = "text/html") -> None:
        """Send a page."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *parts: object) -> None:
        """Keep the terminal for the demo."""


@contextmanager
def serving(experiment: varts.Experiment, port: int = 0) -> Iterator[str]:
    """Serve on this machine alone; gives the address, shuts down cleanly at the end."""
    handler = type("Handler", (Handler,), {"experiment": experiment})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
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
    with open_carousel(asked.store) as experiment, serving(experiment, asked.port) as url:
        print(f"{url} shows a movie, {url}/report how it goes; Ctrl-C stops", flush=True)
        try:
            if asked.demo:
                start = experiment.state.rewards  # a store that was used before: new visitors
                seen = demo(url, asked.visitors, asked.seconds, start)
                last = seen[-len(seen) // 3 :]
                name, count = Counter(last).most_common(1)[0]
                print(f"{name}: {count / len(last):.0%} of the last third of the visitors")
            else:
                threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()

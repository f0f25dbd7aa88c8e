"""The examples run: what they promise is what they do."""

import importlib.util
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
from collections import Counter
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import numpy as np
import pytest

import varts
from tests.fixed_secrets import fix_secrets

pytestmark = [pytest.mark.no_cover, pytest.mark.when_changed("examples", "src/varts/live")]

EXAMPLES = Path(__file__).parents[1] / "examples"
FIXED_SECRETS = Path(__file__).with_name("fixed_secrets.py")
VISITORS = 150
BEST = "Crowd Pleaser"
EVEN = 1 / 5


@pytest.fixture(scope="module")
def carousel():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("carousel", EXAMPLES / "carousel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def app(carousel, monkeypatch):
    """The app on a free port: its experiment and its address. It does the same at every run."""
    fix_secrets(monkeypatch.setattr)
    with carousel.open_carousel() as experiment, carousel.serving(experiment) as url:
        yield experiment, url


def send(url, id, stars):
    """What a browser sends when a button is pressed; returns status and text."""
    try:
        with urlopen(f"{url}/rate", urlencode({"id": id, "stars": stars}).encode()) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_every_example_is_in_the_list():
    page = (EXAMPLES / "README.md").read_text("utf-8")
    examples = [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.ipynb")]
    assert [path.name for path in examples if f"({path.name})" not in page] == []


# ------------------------------------------------------------------------------ the carousel


def last_third(seen):
    return Counter(seen[-len(seen) // 3 :])[BEST] / (len(seen) // 3)


def test_the_demo_learns_and_shuts_down():
    """Its secrets are fixed; with those of 12 other seeds it was 0.70 to 0.98."""
    options = ["--demo", "--visitors", str(VISITORS), "--seconds", "0", "--port", "0"]
    done = subprocess.run(
        [sys.executable, "-W", "error", FIXED_SECRETS, EXAMPLES / "carousel.py", *options],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    table = done.stdout.splitlines()
    assert re.match(r"http://127\.0\.0\.1:\d+ shows a movie", table[0])
    assert [line.split()[0] for line in table[2:-1]] == [
        f"{first}-{first + 14}" for first in range(1, VISITORS, 15)
    ]
    name, share = re.fullmatch(
        r"(.+): (\d+)% of the last third of the visitors", table[-1]
    ).groups()
    assert name == BEST
    assert int(share) / 100 > 3 * EVEN


def test_without_learning_the_best_movie_stays_at_its_even_share(carousel, capsys, monkeypatch):
    """The control: a floor of 1/5 leaves nothing to learn with. 5 sd above 0.2 would be 0.48."""
    fix_secrets(monkeypatch.setattr)
    with carousel.open_carousel(floor=EVEN) as experiment, carousel.serving(experiment) as url:
        seen = carousel.demo(url, VISITORS, seconds=0)
    assert last_third(seen) < 2.4 * EVEN
    assert capsys.readouterr().out.count("\n") == 11


def test_a_visitor_sees_a_movie_rates_it_and_sees_the_next(carousel, app):
    experiment, url = app
    with urlopen(url) as answer:
        page = answer.read().decode()
    assert re.search(r"<h1>(.*)</h1>", page)[1] in carousel.MOVIES
    assert re.findall(r'name="stars" value="(\d)"', page) == ["1", "2", "3", "4", "5"]
    id = re.search(r'name="id" value="(\w+)"', page)[1]
    status, page = send(url, id, 4)  # follows the redirection to the next movie
    assert status == 200 and "<h1>" in page and id not in page
    assert experiment.state.rewards == 1
    assert send(url, id, 4)[0] == 200  # a double click
    assert send(url, id, 5)[0] == 409
    assert send(url, "nobody", 5)[0] == 404
    assert send(url, id, 6)[0] == 400
    assert send(url, id, "<b>")[0] == 400
    assert experiment.state.rewards == 1
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        urlopen(f"{url}/nothing")
    refused.value.close()


def test_a_retried_recommendation_is_the_same(app):
    _, url = app
    answers = []
    for _ in range(2):
        with urlopen(f"{url}/recommend?id=me") as answer:
            answers.append(json.load(answer))
    assert answers[0] == answers[1] and answers[0]["id"] == "me"


def test_what_is_no_request_is_answered_with_400(app):
    experiment, url = app
    for id in ("x" * 300, "%00"):
        with pytest.raises(urllib.error.HTTPError, match="400") as refused:
            urlopen(f"{url}/recommend?id={id}")
        assert b"id must be text" in refused.value.read()
        refused.value.close()
    assert send(url, "", 5)[0] == send(url, "x" * 300, 5)[0] == 400
    for size in ("abc", "-5", "1e3"):
        with closing(HTTPConnection(urlsplit(url).netloc, timeout=30)) as server:
            server.putrequest("POST", "/rate")
            server.putheader("Content-Length", size)
            server.endheaders()
            assert server.getresponse().status == 400
    assert experiment.state.version == 1


def test_a_lost_store_is_answered_with_503(carousel, tmp_path):
    file = tmp_path / "carousel.db"
    with (
        carousel.open_carousel(f"sqlite:///{file}") as experiment,
        carousel.serving(experiment) as url,
    ):
        experiment.close()
        file.write_bytes(b"this is not a database any more" * 1000)
        assert send(url, "visitor", 5)[0] == 503


def raw(url, *lines, body=b"", timeout=30):
    """What the server answers to these lines, sent as they are: its status and its text."""
    with socket.create_connection(address_of(url), timeout) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return received(connection)


def address_of(url):
    parts = urlsplit(url)
    return parts.hostname, parts.port


def received(connection):
    """All that comes until the server hangs up; nothing, if it does so without a word."""
    data = b""
    while more := connection.recv(10_000):
        data += more
    if not data:
        return None, ""
    head, text = data.split(b"\r\n\r\n", 1)
    return int(head.split()[1]), text.decode()


def test_only_its_own_name_is_answered(app):
    """A site that has its name lead to this machine is another host."""
    experiment, url = app
    host, port = address_of(url)
    for name in (f"{host}:{port}", f"localhost:{port}"):
        assert raw(url, "GET / HTTP/1.1", f"Host: {name}")[0] == 200
    before = experiment.store.find("carousel").version, len(exported(experiment))
    others = [
        "evil.example",
        f"evil.example:{port}",
        host,
        f"{host}:{port + 1}",
        f"{host}:{port}.x",
    ]
    for wrong in [f"Host: {name}" for name in others] + [
        "X: y",
        f"Host: {host}:{port}\r\nHost: evil",
    ]:
        for method in ("GET / HTTP/1.1", "GET /recommend?id=me HTTP/1.1", "POST /rate HTTP/1.1"):
            status, text = raw(url, method, wrong, "Content-Length: 0")
            assert (status, text) == (421, f"This server is {host}:{port}, and no other.")
    assert (experiment.store.find("carousel").version, len(exported(experiment))) == before


def exported(experiment):
    with experiment._session.reading() as transaction:
        log = experiment._session.log(transaction)
    return list(log.decisions())


def test_other_sites_send_no_stars(app):
    experiment, url = app
    host = "{}:{}".format(*address_of(url))
    id = experiment.decide().id
    body = urlencode({"id": id, "stars": 5}).encode()
    lines = ["POST /rate HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
    for origin in (
        "https://evil.example",
        "null",
        f"https://{host}",
        f"http://{host}.evil",
        "http://127.0.0.1",
    ):
        assert raw(url, *lines, f"Origin: {origin}", body=body)[0] == 403
    assert experiment.report().state.rewards == 0
    assert raw(url, *lines, f"Origin: http://{host}", body=body)[0] == 303
    assert experiment.report().state.rewards == 1


def test_bodies_have_a_length_and_it_is_small(carousel, app):
    experiment, url = app
    start = ["POST /rate HTTP/1.1", "Host: {}:{}".format(*address_of(url))]
    for status, *sizes in [
        (411,),
        (411, "Transfer-Encoding: chunked"),
        (400, "Content-Length: 5", "Content-Length: 6"),
        (400, "Content-Length: +5"),
        (413, f"Content-Length: {carousel.LARGEST_BODY + 1}"),
        (413, "Content-Length: " + "9" * 5000),
    ]:
        got, text = raw(url, *start, *sizes)
        assert got == status and text.count("\n") == 0 and text.endswith(".")
    assert experiment.report().state.rewards == 0


def test_what_the_library_refuses_is_a_sentence_too(app):
    _, url = app
    host = "Host: {}:{}".format(*address_of(url))
    for status, line in [
        (400, "GET"),
        (400, "\x1b[2J"),
        (400, "GET / HTTP/x"),
        (501, "PUT / HTTP/1.1"),
        (414, "GET /" + "x" * 70_000 + " HTTP/1.1"),
    ]:
        got, text = raw(url, line, host)
        assert got == status and text.endswith(".") and "<" not in text and "\n" not in text


def test_a_request_that_does_not_end_is_cut_off(carousel, app, monkeypatch):
    """Whether nothing comes any more, or a byte now and then; and it changes nothing."""
    experiment, url = app
    monkeypatch.setattr(carousel, "SECONDS_PER_REQUEST", 0.5)
    start = "POST /rate HTTP/1.1\r\nHost: {}:{}\r\n".format(*address_of(url))
    for sent in ("", "GE", start, start + "Content-Length: 20\r\n\r\nid=x&st"):
        for drip in (b"", b"x"):
            with socket.create_connection(address_of(url), 30) as connection:
                connection.sendall(sent.encode())
                began = time.monotonic()
                with suppress(ConnectionError):
                    for _ in range(25 if drip else 0):  # for a second and more
                        connection.sendall(drip)
                        time.sleep(0.05)
                with suppress(ConnectionError):
                    assert received(connection)[0] in (None, 400)
                assert time.monotonic() - began < 20
    assert experiment.report().state.rewards == 0
    assert raw(url, "GET / HTTP/1.1", start.split("\r\n")[1])[0] == 200


def test_many_half_requests_take_few_threads_and_the_next_is_answered(carousel, monkeypatch):
    monkeypatch.setattr(carousel, "REQUESTS_AT_ONCE", 4)
    monkeypatch.setattr(carousel, "SECONDS_PER_REQUEST", 1.0)
    with (
        carousel.open_carousel() as experiment,
        carousel.serving(experiment) as url,
        ExitStack() as open_ones,
    ):
        before = threading.active_count()
        for _ in range(12):
            one = socket.create_connection(address_of(url), 30)
            open_ones.enter_context(one).sendall(b"GET / HT")
        time.sleep(0.3)
        assert threading.active_count() <= before + 4
        assert raw(url, "GET / HTTP/1.1", "Host: {}:{}".format(*address_of(url)))[0] == 200


def test_the_report_page_has_a_bar_per_movie_and_refreshes(carousel, app):
    _, url = app
    for number in range(2):  # before any rating, and after some
        with urlopen(f"{url}/report") as answer:
            page = answer.read().decode()
        assert 'http-equiv="refresh"' in page and "nan" not in page and "None" not in page
        for movie in carousel.MOVIES:
            assert movie in page
        widths = [float(w) for w in re.findall(r'class="share" style="width:([\d.]+)%', page)]
        assert len(widths) == 5
        assert sum(widths) == pytest.approx(100 * number, abs=0.3)  # five rounded numbers
        for visitor in range(30):
            carousel.visit(url, visitor)
    assert "chance of being best: " in page


def test_ctrl_c_is_a_clean_end(tmp_path):
    """A browser is answered, then the interrupt leaves no traceback and a store that verifies."""
    store = f"sqlite:///{tmp_path}/carousel.db"
    process = subprocess.Popen(
        [sys.executable, EXAMPLES / "carousel.py", "--port", "0", "--store", store],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        url = process.stdout.readline().split()[0]
        with urlopen(url) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "stopped\n", "")
    with varts.open("carousel", store=store) as experiment:
        assert experiment.verify(replay=True).decisions == 1


def test_what_cannot_be_used_is_one_sentence(tmp_path):
    (tmp_path / "no.db").write_text("this is no database" * 100)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options in (
            ["--port", port],
            ["--port", "0", "--store", f"sqlite:///{tmp_path}/no.db"],
        ):
            command = [sys.executable, EXAMPLES / "carousel.py", *options]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
            assert done.stderr.startswith("carousel: ")


# ------------------------------------------------------------------------------------- airports


def test_travellers_gain_from_context():
    """4,000 of them gain 1 to 3 of 3.2 minutes in other runs; without context, nothing."""
    command = [sys.executable, str(EXAMPLES / "airports.py"), "--travellers", "4000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    gained = re.search(r"the last quarter of them: ([+-][\d.]+)", done.stdout)
    assert float(gained[1]) > 0.5
    assert "Which arm for whom" in done.stdout


def test_without_context_there_is_nothing_to_gain():
    spec = importlib.util.spec_from_file_location("airports", EXAMPLES / "airports.py")
    airports = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(airports)
    with varts.open(
        *("blind", airports.AIRPORTS), store="memory://", features=airports.FEATURES,
        policy="VarTS", floor=0.02, seed=1,
    ) as experiment:  # fmt: skip
        gain = airports.fly(experiment, 2000, np.random.default_rng(1))
    assert gain["gained at the end"] < 0.5


# ----------------------------------------------------------------------------------- a notebook


def test_the_cells_of_the_notebook_run_in_order(monkeypatch):
    """Without Jupyter: a notebook is JSON, and its code cells share one namespace."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    notebook = json.loads((EXAMPLES / "first-study.ipynb").read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    names = {"__name__": "__main__"}
    for cell in code:
        exec(compile("".join(cell["source"]), f"<{cell['id']}>", "exec"), names)
    assert names["both"].summary()["policy"][-1] == "Even-Split"
    assert (names["differences"]["difference_low"] > 0).all()  # all lose more than VarTS


def test_links_of_the_notebook_resolve():
    text = (EXAMPLES / "first-study.ipynb").read_text("utf-8")
    links = re.findall(r"\]\((\.\./[^)]+)\)", text)
    assert len(links) > 3
    assert [one for one in links if not (EXAMPLES / one).exists()] == []

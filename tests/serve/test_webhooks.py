"""Webhooks: what is announced, when, and how often; and receivers that misbehave."""

import asyncio
import base64
import hmac
import json
import logging
import time
from types import SimpleNamespace

import pytest

import varts
from varts._progress import Progress
from varts.live import Store
from varts.serve import webhooks
from varts.serve.background import Background
from varts.serve.settings import Settings
from varts.serve.webhooks import (
    GUARDRAIL,
    QUIET_SECONDS,
    SILENT,
    STOP_RULE,
    Condition,
    Looked,
    Watch,
    Webhooks,
    look,
    read_secret,
    webhooks_of,
)

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MINUTE = 60_000_000  # microseconds


class Clock:
    """Stands still unless a test moves it; microseconds."""

    def __init__(self):
        self.now = 1_800_000_000_000_000

    def __call__(self):
        self.now += 1
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(webhooks.time, "time_ns", lambda: made.now * 1000)
    return made


def looked(store, known=None):
    """The conditions that a look at all experiments finds."""
    return look(known or {}, lambda: store, Progress())


def events(found):
    return [(one.event, one.about) for one in found.all]


# ------------------------------------------------------------------------------ what is found


def decide_and_reward(exp, count, value=lambda made: 1.0, clock=None, gap=0):
    for _ in range(count):
        made = exp.decide()
        exp.reward(made.id, value(made))
        if clock is not None:
            clock.now += gap


def test_a_stop_rule_that_is_met_and_an_experiment_that_is_stopped():
    exp = varts.open(
        "price", ["9", "12"], store="memory://", seed=1, stop_p_best=0.95, policy="EvenSplit"
    )
    for n in range(40):
        made = exp.decide(id=f"early-{n}")
        exp.reward(made.id, n % 7)
    assert looked(exp.store)["price"].all == ()  # negative control
    for n in range(300):
        made = exp.decide(id=f"visit-{n}")
        exp.reward(made.id, (9.0 if made.arm == "9" else 0.0) + n % 3)
    found = looked(exp.store)["price"]
    assert events(found) == [(STOP_RULE, ())]
    assert found.all[0].sentence == exp.report().verdict
    exp.stop("9")
    assert looked(exp.store, {"price": found}) == {}


def test_a_violated_guardrail_by_metric_and_arm():
    exp = varts.open(
        "price", ["9", "15"], store="memory://", seed=1, metrics=["refund", "visits"],
        guards={"refund": ("below", 0.05), "visits": ("above", 1.0)}, policy="EvenSplit",
    )  # fmt: skip
    for n in range(200):
        made = exp.decide(id=str(n))
        refund = float(n % 2) if made.arm == "15" else 0.0
        exp.reward(made.id, n % 5, refund=refund, visits=2.0 + n % 3)
    found = looked(exp.store)["price"]
    assert (GUARDRAIL, ("refund", "15")) in events(found)
    assert [one.sentence for one in found.all if one.event == GUARDRAIL] == list(
        exp.report().guards
    )
    exp.pause_arm("15")  # a paused arm does no harm
    assert GUARDRAIL not in [one.event for one in looked(exp.store)["price"].all]


def test_a_look_reports_again_only_on_what_has_changed(monkeypatch):
    exp = varts.open(
        "price", ["9", "12"], store="memory://", seed=1, stop_p_best=0.95, policy="EvenSplit"
    )
    other = varts.open("other", ["9", "12"], store=exp.store, seed=1)
    first = looked(exp.store)
    reported = []

    def count(self, **options):
        reported.append(self.name)
        return report(self, **options)

    report = varts.live.Experiment.report
    monkeypatch.setattr(varts.live.Experiment, "report", count)
    assert looked(exp.store, first) == first and reported == []
    decide_and_reward(other, 3)
    looked(exp.store, first)
    assert reported == ["other"]


# ------------------------------------------------------------------------------ silence


@pytest.fixture
def shop(clock):
    """An experiment with a reward for every fifth decision; one decision a second."""
    store = Store("memory://", clock=clock)
    exp = varts.open("price", ["9", "12"], store=store, seed=1)

    def trade(count, rewards=True, every=5, gap=1_000_000):
        for n in range(count):
            made = exp.decide()
            if rewards and n % every == 0:
                exp.reward(made.id, 9.0 + n % 4)
            clock.now += gap

    return SimpleNamespace(exp=exp, store=store, trade=trade, clock=clock)


def is_silent(shop):
    found = looked(shop.store)["price"].silent
    assert found is None or found.event == SILENT
    return found


def test_rewards_that_stop_arriving_while_decisions_go_on(shop):
    shop.trade(600)
    assert is_silent(shop) is None
    shop.trade(9 * 60, rewards=False)
    assert is_silent(shop) is None  # not ten minutes yet
    shop.trade(2 * 60, rewards=False)
    found = is_silent(shop)
    assert "no reward has arrived since 2027-01-15 08:09 UTC, although" in found.sentence
    shop.trade(5)
    assert is_silent(shop) is None


def test_silence_without_decisions_is_no_alarm(shop):
    """A shop that is closed at night needs nobody."""
    shop.trade(600)
    shop.clock.now += 12 * 60 * MINUTE
    assert is_silent(shop) is None
    shop.trade(90, rewards=False)  # 18 rewards would be usual: too few to tell
    assert is_silent(shop) is None
    shop.trade(30, rewards=False)
    assert is_silent(shop)


def test_silence_is_no_alarm_with_few_rewards(shop):
    shop.trade(495)  # 99 rewards
    shop.trade(3000, rewards=False)
    assert is_silent(shop) is None


def test_silence_is_no_alarm_if_gaps_like_it_are_usual(shop):
    """Rewards that come in a file once a day."""
    for _ in range(3):
        made = [shop.exp.decide().id for _ in range(50)]
        shop.clock.now += 24 * 60 * MINUTE
        shop.exp.reward_many([(id, 9.0 + n % 4) for n, id in enumerate(made)])
    for _ in range(50):
        shop.exp.decide()
    shop.clock.now += 2 * 24 * 60 * MINUTE
    assert is_silent(shop) is None
    shop.clock.now += 25 * 60 * MINUTE
    assert is_silent(shop)


def test_a_reward_that_counts_later_is_not_one_that_arrives(clock):
    """With a window, rewards count when it closes, long after the last one has arrived."""
    store = Store("memory://", clock=clock)
    exp = varts.open("price", ["9", "12"], store=store, seed=1, window=3600)
    for n in range(200):
        exp.reward(exp.decide().id, 9.0 + n % 4)
        clock.now += 10_000_000
    for _ in range(400):
        exp.decide()
        clock.now += 10_000_000
    exp.settle()
    assert exp.state.rewards > 0 and store.activities(["price"])["price"].last_reward
    found = looked(store)["price"].silent
    assert found is not None and "although 400 decisions" in found.sentence


# ------------------------------------------------------------------------------ once


def held(*conditions, created=1):
    return {"price": Looked(1, "tag", created, tuple(conditions), None)}


STOP = Condition(STOP_RULE, (), "met")
BROKEN = Condition(GUARDRAIL, ("refund", "15"), "broken")


def test_a_state_is_announced_once_per_transition():
    now = SimpleNamespace(s=0.0)
    watch = Watch(None, lambda: now.s)
    assert watch.begun(held(STOP)) == []  # it may have been announced before the start
    assert [one for *_, one in watch.begun(held(STOP, BROKEN))] == [BROKEN]
    assert watch.begun(held(STOP, BROKEN)) == []
    now.s += QUIET_SECONDS / 2
    assert watch.begun(held(STOP)) == []
    assert watch.begun(held(STOP, BROKEN)) == []  # it was over for half an hour only
    now.s += QUIET_SECONDS / 2
    assert watch.begun(held(STOP)) == []
    now.s += QUIET_SECONDS / 2 + 1
    assert [one for *_, one in watch.begun(held(STOP, BROKEN))] == [BROKEN]
    # Another experiment of that name.
    assert [one for *_, one in watch.begun(held(STOP, created=2))] == [STOP]


def test_what_was_announced_is_known_after_a_restart():
    watch = Watch([])
    assert len(watch.begun(held(STOP))) == 1
    again = Watch(sorted(watch.announced))
    assert again.begun(held(STOP)) == []
    assert [one for *_, one in again.begun(held(STOP, BROKEN))] == [BROKEN]


# ------------------------------------------------------------------------------ delivery


class Receiver:
    """An HTTP server on loopback that answers each request in the next of several ways."""

    def __init__(self, *ways):
        self.ways, self.requests, self.connections = list(ways), [], 0

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/hook?a=1"
        return self

    async def __aexit__(self, *error):
        self._server.close()

    async def _serve(self, reader, writer):
        self.connections += 1
        way = self.ways.pop(0) if len(self.ways) > 1 else self.ways[0]
        try:
            if way == "refuse":
                return
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
            first, *lines = head.strip().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            body = await reader.readexactly(int(headers["content-length"]))
            self.requests.append((first, headers, body))
            if way == "hang":
                await asyncio.sleep(60)
            elif way == "drip":
                for _ in range(600):
                    writer.write(b"H")
                    await asyncio.sleep(0.02)
                    await writer.drain()
            elif way == "endless":
                while True:
                    writer.write(b"x" * 65536)
                    await writer.drain()
            elif isinstance(way, bytes):
                writer.write(way)
                await writer.drain()
            else:
                location = "Location: http://127.0.0.1:1/other\r\n" if way == 302 else ""
                writer.write(f"HTTP/1.1 {way} Said\r\n{location}\r\n".encode())
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()


@pytest.fixture
def quick(monkeypatch):
    """Attempts that don't take long."""
    monkeypatch.setattr(webhooks, "ATTEMPT_SECONDS", 0.3)
    monkeypatch.setattr(webhooks, "WAITS_SECONDS", (0.01, 0.02))


def deliver(receiver, secret=None, public_url=None):
    """Deliver one announcement, and return the log lines about it."""

    async def main():
        async with receiver:
            made = Webhooks(None, receiver.url, secret, public_url)
            await made._deliver("price & co", STOP)

    asyncio.run(asyncio.wait_for(main(), 60))


def last_line(caplog):
    record = [one for one in caplog.records if one.name == "varts.serve"][-1]
    return record.getMessage(), record.levelno, record.fields.get("error")


@pytest.fixture(autouse=True)
def lines(caplog):
    logger = logging.getLogger("varts.serve")
    before, logger.propagate = logger.propagate, True
    caplog.set_level(logging.INFO, "varts.serve")
    yield
    logger.propagate = before


def test_an_announcement_says_what_happened_and_where(caplog):
    receiver = Receiver(204)
    deliver(receiver, SECRET, "https://varts.example.com/")
    ((first, headers, body),) = receiver.requests
    assert first == "POST /hook?a=1 HTTP/1.1"
    assert headers["content-type"] == "application/json"
    sent = json.loads(body)
    link = "https://varts.example.com/experiments/price%20%26%20co"
    assert sent["text"] == f"price & co: met {link}"
    del sent["text"], sent["time"]
    assert sent == {
        "id": headers["webhook-id"],
        "event": "stop-rule-met",
        "experiment": "price & co",
        "sentence": "met",
        "link": link,
    }
    # As the specification says it: the HMAC of id, timestamp and body, with dots.
    signed = b".".join(
        [headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body]
    )
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    expected = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    assert last_line(caplog) == ("webhook delivered", logging.INFO, None)


def test_without_a_secret_nothing_is_signed():
    receiver = Receiver(200)
    deliver(receiver)
    ((_, headers, body),) = receiver.requests
    assert "webhook-signature" not in headers and json.loads(body)["link"] is None


@pytest.mark.parametrize(
    ("way", "error"),
    [
        ("hang", "no response within 0.3 s"),
        ("drip", "no response within 0.3 s"),
        ("endless", "limit"),
        ("refuse", ""),
        (b"\x00\xff garbage\n", "the response isn't HTTP"),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", "the response isn't HTTP"),
        (b"HTTP/1.1 200", "bytes"),
        (302, "the response has status 302"),
        (500, "the response has status 500"),
        (404, "the response has status 404"),
    ],
)
def test_a_receiver_that_fails_is_tried_a_few_times(quick, caplog, way, error):
    receiver = Receiver(way)
    deliver(receiver)
    assert receiver.connections == 3
    event, level, said = last_line(caplog)
    assert (event, level) == ("webhook given up", logging.ERROR) and error in said
    assert receiver.url not in caplog.text


def test_a_receiver_that_recovers_gets_the_same_announcement(quick, caplog):
    receiver = Receiver("hang", 503, 200)
    deliver(receiver)
    assert receiver.connections == 3
    assert len({body for *_, body in receiver.requests}) == 1
    assert last_line(caplog)[0] == "webhook delivered"


def test_a_receiver_that_is_not_there(quick, caplog):
    async def main():
        made = Webhooks(None, "http://127.0.0.1:9/")
        await made._deliver("price", STOP)

    asyncio.run(main())
    assert last_line(caplog)[0] == "webhook given up"


def test_a_receiver_without_tls(quick, caplog):
    """Nothing is sent in the clear."""

    async def main():
        async with Receiver(204) as receiver:
            made = Webhooks(None, receiver.url.replace("http:", "https:"))
            await made._deliver("price", STOP)
            assert receiver.requests == []

    asyncio.run(main())
    assert last_line(caplog)[0] == "webhook given up"


def test_all_attempts_together_have_a_deadline(quick, monkeypatch, caplog):
    monkeypatch.setattr(webhooks, "LONGEST_DELIVERY_SECONDS", 0.2)
    monkeypatch.setattr(webhooks, "WAITS_SECONDS", (60.0,))
    deliver(Receiver(500))
    assert last_line(caplog) == (
        "webhook given up",
        logging.ERROR,
        "the response has status 500",
    )


# ------------------------------------------------------------------------------ all together


def test_looks_announcements_and_the_state_file(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(webhooks, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(webhooks, "REFRESH_SHARE", 0.9)
    exp = varts.open(
        "price", ["9", "12"], store="memory://", seed=1, stop_p_best=0.95, policy="EvenSplit"
    )
    file = tmp_path / "announced.json"
    file.write_text("[]")

    async def until(condition):
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.01)

    async def serve(receiver, act):
        background = Background(exp.store)
        settings = Settings(webhook=receiver.url, webhook_state=file)
        made = webhooks_of(background, settings)
        task = asyncio.create_task(made.run())
        await act(made)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await background.close()

    async def main():
        async with Receiver(204) as receiver:

            async def first(made):
                await until(lambda: made._known)
                for n in range(300):
                    one = exp.decide(id=f"visit-{n}")
                    exp.reward(one.id, (9.0 if one.arm == "9" else 0.0) + n % 3)
                await until(lambda: receiver.requests and "price" in file.read_text())

            async def second(made):
                await until(lambda: made._known)
                await asyncio.sleep(0.1)

            await serve(receiver, first)
            await serve(receiver, second)
            assert [json.loads(body)["event"] for *_, body in receiver.requests] == [STOP_RULE]
            # Without its file, the service starts afresh and doesn't announce what holds already.
            file.unlink()
            await serve(receiver, second)
            file.write_text('{"[')
            await serve(receiver, second)
            assert len(receiver.requests) == 1
            # One that was never delivered is announced by the next process.
            file.write_text("[]")
            receiver.ways = [500]
            await serve(receiver, lambda made: until(lambda: len(receiver.requests) == 2))
            receiver.ways = [204]
            await serve(receiver, lambda made: until(lambda: len(receiver.requests) == 3))

    asyncio.run(main())


def test_a_look_that_fails_is_not_the_last(monkeypatch, caplog):
    monkeypatch.setattr(webhooks, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(webhooks, "REFRESH_SHARE", 0.9)
    exp = varts.open(
        "price", ["9", "12"], store="memory://", seed=1, stop_p_best=0.95, policy="EvenSplit"
    )
    failures = [varts.live.StoreError("lost"), ZeroDivisionError("a bug")]

    def fail(known, open_store, shown):
        if failures:
            raise failures.pop()
        return look(known, open_store, shown)

    monkeypatch.setattr(webhooks, "look", fail)

    async def main():
        background = Background(exp.store)
        made = Webhooks(background, "http://127.0.0.1:9/")
        task = asyncio.create_task(made.run())
        async with asyncio.timeout(30):
            while not made._known:
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await background.close()

    asyncio.run(main())
    assert [one.getMessage() for one in caplog.records][:2] == [
        "webhooks: a look failed",
        "webhooks: the store can't be read",
    ]


def test_deliveries_under_way_are_bounded(monkeypatch, caplog):
    monkeypatch.setattr(webhooks, "MOST_DELIVERIES", 3)
    monkeypatch.setattr(Webhooks, "_deliver", lambda self, name, condition: asyncio.sleep(60))

    async def main():
        made = Webhooks(None, "http://127.0.0.1:9/")
        for number in range(5):
            made._announce((str(number),), "price", STOP)
        assert len(made._deliveries) == 3
        for task in made._deliveries:
            task.cancel()
        await asyncio.gather(*made._deliveries, return_exceptions=True)

    asyncio.run(main())
    assert [one.getMessage() for one in caplog.records] == 2 * ["webhook given up"]


# ------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://hooks.example/varts", "must be an https URL .*, got 'hooks.example'"),
        ("ftp://localhost/", "must be an https URL"),
        ("https://", "must be an https URL"),
        ("https://hooks.example:99999/", "must be an https URL"),
        ("https://user:pass@hooks.example/", "without a user"),
        ("https://hooks.example/a\r\nb", "must be an https URL"),
        ("https://hooks.example/a b", "must be an https URL"),
        ("http://127.0.0.1.evil.example/", "must be an https URL"),
    ],
)
def test_a_url_that_must_not_be_used(url, message):
    with pytest.raises(ValueError, match=message) as caught:
        Settings(webhook=url)
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example/services/T0/B0?x=1",
        "http://localhost:9000/",
        "http://127.0.0.2/x",
        "http://[::1]:9/",
    ],
)
def test_a_url_that_may_be_used(url):
    assert Settings(webhook=url).webhook == url


def test_the_secret_comes_from_a_file_and_is_long_enough(tmp_path):
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    settings = Settings(webhook="http://localhost/", webhook_secret_file=file)
    made = webhooks_of(None, settings)
    assert made._key == base64.b64decode(SECRET.removeprefix("whsec_"))
    assert read_secret("correct horse battery staple") == b"correct horse battery staple"
    with pytest.raises(ValueError, match="at least 16 bytes, got 5"):
        read_secret("short")
    with pytest.raises(ValueError, match="must be base64 after whsec_"):
        read_secret("whsec_???")
    assert webhooks_of(None, Settings()) is None
    with pytest.raises(ValueError, match="webhook must be given"):
        Settings(webhook_secret_file=file)

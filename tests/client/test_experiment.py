"""A remote experiment beside one that is opened on the same database."""

import asyncio
import inspect
import multiprocessing
import os

import polars as pl
import pytest

import varts
from varts.client import AsyncExperiment, NotAllowed, RemoteExperiment, UnknownToken, open_async
from varts.client.errors import ERRORS, OUTCOMES
from varts.live import (
    Changed,
    Differs,
    Experiment,
    LiveError,
    StoreError,
    UnknownDecision,
    UnknownExperiment,
)
from varts.serve.errors import ERRORS as SERVED
from varts.serve.schemas import RewardResult

# What a database offers and a service does not.
NOT_OFFERED = {
    "settle",
    "verify",
    "state",
    "amend_many",
    "void_many",
    "contexts",
    "decide_each",
    "record_exposures_of",
}


def play(experiment, count=240):
    """Decisions with rewards, metrics and a holdout."""
    made = experiment.decide_many([f"unit {i}" for i in range(count)])
    arms = experiment.arms
    rewards = [
        (d.id, arms.index(d.arm) + (7 * i % 5) / 3, {"refund": i % 3 == 0})
        for i, d in enumerate(made)
    ]
    experiment.reward_many((id, value, {"refund": int(m["refund"])}) for id, value, m in rewards)
    return made


@pytest.fixture
def both(running):
    """An experiment with everything that a report can tell, from afar and from near."""
    options = {
        "metrics": ["refund"],
        "guards": {"refund": ("below", 0.05)},
        "holdout": 0.4,
        "stop_p_best": 0.9,
    }
    with running.open("price", ["9", "12", "15"], **options) as far:
        play(far)
        yield far, Experiment("price", running.store)


# ------------------------------------------------------------------------------ the same verbs


def verbs(kind):
    names = [name for name in dir(kind) if not name.startswith("_")]
    return {name for name in names if inspect.isfunction(getattr(kind, name))}


def test_a_service_offers_the_verbs_of_a_database():
    offered = verbs(Experiment) - NOT_OFFERED
    assert offered <= verbs(RemoteExperiment)
    assert verbs(RemoteExperiment) == verbs(AsyncExperiment)
    assert verbs(RemoteExperiment) - offered == {"look"}


@pytest.mark.parametrize("verb", sorted(verbs(RemoteExperiment) & verbs(Experiment) - {"close"}))
def test_a_verb_takes_what_it_takes_on_a_database(verb):
    """But for what a service does by itself."""
    near, far, later = (
        inspect.signature(getattr(kind, verb)).parameters
        for kind in (Experiment, RemoteExperiment, AsyncExperiment)
    )
    own, remote = {"settle", "progress", "public"}, {"default", "deadline"}
    assert list(far) == list(later)
    assert [name for name in near if name not in own] == [n for n in far if n not in remote]
    for name in near.keys() & far.keys():
        assert near[name].default == far[name].default
        assert near[name].kind == far[name].kind or name == "self"


def test_answers_are_shown_as_what_they_are():
    assert inspect.signature(RemoteExperiment.reward).return_annotation == "bool"
    assert inspect.signature(AsyncExperiment.decide_many).return_annotation == "list[Decision]"
    assert inspect.iscoroutinefunction(AsyncExperiment.decide)


def test_a_report_is_the_same_from_afar(both):
    far, near = both
    for level in (0.95, 0.5):
        one, other = far.report(level), near.report(level)
        assert one.frame.equals(other.frame) and one.frame.schema == other.frame.schema
        assert one.metrics.equals(other.metrics) and one.gain == other.gain
        assert str(one) == str(other) and one == other
        assert one.ranking.equals(other.ranking) and one.possible == other.possible
        assert one.state.config == other.state.config and one.version == other.version
    with pytest.raises(NotImplementedError, match="doesn't send the sums"):
        one.state.statistics()


def test_a_history_is_the_same_from_afar(both):
    far, near = both
    for how in ({"points": 4}, {"every_rewards": 100}, {"every": "1h"}, {}):
        one, other = far.history(**how), near.history(**how)
        assert one.frame.equals(other.frame) and one.frame.schema == other.frame.schema
        assert str(one) == str(other) and one.by_time == other.by_time
        assert abs(one.start - other.start).total_seconds() < 1  # the row, or its first event


def test_checks_and_evaluations_are_the_same_from_afar(both):
    far, near = both
    assert far.check() == near.check() and str(far.check()) == str(near.check())
    ways = varts.always("12"), {"9": 0.5, "15": 0.5}, varts.EvenSplit()
    for way in ways:
        assert str(far.evaluate(way)) == str(near.evaluate(way))
    against = varts.always("9")
    assert far.evaluate(ways[0], against, 0.9) == near.evaluate(ways[0], against, 0.9)
    with pytest.raises(ValueError, match=r'^against must be always\("arm"\)'):
        far.evaluate(ways[0], varts.EvenSplit())
    with pytest.raises(TypeError, match=r"^policy must be always"):
        far.evaluate("12")


def test_records_are_the_same_from_afar(both):
    far, near = both
    made = far.decide("ann", "a/b ü")
    far.reward(made.id, 2.0, refund=1)
    far.amend(made.id, 3.0, why="typed wrong")
    assert far.decision(made.id) == near.decision(made.id)
    for id in ("..", ".", "a?b#c", "%2F"):
        far.reward(far.decide(id=id).id, 1.0)
        assert far.decision(id) == near.decision(id) and far.void(id) is True
    assert far.changes() == near.changes()
    assert far.changes()[1].by == "operator" and far.changes()[1].why == "typed wrong"
    assert far.changes(limit=2) == near.changes(limit=2)


def test_a_long_list_of_changes_comes_in_pages(price, running):
    for i in range(120):
        price.configure(floor=0.001 * (i + 1))
    assert len(price.changes()) == 121
    assert price.changes(after=5, limit=110) == Experiment("price", running.store).changes(5, 110)


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson"])
def test_a_log_is_the_same_from_afar(both, tmp_path, kind):
    far, near = both
    one, other = tmp_path / f"one.{kind}", tmp_path / f"other.{kind}"
    assert far.export(one) == near.export(other) == 240
    if kind == "parquet":
        assert pl.read_parquet(one).equals(pl.read_parquet(other))
    else:
        assert one.read_bytes() == other.read_bytes()
    assert far.export(one, limit=3) == 3


def test_an_empty_log(price, tmp_path):
    assert price.export(tmp_path / "log.parquet") == 0
    assert pl.read_parquet(tmp_path / "log.parquet")["time"].dtype == pl.Datetime("us", "UTC")


def test_delete_writes_the_log_first(both, tmp_path):
    far, _ = both
    with pytest.raises(ValueError, match=r"^confirm must be the experiment's name, 'price', got"):
        far.delete("prise", export=None)
    assert far.delete("price", export=tmp_path / "log.csv") == 240
    assert (tmp_path / "log.csv").read_text().count("\n") == 241
    with pytest.raises(UnknownExperiment):
        far.decide()


def test_what_is_used_while_its_log_is_written_is_not_deleted(both, tmp_path, monkeypatch):
    far, near = both
    near.decide(id="late")
    from varts.client import verbs as questions

    write = questions.convert_log

    def slow(*given):
        near.reward("late", 1.0)
        return write(*given)

    monkeypatch.setattr(questions, "convert_log", slow)
    with pytest.raises(Changed, match="was used while its log was exported, so it was not deleted"):
        far.delete("price", export=tmp_path / "log.csv")
    assert near.decision("late").reward == 1.0


# ------------------------------------------------------------------------------ batches


def test_of_many_rewards_all_that_can_be_are_applied(price):
    a, b, c = (d.id for d in price.decide_many(3))
    with pytest.raises(UnknownDecision, match="never"):
        price.reward_many([(a, 1.0), ("never", 1.0), (b, 2.0)])
    assert price.reward_many([(a, 1.0), (b, 2.0), (c, 3.0)]) == [False, False, True]
    with pytest.raises(TypeError):
        price.reward_many([(a, 1.0), 7])  # nothing was sent
    found = price.reward_each([(a, 9.0), ("never", 1.0), (b, "x"), 7, (b, 2.0)])
    kinds = [type(one).__name__ for one in found]
    assert kinds == ["RewardConflict", "UnknownDecision", "InvalidReward", "TypeError", "bool"]


def test_more_than_one_request_can_carry(price):
    ids = ["é" * 120 + f"{i:05}" * 27 for i in range(2500)]  # 0.9 MB are less than 1,000 of them
    made = price.decide_many(ids=ids)
    assert [d.id for d in made] == ids
    assert price.reward_many((id, 1.0) for id in ids) == [True] * 2500


# ------------------------------------------------------------------------------ tokens


def test_a_token_may_come_from_the_environment(running, price, monkeypatch):
    for token in ("varts_wrong", None):
        for arms in (["9", "12", "15"], None):
            with pytest.raises(UnknownToken, match="token") as refused:
                running.open("price", arms, token=token)
            assert isinstance(refused.value, PermissionError)
            assert isinstance(refused.value, LiveError)
    monkeypatch.setenv("VARTS_TOKEN", running.token)
    with running.open("price", token=None) as exp:
        assert exp.arms == ["9", "12", "15"]


def test_a_worker_needs_no_more_than_it_does(running, price):
    with running.open("price", token=running.make_token("decide")) as shop:
        made = shop.decide()
        for refused in (lambda: shop.reward(made.id, 1.0), lambda: shop.arms, shop.report):
            with pytest.raises(NotAllowed):
                refused()
        assert "price" in repr(shop)
    with running.open("price", token=running.make_token("reward")) as till:
        assert till.reward(made.id, 1.0) is True
    with running.open("price", token=running.make_token("read")) as reader:
        assert reader.decision(made.id).unit is None and reader.report().frame["n"].sum() == 1


@pytest.mark.parametrize("scopes", [["decide"], ["read"], ["read", "decide"]])
def test_a_token_that_may_not_create_opens_what_exists(running, price, scopes):
    token = running.make_token(*scopes)
    with running.open("price", ["9", "12", "15"], floor=0.0, token=token) as exp:
        if "decide" in scopes:
            assert exp.decide().arm in price.arms
        if "read" in scopes:
            assert exp.arms == price.arms
    if "read" in scopes:
        for arms, option, what in (
            (["9", "13"], {}, "arms"),
            (price.arms, {"floor": 0.1}, "floor"),
        ):
            with pytest.raises(Differs, match=f"^{what}"):
                running.open("price", arms, token=token, **option)
        with pytest.raises(NotAllowed):
            running.open("another", ["9"], token=token)
    else:
        with pytest.raises(NotAllowed):  # nobody could check this option
            running.open("price", floor=0.1, token=token)
        with running.open("another", ["9"], token=token) as exp, pytest.raises(UnknownExperiment):
            exp.decide()


def test_every_error_of_the_service_is_one_here():
    for kind, slug in SERVED.items():
        if kind is not StoreError:
            assert issubclass(ERRORS[slug], LiveError) and issubclass(ERRORS[slug], kind)
    told = inspect.get_annotations(RewardResult, eval_str=True)["status"].__args__
    assert {*OUTCOMES, "applied", "duplicate"} == {*told}


# ------------------------------------------------------------------------------ changes


def test_a_change_says_what_it_rests_on(running, price):
    with running.open("price") as other:
        seen = price.revision
        other.pause_arm("9")
        with pytest.raises(Changed, match=f"it is at revision {other.revision}, got {seen}"):
            price.stop("12", expected=seen)
        price.stop("12", expected=price.revision)
        assert other.report().winner == "12"


def test_who_did_it_is_for_the_service_to_say(price):
    price.decide(id="d")
    for call in (
        lambda: price.stop(by="ann"),
        lambda: price.configure(floor=0.1, by="ann"),
        lambda: price.amend("d", 1.0, by="ann"),
        lambda: price.void("d", by="ann"),
        lambda: price.forget_unit("u", by="ann"),
    ):
        with pytest.raises(ValueError, match=r"^by must be left out, because the service logs"):
            call()


# ------------------------------------------------------------------------------ processes


def test_a_child_has_connections_of_its_own(price):
    first = price.decide(id="parent")

    def work(queue):
        queue.put((os.getpid(), price.decide(id="parent"), price.decide(id="child")))

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    pid, again, made = queue.get(timeout=30)
    child.join(30)
    assert pid != os.getpid() and again == first
    assert price.decide(id="child") == made


# ------------------------------------------------------------------------------ asynchronous


def test_every_verb_can_be_awaited(running, tmp_path):
    async def visit():
        arms = ["9", "12", "15"]
        given = {"store": running.address, "token": running.token}
        async with await open_async("price", arms, metrics=["refund"], **given) as exp:
            assert (exp.name, exp.arms, exp.options.floor) == ("price", arms, 0.0)
            made = await asyncio.gather(*(exp.decide(id=f"d{i}") for i in range(40)))
            assert all(await asyncio.gather(*(exp.reward(d.id, 1.0 * len(d.arm)) for d in made)))
            assert await exp.reward(made[0].id, 1.0 * len(made[0].arm)) is False
            assert (await exp.report()).frame["n"].sum() == 40
            assert await exp.export(tmp_path / "log.parquet") == 40
            assert (await exp.decision("d3")).corrections == 0
            await exp.add_arm("18")
            assert exp.arms == [*arms, "18"] and exp.revision == 42
            with pytest.raises(UnknownDecision, match="never"):
                await exp.reward("never", 1.0)
            with pytest.raises(ValueError, match=r"^ids must be one per unit"):
                await exp.decide_many(2, ["a"])
        with pytest.raises(UnknownExperiment, match="give its arms to create it"):
            await open_async("prise", **given)
        only = await open_async("price", store=running.address, token=running.make_token("decide"))
        async with only:
            with pytest.raises(ValueError, match="isn't known yet"):
                _ = only.arms
            assert (await only.decide()).arm and "price" in repr(only)

    asyncio.run(visit())

"""What is known of units, from afar: the same contexts, the same report, the same sentences."""

import asyncio

import numpy as np
import polars as pl
import pytest

from tests.live.contexts import FEATURES, NOT_CONTEXTS, context, visit
from varts.client import open_async
from varts.client.verbs import plain_context
from varts.context import ContextReport
from varts.live import Experiment

ARMS = ["9", "12", "15"]
HOME = {"country": "NL", "visits": 3}


@pytest.fixture
def both(running):
    """An experiment with features after 150 rewards, from afar and from near."""
    with running.open("mug", ARMS, features=FEATURES, metrics=["refund"]) as far:
        visit(far, 150)
        yield far, Experiment("mug", running.store)


def test_a_report_tells_which_arm_for_whom(both):
    far, near = (exp.report(0.9) for exp in both)
    assert isinstance(far.context, ContextReport)
    assert far.context.to_dict() == near.context.to_dict()
    assert str(far) == str(near) and "Which arm for whom" in str(far)
    assert str(far.context) == str(near.context)
    for table in ("frame", "segments", "coefficients"):
        assert getattr(far.context, table).equals(getattr(near.context, table))
    assert far.context.worth == near.context.worth
    assert far.context.rule_loss == near.context.rule_loss
    assert far.context.unit_count == len(near.context.units) == 150
    assert far.context == near.context
    for use in (
        lambda: far.context.units.contexts,
        lambda: far.context.posterior.mu,
        lambda: len(far.context.units),
        far.context.plot,
    ):
        with pytest.raises(NotImplementedError, match="doesn't send the units of a report"):
            use()


def test_a_report_of_few_has_none(running):
    with running.open("mug", ARMS, features=FEATURES) as far:
        assert far.report().context is None
        assert far.features == Experiment("mug", running.store).features
    with running.open("price", ARMS) as plain:
        assert plain.features is None and plain.report().context is None


def test_decisions_go_by_contexts_of_any_type(both):
    far, near = both
    table = pl.DataFrame({"country": ["NL", "BE", None], "visits": [3, 3, 4]})
    made = far.decide_many(contexts=table.to_dicts())
    assert made[0].arm == "9" and made[1].arm != "9"
    assert near.decision(made[2].id).context == {"country": "missing", "visits": 4.0}
    one = far.decide("ann", id="one", context={"country": "NL", "visits": np.int64(3)})
    assert far.decide("ann", id="one", context=HOME) == one
    assert far.decision("one") == near.decision("one")
    assert far.decision("one").context == {"country": "NL", "visits": 3.0}


def test_what_is_wrong_is_found_before_anything_is_sent(both, monkeypatch):
    far = both[0]
    monkeypatch.setattr(far._connection, "run", lambda verb, seconds: list(verb))  # nobody answers
    for wrong, said in NOT_CONTEXTS:
        with pytest.raises((TypeError, ValueError), match=f"^{said}"):
            far.decide_many(contexts=[HOME, wrong])


def test_who_may_not_read_may_say_what_is_known(running, both):
    """The features are not known here, and the service checks."""
    with running.open("mug", token=running.make_token("decide")) as only:
        assert only.decide(context={**HOME, "visits": np.float64(3)}).arm == "9"
        made = only.decide_many(contexts=[HOME, {"country": True, "visits": 2}])
        assert both[1].decision(made[1].id).context == {"country": "True", "visits": 2.0}
        pending = both[1].report().frame["pending"].sum()
        for wrong, said in NOT_CONTEXTS:
            if not (wrong and isinstance(wrong, dict) and len(str(wrong.get("country"))) > 255):
                with pytest.raises((TypeError, ValueError), match=f"^{said}"):
                    only.decide(context=wrong)
        with pytest.raises(ValueError, match=r"contexts must be one per unit \(2\), got 1"):
            only.decide_many(2, contexts=[HOME])
        assert both[1].report().frame["pending"].sum() == pending


@pytest.mark.parametrize("scope", ["admin", "read"])
def test_a_log_has_a_column_for_each_feature(running, both, tmp_path, scope):
    with running.open("mug", token=running.make_token(scope)) as far:
        for kind in ("parquet", "ndjson", "csv"):
            for exp, name in ((far, "far"), (both[1], "near")):
                assert exp.export(tmp_path / f"{name}.{kind}") == 150
        far_log, near_log = (pl.read_parquet(tmp_path / f"{n}.parquet") for n in ("far", "near"))
        if scope == "admin":
            assert far_log.equals(near_log)
            for kind in ("ndjson", "csv"):
                one, two = ((tmp_path / f"{n}.{kind}").read_text() for n in ("far", "near"))
                assert one == two
        else:
            assert far_log.schema == near_log.schema
            hidden = ("unit", *FEATURES)
            assert far_log.select(hidden).null_count().row(0) == (150,) * 3
            assert far_log.drop(hidden).equals(near_log.drop(hidden))


def test_the_asynchronous_one_takes_contexts_too(running):
    async def visit_all():
        given = {"store": running.address, "token": running.token}
        async with await open_async("mug", ARMS, features=FEATURES, **given) as exp:
            made = await asyncio.gather(
                *(exp.decide(id=f"d{i}", context=context(i)) for i in range(60))
            )
            await exp.reward_many((d.id, float(d.arm) + i % 3) for i, d in enumerate(made))
            (one,) = await exp.decide_many(contexts=[HOME])
            with pytest.raises(ValueError, match="unknown feature 'visit'; did you mean 'visits'"):
                await exp.decide(context={"visit": 1})
            return one, exp.features, (await exp.report()).context

    made, features, told = asyncio.run(visit_all())
    near = Experiment("mug", running.store)
    assert features == near.features and made.arm == "15"
    assert told.to_dict() == near.report().context.to_dict()


def test_plain_values():
    given = {
        "a": "",
        "b": np.bool_(True),
        "c": np.int64(3),
        "d": np.float32(0.5),
        "e": float("nan"),
    }
    assert plain_context(given) == {"a": "", "b": True, "c": 3, "d": 0.5, "e": None}
    assert [type(one) for one in plain_context(given).values()] == [
        str, bool, int, float, type(None),
    ]  # fmt: skip
    for wrong in ({"a": [1]}, {"a": b"NL"}, "NL"):
        with pytest.raises(TypeError, match="must be a"):
            plain_context(wrong)

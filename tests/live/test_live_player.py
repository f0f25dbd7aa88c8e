"""Experiments of the simulated worlds run as they do with `varts.open`.

`CoreLog` plays thousands of experiments without a database, so that printed numbers can be compared
with the truth. What it finds holds for users only if it does what a store does: here the same world
is played by both.
"""

import itertools
from functools import partial

import pytest

from tests.worlds.live_log import CoreLog, StoreLog
from tests.worlds.live_player import play
from tests.worlds.shops import (
    Counts,
    Cycle,
    Delays,
    FeatureEffects,
    Gaussian,
    Ones,
    Rising,
    Users,
    World,
)

_numbers = itertools.count(1)
SHORT = {"days": 6, "per_day": 20, "steps": 2, "looks": (2, 4)}
WORLDS = [
    World("plain", "II", (0.0, 0.2), Gaussian(), level=Rising(1.0), **SHORT),
    World(
        "sticky",
        "II",
        (0.0, 0.0, 0.1),
        users=Users(30),
        options={"sticky": True, "floor": 0.05, "holdout": 0.3, "stop_p_best": 0.9},
        **SHORT,
    ),
    World(
        "returning, not sticky",
        "II",
        (2.0, 2.5),
        Counts(),
        users=Users(25, share=0.4),
        options={"goal": "min", "holdout": 0.2},
        **SHORT,
    ),
    World(
        "late",
        "I",
        (0.4, 0.5),
        Ones(),
        delays=Delays(0.8),
        users=Users(40, share=0.2),
        level=Cycle(0.3, 4),
        added=((2.5, 0.6),),
        paused=((3.0, 0, 4.5),),
        options={"window": 1.5, "missing": 0.0, "sticky": True, "clip": (0.0, 0.8)},
        **SHORT,
    ),
    World("half-life", "III", (0.0, 0.2), options={"half_life": 50}, **SHORT),
    World(
        "features",
        "VI",
        (0.0, 0.2),
        features=FeatureEffects(2, ((0.5, 0.0), (0.0, 0.5))),
        options={"floor": 0.1},
        **SHORT,
    ),
]


@pytest.mark.parametrize("world", WORLDS, ids=[world.name for world in WORLDS])
def test_the_core_alone_plays_as_a_store_does(world):
    core = play(world, 7, partial(CoreLog, exact=True))
    stored = play(world, 7, partial(StoreLog, url=f"memory://player{next(_numbers)}"))
    assert core.log.chosen.tolist() == stored.log.chosen.tolist()
    assert [look.day for look in core.looks] == [look.day for look in stored.looks]
    for one, other in zip(core.looks, stored.looks, strict=True):
        assert one.report.state == other.report.state  # every sum, to the last bit
        assert one.report.to_dict() == other.report.to_dict()
        assert str(one.report) == str(other.report)
    assert core.looks[-1].report.frame["n"].sum() > 0
    assert stored.log.experiment.verify(replay=True).ok


@pytest.mark.parametrize("world", WORLDS, ids=[world.name for world in WORLDS])
def test_adding_many_rewards_at_once_changes_only_the_rounding(world):
    """Thousands of experiments are played that way."""
    exact, fast = play(world, 8, partial(CoreLog, exact=True)), play(world, 8)
    assert exact.log.chosen.tolist() == fast.log.chosen.tolist()
    one, other = exact.log.state.statistics(), fast.log.state.statistics()
    for name in ("n", "mean", "m2"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)


def test_another_seed_gives_another_experiment():
    """The negative control: the comparison above can fail."""
    one, other = (play(WORLDS[1], seed, partial(CoreLog, exact=True)) for seed in (7, 8))
    assert one.log.chosen.tolist() != other.log.chosen.tolist()
    assert one.looks[-1].report.to_dict() != other.looks[-1].report.to_dict()

"""The simulated worlds are what they say: otherwise reports are compared with a wrong truth.

False alarms: each test looks at up to a dozen means at 5 standard errors, so it fails by chance in
fewer than one of 100,000 seeds.
"""

import numpy as np
import pytest

from tests.seeds import fresh
from tests.worlds import shops
from tests.worlds.live_player import Played, captured_share, play
from tests.worlds.shops import Delays, FeatureEffects, Gaussian, Ones, Rising, Users, World

SIZE = 50_000
MEAN = {
    shops.Gaussian(2.0): 0.7,
    shops.Laplace(2.0): 0.7,
    shops.Ones(): 0.2,
    shops.Prices((9.0, 15.0), cost=3.0): 2.0,
    shops.Stars(): 3.9,
    shops.Revenue(0.1, 0.5): 1.3,
    shops.Counts(0.8): 1.7,
    shops.Latency(2.0, 5.0, 0.03): 0.6,
    shops.Exponential(): 1.2,
}
names = [type(rewards).__name__ for rewards in MEAN]


def draw(rewards, mean, share, seed):
    """Many rewards of arm 1, each of another user."""
    rng = np.random.default_rng(fresh(seed))
    z, arm = rng.normal(size=SIZE), np.ones(SIZE, dtype=int)
    return rewards.draw(rng, np.full(SIZE, mean), arm, z, share)


def far(y, mean):
    """By how many standard errors an average misses the mean."""
    return abs(y.mean() - mean) / (y.std() / np.sqrt(len(y)))


@pytest.mark.statistical
@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("rewards", MEAN, ids=names)
def test_rewards_have_their_mean_with_and_without_user_effects(rewards, share):
    mean = MEAN[rewards]
    y = draw(rewards, mean, share, 1)
    assert far(y, mean) < 5
    assert far(y, 1.1 * mean) > 5  # the control


@pytest.mark.statistical
@pytest.mark.parametrize("rewards", [Gaussian(2.0), Ones()], ids=["Gaussian", "Ones"])
def test_a_users_effect_is_the_share_of_the_variance(rewards):
    """Two rewards of the same user are correlated by the share."""
    rng = np.random.default_rng(fresh(2))
    z, arm, mean = rng.normal(size=SIZE), np.zeros(SIZE, dtype=int), np.full(SIZE, 0.3)
    one, other = (rewards.draw(rng, mean, arm, z, 0.3) for _ in range(2))
    assert abs(np.corrcoef(one, other)[0, 1] - 0.3) < 5 / np.sqrt(SIZE)
    alone = rewards.draw(rng, mean, arm, rng.normal(size=SIZE), 0.3)  # the control: other users
    assert abs(np.corrcoef(one, alone)[0, 1]) < 5 / np.sqrt(SIZE)


def average(world, arm, runs, seed):
    """The mean over all experiments if every decision got this arm."""
    means = []
    for run in range(runs):
        instance = world.instance(fresh(seed) + run)
        rewards = []
        for step in range(len(instance.times)):
            users, x = instance.visitors(step, 50), instance.contexts(50)
            rewards.append(instance.rewards(step, users, np.full(50, arm), x)[0])
        means.append(np.concatenate(rewards).mean())
    return np.array(means)


TRUTHS = [
    World("rising", "", (0.3, 1.0), days=8, level=Rising(2.0)),
    World("active", "", (0.3, 1.0), days=8, users=Users(200, spread=0.6, share=0.4, tied=0.5)),
    World("sessions", "", (0.3, 0.4), Ones(), days=8, users=Users(law="sessions", spread=4.0)),
    World("factor", "", (0.3, 0.4), Ones(), days=8, level=Rising(0.5)),
    World(
        "features", "", (1.0, 2.0), shops.Exponential(), days=8,
        features=FeatureEffects(2, ((0.3, 0.1), (0.2, 0.0)), signs=True),
    ),
]  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize("world", TRUTHS, ids=[world.name for world in TRUTHS])
def test_the_truth_is_what_experiments_find_on_average(world):
    found = average(world, 1, 60, 3)
    truth = Played(world.instance(0), None).truth(world.days, np.ones(2))
    assert far(found, truth[1]) < 5
    assert far(found, truth[0]) > 5  # the control: another arm


@pytest.mark.statistical
def test_the_truth_counts_what_arrives_within_the_window():
    """Delays are exponential with a mean of 2 days and 3 days."""
    delays = Delays((2.0, 3.0))
    world = World("late", "", (0.2, 0.2), Ones(), delays=delays, options={"window": 4})
    expected = 1 - np.exp([-4 / 2, -4 / 3])
    assert captured_share(world) == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(80_000))


def test_equal_arms_stay_equal_if_rewards_are_late():
    world = World("late", "", (0.2,) * 3, Ones(), delays=Delays(2.0), options={"window": 4})
    assert len(set(captured_share(world))) == 1


def test_regret_is_counted_by_decision():
    """By a loop over decisions; the third arm doesn't exist before day 2, and arm 0 pauses."""
    world = World(
        "regret", "", (0.0, 0.5), days=4, per_day=20, steps=2, added=((2, 0.9),),
        paused=((1, 1, 3),), level=Rising(1.0),
    )  # fmt: skip
    played = play(world, 1)
    total = 0.0
    for step, arm in zip(played.steps, played.arms, strict=True):
        day = step / world.steps
        in_play = [0, *([] if 1 <= day < 3 else [1]), *([2] if day >= 2 else [])]
        assert arm in in_play
        means = [0.0, 0.5, 0.9]
        total += max(means[one] for one in in_play) - means[arm]
    assert played.regret == pytest.approx(total)

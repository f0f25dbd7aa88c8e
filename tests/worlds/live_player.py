"""Plays the worlds of `tests.worlds.shops` through a live experiment.

`play` makes the calls that a shop would make: decisions in several batches per day, rewards when
they arrive, reports on the days of the looks. The log, from `tests.worlds.live_log`, makes
decisions, counts rewards and writes reports.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.worlds.live_log import CoreLog

START = 1_800_000_000_000_000  # of all experiments, in microseconds since 1970
DAY = 86_400_000_000
LATEST = 1e-9  # days by which rounding may make a reward late


@dataclass
class Look:
    """A report and what was true when it was made.

    Args:
        day: When.
        report: The report.
        truth: The true means of the arms; see `Played.truth`.
        decided: How many decisions there were.
    """

    day: float
    report: Any
    truth: Any
    decided: int


@dataclass
class Played:
    """One experiment of a world.

    Args:
        instance: The random parts of the world.
        log: The log that it was played with.
        arms: The arms of all decisions.
        steps: The step of each.
        in_play: A row per step: which arms were in play.
        x: The features of each decision's unit; None without features.
        looks: The reports.
    """

    instance: Any
    log: Any
    arms: Any = None
    steps: Any = None
    in_play: Any = None
    x: Any = None
    looks: list[Look] = field(default_factory=list)

    def truth(self, day, captured, x=None):
        """The true mean of every arm, over the traffic so far; x has the features of its units.

        An arm's true mean is what the experiment would have measured if all decisions that are
        settled on that day had got this arm: its mean at the average level of the days of these
        decisions, for the average visitor, as far as rewards arrive within the window. An arm that
        was added later is no exception.
        """
        instance, world = self.instance, self.instance.world
        times = instance.times[instance.times < day - (world.window or 0)]
        level = instance.level[: len(times)]
        level = level.mean() if len(level) else 0.0
        users = world.users
        if users is not None and users.tied and users.law == "lognormal":
            # The average visit is by a more active user: the mean of z under lognormal activity.
            level += world.rewards.sd * np.sqrt(users.share) * users.tied * users.spread
        every = range(len(instance.means))
        if x is None:
            means = [instance.means_at(arm, level) for arm in every]
        else:
            means = [instance.means_at(np.full(len(x), arm), level, x).mean() for arm in every]
        return captured * np.array(means)

    @property
    def regret(self):
        """The total loss compared with the best arm in play at each decision."""
        instance, count = self.instance, len(self.steps)
        level = instance.level[self.steps]
        arms = range(len(instance.means))
        every = np.array([instance.means_at(np.full(count, arm), level, self.x) for arm in arms])
        every = every if instance.world.goal == "max" else -every
        means = np.where(self.in_play[self.steps].T, every, -np.inf)
        return float((means.max(axis=0) - means[self.arms, np.arange(len(level))]).sum())


def options_of(world, **more):
    """The options of a world's experiment, as for `varts.open`."""
    options = {**world.options, **more}
    if "window" in options:
        options["window"] = options["window"] * 86_400
    if world.features is not None:
        options["features"] = {f"x{j}": "number" for j in range(world.features.d)}
    return options


def captured_share(world, size=400_000):
    """By arm, the part of its mean that arrives within the window; 1 without delays."""
    instance = world.instance(0)
    K = len(instance.means)
    if world.delays is None:
        return np.ones(K)
    window, out = np.inf if world.window is None else world.window, []
    for arm in range(K):
        rng = np.random.default_rng(1)  # the same for all, so that equal arms stay equal
        arms = np.full(size, arm)
        mean = instance.means_at(arms)
        reward = world.rewards.draw(rng, mean, arms, np.zeros(size), 0.0)
        delay = world.delays.draw(rng, arms, reward)
        delay[reward == 0] = 0.0
        out.append(reward[delay <= window].sum() / reward.sum())
    return np.array(out)


def play(world, seed, log=CoreLog, captured=None, until_stop=False, **options):
    """Play one experiment of a world.

    Args:
        world: The world.
        seed: The seed of everything random about it.
        log: The log that decides and reports: `CoreLog`, or a function with its parameters.
        captured: The result of `captured_share`, which is the same for all experiments.
        until_stop: Whether the experiment ends with the first report whose stop rule is met.
        options: Further options of the experiment, such as a prior.
    """
    instance = world.instance(seed)
    captured = captured_share(world) if captured is None else captured
    names = [f"arm {a}" for a in range(instance.first)]
    log = log(names, options_of(world, **options), seed, START)
    played = Played(instance, log)
    due = {}  # by step, the rewards that arrive then
    looks = sorted({*world.looks, world.days})
    changes = _changes(world, instance)
    steps, xs, in_play = [], [], []
    out_of_play = set(range(instance.first, len(instance.means)))
    last = len(instance.times)
    for step in range(last + 1):
        day = step / world.steps
        now = START + round(day * DAY)
        if arrived := due.pop(step, None):
            log.reward(now, *zip(*arrived, strict=True))
        while looks and looks[0] <= day:
            report = log.report(now)
            K = len(report.frame)
            truth = played.truth(day, captured, np.concatenate(xs) if xs else None)[:K]
            played.looks.append(Look(looks.pop(0), report, truth, len(steps)))
        if step == last or (until_stop and played.looks and played.looks[-1].report.stop):
            break
        while changes and changes[0][0] <= day:
            _, kind, arm = changes.pop(0)
            getattr(log, kind)(now, f"arm {arm}")
            (out_of_play.add if kind == "pause_arm" else out_of_play.discard)(arm)
        in_play.append([arm not in out_of_play for arm in range(len(instance.means))])
        count = _visits(world, step)
        users, x = instance.visitors(step, count), instance.contexts(count)
        units = None if users is None else [f"u{user}" for user in users.tolist()]
        contexts = None if x is None else [_named(row) for row in x.tolist()]
        arms = log.decide(now, count, units, contexts)
        rewards, delays = instance.rewards(step, users, arms, x)
        first = len(steps)
        steps += [step] * count
        if x is not None:
            xs.append(x)
        if world.delays is None:
            log.reward(now, range(first, first + count), rewards.tolist())
            continue
        latest = np.inf if world.window is None else world.window
        for i in np.flatnonzero(delays <= latest):
            arrival = int(np.ceil((day + delays[i]) * world.steps - LATEST))
            due.setdefault(max(arrival, step + 1), []).append((first + int(i), float(rewards[i])))
    played.arms, played.steps = log.chosen, np.array(steps)
    played.in_play = np.array(in_play)
    played.x = np.concatenate(xs) if xs else None
    return played


def _visits(world, step):
    """The decisions of a step: the day's visits, spread evenly over its steps."""
    part = step % world.steps
    return (part + 1) * world.per_day // world.steps - part * world.per_day // world.steps


def _named(row):
    return {f"x{j}": value for j, value in enumerate(row)}


def _changes(world, instance):
    """Day, call and arm of every change, in order."""
    new = [(day, "add_arm", instance.first + i) for i, (day, _) in enumerate(world.added)]
    pauses = [(start, "pause_arm", arm) for start, arm, _ in world.paused]
    ends = [(end, "resume_arm", arm) for _, arm, end in world.paused]
    return sorted([*new, *pauses, *ends])

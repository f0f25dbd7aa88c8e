"""Worlds in which rewards come from visitors, on days, late, for arms that come and go.

A `World` describes an experiment whose truth is known: how rewards are distributed, which visitors
return, how the common level moves from day to day, how late rewards are, and which arms are added
or paused. `World.instance` draws everything that is random about one experiment. Nothing here knows
how the experiment is run; `tests.worlds.live_player` runs it.

Time is in days. A day has `steps` moments at which a batch of decisions is made.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

# ------------------------------------------------------------------------------ rewards


@dataclass(frozen=True)
class Gaussian:
    """Rewards with this sd. A user's effect is a share of the variance; a level is added."""

    sd: Any = 1.0  # one number, or one per arm
    adds = True

    def draw(self, rng, mean, arm, z, share):
        sd = np.asarray(self.sd)[arm] if np.ndim(self.sd) else self.sd
        noise = np.sqrt(share) * z + np.sqrt(1 - share) * rng.normal(size=len(mean))
        return mean + sd * noise


@dataclass(frozen=True)
class Laplace:
    """Rewards with two-sided exponential noise of this sd; effects as in `Gaussian`."""

    sd: float = 1.0
    adds = True

    def draw(self, rng, mean, arm, z, share):
        noise = rng.laplace(scale=np.sqrt(0.5), size=len(mean))
        return mean + self.sd * (np.sqrt(share) * z + np.sqrt(1 - share) * noise)


def chance(p, z, share):
    """The chance of a user whose chances are Beta with mean p and intra-class correlation share."""
    if not share:
        return p
    p, size = np.clip(p, 1e-9, 1 - 1e-9), (1 - share) / share
    return special.betaincinv(p * size, (1 - p) * size, np.clip(special.ndtr(z), 1e-9, 1 - 1e-9))


@dataclass(frozen=True)
class Ones:
    """Rewards 0 or 1. A user's effect is the intra-class correlation; a level multiplies."""

    adds = False

    def draw(self, rng, mean, arm, z, share):
        return (rng.random(len(mean)) < chance(mean, z, share)).astype(float)


@dataclass(frozen=True)
class Prices:
    """What is paid at a price: the arm's price or nothing. Effects as in `Ones`."""

    prices: tuple[float, ...]
    cost: float = 0.0  # of every sale
    adds = False

    def draw(self, rng, mean, arm, z, share):
        paid = np.array(self.prices)[arm] - self.cost
        return paid * (rng.random(len(mean)) < chance(mean / paid, z, share))


@dataclass(frozen=True)
class Stars:
    """One to five stars: 1 + Binomial(4, p). Effects as in `Ones`; a level multiplies the mean."""

    adds = False

    def draw(self, rng, mean, arm, z, share):
        return 1.0 + rng.binomial(4, chance(np.clip((mean - 1) / 4, 0, 1), z, share))


def factor(z, log_sd):
    """The factor by which a user's effect multiplies a mean."""
    return np.exp(log_sd * z - log_sd**2 / 2) if log_sd else 1.0


@dataclass(frozen=True)
class Revenue:
    """Nothing from most visitors, log-normal amounts from buyers. Users and levels multiply."""

    rate: float = 0.05
    log_sd: float = 0.8
    adds = False

    def draw(self, rng, mean, arm, z, share):
        amount = np.exp(self.log_sd * rng.normal(size=len(mean)) - self.log_sd**2 / 2)
        buys = rng.random(len(mean)) < self.rate
        return buys * amount * mean * factor(z, share) / self.rate


@dataclass(frozen=True)
class Counts:
    """Negative binomial counts; the variance is mean + mean² / size. Users and levels multiply."""

    size: float = 1.0
    adds = False

    def draw(self, rng, mean, arm, z, share):
        return rng.poisson(rng.gamma(self.size, mean * factor(z, share) / self.size)).astype(float)


@dataclass(frozen=True)
class Latency:
    """Gamma times; some requests time out and take `timeout`. Users and levels multiply."""

    shape: float = 2.0
    timeout: float = 0.0
    timeouts: float = 0.0  # their share
    adds = False

    def draw(self, rng, mean, arm, z, share):
        rest = (mean - self.timeouts * self.timeout) / (1 - self.timeouts)
        took = rng.gamma(self.shape, np.maximum(rest, 1e-9) * factor(z, share) / self.shape)
        return np.where(rng.random(len(mean)) < self.timeouts, self.timeout, took)


@dataclass(frozen=True)
class Exponential:
    """Exponential rewards. Users and levels multiply."""

    adds = False

    def draw(self, rng, mean, arm, z, share):
        return rng.exponential(mean * factor(z, share))


# ------------------------------------------------------------------------------ visitors


@dataclass(frozen=True)
class Users:
    """Visitors who return.

    Args:
        count: How many there are.
        law: How active they are: `lognormal`, `pareto`, `even`, or `sessions`, in which a visitor
            makes all the decisions of a session in a row and never returns.
        spread: The log sd, the tail index, or the mean number of decisions of a session.
        share: The size of a user's effect; see the kinds of rewards.
        interaction: The part of that effect which differs from arm to arm.
        life: If given, a user is active for this number of days only.
        tied: Whether active users have larger effects: their correlation with log activity.
    """

    count: int = 1000
    law: str = "lognormal"
    spread: float = 1.0
    share: float = 0.3
    interaction: float = 0.0
    life: float | None = None
    tied: float = 0.0


# ------------------------------------------------------------------------------ days

# A level is a function of (rng, times in days, days of the experiment) that returns the level at
# every time: added, or for rewards that multiply, the relative change.


def flat(rng, t, days):
    return np.zeros(len(t))


@dataclass(frozen=True)
class Rising:
    """A straight line from 0 to `by`."""

    by: float = 1.0

    def __call__(self, rng, t, days):
        return self.by * t / days


@dataclass(frozen=True)
class Cycle:
    """A sine around 0."""

    height: float = 1.0
    period: float = 5.0

    def __call__(self, rng, t, days):
        return self.height * np.sin(2 * np.pi * (t / self.period + rng.random()))


@dataclass(frozen=True)
class Shocks:
    """Independent Gaussian levels of the days."""

    sd: float = 0.5

    def __call__(self, rng, t, days):
        return self.sd * rng.normal(size=days)[t.astype(int)]


@dataclass(frozen=True)
class Campaign:
    """A higher level for some days."""

    height: float = 1.0
    start: float = 10.0
    length: float = 10.0

    def __call__(self, rng, t, days):
        return self.height * ((t >= self.start) & (t < self.start + self.length))


@dataclass(frozen=True)
class Weekdays:
    """The same seven levels every week, and a tide within each day."""

    levels: tuple[float, ...]
    tide: float = 0.0

    def __call__(self, rng, t, days):
        return np.array(self.levels)[t.astype(int) % 7] + self.tide * np.sin(2 * np.pi * t)


@dataclass(frozen=True)
class Walk:
    """A random walk with a Gaussian step per day."""

    step: float = 0.2

    def __call__(self, rng, t, days):
        return np.cumsum(self.step * rng.normal(size=days))[t.astype(int)]


@dataclass(frozen=True)
class Steps:
    """A level that jumps on some days: (day, new level)."""

    jumps: tuple[tuple[float, float], ...]

    def __call__(self, rng, t, days):
        out = np.zeros(len(t))
        for day, level in self.jumps:
            out[t >= day] = level
        return out


@dataclass(frozen=True)
class Sum:
    """Several levels added up."""

    parts: tuple[Any, ...]

    def __call__(self, rng, t, days):
        return np.sum([part(rng, t, days) for part in self.parts], axis=0)


# ------------------------------------------------------------------------------ delays


@dataclass(frozen=True)
class Delays:
    """How late rewards are, in days; a reward of 0 sends nothing unless `zeros`.

    Args:
        mean: The mean delay, one number or one per arm.
        law: `exponential`, `fixed`, `lognormal` (log sd 1) or `gamma` (shape 3).
        slower: A reward r has its delay multiplied by 1 + slower * r: larger rewards come later.
        zeros: Whether zeros are sent as well.
        lost: Share of the rewards that never arrive.
    """

    mean: Any = 2.0
    law: str = "exponential"
    slower: float = 0.0
    zeros: bool = False
    lost: float = 0.0

    def draw(self, rng, arm, reward):
        mean = np.asarray(self.mean)[arm] if np.ndim(self.mean) else self.mean
        size = len(arm)
        if self.law == "exponential":
            base = rng.exponential(size=size)
        elif self.law == "fixed":
            base = np.ones(size)
        elif self.law == "lognormal":
            base = np.exp(rng.normal(size=size) - 0.5)
        else:
            base = rng.gamma(3.0, 1 / 3, size=size)
        out = mean * base * (1 + self.slower * reward)
        out[rng.random(size) < self.lost] = np.inf
        if not self.zeros:
            out[reward == 0] = np.inf
        return out


# ------------------------------------------------------------------------------ features


@dataclass(frozen=True)
class FeatureEffects:
    """Numbers that are known about a visitor.

    Args:
        d: How many there are.
        slopes: The effect of each on each arm's mean, a row per arm; for rewards that multiply,
            relative to the mean. None means that they are useless.
        signs: Whether the numbers are -1 or 1; otherwise they are standard Gaussian.
        bends: By arm, the effect of the product of the first two, which a linear model misses.
    """

    d: int
    slopes: tuple[tuple[float, ...], ...] | None = None
    signs: bool = False
    bends: tuple[float, ...] | None = None


# ------------------------------------------------------------------------------ the world


@dataclass(frozen=True)
class World:
    """An experiment whose truth is known.

    Args:
        name: A few words, the same forever.
        section: The section of the report of measured failures that it belongs to, I to VI, or
            `regret`.
        means: The true means of the arms at level 0, or a function of a generator that draws them.
        rewards: Their distribution.
        days: How long the experiment runs.
        per_day: Decisions per day.
        steps: Batches per day.
        users: The visitors who return; None for visitors who come once.
        level: How the common level moves.
        delays: How late rewards are; None for rewards that come at once.
        added: New arms: (day, mean), or (day, None) for one that is drawn like the others.
        paused: Pauses of arms: (day, arm, day of the end).
        features: What is known about visitors.
        options: The options of the live experiment. A window is in days here.
        looks: Days on which somebody reads the report; the last one is always read.
        past: With how many past experiments of the same kind a prior is fitted; 0 for no prior.
        runs: How many experiments are needed; the harness plays at least this number.
    """

    name: str
    section: str
    means: Any
    rewards: Any = field(default_factory=Gaussian)
    days: int = 50
    per_day: int = 100
    steps: int = 4
    users: Users | None = None
    level: Callable[..., Any] = flat
    delays: Delays | None = None
    added: tuple[tuple[float, float | None], ...] = ()
    paused: tuple[tuple[float, int, float], ...] = ()
    features: FeatureEffects | None = None
    options: dict[str, Any] = field(default_factory=dict)
    looks: tuple[float, ...] = ()
    past: int = 0
    runs: int = 300

    @property
    def goal(self):
        return self.options.get("goal", "max")

    @property
    def window(self):
        """Days until a decision settles; None if rewards are counted at once."""
        return self.options.get("window")

    def instance(self, seed):
        """One experiment: everything that is random about it, drawn from this seed."""
        return Instance(self, np.random.default_rng(seed))


def spread_means(K, mean, sd, low=-np.inf, high=np.inf):
    """A function that draws K means from a Gaussian, kept within bounds."""

    def draw(rng):
        return np.clip(mean + sd * rng.normal(size=K), low, high)

    return draw


def even_means(K, low, high):
    """A function that draws K means evenly between two numbers."""

    def draw(rng):
        return rng.uniform(low, high, K)

    return draw


class Instance:
    """One experiment of a world.

    Attributes:
        means: The true means of all arms at level 0, those that are added later included.
        first: How many arms there are at the beginning.
        level: The common level at every step.
    """

    def __init__(self, world, rng):
        self.world, self.rng = world, rng
        means = world.means(rng) if callable(world.means) else world.means
        means = np.array(means, dtype=float)
        self.first = len(means)
        more = [world.means(rng)[0] if mean is None else mean for _, mean in world.added]
        self.means = np.append(means, more)
        self.times = np.arange(world.days * world.steps) / world.steps
        self.level = np.asarray(world.level(rng, self.times, world.days), dtype=float)
        users = world.users
        if users is not None and users.law != "sessions":
            self._draw_users(users)
        self._session = None  # the number and the effect of the visitor whose session goes on
        self._visitors = 0

    def _draw_users(self, users):
        rng, K = self.rng, len(self.means)
        base = rng.normal(size=users.count)
        if users.law == "lognormal":
            activity, log = np.exp(users.spread * base), base
        elif users.law == "pareto":
            activity = special.ndtr(-base) ** (-1 / users.spread)
            log = base
        else:
            activity, log = np.ones(users.count), base
        common = users.tied * log + np.sqrt(1 - users.tied**2) * rng.normal(size=users.count)
        own = rng.normal(size=(users.count, K))
        self.effects = (
            np.sqrt(1 - users.interaction) * common[:, None] + np.sqrt(users.interaction) * own
        )
        self.activity = activity
        if users.life is not None:
            self.born = rng.uniform(-users.life, self.world.days, users.count)

    def visitors(self, step, count):
        """The users of the next decisions, numbered from 0; None if visitors come once."""
        users, rng = self.world.users, self.rng
        if users is None:
            return None
        if users.law == "sessions":
            return self._sessions(users, count)
        activity = self.activity
        if users.life is not None:
            t = self.times[step]
            activity = activity * ((self.born <= t) & (t < self.born + users.life))
        edges = np.cumsum(activity)
        return np.searchsorted(edges, rng.random(count) * edges[-1], side="right")

    def _sessions(self, users, count):
        """Sessions have geometric lengths; every visitor is new."""
        starts = self.rng.random(count) < 1 / users.spread
        if self._visitors == 0:
            starts[0] = True
            self.effects = np.empty((0, len(self.means)))
        numbers = self._visitors - 1 + np.cumsum(starts)
        fresh = int(starts.sum())
        common = self.rng.normal(size=(fresh, 1))
        own = self.rng.normal(size=(fresh, len(self.means)))
        new = np.sqrt(1 - users.interaction) * common + np.sqrt(users.interaction) * own
        self.effects = np.concatenate([self.effects, new])
        self._visitors += fresh
        return numbers

    def contexts(self, count):
        """The features of the next visitors, a row each; None without features."""
        features = self.world.features
        if features is None:
            return None
        x = self.rng.normal(size=(count, features.d))
        return np.sign(x) if features.signs else x

    def rewards(self, step, users, arms, x):
        """The rewards of these decisions, and after how many days they arrive."""
        world, rng = self.world, self.rng
        mean = self.means_at(arms, self.level[step], x)
        share, z = 0.0, np.zeros(len(arms))
        if users is not None:
            share, z = world.users.share, self.effects[users, arms]
        reward = np.asarray(world.rewards.draw(rng, mean, arms, z, share), dtype=float)
        if world.delays is None:
            return reward, np.zeros(len(arms))
        return reward, world.delays.draw(rng, arms, reward)

    def means_at(self, arms, level=0.0, x=None):
        """The true means of these arms at a level, for visitors with features x."""
        mean, adds, features = self.means[arms], self.world.rewards.adds, self.world.features
        effect = 0.0
        if features is not None and x is not None:
            if features.slopes is not None:
                effect = (x * np.array(features.slopes)[arms]).sum(axis=-1)
            if features.bends is not None:
                effect = effect + np.array(features.bends)[arms] * x[..., 0] * x[..., 1]
        return mean + level + effect if adds else mean * (1 + level) * (1 + effect)

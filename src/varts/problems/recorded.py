"""Bandits that pay recorded rewards: simulate with real data instead of a model."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from varts._text_format import TextFormat, check_format
from varts._validation import Floats, abbreviate, reals, unknown
from varts.priors import NormalGamma
from varts.priors.matching import arm_names
from varts.problems.base import Instances, Problem
from varts.stats import ArmStats

if TYPE_CHECKING:
    from varts.fitting.sources import Table

RewardTable: TypeAlias = "Mapping[str, Sequence[float]] | Sequence[Sequence[float]] | Table"

LARGEST = 1e150  # the square of a larger reward overflows


class EmpiricalBandit(Problem):
    """Every arm pays one of its recorded rewards, drawn uniformly with replacement.

    Every run has the same arms. The means and variances of the table (divisor: the number of
    rewards) are the true ones.

    Args:
        table: The rewards of each arm: a mapping from names, a list of lists, or a log with one row
            per reward (a polars or pandas DataFrame, or a path as in `fit_prior`).
        arms: Which arms to use, in this order; by default all, those of a log sorted by name.
        experiment: In a log: the column that names the experiment; by default the column
            `experiment`, if there is one.
        only: In a log of several experiments: the experiment to use.
        arm: In a log: the column that names the arm.
        reward: In a log: the column of rewards.
        separator: In a CSV file: the separator of cells; detected by default.
        decimal: In a CSV file: the decimal mark of numbers, "." or ",". Numbers that are written
            differently are refused, not guessed.
        encoding: In a CSV file: its encoding, such as "latin-1"; UTF-8 by default.

    Attributes:
        rows: How many rows of a log were read; the number of rewards otherwise.
        left_out: How many of them could not be used, by reason.
        word: A reward that isn't a number, copied from the log; None if all are numbers.

    >>> problem = EmpiricalBandit({"red": [0, 0, 9], "blue": [2, 4]})
    >>> problem
    EmpiricalBandit(2 arms, 5 rewards)
    >>> problem.names, problem.mean, problem.variance
    (('red', 'blue'), array([3., 3.]), array([18.,  1.]))
    """

    data: Floats

    def __init__(
        self,
        table: RewardTable,
        *,
        arms: Iterable[str] | None = None,
        experiment: str | None = None,
        only: str | None = None,
        arm: str = "arm",
        reward: str = "reward",
        separator: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
    ) -> None:
        columns = {"experiment": experiment, "only": only, "arm": arm, "reward": reward}
        read = _read(table, check_format(separator, decimal, encoding), **columns)
        given, self.rows, self.left_out, self.word = read
        self.names = arm_names(given) if isinstance(given, Mapping) else None
        named = given.items() if isinstance(given, Mapping) else enumerate(given)
        rewards = [_rewards(name, each) for name, each in named]
        if arms is not None:
            self.names, rewards = _pick(arm_names(arms), self.names, rewards)
        if not rewards:
            raise ValueError("table must have at least one arm, got none")
        self.K = len(rewards)
        self.counts = np.array([each.size for each in rewards])
        self._first = np.cumsum(self.counts) - self.counts
        self.data = np.concatenate(rewards)
        self.rows = self.rows or self.data.size
        self.mean = np.array([math.fsum(each) / each.size for each in rewards])
        squares = zip(rewards, self.mean, strict=True)
        self.variance = np.array([math.fsum((x - mean) ** 2) / x.size for x, mean in squares])
        for array in (self.counts, self.data, self.mean, self.variance):
            array.flags.writeable = False

    @property
    def rewards(self) -> list[Floats]:
        """The rewards of each arm."""
        return np.split(self.data, self._first[1:])

    @property
    def stats(self) -> ArmStats:
        """The statistics of the table's arms."""
        return ArmStats(self.counts, self.mean, self.counts * self.variance)

    @property
    def digest(self) -> str:
        """A hash of the rewards: tables with the same rewards have the same hash."""
        content = self.counts.astype(np.int64).tobytes() + self.data.tobytes()
        return hashlib.sha256(content).hexdigest()

    def for_arms(self, arms: Iterable[str]) -> EmpiricalBandit:
        """Return the table of these arms, in their order.

        Args:
            arms: Their names. Arms without names get these.
        """
        return self._with(*_pick(arm_names(arms), self.names, self.rewards))

    def mirrored(self) -> EmpiricalBandit:
        """Return the same table with every reward times -1, for when lower is better."""
        return self._with(self.names, [-each for each in self.rewards])

    def _with(self, names: tuple[str, ...] | None, rewards: list[Floats]) -> EmpiricalBandit:
        """Return a table of other rewards from the same log."""
        made = EmpiricalBandit(rewards if names is None else dict(zip(names, rewards, strict=True)))
        made.rows, made.left_out, made.word = self.rows, self.left_out, self.word
        return made

    def draw(self, rng: np.random.Generator, size: int) -> Instances:
        shape = size, self.K
        arrays = (self.mean, self.variance, self._first.astype(float), self.counts.astype(float))
        return Instances(*(np.broadcast_to(each, shape) for each in arrays))

    @staticmethod
    def reward(  # type: ignore[override]  # it has data
        a: Any, b: Any, z: Any, u: Any, data: Any
    ) -> Any:
        """Look up one reward of an arm.

        Args:
            a: Where the arm's rewards begin.
            b: How many there are.
            z: Not used.
            u: A uniform number in [0, 1).
            data: The rewards of all arms.
        """
        return data[np.int64(a) + np.int64(u * b)]  # u * b is below b even when rounded

    def estimate_prior(
        self, samples: int = 10_000, seed: int = 0, kappa: str = "paper"
    ) -> NormalGamma:
        """Estimate one prior for all arms by the method of moments, from the arms of the table.

        Args:
            samples: Not used: the table has all arms.
            seed: Not used.
            kappa: "paper" or "consistent", as in `NormalGamma.from_moments`.
        """
        with np.errstate(divide="ignore"):
            return NormalGamma.from_moments(self.mean, 1 / self.variance, kappa)

    def own_prior(self) -> NormalGamma:
        """Return the prior that `fit_prior` fits to the table. All arms share it."""
        import polars as pl

        from varts.fitting import fit_prior

        n, mean, m2 = self.stats.n, self.stats.mean, self.stats.m2
        table = pl.DataFrame({"arm": range(self.K), "n": n, "mean": mean, "m2": m2})
        made = fit_prior(table, experiment=None, progress=False).prior
        return cast(NormalGamma, made)  # without features

    def describe(self) -> dict[str, Any]:
        named = {} if self.names is None else {"arms": list(self.names)}
        left_out = {"left_out": self.left_out} if self.left_out else {}
        return {
            **super().describe(), **named, "rewards": self.data.size, "sha256": self.digest,
            **left_out,
        }  # fmt: skip

    def __repr__(self) -> str:
        lost = f", {sum(self.left_out.values())} rows left out" if self.left_out else ""
        return f"EmpiricalBandit({self.K} arms, {self.data.size} rewards{lost})"


def _read(
    table: Any, text: TextFormat, experiment: str | None, only: str | None, **columns: Any
) -> tuple[Mapping[str, Any] | Sequence[Any], int, dict[str, int], str | None]:
    """Return the rewards of each arm, how many rows of a log were read and left out, and a reward
    that is not a number."""
    is_path = isinstance(table, (str, os.PathLike))
    if is_path or hasattr(type(table), "columns"):  # `hasattr` on a LazyFrame itself would read it
        from varts.fitting.rewards import read_rewards

        read = read_rewards(table, experiment=experiment, only=only, text=text, **columns)
        return read.arms, read.rows, read.left_out, read.word
    if not isinstance(table, (Mapping, Sequence, np.ndarray)) or isinstance(table, bytes):
        raise TypeError(
            "table must be the rewards of each arm, a DataFrame or the path of a log, "
            f"got {abbreviate(table)}"
        )
    if experiment is not None or only is not None:
        raise ValueError(
            "experiment and only must be left out if rewards are given arm by arm, "
            f"got {abbreviate(experiment)} and {abbreviate(only)}"
        )
    return table if isinstance(table, Mapping) else list(table), 0, {}, None


def _rewards(name: Any, given: Any) -> Floats:
    """Validate the rewards of one arm and return them."""
    what = f"rewards of arm {name!r}"
    rewards = reals(what, given, at_least=-LARGEST, at_most=LARGEST)
    if rewards.ndim != 1 or not rewards.size:
        raise ValueError(f"{what} must be a list of numbers, got {abbreviate(given)}")
    return rewards


def _pick(
    wanted: tuple[str, ...], names: tuple[str, ...] | None, rewards: list[Floats]
) -> tuple[tuple[str, ...], list[Floats]]:
    """Return the names and rewards of these arms. Arms without names get these, in order."""
    if names is None:
        if len(wanted) != len(rewards):
            raise ValueError(f"arms must name all {len(rewards)} arms, got {len(wanted)}")
        return wanted, rewards
    place = {name: i for i, name in enumerate(names)}
    for name in wanted:
        if name not in place:
            raise ValueError(unknown("arm", name, names))
    return wanted, [rewards[place[name]] for name in wanted]

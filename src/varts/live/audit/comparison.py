"""Compare what a log adds up to with the caches in the database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from varts._text import printable
from varts.checks.finding import plural
from varts.live.core.events import THE_REWARD, Key
from varts.live.core.state import State
from varts.live.core.sums import NO_UNIT, Line, RegressionSums, Sums, UnitKey, UnitSums
from varts.live.store.transaction import Traffic

SMALLEST = np.finfo(np.float64).tiny  # of the numbers that have all their digits
RELATIVE_TOLERANCE = 1e-9  # for a mean, relative to the standard deviation
MOST_PROBLEMS = 20  # the others are only counted


@dataclass
class Verification:
    """Whether an experiment's log and statistics agree; true in a condition when they do.

    Args:
        decisions: How many decisions there are.
        rewards: How many rewards the statistics have.
        replayed: How many decisions were made again from the log.
        found: How many problems there are.
        problems: A sentence for each of the first 20.
        repaired: A sentence for each difference that a repair has just removed.
    """

    decisions: int = 0
    rewards: int = 0
    replayed: int = 0
    found: int = 0
    problems: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return self.found == 0

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        head = f"{plural(self.decisions, 'decision')}, {plural(self.rewards, 'reward')}"
        head += f", {plural(self.replayed, 'decision')} replayed" if self.replayed else ""
        problems = plural(self.found, "problem")
        verdict = "the statistics agree with the log" if self.ok else problems
        repaired = [f"repaired: {printable(sentence)}" for sentence in self.repaired]
        return "\n".join([*repaired, f"{head}: {verdict}", *map(printable, self.problems)])

    def add_problem(self, sentence: str) -> None:
        """Count a problem, and keep its sentence if it is among the first.

        Args:
            sentence: The problem and its place.
        """
        self.found += 1
        if self.found <= MOST_PROBLEMS:
            self.problems.append(sentence)


def compare(log: State, cached: State, out: Verification) -> None:
    """Compare the state that the log adds up to with the cached one."""
    if (log.version, log.rewards) != (cached.version, cached.rewards):
        out.add_problem(
            f"the experiment is at version {cached.version} with {cached.rewards} rewards, "
            f"its log at {log.version} with {log.rewards}"
        )
    if log.config != cached.config:
        out.add_problem("the configuration differs from what the log adds up to")
    for key in sorted(log.rows.keys() | cached.rows.keys()):
        compare_sums(key, log.rows.get(key, Sums()), cached.rows.get(key, Sums()), out)


def compare_unit_rewards(
    log: State, cached: Iterable[tuple[UnitKey, UnitSums]], out: Verification
) -> None:
    """Compare the cached rewards of units with what the log adds up to.

    Args:
        log: The state that the log adds up to, with all units.
        cached: The cached sums, by metric, arm and unit.
        out: Collects the differences.
    """
    sizes: dict[tuple[str, int], float] = {}  # of rewards, which may cancel out in a unit's mean
    for (metric, arm, _), row in log.rows.items():
        if row.n > 0:
            size = abs(row.origin + row.mean) + math.sqrt(row.m2 / row.n)
            sizes[metric, arm] = max(size, sizes.get((metric, arm), 0.0))
    wrong, left = 0, dict(log.units)
    for key, (n, mean) in cached:
        unit = left.pop(key, NO_UNIT)
        size = max(abs(unit.mean), abs(mean), sizes.get(key[:2], 0.0))
        wrong += n != unit.n or not abs(mean - unit.mean) <= RELATIVE_TOLERANCE * size
    if wrong or left:
        out.add_problem(f"{wrong + len(left)} units have other rewards than in the log")


def compare_traffic(cached: Traffic, log: Traffic, out: Verification) -> None:
    """Compare the counts of decisions per arm with the log."""
    names = ("decisions", "settled ones", "fallbacks")
    for what, count, found in zip(names, cached, log, strict=True):
        for arm in sorted(count.keys() | found.keys()):
            if count.get(arm, 0) != found.get(arm, 0):
                out.add_problem(
                    f"arm {arm}: {count.get(arm, 0)} {what} in the counts, "
                    f"{found.get(arm, 0)} in the log"
                )


def compare_units(
    assigned: Mapping[str, Any], cached: Iterable[Any], last: int, out: Verification
) -> None:
    """Compare the cached arms of sticky units with the decisions that set them.

    Args:
        assigned: By unit, the decision of the log that set its arm.
        cached: The cached arms, which may be more recent than the log.
        last: The number of the log's last decision. Units with a later one are left out.
        out: Collects the differences.
    """
    wrong, left = 0, dict(assigned)
    for row in cached:
        decision = left.pop(row.unit, None)
        if row.seq is not None and row.seq > last:
            continue
        wrong += decision is None or (decision.arm, decision.id) != (row.arm, row.decision)
    if wrong or left:
        out.add_problem(f"{wrong + len(left)} sticky units have another arm than in the log")


def compare_sums(key: Key, log: Sums, cache: Sums, out: Verification) -> None:
    """Compare the sums of one metric, arm and block."""
    metric, arm, block = key
    where = f"arm {arm}, block {block}" if metric == THE_REWARD else f"arm {arm}, {metric}"
    if (log.rewards, log.at, log.origin) != (cache.rewards, cache.at, cache.origin):
        out.add_problem(
            f"{where}: {cache.rewards} rewards in the statistics, {log.rewards} in the log"
        )
    sd = math.sqrt(log.m2 / log.n) if log.n > 0 else 0.0
    for name, a, b, scale in (
        ("n", log.n, cache.n, abs(log.n)),
        ("mean", log.mean, cache.mean, max(sd, abs(log.mean))),
        ("m2", log.m2, cache.m2, log.m2),
        ("m3", log.m3, cache.m3, sd * log.m2),
        ("m4", log.m4, cache.m4, log.m4),
    ):
        if not abs(a - b) <= RELATIVE_TOLERANCE * scale:
            out.add_problem(f"{where}: {name} is {b!r} in the statistics, {a!r} in the log")
    compare_shared(where, log, cache, out)
    if not same_line(log.line, cache.line):
        out.add_problem(f"{where}: the effects of features differ from what the log adds up to")


def compare_shared(where: str, log: Sums, cache: Sums, out: Verification) -> None:
    """Compare how much the rewards of the same unit have in common."""
    one, other = log.shared, cache.shared
    # The rewards of a unit may cancel out, but on the way to their total they had a size.
    powers = log.m2 + log.n * log.mean * log.mean
    size = abs(one.squares) + one.counts / max(log.rewards, 1) * powers
    products = math.sqrt(size * abs(one.counts))
    for name, a, b, scale in (
        ("number of units", one.units, other.units, 0.0),
        ("squared totals of units", one.squares, other.squares, size),
        ("products of units", one.products, other.products, products),
        ("squared counts of units", one.counts, other.counts, one.counts),
    ):
        if not abs(a - b) <= RELATIVE_TOLERANCE * scale:
            out.add_problem(f"{where}: {name} is {b!r} in the statistics, {a!r} in the log")


def same_line(one: Line | None, other: Line | None) -> bool:
    """Whether both are the same up to rounding.

    Of the residuals only the weight is compared: a corrected reward's residual is measured from a
    later fit than when the log is added up again.
    """
    if one is None or other is None:
        return one is other
    n, n2 = one.residuals.powers[0], other.residuals.powers[0]
    return abs(n - n2) <= RELATIVE_TOLERANCE * n and all(
        same_regression(*pair) for pair in zip(one.parts, other.parts, strict=True)
    )


def same_regression(one: RegressionSums | None, other: RegressionSums | None) -> bool:
    """Whether both are the same up to rounding; their origins may differ."""
    if one is None or other is None:
        return one is other
    if (one.rewards, one.origin.shape) != (other.rewards, other.origin.shape):
        return False
    squares = np.diagonal(one.products)
    sd = np.sqrt(squares / one.n) if one.n > 0 else np.zeros(len(squares))
    shift = one.mean - (other.mean + (other.origin - one.origin))
    near = np.maximum(sd, np.abs(one.mean))
    size = np.sqrt(squares)[:, None] * np.sqrt(squares)
    # The squares of smaller numbers than the root of `SMALLEST` have lost digits, or are 0.
    return bool(
        abs(one.n - other.n) <= RELATIVE_TOLERANCE * one.n
        and (np.abs(shift) <= RELATIVE_TOLERANCE * near + np.sqrt(SMALLEST)).all()
        and (np.abs(one.products - other.products) <= RELATIVE_TOLERANCE * size + SMALLEST).all()
    )

"""Arguments of calls to an experiment: validated, and converted to the form that it works with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

from varts._validation import abbreviate, integer, is_real, real, scalar, unknown
from varts.features import Features
from varts.live.core.aggregates import START, Numbers, Period
from varts.live.core.sums import LARGEST_REWARD, limited
from varts.live.errors import InvalidReward
from varts.policies import Policy
from varts.priors import Prior, PriorLike, prior_from

LONGEST_TEXT = 255  # characters
Item = TypeVar("Item")
Out = TypeVar("Out")
# By decision id; or tuples of an id, a reward and optionally metrics and a key.
Rewards = Mapping[str, float] | Iterable[tuple[Any, ...]]
Duration = float | str | timedelta  # seconds, or text such as `24h`
# Tuples of an arm, a period, n, mean and sd.
AggregateRows = Iterable[tuple[str, str | date, int, float, float]]
MOST_AGGREGATED = 10**12  # rewards: powers of the largest rewards must add up to a float
SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def check_reward(value: Any, name: str = "reward") -> float:
    """Validate a reward, or the metric of this name, and return it as a float.

    Any type of number will do, as long as it is finite.
    """
    number = math.nan
    if type(value) is float:
        number = value
    else:
        given = scalar(value)
        if is_real(given) and not isinstance(given, bool):
            with suppress(OverflowError, ValueError):  # too large for a float, or a signalling NaN
                number = float(given)
    if not math.isfinite(number):
        raise InvalidReward(f"{name} must be a finite number, got {abbreviate(value)}")
    return number


def check_note(by: str | None, why: str | None) -> dict[str, str]:
    """Validate who makes a change and why, and return it as the body of an event."""
    given = {"by": by, "why": why}
    return {name: check_text(name, text) for name, text in given.items() if text is not None}


def check_list(name: str, values: Any) -> Iterable[Any]:
    """Validate an iterable. A string is refused, since it would be read letter by letter."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, got {abbreviate(values)}")
    return values


def list_requests(
    units: int | Sequence[str | None] | None,
    ids: Iterable[str] | None,
    contexts: Sequence[Mapping[str, Any] | None] | None,
) -> tuple[Sequence[Any], list[Any] | None, list[Any] | None]:
    """Return the unit, the id and the context of each decision, all unchecked. Ids and contexts are
    None if the caller gave none."""
    asked = None if contexts is None else list(check_list("contexts", contexts))
    own = None if ids is None else list(check_list("ids", ids))
    given = own if own is not None else asked
    if units is None and given is not None:
        units = [None] * len(given)
    elif isinstance(units, (str, bytes)) or not isinstance(units, Sequence):
        units = [None] * integer("units", units, at_least=0)
    for name, some in (("ids", own), ("contexts", asked)):
        if some is not None and len(some) != len(units):
            raise ValueError(f"{name} must be one per unit ({len(units)}), got {len(some)}")
    return units, own, asked


def check_units(
    units: int | Sequence[str | None] | None, ids: Iterable[str] | None, contexts: Any = None
) -> tuple[list[str | None], list[str] | None]:
    """Return the unit of each decision, and the ids if the caller gave any."""
    whom, own, _ = list_requests(units, ids, contexts)
    checked = None if own is None else [check_text("id", id) for id in own]
    return [None if unit is None else check_text("unit", unit) for unit in whom], checked


def check_contexts(
    name: str, features: Features | None, contexts: Any, count: int
) -> list[dict[str, float | str] | None]:
    """Validate the context of each unit; None for each if the experiment has no features."""
    if features is None:
        if contexts is not None and any(one is not None for one in contexts):
            raise ValueError(
                f"context must be left out, since experiment {name!r} has no features, "
                f"got {abbreviate(next(one for one in contexts if one is not None))}"
            )
        return [None] * count
    given = [None] * count if contexts is None else contexts
    if None in given:
        raise ValueError(f"context must be given, since experiment {name!r} has features, got none")
    checked = [features.check(one) for one in given]
    for one in checked:
        for feature, value in one.items():
            if isinstance(value, str) and value:
                check_text(feature, value)
    return [*checked]


def list_rewards(rewards: Rewards) -> Iterable[Any]:
    """Return rewards one by one; `check_pair` or `check_part` validates each."""
    return check_list("rewards", rewards.items() if isinstance(rewards, Mapping) else rewards)


def check_pair(pair: Any) -> tuple[str, float, dict[str, float]]:
    """Validate an id, its reward, and optionally its metrics by name."""
    rule = "rewards must be pairs of an id and a number, optionally with metrics by name"
    if not isinstance(pair, (tuple, list)):
        raise TypeError(f"{rule}, got {abbreviate(pair)}")
    if len(pair) not in (2, 3) or (len(pair) == 3 and not isinstance(pair[2], Mapping)):
        raise ValueError(f"{rule}, got {abbreviate(pair)}")
    metrics = check_metrics(pair[2]) if len(pair) == 3 else {}
    return check_text("id", pair[0]), check_reward(pair[1]), metrics


def check_part(pair: Any) -> tuple[str, float, dict[str, float], str | None]:
    """Like `check_pair`, with an optional key of a part at the end."""
    if isinstance(pair, (tuple, list)) and len(pair) == 4:
        key = None if pair[3] is None else check_text("key", pair[3])
        return (*check_pair(pair[:3]), key)
    return (*check_pair(pair), None)


def check_fallback(item: Any) -> tuple[str, str, str | None]:
    """Return the id, the arm and the unit of a decision that a client made by itself."""
    rule = "fallbacks must be tuples of an id, an arm and a unit or None"
    if not isinstance(item, (tuple, list)):
        raise TypeError(f"{rule}, got {abbreviate(item)}")
    if len(item) != 3:
        raise ValueError(f"{rule}, got {abbreviate(item)}")
    id, arm, unit = item
    whom = None if unit is None else check_text("unit", unit)
    return check_text("id", id), check_text("arm", arm), whom


def check_exposure(item: Any) -> tuple[str, str, int, float, str | None, Any]:
    """Return the id, the arm, the version, the age, the unit and the unchecked context of an
    exposure: a mapping with these names, or a tuple in this order."""
    names = ("id", "arm", "version", "age", "unit", "context")
    rule = "exposures must have an id, an arm, a version and an age"
    if isinstance(item, Mapping):
        for name in item:
            if name not in names:
                raise ValueError(unknown("part of an exposure", str(name), names))
        item = [item.get(name) for name in names]
    if not isinstance(item, (tuple, list)):
        raise TypeError(f"{rule}, got {abbreviate(item)}")
    if not 4 <= len(item) <= len(names):
        raise ValueError(f"{rule}, got {abbreviate(item)}")
    id, arm, version, age, unit, context = (*item, None, None)[: len(names)]
    if type(version) is not int or version < 0:
        version = integer("version", version, 0)
    if type(age) is not float or not 0 <= age < math.inf:
        age = real("age", age, at_least=0)
    whom = None if unit is None else check_text("unit", unit)
    return check_text("id", id), check_text("arm", arm), version, age, whom, context


def check_period(value: Any) -> Period:
    """Read a period: a date, or a start and an end separated by a slash.

    An end that is a date includes that day. Times without an offset are UTC.

    >>> check_period("2026-11-19") == check_period("2026-11-19T00:00/2026-11-20T01:00+01:00")
    True
    >>> str(check_period("2026-11-16/2026-11-22"))
    '2026-11-16/2026-11-22'
    """
    rule = (
        "period must be a date such as 2026-11-19, or a start and an end such as "
        f"2026-11-16/2026-11-22, got {abbreviate(value)}"
    )
    if isinstance(value, date) and not isinstance(value, datetime):
        value = value.isoformat()
    if not isinstance(value, str):
        raise TypeError(rule)
    first, between, last = value.strip().partition("/")
    try:
        if between:
            start, end = _start_of(first.strip()), _end_of(last.strip())
        else:
            day = date.fromisoformat(first)
            start, end = _midnight(day), _midnight(day + timedelta(days=1))
    except (ValueError, OverflowError):
        raise ValueError(rule) from None
    if not start < end:
        raise ValueError(f"period must end after it starts, got {abbreviate(value)}")
    micro = timedelta(microseconds=1)
    return Period((start - START) // micro, (end - START) // micro)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _start_of(text: str) -> datetime:
    try:
        return _midnight(date.fromisoformat(text))
    except ValueError:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _end_of(text: str) -> datetime:
    try:
        return _midnight(date.fromisoformat(text) + timedelta(days=1))
    except ValueError:
        return _start_of(text)


def check_aggregate(row: Any) -> tuple[str, Period, Numbers]:
    """Validate an arm, a period, n, mean and sd.

    >>> check_aggregate(("A", "2026-11-19", 1200, 0.25, 0.5))[2]
    Numbers(n=1200, mean=0.25, sd=0.5)
    """
    rule = "aggregates must be tuples of an arm, a period, n, mean and sd"
    if not isinstance(row, (tuple, list)):
        raise TypeError(f"{rule}, got {abbreviate(row)}")
    if len(row) != 5:
        raise ValueError(f"{rule}, got {abbreviate(row)}")
    arm, period, n, mean, sd = row
    name, when = check_text("arm", arm), check_period(period)
    n = integer("n", n, 1, MOST_AGGREGATED)
    mean = real("mean", mean, at_least=-LARGEST_REWARD, at_most=LARGEST_REWARD)
    sd = real("sd", sd, at_least=0, at_most=LARGEST_REWARD)
    if n == 1 and sd:
        raise ValueError(f"sd must be 0 for a single reward, got {sd!r}")
    return name, when, Numbers(n, mean, sd)


def check_each(
    given: Iterable[Any], read: Callable[[Any], Item]
) -> tuple[list[Item], Callable[[Sequence[Out | Exception]], list[Out | Exception]]]:
    """Validate items one by one, so that an invalid one doesn't affect the others.

    Returns:
        The valid items, and a function. The function takes their outcomes and returns the outcomes
        of all items, in the given order, with an error for each invalid one.
    """
    checked: list[Item] = []
    errors: list[Exception | None] = []
    for one in given:
        try:
            checked.append(read(one))
            errors.append(None)
        except (TypeError, ValueError) as error:
            errors.append(error)

    def outcomes(found: Sequence[Out | Exception]) -> list[Out | Exception]:
        rest = iter(found)
        return [next(rest) if error is None else error for error in errors]

    return checked, outcomes


def check_metrics(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Validate metrics by name; None means that a metric wasn't measured."""
    return {
        name: limited(check_reward(value, name))
        for name, value in metrics.items()
        if value is not None
    }


def check_text(name: str, value: Any, longest: int = LONGEST_TEXT) -> str:
    """Validate text that both databases can store."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be {_text(longest)}, got {abbreviate(value)}")
    if not value or "\x00" in value or len(value) > longest:
        raise ValueError(f"{name} must be {_text(longest)}, got {abbreviate(value)}")
    if value.isascii():
        return value
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        rule = f"{name} must be text that is valid Unicode"
        raise ValueError(f"{rule}, got {abbreviate(value)}") from None
    return value


def _text(longest: int) -> str:
    return f"text of 1 to {longest} characters"


def seconds(name: str, value: Any) -> float:
    """Read a duration: a number of seconds, a `timedelta`, or text such as `90s`, `24h` or `7d`.

    >>> seconds("window", 90), seconds("window", "1.5h"), seconds("window", timedelta(days=7))
    (90.0, 5400.0, 604800.0)
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    rule = f"{name} must be seconds or a time like 30m, 24h or 7d, got {abbreviate(value)}"
    if isinstance(value, bool) or not (isinstance(value, str) or is_real(value)):
        raise TypeError(rule)
    unit = SECONDS_PER_UNIT.get(value[-1:].casefold()) if isinstance(value, str) else None
    try:
        return float(value) if unit is None else unit * float(value[:-1])
    except (ValueError, OverflowError):
        raise ValueError(rule) from None


def check_arms(arms: Any) -> list[str]:
    """Validate the names of arms: at least one, and all different."""
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        raise TypeError(f"arms must be a list of names, got {abbreviate(arms)}")
    if not arms:
        raise ValueError(f"arms must be a list of names, got {abbreviate(arms)}")
    names = [check_text("arm", arm) for arm in arms]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"arms must have different names, got {twice!r} twice")
    return names


def check_new_arms(arms: Any) -> list[str]:
    """Validate the names of new arms, which must not contain tabs or line breaks.

    The command line prints one arm per line, with tabs between columns. Arms of older experiments
    may have such names, so `check_arms` allows them.
    """
    names = check_arms(arms)
    for name in names:
        if "\t" in name or len(f"{name}.".splitlines()) > 1:
            raise ValueError(
                f"arm must be text without tabs and line breaks, got {abbreviate(name)}"
            )
    return names


def match_priors(
    options: Mapping[str, Any], arms: Sequence[str], groups: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the options with the entries of their prior in the order of these arms.

    The prior may be an option itself or part of the policy.
    """
    out = dict(options)
    policy = out.get("policy")
    if out.get("prior") is not None:
        out["prior"] = _matched(out["prior"], arms, groups)
    if isinstance(policy, dict) and policy.get("prior") is not None:
        out["policy"] = {**policy, "prior": _matched(policy["prior"], arms, groups)}
    elif isinstance(policy, Policy):
        out["policy"] = policy.for_arms(arms, groups)
    return out


def _matched(prior: PriorLike, arms: Sequence[str], groups: Mapping[str, str] | None) -> Prior:
    """Match a prior to arms; a shared one stays shared, so that arms added later get it, too."""
    made = prior_from(prior)
    return made if made.K is None else made.for_arms(arms, groups)

"""The names of arms and of groups: which entry of a prior belongs to which arm."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from varts._text import unquote_formula
from varts._validation import abbreviate, integer, is_real, unknown

if TYPE_CHECKING:
    from varts.priors.base import Prior

P = TypeVar("P", bound="Prior")

NAMES_SHOWN = 5  # in a message
MOST_ARMS = 10_000_000  # so that a typo doesn't take all memory


def match_arms(
    prior: P, arms: int | Iterable[str] | None = None, groups: Mapping[str, str] | None = None
) -> tuple[P, str | None]:
    """Return the prior with an entry for each of these arms, and a note about missing arms.

    This is `Prior.for_arms` for callers that show the note themselves.

    Args:
        prior: The prior.
        arms: The arms' names or their number, as in `Prior.for_arms`.
        groups: The group of each arm, as in `Prior.for_arms`.

    Returns:
        The prior, and a note about arms without an entry, or None.
    """
    group_of = checked_groups(groups)
    if arms is None and group_of:
        arms = list(group_of)
    numbered = is_real(arms)
    if prior.group is not None and (numbered or not group_of):
        raise ValueError(groups_missing(prior.group))
    if arms is None:
        if prior.K is None:
            raise ValueError("arms must be given for a prior that all arms share, got none")
        return prior, None
    if numbered:
        K = integer("arms", arms, at_least=1, at_most=MOST_ARMS)
        if K == prior.K:
            return prior, None
        entries: dict[str, Any] = dict(zip(prior._fields, prior.per_arm(K), strict=True))
        return replace(prior, **entries, names=None, others=None), None
    names = arm_names(arms)
    numbers: dict[str, Any] = {}
    if prior.names is None:
        numbers = dict(zip(prior._fields, prior.per_arm(len(names)), strict=True))
        return replace(prior, **numbers, names=names), None
    found = find_entries(prior.names, prior.group, names, group_of)
    missing = [name for name, entry in zip(names, found, strict=True) if entry is None]
    if missing and prior.others is None:
        raise ValueError(_unknown_arm(prior, missing[0], group_of))
    others = None if prior.others is None else prior.others.per_arm(1)
    for i, field in enumerate(prior._fields):
        own, rest = getattr(prior, field), None if others is None else others[i][0]
        numbers[field] = np.array([rest if entry is None else own[entry] for entry in found])
    note = arms_not_found(prior.group, missing) if missing else None
    return replace(prior, **numbers, names=names, group=None), note


def _unknown_arm(prior: Prior, arm: str, groups: Mapping[str, str]) -> str:
    """The error for an arm without an entry, if the prior has no `others`."""
    known = prior.names or ()
    if prior.group is None:
        return unknown("arm", arm, known)
    if arm not in groups:
        return f"groups must have the {prior.group} of every arm, got none for {arm!r}"
    return unknown(prior.group, groups[arm], known)


def arm_names(arms: Any) -> tuple[str, ...]:
    """Validate the names of arms and return them.

    Args:
        arms: The names.
    """
    if isinstance(arms, (str, bytes)) or not isinstance(arms, Iterable):
        raise TypeError(f"arms must be their number or their names, got {abbreviate(arms)}")
    names = tuple(str(name) for name in arms)
    if not names:
        raise ValueError("arms must name at least one arm, got none")
    if len(set(names)) < len(names):
        raise ValueError(f"arms must have different names, got {abbreviate(list(names))}")
    return names


def checked_groups(groups: Any) -> dict[str, str]:
    """Return the group of each arm as text; empty for None.

    Args:
        groups: A mapping from arm to group, or None.
    """
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise TypeError(f"groups must be a mapping from arm to group, got {abbreviate(groups)}")
    return {str(arm): str(group) for arm, group in groups.items()}


def find_entries(
    names: Sequence[str], group: str | None, arms: Iterable[str], groups: Mapping[str, str]
) -> list[int | None]:
    """Return the index of every arm's entry, or None for an arm without an entry.

    An entry for the arm itself comes before one for its group. If the entries are for groups, an
    arm that happens to be called like one of them is not meant.

    Args:
        names: The names of the entries.
        group: The kind of group that they are for, or None if they are for arms.
        arms: The arms to look up.
        groups: The group of each arm, where known.

    >>> find_entries(["comedy", "drama"], "genre", ["Fargo", "drama"], {"Fargo": "drama"})
    [1, None]
    """
    place: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    found = []
    for arm in arms:
        by_group = place.get(groups.get(arm))
        found.append(by_group if group is not None else place.get(arm, by_group))
    return found


def groups_missing(group: str) -> str:
    """Return the sentence for a prior by group that is used without the groups of the arms.

    Args:
        group: The kind of group.
    """
    return (
        f"the prior is by {group}, not by arm: name the arms and the {group} of each, "
        f"with groups={{arm: {group}}} in Python, --arm-groups FILE.csv on the command line or "
        "arm_groups in a study file"
    )


def arms_not_found(group: str | None, arms: Sequence[str]) -> str:
    """Return the sentence that says which arms have no entry, and what they got instead.

    Args:
        group: The kind of group that the entries are for, or None if they are for arms.
        arms: The arms without an entry.

    >>> arms_not_found(None, ["blue"])
    "the prior has no entry for the arm 'blue', which gets the prior of all other arms instead"
    """
    shown = ", ".join(map(repr, arms[:NAMES_SHOWN]))
    more = f" and {len(arms) - NAMES_SHOWN} more" if len(arms) > NAMES_SHOWN else ""
    what = "" if group is None else f"the {group} of "
    which = "the arm" if len(arms) == 1 else f"{len(arms)} arms,"
    gets = ", which gets" if len(arms) == 1 else ", which get"
    return (
        f"the prior has no entry for {what}{which} {shown}{more}{gets} the prior of all other "
        "arms instead"
    )


def read_groups(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the group of each arm from a CSV file with two columns, the arm and its group.

    Args:
        path: The file; its first line has the names of the columns.
    """
    groups: dict[str, str] = {}
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        try:
            _, *rows = [[*map(unquote_formula, row)] for row in csv.reader(file) if row]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path} must be a CSV file, got: {error}") from None
        except ValueError:
            raise ValueError(
                f"{path} must have a line with the names of its columns, got none"
            ) from None
    for row in rows:
        if len(row) != 2:
            raise ValueError(
                f"{path} must have two columns, the arm and its group, got {abbreviate(row)}"
            )
        arm, group = row
        if groups.setdefault(arm, group) != group:
            raise ValueError(
                f"{path} must have one group for every arm, got {groups[arm]!r} and {group!r} "
                f"for {arm!r}"
            )
    return groups

"""Whether the caches are what the log says, and whether decisions can be made again from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from varts._progress import Progress
from varts.live.allocation import STICKY, WINNER
from varts.live.comparison import Verification, compare, compare_rows, compare_units
from varts.live.contextual_allocation import features_marks
from varts.live.fold import DAMAGE, Fold, describe
from varts.live.log import Log
from varts.live.options import Options
from varts.live.rebuild import rebuild
from varts.live.replay import replay_decisions
from varts.live.state import EXPIRED, MISSING, REWARD, VOID, Config, State

SETTLES = (REWARD, MISSING, EXPIRED, VOID)


class Compared(NamedTuple):
    """What is compared of a decision and the event that settled it."""

    id: str
    arm: int
    epoch: int
    version: int
    settled: str | None
    settled_version: int
    settled_arm: int
    settled_epoch: int
    corrected_version: int | None
    corrected_arm: int | None
    corrected_epoch: int | None
    context: str | None
    body: str | None


class Assigned(NamedTuple):
    """A decision that a sticky unit may have its arm from."""

    unit: str | None
    arm: int
    probability: float
    estimated: bool
    id: str
    version: int
    seq: int
    reason: str
    epoch: int


def verify(
    log: Log, cached: State, seed: int, replay: bool, shown: Progress, decided: int
) -> Verification:
    """Fold the log again, event by event, with each decision at the version it saw.

    `decided` is how many decisions the caches count, for the progress that is shown.
    """
    out = Verification()
    fold = Fold(log, seed, out)
    if replay and fold.step() and fold.state is not None:
        shown.stage("making decisions again", decided)
        replay_decisions(log, fold, fold.state, out, shown)
    shown.stage("adding up rewards", log.version)
    fold.finish(shown)
    shown.stage("looking at decisions", decided)
    _check_decisions(log, cached.config, out, shown)
    fold.tell_gaps(out)
    if fold.state is None:
        return out
    out.rewards = fold.state.counted
    if not fold.broken:
        compare(fold.state, cached, out)
        _check_corrected(log, fold, out)
        compare_units(assignments(log, fold.options), log.assigned(), out)
    return out


def assignments(log: Log, options: Mapping[int, Options]) -> dict[str, Assigned]:
    """The decision that each sticky unit has its arm from.

    Args:
        log: All decisions.
        options: Those of each epoch.
    """
    sticky = {epoch for epoch, one in options.items() if one.sticky}
    rows: dict[str, Assigned] = {}
    for page in log.decision_pages(Assigned._fields) if sticky else ():
        for decision in (Assigned._make(row[:-2]) for row in page):
            if decision.unit is None or decision.reason in (STICKY, WINNER):
                continue
            if decision.epoch not in sticky:
                continue
            before = rows.get(decision.unit)
            if before is None or (before.version, before.seq) < (decision.version, decision.seq):
                rows[decision.unit] = decision
    return rows


def _check_corrected(log: Log, fold: Fold, out: Verification) -> None:
    """Rows that were corrected with what the rewards of today add up to: no digit may be lost."""
    if fold.state is None or not fold.corrected or log.repaired is not None:
        return  # a log that was repaired may lack rewards whose corrections it has
    anew = fold.state.copy()
    anew.stale = set(fold.corrected)
    rebuild(anew, log)
    for key in sorted(fold.corrected):
        row, new = fold.state.rows[key], anew.rows[key]
        mean = new.mean + (new.origin - row.origin)
        compare_rows(key, new._replace(mean=mean, origin=row.origin), row, out)


def _check_decisions(log: Log, config: Config, out: Verification, shown: Progress) -> None:
    """Every decision against the event that settled it, and no such event without a decision."""
    settled, corrected, K = 0, 0, len(config.arms)
    for page in log.decision_pages(Compared._fields):
        odd = _odd_features(page, config)
        for row in page:
            id, arm, epoch, version, kind, at, its_arm, its_epoch, correction, *_ = row
            settled += at is not None
            corrected += at is not None and correction is not None
            plain = at is None or (
                at > version
                and arm == its_arm
                and epoch == its_epoch
                and correction is None
                and kind in SETTLES
            )
            if not plain or not 0 <= arm < K or id in odd:
                _check_decision(Compared._make(row[:-2]), config, out)
        out.decisions += len(page)
        shown.at(out.decisions)
    all_settled, all_corrected = log.count_settlements()
    if all_settled > settled:
        out.add_problem(f"{all_settled - settled} rewards name a decision that was never made")
    if all_corrected > corrected:
        out.add_problem(f"{all_corrected - corrected} corrections name a decision without a reward")


def _odd_features(page: Sequence[Any], config: Config) -> set[str]:
    """The decisions of a page whose rewards may count for other features than their own."""
    if config.features is None:
        return set()
    rows = [Compared._make(row[:-2]) for row in page]
    rows = [row for row in rows if row.context is not None and row.settled not in (None, EXPIRED)]
    try:
        made = features_marks(config, rows)
        return {
            row.id for row in rows if made[row.id]["x"] != json.loads(row.body or "{}").get("x")
        }
    except DAMAGE:
        return {row.id for row in rows}


def _check_decision(decision: Compared, config: Config, out: Verification) -> None:
    K = len(config.arms)
    if not 0 <= decision.arm < K:
        out.add_problem(f"decision {decision.id!r} is for arm {decision.arm} of {K}")
    if decision.settled_version is not None:
        _agree_on_reward(decision, out)
        _agree_on_features(decision, config, out)


def _agree_on_reward(decision: Compared, out: Verification) -> None:
    if decision.settled not in SETTLES:
        out.add_problem(
            f"decision {decision.id!r} is settled by an event of kind {decision.settled}"
        )
    if decision.settled_version <= decision.version:
        out.add_problem(f"decision {decision.id!r} was rewarded before it was made")
    made = decision.arm, decision.epoch
    rewarded: tuple[int | None, int | None] = decision.settled_arm, decision.settled_epoch
    corrected = decision.corrected_arm, decision.corrected_epoch
    if decision.corrected_version is not None and made == rewarded:
        rewarded = corrected
    if made != rewarded:
        out.add_problem(
            f"decision {decision.id!r} is for arm {made[0]} in epoch {made[1]}, "
            f"its reward for arm {rewarded[0]} in epoch {rewarded[1]}"
        )


def _agree_on_features(decision: Compared, config: Config, out: Verification) -> None:
    """A reward counts for the features that its decision's context makes."""
    if config.features is None or decision.context is None or decision.settled == EXPIRED:
        return
    try:
        found = json.loads(decision.body or "{}").get("x")
    except DAMAGE:
        return  # who adds up rewards has told it
    try:
        made = features_marks(config, [decision])[decision.id]["x"]
    except DAMAGE as error:
        out.add_problem(f"decision {decision.id!r} has an odd context: {describe(error)}")
        return
    if made != found:
        out.add_problem(
            f"decision {decision.id!r} has a context that makes {made}, its reward counts {found}"
        )

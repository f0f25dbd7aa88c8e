"""Compare the caches with the log, replay decisions, and rebuild damaged caches.

`verify` follows the log from its beginning. It makes every decision again from the state that the
decision saw, and compares arm and probability with what was logged. `repair_caches` replaces the
cached configuration, statistics and arms of sticky units by what the log adds up to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from varts._progress import Progress
from varts.live.audit.comparison import (
    RELATIVE_TOLERANCE,
    Verification,
    compare,
    compare_shared,
    compare_sums,
    compare_traffic,
    compare_unit_rewards,
    compare_units,
)
from varts.live.audit.follower import DAMAGE, Follower, corrected_rows, describe
from varts.live.core.allocation import (
    FALLBACK,
    FORGOTTEN,
    HOLDOUT,
    LOCAL,
    STICKY,
    WINNER,
    Allocation,
    Choice,
    allocate,
    drawn_in_holdout,
    features_by_id,
)
from varts.live.core.events import EXPIRED, MISSING, REPAIR, REWARD, VOID
from varts.live.core.state import Config, State
from varts.live.core.sums import NOT_SHARED, Sums
from varts.live.errors import StoreError, UnknownExperiment
from varts.live.options import Options
from varts.live.session import Session, Write
from varts.live.store.log import Log
from varts.live.store.store import Store

ARMS_TOGETHER = 10_000  # decisions replayed together, times arms: bounds the memory


class Made(NamedTuple):
    """A logged decision, with everything needed to make it again."""

    id: str
    arm: int
    probability: float
    reason: str
    unit: str | None
    version: int
    salt: str | None
    context: str | None


def replay_decisions(log: Log, follower: Follower, out: Verification, shown: Progress) -> None:
    """Make every decision again from the state of its version and compare what was logged.

    Args:
        log: All decisions.
        follower: A follower of the same log, at its beginning. It moves to the version of the last
            decision.
        out: Collects the differences.
        shown: Shows the number of decisions so far.
    """
    replay, done = Replay(follower, out), 0
    for page in log.decision_pages(Made._fields, "version", fallbacks=False):
        decisions = [Made._make(row[:-2]) for row in page]
        for version, seeing in groupby(decisions, attrgetter("version")):
            together = list(seeing)
            if not follower.go_to(version):
                if not follower.broken:
                    id = together[0].id
                    out.add_problem(f"decision {id!r} saw a version that is not in the log")
                return
            if not replay.make(together):
                return
        done += len(page)
        shown.at(done)
    replay.end_version()


class Replay:
    """Makes decisions again, in the order of the versions that they saw."""

    def __init__(self, follower: Follower, out: Verification) -> None:
        self.seed, self.state, self.out = follower.seed, follower.state, out
        # A repair, or forgetting a unit, changed the statistics that earlier decisions saw.
        self.lost_before = max(follower.log.repaired or 0, follower.log.erased or 0)
        self.allocation: Allocation | None = None  # of the present state
        self.assigned: dict[str | None, Made] = {}  # by sticky unit: the decision that set its arm
        self.replaced: dict[str | None, list[Made]] = {}  # the ones before that
        self._rows: dict[str | None, list[float]] = {}  # by context: its probabilities
        self.version, self.early = 0, list[Made]()  # of the present state: see `end_version`

    def make(self, decisions: Sequence[Made]) -> bool:
        """Repeat the decisions that saw the present state; False if any of them can't be made."""
        self.allocation = None
        self._rows.clear()
        if decisions[0].version != self.version:
            self.end_version()
            self.version = decisions[0].version
        size = max(ARMS_TOGETHER // len(self.state.config.arms), 1)
        for first in range(0, len(decisions), size):
            some = decisions[first : first + size]
            chosen = self._choose_together(some)
            for decision in some:
                if self._is_lost(decision):
                    if decision.reason != STICKY:
                        self._assign(decision)
                    continue
                try:
                    again = self._made_again(decision, chosen)
                    if chosen and not _is_same(decision, again):  # report the result of it alone
                        again = self._made_again(decision, {})
                except DAMAGE as error:
                    said = describe(error)
                    self.out.add_problem(f"decision {decision.id!r} cannot be made again: {said}")
                    return False
                if decision.reason == STICKY and not _is_same(decision, again):
                    self.early.append(decision)
                else:
                    self._compare(decision, again)
        return True

    def end_version(self) -> None:
        """Compare sticky decisions that came before the one that set their unit's arm: PostgreSQL
        has the decisions of a batch in the order of their ids."""
        for decision in self.early:
            self._compare(decision, self._made_again(decision, {}))
        self.early.clear()

    def _compare(self, decision: Made, again: tuple[int, float] | None) -> None:
        self.out.replayed += 1
        if not _is_same(decision, again):
            self.out.add_problem(
                f"decision {decision.id!r} chose arm {decision.arm} with probability "
                f"{decision.probability!r}; made again: {again}"
            )

    def _is_lost(self, decision: Made) -> bool:
        """Whether a decision can't be made again: a repair or a forgotten unit changed the
        statistics since, or its own context was removed from the log."""
        if decision.version < self.lost_before:
            return True
        return self.state.config.features is not None and decision.context is None

    def _choose_together(self, decisions: Sequence[Made]) -> dict[str, Choice]:
        """Choices by the decision's id. Empty if one of them is damaged: each is then made alone,
        so that the damage is reported for the right one."""
        asking = [
            one
            for one in decisions
            if one.reason not in (STICKY, LOCAL)
            and not _is_forgotten(one)
            and not self._is_lost(one)
        ]
        if len(asking) < 2:
            return {}
        try:
            choices = self._choose(asking)
        except DAMAGE:
            return {}
        return {one.id: choice for one, choice in zip(asking, choices, strict=True)}

    def _choose(self, decisions: Sequence[Made], held: list[bool] | None = None) -> list[Choice]:
        self.allocation = self.allocation or allocate(self.seed, self.state)
        contexts = [_context(one) for one in decisions]
        keys, units = [one.salt or one.id for one in decisions], [one.unit for one in decisions]
        return self.allocation.choose(keys, units, held=held, contexts=contexts)

    def _made_again(self, decision: Made, chosen: Mapping[str, Choice]) -> tuple[int, float] | None:
        """Arm and probability; None if a sticky unit has no arm yet."""
        if decision.reason == STICKY:
            return self._arm_of_unit(decision)
        if decision.reason == LOCAL:
            self._assign(decision)
            return self._checked(decision)
        choice = chosen.get(decision.id)
        if choice is None:
            held = [decision.reason == HOLDOUT] if _is_forgotten(decision) else None
            (choice,) = self._choose([decision], held)
        self._assign(decision)
        return choice.arm, choice.probability

    def _assign(self, decision: Made) -> None:
        """Note that a decision gave its unit an arm, if units keep theirs."""
        if not self.state.config.options.sticky:
            return
        before = self.assigned.get(decision.unit)
        if before is not None and before is not decision:
            self.replaced.setdefault(decision.unit, []).append(before)
        self.assigned[decision.unit] = decision

    def _arm_of_unit(self, decision: Made) -> tuple[int, float] | None:
        """The arm that a unit kept, with its probability.

        An exposure that replaces a paused arm has the version that it was drawn from. A visit that
        arrived before it, with the arm that was paused, may have a later one.
        """
        before = self.assigned.get(decision.unit)
        if before is None:
            return None
        for one in (before, *self.replaced.get(decision.unit, ())):
            if _is_same(decision, (one.arm, one.probability)):
                return one.arm, one.probability
        return before.arm, before.probability

    def _checked(self, decision: Made) -> tuple[int, float]:
        """The arm that a client drew, with the probability that it had."""
        self.allocation = self.allocation or allocate(self.seed, self.state)
        config, arm = self.state.config, decision.arm
        if drawn_in_holdout(self.seed, config, decision):
            return arm, 0.0 if arm in config.paused else self.allocation.share
        chances = self._rows.get(decision.context)
        if chances is None:
            chances = self.allocation.chances_for([_context(decision)])[0].tolist()
            self._rows[decision.context] = chances
        return arm, chances[arm]


def _context(decision: Made) -> Any:
    return None if decision.context is None else json.loads(decision.context)


def _is_same(decision: Made, again: tuple[int, float] | None) -> bool:
    if again is None:
        return False
    arm, probability = again
    if probability <= 0 or arm != decision.arm:
        return False
    return abs(probability - decision.probability) <= RELATIVE_TOLERANCE


def _is_forgotten(decision: Made) -> bool:
    """Whether the unit's name is gone, and with it which side of the holdout it is on."""
    return decision.unit is not None and decision.unit.startswith(FORGOTTEN)


SETTLES = (REWARD, MISSING, EXPIRED, VOID)


class Compared(NamedTuple):
    """A decision and the event that settled it, as far as they must agree."""

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
    reason: str


_REASON = Compared._fields.index("reason")


class AssignedFrom(NamedTuple):
    """A decision that may have given a sticky unit its arm."""

    unit: str | None
    arm: int
    probability: float
    estimated: bool
    id: str
    version: int
    seq: int
    reason: str
    epoch: int


def verify_experiment(session: Session, seed: int, replay: bool, shown: Progress) -> Verification:
    """Compare an experiment's caches with its log, both as of one moment.

    Args:
        session: The experiment.
        seed: The seed that its decisions are drawn from.
        replay: Whether to make every decision again.
        shown: Shows the progress.
    """
    with session.reading(still=True) as transaction:
        cached, _ = session.reload(transaction)
        log = session.log(transaction)
        traffic = transaction.traffic(), transaction.count_traffic()
    found = verify(log, cached, seed, replay, shown, sum(traffic[1].decided.values()))
    compare_traffic(*traffic, found)
    return found


def verify(
    log: Log, cached: State, seed: int, replay: bool, shown: Progress, decided: int
) -> Verification:
    """Follow the log from its beginning and compare the result with the caches.

    Args:
        log: The log.
        cached: The state as the database caches it.
        seed: The seed that the experiment's decisions are drawn from.
        replay: Whether to make every decision again.
        shown: Shows the progress.
        decided: How many decisions there are, for the progress.
    """
    out = Verification()
    follower = Follower(log, seed, out)
    if replay and not follower.broken:
        shown.stage("replaying decisions", decided)
        replay_decisions(log, follower, out, shown)
    shown.stage("adding up rewards", log.version)
    follower.go_to(shown=shown)
    shown.stage("checking decisions", decided)
    _check_decisions(log, cached.config, out, shown)
    follower.add_gaps(out)
    out.rewards = follower.counted
    if not follower.broken:
        compare(follower.state, cached, out)
        _check_corrected(log, follower, out)
        compare_units(assignments(log, follower.options), log.assigned(), log.seq, out)
        units = list(log.unit_rewards())
        if log.is_all():  # else others have added rewards since
            compare_unit_rewards(follower.state, units, out)
    return out


def assignments(log: Log, options: Mapping[int, Options]) -> dict[str, AssignedFrom]:
    """The decision that gave each sticky unit its arm.

    Args:
        log: All decisions.
        options: The options of each epoch.
    """
    sticky = {epoch for epoch, one in options.items() if one.sticky}
    rows: dict[str, AssignedFrom] = {}
    pages = log.decision_pages(AssignedFrom._fields, fallbacks=False) if sticky else ()
    for page in pages:
        for decision in (AssignedFrom._make(row[:-2]) for row in page):
            if decision.unit is None or decision.reason in (STICKY, WINNER):
                continue
            if decision.epoch not in sticky:
                continue
            before = rows.get(decision.unit)
            if before is None or (before.version, before.seq) < (decision.version, decision.seq):
                rows[decision.unit] = decision
    return rows


def _check_corrected(log: Log, follower: Follower, out: Verification) -> None:
    """Compare corrected rows with the sum of the rewards as they are now: no digit may be lost."""
    if not follower.corrected or log.repaired is not None:
        return  # a repaired log may lack rewards whose corrections it has
    rows, places = follower.state.rows, {key[:2] for key in follower.corrected}
    keys = {key for key in rows if key[:2] in places}
    totals: dict[tuple[str, int], tuple[Sums, Sums]] = {}
    for key, new in sorted(corrected_rows(follower.state, keys, log).items()):
        row, shift = rows[key], new.origin - rows[key].origin
        shared = NOT_SHARED.added(new.shared, shift)
        new = new._replace(mean=new.mean + shift, origin=row.origin, shared=shared)
        line = new.line
        if line is not None and row.line is not None:
            # A reward's residual is from the fit before it, which corrections don't turn back.
            line = line._replace(residuals=row.line.residuals)
        compare_sums(key, new._replace(shared=row.shared, line=line), row, out)
        before = totals.get(key[:2])
        totals[key[:2]] = (
            (new, row) if before is None else (before[0].merge(new), before[1].merge(row))
        )
    # What the rewards of a unit have in common is split among blocks in the order in which they
    # were counted or corrected, so that only the totals must agree.
    for (metric, arm), (new, row) in totals.items():
        compare_shared(f"arm {arm}, {metric or 'all blocks'}", new, row, out)


def _check_decisions(log: Log, config: Config, out: Verification, shown: Progress) -> None:
    """Compare every decision with the event that settled it, and look for events without one."""
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
                and (kind == EXPIRED or row[_REASON] != FALLBACK)
            )
            if (
                not plain
                or (at is None and row[_REASON] == FALLBACK)
                or not 0 <= arm < K
                or id in odd
            ):
                _check_decision(Compared._make(row[:-2]), config, out)
        out.decisions += len(page)
        shown.at(out.decisions)
    all_settled, all_corrected = log.count_settlements()
    if all_settled > settled:
        out.add_problem(f"{all_settled - settled} rewards name a decision that was never made")
    if all_corrected > corrected:
        out.add_problem(f"{all_corrected - corrected} corrections name a decision without a reward")


def _odd_features(page: Sequence[Any], config: Config) -> set[str]:
    """The decisions of a page whose rewards may count for the wrong features."""
    if config.features is None:
        return set()
    rows = [Compared._make(row[:-2]) for row in page]
    rows = [row for row in rows if row.context is not None and row.settled not in (None, EXPIRED)]
    try:
        made = features_by_id(config, rows)
        return {row.id for row in rows if made[row.id] != json.loads(row.body or "{}").get("x")}
    except DAMAGE:
        return {row.id for row in rows}


def _check_decision(decision: Compared, config: Config, out: Verification) -> None:
    K = len(config.arms)
    if not 0 <= decision.arm < K:
        out.add_problem(f"decision {decision.id!r} is for arm {decision.arm} of {K}")
    if decision.reason == FALLBACK and decision.settled != EXPIRED:
        out.add_problem(f"decision {decision.id!r} is a fallback, and its reward counts")
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
    """A reward must count for the features of its decision's context."""
    if config.features is None or decision.context is None or decision.settled == EXPIRED:
        return
    try:
        found = json.loads(decision.body or "{}").get("x")
    except DAMAGE:
        return  # the follower has reported it
    try:
        made = features_by_id(config, [decision])[decision.id]
    except DAMAGE as error:
        out.add_problem(f"decision {decision.id!r} has an odd context: {describe(error)}")
        return
    if made != found:
        out.add_problem(
            f"decision {decision.id!r} has a context that makes {made}, its reward counts {found}"
        )


def repair_caches(name: str, store: Store) -> list[str]:
    """Rebuild the caches if they differ from the log; returns a sentence for each difference.

    This also works if the experiment can't be opened. The log gets an event about the repair.

    Args:
        name: The experiment's name.
        store: Its store.

    Raises:
        UnknownExperiment: No experiment has this name.
        StoreError: The log itself is damaged.
    """
    row = store.find(name)
    if row is None:
        raise UnknownExperiment(f"unknown experiment {name!r} in store {store.name}")
    with store.writing(row.id, lock=True) as transaction:
        log, problems = Log(transaction, lambda: nullcontext(transaction)), Verification()
        follower = Follower(log, row.seed, problems)
        if not follower.go_to():
            raise StoreError(
                f"experiment {name!r} in store {store.name} cannot be repaired, restore it from a "
                f"backup: {problems.problems[-1]}"
            )
        state = follower.state
        transaction.lock_out()  # a decision that commits meanwhile is not damage
        log = Log(transaction, lambda: nullcontext(transaction))
        assigned = assignments(log, follower.options)
        head = transaction.head(name, row.seed, -1)
        changed = Verification()
        follower.add_gaps(changed)
        try:
            config = Config.from_json(json.loads(head.config or "{}"))
        except DAMAGE:
            changed.add_problem("the configuration could not be read")
        else:
            compare(state, State(config, head.version, head.rewards, head.rows), changed)
        compare_units(assigned, log.assigned(), log.seq, changed)
        compare_unit_rewards(state, log.unit_rewards(), changed)
        compare_traffic(transaction.traffic(), transaction.count_traffic(), changed)
        if changed.ok:
            return []
        change = Write(transaction, state, head)
        body = {"found": changed.found, "changed": changed.problems, "missing": follower.gaps}
        change.apply(REPAIR, body=body)
        transaction.add_events(change.events)
        transaction.replace_caches(state, [_assigned(row) for row in assigned.values()])
    return changed.problems


def _assigned(decision: Any) -> dict[str, Any]:
    """The columns of the cached arm of a sticky unit."""
    return {
        "unit": decision.unit,
        "arm": decision.arm,
        "probability": decision.probability,
        "estimated": decision.estimated,
        "decision": decision.id,
    }

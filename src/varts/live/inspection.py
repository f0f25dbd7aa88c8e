"""What can be asked of a live experiment: none of it changes a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varts._intervals import CONFIDENCE
from varts._progress import Progress, show_progress
from varts._validation import integer
from varts.features import Features
from varts.live.believer import by_context
from varts.live.check import check
from varts.live.checkpoints import check_spacing
from varts.live.comparison import Verification, compare_traffic
from varts.live.contexts import CONTEXTS_PER_CHECKPOINT, MOST_CONTEXTS
from varts.live.errors import StoreError
from varts.live.evaluate import evaluate
from varts.live.expiry import expire_all, sweeps_missed_some
from varts.live.export import export_decisions
from varts.live.history import History, history
from varts.live.options import Options
from varts.live.records import ChangeRecord, DecisionRecord, find_changes, find_decision, find_place
from varts.live.repair import repair_caches
from varts.live.report import Report, report
from varts.live.snapshot import Snapshot
from varts.live.state import State
from varts.live.store import Store
from varts.live.traffic import Counts, Traffic
from varts.live.transaction import Transaction
from varts.live.validation import check_text
from varts.live.verify import verify

if TYPE_CHECKING:
    from varts.checks import Checks
    from varts.evaluation import Evaluation
    from varts.evaluation.targets import Target


class Inspection:
    """An experiment in a store, to be looked at: `Experiment` is this with all that changes it.

    Args:
        name: That of an experiment in the store.
        store: The database.
    """

    def __init__(self, name: str, store: Store) -> None:
        self.name, self.store = name, store
        self._snapshot = Snapshot(name, store)

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {len(self.arms)} arms, {self.store.name})"

    @property
    def state(self) -> State:
        """Configuration and statistics as of the last call; to look at, not to change."""
        return self._snapshot.state

    @property
    def revision(self) -> int:
        """The version of the last change of configuration, as of the last call."""
        return self.state.revision

    @property
    def arms(self) -> list[str]:
        """The arms' names, paused ones too, as of the last call."""
        return list(self.state.config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last call."""
        return self.state.config.options

    @property
    def features(self) -> Features | None:
        """What a context must have; None if the experiment has no features."""
        return self.state.config.features

    def report(self, level: float = 0.95, settle: bool = True) -> Report:
        """Tell which arm is best, how sure that is, and whether the stop rule is met.

        Args:
            level: The probability of the credible intervals.
            settle: Whether to settle decisions whose window has passed first, which writes; without
                it they are still pending, unless somebody else has.
        """
        if settle:
            expire_all(self._snapshot)
        state, decided, settled, missed = self._counts()
        if missed and settle:
            expire_all(self._snapshot, again=True)
            state, decided, settled, _ = self._counts()
        contexts = self.contexts() if state.config.options.contextual else ()
        return report_of(self.name, state, Traffic(decided, settled), level, contexts)

    def decision(self, id: str) -> DecisionRecord:
        """One decision, with its reward as it is now.

        Args:
            id: The decision's.

        Raises:
            UnknownDecision: It was never made.
        """
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.refresh(transaction)
            return find_decision(transaction, check_text("id", id), state.config.arms)

    def contexts(self, limit: int = MOST_CONTEXTS) -> list[dict[str, float | str]]:
        """Look at some of the contexts: of decisions that are settled, evenly spaced over the log.

        Reads no more of the log than it returns. Contexts that were forgotten are left out.

        Args:
            limit: How many at most.

        >>> import varts
        >>> features = {"visits": "number"}
        >>> exp = varts.open("price", ["9", "12"], store="memory://", features=features)
        >>> for visits in range(10):
        ...     made = exp.decide(id=f"visit-{visits}", context={"visits": visits})
        ...     applied = exp.reward(made.id, 9.0)
        >>> exp.contexts(limit=3)
        [{'visits': 2.0}, {'visits': 6.0}, {'visits': 9.0}]
        """
        limit = integer("limit", limit, 1, MOST_CONTEXTS)
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.refresh(transaction)
            return transaction.contexts(state.version, limit)

    def changes(self, after: int = 0, limit: int = 1000) -> list[ChangeRecord]:
        """What was done to the experiment, by whom and why, oldest first.

        Args:
            after: The version of the last change that is known already.
            limit: How many at most.
        """
        after, limit = integer("after", after, 0), integer("limit", limit, 1)
        with self._snapshot.reading() as transaction:
            return find_changes(transaction, after, limit)

    def export(
        self,
        path: str | Path,
        after: str | None = None,
        limit: int | None = None,
        progress: bool | Progress | None = False,
    ) -> int:
        """Write the log, a row per decision with its reward; returns the number of rows.

        Args:
            path: A file that ends in .parquet, .csv or .ndjson.
            after: The id of a decision: only later ones are written, by their times.
            limit: How many at most, the first ones; all by default.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Raises:
            UnknownDecision: There is none of the id `after`.
        """
        limit = None if limit is None else integer("limit", limit, 1)
        start = -1, -1
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.reload(transaction)
            decided = sum(self._traffic(transaction, state).decided.values())
            log = self._snapshot.log(transaction)
            if after is not None:
                start = find_place(transaction, check_text("after", after))
        with show_progress(progress) as shown:
            shown.stage(f"writing {path}", min(decided, limit or decided))
            return export_decisions(log, state.config, Path(path), shown, start, limit)

    def check(self, settle: bool = True, progress: bool | Progress | None = False) -> Checks:
        """Check rewards and decisions: do they suit the model, and is every one accounted for?

        Reads the whole log, page by page.

        Args:
            settle: As for `report`.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Returns:
            A finding per check: `print` them.
        """
        if settle:
            expire_all(self._snapshot)
        with self._snapshot.reading() as transaction:
            state, head = self._snapshot.reload(transaction)
            decided = sum(self._traffic(transaction, state).decided.values())
            log = self._snapshot.log(transaction)
        with show_progress(progress) as shown:
            shown.stage("looking at decisions", decided)
            return check(self.name, log, state.config, head.time, shown)

    def evaluate(
        self,
        policy: Target,
        against: Target | None = None,
        level: float = CONFIDENCE,
        settle: bool = True,
    ) -> Evaluation:
        """Say what another way of deciding would have earned a decision.

        Reads the whole log, page by page.

        Args:
            policy: `always("12")`, shares of the arms such as `{"9": 0.2, "12": 0.8}`,
                `EvenSplit()` or `with_floor(0.05)`; the last one takes as long as
                `verify(replay=True)`.
            against: The same, to compare with; None compares with what was collected.
            level: The probability of the intervals.
            settle: As for `report`.
        """
        if settle:
            expire_all(self._snapshot)
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.reload(transaction)
            self._traffic(transaction, state)
            log = self._snapshot.log(transaction)
        seed, arms = self._snapshot.seed, state.config.arms
        return evaluate(self.name, log, seed, arms, policy, against, level)

    def settle(self) -> None:
        """Settle all decisions whose window has passed, as `decide` and `reward` do little by
        little; those that were stamped before the last sweep, too."""
        expire_all(self._snapshot)
        if self.options.window is not None and self._counts()[-1]:
            expire_all(self._snapshot, again=True)

    def history(
        self,
        points: int | None = None,
        *,
        every_rewards: int | None = None,
        every: str | float | None = None,
        level: float = CONFIDENCE,
        settle: bool = True,
    ) -> History:
        """Tell how the experiment came to where it is: what was known and done at checkpoints.

        Reads the whole log, page by page; the last checkpoint is the present.

        Args:
            points: How many checkpoints, evenly spaced by rewards; 50 by default.
            every_rewards: Or a checkpoint every so many rewards.
            every: Or one every so many seconds, or "30m", "1h", "1d": the full hour, midnight UTC.
            level: The probability of the credible intervals.
            settle: As for `report`.
        """
        spacing = check_spacing(points, every_rewards, every)
        if settle:
            expire_all(self._snapshot)
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.reload(transaction)
            log = self._snapshot.log(transaction)
        contextual = state.config.options.contextual
        contexts = self.contexts(CONTEXTS_PER_CHECKPOINT) if contextual else ()
        return history(self.name, log, state, spacing, level, contexts)

    def verify(
        self, replay: bool = False, repair: bool = False, progress: bool | Progress | None = False
    ) -> Verification:
        """Rebuild the statistics from the log and compare.

        Args:
            replay: Also make every decision again.
            repair: Make the caches anew from the log if they differ; the log gets an event that
                says how. Decisions from before a repair are not made again: what they were made
                from may have been wrong.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Raises:
            StoreError: There is a repair to do, and the log itself makes no sense.
        """
        repaired = repair_caches(self.name, self.store) if repair else []
        with self._snapshot.reading() as transaction:
            cached, _ = self._snapshot.reload(transaction)
            log = self._snapshot.log(transaction)
            traffic = transaction.traffic(), transaction.count_traffic()
        with show_progress(progress) as shown:
            decided = sum(traffic[1].decided.values())
            found = verify(log, cached, self._snapshot.seed, replay, shown, decided)
        compare_traffic(*traffic, found)
        found.repaired = repaired
        return found

    def _counts(self) -> tuple[State, Counts, Counts, bool]:
        """The state, how many decisions its arms have, how many of them are settled, and whether
        a sweep has missed some."""
        with self._snapshot.reading() as transaction:
            state, head = self._snapshot.reload(transaction)
            decided, settled = self._traffic(transaction, state)
            pending = sum(decided.values()) - sum(settled.values())
            missed = sweeps_missed_some(transaction, state.config.options, head.time, pending)
            return state, decided, settled, missed

    def _traffic(self, transaction: Transaction, state: State) -> Traffic:
        """How many decisions every arm has, and how many of them are settled."""
        counts, K = transaction.traffic(), len(state.config.arms)
        for arm in counts.decided:
            if not 0 <= arm < K:
                raise StoreError(
                    f"experiment {self.name!r} in store {self.store.name} has {K} arms but a "
                    f"decision for number {arm}; verify tells more"
                )
        return counts


def report_of(
    name: str,
    state: State,
    traffic: Traffic,
    level: float = CONFIDENCE,
    contexts: Sequence[Mapping[str, Any]] = (),
) -> Report:
    """The report of an experiment, from its state and how many decisions its arms have.

    Args:
        name: That of the experiment.
        state: Its configuration and statistics.
        traffic: Its decisions by arm.
        level: The probability of the credible intervals.
        contexts: Those of some of its units, where arms are chosen by features.
    """
    found = report(
        name,
        state,
        traffic.decided,
        traffic.settled,
        level,
        state.holdout_statistics(),
        state.metric_statistics(),
        state.config.options.guards,
        contexts,
    )
    return replace(found, context=by_context(state, contexts, level)) if contexts else found

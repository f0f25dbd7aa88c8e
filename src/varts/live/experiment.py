"""A live experiment: decide, reward, report. What each of them does is in the other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from varts._intervals import CONFIDENCE
from varts._validation import integer, unknown
from varts.live.assignment import Decision, decide
from varts.live.check import check
from varts.live.checkpoints import check_spacing
from varts.live.errors import StoreError
from varts.live.evaluate import evaluate
from varts.live.expiry import expire, expire_all, sweeps_missed_some
from varts.live.export import export
from varts.live.history import History, history
from varts.live.options import GivenOptions, Options, stored_prior
from varts.live.repair import repair_caches
from varts.live.report import Report, report
from varts.live.rewards import record, record_each
from varts.live.snapshot import Snapshot
from varts.live.state import ADD_ARM, CONFIGURE, PAUSE, RESUME, STOP, Config, State
from varts.live.store import Store
from varts.live.transaction import Counts, Transaction
from varts.live.validation import check_list, check_new_arms, check_pair, check_text, match_priors
from varts.live.verify import Verification, verify
from varts.priors import PriorLike

if TYPE_CHECKING:
    from varts.checks import Checks
    from varts.evaluation import Evaluation
    from varts.evaluation.targets import Target


class Experiment:
    """A live experiment in a store; any number of them, in any process, may share it.

    `varts.open` makes it. Safe to use from several threads, and as a context manager that closes
    its store.

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
    def arms(self) -> list[str]:
        """The arms' names, paused ones too, as of the last call."""
        return list(self.state.config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last call."""
        return self.state.config.options

    # ------------------------------------------------------------------ decisions and rewards

    def decide(self, unit: str | None = None, id: str | None = None) -> Decision:
        """Choose the arm for one unit.

        Args:
            unit: Who it is for (a user, a session); sticky experiments refuse to do without.
            id: One of your own; the same id gets the same decision again. Made by default.
        """
        return self._decide([unit], None if id is None else [check_text("id", id)])[0]

    def decide_many(
        self,
        units: int | Sequence[str | None] | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Decision]:
        """Make several decisions in one transaction.

        Args:
            units: Who they are for, or how many without a unit; by default as many as ids.
            ids: One per unit; made by default.
        """
        own = None if ids is None else [check_text("id", id) for id in check_list("ids", ids)]
        if units is None and own is not None:
            units = [None] * len(own)
        elif isinstance(units, (str, bytes)) or not isinstance(units, Sequence):
            units = [None] * integer("units", units, at_least=0)
        return self._decide(units, own)

    def _decide(self, units: Sequence[str | None], own: list[str] | None) -> list[Decision]:
        if own is not None and len(own) != len(units):
            raise ValueError(f"ids must be one per unit ({len(units)}), got {len(own)}")
        units = [None if unit is None else check_text("unit", unit) for unit in units]
        if not units:
            return []
        expire(self._snapshot, beside=len(units))
        return decide(self._snapshot, units, own)

    def reward(self, id: str, value: float) -> bool:
        """Record what a decision earned: True if applied, False if it was there already.

        Args:
            id: The decision's.
            value: Any finite number.

        Raises:
            UnknownDecision: It was never made, or its window has passed.
            RewardConflict: It has another reward already.
            InvalidReward: The value is not a finite number, or the policy cannot count it.
        """
        return self.reward_many([(id, value)])[0]

    def reward_many(self, rewards: Mapping[str, float] | Iterable[tuple[str, float]]) -> list[bool]:
        """Record several rewards in one transaction; if one is refused, none is applied.

        Args:
            rewards: Decisions' ids with their rewards.
        """
        pairs = rewards.items() if isinstance(rewards, Mapping) else rewards
        checked = [check_pair(pair) for pair in check_list("rewards", pairs)]
        if not checked:
            return []
        expire(self._snapshot, beside=len(checked))
        return record(self._snapshot, checked)

    def reward_each(
        self, rewards: Mapping[str, float] | Iterable[tuple[str, float]]
    ) -> list[bool | Exception]:
        """Record several rewards in one transaction; one that is refused keeps none from counting.

        Args:
            rewards: Decisions' ids with their rewards.

        Returns:
            For each of them True if it was applied, False if it was there already, or the error
            that `reward` would have raised.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> made = exp.decide_many(ids=["visit-1", "visit-2"])
        >>> exp.reward_each([("visit-1", 9.0), ("visit-3", 0.0), ("visit-2", 12.0)])
        [True, UnknownDecision("unknown decision 'visit-3' in experiment 'price'"), True]
        """
        pairs = rewards.items() if isinstance(rewards, Mapping) else rewards
        outcomes: list[bool | Exception] = []
        places, checked = [], []
        for pair in check_list("rewards", pairs):
            try:
                checked.append(check_pair(pair))
                places.append(len(outcomes))
                outcomes.append(False)
            except (TypeError, ValueError) as error:
                outcomes.append(error)
        if checked:
            expire(self._snapshot, beside=len(checked))
            found = record_each(self._snapshot, checked)
            for place, outcome in zip(places, found, strict=True):
                outcomes[place] = outcome
        return outcomes

    # ------------------------------------------------------------------ what is known

    def report(self, level: float = 0.95) -> Report:
        """Tell which arm is best, how sure that is, and whether the stop rule is met.

        Args:
            level: The probability of the credible intervals.
        """
        expire_all(self._snapshot)
        state, decided, settled, missed = self._counts()
        if missed:
            expire_all(self._snapshot, again=True)
            state, decided, settled, _ = self._counts()
        return report(self.name, state, decided, settled, level)

    def export(self, path: str | Path) -> int:
        """Write the log, a row per decision with its reward; returns the number of rows.

        Args:
            path: A file that ends in .parquet, .csv or .ndjson.
        """
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.reload(transaction)
            self._decided(transaction, state)
            log = self._snapshot.log(transaction)
        return export(log, state.config.arms, Path(path))

    def check(self) -> Checks:
        """Check rewards and decisions: do they suit the model, and is every one accounted for?

        Reads the whole log, page by page.

        Returns:
            A finding per check: `print` them.
        """
        expire_all(self._snapshot)
        with self._snapshot.reading() as transaction:
            state, head = self._snapshot.reload(transaction)
            self._decided(transaction, state)
            log = self._snapshot.log(transaction)
        config = state.config
        return check(self.name, log, config.arms, config.options, head.time)

    def evaluate(
        self, policy: Target, against: Target | None = None, level: float = CONFIDENCE
    ) -> Evaluation:
        """Say what another way of deciding would have earned a decision.

        Reads the whole log, page by page.

        Args:
            policy: `always("12")`, shares of the arms such as `{"9": 0.2, "12": 0.8}`,
                `EvenSplit()` or `with_floor(0.05)`; the last one takes as long as
                `verify(replay=True)`.
            against: The same, to compare with; None compares with what was collected.
            level: The probability of the intervals.
        """
        expire_all(self._snapshot)
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.reload(transaction)
            self._decided(transaction, state)
            log = self._snapshot.log(transaction)
        seed, arms = self._snapshot.seed, state.config.arms
        return evaluate(self.name, log, seed, arms, policy, against, level)

    def history(
        self,
        points: int | None = None,
        *,
        every_rewards: int | None = None,
        every: str | float | None = None,
        level: float = CONFIDENCE,
    ) -> History:
        """Tell how the experiment came to where it is: what was known and done at checkpoints.

        Reads the whole log, page by page; the last checkpoint is the present.

        Args:
            points: How many checkpoints, evenly spaced by rewards; 50 by default.
            every_rewards: Or a checkpoint every so many rewards.
            every: Or one every so many seconds, or "30m", "1h", "1d": the full hour, midnight UTC.
            level: The probability of the credible intervals.
        """
        spacing = check_spacing(points, every_rewards, every)
        expire_all(self._snapshot)
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.reload(transaction)
            log = self._snapshot.log(transaction)
        return history(self.name, log, state, spacing, level)

    def verify(self, replay: bool = False, repair: bool = False) -> Verification:
        """Rebuild the statistics from the log and compare.

        Args:
            replay: Also make every decision again.
            repair: Make the caches anew from the log if they differ; the log gets an event that
                says how. Decisions from before a repair are not made again: what they were made
                from may have been wrong.

        Raises:
            StoreError: There is a repair to do, and the log itself makes no sense.
        """
        repaired = repair_caches(self.name, self.store) if repair else []
        with self._snapshot.reading() as transaction:
            cached, _ = self._snapshot.reload(transaction)
            log = self._snapshot.log(transaction)
        found = verify(log, cached, self._snapshot.seed, replay)
        found.repaired = repaired
        return found

    def _counts(self) -> tuple[State, Counts, Counts, bool]:
        """The state, how many decisions its arms have, how many of them are settled, and whether
        a sweep has missed some."""
        with self._snapshot.reading() as transaction:
            state, head = self._snapshot.reload(transaction)
            decided = self._decided(transaction, state)
            settled = transaction.settled_by_arm()
            pending = sum(decided.values()) - sum(settled.values())
            missed = sweeps_missed_some(transaction, state.config.options, head.time, pending)
            return state, decided, settled, missed

    def _decided(self, transaction: Transaction, state: State) -> Counts:
        """How many decisions every arm has."""
        counts, K = transaction.decided_by_arm(), len(state.config.arms)
        for arm in counts:
            if not 0 <= arm < K:
                raise StoreError(
                    f"experiment {self.name!r} in store {self.store.name} has {K} arms but a "
                    f"decision for number {arm}; verify tells more"
                )
        return counts

    # ------------------------------------------------------------------ changes

    def add_arm(
        self, arm: str, prior: PriorLike | None = None, groups: Mapping[str, str] | None = None
    ) -> None:
        """Add an arm.

        Args:
            arm: Its name, a new one.
            prior: Its prior; needed if every arm has its own, else it gets the shared one.
            groups: The group of the arm, for a prior that was fitted by group.
        """
        (name,) = check_new_arms([arm])
        given = stored_prior(match_priors({"prior": prior}, [name], groups).get("prior"))

        def added(config: Config) -> dict[str, Any]:
            if name in config.arms:
                raise ValueError(f"arm must be a new one, got {name!r}")
            return {"arm": name, "prior": given}

        self._change(ADD_ARM, added)

    def pause_arm(self, arm: str) -> None:
        """Take an arm out of play; rewards of its decisions still count.

        Args:
            arm: Its name.
        """
        self._change(PAUSE, lambda config: {"arm": _known_arm(config, arm)})

    def resume_arm(self, arm: str) -> None:
        """Bring a paused arm back.

        Args:
            arm: Its name.
        """
        self._change(RESUME, lambda config: {"arm": _known_arm(config, arm)})

    def stop(self, winner: str | None = None) -> None:
        """End the experiment.

        Args:
            winner: The arm that everybody gets from now on; without one, `decide` refuses.
        """
        self._change(
            STOP,
            lambda config: {"winner": winner if winner is None else _known_arm(config, winner)},
        )

    def configure(
        self, *, groups: Mapping[str, str] | None = None, **options: Unpack[GivenOptions]
    ) -> None:
        """Change options from here on; a new epoch begins.

        Args:
            groups: The group of each arm, for a prior that was fitted by group.
            options: Those of `varts.live.Options`; what is not given stays as it is.
        """

        def changed(config: Config) -> dict[str, Any]:
            given = match_priors(options, config.arms, groups)
            return {"options": config.options.reconfigured(given).to_json()}

        self._change(CONFIGURE, changed)

    def _change(self, kind: str, body_for: Callable[[Config], dict[str, Any]]) -> None:
        """Add an event of this kind, unless it would change nothing."""
        expire_all(self._snapshot)  # by the options that it was made under
        with self._snapshot.changing() as change:
            before = change.state.config
            body = body_for(before)
            after = before.changed(kind, body)
            if after == before:
                return
            after.check(before)
            change.apply(kind, body=body)

    def close(self) -> None:
        """Give the store's connections back."""
        self.store.close()

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _known_arm(config: Config, arm: str) -> str:
    if arm not in config.arms:
        raise ValueError(unknown("arm", arm, config.arms))
    return arm

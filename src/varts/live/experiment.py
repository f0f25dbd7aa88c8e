"""A live experiment: decide, reward, report.

`Experiment` is all of its interface. Each method checks its arguments and calls the module that
does the work: `decide`, `rewards`, `settle`, `report` and `audit`. `open_experiment` is
`varts.open`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from varts._intervals import CONFIDENCE
from varts._progress import Progress, show_progress
from varts._text import printable
from varts._validation import abbreviate, integer
from varts.features import Features
from varts.live.aggregates import (
    VOIDED,
    Given,
    check_change,
    record_aggregates,
    record_each_aggregate,
)
from varts.live.arguments import (
    AggregateRows,
    Duration,
    Rewards,
    check_aggregate,
    check_arms,
    check_contexts,
    check_each,
    check_exposure,
    check_fallback,
    check_list,
    check_new_arms,
    check_note,
    check_pair,
    check_part,
    check_period,
    check_text,
    list_requests,
    list_rewards,
    match_priors,
)
from varts.live.audit.ages import reward_by_age
from varts.live.audit.comparison import Verification
from varts.live.audit.export import export_decisions
from varts.live.audit.history import History, check_spacing, history
from varts.live.audit.offline import check, evaluate
from varts.live.audit.records import (
    ChangeRecord,
    DecisionRecord,
    find_decision,
    find_place,
    read_changes,
)
from varts.live.audit.verify import repair_caches, verify_experiment
from varts.live.core.allocation import seed_for, split_traffic
from varts.live.core.events import ADD_ARM, CONFIGURE, PAUSE, RESTART, RESUME, STOP
from varts.live.core.local import LocalAllocation
from varts.live.core.state import Config, State
from varts.live.decide import Decision, decide, decide_each, stored_unit
from varts.live.errors import Changed, Differs, Refused, StoreError, UnknownExperiment
from varts.live.fallbacks import Fallback, record_fallbacks
from varts.live.local import (
    Exposure,
    ExposureResult,
    Sent,
    local_allocation,
    record_exposures,
    refused_exposure,
)
from varts.live.options import GivenOptions, Options, check_flag, stored_prior
from varts.live.report.report import Report, report_of
from varts.live.rewards import Correction, Reward, count_again, record, record_each
from varts.live.session import Session
from varts.live.settle import (
    delete,
    forget,
    next_close,
    settle_all,
    settle_some,
    settle_waiting,
    some_were_missed,
)
from varts.live.store.log import Log
from varts.live.store.store import Store, open_store
from varts.live.store.transaction import Traffic, Transaction
from varts.priors import PriorLike

if TYPE_CHECKING:
    import polars as pl

    from varts.checks import Checks
    from varts.evaluation import Evaluation
    from varts.evaluation.targets import Target

MOST_CONTEXTS = 1000  # of a sample: enough for shares to a percent or two
CONTEXTS_PER_CHECKPOINT = 200  # of a history, which has many: shares to three percent
LARGEST_VERSION = 2**63 - 1


class Note(TypedDict, total=False):
    """The author of a change, the reason, and the revision it is based on; see
    `Experiment.stop`."""

    by: str | None
    why: str | None
    expected: int | str | None


class Experiment:
    """A live experiment in a store; any number of processes may use it at once.

    `varts.open` creates or opens one. Threads may share it. As a context manager it closes its
    store. Methods that change or correct something take `by` and `why`, and the log keeps them.

    Args:
        name: The name of an experiment in the store.
        store: The database.

    Raises:
        UnknownExperiment: The store has no experiment of this name.
    """

    def __init__(self, name: str, store: Store) -> None:
        self.name, self.store = name, store
        self._session = Session(name, store)

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {len(self.arms)} arms, {self.store.name})"

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store's connections."""
        self.store.close()

    @property
    def state(self) -> State:
        """Configuration and statistics as of the last call. Don't change it."""
        return self._session.state

    @property
    def revision(self) -> int:
        """The version of the last change of configuration, as of the last call."""
        return self.state.revision

    @property
    def tag(self) -> str:
        """Names the configuration, as of the last call: text that changes with every change of it.

        No other experiment has it, not even a later one of the same name. `expected` of every
        change accepts it.
        """
        return self.state.tag

    @property
    def arms(self) -> list[str]:
        """The arms' names, paused ones included, as of the last call."""
        return list(self.state.config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last call."""
        return self.state.config.options

    @property
    def features(self) -> Features | None:
        """The features that a context must have; None if the experiment has no features."""
        return self.state.config.features

    # ------------------------------------------------------------------ decisions

    def decide(
        self,
        unit: str | None = None,
        id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Choose the arm for one unit.

        Args:
            unit: The unit to decide for, such as a user or a session; sticky experiments need it.
            id: An id of your own. The same id gets the same decision again. By default a new one.
            context: What you know about the unit, by the names of the option `features`. Required
                with features, refused without.

        Raises:
            DecisionConflict: The id belongs to a decision for a different unit.
            ExperimentStopped: The experiment was stopped without a winner, and the id is new.

        >>> import varts
        >>> features = {"country": ["NL", "BE"], "visits": "number"}
        >>> exp = varts.open("price", ["9", "12"], store="memory://", features=features)
        >>> exp.decide("user-42", context={"country": "NL", "visits": 3}).reason
        'forced'
        >>> exp.decide("user-42", context={"country": "NL", "visit": 3})
        Traceback (most recent call last):
        ...
        ValueError: unknown feature 'visit'; did you mean 'visits'? known: country, visits
        """
        own = None if id is None else [id]
        return self.decide_many([unit], own, None if context is None else [context])[0]

    def decide_many(
        self,
        units: int | Sequence[str | None] | None = None,
        ids: Iterable[str] | None = None,
        contexts: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[Decision]:
        """Make several decisions, which are written together or not at all.

        Args:
            units: The units to decide for, or how many decisions to make without units; by default
                as many as there are ids or contexts.
            ids: One per unit; by default new ones.
            contexts: What you know about each unit, as for `decide`.
        """
        whom, own, asked = list_requests(units, ids, contexts)
        checked = self._check_requests(whom, own, asked)
        if not whom:
            return []
        self._settle_some(len(whom))
        return decide(self._session, *checked)

    def decide_each(
        self,
        units: int | Sequence[str | None] | None = None,
        ids: Iterable[str] | None = None,
        contexts: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Decision | Exception]:
        """Make several decisions in one transaction; a refused one doesn't affect the others.

        Args:
            units: As for `decide_many`.
            ids: As for `decide_many`.
            contexts: As for `decide_many`.

        Returns:
            For each of them the decision, or the error that `decide` would have raised. A known id
            gets its decision even if the experiment is stopped.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> first, again = exp.decide_each(["anna", "bert"], ids=["visit-1", "visit-1"])
        >>> again
        DecisionConflict("decision 'visit-1' was made for another unit; use a new id for this one")
        """
        whom, own, asked = list_requests(units, ids, contexts)

        def check_one(place: int) -> tuple[Any, Any, Any]:
            (unit,), id, context = self._check_requests(
                [whom[place]],
                None if own is None else [own[place]],
                None if asked is None else [asked[place]],
            )
            return unit, id and id[0], context[0]

        checked, outcomes = check_each(range(len(whom)), check_one)
        if not checked:
            return outcomes([])
        self._settle_some(len(checked))
        good, names, known = (list(column) for column in zip(*checked, strict=True))
        return outcomes(decide_each(self._session, good, None if own is None else names, known))

    def _check_requests(
        self, units: Sequence[Any], ids: Sequence[Any] | None, contexts: Sequence[Any] | None
    ) -> tuple[list[str | None], list[str] | None, Sequence[dict[str, Any] | None]]:
        """Validate the units, ids and contexts of decisions; units come back as the log has
        them."""
        session = self._session
        own = None if ids is None else [check_text("id", id) for id in ids]
        whom = [
            None if unit is None else stored_unit(session, check_text("unit", unit))
            for unit in units
        ]
        features = session.state.config.features
        return whom, own, check_contexts(self.name, features, contexts, len(units))

    def record_fallbacks(
        self, items: Iterable[tuple[str, str, str | None]]
    ) -> list[str | Exception]:
        """Log decisions that a client made by itself, because the service didn't answer in time.

        They get the reason "fallback" and count nowhere: neither do their rewards, which you send
        as usual, nor do they change what anybody gets. If the log has a decision with that id and
        without a reward, it is no longer counted either, since nobody saw its arm.

        Args:
            items: Tuples of an id, the arm that was played, and the unit or None.

        Returns:
            For each of them "recorded", "duplicate" if it was recorded before, or the error that
            refuses it.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> exp.record_fallbacks([("visit-1", "9", "anna"), ("visit-1", "9", "anna")])
        ['recorded', 'duplicate']
        >>> exp.reward("visit-1", 9.0), exp.report().frame["n"].sum()
        (True, 0)
        """

        def check_one(item: Any) -> Fallback:
            id, arm, unit = check_fallback(item)
            return Fallback(id, arm, unit and stored_unit(self._session, unit))

        checked, outcomes = check_each(check_list("fallbacks", items), check_one)
        return outcomes(record_fallbacks(self._session, checked) if checked else [])

    # ------------------------------------------------------------------ local decisions

    def allocation(self) -> LocalAllocation:
        """Return the data for drawing arms in a client, without a request for each decision.

        Send what it draws to `record_exposures`, with the ticket of the allocation.

        Raises:
            NotLocal: Clients can't draw the arms of this experiment, for example because the policy
                uses a number.
            ExperimentStopped: The experiment was stopped without a winner.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> made = exp.allocation()
        >>> made.version, made.arms, made.probabilities
        (1, ['9', '12'], [0.5, 0.5])
        """
        return local_allocation(self._session)

    def record_exposures(
        self, exposures: Iterable[Any], tickets: Iterable[str], client: str | None = None
    ) -> list[ExposureResult]:
        """Log arms that a client drew from allocations; a refused exposure doesn't affect the
        others.

        Each one becomes a decision with the probability that it was drawn with. Send it before its
        reward. Sending it again is safe.

        Args:
            exposures: `varts.live.Exposure` objects, or mappings or tuples with the same fields: an
                id, the arm, the version of the allocation, the age of the decision in seconds, and
                optionally the unit and its context.
            tickets: The tickets of their allocations, each at least once.
            client: Any text that names the process that drew them. Its arms are then compared with
                their probabilities, and if they differ too much, its exposures are refused.

        Returns:
            The outcome of each exposure, in the same order.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> made = exp.allocation()
        >>> exposure = {"id": "visit-1", "arm": "12", "version": made.version, "age": 0.3}
        >>> exp.record_exposures([exposure], [made.ticket])[0].status
        'recorded'
        >>> exp.reward("visit-1", 12.0), exp.decision("visit-1").reason
        (True, 'local')
        """
        return self.record_exposures_of([(exposures, tickets, client)])[0]

    def record_exposures_of(
        self, clients: Iterable[tuple[Iterable[Any], Iterable[str], str | None]]
    ) -> list[list[ExposureResult]]:
        """Log arms that several clients drew, in one transaction.

        Args:
            clients: The arguments of `record_exposures` for each client.

        Returns:
            The result that `record_exposures` would have returned for each of them.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> made = exp.allocation()
        >>> one, other = [("a-1", "9", 1, 0.3)], [("b-1", "12", 1, 0.1), ("b-2", "15", 1, 0.0)]
        >>> clients = [(one, [made.ticket], "a"), (other, [made.ticket], "b")]
        >>> [[result.status for result in each] for each in exp.record_exposures_of(clients)]
        [['recorded'], ['recorded', 'impossible-arm']]
        """
        sent, given, complete = [], [], []
        for exposures, tickets, client in clients:
            items = list(check_list("exposures", exposures))
            checked, outcomes = check_each(items, self._check_exposure)
            name = None if client is None else check_text("client", client)
            texts = [str(ticket) for ticket in check_list("tickets", tickets)]
            sent.append(Sent(name, texts, checked))
            given.append(items)
            complete.append(outcomes)
        count = sum(len(one.exposures) for one in sent)
        if count:
            self._settle_some(count)
        found = iter(record_exposures(self._session, sent) if count else [])
        made = [
            outcomes(list(islice(found, len(one.exposures))))
            for one, outcomes in zip(sent, complete, strict=True)
        ]
        return [list(map(refused_exposure, *pair)) for pair in zip(given, made, strict=True)]

    def _check_exposure(self, item: Any) -> Exposure:
        id, arm, version, age, unit, context = check_exposure(item)
        if unit is not None:
            unit = stored_unit(self._session, unit)
        if context is not None or self.features is not None:
            (context,) = check_contexts(self.name, self.features, [context], 1)
        return Exposure(id, arm, version, age, unit, context)

    # ------------------------------------------------------------------ rewards

    def reward(self, id: str, value: float, **metrics: float | None) -> bool:
        """Record the reward of a decision.

        Args:
            id: The decision's id.
            value: Any finite number.
            metrics: Other measurements, by the names of the option `metrics`.

        Returns:
            True if the reward is new, False if it was recorded before.

        Raises:
            UnknownDecision: The decision was never made, or its window has closed
                (ExpiredDecision).
            RewardConflict: The decision has another reward; `amend` changes it.
            InvalidReward: The value is not a finite number, or the policy can't count it.
        """
        return self.reward_many([(id, value, metrics)])[0]

    def reward_many(self, rewards: Rewards) -> list[bool]:
        """Record several rewards in one transaction; if one is refused, none is recorded.

        Args:
            rewards: Ids with rewards: a mapping, or tuples (id, reward), (id, reward, {metric:
                number}), or for a part as of `add_reward` (id, reward, metrics, key).
        """
        checked = [Reward(*check_part(pair)) for pair in list_rewards(rewards)]
        return self._record(checked)

    def reward_each(
        self, rewards: Rewards, public: bool | Sequence[bool] = False
    ) -> list[bool | Exception]:
        """Record several rewards in one transaction; a refused one doesn't affect the others.

        Args:
            rewards: As for `reward_many`.
            public: Whether they come from people you don't know, such as visitors of a web page:
                for all of them, or a flag for each. A public reward is recorded within `clip`, and
                refused if the experiment has no `clip`.

        Returns:
            For each of them True if it is new, False if it was recorded before, or the error that
            `reward` would have raised.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> made = exp.decide_many(ids=["visit-1", "visit-2"])
        >>> exp.reward_each([("visit-1", 9.0), ("visit-3", 0.0), ("visit-2", 12.0)])
        [True, UnknownDecision("unknown decision 'visit-3' in experiment 'price'"), True]
        """
        given = list(list_rewards(rewards))
        flags = [public] * len(given) if isinstance(public, bool) else list(public)
        if len(flags) != len(given):
            raise ValueError(f"public must be one flag per reward ({len(given)}), got {len(flags)}")
        checked, outcomes = check_each(
            zip(given, flags, strict=True), lambda one: Reward(*check_part(one[0]), one[1])
        )
        if not checked:
            return outcomes([])
        self._settle_some(len(checked))
        return outcomes(record_each(self._session, checked))

    def add_reward(self, id: str, value: float, key: str, **metrics: float | None) -> bool:
        """Add a part to the reward of a decision: a second order, or a refund, which is negative.

        Each part counts once, by its key. The first part may take the place of `reward`, and must
        then arrive within the window; later ones may arrive at any time.

        Args:
            id: The decision's id.
            value: The amount to add to its reward.
            key: A key of your own for this part, such as the order number.
            metrics: The amounts to add to its metrics.

        Returns:
            True if the part is new, False if it was recorded before.

        Raises:
            RewardConflict: There is another part with this key, or the reward was voided.
            InvalidReward: The sum is too large for a number.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> made = exp.decide(id="visit-1")
        >>> exp.reward("visit-1", 12.0), exp.add_reward("visit-1", -12.0, key="refund of 12.0")
        (True, True)
        >>> exp.decision("visit-1").reward
        0.0
        """
        return self.reward_many([(id, value, metrics, check_text("key", key))])[0]

    def amend(
        self,
        id: str,
        value: float,
        *,
        by: str | None = None,
        why: str | None = None,
        **metrics: float | None,
    ) -> bool:
        """Replace the reward of a decision.

        The statistics come out exactly as if the reward had been right the first time. Decisions
        that were made meanwhile stay as they are.

        Args:
            id: The decision's id.
            value: The correct total reward.
            by: The name of the person who corrects it.
            why: The reason.
            metrics: Metrics to change; the others stay as they are.

        Returns:
            True if the reward was different, False if it was the same.

        Raises:
            UnknownDecision: The decision was never made, or has no reward to amend.
        """
        return self.amend_many([(id, value, metrics)], by=by, why=why)[0]

    def amend_many(
        self, rewards: Rewards, *, by: str | None = None, why: str | None = None
    ) -> list[bool]:
        """Amend several rewards in one transaction; if one is refused, none is changed.

        Args:
            rewards: As for `reward_many`.
            by: The name of the person who corrects them.
            why: The reason.
        """
        checked = [Correction(*check_pair(pair)) for pair in list_rewards(rewards)]
        return self._record(checked, check_note(by, why))

    def void(self, id: str, *, by: str | None = None, why: str | None = None) -> bool:
        """Remove the reward of a decision, as if it had never arrived: a test, a bot.

        `amend` gives the decision a reward again.

        Args:
            id: The decision's id.
            by: The name of the person who removes it.
            why: The reason.

        Returns:
            True if the decision had a reward, False if it was voided before.

        Raises:
            UnknownDecision: The decision was never made, or has no reward.
        """
        return self.void_many([id], by=by, why=why)[0]

    def void_many(
        self, ids: Iterable[str], *, by: str | None = None, why: str | None = None
    ) -> list[bool]:
        """Void several rewards in one transaction; if one is refused, none is voided.

        Args:
            ids: The decisions' ids.
            by: The name of the person who removes them.
            why: The reason.
        """
        checked = [Correction(check_text("id", id), None) for id in check_list("ids", ids)]
        return self._record(checked, check_note(by, why))

    def reward_aggregate(
        self,
        arm: str,
        period: str | date,
        n: int,
        mean: float,
        sd: float,
        *,
        correct: bool = False,
        by: str | None = None,
        why: str | None = None,
    ) -> bool:
        """Record rewards that you only know as an aggregate, without a decision for each.

        Use it for tools that only accept a traffic split: set the shares of `split`, and report
        back what every arm earned. An arm has one aggregate in a period, which counts once. Its
        rewards count as independent of each other and as Gaussian. They don't count for the gain
        over a holdout, for metrics, checks, evaluations and exports, and while there are
        aggregates, anytime-valid intervals are not available.

        Args:
            arm: The arm.
            period: When its rewards were earned: a date, or a start and an end, separated by a
                slash. An end that is a date includes that day, and times are UTC. A period that is
                in several blocks of time counts in the first one.
            n: How many rewards there are, those of 0 included.
            mean: Their mean.
            sd: Their standard deviation, with the divisor n - 1.
            correct: Whether to replace other numbers of the same arm and period. The statistics
                come out exactly as if these had been the first.
            by: The name of the person who records it.
            why: The reason.

        Returns:
            True if it is new, False if it was recorded before with the same numbers.

        Raises:
            UnknownArm: The experiment doesn't have that arm.
            RewardConflict: The arm has other numbers in this period, or another aggregate in a
                period that overlaps it.
            InvalidReward: The period is in the future, or the mean isn't within the option `clip`.
            Refused: The experiment has a half-life, features or rules 1, adjusts for covariates, or
                has a policy that draws random numbers from rewards, as Bernoulli-TS does.

        >>> import varts
        >>> exp = varts.open("mail", ["short", "long"], store="memory://")
        >>> exp.reward_aggregate("short", "2025-11-19", 1200, mean=0.21, sd=0.41)
        True
        >>> exp.reward_aggregate("short", "2025-11-19", 1200, mean=0.21, sd=0.41)
        False
        >>> exp.reward_aggregate("short", "2025-11-19", 1205, mean=0.22, sd=0.41)
        Traceback (most recent call last):
        ...
        varts.live.errors.RewardConflict: aggregate of arm 'short' in 2025-11-19 has n 1200, \
mean 0.21, sd 0.41, got n 1205, mean 0.22, sd 0.41; send it as a correction to change it
        """
        rows = [(arm, period, n, mean, sd)]
        return self.reward_aggregates(rows, correct=correct, by=by, why=why)[0]

    def reward_aggregates(
        self,
        rows: AggregateRows,
        *,
        correct: bool = False,
        by: str | None = None,
        why: str | None = None,
    ) -> list[bool]:
        """Record several aggregates in one transaction; if one is refused, none is recorded.

        Args:
            rows: Tuples (arm, period, n, mean, sd), as for `reward_aggregate`.
            correct: Whether to replace other numbers of the same arms and periods.
            by: The name of the person who records them.
            why: The reason.
        """
        items = [Given(*check_aggregate(row)) for row in check_list("aggregates", rows)]
        correct, note = check_flag("correct", correct), check_note(by, why)
        if not items:
            return []
        self._settle_some(len(items))
        return record_aggregates(self._session, items, correct, note)

    def reward_aggregates_each(
        self,
        rows: AggregateRows,
        *,
        correct: bool = False,
        by: str | None = None,
        why: str | None = None,
    ) -> list[bool | Exception]:
        """Record several aggregates in one transaction; a refused one doesn't affect the others.

        Args:
            rows: Tuples (arm, period, n, mean, sd), as for `reward_aggregate`.
            correct: Whether to replace other numbers of the same arms and periods.
            by: The name of the person who records them.
            why: The reason.

        Returns:
            For each of them True if it is new, False if it was recorded before, or the error that
            `reward_aggregate` would have raised.
        """
        correct, note = check_flag("correct", correct), check_note(by, why)
        items, outcomes = check_each(
            check_list("aggregates", rows), lambda row: Given(*check_aggregate(row))
        )
        if not items:
            return outcomes([])
        self._settle_some(len(items))
        return outcomes(record_each_aggregate(self._session, items, correct, note))

    def void_aggregate(
        self, arm: str, period: str | date, *, by: str | None = None, why: str | None = None
    ) -> bool:
        """Remove the aggregate of an arm in a period, as if it had never been recorded.

        `reward_aggregate` with `correct=True` gives the arm numbers in this period again.

        Args:
            arm: The arm.
            period: The period as you gave it to `reward_aggregate`.
            by: The name of the person who removes it.
            why: The reason.

        Returns:
            True if there was an aggregate, False if it was voided before.

        Raises:
            Refused: The arm never had an aggregate in this period.
        """
        item = Given(check_text("arm", arm), check_period(period), VOIDED)
        return record_aggregates(self._session, [item], True, check_note(by, why))[0]

    def _record(
        self, items: list[Reward] | list[Correction], note: Mapping[str, str] | None = None
    ) -> list[bool]:
        if not items:
            return []
        self._settle_some(len(items))
        return record(self._session, items, note)

    def _settle_some(self, beside: int) -> None:
        if self.state.config.options.window is not None:
            settle_some(self._session, beside)

    # ------------------------------------------------------------------ what is known

    def report(self, level: float = CONFIDENCE, settle: bool = True) -> Report:
        """Report which arm is best, how sure that is, and whether the stop rule is met.

        Args:
            level: The probability of the credible intervals.
            settle: Whether to first settle decisions whose window has closed, which writes.
                Otherwise they count as pending.
        """
        if settle:
            settle_all(self._session)
        state, traffic, missed, closes = self._counts()
        if missed and settle:
            settle_all(self._session, again=True)
            state, traffic, _, closes = self._counts()
        contextual = state.config.options.contextual
        found = self._settled_contexts(MOST_CONTEXTS) if contextual else []
        contexts, rewards = [one for one, _, _ in found], [(arm, value) for _, arm, value in found]
        return report_of(self.name, state, traffic, level, contexts, rewards, closes)

    def split(self, settle: bool = True) -> dict[str, float]:
        """Return the share of the traffic that each arm should get until the next split.

        Use it for tools that only accept a traffic split. The shares add up to 1. A holdout is
        part of them: its share is split evenly among the arms in play. Paused arms get 0, and so do
        all arms but the winner once there is one.

        Args:
            settle: As for `report`.

        Raises:
            Refused: Arms are chosen by features, so there is no split for everybody.
            ExperimentStopped: The experiment was stopped without a winner.

        >>> import varts
        >>> exp = varts.open("mail", ["short", "long"], store="memory://")
        >>> exp.split()
        {'short': 0.5, 'long': 0.5}
        """
        if settle:
            settle_all(self._session)
        with self._session.reading() as transaction:
            state, _ = self._session.catch_up(transaction)
        shares = split_traffic(self.name, self._session.allocation(state))
        return dict(zip(state.config.arms, shares.tolist(), strict=True))

    def decision(self, id: str) -> DecisionRecord:
        """Look up one decision, with its reward as it is now.

        Args:
            id: The decision's id.

        Raises:
            UnknownDecision: It was never made.
        """
        with self._session.reading() as transaction:
            state, _ = self._session.catch_up(transaction)
            return find_decision(transaction, check_text("id", id), state.config.arms)

    def contexts(self, limit: int = MOST_CONTEXTS) -> list[dict[str, float | str]]:
        """Return contexts of settled decisions, evenly spaced over the log.

        Reads no more of the log than it returns. Forgotten contexts are left out.

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
        return [context for context, _, _ in self._settled_contexts(limit)]

    def _settled_contexts(self, limit: int) -> list[tuple[dict[str, Any], int, float | None]]:
        with self._session.reading() as transaction:
            state, _ = self._session.catch_up(transaction)
            return transaction.contexts(state.version, limit)

    def changes(self, after: int = 0, limit: int = 1000) -> list[ChangeRecord]:
        """List the changes of the experiment, by whom and why, oldest first.

        Args:
            after: The version of the last change that you know.
            limit: How many at most.
        """
        after = integer("after", after, 0, LARGEST_VERSION)
        limit = integer("limit", limit, 1, LARGEST_VERSION)
        with self._session.reading() as transaction:
            self._session.catch_up(transaction)
            return read_changes(transaction.changes(after, limit))

    def history(
        self,
        points: int | None = None,
        *,
        every_rewards: int | None = None,
        every: Duration | None = None,
        level: float = CONFIDENCE,
        settle: bool = True,
    ) -> History:
        """Show how the experiment developed: what was known and done at checkpoints.

        Reads the whole log, page by page. The last checkpoint is the present.

        Args:
            points: How many checkpoints, evenly spaced by rewards; 50 by default.
            every_rewards: Or how many rewards lie between two checkpoints.
            every: Or how much time: seconds, a `timedelta`, or "30m", "1h", "1d" for full hours or
                midnight UTC.
            level: The probability of the credible intervals.
            settle: As for `report`.
        """
        spacing = check_spacing(points, every_rewards, every)
        state, _, log, _ = self._whole_log(settle)
        contextual = state.config.options.contextual
        contexts = self.contexts(CONTEXTS_PER_CHECKPOINT) if contextual else ()
        return history(self.name, log, state, self._session.seed, spacing, level, contexts)

    def check(self, settle: bool = True, progress: bool | Progress | None = False) -> Checks:
        """Check the rewards and decisions: do they fit the model, and are they all there?

        Reads the whole log, page by page.

        Args:
            settle: As for `report`.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Returns:
            A finding per check: `print` them.
        """
        state, traffic, log, now = self._whole_log(settle)
        with show_progress(progress) as shown:
            shown.stage("checking decisions", sum(traffic.decided.values()))
            return check(self.name, log, state, now, shown)

    def reward_by_age(self, settle: bool = True) -> pl.DataFrame:
        """Show how old decisions are when their rewards arrive.

        Use it to choose the window: a shorter one learns faster and captures less of the reward.
        Reads all rewards that arrived, page by page.

        Args:
            settle: As for `report`.

        Returns:
            Columns `age` in seconds, `reward` that had arrived by that age, and its `share` of what
            arrived within the window, from decisions whose window has closed.

        Raises:
            LiveError: The experiment has no window.
        """
        state, _, log, _ = self._whole_log(settle)
        return reward_by_age(self.name, log, state.config.options)

    def evaluate(
        self,
        policy: Target,
        against: Target | None = None,
        level: float = CONFIDENCE,
        settle: bool = True,
    ) -> Evaluation:
        """Estimate what another way of deciding would have earned per decision.

        Reads the whole log, page by page.

        Args:
            policy: `always("12")`, shares of the arms such as `{"9": 0.2, "12": 0.8}`,
                `EvenSplit()` or `with_floor(0.05)`; the last one takes as long as
                `verify(replay=True)`.
            against: What to compare with; by default the rewards that were collected.
            level: The probability of the intervals.
            settle: As for `report`.
        """
        state, _, log, _ = self._whole_log(settle)
        return evaluate(self.name, log, self._session.seed, state, policy, against, level)

    def settle(self) -> None:
        """Settle all decisions whose window has closed.

        `decide` and `reward` do this little by little. This also finds decisions that were stamped
        with an earlier time than the last ones settled.
        """
        settle_all(self._session)
        if self.options.window is not None and self._counts()[2]:
            settle_all(self._session, again=True)

    def export(
        self,
        path: str | Path,
        after: str | None = None,
        limit: int | None = None,
        progress: bool | Progress | None = False,
    ) -> int:
        """Write the log to a file, a row per decision with its reward.

        Rewards that came as aggregates have no decisions, so they aren't in the file.

        Args:
            path: A file that ends in .parquet, .csv or .ndjson.
            after: The id of a decision: only later ones are written, by time.
            limit: How many at most, the first ones; all by default.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Returns:
            The number of rows.

        Raises:
            UnknownDecision: No decision has the id `after`.
        """
        limit = None if limit is None else integer("limit", limit, 1)
        start = -1, -1
        with self._session.reading(still=True) as transaction:
            state, _ = self._session.reload(transaction)
            decided = sum(self._traffic(transaction, state).decided.values())
            log = self._session.log(transaction)
            if after is not None:
                start = find_place(transaction, check_text("after", after))
        with show_progress(progress) as shown:
            shown.stage(f"writing {path}", min(decided, limit or decided))
            return export_decisions(log, state.config, Path(path), shown, start, limit)

    def verify(
        self, replay: bool = False, repair: bool = False, progress: bool | Progress | None = False
    ) -> Verification:
        """Compute the statistics again from the log and compare.

        Args:
            replay: Also make every decision again.
            repair: Restore the caches from the log if they differ; an event in the log says how.
                Decisions from before a repair are not made again: the statistics that they were
                made from may have been wrong.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Raises:
            StoreError: There is something to repair, but the log itself is damaged.
        """
        repaired = repair_caches(self.name, self.store) if repair else []
        with show_progress(progress) as shown:
            found = verify_experiment(self._session, self._session.seed, replay, shown)
        found.repaired = repaired
        return found

    def _whole_log(self, settle: bool) -> tuple[State, Traffic, Log, int]:
        """The state, the traffic, the log and the time of one moment."""
        if settle:
            settle_all(self._session)
        with self._session.reading(still=True) as transaction:
            state, head = self._session.reload(transaction)
            traffic = self._traffic(transaction, state)
            return state, traffic, self._session.log(transaction), head.time

    def _counts(self) -> tuple[State, Traffic, bool, int | None]:
        """The state, the traffic, whether decisions were missed when others were settled, and when
        the next window closes."""
        with self._session.reading() as transaction:
            state, head = self._session.catch_up(transaction)
            traffic = self._traffic(transaction, state)
            pending = sum(traffic.decided.values()) - sum(traffic.settled.values())
            missed = some_were_missed(transaction, state.config.options, head.time, pending)
            closes = next_close(transaction, state.config.options, head.swept) if pending else None
            return state, traffic, missed, closes

    def _traffic(self, transaction: Transaction, state: State) -> Traffic:
        counts, K = transaction.traffic(), len(state.config.arms)
        for arm in counts.decided:
            if not 0 <= arm < K:
                raise StoreError(
                    f"experiment {self.name!r} in store {self.store.name} has {K} arms but "
                    f"decisions for arm number {arm}; run verify to learn more"
                )
        return counts

    # ------------------------------------------------------------------ changes

    def add_arm(
        self,
        arm: str,
        prior: PriorLike | None = None,
        groups: Mapping[str, str] | None = None,
        paused: bool = False,
        **note: Unpack[Note],
    ) -> None:
        """Add an arm.

        Args:
            arm: Its name, a new one.
            prior: Its prior. Required if every arm has its own; otherwise it gets the shared one.
            groups: The group of the arm, for a prior that was fitted by group.
            paused: Whether it gets no traffic until `resume_arm`.
            note: `by`, `why` and `expected`, as for `stop`.
        """
        (name,) = check_new_arms([arm])
        given = stored_prior(match_priors({"prior": prior}, [name], groups).get("prior"))
        out_of_play = {"paused": True} if check_flag("paused", paused) else {}

        def added(config: Config) -> dict[str, Any]:
            if name in config.arms:
                raise ValueError(f"arm must be a new name, got {name!r}")
            return {"arm": name, "prior": given, **out_of_play}

        self._change(ADD_ARM, added, **note)

    def pause_arm(self, arm: str, **note: Unpack[Note]) -> None:
        """Take an arm out of play. Rewards of its decisions still count.

        Args:
            arm: Its name.
            note: `by`, `why` and `expected`, as for `stop`.
        """
        self._change(PAUSE, lambda config: {"arm": known_arm(config, arm)}, **note)

    def resume_arm(self, arm: str, **note: Unpack[Note]) -> None:
        """Bring a paused arm back into play.

        Args:
            arm: Its name.
            note: `by`, `why` and `expected`, as for `stop`.
        """
        self._change(RESUME, lambda config: {"arm": known_arm(config, arm)}, **note)

    def stop(self, winner: str | None = None, **note: Unpack[Note]) -> None:
        """End the experiment; `restart` continues it.

        Args:
            winner: The arm that everybody gets from now on. Without one, `decide` refuses.
            note: `by`, the person's name; `why`, the reason; `expected`, the `revision` or `tag`
                that you saw: if somebody has changed the configuration since, nothing is done.

        Raises:
            Changed: The configuration is not the expected one.
            Refused: No winner is given, and the experiment already has one.
        """

        def stopped(config: Config) -> dict[str, Any]:
            if winner is not None:
                return {"winner": known_arm(config, winner)}
            if config.winner is not None:
                raise Refused(
                    f"winner must be given: everybody gets {config.arms[config.winner]!r} now and "
                    "would get nothing; restart the experiment to continue it"
                )
            return {"winner": None}

        self._change(STOP, stopped, **note)

    def restart(self, **note: Unpack[Note]) -> None:
        """Continue an experiment that was stopped. It still knows what it has learned.

        Args:
            note: `by`, `why` and `expected`, as for `stop`.
        """
        self._change(RESTART, lambda config: {}, **note)

    def configure(
        self,
        *,
        groups: Mapping[str, str] | None = None,
        recount: bool = False,
        by: str | None = None,
        why: str | None = None,
        expected: int | str | None = None,
        **options: Unpack[GivenOptions],
    ) -> None:
        """Change options from here on; a new epoch begins.

        Rewards that were counted stay as they are: a new `clip` applies to those to come.

        Args:
            groups: The group of each arm, for a prior that was fitted by group.
            recount: Also count all earlier rewards by the new `clip`; the log gets an amendment for
                each one that changes.
            by: The name of the person who makes the change.
            why: The reason.
            expected: As for `stop`.
            options: Options of `varts.live.Options`; those that you leave out stay as they are.
        """

        def changed(config: Config) -> dict[str, Any]:
            given = match_priors(options, config.arms, groups)
            return {"options": config.options.reconfigured(given).stored()}

        self._change(CONFIGURE, changed, by, why, expected, recounted=recount)

    def _change(
        self,
        kind: str,
        body_for: Callable[[Config], dict[str, Any]],
        by: str | None = None,
        why: str | None = None,
        expected: int | str | None = None,
        recounted: bool = False,
    ) -> None:
        """Append an event of this kind, unless it would change nothing."""
        note = check_note(by, why)
        if isinstance(expected, str):
            expected = check_text("expected", expected)
        elif expected is not None:
            expected = integer("expected", expected, 0)
        settle_all(self._session)  # by the options that the decisions were made under
        with self._session.changing() as write:
            before = write.state.config
            now = write.state.tag if isinstance(expected, str) else write.state.revision
            if expected not in (None, now):
                raise changed_since(self.name, expected, now)
            body = body_for(before)
            after = before.changed(kind, body)
            if after != before:
                after.check(before)
                check_change(self.name, write, after, recounted)
                if before.options.settles_at_close and not after.options.settles_at_close:
                    settle_waiting(self._session, write)
                write.apply(kind, body={**body, **note})
            if recounted:
                count_again(self._session, write, note)

    # ------------------------------------------------------------------ deleting data

    def forget_unit(
        self,
        unit: str,
        *,
        keep_numbers: bool = False,
        by: str | None = None,
        why: str | None = None,
    ) -> int:
        """Remove the name of a unit and its contexts from the log; its rewards are kept.

        A random name takes its place in every decision, so the decisions can't be traced to the
        unit any more. (Ids of your own stay as they are: don't put anything personal into them.) A
        sticky experiment treats the unit as a new one from now on.

        In an experiment with features, its rewards no longer count for the effects of features. The
        statistics are computed again without them, and `verify` doesn't make earlier decisions
        again.

        Args:
            unit: The unit as you gave it to `decide`.
            keep_numbers: Whether to keep the numbers that its contexts were encoded as, with its
                rewards. Then nothing is unlearned, and only its own decisions are not made again.
            by: The name of the person who asks for it.
            why: The reason.

        Returns:
            The number of its decisions.
        """
        keep = check_flag("keep_numbers", keep_numbers)
        return forget(self._session, check_text("unit", unit), check_note(by, why), keep)

    def delete(self, confirm: str, *, export: str | Path | None) -> int:
        """Delete the experiment with its whole log.

        Args:
            confirm: The experiment's name once more.
            export: The file to write the log to first, as by `export`; None deletes it for good.

        Returns:
            How many decisions it had.

        Raises:
            Changed: The experiment was used while its log was written: stop it first.
        """
        check_confirmation(self.name, confirm)
        if export is None:
            return delete(self._session, None)
        state, _, log, _ = self._whole_log(settle=False)
        export_decisions(log, state.config, Path(export), Progress())
        return delete(self._session, log)


def changed_since(name: str, expected: int | str | None, now: int | str) -> Changed:
    """The error when somebody else changed the configuration first."""
    return Changed(
        f"somebody else has changed experiment {name!r}: it is at revision {now}, got {expected}"
    )


def check_confirmation(name: str, confirm: str) -> None:
    """Refuse to delete an experiment unless its name was given once more."""
    if confirm != name:
        raise ValueError(f"confirm must be the experiment's name, {name!r}, got {confirm!r}")


def known_arm(config: Config, arm: str) -> str:
    """Return an arm of the experiment; raises UnknownArm for any other."""
    return config.arms[config.index(arm)]


# ------------------------------------------------------------------------------ opening


def open_experiment(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str | Store = "sqlite:///varts.db",
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    **options: Unpack[GivenOptions],
) -> Experiment:
    """Create an experiment, or open the one of that name.

    An existing experiment keeps its arms, seed and options. Those that you give must agree.

    Args:
        name: The experiment's name.
        arms: The arms' names; required to create it.
        store: The database, as a URL (sqlite:///file, postgresql://user@host/name, memory://).
        seed: For tests that repeat an experiment. A person who knows the seed knows which arm an id
            will get.
        groups: The group of each arm, for a prior that was fitted by group.
        options: Options of `varts.live.Options`: goal, policy, prior, floor, holdout, sticky, clip,
            window, skew, missing, half_life, stop_p_best, stop_loss, stop_error, hash_units,
            client_ids, metrics, guards, features, missing_metrics, block, adjust, control, rules,
            owner, hypothesis.

    Raises:
        UnknownExperiment: No experiment has that name, and there are no arms to create it with.
        StoreError: The database can't be used.
        Differs: The experiment exists with other arms, options or another seed.
        ImportError: The store is on PostgreSQL, and psycopg is not installed.

    >>> exp = open_experiment("price", arms=["9", "12"], store="memory://")
    >>> decision = exp.decide(unit="user-42")
    >>> exp.reward(decision.id, 11.70), exp.reward(decision.id, 11.70)
    (True, False)
    """
    if not check_text("name", name).strip():
        raise ValueError(f"name must be text that is not blank, got {name!r}")
    place = open_store(store)
    try:
        experiment = Experiment(name, place)
    except UnknownExperiment:
        if arms is None:
            raise UnknownExperiment(
                f"unknown experiment {name!r} in store {place.name}; give its arms to create it"
            ) from None
        names = check_new_arms(arms)
        made = Options.made(**match_priors(options, names, groups))
        config = Config(tuple(names), made, initial=len(names), public_holdout=True)
        config.check()
        own = secrets.randbits(63) if seed is None else seed_for(name, seed)
        created = place.create(name, own, config.to_json())
        experiment = Experiment(name, place)
        if created:
            return experiment
    check_agreement(name, experiment.state.config, arms, groups, options)
    if seed is not None and experiment._session.seed not in (seed, seed_for(name, seed)):
        raise Differs(f"seed must be that of the experiment {name!r}, got another")
    return experiment


def check_agreement(
    name: str,
    config: Config,
    arms: Sequence[str] | None,
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> None:
    """Refuse to open an experiment as something that it isn't.

    Args:
        name: The experiment's name.
        config: Its configuration.
        arms: The arms that the caller named, if any.
        groups: The group of each arm.
        options: The options that the caller gave.
    """
    names = config.arms if arms is None else tuple(check_arms(arms))
    if names != config.arms[: len(names)] or len(names) < config.initial:
        both = printable(f"{', '.join(config.arms)}, got {', '.join(names)}")
        raise Differs(f"arms must be those of the experiment {name!r}, {both}")
    check_options(name, config, names, groups, options)


def check_options(
    name: str,
    config: Config,
    arms: Sequence[str],
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> None:
    """Refuse options that differ from those of an experiment.

    Args:
        name: The experiment's name.
        config: Its configuration, which may have more arms.
        arms: The arms that the caller named.
        groups: The group of each arm.
        options: The options that the caller gave.
    """
    if not options:  # always allowed, even if this process doesn't know the policy
        return
    found = config.options.differences(match_priors(options, arms, groups), len(arms))
    for option, (stored, asked) in found.items():
        raise Differs(
            f"{option} of the experiment {name!r} is {abbreviate(stored)}, "
            f"got {abbreviate(asked)}; change it with configure"
        )

"""The verbs of an experiment behind a service, without any I/O.

A verb is a generator: it yields requests, gets their responses and returns a result. So the
blocking and the asynchronous experiment have the same verbs. `deadline` is for the connection that
runs a verb; the verb itself doesn't use it.
"""

from __future__ import annotations

import functools
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import numpy as np

from varts._decoding import decode, decode_frame
from varts._intervals import CONFIDENCE
from varts._text import printable
from varts._validation import abbreviate, integer, real, refusal
from varts.checks import Checks
from varts.client.errors import (
    AGGREGATE_OUTCOMES,
    MalformedResponse,
    exposure_of,
    fallback_of,
    outcome_of,
)
from varts.client.transport import MOST_ITEMS, Conversation, Request, Response, batches, path_of
from varts.evaluation import Evaluation
from varts.evaluation.targets import WithFloor, check_target, describe_target
from varts.features import A_CONTEXT, NUMBER, Features
from varts.live.arguments import (
    AggregateRows,
    Duration,
    Rewards,
    check_aggregate,
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
    check_units,
    list_rewards,
    match_priors,
)
from varts.live.audit.export import check_suffix, log_schema, write_log
from varts.live.audit.history import History, check_spacing
from varts.live.audit.records import ChangeRecord, DecisionRecord
from varts.live.core.allocation import FALLBACK
from varts.live.core.local import LocalAllocation
from varts.live.core.state import Config, State
from varts.live.decide import Decision, new_ids
from varts.live.errors import Changed, StoreError
from varts.live.experiment import changed_since, check_confirmation, known_arm
from varts.live.local import ExposureResult, refused_exposure
from varts.live.options import GivenOptions, Options, check_flag, stored_prior
from varts.live.report.report import Report
from varts.live.settle import used_meanwhile
from varts.live.store.engine import process_clock
from varts.policies import EvenSplit
from varts.priors import PriorLike

if TYPE_CHECKING:
    import polars as pl

    from varts.evaluation.targets import Target

EVENTS_PER_PAGE = 100
LOOKS = 5  # at an experiment that others keep changing, before one of our own changes gives up
MOST_FALLBACKS = 10_000  # decisions and rewards that wait for the service
PAUSE_SECONDS = 5.0  # after sending waiting items failed
TIMES = ("time", "settled_time")  # columns of a log

T = TypeVar("T")
logger = logging.getLogger("varts.client")


class Note(TypedDict, total=False):
    """Why an experiment is changed, and based on which revision; see `Verbs.stop`."""

    by: None
    why: str | None
    expected: int | str | None
    deadline: Duration | None


class Verbs:
    """The verbs of one experiment, and what the client knows about it.

    Args:
        name: The name of the experiment.
        default: The arm of decisions that the service doesn't answer in time; None to raise an
            error instead.
    """

    def __init__(self, name: str, default: str | None = None) -> None:
        self.name, self.default = name, default
        self.state: State | None = None  # as of the last look
        self.etag: str | None = None  # of that state, if the service sent it
        self.is_stale = True  # whether there was a request since
        self.fallbacks = Fallbacks()

    @property
    def tag(self) -> str | None:
        """Names the configuration, if the service sent it: the ETag up to the dot. The version
        follows, which counts rewards, too."""
        return None if self.etag is None else self.etag.partition(".")[0]

    # ------------------------------------------------------------------ decisions

    def decide(
        self,
        unit: str | None = None,
        id: str | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        default: str | None = None,
        deadline: Duration | None = None,
    ) -> Conversation[Decision]:
        """Choose the arm for one unit.

        Args:
            unit: The unit to decide for, such as a user or a session; sticky experiments need it.
            id: An id of your own. The same id gets the same decision again. By default a new one.
            context: What you know about the unit, by the names of the option `features`. Required
                with features, refused without.
            default: The arm to return, with reason "fallback", if the service is unavailable or the
                deadline passes. Without one, that is an error.
            deadline: How long the whole call may take; by default 1 second.
        """
        own = None if id is None else [id]
        given = None if context is None else [context]
        return (yield from self.decide_many([unit], own, given, default=default))[0]

    def decide_many(
        self,
        units: int | Sequence[str | None] | None = None,
        ids: Iterable[str] | None = None,
        contexts: Sequence[Mapping[str, Any]] | None = None,
        *,
        default: str | None = None,
        deadline: Duration | None = None,
    ) -> Conversation[list[Decision]]:
        """Make several decisions, up to 1,000 of them in one request.

        If one is refused and this raises an error, others may have been made.

        Args:
            units: The units to decide for, or how many decisions to make without units; by default
                as many as there are ids or contexts.
            ids: One per unit; by default new ones.
            contexts: What you know about each unit, as for `decide`.
            default: The arm of the decisions that the service doesn't make in time, as for
                `decide`.
            deadline: How long the whole call may take; by default 10 seconds.
        """
        if contexts is not None:
            contexts = list(check_list("contexts", contexts))
        whom, own = check_units(units, ids, contexts)
        known = self._check_contexts(contexts, len(whom))
        default = self.default if default is None else check_text("default", default)
        yield from self._check_default(default)
        # The ids are made here, so that a request can be repeated if its response is lost.
        names = new_ids(process_clock(), len(whom)) if own is None else own
        made = {} if own is None else self.fallbacks.decisions(names)
        asked = [
            {"id": id, "unit": unit} | ({} if context is None else {"context": context})
            for id, unit, context in zip(names, whom, known, strict=True)
            if id not in made
        ]
        for batch in batches(asked):
            try:
                found = yield from self._post(
                    "decisions", {"decisions": batch}, _decisions_for(batch)
                )
            except StoreError as error:
                if default is None:
                    raise
                # Only the first of a row: there may be thousands in a second.
                level = logging.DEBUG if self.fallbacks else logging.WARNING
                logger.log(level, "experiment %r: %s: decisions get %r", self.name, error, default)
                break
            made.update(zip((one["id"] for one in batch), found, strict=True))
        if default is None:
            return [made[id] for id in names]
        version = 0 if self.state is None else self.state.version
        for id, unit in zip(names, whom, strict=True):
            if id not in made:
                made[id] = Decision(id, default, 1.0, version, FALLBACK)
                self.fallbacks.add(made[id], unit)
        return [made[id] for id in names]

    def _check_default(self, default: str | None) -> Conversation[None]:
        """Refuse a default that isn't an arm now, not only when the service is unavailable."""
        state = self.state
        if default is None or state is None or default in state.config.arms:
            return
        try:  # the arm may have been added since
            known_arm((yield from self.look()).config, default)
        except StoreError:
            return

    def record_fallbacks(
        self,
        items: Iterable[tuple[str, str, str | None]],
        *,
        deadline: Duration | None = None,
    ) -> Conversation[list[str | Exception]]:
        """Log decisions that were made without the service. They don't enter the statistics.

        Args:
            items: The id, the arm and the unit, which may be None, of each decision.
            deadline: How long the whole call may take; by default 10 seconds.

        Returns:
            For each of them "recorded", "duplicate" if it was there already, or an error.
        """
        sent, all_outcomes = check_each(check_list("fallbacks", items), _write_fallback)
        found: list[str | Exception] = []
        for batch in batches(sent):
            found += yield from self._post(
                "fallbacks", {"decisions": batch}, _results_for(batch, fallback_of)
            )
        return all_outcomes(found)

    def allocation(self, *, deadline: Duration | None = None) -> Conversation[LocalAllocation]:
        """Read the data for drawing arms in your process, without a request for each decision.

        Args:
            deadline: How long the whole call may take; by default 10 seconds.

        Raises:
            NotLocal: Clients can't draw the arms of this experiment.
            ExperimentStopped: The experiment was stopped without a winner.
        """
        return (yield from self._get("allocation", LocalAllocation.from_dict))

    def record_exposures(
        self,
        exposures: Iterable[Any],
        tickets: Iterable[str],
        client: str | None = None,
        *,
        deadline: Duration | None = None,
    ) -> Conversation[list[ExposureResult]]:
        """Log arms that a client drew from allocations, up to 1,000 of them in one request.

        Args:
            exposures: `varts.live.Exposure` objects, or mappings or tuples with the same fields: an
                id, the arm, the version of the allocation, the age of the decision in seconds, and
                optionally the unit and its context.
            tickets: The tickets of their allocations, each at least once.
            client: Any text that names the process that drew them; by default one is generated for
                this call.
            deadline: How long the whole call may take; by default 10 seconds.

        Returns:
            The outcome of each exposure, in the same order.
        """
        given = list(check_list("exposures", exposures))
        texts = [str(ticket) for ticket in check_list("tickets", tickets)]
        name = secrets.token_hex(16) if client is None else check_text("client", client)
        sent, all_outcomes = check_each(given, _write_exposure)
        found: list[ExposureResult] = []
        for batch in batches(sent, beside=sum(map(len, texts))):
            body = {"client": name, "tickets": texts, "exposures": batch}
            found += yield from self._post("exposures", body, _results_for(batch, exposure_of))
        return list(map(refused_exposure, given, all_outcomes(found)))

    def flush(self) -> Conversation[None]:
        """Send all decisions and rewards that wait for the service."""
        while self.fallbacks:
            yield from self._send_some()

    def _send_waiting(self) -> Conversation[None]:
        """After a request that succeeded, send some waiting items; if that fails, keep them."""
        if not self.fallbacks.may_send():
            return
        try:
            yield from self._send_some()
        except StoreError as error:
            self.fallbacks.pause()
            logger.info("experiment %r: decisions keep waiting: %s", self.name, error)
        finally:
            self.fallbacks.sent()

    def _send_some(self) -> Conversation[None]:
        """Record decisions that wait, as many as fit into a request, then send their rewards."""
        waiting = self.fallbacks
        batch = next(batches(waiting.unrecorded(MOST_ITEMS)), [])
        if batch:
            read = _results_for(batch, fallback_of)
            outcomes = yield from self._sent("fallbacks", {"decisions": batch}, len(batch), read)
            waiting.recorded(zip((one["id"] for one in batch), outcomes, strict=True))
        batch = next(batches(waiting.rewards(MOST_ITEMS)), [])
        if batch:
            read_rewards = _results_for(batch, outcome_of)
            answers = yield from self._sent("rewards", {"rewards": batch}, len(batch), read_rewards)
            waiting.rewarded(zip(batch, answers, strict=True))

    def _sent(
        self, what: str, body: Any, count: int, build: Callable[[Any], list[Any]]
    ) -> Conversation[list[Any]]:
        """Post waiting items. If the service refuses the whole request, it refuses every item."""
        response = yield Request(method="POST", path=path_of(self.name, what), body=body)
        try:
            return response.read(build)
        except StoreError:
            raise
        except Exception as refused:
            return [refused] * count

    def _check_contexts(self, contexts: list[Any] | None, count: int) -> Sequence[Any]:
        """Validate contexts. A token that may not read the experiment doesn't know its features;
        then the service validates them."""
        if self.state is not None:
            return check_contexts(self.name, self.state.config.features, contexts, count)
        given = [None] * count if contexts is None else contexts
        if len(given) != count:
            raise ValueError(f"contexts must be one per unit ({count}), got {len(given)}")
        return [None if one is None else plain_context(one) for one in given]

    # ------------------------------------------------------------------ rewards

    def reward(
        self, /, id: str, value: float, *, deadline: Duration | None = None, **metrics: float | None
    ) -> Conversation[bool]:
        """Record what a decision earned: True if applied, False if it was already there.

        It may also be there already because the response to a first try was lost.

        Args:
            id: The decision's id.
            value: Any finite number.
            deadline: How long the whole call may take; by default 10 seconds.
            metrics: Other measurements, by the names of the option `metrics`.

        Raises:
            UnknownDecision: It was never made, or its window has passed (ExpiredDecision).
            RewardConflict: It already has another reward; `amend` changes it.
            InvalidReward: The value isn't a finite number, or the policy can't use it.
        """
        return (yield from self.reward_many([(id, value, metrics)]))[0]

    def reward_many(
        self, rewards: Rewards, *, deadline: Duration | None = None
    ) -> Conversation[list[bool]]:
        """Record several rewards; applies all that are valid, then raises the first refusal.

        A database applies all of them or none. A service takes rewards of many clients together,
        and a mistake in one of them doesn't hold up the others. `reward_each` returns the outcome
        of each. A malformed reward is refused before anything is sent.

        Args:
            rewards: Decisions' ids with their rewards; where there are metrics, (id, reward,
                {metric: number}), and for a part, as of `add_reward`, (id, reward, metrics, key).
            deadline: How long the whole call may take; by default 10 seconds.
        """
        sent = [_write_reward(*check_part(pair)) for pair in list_rewards(rewards)]
        outcomes = yield from self._reward(sent)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return [outcome is True for outcome in outcomes]

    def reward_each(
        self, rewards: Rewards, *, deadline: Duration | None = None
    ) -> Conversation[list[bool | Exception]]:
        """Record several rewards; a refused one doesn't affect the others.

        Args:
            rewards: As for `reward_many`.
            deadline: How long the whole call may take; by default 10 seconds.

        Returns:
            For each of them True if it was applied, False if it was already there, or the error
            that `reward` would have raised.
        """
        sent, outcomes = check_each(
            list_rewards(rewards), lambda one: _write_reward(*check_part(one))
        )
        return outcomes((yield from self._reward(sent)))

    def _reward(self, sent: list[dict[str, Any]]) -> Conversation[list[bool | Exception]]:
        # Rewards of decisions that the service doesn't know yet wait with them.
        kept = [self.fallbacks.add_reward(one) for one in sent]
        rest = [one for one, new in zip(sent, kept, strict=True) if new is None]
        found: list[bool | Exception] = []
        for batch in batches(rest):
            found += yield from self._post(
                "rewards", {"rewards": batch}, _results_for(batch, outcome_of)
            )
        answers = iter(found)
        return [next(answers) if new is None else new for new in kept]

    def add_reward(
        self,
        /,
        id: str,
        value: float,
        key: str,
        *,
        deadline: Duration | None = None,
        **metrics: float | None,
    ) -> Conversation[bool]:
        """Add a part to what a decision earned: a second order, or a refund, which is negative.

        Every part counts once, by its key: True if it was applied, False if it was already there.

        Args:
            id: The decision's id.
            value: The amount to add to its reward.
            key: A key of your own for this part, such as the order's number.
            deadline: How long the whole call may take; by default 10 seconds.
            metrics: The amounts to add to its metrics.

        Raises:
            RewardConflict: This key has another part already, or the reward was voided.
        """
        part = (id, value, metrics, check_text("key", key))
        return (yield from self.reward_many([part]))[0]

    def amend(
        self,
        /,
        id: str,
        value: float,
        *,
        by: None = None,
        why: str | None = None,
        deadline: Duration | None = None,
        **metrics: float | None,
    ) -> Conversation[bool]:
        """Replace the reward of a decision.

        True if it was another one, False if it was the same.

        Args:
            id: The decision's id.
            value: The correct total reward.
            by: Leave it out: the log has the token's name.
            why: The reason.
            deadline: How long the whole call may take; by default 10 seconds.
            metrics: Metrics to change; the others stay as they are.

        Raises:
            UnknownDecision: It was never made, or has no reward to amend.
        """
        id, value, measured = check_pair((id, value, metrics))
        body = {"value": value, **check_why(by, why)}
        if measured:
            body["metrics"] = measured
        path = path_of(self.name, "decisions", id, "reward")
        return (yield from self._ask(Request(method="PATCH", path=path, body=body), _is_applied))

    def void(
        self,
        id: str,
        *,
        by: None = None,
        why: str | None = None,
        deadline: Duration | None = None,
    ) -> Conversation[bool]:
        """Take back the reward of a decision as if it had never been made: a test, a bot.

        True if it had one, False if it was already voided. `amend` gives it one again.

        Args:
            id: The decision's id.
            by: Leave it out: the log has the token's name.
            why: The reason.
            deadline: How long the whole call may take; by default 10 seconds.

        Raises:
            UnknownDecision: It was never made, or has no reward.
        """
        path = path_of(self.name, "decisions", check_text("id", id), "reward")
        request = Request(method="DELETE", path=path, query=check_why(by, why))
        return (yield from self._ask(request, _is_applied))

    def reward_aggregate(
        self,
        arm: str,
        period: str | date,
        n: int,
        mean: float,
        sd: float,
        *,
        correct: bool = False,
        by: None = None,
        why: str | None = None,
        deadline: Duration | None = None,
    ) -> Conversation[bool]:
        """Record rewards that you only know as an aggregate: True if it is new.

        See `varts.Experiment.reward_aggregate` for how they count.

        Args:
            arm: The arm.
            period: When its rewards were earned: a date, or a start and an end, separated by a
                slash.
            n: How many rewards there are, those of 0 included.
            mean: Their mean.
            sd: Their standard deviation, with the divisor n - 1.
            correct: Whether to replace other numbers of the same arm and period. The token needs
                the scope admin for that.
            by: Leave it out: the log has the token's name.
            why: The reason.
            deadline: How long the whole call may take; by default 10 seconds.

        Raises:
            UnknownArm: The experiment doesn't have that arm.
            RewardConflict: The arm has other numbers in this period, or in one that overlaps it.
            Refused: The experiment can't count aggregates.
        """
        rows = [(arm, period, n, mean, sd)]
        return (yield from self.reward_aggregates(rows, correct=correct, by=by, why=why))[0]

    def reward_aggregates(
        self,
        rows: AggregateRows,
        *,
        correct: bool = False,
        by: None = None,
        why: str | None = None,
        deadline: Duration | None = None,
    ) -> Conversation[list[bool]]:
        """Record several aggregates; applies all that are valid, then raises the first refusal.

        A malformed aggregate is refused before anything is sent.

        Args:
            rows: Tuples (arm, period, n, mean, sd), as for `reward_aggregate`.
            correct: Whether to replace other numbers of the same arms and periods.
            by: Leave it out: the log has the token's name.
            why: The reason.
            deadline: How long the whole call may take; by default 10 seconds.
        """
        sent = [_write_aggregate(row) for row in check_list("aggregates", rows)]
        outcomes = yield from self._aggregate(sent, correct, check_why(by, why))
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return [outcome is True for outcome in outcomes]

    def reward_aggregates_each(
        self,
        rows: AggregateRows,
        *,
        correct: bool = False,
        by: None = None,
        why: str | None = None,
        deadline: Duration | None = None,
    ) -> Conversation[list[bool | Exception]]:
        """Record several aggregates; a refused one doesn't affect the others.

        Args:
            rows: Tuples (arm, period, n, mean, sd), as for `reward_aggregate`.
            correct: Whether to replace other numbers of the same arms and periods.
            by: Leave it out: the log has the token's name.
            why: The reason.
            deadline: How long the whole call may take; by default 10 seconds.

        Returns:
            For each of them True if it is new, False if it was recorded before, or the error that
            `reward_aggregate` would have raised.
        """
        sent, outcomes = check_each(check_list("aggregates", rows), _write_aggregate)
        return outcomes((yield from self._aggregate(sent, correct, check_why(by, why))))

    def _aggregate(
        self, sent: list[dict[str, Any]], correct: bool, note: Mapping[str, str]
    ) -> Conversation[list[bool | Exception]]:
        method = "PUT" if check_flag("correct", correct) else "POST"
        refusals = functools.partial(outcome_of, refusals=AGGREGATE_OUTCOMES)
        found: list[bool | Exception] = []
        for batch in batches(sent):
            body = {"aggregates": batch, **note}
            request = Request(method=method, path=path_of(self.name, "aggregates"), body=body)
            read = _results_for(batch, refusals, ("arm", "period"))
            found += yield from self._ask(request, read)
        return found

    def void_aggregate(
        self,
        arm: str,
        period: str | date,
        *,
        by: None = None,
        why: str | None = None,
        deadline: Duration | None = None,
    ) -> Conversation[bool]:
        """Remove the aggregate of an arm in a period, as if it had never been recorded.

        True if there was one, False if it was voided before. `reward_aggregate` with `correct=True`
        gives the arm numbers in this period again.

        Args:
            arm: The arm.
            period: The period as you gave it to `reward_aggregate`.
            by: Leave it out: the log has the token's name.
            why: The reason.
            deadline: How long the whole call may take; by default 10 seconds.

        Raises:
            Refused: The arm never had an aggregate in this period.
        """
        place = {"arm": check_text("arm", arm), "period": str(check_period(period))}
        path, query = path_of(self.name, "aggregates"), {**place, **check_why(by, why)}
        return (yield from self._ask(Request(method="DELETE", path=path, query=query), _is_applied))

    # ------------------------------------------------------------------ questions

    def split(self, *, deadline: Duration | None = None) -> Conversation[dict[str, float]]:
        """Read the share of the traffic that each arm should get until the next split.

        Args:
            deadline: How long the whole call may take; by default 10 seconds.

        Raises:
            Refused: Arms are chosen by features, so there is no split for everybody.
            ExperimentStopped: The experiment was stopped without a winner.
        """
        return (yield from self._get("split", _read_shares))

    def look(self, *, deadline: Duration | None = None) -> Conversation[State]:
        """Read the configuration and how many rewards there are, without their statistics.

        Args:
            deadline: How long the whole call may take; by default 10 seconds.
        """
        request = Request(method="GET", path=path_of(self.name))
        return (yield from self._see(request))

    def _see(self, request: Request) -> Conversation[State]:
        """Send a request that is answered with the experiment, and remember it."""
        self.is_stale = True
        response = yield request
        state = response.read(read_experiment)
        self.state, self.is_stale = state, False
        self.etag = response.headers.get("etag", "").removeprefix("W/").strip('"') or None
        yield from self._send_waiting()
        return state

    def report(
        self, level: float = CONFIDENCE, *, deadline: Duration | None = None
    ) -> Conversation[Report]:
        """Report which arm is best, with which probability, and whether the stop rule is met.

        It changes nothing: the service itself settles decisions whose window has passed, every
        second. `report.state.statistics()` isn't available, because the service doesn't send the
        sums of the rewards.

        Args:
            level: The probability of the credible intervals.
            deadline: How long the whole call may take; by default 10 seconds.
        """
        level = real("level", level, above=0, below=1)
        made = yield from self._get("report", Report.from_dict, level=repr(level))
        self._remember(made.state)
        return made

    def history(
        self,
        points: int | None = None,
        *,
        every_rewards: int | None = None,
        every: Duration | None = None,
        level: float = CONFIDENCE,
        deadline: Duration | None = None,
    ) -> Conversation[History]:
        """Follow the experiment from its start: what its reports would have said.

        Args:
            points: How many checkpoints, evenly spaced by rewards; 50 by default.
            every_rewards: Or how many rewards between two checkpoints.
            every: Or how much time: seconds, a `timedelta`, or "30m", "1h", "1d" for full hours or
                midnight UTC.
            level: The probability of the credible intervals.
            deadline: How long the whole call may take; by default 10 seconds. A long log needs
                more.
        """
        spacing = check_spacing(points, every_rewards, every)
        level = real("level", level, above=0, below=1)
        size = f"{spacing.size / 1e6!r}s" if spacing.by_time else str(spacing.size)
        query = {spacing.name: size, "level": repr(level)}
        made = yield from self._get("history", History.from_dict, **query)
        self._remember(made.state)
        return made

    def _remember(self, state: State) -> None:
        """Keep a state that came with a report."""
        if self.state is None or state.revision != self.state.revision:
            self.etag = None
        self.state, self.is_stale = state, False

    def decision(
        self, id: str, *, deadline: Duration | None = None
    ) -> Conversation[DecisionRecord]:
        """Read one decision, with its reward as it is now; only administrators see its unit.

        Args:
            id: The decision's id.
            deadline: How long the whole call may take; by default 10 seconds.

        Raises:
            UnknownDecision: It was never made.
        """
        path = path_of(self.name, "decisions", check_text("id", id))
        request = Request(method="GET", path=path)
        return (yield from self._ask(request, _read_decision_record))

    def changes(
        self, after: int = 0, limit: int = 1000, *, deadline: Duration | None = None
    ) -> Conversation[list[ChangeRecord]]:
        """Read what was done to the experiment, by whom and why, oldest first.

        Args:
            after: The version of the last change that you know already.
            limit: How many at most.
            deadline: How long the whole call may take; by default 10 seconds.
        """
        after, limit = integer("after", after, 0), integer("limit", limit, 1)
        found: list[ChangeRecord] = []
        cursor: int | None = after
        while cursor is not None and len(found) < limit:
            page = min(limit - len(found), EVENTS_PER_PAGE)
            read = functools.partial(_read_page, after=cursor)
            records, cursor = yield from self._get(
                "events", read, after=str(cursor), limit=str(page)
            )
            found += records
        return found[:limit]

    def check(self, *, deadline: Duration | None = None) -> Conversation[Checks]:
        """Check rewards and decisions: do they suit the model, and is every one accounted for?

        Args:
            deadline: How long the whole call may take; by default 10 seconds. A long log needs
                more.

        Returns:
            A finding per check: `print` them.
        """
        return (yield from self._get("check", Checks.from_dict))

    def reward_by_age(self, *, deadline: Duration | None = None) -> Conversation[pl.DataFrame]:
        """Show how old decisions are when their rewards arrive, to choose the window.

        Args:
            deadline: How long the whole call may take; by default 10 seconds. A long log needs
                more.

        Returns:
            Columns `age` in seconds, `reward` that had arrived by that age, and its `share` of what
            arrived within the window, from decisions whose window has closed.
        """
        columns = dict.fromkeys(("age", "reward", "share"), "Float64")
        return (
            yield from self._get("reward-by-age", lambda body: decode_frame(body["ages"], columns))
        )

    def evaluate(
        self,
        policy: Target,
        against: Target | None = None,
        level: float = CONFIDENCE,
        *,
        deadline: Duration | None = None,
    ) -> Conversation[Evaluation]:
        """Estimate from the log what another policy would have earned per decision.

        Args:
            policy: `varts.always("arm")`, shares of the arms, `varts.EvenSplit()` or
                `varts.with_floor(0.05)`.
            against: What to compare it with: `varts.always("arm")`, or by default the decisions
                that were made.
            level: The confidence of the intervals.
            deadline: How long the whole call may take; by default 10 seconds. A long log needs
                more.
        """
        body = write_targets(policy, against) | {"level": real("level", level, above=0, below=1)}
        return (yield from self._post("evaluate", body, Evaluation.from_dict))

    def export(
        self,
        path: str | Path,
        after: str | None = None,
        limit: int | None = None,
        *,
        deadline: Duration | None = None,
    ) -> Conversation[int]:
        """Write the log to a file, a row per decision with its reward; returns the number of rows.

        Only administrators see units.

        Args:
            path: A file that ends in .parquet, .csv or .ndjson.
            after: The id of the last decision that you have already.
            limit: How many rows at most.
            deadline: How long the whole call may take; by default 10 seconds. A long log needs
                more.
        """
        file, query = Path(path), {}
        check_suffix(file)
        if after is not None:
            query["after"] = check_text("after", after)
        if limit is not None:
            query["limit"] = str(integer("limit", limit, at_least=1))
        state = yield from self.look()
        with TemporaryDirectory(prefix="varts-") as folder:
            lines = Path(folder) / "log.ndjson"
            log = path_of(self.name, "log")
            response = yield Request(method="GET", path=log, query=query, into=lines)
            response.checked()
            return convert_log(lines, file, state.config)

    # ------------------------------------------------------------------ changes

    def add_arm(
        self,
        arm: str,
        prior: PriorLike | None = None,
        groups: Mapping[str, str] | None = None,
        paused: bool = False,
        **note: Unpack[Note],
    ) -> Conversation[None]:
        """Add an arm.

        Args:
            arm: Its name, a new one.
            prior: Its prior. Required if every arm has its own; otherwise it gets the shared one.
            groups: The group of the arm, for a prior that was fitted by group.
            paused: Whether it gets no traffic until `resume_arm`.
            note: `why`, `expected` and `deadline`, as for `stop`.
        """
        (name,) = check_new_arms([arm])
        given = stored_prior(match_priors({"prior": prior}, [name], groups).get("prior"))
        out_of_play = {"paused": True} if check_flag("paused", paused) else {}

        def added(state: State) -> dict[str, Any]:
            if name in state.config.arms:
                raise ValueError(f"arm must be a new name, got {name!r}")
            return out_of_play if given is None else {"prior": given, **out_of_play}

        # Without the tag, the service would accept an arm that somebody else has just added.
        yield from self._change("PUT", ("arms", name), added, note, only_if_seen=True)

    def pause_arm(self, arm: str, **note: Unpack[Note]) -> Conversation[None]:
        """Take an arm out of play; rewards of its decisions still count.

        Args:
            arm: Its name.
            note: `why`, `expected` and `deadline`, as for `stop`.
        """
        yield from self._change("PUT", ("arms", arm), _paused(arm, True), note)

    def resume_arm(self, arm: str, **note: Unpack[Note]) -> Conversation[None]:
        """Bring a paused arm back.

        Args:
            arm: Its name.
            note: `why`, `expected` and `deadline`, as for `stop`.
        """
        yield from self._change("PUT", ("arms", arm), _paused(arm, False), note)

    def stop(self, winner: str | None = None, **note: Unpack[Note]) -> Conversation[None]:
        """End the experiment; `restart` continues it.

        Args:
            winner: The arm that everybody gets from now on; without one, `decide` refuses.
            note: `why`, the reason; `expected`, the `revision` or the `tag` that you saw: if
                somebody has changed the configuration since, nothing is done; `deadline`, how long
                the whole call may take, by default 10 seconds. Leave out `by`: the log has the
                token's name.

        Raises:
            Changed: The configuration isn't the expected one.
            ValueError: No winner is given, and the experiment already has one.
        """

        def stopped(state: State) -> dict[str, Any]:
            return {} if winner is None else {"winner": known_arm(state.config, winner)}

        yield from self._change("POST", ("stop",), stopped, note)

    def restart(self, **note: Unpack[Note]) -> Conversation[None]:
        """Continue an experiment that was stopped. It still knows what it has learned.

        Args:
            note: `why`, `expected` and `deadline`, as for `stop`.
        """
        yield from self._change("POST", ("restart",), lambda state: {}, note)

    def configure(
        self,
        *,
        groups: Mapping[str, str] | None = None,
        recount: bool = False,
        by: None = None,
        why: str | None = None,
        expected: int | str | None = None,
        deadline: Duration | None = None,
        **options: Unpack[GivenOptions],
    ) -> Conversation[None]:
        """Change options from here on; a new epoch begins.

        Rewards that were counted stay as they are: a new `clip` applies to those to come.

        Args:
            groups: The group of each arm, for a prior that was fitted by group.
            recount: Also count all earlier rewards by the new `clip`; the log gets an amendment for
                each one that changes.
            by: Leave it out: the log has the token's name.
            why: The reason.
            expected: As for `stop`.
            deadline: How long the whole call may take; by default 10 seconds.
            options: Options of `varts.live.Options`; those that you leave out stay as they are.
        """

        def changed(state: State) -> dict[str, Any]:
            given = match_priors(options, state.config.arms, groups)
            body = write_options(state.config.options.reconfigured(given), given)
            return {**body, "recount": True} if recount else body

        note: Note = {"by": by, "why": why, "expected": expected}
        yield from self._change("PATCH", (), changed, note)

    def forget_unit(
        self,
        unit: str,
        *,
        keep_numbers: bool = False,
        by: None = None,
        why: str | None = None,
        deadline: Duration | None = None,
    ) -> Conversation[int]:
        """Remove the name of a unit and its contexts from the log; its rewards are kept.

        In an experiment with features, its rewards no longer count for the effects of features.

        Args:
            unit: The unit as you gave it to `decide`.
            keep_numbers: Whether to keep the numbers that its contexts were encoded as, with its
                rewards. Then nothing is unlearned.
            by: Leave it out: the log has the token's name.
            why: The reason.
            deadline: How long the whole call may take; by default 10 seconds.

        Returns:
            The number of its decisions.
        """
        keep = check_flag("keep_numbers", keep_numbers)
        more = {"keep_numbers": True} if keep else {}
        body = {"unit": check_text("unit", unit), **check_why(by, why), **more}
        return (yield from self._post("forget", body, _count_decisions, repeatable=False))

    def delete(
        self, confirm: str, *, export: str | Path | None, deadline: Duration | None = None
    ) -> Conversation[int]:
        """Delete the experiment with its whole log.

        Args:
            confirm: The experiment's name once more.
            export: The file to write the log to first, as by `export`; None deletes it for good.
                Decisions that are made between the two are lost, so stop the experiment first.
            deadline: How long the whole call may take; by default 10 seconds.

        Returns:
            How many decisions it had.

        Raises:
            Changed: There were rewards or changes while its log was written.
        """
        check_confirmation(self.name, confirm)
        if export is not None:
            before = yield from self.look()
            yield from self.export(export)
            after = yield from self.look()
            if after.version != before.version:
                raise used_meanwhile(self.name)
        request = Request(
            method="DELETE",
            path=path_of(self.name),
            query={"confirm": self.name},
            repeatable=False,
        )
        return (yield from self._ask(request, _count_decisions))

    def _change(
        self,
        method: str,
        path: tuple[str, ...],
        body_for: Callable[[State], dict[str, Any]],
        note: Note,
        only_if_seen: bool = False,
    ) -> Conversation[None]:
        """Look, and change what was seen; if others change it in between, look again.

        A change that names what it expects can't be repeated if its response is lost: its own
        effect would refuse it.
        """
        reason, expected = check_why(note.get("by"), note.get("why")), note.get("expected")
        if isinstance(expected, str):
            check_text("expected", expected)
        elif expected is not None:
            integer("expected", expected, 0)
        for left in reversed(range(LOOKS)):
            state = yield from self.look()
            now = self.tag if isinstance(expected, str) else state.revision
            if expected not in (None, now):
                raise changed_since(self.name, expected, now or "unknown")
            strict = only_if_seen or expected is not None
            if strict and self.etag is None:
                raise MalformedResponse("the service didn't send the ETag of the experiment")
            body = {**body_for(state), **reason}
            request = Request(
                method=method,
                path=path_of(self.name, *path),
                body=body,
                headers={"If-Match": f'"{self.etag}"' if strict else "*"},
                repeatable=not strict,
            )
            try:
                yield from self._see(request)
                return
            except Changed:
                if not left:
                    raise

    # ------------------------------------------------------------------ requests

    def _get(self, what: str, build: Callable[[Any], T], **query: str) -> Conversation[T]:
        request = Request(method="GET", path=path_of(self.name, what), query=query)
        return (yield from self._ask(request, build))

    def _post(
        self, what: str, body: Any, build: Callable[[Any], T], repeatable: bool = True
    ) -> Conversation[T]:
        path = path_of(self.name, what)
        request = Request(method="POST", path=path, body=body, repeatable=repeatable)
        return (yield from self._ask(request, build))

    def _ask(self, request: Request, build: Callable[[Any], T]) -> Conversation[T]:
        """Send a request and return the value that `build` makes from its response."""
        self.is_stale = True
        response: Response = yield request
        made = response.read(build)
        yield from self._send_waiting()
        return made


class Fallbacks:
    """Decisions that the client made without the service, with their rewards, until it has them.

    Their number is bounded: the oldest are dropped. Threads may share it.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, _Fallback] = {}  # by id, oldest first
        self._size = 0  # decisions and rewards
        self._dropped = 0
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._paused_until = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, decision: Decision, unit: str | None) -> None:
        """Keep a decision until the service has it."""
        with self._lock:
            self._waiting[decision.id] = _Fallback(decision, unit)
            self._size += 1
            self._make_room()

    def add_reward(self, reward: dict[str, Any]) -> bool | None:
        """Keep the reward of a decision that waits.

        Returns:
            Whether it is new; None if no such decision waits, so that the service has to get it.
        """
        with self._lock:
            found = self._waiting.get(reward["id"])
            if found is None:
                return None
            if reward in found.rewards:
                return False
            found.rewards.append(reward)
            self._size += 1
            self._make_room()
            return True

    def _make_room(self) -> None:
        while self._size > MOST_FALLBACKS:
            self._remove(next(iter(self._waiting)))
            self._dropped += 1
            if self._dropped % 1000 == 1:
                logger.warning(
                    "more than %d decisions and rewards wait for the service; dropped the oldest, "
                    "%d decisions so far",
                    MOST_FALLBACKS,
                    self._dropped,
                )

    def _remove(self, id: str) -> None:
        gone = self._waiting.pop(id, None)
        self._size -= 0 if gone is None else 1 + len(gone.rewards)

    def decisions(self, ids: Iterable[str]) -> dict[str, Decision]:
        """Return the decisions that wait, of those with these ids."""
        with self._lock:
            return {id: self._waiting[id].decision for id in ids if id in self._waiting}

    def may_send(self) -> bool:
        """Whether it's time to send; then the caller must call `sent` afterwards."""
        if not self._waiting or time.monotonic() < self._paused_until:
            return False
        return self._sending.acquire(blocking=False)

    def sent(self) -> None:
        """Let the next one send."""
        self._sending.release()

    def pause(self) -> None:
        """Don't send for a while."""
        self._paused_until = time.monotonic() + PAUSE_SECONDS

    def unrecorded(self, most: int) -> list[dict[str, Any]]:
        """Return the oldest decisions that the service doesn't have, as it reads them."""
        with self._lock:
            new = [one for one in self._waiting.values() if not one.recorded][:most]
            return [
                {"id": one.decision.id, "arm": one.decision.arm, "unit": one.unit} for one in new
            ]

    def recorded(self, outcomes: Iterable[tuple[str, str | Exception]]) -> None:
        """Mark decisions that the service has; drop those that it refused."""
        with self._lock:
            for id, outcome in outcomes:
                found = self._waiting.get(id)
                if isinstance(outcome, Exception):
                    logger.warning("the service refused decision %r: %s", id, outcome)
                    self._remove(id)
                elif found is not None:
                    found.recorded = True
                    if not found.rewards:
                        self._remove(id)

    def rewards(self, most: int) -> list[dict[str, Any]]:
        """Return the oldest rewards of decisions that the service has."""
        with self._lock:
            ready = (one for one in self._waiting.values() if one.recorded)
            return [reward for one in ready for reward in one.rewards][:most]

    def rewarded(self, outcomes: Iterable[tuple[Mapping[str, Any], bool | Exception]]) -> None:
        """Drop rewards that the service has or has refused, and decisions without any left."""
        with self._lock:
            for reward, outcome in outcomes:
                if isinstance(outcome, Exception):
                    logger.warning(
                        "the service refused the reward of %r: %s", reward["id"], outcome
                    )
                found = self._waiting.get(reward["id"])
                if found is not None and reward in found.rewards:
                    found.rewards.remove(dict(reward))
                    self._size -= 1
                    if not found.rewards:
                        self._remove(reward["id"])


class _Fallback:
    """A decision that waits for the service."""

    def __init__(self, decision: Decision, unit: str | None) -> None:
        self.decision, self.unit = decision, unit
        self.rewards: list[dict[str, Any]] = []
        self.recorded = False


# ------------------------------------------------------------------------------ what is sent


def _write_reward(
    id: str, value: float, metrics: Mapping[str, float], key: str | None
) -> dict[str, Any]:
    """One reward of several, without the fields that it doesn't have."""
    beside = {"metrics": dict(metrics) or None, "key": key}
    return {"id": id, "value": value, **{k: v for k, v in beside.items() if v is not None}}


def _write_aggregate(row: Any) -> dict[str, Any]:
    """One aggregate of several."""
    arm, period, numbers = check_aggregate(row)
    return {"arm": arm, "period": str(period), **numbers._asdict()}


def _write_fallback(item: Any) -> dict[str, Any]:
    """One fallback of several."""
    return dict(zip(("id", "arm", "unit"), check_fallback(item), strict=True))


def _write_exposure(item: Any) -> dict[str, Any]:
    """One exposure of several, without the fields that it doesn't have."""
    names = ("id", "arm", "version", "age", "unit", "context")
    known = dict(zip(names, check_exposure(item), strict=True))
    if known["context"] is not None:
        known["context"] = plain_context(known["context"])
    return {name: value for name, value in known.items() if value is not None}


def write_options(options: Options, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options that were given, as the service reads them.

    >>> import varts
    >>> prior = varts.NormalGamma(0, 1, 2, 1)
    >>> write_options(Options.made(policy=varts.VarTS(prior)), {"policy": varts.VarTS(prior)})
    {'policy': {'label': 'VarTS'}, 'prior': {'mu': 0.0, 'kappa': 1.0, 'alpha': 2.0, 'beta': 1.0}}
    """
    stored = options.to_json()
    beside = ["prior"] if "policy" in given and stored["prior"] is not None else []
    return {name: stored[name] for name in dict.fromkeys([*given, *beside])}


def write_targets(policy: Target, against: Target | None) -> dict[str, Any]:
    """Return what to evaluate, and what to compare it with, as the service reads it.

    >>> import varts
    >>> write_targets(varts.with_floor(0.05), varts.always("12"))
    {'floor': 0.05, 'against': '12'}
    """
    check_target("policy", policy)
    if not isinstance(policy, (Mapping, WithFloor, EvenSplit)):
        raise ValueError(
            "policy must not depend on the context for an experiment behind a service, "
            f"got {describe_target(policy)}; export the log, and evaluate that"
        )
    body: dict[str, Any] = {"even": True}
    if isinstance(policy, Mapping):
        body = {"shares": {arm: float(share) for arm, share in policy.items()}}
    elif isinstance(policy, WithFloor):
        body = {"floor": policy.floor}
    if against is None:
        return body
    check_target("against", against)
    played = [*against.items()] if isinstance(against, Mapping) else []
    if len(played) != 1 or played[0][1] != 1:
        raise ValueError('against must be always("arm") for an experiment behind a service')
    return {**body, "against": played[0][0]}


def check_why(by: None, why: str | None) -> dict[str, str]:
    """Return the reason of a change or a correction, if there is one.

    >>> check_why(None, "finance asked for it")
    {'why': 'finance asked for it'}
    """
    if by is not None:
        raise ValueError(
            f"by must be left out, because the service logs the token's name, got {abbreviate(by)}"
        )
    return check_note(None, why)


def _paused(arm: str, paused: bool) -> Callable[[State], dict[str, Any]]:
    def body(state: State) -> dict[str, Any]:
        known_arm(state.config, arm)  # the service would add an unknown one
        return {"paused": paused}

    return body


def plain_context(context: Any) -> dict[str, Any]:
    """Return a context as plain values, without knowing the features; the service checks the rest.

    Args:
        context: A mapping from the names of features to values.

    >>> plain_context({"country": "NL", "visits": np.int64(3), "age": float("nan")})
    {'country': 'NL', 'visits': 3, 'age': None}
    """
    if not isinstance(context, Mapping):
        raise TypeError(refusal("context", A_CONTEXT, context))
    return {name: _plain(name, value) for name, value in context.items()}


def _plain(name: Any, value: Any) -> str | bool | int | float | None:
    if isinstance(value, str):
        return check_text(name, value) if value else value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return Features({name: NUMBER}, optional=[name]).check({name: value}).get(name)


# ------------------------------------------------------------------------------ what comes back


def read_experiment(body: Mapping[str, Any]) -> State:
    """Return the state of an experiment as the service shows it, without the sums."""
    arms = decode(list[dict[str, Any]], body["arms"], "arms")
    names = [arm["name"] for arm in arms]
    winner = body["winner"]
    config = {
        "arms": names,
        "options": body["options"],
        "initial": body["initial"],
        "epoch": body["epoch"],
        "paused": [at for at, arm in enumerate(arms) if arm["paused"]],
        "stopped": body["status"] == "stopped",
        "winner": None if winner is None else names.index(winner),
    }
    numbers = {name: body[name] for name in ("version", "rewards", "revision")}
    return State.from_dict({"config": config, **numbers})


def _decisions_for(asked: Sequence[Mapping[str, Any]]) -> Callable[[Any], list[Decision]]:
    """Return a function that reads the decisions of these requests."""

    def read(body: Any) -> list[Decision]:
        made: list[Decision] = decode(list[Decision], body["decisions"], "decisions")
        if [one.id for one in made] != [one["id"] for one in asked]:
            raise ValueError("decisions must be the ones that were asked for")
        return made

    return read


def _read_shares(body: Mapping[str, Any]) -> dict[str, float]:
    shares: dict[str, float] = decode(dict[str, float], body["shares"], "shares")
    return shares


def _results_for(
    asked: Sequence[Mapping[str, Any]],
    outcome: Callable[[Mapping[str, Any]], T],
    names: Sequence[str] = ("id",),
) -> Callable[[Any], list[T]]:
    """Return a function that reads the outcome of each of these items."""

    def read(body: Any) -> list[T]:
        results = decode(list[dict[str, Any]], body["results"], "results")
        if any([one[name] for one in results] != [one[name] for one in asked] for name in names):
            raise ValueError("results must be those of the items that were sent")
        return [outcome(one) for one in results]

    return read


def _is_applied(body: Mapping[str, Any]) -> bool:
    return decode(str, body["status"], "status") == "applied"  # type: ignore[no-any-return]


def _count_decisions(body: Mapping[str, Any]) -> int:
    count: int = decode(int, body["decisions"], "decisions")
    return count


def _read_decision_record(body: Mapping[str, Any]) -> DecisionRecord:
    """A decision, and what became of it; only administrators get the unit."""
    made: DecisionRecord = decode(DecisionRecord, {"unit": None, **body}, "decision")
    return made


def _read_page(body: Mapping[str, Any], after: int) -> tuple[list[ChangeRecord], int | None]:
    """A page of changes, and the version that the next one begins after."""
    records: list[ChangeRecord] = decode(list[ChangeRecord], body["events"], "events")
    cursor: int | None = decode(int | None, body["next"], "next")
    if cursor is not None and (cursor <= after or not records):
        raise ValueError(f"next must be above {after}, got {cursor}")
    return records, cursor


def convert_log(lines: Path, path: Path, config: Config) -> int:
    """Convert a log that was sent as lines of JSON; returns the number of its rows.

    Args:
        lines: The log.
        path: The file to write; its name says in which form.
        config: The configuration of the experiment.

    Raises:
        MalformedResponse: The lines aren't a log of this experiment.
    """
    import polars as pl

    kinds = None if config.features is None else config.features.kinds
    schema = log_schema(config.options.metrics, kinds)
    sent = {name: pl.String if name in TIMES else dtype for name, dtype in schema.items()}
    try:
        frames = (
            pl.scan_ndjson(lines, schema=sent) if lines.stat().st_size else pl.LazyFrame([], sent)
        )
        times = [pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC") for name in TIMES]
        write_log(frames.with_columns(times), path)
    except pl.exceptions.PolarsError as error:
        reason = printable(str(error)[:300])
        raise MalformedResponse(f"the log from the service can't be read: {reason}") from error
    with lines.open("rb") as file:
        return sum(1 for _ in file)

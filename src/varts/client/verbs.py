"""The verbs of an experiment behind a service, as conversations: no connection is needed here.

`RemoteExperiment` and `AsyncExperiment` have the same verbs, with the words of these docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from varts._intervals import CONFIDENCE
from varts._validation import abbreviate, integer, real, refusal
from varts.client.errors import outcome_of
from varts.client.frames import read_frame
from varts.client.reading import (
    SeenState,
    convert_log,
    read_change,
    read_checks,
    read_decision,
    read_decision_record,
    read_evaluation,
    read_history,
    read_report,
    read_state,
    read_time,
)
from varts.client.transport import Conversation, Request, batches, path_of
from varts.evaluation.targets import WithFloor, check_target, describe_target
from varts.features import A_CONTEXT, NUMBER, Features
from varts.live.arguments import (
    Rewards,
    check_contexts,
    check_each,
    check_list,
    check_new_arms,
    check_note,
    check_pair,
    check_part,
    check_text,
    check_units,
    list_rewards,
    match_priors,
)
from varts.live.audit.export import check_suffix
from varts.live.audit.history import History, check_spacing
from varts.live.audit.records import ChangeRecord, DecisionRecord
from varts.live.decide import Decision, new_ids
from varts.live.errors import Changed
from varts.live.experiment import changed_since, check_confirmation, known_arm
from varts.live.options import GivenOptions, Options, check_flag, stored_prior
from varts.live.report.report import Report
from varts.live.settle import used_meanwhile
from varts.live.store.engine import process_clock
from varts.policies import EvenSplit
from varts.priors import PriorLike

if TYPE_CHECKING:
    import polars as pl

    from varts.checks import Checks
    from varts.evaluation import Evaluation
    from varts.evaluation.targets import Target
EVENTS_PER_PAGE = 100
LOOKS = 5  # at an experiment that others keep changing, before one of our own changes gives up


class Note(TypedDict, total=False):
    """Why an experiment is changed, and based on which revision; see `Changes.stop`."""

    by: None
    why: str | None
    expected: int | None


class Verbs:
    """What can be asked of one experiment: decisions and rewards, questions and changes.

    Args:
        name: The experiment's.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: SeenState | None = None  # as of the last look
        self.created: datetime | None = None
        self.is_stale = True  # whether something was asked for since

    # ------------------------------------------------------------------ decisions

    def decide(
        self,
        unit: str | None = None,
        id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Conversation[Decision]:
        """Choose the arm for one unit.

        Args:
            unit: Who it is for (a user, a session); sticky experiments refuse to do without.
            id: One of your own; the same id gets the same decision again. Made by default.
            context: What is known of the unit, by the names of the option `features`: needed with
                features, refused without.
        """
        own = None if id is None else [id]
        made = yield from self.decide_many([unit], own, None if context is None else [context])
        return made[0]

    def decide_many(
        self,
        units: int | Sequence[str | None] | None = None,
        ids: Iterable[str] | None = None,
        contexts: Sequence[Mapping[str, Any]] | None = None,
    ) -> Conversation[list[Decision]]:
        """Make several decisions, up to 1,000 of them in one request.

        If one is refused, so that this raises, others may have been made.

        Args:
            units: Who they are for, or how many without a unit; by default as many as ids, or as
                contexts.
            ids: One per unit; made by default.
            contexts: What is known of each unit, as for `decide`.
        """
        if contexts is not None:
            contexts = list(check_list("contexts", contexts))
        whom, own = check_units(units, ids, contexts)
        known = self._check_contexts(contexts, len(whom))
        # Made here, so that a request whose answer is lost can be repeated.
        names = new_ids(process_clock(), len(whom)) if own is None else own
        asked = (
            {"id": id, "unit": unit} | ({} if context is None else {"context": context})
            for id, unit, context in zip(names, whom, known, strict=True)
        )
        made: list[Decision] = []
        for batch in batches(asked):
            body = yield from self._post("decisions", {"decisions": batch})
            made += map(read_decision, body["decisions"])
        return made

    def _check_contexts(self, contexts: list[Any] | None, count: int) -> Sequence[Any]:
        """Contexts as they are sent. Who may not read the experiment does not know its features:
        the service checks then."""
        if self.state is not None:
            return check_contexts(self.name, self.state.config.features, contexts, count)
        given = [None] * count if contexts is None else contexts
        if len(given) != count:
            raise ValueError(f"contexts must be one per unit ({count}), got {len(given)}")
        return [None if one is None else plain_context(one) for one in given]

    # ------------------------------------------------------------------ rewards

    def reward(self, /, id: str, value: float, **metrics: float | None) -> Conversation[bool]:
        """Record what a decision earned: True if applied, False if it was there already.

        It was there already, too, if the answer to a first try was lost.

        Args:
            id: The decision's.
            value: Any finite number.
            metrics: What else was measured of it, by the names of the option `metrics`.

        Raises:
            UnknownDecision: It was never made, or its window has passed (ExpiredDecision).
            RewardConflict: It has another reward already; `amend` changes it.
            InvalidReward: The value is not a finite number, or the policy cannot count it.
        """
        return (yield from self.reward_many([(id, value, metrics)]))[0]

    def reward_many(self, rewards: Rewards) -> Conversation[list[bool]]:
        """Record several rewards; all that can be are applied, then the first refusal is raised.

        A database applies all of them or none; a service takes rewards of many clients together,
        and none has to wait for the mistakes of others. `reward_each` tells what became of each.
        What is no reward at all is found before anything is sent.

        Args:
            rewards: Decisions' ids with their rewards; where there are metrics, (id, reward,
                {metric: number}), and for a part, as of `add_reward`, (id, reward, metrics, key).
        """
        sent = [_write_reward(*check_part(pair)) for pair in list_rewards(rewards)]
        outcomes = yield from self._reward(sent)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return [outcome is True for outcome in outcomes]

    def reward_each(self, rewards: Rewards) -> Conversation[list[bool | Exception]]:
        """Record several rewards; one that is refused keeps none from counting.

        Args:
            rewards: As for `reward_many`.

        Returns:
            For each of them True if it was applied, False if it was there already, or the error
            that `reward` would have raised.
        """
        sent, outcomes = check_each(
            list_rewards(rewards), lambda one: _write_reward(*check_part(one))
        )
        return outcomes((yield from self._reward(sent)))

    def _reward(self, sent: list[dict[str, Any]]) -> Conversation[list[bool | Exception]]:
        outcomes: list[bool | Exception] = []
        for batch in batches(sent):
            body = yield from self._post("rewards", {"rewards": batch})
            outcomes += map(outcome_of, body["results"])
        return outcomes

    def add_reward(
        self, /, id: str, value: float, key: str, **metrics: float | None
    ) -> Conversation[bool]:
        """Add a part to what a decision earned: a second order, or a refund, which is negative.

        Every part counts once, by its key: True if it was applied, False if it was there already.

        Args:
            id: The decision's.
            value: What is added to its reward.
            key: One of your own for this part, such as the order's number.
            metrics: What is added to its metrics.

        Raises:
            RewardConflict: The part of this key is another one, or the reward was voided.
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
        **metrics: float | None,
    ) -> Conversation[bool]:
        """Put another reward in the place of the one that a decision has.

        True if it was another one, False if it was the same.

        Args:
            id: The decision's.
            value: What it earned in all.
            by: Not to be given: the log says the token's name.
            why: For what reason.
            metrics: Metrics to change; the others stay as they are.

        Raises:
            UnknownDecision: It was never made, or has no reward that could be amended.
        """
        id, value, measured = check_pair((id, value, metrics))
        body = {"value": value, **check_why(by, why)}
        if measured:
            body["metrics"] = measured
        path = path_of(self.name, "decisions", id, "reward")
        answer = yield from self._ask(Request(method="PATCH", path=path, body=body))
        return bool(answer["status"] == "applied")

    def void(self, id: str, *, by: None = None, why: str | None = None) -> Conversation[bool]:
        """Take the reward of a decision back, as if it had never been made: a test, a bot.

        True if it had one, False if it was voided already. `amend` gives it one again.

        Args:
            id: The decision's.
            by: Not to be given: the log says the token's name.
            why: For what reason.

        Raises:
            UnknownDecision: It was never made, or has no reward.
        """
        path = path_of(self.name, "decisions", check_text("id", id), "reward")
        request = Request(method="DELETE", path=path, query=check_why(by, why))
        answer = yield from self._ask(request)
        return bool(answer["status"] == "applied")

    # ------------------------------------------------------------------ questions

    def look(self) -> Conversation[SeenState]:
        """See how the experiment is configured by now, and how far it is."""
        body = yield from self._ask(Request(method="GET", path=path_of(self.name)))
        return self.see(body)

    def see(self, body: Mapping[str, Any]) -> SeenState:
        """What was told of it is what is known.

        Args:
            body: An experiment as the service shows it.
        """
        self.state, self.created = read_state(body), read_time(body["created"])
        self.is_stale = False
        return self.state

    def report(self, level: float = CONFIDENCE) -> Conversation[Report]:
        """Tell which arm is best, how sure that is, and whether the stop rule is met.

        It is a question alone: decisions whose window has passed are settled by the service, every
        second. The moments behind the numbers (`report.state.statistics()`) are not told.

        Args:
            level: The probability of the credible intervals.
        """
        level = real("level", level, above=0, below=1)
        state = yield from self.look()
        body = yield from self._get("report", level=repr(level))
        state.version = body["version"]  # rewards may have come since the look
        self.is_stale = False
        return read_report(body, state)

    def history(
        self,
        points: int | None = None,
        *,
        every_rewards: int | None = None,
        every: float | str | None = None,
        level: float = CONFIDENCE,
    ) -> Conversation[History]:
        """Follow the experiment from its start: what its reports would have said.

        Args:
            points: How many checkpoints, evenly spaced by rewards; 50 by default.
            every_rewards: Or a checkpoint every so many rewards.
            every: Or one every so many seconds, or "30m", "1h", "1d": the full hour, midnight UTC.
            level: The probability of the credible intervals.
        """
        spacing = check_spacing(points, every_rewards, every)
        level = real("level", level, above=0, below=1)
        size = f"{spacing.size / 1e6!r}s" if spacing.by_time else str(spacing.size)
        state = yield from self.look()
        assert self.created is not None
        body = yield from self._get("history", **{spacing.name: size, "level": repr(level)})
        self.is_stale = False
        return read_history(self.name, body, state, self.created, spacing, level)

    def decision(self, id: str) -> Conversation[DecisionRecord]:
        """One decision, with its reward as it is now; its unit is told to administrators alone.

        Args:
            id: The decision's.

        Raises:
            UnknownDecision: It was never made.
        """
        path = path_of(self.name, "decisions", check_text("id", id))
        return read_decision_record((yield from self._ask(Request(method="GET", path=path))))

    def changes(self, after: int = 0, limit: int = 1000) -> Conversation[list[ChangeRecord]]:
        """What was done to the experiment, by whom and why, oldest first.

        Args:
            after: The version of the last change that is known already.
            limit: How many at most.
        """
        after, limit = integer("after", after, 0), integer("limit", limit, 1)
        found: list[ChangeRecord] = []
        cursor: Any = after
        while cursor is not None and len(found) < limit:
            page = min(limit - len(found), EVENTS_PER_PAGE)
            body = yield from self._get("events", after=str(cursor), limit=str(page))
            found += map(read_change, body["events"])
            cursor = body["next"]
        return found

    def check(self) -> Conversation[Checks]:
        """Check rewards and decisions: do they suit the model, and is every one accounted for?

        Returns:
            A finding per check: `print` them.
        """
        return read_checks((yield from self._get("check")))

    def reward_by_age(self) -> Conversation[pl.DataFrame]:
        """Show how old decisions are when their rewards arrive, to choose the window.

        Returns:
            Columns `age` in seconds, `reward` that had arrived by that age, and its `share` of what
            arrived within the window, from decisions whose window has closed.
        """
        return read_frame((yield from self._get("reward-by-age"))["ages"], {})

    def evaluate(
        self, policy: Target, against: Target | None = None, level: float = CONFIDENCE
    ) -> Conversation[Evaluation]:
        """Say what another way of deciding would have earned a decision, from the log.

        Args:
            policy: `varts.always("arm")`, shares of the arms, `varts.EvenSplit()` or
                `varts.with_floor(0.05)`.
            against: What to compare it with: `varts.always("arm")`, or by default what was decided.
            level: The probability of the intervals.
        """
        body = write_targets(policy, against) | {"level": real("level", level, above=0, below=1)}
        return read_evaluation((yield from self._post("evaluate", body)))

    def export(
        self, path: str | Path, after: str | None = None, limit: int | None = None
    ) -> Conversation[int]:
        """Write the log, a row per decision with its reward; returns the number of rows.

        Units are told to administrators alone.

        Args:
            path: A file that ends in .parquet, .csv or .ndjson.
            after: The id of the last decision that is known already.
            limit: How many rows at most.
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
            answer = yield Request(method="GET", path=log, query=query, into=lines)
            answer.checked()
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
            note: `why` and `expected`, as for `stop`.
        """
        (name,) = check_new_arms([arm])
        given = stored_prior(match_priors({"prior": prior}, [name], groups).get("prior"))
        out_of_play = {"paused": True} if check_flag("paused", paused) else {}

        def added(state: SeenState) -> dict[str, Any]:
            if name in state.config.arms:
                raise ValueError(f"arm must be a new one, got {name!r}")
            return out_of_play if given is None else {"prior": given, **out_of_play}

        # The service would take an arm that somebody else has just added for the same one.
        yield from self._change("PUT", ("arms", name), added, note, only_if_seen=True)

    def pause_arm(self, arm: str, **note: Unpack[Note]) -> Conversation[None]:
        """Take an arm out of play; rewards of its decisions still count.

        Args:
            arm: Its name.
            note: `why` and `expected`, as for `stop`.
        """
        yield from self._change("PUT", ("arms", arm), _paused(arm, True), note)

    def resume_arm(self, arm: str, **note: Unpack[Note]) -> Conversation[None]:
        """Bring a paused arm back.

        Args:
            arm: Its name.
            note: `why` and `expected`, as for `stop`.
        """
        yield from self._change("PUT", ("arms", arm), _paused(arm, False), note)

    def stop(self, winner: str | None = None, **note: Unpack[Note]) -> Conversation[None]:
        """End the experiment; `restart` goes on with it.

        Args:
            winner: The arm that everybody gets from now on; without one, `decide` refuses.
            note: `why`, for what reason; `expected`, the `revision` that it rests on: if somebody
                has changed the configuration since, nothing is done. `by` is the token's name, and
                not to be given.

        Raises:
            Changed: The configuration is not the expected one.
            ValueError: It has a winner already, whom nobody would get any more.
        """

        def stopped(state: SeenState) -> dict[str, Any]:
            return {} if winner is None else {"winner": known_arm(state.config, winner)}

        yield from self._change("POST", ("stop",), stopped, note)

    def restart(self, **note: Unpack[Note]) -> Conversation[None]:
        """Go on with an experiment that was stopped: what it has learnt is still there.

        Args:
            note: `why` and `expected`, as for `stop`.
        """
        yield from self._change("POST", ("restart",), lambda state: {}, note)

    def configure(
        self,
        *,
        groups: Mapping[str, str] | None = None,
        recount: bool = False,
        by: None = None,
        why: str | None = None,
        expected: int | None = None,
        **options: Unpack[GivenOptions],
    ) -> Conversation[None]:
        """Change options from here on; a new epoch begins.

        Rewards that were counted stay as they were: a new `clip` holds for those to come.

        Args:
            groups: The group of each arm, for a prior that was fitted by group.
            recount: Count all earlier rewards by the new `clip`, too; those that change are amended
                in the log.
            by: Not to be given: the log says the token's name.
            why: For what reason.
            expected: As for `stop`.
            options: Those of `varts.live.Options`; what is not given stays as it is.
        """

        def changed(state: SeenState) -> dict[str, Any]:
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
    ) -> Conversation[int]:
        """Take the name of a unit out of the log, and its contexts; its rewards are kept.

        In an experiment with features, its rewards no longer count for what features do.

        Args:
            unit: As it was given to `decide`.
            keep_numbers: Whether to keep the numbers that its contexts were made into, with its
                rewards: then nothing is unlearnt.
            by: Not to be given: the log says the token's name.
            why: For what reason.

        Returns:
            The number of its decisions.
        """
        keep = check_flag("keep_numbers", keep_numbers)
        more = {"keep_numbers": True} if keep else {}
        body = {"unit": check_text("unit", unit), **check_why(by, why), **more}
        answer = yield from self._post("forget", body, repeatable=False)
        return int(answer["decisions"])

    def delete(self, confirm: str, *, export: str | Path | None) -> Conversation[int]:
        """Delete the experiment with its whole log.

        Args:
            confirm: The experiment's name once more.
            export: The file that the log is written to first, as by `export`; None deletes it for
                good. Decisions that are made between the two are lost: stop the experiment before.

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
        return int((yield from self._ask(request))["decisions"])

    def _change(
        self,
        method: str,
        path: tuple[str, ...],
        body_for: Callable[[SeenState], dict[str, Any]],
        note: Note,
        only_if_seen: bool = False,
    ) -> Conversation[None]:
        """Look, and change what was seen; if others change it in between, look again.

        A change that names what it expects, and whose answer is lost, cannot be repeated: it would
        be refused for itself.
        """
        reason, expected = check_why(note.get("by"), note.get("why")), note.get("expected")
        for left in reversed(range(LOOKS)):
            state = yield from self.look()
            body = {**body_for(state), **reason}
            revision = state.revision if only_if_seen and expected is None else expected
            request = Request(
                method=method,
                path=path_of(self.name, *path),
                body=body,
                headers={"If-Match": "*" if revision is None else f'"r{revision}"'},
                repeatable=revision is None,
            )
            try:
                self.see((yield from self._ask(request)))
                return
            except Changed:
                if expected is not None:
                    seen = yield from self.look()
                    raise changed_since(self.name, expected, seen.revision) from None
                if not left:
                    raise

    # ------------------------------------------------------------------ how it is asked

    def _get(self, what: str, **query: str) -> Conversation[Any]:
        request = Request(method="GET", path=path_of(self.name, what), query=query)
        return (yield from self._ask(request))

    def _post(self, what: str, body: Any, repeatable: bool = True) -> Conversation[Any]:
        path = path_of(self.name, what)
        request = Request(method="POST", path=path, body=body, repeatable=repeatable)
        return (yield from self._ask(request))

    def _ask(self, request: Request) -> Conversation[Any]:
        self.is_stale = True
        answer = yield request
        return answer.json()


def check_why(by: None, why: str | None) -> dict[str, str]:
    """The reason of a change or a correction, if one is given.

    >>> check_why(None, "asked by finance")
    {'why': 'asked by finance'}
    """
    if by is not None:
        raise ValueError(
            f"by must be left out, since a service writes the token's name, got {abbreviate(by)}"
        )
    return check_note(None, why)


def write_targets(policy: Target, against: Target | None) -> dict[str, Any]:
    """What to evaluate, and what to compare it with.

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


def write_options(options: Options, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that were given, as a service reads them.

    >>> import varts
    >>> prior = varts.NormalGamma(0, 1, 2, 1)
    >>> write_options(Options.made(policy=varts.VarTS(prior)), {"policy": varts.VarTS(prior)})
    {'policy': {'label': 'VarTS'}, 'prior': {'mu': 0.0, 'kappa': 1.0, 'alpha': 2.0, 'beta': 1.0}}
    """
    stored = options.to_json()
    beside = ["prior"] if "policy" in given and stored["prior"] is not None else []
    return {name: stored[name] for name in dict.fromkeys([*given, *beside])}


def _paused(arm: str, paused: bool) -> Callable[[SeenState], dict[str, Any]]:
    def body(state: SeenState) -> dict[str, Any]:
        known_arm(state.config, arm)  # the service would add one that is not there
        return {"paused": paused}

    return body


def _write_reward(
    id: str, value: float, metrics: Mapping[str, float], key: str | None
) -> dict[str, Any]:
    """One reward of several; what is not there is left out."""
    beside = {"metrics": dict(metrics) or None, "key": key}
    return {"id": id, "value": value, **{k: v for k, v in beside.items() if v is not None}}


def plain_context(context: Any) -> dict[str, Any]:
    """A context as JSON has it, where features are not known: the service will check the rest.

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

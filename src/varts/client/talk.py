"""The verbs of an experiment behind a service, as conversations: no connection is needed here.

`RemoteExperiment` and `AsyncExperiment` have the same verbs, with the words of these docstrings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from varts.client.changes import Changes
from varts.client.context import plain_context
from varts.client.messages import Conversation, Request, batches, path_of
from varts.client.notes import check_why
from varts.client.problems import outcome_of
from varts.client.reading import read_decision
from varts.live.arguments import (
    Rewards,
    check_contexts,
    check_each,
    check_list,
    check_pair,
    check_part,
    check_text,
    check_units,
    list_rewards,
)
from varts.live.decide import Decision, new_ids
from varts.live.store.engine import process_clock


class Talk(Changes):
    """What can be asked of one experiment: decisions and rewards, questions and changes.

    Args:
        name: The experiment's.
    """

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


def _write_reward(
    id: str, value: float, metrics: Mapping[str, float], key: str | None
) -> dict[str, Any]:
    """One reward of several; what is not there is left out."""
    beside = {"metrics": dict(metrics) or None, "key": key}
    return {"id": id, "value": value, **{k: v for k, v in beside.items() if v is not None}}

"""A live experiment: decide, reward, report. What each of them does is in the other modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from varts.live.administration import Administration
from varts.live.assignment import Decision, decide
from varts.live.expiry import expire
from varts.live.rewards import Correction, Reward, record, record_each
from varts.live.validation import (
    Rewards,
    check_contexts,
    check_each,
    check_list,
    check_note,
    check_pair,
    check_part,
    check_text,
    check_units,
    list_rewards,
)


class Experiment(Administration):
    """A live experiment in a store; any number of them, in any process, may share it.

    `varts.open` makes it. Safe to use from several threads, and as a context manager that closes
    its store. Whatever changes the experiment or corrects it takes `by` and `why`, who did it and
    why, and the log keeps them.

    Args:
        name: That of an experiment in the store.
        store: The database.
    """

    # ------------------------------------------------------------------ decisions

    def decide(
        self,
        unit: str | None = None,
        id: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Choose the arm for one unit.

        Args:
            unit: Who it is for (a user, a session); sticky experiments refuse to do without.
            id: One of your own; the same id gets the same decision again. Made by default.
            context: What is known of the unit, by the names of the option `features`: needed with
                features, refused without.

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
        """Make several decisions in one transaction.

        Args:
            units: Who they are for, or how many without a unit; by default as many as ids, or as
                contexts.
            ids: One per unit; made by default.
            contexts: What is known of each unit, as for `decide`.
        """
        if contexts is not None:
            contexts = list(check_list("contexts", contexts))
        whom, own = check_units(units, ids, contexts)
        known = check_contexts(self.name, self.features, contexts, len(whom))
        if not whom:
            return []
        expire(self._snapshot, beside=len(whom))
        return decide(self._snapshot, whom, own, known)

    # ------------------------------------------------------------------ rewards

    def reward(self, id: str, value: float, **metrics: float | None) -> bool:
        """Record what a decision earned: True if applied, False if it was there already.

        Args:
            id: The decision's.
            value: Any finite number.
            metrics: What else was measured of it, by the names of the option `metrics`.

        Raises:
            UnknownDecision: It was never made, or its window has passed (ExpiredDecision).
            RewardConflict: It has another reward already; `amend` changes it.
            InvalidReward: The value is not a finite number, or the policy cannot count it.
        """
        return self.reward_many([(id, value, metrics)])[0]

    def reward_many(self, rewards: Rewards) -> list[bool]:
        """Record several rewards in one transaction; if one is refused, none is applied.

        Args:
            rewards: Decisions' ids with their rewards; where there are metrics, (id, reward,
                {metric: number}), and for a part, as of `add_reward`, (id, reward, metrics, key).
        """
        checked = [Reward(*check_part(pair)) for pair in list_rewards(rewards)]
        return self._record(checked)

    def reward_each(self, rewards: Rewards) -> list[bool | Exception]:
        """Record several rewards in one transaction; one that is refused keeps none from counting.

        Args:
            rewards: As for `reward_many`.

        Returns:
            For each of them True if it was applied, False if it was there already, or the error
            that `reward` would have raised.

        >>> import varts
        >>> exp = varts.open("price", ["9", "12"], store="memory://")
        >>> made = exp.decide_many(ids=["visit-1", "visit-2"])
        >>> exp.reward_each([("visit-1", 9.0), ("visit-3", 0.0), ("visit-2", 12.0)])
        [True, UnknownDecision("unknown decision 'visit-3' in experiment 'price'"), True]
        """
        checked, outcomes = check_each(list_rewards(rewards), lambda one: Reward(*check_part(one)))
        if not checked:
            return outcomes([])
        expire(self._snapshot, beside=len(checked))
        return outcomes(record_each(self._snapshot, checked))

    def add_reward(self, id: str, value: float, key: str, **metrics: float | None) -> bool:
        """Add a part to what a decision earned: a second order, or a refund, which is negative.

        Every part counts once, by its key: True if it was applied, False if it was there already.
        The first one may come instead of `reward`, and then within the window; later ones may come
        at any time.

        Args:
            id: The decision's.
            value: What is added to its reward.
            key: One of your own for this part, such as the order's number.
            metrics: What is added to its metrics.

        Raises:
            RewardConflict: The part of this key is another one, or the reward was voided.

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
        """Put another reward in the place of the one that a decision has.

        True if it was another one, False if it was the same. The statistics are as if it had been
        right from the start; decisions that were made meanwhile stay as they are.

        Args:
            id: The decision's.
            value: What it earned in all.
            by: Who says so.
            why: For what reason.
            metrics: Metrics to change; the others stay as they are.

        Raises:
            UnknownDecision: It was never made, or has no reward that could be amended.
        """
        return self.amend_many([(id, value, metrics)], by=by, why=why)[0]

    def amend_many(
        self, rewards: Rewards, *, by: str | None = None, why: str | None = None
    ) -> list[bool]:
        """Amend several rewards in one transaction; if one is refused, none is changed.

        Args:
            rewards: As for `reward_many`.
            by: Who says so.
            why: For what reason.
        """
        checked = [Correction(*check_pair(pair)) for pair in list_rewards(rewards)]
        return self._record(checked, check_note(by, why))

    def void(self, id: str, *, by: str | None = None, why: str | None = None) -> bool:
        """Take the reward of a decision back, as if it had never been made: a test, a bot.

        True if it had one, False if it was voided already. `amend` gives it one again.

        Args:
            id: The decision's.
            by: Who says so.
            why: For what reason.

        Raises:
            UnknownDecision: It was never made, or has no reward.
        """
        return self.void_many([id], by=by, why=why)[0]

    def void_many(
        self, ids: Iterable[str], *, by: str | None = None, why: str | None = None
    ) -> list[bool]:
        """Void several rewards in one transaction; if one is refused, none is.

        Args:
            ids: The decisions'.
            by: Who says so.
            why: For what reason.
        """
        checked = [Correction(check_text("id", id), None) for id in check_list("ids", ids)]
        return self._record(checked, check_note(by, why))

    def _record(
        self, items: list[Reward] | list[Correction], note: Mapping[str, str] | None = None
    ) -> list[bool]:
        if not items:
            return []
        expire(self._snapshot, beside=len(items))
        return record(self._snapshot, items, note)

    def close(self) -> None:
        """Give the store's connections back."""
        self.store.close()

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""Questions to a service about an experiment, as conversations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from varts._intervals import CONFIDENCE
from varts._validation import integer, real
from varts.client.frames import read_frame
from varts.client.messages import Conversation, Request, path_of
from varts.client.reading import (
    SeenState,
    convert_log,
    read_change,
    read_checks,
    read_decision_record,
    read_evaluation,
    read_history,
    read_report,
    read_state,
    read_time,
)
from varts.client.targets import write_targets
from varts.live.arguments import check_text
from varts.live.audit.export import check_suffix
from varts.live.audit.history import History, check_spacing
from varts.live.audit.records import ChangeRecord, DecisionRecord
from varts.live.report.report import Report

if TYPE_CHECKING:
    import polars as pl

    from varts.checks import Checks
    from varts.evaluation import Evaluation
    from varts.evaluation.targets import Target

EVENTS_PER_PAGE = 100


class Questions:
    """What can be asked about one experiment, and what is known of it.

    Args:
        name: The experiment's.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: SeenState | None = None  # as of the last look
        self.created: datetime | None = None
        self.is_stale = True  # whether something was asked for since

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

"""What changes a live experiment beside its decisions and rewards: arms, options, its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from varts._progress import Progress
from varts._validation import integer, unknown
from varts.live.errors import Changed, UnknownArm
from varts.live.expiry import expire_all
from varts.live.export import export_decisions
from varts.live.forgetting import delete, forget
from varts.live.inspection import Inspection
from varts.live.option_values import check_flag
from varts.live.options import GivenOptions, stored_prior
from varts.live.rewards import count_again
from varts.live.state import ADD_ARM, CONFIGURE, PAUSE, RESTART, RESUME, STOP, Config
from varts.live.validation import check_new_arms, check_note, check_text, match_priors
from varts.priors import PriorLike


class Known(TypedDict, total=False):
    """What every change may say: see `Administration.stop`."""

    by: str | None
    why: str | None
    expected: int | None


class Administration(Inspection):
    """An experiment in a store, to be looked at and changed; `Experiment` also decides.

    Args:
        name: That of an experiment in the store.
        store: The database.
    """

    # ------------------------------------------------------------------ changes

    def add_arm(
        self,
        arm: str,
        prior: PriorLike | None = None,
        groups: Mapping[str, str] | None = None,
        **known: Unpack[Known],
    ) -> None:
        """Add an arm.

        Args:
            arm: Its name, a new one.
            prior: Its prior; needed if every arm has its own, else it gets the shared one.
            groups: The group of the arm, for a prior that was fitted by group.
            known: `by`, `why` and `expected`, as for `stop`.
        """
        (name,) = check_new_arms([arm])
        given = stored_prior(match_priors({"prior": prior}, [name], groups).get("prior"))

        def added(config: Config) -> dict[str, Any]:
            if name in config.arms:
                raise ValueError(f"arm must be a new one, got {name!r}")
            return {"arm": name, "prior": given}

        self._change(ADD_ARM, added, **known)

    def pause_arm(self, arm: str, **known: Unpack[Known]) -> None:
        """Take an arm out of play; rewards of its decisions still count.

        Args:
            arm: Its name.
            known: `by`, `why` and `expected`, as for `stop`.
        """
        self._change(PAUSE, lambda config: {"arm": known_arm(config, arm)}, **known)

    def resume_arm(self, arm: str, **known: Unpack[Known]) -> None:
        """Bring a paused arm back.

        Args:
            arm: Its name.
            known: `by`, `why` and `expected`, as for `stop`.
        """
        self._change(RESUME, lambda config: {"arm": known_arm(config, arm)}, **known)

    def stop(
        self,
        winner: str | None = None,
        **known: Unpack[Known],
    ) -> None:
        """End the experiment; `restart` goes on with it.

        Args:
            winner: The arm that everybody gets from now on; without one, `decide` refuses.
            known: `by`, who does it; `why`, for what reason; `expected`, the `revision` that it
                rests on: if somebody has changed the configuration since, nothing is done.

        Raises:
            Changed: The configuration is not the expected one.
            ValueError: It has a winner already, whom nobody would get any more.
        """

        def stopped(config: Config) -> dict[str, Any]:
            if winner is not None:
                return {"winner": known_arm(config, winner)}
            if config.winner is not None:
                raise ValueError(
                    f"winner must be given, since everybody gets {config.arms[config.winner]!r} "
                    "now and would get nothing; restart the experiment to go on with it"
                )
            return {"winner": None}

        self._change(STOP, stopped, **known)

    def restart(self, **known: Unpack[Known]) -> None:
        """Go on with an experiment that was stopped: what it has learnt is still there.

        Args:
            known: `by`, `why` and `expected`, as for `stop`.
        """
        self._change(RESTART, lambda config: {}, **known)

    def configure(
        self,
        *,
        groups: Mapping[str, str] | None = None,
        recount: bool = False,
        by: str | None = None,
        why: str | None = None,
        expected: int | None = None,
        **options: Unpack[GivenOptions],
    ) -> None:
        """Change options from here on; a new epoch begins.

        Rewards that were counted stay as they were: a new `clip` holds for those to come.

        Args:
            groups: The group of each arm, for a prior that was fitted by group.
            recount: Count all earlier rewards by the new `clip`, too; those that change are amended
                in the log.
            by: Who does it.
            why: For what reason.
            expected: As for `stop`.
            options: Those of `varts.live.Options`; what is not given stays as it is.
        """

        def changed(config: Config) -> dict[str, Any]:
            given = match_priors(options, config.arms, groups)
            return {"options": config.options.reconfigured(given).to_json()}

        self._change(CONFIGURE, changed, by, why, expected, recounted=recount)

    def _change(
        self,
        kind: str,
        body_for: Callable[[Config], dict[str, Any]],
        by: str | None = None,
        why: str | None = None,
        expected: int | None = None,
        recounted: bool = False,
    ) -> None:
        """Add an event of this kind, unless it would change nothing."""
        note = check_note(by, why)
        if expected is not None:
            expected = integer("expected", expected, 0)
        expire_all(self._snapshot)  # by the options that it was made under
        with self._snapshot.changing() as change:
            before, revision = change.state.config, change.state.revision
            if expected is not None and expected != revision:
                raise changed_since(self.name, expected, revision)
            body = body_for(before)
            after = before.changed(kind, body)
            if after != before:
                after.check(before)
                change.apply(kind, body={**body, **note})
            if recounted:
                count_again(self._snapshot, change, note)

    # ------------------------------------------------------------------ the end of data

    def forget_unit(
        self,
        unit: str,
        *,
        keep_numbers: bool = False,
        by: str | None = None,
        why: str | None = None,
    ) -> int:
        """Take the name of a unit out of the log, and its contexts; its rewards are kept.

        A random name takes its place, in every decision, and nobody can tell whose they were. (Ids
        of your own stay as they are: let them say nothing about a person.) A sticky experiment
        takes the unit for a new one from now on.

        In an experiment with features, its rewards no longer count for what features do: the
        statistics are made anew without, and decisions from before are not made again by `verify`.

        Args:
            unit: As it was given to `decide`.
            keep_numbers: Whether to keep the numbers that its contexts were made into, with its
                rewards: then nothing is unlearnt, and only its own decisions are not made again.
            by: Who asks for it.
            why: For what reason.

        Returns:
            The number of its decisions.
        """
        keep = check_flag("keep_numbers", keep_numbers)
        return forget(self._snapshot, check_text("unit", unit), check_note(by, why), keep)

    def delete(self, confirm: str, *, export: str | Path | None) -> int:
        """Delete the experiment with its whole log.

        Args:
            confirm: The experiment's name once more.
            export: The file that the log is written to first, as by `Experiment.export`; None
                deletes it for good.

        Returns:
            How many decisions it had.

        Raises:
            Changed: It was used while its log was written: stop it first.
        """
        check_confirmation(self.name, confirm)
        if export is None:
            return delete(self._snapshot, None)
        with self._snapshot.reading() as transaction:
            state, _ = self._snapshot.reload(transaction)
            log = self._snapshot.log(transaction)
        export_decisions(log, state.config, Path(export), Progress())
        return delete(self._snapshot, log)


def changed_since(name: str, expected: int, revision: int) -> Changed:
    """Somebody else was first."""
    return Changed(
        f"experiment {name!r} was changed by somebody else: it is at revision {revision}, "
        f"got {expected}"
    )


def check_confirmation(name: str, confirm: str) -> None:
    """Refuse to delete an experiment that was not named once more."""
    if confirm != name:
        raise ValueError(f"confirm must be the experiment's name, {name!r}, got {confirm!r}")


def known_arm(config: Config, arm: str) -> str:
    """An arm of the experiment; raises UnknownArm for any other."""
    if arm not in config.arms:
        raise UnknownArm(unknown("arm", arm, config.arms))
    return arm

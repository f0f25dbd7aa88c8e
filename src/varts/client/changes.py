"""Changes of an experiment behind a service, as conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from varts.client.messages import Conversation, Request, path_of
from varts.client.notes import check_why
from varts.client.questions import Questions
from varts.client.reading import SeenState
from varts.live.arguments import check_new_arms, check_text, match_priors
from varts.live.errors import Changed
from varts.live.experiment import changed_since, check_confirmation, known_arm
from varts.live.options import GivenOptions, Options, check_flag, stored_prior
from varts.live.settle import used_meanwhile
from varts.priors import PriorLike

LOOKS = 5  # at an experiment that others keep changing, before one of our own changes gives up


class Note(TypedDict, total=False):
    """Why an experiment is changed, and based on which revision; see `Changes.stop`."""

    by: None
    why: str | None
    expected: int | None


class Changes(Questions):
    """What changes an experiment beside its decisions and rewards.

    Args:
        name: The experiment's.
    """

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

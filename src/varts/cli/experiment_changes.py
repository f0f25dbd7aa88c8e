"""The commands that change an experiment: its arms, its options, its end."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from varts.cli.app import ArmGroups, parse_prior, read_arm_groups, say
from varts.cli.experiment_flags import NO_OPTIONS, STORE, By, Name, OptionFlags, Url, Why
from varts.cli.experiment_store import open_experiment
from varts.live.wording import option_text, status


def add_arm(
    name: Name,
    arm: str,
    /,
    *,
    prior: str | None = None,
    arm_groups: ArmGroups = None,
    by: By = None,
    why: Why = None,
    store: Url = STORE,
) -> None:
    """Add an arm to a running experiment.

    Example: varts experiment add-arm price 18 --prior mu=12,kappa=16,alpha=11,beta=640

    Parameters
    ----------
    arm
        Its name.
    prior
        A file or numbers, as for create; needed if every arm has a prior of its own.
    """
    with open_experiment(name, store) as exp:
        made = None if prior is None else parse_prior(prior)
        exp.add_arm(arm, made, read_arm_groups(arm_groups), by=by, why=why)
        say(f"{name}: {arm} added; {len(exp.arms)} arms")


def pause_arm(
    name: Name, arm: str, /, *, by: By = None, why: Why = None, store: Url = STORE
) -> None:
    """Take an arm out of play; rewards of its decisions still count.

    Example: varts experiment pause-arm price 15

    Parameters
    ----------
    arm
        Its name.
    """
    with open_experiment(name, store) as exp:
        exp.pause_arm(arm, by=by, why=why)
        say(f"{name}: {arm} paused; {len(exp.state.config.active)} arms in play")


def resume_arm(
    name: Name, arm: str, /, *, by: By = None, why: Why = None, store: Url = STORE
) -> None:
    """Bring a paused arm back.

    Example: varts experiment resume-arm price 15

    Parameters
    ----------
    arm
        Its name.
    """
    with open_experiment(name, store) as exp:
        exp.resume_arm(arm, by=by, why=why)
        say(f"{name}: {arm} is back; {len(exp.state.config.active)} arms in play")


def configure(
    name: Name,
    /,
    *,
    arm_groups: ArmGroups = None,
    recount: Annotated[bool, Parameter(negative=())] = False,
    by: By = None,
    why: Why = None,
    options: OptionFlags = NO_OPTIONS,
    store: Url = STORE,
) -> None:
    """Change options from here on; a new epoch begins. What is not given stays as it is.

    `none` puts an option back to its default, which is in parentheses.

    Example: varts experiment configure price --floor 0.02 --half-life none

    Example: varts experiment configure price --clip 0,100 --recount

    Parameters
    ----------
    recount
        Count the rewards so far by the new clip range, too.
    """
    given = options.given()
    if not given:
        raise ValueError("configure must be given an option to change, got none")
    with open_experiment(name, store) as exp:
        groups = read_arm_groups(arm_groups)
        exp.configure(**given, groups=groups, recount=recount, by=by, why=why)
        now = exp.options.to_json()
        changes = ", ".join(f"{option} {option_text(now[option])}" for option in given)
        say(f"{name}: {changes}; epoch {exp.state.config.epoch}")
        if "clip" in given and not recount and exp.state.rewards:
            say("rewards so far stay as they were counted; --recount counts them anew")


def stop(
    name: Name,
    /,
    *,
    winner: str | None = None,
    by: By = None,
    why: Why = None,
    store: Url = STORE,
) -> None:
    """End an experiment: everybody gets the winner from now on, or no more is decided.

    Rewards of earlier decisions still count. `restart` goes on with it.

    Example: varts experiment stop price --winner 12

    Parameters
    ----------
    winner
        The arm to serve; without one, decide refuses from now on.
    """
    with open_experiment(name, store) as exp:
        exp.stop(winner, by=by, why=why)
        say(f"{name}: {status(exp.state)}")


def restart(name: Name, /, *, by: By = None, why: Why = None, store: Url = STORE) -> None:
    """Go on with an experiment that was stopped; it knows all that it has learnt.

    Example: varts experiment restart price --why "a new season"
    """
    with open_experiment(name, store) as exp:
        exp.restart(by=by, why=why)
        say(f"{name}: {status(exp.state)}")

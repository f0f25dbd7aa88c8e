"""The commands that change an experiment: arms, options, stop and restart."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from varts.cli.app import ArmGroups, parse_prior, read_arm_groups, say
from varts.cli.experiment_flags import NO_OPTIONS, STORE, By, Name, OptionFlags, Url, Why
from varts.cli.experiment_store import open_experiment
from varts.live.report.text import option_text, status


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
        The name of the new arm.
    prior
        Its prior, a file or numbers as for create. Required if every arm has its own prior.
    """
    with open_experiment(name, store) as exp:
        made = None if prior is None else parse_prior(prior)
        exp.add_arm(arm, made, read_arm_groups(arm_groups), by=by, why=why)
        say(f"{name}: {arm} added; {len(exp.arms)} arms")


def pause_arm(
    name: Name, arm: str, /, *, by: By = None, why: Why = None, store: Url = STORE
) -> None:
    """Take an arm out of play. Rewards of its earlier decisions still count.

    Example: varts experiment pause-arm price 15

    Parameters
    ----------
    arm
        The name of the arm.
    """
    with open_experiment(name, store) as exp:
        exp.pause_arm(arm, by=by, why=why)
        say(f"{name}: {arm} paused; {len(exp.state.config.active)} arms in play")


def resume_arm(
    name: Name, arm: str, /, *, by: By = None, why: Why = None, store: Url = STORE
) -> None:
    """Put a paused arm back into play.

    Example: varts experiment resume-arm price 15

    Parameters
    ----------
    arm
        The name of the arm.
    """
    with open_experiment(name, store) as exp:
        exp.resume_arm(arm, by=by, why=why)
        say(f"{name}: {arm} resumed; {len(exp.state.config.active)} arms in play")


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
    """Change options from now on, and start a new epoch. Other options stay as they are.

    Defaults are in parentheses. The value `none` sets an option to its default.

    Example: varts experiment configure price --floor 0.02 --half-life none

    Example: varts experiment configure price --clip 0,100 --recount

    Parameters
    ----------
    recount
        Also apply the new clip range to the rewards so far.
    """
    given = options.given()
    if not given:
        raise ValueError("configure needs an option to change, such as --floor 0.02")
    with open_experiment(name, store) as exp:
        groups = read_arm_groups(arm_groups)
        exp.configure(**given, groups=groups, recount=recount, by=by, why=why)
        now = exp.options.to_json()
        changes = ", ".join(f"{option} {option_text(now[option])}" for option in given)
        say(f"{name}: {changes}; epoch {exp.state.config.epoch}")
        if "clip" in given and not recount and exp.state.rewards:
            say("rewards so far are counted as before; --recount applies the new clip to them")


def stop(
    name: Name,
    /,
    *,
    winner: str | None = None,
    by: By = None,
    why: Why = None,
    store: Url = STORE,
) -> None:
    """Stop an experiment. From now on everybody gets the winner, or nobody gets a decision.

    Rewards of earlier decisions still count. `restart` continues the experiment.

    Example: varts experiment stop price --winner 12

    Parameters
    ----------
    winner
        The arm that everybody gets. Without a winner, decide refuses from now on.
    """
    with open_experiment(name, store) as exp:
        exp.stop(winner, by=by, why=why)
        say(f"{name}: {status(exp.state)}")


def restart(name: Name, /, *, by: By = None, why: Why = None, store: Url = STORE) -> None:
    """Continue a stopped experiment with everything it has learned.

    Example: varts experiment restart price --why "a new season"
    """
    with open_experiment(name, store) as exp:
        exp.restart(by=by, why=why)
        say(f"{name}: {status(exp.state)}")

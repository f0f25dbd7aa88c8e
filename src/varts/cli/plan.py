"""Plan an experiment on the command line."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import varts
from varts._progress import show_progress
from varts._text import WIDTH
from varts._validation import integer, make_folder, real
from varts.cli.app import print_json, say
from varts.cli.flags import (
    AS_USUAL,
    USUAL_LOG,
    ArmGroups,
    FilePath,
    Json,
    Lines,
    LogFlags,
    TextFlags,
    Whole,
    parse_integer,
    parse_prior,
    prior_file,
    read_arm_groups,
    read_features,
    read_lines,
)

NEARLY_ALL = 0.95  # of the experiments; one in 20 takes longer


@Parameter(name="*")
@dataclass(frozen=True)
class ArmFlags:
    """The arms to plan for.

    Parameters
    ----------
    arms
        The number of arms, or their names separated by commas. Not needed if the prior has an entry
        per arm.
    arm
        The name of an arm, which may contain a comma. Repeat the flag for each arm.
    arms_file
        A file with the name of an arm on each line; - is standard input.
    """

    arms: str | None = None
    arm: Annotated[list[str] | None, Parameter(negative=())] = None
    arms_file: Lines | None = None

    def read(self) -> Any:
        """Return the number of arms, or their names."""
        listed = read_lines("--arm and --arms-file", self.arm, self.arms_file)
        if self.arms is None:
            return listed
        if listed is not None:
            raise ValueError(
                "--arms must not be given together with --arm or --arms-file, got both"
            )
        try:
            float(self.arms)
        except ValueError:
            names = [name.strip() for name in self.arms.split(",")]
            if not all(names):
                raise ValueError(f"--arms must be a number or names, got {self.arms!r}") from None
            return names
        return parse_integer("--arms", self.arms)


NO_ARMS = ArmFlags()
Moved = Annotated[str | None, Parameter(show=False)]  # a flag that is now one of plan-context


@Parameter(name="*")
@dataclass(frozen=True)
class DayFlags:
    """A plan in days and percent, of the live experiment that you will run.

    Parameters
    ----------
    traffic
        Plan in days: how many decisions per time, such as 500/day or 2000/week.
    days
        With --traffic: how many days the experiment may take, such as 28 or 4w.
    window
        With --traffic: how long a reward may take, such as 7d. A reward counts when its window
        closes, as in a live experiment.
    floor
        With --traffic: the smallest share of the traffic for each arm.
    holdout
        With --traffic: the share of units that always get an even split.
    policy
        With --traffic: the policy that chooses arms; VarTS by default.
    stop_p_best
        With --traffic: stop once P(best) of an arm is at least this.
    stop_loss
        With --traffic: stop once the lowest expected loss is at most this.
    stop_error
        With --traffic: stop once all other arms are ruled out, with at most this error.
    mean
        With --traffic and no prior: a typical mean reward.
    reward_sd
        With --mean: a typical standard deviation of rewards.
    mean_sd
        With --mean or --rate: how much the arms differ, as the standard deviation of their means.
        Leave it out if you don't know.
    rate
        With --traffic and no prior: a typical conversion rate, such as 0.04.
    price
        With --rate: what a conversion is worth.
    unit_column
        With --traffic and --from-history: the column of the log that names the visitor. How often
        visitors return, and how similar their rewards are, is then taken from the log.
    returning
        With --traffic: how many visits a visitor makes on average in the planned days.
    correlation
        With --returning: how similar the rewards of a visitor are, from 0 to 1; 0.1 by default.
    sticky
        With --returning: a visitor keeps the arm of the first visit.
    limit_days
        With --traffic: follow experiments up to this day if the stop rule isn't met in time; four
        times --days by default.
    """

    traffic: str | None = None
    days: str | None = None
    window: str | None = None
    floor: float = 0.0
    holdout: float = 0.0
    policy: str = "VarTS"
    stop_p_best: float | None = None
    stop_loss: float | None = None
    stop_error: float | None = None
    mean: float | None = None
    reward_sd: float | None = None
    mean_sd: float | None = None
    rate: float | None = None
    price: float = 1.0
    unit_column: str | None = None
    returning: float | None = None
    correlation: float | None = None
    sticky: Annotated[bool, Parameter(negative=())] = False
    limit_days: Whole | None = None

    def check(self, others: dict[str, Any]) -> bool:
        """Return whether the plan is in days, and refuse flags that don't go together.

        Args:
            others: Flags that mean nothing for a plan in days; None where they weren't given.
        """
        usual = DayFlags()
        typed = [
            each.name
            for each in fields(self)
            if getattr(self, each.name) != getattr(usual, each.name)
        ]
        if self.traffic is None:
            for name in typed:
                flag = name.replace("_", "-")
                raise ValueError(
                    f"--{flag} must be given together with --traffic, such as --traffic 500/day, "
                    "got it alone"
                )
            return False
        if self.days is None:
            raise ValueError("--days must be given together with --traffic, got none")
        for flag, value in others.items():
            if value is not None:
                raise ValueError(f"--{flag} must be left out with --traffic, got both")
        return True


IN_ROUNDS = DayFlags()


def plan(
    prior: str | None = None,
    *,
    from_history: str | None = None,
    only: str | None = None,
    log: LogFlags = USUAL_LOG,
    arms: ArmFlags = NO_ARMS,
    in_days: DayFlags = IN_ROUNDS,
    arm_groups: ArmGroups = None,
    horizon: Whole | None = None,
    goal: Literal["max", "min"] = "max",
    drift: str | None = None,
    contexts: Moved = None,
    features: Moved = None,
    aim: Literal["regret", "best"] = "regret",
    error: float | None = None,
    until_loss: float | None = None,
    until_sure: float | None = None,
    until_error: float | None = None,
    share: float = 0.5,
    limit: Whole = 100_000,
    runs: Whole | None = None,
    followed: Whole | None = None,
    seed: Whole = 0,
    out: Annotated[FilePath | None, Parameter(name=["--out", "-o"])] = None,
    as_json: Json = False,
    threads: Whole | None = None,
) -> None:
    """Simulate an experiment from its prior, to see what to expect before it starts.

    Prints the regret and reward of VarTS, other policies and an even split, how soon P(best) gets
    high, the paper's bound, and the cost of a wrong prior. With --traffic the plan is one of a live
    experiment: how many days it takes and what it gives up on the way.

    Example: varts plan prior.json --arms 10 --horizon 2000 --out plan

    Example: varts plan prior.json --arms 3 --traffic 500/day --days 28 --stop-p-best 0.95

    Example: varts plan --arms 3 --traffic 500/day --days 28 --rate 0.04 --stop-p-best 0.95

    Example: varts plan mu=12,kappa=16,alpha=11,beta=640 --arms 5 --until-sure 0.95

    Example: varts plan --from-history log.csv --horizon 20000

    Example: varts plan prior.json --arms 5 --horizon 10000 --drift steps=2000

    Example: varts plan prior.json --arms 5 --aim best --error 0.05

    Parameters
    ----------
    prior
        A prior's JSON file (`varts fit` writes one), or its numbers:
        mu=..,kappa=..,alpha=..,beta=... You can leave it out with --from-history.
    from_history
        A log, in the same form as for varts fit, with one row per reward. Also simulates with its
        rewards as they are, and reports where the prior's answer differs. The arms are those of the
        log. Without a prior, one is fitted to the log.
    only
        With --from-history: the experiment to use, if the log has several. The prior is fitted to
        all of them.
    horizon
        Rounds per experiment; 2,000 by default.
    goal
        max if a higher reward is better, min if a lower one is.
    drift
        Also compare half-lives for arms that change: steps=2000 if their means jump about every
        2,000 rounds, cycle=1000 if they rise and fall with that period, walk=0.02 if they change by
        about 0.02 per round.
    aim
        best also compares how soon an even split, VarTS, T3C and Sequential Halving find the best
        arm, how often they are wrong, and how much that costs.
    error
        With --aim best: the probability of ever naming a wrong arm; 0.05 by default.
    until_loss
        Also find the round after which VarTS loses less than this per round on average.
    until_sure
        Also find the rounds until P(best) of some arm reaches this, for VarTS and an even split.
    until_error
        Also find the rounds until all arms but one are ruled out, in --share and in 19 of 20
        experiments, for VarTS and an even split. The probability of a wrong arm is at most this, no
        matter how often you look.
    share
        With --until-sure and --until-error: the share of experiments that must get there.
    limit
        The most rounds that --aim best, --until-loss, --until-sure and --until-error simulate.
    runs
        The number of experiments to simulate: 1,000 by default, 240 for a plan in days.
    followed
        In how many of them to track P(best): 240 by default, fewer with over 100 arms.
    seed
        The same seed gives the same numbers, on any number of threads.
    out
        A folder for the tables, the figure and plan.json. Without it, nothing is written.
    threads
        Threads to use; all cores by default.
    """
    from varts.fitting.aggregate import describe_words
    from varts.planning.comparators import EVEN, MAIN

    if contexts is not None or features is not None:
        raise ValueError(
            "varts plan has no --contexts and no --features; use varts plan-context PRIOR CONTEXTS"
        )
    for name, value in (("until-sure", until_sure), ("until-error", until_error), ("share", share)):
        if value is not None:
            real(name, value, above=0, below=1)
    if until_loss is not None:
        real("until-loss", until_loss, above=0)
    integer("limit", limit, at_least=1)
    rounds: dict[str, Any] = {"horizon": horizon, "drift": drift, "error": error}
    rounds |= {"aim": None if aim == "regret" else aim, "followed": followed}
    rounds |= {"until-loss": until_loss, "until-sure": until_sure, "until-error": until_error}
    rounds |= {"arm-groups": arm_groups}
    if in_days.check(rounds):
        recorded = None if from_history is None else (from_history, only, log)
        sizes = {"runs": runs, "seed": seed, "threads": threads}
        _plan_in_days(prior, arms.read(), in_days, recorded, goal, sizes, out, as_json)
        return
    if out is not None:
        make_folder("out", out)
    names = arms.read()
    asked = {"horizon": horizon, "runs": runs}  # others have the defaults of the library
    source, rewards = _read_sources(prior, from_history, only, log)
    with show_progress(True) as bar:
        made = varts.plan(
            source,
            names,
            rewards=rewards,
            groups=read_arm_groups(arm_groups),
            goal=goal,
            drift=drift,
            aim=aim,
            error=error,
            limit=limit,
            followed=followed,
            seed=seed,
            threads=threads,
            progress=bar,
            **{name: size for name, size in asked.items() if size is not None},
        )
        needed = []
        if until_loss is not None:
            needed.append(
                made.rounds_to_loss(until_loss, limit=limit, threads=threads, progress=bar)
            )
        if until_sure is not None:
            for label in (MAIN, EVEN):
                needed.append(
                    made.rounds_to_sure(until_sure, share, label, limit, threads, progress=bar)
                )
        if until_error is not None:
            for label in (MAIN, EVEN):
                for often in sorted({share, NEARLY_ALL}):
                    found = made.rounds_to_certain(
                        until_error, often, label, limit, threads, progress=bar
                    )
                    needed.append(found)
                    if found.rounds is None:  # nor will more experiments get there
                        break
    if as_json:
        body: dict[str, Any] = json.loads(made.to_json())
        if rewards is not None:
            left_out = {"rows": rewards.rows, "left_out": rewards.left_out}
            body["history"] = {**left_out, "not_a_number": rewards.word}
        print_json({**body, "rounds_needed": [asdict(one) for one in needed]})
    else:
        words = "" if rewards is None else describe_words(rewards.left_out, rewards.word)
        if words:  # first, so that nobody overlooks it
            say(words, "")
        say(*str(made).split("\n"))
        if needed:
            say("", "how many rounds it takes", *(f"  {one}" for one in needed))
    if out is not None:
        files = made.save(out)
        if not as_json:
            say("", f"written: {' '.join(str(path) for path in files)}")


def _plan_in_days(
    prior: str | None,
    arms: Any,
    given: DayFlags,
    recorded: tuple[str, str | None, LogFlags] | None,
    goal: str,
    sizes: dict[str, int | None],
    out: Path | None,
    as_json: bool,
) -> None:
    """Plan the live experiment, with a traffic."""
    named = {each.name: getattr(given, each.name) for each in fields(given)}
    named["limit"], unit = named.pop("limit_days"), named.pop("unit_column")
    named |= {name: size for name, size in sizes.items() if size is not None}
    from varts.live.options import TYPED_OPTIONS

    _, read_policy = TYPED_OPTIONS["policy"]
    named["policy"] = read_policy("policy", given.policy)
    if recorded is not None:
        history, only, log = recorded
        named["rewards"] = varts.EmpiricalBandit(history, only=only, **log.named())
        if unit is not None:
            found = _read_visits(history, unit, only, log)
            named["returning"] = named["returning"] or found.visits
            named["correlation"] = named["correlation"] or found.correlation
    elif unit is not None:
        raise ValueError("--unit-column must be given together with --from-history, got it alone")
    with show_progress(True) as bar:
        made = varts.plan_experiment(
            None if prior is None else _read_prior(prior),
            arms,
            goal=goal,
            progress=bar,
            **named,
        )
    if as_json:
        print_json(made.to_dict())
    else:
        width = min(shutil.get_terminal_size().columns, WIDTH)
        say(*made.text(width).split("\n"))
    if out is not None:
        files = made.save(out)
        if not as_json:
            say("", f"written: {' '.join(str(path) for path in files)}")


def _read_visits(history: str, unit: str, only: str | None, log: LogFlags) -> Any:
    """How often visitors return in a log, and how similar their rewards are."""
    from varts.planning.recorded_visits import read_visits

    return read_visits(
        history,
        unit,
        arm=log.arm_column,
        reward=log.reward_column or "reward",
        experiment=log.experiment_column,
        only=only,
        text=log.checked(),
    )


def plan_context(
    prior: str,
    contexts: str,
    /,
    *,
    features: str | None = None,
    text: TextFlags = AS_USUAL,
    arms: ArmFlags = NO_ARMS,
    horizon: Whole = 5000,
    goal: Literal["max", "min"] = "max",
    runs: Whole = 400,
    seed: Whole = 0,
    as_json: Json = False,
    threads: Whole | None = None,
) -> None:
    """Find out whether it pays to choose arms by context, and after how many rounds.

    Simulates experiments from a prior with features. Prints the regret of LinearVarTS and of VarTS
    without context, and what context gains per round in short and long experiments.

    Example: varts plan-context linear.json visits.csv --arms 5 --horizon 10000

    Parameters
    ----------
    prior
        The JSON file of a prior with features (`varts fit --features` writes one).
    contexts
        A table of contexts with a column per feature. Every round takes one of its rows at random.
    features
        The features, in the same form as for varts fit. By default those in the prior's file.
    horizon
        Rounds per experiment; half of it, a quarter and so on are tried too.
    goal
        max if a higher reward is better, min if a lower one is.
    runs
        The number of experiments to simulate.
    seed
        The same seed gives the same numbers, on any number of threads.
    threads
        Threads to use; all cores by default.
    """
    from varts.fitting.contexts import find_contexts

    given = _read_prior(prior)
    if features is None and not prior.lower().endswith(".json"):
        raise ValueError("--features must be given for a prior that is not a .json file, got none")
    described = prior if features is None else features
    found, rows = find_contexts(contexts, read_features(described), text.checked())
    with show_progress(True) as bar:
        made = varts.plan_context(
            given,
            rows,
            arms.read(),
            horizon,
            features=found,
            goal=goal,
            runs=runs,
            seed=seed,
            threads=threads,
            progress=bar,
        )
    if as_json:
        print_json(json.loads(made.to_json()))
    else:
        say(*str(made).split("\n"))


def _read_sources(
    prior: str | None, history: str | None, only: str | None, log: LogFlags
) -> tuple[Any, varts.EmpiricalBandit | None]:
    """The prior and the recorded rewards, at least one of them."""
    if history is None:
        for flag in [*log.typed(), *(["--only"] if only is not None else [])]:
            raise ValueError(f"{flag} must be given together with --from-history, got it alone")
        if prior is None:
            raise ValueError("prior must be given, or a log with --from-history, got neither")
        return _read_prior(prior), None
    rewards = varts.EmpiricalBandit(history, only=only, **log.named())
    if prior is not None:
        return _read_prior(prior), rewards
    if only is None:
        return None, rewards
    return varts.fit_prior(history, progress=False, **log.named()), rewards


def _read_prior(text: str) -> Any:
    """Return a file as its path, because it has the notes of the fit, too."""
    return prior_file(text) or parse_prior(text)

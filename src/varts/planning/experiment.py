"""`plan_experiment`: what the experiment that you will run takes and costs, in days and percent.

It simulates the experiment as the live code would run it: visitors per day, rewards that count when
their window closes, a floor, a holdout, and a look at the report once a day with its stop rule.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._files import write_csv, write_text
from varts._intervals import quantile_interval, share_interval, t_factor
from varts._progress import Progress, show_progress
from varts._validation import Floats, choice, integer, make_folder, real
from varts.live.arguments import check_new_arms
from varts.live.core.state import Config
from varts.live.options import Options, policy_from
from varts.planning.arms_to_come import GaussianArms, RateArms, arms_from_prior, arms_without_prior
from varts.planning.daily_looks import ZERO_ONE, Shape, Visitors, find_stop, leader_of
from varts.planning.plan import fit_notes, fit_of
from varts.planning.recorded import find_rewards
from varts.planning.timetable import Timetable, read_days, read_timetable
from varts.policies import EBVarTS, EvenSplit, Policy, VarTS
from varts.policies.registry import options_of
from varts.priors import LinearNormalGamma, NormalGamma, PriorLike, match_arms, prior_from
from varts.priors.own_arms import ALPHA_CENTER, KAPPA_CENTER
from varts.problems import EmpiricalBandit, Problem, Returning
from varts.problems.recorded import RewardTable
from varts.simulation.results import RUNS_PER_BLOCK

RUNS = 240
FEWEST_RUNS = 80  # of a very long experiment
TOTAL_ROUNDS = 4e8  # of all runs together, for the planned days
LIMIT = 4  # times the planned days: experiments that go on for longer are not followed
TAIL = 0.05  # "1 in 20"
STOP_RULES = ("stop_p_best", "stop_loss", "stop_error")
EVEN = EvenSplit.label
PLAYED = "policy"  # the label of the only policy of a simulation


@dataclass(frozen=True, eq=False)
class Outcomes:
    """How the simulated experiments went under one policy, an entry per experiment.

    Args:
        day: The day on which the stop rule was met; infinite if it wasn't by the limit.
        right: Whether the arm that was chosen in the end is the best; NaN if none was chosen.
        loss: How far that arm's mean is below the best one's; NaN if none was chosen.
        given_up: The regret until the stop rule was met, or until the last day that was simulated.
        best: The rewards that the best arm would have earned in that time.
        by_day: The regret at the end of each planned day if nobody stops: (runs, days).
    """

    day: Floats
    right: Floats
    loss: Floats
    given_up: Floats
    best: Floats
    by_day: Floats


@dataclass(frozen=True, eq=False, repr=False)
class ExperimentPlan:
    """How long an experiment takes, and its cost; `plan_experiment` makes it, `print` shows it.

    Args:
        timetable: Decisions per day, days and window.
        arms: The names of the arms.
        options: The options of the live experiment that was simulated.
        goal: "max" or "min".
        runs: How many experiments were simulated.
        limit: The day after which an experiment was no longer followed.
        seed: The seed of the simulation.
        unit: The value of one unit of the simulation, such as the price of a conversion.
        percent: Whether what is given up has a meaning as a share of what the best arm earns.
        outcomes: How the experiments went, by policy.
        arms_from: A sentence that says how the arms were drawn.
        uncertain: Whether the prior that the arms were drawn from is uncertain itself.
        visitors: The visitors who return; None if nobody does.
        notes: What to keep in mind, one sentence each.
    """

    timetable: Timetable
    arms: tuple[str, ...]
    options: Options
    goal: str
    runs: int
    limit: int
    seed: int
    unit: float
    percent: bool
    outcomes: Mapping[str, Outcomes]
    arms_from: str
    uncertain: bool
    visitors: Visitors | None
    notes: tuple[str, ...]

    @property
    def rules(self) -> dict[str, float]:
        """The stop rules that are set, in the order in which they are asked."""
        found = {name: getattr(self.options, name) for name in STOP_RULES}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def policy(self) -> str:
        """The label of the policy that is planned."""
        return next(iter(self.outcomes))

    @property
    def main(self) -> Outcomes:
        """How the experiments went under the policy that is planned."""
        return self.outcomes[self.policy]

    @property
    def table(self) -> pl.DataFrame:
        """One row per policy: when it stops, how often in time, what it gives up, how often the arm
        is right. Columns that end in _low and _high are 95 % intervals."""
        return pl.DataFrame([summarize(self, label) for label in self.outcomes])

    @property
    def by_week(self) -> pl.DataFrame:
        """What to expect at the end of each week: decisions, rewards that count, the share of
        experiments that have stopped, and what would be given up without stopping."""
        return weeks(self)

    def quantile(self, share: float, of: str = "day") -> float:
        """The day, or the loss, that a share of the experiments don't exceed.

        Args:
            share: The share, such as 0.95.
            of: "day", the day on which the stop rule is met, or "given_up", what is given up until
                then: a share of what the best arm earns if `percent`, else in units of the reward.
        """
        choice("of", of, ("day", "given_up"))
        real("share", share, above=0, below=1)
        values = self.main.day if of == "day" else given_up(self, self.main)
        return float(np.quantile(values, share, method="inverted_cdf"))

    @property
    def answer(self) -> tuple[str, ...]:
        """The answer in a few sentences, the most important one first."""
        from varts.planning.experiment_text import answer_sentences

        return tuple(answer_sentences(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        from varts.planning.experiment_text import rests_on, tables

        return {
            "type": "ExperimentPlan",
            "timetable": asdict(self.timetable),
            "arms": list(self.arms),
            "options": self.options.to_json(),
            "goal": self.goal,
            "runs": self.runs,
            "limit": self.limit,
            "seed": self.seed,
            "percent": self.percent,
            "arms_from": self.arms_from,
            "uncertain": self.uncertain,
            "visitors": None if self.visitors is None else asdict(self.visitors),
            "notes": list(self.notes),
            "answer": list(self.answer),
            "rests_on": rests_on(self),
            "tables": [[title, rows] for title, rows in tables(self, wide=True)],
            "table": self.table.to_dict(as_series=False),
            "by_week": self.by_week.to_dict(as_series=False),
        }

    def to_json(self) -> str:
        """`to_dict` as one JSON object; a day beyond the limit is null."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write plan.json, and one CSV per table.

        Args:
            folder: Where to; it is made if it doesn't exist.

        Returns:
            The paths of the files.
        """
        out = make_folder("folder", folder)
        paths = [out / "plan.json", out / "policies.csv", out / "weeks.csv"]
        write_text(paths[0], self.to_json() + "\n")
        write_csv(paths[1], self.table)
        write_csv(paths[2], self.by_week)
        return paths

    def text(self, width: int = 80) -> str:
        """The answer, what it rests on, and tables.

        Args:
            width: Characters of a line.
        """
        from varts.planning.experiment_text import experiment_text

        return experiment_text(self, width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"ExperimentPlan({self.answer[0]})"


def plan_experiment(
    prior: PriorLike | None = None,
    arms: int | Iterable[str] | None = None,
    *,
    traffic: str | float,
    days: int | str,
    window: Any = None,
    floor: float = 0.0,
    holdout: float = 0.0,
    policy: Any = "VarTS",
    goal: str = "max",
    stop_p_best: float | None = None,
    stop_loss: float | None = None,
    stop_error: float | None = None,
    rewards: EmpiricalBandit | RewardTable | None = None,
    mean: float | None = None,
    reward_sd: float | None = None,
    mean_sd: float | None = None,
    rate: float | None = None,
    price: float = 1.0,
    returning: float | None = None,
    correlation: float | None = None,
    sticky: bool = False,
    limit: int | str | None = None,
    runs: int = RUNS,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> ExperimentPlan:
    """Simulate the experiment that you will run: how many days it takes, and what it costs.

    Every simulated experiment runs as a live one would: rewards count when their window closes, and
    somebody looks once a day at the report, with its own stop rule. If a prior was fitted to past
    experiments, each block of simulated experiments draws its own prior from what they leave open.

    Args:
        prior: What is known about the arms: a NormalGamma, its fields, the JSON file of one, or
            what `fit_prior` returned. Without one, the simulated experiment has no prior either.
        arms: The number of arms or their names; not needed if the prior has an entry per arm.
        traffic: Decisions per time, such as "500/day", or a number per day.
        days: How many days the experiment is planned for, such as 28 or "4 weeks".
        window: How long a reward may take, such as "7d"; None if it is known at once.
        floor: The smallest share of the traffic for each arm, as for a live experiment.
        holdout: The share of units that always get an even split.
        policy: The policy that chooses arms.
        goal: "max" if higher rewards are better, "min" if lower ones are.
        stop_p_best: Stop once P(best) of an arm is at least this.
        stop_loss: Stop once the lowest expected loss is at most this.
        stop_error: Stop once all other arms are ruled out, with at most this error.
        rewards: Recorded rewards, zeros included, that the arms pay, as in `varts.plan`. The prior
            is then only what the policy knows.
        mean: Without a prior: a typical mean reward.
        reward_sd: Without a prior: a typical standard deviation of rewards.
        mean_sd: Without a prior: how much the arms' means differ, as a standard deviation; None if
            you don't know.
        rate: Without a prior, and instead of `mean`: a typical conversion rate.
        price: The value of a conversion.
        returning: How many visits a visitor makes on average in the planned days; None if everybody
            comes once.
        correlation: With `returning`: how similar the rewards of a visitor are, as an intra-class
            correlation; 0.1 by default.
        sticky: With `returning`: whether a visitor keeps the arm of the first visit.
        limit: The day up to which experiments are followed if the rule isn't met in time; by
            default four times `days`.
        runs: How many experiments to simulate, rounded up to a multiple of 8.
        seed: Same seed, same numbers.
        threads: How many threads to use; all cores by default. The numbers don't depend on it.
        progress: Whether to show progress on standard error; None shows it only on a terminal.

    >>> expected = plan_experiment(arms=2, traffic="200/day", days=14, window="2d", floor=0.05,
    ...     stop_p_best=0.95, rate=0.1, mean_sd=0.03, runs=64)
    >>> expected.quantile(0.05) >= 3      # no reward counts on the first two days
    True
    >>> expected.table["policy"].to_list()
    ['VarTS', 'Even-Split']
    """
    timetable = read_timetable(traffic, days, window)
    choice("goal", goal, ("max", "min"))
    runs, seed = integer("runs", runs, at_least=2 * RUNS_PER_BLOCK), integer("seed", seed, 0, 2**63)
    last = LIMIT * timetable.days if limit is None else read_days(limit)
    if last < timetable.days:
        raise ValueError(f"limit must be at least {timetable.days}, the days planned, got {last}")
    unit, shape, notes = 1.0, Shape(), []
    inner: NormalGamma | None = None
    names: tuple[str, ...]
    recorded = None
    if rewards is not None:
        for name, given in (("mean", mean), ("rate", rate), ("reward_sd", reward_sd)):
            if given is not None:
                raise ValueError(f"{name} must be left out with recorded rewards, got both")
        recorded = find_rewards(rewards, arms)
        arms = recorded.names or recorded.K
    if prior is not None:
        for name, given in (("mean", mean), ("reward_sd", reward_sd), ("rate", rate)):
            if given is not None:
                raise ValueError(f"{name} must be left out with a prior, which says it, got both")
        found = prior_from(prior)
        if isinstance(found, LinearNormalGamma):
            raise ValueError(
                "prior must have no features: a plan in days can't choose arms by context yet, "
                "use varts.plan_context"
            )
        made, note = match_arms(prior_from(found, NormalGamma), arms)
        notes += [] if note is None else [note]
        names = made.names or tuple(f"arm {i}" for i in range(1, int(made.mu.size) + 1))
        inner = replace(made, names=None, others=None, group=None)
        inner = inner if goal == "max" else inner.mirrored()
        problem, past = arms_from_prior(inner, {} if found.names else mirrored_fit(prior, goal))
        arms_from = describe_prior(past, problem)
        notes += fit_notes(prior)
    elif recorded is not None:
        names = name_arms(arms)
    else:
        names = name_arms(arms)
        problem, shape, unit, arms_from = without_prior(
            len(names), mean, reward_sd, mean_sd, rate, price, goal
        )
    if recorded is not None:
        problem = recorded if goal == "max" else recorded.mirrored()
        shape, arms_from = shape_of(problem), describe_rewards(recorded)
    if unit != 1.0 and stop_loss is not None:
        stop_loss = stop_loss / unit
    asked = policy_from(policy)
    if asked.contextual:
        raise ValueError(f"policy must not use features in a plan in days, got {asked.label}")
    uses_prior = inner is not None and "prior" in options_of(type(asked))
    options = Options.made(
        policy=policy,
        prior=inner.to_dict() if uses_prior and inner is not None else None,
        floor=floor,
        holdout=holdout,
        sticky=sticky,
        window=timetable.window * 86_400 or None,
        stop_p_best=stop_p_best,
        stop_loss=stop_loss,
        stop_error=stop_error,
    )
    if len(names) < 2:
        raise ValueError(f"arms must be at least 2, got {len(names)}")
    config = Config(names, options, len(names))
    config.check()
    visitors = read_visitors(returning, correlation, sticky, timetable)
    played, substituted = playable(config, problem)
    if visitors is not None:
        problem = Returning(problem, visitors.population, visitors.correlation, visitors.sticky)
    notes += substituted
    simulated = fewer_runs(runs, timetable)
    if simulated < runs:
        notes.append(
            f"with {timetable.horizon:,} decisions each, only {simulated} experiments are simulated"
        )
    runs = simulated
    players = {config.policy.label or "policy": played, EVEN: EvenSplit()}
    if isinstance(config.policy, EvenSplit):
        del players[EVEN]
    threads = (os.cpu_count() or 1) if threads is None else integer("threads", threads, at_least=1)
    world = World(problem, timetable, config, shape, visitors, runs, seed, threads)
    with show_progress(progress) as bar:
        # The comparison with an even split ends with the planned days.
        ends = dict.fromkeys(players, timetable.days) | {next(iter(players)): last}
        outcomes = {
            label: world.play(label, each, ends[label], bar) for label, each in players.items()
        }
    best = outcomes[next(iter(outcomes))].best
    sign = 1 if goal == "max" else -1
    return ExperimentPlan(
        timetable=timetable,
        arms=names,
        options=options,
        goal=goal,
        runs=runs,
        limit=last,
        seed=seed,
        unit=unit,
        percent=bool(np.quantile(sign * best, 0.01) > 0),
        outcomes=outcomes,
        arms_from=arms_from,
        uncertain=is_uncertain(problem),
        visitors=visitors,
        notes=tuple(notes),
    )


# --------------------------------------------------------------------------------- what is given


def mirrored_fit(prior: Any, goal: str) -> dict[str, Any]:
    """The "fit" section of a prior, with `mu` mirrored if lower rewards are better."""
    fit = dict(fit_of(prior))
    if goal == "min" and isinstance(fit.get("estimate"), Mapping):
        fit["estimate"] = {**fit["estimate"], "mu": -np.asarray(fit["estimate"]["mu"])}
    return fit


def describe_prior(past: int | None, problem: Problem) -> str:
    """Say how the arms are drawn, if there is a prior."""
    from varts.problems import GaussianBandit

    if isinstance(problem, GaussianBandit):
        return (
            "The arms are drawn from the prior as it is. It has no record of the past experiments "
            "behind it, so the ranges don't allow for an error of the prior itself."
        )
    what = "past experiments" if past is None else f"{past} past experiments"
    what = "1 past experiment" if past == 1 else what
    return (
        f"The arms are drawn from the prior that was fitted to {what}. The ranges include what "
        "these leave open."
    )


def name_arms(arms: Any) -> tuple[str, ...]:
    """The names of arms without a prior."""
    if arms is None:
        raise TypeError("arms must be given without a prior: their number or their names")
    if isinstance(arms, str):
        raise TypeError(f"arms must be a number or a list of names, got {arms!r}")
    if isinstance(arms, Iterable):
        return tuple(check_new_arms(list(arms)))
    return tuple(f"arm {i}" for i in range(1, integer("arms", arms, at_least=2) + 1))


def without_prior(
    K: int,
    mean: Any,
    reward_sd: Any,
    mean_sd: Any,
    rate: Any,
    price: Any,
    goal: str,
) -> tuple[Problem, Shape, float, str]:
    """The arms, the shape and the unit of their rewards, and a sentence about them."""
    if (mean is None) == (rate is None):
        raise ValueError(
            "without a prior, give either a typical conversion rate (rate=0.04, --rate 0.04) or a "
            "typical mean and standard deviation of rewards (--mean 12 --reward-sd 8)"
        )
    price = real("price", price, above=0)
    unsure = "Nobody knows yet how much the arms differ: give --mean-sd if you have an idea. "
    if rate is not None:
        rate = real("rate", rate, above=0, below=1)
        if reward_sd is not None:
            raise ValueError("reward_sd must be left out with a rate, which says it, got both")
        if goal == "min":
            raise ValueError('goal must be "max" with a rate, got "min": count the opposite')
        if mean_sd is not None:
            mean_sd = real("mean_sd", mean_sd, above=0, below=float(np.sqrt(rate * (1 - rate))))
        said = f"The arms' conversion rates lie around {rate:.3g}"
        if mean_sd is None:
            said = f"{unsure}{said}; the ranges include small and large differences."
        else:
            said += f" with a standard deviation of {mean_sd:.3g}."
        return RateArms(rate, K, mean_sd), ZERO_ONE, price, said
    if price != 1:
        raise ValueError(f"price must be left out without a rate, got {price:g}")
    if reward_sd is None:
        raise ValueError("reward_sd must be given with a mean, got none")
    mean = real("mean", mean)
    problem = arms_without_prior(mean if goal == "max" else -mean, reward_sd, K, mean_sd)
    said = f"The arms' means lie around {mean:.4g}"
    if mean_sd is None:
        said = f"{unsure}{said}; they differ by a tenth to one sd of a reward, here {reward_sd:g}."
    else:
        said += f" with a standard deviation of {mean_sd:g}."
    return problem, Shape(), 1.0, said


def is_uncertain(problem: Problem) -> bool:
    """Whether what the arms are drawn from is uncertain itself."""
    inner = problem.problem if isinstance(problem, Returning) else problem
    if isinstance(inner, GaussianArms):
        return bool(inner.covariance.any())
    return isinstance(inner, RateArms) and inner.spread is None


def shape_of(problem: EmpiricalBandit) -> Shape:
    """The skewness and the kurtosis of each arm's recorded rewards."""
    shapes = []
    for each in problem.rewards:
        gap = each - each.mean()
        sd = float(np.sqrt((gap * gap).mean()))
        shapes.append(((gap**3).mean() / sd**3, (gap**4).mean() / sd**4) if sd > 0 else (0.0, 3.0))
    skewness, kurtosis = np.array(shapes).T
    return Shape(skewness, kurtosis)


def describe_rewards(problem: EmpiricalBandit) -> str:
    """Say how the arms pay, if rewards were recorded."""
    zeros = float((problem.data == 0).mean())
    some = f", {100 * zeros:.0f} % of them zeros" if zeros >= 0.005 else ""
    return (
        f"Each arm pays its recorded rewards ({problem.data.size:,}{some}), and their means count "
        "as the true ones."
    )


def read_visitors(
    returning: Any, correlation: Any, sticky: bool, timetable: Timetable
) -> Visitors | None:
    """The visitors who return; None if nobody does."""
    if returning is None:
        if sticky:
            raise ValueError("returning must be given with sticky, got none")
        if correlation is not None:
            raise ValueError("returning must be given with correlation, got none")
        return None
    visits = real("returning", returning, at_least=1, at_most=timetable.horizon)
    icc = real("correlation", 0.1 if correlation is None else correlation, at_least=0, below=1)
    return Visitors(visits, icc, max(1, round(timetable.horizon / visits)), sticky)


def playable(config: Config, problem: Problem) -> tuple[Policy, list[str]]:
    """The policy that the engine plays, and a note if it stands for another one.

    EB-VarTS estimates its prior again after every reward, which the compiled loop can't do. VarTS
    with the prior that it would learn in the end takes its place.
    """
    if not isinstance(config.policy, EBVarTS):
        return config.policy, []
    center = problem.estimate_prior(samples=2000)
    mean = float(np.mean(center.mu))
    drawn = problem.draw(np.random.default_rng(0), 800)
    v = float(np.mean(drawn.variance))
    stand_in = NormalGamma(mean, KAPPA_CENTER, ALPHA_CENTER, ALPHA_CENTER * v)
    notes = []
    notes.append(
        f"with {len(config.arms)} arms and no prior, a live experiment learns its prior from the "
        "arms; the plan plays VarTS with a typical prior instead, so the real cost may be a little "
        "lower or higher"
    )
    return VarTS(stand_in), notes


def fewer_runs(runs: int, timetable: Timetable) -> int:
    """The number of runs, fewer if the experiment has very many decisions."""
    most = int(TOTAL_ROUNDS / max(timetable.horizon, 1))
    found = min(runs, max(most, FEWEST_RUNS))
    return -(-found // RUNS_PER_BLOCK) * RUNS_PER_BLOCK


# ----------------------------------------------------------------------------------- simulation


@dataclass(frozen=True)
class World:
    """Everything that the simulated experiments have in common."""

    problem: Problem
    timetable: Timetable
    config: Config
    shape: Shape
    visitors: Visitors | None
    runs: int
    seed: int
    threads: int

    @property
    def floor(self) -> float:
        """The smallest probability of an arm, for a visitor of whom nothing is known.

        The holdout is split evenly, and elsewhere the floor holds.
        """
        options = self.config.options
        return options.holdout / len(self.config.arms) + (1 - options.holdout) * options.floor

    def work(self, policy: Policy, days: int) -> Any:
        """The simulation of some days, with a checkpoint at the end of each."""
        from varts.simulation.simulate import make_work

        looks = self.timetable.looks(days)
        even = isinstance(policy, EvenSplit)
        return make_work(
            self.problem,
            {PLAYED: policy},
            int(looks[-1]),
            self.runs,
            self.seed,
            checkpoints=looks.tolist(),
            **({"delay": self.timetable.delay} if self.timetable.delay else {}),
            **({"floor": self.floor} if self.floor and not even else {}),
        )

    def play(self, label: str, policy: Policy, limit: int, bar: Progress) -> Outcomes:
        """Simulate the planned days, and then those experiments further that haven't stopped."""
        from varts.simulation.engine.work import draw_arms

        days, runs = self.timetable.days, self.runs
        best = draw_arms(self.problem, self.seed, 0, runs)[0].max(axis=1)
        unknown = np.full((4, runs), np.nan)
        out = Outcomes(np.full(runs, np.inf), *unknown, np.zeros((runs, days)))  # type: ignore[call-arg]
        done, simulated = 0, days
        todo = np.arange(runs)
        while True:
            work = self.work(policy, simulated)
            if done == 0:
                work.compile(bar)
                work.check_problem()
            blocks = np.unique(todo // RUNS_PER_BLOCK)
            bar.stage(f"{label}: {simulated} days, {len(todo):,} experiments", float(len(blocks)))
            follow = partial(self._follow, work, out, best, done)
            with ThreadPoolExecutor(self.threads) as pool:
                try:
                    for count, _ in enumerate(pool.map(follow, blocks.tolist()), 1):
                        bar.at(float(count))
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
            todo, done = np.flatnonzero(np.isinf(out.day)), simulated
            if not self.stops or simulated >= limit or not len(todo):
                return out
            simulated = min(2 * simulated, limit)

    def _follow(self, work: Any, out: Outcomes, best: Floats, done: int, block: int) -> None:
        """Play a block of experiments, and look at those that hadn't stopped after `done` days."""
        tables, looks = work.noted(PLAYED, block), work.checkpoints
        for r in range(tables.shape[1]):
            run = block * RUNS_PER_BLOCK + r
            if np.isfinite(out.day[run]):
                continue
            known, pulls, gap = tables[:3, r], tables[3, r], tables[4, r]
            regret = (pulls * gap).sum(axis=1)
            if done == 0:
                out.by_day[run] = regret
            look, arm = self._end(known, done)
            if look >= 0:
                out.day[run] = look + 1
            else:
                look = len(looks) - 1
            out.given_up[run] = regret[look]
            out.best[run] = best[run] * looks[look]
            if arm >= 0:
                out.loss[run] = gap[look, arm]
                out.right[run] = gap[look, arm] == 0

    @property
    def stops(self) -> bool:
        """Whether there is a stop rule."""
        return any(getattr(self.config.options, name) is not None for name in STOP_RULES)

    def _end(self, known: Floats, first: int) -> tuple[int, int]:
        """The look at which a run stops and the arm; -1 for none."""
        if self.stops:
            return find_stop(self.config, known, self.shape, self.visitors, first)
        return -1, leader_of(self.config, known, self.shape, self.visitors)


# -------------------------------------------------------------------------------------- results


def given_up(plan: ExperimentPlan, found: Outcomes) -> Floats:
    """The loss of each experiment: a share of what the best arm earns, or units of the reward."""
    return found.given_up / np.abs(found.best) if plan.percent else found.given_up * plan.unit


def mean_of_blocks(values: Floats, uncertain: bool) -> tuple[float, float, float]:
    """The mean over experiments and its 95 % interval.

    The experiments of a block share a prior. If that is uncertain, the interval is for the mean
    under the one prior that is right. So it has the variance between blocks, less what chance
    within blocks adds to it. That difference is noisy with few blocks, and never counts less than
    the error with which it can be estimated.

    Args:
        values: A number per experiment, block after block.
        uncertain: Whether each block has a prior of its own.

    >>> values = np.repeat([1.0, 2.0, 3.0, 2.0], 8)
    >>> [round(x, 2) for x in mean_of_blocks(values, uncertain=True)]
    [2.0, 0.47, 8.55]
    >>> [round(x, 2) for x in mean_of_blocks(values, uncertain=False)]
    [2.0, 1.04, 3.83]
    """
    blocks = values.reshape(-1, RUNS_PER_BLOCK)
    means, B = blocks.mean(axis=1), len(blocks)
    mean, spread = float(means.mean()), float(means.var(ddof=1))
    variance = spread / B
    if uncertain:
        chance = float(blocks.var(axis=1, ddof=1).mean()) / RUNS_PER_BLOCK
        variance += max(spread - chance, chance * float(np.sqrt(2 / (B - 1))))
    half = t_factor(B) * float(np.sqrt(variance))
    if not mean > 0:
        return mean, mean - half, mean + half
    factor = float(np.exp(half / mean))  # what is given up is skewed and never negative
    return mean, mean / factor, mean * factor


def summarize(plan: ExperimentPlan, label: str) -> dict[str, Any]:
    """A row of `ExperimentPlan.table`."""
    found = plan.outcomes[label]
    share, runs = given_up(plan, found), len(found.day)
    middle = quantile_interval(found.day, 0.5)
    ends = {q: float(np.quantile(found.day, q, method="inverted_cdf")) for q in (TAIL, 1 - TAIL)}
    within = share_interval(float((found.day <= plan.timetable.days).sum()), runs)
    chosen = ~np.isnan(found.right)
    right = share_interval(float(found.right[chosen].sum()), max(int(chosen.sum()), 1))
    mean, low, high = mean_of_blocks(share, plan.uncertain)

    def known(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    return {
        "policy": label,
        "days": known(middle.value),
        "days_low": known(middle.low),
        "days_high": known(middle.high),
        "days_5": known(ends[TAIL]),
        "days_95": known(ends[1 - TAIL]),
        "in_time": within.value,
        "in_time_low": within.low,
        "in_time_high": within.high,
        "given_up": mean,
        "given_up_low": low,
        "given_up_high": high,
        "given_up_median": float(np.median(share)),
        "given_up_95": float(np.quantile(share, 1 - TAIL)),
        "right": right.value if chosen.any() else None,
        "right_low": right.low if chosen.any() else None,
        "right_high": right.high if chosen.any() else None,
    }


def weeks(plan: ExperimentPlan) -> pl.DataFrame:
    """`ExperimentPlan.by_week`: whole weeks, and the last day."""
    table, found = plan.timetable, plan.main
    days: NDArray[np.int64] = np.unique([*range(7, table.days, 7), table.days])
    decisions = table.looks(table.days)[days - 1]
    regret = found.by_day[:, days - 1]
    share = np.array([(found.day <= day).mean() for day in days])
    return pl.DataFrame(
        {
            "day": days,
            "decisions": decisions,
            "counted": np.maximum(decisions - table.delay, 0),
            "stopped": share,
            "given_up": regret.mean(axis=0) * plan.unit,
            "given_up_95": np.quantile(regret, 1 - TAIL, axis=0) * plan.unit,
        }
    )

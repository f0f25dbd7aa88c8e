"""Logs on the command line: check, evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

import varts
from varts._intervals import CONFIDENCE
from varts.cli.app import print_json, say
from varts.cli.flags import USUAL_LOG, FilePath, Json, LogFlags, OneExperiment, read_features

if TYPE_CHECKING:
    from varts.evaluation import Evaluation
    from varts.evaluation.targets import Target


@Parameter(name="*")
@dataclass(frozen=True)
class TargetFlags:
    """A policy to evaluate.

    Parameters
    ----------
    always
        Play this arm at every decision.
    even
        Split evenly.
    shares
        Shares of the arms that add up to 1, such as 9=0.2,12=0.8.
    floor
        Decide as in the log, with at least this share for every arm in play.
    against
        Compare with always playing this arm; by default with the rewards in the log.
    """

    always: str | None = None
    even: Annotated[bool, Parameter(negative=(), show_default=False)] = False
    shares: str | None = None
    floor: float | None = None
    against: str | None = None

    def ways(self) -> dict[str, bool]:
        """Return which of them were given, by flag."""
        return {
            "--always": self.always is not None,
            "--even": self.even,
            "--shares": self.shares is not None,
            "--floor": self.floor is not None,
        }

    def check(self) -> None:
        """Refuse a call with none of them, or with several."""
        *most, last = self.ways()
        given = [flag for flag, asked in self.ways().items() if asked]
        if len(given) != 1:
            raise ValueError(
                f"evaluate needs one of {', '.join(most)} and {last}, got "
                f"{' and '.join(given) or 'none'}"
            )

    def policy(self) -> Target:
        """Return the policy."""
        self.check()
        if self.always is not None:
            return varts.always(self.always)
        if self.shares is not None:
            return parse_shares(self.shares)
        return varts.EvenSplit() if self.floor is None else varts.with_floor(self.floor)

    def compared(self) -> Target | None:
        """Return the policy to compare with."""
        return None if self.against is None else varts.always(self.against)


NO_TARGET = TargetFlags()


@Parameter(name="*")
@dataclass(frozen=True)
class ContextFlags(TargetFlags):
    """A policy to evaluate, which may depend on the context.

    Parameters
    ----------
    greedy
        Play the arm with the best expected reward for the unit, by the posterior in this JSON file.
    thompson
        Play each arm with its probability of being best for the unit, by the posterior in this JSON
        file.
    goal
        With --greedy and --thompson: max if a higher reward is better, min if a lower one is.
    """

    greedy: FilePath | None = None
    thompson: FilePath | None = None
    goal: Literal["max", "min"] = "max"

    def ways(self) -> dict[str, bool]:
        believed = {
            "--greedy": self.greedy is not None,
            "--thompson": self.thompson is not None,
        }
        return super().ways() | believed

    def policy(self) -> Target:
        self.check()
        if self.greedy is not None:
            return varts.greedy(varts.LinearNormalGamma.load(self.greedy), goal=self.goal)
        if self.thompson is not None:
            return varts.thompson(varts.LinearNormalGamma.load(self.thompson), goal=self.goal)
        return super().policy()


NO_CONTEXT = ContextFlags()


def parse_shares(text: str) -> dict[str, float]:
    """Read shares; the name of an arm may have an = in it.

    >>> parse_shares("9=0.2,12=0.8")
    {'9': 0.2, '12': 0.8}
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        arm, equals, share = part.rpartition("=")
        try:
            number = float(share)
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"--shares must be like 9=0.2,12=0.8, got {text!r}")
        if arm.strip() in shares:
            raise ValueError(f"--shares must give every arm once, got {text!r}")
        shares[arm.strip()] = number
    return shares


def tell(found: Evaluation, as_json: bool) -> None:
    """Print an evaluation."""
    if as_json:
        print_json(found.to_dict())
    else:
        say(*str(found).split("\n"))


def evaluate(
    log: str,
    /,
    *,
    target: ContextFlags = NO_CONTEXT,
    level: float = CONFIDENCE,
    only: str | None = None,
    columns: LogFlags = USUAL_LOG,
    probability_column: str = "probability",
    unit_column: str = "unit",
    features: str | None = None,
    as_json: Json = False,
) -> None:
    """Estimate what another policy would have earned, from the log of one experiment.

    The log is a CSV, TSV, Parquet or NDJSON file, a folder of them or a pattern, with a row per
    decision and the probability of its arm; `varts experiment export` writes one. The log of
    another system needs rows in the order of the decisions, or a column time.

    Example: varts evaluate log.parquet --always 12

    Example: varts evaluate log.csv --shares 9=0.2,12=0.8 --reward-column revenue
    --probability-column propensity

    Example: varts evaluate log.csv --features country,visits --greedy belief.json

    Parameters
    ----------
    log
        The file, folder or pattern.
    level
        Confidence of the intervals.
    only
        The experiment to use, if the log has several.
    probability_column
        The column of the chosen arm's probability.
    unit_column
        The column that names the unit (user, session) of a decision.
    features
        The columns of the contexts, such as country,visits, or a JSON file that describes them.
    """
    found = varts.evaluate(
        log,
        target.policy(),
        against=target.compared(),
        level=level,
        only=only,
        probability=probability_column,
        unit=unit_column,
        features=None if features is None else read_features(features),
        **columns.named(),
    )
    tell(found, as_json)


def check(
    log: str,
    /,
    *,
    columns: LogFlags = USUAL_LOG,
    one_experiment: OneExperiment = False,
    as_json: Json = False,
) -> None:
    """Check a log: do its rewards suit the model, and is every decision accounted for?

    The log is a CSV, TSV, Parquet or NDJSON file, a folder of them or a pattern, with a row per
    decision or reward in order of time; `varts experiment export` writes one. It may be larger than
    memory. The columns id, unit, probability, estimated, reason, time and settled_time are checked,
    too, if they exist.

    Example: varts check log.parquet

    Example: varts check sales.csv --arm-column colour --reward-column revenue --json

    Parameters
    ----------
    log
        The file, folder or pattern.
    """
    alone = {"experiment": None} if one_experiment else {}
    found = varts.check(log, **(columns.named() | alone))
    if as_json:
        print_json(found.to_dict())
    else:
        say(*str(found).split("\n"))

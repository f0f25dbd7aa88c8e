"""The options of a live experiment: names, defaults, rules, stored form and typed form.

`Options` is the single definition. `varts.open`, `configure`, the command line, the forms of the
service and the log all use it: flags and forms are built from its fields and its docstring, and
`GivenOptions` shows the same keywords to editors.

From top to bottom: `Options`; the rules for single values; stored forms of policies, priors and
features; and how a person types an option on the command line or in a form.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Literal, TypedDict

import numpy as np

from varts._validation import abbreviate, choice, integer, real, unknown
from varts.features import MISSING, NUMBER, Features, features_from
from varts.live.arguments import LONGEST_TEXT, Duration, check_text, seconds
from varts.policies import (
    EBVarTS,
    Fading,
    Policy,
    PolicyLike,
    SequentialHalving,
    VarTS,
    known,
    make,
    options_of,
)
from varts.priors import LinearNormalGamma, Prior, PriorLike, prior_from
from varts.priors.own_arms import FEWEST_ARMS

Guard = tuple[str, float]  # the side of the limit on which a mean should be, and the limit
GUARD_SIGNS = {"below": "<", "above": ">"}  # as you type them
LONGEST_WINDOW = 100 * 365.25 * 86400  # seconds: a century
LATEST_OPTIONS = ("owner", "hypothesis")
LONGEST_OWNER, LONGEST_HYPOTHESIS = 100, 2000  # characters
CONTEXTUAL_POLICY = "LinearVarTS"  # of an experiment with features, unless you give another one
FEATURES_VERSION = 1  # of the stored form of features
AUTO, DAY = "auto", 86400.0
# How an experiment turns its log into numbers. 1: a reward counts when it arrives, and all rewards
# count as independent and comparable. 2: a decision counts when its window closes; statistics are
# corrected for returning units and for time; an arm with little data gets at most an even share.
RULES = (1, 2)
# Metrics and features can't have these names: they are keywords of calls, or columns of an export.
TAKEN_NAMES = (
    *("id", "value", "reward", "key", "by", "why", "arm", "time", "unit", "probability"),
    *("estimated", "reason", "version", "epoch", "settled", "settled_time", "settled_version"),
    *("corrected_version", "experiment", "deadline", "default"),
)


class GivenOptions(TypedDict, total=False):
    """The keywords of `varts.open` and `configure`, with the types they accept; see `Options`."""

    goal: Literal["max", "min"]
    policy: PolicyLike | Mapping[str, Any]
    prior: PriorLike | None
    floor: float
    holdout: float
    sticky: bool
    clip: tuple[float, float] | list[float] | None
    window: Duration | None
    skew: Duration
    missing: float | None
    half_life: float | None
    stop_p_best: float | None
    stop_loss: float | None
    stop_error: float | None
    hash_units: bool
    client_ids: bool
    metrics: Sequence[str]
    guards: Mapping[str, Guard]
    features: Features | Mapping[str, Any] | None
    missing_metrics: Mapping[str, float]
    block: Duration | None
    adjust: Features | Mapping[str, Any] | None
    rules: int
    control: str | None
    owner: str | None
    hypothesis: str | None


@dataclass(frozen=True)
class Options:
    """The options of an experiment, in their stored form; `Options.made` checks them.

    `configure` can change all of them except `goal`, `hash_units`, `features` and `adjust`.

    Args:
        goal: Whether to maximize or minimize the reward: max or min.
        policy: The policy that chooses the arms: one of `varts policies`, or your own.
        prior: What you know before the first reward: a prior, its file or its numbers.
        floor: Smallest share of the traffic for each arm in play.
        holdout: Share of the units that always get an even split, to measure what learning earns.
        sticky: Whether a unit keeps its arm.
        clip: Lowest and highest reward. One outside counts as the nearer end; the log keeps it raw.
        window: How long a reward may take to arrive, in seconds. A decision counts when its window
            closes, with what it has earned by then.
        skew: How far the clock of the database may jump, in seconds; windows close that much later.
        missing: The reward that counts for a decision whose window has passed without one.
        half_life: Number of rewards after which an older reward counts half.
        stop_p_best: The report recommends stopping once P(best) of an arm is at least this.
        stop_loss: The report recommends stopping once the lowest expected loss is at most this.
        stop_error: The report recommends stopping once all other arms are ruled out. The
            probability that it ever names a wrong arm is at most this, no matter how often you
            look.
        hash_units: Whether to store hashes instead of the names of units.
        client_ids: Whether the ids come from people who may want a certain arm. Choices then use
            random numbers that are stored with the decisions, not the ids.
        metrics: Names of other things to measure, such as refund or latency_ms. Reports show them
            by arm; they don't affect decisions.
        guards: Guardrails: "below" or "above" and a limit for the mean of a metric. The report
            flags an arm that breaks one; nothing else happens.
        features: What you know about a unit when its arm is chosen: numbers, and categories with
            their values. Every decision then needs a context; the default policy is LinearVarTS.
        missing_metrics: By metric, the number that counts for a decision whose window has passed
            without one.
        block: How long a block of time is, in seconds. Arms are compared within blocks, because the
            rewards of all arms may rise and fall together: auto is a day, none compares all
            rewards with each other.
        adjust: Covariates, described like features: what you know about a unit that explains some
            of its reward, such as what it spent before. Estimates are adjusted for them; every
            unit still gets the same chances. Every decision then needs a context.
        rules: How the log is turned into numbers. Experiments from older versions have rules 1;
            `configure` can switch them to 2.
        control: The arm that the report compares all others with: differences, percentages and the
            probability of being better.
        owner: The person or the team that is responsible for the experiment.
        hypothesis: What you expect, and why. Neither this nor the owner affects decisions.

    >>> Options.made(floor=0.05, policy="ucb1").policy
    {'label': 'UCB1'}
    >>> Options.made(holdout=1.5)
    Traceback (most recent call last):
    ...
    ValueError: holdout must be finite and >= 0 and < 1, got 1.5
    """

    goal: str = "max"
    policy: Any = "VarTS"
    prior: Any = None
    floor: float = 0.0
    holdout: float = 0.0
    sticky: bool = False
    clip: tuple[float, float] | None = None
    window: float | None = None
    skew: float = 0.0
    missing: float | None = None
    half_life: float | None = None
    stop_p_best: float | None = None
    stop_loss: float | None = None
    stop_error: float | None = None
    hash_units: bool = False
    client_ids: bool = False
    metrics: tuple[str, ...] = ()
    guards: Mapping[str, Guard] = field(default_factory=dict)
    features: Any = None
    missing_metrics: Mapping[str, float] = field(default_factory=dict)
    block: float | str | None = AUTO
    adjust: Any = None
    rules: int = RULES[-1]
    control: str | None = None
    owner: str | None = None
    hypothesis: str | None = None

    #: Options that can't change, because everything in the log depends on them.
    FIXED: ClassVar[tuple[str, ...]] = ("goal", "hash_units", "features", "adjust")

    @classmethod
    def made(cls, **given: Any) -> Options:
        """Check the given options and bring them into their stored form.

        Args:
            given: Options by name; all others have their defaults.
        """
        if given.get("features") is not None:
            given = {"policy": CONTEXTUAL_POLICY, **given}
        return cls().changed(given)

    @classmethod
    def descriptions(cls) -> dict[str, str]:
        """A description of each option, from the docstring of this class."""
        text = inspect.cleandoc(cls.__doc__ or "")
        found = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", text, re.MULTILINE)
        return {name: " ".join(words.split()) for name, words in found}

    def changed(self, given: Mapping[str, Any]) -> Options:
        """Return these options with other values, and check all of them.

        Args:
            given: The new values by name.
        """
        names = [one.name for one in fields(self)]
        for name in given:
            if name not in names:
                raise ValueError(unknown("option", name, names))
        asked = replace(self, **given)
        policy, prior = stored_policy(asked.policy)
        if prior is None:
            prior = asked.prior
        elif given.get("prior") is not None:
            raise ValueError(
                "prior must be given once, got one in the policy and another as an option"
            )
        made = replace(
            asked,
            goal=choice("goal", asked.goal, ("max", "min")),
            policy=policy,
            prior=stored_prior(prior),
            floor=real("floor", asked.floor, at_least=0, below=1),
            holdout=real("holdout", asked.holdout, at_least=0, below=1),
            sticky=check_flag("sticky", asked.sticky),
            clip=check_range(asked.clip),
            window=check_window(asked.window),
            skew=real("skew", seconds("skew", asked.skew), at_least=0, at_most=LONGEST_WINDOW),
            missing=check_maybe("missing", asked.missing),
            half_life=check_maybe("half_life", asked.half_life, above=0),
            stop_p_best=check_maybe("stop_p_best", asked.stop_p_best, above=0, below=1),
            stop_loss=check_maybe("stop_loss", asked.stop_loss, above=0),
            stop_error=check_maybe("stop_error", asked.stop_error, above=0, below=1),
            hash_units=check_flag("hash_units", asked.hash_units),
            client_ids=check_flag("client_ids", asked.client_ids),
            metrics=check_names(asked.metrics),
            guards=check_guards(asked.guards, asked.metrics),
            features=stored_features(asked.features, asked.metrics),
            missing_metrics=check_missing_metrics(asked.missing_metrics, asked.metrics),
            block=check_block(asked.block),
            adjust=stored_features(asked.adjust, asked.metrics),
            rules=integer("rules", asked.rules, RULES[0], RULES[-1]),
            control=check_words("control", asked.control),
            owner=check_words("owner", asked.owner, LONGEST_OWNER),
            hypothesis=check_words("hypothesis", asked.hypothesis, LONGEST_HYPOTHESIS),
        )
        made._check_combinations()
        # `build` refuses a prior that the policy doesn't accept.
        check_features(
            made.build(None), None if prior is None else prior_from(prior), made.features
        )
        return made

    def _check_combinations(self) -> None:
        """Raise ValueError if two options don't go together."""
        missing = "missing" if self.missing is not None else "missing_metrics"
        if (self.missing is not None or self.missing_metrics) and self.window is None:
            raise ValueError(
                f"window must be given with {missing}, got none: a reward is missing once its "
                "window has passed"
            )
        if self.rules == 1:
            for name in ("missing_metrics", "adjust"):
                if getattr(self, name):
                    raise ValueError(f"rules must be 2 with {name}, got 1")
            return
        if isinstance(self.block, float) and self.half_life is not None:
            raise ValueError(
                "block must be auto or none with a half-life, which weights rewards unequally, "
                f"got {self.block:g}"
            )
        if self.adjust is not None:
            for name in ("features", "half_life"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} must be left out with adjust, got both")

    @property
    def block_length(self) -> int | None:
        """How long a block of time is, in microseconds; None if arms are compared over all time.

        With a half-life rewards have unequal weights, and a policy that uses features has
        regressions instead of sums: neither is compared within blocks.
        """
        if self.rules == 1 or self.half_life is not None or self.features is not None:
            return None
        length = DAY if self.block == AUTO else self.block
        return None if length is None else round(float(length) * 1e6)

    @property
    def counts_units(self) -> bool:
        """Whether statistics tell rewards of the same unit from rewards of others."""
        return self.rules > 1 and self.half_life is None

    @property
    def accounting(self) -> tuple[Any, ...]:
        """How rewards are summed up: if this changes, the sums are made again from the log."""
        half_life = None if self.rules == 1 else self.half_life
        return self.rules, self.block_length, self.counts_units, half_life

    @property
    def settles_at_close(self) -> bool:
        """Whether a decision counts when its window closes, not when its reward arrives."""
        return self.rules > 1 and self.window is not None

    def reconfigured(self, given: Mapping[str, Any]) -> Options:
        """Like `changed`, but for an existing experiment: some options can't change any more.

        Args:
            given: The new values by name.
        """
        made = self.changed(given)
        for name in self.FIXED:
            if getattr(made, name) != getattr(self, name):
                raise ValueError(
                    f"{name} must stay {getattr(self, name)!r} once an experiment exists, "
                    f"got {given[name]!r}"
                )
        if made.rules < self.rules:
            raise ValueError(f"rules must be at least {self.rules}, got {made.rules}")
        old, new = self.build(None), made.build(None)
        if type(old).transform is not type(new).transform:
            raise ValueError(
                f"policy must count rewards as {old.label} does, since the rewards so far were "
                f"counted that way, got {new.label}"
            )
        return made

    @property
    def policy_is_known(self) -> bool:
        """Whether the policy is registered in this process; a user's own policy may not be."""
        return self.policy["label"] in known()

    @property
    def contextual(self) -> bool:
        """Whether the policy uses features; False if it isn't registered in this process."""
        return self.policy_is_known and known()[self.policy["label"]].contextual

    def build(self, K: int | None) -> Policy:
        """Build the policy. With goal "min" its prior is mirrored, to be about -reward.

        Args:
            K: The number of arms; None if it isn't known yet.
        """
        options = {name: value for name, value in self.policy.items() if name != "label"}
        if self.prior is not None:
            kind = known().get(self.policy["label"])
            if kind is not None and "prior" not in options_of(kind):
                raise ValueError(
                    f"{kind.label} takes no prior: give prior=None with the policy (--prior none)"
                )
            prior = prior_from(self.prior)
            if K is not None:
                prior = prior.for_arms(K)
            options["prior"] = prior.mirrored() if self.goal == "min" else prior
        policy: Policy = make(self.policy["label"], **options)
        if self.policy == {"label": VarTS.label} and K is not None and self.learns_prior(K):
            policy = EBVarTS()
        if K is not None:
            policy.check(K)
        return policy

    def learns_prior(self, K: int) -> bool:
        """Whether VarTS takes its prior from the experiment's own arms.

        Args:
            K: The number of arms.
        """
        return self.rules > 1 and self.prior is None and K >= FEWEST_ARMS

    def check_floor(self, active: int) -> None:
        """Raise ValueError if the floors of all arms in play add up to more than 1.

        Args:
            active: The number of arms in play.
        """
        if self.floor * active > 1:
            raise ValueError(
                f"floor must be at most 1/{active} with {active} arms in play, got {self.floor:g}"
            )

    def check_control(self, arms: Sequence[str]) -> None:
        """Raise ValueError if the control isn't one of the arms.

        Args:
            arms: The names of all arms.
        """
        if self.control is not None and self.control not in arms:
            raise ValueError(
                f"control must be one of the arms {abbreviate(list(arms))}, got {self.control!r}"
            )

    def with_arm(self, K: int, prior: Any) -> Options:
        """Return the options with one more arm.

        Args:
            K: The number of arms so far.
            prior: The prior of the new arm, if every arm has its own; None if all share one.
        """
        if prior is None:
            if self.prior is None or not isinstance(self.prior["mu"], list):
                return self
            raise ValueError(
                "prior must be given for a new arm, since every arm has its own, got none"
            )
        if self.prior is None:
            raise ValueError(
                "prior must be left out, since no arm of the experiment has one, "
                f"got {abbreviate(prior)}"
            )
        old, new = prior_from(self.prior).for_arms(K), prior_from(prior)
        if type(old) is not type(new) or new.K not in (None, 1):
            raise ValueError(f"prior must be one {type(old).__name__}, got {abbreviate(prior)}")
        before, added = stored_prior(old) or {}, stored_prior(new.for_arms(1)) or {}
        joined = {name: [*before[name], *added[name]] for name in old._fields}
        return replace(self, prior=stored_prior(joined))

    def differences(self, given: Mapping[str, Any], K: int) -> dict[str, tuple[Any, Any]]:
        """Return the options whose given values differ from the stored ones: (stored, given).

        Priors are compared for the first K arms: arms that were added later brought their own.

        Args:
            given: Options by name.
            K: The number of arms that a given prior is for, if it has an entry per arm.
        """
        stored, asked = self._for_first(K), self.changed(given)._for_first(K)
        names = [one.name for one in fields(self)]
        pairs = {name: (getattr(stored, name), getattr(asked, name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def _for_first(self, K: int) -> Options:
        """Return the options with an entry of the prior for each of the first K arms."""
        if self.prior is None:
            return self
        prior = prior_from(self.prior).take(slice(K)).for_arms(K)
        return replace(self, prior=stored_prior(prior))

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` is the inverse."""
        body: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return body

    def stored(self) -> dict[str, Any]:
        """`to_json` for the log, without the latest options if they aren't used: versions of varts
        that don't know them can go on."""
        return {
            name: value
            for name, value in self.to_json().items()
            if value is not None or name not in LATEST_OPTIONS
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Options:
        """Build options from the result of `to_json`.

        Args:
            body: Plain values by name.
        """
        clip, guards = body.get("clip"), body.get("guards", {})
        changed = {
            "clip": None if clip is None else tuple(clip),
            "metrics": tuple(body.get("metrics", ())),
            "guards": {name: (side, limit) for name, (side, limit) in guards.items()},
            "rules": body.get("rules", RULES[0]),  # logs from before there were rules have none
        }
        return cls(**{**body, **changed})


# ---------------------------------------------------------------------- rules for single values


def check_maybe(name: str, value: Any, **limits: Any) -> float | None:
    """Validate a number that may be None."""
    return None if value is None else real(name, value, **limits)


def check_words(name: str, value: Any, longest: int = LONGEST_TEXT) -> str | None:
    """Validate text that may be None."""
    return None if value is None else check_text(name, value, longest)


def check_window(window: Any) -> float | None:
    """Validate how long a reward may take to arrive; returns seconds."""
    if window is None:
        return None
    return real("window", seconds("window", window), above=0, at_most=LONGEST_WINDOW)


def check_flag(name: str, value: Any) -> bool:
    """Validate True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {abbreviate(value)}")
    return value


def check_names(metrics: Any) -> tuple[str, ...]:
    """Validate names of metrics: keywords of `reward`, and columns of a file."""
    rule = "metrics must be a list of different names such as refund or latency_ms"
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        raise TypeError(f"{rule}, got {abbreviate(metrics)}")
    for name in metrics:
        if not isinstance(name, str) or not name.isidentifier() or name in TAKEN_NAMES:
            raise ValueError(f"{rule}, got {abbreviate(name)}")
    if len(set(metrics)) < len(metrics):
        raise ValueError(f"{rule}, got {abbreviate(metrics)}")
    return tuple(metrics)


def check_guards(guards: Any, metrics: Sequence[str]) -> dict[str, Guard]:
    """Validate guardrails of some of these metrics."""
    if not isinstance(guards, Mapping):
        raise TypeError(
            f'guards must be like {{"refund": ("below", 0.05)}}, got {abbreviate(guards)}'
        )
    out = {}
    for name, guard in guards.items():
        if name not in metrics:
            raise ValueError(unknown("metric", name, metrics))
        if not isinstance(guard, (tuple, list)) or len(guard) != 2:
            raise ValueError(
                f'guard of {name} must be like ("below", 0.05), got {abbreviate(guard)}'
            )
        side = choice(f"guard of {name}", guard[0], tuple(GUARD_SIGNS))
        out[name] = side, real(f"guard of {name}", guard[1])
    return out


def check_missing_metrics(given: Any, metrics: Sequence[str]) -> dict[str, float]:
    """Validate the numbers that count for missing metrics."""
    if not isinstance(given, Mapping):
        raise TypeError(f'missing_metrics must be like {{"margin": 0.0}}, got {abbreviate(given)}')
    for name in given:
        if name not in metrics:
            raise ValueError(unknown("metric", name, metrics))
    return {name: real(f"missing_metrics of {name}", value) for name, value in given.items()}


def check_block(block: Any) -> float | str | None:
    """Validate the length of a block of time: seconds, auto or None."""
    if block is None:
        return None
    if block == AUTO:
        return AUTO
    return real("block", seconds("block", block), at_least=1, at_most=LONGEST_WINDOW)


def check_range(clip: Any) -> tuple[float, float] | None:
    """Validate the two ends of a range, or None."""
    if clip is None:
        return None
    if not isinstance(clip, (tuple, list)) or len(clip) != 2:
        error = ValueError if isinstance(clip, (tuple, list)) else TypeError
        raise error(f"clip must be two numbers, low and high, got {abbreviate(clip)}")
    low, high = real("clip", clip[0]), real("clip", clip[1])
    if not low < high:
        raise ValueError(f"clip must be two numbers, low < high, got {abbreviate(clip)}")
    return low, high


# ---------------------------------------------------------------------- stored forms


def stored_prior(prior: Any) -> dict[str, Any] | None:
    """Return a prior, or its file or numbers, as plain numbers: one for all arms, or one per arm.

    >>> stored_prior({"mu": 5, "kappa": 1, "alpha": 2, "beta": 8})
    {'mu': 5.0, 'kappa': 1.0, 'alpha': 2.0, 'beta': 8.0}
    """
    if prior is None:
        return None
    prior = prior_from(prior)
    return {name: np.asarray(getattr(prior, name)).tolist() for name in prior._fields}


def policy_from(policy: Any) -> Policy:
    """Return the policy for a policy, its label, or a mapping with the label and options.

    >>> policy_from({"label": "VarTS", "tails": True}).tails
    True
    """
    if isinstance(policy, dict):
        policy = make(policy.get("label", ""), **{k: v for k, v in policy.items() if k != "label"})
    return make(policy)


def stored_policy(policy: Any) -> tuple[dict[str, Any], Prior | None]:
    """Split a policy into its stored form, a label with options, and its prior."""
    policy = policy_from(policy)
    if isinstance(policy, Fading):
        raise ValueError(
            "policy must be given without a half-life, which is an option of the experiment, "
            f"got {policy.label!r}"
        )
    if known().get(policy.label) is not type(policy):
        raise ValueError(
            f"policy must be registered under its label, so that the log can name it, got "
            f"{policy.label!r}; decorate its class with varts.register"
        )
    if isinstance(policy, SequentialHalving):
        raise ValueError(
            f"policy must decide unit by unit, got {policy.label!r}, which plays batches; T3C "
            "finds the best arm of a live experiment"
        )
    if policy.has_memory:
        raise ValueError(
            f"policy must be a function of the statistics, got {policy.label!r}, which has its own "
            "memory, so that its decisions can't be replayed from the log"
        )
    if not is_dataclass(policy):
        raise ValueError(
            f"policy must be a dataclass, so that its options can be stored, got {policy.label!r}; "
            "decorate its class with dataclass(frozen=True)"
        )
    body = {one.name: getattr(policy, one.name) for one in fields(policy)}
    prior = body.pop("prior", None)
    defaults = {one.name: one.default for one in fields(policy)}
    stored = {k: np.asarray(v).tolist() for k, v in body.items() if np.any(v != defaults[k])}
    return {"label": policy.label, **stored}, prior


def stored_features(features: Any, metrics: Sequence[str]) -> dict[str, Any] | None:
    """Return a description of features as plain values, with the version of that form.

    >>> stored_features({"visits": "number"}, ())
    {'version': 1, 'kinds': {'visits': 'number'}, 'interactions': [], 'optional': []}
    """
    if features is None:
        return None
    given = features
    if isinstance(features, Mapping) and isinstance(features.get("kinds"), Mapping):
        given = {name: value for name, value in features.items() if name != "version"}
        version = features.get("version", FEATURES_VERSION)
        if version != FEATURES_VERSION:
            raise ValueError(
                f"version of the features must be {FEATURES_VERSION}, got {abbreviate(version)}"
            )
    made = features_from(given)
    if not made.kinds:
        raise ValueError("features must have at least one feature, got none")
    for name in made.kinds:
        if name in TAKEN_NAMES or name in metrics:
            raise ValueError(
                "features must not be named like a metric or a column of an exported log, "
                f"got {name!r}"
            )
    return {"version": FEATURES_VERSION, **made.to_dict()}


def read_features(stored: Mapping[str, Any] | None) -> Features | None:
    """Build features from the result of `stored_features`."""
    if stored is None:
        return None
    return Features.from_dict({name: one for name, one in stored.items() if name != "version"})


def check_features(policy: Policy, prior: Prior | None, stored: Mapping[str, Any] | None) -> None:
    """Raise ValueError unless policy, prior and features go together."""
    features = read_features(stored)
    if features is None:
        if policy.contextual:
            raise ValueError(f"features must be given for {policy.label}, got none")
    elif isinstance(prior, LinearNormalGamma):
        if prior.d != features.d:
            raise ValueError(
                f"prior must have {features.d} features, for the columns "
                f"{abbreviate(list(features.columns))}, got {prior.d}"
            )
        if prior.features not in (None, features.columns):
            raise ValueError(
                f"prior must be for the columns {abbreviate(list(features.columns))}, "
                f"got {abbreviate(list(prior.features or ()))}"
            )


# ---------------------------------------------------------------------- as a person types them


def typed_none(name: str) -> Any:
    """The value that the word `none` stands for: the default, or no blocks of time.

    >>> typed_none("floor"), typed_none("block")
    (0.0, None)
    """
    return None if name == "block" else getattr(Options(), name)


def _read_text(name: str, text: str) -> str:
    return text


def _read_number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None


def _read_range(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise ValueError(f"{name} must be two numbers, LOW,HIGH, got {text!r}") from None
    return low, high


def _read_names(name: str, text: str) -> list[str]:
    return [one.strip() for one in text.split(",")]


def _read_guards(name: str, text: str) -> dict[str, Guard]:
    """Read guardrails by metric.

    >>> _read_guards("guards", "refund<0.05,rating>4")
    {'refund': ('below', 0.05), 'rating': ('above', 4.0)}
    """
    out = {}
    for guard in text.split(","):
        side = "below" if GUARD_SIGNS["below"] in guard else "above"
        metric, _, limit = guard.partition(GUARD_SIGNS[side])
        try:
            out[metric.strip()] = side, float(limit)
        except ValueError:
            raise ValueError(
                f"{name} must be limits like refund<0.05,rating>4, got {text!r}"
            ) from None
    return out


def _read_block(name: str, text: str) -> float | str:
    return AUTO if text.strip().lower() == AUTO else seconds(name, text)


def _read_metrics(name: str, text: str) -> dict[str, float]:
    """Read numbers by metric.

    >>> _read_metrics("missing_metrics", "margin=0,visits=1")
    {'margin': 0.0, 'visits': 1.0}
    """
    pairs = [one.partition("=") for one in text.split(",")]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError(f"{name} must be numbers like margin=0,visits=1, got {text!r}")
    return {metric.strip(): _read_number(name, value) for metric, _, value in pairs}


def _read_rules(name: str, text: str) -> int:
    if text.strip() not in map(str, RULES):
        raise ValueError(f"{name} must be one of {', '.join(map(str, RULES))}, got {text!r}")
    return int(text)


def parse_features(name: str, text: str) -> dict[str, Any]:
    """Read features with their kinds, or JSON.

    Separate categories with `/`. A number that may be missing is `number/missing`.

    >>> parse_features("features", "country=NL/BE,visits=number")
    {'kinds': {'country': ['NL', 'BE'], 'visits': 'number'}, 'optional': []}
    >>> parse_features("features", '{"visits": "number"}')
    {'visits': 'number'}
    """
    rule = f"{name} must be like country=NL/BE,visits=number, or JSON"
    if text.lstrip().startswith("{"):
        return _read_object(rule, text)
    kinds: dict[str, str | list[str]] = {}
    optional = []
    for feature, equals, kind in (one.partition("=") for one in text.split(",")):
        feature, words = feature.strip(), [word.strip() for word in kind.split("/")]
        if not feature or not equals or not all(words) or feature in kinds:
            raise ValueError(f"{rule}, got {text!r}")
        if words == [NUMBER, MISSING]:
            optional.append(feature)
        kinds[feature] = NUMBER if words in ([NUMBER], [NUMBER, MISSING]) else words
    return {"kinds": kinds, "optional": optional}


def read_context(text: str, features: Features | None) -> dict[str, Any]:
    """Read the context of a unit: values by feature, or JSON. An empty value is missing.

    >>> features = Features({"country": ["NL", "BE"], "visits": "number"})
    >>> read_context("country=NL,visits=3", features)
    {'country': 'NL', 'visits': 3.0}
    """
    rule = "context must be like country=NL,visits=3, or JSON"
    if text.lstrip().startswith("{"):
        return _read_object(rule, text)
    kinds = {} if features is None else features.kinds
    out: dict[str, Any] = {}
    for feature, equals, value in (one.partition("=") for one in text.split(",")):
        feature, value = feature.strip(), value.strip()
        if not feature or not equals or feature in out:
            raise ValueError(f"{rule}, got {text!r}")
        number = kinds.get(feature) == NUMBER
        out[feature] = None if not value else _read_number(feature, value) if number else value
    return out


def _read_object(rule: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{rule}, got {text!r}") from None
    return dict(found)


def features_text(stored: Mapping[str, Any]) -> str:
    """Return features as you type them, or as JSON if they can't be typed that way.

    >>> features_text({"version": 1, "kinds": {"country": ["NL", "BE"], "visits": "number"},
    ...                "interactions": [], "optional": ["visits"]})
    'country=NL/BE,visits=number/missing'
    """
    kinds, optional = stored["kinds"], stored["optional"]
    words = {
        name: f"{NUMBER}/{MISSING}" if name in optional else kind
        for name, kind in ((n, k if isinstance(k, str) else "/".join(k)) for n, k in kinds.items())
    }
    typed = ",".join(f"{name}={kind}" for name, kind in words.items())
    body = {name: value for name, value in stored.items() if name != "version"}
    try:
        same = features_from(parse_features("features", typed)) == features_from(body)
    except (TypeError, ValueError):
        same = False
    return typed if same else json.dumps(body)


def _read_policy(name: str, text: str) -> Any:
    """Read a label, or a label with options.

    >>> _read_policy("policy", "UCB-V,zeta=1.2")
    {'label': 'UCB-V', 'zeta': 1.2}
    >>> _read_policy("policy", "VarTS,tails=true")
    {'label': 'VarTS', 'tails': True}
    """
    label, *options = text.split(",")
    pairs = [option.partition("=") for option in options]
    words = {"true": True, "false": False}
    try:
        values = {
            key.strip(): words[value] if value in words else float(value) for key, _, value in pairs
        }
    except ValueError:
        raise ValueError(
            f"{name} must be a label, or one with options like UCB-V,zeta=1.2, got {text!r}"
        ) from None
    return {"label": label.strip(), **values} if values else label


# For each option that isn't a flag: how help texts name its value, and the function that reads it.
# The prior is missing: on a command line it may be a file, but a form must not read files.
TYPED_OPTIONS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "goal": ("max|min", _read_text),
    "policy": ("LABEL[,OPTION=VALUE]", _read_policy),
    "floor": ("SHARE", _read_number),
    "holdout": ("SHARE", _read_number),
    "clip": ("LOW,HIGH", _read_range),
    "window": ("SECONDS|30m|24h|7d", seconds),
    "skew": ("SECONDS|30m|24h", seconds),
    "missing": ("REWARD", _read_number),
    "half_life": ("REWARDS", _read_number),
    "stop_p_best": ("P", _read_number),
    "stop_loss": ("LOSS", _read_number),
    "stop_error": ("P", _read_number),
    "metrics": ("NAME[,NAME]", _read_names),
    "guards": ("NAME<LIMIT", _read_guards),
    "features": ("NAME=number|NAME=WORD/WORD", parse_features),
    "missing_metrics": ("NAME=NUMBER", _read_metrics),
    "block": ("auto|SECONDS|1h|1d", _read_block),
    "adjust": ("NAME=number|NAME=WORD/WORD", parse_features),
    "rules": ("1|2", _read_rules),
    "control": ("ARM", _read_text),
    "owner": ("NAME", _read_text),
    "hypothesis": ("TEXT", _read_text),
}

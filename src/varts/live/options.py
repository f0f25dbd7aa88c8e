"""The options of a live experiment: what they are, what they must be, how they are stored.

`Options` is the one place that knows them; `varts.open`, `configure`, the command line and the
log all pass through it. The flags of the command line, with their help, are made of its fields and
its docstring; `GivenOptions` shows the same keywords to editors.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypedDict

import numpy as np

from varts._validation import abbreviate, choice, real, unknown
from varts.features import Features
from varts.live.option_values import (
    check_flag,
    check_guards,
    check_maybe,
    check_names,
    check_range,
    fit_features,
    stored_features,
    stored_policy,
)
from varts.policies import Policy, PolicyLike, known, make, options_of
from varts.priors import PriorLike, prior_from

LONGEST_WINDOW = 100 * 365.25 * 86400  # seconds: a century
CONTEXTUAL_POLICY = "LinearVarTS"  # of an experiment with features, unless another one is given


class GivenOptions(TypedDict, total=False):
    """The keywords of `varts.open` and `configure`, as a person may give them; see `Options`."""

    goal: Literal["max", "min"]
    policy: PolicyLike | Mapping[str, Any]
    prior: PriorLike | None
    floor: float
    holdout: float
    sticky: bool
    clip: tuple[float, float] | list[float] | None
    window: float | None
    skew: float
    missing: float | None
    half_life: float | None
    stop_p_best: float | None
    stop_loss: float | None
    stop_error: float | None
    hash_units: bool
    client_ids: bool
    metrics: Sequence[str]
    guards: Mapping[str, tuple[str, float]]
    features: Features | Mapping[str, Any] | None


@dataclass(frozen=True)
class Options:
    """The options of an experiment in the form that is stored; `Options.made` checks them.

    `configure` may change all of them but `goal`, `hash_units` and `features`.

    Args:
        goal: Whether higher or lower is better: max or min.
        policy: What chooses the arms: one of `varts policies`, or of your own.
        prior: What is known before the first reward: a prior, its file or its numbers.
        floor: Share of the traffic that every arm in play gets at least.
        holdout: Share of the units that get an even split for ever.
        sticky: Whether a unit keeps its arm.
        clip: Low and high; a reward outside counts as the nearer end, and the raw value is kept.
        window: How long a reward may take, in seconds.
        skew: How far the database's clock may jump, in seconds; a window closes that much later.
        missing: What a decision counts as when its reward misses the window.
        half_life: After this many rewards, an older one counts half.
        stop_p_best: The report says that you may stop once some arm's P(best) is this.
        stop_loss: The report says so once the smallest expected loss is this.
        stop_error: The report says so once an arm is best for certain, with at most this chance
            that it ever says so of a wrong one, however often one looks.
        hash_units: Whether units are stored as hashes.
        client_ids: Whether ids come from people who may want a certain arm: choices are then drawn
            from random numbers that are stored with them, and not from the ids.
        metrics: Names of what else is measured of a decision, and reported by arm: a refund, a
            latency. They change no decision.
        guards: For some of the metrics, "below" or "above" and a limit that their mean should keep;
            the report flags an arm that does not, and nothing else happens.
        features: What is known of a unit when its arm is chosen: numbers, and categories with their
            values. Every decision then has a context; the policy is LinearVarTS unless you say.

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
    guards: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    features: Any = None

    FIXED: ClassVar[tuple[str, ...]] = ("goal", "hash_units", "features")  # the log needs them

    @classmethod
    def made(cls, **given: Any) -> Options:
        """Checked and in the form that is stored.

        Args:
            given: Options by name; the others have their defaults.
        """
        if given.get("features") is not None:
            given = {"policy": CONTEXTUAL_POLICY, **given}
        return cls().changed(given)

    @classmethod
    def descriptions(cls) -> dict[str, str]:
        """What each option does, in a sentence: the words of the docstring above."""
        text = inspect.cleandoc(cls.__doc__ or "")
        found = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", text, re.MULTILINE)
        return {name: " ".join(words.split()) for name, words in found}

    def changed(self, given: Mapping[str, Any]) -> Options:
        """With these options instead; every value is checked.

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
            raise ValueError("prior must be given once, got one in the policy and one beside it")
        made = replace(
            asked,
            goal=choice("goal", asked.goal, ("max", "min")),
            policy=policy,
            prior=stored_prior(prior),
            floor=real("floor", asked.floor, at_least=0, below=1),
            holdout=real("holdout", asked.holdout, at_least=0, below=1),
            sticky=check_flag("sticky", asked.sticky),
            clip=check_range(asked.clip),
            window=check_maybe("window", asked.window, above=0, at_most=LONGEST_WINDOW),
            skew=real("skew", asked.skew, at_least=0, at_most=LONGEST_WINDOW),
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
        )
        if made.missing is not None and made.window is None:
            raise ValueError(
                "window must be given for a missing reward to count as anything, got none"
            )
        # A prior the policy cannot take is refused here.
        fit_features(made.build(None), None if prior is None else prior_from(prior), made.features)
        return made

    def reconfigured(self, given: Mapping[str, Any]) -> Options:
        """`changed`, for an experiment that has rewards already.

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
        old, new = self.build(None), made.build(None)
        if type(old).transform is not type(new).transform:
            raise ValueError(
                f"policy must count rewards as {old.label} does, since those so far are counted "
                f"that way, got {new.label}"
            )
        return made

    @property
    def policy_is_known(self) -> bool:
        """Whether this process has registered the policy: one of a user's own may be missing."""
        return self.policy["label"] in known()

    @property
    def contextual(self) -> bool:
        """Whether the policy looks at features, as far as this process knows it."""
        return self.policy_is_known and known()[self.policy["label"]].contextual

    def build(self, K: int | None) -> Policy:
        """The policy, able to play K arms; for goal "min" its prior is that of -reward.

        Args:
            K: The number of arms; None if that is not known yet.
        """
        options = {name: value for name, value in self.policy.items() if name != "label"}
        if self.prior is not None:
            kind = known().get(self.policy["label"])
            if kind is not None and "prior" not in options_of(kind):
                raise ValueError(
                    f"{kind.label} takes no prior: give prior=None beside the policy (--prior none)"
                )
            prior = prior_from(self.prior)
            if K is not None:
                prior = prior.for_arms(K)
            options["prior"] = prior.mirrored() if self.goal == "min" else prior
        policy = make(self.policy["label"], **options)
        if K is not None:
            policy.check(K)
        return policy

    def check_floor(self, active: int) -> None:
        """Raise ValueError if so many arms in play are too many for the floor.

        Args:
            active: The number of arms in play.
        """
        if self.floor * active > 1:
            raise ValueError(
                f"floor must be at most 1/{active} with {active} arms in play, got {self.floor:g}"
            )

    def with_arm(self, K: int, prior: Any) -> Options:
        """One arm more than K: its prior is the shared one, or must be given.

        Args:
            K: The number of arms so far.
            prior: That of the new arm, or None.
        """
        if prior is None:
            if self.prior is None or not isinstance(self.prior["mu"], list):
                return self
            raise ValueError("prior must be given for a new arm, since every arm has its own")
        if self.prior is None:
            raise ValueError("prior must be left out, since no arm of the experiment has one")
        old, new = prior_from(self.prior).for_arms(K), prior_from(prior)
        if type(old) is not type(new) or new.K not in (None, 1):
            raise ValueError(f"prior must be one {type(old).__name__}, got {abbreviate(prior)}")
        before, added = stored_prior(old) or {}, stored_prior(new.for_arms(1)) or {}
        joined = {name: [*before[name], *added[name]] for name in old._fields}
        return replace(self, prior=stored_prior(joined))

    def differences(self, given: Mapping[str, Any], K: int) -> dict[str, tuple[Any, Any]]:
        """Stored and asked for, by option, where the given ones differ from what is stored.

        Of priors the first K arms count: those of arms that were added since came with them.

        Args:
            given: The options asked for, by name.
            K: The number of arms that the prior asked for has, if it has one per arm.
        """
        stored, asked = self._for_first(K), self.changed(given)._for_first(K)
        names = [one.name for one in fields(self)]
        pairs = {name: (getattr(stored, name), getattr(asked, name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def _for_first(self, K: int) -> Options:
        """With the prior written out for the first K arms."""
        if self.prior is None:
            return self
        prior = prior_from(self.prior).take(slice(K)).for_arms(K)
        return replace(self, prior=stored_prior(prior))

    def to_json(self) -> dict[str, Any]:
        """Plain values only; the inverse is `from_json`."""
        body: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return body

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Options:
        """What `to_json` gave.

        Args:
            body: Plain values by name.
        """
        clip, guards = body.get("clip"), body.get("guards", {})
        changed = {
            "clip": None if clip is None else tuple(clip),
            "metrics": tuple(body.get("metrics", ())),
            "guards": {name: (side, limit) for name, (side, limit) in guards.items()},
        }
        return cls(**{**body, **changed})


def stored_prior(prior: Any) -> dict[str, Any] | None:
    """A prior, or whatever stands for one, as plain numbers: an entry per arm, in their order."""
    if prior is None:
        return None
    prior = prior_from(prior)
    return {name: np.asarray(getattr(prior, name)).tolist() for name in prior._fields}

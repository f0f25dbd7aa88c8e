"""Does a prior with features help? How probable it makes the rewards of arms that it has not seen.

The history is split several times. Each time a prior is learnt from four fifths of the arms, and
the rewards of the others are foreseen with it, one after the other, and with what LinearVarTS
starts from without a prior: the means of all rewards, worth one of them. The difference of the two
log densities, in nats an arm, is what rewards need not tell because the prior knows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from varts import _seeding
from varts._validation import Floats
from varts.fitting.history import History
from varts.linear_stats import LinearStats
from varts.policies.linear import unit_free_linear_prior
from varts.priors import LinearNormalGamma

FOLDS, REPEATS = 5, 2  # 10 splits
FEWEST_ARMS = 10  # else nothing is held out
MOST_ARMS = 1000  # of a larger history, as many are drawn
CLEAR_SHARE, CLEAR_GAIN = 0.8, 0.1  # splits that agree, and nats an arm, to be a clear difference


@dataclass(frozen=True, eq=False)
class HeldOutEvidence:
    """The mean log density of the rewards of arms that were held out, a number per split."""

    with_prior: Floats
    without: Floats

    @property
    def gain(self) -> float:
        """Nats an arm; negative if the prior makes the rewards less probable."""
        return float((self.with_prior - self.without).mean())

    @property
    def splits(self) -> int:
        """How often the history was split."""
        return int(self.with_prior.size)

    @property
    def better(self) -> int:
        """In how many splits the rewards were more probable with the prior."""
        return int((self.with_prior > self.without).sum())

    @property
    def verdict(self) -> str:
        """Whether it is clear: "use", "leave" or "unclear"."""
        clear = CLEAR_SHARE * self.splits
        if self.gain >= CLEAR_GAIN and self.better >= clear:
            return "use"
        worse = self.gain <= -CLEAR_GAIN and self.splits - self.better >= clear
        return "leave" if worse else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the prior's JSON."""
        whole = {"better": self.better, "splits": self.splits}
        return {"gain": self.gain, **whole, "verdict": self.verdict}

    def __str__(self) -> str:
        if self.verdict == "unclear":
            return (
                f"the prior foresees rewards no clearly better or worse ({self.gain:+.1f} nats an "
                f"arm, better in {self.better} of {self.splits} splits)"
            )
        helps = self.verdict == "use"
        agree = self.better if helps else self.splits - self.better
        return (
            f"the prior foresees rewards of new arms {'better' if helps else 'worse'} by "
            f"{abs(self.gain):.1f} nats an arm (in {agree} of {self.splits} splits)"
        )


def hold_out_evidence(
    history: History, learn: Callable[[History], LinearNormalGamma]
) -> HeldOutEvidence | None:
    """Compare the prior that `learn` makes of a part of the history with none.

    None if there are too few arms to hold out.
    """
    contexts = history.contexts
    if contexts is None or contexts.K < FEWEST_ARMS:
        return None
    rng = _seeding.generator(0, _seeding.HELD_OUT)
    drawn = rng.permutation(contexts.K)[:MOST_ARMS]
    scores = []
    for _ in range(REPEATS):
        order = rng.permutation(drawn)
        for fold in range(FOLDS):
            apart = np.sort(order[fold::FOLDS])
            kept = np.setdiff1d(order, apart)
            part = replace(history, arms=history.arms[kept], contexts=contexts.take(kept))
            try:
                prior = learn(part)
            except ValueError:  # what is left says nothing, as equal rewards do
                continue
            scores.append(_score(prior, contexts, kept, apart, history))
    return HeldOutEvidence(*np.array(scores).T) if scores else None


def _score(
    prior: LinearNormalGamma, contexts: LinearStats, kept: Any, apart: Any, history: History
) -> tuple[float, float]:
    """Of the arms apart: with the prior, and without one."""
    arms = contexts.take(apart)
    plain = unit_free_linear_prior(contexts.take(kept).pooled())
    with_prior = np.empty(arms.K)
    for j in range(arms.K):
        own = prior
        if prior.names is not None:
            group, names = history.arms["group"][int(apart[j])], list(prior.names)
            rest: Any = prior.others
            own = prior.take(names.index(group)) if group in names else rest
        with_prior[j] = own.log_evidence(arms.take([j]))[0]
    return float(with_prior.mean()), float(plain.log_evidence(arms).mean())

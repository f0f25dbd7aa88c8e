"""A study whose runs end when a stopping rule says so.

A rule that is compiled looks in every round, or at the given looks, and ends the loop. One that
needs an integral looks at a run that was played to the horizon, and what came later is forgotten.
Either way a run is played by itself: its statistics are what it leaves behind.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.policies import Policy
from varts.simulation.engine.blocks import Prepared, Work, average_curves
from varts.simulation.engine.certainty import ENDED
from varts.simulation.engine.compilation import loop_of
from varts.simulation.engine.looks import GAP, M2, MEAN, NO_LOOKS, PULLS, N, allocate_notes
from varts.simulation.engine.loop import allocate
from varts.simulation.results import Ending, PolicyResult, recommend_arms, score_arms
from varts.stats import ArmStats
from varts.stopping import StopRule

NEVER = 0  # rounds begin with 1


@dataclass(frozen=True)
class EndedWork(Work):
    """Work whose runs end by a rule, which looks at the given rounds; at every round for none."""

    stop: StopRule | None = None
    looks: tuple[int, ...] = ()

    @property
    def rule(self) -> StopRule:
        """The rule."""
        assert self.stop is not None
        return self.stop

    def _prepare(self, policy: Policy) -> Prepared:
        loop = loop_of(policy, self.problem, self.naive, self.rule.compiled)
        return super()._prepare(policy)._replace(loop=loop)

    @cached_property
    def _told(self) -> tuple[Floats, NDArray[np.int64]]:
        """What a compiled rule is told in all runs."""
        looks = [*self.looks, NEVER] if self.looks else []
        return self.rule.numbers(self.problem.K), np.array(looks, dtype=np.int64)

    def _play_call(
        self,
        first: int,
        count: int,
        stop: NDArray[np.uint8] | None,
        counter: NDArray[np.int64] | None,
    ) -> dict[str, PolicyResult] | None:
        first_run, runs = self._runs_of(first, count)
        instances, results = self._draw(first, count), {}
        end = self._end_when_told if self.rule.compiled else self._end_at_look
        for label in self.policies:
            began = time.perf_counter()
            rows = []
            for r in range(runs):
                row = end(label, first_run + r, instances[:, r : r + 1], stop, counter)
                if row is None:
                    return None
                rows.append(row)
            *ended, final, share, curves = map(np.array, zip(*rows, strict=True))
            ending, curve = Ending(*ended), average_curves(curves)
            seconds = time.perf_counter() - began
            results[label] = PolicyResult(final, share, curve, None, seconds, ending)
        return results

    def _end_when_told(
        self, label: str, run: int, instance: Floats, stop: Any, counter: Any
    ) -> tuple[Any, ...] | None:
        """Of a run: round, whether by the rule, the arm, its loss; regret, share and curve."""
        notes = np.zeros(3, dtype=np.int64)
        scratch = allocate(  # type: ignore[no-untyped-call]
            self.problem.K, NO_LOOKS, (*self._told, notes)
        )
        played = self._play(label, run, instance, stop, counter, scratch)
        if played is None:
            return None
        (final,), (share,), (curve,) = played
        n, mean, m2, gap = scratch[:4]
        stopped = bool(notes[ENDED])
        arm = int(mean.argmax()) if stopped else self._recommend(label, run, n, mean, m2)
        return int(n.sum()), stopped, arm, gap[arm], final, share, curve

    def _end_at_look(
        self, label: str, run: int, instance: Floats, stop: Any, counter: Any
    ) -> tuple[Any, ...] | None:
        """The same where the rule is asked afterwards what it would have done."""
        looks = self.looks if self.looks[-1] == self.horizon else (*self.looks, self.horizon)
        notes = allocate_notes(looks, 1, self.problem.K)  # type: ignore[no-untyped-call]
        scratch = self._allocate(label, notes)
        played = self._play(label, run, instance, stop, counter, scratch)
        if played is None:
            return None
        curve, decided = played[2][0], None
        for k in range(len(self.looks)):
            stats = ArmStats._trusted(*(notes.arms[row, k].copy() for row in (N, MEAN, M2)))
            decided = self.rule.decide(stats)
            if decided is not None:
                break
        else:
            k = len(looks) - 1
        n, mean, m2, pulls, gap = (notes.arms[row, k] for row in (N, MEAN, M2, PULLS, GAP))
        arm = self._recommend(label, run, n, mean, m2) if decided is None else decided
        at = int(np.searchsorted(self.rounds, looks[k]))
        curve[at:] = curve[at]
        share = pulls[gap == 0].sum() / looks[k]
        return looks[k], decided is not None, arm, gap[arm], curve[at], share, curve

    def _recommend(self, label: str, run: int, *statistics: Floats) -> int:
        """The arm of a run that the rule did not end: that of the highest mean believed in."""
        n, mean, m2 = (row[None] for row in statistics)
        scores = score_arms(self.policies[label], n, mean, m2, by="belief")
        return int(recommend_arms(scores, n, np.array([run]))[0])

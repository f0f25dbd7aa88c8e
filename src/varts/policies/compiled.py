"""Policies of your own that the engine compiles, besides indices and Student-t beliefs.

- `DrawPolicy`: Thompson sampling from any family of distributions, by its quantile function.
- `StatePolicy`: any choice at all, with a fixed amount of state.

Both run a hundred to a thousand times faster than the same policy in plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from varts._validation import Floats
from varts.beliefs import pick_best
from varts.policies.base import Compiled, Policy
from varts.stats import ArmStats, merged


@dataclass(frozen=True)
class DrawPolicy(Policy):
    """Thompson sampling: draw each arm's mean from any distribution, pull the largest draw.

    `draw(n, mean, m2, u, *fields)` returns the quantile of an arm's distribution at u, a uniform
    number in (0, 1), in plain arithmetic on numbers or arrays. The dataclass's fields arrive as
    trailing arguments.

    >>> from varts import choose
    >>> class LaplaceTS(DrawPolicy):
    ...     label, initial_pulls = "Laplace-TS", 2
    ...     @staticmethod
    ...     def draw(n, mean, m2, u):
    ...         scale = np.sqrt(m2 / 2) / n
    ...         return mean - scale * np.sign(u - 0.5) * np.log(1 - 2 * np.abs(u - 0.5))
    >>> stats = ArmStats([10, 10], [0, 3], [10, 10])
    >>> choose(LaplaceTS(), stats, rng=np.random.default_rng(0))
    1
    """

    initial_pulls: ClassVar[int] = 1
    compiled: ClassVar[Compiled | None] = Compiled("draw", ("choose", "transform"))

    @staticmethod
    def draw(*args: Any, **kwargs: Any) -> Any:
        """Compute a quantile: plain arithmetic on numbers or arrays.

        Args:
            args: n, mean, m2, u and the fields.
            kwargs: Not used.
        """
        raise NotImplementedError("a DrawPolicy must define draw(n, mean, m2, u)")

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        self._ready(stats)
        fields = self.parameters(stats).T
        draws = self.draw(stats.n, stats.mean, stats.m2, rng.random(stats.K), *fields)
        return pick_best(np.asarray(draws, dtype=np.float64), rng)

    def check(self, K: int) -> None:
        super().check(K)
        self.parameters(ArmStats.empty(K))


@dataclass(frozen=True)
class StatePolicy(Policy):
    """Any choice of an arm, compiled, with a fixed amount of state for each arm and run.

    `pick(t, n, mean, m2, arms, run, rng, *fields)` returns an arm. `n`, `mean` and `m2` are arrays
    with a number per arm. `arms` has a row of `arm_numbers` numbers per arm and `run` has
    `run_numbers` numbers; both start at 0 in every run, and the policy may change them at will.
    `rng` is for the functions of `varts.draws`. `learn(arm, reward, n, mean, m2, arms, run, rng,
    *fields)`, if there is one, sees every reward after the statistics do, those of initial pulls
    included. `answer(n, mean, m2, arms, run, rng, *fields)`, if there is one, returns the arm to
    recommend after a run, or -1 to leave it to the statistics. All are plain loops and arithmetic
    that Numba can compile.

    A field with a value per arm must be among the last `arm_fields` columns of `parameters`. An
    arm's row of `arms` starts with these numbers in place of zeros, and the functions don't get
    them as arguments.

    Without state of its own a policy can also run live.

    >>> from varts import choose, draws
    >>> class ExploreThenCommit(StatePolicy):
    ...     label, run_numbers = "ETC", 1
    ...     @staticmethod
    ...     def pick(t, n, mean, m2, arms, run, rng):
    ...         if t <= 20 * len(n):
    ...             return (t - 1) % len(n)
    ...         if run[0] == 0:
    ...             run[0] = 1 + np.argmax(mean)
    ...         return int(run[0]) - 1
    >>> from varts import GaussianBandit, simulate
    >>> problem = GaussianBandit.fixed(mean=[0, 0.1, 1], sigma=1)
    >>> study = simulate(problem, ExploreThenCommit(), horizon=500, runs=100)
    >>> float(np.median(study.final["ETC"]).round(6))    # 20 * 1.0 + 20 * 0.9
    38.0
    """

    arm_numbers: ClassVar[int] = 0
    run_numbers: ClassVar[int] = 0
    arm_fields: ClassVar[int] = 0
    compiled: ClassVar[Compiled | None] = Compiled(
        "state", ("choose", "start", "update", "transform")
    )

    #: See above; None if the policy needs to see no rewards.
    learn: ClassVar[Any] = None
    #: See above; None if the statistics say which arm to recommend.
    answer: ClassVar[Any] = None

    @staticmethod
    def pick(*args: Any, **kwargs: Any) -> Any:
        """Return the arm to pull.

        Args:
            args: t, n, mean, m2, arms, run, rng and the fields.
            kwargs: Not used.
        """
        raise NotImplementedError("a StatePolicy must define pick(t, n, mean, m2, arms, run, rng)")

    @property
    def has_memory(self) -> bool:
        return self.arm_numbers + self.run_numbers > 0 or self.learn is not None

    def start(self, K: int, rng: np.random.Generator) -> None:
        statistics = tuple(np.zeros((3, K)))
        arms = np.zeros((K, self.arm_numbers))
        arms[:, : self.arm_fields] = self._parameters(ArmStats.empty(K))[1]
        self.__dict__["_own"] = statistics, arms, np.zeros(self.run_numbers)

    def update(self, arm: int, reward: float, rng: np.random.Generator) -> None:
        (n, mean, m2), arms, run = self.__dict__["_own"]
        n[arm], mean[arm], m2[arm] = merged(n[arm], mean[arm], m2[arm], 1.0, reward, 0.0)
        if self.learn is not None:
            fields = self._parameters(ArmStats.empty(len(n)))[0]
            self.learn(arm, reward, n, mean, m2, arms, run, rng, *fields)

    def choose(self, stats: ArmStats, t: int, rng: np.random.Generator) -> int:
        no_state = None, np.zeros((stats.K, 0)), np.zeros(0)
        _, arms, run = self.__dict__.get("_own", no_state)
        statistics, fields = (stats.n, stats.mean, stats.m2), self._parameters(stats)[0]
        return int(self.pick(t, *statistics, arms, run, rng, *fields))

    def answer_now(self, rng: np.random.Generator) -> int:
        """Return the arm that `answer` recommends in this run, or -1.

        Args:
            rng: The random number generator to use.
        """
        if self.answer is None:
            return -1
        statistics, arms, run = self.__dict__["_own"]
        fields = self._parameters(ArmStats.empty(len(arms)))[0]
        return int(self.answer(*statistics, arms, run, rng, *fields))

    def _parameters(self, stats: ArmStats) -> tuple[Floats, Floats]:
        """Return the fields that functions get, and the numbers that each arm's row starts with."""
        given = self.parameters(stats)
        shared = given.shape[1] - self.arm_fields
        return given[0, :shared], given[:, shared:]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_own"}

    def check(self, K: int) -> None:
        super().check(K)
        self.parameters(ArmStats.empty(K))

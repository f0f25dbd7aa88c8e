"""A study cut into blocks: a few runs of every policy on the same instances.

A block is a pure function of its arguments. Blocks have a fixed size whatever the number of
threads or machines, and their results are merged in order, so results are equal to the last bit.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts import _seeding
from varts._progress import Progress
from varts._validation import Floats
from varts.delays import Delay
from varts.policies import BeliefPolicy, Policy
from varts.policies.compiled import StatePolicy
from varts.policies.linear import LinearPolicy, LinearSampler
from varts.problems import (
    BernoulliBandit,
    BetaBandit,
    Drifting,
    EmpiricalBandit,
    Fixed,
    GaussianBandit,
    Instances,
    Problem,
    Returning,
    RevenueBandit,
)
from varts.problems.contextual import ContextualProblem
from varts.problems.drift import STILL
from varts.problems.revenue import REVENUES
from varts.simulation.engine import splitmix
from varts.simulation.engine.call import NEVER, Call, address_of, table_of
from varts.simulation.engine.checkpoints import (
    GAP,
    HIGHEST,
    HITS,
    M2,
    MEAN,
    NO_NOTES,
    PULLS,
    TIE,
    N,
    Notes,
    allocate_notes,
    notes_of_thread,
)
from varts.simulation.engine.kernel import (
    Kernel,
    KernelFunction,
    compile_kernel,
    data_array,
    find_kernel,
    goes_by_pulls,
    kernel_of,
    parameter_array,
    part,
    reward_kind,
    reward_of,
)
from varts.simulation.engine.late_rewards import (
    QueueSize,
    allocate_queue,
    batch_due,
    queue_size,
)
from varts.simulation.engine.linear_memory import allocate_linear
from varts.simulation.engine.loop import (
    BAD_DELAY,
    BAD_POLICY,
    BAD_REWARD,
    DELAYS,
    DONE,
    RAISED,
    STOPPED,
    TOO_MANY_LATE,
    Flags,
)
from varts.simulation.engine.python_policy import python_delay, python_loop
from varts.simulation.engine.scratch import (
    ENDED,
    NO_FLOATS,
    NO_INTS,
    POSITION,
    RULE_NUMBERS,
    Scratch,
    allocate,
)
from varts.simulation.engine.splitmix import stream
from varts.simulation.results import (
    RUNS_PER_BLOCK,
    BlockResults,
    Ending,
    PairwiseTree,
    PolicyResult,
    RegretCurve,
    RunRecord,
    is_highest_mean,
    merge_order,
    read_only,
    recommend_arms,
    score_arms,
    subtree_size,
)
from varts.stats import ArmStats
from varts.stopping import StopRule

MAX_ROUNDS_PER_CALL = 10**6  # short blocks are played together in one call, up to a batch of them
SHORT_CALL = 2**18  # rounds; a call that stays below takes several batches
MAX_BATCHES_PER_CALL = 8
MAX_NOTES_PER_CALL = 10**6  # numbers that are noted at checkpoints


class Player(NamedTuple):
    """How a policy is played, the same in all blocks."""

    policy: Policy
    kernel: Kernel | None  # None for a policy in plain Python
    function: KernelFunction | None  # the compiled kernel
    flags: Flags
    initial_pulls: NDArray[np.int64]
    parameters: Floats
    fade: Floats  # one number: what a reward multiplies the weights of older ones by
    least: Floats  # the weight below which an arm is pulled again
    memory: Floats | None  # what the policy keeps about the arms at the start of a run
    run_numbers: int


class Piece(NamedTuple):
    """A number of runs, or the next rounds of one run: what the arms pay in them."""

    true_mean: Floats  # a row per run, per phase or per visitor, as are a and b
    a: Floats
    b: Floats
    features: Floats = NO_FLOATS
    rounds: int | None = None  # how many, if not all
    starts: NDArray[np.int64] = NO_INTS
    phases: int = 0
    motion: int = STILL
    motion_numbers: Floats = NO_FLOATS


@dataclass(frozen=True)
class Work:
    """Everything a block needs to know; blocks differ only by their number.

    At `checkpoints` every run is looked at, and an arm recommended by "mean" or by "belief". A
    stopping rule looks at the rounds in `looks`; if that is empty, at every round. Rewards are
    late by `delay`, and handed over at the ends of batches. Every arm has at least the probability
    `floor`.
    """

    problem: Problem
    policies: Mapping[str, Policy]
    horizon: int
    runs: int
    seed: int
    rounds: NDArray[np.int64]
    naive: bool = False
    instance_seed: int | None = None  # that of the instances, if it is another
    checkpoints: tuple[int, ...] = ()  # of the recorded rounds, the horizon last
    recommend: str = "mean"
    played: int = 0  # blocks that need not be played again
    stop: StopRule | None = None
    looks: tuple[int, ...] = ()
    delay: Delay | None = None  # None if rewards are known at once, in batches of a single round
    batch: int = 1
    floor: float = 0.0

    # ------------------------------------------------------------------------------- the plan

    @property
    def blocks(self) -> int:
        """The number of blocks; the last may be short."""
        return -(-self.runs // RUNS_PER_BLOCK)

    @property
    def whole_blocks(self) -> int:
        """The number of blocks that are not short."""
        return self.runs // RUNS_PER_BLOCK

    @property
    def seed_of_instances(self) -> int:
        """The seed of the instances."""
        return self.seed if self.instance_seed is None else self.instance_seed

    @cached_property
    def data(self) -> Floats:
        """The numbers that the problem's rewards look up."""
        return data_array(self.problem)

    @property
    def features(self) -> int:
        """The number of features; 0 without context."""
        return self.problem.d if isinstance(self.problem, ContextualProblem) else 0

    @property
    def queue(self) -> QueueSize | None:
        """How large the queue of late rewards must be; None if rewards are known at once."""
        if self.delay is None:
            return None
        return queue_size(self.horizon, self.delay.longest, self.batch, self.features)

    @cached_property
    def blocks_per_call(self) -> int:
        """The number of blocks to play in one call of a kernel: short ones together."""
        rounds = RUNS_PER_BLOCK * max(self.horizon * len(self.policies), self.problem.K)
        few = min(BLOCKS_PER_BATCH, MAX_ROUNDS_PER_CALL // rounds)
        most = max(few, min(MAX_BATCHES_PER_CALL * BLOCKS_PER_BATCH, SHORT_CALL // rounds))
        if self.checkpoints:
            noted = RUNS_PER_BLOCK * len(self.checkpoints) * self.problem.K
            most = min(most, MAX_NOTES_PER_CALL // noted)
        return subtree_size(0, most)

    @property
    def _compiled_rule(self) -> StopRule | None:
        """The rule, if it is asked in the loop and not afterwards."""
        return self.stop if self.stop is not None and self.stop.compiled else None

    @property
    def _plays_single_runs(self) -> bool:
        """Whether each run is a call of its own."""
        moving = isinstance(self.problem, Drifting)
        return self.problem.contextual or moving or self.stop is not None

    @cached_property
    def kernels(self) -> dict[str, Kernel | None]:
        """The kernels by label; None for a policy in plain Python."""
        return {
            label: kernel_of(
                policy, self.problem, self.naive, self._compiled_rule, self.delay, self.floor > 0
            )
            for label, policy in self.policies.items()
        }

    @cached_property
    def players(self) -> dict[str, Player]:
        """The policies ready to play, by label. Compiles what `compile` has not compiled."""
        return {label: self._player(label) for label in self.policies}

    def _player(self, label: str) -> Player:
        policy, kernel, K = self.policies[label], self.kernels[label], self.problem.K
        plain, fade = policy.split_fading()
        d = self.features
        memory, run_numbers, function = None, 0, None
        if kernel is not None:
            function = find_kernel(kernel) or compile_kernel(kernel)
            if isinstance(plain, LinearPolicy):
                memory = allocate_linear(plain, K, d)
            if isinstance(plain, StatePolicy):
                memory = np.zeros(max(K * plain.arm_numbers, 1))
                run_numbers = plain.run_numbers
        moving = isinstance(self.problem, Drifting)
        stopping = self._compiled_rule is not None
        return Player(
            policy,
            kernel,
            function,
            Flags(
                context=self.problem.contextual,
                moving=moving,
                returning=isinstance(self.problem, Returning),
                fading=fade < 1,
                stopping=stopping,
                late=self.delay is not None,
                floored=self.floor > 0,
                counts_pulls=goes_by_pulls(policy, self.delay, self.floor > 0),
            ),
            policy.pulls_needed(K),
            NO_FLOATS if kernel is None else parameter_array(policy, K),
            np.array([fade]),
            np.asarray(policy.least_weight(K), dtype=np.float64),
            memory,
            run_numbers,
        )

    def compile(self, bar: Progress | None = None) -> None:
        """Load all kernels, and compile those that are missing.

        Args:
            bar: Where to show what is being compiled.
        """
        missing: dict[Kernel, str] = {}
        for label, kernel in self.kernels.items():
            if kernel is not None and find_kernel(kernel) is None:
                missing.setdefault(kernel, label)
        for done, (kernel, label) in enumerate(missing.items(), 1):
            if bar is not None:
                place = f"{done} of {len(missing)}: " if len(missing) > 1 else ""
                bar.stage(f"compiling {place}{label}")
            try:
                compile_kernel(kernel)
            except Exception as error:  # Numba's are of many kinds
                from varts.simulation.engine.diagnosis import diagnose

                raise ValueError(diagnose(kernel, error)) from error
        self.players  # noqa: B018  # made here, in one thread

    def check_problem(self) -> None:
        """Compare a user's own problem with what it states, the first time it is seen."""
        check_problem(self.problem)

    def instances(self, runs: int) -> Instances:
        """Return what the first runs are played on; where arms drift, how they begin.

        Args:
            runs: How many.
        """
        return draw_runs(self.problem, self.seed_of_instances, runs)

    # -------------------------------------------------------------------------------- playing

    def play_blocks(
        self,
        first: int,
        count: int,
        stop: NDArray[np.int64] | None = None,
        counter: NDArray[np.int64] | None = None,
    ) -> BlockResults | None:
        """Play all policies on neighboring blocks and merge the results.

        Args:
            first: The number of the first block.
            count: How many blocks.
            stop: Set it to 1 to have the call return None soon.
            counter: Counts the rounds as they are played.
        """
        tree = PairwiseTree(BlockResults.merge)
        for block in range(first, first + count, self.blocks_per_call):
            size = min(self.blocks_per_call, first + count - block)
            results = self._play_call(block, size, stop, counter)
            if results is None:
                return None
            tree.add(BlockResults(size, results), size)
        return tree.total()

    def trace(self, label: str, run: int) -> tuple[Notes, Floats]:
        """Play one run; return the notes at the checkpoints and the regret at the recorded rounds.

        Args:
            label: The label of the policy.
            run: The number of the run.
        """
        notes = allocate_notes(self.checkpoints, 1, self.problem.K)
        return notes, self._play_alone(label, run, 1, notes).curves[0]

    def known_after(self, run: int, arms: Any, rewards: Any) -> list[int | None]:
        """Return the round at whose end each reward of a run is known; None if it never is.

        Args:
            run: The number of the run.
            arms: The arm of each round.
            rewards: The reward of each round.
        """
        if self.delay is None:
            return list(range(1, len(arms) + 1))
        by_round = self.problem.contextual or isinstance(self.problem, (Drifting, Returning))
        tape = stream(stream(stream(self.seed, 0), run), int(DELAYS))
        delay, numbers = python_delay(self.delay), self.delay.numbers()
        pulls: Counter[int] = Counter()
        known: list[int | None] = []
        for t, (arm, reward) in enumerate(zip(arms, rewards, strict=True), 1):
            u = splitmix.uniform_at(stream(tape, arm), t if by_round else pulls[arm])
            rounds, end = delay(u, reward, numbers), np.inf
            if rounds < np.inf:
                end = batch_due(t, rounds, self.batch) * self.batch
            known.append(int(end) if end <= self.horizon else None)
            pulls[arm] += 1
        return known

    def noted(self, label: str, block: int) -> Floats:
        """Play a block and return what was noted about the arms: five tables (n, mean, m2, pulls
        and gap) with the axes run, checkpoint and arm.

        A run does not depend on how long it goes on: the statistics in the middle of a long run are
        those at the end of a short one.

        Args:
            label: The label of the policy.
            block: The number of the block.
        """
        first_run, runs = self._runs_of(block, 1)
        notes = allocate_notes(self.checkpoints, runs, self.problem.K)
        self._play_alone(label, first_run, runs, notes)
        return np.reshape(notes.arms, (5, runs, len(self.checkpoints), self.problem.K))

    def _play_alone(self, label: str, first_run: int, runs: int, notes: Notes) -> Game:
        """Play some runs of one policy to the end."""
        game = Game(self, label, first_run, runs, notes, *listeners(None, None))
        arms = self._arms_of(first_run, runs)
        for r in range(runs) if self._plays_single_runs else (None,):
            for piece in self._pieces(first_run, r, arms):
                game.play(piece, r)
        return game

    def _runs_of(self, first: int, count: int) -> tuple[int, int]:
        """Return the first run of some blocks, and how many runs there are."""
        first_run = first * RUNS_PER_BLOCK
        return first_run, min(count * RUNS_PER_BLOCK, self.runs - first_run)

    def _play_call(
        self, first: int, count: int, stop: Any, counter: Any
    ) -> dict[str, PolicyResult] | None:
        """Play neighboring blocks; return None if that was stopped."""
        first_run, runs = self._runs_of(first, count)
        watched = listeners(stop, counter)
        games = {}
        arms = self._arms_of(first_run, runs)
        together = () if self._plays_single_runs else tuple(self._pieces(first_run, None, arms))
        for label in self.policies:
            # A policy's notes are read before the next policy's runs begin, unless runs are single.
            allocating = allocate_notes if self._plays_single_runs else notes_of_thread.allocate
            looks = self._rounds_noted
            notes = allocating(looks, runs, self.problem.K) if looks else NO_NOTES
            games[label] = Game(self, label, first_run, runs, notes, *watched)
            for piece in together:
                if games[label].play(piece) == STOPPED:
                    return None
                games[label].finish()
        for r in range(runs) if self._plays_single_runs else ():
            for piece in self._pieces(first_run, r, arms):  # made once, for all policies
                for game in games.values():
                    if game.play(piece, r) == STOPPED:
                        return None
        return {label: game.finish() for label, game in games.items()}

    @property
    def _rounds_noted(self) -> tuple[int, ...]:
        """The rounds to write down: checkpoints, or those of a rule that is asked afterwards."""
        if self.stop is None:
            return self.checkpoints
        if self.stop.compiled:  # an arm that only the policy itself can name is noted at the end
            return (self.horizon,) if any(map(answers, self.policies.values())) else ()
        return self.looks if self.looks[-1] == self.horizon else (*self.looks, self.horizon)

    def _arms_of(self, first_run: int, runs: int) -> Floats:
        """Draw mean, a and b of the arms of some runs; with features each visitor has their own."""
        if self.problem.contextual:
            return NO_FLOATS
        return draw_arms(self.problem, self.seed_of_instances, first_run, runs)

    def _pieces(self, first_run: int, r: int | None, arms: Floats) -> Iterator[Piece]:
        """Yield what is played: all runs at once, or the pieces of run r of them."""
        problem = self.problem
        if isinstance(problem, ContextualProblem):
            assert r is not None
            yield from self._visits(problem, first_run + r)
            return
        if r is None:
            yield Piece(*(table.ravel() for table in arms))
            return
        if not isinstance(problem, Drifting):
            yield Piece(*arms[:, r])
            return
        path = problem.path(arms[:, r], self.horizon, self.seed_of_instances, first_run + r)
        numbers = np.broadcast_to(path.numbers, (3, problem.K))
        yield Piece(
            np.ascontiguousarray(path.mean).ravel(),
            np.ascontiguousarray(path.a).ravel(),
            np.ascontiguousarray(path.b).ravel(),
            starts=np.ascontiguousarray(path.starts, dtype=np.int64),
            phases=len(path.starts),
            motion=path.motion,
            motion_numbers=np.ascontiguousarray(numbers, dtype=np.float64).ravel(),
        )

    def _visits(self, problem: ContextualProblem, run: int) -> Iterator[Piece]:
        """Yield the visits of a run up to the horizon."""
        left = self.horizon
        for visits in problem.visits(self.seed_of_instances, run):
            tables = (np.ascontiguousarray(x, dtype=np.float64).ravel() for x in visits)
            features, mean, b = tables
            yield Piece(mean, mean, b, features, rounds=len(visits.x))
            left -= len(visits.x)
            if left <= 0:
                return
        kind, got = type(problem).__name__, f"{self.horizon - left} of {self.horizon} rounds"
        raise ValueError(f"visits of {kind} must be endless, got {got}")


def answers(policy: Policy) -> bool:
    """Return whether the policy itself names an arm to recommend, from what it remembers."""
    plain = policy.split_fading()[0]
    return isinstance(plain, StatePolicy) and plain.answer is not None


class Game:
    """Some runs of one policy, and what comes of them."""

    def __init__(
        self,
        work: Work,
        label: str,
        first_run: int,
        runs: int,
        notes: Notes,
        stop: Any,
        counter: Any,
    ) -> None:
        self._work, self._label, self._player = work, label, work.players[label]
        self._first_run, self._runs, self._notes = first_run, runs, notes
        K, problem, rule = work.problem.K, work.problem, work._compiled_rule
        self._d = work.features
        columns = len(work.rounds)
        self.final, self.best_share = np.empty(runs), np.empty(runs)
        self.curves = np.empty((runs, columns))
        self._endings: list[tuple[Any, ...]] = []
        self._seconds = 0.0
        self._result: PolicyResult | None = None
        self._rule_state = np.zeros(RULE_NUMBERS, dtype=np.int64)
        looks = [*work.looks, NEVER] if rule is not None and work.looks else [NEVER]
        notes.written[0] = 0
        player = self._player
        memory = None if player.memory is None else player.memory.copy()
        queue = work.queue
        late = None if queue is None else allocate_queue(queue, self._d)
        self.scratch: Scratch = allocate(
            K, self._d, memory, player.run_numbers, late, sticky_visitors(problem)
        )
        self._call = Call(
            seed=stream(work.seed, 0),
            first_run=first_run,
            runs=runs,
            rounds_now=work.horizon,
            horizon=work.horizon,
            initial_pulls=player.initial_pulls,
            parameters=player.parameters.copy(),
            kind=reward_kind(problem),
            data=work.data,
            true_mean=NO_FLOATS,
            a=NO_FLOATS,
            b=NO_FLOATS,
            features=NO_FLOATS,
            phases=0,
            starts=NO_INTS,
            motion=STILL,
            motion_numbers=NO_FLOATS,
            visitors=problem.numbers if isinstance(problem, Returning) else NO_FLOATS,
            fade=player.fade,
            least=player.least,
            delay_numbers=NO_FLOATS if work.delay is None else work.delay.numbers(),
            batch=work.batch,
            most_late=0 if queue is None else queue.entries,
            buckets=0 if queue is None else queue.buckets,
            floor=np.array([work.floor]),
            rule_numbers=NO_FLOATS if rule is None else rule.numbers(K),
            rule_rounds=np.array(looks, dtype=np.int64),
            rule_state=self._rule_state,
            check_rounds=notes.rounds,
            check_rows=notes.arms.shape[1],
            check_arms=notes.arms.reshape(-1),
            check_acts=notes.acts.reshape(-1),
            check_written=notes.written,
            columns=columns,
            rounds=work.rounds,
            stop=stop,
            counter=counter,
            final=self.final,
            best_share=self.best_share,
            curve=self.curves.reshape(-1),
        )
        self._table = None if player.function is None else table_of(self._call, self.scratch)
        self._python: Callable[..., int] | None = None

    def play(self, piece: Piece, r: int | None = None) -> int:
        """Play a piece; return how it ended.

        Args:
            piece: The rounds to play.
            r: Which of the runs it belongs to; None if it is all of them.
        """
        began = time.perf_counter()
        work, s = self._work, self.scratch
        starts_run = r is None or r != getattr(self, "_run", None)
        changes: dict[str, Any] = piece._asdict()
        changes["rounds_now"] = changes.pop("rounds") or work.horizon
        if r is not None:
            changes |= {"first_run": self._first_run + r, "runs": 1}
            changes |= {"final": self.final[r:], "best_share": self.best_share[r:]}
            changes["curve"] = self.curves[r]
            if starts_run:
                self._start_run(r)
        if s.progress[0] >= work.horizon:  # a rule ended the run in an earlier piece
            return DONE
        if self._table is not None:
            assert self._player.function is not None
            for name, value in changes.items():
                is_array = isinstance(value, np.ndarray)
                self._table[SLOTS[name]] = address_of(value) if is_array else value
            status = self._player.function(self._table)
        else:
            status = self._play_python(self._call._replace(**changes), starts_run)
        self._refuse(status)
        self._seconds += time.perf_counter() - began
        if r is not None and status == DONE and work.stop is not None:
            if not work.problem.contextual or s.progress[0] >= work.horizon:
                self._end_run(r)
        return status

    def _start_run(self, r: int) -> None:
        self._run = r
        self.scratch.progress[:] = 0.0
        if self._player.memory is not None and isinstance(
            self._player.policy.split_fading()[0], LinearPolicy
        ):
            self.scratch.memory[:] = self._player.memory

    def _play_python(self, call: Call, starts_run: bool) -> int:
        """Play a policy in plain Python: run after run, each with a copy of its own."""
        K, columns, status = self._work.problem.K, call.columns, DONE
        for r in range(call.runs):
            one = call
            if call.runs > 1:
                rows, width = slice(r * K, (r + 1) * K), slice(r * columns, (r + 1) * columns)
                one = call._replace(
                    first_run=call.first_run + r, runs=1, true_mean=call.true_mean[rows],
                    a=call.a[rows], b=call.b[rows], final=call.final[r:],
                    best_share=call.best_share[r:], curve=call.curve[width],
                )  # fmt: skip
            if starts_run or self._python is None:
                run = stream(call.seed, one.first_run)
                self._python = python_loop(
                    self._player.policy, self._work.problem, self._player.flags,
                    python_ends(self._work._compiled_rule), self._work.delay, run, K, self._d,
                )  # fmt: skip
            status = self._python(one, self.scratch)
            if status != DONE:
                break
        return int(status)

    def _refuse(self, status: int) -> None:
        """Raise if rewards, or what a policy makes of them, are invalid."""
        label = self._label
        if status == RAISED:
            raise ValueError(f"{label} raised an exception in compiled code; it was printed above")
        if status == BAD_REWARD:
            raise ValueError(f"rewards must be finite numbers, got NaN or infinity under {label}")
        if status == BAD_DELAY:
            raise ValueError(
                "delay must return a whole number of rounds of at least 0, or infinity, got "
                f"another number under {label}"
            )
        if status == TOO_MANY_LATE:
            raise ValueError(
                f"at most {self._call.most_late:,} rewards may be late at the same time, got more "
                f"under {label}; shorten the delay or the batch"
            )
        if status == BAD_POLICY:
            policy = self._player.policy.split_fading()[0]
            if isinstance(policy, StatePolicy):
                K = self._work.problem.K
                raise ValueError(f"{label} must pick an arm from 0 to {K - 1}, got another number")
            rule = "a number, got NaN"
            if isinstance(policy, (BeliefPolicy, LinearSampler)):
                rule = "a finite location, a scale >= 0 and degrees of freedom > 0, got others"
            raise ValueError(f"{label} must give every arm {rule}")

    # --------------------------------------------------------------------------------- results

    def finish(self) -> PolicyResult:
        """Return what the runs came to."""
        if self._result is None:
            began, work, record, ending = time.perf_counter(), self._work, None, None
            if work.stop is not None:
                ending = Ending(*map(np.array, zip(*self._endings, strict=True)))
            elif work.checkpoints:
                record = self._record()
            curve = average_curves(self.curves)
            seconds = self._seconds + time.perf_counter() - began
            made = self.final, self.best_share, curve, record, seconds, ending
            self._result = PolicyResult(*made)
        return self._result

    def _record(self) -> RunRecord:
        """Return what was noted about every run, and which arms that recommends."""
        work, notes = self._work, self._notes
        shape = len(self.curves), len(work.checkpoints)
        n, mean, m2, pulls, gap = (notes.arms[i] for i in (N, MEAN, M2, PULLS, GAP))
        arms = notes.acts[:, HIGHEST].astype(np.int64)
        policy = self._player.policy
        # A compiled linear policy recommends for the visitor of the round.
        by_kernel = isinstance(policy.split_fading()[0], LinearPolicy) and self._table is not None
        known = by_kernel or answers(policy) or is_highest_mean(policy, work.recommend)
        open_ = np.flatnonzero((arms == TIE) | (not known))
        if open_.size:
            rows = (x[open_] for x in (self._counts(n, pulls), mean, m2))
            scores = score_arms(policy, *rows, by=work.recommend)
            turns = self._first_run + np.add(*np.divmod(open_, shape[1]))
            arms[open_] = recommend_arms(scores, pulls[open_], turns)
        return RunRecord(
            pulls.reshape(*shape, -1).astype(np.min_scalar_type(work.horizon)),
            arms.reshape(shape),
            gap[np.arange(arms.size), arms].reshape(shape),
            self.curves[:, np.searchsorted(work.rounds, work.checkpoints)],
        )

    def _end_run(self, r: int) -> None:
        """Note how a run ended: its round, whether by the rule, the arm, and its simple regret."""
        work, s = self._work, self.scratch
        assert work.stop is not None
        if work.stop.compiled:
            stopped = bool(self._rule_state[ENDED])
            last = int(self._rule_state[ENDED]) if stopped else work.horizon
            written = int(self._notes.written[0]) - 1
            n = self._counts(s.n, s.n if work.delay is None else s.pulls)
            arm = int(s.mean.argmax())
            if not stopped:
                arm = self._recommended(r, written, n, s.mean, s.m2)
            self._endings.append((last, stopped, arm, s.gap[arm]))
            return
        # The rule needs an integral: ask it afterwards what it would have done, and forget what
        # came later.
        looks = work._rounds_noted
        tables = self._notes.arms.reshape(5, self._runs, len(looks), -1)[:, r]
        decided, k = None, 0
        for k in range(len(work.looks)):
            stats = ArmStats._trusted(*(tables[row, k].copy() for row in (N, MEAN, M2)))
            decided = work.stop.decide(stats)
            if decided is not None:
                break
        else:
            k = len(looks) - 1
        n, mean, m2, pulls, gap = (tables[row, k] for row in (N, MEAN, M2, PULLS, GAP))
        row = r * len(looks) + k
        n = self._counts(n, pulls)
        arm = self._recommended(r, row, n, mean, m2) if decided is None else decided
        at = int(np.searchsorted(work.rounds, looks[k]))
        self.curves[r, at:] = self.final[r] = self.curves[r, at]
        self.best_share[r] = self._notes.acts[row, HITS] / looks[k]
        self._endings.append((looks[k], decided is not None, arm, gap[arm]))

    def _counts(self, n: Floats, pulls: Floats) -> Floats:
        """Return what a policy's own `recommend` goes by: rewards, or pulls if it counts those."""
        own = not is_highest_mean(self._player.policy, "mean")
        return pulls if own and self._player.flags.counts_pulls else n

    def _recommended(self, r: int, row: int, *statistics: Floats) -> int:
        """Return the arm of a run that the rule did not end: by the policy's answer or belief.

        Args:
            r: The number of the run in this game.
            row: The row of the notes about the end of the run.
            statistics: n, mean and m2 of the arms.
        """
        if answers(self._player.policy) and self._notes.acts[row, HIGHEST] != TIE:
            return int(self._notes.acts[row, HIGHEST])
        n, mean, m2 = (row[None] for row in statistics)
        scores = score_arms(self._player.policy, n, mean, m2, by="belief")
        return int(recommend_arms(scores, n, np.array([self._first_run + r]))[0])


SLOTS = {name: place for place, name in enumerate((*Call._fields, *Scratch._fields))}


def listeners(stop: Any, counter: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return arrays to stop a call and to count rounds with, where the caller has none."""
    return (
        np.zeros(1, dtype=np.int64) if stop is None else stop,
        np.zeros(1, dtype=np.int64) if counter is None else counter,
    )


def python_ends(rule: StopRule | None) -> Callable[..., bool]:
    """Return the hook of a stopping rule for the loop in plain Python."""
    if rule is None:
        return lambda t, c, s: False
    fields = () if rule.compiled == "evidence" else tuple(rule.numbers(2))
    certain = part("varts_is_certain", "iippppp") if rule.compiled == "evidence" else None

    def ends(t: int, c: Call, s: Scratch) -> bool:
        if c.rule_rounds[0] > 0:
            if t != c.rule_rounds[c.rule_state[POSITION]]:
                return False
            c.rule_state[POSITION] += 1
        if certain is not None:
            arrays = s.n, s.mean, s.m2, c.rule_numbers, c.rule_state
            ended = bool(certain(s.K, *map(address_of, arrays)))
        else:
            assert rule.stops is not None
            ended = bool(rule.stops(t, s.n, s.mean, s.m2, *fields))
        if ended:
            c.rule_state[ENDED] = t
        return ended

    return ends


def average_curves(curves: Floats) -> RegretCurve:
    """Return the mean curve over runs, a row each, merged block by block.

    Compiled: NumPy's own sums add in an order that depends on the shape, and bits must not.
    """
    runs, rounds = curves.shape
    order = merge_order(-(-runs // RUNS_PER_BLOCK))
    n, (mean, m2) = np.zeros(len(order) + 1), np.zeros((2, len(order) + 1, rounds))
    average = part("varts_average", "vpiiipippp")
    at = [address_of(array) for array in (curves, order, n, mean, m2)]
    average(at[0], runs, rounds, RUNS_PER_BLOCK, at[1], len(order), *at[2:])
    return RegretCurve(runs, mean[0].copy(), m2[0].copy())


def sticky_visitors(problem: Problem) -> int:
    """Return how many visitors keep the arm of their first visit."""
    return problem.visitors if isinstance(problem, Returning) and problem.sticky else 0


# -------------------------------------------------------------------------------------- instances

# Part of every result, like the numbers of random streams.
BLOCKS_PER_BATCH = 8  # they draw their instances from one stream: opening a stream is slow
MAX_ARMS_BATCHED = 32  # with more arms, every block has a stream of its own


def draw_arms(problem: Problem, seed: int, first: int, runs: int) -> Floats:
    """Draw mean, a and b of the arms of some runs, a row per run.

    Nothing of the other runs of a batch is kept: with a million arms they would take most of the
    memory.
    """
    size, last = _runs_per_batch(problem), first + runs
    arms = np.empty((3, runs, problem.K))
    for number in range(first // size, -(-last // size)):
        drawn, start = _draw_batch(problem, seed, number, size), number * size
        rows = slice(max(first, start) - start, min(last, start + size) - start)
        places = slice(start + rows.start - first, start + rows.stop - first)
        for place, name in enumerate(("mean", "a", "b")):
            arms[place, places] = drawn.array(name, size, problem.K)[rows]
    return arms


def draw_runs(problem: Problem, seed: int, runs: int) -> Instances:
    """Draw the instances of the first runs."""
    size = _runs_per_batch(problem)
    batches = [_draw_batch(problem, seed, each, size) for each in range(-(-runs // size))]
    names = ("mean", "variance", "a", "b")
    columns = ([drawn.array(name, size, problem.K) for drawn in batches] for name in names)
    return Instances(*(read_only(np.concatenate(rows)[:runs]) for rows in columns))


def _draw_batch(problem: Problem, seed: int, number: int, size: int) -> Instances:
    """Always draw a whole batch, so that a run does not depend on how many there are."""
    return problem.draw(_seeding.generator(seed, _seeding.INSTANCES, number), size)


def _runs_per_batch(problem: Problem) -> int:
    return RUNS_PER_BLOCK * (BLOCKS_PER_BATCH if problem.K <= MAX_ARMS_BATCHED else 1)


# ----------------------------------------------------------------- does a problem do what it says?

BUILT_IN = (GaussianBandit, BernoulliBandit, BetaBandit, Fixed, EmpiricalBandit, RevenueBandit)
_checked: set[tuple[Any, ...]] = set()  # other problems, by their reward and a drawn instance


def check_problem(problem: Problem) -> None:
    """Compare a user's own problem with the means and variances it states, the first time.

    Args:
        problem: The problem.
    """
    if problem.contextual:
        problem.check()
        return
    for each in problem.parts if isinstance(problem, Drifting) else (problem,):
        _check(each)


def _check(problem: Problem) -> None:
    reward = reward_of(problem)
    known = reward is None or problem.reward in REVENUES.values()
    if type(problem) in BUILT_IN and known:
        return
    drawn = problem.draw(_seeding.generator(0, _seeding.PROBLEM_CHECK), 1)
    arrays = (drawn.array(name, 1, problem.K) for name in ("mean", "variance", "a", "b"))
    content = b"".join(array.tobytes() for array in (*arrays, data_array(problem)))
    seen = reward_kind(problem), reward, hashlib.sha256(content).digest()
    if seen not in _checked:
        problem.check()
        _checked.add(seen)

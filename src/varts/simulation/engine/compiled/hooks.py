"""The hooks of the loop for each kernel: closures over the formulas of a policy and its problem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from varts.problems.drift import Cycle, Walk
from varts.simulation.engine import checkpoints, initial_pulls
from varts.simulation.engine.compiled import beta, rng, select_belief, student
from varts.simulation.engine.compiled.arguments import read_call, read_scratch
from varts.simulation.engine.compiled.certainty import make_ends, make_user_rule
from varts.simulation.engine.compiled.jit import compile_formula, inlined, jit
from varts.simulation.engine.compiled.lazy_argmax import make_lazy_sampler
from varts.simulation.engine.compiled.linear import make_linear_hooks
from varts.simulation.engine.compiled.own_policy import make_draw_select, make_state_hooks
from varts.simulation.engine.compiled.parts import (
    BETA,
    BY_ALL,
    BY_PRIOR,
    IS_CERTAIN,
    PAY,
    STUDENT,
    lazy_parts,
    linear_parts,
)
from varts.simulation.engine.compiled.reward_tape import make_custom_pay, make_pay
from varts.simulation.engine.compiled.select_index import IndexFormulas, make_index_hooks
from varts.simulation.engine.compiled.tuples import make_reader, parameters_reader
from varts.simulation.engine.formula import Formula
from varts.simulation.engine.kernel import Kernel
from varts.simulation.engine.loop import Flags, Hooks, make_move, make_play


@functools.cache
def compiled(formula: Formula | None) -> Any:
    """Return a formula as compiled code calls it."""
    return None if formula is None else compile_formula(formula.function)


def make_entry(kernel: Kernel) -> Callable[..., Any]:
    """Return the function that is compiled: it reads its arguments and plays."""
    flags = Flags(
        context=kernel.context,
        moving=kernel.moving,
        returning=kernel.returning,
        fading=kernel.fading,
        stopping=bool(kernel.rule),
        late=kernel.delay is not None,
        floored=kernel.floored,
        counts_pulls=kernel.counts_pulls,
    )
    play = jit(make_play(hooks_of(kernel), flags))

    def entry(table):
        return play(read_call(table), read_scratch(table))

    return entry


def hooks_of(kernel: Kernel) -> Hooks:
    """Return what the loop calls for a kernel."""
    made: dict[str, Any] = {"begin": select_belief.begin_nothing, "transform": select_belief.keep}
    made |= {"observe": select_belief.observe_nothing}
    made |= {"fade": select_belief.fade_nothing, "valid": select_belief.always_valid}
    made |= {
        "refresh": select_belief.refresh_nothing,
        "recommend": select_belief.recommend_highest_mean,
    }
    made |= _policy_hooks(kernel)
    if kernel.fading and not (kernel.pooled or kernel.kurtosis):
        made["refresh"] = select_belief.make_refresh_all(made["refresh"])
    refresh = made["refresh"]
    learns_rewards = kernel.family in ("linear_index", "linear_belief", "state")

    @jit
    def prepare(i, s, parameters):
        if not learns_rewards:  # there is no reward yet
            refresh(i, s, parameters)

    return Hooks(
        **made,
        prepare=prepare,
        pay=pay_of(kernel.reward, kernel.data_size),
        ends=_ends(kernel),
        delay=_delay(kernel),
        note=jit(checkpoints.note),
        initial_pull=inlined(initial_pulls.make_initial_pull(rng.below)),
        extra_pull=jit(initial_pulls.make_extra_pull(rng.below)),
        stream=rng.stream,
        uniform_at=rng.uniform_at,
        unlikely=rng.unlikely,
        move=jit(make_move(rng.normal, compile_formula(Cycle.shift), compile_formula(Walk.moved))),
        ready=inlined,
    )


def _policy_hooks(kernel: Kernel) -> dict[str, Any]:
    formula = compiled(kernel.formula)
    if kernel.family == "index":
        select, refresh, valid = make_index_hooks(
            _index_formulas(kernel), kernel.growing and not kernel.naive
        )
        return {"select": select, "refresh": refresh, "valid": valid}
    if kernel.family in ("linear_index", "linear_belief"):
        parts = linear_parts(BY_ALL if kernel.pooled else BY_PRIOR)
        believe, index = (formula, None) if kernel.family == "linear_belief" else (None, formula)
        lazy = not (kernel.naive or kernel.pooled)
        hooks = make_linear_hooks(parts, believe, index, kernel.parameters, lazy)
        return dict(zip(("select", "refresh", "recommend"), hooks, strict=True))
    if kernel.family == "mean_variance":
        return {"select": select_belief.select_mean_variance}
    if kernel.family == "top_two_means":
        return {"select": select_belief.select_by_means, "refresh": select_belief.refresh_pulled}
    if kernel.family == "draw":
        return {"select": make_draw_select(formula, kernel.parameters)}
    if kernel.family == "state":
        numbers = kernel.parameters, kernel.arm_fields, kernel.arm_numbers, kernel.run_numbers
        answer = compiled(kernel.answer)
        hooks = make_state_hooks(formula, compiled(kernel.learn), answer, *numbers)
        names = "begin", "select", "observe", "refresh", "recommend"
        return dict(zip(names, hooks, strict=True))
    return _belief_hooks(kernel)


def _belief_hooks(kernel: Kernel) -> dict[str, Any]:
    """Return the hooks of policies that draw from Student-t or Beta select_belief."""
    made: dict[str, Any] = {"valid": select_belief.valid_beliefs}
    family, parts, learn = student, STUDENT, beta.learn
    if kernel.family == "beta":
        family, parts = beta, BETA
        made["transform"] = select_belief.toss
    else:
        own = parameters_reader(kernel.parameters, kernel.width)
        learn = student.make_learn(compiled(kernel.formula), own)
    before = select_belief.before_nothing
    if kernel.pooled:
        before = select_belief.make_pool(kernel.width)
    if kernel.kurtosis:
        correction = select_belief.make_kurtosis_correction(kernel.parameters, kernel.width)
        made["observe"], made["fade"], weigh = correction
        pool = before

        @inlined
        def before(s, parameters):
            pool(s, parameters)
            weigh(s, parameters)

    # Where every reward moves every belief, the lazy sampler has nothing to leave out.
    moves_all = kernel.pooled or kernel.kurtosis
    draws_none = kernel.family == "top_two_gain"
    if moves_all or kernel.naive or kernel.fading or draws_none:
        select, refresh = select_belief.make_sampler(family, learn, before, moves_all)
    else:
        select, refresh = make_lazy_sampler(family, lazy_parts(parts), learn)
    if kernel.family == "top_two":
        select = select_belief.make_top_two(select, kernel.width)
    if draws_none:
        select = select_belief.make_top_two_gain(kernel.width)
    return made | {"select": select, "refresh": refresh}


def _index_formulas(kernel: Kernel) -> IndexFormulas:
    return IndexFormulas(
        compiled(kernel.formula),
        compiled(kernel.terms),
        compiled(kernel.clock),
        compiled(kernel.common),
        None if kernel.naive else compiled(kernel.reaches),
        kernel.parameters,
        kernel.term_count,
        kernel.clock_count,
        kernel.clock_takes,
        kernel.common_takes,
        kernel.chance,
        kernel.counts_pulls,
    )


def pay_of(reward: Formula | None, data_size: int) -> Any:
    """Return what pays, compiled."""
    if reward is None:
        return make_pay(PAY.call)
    return make_custom_pay(compiled(reward), data_size)


def _delay(kernel: Kernel) -> Any:
    """Return what gives the delay of a reward, compiled."""
    rounds, read_numbers = compiled(kernel.delay), make_reader(kernel.delay_fields)

    @inlined
    def delay(u, reward, numbers):
        return float(rounds(u, reward, *read_numbers(numbers, 0, 1)))

    return delay


def _ends(kernel: Kernel) -> Any:
    if kernel.rule == "":
        return select_belief.never_ends
    return ends_of(kernel.rule, kernel.stops, kernel.rule_fields)


def ends_of(rule: str, stops: Formula | None, fields: int) -> Any:
    """Return the hook of a stopping rule, compiled."""
    if rule == "user":
        return make_ends(make_user_rule(compiled(stops), make_reader(fields)))
    is_certain_part = IS_CERTAIN.call

    @inlined
    def is_certain(t, c, s):
        return is_certain_part(s.K, s.n, s.mean, s.m2, c.rule_numbers, c.rule_state) != 0

    return make_ends(is_certain)

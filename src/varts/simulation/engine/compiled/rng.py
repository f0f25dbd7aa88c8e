"""Random numbers for the compiled loop.

The generator is SplitMix64 (Steele, Lea & Flood 2014). Its state is one 64-bit word that is passed
by value and returned, so LLVM keeps it in a register. One step is a single addition, so several
draws can be in flight at once. A stream starts at a hash of the integers that name it. Every
function takes a state and returns (value, new state).

Counters that are passed on start as np.int64(0), not as 0. Numba would otherwise compile every
function they reach a second time, for the literal.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from varts.simulation.engine import splitmix
from varts.simulation.engine.compiled.jit import inlined, jit
from varts.simulation.engine.splitmix import TO_UNIT


@intrinsic
def unlikely(typing, condition):
    """Return the condition and tell LLVM that it is rarely true.

    LLVM then moves the guarded code out of the hot path and doesn't inline the calls in it.
    """

    def generate(context, builder, signature, arguments):
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        expect = builder.module.declare_intrinsic("llvm.expect", [bit], kind)
        return builder.call(expect, [arguments[0], bit(0)])

    return types.boolean(types.boolean), generate


@jit
def where(condition, x, y):
    """`np.where` for three numbers. Numba's own version allocates an array."""
    return x if condition else y


GOLDEN, MIX1, MIX2 = map(np.uint64, (splitmix.GOLDEN, splitmix.MIX1, splitmix.MIX2))
S27, S30, S31, S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
ONE, BYTE = np.uint64(1), np.uint64(255)


@jit
def mix(z):
    """Scramble a 64-bit word, one to one."""
    z = (z ^ (z >> S30)) * MIX1
    z = (z ^ (z >> S27)) * MIX2
    return z ^ (z >> S31)


@jit
def stream(seed, key):
    """Return the first state of the stream `key` under `seed`. Streams nest: a seed is a state."""
    return mix(mix(seed) + mix(np.uint64(key) * GOLDEN + GOLDEN))


@jit
def bits(state):
    """Draw 64 random bits."""
    state = state + GOLDEN
    return mix(state), state


@jit
def uniform(state):
    """Draw a uniform number from [0, 1)."""
    word, state = bits(state)
    return np.int64(word >> S11) * TO_UNIT, state


@jit
def uniform_at(tape, place):
    """Return the uniform number from [0, 1) at a place of a stream, counted from 0."""
    u, _ = uniform(tape + np.uint64(place) * GOLDEN)
    return u


@jit
def below(count, state):
    """Draw an integer from 0 to count - 1; equally likely to within 2^-53 * count."""
    u, state = uniform(state)
    return np.int64(u * count), state


# ------------------------------------------------------------------------------------- ziggurats
# Marsaglia & Tsang (2000), 256 layers of equal area under a falling density f. Layer i spans
# [0, edge[i]); a point left of edge[i + 1] is certain to lie under the curve. One 64-bit word
# gives the layer (8 bits) and the place in it (53 bits, signed for the normal).

NORMAL_TAIL, NORMAL_AREA = 3.6541528853610088, 0.0049286732339746571
EXP_TAIL, EXP_AREA = 7.697117470131050, 0.0039496598225815572


def ziggurat_tables(
    tail: float,
    area: float,
    density: Callable[[float], float],
    inverse: Callable[[float], float],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return per layer: width times 2^-52, limit of certain acceptance times 2^52, and height."""
    edge = [area / density(tail), tail]
    while len(edge) < 256:
        edge.append(inverse(area / edge[-1] + density(edge[-1])))
    edge.append(0.0)
    x = np.array(edge)
    height = np.array([density(v) for v in edge])
    height[0] = height[1]  # the top of the base layer; its tail is drawn separately
    return x[:-1] * 2.0**-52, x[1:] / x[:-1] * 2.0**52, height


NORMAL_W, NORMAL_K, NORMAL_F = ziggurat_tables(
    NORMAL_TAIL,
    NORMAL_AREA,
    lambda x: math.exp(-0.5 * x * x),
    lambda y: math.sqrt(-2 * math.log(y)),
)
EXP_W, EXP_K, EXP_F = ziggurat_tables(
    EXP_TAIL, EXP_AREA, lambda x: math.exp(-x), lambda y: -math.log(y)
)


@inlined
def normal_point(state):
    """Draw a layer and a point in it, and report whether it is certain to be under the curve."""
    word, state = bits(state)
    layer = np.int64(word & BYTE)
    place = np.float64(np.int64(word) >> np.int64(11))
    return layer, place * NORMAL_W[layer], abs(place) < NORMAL_K[layer], state


@jit
def normal(state):
    """Draw a standard normal. 99 % of draws end here; the rest is a call, so that this inlines."""
    layer, x, sure, state = normal_point(state)
    if unlikely(not sure):
        return normal_edge(layer, x, state)
    return x, state


@jit
def normal_edge(layer, x, state):
    """Finish a draw that fell into the curved end of a layer or into the tail, or start again."""
    while True:
        if layer == 0:  # beyond the last edge: Marsaglia's exponential rejection
            while True:
                e, state = exponential(state)
                f, state = exponential(state)
                e = e / NORMAL_TAIL
                if 2 * f > e * e:
                    return math.copysign(NORMAL_TAIL + e, x), state
        u, state = uniform(state)
        low = NORMAL_F[layer]
        if low + u * (NORMAL_F[layer + 1] - low) < math.exp(-0.5 * x * x):
            return x, state
        layer, x, sure, state = normal_point(state)
        if sure:
            return x, state


@inlined
def exponential_point(state):
    """Like `normal_point`, without a sign."""
    word, state = bits(state)
    layer = np.int64(word & BYTE)
    place = np.float64(np.int64(word >> np.uint64(12)))
    return layer, place * EXP_W[layer], place < EXP_K[layer], state


@jit
def exponential(state):
    """Draw a standard exponential, split into two functions like the normal."""
    layer, x, sure, state = exponential_point(state)
    if unlikely(not sure):
        return exponential_edge(layer, x, state)
    return x, state


@jit
def exponential_edge(layer, x, state):
    """Like `normal_edge`. The tail is the whole distribution again, shifted."""
    offset = 0.0
    while True:
        if layer == 0:
            offset += EXP_TAIL
        else:
            u, state = uniform(state)
            low = EXP_F[layer]
            if low + u * (EXP_F[layer + 1] - low) < math.exp(-x):
                return offset + x, state
        layer, x, sure, state = exponential_point(state)
        if sure:
            return offset + x, state


@jit
def gamma(shape, state):
    """Draw from Gamma(shape, 1) with shape >= 1."""
    d = shape - 1 / 3
    return gamma_with(d, 1 / math.sqrt(9 * d), state)


@jit
def gamma_with(d, c, state):
    """Draw from Gamma(d + 1/3, 1) by Marsaglia & Tsang (2000), given c = 1/sqrt(9 d)."""
    while True:
        x, state = normal(state)
        v = 1 + c * x
        if v <= 0:
            continue
        v = v * v * v
        u, state = uniform(state)
        x2 = x * x
        if u < 1 - 0.0331 * x2 * x2 or math.log(u) < 0.5 * x2 + d * (1 - v + math.log(v)):
            return d * v, state


@jit
def log_gamma(shape, state):
    """Draw the logarithm of a Gamma(shape, 1) variable. This works for any shape.

    Gamma(a) = Gamma(a + 1) * u^(1/a), and -log(u) is exponential.
    """
    if shape >= 1:
        g, state = gamma(shape, state)
        return math.log(g), state
    g, state = gamma(shape + 1, state)
    e, state = exponential(state)
    return math.log(g) - e / shape, state


@jit
def beta(a, b, state):
    """Draw from Beta(a, b). If a or b is zero, that is a point mass."""
    if a >= 1 and b >= 1:
        g, state = gamma(a, state)
        h, state = gamma(b, state)
        return g / (g + h), state
    g, state = log_gamma(a, state)
    h, state = log_gamma(b, state)
    return 1 / (1 + math.exp(h - g)), state


@inlined
def t_root(nu, state):
    """Draw the z of a t variable z sqrt(nu / (nu - 2 - z^2)), for nu > 2 (Marsaglia 1980).

    With z normal, e exponential and w = 1/(nu - 2), z is accepted when
    exp(-(2 e + z^2) w) <= 1 - z^2 w. Because exp(-y) <= 1 - y + y^2/2, it is enough that
    (2 e + z^2)^2 w <= 4 e, which accepts nearly all draws without a division.
    """
    while True:
        z, state = normal(state)
        e, state = exponential(state)
        z2 = z * z
        y = 2 * e + z2
        if y * y <= 4 * e * (nu - 2) and z2 < nu - 2:
            return z, state
        if z2 < nu - 2 and math.exp(-y / (nu - 2)) <= 1 - z2 / (nu - 2):
            return z, state


@jit
def student(loc, scale, df, state):
    """Draw from a location-scale t distribution; the value may be infinite if df is small."""
    if unlikely(not df >= 4):
        return student_heavy(loc, scale, df, state)
    return student_light(loc, scale, df, state)


@jit
def student_light(loc, scale, df, state):
    """Draw with df >= 4, where nothing can overflow."""
    if df == np.inf:
        z, state = normal(state)
        return loc + scale * z, state
    z, state = t_root(df, state)
    return loc + scale * z * math.sqrt(df / (df - 2 - z * z)), state


@jit
def student_heavy(loc, scale, df, state):
    """Draw with few degrees of freedom; a value too large for a double is infinite."""
    z, state = normal(state)
    shape = 0.5 * df
    log_g, state = log_gamma(shape, state)
    if scale == 0 or z == 0:
        return loc, state
    return loc + scale * z * math.exp(0.5 * (math.log(shape) - log_g)), state

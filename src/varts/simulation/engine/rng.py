"""Random numbers for the compiled loops.

The generator is SplitMix64 (Steele, Lea & Flood 2014): its state is one 64-bit word, passed by
value and handed back, so that LLVM keeps it in a register, and its step is one addition, so that
several draws are in flight at once. A stream starts at a hash of the integers that name it.
Every function takes a state and returns (value, new state).

Here and elsewhere a whole number that is passed on starts as np.int64(0), not as 0: Numba would
compile everything it is passed to twice, once for the constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from varts.simulation.engine.parts import inlined, jit


@intrinsic
def unlikely(typing, condition):
    """The condition, with a word to LLVM that it is rarely true.

    What it guards is put out of the way, and calls there stay calls instead of being inlined.
    """

    def generate(context, builder, signature, arguments):
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        expect = builder.module.declare_intrinsic("llvm.expect", [bit], kind)
        return builder.call(expect, [arguments[0], bit(0)])

    return types.boolean(types.boolean), generate


@intrinsic(prefer_literal=True)
def first_of(typing, row, count):
    """The first `count` numbers of a row, as a tuple; `count` must be a constant.

    Numba's own `to_fixed_tuple` makes a loop of it that goes through memory in every step.
    """
    result = types.UniTuple(row.dtype, count.literal_value)

    def generate(context, builder, signature, arguments):
        array = make_array(row)(context, builder, arguments[0])
        (stride,) = cgutils.unpack_tuple(builder, array.strides)
        places = (
            cgutils.pointer_add(builder, array.data, builder.mul(stride, stride.type(j)))
            for j in range(len(result))
        )
        numbers = [builder.load(place) for place in places]
        return context.make_tuple(builder, result, numbers)

    return result(row, count), generate


@jit
def where(condition, x, y):
    """np.where of three numbers: Numba's own makes an array of it."""
    return x if condition else y


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
ONE, BYTE = np.uint64(1), np.uint64(255)
TO_UNIT = 2.0**-53


@jit
def mix(z):
    """A bijection of 64-bit words that leaves no pattern standing."""
    z = (z ^ (z >> S30)) * MIX1
    z = (z ^ (z >> S27)) * MIX2
    return z ^ (z >> S31)


@jit
def stream(seed, key):
    """The state that starts the stream of `key` under `seed`, itself a state: streams nest."""
    return mix(mix(seed) + mix(np.uint64(key) * GOLDEN + GOLDEN))


@jit
def bits(state):
    """64 random bits."""
    state = state + GOLDEN
    return mix(state), state


@jit
def uniform(state):
    """Uniform on [0, 1)."""
    word, state = bits(state)
    return np.int64(word >> S11) * TO_UNIT, state


@jit
def below(count, state):
    """A whole number from 0 to count - 1, each equally likely to within 2^-53 * count."""
    u, state = uniform(state)
    return np.int64(u * count), state


# ------------------------------------------------------------------------------------- ziggurats
# Marsaglia & Tsang (2000), 256 layers of equal area under a falling density f. Layer i spans
# [0, edge[i]); a point left of edge[i + 1] lies under the curve for certain. One 64-bit word
# gives the layer (8 bits) and the place in it (53 bits, signed for the normal).

NORMAL_TAIL, NORMAL_AREA = 3.6541528853610088, 0.0049286732339746571
EXP_TAIL, EXP_AREA = 7.697117470131050, 0.0039496598225815572


def ziggurat_tables(
    tail: float,
    area: float,
    density: Callable[[float], float],
    inverse: Callable[[float], float],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Widths scaled by 2^-52, sure-acceptance limits scaled by 2^52, and heights per layer."""
    edge = [area / density(tail), tail]
    while len(edge) < 256:
        edge.append(inverse(area / edge[-1] + density(edge[-1])))
    edge.append(0.0)
    x = np.array(edge)
    height = np.array([density(v) for v in edge])
    height[0] = height[1]  # the base layer's own top; its tail is drawn apart
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
    """A layer, a point in it, and whether it is under the curve for certain."""
    word, state = bits(state)
    layer = np.int64(word & BYTE)
    place = np.float64(np.int64(word) >> np.int64(11))
    return layer, place * NORMAL_W[layer], abs(place) < NORMAL_K[layer], state


@jit
def normal(state):
    """Standard normal; 99 of 100 draws end here, and the rest stands apart so that this inlines."""
    layer, x, sure, state = normal_point(state)
    if unlikely(not sure):
        return normal_edge(layer, x, state)
    return x, state


@jit
def normal_edge(layer, x, state):
    """A point in a layer's curved end, or in the tail, or a new start."""
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
    """As `normal_point`, without a sign."""
    word, state = bits(state)
    layer = np.int64(word & BYTE)
    place = np.float64(np.int64(word >> np.uint64(12)))
    return layer, place * EXP_W[layer], place < EXP_K[layer], state


@jit
def exponential(state):
    """Standard exponential, cut in two like the normal."""
    layer, x, sure, state = exponential_point(state)
    if unlikely(not sure):
        return exponential_edge(layer, x, state)
    return x, state


@jit
def exponential_edge(layer, x, state):
    """As `normal_edge`; the tail is the whole law again, moved."""
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
    """Gamma(shape, 1) for shape >= 1."""
    d = shape - 1 / 3
    return gamma_with(d, 1 / math.sqrt(9 * d), state)


@jit
def gamma_with(d, c, state):
    """Gamma(d + 1/3, 1) by Marsaglia & Tsang (2000), given c = 1/sqrt(9 d)."""
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
    """The logarithm of a Gamma(shape, 1) draw, which no shape is too small for.

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
    """Beta(a, b); a or b may be zero, which makes it a point mass."""
    if a >= 1 and b >= 1:
        g, state = gamma(a, state)
        h, state = gamma(b, state)
        return g / (g + h), state
    g, state = log_gamma(a, state)
    h, state = log_gamma(b, state)
    return 1 / (1 + math.exp(h - g)), state


@inlined
def t_root(nu, state):
    """The z of a t draw z sqrt(nu / (nu - 2 - z^2)), for nu > 2 (Marsaglia 1980).

    With z normal, e exponential and w = 1/(nu - 2), z is accepted when
    exp(-(2 e + z^2) w) <= 1 - z^2 w. As exp(-y) <= 1 - y + y^2/2, it is enough that
    (2 e + z^2)^2 w <= 4 e, which settles nearly all draws without a division.
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
    """A location-scale t draw, as (value, signed log of its deviation, state)."""
    if unlikely(not df >= 4):
        return student_heavy(loc, scale, df, state)
    x, state = student_light(loc, scale, df, state)
    return x, 0.0, state


@jit
def student_light(loc, scale, df, state):
    """The value alone where it cannot overflow, for df >= 4."""
    if df == np.inf:
        z, state = normal(state)
        return loc + scale * z, state
    z, state = t_root(df, state)
    return loc + scale * z * math.sqrt(df / (df - 2 - z * z)), state


@jit
def student_heavy(loc, scale, df, state):
    """`student` for few degrees of freedom, whose deviation may overflow.

    The value is then infinite, and the signed logarithm still ranks it (the larger, the larger the
    draw).
    """
    z, state = normal(state)
    shape = 0.5 * df
    log_g, state = log_gamma(shape, state)
    log_deviation = math.log(abs(z)) + math.log(scale) - 0.5 * (log_g - math.log(shape))
    if log_deviation == -np.inf:
        return loc, 0.0, state
    value = loc + math.copysign(math.exp(log_deviation), z)
    return value, math.copysign(1.0, z) * log_deviation, state

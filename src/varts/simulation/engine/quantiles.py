"""Student-t quantiles for compiled formulas: SciPy's are not to be had there.

The normal quantile is Wichura's PPND7 (1988), the t Hill's Algorithm 396 (1970): six digits from
three degrees of freedom on, 0.3 % between two and three. One and two degrees of freedom are closed
forms; between and below them the logarithm is interpolated in 1 / df.
"""

from __future__ import annotations

import math

import numpy as np

from varts.simulation.engine.rng import jit


@jit
def normal_quantile(p):
    """The normal quantile of a lower tail p of at most 1/2."""
    q = p - 0.5
    if q >= -0.425:
        r = 0.180625 - q * q
        top = ((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179
        return q * top / (((67.1875636 * r + 78.757757664) * r + 17.895169469) * r + 1)
    r = math.sqrt(-math.log(p))
    if r <= 5:
        r -= 1.6
        top = ((0.17023821103 * r + 1.3067284816) * r + 2.75681539) * r + 1.4234372777
        return -top / ((0.12021132975 * r + 0.7370016425) * r + 1)
    r -= 5
    top = ((0.017337203997 * r + 0.42868294337) * r + 3.081226386) * r + 6.657905115
    return -top / ((0.012258202635 * r + 0.24197894225) * r + 1)


@jit
def stdtrit(df, p):
    """`scipy.special.stdtrit` for a lower tail p of at most 1/2."""
    if p >= 0.5:
        return 0.0
    x = normal_quantile(p)
    if df == np.inf:
        return x
    if df <= 2:
        one = math.log(1 / math.tan(math.pi * p))
        two = math.log((1 - 2 * p) / math.sqrt(2 * p * (1 - p)))
        return -math.exp((2 / df - 1) * one + (2 - 2 / df) * two)
    a = 1 / (df - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * df
    y = (2 * d * p) ** (2 / df)
    if y > 0.05 + a:
        square = x * x
        if df < 5:
            c += 0.3 * (df - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * square + 6.3) * square + 36) * square + 94.5) / c - square - 3) / b + 1) * x
        return -math.sqrt(df * math.expm1(min(a * y * y, 700.0)))
    far = 1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3)
    y = ((far + 0.5 / (df + 4)) * y - 1) * (df + 1) / (df + 2) + 1 / y
    return -math.sqrt(df * y)

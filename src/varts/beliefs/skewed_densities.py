"""Student t distributions that are stretched on one side, for the quadrature: see `SkewedT`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from varts._validation import Floats
from varts.beliefs.densities import Students, t_height
from varts.beliefs.quadrature import ENTRIES_PER_ARRAY

LAGUERRE_NODES, LAGUERRE_WEIGHTS = np.polynomial.laguerre.laggauss(64)


class SkewedStudents(Students):
    """Student t on a line that is stretched on one side: see `SkewedT`, which `skew` comes from.

    At a distance x from loc, z = x / sqrt(scale^2 + skew x) is a t; beyond -scale^2 / skew there is
    nothing. The far tail on the stretched side has half the power, since x grows with z^2 there.
    """

    def __init__(self, loc: Floats, scale: Floats, df: Floats, skew: Floats) -> None:
        super().__init__(loc, scale, df)
        self.skew = skew
        self.bend = skew / scale

    @property
    def mean(self) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):  # of an arm that is not skewed
            shift = 0.5 * self.skew / (1 - 2 / self.df)
        return self.loc + np.where(self.skew == 0, 0.0, shift)

    def take(self, keep: Any) -> SkewedStudents:
        some = object.__new__(SkewedStudents)
        some.__dict__.update((name, values[keep]) for name, values in self.__dict__.items())
        return some

    def mirrored(self) -> SkewedStudents:
        return SkewedStudents(-self.loc, self.scale, self.df, -self.skew)

    def power(self, left: bool) -> Floats:
        stretched = self.skew < 0 if left else self.skew > 0
        return np.where(stretched, self.df / 2, self.df)

    def reach(self, low: Any, high: float) -> Any:
        below, near_end, above = self.quantiles(low, high)
        return (stretch(z, self.scale, self.skew) for z in (below, near_end, -above))

    def ends(self, t: Floats) -> tuple[Floats, Floats]:
        z = self._standardised(t)
        tail = special.stdtr(self.df[:, None], -np.abs(z))
        right = z > 0
        return np.where(right, 1 - tail, tail), np.where(right, tail, 1 - tail)

    def _standardised(self, t: Floats) -> Floats:
        x = t / self.scale[:, None]
        variance = 1 + self.bend[:, None] * x
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(variance > 0, x / np.sqrt(variance), np.copysign(np.inf, x))

    def density(self, t: Floats) -> Floats:
        x = t / self.scale[:, None, None]
        bent = self.bend[:, None, None] * x
        inside = bent > -1
        variance = np.where(inside, 1 + bent, 1.0)
        df = self.df[:, None, None]
        log = self.exponent[:, None, None] * np.log1p(x * x / (variance * df))
        return np.asarray(
            np.where(inside, (1 + 0.5 * bent) * np.exp(log - 1.5 * np.log(variance)), 0.0)
            * self.height[:, None, None]
        )

    def above(self, t: Floats, S: Floats) -> Floats:
        """E[(mu - x)^+] at x = loc + t, for df > 2, or df > 1 where nothing is skewed.

        It is E[c z^2/2 + z sqrt(s^2 + z^2 c^2/4); z > a] - t S. The first term has a closed form.
        In the second, whose integrand is odd, r = (1 + a^2/df) / (1 + z^2/df) makes an integral
        over (0, 1) of r^(p - 1) sqrt(A r + B) with p = df/2 - 1. Written in y = -p log r, or in
        y = -(p + 1/2) log r less what would not decay, it is left to Gauss-Laguerre nodes. That has
        some eight digits, and twelve where df is above 4; all of it is only used for remainders.
        """
        plain = self.skew == 0
        if plain.any():
            out = np.empty(t.shape)
            out[plain] = Students.above(self.take(plain), t[plain], S[plain])
            if not plain.all():
                out[~plain] = self.take(~plain).above(t[~plain], S[~plain])
            return out
        rows = max(1, ENTRIES_PER_ARRAY // (t.shape[1] * LAGUERRE_NODES.size))
        if len(t) > rows:
            blocks = [slice(start, start + rows) for start in range(0, len(t), rows)]
            return np.concatenate([self.take(some).above(t[some], S[some]) for some in blocks])
        df, scale, skew = (x[:, None, None] for x in (self.df, self.scale, self.skew))
        a = self._standardised(t)[..., None]
        inside = np.abs(a[..., 0]) < 1e50  # else next to all of the arm is on one side of x
        a = np.where(inside[..., None], a, 0.0)
        f = t_height(df) * np.exp(-0.5 * (df + 1) * np.log1p(a * a / df))
        squares = (a * (df + a * a) * f + df * S[..., None]) / (df - 2)
        p = 0.5 * df - 1
        start = scale * scale + 0.25 * skew * skew * a * a  # A + B
        B = 0.25 * skew * skew * (df + a * a)
        odd = np.empty(t.shape)
        many = p[:, 0, 0] > 1
        if many.any():
            x = LAGUERRE_NODES / p[many]
            inner = np.sqrt(start[many] * np.exp(-x) - B[many] * np.expm1(-x))
            odd[many] = inner @ LAGUERRE_WEIGHTS / p[many, :, 0]
        if not many.all():
            few = ~many
            x = LAGUERRE_NODES / (p[few] + 0.5)
            inner = np.sqrt(start[few] * np.exp(-x) - B[few] * np.expm1(-x))
            inner = np.exp(-0.5 * x) * (start - B)[few] / (inner + np.sqrt(B[few]))
            odd[few] = inner @ LAGUERRE_WEIGHTS / (p[few, :, 0] + 0.5)
            odd[few] += np.sqrt(B[few, :, 0]) / p[few, :, 0]
        odd = 0.5 * (df * f * (1 + a * a / df))[..., 0] * odd
        within = 0.5 * (skew * squares)[..., 0] + odd - t * S
        beyond = np.maximum((self.mean - self.loc)[:, None] - t, 0.0)
        return np.where(inside, within, beyond)


def stretch(z: Floats, scale: Floats, skew: Floats) -> Floats:
    """The distance from loc where a skewed t has the standardised value z.

    It solves z = x / sqrt(scale^2 + skew x); on the short side in the form that does not cancel.

    >>> stretch(np.array([-2.0, 2.0]), np.ones(2), np.array([0.5, 0.5])).round(4)
    array([-1.2361,  3.2361])
    """
    half = 0.5 * skew * z
    root = np.hypot(scale, half)
    with np.errstate(invalid="ignore", divide="ignore"):
        short = z * scale * (scale / (root - half))
    return np.where(half < 0, short, z * (root + half))

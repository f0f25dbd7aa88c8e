"""Bayesian linear regression as textbooks write it, in exact fractions: Lambda, m, a, b.

The design has a constant in front, sums are plain, nothing is centered, and systems are solved by
elimination. It shares no formula with the package.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np


def fractions(values):
    """Numbers, rows or matrices as nested lists of fractions; floats are what they are, exactly."""
    if np.ndim(values):
        return [fractions(value) for value in values]
    return Fraction(values) if isinstance(values, (int, Fraction)) else Fraction(float(values))


def solve(matrix, vector):
    """Gauss and Jordan."""
    size = len(matrix)
    rows = [[*row, right] for row, right in zip(matrix, vector, strict=True)]
    for i in range(size):
        pivot = next(k for k in range(i, size) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(size):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def times(matrix, vector):
    return [dot(row, vector) for row in matrix]


@dataclass
class Textbook:
    """sigma^2 ~ IG(a, b), theta | sigma^2 ~ N(m, sigma^2 Lambda^-1), the constant's theta first."""

    Lambda: list
    m: list
    a: Fraction
    b: Fraction

    @classmethod
    def prior(cls, mu, kappa, alpha, beta, slopes, precision, center):
        """The same in the package's words: kappa (theta_0 + c's - mu)^2 + (s - m)'P(s - m)."""
        mu, kappa, alpha, beta = map(fractions, (mu, kappa, alpha, beta))
        slopes, precision, center = map(fractions, (slopes, precision, center))
        u = [Fraction(1), *center]
        Lambda = [[kappa * p * q for q in u] for p in u]
        for i, row in enumerate(precision):
            for j, value in enumerate(row):
                Lambda[i + 1][j + 1] += value
        return cls(Lambda, [mu - dot(center, slopes), *slopes], alpha, beta)

    def posterior(self, rows, rewards):
        design, y = [[Fraction(1), *row] for row in fractions(rows)], fractions(rewards)
        size = range(len(self.m))
        Lambda = [
            [self.Lambda[i][j] + sum(z[i] * z[j] for z in design) for j in size] for i in size
        ]
        before = times(self.Lambda, self.m)
        right = [before[i] + sum(z[i] * v for z, v in zip(design, y, strict=True)) for i in size]
        m = solve(Lambda, right)
        squares = dot(y, y) + dot(self.m, before) - dot(m, right)
        return Textbook(Lambda, m, self.a + Fraction(len(y), 2), self.b + squares / 2)

    def at(self, x):
        """Location, scale and degrees of freedom of the Student t of the mean at x."""
        z = [Fraction(1), *fractions(x)]
        variance = self.b / self.a * dot(z, solve(self.Lambda, z))
        return float(dot(z, self.m)), float(variance) ** 0.5, float(2 * self.a)

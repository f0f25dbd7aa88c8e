"""The claims about the paper's experiments, each compared with measurements.

A claim that one regret is below another counts as reproduced if the whole 95 % interval of the
paired difference is on the claimed side of zero. A claimed factor counts as reproduced if the
measured ratio reaches it; its interval is printed with it. The verdicts are computed, and nothing
is tuned to improve them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from varts._intervals import Interval, mean_interval
from varts.simulation.study import Study

Studies = Mapping[tuple[str, int], Study]  # (problem, K) -> study

BASELINES = ("UCB1", "UCB1-Tuned", "UCB-V", "Bernoulli-TS", "Gaussian-TS", "TS14", "TS20")
SIMILAR = 1.1
WITHIN = "(read as: the interval of the ratio is within 10 % of 1)"
NAMES = {"bernoulli": "Bernoulli", "beta": "beta", "gaussian": "Gaussian"}


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, its verdict and the numbers behind it."""

    where: str
    text: str
    reproduced: bool
    measured: str

    @property
    def verdict(self) -> str:
        return "reproduced" if self.reproduced else "not reproduced"


def difference(study: Study, upper: str, lower: str) -> Interval:
    """Return the mean of the paired differences upper - lower, with its interval."""
    return mean_interval(study.final[upper] - study.final[lower])


def ratio(study: Study, upper: str, lower: str) -> Interval:
    """Return the ratio of mean regrets, with an interval by the delta method."""
    a, b = study.final[upper], study.final[lower]
    value = float(a.mean() / b.mean())
    return mean_interval(value + (a - value * b) / b.mean())


def _below(study: Study, lower: Iterable[str], upper: Iterable[str]) -> bool:
    """Return whether every policy in `lower` has significantly less regret than every other."""
    upper = list(upper)
    return all(difference(study, u, low).low > 0 for low in lower for u in upper)


def _ranking(study: Study) -> str:
    rows = study.summary().select("policy", "regret", "regret_high").rows()
    return ", ".join(f"{label} {mean:.1f} ± {high - mean:.1f}" for label, mean, high in rows)


def _lowest(study: Study, labels: Iterable[str]) -> str:
    return min(labels, key=lambda label: float(study.final[label].mean()))


def figure1_claims(studies: Studies) -> list[Claim]:
    """Check the paper's claims about figure 1."""
    claims = []
    for problem, make in (("bernoulli", _bernoulli), ("beta", _beta), ("gaussian", _gaussian)):
        study = studies.get((problem, 10))
        claims += make(study) if study is not None else []
    return claims


def _bernoulli(study: Study) -> list[Claim]:
    where = "Figure 1a, Bernoulli, K = 10"
    first, middle = ("VarTS", "Bernoulli-TS"), ("UCB1-Tuned", "TS14", "TS20")
    worst = ("UCB1", "UCB-V")
    others = [label for label in study.labels if label not in first]
    return [
        Claim(
            where,
            "VarTS and Bernoulli TS have the lowest regret.",
            _below(study, first, others),
            _ranking(study),
        ),
        Claim(
            where,
            f"VarTS matches the performance of Bernoulli TS {WITHIN}.",
            _similar(ratio(study, "VarTS", "Bernoulli-TS")),
            f"VarTS / Bernoulli-TS = {ratio(study, 'VarTS', 'Bernoulli-TS')}",
        ),
        Claim(
            where,
            "The next three best are UCB1-Tuned, TS14 and TS20.",
            _below(study, first, middle) and _below(study, middle, ("Gaussian-TS", *worst)),
            "; ".join(
                f"{label} - Bernoulli-TS = {difference(study, label, 'Bernoulli-TS')}, "
                f"Gaussian-TS - {label} = {difference(study, 'Gaussian-TS', label)}"
                for label in middle
            ),
        ),
        _worst_claim(where, study),
    ]


def _beta(study: Study) -> list[Claim]:
    where = "Figure 1b, beta, K = 10"
    tuned = ("TS14", "TS20")
    return [
        Claim(
            where,
            "VarTS outperforms Bernoulli TS.",
            _below(study, ("VarTS",), ("Bernoulli-TS",)),
            f"Bernoulli-TS - VarTS = {difference(study, 'Bernoulli-TS', 'VarTS')}; "
            + _ranking(study),
        ),
        Claim(
            where,
            "Both TS14 and TS20 outperform UCB1-Tuned.",
            _below(study, tuned, ("UCB1-Tuned",)),
            "; ".join(
                f"UCB1-Tuned - {label} = {difference(study, 'UCB1-Tuned', label)}"
                for label in tuned
            ),
        ),
        _worst_claim(where, study),
    ]


def _gaussian(study: Study) -> list[Claim]:
    where = "Figure 1c, Gaussian, K = 10"
    others = [label for label in study.labels if label != "UCB1-Tuned"]
    leaders = ("VarTS", "UCB1-Tuned")
    rest = [label for label in study.labels if label not in leaders]
    higher = max(leaders, key=lambda label: float(study.final[label].mean()))
    ratios = {label: ratio(study, label, higher) for label in rest}
    ranked = sorted(study.labels, key=lambda label: -float(study.final[label].mean()))
    return [
        Claim(
            where,
            "UCB1-Tuned has the lowest regret.",
            _below(study, ("UCB1-Tuned",), others),
            _ranking(study),
        ),
        Claim(
            where,
            f"VarTS performs similarly {WITHIN}.",
            _similar(ratio(study, "VarTS", "UCB1-Tuned")),
            f"VarTS / UCB1-Tuned = {ratio(study, 'VarTS', 'UCB1-Tuned')}",
        ),
        Claim(
            where,
            "All other algorithms have at least 50 % higher regret.",
            all(r.value >= 1.5 for r in ratios.values()),
            "; ".join(f"{label} / {higher} = {r}" for label, r in ratios.items()),
        ),
        Claim(
            where,
            "UCB1 and UCB-V are among the worst (read as: in the worst three).",
            {"UCB1", "UCB-V"} <= set(ranked[:3]),
            "worst three: " + ", ".join(ranked[:3]) + "; " + _ranking(study),
        ),
    ]


def figure2_claims(studies: Studies) -> list[Claim]:
    """Check the paper's claims about figure 2."""
    claims = []
    for problem, factor in (("bernoulli", 3), ("beta", 5), ("gaussian", 2)):
        by_arms = {K: study for (name, K), study in sorted(studies.items()) if name == problem}
        by_arms.pop(10, None)  # it belongs to figure 1
        if 32 not in by_arms:
            continue
        study = by_arms[32]
        times = {label: ratio(study, label, "VarTS") for label in BASELINES}
        claims.append(
            Claim(
                f"Figure 2, {NAMES[problem]}, K = 32",
                f"VarTS has at least {factor} times lower regret than any baseline.",
                all(r.value >= factor for r in times.values()),
                "; ".join(f"{label} / VarTS = {r}" for label, r in times.items()),
            )
        )
        gaps = {K: difference(s, _lowest(s, BASELINES), "VarTS") for K, s in by_arms.items()}
        steps = list(gaps.values())
        claims.append(
            Claim(
                f"Figure 2, {NAMES[problem]}",
                "The gap between VarTS and the baselines increases with K "
                "(read as: to the best baseline, from each K to the next).",
                all(_grows(a, b) for a, b in pairwise(steps)),
                "; ".join(f"K = {K}: {gap}" for K, gap in gaps.items()),
            )
        )
    return claims


def _grows(a: Interval, b: Interval) -> bool:
    """Return whether b is significantly above a.

    Studies with different K are independent, so the half-widths add in quadrature.
    """
    return b.value - a.value > math.hypot(a.value - a.low, b.value - b.low)


def _similar(r: Interval) -> bool:
    return r.low >= 1 / SIMILAR and r.high <= SIMILAR


def _worst_claim(where: str, study: Study) -> Claim:
    worst = ("UCB1", "UCB-V")
    rest = [label for label in study.labels if label not in worst]
    runner = max(rest, key=lambda label: float(study.final[label].mean()))
    return Claim(
        where,
        "UCB1 and UCB-V have the highest regret.",
        _below(study, rest, worst),
        "; ".join(f"{label} - {runner} = {difference(study, label, runner)}" for label in worst),
    )


def markdown(claims: Iterable[Claim], settings: str) -> str:
    """Return the claims as a page in Markdown."""
    claims = list(claims)
    done = sum(claim.reproduced for claim in claims)
    lines = [
        "# The paper's experimental claims, measured",
        "",
        f"{settings} {done} of {len(claims)} claims reproduced.",
        "",
        "Numbers are regret at the horizon; brackets and ± are 95 % intervals over runs. "
        "An order counts as reproduced when the paired interval is on one side of zero, a factor "
        "when the ratio of the means reaches it.",
        "",
    ]
    where = ""
    for claim in claims:
        if claim.where != where:
            where = claim.where
            lines += [f"## {where}", ""]
        lines += [f"**{claim.verdict}**: {claim.text}", "", f"Measured: {claim.measured}.", ""]
    return "\n".join(lines)

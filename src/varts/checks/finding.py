"""What a check says."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from varts._text import printable
from varts._validation import abbreviate

OK, NOTE, WARNING = "ok", "note", "warning"
VERDICTS = (OK, NOTE, WARNING)  # from good to bad
ROWS = "rows"  # the check of what was left out
WORD = "reward not a number"  # why a row is left out
LINE = 100  # characters; longer sentences go on in the next line


@dataclass(frozen=True)
class Finding:
    """One check with what it found.

    Args:
        name: What was looked at, such as "drift".
        verdict: "ok", "note" (know it, or too little to tell) or "warning" (do something).
        number: What was measured; None if there was too little to measure.
        sentence: What follows, and what to do.
    """

    name: str
    verdict: str
    number: float | None
    sentence: str

    def __str__(self) -> str:
        return printable(f"{self.name}: {self.verdict}: {self.sentence}")


@dataclass(frozen=True)
class Checks:
    """All checks of a log; `print` them, or go through them.

    Args:
        name: What was checked.
        findings: What each check found, in a fixed order.

    >>> found = Checks("log.csv", (Finding("zeros", "ok", 0.0, "0 % of the rewards are 0"),))
    >>> print(found)
    log.csv: nothing to note in 1 check
    zeros  ok  0 % of the rewards are 0
    >>> found["zeros"].number, found.verdict
    (0.0, 'ok')
    """

    name: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """The worst of all."""
        return max((one.verdict for one in self.findings), key=VERDICTS.index, default=OK)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, name: str) -> Finding:
        for one in self.findings:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        findings = [asdict(one) for one in self.findings]
        return {"name": self.name, "verdict": self.verdict, "checks": findings}

    def __str__(self) -> str:
        count = [sum(one.verdict == verdict for one in self.findings) for verdict in VERDICTS]
        said = [
            f"{number} {word}{'s' if number > 1 else ''}"
            for number, word in ((count[2], WARNING), (count[1], NOTE))
            if number
        ]
        total = f"{len(self.findings)} check{'s' if len(self.findings) != 1 else ''}"
        lines = [f"{self.name}: {' and '.join(said) or 'nothing to note'} in {total}"]
        wide = max((len(one.name) for one in self.findings), default=0)
        also = max((len(one.verdict) for one in self.findings), default=0)
        for one in self.findings:
            head = f"{one.name:{wide}}  {one.verdict:{also}}  "
            text = textwrap.wrap(printable(one.sentence), LINE, break_long_words=False) or [""]
            lines += [head + text[0], *(" " * len(head) + more for more in text[1:])]
        return "\n".join(printable(line) for line in lines)


def too_few(name: str, what: str, got: float, needed: int) -> Finding:
    """Nothing confident is said on thin data.

    >>> too_few("zeros", "rewards", 12, 100).sentence
    'too few rewards to tell: 12, and it takes 100'
    """
    return Finding(name, NOTE, None, f"too few {what} to tell: {got:,.0f}, and it takes {needed:,}")


def percent(share: float) -> str:
    """A share as a person says it: neither all nor none unless it is.

    >>> [percent(x) for x in (0.0, 0.0004, 0.137, 0.9996, 1.0)]
    ['0 %', 'less than 1 %', '14 %', 'more than 99 %', '100 %']
    """
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{share:.0%}".replace("%", " %")


def plural(count: float, word: str) -> str:
    """A number of things.

    >>> plural(1, "arm"), plural(2000, "arm")
    ('1 arm', '2,000 arms')
    """
    return f"{count:,.0f} {word}{'' if count == 1 else 's'}"


def list_reasons(left_out: Mapping[str, int], word: str | None = None) -> str:
    """How many rows are left out for which reason; words that stand for rewards come first.

    >>> list_reasons({"arm missing": 1200, "reward not a number": 3}, "1,5")
    "3 reward not a number, such as '1,5', 1,200 arm missing"
    """
    shown = "" if word is None else f", such as {abbreviate(word)}"
    reasons = sorted(left_out, key=lambda reason: reason != WORD)
    return ", ".join(
        f"{left_out[reason]:,} {reason}{shown if reason == WORD else ''}" for reason in reasons
    )

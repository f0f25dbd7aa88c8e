"""The result of a check."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from varts._decoding import decode
from varts._text import printable
from varts._validation import abbreviate, choice

OK, NOTE, WARNING = "ok", "note", "warning"
VERDICTS = (OK, NOTE, WARNING)  # from best to worst
ROWS = "rows"  # the check on rows left out
FALLBACK = "fallback"  # the reason of decisions that a client made by itself
WORD = "reward not a number"  # a reason to leave a row out
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
LINE = 100  # characters; longer sentences are wrapped


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Args:
        name: The name of the check, such as "drift".
        verdict: "ok", "note" (for your information, or too little data) or "warning" (do
            something).
        number: The measured number; None if there was too little data.
        sentence: The conclusion, and what to do.
    """

    name: str
    verdict: str
    number: float | None
    sentence: str

    def __str__(self) -> str:
        return printable(f"{self.name}: {self.verdict}: {self.sentence}")


@dataclass(frozen=True)
class Checks:
    """All checks of a log. `print` them, or iterate over them.

    Args:
        name: The name of the log or experiment.
        findings: The result of each check, in a fixed order.

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
        """The worst verdict of all checks."""
        return max((one.verdict for one in self.findings), key=VERDICTS.index, default=OK)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, name: str) -> Finding:
        for one in self.findings:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `from_dict` is the inverse."""
        findings = [asdict(one) for one in self.findings]
        return {"name": self.name, "verdict": self.verdict, "checks": findings}

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Checks:
        """Read the result of `to_dict`.

        Args:
            body: Plain values by name.
        """
        made: Checks = decode(cls, {**body, "findings": body["checks"]}, "checks")
        for one in made.findings:
            choice("verdict", one.verdict, VERDICTS)
        return made

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
    """The finding of a check that needs more data.

    >>> too_few("zeros", "rewards", 12, 100).sentence
    'too few rewards to tell: 12 of the 100 needed'
    """
    return Finding(name, NOTE, None, f"too few {what} to tell: {got:,.0f} of the {needed:,} needed")


def percent(share: float) -> str:
    """A share as text, rounded to 0 % or 100 % only if it is exactly that.

    >>> [percent(x) for x in (0.0, 0.0004, 0.137, 0.9996, 1.0)]
    ['0 %', 'less than 1 %', '14 %', 'more than 99 %', '100 %']
    """
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{share:.0%}".replace("%", " %")


def plural(count: float, word: str) -> str:
    """A count with its noun.

    >>> plural(1, "arm"), plural(2000, "arm")
    ('1 arm', '2,000 arms')
    """
    return f"{count:,.0f} {word}{'' if count == 1 else 's'}"


def list_reasons(left_out: Mapping[str, int], word: str | None = None) -> str:
    """The numbers of rows left out, by reason; rewards that are not numbers come first.

    >>> list_reasons({"arm missing": 1200, "reward not a number": 3}, "pending")
    "3 reward not a number, such as 'pending', 1,200 arm missing"
    """
    shown = "" if word is None else f", such as {abbreviate(word)}"
    reasons = sorted(left_out, key=lambda reason: reason != WORD)
    return ", ".join(
        f"{left_out[reason]:,} {reason}{shown if reason == WORD else ''}" for reason in reasons
    )


def duration(seconds: float) -> str:
    """A time as text.

    >>> duration(7000), duration(0.4), duration(90)
    ('1.9 hours', '0.4 seconds', '1.5 minutes')
    """
    unit, size = next((u, s) for u, s in SECONDS.items() if seconds >= s or s == 1)
    return f"{seconds / size:.2g} {unit}"

"""Print the constraints that pin every dependency to the oldest release pyproject.toml allows.

    python .ci/oldest.py pyproject.toml

`name>=1.2` becomes `name==1.2.*`, so that fixes within the oldest release count. A requirement
without a lower bound, such as a tool for development, stays free.
"""

import re
import sys
import tomllib

REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?"
    r"(?P<bounds>[^;]*)(?P<marker>;.*)?"
)


def oldest(requirement: str) -> str | None:
    """The constraint for one requirement, or None if it has no lower bound."""
    match = REQUIREMENT.fullmatch(requirement.strip())
    if match is None:
        raise ValueError(f"not a requirement: {requirement!r}")
    bounds = [bound.strip() for bound in match["bounds"].split(",")]
    lower = [bound.removeprefix(">=").strip() for bound in bounds if bound.startswith(">=")]
    if not lower:
        return None
    version = lower[0] if "." in lower[0] else f"{lower[0]}.0"
    return f"{match['name']}=={version}.* {match['marker'] or ''}".rstrip()


def constraints(pyproject: str) -> list[str]:
    """The constraints for all dependencies, required and optional."""
    project = tomllib.loads(pyproject)["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return [found for group in groups for one in group if (found := oldest(one)) is not None]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(constraints(file.read())))

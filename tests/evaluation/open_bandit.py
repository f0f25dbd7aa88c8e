"""What `varts.evaluate` and the Open Bandit Pipeline (obp) are both asked, and how they compare.

`make bench NAME=obp` asks obp and keeps its answers in `open_bandit.json`; a test asks
varts again and compares.
"""

from pathlib import Path

import varts
from tests.worlds.exported_logs import ARMS, LOGS, PRICES

RESULTS = Path(__file__).with_name("open_bandit.json")
TARGETS = {
    "late rewards": (PRICES, [{"12": 1.0}, {"9": 0.2, "12": 0.5, "15": 0.3}]),
    "sticky units": (PRICES, [{"9": 1.0}, {"9": 0.2, "12": 0.5, "15": 0.3}]),
    "revenue": (ARMS, [{"arm 4": 1.0}, {"floor": 0.05}]),
}
TOLERANCE = 1e-9
CONTROL = "doubly robust, obp's model from all rewards"


def ours(path, arms, target):
    """By `varts.evaluate`, from the file."""
    if "floor" not in target:
        return varts.evaluate(path, target)
    columns = {arm: f"p {arm}" for arm in arms}
    return varts.evaluate(path, varts.with_floor(target["floor"]), chances=columns)


def jobs(folder):
    """Write the logs into a folder, and name all that is to be estimated from them."""
    out = []
    for name, make in LOGS.items():
        path = folder / f"{name.replace(' ', '-')}.csv"
        make(path)
        arms, targets = TARGETS[name]
        out += [(name, path, arms, target) for target in targets]
    return out


def compare(asked, found):
    """Rows of the table: log, policy, estimator, ours and obp's. The last of each log and policy is
    the control, whose model also knows later rewards."""
    for (log, path, arms, target), other in zip(asked, found, strict=True):
        mine = ours(path, arms, target)
        for name, value in other["estimates"].items():
            yield log, mine.target, name, mine.estimates[name].value, value
        yield log, mine.target, CONTROL, mine.estimates["doubly robust"].value, other["peeking"]

"""The estimates of the Open Bandit Pipeline (obp) from a log in CSV: `python open_bandit.py JOBS`.

Run by `agreement.py` in the environment of obp, which has no varts. It reads the file by itself and
makes the reward model that docs/evaluation-estimators.md describes in plain loops, since obp leaves
the choice of one to its user; the estimates are obp's. JOBS is a JSON file of {log, target, arms}
each, and the answer on standard output a list of {estimates, peeking}: a value per estimator, and
the doubly robust one with a model that has seen all rewards.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np
from obp import ope

ESTIMATORS = [
    ope.InverseProbabilityWeighting(estimator_name="inverse probability"),
    ope.SelfNormalizedInverseProbabilityWeighting(estimator_name="self-normalised"),
    ope.DoublyRobust(estimator_name="doubly robust"),
]


def read(path):
    """The rows that have a reward, in the order of their decisions."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["value"] != ""]
    return sorted(rows, key=lambda row: int(row["version"]))


def column(rows, name, kind):
    return np.array([kind(row[name]) for row in rows])


def means_known_in_time(rows, arms):
    """The mean of every arm's rewards that were settled when the unit's first decision was made;
    before an arm's first reward, the mean of all rewards."""
    arm, value = column(rows, "arm", str), column(rows, "value", float)
    settled = column(rows, "settled_version", int)
    seen_at, out = {}, np.empty((len(rows), len(arms)))
    for t, row in enumerate(rows):
        version = int(row["version"])
        if row.get("unit"):
            version = seen_at.setdefault(row["unit"], version)
        for a, name in enumerate(arms):
            known = value[(arm == name) & (settled <= version)]
            out[t, a] = known.mean() if len(known) else value.mean()
    return out


def means_of_all(rows, arms):
    """The mean of every arm's rewards, later ones too: a model that knows too much."""
    arm, value = column(rows, "arm", str), column(rows, "value", float)
    return np.tile([value[arm == name].mean() for name in arms], (len(rows), 1))


def shares_by_row(rows, arms, target):
    """Shares of the arms, or those of the log with a floor on top."""
    if "floor" not in target:
        return np.array([[target.get(arm, 0.0) for arm in arms]] * len(rows))
    logged = np.array([[float(row[f"p {arm}"]) for arm in arms] for row in rows])
    return target["floor"] + (1 - len(arms) * target["floor"]) * logged


def estimate(log, target, arms):
    rows = read(log)
    evaluation = ope.OffPolicyEvaluation(
        bandit_feedback={
            "n_rounds": len(rows),
            "n_actions": len(arms),
            "action": np.array([arms.index(row["arm"]) for row in rows]),
            "reward": column(rows, "value", float),
            "pscore": column(rows, "probability", float),
            "position": None,
        },
        ope_estimators=ESTIMATORS,
    )

    def by(model):
        return evaluation.estimate_policy_values(
            action_dist=shares_by_row(rows, arms, target)[:, :, None],
            estimated_rewards_by_reg_model=model(rows, arms)[:, :, None],
        )

    estimates = {name: float(value) for name, value in by(means_known_in_time).items()}
    return {"estimates": estimates, "peeking": float(by(means_of_all)["doubly robust"])}


if __name__ == "__main__":
    jobs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps([estimate(**job) for job in jobs]))

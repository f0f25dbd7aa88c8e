"""Tables of scikit-learn as bandits: `python context_tables.py FILE.npz`, where it is installed.

Every task is a table of features and a table of what each arm would pay for each row. Features are
standardised, which the peers need, and also left as they are.
"""

import sys

import numpy as np
from sklearn import datasets

LEVELS = 4  # arms of the task with continuous rewards


def classes(load):
    """Reward 1 for the arm that is the row's class, 0 for all others."""
    features, label = load(return_X_y=True)
    return features, np.eye(label.max() + 1)[label]


def diabetes():
    """Say how far the disease will be in a year: an arm for each quarter of the patients pays minus
    the distance between the quarter's median and what came."""
    features, progress = datasets.load_diabetes(return_X_y=True, scaled=False)
    said = np.quantile(progress, (np.arange(LEVELS) + 0.5) / LEVELS)
    return features, -np.abs(progress[:, None] - said)


def standardised(features):
    spread = features.std(axis=0)
    return (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1)


def main():
    tasks = {
        "digits": classes(datasets.load_digits),
        "wine": classes(datasets.load_wine),
        "breast cancer": classes(datasets.load_breast_cancer),
        "diabetes": diabetes(),
    }
    out = {}
    for name, (features, pays) in tasks.items():
        out |= {f"{name}, raw / x": features, f"{name} / x": standardised(features)}
        out |= {f"{name}, raw / pays": pays, f"{name} / pays": pays}
    np.savez(sys.argv[1], **out)


if __name__ == "__main__":
    main()

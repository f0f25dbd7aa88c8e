"""`varts.evaluate` on logs with contexts: what is asked, estimated and refused."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import varts
from tests.worlds.contextual_logs import ARMS, FEATURES, LEVEL, SLOPES, by_sign, play
from varts.evaluation.reward_model import expected_rewards, taken_in
from varts.evaluation.scores import Scores

LINES = varts.LinearNormalGamma(
    LEVEL, 1e3, 9, 9, slopes=SLOPES, precision=[1e3, 1e3], names=ARMS, features=FEATURES.columns
)


def table_of(log):
    return pl.DataFrame(
        {
            "arm": [log.arms[a] for a in log.arm],
            "reward": log.reward,
            "probability": log.probability,
            "age": log.x[:, 0],
            "visits": log.x[:, 1],
        }
    )


@pytest.fixture(scope="module")
def log():
    """Every reward is known before the next decision, as a table without times says."""
    made = play(np.random.default_rng(4), 600)
    row = np.arange(len(made), dtype=float)
    return replace(made, known=row - 1, settled=row, chances=None)


def by_age(context):
    return "red" if context["age"] > 0 else "green"


@pytest.mark.parametrize("features", [["age", "visits"], FEATURES, FEATURES.to_dict()])
def test_a_table_is_what_its_arrays_are(log, features):
    found = varts.evaluate(table_of(log), by_age, features=features)
    scores, shares = Scores(replace(log, arms=("blue", "green", "red"))), by_sign(log.x)
    assert found.target == "by_age"
    assert found.headline == "doubly robust"
    assert list(found.estimates) == ["doubly robust", "self-normalised", "inverse probability"]
    for name in found.estimates:
        right = getattr(scores, name.replace(" ", "_").replace("-", "_"))(shares).value
        assert found.estimates[name].value == pytest.approx(right, rel=1e-12)


def test_functions_and_beliefs_say_the_same(log):
    table, features = table_of(log), FEATURES

    def best(context):
        return ARMS[int(np.argmax(LEVEL + SLOPES @ [context["age"], context["visits"]]))]

    one = varts.evaluate(table, best, features=features)
    two = varts.evaluate(table, varts.greedy(LINES), features=features)
    assert one.estimates == two.estimates
    worst = varts.evaluate(table, varts.greedy(LINES, goal="min"), features=features)
    assert worst.value < one.value - 1
    assert "greedy with a fixed posterior" in str(two)


def test_thompson_shares_are_the_chances_of_being_best(log):
    """Against draws: 20,000 of each unit's three means, with an error of 0.0035 at most."""
    wide = replace(LINES, kappa=5.0, precision=[[5.0, 0], [0, 5.0]])
    few = replace(log, x=log.x[:5], arm=log.arm[:5])
    shares = varts.evaluation.contextual.belief_shares(varts.thompson(wide), few)
    belief = wide.belief(few.x)
    rng = np.random.default_rng(1)
    draws = belief.loc + belief.scale * rng.standard_t(belief.df, (20_000, *belief.loc.shape))
    drawn = (draws.argmax(axis=2)[..., None] == np.arange(3)).mean(axis=0)
    assert shares == pytest.approx(drawn, abs=5 * 0.0035)
    assert np.abs(shares - shares[::-1]).max() > 0.1  # the control: those of other units
    floored = varts.evaluation.contextual.belief_shares(varts.thompson(wide, floor=0.1), few)
    assert floored == pytest.approx(0.1 + 0.7 * shares)


def test_shares_that_depend_on_nothing_are_those_that_do_not(log):
    table = table_of(log)
    fixed = varts.evaluate(table, {"red": 0.3, "blue": 0.7}, features=FEATURES)
    same = varts.evaluate(table, lambda context: {"red": 0.3, "blue": 0.7}, features=FEATURES)
    for name, one in fixed.estimates.items():
        assert same.estimates[name] == pytest.approx(one, rel=1e-12)
    assert same.target == "a function of the context"
    compared = varts.evaluate(table, varts.always("red"), against=by_age, features=FEATURES)
    assert compared.against == "by_age"
    assert compared.difference.value == pytest.approx(
        compared.value - varts.evaluate(table, by_age, features=FEATURES).value, rel=1e-9
    )


def test_the_model_has_seen_only_what_was_known(log):
    """What a decision expects does not change with rewards from then on; after them, it does."""
    half, first = 300, int(np.argmax(log.arm == 0))
    later = log.reward.copy()
    later[half:] += 5 + 5 * np.random.default_rng(1).standard_normal(len(log) - half)
    one, two = (Scores(replace(log, reward=r)).known_means(0) for r in (log.reward, later))
    known = slice(first + 1, half + 1)  # before an arm's first reward it is the mean of all
    assert one[known] == pytest.approx(two[known], rel=1e-9)
    assert np.abs(one[half + 50 :] - two[half + 50 :]).max() > 1  # the control


def test_the_model_is_a_regression_of_each_arm(log):
    """Against the posterior of a prior whose level is worth nothing, at a late decision."""
    at = 400
    rows = np.arange(at)[log.arm[:at] == 1]
    seen = rows[: taken_in(len(rows))[-1]]
    whole = varts.LinearStats.empty(1, 2).observe(np.zeros(len(log), int), log.x, log.reward)
    prior = replace(varts.policies.linear.unit_free_linear_prior(whole), kappa=0.0)
    zeros = np.zeros(len(seen), int)
    arm = varts.LinearStats.empty(1, 2).observe(zeros, log.x[seen], log.reward[seen])
    right = prior.posterior(arm).at(log.x[at])[0]
    assert Scores(log).known_means(1)[at] == pytest.approx(right[0], rel=1e-9)
    mine = np.flatnonzero(log.arm == 1)
    count = np.searchsorted(mine, np.arange(len(log)))
    assert expected_rewards(log.x, log.reward, mine, count)[at] == pytest.approx(right[0], rel=1e-9)


def plain_doubly_robust(log, shares):
    """Value and standard error in plain loops, by least squares with rows that stand for the ridge;
    with more than a hundred rewards of an arm, as many as the last hundredth more."""
    spread, center = log.x.std(axis=0), log.x.mean(axis=0)
    scores = []
    for t in range(len(log)):
        score = 0.0
        for arm in range(len(log.arms)):
            known = np.flatnonzero((log.arm == arm) & (log.settled <= log.known[t]))
            size = min(len(known), 100)
            while size >= 100 and size + size // 100 <= len(known):
                size += size // 100
            rows = known[np.argsort(log.settled[known], kind="stable")][:size]
            expected = log.reward.mean()
            if size:
                design = np.column_stack([np.ones(size), log.x[rows] - center])
                ridge = np.column_stack([np.zeros(2), np.diag(spread)])
                paid = np.append(log.reward[rows], [0.0, 0.0])
                line = np.linalg.lstsq(np.vstack([design, ridge]), paid, rcond=None)[0]
                expected = line[0] + (log.x[t] - center) @ line[1:]
            score += shares[t, arm] * expected
            if log.arm[t] == arm:
                score += shares[t, arm] / log.probability[t] * (log.reward[t] - expected)
        scores.append(score)
    return np.mean(scores), np.std(scores) / np.sqrt(len(scores))


@pytest.mark.parametrize("late", [False, True])
def test_estimates_are_those_of_plain_loops(log, late):
    """An independent computation, of rewards known at once and in batches of 20."""
    made = play(np.random.default_rng(8), 400) if late else log
    shares = by_sign(made.x)
    found = Scores(made).doubly_robust(shares)
    right = plain_doubly_robust(made, shares)
    assert (found.value, found.standard_error(made.unit)) == pytest.approx(right, rel=1e-9)
    row = np.arange(len(made), dtype=float)
    peeking = replace(made, known=row + len(made))  # the control: a model that knows all rewards
    assert abs(Scores(peeking).doubly_robust(shares).value - right[0]) > 1e-4


def test_levels_and_units_do_not_matter(log):
    table = table_of(log)
    one = varts.evaluate(table, by_age, features=FEATURES)
    moved = table.with_columns(
        reward=100 * pl.col("reward") + 1e9, visits=pl.col("visits") / 1000 + 1e6
    )
    two = varts.evaluate(moved, by_age, features=FEATURES)
    for name in ("doubly robust", "self-normalised"):
        a, b = one.estimates[name], two.estimates[name]
        assert (b.value - 1e9, b.se) == pytest.approx((100 * a.value, 100 * a.se), rel=1e-4)


def test_rows_without_a_context_are_left_out(log):
    table = table_of(log).with_columns(
        age=pl.when(pl.int_range(pl.len()) >= 7).then("age"), place=pl.lit("NL")
    )
    found = varts.evaluate(table, by_age, features={"age": "number", "visits": "number"})
    assert found.left_out == {"age missing": 7}
    assert found.used == 593
    seen = []
    varts.evaluate(
        table.head(50),
        lambda context: seen.append(context) or "red",
        features=varts.Features({"age": "number", "place": ["NL"]}, optional=["age"]),
    )
    assert len(seen) == 50
    assert seen[0] == {"place": "NL"}
    assert seen[9] == {"age": table["age"][9], "place": "NL"}


def test_mistakes(log):
    table = table_of(log)

    def refused(said, policy, kind=ValueError, **options):
        with pytest.raises(kind, match=said):
            varts.evaluate(table, policy, **options)

    refused("features must be given for by_age, got none", by_age)
    refused("features must be given for Thompson sampling with a", varts.thompson(LINES))
    refused("unknown column 'size'", by_age, features=["size"])
    refused("features must be those of the posterior", varts.greedy(LINES), features=["age"])
    refused(
        r"features must be those of the posterior \(age, visits\), got visits, age",
        varts.greedy(LINES),
        features=["visits", "age"],
    )
    few = replace(LINES.take([0, 1]), others=None)
    refused("unknown arm of the posterior 'blue'", varts.greedy(few), features=FEATURES)
    refused("unknown arm 'pink'", lambda context: "pink", features=FEATURES)
    refused("shares must add up to 1, got 0.5", lambda context: {"red": 0.5}, features=FEATURES)
    refused("must return an arm or shares", lambda context: 3, kind=TypeError, features=FEATURES)
    refused("floor must be finite and <= 0.33", varts.greedy(LINES, floor=0.5), features=FEATURES)
    refused("policy must not learn, got LinearVarTS", varts.LinearVarTS(), features=FEATURES)
    refused("a function of the context, got <class", varts.EvenSplit, kind=TypeError)
    with pytest.raises(ValueError, match="posterior must have an entry for each arm, by name"):
        varts.greedy(varts.LinearNormalGamma.ridge(2))
    with pytest.raises(ValueError, match="unknown goal 'most'"):
        varts.thompson(LINES, goal="most")
    with pytest.raises(ValueError, match="must not depend on the context for an experiment behind"):
        varts.client.verbs.write_targets(by_age, None)

"""A prior for named arms: the names stay with the entries, and everybody goes by them."""

import copy
import json
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import varts
from varts import ArmStats, GaussianBandit, KnownVarianceTS, Normal, NormalGamma, VarTS
from varts.priors import Prior, UnknownArmsWarning, match_arms, prior_from, read_groups

OTHERS = NormalGamma(9, 9, 2, 5)
COLOURS = NormalGamma([20, 30, 10], [2, 3, 1], 2, 5, names=["blue", "green", "red"], others=OTHERS)
GENRES = NormalGamma([3, 4], [1, 2], 2, 5, names=["comedy", "drama"], others=OTHERS, group="genre")
FILMS = {"Saint, The (1997)": "drama", "Clerks": "comedy", "Fargo": "drama"}


@dataclass(frozen=True)
class Fit:
    """As `varts.fit_prior` returns it: something with a prior."""

    prior: Prior


# ---------------------------------------------------------------------------- fields like any other


@pytest.mark.parametrize("prior", [COLOURS, GENRES])
@pytest.mark.parametrize(
    "again",
    [
        lambda prior: Prior.from_json(prior.to_json()),
        lambda prior: Prior.from_dict(prior.to_dict()),
        lambda prior: pickle.loads(pickle.dumps(prior)),
        copy.deepcopy,
        lambda prior: prior.mirrored().mirrored(),
        lambda prior: prior.take(slice(None)),
        lambda prior: prior.take(np.arange(prior.K)[::-1]).take(slice(None, None, -1)),
    ],
)
def test_names_others_and_group_survive(prior, again):
    made = again(prior)
    assert made == prior
    assert (made.names, made.others, made.group) == (prior.names, prior.others, prior.group)
    assert repr(made) == repr(prior)


def test_names_others_and_group_survive_a_file(tmp_path):
    for prior in (COLOURS, GENRES):
        prior.save(tmp_path / "prior.json")
        assert Prior.load(tmp_path / "prior.json") == prior


def test_equality_and_repr_see_them():
    bare = NormalGamma(COLOURS.mu, COLOURS.kappa, 2, 5)
    named = NormalGamma(COLOURS.mu, COLOURS.kappa, 2, 5, names=COLOURS.names)
    assert len({repr(prior) for prior in (bare, named, COLOURS)}) == 3
    assert bare != named != COLOURS
    assert "names=['comedy' 'drama'], others=NormalGamma(mu=9.0, " in repr(GENRES)
    assert repr(GENRES).endswith("group='genre')")


def test_some_arms_keep_their_names():
    taken = COLOURS.take([2, 0])
    assert (taken.names, taken.mu.tolist()) == (("red", "blue"), [10, 20])
    assert taken.others == OTHERS
    one = COLOURS.take(1)  # a prior of one arm, shared by all its users
    assert (one.K, one.names, one.mu) == (None, None, 30)


def test_the_prior_of_minus_reward_has_other_arms_too():
    assert COLOURS.mirrored().others == OTHERS.mirrored()
    assert COLOURS.mirrored().names == COLOURS.names


def test_a_posterior_keeps_the_names():
    stats = ArmStats.from_rewards([[1, 2], [3], []])
    assert COLOURS.posterior(stats).names == COLOURS.names
    assert COLOURS.posterior(stats).others == OTHERS
    known = Normal([1, 2], 1, names=["a", "b"])
    assert known.posterior(ArmStats.empty(2), sigma=1) == known
    single = NormalGamma([1], 1, 2, 5, names=["only"])  # serves three arms, its name does not
    assert single.posterior(stats).names is None


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"names": ["a"]}, ValueError, "names must be 2 different names, got ['a']"),
        ({"names": ["a", "a"]}, ValueError, "names must be 2 different names"),
        ({"names": "ab"}, TypeError, "names must be a list of names, got 'ab'"),
        ({"names": 2}, TypeError, "names must be a list of names, got 2"),
        ({"others": 3}, TypeError, "others of a prior must be a Normal, got 3"),
        ({"others": OTHERS}, TypeError, "others of a prior must be a Normal, got NormalG"),
        ({"others": Normal([1, 2], 1)}, ValueError, "must be shared, got one for 2 arms"),
        ({"group": "genre"}, ValueError, "names must be those of the groups when group is 'genre'"),
        ({"group": 3, "names": ["a", "b"]}, TypeError, "group must be a word, got 3"),
    ],
)
def test_what_they_must_be(given, error, words):
    with pytest.raises(error) as caught:
        Normal([1, 2], 1, **given)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_bad_group_in_a_file_names_the_file(tmp_path):
    (tmp_path / "prior.json").write_text(json.dumps({**GENRES.to_dict(), "group": 3}))
    with pytest.raises(ValueError, match=r"prior\.json: group must be a word, got 3"):
        Prior.load(tmp_path / "prior.json")


# ---------------------------------------------------------------------------------- looking arms up


def test_arms_get_their_own_entries_in_their_own_order():
    made = COLOURS.for_arms(["red", "blue"])
    assert (made.names, made.mu.tolist(), made.kappa.tolist()) == (
        ("red", "blue"),
        [10, 20],
        [1, 2],
    )
    assert made.others == OTHERS  # for arms that come later
    assert made.for_arms(["blue"]).mu.tolist() == [20]


def test_arms_that_are_not_found_get_the_prior_of_all_others_and_it_is_said():
    with pytest.warns(UnknownArmsWarning) as caught:
        made = COLOURS.for_arms(["red", "pink"])
    assert made.mu.tolist() == [10, 9] and made.kappa.tolist() == [1, 9]
    assert [str(warning.message) for warning in caught] == [
        "the prior has no entry for the arm 'pink', which gets the prior of all other arms instead"
    ]
    made, note = match_arms(COLOURS, [f"shade {i}" for i in range(7)])  # for callers who say it
    assert set(made.mu) == {9}
    assert note == (
        "the prior has no entry for 7 arms, 'shade 0', 'shade 1', 'shade 2', 'shade 3', 'shade 4' "
        "and 2 more, which get the prior of all other arms instead"
    )
    assert match_arms(COLOURS, ["red"])[1] is None


def test_without_a_prior_of_all_others_they_are_refused():
    prior = Normal([1, 2], 1, names=["a", "b"])
    with pytest.raises(ValueError, match="unknown arm 'c'; known: a, b"):
        prior.for_arms(["a", "c"])


def test_without_names_entries_are_taken_as_they_come():
    made = Normal([1, 2], 1).for_arms(["x", "y"])
    assert (made.names, made.mu.tolist()) == (("x", "y"), [1, 2])
    assert Normal(1, 1).for_arms(["x", "y"]).mu.tolist() == [1, 1]
    assert COLOURS.for_arms(3) is COLOURS is COLOURS.for_arms()
    with pytest.raises(ValueError, match=r"one entry per arm \(4\) or be shared, got 3"):
        COLOURS.for_arms(4)
    with pytest.raises(ValueError, match="arms must be given for a prior that all arms share"):
        OTHERS.for_arms()
    with pytest.raises(ValueError, match="and <= 10000000, got 1000000000"):
        OTHERS.for_arms(10**9)  # it took all memory


@pytest.mark.parametrize("arms", ["red", b"red", object()])
def test_arms_are_several_names(arms):
    with pytest.raises(TypeError, match="arms must be their number or their names, got"):
        COLOURS.for_arms(arms)


# ----------------------------------------------------------------------------------- arms in groups


def test_an_arm_gets_the_entry_of_its_group():
    made = GENRES.for_arms(["Clerks", "Saint, The (1997)"], FILMS)
    assert made.mu.tolist() == [3, 4]
    assert (made.names, made.group) == (("Clerks", "Saint, The (1997)"), None)
    assert GENRES.for_arms(groups=FILMS).names == tuple(FILMS)


def test_a_prior_by_group_is_not_one_by_arm():
    """Two genres are not two arms, however they are asked for."""
    said = r"^the prior is by genre, not by arm: name the arms and the genre of each, with groups="
    for ask in (
        lambda: GENRES.for_arms(),
        lambda: GENRES.for_arms(2),
        lambda: GENRES.for_arms(2, FILMS),
        lambda: GENRES.for_arms(["comedy", "drama"]),
        lambda: GENRES.posterior(ArmStats.empty(2)),
        lambda: VarTS(GENRES).check(2),
        lambda: GaussianBandit(GENRES),
        lambda: varts.bounds.theorem2(GENRES, n=100),
        lambda: varts.open("x", ["a", "b"], store="memory://", prior=GENRES),
        lambda: varts.plan(GENRES),
        lambda: varts.plan(GENRES, arms=2),
    ):
        with pytest.raises(ValueError, match=said) as error:
            ask()
        assert "\n" not in str(error.value) and "--arm-groups FILE.csv" in str(error.value)


def test_an_arm_of_no_known_group_gets_the_prior_of_all_others():
    groups = {**FILMS, "Alien": "horror"}
    with pytest.warns(
        UnknownArmsWarning, match="no entry for the genre of 2 arms, 'Alien', 'Heat'"
    ):
        made = GENRES.for_arms(["Alien", "Heat", "Fargo"], groups)
    assert made.mu.tolist() == [9, 9, 4]
    with pytest.warns(UnknownArmsWarning):  # called like a genre, but not of that genre
        assert GENRES.for_arms(["comedy"], FILMS).mu.tolist() == [9]
    alone = NormalGamma([3, 4], 1, 2, 5, names=["comedy", "drama"], group="genre")
    with pytest.raises(ValueError, match="unknown genre 'horror'; known: comedy, drama"):
        alone.for_arms(["Alien"], groups)
    with pytest.raises(ValueError, match="must have the genre of every arm, got none for 'Heat'"):
        alone.for_arms(["Heat"], groups)


def test_a_file_by_category_from_before_groups_were_told_apart_still_works():
    """Its categories stand under "arms": an arm's own name comes first, then its group's."""
    body = {key: value for key, value in GENRES.to_dict().items() if key != "group"}
    old = prior_from(body)
    assert old.group is None and old.for_arms(["Fargo", "comedy"], FILMS).mu.tolist() == [4, 3]


def test_groups_must_be_a_mapping():
    with pytest.raises(TypeError, match="groups must be a mapping from arm to group, got 3"):
        GENRES.for_arms(["a"], 3)


def test_groups_from_a_file(tmp_path):
    file = tmp_path / "films.csv"
    file.write_text('film,genre\n"Saint, The (1997)",drama\nClerks,comedy\n\nFargo,drama\n')
    assert read_groups(file) == FILMS
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())  # as spreadsheets write it
    assert read_groups(file) == FILMS
    for text, words in (
        ("", "must have a line with the names of its columns, got none"),
        ("film\nFargo\n", "must have two columns, the arm and its group, got ['Fargo']"),
        ("a,b\nFargo,x\nFargo,y\n", "one group for every arm, got 'x' and 'y' for 'Fargo'"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError) as error:
            read_groups(file)
        assert words in str(error.value) and "films.csv" in str(error.value)
    file.write_bytes(b"a,b\n\xff\xfe,c\n")
    with pytest.raises(ValueError, match=r"films\.csv must be a CSV file"):
        read_groups(file)


# ------------------------------------------------------------------------------ who takes priors


def test_whatever_has_a_prior_is_taken_for_it():
    assert prior_from(Fit(COLOURS)) is COLOURS
    assert VarTS(Fit(COLOURS)).prior is COLOURS
    assert KnownVarianceTS(Fit(Normal(0, 1))).prior == Normal(0, 1)
    assert GaussianBandit(Fit(OTHERS), 5).prior == OTHERS.for_arms(5)
    assert varts.bounds.theorem2(Fit(OTHERS), 100, K=3) == varts.bounds.theorem2(
        OTHERS.for_arms(3), 100
    )


@pytest.mark.parametrize("value", [5, None, [0, 1, 2, 1], VarTS, Fit(5), object()])
def test_anything_else_is_a_wrong_type(value):
    with pytest.raises(TypeError, match="prior must be a prior, its fields or a JSON file, got"):
        prior_from(value)


def test_a_prior_of_the_other_kind_is_a_wrong_type():
    with pytest.raises(TypeError, match="prior must be a NormalGamma, got a Normal"):
        prior_from({"mu": 0, "sigma": 1}, NormalGamma)
    with pytest.raises(TypeError, match="prior must be a Normal, got a NormalGamma"):
        varts.bounds.theorem1(OTHERS, 1, 10)
    with pytest.raises(TypeError, match="stats must be an ArmStats, got 5"):
        OTHERS.posterior(5)


def test_live_arms_do_not_get_each_others_priors():
    """The fit has the arms in another order than the experiment."""
    fit = Fit(NormalGamma([1, 50], 4, 3, 2, names=["fast", "slow"], others=OTHERS))
    for given in ({"prior": fit.prior}, {"prior": fit}, {"policy": VarTS(fit)}):
        exp = varts.open("x", arms=["slow", "fast"], store="memory://", **given)
        assert exp.options.prior["mu"] == [50, 1]
        exp.configure(floor=0.1, **given)
        assert exp.options.prior["mu"] == [50, 1]


def test_live_arms_in_groups():
    films = list(FILMS)
    exp = varts.open("x", films, store="memory://", prior=GENRES, groups=FILMS)
    assert exp.options.prior["mu"] == [4, 3, 4]
    exp.add_arm("Heat", prior=GENRES, groups={"Heat": "drama"})
    assert exp.options.prior["mu"] == [4, 3, 4, 4]
    exp.configure(policy=VarTS(GENRES), groups=dict.fromkeys([*films, "Heat"], "comedy"))
    assert exp.options.prior["mu"] == [3] * 4


def test_simulated_policies_go_by_the_problems_names():
    """A prior in another order plays to the last bit as one in the problem's."""
    right = NormalGamma([0.0, 1.0, 2.0], 4, 3, [1, 2, 3], names=["a", "b", "c"])
    turned = right.take([2, 0, 1])
    study = varts.simulate(
        GaussianBandit(right),
        {"right": VarTS(right), "turned": VarTS(turned)},
        horizon=50,
        runs=64,
    )
    assert np.array_equal(study.final["right"], study.final["turned"])
    bare = VarTS(NormalGamma(turned.mu, turned.kappa, turned.alpha, turned.beta))
    placed = varts.simulate(GaussianBandit(right), {"it": bare}, horizon=50, runs=64)
    assert not np.array_equal(study.final["right"], placed.final["it"])  # the control
    with pytest.raises(ValueError, match="VarTS cannot play 3 arms: the prior is by genre"):
        varts.simulate(GaussianBandit(right), VarTS(GENRES), horizon=5, runs=8)


def test_a_policy_for_arms():
    assert VarTS(COLOURS).for_arms(["red"]).prior.mu.tolist() == [10]
    assert VarTS(GENRES).for_arms(["Fargo"], FILMS).prior.mu.tolist() == [4]
    shared = VarTS(OTHERS)
    assert shared.for_arms(["red"]) is shared and varts.UCB1().for_arms(["red"]) == varts.UCB1()

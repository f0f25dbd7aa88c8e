"""Every registered policy keeps the same promises."""

import re

import numpy as np
import pytest

import varts
from tests.policies.built import NEEDED, built
from varts import ArmStats, BernoulliBandit, Policy, simulate
from varts.policies import known, make, options_of, registry

LABELS = [label for label, kind in known().items() if not kind.contextual]
PUBLIC = {"VarTS", "KnownVarianceTS", "UCB1", "UCB1-Tuned", "UCB-V", "Bernoulli-TS", "Gaussian-TS",
          "TS14", "TS20", "MVTS", "Even-Split", "UCB1-Normal", "KL-UCB", "KL-UCB-Gauss", "CHK",
          "Bayes-UCB", "IMED", "IMED-Gauss", "IMED-UV", "MOSS", "MOSS-Anytime", "Epsilon-Greedy",
          "EUCBV"}  # fmt: skip
WITHOUT_MEMORY = [label for label in LABELS if not built(label).has_memory]


def pulled(K, pulls=7, seed=1):
    """K arms with `pulls` rewards of 0 or 1 each, fit for every policy."""
    rewards = np.random.default_rng(seed).integers(0, 2, (K, pulls))
    return ArmStats.from_rewards(rewards)


def test_the_registry_holds_the_papers_policies():
    assert set(LABELS) >= PUBLIC


@pytest.mark.parametrize("label", LABELS)
class TestPolicy:
    def test_label_and_class_agree(self, label):
        kind = known()[label]
        assert kind.label == label
        assert re.sub(r"\W|_", "", label) == kind.__name__
        assert getattr(varts, kind.__name__) is kind

    def test_defaults_make_one(self, label):
        policy = built(label)
        assert isinstance(policy, known()[label]) and isinstance(policy, Policy)
        assert make(policy) is policy
        assert repr(policy).startswith(type(policy).__name__)
        assert policy.__doc__

    def test_spelling_does_not_matter(self, label):
        spellings = label.lower(), label.upper(), label.replace("-", "_"), label.replace("-", "")
        for spelling in spellings:
            assert type(make(spelling, **NEEDED.get(label, {}))) is known()[label]

    def test_policies_are_values(self, label):
        policy = built(label)
        with pytest.raises(AttributeError):  # a frozen dataclass
            policy.label = "other"

    def test_owed(self, label):
        for K in (1, 2, 7):
            owed = built(label).pulls_needed(K)
            assert owed.shape == (K,) and owed.dtype == np.int64
            assert (owed >= 0).all() and (owed <= 5).all()

    @pytest.mark.parametrize("K", [1, 2, 7])
    def test_simulation(self, label, K):
        study = simulate(BernoulliBandit(K), {label: built(label)}, horizon=60, runs=8)
        assert study.labels == [label]
        assert np.isfinite(study.final[label]).all() and (study.final[label] >= 0).all()
        assert (study.best_share[label] >= 0).all() and (study.best_share[label] <= 1).all()

    def test_it_learns(self, label):
        """Arms 0.05 and 0.95: 1500 rounds of half-half would cost 0.45 each, 675 in all."""
        problem, policy = BernoulliBandit.fixed([0.05, 0.95]), built(label)
        study = simulate(problem, {label: policy}, horizon=1500, runs=16)
        if label in ("Even-Split", "Sequential-Halving", "SHVar"):  # their first batch is 2,000
            assert study.final[label] == pytest.approx(675)
        elif label in (
            "T3C",
            "TTEI",
            "EB-TCI",
            "SHAdaVar",
        ):  # they are not meant to earn: to know is enough
            found = simulate(problem, {label: policy}, 100, 16, checkpoints=[100])
            assert (found.simple_regret[label] == 0).all()
        else:
            assert study.final[label].mean() < 200


@pytest.mark.parametrize("label", WITHOUT_MEMORY)
class TestChoices:
    @pytest.mark.parametrize("K", [1, 2, 7])
    def test_choice(self, label, K):
        """In range, the same from the same generator, and the statistics stay as they were."""
        policy, stats, before = built(label), pulled(K), pulled(K)
        for seed in range(20):
            arm = varts.choose(policy, stats, rng=np.random.default_rng(seed))
            assert isinstance(arm, int) and 0 <= arm < K
            assert arm == varts.choose(policy, stats, rng=np.random.default_rng(seed))
        assert stats == before

    def test_choice_without_a_single_reward(self, label):
        arm = varts.choose(built(label), ArmStats.empty(4), rng=np.random.default_rng(0))
        assert 0 <= arm < 4

    def test_choice_on_equal_rewards(self, label):
        """m2 = 0 everywhere: no NaN, and both arms are possible."""
        stats = ArmStats(n=[6, 6], mean=[1.0, 1.0], m2=0)
        policy = built(label)
        arms = {varts.choose(policy, stats, rng=np.random.default_rng(seed)) for seed in range(50)}
        assert arms == {0, 1}


@pytest.mark.parametrize("label", ["MOSS", "EUCBV"])
def test_a_horizon_that_nobody_can_guess_is_asked_for(label):
    with pytest.raises(TypeError, match=f"^{label}: missing 1 required positional argument"):
        make(label)
    with pytest.raises(ValueError, match="horizon must be a whole number >= 1, got 0"):
        make(label, horizon=0)


# ------------------------------------------------------------------------- policies of one's own


@pytest.fixture
def plain(monkeypatch):
    """A policy in plain Python, registered as the docstring of `Policy` shows it."""
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))

    @varts.register
    class Uniform(Policy):
        """Any arm."""

        label = "Uniform"

        def choose(self, stats, t, rng):
            return rng.integers(stats.K)

    return Uniform


def test_a_policy_need_not_be_a_dataclass(plain, call):
    assert type(make("uniform")) is plain
    assert varts.choose("Uniform", ArmStats.empty(3), rng=1) in range(3)
    policy = plain()
    assert policy.restricted(np.array([0])) is policy and policy.for_arms(["a"]) is policy
    assert simulate(BernoulliBandit(2), "Uniform", horizon=5, runs=8).labels == ["Uniform"]
    code, out, err = call("policies")
    assert (code, err) == (0, "")
    (line,) = [line for line in out.splitlines() if line.startswith("Uniform")]
    assert line.split() == ["Uniform", "-", "Any", "arm."]
    with pytest.raises(ValueError, match=r"^Uniform takes no options, got 'bonus'$"):
        make("Uniform", bonus=1)


def test_its_options_are_those_of_its_constructor(plain, call):
    @varts.register
    class Lazy(plain):
        label = "Lazy"

        def __init__(self, patience, bonus=1.5, *more, **others):
            self.patience, self.bonus = patience, bonus

    assert list(options_of(Lazy)) == ["patience", "bonus"]
    assert make("lazy", patience=3).patience == 3
    with pytest.raises(ValueError, match="unknown option of Lazy 'bonnus'; did you mean 'bonus'"):
        make("Lazy", bonnus=1)
    with pytest.raises(TypeError, match=r"^Lazy: missing 1 required positional argument"):
        make("Lazy")
    code, out, _ = call("policies")
    assert code == 0 and "patience, bonus=1.5" in out


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: make(3), "policy must be a policy or its label, got 3"),
        (lambda: make(varts.VarTS), "did you mean VarTS()?"),
        (lambda: make("VarTS", prior=3), "VarTS: prior must be a prior, its fields or a JSON file"),
        (lambda: varts.choose("UCB1", 5), "stats must be of the type ArmStats for UCB1, got 5"),
        (lambda: varts.register(varts.UCB1()), "register takes a class of policies, got UCB1()"),
    ],
)
def test_wrong_types_are_type_errors(ask, words):
    with pytest.raises(TypeError) as error:
        ask()
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_policy_without_options_says_so():
    with pytest.raises(ValueError, match=r"^UCB1 takes no options, got 'c'$"):
        make("UCB1", c=1)

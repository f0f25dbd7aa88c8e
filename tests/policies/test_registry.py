"""Every registered policy keeps the same promises."""

import re

import numpy as np
import pytest

import varts
from varts import ArmStats, BernoulliBandit, Policy, simulate
from varts.policies import known, make

LABELS = list(known())
PUBLIC = {"VarTS", "KnownVarianceTS", "UCB1", "UCB1-Tuned", "UCB-V", "Bernoulli-TS", "Gaussian-TS",
          "TS14", "TS20", "MVTS", "Even-Split"}  # fmt: skip


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
        policy = make(label)
        assert isinstance(policy, known()[label]) and isinstance(policy, Policy)
        assert make(policy) is policy
        assert repr(policy).startswith(type(policy).__name__)
        assert policy.__doc__

    @pytest.mark.parametrize(
        "spelling",
        [str.lower, str.upper, lambda x: x.replace("-", "_"), lambda x: x.replace("-", "")],
    )
    def test_spelling_does_not_matter(self, label, spelling):
        assert type(make(spelling(label))) is known()[label]

    def test_policies_are_values(self, label):
        policy = make(label)
        with pytest.raises(AttributeError):  # a frozen dataclass
            policy.label = "other"

    @pytest.mark.parametrize("K", [1, 2, 7])
    def test_owed(self, label, K):
        owed = make(label).owed(K)
        assert owed.shape == (K,) and owed.dtype == np.int64
        assert (owed >= 0).all() and (owed <= 5).all()

    @pytest.mark.parametrize("K", [1, 2, 7])
    def test_choice(self, label, K):
        """In range, the same from the same generator, and the statistics stay as they were."""
        policy, stats, before = make(label), pulled(K), pulled(K)
        for seed in range(20):
            arm = varts.choose(policy, stats, rng=np.random.default_rng(seed))
            assert isinstance(arm, int) and 0 <= arm < K
            assert arm == varts.choose(policy, stats, rng=np.random.default_rng(seed))
            assert arm == varts.choose(label, stats, rng=np.random.default_rng(seed))
        assert stats == before

    def test_choice_without_a_single_reward(self, label):
        arm = varts.choose(label, ArmStats.empty(4), rng=np.random.default_rng(0))
        assert 0 <= arm < 4

    def test_choice_on_equal_rewards(self, label):
        """m2 = 0 everywhere: no NaN, and both arms are possible."""
        stats = ArmStats(n=[6, 6], mean=[1.0, 1.0], m2=0)
        arms = {varts.choose(label, stats, rng=np.random.default_rng(seed)) for seed in range(50)}
        assert arms == {0, 1}

    @pytest.mark.parametrize("K", [1, 2, 7])
    def test_simulation(self, label, K):
        study = simulate(BernoulliBandit(K), label, horizon=60, runs=8)
        assert study.labels == [label]
        assert np.isfinite(study.final[label]).all() and (study.final[label] >= 0).all()
        assert (study.best_share[label] >= 0).all() and (study.best_share[label] <= 1).all()

    def test_it_learns(self, label):
        """Arms 0.05 and 0.95: 1500 rounds of half-half would cost 0.45 each, 675 in all."""
        study = simulate(BernoulliBandit.fixed([0.05, 0.95]), label, horizon=1500, runs=16)
        if label == "Even-Split":  # the one that is not meant to
            assert study.final[label] == pytest.approx(675)
        else:
            assert study.final[label].mean() < 200

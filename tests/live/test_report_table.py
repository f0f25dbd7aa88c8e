"""What a report shows: estimates within their intervals, the best first, what is beside them."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import varts
from tests.tiers import examples
from varts import ArmStats, NormalGamma
from varts.cli.report import show_report
from varts.live.core.effective import Effective
from varts.live.core.state import State
from varts.live.report.report import ARMS_SHOWN, report_of
from varts.live.store.transaction import Traffic

values = st.one_of(
    st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 6)),
    st.sampled_from([0.0, 0.0, 0.0, 1.0, 500.0, 1e9 + 1]),
)
samples = st.lists(st.lists(values, max_size=6), min_size=1, max_size=4)
priors = st.one_of(
    st.none(),
    st.builds(
        NormalGamma,
        st.floats(-50, 50),
        st.floats(1e-3, 100),
        st.floats(1e-2, 50),
        st.floats(1e-3, 1e3),
    ),
)


class Given(State):
    """A state with given statistics, instead of those that the events of a log add up to."""

    given_holdout = None
    given_metrics: ClassVar = {}

    def raw_statistics(self):
        return self.given

    def effective(self):
        return Effective(self.given, self.given, {})

    def counts(self):
        return self.given.n.astype(np.int64)

    def holdout_statistics(self):
        return self.given_holdout

    def metric_statistics(self):
        return self.given_metrics


def with_stats(stats, **options):
    names = [f"arm {i}" for i in range(stats.K)]
    exp = varts.open("table", names, store="memory://", seed=1, **options)
    state = Given(exp.state.config, rewards=int(stats.n.sum()))
    state.given = stats
    return state


def with_rewards(rewards, **options):
    return with_stats(ArmStats.from_rewards(rewards), **options)


def reported(state, level=0.95):
    return report_of("table", state, Traffic({}, {}), level)


def with_everything(**options):
    """Sales with a holdout, two metrics and a guardrail."""
    guards = {"refund": ("below", 0.05)}
    state = with_rewards(SALES, metrics=list(METRICS), guards=guards, **options)
    state.given_holdout, state.given_metrics = GROUPS, METRICS
    return state


@examples(150)
@given(samples, priors, st.sampled_from(["max", "min"]), st.floats(0.01, 0.999))
def test_an_estimate_never_lies_outside_its_interval(rewards, prior, goal, level):
    frame = reported(with_rewards(rewards, prior=prior, goal=goal), level).frame
    known = frame.filter(frame["mean_low"].is_not_null())
    assert known["estimate"].null_count() == 0
    assert (known["mean_low"] <= known["estimate"]).all()
    assert (known["estimate"] <= known["mean_high"]).all()
    assert frame["estimate"].is_null().equals(frame["mean_low"].is_null())


def test_a_sample_mean_may_lie_outside():
    """The control: what the table showed before. Three sales of 40 against a prior of 12."""
    prior = NormalGamma(12.0, 16.0, 11.0, 640.0)
    row = reported(with_rewards([[40.0, 41.0, 39.0]], prior=prior)).frame.row(0, named=True)
    assert row["mean"] > row["mean_high"] > row["estimate"] > row["mean_low"]
    assert row["estimate"] == pytest.approx((16 * 12 + 3 * 40) / 19)


@pytest.mark.parametrize("policy", ["Bernoulli-TS", "KnownVarianceTS", "TS14", "UCB1"])
def test_every_belief_has_an_estimate(policy):
    frame = reported(with_rewards([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]], policy=policy)).frame
    assert (frame["mean_low"] < frame["estimate"]).all()
    assert (frame["estimate"] < frame["mean_high"]).all()


# ------------------------------------------------------------------------------ the best first

FOUR = [[1.0, 2.0], [5.0, 6.0], [1.0, 2.0], [3.0, 4.5]]


def test_the_ranking_has_the_best_first_and_the_frame_has_the_arms_in_their_order():
    found = reported(with_rewards(FOUR, prior=NormalGamma(3.0, 1.0, 2.0, 2.0)))
    assert found.frame["arm"].to_list() == [f"arm {i}" for i in range(4)]
    assert found.ranking["arm"].to_list() == ["arm 1", "arm 3", "arm 0", "arm 2"]  # 0 and 2 tie
    assert found.ranking["arm"][0] == found.best
    lines = str(found).splitlines()
    assert [line.split()[2] for line in lines if line.startswith("│ arm ")][1:] == list("1302")


def test_paused_and_unknown_arms_come_last():
    state = with_rewards(FOUR)
    state.config = replace(state.config, paused=frozenset({1}))
    assert reported(state).ranking["arm"].to_list() == ["arm 3", "arm 0", "arm 2", "arm 1"]
    unknown = with_rewards([[], *FOUR])
    assert reported(unknown).ranking["arm"].to_list() == [f"arm {i}" for i in range(5)]


def test_thousands_of_arms_are_printed_in_part():
    prior = NormalGamma(3.0, 1.0, 2.0, 2.0)
    found = reported(with_rewards([*FOUR, *[[]] * 2000], prior=prior))
    lines = str(found).splitlines()
    assert lines[-1] == "and 1,984 more"
    assert sum("┆" in line for line in lines) == 1 + ARMS_SHOWN
    assert len(found.frame) == 2004
    likeliest = ", ".join(found.ranking["arm"].head(5))
    assert found.certainty.startswith(f"can't rule out {likeliest} or 1,999 others yet (5 % error")


@pytest.mark.when_changed("src/varts/live")
def test_ten_thousand_arms():
    rng = np.random.default_rng(5)
    costs = [np.exp(rng.normal(1, 1, n)) for n in rng.integers(2, 60, 10_000)]
    state = with_rewards(costs, goal="min")
    found = reported(state)
    text = str(found)
    assert found.frame["p_best"].sum() == pytest.approx(1, abs=1e-9)
    assert text.endswith("and 9,980 more")


# ------------------------------------------------------------------------------ beside the arms

RNG = np.random.default_rng(2)
SALES = [RNG.normal(mean, 2, 900) for mean in (5.0, 6.0, 5.2)]
GROUPS = ArmStats.from_rewards([RNG.normal(5.9, 2, 2400), RNG.normal(5.3, 2, 600)])
REFUNDS = ArmStats.from_rewards([(RNG.random(2000) < p) * 1.0 for p in (0.01, 0.1, 0.05)])
METRICS = {"refund": REFUNDS, "basket": ArmStats.from_rewards(SALES)}


def test_gain_and_guardrails_are_printed_above_the_notes(capsys):
    found = reported(with_everything())
    assert str(found.gain).startswith("learning earned +0.596 per decision")
    (broken,) = found.guards
    assert broken.startswith("guardrail broken by arm 1: refund is 0.1")
    assert found.metrics["flag"].to_list() == ["kept", "broken", "unclear", None, None, None]
    said = [found.certainty, str(found.gain), broken, "note: so it is"]
    noted = replace(found, notes=("so it is",))
    assert noted.sentences == said
    for line in said:
        assert line in str(noted).splitlines()
    show_report(noted, [], 2)
    out = capsys.readouterr().out.splitlines()
    assert out[-4:] == said
    at = next(i for i, line in enumerate(out) if line.startswith("refund"))
    assert out[at].endswith("  below 0.05")
    assert [line.split()[1] for line in out[at + 1 : at + 3]] == [
        "1",
        "2",
    ]  # in the ranking's order
    assert [line.split()[-1] for line in out[at + 1 : at + 3]] == ["broken", "unclear"]
    assert out[at + 3] == "and 1 more"
    assert max(map(len, out[:8])) <= 120


def test_scripts_get_gain_metrics_and_guards():
    body = reported(with_everything()).to_dict()
    assert body["gain"]["estimate"] == pytest.approx(GROUPS.mean[0] - GROUPS.mean[1])
    assert body["gain"]["sentence"].startswith("learning earned")
    assert [row["flag"] for row in body["metrics"][:3]] == ["kept", "broken", "unclear"]
    assert len(body["guards"]) == 1


def test_lower_rewards_are_saved_and_a_half_life_has_no_anytime_intervals():
    found = reported(with_everything(goal="min", half_life=1e5))
    assert str(found.gain).startswith("learning probably cost 0.596")
    assert "anytime" not in str(found.gain)
    assert found.metrics["anytime_low"].null_count() == 6
    assert found.metrics["low"].null_count() == 0
    assert found.guards[0].endswith("should be below 0.05 (at this look only)")


def test_paused_arms_that_break_a_guardrail_get_no_sentence():
    state = with_everything()
    state.config = replace(state.config, paused=frozenset({1}))
    found = reported(state)
    assert found.guards == ()
    assert found.metrics["flag"][1] == "broken"


def test_reports_differ_if_what_is_beside_the_arms_does():
    plain, full = reported(with_rewards(SALES)), reported(with_everything())
    assert (plain.gain, plain.metrics, plain.guards) == (None, None, ())
    again = reported(with_everything())
    assert replace(again, state=full.state) == full
    assert replace(plain, state=full.state) != full
    assert replace(again, state=full.state, metrics=full.metrics.head(2)) != full
    assert replace(again, state=full.state, gain=None) != full

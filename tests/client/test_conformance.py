"""The conformance suite of stores, through a service on SQLite.

That of PostgreSQL passes it without a service, in tests/live; random sessions go through both.
"""

import pytest

from tests.client.services import Running, Witnessed, slug
from tests.live.conformance import ARMS, START, Clock, StoreConformance
from tests.live.contexts import ContextConformance
from varts.live import Store

# Tests that a service does not pass, and why; every one of them must fail.
SEEDS = "a service draws its seed itself, and is given none"
BROKEN_OFF = "what breaks off in the service is a StoreError here"
PATCHED = "the test changes the library within the caller"
OTHERWISE = {
    "test_opening_as_something_else_is_refused": SEEDS,
    "test_an_experiment_with_the_seed_that_it_was_given_opens_with_it": SEEDS,
    "test_the_seed_is_shown_nowhere": SEEDS,
    "test_a_batch_decides_as_one_by_one": SEEDS,
    "test_a_batch_of_rewards_is_applied_wholly_or_not_at_all": "each reward counts by itself",
    "test_a_batch_of_corrections_is_whole_or_not_there": "corrections are made one by one",
    "test_a_sticky_experiment_needs_a_unit_for_every_new_decision": "each decides by itself",
    "test_changes_say_who_and_why": "the log says the token's name",
    "test_a_clip_range_can_hold_for_what_was_before": "the log says the token's name",
    "test_an_experiment_is_deleted_with_its_log_in_a_file": "what is gone is an UnknownExperiment",
    **{
        f"test_a_new_arm_has_no_tab_and_no_line_break[{name}]": PATCHED
        for name in (r"a\tb", r"a\nb", r"b\n", r"\r", r"a\u2028b")
    },
    "test_a_transaction_that_breaks_off_leaves_nothing[add_events]": BROKEN_OFF,
    "test_a_transaction_that_breaks_off_leaves_nothing[save]": BROKEN_OFF,
    "test_a_decision_that_breaks_off_was_never_made[add_decisions]": BROKEN_OFF,
    "test_a_decision_that_breaks_off_was_never_made[assign]": BROKEN_OFF,
    "test_verify_finds_a_decision_that_contradicts_its_reward[no such arm]": "its log says why",
    "test_an_experiment_knows_what_it_has_looked_at[verify]": "no service verifies",
    "test_a_sample_of_contexts_is_even_and_bounded": "contexts may identify people",
    "test_priors_of_arms": "with arms, options are checked as those of a new experiment",
    "test_an_id_belongs_to_one_unit": "each decides by itself",
    "test_a_refused_decision_costs_the_others_nothing": "no service offers decide_each",
    "test_public_rewards_stay_within_clip": "the service knows by the token whose reward it is",
    "test_what_only_looks_settles_nothing": "no question to a service settles anything",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """One service for all tests, each of which has experiments of its own, and its clock."""
    clock = Clock()
    file = tmp_path_factory.mktemp("service") / "varts.db"
    with Running(Store(f"sqlite:///{file}", clock)) as made:
        yield made, clock
    made.store.close()


@pytest.mark.when_changed("src/varts/client", "src/varts/live", "src/varts/serve")
class TestRemote(ContextConformance, StoreConformance):
    @pytest.fixture
    def running(self, service):
        return service[0]

    @pytest.fixture
    def clock(self, service):
        clock = service[1]
        clock.now = START
        return clock

    @pytest.fixture
    def begin(self, request, running):
        """A service draws its seed itself, and hashes units unless it is told not to."""
        if request.node.name in OTHERWISE:
            reason = OTHERWISE[request.node.name]
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
        opened = []

        def begin(arms=ARMS, seed=None, part="", **options):
            name = slug(request.node.name + part)
            if arms is not None and not running.store.has(name):
                options.setdefault("hash_units", False)
            opened.append(Witnessed(running.open(name, arms, **options), running.store))
            return opened[-1]

        yield begin
        for experiment in opened:
            experiment.close()

    def test_what_is_otherwise_is_a_test_of_the_suite(self):
        names = {name.partition("[")[0] for name in OTHERWISE}
        assert [name for name in names if not hasattr(TestRemote, name)] == []

"""Random sessions of two processes, each at a service of its own on one store, against the model
of live experiments."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.client.services import Running, Witnessed
from tests.live.test_experiment_sessions import (
    PICK,
    REWARDS,
    UNITS,
    WHO,
    Sessions,
    run,
    twice,
    what_notices,
)
from varts.live import ExpiredDecision, Store, UnknownDecision
from varts.serve import runtime

pytestmark = pytest.mark.no_cover


class RemoteSessions(Sessions):
    """`connect()` is one of the services; what they do otherwise than a database is said here."""

    opened = ()

    def open(self, arms=None, seed=None, **options):
        """Through a service, which draws its own seed."""
        running = self.connect()
        if options:  # it is new
            options["hash_units"] = False
        self.opened = (*self.opened, running.open(self.name, arms, **options))
        return Witnessed(self.opened[-1], running.store)

    @rule(who=WHO, units=st.lists(UNITS, min_size=1, max_size=4), old=st.booleans(), pick=PICK)
    def decide(self, who, units, old, pick):
        """Each decides by itself, so that a batch with one that is refused is another one."""
        if self.options["sticky"]:
            units = [unit or f"guest {self.number + i}" for i, unit in enumerate(units)]
        super().decide(who, units, old, pick)

    @rule(who=WHO, pairs=st.lists(st.tuples(PICK, REWARDS), min_size=1, max_size=6))
    def reward_many(self, who, pairs):
        """All that can be are applied, and then the first refusal is raised."""
        if not self.decisions:
            return
        asked = [(self.some(pick), value) for pick, value in pairs]
        outcomes, expected = self.outcomes(asked)
        errors = [one for one in outcomes if not isinstance(one, bool)]
        if not errors:
            assert sum(self.processes[who].reward_many(asked)) == len(expected)
        else:
            with pytest.raises(UnknownDecision if errors[0] is ExpiredDecision else errors[0]):
                self.processes[who].reward_many(asked)
        self.remember_first(expected)
        self.follow(*expected)

    decide_each = None  # no service offers it

    def teardown(self):
        """Close what was opened, too."""
        super().teardown()
        for experiment in self.opened:
            experiment.close()


@pytest.fixture
def services(request, tmp_path, clock, monkeypatch):
    """Two of them in turn, which settle nothing by themselves: the model would not know when."""
    monkeypatch.setattr(runtime, "TICK_SECONDS", 1e6)
    url = f"sqlite:///{tmp_path / 'varts.db'}"
    if getattr(request, "param", "sqlite") == "postgres":
        url = request.getfixturevalue("postgres")()
    with Running(Store(url, clock)) as one, Running(Store(url, clock)) as other:
        turns = iter([one, other] * 100_000)
        yield lambda: next(turns)


@pytest.mark.parametrize(
    "services", ["sqlite", pytest.param("postgres", marks=pytest.mark.full)], indirect=True
)
def test_sessions(services, clock):
    run(services, [0], clock, RemoteSessions)


@pytest.mark.full
def test_a_mutant_is_caught(services, clock, monkeypatch):
    """A service that counts repeated rewards again."""
    twice(monkeypatch)
    noticed = what_notices(services, range(3), clock, RemoteSessions)
    # The mutant doesn't see rewards that are there: it counts them again, or can't amend them.
    assert noticed in (("follow", AssertionError), ("amend", UnknownDecision))

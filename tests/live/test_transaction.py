"""What goes to a database's driver: how many statements, what they write, and what becomes of their
errors."""

import pytest
import sqlalchemy as sa

from tests.live.stores import refused, rewards, shared, with_rewards
from varts.live.core.sums import Sums
from varts.live.store.engine import Connection
from varts.live.store.transaction import query, with_values


@pytest.fixture
def statements(monkeypatch):
    """All statements from here on, but for the beginnings and ends of transactions."""
    heard, execute, execute_many = [], Connection.execute, Connection.execute_many

    def hear(text):
        if not text.startswith(("BEGIN", "COMMIT", "ROLLBACK")):
            heard.append(text)

    def listen(self, text, given=()):
        hear(text)
        return execute(self, text, given)

    def listen_to_many(self, text, rows):
        hear(text)
        return execute_many(self, text, rows)

    monkeypatch.setattr(Connection, "execute", listen)
    monkeypatch.setattr(Connection, "execute_many", listen_to_many)
    return heard


@shared
def test_a_decision_and_its_reward_are_a_few_statements_past_sqlalchemy(store_url, statements):
    exp = with_rewards(store_url)
    passed_on = []

    if not exp.store.sqlite:

        @sa.event.listens_for(exp.store.engine._pool, "before_cursor_execute")
        def listen(connection, cursor, statement, values, context, many):
            passed_on.append(statement)

    statements.clear()
    decision = exp.decide()
    # The head and the decision. SQLite looks for the experiment first, and counts the traffic in a
    # statement of its own.
    assert len(statements) == (4 if exp.store.sqlite else 2)
    statements.clear()
    assert exp.reward(decision.id, 1.0)
    # The head, the decision, what settled it, the event, the statistics with the experiment. SQLite
    # needs two statements for the last two of these.
    assert len(statements) == (7 if exp.store.sqlite else 5)
    assert exp.report().frame["n"].sum() == 6
    assert passed_on == []
    exp.close()


@shared
def test_an_interruption_in_the_middle_of_a_statement_leaves_nothing(store_url, monkeypatch):
    exp = with_rewards(store_url)
    id = exp.decide().id

    def interrupted(run):
        def run_and_break_off(self, text, given=()):
            found = run(self, text, given)
            if "INTO varts_events" in text:
                raise KeyboardInterrupt
            return found

        return run_and_break_off

    for name in ("execute", "execute_many"):
        monkeypatch.setattr(Connection, name, interrupted(getattr(Connection, name)))
    with pytest.raises(KeyboardInterrupt):
        exp.reward(id, 1.0)
    monkeypatch.undo()
    assert rewards(store_url) == 5
    assert exp.reward(id, 1.0) and rewards(store_url) == 6
    exp.close()


@shared
def test_an_error_of_the_driver_is_a_sentence_and_undoes_all(store_url, monkeypatch):
    exp, execute = with_rewards(store_url), Connection.execute
    id = exp.decide().id

    def misspelt(self, text, given=()):
        text = text.replace("UPDATE varts_experiments", "UPDATE varts_nothing")
        return execute(self, text, given)

    monkeypatch.setattr(Connection, "execute", misspelt)
    refused(lambda: exp.reward(id, 1.0), "varts_nothing", "nothing was written")
    monkeypatch.undo()
    assert rewards(store_url) == 5
    assert exp.reward(id, 1.0) and rewards(store_url) == 6
    exp.close()


@shared
def test_units_are_added_once_and_replaced(store_url):
    """One row, several, and several of which some are there."""
    rows = [
        {
            "unit": f"unit-{i}",
            "arm": i,
            "probability": 0.5,
            "estimated": i % 2 == 0,
            "decision": "d",
        }
        for i in range(4)
    ]
    exp = with_rewards(store_url)
    with exp._session.writing() as transaction:
        assert [transaction.assign(rows[:1]), transaction.assign(rows)] == [1, 3]
        other = [{**row, "arm": 9, "decision": "e", "replaces": "d"} for row in rows[:3]]
        assert [transaction.assign(other), transaction.assign(other)] == [3, 0]
        found = transaction.run(
            query("SELECT arm, estimated FROM varts_units WHERE experiment = :x ORDER BY unit")
        ).fetchall()
    assert [arm for arm, _ in found] == [9, 9, 9, 3]
    assert [bool(estimated) for _, estimated in found] == [True, False, True, False]
    exp.close()


@shared
@pytest.mark.parametrize("count", [0, 1, 3])
def test_statistics_are_added_and_replaced(store_url, count):
    """None, one and several; those that were not touched stay."""
    exp = with_rewards(store_url)
    for mean in (1.5, 2.5):  # added, then replaced
        with exp._session.writing() as transaction:
            state = exp._session.reload(transaction)[0].copy()
            state.version += 1
            new = {("m", arm, 7): Sums(rewards=2, n=2.0, mean=mean) for arm in range(count)}
            expected = {**state.rows, **new}
            state.rows, state.touched = expected, set(new)
            transaction.save(state)
            head = transaction.head(exp.name, exp._session.seed, -1)
            assert head.rows == expected and head.version == state.version
            later = transaction.head(exp.name, exp._session.seed, state.version - 1)
            assert later.rows == new  # with the version of the change
    exp.close()


def test_columns_without_a_value_are_left_out():
    rows = [(1, None, "x", None), (2, None, None, None)]
    assert with_values(("a", "b", "c", "d"), rows) == (("a", "c"), [(1, "x"), (2, None)])
    assert with_values(("a",), [(0,), (None,)]) == (("a",), [(0,), (None,)])  # 0 is a value

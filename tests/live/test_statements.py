"""What goes to a database's driver past SQLAlchemy: how much, and what becomes of its errors."""

import pytest
import sqlalchemy as sa

from tests.live.stores import refused, rewards, shared, with_rewards
from varts.live.schema import units
from varts.live.statements import Runner, with_values


@pytest.fixture
def statements(monkeypatch):
    """All that is run past SQLAlchemy from here on."""
    heard, run, run_for_each = [], Runner.run, Runner.run_for_each

    def listen(self, text, given=()):
        heard.append(text)
        return run(self, text, given)

    def listen_to_many(self, text, rows):
        if len(rows) > 1:  # one alone is `run`
            heard.append(text)
        return run_for_each(self, text, rows)

    monkeypatch.setattr(Runner, "run", listen)
    monkeypatch.setattr(Runner, "run_for_each", listen_to_many)
    return heard


@shared
def test_a_decision_and_its_reward_are_a_few_statements_past_sqlalchemy(store_url, statements):
    exp = with_rewards(store_url)
    passed_on = []

    @sa.event.listens_for(exp.store.engine, "before_cursor_execute")
    def listen(connection, cursor, statement, values, context, many):
        passed_on.append(statement)

    statements.clear()
    decision = exp.decide()
    # The head and the decision; SQLite counts the traffic in a statement of its own.
    assert len(statements) == (3 if exp.store.sqlite else 2)
    statements.clear()
    assert exp.reward(decision.id, 1.0)
    # The head, the decision, what settled it, the event, the statistics with the experiment; beside
    # them the lock of PostgreSQL, and what SQLite needs two statements for.
    assert len(statements) == (7 if exp.store.sqlite else 6)
    assert passed_on == []
    assert exp.report().frame["n"].sum() == 6
    assert passed_on  # a report is nothing that people wait for in a row
    exp.close()


@shared
def test_an_interruption_in_the_middle_of_a_statement_leaves_nothing(store_url, monkeypatch):
    exp, run = with_rewards(store_url), Runner.run
    id = exp.decide().id

    def interrupted(self, text, given=()):
        found = run(self, text, given)
        if "INTO varts_events" in text:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Runner, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        exp.reward(id, 1.0)
    monkeypatch.undo()
    assert rewards(store_url) == 5
    assert exp.reward(id, 1.0) and rewards(store_url) == 6
    exp.close()


@shared
def test_an_error_of_the_driver_is_a_sentence_and_undoes_all(store_url, monkeypatch):
    exp, run = with_rewards(store_url), Runner.run
    id = exp.decide().id

    def misspelt(self, text, given=()):
        return run(self, text.replace("UPDATE varts_experiments", "UPDATE varts_nothing"), given)

    monkeypatch.setattr(Runner, "run", misspelt)
    refused(lambda: exp.reward(id, 1.0), "varts_nothing", "nothing was written")
    monkeypatch.undo()
    assert rewards(store_url) == 5
    assert exp.reward(id, 1.0) and rewards(store_url) == 6
    exp.close()


@shared
def test_rows_are_added_once_and_replaced(store_url):
    """One row, several, and several whose columns have values in some of them only."""
    names = ("experiment", "unit", "arm", "probability", "estimated", "decision")
    rows = [(7, f"unit-{i}", i, 0.5, i % 2 == 0, "d") for i in range(4)]
    exp = with_rewards(store_url)
    with exp.store._writing() as connection:
        runner = Runner(connection)
        assert [runner.add(units, names, rows[:1]), runner.add(units, names, rows)] == [1, 3]
        runner.replace(units, names, [(*row[:2], 9, *row[3:]) for row in rows[:3]])
        runner.replace(units, names, [])
        found = connection.execute(sa.select(units).order_by(units.c.unit)).all()
    assert [row.arm for row in found] == [9, 9, 9, 3]
    assert [bool(row.estimated) for row in found] == [True, False, True, False]
    exp.close()


def test_columns_without_a_value_are_left_out():
    rows = [(1, None, "x", None), (2, None, None, None)]
    assert with_values(("a", "b", "c", "d"), rows) == (("a", "c"), [(1, "x"), (2, None)])
    assert with_values(("a",), [(0,), (None,)]) == (("a",), [(0,), (None,)])  # 0 is a value

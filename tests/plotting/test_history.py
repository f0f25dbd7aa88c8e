"""The figure of a history: every line is a column of its frame, and no name is obeyed."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

import varts
from tests.plotting.test_plotting import texts
from varts.plotting.history import ARMS_DRAWN, COLOURS, OTHERS_COLOUR


def history(arms, visits=300, **how):
    exp = varts.open("price", arms, store="memory://", seed=1)
    rng = np.random.default_rng(3)
    for i in range(visits):
        decision = exp.decide(id=str(i))
        exp.reward(decision.id, exp.arms.index(decision.arm) + rng.normal())
    return exp.history(**how)


def test_lines_are_the_columns_of_the_frame():
    found = history(["9", "12", "15"])
    traffic, best, reward, belief = found.plot().axes
    for i, arm in enumerate(found.arms):
        rows = found.frame.filter(arm=arm)
        for ax, column in ((best, "p_best"), (reward, "cumulative_reward")):
            x, y = ax.lines[i].get_data()
            assert x.tolist() == rows["rewards"].to_list()
            np.testing.assert_array_equal(y, rows[column].cast(float).to_numpy())
        assert best.lines[i].get_label() == arm
        colours = {to_hex(ax.lines[i].get_color()) for ax in (best, reward, belief)}
        assert colours == {COLOURS[i].lower()}
        curve = found.densities().filter(arm=arm)
        assert belief.lines[i].get_ydata().tolist() == curve["density"].to_list()
    # The areas of an interval are on top of each other, and together all of the traffic.
    last = [area.get_paths()[0].vertices for area in traffic.collections]
    tops = [area[np.isclose(area[:, 0], 300), 1].max() for area in last]
    shares = found.frame.filter(checkpoint=50)["traffic"].to_numpy()
    assert tops == pytest.approx(np.cumsum(shares))
    assert tops[-1] == pytest.approx(1)


def test_more_arms_than_colours(tmp_path):
    found = history([f"arm {i}" for i in range(15)], visits=400)
    made = found.plot(tmp_path / "many.svg")
    _, best, reward, belief = made.axes
    assert len(best.lines) == ARMS_DRAWN and len(belief.lines) == ARMS_DRAWN - 1
    assert best.lines[-1].get_label() == "4 others"
    assert best.lines[-1].get_color() == OTHERS_COLOUR
    assert len({line.get_color() for line in best.lines}) == ARMS_DRAWN
    total = sum(line.get_ydata()[-1] for line in reward.lines)
    last = found.frame.filter(checkpoint=50)
    assert total == pytest.approx(last["cumulative_reward"].sum())
    assert sum(line.get_ydata()[-1] for line in best.lines) == pytest.approx(1)
    drawn = {line.get_label() for line in best.lines}
    assert last.sort("p_best")["arm"][-1] in drawn and last.sort("share")["arm"][-1] in drawn
    assert len(history([f"arm {i}" for i in range(ARMS_DRAWN)]).plot().axes[1].lines) == ARMS_DRAWN


def test_names_are_shown_and_not_obeyed(tmp_path):
    found = history(["$x^2$", "_hidden", "a\x1b[2J", "x" * 200], visits=50, points=3)
    found.plot(tmp_path / "names.svg")
    shown = texts(tmp_path / "names.svg")
    assert r"a\u001b[2J" in shown and "_hidden" in shown
    assert any("$x^2$" in text for text in shown)
    assert max(map(len, shown)) < 60


def test_time_on_the_axis_and_one_checkpoint(tmp_path):
    found = history(["9", "12"], visits=40, every="365d")
    traffic, best, *_ = found.plot(tmp_path / "time.png").axes
    assert traffic.get_xlabel() == best.get_xlabel() == "Time (UTC)"
    assert best.lines[0].get_marker() == "o"
    assert found.plot(tmp_path / "time.PNG") is not None


@pytest.mark.when_changed("src/varts/plotting", except_for=["png"])
@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_the_same_figure_is_the_same_file(tmp_path, form):
    found = history(["9", "12"], visits=40, points=5)
    files = [tmp_path / f"{i}.{form}" for i in range(3)]
    for file in files[:2]:
        found.plot(file)
    history(["9", "12"], visits=41, points=5).plot(files[2])
    first, again, other = (file.read_bytes() for file in files)
    assert first == again != other
    assert b"/CreationDate" not in first and b"<dc:date>" not in first


def test_where_it_cannot_be_written(tmp_path):
    found = history(["9", "12"], visits=4, points=1)
    with pytest.raises(ValueError, match=r"path must end in \.png or \.svg or \.pdf, got"):
        found.plot(tmp_path / "a.jpg")
    with pytest.raises(ValueError, match="path must be in a folder that exists"):
        found.plot(tmp_path / "no" / "a.png")

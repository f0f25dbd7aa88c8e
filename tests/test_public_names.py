"""What `import varts` and `from varts import *` give."""

import builtins

import varts


def test_import_star_leaves_the_builtins_alone():
    for module in ("varts", "varts.live", "varts.client"):
        names = {}
        exec(f"from {module} import *", names)
        assert {"Experiment", "RemoteExperiment"} & names.keys()
        assert [name for name in names if hasattr(builtins, name) and name[0] != "_"] == []
    assert varts.open is not builtins.open
    assert varts.live.open is not builtins.open
    assert "open" in dir(varts)


def test_reading_a_history_is_public():
    assert varts.read_history is varts.fitting.read_history
    assert "read_history" in varts.__all__

"""The command line as it starts."""

import subprocess
import sys
import textwrap

import pytest

import varts


@pytest.mark.parametrize("module", ["numpy", "cyclopts", "varts.cli.simulate"])
def test_ctrl_c_while_the_command_line_loads(module):
    program = f"""
        import sys
        class Interrupt:
            def find_spec(self, name, *rest):
                if name == {module!r}:
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupt())
        from varts.cli import main
        main(["policies"])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    told = "varts: stopped; nothing was complete yet\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", told)


def test_too_little_memory_is_one_sentence(call, monkeypatch):
    """Python says nothing then but the name of the error."""

    def fail(*given, **options):
        raise MemoryError

    monkeypatch.setattr(varts, "fit_prior", fail)
    assert call("fit", "log.csv") == (2, "", "varts: there is not enough memory for this\n")

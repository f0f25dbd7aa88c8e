"""Kernels on disk: private, never trusted if they could be a stranger's, and never in the way."""

import errno
import os
import stat
import tempfile
import warnings
from pathlib import Path

import pytest

from tests.interpreter import python
from varts._validation import KernelCacheWarning
from varts.simulation.engine import kernel, kernel_cache, work
from varts.simulation.engine.kernel_cache import HASH_BYTES

pytestmark = pytest.mark.when_changed("src/varts/simulation/engine")

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another user")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The two folders that kernels may be in, neither of them made yet."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    kernel_cache._warn_once.cache_clear()
    return kernel_cache.cache_folders()


def hits(name="double"):
    """Whether the code is found on disk; if not, it is kept there."""
    found = kernel_cache.find(name)
    if found is None:
        kernel_cache.keep(name, CODE + name.encode())
    else:
        assert found == CODE + name.encode()
    return int(found is not None)


CODE = bytes(range(256)) * 9


def only_file(folder):
    (file,) = folder.iterdir()
    return file


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_kernel_is_kept_where_only_its_user_can_write(folders):
    assert hits() == 0 and hits() == 1
    assert mode(folders[0]) == 0o700 and mode(only_file(folders[0])) == 0o600
    assert not folders[1].exists()
    assert hits("another") == 0


def test_the_folders_of_the_user(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/of/mine")
    assert kernel_cache.cache_folders()[0] == Path("/var/of/mine/varts")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    monkeypatch.setenv("HOME", "/home/of/mine")
    assert kernel_cache.cache_folders()[0] == Path("/home/of/mine/.cache/varts")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert [folder.name for folder in kernel_cache.cache_folders()] == [f"varts-{os.geteuid()}"]


def truncated(content):
    return content[: len(content) // 2]


def other_bytes(content):
    return bytes(len(content))


def one_bit(content):
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("damage", [truncated, other_bytes, one_bit, lambda content: b""])
def test_a_damaged_file_is_made_anew(folders, damage):
    hits()
    file = only_file(folders[0])
    whole = file.read_bytes()
    assert len(whole) > HASH_BYTES
    file.write_bytes(damage(whole))
    assert hits() == 0
    assert hits() == 1


@pytest.mark.parametrize("what", ["file", "folder"])
@pytest.mark.parametrize("permissions", [0o720, 0o702])
def test_what_others_may_write_to_is_not_loaded(folders, what, permissions):
    hits()
    path = {"file": only_file(folders[0]), "folder": folders[0]}[what]
    path.chmod(permissions)
    assert hits() == 0
    assert hits() == 1  # the file was replaced, or put into the other folder
    assert folders[1].exists() == (what == "folder")


@as_root
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_belongs_to_somebody_else_is_not_loaded(folders, what):
    hits()
    file = only_file(folders[0])
    os.chown({"file": file, "folder": folders[0]}[what], NOBODY, NOBODY)
    content = file.read_bytes()
    assert hits() == 0
    assert hits() == 1
    assert folders[1].exists() == (what == "folder")
    assert what == "file" or file.read_bytes() == content  # another's folder is left alone


def test_a_link_is_not_followed(folders, tmp_path):
    hits()
    file = only_file(folders[0])
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert hits() == 0
    assert not file.is_symlink() and hits() == 1


def test_a_full_disk_is_no_error(folders, monkeypatch):
    """The first folder is full: the second is used. Both are: one sentence, once."""

    def full_disk(partial, file):
        if Path(file).parent in full:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(partial, file)

    full, replace = folders[:1], os.replace
    monkeypatch.setattr(os, "replace", full_disk)
    assert hits() == 0 and hits() == 1
    assert list(folders[0].iterdir()) == []  # nothing half done is left
    only_file(folders[1])
    full = folders
    with pytest.warns(KernelCacheWarning, match=r"can't be kept in .* or .* NUMBA_CACHE_DIR") as w:
        assert hits("another") == 0
    assert len(w) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hits("a third") == 0


def test_only_what_was_used_lately_is_kept(folders, monkeypatch):
    monkeypatch.setattr(kernel_cache, "FILES_KEPT", 2)
    for name in ("one", "two", "three"):
        hits(name)
        for past, file in enumerate(sorted(folders[0].iterdir(), key=lambda f: f.stat().st_mtime)):
            os.utime(file, (past, past))
    assert [hits(name) for name in ("three", "two")] == [1, 1]
    hits("four")  # and "three" is now the one not used for the longest time
    assert [hits(name) for name in ("two", "four", "three")] == [1, 1, 0]


SIMULATE = """
    import email.parser, json, os, tempfile, warnings
    import numpy as np
    import varts, varts.policies, varts.simulation.study, varts.simulation.engine.build
    problem = varts.GaussianBandit.fixed([0.0, 0.3], 1.0)
    mine = varts.index_policy("mine")(lambda n, mean, m2, t: mean - 0.123 * n)
    tempfile.tempdir = os.environ["TEMPORARY"] or None
    if os.environ["USER_ID"]:
        from numba import njit
        njit(lambda x: np.sqrt(x) + 1)(1.0)  # imports what the other user may not read
        os.setuid(int(os.environ["USER_ID"]))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        study = varts.simulate(problem, mine, 20, 8, threads=1)
    print(json.dumps([study.runs, [str(warning.message) for warning in said]]))
"""


def without_home(home, temporary, user=""):
    own = {"HOME": str(home), "TEMPORARY": str(temporary), "USER_ID": str(user)}
    return python(SIMULATE, **own, NUMBA_CACHE_DIR="", XDG_CACHE_HOME="")


def test_without_a_home_kernels_are_kept_among_temporary_files(tmp_path):
    """/dev/null is no folder, for root neither."""
    assert without_home("/dev/null", tmp_path) == [8, []]
    assert mode(tmp_path / f"varts-{os.geteuid()}") == 0o700


def test_with_nowhere_to_write_there_is_one_sentence():
    runs, said = without_home("/dev/null", "/dev/null")
    assert runs == 8
    assert len(said) == 1 and said[0].startswith("compiled code can't be kept in /dev/null/.cache")


@as_root
def test_a_user_who_may_write_nowhere_can_simulate(tmp_path):
    tmp_path.chmod(0o755)
    runs, said = without_home(tmp_path, tmp_path, NOBODY)
    assert runs == 8 and len(said) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_says_it_in_a_note(call, monkeypatch):
    monkeypatch.setattr(kernel_cache, "cache_folders", list)
    kernel_cache._warn_once.cache_clear()

    def compile_and_keep(wanted):
        kernel_cache.keep("it", CODE)
        return kernel.compile_kernel(wanted)

    monkeypatch.setattr(work, "find_kernel", lambda kernel: None)
    monkeypatch.setattr(work, "compile_kernel", compile_and_keep)
    Path("study.toml").write_text(
        '[problem]\nkind = "gaussian"\nK = 2\n[policies]\nEven-Split = {}\n'
    )
    code, _, said = call("simulate", "study.toml", "--runs", "2", "--horizon", "5")
    assert code == 0
    assert [line for line in said.splitlines() if "note" in line] == [
        "varts: note: compiled code can't be kept in any folder and is compiled again in "
        "every process; set NUMBA_CACHE_DIR to a folder that only you can write to"
    ]

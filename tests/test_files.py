"""Files that are written: whole or not at all, beside nobody's and through no link."""

import os
import stat
from pathlib import Path

import polars as pl
import pytest

import varts
from varts._files import replacing, write_csv, write_text

SECRET = "what was there"
EXPERIMENT = varts.open("price", ["9", "12"], store="memory://")
EXPERIMENT.decide_many(3)
STUDY = varts.simulate(varts.GaussianBandit(K=2), ["UCB1"], horizon=5, runs=2, threads=1)


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


# Everything that is saved under a name that the user gives.
SAVED = {
    "prior.json": varts.NormalGamma(0, 1, 2, 1).save,
    "study.npz": STUDY.save,
    "log.csv": EXPERIMENT.export,
    "log.ndjson": EXPERIMENT.export,
    "log.parquet": EXPERIMENT.export,
    "table.csv": lambda path: write_csv(path, pl.DataFrame({"arm": ["a"]})),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_link_is_replaced_and_not_followed(tmp_path, name):
    target, path = tmp_path / "target", tmp_path / "in" / name
    path.parent.mkdir()
    target.write_text(SECRET)
    path.symlink_to(target)
    (tmp_path / "in" / f"{name}.part").symlink_to(target)
    SAVED[name](path)
    assert target.read_text() == SECRET
    assert not path.is_symlink() and path.stat().st_size > 0
    assert listed(path.parent) == sorted([name, f"{name}.part"])


@pytest.mark.parametrize("name", SAVED)
def test_permissions_are_those_of_a_new_file_or_of_the_one_before(tmp_path, name):
    umask = os.umask(0o027)
    try:
        SAVED[name](tmp_path / name)
        assert permissions(tmp_path / name) == 0o640
        (tmp_path / name).chmod(0o600)
        SAVED[name](tmp_path / name)
        assert permissions(tmp_path / name) == 0o600
    finally:
        os.umask(umask)


def test_nobody_else_may_read_what_is_not_complete(tmp_path):
    umask = os.umask(0)
    try:
        with replacing(tmp_path / "log.csv") as part:
            assert permissions(part) == 0o600
            assert part.parent == tmp_path and part.suffix == ".csv"
            assert listed(tmp_path) == [part.name]
    finally:
        os.umask(umask)
    assert permissions(tmp_path / "log.csv") == 0o666


def write_half(path, error):
    with replacing(path) as part:
        part.write_text("half of")
        raise error


def test_an_error_leaves_everything_as_it_was(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(SECRET)
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            write_half(path, error)
        assert path.read_text() == SECRET
        assert listed(tmp_path) == ["log.csv"]


def test_a_name_that_is_taken_is_not_written_to(tmp_path, monkeypatch):
    """Not even by a link that somebody has put there who knew the name."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "known")
    target = tmp_path / "target"
    target.write_text(SECRET)
    (tmp_path / ".varts-known.json").symlink_to(target)
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "prior.json", "{}")
    assert target.read_text() == SECRET
    assert listed(tmp_path) == [".varts-known.json", "target"]


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    for folder in ("gone", "file"):
        path = tmp_path / folder / "prior.json"
        (tmp_path / "file").touch()
        with pytest.raises(OSError, match=r"/prior\.json'$") as refused:
            write_text(path, "{}")
        assert refused.value.filename == str(path)
    assert listed(tmp_path) == ["file"]


def test_what_is_no_file_is_written_to(tmp_path):
    """`varts fit history.csv -o /dev/stdout` is a pipe's beginning, not a file to replace."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_text(path, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)
    write_text(Path("/dev/null"), "gone")
    assert Path("/dev/null").is_char_device()

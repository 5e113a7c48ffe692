"""Whole compiles interrupted, killed, starved or doubled: the old file or the new, always whole.

Faults at each single write are in ``test_write.py``, those of the cache in ``test_cache.py``.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from fuzz.subjects import VOCABULARY
from tokenizers_on_disk import need

import constrain
from constrain.tables import load
from constrain.tables.verify import verify_file

ROOT = Path(__file__).parent.parent
OLD, NEW = "(yes|no)", "[a-z]{1,40} [0-9]{1,40}"


def start(path: Path, pattern: str, **options: object) -> subprocess.Popen[str]:
    """Start a compile of a pattern to a path, in a process of its own."""
    cache = {"XDG_CACHE_HOME": str(path.parent / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "constrain", "compile", "--regex", pattern, "-q"]
    command += ["-t", str(need("example")), "-o", str(path)]
    return subprocess.Popen(
        command, cwd=ROOT, env=os.environ | cache, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # type: ignore[call-overload]  # fmt: skip


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, told = process.communicate(timeout=120)
    return process.returncode, told


def pattern_of(path: Path) -> str:
    """Return the pattern of a table that is whole, verified byte by byte."""
    verify_file(path, sample=4)
    return str(load(path).meta["source"]["text"])


def others(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()} - {path.name, "cache"}


@pytest.fixture(scope="module")
def seconds(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Return about how long a whole compile takes, so that signals fall into all of its stages."""
    begin = time.monotonic()
    assert finish(start(tmp_path_factory.mktemp("warm") / "table.npz", NEW))[0] == 0
    return time.monotonic() - begin


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_at_any_moment_leave_a_whole_file(
    number: signal.Signals, seconds: float, tmp_path: Path
) -> None:
    path = tmp_path / "table.npz"
    assert finish(start(path, OLD))[0] == 0
    for part in (0.3, 0.6, 0.8, 0.95):
        process = start(path, NEW)
        time.sleep(part * seconds)
        process.send_signal(number)
        code, told = finish(process)
        assert pattern_of(path) in (OLD, NEW)
        if code and number == signal.SIGINT:
            assert not others(path)
            # -SIGINT: the interpreter itself was starting or ending.
            assert code in (130, -number)
            assert code != 130 or "Traceback" not in told
    for name in others(path):  # what a killed process leaves says what it is
        assert number != signal.SIGINT
        assert name.startswith(".table.npz.") and name.endswith(".tmp")


def test_two_compiles_to_one_path(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    running = [start(path, pattern) for pattern in (OLD, NEW, OLD, NEW)]
    assert [finish(process)[0] for process in running] == [0] * 4
    assert pattern_of(path) in (OLD, NEW)
    assert not others(path)


def test_a_disk_without_room(tmp_path: Path) -> None:
    """The system itself refuses to write beyond a size, half way through the file."""

    def starve() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    path = tmp_path / "table.npz"
    assert finish(start(path, OLD))[0] == 0
    code, told = finish(start(path, NEW, preexec_fn=starve))
    assert code == 1
    assert "too large" in told.lower() and "Traceback" not in told
    assert pattern_of(path) == OLD
    assert not others(path)


@pytest.mark.parametrize("place", ["none/table.npz", "file/table.npz", "folder"])
def test_places_that_cannot_be_written(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    code, told = finish(start(tmp_path / place, OLD))
    assert "Traceback" not in told
    if place != "folder":  # into a folder a table of the schema's name is written
        assert code in (1, 2) and told
        assert {each.name for each in tmp_path.iterdir()} <= {"file", "folder", "cache", "none"}


def _compile_as_nobody(path: Path) -> None:
    if os.geteuid() == 0:  # root may write anywhere
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        constrain.compile(None, VOCABULARY, regex=NEW, output=path)
    except PermissionError as error:
        sys.exit(3 if str(error.filename).endswith(".tmp") else 4)


def test_a_folder_that_is_read_only() -> None:
    """In a process of its own, which imports nothing: our modules may be closed to others, too."""
    with tempfile.TemporaryDirectory() as folder:  # tmp_path lies in a folder closed to others
        path = Path(folder) / "table.npz"
        constrain.compile(None, VOCABULARY, regex=OLD, output=path)
        path.parent.chmod(0o555)
        process = multiprocessing.get_context("fork").Process(
            target=_compile_as_nobody, args=(path,)
        )
        try:
            process.start()
            process.join(60)
        finally:
            path.parent.chmod(0o755)
        assert process.exitcode == 3
        assert pattern_of(path) == OLD
        assert not others(path)


def test_links_that_go_round_in_a_circle(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    path.symlink_to(tmp_path / "other.npz")
    (tmp_path / "other.npz").symlink_to(path)
    with pytest.raises(OSError, match="symbolic links"):
        constrain.compile(None, VOCABULARY, regex=OLD, output=path)
    assert path.is_symlink() and others(path) == {"other.npz"}

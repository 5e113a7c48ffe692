"""Writing: the whole new file or the whole old one, whatever fails, whenever."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hand_tables import brackets_table, plain_table

from constrain.tables import TableError, archive, load
from constrain.tables.write import write_atomically, write_table

FAULTS = ["open", "write", "flush", "fsync", "chmod", "replace"]


class Failing:
    """A file whose n-th write, or flush, fails as a full disk does."""

    def __init__(self, file, name, at):  # type: ignore[no-untyped-def]
        self.file, self.name, self.at = file, name, at

    def __enter__(self):  # type: ignore[no-untyped-def]
        return self

    def __exit__(self, *_):  # type: ignore[no-untyped-def]
        self.file.close()

    def write(self, data):  # type: ignore[no-untyped-def]
        self.at -= 1
        if self.name == "write" and self.at < 0:
            self.file.write(bytes(data)[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return self.file.write(data)

    def flush(self):  # type: ignore[no-untyped-def]
        if self.name == "flush":
            raise OSError(28, "No space left on device")
        self.file.flush()

    def fileno(self):  # type: ignore[no-untyped-def]
        return self.file.fileno()


def inject(monkeypatch: pytest.MonkeyPatch, name: str, at: int) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    original = Path.open

    def opened(self: Path, *args: object, **options: object) -> object:
        if self.suffix != ".tmp":
            return original(self, *args, **options)  # type: ignore[call-overload]
        return Failing(original(self, *args, **options), name, at)  # type: ignore[call-overload]

    if name in ("write", "flush"):
        monkeypatch.setattr(Path, "open", opened)
    elif name == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(Path, name, fail)


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("at", range(0, 60, 6))
@pytest.mark.parametrize("name", FAULTS)
def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, at: int, existing: bool
) -> None:
    if name != "write" and at:
        return
    path = tmp_path / "table.npz"
    if existing:
        plain_table().save(path)
    elif name == "chmod":
        return
    before = path.read_bytes() if existing else None
    inject(monkeypatch, name, at)
    try:
        brackets_table().save(path)
    except OSError:
        monkeypatch.undo()
        assert (path.read_bytes() if existing else None) == before
        assert path.exists() == existing
    else:
        monkeypatch.undo()
        assert name == "write"  # there were fewer writes than ``at``
        assert not load(path).is_plain
    assert [each.name for each in tmp_path.iterdir()] == ([path.name] if path.exists() else [])


def test_a_write_that_is_interrupted_cleans_up(tmp_path: Path) -> None:
    def parts():  # type: ignore[no-untyped-def]
        yield b"half"
        raise KeyboardInterrupt

    path = tmp_path / "table.npz"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, parts())
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_killed_write_leaves_the_old_file_and_a_harmless_other(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    plain_table().save(path)
    before = path.read_bytes()
    code = (
        "import os, pathlib, sys\n"
        "from constrain.tables.write import write_atomically\n"
        "def parts():\n"
        "    yield b'x' * 1000000\n"
        "    os.kill(os.getpid(), 9)\n"
        "write_atomically(pathlib.Path(sys.argv[1]), parts())\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode != 0
    assert path.read_bytes() == before
    left = [each for each in tmp_path.iterdir() if each != path]
    assert [each.suffix for each in left] == [".tmp"]
    assert left[0].name.startswith(".table.npz.")
    brackets_table().save(path)
    assert not load(path).is_plain


def test_readers_see_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    plain_table().save(path)
    stop = threading.Event()
    errors: list[Exception] = []

    def write(make) -> None:  # type: ignore[no-untyped-def]
        table = make()
        while not stop.is_set():
            try:
                table.save(path)
            except Exception as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=write, args=(f,)) for f in (plain_table, brackets_table)]
    for thread in threads:
        thread.start()
    kinds = {load(path).is_plain for _ in range(300)}
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert kinds <= {True, False}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_mapped_table_outlives_the_replacement_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    brackets_table().save(path)
    table = load(path)
    plain_table().save(path)
    assert (table.trans == brackets_table().trans).all()


def test_permissions_are_kept_and_links_followed(tmp_path: Path) -> None:
    path, link = tmp_path / "table.npz", tmp_path / "link.npz"
    plain_table().save(path)
    path.chmod(0o640)
    link.symlink_to(path)
    brackets_table().save(link)
    assert link.is_symlink()
    assert not load(path).is_plain
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_long_name_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 240 + ".npz")
    plain_table().save(path)
    assert load(path).is_plain


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", {1, 2}, object()])
def test_metadata_that_is_not_json_is_refused_before_anything_is_written(
    tmp_path: Path, value: object
) -> None:
    path = tmp_path / "table.npz"
    with pytest.raises(TableError, match="must be JSON"):
        plain_table(value=value).save(path)
    assert not list(tmp_path.iterdir())


def test_what_would_look_like_a_bomb_is_stored_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "INFLATED", 1000)
    monkeypatch.setattr(archive, "RATIO", 3)
    table = plain_table()
    write_table(tmp_path / "table.npz", table, compress=True)
    assert (load(tmp_path / "table.npz").trans == table.trans).all()


def test_a_table_too_large_for_the_format_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_FILE", (1 << 20) + 5000)
    with pytest.raises(TableError, match="4 GiB") as caught:
        plain_table().save(tmp_path / "table.npz")
    assert caught.value.key == "trans"
    assert not list(tmp_path.iterdir())


def test_arrays_of_other_dtypes_and_orders_are_written_as_the_format_says(tmp_path: Path) -> None:
    table = plain_table()
    odd = type(table)(
        **{
            **table.arrays(),
            "trans": np.asfortranarray(table.trans.astype(np.int64)),
            "mask_row": table.mask_row.astype(">i4"),
        }
    )
    table.save(tmp_path / "one.npz")
    odd.save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()

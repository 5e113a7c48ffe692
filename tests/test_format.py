"""What a file of format 1 looks like, byte for byte, to others than our own loader."""

import hashlib
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hand_tables import brackets_table, plain_table

from constrain.tables import Table, fingerprint, load
from constrain.tables.format import FRAME_ARRAYS, PLAIN_ARRAYS

TABLES = {"plain": plain_table, "frames": brackets_table}


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Table:
    return TABLES[request.param](note="ünïcode \ud800")


@pytest.mark.parametrize("compress", [False, True])
def test_plain_numpy_reads_it_without_pickles(table: Table, tmp_path: Path, compress: bool) -> None:
    path = tmp_path / "table.npz"
    table.save(path, compress=compress)
    with np.load(path, allow_pickle=False) as file:
        assert file.files == [
            *PLAIN_ARRAYS,
            "meta",
            *(FRAME_ARRAYS if table.frames else ()),
        ]
        for key, array in table.arrays().items():
            assert file[key].dtype.str == (PLAIN_ARRAYS | FRAME_ARRAYS)[key][0]
            assert (file[key] == array).all()
        meta = json.loads(file["meta"].tobytes())
    assert meta == {"format": 1, "fingerprint": table.fingerprint, "note": "ünïcode \ud800"}


def test_stored_arrays_begin_at_multiples_of_64(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    table.save(path)
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            names = struct.unpack("<HH", content[info.header_offset + 26 :][:4])
            start = info.header_offset + 30 + sum(names)
            assert start % 64 == 0
            assert content[start : start + 8] == b"\x93NUMPY\x01\x00"
            assert struct.unpack("<H", content[start + 8 :][:2]) == (118,)
            assert info.compress_type == zipfile.ZIP_STORED
            assert info.date_time == (1980, 1, 1, 0, 0, 0)


@pytest.mark.parametrize("compress", [False, True])
def test_the_same_table_gives_the_same_bytes(table: Table, tmp_path: Path, compress: bool) -> None:
    contents = set()
    for name in ("one.npz", "two.npz"):
        table.save(tmp_path / name, compress=compress)
        contents.add((tmp_path / name).read_bytes())
    load(tmp_path / "one.npz").save(tmp_path / "three.npz", compress=compress)
    contents.add((tmp_path / "three.npz").read_bytes())
    assert len(contents) == 1


def test_loaded_arrays_are_views_of_the_mapped_file(table: Table, tmp_path: Path) -> None:
    table.save(tmp_path / "table.npz")
    loaded = load(tmp_path / "table.npz")
    for array in loaded.arrays().values():
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base.base, memoryview)
        assert not array.flags.writeable
        assert array.flags.aligned


def test_the_fingerprint_is_what_the_specification_says(table: Table) -> None:
    parts = [
        b"constrain vocabulary 1\n",
        struct.pack("<qq", table.n_tokens, 1),
        struct.pack(f"<{table.n_tokens + 1}q", *table.token_offsets.tolist()),
        struct.pack("<q", *table.eos.tolist()),
        table.token_bytes.tobytes(),
    ]
    assert table.fingerprint == hashlib.sha256(b"".join(parts)).hexdigest()


def test_any_difference_between_vocabularies_shows_in_the_fingerprint() -> None:
    def of(tokens: list[bytes], eos: list[int]) -> str:
        offsets = np.cumsum([0] + [len(token) for token in tokens])
        return fingerprint(
            len(tokens), np.frombuffer(b"".join(tokens), dtype=np.uint8), offsets, eos
        )

    different = [
        of([b"ab", b"c", b""], [2]),
        of([b"a", b"bc", b""], [2]),
        of([b"ab", b"", b"c"], [2]),
        of([b"ab", b"c", b""], []),
        of([b"ab", b"c", b""], [1]),
        of([b"ab", b"c", b""], [2, 1]),
        of([b"ab", b"c", b"", b""], [2]),
        of([b"ab", b"d", b""], [2]),
    ]
    assert len(set(different)) == len(different)
    assert of([b"a", b"", b""], [1, 2]) == of([b"a", b"", b""], [2, 1])

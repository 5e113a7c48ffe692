"""Loading: what is well formed comes back as it was, and everything else is a ``TableError``.

Attacks are made by writing files with NumPy or with the archive writer, or by changing the bytes of
good ones. Every loaded file is used as well, so that nothing slips through to the run time.
"""

import io
import json
import os
import struct
import sys
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hand_tables import brackets_table, plain_table

from constrain.tables import ConstrainError, Constraint, StackLimitError, Table, TableError, load
from constrain.tables.archive import pieces
from constrain.tables.format import FRAME_ARRAYS, META, PLAIN_ARRAYS
from constrain.tables.load import parse
from constrain.tables.verify import verify, verify_file
from constrain.tables.write import serialized

Arrays = dict[str, Any]
KINDS = {"plain": plain_table(), "frames": brackets_table()}


def content(kind: str, *, compress: bool = False) -> bytes:
    return b"".join(bytes(part) for part in serialized(KINDS[kind], compress=compress))


def arrays_of(kind: str) -> Arrays:
    with np.load(io.BytesIO(content(kind)), allow_pickle=False) as file:
        return {key: file[key].copy() for key in file.files}


def by_numpy(arrays: Arrays, *, compress: bool = False) -> bytes:
    buffer = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def use(table: Table) -> None:
    """Run a table at random, in every way that looks something up; only our own errors may come."""
    rng = np.random.default_rng(0)
    for budget in (None, 8):
        try:
            run = Constraint(table, budget=budget, max_depth=50)
            for _ in range(30):
                allowed = np.flatnonzero(run.mask())
                run.forced_bytes()
                if not len(allowed):
                    break
                run.forced_tokens()
                run.advance(int(rng.choice(allowed)))
        except (ConstrainError, StackLimitError):
            pass


def refused(data: bytes) -> TableError:
    with pytest.raises(TableError) as caught:
        parse(memoryview(data))
    return caught.value


# What is well formed.


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_comes_back(kind: str, compress: bool, tmp_path: Path) -> None:
    KINDS[kind].save(tmp_path / "table.npz", compress=compress)
    loaded = load(tmp_path / "table.npz")
    assert loaded.is_plain == (kind == "plain")
    for key, array in KINDS[kind].arrays().items():
        assert (loaded.arrays()[key] == array).all()
    assert loaded.meta == {"format": 1, "fingerprint": KINDS[kind].fingerprint}
    use(loaded)
    assert verify_file(tmp_path / "table.npz", sample=None).n_tokens == loaded.n_tokens


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_numpy_writes_again_is_read_too(kind: str, compress: bool) -> None:
    arrays = arrays_of(kind)
    table = parse(memoryview(by_numpy(dict(reversed(arrays.items())), compress=compress)))
    assert (table.trans == arrays["trans"]).all()


# The container.


@pytest.mark.parametrize("kind", KINDS)
def test_files_cut_at_any_byte(kind: str) -> None:
    whole = content(kind)
    for length in {*range(200), *range(0, len(whole), 97), *range(len(whole) - 200, len(whole))}:
        refused(whole[:length])


def test_bytes_before_after_and_between() -> None:
    whole = content("plain")
    for data in (whole + b"\0", b"\0" + whole, whole + whole, b"%PDF-1.4\n" + whole):
        refused(data)
    start = struct.unpack("<I", whole[-6:-2])[0]
    refused(whole[:start] + b"gap!" + whole[start:])
    end = struct.pack("<I", start + 4)
    refused(whole[:start] + b"gap!" + whole[start:-6] + end + whole[-2:])


@pytest.mark.parametrize("compress", [False, True])
def test_two_thousand_flipped_files(compress: bool) -> None:
    rng = np.random.default_rng(1)
    wholes = {kind: np.frombuffer(content(kind, compress=compress), np.uint8) for kind in KINDS}
    refusals = 0
    for _ in range(1000):
        whole = wholes[str(rng.choice(sorted(wholes)))].copy()
        spots = rng.integers(0, len(whole), size=rng.integers(1, 4))
        whole[spots] ^= rng.integers(1, 256, size=len(spots)).astype(np.uint8)
        try:
            table = parse(memoryview(whole.tobytes()))
        except TableError:
            refusals += 1
        else:
            use(table)
    assert refusals > 300


def test_cut_and_spliced_files() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        whole = content(str(rng.choice(sorted(KINDS))))
        i, j, k = sorted(rng.integers(0, len(whole), size=3).tolist())
        for data in (whole[:i] + whole[j:], whole[:j] + whole[i:], whole[:i] + whole[j:k]):
            with suppress(TableError):
                use(parse(memoryview(data)))


def zipped(members: list[tuple[str, bytes]], **options: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return buffer.getvalue()


def npy_files(kind: str) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content(kind))) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def npy(descr: str, order: str, shape: str, data: bytes, version: bytes = b"\1\0") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_doubled_encrypted_overlapping_or_of_another_kind() -> None:
    files = npy_files("plain")
    assert parse(memoryview(zipped(files))).is_plain
    assert "twice" in str(refused(zipped([*files, files[0]])))
    for name in ("trans", "trans.txt", "../trans.npy", "a/b.npy", "TRANS.npy", "x" * 50 + ".npy"):
        refused(zipped([*files, (name, files[0][1])]))
    refused(zipped([*files, *((f"{letter}.npy", b"") for letter in "abcdefghijklmnop" * 4)]))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, data in files:
                archive.writestr(name, data)
        assert "zip method" in str(refused(buffer.getvalue()))
    whole = bytearray(content("plain"))
    start = struct.unpack("<I", whole[-6:-2])[0]
    for flag, told in ((1, "encrypted"), (8, "written in a way"), (64, "encrypted")):
        changed = bytearray(whole)
        changed[start + 8] |= flag
        assert told in str(refused(bytes(changed)))
    second = start + 46 + len("trans.npy")
    changed = bytearray(whole)
    changed[second + 42 : second + 46] = struct.pack("<I", 0)
    assert "overlap" in str(refused(bytes(changed)))
    with_comment = zipfile.ZipFile(io.BytesIO(), "w")
    with_comment.comment = b"hello"
    with_comment.close()


def test_empty_files_and_other_zips(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    path.write_bytes(b"")
    with pytest.raises(TableError, match="empty"):
        load(path)
    with pytest.raises(TableError, match="not a file"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TableError, match="not a file"):
        load(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")
    refused(zipped([]))
    refused(zipped([("readme.txt", b"hello")]))


def test_bombs_and_huge_shapes_cost_nothing() -> None:
    files = dict(npy_files("plain"))
    bombs = [
        npy("'<i4'", "False", "(1000000000, 256)", b""),
        npy("'<i4'", "False", f"({10**18}, 256)", b""),
        npy("'<i4'", "False", f"({10**11}, {10**11})", b""),
        npy("'<i4'", "False", f"({'1, ' * 60}256)", b""),
        npy("'<i4'", "False", f"(0, {10**11})", b""),
        npy("'|V9999'", "False", "(1,)", b""),
        npy("'<U9999'", "False", "(1,)", b""),
        b"\x93NUMPY\1\0\xff\xff" + b" " * 70000,
        b"\x93NUMPY\2\0\x76\0\0\0" + b" " * 118,
        b"\x93NUMPY\1\0",
        b"",
    ]
    tracemalloc.start()
    for bomb in bombs:
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w", method) as archive:
                for name, data in {**files, "trans.npy": bomb}.items():
                    archive.writestr(name, data)
            assert refused(buffer.getvalue()).key == "trans"
    zeros = {"masks": np.zeros(1 << 27, np.uint8)}
    bomb = b"".join(map(bytes, pieces(zeros, compress=True)))
    del zeros
    tracemalloc.reset_peak()
    assert "bomb" in str(refused(bomb))
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()


def test_a_deflated_member_that_lies_about_its_size() -> None:
    whole = content("plain", compress=True)
    start = struct.unpack("<I", whole[-6:-2])[0]
    size = struct.unpack("<I", whole[start + 24 : start + 28])[0]
    for lie in (size - 1, size + 1, 0, 1 << 20):
        changed = bytearray(whole)
        changed[start + 24 : start + 28] = changed[22:26] = struct.pack("<I", lie)
        assert "size it declares" in str(refused(bytes(changed)))


class Loud:
    """Something that makes itself heard if it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("unpickled",))


def test_object_arrays_are_refused_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for key in ("trans", "meta"):
        arrays = {**arrays_of("plain"), key: np.array([[Loud()]], dtype=object)}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        error = refused(buffer.getvalue())
        assert error.key == key
        assert "never objects" in str(error)
    assert not list(tmp_path.iterdir())


# Keys, types, shapes.


@pytest.mark.parametrize("kind", KINDS)
def test_each_key_missing_and_each_key_added(kind: str) -> None:
    arrays = arrays_of(kind)
    for key in arrays:
        less = {name: array for name, array in arrays.items() if name != key}
        assert refused(by_numpy(less)).key == key
    for key in ("extra", "call_site"):
        error = refused(by_numpy({**arrays, key: np.zeros(3)}))
        assert (error.key, key in str(error)) == (key, True)
    if kind == "plain":
        assert "has no" in str(refused(by_numpy({**arrays, "pop": arrays["mask_row"]})))


@pytest.mark.parametrize("kind", KINDS)
def test_each_array_of_another_type_order_shape_or_endianness(kind: str) -> None:
    arrays = arrays_of(kind)
    for key, (dtype, dims) in (PLAIN_ARRAYS | (FRAME_ARRAYS if kind == "frames" else {})).items():
        array = arrays[key]
        others: list[np.ndarray[Any, Any]] = [
            array.astype(np.float64),
            array.astype(np.int16),
            array.astype("S4"),
            array.astype("U4"),
            array.astype(np.complex64),
            array.astype("M8[s]") if dtype == "<i8" else array.astype("V4"),
            array.reshape(-1)[:1].reshape(()) if array.size else np.zeros(()),
            np.zeros((1, 1, 1), dtype),
        ]
        if (
            "offsets" not in key and key != "masks"
        ):  # one entry more or less may be well formed there
            others.append(np.concatenate([array, array[-1:]]) if len(array) else np.zeros(3))
            others.append(array[..., :-1] if array.shape[-1] > 1 else np.zeros(3))
        if array.dtype.itemsize > 1:
            others.append(array.astype(array.dtype.newbyteorder(">")))
        if len(dims) > 1 and min(array.shape) > 1:
            others.append(np.asfortranarray(array))
        for other in others:
            error = refused(by_numpy({**arrays, key: other}))
            assert error.key in {*arrays, None}, (key, other.dtype, other.shape, str(error))
            if other.dtype != array.dtype:
                assert error.key == key
                assert key in str(error)


def test_the_message_says_what_was_expected_and_what_is_there() -> None:
    arrays = arrays_of("plain")
    for key, value, told in [
        (
            "trans",
            arrays["trans"].astype(">i4"),
            "trans should be int32 [S, 256]; it is int32 big-",
        ),
        ("trans", arrays["trans"][:, :255], "trans should be int32 [S, 256]; it is int32 [7, 255]"),
        ("accept", arrays["accept"][:5], "accept should be bool [S]; it is bool [5], where S is 7"),
        ("masks", np.zeros((3, 2), np.int32), "masks have 2 words for 15 tokens, not 1"),
        ("trans", np.asfortranarray(arrays["trans"]), "trans is in Fortran order"),
    ]:
        assert told in str(refused(by_numpy({**arrays, key: value})))


# Ranges.

BAD: dict[str, list[tuple[str, Any, Any]]] = {
    "plain": [
        ("trans", (0, 5), 7), ("trans", (0, 5), -2), ("trans", (0, 5), 2**31 - 1),
        ("trans", (0, 5), -(2**31)), ("mask_row", 3, -1), ("mask_row", 3, 99),
        ("token_offsets", 0, 1), ("token_offsets", -1, 3), ("token_offsets", 5, 2**62),
        ("token_offsets", 5, -1), ("eos", 0, 15), ("eos", 0, -1), ("tokens_to_end", 0, -1),
        ("masks", (0, 0), -1), ("masks", (0, 0), 1 << 15), ("masks", (0, 0), 0),
        ("masks", (0, 0), 1 << 13),
    ],
    "frames": [
        ("trans", (2, 5), -7), ("trans", (2, 5), 18), ("pop", 3, 2), ("pop", 3, -2), ("pop", 0, 0),
        ("pop", 2, 0), ("pop", 5, 0), ("call_target", 0, 18), ("call_target", 0, -1),
        ("call_target", 0, 3), ("call_return", (0, 0), 18), ("call_return", (0, 0), -2),
        ("call_return", (0, 0), -1), ("call_return", (0, 0), 6), ("escape", 9, 18),
        ("escape", 9, -2), ("escape_at", 9, -1), ("tokens_to_pop", (2, 0), -1), ("pace", 13, -1),
        ("pace_until", 13, -1), ("residue_row", 2, -1), ("residue_row", 2, 99),
        ("residue_offsets", 1, 99), ("residue_offsets", 0, 1), ("residues", (0, 1), 2),
        ("residues", (0, 1), -1), ("residues", (0, 0), -1), ("exit_pair", (0, 0), 18),
        ("exit_pair", (0, 0), -1), ("exit_pair", (0, 1), -1), ("exit_pair", (0, 0), 17),
        ("exit_token_offsets", 1, 99), ("exit_tokens", 0, 45), ("exit_tokens", 0, -1),
        ("exit_residue_offsets", -1, 0), ("exit_residues", (0, 1), 2), ("exit_residues", (0, 0), -1),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "key", "place", "value"),
    [(kind, *case) for kind, cases in BAD.items() for case in cases],
)
def test_values_out_of_range(kind: str, key: str, place: Any, value: int) -> None:
    arrays = arrays_of(kind)
    arrays[key][place] = value
    error = refused(by_numpy(arrays))
    assert error.key in (key, "pop" if key in ("call_target", "call_return") else key)
    assert (
        str(error.key) in str(error)
        or "row" in str(error)
        or "call site" in str(error)
        or ("pop label" in str(error))
    )


def test_booleans_that_are_neither() -> None:
    for kind, key in (("plain", "accept"), ("frames", "tick")):
        arrays = arrays_of(kind)
        arrays[key] = np.full(len(arrays[key]), 3, np.uint8).view(np.bool_)
        assert refused(by_numpy(arrays)).key == key


def test_an_end_token_named_twice() -> None:
    arrays = arrays_of("plain")
    assert refused(by_numpy({**arrays, "eos": np.array([13, 13], np.int32)})).key == "eos"


def test_nothing_at_all() -> None:
    arrays = arrays_of("plain")
    empty = {key: array[:0] for key, array in arrays.items() if key != META}
    assert refused(by_numpy({**empty, META: arrays[META]}))
    offsets = {**empty, "token_offsets": np.zeros(1, np.int64), "masks": np.zeros((0, 0), np.int32)}
    assert "no states" in str(refused(by_numpy({**offsets, META: arrays[META]})))


# Metadata.


def with_meta(raw: bytes) -> bytes:
    return by_numpy({**arrays_of("plain"), META: np.frombuffer(raw, np.uint8)})


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", b"[]", b"null", b'"format"', b"\xff\xfe", b'{"format": NaN}', b"[" * 100_000,
        b'{"a":' * 50_000, b'{"format": ' + b"9" * 5000 + b"}", b"{}", b'{"format": "1"}',
        b'{"format": true}', b'{"format": 1.0}', b'{"format": 1}',
        b'{"format": 1, "fingerprint": 5}', b'{"format": 1, "fingerprint": "abc"}',
    ],
)  # fmt: skip
def test_metadata_that_is_not_that_of_a_table(raw: bytes) -> None:
    assert refused(with_meta(raw)).key == META


def test_metadata_of_another_type_or_enormous(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = arrays_of("plain")
    for wrong in (np.zeros(4, np.int32), np.zeros((2, 2), np.uint8)):
        assert refused(by_numpy({**arrays, META: wrong})).key == META
    monkeypatch.setattr(sys.modules["constrain.tables.load"], "MAX_META", 1000)
    assert "MiB of metadata" in str(refused(with_meta(b" " * 2000)))


def test_another_version_is_named_with_the_one_that_is_read() -> None:
    for version in (0, 2, -1, 10**30):
        told = str(refused(with_meta(json.dumps({"format": version}).encode())))
        assert f"format {version}" in told
        assert "reads format 1" in told
    without = arrays_of("plain")
    del without[META]
    assert "format 1" in str(refused(by_numpy(without)))
    assert "does not say its format version" in str(refused(with_meta(b"{}")))


# The tokenizer.


class Tokens:
    """Something with a fingerprint."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint


def test_another_tokenizer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    KINDS["plain"].save(path)
    good, bad = KINDS["plain"].fingerprint, KINDS["frames"].fingerprint
    for same in (good, Tokens(good)):
        assert load(path, tokenizer=same).n_tokens == 15
    for other in (bad, Tokens(bad)):
        with pytest.raises(TableError, match=f"another tokenizer.*{good[:12]}.*{bad[:12]}"):
            load(path, tokenizer=other)


def test_a_tokenizer_file_is_read_as_it_was_for_the_table(tmp_path: Path) -> None:
    from constrain import compile as compile_table
    from constrain import read_vocabulary

    def save(name: str, letters: str) -> Path:
        vocab = {letter: number for number, letter in enumerate(letters)}
        added = [{"id": len(vocab), "content": "<eos>", "special": True}]
        model = {"type": "BPE", "vocab": vocab, "merges": []}
        file = tmp_path / name / "tokenizer.json"
        file.parent.mkdir()
        decoder = {"type": "ByteLevel"}
        file.write_text(json.dumps({"model": model, "added_tokens": added, "decoder": decoder}))
        return file

    mine, other = save("mine", "abc"), save("other", "abd")
    path = tmp_path / "table.npz"
    compile_table(regex="a+", tokenizer=mine, eos=[3], output=path, vocab_size=40, cache=False)
    for same in (mine, str(mine), mine.parent):
        assert load(path, tokenizer=same).n_tokens == 40
    assert load(path, tokenizer=read_vocabulary(mine, eos=[3], vocab_size=40, cache=False))
    with pytest.raises(TableError) as caught:
        load(path, tokenizer=other)
    shown = str(caught.value)
    assert "made for another tokenizer (40 tokens, end of text '<eos>' (3), fingerprint " in shown
    assert f"); {other} has 40 tokens, end of text '<eos>' (3); token 2 is b'c' in the" in shown
    assert (
        "table and b'd' there. Use the tokenizer that the table was made for, or compile" in shown
    )


def test_another_tokenizer_is_told_by_its_size_and_its_end(tmp_path: Path) -> None:
    from constrain import compile as compile_table
    from constrain.vocabulary import Vocabulary

    mine = Vocabulary.of([b"a", b"b", None], eos=[2])
    larger = Vocabulary.of([b"a", b"b", b"c", None], eos=[3])
    elsewhere = Vocabulary.of([b"a", b"b", None, None], eos=[3])
    path = tmp_path / "table.npz"
    compile_table(regex="a+", tokenizer=mine, output=path)
    for other, words in [
        (larger, "the given vocabulary has 4 tokens, end of text .*3.*Use the tokenizer"),
        (elsewhere, "the given vocabulary has 4 tokens, end of text"),
    ]:
        with pytest.raises(TableError, match=f"another tokenizer .3 tokens.*{words}"):
            load(path, tokenizer=other)
    with pytest.raises(TableError, match="cannot be compared with"):
        load(path, tokenizer=tmp_path)


# Proving a whole file.


def test_verify_finds_bits_that_are_wrong() -> None:
    for good in KINDS.values():
        assert verify(good, sample=None).n_checked >= 7
        for state, token in ((2, 0), (0, 1)):
            masks = good.masks.copy()
            masks[good.mask_row[state], 0] ^= 1 << token
            arrays = {key: getattr(good, key) for key in PLAIN_ARRAYS}
            bad = Table(**{**arrays, "masks": masks}, frames=good.frames)
            with pytest.raises(TableError, match=f"token {token}, "):
                verify(bad, sample=None)


def test_verify_finds_distances_that_are_wrong() -> None:
    good = KINDS["plain"]
    for state, value in ((5, 3), (0, 5), (0, 0)):
        distances = good.tokens_to_end.copy()
        distances[state] = value
        arrays = {key: getattr(good, key) for key in PLAIN_ARRAYS}
        with pytest.raises(TableError, match="tokens from an end"):
            verify(Table(**{**arrays, "tokens_to_end": distances}), sample=None)


def test_verify_finds_a_label_without_a_return_and_an_end_inside_a_frame() -> None:
    arrays = arrays_of("frames")
    arrays["call_return"][2, 1] = -1
    with pytest.raises(TableError, match="no return for label 1"):
        verify(parse(memoryview(by_numpy(arrays))))
    arrays = arrays_of("frames")
    arrays["accept"][8] = True
    arrays["masks"] = np.concatenate(
        [arrays["masks"], arrays["masks"][arrays["mask_row"][8]][None]]
    )
    end = int(arrays["eos"][0])
    arrays["masks"][-1, end >> 5] |= 1 << (end & 31)
    arrays["mask_row"][8] = len(arrays["masks"]) - 1
    with pytest.raises(TableError, match="inside a frame and accepts"):
        verify(parse(memoryview(by_numpy(arrays))))


def test_verify_compares_checksums_and_the_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    big = plain_table(note="x")
    arrays = {key: getattr(big, key) for key in PLAIN_ARRAYS}
    trans = np.concatenate([big.trans, np.full((200, 256), -1, np.int32)])
    arrays["masks"] = np.concatenate([big.masks, big.masks[:1] * 0])
    pad = {"accept": False, "mask_row": len(big.masks), "tokens_to_end": 2**31 - 1}
    for key, value in pad.items():
        arrays[key] = np.concatenate([arrays[key], np.full(200, value, arrays[key].dtype)])
    Table(**{**arrays, "trans": trans}).save(path)
    data = bytearray(path.read_bytes())
    assert verify_file(path, sample=7).n_states == 207
    spot = data.index(np.full(256, -1, np.int32).tobytes(), 7 * 1024)
    data[spot : spot + 4] = struct.pack("<i", 3)
    path.write_bytes(data)
    assert load(path).n_states == 207
    with pytest.raises(TableError, match="trans has another checksum"):
        verify_file(path)
    raw = json.dumps({"format": 1, "fingerprint": "0" * 64}).encode()
    with pytest.raises(TableError, match="fingerprint in meta"):
        verify(parse(memoryview(with_meta(raw))))

"""The cache: it saves time, is never believed without proof, and never fails."""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_tokenizers import document, write
from tokenizers_on_disk import need

from constrain import cache, vocabulary
from constrain.errors import VocabularyError
from constrain.trie import Outline, Trie
from constrain.vocabulary import Vocabulary

EOS = {"id": 5, "content": "<eos>", "special": True}
FIN = {"id": 6, "content": "<fin>", "special": True}
ADDED = [EOS, FIN, {"id": 7, "content": "<mark>", "special": False}]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache folder of this test, which does not exist yet."""
    place = tmp_path / "cache"
    monkeypatch.setenv("CONSTRAIN_CACHE", str(place))
    return place


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    return write(folder, document({"a": 0, "Ġb": 1, "ab": 2}, added=ADDED))


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows whenever a vocabulary is built rather than loaded."""
    calls: list[str] = []
    build = vocabulary.build_vocabulary

    def counted(files: Any, choices: Any, meter: Any) -> Vocabulary:
        calls.append(str(files.path))
        return build(files, choices, meter)

    monkeypatch.setattr(cache, "build_vocabulary", counted)
    return calls


def same(first: tuple[Vocabulary, Trie], second: tuple[Vocabulary, Trie]) -> bool:
    (one, trie), (two, other) = first, second
    arrays: list[tuple[Any, Any]] = [
        (one.token_bytes, two.token_bytes),
        (one.token_offsets, two.token_offsets),
        (trie.parent, other.parent),
        (trie.byte, other.byte),
        (trie.level_offsets, other.level_offsets),
        (trie.token_node, other.token_node),
        *(
            (getattr(trie.outline, field.name), getattr(other.outline, field.name))
            for field in fields(Outline)
        ),
    ]
    facts = ("eos", "left_out", "eos_origin", "drops_first_space", "source", "fingerprint")
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in arrays) and all(
        getattr(one, fact) == getattr(two, fact) for fact in facts
    )


def only_entry() -> Path:
    (entry,) = cache.entries()
    return entry.path


def test_the_second_time_nothing_is_built(home: Path, tokenizer: Path, builds: list[str]) -> None:
    built = cache.cached_vocabulary(tokenizer)
    loaded = cache.cached_vocabulary(tokenizer.parent)
    assert len(builds) == 1
    assert same(built, loaded)
    assert os.listdir(home) == [only_entry().name]
    assert cache.size() == only_entry().stat().st_size


def test_the_outline_of_the_trie_comes_with_it(
    home: Path, tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work_out(_: Trie) -> Outline:
        raise AssertionError("the outline was worked out again")

    built = cache.cached_vocabulary(tokenizer)[1].outline
    monkeypatch.setattr(Trie, "outline", property(work_out))
    loaded = vars(cache.cached_vocabulary(tokenizer)[1])["outline"]
    assert np.array_equal(loaded.below, built.below)


def test_a_real_tokenizer_comes_back_equal(home: Path, builds: list[str]) -> None:
    path = need("deepseek")
    assert same(cache.cached_vocabulary(path, eos=[1]), cache.cached_vocabulary(path, eos=[1]))
    assert len(builds) == 1


def test_without_cache_nothing_is_written(home: Path, tokenizer: Path) -> None:
    cache.cached_vocabulary(tokenizer, cache=False)
    assert not home.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"eos": ["<fin>"]},
        {"eos": [6]},
        {"vocab_size": 100},
        {"allow": ["<mark>"]},
        {"forbid": [0]},
        {"forbid": ["a"]},
    ],
)
def test_every_choice_has_its_own_entry(
    home: Path, tokenizer: Path, builds: list[str], options: Any
) -> None:
    plain = cache.cached_vocabulary(tokenizer)[0]
    other = cache.cached_vocabulary(tokenizer, **options)[0]
    assert plain.fingerprint != other.fingerprint
    assert cache.cached_vocabulary(tokenizer, **options)[0].fingerprint == other.fingerprint
    assert len(builds) == len(cache.entries()) == 2


def test_a_changed_file_has_its_own_entry(
    home: Path, tokenizer: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache.cached_vocabulary(tokenizer)[0].eos == (5,)
    write(tokenizer.parent, {"eos_token": "<fin>"}, "tokenizer_config.json")
    assert cache.cached_vocabulary(tokenizer)[0].eos == (6,)
    write(tokenizer.parent, document({"a": 0, "c": 1}, added=ADDED))
    assert cache.cached_vocabulary(tokenizer)[0].tokens[1] == b"c"
    monkeypatch.setattr(cache, "__version__", "another")
    cache.cached_vocabulary(tokenizer)
    assert len(builds) == 4


def test_errors_are_not_cached(home: Path, tokenizer: Path) -> None:
    for _ in range(2):
        with pytest.raises(VocabularyError, match="out of range"):
            cache.cached_vocabulary(tokenizer, eos=[99])
    assert cache.entries() == []


# Damage


def damage(change: Callable[[bytearray], None]) -> None:
    path = only_entry()
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)


def flip(place: int) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        content[place] ^= 1

    return change


def cut(place: int) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        del content[place:]

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(flip(place) for place in (0, 31, 32, 63, 64, 127, 128, 200, 1000, -1, -30)),
        bytearray.clear,
        cut(60),
        cut(-1),
        bytearray.reverse,
    ],
)
def test_a_damaged_entry_is_built_again(
    home: Path, tokenizer: Path, builds: list[str], change: Callable[[bytearray], None]
) -> None:
    good = cache.cached_vocabulary(tokenizer)
    damage(change)
    assert same(cache.cached_vocabulary(tokenizer), good)
    assert len(builds) == 2
    assert same(cache.cached_vocabulary(tokenizer), good)
    assert len(builds) == 2, "the damaged entry was replaced"


def test_an_entry_under_another_name_is_not_believed(
    home: Path, tokenizer: Path, builds: list[str]
) -> None:
    cache.cached_vocabulary(tokenizer, eos=["<fin>"])
    other = only_entry()
    cache.cached_vocabulary(tokenizer)
    path = next(entry.path for entry in cache.entries() if entry.path != other)
    path.write_bytes(other.read_bytes())
    assert cache.cached_vocabulary(tokenizer)[0].eos == (5,)
    assert len(builds) == 3


def lies() -> list[dict[str, Any]]:
    """Return changes to the arrays of an entry that its checksum does not betray."""
    return [
        {"token_node": np.full(8, 99, np.int32)},
        {"token_node": np.full(3, 0, np.int32)},
        {"parent": np.full(6, 5, np.int32)},
        {"byte": np.zeros(2, np.uint8)},
        {"byte": np.zeros(6, np.int64)},
        {"level_offsets": np.array([0, 9], np.int64)},
        {"level_offsets": np.array([0, 1, 1, 6], np.int64)},
        {"token_offsets": np.array([0, 5, 2, 5], np.int64)},
        {"token_offsets": np.zeros((2, 2), np.int64)},
        {"token_bytes": np.zeros(2, np.uint8)},
        {"first_child": np.full(6, 9, np.int32)},
        {"place": np.full(5, -1, np.int32)},
        {"below": np.zeros(5, np.int64)},
        {"tokens": np.zeros(2, np.int32)},
        {"tokens_before": np.full(6, 9, np.int32)},
        {"tail_length": np.ones(1, np.int64)},
        {"tails": np.zeros((0, 2), np.uint8)},
        {"about": np.frombuffer(b"{}", np.uint8)},
        {"about": np.frombuffer(b'{"eos": [800]}', np.uint8)},
        {"about": np.frombuffer(b"[", np.uint8)},
    ]


@pytest.mark.parametrize("change", lies(), ids=range(len(lies())))
def test_arrays_that_do_not_fit_together_are_not_believed(
    home: Path,
    tokenizer: Path,
    builds: list[str],
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
) -> None:
    arrays = cache._arrays
    with monkeypatch.context() as patched:
        patched.setattr(cache, "_arrays", lambda v, t: arrays(v, t) | change)
        good = cache.cached_vocabulary(tokenizer)
    assert same(cache.cached_vocabulary(tokenizer), good)
    assert len(builds) == 2


# Bounds


def test_the_entries_used_longest_ago_go_first(
    home: Path, tokenizer: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (100, 101, 102):
        cache.cached_vocabulary(tokenizer, vocab_size=width)
    sizes = [entry.n_bytes for entry in cache.entries()]
    paths = sorted(cache.entries(), key=lambda entry: entry.used)
    for age, entry in enumerate(paths):
        os.utime(entry.path, (1000 + age, 1000 + age))
    cache.cached_vocabulary(tokenizer, vocab_size=100)  # used again
    monkeypatch.setattr(cache, "MAX_BYTES", sum(sizes) + 64)
    cache.cached_vocabulary(tokenizer, vocab_size=103)
    assert cache.size() <= sum(sizes) + 64
    assert len(cache.entries()) == 3
    before = len(builds)
    cache.cached_vocabulary(tokenizer, vocab_size=100)
    assert len(builds) == before, "the one used again is still there"
    cache.cached_vocabulary(tokenizer, vocab_size=101)
    assert len(builds) == before + 1, "the oldest went"


def test_an_entry_larger_than_the_bound_is_not_kept(
    home: Path, tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MAX_BYTES", 100)
    cache.cached_vocabulary(tokenizer)
    assert cache.entries() == []


def test_clear(home: Path, tokenizer: Path) -> None:
    assert cache.clear() == 0, "also where there is no folder"
    cache.cached_vocabulary(tokenizer)
    cache.cached_vocabulary(tokenizer, vocab_size=100)
    (home / ".writing-left-by-a-killed-writer").write_bytes(b"x")
    (home / "notes.txt").write_text("not ours to remove")
    assert cache.clear() == 2
    assert (cache.entries(), cache.size()) == ([], 0)
    assert os.listdir(home) == ["notes.txt"]


def test_what_killed_writers_left_goes_after_an_hour(home: Path, tokenizer: Path) -> None:
    home.mkdir()
    old, new = home / ".writing-old", home / ".writing-new"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (1000, 1000))
    cache.cached_vocabulary(tokenizer)
    assert (old.exists(), new.exists()) == (False, True)


# Folders that cannot be used, and links


def test_a_folder_that_cannot_be_made(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "cache", Path("/proc/nowhere")):
        monkeypatch.setenv("CONSTRAIN_CACHE", str(place))
        assert cache.cached_vocabulary(tokenizer)[0].eos == (5,)
        assert (cache.entries(), cache.clear()) == ([], 0)
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.skipif(os.name == "posix" and os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_writable(home: Path, tokenizer: Path) -> None:
    home.mkdir(mode=0o500)
    assert cache.cached_vocabulary(tokenizer)[0].eos == (5,)
    assert os.listdir(home) == []


@pytest.mark.parametrize("step", ["mkstemp", "replace"])
def test_a_full_disk(
    home: Path, tokenizer: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile if step == "mkstemp" else os, step, full)
    assert cache.cached_vocabulary(tokenizer)[0].eos == (5,)
    assert os.listdir(home) == [], "no temporary file stays"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_are_not_followed(home: Path, tokenizer: Path, tmp_path: Path) -> None:
    good = cache.cached_vocabulary(tokenizer)
    entry = only_entry()
    target = tmp_path / "target"
    entry.replace(target)
    content = target.read_bytes()
    entry.symlink_to(target)
    assert cache.entries() == []
    assert same(cache.cached_vocabulary(tokenizer), good)
    assert not entry.is_symlink(), "the link itself was replaced"
    assert target.read_bytes() == content


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_in_the_place_of_an_entry(home: Path, tokenizer: Path) -> None:
    good = cache.cached_vocabulary(tokenizer)
    entry = only_entry()
    entry.unlink()
    os.mkfifo(entry)
    assert same(cache.cached_vocabulary(tokenizer), good)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_folder_that_is_a_link_is_not_used(home: Path, tokenizer: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    home.symlink_to(elsewhere)
    cache.cached_vocabulary(tokenizer)
    assert os.listdir(elsewhere) == []


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_a_folder_of_someone_else_is_not_used(
    home: Path, tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: home.stat().st_uid + 1)
    cache.cached_vocabulary(tokenizer)
    assert os.listdir(home) == []


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path / "mine"))
    assert cache.folder() == tmp_path / "mine"
    monkeypatch.delenv("CONSTRAIN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "constrain"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.folder().is_absolute()
    assert cache.folder().name == "constrain"


# Many at once


def _use(path: str, widths: list[int]) -> list[str]:
    return [cache.cached_vocabulary(path, vocab_size=w)[0].fingerprint for w in widths]


def test_many_processes_at_once(home: Path, tokenizer: Path) -> None:
    widths = [100 + n % 3 for n in range(30)]
    expected = _use(str(tokenizer), widths)
    cache.clear()
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        results = pool.starmap(_use, [(str(tokenizer), widths)] * 3)
    assert results == [expected] * 3
    assert len(os.listdir(home)) == 3

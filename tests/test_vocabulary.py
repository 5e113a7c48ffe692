"""The vocabulary: which tokens are allowed, which are left out and why, and its width."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_tokenizers import BYTE_LEVEL, METASPACE, document, write
from tokenizers import Tokenizer, decoders, models
from tokenizers_on_disk import READABLE, need

from constrain import compile
from constrain import vocabulary as vocabulary_module
from constrain.errors import VocabularyError
from constrain.marks import is_control_mark
from constrain.pipeline import longest_runs
from constrain.spelling import BYTE_OF_LETTER
from constrain.syntax import ByteSet
from constrain.trie import Trie, build_trie
from constrain.vocabulary import REASONS, Vocabulary, read_vocabulary, vocab_bytes

EOS = {"id": 9, "content": "<eos>", "special": True}


def read(
    folder: Path, vocab: Any, *added: Any, decoder: Any = "ByteLevel", **options: Any
) -> Vocabulary:
    tokens = [{"id": n, "content": text, "special": special} for n, text, special in added]
    model = options.pop("model", {})
    write(folder, document(vocab, decoder, [*tokens, EOS], **model))
    return read_vocabulary(folder, cache=False, **options)


def left_out(vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        reason: [number for number, _ in facts["tokens"]]
        for reason, facts in vocabulary.left_out.items()
    }


# Which tokens are allowed


def test_special_tokens_and_holes_have_no_bytes(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, {"a": 0, "Ġb": 3}, (2, "<s>", True))
    assert vocabulary.tokens == [b"a", None, None, b" b", None, None, None, None, None, None]
    assert (vocabulary.n_tokens, vocabulary.eos) == (10, (9,))
    assert left_out(vocabulary) == {"eos": [9], "special": [2]}


def test_added_tokens_that_are_plain_text_are_allowed(tmp_path: Path) -> None:
    added = [(1, "  ", False), (2, "</td>", False), (3, "new word", False), (4, "\n\n", False)]
    vocabulary = read(tmp_path, {"a": 0}, *added)
    assert vocabulary.tokens[1:5] == [b"  ", b"</td>", b"new word", b"\n\n"]


def test_control_marks_are_left_out_and_counted(tmp_path: Path) -> None:
    added = [(1, "<tool_call>", False), (2, "<|x|>", False), (3, "<｜y｜>", False)]
    vocabulary = read(tmp_path, {"a": 0}, *added)
    assert vocabulary.tokens[1:4] == [None] * 3
    assert vocabulary.left_out["control"] == {
        "count": 3,
        "tokens": [[1, "<tool_call>"], [2, "<|x|>"], [3, "<｜y｜>"]],
    }
    assert set(vocabulary.left_out) <= set(REASONS)


def test_an_added_token_whose_reading_and_writing_disagree(tmp_path: Path) -> None:
    """It is read as 6C C3 96; the reference decoder takes ``Ö`` for the byte D6."""
    vocabulary = read(tmp_path, {"l": 0}, (4, "lÖ", False), (5, "õ", False), (6, "ok", False))
    assert vocabulary.tokens[4:7] == [None, None, b"ok"]
    assert left_out(vocabulary)["disagree"] == [4, 5]
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    number = tokenizer.token_to_id("lÖ") or 0
    assert tokenizer.encode("lÖ").ids == [number]
    assert tokenizer.decode([number]) != "lÖ", "if they agree some day, allow such tokens"


def test_added_tokens_of_a_byte_fallback_tokenizer(tmp_path: Path) -> None:
    """A space is written as its mark (Gemma's runs of spaces); ``<0x41>`` is read as six bytes."""
    added = [(2, "▁▁", False), (3, "<0x41>", False)]
    vocabulary = read(tmp_path, {"a": 0}, *added, decoder="Metaspace+ByteFallback")
    assert vocabulary.tokens[2:4] == [b"  ", None]
    assert left_out(vocabulary)["disagree"] == [3]


def test_a_token_of_the_model_may_be_added_too(tmp_path: Path) -> None:
    """Then it is what the model's merges write: GPT-NeoX and others list runs of spaces so."""
    vocabulary = read(tmp_path, {"a": 0, "ĠĠ": 1}, (1, "ĠĠ", False))
    assert vocabulary.tokens[1] == b"  "


def test_byte_tokens_that_decoding_writes_as_text(tmp_path: Path) -> None:
    options: dict[str, Any] = {"decoder": METASPACE, "model": {"byte_fallback": True}}
    vocabulary = read(tmp_path, {"a": 0, "<0x41>": 1}, **options)
    assert left_out(vocabulary)["disagree"] == [1]
    vocabulary = read(tmp_path, {"a": 0, "<0x41>": 1}, decoder=METASPACE)
    assert vocabulary.tokens[1] == b"<0x41>", "here the model does not mean a byte"


def test_the_unknown_token_is_left_out(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, {"a": 0, "<unk>": 1}, model={"unk_token": "<unk>"})
    assert left_out(vocabulary) == {"eos": [9], "unknown": [1]}


@pytest.mark.parametrize(
    ("added", "ambiguous"),
    [
        ([(0, "x", False)], [0]),
        ([(5, "x", False), (5, "y", False)], [5]),
        ([(5, "a", False)], [0, 5]),
        ([(5, "x", False), (6, "x", False)], [5, 6]),
    ],
)
def test_ids_with_two_texts_and_texts_with_two_ids(
    added: Any, ambiguous: list[int], tmp_path: Path
) -> None:
    assert left_out(read(tmp_path, {"a": 0, "b": 1}, *added))["ambiguous"] == ambiguous


def test_duplicate_spellings_all_stay(tmp_path: Path) -> None:
    tokens = {"a": 0, "<0x61>": 1, "▁": 2, "<0x20>": 3, "<0xE9>": 4}
    vocabulary = read(tmp_path, tokens, decoder="Metaspace+ByteFallback")
    assert vocabulary.tokens[:5] == [b"a", b"a", b" ", b" ", b"\xe9"]


def test_empty_tokens_are_never_allowed(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, {"": 0, "a": 1})
    assert vocabulary.tokens[:2] == [None, b"a"]
    assert left_out(vocabulary)["empty"] == [0]


def test_an_end_that_is_not_special_spells_nothing(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, {"a": 0, "Ċ": 1}, eos=["Ċ", 9])
    assert (vocabulary.eos, vocabulary.tokens[1]) == ((1, 9), None)


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("<tool_call>", True),
        ("</tool_call>", True),
        ("<think>", True),
        ("<|fim_prefix|>", True),
        ("<｜User｜>", True),
        ("｜DSML｜", True),
        ("<｜/td｜>", True),
        ("<dsml:", True),
        ("</dsml:", True),
        ("<unused6241>", True),
        ("<mask>", True),
        ("<0>", True),
        ("[multimodal]", True),
        ("[/INST]", True),
        ("[e~[", True),
        ("]~b]", True),
        (" <tool_call> ", True),
        ("<img src=x>", True),
        ("<output>", True),
        ("<" + "[" * 100_000 + "x", True),
        ("<table>", False),
        ("</h6>", False),
        ("<BR />", False),
        ("  \n\t", False),
        ("", False),
        ("▁▁", False),
        ("new word", False),
        ("<", False),
        ("<=", False),
        ("[0]", False),
        ("[]", False),
        ("[" + "a" * 100_000, False),
        ("a[b]", False),
        ("x < y", False),
    ],
)
def test_the_rule_for_control_marks(text: str, control: bool) -> None:
    assert is_control_mark(text) is control


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("example", {"eos": 1, "special": 2}),
        ("deepseek", {"eos": 1, "special": 1229, "control": 53}),
        ("mon", {"eos": 1, "special": 3}),
        ("nepali_unigram", {"eos": 1, "special": 6}),
        ("llama3_1", {"eos": 1, "special": 255}),
        ("gemma3", {"eos": 1, "special": 8, "control": 6246}),
        ("qwen3", {"eos": 1, "special": 13, "control": 12}),
        ("llama2", {"eos": 1, "special": 2}),
        ("gptoss", {"eos": 1, "special": 20}),
    ],
)
def test_what_real_tokenizers_leave_out(name: str, counts: dict[str, int]) -> None:
    ends: Any = {"deepseek": [1], "mon": ["</s>"], "nepali_unigram": ["</s>"]}
    vocabulary = read_vocabulary(need(name), eos=ends.get(name, ()), cache=False)
    assert {reason: facts["count"] for reason, facts in vocabulary.left_out.items()} == counts


def test_html_and_white_space_of_gemma_are_text() -> None:
    words = set(read_vocabulary(need("gemma3"), cache=False).tokens)
    assert {b"</td>", b"<h1>", b"\n" * 31, b" " * 31, b"\t" * 31, b"</s>"} <= words


# Choices of the caller


def test_allow_and_forbid_by_text_and_id(tmp_path: Path) -> None:
    added = [(1, "<tool_call>", False), (2, "</tool_call>", False), (3, "word", False)]
    vocabulary = read(tmp_path, {"a": 0, "b": 4}, *added, allow=["<tool_call>", 2], forbid=[3, "b"])
    assert vocabulary.tokens[:5] == [b"a", b"<tool_call>", b"</tool_call>", None, None]
    assert left_out(vocabulary)["forbidden"] == [3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allow": [1]}, "allow: the token with id 1 cannot be text: special"),
        ({"allow": ["lÖ"]}, "cannot be text: decoding writes other bytes"),
        ({"allow": [9]}, "cannot be text: ends the text"),
        ({"allow": [0], "forbid": [0]}, "cannot be text: forbidden"),
        ({"forbid": ["<eos>"]}, "forbid: the token with id 9 ends the text"),
        ({"allow": [77]}, "allow: the id 77 is out of range"),
        ({"forbid": ["zzz"]}, "forbid: no token is spelled 'zzz'"),
        ({"forbid": [None]}, "an id or a token text is needed"),
        ({"vocab_size": 0}, "vocab_size must be from 1"),
        ({"vocab_size": 1 << 40}, "vocab_size must be from 1"),
        ({"vocab_size": True}, "vocab_size must be from 1"),
        ({"vocab_size": "9"}, "vocab_size must be from 1"),
        ({"vocab_size": 9}, "too small: the token with id 9 is in use, so at least 10"),
    ],
)
def test_choices_that_cannot_hold(options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=message):
        read(tmp_path, {"a": 0}, (1, "<s>", True), (2, "lÖ", False), **options)


def test_the_width_follows_the_logits(tmp_path: Path) -> None:
    wide = read(tmp_path, {"a": 0}, vocab_size=64)
    assert (wide.n_tokens, wide.tokens[10:]) == (64, [None] * 54)
    narrow = read(tmp_path, {"a": 0}, (20, "<image>", True), vocab_size=10)
    assert narrow.n_tokens == 10, "ids that are never allowed may be cut off"
    assert read(tmp_path, {"a": 0}, (20, "<image>", True)).n_tokens == 21


# The data


def test_of_a_list() -> None:
    vocabulary = Vocabulary.of([b"a", None, b"", b"\x00b", b"end"], eos=[4, 1, 4])
    assert vocabulary.tokens == [b"a", None, None, b"\x00b", None]
    assert (vocabulary.eos, vocabulary.n_tokens) == ((1, 4), 5)
    assert vocabulary.token_bytes.tobytes() == b"a\x00b"
    assert vocabulary.token_offsets.tolist() == [0, 1, 1, 1, 3, 3]
    assert [vocabulary.token_bytes.dtype.name, vocabulary.token_offsets.dtype.name] == [
        "uint8",
        "int64",
    ]


@pytest.mark.parametrize(
    ("tokens", "eos", "message"),
    [
        ([b"a"], [1], "not an id of the 1 tokens"),
        ([b"a"], [-1], "not an id"),
        (["a"], [], "bytes or None"),
    ],
)
def test_of_a_wrong_list(tokens: Any, eos: Any, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.of(tokens, eos)


def test_missing_bytes(tmp_path: Path) -> None:
    everything = Vocabulary.of([bytes([n]) for n in range(256)])
    assert everything.missing_bytes == b""
    some = Vocabulary.of([b"a", b"bc", None, bytes([0])], eos=[0])
    assert some.missing_bytes == bytes(range(1, 256))
    assert Vocabulary.of([]).missing_bytes == bytes(range(256))


@pytest.mark.parametrize(
    ("name", "n_missing"), [("example", 0), ("deepseek", 0), ("mon", 0), ("nepali_unigram", 128)]
)
def test_missing_bytes_of_real_tokenizers(name: str, n_missing: int) -> None:
    assert len(read_vocabulary(need(name), eos=[1], cache=False).missing_bytes) == n_missing


def test_the_fingerprint_depends_on_bytes_width_and_ends() -> None:
    def fingerprint(tokens: list[bytes | None], *eos: int) -> str:
        return Vocabulary.of(tokens, eos).fingerprint

    base = fingerprint([b"a", b"bc", None], 2)
    assert base == fingerprint([b"a", b"bc", b"whatever"], 2)
    others = [
        fingerprint([b"a", b"bc", None]),
        fingerprint([b"a", b"bd", None], 2),
        fingerprint([b"ab", b"c", None], 2),
        fingerprint([b"a", b"bc", None, None], 2),
        fingerprint([b"bc", b"a", None], 2),
    ]
    assert len({base, *others}) == 6


def test_ids_need_not_be_in_order(tmp_path: Path) -> None:
    rng = random.Random(3)
    ids = rng.sample(range(400), 200)
    tokens = {f"t{number}" + "x" * rng.randrange(5): number for number in ids}
    vocabulary = read(tmp_path, {t: n for t, n in tokens.items() if n != 9})
    expected: list[bytes | None] = [None] * vocabulary.n_tokens
    for token, number in tokens.items():
        if number != 9:
            expected[number] = token.encode()
    assert vocabulary.tokens == expected


# vocab_bytes


def test_vocab_bytes_undoes_the_byte_map() -> None:
    assert vocab_bytes(BYTE_OF_LETTER) == [bytes([byte]) for byte in range(256)]


TOKENS: dict[str, int] = {"Ġcat": 0, "日": 1, "new word": 2, "<eos>": 4, "##s": 5}
BYTES = [b" cat", "日".encode(), b"new word", None, None, b"##s"]


@pytest.mark.parametrize(
    "tok",
    [
        SimpleNamespace(vocab=TOKENS, special_tokens=["<eos>"]),
        SimpleNamespace(vocab=TOKENS, special_tokens={"<eos>": 4}),
        SimpleNamespace(vocab=TOKENS, specials={4: "<eos>"}),
        SimpleNamespace(vocab=TOKENS, special_tokens={"eos_token": "<eos>"}),
        SimpleNamespace(vocab={n: t for t, n in TOKENS.items()}, all_special_ids=[4]),
        SimpleNamespace(get_vocab=lambda: TOKENS, all_special_tokens=("<eos>",)),
        SimpleNamespace(token_to_id=TOKENS, special_ids={4}),
        SimpleNamespace(
            id_to_token={n: t for t, n in TOKENS.items()}.get, vocab_size=6, special_ids=[4]
        ),
        SimpleNamespace(
            id_to_token={n: t for t, n in TOKENS.items()}.get,
            get_vocab_size=lambda: 6,
            specials=["<eos>", ["no", "name"]],
        ),
        SimpleNamespace(vocab=["Ġcat", "日", "new word", None, "<eos>", "##s"], specials=["<eos>"]),
        SimpleNamespace(
            vocab=[b" cat", "日".encode(), b"new word", None, b"<eos>", b"##s"], specials=[b"<eos>"]
        ),
    ],
)
def test_vocab_bytes_of_plain_objects(tok: object) -> None:
    assert vocab_bytes(tok) == BYTES


def test_vocab_bytes_of_a_tokenizer(tmp_path: Path) -> None:
    content = document(
        {"a": 0, "Ġb": 1, "é日": 2}, added=[{"id": 3, "content": "<eos>", "special": True}]
    )
    path = write(tmp_path, content)
    expected = [b"a", b" b", "é日".encode(), None]
    tokenizer = Tokenizer.from_file(str(path))
    assert vocab_bytes(tokenizer) == expected
    assert vocab_bytes(path) == vocab_bytes(str(tmp_path)) == expected
    assert vocab_bytes(SimpleNamespace(backend_tokenizer=tokenizer)) == expected


def test_vocab_bytes_of_word_pieces_are_their_utf8() -> None:
    pieces = {"[UNK]": 0, "##ing": 1, "日": 2}
    tokenizer = Tokenizer(models.WordPiece(vocab=pieces, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["[UNK]"])
    assert vocab_bytes(tokenizer)[1:] == [b"##ing", "日".encode()]
    tokenizer.decoder = decoders.WordPiece()
    assert vocab_bytes(tokenizer)[1:] == [b"##ing", "日".encode()]


@pytest.mark.parametrize("name", READABLE)
def test_vocab_bytes_agrees_with_read_vocabulary(name: str) -> None:
    path = need(name)
    vocabulary = read_vocabulary(path, eos=[1 if name == "deepseek" else 2], cache=False)
    ends = set(vocabulary.eos)
    expected = [word for n, word in enumerate(vocabulary.tokens) if n not in ends]
    assert [word for n, word in enumerate(vocab_bytes(path)) if n not in ends] == expected


@pytest.mark.parametrize(
    "tok",
    [
        object(),
        7,
        SimpleNamespace(vocab={"a": "b"}),
        SimpleNamespace(vocab={"a": -1}),
        SimpleNamespace(vocab={"a": 1 << 50}),
        SimpleNamespace(vocab={"\ud800": 0}),
    ],
)
def test_vocab_bytes_of_other_things(tok: object) -> None:
    with pytest.raises(VocabularyError):
        vocab_bytes(tok)


def test_a_token_longer_than_any_real_one_is_left_out(tmp_path: Path) -> None:
    vocab = {"a": 0, "Ġ" * 4096: 3, "Ġ" * 4097: 4, "Ġ" * 1_000_000: 5}
    vocabulary = read(tmp_path, vocab, (1, "[" + "a" * 1_000_000, False), decoder=BYTE_LEVEL)
    assert vocabulary.tokens[3] == b" " * 4096
    assert left_out(vocabulary)["long"] == [1, 4, 5]


def test_more_token_bytes_than_any_real_vocabulary(tmp_path: Path) -> None:
    vocab = {"a" * (1 << 20) + str(n): n + 10 for n in range(65)}
    with pytest.raises(VocabularyError, match="bytes together"):
        read(tmp_path, vocab)


def test_the_trie_of_a_vocabulary_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Trie] = []

    def counted(*arrays: Any) -> Trie:
        built.append(build_trie(*arrays))
        return built[-1]

    monkeypatch.setattr(vocabulary_module, "build_trie", counted)
    vocabulary = Vocabulary.of([b"a", b"b", b"ab", None], eos=[3])
    for pattern in ("a*", "ab?"):
        compile(regex=pattern, tokenizer=vocabulary)
    assert built == [vocabulary.trie]


def test_the_longest_run_of_a_token() -> None:
    generator = random.Random(7)
    for _ in range(300):
        lengths = [generator.choice((0, 1, 1, 2, 3, 7, 20)) for _ in range(generator.randrange(9))]
        tokens = [bytes(generator.choices(b"abcd", k=length)) for length in lengths]
        members = bytes(generator.choices(b"abcd", k=generator.randrange(3)))
        expected = max((sum(byte in members for byte in token) for token in tokens), default=0)
        assert longest_runs(Vocabulary.of(tokens))(ByteSet.of(members).bits) == expected

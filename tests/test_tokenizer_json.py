"""Token bytes are what ``tokenizers`` decodes, and no file whatsoever ends in another error."""

import gc
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tokenizers import (
    BYTE_LEVEL,
    DECODERS,
    FALLBACK,
    FUSE,
    METASPACE,
    REPLACE,
    STRIP,
    document,
    write,
)
from tokenizers import Tokenizer
from tokenizers_on_disk import OPTIONAL, READABLE, need

from constrain.errors import LimitError, VocabularyError
from constrain.limits import Limits, Meter
from constrain.spelling import BYTE_OF_LETTER, read_decoder, spell
from constrain.tokenizer_json import MAX_WIDTH, locate, parse_json, parse_tokenizer
from constrain.vocabulary import read_vocabulary

TEXT = 'naïve {"city":"Zürich","days":3}\n\t日本 😨 </td> a  b   c'


def parsed(content: object) -> Any:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return parse_tokenizer(text, Meter())


def sequence(*decoders: object) -> dict[str, object]:
    return {"type": "Sequence", "decoders": list(decoders)}


# What decoding writes


def decoded(tokenizer: Any, numbers: list[int]) -> Any:
    """Decode each token between two ``a``, where no rule about starts and ends applies."""
    a = tokenizer.token_to_id("a")
    return tokenizer.decode_batch([[a, n, a] for n in numbers], skip_special_tokens=False)


def is_text(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("name", [*READABLE, *OPTIONAL])
def test_real_tokens_are_what_tokenizers_decodes(name: str) -> None:
    """Every token that is whole UTF-8 (of the optional tokenizers every fourth), added ones too."""
    path = need(name)
    file = parsed(path.read_bytes())
    tokens = dict(zip(file.ids, file.tokens, strict=True)) | {t.id: t.text for t in file.added}
    words = dict(zip(tokens, spell(list(tokens.values()), file.decoder).words(), strict=True))
    whole = [n for n, word in words.items() if is_text(word)]
    assert len(whole) > 0.97 * len(words)
    whole = whole[:: 1 if name in READABLE else 4]
    tokenizer = Tokenizer.from_file(str(path))
    got = decoded(tokenizer, whole)
    wrong = {
        n: (text, words[n])
        for n, text in zip(whole, got, strict=True)
        if text.encode() != b"a" + words[n] + b"a"
    }
    assert wrong == {}


@pytest.mark.parametrize("name", ["example", "deepseek", "mon", *OPTIONAL])
def test_the_bytes_of_an_encoded_text_are_the_text(name: str) -> None:
    """Also for tokens that are parts of characters; SentencePiece puts one space in front."""
    path = need(name)
    vocabulary = read_vocabulary(path, cache=False)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    ids = tokenizer.encode(TEXT, add_special_tokens=False).ids
    text = b"".join(vocabulary.tokens[n] or b"?" for n in ids)
    assert text == b" " * vocabulary.drops_first_space + TEXT.encode()


SMALL = [
    "a",
    "b",
    "▁",
    "▁a▁",
    "  a ",
    "<0x41>",
    "<0x4a>",
    "<0x+A>",
    "<0x 1>",
    "<0x4>",
    "Ġ",
    "é",
    "_",
]


@pytest.mark.parametrize(
    "decoder",
    [
        BYTE_LEVEL,
        FUSE,
        FALLBACK,
        REPLACE,
        METASPACE,
        METASPACE | {"prepend_scheme": "never"},
        METASPACE | {"replacement": "_"},
        STRIP | {"start": 2, "stop": 2},
        DECODERS["Metaspace+ByteFallback"],
        sequence(FALLBACK, FUSE, REPLACE, STRIP),
        sequence(FALLBACK, REPLACE, FUSE),
        sequence(METASPACE, FALLBACK, FUSE),
        sequence(sequence(sequence(REPLACE), FALLBACK), sequence(FUSE)),
        sequence(REPLACE | {"content": "Ġ"}, BYTE_LEVEL),
        sequence({"type": "Replace", "pattern": {"String": "a▁"}, "content": "A"}, FUSE),
        sequence(FALLBACK, FUSE, {"type": "Replace", "pattern": {"String": "A"}, "content": "xx"}),
        sequence(),
    ],
    ids=lambda decoder: json.dumps(decoder)[:60],
)
def test_decoders_agree_with_the_reference(decoder: dict[str, object]) -> None:
    content = document({token: n for n, token in enumerate(SMALL)}, decoder)
    tokenizer = Tokenizer.from_str(json.dumps(content))
    words = spell(SMALL, read_decoder(decoder)).words()
    outer = words[0].decode()
    numbers = [n for n, word in enumerate(words) if is_text(word)]
    assert len(numbers) >= len(SMALL) - 1
    got = dict(zip(numbers, decoded(tokenizer, numbers), strict=True))
    assert got == {n: outer + words[n].decode() + outer for n in numbers}


def test_the_byte_alphabet() -> None:
    assert len(BYTE_OF_LETTER) == 256
    assert sorted(BYTE_OF_LETTER.values()) == list(range(256))
    assert [BYTE_OF_LETTER[c] for c in "Ġ!Ċĉ"] == [32, 33, 10, 9]


def test_a_token_is_mapped_only_if_all_its_letters_are() -> None:
    """``new word`` holds a blank, which is no letter; ``é`` alone is the byte E9."""
    decoder = read_decoder(BYTE_LEVEL)
    tokens = ["Ġa", "new word", "é", "日", "", "éé日", "ĊĊ"]
    assert spell(tokens, decoder).words() == [
        b" a",
        b"new word",
        b"\xe9",
        "日".encode(),
        b"",
        "éé日".encode(),
        b"\n\n",
    ]


@pytest.mark.parametrize(
    ("decoder", "drops"),
    [
        (BYTE_LEVEL, False),
        (METASPACE, True),
        (METASPACE | {"prepend_scheme": "never"}, False),
        ({"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}, False),
        ({"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}, True),
        (sequence(REPLACE, FUSE), False),
        (sequence(REPLACE, FUSE, STRIP), True),
    ],
)
def test_first_space(decoder: object, drops: bool) -> None:
    assert read_decoder(decoder).drops_first_space is drops


@pytest.mark.parametrize(
    ("decoder", "message"),
    [
        (None, "no decoder.*space between any two tokens"),
        ({"type": "WordPiece", "prefix": "##", "cleanup": True}, "WordPiece decides about spaces"),
        ({"type": "BPEDecoder", "suffix": "</w>"}, "BPEDecoder drops the space"),
        ({"type": "CTC", "pad_token": "", "cleanup": True}, "CTC drops repeated tokens"),
        ({"type": "Novel"}, "'Novel' is not a known type"),
        ({}, "must be an object with a type"),
        ("ByteLevel", "must be an object with a type"),
        ({"type": ["ByteLevel"]}, "must be an object with a type"),
        (sequence("Fuse"), "must be an object with a type"),
        ({"type": "Sequence"}, "must be a list"),
        (sequence(FUSE, FALLBACK), "ByteFallback after Fuse"),
        (sequence(FALLBACK, BYTE_LEVEL), "ByteLevel after Fuse, ByteFallback"),
        (sequence(BYTE_LEVEL, REPLACE), "Replace after ByteLevel"),
        (sequence(FUSE, STRIP | {"stop": 1}), "cuts the end of the text"),
        (sequence(FALLBACK, STRIP), "between ByteFallback and Fuse"),
        (STRIP | {"content": "  "}, "not one character"),
        (STRIP | {"start": True}, "start of Strip must be a count"),
        (STRIP | {"stop": -1}, "stop of Strip must be a count"),
        (REPLACE | {"pattern": {"Regex": "x+"}}, "only a Replace of one non-empty String"),
        (REPLACE | {"pattern": {"String": ""}}, "only a Replace of one non-empty String"),
        (REPLACE | {"content": None}, "only a Replace of one non-empty String"),
        (REPLACE | {"pattern": {"String": "\ud800"}}, "lone surrogate"),
        (sequence(FUSE, REPLACE | {"pattern": {"String": "ab"}}), "can match across tokens"),
        (METASPACE | {"replacement": ""}, "not a mark"),
    ],
)
def test_decoders_that_give_tokens_no_bytes_of_their_own(decoder: object, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        read_decoder(decoder)


# Shapes of files


def test_a_list_of_tokens_and_scores() -> None:
    file = parsed(document([["<unk>", 0], ["▁", -1.5], ["x", -2]], METASPACE, unk_id=0))
    assert (file.tokens, file.ids, file.unknown) == (["<unk>", "▁", "x"], [0, 1, 2], "<unk>")


def test_a_listed_token_may_stand_twice() -> None:
    file = parsed(document([["x", 0], ["y", 0], ["x", 0]], METASPACE))
    assert (file.ids_of("x"), file.ids_of("y"), file.ids_of("z")) == ([0, 2], [1], [])


def test_the_type_of_the_model_may_be_missing() -> None:
    content = document({"a": 0, "b": 4})
    del content["model"]["type"]
    assert parsed(content).ids == [0, 4]


def test_repeated_added_tokens_are_one() -> None:
    entry = {"id": 7, "content": "<eos>", "special": True}
    assert len(parsed(document({"a": 0}, added=[entry, entry])).added) == 1


@pytest.mark.parametrize("name", ["nepali_wordpiece"])
def test_word_pieces_are_refused(name: str) -> None:
    with pytest.raises(VocabularyError, match=r"WordPiece.*use a model with a byte-level BPE"):
        parsed(need(name).read_bytes())


# Strangers' files


def broken(**changes: Any) -> bytes:
    """Return a tokenizer.json with members of the top level or (m_...) of the model changed."""
    content = document({"a": 0, "b": 1}, added=[{"id": 2, "content": "<eos>", "special": True}])
    for key, value in changes.items():
        place = content["model"] if key.startswith("m_") else content
        place[key.removeprefix("m_")] = value
    return json.dumps(content).encode()


HOSTILE = [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"\xff\xfe{}", "not UTF-8"),
    (b"[]", "a JSON object is needed, not an array"),
    (b"null", "a JSON object is needed, not null"),
    (b"{}", "model must be an object, not null"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"a":' * 100_000, "nested too deeply"),
    (b'{"model": {}, "model": {}}', "the key 'model' stands twice"),
    (b'{"model": {"vocab": {"a": 0, "b": 1, "a": 2}}}', "the key 'a' stands twice"),
    (b'{"x": NaN}', "NaN is not a JSON number"),
    (b'{"x": -Infinity}', "-Infinity is not a JSON number"),
    (b'{"model": {"vocab": {"a": ' + b"9" * 5000 + b"}}}", "not JSON"),
    (broken(model=[]), "model must be an object, not an array"),
    (broken(m_vocab=None), "model.vocab must be an object or an array, not null"),
    (broken(m_vocab={"a": -1}), "model.vocab: id -1 is not from 0"),
    (broken(m_vocab={"a": MAX_WIDTH}), f"model.vocab: id {MAX_WIDTH} is not from 0"),
    (broken(m_vocab={"a": 10**40}), "is not from 0"),
    (broken(m_vocab={"a": 0.0}), "an id must be an integer, not 0.0"),
    (broken(m_vocab={"a": True}), "an id must be an integer, not True"),
    (broken(m_vocab={"a": None}), "an id must be an integer, not None"),
    (broken(m_vocab={"a": [0]}), "an id must be an integer"),
    (broken(m_vocab={"a": 1, "b": 0, "c": 1}), "'a' and 'c' have the same id 1"),
    (broken(m_vocab={"a": 0, "\ud800": 1}), "lone surrogate"),
    (broken(m_vocab=[["a", 0], "b"]), r"model.vocab\[1\] must be \[token, score\]"),
    (broken(m_vocab=[["a"]]), r"model.vocab\[0\] must be \[token, score\]"),
    (broken(m_vocab=[[0, "a"]]), r"model.vocab\[0\] must be \[token, score\]"),
    (broken(m_type="WordPiece"), "WordPiece"),
    (broken(m_type=None, m_max_input_chars_per_word=100), "WordPiece"),
    (broken(m_type={"x": 1}), "is not BPE, Unigram or WordLevel"),
    (broken(m_continuing_subword_prefix="##"), "model.continuing_subword_prefix is '##'"),
    (broken(m_end_of_word_suffix="</w>"), "model.end_of_word_suffix is '</w>'"),
    (broken(added_tokens={}), "added_tokens must be an array, not an object"),
    (broken(added_tokens=["x"]), r"added_tokens\[0\] must be an object, not a string"),
    (broken(added_tokens=[{"id": 0}]), r"added_tokens\[0\]: content must be a string, not null"),
    (broken(added_tokens=[{"content": "x"}]), "an id must be an integer, not None"),
    (broken(added_tokens=[{"id": -7, "content": "x"}]), "id -7 is not from 0"),
    (broken(added_tokens=[{"id": 1 << 60, "content": "x"}]), "is not from 0"),
    (broken(added_tokens=[{"id": 3, "content": "\udfff"}]), "lone surrogate"),
    (
        broken(added_tokens=[{"id": 3, "content": "x", "special": 1}]),
        "special must be true or false",
    ),
    (broken(decoder=None), "no decoder"),
    (broken(decoder=7), "decoder: a step must be an object"),
]


@pytest.mark.parametrize(("content", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=message) as caught:
        read_vocabulary(path, cache=False)
    assert str(path) in str(caught.value), "the message says which file"
    assert len(str(caught.value)) < 600 + len(str(path)), "and does not repeat the file"


def test_a_vocabulary_without_tokens(tmp_path: Path) -> None:
    path = write(tmp_path, document({}))
    with pytest.raises(VocabularyError, match="has no tokens"):
        read_vocabulary(path, cache=False)


VALUES: Any = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        -1,
        1 << 70,
        0.5,
        float("nan"),
        "",
        "a",
        "<eos>",
        "\ud800",
        [],
        {},
        ["a"],
        [["a", 0]],
        [[0, 0]],
        {"a": 0},
        {"a": "b"},
        {"type": "Fuse"},
        {"String": "a"},
    ]
)
KEYS = st.sampled_from(["model", "added_tokens", "decoder", "normalizer"])
MODEL_KEYS = ["type", "vocab", "unk_token", "unk_id", "byte_fallback", "end_of_word_suffix"]
STEP: Any = st.sampled_from([BYTE_LEVEL, FUSE, FALLBACK, REPLACE, METASPACE, STRIP])
STEP_KEYS = st.sampled_from(["type", "content", "pattern", "start", "stop", "replacement"])


def some(keys: Any) -> Any:
    return st.dictionaries(keys, VALUES, max_size=2)


@settings(deadline=None, max_examples=150)
@given(
    some(KEYS),
    some(st.sampled_from(MODEL_KEYS)),
    st.lists(st.tuples(STEP, some(STEP_KEYS)), max_size=3),
    some(st.sampled_from(["id", "content", "special"])),
)
def test_damaged_files_end_in_our_errors(top: Any, model: Any, steps: Any, entry: Any) -> None:
    decoder = sequence(*(step | damage for step, damage in steps))
    added = [{"id": 2, "content": "<eos>", "special": True} | entry]
    content = document({"a": 0, "b": 1}, decoder, added=added)
    content["model"] |= model
    try:
        file = parsed(content | top)
    except VocabularyError:
        return
    assert all(0 <= n < MAX_WIDTH for n in file.ids)
    assert len(spell(file.tokens, file.decoder).words()) == len(file.tokens)


def test_a_decoder_that_blows_up_is_refused() -> None:
    """Each Replace doubles every token; thirty of them would make a billion letters of one."""
    double = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    decoder = read_decoder(sequence(*[double] * 30))
    with pytest.raises(VocabularyError, match="makes the tokens too large"):
        spell(["a"], decoder)
    with pytest.raises(VocabularyError, match="more than 32 steps"):
        read_decoder(sequence(*[REPLACE] * 33))


def test_flipped_bytes_end_in_our_errors() -> None:
    content = bytearray(json.dumps(document({"a": 0, "Ġb": 1, "é": 2})).encode())
    rng = random.Random(7)
    for _ in range(600):
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            parsed(bytes(damaged))
        except VocabularyError:
            continue


# Places and limits


def test_a_path_or_the_folder_that_holds_it(tmp_path: Path) -> None:
    path = write(tmp_path, document({"a": 0}))
    assert locate(tmp_path) == locate(str(path)) == path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder, "holds no tokenizer.json$"),
        (lambda folder: folder / "gone.json", "cannot read the tokenizer"),
        (lambda folder: "a\0b", "cannot read the tokenizer"),
        (lambda folder: Path("/dev/null"), "is not a regular file"),
    ],
)
def test_places_without_a_tokenizer(make: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=message):
        read_vocabulary(make(tmp_path), cache=False)


def test_a_folder_with_an_older_format_says_how_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"")
    with pytest.raises(VocabularyError, match="save_pretrained"):
        locate(tmp_path)


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as file:
        file.truncate(300 << 20)
    with pytest.raises(LimitError, match="bytes in the tokenizer file"):
        read_vocabulary(path, limits=Limits(max_input=1 << 10), cache=False)


def test_a_file_that_unfolds_in_memory_is_refused() -> None:
    content = b'{"x":[' + b"[]," * 1_000_000 + b"[]]}"
    with pytest.raises(LimitError, match="bytes of memory"):
        parse_tokenizer(content, Meter(Limits(max_memory=50 << 20)))


def test_the_collector_works_again_afterwards() -> None:
    assert gc.isenabled()
    with pytest.raises(VocabularyError):
        parse_json(b"{", "x")
    assert gc.isenabled()

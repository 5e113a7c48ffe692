"""Which ids end a text: the caller says, the files beside tokenizer.json, well-known names."""

from pathlib import Path
from typing import Any

import pytest
from small_tokenizers import document, write
from tokenizers_on_disk import need

from constrain.errors import VocabularyError
from constrain.vocabulary import read_vocabulary


def special(number: int, text: str) -> dict[str, Any]:
    return {"id": number, "content": text, "special": True}


def plain(number: int, text: str) -> dict[str, Any]:
    return {"id": number, "content": text, "special": False}


ENDS = [special(2, "<eos>"), special(3, "<|im_end|>"), special(4, "<fin>"), plain(5, "</s>")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, document({"a": 0, "7": 1}, added=ENDS))
    return tmp_path


def eos(folder: Path, *explicit: int | str) -> tuple[int, ...]:
    return read_vocabulary(folder, eos=explicit, cache=False).eos


@pytest.mark.parametrize(
    ("explicit", "ids"),
    [
        ((4,), (4,)),
        (("<fin>",), (4,)),
        (("4",), (4,)),
        ((4, "<eos>", 2), (2, 4)),
        (("a",), (0,)),
        ((1,), (1,)),
    ],
)
def test_the_caller_decides(folder: Path, explicit: tuple[int | str, ...], ids: Any) -> None:
    write(folder, {"eos_token": "<eos>"}, "tokenizer_config.json")
    assert eos(folder, *explicit) == ids


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("generation_config.json", {"eos_token_id": 4}, (4,)),
        ("generation_config.json", {"eos_token_id": [4, 3]}, (3, 4)),
        ("tokenizer_config.json", {"eos_token": "<fin>"}, (4,)),
        ("tokenizer_config.json", {"eos_token": {"content": "<fin>", "lstrip": False}}, (4,)),
        ("special_tokens_map.json", {"eos_token": {"content": "<fin>"}}, (4,)),
        ("special_tokens_map.json", {"eos_token": ["<fin>", {"content": "<eos>"}]}, (2, 4)),
        ("tokenizer_config.json", {"eos_token": None, "pad_token": "<fin>"}, (2, 3)),
    ],
)
def test_files_beside_the_tokenizer(folder: Path, name: str, content: Any, ids: Any) -> None:
    write(folder, content, name)
    assert eos(folder) == ids


def test_files_beside_the_tokenizer_are_taken_together(folder: Path) -> None:
    write(folder, {"eos_token_id": [3]}, "generation_config.json")
    write(folder, {"eos_token": "<fin>"}, "tokenizer_config.json")
    vocabulary = read_vocabulary(folder, cache=False)
    assert vocabulary.eos == (3, 4)
    assert vocabulary.eos_origin == "generation_config.json, tokenizer_config.json"


def test_well_known_names_are_the_last_resort(folder: Path) -> None:
    vocabulary = read_vocabulary(folder, cache=False)
    assert (vocabulary.eos, vocabulary.eos_origin) == ((2, 3), "well-known names")


def test_a_well_known_name_in_the_model_only(tmp_path: Path) -> None:
    write(tmp_path, document({"a": 0, "</s>": 1}))
    assert eos(tmp_path) == (1,)


def test_struck_out_text_is_no_end(tmp_path: Path) -> None:
    """Gemma's ``</s>`` is an HTML tag: added, and not special."""
    write(tmp_path, document({"a": 0}, added=[plain(1, "</s>")]))
    with pytest.raises(VocabularyError, match="no token is known to end a text"):
        eos(tmp_path)


def test_a_file_that_names_the_unknown_token_is_not_believed(tmp_path: Path) -> None:
    """The configuration of jiutian_139moe names ``<unk>``."""
    added = [special(1, "<unk>"), special(2, "</s>")]
    write(tmp_path, document({"a": 0, "<unk>": 1, "</s>": 2}, added=added, unk_token="<unk>"))
    write(tmp_path, {"eos_token": "<unk>"}, "tokenizer_config.json")
    assert eos(tmp_path) == (2,)


def test_nothing_found_says_what_to_pass(tmp_path: Path) -> None:
    write(tmp_path, document({"a": 0}, added=[special(1, "<halt>")]))
    with pytest.raises(VocabularyError) as caught:
        eos(tmp_path)
    assert "--eos" in str(caught.value)
    assert "'<halt>' (1)" in str(caught.value)


@pytest.mark.parametrize(
    ("explicit", "message"),
    [
        (6, "out of range"),
        (-1, "out of range"),
        ("99", "out of range"),
        ("<|im_ende|>", r"did you mean '<\|im_end\|>'"),
        ("no such thing", "no token is spelled 'no such thing'"),
        (True, "an id or a token text"),
    ],
)
def test_wrong_names_are_errors(folder: Path, explicit: Any, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        eos(folder, explicit)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"eos_token": "<gone>"}',
            "tokenizer_config.json: eos: no token is spelled '<gone>'.*--eos",
        ),
        ('{"eos_token_id": 77}', "tokenizer_config.json: eos: the id 77 is out of range"),
        ("{", "tokenizer_config.json: not JSON"),
        ("[]", "tokenizer_config.json: a JSON object is needed"),
    ],
)
def test_a_wrong_file_beside_the_tokenizer(folder: Path, content: str, message: str) -> None:
    (folder / "tokenizer_config.json").write_text(content)
    with pytest.raises(VocabularyError, match=message):
        eos(folder)
    assert eos(folder, "<fin>") == (4,), "what the caller passes overrules the file"


def test_an_id_past_the_names_needs_a_width(folder: Path) -> None:
    assert read_vocabulary(folder, eos=[9], vocab_size=10, cache=False).eos == (9,)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("example", (2,)),
        ("deepseek", (1, 128805)),
        ("mon", (2,)),
        ("nepali_unigram", (6,)),
        ("llama3_1", (128009,)),
        ("gemma3", (106,)),
        ("qwen3", (151645,)),
        ("llama2", (2,)),
        ("gptoss", (200002,)),
    ],
)
def test_real_tokenizers(name: str, ids: tuple[int, ...], tmp_path: Path) -> None:
    path = need(name)
    if name in ("deepseek", "mon", "nepali_unigram"):  # alone, whatever a package puts beside it
        copy = tmp_path / "tokenizer.json"
        copy.write_bytes(path.read_bytes())
        path = copy
    assert read_vocabulary(path, cache=False).eos == ids

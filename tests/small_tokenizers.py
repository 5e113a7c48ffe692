"""Small tokenizer.json files for tests: real ones, which ``tokenizers`` loads too."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": True,
    "trim_offsets": True,
    "use_regex": True,
}
REPLACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
FALLBACK = {"type": "ByteFallback"}
FUSE = {"type": "Fuse"}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}

DECODERS: dict[str, dict[str, Any]] = {
    "ByteLevel": BYTE_LEVEL,
    "Metaspace+ByteFallback": {
        "type": "Sequence",
        "decoders": [REPLACE, FALLBACK, FUSE, STRIP],
    },
}


def document(
    vocab: Mapping[str, int] | Sequence[Any],
    decoder: object = "ByteLevel",
    added: Sequence[Mapping[str, Any]] = (),
    **model: object,
) -> dict[str, Any]:
    """Return a tokenizer.json as Python data.

    Parameters
    ----------
    vocab : mapping or sequence
        token -> id (BPE), or [token, score] pairs (Unigram).
    decoder : str or object
        A name in ``DECODERS``, or the decoder object.
    added : sequence of mappings
        ``id``, ``content`` and ``special``; the other members are filled in.
    model
        Members of ``model`` to add or overrule.
    """
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    body: dict[str, Any] = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": "Fallback" in str(decoder),
        "vocab": vocab,
        "merges": [],
    }
    if not isinstance(vocab, Mapping):
        body = {"type": "Unigram", "unk_id": None, "vocab": list(vocab), "byte_fallback": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{**flags, **token} for token in added],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": DECODERS[decoder] if isinstance(decoder, str) else decoder,
        "model": body | model,
    }


def write(folder: Path, content: object, name: str = "tokenizer.json") -> Path:
    """Write JSON data into ``folder`` and return the path."""
    path = folder / name
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def of_case(case: Mapping[str, Any], folder: Path) -> Path:
    """Write the tokenizer that a case of the reported ones describes."""
    given = case["input"]
    return write(folder, document(given["vocab"], given["decoder"], given["added"]))

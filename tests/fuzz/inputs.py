r"""Hostile patterns, schemas, tokenizers and table files, each drawn from a string of bytes.

A generator asks ``Choices`` for numbers; the bytes answer. So the same generators serve random seeds
(``hostile.py``), a coverage-guided fuzzer (which mutates the bytes) and tests (which replay them).
Most of what is drawn is nearly well formed: what a parser refuses at once tests nothing behind it.
"""

from __future__ import annotations

import io
import json
import struct
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
from hand_tables import brackets_table, plain_table

from constrain.tables.write import serialized

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Choices:
    """Numbers read off a string of bytes; 0 for ever when it is used up."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def spent(self) -> bool:
        return self.at >= len(self.data)

    def below(self, n: int) -> int:
        """Return a number in ``range(n)``, from one byte (two where n is larger)."""
        width = 1 if n <= 256 else 2 if n <= 1 << 16 else 4
        part = self.data[self.at : self.at + width]
        self.at += width
        return int.from_bytes(part, "little") % n

    def of(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]

    def rest(self) -> bytes:
        part, self.at = self.data[self.at :], len(self.data)
        return part


# Patterns.

ATOMS = [
    "a", "b", "ab", ".", r"\w", r"\d", r"\s", r"\W", "[a-c]", "[^a]", "é", "😀", r"\x61", r"\n", "[]",
    r"[\d-z]", "[a-", r"[\]]", "(", ")", "^", "$", r"\b", r"\1", "(?=a)", "(?!a)", "(?<=a)", "(?i)a",
    "(?P<n>a)", "(?P=n)", "(?#c)", r"\p{L}", r"\P{Lu}", r"\u00e9", r"\u{1F600}", r"\ud83d", r"\cA",
    "\\", r"\Z", r"\A", "{", "}", "[[a]]", "[a&&b]", "\0", "\ud800", "[^\\s\\S]", "|", "[\\w.]{3}", "/",
]  # fmt: skip
COUNTS = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "30",
    "255",
    "1000",
    "65536",
    "99999",
    "100001",
    "1" + "0" * 30,
    "",
]
DIALECTS = ("text", "bytes", "ecma")


def _pattern(choices: Choices, depth: int) -> str:
    kind = choices.below(12) if depth else 0
    if kind <= 3:
        return str(choices.of(ATOMS))
    inner = _pattern(choices, depth - 1)
    if kind == 4:
        return inner + _pattern(choices, depth - 1)
    if kind == 5:
        return f"({inner}|{_pattern(choices, depth - 1)})"
    if kind == 6:
        return f"(?:{inner}){choices.of(['*', '+', '?', '*?', '++', '{,3}', '{2,1}'])}"
    if kind == 7:
        return f"({inner}){{{choices.of(COUNTS)}}}"
    if kind == 8:
        return f"({inner}){{{choices.of(COUNTS)},{choices.of(COUNTS)}}}"
    if kind == 9:
        return f"({inner}|b)*{inner}({inner}|b){{{choices.of(COUNTS)}}}"
    if kind == 10:
        return f"^{inner}$|{_pattern(choices, depth - 1)}"
    n = (1, 10, 190, 210, 5000)[choices.below(5)]
    return "(" * n + inner + choices.of([")", ")?", ")*", ")+", "){2}", "|a)", ""]) * n


def pattern(choices: Choices) -> tuple[str, str]:
    """Return a dialect and a pattern."""
    dialect = str(choices.of(DIALECTS))
    if choices.below(8) == 0:
        return dialect, choices.rest().decode(choices.of(["utf-8", "latin-1"]), "replace")
    text = _pattern(choices, 5)
    for _ in range(choices.below(3)):
        at = choices.below(len(text) + 1)
        text = text[:at] + choices.of(ATOMS) + text[at + choices.below(3) :]
    return dialect, text


# Schemas: JSON text, so that what no Python value holds can be written too.

ODD = [
    "null", "true", "false", "0", "-0", "1", "-1", "1.5", "1e400", "-1e400", "1e-300", "1E+999999999999",
    "NaN", "Infinity", "9" * 40, "1" * 4400, '""', '"a"', '"\\ud800"', '"\\ud83d\\ude00"', '"#"', "[]",
    "{}", "[[]]", '{"a":1,"a":2}', "[" * 60 + "]" * 60, '{"a":' * 60 + "1" + "}" * 60, '"' + "x" * 3000 + '"',
    "tru", "", "\\", '"\\x"', "01",
]  # fmt: skip
NUMBERS = [
    "0",
    "1",
    "2",
    "-1",
    "1.5",
    "0.1",
    "3",
    "10",
    "100",
    "65536",
    "1e6",
    "1e30",
    "1e-7",
    "1e400",
    "255",
]
COUNTS_JSON = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "40",
    "300",
    "5000",
    "1e30",
    "100000000",
    "2.0",
    "2.5",
    "-1",
]
NAMES_JSON = ['"a"', '"b"', '"ab"', '""', '"\\ud800"', '"a/b~c"', '"$ref"', '"é"', '"__proto__"']
TEXTS_JSON = [
    '"a"',
    '"ab"',
    '""',
    '"\\u0000"',
    '"\\ud800"',
    '"é😀"',
    '"2020-01-01"',
    "1",
    "null",
    "[1]",
    '{"a":[]}',
]
TYPES = ['"string"', '"integer"', '"number"', '"object"', '"array"', '"boolean"', '"null"',
         '["string","null"]', '["object","array"]', "[]", '"any"', '["integer","integer"]']  # fmt: skip
FORMATS = ['"date"', '"date-time"', '"uuid"', '"email"', '"ipv4"', '"ipv6"', '"uri"', '"regex"', '"odd"',
           '"hostname"', '"time"', '"duration"', '"json-pointer"', '"idn-email"', '"iri"']  # fmt: skip
REFS = ['"#"', '"#/$defs/a"', '"#/$defs/b"', '"#/$defs/a/not"', '"#/properties/a"', '"#x"', '"http://x/y"',
        '"#/%25"', '"#/~2"', '"a"', '"#/$defs/zz"', '""']  # fmt: skip
PATTERNS = ['"^a"', '"b$"', '"^(ab)*$"', '"[a-z]{3,5}"', '"^(a|b)*a(a|b){12}$"', '"(a{1000}){1000}"', '"("',
            '"^\\\\p{L}+$"', '".*x.*y.*z.*"', '"^[^a]$"', '"\\\\d+(\\\\.\\\\d+)?"', '"(?=a)"', '"\\ud800"',
            '"^$"', '"x{0,3000}"']  # fmt: skip


def _members(choices: Choices, value: Callable[[], str], names: Sequence[str] = NAMES_JSON) -> str:
    return "{" + ",".join(f"{choices.of(names)}:{value()}" for _ in range(choices.below(4))) + "}"


def _list(choices: Choices, value: Callable[[], str], most: int = 4) -> str:
    return "[" + ",".join(value() for _ in range(choices.below(most))) + "]"


def _value(choices: Choices, keyword: str, depth: int) -> str:
    """Return a value for a keyword, as JSON text."""
    if choices.below(16) == 15:
        return str(choices.of(ODD))

    def inner() -> str:
        return _schema(choices, depth - 1)

    if keyword in ("properties", "patternProperties", "$defs", "dependentSchemas", "definitions"):
        names = PATTERNS if keyword == "patternProperties" else NAMES_JSON
        return _members(choices, inner, names)
    if keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
        return _list(choices, inner, 5)
    if keyword in _POOLS:
        return str(choices.of(_POOLS[keyword]))
    if keyword in ("required", "enum"):
        pool = NAMES_JSON if keyword == "required" else TEXTS_JSON + ODD[:28]
        return _list(choices, lambda: choices.of(pool), 40 if keyword == "enum" else 4)
    if keyword == "dependentRequired":
        return _members(choices, lambda: _list(choices, lambda: choices.of(NAMES_JSON)))
    return inner()


_POOLS = {
    "type": TYPES, "format": FORMATS, "$ref": REFS, "$dynamicRef": REFS, "$recursiveRef": REFS,
    "pattern": PATTERNS, "const": TEXTS_JSON + ODD[:28], "uniqueItems": ["true", "false"],
    "$id": ['"http://x/y"', '"a"', '"#x"', '"::"'], "$anchor": ['"x"', '""', '"a b"'],
    "$dynamicAnchor": ['"x"'], "nullable": ["true"], "contentEncoding": ['"base64"'],
    "$schema": ['"http://json-schema.org/draft-07/schema#"', '"https://json-schema.org/draft/2020-12/schema"',
                '"http://json-schema.org/draft-04/schema#"', '"odd"',
                '"https://json-schema.org/draft/2019-09/schema"'],
    **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
                     "minContains", "maxContains"], COUNTS_JSON),
    **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"], NUMBERS),
}  # fmt: skip
KEYWORDS = [
    *_POOLS, "properties", "properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
    "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "prefixItems", "items", "contains", "required",
    "enum", "additionalProperties", "additionalItems", "propertyNames", "unevaluatedProperties",
    "unevaluatedItems", "dependentRequired", "dependencies", "title", "x-odd", "items", "type", "type",
]  # fmt: skip


def _schema(choices: Choices, depth: int) -> str:
    if depth <= 0 or choices.spent:
        return str(
            choices.of(
                ['{"type":"string"}', '{"type":"integer"}', "true", "false", "{}", '{"const":1}']
            )
        )
    chosen = {choices.of(KEYWORDS): None for _ in range(choices.below(6))}
    return "{" + ",".join(f'"{word}":{_value(choices, word, depth)}' for word in chosen) + "}"


def _nest(choices: Choices, n: int) -> str:
    """Return a schema that is small to write and large to unfold."""
    kind = choices.below(8)
    if kind == 0:
        word = choices.of(
            ["not", "items", "additionalProperties", "if", "contains", "propertyNames"]
        )
        return f'{{"{word}":' * n + "true" + "}" * n
    if kind == 1:
        word = choices.of(["oneOf", "anyOf", "allOf"])
        text = '{"type":"integer"}'
        for level in range(min(n, 14)):
            text = f'{{"{word}":[{text},{{"properties":{{"p{level}":{text}}}}}]}}'
        return text if len(text) < 400_000 else text[:1000]
    if kind == 2:
        word = choices.of(["prefixItems", "anyOf", "allOf", "oneOf"])
        defs = ",".join(
            f'"d{i}":{{"{word}":[{{"$ref":"#/$defs/d{i + 1}"}},{{"$ref":"#/$defs/d{i + 1}"}}]}}'
            for i in range(n)
        )
        return f'{{"$ref":"#/$defs/d0","$defs":{{{defs},"d{n}":{_schema(choices, 2)}}}}}'
    if kind == 3:
        names = ",".join(f'"k{i}":{_schema(choices, 1)}' for i in range(n))
        required = ",".join(f'"k{i}"' for i in range(0, n, choices.of([1, 2, 5])))
        return f'{{"type":"object","properties":{{{names}}},"required":[{required}]}}'
    if kind == 4:
        bound = choices.of(COUNTS_JSON)
        return f'{{"type":"array","maxItems":{bound},"items":' * min(n, 9) + "{}" + "}" * min(n, 9)
    if kind == 5:
        return '{"enum":[' + ",".join(f'"{i:x}{choices.below(256)}"' for i in range(n * 20)) + "]}"
    if kind == 6:
        each = ",".join(f'{{"pattern":"{"." * i}a"}}' for i in range(n))
        return f'{{"type":"string","{choices.of(["allOf", "oneOf", "anyOf"])}":[{each}]}}'
    return choices.of(["[", '{"a":', '{"not":', '{"items":[']) * (n * 100)


def schema(choices: Choices) -> tuple[dict[str, Any], bytes]:
    """Return options and the JSON text of a schema."""
    kind = choices.below(8)
    options = {
        "layout": choices.of(["compact", "spaced", "flexible"]),
        "open": choices.of([False, True]),
        "frames": choices.of(["needed", "never", "always"]),
    }
    if kind == 0:
        return options, choices.rest()
    text = (
        _nest(choices, choices.of([3, 12, 40, 199, 201, 1000]))
        if kind == 1
        else _schema(choices, 4)
    )
    data = text.encode("utf-8", "surrogatepass")
    if choices.below(16) == 15:
        at = choices.below(len(data) + 1)
        data = data[:at] + bytes([choices.below(256)]) + data[at + choices.below(2) :]
    return options, data


# Table files.

KINDS = {"plain": plain_table(), "frames": brackets_table()}
CELLS = [-1, -2, -3, 0, 1, 2, 7, 31, 255, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63)]
DTYPES = ["<i4", ">i4", "<i8", "<f8", "|b1", "|u1", "<u4", "<i2", "<U3", "|S3", "<c8"]


def good_file(kind: str, *, compress: bool) -> bytes:
    return b"".join(bytes(part) for part in serialized(KINDS[kind], compress=compress))


def _arrays(kind: str) -> dict[str, Any]:
    with np.load(io.BytesIO(good_file(kind, compress=False)), allow_pickle=False) as file:
        return {key: file[key].copy() for key in file.files}


ARRAYS = {kind: _arrays(kind) for kind in KINDS}


def _damaged_array(choices: Choices, array: Any) -> Any:
    kind = choices.below(9)
    if kind <= 3 and array.size:
        damaged = array.copy()
        flat = damaged.reshape(-1)
        for _ in range(1 + choices.below(3)):
            value = choices.of(CELLS)
            with np.errstate(all="ignore"):
                flat[choices.below(len(flat))] = np.array(value).astype(flat.dtype)
        return damaged
    if kind == 4:
        return array.astype(choices.of(DTYPES))
    if kind == 5:
        return np.resize(array, (choices.of([0, 1, 2, 5, 300]), *array.shape[1:]))
    if kind == 6:
        return array.reshape(-1) if choices.below(2) else array[None]
    if kind == 7:
        return np.asfortranarray(array) if array.ndim > 1 else array[::-1]
    return np.concatenate([array, array[: choices.below(3)]])


def _meta(choices: Choices) -> Any:
    text = choices.of(
        [
            b"",
            b"[]",
            b"{",
            b"null",
            b'{"format":2}',
            b'{"format":"1"}',
            b'{"format":1.0}',
            b"\xff",
            b'{"format":1,"fingerprint":5}',
            b"[" * 100_000,
            b'{"format":true}',
            b'{"format":NaN}',
            b'{"format":' + b"1" * 5000 + b"}",
            b'{"format":1,"fingerprint":"' + b"0" * 64 + b'"}',
            b'{"format":1,"fingerprint":"'
            + b"0" * 64
            + b'","tokenizer":'
            + choices.rest()[:40]
            + b"}",
            b'{"format":1,"fingerprint":"'
            + b"0" * 64
            + b'","counts":[],"source":3,"frames":{},"options":[]}',
        ]  # fmt: skip
    )
    return np.frombuffer(text, dtype=np.uint8)


def _zip(choices: Choices, members: list[tuple[str, bytes]]) -> bytes:
    method = choices.of([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")  # doubled names are meant
        archive.comment = choices.of([b"", b"", b"", b"hello"])
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, method)
    return buffer.getvalue()


def _npy(choices: Choices, array: Any) -> bytes:
    """Return a .npy file whose header may say something else than what is in it."""
    shape = choices.of(
        [str(array.shape), "(1,)", f"({2**40},)", f"({2**31}, 256)", "(0, 0)", "()", "(-1,)", "x"]
    )
    descr = choices.of([f"'{array.dtype.str}'", "'|O'", "'<i9'", "'<f4'", "[('a','<i4')]", "'|V8'"])
    text = f"{{'descr': {descr}, 'fortran_order': {choices.of(['False', 'True', '1'])}, 'shape': {shape}, }}"
    text += " " * choices.below(70) + choices.of(["\n", ""])
    version = choices.of([b"\1\0", b"\1\0", b"\2\0", b"\3\0"])
    return (
        b"\x93NUMPY"
        + version
        + struct.pack("<H", choices.of([len(text), 0, 65535]))
        + text.encode()
        + array.tobytes()
    )


def _structure(choices: Choices, arrays: dict[str, Any]) -> bytes:
    """Return a zip file with a member missing, added, doubled, renamed, or with another header."""
    files = []
    for key, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        files.append((f"{key}.npy", buffer.getvalue()))
    at = choices.below(len(files))
    name, data = files[at]
    kind = choices.below(5)
    if kind == 0:
        del files[at]
    elif kind == 1:
        files.append(
            choices.of(
                [(name, data), ("extra.npy", data), ("../x.npy", data), ("x", b""), ("A.npy", data)]
            )
        )
    elif kind == 2:
        files[at] = (name, _npy(choices, arrays[name[:-4]]))
    elif kind == 3:
        files[at] = (name, data[: choices.below(len(data))])
    else:
        files[at] = (choices.of([name.upper(), name[:-4], "x.npy", ""]), data)
    return _zip(choices, files)


def table(choices: Choices) -> bytes:
    """Return the bytes of a damaged table file."""
    kind = choices.of(sorted(KINDS))
    how = choices.below(8)
    if how <= 2:
        arrays = dict(ARRAYS[kind])
        for _ in range(1 + choices.below(2)):
            key = choices.of(sorted(arrays))
            arrays[key] = _meta(choices) if key == "meta" else _damaged_array(choices, arrays[key])
        buffer = io.BytesIO()
        (np.savez_compressed if choices.below(2) else np.savez)(buffer, **arrays)
        return buffer.getvalue()
    if how == 3:
        return _structure(choices, ARRAYS[kind])
    whole = bytearray(good_file(kind, compress=bool(choices.below(2))))
    if how == 4:
        del whole[choices.below(len(whole)) :]
    elif how == 5:
        at = choices.below(len(whole))
        whole[at:at] = choices.rest()[:100]
    elif how == 6:
        start = struct.unpack("<I", whole[-6:-2])[0]
        for _ in range(1 + choices.below(3)):  # in the directory and the local headers
            at = choices.of([start + choices.below(len(whole) - start), choices.below(60)])
            whole[at] = choices.below(256)
    else:
        for _ in range(1 + choices.below(4)):
            whole[choices.below(len(whole))] ^= 1 + choices.below(255)
    return bytes(whole)


# Tokenizers.

TOKENS = [
    "a",
    "b",
    "ab",
    "Ġa",
    "▁",
    "<0x41>",
    "<0xZZ>",
    "",
    "é",
    "\ud800",
    "<eos>",
    "\\",
    '"',
    "{",
    "0",
    "\n",
]
PLAIN = [*"abc", "ab", "Ġa", "▁", "<0x41>", "é", "<eos>", "<pad>", "0", "Ċ"]
STEPS = [
    {"type": "ByteLevel"}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Odd"}, {}, None, 3,
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}, {"type": "Strip", "content": "", "start": -1},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}, {"type": "WordPiece"},
    {"type": "Metaspace", "replacement": "xx"}, {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "Replace", "pattern": {"String": ""}, "content": "a"}, {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "Replace", "pattern": {"Regex": "a*"}, "content": "b"}, {"type": "CTC"},
    {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 4000},
]  # fmt: skip
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    7,
    1 << 40,
    1.5,
    "",
    "a",
    "\ud800",
    [],
    {},
    [["a", 0]],
    {"a": 0},
    {"a": "b"},
]


def tokenizer(choices: Choices) -> bytes:
    """Return the bytes of a tokenizer.json."""
    if choices.below(8) == 0:
        return choices.rest()
    odd = choices.below(4) == 0
    vocab: Any = {choices.of(TOKENS if odd else PLAIN): i for i in range(choices.below(9))}
    if choices.below(3) == 0:
        vocab = [[token, -1.0] for token in vocab]
    added = [
        {
            "id": choices.below(20),
            "content": choices.of(TOKENS if odd else PLAIN),
            "special": bool(choices.below(2)),
        }
        for _ in range(choices.below(3))
    ]
    steps = [choices.of(STEPS if odd else STEPS[:3]) for _ in range(choices.below(5))]
    decoder = {"type": "Sequence", "decoders": steps} if len(steps) > 1 else (steps or [None])[0]
    content: Any = {
        "added_tokens": added,
        "decoder": decoder,
        "model": {"type": "BPE", "vocab": vocab},
    }
    for _ in range(choices.below(3)):
        place = choices.of([content, content["model"], *added, decoder])
        if isinstance(place, dict):
            key = choices.of([*place, "normalizer", "unk_token", "type"])
            if key != "model":
                place[key] = choices.of(VALUES)
    data = json.dumps(content).encode()
    if choices.below(8) == 7:
        at = choices.below(len(data))
        data = data[:at] + bytes([choices.below(256)]) + data[at + 1 :]
    return data

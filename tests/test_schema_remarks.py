"""Remarks on names that nobody knows: of slips of the pen, and of nothing else."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from constrain.schema import schema_grammar
from constrain.schema.remarks import near_format, near_keyword, remarks, slips
from constrain.schema.support import KEYWORDS

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "real_schemas.jsonl.xz"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("enmu", "enum"), ("requierd", "required"), ("proprties", "properties"),
        ("additionalproperties", "additionalProperties"), ("anyof", "anyOf"),
        ("min_length", "minLength"), ("maxLenght", "maxLength"), ("itmes", "items"),
        ("types", "type"), ("$reff", "$ref"), ("inclusiveMinimum", "minimum"),
    ],
)  # fmt: skip
def test_slips_of_keywords(name: str, meant: str) -> None:
    assert near_keyword(name) == meant


@pytest.mark.parametrize(
    "name",
    ["x-enum", "_format", "@type", "example", "readonly", "decription", "comment", "note", "name",
     "value", "iff", "mode", "options", "unit", *KEYWORDS],
)  # fmt: skip
def test_names_that_are_no_slips(name: str) -> None:
    assert near_keyword(name) is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [("emial", "email"), ("datetime", "date-time"), ("host-name", "hostname"), ("URI", "uri"),
     ("int32", None), ("phone", None), ("color", None), ("password", None), ("regex", None)],
)  # fmt: skip
def test_slips_of_formats(name: str, meant: str | None) -> None:
    assert near_format(name) == meant


def test_slips_count_letters() -> None:
    assert slips("", "abc") == 3
    assert slips("abcd", "acbd") == 1
    assert slips("kitten", "sitting") == 3


def test_a_remark_names_the_place_and_goes_into_the_notes() -> None:
    schema = {
        "type": "object",
        "properties": {"a/b": {"type": "string", "maxLenght": 3, "format": "emial"}, "enmu": {}},
        "default": {"enmu": 1},
    }
    assert schema_grammar(schema).notes == [
        "'maxLenght' at #/properties/a~1b is no keyword and constrains nothing;"
        " did you mean 'maxLength'?",
        "format 'emial' at #/properties/a~1b is unknown and constrains nothing;"
        " did you mean 'email'?",
    ]


def test_a_value_that_cannot_be_written_is_told() -> None:
    (remark,) = remarks({"items": {"enum": ["a", {"b": ["\udc00"]}]}})
    assert remark.startswith("the value at #/items/enum/1 is never generated")


def test_remarks_on_a_document_beside_the_schema_name_it() -> None:
    (remark,) = remarks({}, [("http://example.org/a", {"enmu": [1]})])
    assert remark.endswith("(in http://example.org/a)")


def test_a_hostile_schema_gets_few_remarks() -> None:
    names = [f"{a}maximum{b}" for a in "abcdefghij" for b in "abcdefghij"]
    assert len(remarks({**dict.fromkeys(names, 1), "y" * 10**6: 1})) == 50


@pytest.mark.skipif(not DATA.exists(), reason="the real schemas are not beside the repository")
def test_real_schemas_get_remarks_only_where_they_are_right() -> None:
    """Slips in ten of 1,164 schemas, keywords without force in 42; each was looked at by a person."""
    found: set[str] = set()
    n_schemas = n_forceless = 0
    with lzma.open(DATA) as lines:
        for line in lines:
            told = remarks(json.loads(line)["schema"])
            forceless = [remark for remark in told if "constrains nothing: " in remark]
            n_forceless += bool(forceless)
            told = [remark for remark in told if remark not in forceless]
            n_schemas += bool(told)
            found |= {remark.split(" at #")[0] for remark in told}
    assert n_schemas <= 10 and n_forceless <= 42
    assert found == {
        "'additonalProperties'", "'type:'", "'item'", "'maxmimum'", "'minLenth'",
        "'inclusiveMinimum'", "'inclusiveMaximum'", "format 'host-name'",
    }  # fmt: skip


def said(schema: object, name: str) -> list[str]:
    return [remark for remark in remarks(schema) if remark.startswith(f"{name!r} at")]


@pytest.mark.parametrize(
    ("draft", "name", "words"),
    [
        (
            "http://json-schema.org/draft-07/schema#",
            "dependentRequired",
            "name draft 2019-09 or later",
        ),
        ("http://json-schema.org/draft-04/schema#", "const", "name draft 6 or later"),
        ("https://json-schema.org/draft/2020-12/schema", "dependencies", "name draft 7 or earlier"),
        ("https://json-schema.org/draft/2019-09/schema", "dependentRequired", None),
        ("http://json-schema.org/draft-06/schema#", "const", None),
        ("http://json-schema.org/draft-07/schema#", "dependencies", None),
    ],
)
def test_a_keyword_of_another_draft_is_told(draft: str, name: str, words: str | None) -> None:
    part = {"type": "object", name: {"a": ["b"]}, "title": "x", "deprecated": True}
    found = said({"$schema": draft, "properties": {"p": part}}, name)
    assert len(found) == (words is not None)
    assert words is None or (words in found[0] and "#/properties/p " in found[0])


@pytest.mark.parametrize(("draft", "n"), [("draft-07", 1), ("draft/2019-09", 0)])
def test_what_is_ignored_beside_a_reference_is_told(draft: str, n: int) -> None:
    schema = {
        "$schema": f"http://json-schema.org/{draft}/schema#",
        "properties": {"p": {"$ref": "#/definitions/d", "maxLength": 3, "description": "x"}},
        "definitions": {"d": {"type": "string"}},
    }
    assert len(said(schema, "maxLength")) == n
    assert len(remarks(schema)) == n


def test_an_embedded_schema_has_its_own_draft() -> None:
    inner = {"$id": "urn:x", "$schema": "http://json-schema.org/draft-07/schema#", "minContains": 2}
    found = said({"properties": {"p": inner}, "minContains": 1}, "minContains")
    assert len(found) == 1 and "#/properties/p " in found[0]
    old = {"id": "urn:x", "$schema": "http://json-schema.org/draft-06/schema#", "const": 2}
    outer = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"p": old}}
    assert said(outer, "const") == []


def test_a_remark_counts_the_places() -> None:
    parts = {name: {"minContains": 1} for name in "abc"}
    (found,) = remarks({"$schema": "http://json-schema.org/draft-07/schema#", "properties": parts})
    assert "#/properties/a " in found and found.endswith("(and at 2 more places)")

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
    """Ten of 1,164 schemas; each remark was looked at by a person."""
    found: set[str] = set()
    n_schemas = 0
    with lzma.open(DATA) as lines:
        for line in lines:
            told = remarks(json.loads(line)["schema"])
            n_schemas += bool(told)
            found |= {remark.split(" at #")[0] for remark in told}
    assert n_schemas <= 10
    assert found == {
        "'additonalProperties'", "'type:'", "'item'", "'maxmimum'", "'minLenth'",
        "'inclusiveMinimum'", "'inclusiveMaximum'", "format 'host-name'",
    }  # fmt: skip

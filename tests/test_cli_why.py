"""Why a text is refused, as `check` tells it: words, keywords of the schema, hints at slips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tokenizers_on_disk import EXAMPLES
from typer.testing import CliRunner

from constrain.cli.expected import expected
from constrain.cli.main import app
from constrain.cli.places import place_in
from constrain.cli.refusal import refused
from constrain.cli.ways import Ways
from constrain.pipeline import compile
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    from constrain.cli.refusal import Refusal

LETTERS = Vocabulary.of([bytes((byte,)) for byte in range(256)])
SCHEMA = {
    "type": "object",
    "required": ["id", "mode", "on"],
    "properties": {
        "id": {"type": "integer", "maximum": 14},
        "mode": {"enum": ["celsius", "fahrenheit"]},
        "on": {"type": "boolean"},
        "note": {"type": "string", "maxLength": 5},
        "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1, "maxItems": 2},
    },
    "additionalProperties": False,
}
GOOD = '{"id":3,"mode":"celsius","on":true}'


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


def why(text: str, schema: Any = SCHEMA, **options: Any) -> Refusal:
    return refused(Ways(compile(schema, LETTERS, **options)), text.encode())


def run(*args: object, code: int, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, [*map(str, args)], input=stdin)
    assert result.exit_code == code, result.output
    return result.stdout


# Places


@pytest.mark.parametrize(
    ("text", "role", "path", "word"),
    [
        ('{"a":[1,{"b":"x|yz"}]}', "value", ("a", 1, "b"), b'"xyz"'),
        ('{"|a":1}', "key", (), b'"a"'),
        ('{"a":1,|"b":2}', "key", (), b'"b"'),
        ('{"a"|:1}', "colon", (), b":"),
        ('{"a":1|5}', "value", ("a",), b"15"),
        ('{"a":1|}', "after", (), b"}"),
        ("[1,2|]", "after", (), b"]"),
        ("[|1]", "value", (0,), b"1"),
        ('{"a":[[],|2]}', "value", ("a", 1), b"2"),
        ("tr|x", "value", (), b"trx"),
        ("{}|x", "end", (), b"x"),
        ('"a|', "value", (), b'"a'),
        ("|", "value", (), b""),
    ],
)
def test_places(text: str, role: str, path: tuple[str | int, ...], word: bytes) -> None:
    before, _, after = text.encode().partition(b"|")
    place = place_in(before + after, len(before))
    assert (place.role, place.path, place.word) == (role, path, word)


# Words


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ('{"x":1}', ['"id"'], '"x"'),
        ('{"id":"3"', ["a number"], '"3"'),
        ('{"id":15', ["','", "0-4"], "15"),
        ('{"id":3,"mode":"celcius"}', ['"celsius"', '"fahrenheit"'], '"celcius"'),
        ('{"id":3,"mode":"celsius","on":yes}', ["true", "false"], "yes"),
        (GOOD[:-1] + ',"note":"abcdef"}', ["the closing quote"], '"abcdef"'),
        (GOOD[:-1] + ',"note":1}', ["a string"], "'1'"),
        (GOOD[:-1] + ',"tags":1}', ["an array"], "'1'"),
        (GOOD[:-1] + ',"z":1}', ['"note"', '"tags"'], '"z"'),
        (GOOD + "x", ["the end"], "'x'"),
        (GOOD[:-1], ["','", "'}'"], ""),
        ("x", ["an object"], "'x'"),
    ],
)
def test_what_is_expected_is_told_in_words(text: str, words: list[str], found: str) -> None:
    refusal = why(text)
    assert (sorted(refusal.expected), refusal.instead) == (sorted(words), found)


def test_of_many_words_the_nearest_come_first() -> None:
    schema = {"enum": [f"colour-{n}" for n in range(20)] + ["green"]}
    words = why('"gren"', schema).expected
    assert words[0] == '"green"' and words[-1] == "one of 16 others"


def test_a_number_that_would_have_to_go_on() -> None:
    refusal = why('{"n":99}', {"type": "object", "required": ["n"],
                               "properties": {"n": {"type": "integer", "minimum": 1024}}})  # fmt: skip
    assert "a digit" in refusal.expected
    assert refusal.blame is not None and refusal.blame.pointer == "/properties/n/minimum"


def test_a_pattern_is_told_in_runs() -> None:
    ways = Ways(compile(regex="(yes|no) (please|thanks)", tokenizer=LETTERS))
    assert sorted(expected(ways, b"", 0)) == ["'no '", "'yes '"]
    assert refused(ways, b"yes sir").expected == ["'please'", "'thanks'"]
    assert Ways(ways.table).table.meta["source"]["kind"] == "regex"
    digits = Ways(compile(regex="[0-9]+", tokenizer=LETTERS))
    assert refused(digits, b"1x").expected == ["a digit", "the end"]


# Keywords


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ('{"x":1}', "/additionalProperties"),
        ('{"id":15,', "/properties/id/maximum"),
        ('{"id":"3"', "/properties/id/type"),
        ('{"id":{"a":1}}', "/properties/id/type"),
        ('{"id":3}', "/required"),
        ('{"id":3,"mode":"celcius"', "/properties/mode/enum"),
        (GOOD[:-1] + ',"note":"abcdef"}', "/properties/note/maxLength"),
        (GOOD[:-1] + ',"tags":[]}', "/properties/tags/minItems"),
        (GOOD[:-1] + ',"tags":["x","y","x"]}', "/properties/tags/maxItems"),
        (GOOD[:-1] + ',"tags":["z"]}', "/properties/tags/items/enum"),
    ],
)
def test_the_keyword_that_forbids_it_is_named(text: str, pointer: str) -> None:
    refusal = why(text)
    assert refusal.blame is not None and refusal.blame.pointer == pointer
    assert f"\n  forbidden by: #{pointer}, which " in refusal.drawn().plain


def test_alternatives_are_listed() -> None:
    schema = {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "string", "enum": ["abc"]}]}
    shown = why('"xyz"', schema).drawn().plain
    assert "#/anyOf, which allows it in none of its 2 branches" in shown
    assert "\n    #/anyOf/0/maxLength asks for at most 1 characters" in shown


# Hints


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mode":"celsius","id":3}', 'the order of the schema: "id" comes before "mode"'),
        (GOOD[:-1] + ',"tags":["x"],"note":""}', '"note" comes before "tags"'),
        (GOOD[:-1] + ',"id":4}', 'the object has a member "id" already'),
        ('{"id":3.0,', "written 3 it is allowed"),
        ('{"id":3,"mode":"celsi\\u0075s"', 'written "celsius" it is allowed'),
        ('{"id": 3}', "the layout is compact"),
        ('{"id":3,"mode":"celsius","on":True}', "JSON writes true"),
        ("{'id':3}", "in double quotes"),
        ("{id:3}", "names of members in double quotes"),
        ('{"id":NaN}', "JSON has no NaN"),
        ("// a number\n{}", "JSON has no comments"),
        (GOOD[:-1] + ",}", "no comma before a closing bracket"),
        (GOOD[:-1] + ',"tags":["x","y",]}', "no comma before a closing bracket"),
        ('{\n  "id": 3}', "the layout is compact"),
    ],
)
def test_hints(text: str, words: str) -> None:
    assert words in why(text).hint


def test_a_member_that_is_not_declared_in_a_closed_object() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}}}
    refusal = why('{"b":1}', schema)
    assert refusal.blame is None
    assert 'declares no member "b" at #;' in refusal.hint and "--open" in refusal.hint


def test_a_text_with_white_space_is_looked_at_without_it() -> None:
    spaced = json.dumps(json.loads(GOOD), indent=2)
    assert why(spaced).drawn().plain.endswith(f"written so it belongs to the language: {GOOD}")
    shown = why(spaced.replace("celsius", "celcius")).drawn().plain
    assert 'written so it is refused, too: line 1, column 20: expected "celsius"' in shown
    assert "forbidden by: #/properties/mode/enum" in shown


def test_a_space_that_is_missing_or_too_many_in_the_spaced_layout() -> None:
    for text in ('{"id":3, "mode": "celsius", "on": true}', '{ "id": 3}'):
        assert "the layout is spaced" in why(text, layout="spaced").hint


def test_white_space_in_a_string_is_no_matter_of_layout() -> None:
    refusal = why('{"id":3,"mode":"cel sius"')
    assert refusal.hint == "" and refusal.blame is not None


def test_a_file_name_in_the_place_of_a_text() -> None:
    Path("s.json").write_text(json.dumps(SCHEMA))
    Path("d.json").write_text(GOOD)
    shown = run("check", "s.json", "d.json", code=1)
    assert (
        "hint: d.json is a file; to check what is in it, give - and the file: - < d.json" in shown
    )
    assert run("check", "s.json", "-", code=0, stdin=GOOD) == "ok\n"


def test_a_schema_is_checked_without_a_tokenizer() -> None:
    Path("s.json").write_text(json.dumps({"$ref": "http://example.org/a"}))
    Path("a.json").write_text(json.dumps(SCHEMA))
    given = ("check", "s.json", "--ref", "http://example.org/a=a.json", "--layout", "spaced")
    assert run(*given, '{"id": 3, "mode": "celsius", "on": true}', code=0) == "ok\n"
    shown = run(*given, '{"id": 33}', code=1)
    assert "#http://example.org/a#/properties/id/maximum" in shown
    run("check", "s.json", "--tokens", "1", code=2)


def test_a_schema_too_large_for_the_table_is_named_in_a_hint() -> None:
    schema = {"title": "t" * (1 << 16), **SCHEMA}
    assert "does not keep a schema of this size" in why('{"id":"3"}', schema).hint
    Path("s.json").write_text(json.dumps(schema))
    assert "#/properties/id/type" in run("check", "s.json", '{"id":"3"}', code=1)


def test_a_table_of_other_documents_has_no_keyword_to_name() -> None:
    other = ("http://example.org/a", SCHEMA)
    refusal = why('{"id":"3"}', {"$ref": "http://example.org/a"}, refs=[other])
    assert refusal.blame is None and refusal.expected == ["a number"]


# JSON


def test_a_refusal_as_json() -> None:
    Path("s.json").write_text(json.dumps(SCHEMA))
    (found,) = json.loads(run("check", "s.json", "--json", '{"id":15}', code=1))
    assert (found["forbidden_by"], found["reason"]) == (
        "/properties/id/maximum", "asks for at most 14",
    )  # fmt: skip
    assert (found["byte"], found["found"], found["hint"]) == (7, "15", None)


@pytest.mark.parametrize(
    ("args", "code", "wanted"),
    [
        (["check", "no.npz", "a"], 1, {"error": "FileNotFoundError", "file": "no.npz"}),
        (["inspect", "no.npz"], 1, {"error": "FileNotFoundError"}),
        (["sample", "no.npz"], 1, {"error": "FileNotFoundError"}),
        (["verify", "bad.json"], 1, {"error": "TableError"}),
        (["diff", "bad.json", "re:a"], 1, {"error": "SchemaError", "line": 2, "column": 2,
                                           "pointer": "/minLength", "file": "bad.json"}),
        (["diff", "re:(", "re:a"], 1, {"error": "PatternError", "pattern": "("}),
        (["check", "bad.json", "a", "b"], 2, {"error": "UsageError"}),
        (["sample", "no.npz", "-n", "x"], 2, {"error": "UsageError"}),
        (["check", "bad.json"], 2, {"error": "UsageError"}),
    ],
)  # fmt: skip
def test_errors_as_json(args: list[str], code: int, wanted: dict[str, Any]) -> None:
    Path("bad.json").write_text('{\n "minLength": 3.5}')
    found = json.loads(run(*args, "--json", code=code))
    assert found["ok"] is False and found["message"]
    assert {name: found.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ('{"type": "strng"}', {"error": "SchemaError", "pointer": "/type", "line": 1, "column": 2}),
        ('{\n"type" "x"}', {"error": "SchemaError", "line": 2, "column": 8}),
        ('{"format":"regex"}', {"error": "UnsupportedSchema", "relaxable": True}),
        ('{"type":"string","pattern":"^(a|b)*a(a|b){40}$"}',
         {"error": "LimitError", "what": "DFA states", "limit": 500, "stage": "build the automaton"}),
    ],
)  # fmt: skip
def test_errors_of_a_compile_as_json(schema: str, wanted: dict[str, Any]) -> None:
    given = ("compile", "-", "-t", EXAMPLES, "-o", "t.npz", "--max-states", 500, "--json")
    (found,) = json.loads(run(*given, code=1, stdin=schema))["tables"]
    assert {name: found.get(name) for name in wanted} == wanted


# Options


def told(*args: object, code: int, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, [*map(str, args)], input=stdin)
    assert result.exit_code == code, result.output
    return " ".join(result.stderr.replace("│", " ").split())


def test_relax_is_spoken_of_as_an_option() -> None:
    given = ("compile", "-", "-t", EXAMPLES, "-o", "t.npz")
    schema = '{"properties":{"a":{"format":"regex"}}}'
    assert (
        "`--relax format@/properties/a` leaves it unenforced here, `--relax format` everywhere"
        in told(*given, code=1, stdin=schema)
    )
    assert (
        "standard input: `--relax format@/b` means nothing: there is no schema at #/b; the schema"
        " has format@/properties/a"
    ) in told(*given, "--relax", "format@/b", code=1, stdin=schema)
    assert not Path("t.npz").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["sample", "t", "-n", "x"], "'x' is not a whole number"),
        (["sample", "t", "-n", "-3"], "it is -3, and must be at least 0"),
        (["compile", "a", "-t", "x", "--timeout", "soon"], "'soon' is not a number"),
        (["compile", "a", "-t", "x", "--layout", "spced"], "'flexible'; did you mean spaced?"),
        (["compile", "a", "-t", "x", "--layuot", "spaced"], "did you mean --layout?"),
        (["chekc"], "Did you mean 'check'"),
    ],
)
def test_wrong_usage_is_told_in_plain_words(args: list[str], words: str) -> None:
    shown = told(*args, code=2)
    assert words in shown
    assert "Value error" not in shown and "Input should" not in shown

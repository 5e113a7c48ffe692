"""What a person reads after a mistake, beyond the cases of ``test_cli``: places, stages, folders."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from tokenizers_on_disk import EXAMPLES
from typer.testing import CliRunner

from constrain.cli.main import app
from constrain.errors import LimitError
from constrain.limits import MIB, Limits

SLOW = '{"type":"string","pattern":"^(a|b)*a(a|b){40}$"}'  # 2 ** 41 states


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def fail(*args: object, code: int = 1, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, [*map(str, args)], input=stdin)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"type" "object"}', '  {"type" "object"}\n          ^\n'),
        ('{\n "a": 1\n "b": 2}', 'line 3, column 2\n   "b": 2}\n   ^\n'),
        ("", "line 1, column 1\n  \n  ^\n"),
    ],
)
def test_what_is_not_json_is_shown_with_its_place(text: str, shown: str) -> None:
    assert shown in fail("compile", "-", "-t", EXAMPLES, "-o", "t.npz", stdin=text)


@pytest.mark.parametrize("option", [["--timeout", "0.2"], ["--max-states", "500"]])
def test_a_limit_names_its_option_and_the_stage(option: list[str]) -> None:
    shown = fail("compile", "-", "-t", EXAMPLES, "-o", "t.npz", *option, stdin=SLOW)
    assert f"\n  {option[0]} raises the limit" in shown
    assert shown.endswith("\n  reached at the stage: build the automaton\n")
    assert not list(Path().iterdir())


def test_amounts_in_messages_are_short() -> None:
    assert "1.08 of at most 1" in str(LimitError("seconds", 1.0833465, 1.0))
    assert "132 of at most 120" in str(LimitError("seconds", 131.7, 120))
    assert "1,234,567 of at most 200,000" in str(LimitError("states", 1234567, 200_000))


def test_the_help_names_the_limits_that_hold() -> None:
    result = CliRunner().invoke(app, ["compile", "--help"])
    words = re.sub(r"[\s│]+", " ", result.output)
    limits = asdict(Limits())
    for name in ("max_states", "max_memory", "max_output", "timeout"):
        amount = limits[name] // MIB if name in {"max_memory", "max_output"} else limits[name]
        option = "--" + name.replace("_", "-")
        assert re.search(rf"{option} .*?; {amount:,.0f} if not given", words), name


def test_a_table_is_not_written_into_a_folder_that_is_not() -> None:
    given = ("compile", "-r", "a", "-t", EXAMPLES, "-o", "nowhere/t.npz")
    assert "there is no folder nowhere" in fail(*given, code=2)
    assert not list(Path().iterdir())


@pytest.mark.parametrize("schemas", [["a.json"], ["a.json", "b.json"]])
def test_a_folder_that_got_no_table_is_not_left_behind(schemas: list[str]) -> None:
    for name in schemas:
        Path(name).write_text("[]")
    fail("compile", *schemas, "-t", EXAMPLES, "-o", "new/")
    assert not Path("new").exists()
    Path("old").mkdir()
    fail("compile", *schemas, "-t", EXAMPLES, "-o", "old/")
    assert Path("old").is_dir()


def test_a_file_that_cannot_be_written_is_named_itself() -> None:
    Path("t.npz").mkdir()
    Path("t.npz/t.npz").mkdir()  # a folder stands where the table should go
    Path("t.json").write_text('{"const":1}')
    shown = fail("compile", "t.json", "-t", EXAMPLES, "-o", "t.npz/")
    assert f"t.npz{os.sep}t.npz: " in shown and ".tmp" not in shown
    assert [path.name for path in Path("t.npz").iterdir()] == ["t.npz"]


def test_a_mistake_as_json() -> None:
    given = ["compile", "-", "-t", str(EXAMPLES), "-o", "t.npz", "--json"]
    result = CliRunner().invoke(app, given, input='{"type":"strng"}')
    (table,) = json.loads(result.stdout)["tables"]
    assert (table["ok"], table["error"]) == (False, "SchemaError")
    assert "at #/type, line 1" in table["message"]


def test_warnings_of_several_schemas_name_theirs() -> None:
    Path("a.json").write_text('{"type":"string","maxLenght":3,"_format":"date","x-formats":1}')
    Path("b.json").write_text('{"const":1}')
    given = ["compile", "a.json", "b.json", "-t", str(EXAMPLES)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "warning: a.json: 'maxLenght' at # is no keyword and constrains nothing;"
        " did you mean 'maxLength'?\n"
    )


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_long_line_is_cut_to_the_width_around_its_place(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    schema = json.dumps({"title": "t" * 300, "type": "strng", "examples": ["e" * 300]})
    shown = fail("compile", "-", "-t", EXAMPLES, "-o", "t.npz", stdin=schema)
    *_, line, carets = shown.splitlines()
    assert len(line) <= width and (line[2], line[-1]) == ("…", "…")
    assert line[carets.index("^") :][: carets.count("^")] == '"type"'


def test_a_byte_order_mark_does_not_hide_the_place() -> None:
    Path("t.json").write_text('{"type":"strng"}', encoding="utf-8-sig")
    shown = fail("compile", "t.json", "-t", EXAMPLES, "-o", "t.npz")
    assert shown.endswith('at #/type, line 1\n  {"type":"strng"}\n   ^^^^^^\n')


def test_no_control_character_of_a_stranger_reaches_the_terminal() -> None:
    name = "\x1b[31mred\x9b2J\u202e"
    schema = {"properties": {name: {"type": "null", "maxLenght": 1}}}
    Path("schema.json").write_text(json.dumps(schema), encoding="utf-8")
    told = fail("check", "schema.json", json.dumps({name: 1}))
    told += fail("compile", "schema.json", "-t", EXAMPLES, "-o", "t.npz", code=0)
    assert "#/properties/␛[31mred" in told and "maxLenght" in told
    assert not {"\x1b", "\x9b", "\u202e"} & set(told)

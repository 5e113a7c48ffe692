"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from constrain import __version__
from constrain.cli.main import app
from constrain.tables import Constraint, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.testing import Result

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "cli" / "examples"
SCHEMA = EXAMPLES / "tool_call.json"
GOOD = '{"city":"Oslo","days":3}'
RECURSIVE = {
    "$defs": {"n": {"type": "object", "properties": {"k": {"items": {"$ref": "#/$defs/n"},
                                                           "type": "array"}}}},
    "$ref": "#/$defs/n",
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONSTRAIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COLUMNS", "80")
        patch.setenv("NO_COLOR", "1")
        yield


def run(*args: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


def succeed(*args: object, stdin: str | bytes | None = None) -> str:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(*args: object, code: int = 1, stdin: str | bytes | None = None) -> str:
    result = run(*args, stdin=stdin)
    assert result.exit_code == code, result.output
    return result.output


def program(*args: object) -> list[str]:
    return [sys.executable, "-m", "constrain", *map(str, args)]


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "tool.npz"
    succeed("compile", SCHEMA, "-t", EXAMPLES, "-o", path)
    return path


@pytest.fixture(scope="module")
def nested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "nested.npz"
    succeed("compile", "-", "-t", EXAMPLES, "-o", path, stdin=json.dumps(RECURSIVE))
    return path


# Starting


def test_version() -> None:
    assert succeed("--version") == f"constrain {__version__}\n"


def test_every_command_has_help_with_an_example() -> None:
    helped = succeed("--help")
    for command in ("compile", "inspect", "sample", "check", "diff", "verify", "cache"):
        assert command in helped
        assert f"\n constrain {command}" in succeed(command, "--help")


def test_starting_loads_neither_numpy_nor_the_compiler() -> None:
    code = (
        "import sys; from constrain.cli.main import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'numpy', 'constrain.pipeline', 'referencing'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)


def test_python_dash_m() -> None:
    done = subprocess.run(
        program("--version"), check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout == f"constrain {__version__}\n"


def test_demo_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = succeed("demo")
    assert "$ constrain compile tool_call.json" in shown
    texts = shown.split("$ constrain sample")[1].splitlines()[1:6]
    assert all(set(json.loads(text)) >= {"city", "days"} for text in texts)
    assert not list(tmp_path.iterdir())


# Compile


def test_the_report_of_a_compile(tmp_path: Path) -> None:
    path = tmp_path / "tool.npz"
    shown = succeed("compile", SCHEMA, "-t", EXAMPLES / "tokenizer.json", "-o", path)
    for words in ("199 states", "for 8,000 tokens", "tightest", "loosest", "<|im_end|>", "time"):
        assert words in shown
    assert '{"city":"","days":0}' in shown
    assert not any(line.endswith(" ") for line in shown.splitlines())


def test_the_json_report(tmp_path: Path) -> None:
    path = tmp_path / "tool.npz"
    (table,) = json.loads(succeed("compile", SCHEMA, "-t", EXAMPLES, "-o", path, "--json"))[
        "tables"
    ]
    assert table["ok"] and table["bytes"] == path.stat().st_size
    assert table["states"] == load(path).n_states
    assert sum(n for _, _, n in table["histogram"]) == table["states"]
    assert table["source"]["text"] == SCHEMA.read_text()
    assert "write the table" in table["seconds"]


def test_equal_input_gives_equal_files(tmp_path: Path, tool: Path) -> None:
    succeed("compile", SCHEMA, "-t", EXAMPLES, "-o", tmp_path / "a.npz", "-q", "--no-cache")
    succeed("compile", "-", "-t", EXAMPLES, "-o", tmp_path / "b.npz", stdin=SCHEMA.read_bytes())
    assert tool.read_bytes() == (tmp_path / "a.npz").read_bytes()
    assert tool.read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_quiet_and_verbose(tmp_path: Path) -> None:
    given = ("compile", "-r", "a+", "-t", EXAMPLES, "-o", tmp_path / "a.npz")
    assert run(*given, "-q").output == ""
    assert "s  build the automaton" in run(*given, "-v").stderr


def test_the_name_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    succeed("compile", SCHEMA, "-t", EXAMPLES)
    succeed("compile", SCHEMA, "-t", EXAMPLES, "-o", f"new{os.sep}")
    assert Path("tool_call.npz").is_file() and Path("new/tool_call.npz").is_file()
    assert "--output" in fail("compile", "-r", "a", "-t", EXAMPLES, code=2)


def test_options_reach_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    schema = '{"type":"array","items":{"type":"integer","multipleOf":7},"maxItems":9}'
    succeed(
        "compile", "-", "-t", EXAMPLES, "-o", path, "--layout", "spaced", "--cap-items", 2,
        "--relax", "multipleOf", "--vocab-size", 9000, "--eos", 0, "--compress", stdin=schema,
    )  # fmt: skip
    assert load(path).n_tokens == 9000 and load(path).eos.tolist() == [0]
    assert succeed("check", path, "[1, 2]") == "ok\n"
    fail("check", path, "[1,2]")
    fail("check", path, "[1, 2, 3]")
    shown = succeed("inspect", path)
    assert "multipleOf" in shown and "spaced layout" in shown


def test_references_to_other_files(tmp_path: Path) -> None:
    (tmp_path / "word.json").write_text('{"enum":["yes"]}')
    ref = f"https://example.org/word={tmp_path / 'word.json'}"
    schema = '{"$ref":"https://example.org/word"}'
    path = tmp_path / "t.npz"
    succeed("compile", "-", "-t", EXAMPLES, "-o", path, "--ref", ref, stdin=schema)
    assert succeed("check", path, '"yes"') == "ok\n"


def test_a_misspelt_keyword_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    result = run(
        "compile", "-", "-t", EXAMPLES, "-o", path, stdin='{"items":{"type":"null","maxLenght":3}}'
    )
    assert "'maxLenght' at #/items" in result.stderr and "'maxLength'" in result.stderr


# Failing


def test_a_failed_compile_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    path.write_bytes(b"old")
    shown = fail("compile", "-r", "a(?=b)c", "-t", EXAMPLES, "-o", path)
    assert "  a(?=b)c\n   ^^^\n" in shown
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_schema_error_shows_the_line(tmp_path: Path) -> None:
    schema = '{\n  "type": "object",\n  "properties": {\n    "a/b": {"type": "strng"}\n  }\n}\n'
    shown = fail("compile", "-", "-t", EXAMPLES, "-o", tmp_path / "t.npz", stdin=schema)
    assert "at #/properties/a~1b/type, line 4\n" in shown
    assert '      "a/b": {"type": "strng"}\n              ^^^^^^\n' in shown


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["compile", "missing.json", "-t", EXAMPLES], "missing.json: No such file"),
        (["compile", SCHEMA, "-t", EXAMPLES, "--eos", "<|im_ende|>"], "<|im_end|>"),
        (["compile", SCHEMA, "-t", EXAMPLES, "--timeout", "0"], "--timeout raises"),
        (["compile", "-r", "a{900}", "-t", EXAMPLES, "-o", "t.npz", "--max-states", "9"],
         "--max-states raises"),
        (["inspect", "missing.npz"], "missing.npz: No such file"),
        (["inspect", SCHEMA], "looks like JSON"),
        (["diff", "[0-9]", "re:a"], "re:PATTERN"),
    ],
)  # fmt: skip
def test_mistakes_exit_1(
    args: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = fail(*args)
    assert shown.startswith("error: ") and words in shown
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["compil"], "compile"),
        (["compile", SCHEMA], "--tokenizer"),
        (["compile", "-t", EXAMPLES], "schema"),
        (["compile", SCHEMA, "-r", "a", "-t", EXAMPLES], "not both"),
        (["compile", SCHEMA, "-t", EXAMPLES, "--layuot", "spaced"], "--layout"),
        (["compile", SCHEMA, "-t", EXAMPLES, "--relax", "requird"], "required"),
        (["check", "t.npz"], "--tokens"),
        (["inspect", "t.npz", "--state", "1", "--after", "a"], "--after"),
    ],
)
def test_wrong_usage_exits_2(args: list[str], words: str) -> None:
    assert words in fail(*args, code=2)


def test_a_bug_keeps_its_traceback(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("constrain.cli.facts.facts", broken)
    assert isinstance(run("inspect", tool).exception, ZeroDivisionError)


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts by signal")
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    pattern = "(a|b)*a(a|b){24}"  # 2 ** 25 states
    with subprocess.Popen(
        program("compile", "-r", pattern, "-t", EXAMPLES, "-o", tmp_path / "t.npz", "-v",
                "--max-states", 10**9),
        stderr=subprocess.PIPE, text=True, cwd=ROOT,
        # A shell starts background jobs with interrupts ignored, which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:  # fmt: skip
        assert process.stderr is not None
        while "read the source" not in process.stderr.readline():
            pass  # the next stage, which would take minutes, has begun
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("interrupted; nothing was written\n")
    assert not list(tmp_path.iterdir())


# Several schemas


def test_one_bad_schema_costs_one_table(tmp_path: Path) -> None:
    names = []
    for number in range(10):
        schema = {"const": number} if number != 7 else {"type": "string", "pattern": r"\bx"}
        (tmp_path / f"s{number}.json").write_text(json.dumps(schema))
        names.append(tmp_path / f"s{number}.json")
    out = tmp_path / "tables"
    done = subprocess.run(
        program("compile", *names, "-t", EXAMPLES, "-o", out, "--jobs", 2),
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.endswith(f"9 tables written, 1 failed: {names[7]}\n")
    assert "s7.json" in done.stderr and "at #/pattern, line 1" in done.stderr
    assert {path.stem for path in out.iterdir()} == {f"s{n}" for n in range(10) if n != 7}
    assert succeed("check", out / "s9.npz", "9") == "ok\n"


def test_several_schemas_give_the_files_of_each_alone(tmp_path: Path, tool: Path) -> None:
    (tmp_path / "b.json").write_text("{}")
    shown = json.loads(
        succeed("compile", SCHEMA, tmp_path / "b.json", "-t", EXAMPLES, "-o", tmp_path, "--json")
    )
    assert [table["ok"] for table in shown["tables"]] == [True, True]
    assert (tmp_path / "tool_call.npz").read_bytes() == tool.read_bytes()


def test_two_schemas_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tool_call.json").write_text("{}")
    given = ("compile", SCHEMA, tmp_path / "tool_call.json", "-t", EXAMPLES, "-o", tmp_path)
    assert "would both be written" in fail(*given, code=2).replace("\n", " ").replace(" │ │ ", " ")


def test_nested_alternatives_stop_at_a_limit_and_compile_within(tmp_path: Path) -> None:
    schema: object = {"const": 0}
    for depth in range(8):
        member = {"type": "object", "properties": {f"m{depth}": schema}}
        schema = {"oneOf": [member, {"type": "array", "items": schema}]}
    given = ("compile", "-", "-t", EXAMPLES, "-o", tmp_path / "t.npz", "-q")
    shown = fail(*given, "--max-states", 50, stdin=json.dumps(schema))
    assert "--max-states raises the limit" in shown
    assert not list(tmp_path.iterdir())
    succeed(*given, stdin=json.dumps(schema))
    assert succeed("check", tmp_path / "t.npz", '{"m7":[{"m5":[]}]}') == "ok\n"


def test_a_wide_schema_compiles(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(1200)]  # beyond Python's recursion limit
    schema = {"type": "object", "required": names,
              "properties": {name: {"type": "boolean"} for name in names}}  # fmt: skip
    path = tmp_path / "wide.npz"
    succeed("compile", "-", "-t", EXAMPLES, "-o", path, "-q", stdin=json.dumps(schema))
    text = json.dumps(dict.fromkeys(names, True), separators=(",", ":"))
    assert succeed("check", path, "-", stdin=text) == "ok\n"


# Inspect


def test_inspect_tells_the_story(tool: Path) -> None:
    shown = succeed("inspect", tool)
    for words in (
        "JSON schema 'get_weather'", "compact layout", "fingerprint c7c5bcb8e681", "92 distinct",
        "nothing: every constraint is enforced", "<|im_start|>", "1 token ", "shortest", "samples",
    ):  # fmt: skip
        assert words in shown
    assert max(map(len, shown.splitlines()[1:])) <= 80  # the first line begins with a long path


@pytest.mark.parametrize("width", [40, 160])
def test_inspect_fits_its_width(tool: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = succeed("inspect", tool.name if tool.parent == Path() else tool).splitlines()
    assert max(map(len, lines[2:])) <= width


def test_inspect_names_tokens_chosen_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "cat.npz"
    succeed("compile", "-r", "cat", "-t", EXAMPLES, "-o", path, "-q", "--forbid-token", "cat")
    assert "forbidden  cat (--forbid-token)" in succeed("inspect", path)


def test_inspect_frames(nested: Path) -> None:
    shown = succeed("inspect", nested)
    assert "Frames" in shown and "recursive" in shown
    state = json.loads(succeed("inspect", nested, "--after", '{"k":[{', "--json"))
    assert state["open_frames"] == 3
    assert state["completion"] == "}]}"


def test_one_state(tool: Path) -> None:
    shown = succeed("inspect", tool, "--after", '{"city":"Oslo","days":1')
    assert "',', '}' or a digit" in shown and "an end is 1 token away" in shown
    by_text = json.loads(succeed("inspect", tool, "--after", '{"city":"a', "--json"))
    by_number = json.loads(succeed("inspect", tool, "--state", by_text["state"], "--json"))
    assert by_number["groups"] == by_text["groups"]
    assert by_text["allowed"] == sum(group["count"] for group in by_text["groups"])
    assert 'forced         "city":"' in succeed("inspect", tool, "--after", "{")


def test_every_state_can_be_shown(nested: Path) -> None:
    table = load(nested)
    assert table.frames is not None
    for state in range(table.n_states):
        result = run("inspect", nested, "--state", state, "--json")
        if table.frames.pop[state] < 0:
            assert result.exit_code == 0, result.output
            assert json.loads(result.stdout)["state"] == state
        else:
            assert "leads to state" in result.output


def test_a_state_that_is_not(tool: Path) -> None:
    assert 'line 1, column 3: expected "city", not "x' in fail("inspect", tool, "--after", '{"x')
    assert "0 to 198" in fail("inspect", tool, "--state", 999, code=2)


# Check


def test_a_text_that_belongs(tool: Path) -> None:
    assert succeed("check", tool, GOOD) == "ok\n"
    assert succeed("check", tool, "-", stdin=GOOD + "\n") == "ok\n"
    assert succeed("check", tool, GOOD, "--tokenizer", EXAMPLES) == "ok\n"


def test_a_text_that_does_not(tool: Path) -> None:
    assert fail("check", tool, '{"city":"Oslo","days":"3"}') == (
        'refused: line 1, column 23: expected a number, not "3"\n'
        '  {"city":"Oslo","days":"3"}\n'
        "                        ^\n"
        "  forbidden by: #/properties/days/type, which asks for integer\n"
        '  could be completed: {"city":"Oslo","days":0}\n'
    )


def test_a_text_that_ends_too_early(tool: Path) -> None:
    assert "ends too early: expected ',', '}' or a digit" in fail("check", tool, GOOD[:-1])


def test_a_text_that_goes_on(tool: Path) -> None:
    shown = fail("check", tool, GOOD + "x")
    assert "expected the end" in shown and f"belongs to the language: {GOOD}" in shown


def test_lines(tool: Path) -> None:
    shown = fail("check", tool, "--lines", "-", stdin=f"{GOOD}\n{{}}\n{GOOD}\n")
    assert "text 2: refused" in shown and shown.endswith("3 texts, 1 refused\n")


def test_tokens(tool: Path) -> None:
    table = load(tool)
    run_ = Constraint(table)
    ids = []
    while not run_.is_complete():
        ids.append(run_.forced_tokens()[0] if run_.forced_tokens() else _shortest(run_))
        run_.advance(ids[-1])
    assert succeed("check", tool, "--tokens", ",".join(map(str, [*ids, 2]))) == "ok\n"
    assert "not complete" in fail("check", tool, "--tokens", ids[0])
    wrong = next(t for t in range(table.n_tokens) if table.token(t) == b"y")
    shown = fail("check", tool, "--tokens", f"{ids[0]},{wrong}")
    assert f"token 2 of 2, id {wrong} 'y', dies at its first byte" in shown
    assert "the text is not complete" in fail("check", tool, "--tokens", 2)


def _shortest(run_: Constraint) -> int:
    """Return a token that leads to the end soonest, found by trying all of them."""
    best = (10**9, 0)
    for token_id in run_.mask().nonzero()[0].tolist():
        trial = run_.fork()
        trial.advance(token_id)
        best = min(best, (int(run_.table.tokens_to_end[trial.state]), token_id))
    return best[1]


def test_check_as_json(tool: Path) -> None:
    (found,) = json.loads(fail("check", tool, "--json", '{"city":"ö\n'))
    assert (found["line"], found["column"], found["byte"]) == (1, 11, 11)
    assert found["prefix"] + found["completion"] == '{"city":"ö","days":0}'


# Sample


@pytest.mark.parametrize("more", [[], ["--uniform"], ["--budget", "12"]])
def test_samples_belong_and_repeat(tool: Path, more: list[str]) -> None:
    shown = succeed("sample", tool, "-n", 20, "--seed", 3, "--json", *more)
    assert shown == succeed("sample", tool, "-n", 20, "--seed", 3, "--json", *more)
    for line in shown.splitlines():
        drawn = json.loads(line)
        assert drawn["tokens"][-1] == 2
        assert Constraint(load(tool)).validate(drawn["tokens"]) == len(drawn["tokens"])
        assert set(json.loads(drawn["text"])) >= {"city", "days"}
        if more[:1] == ["--budget"]:
            assert len(drawn["tokens"]) <= 12


def test_a_budget_that_is_too_small(tool: Path) -> None:
    assert "the shortest text takes 9 tokens" in fail("sample", tool, "--budget", 3)


def test_samples_of_frames(nested: Path) -> None:
    for line in succeed("sample", nested, "-n", 20, "--uniform").splitlines():
        assert set(json.loads(line)) <= {"k"}


# Diff, verify, cache, support


@pytest.mark.parametrize(
    ("a", "b", "code", "words"),
    [
        ("re:a|b", "re:[ab]", 0, "equal"),
        ("re:a", "re:a|bb", 3, "only B  bb"),
        ("re:a*", "re:a", 4, "only A  (the empty text)"),
        ("re:a", "re:b", 5, "only A  a"),
    ],
)
def test_diff_of_patterns(a: str, b: str, code: int, words: str) -> None:
    result = run("diff", a, b)
    assert result.exit_code == code
    assert words in result.stdout


def test_diff_of_a_table_and_its_schema(tool: Path) -> None:
    assert "equal" in succeed("diff", tool, SCHEMA)


def test_diff_of_frames(nested: Path, tmp_path: Path) -> None:
    same, other = tmp_path / "same.json", tmp_path / "other.json"
    same.write_text(json.dumps(RECURSIVE))
    assert "equal" in succeed("diff", nested, same)
    wider = json.loads(json.dumps(RECURSIVE))
    wider["$defs"]["n"]["properties"]["z"] = {"type": "null"}
    other.write_text(json.dumps(wider))
    result = run("diff", nested, other, "--json")
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert found["only_a"] is None and json.loads(found["only_b"]) == {"z": None}
    assert not found["exact"] and found["depth"] == 3


def test_diff_of_frames_that_need_no_depth(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"type":"array","items":{"type":"integer"}}')
    framed, plain = tmp_path / "framed.npz", tmp_path / "plain.npz"
    succeed("compile", path, "-t", EXAMPLES, "-o", framed, "--frames", "always")
    succeed("compile", path, "-t", EXAMPLES, "-o", plain, "--frames", "never")
    assert not load(framed).is_plain and load(plain).is_plain
    shown = succeed("diff", framed, plain)
    assert "depth" not in shown and "frames  A always, B never" in shown


def test_verify(tool: Path, tmp_path: Path) -> None:
    assert "199 of 199 states" in succeed("verify", tool, "--all", "--tokenizer", EXAMPLES)
    broken = bytearray(tool.read_bytes())
    broken[len(broken) // 2] ^= 4
    path = tmp_path / "broken.npz"
    path.write_bytes(broken)
    assert fail("verify", path).startswith(f"error: {path}: ")


def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path / "c"))
    assert "0 vocabularies" in succeed("cache")
    succeed("compile", "-r", "a", "-t", EXAMPLES, "-o", tmp_path / "a.npz", "--no-cache", "-q")
    assert "0 vocabularies" in succeed("cache")
    succeed("compile", "-r", "a", "-t", EXAMPLES, "-o", tmp_path / "a.npz", "-q")
    assert len(json.loads(succeed("cache", "show", "--json"))["entries"]) == 1
    assert "removed 1 vocabulary" in succeed("cache", "clear")


def test_schema_support() -> None:
    rows = json.loads(succeed("schema-support", "--json"))
    assert {"type", "$ref", "unevaluatedProperties"} <= {row["keyword"] for row in rows}
    assert "patternProperties" in succeed("schema-support")

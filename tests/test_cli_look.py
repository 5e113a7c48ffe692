"""Looking at tables: what is said of their origin, texts on one line, the demo's folder, the cache."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
import typer.main
from hand_tables import brackets_table
from rich.cells import cell_len
from typer.testing import CliRunner

from constrain.cli.main import app
from constrain.limits import Limits
from constrain.tables import load
from constrain.tables.verify import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "cli" / "examples"
SCHEMA = EXAMPLES / "tool_call.json"
LONG = '{"const":"%s"}' % ("a long text 長い文 " * 12)
NESTED = '{"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}},"$ref":"#/$defs/n"}'


@pytest.fixture(autouse=True, scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONSTRAIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COLUMNS", "80")
        patch.setenv("NO_COLOR", "1")
        yield


def run(*args: object, code: int = 0, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)
    assert result.exit_code == code, result.output
    return result.output


def compiled(path: Path, *args: object, stdin: str | None = None) -> str:
    return run("compile", *args, "-o", path, stdin=stdin)


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "tool.npz"
    compiled(path, SCHEMA, "-t", EXAMPLES)
    return path


# Where output goes


def test_several_schemas_do_not_go_into_one_file(tmp_path: Path) -> None:
    output = tmp_path / "both.npz"
    other = shutil.copy(SCHEMA, tmp_path / "other.json")
    said = run("compile", SCHEMA, other, "-t", EXAMPLES, "-o", output, code=2)
    said = " ".join(said.replace("│", " ").split())
    assert "is one table; several schemas make several, so give a folder" in said
    assert not output.exists()
    output.mkdir()
    run("compile", SCHEMA, other, "-t", EXAMPLES, "-o", output)
    assert sorted(p.name for p in output.iterdir()) == ["other.npz", "tool_call.npz"]


# What is said of a table


def row(shown: str, name: str) -> str:
    """Return what is said under a name, without line breaks."""
    found = re.search(rf"^  {name} +(.*(?:\n {{{len(name) + 4},}}\S.*)*)", shown, re.MULTILINE)
    assert found, shown
    return " ".join(found[1].split())


def test_who_named_the_end_of_text(tmp_path: Path, tool: Path) -> None:
    alone = shutil.copy(EXAMPLES / "tokenizer.json", tmp_path)
    given = {
        "with <|im_end|> (2), named by tokenizer_config.json": ("-t", EXAMPLES),
        "with <|im_end|> (2), as --eos says": ("-t", EXAMPLES, "--eos", "<|im_end|>"),
        "with <|endoftext|> (0) or <|im_end|> (2), guessed by its name": ("-t", alone),
    }
    for words, args in given.items():
        path = tmp_path / "a.npz"
        assert row(compiled(path, "-r", "a+", *args), "text ends") == words
        assert row(run("inspect", path), "text ends") == words
    assert json.loads(run("inspect", tool, "--json"))["tokenizer"]["eos_origin"] == (
        "tokenizer_config.json"
    )


def test_the_limits_of_a_table(tmp_path: Path, tool: Path) -> None:
    assert row(run("inspect", tool), "limits") == (
        "as by default: 200,000 states, 2.0 GiB of memory, 2.0 GiB of output, 120 s"
    )
    path = tmp_path / "a.npz"
    compiled(path, "-r", "a+", "-t", EXAMPLES, "--timeout", 7, "--max-states", 500)
    assert row(run("inspect", path), "limits") == (
        "500 states, 2.0 GiB of memory, 2.0 GiB of output, 7 s"
    )
    assert json.loads(run("inspect", path, "--json"))["limits"]["timeout"] == 7


def test_a_limit_may_be_infinite(tmp_path: Path) -> None:
    import constrain

    path, limits = tmp_path / "a.npz", Limits(timeout=float("inf"), max_repeat=7)
    constrain.compile(regex="a", tokenizer=str(EXAMPLES), limits=limits, output=path)
    assert load(path).meta["limits"]["timeout"] is None
    assert row(run("inspect", path), "limits").endswith("timeout unbounded, 7 repeat")


@pytest.mark.parametrize("name", ["plain_1.npz", "framed_1.npz"])
def test_files_written_before_say_less(name: str) -> None:
    shown = run("inspect", ROOT / "tests" / "golden" / name)
    assert "limits" not in shown and row(shown, "text ends") == "with id 268"


ODD = [
    None, True, 7, 1e300, "\x1b[2J\0\u2028", [], [[]], {}, {"": None},
    [{"state": 0, "name": "\x1b "}],
    {"left_out": {"\x1b": {"count": 3, "tokens": [[1, "\x1b"], 2]}}, "eos_origin": "\x1b"},
    {"kind": "regex", "text": "\x1b", "sha256": "\x1b", "allow": ["\x1b"]},
    {"actions": "\x1b", "traps": [1]},
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_whatever_a_file_says_of_itself_can_be_shown(odd: object, tmp_path: Path) -> None:
    """Metadata may come from a stranger: it is shown without control characters, or left out."""
    written = ("source", "package", "options", "limits", "relaxed", "notes", "frames", "tokenizer")
    meta = dict.fromkeys([*written, "missing_bytes", "counts"], odd)
    path, picture, page = (tmp_path / name for name in ("odd.npz", "a.svg", "a.html"))
    brackets_table(**meta).save(path)
    shown = run("inspect", path, "--samples", 0)
    assert "18 states" in shown
    shown += run("graph", path, "-o", picture) + run("report", path, "-o", page)
    shown += run("diff", path, path)
    assert not re.search(r"[\0-\x09\x0b-\x1f\u2028]", shown)
    ElementTree.fromstring(picture.read_text(encoding="utf-8"))


# Texts on one line


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_texts_are_cut_and_never_wrapped(
    columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    path = tmp_path / "a.npz"
    for shown in (compiled(path, "-", "-t", EXAMPLES, stdin=LONG), run("inspect", path)):
        for name in ("shortest", "samples"):
            (line,) = re.findall(rf"^  {name} .*$", shown, re.MULTILINE)
            assert line.endswith("…") and columns - 2 <= cell_len(line) <= columns
    assert json.loads(run("sample", path, "-n", 1)) == json.loads(LONG)["const"]


def test_a_terminal_shows_one_text_a_line(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
    path = tmp_path / "a.npz"
    compiled(path, "-r", "a\n\x1b{3}b", "-t", EXAMPLES)
    assert run("sample", path, "-n", 1) == "a\n\x1b\x1b\x1bb\n"
    (line,) = run("sample", path, "-n", 1, "--json").splitlines()
    assert json.loads(line)["text"] == "a\n\x1b\x1b\x1bb"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "constrain", "sample", str(path), "-n", "2"]
    subprocess.run(command, check=True, stdout=theirs, stderr=theirs, cwd=ROOT)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert shown == 2 * "a\\n\\x1b\\x1b\\x1bb\r\n"


# The demo


def test_the_demo_keeps_what_it_made(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    shown = run("demo", "--keep", folder)
    names = ["tokenizer.json", "tokenizer_config.json", "tool.npz", "tool_call.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert f"tool.npz are in {folder}" in shown and f"$ cd {folder}" in shown
    assert "is sound" in run("verify", folder / "tool.npz", "-t", folder)
    assert f"tool.npz are in {folder}" in run("demo", "--keep", folder)
    (folder / "tool_call.json").write_text("{}")
    assert "already; give --keep another folder" in run("demo", "--keep", folder, code=1)
    assert (folder / "tool_call.json").read_text() == "{}"


# The cache


def test_the_cache_says_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("CONSTRAIN_CACHE", str(cache))
    monkeypatch.chdir(EXAMPLES.parent)
    compiled(tmp_path / "a.npz", "-r", "a", "-t", "examples")
    (cache / "odd.vocabulary").write_bytes(b"junk")
    os.utime(cache / "odd.vocabulary", (1e9, 1e9))
    source = str(EXAMPLES / "tokenizer.json")
    first, second = run("cache").splitlines()[2:]
    assert first.split() == [*first.split()[:2], "8,000", "tokens", "used", "just", "now", source]
    assert re.fullmatch(r" +4 bytes +used [\d,]+ days ago +unknown \(odd\.vocabula…\)", second)
    for args in (("cache", "--json"), ("cache", "show", "--json")):
        entries = json.loads(run(*args))["entries"]
        assert [(e["tokenizer"], e["tokens"]) for e in entries] == [(source, 8000), ("", 0)]


# verify


def test_verify_says_what_was_checked(tmp_path: Path, tool: Path) -> None:
    shown = run("verify", tool)
    assert "the masks of 64 of 199 states" in shown and "--all checks every state" in shown
    path = tmp_path / "nested.npz"
    compiled(path, "-", "-t", EXAMPLES, stdin=NESTED)
    table = load(path)
    assert table.frames is not None
    closing = int((table.frames.pop >= 0).sum())
    n_states = table.n_states
    assert f"{SAMPLE} masks met by random texts" in run("verify", path)
    shown = " ".join(run("verify", path, "--all").split())
    every = f"the masks of {n_states - closing} of {n_states} states, each after one text"
    assert every in shown and f"{closing} state, passed only while frames close" in shown
    assert json.loads(run("verify", path, "--all", "--json")) == {
        "checked": n_states - closing + SAMPLE,
        "states_checked": n_states - closing,
        "states": n_states,
        "states_without_mask": closing,
        "tokens": 8000,
    }


# help


def test_help_names_no_types_of_python() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for words in [(), ("cache", "show"), ("cache", "clear"), *((name,) for name in commands)]:
        shown = run(*words, "--help")
        assert not re.search(r"<(?:bool|path|int|float|str|list)|\{FILE|range>|BOOLEAN", shown), (
            shown
        )


def test_the_words_of_inspect_are_explained(tool: Path) -> None:
    words = " ".join(run("help", "formats").lower().split())
    assert "`constrain help formats` explains the words" in run("inspect", tool)
    explained = """accepting, mask row, token action, fingerprint, left out, tightest, relaxed, traps,
        longest token, forced, completion, end of text (eos)"""
    for word in explained.split(","):
        assert word.strip() in words

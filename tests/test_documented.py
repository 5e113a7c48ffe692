"""What the documents name exists: commands, options, targets of the Makefile, files that are linked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from constrain.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "cli/*/*.md", "tables/*.md", "tests/**/*.md")
    for path in ROOT.glob(pattern)
)
FOREIGN = {"--grammar-backend"}  # of SGLang
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def options() -> set[str]:
    """Return all options of all commands."""
    found = {"--help", "--version", "--install-completion", "--show-completion"}
    waiting = list(COMMANDS.values())
    for command in waiting:
        waiting += getattr(command, "commands", {}).values()
        found |= {name for parameter in command.params for name in parameter.opts}
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_option_that_a_document_names_is_one(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert named - FOREIGN <= options()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_that_a_document_names_is_one(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"(?:`|\$ |^|&& )constrain ([a-z][a-z-]*)\b(?! \d)", text, re.MULTILINE)
    assert set(named) <= COMMANDS.keys()


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md"])
def test_every_command_is_named(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    missing = [each for each in COMMANDS if not re.search(rf"\b{each}\b", text)]
    assert not missing


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_to_a_file_leads_to_one(name: str) -> None:
    path = ROOT / name
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_command_is_helped_by_a_sentence_and_an_example() -> None:
    for name, command in COMMANDS.items():
        first, _, rest = command.help.partition("\n")
        assert first.endswith("."), name
        if any(parameter.param_type_name == "argument" for parameter in command.params):
            assert f"constrain {name} " in rest, name


def test_the_makefile_defines_each_of_its_targets_once() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    declared = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert declared
    defined = re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE)
    assert sorted(defined) == sorted(declared[1].split())

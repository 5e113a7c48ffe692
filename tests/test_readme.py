"""The README tells the truth: its tables are made from the code (its examples run as doctests)."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tokenizers_on_disk import EXAMPLES

from constrain.schema.support import support_table

README = Path(__file__).resolve().parent.parent / "README.md"
MARK, END = "<!-- schema-support -->\n", "<!-- /schema-support -->"


def markdown() -> str:
    """Return the table of keywords as the README has it."""
    lines = ["| keyword | drafts | enforced | limits |", "|---|---|---|---|"]
    lines += [
        "| " + " | ".join([f"`{name}`", *cells]).replace("\\", "\\\\").strip() + " |"
        for name, *cells in support_table()
    ]
    return "\n".join(lines) + "\n"


def test_table_of_keywords_is_that_of_the_code() -> None:
    text = README.read_text(encoding="utf-8")
    assert text[text.index(MARK) + len(MARK) : text.index(END)] == markdown()


def commands() -> list[tuple[str, str]]:
    """Return the commands of the README's console blocks, and what each prints."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def test_commands_print_what_the_readme_shows(tmp_path: Path) -> None:
    for name in ("tool_call.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    wider = json.loads((tmp_path / "tool_call.json").read_text())
    wider["properties"]["units"]["enum"].append("kelvin")
    (tmp_path / "wider.json").write_text(json.dumps(wider))
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}

    def run(command: str) -> str:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
        )
        return done.stdout + done.stderr

    run("constrain compile tool_call.json --tokenizer tokenizer.json -o tool.npz")
    shown = commands()
    assert len(shown) >= 4
    for command, output in shown:
        lines = [line.rstrip() for line in run(command).rstrip().split("\n")]
        assert lines == output.rstrip().split("\n"), command


def test_the_two_commands_stand_as_ci_runs_them() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert lines.count("pip install . && constrain demo") == 1
    assert lines.count("pip install -e '.[test]' && pytest") == 1


if __name__ == "__main__":  # rewrite the table: python tests/test_readme.py
    text = README.read_text(encoding="utf-8")
    before, after = text[: text.index(MARK) + len(MARK)], text[text.index(END) :]
    README.write_text(before + markdown() + after, encoding="utf-8")

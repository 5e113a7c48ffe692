"""The README tells the truth: its tables are made from the code (its examples run as doctests)."""

from __future__ import annotations

from pathlib import Path

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


def test_the_two_commands_stand_as_ci_runs_them() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert lines.count("pip install . && constrain demo") == 1
    assert lines.count("pip install -e '.[test]' && pytest") == 1


if __name__ == "__main__":  # rewrite the table: python tests/test_readme.py
    text = README.read_text(encoding="utf-8")
    before, after = text[: text.index(MARK) + len(MARK)], text[text.index(END) :]
    README.write_text(before + markdown() + after, encoding="utf-8")

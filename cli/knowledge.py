"""``constrain help``: what the README says of formats, schemas, tokenizers and hosts, offline.

Each topic is a Markdown file in ``topics``; its first line is the title. ``schema`` ends with the
table of keywords, which is made from the code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

TOPICS = Path(__file__).with_name("topics")
NAMES = ("formats", "schema", "tokenizers", "hosts")


def help(
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help=f"One of {', '.join(NAMES)}.")
    ] = None,
) -> None:
    """Explain the formats, what of JSON schema is enforced, tokenizers, and how hosts use a table.

    constrain help
    constrain help tokenizers
    """
    from constrain.cli.terminal import facts_grid, out, show

    console = out()
    if topic is None:
        console.print("Topics; `constrain help TOPIC` shows one:\n")
        show(console, facts_grid([(name, title(name)) for name in NAMES]))
        console.print("\n`constrain COMMAND --help` explains a command.")
        return
    if topic not in NAMES:
        import difflib

        near = difflib.get_close_matches(topic, NAMES, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise typer.BadParameter(f"{hint}topics are {', '.join(NAMES)}", param_hint="TOPIC")
    _print(topic, console)


def text(topic: str) -> str:
    """Return a topic as Markdown, its title being the first line."""
    return (TOPICS / f"{topic}.md").read_text(encoding="utf-8")


def title(topic: str) -> str:
    """Return the title of a topic."""
    return text(topic).partition("\n")[0].removeprefix("# ")


def _print(topic: str, console: Console) -> None:
    from rich.markdown import Markdown

    from constrain.cli.support import keywords
    from constrain.cli.terminal import heading, show

    console.print(heading(title(topic)), end="\n\n")
    show(
        console, Markdown(text(topic).partition("\n")[2].strip(), code_theme="bw", hyperlinks=False)
    )
    if topic == "schema":
        console.print()
        keywords(console)

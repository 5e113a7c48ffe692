"""``constrain schema-support``: the keywords of JSON schema and how each is enforced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.cli import options as o

if TYPE_CHECKING:
    from rich.console import Console


def schema_support(*, json: o.Json = False) -> None:
    """List the keywords of JSON schema, and how each is enforced."""
    from constrain.cli.terminal import out, print_json
    from constrain.schema.support import support_table

    rows = support_table()
    if json:
        names = ("keyword", "drafts", "meaning", "limits")
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    keywords(out())


def keywords(console: Console) -> None:
    """Print the table of keywords."""
    from rich.table import Table as Grid
    from rich.text import Text

    from constrain.cli.terminal import show
    from constrain.schema.support import support_table

    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("keyword", "drafts"):
        grid.add_column(name, no_wrap=True)
    grid.add_column("what is enforced, and what is not", ratio=1)
    for keyword, drafts, meaning, limits in support_table():
        about = Text(meaning)
        if limits:
            about.append(f"; {limits}", style="yellow")
        grid.add_row(Text(keyword, style="cyan"), drafts, about)
    show(console, grid)
    console.print(
        "\nKeywords not listed are no constraints, as the standard has it. What cannot be enforced"
        " exactly is refused by name; --relax leaves it out on purpose."
    )

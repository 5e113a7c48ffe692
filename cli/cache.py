"""``constrain cache``: the vocabularies that are kept so that a tokenizer is read once."""

from __future__ import annotations

import time
from typing import Any

import typer

from constrain.cli import options as o

app = typer.Typer(help="Show or clear the cache of vocabularies.", invoke_without_command=True)


@app.callback()
def cache(ctx: typer.Context) -> None:
    """Show or clear the cache of vocabularies, which saves reading a tokenizer again.

    constrain cache
    constrain cache clear

    The variable CONSTRAIN_CACHE names another folder.
    """
    if ctx.invoked_subcommand is None:
        show()


@app.command()
def show(*, json: o.Json = False) -> None:
    """Show where the cache is and what is in it."""
    from rich.table import Table as Grid

    from constrain import cache as store
    from constrain.cli.terminal import out, print_json
    from constrain.cli.terminal import show as show_drawing
    from constrain.cli.words import count, size

    entries = store.entries()
    if json:
        listed: list[dict[str, Any]] = [
            {"file": str(e.path), "bytes": e.n_bytes, "used": e.used} for e in entries
        ]
        print_json({"folder": str(store.folder()), "entries": listed})
        return
    console = out()
    total = sum(entry.n_bytes for entry in entries)
    console.print(str(store.folder()), style="bold", soft_wrap=True)
    console.print(
        f"  {count(len(entries), 'vocabulary', 'vocabularies')}, {size(total)} of at most"
        f" {size(store.MAX_BYTES)}"
    )
    grid = Grid.grid(padding=(0, 2))
    for entry in entries:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        grid.add_row(f"  {entry.path.stem[:12]}…", size(entry.n_bytes), f"last used {used}")
    show_drawing(console, grid)


@app.command()
def clear() -> None:
    """Remove everything from the cache."""
    from constrain import cache as store
    from constrain.cli.words import count

    print(f"removed {count(store.clear(), 'vocabulary', 'vocabularies')} from {store.folder()}")

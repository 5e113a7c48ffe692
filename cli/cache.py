"""``constrain cache``: the vocabularies that are kept so that a tokenizer is read once."""

from __future__ import annotations

import time
from typing import Any

import typer

from constrain.cli import options as o
from constrain.cli.usage import Command, Group

app = typer.Typer(
    cls=Group, help="Show or clear the cache of vocabularies.", invoke_without_command=True
)


@app.callback()
def cache(ctx: typer.Context, *, json: o.Json = False) -> None:
    """Show or clear the cache of vocabularies, which saves reading a tokenizer again.

    constrain cache
    constrain cache --json
    constrain cache clear

    An entry is named after the tokenizer file that it was made of; other choices of end tokens, or
    of tokens to leave out, make another entry. The variable CONSTRAIN_CACHE names another folder.
    """
    if ctx.invoked_subcommand is None:
        show(json=json)


@app.command(cls=Command)
def show(*, json: o.Json = False) -> None:
    """Show where the cache is and what is in it."""
    from constrain import cache as store
    from constrain.cli.terminal import out, print_json
    from constrain.cli.words import count, size

    entries = [(entry, *entry.about()) for entry in store.entries()]
    if json:
        listed: list[dict[str, Any]] = [
            {"file": str(entry.path), "tokenizer": source, "tokens": n_tokens,
             "bytes": entry.n_bytes, "used": entry.used}
            for entry, source, n_tokens in entries
        ]  # fmt: skip
        print_json({"folder": str(store.folder()), "entries": listed})
        return
    console = out()
    total = sum(entry.n_bytes for entry, _, _ in entries)
    console.print(str(store.folder()), style="bold", soft_wrap=True)
    console.print(
        f"  {count(len(entries), 'vocabulary', 'vocabularies')}, {size(total)} of at most"
        f" {size(store.MAX_BYTES)}"
    )
    for entry, source, n_tokens in entries:
        used = f"used {_ago(time.time() - entry.used)}"
        name = source or f"unknown ({entry.path.name[:12]}…)"
        tokens = count(n_tokens, "token") if source else ""
        console.print(
            f"  {size(entry.n_bytes):>9}  {tokens:>14}  {used:<19}  {name}", soft_wrap=True
        )


def _ago(seconds: float) -> str:
    """Return how long ago something was, in its largest unit."""
    from constrain.cli.words import count

    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return f"{count(int(seconds // length), unit)} ago"
    return "just now"


@app.command(cls=Command)
def clear() -> None:
    """Remove everything from the cache."""
    from constrain import cache as store
    from constrain.cli.words import count

    print(f"removed {count(store.clear(), 'vocabulary', 'vocabularies')} from {store.folder()}")

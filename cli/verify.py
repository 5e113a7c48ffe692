"""``constrain verify``: prove that a table is what its transitions and tokens say."""

from __future__ import annotations

from typing import Annotated

import typer

from constrain.cli import options as o


def verify(
    file: o.TableFile,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Recompute the masks of every state, not of 64.")
    ] = False,
    tokenizer: o.CheckedTokenizer = None,
    json: o.Json = False,
) -> None:
    """Recompute checksums, structure and masks of a table by brute force; exit 1 if they differ.

    constrain verify tool.npz
    constrain verify tool.npz --all --tokenizer tokenizer.json
    """
    from constrain.cli.inputs import load_table
    from constrain.cli.terminal import Stages, out, print_json
    from constrain.cli.words import count
    from constrain.tables import TableError
    from constrain.tables.verify import SAMPLE, verify_file

    with Stages() as stages:
        if tokenizer is not None:
            stages("compare the tokenizer")
            load_table(file, tokenizer)
        stages("recompute the masks")
        try:
            found = verify_file(file, sample=None if every else SAMPLE)
        except TableError as error:
            raise TableError(f"{file}: {error}", key=error.key) from error
    if json:
        print_json({"states": found.n_states, "checked": found.n_checked, "tokens": found.n_tokens})
        return
    console = out()
    console.print(f"{file} is sound", style="bold green", soft_wrap=True)
    of = f"of {count(found.n_states, 'state')}" if found.n_checked <= found.n_states else ""
    console.print(
        f"  the masks of {found.n_checked:,} {of or 'configurations'} were recomputed, each for"
        f" {count(found.n_tokens, 'token')}"
    )

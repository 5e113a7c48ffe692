"""``constrain sample``: random texts, drawn through the masks."""

from __future__ import annotations

import json as codec
from typing import Annotated

import typer

from constrain.cli import options as o


def sample(
    file: o.TableFile,
    *,
    n: Annotated[int, typer.Option("-n", metavar="N", min=0, help="How many texts.")] = 5,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="The same seed gives the same texts.")
    ] = 0,
    budget: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", min=1, help="The most tokens of a text, its end included."),
    ] = None,
    uniform: Annotated[
        bool,
        typer.Option(
            "--uniform",
            help="Choose evenly among the states that tokens lead to, so"
            " that rare branches show as often as common ones.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object a line, with text and tokens.")
    ] = False,
) -> None:
    """Print random texts that the table allows, one a line; no model is involved.

    constrain sample tool.npz -n 3
    constrain sample tool.npz -n 100 --seed 7 --budget 40 --json

    Into a pipe or a file a text goes as it is, and one with line breaks takes several lines; a
    terminal shows them and other control characters as escapes. With --json each is one line.
    """
    import sys

    from constrain.cli.drawing import texts
    from constrain.cli.inputs import load_table
    from constrain.cli.words import shown

    escaped = sys.stdout.isatty()
    for data, tokens in texts(load_table(file), n, seed, budget=budget, evenly=uniform):
        text = data.decode("utf-8", errors="backslashreplace")
        if json:
            print(codec.dumps({"text": text, "tokens": tokens}, ensure_ascii=False))
        else:
            print(shown(data) if escaped else text)

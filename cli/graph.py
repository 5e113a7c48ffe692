"""``constrain graph``: the automaton of a table, drawn for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    from constrain.cli.folding import Folded

_KINDS = (".svg", ".png", ".dot", ".gv")


def graph(
    file: o.TableFile,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="PATH", help="The picture: .svg, .png, or .dot for graphviz."
        ),
    ],
    max_boxes: Annotated[
        int, typer.Option("--max-boxes", metavar="N", min=1, help="How many boxes to draw at most.")
    ] = 100,
) -> None:
    """Draw the automaton of a table: boxes where there is a choice, a line for each way on.

    Runs without a choice are folded to their text, frames are drawn apart. An .svg needs nothing
    installed and is cut into bands that fit a screen; a .png is drawn by graphviz.

    constrain graph tool.npz -o tool.svg
    """
    from constrain.cli.folding import fold
    from constrain.cli.inputs import load_table
    from constrain.cli.terminal import err
    from constrain.cli.vector import remark
    from constrain.cli.words import count

    kind = output.suffix.lower()
    if kind not in _KINDS:
        raise typer.BadParameter("the name must end in .svg, .png or .dot", param_hint="--output")
    table = load_table(file)
    folded = fold(table, max_boxes)
    title = f"{file.name}: {count(table.n_states, 'state')}"
    _draw(folded, output, title)
    words = f"{output}: {count(len(folded.boxes), 'box', 'boxes')}"
    if remark(folded):
        words += f"; {remark(folded)}"
    err().print(words, soft_wrap=True)


def _draw(folded: Folded, output: Path, title: str) -> None:
    from constrain.cli.dot import dot, draw, program
    from constrain.cli.vector import svg
    from constrain.errors import ConstrainError

    kind = output.suffix.lower()
    if kind == ".svg":
        output.write_text(svg(folded, title=title), encoding="utf-8")
    elif kind != ".png":
        output.write_text(dot(folded, title=title), encoding="utf-8")
    elif (using := program()) is not None:
        draw(output, dot(folded, title=title), using)
    else:
        raise ConstrainError(
            "a .png needs graphviz: `pip install 'constrain-tables[draw]'`, or graphviz from your"
            " system (apt install graphviz, brew install graphviz); a .svg needs nothing"
        )

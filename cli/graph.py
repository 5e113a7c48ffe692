"""``constrain graph``: the automaton of a table, drawn for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    from constrain.cli.folding import Folded

_DOT = (".dot", ".gv")
_KINDS = (".svg", ".png", ".pdf", *_DOT)


def graph(
    file: o.TableFile,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="The picture: .svg, .png or .pdf, or .dot for graphviz.",
        ),
    ],
    max_boxes: Annotated[
        int, typer.Option("--max-boxes", metavar="N", min=1, help="How many boxes to draw at most.")
    ] = 100,
) -> None:
    """Draw the automaton of a table: boxes where there is a choice, a line for each way on.

    Runs without a choice are folded to their text, frames are drawn apart, and what would be too
    wide is cut into bands. An .svg needs nothing installed and follows the reader's preference for
    light or dark; a .png or .pdf needs matplotlib, which the extra `draw` installs.

    constrain graph tool.npz -o tool.svg
    constrain graph tool.npz -o tool.dot && dot -Tpdf tool.dot -o tool.pdf
    """
    from constrain.cli.folding import fold
    from constrain.cli.inputs import load_table
    from constrain.cli.picture import remark
    from constrain.cli.terminal import err
    from constrain.cli.words import count

    kind = output.suffix.lower()
    if kind not in _KINDS:
        raise typer.BadParameter(
            "the name must end in .svg, .png, .pdf or .dot", param_hint="--output"
        )
    table = load_table(file)
    folded = fold(table, max_boxes)
    title = f"{file.name}: {count(table.n_states, 'state')}"
    _draw(folded, output, title)
    words = f"{output}: {count(len(folded.boxes), 'box', 'boxes')}"
    if remark(folded):
        words += f"; {remark(folded)}"
    err().print(words, soft_wrap=True)


def _draw(folded: Folded, output: Path, title: str) -> None:
    from constrain.errors import ConstrainError

    kind = output.suffix.lower()
    if kind == ".svg":
        from constrain.cli.vector import svg

        output.write_text(svg(folded, title=title), encoding="utf-8")
    elif kind in _DOT:
        from constrain.cli.dot import dot

        output.write_text(dot(folded, title=title), encoding="utf-8")
    else:
        try:
            from constrain.cli.raster import draw
        except ImportError:
            raise ConstrainError(
                f"a {kind} needs matplotlib: `pip install 'constrain-tables[draw]'` (or `pip install"
                " matplotlib`); a .svg needs nothing"
            ) from None
        draw(folded, output)

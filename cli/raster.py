"""A picture as PNG or PDF, drawn by matplotlib: what ``vector`` draws, in its light colours.

The fonts are those that come with matplotlib, so the result is the same everywhere. Characters
that they lack, such as Chinese ones, are drawn as boxes; an SVG has the reader's fonts.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path as Curve
from matplotlib.textpath import text_to_path

from constrain.cli.picture import LINE, bends, picture

if TYPE_CHECKING:
    from pathlib import Path

    from constrain.cli.folding import Folded
    from constrain.cli.picture import Placed, Words

_PIXEL = 1 / 96  # inches
_POINT = 72 / 96  # points of a pixel
_SCALE = 2.0  # pixels of a PNG for each of the picture's
_AREA, _SIDE = 80e6, 30_000  # pixels of a PNG at most, whatever the scale
_INK, _DIM, _EDGE, _LINE = "#1c2430", "#667180", "#a3aab3", "#b9c2cc"
_BOX, _HEAD, _END = "#f6f8fa", "#e7ebf0", "#1a7f37"
_MONO, _SANS = "DejaVu Sans Mono", "DejaVu Sans"
_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "t": ("#0b6b3a", {"family": _MONO}),
    "k": ("#8250df", {"family": _MONO, "weight": "bold"}),
    "c": (_INK, {"family": _SANS, "style": "italic"}),
    "d": (_DIM, {"family": _MONO}),
    "number": (_DIM, {"family": _MONO}),
    "end": (_END, {"family": _MONO, "weight": "bold"}),
    "section": (_INK, {"family": _SANS, "weight": "bold", "size": 14 * _POINT}),
}


def draw(folded: Folded, output: Path) -> None:
    """Write the picture of a folded automaton to a .png or .pdf."""
    drawn = picture(folded)
    width, height = drawn.width, drawn.height
    figure = Figure(figsize=(width * _PIXEL, height * _PIXEL))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    for points in drawn.edges:
        _edge(axes, points)
    for box in drawn.boxes:
        _box(axes, box)
    for words in drawn.words:
        _words(axes, words, (0, 0))
    scale = min(_SCALE, math.sqrt(_AREA / (width * height)), _SIDE / max(width, height))
    dated = {"CreationDate": None} if output.suffix.lower() == ".pdf" else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(output, dpi=scale / _PIXEL, metadata=dated)


def _edge(axes: Any, points: list[tuple[float, float]]) -> None:
    places = [points[0], *(place for curve in bends(points) for place in curve)]
    codes = [Curve.MOVETO, *[Curve.CURVE4] * (len(places) - 1)]
    axes.add_patch(
        PathPatch(Curve(places, codes), facecolor="none", edgecolor=_EDGE, linewidth=1.2 * _POINT)
    )
    x, y = points[-1]
    axes.add_patch(Polygon([(x, y), (x - 7, y - 3.5), (x - 7, y + 3.5)], color=_DIM, linewidth=0))


def _box(axes: Any, box: Placed) -> None:
    colour, line = (_END, 2.5) if box.accepting else (_LINE, 1.0)
    corner = box.x, box.y
    frame = FancyBboxPatch(
        corner, box.width, box.height, boxstyle="round,pad=0,rounding_size=6", facecolor=_BOX,
        edgecolor=colour, linewidth=line * _POINT,
    )  # fmt: skip
    axes.add_patch(frame)
    head = Rectangle(corner, box.width, LINE, facecolor=_HEAD, linewidth=0)
    axes.add_patch(head)
    head.set_clip_path(frame)
    for words in box.words:
        _words(axes, words, corner)


def _words(axes: Any, words: Words, corner: tuple[float, float]) -> None:
    x, y = corner[0] + words.x, corner[1] + words.y
    side = "right" if words.ends_here else "left"
    for kind, text in words.parts:
        colour, about = _KINDS[kind]
        font = FontProperties(**{"size": 12 * _POINT, **about})
        axes.text(
            x, y, text, color=colour, fontproperties=font, ha=side, va="baseline", parse_math=False
        )
        x += text_to_path.get_text_width_height_descent(f"{text} ", font, False)[0] / _POINT

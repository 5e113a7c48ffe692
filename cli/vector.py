"""A picture as SVG, with nothing installed: for ``constrain graph`` and in the report.

The colours are variables that follow the reader's preference for light or dark.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from constrain.cli.picture import LINE, bends, picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.cli.folding import Folded
    from constrain.cli.picture import Placed, Words

STYLE = """
.map { --ink: #1c2430; --dim: #667180; --paper: #ffffff; --box: #f6f8fa; --line: #b9c2cc;
  --head: #e7ebf0; --text: #0b6b3a; --call: #8250df; --end: #1a7f37; --here: #bf5b04;
  font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
@media (prefers-color-scheme: dark) {
  .map { --ink: #e3e8ee; --dim: #93a0ae; --paper: #12161b; --box: #1b2128; --line: #48525e;
    --head: #27303a; --text: #6fd597; --call: #c9a6ff; --end: #4ac26b; --here: #ffa657; } }
.map .paper { fill: var(--paper); }
.map text { fill: var(--ink); white-space: pre; }
.map .frame { fill: var(--box); stroke: var(--line); }
.map .head { fill: var(--head); }
.map .accepting .frame { stroke: var(--end); stroke-width: 2.5; }
.map .t { fill: var(--text); }
.map .k { fill: var(--call); font-weight: bold; }
.map .c { font-family: system-ui, "DejaVu Sans", sans-serif; font-style: italic; }
.map .d, .map .number { fill: var(--dim); }
.map .end { fill: var(--end); font-weight: bold; }
.map .section { font: bold 14px system-ui, "DejaVu Sans", sans-serif; }
.map .edge { fill: none; stroke: var(--dim); stroke-opacity: .6; stroke-width: 1.2; }
.map .tip { fill: var(--dim); }
.map .here .frame { stroke: var(--here); stroke-width: 3; }
.map .here .head { fill: var(--here); } .map .here .number { fill: var(--paper); }
"""


def svg(folded: Folded, *, title: str, standalone: bool = True) -> str:
    """Return the picture of a folded automaton.

    Parameters
    ----------
    folded : Folded
    title : str
    standalone : bool
        Whether it is a file of its own, with the style in it and a ground.
    """
    drawn = picture(folded)
    size = f"{drawn.width:.0f}", f"{drawn.height:.0f}"
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    head = (
        f'<svg{space} class="map" width="{size[0]}" height="{size[1]}"'
        f' viewBox="0 0 {size[0]} {size[1]}" role="img"><title>{escape(title)}</title>'
    )
    ground = '<rect class="paper" width="100%" height="100%"/>'
    style = f"<style>{STYLE}</style>{ground}" if standalone else ""
    parts = [head + style, *map(_words, drawn.words)]
    for points in drawn.edges:
        parts += _edge(points)
    for box in drawn.boxes:
        parts += _box(box)
    return "\n".join([*parts, "</svg>", ""])


def _words(words: Words) -> str:
    anchor = ' text-anchor="end"' if words.ends_here else ""
    title = f"<title>{escape(words.full)}</title>" if words.full else ""
    if len(words.parts) == 1 and not words.full:
        ((kind, text),) = words.parts
        return f'<text class="{kind}" x="{words.x:.1f}" y="{words.y:.0f}"{anchor}>{escape(text)}</text>'
    spans = " ".join(f'<tspan class="{k}">{escape(w)}</tspan>' for k, w in words.parts)
    return f'<text x="{words.x:.1f}" y="{words.y:.0f}"{anchor}>{title}{spans}</text>'


def _edge(points: list[tuple[float, float]]) -> Iterator[str]:
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for curve in bends(points):
        path += " C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in curve)
    x, y = points[-1]
    yield f'<path class="edge" d="{path}"/>'
    yield f'<path class="tip" d="M{x:.1f} {y:.1f}l-7 -3.5v7z"/>'


def _box(box: Placed) -> Iterator[str]:
    kind = "box accepting" if box.accepting else "box"
    yield f'<g class="{kind}" data-state="{box.state}" transform="translate({box.x:.1f} {box.y:.1f})">'
    yield f'<rect class="frame" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"/>'
    right = box.width - 7
    yield f'<path class="head" d="M1 {LINE}V7a6 6 0 0 1 6 -6H{right:.1f}a6 6 0 0 1 6 6V{LINE}z"/>'
    yield from map(_words, box.words)
    yield "</g>"

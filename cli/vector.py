"""A folded automaton as SVG, with nothing installed: for ``constrain graph`` and in the report.

Each box has the number of its state, as ``constrain inspect --state`` takes it, and a line for each
row. Edges that lead back (``↩ 9``) or to a lower band (``↓ 114``) are named, not drawn, which keeps the
picture readable. The colours are variables that follow the reader's preference for light or dark.

Doesn't do: placing (``layout``).
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from constrain.cli.folding import CLOSED
from constrain.cli.layout import Link, bands, place
from constrain.cli.words import count, cropped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from constrain.cli.folding import Box, Folded, Row

_LINE = 19.0
_CELL = 7.25  # width of a character at 12 px, fixed pitch
_PAD = 10.0
_MARGIN = 16.0
_WIDTH = 1400.0  # of a band
_FEW = 3  # rows to one place that each have a line
_ROOM = 46  # characters of a row

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


class Line(NamedTuple):
    """A row in print: (class, words) one after the other, and what stands at the right."""

    parts: list[tuple[str, str]]
    right: str
    full: str

    @property
    def cells(self) -> int:
        """The width in characters."""
        return cell_len(" ".join(words for _, words in self.parts)) + 2 + cell_len(self.right)


def printed(row: Row, box: Box, ends: set[int], known: set[int]) -> Line:
    """Return a row in print.

    Parameters
    ----------
    row : Row
    box : Box
        The box it is in.
    ends : set[int]
        States where nothing can follow.
    known : set[int]
        States that have a box.
    """
    kinds = {"text": "t", "class": "c", "call": "k"}
    parts: list[tuple[str, str]] = []
    room = _ROOM
    for number, piece in enumerate(row.pieces):
        words = piece.words.replace(" ", "␣") if piece.kind == "text" else piece.words
        left = len(row.pieces) - number - 1
        words = cropped(words, max(12, room - 4 * left))
        if room < 12 and left:
            parts.append(("d", "…"))
            break
        parts.append((kinds[piece.kind], words))
        room -= cell_len(words) + 1
    if row.note:
        parts.append(("d", row.note))
    full = f"{row.words} {row.note}".strip()
    return Line(parts, "ends" if row.target in ends else _leads(row, box, known), full)


def _leads(row: Row, box: Box, known: set[int]) -> str:
    if row.target == CLOSED:
        return "closes"
    if row.target == box.state:
        return "↺"
    return f"→ {row.target}" if row.target in known else f"→ {row.target} …"


def finals(folded: Folded) -> set[int]:
    """Return the states where the text ends and nothing can follow: rows say so, without a box."""
    ends = {box.state for box in folded.boxes.values() if box.accepting and not box.rows}
    return ends - {0}


def remark(folded: Folded) -> str:
    """Return what is to be said of the parts that are not drawn; mostly nothing."""
    if not folded.missing:
        return ""
    return (
        f"{count(folded.missing, 'more box', 'more boxes')} and what follows from there"
        " are not drawn (→ …); --max-boxes draws more"
    )


def svg(folded: Folded, *, title: str, standalone: bool = True) -> str:
    """Return the picture.

    Parameters
    ----------
    folded : Folded
    title : str
    standalone : bool
        Whether it is a file of its own, with the style in it and a ground.
    """
    top = _MARGIN
    parts: list[str] = []
    wide = 240.0
    ends = finals(folded)
    known = set(folded.boxes)
    for number, name in enumerate(folded.sections):
        boxes = [b for b in folded.boxes.values() if b.section == number and b.state not in ends]
        if not boxes:
            continue
        if len(folded.sections) > 1:
            words = "the whole text" if number == 0 else f"frame {name}"
            parts.append(
                f'<text class="section" x="{_MARGIN}" y="{top + 14:.0f}">{escape(words)}</text>'
            )
            top += 30
        drawn, width, height = _section(boxes, ends, known, top)
        parts += drawn
        wide = max(wide, width)
        top += height + 34
    if words := remark(folded):
        parts.append(f'<text class="d" x="{_MARGIN}" y="{top:.0f}">{escape(words)}</text>')
        wide = max(wide, cell_len(words) * _CELL)
        top += 20
    width, height = wide + 2 * _MARGIN, top
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    head = (
        f'<svg{space} class="map" width="{width:.0f}"'
        f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        f"<title>{escape(title)}</title>"
    )
    ground = '<rect class="paper" width="100%" height="100%"/>'
    style = f"<style>{STYLE}</style>{ground}" if standalone else ""
    return "\n".join([head + style, *parts, "</svg>", ""])


def _section(
    boxes: list[Box], ends: set[int], known: set[int], top: float
) -> tuple[list[str], float, float]:
    """Return the elements of a section, in bands, and its width and height."""
    lines = {box.state: [printed(row, box, ends, known) for row in box.rows] for box in boxes}
    order = {box.state: number for number, box in enumerate(boxes)}
    sizes = [_size(box, lines[box.state]) for box in boxes]
    groups = bands(sizes, _links(boxes, order), _WIDTH)
    drawn: list[str] = []
    wide = height = 0.0
    band = {boxes[i].state: number for number, group in enumerate(groups) for i in group}
    for group in groups:
        members = [boxes[i] for i in group]
        for box in members:
            for k, row in enumerate(box.rows):
                if band.get(row.target, -1) > band[box.state]:
                    line = lines[box.state][k]
                    lines[box.state][k] = line._replace(right=line.right.replace("→", "↓"))
        elements, width, tall = _band(members, lines, top + height)
        drawn += elements
        wide = max(wide, width)
        height += tall + 40
    return drawn, wide, height - 40


def drawn_rows(box: Box, known: Collection[int]) -> list[tuple[int, int]]:
    """Return (row, target) of the edges to draw: one for all where many rows lead to one place."""
    found: dict[int, list[int]] = {}
    for number, row in enumerate(box.rows):
        if row.target in known and row.target != box.state:
            found.setdefault(row.target, []).append(number)
    return [
        (number, target)
        for target, rows in found.items()
        for number in (rows if len(rows) <= _FEW else [rows[len(rows) // 2]])
    ]


def _links(boxes: list[Box], order: dict[int, int]) -> list[Link]:
    return [
        Link(number, _LINE * (row + 1.5) + 4, order[target])
        for number, box in enumerate(boxes)
        for row, target in drawn_rows(box, order)
    ]


def _band(
    boxes: list[Box], lines: dict[int, list[Line]], top: float
) -> tuple[list[str], float, float]:
    """Return the elements of a band, and its width and height."""
    sizes = [_size(box, lines[box.state]) for box in boxes]
    links = _links(boxes, {box.state: number for number, box in enumerate(boxes)})
    places = place(sizes, links)
    drawn: list[str] = []
    for link, path in zip(links, places.links, strict=True):
        start = path[0][0] + sizes[link.source][0]
        if path[-1][0] > start:
            drawn += _edge([(start, path[0][1]), *path[1:]], top)
        else:  # it leads back
            box, target = boxes[link.source], boxes[link.target].state
            for at, row in enumerate(box.rows):
                if row.target == target:
                    line = lines[box.state][at]
                    lines[box.state][at] = line._replace(right=line.right.replace("→", "↩"))
    for box, size, corner in zip(boxes, sizes, places.boxes, strict=True):
        drawn += _box(box, lines[box.state], size, (corner[0] + _MARGIN, corner[1] + top))
    return drawn, places.width, places.height


def _size(box: Box, lines: list[Line]) -> tuple[float, float]:
    head = len(f"{box.state:,}") + (9 if box.accepting else 0) + 2
    cells = max([head, *(line.cells for line in lines)])
    return cells * _CELL + 2 * _PAD, _LINE * (len(lines) + 1) + 8


def _edge(points: list[tuple[float, float]], top: float) -> Iterator[str]:
    moved = [(x + _MARGIN, y + top) for x, y in points]
    path = f"M{moved[0][0]:.1f} {moved[0][1]:.1f}"
    for (x, y), (to_x, to_y) in pairwise(moved):
        bend = min(60.0, (to_x - x) / 2)
        path += f" C{x + bend:.1f} {y:.1f} {to_x - bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
    x, y = moved[-1]
    yield f'<path class="edge" d="{path}"/>'
    yield f'<path class="tip" d="M{x:.1f} {y:.1f}l-7 -3.5v7z"/>'


def _box(
    box: Box, lines: list[Line], size: tuple[float, float], corner: tuple[float, float]
) -> Iterator[str]:
    (x, y), (width, height) = corner, size
    kind = "box accepting" if box.accepting else "box"
    yield f'<g class="{kind}" data-state="{box.state}" transform="translate({x:.1f} {y:.1f})">'
    yield f'<rect class="frame" width="{width:.1f}" height="{height:.1f}" rx="6"/>'
    yield (
        f'<path class="head" d="M1 {_LINE}V7a6 6 0 0 1 6 -6H{width - 7:.1f}a6 6 0 0 1 6 6V{_LINE}z"/>'
    )
    yield f'<text class="number" x="{_PAD}" y="14">{box.state}</text>'
    if box.accepting:
        yield f'<text class="end" x="{width - _PAD:.1f}" y="14" text-anchor="end">may end</text>'
    for number, line in enumerate(lines):
        kind = "end" if line.right == "ends" else "d"
        at = _LINE * (number + 2) - 1
        spans = " ".join(f'<tspan class="{k}">{escape(w)}</tspan>' for k, w in line.parts)
        yield (
            f'<text x="{_PAD}" y="{at}"><title>{escape(line.full)}</title>{spans}</text>'
            f'<text class="{kind}" x="{width - _PAD:.1f}" y="{at}" text-anchor="end">'
            f"{line.right}</text>"
        )
    yield "</g>"

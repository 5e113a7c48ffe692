"""A folded automaton as a picture: boxes, lines and words with their places, ready to be drawn.

Each box has the number of its state, as ``constrain inspect --state`` takes it, and a line for each
row. Edges that lead back (``↩ 9``) or to a lower band (``↓ 114``) are named, not drawn, which keeps the
picture readable. Lengths are those of an SVG in pixels, and words are measured as if each character
of the fixed pitch took as much room.

``vector`` draws it as SVG, ``raster`` as PNG or PDF. Doesn't do: placing (``layout``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from constrain.cli.folding import CLOSED
from constrain.cli.layout import Link, bands, place
from constrain.cli.words import count, cropped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from constrain.cli.folding import Box, Folded, Row

LINE = 19.0
CELL = 7.25  # width of a character at 12 px, fixed pitch
PAD = 10.0
_MARGIN = 16.0
_WIDTH = 1400.0  # of a band
_FEW = 3  # rows to one place that each have a line
_ROOM = 46  # characters of a row


class Words(NamedTuple):
    """Words in parts, each with its kind, that begin at a place (or end there).

    Kinds are ``t`` (text), ``c`` (a class of characters), ``k`` (a call), ``d`` (dim), ``number``,
    ``end`` and ``section``. ``full`` is all of it, where the parts were shortened.
    """

    x: float
    y: float
    parts: list[tuple[str, str]]
    ends_here: bool = False
    full: str = ""


class Placed(NamedTuple):
    """A box; its words are placed relative to its corner."""

    state: int
    accepting: bool
    x: float
    y: float
    width: float
    height: float
    words: list[Words]


@dataclass(slots=True)
class Picture:
    """Everything that is drawn. An edge is the points that it passes."""

    width: float = 240.0
    height: float = _MARGIN
    words: list[Words] = field(default_factory=list)
    edges: list[list[tuple[float, float]]] = field(default_factory=list)
    boxes: list[Placed] = field(default_factory=list)


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


def picture(folded: Folded) -> Picture:
    """Return the picture of a folded automaton."""
    drawn = Picture()
    ends = finals(folded)
    known = set(folded.boxes)
    for number, name in enumerate(folded.sections):
        boxes = [b for b in folded.boxes.values() if b.section == number and b.state not in ends]
        if not boxes:
            continue
        if len(folded.sections) > 1:
            words = "the whole text" if number == 0 else f"frame {name}"
            drawn.words.append(Words(_MARGIN, drawn.height + 14, [("section", words)]))
            drawn.height += 30
        _section(drawn, boxes, ends, known)
        drawn.height += 34
    if words := remark(folded):
        drawn.words.append(Words(_MARGIN, drawn.height, [("d", words)]))
        drawn.width = max(drawn.width, cell_len(words) * CELL)
        drawn.height += 20
    drawn.width += 2 * _MARGIN
    return drawn


def _section(drawn: Picture, boxes: list[Box], ends: set[int], known: set[int]) -> None:
    """Add the boxes of a section, in bands."""
    lines = {box.state: [printed(row, box, ends, known) for row in box.rows] for box in boxes}
    order = {box.state: number for number, box in enumerate(boxes)}
    sizes = [_size(box, lines[box.state]) for box in boxes]
    groups = bands(sizes, _links(boxes, order), _WIDTH)
    band = {boxes[i].state: number for number, group in enumerate(groups) for i in group}
    for group in groups:
        members = [boxes[i] for i in group]
        for box in members:
            for k, row in enumerate(box.rows):
                if band.get(row.target, -1) > band[box.state]:
                    line = lines[box.state][k]
                    lines[box.state][k] = line._replace(right=line.right.replace("→", "↓"))
        _band(drawn, members, lines)
        drawn.height += 40
    drawn.height -= 40


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
        Link(number, LINE * (row + 1.5) + 4, order[target])
        for number, box in enumerate(boxes)
        for row, target in drawn_rows(box, order)
    ]


def _band(drawn: Picture, boxes: list[Box], lines: dict[int, list[Line]]) -> None:
    """Add a band below what is there."""
    sizes = [_size(box, lines[box.state]) for box in boxes]
    links = _links(boxes, {box.state: number for number, box in enumerate(boxes)})
    places = place(sizes, links)
    for link, path in zip(links, places.links, strict=True):
        start = path[0][0] + sizes[link.source][0]
        if path[-1][0] > start:
            points = [(start, path[0][1]), *path[1:]]
            drawn.edges.append([(x + _MARGIN, y + drawn.height) for x, y in points])
        else:  # it leads back
            box, target = boxes[link.source], boxes[link.target].state
            for at, row in enumerate(box.rows):
                if row.target == target:
                    line = lines[box.state][at]
                    lines[box.state][at] = line._replace(right=line.right.replace("→", "↩"))
    for box, (width, height), (x, y) in zip(boxes, sizes, places.boxes, strict=True):
        words = list(_box_words(box, lines[box.state], width))
        drawn.boxes.append(
            Placed(box.state, box.accepting, x + _MARGIN, y + drawn.height, width, height, words)
        )
    drawn.width = max(drawn.width, places.width)
    drawn.height += places.height


def _size(box: Box, lines: list[Line]) -> tuple[float, float]:
    head = len(f"{box.state:,}") + (9 if box.accepting else 0) + 2
    cells = max([head, *(line.cells for line in lines)])
    return cells * CELL + 2 * PAD, LINE * (len(lines) + 1) + 8


def _box_words(box: Box, lines: list[Line], width: float) -> Iterator[Words]:
    yield Words(PAD, 14, [("number", str(box.state))])
    if box.accepting:
        yield Words(width - PAD, 14, [("end", "may end")], ends_here=True)
    for number, line in enumerate(lines):
        at = LINE * (number + 2) - 1
        yield Words(PAD, at, line.parts, full=line.full)
        kind = "end" if line.right == "ends" else "d"
        yield Words(width - PAD, at, [(kind, line.right)], ends_here=True)


def bends(points: list[tuple[float, float]]) -> Iterator[list[tuple[float, float]]]:
    """Yield the curves of an edge: two handles and an end each, all horizontal at their ends."""
    for (x, y), (to_x, to_y) in pairwise(points):
        bend = min(60.0, (to_x - x) / 2)
        yield [(x + bend, y), (to_x - bend, to_y), (to_x, to_y)]

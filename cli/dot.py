"""A folded automaton as DOT text, for graphviz and programs that read it.

The same boxes as in ``picture``: a table for each, its rows with the colours of their kinds, an edge
from each row, and a cluster for each frame.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from constrain.cli.picture import drawn_rows, finals, printed, remark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.cli.folding import Box, Folded
    from constrain.cli.picture import Line

_COLOURS = {"t": "#0b6b3a", "k": "#8250df", "c": "#1c2430", "d": "#667180"}


def dot(folded: Folded, *, title: str) -> str:
    """Return the automaton as DOT text."""
    return "\n".join(_statements(folded, title)) + "\n"


def _statements(folded: Folded, title: str) -> Iterator[str]:
    ends, known = finals(folded), set(folded.boxes)
    words = "\\n".join(_quoted(each) for each in (title, remark(folded)) if each)
    yield "digraph automaton {"
    yield '  graph [rankdir=LR, bgcolor=white, fontname="Helvetica", fontsize=12, nodesep=0.25,'
    yield f'    ranksep=0.45, labelloc=b, label="{words}"];'
    yield '  node [shape=plain, fontname="Courier", fontsize=11];'
    yield '  edge [color="#8a95a1", arrowsize=0.6];'
    for number, name in enumerate(folded.sections):
        boxes = [b for b in folded.boxes.values() if b.section == number and b.state not in ends]
        if not boxes:
            continue
        if number:
            yield f"  subgraph cluster_{number} {{"
            yield f'    label="frame {_quoted(name)}"; color="#b9c2cc"; style=rounded;'
        for box in boxes:
            lines = [printed(row, box, ends, known) for row in box.rows]
            yield f"    s{box.state} [label=<{_table(box, lines)}>];"
        if number:
            yield "  }"
    for box in folded.boxes.values():
        for at, target in drawn_rows(box, known - ends):
            yield f"  s{box.state}:r{at}:e -> s{target}:head:w;"
    yield "}"


def _table(box: Box, lines: list[Line]) -> str:
    colour, border = ("#1a7f37", 3) if box.accepting else ("#b9c2cc", 1)
    may_end = ' <FONT COLOR="#1a7f37"><B>may end</B></FONT>' if box.accepting else ""
    rows = "".join(_row(number, line) for number, line in enumerate(lines))
    return (
        f'<TABLE BORDER="{border}" COLOR="{colour}" CELLBORDER="0" CELLSPACING="0"'
        f' CELLPADDING="3" STYLE="ROUNDED" BGCOLOR="#f6f8fa"><TR><TD PORT="head" COLSPAN="2"'
        f' ALIGN="LEFT"> <FONT COLOR="#667180">{box.state}</FONT>{may_end}</TD></TR>{rows}</TABLE>'
    )


def _row(number: int, line: Line) -> str:
    cells = " ".join(_part(kind, words) for kind, words in line.parts)
    right = line.right.replace("↺", "again")  # few fonts have the arrow
    colour = "#1a7f37" if right == "ends" else "#667180"
    return (
        f'<TR><TD ALIGN="LEFT"> {cells} </TD><TD PORT="r{number}" ALIGN="RIGHT">'
        f'<FONT COLOR="{colour}">{right}</FONT></TD></TR>'
    )


def _part(kind: str, words: str) -> str:
    inner = escape(words, quote=False).replace("␣", "&#160;")
    inner = {"c": f"<I>{inner}</I>", "k": f"<B>{inner}</B>"}.get(kind, inner)
    return f'<FONT COLOR="{_COLOURS[kind]}">{inner}</FONT>'


def _quoted(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')

r"""The automaton of a table, folded until a person can read it: boxes, rows and sections.

A *box* is a state where something can be chosen (or the text may end). A *row* of a box is one way
on: what is read, and the box it leads to. What is folded on the way:

* a run of states without a choice becomes one row with its text, ``"days":``, even where several
  rows share it: whole words read better than shared endings;
* words that begin alike are spelled out, each a row, rather than letter by letter; where many of
  them go on alike, as names do that are *not* declared, those are one row: *one of 18 texts*;
* the two to four bytes of a character beyond ASCII, and the escapes of a JSON string, become one
  step, and all steps to one place one row: *any character except '"' and control characters*;
* a counted run (``maxLength``) becomes one box with *up to 99 times*;
* a call is one step, named after its frame; each frame is a *section* of its own.

Boxes are found breadth first from the start, and each is an exact statement about its state, so a
part that was not reached (``max_boxes``) is merely missing. States that the vocabulary cannot lead
out of are left out, as the masks do.

Doesn't do: placing (``layout``), drawing (``vector``, ``dot``).
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from constrain.cli.told import told
from constrain.cli.words import byte_words, listed, shown
from constrain.tables.format import DEAD, NO_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.tables import Table

CLOSED = -2  # as a target: the frame closes
_BEYOND = 0x110000 - 0x800 - 0x80  # characters beyond ASCII
_LEADS = frozenset(range(0xC2, 0xF5))
_TAIL = frozenset(range(0x80, 0xC0))
_ESCAPES = frozenset(b'"\\/bfnrtu')
_HEX = frozenset(b"0123456789abcdefABCDEF")
_PAIRS = {"{": "{…}", "[": "[…]", "(": "(…)", '"': '"…"'}
_STRING = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')
_RUN = 3  # states from which on a counted run is folded
_ROWS = 40  # of a box, to which words may be spelled out
_SPELLED = 600  # rows before those that are alike are made one
_ALIKE = 4  # rows from which on they are
_LONGEST = 2000  # steps of a row


class Piece(NamedTuple):
    """A part of what a row reads: ``kind`` is ``text`` (as it is), ``class`` (words) or ``call``."""

    kind: str
    words: str
    frame: int = -1


@dataclass(frozen=True, slots=True)
class Row:
    """One way on.

    Attributes
    ----------
    pieces : tuple[Piece, ...]
        What is read.
    target : int
        The state it leads to, or ``CLOSED``.
    note : str
        How often, or under what condition; mostly empty.
    way : tuple[int, ...]
        The states passed on the way.
    """

    pieces: tuple[Piece, ...]
    target: int
    note: str = ""
    way: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """The row as one line of text."""
        return " ".join(piece.words for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Box:
    """A state, its ways on, and the section it belongs to."""

    state: int
    rows: tuple[Row, ...]
    accepting: bool
    section: int


@dataclass(slots=True)
class Folded:
    """The folded automaton.

    Attributes
    ----------
    boxes : dict[int, Box]
        By state, in the order found.
    sections : list[str]
        Names; the first is the whole, the others are frames.
    missing : int
        Boxes that were seen and not looked into, for there were too many.
    """

    boxes: dict[int, Box] = field(default_factory=dict)
    sections: list[str] = field(default_factory=list)
    missing: int = 0


class _Step(NamedTuple):
    """All that leads from a state to one place."""

    piece: Piece
    target: int


def fold(table: Table, max_boxes: int) -> Folded:
    """Return the automaton of a table, folded to at most so many boxes."""
    steps = _Steps(table)
    folded = Folded(sections=["start", *steps.names])
    queue = deque([(0, 0)])
    seen = {0}
    while queue and len(folded.boxes) < max_boxes:
        state, section = queue.popleft()
        rows = tuple(_whole_words(steps, list(_rows(steps, state))))
        folded.boxes[state] = Box(state, rows, bool(table.accept[state]), section)
        for row in rows:
            entered = [(steps.starts[p.frame], p.frame + 1) for p in row.pieces if p.frame >= 0]
            for found, where in [(row.target, section), *entered]:
                if found >= 0 and found not in seen:
                    seen.add(found)
                    queue.append((found, where))
    folded.missing = len(queue)
    return folded


def frame_names(table: Table) -> dict[int, str]:
    """Return the name of each frame by its first state, in ascending order of those."""
    starts = [] if table.frames is None else np.unique(table.frames.call_target).tolist()
    known = {frame["state"]: frame["name"] for frame in told(table.meta)["frames"]}
    return {start: frame_name(known.get(start), number) for number, start in enumerate(starts, 1)}


def _rows(steps: _Steps, state: int) -> Iterator[Row]:
    """Yield the ways on from a state."""
    found = steps.of(state)
    run = _run(steps, state)
    for step in found:
        if run is not None and step.piece == run[0]:
            piece, passed, last = run
            n = len(passed)
            yield Row((piece,), state, f"up to {n:,} times", tuple(passed))
            if last >= 0:
                yield _row(steps, _Step(piece, last), note="once more")
        else:
            yield _row(steps, step)
    table = steps.table
    if table.frames is not None and table.frames.escape[state] >= 0:
        at = int(table.frames.escape_at[state])
        words = f"on arriving here the {_ordinal(at)} time"
        yield Row((Piece("class", words),), int(table.frames.escape[state]))


def _whole_words(steps: _Steps, rows: list[Row]) -> list[Row]:
    """Return rows with those that end within a word replaced by one for each way to go on."""
    at = 0
    while at < len(rows):
        row = rows[at]
        further = _further(steps, row) if _within_word(row) else []
        longer = [*rows[:at], *further, *rows[at + 1 :]]
        if further and (
            len(longer) <= _ROWS or (len(longer) <= _SPELLED and len(_gathered(longer)) <= _ROWS)
        ):
            rows = longer
        else:
            at += 1
    return _gathered(rows)


def _gathered(rows: list[Row]) -> list[Row]:
    """Return rows with those made one that differ in their first text and go on alike.

    So the names that are not declared are two rows, though each beginning of a declared name has a
    state of its own. Rows that are text alone stay as they are.
    """
    groups: dict[object, list[Row]] = {}
    for number, row in enumerate(rows):
        pieces = row.pieces[1:] if row.pieces[0].kind == "text" else row.pieces
        alike = pieces if pieces and pieces[0].kind == "call" else [p.kind for p in pieces]
        key = (row.target, *alike) if pieces and not row.note else number
        groups.setdefault(key, []).append(row)
    return [
        row
        for group in groups.values()
        for row in ([_gather(group)] if len(group) > _ALIKE else group)
    ]


def _gather(rows: list[Row]) -> Row:
    """Return one row for many that go on alike after their first text."""
    texts = [row.pieces[0].words if row.pieces[0].kind == "text" else "" for row in rows]
    before = _common(texts)
    rests = [text[len(before) :] for text in texts]
    behind = _common([rest[::-1] for rest in rests])[::-1]
    first = rows[0]
    onward = first.pieces[1:] if first.pieces[0].kind == "text" else first.pieces
    one = f"one of {len(rows):,} texts"
    if onward[0].kind == "class":
        one, behind, onward = f"{one} and another character", "", onward[1:]
    pieces = (Piece("text", before), Piece("class", one), Piece("text", behind), *onward)
    return Row(tuple(piece for piece in pieces if piece.words), first.target)


def _common(texts: list[str]) -> str:
    """Return the longest beginning that all texts have."""
    first, last = min(texts), max(texts)  # what these two share, all between them do
    n = next(
        (at for at, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), None
    )
    return first[:n]


def _further(steps: _Steps, row: Row) -> list[Row]:
    """Return a row continued with each way on from its target; none where it stops or loops."""
    frames, state = steps.table.frames, row.target
    if row.note or state < 0 or state in row.way or steps.table.accept[state]:
        return []
    if frames is not None and frames.escape[state] >= 0:
        return []
    onward = list(_rows(steps, state))
    if any(each.note or each.target == state for each in onward):
        return []
    return [
        Row(
            tuple(_joined([*row.pieces, *each.pieces])),
            each.target,
            "",
            (*row.way, state, *each.way),
        )
        for each in onward
    ]


def _within_word(row: Row) -> bool:
    """Return whether a row ends within a word, or before one: after its opening quotation mark."""
    words = row.pieces[-1].words if row.pieces[-1].kind == "text" else ""
    if words.endswith('"'):
        return len(row.pieces) == 1 and words.rstrip('"')[-1:] in {"", ",", "{", "[", " "}
    spelled = words[-1:].isalnum() or words[-1:] in {"_", "-", ".", "/", "$"}
    return spelled and any(c.isalpha() or c == '"' for c in words)  # numbers are no words


def _ordinal(n: int) -> str:
    ending = "th" if n % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"


def _row(steps: _Steps, step: _Step, note: str = "") -> Row:
    """Return the row that begins with a step and goes on until there is something to choose."""
    pieces = [step.piece]
    way: list[int] = []
    target = step.target
    while target >= 0 and steps.passes(target) and len(pieces) < _LONGEST and target not in way:
        (only,) = steps.of(target)
        way.append(target)
        pieces.append(only.piece)
        target = only.target
    return Row(tuple(_joined(pieces)), target, note, tuple(way))


def _joined(pieces: list[Piece]) -> Iterator[Piece]:
    """Yield pieces with neighbouring texts joined and repeated classes counted."""
    at = 0
    while at < len(pieces):
        first, end = pieces[at], at + 1
        while end < len(pieces) and (
            pieces[end] == first if first.kind == "class" else pieces[end].kind == first.kind
        ):
            if first.kind == "call":
                break
            end += 1
        if first.kind == "text":
            yield Piece("text", "".join(piece.words for piece in pieces[at:end]))
        elif end - at > 1:
            yield Piece("class", f"{end - at:,} times {first.words}")
        else:
            yield first
        at = end


def _run(steps: _Steps, state: int) -> tuple[Piece, list[int], int] | None:
    """Return the counted run that begins in a state: what is counted, the states after, what is next.

    All states of a run have the same ways on but for the one that counts. What is next is the
    state after one more step, -1 if there is no such step.
    """
    for step in steps.of(state):
        rest = steps.without(state, step.piece)
        accepting = bool(steps.table.accept[state])
        passed: list[int] = []
        following = step.target
        while (
            following >= 0
            and following != state
            and steps.without(following, step.piece) == rest
            and bool(steps.table.accept[following]) == accepting
            and following not in passed[-1:]
        ):
            passed.append(following)
            following = next((s.target for s in steps.of(following) if s.piece == step.piece), -1)
        looping = bool(passed) and following == passed[-1]
        if len(passed) >= _RUN and rest and not looping:
            return step.piece, passed, following
    return None


class _Steps:
    """The steps from each state, worked out when they are asked for."""

    def __init__(self, table: Table) -> None:
        self.table = table
        frames = table.frames
        ends = table.tokens_to_end < NO_END
        if frames is not None:
            ends = ends | (frames.tokens_to_pop < NO_END).any(axis=1) | (frames.pop >= 0)
        self._alive = ends
        self.starts = [] if frames is None else np.unique(frames.call_target).tolist()
        self.names = list(frame_names(table).values())
        self._known: dict[int, list[_Step]] = {}
        self._characters: dict[tuple[int, int], dict[int, int] | None] = {}

    def passes(self, state: int) -> bool:
        """Return whether nothing can be chosen in a state."""
        frames = self.table.frames
        bound = frames is not None and frames.escape[state] >= 0
        return not self.table.accept[state] and not bound and len(self.of(state)) == 1

    def without(self, state: int, piece: Piece) -> frozenset[_Step]:
        """Return the steps from a state but for one."""
        return frozenset(step for step in self.of(state) if step.piece != piece)

    def of(self, state: int) -> list[_Step]:
        """Return the steps from a state."""
        if state not in self._known:
            self._known[state] = list(self._find(state))
        return self._known[state]

    def _bytes(self, state: int) -> dict[int, int]:
        """Return the bytes that may come next and where they lead."""
        row = self.table.trans[state]
        found = {int(byte): int(row[byte]) for byte in np.flatnonzero(row != DEAD)}
        return {b: t for b, t in found.items() if t < DEAD or self._alive[t]}

    def _find(self, state: int) -> Iterator[_Step]:
        moves = self._bytes(state)
        reached: dict[int, _Reached] = {}
        for byte, target in moves.items():
            if target < DEAD:
                continue
            beyond = None
            if byte in _LEADS:
                key = target, _tail_length(byte)
                if key not in self._characters:
                    self._characters[key] = self._character(*key)
                beyond = self._characters[key]
            escape = self._escape(target) if byte == 0x5C and len(moves) > 1 else None
            if beyond is not None:
                for found, n in beyond.items():
                    reached.setdefault(found, _Reached()).beyond += n
            elif escape is not None:
                for found in escape:
                    reached.setdefault(found, _Reached()).escape = True
            else:
                reached.setdefault(target, _Reached()).bytes.add(byte)
        for target, what in reached.items():
            yield _Step(what.piece(), self._closing(target))
        yield from self._calls(moves)

    def _calls(self, moves: dict[int, int]) -> Iterator[_Step]:
        frames = self.table.frames
        for byte, target in moves.items():
            if target >= DEAD or frames is None:
                continue
            site = -2 - target
            number = self.starts.index(int(frames.call_target[site]))
            ends = np.unique(frames.call_return[site])
            words = self.names[number]
            words = words if "…" in words else f"{shown(bytes((byte,)))} {words}"
            for after in ends[ends >= 0].tolist():
                if self._alive[after]:
                    yield _Step(Piece("call", words, number), self._closing(after))

    def _closing(self, target: int) -> int:
        frames = self.table.frames
        return CLOSED if frames is not None and frames.pop[target] >= 0 else target

    def _character(self, state: int, left: int) -> dict[int, int] | None:
        """Return where the rest of a character leads, and for how many; None if it is none."""
        moves = self._bytes(state)
        if self.table.accept[state] or not moves or not moves.keys() <= _TAIL:
            return None
        found: Counter[int] = Counter()
        for target, times in Counter(moves.values()).items():
            if target < DEAD:
                return None
            after = {target: 1} if left == 1 else self._character(target, left - 1)
            if after is None:
                return None
            found.update({place: n * times for place, n in after.items()})
        return found

    def _escape(self, state: int) -> set[int] | None:
        """Return where the rest of a JSON escape leads; None if it is none."""
        moves = self._bytes(state)
        if self.table.accept[state] or len(moves) < 2 or not moves.keys() <= _ESCAPES:
            return None
        found = {target for byte, target in moves.items() if byte != 0x75}
        if 0x75 in moves:
            digits = self._digits(moves[0x75], 4)
            if digits is None:
                return None
            found |= digits
        return found if all(target >= 0 for target in found) else None

    def _digits(self, state: int, left: int) -> set[int] | None:
        """Return where hexadecimal digits lead, and the other half of a surrogate pair."""
        if state < 0:
            return None
        if left == 0:
            second = self._only(self._only(state, 0x5C), 0x75)
            return {state} if second < 0 else self._digits(second, 4)
        moves = self._bytes(state)
        if not moves or not moves.keys() <= _HEX:
            return None
        found: set[int] = set()
        for target in set(moves.values()):
            after = self._digits(target, left - 1)
            if after is None:
                return None
            found |= after
        return found

    def _only(self, state: int, byte: int) -> int:
        """Return where a byte leads if it is the only one; else -1."""
        moves = {} if state < 0 else self._bytes(state)
        return moves[byte] if moves.keys() == {byte} else -1


@dataclass(slots=True)
class _Reached:
    """What leads to one place: bytes, so many characters beyond ASCII, escapes."""

    bytes: set[int] = field(default_factory=set)
    beyond: int = 0
    escape: bool = False

    def piece(self) -> Piece:
        if len(self.bytes) == 1 and not self.beyond and not self.escape:
            (byte,) = self.bytes
            if 0x20 <= byte < 0x7F:
                return Piece("text", chr(byte))
        if self.escape and self.beyond == _BEYOND and self.bytes - {0x7F} == _STRING:
            return Piece("class", "any character of a JSON string")
        words = byte_words(self.bytes | (_LEADS if self.beyond == _BEYOND else set()))
        if 0 < self.beyond < _BEYOND:
            words.append(f"{self.beyond:,} characters beyond ASCII")
        if self.escape:
            words.append("an escape")
        return Piece("class", listed(words))


def _tail_length(lead: int) -> int:
    return 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3


def frame_name(name: object, number: int) -> str:
    """Return the name of a frame; the opening byte at the end of it becomes a pair."""
    words = str(name) if name else f"frame {number}"
    return words[:-1] + _PAIRS[words[-1]] if words[-2:-1] == " " and words[-1] in _PAIRS else words

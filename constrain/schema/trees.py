"""The syntax tree of a lowering: nodes of places, and the frames they call.

A place (a formula that can stand somewhere) is the alternation of what it allows of each JSON type.
Arrays, objects and strings are inlined or called, as ``constrain.schema.lowering`` decides; those
with large bounds are counted frames. Equal frames are one frame, so a long string in fifty members
is one frame with fifty call sites. Arrays (or objects) that stand at one place begin with the same
byte, so there all of them are called or none; those that count nothing are one frame together, and
which of them a text was need not be remembered.

A string language comes as steps by length (``constrain.schema.languages``). Each step with a large
bound is a counted frame of its own; all others are one automaton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from constrain.counting import eligible
from constrain.errors import SchemaError, UnsupportedSchema
from constrain.nfa import children, thompson
from constrain.schema import strings
from constrain.schema.choice import COUNTED_COPIES, node_size, worthwhile
from constrain.schema.writing import either
from constrain.syntax import (
    EPSILON,
    NEVER,
    Alternate,
    ByteSet,
    Call,
    Concat,
    Embed,
    Frame,
    Grammar,
    Graph,
    Literal,
    Named,
    Node,
    Repeat,
    concat,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from constrain.dfa import DFA
    from constrain.schema.formulas import Formula
    from constrain.schema.languages import Steps
    from constrain.schema.lowering import FrameMode, Kind, Lowering, Part
    from constrain.schema.writing import Written

COUNTED_LENGTH = 100
"""String bounds above this are counted by a frame."""
_CLOSING: dict[Kind, str] = {"[": "]", "{": "}"}

Parts: TypeAlias = "tuple[Part, ...]"
"""Arrays, or objects, that can stand at one place."""

# Why a part is a frame, for people.
RECURSIVE, COUNTED, BESIDE = "recursive", "counted", "beside a frame"


def in_places(n_places: int) -> str:
    """Return the reason of a part that is shared."""
    return f"in {n_places:,} places"


class Tree:
    """One lowering under one choice of frames.

    Attributes
    ----------
    frames : dict[str, Frame]
        By name.
    """

    def __init__(
        self,
        lowering: Lowering,
        mode: FrameMode,
        kinds: Mapping[Kind, str],
        shared: Mapping[Hashable, int],
    ) -> None:
        """Lower all places.

        Parameters
        ----------
        lowering : Lowering
        mode : FrameMode
        kinds : mapping of Kind to str
            The kinds of which all parts are frames, and why.
        shared : mapping of Parts or DFA to int
            Further parts and string languages that are frames, and in how many places they stand.
        """
        self.lowering = lowering
        self.mode = mode
        self.kinds = kinds
        self.shared = shared
        self.frames: dict[str, Frame] = {}
        self._nodes: dict[Formula, Node] = {}
        self._names: dict[Hashable, str] = {}
        self._taken: set[str] = set()
        self._sizes: dict[int, tuple[int, Node]] = {}
        self._written: dict[Part, Written] = {}
        self._inlined: dict[Hashable, Node] = {}
        pending: list[tuple[Parts, str]] = []
        for formula in lowering.order:
            self._nodes[formula] = self._place(formula, pending)
        for parts, why in pending:
            self.frames[self._names[parts]] = self._frame(parts, why)

    def grammar(self) -> Grammar:
        """Return the grammar.

        Raises
        ------
        SchemaError
            If nothing finite can be written.
        """
        grammar = Grammar(self._nodes[self.lowering.root], self.frames)
        endless = unproductive(grammar)
        if endless is not None:
            raise endless
        return grammar

    def total(self) -> int:
        """Return about how many NFA states the grammar has."""
        return sum(self.size(node) for node, _ in self._roots())

    def worthwhile(self) -> dict[Hashable, int]:
        """Return the parts and string languages that are worth a frame, with their places."""
        return worthwhile(self._roots(), {id(node): part for part, node in self._inlined.items()})

    def _roots(self) -> list[tuple[Node, int]]:
        """Return the start and the bodies of all frames, with how often each is written out."""
        roots = [(self._nodes[self.lowering.root], 1)]
        for frame in self.frames.values():
            counted = frame.minimum > 0 or frame.maximum is not None
            roots.append((frame.body, COUNTED_COPIES if counted else 1))
        return roots

    # -- places -------------------------------------------------------------------------------

    def _place(self, formula: Formula, pending: list[tuple[Parts, str]]) -> Node:
        place = self.lowering.places[formula]
        shape = place.shape
        options: list[Node] = []
        if shape.null:
            options.append(Literal(b"null"))
        options.extend(Literal(b"true" if b else b"false") for b in sorted(shape.booleans))
        if shape.numbers is not self.lowering.world.numbers.nothing:
            options.append(self.lowering.number(shape.numbers))
        options.extend(self._strings(shape.strings, place.where))
        for kind in _CLOSING:
            parts = tuple(part for part in place.parts if part.kind == kind)
            options.extend(self._parts(parts, pending))
        return Named(either(options) if options else NEVER, f"#{place.where}")

    def _parts(self, parts: Parts, pending: list[tuple[Parts, str]]) -> list[Node]:
        """Return the nodes of the parts of one kind at one place: all inlined, or all called."""
        if not parts:
            return []
        reasons = {part: self._why(part) for part in parts}
        shared = in_places(self.shared[parts]) if parts in self.shared else ""
        if not shared and not any(reasons.values()):
            return [self._inline(parts)]
        calls: list[Node] = []
        for members in self._joined(parts):
            if members not in self._names:
                whys = [reasons[part] for part in members if reasons[part]] or [shared or BESIDE]
                pending.append((members, RECURSIVE if RECURSIVE in whys else whys[0]))
                self._name(members, members[0].where, members[0].kind)
            calls.append(Call(self._names[members]))
        return calls

    def _joined(self, parts: Parts) -> list[Parts]:
        """Return the frames of parts that begin alike: one for all, but for those that count."""
        counting = [part for part in parts if self._may_count(part)]
        others = tuple(part for part in parts if part not in counting)
        return [*((part,) for part in counting), *([others] if others else [])]

    def _why(self, part: Part) -> str:
        """Return why a part is a frame wherever it stands; empty if it is not."""
        if part.recursive and self.mode == "never":
            reason = "it contains itself, which needs frames (frames is set to never)"
            raise UnsupportedSchema(reason, part.where)
        if part.recursive:
            return RECURSIVE
        if part.kind in self.kinds:
            return self.kinds[part.kind]
        return COUNTED if self._write(part).counted else ""

    def _may_count(self, part: Part) -> bool:
        """Return whether a frame of the part counts; a recursive one cannot be written yet."""
        if part.recursive:
            return part.record.maximum is not None or part.record.minimum > 1
        return self._write(part).counted

    def _write(self, part: Part) -> Written:
        """Return what stands between the brackets; what it contains is lowered."""
        written = self._written.get(part)
        if written is None:
            counting = self.mode != "never"
            place = self._nodes.__getitem__
            written = self.lowering.write(part, place, counting=counting, size=self.size)
            self._written[part] = written
        return written

    def _inline(self, parts: Parts) -> Node:
        node = self._inlined.get(parts)
        if node is None:
            first, last = (Literal(b.encode()) for b in (parts[0].kind, _CLOSING[parts[0].kind]))
            body = either([self._write(part).body for part in parts])
            node = self._inlined[parts] = concat(first, body, last)
        return node

    def _frame(self, parts: Parts, why: str) -> Frame:
        """Return the frame of parts that begin alike; one that counts is alone."""
        written = [self._write(part) for part in parts]
        body = either([each.body for each in written])
        counts = (written[0].minimum, written[0].maximum)
        kind, where = parts[0].kind, f"#{parts[0].where}"
        return Frame(ord(kind), body, ord(_CLOSING[kind]), *counts, why, where)

    def _name(self, key: Hashable, where: str, kind: str) -> str:
        """Return the name of a frame: a pointer and its opening byte, numbered where needed."""
        base = f"#{where} {kind}"
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base} {number}"
        self._taken.add(name)
        self._names[key] = name
        return name

    # -- strings ------------------------------------------------------------------------------

    def _strings(self, steps: Steps, where: str) -> list[Node]:
        texts = self.lowering.world.texts
        pieces = self._capped(texts.pieces(steps), where)
        if not pieces:
            return []
        large = [p for p in pieces if max(p[0], p[1] or 0) > COUNTED_LENGTH]
        counted = [p for p in large if self.mode != "never" and self._countable(p[2])]
        written = [texts.folded(*p) for p in pieces if p not in counted]
        options: list[Node] = [self._string_frame(x, low, high, where) for low, high, x in counted]
        if written:
            language = texts.space.join_all(written)
            if counted or '"' in self.kinds or language in self.shared:
                options.append(self._string_frame(language, 0, None, where))
            else:
                options.append(self._inline_string(language))
        return options

    def _inline_string(self, language: DFA) -> Node:
        node = self._inlined.get(language)
        if node is None:
            quote = Literal(b'"')
            node = self._inlined[language] = concat(quote, self._content(language), quote)
        return node

    def _countable(self, language: DFA) -> bool:
        """Return whether a frame can count the characters of a language."""
        world = self.lowering.world
        if language is world.texts.space.everything:
            return True
        spelled = strings.spelled(language)
        body = Embed(spelled, strings.ticks(spelled))
        frame = Frame(ord('"'), body, ord('"'), 0, 1)
        return eligible(thompson(Grammar(Call(""), {"": frame}), world.meter), 1)

    def _content(self, language: DFA) -> Node:
        world = self.lowering.world
        if language is world.texts.space.everything:
            return strings.free()
        return Embed(strings.spelled(language))

    def _string_frame(self, language: DFA, least: int, most: int | None, where: str) -> Node:
        key = ('"', language, least, most)
        if key in self._names:
            return Call(self._names[key])
        name = self._name(key, where, '"')
        if least or most is not None:
            spelled = strings.spelled(language)
            body: Node = Embed(spelled, strings.ticks(spelled))
            why = COUNTED
        else:
            body = self._content(language)
            places = self.shared.get(language)
            why = in_places(places) if places else self.kinds.get('"', BESIDE)
        quote = ord('"')
        self.frames[name] = Frame(quote, body, quote, least, most, why, f"#{where}")
        return Call(name)

    def _capped(
        self, pieces: list[tuple[int, int | None, DFA]], where: str
    ) -> list[tuple[int, int | None, DFA]]:
        cap = self.lowering.cap_length
        if cap is None or not pieces or pieces[-1][1] is None or pieces[-1][1] <= cap:
            return pieces
        short: list[tuple[int, int | None, DFA]] = [
            (a, min(b, cap), x) for a, b, x in pieces if b is not None and a <= cap
        ]
        fits = [p for p in short if strings.lengths(p[2], p[0], p[1])]
        if not fits:
            return pieces
        self.lowering.notes[f"maxLength {pieces[-1][1]} tightened to {cap} at #{where}"] = None
        return fits

    # -- sizes --------------------------------------------------------------------------------

    def size(self, node: Node) -> int:
        """Return about how many NFA states a node has."""
        if isinstance(node, Literal):
            return len(node.data)
        known = self._sizes.get(id(node))
        if known is not None:
            return known[0]
        size = node_size(node, self.size)
        self._sizes[id(node)] = (size, node)  # the node is kept, so that its id stays its own
        return size


# -- what can end -----------------------------------------------------------------------------


def unproductive(grammar: Grammar) -> SchemaError | None:
    """Return the error of a grammar no finite text of which exists, else None."""
    able: set[str] = set()
    changed = True
    while changed:
        changed = False
        for name, frame in grammar.frames.items():
            if name not in able and _can_end(frame.body, able, {}):
                able.add(name)
                changed = True
    if _can_end(grammar.start, able, {}):
        return None
    return _hopeless(grammar, able)


def _hopeless(grammar: Grammar, able: set[str]) -> SchemaError:
    """Return the error, at the innermost part on the way down from the start that has no text."""
    node: Node | None = grammar.start
    where, met, memo = "", set[str](), dict[int, bool]()
    reason = "no value satisfies the schema"
    while node is not None:
        below: Iterable[Node] = (part for part in children(node) if part is not EPSILON)
        if isinstance(node, Named):
            where = node.where
        elif isinstance(node, Call) and node.name in met:
            reason = "the recursion can never end: each value needs another one inside it"
        elif isinstance(node, Call):
            met.add(node.name)
            frame = grammar.frames[node.name]
            where, below = frame.where or where, [frame.body]
        node = next((part for part in below if not _can_end(part, able, memo)), None)
    return SchemaError(reason, where.removeprefix("#"))


def _can_end(node: Node, able: set[str], memo: dict[int, bool]) -> bool:
    if isinstance(node, ByteSet | Literal):
        return True
    if isinstance(node, Call):
        return node.name in able
    known = memo.get(id(node))
    if known is not None:
        return known
    if isinstance(node, Embed):
        result = not node.dfa.is_empty
    elif isinstance(node, Concat):
        result = all(_can_end(part, able, memo) for part in node.parts)
    elif isinstance(node, Alternate):
        result = any(_can_end(option, able, memo) for option in node.options)
    elif isinstance(node, Graph):
        result = _graph_can_end(node, able, memo)
    else:
        empty = isinstance(node, Repeat) and node.minimum == 0
        result = empty or _can_end(node.node, able, memo)
    memo[id(node)] = result
    return result


def _graph_can_end(graph: Graph, able: set[str], memo: dict[int, bool]) -> bool:
    after: dict[int, list[int]] = {}
    for source, label, target in graph.edges:
        if label is EPSILON or _can_end(label, able, memo):
            after.setdefault(source, []).append(target)
    seen = {graph.start}
    queue = [graph.start]
    for point in queue:
        for target in after.get(point, ()):
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return graph.end in seen


# -- cycles ----------------------------------------------------------------------------------


def strong_components(edges: list[list[int]]) -> list[list[int]]:
    """Return the strongly connected components of a graph, each before those that lead to it.

    R. Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion.
    """
    index = [0] * len(edges)  # 0: not seen; numbers begin at 1
    low = [0] * len(edges)
    open_: list[int] = []
    found: list[list[int]] = []
    done = [False] * len(edges)
    counter = 0
    for root in range(len(edges)):
        work = [] if index[root] else [(root, iter(edges[root]))]
        while work:
            node, targets = work[-1]
            if not index[node]:
                counter += 1
                index[node] = low[node] = counter
                open_.append(node)
            for target in targets:
                if not index[target]:
                    work.append((target, iter(edges[target])))
                    break
                if not done[target]:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = open_.index(node)
                    found.append(open_[at:])
                    del open_[at:]
                    for member in found[-1]:
                        done[member] = True
    return found

"""The syntax tree of a lowering: nodes of places, and the frames they call.

A place (a formula that can stand somewhere) is the alternation of what it allows of each JSON type.
Arrays and objects are inlined or called, as ``constrain.schema.lowering`` decides; strings with
large bounds are counted frames. Equal frames are one frame, so a long string in fifty members is one
frame with fifty call sites.

A string language comes as steps by length (``constrain.schema.languages``). Each step with a large
bound is a counted frame of its own; all others are one automaton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.counting import eligible
from constrain.errors import SchemaError, UnsupportedSchema
from constrain.nfa import thompson
from constrain.schema import numbers, strings
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
    Tick,
    concat,
)

if TYPE_CHECKING:
    from constrain.dfa import DFA
    from constrain.schema.formulas import Formula
    from constrain.schema.languages import Steps
    from constrain.schema.lowering import FrameMode, Kind, Lowering, Part
    from constrain.schema.writing import Written

COUNTED_LENGTH = 100
"""String bounds above this are counted by a frame."""
_CLOSING = {"{": "}", "[": "]"}


class Tree:
    """One lowering under one choice of frames.

    Attributes
    ----------
    frames : dict[str, Frame]
        By name.
    counts_strings : bool
        Whether some frame counts characters.
    """

    def __init__(self, lowering: Lowering, mode: FrameMode, kinds: frozenset[Kind]) -> None:
        self.lowering = lowering
        self.mode = mode
        self.kinds = kinds
        self.frames: dict[str, Frame] = {}
        self._nodes: dict[Formula, Node] = {}
        self.counts_strings = False
        self._names: dict[object, str] = {}
        self._sizes: dict[int, tuple[int, Node]] = {}
        self._written: dict[Part, Node] = {}
        pending: list[Part] = []
        for formula in lowering.order:
            self._nodes[formula] = self._place(formula, pending)
        for part in pending:
            self._body(part)

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
        return self.size(self._nodes[self.lowering.root]) + sum(
            self.size(frame.body) for frame in self.frames.values()
        )

    # -- places -------------------------------------------------------------------------------

    def _place(self, formula: Formula, pending: list[Part]) -> Node:
        place = self.lowering.places[formula]
        shape = place.shape
        options: list[Node] = []
        if shape.null:
            options.append(Literal(b"null"))
        options.extend(Literal(b"true" if b else b"false") for b in sorted(shape.booleans))
        if shape.numbers is not self.lowering.world.numbers.nothing:
            options.append(numbers.node(shape.numbers))
        options.extend(self._strings(shape.strings, place.where))
        options.extend(self._part(part, pending) for part in place.parts)
        return Named(either(options) if options else NEVER, f"#{place.where}")

    def _part(self, part: Part, pending: list[Part]) -> Node:
        if part in self._names:
            return Call(self._names[part])
        known = self._written.get(part)
        if known is not None:
            return known
        if part.recursive and self.mode == "never":
            reason = "it contains itself, which needs frames (frames is set to never)"
            raise UnsupportedSchema(reason, part.where)
        if part.recursive or part.kind in self.kinds:
            pending.append(part)
            return Call(self._name(part, part.where, part.kind))
        written = self._write(part)
        if written.counted:
            name = self._name(part, part.where, part.kind)
            self.frames[name] = self._frame(part, written, "counted")
            return Call(name)
        brackets = [Literal(b.encode()) for b in (part.kind, _CLOSING[part.kind])]
        node = self._written[part] = concat(brackets[0], written.body, brackets[1])
        return node

    def _write(self, part: Part) -> Written:
        counting = self.mode != "never"
        return self.lowering.write(part, self._nodes.__getitem__, counting=counting, size=self.size)

    def _body(self, part: Part) -> None:
        why = "recursive" if part.recursive else "shared"
        self.frames[self._names[part]] = self._frame(part, self._write(part), why)

    def _frame(self, part: Part, written: Written, why: str) -> Frame:
        return Frame(
            ord(part.kind),
            written.body,
            ord(_CLOSING[part.kind]),
            written.minimum,
            written.maximum,
            why,
            f"#{part.where}",
        )

    def _name(self, key: object, where: str, kind: str) -> str:
        """Return the name of a frame: a pointer and its opening byte, numbered where needed."""
        base = f"#{where} {kind}"
        name, number = base, 1
        taken = set(self._names.values())
        while name in taken:
            number += 1
            name = f"{base} {number}"
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
        self.counts_strings |= bool(counted)
        if written:
            language = texts.space.join_all(written)
            if counted or '"' in self.kinds:
                options.append(self._string_frame(language, 0, None, where))
            else:
                quote = Literal(b'"')
                options.append(concat(quote, self._content(language), quote))
        return options

    def _countable(self, language: DFA) -> bool:
        """Return whether a frame can count the characters of a language."""
        world = self.lowering.world
        if language is world.texts.space.everything:
            return True
        spelled = world.texts.spelled(language)
        body = Embed(spelled, strings.ticks(spelled))
        frame = Frame(ord('"'), body, ord('"'), 0, 1)
        return eligible(thompson(Grammar(Call(""), {"": frame}), world.meter), 1)

    def _content(self, language: DFA) -> Node:
        world = self.lowering.world
        if language is world.texts.space.everything:
            return strings.free()
        return Embed(world.texts.spelled(language))

    def _string_frame(self, language: DFA, least: int, most: int | None, where: str) -> Node:
        key = ('"', language, least, most)
        if key in self._names:
            return Call(self._names[key])
        name = self._name(key, where, '"')
        if least or most is not None:
            spelled = self.lowering.world.texts.spelled(language)
            body: Node = Embed(spelled, strings.ticks(spelled))
            why = "counted"
        else:
            body, why = self._content(language), "shared"
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
        known = self._sizes.get(id(node))
        if known is not None:
            return known[0]
        if isinstance(node, Literal):
            size = len(node.data)
        elif isinstance(node, Embed):
            size = node.dfa.n_states
        elif isinstance(node, Repeat):
            copies = node.minimum + 1 if node.maximum is None else node.maximum
            size = copies * (self.size(node.node) + 1)
        elif isinstance(node, Concat):
            size = sum(map(self.size, node.parts))
        elif isinstance(node, Alternate):
            size = sum(map(self.size, node.options))
        elif isinstance(node, Graph):
            size = node.n_points + sum(self.size(label) for _, label, _ in node.edges)
        else:
            size = self.size(node.node) if isinstance(node, Named | Tick) else 1
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
    for name, frame in grammar.frames.items():
        if name not in able and frame.why == "recursive":
            reason = "the recursion can never end: each value needs another one inside it"
            return SchemaError(reason, frame.where.removeprefix("#"))
    return SchemaError("no value satisfies the schema")


def _can_end(node: Node, able: set[str], memo: dict[int, bool]) -> bool:
    known = memo.get(id(node))
    if known is not None:
        return known
    if isinstance(node, Call):
        return node.name in able
    if isinstance(node, ByteSet | Literal):
        return True
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
        if label == EPSILON or _can_end(label, able, memo):
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

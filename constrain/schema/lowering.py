"""From formulas to a grammar: which parts are frames, and the syntax tree of each.

The lowering goes over the formulas that can stand somewhere in a document, from the root down.
Each becomes a shape once; its array and object records become ``Part``s. Then it decides which
parts are *frames* (``constrain.syntax``):

1. what lies on a cycle: recursion, and free JSON values, which contain themselves;
2. what is counted: strings, arrays and objects with large bounds;
3. what is large and stands in many places, as ``constrain.schema.choice`` weighs it, strings too;
4. every array and object, if asked to.

Everything else is inlined. An inlined part and a frame must not begin with the same byte where both
are possible; whoever builds the automaton finds that out exactly, and ``Lowering.grammar`` is then
asked again with the *kinds* (``"{"``, ``"["``, ``'"'``) of which all parts shall be frames.

Parts are lowered children first, so nothing here recurses as deep as the schema does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as Choice

from constrain.schema import numbers, plans
from constrain.schema.choice import PLAIN
from constrain.schema.plans import Plan
from constrain.schema.shapes import ArrayShape
from constrain.schema.trees import Tree, strong_components
from constrain.schema.write_arrays import write_array
from constrain.schema.write_objects import write_object
from constrain.syntax import EPSILON, Grammar, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from constrain.dfa import DFA
    from constrain.schema.formulas import Formula
    from constrain.schema.layout import Layout
    from constrain.schema.reading import Reader
    from constrain.schema.shapes import Shape
    from constrain.schema.writing import Written

FrameMode: TypeAlias = Choice["never", "needed", "always"]
Kind: TypeAlias = Choice["{", "[", '"']

_HUGE = 1 << 40
_BRACKETS: tuple[Kind, Kind] = ("{", "[")
_ASKED_FOR = "always"


@dataclass(eq=False, slots=True)
class Part:
    """A way to write an array or an object.

    Attributes
    ----------
    kind : Kind
    record : ArrayShape | Plan
    where : str
        The pointer of a schema that has it.
    recursive : bool
        Whether a text of it can contain a text of it.
    """

    kind: Kind
    record: ArrayShape | Plan
    where: str
    children: list[Formula] = field(default_factory=list)
    """The formulas of what stands in it."""
    recursive: bool = False


@dataclass(slots=True)
class _Place:
    """A formula that can stand somewhere: its shape, its parts, and where."""

    shape: Shape
    parts: list[Part]
    where: str
    children: list[Formula] = field(default_factory=list)


class Lowering:
    """Lowers the root formula of a reader.

    Attributes
    ----------
    notes : dict[str, None]
        Bounds that were tightened by ``cap_length`` and ``cap_items``.
    """

    def __init__(
        self,
        reader: Reader,
        root: Formula,
        layout: Layout,
        *,
        open_: bool,
        cap_length: int | None,
        cap_items: int | None,
    ) -> None:
        self.reader = reader
        self.world = reader.world
        self.layout = layout
        self.open = open_
        self.cap_length = cap_length
        self.cap_items = cap_items
        self.root = root
        self.notes: dict[str, None] = {}
        self.parts: dict[ArrayShape | Plan, Part] = {}
        self._numbers: dict[DFA, Node] = {}
        self.places: dict[Formula, _Place] = {}
        self._explore()
        self.order = self._mark_cycles()

    # -- what there is ------------------------------------------------------------------------

    def _explore(self) -> None:
        queue: list[tuple[Formula, str]] = [(self.root, "")]
        meter = self.reader.meter
        for formula, guess in queue:
            if formula in self.places:
                continue
            where = self.reader.places.get(formula, guess)
            meter.where = f"#{where}"
            place = self.places[formula] = self._place(formula, where)
            queue.extend((child, f"{where}/*") for child in place.children)
            meter.require("subschemas", len(self.places), meter.limits.max_nodes)

    def _place(self, formula: Formula, where: str) -> _Place:
        shape = self.world.shape(formula)
        parts: list[Part] = []
        for array in shape.arrays:
            parts.append(self._part("[", self._capped(array, where), where))
        found = plans.plans(self.world, shape.objects, open_=self.open, pointer=where)
        parts.extend(self._part("{", plan, where) for plan in found)
        children = dict.fromkeys(child for part in parts for child in part.children)
        return _Place(shape, list(dict.fromkeys(parts)), where, list(children))

    def _part(self, kind: Kind, record: ArrayShape | Plan, where: str) -> Part:
        part = self.parts.get(record)
        if part is None:
            part = self.parts[record] = Part(kind, record, where)
            part.children = list(dict.fromkeys(self._values(part)))
        return part

    def _values(self, part: Part) -> Iterable[Formula]:
        """Return the formulas of what stands in a part: the array writer tells which it asks for."""
        if isinstance(part.record, Plan):
            return part.record.values()
        asked: list[Formula] = []

        def place(formula: Formula) -> Node:
            asked.append(formula)
            return EPSILON

        self.write(part, place, counting=True, size=lambda _: _HUGE)
        return asked

    def write(
        self,
        part: Part,
        place: Callable[[Formula], Node],
        *,
        counting: bool,
        size: Callable[[Node], int] = lambda node: 0,
    ) -> Written:
        """Return what stands between the brackets of a part."""
        world, layout = self.world, self.layout
        if isinstance(part.record, Plan):
            return write_object(world, part.record, layout, place, size, counting=counting)
        return write_array(world, part.record, layout, place, size, counting=counting)

    def number(self, language: DFA) -> Node:
        """Return the node of a set of numbers."""
        node = self._numbers.get(language)
        if node is None:
            node = self._numbers[language] = numbers.node(language)
        return node

    def _capped(self, record: ArrayShape, where: str) -> ArrayShape:
        most = record.maximum
        if self.cap_items is None or most is None:
            return record
        cap = max(self.cap_items, record.minimum)
        if most <= cap:
            return record
        self.notes[f"maxItems {most} tightened to {cap} at #{where}"] = None
        return replace(record, maximum=cap)

    def _mark_cycles(self) -> list[Formula]:
        """Mark the recursive parts; return the formulas, children before their parents."""
        formulas = list(self.places)
        number = {formula: i for i, formula in enumerate(formulas)}
        edges = [[number[c] for c in place.children] for place in self.places.values()]
        order: list[Formula] = []
        for members in strong_components(edges):
            inside = {formulas[i] for i in members}
            order.extend(formulas[i] for i in members)
            for formula in inside:
                for part in self.places[formula].parts:
                    part.recursive |= not inside.isdisjoint(part.children)
        return order

    # -- the grammar --------------------------------------------------------------------------

    def grammar(self, mode: FrameMode, kinds: Mapping[Kind, str]) -> Grammar:
        """Return the grammar, with all parts of the given kinds as frames; kinds say why.

        Raises
        ------
        SchemaError
            If nothing can be written, or if ``mode`` is ``"never"`` and something is recursive.
        """
        if mode == "always":
            kinds = dict.fromkeys(_BRACKETS, _ASKED_FOR) | dict(kinds)
        tree = Tree(self, mode, kinds, {})
        if mode != "never" and (tree.frames or tree.total() > PLAIN):
            shared = tree.worthwhile()
            if shared:
                tree = Tree(self, mode, kinds, shared)
        return tree.grammar()

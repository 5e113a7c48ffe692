"""Which keyword of a schema forbids a part of an instance, found from the part itself.

An instance is refused at a place: a value that is wrong, a member that is not allowed, an object or
array that ends too early. ``Judge`` walks from the root of the schema along the path to that place
and gathers the schemas that apply there. What holds in any case (``$ref``, ``allOf``, properties,
items) is told apart from alternatives (``anyOf``, ``oneOf``, ``if``), of which those are left out
that contradict what the instance holds so far; if one is left, it holds in any case, too.

Then every keyword of these schemas is tried on its own: a keyword forbids a value if no value that
satisfies it equals the value. That is asked of the same algebra that compiles, so the answer is
about what the table enforces; what has been relaxed blames nobody.

Alternatives are to blame only if each of them forbids the part.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constrain.errors import ConstrainError
from constrain.schema import apart, assertions, formats
from constrain.schema.documents import Documents, Location
from constrain.schema.formulas import TRUE, Formula
from constrain.schema.reading import Reader
from constrain.schema.shapes import ArrayShape, ObjectShape, Origin, Shape, Slot
from constrain.schema.support import DRAFT2019, DRAFT2020
from constrain.schema.validation import escaped
from constrain.schema.values import equal

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from constrain.limits import Meter
    from constrain.schema.world import World

_PAIRS = 100_000  # of items that are compared
_BELOW = frozenset(
    (
        "$ref", "$dynamicRef", "$recursiveRef", "allOf", "properties", "patternProperties",
        "additionalProperties", "prefixItems", "items", "additionalItems", "then", "else",
    )
)  # fmt: skip
"""Keywords that speak of a value through other schemas, which are looked at themselves."""


@dataclass(frozen=True, slots=True)
class Blame:
    """A keyword that forbids something.

    Attributes
    ----------
    pointer : str
        Its JSON pointer.
    reason : str
        What it says, to be read after the pointer.
    inner : tuple[Blame, ...]
        For alternatives, the blame of each.
    """

    pointer: str
    reason: str
    inner: tuple[Blame, ...] = ()


@dataclass(slots=True)
class _Node:
    """Schemas that apply to one value: in any case, and by choice (the keyword's pointer first)."""

    locations: list[Location] = field(default_factory=list[Location])
    choices: list[tuple[str, list[_Node]]] = field(default_factory=list[tuple[str, "list[_Node]"]])

    def add(self, other: _Node) -> None:
        """Add what another node holds."""
        self.locations += other.locations
        self.choices += other.choices


class Judge:
    """Finds the keywords of one schema that forbid parts of instances.

    Parameters
    ----------
    schema : Any
    relax : iterable of str
        Keywords that were left unenforced, as KEYWORD@POINTER.
    refs : sequence
        Other documents that references lead to.
    open_ : bool
        Whether objects may have further members where ``additionalProperties`` is absent.
    meter : Meter
    """

    def __init__(
        self,
        schema: Any,
        relax: Iterable[str],
        meter: Meter,
        *,
        refs: Sequence[Any] = (),
        open_: bool = False,
    ) -> None:
        self.reader = Reader(
            Documents(schema, refs, meter),
            relax,
            meter,
            exact=formats.all_exact((schema, *(contents for _, contents in refs))),
        )
        self._open: set[Hashable] = set()  # the schemas being spread
        self.open = open_

    # -- what can be asked --------------------------------------------------------------------

    def of_value(
        self, path: Sequence[str | int], around: Sequence[Any], value: Any
    ) -> Blame | None:
        """Return what forbids a value.

        Parameters
        ----------
        path : sequence of str or int
            From the root to the value.
        around : sequence
            What is complete so far of each array and object on the way, outermost first.
        value : Any
            The value; of an array or object only the type is looked at.
        """
        if isinstance(value, dict | list):
            empty = type(value)()
            return self._blame(
                self._node_at(path, around), lambda at: self._keyword(at, empty, ("type",))
            )
        found = self._blame(self._node_at(path, around), lambda at: self._keyword(at, value))
        if found is None and path and isinstance(path[-1], int):
            items = [*around[len(path) - 1], value]
            return self._blame(
                self._node_at(path[:-1], around),
                lambda at: self._keyword(at, items, ("uniqueItems", "maxContains", "contains")),
            )
        return found

    def of_member(
        self, path: Sequence[str | int], around: Sequence[Any], name: str
    ) -> Blame | None:
        """Return what forbids a member of a name in the object at a path."""
        node = self._node_at(path, around)
        return self._blame(node, lambda at: self._no_member(at, around[-1], name))

    def of_end(self, path: Sequence[str | int], around: Sequence[Any]) -> Blame | None:
        """Return what forbids that the array or object at a path ends with what it has so far."""
        return self.of_whole(path, around[:-1], around[-1])

    def of_whole(
        self, path: Sequence[str | int], around: Sequence[Any], value: Any
    ) -> Blame | None:
        """Return what forbids a value as a whole, other than by one of its parts."""
        return self._blame(
            self._node_at(path, (*around, value)), lambda at: self._keyword(at, value)
        )

    def of_more(self, path: Sequence[str | int], around: Sequence[Any]) -> Blame | None:
        """Return what forbids a further item in the array at a path."""
        items = around[-1]
        beyond = (*path, len(items))

        def test(at: Location) -> Blame | None:
            most = self.reader.get(at, "maxItems") if isinstance(at.schema, dict) else None
            return None if most is None or len(items) < most else _blame_of(at, "maxItems")

        return self._blame(self._node_at(path, around), test) or self._blame(
            self._node_at(beyond, around),
            lambda at: Blame(at.pointer, "is false") if at.schema is False else None,
        )

    def allows(self, value: Any) -> bool:
        """Return whether the schema surely allows a whole instance."""
        root = self.reader.documents.root
        if any("uniqueItems" in each for each in self.reader.documents.schemas.values()):
            return False  # shapes do not tell
        world = self.reader.world
        wanted = assertions.value_formula(world, value)
        formula = self.reader.formula(root)
        return world.possible(world.formulas.conjunction(formula, wanted))

    # -- the way down -------------------------------------------------------------------------

    def _node_at(self, path: Sequence[str | int], around: Sequence[Any]) -> _Node:
        node = self._spread(self.reader.documents.root, around[0] if around else None)
        for depth, step in enumerate(path, start=1):
            node = self._below(node, step, around[depth] if depth < len(around) else None)
        return node

    def _below(self, node: _Node, step: str | int, partial: Any) -> _Node:
        found = _Node()
        for location in node.locations:
            for child in self._children(location, step):
                found.add(self._spread(child, partial))
        for keyword, branches in node.choices:
            found.choices.append((keyword, [self._below(n, step, partial) for n in branches]))
        return found

    def _spread(self, location: Location, partial: Any) -> _Node:
        """Return a schema and all others that it applies to the same value."""
        if isinstance(location.schema, bool):
            return _Node([location])
        if location.key in self._open:  # it refers to itself, and allows nothing anyway
            return _Node()
        self._open.add(location.key)
        try:
            return self._spread_out(location, partial)
        finally:
            self._open.discard(location.key)

    def _spread_out(self, location: Location, partial: Any) -> _Node:
        reader, documents = self.reader, self.reader.documents
        node = _Node()
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if reader.has(location, keyword):
                node.add(self._spread(documents.follow(location, keyword), partial))
        if "$ref" in location.schema and location.draft < DRAFT2019:
            return node
        node.locations.append(location)
        for branch, _ in reader.branches(location, "allOf"):
            node.add(self._spread(branch, partial))
        for keyword in ("anyOf", "oneOf"):
            branches = [branch for branch, _ in reader.branches(location, keyword)]
            if branches:
                self._choose(node, f"{location.pointer}/{keyword}", branches, partial)
        for branch in self._asked_for(location, partial):
            node.add(self._spread(branch, partial))
        return node

    def _choose(self, node: _Node, pointer: str, branches: list[Location], partial: Any) -> None:
        live = [branch for branch in branches if self._is_live(branch, partial)] or branches
        nodes = [self._spread(branch, partial) for branch in live]
        if len(nodes) == 1:
            node.add(nodes[0])
        else:
            node.choices.append((pointer, nodes))

    def _asked_for(self, location: Location, partial: Any) -> Iterator[Location]:
        """Yield the schemas that conditions of a schema surely ask for."""
        reader, schema = self.reader, location.schema
        for keyword in ("dependentSchemas", "dependencies"):
            for name, wanted in (reader.get(location, keyword) or {}).items():
                if isinstance(partial, dict) and name in partial and not isinstance(wanted, list):
                    step = f"/{keyword}/{escaped(name)}"
                    yield reader.documents.child(location, step, wanted)
        if not isinstance(partial, dict | list) or not reader.has(location, "if"):
            return
        test = reader.child(location, "/if", schema["if"])
        so_far = self._so_far(partial)
        formulas = reader.world.formulas
        if not reader.world.possible(formulas.difference(so_far, test)):
            wanted = "then"
        elif not reader.world.possible(formulas.conjunction(so_far, test)):
            wanted = "else"
        else:
            return
        if reader.has(location, wanted):
            yield reader.documents.child(location, f"/{wanted}", schema[wanted])

    def _children(self, location: Location, step: str | int) -> list[Location]:
        if isinstance(location.schema, bool):
            return []
        if isinstance(step, str):
            return list(self._members(location, step))
        reader = self.reader
        listed = "prefixItems" if location.draft == DRAFT2020 else "items"
        after = "items" if location.draft == DRAFT2020 else "additionalItems"
        prefix = reader.get(location, listed)
        if isinstance(prefix, list) and step < len(prefix):
            return [reader.documents.child(location, f"/{listed}/{step}", prefix[step])]
        keyword = after if isinstance(prefix, list) else "items"
        if not reader.has(location, keyword):
            return []
        return [reader.documents.child(location, f"/{keyword}", location.schema[keyword])]

    def _members(self, location: Location, name: str) -> Iterator[Location]:
        """Yield the schemas for members of a name."""
        reader, child = self.reader, self.reader.documents.child
        properties = reader.get(location, "properties") or {}
        found = name in properties
        if found:
            yield child(location, f"/properties/{escaped(name)}", properties[name])
        data = name.encode("utf-8", "surrogatepass")
        for pattern, schema in (reader.get(location, "patternProperties") or {}).items():
            language = assertions.pattern_language(reader, pattern, location, "patternProperties")
            if language.matches(data):
                found = True
                yield child(location, f"/patternProperties/{escaped(pattern)}", schema)
        if not found and reader.has(location, "additionalProperties"):
            schema = location.schema["additionalProperties"]
            yield child(location, "/additionalProperties", schema)

    # -- trying keywords ----------------------------------------------------------------------

    def _blame(self, node: _Node, test: Callable[[Location], Blame | None]) -> Blame | None:
        for location in node.locations:
            found = test(location)
            if found is not None:
                return found
        for pointer, branches in node.choices:
            inner = [self._blame(branch, test) for branch in branches]
            blames = tuple(blame for blame in inner if blame is not None)
            if len(blames) == len(branches):
                return Blame(pointer, _NONE.format(len(blames)), blames)
        return None

    def _keyword(
        self, location: Location, value: Any, asked: Sequence[str] | None = None
    ) -> Blame | None:
        """Return the first keyword of a schema that a value does not satisfy."""
        schema = location.schema
        if isinstance(schema, bool):
            return None if schema else Blame(location.pointer, "is false")
        for name in apart.keywords(self.reader, location):
            if name in _BELOW or (asked is not None and name not in asked):
                continue
            if not self._satisfies(apart.alone(location, name), value):
                inner = self._branches(location, name, value)
                return (
                    _none_of(location, name, inner) if inner else _blame_of(location, name, value)
                )
        return None

    def _branches(self, location: Location, name: str, value: Any) -> tuple[Blame, ...]:
        """Return what forbids a value in each branch of ``anyOf`` or ``oneOf``, if in all of them."""
        if name not in ("anyOf", "oneOf"):
            return ()
        inner = [
            self._blame(self._spread(branch, value), lambda at: self._keyword(at, value))
            for branch, _ in self.reader.branches(location, name)
        ]
        blames = tuple(blame for blame in inner if blame is not None)
        return blames if len(blames) == len(inner) else ()

    def _satisfies(self, location: Location, value: Any) -> bool:
        if "uniqueItems" in location.schema and isinstance(value, list):  # not told by shapes
            pairs = itertools.islice(itertools.combinations(value, 2), _PAIRS)
            return location.schema["uniqueItems"] is not True or not any(equal(*p) for p in pairs)
        world = self.reader.world
        try:
            formula = self.reader.formula(location)
            wanted = assertions.value_formula(world, value)
            return world.possible(world.formulas.conjunction(formula, wanted))
        except ConstrainError:  # what cannot be told is not blamed
            return True

    def _no_member(self, location: Location, partial: Any, name: str) -> Blame | None:
        reader, schema = self.reader, location.schema
        if isinstance(schema, bool):
            return None if schema else Blame(location.pointer, "is false")
        most = reader.get(location, "maxProperties")
        if most is not None and len(partial) >= most:
            return _blame_of(location, "maxProperties")
        if reader.has(location, "propertyNames"):
            names = reader.documents.child(location, "/propertyNames", schema["propertyNames"])
            found = self._blame(self._spread(names, None), lambda at: self._keyword(at, name))
            if found is not None:
                return found
        for child in self._members(location, name):
            if child.schema is False:
                return Blame(child.pointer, f"is false and allows no member {apart.shown(name)}")
        return None

    def undeclared(self, path: Sequence[str | int], around: Sequence[Any], name: str) -> str | None:
        """Return the pointer of a schema that has no word on a member and is closed by our choice.

        The standard allows such a member; a table leaves it out unless it was made ``open``.
        """

        def test(at: Location) -> Blame | None:
            if self.open or isinstance(at.schema, bool) or next(self._members(at, name), None):
                return None
            words = ("properties", "required", "patternProperties")
            declares = any(self.reader.has(at, word) for word in words)
            return Blame(at.pointer, "") if declares else None

        found = self._blame(self._node_at(path, around), test)
        return None if found is None else found.pointer

    # -- what an instance holds so far --------------------------------------------------------

    def _is_live(self, branch: Location, partial: Any) -> bool:
        """Return whether a schema allows some value that begins as the instance does."""
        if not isinstance(partial, dict | list):
            return True
        world = self.reader.world
        try:
            formula = self.reader.formula(branch)
            return world.possible(world.formulas.conjunction(formula, self._so_far(partial)))
        except ConstrainError:
            return True

    def _so_far(self, partial: Any) -> Formula:
        """Return the formula of the arrays or objects that begin as a partial one."""
        world = self.reader.world
        key = ("so far", json.dumps(partial, default=str), type(partial).__name__)

        def make(view: World) -> Shape:
            none = view.nothing
            if isinstance(partial, list):
                items = tuple(assertions.value_formula(view, item) for item in partial)
                arrays = (ArrayShape(items, TRUE, len(items)),)
                return Shape(none.null, none.booleans, none.numbers, none.strings, arrays, ())
            slots = tuple(
                Slot(name, assertions.value_formula(view, member), False, Origin.FREE)
                for name, member in partial.items()
            )
            return assertions.only_objects(view, (ObjectShape(slots, view.free_object.rest),))

        return world.atom(key, make)


_NONE = "allows it in none of its {} branches"


def _none_of(location: Location, keyword: str, inner: tuple[Blame, ...]) -> Blame:
    return Blame(apart.pointer_of(location, keyword), _NONE.format(len(inner)), inner)


def _blame_of(location: Location, keyword: str, value: Any = None) -> Blame:
    pointer = apart.pointer_of(location, keyword)
    return Blame(pointer, _says(keyword, location.schema[keyword], value))


_ASKS = {
    "minimum": "asks for at least {}",
    "maximum": "asks for at most {}",
    "exclusiveMinimum": "asks for more than {}",
    "exclusiveMaximum": "asks for less than {}",
    "multipleOf": "asks for a multiple of {}",
    "minLength": "asks for at least {} characters",
    "maxLength": "asks for at most {} characters",
    "pattern": "asks for a text in which {} is found",
    "format": "asks for a text of the format {}",
    "minItems": "asks for at least {} items",
    "maxItems": "asks for at most {} items",
    "minProperties": "asks for at least {} members",
    "maxProperties": "asks for at most {} members",
    "const": "asks for {}",
    "enum": "has other values: {}",
    "not": "forbids {}",
    "contains": "asks for an item that satisfies {}",
}


def _says(keyword: str, wanted: Any, value: Any) -> str:
    """Return what a keyword says, as the predicate of a sentence."""
    if keyword == "type":
        return f"asks for {' or '.join([wanted] if isinstance(wanted, str) else wanted)}"
    if keyword == "required" and isinstance(value, dict):
        missing = [json.dumps(name, ensure_ascii=False) for name in wanted if name not in value]
        return f"asks for {' and '.join(missing[:4])}" + (" and others" if missing[4:] else "")
    if keyword == "uniqueItems":
        return "is true: an item may not repeat another"
    if keyword in ("anyOf", "oneOf"):
        how = "exactly one" if keyword == "oneOf" else "at least one"
        return f"asks that {how} of its {len(wanted)} branches holds"
    return _ASKS.get(keyword, "is {}").format(apart.shown(wanted))

"""From schemas to formulas: what each keyword that combines schemas means.

A schema in its place (``Location``) is the conjunction of its own assertions, which are one atom
(``constrain.schema.assertions`` makes its shape), and of what its combining keywords say of the
same value: references, ``allOf``, ``anyOf``, ``oneOf``, ``not``, ``if``, dependencies, and
``unevaluated...``. Schemas of members and items are other places: they become formulas when someone
looks there. A schema that needs its own formula to say what it means is an endless reference, an
error with its pointer.

Equal assertions in different places are one atom, so copies of a subschema cost nothing.

``anyOf`` and ``oneOf`` are often lists of constants with a title each. Branches that do nothing but
list values are read as one ``enum``: a thousand of them are a set, not a thousand atoms.

``oneOf``. Exactly one: each branch without the others. Branches that no value can satisfy together
(told apart by a type, a constant member, closed names) need no "without"; usually these are all.

``relax``: a keyword named there, or KEYWORD@POINTER, is left out wherever it is met, and noted. A
pointer at which no such keyword stands is an error: whoever names a place means something by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from constrain.errors import RelaxError, SchemaError, UnsupportedSchema
from constrain.schema import assertions, unevaluated
from constrain.schema.formulas import FALSE, TRUE, Formula
from constrain.schema.shapes import ObjectShape, Origin, Shape, Slot
from constrain.schema.support import DRAFT2019, known
from constrain.schema.validation import escaped
from constrain.schema.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from constrain.dfa import DFA
    from constrain.limits import Meter
    from constrain.schema.documents import Documents, Location

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_NAMED = 4  # places that a message names
_COMBINING = frozenset(
    (
        *_REFERENCES,
        *("allOf", "anyOf", "oneOf", "not", "if"),
        *("dependencies", "dependentRequired", "dependentSchemas"),
        *("unevaluatedProperties", "unevaluatedItems"),
    )
)
_ANNOTATIONS = frozenset(("title", "description", "default", "examples", "$comment"))
_PLAIN = {"string": str, "boolean": bool, "null": type(None), "integer": int, "number": int}


class Reader:
    """Reads the schemas of one compile.

    Attributes
    ----------
    documents : Documents
    world : World
    relaxed : dict[str, None]
        What was left unenforced on purpose, as KEYWORD@POINTER.
    places : dict[Formula, str]
        The pointer of the first schema with a formula, for messages and names.
    """

    def __init__(
        self, documents: Documents, relax: Iterable[str], meter: Meter, *, exact: bool
    ) -> None:
        self.documents = documents
        self.world = World(meter, exact=exact)
        self.meter = meter
        self.relaxed: dict[str, None] = {}
        self.places: dict[Formula, str] = {}
        self._relax = frozenset(relax)
        for each in sorted(self._relax):
            _require_place(documents, each)
        self._formulas: dict[tuple[int, str, int], Formula] = {}
        self._open: dict[tuple[int, str, int], str] = {}
        self._kept: list[Any] = []  # locations are keyed by identity
        self._digests: dict[int, int] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._languages: dict[Hashable, DFA] = {}

    def once(self, key: Hashable, make: Callable[[], DFA]) -> DFA:
        """Return a language that keywords in several places mean, made once for a key."""
        language = self._languages.get(key)
        if language is None:
            language = self._languages[key] = make()
        return language

    # -- keywords in force --------------------------------------------------------------------

    def get(self, location: Location, keyword: str) -> Any:
        """Return the value of a keyword in force at a location, else None.

        A keyword is not in force if the draft does not have it, or if it is relaxed.
        """
        value = location.schema.get(keyword)
        if value is None and keyword not in location.schema:
            return None
        if known(keyword, location.draft) is None or self._is_relaxed(keyword, location):
            return None
        return value

    def has(self, location: Location, keyword: str) -> bool:
        """Return whether a keyword is in force at a location (for values that may be null)."""
        return (
            keyword in location.schema
            and known(keyword, location.draft) is not None
            and not self._is_relaxed(keyword, location)
        )

    def _is_relaxed(self, keyword: str, location: Location) -> bool:
        if not self._relax:
            return False
        place = f"{keyword}@#{location.pointer}"
        if self._relax.isdisjoint((keyword, place, f"{keyword}@{location.pointer}")):
            return False
        self.relaxed[place] = None
        return True

    # -- formulas -----------------------------------------------------------------------------

    def child(self, location: Location, step: str, schema: Any) -> Formula:
        """Return the formula of a schema that stands in another one."""
        return self.formula(self.documents.child(location, step, schema))

    def formula(self, location: Location) -> Formula:
        """Return the formula of a schema."""
        if isinstance(location.schema, bool):
            return TRUE if location.schema else FALSE
        key = location.key
        formula = self._formulas.get(key)
        if formula is not None:
            return formula
        if key in self._open:
            reason = "the schema refers to itself for the same value, without end"
            raise SchemaError(reason, self._open[key])
        self._open[key] = location.pointer
        self._kept.append(location)
        self.meter.tick()
        self.meter.descend(len(self._open))
        formula = TRUE
        for part in self._conjuncts(location):
            self.meter.where = f"#{location.pointer}"  # what conjunction unfolds belongs here
            formula = self.world.formulas.conjunction(formula, part)
            if formula == FALSE:
                break
        del self._open[key]
        self._formulas[key] = formula
        self.places.setdefault(formula, location.pointer)
        return formula

    def _conjuncts(self, location: Location) -> Iterator[Formula]:
        reference = "$ref" if "$ref" in location.schema else None
        if reference is not None and location.draft < DRAFT2019:
            if self.has(location, "$ref"):
                yield self.formula(self.documents.follow(location, "$ref"))
            return
        yield self._own(location)
        if self.has(location, "enum"):
            yield assertions.values_formula(self.world, location.schema["enum"])
        if self.has(location, "const"):
            yield assertions.values_formula(self.world, [location.schema["const"]])
        if not _COMBINING.isdisjoint(location.schema):
            yield from self._combined(location)

    def _combined(self, location: Location) -> Iterator[Formula]:
        for keyword in _REFERENCES:
            if self.has(location, keyword):
                yield self.formula(self.documents.follow(location, keyword))
        for _, branch in self.branches(location, "allOf"):
            yield branch
        if self.has(location, "anyOf"):
            values, others = self._gathered(location, "anyOf")
            yield self._any([assertions.values_formula(self.world, values), *others])
        if self.has(location, "oneOf"):
            yield self._one(self._exclusive(location))
        if self.has(location, "not"):
            inner = self.child(location, "/not", location.schema["not"])
            yield self.world.formulas.negation(inner)
        if self.has(location, "if"):
            yield self._if(location)
        yield from self._dependencies(location)
        yield from unevaluated.conjuncts(self, location)

    def branches(self, location: Location, keyword: str) -> Iterator[tuple[Location, Formula]]:
        """Yield the branches of a keyword in force: where they stand and their formulas."""
        for i, schema in enumerate(self.get(location, keyword) or ()):
            place = self.documents.child(location, f"/{keyword}/{i}", schema)
            yield place, self.formula(place)

    def _gathered(self, location: Location, keyword: str) -> tuple[list[Any], list[Formula]]:
        """Return the branches of a keyword: the values that some of them list, and the others."""
        values: list[Any] = []
        others: list[Formula] = []
        for i, schema in enumerate(location.schema[keyword]):
            self.meter.tick()
            place = self.documents.child(location, f"/{keyword}/{i}", schema)
            listed = self._listed(place)
            if listed is None:
                others.append(self.formula(place))
            else:
                values += listed
        return values, others

    def _exclusive(self, location: Location) -> list[Formula]:
        """Return the branches of ``oneOf``; those that list values are one if they share none."""
        values, others = self._gathered(location, "oneOf")
        if len(assertions.distinct(values)) < len(values):
            return [branch for _, branch in self.branches(location, "oneOf")]
        return [assertions.values_formula(self.world, values), *others]

    def _listed(self, place: Location) -> list[Any] | None:
        """Return the values of a schema that does nothing but list them, at most with their type."""
        if isinstance(place.schema, bool) or not _COMBINING.isdisjoint(place.schema):
            return None
        lists = [word for word in ("enum", "const") if self.has(place, word)]
        if len(lists) != 1:
            return None
        value = place.schema[lists[0]]
        values = value if lists[0] == "enum" else [value]
        own = {
            word for word in place.schema if word in assertions.KEYWORDS and self.has(place, word)
        }
        if own and (own != {"type"} or not _all_of(place.schema["type"], values)):
            return None
        return values

    def _any(self, formulas: Iterable[Formula]) -> Formula:
        """Return that any of the formulas holds; from the last on, as early atoms are tested first."""
        result = FALSE
        for formula in reversed(list(formulas)):
            result = self.world.formulas.disjunction(formula, result)
        return result

    def _one(self, branches: list[Formula]) -> Formula:
        """Return that exactly one of the formulas holds."""
        formulas = self.world.formulas
        found: list[Formula] = []
        for i, branch in enumerate(branches):
            alone = branch
            for j, other in enumerate(branches):
                if i != j and not self.world.disjoint(branch, other):
                    alone = formulas.difference(alone, other)
            found.append(alone)
        return self._any(found)

    def _if(self, location: Location) -> Formula:
        test = self.child(location, "/if", location.schema["if"])
        outcome = [
            self.child(location, f"/{word}", location.schema[word])
            if self.has(location, word)
            else TRUE
            for word in ("then", "else")
        ]
        return self.world.formulas.choice(test, outcome[0], outcome[1])

    def _dependencies(self, location: Location) -> Iterator[Formula]:
        formulas = self.world.formulas
        for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
            for name, wanted in (self.get(location, keyword) or {}).items():
                if isinstance(wanted, list):
                    outcome = TRUE
                    for other in wanted:
                        outcome = formulas.conjunction(outcome, self.has_member(other))
                else:
                    outcome = self.child(location, f"/{keyword}/{escaped(name)}", wanted)
                yield formulas.choice(self.has_member(name), outcome, TRUE)

    def has_member(self, name: str) -> Formula:
        """Return the formula of the objects that have a member of that name."""

        def make(world: World) -> Shape:
            slot = Slot(name, TRUE, False, Origin.FREE)
            record = ObjectShape((slot,), world.free_object.rest)
            return assertions.only_objects(world, (record,))

        return self.world.atom(("has", name), make)

    # -- atoms --------------------------------------------------------------------------------

    def _own(self, location: Location) -> Formula:
        """Return the atom of the assertions of a schema, TRUE if there are none."""
        own = {
            name: value
            for name, value in location.schema.items()
            if name in assertions.KEYWORDS and self.has(location, name)
        }
        if not own or set(own) == {"nullable"}:
            return TRUE
        place = location.pointer if any("@" in name for name in self._relax) else ""
        key = ("own", self._digest(own), location.key[1], location.draft, place)
        return self.world.atom(key, lambda world: assertions.shape(self, world, location))

    def _digest(self, value: Any, *, data: bool = False) -> int:
        """Return a number that equal JSON values share, annotations of schemas left out."""
        if isinstance(value, str):
            return self._number(("str", value))
        if isinstance(value, dict):
            number = None if data else self._digests.get(id(value))
            if number is not None:
                return number
            parts = [
                (name, self._digest(member, data=data or name in ("enum", "const")))
                for name, member in value.items()
                if data or name not in _ANNOTATIONS or isinstance(member, dict | bool)
            ]
            number = self._number(("object", *parts))
            if not data:
                self._digests[id(value)] = number
                self._kept.append(value)
            return number
        if isinstance(value, list):
            return self._number(("array", *(self._digest(item, data=data) for item in value)))
        return self._number((type(value).__name__, value))

    def _number(self, key: tuple[Any, ...]) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def unsupported(self, reason: str, location: Location, keyword: str) -> UnsupportedSchema:
        """Return the error that a keyword of a location cannot be enforced."""
        return UnsupportedSchema(reason, location.pointer, keyword, relaxable=True)


def _all_of(kind: Any, values: list[Any]) -> bool:
    """Return whether all values are plainly of a type; that they are not is no proof."""
    plain = _PLAIN.get(kind) if isinstance(kind, str) else None
    return plain is not None and all(type(value) is plain for value in values)


def _require_place(documents: Documents, relax: str) -> None:
    """Raise ``RelaxError`` if KEYWORD@POINTER names a place where no such keyword stands."""
    keyword, at, pointer = relax.partition("@")
    pointer = pointer.removeprefix("#")
    found = documents.schemas.get(pointer)
    if not at or (found is not None and keyword in found):
        return
    if found is None:
        there = f"there is no schema at #{pointer}"
    else:
        there = f"at #{pointer} there is {', '.join(found) or 'nothing'}"
    places = [place for place, schema in documents.schemas.items() if keyword in schema]
    shown = ", ".join(f"{keyword}@{place or '#'}" for place in places[:_NAMED])
    if len(places) > _NAMED:
        shown += f" and {len(places) - _NAMED} more"
    elsewhere = f"the schema has {shown}" if places else f"the schema has no {keyword}"
    raise RelaxError(f"means nothing: {there}; {elsewhere}", relax)

"""Write a JSON instance as the text that a table for its schema is expected to want.

A table fixes what JSON leaves open: white space, the order of members, the spelling of strings and
numbers. So before membership can be asked, an instance is put into layout. This module knows only
the published rule (members in the order in which they are declared, then required names that are
not declared, then the others) and nothing of how the compiler works: it walks schema and instance
together, collects at each place the subschemas that apply there, and sorts.

Where a subschema stands beside others (``allOf``, ``$ref``, ``anyOf``, ...) "declared first" can be
read in more than one way, so ``candidates`` yields a few texts, likeliest first. A valid instance
should be accepted in one of them; of an invalid one *every* candidate must be refused.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import jsonschema
import referencing
import referencing.exceptions
import referencing.jsonschema
from jsonschema.validators import validator_for

if TYPE_CHECKING:
    from collections.abc import Iterator

Resolver = Any  # referencing's private type
Place = tuple[Any, Resolver]  # a subschema, and what its references are relative to

SEPARATORS = {"compact": (",", ":"), "spaced": (", ", ": ")}
OWN_FIRST, AS_WRITTEN, BESIDE_FIRST = "own first", "as written", "beside first"
MODES = (OWN_FIRST, AS_WRITTEN, BESIDE_FIRST)
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("if", "then", "else", "extends")
_DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def load(text: str | bytes) -> Any:
    """Parse JSON without losing digits."""
    return json.loads(text, parse_float=Decimal)


def text_of(value: Any, layout: str = "compact", plain: bool = False) -> str:
    """Return a value as text, members in the order they have.

    Parameters
    ----------
    plain : bool
        Write numbers by value: no exponent, no fraction of zeros.
    """
    comma, colon = SEPARATORS[layout]
    if isinstance(value, dict):
        members = (
            _string(name) + colon + text_of(member, layout, plain) for name, member in value.items()
        )
        return "{" + comma.join(members) + "}"
    if isinstance(value, list):
        return "[" + comma.join(text_of(item, layout, plain) for item in value) + "]"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Decimal | float):
        return _number(Decimal(repr(value)) if isinstance(value, float) else value, plain)
    return json.dumps(value)


def _string(text: str) -> str:
    has_surrogate = any("\ud800" <= c <= "\udfff" for c in text)
    return json.dumps(text, ensure_ascii=has_surrogate)


def _number(number: Decimal, plain: bool) -> str:
    if not plain:
        return str(number)
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass
class Arranger:
    """Sorts the members of instances of one schema.

    Attributes
    ----------
    schema : Any
    remotes : dict[str, Any]
        Other documents by URI.
    default : str
        The meta-schema of schemas without ``$schema``.
    valid_first : bool
        Whether the branches of ``anyOf`` and ``oneOf`` that an instance satisfies declare first.
    sort_others : bool
        Whether names that are not declared come by length and then by bytes.
    """

    schema: Any
    remotes: dict[str, Any] = field(default_factory=dict)
    default: str = _DRAFT_2020
    valid_first: bool = True
    sort_others: bool = False

    def __post_init__(self) -> None:
        """Prepare the resolution of references."""
        has_dialect = isinstance(self.schema, dict) and isinstance(self.schema.get("$schema"), str)
        dialect = self.schema["$schema"] if has_dialect else self.default
        default = referencing.jsonschema.specification_with(self.default)
        self.specification = referencing.jsonschema.specification_with(dialect, default=default)
        self.validator = validator_for({"$schema": dialect}, jsonschema.Draft202012Validator)
        resources = [
            (uri, referencing.Resource.from_contents(document, self.specification))
            for uri, document in self.remotes.items()
        ]
        root = self.specification.create_resource(self.schema)
        registry: Any = referencing.Registry().with_resources(resources)
        self.resolver = registry.resolver_with_root(root)

    def arranged(self, instance: Any, mode: str = OWN_FIRST) -> Any:
        """Return the instance with its members in the order of the schema."""
        return self._arrange(instance, [(self.schema, self.resolver)], mode)

    def _arrange(self, instance: Any, places: list[Place], mode: str) -> Any:
        applying = self._expand(instance, places, mode)
        if isinstance(instance, dict):
            order: dict[str, None] = {}
            for schema, _ in applying:
                order.update(dict.fromkeys(_mapping(schema, "properties")))
            for schema, _ in applying:
                order.update(dict.fromkeys(_required(schema)))
            others = [name for name in instance if name not in order]
            if self.sort_others:
                others.sort(key=lambda name: (len(_utf8(name)), _utf8(name)))
            order.update(dict.fromkeys(others))
            return {
                name: self._arrange(instance[name], self._member(applying, name), mode)
                for name in order
                if name in instance
            }
        if isinstance(instance, list):
            return [
                self._arrange(item, self._item(applying, i), mode)
                for i, item in enumerate(instance)
            ]
        return instance

    def _expand(self, instance: Any, places: list[Place], mode: str) -> list[Place]:
        """Return all subschemas that apply to the same instance, in order of declaration."""
        found: list[Place] = []
        seen: set[int] = set()

        def visit(place: Place) -> None:
            schema, resolver = place
            if not isinstance(schema, dict) or id(schema) in seen:
                return
            seen.add(id(schema))
            resolver = self._inside(schema, resolver)
            beside = self._beside(instance, schema, resolver)
            if mode == OWN_FIRST:
                found.append((schema, resolver))
            for keyword, other in beside:
                if mode != AS_WRITTEN or _before(schema, keyword):
                    visit(other)
            if mode != OWN_FIRST:
                found.append((schema, resolver))
            if mode == AS_WRITTEN:
                for keyword, other in beside:
                    if not _before(schema, keyword):
                        visit(other)

        for place in places:
            visit(place)
        return found

    def _inside(self, schema: dict[str, Any], resolver: Resolver) -> Resolver:
        try:
            return resolver.in_subresource(self.specification.create_resource(schema))
        except (referencing.exceptions.Unresolvable, ValueError, TypeError, AttributeError):
            return resolver

    def _beside(
        self, instance: Any, schema: dict[str, Any], resolver: Resolver
    ) -> list[tuple[str, Place]]:
        """Return the subschemas of the same instance with the keyword they stand under."""
        found: list[tuple[str, Place]] = []
        for keyword, value in schema.items():
            if keyword in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
                try:
                    resolved = resolver.lookup(value)
                except (referencing.exceptions.Unresolvable, ValueError, LookupError):
                    continue
                found.append((keyword, (resolved.contents, resolved.resolver)))
            elif keyword in _LISTS and isinstance(value, list):
                options = [(option, resolver) for option in value]
                if keyword != "allOf" and self.valid_first:
                    options.sort(key=lambda place: not self._is_valid(instance, place))
                found.extend((keyword, option) for option in options)
            elif keyword in _SINGLE:
                found.append((keyword, (value, resolver)))
            elif keyword in ("dependentSchemas", "dependencies") and isinstance(value, dict):
                found.extend(
                    (keyword, (dependent, resolver))
                    for name, dependent in value.items()
                    if isinstance(instance, dict) and name in instance
                )
        return found

    def _is_valid(self, instance: Any, place: Place) -> bool:
        schema, resolver = place
        try:
            checker: Any = self.validator
            return bool(checker(schema, _resolver=resolver).is_valid(instance))
        except Exception:  # a branch that cannot be judged is as good as any other
            return True

    def _member(self, applying: list[Place], name: str) -> list[Place]:
        found: list[Place] = []
        for schema, resolver in applying:
            own = [
                value
                for declared, value in _mapping(schema, "properties").items()
                if declared == name
            ]
            own += [
                value
                for pattern, value in _mapping(schema, "patternProperties").items()
                if _search(pattern, name)
            ]
            if not own:
                keywords = ("additionalProperties", "unevaluatedProperties")
                own = [schema[keyword] for keyword in keywords if keyword in schema]
            found.extend((value, resolver) for value in own)
        return found

    def _item(self, applying: list[Place], i: int) -> list[Place]:
        found: list[Place] = []
        for schema, resolver in applying:
            items = schema.get("items")
            prefix = items if isinstance(items, list) else schema.get("prefixItems", [])
            rest = schema.get("additionalItems") if isinstance(items, list) else items
            rest = schema.get("unevaluatedItems") if rest is None else rest
            own = [prefix[i]] if isinstance(prefix, list) and i < len(prefix) else [rest]
            found.extend((value, resolver) for value in (*own, schema.get("contains")))
        return found


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _before(schema: dict[str, Any], keyword: str) -> bool:
    """Return whether a keyword is written before ``properties``."""
    names = list(schema)
    return "properties" in names and names.index(keyword) < names.index("properties")


def _mapping(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def _required(schema: dict[str, Any]) -> list[str]:
    value = schema.get("required")
    names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
    for keyword in ("dependentRequired", "dependencies"):
        for others in _mapping(schema, keyword).values():
            names += others if isinstance(others, list) else []
    return names


def _search(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def candidates(arranger: Arranger, instance: Any, layout: str = "compact") -> list[str]:
    """Return the texts an instance may have in a table, likeliest first, without repeats."""
    orders: list[Any] = []
    for valid_first, sort_others in ((True, False), (False, False), (True, True), (False, True)):
        variant = replace(arranger, valid_first=valid_first, sort_others=sort_others)
        orders += [variant.arranged(instance, mode) for mode in MODES]
    return list(
        dict.fromkeys(
            text_of(order, layout, plain)
            for plain in (False, True)
            for order in (*orders, instance)
        )
    )


def permutations(instance: Any, limit: int = 500) -> Iterator[Any]:
    """Yield the instance with its members in all orders, at most ``limit`` of them."""
    return itertools.islice(_permutations(instance), limit)


def _permutations(instance: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for members in itertools.permutations(instance.items()):
            for values in itertools.product(*(list(permutations(v, 24)) for _, v in members)):
                yield {name: v for (name, _), v in zip(members, values, strict=True)}
    elif isinstance(instance, list):
        for items in itertools.product(*(list(permutations(item, 24)) for item in instance)):
            yield list(items)
    else:
        yield instance

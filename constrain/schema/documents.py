"""Documents and references: where schemas stand, which draft they follow, what ``$ref`` means.

A ``Location`` is a schema in its place: the contents, the base URI in force, the draft, and a JSON
pointer for messages. ``Documents`` holds the schema itself and those given beside it, and follows
references with the ``referencing`` library (pointers, ``$id``, ``$anchor``, URIs relative to the
base). The meta-schemas of the drafts are known; nothing is ever fetched.

The draft is that of the ``$schema`` of the enclosing resource; 2020-12 where there is none.
``$dynamicRef`` and ``$recursiveRef`` are followed where they are static, that is, where only one
schema in all documents could be meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from constrain.errors import SchemaError, UnsupportedSchema
from constrain.schema.support import DRAFT4, DRAFT6, DRAFT7, DRAFT2019, DRAFT2020
from constrain.schema.validation import escaped, walk

if TYPE_CHECKING:
    from referencing import Registry, Resource
    from referencing._core import Resolver

    from constrain.limits import Meter

Reference: TypeAlias = tuple[str | None, Any]
"""A document given beside the schema: its URI (None: it says so itself) and its contents."""

_ROOT = "urn:constrain:schema"
_DRAFT_OF = {
    "json-schema.org/draft-04/schema": DRAFT4,
    "json-schema.org/draft-06/schema": DRAFT6,
    "json-schema.org/draft-07/schema": DRAFT7,
    "json-schema.org/draft/2019-09/schema": DRAFT2019,
    "json-schema.org/draft/2020-12/schema": DRAFT2020,
    "json-schema.org/schema": DRAFT2020,
}
_LATEST = DRAFT2020
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))


@dataclass(frozen=True, slots=True, eq=False)
class Location:
    """A schema in its place.

    Attributes
    ----------
    schema : Any
        An object, or true or false.
    pointer : str
        Its JSON pointer, after the URI of its document where that is not the main one.
    draft : int
    resolver : Resolver | None
        Follows references from here; None where no document has any.
    """

    schema: Any
    pointer: str
    draft: int
    resolver: Resolver[Any] | None

    @property
    def key(self) -> tuple[int, str, int]:
        """What tells the location apart: its contents (by identity), base URI and draft."""
        return id(self.schema), base_uri(self.resolver), self.draft


def base_uri(resolver: Resolver[Any] | None) -> str:
    """Return the base URI that a resolver resolves against."""
    return "" if resolver is None else resolver._base_uri  # pyright: ignore[reportPrivateUsage]


def draft_of(schema: Any, otherwise: int, pointer: str = "") -> int:
    """Return the draft that ``$schema`` names.

    Raises
    ------
    UnsupportedSchema
        If it names a draft that is not supported.
    """
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(uri, str):
        return otherwise
    name = uri.split("://", 1)[-1].rstrip("#").rstrip("/")
    draft = _DRAFT_OF.get(name)
    if draft is None and name.startswith("json-schema.org/draft-03"):
        raise UnsupportedSchema("draft 3 and older are not supported", pointer, "$schema")
    return otherwise if draft is None else draft


class Documents:
    """The main schema, the documents beside it, and all their references.

    Attributes
    ----------
    root : Location
        The main schema.
    """

    def __init__(self, schema: Any, references: Sequence[Reference], meter: Meter) -> None:
        self.meter = meter
        self.draft = draft_of(schema, _LATEST)
        walk(schema, self.draft, meter.limits.max_depth)
        self._kept = (schema, references)  # pointers are found by identity
        self._pointers: dict[int, str] = {}
        self._schemas: dict[str, dict[str, Any]] = {}
        self._resolved: dict[tuple[str, str], Location] = {}
        resolver = self._resolver(schema, references) if _has_references(schema) else None
        self.root = Location(schema, "", self.draft, resolver)

    @property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """All objects in all documents by pointer, whether schemas or not."""
        if not self._schemas:
            self._enter(self.root.schema, "")
        return self._schemas

    def _enter(self, document: Any, prefix: str) -> None:
        """Note the pointer of every array and object of a document."""
        stack: list[tuple[Any, str]] = [(document, prefix)]
        while stack:
            value, pointer = stack.pop()
            if isinstance(value, dict):
                self._pointers.setdefault(id(value), pointer)
                self._schemas[pointer] = value
                stack.extend((v, f"{pointer}/{escaped(k)}") for k, v in value.items())
            elif isinstance(value, list):
                self._pointers.setdefault(id(value), pointer)
                stack.extend((v, f"{pointer}/{i}") for i, v in enumerate(value))

    def _resolver(self, schema: Any, references: Sequence[Reference]) -> Resolver[Any]:
        from referencing import Registry

        self._enter(schema, "")
        registry: Registry[Any] = Registry(retrieve=_retrieve)  # type: ignore[call-arg]
        for uri, contents in references:
            resource = _resource(contents, self.draft)
            name = uri if uri is not None else resource.id()
            if name is None:
                raise SchemaError("a reference document without $id needs a URI")
            walk(contents, draft_of(contents, self.draft), self.meter.limits.max_depth)
            self._enter(contents, f"{name}#")
            registry = registry.with_resource(name, resource)
        main = _resource(schema, self.draft)
        uri = main.id() or _ROOT
        registry = registry.with_resource(uri, main)
        self._registry = registry
        return registry.resolver(uri)

    def child(self, parent: Location, step: str, schema: Any) -> Location:
        """Return the location of a schema that stands in another one, at a pointer step."""
        pointer = parent.pointer + step
        draft, resolver = parent.draft, parent.resolver
        if resolver is not None and isinstance(schema, dict):
            word = "id" if draft == DRAFT4 else "$id"
            if isinstance(schema.get(word), str) and ("$ref" not in schema or draft >= DRAFT2019):
                draft = draft_of(schema, draft, pointer)
                resolver = resolver.in_subresource(_resource(schema, draft))
        return Location(schema, pointer, draft, resolver)

    def follow(self, location: Location, keyword: str) -> Location:
        """Return what a reference of a schema means.

        Raises
        ------
        SchemaError
            If nothing is there.
        UnsupportedSchema
            If a dynamic reference is not static.
        """
        reference = location.schema[keyword]
        resolver = location.resolver
        assert resolver is not None
        key = (base_uri(resolver), reference)
        target = self._resolved.get(key)
        if target is None:
            target = self._resolved[key] = self._follow(location, keyword, reference)
        if keyword != "$ref":
            self._require_static(location, keyword, reference, target)
        return target

    def _follow(self, location: Location, keyword: str, reference: str) -> Location:
        from referencing.exceptions import (
            InvalidAnchor,
            PointerToNowhere,
            Unresolvable,
        )

        resolver = location.resolver
        assert resolver is not None
        try:
            resolved = resolver.lookup(reference)
            # Refused as well where an $id is no URI of a document, such as "#x".
            whole = resolved.resolver.lookup("").contents
        except (PointerToNowhere, InvalidAnchor, Unresolvable) as error:
            reason = f"the reference {reference!r:.200} leads nowhere"
            if isinstance(error, Unresolvable) and not isinstance(
                error, PointerToNowhere | InvalidAnchor
            ):
                reason += "; give its document beside the schema"
            raise SchemaError(reason, location.pointer, keyword) from error
        contents = resolved.contents
        if id(whole) not in self._pointers:
            self._enter(whole, f"{base_uri(resolved.resolver)}#")
        draft = draft_of(whole, location.draft, location.pointer)
        pointer = self._pointers.get(id(contents), f"{location.pointer}/{keyword}")
        if isinstance(contents, dict):
            draft = draft_of(contents, draft, pointer)
        walk(contents, draft, self.meter.limits.max_depth, pointer, strict=False)
        return Location(contents, pointer, draft, resolved.resolver)

    def _require_static(
        self, location: Location, keyword: str, reference: str, target: Location
    ) -> None:
        word = "$recursiveAnchor" if keyword == "$recursiveRef" else "$dynamicAnchor"
        anchor: Any = True if keyword == "$recursiveRef" else reference.partition("#")[2]
        if not isinstance(target.schema, dict) or target.schema.get(word) != anchor:
            return  # an ordinary reference
        if sum(1 for _ in self._having(word, anchor)) > 1:
            raise UnsupportedSchema(
                f"{reference!r} is dynamic: several schemas declare its {word}",
                location.pointer,
                keyword,
            )

    def _having(self, word: str, value: Any) -> Sequence[Any]:
        """Return the objects of all documents that have a member with a value."""
        found: dict[int, Any] = {}
        stack: list[Any] = [self._kept[0], *(contents for _, contents in self._kept[1])]
        stack.extend(resource.contents for resource in self._registry.values())
        while stack:
            value_here = stack.pop()
            if isinstance(value_here, dict):
                if value_here.get(word) == value:
                    found[id(value_here)] = value_here
                stack.extend(value_here.values())
            elif isinstance(value_here, list):
                stack.extend(value_here)
        return list(found.values())


def _has_references(document: Any) -> bool:
    """Return whether some object of a document has a member with the name of a reference."""
    stack = [document]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if not _REFERENCES.isdisjoint(value):
                return True
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return False


def _resource(contents: Any, draft: int) -> Resource[Any]:
    from referencing import jsonschema

    specifications = (
        jsonschema.DRAFT4,
        jsonschema.DRAFT6,
        jsonschema.DRAFT7,
        jsonschema.DRAFT201909,
        jsonschema.DRAFT202012,
    )
    return specifications[draft_of(contents, draft)].create_resource(contents)


def _retrieve(uri: str) -> Resource[Any]:
    """Return a meta-schema; nothing else is known and nothing is fetched."""
    from referencing.exceptions import NoSuchResource

    if "json-schema.org" in uri:
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

        for name in (uri, uri + "#"):
            if name in REGISTRY:
                resource: Resource[Any] = REGISTRY[name]
                return resource
    raise NoSuchResource(ref=uri)  # type: ignore[call-arg]

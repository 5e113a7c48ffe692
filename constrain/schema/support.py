"""The table of keywords: what each means here, in which drafts, and what its value must be.

One table serves three readers: the reader of schemas checks every keyword's value by it (that is the
validation against the meta-schema), the walk over a document learns from it where subschemas stand,
and ``constrain schema-support`` and the README print it.

A keyword that is not in the table, or not in the draft of the schema, is no constraint, as the
standard has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

DRAFTS = ("4", "6", "7", "2019-09", "2020-12")
"""The drafts of JSON schema, oldest first; a draft is an index into this tuple elsewhere."""
DRAFT4, DRAFT6, DRAFT7, DRAFT2019, DRAFT2020 = range(5)

Value: TypeAlias = Literal[
    "any",
    "array",
    "boolean",
    "count",
    "dependencies",
    "items",
    "names",
    "number",
    "number or boolean",
    "object",
    "positive number",
    "schema",
    "schema list",
    "schema map",
    "string",
    "string map",
    "text list map",
    "type",
    "values",
]
"""What a keyword's value must be; checked by ``constrain.schema.validation``."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """One row of the table.

    Attributes
    ----------
    name : str
    value : Value
        What its value must be.
    group : str
        What it speaks of: ``"any"``, ``"string"``, ``"number"``, ``"array"``, ``"object"``,
        ``"combination"``, ``"reference"`` or ``"annotation"``.
    meaning : str
        What is enforced.
    limits : str
        What is refused by name, or generated only in part; empty where nothing is.
    since, until : int
        First and last draft that has it, as indices into ``DRAFTS``.
    """

    name: str
    value: Value
    group: str
    meaning: str
    limits: str = ""
    since: int = DRAFT4
    until: int = DRAFT2020

    @property
    def drafts(self) -> str:
        """The drafts that have the keyword, in words."""
        if self.since == DRAFT4 and self.until == DRAFT2020:
            return "all"
        if self.until == DRAFT2020:
            return f"{DRAFTS[self.since]} and later"
        if self.since == DRAFT4:
            return f"up to {DRAFTS[self.until]}"
        return f"{DRAFTS[self.since]} to {DRAFTS[self.until]}"


_TABLE = (
    # any type
    Keyword("type", "type", "any", "one JSON type or a list of them", "integers have no fraction"),
    Keyword("enum", "values", "any", "one of the values, of any type"),
    Keyword("const", "any", "any", "the value, of any type", since=DRAFT6),
    Keyword("nullable", "any", "any", "true beside type: null as well (OpenAPI 3.0)"),
    # strings
    Keyword("minLength", "count", "string", "at least so many code points"),
    Keyword("maxLength", "count", "string", "at most so many code points"),
    Keyword(
        "pattern",
        "string",
        "string",
        "an ECMAScript pattern that is found somewhere in the text",
        "back-references, look-around and \\b are refused",
    ),
    Keyword(
        "format",
        "string",
        "string",
        "known formats are asserted in every draft, unknown ones are annotations",
        "regex is refused; some formats generate a subset (see constrain.schema.formats)",
    ),
    # numbers
    Keyword("minimum", "number", "number", "not below; exact for any size"),
    Keyword("maximum", "number", "number", "not above; exact for any size"),
    Keyword(
        "exclusiveMinimum",
        "number or boolean",
        "number",
        "above; in draft 4 true makes minimum exclusive",
    ),
    Keyword(
        "exclusiveMaximum",
        "number or boolean",
        "number",
        "below; in draft 4 true makes maximum exclusive",
    ),
    Keyword(
        "multipleOf",
        "positive number",
        "number",
        "a whole multiple, in exact decimal arithmetic",
        "a factor whose automaton is too large is a LimitError",
    ),
    # arrays
    Keyword("prefixItems", "schema list", "array", "the first items, one by one", since=DRAFT2020),
    Keyword(
        "items",
        "items",
        "array",
        "all items, or those after the prefix; before 2020-12 a list is the prefix",
    ),
    Keyword(
        "additionalItems", "schema", "array", "the items after a list of items", until=DRAFT2019
    ),
    Keyword("minItems", "count", "array", "at least so many items"),
    Keyword("maxItems", "count", "array", "at most so many items"),
    Keyword(
        "contains",
        "schema",
        "array",
        "some item satisfies the schema",
        "many contains with large counts are refused",
        since=DRAFT6,
    ),
    Keyword(
        "minContains", "count", "array", "at least so many items satisfy contains", since=DRAFT2019
    ),
    Keyword(
        "maxContains", "count", "array", "at most so many items satisfy contains", since=DRAFT2019
    ),
    Keyword(
        "uniqueItems",
        "boolean",
        "array",
        "no two items are equal",
        "refused unless the items are of few values or there is at most one",
    ),
    Keyword(
        "unevaluatedItems",
        "schema",
        "array",
        "items that no other keyword looked at",
        "refused where it depends on more than a few branches",
        since=DRAFT2019,
    ),
    # objects
    Keyword(
        "properties", "schema map", "object", "the members of these names; written in this order"
    ),
    Keyword(
        "required",
        "names",
        "object",
        "these members are there; undeclared ones are written after the declared",
    ),
    Keyword(
        "additionalProperties",
        "schema",
        "object",
        "members of other names; absent means none, unless open",
    ),
    Keyword("patternProperties", "schema map", "object", "members whose name a pattern finds"),
    Keyword(
        "propertyNames",
        "schema",
        "object",
        "all names satisfy the schema",
        "may not refer to the object it belongs to",
        since=DRAFT6,
    ),
    Keyword(
        "minProperties",
        "count",
        "object",
        "at least so many members",
        "at most four undeclared names count, if they begin with different letters",
    ),
    Keyword("maxProperties", "count", "object", "at most so many members"),
    Keyword(
        "dependentRequired",
        "text list map",
        "object",
        "one member asks for others",
        since=DRAFT2019,
    ),
    Keyword(
        "dependentSchemas", "schema map", "object", "one member asks for a schema", since=DRAFT2019
    ),
    Keyword(
        "dependencies",
        "dependencies",
        "object",
        "one member asks for members or a schema",
        until=DRAFT7,
    ),
    Keyword(
        "unevaluatedProperties",
        "schema",
        "object",
        "members that no other keyword looked at",
        "refused where it depends on more than a few branches",
        since=DRAFT2019,
    ),
    # combinations
    Keyword("allOf", "schema list", "combination", "all of the schemas"),
    Keyword("anyOf", "schema list", "combination", "at least one of the schemas"),
    Keyword("oneOf", "schema list", "combination", "exactly one of the schemas"),
    Keyword("not", "schema", "combination", "not the schema", "repeated items cannot be demanded"),
    Keyword("if", "schema", "combination", "chooses between then and else", since=DRAFT7),
    Keyword("then", "schema", "combination", "holds where if does", since=DRAFT7),
    Keyword("else", "schema", "combination", "holds where if does not", since=DRAFT7),
    # references
    Keyword(
        "$ref",
        "string",
        "reference",
        "the schema at a pointer, anchor or URI; recursion has no depth limit",
        "siblings are ignored before 2019-09, as the standard has it",
    ),
    Keyword(
        "$dynamicRef",
        "string",
        "reference",
        "as $ref",
        "refused where several schemas declare the anchor",
        since=DRAFT2020,
    ),
    Keyword(
        "$recursiveRef",
        "string",
        "reference",
        "as $ref",
        "refused where several schemas declare $recursiveAnchor",
        since=DRAFT2019,
        until=DRAFT2019,
    ),
    Keyword("definitions", "schema map", "reference", "a place for schemas"),
    Keyword("$defs", "schema map", "reference", "a place for schemas", since=DRAFT2019),
    Keyword("id", "string", "reference", "the URI of the schema", until=DRAFT4),
    Keyword("$id", "string", "reference", "the URI of the schema", since=DRAFT6),
    Keyword("$anchor", "string", "reference", "a name for the schema", since=DRAFT2019),
    Keyword("$dynamicAnchor", "string", "reference", "a name for the schema", since=DRAFT2020),
    Keyword(
        "$recursiveAnchor",
        "boolean",
        "reference",
        "see $recursiveRef",
        since=DRAFT2019,
        until=DRAFT2019,
    ),
    Keyword("$schema", "string", "reference", "the draft; 2020-12 without"),
    Keyword(
        "$vocabulary", "object", "reference", "ignored: all vocabularies are known", since=DRAFT2019
    ),
    # annotations
    Keyword("$comment", "string", "annotation", "no constraint", since=DRAFT7),
    Keyword("title", "string", "annotation", "no constraint"),
    Keyword("description", "string", "annotation", "no constraint"),
    Keyword("default", "any", "annotation", "no constraint"),
    Keyword("examples", "array", "annotation", "no constraint", since=DRAFT6),
    Keyword("deprecated", "boolean", "annotation", "no constraint", since=DRAFT2019),
    Keyword("readOnly", "boolean", "annotation", "no constraint", since=DRAFT7),
    Keyword("writeOnly", "boolean", "annotation", "no constraint", since=DRAFT7),
    Keyword("contentEncoding", "string", "annotation", "no constraint", since=DRAFT7),
    Keyword("contentMediaType", "string", "annotation", "no constraint", since=DRAFT7),
    Keyword("contentSchema", "schema", "annotation", "no constraint", since=DRAFT2019),
)

KEYWORDS: dict[str, Keyword] = {keyword.name: keyword for keyword in _TABLE}
"""All known keywords by name."""


def known(name: str, draft: int) -> Keyword | None:
    """Return the keyword of a name in a draft; None if the draft has none."""
    keyword = KEYWORDS.get(name)
    return keyword if keyword is not None and keyword.since <= draft <= keyword.until else None


def support_table() -> list[tuple[str, str, str, str]]:
    """Return the rows (keyword, drafts, meaning, limits) for printing."""
    return [(k.name, k.drafts, k.meaning, k.limits) for k in _TABLE]

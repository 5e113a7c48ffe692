"""Small worlds of schemas and instances, and texts sampled from a machine.

``schemas()`` draws schemas over few names, few texts and small counts, with every kind of keyword;
``INSTANCES`` is a fixed list of small values that such schemas can tell apart. The oracle is
``jsonschema``, which shares no code and no idea with this package.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import jsonschema
from hypothesis import strategies as st

from constrain.calls import FrameConflict
from constrain.dfa import DEAD
from constrain.frames import build_machine
from constrain.machine import Machine, Run
from constrain.schema import schema_grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("a", "b", "ab")
TEXTS = ("", "a", "ab", "ba")
NUMBERS: tuple[Any, ...] = (0, 1, -1, 3, 1.5)
SCALARS: tuple[Any, ...] = (None, True, False, *NUMBERS, *TEXTS)


def _instances() -> Iterator[Any]:
    yield from SCALARS
    some = (None, 1, "a", "ab")
    for first in some:
        yield [first]
        yield {"a": first}
        yield {"b": first}
        yield {"c": first}
        for second in some:
            yield [first, second]
            yield {"a": first, "b": second}
            yield {"ab": first, "c": second}
    yield from ([], {}, [1, 1, 1], [1, "a", None], [[]], [{}], [[1]], {"a": {}}, {"a": {"a": 1}})
    yield from ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": "a", "ab": None, "c": []}, {"b": [1, "a"]})


INSTANCES = tuple(_instances())


def machine(schema: Any, **options: Any) -> Machine:
    """Return the byte machine of a schema; frames are added until they fit together."""
    result = schema_grammar(schema, **options)
    while True:
        try:
            return build_machine(result.grammar)
        except FrameConflict as conflict:
            wider = result.widened(conflict.byte)
            if wider is None:
                raise
            result = wider


def validator(schema: Any) -> Any:
    """Return the validator of a schema, formats asserted."""
    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def _optional(draw: st.DrawFn, schema: dict[str, Any], **parts: st.SearchStrategy[Any]) -> None:
    for name, strategy in parts.items():
        if draw(st.integers(0, 2)) == 0:
            schema[name] = draw(strategy)


@st.composite
def _leaves(draw: st.DrawFn) -> Any:
    counts = st.integers(0, 3)
    kind = draw(st.sampled_from(("string", "integer", "number", "scalar", "enum", "any")))
    schema: dict[str, Any] = {} if draw(st.integers(0, 3)) == 0 else {"type": kind}
    if kind == "string":
        _optional(draw, schema, minLength=counts, maxLength=counts)
        _optional(draw, schema, pattern=st.sampled_from(("^a", "b$", "a", "^(ab)*$")))
    elif kind in ("integer", "number"):
        bound = st.sampled_from((-1, 0, 1, 1.5, 3))
        _optional(draw, schema, minimum=bound, maximum=bound, exclusiveMinimum=bound)
        _optional(draw, schema, multipleOf=st.sampled_from((1, 3, 0.5)))
    elif kind == "scalar":
        return {"type": draw(st.sampled_from(("null", "boolean", ["null", "string"])))}
    elif kind == "enum":
        values = st.sampled_from((*SCALARS, [], [1], {}, {"a": 1}))
        return {"enum": draw(st.lists(values, min_size=1, max_size=3))}
    else:
        return draw(st.sampled_from(({}, True, {"const": "a"}, {"type": "string"})))
    return schema


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    schema: dict[str, Any] = {"type": "object"} if draw(st.booleans()) else {}
    names = st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=2)
    _optional(
        draw,
        schema,
        properties=st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
        required=names,
        additionalProperties=st.one_of(st.booleans(), inner),
        patternProperties=st.dictionaries(st.sampled_from(("^a", "b$")), inner, max_size=2),
        minProperties=st.integers(0, 2),
        maxProperties=st.integers(0, 2),
    )
    _optional(
        draw,
        schema,
        propertyNames=st.sampled_from(({"maxLength": 1}, {"enum": ["a", "c"]}, {"pattern": "a"})),
        dependentRequired=st.dictionaries(st.sampled_from(NAMES), names, max_size=1),
        dependentSchemas=st.dictionaries(st.sampled_from(NAMES), inner, max_size=1),
    )
    return schema


@st.composite
def _arrays(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    schema: dict[str, Any] = {"type": "array"} if draw(st.booleans()) else {}
    counts = st.integers(0, 2)
    _optional(
        draw,
        schema,
        prefixItems=st.lists(inner, min_size=1, max_size=2),
        items=inner,
        contains=inner,
        minItems=counts,
        maxItems=st.integers(1, 3),
    )
    if "contains" in schema:
        _optional(draw, schema, minContains=counts, maxContains=st.integers(1, 2))
    return schema


@st.composite
def _combined(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    base = draw(inner)
    schema = dict(base) if isinstance(base, dict) else {}
    several = st.lists(inner, min_size=1, max_size=3)
    keyword = draw(st.sampled_from(("allOf", "anyOf", "oneOf", "not", "if", "unevaluated")))
    if keyword == "not":
        schema["not"] = draw(inner)
    elif keyword == "if":
        schema["if"] = draw(inner)
        _optional(draw, schema, then=inner)
        schema["else"] = draw(inner)
    elif keyword == "unevaluated":
        schema["anyOf"] = draw(several)
        word = draw(st.sampled_from(("unevaluatedProperties", "unevaluatedItems")))
        schema[word] = draw(st.one_of(st.just(False), inner))
    else:
        schema[keyword] = draw(several)
    return schema


def schemas() -> st.SearchStrategy[Any]:
    """Return a strategy of small schemas of all kinds."""
    return st.recursive(
        _leaves(),
        lambda inner: st.one_of(_objects(inner), _arrays(inner), _combined(inner)),
        max_leaves=6,
    )


def sampled(machine: Machine, seed: int, steps: int = 60) -> bytes | None:
    """Return a random text of a machine, None if it was not complete after some steps.

    At each byte the choice is among those that keep the text alive, closing ones preferred more
    and more.
    """
    rng = random.Random(seed)
    run, text = Run(machine), bytearray()
    for step in range(4 * steps):
        row = machine.dfa.trans[run.state]
        options = [byte for byte in range(256) if row[byte] != DEAD]
        if run.is_complete and (not options or rng.random() < 0.5):
            return bytes(text)
        closing = [byte for byte in options if byte in b'"}]']
        if closing and step > steps and not run.is_complete:
            options = closing
        common = [byte for byte in options if byte in b'"ab{}[],:0123tfn']
        byte = rng.choice(common if common and rng.random() < 0.9 else options)
        text.append(byte)
        if not run.read(byte):
            return None
    return None

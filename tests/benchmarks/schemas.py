"""The six schemas of the design's table, and families of schemas that grow in one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]


def record(properties: dict[str, Schema], required: list[str] | None = None) -> Schema:
    """Return a closed object; all properties are required unless told otherwise."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}

PERSON = record(
    {
        "name": {"type": "string", "minLength": 1, "maxLength": 40},
        "age": {"type": "integer"},
        "email": {"type": "string", "maxLength": 60},
        "role": {"enum": ["admin", "editor", "viewer", "guest"]},
        "address": record(
            {"street": STRING, "city": STRING, "zip": {"type": "string", "maxLength": 10}}
        ),
    }
)


def words(n: int) -> list[str]:
    """Return n distinct strings that look like identifiers."""
    return [f"{'abcdefghijklmnop'[i % 16]}{i * 7919 % 100003:05d}_value" for i in range(n)]


SIX: dict[str, Schema] = {
    "two fields": record({"name": STRING, "age": INTEGER}),
    "12 fields, 11 optional": record({f"field{i}": STRING for i in range(12)}, ["field0"]),
    "nested arrays of objects": record(
        {
            "groups": {
                "type": "array",
                "items": record(
                    {
                        "title": STRING,
                        "members": {
                            "type": "array",
                            "maxItems": 8,
                            "items": record(
                                {"id": INTEGER, "tags": {"type": "array", "items": STRING}}
                            ),
                        },
                    }
                ),
            }
        }
    ),
    "person": PERSON,
    "enum of 500 strings": {"enum": words(500)},
    "string of at most 200": {"type": "string", "maxLength": 200},
}


def nested(depth: int) -> Schema:
    """Return objects within objects."""
    schema = record({"value": INTEGER})
    for _ in range(depth):
        schema = record({"name": STRING, "inner": schema})
    return schema


#: Name -> (schema of a size, sizes).
FAMILIES: dict[str, tuple[Callable[[int], Schema], list[int]]] = {
    "properties": (
        lambda n: record({f"p{i}_{w}": STRING for i, w in enumerate(words(n))}),
        [10, 50, 200, 1000, 2000],
    ),
    "optional properties": (
        lambda n: record({f"p{i}": {"type": "boolean"} for i in range(n)}, []),
        [10, 50, 200, 1000, 2000],
    ),
    "enum": (lambda n: {"enum": words(n)}, [10, 100, 1000, 5000, 20000]),
    "maxLength": (lambda n: {"type": "string", "maxLength": n}, [10, 100, 1000, 10000]),
    "maxItems": (
        lambda n: {"type": "array", "items": INTEGER, "maxItems": n},
        [10, 100, 1000, 10000],
    ),
    "nesting": (nested, [1, 2, 4, 8, 12]),
}

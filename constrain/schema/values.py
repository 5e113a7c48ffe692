"""JSON values as they stand in a schema: read exactly, compared as JSON compares.

``load`` keeps what Python's defaults lose: 0.1 stays the decimal number 0.1, and
18446744073709551617 and 1e400 stay themselves; a member written twice, NaN and Infinity, which are
not JSON, are errors instead of surprises.

``require_json`` asks the same of values made in Python. ``number`` gives the exact value of a
number, ``equal`` compares values by the rules of JSON schema: numbers by value (1 is 1.0), never
with booleans (1 is not true, which Python thinks), objects whatever the order of their members.

Source: JSON Schema Core 2020-12, section 4.2.2 (instance equality); RFC 8259.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from constrain.errors import LimitError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_DEPTH = 900  # what json.loads reads
_MAX_DIGITS = 4_000  # Python's int() reads at most 4,300


def load(text: str | bytes) -> Any:
    """Parse JSON text; integers become ``int``, other numbers ``Decimal``.

    Raises
    ------
    SchemaError
        If the text is not JSON (NaN, Infinity and repeated member names included), or nests too
        deeply to be read.
    """
    try:
        return json.loads(
            text,
            parse_float=_decimal,
            parse_int=_integer,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError as error:
        raise SchemaError(f"not JSON text: {error}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise SchemaError(f"not JSON: {error.msg} in {place}") from error
    except RecursionError as error:
        raise SchemaError("not readable: the JSON text nests too deeply") from error


def require_json(value: Any, max_nodes: int) -> None:
    """Raise ``SchemaError`` unless a Python value is what ``load`` could have returned.

    Raises
    ------
    SchemaError
        If something in it is no JSON value, or it contains itself or nests too deeply.
    LimitError
        If it has more than ``max_nodes`` parts, or a number of too many digits.
    """
    stack: list[tuple[Any, int]] = [(value, 0)]
    n_nodes = 0
    while stack:
        top, depth = stack.pop()
        n_nodes += 1
        if n_nodes > max_nodes:
            raise LimitError("values in a schema", n_nodes, max_nodes)
        if depth > _MAX_DEPTH:
            raise SchemaError("not readable: the value contains itself, or nests too deeply")
        if isinstance(top, dict):
            strange = [name for name in top if not isinstance(name, str)]
            if strange:
                told = f"the name of a member must be a string, not {strange[0]!r:.60}"
                raise SchemaError(told)
            stack.extend((member, depth + 1) for member in top.values())
        elif isinstance(top, list):
            stack.extend((item, depth + 1) for item in top)
        elif _is_number(top):
            _require_number(top)
        elif not (isinstance(top, str | bool) or top is None):
            raise SchemaError(f"not a JSON value: {top!r:.60}")


def _require_number(value: int | float | Decimal | Fraction) -> None:
    if isinstance(value, int):
        n_digits = int(value.bit_length() * 0.30103) + 1  # at most one too many
        if n_digits > _MAX_DIGITS:
            raise LimitError("digits of a number", n_digits, _MAX_DIGITS)
    elif not isinstance(value, Fraction) and not Decimal(value).is_finite():
        raise SchemaError(f"{value} is not a JSON number")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:  # an exponent beyond any machine's range
        raise SchemaError(f"the number {text} is out of range") from error


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise LimitError("digits of a number", len(text), _MAX_DIGITS)
    return int(text)


def _refuse_constant(name: str) -> Any:
    raise SchemaError(f"{name} is not a JSON number")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, member in members:
        if name in result:
            raise SchemaError(f"an object has two members named {name!r}")
        result[name] = member
    return result


def number(value: int | float | Decimal | Fraction) -> Fraction:
    """Return the exact value of a number; a float stands for the decimal that Python prints.

    Raises
    ------
    TypeError
        If it is a boolean, or no number.
    ValueError
        If it is infinite or NaN.
    LimitError
        If its exponent is beyond reason.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        raise TypeError(f"not a number: {value!r}")
    if isinstance(value, int | Fraction):
        return Fraction(value)
    decimal = Decimal(repr(value)) if isinstance(value, float) else value
    if not decimal.is_finite():
        raise ValueError(f"not a JSON number: {value!r}")
    if not decimal:
        return Fraction(0)
    n_digits = max(abs(decimal.adjusted()), len(decimal.as_tuple().digits))
    if n_digits > _MAX_DIGITS:
        raise LimitError("digits of a number", n_digits, _MAX_DIGITS)
    return Fraction(decimal)


def equal(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal."""
    stack = [(left, right)]
    while stack:
        a, b = stack.pop()
        if _kind(a) != _kind(b):
            return False
        if isinstance(a, dict):
            if a.keys() != b.keys():
                return False
            stack.extend((a[name], b[name]) for name in a)
        elif isinstance(a, list | tuple):
            if len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif a != b and not (_is_number(a) and number(a) == number(b)):
            return False
    return True


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float | Decimal | Fraction)


_KINDS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("number", _is_number),
    ("boolean", lambda value: isinstance(value, bool)),
    ("string", lambda value: isinstance(value, str)),
    ("array", lambda value: isinstance(value, list | tuple)),
    ("object", lambda value: isinstance(value, dict)),
    ("null", lambda value: value is None),
)


def _kind(value: Any) -> str:
    """Return the JSON type of a value."""
    for name, is_kind in _KINDS:
        if is_kind(value):
            return name
    raise TypeError(f"not a JSON value: {value!r}")

"""Reading what commands are given: schemas from files and standard input, and remarks on them.

A keyword that nobody knows is no constraint, as the standard has it; so one that is *nearly* a known
keyword gets a warning, since a misspelt ``maxLenght`` constrains nothing and says nothing.
"""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrain.cli.errors import SchemaText, drawn
from constrain.errors import LimitError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constrain.limits import Limits
    from constrain.tables import Table

STDIN = "-"
_OUTSIDE = ("x-", "_")  # begins names that are no keywords on purpose
_NEAR = 0.84  # likeness from which on a name is taken for a slip of the pen


def read_bytes(name: str, limit: int) -> bytes:
    """Return the content of a file or of standard input.

    Raises
    ------
    LimitError
        If it is longer than ``limit``.
    OSError
    """
    if name == STDIN:
        data = sys.stdin.buffer.read(limit + 1)
    else:
        with Path(name).open("rb") as file:
            data = file.read(limit + 1)
    if len(data) > limit:
        raise LimitError("bytes of input", len(data), limit, name)
    return data


def read_schema(name: str, limits: Limits) -> tuple[Any, SchemaText]:
    """Return a schema and its text.

    Raises
    ------
    SchemaError
        If it is not JSON.
    """
    from constrain.schema.values import load

    data = read_bytes(name, limits.max_input)
    shown = "standard input" if name == STDIN else name
    try:
        return load(data), SchemaText(shown, data)
    except SchemaError as error:
        raise SchemaError(f"{shown}: {error.reason}{_place(error.__cause__)}") from error


def _place(cause: BaseException | None) -> str:
    """Return the line where a JSON text ends to be one, with a caret."""
    if not isinstance(cause, json.JSONDecodeError):
        return ""
    start = cause.doc.rfind("\n", 0, cause.pos) + 1
    line = cause.doc[start:].partition("\n")[0]
    return f"\n{drawn(line, cause.pos - start, cause.pos - start + 1).plain}"


def load_table(path: Path, tokenizer: Path | None = None) -> Table:
    """Return the table in a file; errors name the file.

    Raises
    ------
    TableError, OSError
        As ``constrain.tables.load`` raises them.
    """
    from constrain.tables import TableError, load

    try:
        return load(path, tokenizer=tokenizer)
    except TableError as error:
        with path.open("rb") as file:
            start = file.read(64).lstrip()
        hint = "; it looks like JSON, `constrain compile` makes a table of it"
        hint = hint if start.startswith((b"{", b"[")) else ""
        reason = str(error).removeprefix(f"{path} ")
        raise TableError(f"{path}: {reason}{hint}", key=error.key) from error


def read_refs(given: Sequence[str], limits: Limits) -> list[tuple[str | None, Any]]:
    """Return the documents of ``--ref [URI=]FILE`` as (URI or None, contents)."""
    documents: list[tuple[str | None, Any]] = []
    for each in given:
        uri, equals, name = each.rpartition("=")
        if Path(each).is_file() or not equals:
            uri, name = "", each
        documents.append((uri or None, read_schema(name, limits)[0]))
    return documents


def misspelt(schema: Any) -> Iterator[str]:
    """Yield a remark on every unknown keyword that is nearly a known one."""
    from constrain.schema.support import KEYWORDS

    seen: set[str] = set()
    for pointer, subschema in _subschemas(schema):
        for name in subschema:
            if name in KEYWORDS or name in seen or name.startswith(_OUTSIDE):
                continue
            near = difflib.get_close_matches(name, KEYWORDS, n=1, cutoff=_NEAR)
            if near:
                seen.add(name)
                yield (
                    f"{name!r} at #{pointer} is no keyword and constrains nothing;"
                    f" did you mean {near[0]!r}?"
                )


def misspelt_relax(relax: Sequence[str]) -> str | None:
    """Return a remark on the first ``--relax`` that names no keyword; None if all do."""
    from constrain.schema.support import KEYWORDS

    for each in relax:
        name = each.partition("@")[0]
        if name not in KEYWORDS:
            near = difflib.get_close_matches(name, KEYWORDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            return f"{name!r} is not a keyword{hint} (`constrain schema-support` lists them)"
    return None


def _subschemas(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schema and all schemas in it, with their JSON pointers."""
    from constrain.schema.support import KEYWORDS

    waiting = [("", schema)]
    while waiting:
        pointer, found = waiting.pop()
        if not isinstance(found, dict):
            continue
        yield pointer, found
        for name, value in found.items():
            kind = KEYWORDS[name].value if name in KEYWORDS else ""
            place = f"{pointer}/{name}"
            if kind in {"schema", "items", "schema list"}:
                listed = isinstance(value, list)
                each = enumerate(value) if listed else [(None, value)]
                waiting += [(place if k is None else f"{place}/{k}", v) for k, v in each]
            elif kind in {"schema map", "dependencies"} and isinstance(value, dict):
                waiting += [(f"{place}/{k}", v) for k, v in value.items()]

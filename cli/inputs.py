"""Reading what commands are given: schemas, tables and texts from files and standard input."""

from __future__ import annotations

import difflib
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrain.cli.errors import drawn
from constrain.errors import ConstrainError, LimitError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constrain.limits import Limits
    from constrain.tables import Table

STDIN = "-"


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as it was given, to compile and to point into."""

    name: str
    data: bytes

    @property
    def text(self) -> str:
        """The text, whatever the bytes."""
        return self.data.decode("utf-8-sig", errors="replace")


class Mistake(ConstrainError):
    """An error together with the schema that it is about.

    Attributes
    ----------
    error : ConstrainError
    schema : SchemaText
    """

    def __init__(self, error: ConstrainError, schema: SchemaText) -> None:
        super().__init__(str(error))
        self.error = error
        self.schema = schema


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
        hint = "; it looks like JSON, `constrain compile` makes a table of it"
        hint = hint if is_schema(path) else ""
        reason = str(error).removeprefix(f"{path} ")
        raise TableError(f"{path}: {reason}{hint}", key=error.key) from error


def is_schema(path: Path) -> bool:
    """Return whether a file looks like JSON, and not like a table."""
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"t", b"f"}


def schema_table(
    path: Path, refs: Sequence[str], chosen: dict[str, Any]
) -> tuple[Table, list[tuple[str | None, Any]]]:
    """Return the table of a schema for a vocabulary of the 256 bytes, and its other documents.

    Raises
    ------
    ConstrainError, OSError
    """
    from constrain.limits import Limits
    from constrain.pipeline import compile
    from constrain.vocabulary import Vocabulary

    limits = Limits()
    _, text = read_schema(str(path), limits)
    documents = read_refs(refs, limits)
    letters = Vocabulary.of([bytes((byte,)) for byte in range(256)])
    try:
        table = compile(text.data, letters, refs=documents, **chosen)
    except ConstrainError as error:
        raise Mistake(error, text) from error
    source = table.meta["source"] | {"text": text.text}  # whatever its size
    return replace(table, meta=table.meta | {"source": source}), documents


def read_refs(given: Sequence[str], limits: Limits) -> list[tuple[str | None, Any]]:
    """Return the documents of ``--ref [URI=]FILE`` as (URI or None, contents)."""
    documents: list[tuple[str | None, Any]] = []
    for each in given:
        uri, equals, name = each.rpartition("=")
        if Path(each).is_file() or not equals:
            uri, name = "", each
        documents.append((uri or None, read_schema(name, limits)[0]))
    return documents


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

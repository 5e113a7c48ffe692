"""JSON schema, exactly: from a schema to a grammar of the JSON texts that satisfy it.

Read the modules in the order of the data:

    support, validation   the keywords, and what their values must be
    documents             drafts, references, where a schema stands
    reading, unevaluated  keywords that combine schemas, to Boolean formulas of atoms
    formulas              those formulas, in canonical form
    assertions            type, enum, and the keywords of each type, to shapes
    shapes, arrays, objects, languages, strings, numbers, formats   sets of values and their algebra
    world                 formulas to shapes
    plans, writing        what is written of an object or array, and how
    lowering, trees       the grammar, and which parts are frames

Rule one: each constraint is enforced exactly, or the compile fails and names it. What is generated
is a subset of what the schema allows; every text that is generated satisfies it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constrain.limits import Meter
from constrain.schema import formats
from constrain.schema.diagnosis import explain
from constrain.schema.documents import Documents, Reference
from constrain.schema.layout import layout as find_layout
from constrain.schema.lowering import FrameMode, Kind, Lowering
from constrain.schema.reading import Reader

if TYPE_CHECKING:
    from constrain.syntax import Grammar

__all__ = ["SchemaResult", "schema_grammar"]

_STACK = 50_000


@dataclass(slots=True)
class SchemaResult:
    """A schema as a grammar, and what to say about it.

    Attributes
    ----------
    grammar : Grammar
    relaxed : list[str]
        What was left unenforced on purpose, as KEYWORD@POINTER.
    notes : list[str]
        Bounds that were tightened on purpose.
    choices : dict[str, Any]
        The options that shaped the texts.
    """

    grammar: Grammar
    relaxed: list[str]
    notes: list[str]
    choices: dict[str, Any]
    _lowering: Lowering
    _mode: FrameMode
    _kinds: frozenset[Kind] = field(default_factory=frozenset)

    @property
    def frames(self) -> list[tuple[str, str]]:
        """The frames and why each is one."""
        return [(name, frame.why) for name, frame in self.grammar.frames.items()]

    def widened(self, byte: int) -> SchemaResult | None:
        """Return the result with all parts that begin or end with a byte as frames.

        For the answer to a ``FrameConflict``; None if they are frames already, or if the mode
        forbids it.
        """
        kinds = self._kinds | _KINDS.get(chr(byte), frozenset(("{", "[", '"')))
        if kinds == self._kinds or self._mode == "never":
            return None
        with _deep_stack():
            grammar = self._lowering.grammar(self._mode, kinds)
        return SchemaResult(
            grammar,
            self.relaxed,
            list(self._lowering.notes),
            self.choices,
            self._lowering,
            self._mode,
            kinds,
        )


_KINDS: dict[str, frozenset[Kind]] = {
    "{": frozenset(("{",)),
    "}": frozenset(("{",)),
    "[": frozenset(("[",)),
    "]": frozenset(("[",)),
    '"': frozenset(('"',)),
}


def schema_grammar(
    schema: Any,
    *,
    layout: str = "compact",
    open: bool = False,
    relax: Iterable[str] = (),
    refs: Sequence[Reference] = (),
    frames: FrameMode = "needed",
    cap_length: int | None = None,
    cap_items: int | None = None,
    meter: Meter | None = None,
) -> SchemaResult:
    """Return the grammar of the JSON texts that a schema describes.

    Parameters
    ----------
    schema : dict or bool
        A JSON schema as ``json.loads`` gives it (numbers may be ``Decimal``).
    layout : {"compact", "spaced", "flexible"}
        What stands after commas and colons.
    open : bool
        Whether an absent ``additionalProperties`` lets further members be written.
    relax : Iterable[str]
        Keywords to leave unenforced, as KEYWORD or KEYWORD@POINTER.
    refs : Sequence[tuple[str | None, Any]]
        Further documents for references: (URI or None, contents).
    frames : {"never", "needed", "always"}
        Whether parts become frames.
    cap_length, cap_items : int or None
        Tighten larger ``maxLength`` and ``maxItems`` to this.
    meter : Meter or None
        The limits and the clock.

    Raises
    ------
    SchemaError
        If the schema is malformed, a reference leads nowhere, or nothing satisfies it.
    UnsupportedSchema
        If a constraint cannot be enforced exactly.
    LimitError
        If a limit is reached.
    """
    meter = meter or Meter()
    with _deep_stack():
        documents = Documents(schema, refs, meter)
        reader = Reader(documents, relax, meter, exact=_is_exact((schema, *(c for _, c in refs))))
        root = reader.formula(documents.root)
        if not reader.world.possible(root):
            raise explain(reader)
        lowering = Lowering(
            reader,
            root,
            find_layout(layout),
            open_=open,
            cap_length=cap_length,
            cap_items=cap_items,
        )
        grammar = lowering.grammar(frames)
    choices = {
        "layout": layout,
        "open": open,
        "frames": frames,
        "cap_length": cap_length,
        "cap_items": cap_items,
    }
    return SchemaResult(
        grammar, list(reader.relaxed), list(lowering.notes), choices, lowering, frames
    )


def _is_exact(documents: Iterable[Any]) -> bool:
    """Return whether no document has a format that is enforced by a subset."""
    stack = list(documents)
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            name = value.get("format")
            if isinstance(name, str) and name in formats.NAMES and not formats.is_exact(name):
                return False
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return True


@contextmanager
def _deep_stack() -> Iterator[None]:
    """Let recursive functions go as deep as schemas may nest (Python frames are on the heap)."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)

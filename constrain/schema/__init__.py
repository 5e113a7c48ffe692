"""JSON schema, exactly: from a schema to a grammar of the JSON texts that satisfy it.

Read the modules in the order of the data:

    support, validation   the keywords, and what their values must be
    remarks               names that are nearly keywords, and constrain nothing
    documents             drafts, references, where a schema stands
    reading, unevaluated  keywords that combine schemas, to Boolean formulas of atoms
    formulas              those formulas, in canonical form
    assertions            type, enum, and the keywords of each type, to shapes
    shapes, arrays, objects, languages, strings, numbers, formats   sets of values and their algebra
    world                 formulas to shapes
    plans, writing        what is written of an object or array, and how
    key_trie              the names of many optional members, left-factored
    lowering, trees       the grammar, and which parts are frames
    apart, diagnosis      why nothing satisfies a schema
    blame                 which keyword forbids a part of an instance
    choice                which parts are worth a frame

Rule one: each constraint is enforced exactly, or the compile fails and names it. What is generated
is a subset of what the schema allows; every text that is generated satisfies it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from constrain.errors import LimitError
from constrain.limits import Meter
from constrain.schema import formats
from constrain.schema.documents import Documents, Reference
from constrain.schema.layout import layout as find_layout
from constrain.schema.lowering import FrameMode, Kind, Lowering
from constrain.schema.reading import Reader
from constrain.schema.remarks import remarks
from constrain.schema.trees import BESIDE

if TYPE_CHECKING:
    from constrain.syntax import Grammar

__all__ = ["SchemaResult", "schema_grammar"]

_STACK = (
    20_000  # Python frames: more would not fit into a stack of 8 MiB, as C calls come in between
)
_LIMITS: list[int] = []  # of recursion, as found by the compiles that are under way
_LOCK = Lock()


@dataclass(slots=True)
class SchemaResult:
    """A schema as a grammar, and what to say about it.

    Attributes
    ----------
    grammar : Grammar
    relaxed : list[str]
        What was left unenforced on purpose, as KEYWORD@POINTER.
    notes : list[str]
        Bounds that were tightened on purpose, and keywords that look misspelt.
    choices : dict[str, Any]
        The options that shaped the texts.
    """

    grammar: Grammar
    relaxed: list[str]
    notes: list[str]
    choices: dict[str, Any]
    _lowering: Lowering
    _mode: FrameMode
    _kinds: dict[Kind, str] = field(default_factory=dict)

    @property
    def frames(self) -> list[tuple[str, str]]:
        """The frames and why each is one."""
        return [(name, frame.why) for name, frame in self.grammar.frames.items()]

    def widened(self, byte: int | None) -> SchemaResult | None:
        """Return the result with more frames.

        Parameters
        ----------
        byte : int | None
            All parts that begin or end with it become frames, for the answer to a
            ``FrameConflict``; all parts of any kind if it is None, for that to a ``LimitError``.

        Returns
        -------
        SchemaResult | None
            None if they are frames already, or if the mode forbids it.
        """
        everything: tuple[Kind, ...] = ("{", "[", '"')
        more, why = everything, "large"
        if byte is not None:
            more, why = _KINDS.get(chr(byte), everything), BESIDE
        kinds = dict.fromkeys(more, why) | self._kinds
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


_KINDS: dict[str, tuple[Kind, ...]] = {
    "{": ("{",),
    "}": ("{",),
    "[": ("[",),
    "]": ("[",),
    '"': ('"',),
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
        exact = formats.all_exact((schema, *(contents for _, contents in refs)))
        reader = Reader(documents, relax, meter, exact=exact)
        root = reader.formula(documents.root)
        if not reader.world.possible(root):
            from constrain.schema.diagnosis import explain  # for bad news only

            raise explain(reader)
        lowering = Lowering(
            reader,
            root,
            find_layout(layout),
            open_=open,
            cap_length=cap_length,
            cap_items=cap_items,
        )
        lowering.notes |= dict.fromkeys(remarks(schema, refs))
        grammar = lowering.grammar(frames, {})
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


@contextmanager
def _deep_stack() -> Iterator[None]:
    """Let recursive functions go as deep as schemas may nest (``Meter.descend`` bounds it)."""
    with _LOCK:
        _LIMITS.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_LIMITS[-1], _STACK))
    try:
        yield
    except RecursionError as error:
        raise LimitError("nested calls", _STACK + 1, _STACK) from error
    finally:
        with _LOCK:  # the limit is that of all threads: the last one out puts back the first
            before = _LIMITS[0]
            _LIMITS.pop()
            if not _LIMITS:
                sys.setrecursionlimit(before)

"""The compiler from end to end. Reading ``compile`` is reading the list of its stages.

    pattern -> syntax tree --+
    schema -> shapes -> syntax tree with frames --+-> machine --+
    grammar of frames --------+                                 |
    tokenizer.json -> vocabulary -> trie -----------------------+-> table

Each stage is one function in one module, and knows nothing of the ones after it:
``constrain.pattern``, ``constrain.schema``, ``constrain.frames`` (which holds subset construction and
minimization together), ``constrain.vocabulary``, ``constrain.trie`` and ``constrain.assemble``.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from constrain import __version__
from constrain.arrays import ranges
from constrain.assemble import assemble
from constrain.cache import cached_vocabulary
from constrain.calls import CountError, FrameConflict
from constrain.collector import paused_collector
from constrain.errors import LimitError, PatternError, SchemaError, VocabularyError
from constrain.frames import build_machine
from constrain.limits import Limits, Meter
from constrain.pattern import parse
from constrain.syntax import Grammar
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constrain.machine import Machine
    from constrain.pattern import DialectName
    from constrain.schema import SchemaResult
    from constrain.tables import Table
    from constrain.trie import Trie

Frames = Literal["never", "needed", "always"]


@dataclass(frozen=True, slots=True)
class Source:
    """What is compiled: a grammar, and what the file will say of it.

    Attributes
    ----------
    grammar : Grammar
    kind : str
        ``"regex"``, ``"schema"`` or ``"grammar"``.
    text : str
        The pattern or the schema as given, for ``inspect`` and for the hash.
    options : dict[str, object]
        The choices that shaped the language.
    relaxed, notes : tuple[str, ...]
        Keywords left unenforced on purpose, and remarks of the front end.
    widened : callable
        Returns, for a byte on which a frame and something else met, the source with more frames,
        and for None the one with as many as can be; None if there is none such.
    """

    grammar: Grammar
    kind: str
    text: str
    options: dict[str, object] = field(default_factory=dict)
    relaxed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    widened: Callable[[int | None], Source | None] = lambda _: None


def pattern_source(pattern: str, dialect: DialectName, meter: Meter) -> Source:
    """Return the source of a regular expression."""
    meter.require("bytes of input", len(pattern.encode(errors="replace")), meter.limits.max_input)
    node = parse(pattern, dialect, meter.limits)
    return Source(Grammar(node), "regex", pattern, {"dialect": dialect})


def grammar_source(grammar: Grammar) -> Source:
    """Return the source of a grammar made by hand."""
    return Source(grammar, "grammar", repr((grammar.start, sorted(grammar.frames.items()))))


@paused_collector()
def schema_source(
    schema: Any,
    text: str,
    meter: Meter,
    *,
    layout: str,
    open: bool,
    relax: Sequence[str],
    refs: Sequence[Any],
    frames: Frames,
    cap_length: int | None,
    cap_items: int | None,
) -> Source:
    """Return the source of a JSON schema."""
    from constrain.schema import schema_grammar  # the largest part; patterns do without it
    from constrain.schema.values import require_json

    meter.where = "#"
    for _, contents in refs:
        require_json(contents, meter.limits.max_nodes)
    result = schema_grammar(
        schema,
        layout=layout,
        open=open,
        relax=relax,
        refs=refs,
        frames=frames,
        cap_length=cap_length,
        cap_items=cap_items,
        meter=meter,
    )
    return _schema_source(result, text)


def _schema_source(result: SchemaResult, text: str) -> Source:
    def widened(byte: int | None) -> Source | None:
        wider = result.widened(byte)
        return _schema_source(wider, text) if wider else None

    return Source(
        result.grammar,
        "schema",
        text,
        result.choices,
        tuple(result.relaxed),
        tuple(result.notes),
        widened,
    )


def load_schema(source: Any, limits: Limits) -> tuple[Any, str]:
    """Return a schema and its text: of a path, of JSON text as bytes, or of a schema already read."""
    from constrain.schema.values import load, require_json

    if isinstance(source, str | Path):
        path = Path(source)
        try:
            size = path.stat().st_size
            if size > limits.max_input:
                raise LimitError("bytes of input", size, limits.max_input, str(path))
            text = path.read_bytes()
        except OSError as error:
            raise SchemaError(f"cannot read {str(source)!r}: {error.strerror or error}") from error
        return load(text), text.decode("utf-8", errors="replace")
    if isinstance(source, bytes):
        return load(source), source.decode("utf-8", errors="replace")
    require_json(source, limits.max_nodes)
    return source, json.dumps(source, default=str)


@paused_collector()
def find_machine(
    source: Callable[[Frames], Source],
    frames: Frames,
    meter: Meter,
    longest: Callable[[int], int] = lambda _: 1,
) -> tuple[Source, Machine]:
    """Return the machine of a source, with more frames where fewer do not do.

    The front end makes the frames it sees a need for. Where two parts then begin alike and are not
    both frames, all parts of that kind become frames; where the automaton exceeds a limit,
    everything that can be a frame becomes one.
    """
    chosen = source(frames)
    while True:
        meter.held = 0
        try:
            machine = build_machine(chosen.grammar, meter, longest)
            meter.require("states", machine.n_states, meter.limits.max_states)
            return chosen, machine
        except FrameConflict as conflict:
            wider = chosen.widened(conflict.byte)
            if wider is None:
                raise
            chosen = wider
        except LimitError as error:
            wider = None if error.what == "seconds" else chosen.widened(None)
            if wider is None:
                raise
            chosen = wider
        except CountError as error:
            raise _uncountable(error, chosen.grammar) from error


def _uncountable(error: CountError, grammar: Grammar) -> CountError:
    """Return the error of a count with the frames that are counted, and the way out."""
    where = tuple(
        dict.fromkeys(
            frame.where or name
            for name, frame in grammar.frames.items()
            if frame.minimum > 0 or frame.maximum is not None
        )
    )
    told = f"{', '.join(where[:4])}{' and others' if where[4:] else ''}"
    advice = (
        'write the count out, with Repeat instead of a counted frame; for a schema, frames="never"'
    )
    return CountError(f"{error} (counted: {told}); {advice}", where)


def read_tokenizer(
    tokenizer: Any,
    *,
    eos: Sequence[int | str],
    vocab_size: int | None,
    allow_token: Sequence[int | str],
    forbid_token: Sequence[int | str],
    cache: bool,
    limits: Limits,
) -> tuple[Vocabulary, Trie]:
    """Return the vocabulary and trie of a tokenizer file, folder, or ready ``Vocabulary``."""
    if isinstance(tokenizer, Vocabulary):
        return tokenizer, tokenizer.trie
    if not isinstance(tokenizer, str | Path):
        raise VocabularyError(
            "tokenizer must be the path of a tokenizer.json or its folder, or a Vocabulary, not"
            f" {type(tokenizer).__name__}"
        )
    return cached_vocabulary(
        Path(tokenizer),
        eos=eos,
        vocab_size=vocab_size,
        allow=allow_token,
        forbid=forbid_token,
        limits=limits,
        cache=cache,
    )


def longest_runs(vocabulary: Vocabulary) -> Callable[[int], int]:
    """Return a function that says how many bytes of a set (as bits) one token holds at most.

    Long tokens are looked at first: those that are no longer than the best one found do not count.
    """
    offsets = vocabulary.token_offsets
    lengths = np.diff(offsets)

    def longest(bits: int) -> int:
        row = np.frombuffer(bits.to_bytes(32, "little"), dtype=np.uint8)
        is_member = np.unpackbits(row, bitorder="little")
        best, seen = 0, int(lengths.max(initial=0))
        while best < seen:
            seen //= 2
            tokens = np.flatnonzero(lengths > seen)
            at, _ = ranges(offsets[tokens], offsets[tokens + 1])
            ends = np.cumsum(lengths[tokens])
            members = is_member[vocabulary.token_bytes[at]]
            best = int(np.add.reduceat(members, ends - lengths[tokens], dtype=np.int64).max())
        return best

    return longest


def compile(
    source: Any = None,
    tokenizer: Any = None,
    *,
    regex: str | None = None,
    dialect: DialectName = "text",
    frames: Frames = "needed",
    layout: str = "compact",
    open: bool = False,
    relax: Sequence[str] = (),
    refs: Sequence[Any] = (),
    cap_length: int | None = None,
    cap_items: int | None = None,
    eos: Sequence[int | str] = (),
    vocab_size: int | None = None,
    allow_token: Sequence[int | str] = (),
    forbid_token: Sequence[int | str] = (),
    limits: Limits | None = None,
    output: str | Path | None = None,
    compress: bool = False,
    cache: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Compile a pattern, a JSON schema or a grammar of frames, for a tokenizer, into a table.

    Parameters
    ----------
    source : dict | bool | str | Path | bytes | Grammar
        A JSON schema, the path of a file that holds one, its JSON text as bytes, or a grammar of
        frames.
    tokenizer : str | Path | Vocabulary
        A tokenizer.json, the folder that holds it, or a vocabulary made by hand.
    regex : str | None
        A pattern, instead of ``source``.
    dialect : str
        How to read the pattern; see ``constrain.pattern``.
    frames : str
        Which parts of a schema become frames: ``"never"``, ``"needed"`` or ``"always"``.
    layout : str
        How JSON is written: ``"compact"``, ``"spaced"`` or ``"flexible"``.
    open : bool
        Read an absent ``additionalProperties`` as true, the standard's default.
    relax : sequence of str
        Keywords (``KEYWORD`` or ``KEYWORD@POINTER``) to leave unenforced on purpose.
    refs : sequence
        Other documents that references may lead to.
    cap_length, cap_items : int | None
        Tighter bounds for the lengths of strings and arrays.
    eos : sequence of (int | str)
        The end-of-sequence tokens, by id or text; found beside the tokenizer if empty.
    vocab_size : int | None
        The width of the model's logits, where it is more than the tokenizer's.
    allow_token, forbid_token : sequence of (int | str)
        Added tokens to allow or forbid as text against the default.
    limits : Limits | None
        Bounds on states, bytes and time.
    output : str | Path | None
        Where to write the table, if anywhere.
    compress : bool
        Whether to deflate the file.
    cache : bool
        Whether the vocabulary may be kept in and taken from the user's cache folder.
    progress : callable
        Called with the name of each stage as it begins.

    Returns
    -------
    Table

    Raises
    ------
    ConstrainError
        One of its kinds; see ``constrain.errors``. Nothing is written then.
    """
    meter = Meter(limits or Limits())
    progress("read the tokenizer")
    vocabulary, trie = read_tokenizer(
        tokenizer,
        eos=eos,
        vocab_size=vocab_size,
        allow_token=allow_token,
        forbid_token=forbid_token,
        cache=cache,
        limits=meter.limits,
    )
    if (source is None) == (regex is None):
        raise TypeError("give either a schema (or grammar) or regex=...")
    progress("read the source")
    if regex is not None:
        pattern = pattern_source(regex, dialect, meter)
        make: Callable[[Frames], Source] = lambda _: pattern  # noqa: E731
    elif isinstance(source, Grammar):
        grammar = grammar_source(source)
        make = lambda _: grammar  # noqa: E731
    else:
        schema, text = load_schema(source, meter.limits)
        make = lambda mode: schema_source(  # noqa: E731
            schema,
            text,
            meter,
            layout=layout,
            open=open,
            relax=relax,
            refs=refs,
            frames=mode,
            cap_length=cap_length,
            cap_items=cap_items,
        )
    progress("build the automaton")
    chosen, machine = find_machine(make, frames, meter, longest_runs(vocabulary))
    if machine.dfa.is_empty:
        raise _empty(chosen)
    progress("find what every token does")
    assembled = assemble(machine, vocabulary, trie, meter)
    meta = _meta(chosen, machine, vocabulary, assembled.n_actions, assembled.n_traps)
    meta["tokenizer"] |= {"allow": list(allow_token), "forbid": list(forbid_token)}
    meta["limits"] = {  # null is without bound; JSON has no infinity
        name: bound if math.isfinite(bound) else None
        for name, bound in asdict(meter.limits).items()
    }
    if assembled.n_traps:
        meta["missing_bytes"] = assembled.missing.hex()
    table = replace(assembled.table, meta=meta)
    if output is not None:
        progress("write the table")
        size = sum(array.nbytes for array in table.arrays().values())
        meter.require("bytes of output", size, meter.limits.max_output)
        table.save(Path(output), compress=compress)
    return table


def _empty(source: Source) -> PatternError | SchemaError:
    if source.kind == "regex":
        return PatternError("the pattern matches nothing", source.text, (0, len(source.text)))
    return SchemaError("no text satisfies the start: every way to an end leads round in a circle")


def _meta(
    source: Source, machine: Machine, vocabulary: Vocabulary, n_actions: int, n_traps: int
) -> dict[str, Any]:
    """Return what the file says of itself: nothing that differs between equal inputs."""
    return {
        "package": __version__,
        "source": {
            "kind": source.kind,
            "text": source.text if len(source.text) <= 1 << 16 else "",
            "sha256": hashlib.sha256(source.text.encode(errors="replace")).hexdigest(),
        },
        "options": source.options,
        "relaxed": list(source.relaxed),
        "notes": list(source.notes),
        "frames": [
            {"state": f.state, "name": f.name, "why": f.why, "where": f.where}
            for f in machine.frames
        ],
        "tokenizer": {"left_out": vocabulary.left_out, "eos_origin": vocabulary.eos_origin},
        "counts": {"actions": n_actions, "traps": n_traps},
    }

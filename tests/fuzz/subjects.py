"""What is done with each kind of stranger's input, and what must hold of the result.

A subject takes bytes and returns how it ended: ``"ok"``, or the name of one of this package's errors.
Any other exception, or a result that is not what it says it is, is a fault.
"""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from oracles.schemas import sampled

import constrain
from constrain.algebra import shortest
from constrain.determinize import language
from constrain.errors import ConstrainError
from constrain.limits import Limits, Meter
from constrain.machine import Run
from constrain.pattern import parse
from constrain.pipeline import find_machine, schema_source
from constrain.schema.values import load as load_json
from constrain.tables import Constraint, Table
from constrain.tables.load import parse as parse_table
from constrain.tables.verify import verify
from constrain.vocabulary import TokenChoices, TokenizerBytes, Vocabulary, build_vocabulary
from fuzz import inputs

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = Limits(  # so small that hundreds of inputs a second go through
    max_states=200,
    max_nfa_states=2000,
    max_nodes=5000,
    max_input=1 << 16,
    max_memory=16 << 20,
    timeout=0.5,
)
VOCABULARY = Vocabulary.of(
    [bytes([byte]) for byte in range(256)]
    + [b'{"', b'":', b'",', b'"}', b"true", b"false", b"null", b"},{", b"]]", b"[[", b'":{"', b"ab", b"123"]
    + [None],
    eos=[269],
)  # fmt: skip


def run_randomly(table: Table, seed: int = 0) -> None:
    """Run a table at random, in every way that looks something up."""
    rng = np.random.default_rng(seed)
    for budget in (None, 8, 40):
        with contextlib.suppress(ConstrainError):
            run = Constraint(table, budget=budget, max_depth=50)
            for step in range(40):
                allowed = np.flatnonzero(run.mask())
                if step % 16 == 0:  # up to 65,536 bytes where a table goes round in a circle
                    run.forced_bytes()
                    run.forced_tokens()
                if not len(allowed):
                    break
                run.advance(int(rng.choice(allowed)))
            run.rollback(1)


def pattern(data: bytes, limits: Limits = SMALL) -> str:
    """Parse and determinize; the shortest text must be one that ``re`` matches too."""
    dialect, text = inputs.pattern(inputs.Choices(data))
    meter = Meter(limits)
    dfa = language(parse(text, dialect, limits), meter)  # type: ignore[arg-type]
    found = shortest(dfa)
    if found is None:
        return "ok"
    assert dfa.matches(found)
    # Backtracking takes exponential time where there is much to repeat: only what is short.
    if dialect != "ecma" and len(text) <= 16 and not re.search(r"\d\d|[1-9]\}", text):
        with warnings.catch_warnings(), contextlib.suppress(OverflowError):
            warnings.simplefilter("ignore")
            try:
                flags = re.ASCII if dialect == "text" else 0
                subject: Any = found.decode() if dialect == "text" else found
                pattern: Any = text if dialect == "text" else text.encode("latin-1")
                matched = re.compile(pattern, flags).fullmatch(subject)
            except (re.error, UnicodeError):
                return "ok"
            assert matched, (text, found)
    return "ok"


def schema(data: bytes, limits: Limits = SMALL) -> str:
    """Read a schema and build its machine; every text of it must be JSON."""
    options, text = inputs.schema(inputs.Choices(data))
    document = load_json(text)
    meter = Meter(limits)
    machine = find_machine(
        lambda frames: schema_source(
            document,
            text.decode("utf-8", "replace"),
            meter,
            frames=frames,
            layout=options["layout"],
            open=options["open"],
            relax=(),
            refs=(),
            cap_length=None,
            cap_items=None,
        ),
        options["frames"],
        meter,
    )[1]
    if not machine.dfa.is_empty:
        for seed in range(2):
            written = sampled(machine, seed, steps=20)
            if written is not None:
                json.loads(written)
                run = Run(machine)
                assert all(run.read(byte) for byte in written) and run.is_complete
    return "ok"


def compiled_schema(data: bytes, limits: Limits) -> str:
    """Compile all the way to a table, and run it."""
    options, text = inputs.schema(inputs.Choices(data))
    run_randomly(constrain.compile(text, VOCABULARY, limits=limits, **options))
    return "ok"


def compiled_pattern(data: bytes, limits: Limits) -> str:
    """Compile all the way to a table, and run it."""
    dialect, text = inputs.pattern(inputs.Choices(data))
    run_randomly(constrain.compile(None, VOCABULARY, regex=text, dialect=dialect, limits=limits))  # type: ignore[arg-type]
    return "ok"


def tokenizer(data: bytes, limits: Limits = SMALL) -> str:
    """Read a tokenizer; what comes out must hold together."""
    content = inputs.tokenizer(inputs.Choices(data))
    files = TokenizerBytes(Path("tokenizer.json"), content, {})
    vocabulary = build_vocabulary(files, TokenChoices(eos=(0,)), Meter(limits))
    offsets = vocabulary.token_offsets
    assert offsets[0] == 0 and offsets[-1] == len(vocabulary.token_bytes)
    assert (np.diff(offsets) >= 0).all() and vocabulary.eos
    assert len(vocabulary.fingerprint) == 64
    return "ok"


def table(data: bytes, limits: Limits = SMALL) -> str:
    """Load a table and use it; whatever loads never looks up anything outside of itself."""
    del limits
    loaded = parse_table(memoryview(inputs.table(inputs.Choices(data))))
    run_randomly(loaded)
    with contextlib.suppress(ConstrainError):
        verify(loaded, sample=8)
    return "ok"


SUBJECTS: dict[str, Callable[..., str]] = {
    "pattern": pattern,
    "schema": schema,
    "tokenizer": tokenizer,
    "table": table,
}


def outcome(subject: Callable[..., str], data: bytes, *limits: Limits) -> str:
    """Return how a subject ends; an exception that is not ours goes through."""
    try:
        return subject(data, *limits)
    except ConstrainError as error:
        return type(error).__name__

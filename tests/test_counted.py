"""Counted frames against the same counts written out: equal masks and equal texts, count by count.

A frame that holds 0 to 400 characters, or commas of an array or an object, at least none, half of
them, all but one, or all, for vocabularies whose tokens hold 1 to 20 of them at most. The automaton
without frames has a state for every count; the table with frames is followed beside it along a text
that passes all of these states, and at each place

* the same bytes can come next, and lead to places that belong together again;
* the mask allows the same tokens.

Ordinary runs look at some of these, ``make exhaustive`` at all: half an hour or more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from constrain.pipeline import compile
from constrain.syntax import (
    Alternate,
    ByteSet,
    Call,
    Concat,
    Frame,
    Grammar,
    Literal,
    Node,
    Repeat,
    Tick,
)
from constrain.tables import Table
from constrain.tables.constraint import shared
from constrain.tables.write import serialized
from constrain.vocabulary import Vocabulary

EVERY = bool(os.environ.get("CONSTRAIN_EXHAUSTIVE"))
COUNTS, LONGEST = 401, 20
VALUE = Alternate((ByteSet.of(b"ab"), Concat((Literal(b"u"), ByteSet.of(b"xy")))))


@dataclass(frozen=True)
class Body:
    """What is counted: the first part, and one that repeats and ticks once; with texts of them."""

    opening: bytes
    closing: bytes
    first: Node | None
    more: Node
    ticking: Node
    first_text: bytes
    text: bytes  # of ``more``; passes all of its states
    short: bytes  # the same in a byte less, for tokens

    def frame(self, minimum: int, maximum: int | None) -> Grammar:
        inner = Repeat(self.ticking, 0, None)
        body = inner if self.first is None else Concat((self.first, inner))
        frame = Frame(self.opening[0], body, self.closing[0], minimum, maximum)
        return Grammar(Concat((Call("f"), Literal(b"z"))), {"f": frame})

    def written_out(self, minimum: int, maximum: int) -> Grammar:
        inner = Repeat(self.more, minimum, maximum)
        parts = [Literal(self.opening), inner, Literal(self.closing + b"z")]
        if self.first is not None:
            parts.insert(1, self.first)
        return Grammar(Concat(tuple(parts)))


def _after(separator: bytes, name: bytes) -> tuple[Node, Node]:
    """Return a separator and a member, without and with a tick for the separator."""
    rest = (Literal(name), VALUE) if name else (VALUE,)
    more = Concat((Literal(separator), *rest))
    return more, Concat((Tick(Literal(separator)), *rest))


BODIES = {
    "string": Body(b'"', b'"', None, VALUE, Tick(VALUE), b"", b"ux", b"a"),
    "array": Body(b"[", b"]", VALUE, *_after(b",", b""), b"ux", b",ux", b",a"),
    "object": Body(
        b"{",
        b"}",
        Concat((Literal(b"k:"), VALUE)),
        *_after(b",", b"k:"),
        b"k:ux",
        b",k:ux",
        b",k:a",
    ),
}


@cache
def tokens(name: str) -> list[tuple[bytes, int]]:
    """Return the tokens for a body, each with how many ticks it may pass, ascending."""
    body = BODIES[name]
    found = {bytes((byte,)): 1 for byte in body.opening + body.closing + b"abuxyz" + body.short}
    for n in range(1, LONGEST + 1):
        run, size = body.short * n, len(body.short)
        found.setdefault(run, n)
        found.setdefault(body.opening + body.first_text.replace(b"ux", b"a") + run, n)
        for end in (body.closing, body.closing + b"z", b"z", b"u" if size == 1 else b",", b"\x00"):
            found.setdefault(run + end, n + (end == b","))
        for shift in range(1, size):
            found.setdefault((run + body.short)[shift : shift + size * n], n)
        found.setdefault(b"x" + run, n + (size == 1))
    return sorted(found.items(), key=lambda item: item[1])


@cache
def vocabulary(name: str, longest: int) -> Vocabulary:
    """Return the tokens that pass at most so many ticks; others leave holes."""
    kept = [token if ticks <= longest else None for token, ticks in tokens(name)]
    return Vocabulary.of([*kept, None], (len(kept),))


def kept_words(name: str, longest: int) -> Any:
    bits = np.array([ticks <= longest for _, ticks in tokens(name)] + [True])
    padded = np.zeros(-(-len(bits) // 32) * 32, dtype=np.uint8)
    padded[: len(bits)] = bits
    return np.packbits(padded, bitorder="little").view("<i4")


@dataclass
class WrittenOut:
    """The automaton with a state for every count, followed along a text with all of them."""

    table: Table
    text: bytes
    states: Any  # intp, behind the opening byte and each byte of the text

    @classmethod
    def of(cls, name: str, minimum: int, maximum: int) -> WrittenOut:
        body = BODIES[name]
        table = compile(body.written_out(minimum, maximum), vocabulary(name, LONGEST))
        text = body.first_text + body.text * maximum
        state = int(table.trans[0, body.opening[0]])
        states = [state]
        for byte in text:
            states.append(state := int(table.trans[state, byte]))
        assert min(states) >= 0
        return cls(table, text, np.asarray(states))


def compare(name: str, out: WrittenOut, minimum: int, maximum: int, longest: int) -> None:
    """Compare the table with a frame for one vocabulary with the automaton without."""
    table = compile(BODIES[name].frame(minimum, maximum), vocabulary(name, longest))
    frames = table.frames
    assert frames is not None
    runner: Any = shared(table)[0]
    config = runner.read(runner.start, BODIES[name].opening[0])
    configs = [config]
    for byte in out.text:
        configs.append(config := runner.read(config, byte))
    state = np.array([config[0] for config in configs])
    count = np.array([config[1] for config in configs])
    alive = table.trans[state] != -1
    assert (alive == (out.table.trans[out.states] != -1)).all()
    # One byte on: where both lead to belongs together.
    place, byte = np.nonzero(alive)
    target = out.table.trans[out.states[place], byte]
    raw = table.trans[state[place], byte]
    assert (raw >= 0).all()
    ticked = count[place] + frames.tick[raw]
    leaves = frames.tick[raw] & (frames.escape[raw] >= 0) & (frames.escape_at[raw] == ticked)
    led = np.where(leaves, frames.escape[raw], raw)
    closed = frames.pop[led] >= 0
    assert (closed == (byte == BODIES[name].closing[0])).all()
    places = np.full(out.table.n_states, -1)
    places[out.states] = np.arange(len(out.states))
    met = places[target[~closed]]
    assert (met >= 0).all()
    assert (state[met] == led[~closed]).all()
    assert (count[met] == ticked[~closed]).all()
    # After the close both must read a ``z`` and end.
    assert len(set(target[closed].tolist())) == 1
    back = frames.call_return[0, 0]
    end = table.trans[back, ord("z")]
    assert (table.trans[back] != -1).sum() == (out.table.trans[target[closed][0]] != -1).sum() == 1
    assert table.accept[end]
    assert not table.accept[state].any()
    # Masks, composed with what stands below.
    distinct, which = np.unique(state, return_inverse=True)
    rows = np.stack([runner.row((int(each), 0, configs[0][2]))[0] for each in distinct])
    expected = out.table.masks[out.table.mask_row[out.states]] & kept_words(name, longest)
    assert (rows[which] == expected).all()


def cases(name: str) -> list[tuple[int, list[int]]]:
    """Return counts, each with the lengths of tokens to look at."""
    if EVERY:
        few = range(1, LONGEST + 1) if name == "string" else (1, 2, 3, 5, 8, 13, 20)
        return [(n, list(few)) for n in range(COUNTS)]
    rng = np.random.default_rng(3)
    near = [0, 1, 2, 7, 22, 45, 130]
    return [(n, sorted(set(rng.integers(1, LONGEST + 1, 2).tolist()))) for n in near]


@pytest.mark.parametrize("least", ["none", "half", "all but one", "all"])
@pytest.mark.parametrize("name", BODIES)
def test_a_counted_frame_is_the_automaton_of_all_counts(name: str, least: str) -> None:
    for n, longest in cases(name):
        minimum = {"none": 0, "half": n // 2, "all but one": max(n - 1, 0), "all": n}[least]
        out = WrittenOut.of(name, minimum, n)
        for each in longest:
            compare(name, out, minimum, n, each)


@pytest.mark.parametrize("share", [(0, 1), (1, 1), (1, 2), (1, None)], ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_a_table_for_a_million_is_as_small_as_one_for_a_thousand(
    name: str, share: tuple[int, int | None]
) -> None:
    shapes, sizes = [], []
    for n in (1_000, 1_000_000):
        minimum, maximum = n * share[0], None if share[1] is None else n * share[1]
        table = compile(BODIES[name].frame(minimum, maximum), vocabulary(name, LONGEST))
        shapes.append({key: array.shape for key, array in table.arrays().items()})
        sizes.append(sum(len(part) for part in map(bytes, serialized(table))))
    assert shapes[0] == shapes[1]
    assert abs(sizes[0] - sizes[1]) <= 64  # numbers in the metadata, and what fills up after them

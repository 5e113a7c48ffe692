"""Everything small, exhaustively: vocabularies against automata, schemas against documents.

Patterns are in ``test_pattern.py``. Nothing here is drawn at random.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest
from oracles.schemas import machine

from constrain.assemble import assemble
from constrain.determinize import language
from constrain.errors import DeadEndError, SchemaError, UnsupportedSchema
from constrain.index import TokenIndex
from constrain.limits import Meter
from constrain.machine import Machine
from constrain.minimize import canonical
from constrain.pattern import parse
from constrain.pipeline import compile
from constrain.syntax import Call, Frame, Grammar, Literal, alternate, concat, star
from constrain.tables import Constraint
from constrain.tables.load import parse as parse_table
from constrain.tables.verify import verify
from constrain.tables.write import serialized
from constrain.trie import build_trie
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.dfa import DFA
    from constrain.tables import Table

# Vocabularies and automata.

TOKENS = [b"a", b"b", b"aa", b"ab", b"ba", b"bb"]
VOCABULARIES = [v for n in range(1, 4) for v in itertools.combinations(TOKENS, n)]
END = 3


def automata() -> Iterator[DFA]:
    """Yield every canonical automaton of up to two states over {a, b}, the empty language left out."""
    known = set()
    for n in (1, 2):
        for targets in itertools.product(range(-1, n), repeat=2 * n):
            for accept in itertools.product((False, True), repeat=n):
                trans = np.full((n, 256), -1, dtype=np.int32)
                trans[:, [97, 98]] = np.reshape(targets, (n, 2))
                dfa = canonical(trans, np.array(accept))
                key = (dfa.trans.tobytes(), dfa.accept.tobytes())
                if not dfa.is_empty and key not in known:
                    known.add(key)
                    yield dfa


LONGER = ["aabab", "a(ba)*bb", "(ab|ba){3}", "(a|bb)*(ba){2}b?"]
AUTOMATA = [*automata(), *(language(parse(pattern, "bytes")) for pattern in LONGER)]


def finishable(dfa: DFA, tokens: tuple[bytes, ...]) -> dict[int, int]:
    """Return the fewest tokens to an accepting state, by states that have one; by relaxation."""
    best = {state: 0 for state in range(dfa.n_states) if dfa.accept[state]}
    for _ in range(dfa.n_states):
        for state in range(dfa.n_states):
            after = [best[t] + 1 for t in (dfa.step(state, x) for x in tokens) if t in best]
            best[state] = min([best.get(state, 99), *after])
            if best[state] == 99:
                del best[state]
    return best


def check(dfa: DFA, tokens: tuple[bytes, ...], table: Table) -> None:
    ways = finishable(dfa, tokens)
    reached = [0]
    for state in reached:
        row = table.masks[table.mask_row[state]]
        allowed = [i for i in range(table.n_tokens) if row[i >> 5] >> (i & 31) & 1]
        assert (END in allowed) == bool(dfa.accept[state])
        assert [tokens[i] for i in allowed if i != END] == [
            token for token in tokens if dfa.step(state, token) in ways
        ]
        assert table.tokens_to_end[state] == ways[state]
        reached += {dfa.step(state, tokens[i]) for i in allowed if i != END} - set(reached)


def test_all_vocabularies_against_all_automata() -> None:
    """Masks by brute force, distances by relaxation; a file of each that comes back as it was."""
    assert len(AUTOMATA) > 25
    spelled = 0
    for number, tokens in enumerate(VOCABULARIES):
        padded = [*tokens, *[None] * (3 - len(tokens)), None]
        vocabulary = Vocabulary.of(padded, eos=[END])
        trie = build_trie(vocabulary.token_bytes, vocabulary.token_offsets)
        for dfa in AUTOMATA[number % 2 :: 2] if len(tokens) == 3 else AUTOMATA:
            try:
                table = assemble(Machine.of(dfa), vocabulary, trie, Meter()).table
            except DeadEndError:
                assert 0 not in finishable(dfa, tokens)
                continue
            assert 0 in finishable(dfa, tokens)
            spelled += 1
            check(dfa, tokens, table)
            if spelled % 8 == 0:
                data = b"".join(map(bytes, serialized(table, compress=False)))
                loaded = parse_table(memoryview(data))
                assert all((loaded.arrays()[k] == v).all() for k, v in table.arrays().items())
                verify(loaded, sample=None)
    assert spelled > 500


def texts(tokens: tuple[bytes, ...], n: int) -> Iterator[tuple[int, ...]]:
    for length in range(n + 1):
        yield from itertools.product(range(len(tokens)), repeat=length)


def test_runs_accept_exactly_the_sequences_that_spell_the_language() -> None:
    """With and without a budget, over all sequences of up to three tokens."""
    for tokens in VOCABULARIES[6:21:3]:
        for dfa in AUTOMATA[::3]:
            index = TokenIndex(dfa, [*tokens, *[None] * (3 - len(tokens)), None], eos_id=END)
            ways = finishable(dfa, tokens)
            if 0 not in ways:
                continue
            for budget in (None, ways[0] + 2):
                for sequence in texts(tokens, 3):
                    run = Constraint(index, budget=budget)
                    taken = run.validate([*sequence, END])
                    states = [0]
                    for i in sequence:
                        states.append(dfa.step(states[-1], tokens[i]))
                    expected = 0
                    for used, state in enumerate(states[1:], start=1):
                        if state == -1 or (
                            budget is not None and ways.get(state, 99) + used + 1 > budget
                        ):
                            break
                        expected += 1
                    if expected == len(sequence) and dfa.accept[states[-1]]:
                        expected += 1
                    assert taken == expected, (tokens, sequence, budget)


CYCLES = [
    "(aa)*(ab)?",
    "(aa)*ab",
    "(aa)*(b|ab)?",
    "(aa)*a?b?",
    "(aa)*(ab|a)",
    "(aaa)*(ab)?",
    "(aaa)*aab",
    "a*b",
]


@pytest.mark.parametrize("pair", list(itertools.permutations(CYCLES, 2)), ids="|".join)
def test_cycles_that_look_alike_are_told_apart(pair: tuple[str, str]) -> None:
    """Minimization matches cycles state by state; one that differs in a single state is another."""
    pattern = f"x({pair[0]})|y({pair[1]})"
    dfa = language(parse(pattern, "bytes"))
    expression = re.compile(pattern.encode())
    for n in range(8):
        for letters in itertools.product(b"ab", repeat=n):
            for first in b"xy":
                text = bytes((first, *letters))
                assert dfa.matches(text) == bool(expression.fullmatch(text)), text


def test_frames_that_return_to_the_first_state() -> None:
    """Masks of all configurations that random walks meet, walked byte by byte."""
    inner = alternate(Literal(b"a"), Call("list"))
    frame = Frame(ord("["), star(inner), ord("]"))
    grammar = Grammar(star(Call("list")), {"list": frame})
    tokens = [
        b"[",
        b"]",
        b"a",
        b"[]",
        b"][",
        b"[a]",
        b"]]",
        b"[[",
        b"[][",
        b"]][",
        b"a]",
        b"[a][",
        None,
    ]
    table = compile(grammar, Vocabulary.of(tokens, eos=[12]))
    assert not table.is_plain
    verify(table, sample=200)
    run = Constraint(table)
    assert [i for i in range(12) if run.allowed(i)] == [0, 3, 5, 7, 8, 11]
    for token in (b"[a][", b"a]", b"[]", b"[[", b"]]"):
        run.advance(tokens.index(token))
    assert run.is_complete()


def test_frames_that_begin_alike_go_on_by_what_they_held() -> None:
    """After ``[aa]`` comes x, after ``[b]`` y, after ``[]`` either; tokens reach over the close."""
    a, b = (Frame(ord("["), star(Literal(letter)), ord("]")) for letter in (b"a", b"b"))
    ways = [concat(Call("a"), Literal(b"x")), concat(Call("b"), Literal(b"y"))]
    grammar = Grammar(star(alternate(*ways)), {"a": a, "b": b})
    tokens = [
        b"[",
        b"]",
        b"a",
        b"b",
        b"x",
        b"y",
        b"]x",
        b"]y",
        b"a]x[",
        b"]y[b",
        b"[]",
        b"[b]",
        None,
    ]
    table = compile(grammar, Vocabulary.of(tokens, eos=[12]))
    verify(table, sample=300)
    for begin, allowed in [
        ((b"[",), {b"]", b"a", b"b", b"]x", b"]y", b"a]x[", b"]y[b"}),
        ((b"[", b"a"), {b"]", b"a", b"]x", b"a]x["}),
        ((b"[", b"b"), {b"]", b"b", b"]y", b"]y[b"}),
        ((b"[b]",), {b"y"}),
        ((b"[]",), {b"x", b"y"}),
    ]:
        run = Constraint(table)
        for token in begin:
            run.advance(tokens.index(token))
        assert {tokens[i] for i in range(12) if run.allowed(i)} == allowed


# Schemas and documents.

LEAVES: list[Any] = [
    True,
    False,
    {"type": "null"},
    {"type": "integer"},
    {"type": "string"},
    {"const": 1},
    {"enum": ["a", None]},
    {"minLength": 1},
    {"maxLength": 0},
    {"minimum": 1},
    {"exclusiveMaximum": 1},
    {"multipleOf": 2},
    {"pattern": "^a"},
    {"type": "object"},
    {"type": ["array", "null"]},
    {"maxItems": 1},
    {"required": ["a"]},
]
SCALARS: list[Any] = [None, True, 0, 1, 2, 1.5, "", "a", "b"]
DOCUMENTS: list[Any] = [
    *SCALARS,
    [],
    {},
    *([x] for x in SCALARS),
    *({"a": x} for x in SCALARS),
    *({"b": x} for x in SCALARS),
    *([x, y] for x in (None, 1, "a") for y in (None, 1, "a")),
    *({"a": x, "b": y} for x in (None, 1, "a") for y in (None, 1, "a")),
    [[]],
    [{}],
    {"a": {}},
    {"a": []},
    [1, 1, 1],
    {"a": 1, "b": 1, "c": 1},
]


def schemas() -> Iterator[Any]:
    """Yield all schemas of two levels: each keyword over each leaf, and pairs of them."""
    yield from LEAVES
    one = {
        "items": lambda s: s,
        "contains": lambda s: s,
        "not": lambda s: s,
        "additionalProperties": lambda s: s,
        "properties": lambda s: {"a": s},
        "patternProperties": lambda s: {"^b": s},
        "prefixItems": lambda s: [s],
        "propertyNames": lambda s: s,
        "dependentSchemas": lambda s: {"a": s},
        "unevaluatedItems": lambda s: s,
        "unevaluatedProperties": lambda s: s,
    }
    for word, make in one.items():
        for leaf in LEAVES:
            yield {word: make(leaf)}
    for word in ("allOf", "anyOf", "oneOf"):
        for left, right in itertools.combinations(LEAVES, 2):
            yield {word: [left, right]}
    for left, right in itertools.combinations(LEAVES[2::3], 2):
        yield {"if": left, "then": right}
        yield {"if": left, "else": right}
        yield {"properties": {"a": left}, "additionalProperties": right}
        yield {"properties": {"a": left}, "patternProperties": {"": right}, "required": ["b"]}
        yield {"prefixItems": [left], "items": right, "minItems": 1}
        yield {"contains": left, "maxContains": 1, "items": right}
        yield {
            "anyOf": [{"properties": {"a": left}}, {"properties": {"b": right}}],
            "unevaluatedProperties": False,
        }
        yield {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {"a": left, "b": right},
        }

    counts = [
        {word: n}
        for word in ("minItems", "maxItems", "minProperties", "maxProperties", "minLength")
        for n in (1, 2)
    ]
    for left, right in itertools.combinations(counts, 2):
        yield {"allOf": [left, right]}
        yield {"allOf": [left], "not": right}
    items = {"type": "array", "items": {"enum": [1, "a", None]}}
    for least, most in ((0, 1), (1, 1), (1, 2), (2, 2)):
        contains = {"contains": {"const": 1}, "minContains": least, "maxContains": most}
        yield items | contains
        yield items | {"not": contains}
    yield items | {"uniqueItems": True}
    yield items | {"uniqueItems": True, "minItems": 2, "prefixItems": [{"enum": [1, "a"]}]}
    yield items | {"not": {"uniqueItems": True}, "maxItems": 2}


WORLD = list(schemas())
EVERY = 1 if os.environ.get("CONSTRAIN_EXHAUSTIVE") else 3
"""By default a third of the schemas of each kind is looked at, with the variable all of them."""


def orders(document: Any) -> list[str]:
    """Return the texts of a document, in every order of its members."""
    if isinstance(document, dict) and len(document) > 1:
        return [
            json.dumps(dict(order), separators=(",", ":"))
            for order in itertools.permutations(document.items())
        ]
    return [json.dumps(document, separators=(",", ":"))]


@pytest.mark.parametrize("part", range(4))
def test_all_small_schemas_against_all_small_documents(part: int) -> None:
    """Open: what is valid is accepted in some order, what is not in none. Closed: nothing invalid."""
    compiled = 0
    mine = [*WORLD[:-11][part :: 4 * EVERY], *WORLD[-11:][part::4]]
    for number, schema in enumerate(mine):
        judge = jsonschema.Draft202012Validator(schema)
        valid = {i for i, document in enumerate(DOCUMENTS) if judge.is_valid(document)}
        for open_ in (True, False) if number % 5 == 0 else (True,):
            try:
                table = machine(schema, open=open_)
            except UnsupportedSchema:
                continue
            except SchemaError:
                assert not valid, f"{schema} is said to be unsatisfiable"
                continue
            compiled += 1
            accepted = {
                i
                for i, document in enumerate(DOCUMENTS)
                if any(table.matches(text.encode()) for text in orders(document))
            }
            assert accepted <= valid, (schema, [DOCUMENTS[i] for i in accepted - valid])
            if open_:
                assert accepted == valid, (schema, [DOCUMENTS[i] for i in valid - accepted])
    assert compiled > 0.8 * len(mine)

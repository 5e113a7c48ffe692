"""Composed masks of framed machines equal a walk of every token, byte by byte, in every context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_frames import counted, grammars, json_values

from constrain.actions import Actions, Walk, walk_trie
from constrain.distances import distances
from constrain.exits import Residues, residues_of
from constrain.frames import build_machine
from constrain.limits import Meter
from constrain.machine import Machine, Run
from constrain.masks import NO_END, Rows, mask_rows
from constrain.steps import Steps
from constrain.syntax import Grammar
from constrain.trie import build_trie
from constrain.vocabulary import Vocabulary


@dataclass
class Framed:
    """A framed machine with a vocabulary, composed as the format says, in the plainest way."""

    machine: Machine
    tokens: list[bytes]
    rows: Rows
    residues: Residues
    to_end: np.ndarray
    to_pop: np.ndarray

    @classmethod
    def of(cls, machine: Machine, tokens: list[bytes]) -> Framed:
        data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
        offsets = np.concatenate([[0], np.cumsum([len(t) for t in tokens])]).astype(np.int64)
        trie = build_trie(data, offsets)
        steps = Steps(machine)
        walk = Walk(steps, Meter())
        actions: Actions = walk_trie(walk, trie)
        found = distances(machine, steps, actions, Vocabulary.of(tokens, ()), Meter())
        fine = np.ones(machine.n_states, dtype=np.bool_)
        residues = residues_of(machine, walk, actions, trie, fine)
        alive = np.ones(steps.n_known, dtype=np.bool_)
        rows = mask_rows(actions, alive, machine.dfa.accept, Vocabulary.of(tokens, ()), Meter())
        return cls(machine, tokens, rows, residues, found.to_end, found.to_pop)

    def mask(self, run: Run) -> set[int]:
        row = self.rows.masks[self.rows.row_of[run.state]]
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        allowed = set(np.flatnonzero(bits).tolist())
        res = self.residues
        pairs = {(r, n): i for i, (r, n) in enumerate(res.exit_pair.tolist())}
        which = res.residue_row[run.state]
        begin, end = res.residue_offsets[which : which + 2]
        waiting = [(n, label, len(run.stack)) for n, label in res.residues[begin:end].tolist()]
        while waiting:
            node, label, depth = waiting.pop()
            if depth == 0:
                continue
            back = int(self.machine.call_return[run.stack[depth - 1][0], label])
            if back < 0 or (back, node) not in pairs:
                continue
            i = pairs[back, node]
            allowed.update(
                res.exit_tokens[res.exit_token_offsets[i] : res.exit_token_offsets[i + 1]].tolist()
            )
            begin, end = res.exit_residue_offsets[i : i + 2]
            waiting.extend((n, to, depth - 1) for n, to in res.exit_residues[begin:end].tolist())
        return allowed

    def brute_force(self, run: Run) -> set[int]:
        return {
            token
            for token, data in enumerate(self.tokens)
            if data and self.after(run, data).state >= 0
        }

    def after(self, run: Run, data: bytes) -> Run:
        copy = Run(self.machine, run.state, run.count, list(run.stack))
        for byte in data:
            copy.read(byte)
        return copy

    def contexts(self, depth: int, limit: int) -> list[Run]:
        """Return the configurations reached byte by byte, up to a stack depth and a number."""
        start = Run(self.machine)
        seen = {(0, 0, ())}
        order = [start]
        for run in order:
            for byte in np.flatnonzero(self.machine.dfa.trans[run.state] != -1).tolist():
                after = self.after(run, bytes((byte,)))
                key = (after.state, after.count, tuple(after.stack))
                if after.state >= 0 and len(after.stack) <= depth and key not in seen:
                    if len(order) >= limit:
                        return order
                    seen.add(key)
                    order.append(after)
        return order


def check(machine: Machine, tokens: list[bytes], depth: int = 4, limit: int = 150) -> None:
    framed = Framed.of(machine, tokens)
    for run in framed.contexts(depth, limit):
        assert framed.mask(run) == framed.brute_force(run), (run.state, run.stack)


VOCABULARIES = st.lists(
    st.text(alphabet="ab()[]", min_size=1, max_size=6).map(str.encode), min_size=1, max_size=30
)


@given(grammars(), VOCABULARIES)
@settings(max_examples=120, deadline=None)
def test_composed_masks_equal_brute_force(grammar: Grammar, tokens: list[bytes]) -> None:
    machine = build_machine(grammar)
    if not machine.is_plain:
        check(machine, tokens)


def test_tokens_that_close_four_frames_and_open_others() -> None:
    machine = build_machine(json_values())
    tokens = [bytes((b,)) for b in b'{}[]",:ab019nul']
    tokens += [b"}}", b"]]", b"}]", b"}]}]", b"]]]]", b"}}}},", b'"}', b'"}]}', b'":{"', b'":[[{"']
    tokens += [b'}]},{"a":[1', b"]]]],[[", b'"]}]}]', b'a"', b'ab":"', b'","b":{', b"1}]", b"]]x"]
    check(machine, tokens, depth=6, limit=1500)


@given(
    st.integers(0, 40),
    st.integers(0, 60),
    st.integers(1, 20),
    st.lists(st.text(alphabet='abxyu"', min_size=1, max_size=8).map(str.encode), max_size=20),
)
@settings(max_examples=80, deadline=None)
def test_masks_near_the_bounds_of_counts(
    minimum: int, extra: int, width: int, tokens: list[bytes]
) -> None:
    tokens = [*tokens, b"a" * width, b'a"', b'x"', b"uxux", b'"', b"ux", b"u"]
    grammar, _ = counted(minimum, minimum + extra)
    runs = max(sum(c in b"abxy" for c in token) for token in tokens)
    machine = build_machine(grammar, Meter(), lambda _: runs)
    check(machine, tokens, limit=600)


def test_distances_are_those_of_a_search_and_can_be_kept() -> None:
    machine = build_machine(json_values())
    tokens = [bytes((b,)) for b in b'{}[]",:ab019nul'] + [b'":', b'{"a":{}}', b"[[", b'"a"']
    framed = Framed.of(machine, tokens)
    for run in framed.contexts(3, 400):
        best = framed.to_pop[run.state].min() if run.stack else framed.to_end[run.state]
        assert 0 <= best < NO_END
        if best == 0:
            assert run.is_complete
            continue
        # Some allowed token brings the end one nearer, whatever is below on the stack.
        nearer = []
        for token in framed.brute_force(run):
            after = framed.after(run, tokens[token])
            if len(after.stack) == len(run.stack) - 1:
                nearer.append(1)
            elif len(after.stack) == len(run.stack):
                d = framed.to_pop[after.state].min() if run.stack else framed.to_end[after.state]
                nearer.append(1 + d)
            elif len(after.stack) == len(run.stack) + 1:
                back = machine.call_return[after.stack[-1][0], 0]
                d = framed.to_pop[back].min() if run.stack else framed.to_end[back]
                nearer.append(1 + framed.to_pop[after.state].min() + d)
        assert best == min(nearer)

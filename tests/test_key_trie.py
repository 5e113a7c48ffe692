"""Objects of many optional members: their names read along a trie, to the same language."""

from typing import Any

import numpy as np
import pytest

from constrain.frames import build_machine
from constrain.limits import Meter
from constrain.machine import Machine
from constrain.nfa import children
from constrain.schema import schema_grammar, write_objects
from constrain.schema.key_trie import Branch, key_trie
from constrain.syntax import EPSILON, Graph, Node

NAMES = ["p1", "p10", "p2", "q", "p", "", "p100", "\u00e9", 'p"', "p\\", "r1", "r2"]


def keys_of(branch: Branch, before: bytes = b"") -> list[bytes]:
    """Return the keys of a branch, each by its place."""
    text = before + branch.label.data
    if not branch.branches:
        return [text]
    return sorted(key for below in branch.branches for key in keys_of(below, text))


def test_the_trie_holds_the_keys_at_their_places() -> None:
    keys = [write_objects.key_text(name) for name in NAMES]
    root = key_trie(keys)
    assert keys_of(root) == sorted(keys)
    pending = [root]
    while pending:
        branch = pending.pop()
        assert branch.places == sorted(branch.places)
        if branch.branches:
            firsts = [below.label.data[0] for below in branch.branches]
            assert len(set(firsts)) == len(firsts)
            parts = sorted(place for below in branch.branches for place in below.places)
            assert parts == branch.places
        else:
            assert len(branch.places) == 1
        pending.extend(branch.branches)


def test_following_gives_what_may_still_come() -> None:
    root = key_trie([b'"a"', b'"b"', b'"ab"', b'"b2"'])
    (quote, first), *none = root.following(1, 3)
    assert (first, none) == (1, [])
    found = {branch.label.data: at for branch, at in quote.following(1, 2)}
    assert found == {b"b": 1, b"a": 2}
    assert list(quote.following(4, 9)) == []


def machine(schema: Any, **options: Any) -> Machine:
    return build_machine(schema_grammar(schema, frames="never", **options).grammar, Meter())


def optional(names: list[str], **more: Any) -> dict[str, Any]:
    values = [{"type": "boolean"}, {"type": "null"}, {"enum": [1, 22]}]
    properties = {name: values[i % 3] for i, name in enumerate(names)}
    return {"type": "object", "properties": properties, "additionalProperties": False} | more


SCHEMAS = {
    "closed": optional(NAMES),
    "required": optional(NAMES, required=["p2", "r2"]),
    "undeclared": optional(NAMES, required=["q", "zz"], additionalProperties={"type": "null"}),
    "first and last required": optional(NAMES, required=[NAMES[0], NAMES[-1]]),
    "few": optional(NAMES[:7], maxProperties=3),
    "some": optional(NAMES[:7], minProperties=2, required=["p2"]),
    "one": optional(["a"]),
    "rest": optional(NAMES[:6], patternProperties={"^p": {"type": "null"}}),
    "alternatives": {"anyOf": [optional(NAMES), optional(NAMES[::-1], required=["p1"])]},
}


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("layout", ["compact", "flexible"])
def test_both_ways_give_one_automaton(
    name: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = machine(SCHEMAS[name], layout=layout).dfa
    monkeypatch.setattr(write_objects, "MANY_OPTIONAL", 1)
    trie = machine(SCHEMAS[name], layout=layout).dfa
    assert np.array_equal(chain.trans, trie.trans)
    assert np.array_equal(chain.accept, trie.accept)


def reached(graph: Graph) -> int:
    """Return the most points that are reached from one point without reading anything."""
    after: dict[int, list[int]] = {}
    for source, label, target in graph.edges:
        if label == EPSILON:
            after.setdefault(source, []).append(target)
    most = 0
    for point in range(graph.n_points):
        queue = [point]
        for top in queue:
            queue.extend(target for target in after.get(top, ()) if target not in queue)
        most = max(most, len(queue))
    return most


def test_an_object_of_many_optional_members_is_linear() -> None:
    n_edges: list[int] = []
    for n in (200, 400):
        graph = graph_of(schema_grammar(optional([f"p{i}" for i in range(n)])).grammar.start)
        assert reached(graph) <= 4, "the states of its automaton are small sets"
        n_edges.append(len(graph.edges))
    assert n_edges[1] < 2.2 * n_edges[0]


def graph_of(node: Node) -> Graph:
    """Return the first graph in a tree."""
    queue = [node]
    for top in queue:
        if isinstance(top, Graph):
            return top
        queue.extend(children(top))
    raise AssertionError("there is no graph")

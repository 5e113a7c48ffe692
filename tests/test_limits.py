"""Inputs built to explode end in a result or in one of our errors, in bounded time and memory.

Each runs in a process of its own with a gigabyte of memory and limits of a few seconds; one that is not
over after ten times its limit of time fails (nothing here measures speed).
"""

from __future__ import annotations

import json
import math
import multiprocessing
import re
import resource
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from fuzz.subjects import VOCABULARY

import constrain
from constrain.errors import ConstrainError, LimitError, SchemaError, VocabularyError
from constrain.limits import Limits, Meter
from constrain.pattern import parse
from constrain.schema import _deep_stack
from constrain.tokenizer_json import parse_tokenizer

GIGABYTE = 1 << 30
SECONDS = 0.5
LIMITS = Limits(timeout=SECONDS, max_memory=200 << 20)


def booleans(n: int, required: bool) -> dict[str, Any]:
    names = [f"k{i}" for i in range(n)]
    schema = {"type": "object", "properties": {name: {"type": "boolean"} for name in names}}
    return schema | ({"required": names} if required else {})


def nested_choices(depth: int, word: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {word: [schema, {"type": "array", "items": schema}]}
    return schema


def laughs(part: dict[str, Any], depth: int) -> dict[str, Any]:
    """Return definitions each of which refers to the next several times: a billion laughs."""
    text = json.dumps(part)
    defs = {f"d{i}": json.loads(text.replace("NEXT", f"#/$defs/d{i + 1}")) for i in range(depth)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{depth}": {"const": "lol"}}}


NEXT = {"$ref": "NEXT"}
HUGE = 10**30
SCHEMAS: dict[str, Any] = {
    "required booleans": booleans(2000, required=True),
    "optional booleans": booleans(200, required=False),
    "nested oneOf": nested_choices(12, "oneOf"),
    "nested anyOf": nested_choices(12, "anyOf"),
    "enum": {"enum": [f"value {i * 7919 % 100003}" for i in range(30_000)]},
    "long text": {"enum": ["x" * 30_000_000]},
    "enum of objects": {"enum": [{"a": i, "b": [i, str(i)]} for i in range(3000)]},
    "maxItems of maxItems": {
        "maxItems": 1000,
        "items": {"maxItems": 1000, "items": {"maxItems": 1000, "items": {"type": "integer"}}},
    },
    "allOf of patterns": {
        "allOf": [{"pattern": f"^(a{{{p}}})*$"} for p in (3, 5, 7, 11, 13, 17, 19)]
    },
    "laughs in arrays": laughs({"prefixItems": [NEXT] * 10, "minItems": 10, "maxItems": 10}, 10),
    "laughs in anyOf": laughs({"anyOf": [NEXT, {"not": NEXT}]}, 60),
    "laughs in oneOf": laughs({"oneOf": [NEXT, {"items": NEXT}]}, 60),
    "laughs in allOf": laughs({"allOf": [NEXT] * 20}, 60),
    "dependencies": {
        "dependentSchemas": {f"k{i}": {"required": [f"k{j}" for j in range(20)]} for i in range(20)}
    },
    "if and if": {
        "allOf": [
            {"if": {"properties": {f"k{i}": {"const": i}}}, "then": {"required": [f"m{i}"]}}
            for i in range(20)
        ]
    },
    "nots": {"allOf": [{"not": {"required": [f"k{i}", f"m{i}"]}} for i in range(20)]},
    "classes of names": {"patternProperties": {f"^.{{{i}}}a": {"minLength": i} for i in range(14)}},
    "contains": {"contains": {"const": 1}, "minContains": 10**9},
    "counts multiplied": laughs({"type": "array", "minItems": 10**9, "items": NEXT}, 12),
    "huge minimum of items": {"minItems": HUGE},
    "huge maximum of items": {"maxItems": HUGE},
    "huge length": {"type": "string", "maxLength": HUGE},
    "not a huge length": {"not": {"minLength": HUGE}},
    "not a large length": {"not": {"minLength": 10**9}},
    "a large length and a pattern": {"pattern": "a", "maxLength": 10**9},
    "huge number": {"type": "integer", "minimum": 10**3999},
    "factor": {"type": "integer", "multipleOf": 19_997},
    "factors": {"allOf": [{"type": "number", "multipleOf": 1 + n / 10_000} for n in (1, 7, 9_997)]},
    "required names": {"required": [f"k{i}" for i in range(20_000)]},
    "any of many names": {"anyOf": [{"required": [f"k{i}"]} for i in range(300)]},
    "pairs of conditions": {  # a formula whose diagram doubles with every pair
        "$defs": {f"a{i}": {"pattern": f"^a{i}"} for i in range(40)},
        "allOf": [
            {"anyOf": [{"$ref": f"#/$defs/a{i}"} for i in range(40)]},
            {
                "anyOf": [
                    {"allOf": [{"$ref": f"#/$defs/a{i}"}, {"$ref": f"#/$defs/a{39 - i}"}]}
                    for i in range(20)
                ]
            },
        ],
    },
    "unique items": {"uniqueItems": True, "items": {"enum": list(range(30))}},
    "itself": {"$ref": "#"},
    "itself, negated": {"not": {"$ref": "#"}},
    "each other": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
}
PATTERNS = [
    "(a|b)*a(a|b){10}",
    "(a|b)*a(a|b){200}",
    "((a{1,100}){1,100}){1,100}",
    "(a{1000}){1000}",
    "a{99999}",
    "(" * 100_000,
    "(" * 100_000 + ")" * 100_000,
    "(" * 190 + "a" + ")" * 190,
    "(a?){300}a{300}",
    "(.*a){20}",
    "(a|aa|aaa){500}",
    "((||b)*|(||b){255}|b){255}",
    "(" + "|".join("a" * i for i in range(600)) + ")*",
    "(?:a|b|c|d)" * 20_000,
    "x" * 1_000_000,
    "(^|a)" * 1000,
    "((^a){1000}){1000}",
    "(.{0,40}x){6}",
    "((a*)*)*" * 100,
]


def _held() -> int:
    """Return the bytes of data of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmData:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) << 10


def _bounded(job: Any, connection: Any) -> None:
    most = _held() + GIGABYTE  # what the process of the tests holds is no fault of the job
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    try:
        connection.send(job())
    except Exception as error:
        connection.send(f"FAULT {type(error).__name__}: {str(error)[:200]}")


def bounded(job: Any) -> str:
    """Run a job in a process of its own; return what it returned."""
    context = multiprocessing.get_context("fork")
    mine, its = context.Pipe()
    process = context.Process(target=_bounded, args=(job, its))
    process.start()
    its.close()
    try:
        assert mine.poll(60), "it hangs"
        return str(mine.recv())
    except EOFError:
        return "CRASH"
    finally:
        process.kill()
        process.join()


def ended(**source: Any) -> str:
    """Return how a compile ends: ``ok`` or the name of the error, and what the error names."""
    try:
        constrain.compile(
            source.get("schema"), VOCABULARY, regex=source.get("regex"), limits=LIMITS
        )
    except LimitError as error:
        told = f"LimitError {error.what} {error.where}"
        return told if error.given > error.limit else f"{told}: {error.given} is allowed"
    except ConstrainError as error:
        return type(error).__name__
    return "ok"


ENDS = ("ok", "LimitError", "SchemaError", "UnsupportedSchema", "PatternError")


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_built_to_explode(name: str) -> None:
    end = bounded(lambda: ended(schema=SCHEMAS[name]))
    assert end.split()[0] in ENDS and "is allowed" not in end, end
    if end.startswith("LimitError seconds"):
        assert "#" in end, f"it does not say where: {end}"


def test_the_keyword_that_takes_the_time_is_named() -> None:
    schema = {"properties": {"a": {"type": "integer", "multipleOf": 19_997}}}
    with pytest.raises(LimitError) as caught:
        constrain.compile(schema, VOCABULARY, limits=Limits(max_states=5_000))
    assert caught.value.where == "#/properties/a/multipleOf"


CHAINS: dict[str, dict[str, Any]] = {
    "$ref": NEXT,
    "allOf": {"allOf": [NEXT], "title": "x"},
    "oneOf": {"oneOf": [NEXT, {"const": 1}]},
    "if": {"if": NEXT, "then": {"type": "null"}},
    "items": {"type": "array", "items": NEXT, "minItems": 1},
    "patternProperties": {"type": "object", "patternProperties": {"a": NEXT}},
    "propertyNames": {"type": "object", "propertyNames": NEXT},
    "items of oneOf": {"oneOf": [{"type": "null"}, {"type": "array", "items": NEXT}]},
    "members of oneOf": {
        "oneOf": [
            {"type": "object", "properties": {"a": NEXT}, "required": ["a"]},
            {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]},
        ]
    },
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_references_do_not_end_the_process(name: str) -> None:
    """Once they did: their reading recursed until the stack of the system was used up."""
    end = bounded(lambda: ended(schema=laughs(CHAINS[name], 6000)))
    assert end.split()[0] in ENDS, end


def test_chains_of_a_hundred_references_are_read() -> None:
    schema = laughs({"type": "array", "items": NEXT, "minItems": 1, "maxItems": 1}, 100)
    assert constrain.compile(schema, VOCABULARY).n_states > 200


def test_many_alternatives_do_not_end_the_process() -> None:
    several = {"anyOf": [{"const": i} for i in range(20_000)]}
    for schema in (several, {"not": several}):
        assert bounded(lambda schema=schema: ended(schema=schema)).split()[0] in ENDS


def test_a_limit_that_bounds_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="timeout is nan"):
        Limits(timeout=float("nan"))
    assert constrain.compile({"const": 1}, VOCABULARY, limits=Limits(timeout=math.inf)).n_states


def test_nesting_inside_values_is_no_nesting_of_schemas() -> None:
    text = '{"enum":[' + "[" * 300 + "]" * 300 + "]}"
    assert constrain.compile(text.encode(), VOCABULARY).n_states > 600


@pytest.mark.parametrize("number", range(len(PATTERNS)))
def test_patterns_built_to_explode(number: int) -> None:
    end = bounded(lambda: ended(regex=PATTERNS[number]))
    assert end.split()[0] in ENDS, end


@pytest.mark.parametrize(
    ("limits", "pattern", "what", "where"),
    [
        (Limits(max_states=1000), "x(a|b)*a(a|b){12}", "DFA states", "(a|b){12}"),
        (Limits(max_nfa_states=5000), "abc(a{100}){100}", "NFA states", "a{100}"),
        (Limits(max_memory=1 << 20), "abc(a{100}){100}", "bytes of NFA states", "a{100}"),
        (Limits(max_repeat=10), "ab{11}", "repeats", "{11}"),
        (Limits(max_depth=3), "((((a))))", "nested groups", "position 3"),
        (Limits(max_nodes=10), "abcdefghijkl", "syntax nodes", "position 10"),
        (Limits(max_nodes=100), "(^a|b){50}", "syntax nodes", "(^a|b){50}"),
        (Limits(max_input=10), "abcdefghijkl", "bytes of input", ""),
        (Limits(max_output=1000), "abc", "bytes of output", ""),
        (Limits(timeout=0.0), "abc", "seconds", ""),
        (Limits(max_memory=1 << 16), "(a|b)*a(a|b){9}", "bytes of states", "(a|b){9}"),
    ],
)
def test_each_limit_says_what_and_where(
    limits: Limits, pattern: str, what: str, where: str, tmp_path: Path
) -> None:
    with pytest.raises(LimitError) as caught:
        constrain.compile(
            None, VOCABULARY, regex=pattern, limits=limits, output=tmp_path / "table.npz"
        )
    assert what in caught.value.what
    assert where in caught.value.where
    assert caught.value.given > caught.value.limit
    assert not list(tmp_path.iterdir())


def test_the_deepest_pattern_costs_no_stack() -> None:
    assert parse("(" * 200 + "a" + ")" * 200)
    with pytest.raises(LimitError, match="nested groups"):
        parse("(" * 201 + "a" + ")" * 201)


@pytest.mark.parametrize(
    "text",
    [
        '{"not":' * 100_000,
        "[" * 100_000,
        '{"not":' * 900 + "true" + "}" * 900,
        '{"items":[' * 400 + "]}" * 400,
    ],
)
def test_deep_schemas_cost_no_stack(text: str) -> None:
    with pytest.raises((SchemaError, LimitError)):
        constrain.compile(text.encode(), VOCABULARY)


def test_deep_tokenizers_cost_no_stack() -> None:
    with pytest.raises(VocabularyError, match="nested too deeply"):
        parse_tokenizer(b'{"a":' * 100_000, Meter())


def test_a_compile_is_bounded_in_any_thread() -> None:
    ends: list[BaseException] = []

    def job() -> None:
        try:
            constrain.compile(
                None, VOCABULARY, regex="(a|b)*a(a|b){300}", limits=Limits(timeout=0.3)
            )
        except ConstrainError as error:
            ends.append(error)

    threads = [threading.Thread(target=job) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [type(error) for error in ends] == [LimitError] * 3


def test_the_depth_of_the_stack_is_put_back_by_the_last_thread() -> None:
    """It is that of the process: one compile that ends must not take it from another."""
    before = sys.getrecursionlimit()
    inside, leave = threading.Event(), threading.Event()

    def job() -> None:
        with _deep_stack():
            inside.set()
            leave.wait(60)

    with _deep_stack():
        deep = sys.getrecursionlimit()
        thread = threading.Thread(target=job)
        thread.start()
        inside.wait(60)
    assert sys.getrecursionlimit() == deep > before
    leave.set()
    thread.join(60)
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("stage", range(5))
def test_an_interrupted_compile_leaves_no_file(stage: int, tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    path.write_bytes(b"old")
    seen: list[str] = []

    def interrupt(name: str) -> None:
        seen.append(name)
        if len(seen) == stage + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        constrain.compile(None, VOCABULARY, regex="ab*", output=path, progress=interrupt)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["table.npz"]


def test_spending_looks_at_the_clock_now_and_then() -> None:
    meter = Meter(Limits(timeout=-1.0))
    meter.spend(1)
    with pytest.raises(LimitError, match="seconds"):
        meter.spend(1 << 20)


def test_held_memory_is_counted_together() -> None:
    meter = Meter(Limits(max_memory=1000))
    meter.hold(600)
    with pytest.raises(LimitError, match="bytes of states: 1,200 of at most 1,000"):
        meter.hold(600)


def test_huge_numbers_have_short_messages() -> None:
    assert str(LimitError("x", 10**5000, 3)) == "too many x: about 1e5000 of at most 3"

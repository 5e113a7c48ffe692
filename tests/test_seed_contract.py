"""The core contract: one test for each promise that ports in other languages compare against.

The names are those of the text that defines the contract; each test has an oracle of its own:
tables worked out by hand, ``re`` on bytes, masks by walking bytes, a golden file made from
derivatives, ``json`` and ``jsonschema``.
"""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from oracles import brute, table_filling
from tokenizers import AddedToken, Tokenizer, decoders, models

import constrain
from constrain import (
    DEAD,
    Constraint,
    SamplingParams,
    TokenIndex,
    apply_mask,
    constrained_sample,
    json_schema_to_regex,
    regex_to_dfa,
    vocab_bytes,
)

GOLDEN = json.loads((Path(__file__).parent / "golden" / "masks_golden.json").read_text("utf-8"))
WORDS = [b"c", b"a", b"t", b"r", b"d", b"o", b"g", b"s", b"ca", b"cat", b"dog", b"ts", b"x"]
EXAMPLE_VOCAB = [*WORDS, None, b""]
EXAMPLE_EOS = 13


def example_index():
    return TokenIndex(regex_to_dfa("(cat|car|dog)s?"), EXAMPLE_VOCAB, EXAMPLE_EOS)


def ids(mask):
    return np.flatnonzero(mask).tolist()


def test_hand_example():
    dfa = regex_to_dfa("(cat|car|dog)s?")
    assert dfa.n_states == 7
    assert dfa.accept.dtype == np.bool_
    assert dfa.accept.tolist() == [False, False, False, False, False, True, True]
    assert dfa.trans.dtype == np.int32
    assert dfa.trans.shape == (7, 256)
    edges = {
        (state, chr(byte)): int(dfa.trans[state, byte])
        for state, byte in np.argwhere(dfa.trans != DEAD).tolist()
    }
    assert edges == {
        (0, "c"): 1, (0, "d"): 2, (1, "a"): 3, (2, "o"): 4,
        (3, "r"): 5, (3, "t"): 5, (4, "g"): 5, (5, "s"): 6,
    }  # fmt: skip
    assert DEAD == -1
    assert dfa.step(0, b"ca") == 3
    assert dfa.step(3, b"ts") == 6
    assert dfa.step(0, b"") == 0
    assert dfa.step(0, b"cx") == dfa.step(6, b"s") == DEAD
    for text in (b"cat", b"car", b"dog", b"cats", b"cars", b"dogs"):
        assert dfa.matches(text)
    for text in (b"", b"ca", b"catss", b"dot", b"s", b"cat\n"):
        assert not dfa.matches(text)


def test_hand_example_masks():
    index = example_index()
    expected = {
        0: [0, 4, 8, 9, 10],
        1: [1],
        2: [5],
        3: [2, 3, 11],
        4: [6],
        5: [7, 13],
        6: [13],
    }
    for state, allowed in expected.items():
        mask = index.mask(state)
        assert mask.dtype == np.bool_
        assert mask.shape == (15,)
        assert ids(mask) == allowed
    assert index.next_state(0, 9) == 5
    assert index.next_state(3, 11) == 6
    assert index.next_state(5, EXAMPLE_EOS) == 5
    assert index.next_state(0, EXAMPLE_EOS) == DEAD
    assert index.next_state(0, 12) == index.next_state(0, 14) == index.next_state(1, 0) == DEAD
    numbers = [b"-", b"0", b"7", b"42", b"-4", b"4-", b"abc", None]
    second = TokenIndex(regex_to_dfa("-?[0-9]+"), numbers, 7)
    assert second.dfa.n_states == 3
    assert [ids(second.mask(s)) for s in range(3)] == [[0, 1, 2, 3, 4], [1, 2, 3], [1, 2, 3, 7]]


PYTHON_PATTERNS = [
    r".+",
    r"[^a-c]{1,3}",
    r"\w+(\W\w+)*",
    r"\d{2,3}[a-f]?",
    r"x+y{2,3}z{,2}",
    r"(\s|\S\D)[+-.]?",
    r"[\x00-\x1f]*[]\\^-]",
    r"(ab|a)(bc|c)?(d{0}e|f{2,})",
    r"((a|b)*c|[x-z]+)?\.\x41\101",
    r"(\"([^\"\\]|\\[\"\\nt])*\"|-?(0|[1-9]\d*))",
]


def walk(dfa, rng):
    """Return a random text of the language."""
    state, data = 0, bytearray()
    while True:
        edges = dfa.edges[state]
        if dfa.accept[state] and (not edges or rng.random() < 0.2 or len(data) > 40):
            return bytes(data)
        bits, state = rng.choice(edges)
        data.append(rng.choice([byte for byte in range(256) if bits >> byte & 1]))


@pytest.mark.parametrize("pattern", PYTHON_PATTERNS)
def test_matches_python_re(pattern):
    dfa = regex_to_dfa(pattern)
    expected = re.compile(pattern.encode())
    rng = random.Random(pattern)
    for _ in range(60):
        text = walk(dfa, rng)
        assert expected.fullmatch(text), (pattern, text)
        texts = [text[:n] for n in range(len(text))]
        for _ in range(12):
            at = rng.randint(0, len(text))
            byte = bytes([rng.choice([rng.randrange(256), *b"\n_az09-^\x80\xff"])])
            texts += [text[:at] + byte + text[at + 1 :], text[:at] + byte + text[at:]]
        texts += [text[:at] + text[at + 1 :] for at in range(len(text))]
        for other in texts:
            assert dfa.matches(other) == bool(expected.fullmatch(other)), (pattern, other)
    for byte in range(256):
        one = bytes([byte])
        assert dfa.matches(one) == bool(expected.fullmatch(one)), (pattern, one)


NEVER = r"(?:[^\s\S]|[^\d\D])"  # a piece that nothing matches
LIVE_PATTERNS = [
    *PYTHON_PATTERNS,
    f"(a{NEVER}|b)c",
    f"(ab{NEVER})*x",
    f"a(b{NEVER}b)?c",
    r"(a[^\s\S]|b)c",
]


@pytest.mark.parametrize("pattern", LIVE_PATTERNS)
def test_every_state_is_live(pattern):
    dfa = regex_to_dfa(pattern)
    live = set(np.flatnonzero(dfa.accept).tolist())
    while True:
        grown = live | {s for s in range(dfa.n_states) if live & set(dfa.trans[s].tolist())}
        if grown == live:
            break
        live = grown
    assert live == set(range(dfa.n_states))
    assert sorted(brute.reachable(dfa.trans, [bytes([b]) for b in range(256)])) == sorted(live)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("a|b", "[ab]"),
        ("(a*)*", "a*"),
        ("ab|ac|ad", "a[b-d]"),
        ("a+", "aa*|a[^\\s\\S]"),
        ("(a|b)*", "(a*b*)*"),
        ("(aa){2,3}|a{6}", "a{4}(aa)?"),
        ("x{1,}", "x|xx+"),
    ],
)
def test_canonical_form(one, two):
    first, second = regex_to_dfa(one), regex_to_dfa(two)
    assert np.array_equal(first.trans, second.trans)
    assert np.array_equal(first.accept, second.accept)
    assert table_filling.is_minimal(first.trans, first.accept)


@pytest.mark.parametrize(
    ("pattern", "span"),
    [
        ("^a", (0, 1)),
        ("a$", (1, 2)),
        (r"\Aa", (0, 2)),
        (r"a\Z", (1, 3)),
        (r"a\b", (1, 3)),
        (r"\B", (0, 2)),
        (r"(a)\1", (3, 5)),
        ("(?P<x>a)(?P=x)", (8, 12)),
        ("(?=a)a", (0, 3)),
        ("a(?!b)", (1, 4)),
        ("(?<=a)b", (0, 4)),
        ("(?<!a)b", (0, 4)),
        ("(?i)a", (0, 4)),
        ("a*?", (1, 3)),
        ("a{2}?", (1, 5)),
        ("a*+", (1, 3)),
        ("(?>a)", (0, 3)),
        ("é", (0, 1)),
        ("[a-ÿ]", (3, 4)),
        ("a{3,2}", (1, 6)),
        ("*a", (0, 1)),
        ("a**", (2, 3)),
        ("(+a)", (1, 2)),
        ("(a", (0, 1)),
        ("a)", (1, 2)),
        ("[a", (0, 2)),
        ("[b-a]", (1, 4)),
        (r"\q", (0, 2)),
        ("a\\", (1, 2)),
        (r"\x1", (0, 2)),
        (r"[^\s\S]", (0, 7)),
    ],
)
def test_unsupported_syntax_raises(pattern, span):
    with pytest.raises(ValueError, match="position") as caught:
        regex_to_dfa(pattern)
    assert isinstance(caught.value, constrain.PatternError)
    assert caught.value.span == span
    assert repr(pattern) in str(caught.value)


def random_vocab(rng, pattern_bytes, n_tokens):
    """Tokens of 1 to 5 bytes, with shared beginnings, duplicates, specials and empty ones."""
    vocab = []
    for _ in range(n_tokens):
        kind = rng.random()
        if kind < 0.08:
            vocab.append(rng.choice([None, b""]))
        elif kind < 0.4 and any(vocab):
            base = rng.choice([token for token in vocab if token])
            vocab.append(base[: rng.randint(1, len(base))] + rng.choice(pattern_bytes))
        else:
            vocab.append(b"".join(rng.choices(pattern_bytes, k=rng.randint(1, 5))))
    return vocab


@pytest.mark.parametrize("pattern", ["(cat|car|dog)s?", *PYTHON_PATTERNS])
def test_masks_match_brute_force(pattern):
    rng = random.Random(pattern)
    dfa = regex_to_dfa(pattern)
    alphabet = [bytes([b]) for b in {*b'abcxyzdf019.\\"-_ \n\x00\x80\xffA+', *pattern.encode()}]
    vocab = random_vocab(rng, alphabet, 150)
    eos = rng.randrange(len(vocab))
    for eos_id in (eos, None):
        index = TokenIndex(dfa, vocab, eos_id)
        for state in range(dfa.n_states):
            expected = brute.mask(dfa.trans, dfa.accept, state, vocab, eos_id)
            assert index.mask(state).tolist() == expected
            for token_id, token in enumerate(vocab):
                if token_id == eos_id:
                    target = state if dfa.accept[state] else DEAD
                else:
                    target = brute.walk(dfa.trans, state, token) if token else DEAD
                assert index.next_state(state, token_id) == target


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_masks_match_the_golden_file(case):
    vocab = [None if token is None else bytes.fromhex(token) for token in case["vocab"]]
    index = TokenIndex(regex_to_dfa(case["pattern"]), vocab, case["eos"])
    for path in case["paths"]:
        run = Constraint(index)
        steps = zip([*path["tokens"], None], path["allowed"], path["complete"], strict=True)
        for token, allowed, complete in steps:
            assert ids(run.mask()) == allowed
            assert run.is_complete() == complete
            if token is not None:
                run.advance(token)


def test_the_golden_file_is_what_its_script_writes():
    """And it is large enough to mean something."""
    folder = Path(__file__).parent / "golden"
    scope = {"__file__": str(folder / "make_masks_golden.py"), "__name__": "make_masks_golden"}
    exec((folder / "make_masks_golden.py").read_text("utf-8"), scope)
    assert scope["golden_text"]() == (folder / "masks_golden.json").read_text("utf-8")
    paths = [path for case in GOLDEN["cases"] for path in case["paths"]]
    assert sum(len(path["tokens"]) for path in paths) > 200
    assert sum(path["complete"][-1] for path in paths) > 10


ALL_BYTES = [bytes([b]) for b in range(256)]


@pytest.mark.parametrize("pattern", PYTHON_PATTERNS)
def test_reachable_states_never_have_an_empty_mask(pattern):
    dfa = regex_to_dfa(pattern)
    vocab = [*ALL_BYTES, b"ab", b"xx", b"\r\n", b'\\"', b"12", None]
    index = TokenIndex(dfa, vocab, len(vocab) - 1)
    for state in brute.reachable(dfa.trans, vocab):
        assert index.mask(state).any()


def test_constraint_lifecycle():
    run = Constraint(example_index())
    assert run.state == 0
    assert not run.done
    assert not run.is_complete()
    for token in (12, EXAMPLE_EOS, 14, 1, 15, -1):
        with pytest.raises(ValueError, match="refused"):
            run.advance(token)
        assert run.state == 0  # a refused token changes nothing
    run.advance(8)
    assert run.state == 3
    run.advance(2)
    assert run.state == 5
    assert run.is_complete()
    assert not run.done
    assert ids(run.mask()) == [7, 13]
    run.advance(EXAMPLE_EOS)
    assert run.done
    assert run.is_complete()
    assert not run.mask().any()
    for token in (EXAMPLE_EOS, 7, 0):
        with pytest.raises(ValueError, match="ended"):
            run.advance(token)


def test_apply_mask():
    logits = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    masked = apply_mask(logits, np.array([True, False, True]))
    assert masked.dtype == np.float64
    assert masked.tolist() == [1.0, -math.inf, 3.0]
    assert logits.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="no token"):
        apply_mask(logits, np.zeros(3, dtype=bool))
    for shape in (2, 4, (1, 3)):
        with pytest.raises(ValueError, match="shape"):
            apply_mask(logits, np.ones(shape, dtype=bool))


def test_greedy_takes_the_best_allowed_token():
    greedy = SamplingParams(temperature=0)
    rng = np.random.default_rng(0)
    run = Constraint(example_index())
    logits = np.zeros(15)
    logits[[12, 13]] = 50.0  # not allowed, however large
    logits[[4, 9, 10]] = [2.0, 3.0, 3.0]
    token, logprob = constrained_sample(logits, run, greedy, [], rng)
    assert token == 9  # ties to the lowest id
    assert run.state == 5
    allowed = np.array([0.0, 2.0, 0.0, 3.0, 3.0])
    assert logprob == pytest.approx(3.0 - np.log(np.exp(allowed).sum()))
    token, logprob = constrained_sample(logits, run, greedy, [9], rng)
    assert token == EXAMPLE_EOS
    assert logprob == pytest.approx(50.0 - np.log(np.exp([0.0, 50.0]).sum()))
    assert run.done


TOOL = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "scale": {"type": "number"},
        "alert": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    },
    "required": ["city", "unit"],
    "additionalProperties": False,
}
TOOL_WORDS = [
    b'{"', b'":', b'"}', b'","', b',"', b"city", b"days", b"unit", b"tags", b"scale", b"alert",
    b"celsius", b"true", b"null", b'["', b'"]', b"Oslo", b"\xc3", b"\xf0\x9f", b"\xe2\x82\xac", b"12",
    b"00", b"e-", b"\\u", b"\\n", b"\x00\x01",
]  # fmt: skip


def test_constrained_generation_parses():
    """40 requests; the model is noise that likes to close strings and to stop."""
    vocab = [*ALL_BYTES, *TOOL_WORDS, None]
    eos = len(vocab) - 1
    index = TokenIndex(regex_to_dfa(json_schema_to_regex(TOOL)), vocab, eos)
    validator = Draft202012Validator(TOOL)
    likely = [i for i, token in enumerate(vocab) if token and set(token) & set(b'"}]')] + [eos]
    unlikely = [*range(0x30, 0x3A), vocab.index(b"00")]
    params = SamplingParams(temperature=0.9, top_p=0.98, frequency_penalty=0.05)
    finished = []
    for request in range(40):
        rng = np.random.default_rng(request)
        run, tokens = Constraint(index), []
        while not run.done and len(tokens) < 200:
            logits = rng.normal(0.0, 2.0, len(vocab))
            logits[likely] += 3.0
            logits[unlikely] -= 1.0
            token, logprob = constrained_sample(logits, run, params, tokens, rng)
            assert logprob <= 0
            tokens.append(token)
        if run.done:
            finished.append(b"".join(vocab[t] for t in tokens[:-1]))
    assert len(finished) >= 30
    assert len(set(finished)) > 20
    for text in finished:
        value = json.loads(text.decode("utf-8"))
        validator.validate(value)
        assert list(value) == [name for name in TOOL["properties"] if name in value]
    assert any(set(json.loads(text)) != {"city", "unit"} for text in finished)
    assert any(json.loads(text)["city"] for text in finished)


def matches(schema, text):
    data = text if isinstance(text, bytes) else text.encode()
    return regex_to_dfa(json_schema_to_regex(schema)).matches(data)


def compact(value):
    return json.dumps(value, separators=(",", ":"))


VALID = [
    ({"type": "string"}, ['""', '"a b~"', '"é漢😀"', r'"\"\\\/\b\f\n\r\t\u00e9"']),
    ({"type": "integer"}, ["0", "-0", "7", "-12", "100"]),
    ({"type": "number"}, ["0", "-1.5", "1e5", "1E+10", "0.00e-7", "-0.5"]),
    ({"type": "boolean"}, ["true", "false"]),
    ({"type": "null"}, ["null"]),
    ({"enum": ["a.b", 1, None, [1, "x"], {"k": "+"}]}, ['"a.b"', "1", "null", '[1,"x"]', '{"k":"+"}']),
    ({"const": "é"}, [compact("é")]),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ["3", "null"]),
    ({"type": "array", "items": {"type": "integer"}}, ["[]", "[1]", "[1,2,3,4]"]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
     ["[1,2]", "[1,2,3]"]),
    ({"type": "array", "items": {"type": "null"}, "maxItems": 1}, ["[]", "[null]"]),
    ({"type": "object", "properties": {}}, ["{}"]),
    (
        TOOL,
        [
            compact({"city": "Oslo", "unit": "celsius"}),
            compact({"city": "Oslo", "days": 3, "unit": "celsius"}),
            compact({"city": "", "unit": "fahrenheit", "tags": ["a", "b", "c"]}),
            compact({"city": "x", "unit": "celsius", "tags": [], "scale": -1.5e10, "alert": None}),
            compact({"city": "x", "unit": "celsius", "alert": True}),
            '{"city":"x","days":-0,"unit":"celsius","tags":["\\u0041"],"scale":1.5E+3,"alert":false}',
        ],
    ),
]  # fmt: skip

INVALID = [
    ({"type": "string"},
     ['"', "a", '"a', '"\n"', '"\x00"', '"\x1f"', r'"\x"', r'"\u12"', '"a" ', "'a'"]),
    ({"type": "string"}, ['"\x7f"', b'"\xed\xbf\xbf"']),
    ({"type": "string"},
     [b'"\xff"', b'"\xc3"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"']),
    ({"type": "string"}, [b'"\x80"', b'"\xe0\x80\x80"', b'"\xf0\x80\x80\x80"', b'"\xe2\x82"']),
    ({"type": "integer"}, ["01", "-", "1.0", "1e3", "", "+1", "-01", "00", " 1"]),
    ({"type": "number"}, ["01", "1.", ".5", "1e", "1e+", "-", "1.5e", "0x1", "Infinity", "1.e5"]),
    ({"type": "boolean"}, ["True", "tru", '"true"']),
    ({"enum": ["a.b"]}, ['"axb"', '"a.b', "a.b"]),
    ({"type": "array", "items": {"type": "integer"}},
     ["[1,]", "[,1]", "[1 ,2]", "[1", "[1,2]]", "[[]]"]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
     ["[]", "[1]", "[1,2,3,4]"]),
    ({"type": "array", "items": {"type": "null"}, "maxItems": 1}, ["[null,null]"]),
    ({"type": "object", "properties": {}}, ["", "{", '{"a":1}', "{ }"]),
    (
        TOOL,
        [
            compact({"city": "Oslo"}),
            compact({"unit": "celsius"}),
            compact({"unit": "celsius", "city": "Oslo"}),
            compact({"city": 3, "unit": "celsius"}),
            compact({"city": "Oslo", "unit": "kelvin"}),
            compact({"city": "Oslo", "unit": "celsius", "extra": 1}),
            compact({"city": "Oslo", "days": "three", "unit": "celsius"}),
            compact({"city": "x", "unit": "celsius", "tags": ["a", "b", "c", "d"]}),
            compact({"city": "x", "unit": "celsius", "alert": 0}),
            '{"city":"Oslo","unit":"celsius",}',
            '{,"city":"Oslo","unit":"celsius"}',
            '{"city":"Oslo" ,"unit":"celsius"}',
            '{"city": "Oslo","unit":"celsius"}',
            '{"city":"Oslo","city":"Oslo","unit":"celsius"}',
            '{"city":"Oslo","days":03,"unit":"celsius"}',
            '{"city":"Oslo","days":1.5,"unit":"celsius"}',
            '{"city":"Oslo","unit":"celsius","scale":1e}',
            '{"city":"Os\tlo","unit":"celsius"}',
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "texts"), VALID)
def test_json_schema_documents(schema, texts):
    for text in texts:
        Draft202012Validator(schema).validate(json.loads(text))  # the test itself is right
        assert matches(schema, text), text


@pytest.mark.parametrize(("schema", "texts"), INVALID)
def test_json_schema_documents_refused(schema, texts):
    for text in texts:
        assert not matches(schema, text), text


def test_json_schema_documents_optional_members_in_all_combinations():
    names = "abcd"
    for required in ([], ["a"], ["c"], ["b", "d"]):
        schema = {
            "type": "object",
            "properties": {name: {"type": "null"} for name in names},
            "required": required,
        }
        dfa = regex_to_dfa(json_schema_to_regex(schema))
        for chosen in range(16):
            present = [name for i, name in enumerate(names) if chosen >> i & 1]
            text = compact(dict.fromkeys(present)).encode()
            assert dfa.matches(text) == (set(required) <= set(present)), (required, text)
            if len(present) > 1:
                assert not dfa.matches(compact(dict.fromkeys(reversed(present))).encode())


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "a"},
        {"type": "string", "minLength": 1},
        {"type": "string", "maxLength": 1},
        {"type": "string", "format": "date"},
        {"type": "integer", "minimum": 0},
        {"type": "number", "multipleOf": 2},
        {"$ref": "#/$defs/x"},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "null"}},
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"]},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}},
        {"type": "object", "properties": {}, "patternProperties": {}},
        {"type": "object", "properties": {}, "minProperties": 1},
        {"type": "array", "items": {"type": "null"}, "uniqueItems": True},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "array", "prefixItems": [{"type": "null"}]},
        {"type": "array", "items": {"type": "strng"}},
        {"type": "date"},
        {"type": 3},
        {"allOf": [{"type": "null"}]},
        {"anyOf": [{"type": "null"}, {"not": {}}]},
        {"oneOf": [{"type": "null"}]},
        {"enum": [1], "minimum": 0},
        {"const": 1, "unknown": 0},
        {"anyOf": [{"type": "null"}], "minimum": 0},
        {},
        True,
    ],
)
def test_json_schema_rejects_keywords_outside_the_subset(schema):
    with pytest.raises(ValueError, match="#"):
        json_schema_to_regex(schema)


class PlainTokenizer:
    """What a tokenizer without a tokenizer.json offers: a list of tokens, and its special ones."""

    vocab: ClassVar = {"the": 0, "##ing": 1, "é": 2, "[CLS]": 3, "漢": 4, "Ġa": 5, "→": 6}
    special_tokens = ("[CLS]",)


def test_vocab_bytes():
    pieces = {
        "a": 0, "Ġ": 1, "Ġa": 2, "Ċ": 3, "Ã©": 4, "ð": 5, "Ł": 6, "<|end|>": 7, "<|pad|>": 8, "→": 9,
        "stop": 10,
    }  # fmt: skip
    tokenizer = Tokenizer(models.BPE(pieces, []))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|end|>", special=True), "<|pad|>", "stop"])
    words = vocab_bytes(tokenizer)
    assert words[:9] == [b"a", b" ", b" a", b"\n", b"\xc3\xa9", b"\xf0", b"\x9f", None, None]
    assert words[10] is None  # special, though its text looks like any other
    assert words[9] == "→".encode()  # not all of its letters are in the byte map
    plain = vocab_bytes(PlainTokenizer())
    assert plain == [b"the", b"##ing", b"\xe9", None, "漢".encode(), b" a", "→".encode()]

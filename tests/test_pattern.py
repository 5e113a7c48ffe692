"""What patterns mean: the corpus, small worlds, and ``re`` as the oracle."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
import tomllib
import unicodedata
import warnings
from pathlib import Path

import pytest
from oracles import table_filling

from constrain import errors
from constrain.determinize import language
from constrain.limits import Limits, Meter
from constrain.pattern import parse, regex_to_dfa
from constrain.properties import code_points_with
from constrain.syntax import Alternate, Concat, Graph, Named, Repeat

CORPUS = tomllib.loads((Path(__file__).parent / "corpus" / "patterns.toml").read_text("utf-8"))
CASES = [
    pytest.param(case, dialect, id=f"{dialect}:{case['pattern']!a}")
    for case in CORPUS["case"]
    for dialect in case.get("dialects", ["bytes", "text", "ecma"])
]


def compiled(pattern, dialect="text"):
    return language(parse(pattern, dialect))


@pytest.mark.parametrize(("case", "dialect"), [c for c in CASES if "error" not in c.values[0]])
def test_corpus_texts(case, dialect):
    dfa = compiled(case["pattern"], dialect)
    accepts = [text.encode() for text in case.get("accepts", [])]
    rejects = [text.encode() for text in case.get("rejects", [])]
    accepts += [bytes.fromhex(data) for data in case.get("bytes_accepts", [])]
    rejects += [bytes.fromhex(data) for data in case.get("bytes_rejects", [])]
    assert [data for data in accepts if not dfa.matches(data)] == []
    assert [data for data in rejects if dfa.matches(data)] == []
    assert dfa.n_states == case.get("states", dfa.n_states)


@pytest.mark.parametrize(("case", "dialect"), [c for c in CASES if "error" in c.values[0]])
def test_corpus_refusals(case, dialect):
    with pytest.raises(errors.PatternError) as caught:
        parse(case["pattern"], dialect)
    error = caught.value
    assert type(error).__name__ == case["error"]
    assert error.span == tuple(case["span"])
    assert case["says"] in str(error)
    assert error.pattern == case["pattern"]


@pytest.mark.parametrize(("case", "dialect"), CASES)
def test_the_corpus_agrees_with_python(case, dialect):
    """What the corpus says of the Python dialects is what Python does, refusals apart."""
    if dialect == "ecma":
        return
    pattern = case["pattern"]
    if case.get("error") == "UnsupportedPattern":
        return
    if case.get("error") == "PatternError":
        if "surrogate" not in case["says"]:
            with pytest.raises((re.error, UnicodeEncodeError)):
                python_regex(pattern, dialect)
        return
    regex = python_regex(pattern, dialect)
    for text in case.get("accepts", []):
        assert regex.fullmatch(text.encode() if dialect == "bytes" else text)
    for text in case.get("rejects", []):
        assert not regex.fullmatch(text.encode() if dialect == "bytes" else text)


def python_regex(pattern, dialect):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # "possible nested set"
        if dialect == "bytes":
            return re.compile(pattern.encode("ascii"))
        return re.compile(pattern, re.ASCII)


# Small worlds


def patterns_of(n_nodes):
    """All patterns of exactly ``n_nodes`` nodes over {a, b}, each with an equivalent for ``re``.

    Nodes are a, b, nothing, concatenation, ``|`` and ``* + ?``. The equivalent writes a quantifier of
    a quantifier as one, ``*`` unless they are equal: ``re`` takes minutes for a star of a star of a
    star.
    """
    if n_nodes == 1:
        return [("a", "a"), ("b", "b"), ("()", "()")]
    unary = [
        (f"(?:{p}){quantifier}", quantified(simple, quantifier))
        for p, simple in patterns_of(n_nodes - 1)
        for quantifier in "*+?"
    ]
    binary = [
        (f"(?:{p}){glue}(?:{q})", f"(?:(?:{simple_p}){glue}(?:{simple_q}))")
        for k in range(1, n_nodes - 1)
        for p, simple_p in patterns_of(k)
        for q, simple_q in patterns_of(n_nodes - 1 - k)
        for glue in ("", "|")
    ]
    return unary + binary


def quantified(simple, quantifier):
    if simple[-1] in "*+?":
        return simple[:-1] + (quantifier if simple[-1] == quantifier else "*")
    return f"(?:{simple}){quantifier}"


def test_every_small_pattern_on_every_short_text():
    """All patterns of up to 5 nodes, all texts over {a, b} of up to 6 letters, against ``re``."""
    texts = ["".join(t) for n in range(7) for t in itertools.product("ab", repeat=n)]
    n_patterns = 0
    for pattern, simple in itertools.chain.from_iterable(map(patterns_of, range(1, 6))):
        n_patterns += 1
        fullmatch = re.compile(simple).fullmatch
        expected = [text for text in texts if fullmatch(text)]
        trans, accept = arrays(compiled(pattern, "bytes"))
        found = [t for t, state in zip(texts, walk_all(trans), strict=True) if accept[state]]
        assert found == expected, pattern
    assert n_patterns == 3 + 9 + 45 + 243 + 1431


def arrays(dfa):
    """Return the columns of a and b with a dead state at the end, and ``accept`` to go with it."""
    trans = [[row[97], row[98]] for row in dfa.trans.tolist()]
    return [*trans, [-1, -1]], [*dfa.accept.tolist(), False]


def walk_all(trans):
    """Return the states of all texts over {a, b} of up to 6 letters, shortest first, a before b."""
    level, states = [0], [0]
    for _ in range(6):
        level = [target for state in level for target in trans[state]]
        states += level
    return states


ANCHORED_ATOMS = ["a", "b", "^", "$", r"\A", r"\Z", "\n", "(^|a)", "(b|$)", "(a|)"]


def test_anchors_anywhere_agree_with_python():
    """Sequences, choices and repeats of anchored pieces, on all short texts, against ``re``.

    The text dialect against ``fullmatch``; the ECMAScript dialect (whose ``$`` is Python's ``\\Z``)
    against ``search``.
    """
    texts = ["".join(t) for n in range(5) for t in itertools.product("ab\n", repeat=n)]
    shapes = ["{}{}{}", "({}|{}){}", "{}({}|{})", "({}{})*{}", "({}|{}{})+", "{}({}{}){{2,3}}"]
    rng = random.Random(20)
    for shape in shapes:
        for _ in range(60):
            pattern = shape.format(*rng.choices(ANCHORED_ATOMS, k=3))
            expected = re.compile(pattern, re.ASCII)
            dfa = compiled(pattern)
            for text in texts:
                assert dfa.matches(text.encode()) == bool(expected.fullmatch(text)), (pattern, text)
            ecma = pattern.replace(r"\A", "^").replace(r"\Z", "$")
            expected = re.compile(ecma.replace("$", r"\Z"), re.ASCII)
            dfa = compiled(ecma, "ecma")
            for text in texts:
                assert dfa.matches(text.encode()) == bool(expected.search(text)), (ecma, text)


# Random patterns

ASCII_ATOMS = [
    "a", "b", "Z", "_", "0", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[a-c]", "[^a]", "[^a-z]",
    r"[\d_]", r"[^\w]", "[]x]", "[a-]", r"\.", r"\x41", r"\n", r"\101", "{", "}", "-", r"[\]-a]",
    r"[\x00-\x1f]", " ", r"[^\s\S]", "[$^]", r"\0", ",",
]  # fmt: skip
WIDE_ATOMS = [
    "é", "漢", "😀", "[à-ÿ]", "[^é]", "[^a-é]", "[ࠀ-￿]", "[^\x80-\U0010ffff]", r"\u00e9", "[߿-ࠀ]",
    r"[\uffff-\U00010000]", r"[\ud7ff-\ue000]", "[😀-🙏x]", "[^\n]", "ſ", "K",
]  # fmt: skip
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{0}", "{0,3}", ""]


def random_pattern(rng, atoms, depth=3):
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(atoms)
    kind = rng.random()
    inner = [random_pattern(rng, atoms, depth - 1) for _ in range(rng.randint(1, 3))]
    if kind < 0.5:
        return "".join(inner)
    if kind < 0.75:
        return f"({'|'.join(inner)})"
    return f"(?:{inner[0]}){rng.choice(QUANTIFIERS)}"


def random_texts(rng, dfa, alphabet):
    """Walks through the automaton, their prefixes, one-element edits, and noise."""
    edges = dfa.edges
    for _ in range(12):
        state, data = 0, bytearray()
        while edges[state] and len(data) < 30 and not (dfa.accept[state] and rng.random() < 0.2):
            bits, state = rng.choice(edges[state])
            data.append(rng.choice([b for b in range(256) if bits >> b & 1]))
        yield bytes(data)
        yield bytes(data[: rng.randint(0, len(data))])
        at = rng.randint(0, len(data))
        edit = rng.choice(alphabet).encode("latin-1" if max(map(ord, alphabet)) < 256 else "utf-8")
        yield bytes(data[:at]) + edit + bytes(data[at + rng.randint(0, 1) :])
    for _ in range(6):
        noise = "".join(rng.choices(alphabet, k=rng.randint(0, 4)))
        yield noise.encode("latin-1" if max(map(ord, alphabet)) < 256 else "utf-8")


@pytest.mark.parametrize("seed", range(4))
def test_bytes_dialect_agrees_with_re(seed):
    rng = random.Random(seed)
    alphabet = "abcZ_09 .-\n\r\x00\x1c\x7f\x80\x85\xa0\xc3\xe9\xff{},]x"
    for _ in range(60):
        pattern = random_pattern(rng, ASCII_ATOMS)
        dfa = compiled(pattern, "bytes")
        expected = re.compile(pattern.encode())
        for data in random_texts(rng, dfa, alphabet):
            assert dfa.matches(data) == bool(expected.fullmatch(data)), (pattern, data)


@pytest.mark.parametrize("seed", range(4))
def test_text_dialect_agrees_with_re(seed):
    """On texts that UTF-8 can spell as ``re`` says; on other bytes never."""
    rng = random.Random(100 + seed)
    alphabet = "abcZ_09 .-\n\x00\x7f\x80\x85\xa0éàÿ߿ࠀ漢퟿￿𐀀😀🙏\U0010ffffſ٣x]"
    for _ in range(60):
        pattern = random_pattern(rng, ASCII_ATOMS + WIDE_ATOMS)
        dfa = compiled(pattern)
        expected = re.compile(pattern, re.ASCII)
        for data in random_texts(rng, dfa, alphabet):
            try:
                text = data.decode()
            except UnicodeDecodeError:
                assert not dfa.matches(data), (pattern, data)
            else:
                assert dfa.matches(data) == bool(expected.fullmatch(text)), (pattern, text)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dialect", ["text", "ecma"])
def test_no_text_ends_inside_a_character(dialect, seed):
    """Follow every path of a random automaton with the decoder's state beside it."""
    rng = random.Random(200 + seed)
    python_only = (r"\101", "[]x]")
    atoms = [atom for atom in ASCII_ATOMS + WIDE_ATOMS if atom not in python_only]
    for _ in range(60):
        pattern = random_pattern(rng, atoms)
        if dialect == "ecma":
            pattern = re.sub(r"\\U000(.{5})", r"\\u{\1}", pattern).replace("{,", "{0,")
        dfa = compiled(pattern, dialect)
        assert inside_a_character(dfa) == []


def inside_a_character(dfa):
    """Return the accepting states reached after bytes that are not whole characters of UTF-8.

    The decoder is a hand-written table of what must follow: bytes still to come, and the range of
    the next one.
    """
    seen = {(0, 0, 0, 0)}
    queue = list(seen)
    for state, missing, low, high in queue:
        for byte in range(256):
            target = int(dfa.trans[state, byte])
            if target < 0:
                continue
            if missing:
                assert low <= byte <= high, "a stray or overlong byte"
                following = (target, missing - 1, 0x80, 0xBF) if missing > 1 else (target, 0, 0, 0)
            else:
                following = (target, *LEADS[byte])
            if following not in seen:
                seen.add(following)
                queue.append(following)
    return [state for state, missing, *_ in seen if missing and dfa.accept[state]]


LEADS = dict.fromkeys(range(128), (0, 0, 0))
LEADS |= dict.fromkeys(range(194, 224), (1, 128, 191))
LEADS |= dict.fromkeys(range(224, 240), (2, 128, 191))
LEADS |= {0xE0: (2, 0xA0, 0xBF), 0xED: (2, 0x80, 0x9F)}
LEADS |= {0xF0: (3, 0x90, 0xBF), 0xF4: (3, 0x80, 0x8F)}
LEADS |= dict.fromkeys(range(241, 244), (3, 128, 191))


@pytest.mark.parametrize("seed", range(2))
def test_random_automata_are_minimal(seed):
    rng = random.Random(300 + seed)
    for _ in range(10):
        dfa = compiled(random_pattern(rng, ASCII_ATOMS), "bytes")
        if not dfa.is_empty and dfa.n_states < 40:
            assert table_filling.is_minimal(dfa.trans, dfa.accept)


# Limits


def test_repeat_limit_names_the_quantifier():
    with pytest.raises(errors.LimitError) as caught:
        parse("ab{1000}", limits=Limits(max_repeat=999))
    assert (caught.value.what, caught.value.given, caught.value.limit) == ("repeats", 1000, 999)
    assert "'{1000}' at position 2" in caught.value.where


@pytest.mark.parametrize("digits", ["9" * 30, "9" * 6000])
def test_absurd_repeats_are_a_limit_too(digits):
    with pytest.raises(errors.LimitError):
        parse(f"a{{{digits}}}")


@pytest.mark.parametrize("opening", ["(", "(?:", "(?:^|a", "(x|"])
def test_nesting_is_limited_without_recursion(opening):
    deepest = opening * 200 + ")*" * 200
    parse(deepest)
    with pytest.raises(errors.LimitError) as caught:
        parse(opening * 201 + ")" * 201)
    assert (caught.value.what, caught.value.limit) == ("nested groups", 200)
    assert f"position {200 * len(opening)}" in caught.value.where


def test_deep_nesting_compiles_when_it_is_allowed():
    depth = 5_000
    node = parse("(" * depth + "a" + ")?" * depth, limits=Limits(max_depth=depth))
    assert language(node).n_states == 2


def test_long_patterns_are_limited():
    with pytest.raises(errors.LimitError):
        parse("a" * 101, limits=Limits(max_input=100))


def test_copies_of_anchored_groups_are_limited():
    with pytest.raises(errors.LimitError) as caught:
        parse("((^a|b){1000}c){1000}", limits=Limits(max_nodes=100_000))
    assert "{1000}" in caught.value.where


def test_anchored_groups_grow_by_a_constant_factor():
    """Each level of nesting adds the same number of edges."""
    sizes = []
    for depth in (10, 20, 30):
        node = parse("(^a|" * depth + "b$" + ")c?" * depth)
        assert isinstance(node, Graph)
        sizes.append(len(node.edges))
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]


def test_quantified_parts_are_named():
    where = {node.where for node in nodes(parse("x(ab){2}|[a-z]{3,}", "bytes")) if is_named(node)}
    assert where == {"'(ab){2}'", "'[a-z]{3,}'"}
    (named,) = [node for node in nodes(parse(f"({'x' * 200})+", "bytes")) if is_named(node)]
    assert "..." in named.where
    assert len(named.where) < 70


def is_named(node):
    return isinstance(node, Named)


def nodes(node):
    yield node
    if isinstance(node, Named | Repeat):
        yield from nodes(node.node)
    for child in (*getattr(node, "parts", ()), *getattr(node, "options", ())):
        assert isinstance(node, Concat | Alternate)
        yield from nodes(child)


def test_the_limit_error_of_a_costly_pattern_names_its_part():
    node = parse("abc([a-z]{100}){900}|(a|b){3}")
    with pytest.raises(errors.LimitError) as caught:
        language(node, Meter(Limits(max_nfa_states=20_000)))
    assert "[a-z]{100}" in str(caught.value)


# Errors and properties


@pytest.mark.parametrize("pattern", [r"a[^\s\S]", r"[^\x00-\xff]", r"(a[^\d\D])+"])
def test_an_empty_language_is_an_error(pattern):
    with pytest.raises(errors.PatternError, match="matches nothing") as caught:
        regex_to_dfa(pattern)
    assert caught.value.span == (0, len(pattern))


def test_pattern_errors_are_value_errors():
    with pytest.raises(ValueError, match=r"unclosed class at position 1 of pattern 'x\[a'"):
        regex_to_dfa("x[a")


@pytest.mark.parametrize("pattern", ["a\ud800b", "[\udfff]"])
def test_surrogates_in_the_pattern_itself(pattern):
    with pytest.raises(errors.PatternError, match="surrogate") as caught:
        parse(pattern)
    assert caught.value.span == (1, 2)


CATEGORIES = [
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi",
    "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn",
]  # fmt: skip


def test_categories_partition_the_code_points():
    """Each code point is in the set of its own category, and the categories cover everything once."""
    total = 0
    for name in CATEGORIES:
        total += check_category(name)
    assert code_points_with("Cs") == ()
    assert total == 0x110000 - 0x800


def check_category(name):
    ranges = code_points_with(name)
    assert ranges
    for first, last in ranges:
        assert unicodedata.category(chr(first)) == unicodedata.category(chr(last)) == name
    return sum(last - first + 1 for first, last in ranges)


@pytest.mark.parametrize(
    ("name", "same_as"),
    [
        ("General_Category=Letter", "L"),
        ("gc=Lu", "Uppercase_Letter"),
        ("punct", "P"),
        ("digit", "Nd"),
        ("space", "White_Space"),
        ("AHex", "ASCII_Hex_Digit"),
    ],
)
def test_property_aliases(name, same_as):
    assert code_points_with(name) == code_points_with(same_as) is not None


def test_white_space_and_assigned():
    for first, last in code_points_with("White_Space"):
        assert all(chr(code).isspace() for code in range(first, last + 1))
    assigned = code_points_with("Assigned")
    assert any(first <= ord("a") <= last for first, last in assigned)
    assert not any(first <= 0x378 <= last for first, last in assigned)
    assert code_points_with("Script=Greek") is code_points_with("Emoji") is None


def test_cased_letters_are_three_categories():
    count = sum(last - first + 1 for first, last in code_points_with("LC"))
    parts = [code_points_with(name) for name in ("Lu", "Ll", "Lt")]
    assert count == sum(last - first + 1 for ranges in parts for first, last in ranges)


def test_the_parser_needs_no_numpy():
    """The front end stays importable on its own; arrays come in with the automata."""
    code = "import sys, constrain.pattern_parser; sys.exit('constrain.determinize' in sys.modules)"
    root = Path(__file__).parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@pytest.mark.parametrize("seed", range(3))
def test_junk_is_refused_where_python_refuses_it(seed):
    """Random strings of notation: either a clean error, or the language that ``re`` has in mind.

    What Python refuses must be refused; what it takes must be taken or be an UnsupportedPattern.
    """
    rng = random.Random(400 + seed)
    pieces = [
        *"ab(()))[]]{{}},-^$|*+?.\\:=!<>P#xuUN01289dDwsSAZbBnt",
        "(?", "(?:", "(?P<n>", "(?#", "[^", "\\x4", "\\u00e9", "{1,2}", "{2}", "{,3}", "é",
    ]  # fmt: skip
    for _ in range(3000):
        pattern = "".join(rng.choices(pieces, k=rng.randint(1, 8)))
        for dialect in ("bytes", "text"):
            compare_with_python(pattern, dialect, rng)
        try:
            parse(pattern, "ecma")
        except errors.PatternError as error:
            check_span(error, pattern)


def compare_with_python(pattern, dialect, rng):
    try:
        expected = python_regex(pattern, dialect)
    except (re.error, UnicodeEncodeError):
        with pytest.raises(errors.PatternError) as caught:
            parse(pattern, dialect)
        check_span(caught.value, pattern)
        return
    try:
        node = parse(pattern, dialect)
    except errors.UnsupportedPattern as error:
        check_span(error, pattern)
        return
    dfa = language(node)
    texts = ["".join(rng.choices("abé-]{}1,2x\n^$", k=n)) for n in (0, 1, 1, 1, 2, 2, 3)]
    for text in [*texts, pattern]:
        data = text.encode()
        found = expected.fullmatch(data if dialect == "bytes" else text)
        assert dfa.matches(data) == bool(found), (pattern, text)


def check_span(error, pattern):
    start, end = error.span
    assert 0 <= start <= end <= len(pattern)
    assert error.reason


@pytest.mark.parametrize(
    "pattern",
    [
        r"x$a\n", r"x$\n", r"x$\n\n", r"x$(\n|a\n)", r"x$a?\n", r"x$\n?", r"x$\n*", r"x$a*\n$",
        r"x($a\n|\n)", "^$\n",
    ],
)  # fmt: skip
def test_only_a_line_end_alone_may_follow_the_end(pattern):
    dfa = language(parse(pattern))
    for n in range(5):
        for text in map("".join, itertools.product("xa\n", repeat=n)):
            assert dfa.matches(text.encode()) == bool(re.fullmatch(pattern, text)), text

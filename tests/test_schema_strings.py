r"""String languages: decoded texts, lengths in code points, and how JSON spells them.

The oracles are ``json``, ``len``, ``re`` and ``str.encode``.
"""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.algebra import difference, intersection, words
from constrain.determinize import language
from constrain.dfa import DFA
from constrain.errors import LimitError, PatternError
from constrain.limits import Limits, Meter
from constrain.minimize import canonical
from constrain.schema import strings

EDGES = '\x00\x07\x08\t\n\x0b\x0c\r\x1f !"/\\a\x7f\x80\x9f\u07ff\u0800\u2028\ud7ff\ue000\uffff'
EDGES += "\U00010000\U0010ffff"
texts = st.text(st.one_of(st.sampled_from(EDGES), st.characters(exclude_categories=["Cs"])))


def content(text: str) -> bytes:
    """Return what ``json`` writes between the quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def ticked(spelled: DFA, text: bytes) -> int:
    """Return how often reading a text arrives at a ticking state."""
    flags = strings.ticks(spelled)
    state, n_ticks = 0, 0
    for byte in text:
        state = spelled.step(state, bytes([byte]))
        n_ticks += flags[state]
    return n_ticks


@given(texts)
def test_every_text_belongs_to_the_universe_and_has_the_spelling_of_json(text: str) -> None:
    """Raw UTF-8 is in; the spelling is that of ``json.dumps``; ticks count code points."""
    assert strings.universe().matches(text.encode())
    spelled = strings.spell(strings.universe())
    assert spelled.matches(content(text))
    assert ticked(spelled, content(text)) == len(text)
    assert language(strings.free()).matches(content(text))


@given(st.binary(max_size=6))
@settings(max_examples=300)
def test_bytes_that_are_not_utf8_are_in_no_language(data: bytes) -> None:
    """Python's strict decoder says what UTF-8 is."""
    try:
        data.decode()
    except UnicodeDecodeError:
        assert not strings.universe().matches(data)
    else:
        assert strings.universe().matches(data)


@given(texts.filter(bool), st.integers(0, 3))
def test_each_text_has_one_canonical_spelling(text: str, which: int) -> None:
    r"""``\/``, needless ``\uXXXX`` and upper-case digits are spellings of ``free`` only."""
    spelled = strings.spell(strings.literals([text]))
    assert words(spelled, 5) == [content(text)]
    first = text[0]
    utf16 = first.encode("utf-16-be")
    other = "".join(f"\\u{utf16[i] << 8 | utf16[i + 1]:04X}" for i in range(0, len(utf16), 2))
    if first == "/" and which:
        other = "\\/"
    respelled = other.encode() + content(text[1:])
    assert json.loads(b'"' + respelled + b'"') == text
    assert language(strings.free()).matches(respelled)
    assert not strings.spell(strings.universe()).matches(respelled) or respelled == content(text)


@pytest.mark.parametrize("bad", [b'"', b"\\", b"\n", b"\x00", b"\\x41", b"\\u12", b"\xff", b"\xc3"])
def test_what_is_no_json_string_is_in_neither_grammar(bad: bytes) -> None:
    """Raw control characters, quotes, half escapes and half characters."""
    assert not language(strings.free()).matches(bad)
    assert not strings.spell(strings.universe()).matches(bad)


def test_lone_surrogates_can_be_written_only_freely() -> None:
    r"""``\ud800`` is JSON's grammar but no text; a literal of it is left out."""
    assert language(strings.free()).matches(rb"\ud800")
    assert strings.literals(["\ud800", "a\udfffb"]).is_empty
    assert words(strings.literals(["\ud800", "ok"]), 9) == [b"ok"]


@pytest.mark.parametrize(
    ("minimum", "maximum"),
    [(0, None), (1, None), (4, None), (0, 0), (0, 1), (1, 1), (2, 5), (3, 2)],
)
def test_length_counts_code_points(minimum: int, maximum: int | None) -> None:
    """The automaton written down at once is the canonical one, and ``len`` agrees."""
    dfa = strings.length(minimum, maximum)
    assert dfa.same_as(canonical(dfa.trans, dfa.accept))
    for n in range(8):
        for character in "aé€😀":
            expected = minimum <= n <= (n if maximum is None else maximum)
            assert dfa.matches((character * n).encode()) == expected


def test_a_length_too_large_is_an_error() -> None:
    """Counting to a million takes frames, not states."""
    with pytest.raises(LimitError):
        strings.length(0, 1_000_000)
    with pytest.raises(LimitError):
        strings.length(0, 200, Meter(Limits(max_states=1_000)))


@given(st.sets(st.text("aé😀\n", max_size=5), max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_whether_a_length_occurs_in_a_finite_language(
    members: set[str], minimum: int, maximum: int
) -> None:
    """``lengths`` says what ``len`` says."""
    dfa = strings.literals(members)
    assert strings.lengths(dfa, minimum, maximum) == any(
        minimum <= len(text) <= maximum for text in members
    )
    assert strings.lengths(dfa, minimum, None) == any(minimum <= len(text) for text in members)


@pytest.mark.parametrize(
    ("pattern", "has"),
    [
        ("^(abc)+$", lambda n: n >= 3 and n % 3 == 0),
        ("^(ab|éééé)$", lambda n: n in (2, 4)),
        ("^a{5}(bb)*$", lambda n: n >= 5 and n % 2 == 1),
        ("^(aa|aaa)*$", lambda n: n != 1),
        ("^$", lambda n: n == 0),
        ("[^\\s\\S]", lambda n: False),
    ],
)
def test_whether_a_length_occurs_in_an_infinite_language(pattern: str, has: object) -> None:
    """By arithmetic, up to and beyond the point where the sets of states repeat."""
    dfa = strings.from_pattern(pattern)
    assert callable(has)
    for n in (*range(12), 65_535, 65_536, 65_537):
        assert strings.lengths(dfa, n, n) == has(n)
        assert strings.lengths(dfa, n, n + 2) == any(has(k) for k in (n, n + 1, n + 2))
    assert strings.lengths(dfa, 10**9, None) == any(has(k) for k in range(10**9, 10**9 + 6))


@given(st.text('ab\n"\\', max_size=6))
def test_patterns_search(text: str) -> None:
    """A match anywhere will do; ``re.search`` says where there is one."""
    for pattern in ("ab", "^a|b$", "a.b", "^[^a]*$", "\\n"):
        expected = re.search(pattern.replace("$", r"\Z"), text) is not None
        assert strings.from_pattern(pattern).matches(text.encode()) == expected


def test_constraints_on_one_string_meet() -> None:
    """Pattern, length and exclusion hold together, and only the result is spelled."""
    dfa = intersection(strings.from_pattern('^[a"]+$'), strings.length(2, 2))
    dfa = difference(dfa, strings.literals(["aa"]))
    assert words(strings.spell(dfa), 9) == [b'\\"a', b'a\\"', b'\\"\\"']


def test_states_that_tick_are_kept_apart() -> None:
    r"""After ``\`` of ``\n`` and after ``a`` of ``an`` the rest is the same; only one ticks."""
    spelled = strings.spell(strings.literals(["\n", "an"]))
    assert [ticked(spelled, text) for text in (b"\\n", b"an", b"\\", b"a")] == [1, 2, 0, 1]


@given(st.sets(texts, max_size=8))
def test_spelling_a_finite_language(members: set[str]) -> None:
    """All its texts as ``json`` writes them, each with as many ticks as code points."""
    spelled = strings.spell(strings.literals(members))
    expected = sorted((content(text) for text in members), key=lambda text: (len(text), text))
    assert words(spelled, len(members)) == expected
    for text in members:
        assert ticked(spelled, content(text)) == len(text)


def test_errors_of_patterns_pass_through() -> None:
    """Their span is in the pattern."""
    with pytest.raises(PatternError) as caught:
        strings.from_pattern("a(b")
    assert caught.value.pattern == "a(b"

"""Formats, compared with the standard library, jsonschema's checkers, and the calendar."""

from __future__ import annotations

import calendar
import datetime
import ipaddress
import json
import random
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.algebra import contains
from constrain.schema import formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.dfa import DFA

SUITE = Path(__file__).resolve().parent.parent.parent / "shared/data/json-schema-test-suite/tests"
CHECKER = jsonschema.Draft202012Validator.FORMAT_CHECKER


def automaton(name: str) -> DFA:
    """Return the language of a format that is known."""
    dfa = formats.language(name)
    assert dfa is not None
    return dfa


def accepts(name: str, text: str) -> bool:
    """Return whether a text belongs to a format."""
    return automaton(name).matches(text.encode())


def walks(dfa: DFA, n: int) -> Iterator[str]:
    """Yield random texts of a language, every edge as likely as any other."""
    rng = random.Random(dfa.n_states)
    for _ in range(n):
        state, text = 0, bytearray()
        while not dfa.accept[state] or (dfa.edges[state] and rng.random() < 0.9):
            bits, state = rng.choice(dfa.edges[state])
            text.append(rng.choice([byte for byte in range(256) if bits >> byte & 1]))
        yield text.decode()


def test_every_day_of_the_calendar() -> None:
    """All days of some years, and the days that are not: 31 days a month are tried."""
    for year in (1, 4, 99, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 2400, 9999):
        for month in range(14):
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                days = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
                assert accepts("date", text) == (1 <= day <= days), text


def test_leap_days_of_all_years() -> None:
    """``calendar.isleap`` for every year there is."""
    for year in range(1, 10_000):
        assert accepts("date", f"{year:04}-02-29") == calendar.isleap(year)


@given(st.datetimes(timezones=st.timezones()))
def test_date_times_of_the_standard_library(when: datetime.datetime) -> None:
    """Those with whole minutes of offset; ``isoformat`` writes them."""
    offset = when.utcoffset()
    assert offset is not None
    if offset.total_seconds() % 60 == 0:
        text = when.isoformat()
        assert accepts("date-time", text)
        assert accepts("date-time", text[:-6] + "Z")
        assert accepts("date", text[:10])
        assert accepts("time", text[11:])
        assert not accepts("time", text[11:19])


@given(st.from_regex(r"\A[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z\Z"))
def test_times_of_the_standard_library(text: str) -> None:
    """Minutes, seconds and hours in their ranges."""
    try:
        datetime.time.fromisoformat(text[:8])
        expected = True
    except ValueError:
        expected = text.startswith("23:59:60")
    assert accepts("time", text) == expected


@given(st.one_of(st.ip_addresses().map(str), st.from_regex(r"\A[0-9a-f:.]{2,16}\Z")))
def test_addresses_of_the_standard_library(text: str) -> None:
    """``ipaddress`` parses what the automata accept, and the other way round."""
    for name, parse in (("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address)):
        try:
            parse(text)
            expected = True
        except ValueError:
            expected = False
        assert accepts(name, text) == expected


@given(st.lists(st.sampled_from(["1", "ffff", "0", ":", "::", "1.2.3.4", "12345"]), max_size=17))
def test_ipv6_pieces(pieces: list[str]) -> None:
    """Groups and colons in any arrangement."""
    text = "".join(pieces)
    try:
        ipaddress.IPv6Address(text)
        expected = True
    except ValueError:
        expected = False
    assert accepts("ipv6", text) == expected


@given(st.uuids())
def test_uuids(value: uuid.UUID) -> None:
    """With hyphens, in either case."""
    assert accepts("uuid", str(value))
    assert accepts("uuid", str(value).upper())
    assert not accepts("uuid", value.hex)
    assert not accepts("uuid", value.urn)


def excused(name: str, text: str) -> bool:
    """Return whether a checker is known to be stricter than the document it checks.

    rfc3339-validator has no leap seconds; rfc3987 wants a lower-case v before an address of the
    future; jsonschema takes a zero inside a number for a leading one; uri_template has no
    percent-encoded names, and no names that begin with a digit.
    """
    return {
        "time": ":60" in text,
        "date-time": ":60" in text,
        "uri": "[V" in text,
        "iri": "[V" in text,
        "uri-reference": "[V" in text,
        "iri-reference": "[V" in text,
        "relative-json-pointer": re.match("[0-9]*0[0-9#]", text) is not None,
        "uri-template": re.search(r"[{,+#./;?&][0-9%][^}]*\}|\.[0-9%]|\{[^}]*%", text) is not None,
    }.get(name, False)


@pytest.mark.parametrize("name", formats.NAMES)
def test_what_is_accepted_is_valid_for_jsonschema(name: str) -> None:
    """Random texts of each automaton, under jsonschema's checker of the same name."""
    assert name in CHECKER.checkers
    refused = [t for t in walks(automaton(name), 400) if not CHECKER.conforms(t, name)]
    assert [text for text in refused if not excused(name, text)] == []


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("email", 'jane.doe+tag@mail.example.co.uk o\'neil@x.org "a b"@x.de a@[10.0.0.1] a@b'),
        (
            "hostname",
            "localhost www.example.com a-b.c1.example xn-a.de 3com.com " + "a" * 63 + ".com",
        ),
        ("uri", "https://u:p@example.com:8080/a/b;c?d=e&f#g urn:isbn:0451450523 file:///etc/hosts"),
        (
            "uri",
            "mailto:a@b.c data:text/plain;base64,SGk= http://[::1]:80/ tel:+49-30-1 about:blank",
        ),
        ("uri-reference", "../a?b#c #/definitions/x /x //h/p ?q a/b:c http://x"),
        ("duration", "P3Y6M4DT12H30M5S P2W PT36H P1M PT1M P1DT12H"),
        ("date-time", "2024-02-29T23:59:59.123456789+14:00 1985-04-12t23:20:50.52z"),
        ("json-pointer", "/a~1b/0/~0 / //"),
        ("relative-json-pointer", "0# 1/a 120/0/foo"),
        ("uri-template", "http://x/{+path,y:3}{?q*,lang}{#frag} plain {&a}"),
        ("iri", "http://例え.jp/пу́ть?q=ü"),
        ("idn-email", "用户@例子.广告 jörg@büro.de"),
        ("idn-hostname", "büro.de 例え.jp www.example.com"),
    ],
)
def test_common_values_are_accepted(name: str, texts: str) -> None:
    """A subset must not leave out what people write."""
    parts = texts.split(" ") if '"' not in texts else texts.replace('"a b"', '"a_b"').split(" ")
    for text in parts:
        assert accepts(name, text), text


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("email", ["a", "@b", "a@", "a@b@c", "a..b@c", ".a@b", "a b@c", "a@-b.de", "a@b_c.de"]),
        ("hostname", ["", "-a", "a-", "a..b", "a.", "a_b", "xn--a", "a" * 64, "é.de"]),
        ("hostname", [".".join(["a" * 60] * 5)]),
        ("uri", ["", "//x", "a b:c", "http://x y", "1a:b", "http://[::1", "a:%zz", "http://é"]),
        ("duration", ["P", "PT", "P1", "P1H", "PT1D", "P1Y1D", "P1W1D", "PT1.5S", "1D", "-P1D"]),
        ("date", ["2023-02-29", "2024-2-9", "0000-01-01", "2024-01-01Z", "10000-01-01"]),
        ("uuid", ["", "g" * 8, "{12345678-1234-1234-1234-123456789abc}"]),
    ],
)
def test_what_is_not_valid_is_refused(name: str, texts: list[str]) -> None:
    """By the grammar of the document."""
    for text in texts:
        assert not accepts(name, text), text


@pytest.mark.parametrize("name", formats.NAMES)
def test_upper_holds_the_format(name: str) -> None:
    """What is accepted is within the superset; for exact formats they are one and the same."""
    outer = formats.upper(name)
    assert outer is not None
    assert contains(outer, automaton(name))
    assert outer.same_as(automaton(name)) == formats.is_exact(name)


def test_unknown_formats_are_annotations_and_regex_is_refused() -> None:
    """None, and an error that says why."""
    assert formats.language("color") is None
    assert formats.upper("color") is None
    with pytest.raises(ValueError, match="automaton"):
        formats.language("regex")


@pytest.mark.skipif(
    not SUITE.exists(), reason="the JSON-Schema-Test-Suite is not beside the project"
)
def test_no_false_positive_in_the_suite_and_no_false_negative_in_exact_formats() -> None:
    """All strings of optional/format; only formats that are subsets may refuse valid ones."""
    n_tests = 0
    for path in sorted(SUITE.glob("*/optional/format/*.json")):
        for group in json.loads(path.read_text()):
            name = group["schema"].get("format")
            if name not in formats.NAMES:
                continue
            for test in group["tests"]:
                if isinstance(test["data"], str):
                    n_tests += 1
                    accepted = accepts(name, test["data"])
                    assert test["valid"] or not accepted, (name, test)
                    assert accepted or not (test["valid"] and formats.is_exact(name)), (name, test)
                    outer = formats.upper(name)
                    assert outer is not None
                    assert outer.matches(test["data"].encode()) or not test["valid"], (name, test)
    assert n_tests > 500

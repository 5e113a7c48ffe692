r"""The formats of JSON schema as string languages, each beside the document that defines it.

A format that is known here is asserted, in every draft; others are annotations and constrain
nothing. What is accepted is always valid. Most formats are *exact*; where the document's language
is not regular, or only with an automaton of absurd size, a *subset* stands in, named in the table
below, and ``is_exact`` is false. The complement of a subset would let invalid text through, so for
``not`` there is ``upper``, a superset.

    format                 document            here
    date                   RFC 3339, 5.6       the real calendar; no year 0000
    time                   RFC 3339, 5.6       leap seconds at offsets of whole and half hours
    date-time              RFC 3339, 5.6       leap seconds in UTC, at the end of June and December
    duration               RFC 3339, app. A    exact
    email, idn-email       RFC 5321, RFC 6531  no address literals of IPv6; ASCII domains
    hostname               RFC 1123            two runs of at most 63 characters; no label with "--"
                                               in places 3 and 4 (Punycode cannot be checked)
    idn-hostname           RFC 5890            such, or three labels of nine simple letters
    ipv4, ipv6             RFC 2673, RFC 4291  exact
    uuid                   RFC 4122            exact
    uri, uri-reference     RFC 3986            exact
    iri, iri-reference     RFC 3987            exact
    uri-template           RFC 6570            no reserved operators
    json-pointer           RFC 6901            exact
    relative-json-pointer  draft (2020)        no index manipulation
    regex                  ECMA-262            refused: no regular language

The notation is that of the text dialect; each piece is named after its rule in the document.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from constrain.algebra import difference, intersection, union
from constrain.determinize import language as automaton
from constrain.pattern import parse
from constrain.schema.strings import length
from constrain.syntax import Embed, Literal, Repeat, concat, optional, star

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constrain.dfa import DFA


def _any(*options: str) -> str:
    return "(" + "|".join(options) + ")"


# RFC 3339, section 5.6: dates of the Gregorian calendar, times with a zone.
_LEAP = _any("0[48]", "[2468][048]", "[13579][26]")
_YEAR = _any("000[1-9]", "00[1-9][0-9]", "0[1-9][0-9]{2}", "[1-9][0-9]{3}")
_LEAP_YEAR = _any(f"[0-9]{{2}}{_LEAP}", f"{_LEAP}00")
_DATE = _any(
    f"{_YEAR}-"
    + _any(
        "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])",
        "(0[469]|11)-(0[1-9]|[12][0-9]|30)",
        "02-(0[1-9]|1[0-9]|2[0-8])",
    ),
    f"{_LEAP_YEAR}-02-29",
)
_FRACTION = r"(\.[0-9]+)?"
_OFFSET = r"([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
_ORDINARY_TIME = rf"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]{_FRACTION}{_OFFSET}"
_LEAP_SECOND = rf"23:59:60{_FRACTION}([Zz]|[+-]00:00)"


def _leap_seconds_elsewhere() -> Iterator[str]:
    """Yield the leap second, 23:59:60 UTC, as clocks show it at offsets of whole and half hours."""
    for hour in range(24):
        for minute, east in ((59, hour + 1), (29, hour)):
            offset = f"(\\+{east % 24:02}|-{23 - hour:02}):{59 - minute:02}"
            yield f"{hour:02}:{minute}:60{_FRACTION}{offset}"


_TIME = _any(_ORDINARY_TIME, _LEAP_SECOND, *_leap_seconds_elsewhere())
_DATE_TIME = _any(f"{_DATE}[Tt]{_ORDINARY_TIME}", f"{_YEAR}-(06-30|12-31)[Tt]{_LEAP_SECOND}")

_ANY_DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_ANY_TIME = rf"([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60){_FRACTION})?{_OFFSET}?"

# RFC 3339, appendix A: ISO 8601 durations, no fractions, each unit before the next smaller one.
_DUR_TIME = _any("[0-9]+H([0-9]+M([0-9]+S)?)?", "[0-9]+M([0-9]+S)?", "[0-9]+S")
_DUR_DATE = _any("[0-9]+D", "[0-9]+M([0-9]+D)?", "[0-9]+Y([0-9]+M([0-9]+D)?)?")
_DURATION = f"P({_DUR_DATE}(T{_DUR_TIME})?|T{_DUR_TIME}|[0-9]+W)"

# RFC 2673, section 3.2 (dotted quad) and RFC 4291, section 2.2 (with the rule of RFC 3986).
_DEC_OCTET = "([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
_IPV4 = rf"{_DEC_OCTET}(\.{_DEC_OCTET}){{3}}"
_H16 = "[0-9A-Fa-f]{1,4}"
_LS32 = f"({_H16}:{_H16}|{_IPV4})"


def _ipv6_options() -> Iterator[str]:
    """Yield the nine forms of the rule IPv6address: where ``::`` stands, if anywhere."""
    yield f"({_H16}:){{6}}{_LS32}"
    for before in range(8):
        head = f"(({_H16}:){{0,{before - 1}}}{_H16})?" if before else ""
        after = 5 - before
        tail = f"({_H16}:){{{after}}}{_LS32}" if after >= 0 else (_H16 if after == -1 else "")
        yield f"{head}::{tail}"


_IPV6 = _any(*_ipv6_options())

# RFC 1123, section 2.1, and RFC 952: labels of letters, digits and inner hyphens.
_LET_DIG = "[0-9A-Za-z]"
_ASCII_LABEL = f"{_LET_DIG}([0-9A-Za-z-]*{_LET_DIG})?"
_MAX_LABEL = 63
# RFC 5890, U-labels: letters that are valid on their own, in NFC and left to right, of Latin,
# Greek, Cyrillic, kana, Han and Hangul. Ten of them could need more than 63 bytes of Punycode.
_U_LETTER = (
    r"\u00DF-\u00F6\u00F8-\u00FF\u03AC-\u03CE\u0430-\u045F"
    r"\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FA5\uAC00-\uD7A3"
)
_MARKS = r"\u0300-\u036F"
_SEPARATOR = r"[.\u3002\uFF0E\uFF61]"  # RFC 3490, section 3.1
_U_LABEL = f"[0-9a-z{_U_LETTER}]([0-9a-z{_U_LETTER}-]{{0,7}}[0-9a-z{_U_LETTER}])?"

# RFC 5321, section 4.1.2: Mailbox. RFC 6531, section 3.3, adds the characters beyond ASCII.
_BEYOND = r"\u0080-\uD7FF\uE000-\U0010FFFF"


def _mailbox(beyond: str, letters: str, marks: str = "") -> str:
    atom = f"[0-9A-Za-z!#$%&'*+/=?^_`{{|}}~{beyond}-]+"
    quoted = rf'"([ !#-\[\]-~{beyond}]|\\[ -~])*"'
    last = f"[0-9A-Za-z{letters}{marks}]"
    sub_domain = f"[0-9A-Za-z{letters}]([0-9A-Za-z{letters}{marks}-]*{last})?"
    return rf"({atom}(\.{atom})*|{quoted})@({sub_domain}(\.{sub_domain})*|\[{_IPV4}\])"


# RFC 3986, appendix A; RFC 3987, section 2.2, adds ``ucschar`` and, in queries, ``iprivate``.
_UCSCHAR = r"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF" + "".join(
    f"\\U000{plane:X}{first}-\\U000{plane:X}FFFD"
    for plane, first in [*((plane, "0000") for plane in range(1, 14)), (14, "1000")]
)
_IPRIVATE = r"\uE000-\uF8FF\U000F0000-\U000FFFFD\U00100000-\U0010FFFD"
_PCT = "%[0-9A-Fa-f]{2}"
_IP_LITERAL = rf"\[({_IPV6}|[vV][0-9A-Fa-f]+\.[0-9A-Za-z._~!$&'()*+,;=:-]+)\]"


class _Reference:
    """The rules of URIs (no further characters) or IRIs, as patterns."""

    def __init__(self, beyond: str = "", private: str = "") -> None:
        characters = f"0-9A-Za-z._~!$&'()*+,;={beyond}-"

        def run(more: str) -> str:
            return f"([{more}{characters}]|{_PCT})"

        pchar = run(":@")
        authority = f"({run(':')}*@)?({_IP_LITERAL}|{run('')}*)(:[0-9]*)?"
        rooted = f"{pchar}+(/{pchar}*)*"
        self.end = rf"(\?{run(':@/?' + private)}*)?(#{run(':@/?')}*)?"
        self.local = f"(//{authority}(/{pchar}*)*|/({rooted})?)?"
        self.rootless = rooted
        self.noscheme = f"{run('@')}+(/{pchar}*)*"
        self.scheme = "[A-Za-z][0-9A-Za-z+.-]*:"

    def absolute(self) -> str:
        """Return the pattern of references with a scheme."""
        return f"{self.scheme}({self.local}|{self.rootless}){self.end}"

    def any(self) -> str:
        """Return the pattern of references with or without a scheme."""
        return (
            f"({self.scheme}({self.local}|{self.rootless})|{self.local}|{self.noscheme}){self.end}"
        )


# RFC 6570, section 2, without the operators reserved for extensions.
_VARNAME = rf"([0-9A-Za-z_]|{_PCT})(\.?([0-9A-Za-z_]|{_PCT}))*"
_VARSPEC = rf"{_VARNAME}(:[1-9][0-9]{{0,3}}|\*)?"
_URI_TEMPLATE = (
    rf"([!#$&-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]|{_PCT}"
    rf"|\{{[+#./;?&]?{_VARSPEC}(,{_VARSPEC})*\}})*"
)

# RFC 6901, section 3; draft-bhutton-relative-json-pointer-00, section 3.
_JSON_POINTER = "(/([^~/]|~[01])*)*"
_RELATIVE_JSON_POINTER = f"(0|[1-9][0-9]*)(#|{_JSON_POINTER})"

_URI = _Reference()
_IRI = _Reference(_UCSCHAR, _IPRIVATE)
_PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": _DATE_TIME,
    "duration": _DURATION,
    "email": _mailbox("", ""),
    "idn-email": _mailbox(_BEYOND, _U_LETTER, _MARKS),
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "uuid": "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "uri": _URI.absolute(),
    "uri-reference": _URI.any(),
    "iri": _IRI.absolute(),
    "iri-reference": _IRI.any(),
    "uri-template": _URI_TEMPLATE,
    "json-pointer": _JSON_POINTER,
    "relative-json-pointer": _RELATIVE_JSON_POINTER,
}
# Of the formats whose automaton is a subset: a superset, for complements. It takes in what lenient
# validators pass, too.
_UPPER = {
    "date": _ANY_DATE,
    "time": _ANY_TIME,
    "date-time": f"{_ANY_DATE}[Tt ]{_ANY_TIME}",
    "email": r"[\s\S]*@[\s\S]*",
    "idn-email": r"[\s\S]*@[\s\S]*",
    "hostname": r"[0-9A-Za-z_.-]{1,255}",
    "idn-hostname": r"[0-9A-Za-z_.\u0080-\U0010FFFF-]{1,255}",
    "uri-template": r"[^\x00-\x20\x7F\"<>\\^`]*",
    "relative-json-pointer": rf"[0-9]+([+-][0-9]+)?(#|{_JSON_POINTER})",
}
_REFUSED = {"regex": "whether a text is a well-formed pattern cannot be told by an automaton"}

NAMES = (*_PATTERNS, "hostname", "idn-hostname")
"""The formats that are asserted."""


def language(name: str) -> DFA | None:
    """Return the texts of a format; None for an unknown one, which is an annotation.

    Raises
    ------
    ValueError
        If the format is known but cannot be asserted; the message says why.
    """
    if name in _REFUSED:
        raise ValueError(_REFUSED[name])
    return _language(name) if name in NAMES else None


def upper(name: str) -> DFA | None:
    """Return a language that holds all texts of a format, as lenient validators read it.

    The same as ``language`` where that is exact; what lies outside surely is not of the format.
    """
    return _upper(name) if name in _UPPER else language(name)


@cache
def _upper(name: str) -> DFA:
    return automaton(parse(_UPPER[name], "text"))


@cache
def _language(name: str) -> DFA:
    if name == "hostname":
        return _hostname()
    if name == "idn-hostname":
        return union(_hostname(), _u_hostname())
    return automaton(parse(_PATTERNS[name], "text"))


def is_exact(name: str) -> bool:
    """Return whether the language is the whole format."""
    return name not in _UPPER


def all_exact(documents: Iterable[Any]) -> bool:
    """Return whether no document has a format that is enforced by a subset."""
    stack = list(documents)
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            name = value.get("format")
            if isinstance(name, str) and name in NAMES and not is_exact(name):
                return False
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return True


@cache
def _reserved() -> DFA:
    """Return the labels whose meaning is not the plain one: Punycode and what is like it."""
    return automaton(parse("..--.*", "text"))


def _hostname() -> DFA:
    """Return one label, and up to 63 more characters of labels after it.

    RFC 1123 allows 63 characters a label and 255 in all, a product of some 16,000 states.
    """
    short = length(1, _MAX_LABEL)
    any_label = automaton(parse(_ASCII_LABEL, "text"))
    label = Embed(difference(intersection(any_label, short), _reserved()))
    dot = Literal(b".")
    tail = intersection(automaton(concat(label, star(concat(dot, label)))), short)
    return automaton(concat(label, optional(concat(dot, Embed(tail)))))


def _u_hostname() -> DFA:
    """Return one to three labels of nine characters."""
    label = Embed(difference(automaton(parse(_U_LABEL, "text")), _reserved()))
    return automaton(concat(label, Repeat(concat(parse(_SEPARATOR, "text"), label), 0, 2)))

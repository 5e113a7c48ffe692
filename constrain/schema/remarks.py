"""What a schema says without effect: names that nobody knows, and values that cannot be written.

The standard says that an unknown keyword is no constraint, and so is an unknown format. A misspelt
``maxLenght`` therefore constrains nothing and says nothing. ``remarks`` says it, of a name one slip
away from a known one (a letter too many, missing, wrong, or two that changed places; two slips in
long names), or the same but for case, ``-`` and ``_``. Names that are unknown on purpose (``x-...``,
``_...``) get no remark, nor do names that resemble nothing, or only an annotation: those constrain
nothing when they are spelt right.

A keyword that the schema's draft does not have yet, or has no more, constrains nothing either, and up
to draft 7 nor does what stands beside ``$ref``. Both are said, once for each name.

A value of ``enum`` with a lone surrogate, half a character, has no UTF-8 and is never generated.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from constrain.schema import formats
from constrain.schema.documents import draft_of
from constrain.schema.support import DRAFT4, DRAFT2019, DRAFT2020, DRAFTS, KEYWORDS, known
from constrain.schema.validation import escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_MEANT = {
    "inclusiveMinimum": "minimum",
    "inclusiveMaximum": "maximum",
    "divisibleBy": "multipleOf",  # draft 3
}
_CONSTRAINING = tuple(
    keyword.name
    for keyword in KEYWORDS.values()
    if keyword.group not in {"annotation", "reference"} or keyword.name.lower().endswith("ref")
)
_PREFIXES = ("x-", "x_", "_", "@")
_FORMATS = (*formats.NAMES, "regex")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST = 50  # remarks on one schema
_LONGEST = 40  # letters of a name that may be a slip
_KEPT = 4096  # names whose answer is kept
_LONG = 9  # letters from which on two slips are one name
_SHORT = 4  # letters below which one slip makes another word


def remarks(schema: Any, refs: Sequence[tuple[str | None, Any]] = ()) -> list[str]:
    """Return a remark on each unknown name that is nearly a known one.

    Parameters
    ----------
    schema : Any
    refs : sequence of (str or None, Any)
        Other documents, each with its URI.
    """
    found = list(_remarks(schema))
    for uri, contents in refs:
        found += [f"{remark} (in {uri or 'a document beside it'})" for remark in _remarks(contents)]
    return found[:_MOST]


def _remarks(document: Any) -> Iterator[str]:
    found: dict[str, str] = {}
    ignored: dict[str, str] = {}
    places: Counter[str] = Counter()
    for pointer, schema, draft in _schemas(document):
        for name in _without_force(schema, draft):
            places[name] += 1
            if places[name] == 1:
                ignored[name] = f"{name!r} at #{pointer} constrains nothing: {_why(name, draft)}"
        for name in schema:
            if (
                name not in found
                and len(name) <= _LONGEST
                and (near := near_keyword(name)) is not None
            ):
                found[name] = (
                    f"{name!r} at #{pointer} is no keyword and constrains nothing;"
                    f" did you mean {near!r}?"
                )
        value = schema.get("format")
        if (
            isinstance(value, str)
            and value not in found
            and len(value) <= _LONGEST
            and (near := near_format(value)) is not None
        ):
            found[value] = (
                f"format {value!r} at #{pointer} is unknown and constrains nothing;"
                f" did you mean {near!r}?"
            )
        listed = schema.get("enum")
        if isinstance(listed, list):
            for i, member in enumerate(listed):
                if has_lone_surrogate(member):
                    place = f"{pointer}/enum/{i}"
                    found[place] = (
                        f"the value at #{place} is never generated: it holds a lone surrogate,"
                        " which is half a character and has no UTF-8"
                    )
    for name, remark in ignored.items():
        more = places[name] - 1
        yield remark + (f" (and at {more} more place{'s' * (more > 1)})" if more else "")
    yield from found.values()


def _without_force(schema: dict[str, Any], draft: int) -> list[str]:
    """Return the keywords of a schema that its draft does not know, or ignores beside ``$ref``."""
    beside = "$ref" in schema and draft < DRAFT2019
    return [
        name
        for name in schema
        if name in KEYWORDS
        and KEYWORDS[name].group not in {"annotation", "reference"}
        and (beside or known(name, draft) is None)
    ]


def _why(name: str, draft: int) -> str:
    if known(name, draft) is not None:
        return (
            f"draft {DRAFTS[draft]} ignores what stands beside $ref; put both into an allOf, or name"
            f" draft {DRAFTS[DRAFT2019]} or later in $schema"
        )
    first, last = KEYWORDS[name].since, KEYWORDS[name].until
    others = f"{DRAFTS[first]} or later" if draft < first else f"{DRAFTS[last]} or earlier"
    return (
        f"it is no keyword of draft {DRAFTS[draft]}, which the schema follows; name draft {others}"
        " in $schema if it is meant"
    )


@lru_cache(_KEPT)
def near_keyword(name: str) -> str | None:
    """Return the keyword that an unknown name is nearly; None if it is known, or like none."""
    if name in KEYWORDS or name.startswith(_PREFIXES):
        return None
    return _MEANT.get(name) or _near(name, _CONSTRAINING)


@lru_cache(_KEPT)
def near_format(name: str) -> str | None:
    """Return the format that an unknown one is nearly; None if it is known, or like none."""
    return None if name in _FORMATS else _near(name, _FORMATS)


def _near(name: str, known: Collection[str]) -> str | None:
    plain = _plain(name)
    for other in known:
        if _plain(other) == plain:
            return other
    if len(name) < _SHORT:
        return None
    most = 2 if len(name) >= _LONG else 1
    near = [(slips(name, other), other) for other in known if abs(len(name) - len(other)) <= most]
    distance, other = min(near, default=(most + 1, ""))
    return other if distance <= most and len(other) >= _SHORT else None


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def slips(left: str, right: str) -> int:
    """Return the letters to add, remove, change or swap with the next to make one name the other.

    The distance of Damerau and Levenshtein, restricted to swaps that nothing else touches.

    >>> slips("enmu", "enum"), slips("maxLenght", "maxLength"), slips("cat", "act")
    (1, 1, 1)
    """
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]


def has_lone_surrogate(value: Any) -> bool:
    """Return whether a JSON value holds half a character, which has no UTF-8."""
    if isinstance(value, dict):
        return any(has_lone_surrogate(member) for member in value.values())
    if isinstance(value, list):
        return any(map(has_lone_surrogate, value))
    return isinstance(value, str) and _SURROGATE.search(value) is not None


def _schemas(document: Any) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield all schemas of a document with their pointers and drafts; of any draft's keywords."""
    waiting = [("", document, DRAFT2020)]
    while waiting:
        pointer, schema, draft = waiting.pop()
        if not isinstance(schema, dict):
            continue
        if schema is document or ("id" if draft == DRAFT4 else "$id") in schema:
            draft = draft_of(schema, draft, pointer)
        yield pointer, schema, draft
        below: list[tuple[str, Any]] = []
        for name, value in schema.items():
            kind = KEYWORDS[name].value if name in KEYWORDS else ""
            place = f"{pointer}/{escaped(name)}"
            if kind in {"schema", "items", "schema list"} and isinstance(value, list):
                below += [(f"{place}/{i}", item) for i, item in enumerate(value)]
            elif kind in {"schema", "items"}:
                below.append((place, value))
            elif kind in {"schema map", "dependencies"} and isinstance(value, dict):
                below += [(f"{place}/{escaped(k)}", member) for k, member in value.items()]
        waiting.extend((place, part, draft) for place, part in reversed(below))

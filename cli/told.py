r"""What a file says of itself, as far as it can be shown: of the right type, no control characters.

``load`` proves the arrays of a table; its metadata is for people and may hold any JSON. What is not
as ``compile`` writes it is left out here, so that whatever draws it need not look again. The text
of a source stays as it is.

>>> told({"relaxed": ["pattern\x1b[2J", None], "frames": "none"})["relaxed"]
['pattern\\x1b[2J']

Doesn't do: judge whether it is true; the file may say anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_BOUND = (int, float, type(None))


def told(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a table that can be shown."""
    tokenizer = _members(meta.get("tokenizer"))
    origin = tokenizer.get("eos_origin")
    return {
        "source": {
            name: value if name == "text" else _visible(value)
            for name, value in _members(meta.get("source")).items()
            if isinstance(value, str)
        },
        "package": _visible(meta.get("package")),
        "options": {
            _visible(name): _visible(value) if isinstance(value, str) else value
            for name, value in _members(meta.get("options")).items()
            if isinstance(value, str | bool | int | None)
        },
        "limits": {
            _visible(name): bound
            for name, bound in _members(meta.get("limits")).items()
            if type(bound) in _BOUND
        },
        "relaxed": _names(meta.get("relaxed")),
        "notes": _names(meta.get("notes")),
        "frames": [
            {
                "state": frame["state"],
                **{k: _visible(frame.get(k)) for k in ("name", "why", "where")},
            }
            for frame in _items(meta.get("frames"))
            if isinstance(frame, dict) and type(frame.get("state")) is int
        ],
        "tokenizer": {
            "left_out": _left_out(_members(tokenizer.get("left_out"))),
            "allow": _names(tokenizer.get("allow")),
            "forbid": _names(tokenizer.get("forbid")),
            **({"eos_origin": _visible(origin)} if isinstance(origin, str) else {}),
        },
        "missing_bytes": _digits(meta.get("missing_bytes")),
        **{name: _count(_members(meta.get("counts")).get(name)) for name in ("actions", "traps")},
    }


def _left_out(reasons: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the reasons for leaving out tokens, with how many and which those are."""
    return {
        _visible(reason): {
            "count": _count(about.get("count")) or 0,
            "tokens": [
                [pair[0], _visible(pair[1])]
                for pair in _items(about.get("tokens"))
                if isinstance(pair, list) and [type(part) for part in pair] == [int, str]
            ],
        }
        for reason, about in reasons.items()
        if isinstance(about, dict)
    }


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(value: Any) -> list[str | int]:
    names = (each for each in _items(value) if type(each) in (str, int))
    return [_visible(each) if isinstance(each, str) else each for each in names]


def _visible(value: Any) -> str:
    """Return a text with what cannot be printed escaped; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)


def _count(value: Any) -> int | None:
    return value if type(value) is int else None


def _digits(value: Any) -> str:
    """Return a text if it spells bytes in hexadecimal digits."""
    try:
        return bytes.fromhex(value).hex()
    except (TypeError, ValueError):
        return ""

"""Text layouts: what stands between the parts of an array or object.

    compact   {"a":1,"b":[2,3]}         json.dumps(v, separators=(",", ":")); the default
    spaced    {"a": 1, "b": [2, 3]}     json.dumps(v)
    flexible  one space or none after each comma and colon, chosen anew each time

No layout has white space elsewhere, so a text never grows without bound between two tokens of JSON.
Empty arrays and objects are ``[]`` and ``{}`` in all three.
"""

from __future__ import annotations

from dataclasses import dataclass

from constrain.syntax import Literal, Node, concat, optional


@dataclass(frozen=True, slots=True)
class Layout:
    """The separators of one layout.

    Attributes
    ----------
    name : str
    comma : Node
        Between the items of an array and between the members of an object.
    colon : Node
        Between the name and the value of a member.
    """

    name: str
    comma: Node
    colon: Node


def layout(name: str) -> Layout:
    """Return a layout by name.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if name == "compact":
        return Layout(name, Literal(b","), Literal(b":"))
    if name == "spaced":
        return Layout(name, Literal(b", "), Literal(b": "))
    if name == "flexible":
        space = optional(Literal(b" "))
        return Layout(name, concat(Literal(b","), space), concat(Literal(b":"), space))
    raise ValueError(f"no layout {name!r}: it is compact, spaced or flexible")

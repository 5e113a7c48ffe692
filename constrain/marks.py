"""Which added tokens are plain text and which are control marks.

A tokenizer file says of every added token whether it is *special*. Special ones are never text. But
those that are not special hold both plain text (runs of spaces and newlines, HTML tags, words) and
marks that steer a chat format (``<tool_call>``, ``<|fim_prefix|>``, ``<unused17>``). A mark that is
allowed wherever its letters fit inside a string would let a model say ``<tool_call>`` as text and
the host read it as a command; forbidding it loses no text, as long as its letters can be spelled
one by one. So the rule leans to the safe side:

    control   the token holds ``<|``, ``|>`` or the full-width bar U+FF5C
    control   it starts with ``<``, holds a letter or digit, and is not an HTML tag by name
    control   it starts and ends with square brackets of any direction around a letter: ``[MASK]``
    text      everything else: white space, punctuation, words, ``<td>``, ``</td>``, ``<br/>``

Blanks around the token do not count. HTML tags are recognized by name, without attributes: the
elements that mark up text. Names that chat formats also use (audio, data, output, search, summary,
video, ...) are not among them. ``allow`` and ``forbid`` decide otherwise token
by token; special tokens stay out in any case.
"""

import re

_NAMES = """
    a abbr acronym address article aside b bdi bdo big blockquote body br caption center cite code
    col colgroup dd del details dfn div dl dt em fieldset figcaption figure font footer form h1 h2
    h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main meta nav
    ol option p pre q rp rt ruby s samp script section select small span strike strong style sub
    sup table tbody td textarea tfoot th thead time title tr tt u ul var wbr
"""
_HTML = frozenset(_NAMES.split())
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)\s*/?>")
_SQUARE = ("[", "]")
_BARS = ("<|", "|>", "\uff5c")


def is_control_mark(text: str) -> bool:
    """Return whether an added token that is not special steers a format, rather than being text.

    >>> [is_control_mark(text) for text in ("<tool_call>", "<|fim_prefix|>", "<unused1>", "[MASK]")]
    [True, True, True, True]
    >>> [is_control_mark(text) for text in ("</td>", "new word", "  ", "<=", "[0]")]
    [False, False, False, False, False]
    """
    core = text.strip()
    if any(bar in core for bar in _BARS):
        return True
    tag = _TAG.fullmatch(core)
    if tag is not None and tag[1].lower() in _HTML:
        return False
    if core.startswith("<"):
        return any(letter.isalnum() for letter in core)
    squared = core[:1] in _SQUARE and core[-1:] in _SQUARE
    return squared and any(letter.isalpha() for letter in core)

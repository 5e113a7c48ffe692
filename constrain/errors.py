"""The errors of the compiler, one class per audience and cause.

    ConstrainError               (from constrain.tables.errors; a ValueError)
    |- PatternError              a pattern is not well formed            pattern, span
    |  `- UnsupportedPattern     it is well formed, but not regular or not supported
    |- SchemaError               a JSON schema is not valid, or unsatisfiable   pointer, keyword
    |  |- RelaxError             ``relax`` names a place where there is no such keyword
    |  `- UnsupportedSchema      it is valid, but cannot be enforced exactly
    |- VocabularyError           a tokenizer cannot be read byte for byte
    |- DeadEndError              the vocabulary cannot spell the language       missing
    `- LimitError                a limit was reached                     what, given, limit, where

Fields carry the data; the command line draws the caret. ``PatternError`` and ``SchemaError`` mean
"mend the input", their ``Unsupported`` children mean "this system cannot do that, here is what can".
"""

import math

from constrain.tables.errors import (
    BudgetError,
    ConstrainError,
    StackLimitError,
    TableError,
    TokenRefused,
)

__all__ = [
    "BudgetError",
    "ConstrainError",
    "DeadEndError",
    "LimitError",
    "PatternError",
    "RelaxError",
    "SchemaError",
    "StackLimitError",
    "TableError",
    "TokenRefused",
    "UnsupportedPattern",
    "UnsupportedSchema",
    "VocabularyError",
]

_HUGE = 10**15  # numbers from here on are told by their size


class PatternError(ConstrainError):
    """A pattern is not well formed.

    Attributes
    ----------
    pattern : str
        The whole pattern.
    span : tuple[int, int]
        Start and end of the part at fault, in characters; empty spans point between characters.
    reason : str
        What is wrong, without the pattern.
    """

    def __init__(self, reason: str, pattern: str, span: tuple[int, int]) -> None:
        super().__init__(f"{reason} at position {span[0]} of pattern {pattern!r}")
        self.reason = reason
        self.pattern = pattern
        self.span = span


class UnsupportedPattern(PatternError):
    """A well-formed pattern uses something that is not regular, or not supported."""


class SchemaError(ConstrainError):
    """A JSON schema is not valid, or no instance can satisfy it.

    Attributes
    ----------
    pointer : str
        JSON pointer (RFC 6901) of the subschema at fault, ``""`` for the root.
    keyword : str | None
        The keyword at fault, where one is.
    reason : str
        What is wrong, without the place.
    """

    def __init__(self, reason: str, pointer: str = "", keyword: str | None = None) -> None:
        place = f"{pointer}/{keyword}" if keyword is not None else pointer
        super().__init__(f"{reason} (at {'#' + place})")
        self.reason = reason
        self.pointer = pointer
        self.keyword = keyword


class UnsupportedSchema(SchemaError):
    """A valid JSON schema holds a constraint that cannot be enforced exactly.

    Attributes
    ----------
    relaxable : bool
        Whether the option ``relax`` can leave the keyword unenforced, which is the way out then.
    """

    def __init__(
        self,
        reason: str,
        pointer: str = "",
        keyword: str | None = None,
        *,
        relaxable: bool = False,
    ) -> None:
        super().__init__(reason, pointer, keyword)
        self.relaxable = relaxable

    def __str__(self) -> str:
        """Return the message, with the way out."""
        advice = f"; relax=[{self.keyword!r}] leaves it unenforced" if self.relaxable else ""
        return super().__str__() + advice


class RelaxError(SchemaError):
    """The option ``relax`` names a place of a schema where no such keyword stands.

    Attributes
    ----------
    relax : str
        What was given, as KEYWORD@POINTER.
    """

    def __init__(self, reason: str, relax: str) -> None:
        super().__init__(reason)
        self.relax = relax

    def __str__(self) -> str:
        """Return the message."""
        return f"relax={[self.relax]!r} {self.reason}"


class VocabularyError(ConstrainError):
    """A tokenizer cannot be read, or its tokens do not stand for fixed bytes."""


class DeadEndError(ConstrainError):
    """The vocabulary cannot spell any text of the language.

    With frames: none is known. Texts that need a token which closes a frame and goes on are not
    looked for, since what such a token may do depends on all that is open. A vocabulary with a token
    for every byte has no dead ends.

    Attributes
    ----------
    missing : bytes
        The bytes that no usable token spells and that the language needs.
    """

    def __init__(self, message: str, *, missing: bytes = b"") -> None:
        super().__init__(message)
        self.missing = missing


class LimitError(ConstrainError):
    """A limit was reached; nothing was written.

    Attributes
    ----------
    what : str
        The quantity, for example ``"states"`` or ``"seconds"``.
    given, limit : float
        How much was asked for (or reached), and how much is allowed.
    where : str
        The sub-pattern or JSON pointer that costs the most, ``""`` where unknown.
    """

    def __init__(self, what: str, given: float, limit: float, where: str = "") -> None:
        place = f"; {where} costs the most" if where else ""
        super().__init__(f"too many {what}: {_amount(given)} of at most {_amount(limit)}{place}")
        self.what = what
        self.given = given
        self.limit = limit
        self.where = where


def _amount(number: float) -> str:
    if abs(number) >= _HUGE:
        return f"about 1e{int(math.log10(abs(number)))}"
    if isinstance(number, float):
        return f"{number:,.3g}" if number < 100 else f"{number:,.0f}"
    return f"{number:,}"

r"""Sets of numbers as languages of decimal spellings, closed by value.

A set of numbers is a canonical DFA over the plain decimal spellings (no exponent)

    universe() = -?(0|[1-9][0-9]*)(\.[0-9]+)?

in which a number is in with all of its spellings or with none: 1, 1.0 and 1.00 are one number, and
so are 0, -0 and -0.0. Then set algebra on the automata is set algebra on the numbers, and ``not``,
``minimum``, ``multipleOf`` and ``enum`` meet exactly, at any size: nothing is ever rounded.

*Order.* To compare a text with a bound, read the digits of both side by side: while the integer
parts run, their length decides, then the first digit that differs (``_compared``: about three
states for a digit of the bound).

*Multiples.* A number is a multiple of Q / 10**k if its digits, shifted by k places, are a multiple
of Q: the automaton remembers the remainder modulo Q, and how many fraction digits it has read.

``node`` writes a set as text: all of the numbers in JSON's whole grammar, exponents included; sets
of integers without a fraction and without -0; finite sets in the shortest spelling; other sets in
all their plain spellings (a model that has written "2." must be free to end with a zero).

Doesn't do: exponents in constrained numbers; draft 4's notion that 1.0 is no integer (texts of
integers have no fraction, so they are right in every draft).

Source: RFC 8259, section 6 (numbers).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from constrain.algebra import contains, difference, from_texts, intersection, is_finite, words
from constrain.determinize import language
from constrain.errors import LimitError
from constrain.limits import Meter
from constrain.minimize import minimal_dfa
from constrain.pattern import parse
from constrain.syntax import ByteSet, Embed, Node, alternate, concat, optional, star

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from constrain.dfa import DFA

_MINUS, _POINT = 1 << ord("-"), 1 << ord(".")
_DIGITS = tuple(1 << ord("0") + digit for digit in range(10))
_MAX_DIGITS = 4_000
_MAX_REMAINDERS = 20_000


State = tuple[int, int, int, int]

# What has been read: nothing, "-", "0" or "-0", an integer, "." after it, digits after that.
_START, _SIGNED, _ZERO, _INTEGER, _POINTED, _FRACTION = range(6)


def _regular(pattern: str) -> DFA:
    return language(parse(pattern, "bytes"))


@cache
def universe() -> DFA:
    """Return all plain decimal spellings."""
    return _regular(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


@cache
def integers() -> DFA:
    """Return the integral values, 1.0 among them."""
    return _regular(r"-?(0|[1-9][0-9]*)(\.0+)?")


@cache
def _without_fraction() -> DFA:
    return _regular(r"0|-?[1-9][0-9]*")


@cache
def _shortest() -> DFA:
    """Return the shortest spelling of every number."""
    return _regular(r"0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9]")


@cache
def _negative_zeros() -> DFA:
    return _regular(r"-0(\.0+)?")


@cache
def _grammar() -> tuple[Node, Node]:
    """Return all of JSON's numbers, and all that have neither fraction nor exponent."""
    number = parse(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", "bytes")
    return number, parse(r"-?(0|[1-9][0-9]*)", "bytes")


def at_least(bound: Fraction, exclusive: bool = False, meter: Meter | None = None) -> DFA:
    """Return the numbers greater than ``bound``, and itself unless ``exclusive``."""
    return _compared(bound, {1} if exclusive else {0, 1}, meter)


def at_most(bound: Fraction, exclusive: bool = False, meter: Meter | None = None) -> DFA:
    """Return the numbers less than ``bound``, and itself unless ``exclusive``."""
    return _compared(bound, {-1} if exclusive else {-1, 0}, meter)


def listed(members: Iterable[Fraction], meter: Meter | None = None) -> DFA:
    """Return a finite set of numbers, each in all its spellings."""
    whole: list[bytes] = []
    broken: list[bytes] = []  # with digits after the point
    for number in members:
        before, after = _split(number)
        text = f"{before}.{after}" if after else before
        signs = ("-", "") if not number else ("-",) if number < 0 else ("",)
        (broken if after else whole).extend((sign + text).encode() for sign in signs)
    zeros = star(ByteSet(_DIGITS[0]))
    tail = optional(concat(ByteSet(_POINT), ByteSet(_DIGITS[0]), zeros))
    spelled = (
        concat(Embed(from_texts(whole, meter)), tail),
        concat(Embed(from_texts(broken, meter)), zeros),
    )
    return language(alternate(*spelled), meter)


def multiple_of(step: Fraction, meter: Meter | None = None) -> DFA:
    """Return the multiples of ``step`` > 0.

    Raises
    ------
    LimitError
        If ``step`` has too many significant digits: its automaton has about as many states as the
        number that they form. Or if the time is up.
    """
    scaled, places = _scaled(step)
    if scaled > _MAX_REMAINDERS:
        raise LimitError("remainders of a multiple", scaled, _MAX_REMAINDERS)

    def digits(state: State) -> dict[State, int]:
        phase, _, remainder, place = state
        if phase in (_POINTED, _FRACTION) and place == places:  # only zeros may follow, if any
            return {} if remainder else {(_FRACTION, 0, remainder, place): _DIGITS[0]}
        in_fraction = phase in (_POINTED, _FRACTION)
        row: dict[State, int] = {}
        for digit, bit in enumerate(_DIGITS):
            after = _FRACTION if in_fraction else _integer(phase, digit)
            target = (after, 0, (remainder * 10 + digit) % scaled, place + in_fraction)
            row[target] = row.get(target, 0) | bit
        return row

    def accepts(state: State) -> bool:
        return state[2] * pow(10, places - state[3], scaled) % scaled == 0

    return _automaton(digits, accepts, meter)


def _compared(bound: Fraction, wanted: Collection[int], meter: Meter | None) -> DFA:
    """Return the numbers that compare with ``bound`` as wanted: -1 less, 0 equal, 1 greater.

    The magnitudes are compared. In a state (phase, side, place, order): ``side`` is the sign of the
    text, ``place`` the digits of the integer part or of the fraction that have been read, and
    ``order`` how they compare with as many digits of the bound.
    """
    whole, fraction = (list(map(int, digits)) for digits in _split(bound))
    sign = (bound > 0) - (bound < 0)

    def of_integer(place: int, order: int) -> int:
        return order if place == len(whole) else _compare(place, len(whole))

    def digits(state: State) -> dict[State, int]:
        phase, side, place, order = state
        known = whole
        if phase in (_POINTED, _FRACTION):
            known = fraction
            if phase == _POINTED:
                place, order = 0, of_integer(place, order)
        row: dict[State, int] = {}
        for digit, bit in enumerate(_DIGITS):
            expected = known[place] if place < len(known) else 0
            new_order = order or _compare(digit, expected)
            if known is whole:
                target = (_integer(phase, digit), side, min(place + 1, len(whole) + 1), new_order)
            else:
                target = (_FRACTION, side, min(place + 1, len(fraction)), new_order)
            row[target] = row.get(target, 0) | bit
        return row

    def accepts(state: State) -> bool:
        phase, side, place, order = state
        if phase != _FRACTION:
            place, order = 0, of_integer(place, order)
        order = order or _compare(place, len(fraction))
        if sign and sign != side:
            order = 1
        return side * order in wanted

    return _automaton(digits, accepts, meter)


def _compare(left: int, right: int) -> int:
    return (left > right) - (left < right)


def _integer(phase: int, digit: int) -> int:
    """Return the phase after a digit of the integer part."""
    return _ZERO if phase in (_START, _SIGNED) and digit == 0 else _INTEGER


def values(dfa: DFA, limit: int) -> list[Fraction] | None:
    """Return the numbers of a set, ascending; None if there are more than ``limit``."""
    texts = words(intersection(dfa, _shortest()), limit)
    return None if texts is None else sorted(Fraction(text.decode()) for text in texts)


def node(dfa: DFA) -> Node:
    """Return the text that is written for a set; not empty unless the set is.

    All numbers: JSON's whole grammar. All integers: JSON's numbers without fraction and exponent.
    Other sets of integers: no fraction, no -0. Other finite sets: the shortest spelling. Else: any
    plain spelling but those of -0.
    """
    number, integer = _grammar()
    if dfa.same_as(universe()):
        return number
    if dfa.same_as(integers()):
        return integer
    if contains(integers(), dfa):
        return Embed(intersection(dfa, _without_fraction()))
    shortest = intersection(dfa, _shortest())
    return Embed(shortest if is_finite(shortest) else difference(dfa, _negative_zeros()))


def _split(number: Fraction) -> tuple[str, str]:
    """Return the digits before and after the point of a number's shortest spelling; see ``_scaled``."""
    scaled, places = _scaled(number)
    text = str(scaled).rjust(places + 1, "0")
    return text[: len(text) - places], text[len(text) - places :]


def _scaled(number: Fraction) -> tuple[int, int]:
    """Return the least k and Q = abs(number) * 10**k that is an integer: (Q, k).

    Raises
    ------
    ValueError
        If no power of ten will do.
    LimitError
        If there are more than ``_MAX_DIGITS`` digits.
    """
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise ValueError(f"{number} is not a decimal number")
    places = max(twos, fives)
    scaled = abs(number.numerator) * 10**places // number.denominator
    n_digits = max(places, int(scaled.bit_length() * 0.30103))
    if n_digits > _MAX_DIGITS:
        raise LimitError("digits of a number", n_digits, _MAX_DIGITS)
    return scaled, places


def _automaton(
    digits: Callable[[State], dict[State, int]],
    accepts: Callable[[State], bool],
    meter: Meter | None,
) -> DFA:
    """Return the automaton of spellings whose digits are followed by ``digits``.

    A state is (what has been read, and three numbers that are the business of the caller). Sign and
    point are followed here: the sign by setting the second entry to -1, the point by
    ``_POINTED``.
    """
    meter = meter or Meter()
    start: State = (_START, 1, 0, 0)
    order: list[State] = [start]
    numbers: dict[State, int] = {start: 0}
    moves: list[dict[int, int]] = []
    for state in order:
        row: dict[int, int] = {}
        targets = {} if state[0] == _ZERO else digits(state)
        if state[0] == _START:
            targets[_SIGNED, -1, 0, 0] = _MINUS
        elif state[0] in (_ZERO, _INTEGER):
            targets[_POINTED, *state[1:]] = _POINT
        for target, bits in targets.items():
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            row[numbers[target]] = bits
        moves.append(row)
        if len(moves) % 512 == 0:
            meter.require("DFA states", len(order), meter.limits.max_states)
    complete = (_ZERO, _INTEGER, _FRACTION)
    return minimal_dfa([state[0] in complete and accepts(state) for state in order], moves, meter)

"""Sets of texts and of numbers under their Boolean operations, each language one object.

A ``Space`` is the subsets of one universe (all texts, all decimal numbers). Every language that
enters is interned: equal languages are the same ``DFA`` object, so they compare and hash by
identity, and each operation on a pair is done once.

``Texts`` adds what automata are bad at: counting. A set of texts is a *step function of the
length*: a tuple of (length, language), lengths ascending from 0; a text of n code points belongs to
the set if the language of the last step at or below n has it. Boolean operations work step by step.
So ``maxLength: 65535`` costs two steps instead of 65,536 copies of a character, and still
intersects with patterns, and still has a complement. Steps at small lengths are folded into the
automaton, where emptiness and equality are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from constrain import algebra
from constrain.dfa import DFA
from constrain.minimize import EMPTY
from constrain.schema import strings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from constrain.limits import Meter

Steps: TypeAlias = tuple[tuple[int, DFA], ...]
"""(length, language), lengths ascending from 0."""

FOLD = 40
"""Steps up to this length are folded into the automaton."""


class Space:
    """The subsets of one universe of byte strings, interned.

    Attributes
    ----------
    everything, nothing : DFA
        The universe and the empty set.
    """

    def __init__(self, universe: DFA, meter: Meter) -> None:
        self.meter = meter
        self._interned: dict[tuple[bytes, bytes], DFA] = {}
        self._memo: dict[tuple[str, DFA, DFA], DFA] = {}
        self.everything = self.intern(universe)
        self.nothing = self.intern(EMPTY)

    def intern(self, language: DFA) -> DFA:
        """Return the one object for a language (a canonical automaton)."""
        key = (language.trans.tobytes(), language.accept.tobytes())
        return self._interned.setdefault(key, language)

    def meet(self, left: DFA, right: DFA) -> DFA:
        """Return the intersection of two interned languages."""
        if left is self.everything or right is self.nothing or left is right:
            return right
        if right is self.everything or left is self.nothing:
            return left
        return self._apply("meet", algebra.intersection, left, right)

    def join(self, left: DFA, right: DFA) -> DFA:
        """Return the union of two interned languages."""
        if left is self.everything or right is self.nothing or left is right:
            return left
        if right is self.everything or left is self.nothing:
            return right
        return self._apply("join", algebra.union, left, right)

    def minus(self, left: DFA, right: DFA) -> DFA:
        """Return what is in the left and not in the right of two interned languages."""
        if right is self.nothing or left is self.nothing:
            return left
        if left is right or right is self.everything:
            return self.nothing
        return self._apply("minus", algebra.difference, left, right)

    def join_all(self, languages: Iterable[DFA]) -> DFA:
        """Return the union of any number of languages."""
        return self.intern(algebra.union_all(languages, self.meter))

    def _apply(
        self, name: str, operation: Callable[[DFA, DFA, Meter], DFA], left: DFA, right: DFA
    ) -> DFA:
        key = (name, left, right)
        result = self._memo.get(key)
        if result is None:
            result = self._memo[key] = self.intern(operation(left, right, self.meter))
        return result


class Texts:
    """Sets of texts as step functions of the length.

    Attributes
    ----------
    space : Space
        The languages of the steps.
    everything, nothing : Steps
    """

    def __init__(self, meter: Meter) -> None:
        self.space = Space(strings.universe(), meter)
        self.everything: Steps = ((0, self.space.everything),)
        self.nothing: Steps = ((0, self.space.nothing),)
        self._lengths: dict[tuple[int, int | None], DFA] = {}
        self._literals: dict[tuple[str, ...], DFA] = {}

    def of(self, language: DFA) -> Steps:
        """Return the set of the texts of a language."""
        return ((0, self.space.intern(language)),)

    def literals(self, texts: Iterable[str]) -> DFA:
        """Return the language of some texts (``strings.literals``), made once."""
        key = tuple(texts)
        language = self._literals.get(key)
        if language is None:
            language = self.space.intern(strings.literals(key))
            self._literals[key] = language
        return language

    def between(self, minimum: int, maximum: int | None) -> Steps:
        """Return the texts of ``minimum`` to ``maximum`` code points."""
        steps = {0: self.space.nothing, minimum: self.space.everything}
        if maximum is not None:
            steps[max(minimum, maximum + 1)] = self.space.nothing
        return self._normal(list(steps.items()))

    def meet(self, left: Steps, right: Steps) -> Steps:
        """Return the intersection."""
        return self._pointwise(self.space.meet, left, right)

    def join(self, left: Steps, right: Steps) -> Steps:
        """Return the union."""
        return self._pointwise(self.space.join, left, right)

    def minus(self, left: Steps, right: Steps) -> Steps:
        """Return what is in the left and not in the right."""
        return self._pointwise(self.space.minus, left, right)

    def has(self, steps: Steps, text: str) -> bool:
        """Return whether a text belongs to the set."""
        data = text.encode("utf-8", "surrogatepass")
        return [language for length, language in steps if length <= len(text)][-1].matches(data)

    def pieces(self, steps: Steps) -> list[tuple[int, int | None, DFA]]:
        """Return (least length, greatest length, language) of the steps that are not empty."""
        ends = [length - 1 for length, _ in steps[1:]]
        bounds = zip(steps, [*ends, None], strict=True)
        return [
            (length, end, language)
            for (length, language), end in bounds
            if language is not self.space.nothing
        ]

    def folded(self, minimum: int, maximum: int | None, language: DFA) -> DFA:
        """Return the texts of a language with a number of code points, as one automaton."""
        if minimum == 0 and maximum is None:
            return language
        counted = self._lengths.get((minimum, maximum))
        if counted is None:
            counted = self.space.intern(strings.length(minimum, maximum, self.space.meter))
            self._lengths[minimum, maximum] = counted
        return self.space.meet(language, counted)

    def flat(self, steps: Steps) -> DFA:
        """Return the set as one automaton, however long its lengths."""
        return self.space.join_all(self.folded(*piece) for piece in self.pieces(steps))

    def _pointwise(self, rule: Callable[[DFA, DFA], DFA], left: Steps, right: Steps) -> Steps:
        if len(left) == len(right) == 1:
            return ((0, rule(left[0][1], right[0][1])),)
        lengths = sorted({length for length, _ in (*left, *right)})
        merged: list[tuple[int, DFA]] = []
        for length in lengths:
            sides = [[x for n, x in side if n <= length][-1] for side in (left, right)]
            merged.append((length, rule(sides[0], sides[1])))
        return self._normal(merged)

    def _normal(self, steps: list[tuple[int, DFA]]) -> Steps:
        """Empty the steps no text of which has a fitting length, join equal ones, fold short."""
        ends = [length - 1 for length, _ in steps[1:]]
        normal: list[tuple[int, DFA]] = []
        for (length, language), end in zip(steps, [*ends, None], strict=True):
            fits = language is not self.space.nothing and strings.lengths(language, length, end)
            kept = language if fits else self.space.nothing
            if not normal or normal[-1][1] is not kept:
                normal.append((length, kept))
        if 0 < normal[-1][0] <= FOLD:
            return ((0, self.flat(tuple(normal))),)
        return tuple(normal)

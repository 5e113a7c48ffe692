"""Boolean formulas over atoms, each in one canonical form: what may stand at a place of a document.

An atom is a set of JSON values (the assertions of one subschema, a constant, "has a member x"); it
is a number here, and ``constrain.schema.world`` knows what it means. ``allOf``, ``anyOf``, ``not``
and the rest make formulas of atoms. Formulas are reduced ordered binary decision diagrams (Bryant,
"Graph-Based Algorithms for Boolean Function Manipulation", 1986), hash-consed: a formula is an
integer, and equal functions of the atoms are equal integers.

Canonicity is what makes recursion end. A schema has finitely many atoms, so there are finitely many
formulas over them: whatever intersections and complements arise on the way through a recursive
schema, sooner or later a known formula comes back, and what is known by its number is built once.

Atoms are tested in the order of their numbers, smallest first. Cost: a connective is linear in the
product of the sizes of its operands. The diagrams of schemas are small, but those of some functions
double with every atom, whatever the order; so their steps are counted and the clock is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from constrain.limits import Meter

Formula: TypeAlias = int

FALSE: Formula = 0
TRUE: Formula = 1


class Formulas:
    """The table of all formulas made so far; a formula is an index into it."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        top = 1 << 62  # a test after every atom
        self._nodes: list[tuple[int, Formula, Formula]] = [(top, 0, 0), (top, 1, 1)]
        self._numbers: dict[tuple[int, Formula, Formula], Formula] = {}
        self._memo: dict[tuple[Formula, Formula, Formula], Formula] = {}

    def test(self, formula: Formula) -> tuple[int, Formula, Formula]:
        """Return (atom, formula if it holds, formula if it does not) of a formula not constant."""
        return self._nodes[formula]

    def atom(self, number: int) -> Formula:
        """Return the formula that one atom holds."""
        return self._node(number, TRUE, FALSE)

    def conjunction(self, left: Formula, right: Formula) -> Formula:
        """Return that both hold."""
        return self.choice(left, right, FALSE)

    def disjunction(self, left: Formula, right: Formula) -> Formula:
        """Return that either holds."""
        return self.choice(left, TRUE, right)

    def negation(self, formula: Formula) -> Formula:
        """Return that it does not hold."""
        return self.choice(formula, FALSE, TRUE)

    def difference(self, left: Formula, right: Formula) -> Formula:
        """Return that the left holds and the right does not."""
        return self.choice(right, FALSE, left)

    def implies(self, left: Formula, right: Formula) -> bool:
        """Return whether the right holds whenever the left does, for any meaning of the atoms."""
        return self.difference(left, right) == FALSE

    def _node(self, atom: int, high: Formula, low: Formula) -> Formula:
        if high == low:
            return high
        key = (atom, high, low)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._nodes)
            self._nodes.append(key)
        return number

    def choice(self, test: Formula, high: Formula, low: Formula) -> Formula:
        """Return ``high`` where the test holds and ``low`` where it does not."""
        whole = (test, high, low)
        known = self._known(whole)
        if known is not None:
            return known
        open_ = [whole]
        while open_:  # as deep as there are atoms: no recursion
            key = test, high, low = open_[-1]
            atom = min(self._nodes[test][0], self._nodes[high][0], self._nodes[low][0])
            branches: list[Formula] = []
            for holds in (True, False):
                branch = (
                    self._cofactor(test, atom, holds),
                    self._cofactor(high, atom, holds),
                    self._cofactor(low, atom, holds),
                )
                known = self._known(branch)
                if known is None:
                    open_.append(branch)
                else:
                    branches.append(known)
            if len(branches) == 2:
                open_.pop()
                self._memo[key] = self._node(atom, branches[0], branches[1])
                self._meter.require(
                    "nodes of formulas", len(self._memo), self._meter.limits.max_nodes
                )
        return self._memo[whole]

    def _known(self, key: tuple[Formula, Formula, Formula]) -> Formula | None:
        test, high, low = key
        if test == TRUE or high == low:
            return high
        if test == FALSE:
            return low
        if high == TRUE and low == FALSE:
            return test
        return self._memo.get(key)

    def _cofactor(self, formula: Formula, atom: int, holds: bool) -> Formula:
        number, high, low = self._nodes[formula]
        if number != atom:
            return formula
        return high if holds else low

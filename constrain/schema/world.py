"""From formulas to shapes: the Boolean operations on sets of JSON values.

A ``World`` belongs to one compile. It knows what each atom means (a function that makes its shape,
called once, when first looked at), turns formulas into shapes, and answers whether a formula is
``possible``. Looking is lazy: a shape holds formulas for what lies deeper in the document, and only
questions of emptiness go down. A question that comes back to itself is answered "possible": that is
never wrong, since only parts that are *surely* empty are dropped early; the automaton drops the
rest.

A diagram is turned into a shape by cutting a context down on the way: at an atom the context is
intersected with the atom on one branch and loses it on the other; what it loses is taken away last.
So complements are only ever taken inside a small context, where most of their pieces vanish, and
never where a formula is monotone.

*Two views.* Some formats are enforced by a subset of what they mean. Where such an atom stands
under ``not`` the rest of its meaning would slip through, so there is a second view of the same
world, ``upper``, in which such atoms are taken too large. What is subtracted, and what must be
disjoint to be told apart, is looked at from above; so the result is always within the truth.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from constrain.errors import UnsupportedSchema
from constrain.schema import arrays, numbers, objects
from constrain.schema.formulas import FALSE, TRUE, Formula, Formulas
from constrain.schema.languages import Space, Texts
from constrain.schema.shapes import ArrayShape, NameClass, ObjectShape, Origin, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from constrain.limits import Meter

Maker: TypeAlias = "Callable[[World], Shape]"


class World:
    """What the atoms of one compile mean, and the algebra of shapes.

    Attributes
    ----------
    formulas : Formulas
    texts, numbers : Texts, Space
    everything, nothing : Shape
    upper : World
        The view in which inexact atoms are too large; the same object where all are exact.
    """

    def __init__(self, meter: Meter, *, exact: bool = True) -> None:
        self.meter = meter
        self.formulas = Formulas(meter)
        self.texts = Texts(meter)
        self.numbers = Space(numbers.universe(), meter)
        anything = NameClass(self.texts.space.everything, TRUE, Origin.FREE)
        self.free_object = ObjectShape(rest=(anything,))
        self.everything = Shape(
            null=True,
            booleans=frozenset((False, True)),
            numbers=self.numbers.everything,
            strings=self.texts.everything,
            arrays=(ArrayShape(),),
            objects=(self.free_object,),
        )
        self.nothing = Shape(
            null=False,
            booleans=frozenset(),
            numbers=self.numbers.nothing,
            strings=self.texts.nothing,
            arrays=(),
            objects=(),
        )
        self._makers: list[Maker] = []
        self._keys: dict[Hashable, Formula] = {}
        self._start_view()
        self.upper = self
        if not exact:
            self.upper = World.__new__(World)
            self.upper.__dict__.update(self.__dict__)
            self.upper._start_view()
            self.upper.upper = self.upper
            self.upper.lower = self

    def _start_view(self) -> None:
        self.lower = self
        self._atoms: dict[int, Shape] = {}
        self._making: set[int] = set()
        self._questions = 0  # that are open
        self._shapes: dict[Formula, Shape] = {TRUE: self.everything, FALSE: self.nothing}
        self._possible: dict[Formula, bool] = {TRUE: True, FALSE: False}

    @property
    def is_upper(self) -> bool:
        """Whether inexact atoms must be taken too large."""
        return self.lower is not self

    def atom(self, key: Hashable, maker: Maker) -> Formula:
        """Return the formula of an atom; one key is one atom."""
        formula = self._keys.get(key)
        if formula is None:
            formula = self._keys[key] = self.formulas.atom(len(self._makers))
            self._makers.append(maker)
        return formula

    def shape(self, formula: Formula) -> Shape:
        """Return the values of a formula as a shape."""
        shape = self._shapes.get(formula)
        if shape is None:
            self.meter.tick()
            with self._question():
                shape = self._shapes[formula] = self._within(formula, self.everything)
        return shape

    @contextmanager
    def _question(self) -> Iterator[None]:
        """Count a question that others are asked for; schemas can lead on and on."""
        self._questions += 1
        try:
            self.meter.descend(self._questions)
            yield
        finally:
            self._questions -= 1

    def possible(self, formula: Formula) -> bool:
        """Return False only if no value satisfies the formula."""
        answer = self._possible.get(formula)
        if answer is None:
            self._possible[formula] = True  # while the question is open
            with self._question():
                answer = self._possible[formula] = not self.is_empty(self.shape(formula))
        return answer

    def is_empty(self, shape: Shape) -> bool:
        """Return True only if no value belongs to the shape."""
        return (
            not (shape.null or shape.booleans)
            and shape.numbers is self.numbers.nothing
            and not self.texts.pieces(shape.strings)
            and all(arrays.tidy(self, record) is None for record in shape.arrays)
            and all(objects.vacant(self, record) for record in shape.objects)
        )

    def _atom(self, number: int) -> Shape:
        shape = self._atoms.get(number)
        if shape is None:
            if number in self._making:
                raise UnsupportedSchema("propertyNames refers to the object it belongs to")
            self._making.add(number)
            shape = self._atoms[number] = self._makers[number](self)
        return shape

    def _within(self, formula: Formula, context: Shape, without: tuple[int, ...] = ()) -> Shape:
        """Return the values of the context that satisfy the formula and none of some atoms.

        What is to be taken away waits until the context has been cut down to where the formula
        is true: the smaller the context, the more of the pieces of a difference are empty.
        """
        parts: list[Shape] = []
        implies = self.formulas.implies
        while formula not in (FALSE, TRUE) and context != self.nothing:
            number, high, low = self.formulas.test(formula)
            if low == FALSE:
                context, formula = self.meet(context, self._atom(number)), high
            elif high == FALSE:
                without, formula = (*without, number), low
            else:  # a loop along the side that is long for a list of alternatives
                inside = context if implies(high, low) else self.meet(context, self._atom(number))
                parts.append(self._within(high, inside, without))
                without = without if implies(low, high) else (*without, number)
                formula = low
        result = self.nothing if formula == FALSE else self._without(context, without)
        for part in reversed(parts):
            result = self.join(part, result)
        return result

    def _without(self, context: Shape, atoms: tuple[int, ...]) -> Shape:
        """Return the values of the context that satisfy none of the atoms."""
        other = self.lower if self.is_upper else self.upper
        for number in atoms:
            if context == self.nothing:
                break
            self.meter.tick()
            context = self.minus(context, other._atom(number))
        return context

    def meet(self, left: Shape, right: Shape) -> Shape:
        """Return the intersection of two shapes."""
        if left in (self.everything, right):
            return right
        if right == self.everything:
            return left
        found_arrays = [arrays.meet(self, a, b) for a in left.arrays for b in right.arrays]
        found = [objects.meet(self, a, b) for a in left.objects for b in right.objects]
        return Shape(
            left.null and right.null,
            left.booleans & right.booleans,
            self.numbers.meet(left.numbers, right.numbers),
            self.texts.meet(left.strings, right.strings),
            arrays.join([record for record in found_arrays if record is not None]),
            objects.join(self, [record for record in found if record is not None]),
        )

    def join(self, left: Shape, right: Shape) -> Shape:
        """Return the union of two shapes."""
        if left in (self.nothing, right):
            return right
        if right == self.nothing:
            return left
        return Shape(
            left.null or right.null,
            left.booleans | right.booleans,
            self.numbers.join(left.numbers, right.numbers),
            self.texts.join(left.strings, right.strings),
            arrays.join([*left.arrays, *right.arrays]),
            objects.join(self, [*left.objects, *right.objects]),
        )

    def minus(self, left: Shape, right: Shape) -> Shape:
        """Return what belongs to the left shape and not to the right."""
        array_records, object_records = list(left.arrays), list(left.objects)
        for array in right.arrays:
            array_records = [p for a in array_records for p in arrays.minus(self, a, array)]
        for record in right.objects:
            pieces = [p for a in object_records for p in objects.minus(self, a, record)]
            object_records = list(objects.join(self, pieces))
            self.meter.tick()
        return Shape(
            left.null and not right.null,
            left.booleans - right.booleans,
            self.numbers.minus(left.numbers, right.numbers),
            self.texts.minus(left.strings, right.strings),
            arrays.join(array_records),
            tuple(object_records),
        )

    def disjoint(self, left: Formula, right: Formula) -> bool:
        """Return True only if no value satisfies both formulas, inexact ones taken too large."""
        return not self.upper.possible(self.formulas.conjunction(left, right))

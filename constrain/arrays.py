"""Small operations on arrays that several modules need.

They do what ``np.unique`` and its like do for the small arrays of most schemas, at a fraction of the
calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.integer[Any])


def ranges(
    begin: NDArray[np.integer], end: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the concatenation of ranges, and for each member the index of its range."""
    counts = end - begin
    which = np.arange(len(counts)).repeat(counts)
    before = counts.cumsum(dtype=np.intp)
    before -= end
    at = np.arange(len(which))
    at -= before.take(which)
    return at, which


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Return the distinct values, ascending."""
    values = np.sort(values)
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]


def longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    """Return a copy with zeros after it."""
    result = np.zeros(length, dtype=array.dtype)
    result[: len(array)] = array
    return result


def mixed(n: int) -> NDArray[np.uint64]:
    """Return n numbers without a pattern (importing ``numpy.random`` takes longer than most tables).

    They are the first of SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
    Generators", 2014.
    """
    result = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        result = (result ^ (result >> np.uint64(shift))) * np.uint64(factor)
    return result

"""What the fuzzer once found stays found, and a sample of its inputs runs every time.

``tests/fuzz/run.py`` looks for more; ``tests/hostile.py`` runs thousands, bounded.
"""

from __future__ import annotations

import random
from pathlib import Path

import hostile
import pytest
from fuzz import subjects

FOLDER = Path(__file__).parent / "fuzz"
CRASHES = sorted(path for path in (FOLDER / "crashes").glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: f"{path.parent.name}-{path.name[:14]}")
def test_every_crash_is_mended(path: Path) -> None:
    subjects.outcome(subjects.SUBJECTS[path.parent.name], path.read_bytes())


@pytest.mark.parametrize("target", subjects.SUBJECTS)
def test_a_sample_of_hostile_inputs(target: str) -> None:
    ends = {
        subjects.outcome(subjects.SUBJECTS[target], random.Random(f"{target} {n}").randbytes(500))
        for n in range(25)
    }
    assert "ok" in ends
    assert len(ends) > 1


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_bounded_workers(kind: str) -> None:
    results = hostile.watch(kind, range(10))
    assert sorted(results) == list(range(10))
    assert not [r for r, _ in results.values() if r.split()[0] in hostile.FAULTS]


def test_a_worker_that_dies_is_replaced() -> None:
    """A kind that does not exist ends the worker in the middle of an input."""
    results = hostile.watch("no such kind", range(2))
    assert [results[seed][0] for seed in range(2)] == ["CRASH", "CRASH"]

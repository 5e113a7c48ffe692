"""The mutants of the core still apply to the source; ``make mutants-core`` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants.core import CORE
from mutants.run import count

TESTS = Path(__file__).parent


@pytest.mark.parametrize("mutant", CORE, ids=lambda mutant: mutant.name)
def test_each_edit_applies_once_and_names_tests_that_exist(mutant):
    for edit in mutant.edits:
        assert count(edit) == 1, f"rewrite the edit {edit.old!r} of {edit.file}"
        assert edit.old != edit.new
    for test in mutant.tests:
        assert (TESTS.parent / test.split("::")[0]).is_file(), test
    assert mutant.tests


def test_every_module_of_the_core_has_a_mutant():
    mutated = {Path(edit.file).stem for mutant in CORE for edit in mutant.edits}
    wanted = {
        "minimize",
        "determinize",
        "subsets",
        "calls",
        "counting",
        "exits",
        "distances",
        "masks",
        "actions",
    }
    wanted |= {
        "trie",
        "spelling",
        "load",
        "constraint",
        "budget",
        "framed",
        "objects",
        "arrays",
        "plans",
    }
    wanted |= {"write_objects", "write_arrays", "numbers", "strings", "algebra", "nfa", "anchors"}
    wanted |= {"formulas"}
    assert mutated >= wanted
    assert len({mutant.name for mutant in CORE}) == len(CORE)

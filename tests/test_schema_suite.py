"""The JSON-Schema-Test-Suite against the ratchet; see ``tests/schema_suite.py``."""

from __future__ import annotations

import pytest
import schema_suite

pytestmark = pytest.mark.skipif(
    not schema_suite.SUITE.exists(), reason="the JSON-Schema-Test-Suite is not beside the project"
)


@pytest.mark.parametrize("name", schema_suite.files())
def test_no_outcome_is_worse_than_recorded_and_nothing_invalid_is_accepted(name: str) -> None:
    """Every test of the file is as good as in the ratchet; false positives and crashes fail."""
    outcomes = schema_suite.run_file(name)
    assert schema_suite.regressions(name, outcomes, schema_suite.read_ratchet()) == []


def test_the_ratchet_lists_exactly_the_tests_of_the_suite() -> None:
    """A test that vanished or was never recorded cannot hide."""
    recorded = {name: set(tests) for name, tests in schema_suite.read_ratchet().items()}
    present = {
        name: {
            f"{group['description']} / {test['description']}"
            for group in schema_suite.load((schema_suite.SUITE / "tests" / name).read_bytes())
            for test in group["tests"]
        }
        for name in schema_suite.files()
    }
    assert recorded == present

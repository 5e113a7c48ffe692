"""A sample of real schemas: nothing invalid is accepted, and nothing crashes.

``python tests/real_schemas.py --open`` runs them all.
"""

from __future__ import annotations

import pytest
import real_schemas

pytestmark = pytest.mark.skipif(
    not real_schemas.DATA.exists(), reason="the real schemas are not beside the project"
)


@pytest.mark.parametrize("open_", [True, False])
def test_a_sample_of_real_schemas(open_: bool) -> None:
    """Closed objects refuse more; neither way accepts what is invalid."""
    outcomes = real_schemas.run_all(real_schemas.read_cases("", 10), 2, open_)
    counts = real_schemas.summary(outcomes)
    assert counts["schemas"] == 10
    assert counts["with_invalid_accepted"] == 0
    assert not {"crash", "harness", "other"} & counts["failures"].keys()
    assert counts["compiled_share"] >= 0.8
    assert not open_ or counts["with_valid_refused"] == 0


def test_a_schema_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child is killed and the schema counted, whatever it does."""
    monkeypatch.setattr(real_schemas, "SECONDS", 0.2)
    monkeypatch.setattr(real_schemas, "GRACE", 0.0)
    monkeypatch.setattr(
        real_schemas, "judge_schema", lambda case, open_: real_schemas.time.sleep(60)
    )
    (outcome,) = real_schemas.run_all([{"name": "slow"}], 1, True)
    assert (outcome["name"], outcome["status"]) == ("slow", "timeout")

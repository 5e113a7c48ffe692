"""Schemas of public bug reports on other systems, with texts that must pass and must not.

The cases are in ``corpus/reported_schemas.json``; each names the report it is drawn from. Every
layout and every frame mode must judge them alike.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from oracles.schemas import machine

from constrain.errors import SchemaError

CASES = json.loads((Path(__file__).parent / "corpus" / "reported_schemas.json").read_text("utf-8"))


def text(given: Any) -> bytes:
    """Return a text of the corpus; {"repeat": [a, b, n, c]} is a, n times b, c."""
    if isinstance(given, dict):
        before, part, count, after = given["repeat"]
        given = before + part * count + after
    return given.encode("utf-8")


@pytest.mark.parametrize("frames", ["needed", "always"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["source"].split(" ")[0])
def test_reported_schemas(case: dict[str, Any], frames: str) -> None:
    if "error" in case:
        with pytest.raises(SchemaError, match=case["error"]):
            machine(case["schema"], frames=frames)
        return
    table = machine(case["schema"], frames=frames)
    assert [t for t in case["accept"] if not table.matches(text(t))] == []
    assert [t for t in case["reject"] if table.matches(text(t))] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["source"].split(" ")[0])
def test_reported_schemas_accept_the_same_values_when_open_and_flexible(
    case: dict[str, Any],
) -> None:
    """The open table in the flexible layout accepts the same texts, and with spaces as well."""
    if "error" in case:
        return
    table = machine(case["schema"], open=True, layout="flexible")
    for given in case["accept"]:
        data = text(given)
        spaced = json.dumps(json.loads(data), ensure_ascii=False).encode()
        assert table.matches(data)
        assert table.matches(spaced) or b"\\" in data or b"E" in data or b"e" in data

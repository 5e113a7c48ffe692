"""Random schemas against ``jsonschema``: what is written validates, what validates can be written."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from oracles.instance_layout import permutations, text_of
from oracles.schemas import INSTANCES, machine, sampled, schemas, validator

from constrain.calls import CountError
from constrain.errors import LimitError, SchemaError, UnsupportedSchema
from constrain.machine import Machine

LONG_NUMBER = re.compile(rb"[0-9.eE+-]{14}")
"""Numbers that binary floating point, in which the oracle computes, may round."""
SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def compiled(schema: Any, **options: Any) -> Machine | None:
    """Return the machine; None if the schema is refused or nothing satisfies it."""
    try:
        return machine(schema, **options)
    except UnsupportedSchema as error:
        event(f"refused: {error.keyword}")
    except (SchemaError, LimitError) as error:
        event(type(error).__name__)
    return None


def accepted(table: Machine, instance: Any) -> bool:
    """Return whether an instance is accepted in some order of its members."""
    texts = (text_of(order, plain=plain) for order in permutations(instance) for plain in (0, 1))
    return any(table.matches(text.encode()) for text in texts)


@given(schemas(), st.integers(0, 1 << 30))
@SETTINGS
def test_an_open_table_accepts_exactly_the_valid_instances(schema: Any, seed: int) -> None:
    """Of small instances, those are accepted (in some order) that ``jsonschema`` accepts."""
    table = compiled(schema, open=True)
    assume(table is not None)
    assert table is not None
    judge = validator(schema)
    for instance in random.Random(seed).sample(INSTANCES, 30):
        assert accepted(table, instance) == judge.is_valid(instance), instance


@given(schemas(), st.integers(0, 1 << 30), st.booleans(), st.sampled_from(["compact", "flexible"]))
@SETTINGS
def test_every_text_that_is_written_is_valid(
    schema: Any, seed: int, open_: bool, layout: str
) -> None:
    """Random texts of the table parse as JSON (last of equal names wins) and validate."""
    table = compiled(schema, open=open_, layout=layout)
    assume(table is not None)
    assert table is not None
    judge = validator(schema)
    for i in range(8):
        text = sampled(table, seed + i)
        if text is not None and not LONG_NUMBER.search(text):
            instance = json.loads(text)
            assert judge.is_valid(instance), text


@given(schemas(), st.integers(0, 1 << 30))
@SETTINGS
def test_a_closed_table_accepts_only_valid_instances(schema: Any, seed: int) -> None:
    """Closing objects leaves out texts and adds none."""
    table = compiled(schema, open=False)
    assume(table is not None)
    assert table is not None
    judge = validator(schema)
    for instance in random.Random(seed).sample(INSTANCES, 30):
        if accepted(table, instance):
            assert judge.is_valid(instance), instance


def test_count_errors_are_not_hidden() -> None:
    """The differential tests would fail on a count that the run time cannot keep."""
    assert not issubclass(CountError, SchemaError | LimitError)

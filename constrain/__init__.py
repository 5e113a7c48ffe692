"""Compile a regular expression or a JSON schema and a tokenizer into one table of token masks.

The names below are resolved when first used, so that importing the loader (``constrain.tables``)
loads neither the compiler nor its dependencies.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from constrain.dfa import DEAD, DFA
    from constrain.errors import (
        BudgetError,
        ConstrainError,
        DeadEndError,
        LimitError,
        PatternError,
        SchemaError,
        StackLimitError,
        TableError,
        TokenRefused,
        UnsupportedPattern,
        UnsupportedSchema,
        VocabularyError,
    )
    from constrain.index import TokenIndex
    from constrain.json_language import any_json
    from constrain.limits import Limits
    from constrain.pattern import regex_to_dfa
    from constrain.pipeline import compile
    from constrain.sampling import SamplingParams, constrained_sample, sample
    from constrain.schema.portable import json_schema_to_regex
    from constrain.syntax import Frame, Grammar
    from constrain.tables import Constraint, Table, apply_mask
    from constrain.tables.load import load
    from constrain.vocabulary import Vocabulary, read_vocabulary, vocab_bytes

__version__ = "0.1.0"

_HOMES = {
    "constrain.dfa": ("DEAD", "DFA"),
    "constrain.errors": (
        "BudgetError",
        "ConstrainError",
        "DeadEndError",
        "LimitError",
        "PatternError",
        "SchemaError",
        "StackLimitError",
        "TableError",
        "TokenRefused",
        "UnsupportedPattern",
        "UnsupportedSchema",
        "VocabularyError",
    ),
    "constrain.index": ("TokenIndex",),
    "constrain.json_language": ("any_json",),
    "constrain.limits": ("Limits",),
    "constrain.pattern": ("regex_to_dfa",),
    "constrain.pipeline": ("compile",),
    "constrain.sampling": ("SamplingParams", "constrained_sample", "sample"),
    "constrain.schema.portable": ("json_schema_to_regex",),
    "constrain.syntax": ("Frame", "Grammar"),
    "constrain.tables": ("Constraint", "Table", "apply_mask", "load"),
    "constrain.vocabulary": ("Vocabulary", "read_vocabulary", "vocab_bytes"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "DEAD",
    "DFA",
    "BudgetError",
    "ConstrainError",
    "Constraint",
    "DeadEndError",
    "Frame",
    "Grammar",
    "LimitError",
    "Limits",
    "PatternError",
    "SamplingParams",
    "SchemaError",
    "StackLimitError",
    "Table",
    "TableError",
    "TokenIndex",
    "TokenRefused",
    "UnsupportedPattern",
    "UnsupportedSchema",
    "Vocabulary",
    "VocabularyError",
    "any_json",
    "apply_mask",
    "compile",
    "constrained_sample",
    "json_schema_to_regex",
    "load",
    "read_vocabulary",
    "regex_to_dfa",
    "sample",
    "vocab_bytes",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first used."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, also those not imported yet."""
    return sorted({*globals(), *_HOME})

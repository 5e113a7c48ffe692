"""Everything small, exhaustively: vocabularies against automata, schemas against documents.

Patterns are in ``test_pattern.py``. Nothing here is drawn at random.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest
from oracles.brute import brute_force_mask
from oracles.schemas import machine

from constrain.errors import DeadEndError, SchemaError, UnsupportedSchema
from constrain.index import TokenIndex
from constrain.limits import Meter
from constrain.assemble import assemble
from constrain.machine import Machine
from constrain.minimize import canonical
from constrain.tables import Constraint
from constrain.tables.load import parse as parse_table
from constrain.tables.verify import verify
from constrain.tables.write import serialized
from constrain.trie import build_trie
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.dfa import DFA
    from constrain.tables import Table

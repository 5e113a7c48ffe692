"""The run time: load a table, hold texts to it. NumPy and the standard library, nothing else.

>>> from constrain.tables import Constraint, load  # doctest: +SKIP
>>> run = Constraint(load("tool.npz"))             # doctest: +SKIP

``format`` says what a table is; ``load`` and ``write`` move it from and to a file, ``verify``
proves a file; ``constraint`` runs one text and ``batch`` several; ``bitmask`` applies masks to
logits. The modules named after hosts (``transformers``, ``llama_cpp``, ``sglang``, ``vllm``) adapt
runs to them.
"""

from constrain.tables.batch import ConstraintBatch
from constrain.tables.bitmask import apply_bitmask, apply_mask
from constrain.tables.constraint import Constraint
from constrain.tables.errors import (
    BudgetError,
    ConstrainError,
    StackLimitError,
    TableError,
    TokenRefused,
)
from constrain.tables.format import DEAD, FORMAT_VERSION, NO_END, FrameArrays, Table, fingerprint
from constrain.tables.load import load

__all__ = [
    "DEAD",
    "FORMAT_VERSION",
    "NO_END",
    "BudgetError",
    "ConstrainError",
    "Constraint",
    "ConstraintBatch",
    "FrameArrays",
    "StackLimitError",
    "Table",
    "TableError",
    "TokenRefused",
    "apply_bitmask",
    "apply_mask",
    "fingerprint",
    "load",
]

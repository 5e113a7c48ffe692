"""Adapter for vLLM: a table with the interface of its ``StructuredOutputGrammar``.

vLLM's backends are a fixed list, so there is no name to register; an engine that builds its own
grammar objects uses ``TableGrammar``. With vLLM installed it is one of its
``StructuredOutputGrammar``s (registered as a virtual subclass by ``register``); nothing else is
imported from the host.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.tables.batch import ConstraintBatch
from constrain.tables.constraint import Constraint
from constrain.tables.errors import ConstrainError, StackLimitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constrain.tables.format import Table


class TableGrammar:
    """One request held to a table.

    Parameters
    ----------
    table : Table
    budget : int, optional
        The most tokens of the text, the end token included.
    """

    def __init__(self, table: Table, *, budget: int | None = None) -> None:
        self.run = Constraint(table, budget=budget)

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:
        """Take all tokens and return True, or none and return False.

        Tokens after the end of the text are taken without effect, since the engine sends them.
        """
        for taken, token_id in enumerate(tokens):
            if self.run.done:
                break
            try:
                allowed = self.run.allowed(token_id)
                if allowed:
                    self.run.advance(token_id)
            except StackLimitError:
                allowed = False
            if not allowed:
                self.run.rollback(taken)
                return False
        return True

    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix that is allowed; change nothing."""
        return list(tokens[: self.run.validate(tokens)])

    def rollback(self, num_tokens: int) -> None:
        """Undo the last tokens."""
        self.run.rollback(num_tokens)

    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
        """Write the packed mask into a row of a tensor; after the end, end tokens only."""
        rows = np.asarray(bitmask)
        ConstraintBatch([self.run]).fill(rows[batch_index : batch_index + 1])

    def is_terminated(self) -> bool:
        """Return whether the text has ended."""
        return self.run.done

    def reset(self) -> None:
        """Go back to the beginning."""
        self.run.reset()

    def find_jump_string(self) -> str | None:
        """Return the text that must come next, or None."""
        return self.run.forced_bytes().decode(errors="ignore") or None


def register() -> type[TableGrammar]:
    """Make ``TableGrammar`` a subclass of vLLM's interface, and return it.

    Raises
    ------
    ConstrainError
        If vLLM is not installed.
    """
    try:
        host = import_module("vllm.v1.structured_output.backend_types")
    except ImportError as error:
        raise ConstrainError(
            f"vLLM cannot be imported ({error}); install it, or use TableGrammar as it is"
        ) from error
    host.StructuredOutputGrammar.register(TableGrammar)
    return TableGrammar

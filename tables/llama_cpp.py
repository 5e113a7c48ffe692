"""Adapter for llama-cpp-python: a logits processor.

>>> from llama_cpp import LogitsProcessorList                             # doctest: +SKIP
>>> held = LogitsProcessorList([TableProcessor(table, budget=200)])       # doctest: +SKIP
>>> llm(prompt, logits_processor=held, max_tokens=200)                    # doctest: +SKIP

The host calls it with all tokens so far, the prompt first, and one row of logits. What is there at
the first call is the prompt; make a new processor for each completion. Nothing is imported from the
host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constrain.tables.batch import end_row
from constrain.tables.bitmask import apply_bitmask
from constrain.tables.constraint import Constraint
from constrain.tables.prefixes import Prefixes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.tables.format import Table


class TableProcessor:
    """Hold one completion to a table.

    Parameters
    ----------
    table : Table
    budget : int, optional
        The most tokens of the text, the end token included.
    prompt_length : int, optional
        The number of tokens of the prompt; by default that of the first call.
    """

    def __init__(
        self, table: Table, *, budget: int | None = None, prompt_length: int | None = None
    ) -> None:
        self._prefixes = Prefixes(Constraint(table, budget=budget))
        self.prompt_length = prompt_length

    def __call__(self, input_ids: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
        """Return the scores, with those of tokens that are not allowed at minus infinity.

        Parameters
        ----------
        input_ids : intc [length]
        scores : single [V]
            Changed in place, and returned.

        Raises
        ------
        TokenRefused
            If the table does not allow the tokens after the prompt.
        """
        if self.prompt_length is None:
            self.prompt_length = len(input_ids)
        run = self._prefixes.find(input_ids[self.prompt_length :].tolist())
        self._prefixes.step()
        apply_bitmask(scores, end_row(run.table) if run.done else run.bitmask())
        return scores

"""Adapter for Hugging Face transformers: a logits processor and a stopping criterion.

>>> processor = TableLogitsProcessor(table)                              # doctest: +SKIP
>>> model.generate(ids, logits_processor=[processor],                    # doctest: +SKIP
...     stopping_criteria=[TableStoppingCriteria(processor)])

Prompt and text stand in one row of ``input_ids``: what is there at the first call is the prompt.
Make a new processor for each call of ``generate``. Rows may be a batch (one table for all, or one
for each prompt), beams of it, or several sequences for a prompt; beams change places, so runs are
found by their tokens. Padding before the prompt belongs to the prompt, and what follows the end of
a text is ignored.

Logits past the vocabulary of the table are set to minus infinity. With ``budget=n`` a text takes at
most n tokens, the end token included, so with ``max_new_tokens=n`` every text is finished.

Nothing is imported from transformers: its lists take any callable with these signatures. torch
comes with the tensors that are passed in.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.tables.batch import end_row
from constrain.tables.bitmask import apply_bitmask
from constrain.tables.constraint import Constraint
from constrain.tables.errors import ConstrainError, TokenRefused
from constrain.tables.format import Table
from constrain.tables.prefixes import Prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence


class TableLogitsProcessor:
    """Allow in every row what its table allows after the tokens it has.

    Parameters
    ----------
    tables : Table or sequence of (Table or None)
        One table for all prompts, or one for each; None leaves a prompt's rows free.
    budget : int, optional
        The most tokens of each text, the end token included.
    prompt_length : int, optional
        The length of the prompt in ``input_ids``, padding included; by default that of the first
        call.
    """

    def __init__(
        self,
        tables: Table | Sequence[Table | None],
        *,
        budget: int | None = None,
        prompt_length: int | None = None,
    ) -> None:
        every = [tables] if isinstance(tables, Table) else list(tables)
        made: dict[int, Prefixes] = {}
        self._prefixes: list[Prefixes | None] = []
        for table in every:
            if table is not None and id(table) not in made:
                made[id(table)] = Prefixes(Constraint(table, budget=budget))
            self._prefixes.append(None if table is None else made[id(table)])
        self.prompt_length = prompt_length

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return the scores, with those of tokens that are not allowed at minus infinity.

        Parameters
        ----------
        input_ids : LongTensor [rows, length]
        scores : FloatTensor [rows, vocabulary]

        Raises
        ------
        TokenRefused
            If no row at all holds a text that its table allows.
        """
        scores = scores.clone()
        runs = self.runs(input_ids)
        for row, (prefixes, run) in enumerate(runs):
            if prefixes is None:
                continue
            over = run is None or run.done
            words = end_row(prefixes.start.table) if over or run is None else run.bitmask()
            apply_bitmask(scores[row], words)
        self._step()
        return scores

    def runs(self, input_ids: Any) -> list[tuple[Prefixes | None, Constraint | None]]:
        """Return for each row the runs of its table (None: free) and its own (None: refused)."""
        rows: list[list[int]] = input_ids.tolist()
        if self.prompt_length is None:
            self.prompt_length = len(rows[0])
        group, rest = divmod(len(rows), len(self._prefixes))
        if rest or not group:
            raise ConstrainError(f"{len(self._prefixes)} tables for {len(rows)} rows")
        if len(rows[0]) < self.prompt_length:
            raise ConstrainError(
                "the text is shorter than the prompt of the first call; make a new processor for"
                " each call of generate"
            )
        found: list[tuple[Prefixes | None, Constraint | None]] = []
        refused: list[list[int]] = []
        for row, tokens in enumerate(rows):
            prefixes = self._prefixes[row // group]
            run = None
            if prefixes is not None:
                run = prefixes.find_or_none(tokens[self.prompt_length :])
                if run is None:
                    refused.append(tokens[self.prompt_length :])
            found.append((prefixes, run))
        if len(refused) == len(rows):
            self._explain(refused[0])
        return found

    def _explain(self, tokens: list[int]) -> None:
        """Raise the reason why a row is refused."""
        prefixes = self._prefixes[0]
        assert prefixes is not None
        try:
            prefixes.find(tokens)
        except TokenRefused as error:
            raise TokenRefused(
                f"no row holds a text of its table ({error}); a processor serves one call of"
                " generate and must be the last one that changes scores",
                token_id=error.token_id,
                state=error.state,
            ) from None

    def _step(self) -> None:
        for prefixes in {id(each): each for each in self._prefixes}.values():
            if prefixes is not None:
                prefixes.step()


class TableStoppingCriteria:
    """Stop rows whose text has ended, whichever end token of the table they took.

    Parameters
    ----------
    processor : TableLogitsProcessor
        The processor of the same call of ``generate``.
    """

    def __init__(self, processor: TableLogitsProcessor) -> None:
        self._processor = processor

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """Return which rows have ended: BoolTensor [rows]."""
        torch = import_module("torch")  # the host brings it
        runs = self._processor.runs(input_ids)
        ended = np.array([run is not None and run.done for _, run in runs], dtype=np.bool_)
        return torch.from_numpy(ended).to(input_ids.device)

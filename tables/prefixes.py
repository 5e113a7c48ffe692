"""Finding the run that belongs to a row of tokens, for hosts that show tokens and not rows.

Some hosts pass the whole text of each row at every step, and rows change places meanwhile (beams),
end and are padded, or are rolled back. So a run is found by its tokens: those after the prompt. The
runs of the last step are kept under them; a row that is one token longer is a fork of one of these,
and anything else is replayed from the start.

A row whose tokens the table does not allow has no run. Beam search makes such rows on purpose when
fewer tokens are allowed than it wants to rank, with a score of minus infinity.

Cost: a dictionary look-up and one ``advance`` a row and step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.tables.errors import StackLimitError, TokenRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constrain.tables.constraint import Constraint

    Tokens = tuple[int, ...]


class Prefixes:
    """The runs of one step, by their tokens.

    Parameters
    ----------
    start : Constraint
        A run that has taken nothing yet.
    """

    def __init__(self, start: Constraint) -> None:
        self.start = start
        self._known: dict[Tokens, Constraint] = {}
        self._next: dict[Tokens, Constraint] = {}

    def find(self, tokens: Sequence[int]) -> Constraint:
        """Return the run that has taken these tokens, those after the end of its text ignored.

        Raises
        ------
        TokenRefused
            If the table does not allow them.
        StackLimitError
        """
        key = tuple(tokens)
        run = self._next.get(key) or self._known.get(key)
        if run is None:
            before = self._known.get(key[:-1]) or self._next.get(key[:-1])
            run = (before or self.start).fork()
            for token_id in key[-1:] if before is not None else key:
                if run.done:
                    break
                run.advance(token_id)
        self._next[key] = run
        return run

    def find_or_none(self, tokens: Sequence[int]) -> Constraint | None:
        """Return the run, or None where the table does not allow the tokens."""
        try:
            return self.find(tokens)
        except (TokenRefused, StackLimitError):
            return None

    def step(self) -> None:
        """Forget the runs that the last step did not ask for."""
        self._known, self._next = self._next, {}

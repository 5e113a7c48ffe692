"""Random texts, drawn token by token through the masks, without a model.

Choosing evenly among the allowed tokens alone would wander through strings for ever, since nearly
all tokens go on and few end. So one step in four is a step home: a token after which the text needs
fewer tokens to its end. Another one is drawn evenly from the *places* that tokens lead to, and then
from the tokens that lead there, so that branches show which few tokens take. With ``evenly`` all
steps are of this kind.

A budget holds as in any run: no text is ever cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.cli.ways import full_key
from constrain.tables import NO_END, Constraint
from constrain.tables.bitmask import unpack
from constrain.tables.constraint import shared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from constrain.tables import Table

_HOME = 0.25  # the share of steps that lead nearer to the end
_BRANCH = 0.25  # the share of steps drawn from places
_ROOM = 120  # tokens beyond the shortest text, where no budget is given
_LOOKED_AT = 200  # tokens that are followed to find the places they lead to


def texts(
    table: Table, n: int, seed: int, *, budget: int | None = None, evenly: bool = False
) -> Iterator[tuple[bytes, list[int]]]:
    """Yield n random texts and their tokens, the end included; the same for the same seed.

    Raises
    ------
    BudgetError
        If no text fits into the budget.
    """
    drawing = _Drawing(table, np.random.default_rng(seed), budget, evenly=evenly)
    for _ in range(n):
        yield drawing.draw()


class _Drawing:
    def __init__(
        self, table: Table, rng: np.random.Generator, budget: int | None, *, evenly: bool
    ) -> None:
        self.table = table
        self.rng = rng
        self.evenly = evenly
        self.budget = budget or min(int(table.tokens_to_end[0]) + _ROOM, NO_END)
        Constraint(table, budget=self.budget)  # raises if it does not do
        runner, self.budgets = shared(table)
        self.runner: Any = runner
        self.eos = frozenset(table.eos.tolist())

    def draw(self) -> tuple[bytes, list[int]]:
        """Return a random text and its tokens."""
        config = self.runner.start
        taken: list[int] = []
        while True:
            allowed = self._allowed(config, self.budget - len(taken))
            stops = not self.eos and self.runner.complete(config) and self.rng.random() < _HOME
            if stops or not allowed.any():
                break
            token_id = self._choose(config, allowed)
            taken.append(token_id)
            if token_id in self.eos:
                break
            config = self.runner.step(config, token_id, NO_END)
        return b"".join(self.table.token(token_id) for token_id in taken), taken

    def _allowed(self, config: Any, left: int) -> NDArray[np.bool_]:
        """Return which tokens may come next and leave enough of what is left."""
        return unpack(self.budgets.row(config, left)[0], self.table.n_tokens)

    def _choose(self, config: Any, allowed: NDArray[np.bool_]) -> int:
        chance = self.rng.random()
        if self.evenly or chance > 1 - _BRANCH:
            ids = self._one_place(config, np.flatnonzero(allowed))
        elif chance < _HOME and (need := self.runner.need(config)) < NO_END:
            homeward = allowed & self._allowed(config, need + self.budgets.ends)
            ids = np.flatnonzero(homeward if homeward.any() else allowed)
        else:
            ids = np.flatnonzero(allowed)
        return int(self.rng.choice(ids))

    def _one_place(self, config: Any, ids: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the tokens that lead to a place drawn among all places, the end being one."""
        places: dict[object, list[int]] = {}
        few = self.rng.choice(ids, min(len(ids), _LOOKED_AT), replace=False)
        for token_id in few.tolist():
            after = None if token_id in self.eos else self.runner.step(config, token_id, NO_END)
            places.setdefault(after if after is None else full_key(after), []).append(token_id)
        every = list(places.values())
        return np.asarray(every[int(self.rng.integers(len(every)))])

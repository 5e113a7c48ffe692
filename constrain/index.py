"""``TokenIndex``: the masks and steps of an automaton for a vocabulary, in memory.

The worked example of this project, which a reader can check by hand. The automaton of
``(cat|car|dog)s?`` has 7 states; the vocabulary has 15 tokens, EOS is 13, the last token is empty:

>>> from constrain import TokenIndex, regex_to_dfa
>>> vocab = [b"c", b"a", b"t", b"r", b"d", b"o", b"g", b"s"]
>>> vocab += [b"ca", b"cat", b"dog", b"ts", b"x", None, b""]
>>> index = TokenIndex(regex_to_dfa("(cat|car|dog)s?"), vocab, eos_id=13)
>>> [index.mask(s).nonzero()[0].tolist() for s in (0, 3, 5, 6)]
[[0, 4, 8, 9, 10], [2, 3, 11], [7, 13], [13]]
>>> index.next_state(0, 9), index.next_state(3, 11), index.next_state(0, 12)
(5, 6, -1)

``cat`` leads from state 0 to state 5, where ``s`` or the end may follow; ``ts`` from 3 (``ca``) to 6
(``cats``); ``x`` is never allowed. The second example: ``-?[0-9]+`` has 3 states.

>>> index = TokenIndex(regex_to_dfa("-?[0-9]+"),
...     [b"-", b"0", b"7", b"42", b"-4", b"4-", b"abc", None], eos_id=7)
>>> [index.mask(s).nonzero()[0].tolist() for s in range(3)]
[[0, 1, 2, 3, 4], [1, 2, 3], [1, 2, 3, 7]]

The masks here follow the definition to the letter: a token is allowed iff its bytes keep the
automaton alive. The table compiler (``constrain.compile``) also drops tokens that lead where the
vocabulary has no way on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.assemble import assemble
from constrain.dfa import DEAD, DFA
from constrain.limits import Meter
from constrain.machine import Machine
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from constrain.tables import Table


class TokenIndex:
    """The token masks of an automaton.

    Parameters
    ----------
    dfa : DFA
    vocab : sequence of (bytes or None)
        The bytes of each token; None and ``b""`` are never allowed.
    eos_id : int | None
        The token allowed exactly in accepting states, whatever its bytes.

    Attributes
    ----------
    dfa : DFA
    table : Table
        The same as arrays, which ``Constraint`` runs on.
    """

    def __init__(self, dfa: DFA, vocab: Sequence[bytes | None], eos_id: int | None = None) -> None:
        self.dfa = dfa
        vocabulary = Vocabulary.of(vocab, () if eos_id is None else (eos_id,))
        trie = vocabulary.trie
        machine = Machine.of(dfa)
        self.table: Table = assemble(machine, vocabulary, trie, Meter(), drop_traps=False).table
        self._eos = frozenset(vocabulary.eos)
        self._tokens = vocabulary.tokens

    def __repr__(self) -> str:
        """Return the sizes in one line."""
        return f"<TokenIndex: {self.dfa.n_states:,} states, {len(self._tokens):,} tokens>"

    def mask(self, state: int) -> NDArray[np.bool_]:
        """Return bool [V]: which tokens may come next in a state."""
        row = self.table.masks[self.table.mask_row[state]]
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        return bits[: len(self._tokens)].astype(np.bool_)

    def next_state(self, state: int, token_id: int) -> int:
        """Return the state after a token, or ``DEAD``.

        An end-of-sequence token reads nothing: it leaves an accepting state as it is, and is dead
        elsewhere. So a token is allowed iff this is not ``DEAD``.
        """
        if token_id in self._eos:
            return state if self.dfa.accept[state] else DEAD
        token = self._tokens[token_id]
        return self.dfa.step(state, token) if token else DEAD

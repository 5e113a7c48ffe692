"""Adapter for SGLang: a grammar backend, registered by name, that serves compiled tables.

>>> register("constrain", {"tool": load("tool.npz")})   # before the server starts  # doctest: +SKIP

Start the server with ``--grammar-backend constrain``; a request names its table, as ``table:tool``
in ``ebnf``, ``regex`` or ``json_schema``. A request that names no table, or one that does not
exist, is refused: it never runs free. Tables must be as wide as the server's logits or narrower,
and have its end tokens.

SGLang and torch are imported when ``register`` is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.tables.batch import ConstraintBatch
from constrain.tables.bitmask import apply_bitmask
from constrain.tables.constraint import Constraint
from constrain.tables.errors import ConstrainError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constrain.tables.format import Table

PREFIX = "table:"


class TableGrammar:
    """One request held to a table: the methods of SGLang's grammar objects.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.run = Constraint(table)
        self.finished = False
        self.grammar_stats: Any = None
        self.current_token: int | None = None

    def accept_token(self, token: int) -> None:
        """Take a token; tokens after the end are ignored.

        Raises
        ------
        TokenRefused
        """
        if not self.run.done:
            self.run.advance(token)
        self.current_token = token

    def rollback(self, k: int) -> None:
        """Undo the last k tokens."""
        self.run.rollback(k)

    def is_terminated(self) -> bool:
        """Return whether the text has ended."""
        return self.run.done

    def maybe_init_reasoning(self, reasoning: bool) -> None:
        """Do nothing: the reasoning wrapper of the host comes before the table."""

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        """Return an int32 tensor [batch, words] on the CPU, all ones: free rows stay free."""
        torch = import_module("torch")  # the host brings it
        words = max(-(-vocab_size // 32), self.run.table.n_words)
        return torch.full((batch_size, words), -1, dtype=torch.int32)

    def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
        """Write the packed mask into a row; after the end, end tokens only."""
        ConstraintBatch([self.run]).fill(np.asarray(vocab_mask)[idx : idx + 1])

    @staticmethod
    def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
        """Return the mask on a device."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
        """Set the logits of tokens that are not allowed to minus infinity, in place."""
        apply_bitmask(logits, vocab_mask)

    def copy(self) -> TableGrammar:
        """Return a fresh run over the same table."""
        return type(self)(self.run.table)

    def try_jump_forward(self, tokenizer: Any) -> tuple[list[int], str] | None:
        """Return the tokens that must come next, or None."""
        tokens = self.run.forced_tokens()
        return (tokens, "") if tokens else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """Return the text of a jump; tokens are used instead, so it is empty."""
        return helper[1], -1

    def jump_and_retokenize(
        self,
        old_output_ids: list[int],
        new_output_ids: list[int],
        next_state: int,
    ) -> None:
        """Replace the last tokens by others."""
        same = 0
        for old, new in zip(old_output_ids, new_output_ids, strict=False):
            if old != new:
                break
            same += 1
        self.run.rollback(len(old_output_ids) - same)
        for token_id in new_output_ids[same:]:
            self.accept_token(token_id)


def table_name(request: str, names: Iterable[str]) -> str:
    """Return the name of the table that a request asks for.

    Raises
    ------
    TableError
        If it names none, or one that is not there.
    """
    name = request.strip().strip('"').removeprefix(PREFIX)
    known = sorted(names)
    if PREFIX not in request or name not in known:
        raise TableError(
            f"a request names a table, as {PREFIX}NAME; there are {', '.join(known) or 'none'}"
        )
    return name


def register(name: str, tables: Mapping[str, Table]) -> None:
    """Register a grammar backend with SGLang that serves the given tables.

    Parameters
    ----------
    name : str
        What ``--grammar-backend`` calls it.
    tables : mapping of str to Table

    Raises
    ------
    ConstrainError
        If SGLang is not installed.
    """
    try:
        host = import_module("sglang.srt.constrained.base_grammar_backend")
    except ImportError as error:
        raise ConstrainError(f"SGLang cannot be imported ({error}); install it first") from error
    grammar = type("TableGrammar", (TableGrammar, host.BaseGrammarObject), {})

    def dispatch(self: Any, key_string: str) -> Any:
        try:
            return grammar(tables[table_name(key_string, tables)])
        except TableError as error:
            return host.InvalidGrammarObject(str(error))

    kinds = ("json", "regex", "ebnf", "structural_tag")
    methods = {f"dispatch_{kind}": dispatch for kind in kinds}
    backend = type("TableGrammarBackend", (host.BaseGrammarBackend,), methods)

    def create(
        server_args: Any,
        tokenizer: Any,
        vocab_size: int,
        eos_token_ids: Any = None,
    ) -> Any:
        _require_fit(tables, vocab_size, eos_token_ids)
        return backend()

    host.register_grammar_backend(name, create)


def _require_fit(tables: Mapping[str, Table], vocab_size: int, eos_token_ids: Any) -> None:
    """Raise ``TableError`` for tables that are wider than the logits, or end with other tokens."""
    for name, table in tables.items():
        if table.n_tokens > vocab_size:
            raise TableError(f"table {name} has {table.n_tokens} tokens, the server {vocab_size}")
        ends = set(table.eos.tolist())
        if eos_token_ids and not ends & set(eos_token_ids):
            raise TableError(
                f"table {name} ends with tokens {sorted(ends)}, the server with"
                f" {sorted(eos_token_ids)}"
            )

"""``constrain verify``: prove that a table is what its transitions and tokens say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constrain.tables.verify import Verified


def verify(
    file: o.TableFile,
    *,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Recompute the mask of every state, not of 64. Where frames nest, a mask also"
            " depends on those that are open: each state is checked after one text that leads there.",
        ),
    ] = False,
    tokenizer: o.CheckedTokenizer = None,
    json: o.Json = False,
) -> None:
    """Recompute checksums, structure and masks of a table by brute force; exit 1 if they differ.

    constrain verify tool.npz
    constrain verify tool.npz --all --tokenizer tokenizer.json
    """
    from constrain.cli.inputs import load_table
    from constrain.cli.terminal import Stages, facts_grid, out, print_json, show
    from constrain.tables import TableError
    from constrain.tables.verify import SAMPLE, verify_file

    with Stages() as stages:
        if tokenizer is not None:
            stages("compare the tokenizer")
            load_table(file, tokenizer)
        stages("recompute the masks")
        try:
            found = verify_file(file, sample=None if every else SAMPLE)
        except TableError as error:
            raise TableError(f"{file}: {error}", key=error.key) from error
    if json:
        print_json(
            {"checked": found.n_checked, "states_checked": found.n_met, "states": found.n_states,
             "states_without_mask": found.n_closing, "tokens": found.n_tokens}
        )  # fmt: skip
        return
    console = out()
    console.print(f"{file} is sound", style="bold green", soft_wrap=True)
    show(console, facts_grid(_checked(found, every=every)))


def _checked(found: Verified, *, every: bool) -> Iterator[tuple[str, str]]:
    """Yield what was recomputed, and what was not."""
    from constrain.cli.words import count
    from constrain.tables.verify import SAMPLE

    states = f"{found.n_met:,} of {count(found.n_states, 'state')}"
    has_frames = found.n_closing > 0
    if not has_frames:
        yield "recomputed", f"the masks of {states}"
    elif every:
        yield "recomputed", f"the masks of {states}, each after one text that leads there"
        yield "", f"{SAMPLE} masks met by random texts, with other frames open"
    else:
        yield "recomputed", f"{found.n_checked} masks met by random texts, in {states}"
    yield "each for", count(found.n_tokens, "token")
    missed = found.n_states - found.n_closing - found.n_met
    if every and has_frames:
        yield "no mask", f"{count(found.n_closing, 'state')}, passed only while frames close"
        if missed:
            yield "not met", f"{count(missed, 'state')}, where only long counts lead"
    elif missed:
        yield "", "--all checks every state"

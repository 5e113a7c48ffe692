"""``constrain inspect``: the story of a table, or of one of its states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    from pathlib import Path


def inspect(
    file: o.TableFile,
    *,
    state: Annotated[
        int | None,
        typer.Option("--state", "-s", metavar="N", min=0, help="Show one state, by its number."),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option("--after", "-a", metavar="TEXT", help="Show the state after a text."),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", min=0, help="How many random texts to show.")
    ] = 5,
    json: o.Json = False,
) -> None:
    """Show what a table allows and where it came from, or one of its states.

    constrain inspect tool.npz
    constrain inspect tool.npz --after '{"city":"'
    constrain inspect tool.npz --state 9 --json
    """
    if state is not None and after is not None:
        raise typer.BadParameter("give either --state or --after")
    if state is None and after is None:
        _whole(file, samples, json=json)
    else:
        _one(file, state, after, json=json)


def _whole(file: Path, n_samples: int, *, json: bool) -> None:
    from constrain.cli.facts import facts
    from constrain.cli.inputs import load_table
    from constrain.cli.report import inspected
    from constrain.cli.terminal import out, print_json

    found = facts(load_table(file), file, n_samples)
    if json:
        print_json(found)
    else:
        inspected(found, out())


def _one(file: Path, state: int | None, after: str | None, *, json: bool) -> None:
    from constrain.cli.inputs import load_table
    from constrain.cli.state import draw_state, state_facts
    from constrain.cli.terminal import out, print_json
    from constrain.cli.ways import Ways
    from constrain.errors import ConstrainError

    table = load_table(file)
    ways = Ways(table)
    text: bytes | None
    if after is not None:
        text = after.encode("utf-8", "surrogateescape")
    else:
        assert state is not None
        if state >= table.n_states:
            raise typer.BadParameter(
                f"states go from 0 to {table.n_states - 1}", param_hint="--state"
            )
        text = ways.text_to(state)
        if text is None:
            raise ConstrainError(f"no text was found that leads to state {state} and stops there")
    config, read = ways.follow(text)
    if read < len(text):
        from constrain.cli.refusal import refused

        raise ConstrainError(refused(ways, text).drawn().plain)
    found: dict[str, Any] = state_facts(ways, config, text)
    if json:
        print_json(found)
    else:
        draw_state(found, out())

"""``constrain demo``: compile, inspect and sample the example files that come with the package."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from constrain.cli.words import listed

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = Path(__file__).with_name("examples")
_COPIED = ("tool_call.json", "tokenizer.json", "tokenizer_config.json")
_N_SAMPLES = 5
_LOOP = """
    from constrain.tables import Constraint, load
    run = Constraint(load("tool.npz"))
    run.mask()             # which tokens may come next: bool[V]
    run.advance(token_id)  # the one that was sampled"""


def demo(
    *,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Copy the examples into a folder, and leave them and the table there.",
        ),
    ] = None,
) -> None:
    """Compile, inspect and sample the examples that come with the package.

    It works in a temporary folder and leaves nothing behind, unless --keep names one; there the
    commands it shows can be repeated as they are, and tried with files of your own.

    constrain demo
    constrain demo --keep first-steps
    """
    from rich.text import Text

    from constrain.cli.terminal import out

    if keep is not None:
        _copy(keep)
    console = out()
    console.print(
        "The examples: the schema of a tool call, and a tokenizer of 8,000 tokens, in", style="dim"
    )
    if keep is None:
        console.print(str(EXAMPLES), soft_wrap=True)
        with tempfile.TemporaryDirectory(prefix="constrain-demo-") as folder:
            _show(EXAMPLES, Path(folder) / "tool.npz", console)
    else:
        console.print(str(keep), soft_wrap=True)
        console.print(Text.assemble(("\n$ ", "dim"), (f"cd {keep}", "bold")), soft_wrap=True)
        _show(keep, keep / "tool.npz", console)
    console.print(f"\nAnd while a model samples:\n{_LOOP}")
    if keep is not None:
        kept = listed((*_COPIED, "tool.npz"), "and")
        console.print(f"\n{kept} are in {keep}", soft_wrap=True)


def _copy(folder: Path) -> None:
    """Copy the examples into a folder; other files of these names that are there are not touched.

    Raises
    ------
    ConstrainError
        If there are such files.
    """
    from constrain.errors import ConstrainError

    given = {name: (EXAMPLES / name).read_bytes() for name in _COPIED}
    folder.mkdir(parents=True, exist_ok=True)
    there = [name for name in (*_COPIED, "tool.npz") if (folder / name).exists()]
    kept_before = all(
        name in there and (folder / name).read_bytes() == data for name, data in given.items()
    )
    if there and not kept_before:
        raise ConstrainError(
            f"{folder} has {listed(there, 'and')} already; give --keep another folder"
        )
    for name, data in given.items():
        (folder / name).write_bytes(data)


def _show(examples: Path, path: Path, console: Console) -> None:
    """Run the commands, and print each before what it prints."""
    from rich.text import Text

    from constrain.cli.compiling import Job, run_job
    from constrain.cli.drawing import texts
    from constrain.cli.facts import facts
    from constrain.cli.report import compiled, inspected
    from constrain.tables import load

    def say(command: str) -> None:
        console.print(Text.assemble(("\n$ ", "dim"), (command, "bold")), soft_wrap=True)

    say("constrain compile tool_call.json --tokenizer tokenizer.json -o tool.npz")
    schema = str(examples / "tool_call.json")
    outcome = run_job(Job("tool_call.json", schema, None, path), examples, {"cache": False})
    assert outcome.facts is not None, outcome.error
    compiled({**outcome.facts, "file": "tool.npz"}, console, verbose=False)
    say("constrain inspect tool.npz")
    table = load(path)
    inspected({**facts(table, path), "file": "tool.npz"}, console)
    say(f"constrain sample tool.npz -n {_N_SAMPLES}")
    for data, _ in texts(table, _N_SAMPLES, 0):
        console.print(data.decode(), soft_wrap=True)

"""The command ``constrain``: the list of its commands."""

from __future__ import annotations

import inspect as inspect_module
import io
import sys
from typing import Annotated

import typer

from constrain import __version__
from constrain.cli import (
    cache,
    check,
    compile,
    demo,
    diff,
    graph,
    inspect,
    knowledge,
    page,
    plot,
    sample,
    support,
    verify,
)
from constrain.cli.usage import Command, Program

app = typer.Typer(
    name="constrain",
    cls=Program,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"constrain {__version__}")
        raise typer.Exit


def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Compile a pattern or a JSON schema and a tokenizer into a table of token masks.

    constrain demo
    constrain compile tool.json -t tokenizer.json -o tool.npz
    constrain inspect tool.npz
    constrain check tool.npz '{"city":"Oslo","days":3}'
    """
    for stream in (sys.stdout, sys.stderr):  # no character may fail to be written
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def reflowed(help_text: str | None) -> str:
    """Return a docstring as help: paragraphs on one line, examples (``constrain ...``) as given."""
    paragraphs = inspect_module.cleandoc(help_text or "").split("\n\n")
    return "\n\n".join(
        p if p.startswith("constrain ") else p.replace("\n", " ") for p in paragraphs
    )


_PANELS = {
    "Make and look": (compile.compile, inspect.inspect, sample.sample, demo.demo),
    "Check and compare": (check.check, diff.diff, verify.verify),
    "Draw": (graph.graph, plot.plot, page.report),
    "More": (knowledge.help, support.schema_support),
}
app.callback(help=reflowed(main.__doc__))(main)
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(help=reflowed(_command.__doc__), rich_help_panel=_panel, cls=Command)(_command)
app.add_typer(cache.app, name="cache", help=reflowed(cache.cache.__doc__), rich_help_panel="More")

"""How commands are run: the one place that decides exit codes, and how mistakes are told.

    0     all is well
    1     a mistake in what was given: one message, which says where and what to do
    2     wrong usage of the command line
    130   interrupted

Anything else is a bug and keeps its traceback. A command that was called with ``--json`` prints its
error as one line of JSON, too. Typer's own words for what cannot be parsed are those of Python; here
they are put as a person says them, with the option that was probably meant.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text

    from constrain.tables.errors import ConstrainError

INTERRUPTED = 130
_UsageError: Any = typer.BadParameter.__bases__[0]
_ASKS = {
    "int_parsing": "{input!r} is not a whole number",
    "int_from_float": "{input!r} is not a whole number",
    "float_parsing": "{input!r} is not a number",
    "greater_than_equal": "it is {input}, and must be at least {ge}",
    "less_than_equal": "it is {input}, and must be at most {le}",
}


class Plainly:
    """Says what is wrong with arguments in plain words; for commands and groups of them."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the arguments."""
        as_asked = "--json" in args
        try:
            return super().make_context(info_name, args, parent, **extra)  # type: ignore[misc]
        except _UsageError as error:
            _in_plain_words(error)
            if as_asked:
                _print({"error": "UsageError", "message": error.format_message()})
            raise


class Reporting(Plainly, TyperCommand):
    """A command; with ``--json`` its errors are JSON, too."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (OSError, ValueError) as error:
            if ctx.params.get("json") is True and (known := _known(error)) is not None:
                from constrain.cli.errors import as_json  # which needs NumPy

                _print(as_json(known))
            raise
        except _UsageError as error:
            if ctx.params.get("json") is True:
                _print({"error": "UsageError", "message": error.format_message()})
            raise


class Commands(Plainly, TyperGroup):
    """The commands, with errors turned into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from rich.text import Text

            _say(Text("interrupted; nothing was written"))
            raise typer.Exit(INTERRUPTED) from None
        except (OSError, ValueError) as error:
            known = _known(error)
            if known is None:
                raise
            from constrain.cli.errors import describe

            _say(describe(known))
            raise typer.Exit(1) from None


def _known(error: Exception) -> ConstrainError | OSError | None:
    """Return the error if it is a mistake in what was given, and not a bug."""
    from constrain.tables.errors import ConstrainError

    if isinstance(error, OSError):
        return None if isinstance(error, BrokenPipeError) or error.filename is None else error
    return error if isinstance(error, ConstrainError) else None


def _say(message: Text) -> None:
    from rich.text import Text

    from constrain.cli.terminal import err

    err().print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def _print(about: dict[str, Any]) -> None:
    """Print an error as one line of JSON."""
    print(json.dumps({"ok": False, **about}, ensure_ascii=False, default=str))


def _in_plain_words(error: Any) -> None:
    """Say what is wrong with a value as a person would, and name what was probably meant."""
    cause: Any = error.__cause__
    if callable(getattr(cause, "errors", None)):  # what checks values for Typer
        found = cause.errors()[0]
        told = {**found.get("ctx", {}), "input": found.get("input")}
        pattern = _ASKS.get(found["type"])
        message = pattern.format(**told) if pattern else error.message.removeprefix("Value error, ")
        error.message = message.removesuffix(".") + _meant(str(told["input"]), _choices(error))
    if getattr(error, "possibilities", None):
        error.message += _meant(error.option_name, error.possibilities)
        error.possibilities = None


def _choices(error: Any) -> list[str]:
    """Return the values that the option of an error may have, where they are few."""
    about = getattr(getattr(error, "param", None), "type_descriptor", None)
    return [str(choice.value) for choice in getattr(about, "choices", None) or ()]


def _meant(given: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""

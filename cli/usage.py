"""Help screens that say what to give, in words, and not the names of Python's types.

Typer shows ``<bool>`` beside a flag, ``<path>`` beside the name of an argument, and ``{FILE}`` in
the line of usage. A flag takes nothing, and every other parameter here has a name that says more.

Doesn't do: errors and exit codes (``running``).
"""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperGroup

from constrain.cli.running import Commands, Reporting


def _untyped(parameters: list[Any]) -> list[Any]:
    """Return parameters, flags and arguments among them without the names of their types."""
    for parameter in parameters:
        if parameter.param_type_name == "argument" or getattr(parameter, "is_flag", False):
            parameter.display_type_rich = lambda ctx: ""
    return parameters


class Command(Reporting):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, to parse and to help with."""
        return _untyped(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the line of usage."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]


class Group(TyperGroup):
    """Commands of a command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, to parse and to help with."""
        return _untyped(super().get_params(ctx))


class Program(Group, Commands):
    """All commands."""

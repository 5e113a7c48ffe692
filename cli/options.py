"""Options that several commands share, each with its help, said once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class Layout(StrEnum):
    """What stands after commas and colons."""

    compact = "compact"
    spaced = "spaced"
    flexible = "flexible"


class Frames(StrEnum):
    """Which parts of a schema become frames."""

    never = "never"
    needed = "needed"
    always = "always"


class Dialect(StrEnum):
    """How to read a pattern."""

    text = "text"
    bytes = "bytes"
    ecma = "ecma"


_LANGUAGE = "What is generated"
_TOKENIZER = "Tokenizer"

TableFile: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="A table file (.npz).")]

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]

Tokenizer: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--tokenizer", "-t", metavar="PATH", help="A tokenizer.json, or the folder that holds it.",
        rich_help_panel=_TOKENIZER,
    ),
]  # fmt: skip

CheckedTokenizer: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--tokenizer", "-t", metavar="PATH",
        help="Refuse the table if it was made for other tokens than this tokenizer.json's.",
    ),
]  # fmt: skip

Eos: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--eos", metavar="TOKEN", rich_help_panel=_TOKENIZER,
        help="A token that ends the text, by id or text; repeat for more. Found in the files"
        " beside the tokenizer if not given.",
    ),
]  # fmt: skip

AllowToken: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--allow-token", metavar="TOKEN", rich_help_panel=_TOKENIZER,
        help="An added token to allow as text although it looks like a control mark; repeatable.",
    ),
]  # fmt: skip

ForbidToken: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--forbid-token", metavar="TOKEN", rich_help_panel=_TOKENIZER,
        help="A token never to allow, by id or text; repeatable.",
    ),
]  # fmt: skip

VocabSize: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--vocab-size", metavar="N", min=1, rich_help_panel=_TOKENIZER,
        help="The width of the model's logits, where it is not that of the tokenizer.",
    ),
]  # fmt: skip

NoCache: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-cache", rich_help_panel=_TOKENIZER,
        help="Neither read nor keep the vocabulary in the cache (see [b]constrain cache[/b]).",
    ),
]  # fmt: skip

DialectOption: TypeAlias = Annotated[
    Dialect,
    typer.Option(
        "--dialect", rich_help_panel=_LANGUAGE,
        help="How to read a pattern: over characters, over bytes, or as the JSON schema keyword"
        " pattern (ECMAScript, found anywhere).",
    ),
]  # fmt: skip

LayoutOption: TypeAlias = Annotated[
    Layout,
    typer.Option(
        "--layout", rich_help_panel=_LANGUAGE,
        help="What stands after , and : in JSON: nothing, a space, or either.",
    ),
]  # fmt: skip

Open: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--open", rich_help_panel=_LANGUAGE,
        help="Let objects have further members where additionalProperties is absent.",
    ),
]  # fmt: skip

Relax: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--relax", metavar="KEYWORD", rich_help_panel=_LANGUAGE,
        help="Leave a keyword unenforced, everywhere or as KEYWORD@POINTER in one place;"
        " repeatable. The table records it.",
    ),
]  # fmt: skip

Ref: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--ref", metavar="[URI=]FILE", rich_help_panel=_LANGUAGE,
        help="Another schema that $ref may lead to; repeatable. Nothing is fetched.",
    ),
]  # fmt: skip

FramesOption: TypeAlias = Annotated[
    Frames,
    typer.Option(
        "--frames", rich_help_panel=_LANGUAGE,
        help="Which parts become automata of their own, called through a stack. Recursion needs"
        " them.",
    ),
]  # fmt: skip

CapLength: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--cap-length", metavar="N", min=0, rich_help_panel=_LANGUAGE,
        help="Tighten every maxLength above N to N; the table records it.",
    ),
]  # fmt: skip

CapItems: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--cap-items", metavar="N", min=0, rich_help_panel=_LANGUAGE,
        help="Tighten every maxItems above N to N; the table records it.",
    ),
]  # fmt: skip

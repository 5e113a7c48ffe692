"""``constrain check``: whether texts belong to the language, and if not, where and why not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text

    from constrain.cli.ways import Ways
    from constrain.errors import TokenRefused

_LONGEST = 256 << 20  # bytes of text


def check(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A table file (.npz), or a JSON schema.")
    ],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text; - is standard input.")
    ] = None,
    *,
    lines: Annotated[
        bool, typer.Option("--lines", help="Every line is a text of its own.")
    ] = False,
    tokens: Annotated[
        str | None,
        typer.Option("--tokens", metavar="ID,ID,...", help="Check token ids instead of a text."),
    ] = None,
    tokenizer: o.CheckedTokenizer = None,
    layout: o.LayoutOption = o.Layout.compact,
    open: o.Open = False,
    ref: o.Ref = [],  # noqa: B006
    relax: o.Relax = [],  # noqa: B006
    json: o.Json = False,
) -> None:
    """Check whether a text belongs to the language of a table; exit 1 if not.

    constrain check tool.npz '{"city":"Oslo","days":3}'
    constrain check tool.npz - < document.json
    constrain check tool.npz --lines - < documents.jsonl
    constrain check tool.npz --tokens 91,1423,2
    constrain check tool.json - < document.json

    For a text that does not belong, it shows where it leaves the language, what could have stood
    there, which keyword of the schema forbids it, and how the part before could have been
    completed. A line end at the end of standard input is not taken as part of the text. A text
    that begins with - stands after two of them: constrain check tool.npz -- -5

    A JSON schema is checked without a tokenizer, with the options given here; a table has its own.
    """
    from constrain.cli.inputs import is_schema, load_table, schema_table

    if (text is None) == (tokens is None):
        raise typer.BadParameter("give either a text (- for standard input) or --tokens")
    from constrain.cli.ways import Ways

    refs: list[Any] = []
    if is_schema(file):
        if tokenizer is not None or tokens is not None:
            raise typer.BadParameter(f"{file} is a schema; tokens are checked against a table")
        chosen = {"layout": layout.value, "open": open, "relax": relax}
        table, refs = schema_table(file, ref, chosen)
    else:
        table = load_table(file, tokenizer)
    ways = Ways(table, refs)
    if text is None:
        found = [check_tokens(ways, _ids(tokens or ""))]
    else:
        encode = None if tokenizer is None else _encoder(tokenizer)
        given = "" if lines else text
        found = [check_text(ways, each, encode, given) for each in _texts(text, ways, lines=lines)]
    if json:
        from constrain.cli.terminal import print_json

        print_json([{k: v for k, v in each.items() if k != "message"} for each in found])
    else:
        _draw(found, lines=lines)
    if not all(each["ok"] for each in found):
        raise typer.Exit(1)


def _texts(text: str, ways: Ways, *, lines: bool) -> list[bytes]:
    from constrain.cli.inputs import STDIN, read_bytes

    data = text.encode("utf-8", "surrogateescape")
    if text == STDIN:
        data = read_bytes(text, _LONGEST)
        if not lines and data.endswith(b"\n"):
            config, read = ways.follow(data)
            if read < len(data) or not ways.runner.complete(config):
                data = data.removesuffix(b"\n").removesuffix(b"\r")
    return data.splitlines() if lines else [data]


def _ids(tokens: str) -> list[int]:
    try:
        return [int(each) for each in tokens.replace(",", " ").split()]
    except ValueError:
        raise typer.BadParameter(
            f"{tokens!r} is not a list of token ids", param_hint="--tokens"
        ) from None


def _encoder(path: Path) -> Callable[[str], list[int]]:
    """Return the function that encodes a text as the tokenizer does."""
    from constrain.errors import ConstrainError
    from constrain.tokenizer_json import locate

    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ConstrainError(
            "checking a text token by token needs the package tokenizers: pip install tokenizers"
        ) from None
    tokenizer = Tokenizer.from_file(str(locate(path)))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def check_text(
    ways: Ways, data: bytes, encode: Callable[[str], list[int]] | None = None, given: str = ""
) -> dict[str, Any]:
    """Return whether a text belongs to the language, and what is wrong if not.

    With ``encode``, the tokens that it gives must be allowed, too. ``given`` is the argument that
    the text came from.
    """
    config, read = ways.follow(data)
    if read == len(data) and ways.runner.complete(config):
        if encode is None:
            return {"ok": True}
        ids = encode(data.decode("utf-8", errors="replace"))
        return {"tokens": ids, **check_tokens(ways, ids)}
    from constrain.cli.refusal import refused

    found = refused(ways, data, given)
    return {"ok": False, **found.as_json(), "message": found.drawn()}


def check_tokens(ways: Ways, ids: list[int]) -> dict[str, Any]:
    """Return whether a sequence of tokens is a text of the language, and what is wrong if not."""
    from rich.text import Text

    from constrain.cli.refusal import refused
    from constrain.errors import TokenRefused
    from constrain.tables import Constraint

    run = Constraint(ways.table)
    for number, token_id in enumerate(ids):
        try:
            run.advance(token_id)
        except TokenRefused as error:
            about = {"ok": False, "number": number, "token": token_id, "reason": str(error)}
            return about | {"message": _token_refusal(ways, ids, number, error)}
    if run.is_complete():
        return {"ok": True}
    text = b"".join(map(ways.table.token, ids))
    reason = "all tokens are allowed, but the text is not complete"
    message = Text.assemble(reason, "\n  ", refused(ways, text).drawn())
    return {"ok": False, "number": len(ids), "token": None, "reason": reason, "message": message}


def _token_refusal(ways: Ways, ids: list[int], number: int, error: TokenRefused) -> Text:
    """Return the message for a token that is refused: the byte at which it dies, if it is that."""
    from rich.text import Text

    from constrain.cli.expected import expected
    from constrain.cli.words import listed, shown

    table = ways.table
    before = b"".join(map(table.token, ids[:number]))
    token = table.token(ids[number]) if 0 <= ids[number] < table.n_tokens else b""
    config, _ = ways.follow(before)
    config, read = ways.follow(token, config)
    message = Text.assemble(f"token {number + 1} of {len(ids)}, id {ids[number]}")
    if token and read < len(token):
        place = "at its first byte" if not read else f"after {shown(token[:read])!r}"
        wanted = expected(ways, before + token, len(before) + read)
        message.append(f" {shown(token)!r}, dies {place}: expected {listed(wanted)}")
    else:
        message.append(f": {str(error).partition(': ')[2]}")
    where = Text.assemble("\n  after ", (shown(before, 200), "green"))
    return message + where if before else message.append("\n  at the start")


def _draw(found: list[dict[str, Any]], *, lines: bool) -> None:
    from rich.text import Text

    from constrain.cli.terminal import out
    from constrain.cli.words import count

    console = out()
    for number, each in enumerate(found, start=1):
        name = f"text {number}: " if lines else ""
        if each["ok"]:
            if not lines:
                console.print(Text("ok", style="bold green"))
        else:
            message = Text.assemble((f"{name}refused: ", "bold red"), each["message"])
            console.print(message, soft_wrap=True)
    if lines:
        bad = sum(not each["ok"] for each in found)
        console.print(f"{count(len(found), 'text')}, {bad:,} refused")

"""One state of a table: how to get there, what may come next in bytes and in tokens, whether to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table as Grid
from rich.text import Text

from constrain.cli.terminal import facts_grid, heading, show
from constrain.cli.words import byte_words, count, cropped, listed, percent, shown
from constrain.tables.bitmask import unpack
from constrain.tables.format import NO_END

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from constrain.cli.ways import Ways
    from constrain.tables import Table

_EXAMPLES = 40  # tokens of each group that a report may choose from
_GROUPS = (
    "words and letters",
    "digits",
    "with a space first",
    "punctuation and marks",
    "line ends and controls",
    "beyond ASCII",
    "parts of characters",
)


def state_facts(ways: Ways, config: Any, text: bytes) -> dict[str, Any]:
    """Return what there is to say of a configuration that a text led to, as JSON values."""
    table = ways.table
    allowed = np.flatnonzero(unpack(ways.runner.row(config)[0], table.n_tokens))
    tokens = allowed[~np.isin(allowed, table.eos)]
    complete = bool(ways.runner.complete(config))
    need = int(ways.runner.need(config))
    return {
        "state": ways.runner.state_of(config),
        "open_frames": 0 if table.is_plain or config[2] is None else config[2].depth,
        "after": text.decode("utf-8", errors="backslashreplace"),
        "complete": complete,
        "tokens_to_end": None if need >= NO_END else need,
        "bytes": byte_words(ways.next_bytes(config)),
        "forced": _forced(ways, config).decode("utf-8", errors="backslashreplace"),
        "allowed": len(allowed),
        "n_tokens": table.n_tokens,
        "eos": complete and len(table.eos) > 0,
        "groups": _groups(table, tokens.tolist()),
        "longest": _longest(table, tokens.tolist()),
        "completion": ways.completion(config).decode("utf-8", errors="backslashreplace"),
    }


def _forced(ways: Ways, config: Any) -> bytes:
    """Return the bytes that must come next, whatever is chosen."""
    forced = bytearray()
    while not ways.runner.complete(config) and len(forced) < 4096:
        ahead = ways.next_bytes(config)
        if len(ahead) != 1:
            break
        forced.append(ahead[0])
        config = ways.runner.read(config, ahead[0])
    return bytes(forced)


def _groups(table: Table, ids: list[int]) -> list[dict[str, Any]]:
    """Return the tokens by kind: name, count and the first of them, those of low ids first."""
    found: dict[str, list[int]] = {name: [] for name in _GROUPS}
    for token_id in ids:
        found[_group(table.token(token_id))].append(token_id)
    return [
        {
            "group": name,
            "count": len(members),
            "examples": [shown(table.token(each)) for each in members[:_EXAMPLES]],
        }
        for name, members in found.items()
        if members
    ]


def _group(token: bytes) -> str:
    try:
        first = token.decode()[0]
    except UnicodeDecodeError:
        return "parts of characters"
    if not first.isascii():
        return "beyond ASCII"
    if first == " ":
        return "with a space first"
    if first.isdigit():
        return "digits"
    if first.isalpha():
        return "words and letters"
    return "punctuation and marks" if first.isprintable() else "line ends and controls"


def _longest(table: Table, ids: list[int]) -> str | None:
    if not ids:
        return None
    return shown(max((table.token(token_id) for token_id in ids), key=len))


def draw_state(facts: Mapping[str, Any], console: Console) -> None:
    """Print one state."""
    width = console.width - 18
    after = shown(facts["after"].encode("utf-8", "surrogatepass"), width - 14)
    place = Text.assemble(("state ", "bold"), (f"{facts['state']:,}", "bold"))
    if facts["open_frames"]:
        place.append(f", {count(facts['open_frames'], 'open frame')}")
    place.append(" after " if after else " at the start")
    place.append(after, style="green")
    console.print(place)
    rows: list[tuple[str, str | Text]] = [("may end", _may_end(facts))]
    if facts["bytes"]:
        rows.append(("next", listed(facts["bytes"])))
    if len(facts["forced"]) > 1:
        rows.append(("forced", cropped(facts["forced"], width)))
    share = percent(facts["allowed"] / facts["n_tokens"])
    rows.append(
        ("allowed", f"{count(facts['allowed'], 'token')} of {facts['n_tokens']:,} ({share})")
    )
    if facts["longest"]:
        longest = facts["longest"].replace(" ", "␣")
        rows.append(("longest token", cropped(longest, width)))
    if not facts["complete"]:
        rows.append(("completion", cropped(facts["completion"], width)))
    show(console, facts_grid(rows))
    if facts["groups"] or facts["eos"]:
        console.print("\n", heading("Tokens allowed"), sep="")
        show(console, _drawn_groups(facts, console.width))


def _may_end(facts: Mapping[str, Any]) -> str:
    if facts["complete"]:
        return "yes" if facts["bytes"] else "yes, and nothing can follow"
    if facts["tokens_to_end"] is None:
        return "no"
    return f"no; an end is {count(facts['tokens_to_end'], 'token')} away"


def _drawn_groups(facts: Mapping[str, Any], width: int) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    room = width - 2 - 24 - 2 - 7 - 2
    for group in facts["groups"]:
        examples = _fitting(group["examples"], group["count"], room)
        grid.add_row("  " + group["group"], f"{group['count']:,}", examples)
    if facts["eos"]:
        grid.add_row("  the end", "", Text("end-of-text token", style="dim"))
    return grid


def _fitting(examples: list[str], n: int, room: int) -> Text:
    """Return as many examples as fit, each on a ground of its own so that spaces show."""
    text = Text()
    for number, example in enumerate(examples):
        word = cropped(example, 30).replace(" ", "␣")
        if len(text) + len(word) + 3 > room:
            text.append("…", style="dim")
            break
        text.append(word, style="green")
        text.append(" " if number < len(examples) - 1 else "")
    else:
        if n > len(examples):
            text.append("…", style="dim")
    return text

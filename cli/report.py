"""Facts of a table, drawn for people: the short report of ``compile`` and the screen of ``inspect``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid
from rich.text import Text

from constrain.cli.folding import frame_name
from constrain.cli.terminal import bar, facts_grid, heading, show
from constrain.cli.words import count, cropped, listed, percent, seconds, shown, size
from constrain.limits import Limits
from constrain.tables.format import source_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from rich.console import Console

    Rows: TypeAlias = list[tuple[str, str | Text]]

_INDENT = 16  # columns before what is said of a fact
_SHORT = {  # the reasons of constrain.vocabulary, in a word or two
    "eos": "end of text",
    "special": "special",
    "unknown": "unknown",
    "ambiguous": "with two texts",
    "disagree": "read and written differently",
    "long": "too long",
    "control": "control marks",
    "forbidden": "forbidden",
    "empty": "empty",
}
_ORIGINS = {"the caller": "as --eos says", "well-known names": "guessed by its name"}
_LIMITS = ("max_states", "max_memory", "max_output", "timeout")  # that have options
_OPTIONS = {"dialect": "dialect {}", "layout": "{} layout", "cap_length": "strings of at most {}",
            "cap_items": "arrays of at most {} items"}  # fmt: skip


def title(facts: Mapping[str, Any]) -> Text:
    """Return the line that stands on top: file, size, what for."""
    name = "table" if facts["file"] is None else facts["file"]
    about = [] if facts["bytes"] is None else [size(facts["bytes"])]
    about.append(f"for {count(facts['tokenizer']['n_tokens'], 'token')}")
    return Text.assemble((name, "bold"), "  ", "  ".join(about))


def compiled(facts: Mapping[str, Any], console: Console, *, verbose: bool) -> None:
    """Print the report of a compile."""
    console.print(title(facts), soft_wrap=True)
    rows: Rows = [
        ("automaton", automaton(facts)),
        ("masks", _masks(facts)),
        ("tightest", extreme(facts["tightest"], console.width)),
        ("loosest", extreme(facts["loosest"], console.width)),
        ("text ends", ends(facts)),
        *_peculiar(facts),
        *_texts(facts),
        ("time", _times(facts["seconds"], verbose=verbose)),
    ]
    show(console, facts_grid(rows))


def inspected(facts: Mapping[str, Any], console: Console) -> None:
    """Print the whole story of a table."""
    console.print(title(facts), soft_wrap=True)
    rows: Rows = [
        ("source", source(facts)),
        ("choices", choices(facts)),
        ("tokenizer", tokenizer(facts)),
        ("text ends", ends(facts)),
        ("automaton", automaton(facts)),
        ("masks", _masks(facts)),
        *_peculiar(facts, always=True),
        *limits(facts),
    ]
    show(console, facts_grid(rows))
    if facts["frames"]:
        console.print("\n", heading("Frames: parts with an automaton of their own"), sep="")
        show(console, _frames(facts, console.width))
    console.print("\n", heading("Tokens allowed in a state"), sep="")
    show(console, _histogram(facts, console))
    rows = [
        ("tightest", extreme(facts["tightest"], console.width)),
        ("loosest", extreme(facts["loosest"], console.width)),
    ]
    show(console, facts_grid(rows))
    console.print("\n", heading("Texts"), sep="")
    show(console, facts_grid(_texts(facts)))
    console.print("\n`constrain help formats` explains the words.", style="dim")


def automaton(facts: Mapping[str, Any]) -> str:
    """Return the sizes of the automaton in words."""
    parts = [
        f"{count(facts['states'], 'state')} ({facts['accepting']:,} accepting)",
        f"{count(facts['rows'], 'distinct mask row')}",
    ]
    if facts["actions"]:
        parts.append(count(facts["actions"], "token action"))
    if facts["call_sites"]:
        frames, sites = count(len(facts["frames"]), "frame"), count(facts["call_sites"], "place")
        parts.append(f"{frames} called from {sites}")
    return ", ".join(parts)


def _masks(facts: Mapping[str, Any]) -> str:
    return f"{percent(facts['density'])} of the tokens are allowed in a state, on average"


def extreme(found: Mapping[str, Any], width: int) -> Text:
    """Return the words for the tightest or loosest states."""
    states = count(found["n_states"], "state")
    text = Text(f"{count(found['n_allowed'], 'token')} in {states}")
    if found["text"] is not None:
        after = cropped(found["text"], max(24, width - _INDENT - len(text) - 22))
        such = "as after" if found["n_states"] > 1 else "after"
        text.append(f", {such} " if found["text"] else ", at the start")
        text.append(after, style="green")
    return text


def _peculiar(facts: Mapping[str, Any], *, always: bool = False) -> Iterator[tuple[str, Text]]:
    """Yield what is not as usual: relaxed keywords, bounds, frames, tokens left out, traps."""
    if facts["relaxed"] or always:
        relaxed = Text(", ".join(facts["relaxed"]), style="yellow")
        yield "relaxed", relaxed or Text("nothing: every constraint is enforced")
    for note in facts["notes"]:
        yield "note", Text(note, style="yellow")
    for name, key in (("let in", "allow"), ("forbidden", "forbid")):
        if tokens := facts["tokenizer"].get(key):
            yield name, Text(", ".join(map(str, tokens)) + f" (--{key}-token)", style="yellow")
    left_out = facts["tokenizer"].get("left_out", {})
    if left_out or always:
        yield "left out", _left_out(left_out)
    if facts["traps"]:
        yield "traps", _traps(facts)


def _left_out(left_out: Mapping[str, Any]) -> Text:
    if not left_out:
        return Text("no token")
    text = Text(count(sum(reason["count"] for reason in left_out.values()), "token"))
    for number, (reason, about) in enumerate(left_out.items()):
        text.append(f"{', ' if number else ': '}{about['count']:,} {_SHORT.get(reason, reason)}")
        names = [shown(str(name).encode(), 20) for _, name in about["tokens"][:2]]
        if names:
            more = ", …" if about["count"] > len(names) else ""
            text.append(f" ({', '.join(names)}{more})", style="dim")
    return text


def _traps(facts: Mapping[str, Any]) -> Text:
    missing = bytes.fromhex(facts["missing_bytes"])
    spelled = " ".join(f"{byte:02x}" for byte in missing[:12]) + (" …" if missing[12:] else "")
    states = count(facts["traps"], "state")
    words = f"{states} cannot be finished by tokens and are never entered"
    return Text(f"{words}: no token stands alone for the bytes {spelled}", style="yellow")


def _texts(facts: Mapping[str, Any]) -> Iterator[tuple[str, Text]]:
    """Yield a shortest text, how many tokens any text takes, and samples, each on one line."""
    needs = count(facts["tokens_to_end"] + min(1, len(facts["tokenizer"]["eos"])), "token")
    if facts["shortest"] is None:
        yield "shortest", Text(f"takes {needs}, the end included; `constrain sample` prints texts")
        return
    yield "shortest", _line(facts["shortest"])
    yield "", Text(f"a text takes at least {needs}, the end included", style="dim")
    for number, text in enumerate(facts["samples"]):
        yield "samples" if not number else "", _line(text)


def _line(text: str) -> Text:
    """Return a text on one line, which ends in an ellipsis where it is too long."""
    words = shown(text.encode("utf-8", "surrogatepass")) or "(the empty text)"
    return Text(words, no_wrap=True, overflow="ellipsis")


def limits(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the limits that the table was made under."""
    given = facts["limits"]
    if given:
        words = {name: _bound(name, bound) for name, bound in given.items()}
        named = [words.pop(name) for name in _LIMITS if name in words]
        usual = asdict(Limits())
        named += [words[name] for name in words if given[name] != usual.get(name)]
        as_usual = all(given[name] == usual.get(name) for name in given)
        yield "limits", ("as by default: " if as_usual else "") + ", ".join(named)


def _bound(name: str, bound: float | None) -> str:
    what = name.removeprefix("max_").replace("_", " ")
    if bound is None:
        return f"{what} unbounded"
    if name == "timeout":
        return f"{bound:,g} s"
    if name in {"max_memory", "max_output", "max_input"}:
        return f"{size(int(bound))} of {what}"
    return f"{bound:,} {what}"


def _times(times: Mapping[str, float], *, verbose: bool) -> str:
    total = seconds(sum(times.values()))
    most = sorted(times.items(), key=lambda item: -item[1])[: None if verbose else 2]
    parts = ", ".join(f"{seconds(spent)} to {stage}" for stage, spent in most)
    return f"{total}: {parts}" if len(times) <= len(most) else f"{total}, of which {parts}"


def source(facts: Mapping[str, Any]) -> str:
    """Return where a table came from."""
    about = facts["source"]
    text = about.get("text", "")
    made = f"\ncompiled by constrain {facts['package']}, format {facts['format']}"
    if about.get("kind") == "regex":
        return f"pattern {shown(text.encode(errors='replace'), 300)}{made}"
    length = f", {size(len(text.encode(errors='replace')))}" if text else ""
    return f"{source_name(facts)}{length}, SHA-256 {about.get('sha256', '')[:12]}…{made}"


def choices(facts: Mapping[str, Any]) -> str:
    """Return the options that shaped the language."""
    options = facts["options"]
    parts = [
        pattern.format(options[name])
        for name, pattern in _OPTIONS.items()
        if options.get(name) is not None
    ]
    if "open" in options:
        kind = "open" if options["open"] else "closed"
        parts.append(f"objects {kind} where additionalProperties is absent")
    if "frames" in options:
        parts.append(
            f"frames {'where ' if options['frames'] == 'needed' else ''}{options['frames']}"
        )
    return ", ".join(parts) or "none"


def tokenizer(facts: Mapping[str, Any]) -> str:
    """Return what is known of the tokenizer."""
    about = facts["tokenizer"]
    tokens = count(about["n_tokens"], "token")
    return f"{tokens}, fingerprint {about['fingerprint'][:12]}…"


def ends(facts: Mapping[str, Any]) -> str:
    """Return the tokens that end a text, and who named them."""
    about = facts["tokenizer"]
    if not about["eos"]:
        return "without a token: where nothing more is allowed"
    names = dict(about.get("left_out", {}).get("eos", {}).get("tokens", ()))
    known = {number: f"{shown(name.encode(), 40)} ({number})" for number, name in names.items()}
    words = f"with {listed([known.get(number, f'id {number}') for number in about['eos']])}"
    origin = about.get("eos_origin")
    return f"{words}, {_ORIGINS.get(origin, f'named by {origin}')}" if origin else words


def _frames(facts: Mapping[str, Any], width: int) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    most = 12
    for number, frame in enumerate(facts["frames"][:most], start=1):
        name = frame_name(frame["name"] or frame["where"], number)
        grid.add_row(
            f"  state {frame['state']:,}", cropped(name, max(20, width - 36)), frame["why"]
        )
    if len(facts["frames"]) > most:
        grid.add_row(f"  and {len(facts['frames']) - most:,} more")
    return grid


def _histogram(facts: Mapping[str, Any], console: Console) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for justify in ("right", "right", "left"):
        grid.add_column(justify=justify)
    rows = facts["histogram"]
    largest = max(n for _, _, n in rows)
    for low, high, n in rows:
        span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        unit = "token " if high == 1 else "tokens"
        bars = bar(n / largest, min(60, max(8, console.width - 48)), console)
        grid.add_row(f"  {span} {unit}", count(n, "state"), Text(bars, style="blue"))
    return grid

"""``constrain report``: one page to explore a table in: type a text, and the automaton moves along.

The page is ``page.html`` with three things put in: the facts that ``inspect`` prints, the folded
automaton as SVG, and the *machine*: the arrays that a text is read with, and for each mask row its
count and some of its tokens. Bytes that no state tells apart are one class, so ``trans`` is stored as
[S, K]. All of it is JSON, deflated and in base64; the page asks nothing of any network.

Doesn't do: exact masks in the page, which would need the whole vocabulary.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from constrain.tables import Table

TEMPLATE = Path(__file__).with_name("page.html")
_CELLS = 30_000_000  # of the stored automaton: about what a browser opens without complaint
_TOKENS = 400_000  # example tokens in all
_EACH = 60  # example tokens of a row, at most
_N_SAMPLES = 6


def report(
    file: o.TableFile,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PATH", help="The page to write (.html).")
    ],
    max_boxes: Annotated[
        int, typer.Option("--max-boxes", metavar="N", min=1, help="How many boxes to draw at most.")
    ] = 200,
) -> None:
    """Write a page that opens in any browser: type a text and see what the table allows next.

    It is one file, needs no network, and holds the drawing of `constrain graph` and the numbers of
    `constrain inspect`.

    constrain report tool.npz -o tool.html
    """
    from constrain.cli.inputs import load_table
    from constrain.cli.terminal import err
    from constrain.cli.words import size

    if output.suffix.lower() not in {".html", ".htm"}:
        raise typer.BadParameter("the name must end in .html", param_hint="--output")
    text = page(load_table(file), file, max_boxes)
    output.write_text(text, encoding="utf-8")
    err().print(f"{output}: {size(len(text.encode()))}; open it in a browser", soft_wrap=True)


def page(table: Table, path: Path, max_boxes: int) -> str:
    """Return the page."""
    from html import escape

    from constrain.cli.folding import fold
    from constrain.cli.picture import remark
    from constrain.cli.vector import STYLE, svg

    folded = fold(table, max_boxes)
    data = {"machine": machine(table), "about": _about(table, path), "remark": remark(folded)}
    packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 6)
    parts = {
        "TITLE": escape(path.name),
        "MAP-STYLE": STYLE,
        "MAP": svg(folded, title=f"the automaton of {path.name}", standalone=False),
        "DATA": base64.b64encode(packed).decode(),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@@{name}@@", part)
    return text


def _about(table: Table, path: Path) -> dict[str, Any]:
    """Return the facts to show, in words."""
    from constrain.cli.facts import facts
    from constrain.cli.report import automaton, choices, ends, limits, source, tokenizer
    from constrain.cli.words import percent, size

    found = facts(table, path, _N_SAMPLES)
    rows = {
        "source": source(found),
        "choices": str(choices(found)),
        "tokenizer": tokenizer(found),
        "text ends": ends(found),
        "automaton": automaton(found),
        "masks": f"{percent(found['density'])} of the tokens are allowed in a state, on average",
        "relaxed": ", ".join(found["relaxed"]) or "nothing: every constraint is enforced",
        **dict(limits(found)),
        "file": f"{path.name}, {size(path.stat().st_size)}",
    }
    shortest = [] if found["shortest"] is None else [found["shortest"]]
    return {
        "facts": rows,
        "texts": list(dict.fromkeys([*shortest, *found["samples"]])),
        "histogram": found["histogram"],
        "n_tokens": table.n_tokens,
    }


def machine(table: Table) -> dict[str, Any]:
    """Return what a text is read with, as JSON values.

    Raises
    ------
    ConstrainError
        If it is too large for a page.
    """
    import numpy as np

    from constrain.cli.folding import frame_names
    from constrain.cli.words import count
    from constrain.errors import ConstrainError

    columns, classes = _byte_classes(table)
    if columns.size > _CELLS:
        raise ConstrainError(
            f"{count(table.n_states, 'state')} are too many for a page;"
            " `constrain graph` draws the first of them, `constrain inspect --after` shows any"
        )
    counts, tokens = _row_tokens(table)
    found: dict[str, Any] = {
        "classes": classes,
        "n_classes": columns.shape[1],
        "trans": _runs(columns.reshape(-1)),
        "accept": np.flatnonzero(table.accept).tolist(),
        "n_states": table.n_states,
        "to_end": table.tokens_to_end.tolist(),
        "mask_row": table.mask_row.tolist(),
        "counts": counts,
        "tokens": tokens,
        "frames": None,
    }
    if table.frames is not None:
        frames = table.frames
        names = ("pop", "call_target", "call_return", "tick", "escape", "escape_at")
        more = ("tokens_to_pop", "pace", "pace_until")
        arrays = {name: getattr(frames, name).tolist() for name in (*names, *more)}
        if frames.stride is not None:
            strides = ("stride", "stride_offsets", "stride_tokens")
            arrays |= {name: getattr(frames, name).tolist() for name in strides}
        found["frames"] = {**arrays, "names": frame_names(table)}
    return found


def _byte_classes(table: Table) -> tuple[NDArray[np.int32], list[int]]:
    """Return the different columns of ``trans``, int32 [S, K], and the one of each byte."""
    import numpy as np

    columns = np.ascontiguousarray(table.trans.T)
    known: dict[bytes, int] = {}
    classes = [known.setdefault(column.tobytes(), len(known)) for column in columns]
    first = [classes.index(number) for number in range(len(known))]
    return np.ascontiguousarray(columns[first].T), classes


def _runs(values: NDArray[np.int32]) -> list[int]:
    """Return a list as value, length, value, length, ... of its runs of equal values."""
    import numpy as np

    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    lengths = np.diff(starts, append=len(values))
    packed: list[int] = np.stack([values[starts], lengths], axis=1).reshape(-1).tolist()
    return packed


def _row_tokens(table: Table) -> tuple[list[int], list[list[str | list[str]]]]:
    """Return how many tokens each row allows, and some of them as text."""
    import numpy as np

    from constrain.tables.bitmask import unpack

    each = max(8, min(_EACH, _TOKENS // max(1, len(table.masks))))
    counts: list[int] = []
    tokens: list[list[str | list[str]]] = []
    for words in table.masks:
        ids = np.flatnonzero(unpack(words, table.n_tokens))
        counts.append(len(ids))
        ids = ids[~np.isin(ids, table.eos)]
        first, rest = ids[: each // 2], ids[each // 2 :]
        if len(rest):  # the first ones are short; the others are spread over the vocabulary
            rest = rest[np.unique(np.linspace(0, len(rest) - 1, each - len(first)).astype(int))]
        tokens.append([_text(table.token(t)) for t in [*first.tolist(), *rest.tolist()]])
    return counts, tokens


def _text(token: bytes) -> str | list[str]:
    """Return a token as text, or in a list its escaped bytes where it is none."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return [token.decode(errors="backslashreplace")]

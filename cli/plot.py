"""``constrain plot``: how many tokens states allow, and how far from an end they are, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from constrain.tables import Table

_BLUE, _GREEN, _DIM = "#2f6fba", "#2f8f5b", "#667180"
_BINS = 40


def plot(
    file: o.TableFile,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="PATH", help="The picture: .svg, .png or .pdf."),
    ],
) -> None:
    """Plot how many tokens the states of a table allow, and how many tokens an end is away.

    It needs matplotlib, which the extra `draw` installs.

    constrain plot tool.npz -o tool.png
    """
    from constrain.cli.inputs import load_table
    from constrain.errors import ConstrainError

    if output.suffix.lower() not in {".svg", ".png", ".pdf"}:
        raise typer.BadParameter("the name must end in .svg, .png or .pdf", param_hint="--output")
    table = load_table(file)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConstrainError(
            "plots need matplotlib: `pip install 'constrain-tables[draw]'` (or `pip install"
            " matplotlib`); `constrain inspect` prints the same numbers without it"
        ) from None
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _allowed(left, table)
    _distance(right, table)
    figure.suptitle(
        f"{file.name}: {table.n_states:,} states, {table.n_tokens:,} tokens", fontsize=11, x=0.02,
        ha="left",
    )  # fmt: skip
    figure.savefig(output, dpi=160, metadata={"Date": None} if _is_svg(output) else None)


def _is_svg(output: Path) -> bool:
    return output.suffix.lower() == ".svg"


def distances(table: Table) -> NDArray[Any]:
    """Return, for states that tokens can lead out of, how many tokens an end or a close is away."""
    from constrain.tables.format import NO_END

    found = table.tokens_to_end
    if table.frames is not None and table.frames.tokens_to_pop.shape[1]:
        found = found.clip(max=table.frames.tokens_to_pop.min(axis=1))
    return found[found < NO_END]


def _allowed(axes: Any, table: Table) -> None:
    """Draw a histogram of the tokens allowed, on a logarithmic scale."""
    import numpy as np

    from constrain.cli.facts import allowed_counts

    counts = allowed_counts(table)
    counts = counts[counts > 0]
    edges = np.geomspace(0.7, table.n_tokens * 1.4, _BINS + 1)
    heights, _, _ = axes.hist(counts, bins=edges, color=_BLUE)
    axes.set_xscale("log")
    axes.set_ylim(top=1.15 * max(heights))  # room for the words above the bars
    median = int(np.median(counts))
    axes.axvline(median, color=_DIM, linewidth=1, linestyle=":")
    axes.annotate(
        f"median {median:,}", (median, 1), xycoords=("data", "axes fraction"), xytext=(4, -10),
        textcoords="offset points", fontsize=8, color=_DIM,
    )  # fmt: skip
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    _finish(axes, "Tokens allowed in a state", "tokens allowed, end of text included")


def _distance(axes: Any, table: Table) -> None:
    """Draw how many states are so many tokens away from an end."""
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    found = distances(table)
    furthest = int(found.max(initial=0))
    step = max(1, -(-(furthest + 1) // (2 * _BINS)))
    axes.hist(found, bins=np.arange(-0.5, furthest + step + 0.5, step), color=_GREEN, rwidth=0.9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    words = "fewest tokens to an end" + ("" if table.is_plain else ", or to the frame's close")
    _finish(axes, "Distance to the end", words)


def _finish(axes: Any, title: str, below: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(below, fontsize=9)
    axes.set_ylabel("states", fontsize=9)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#e3e7ec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

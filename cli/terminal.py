"""Where output goes: results to standard output, everything else to standard error.

Consoles are made when they are needed, so that they see the streams of the moment. ``rich`` looks
after NO_COLOR, pipes and the width (the variable COLUMNS overrules it). Whatever a stranger's schema,
tokenizer or table holds, no control character of it reaches the terminal: an escape sequence could
move the cursor or change the title, and marks of direction could make a line read as another one.

``Stages`` is the progress of a compile. It is called with the name of each stage as it begins and
keeps the times; on a terminal it shows a spinner once half a second has passed.
"""

from __future__ import annotations

import json
import time
from threading import Timer
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table as Grid
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from rich.console import ConsoleOptions
    from rich.status import Status

_PATIENCE = 0.5  # seconds of work before anything is said


# One character for one, so that carets stay below what they mark.
_SHOWN = {code: 0x2400 + code for code in range(32) if code not in b"\n\t"}
_SHOWN |= {0x7F: 0x2421, **dict.fromkeys((*range(0x80, 0xA0), 0x61C, 0x200E, 0x200F), 0xFFFD)}
_SHOWN |= dict.fromkeys((*range(0x2028, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)


class _Console(Console):
    """A console that shows control characters instead of obeying them."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what rich does, control characters replaced by pictures of them."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(segment.text.translate(_SHOWN), segment.style)


def out() -> Console:
    """Return the console for results."""
    return _Console(highlight=False, emoji=False, markup=False)


def err() -> Console:
    """Return the console for everything else."""
    return _Console(stderr=True, highlight=False, emoji=False, markup=False)


def print_json(value: Any) -> None:
    """Print a value as JSON, as it is, whatever the width."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def bar(share: float, width: int, console: Console) -> str:
    """Return a bar of a share of a width, in blocks where the console can show them."""
    full = "█" if console.encoding.startswith("utf") else "#"
    n = round(share * width)
    return full * max(n, 1) if share > 0 else ""


def heading(text: str) -> Text:
    """Return a heading."""
    return Text(text, style="bold")


def facts_grid(rows: Iterable[tuple[str, str | Text]]) -> Grid:
    """Return rows of a name and what is to be said of it, aligned, the second part wrapping."""
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(
            Text("  " + name, style="cyan"), Text(value) if isinstance(value, str) else value
        )
    return grid


def show(console: Console, drawing: RenderableType) -> None:
    """Print something, without the blanks that fill its lines up to the right."""
    for line in console.render_lines(drawing, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            text, style, _ = line[-1]
            line[-1] = Segment(text.rstrip(), style)
        console.print(Segments([*line, Segment.line()]), end="", soft_wrap=True)


class Stages:
    """The stages of a compile: their times, and a spinner for people who wait.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    verbose : bool
        Also say each stage and its time on a line of its own, when it is over.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.times: dict[str, float] = {}
        self._console = err()
        self._verbose = verbose
        self._status: Status | None = None
        self._stage = ""
        self._since = time.perf_counter()
        self._timer: Timer | None = None
        if self._console.is_terminal and not quiet:
            self._timer = Timer(_PATIENCE, self._show)
            self._timer.daemon = True

    def __enter__(self) -> Stages:
        """Begin."""
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the spinner, and the clock of the last stage."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._status is not None:
            self._status.stop()
        self._end()

    def __call__(self, stage: str) -> None:
        """Note that a stage begins, and the one before it is over."""
        self._end()
        self._stage = stage
        if self._status is not None:
            self._status.update(stage)

    def _end(self) -> None:
        now = time.perf_counter()
        if self._stage:
            spent = now - self._since
            self.times[self._stage] = self.times.get(self._stage, 0.0) + spent
            if self._verbose:
                self._console.print(f"{spent:8.3f} s  {self._stage}")
        self._stage, self._since = "", now

    def _show(self) -> None:
        status = self._console.status(self._stage or "starting")
        status.start()
        self._status = status

"""Bounds on everything a stranger's input could make large, and the meter that watches them.

``Limits`` is what a caller sets; a ``Meter`` is one compile's copy of it with a clock. Stages call
``meter.tick()`` inside their loops (a clock reading, cheap enough for every few hundred steps) and
``meter.require(what, given, limit, where)`` before they allocate. Where a step may cost anything
from one to a million, ``meter.spend`` counts what it cost, and ``meter.hold`` what it keeps. No
signals and no threads are involved, so a compile can be bounded in any thread.
"""

import time
from dataclasses import dataclass, field, fields
from math import isnan

from constrain.errors import LimitError

MIB = 1 << 20
_EFFORT = 1 << 16  # set members handled between two looks at the clock: some milliseconds


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one compile; every field is on by default.

    Attributes
    ----------
    max_states : int
        States of any automaton, while it is built as well as after.
    max_nfa_states : int
        States of the nondeterministic automaton before subset construction.
    max_nodes : int
        Nodes of a syntax tree.
    max_depth : int
        Nesting of groups in a pattern and of subschemas in a schema; five times as much where
        references lead on.
    max_repeat : int
        The largest count in a quantifier of a pattern.
    max_input : int
        Bytes of a schema, pattern or tokenizer file.
    max_memory : int
        Bytes of each of the largest things: the states under construction, the token actions, the
        mask rows, the table.
    max_output : int
        Bytes of the table file.
    timeout : float
        Seconds for one compile.
    """

    max_states: int = 200_000
    max_nfa_states: int = 2_000_000
    max_nodes: int = 2_000_000
    max_depth: int = 200
    max_repeat: int = 100_000
    max_input: int = 256 * MIB
    max_memory: int = 2048 * MIB
    max_output: int = 2048 * MIB
    timeout: float = 120.0

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for NaN: nothing exceeds it, so it would switch a limit off."""
        for limit in fields(self):
            value = getattr(self, limit.name)
            if isnan(value):
                raise ValueError(f"{limit.name} is {value}, which bounds nothing; math.inf says so")


@dataclass(slots=True)
class Meter:
    """One compile's limits and its clock.

    Attributes
    ----------
    limits : Limits
    started : float
        ``time.monotonic()`` when the compile began.
    where : str
        The part being worked on, for messages.
    spent, held : int
        Work since the last look at the clock, and bytes that the states under construction take.
    """

    limits: Limits = field(default_factory=Limits)
    started: float = field(default_factory=time.monotonic)
    where: str = ""
    spent: int = 0
    held: int = 0

    def spend(self, effort: int) -> None:
        """Count work; look at the clock when enough has come together."""
        self.spent += effort
        if self.spent >= _EFFORT:
            self.spent = 0
            self.tick()

    def hold(self, n_bytes: int) -> None:
        """Count memory that is kept; raise ``LimitError`` if it is too much."""
        self.held += n_bytes
        if self.held > self.limits.max_memory:
            raise LimitError("bytes of states", self.held, self.limits.max_memory, self.where)
        self.spend(n_bytes >> 5)

    def descend(self, levels: int) -> None:
        """Raise ``LimitError`` if schemas lead into each other too deeply."""
        limit = 5 * self.limits.max_depth
        if levels > limit:
            raise LimitError("levels of schemas that lead on", levels, limit, self.where)

    def tick(self) -> None:
        """Raise ``LimitError`` if the time is up."""
        elapsed = time.monotonic() - self.started
        if elapsed > self.limits.timeout:
            raise LimitError("seconds", elapsed, self.limits.timeout, self.where)

    def require(self, what: str, given: float, limit: float, where: str = "") -> None:
        """Raise ``LimitError`` if ``given`` exceeds ``limit``; also look at the clock."""
        if given > limit:
            raise LimitError(what, given, limit, where or self.where)
        self.tick()

"""The machine that a table holds: a canonical automaton, and frames where there are any.

A *configuration* is a state, a count and a stack of call sites. Reading byte b in state s:

* ``trans[s, b] >= 0``: go there; ``-1``: dead; ``-2 - c``: push call site c with the count, go to
  ``call_target[c]`` with count 0.
* Arriving at t by a byte with ``tick[t]`` adds one to the count; if the count then is
  ``escape_at[t]``, go on in ``escape[t]``.
* Arriving at t with ``pop[t] = l >= 0``: pop call site c with its count, go on in
  ``call_return[c, l]``. States with a pop label have no other way on.

A text is complete when ``accept[s]`` and the stack is empty. A machine without call sites is plain,
and then it is the minimal DFA and nothing else. ``Run`` executes a machine byte by byte: the
definition that everything faster is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from constrain.dfa import DEAD, DFA


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """What ``inspect`` says of one frame: its first state, its name, why and where it arose."""

    state: int
    name: str
    why: str
    where: str


@dataclass(frozen=True, eq=False)
class Machine:
    """An automaton with frames.

    Attributes
    ----------
    dfa : DFA
        ``trans`` int32 [S, 256] (with ``-2 - c`` for call site c) and ``accept`` bool [S].
    pop : int32 [S]
        The label popped on arrival, or -1.
    call_target : int32 [C]
        The first state of the frame that a call site enters.
    call_return : int32 [C, L]
        The state to go on in when the frame closes with a label; -1 where it cannot.
    tick : bool [S]
        Whether arriving by a byte counts one.
    escape, escape_at : int32 [S], int64 [S]
        Where to go on when the count on arrival is ``escape_at``; -1 and 0 where there is none.
    waits_for : int64 [S]
        The count before which no frame that is open here may close, in states that do not spell
        the count out; 0 elsewhere. Nothing reads this but the search for short ways to an end.
    call_close : tuple[int, ...]
        The bytes that may close the frame a call site enters, as bits.
    frames : tuple[FrameInfo, ...]
        The frames, for people.
    """

    dfa: DFA
    pop: NDArray[np.int32]
    call_target: NDArray[np.int32]
    call_return: NDArray[np.int32]
    tick: NDArray[np.bool_]
    escape: NDArray[np.int32]
    escape_at: NDArray[np.int64]
    waits_for: NDArray[np.int64]
    call_close: tuple[int, ...] = ()
    frames: tuple[FrameInfo, ...] = ()

    def __repr__(self) -> str:
        """Return the sizes in one line."""
        return f"<Machine: {self.n_states:,} states, {len(self.call_target):,} call sites>"

    @classmethod
    def of(cls, dfa: DFA) -> Machine:
        """Return the machine without frames of an automaton."""
        n = dfa.n_states
        return cls(
            dfa,
            np.full(n, -1, dtype=np.int32),
            np.zeros(0, dtype=np.int32),
            np.zeros((0, 0), dtype=np.int32),
            np.zeros(n, dtype=np.bool_),
            np.full(n, -1, dtype=np.int32),
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
        )

    @property
    def n_states(self) -> int:
        """The number of states."""
        return self.dfa.n_states

    @property
    def n_labels(self) -> int:
        """The number of pop labels."""
        return int(self.call_return.shape[1])

    @property
    def is_plain(self) -> bool:
        """Whether there are no frames."""
        return len(self.call_target) == 0

    def matches(self, data: bytes) -> bool:
        """Return whether ``data`` belongs to the language."""
        run = Run(self)
        return all(run.read(byte) for byte in data) and run.is_complete


@dataclass(slots=True)
class Run:
    """A machine in the course of reading a text, byte by byte.

    Attributes
    ----------
    machine : Machine
    state : int
        ``DEAD`` once the text left the language.
    count : int
        Ticks passed in the innermost open frame.
    stack : list[tuple[int, int]]
        Open call sites, each with the count of the frame it was made in.
    """

    machine: Machine
    state: int = 0
    count: int = 0
    stack: list[tuple[int, int]] = field(default_factory=list)

    def read(self, byte: int) -> bool:
        """Read one byte; return whether the text can still be completed."""
        if self.state == DEAD:
            return False
        machine = self.machine
        target = int(machine.dfa.trans[self.state, byte])
        if target < DEAD:
            site = -2 - target
            self.stack.append((site, self.count))
            self.state, self.count = int(machine.call_target[site]), 0
            return True
        self.state = target
        if target == DEAD:
            return False
        if machine.tick[target]:
            self.count += 1
            if machine.escape[target] >= 0 and self.count == machine.escape_at[target]:
                self.state = int(machine.escape[target])
        while self.state >= 0 and (label := int(machine.pop[self.state])) >= 0:
            if not self.stack:
                self.state = DEAD
                return False
            site, self.count = self.stack.pop()
            self.state = int(machine.call_return[site, label])
        return self.state != DEAD

    @property
    def is_complete(self) -> bool:
        """Whether the text read so far belongs to the language."""
        return self.state != DEAD and not self.stack and bool(self.machine.dfa.accept[self.state])

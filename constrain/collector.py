"""The cyclic garbage collector waits while an automaton is built.

The automaton stages make some hundred thousand small lists, sets and dictionaries that live to the
end of their stage and form hardly any cycles. Python's cyclic collector looks through all of them
again and again, which takes a third of the time and frees nothing: reference counting does. So it is
switched off meanwhile, for the process (there is no other way), and on again when the last of several
threads is done. If it was off before, it stays so.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = Lock()
_paused = 0  # how many are inside
_was_on = False


@contextmanager
def paused_collector() -> Iterator[None]:
    """Let no cyclic garbage be collected inside; may be nested and used by threads."""
    global _paused, _was_on  # noqa: PLW0603
    with _lock:
        if _paused == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _paused += 1
    try:
        yield
    finally:
        with _lock:
            _paused -= 1
            if _paused == 0 and _was_on:
                gc.enable()

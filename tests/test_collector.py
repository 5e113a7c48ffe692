"""The collector is off inside and afterwards as it was, whatever happens in between."""

from __future__ import annotations

import gc
import threading

import pytest

import constrain
from constrain.collector import paused_collector


def test_it_is_on_again_afterwards() -> None:
    assert gc.isenabled()
    with paused_collector():
        assert not gc.isenabled()
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_again_after_an_error() -> None:
    with pytest.raises(constrain.SchemaError):
        constrain.compile({"type": "strin"}, constrain.Vocabulary.of([b"a"], [0]))
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off() -> None:
    gc.disable()
    try:
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_last_of_several_threads_puts_it_on() -> None:
    inside, leave = threading.Barrier(2), threading.Event()

    def other() -> None:
        with paused_collector():
            inside.wait()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    with paused_collector():
        inside.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()

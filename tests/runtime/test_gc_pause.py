"""Pauses of the garbage collector: it is as before when the last one has ended, in any thread or process."""

from __future__ import annotations

import gc
import inspect
import linecache
import multiprocessing
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.runtime import gc_pause
from graphrewrite.runtime.gc_pause import gc_paused

CHILD = """
import gc, multiprocessing, os, sys, threading
from graphrewrite.runtime.gc_pause import gc_paused

BEFORE = gc.get_threshold()
begun, ended = threading.Event(), threading.Event()

def other():
    with gc_paused():
        begun.set()
        ended.wait()

def child():
    with gc_paused():
        inside = gc.get_threshold()
    assert gc.get_threshold() == BEFORE != inside

if __name__ == "__main__":
    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    begun.wait()
    with gc_paused():
        process = multiprocessing.get_context(sys.argv[1]).Process(target=child)
        process.start()
    process.join()
    assert process.exitcode == 0
    ended.set()
    thread.join()
    assert gc.get_threshold() == BEFORE
    # The interpreter ends while a pause lasts.
    ended.clear()
    threading.Thread(target=other, daemon=True).start()
"""


@contextmanager
def kept() -> Iterator[None]:
    """Leave the collector as it was."""
    was, threshold = gc.isenabled(), gc.get_threshold()
    try:
        yield
    finally:
        gc.enable() if was else gc.disable()
        gc.set_threshold(*threshold)


def is_paused(wanted: tuple[int, ...]) -> bool:
    """Tell whether a pause lasts; the collector is else as it is wanted."""
    found = gc.get_threshold()
    assert found[1:] == wanted[1:]
    if found == wanted:
        return False
    assert found[0] > 10**9
    return True


@given(st.lists(st.one_of(st.integers(0, 3), st.booleans(), st.sampled_from([(500, 5, 5), (0, 1, 1)])), max_size=16))
def test_overlapping_pauses_end_with_the_last_and_keep_to_what_the_user_sets_meanwhile(events: list[Any]) -> None:
    pauses: dict[int, Any] = {}
    with kept():
        enabled, threshold, is_set = gc.isenabled(), gc.get_threshold(), False
        for event in events:
            if isinstance(event, bool):
                enabled = event
                gc.enable() if event else gc.disable()
            elif isinstance(event, tuple):
                threshold = event
                gc.set_threshold(*event)
                is_set = True  # holds until another pause begins
            elif event in pauses:
                pauses.pop(event).__exit__(None, None, None)
            else:
                pauses[event] = gc_paused()
                pauses[event].__enter__()
                is_set = False
            assert gc.isenabled() == enabled
            assert is_paused(threshold) == (bool(pauses) and not is_set)
        for pause in pauses.values():
            pause.__exit__(None, None, None)
        assert (gc.isenabled(), gc.get_threshold()) == (enabled, threshold)


def test_an_exception_of_a_signal_handler_anywhere_ends_the_pause() -> None:
    class Interrupt(BaseException):
        pass

    def interrupt_at(step: int) -> bool:
        """Tell whether there is such a step: a line on which something is called, or a call."""
        left = step

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal left
            file = frame.f_code.co_filename
            if file not in (gc_pause.__file__, inspect.getfile(contextmanager)):
                return None
            if event == "call" or (
                event == "line" and not re.match(r" *(with|try)\b", linecache.getline(file, frame.f_lineno))
            ):
                left -= 1
                if left == 0:
                    raise Interrupt
            return trace if file == gc_pause.__file__ else None

        followed = sys.gettrace()
        sys.settrace(trace)
        try:
            with gc_paused():
                pass
        except Interrupt:
            return True
        finally:
            sys.settrace(followed)
        return False

    before = gc.get_threshold()
    step = 1
    while interrupt_at(step):
        assert gc.get_threshold() == before, f"interrupted at step {step}"
        step += 1
    assert step > 20


def test_threads() -> None:
    before = gc.get_threshold()
    start = threading.Barrier(8)

    def pauses() -> None:
        start.wait()
        for _ in range(200):
            with gc_paused():
                assert is_paused(before)

    threads = [threading.Thread(target=pauses) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gc.get_threshold() == before


@pytest.mark.parametrize("frozen", [False, True])
def test_what_is_new_is_taken_for_old_up_to_a_limit_and_what_is_frozen_stays_so(frozen: bool) -> None:
    program = f"""
import gc
import networkx
from graphrewrite.runtime.gc_pause import gc_paused

gc.collect()
if {frozen}:
    gc.freeze()
for _ in range(2):
    with gc_paused():
        new = [[] for _ in range(10_001)]
    old = sum(each is new for each in gc.get_objects(generation=2))
    assert (old, gc.get_freeze_count() > 0) == ({not frozen}, {frozen})
    del new
    gc.collect()
# What is garbage goes before the heap has doubled, though every pause makes some.
most = len(gc.get_objects())
for _ in range(100):
    with gc_paused():
        for _ in range(10_001):
            cycle = []
            cycle.append(cycle)
assert len(gc.get_objects()) < max(3 * most, 50_000)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_child_process_collects_whatever_other_threads_did(method: str, tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CHILD)
    subprocess.run([sys.executable, "-W", "ignore", program, method], check=True, timeout=60)

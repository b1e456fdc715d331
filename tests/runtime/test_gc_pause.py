"""Pauses of the garbage collector: it is as before when the last one has ended, in any thread or process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.runtime.gc_pause import gc_paused

FORK = """
import gc, os, threading
from graphrewrite.runtime.gc_pause import gc_paused

begun, ended = threading.Event(), threading.Event()

def other():
    with gc_paused():
        begun.set()
        ended.wait()

thread = threading.Thread(target=other)
thread.start()
begun.wait()
with gc_paused():
    child = os.fork()
if child == 0:
    with gc_paused():
        inside = gc.isenabled()
    os._exit(0 if gc.isenabled() and not inside else 1)
status = os.waitpid(child, 0)[1]
ended.set()
thread.join()
assert gc.isenabled()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


@given(st.lists(st.integers(0, 3), max_size=12), st.booleans())
def test_overlapping_pauses_end_with_the_last(order: list[int], enabled: bool) -> None:
    pauses = [gc_paused() for _ in range(4)]
    is_open = [False] * 4
    was = gc.isenabled()
    try:
        gc.enable() if enabled else gc.disable()
        for index in order:
            if is_open[index]:
                pauses[index].__exit__(None, None, None)
                pauses[index] = gc_paused()
            else:
                pauses[index].__enter__()
            is_open[index] = not is_open[index]
            assert gc.isenabled() == (enabled and not any(is_open))
        for pause, each in zip(pauses, is_open, strict=True):
            if each:
                pause.__exit__(None, None, None)
        assert gc.isenabled() == enabled
    finally:
        gc.enable() if was else gc.disable()


def test_threads() -> None:
    assert gc.isenabled()
    start = threading.Barrier(8)

    def pauses() -> None:
        start.wait()
        for _ in range(200):
            with gc_paused():
                assert not gc.isenabled()

    threads = [threading.Thread(target=pauses) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gc.isenabled()


SPARED = """
import gc
from graphrewrite.runtime import gc_pause

class Rubbish:
    pass

def made_in_a_pause(count):
    with gc_pause.gc_paused():
        made = [[[]] for _ in range(count)]
        rubbish = Rubbish()
        rubbish.itself = rubbish
    return any(each is made[0] for each in gc.get_objects(generation=2))

def rubbish():
    return sum(type(each) is Rubbish for each in gc.get_objects())

gc_pause._MOST_SPARED = 25_000
gc.collect()
assert made_in_a_pause(10_000)            # not looked at again
assert rubbish() == 1
assert not made_in_a_pause(10_000)        # too many by now: the collector does its work
gc.collect()
assert rubbish() == 0
assert made_in_a_pause(10_000)            # and all begins anew
gc.collect()
gc.freeze()
frozen = gc.get_freeze_count()
assert not made_in_a_pause(10_000)
assert gc.get_freeze_count() > 0.9 * frozen
"""


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="its collector has generations")
def test_what_is_new_is_taken_for_old_up_to_a_limit() -> None:
    subprocess.run([sys.executable, "-c", SPARED], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_process_collects_whatever_other_threads_did() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], check=True, timeout=60)

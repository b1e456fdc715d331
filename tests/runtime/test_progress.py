"""Progress is shown in terminals and notebooks, never elsewhere, and leaves nothing behind."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, evaluation, op, rewrite, rule
from graphrewrite.runtime.progress import progress

ROOT = Path(__file__).parents[2]
WORK = """
import sys, time
sys.path.insert(0, {root!r})
{before}
from graphrewrite.runtime import progress as module
module._PATIENCE = {patience}
with module.progress(range(8), "import") as items:
    for item in items:
        time.sleep(0.05)
        {inside}
print("done")
"""


def script(*, before: str = "", inside: str = "pass", patience: float = 0.1) -> list[str]:
    return [sys.executable, "-c", WORK.format(root=str(ROOT), before=before, inside=inside, patience=patience)]


def in_terminal(command: list[str]) -> tuple[str, int]:
    """What a program writes to the terminal that is its standard error, and its exit status."""
    controller, terminal = pty.openpty()
    surroundings = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, env=surroundings) as process:
        os.close(terminal)
        found = b""
        while True:
            try:
                piece = os.read(controller, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            found += piece
        os.close(controller)
        return found.decode(), process.wait(timeout=60)


def left_on(screen: str) -> list[str]:
    """The lines that remain on a terminal: only what rich writes is understood."""
    lines, row, column, at = [""], 0, 0, 0
    while at < len(screen):
        if screen.startswith("\x1b[", at):
            end = next(i for i in range(at + 2, len(screen)) if screen[i].isalpha())
            count, code = screen[at + 2 : end], screen[end]
            if code == "K" and count == "2":
                lines[row] = ""
            elif code == "A":
                row -= int(count or 1)
            at = end + 1
            continue
        if screen[at] == "\r":
            column = 0
        elif screen[at] == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        else:
            lines[row] = lines[row].ljust(column)[:column] + screen[at] + lines[row][column + 1 :]
            column += 1
        at += 1
    return [line for line in lines if line.strip()]


def test_a_terminal_shows_it_and_is_clean_afterwards():
    screen, status = in_terminal(script())
    assert status == 0
    assert "import" in screen
    assert left_on(screen) == []
    assert screen.count("\x1b[?25l") == screen.count("\x1b[?25h") == 1  # the cursor is there again


def test_short_work_shows_nothing():
    assert in_terminal(script(patience=10)) == ("", 0)


def test_without_rich_a_terminal_shows_nothing():
    assert in_terminal(script(before="sys.modules['rich.console'] = None")) == ("", 0)


def test_a_pipe_gets_nothing():
    done = subprocess.run(script(), capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_an_interruption_leaves_the_terminal_clean():
    screen, status = in_terminal(script(inside="if item == 5: raise KeyboardInterrupt"))
    assert status != 0
    before, _, after = screen.partition("Traceback")
    assert "import" in before
    assert left_on(before) == []
    assert before.endswith("\x1b[2K")
    assert before.count("\x1b[?25h") == 1
    assert "KeyboardInterrupt" in after


def test_a_display_of_the_callers_own_stays_alone():
    before = "from rich.live import Live; live = Live('mine', auto_refresh=False); live.start()"
    screen, status = in_terminal(script(before=before))
    assert status == 0
    assert left_on(screen) == []


@pytest.fixture
def notebook(monkeypatch):
    """A notebook, and what it was told to show: one list a display, of texts."""
    shown: list[list[str]] = []

    class Handle:
        def update(self, data, *, raw):
            shown[-1].append(data["text/plain"])

    def display(data, *, raw, display_id):
        shown.append([data["text/plain"]])
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    module, front = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    module.get_ipython, front.display = lambda: shell, display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", front)
    monkeypatch.setattr("graphrewrite.runtime.progress._PATIENCE", 0.0)
    monkeypatch.setattr("graphrewrite.runtime.progress._PAUSE", 0.0)
    return shown


def test_a_notebook_shows_it_and_takes_it_away(notebook):
    with progress(iter("abc"), "import", 3) as items:
        assert list(items) == ["a", "b", "c"]
    assert notebook == [["import: 0 of 3", "import: 1 of 3", "import: 2 of 3", ""]]


def test_work_inside_of_work_is_not_shown(notebook):
    with progress(range(1), "outer") as outer:
        for _ in outer:
            with progress(range(2), "inner") as inner:
                assert list(inner) == [0, 1]
    assert notebook == [["outer: 0 of 1", ""]]


def test_work_that_nobody_tells_the_length_of(notebook):
    with progress(iter("a"), "import") as items:
        list(items)
    assert notebook == [["import: 0", ""]]


def test_an_error_passes_and_takes_it_away(notebook):
    def work():
        with progress(range(2), "import") as items:
            return [1 // item for item in items]

    with pytest.raises(ZeroDivisionError):
        work()
    assert notebook == [["import: 0 of 2", ""]]


def test_threads_show_nothing(notebook):
    def work():
        with progress(range(2), "import") as items:
            list(items)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert notebook == []


def test_the_items_themselves_where_nobody_looks(monkeypatch):
    for stream in (None, types.SimpleNamespace(), open(os.devnull, "w")):  # noqa: SIM115, PTH123
        monkeypatch.setattr(sys, "stderr", stream)
        items = [1, 2]
        with progress(items, "import") as given:
            assert given is items
        if hasattr(stream, "close"):
            stream.close()
            with progress(items, "import") as given:
                assert given is items


def chain(length: int) -> Graph:
    lines = ["graph g", "r0 = input() : f32[N,2]", *(f"r{i + 1} = relu(r{i})" for i in range(length))]
    return Graph.parse("\n".join([*lines, f"y = output(r{length})"]))


def test_evaluation_of_many_nodes_is_shown(notebook):
    evaluate(chain(200), {"r0": np.ones((1, 2))})
    (texts,) = notebook
    assert texts[0] == "evaluate: 0 of 201"
    assert texts[-1] == ""


def test_evaluation_of_large_arrays_is_shown(notebook):
    evaluate(chain(10), {"r0": np.ones((1 << 16, 2))})
    (texts,) = notebook
    assert texts[0] == "evaluate: 0 of 11"


def test_evaluation_in_many_chunks_is_shown(notebook):
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 1, 32, 32)))
    g.output("y", op.conv(x, np.ones((4, 1, 3, 3), np.float32)))
    evaluate(g, {"x": np.ones((1024, 1, 32, 32), np.float32)})
    (texts,) = notebook
    assert texts[0].startswith("evaluate: 0 of ")
    assert texts[-1] == ""


def test_evaluation_of_few_nodes_costs_nothing(notebook):
    evaluate(chain(20), {"r0": np.ones((1, 2))})
    assert notebook == []


def test_import_is_shown(notebook):
    from graphrewrite.lowering import from_onnx
    from graphrewrite.models import path

    from_onnx(path("classes"))
    (texts,) = notebook
    assert texts[0].startswith("import: 0 of ")
    assert texts[-1] == ""


def test_watching_is_cheap():
    start = time.process_time()
    for _ in range(1000):
        with progress((), "evaluate"):
            pass
    assert time.process_time() - start < 0.1  # 5 µs each is usual


@rule
def drop_relu(x):
    yield op.relu(x)
    return x


def test_rewriting_of_many_nodes_is_shown(notebook):
    rewrite(chain(300), [drop_relu])
    (texts,) = notebook
    assert texts == ["rewrite: 63", "rewrite: 127", "rewrite: 191", "rewrite: 255", ""]


def test_rewriting_of_few_nodes_costs_nothing(notebook):
    rewrite(chain(100), [drop_relu])
    assert notebook == []


def test_an_evaluation_is_shown(notebook):
    evaluation(chain(5), {"r0": np.ones((1, 2))})
    assert notebook == [[*(f"evaluate: {done} of 6" for done in range(6)), ""]]


@pytest.mark.ghdl
def test_a_cosimulation_is_shown(notebook):
    from graphrewrite.hdl import cosimulate, emit
    from graphrewrite.hdl.components.clip import clip
    from graphrewrite.types import FixedPoint, Stream

    g = Graph("g")
    g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8), (2, 5))), low=0, high=127))
    assert cosimulate(emit(g, frames=3000)).equal
    (texts,) = notebook
    assert re.fullmatch("simulating: [0-9,]+ of 15,000", texts[0])
    assert texts[-1] == ""


def test_a_notebook_is_shown_a_bar_and_words(notebook, monkeypatch):
    pages = []
    front = sys.modules["IPython.display"]
    monkeypatch.setattr(front, "display", lambda data, **_: pages.append(data["text/html"]))
    with progress(range(1), "<b>", 2000) as items:
        list(items)
    with progress(iter("a"), "import") as items:
        list(items)
    known, unknown = (page for page in pages if page)
    assert "&lt;b&gt;" in known
    assert '<progress value="0" max="2000"' in known
    assert "0 of 2,000" in known
    assert "<progress style" in unknown  # nobody knows how long it takes
    for page in pages:
        assert "<script" not in page

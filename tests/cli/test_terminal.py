"""What commands print."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from graphrewrite.cli.terminal import say


@pytest.mark.parametrize("text", ["[bold]conv[/] is declined", "node 'layer:x:0' reads ':key:'", "1.5 s; " * 40])
def test_text_is_printed_as_it_is(text: str) -> None:
    console = Console(file=io.StringIO(), width=40)
    say(console, text)
    assert console.file.getvalue() == f"{text}\n"  # type: ignore[attr-defined]

"""What importers and writers make of recorded cases, beside the values that tests compare."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.recorded_texts import without_reals

TEXTS = Path(__file__).with_name("recorded_texts.txt")


@cache
def recorded() -> dict[str, str]:
    """The digest of what was made, by case."""
    lines = TEXTS.read_text(encoding="utf-8").splitlines() if TEXTS.exists() else []
    return {case: digest for digest, _, case in (line.partition(" ") for line in lines)}


@pytest.fixture
def same_text(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function for the end of a test: it fails if a text is another than was recorded when values were right.

    With ``--record-graphs``, it records the text.
    """
    case = f"{request.node.parent.name.rpartition('/')[2]} {request.node.name}"

    def check(text: str) -> None:
        digest = hashlib.sha256(without_reals(text).encode()).hexdigest()[:12]
        if request.config.getoption("--record-graphs"):
            recorded()[case] = digest
            lines = [f"{digest} {name}\n" for name, digest in sorted(recorded().items())]
            TEXTS.write_text("".join(lines), encoding="utf-8")
        assert digest == recorded().get(case), (
            f"values are right, and the text is another one; if it should be, repeat it with --record-graphs\n{text}"
        )

    return check

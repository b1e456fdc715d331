"""Which lines of the lowerings run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["Lines"]

LOWERINGS = str(Path(__file__).resolve().parents[2] / "lowering")


class Lines:
    """Which lines of the lowerings run after which others."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int, int]] = set()

    def __enter__(self) -> Lines:
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if "lowering" not in name or not str(Path(name).resolve()).startswith(LOWERINGS):
            return None
        last = [0]

        def follow(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self.seen.add((name, last[0], frame.f_lineno))
                last[0] = frame.f_lineno
            return follow

        return follow

"""A headless Chromium, and pages in it that must ask no network for anything and log nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Opened", "launched", "located"]

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_LOCAL = ("file:", "data:", "about:", "blob:")


def located() -> str | None:
    """Debian's Chromium, where it is installed."""
    return shutil.which("chromium")


@contextmanager
def launched(play: Any) -> Iterator[Any]:
    """A browser, until the end of the block."""
    browser = play.chromium.launch(executable_path=located(), args=list(_FLAGS))
    try:
        yield browser
    finally:
        browser.close()


class Opened:
    """Opens pages; what they log, and what they ask a network for, is kept."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self.said: list[str] = []
        self.requested: list[str] = []
        self.contexts: list[Any] = []

    def __call__(self, html: str | Path, *, width: int = 1400, theme: str = "light", at: str = "") -> Any:
        """A page in a context of its own: of a file, or of a text."""
        file = html if isinstance(html, Path) else self.folder / f"page{len(self.contexts)}.html"
        if isinstance(html, str):
            file.write_text(html, encoding="utf-8")
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self._ask(request.url))
        page.goto(f"{file.resolve().as_uri()}{at}")
        return page

    def _ask(self, url: str) -> None:
        if not url.startswith(_LOCAL):
            self.requested.append(url)

    def close(self) -> None:
        """Close all pages, and see that they were quiet."""
        for context in self.contexts:
            context.close()
        assert self.said == [], "no page says anything on its console, fails, or opens a dialog"
        assert self.requested == [], "no page asks a network for anything"

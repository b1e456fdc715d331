"""What a notebook shows of outputs that its reader has not trusted: some tags, without identifiers, and all letters."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

__all__ = ["sanitised"]

_GONE = ("style", "script", "template", "textarea", "option")
_LOST = frozenset(
    ("html", "head", "body", "meta", "title", "link", "iframe", "svg", "g", "path", "rect", "polygon", "text")
)
"""Of these the letters are left."""
_ATTRIBUTES = (
    "alt",
    "class",
    "colspan",
    "height",
    "href",
    "open",
    "rowspan",
    "src",
    "style",
    "title",
    "value",
    "width",
)


class _Sanitiser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.gone = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.gone += tag in _GONE
        if tag not in _LOST and not self.gone:
            kept = "".join(f' {name}="{escape(value or "")}"' for name, value in attrs if name in _ATTRIBUTES)
            self.parts.append(f"<{tag}{kept}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.gone -= tag in _GONE

    def handle_endtag(self, tag: str) -> None:
        self.gone -= tag in _GONE
        if tag not in (*_LOST, *_GONE) and not self.gone:
            self.parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self.gone:
            self.parts.append(escape(data))


def sanitised(html: str) -> str:
    """An output as JupyterLab shows it before the notebook is trusted."""
    reader = _Sanitiser()
    reader.feed(html)
    reader.close()
    return f"<!DOCTYPE html><meta charset=utf-8><body>{''.join(reader.parts)}"

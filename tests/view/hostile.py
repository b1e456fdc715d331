"""Names and texts that want to be more than text, and how to see that they are not."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["HOSTILE", "Page"]

SCRIPT = "</svg></style></pre><script>alert(1)</script><img src=x onerror=alert(1)>"
HOSTILE = {
    "script": SCRIPT,
    "quotes": "\"'`><b onmouseover='alert(1)'>",
    "long": "x" * 10_000,
    "right to left": "a\u202eb\u200fc",
    "null": "a\x00b",
    "newline": "a\nb\rc\u2028d",
    "surrogate": "a\ud800b",
    "template": "{{ 7 * 7 }}{% raw %}",
}
_VOID = {"meta", "br", "img", "input", "link"}


class Page(HTMLParser):
    """The tags, attributes and words of a page, of which each tag is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        html.encode()  # what goes into a file has no half of a pair of surrogates
        self.feed(html)
        self.close()
        assert self.open == []
        assert not {tag for tag, _ in self.tags} & {
            "script",
            "img",
            "iframe",
            "link",
            "object",
            "embed",
            "b onmouseover",
        }
        assert not [key for _, attributes in self.tags for key in attributes if key.startswith("on")]
        for _, attributes in self.tags:
            for key in ("src", "href", "xlink:href"):
                assert (attributes.get(key) or "#").startswith("#")
        assert "url(" not in html
        assert not re.search("[\x00\u202e\u200f\u2028]", html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        """What is read, with single spaces."""
        return " ".join(" ".join(self.words).split())

    def classes(self, name: str) -> int:
        """How many tags have a class."""
        return sum(name in (attributes.get("class") or "").split() for _, attributes in self.tags)

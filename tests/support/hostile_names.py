"""Names and texts that want to be more than text, and how to see that they are not."""

from __future__ import annotations

import re
from base64 import b64decode
from html.parser import HTMLParser
from xml.etree import ElementTree

from graphrewrite.view.page import asset

__all__ = ["DRAWN", "HOSTILE", "Page"]

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
DRAWN = {"svg", "style", "g", "title", "polygon", "path", "text", "ellipse", "polyline"}
"""All that a picture is made of."""
_VOID = {"meta", "br", "img", "input", "link"}


def check_still(attributes: dict[str, str | None]) -> None:
    """An image is a drawing that is on the page too, and comes with the page."""
    start, coded = (attributes["src"] or "").split(",")
    assert start == "data:image/svg+xml;base64"
    drawing = ElementTree.fromstring(b64decode(coded, validate=True))
    assert {element.tag.rpartition("}")[2] for element in drawing.iter()} <= DRAWN
    assert not [key for element in drawing.iter() for key in element.attrib if key.startswith("on") or "href" in key]
    assert attributes["class"] == "still"


class Page(HTMLParser):
    """The tags, attributes and words of a page, of which each tag is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        html.encode()  # what goes into a file has no half of a pair of surrogates
        self.feed(html)
        self.close()
        assert self.open == []
        assert set(self.scripts) <= {str(asset("design.js"))}, "it runs but what the package has written"
        assert not {tag for tag, _ in self.tags} & {
            "iframe",
            "link",
            "object",
            "embed",
            "b onmouseover",
        }
        assert not [key for _, attributes in self.tags for key in attributes if key.startswith("on")]
        for tag, attributes in self.tags:
            for key in ("src", "href", "xlink:href"):
                if tag == "img" and key == "src":
                    check_still(attributes)
                else:
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
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        """What is read, with single spaces."""
        return " ".join(" ".join(self.words).split())

    def classes(self, name: str) -> int:
        """How many tags have a class."""
        return sum(name in (attributes.get("class") or "").split() for _, attributes in self.tags)

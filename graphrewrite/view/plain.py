"""Untrusted text made safe to show: control characters become escapes, long texts lose their middle."""

from __future__ import annotations

import unicodedata
from html import escape

__all__ = ["markup", "plain", "shortened"]

# Control and format characters (among them the right-to-left marks), surrogates, private use, unassigned, separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plain(text: object, limit: int = 2000) -> str:
    r"""Return a text with characters that are invisible, act on others or are illegal in XML written as escapes.

    Examples
    --------
    >>> plain("a\x00b\u202ec")
    'a\\x00b\\u202ec'
    """
    short = shortened(str(text), limit)
    if short.isprintable():  # most texts by far
        return short
    return "".join(ascii(c)[1:-1] if unicodedata.category(c) in _HIDDEN else c for c in short)


def shortened(text: str, limit: int) -> str:
    """Return a text without its middle if it is longer than a limit.

    Examples
    --------
    >>> shortened("/model/layer_1/conv/Conv", 15)
    '/model/…nv/Conv'
    """
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def markup(text: object, limit: int = 40) -> str:
    """Return a text for one line of a Graphviz label that is HTML-like.

    Examples
    --------
    >>> markup("</svg><script>")
    '&lt;/svg&gt;&lt;script&gt;'
    """
    return escape(plain(text, limit))

"""Source code as HTML with syntax highlighting, in colours of the page's theme."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

from graphrewrite.view.plain import plain

__all__ = ["highlighted"]

_LONGEST = 200_000
"""Longer code is shown without colours, and without its middle."""
_KINDS = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "literal"),
    ("Token.Name.Decorator", "name"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
)
"""Token types of pygments that are highlighted, with their classes in the style sheet."""


def highlighted(code: str, language: str = "python") -> Any:
    """Return source code as highlighted HTML; the templates' filter ``code``.

    Examples
    --------
    >>> print(highlighted("return '<b>'"))
    <span class="keyword">return</span> <span class="string">&#39;&lt;b&gt;&#39;</span>
    """
    from markupsafe import Markup, escape  # comes with jinja2

    # Tabs and line ends belong to the code; other invisible characters are written as escapes.
    shown = "\n".join(
        "\t".join(plain(part, _LONGEST) for part in line.split("\t")) for line in code.replace("\r\n", "\n").split("\n")
    )
    if len(shown) > _LONGEST:
        return escape(plain(code, _LONGEST))
    lexer = _lexer(language)
    if lexer is None:
        return escape(shown)
    parts = []
    # Tokens of one class that follow each other share an element.
    for word, tokens in groupby(lexer.get_tokens(shown), key=lambda token: _word(token[0])):
        text = "".join(text for _, text in tokens)
        parts.append(Markup('<span class="{}">{}</span>').format(word, text) if word else escape(text))
    return Markup("").join(parts).rstrip("\n")


@cache
def _word(kind: Any) -> str:
    return next((word for name, word in _KINDS if f"{kind}.".startswith(f"{name}.")), "")


@cache
def _lexer(language: str) -> Any:
    try:
        from pygments.lexers import get_lexer_by_name
    except ImportError:
        return None
    return get_lexer_by_name(language, stripnl=False)

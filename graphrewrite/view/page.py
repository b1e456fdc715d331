"""HTML from templates: fragments for notebooks, documents for files. All values are escaped, nothing is fetched.

Jupyter shows a notebook that is not trusted yet without style sheets, scripts, frames and drawings, of which only the
letters are left. Elements of the class ``live`` are hidden there, and those of the class ``still`` are seen only there:
the style sheet swaps both.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import MissingDependencyError
from graphrewrite.view.highlight import highlighted
from graphrewrite.view.plain import plain

if TYPE_CHECKING:
    import jinja2

__all__ = ["as_it_is", "asset", "document", "environment", "fragment"]

_TEMPLATES = Path(__file__).parent / "templates"
_TOOLTIP = re.compile("<title>[^<]*</title>")
"""Tooltips of a drawing; an image shows none."""
_MOST_STILL = 150_000
"""Longer drawings are not written a second time, as an image."""


@cache
def environment() -> jinja2.Environment:
    """Return the environment of all templates: values are escaped, and an undefined name is an error."""
    try:
        import jinja2
    except ImportError:
        raise MissingDependencyError.of_extra("pages", "view") from None
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["plain"] = plain
    templates.filters["code"] = highlighted
    templates.filters["drawn"] = _drawn
    templates.globals["asset"] = asset
    return templates


@cache
def asset(name: str) -> Any:
    """Return a style sheet or a script of the package, to be written into a page as it is."""
    return as_it_is((_TEMPLATES / name).read_text(encoding="utf-8"))


def fragment(template: str, **values: Any) -> str:
    """Return HTML that can stand in any page, with its style, in the theme of the page around it."""
    templates = environment()
    body = templates.get_template(template).render(**values)
    return templates.get_template("fragment.html").render(body=as_it_is(body))


def document(title: str, body: str, *, head: str = "") -> str:
    """Return a self-contained HTML document that follows the theme of the reader's system."""
    return (
        environment()
        .get_template("document.html")
        .render(title=plain(title, 200), body=as_it_is(body), head=as_it_is(head))
    )


def _drawn(svg: str) -> Any:
    """Return a drawing, and the same as an image for untrusted notebooks, which remove drawings."""
    from markupsafe import Markup  # comes with jinja2

    live = f'<div class="live" style="display:none">{svg}</div>'
    if len(svg) > _MOST_STILL:
        return Markup(f'{live}<p class="still">A large picture, seen once the notebook is trusted.</p>')
    still = b64encode(_TOOLTIP.sub("", svg).encode()).decode()
    return Markup(f'{live}<img class="still" alt="picture" loading="lazy" src="data:image/svg+xml;base64,{still}"/>')


def as_it_is(html: str) -> Any:
    """Mark HTML of this package as safe, so that templates do not escape it."""
    environment()
    from markupsafe import Markup  # comes with jinja2

    return Markup(html)

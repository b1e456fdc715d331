"""HTML from templates: fragments for notebooks, documents for files. All values are escaped, nothing is fetched."""

from __future__ import annotations

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


@cache
def environment() -> jinja2.Environment:
    """Return the environment of all templates: values are escaped, and a name that a template lacks is an error.

    Returns
    -------
    jinja2.Environment
        With the filter ``plain``, which writes invisible characters as escapes and takes a limit of length, and the
        filter ``code``, which marks the words of source code and takes its language.

    Raises
    ------
    MissingDependencyError
        If jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise MissingDependencyError("pages need jinja2: pip install 'graphrewrite[view]'") from None
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["plain"] = plain
    made.filters["code"] = highlighted
    made.globals["asset"] = asset
    return made


@cache
def asset(name: str) -> Any:
    """Return a style sheet or a script of the package, to be written into a page as it is.

    Parameters
    ----------
    name : str
        File in ``view/templates``.

    Returns
    -------
    markupsafe.Markup
    """
    from markupsafe import Markup  # comes with jinja2

    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def fragment(template: str, **values: Any) -> str:
    """Return HTML that can stand in any page, with its style, in the theme of the page around it.

    Parameters
    ----------
    template : str
        File in ``view/templates``.
    **values
        What the template shows; escaped unless `markupsafe.Markup`.

    Returns
    -------
    str

    Raises
    ------
    MissingDependencyError
        If jinja2 is not installed.
    """
    made = environment()
    body = made.get_template(template).render(**values)
    return made.get_template("fragment.html").render(body=as_it_is(body))


def document(title: str, body: str, *, head: str = "") -> str:
    """Return a self-contained HTML document that follows the theme of the reader's system.

    Parameters
    ----------
    title : str
        Any text.
    body, head : str
        HTML, written as it is.

    Returns
    -------
    str

    Raises
    ------
    MissingDependencyError
        If jinja2 is not installed.
    """
    return (
        environment()
        .get_template("document.html")
        .render(title=plain(title, 200), body=as_it_is(body), head=as_it_is(head))
    )


def as_it_is(html: str) -> Any:
    """Return HTML that a template is to write as it is, for whoever gives it has made it.

    Parameters
    ----------
    html : str
        Safe.

    Returns
    -------
    markupsafe.Markup

    Raises
    ------
    MissingDependencyError
        If jinja2 is not installed.
    """
    environment()
    from markupsafe import Markup  # comes with jinja2

    return Markup(html)

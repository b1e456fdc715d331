"""Templates rendered by Jinja: those of VHDL, and of C."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from graphrewrite.errors import MissingDependencyError

__all__ = ["renderer"]


@cache
def renderer(template: Callable[[str], str], what: str) -> Callable[..., str]:
    """Return what renders a template by name with values; where Jinja is missing, the error names the files."""
    try:
        import jinja2
    except ImportError:
        raise MissingDependencyError.of_extra(what, "hdl") from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(template),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    return lambda name, /, **values: environment.get_template(name).render(**values)

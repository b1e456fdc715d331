"""The mixin of all objects that can be shown; `graphrewrite.view` is loaded when one is."""

from __future__ import annotations

import inspect
from html import escape
from importlib import import_module
from typing import Any, ClassVar

from graphrewrite.errors import GraphRewriteError
from graphrewrite.runtime.instance_attributes import OfInstances

__all__ = ["Displayed"]


def _in_view(path: str) -> Any:
    """Import a function of `graphrewrite.view`, by module and name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"graphrewrite.view.{module}"), name)


class _Show:
    """Return the display for a notebook, a terminal or a file; options are those of `graphrewrite.show`."""

    __name__ = "show"

    def __init__(self, thing: Any = None) -> None:
        self.thing = thing

    __doc__ = OfInstances(lambda show: inspect.getdoc(inspect.unwrap(show.drawn_by)), __doc__)

    def __get__(self, thing: Any, owner: Any = None) -> _Show:
        return self if thing is None or self.thing is not None else _Show(thing)

    def __call__(self, *thing: Any, **options: Any) -> Any:
        if self.thing is not None:
            return _Show()(self.thing, *thing, **options)
        ((shown),) = thing
        return _in_view(shown._shown_by)(shown, **options)

    @property
    def drawn_by(self) -> Any:
        """The function that draws the object; any of them where there is none."""
        path = Displayed._shown_by if self.thing is None else self.thing._shown_by
        if path == Displayed._shown_by and self.thing is not None:
            return _in_view("dispatch.function_for")(self.thing)
        return _in_view(path)

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.drawn_by)
        first, *options = signature.parameters.values()
        return signature.replace(parameters=[first, *options] if self.thing is None else options)


class Displayed:
    """Mixin: ``show()``, and HTML for Jupyter.

    A class names the function of `graphrewrite.view` that draws it, by module and name, where that is not `show`:
    ``class Trace(Displayed, shown_by="stepper.show_trace")``.
    """

    __slots__ = ()
    _shown_by: ClassVar[str] = "dispatch.show"

    def __init_subclass__(cls, *, shown_by: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if shown_by is not None:
            cls._shown_by = shown_by

    show = _Show()

    def _repr_html_(self) -> str:
        """Return HTML for Jupyter: the picture, or the text and the reason if nothing can be drawn."""
        try:
            return str(self.show()._repr_html_())
        except GraphRewriteError as error:
            return f"<pre>{escape(repr(self))}</pre><p>{escape(str(error))}</p>"

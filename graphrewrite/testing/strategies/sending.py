"""Strategies that are sent to other processes as the calls that make them: those of Hypothesis cannot be sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from io import BytesIO
from pickle import Pickler
from typing import Any, ParamSpec

from hypothesis import strategies as st

__all__ = ["made_by_call", "sent"]

_P = ParamSpec("_P")
_KEY = "_made_by"


def made_by_call(make: Callable[_P, st.SearchStrategy[Any]]) -> Callable[_P, st.SearchStrategy[Any]]:
    """Return a function that makes the same strategies, which know by what call."""

    @wraps(make)
    def made(*args: _P.args, **kwargs: _P.kwargs) -> st.SearchStrategy[Any]:
        given: Any = {key: tuple(value) if isinstance(value, Iterator) else value for key, value in kwargs.items()}
        strategy = make(*args, **given)
        setattr(strategy, _KEY, partial(made, *args, **given))
        return strategy

    return made


class _Sender(Pickler):
    def reducer_override(self, sent: Any) -> Any:
        """Send the call that makes a strategy, if it is known; anything else as usual."""
        call = vars(sent).get(_KEY) if isinstance(sent, st.SearchStrategy) else None
        return NotImplemented if call is None else (call, ())


def sent(thing: Any) -> bytes:
    """Return anything as `pickle` sends it, and strategies as the calls that make them.

    Examples
    --------
    >>> import pickle
    >>> from graphrewrite.testing import graphs
    >>> repr(pickle.loads(sent(graphs(ops=["neg"]))))
    'by_choices(functools.partial(_plain, (<op neg>,), ...)).map(_Text).map(Graph.parse)'
    """
    buffer = BytesIO()
    _Sender(buffer).dump(thing)
    return buffer.getvalue()

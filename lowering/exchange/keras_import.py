"""Import a trained network of Keras."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from graphrewrite import Graph, GraphRewriteError
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.hooks import Hook
from graphrewrite.lowering.exchange.keras.archive import read_archive
from graphrewrite.lowering.exchange.keras.network import Network
from graphrewrite.runtime.gc_pause import gc_paused

__all__ = ["from_keras"]


@gc_paused()
def from_keras(
    model: str | Path,
    *,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    batch: str = "N",
    hooks: Iterable[Hook] = (),
) -> Graph:
    """Return the graph of a model of Keras, read from its architecture and its weights; Keras is not needed.

    Parameters
    ----------
    model : path
        A file ``.keras``, or a whole model in HDF5 (``.h5``), of Keras 2 or 3: sequential or functional, with models
        inside of each other. A model of the user's own class, or with a layer that holds code, is refused; nothing in
        a file is executed.
    shapes : mapping of str to sequence of int or str, optional
        Shapes of inputs that the model leaves open.
    batch : str
        The name of the first size of inputs where it is open.
    hooks : iterable of Hook
        Functions that are called before and after ops, nodes or the model are imported; see `Hook`.

    Returns
    -------
    Graph
        Level ``nn``, with images as they are in the model; each node's origin is the path of the layer's name.

    Raises
    ------
    ModelError
        If the file is missing, damaged or contradicts itself, or a layer cannot be represented.
    OpenSizesError
        If the shape of an input is open.
    UnsupportedOpsError
        If there are layers that the library does not support; names all of them.
    MissingDependencyError
        If h5py is not installed, the extra ``keras``.

    Examples
    --------
    >>> from graphrewrite.lowering import ModelError, from_keras
    >>> try:
    ...     from_keras("network.keras")
    ... except ModelError as error:
    ...     print(error)
    there is no file 'network.keras'
    """
    path = Path(model)
    try:
        return Network(path.stem, read_archive(path), shapes or {}, batch, hooks).run()
    except GraphRewriteError:
        raise
    except (Exception, RecursionError) as error:  # a corrupt file breaks any assumption
        message = (str(error) or type(error).__name__).splitlines()[0][:120]
        raise ModelError(f"{path.name!r} is corrupt ({message}); save the model again") from error

"""Import a trained network from a file of TensorFlow Lite."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from graphrewrite import Graph, GraphRewriteError
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.batch_size import free_batch
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.hooks import Hook, Hooks, ModelInfo
from graphrewrite.lowering.exchange.onnx.tables import by_op
from graphrewrite.lowering.exchange.tflite.importer import Importer
from graphrewrite.lowering.exchange.tflite.matching import Matching
from graphrewrite.lowering.exchange.tflite.model import read_networks
from graphrewrite.lowering.exchange.tflite.tables import TFLITE
from graphrewrite.runtime.plugins import offered
from graphrewrite.runtime.progress import progress

__all__ = ["from_tflite"]


def from_tflite(
    model: str | Path | bytes,
    *,
    batch: str | None = "N",
    entries: Iterable[Entry] = (),
    plugins: Iterable[str] = (),
    hooks: Iterable[Hook] = (),
) -> Graph:
    """Return the graph of a TensorFlow Lite model.

    Quantised models of 8 bits compute what LiteRT's reference kernels compute (``OpResolverType.BUILTIN_REF``), bit for
    bit; its optimised and its default kernels give other bits.

    Parameters
    ----------
    model : path or bytes
        A model of version 3 of the schema.
    batch : str or None
        The name of the first dimension of every input, where the model works for any batch; None keeps it as it is.
    entries : iterable of Entry
        Entries for operators of your own, ``Entry("CUSTOM 'Swirl'", ...)``, or replacements: they take precedence over
        the library's.
    plugins : iterable of str
        Names of plugins whose importers are such entries; see `graphrewrite.plugin`.
    hooks : iterable of Hook
        Functions that are called before and after ops, nodes or the model are imported; see `Hook`.

    Returns
    -------
    Graph
        Level ``nn``, with images in the order of the file, channels last. Inputs, outputs and nodes have the names of
        the file's tensors; each node's origin is the tensor for which it was made. Stored numbers are plain integers,
        and the annotation ``quantisation`` says what they stand for.

    Raises
    ------
    ModelError
        If the file is missing, corrupt or contradicts itself.
    UnsupportedOpsError
        If there are operators that the library does not support; names all of them.

    Examples
    --------
    >>> from_tflite(b"PK not a model")
    Traceback (most recent call last):
    ...
    graphrewrite.lowering.errors.ModelError: the model is no TensorFlow Lite model: its bytes 4 to 8 are not 'TFL3'
    """
    table = {**TFLITE, **by_op((*offered(plugins, "importers"), *entries))}
    try:
        networks = read_networks(model)
        ops = {operator.label: operator.kind for operator in networks[0].operators}
        called = Hooks(hooks, ModelInfo("tflite", "", {"schema": 3}, ops))
        called.before_model()
        importer = Importer(Matching(networks, table, called))
        with progress(networks[0].operators, "import") as operators:
            graph = importer.run(operators)
        if batch is not None:
            free_batch(freed := graph.copy(), batch)
            graph = importer.freed(graph, freed)
        return called.after_model(graph)
    except GraphRewriteError:
        raise
    except (Exception, RecursionError) as error:  # a corrupt file breaks any assumption
        message = (str(error) or type(error).__name__).splitlines()[0][:120]
        name = repr(str(model)) if isinstance(model, str | Path) else "the model"
        raise ModelError(f"{name} is corrupt ({message}); export it again") from error

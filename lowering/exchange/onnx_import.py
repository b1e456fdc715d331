"""Import a trained network from an ONNX file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrewrite import Graph, GraphRewriteError
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.batch_size import free_batch
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.hooks import Hook, Hooks
from graphrewrite.lowering.exchange.onnx.importer import Importer
from graphrewrite.lowering.exchange.onnx.model_file import load_model
from graphrewrite.lowering.exchange.onnx.node_hooks import info_of_onnx
from graphrewrite.lowering.exchange.onnx.tables import PRODUCERS, TABLE, by_op
from graphrewrite.lowering.exchange.rulesets.described_ops import filled_up
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.runtime.plugins import offered
from graphrewrite.runtime.progress import progress

if TYPE_CHECKING:
    import onnx

__all__ = ["from_onnx"]


@gc_paused()
def from_onnx(
    model: str | Path | bytes | onnx.ModelProto,
    *,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    constants: Mapping[str, Any] | None = None,
    batch: str | None = "N",
    entries: Iterable[Entry] = (),
    plugins: Iterable[str] = (),
    hooks: Iterable[Hook] = (),
) -> Graph:
    """Return the graph of an ONNX model.

    Parameters
    ----------
    model : path, bytes or ModelProto
        A model of any opset; old ones are converted on load, and the model's own functions are inlined.
    shapes : mapping of str to sequence of int or str, optional
        Shapes for inputs whose shape the model leaves open.
    constants : mapping of str to array-like, optional
        Values of inputs that are to be constants; needed where sizes depend on them.
    batch : str or None
        The name of the first dimension of every input, where the model works for any batch; None keeps it as it is.
    entries : iterable of Entry
        Entries for ops of your own, or replacements: they take precedence over the library's.
    plugins : iterable of str
        Names of plugins whose importers are such entries; see `graphrewrite.plugin`.
    hooks : iterable of Hook
        Functions that are called before and after ops, nodes or the model are imported; see `Hook`.

    Returns
    -------
    Graph
        Level ``nn``; each node's origin is the name of the ONNX node. An op that is not known becomes a generic node;
        where neither the model nor onnx's shape inference tells the type of its result, that of its first operand is
        assumed. If, Loop and Scan become `op.cond`, `op.loop` and `op.scan`, whose attributes are graphs: what these
        read from around them is an operand. Where a condition is known, the branch stands in place of the If.

    Raises
    ------
    ModelError
        If the file is missing, corrupt or contradicts itself, or an input's shape is open.
    OpenSizesError
        If sizes in the model depend on inputs; names them.
    UnsupportedOpsError
        If an attribute of a node cannot be represented.

    Examples
    --------
    >>> from graphrewrite.models import path
    >>> graph = from_onnx(path("classes"))
    >>> graph.inputs, len(graph.outputs)
    (('input',), 1)
    """
    given = tuple(hooks)
    own = filled_up(TABLE, by_op((*offered(plugins, "importers"), *entries)))
    try:
        proto, weights = load_model(model, {**TABLE, **own})
        table = {**TABLE, **PRODUCERS.get(proto.producer_name, {}), **own}
        with progress(proto.graph.node, "import") as nodes:
            called = Hooks(given, info_of_onnx(proto)) if given else None
            if called is not None:
                called.before_model()
            graph = Importer(proto, shapes or {}, constants or {}, table, weights, called).run(nodes)
    except GraphRewriteError:
        raise
    except Exception as error:  # a corrupt file breaks any assumption of onnx, protobuf and numpy
        message = (str(error) or type(error).__name__).splitlines()[0][:120]
        name = repr(str(model)) if isinstance(model, str | Path) else "the model"
        raise ModelError(f"{name} is corrupt ({message}); export it again") from error
    if batch is not None:
        free_batch(graph, batch)
    return graph if called is None else called.after_model(graph)

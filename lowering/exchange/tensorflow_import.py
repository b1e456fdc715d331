"""Import a trained network of TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from graphrewrite import Graph, GraphRewriteError
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.hooks import Hook, Hooks, ModelInfo
from graphrewrite.lowering.exchange.onnx.tables import by_op
from graphrewrite.lowering.exchange.rulesets.described_ops import filled_up
from graphrewrite.lowering.exchange.tensorflow.entries import with_entries
from graphrewrite.lowering.exchange.tensorflow.images import IMAGES
from graphrewrite.lowering.exchange.tensorflow.importer import Importer, read_outputs
from graphrewrite.lowering.exchange.tensorflow.model import read_model
from graphrewrite.lowering.exchange.tensorflow.movement import MOVEMENT
from graphrewrite.lowering.exchange.tensorflow.numbers import NUMBERS
from graphrewrite.lowering.exchange.tensorflow.volumes import VOLUMES
from graphrewrite.runtime.gc_pause import gc_paused

__all__ = ["from_tensorflow"]

TENSORFLOW = {**IMAGES, **MOVEMENT, **NUMBERS, **VOLUMES}
"""The table of all supported ops."""


@gc_paused()
def from_tensorflow(
    model: str | Path | bytes,
    *,
    outputs: Sequence[str] | None = None,
    signature: str | None = None,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    batch: str = "N",
    entries: Iterable[Entry] = (),
    hooks: Iterable[Hook] = (),
) -> Graph:
    """Return the graph of a saved model or a frozen graph of TensorFlow; TensorFlow is not needed.

    Parameters
    ----------
    model : path or bytes
        The folder of a saved model, whose variables become constants; or a frozen graph (``GraphDef``): a ``.pb`` file,
        its bytes, or a ``.pbtxt``. Calls of functions are written out, loops and branches become `op.loop` and
        `op.cond`.
    outputs : sequence of str, optional
        Names of nodes, ``name:1`` for another result than the first; by default those of the signature, or those that
        nobody reads.
    signature : str, optional
        A signature of a saved model; by default ``serving_default``, or else its first.
    shapes : mapping of str to sequence of int or str, optional
        Shapes of inputs that the model leaves open.
    batch : str
        The name of the first size of inputs where it is open.
    entries : iterable of Entry
        Entries for ops of your own, or replacements, such as those that `entries_of` makes of a ruleset: they take
        precedence over the library's. What they call an ONNX op is TensorFlow's.
    hooks : iterable of Hook
        Functions that are called before and after ops, nodes or the model are imported; see `Hook`.

    Returns
    -------
    Graph
        Level ``nn``, with images as they are in the model; each node's origin is the name of the model's node.

    Raises
    ------
    ModelError
        If the file is missing, damaged or contradicts itself, or a node cannot be represented.
    OpenSizesError
        If the shape of an input is open.
    UnsupportedOpsError
        If there are ops that the library does not support; names all of them.

    Examples
    --------
    >>> text = '''
    ... node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
    ...   attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
    ... node { name: "y" op: "Relu" input: "x" }'''
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "g.pbtxt"
    ...     _ = path.write_text(text)
    ...     print(from_tensorflow(path))
    graph g
    x = input() : f32[N,2]
    relu_1 = relu(x) : f32[N,2]
    y = output(relu_1)
    """
    name = "model" if isinstance(model, bytes) else Path(model).stem
    try:
        stored = read_model(model, signature)
        named = outputs is not None or not stored.outputs
        ends = read_outputs(stored, outputs) if named else stored.outputs
        ops = {node.name: node.op for node in stored.nodes}
        called = Hooks(hooks, ModelInfo("tensorflow", stored.producer, stored.versions, ops))
        called.before_model()
        table = with_entries(TENSORFLOW, filled_up(TENSORFLOW, by_op(entries)))
        graph = Importer(name, table, stored.functions, shapes or {}, batch, called).run(stored.nodes, ends)
        return called.after_model(graph)
    except GraphRewriteError:
        raise
    except (Exception, RecursionError) as error:  # a corrupt file breaks any assumption
        message = (str(error) or type(error).__name__).splitlines()[0][:120]
        raise ModelError(f"{name!r} is corrupt ({message}); freeze the graph again") from error

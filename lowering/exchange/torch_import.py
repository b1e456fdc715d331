"""Import a network of PyTorch: a module, an exported program, or the file of one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphrewrite import Graph
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.hooks import Hook
from graphrewrite.lowering.exchange.torch.activations import ACTIVATIONS
from graphrewrite.lowering.exchange.torch.images import IMAGES
from graphrewrite.lowering.exchange.torch.importer import Importer
from graphrewrite.lowering.exchange.torch.indices import INDICES
from graphrewrite.lowering.exchange.torch.layers import LAYERS
from graphrewrite.lowering.exchange.torch.movement import MOVEMENT
from graphrewrite.lowering.exchange.torch.numbers import NUMBERS
from graphrewrite.lowering.exchange.torch.program import Dynamic, program_of, purified
from graphrewrite.lowering.exchange.torch.recurrent import RECURRENT
from graphrewrite.lowering.exchange.torch.reductions import REDUCTIONS
from graphrewrite.runtime.gc_pause import gc_paused

__all__ = ["from_torch"]

TORCH = {**ACTIVATIONS, **IMAGES, **INDICES, **LAYERS, **MOVEMENT, **NUMBERS, **RECURRENT, **REDUCTIONS}
"""The table of all supported ops."""


@gc_paused()
def from_torch(
    model: Any, *examples: Any, dynamic: Dynamic | None = None, hooks: Iterable[Hook] = (), **named: Any
) -> Graph:
    """Return the graph of a network of PyTorch, which must be installed.

    Parameters
    ----------
    model : torch.nn.Module, torch.export.ExportedProgram or path
        A module, which `torch.export` runs once with the examples; a program; or the path of a ``.pt2`` file. Files
        that hold code, pickles of objects among them, are refused.
    *examples : torch.Tensor or array
        Arguments of the module. Its mode stays as it is: call ``model.eval()`` before, for inference.
    dynamic : bool or mapping of str to mapping of int to str, optional
        Which sizes of a module's inputs stay open: the first one of each, named N (``True``), or names by argument and
        axis, ``{"x": {0: "N", 1: "seq"}}``. Programs have their own.
    hooks : iterable of Hook
        Functions that are called before and after ops (``aten.relu``), nodes (by their names in the graph) or the model
        are imported; see `Hook`. An argument of the module of this name is passed by its position.
    **named
        Arguments of the module by name.

    Returns
    -------
    Graph
        Level ``nn``. Inputs are called as the arguments are, outputs as the keys of what is returned, or ``output``,
        ``output_1``. Nodes have the names of modules, ``layers.0.attention.q_proj``; the graph's ``origin`` has for
        each the op, the class of the module and the line of code. Constants share the memory of the model's tensors.
        Those of buffers have the annotation ``trainable=False``. Buffers that change are inputs, annotated with
        ``initial`` and with ``next``, the output of the next value.

    Raises
    ------
    ModelError
        If PyTorch is missing or cannot export the module, a file is damaged or would run code, or a node cannot be
        represented.
    UnsupportedOpsError
        If there are ops that the library does not support; names all of them, with their nodes.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())  # doctest: +SKIP
    >>> print(from_torch(model, torch.zeros(1, 3), dynamic=True).summary())  # doctest: +SKIP
    """
    hooks = tuple(hooks)
    known = {*TORCH, *(hook.op for hook in hooks if hook.op is not None and hook.before is not None)}
    program = purified(program_of(model, examples, named, dynamic), known)
    name = Path(model).stem if isinstance(model, str | Path) else type(model).__name__
    name = "model" if name == "ExportedProgram" else name
    sizes = {} if dynamic is None or isinstance(dynamic, bool) else dynamic
    try:
        return Importer(program, TORCH, name, sizes).run(hooks)
    except Unfit as error:
        raise ModelError(f"{name!r}: {error}") from error

"""Record what `torch.onnx` writes, with results: ``python -m tests.support.record_torch FILE.tar.xz``, with PyTorch.

With a name that ends in ``.pt2``, an exported program of a small network.

Each case of `torch_layers` is exported by both exporters, with an open batch; results that one of them cannot export
together are exported alone. Files that say the same are recorded once, without the lines of code that they name.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import tarfile
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn
from torch.utils import _pytree

from tests.support.torch_layers import CASES

OPSETS = {"script": (11, 20), "dynamo": (18, 23)}
"""Opsets by exporter."""
BATCH, EXPORTED = 3, 2


class One(nn.Module):
    """One result of a module."""

    def __init__(self, module, at):
        super().__init__()
        self.module, self.at = module, at

    def forward(self, *inputs):
        return results(self.module(*inputs))[self.at]


def results(found):
    """Return the tensors in what a module returns."""
    return [each for each in _pytree.tree_flatten(found)[0] if isinstance(each, torch.Tensor)]


def exported(module, inputs, exporter: str, opset: int, path: Path):
    """Return the model that an exporter writes, None where it refuses."""
    names = [f"in{i}" for i in range(len(inputs))]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        if exporter == "script":
            axes = {name: {0: "batch"} for name in names}
            torch.onnx.export(
                module, inputs, path, dynamo=False, opset_version=opset, input_names=names, dynamic_axes=axes
            )
        else:
            batch = torch.export.Dim("batch")
            shapes = tuple({0: batch} for _ in inputs)
            kinds = [each.kind for each in inspect.signature(module.forward).parameters.values()]
            shapes = (shapes,) if inspect.Parameter.VAR_POSITIONAL in kinds else shapes
            program = torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False)
            torch.onnx.export(program, (), path, dynamo=True, opset_version=opset, external_data=False)
        return plain(onnx.load(path))
    return None


def plain(model):
    """Return the bytes of a model without metadata and intermediate types."""
    for each in (model, model.graph, *model.functions, *(node for f in model.functions for node in f.node)):
        del each.metadata_props[:]
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        del graph.value_info[:]
        for each in (*graph.node, *graph.input, *graph.output, *graph.initializer):
            del each.metadata_props[:]
            each.doc_string = ""
        pending += [g for node in graph.node for a in node.attribute for g in (a.g, *a.graphs) if g.node]
    return model.SerializeToString(deterministic=True)


def numbers(tensors):
    """Return arrays; numpy has no bfloat16."""
    return [(each.float() if each.dtype == torch.bfloat16 else each).detach().numpy() for each in tensors]


def recorded(name: str, module, kinds, folder: Path):
    """Yield members of the archive, and whether all that was asked for could be exported."""
    inputs = [kind(BATCH) for kind in kinds]
    wanted = numbers(results(module(*inputs)))
    whole, seen = True, set()
    for exporter, opsets in OPSETS.items():
        for opset in opsets:
            data = exported(module, tuple(kind(EXPORTED) for kind in kinds), exporter, opset, folder / "m.onnx")
            whole &= data is not None
            if data is not None and data not in seen:
                seen.add(data)
                yield f"{name}.{exporter}_{opset}.onnx", data
    if seen:
        buffer = io.BytesIO()
        arrays = {f"x{i}": x for i, x in enumerate(numbers(inputs))} | {f"y{i}": y for i, y in enumerate(wanted)}
        np.savez(buffer, **arrays)
        yield f"{name}.npz", buffer.getvalue()
    if not whole and len(wanted) > 1:
        for at in range(len(wanted)):
            yield from recorded(f"{name}.{at}", One(module, at), kinds, folder)


def program():
    """Return an exported program with an open batch, without the lines of code that it was made of."""
    torch.manual_seed(1)
    layers = (
        nn.Conv2d(1, 2, 3, padding=1),
        nn.BatchNorm2d(2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8, 3),
    )
    module = nn.Sequential(*layers).eval()
    made = torch.export.export(module, (torch.zeros(2, 1, 4, 4),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    for node in made.graph.nodes:
        node.meta.pop("stack_trace", None)
    return made


def main() -> None:
    """Write the archive, or the program."""
    warnings.simplefilter("ignore")
    if sys.argv[1].endswith(".pt2"):
        torch.export.save(program(), sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as folder, tarfile.open(sys.argv[1], "w:xz") as archive:
        for name, (make, kinds) in CASES.items():
            torch.manual_seed(1)
            for member, data in recorded(name, make().eval(), kinds, Path(folder)):
                entry = tarfile.TarInfo(member)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    main()

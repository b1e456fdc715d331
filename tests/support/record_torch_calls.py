"""Record calls of ops of PyTorch with what they give: ``python -m tests.support.record_torch_calls FILE.npz``.

They are the calls in exported programs of the cases of `torch_layers`, and further ones for what these do not call.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
import torch

from graphrewrite.lowering.exchange.torch.program import op_name, program_of, purified
from graphrewrite.lowering.exchange.torch_import import TORCH
from tests.support.torch_edge_calls import CALLS
from tests.support.torch_layers import CASES

MOST = 1000
"""So many numbers a call may have at most."""
BATCH = 2
REFUSED = ("embedding_bag", "index_put", "lstm_proj")
"""Cases with calls that are not imported."""


class Recorder(torch.fx.Interpreter):
    """Runs a program, and keeps the calls of ops."""

    def __init__(self, program, recording):
        super().__init__(program.graph_module)
        stored = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
        specs = program.graph_signature.input_specs
        self.weights = {spec.arg.name for spec in specs if spec.kind.name in stored}
        self.recording = recording

    def run_node(self, n):
        found = super().run_node(n)
        if n.op == "call_function" and hasattr(n.target, "_schema"):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            known = {id(self.env[each]) for each in n.all_input_nodes if each.name in self.weights}
            self.recording.add(n.target, args, kwargs, found, known)
        return found


class Recording:
    """Calls, each once."""

    def __init__(self):
        self.arrays, self.calls, self.seen = {}, [], set()

    def add(self, target, args, kwargs, found, known=()):
        """Add a call with the ids of the tensors that are known when a model is read."""
        results = list(found) if isinstance(found, tuple | list) else [found]
        tensors = [each for each in (*_flat((args, kwargs)), *results) if isinstance(each, torch.Tensor)]
        if op_name(target) not in TORCH or "empty" in op_name(target) or sum(each.numel() for each in tensors) > MOST:
            return
        if any(each.dtype not in DTYPES for each in tensors):
            return
        bound = {}
        for index, each in enumerate(target._schema.arguments):
            default = each.default_value if each.has_default_value() else None
            bound[each.name] = args[index] if index < len(args) else kwargs.get(each.name, default)
        what = json.dumps([op_name(target), self.coded(bound, known, None), *self.coded(results, known, None)])
        if what in self.seen:
            return
        self.seen.add(what)
        operands = [each for each in args[:2] if isinstance(each, torch.Tensor | int | float | bool)]
        is_any = any(isinstance(each, torch.Tensor) for each in operands)
        common = str(torch.result_type(operands[0], operands[-1])) if is_any else "torch.float32"
        self.calls.append(
            {
                "op": op_name(target), "arguments": self.coded(bound, known, self.arrays),
                "results": self.coded(results, known, self.arrays), "common": common,
            }
        )  # fmt: skip

    def coded(self, value: Any, known: Any, arrays: dict[str, list[Any]] | None) -> Any:
        """Return a value as JSON has it, with the places of arrays among all of their type; or their types only."""
        if isinstance(value, torch.Tensor):
            told = {"type": str(value.dtype), "shape": list(value.shape), "known": id(value) in known}
            if arrays is not None:
                array = value.detach().contiguous()
                parts = arrays.setdefault(str(array.numpy().dtype), [])
                told["array"] = sum(map(len, parts))
                parts.append(array.numpy().ravel())
            return told
        if isinstance(value, torch.dtype):
            return {"dtype": str(value)}
        if isinstance(value, dict):
            return {key: self.coded(each, known, arrays) for key, each in value.items()}
        if isinstance(value, tuple | list):
            return [self.coded(each, known, arrays) for each in value]
        return value if isinstance(value, bool | int | float | str) else None


DTYPES = {torch.float16, torch.float32, torch.float64, torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool}


def _flat(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else None
    return [value] if parts is None else [each for part in parts for each in _flat(part)]


def main() -> None:
    """Write the file."""
    warnings.simplefilter("ignore")
    torch.manual_seed(3)
    recording = Recording()
    for name, (make, inputs) in CASES.items():
        if name in REFUSED:
            continue
        module, given = make().eval(), [each(BATCH) for each in inputs]
        try:
            program = purified(program_of(module, given, {}, None), TORCH)
            values = [
                program.state_dict.get(spec.target, program.constants.get(spec.target))
                for spec in program.graph_signature.input_specs
                if spec.kind.name != "USER_INPUT"
            ]
            with torch.no_grad():
                Recorder(program, recording).run(*values, *given)
        except Exception as error:
            print(name, str(error)[:200])
    for name, calls in CALLS.items():
        for args, kwargs in calls:
            packet, _, overload = name.removesuffix("!").partition(".")
            target = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            known = (
                {id(each) for each in _flat((args, kwargs)) if isinstance(each, torch.Tensor)} if "!" in name else ()
            )
            try:
                recording.add(target, args, kwargs, target(*args, **kwargs), known)
            except Exception as error:
                print(name, str(error)[:150])
    arrays = {kind: np.concatenate(parts) for kind, parts in recording.arrays.items()}
    np.savez_compressed(sys.argv[1], calls=np.array(json.dumps(recording.calls)), **arrays)
    called = {each["op"] for each in recording.calls}
    print(len(recording.calls), "calls;", "not called:", *sorted({*TORCH} - called))


if __name__ == "__main__":
    main()

"""What is left of networks: by `optimise`, exact and approximate, and by other optimisers of ONNX files.

    make bench PYTEST="-k optimise" PEERS=path/to/python

Nodes of the ONNX file are counted, with those of nested graphs and functions, without constants. Time is that of the
processor, with reading and writing; each optimiser runs in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.benchmarks.figures import print_table, scaled
from tests.benchmarks.repeated_networks import REPEATED, write_repeated

HERE = Path(__file__).parents[2]
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
PUBLISHED = HERE / "tests" / "models_roundtrip" / "models"
MODELS = [LIGHT / f"light_{name}.onnx" for name in ("shufflenet", "resnet50", "inception_v2", "densenet121")]
MODELS += [
    PUBLISHED / f"{name}.onnx"
    for name in (
        *("attention", "bert", "encoder", "gpt", "hf_gpt2", "hf_llama", "hf_t5", "vit", "convnext", "mobilenet_v2"),
        *("mobilenet_v3", "densenet", "shufflenet", "unet_dynamo", "norms", "keras_attending", "yolo_head_fixed"),
    )
]
OPTIMISERS = ("none", "ours exact", "ours", "onnxsim", "onnxslim", "onnxoptimizer", "ort basic", "ort extended")

PROGRAM = """
import importlib, json, sys, time
import onnx

MODULES = {"ort basic": "onnxruntime", "ort extended": "onnxruntime"}
MODULES |= {name: name for name in ("onnxsim", "onnxslim", "onnxoptimizer")}

def nodes(graph, functions):
    found = 0
    for node in graph.node:
        body = functions.get((node.domain, node.op_type))
        found += node.op_type != "Constant" if body is None else nodes(body, functions)
        inner = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        found += sum(nodes(each, functions) for each in inner)
    return found

def optimised(model, path, how):
    if how == "none":
        return model
    if how.startswith("ours"):
        from graphrewrite.lowering import from_onnx, optimise, to_onnx
        return to_onnx(optimise(from_onnx(path), approximate=how == "ours"))
    if how == "onnxsim":
        import onnxsim
        return onnxsim.simplify(model)[0]
    if how == "onnxslim":
        import onnxslim
        return onnxslim.slim(model)
    if how == "onnxoptimizer":
        import onnxoptimizer
        return onnxoptimizer.optimize(model, onnxoptimizer.get_fuse_and_elimination_passes(), fixed_point=True)
    import onnxruntime as ort
    options = ort.SessionOptions()
    level = "ORT_ENABLE_BASIC" if how == "ort basic" else "ORT_ENABLE_EXTENDED"
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.optimized_model_filepath = sys.argv[3]
    options.log_severity_level = 4
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnx.load(sys.argv[3])

path, how = sys.argv[1:3]
model = onnx.load(path)
# What is imported is no time of a model's.
importlib.import_module("graphrewrite.lowering" if how.startswith("ours") else MODULES.get(how, "onnx"))
started = time.process_time()
result = optimised(model, path, how)
functions = {(f.domain, f.name): f for f in result.functions}
print(json.dumps([nodes(result.graph, functions), time.process_time() - started]))
"""


def run(python: str, model: Path, how: str, scratch: Path) -> tuple[int, float] | None:
    """Return the nodes that an optimiser leaves, and its seconds; None where it is not installed or fails."""
    program = [python if how not in ("ours", "ours exact") else sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        [*program, str(model), how, str(scratch / "out.onnx")], capture_output=True, text=True, cwd=HERE, check=False
    )
    return tuple(json.loads(done.stdout.splitlines()[-1])) if done.returncode == 0 else None


def test_what_is_left(peers: str, tmp_path: Path) -> None:
    rows = []
    made = [write_repeated(name, tmp_path) for name in list(REPEATED)[: scaled(1, len(REPEATED))]]
    for model in MODELS[: scaled(1, len(MODELS))] + made:
        found = {how: run(peers, model, how, tmp_path) for how in OPTIMISERS}
        if found["none"] is None:
            pytest.fail(f"{model} cannot be read")
        cells = ["-" if each is None else f"{each[0]} ({each[1]:.2f} s)" for each in found.values()]
        rows.append((model.stem.removeprefix("light_"), *cells))
        ours = found["ours"]
        assert ours is not None, model
        assert ours[0] <= found["none"][0]
    print_table("nodes left, and CPU seconds", ("model", *OPTIMISERS), rows)

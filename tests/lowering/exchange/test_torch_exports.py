"""What `torch.onnx` writes computes what PyTorch did, at any batch: both exporters, old and new opsets."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from graphrewrite.lowering import ModelError, from_onnx, to_onnx

# Written by `tests.support.record_torch` with PyTorch 2.14 and onnxscript 0.7; exported with a batch of 2, run with 3.
RECORDED = Path(__file__).with_name("recorded_torch.tar.xz")
REFUSED = {
    "embedding_bag.script_11": r"'/Loop' \(Loop\).*batch iterations.*shapes=",
    "embedding_bag.script_20": r"'/Loop' \(Loop\).*batch iterations.*shapes=",
    "embedding_bag.dynamo_18": "reads the sequence 'result'.*carried by loops",
    "embedding_bag.dynamo_23": "reads the sequence 'result'.*carried by loops",
    "reductions.script_11": r"'/Not' \(Not\).*f32",
    "reductions.script_20": r"'/Not' \(Not\).*f32",
}
"""PyTorch writes loops and sequences for bags, and a Not of floats."""
BOUNDS = {"bfloat": 1e-2, "half": 2e-3}


@pytest.fixture(scope="module")
def recorded():
    with tarfile.open(RECORDED) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def stored(recorded, stem):
    """Return inputs and results."""
    with np.load(io.BytesIO(recorded[f"{stem}.npz"])) as arrays:
        return [[arrays[f"{kind}{i}"] for i in range(len(arrays)) if f"{kind}{i}" in arrays] for kind in "xy"]


def differs(found, wanted, bound):
    """Tell whether numbers differ by more than a share of the largest."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return True
    if wanted.dtype.kind != "f":
        return not np.array_equal(found, wanted)
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
    return not np.allclose(found, wanted, rtol=bound, atol=bound * largest, equal_nan=True)


@pytest.mark.parametrize("export", ["script_11", "script_20", "dynamo_18", "dynamo_23"])
def test_exports_compute_what_torch_did(recorded, export):
    wrong, compared = [], 0
    for name, data in recorded.items():
        stem, _, rest = name.removesuffix(".onnx").rpartition(".")
        if rest != export or f"{stem}.{export}" in REFUSED:
            continue
        inputs, wanted = stored(recorded, stem)
        graph = from_onnx(data)
        found = graph.evaluate(dict(zip(graph.inputs, inputs, strict=False))).values()
        bound = BOUNDS.get(stem, 1e-5)
        wrong += [name for ours, theirs in zip(found, wanted, strict=True) if differs(ours, theirs, bound)]
        compared += 1
    assert not wrong
    assert compared > 20


def test_what_cannot_be_read_names_its_node(recorded):
    for name, told in REFUSED.items():
        with pytest.raises(ModelError, match=told):
            from_onnx(recorded[f"{name}.onnx"])


def test_aligned_corners_of_a_rounded_size_stay_so(recorded):
    inputs, (wanted,) = stored(recorded, "upsample_corners")
    graph = from_onnx(to_onnx(from_onnx(recorded["upsample_corners.script_11.onnx"])))
    (found,) = graph.evaluate(*inputs).values()
    assert not differs(found, wanted, 1e-5)

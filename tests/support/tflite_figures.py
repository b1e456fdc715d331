"""How many random models of each operator of TensorFlow Lite are right, refused or wrong beside LiteRT's kernels.

It needs ai-edge-litert, and prints a line for each operator that is not right everywhere, and the sums:

    python -m tests.support.tflite_figures 20
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from graphrewrite import GraphRewriteError, evaluate
from graphrewrite.lowering import from_tflite
from tests.support.litert import outputs
from tests.support.tflite_more_cases import PLAIN, STORED
from tests.support.tflite_tensors import Case

__all__ = ["outcome"]


def outcome(case: Case, *, real: bool) -> str:
    """Compare a model: bit for bit, or real numbers within 1e-5."""
    data, inputs = case
    try:
        expected = outputs(data, inputs)
    except (RuntimeError, ValueError):
        return "no kernel"
    try:
        found = evaluate(from_tflite(data), inputs)
    except GraphRewriteError:
        return "refused"
    alike = (lambda a, b: np.allclose(a, b, rtol=1e-5, atol=1e-5)) if real else np.array_equal
    shapes = all(found[name].shape == array.shape for name, array in expected.items())
    return "right" if shapes and all(alike(found[name], array) for name, array in expected.items()) else "wrong"


if __name__ == "__main__":
    total: Counter[str] = Counter()
    for table, is_real in ((STORED, False), (PLAIN, True)):
        for kind, make in table.items():
            seen = Counter(outcome(make(np.random.default_rng(seed)), real=is_real) for seed in range(int(sys.argv[1])))
            total += seen
            if set(seen) != {"right"}:
                print("real" if is_real else "stored", kind, dict(seen))
    print(len({kind.split(" ")[0] for kind in (*STORED, *PLAIN)}), "operators", dict(total))

"""Equal attributes are stored in one form, however they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op, rewrite, rule
from graphrewrite.formats import from_dict, to_dict, to_text
from graphrewrite.lowering import from_onnx, to_onnx
from graphrewrite.rules import merge_equal_nodes


def windows(own: Any, positions: int, written: list[dict[str, Any]]) -> Graph:
    """Return a graph of one op on one value, with attributes written in several ways."""
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, *(9, 8, 7)[:positions])))
    others = [np.ones((2, 3, *(2,) * positions), np.float32)] if own is op.conv else []
    sizes = {} if own is op.conv else {"kernel": 2}
    for i, each in enumerate(written):
        g.output(f"y{i}", own(x, *others, **sizes, **each))
    return g


@pytest.mark.parametrize("positions", [1, 2, 3])
@pytest.mark.parametrize("own", [op.conv, op.max_pool, op.average_pool])
def test_defaults_of_windows_are_not_stored_for_any_number_of_positions(own: Any, positions: int) -> None:
    ones, zeros = (1,) * positions, (0,) * (2 * positions)
    written = [
        *({}, {"stride": 1}, {"padding": 0}, {"padding": "valid"}, {"dilation": 1}),
        *({"strides": ones}, {"pads": zeros}, {"strides": 1, "pads": list(zeros)}),
    ]
    g = windows(own, positions, written)
    plain = windows(own, positions, [{}] * len(written))
    assert g == plain == Graph.parse(to_text(g, whole=True))
    assert from_onnx(to_onnx(g)) == g
    merged = rewrite(g, [merge_equal_nodes])
    assert [merged.nodes[n]["type"] for n in merged].count(own.name) == 1
    assert merged.attributes(f"{own.name}_1")["strides"] == ones

    def of_conv(x, w):
        yield (top := op.conv(x, w, strides=ones, padding=0))
        return op.relu(top)

    def of_pool(x):
        yield (top := own(x, strides=ones, padding=0, kernel=2))
        return op.relu(top)

    assert len(rule(of_conv if own is op.conv else of_pool).find(g)) == len(written)


def test_defaults_of_windows_that_earlier_versions_stored_are_dropped_on_reading() -> None:
    g = windows(op.conv, 1, [{}])
    document = {**to_dict(g), "version": 1}
    document["nodes"]["conv_1"] |= {"strides": [1], "pads": [0, 0], "dilations": [2]}
    read = from_dict(document)
    assert {"strides", "pads"}.isdisjoint(read.nodes["conv_1"])
    assert read.attributes("conv_1")["dilations"] == (2,)

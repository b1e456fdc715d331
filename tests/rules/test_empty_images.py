from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op
from graphrewrite.rules import batch_norm_as_layer, global_average_pool_as_conv


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 3, 0), (2, 3, 0, 2)])
@pytest.mark.parametrize("rule", [batch_norm_as_layer, global_average_pool_as_conv])
def test_images_without_positions_or_channels_are_left_as_they_are(rule, shape):
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", shape))
    numbers = [graph.constant(np.ones(shape[1], np.float32)) for _ in range(4)]
    is_norm = rule is batch_norm_as_layer
    graph.output("y", graph.add(op.batch_norm, [x, *numbers], {}) if is_norm else op.global_average_pool(x))
    assert rule(graph) == graph

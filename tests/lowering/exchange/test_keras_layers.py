"""Each layer and op of Keras, with the settings that it may have: written by hand, and compared with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("h5py")

from graphrewrite.lowering.errors import ModelError
from tests.support.keras_files import computed
from tests.support.keras_number_cases import activations, numbers
from tests.support.keras_op_cases import operators
from tests.support.keras_step_cases import attention, recurrent
from tests.support.keras_window_cases import moved, reduced, sliding

LAYERS = [*sliding(), *reduced(), *moved(), *activations(), *numbers(), *recurrent(), *attention()]
OPS = [*operators()]


@pytest.mark.parametrize("kind", sorted({kind for kind, *_ in LAYERS}))
def test_a_layer_computes_what_it_says(kind: str, same_text: Callable[[str], None]) -> None:
    texts: list[str] = []
    for name, inputs, settings, wanted in LAYERS:
        if name == kind:
            check(kind, inputs, settings, wanted, op=False, texts=texts)
    same_text("\n".join(texts))


@pytest.mark.parametrize("kind", sorted({kind for kind, *_ in OPS}))
def test_an_op_among_layers_computes_what_it_says(kind: str, same_text: Callable[[str], None]) -> None:
    texts: list[str] = []
    for name, inputs, settings, wanted in OPS:
        if name == kind:
            check(kind, inputs, settings, wanted, op=True, texts=texts)
    same_text("\n".join(texts))


def check(
    kind: str, inputs: tuple[Any, ...], settings: dict[str, Any], wanted: Any, *, op: bool, texts: list[str]
) -> None:
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    as_list = isinstance(inputs[0], list)
    flat = inputs[0] if as_list else inputs
    found = computed(kind, *flat, op=op, as_list=as_list, results=len(several), told=texts, **settings)
    for ours, theirs in zip(found, several, strict=True):
        assert ours.shape == np.shape(theirs), settings
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-5, err_msg=str(settings))


@pytest.mark.parametrize("settings", [{"ord": 2}, {"ord": 2, "axis": [0, 1]}, {"ord": 1, "axis": 1}, {"ord": "fro"}])
def test_norms_of_matrices_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=rf"the norm ord={settings['ord']!r} along .* is not supported"):
        computed("Norm", np.ones((2, 3), np.float32), op=True, **settings)

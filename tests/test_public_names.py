"""Names that a package does not have: the error says which one may be meant, or where it stands."""

from __future__ import annotations

from importlib import import_module

import pytest

import graphrewrite


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        ("graphrewrite", "rewirte", "'rewrite'"),
        ("graphrewrite", "quantize", "graphrewrite.lowering.quantise"),
        ("graphrewrite", "optimize", "'optimise'"),
        ("graphrewrite.lowering", "quantize", "'quantise'"),
        ("graphrewrite.hdl", "emitt", "'emit'"),
        ("graphrewrite.rules", "RULE", "'RULES'"),
        ("graphrewrite.testing", "chek", "'check'"),
        ("graphrewrite.formats", "laod", "'load'"),
        ("graphrewrite.op", "batchnorm", "'batch_norm'"),
    ],
)
def test_the_nearest_name_is_suggested(module: str, name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(import_module(module), name)
    assert str(caught.value).endswith(f"; did you mean {meant}?")


def test_what_is_elsewhere_is_there() -> None:
    for place in graphrewrite._ELSEWHERE.values():
        if place.startswith("graphrewrite."):
            module, _, name = place.rpartition(".")
            assert hasattr(import_module(module), name)

"""Networks on their whole way: formats, integers, components, host, C and memory, compared with recorded texts.

Tests of random networks compare values. What has the right values may still be wider, slower or dearer than it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, evaluate
from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats import to_text
from graphrewrite.hdl import emit
from graphrewrite.lowering import (
    FoldingReport,
    Reference,
    cuts,
    decisions_in_hardware,
    findings,
    lower_to_memory,
    partition,
    profile_values,
    quantise,
    search_widths,
    sensitivity,
    softmax_as_arg_max,
    softmax_in_hardware,
    to_c,
    to_integer,
    to_stream,
    weak_samples,
)
from tests.support.way_networks import NETWORKS, Network

QUANTISED: dict[str, dict[str, Any]] = {
    "8": {},
    "6, 5 of weights": {"bits": {"default": (5, 6), "linear_1": (6, 8), "linear*": 7}, "fit": False},
    "per channel": {"bits": 5, "per_channel": True},
    "all as it is": {"bits": 7, "ranges": "minmax", "equalise": False, "fit": False},
    "percentile": {"ranges": 97.0, "equalise": False},
    "entropy": {"bits": 6, "ranges": "entropy"},
}
FOLDED: dict[str, dict[str, Any]] = {
    "full": {},
    "folded": {"parallelism": "folded"},
    "by name": {"parallelism": {"linear_1": "full", "default": 3}},
    "interval": {"interval": 40},
    "latency": {"latency": 60},
    "multipliers": {"max_multipliers": 30, "stages": 2},
    "adders": {"shift_add": True},
}
_ARRAY = re.compile(r"array\('<f[248]', (\[[^]]*\]), '[^']*'\)")


@cache
def made(name: str) -> Network:
    """A network."""
    return NETWORKS[name]()


@cache
def quantised(name: str, way: str) -> Graph:
    """The same in fixed point."""
    network = made(name)
    return quantise(network.graph, network.samples, **QUANTISED[way])


def said(graph: Graph) -> str:
    """A graph without arrays of real numbers."""
    return _ARRAY.sub(r"reals \1", to_text(graph, whole=True))


def refused(make: Callable[[], Any]) -> str:
    """What is made as a text, or why it is not."""
    try:
        return str(make())
    except GraphRewriteError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("way", QUANTISED)
@pytest.mark.parametrize("name", NETWORKS)
def test_formats_and_integers(name: str, way: str, same_text: Callable[[str], None]) -> None:
    fixed, samples = quantised(name, way), made(name).samples
    integer = to_integer(fixed, approximate=True)
    parts = partition(integer)
    wanted, found = evaluate(fixed, samples), evaluate(integer, samples)
    for output in fixed.outputs:
        step = max(np.ptp(wanted[output].astype(float)) / 16, 1e-9) if "interpolate" in to_text(integer) else 1e-9
        np.testing.assert_allclose(found[output].astype(float), wanted[output].astype(float), atol=step, rtol=0)
    texts = [said(each) for each in (fixed, integer, parts.before, parts.core, parts.after)]
    texts += [said(decisions_in_hardware(softmax_in_hardware(integer, width=9)))]
    same_text("\n".join(texts))


@pytest.mark.parametrize(
    ("name", "way", "options"), [*zip([*NETWORKS] * 2, [*QUANTISED] * 3, [*FOLDED] * 2, strict=False)]
)
def test_components(name: str, way: str, options: str, same_text: Callable[[str], None]) -> None:
    integer = softmax_in_hardware(to_integer(quantised(name, way)), width=10)
    same_text("\n".join(_streams(integer, FOLDED[options])))


def _streams(integer: Graph, options: dict[str, Any]) -> Iterator[str]:
    reports: list[FoldingReport] = []
    yield refused(lambda: said(to_stream(integer, reports=reports, **options)))
    yield from (f"{each.as_dict()}" for each in reports)


@pytest.mark.parametrize("name", NETWORKS)
def test_code_of_the_host_and_c(name: str, same_text: Callable[[str], None]) -> None:
    network, texts = made(name), []
    integer = to_integer(quantised(name, "6, 5 of weights"))
    for graph in (integer, decisions_in_hardware(integer)):
        design = emit(to_stream(graph, parallelism="folded"), frames=1)
        texts += [text for path, text in sorted(design.files.items()) if path.startswith("host/")]
    for graph in (network.graph, integer, quantised(name, "8")):
        texts += [refused(lambda graph=graph: _files(to_c(graph, name="net", sizes={"N": 2})))]
        texts += [refused(lambda graph=graph: said(lower_to_memory(graph, sizes={"N": 2})))]
    same_text("\n".join(texts))


def _files(design: Any) -> str:
    return "\n".join(f"{path}\n{text}" for path, text in sorted(design.files.items()) if isinstance(text, str))


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_said_of_samples(name: str, same_text: Callable[[str], None]) -> None:
    """Losses, widths, findings and profiles: numbers by two digits."""
    graph, samples, labels = made(name)
    few, twice = {k: x[:3] for k, x in samples.items()}, {k: 6 * x + 1 for k, x in samples.items()}
    texts = [*map(str, weak_samples(graph, samples, twice)), *map(str, weak_samples(graph, few))]
    reference = Reference(graph, samples, labels if len(graph.outputs) == 1 and name != "image" else None)
    for way in [*QUANTISED][:3]:
        found = evaluate(quantised(name, way), samples)
        texts += [rounded(each.as_dict()) for each in reference.agreement(found)]
        lost = findings(graph, quantised(name, way), twice, most_noise=0.02)
        texts += [rounded(each.as_dict()) for each in lost]
    if name == "pair":
        texts += [rounded(sensitivity(graph, samples, bits=4).as_dict())]
        texts += [str(search_widths(graph, samples, max_loss=0.05))]
    profile = profile_values(graph, [samples, twice])
    texts += [said(quantise(graph, profile=profile))]
    texts += [f"{each.named(graph)}" for each in cuts(graph, most=2)]
    texts += [said(softmax_as_arg_max(graph))]
    same_text("\n".join(texts))


def rounded(told: Any) -> str:
    """Primitive data with real numbers of two digits."""
    if isinstance(told, dict):
        return ", ".join(f"{key}: {rounded(value)}" for key, value in told.items())
    if isinstance(told, list | tuple):
        return "; ".join(map(rounded, told))
    return f"<{told:.2g}>" if isinstance(told, float) else str(told)

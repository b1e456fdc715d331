"""Gather the profile of a network: its values over many batches, of which one is held at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graphrewrite import Graph, Module
from graphrewrite.errors import did_you_mean
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.lowering.errors import ProfileError, QuantisationError
from graphrewrite.lowering.predicates import without_predicates
from graphrewrite.lowering.quantisation.calibration import Widths, checked_samples
from graphrewrite.lowering.quantisation.preparation import prepared_network
from graphrewrite.lowering.quantisation.quantiser import Quantiser
from graphrewrite.lowering.quantisation.value_histogram import ValueHistogram
from graphrewrite.lowering.quantisation.value_profile import ValueProfile

__all__ = ["check_profile", "profile_values"]

_PIECE = 256
"""Samples of a batch that are evaluated together."""


def profile_values(graph: Graph | Module, batches: Any, *, implementations: Library | None = None) -> ValueProfile:
    r"""Return the profile of a network: the distribution of each value that `quantise` rounds.

    Parameters
    ----------
    graph : Graph or Module
        A float network, as for `quantise`.
    batches : iterable, or as the samples of `quantise`
        Each batch as the samples of `quantise`, an array or a mapping by input; an array or a mapping alone is one.
    implementations : mapping of str to Graph, Op or Component, optional
        As for `quantise`.

    Raises
    ------
    QuantisationError
        As for `quantise`; or if there is no batch.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite import Tensor, op
    >>> from graphrewrite.lowering import quantise
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f32", ("N", 2)))
    >>> _ = g.output("y", op.linear(x, np.float32([[0.5, -0.25]]), np.float32([0.125])))
    >>> profile = profile_values(g, (np.float32([[0.9, -0.7 * i]]) for i in range(3)))
    >>> print(profile)
    g: 3 samples
    value     format    low                    high     bits  beyond  zeros
    x         s8f6     -1.4  ▅   ▅    ▅     █  0.9    8 of 8  none    1 (16.7 %)
    linear_1  u8f8    0.575  █       █      █  0.925  8 of 8  none    none
    >>> quantise(g, profile=profile).nodes["quantise_1"]["element"]
    FixedPoint(signed=True, width=8, fraction=6)
    """
    folded = without_predicates(prepared_network(graph, implementations=implementations))
    made = Quantiser(folded, {}, Widths(folded, 8), per_channel=False, fit=False)
    values = dict.fromkeys(made.names.values(), ValueHistogram())
    total, number = 0, 0
    for number, batch in enumerate(_batches(batches), start=1):
        try:
            inputs = checked_samples(folded, batch)
        except QuantisationError as error:
            raise QuantisationError(f"batch {number}: {error}") from error
        for piece in _pieces(folded, inputs):
            found = made.evaluated(piece)
            for node, name in made.names.items():
                values[name] += ValueHistogram.of(found[made.points[node]])
        total += max((len(array) if array.ndim else 1 for array in inputs.values()), default=0)
    if not number:
        raise QuantisationError("there are no batches to gather a profile from; give at least one")
    return ValueProfile(folded.name, _fingerprint(made), total, values)


def check_profile(folded: Graph, profile: ValueProfile) -> None:
    """Raise unless a profile is one of a prepared network."""
    made = Quantiser(folded, {}, Widths(folded, 8), per_channel=False, fit=False)
    for name in made.names.values():
        if name not in profile.values:
            hint = did_you_mean(name, profile.values)
            raise ProfileError(
                f"the profile is of {profile.model!r}, and has no values of {name!r}{hint}; gather one of this network"
            )
    for name in profile.values:
        if name not in made.names.values():
            hint = did_you_mean(name, made.names.values())
            raise ProfileError(f"the profile names {name!r}, which this network rounds nowhere{hint}; gather one of it")
    if profile.fingerprint != _fingerprint(made):
        raise ProfileError(
            f"the profile is of {profile.model!r} with other weights or inputs, so that its ranges may be wrong; "
            f"gather it again, or if you know better, give it the fingerprint {_fingerprint(made)!r}"
        )


def _fingerprint(made: Quantiser) -> str:
    """A hash of inputs, layers and weights; not of names of other nodes, nor of a head behind the last layer."""
    graph = made.graph
    layers = [node for node in made.names if node in made.fitted]
    arrays = [
        np.asarray(graph.nodes[o.node]["value"])
        for n in layers
        for o in graph.operands(n)[1:]
        if _is_constant(graph, o.node)
    ]
    told = [
        *(f"{name}: {graph.result_type(name)}" for name in graph.inputs),
        *made.names.values(),
        *(hashlib.sha256(f"{each.shape}".encode() + each.tobytes()).hexdigest() for each in arrays),
    ]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _is_constant(graph: Graph, node: str) -> bool:
    return bool(graph.nodes[node]["type"] == "constant")


def _batches(batches: Any) -> Iterator[Any]:
    is_one = batches is None or isinstance(batches, Mapping | np.ndarray)
    if not is_one and not isinstance(batches, Iterable):
        raise QuantisationError(f"batches are {type(batches).__name__}; give arrays, or mappings by input")
    yield from [batches] if is_one else batches


def _pieces(graph: Graph, inputs: dict[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
    """A batch in parts, where its length is open."""
    sizes = {(graph.result_type(name).shape or (1,))[0] for name in inputs}
    if len(sizes) != 1 or not isinstance(next(iter(sizes)), str):
        yield inputs
        return
    for start in range(0, len(next(iter(inputs.values()))), _PIECE):
        yield {name: array[start : start + _PIECE] for name, array in inputs.items()}

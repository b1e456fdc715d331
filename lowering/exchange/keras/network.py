"""Build a graph from the architecture of a model of Keras."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from graphrewrite import Graph, GraphRewriteError, Tensor, op
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Value
from graphrewrite.graph.provenance import give_origin
from graphrewrite.lowering.errors import ModelError, OpenSizesError, UnsupportedOpsError
from graphrewrite.lowering.exchange.declared_sizes import DeclaredSizes
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.hooks import Hook, Hooks, ModelInfo, ModelNode
from graphrewrite.lowering.exchange.keras.activations import ACTIVATIONS
from graphrewrite.lowering.exchange.keras.archive import Archive, Place
from graphrewrite.lowering.exchange.keras.attention import ATTENTION
from graphrewrite.lowering.exchange.keras.calls import call_of, ends_of, reads_of, resolved
from graphrewrite.lowering.exchange.keras.convolved_states import CONVOLVED_STATES
from graphrewrite.lowering.exchange.keras.layer import Layer, Row
from graphrewrite.lowering.exchange.keras.masks import MASKING, result_masks
from graphrewrite.lowering.exchange.keras.movement import MOVEMENT
from graphrewrite.lowering.exchange.keras.numbers import NUMBERS
from graphrewrite.lowering.exchange.keras.operators import OPERATORS, is_operator, is_operator_known
from graphrewrite.lowering.exchange.keras.recurrent import RECURRENT
from graphrewrite.lowering.exchange.keras.windows import WINDOWS
from graphrewrite.lowering.exchange.rulesets.definitions import element_of_type
from graphrewrite.lowering.exchange.size_agreement import SizeUnifier
from graphrewrite.lowering.exchange.static_values import StaticValues

__all__ = ["KERAS", "Network"]

KERAS: dict[str, Row] = {
    **ACTIVATIONS,
    **ATTENTION,
    **CONVOLVED_STATES,
    **MASKING,
    **MOVEMENT,
    **NUMBERS,
    **RECURRENT,
    **WINDOWS,
}
"""The table of all supported layers."""
_LOOKED_UP = ("HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization")
"""Layers that look texts or numbers up in tables."""
_MODELS = ("Sequential", "Functional", "Model")
_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}
"""Names of classes by which files keep weights, where layers are stored by another one."""
_CODE = ("Lambda", "TFOpLambda", "SlicingOpLambda")
"""Layers that hold code, which is never executed."""
_COMPUTE = {
    **dict.fromkeys(("float32", "int32", "int64"), "f32"),
    "float16": "f16",
    "bfloat16": "bf16",
    "float64": "f64",
}
"""Element types in which floats are computed, by policies, with or without ``mixed_`` in front."""
_FLOATS = ("f16", "bf16", "f32", "f64")
_NARROW = ("f16", "bf16")
_WIDE = (
    *("BatchNormalization", "GroupNormalization", "LayerNormalization", "Normalization", "RMSNormalization"),
    *("Rescaling", "UnitNormalization"),
)
"""Layers that compute half floats in single precision."""


class Network:
    """Import of one model."""

    def __init__(
        self,
        name: str,
        archive: Archive,
        shapes: Mapping[str, Sequence[int | str]],
        batch: str,
        hooks: Iterable[Hook] = (),
    ) -> None:
        stored = ((each.get("config", {}).get("name"), each.get("class_name")) for each in _walk(archive.config))
        layers = {str(layer): str(kind) for layer, kind in stored}
        info = ModelInfo("keras", f"keras {archive.version}", {"keras": archive.version}, layers)
        self.hooks = Hooks(hooks, info)
        self.graph, self.archive, self.shapes, self.batch = Graph(name), archive, shapes, batch
        self.static, self.sizes = StaticValues(self.graph), DeclaredSizes()
        self.agreement = SizeUnifier(self.graph, self.sizes, self.static, keeps_names=True)
        self.masks: dict[tuple[str, int], Value] = {}
        """Which steps of a value count, where not all do."""

    def run(self) -> Graph:
        """Return the graph."""
        model = self.archive.config
        self.hooks.before_model()
        self.check(model)
        inputs = [self.graph.input(name, kind) for name, kind in self.inputs(model)]
        for name in self.shapes:
            if name not in self.graph.inputs:
                raise ModelError(f"shapes are given for {name!r}, which is no input; inputs: {list(self.graph.inputs)}")
        results = self.model(model, Place(), inputs)
        names = self.output_names(model, len(results))
        for label, result in zip(names, results, strict=True):
            self.graph.output(self.graph.fresh(label) if label in self.graph else label, result)
        return self.hooks.after_model(self.graph)

    # ------------------------------------------------------------------ what the architecture says

    def check(self, model: Mapping[str, Any]) -> None:
        """Raise if there are layers that the table lacks, with all of them, or code."""
        missing: dict[str, list[str]] = {}
        for stored in _walk(model):
            kind, name = str(stored.get("class_name")), str(stored.get("config", {}).get("name"))
            if kind in _CODE:
                raise UnsupportedOpsError(
                    f"layer {name!r} ({kind}) holds code, which is never executed; export the model as a saved "
                    "model of TensorFlow: model.export('folder')"
                )
            known = is_operator_known(stored) if is_operator(stored) else kind in (*KERAS, *_MODELS, "InputLayer")
            if not known and not self.hooks.are_for(kind, name, before=True):
                missing.setdefault(kind, []).append(name)
            if kind in KERAS and _compute_element(stored["config"]) is None:
                raise ModelError(
                    f"layer {name!r} has the policy {_policy(stored['config'])!r}, which is not supported; export the "
                    "model with model.export(…)"
                )
        if missing:
            listed = "; ".join(f"{kind} ({', '.join(map(repr, names[:3]))})" for kind, names in sorted(missing.items()))
            raise UnsupportedOpsError(f"the model has layers that are not supported: {listed}; {_remedy(missing)}")

    def inputs(self, model: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
        """Yield the inputs with their types."""
        layers = model["config"]["layers"]
        if model["class_name"] == "Sequential":
            first = layers[0]
            while first["class_name"] in _MODELS and not _shape_of(first):
                first = first["config"]["layers"][0]
            shape = _shape_of(first) or model["config"].get("build_input_shape")
            name = first["config"].get("name", "input") if first["class_name"] == "InputLayer" else "input"
            yield name, self.input_type(name, shape, first["config"])
            return
        every = {each.get("name", each["config"].get("name")): each for each in layers}
        for name, _, _ in ends_of(model["config"]["input_layers"]):
            yield name, self.input_type(name, _shape_of(every[name]), every[name]["config"])

    def input_type(self, name: str, stored: Any, config: Mapping[str, Any]) -> Tensor:
        """Return the type of an input; its first size, if it is open, is the batch, and others are unknown ones."""
        shape = self.shapes.get(name, stored)
        if shape is None:
            raise OpenSizesError(f"the shape of input {name!r} is open; pass shapes={{{name!r}: (…)}}")
        named = self.sizes.open_shape(shape, self.batch)
        dtype = _policy(config)
        element = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF"}.get(
            dtype, f"DT_{dtype.upper()}"
        )
        return Tensor(element_of_type(element), named)

    def output_names(self, model: Mapping[str, Any], count: int) -> list[str]:
        """Return the names of the layers that give the results."""
        if model["class_name"] == "Sequential":
            names = [str(model["config"]["layers"][-1]["config"].get("name", "output"))]
        else:
            names = [name for name, _, _ in ends_of(model["config"]["output_layers"])]
        return names if len(names) == count else [f"output_{i}" for i in range(count)]

    # ------------------------------------------------------------------ nodes

    def model(self, model: Mapping[str, Any], place: Place, inputs: Sequence[Value]) -> tuple[Value, ...]:
        """Add the layers of a model, and return its results."""
        if model["class_name"] == "Sequential":
            found: Any = tuple(inputs)
            for stored, inner in _placed(model, place):
                if stored["class_name"] != "InputLayer":
                    found = self.layer(stored, inner, found)
                    found = found if isinstance(found, tuple) else (found,)
            return tuple(found)
        return self.functional(model, place, inputs)

    def functional(self, model: Mapping[str, Any], place: Place, inputs: Sequence[Value]) -> tuple[Value, ...]:
        """Add the layers of a functional model, each after those that it reads."""
        config = model["config"]
        placed = {str(s.get("name", s["config"].get("name"))): (s, inner) for s, inner in _placed(model, place)}
        done: dict[tuple[str, int], tuple[Value, ...]] = {}
        starts = [name for name, _, _ in ends_of(config["input_layers"])]
        if len(starts) != len(inputs):
            raise ModelError(f"model {config.get('name')!r} has {len(starts)} inputs, and {len(inputs)} are passed")
        done |= {(name, 0): (value,) for name, value in zip(starts, inputs, strict=True)}
        ends = ends_of(config["output_layers"])
        last: dict[str, int] = {}
        for stored, _ in placed.values():
            for read in reads_of([call_of(call) for call in stored.get("inbound_nodes", [])]):
                last[read[0]] = max(last.get(read[0], 0), read[1])
        pending = [(name, node) for name, node, _ in reversed(ends)]
        entered = set()
        while pending:
            name, node = pending[-1]
            if (name, node) in done:
                pending.pop()
                continue
            if name not in placed:
                raise ModelError(f"a layer reads {name!r}, which is not there{did_you_mean(name, placed)}")
            stored, inner = placed[name]
            calls = stored.get("inbound_nodes", [])
            # Keras 2 counts the making of a model inside of another as its first call, which is not stored.
            skipped = int(stored["class_name"] in _MODELS and last.get(name, node) == len(calls))
            if not skipped <= node < len(calls) + skipped:
                raise ModelError(f"call {node} of layer {name!r} is read, and it has {len(calls)}")
            operands, keywords = call_of(calls[node - skipped])
            missing = [read[:2] for read in reads_of((operands, keywords)) if read[:2] not in done]
            if missing:
                if (name, node) in entered:
                    raise ModelError(f"layers go round in a circle at {name!r}")
                entered.add((name, node))
                pending += missing
                continue
            given = [resolved(each, done) for each in operands]
            flat = given[0] if len(given) == 1 and isinstance(given[0], list) else given
            named = {key: resolved(each, done) for key, each in keywords.items()}
            found = self.layer(stored, inner, tuple(flat), {k: v for k, v in named.items() if v is not None})
            done[name, node] = found if isinstance(found, tuple) else (found,)
            pending.pop()
        return tuple(done[name, node][at] for name, node, at in ends)

    def layer(
        self, stored: Mapping[str, Any], place: Place, inputs: Sequence[Any], keywords: Mapping[str, Any] | None = None
    ) -> Any:
        """Add the nodes of a layer, and return its results."""
        kind, config = str(stored["class_name"]), stored.get("config", {})
        name = str(config.get("name", kind))
        if not self.hooks.are_for(kind, name):
            return self.layer_as(stored, place, inputs, keywords)
        seen = ModelNode(kind, name, tuple(inputs), config, 1, self.hooks.model)

        def translated(changed: ModelNode) -> tuple[Value, ...]:
            other = {**stored, "class_name": changed.op, "config": dict(changed.attributes)}
            found = self.layer_as(other, place, changed.inputs, keywords)
            return found if isinstance(found, tuple) else (found,)

        results = self.hooks.around(seen, self.graph, translated)
        return results if len(results) > 1 else results[0]

    def layer_as(
        self, stored: Mapping[str, Any], place: Place, inputs: Sequence[Any], keywords: Mapping[str, Any] | None = None
    ) -> Any:
        """Add the nodes of a layer as the table says, and return its results."""
        kind, config = str(stored["class_name"]), stored.get("config", {})
        name = str(config.get("name", kind))
        if kind in _MODELS:
            found = self.model(stored, place, inputs)
            return found if len(found) > 1 else found[0]
        if kind not in (OPERATORS if is_operator(stored) else KERAS):
            raise UnsupportedOpsError(f"layer {name!r} ({kind}) is not supported; {_remedy([kind])}")
        before = len(self.graph)
        keywords = {key: value for key, value in (keywords or {}).items() if key != "training"}
        own = keywords.pop("mask", None)

        def mask(x: Value) -> Value | None:
            return own if own is not None and x is inputs[0] else self.masks.get((x.node, x.result))

        element = (None if is_operator(stored) else _compute_element(config)) or "f32"
        inside = "f32" if kind in _WIDE and element in _NARROW else element
        if not is_operator(stored):
            inputs = [self.cast(x, inside) if isinstance(x, Value) else x for x in inputs]
        tools = (self.graph, self.archive, place, self.static.array, self.layer, mask)
        layer = Layer(kind, name, config, *tools, has_own_mask=own is not None, element=inside)
        try:
            row = (OPERATORS if is_operator(stored) else KERAS)[kind]
            read = [x for x in (*inputs, *keywords.values()) if isinstance(x, Value)]
            result = self.agreement.reached(read, lambda: row(layer, *inputs, **keywords))
            if not is_operator(stored):
                several = result if isinstance(result, tuple) else (result,)
                cast = tuple(self.cast(each, element) for each in several)
                cast = self.masked(layer, [x for x in inputs if isinstance(x, Value)], cast)
                result = cast if isinstance(result, tuple) else cast[0]
        except (GraphRewriteError, Unfit, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            if isinstance(error, OpenSizesError | UnsupportedOpsError) or str(error).startswith("layer "):
                raise
            reason = f"its setting {error} is missing" if isinstance(error, KeyError) else self.sizes.hint(str(error))
            raise ModelError(f"layer {name!r} ({kind}): {reason}") from error
        give_origin(self.graph, before, "/".join(place.owners) or name, keep=True)
        return result

    def cast(self, x: Value, element: str) -> Value:
        """Return floats in an element type; they keep their mask."""
        if x.type.element not in _FLOATS or x.type.element == element:
            return x
        y: Value = op.cast(x, element=element)
        if (x.node, x.result) in self.masks:
            self.masks[y.node, y.result] = self.masks[x.node, x.result]
        return y

    def masked(self, layer: Layer, inputs: Sequence[Value], results: Sequence[Value]) -> tuple[Value, ...]:
        """Note the masks of the results of a layer; a value that loses its mask becomes another one."""
        found = list(results)
        for at, mask in enumerate(result_masks(layer, inputs, results)):
            key = (found[at].node, found[at].result)
            if mask is None and key in self.masks:
                found[at] = op.identity(found[at])
            elif mask is not None:
                self.masks[key] = mask
        return tuple(found)


def _remedy(missing: Iterable[str]) -> str:
    """Return what to do about layers that are not supported."""
    if all(kind in _LOOKED_UP for kind in missing):
        return "look texts and numbers up before the network: save a keras.Model of the layers behind these"
    return (
        "a saved model, model.export('folder'), is of ops that may be supported; or give a layer a meaning by "
        "from_keras(…, hooks=[Hook(before=…, op='…')])"
    )


def _policy(config: Mapping[str, Any]) -> str:
    """Return the name of the policy of a layer, or of its type of numbers."""
    stored = config.get("dtype") or "float32"
    if isinstance(stored, Mapping):
        stored = stored.get("config", {}).get("name") or stored.get("class_name")
    return str(stored)


def _compute_element(config: Mapping[str, Any]) -> str | None:
    """Return the element type in which a layer computes; None if its policy is not supported."""
    return _COMPUTE.get(_policy(config).removeprefix("mixed_"))


def _placed(model: Mapping[str, Any], place: Place) -> Iterator[tuple[Mapping[str, Any], Place]]:
    """Yield the layers of a model with their places: a class, and how many of it came before."""
    counts: dict[str, int] = {}
    for stored in model["config"]["layers"]:
        name = str(stored.get("name", stored.get("config", {}).get("name", "")))
        if is_operator(stored):
            yield stored, place.inner("", name)
            continue
        stem = _snake_case(_CLASSES.get(str(stored["class_name"]), str(stored["class_name"])))
        counts[stem] = counts.get(stem, -1) + 1
        path = f"layers/{stem}_{counts[stem]}" if counts[stem] else f"layers/{stem}"
        yield stored, place.inner(path, name)


def _snake_case(name: str) -> str:
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _walk(model: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all layers, those inside of others too."""
    pending: list[Any] = [model]
    while pending:
        stored = pending.pop()
        config = stored.get("config", {}) if isinstance(stored, Mapping) else {}
        if not isinstance(stored, Mapping) or not isinstance(config, Mapping):
            raise ModelError("the architecture is damaged: a layer is no dictionary; save the model again")
        yield stored
        pending += reversed(config.get("layers") or ())
        pending += [config[key] for key in ("layer", "backward_layer") if isinstance(config.get(key), Mapping)]


def _shape_of(stored: Mapping[str, Any]) -> Any:
    config = stored["config"]
    for key in ("batch_shape", "batch_input_shape"):
        if config.get(key):
            return config[key]
    return None

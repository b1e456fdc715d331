"""Calls of ops written as the nodes of a framework that a ruleset reads so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.rulesets.definitions import FrameworkOp
from graphrewrite.lowering.exchange.rulesets.inverse import inverted
from graphrewrite.lowering.exchange.rulesets.kinds import FrameworkNode, MappingRule
from graphrewrite.lowering.exchange.rulesets.ruleset import OpMapping, Ruleset, kind_of_argument

if TYPE_CHECKING:
    from graphrewrite.lowering.exchange.rulesets.interpretation import Interpretation

__all__ = ["framework_node"]


def framework_node(found: Interpretation, ruleset: Ruleset, op: str | None = None) -> FrameworkNode:
    """Return the node of a framework that a ruleset reads as a call: the inverse of an interpretation.

    Of a call that no interpretation gave, attributes that follow from the operands, such as TensorFlow's ``T``, are
    left out, and lists and texts of which arguments say a part are refused.

    Parameters
    ----------
    found : Interpretation
        What `interpret_onnx` or `interpret_tensorflow` returned, possibly changed.
    ruleset : Ruleset
        The ruleset by which it was read.
    op : str, optional
        The framework's op, by default the first of those that the ruleset maps to the call's and that fits.

    Raises
    ------
    ModelError
        If none is, or a rule cannot be written back; names the op, the rule and the reason.

    Examples
    --------
    >>> import tempfile
    >>> import onnx
    >>> from pathlib import Path
    >>> from graphrewrite import op
    >>> from graphrewrite.lowering import interpret_onnx
    >>> from graphrewrite.lowering.exchange.rulesets import onnx_ops, read_ruleset, skeleton
    >>> ops, descriptors = onnx_ops(13), {"leaky_relu": op.leaky_relu.descriptor()}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "rules.pbtxt").write_text(skeleton([ops["LeakyRelu"]], "onnx"))
    ...     rules = read_ruleset(Path(folder) / "rules.pbtxt", ops=ops, descriptors=descriptors)
    >>> call = interpret_onnx(onnx.helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.5), ruleset=rules)
    >>> node = framework_node(call, rules)
    >>> node.op, dict(node.inputs), dict(node.attributes)
    ('LeakyRelu', {'X': 'x'}, {'alpha': 0.5})
    """
    target = found.descriptor.name
    mapped = [each for each in ruleset.mappings.values() if each.target == target and op in (None, each.source)]
    reasons = []
    for mapping in mapped:
        if mapping.source not in ruleset.ops:
            reasons.append(f"{ruleset.framework} has no op {mapping.source!r}")
            continue
        try:
            return _node(found, mapping, ruleset.ops[mapping.source])
        except Unfit as error:
            reasons.append(str(error))
    raise ModelError(f"{target!r} is no node of {ruleset.framework}: {'; '.join(reasons) or 'no op is mapped to it'}")


def _node(found: Interpretation, mapping: OpMapping, source: FrameworkOp) -> FrameworkNode:
    def given(rule: MappingRule, argument: str) -> Any:
        stated = kind_of_argument(rule, argument)
        kinds = found.descriptor.kinds_of(argument)
        kinds = (stated,) if stated in kinds else kinds
        if argument == "*":
            return tuple(found.values.get("inputs", {}).values())
        return next((found.values[k][argument] for k in kinds if argument in found.values.get(k, {})), None)

    reads, parts = inverted(mapping, source, given, unsaid=found.unsaid)
    parts = {**found.unsaid, **parts}
    unread = mapping.unread(source)
    for name in unread:
        if name not in parts and name not in source.optional:
            raise Unfit(f"{source.name}: no rule reads its input {name!r}")
    for name in source.required:
        if name not in parts:
            raise Unfit(f"{source.name}: no rule reads its attribute {name!r}, which has no default")
    inputs, constants = dict[str, Any](), dict[str, np.ndarray]()
    for name in source.inputs:
        if name in unread and name in parts:
            inputs[name] = parts.pop(name)
        elif name in reads or name in parts:
            inputs[name] = reads.get(name, f"{found.name}/{name}")
        if name in parts:
            constants[name] = np.asarray(parts.pop(name))
    return FrameworkNode(source.name, found.name, inputs, parts, constants)

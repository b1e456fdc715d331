"""What layers are in PyTorch: convolutions, norms, pools, attention, recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.written import Written

__all__ = ["written_layers"]


def written_layers(torch: Any) -> Mapping[str, Written]:
    """Return the functions by the names of ops."""
    functional = torch.nn.functional

    def bordered(
        x: Any, pads: Sequence[int], axes: int, fill: float, kernel: Sequence[int] = ()
    ) -> tuple[Any, tuple[int, ...]]:
        """Return the operand, with borders where a function does not take them, and those that are left to do.

        Pools take those of half their windows at most, convolutions any.
        """
        begins, ends = pads[:axes], pads[axes:]
        if begins == ends and all(border <= size // 2 for border, size in zip(begins, kernel, strict=False)):
            return x, tuple(begins)
        order = [pads[at + side * axes] for at in reversed(range(axes)) for side in (0, 1)]
        return functional.pad(x, order, value=fill), (0,) * axes

    def windows(c: Any, given: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """Return attributes of a window, with one number an axis."""
        axes = c.rank(0) - 2
        counts = {"strides": axes, "pads": 2 * axes, "dilations": axes, "kernel": axes, "output_padding": axes}
        found = {}
        for name, count in counts.items():
            listed = tuple(given.get(name, (0 if "pad" in name else 1,)))
            found[name] = listed if len(listed) == count else (listed[0],) * count
        return found

    def conv(c: Any, x: Any, w: Any, b: Any = None, *, groups: int, **rest: Any) -> Any:
        axes, window = c.rank(0) - 2, windows(c, rest)
        x, padding = bordered(x, window["pads"], axes, 0.0)
        function = getattr(functional, f"conv{axes}d")
        return function(x, w, b, window["strides"], padding, window["dilations"], groups)

    def conv_transpose(c: Any, x: Any, w: Any, b: Any = None, *, groups: int, **rest: Any) -> Any:
        axes, window = c.rank(0) - 2, windows(c, rest)
        pads = window["pads"]
        if pads[:axes] != pads[axes:] or min(pads, default=0) < 0:
            raise Unfit(f"borders {pads} differ in begin and end")
        function = getattr(functional, f"conv_transpose{axes}d")
        more = window["output_padding"]
        return function(x, w, b, window["strides"], pads[:axes], more, groups, window["dilations"])

    def max_pool(c: Any, x: Any, *, ceil_mode: bool, **rest: Any) -> Any:
        axes, window = c.rank(0) - 2, windows(c, rest)
        x, padding = bordered(x, window["pads"], axes, float("-inf"), window["kernel"])
        function = getattr(functional, f"max_pool{axes}d")
        return function(x, window["kernel"], window["strides"], padding, window["dilations"], ceil_mode)

    def average_pool(c: Any, x: Any, *, ceil_mode: bool, count_include_pad: bool, **rest: Any) -> Any:
        axes, window = c.rank(0) - 2, windows(c, rest)
        if any(each != 1 for each in window["dilations"]):
            raise Unfit("dilated means are not supported")
        given, function = x, getattr(functional, f"avg_pool{axes}d")
        x, padding = bordered(x, window["pads"], axes, 0.0, window["kernel"])
        if padding == (0,) * axes and any(window["pads"]) and (not count_include_pad or ceil_mode):
            if count_include_pad:
                raise Unfit(f"borders {window['pads']} are wide, or differ in begin and end")
            # The share of a window that is not border.
            ones, _ = bordered(torch.ones_like(given), window["pads"], axes, 0.0, window["kernel"])
            x, ones = (function(each, window["kernel"], window["strides"], 0, ceil_mode) for each in (x, ones))
            return x / ones
        return function(x, window["kernel"], window["strides"], padding, ceil_mode, count_include_pad)

    def batch_norm(c: Any, x: Any, gain: Any, shift: Any, mean: Any, var: Any, *, epsilon: float) -> Any:
        return functional.batch_norm(x, mean.detach(), var.detach(), gain, shift, False, 0.0, epsilon)

    def layer_norm(c: Any, x: Any, gain: Any, shift: Any = None, *, axis: int, epsilon: float) -> Any:
        shape = c.sizes(c.operand_shape(0)[axis:])
        if tuple(c.operand_shape(1)) != tuple(c.operand_shape(0)[axis:]):
            gain = gain.expand(shape)
        if shift is not None and tuple(c.operand_shape(2)) != tuple(c.operand_shape(0)[axis:]):
            shift = shift.expand(shape)
        return functional.layer_norm(x, shape, gain, shift, epsilon)

    def rms_norm(c: Any, x: Any, gain: Any, *, axis: int, epsilon: float) -> Any:
        return functional.rms_norm(x, c.sizes(c.operand_shape(0)[axis:]), None, epsilon) * gain

    def group_norm(c: Any, x: Any, gain: Any, shift: Any, *, groups: int, epsilon: float) -> Any:
        return functional.group_norm(x, groups, gain, shift, epsilon)

    def instance_norm(c: Any, x: Any, gain: Any, shift: Any, *, epsilon: float) -> Any:
        return functional.instance_norm(x, weight=gain, bias=shift, eps=epsilon)

    def prelu(c: Any, x: Any, slope: Any) -> Any:
        return torch.where(x >= 0, x, x * slope)

    def attention(c: Any, q: Any, k: Any, v: Any, mask: Any = None, *, scale: float | None, is_causal: bool) -> Any:
        shared = c.operand_shape(0)[1] != c.operand_shape(1)[1]
        if is_causal and mask is not None:
            raise Unfit("a mask beside is_causal is not supported")
        return functional.scaled_dot_product_attention(
            q, k, v, mask, is_causal=is_causal, scale=scale, **({"enable_gqa": True} if shared else {})
        )

    def recurrent(kind: str, order: Sequence[int], activations: Sequence[str]) -> Any:
        def compute(c: Any, x: Any, w: Any, r: Any, b: Any, *starts: Any, direction: str, **rest: Any) -> Any:
            both = direction == "bidirectional"
            used = tuple(rest.pop("activations", activations))
            before = rest.pop("linear_before_reset", kind != "gru")
            named = used[: len(activations)]
            relu = kind == "rnn" and set(used) == {"relu"}
            if (
                direction == "reverse"
                or not before
                or not (relu or (set(used) <= set(activations) and named == tuple(activations)))
            ):
                raise Unfit(f"direction={direction!r} with {used} has no form in PyTorch")
            if further := sorted(name for name, value in rest.items() if value not in (None, 0, False, ())):
                raise Unfit(f"{', '.join(further)} are not supported")
            states = list(starts[: 2 if kind == "lstm" else 1])
            if len(starts) > len(states) + (kind == "lstm") and starts[-1] is not None:
                raise Unfit("lengths of sequences are not supported")
            c.zero_operand(6 if kind == "lstm" else None)
            gates = len(order)
            parameters = []
            for at in range(2 if both else 1):
                w_b, r_b = torch.chunk(b[at], 2)
                parameters += [
                    torch.cat([torch.chunk(each, gates)[gate] for gate in order]) for each in (w[at], r[at], w_b, r_b)
                ]
            steps, batch, _ = (c.size(size) for size in c.operand_shape(0))
            hidden = c.operand_shape(2)[-1]
            # A state that is the same for each sample may be that of one.
            states = [each.expand(2 if both else 1, batch, hidden) for each in states]
            state = tuple(states) if kind == "lstm" else states[0]
            function = getattr(torch, {"rnn": "rnn_relu" if relu else "rnn_tanh"}.get(kind, kind))
            y, *last = c.several(function(x, state, parameters, True, 1, 0.0, False, both, False), 1 + len(states))
            y = torch.permute(torch.reshape(y, (steps, batch, 2 if both else 1, hidden)), (0, 2, 1, 3))
            return (y, *last)

        return compute

    return {
        "attention": attention,
        "average_pool": average_pool,
        "batch_norm": batch_norm,
        "conv": conv,
        "conv_transpose": conv_transpose,
        "group_norm": group_norm,
        "gru": recurrent("gru", (1, 0, 2), ("sigmoid", "tanh")),
        "instance_norm": instance_norm,
        "layer_norm": layer_norm,
        "lstm": recurrent("lstm", (0, 2, 3, 1), ("sigmoid", "tanh", "tanh")),
        "max_pool": max_pool,
        "prelu": prelu,
        "rms_norm": rms_norm,
        "rnn": recurrent("rnn", (0,), ("tanh",)),
    }

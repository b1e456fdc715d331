"""Attention, as other ops say it, and the convolution that carries a state from call to call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import element, number, truth, whole, word
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.op.define import broadcast_shape
from graphrewrite.types import element_dtype

__all__ = ["ATTENTION"]

_UNSEEN = -math.inf
"""What is added to the score of a key that a query does not see."""
_END = 2**31 - 1


def _attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    lengths: Any = None,
    *,
    heads: int | None = None,
    kv_heads: int | None = None,
    is_causal: bool = False,
    left: int = -1,
    right: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    precision: str | None = None,
    shown: int = 0,
    used: int = 1,
) -> tuple[Any, ...]:
    """Output, present keys and values, and scores if they are used (ONNX specification, Attention)."""
    packed = len(q.type.shape) == 3
    if packed:
        if heads is None or kv_heads is None:
            raise ValueError("operands of three axes need q_num_heads and kv_num_heads")
        q, k, v = _by_head(q, heads), _by_head(k, kv_heads), _by_head(v, kv_heads)
    present_key = k if past_key is None else op.concat(past_key, k, axis=2)
    present_value = v if past_value is None else op.concat(past_value, v, axis=2)
    k, v = present_key, present_value
    window = {"least": -left if left >= 0 else None, "most": right if right >= 0 else None}
    if used <= 3 and softcap == 0 and (scale is None or scale > 0) and _is_precise(q, precision):
        y = _one_node(q, k, v, mask, past_key, lengths, window, scale=scale, is_causal=is_causal)
        return (_packed(y) if packed else y), present_key, present_value
    k, v = _shared(present_key, q), _shared(present_value, q)
    # Both are scaled before they are multiplied, as the specification asks against overflow.
    root = math.sqrt(1 / math.sqrt(_known(q, 3)) if scale is None else scale)
    scores = op.matmul(op.mul(q, root), op.transpose(op.mul(k, root), perm=(0, 1, 3, 2)))
    capped = scores if softcap == 0 else op.mul(op.tanh(op.div(scores, softcap)), softcap)
    bias, sees_some = _bias(q, k, past_key, lengths, **_until_now(window, is_causal))
    if mask is not None:
        masked = _mask_as_bias(mask, q, k)
        bias, sees_some = masked if bias is None else op.add(masked, bias), False
    biased = capped if bias is None else op.add(capped, bias)
    wide = biased if precision is None else op.cast(biased, element=precision)
    weights = op.softmax(wide, axis=-1)
    if not sees_some:  # the weights of a query without any keys are not numbers, and its output is 0
        unseeing = op.equal(op.reduce_max(bias, axes=(-1,)), _UNSEEN)
        weights = op.where(unseeing, _number(weights, 0), weights)
    weights = weights if precision is None else op.cast(weights, element=q.type.element)
    y = op.matmul(weights, v)
    return (_packed(y) if packed else y), present_key, present_value, (scores, capped, biased, weights)[shown]


def _is_precise(q: Any, precision: str | None) -> bool:
    """Tell whether the op computes a softmax as precisely as asked."""
    return precision in (None, q.type.element) or (precision == "f32" and q.type.element in ("f16", "bf16"))


def _one_node(
    q: Any,
    k: Any,
    v: Any,
    mask: Any,
    past_key: Any,
    lengths: Any,
    window: dict[str, int | None],
    *,
    scale: float | None,
    is_causal: bool,
) -> Any:
    """The output, by the op; what it does not say of which keys a query sees becomes a mask."""
    is_plain = past_key is None and lengths is None and window == {"least": None, "most": None}
    if not is_plain:
        bias, _ = _bias(q, k, past_key, lengths, **_until_now(window, is_causal))
        both = mask is not None and bias is not None
        mask = op.add(_mask_as_bias(mask, q, k), bias) if both else bias if mask is None else mask
    scores = (q.type.shape[2], k.type.shape[2])
    if mask is not None and mask.type.shape[-2:] != scores:
        mask = _mask_as_bias(mask, q, k)
        mask = op.expand(mask, shape=broadcast_shape(mask.type.shape, scores))
    return op.attention(q, k, v, mask, scale=scale, is_causal=is_causal and is_plain)


def _until_now(window: dict[str, int | None], is_causal: bool) -> dict[str, int | None]:
    """Return a window of steps that ends with the query itself, if it is causal."""
    return {**window, "most": 0} if is_causal else window


def _packed(y: Any) -> Any:
    """The heads of each step side by side."""
    return op.reshape(op.transpose(y, perm=(0, 2, 1, 3)), shape=(0, 0, _known(y, 1) * _known(y, 3)))


def _known(x: Any, axis: int) -> int:
    size = x.type.shape[axis]
    if not isinstance(size, int):
        raise ValueError(f"the size {size} of {x.type} must be a number")
    return size


def _by_head(x: Any, heads: int) -> Any:
    size = _known(x, 2)
    if heads < 1 or size % heads:
        raise ValueError(f"{size} entries are not divisible by {heads} heads")
    return op.transpose(op.reshape(x, shape=(0, 0, heads, size // heads)), perm=(0, 2, 1, 3))


def _shared(x: Any, q: Any) -> Any:
    """Keys or values for each head of the queries, of which several share one."""
    count, wanted = _known(x, 1), _known(q, 1)
    if count == wanted:
        return x
    if wanted % count:
        raise ValueError(f"{wanted} heads of queries cannot share {count} heads of keys")
    return op.gather(x, np.repeat(np.arange(count), wanted // count), axis=1)


def _number(like: Any, value: float) -> Any:
    """A constant of the element type of a value."""
    kind = like.type.element
    return like.graph.constant(np.asarray(value, element_dtype(kind)), type=Tensor(kind, ()))


def _mask_as_bias(mask: Any, q: Any, k: Any) -> Any:
    """What is added to scores; keys beyond the end of a mask are not seen."""
    if mask.type.element == "bool":
        mask = op.where(mask, _number(q, 0), _number(q, _UNSEEN))
    own, wanted, rank = mask.type.shape[-1], k.type.shape[2], len(mask.type.shape)
    if isinstance(own, int) and isinstance(wanted, int) and own < wanted:
        mask = op.pad(mask, pads=(0,) * (2 * rank - 1) + (wanted - own,), fill=_UNSEEN)
    return mask


def _bias(q: Any, k: Any, past: Any, lengths: Any, *, least: int | None, most: int | None) -> tuple[Any, bool]:
    """What is added to the scores of keys by where they stand, and whether each query surely sees one.

    A query sees keys that are at least and at most so many steps ahead of it; without a limit, all of them.
    """
    if lengths is None and least is None and most is None:
        return None, True
    queries, keys = q.type.shape[2], k.type.shape[2]
    before = 0 if past is None else past.type.shape[2]
    kind = q.type.element
    if lengths is None and all(isinstance(size, int) for size in (queries, keys, before)):
        ahead = np.arange(keys) - np.arange(queries)[:, None] - before
        seen = (ahead <= (keys if most is None else most)) & (ahead >= (-queries - keys if least is None else least))
        bias = np.where(seen, 0, _UNSEEN).astype(element_dtype(kind))
        return q.graph.constant(bias, type=Tensor(kind, bias.shape)), bool(seen.any(axis=1).all())
    key = q.graph.add(op.range, (), {"limit": keys})
    query = op.unsqueeze(q.graph.add(op.range, (), {"limit": queries}), axes=(1,))
    limits = []
    if lengths is None:
        first = before if isinstance(before, int) else op.shape(past, start=2, end=3)
    else:
        counts = op.unsqueeze(lengths, axes=(1, 2, 3))
        first = op.sub(counts, queries if isinstance(queries, int) else op.shape(q, start=2, end=3))
        limits.append(op.less(key, counts))
    ahead = op.sub(key, op.add(query, first))
    limits += [] if most is None else [op.less_or_equal(ahead, most)]
    limits += [] if least is None else [op.greater_or_equal(ahead, least)]
    return op.where(reduce(op.logical_and, limits), _number(q, 0), _number(q, _UNSEEN)), False


def _causal_conv(x: Any, w: Any, b: Any = None, past: Any = None, *, activation: str = "none") -> tuple[Any, Any]:
    """A convolution of each channel with what came before, and the last entries (ONNX specification)."""
    before = _known(w, 2) - 1
    if past is None:
        joined = op.pad(x, pads=(0, 0, before, 0, 0, 0)) if before else x
    else:
        joined = op.concat(past, x, axis=2)
    y = op.conv(joined, w, b, groups=_known(w, 0), strides=(1,), pads=(0, 0), dilations=(1,))
    if activation in ("silu", "swish"):
        y = op.silu(y)
    elif activation != "none":
        raise ValueError(f"activation {activation!r} is not one of 'none', 'silu', 'swish'")
    return y, op.slice(joined, starts=(-before or _END,), ends=(_END,), axes=(2,))


def _rotary(
    x: Any, cos: Any, sin: Any, positions: Any = None, *, interleaved: bool = False, heads: int = 0, turned: int = 0
) -> Any:
    """Rotary embedding of packed heads, too, by caches of angles (ONNX specification, RotaryEmbedding)."""
    if positions is not None:
        cos, sin = (op.gather(cache, positions, axis=0) for cache in (cos, sin))
    if turned not in (0, 2 * _known(cos, 2)):
        raise ValueError(f"the caches {cos.type} are not for {turned} entries")
    if len(x.type.shape) != 3:
        return op.rotary_embedding(x, cos, sin, interleaved=interleaved)
    return _packed(op.rotary_embedding(_by_head(x, heads), cos, sin, interleaved=interleaved))


def _all_turned(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    if attributes.get("turned", 0) not in (0, 2 * types[1].shape[-1]):
        raise Unfit("its caches are for another number of entries")
    return {name: value for name, value in attributes.items() if name != "turned"}


def _fits_rotary(attributes: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    if len(types) != 3 or len(types[0].shape) != 4:
        return "its operand is not of four axes, or it has positions"
    return "ONNX has no turn of doubles" if types[0].element == "f64" else None


def _shown_rotary(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    turned = 2 * int(types[1].shape[2])
    return {**attributes, "turned": turned} if turned < int(types[0].shape[3]) else attributes


def _fits_attention(attributes: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    if any(len(kind.shape) != 4 for kind in types[:3]) or len(types) not in (3, 4):
        return "its operands are not of four axes, or there are more of them"
    if len(types) == 4 and types[3].shape[-2:] != (types[0].shape[2], types[1].shape[2]):
        return "its mask does not have an entry for each query and key"
    scale = attributes.get("scale")
    return None if scale is None or scale > 0 else f"its scale is {scale}"


def _element(number_: Any) -> str | None:
    return element(number_) if number_ else None


def _scale(value: Any) -> float | None:
    return number(value) or None


ATTENTION: tuple[Entry, ...] = (
    Entry(
        "Attention",
        op.attention,
        {"is_causal": ("is_causal", truth), "scale": ("scale", number)},
        fits=_fits_attention,
    ),
    Entry(
        "Attention",
        _attention,
        {
            "is_causal": ("is_causal", truth),
            "kv_num_heads": ("kv_heads", whole),
            "left_window_size": ("left", whole),
            "q_num_heads": ("heads", whole),
            "qk_matmul_output_mode": ("shown", whole),
            "right_window_size": ("right", whole),
            "scale": ("scale", number),
            "softcap": ("softcap", number),
            "softmax_precision": ("precision", _element),
        },
        outputs=4,
        counted="used",
    ),
    Entry(
        "RotaryEmbedding",
        op.rotary_embedding,
        {"interleaved": ("interleaved", truth), "rotary_embedding_dim": ("turned", whole)},
        complete=_all_turned,
        fits=_fits_rotary,
        shown=_shown_rotary,
    ),
    Entry(
        "RotaryEmbedding",
        _rotary,
        {
            "interleaved": ("interleaved", truth),
            "num_heads": ("heads", whole),
            "rotary_embedding_dim": ("turned", whole),
        },
    ),
    Entry(
        "LinearAttention",
        op.linear_attention,
        {
            "kv_num_heads": ("kv_heads", whole),
            "q_num_heads": ("heads", whole),
            "scale": ("scale", _scale),
            "update_rule": ("update_rule", word),
        },
        ignored=("chunk_size",),
    ),
    Entry("CausalConvWithState", _causal_conv, {"activation": ("activation", word)}, outputs=2),
)

"""Calls of ops of PyTorch at the edges of their arguments, added to `CALLS`: no axes, one part, other defaults."""

from __future__ import annotations

import torch

from tests.support.torch_calls import call, image, line, real, row, volume, whole, x, yes
from tests.support.torch_layer_calls import CALLS, three

__all__ = ["CALLS"]

one, bit = real(), torch.tensor(True)

# ---------------------------------------------------------------------- without axes
for name in ("softmax.int", "log_softmax.int"):
    call(name, one, 0)
for name in ("_softmax", "_log_softmax"):
    call(name, one, 0, False)
for name in ("sum.dim_IntList", "mean.dim", "amax", "amin", "logsumexp"):
    call(name, one, [])
for name in ("all", "any", "sum", "max", "min", "argmax", "argmin"):
    call(name, one)
for name in ("argmax", "argmin", "all.dim", "any.dim", "cumsum", "cumprod"):
    call(name, one, 0)
call("index_select", one, 0, torch.tensor([0]))
call("index_select", x, 1, torch.tensor(2))
call("gather", one, 0, torch.tensor(0))
for name in ("permute", "flip"):
    call(name, one, [])
call("transpose.int", one, 0, -1)
for name in ("squeeze", "t", "adjoint"):
    call(name, one if name != "adjoint" else row.reshape(1, 4))
call("squeeze.dim", one, 0)
call("reshape", one, [])
for name in ("full_like", "zeros_like"):
    call(name, one, *([2.5] if name == "full_like" else []))
call("fill.Tensor", x, one)
call("fill.Tensor", one, torch.tensor(3))
call("fill.Scalar", whole, 7)
call("full", [], 2.5)
call("glu", row, 0)
call("prelu", row, torch.tensor([0.25]))
call("prelu", real(3, 4), torch.tensor([0.25, 0.5, 2.0, 1.5]))
call("prelu", real(2, 3, 2), torch.tensor(0.25))
for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    call(f"{name}.Sequence", [one, row, x])

# ---------------------------------------------------------------------- one part, no part, and empty ones
call("cat", [x], 1)
call("cat", [row, torch.zeros(0)], 0)
call("cat", [torch.zeros(0), x], 1)
call("cat", [torch.zeros(0, 4), real(2, 4)], 0)
call("stack", [x], 1)
call("stack", [whole, real(3, 4)], 0)
call("stack", [one, one + 1])
for name in ("unbind.int", "unbind_copy.int"):
    call(name, x[:, :1], 1)
    call(name, x)
call("split.Tensor", x, 2, 0)
call("split.Tensor", x, 1)
call("chunk", x, 2)
call("tensor_split.sections", row, 1)
call("meshgrid", [row])
call("meshgrid.indexing", [row], indexing="xy")
call("meshgrid.indexing", [row, real(3), real(2)], indexing="xy")
call("meshgrid.indexing", [row, real(3), real(2)], indexing="ij")
call("repeat", row, [1])
call("repeat", row, [2, 1])
call("tile", x, [2])
call("tile", row, [1])
call("repeat_interleave.self_int", x, 3, 0)
call("repeat_interleave.self_int", x, 2, -1)
call("roll", x, [0], [1])
call("roll", x, [-1], [-1])
call("roll", x, [5, 1], [2, -2])
call("roll", real(2, 0), [1], [1])
call("expand", x, [2, 3, 4])
call("expand", row, [-1])
call("copy", x, row)
call("copy", x, whole.reshape(1, 3, 4))
call("copy", x, x + 1)
call("reshape", real(2, 0, 3), [0, 4])
call("permute", x, [-1, 0, 1])
call("movedim.int", x, 1, 1)
call("unsqueeze", one, 0)
for name in ("tril", "triu"):
    call(name, yes)
    call(name, yes, 1)
    call(name, yes, -1)
    call(name, whole, 1)

# ---------------------------------------------------------------------- slices and what is written to them
for limits in (
    (0, None, 1),
    (0, 7, 1),
    (0, 7, 2),
    (1, 7, 1),
    (0, 6, 1),
    (None, None, 1),
    (2, 2**63 - 1, 1),
    (0, 99, 1),
):
    call("slice.Tensor", line, 2, *limits)
call("slice.Tensor", line, -1)
call("slice.Tensor", line)
for at in (0, -1, -2, 1):
    call("select.int", x, 0 if at in (0, 1) else 2, at)
call("slice_scatter", line, real(2, 3, 7), 2)
call("slice_scatter", line, real(2, 3, 7), 2, 0, 99)
call("slice_scatter", line, real(2, 3, 7), 2, None, None)
call("slice_scatter", line, real(1, 3, 7), 0, 0, 1)
call("slice_scatter", line, real(1, 3, 7), 0, 1)
call("slice_scatter", line, real(2, 2, 7), 1, 0, 3, 2)
call("slice_scatter", line, real(1, 3, 7), 0, 0, 2, 2)
call("slice_scatter", line, real(2, 3, 0), 2, 3, 3)
call("slice_scatter", line, real(2, 3, 0), 2, 0, 0)
call("slice_scatter", line, real(2, 3, 0), 2, 7)
for at in (0, 1):
    call("select_scatter", x, real(3, 4), 0, at)
call("select_scatter", row, one, 0, 3)
call("select_scatter", real(1, 3), real(3), 0, 0)

# ---------------------------------------------------------------------- indices
many = real(3, 4, 5, 6)
first, second = torch.tensor([2, 0, 1, 1]), torch.tensor([[0], [3], [1]])
for name in ("index.Tensor", "_unsafe_index.Tensor"):
    call(name, many, [first, second])
    call(name, many, [None, second, first])
    call(name, many, [None, second, None, first])
    call(name, many, [first, None, None, first])
    call(name, many, [None, None, second, first])
    call(name, many, [None, first, second, torch.tensor([5])])
    call(name, many, [torch.tensor(1), first])
    call(name, many, [torch.tensor([[2, 0, 1, 1]]), first])
    call(name, many, [torch.tensor(1), None, torch.tensor(2)])
    call(name, row, [torch.tensor(2)])
for add in (False, True):
    call("index_put", many, [first, torch.tensor([0, 1, 2, 3])], real(4, 5, 6), add)
    call("index_put", many, [torch.tensor([[2], [0]]), torch.tensor([[1, 2, 3]])], real(2, 3, 5, 6), add)
    call("index_put", many, [torch.tensor([[2], [0]]), torch.tensor([[1, 2, 3]])], real(1, 5, 6), add)
    call("index_put", row, [torch.tensor([3])], torch.tensor(2.5), add)
call("index_put", x, [yes[:, :, 0]], torch.tensor(2.5))
call("index_put", x, [yes[:, 0, 0]], torch.tensor(2.5))
places = torch.tensor([[[0, 2], [1, 1]]])
for axis in (0, 1, -1):
    spot = places % x.shape[axis]
    call("scatter.src", x, axis, spot[:, :1, :1] if axis == 0 else spot, real(2, 3, 4))
    call("scatter.value", x, axis, spot[:, :1], 2)
    call("scatter.src", x, axis, spot[:, :1], real(1, 1, 2))
    call("scatter_add", x, axis, spot, real(2, 3, 4))
    call("gather", x, axis, spot)
call("scatter.reduce", x, 1, places[:, :1], real(1, 1, 2), reduce="add")
call("scatter.reduce", x, 1, places[:, :1], real(1, 1, 2), reduce="multiply")
call("scatter.value_reduce", x, 1, places[:, :1], 3, reduce="multiply")
call("scatter.value_reduce", x, 1, places[:, :1], 3, reduce="add")
call("gather", x, 2, torch.tensor([[[3, 0], [1, 1], [2, 2]], [[0, 0], [1, 3], [2, 1]]]))
for descending in (False, True):
    for axis in (0, 1, -1):
        call("sort", x, axis, descending)
        call("argsort", x, axis, descending)
        call("topk", x, 2, axis, descending)
call("sort.stable", x, stable=True, dim=1, descending=True)
call("one_hot", torch.tensor([[0, 2], [1, 1]]), 3)
for offset in (0, 1, -1, 2, -2):
    call("diagonal", real(3, 4), offset)
    call("diagonal", image, offset, 1, -1)
    call("diagonal", image, offset, 2, 0)
for axis in (0, 1, -1):
    call("unfold", image, axis, 2, 1)
for mode in (0, 1, 2):
    bags = real(5, 3), torch.tensor([0, 3, 1, 2, 2, 4]), torch.tensor([0, 3]), False, mode
    call("_embedding_bag_forward_only!", *bags)
    call("_embedding_bag!", real(5, 3), torch.tensor([1, 3, 1]), torch.tensor([0, 1, 2]), False, mode)

# ---------------------------------------------------------------------- numbers
for alpha in (2, 0, 1):
    call("add.Tensor", yes, ~yes, alpha=bool(alpha))
    call("add.Scalar", whole, 3, alpha)
    call("sub.Tensor", x, row, alpha=alpha)
    call("sub.Scalar", x, 2, alpha)
    call("rsub.Scalar", whole, 2, alpha)
    call("rsub.Tensor", x, row, alpha=alpha)
    for beta in (0, 1, 2):
        call("addmm", real(3), real(2, 4), real(4, 3), beta=beta, alpha=alpha)
call("addmm", whole[0, :3], torch.arange(8).reshape(2, 4), torch.arange(12).reshape(4, 3), beta=2, alpha=3)
for factor in (1, 2):
    call("addcmul", x, row, x, value=factor)
    call("addcdiv", x, row, x.abs() + 1, value=factor)
for exponent in (0, 1, 2, 3, 0.5, -0.5, -1, 1.5):
    call("pow.Tensor_Scalar", x.abs() + 0.5, exponent)
    call("pow.Scalar", 2.5, torch.tensor([0.0, 1.0, exponent]))
call("pow.Tensor_Tensor", whole.abs(), torch.tensor([0, 1, 2, 3]))
call("pow.Tensor_Scalar", whole, 3)
for places in (0, 1, -1, 2):
    call("round.decimals", 99 * x, decimals=places)
call("round", whole)
for low, high in ((None, 2), (-1, None), (-1, 2), (0.5, None), (None, 0.5)):
    call("clamp", x * 4, low, high)
    call("clamp", whole, low, high)
call("clamp.Tensor", x, row, None)
call("clamp.Tensor", whole, whole[0] - 1, whole[0] + 1)
call("clamp_max", whole, 2)
call("clamp_min", whole, 2)
call("clamp_max.Tensor", x, row)
call("clamp_min.Tensor", x, row)
for name in ("remainder", "fmod"):
    call(f"{name}.Tensor", torch.tensor([5.0, -5, 5, -5, 0, 4]), torch.tensor([3.0, 3, -3, -3, 3, -2]))
    call(f"{name}.Scalar", whole, 4)
    call(f"{name}.Scalar", x * 5, 0.7)
call("remainder.Scalar_Tensor", 7, torch.tensor([2, -3, 4]))
call("floor_divide", torch.tensor([5.0, -5, 5, -5, 0, 4, 0.3]), torch.tensor([3.0, 3, -3, -3, 3, -2, 0.1]))
call("floor_divide.Scalar", whole, 3)
for mode in ("trunc", "floor"):
    call("div.Tensor_mode", torch.tensor([5.0, -5, 5, -5]), torch.tensor([3.0, 3, -3, -3]), rounding_mode=mode)
    call("div.Scalar_mode", whole, 3, rounding_mode=mode)
call("div.Scalar", whole, 4)
for name in ("trunc", "floor", "ceil", "round"):
    call(name, torch.tensor([-1.5, -0.5, 0.0, 0.5, 1.5, 2.5]))
    call(name, whole)
call("lerp.Scalar", x, row, 0.25)
call("lerp.Tensor", x, row, real(2, 3, 4))
for name in ("hypot", "atan2"):
    call(name, torch.tensor([3.0, -3.0, 0.0, 0.0, -0.0, 5.0, 0.0]), torch.tensor([4.0, -4.0, 2.0, -2.0, 0.0, 0.0, 0.0]))
call("hypot", torch.tensor([float("inf"), 1.0, float("-inf")]), torch.tensor([1.0, float("-inf"), float("inf")]))
odd = torch.tensor([float("inf"), float("-inf"), float("nan"), 1.0])
for name in ("isfinite", "isneginf", "isposinf", "isinf", "isnan"):
    call(name, odd)
for p in (1.0, 2.0):
    call("_cdist_forward", real(2, 5, 3), real(2, 4, 3), p, None)
    call("_cdist_forward", real(5, 3), real(4, 3), p, None)
    call("_cdist_forward", real(2, 5, 3), real(4, 3), p, None)
call("_trilinear", real(3, 4), real(3, 5), real(2, 4, 5), [1, 3], [1, 2], [0], [2, 3])
call("bitwise_not", whole)
for name in ("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor"):
    call(name, whole, torch.tensor([1, 2, 3, 4]))
call("linear", real(2, 4), real(3, 4))
call("linear", real(2, 4), real(3, 4), real(3))
call("linear", real(4), real(3, 4), real(3))
call("linear", real(2, 3, 4), real(3, 4), real(3))
call("linear!", real(2, 3, 4), real(3, 4), real(3))
call("linear!", real(2, 3, 4), real(3, 4))
call("linear", real(2, 3, 4), real(4))
call("where.self", bit, x, row)
call("where.self", whole > 0, whole, real(4))
call("masked_fill.Scalar", whole, whole > 0, 2)
for name in ("cumsum", "cumprod"):
    for axis in (0, 1):
        call(name, x, axis)
call("arange.start_step", 9, 1, -3)
call("arange.start", 2, 6)
call("arange", 2.5)
call("linspace", -1, 2, 4)
call("eye.m", 4, 2)
call("scalar_tensor", True)
call("view.dtype", real(3), torch.float32)
call("to.dtype", whole, torch.int64)

# ---------------------------------------------------------------------- reductions
for name in ("all.dims", "any.dims"):
    call(name, x > 0, None)
for name in ("std", "var", "std_mean", "var_mean"):
    for unbiased in (False, True):
        call(name, x, unbiased)
        call(f"{name}.dim", x, [1], unbiased)
        call(f"{name}.dim", x, [0, 2], unbiased, True)
    call(f"{name}.correction", x, [1], correction=0.5)
for order in (3.5, -1.5, 0.5):
    call("linalg_vector_norm", x.abs() + 0.5, order, [1])
for p in (1, 2, 3):
    call("norm.ScalarOpt_dim", x, p, [0, -1], True)
    call("norm.Scalar", x, p)
for name in ("max", "min"):
    call(f"{name}.other", x, row)
    call(f"{name}.dim", x, 0, True)
for keep in (False, True):
    for size in (1, 2, 3, 4):
        call("median.dim", real(2, size), 1, keep)
    call("argmax", x, None, keep)
    call("argmin", x, 0, keep)
    call("any.dim", whole, 0, keep)
    call("all.dim", whole, 0, keep)
call("prod.dim_int", whole, -1, True)

# ---------------------------------------------------------------------- activations
for beta in (1, 2):
    for limit in (20, 21, 19, 0.5):
        call("softplus", 12 * x, beta, limit)
for args in ((1.0,), (0.5, 1), (1.5, 2)):
    call("elu", x, *args)
for name in ("native_dropout", "dropout", "feature_dropout"):
    call(name, x, 0.0, name != "native_dropout")
call("rrelu_with_noise_functional", x, x.abs(), 0.125, 0.375, False)
for name in ("hardshrink", "softshrink", "celu", "leaky_relu", "hardtanh", "gelu", "softplus"):
    call(name, x)
call("hardshrink", x, -0.5)
call("gelu", x, approximate="none")

# ---------------------------------------------------------------------- layers
for training in (False, True):
    for name in ("native_batch_norm", "_native_batch_norm_legit"):
        call(name, image, *(each.clone() for each in three), training, 0.1, 0.25)
    call("batch_norm", image, None, None, *(each.clone() for each in three[2:]), training, 0.1, 0.25, False)
call("_native_batch_norm_legit.no_stats", image, *three[:2], True, 0.1, 0.25)
call("batch_norm", real(4, 3), *three[:2], None, None, True, 0.1, 0.25, False)
call("_native_batch_norm_legit_functional", real(1, 3), *three, True, 0.25, 0.5)
call("_native_batch_norm_legit_functional", real(2, 3), *three, True, 0.25, 0.5)
call("native_layer_norm", x, [3, 4], None, None, 0.25)
call("native_layer_norm", x, [3, 4], real(3, 4), None, 0.25)
call("rms_norm", x, [3, 4], real(3, 4), 0.5)
call("rms_norm", x.double(), [4])
call("native_group_norm", real(2, 4, 6), None, None, 2, 4, 6, 4, 0.25)
for dim in (0, 1):
    call("_weight_norm_interface", real(3, 4), real(*([3, 1] if dim == 0 else [1, 4])), dim)
pairs = {
    "heads alone": ((2, 3, 4), (2, 5, 4), (2, 5, 4)),
    "one head": ((3, 4), (5, 4), (5, 6)),
    "five axes": ((2, 1, 2, 3, 4), (2, 1, 2, 5, 4), (2, 1, 2, 5, 4)),
    "four": ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6)),
    "six axes": ((1, 2, 1, 2, 3, 4), (1, 2, 1, 2, 5, 4), (1, 2, 1, 2, 5, 4)),
}
for query, key, value in pairs.values():
    masks = [None, (3, 5), (1, 5)]
    masks += [(1,) * (len(query) - 2) + (3, 5), (*query[:-2], 3, 5)] if len(query) > 2 else []
    masks += [(query[-3], 3, 5), (1, 3, 5)] if len(query) > 3 else []
    for mask in masks:
        given = None if mask is None else real(*mask)
        call("scaled_dot_product_attention", real(*query), real(*key), real(*value), given)
    call("scaled_dot_product_attention", real(*query), real(*key), real(*value), real(3, 5) > 0)
    call("scaled_dot_product_attention", real(*query), real(*key), real(*value), is_causal=True, scale=0.25)
call("scaled_dot_product_attention", *[real(1, 2, 3, 4).half()] * 3, real(3, 3))
call("scaled_dot_product_attention", *[real(1, 2, 3, 4).double()] * 3, real(3, 3).double())
for causal in (False, True):
    call("_scaled_dot_product_flash_attention_for_cpu", *[real(1, 2, 3, 4)] * 3, 0.0, causal, scale=0.5)
call("_scaled_dot_product_flash_attention_for_cpu", *[real(1, 2, 3, 4)] * 3, 0.0, False, attn_mask=real(3, 3))
call("col2im", real(1, 12, 15), [4, 5], [2, 3], [1, 1], [1, 1], [2, 1])
call("col2im", real(1, 8, 10), [4, 5], [2, 2], [2, 2], [0, 1], [1, 1])
call("im2col", image[:1], [2, 2], [1, 1], [0, 1], [1, 2])
call("conv_transpose2d.input", real(2, 4, 3, 4), real(4, 2, 3, 2), real(4), [2, 2], [1, 0], [1, 1], 2, [1, 1])
call("conv2d.padding", image, real(2, 3, 4, 3), None, [1, 1], "same")
call("conv1d.padding", line, real(2, 3, 2), None, [1], "same", [3])

# ---------------------------------------------------------------------- images
for name, given, most in (("1d", line, [7]), ("2d", image, [6, 5]), ("3d", volume, [4, 5, 3])):
    for sizes in (most, [2 * n for n in most], [3 * n for n in most], [n - 1 for n in most], [n + 1 for n in most]):
        for kind in ("upsample_nearest", "_upsample_nearest_exact"):
            for scale in (None, 0.9, 1.1, 1.9):
                call(f"{kind}{name}", given, sizes, *[scale] * len(most))
call("upsample_nearest2d", image, [12, 5], None, 1.0)
call("upsample_nearest2d", image, [12, 10], None, 1.9)
call("upsample_nearest2d", image, [13, 11], 2.3, 2.3)
call("upsample_bilinear2d", image, [7, 9], False, 1.25, 1.9)
call("upsample_bilinear2d", image, [7, 9], True, 1.25, 1.9)
call("upsample_bilinear2d.vec", image, [7, 9], False, None)
call("upsample_linear1d", line, [9], False, 1.3)
call("_upsample_bilinear2d_aa.vec", image[:1], None, False, [0.5, 1.5])
for mode in ("constant", "reflect", "replicate", "circular"):
    call("pad", volume, [1, 1, 2, 0, 0, 1], mode)
for fill in (None, 2.5):
    call("pad", line, [1, -2], "constant", fill)
    call("pad", image, [0, 0, 1, 2, 1, 0], "constant", fill)
call("constant_pad_nd", whole, [1, 1], 3)
call("avg_pool2d", image, [3, 2], [2, 1], [1, 0], False, False, 5)
call("avg_pool2d", image, [3, 2], [2, 1], [1, 1], False, True)
call("avg_pool2d", image, [3, 2], [2, 1], [1, 1], False, False)
call("avg_pool3d", volume, [2, 2, 2], [], [0, 0, 0], False, True, 3)
call("avg_pool2d", image[0], [2, 2])
for kind in ("max_pool2d", "max_pool2d_with_indices"):
    call(kind, image, [2, 2])
    call(kind, image[0], [3], [1], [1], [2], True)
for name, given in (("1d", line), ("2d", image), ("3d", volume)):
    for kind in ("adaptive_avg_pool", "adaptive_max_pool"):
        call(f"{kind}{name}", given, list(given.shape[2:]))
        call(f"{kind}{name}", given[0], [1] * (given.ndim - 2))
call("adaptive_avg_pool2d", image, [3, 5])
for kind in ("adaptive_avg_pool", "adaptive_max_pool"):
    call(f"{kind}1d", real(1, 2, 6), [3])
    call(f"{kind}3d", real(1, 1, 4, 4, 2), [2, 2, 2])
call("adaptive_avg_pool2d", image, [2, 1])
call("adaptive_max_pool2d", image, [6, 1])
call("adaptive_avg_pool2d", image, [6, 4])
call("adaptive_max_pool2d", image, [4, 5])
call("pixel_shuffle", real(2, 9, 2, 3), 3)

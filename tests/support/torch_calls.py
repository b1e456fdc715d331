"""Calls of ops of PyTorch that no case of `torch_layers` has: by op and overload, arguments by place and by name.

A name that ends in ``!`` has operands that are known when a model is read.
"""

from __future__ import annotations

import torch

CALLS: dict[str, list] = {}


def real(*shape):
    return torch.randn(shape)


def call(name, *args, **kwargs):
    """Note a call, or several of one operand whose shape is all that differs."""
    CALLS.setdefault(name, []).append((args, kwargs))


x, row, whole = real(2, 3, 4), real(4), torch.arange(-6, 6).reshape(3, 4)
image, line, volume = real(2, 3, 6, 5), real(2, 3, 7), real(1, 2, 4, 5, 3)
positive, small = x.abs() + 0.5, x.tanh() * 0.9
yes = x > 0

for name in [
    "atan",
    "ceil",
    "cos",
    "cosh",
    "floor",
    "sin",
    "sinh",
    "tan",
    "asinh",
    "erfc",
    "sgn",
    "positive",
    "square",
    "reciprocal",
    "exp2",
    "relu6",
]:
    call(name, x)
    call(name, real(5) * 4)
for name in ("acos", "asin", "atanh"):
    call(name, small)
for name in ("log2", "log10", "sqrt"):
    call(name, positive)
call("acosh", positive + 1)
for name in ("log2", "sqrt", "sin", "exp", "reciprocal"):
    call(name, whole.abs() + 1)  # whole numbers become floats
for name in ("floor", "ceil", "round", "sgn", "positive", "square"):
    call(name, whole)
for name in [
    "alias",
    "detach",
    "_conj",
    "resolve_conj",
    "resolve_neg",
    "lift_fresh",
    "lift_fresh_copy",
    "_reshape_alias",
    "ravel",
    "adjoint",
    "numpy_T",
]:
    if name != "_reshape_alias":
        call(name, real(3, 4))
call("_reshape_alias", x, [6, 4], [4, 1])
for name in ("t", "t_copy"):
    call(name, real(3, 4))
    call(name, row)
for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    for shape in ((), (4,), (3, 4), (2, 3, 4)):
        call(name, real(*shape))

# ---------------------------------------------------------------------- arithmetic
for name in ("maximum", "minimum"):
    call(name, x, row)
    call(name, whole, real(4))
for name in ("ne.Tensor", "eq.Tensor", "lt.Tensor", "ge.Tensor", "gt.Tensor", "le.Tensor"):
    call(name, x, x * (row > 0))
    call(name, whole, real(4))
for name in ("ne.Scalar", "eq.Scalar", "lt.Scalar", "ge.Scalar", "gt.Scalar", "le.Scalar"):
    call(name, whole, 1)
    call(name, whole, 0.5)
call("true_divide.Tensor", x, positive)
call("true_divide.Tensor", whole, torch.tensor([2, 3, -4, 5]))
call("add.Tensor", x, row, alpha=3)
call("add.Tensor", whole, row, alpha=2)
call("add.Tensor", yes, ~yes)
call("add.Scalar", x, 2, 3)
call("sub.Tensor", x, row, alpha=0.5)
call("sub.Tensor", whole, whole[0], alpha=2)
call("rsub.Scalar", x, 2, 3)
call("rsub.Tensor", x, row)
call("mul.Tensor", yes, ~yes)
call("mul.Tensor", yes, x)
for mode in (None, "floor", "trunc"):
    call("div.Tensor_mode", x * 5, positive, rounding_mode=mode)
    call("div.Tensor_mode", whole, torch.tensor([2, 3, -4, 5]), rounding_mode=mode)
    call("div.Scalar_mode", x * 5, -0.7, rounding_mode=mode)
for name in ("remainder.Tensor", "fmod.Tensor"):
    call(name, x * 5, real(4) + 3)
    call(name, whole, torch.tensor([2, -3, -4, 5]))
call("remainder.Scalar", x, -0.7)
call("floor_divide", whole, torch.tensor([2, -3, -4, 5]))
call("floor_divide", x * 5, row)
call("pow.Tensor_Tensor", positive, row)
call("pow.Scalar", 2.0, x)
call("pow.Tensor_Scalar", whole, 2)
for decimals in (0, 1, -1):
    call("round.decimals", 9 * x, decimals=decimals)
call("addcdiv", x, row, positive, value=0.5)
call("addcmul", x, row, positive, value=0.5)
call("addmv", real(3), real(3, 4), row, beta=0.5, alpha=2)
call("addmm", real(3), real(2, 4), real(4, 3), beta=0.5, alpha=2)
call("addmm", real(2, 3), real(2, 4), real(4, 3))
call("baddbmm", real(2, 3, 5), x, real(2, 4, 5), beta=0.5, alpha=3)
call("mm", real(3, 4), real(4, 2))
call("lerp.Tensor", x, row, positive)
call("heaviside", torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([0.5, 0.25, 3.0]))
for name in ("clamp", "clip"):
    for limits in ((-0.3, 0.4), (None, 0.4), (-0.3, None), (0.4, -0.3)):
        call(name, x, *limits)
    call(name, whole, -2, 3)
call("clamp.Tensor", x, row, row + 1)
call("clamp.Tensor", x, None, row)
call("clamp_max", x, 0.25)
call("clamp_min", x, 0.25)
call("bitwise_xor.Tensor", yes, ~yes)
call("bitwise_xor.Tensor", whole, whole[0])
call("bitwise_and.Tensor", yes, yes.roll(1, 0))
call("bitwise_or.Tensor", yes, yes.roll(1, 0))
call("bitwise_not", yes)
for name in ("logical_and", "logical_or", "logical_xor"):
    call(name, yes, yes.roll(1, 0))
    call(name, whole, torch.tensor([0.0, 1, 2, 0]))
call("logical_not", whole)
call("isclose", x, x)

# ---------------------------------------------------------------------- reductions
for name in (
    "sum.dim_IntList",
    "mean.dim",
    "amax",
    "amin",
    "logsumexp",
    "prod.dim_int",
    "std_mean.dim",
    "var_mean.dim",
):
    for dim in (1,) if "prod" in name else ([1], [0, -1], [-2]):
        for keep in (False, True):
            call(name, x, dim, **({"keepdim": keep} if keep or "mean" not in name else {}))
for name in ("sum", "mean", "prod", "amax", "std", "var", "min", "max", "all", "any", "norm.Scalar"):
    call(name, x)
for name in ("sum.dim_IntList", "prod.dim_int"):
    call(name, whole, 1 if "prod" in name else [1])
    call(name, yes, 1 if "prod" in name else [1], dtype=torch.float32)
for correction in (0, 1, 2, None):
    call("var.correction", x, [1], correction=correction)
    call("std.correction", x, [0, 2], correction=correction, keepdim=True)
    call("var_mean.correction", x, [1], correction=correction)
    call("std_mean.correction", x, None, correction=correction)
for p in (1, 2, 3, float("inf"), float("-inf"), None):
    call("norm.ScalarOpt_dim", x, p, [1])
    call("linalg_vector_norm", x, 2 if p is None else p, [0, 2], True)
call("linalg_vector_norm", x, 2, None)
for name in ("argmax", "argmin"):
    call(name, x)
    call(name, x, 1)
    call(name, x, -1, True)
for name in ("max.dim", "min.dim", "median.dim"):
    call(name, x, 1)
    call(name, x, -1, True)
for name in ("all.dim", "any.dim", "all.dims", "any.dims"):
    call(name, x > -0.5, [0, 2] if "dims" in name else 1, True)
    call(name, whole, [1] if "dims" in name else 1)
for name in ("cumsum", "cumprod", "logcumsumexp"):
    call(name, x, -1)
call("cumsum", whole, 0)
call("cumsum", yes, 0)

# ---------------------------------------------------------------------- movement
for name in ("broadcast_to",):
    call(name, row, [3, 4])
call("expand", real(3, 1), [2, -1, 4])
call("expand_copy", real(3, 1), [2, -1, 4])
for name in ("view_copy", "_unsafe_view", "view", "reshape"):
    call(name, x, [-1, 4])
call("view_as", x, real(6, 4))
call("reshape_as", x, real(6, 4))
call("type_as", whole, x)
call("view.dtype", real(4), torch.int32)
for name in ("movedim.int", "moveaxis.int"):
    call(name, x, 0, -1)
    call(name, x, -1, 0)
for name in ("movedim.intlist", "moveaxis.intlist"):
    call(name, image, [0, -1], [2, 0])
for name in ("swapaxes", "transpose.int", "transpose_copy.int"):
    call(name, x, 0, -1)
call("permute_copy", x, [2, 0, 1])
for name in ("squeeze.dim", "squeeze_copy.dim"):
    call(name, x[:, :1], 1)
    call(name, x, 1)
for name in ("squeeze.dims", "squeeze_copy.dims"):
    call(name, x[:1, :1], [0, 1, 2])
for name in ("squeeze", "squeeze_copy"):
    call(name, x[:1, :, :1])
for name in ("unsqueeze", "unsqueeze_copy"):
    for axis in (0, 1, -1, -2):
        call(name, x, axis)
for name in ("select.int", "select_copy.int"):
    call(name, x, 1, 2)
    call(name, x, -1, -2)
for name in ("slice.Tensor", "slice_copy.Tensor"):
    for limits in ((1, 3, 1), (None, -1, 1), (-3, None, 2), (0, 99, 3), (-9, 2, 1)):
        call(name, line, 2, *limits)
call("narrow", line, 2, 1, 4)
call("narrow", line, -1, -3, 2)
call("slice_scatter", line, real(2, 3, 2), 2, 1, 5, 2)
call("slice_scatter", line, real(2, 3, 4), -1, -4)
call("select_scatter", x, real(2, 4), 1, 2)
call("select_scatter", x, real(2, 3), -1, -1)
call("diagonal_scatter", real(3, 4), real(3))
for name in ("unbind.int", "unbind_copy.int"):
    call(name, x, 1)
    call(name, x, -1)
call("split.Tensor", line, 3, 2)
call("split.Tensor", line, 7, -1)
call("split_with_sizes", line, [1, 4, 2], -1)
call("chunk", line, 3, 2)
call("tensor_split.sections", line, 3, 2)
call("tensor_split.indices", line, [2, 3], -1)
for name in ("cat", "concat", "concatenate"):
    call(name, [x, real(2, 3, 1)], -1)
    call(name, [x, torch.zeros(2, 0, 4)], 1)
call("cat", [whole, real(1, 4)], 0)
call("stack", [x, x + 1], -1)
call("stack", [x, x + 1])
call("meshgrid", [row, real(3)])
call("meshgrid.indexing", [row, real(3)], indexing="xy")
call("flip", x, [0, -1])
call("roll", x, [2, -1], [0, 2])
call("roll", x, [3])
call("tile", row, [2, 3])
call("repeat", x, [2, 1, 1, 3])
call("repeat_interleave.self_int", x, 2, 1)
call("flatten.using_ints", image, 1, -2)
call("unflatten.int", line, 1, [3, -1])
call("unfold", line, -1, 3, 2)
for offset in (0, 1, -1):
    call("diagonal", image, offset, -1, 1)
    call("diag_embed", real(2, 3), offset, 0, -1)
    call("tril", x, offset)
    call("triu", x, offset)
for name in ("full_like", "new_full"):
    call(name, x, *([[2, 2]] if name == "new_full" else []), 2.5)
    call(name, whole, *([[2, 2]] if name == "new_full" else []), 3)
call("full", [2, 3], 1.5)
call("full", [2, 3], True)
call("arange.start_step", 1, 9, 3)
call("arange.start_step", 1.0, 2.0, 0.25)
call("arange", 4)
call("linspace", 0, 1, 5)
call("eye", 3)
call("eye.m", 3, 4)
call("scalar_tensor", 2.5)
for name in ("ones_like", "zeros_like"):
    call(name, whole)
    call(name, x, dtype=torch.int64)
for name in ("to.dtype", "_to_copy"):
    for kind in (torch.int32, torch.bool, torch.float64):
        call(name, 3 * x, dtype=kind) if name == "_to_copy" else call(name, 3 * x, kind)
call("constant_pad_nd", line, [1, 2], 0.5)
call("constant_pad_nd", image, [1, -1, 0, 2])
for name, given, pads in (("1d", line, [2, 1]), ("2d", image, [2, 1, 0, 3]), ("3d", volume, [1, 0, 2, 1, 0, 1])):
    for kind in ("reflection_pad", "replication_pad"):
        call(f"{kind}{name}", given, pads)
        call(f"{kind}{name}", given[0], pads)
for mode in ("constant", "reflect", "replicate", "circular"):
    call("pad", line, [2, 1], mode)
    call("pad", image, [2, 1, 0, 3], mode)

# ---------------------------------------------------------------------- positions
index = torch.tensor([2, 0, 2])
for axis in (0, 1, -1):
    many = image.movedim(0, axis)
    call("index_select", torch.cat([many] * 2, axis), axis, index)
    call("index_add", torch.cat([many] * 2, axis), axis, torch.tensor([1, 0]), many, alpha=2)
    call("index_copy", torch.cat([many] * 2, axis), axis, torch.tensor([1, 0]), many)
    call("index_fill.int_Scalar", torch.cat([many] * 2, axis), axis, index, 2.5)
for name in ("index.Tensor", "_unsafe_index.Tensor"):
    call(name, image, [None, index])
    call(name, image, [None, None, index, torch.tensor([[1], [4]])])
    call(name, image, [torch.tensor([1, 0, 1]), None, index])
    call(name, image, [torch.tensor([1, -1, 0])])
for name in ("index_put", "_unsafe_index_put"):
    call(name, image, [torch.tensor([1, 0, 1]), index], real(3, 6, 5))
    call(name, image, [torch.tensor([1, 0, 1]), index], real(1), True)
call("index_put", x, [yes], torch.tensor(2.5))
places = torch.tensor([[[0, 2, 1, 0]], [[1, 1, 0, 2]]])
call("gather", x, 1, places)
call("gather", x, -1, torch.tensor([[[3, 0]], [[1, 1]]]))
call("scatter.src", x, 1, places, real(2, 1, 4))
call("scatter.value", x, 1, places, 2.5)
call("scatter_add", x, 1, places, real(2, 1, 4))
twice = torch.tensor([[[0, 2, 1, 0]] * 2, [[1, 1, 0, 2]] * 2])
for how in ("sum", "prod", "amax", "amin"):
    call("scatter_reduce.two", x, 1, twice, real(2, 2, 4), how)
call("take", x, torch.tensor([[0, 23], [5, -1]]))
call("take_along_dim", x, places, 1)
call("masked_fill.Scalar", x, yes, 2)
call("masked_fill.Tensor", x, yes[0], torch.tensor(2.5))
call("where.self", yes, x, row)
call("where.ScalarOther", yes, x, 2.0)
call("where.ScalarSelf", yes, 2.0, x)
for name in ("argsort", "sort"):
    call(name, x, 1)
    call(name, x, -1, True)
call("topk", x, 2, 1, False)
call("topk", x, 2)
call("searchsorted.Tensor", torch.tensor([1.0, 2.0, 4.0]), x * 4)
call("bucketize.Tensor", x * 4, torch.tensor([1.0, 2.0, 4.0]))
call("one_hot", torch.tensor([0, 2, 1]), 4)
for mode in (0, 1, 2):
    for name in ("embedding_bag", "_embedding_bag_forward_only"):
        call(f"{name}!", real(5, 3), torch.tensor([0, 3, 1, 2, 2, 4]), torch.tensor([0, 2, 4]), False, mode)
call("embedding", real(5, 3), torch.tensor([[0, 3], [4, 1]]), 0)
for reduction in (0, 1, 2):
    for weight in (None, torch.tensor([0.5, 1.0, 2.0, 3.0])):
        call("nll_loss", real(3, 4), torch.tensor([2, 0, 1]), weight, reduction, 1)
        call("nll_loss_nd", real(3, 4), torch.tensor([2, 0, 1]), weight, reduction, -100)
    call("nll_loss2d", real(2, 3, 2, 2), torch.randint(0, 3, (2, 2, 2)), None, reduction, 1)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"):
        call(name, x, x.sigmoid().roll(1, 0), reduction=reduction)

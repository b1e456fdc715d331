"""Further calls of ops of PyTorch, added to `CALLS`: of layers, pools, images and recurrent networks."""

from __future__ import annotations

import torch

from tests.support.torch_calls import CALLS, call, image, line, real, volume, x

__all__ = ["CALLS"]

for name in ("_softmax", "_log_softmax"):
    call(name, x, 1, False)
for name in ("softmax.int", "log_softmax.int"):
    call(name, x, -2)
    call(name, x, 1, torch.float64)
three = [torch.rand(3) + 0.5 for _ in range(4)]
for name in ("native_batch_norm", "_native_batch_norm_legit"):
    call(name, image, *three, False, 0.1, 0.25)
    call(name, image, None, None, *three[2:], False, 0.1, 1e-5)
call("_native_batch_norm_legit_no_training", image, *three, 0.1, 0.25)
for training in (False, True):
    call("_native_batch_norm_legit_functional", image, *three, training, 0.25, 0.5)
    call("batch_norm", line, *(each.clone() for each in three), training, 0.25, 0.5, False)
call("batch_norm", image[:, :, 0, 0], None, None, *three[2:], False, 0.1, 0.5, False)
call("instance_norm", image, *(each.clone() for each in three), False, 0.1, 0.5, False)
call("instance_norm", image, *three[:2], None, None, True, 0.1, 0.5, False)
call("native_group_norm", real(2, 4, 6), torch.rand(4), torch.rand(4), 2, 4, 6, 2, 0.25)
call("group_norm", real(2, 4, 3, 2), 2, torch.rand(4), None, 0.25)
call("native_layer_norm", x, [4], torch.rand(4), torch.rand(4), 0.25)
call("layer_norm", x, [3, 4], None, None, 0.25)
call("layer_norm", x, [4], torch.rand(4), None, 0.25)
call("rms_norm", x, [4], None, 0.25)
call("rms_norm", x, [4], torch.rand(4))
for name in ("native_dropout", "alpha_dropout", "feature_dropout", "dropout"):
    call(name, x, 0.5, False)
for transposed in (False, True):
    for groups in (1, 2):
        weight = real(4, 3 if transposed else 4 // groups, 3, 2)
        more = [1, 0] if transposed else [0, 0]
        bias = real(weight.shape[1] * groups if transposed else 4)
        call("convolution!", real(2, 4, 5, 6), weight, bias, [2, 1], [1, 0], [1, 2], transposed, more, groups)
call("convolution", real(2, 4, 7), real(3, 4, 3), None, [2], [1], [2], False, [0], 1)
call("conv_transpose2d.input!", real(2, 4, 3, 4), real(4, 2, 3, 2), real(4), [2, 1], [1, 0], [1, 0], 2, [1, 2])
call("conv_transpose2d.input", real(4, 3, 4), real(4, 2, 3, 2))
call("conv_transpose3d.input", real(1, 2, 2, 3, 3), real(2, 2, 2, 2, 2), None, [2, 1, 2])
call("conv_transpose1d", real(2, 4, 5), real(4, 3, 3), None, [3], [1], [2])
for padding in ("same", "valid"):
    call("conv2d.padding", image, real(2, 3, 4, 2), None, [1, 1], padding, [1, 2])
    call("conv1d.padding", line, real(2, 3, 4), real(2), [1], padding)
call("conv2d", image[0], real(2, 3, 2, 2), None, [2, 2])
call("conv1d", line, real(3, 1, 2), real(3), [2], [1], [1], 3)
call("conv3d", volume, real(2, 2, 2, 2, 2), None, [1, 2, 1], [0, 1, 0])
for ceil in (False, True):
    call("max_pool1d", line, [3], [2], [1], [1], ceil)
    call("max_pool1d_with_indices", line, [3], [2], [1], [1], ceil)
    call("max_pool2d_with_indices", image, [3, 2], [2, 2], [1, 0], [1, 1], ceil)
    call("max_pool3d", volume, [2, 3, 2], [1, 2, 2], [1, 1, 0], [1, 1, 1], ceil)
    call("max_pool3d_with_indices", volume, [2, 3, 2], [], [0, 1, 0], [1, 1, 1], ceil)
    call("avg_pool3d", volume, [2, 3, 2], [1, 2, 2], [1, 1, 0], ceil, False)
    call("avg_pool2d", image, [3, 2], [], [1, 0], ceil, True)
    call("avg_pool1d", line, [3], [2], [1], ceil, False)
call("avg_pool2d", image, [3, 2], [2, 1], [1, 0], False, True, 5)
call("max_pool2d", image[0], [2], [1], [0], [2])
for name, given in (("1d", line), ("2d", image), ("3d", volume)):
    count = given.ndim - 2
    for out in ([1, 1, 1], [2, 3, 1], [4, 4, 2]):
        for kind in ("adaptive_avg_pool", "adaptive_max_pool", "_adaptive_avg_pool"):
            if kind[0] != "_" or count > 1:
                call(f"{kind}{name}", given, out[:count])
    for kind in ("upsample_nearest", "_upsample_nearest_exact"):
        call(f"{kind}{name}", given, [9, 5, 6][:count])
        call(f"{kind}{name}.vec", given, None, [2.0, 1.5, 2.0][:count])
for align in (False, True):
    call("upsample_linear1d", line, [9], align)
    call("upsample_bilinear2d", image, [9, 4], align)
    call("upsample_bilinear2d.vec", image, None, align, [1.5, 2.0])
    call("upsample_trilinear3d", real(1, 1, 2, 3, 2), [3, 2, 4], align)
    call("upsample_bicubic2d", image[:1], [9, 4], align)
    call("affine_grid_generator", real(2, 2, 3), [2, 1, 3, 4], align)
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            if (mode, padding) != (2, 1):
                call("grid_sampler_2d", real(1, 1, 3, 4), torch.rand(1, 2, 3, 2) * 3 - 1.5, mode, padding, align)
            if mode < 2:
                call("grid_sampler_3d", real(1, 1, 2, 3, 2), torch.rand(1, 1, 2, 2, 3) * 3 - 1.5, mode, padding, align)
call("_upsample_bilinear2d_aa", image[:1], [3, 7], False)
call("_upsample_bicubic2d_aa", image[:1], [3, 7], False)
call("grid_sampler", real(1, 1, 3, 4), torch.rand(1, 2, 3, 2) * 3 - 1.5, 0, 0, False)
call("pixel_shuffle", real(1, 4, 2, 3), 2)
call("pixel_unshuffle", real(1, 1, 4, 6), 2)
call("channel_shuffle", real(1, 6, 2), 3)
call("im2col", image[:1], [2, 3], [1, 2], [1, 0], [2, 1])
call("col2im", real(1, 12, 4), [4, 5], [2, 3], [1, 1], [0, 0], [2, 2])
for extra in ({}, {"is_causal": True}, {"scale": 0.3}):
    call("scaled_dot_product_attention", real(1, 2, 3, 4), real(1, 2, 3, 4), real(1, 2, 3, 5), **extra)
call("scaled_dot_product_attention", real(1, 4, 3, 4), *[real(1, 2, 3, 4)] * 2, enable_gqa=True)
call("scaled_dot_product_attention", *[real(2, 3, 4)] * 3, torch.randn(3, 3) > -0.5)
call("scaled_dot_product_attention", *[real(2, 3, 4)] * 3, real(3, 3))
call("_scaled_dot_product_flash_attention_for_cpu", *[real(1, 2, 3, 4)] * 3, 0.0, True)
call("prelu", x, torch.tensor([0.25, 0.5, 2.0]))
call("prelu", x, torch.tensor([0.25]))
call("glu", x, 2)
call("elu", x, 0.5, 2.0)
call("celu", x, 0.5)
call("selu", x)
call("leaky_relu", x, 0.25)
call("gelu", x, approximate="tanh")
call("hardtanh", x, -0.25, 0.5)
call("hardshrink", x, 0.75)
call("softshrink", x, 0.25)
call("threshold", x, 0.25, -2)
call("softplus", x, 2, 0.5)
for kind in ("rnn_tanh", "rnn_relu", "gru", "lstm"):
    gates = {"gru": 3, "lstm": 4}.get(kind, 1)
    for layers, two, bias in ((1, False, True), (2, True, True), (2, False, False)):
        parts = []
        for layer in range(layers):
            for _ in range(1 + two):
                width = 4 if layer == 0 else 3 * (1 + two)
                parts += [real(gates * 3, width), real(gates * 3, 3)]
                parts += [real(gates * 3), real(gates * 3)] if bias else []
        state = real(layers * (1 + two), 2, 3)
        for batch_first in (False, True):
            given = real(2, 5, 4) if batch_first else real(5, 2, 4)
            start = [state, 2 * state] if kind == "lstm" else state
            call(f"{kind}.input!", given, start, parts, bias, layers, 0.0, False, two, batch_first)

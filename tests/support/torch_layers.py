"""Modules of PyTorch with inputs of any batch, by name: layers and functions as `torch.onnx` exports them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

real = torch.randn


class Fn(nn.Module):
    """A function, with modules and buffers as attributes of its first argument."""

    def __init__(self, f, **mods):
        super().__init__()
        self.f = f
        for k, m in mods.items():
            if isinstance(m, torch.Tensor):
                self.register_buffer(k, m)
            else:
                setattr(self, k, m)

    def forward(self, *a):
        return self.f(self, *a)


class Ret(nn.Module):
    """First result(s) of a recurrent layer."""

    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, x):
        y, s = self.m(x)
        return (y, *s) if isinstance(s, tuple) else (y, s)


CASES = {}


def case(name, make, *inputs):
    CASES[name] = (make, inputs)


def img(b):
    return real(b, 4, 10, 9)


def seq(b):
    return real(b, 7, 6)


def vec(b):
    return real(b, 6)


def sig(b):
    return real(b, 4, 15)


def vol(b):
    return real(b, 2, 5, 6, 7)


def ids(b):
    return torch.randint(0, 9, (b, 7))


case("conv1d", lambda: nn.Sequential(nn.Conv1d(4, 6, 3, stride=2, padding=1), nn.ReLU()), sig)
case("conv2d", lambda: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2), img)
case("conv2d_same", lambda: nn.Conv2d(4, 6, (4, 3), padding="same"), img)
case("conv2d_reflect", lambda: nn.Conv2d(4, 6, 3, padding=2, padding_mode="reflect"), img)
case("conv2d_circular", lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular", bias=False), img)
case("conv2d_replicate", lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="replicate"), img)
case("conv3d", lambda: nn.Conv3d(2, 3, 3, padding=1), vol)
case("convt1d", lambda: nn.ConvTranspose1d(4, 5, 3, stride=2, padding=1, output_padding=1), sig)
case("convt2d", lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2), img)
case("batchnorm", lambda: nn.Sequential(nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU6()), img)
case("batchnorm1d", lambda: nn.Sequential(nn.BatchNorm1d(6, affine=False), nn.Linear(6, 3)), vec)
case("instancenorm", lambda: nn.InstanceNorm2d(4, affine=True), img)
case("groupnorm", lambda: nn.GroupNorm(2, 4), img)
case("layernorm", lambda: nn.LayerNorm((7, 6)), seq)
case("rmsnorm", lambda: nn.RMSNorm(6), seq)
case("lrn", lambda: nn.LocalResponseNorm(3), img)
case("maxpool", lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), img)
case("maxpool_dilated", lambda: nn.MaxPool2d(2, 1, dilation=2), img)
case("maxpool_indices", lambda: nn.MaxPool2d(2, return_indices=True), img)
case("avgpool", lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), img)
case("avgpool_incl", lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), img)
case("avgpool1d", lambda: nn.AvgPool1d(4, 2), sig)
case("lppool", lambda: nn.LPPool2d(2, 3), img)
case("adaptive_avg", lambda: nn.AdaptiveAvgPool2d((5, 3)), img)
case("adaptive_global", lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), img)
case("adaptive_max", lambda: nn.AdaptiveMaxPool2d((5, 3)), img)
case("adaptive_uneven", lambda: nn.AdaptiveAvgPool2d((4, 4)), img)
case("rnn", lambda: Ret(nn.RNN(6, 5, nonlinearity="relu", batch_first=True)), seq)
case("lstm", lambda: Ret(nn.LSTM(6, 5, batch_first=True)), seq)
case("lstm_bi2", lambda: Ret(nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)), seq)
case("lstm_timemajor", lambda: Ret(nn.LSTM(6, 5)), lambda b: real(b, 3, 6))
case("lstm_proj", lambda: Ret(nn.LSTM(6, 5, proj_size=3, batch_first=True)), seq)
case("gru_bi", lambda: Ret(nn.GRU(6, 5, bidirectional=True, batch_first=True)), seq)
case("gru", lambda: Ret(nn.GRU(6, 5, 2, batch_first=True, bias=False)), seq)
case("mha", lambda: Fn(lambda s, x: s.m(x, x, x), m=nn.MultiheadAttention(6, 2, batch_first=True)), seq)
case(
    "encoder",
    lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(6, 2, 12, batch_first=True, activation="gelu"), 2, enable_nested_tensor=False
    ),
    seq,
)
case("decoder", lambda: nn.TransformerDecoderLayer(6, 2, 12, batch_first=True, norm_first=True), seq, seq)
case(
    "sdpa",
    lambda: Fn(
        lambda s, q: functional.scaled_dot_product_attention(
            q.view(-1, 7, 2, 3).transpose(1, 2), *[q.view(-1, 7, 2, 3).transpose(1, 2)] * 2, is_causal=True
        )
    ),
    seq,
)
case("embedding", lambda: nn.Sequential(nn.Embedding(9, 6, padding_idx=0), nn.Linear(6, 4)), ids)
case("embedding_bag", lambda: nn.EmbeddingBag(9, 6, mode="mean"), ids)
case("upsample_nearest", lambda: nn.Upsample(scale_factor=2), img)
case("upsample_bilinear", lambda: nn.Upsample(size=(13, 20), mode="bilinear"), img)
case("upsample_corners", lambda: nn.Upsample(scale_factor=(2, 1.5), mode="bilinear", align_corners=True), img)
case("upsample_bicubic", lambda: nn.Upsample(scale_factor=2, mode="bicubic"), img)
case(
    "interp_antialias",
    lambda: Fn(lambda s, x: functional.interpolate(x, size=(5, 6), mode="bilinear", antialias=True)),
    img,
)
case("interp_area", lambda: Fn(lambda s, x: functional.interpolate(x, size=(5, 3), mode="area")), img)
case("interp_exact", lambda: Fn(lambda s, x: functional.interpolate(x, scale_factor=1.5, mode="nearest-exact")), img)
case("interp_linear1d", lambda: Fn(lambda s, x: functional.interpolate(x, size=31, mode="linear")), sig)
case("pixelshuffle", lambda: nn.PixelShuffle(2), img)
case("pixelunshuffle", lambda: nn.Sequential(nn.ConstantPad2d((0, 1, 0, 0), 2.0), nn.PixelUnshuffle(2)), img)
case("channelshuffle", lambda: nn.ChannelShuffle(2), img)
case(
    "pads",
    lambda: nn.Sequential(nn.ReflectionPad2d((1, 2, 3, 0)), nn.ReplicationPad2d(1), nn.ZeroPad2d((-1, 2, 0, 1))),
    img,
)
case("pad_circular", lambda: Fn(lambda s, x: functional.pad(x, (2, 1), mode="circular")), sig)
acts = [
    nn.ELU(0.7),
    nn.Hardshrink(),
    nn.Hardsigmoid(),
    nn.Hardtanh(-0.5, 0.7),
    nn.Hardswish(),
    nn.LeakyReLU(0.2),
    nn.LogSigmoid(),
    nn.PReLU(),
    nn.SELU(),
    nn.CELU(1.3),
    nn.GELU(),
    nn.GELU("tanh"),
    nn.Mish(),
    nn.Softplus(2.0, 1.0),
    nn.Softshrink(),
    nn.Softsign(),
    nn.Tanhshrink(),
    nn.Threshold(0.1, -2.0),
    nn.SiLU(),
    nn.Softmin(1),
    nn.LogSoftmax(1),
    nn.Softmax(2),
]
case("activations", lambda: Fn(lambda s, x: tuple(a(x) for a in s.l), l=nn.ModuleList(acts)), seq)
case("glu", lambda: nn.GLU(1), img)
case(
    "rrelu_dropout",
    lambda: nn.Sequential(nn.RReLU(), nn.Dropout(), nn.AlphaDropout(0.2), nn.FeatureAlphaDropout()),
    seq,
)
case("bilinear_layer", lambda: nn.Bilinear(6, 6, 3), vec, vec)
case("distances", lambda: Fn(lambda s, a, b: (nn.PairwiseDistance()(a, b), nn.CosineSimilarity()(a, b))), vec, vec)
case("cdist", lambda: Fn(lambda s, a, b: torch.cdist(a, b)), seq, seq)
losses = [
    nn.MSELoss(),
    nn.L1Loss(),
    nn.SmoothL1Loss(),
    nn.HuberLoss(),
    nn.BCEWithLogitsLoss(),
    nn.KLDivLoss(reduction="batchmean"),
    nn.SoftMarginLoss(),
    nn.PoissonNLLLoss(),
]
case("losses", lambda: Fn(lambda s, a, b: tuple(each(a, b.sigmoid()) for each in losses)), vec, vec)
case(
    "cross_entropy",
    lambda: Fn(
        lambda s, x, t: (
            functional.cross_entropy(x, t),
            functional.nll_loss(functional.log_softmax(x, 1), t, reduction="none"),
        )
    ),
    lambda b: real(b, 9),
    lambda b: torch.randint(0, 9, (b,)),
)
case(
    "cross_entropy_smooth",
    lambda: Fn(
        lambda s, x, t: functional.cross_entropy(x, t, weight=s.w, label_smoothing=0.1, ignore_index=2), w=torch.rand(9)
    ),
    lambda b: real(b, 9),
    lambda b: torch.randint(3, 9, (b,)),
)
case(
    "einsum",
    lambda: Fn(
        lambda s, a, b: (
            torch.einsum("bij,bkj->bik", a, b),
            torch.einsum("bij->bj", a),
            torch.einsum("bij,jk->bki", a, s.w),
        ),
        w=real(6, 5),
    ),
    seq,
    seq,
)
case(
    "scatter",
    lambda: Fn(
        lambda s, x, i: (torch.zeros_like(x).scatter(1, i % 6, x), x.scatter_add(1, i % 6, x)),
    ),
    vec,
    lambda b: torch.stack([torch.randperm(6) for _ in range(b)]),
)
case(
    "scatter_reduce",
    lambda: Fn(lambda s, x, i: (x.scatter_reduce(1, i, x, "amax"), x.scatter_reduce(1, i, x, "prod"))),
    vec,
    lambda b: torch.randint(0, 6, (b, 6)),
)
case("gather", lambda: Fn(lambda s, x, i: torch.gather(x, 1, i)), vec, lambda b: torch.randint(0, 6, (b, 3)))
case(
    "index",
    lambda: Fn(
        lambda s, x: (x[:, s.i], x[:, s.i, s.i], x[..., None, 1:5:2], x[:, -1], x.flip(1), x.roll(2, 1)),
        i=torch.tensor([4, 0, 2]),
    ),
    seq,
)
case(
    "index_put",
    lambda: Fn(
        lambda s, x: (
            x.index_fill(1, s.i, 3.0),
            x.index_add(1, s.i, x[:, :3]),
            torch.index_put(x, (torch.tensor([0]), s.i), s.v),
        ),
        i=torch.tensor([4, 0, 2]),
        v=real(3, 6),
    ),
    seq,
)
case("slice_assign", lambda: Fn(lambda s, x: _assign(x)), seq)


def _assign(x):
    y = x.clone()
    y[:, 1:3] = 0.0
    y[:, 4, ::2] += 1.0
    return y


case(
    "where",
    lambda: Fn(
        lambda s, x: (
            torch.where(x > 0, x, -1.0),
            x.masked_fill(x < 0.3, -9.0),
            torch.nan_to_num(x.log(), 1.0, 2.0, 3.0),
        )
    ),
    seq,
)
case(
    "topk",
    lambda: Fn(
        lambda s, x: (
            *x.topk(3),
            *x.topk(2, 1, largest=False),
            *x.sort(1, descending=True),
            x.argmax(1),
            *x.max(1),
            *x.median(-1),
        )
    ),
    seq,
)
case("cumsum", lambda: Fn(lambda s, x: (x.cumsum(1), x.cumprod(2), x.logcumsumexp(1))), seq)
case(
    "reductions",
    lambda: Fn(
        lambda s, x: (
            x.mean(1),
            x.sum((1, 2)),
            x.std(1),
            x.var((1, 2), unbiased=False, keepdim=True),
            x.norm(dim=1),
            x.norm(1, dim=2),
            x.amax(1),
            x.prod(2),
            x.logsumexp(1),
            x.all(1),
            x.any(2),
            (x > 0).sum(1),
        )
    ),
    seq,
)
case(
    "shapes",
    lambda: Fn(
        lambda s, x: (
            x.reshape(x.size(0), -1),
            x.flatten(1).unflatten(1, (3, 14)),
            x.permute(2, 0, 1),
            x.unsqueeze(1).expand(-1, 3, -1, -1),
            x.repeat(1, 2, 1),
            torch.cat([x, x], 1),
            torch.stack([x, x], 2),
            *x.split([2, 5], 1),
            *x.chunk(3, 2),
            *x.unbind(1)[:2],
            x.tile(2),
            x.repeat_interleave(2, 1),
        )
    ),
    seq,
)
case(
    "arange",
    lambda: Fn(
        lambda s, x: (
            x + torch.arange(x.shape[1])[:, None],
            x * torch.arange(x.shape[0])[:, None, None],
            torch.ones_like(x).tril(),
            torch.full((x.shape[0], 2), 3.0),
            torch.eye(6) @ x.mT,
        )
    ),
    seq,
)
case("tri", lambda: Fn(lambda s, x: (x.tril(), x.triu(1), x.diagonal(dim1=1, dim2=2), torch.diag_embed(x))), seq)
case(
    "numbers",
    lambda: Fn(
        lambda s, x: (
            x.remainder(0.7),
            x.fmod(0.7),
            torch.div(x, 0.3, rounding_mode="floor"),
            torch.div(x, 0.3, rounding_mode="trunc"),
            x.round(),
            x.frac(),
            x.erf(),
            x.abs().rsqrt(),
            x.sign(),
            x.atan2(x + 1),
            x.expm1(),
            x.log1p().nan_to_num(),
            x.abs().pow(1.7),
            x.clamp(-0.1),
            x.lerp(x * 2, 0.3),
            torch.addcmul(x, x, x, value=2.0),
            x.hypot(x),
            x.logaddexp(x + 1),
            torch.heaviside(x, x.new_ones(())),
        )
    ),
    seq,
)
case(
    "ints",
    lambda: Fn(
        lambda s, i: (
            i // 2,
            i % 4,
            i & 3,
            i | 4,
            i ^ 5,
            i << 2,
            i >> 1,
            ~i,
            i / 2,
            -i,
            i.float().mean(1),
            (i == 3).long(),
            functional.one_hot(i, 9),
        )
    ),
    ids,
)
case(
    "bools",
    lambda: Fn(
        lambda s, x: (
            (x > 0) & (x < 1),
            (x > 0) | (x < -1),
            ~(x > 0),
            torch.logical_xor(x > 0, x > 1),
            torch.isnan(x),
            torch.isinf(x),
            torch.isclose(x, x),
        )
    ),
    seq,
)
case(
    "matmuls",
    lambda: Fn(
        lambda s, x: (
            x @ s.w,
            x @ x.mT,
            torch.baddbmm(x, x @ x.mT, x, beta=0.5, alpha=2.0),
            torch.addmm(s.c, x[:, 0], s.w, beta=0.3),
            x[:, 0] @ s.w[:, 0],
        ),
        w=real(6, 5),
        c=real(5),
    ),
    seq,
)
case("unfold", lambda: nn.Unfold(3, padding=1, stride=2), img)
case("fold", lambda: nn.Sequential(nn.Unfold(2, stride=2), nn.Fold((10, 8), 2, stride=2)), img)
case("tensor_unfold", lambda: Fn(lambda s, x: x.unfold(1, 3, 2)), seq)
case(
    "grid_sample",
    lambda: Fn(
        lambda s, x: (
            functional.grid_sample(
                x,
                functional.affine_grid(s.t.expand(x.shape[0], -1, -1), x.shape, align_corners=False),
                align_corners=False,
            ),
            functional.grid_sample(
                x,
                functional.affine_grid(s.t.expand(x.shape[0], -1, -1), x.shape, align_corners=True),
                mode="nearest",
                padding_mode="border",
                align_corners=True,
            ),
        ),
        t=real(1, 2, 3) * 0.6,
    ),
    img,
)
case("normalize", lambda: Fn(lambda s, x: functional.normalize(x, dim=1)), img)
case("loop_cells", lambda: Fn(_cells, g=nn.GRUCell(6, 5), l=nn.LSTMCell(5, 4)), seq)


def _cells(s, x):
    h, c = x.new_zeros(x.shape[0], 5), (x.new_zeros(x.shape[0], 4),) * 2
    for t in range(3):
        h = s.g(x[:, t], h)
        c = s.l(h, c)
    return c[0]


case(
    "spectral",
    lambda: nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Linear(6, 5)), nn.utils.parametrizations.weight_norm(nn.Linear(5, 4))
    ),
    vec,
)
case("half", lambda: nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5), nn.GELU()).half(), lambda b: real(b, 6).half())
case("double", lambda: nn.Sequential(nn.Linear(6, 5), nn.Softplus()).double(), lambda b: real(b, 6).double())
case("bfloat", lambda: Fn(lambda s, x: s.l(x.bfloat16()).float(), l=nn.Linear(6, 5).bfloat16()), vec)
case("nested_in_out", lambda: Fn(lambda s, x: {"a": x * 2, "b": [x + 1, x.mean(1)]}), seq)
case(
    "bucket",
    lambda: Fn(
        lambda s, x: (torch.bucketize(x, s.b), torch.searchsorted(s.b, x)), b=torch.tensor([-1.0, 0.0, 0.4, 1.0])
    ),
    vec,
)

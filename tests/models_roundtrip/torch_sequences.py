"""Small networks over sequences, sets and tables in PyTorch; `make_torch` writes them as files."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class Mlp(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Linear(12, 16),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(16, 16),
            nn.Mish(),
            nn.Linear(16, 4),
            nn.Softmax(dim=-1),
        )


class KeywordSpotting(nn.Module):
    """Dilated one-dimensional convolutions over a signal of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 8, 9, stride=4, padding=4)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(8, 8, 3, padding=d, dilation=d, groups=8), nn.Conv1d(8, 8, 1), nn.BatchNorm1d(8), nn.ReLU()
            )
            for d in (1, 2, 4)
        )
        self.head = nn.Linear(16, 12)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.first(x))
        for block in self.blocks:
            x = x + block(x)
        return self.head(torch.cat([x.mean(-1), x.amax(-1)], 1))


class CausalConvolutions(nn.Module):
    """WaveNet's gates: padded at the left, cut at the right."""

    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(4, 4, 2, dilation=d, padding=d) for d in (1, 2, 4))
        self.gates = nn.ModuleList(nn.Conv1d(4, 4, 2, dilation=d) for d in (1, 2, 4))

    def forward(self, x: Tensor) -> Tensor:
        for d, make, gate in zip((1, 2, 4), self.filters, self.gates, strict=True):
            made = torch.tanh(make(x)[..., :-d])
            x = x + made * torch.sigmoid(gate(functional.pad(x, (d, 0))))
        return x


class Recurrent(nn.Module):
    """A recurrent layer, its last step and its state."""

    def __init__(self, kind: str = "LSTM", both: bool = False, layers: int = 1, batch_first: bool = True) -> None:
        super().__init__()
        self.rnn = getattr(nn, kind)(6, 8, num_layers=layers, bidirectional=both, batch_first=batch_first)
        self.batch_first = batch_first
        self.head = nn.Linear(16 if both else 8, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, state = self.rnn(x)
        last = y[:, -1] if self.batch_first else y[-1]
        return self.head(last), state[0] if isinstance(state, tuple) else state


class CtcRecogniser(nn.Module):
    """Convolutions over an image, then columns as steps of a GRU in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 4, 3, (2, 1), 1), nn.ReLU(), nn.MaxPool2d((2, 1)))
        self.rnn = nn.GRU(8, 6, bidirectional=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        y = y.flatten(1, 2).permute(2, 0, 1)
        return functional.log_softmax(self.head(self.rnn(y)[0]), -1)


class StatefulStep(nn.Module):
    """One step of a streaming LSTM: its state goes in and comes out."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(5, 7, 2)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y, (h, c) = self.cell(x, (h, c))
        return y.relu(), h, c


class Bert(nn.Module):
    """Embeddings of three kinds, masked attention written out, two heads."""

    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.words = nn.Embedding(32, width)
        self.positions = nn.Embedding(40, width)
        self.kinds = nn.Embedding(2, width)
        self.register_buffer("place", torch.arange(40).unsqueeze(0))
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-12) for _ in range(3))
        self.qkv = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.mix = nn.Linear(width, width)
        self.inner = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.pool = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.view(*x.size()[:-1], self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        x = self.words(ids) + self.kinds(kinds) + self.positions(self.place[:, : ids.size(1)])
        x = self.norms[0](x)
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        q, k, v = (self.split(layer(x)) for layer in self.qkv)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.size) + hidden
        y = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).contiguous()
        y = y.view(*y.size()[:-2], self.heads * self.size)
        x = self.norms[1](x + self.mix(y))
        x = self.norms[2](x + self.inner(x))
        return x, torch.tanh(self.pool(x[:, 0]))


class Gpt(nn.Module):
    """A causal decoder: one matrix for q, k and v, a mask cut to the length, tied weights."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.words = nn.Embedding(32, width)
        self.places = nn.Embedding(24, width)
        self.register_buffer("causal", torch.tril(torch.ones(24, 24)).view(1, 1, 24, 24) == 0)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, ids: Tensor) -> Tensor:
        n, t = ids.shape
        x = self.words(ids) + self.places(torch.arange(t, device=ids.device))
        q, k, v = self.qkv(self.norms[0](x)).split(self.width, dim=2)
        q, k, v = (a.view(n, t, self.heads, self.width // self.heads).transpose(1, 2) for a in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.causal[:, :, :t, :t], float("-inf"))
        y = (functional.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(n, t, self.width)
        x = x + self.mix(y)
        x = x + self.down(functional.gelu(self.up(self.norms[1](x)), approximate="tanh"))
        return functional.linear(self.norms[2](x), self.words.weight)


class GptStep(nn.Module):
    """A step of a decoder with a cache of keys and values, and rotary positions."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(32, 16)
        self.qkv = nn.Linear(16, 48, bias=False)
        self.gain = nn.Parameter(torch.ones(16))
        self.register_buffer("speeds", 1.0 / (100.0 ** (torch.arange(0, 8, 2) / 8)))

    def turned(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        left, right = x[..., :4], x[..., 4:]
        return x * cos + torch.cat((-right, left), -1) * sin

    def forward(self, ids: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.words(ids)
        n, t, _ = x.shape
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain
        q, k, v = self.qkv(x).view(n, t, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        past = keys.shape[2]
        angles = torch.outer(torch.arange(past, past + t).float(), self.speeds)
        angles = torch.cat((angles, angles), -1)
        q, k = self.turned(q, angles.cos(), angles.sin()), self.turned(k, angles.cos(), angles.sin())
        keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
        y = functional.scaled_dot_product_attention(q, keys, values)
        return y.transpose(1, 2).reshape(n, t, 16) + x, keys, values


class Encoder(nn.Module):
    """The library's own transformer encoder."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class Seq2Seq(nn.Module):
    """The library's own transformer, both halves, with a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(20, 8), nn.Embedding(20, 8)
        self.body = nn.Transformer(8, 2, 1, 1, 16, dropout=0, batch_first=True)
        self.head = nn.Linear(8, 20)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        t = target.shape[1]
        mask = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
        return self.head(self.body(self.source(source), self.target(target), tgt_mask=mask))


class Attention(nn.Module):
    """Attention between two sequences of different lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=6)

    def forward(self, query: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        y, weights = self.body(query, memory, memory)
        return y, weights


class BagOfWords(nn.Module):
    """Embeddings of tokens that are not padding, averaged, beside features of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(16, 8, padding_idx=0)
        self.mix = nn.Linear(12, 5)

    def forward(self, ids: Tensor, features: Tensor) -> Tensor:
        there = (ids != 0).float().unsqueeze(-1)
        mean = (self.words(ids) * there).sum(1) / there.sum(1).clamp(min=1)
        return self.mix(torch.cat([mean, torch.where(features > 0, features, -features.abs().add(1).log())], -1))


class Einsum(nn.Module):
    """Products written as einsum, and distances to prototypes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(3, 6, 4))
        self.second = nn.Parameter(torch.randn(4, 5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = torch.einsum("nti,hij->nhtj", x, self.first)
        scores = torch.einsum("nhti,nhsi->nhts", y, y)
        return torch.einsum("nhts,nhsj,jk->ntk", scores.softmax(-1), y, self.second), torch.cdist(x, x).topk(2).values


class GraphConvolution(nn.Module):
    """Messages along edges that are an input: gather and add by index."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(5, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        y = self.inner(x)
        gathered = torch.zeros_like(y).index_add(0, target, y[source])
        return self.head(torch.relu(y + gathered))


class WhileLoop(nn.Module):
    """Newton's steps as often as an input says: a Loop."""

    def forward(self, x: Tensor, steps: Tensor) -> Tensor:
        y = torch.ones_like(x)
        for _ in range(int(steps)):
            y = 0.5 * (y + x.abs() / y)
        return y


class Decoder(nn.Module):
    """A cell that is fed its own choice, for a fixed number of steps: a Loop."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 6)
        self.own, self.fed = nn.Linear(6, 6), nn.Linear(6, 6)
        self.head = nn.Linear(6, 10)

    def forward(self, h: Tensor) -> tuple[Tensor, Tensor]:
        token = self.head(h).argmax(1)
        scores = self.head(h).unsqueeze(1)
        for _ in range(4):
            h = torch.tanh(self.own(h) + self.fed(self.words(token)))
            y = self.head(h)
            token = y.argmax(1)
            scores = torch.cat([scores, y.unsqueeze(1)], 1)
        return scores, h


class Branches(nn.Module):
    """Another layer where the mean is positive: an If, with another inside."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Linear(4, 4)
        self.right = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.mean() > 0):
            y = self.left(x)
        else:
            y = self.right(x)
            if bool(x.max() > 1):
                y = y * 2
        return y.relu()

"""Small convolutional networks in PyTorch, of the kinds that people export; `make_torch` writes them as files."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def norm_act(channels: int, act: type[nn.Module] = nn.ReLU) -> list[nn.Module]:
    return [nn.BatchNorm2d(channels), act()]


class Residual(nn.Module):
    """The basic block of a ResNet, with a projection where the size changes."""

    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(given, made, 3, stride, 1, bias=False),
            *norm_act(made),
            nn.Conv2d(made, made, 3, 1, 1, bias=False),
            nn.BatchNorm2d(made),
        )
        same = given == made and stride == 1
        self.short = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made))
        )

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.body(x) + self.short(x))


class ResNet(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            *norm_act(8),
            nn.MaxPool2d(3, 2, 1),
            Residual(8, 8, 1),
            Residual(8, 16, 2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, 10),
        )


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(channels, 4, 1)
        self.up = nn.Conv2d(4, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        gate = functional.relu(self.down(functional.adaptive_avg_pool2d(x, 1)))
        return x * functional.hardsigmoid(self.up(gate))


class Inverted(nn.Module):
    """The inverted residual of MobileNet, depthwise in the middle."""

    def __init__(self, given: int, made: int, stride: int, act: type[nn.Module], excite: bool) -> None:
        super().__init__()
        wide = 2 * given
        self.residual = given == made and stride == 1
        self.body = nn.Sequential(
            nn.Conv2d(given, wide, 1, bias=False),
            *norm_act(wide, act),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False),
            *norm_act(wide, act),
            SqueezeExcite(wide) if excite else nn.Identity(),
            nn.Conv2d(wide, made, 1, bias=False),
            nn.BatchNorm2d(made),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.residual else self.body(x)


class MobileNet(nn.Module):
    """MobileNetV2, or V3 with hard swish and squeezing."""

    def __init__(self, act: type[nn.Module] = nn.ReLU6, excite: bool = False) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            *norm_act(8, act),
            Inverted(8, 8, 1, act, excite),
            Inverted(8, 12, 2, act, excite),
            Inverted(12, 12, 1, act, excite),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean([2, 3]))


class DenseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.layers = nn.ModuleList(
            nn.Sequential(*norm_act(8 + 4 * i), nn.Conv2d(8 + 4 * i, 4, 3, 1, 1, bias=False)) for i in range(3)
        )
        self.change = nn.Sequential(*norm_act(20), nn.Conv2d(20, 10, 1), nn.AvgPool2d(2))
        self.head = nn.Linear(10, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        x = functional.adaptive_avg_pool2d(functional.relu(self.change(x)), (1, 1))
        return self.head(torch.flatten(x, 1))


class Unet(nn.Module):
    """Down, up by interpolation or a transposed convolution, and skips."""

    def __init__(self, mode: str = "nearest") -> None:
        super().__init__()
        self.mode = mode
        self.down = nn.ModuleList([self.block(1, 6), self.block(6, 12), self.block(12, 12)])
        self.up = nn.ModuleList([self.block(24, 6), self.block(12, 6)])
        self.raised = nn.ModuleList([nn.ConvTranspose2d(12, 12, 2, 2), nn.ConvTranspose2d(6, 6, 2, 2)])
        self.head = nn.Conv2d(6, 2, 1)

    def block(self, given: int, made: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(given, made, 3, 1, 1), *norm_act(made))

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for layer in self.down[:2]:
            x = layer(x)
            skips.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.down[2](x)
        for layer, raised, skip in zip(self.up, self.raised, reversed(skips), strict=True):
            if self.mode == "transposed":
                x = raised(x)
            elif self.mode == "to size":
                x = functional.interpolate(x, size=skip.shape[2:], mode="bilinear", align_corners=True)
            else:
                corners = False if self.mode == "bilinear" else None
                x = functional.interpolate(x, scale_factor=2, mode=self.mode, align_corners=corners)
            x = layer(torch.cat([x, skip], 1))
        return torch.sigmoid(self.head(x))


class ShuffleNet(nn.Module):
    """Grouped convolutions whose channels are shuffled by reshapes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, 2, 1)
        self.grouped = nn.Conv2d(12, 12, 1, groups=3)
        self.depthwise = nn.Conv2d(6, 6, 3, 1, 1, groups=6)
        self.head = nn.Linear(12, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.grouped(functional.relu(self.stem(x)))
        n, c, h, w = x.shape
        x = x.view(n, 3, c // 3, h, w).transpose(1, 2).reshape(n, c, h, w)
        left, right = x.chunk(2, dim=1)
        x = torch.cat([left, self.depthwise(right)], 1)
        return self.head(functional.max_pool2d(x, x.shape[-1]).flatten(1))


class ConvNext(nn.Module):
    """Layer norm over channels by permutation, GELU, and a gain a channel."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.spatial = nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm = nn.LayerNorm(8)
        self.inner = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
        self.gain = nn.Parameter(torch.randn(8))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        y = self.inner(self.norm(self.spatial(x).permute(0, 2, 3, 1)))
        return x + (self.gain * y).permute(0, 3, 1, 2)


class Vit(nn.Module):
    """Patches, a class token, positions, and an encoder of one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.position = nn.Parameter(torch.randn(1, 17, 16))
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(16, 7)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        return self.head(self.encoder(x)[:, 0])


class Generator(nn.Sequential):
    """The generator of a DCGAN."""

    def __init__(self) -> None:
        super().__init__(
            nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False),
            *norm_act(16),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False),
            *norm_act(8),
            nn.ConvTranspose2d(8, 3, 3, 2, 1, output_padding=1),
            nn.Tanh(),
        )


class Detector(nn.Module):
    """One scale of a YOLO head: boxes decoded against a grid of anchors, without suppression."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU())
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.head = nn.Conv2d(48, 3 * 7, 1)
        self.register_buffer("anchors", torch.tensor([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]]))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.body(x)
        y = self.pool(x)
        raw = self.head(torch.cat([x, y, self.pool(y)], 1))
        n, _, h, w = raw.shape
        raw = raw.view(n, 3, 7, h, w).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((columns, rows), 2).to(raw.dtype)
        place = (raw[..., :2] * 2 - 0.5 + grid) * 4
        size = (raw[..., 2:4] * 2) ** 2 * self.anchors[:, None, None]
        boxes = torch.cat((place - size / 2, place + size / 2), -1).view(n, -1, 4)
        scores, classes = (raw[..., 4:5] * raw[..., 5:]).view(n, -1, 2).max(-1)
        return torch.cat((boxes, scores.unsqueeze(-1)), -1), classes


class Norms(nn.Module):
    """Group, instance and local response normalisation in a row."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding="same", padding_mode="reflect")
        self.group = nn.GroupNorm(4, 8)
        self.instance = nn.InstanceNorm2d(8, affine=True)
        self.response = nn.LocalResponseNorm(3)
        self.slope = nn.PReLU(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.group(self.conv(x))
        return self.response(self.slope(self.instance(x))) + functional.softplus(x)


class SuperResolution(nn.Module):
    """Convolutions, then channels become space."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 8, 5, padding=2)
        self.second = nn.Conv2d(8, 4, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.shuffle(self.second(functional.leaky_relu(self.first(x), 0.1))).clamp(0, 1)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 4, 3, 2, 1), nn.ELU(), nn.Conv2d(4, 8, 3, 2, 1), nn.Flatten(), nn.Linear(128, 6)
        )
        self.decoder = nn.Sequential(
            nn.Linear(6, 128), nn.Unflatten(1, (8, 4, 4)), nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.SELU()
        )
        self.last = nn.ConvTranspose2d(4, 1, 4, 2, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        code = self.encoder(x)
        return self.last(self.decoder(code)), functional.normalize(code, dim=1)


def plain_cnn() -> nn.Module:
    """LeNet, with every kind of pooling."""
    return nn.Sequential(
        nn.Conv2d(1, 4, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(4, 8, 3),
        nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.Flatten(),
        nn.LazyLinear(16),
        nn.Sigmoid(),
        nn.Linear(16, 10),
        nn.LogSoftmax(dim=1),
    )

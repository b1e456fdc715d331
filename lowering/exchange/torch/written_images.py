"""What ops on images are in PyTorch: other sizes, sampling at points, blocks and patches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.images import check_grid_sample
from graphrewrite.lowering.exchange.torch.written import Written

__all__ = ["written_images"]

_MODES = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}


def written_images(torch: Any) -> Mapping[str, Written]:
    """Return the functions by the names of ops."""
    functional = torch.nn.functional

    def resize(c: Any, x: Any, *, sizes: Any, scales: Any, mode: str, axes: Any, **rest: Any) -> Any:
        how, near = rest["coordinate_transformation_mode"], rest["nearest_mode"]
        spatial = c.rank(0) - 2
        kinds = {"linear": {1: "linear", 2: "bilinear", 3: "trilinear"}.get(spatial), "cubic": "bicubic"}
        known = {"half_pixel": False, "align_corners": True}
        exact = mode == "nearest" and how == "half_pixel" and near == "round_prefer_ceil"
        floor = mode == "nearest" and how == "asymmetric" and near == "floor"
        plain = rest["roi"] is None and not rest["antialias"] and not rest["exclude_outside"]
        plain = plain and rest["keep_aspect_ratio_policy"] == "stretch"
        same = tuple(c.shape[:2]) == tuple(c.operand_shape(0)[:2]) and rest["cubic_coeff_a"] == -0.75
        fits = exact or floor or (mode != "nearest" and how in known and (mode == "linear" or spatial == 2))
        if not (plain and same and fits and (scales is None or all(scale == int(scale) for scale in scales))):
            return interpolated(c, x, sizes=sizes, scales=scales, mode=mode, axes=axes, **rest)
        options: dict[str, Any] = {"mode": "nearest-exact" if exact else "nearest" if floor else kinds[mode]}
        if mode != "nearest":
            options["align_corners"] = known[how]
        return functional.interpolate(x, c.sizes(c.shape[2:]), **options)

    def interpolated(c: Any, x: Any, *, sizes: Any, scales: Any, axes: Any, **rest: Any) -> Any:
        """Products with the weights of all entries, axis by axis."""
        how, own = rest["coordinate_transformation_mode"], c.operand_shape(0)
        if how == "tf_crop_and_resize" or rest["keep_aspect_ratio_policy"] != "stretch":
            raise Unfit(f"{how!r} with {rest.get('keep_aspect_ratio_policy')!r} is not supported")
        for at, axis in enumerate(range(len(own)) if axes is None else axes):
            given: dict[str, Any] = {"sizes": (sizes[at],)} if scales is None else {"scales": (scales[at],)}
            if own[axis] == c.shape[axis] and (scales is None or scales[at] == 1):
                continue
            if not isinstance(own[axis], int) or not isinstance(c.shape[axis], int) or not c.is_float():
                raise Unfit(f"{how!r} of {rest.get('mode')!r} needs known sizes and floats")
            weights = op.resize(np.eye(own[axis]), axes=(1,), **given, **rest)
            x = torch.movedim(torch.matmul(torch.movedim(x, axis, -1), c.buffer(weights)), -1, axis)
        return x

    def depth_to_space(c: Any, x: Any, *, block_size: int, mode: str) -> Any:
        if mode == "CRD":
            return functional.pixel_shuffle(x, block_size)
        n, depth, *image = c.sizes(c.operand_shape(0))
        wide = torch.reshape(x, (n, block_size, block_size, depth // block_size**2, *image))
        return torch.reshape(torch.permute(wide, (0, 3, 4, 1, 5, 2)), c.sizes(c.shape))

    def space_to_depth(c: Any, x: Any, *, block_size: int, mode: str) -> Any:
        if mode == "CRD":
            return functional.pixel_unshuffle(x, block_size)
        n, depth, height, width = c.sizes(c.operand_shape(0))
        wide = torch.reshape(x, (n, depth, height // block_size, block_size, width // block_size, block_size))
        return torch.reshape(torch.permute(wide, (0, 3, 5, 1, 2, 4)), c.sizes(c.shape))

    def grid_sample(c: Any, x: Any, grid: Any, *, mode: str, padding_mode: str, align_corners: bool) -> Any:
        if c.rank(0) not in (4, 5) or (mode == "cubic" and c.rank(0) == 5):
            raise Unfit(
                f"mode={mode!r} of {c.rank(0) - 2} axes is not supported; there are two, or three but for cubic"
            )
        check_grid_sample(mode, padding_mode)
        return functional.grid_sample(x, grid, _MODES[mode], padding_mode, align_corners)

    def affine_grid(c: Any, theta: Any, *, size: Sequence[Any], align_corners: bool) -> Any:
        return functional.affine_grid(theta, list(c.sizes(size)), align_corners)

    def fold(c: Any, x: Any, *, size: Any, kernel: Any, strides: Any, pads: Any, dilations: Any) -> Any:
        if len(size) != 2 or tuple(pads[:2]) != tuple(pads[2:]):
            raise Unfit(f"{len(size)} axes, or borders {pads}, are not supported")
        return functional.fold(x, c.sizes(size), kernel, dilations, tuple(pads[:2]), strides)

    def lrn(c: Any, x: Any, *, size: int, alpha: float, beta: float, bias: float) -> Any:
        if size % 2 == 0:
            raise Unfit(f"size={size} is not supported; there are odd ones")
        return functional.local_response_norm(x, size, alpha, beta, bias)

    return {
        "affine_grid": affine_grid,
        "depth_to_space": depth_to_space,
        "fold": fold,
        "grid_sample": grid_sample,
        "lrn": lrn,
        "resize": resize,
        "space_to_depth": space_to_depth,
    }

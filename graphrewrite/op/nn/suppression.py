"""Boxes that detectors propose, of which the best are kept."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, one_element
from graphrewrite.types import Size, Tensor

__all__ = ["non_max_suppression"]


def _infer(boxes: Tensor, scores: Tensor, *, max_output_boxes_per_class: int, **_: float | None) -> Tensor:
    one_element(boxes, scores)
    if len(boxes.shape) != 3 or boxes.shape[2] != 4:
        raise TypeMismatchError(f"boxes are [N,B,4], got {boxes}")
    if len(scores.shape) != 3 or scores.shape[0] != boxes.shape[0] or scores.shape[2] != boxes.shape[1]:
        raise TypeMismatchError(f"the boxes {boxes} need scores [N,classes,B], got {scores}")
    if max_output_boxes_per_class < 0:
        raise TypeMismatchError(f"at most {max_output_boxes_per_class} boxes cannot be kept; give 0 or more")
    return Tensor("i64", (Size.unknown(), 3))


@define_op(infer=_infer, elements=FLOATS)
def non_max_suppression(
    boxes: np.ndarray,
    scores: np.ndarray,
    *,
    max_output_boxes_per_class: int = 0,
    iou_threshold: float = 0.0,
    score_threshold: float | None = None,
    center_point_box: bool = False,
) -> np.ndarray:
    """Best boxes of each class of each image, as rows of image, class and box (ONNX specification, NonMaxSuppression).

    In the order of their scores, a box is kept if it overlaps none that is kept by more than the threshold, measured by
    intersection over union.

    Parameters
    ----------
    boxes
        Two opposite corners [N, boxes, 4] as y1, x1, y2, x2; or centres and sizes as x, y, w, h.
    scores
        Scores [N, classes, boxes].
    max_output_boxes_per_class
        Greatest number of boxes; none are kept if 0.
    iou_threshold
        The threshold.
    score_threshold
        Least score of a box; none if not given.
    center_point_box
        Whether boxes are centres and sizes, not corners.

    Examples
    --------
    >>> boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]]])
    >>> scores = np.array([[[0.7, 0.8, 0.9]]])
    >>> non_max_suppression(boxes, scores, max_output_boxes_per_class=3, iou_threshold=0.5).tolist()
    [[0, 0, 2], [0, 0, 1]]
    """
    low, high = _corners(boxes, center_point_box)
    areas = np.prod(high - low, axis=-1)
    kept: list[tuple[int, int, int]] = []
    for image, kind in np.ndindex(*scores.shape[:2]):
        row = scores[image, kind]
        left = np.argsort(-row, kind="stable")
        left = left if score_threshold is None else left[row[left] > score_threshold]
        for _ in range(max_output_boxes_per_class):
            if not len(left):
                break
            best, left = left[0], left[1:]
            kept.append((image, kind, int(best)))
            shared = np.minimum(high[image, left], high[image, best]) - np.maximum(low[image, left], low[image, best])
            common = np.prod(np.maximum(shared, 0), axis=-1)
            either = areas[image, left] + areas[image, best] - common
            # Boxes without an area overlap nothing.
            left = left[~((common > 0) & (common > iou_threshold * either))]
    return np.array(kept, np.int64).reshape(-1, 3)


def _corners(boxes: np.ndarray, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest coordinates of boxes."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centred:
        return first - second / 2, first + second / 2
    return np.minimum(first, second), np.maximum(first, second)

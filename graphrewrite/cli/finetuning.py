"""What fine-tuning before a compilation needs: options that fit together, and the samples of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from graphrewrite import Graph
from graphrewrite.cli import samples as sample_files
from graphrewrite.learning import TrainingError

__all__ = ["check_finetuning", "training_samples"]

_LEAST = 4
"""Bits from which on a network is quantised without training."""


def check_finetuning(options: Mapping[str, Any]) -> None:
    """Raise unless the options of a compilation fit together, before anything is read."""
    bits, file = options["bits"], options["finetune"]
    widths = [bits] if isinstance(bits, int) else [*bits.values()] if isinstance(bits, dict) else []
    narrow = [w for width in widths for w in (width if isinstance(width, tuple | list) else [width]) if w < _LEAST]
    if file is None and narrow:
        raise click.UsageError(
            f"--bits {min(narrow)} loses too much without training; give samples by --finetune, or {_LEAST} bits"
        )
    if file is None and bits == "learnt":
        raise click.UsageError("--bits learnt is for training; give samples by --finetune, or --bits auto")
    if options["budget"] is not None and (file is None or not isinstance(bits, str)):
        raise click.UsageError(
            "--budget is for widths that training chooses; give --bits auto or learnt, and --finetune, too"
        )
    if file is None:
        return
    if options["profile"] is not None or options["ranges"] != "mse":
        raise click.UsageError("--finetune learns ranges, and --profile and --ranges choose them; drop either")
    if options["host"]:
        raise click.UsageError("--finetune trains the whole network, and --host leaves a part of it out; drop either")


def training_samples(graph: Graph, file: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the inputs by name and what is right for them."""
    arrays = sample_files.arrays_of(file, "samples to train with", f"give {_wanted(graph)}")
    names = sample_files.training_names(graph)
    missing = [name for name in (*names.values(), "train_y") if name not in arrays]
    if missing:
        held = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items()) or "nothing"
        raise TrainingError(f"{str(file)!r} holds {held}, but no {missing[0]!r}; give {_wanted(graph)}")
    return {name: arrays[given] for name, given in names.items()}, arrays["train_y"]


def _wanted(graph: Graph) -> str:
    named = sample_files.training_names(graph).items()
    needed = ", ".join(f"{array} {graph.result_type(name)}" for name, array in named)
    return f"an .npz file with {needed}, and train_y, classes from 0 or numbers"

"""Export the networks of this folder from PyTorch, by both of its exporters, as small files with random weights.

It needs PyTorch and onnxscript, which the project does not; make an environment of its own for it:

    python -m venv build/exporters
    build/exporters/bin/pip install torch==2.13.0 onnx onnxscript
    build/exporters/bin/python -m tests.models_roundtrip.make_torch [name ...]
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from tests.models_roundtrip import torch_images as images
from tests.models_roundtrip import torch_sequences as sequences

FOLDER = Path(__file__).parent / "models"
BATCH = {0: "batch"}
TOKENS = {0: "batch", 1: "sequence"}


def tokens(*shape: int, below: int = 20) -> Tensor:
    return torch.randint(0, below, shape)


@dataclass(frozen=True)
class Export:
    """A network, what it is traced with, and how; `opset` is the exporter's own where it is None."""

    build: Callable[[], nn.Module]
    inputs: Callable[[], dict[str, Tensor]]
    outputs: tuple[str, ...] = ("y",)
    dynamic: dict[str, dict[int, str]] = field(default_factory=dict)
    opset: int | None = 17
    dynamo: bool = False
    script: bool = False
    """Compile it first, so that loops and branches stay."""
    options: dict[str, Any] = field(default_factory=dict)


def image(channels: int, size: int, batch: int = 1) -> Callable[[], dict[str, Tensor]]:
    return lambda: {"x": torch.randn(batch, channels, size, size)}


def given(**shapes: tuple[int, ...]) -> Callable[[], dict[str, Tensor]]:
    return lambda: {name: torch.randn(shape) for name, shape in shapes.items()}


FREE = {"x": BATCH}
SPACE = {"x": {0: "batch", 2: "height", 3: "width"}}
BERT = {"ids": TOKENS, "mask": TOKENS, "kinds": TOKENS}


def bert_inputs() -> dict[str, Tensor]:
    return {"ids": tokens(2, 6), "mask": torch.ones(2, 6, dtype=torch.int64), "kinds": tokens(2, 6, below=2)}


def step_inputs() -> dict[str, Tensor]:
    return {"ids": tokens(2, 3), "keys": torch.randn(2, 2, 4, 8), "values": torch.randn(2, 2, 4, 8)}


PAST = {0: "batch", 2: "past"}
EXPORTS: dict[str, Export] = {
    "mlp_fixed": Export(sequences.Mlp, given(x=(1, 12)), opset=11),
    "mlp_dynamo": Export(sequences.Mlp, given(x=(2, 12)), dynamic=FREE, opset=None, dynamo=True),
    "lenet_fixed": Export(images.plain_cnn, image(1, 20), opset=11),
    "lenet_batch": Export(images.plain_cnn, image(1, 20), dynamic=FREE, opset=12),
    "resnet_fixed": Export(images.ResNet, image(3, 24), opset=13),
    "resnet_space": Export(images.ResNet, image(3, 24), dynamic=SPACE, opset=16),
    "mobilenet_v2": Export(images.MobileNet, image(3, 16), dynamic=FREE, opset=11),
    "mobilenet_v3": Export(
        partial(images.MobileNet, nn.Hardswish, excite=True), image(3, 16, 2), dynamic=FREE, opset=None, dynamo=True
    ),
    "densenet": Export(images.DenseNet, image(3, 12), dynamic=FREE, opset=9, options={"do_constant_folding": False}),
    "unet_nearest": Export(images.Unet, image(1, 16), dynamic=SPACE, opset=13),
    "unet_to_size": Export(partial(images.Unet, "to size"), image(1, 18), dynamic=SPACE, opset=17),
    "unet_transposed": Export(partial(images.Unet, "transposed"), image(1, 16), opset=15),
    "unet_dynamo": Export(partial(images.Unet, "bilinear"), image(1, 16, 2), dynamic=FREE, opset=18, dynamo=True),
    "shufflenet": Export(images.ShuffleNet, image(3, 16), dynamic=FREE, opset=14),
    "shufflenet_fixed": Export(images.ShuffleNet, image(3, 16), opset=10),
    "convnext": Export(images.ConvNext, image(3, 16), dynamic=FREE, opset=17),
    "vit": Export(images.Vit, image(3, 16), dynamic=FREE, opset=17),
    "vit_dynamo": Export(images.Vit, image(3, 16, 2), dynamic=FREE, opset=None, dynamo=True),
    "gan_generator": Export(images.Generator, given(x=(1, 8, 1, 1)), dynamic=FREE, opset=11),
    "yolo_head": Export(images.Detector, image(3, 16), outputs=("boxes", "classes"), dynamic=SPACE, opset=16),
    "yolo_head_fixed": Export(images.Detector, image(3, 16), outputs=("boxes", "classes"), opset=12),
    "norms": Export(images.Norms, image(3, 8, 2), dynamic=SPACE, opset=18),
    "super_resolution": Export(images.SuperResolution, image(1, 8), dynamic=SPACE, opset=11),
    "autoencoder": Export(images.Autoencoder, image(1, 16), outputs=("y", "code"), dynamic=FREE, opset=13),
    "keyword_spotting": Export(
        sequences.KeywordSpotting, given(x=(1, 1, 80)), dynamic={"x": {0: "batch", 2: "samples"}}, opset=14
    ),
    "causal_convolutions": Export(
        sequences.CausalConvolutions, given(x=(1, 4, 9)), dynamic={"x": {0: "batch", 2: "steps"}}, opset=17
    ),
    "lstm": Export(sequences.Recurrent, given(x=(2, 5, 6)), outputs=("y", "state"), dynamic={"x": TOKENS}, opset=13),
    "lstm_both_ways": Export(
        partial(sequences.Recurrent, both=True, layers=2),
        given(x=(2, 5, 6)),
        outputs=("y", "state"),
        dynamic={"x": TOKENS},
        opset=17,
    ),
    "gru_time_first": Export(
        partial(sequences.Recurrent, "GRU", both=True, batch_first=False),
        given(x=(5, 2, 6)),
        outputs=("y", "state"),
        dynamic={"x": {0: "steps", 1: "batch"}},
        opset=11,
    ),
    "rnn_fixed": Export(partial(sequences.Recurrent, "RNN"), given(x=(1, 5, 6)), outputs=("y", "state"), opset=14),
    "lstm_dynamo": Export(
        sequences.Recurrent, given(x=(2, 5, 6)), outputs=("y", "state"), dynamic=FREE, opset=None, dynamo=True
    ),
    "lstm_step": Export(
        sequences.StatefulStep,
        given(x=(1, 1, 5), h=(2, 1, 7), c=(2, 1, 7)),
        outputs=("y", "h_new", "c_new"),
        opset=15,
    ),
    "ctc_recogniser": Export(
        sequences.CtcRecogniser, given(x=(1, 1, 8, 12)), dynamic={"x": {0: "batch", 3: "width"}}, opset=13
    ),
    "bert": Export(sequences.Bert, bert_inputs, outputs=("hidden", "pooled"), dynamic=BERT, opset=14),
    "bert_fixed": Export(sequences.Bert, bert_inputs, outputs=("hidden", "pooled"), opset=11),
    "bert_dynamo": Export(
        sequences.Bert, bert_inputs, outputs=("hidden", "pooled"), dynamic=BERT, opset=None, dynamo=True
    ),
    "gpt": Export(sequences.Gpt, lambda: {"ids": tokens(2, 6)}, dynamic={"ids": TOKENS}, opset=17),
    "gpt_dynamo": Export(sequences.Gpt, lambda: {"ids": tokens(2, 6)}, dynamic={"ids": TOKENS}, opset=20, dynamo=True),
    "gpt_step": Export(
        sequences.GptStep,
        step_inputs,
        outputs=("y", "keys_new", "values_new"),
        dynamic={"ids": TOKENS, "keys": PAST, "values": PAST},
        opset=17,
    ),
    "encoder": Export(sequences.Encoder, given(x=(2, 5, 8)), dynamic={"x": TOKENS}, opset=17),
    "encoder_dynamo": Export(sequences.Encoder, given(x=(2, 5, 8)), dynamic={"x": TOKENS}, opset=21, dynamo=True),
    "seq2seq": Export(
        sequences.Seq2Seq,
        lambda: {"source": tokens(2, 6), "target": tokens(2, 4)},
        dynamic={"source": {0: "batch", 1: "read"}, "target": {0: "batch", 1: "written"}},
        opset=17,
    ),
    "attention": Export(
        sequences.Attention,
        given(query=(2, 3, 8), memory=(2, 5, 6)),
        outputs=("y", "weights"),
        dynamic={"query": {0: "batch", 1: "asked"}, "memory": {0: "batch", 1: "known"}},
        opset=17,
    ),
    "bag_of_words": Export(
        sequences.BagOfWords,
        lambda: {"ids": tokens(2, 6, below=16), "features": torch.randn(2, 4)},
        dynamic={"ids": TOKENS, "features": BATCH},
        opset=15,
    ),
    "einsum": Export(sequences.Einsum, given(x=(2, 5, 6)), outputs=("y", "near"), dynamic={"x": TOKENS}, opset=12),
    "graph_convolution": Export(
        sequences.GraphConvolution,
        lambda: {"x": torch.randn(6, 5), "source": tokens(9, below=6), "target": tokens(9, below=6)},
        dynamic={"x": {0: "vertices"}, "source": {0: "edges"}, "target": {0: "edges"}},
        opset=16,
    ),
    "while_loop": Export(
        sequences.WhileLoop,
        lambda: {"x": torch.randn(2, 3), "steps": torch.tensor(4)},
        dynamic=FREE,
        opset=17,
        script=True,
    ),
    "greedy_decoder": Export(
        sequences.Decoder, given(h=(2, 6)), outputs=("scores", "h_new"), dynamic={"h": BATCH}, opset=17, script=True
    ),
    "branches": Export(sequences.Branches, given(x=(2, 4)), dynamic=FREE, opset=16, script=True),
}


def shaken(module: nn.Module) -> nn.Module:
    """The network with statistics and gains as training leaves them, not of zeros and ones."""
    with torch.no_grad():
        for name, value in (*module.named_parameters(), *module.named_buffers()):
            if name.endswith("running_var"):
                value.uniform_(0.5, 2)
            elif name.endswith("running_mean"):
                value.normal_(0, 0.3)
            elif value.dim() == 1 and value.is_floating_point() and bool((value == value[0]).all()):
                value.add_(torch.randn_like(value) * 0.2)
    return module.eval()


def export(made: Export, file: Path, seed: int = 0) -> None:
    """Write one network."""
    torch.manual_seed(seed)
    module, inputs = made.build().eval(), made.inputs()
    with torch.no_grad():
        module(*inputs.values())  # lazy layers learn their sizes
    module = shaken(module)
    if made.script:
        module = torch.jit.script(module)
    dynamic: dict[str, Any] = {"dynamic_axes": made.dynamic} if made.dynamic else {}
    if made.dynamo and made.dynamic:
        dynamic = {"dynamic_shapes": tuple(made.dynamic.get(name) for name in inputs)}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            str(file),
            input_names=list(inputs),
            output_names=list(made.outputs),
            opset_version=made.opset,
            dynamo=made.dynamo,
            **({"external_data": False} if made.dynamo else {}),
            **dynamic,
            **made.options,
        )
    onnx.save(without_paths(onnx.load(file)), file)


def without_paths(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without what the exporter tells of the machine: source files, stack traces."""
    model.doc_string = ""
    model.graph.doc_string = ""
    for graph in (model.graph, *model.functions):
        for node in graph.node:
            node.doc_string = ""
            del node.metadata_props[:]
    for value in (*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer):
        value.doc_string = ""
        del value.metadata_props[:]
    del model.metadata_props[:]
    del model.graph.metadata_props[:]
    return model


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or EXPORTS:
        export(EXPORTS[name], FOLDER / f"{name}.onnx")
        print(name, (FOLDER / f"{name}.onnx").stat().st_size)


if __name__ == "__main__":
    main()

"""Export language and speech models of the package transformers, of its own architectures and a few thousand weights.

It needs packages that the project does not; make an environment of its own for it:

    python -m venv build/transformers
    build/transformers/bin/pip install torch transformers onnx onnxscript
    build/transformers/bin/python -m tests.models_roundtrip.make_transformers [name ...]
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import torch
import transformers
from torch import Tensor, nn

from tests.models_roundtrip.make_torch import without_paths

FOLDER = Path(__file__).parent / "models"
DYNAMO = {"hf_whisper"}
"""The exporter that traces modules does not know all of their ops."""
SEQUENCE = {0: "batch", 1: "sequence"}
TARGET = {0: "batch", 1: "target"}
WORDS = 32


def usual(**further: Any) -> dict[str, Any]:
    return {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "vocab_size": WORDS,
        "max_position_embeddings": 24,
        "attn_implementation": "eager",
        "bos_token_id": 1,
        "eos_token_id": 2,
        **further,
    }


class Plain(nn.Module):
    """A model that is called by position, and gives tensors: scores, or states and what is pooled of them."""

    def __init__(self, model: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        cached = getattr(self.model.config, "use_cache", None) is not None
        made = self.model(**dict(zip(self.names, given, strict=True)), **({"use_cache": False} if cached else {}))
        kept = (made.get(name) for name in ("logits", "last_hidden_state", "pooler_output"))
        return tuple(value for value in kept if value is not None)


def tokens(steps: int = 6) -> Tensor:
    return torch.randint(3, 20, (2, steps))


def text() -> dict[str, tuple[Tensor, dict[int, str]]]:
    return {"input_ids": (tokens(), SEQUENCE), "attention_mask": (torch.ones(2, 6, dtype=torch.int64), SEQUENCE)}


def translated() -> dict[str, tuple[Tensor, dict[int, str]]]:
    return {**text(), "decoder_input_ids": (tokens(4), TARGET)}


def heard() -> dict[str, tuple[Tensor, dict[int, str]]]:
    return {"input_features": (torch.randn(2, 8, 16), {0: "batch"}), "decoder_input_ids": (tokens(4), TARGET)}


Inputs = Callable[[], dict[str, tuple[Tensor, dict[int, str]]]]
MODELS: dict[str, tuple[str, str, dict[str, Any], Inputs]] = {
    "hf_distilbert": (
        "DistilBertForSequenceClassification",
        "DistilBertConfig",
        {
            "dim": 16,
            "n_layers": 1,
            "n_heads": 2,
            "hidden_dim": 24,
            "vocab_size": WORDS,
            "max_position_embeddings": 24,
            "attn_implementation": "sdpa",
        },
        text,
    ),
    "hf_roberta": (
        "RobertaForTokenClassification",
        "RobertaConfig",
        usual(pad_token_id=1, max_position_embeddings=32),
        text,
    ),
    "hf_gpt2": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": WORDS, "n_positions": 24, "bos_token_id": 1}
        | {"eos_token_id": 2, "attn_implementation": "eager"},
        text,
    ),
    "hf_llama": ("LlamaForCausalLM", "LlamaConfig", usual(num_key_value_heads=1), text),
    "hf_t5": (
        "T5ForConditionalGeneration",
        "T5Config",
        {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2, "vocab_size": WORDS}
        | {"use_cache": False, "decoder_start_token_id": 0},
        translated,
    ),
    "hf_whisper": (
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "vocab_size": WORDS}
        | {"decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "num_mel_bins": 8}
        | {"max_source_positions": 8, "max_target_positions": 12, "use_cache": False, "pad_token_id": 0}
        | {"bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "suppress_tokens": None}
        | {"begin_suppress_tokens": None},
        heard,
    ),
}


def export(name: str, file: Path, seed: int = 0) -> None:
    """Write one model."""
    model, config, options, inputs = MODELS[name]
    torch.manual_seed(seed)
    made = getattr(transformers, model)(getattr(transformers, config)(**options)).eval()
    given = inputs()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Plain(made, list(given)).eval(),
            tuple(value for value, _ in given.values()),
            str(file),
            input_names=list(given),
            **(
                {"dynamo": True, "external_data": False, "dynamic_shapes": (tuple(axes for _, axes in given.values()),)}
                if name in DYNAMO
                else {"dynamo": False, "opset_version": 17, "dynamic_axes": {k: axes for k, (_, axes) in given.items()}}
            ),
        )
    onnx.save(without_paths(onnx.load(file)), file)


def main() -> None:
    transformers.logging.set_verbosity_error()
    for name in sys.argv[1:] or MODELS:
        export(name, FOLDER / f"{name}.onnx")
        print(name, (FOLDER / f"{name}.onnx").stat().st_size)


if __name__ == "__main__":
    main()

"""Export networks of Keras through tf2onnx: channels last, transposes, and the graphs of its recurrent layers.

Numbers are the same in each run; names, which tf2onnx counts up, may be others. It needs TensorFlow, which the project
does not; make an environment of its own for it:

    python -m venv build/keras
    build/keras/bin/pip install tensorflow-cpu tf2onnx
    build/keras/bin/python -m tests.models_roundtrip.make_keras [name ...]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # it talks

import keras
import onnx
import tensorflow as tf
import tf2onnx
from keras import layers

FOLDER = Path(__file__).parent / "models"


def convolutional() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(6.0),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.Activation("swish"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )


def separable() -> keras.Model:
    x = keras.Input((12, 12, 4))
    y = layers.SeparableConv2D(8, 3, padding="same", activation="relu")(x)
    z = layers.Conv2D(8, 1)(x)
    y = layers.Add()([y, layers.LeakyReLU()(z)])
    y = layers.Multiply()([y, layers.Dense(8, activation="sigmoid")(layers.GlobalAveragePooling2D()(y))])
    y = layers.Conv2DTranspose(4, 3, strides=2, padding="same")(y)
    return keras.Model(x, [layers.UpSampling2D()(y), layers.GlobalMaxPooling2D()(y)])


def any_size() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((None, None, 1)),
            layers.Conv2D(4, 3, padding="same", activation="elu"),
            layers.AveragePooling2D(2),
            layers.Conv2D(4, 3, padding="valid", dilation_rate=2),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3),
        ]
    )


def recurrent() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(20, 8),
            layers.Bidirectional(layers.LSTM(5, return_sequences=True)),
            layers.GRU(4),
            layers.Dense(2),
        ]
    )


def attending() -> keras.Model:
    x = keras.Input((None, 8))
    y = layers.MultiHeadAttention(2, 4)(x, x)
    y = layers.LayerNormalization()(x + y)
    y = layers.Conv1D(8, 3, padding="causal", activation="softplus")(y)
    return keras.Model(x, layers.Dense(3)(layers.GlobalAveragePooling1D()(y)))


MODELS: dict[str, tuple[Callable[[], keras.Model], int]] = {
    "keras_convolutional": (convolutional, 13),
    "keras_separable": (separable, 11),
    "keras_any_size": (any_size, 15),
    "keras_recurrent": (recurrent, 17),
    "keras_attending": (attending, 18),
}


def export(name: str, file: Path, seed: int = 0) -> None:
    """Write one network."""
    build, opset = MODELS[name]
    keras.utils.set_random_seed(seed)
    model = build()
    for value in model.weights:  # statistics as training leaves them
        if value.path.endswith(("moving_mean", "beta", "bias")):
            value.assign(0.3 * keras.random.normal(value.shape))
        elif value.path.endswith(("moving_variance", "gamma")):
            value.assign(keras.random.uniform(value.shape, 0.5, 2))
    given = [tf.TensorSpec((None, *one.shape[1:]), one.dtype, name=f"x{i}") for i, one in enumerate(model.inputs)]
    call = tf.function(lambda *x: model(list(x) if len(x) > 1 else x[0]), input_signature=given)
    made, _ = tf2onnx.convert.from_function(call, input_signature=given, opset=opset)
    onnx.save(made, file)


def main() -> None:
    for name in sys.argv[1:] or MODELS:
        file = FOLDER / f"{name}.onnx"
        export(name, file)
        print(name, file.stat().st_size)


if __name__ == "__main__":
    main()

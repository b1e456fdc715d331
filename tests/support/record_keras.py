"""Record models of Keras with their results: ``python -m tests.support.record_keras FILE.zip``, with TensorFlow.

With ``--old`` models of Keras 2, by `tf_keras`; with ``--small`` those of masks and of half precision; with
``--volumes`` one of images in time; with ``--further`` one of more layers and an open length, also as TensorFlow saves
and freezes it. They are added to it.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np


def network(keras, old: bool):
    """One model of many layers: shared ones, models inside of it, recurrent ones, two inputs and outputs."""
    layers = keras.layers
    image, rows = layers.Input((8, 9, 3), name="image"), layers.Input((5, 6), name="rows")
    x = layers.Rescaling(0.5, offset=-0.25)(image)
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU(6.0)(x)
    x = layers.SeparableConv2D(6, 3, padding="same", activation="swish")(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="hard_sigmoid")(x)
    x = layers.ZeroPadding2D(((1, 0), (0, 1)))(x)
    x = layers.DepthwiseConv2D(3)(x)
    x = layers.PReLU(shared_axes=[1, 2])(x)
    x = layers.MaxPooling2D(2, padding="same")(x)
    x = layers.Dropout(0.5)(layers.GlobalAveragePooling2D()(x))
    y = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(rows)
    y = layers.LayerNormalization()(y)
    y = layers.Add()([y, layers.MultiHeadAttention(2, 3)(y, y)]) if not old else y
    y = layers.TimeDistributed(layers.Dense(5, activation="gelu"))(y)
    y = layers.Bidirectional(layers.GRU(3, return_sequences=True, reset_after=False), merge_mode="sum")(y)
    y = layers.SimpleRNN(4, go_backwards=True)(y)
    inner = keras.Sequential([layers.Input((4,)), layers.Dense(4, activation="relu"), layers.BatchNormalization()])
    x, y = inner(x), inner(y)
    together = layers.Concatenate()([x, y, layers.Multiply()([x, y]), layers.Average()([x, y])])
    return keras.Model([image, rows], [layers.Dense(3, activation="softmax")(together), layers.Dot(1)([x, y])])


def masked(keras, old: bool):
    """A model whose layers make, pass on, merge and read masks."""
    layers = keras.layers
    words, steps = layers.Input((7,), dtype="int32", name="words"), layers.Input((7, 5), name="steps")
    x = layers.Embedding(4, 5, mask_zero=True)(words)
    y = layers.Dense(5)(layers.Masking(mask_value=0.5)(steps))
    z = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(2, 3)(x, x)]))
    z = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(layers.Concatenate()([z, y]))
    last = layers.GRU(4, go_backwards=True)(layers.Concatenate(axis=1)([z, layers.Dense(6)(y)]))
    all_steps = layers.SimpleRNN(3, return_sequences=True)(y)
    return keras.Model([words, steps], [last, all_steps, layers.GlobalAveragePooling1D()(z)])


def mixed(keras, old: bool):
    """A model that computes in half precision, but for its last layer."""
    layers = keras.layers
    (keras.mixed_precision.set_global_policy if old else keras.config.set_dtype_policy)("mixed_float16")
    image = layers.Input((8, 9, 3), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(layers.Rescaling(0.5)(image))
    x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    x = layers.MultiHeadAttention(2, 3)(*[layers.Reshape((-1, 8))(x)] * 2)
    return keras.Model(image, layers.Dense(3, activation="softmax", dtype="float32")(layers.LSTM(4)(x)))


def volumes(keras, old: bool):
    """A model of images in time: states that are images, volumes that grow, pools to a given size."""
    layers = keras.layers
    frames = layers.Input((4, 5, 6, 2), name="frames")
    x = layers.RandomRotation(0.2)(layers.Reshape((4 * 5, 6, 2))(frames))
    x = layers.ConvLSTM2D(3, (3, 2), padding="same", return_sequences=True)(layers.Reshape((4, 5, 6, 2))(x))
    backwards = {"go_backwards": True, "recurrent_activation": "hard_sigmoid", "use_bias": False, "return_state": True}
    y, hidden, cell = layers.ConvLSTM1D(2, 2, strides=2, **backwards)(layers.Reshape((4, 5, 18))(x))
    again = layers.ConvLSTM1D(2, 3, padding="same")(layers.Reshape((4, 2, 45))(x), initial_state=[hidden, cell])
    z = layers.Conv3DTranspose(2, 3, strides=(1, 2, 3), padding="same")(x)
    z = layers.AdaptiveAveragePooling3D((2, 4, 3))(layers.Conv3DTranspose(2, 2, activation="relu")(z))
    return keras.Model(frames, [y, again, layers.AdaptiveMaxPooling2D(3)(layers.Reshape((8, 3, 2))(z))])


def further(keras):
    """A model of an open length: attention of three kinds, cells, ops, a causal mask, and loops when it is frozen."""
    layers, ops = keras.layers, keras.ops
    x = steps = layers.Input((None, 8), name="steps")
    y = layers.RNN([layers.LSTMCell(6), layers.GRUCell(8)], return_sequences=True)(x)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(y, y, use_causal_mask=True))
    x = layers.GroupQueryAttention(4, 4, 2)(x, y) + layers.Attention(use_scale=True)([x, y])
    z, scores = layers.MultiHeadAttention(2, 3)(x, layers.AdditiveAttention()([x, y]), return_attention_scores=True)
    x = layers.Conv1D(4, 3, padding="causal")(ops.concatenate([z, ops.flip(x, 2), ops.roll(y, 3, 2)], 2))
    x = layers.SpectralNormalization(layers.Dense(5))(layers.UpSampling1D(2)(x))
    found = [ops.logsumexp(x, 1), ops.std(x, axis=1), ops.repeat(x[:, -1], 2, 1), layers.GlobalMaxPooling1D()(z)]
    return keras.Model(steps, [ops.concatenate(found, 1), scores])


def record_further(keras, random, archive, folder):
    """Write that model in each form that keeps it."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    model = further(keras)
    for weight in model.weights:
        weight.assign(random.normal(0, 0.4, weight.shape) + (weight.name == "gamma"))
    steps = random.normal(size=(3, 6, 8)).astype(np.float32)
    first, second = model(steps, training=False)
    np.savez(folder / "further.npz", steps=steps, first=first, second=second)
    model.save(folder / "further.keras")
    model.save(folder / "further.h5")
    tf.saved_model.save(model, str(folder / "further_saved"))
    run = tf.function(lambda x: model(x, training=False)).get_concrete_function(tf.TensorSpec((None, None, 8)))
    frozen = convert_variables_to_constants_v2(run).graph.as_graph_def().SerializeToString()
    (folder / "further.pb").write_bytes(frozen)
    for path in sorted(folder.rglob("further*")):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.name != "fingerprint.pb":
                archive.write(file, file.relative_to(folder))


def drawn(random, kind):
    """Draw an input: words and steps some of which are masked, or other numbers."""
    if kind.dtype == "int32":
        return random.integers(0, 4, (5, *kind.shape[1:])).astype(np.int32) * (np.arange(5)[:, None] > 0)
    values = random.normal(size=(5, *kind.shape[1:])).astype(np.float32)
    return np.where(random.integers(0, 2, (5, 7, 1)) > 0, values, np.float32(0.5)) if kind.shape[1] == 7 else values


def record_small(keras, old: bool, random, archive, folder, makes):
    """Write models, with inputs and results by their order."""
    for make in makes:
        model, stem = make(keras, old), f"{make.__name__}_{2 if old else 3}"
        for weight in model.weights:
            values = random.normal(0, 0.4, weight.shape)
            weight.assign(np.abs(values) + 0.5 if "variance" in getattr(weight, "path", weight.name) else values)
        inputs = [drawn(random, kind) for kind in model.inputs]
        results = model(inputs if len(inputs) > 1 else inputs[0], training=False)
        results = results if isinstance(results, list) else [results]
        np.savez(folder / f"{stem}.npz", *map(np.asarray, results), **dict(zip("ab", inputs, strict=False)))
        for suffix in (".npz", ".keras", ".h5"):
            if suffix == ".h5":
                model.save(folder / f"{stem}.h5")
            elif suffix == ".keras":
                model.save(folder / f"{stem}.keras")
            archive.write(folder / f"{stem}{suffix}", f"{stem}{suffix}")


def main() -> None:
    """Write the models."""
    old = "--old" in sys.argv
    if old:
        import tf_keras as keras
    else:
        import keras
    random = np.random.default_rng(7)
    makes = {"--small": (masked, mixed), "--volumes": (volumes,)}
    asked = next((name for name in (*makes, "--further") if name in sys.argv), None)
    if asked is not None:
        with (
            tempfile.TemporaryDirectory() as scratch,
            zipfile.ZipFile(sys.argv[1], "a", zipfile.ZIP_DEFLATED) as archive,
        ):
            if asked in makes:
                record_small(keras, old, random, archive, Path(scratch), makes[asked])
            else:
                record_further(keras, random, archive, Path(scratch))
        return
    model = network(keras, old)
    for weight in model.weights:
        values = random.normal(0, 0.5, weight.shape)
        weight.assign(np.abs(values) + 0.5 if "variance" in getattr(weight, "path", weight.name) else values)
    inputs = [random.normal(size=(3, *each.shape[1:])).astype(np.float32) for each in model.inputs]
    results = [np.asarray(each) for each in model(inputs, training=False)]
    stem = "keras_2" if old else "keras_3"
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(sys.argv[1], "a", zipfile.ZIP_DEFLATED) as archive:
        folder = Path(scratch)
        np.savez(folder / f"{stem}.npz", image=inputs[0], rows=inputs[1], first=results[0], second=results[1])
        model.save(folder / f"{stem}.keras")
        model.save(folder / f"{stem}.h5")
        if not old:
            model.export(folder / "saved_model", verbose=False)
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "fingerprint.pb":
                archive.write(path, path.relative_to(folder))


if __name__ == "__main__":
    main()

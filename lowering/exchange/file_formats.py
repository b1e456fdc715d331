"""Files of models: which format a file has, by its content, and how it is read and written."""

from __future__ import annotations

import inspect
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from graphrewrite import Graph, Module
from graphrewrite.errors import did_you_mean
from graphrewrite.formats import load as load_document
from graphrewrite.formats.documents import TEXTS
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.foreign_files import first_bytes, foreign_file, foreign_folder
from graphrewrite.lowering.exchange.hooks import Hook
from graphrewrite.lowering.exchange.keras_import import from_keras
from graphrewrite.lowering.exchange.onnx_import import from_onnx
from graphrewrite.lowering.exchange.tensorflow_import import from_tensorflow
from graphrewrite.lowering.exchange.tflite.model import is_tflite
from graphrewrite.lowering.exchange.tflite_import import from_tflite
from graphrewrite.lowering.exchange.torch.archive import is_exported_program
from graphrewrite.lowering.exchange.torch_import import from_torch
from graphrewrite.op.given_ops import OpOrDialect
from graphrewrite.op.op import Op

__all__ = ["ENDINGS", "load"]

_DOCUMENTS = (".txt", ".graph", ".json", ".npz")
_FROZEN = (".pb", ".pbtxt")
ENDINGS = (".onnx", ".tflite", ".pt2", ".keras", ".h5", *_FROZEN, *_DOCUMENTS)
"""How the names of files end that can be read."""
_ZIP = b"PK\3\4"
_USUAL = {"batch": "N", "entries": (), "hooks": ()}
"""Options of readers where they are not given; None otherwise."""
_TO_ONNX = "torch.onnx.export(model, example_inputs, 'model.onnx', dynamo=True); or export the module (.pt2)"


def load(
    path: str | PathLike[str],
    *,
    ops: Iterable[OpOrDialect] = (),
    plugins: Iterable[str] = (),
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    constants: Mapping[str, Any] | None = None,
    batch: str | None = "N",
    outputs: Sequence[str] | None = None,
    signature: str | None = None,
    entries: Iterable[Entry] = (),
    hooks: Iterable[Hook] = (),
) -> Graph | Module:
    r"""Read a graph or module from a file of any format that is known, recognised by its content.

    Nothing in a file is executed.

    Parameters
    ----------
    path : path
        A model of ONNX, TensorFlow Lite or Keras, a frozen graph of TensorFlow or the folder of a saved model, an
        exported program of PyTorch (.pt2), or a document that `save` has written.
    ops : iterable of Op and Dialect
        Ops of a document that are not in the library.
    plugins : iterable of str
        Names of plugins whose ops and importers are known, too; see `graphrewrite.plugin`.
    shapes, constants, batch, outputs, signature, entries, hooks
        As of the reader of the format, such as `from_onnx` and `from_tensorflow`.

    Returns
    -------
    Graph or Module
        As `from_onnx`, `from_tflite`, `from_keras`, `from_tensorflow` or `from_torch` of `graphrewrite.lowering` gives
        it, or as it was saved.

    Raises
    ------
    ModelError
        If there is no such file, or it is of another format, with how it becomes one that can be read; or the reader of
        its format does not take an option that is given.
    SerialError, ParseError
        If a document is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from graphrewrite import load, models, save
    >>> network = load(models.path("digits"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(network, Path(folder) / "digits.json")
    ...     load(Path(folder) / "digits.json") == network
    True
    """
    source = Path(path)
    reader = _reader(source)
    taken = inspect.signature(reader).parameters
    options: dict[str, Any] = {"shapes": shapes, "constants": constants, "batch": batch, "outputs": outputs}
    options |= {"signature": signature, "entries": tuple(entries), "hooks": tuple(hooks)}
    given = {name: value for name, value in options.items() if value != _USUAL.get(name)}
    for name in sorted(given.keys() - taken.keys()):
        raise ModelError(
            f"{source.name!r} is read by {reader.__name__}, which has no option {name!r}; "
            f"it has {', '.join(each for each in taken if each in options) or 'none of these'}"
        )
    if reader is load_document:
        given["ops"] = (*_levels(), *ops)
    if "plugins" in taken:
        given["plugins"] = tuple(plugins)
    found: Graph | Module = reader(source, **given)
    return found


def _reader(source: Path) -> Callable[..., Any]:
    """Return the function that reads the format of a file or folder."""
    head = _head(source)
    if source.is_dir():
        if not any(source.glob("saved_model.pb*")):
            raise ModelError(f"{source.name!r} {foreign_folder(source)}")
        return from_tensorflow
    members = _members(source, head)
    if (what := foreign_file(source, head, members)) is not None:
        raise ModelError(f"{source.name!r} {what}")
    if _is_onnx(head):
        return from_onnx
    if is_tflite(head) or source.suffix.lower() == ".tflite":
        return from_tflite
    if is_exported_program(members) or source.suffix.lower() == ".pt2":
        return from_torch
    framework = _framework(head, members)
    if framework == "Keras":
        return from_keras
    if framework == "PyTorch":
        raise ModelError(f"{source.name!r} is a model of PyTorch; write it as ONNX: {_TO_ONNX}")
    if _is_document(source, head):
        return load_document
    # A frozen graph begins with a node, as no file of ONNX does.
    if source.suffix.lower() in _FROZEN or (source.suffix.lower() == ".onnx" and head.startswith(b"\n")):
        return from_tensorflow
    if source.suffix.lower() == ".onnx":
        return from_onnx
    known = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
    raise ModelError(f"{source.name!r} is of no format that is known here; the name of a model ends in {known}")


def _head(source: Path) -> bytes:
    """Return the first bytes of a file."""
    if source.is_symlink() and not source.exists():
        raise ModelError(f"{source.name!r} is a link to {str(source.readlink())!r}, which is not there")
    if not source.exists():
        near = [p.name for p in source.parent.glob("*") if p.suffix.lower() in ENDINGS]
        raise ModelError(f"there is no file {str(source)!r}{did_you_mean(source.name, near) or '; check its path'}")
    if source.is_dir():
        return b""
    try:
        return first_bytes(source)
    except OSError as error:
        raise ModelError(f"{source.name!r} cannot be read: {error.strerror}") from None


def _members(source: Path, head: bytes) -> list[str]:
    """Return the names of what is in a zip file; none of other files."""
    if not head.startswith(_ZIP):
        return []
    try:
        with zipfile.ZipFile(source) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return []


def _framework(head: bytes, members: list[str]) -> str | None:
    """Return the framework whose own format a file has, if it is one."""
    if head.startswith(b"\x89HDF\r\n") or "model.weights.h5" in members:
        return "Keras"
    if head[:1] == b"\x80" and head[1:2] in b"\2\3\4\5":  # a pickle, as torch.save wrote it before version 1.6
        return "PyTorch"
    is_torch = any(name.endswith(("data.pkl", "archive_format", "model.json")) for name in members)
    return "PyTorch" if is_torch else None


def _is_document(source: Path, head: bytes) -> bool:
    return head.startswith((_ZIP, *TEXTS)) or head.lstrip()[:1] == b"{" or source.suffix.lower() in _DOCUMENTS


def _is_onnx(head: bytes) -> bool:
    """Whether a file begins with the version of ONNX's format, the first field of its message."""
    return head[:1] == b"\x08" and 3 <= head[1] <= 32 and head[2:3] in (b"\x12", b"\x1a", b"\x3a", b"\x42")


def _levels() -> tuple[Op, ...]:
    """Ops of documents that are not in the library: those of hardware, and those between levels."""
    from graphrewrite.hdl import COMPONENTS
    from graphrewrite.lowering.streaming.bridge import enter, leave

    return (*(component.op for component in COMPONENTS), enter, leave)

"""Read a file of Keras: the architecture, which is JSON, and the arrays of weights in an HDF5 file."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from graphrewrite.errors import MissingDependencyError, did_you_mean
from graphrewrite.lowering.errors import ModelError

__all__ = ["Archive", "Place", "read_archive"]

_LARGEST = 1 << 33
"""Most bytes that a member of an archive may have."""
_MOST_FILLED = 1 << 26
_MOST_PACKED = 1000
"""Most bytes of a weight that the file holds fewer of, and how many times more these may be."""


@dataclass(frozen=True)
class Place:
    """Where the weights of a layer are.

    Attributes
    ----------
    path : str
        The group in a ``.keras`` file, which follows from the order of the layers.
    owners : tuple of str
        Names of the layers around it and of itself, by which an ``.h5`` file knows it.
    """

    path: str = ""
    owners: tuple[str, ...] = ()

    def inner(self, path: str, name: str) -> Place:
        """Return the place of something inside."""
        return Place(f"{self.path}/{path}" if self.path else path, (*self.owners, name) if name else self.owners)


class Archive(Protocol):
    """A file that is open: its architecture, the number of the version of Keras, and the weights of layers."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The architecture."""

    @property
    def version(self) -> int:
        """The first number of the version of Keras."""

    def arrays(self, place: Place, names: Sequence[str]) -> list[np.ndarray]:
        """Return the weights of a layer, of which the names are known."""


def read_archive(path: Path) -> Archive:
    """Read a file.

    Raises
    ------
    ModelError
        If it is missing, damaged, or holds weights only.
    """
    try:
        import h5py
    except ImportError:
        raise MissingDependencyError.of_extra("models of Keras", "keras") from None
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                config = json.loads(_member(archive, "config.json", path))
                version = json.loads(_member(archive, "metadata.json", path)).get("keras_version")
                weights = h5py.File(io.BytesIO(_member(archive, "model.weights.h5", path)), "r")
            return _Zipped(config, weights, path.name, _major(version))
        stored = h5py.File(path, "r")
        if "model_config" not in stored.attrs:
            raise ModelError(f"{path.name!r} has weights only; save the whole model: model.save('model.keras')")
        version = _major(stored.attrs.get("keras_version"))
        return _Hdf5(json.loads(stored.attrs["model_config"]), stored["model_weights"], path.name, version)
    except FileNotFoundError:
        near = did_you_mean(path.name, [p.name for p in path.parent.glob("*")])
        raise ModelError(f"there is no file {str(path)!r}{near}") from None
    except (OSError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, RecursionError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:100]
        raise ModelError(f"{path.name!r} is no model of Keras, or damaged ({reason}); save it again") from None


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    if name not in archive.namelist():
        raise ModelError(f"{path.name!r} is no model of Keras: it has no {name!r}")
    if archive.getinfo(name).file_size > _LARGEST:
        raise ModelError(f"{name!r} in {path.name!r} has {archive.getinfo(name).file_size} bytes, more than {_LARGEST}")
    return archive.read(name)


@dataclass(frozen=True)
class _Zipped:
    """A ``.keras`` file: the weights of a layer are numbered."""

    config: Mapping[str, Any]
    weights: Any = field(repr=False)
    file: str
    version: int
    read: dict[tuple[str, ...], str] = field(default_factory=dict, repr=False)

    def arrays(self, place: Place, names: Sequence[str]) -> list[np.ndarray]:
        if not names:
            return []
        group = _member_of(self.weights, f"{place.path}/vars")
        if not group and (shared := self.shared(place)) is not None:
            group = _member_of(self.weights, f"{shared}/vars")
        elif group:
            self.read[place.owners] = place.path
        found = [] if group is None else sorted(group, key=lambda key: int(key) if key.isdigit() else -1)
        if len(found) < len(names):
            raise ModelError(
                f"{self.file!r} has {len(found)} weights at {place.path!r}, and {', '.join(names)} are needed"
            )
        return [_array(_member_of(group, key), f"{place.path}/{key}") for key in found[: len(names)]]

    def shared(self, place: Place) -> str | None:
        """Return where a layer is stored that is in several models: at the first of its places only."""
        tails = {owners: _common_end(owners, place.owners) for owners in self.read}
        longest = max(tails.values(), default=0)
        paths = {self.read[owners] for owners, tail in tails.items() if tail == longest}
        return paths.pop() if longest and len(paths) == 1 else None


def _common_end(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many names at the end of two lists are the same."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@dataclass(frozen=True)
class _Hdf5:
    """An ``.h5`` file: the weights of a layer have names."""

    config: Mapping[str, Any]
    weights: Any = field(repr=False)
    file: str
    version: int

    def arrays(self, place: Place, names: Sequence[str]) -> list[np.ndarray]:
        if not names:
            return []
        top = _member_of(self.weights, place.owners[0])
        if top is None:
            near = did_you_mean(place.owners[0], self.weights)
            raise ModelError(f"{self.file!r} has no weights of layer {place.owners[0]!r}{near}")
        listed = [_text(name) for name in top.attrs.get("weight_names", ())]
        return [self.array(top, listed, place, name) for name in names]

    def array(self, top: Any, listed: Sequence[str], place: Place, name: str) -> np.ndarray:
        """Return the weight of which most of the owners occur in the name, in their order."""
        ending = [each for each in listed if each.split("/")[-1].split(":")[0] == name]
        if not ending and len(listed) == 1 and listed[0].split("/")[-1].startswith("variable"):
            ending = [*listed]  # the only weight of a layer that gave it no name
        scores = [sum(owner in each.split("/") for owner in place.owners) for each in ending]
        best = [each for each, score in zip(ending, scores, strict=True) if score == max(scores)]
        if len(best) != 1:
            raise ModelError(
                f"{self.file!r} has {len(best)} weights {name!r} of layer {'/'.join(place.owners)!r}; save the model "
                "as .keras"
            )
        return _array(_member_of(top, best[0]), best[0])


def _array(stored: Any, what: str) -> np.ndarray:
    """Return a weight; one that is kept in another file, or is larger than the file can hold, is refused."""
    if not hasattr(stored, "shape") or stored.external or stored.is_virtual:
        raise ModelError(f"the weight {what!r} is not in the file; files beside it are never read")
    if stored.dtype.kind not in "fiub":
        raise ModelError(f"the weight {what!r} has numbers of type {stored.dtype}, which are not supported")
    if stored.nbytes > max(_MOST_FILLED, _MOST_PACKED * stored.id.get_storage_size()):
        raise ModelError(
            f"the weight {what!r} has {stored.nbytes} bytes, and {stored.id.get_storage_size()} in the file"
        )
    return np.asarray(stored[()])


def _member_of(group: Any, path: str) -> Any:
    """Return what a path names in a group, or None; links to other files are never followed."""
    import h5py

    found = group
    for name in path.split("/"):
        link = found.get(name, getlink=True) if isinstance(found, h5py.Group) else None
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            raise ModelError(f"{path!r} is a link, which is not followed; save the model again")
        found = found[name]
    return found


def _major(version: Any) -> int:
    """Return the first number of a version; old files do not have one."""
    number = _text(version or "2").split(".")[0]
    return int(number) if number.isdigit() else 2


def _text(name: Any) -> str:
    return name.decode("utf-8") if isinstance(name, bytes) else str(name)

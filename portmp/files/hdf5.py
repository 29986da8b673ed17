"""Arrays in HDF5: a group with an attribute that names the format, and a dataset for each plane."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from portmp import formats
from portmp.arrays.creation import Where, opened
from portmp.arrays.storing import restored
from portmp.errors import BackendUnavailable, InputError
from portmp.files.arrays import Rows
from portmp.files.content import afford, reading, regular
from portmp.files.target import check_place, replace
from portmp.formats import Format
from portmp.runtime.planes import Shape

SUFFIXES = (".h5", ".hdf5")
FORMAT, DTYPE, PLANE = "format", "dtype", "plane"


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise BackendUnavailable("h5py is not installed: pip install '.[hdf5]'") from None
    return h5py


def is_group(target: object) -> bool:
    """Whether something is a group (or a file) that h5py has opened."""
    kind = type(target)
    return kind.__module__.partition(".")[0] == "h5py" and hasattr(target, "create_dataset")


def write(
    group: Any, kind: Format | str, shape: Shape, parts: Sequence[np.ndarray[Any, Any] | Rows]
) -> None:
    """An array's planes, as they lie in memory, as datasets of an empty group."""
    if len(group):
        raise InputError(f"{group.name}: the group is not empty: it holds {', '.join(group)}")
    group.attrs[FORMAT if isinstance(kind, Format) else DTYPE] = str(kind)
    group.attrs["shape"] = np.array(shape, np.int64)
    for i, part in enumerate(parts):
        made, at = group.create_dataset(f"{PLANE}{i}", part.shape, part.dtype), 0
        if not isinstance(part, Rows):
            made[...] = part
            continue
        for block in part.blocks:
            made[at : at + len(block)] = block
            at += len(block)


def about(group: Any) -> tuple[Format | str, Shape]:
    """What array a group holds: its format, or its dtype's name, and its shape."""
    named = [key for key in (FORMAT, DTYPE) if key in group.attrs]
    if len(named) != 1 or "shape" not in group.attrs:
        raise InputError(f"{group.name}: holds no array of portmp's: attributes name none")
    name = str(group.attrs[named[0]])
    shape = tuple(int(n) for n in np.atleast_1d(group.attrs["shape"]))
    return formats.get(name) if named == [FORMAT] else name, shape


def read(group: Any, part: tuple[slice, ...] | None, device: Where) -> Any:
    """The array that a group holds, or a part of it; InputError where its datasets are not what its
    format has.
    """
    kind, shape = about(group)
    keys = [f"{PLANE}{i}" for i in range(len(group))]
    if sorted(group) != sorted(keys):
        raise InputError(f"{group.name}: planes expected, {', '.join(group)} found")
    if any(group[key].shape != shape for key in keys):
        raise InputError(f"{group.name}: planes of shape {shape} expected")
    if part is not None:
        shape = tuple([one.stop - one.start for one in part])
    afford(group.name, sum(math.prod(shape) * group[key].dtype.itemsize for key in keys))
    parts = [np.asarray(group[key][... if part is None else part]) for key in keys]
    is_format = isinstance(kind, Format)
    queue = opened(kind if isinstance(kind, Format) else np.dtype(kind), device)
    return restored(is_format, str(kind), shape, parts, queue)


def write_file(file: Path, *given: Any) -> None:
    """A file with one array in its root group, as ``write`` is given it; replaced in one step."""
    check_place(file)
    h5py = _h5py()

    def written(stream: BinaryIO) -> None:
        with h5py.File(stream, "w") as opened_:
            write(opened_, *given)

    replace(file, written)


@contextmanager
def file_read(file: Path) -> Iterator[Any]:
    """The root group of a file."""
    h5py = _h5py()
    with reading(file), regular(file) as stream, h5py.File(stream, "r") as found:
        yield found

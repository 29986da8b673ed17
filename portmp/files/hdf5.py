"""Arrays in HDF5: a group with an attribute that names the format, and a dataset for each plane."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays.creation import Where, opened
from portmp.arrays.storing import reduced, restored
from portmp.arrays.viewed import AnyArray
from portmp.errors import BackendUnavailable, InputError
from portmp.files.content import afford, reading, regular
from portmp.files.target import check_place, replace

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


def write(group: Any, array: AnyArray) -> None:
    """An array's planes as datasets of an empty group."""
    if len(group):
        raise InputError(f"{group.name}: the group is not empty: it holds {', '.join(group)}")
    _, (is_format, kind, shape, parts, _) = reduced(array)
    group.attrs[FORMAT if is_format else DTYPE] = kind
    group.attrs["shape"] = np.array(shape, np.int64)
    for i, part in enumerate(parts):
        group.create_dataset(f"{PLANE}{i}", data=part)


def read(group: Any, device: Where) -> Any:
    """The array that a group holds; InputError where its datasets are not what its format has."""
    named = [key for key in (FORMAT, DTYPE) if key in group.attrs]
    if len(named) != 1 or "shape" not in group.attrs:
        raise InputError(f"{group.name}: holds no array of portmp's: attributes name none")
    name = str(group.attrs[named[0]])
    shape = tuple(int(n) for n in np.atleast_1d(group.attrs["shape"]))
    keys = [f"{PLANE}{i}" for i in range(len(group))]
    if sorted(group) != sorted(keys):
        raise InputError(f"{group.name}: planes expected, {', '.join(group)} found")
    afford(group.name, sum(group[key].nbytes for key in keys))
    parts = [np.asarray(group[key][...]) for key in keys]
    queue = opened(formats.get(name) if named == [FORMAT] else np.dtype(name), device)
    return restored(named == [FORMAT], name, shape, parts, queue)


def write_file(file: Path, array: AnyArray) -> None:
    """A file with one array in its root group, replaced in one step."""
    check_place(file)
    memory = io.BytesIO()
    with _h5py().File(memory, "w") as opened_:
        write(opened_, array)
    replace(file, memory.getvalue())


def read_file(file: Path, device: Where) -> Any:
    """The array in the root group of a file."""
    h5py = _h5py()
    with reading(file), regular(file) as stream, h5py.File(stream, "r") as found:
        return read(found, device)

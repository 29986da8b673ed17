"""Arrays saved and loaded: the planes as they are, in NumPy's files or HDF5, or as text."""

from pathlib import Path
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays import creation, dtypes, manipulation
from portmp.arrays.creation import Where
from portmp.arrays.viewed import AnyArray
from portmp.errors import ArgumentError, InputError
from portmp.files import arrays, hdf5
from portmp.files.target import check_place
from portmp.formats import Format

PLAIN_KEY = "array"


def save(file: Any, array: AnyArray) -> None:
    """Write an array to *file*, without any loss; ``portmp.load`` gives it back.

    A name that ends with .npz (planes and the format's name), .h5 or .hdf5 (likewise; needs h5py),
    .npy (one limb, or plain numbers), .mtx, .csv or .txt (decimal text, with a comment that has
    format and shape, if it is no matrix of dd); or an empty group of a file that h5py has opened. A
    reader sees the old file or the whole new one.
    """
    if hdf5.is_group(file):
        hdf5.write(file, array)
        return
    path, array = _path(file, "save"), manipulation.checked(array, "save: array")
    if path.suffix.lower() in hdf5.SUFFIXES:
        hdf5.write_file(path, array)
    elif isinstance(array.dtype, Format):
        arrays.check_target(path, array.dtype)
        arrays.write(path, array)
    elif path.suffix.lower() == ".npz":
        check_place(path)
        arrays.write_members(path, {PLAIN_KEY: np.asarray(array)})
    else:
        raise InputError(f"{path}: plain numbers are saved as .npz, .h5 or .hdf5")


def load(file: Any, format: str | Format | None = None, device: Where = None) -> Any:
    """The array in *file*: in the format that it names, in *format*, or in the default one.

    Integers and truth values stay what they are, where no *format* is given. Nothing in a file is
    executed: pickles are never loaded. InputError where its content is not what it should be.
    """
    if hdf5.is_group(file):
        return _in_format(hdf5.read(file, device), format)
    path = _path(file, "load")
    if path.suffix.lower() in hdf5.SUFFIXES:
        return _in_format(hdf5.read_file(path, device), format)
    if path.suffix.lower() == ".npz" and format is None:
        members = arrays.headers(path)
        if list(members) == [PLAIN_KEY] and members[PLAIN_KEY].dtype.name in dtypes.PLAIN:
            return creation.asarray(arrays.members(path)[PLAIN_KEY], device=device)
    form = arrays.stored_format(path) or dtypes.default() if format is None else formats.get(format)
    return arrays.read(path, form, creation.opened(form, device).device)


def _path(file: Any, what: str) -> Path:
    try:
        return Path(file)
    except TypeError:
        raise ArgumentError(
            f"{what}: file: {type(file).__name__} given, a file's name comes first, or an empty "
            "group of h5py's"
        ) from None


def _in_format(found: AnyArray, format: str | Format | None) -> Any:
    return found if format is None else found.astype(format)

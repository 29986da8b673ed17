"""Arrays saved and loaded: the planes as they are, in NumPy's files or HDF5, or as text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays import creation, dtypes, manipulation
from portmp.arrays.array import Array, from_limbs
from portmp.arrays.creation import Where
from portmp.arrays.dtypes import Dtype
from portmp.arrays.viewed import AnyArray, everywhere
from portmp.errors import ArgumentError, InputError
from portmp.files import arrays, hdf5
from portmp.files.arrays import Rows
from portmp.files.content import afford, reading
from portmp.files.target import check_place
from portmp.formats import Format
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import Planes, Shape


@everywhere
def save(file: Any, array: AnyArray) -> None:
    """Write an array to *file*, without any loss; ``portmp.load`` gives it back.

    A name that ends with .npz (planes and the format's name), .h5 or .hdf5 (likewise; needs h5py),
    .npy (one limb, or plain numbers), .mtx, .csv or .txt (decimal text, with a comment that has
    format and shape, if it is no matrix of dd); or an empty group of a file that h5py has opened. A
    reader sees the old file or the whole new one. An array on several devices is written some rows
    at once, where it is no text; one of several processes by the first of them (all must call it).
    """
    path = None if hdf5.is_group(file) else checked_path(file, "save")
    view = manipulation.checked(array, "save: array").planes
    if path and isinstance(view, Planes) and path.suffix.lower() not in hdf5.SUFFIXES:
        arrays.write(path, Array(view))
        return
    none = [np.empty(view.shape, part) for part in view.parts]
    parts = moves.dense(view).read_parts() if view.size else none
    if path:
        save_parts(path, view.elements, view.shape, parts)
    else:
        hdf5.write(file, view.elements, view.shape, parts)


def check_target(path: str | Path, kind: Format | str) -> None:
    """Refuse, before anything is computed, a file that such elements cannot be written to."""
    file, suffix = Path(path), Path(path).suffix.lower()
    if suffix in hdf5.SUFFIXES or (suffix == ".npz" and not isinstance(kind, Format)):
        check_place(file)
    elif isinstance(kind, Format):
        arrays.check_target(file, kind)
    else:
        raise InputError(f"{file}: plain numbers are saved as .npz, .h5 or .hdf5")


def by_rows(path: Path, kind: Format | str) -> bool:
    """Whether ``save_parts`` writes such a file: no text, no .npy file of other than planes."""
    suffix = path.suffix.lower()
    plane = isinstance(kind, Format) and len(kind.parts) == 1 and not kind.coded
    return suffix in (*hdf5.SUFFIXES, ".npz") or (suffix == ".npy" and plane)


def save_parts(
    path: Path, kind: Format | str, shape: Shape, parts: Sequence[np.ndarray[Any, Any] | Rows]
) -> None:
    """What ``save`` writes of planes as they lie in memory, which may come row by row."""
    check_target(path, kind)
    if path.suffix.lower() in hdf5.SUFFIXES:
        hdf5.write_file(path, kind, shape, parts)
    else:
        arrays.write_parts(path, kind, parts)


def load(file: Any, format: str | Format | None = None, device: Where = None) -> Any:
    """The array in *file*: in the format that it names, in *format*, or in the default one.

    Integers and truth values stay what they are, where no *format* is given. Nothing in a file is
    executed: pickles are never loaded. InputError where its content is not what it should be.
    """
    if hdf5.is_group(file):
        return _in_format(hdf5.read(file, None, device), format)
    path = checked_path(file, "load")
    if path.suffix.lower() in hdf5.SUFFIXES:
        with hdf5.file_read(path) as group:
            return _in_format(hdf5.read(group, None, device), format)
    if path.suffix.lower() == ".npz" and format is None:
        members = arrays.headers(path)
        if list(members) == [key := arrays.PLAIN_KEY] and members[key].dtype.name in dtypes.PLAIN:
            return creation.asarray(arrays.members(path)[key], device=device)
    form = arrays.stored_format(path) or dtypes.default() if format is None else formats.get(format)
    return arrays.read(path, form, creation.opened(form, device).device)


def stored_format(path: str | Path) -> Format | None:
    """The format that a file names, if it names one."""
    if Path(path).suffix.lower() not in hdf5.SUFFIXES:
        return arrays.stored_format(path)
    with hdf5.file_read(Path(path)) as group:
        kind, _ = hdf5.about(group)
    return kind if isinstance(kind, Format) else None


Stored = tuple[Dtype, Shape, Callable[[tuple[slice, ...], Where], AnyArray]]
"""An array in a file: what ``load`` makes of it, its shape, and what loads slices of it."""


@contextmanager
def stored(path: Path, format: Any, turn: int = 0, turns: int = 1) -> Iterator[Stored | None]:
    """A file of which parts are loaded; None of one that is read as a whole: text, what is packed,
    standard input. *turn*, *turns*: as of ``arrays.mapped``.
    """
    form: Dtype | None = None if format is None else formats.get(format)
    if path.suffix.lower() in hdf5.SUFFIXES:
        with hdf5.file_read(path) as group:
            kind, shape = hdf5.about(group)
            to = form or (kind if isinstance(kind, Format) else np.dtype(kind))
            yield to, shape, lambda *some: hdf5.read(group, *some).astype(to, copy=False)
        return
    found = arrays.mapped(path, turn, turns)
    planes = [p for name, p in (found or {}).items() if name != arrays.FORMAT_KEY]
    if found is None or len({plane.shape for plane in planes}) != 1:
        yield None  # what is wrong reading it as a whole tells
        return
    if form is None and list(found) == [arrays.PLAIN_KEY] and planes[0].dtype.name in dtypes.PLAIN:
        form = planes[0].dtype
    form = form or arrays.stored_format(path) or dtypes.default()

    def part(index: tuple[slice, ...], where: Where) -> AnyArray:
        mine = {name: plane[index] if plane.ndim else plane for name, plane in found.items()}
        afford(str(path), sum(plane.nbytes for plane in mine.values()))
        if isinstance(form, Format):
            return from_limbs(arrays.limbs(path, mine, form), form, where)
        return creation.asarray(np.asarray(mine[arrays.PLAIN_KEY]), device=where)

    with reading(path):
        yield form, planes[0].shape, part


def checked_path(file: Any, what: str) -> Path:
    try:
        return Path(file)
    except TypeError:
        raise ArgumentError(
            f"{what}: file: {type(file).__name__} given, a file's name comes first, or an empty "
            "group of h5py's"
        ) from None


def _in_format(found: AnyArray, format: str | Format | None) -> Any:
    return found if format is None else found.astype(format)

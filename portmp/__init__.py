"""Arithmetic beyond float64 on GPUs of any vendor, with the same bits on every device.

>>> import portmp as mp
>>> a = mp.array([["1.1", "2.2"], ["3.3", "4.4"]], "qd")
>>> c = a @ a

Functions on arrays have the names of the array API standard and of NumPy. All are loaded when one
is first used, so that ``import portmp`` and ``portmp --help`` are quick. Which there are, and
where, ``__init__.pyi`` alone says.
"""

import functools
import importlib
import importlib.util
import re
import threading
from pathlib import Path
from typing import Any

from portmp import errors as errors
from portmp.definition import __version__ as __version__
from portmp.errors import PortmpError as PortmpError

_PUBLIC = ("portmp.kernels", "portmp.linalg", "portmp.nbody", "portmp.random")
"""Packages that users import, and no other module of the package."""
_FIRST = ("cli", "definition", "errors", "formats", "networks")
"""What needs no lock: ``portmp.formats``, which users import as well, and what it is made of; and
what loads the others itself."""

_loading = threading.RLock()
"""One thread loads at a time: Python's own locks, one for each module, cross where one thread asks
for a module and another for its package, and then modules are met half loaded. The packages above
take this one while they load, so they are asked for before it is taken. ``portmp.formats`` needs
none: it is whole before anything else is loaded with it. What lies deeper, as
``portmp.linalg.norms``, is not for threads to ask for first."""

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_PLACES = {
    name: module for module, name in re.findall(r"^from (\S+) import \w+ as (\w+)$", _STUB, re.M)
}
"""Public names, and the modules that have them."""
__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    found = _found(name)
    globals()[name] = found
    return found


def _found(name: str) -> Any:
    place = _PLACES.get(name)
    if place is not None:
        _load_arrays()
        return _loaded(place, name)
    if name.startswith("_"):
        raise AttributeError(f"module 'portmp' has no attribute {name!r}")
    if name in _FIRST:
        return importlib.import_module(f"portmp.{name}")
    if importlib.util.find_spec(f"portmp.{name}"):
        importlib.import_module("portmp.formats")
        return _module(f"portmp.{name}")
    from portmp.arrays import not_here

    raise AttributeError(not_here.said(name) or f"module 'portmp' has no attribute {name!r}")


def _module(name: str) -> Any:
    """A module, loaded by this thread or by another one: whole."""
    package = ".".join(name.split(".")[:2])
    if package in _PUBLIC:
        importlib.import_module(package)
    with _loading:
        return importlib.import_module(name)


def _loaded(place: str, name: str) -> Any:
    """What a module has, or the module of that name in a package."""
    if place == "portmp":
        return _module(f"portmp.{name}")
    module = _module(place)
    if hasattr(module, "__path__") and name not in module.__dict__:
        return _module(f"{place}.{name}")
    return getattr(module, name)


@functools.cache
def _load_arrays() -> None:
    """All functions on arrays, so that no thread has to load some of them later."""
    with _loading:
        for module in ("portmp.formats", "portmp.arrays.numpy_names", *_PLACES.values()):
            if module.startswith(("portmp.formats", "portmp.arrays.")):
                importlib.import_module(module)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

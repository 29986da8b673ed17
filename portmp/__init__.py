"""Arithmetic beyond float64 on GPUs of any vendor, with the same bits on every device.

>>> import portmp as mp
>>> a = mp.array([["1.1", "2.2"], ["3.3", "4.4"]], "qd")
>>> c = a @ a

Functions on arrays have the names of the array API standard and of NumPy. All are loaded when one
is first used, so that ``import portmp`` and ``portmp --help`` are quick. Which there are, and
where, ``__init__.pyi`` says, and ``__all__`` of the modules of which it takes all.
"""

import functools
import importlib
import importlib.util
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _places(package: str) -> dict[str, str]:
    """The public names of a package, and the modules that have them, by its stub.

    Of modules of which the stub takes all, by their ``__all__``, which is read and not run.
    """
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    text = stub.read_text(encoding="utf-8")
    found = {
        name: module for module, name in re.findall(r"^from (\S+) import \w+ as (\w+)$", text, re.M)
    }
    for module in re.findall(rf"^from {package}\.(\S+) import \*$", text, re.M):
        source = stub.parent.joinpath(*module.split(".")).with_suffix(".py")
        lists = re.findall(r"^__all__ \+?= \[([^\]]*)\]", source.read_text(encoding="utf-8"), re.M)
        found |= dict.fromkeys(re.findall(r"\w+", " ".join(lists)), f"{package}.{module}")
    return found


def _names(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__all__``, ``__getattr__`` and ``__dir__``: names are loaded when first used.

    So no package imports its own modules while it is imported itself. Python imports a module's
    package before the module, with a lock for each: of two threads, one of which asks for the
    package and one for the module, each would hold the lock that the other one waits for. Imports
    that only run downwards (from a module to its package, and to what it imports) cannot cross.
    """
    places = _places(package)

    def named(name: str) -> Any:
        place = places.get(name)
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = _loaded(place, name)
        setattr(sys.modules[package], name, found)
        return found

    return list(places), named, lambda: sorted({*vars(sys.modules[package]), *places})


def _loaded(place: str, name: str) -> Any:
    """What a module has, or the module of that name in a package."""
    module = importlib.import_module(place)
    if hasattr(module, "__path__") and importlib.util.find_spec(f"{place}.{name}"):
        return importlib.import_module(f"{place}.{name}")
    return getattr(module, name)


_PLACES = _places(__name__)
__all__ = list(_PLACES)


class _Package(types.ModuleType):
    """The package, which has none of mpmath's settings: to set them would change nothing."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("dps", "prec", "pretty"):
            errors = importlib.import_module("portmp.errors")
            not_here = importlib.import_module("portmp.errors.not_here")
            raise errors.no_attribute(f"portmp.{name} cannot be set: {not_here.DIGITS}")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    found = _found(name)
    globals()[name] = found
    return found


def _found(name: str) -> Any:
    place = _PLACES.get(name)
    if place is not None:
        if place != "portmp.definition" and name != "errors":
            _load_arrays()
        return _loaded(place, name)
    if name.startswith("_"):
        raise AttributeError(f"module 'portmp' has no attribute {name!r}")
    if importlib.util.find_spec(f"portmp.{name}"):
        return importlib.import_module(f"portmp.{name}")
    not_here = importlib.import_module("portmp.errors.not_here")
    plain = f"module 'portmp' has no attribute {name!r}"
    packages = {p: vars(_found(p)) for p in ("fft", "linalg", "random", "sparse")}
    inside = [p for p, there in packages.items() if name in there.get("__all__", there)]
    told = f"{plain}: it is portmp.{inside[0]}.{name}" if inside else plain
    said = None if inside else not_here.said(name)
    raise (
        importlib.import_module("portmp.errors").no_attribute(said)
        if said
        else AttributeError(told)
    )


@functools.cache
def _load_arrays() -> None:
    """All functions on arrays, and their methods."""
    also = ("portmp.arrays.array", "portmp.arrays.ufunc_methods")
    for module in (*also, *_PLACES.values()):
        if module.startswith(("portmp.formats", "portmp.arrays.")):
            importlib.import_module(module)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Arrays of complex numbers: their parts, and what is done to each part by itself."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from portmp.arrays.viewed import AnyArray, Viewed, wrapped
from portmp.formats import Format
from portmp.routines.complexes import launch

A = TypeVar("A")


def is_complex(x: Any) -> bool:
    """Whether something is an array of complex numbers."""
    return isinstance(x, Viewed) and is_complex_format(x.dtype)


def is_complex_format(elements: Any) -> bool:
    """Whether elements of this kind are complex numbers."""
    return isinstance(elements, Format) and elements.components > 1


def halves(x: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The real and the imaginary part, views of the same memory."""
    real, imaginary = x.planes.halves
    return wrapped(real), wrapped(imaginary)


def joined(real: AnyArray, imaginary: AnyArray) -> Any:
    """The complex numbers of two arrays of one shape."""
    return wrapped(launch.joined(real.planes, imaginary.planes))


def in_complex(x: A, form: Format) -> A:
    """An array of *form*'s parts in that format; another one itself."""
    given: Any = x
    return cast("A", given.astype(form)) if given.dtype is form.component is not form else x


def by_parts(function: Callable[..., Any], x: AnyArray, *more: Any, **named: Any) -> Any:
    """What a function makes of both parts, as complex numbers."""
    return joined(*(function(part, *more, **named) for part in halves(x)))

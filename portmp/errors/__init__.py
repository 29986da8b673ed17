"""Every error that portmp raises on purpose.

Each message names the argument, what was given and what is allowed; the
command line prints it as one line.
"""

from collections.abc import Collection

import numpy as np


class PortmpError(Exception):
    """Base class of all errors of portmp."""


class BackendUnavailable(PortmpError):
    """A driver, compiler or package is missing; the message says what installs it."""


class DeviceError(PortmpError):
    """A device is unknown, was refused by the arithmetic probe, or failed at run time."""


class OutOfMemory(DeviceError):
    """Something does not fit the memory of the device or the host; the message names the sizes."""


class ProcessError(PortmpError):
    """Of several processes one does not answer in time, or has ended; the message says which."""


class RenderError(PortmpError):
    """A template could not be rendered."""


class CompileError(PortmpError):
    """A compiler rejected rendered source; the message shows rendered and template lines."""


class LaunchError(PortmpError):
    """A kernel could not be launched (resources, arguments)."""


class CheckError(LaunchError):
    """A device that checks kernels found mistakes in one; the message shows template lines."""


class VerifyError(PortmpError):
    """Results of a kernel are not what they should be, or differ from device to device."""


class FormatError(PortmpError, ValueError):
    """An unknown format or network, mixed formats, or a value that a format cannot hold."""


class ShapeError(PortmpError, ValueError):
    """Shapes, axes or strides that do not fit the operation."""


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis that an array has not; NumPy's error for that."""


class PlaceError(ShapeError, IndexError):
    """An index beyond an array's ends, or something that is no index."""


class ArgumentError(PortmpError, ValueError):
    """Any other argument that is not allowed."""


class LinAlgError(ArgumentError, np.linalg.LinAlgError):
    """A matrix that is singular or not positive definite, or an iteration that does not end."""


class LinAlgWarning(RuntimeWarning):
    """A matrix that may well be singular: results may be rounding errors alone."""


class MatrixShapeError(ShapeError, LinAlgError):
    """What should be a matrix, or a square one, and is not; NumPy's error for that."""


class UnsupportedError(PortmpError, TypeError):
    """Something of NumPy's that portmp has not, and that would lose digits; it says what to use."""


class RoundedError(PortmpError, FloatingPointError):
    """A float that lost digits, where ``errstate(rounded="raise")`` asks for that."""


class RoundedWarning(RuntimeWarning):
    """The same, where ``errstate(rounded="warn")`` asks for that."""


class InputError(PortmpError, ValueError):
    """A file or text that cannot be read, with its place."""


def shown(value: object) -> str:
    """What was given, as messages show it: shortened; Python writes no integer of 4300 digits."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


def no_attribute(text: str) -> AttributeError:
    """An error with advice in it, to which Python adds no name that looks like the one given."""
    return AttributeError(text, name="", obj=None)


def one_line(error: BaseException) -> str:
    """The message of an error, of others as well, on one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


_CONTROLS = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160)) if chr(c) not in "\n\t"}


def printable(text: str) -> str:
    """*text* without characters that a terminal obeys: names in files may have any."""
    return text.translate(_CONTROLS)


def suggestion(name: str, allowed: list[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the allowed word nearest to *name*, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name, allowed, n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def choice(what: str, given: object, allowed: Collection[str], others: str = "") -> str:
    """What was given, if it is one of the words *allowed*; else ArgumentError, with *others*."""
    if isinstance(given, str) and given in allowed:
        return given
    near = suggestion(str(given), list(allowed))
    raise ArgumentError(f"{what} {given!r} given{near}; allowed are {', '.join(allowed)}{others}")

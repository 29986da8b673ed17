"""Elementwise functions of arrays and numbers.

A table says what each function is on values of a format and on plain numbers; what takes operands
of several dtypes to one is here, too. Functions of no operator of their own are made of others.
"""

# mypy: disable-error-code="type-abstract"
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portmp import formats
from portmp.arrays import dtypes, typed
from portmp.arrays.complexes import is_complex_format
from portmp.arrays.dtypes import BOOL, Dtype
from portmp.arrays.viewed import AnyArray, Elsewhere, Viewed, made, wrapped
from portmp.errors import ArgumentError, FormatError, InputError, PortmpError
from portmp.formats import Format, convert, losses
from portmp.formats.complexes import has_complex
from portmp.formats.complexes import parts as complex_parts
from portmp.formats.foreign import is_complex as is_complex_number
from portmp.formats.meeting import fits
from portmp.networks import complexes
from portmp.routines import base
from portmp.routines.complexes import launch as complex_routine
from portmp.routines.conversions import launch as conversions
from portmp.routines.elementwise import launch as routine
from portmp.routines.moves import launch as moves
from portmp.routines.plain import launch as plain
from portmp.runtime.planes import Numbers, Planes, View, upload_numbers

__all__ = ["abs", "add", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or"]
__all__ += ["bitwise_right_shift", "bitwise_xor", "clip", "copysign", "divide", "equal", "fma"]
__all__ += ["greater", "greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal"]
__all__ += ["logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum"]
__all__ += ["multiply", "negative", "not_equal", "positive", "reciprocal", "sign", "signbit"]
__all__ += ["sqrt", "square", "subtract"]

V = TypeVar("V", bound=View[Any])
Operands = list[Any]
"""Views of one dtype, and numbers as the routines take them: limbs, or integers."""


# --- operands of one dtype ------------------------------------------------------------------------


def is_number(value: object) -> bool:
    """Whether a value is one number or text, not an array or a sequence."""
    if isinstance(value, (Viewed, list, tuple, set, dict)) or value is None:
        return False
    return not getattr(value, "ndim", 0)


def alike(operands: Sequence[Any]) -> Format | None:
    """The format of operands that all are arrays of one format; None of others."""
    form = None
    for operand in operands:
        if not isinstance(operand, Viewed):
            return None
        elements = operand.planes.elements
        if form is not None and elements is not form:
            return None
        form = elements
    return form if isinstance(form, Format) else None


def common_dtype(operation: str, operands: Sequence[Any]) -> Dtype:
    """The dtype in which operands meet."""
    views = [o.planes for o in operands if isinstance(o, Viewed)]
    kind = dtypes.of_view(views[0])
    for view in views[1:]:
        kind = dtypes.promoted(kind, dtypes.of_view(view), operation)
    for operand in operands:
        if not isinstance(operand, Viewed):
            refuse_sequence(operation, operand, kind)
            kind = dtypes.with_number(kind, operand)
    return kind


def refuse_sequence(operation: str, operand: Any, kind: Dtype) -> None:
    """ArgumentError for what is no number, with what makes it an array of a dtype."""
    if not is_number(operand):
        what = f"{operation}: {type(operand).__name__} given"
        found = getattr(getattr(operand, "dtype", None), "kind", "")
        if found in ("", *"VMm"):
            raise ArgumentError(f"{what}; arrays, numbers, their texts and lists are operands")
        short = str(getattr(operand, "dtype", "")) == "float16"
        x = "x.toarray()" if hasattr(operand, "toarray") else "x.astype('float32')" * short or "x"
        raise ArgumentError(f"{what}; make it an array first: portmp.array({x}, {str(kind)!r})")


def arrayed(value: Any, argument: str) -> AnyArray:
    """An array: *value* itself, or one of its numbers, as ``asarray`` makes it."""
    if isinstance(value, Viewed):
        return value
    _check_kind(value, argument)
    return made(value)


def _check_kind(value: Any, argument: str) -> None:
    """ArgumentError for what neither is an array nor makes one."""
    known = isinstance(value, (Viewed, list, tuple, np.ndarray)) or is_column(value)
    if not is_number(value) and not known:
        raise ArgumentError(
            f"{argument}: {type(value).__name__} given, an array is needed: portmp.array(...)"
        )


def beside(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands of which one at least is an array: if none is, the first becomes one.

    NumPy's arrays and lists become arrays on the device of the first array: in its format, which
    must hold all that they hold (numbers in lists are exact scalars), but for integers, which keep
    their dtype. If none is one, the first list becomes one of the dtype of its numbers.
    """
    known = next((o for o in operands if isinstance(o, Viewed)), None)
    if known is None:
        first = next((i for i, o in enumerate(operands) if not is_number(o)), 0)
        known = arrayed(operands[first], "operand")
        operands = [*operands[:first], known, *operands[first + 1 :]]
    return [o if isinstance(o, Viewed) else _joining(o, known) for o in operands]


def near(x: Any, *others: Any) -> Any:
    """A list, or NumPy's array, in the format of the first array of values among others."""
    known = [o for o in others if isinstance(o, Viewed) and isinstance(o.dtype, Format)]
    return beside([x, known[0]])[0] if known and not isinstance(x, Viewed) else x


def as_arrays(operands: Sequence[Any], names: str | Sequence[str]) -> list[AnyArray]:
    """Operands of one function as arrays: numbers, lists and NumPy's arrays ``beside`` the first.

    A number is one of the first array's format, where that has a format. Messages call operands by
    their *names*, or all by one.
    """
    if alike(operands) is not None:
        return list(operands)
    called = [names] * len(operands) if isinstance(names, str) else names
    for operand, name in zip(operands, called, strict=True):
        _check_kind(operand, name)
    there = beside(operands)
    if not there:
        return []
    known = next(o for o in there if isinstance(o, Viewed))
    form = known.dtype if isinstance(known.dtype, Format) else None
    return [
        made(o, dtype=form, device=known.queue)
        if is_number(o) and not isinstance(o, np.ndarray)
        else arrayed(o, name)
        for o, name in zip(there, called, strict=True)
    ]


def _joining(value: Any, known: AnyArray) -> Any:
    """A list, or NumPy's array, as an array beside another; other things as they are."""
    if isinstance(value, (list, tuple, range)):
        kind = known.dtype if isinstance(known.dtype, Format) else None
        if kind is not None and not isinstance(value, range) and has_complex(value):
            kind = formats.complex_of(kind)
        return made(value, dtype=kind, device=known.queue)
    convert.refuse_masked(value, "operand")
    if is_column(value):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iub" and not value.ndim:
        return value[()]
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    if value.dtype.kind in "iub":
        return wrapped(upload_numbers(value, known.queue))
    if value.dtype.name not in formats.NUMPYS:
        return value
    kind = known.dtype
    if isinstance(kind, Format):
        kind = formats.complex_of(kind) if value.dtype.kind == "c" else kind.component
        refuse_rounding(value, kind, "operand")
    return made(value, dtype=kind if isinstance(kind, Format) else None, device=known.queue)


def is_column(value: Any) -> bool:
    """Whether a value is a column or a table of pandas."""
    return getattr(value, "__pandas_priority__", None) is not None and not isinstance(value, Viewed)


def beside_one(value: Any, known: AnyArray, kind: Dtype, argument: str) -> AnyArray:
    """A value as an array of a dtype beside a known array; of arrays only what is held whole."""
    refuse_rounding(value, kind, argument)
    return made(value, dtype=kind, device=known.queue)


def refuse_rounding(value: Any, kind: Dtype, argument: str) -> None:
    """FormatError for arrays, or one of NumPy's floats, of which a dtype does not hold all."""
    if isinstance(value, (list, tuple)):
        for one in value:
            if isinstance(one, (Viewed, list, tuple)):
                refuse_rounding(one, kind, argument)
    if isinstance(value, Viewed):
        found = value.dtype
        if is_complex_format(found) and not is_complex_format(kind):
            raise _real_alone(argument, found, kind)
        if dtypes.promoted(kind, found, argument) != kind:
            raise FormatError(f"{argument}: {found} given, {kind} does not hold all; use astype")
    if not isinstance(value, np.ndarray) or value.dtype.name not in formats.NUMPYS:
        return
    own = formats.get(value.dtype.name)
    if isinstance(kind, Format) and not fits(own, kind):
        raise FormatError(
            f"{argument}: an array of {own.name} given, {kind.name} does not hold all of it: "
            f"portmp.array(x, {kind.name!r}) rounds"
        )


def as_dtype(view: View[Any], dtype: Dtype) -> View[Any]:
    """A view's elements in another dtype, each rounded once; itself if it has that one."""
    if view.elements is dtype:
        return view
    if is_complex_format(view.elements) or is_complex_format(dtype):
        return _as_complex(view, dtype)
    if view.queue.converter and isinstance(dtype, Format) and view.elements is not dtype:
        noted: View[Any] = view.queue.converter(view, dtype)
        return noted
    if isinstance(view, Planes):
        if view.format is dtype:
            return view
        if isinstance(dtype, Format):
            return conversions.between(view, dtype)
        if dtype == BOOL:
            return routine.apply("nonzero", [view])
        return conversions.to_plain(view, dtype.name)
    assert isinstance(view, Numbers)
    if isinstance(dtype, Format):
        return conversions.from_plain(view, dtype)
    if view.dtype == dtype.name:
        return view
    return plain.apply("truth" if dtype == BOOL else "copy", [view], dtype.name)


def _real_alone(argument: str, given: Dtype, dtype: Dtype) -> FormatError:
    return FormatError(
        f"{argument}: {given} given, {dtype} holds real numbers alone: x.real, x.imag and abs(x) "
        "are arrays of these"
    )


def _as_complex(view: View[Any], dtype: Dtype) -> View[Any]:
    """The same of complex numbers, or to these: by parts."""
    found: View[Any]
    if not is_complex_format(view.elements):
        assert isinstance(dtype, Format)
        real: Any = as_dtype(view, dtype.component)
        zero = number(0, dtype.component)
        found = complex_routine.apply("copy", [real, zero])
        return found
    assert isinstance(view, Planes)
    if dtype == BOOL:
        found = complex_routine.apply("nonzero", view.halves)
        return found
    if not (isinstance(dtype, Format) and is_complex_format(dtype)):
        raise _real_alone("astype", view.format, dtype)
    halves: list[Any] = [as_dtype(half, dtype.component) for half in view.halves]
    found = complex_routine.apply("copy", halves)
    return found


def converted(x: AnyArray, dtype: Dtype) -> AnyArray:
    """An array in another dtype; where ``errstate`` asks, it tells of what becomes infinite."""
    found = wrapped(as_dtype(x.planes, dtype))
    if losses.answer.get() == "ignore" or not isinstance(dtype, Format):
        return found
    if bool((isinf(found) & isfinite(x)).any()):
        losses.beyond("astype", f"a finite number of {x.dtype}", dtype)
    return found


def number(value: Any, dtype: Dtype, argument: str = "operand") -> Any:
    """A number as routines take it: limbs of a format, or an integer that the dtype holds."""
    value = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(dtype, Format):
        value = int(value) if isinstance(value, (bool, np.bool_)) else value
        return base.scalar_limbs(dtype, value, argument)
    if not isinstance(value, (bool, int, np.bool_, np.integer)):
        raise FormatError(f"{argument}: {value!r:.60} given, {dtype} is needed")
    found = int(value)
    low, high = (0, 1) if dtype == BOOL else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not low <= found <= high:
        raise FormatError(f"{argument}: {found} given, {dtype} holds {low} to {high}")
    return found


def together(
    operation: str,
    operands: Sequence[Any],
    least: Callable[[], Format] | None = None,
    names: Sequence[str] = (),
) -> Operands:
    """Operands in one dtype: what *least* gives, where they are plain and it is given.

    Messages call numbers by their *names*.
    """
    if alike(operands) is not None:
        return [o.planes for o in operands]
    taken = beside(operands)
    kind = common_dtype(operation, taken)
    if least is not None and not isinstance(kind, Format):
        kind = dtypes.promoted(kind, least(), operation)
    called = names or ["operand"] * len(taken)
    return [
        as_dtype(o.planes, kind) if isinstance(o, Viewed) else number(o, kind, name)
        for o, name in zip(taken, called, strict=True)
    ]


# --- the table ------------------------------------------------------------------------------------


class Function(NamedTuple):
    """What a function is on values and on plain numbers.

    ``values``: an operator, or one of TESTS, whose answers are truth values.
    ``plain``: an operation on plain numbers; ``_FLOATS``: they become values; a truth value: the
    answer for all of them. ``logical``: operands count as truth values. ``kinds``: the kinds of
    plain dtypes that are taken, as NumPy's letters. Complex numbers are taken where there is a
    network for them (``networks.complexes``).
    """

    arity: int
    values: str | None
    plain: str | bool
    about: str
    kinds: str = "iub"
    logical: bool = False


_FLOATS = "values"

FUNCTIONS = {
    "add": Function(2, "add", "add", "x1 + x2."),
    "subtract": Function(2, "sub", "sub", "x1 - x2.", "iu"),
    "multiply": Function(2, "mul", "mul", "x1 x2."),
    "divide": Function(2, "div", _FLOATS, "x1 / x2; integers become values of the default format."),
    "negative": Function(1, "neg", "neg", "-x.", "iu"),
    "positive": Function(1, "copy", "copy", "x, in memory of its own."),
    "abs": Function(1, "abs", "abs", "|x|."),
    "sign": Function(1, "sign", "sign", "-1, 0 or 1; of NaN NaN.", "iu"),
    "sqrt": Function(1, "sqrt", _FLOATS, "The square root; of negative numbers NaN."),
    "maximum": Function(2, "max", "max", "The larger; NaN propagates, -0 < +0."),
    "minimum": Function(2, "min", "min", "The smaller; NaN propagates, -0 < +0."),
    "fma": Function(3, "fma", _FLOATS, "x1 x2 + x3; of one limb rounded once."),
    "equal": Function(2, "equal", "equal", "Whether x1 = x2."),
    "not_equal": Function(2, "not_equal", "not_equal", "Whether x1 and x2 differ; NaN from all."),
    "less": Function(2, "less", "less", "Whether x1 < x2."),
    "less_equal": Function(2, "less_equal", "less_equal", "Whether x1 <= x2."),
    "greater": Function(2, "greater", "greater", "Whether x1 > x2."),
    "greater_equal": Function(2, "greater_equal", "greater_equal", "Whether x1 >= x2."),
    "isnan": Function(1, "isnan", False, "Whether x is NaN."),
    "isinf": Function(1, "isinf", False, "Whether x is infinite."),
    "isfinite": Function(1, "isfinite", True, "Whether x is a number and finite."),
    "signbit": Function(1, "signbit", "negative", "Whether x has a minus, zeros and NaN too."),
    "logical_and": Function(2, None, "and", "Whether both are true.", logical=True),
    "logical_or": Function(2, None, "or", "Whether one of both is true.", logical=True),
    "logical_xor": Function(2, None, "xor", "Whether exactly one is true.", logical=True),
    "logical_not": Function(1, None, "not", "Whether x is false.", logical=True),
    "bitwise_and": Function(2, None, "and", "Bits that both operands have set."),
    "bitwise_or": Function(2, None, "or", "Bits that at least one operand has set."),
    "bitwise_xor": Function(2, None, "xor", "The bits of exactly one."),
    "bitwise_invert": Function(1, None, "invert", "Each bit inverted."),
    "bitwise_left_shift": Function(2, None, "left_shift", "x1 2^x2.", "iu"),
    "bitwise_right_shift": Function(2, None, "right_shift", "x1 / 2^x2, rounded down.", "iu"),
}
"""Elementwise functions by the array API standard's names."""


def call(name: str, *operands: Any, out: AnyArray | None = None) -> Any:
    """A function of the table; *out* takes the result, and may be an operand."""
    function = FUNCTIONS[name]
    given: list[Any] = []
    kinds: list[Any] = [name]
    for operand in operands:
        given.append(operand.planes if isinstance(operand, Viewed) else operand)
        kinds.append(given[-1].elements if isinstance(operand, Viewed) else type(operand))
    key = tuple(kinds)
    kind: Dtype | None = _MEETINGS.get(key)
    if kind is None:
        kind, given = _met_in(name, function, operands)
        if isinstance(kind, Format) and kind.components > 1:
            return of_complex(name, function.values or name, kind, given, out)
        known = kind in kinds and all(k is kind or k in (int, float) for k in kinds[1:])
        if isinstance(kind, Format) and known:
            _MEETINGS[key] = kind
    else:
        for i, one in enumerate(given):
            if not isinstance(one, View):
                given[i] = number(one, kind)
    if not isinstance(kind, Format):
        return given_back(_of_plain(function, kind, given, out), out)
    assert function.values is not None
    place = None if out is None else target(out)
    found: View[Any] = routine.apply(function.values, given, place)
    return wrapped(found) if out is None else out


_MEETINGS: dict[tuple[Any, ...], Format] = {}
"""The format of a function's operands, by its name and theirs: arrays of this one and numbers."""


def _met_in(name: str, function: Function, operands: Sequence[Any]) -> tuple[Dtype, Operands]:
    """The dtype in which a function's operands meet, and the operands in it."""
    taken = beside(operands)
    kind = BOOL if function.logical else common_dtype(name, taken)
    if function.values is None and isinstance(kind, Format):
        raise FormatError(f"{name}: {kind} given, integers or truth values are needed")
    if is_complex_format(kind):
        return kind, list(taken)
    if not isinstance(kind, Format):
        if function.plain is _FLOATS:
            kind = dtypes.promoted(kind, dtypes.default(), name)
        elif kind.kind not in function.kinds:
            raise FormatError(f"{name}: {kind} given, which has no such function")
    return kind, [_prepared(o, kind) for o in taken]


_MIXED = {
    **{(op, 2, 1): f"{op}_real" for op in ("add", "sub", "mul", "div", "pow")},
    **{(op, 1, 2): f"real_{op}" for op in ("add", "sub", "mul")},
}
"""Operations of a complex operand and a real one, of so many parts."""


def of_complex(name: str, op: str, kind: Format, operands: Sequence[Any], out: Any) -> Any:
    """An operation on complex numbers of this kind, and real ones, which have one part."""
    if op == "fma":
        return call("add", call("multiply", *operands[:2]), operands[2], out=out)
    if op not in (*complexes.NAMES, *complex_routine.REAL):
        formats.real_only(kind, name)
    given = [_parts(operand, kind) for operand in operands]
    mixed = _MIXED.get((op, len(given[0]), len(given[1]))) if len(given) == 2 else None
    if mixed is None:
        zero = number(0, kind.component)
        given = [parts if len(parts) == 2 else [*parts, zero] for parts in given]
    parts = [part for each in given for part in each]
    place = None if out is None else target(out)
    found = complex_routine.apply(mixed or op, parts[::-1] if op == "angle" else parts, place)
    return wrapped(found) if out is None else out


def _parts(operand: Any, kind: Format) -> Sequence[Any]:
    """The parts of an operand: of a real one its value alone."""
    if isinstance(operand, Viewed):
        own = is_complex_format(operand.planes.elements)
        view = as_dtype(operand.planes, kind if own else kind.component)
        return view.halves if isinstance(view, Planes) else [view]
    if not is_complex_number(operand):
        return [number(operand, kind.component)]
    limbs = number(operand, kind)
    return limbs[: kind.limbs], limbs[kind.limbs :]


def _prepared(operand: Any, kind: Dtype) -> Any:
    if isinstance(operand, Viewed):
        return as_dtype(operand.planes, kind)
    return number(bool(operand) if kind == BOOL and not isinstance(operand, str) else operand, kind)


def _of_plain(function: Function, kind: np.dtype[Any], given: Operands, out: Any) -> View[Any]:
    """The result of plain numbers of one dtype."""
    place = None if out is None else target(out)
    if isinstance(function.plain, bool):
        return _filled(given[0], function.plain)
    if function.plain == "negative":
        return plain.apply("less", [given[0], 0], "bool", place)
    operation = function.plain
    if kind == BOOL:
        operation = _OF_TRUTH.get(operation, operation)
    return plain.apply(operation, given, kind.name, place)


_OF_TRUTH = {"add": "or", "mul": "and", "invert": "not", "abs": "copy"}
"""What operations on numbers are on truth values."""


def target(out: Any) -> Any:
    """The memory that *out* gives for a result."""
    view = written(out, "out").planes
    if getattr(view, "copied", False):
        raise ArgumentError("out: an element given, which is a copy: a[i, ...] is the view of it")
    return view


def written(x: Any, argument: str) -> AnyArray:
    """An array whose elements are to be set; ArgumentError for anything else."""
    if not isinstance(x, Viewed):
        raise ArgumentError(f"{argument}: {type(x).__name__} given, an array is needed")
    base.check_places(x.planes, argument)
    return x


def given_back(found: View[Any], out: AnyArray | None) -> Any:
    if out is None:
        return wrapped(found)
    place = target(out)
    if found is not place:
        base.check_out(place, found.elements, found.shape, found.queue)
        moves.copied(found, place)
    return out


def _filled(like: View[Any], truth: bool) -> Numbers:
    """Truth values of the shape of *like*, all the same."""
    return plain.counted(truth, 0, like.size, "bool", like.queue).view_as(like.shape)


def _defined(name: str) -> Any:
    """The public function of a row of the table."""
    row = FUNCTIONS[name]
    names = ["x"] if row.arity == 1 else [f"x{i + 1}" for i in range(row.arity)]
    return defined(name, names, row.about, functools.partial(call, name))


def defined(name: str, names: Sequence[str], about: str, compute: Callable[..., Any]) -> Any:
    """A public function of operands, which computes and has *out* and *where*."""

    def function(*operands: Any, out: AnyArray | None = None) -> Any:
        if len(operands) != len(names):
            raise TypeError(f"{name}() takes {len(names)} operands, {len(operands)} given")
        return compute(*operands, out=out)

    only = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(n, only) for n in names]
    parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__doc__ = (
        f"{about}\n\nElementwise, with broadcasting; *out* takes the result, with *where* "
        "only at the places where that is true."
    )
    return maskable(function)


def maskable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with NumPy's *out* and *where*: where that is false *out* keeps its elements.

    *out* may also be the argument after the operands, and is several arrays of several results.
    Functions that have *out* themselves write to it where there is no *where*.
    """
    known = inspect.signature(function)
    takes = "out" in known.parameters
    count = len(known.parameters) - takes

    @functools.wraps(function)
    def called(*operands: Any, out: Any = None, where: Any = True, **named: Any) -> Any:
        if out is None and len(operands) > count:
            operands, out = operands[:count], operands[count:]
            out = out[0] if len(out) == 1 else out
        try:
            if where is True and takes:
                return function(*operands, out=out, **named)
            name = function.__name__
            if out is None and where is not True:
                raise ArgumentError(
                    f"{name}: where given without out, whose elements stay where it is false: "
                    f"{name}(..., out=portmp.zeros_like(x), where=...)"
                )
            found = function(*operands, **named)
            return found if out is None else _placed(name, found, out, where)
        except Elsewhere as error:
            far = error.array
        return far.called(called, operands, {"out": out, "where": where, **named}, "where")

    options = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=usual)
        for option, usual in (("out", None), ("where", True))
    ]
    called.__signature__ = known.replace(  # type: ignore[attr-defined]
        parameters=[*known.parameters.values(), *options[takes:]]
    )
    del called.__wrapped__  # whose signature is another one
    return called


def _placed(name: str, found: Any, out: Any, where: Any) -> Any:
    """Results in the memory of *out*, or only those for which *where* is true."""
    several = isinstance(found, tuple)
    if several and not (isinstance(out, tuple) and len(out) == len(found)):
        raise ArgumentError(f"{name}: out: {len(found)} arrays, or None, are needed in a tuple")
    pairs = list(zip(found, out, strict=True)) if several else [(found, out)]
    mask: Any = where
    if where is not True:
        mask = as_dtype(arrayed(where, f"{name}: where").planes, BOOL)
    moved = [(one.planes, target(place)) for one, place in pairs if place is not None]
    for view, there in moved:
        base.check_out(there, view.elements, view.shape, view.queue)
    for view, there in moved:
        moves.copied(view if mask is True else moves.selected(mask, view, there), there)
    return tuple(one if place is None else place for one, place in pairs) if several else out


add: typed.AlikeOfTwo = _defined("add")
subtract: typed.AlikeOfTwo = _defined("subtract")
multiply: typed.AlikeOfTwo = _defined("multiply")
maximum: typed.AlikeOfTwo = _defined("maximum")
minimum: typed.AlikeOfTwo = _defined("minimum")
divide: typed.OfTwo = _defined("divide")
fma: typed.OfThree = _defined("fma")
sqrt: typed.OfOne = _defined("sqrt")
negative: typed.AlikeOfOne = _defined("negative")
positive: typed.AlikeOfOne = _defined("positive")
abs: typed.AlikeOfOne = _defined("abs")
sign: typed.AlikeOfOne = _defined("sign")
equal: typed.PlainOfTwo = _defined("equal")
not_equal: typed.PlainOfTwo = _defined("not_equal")
less: typed.PlainOfTwo = _defined("less")
less_equal: typed.PlainOfTwo = _defined("less_equal")
greater: typed.PlainOfTwo = _defined("greater")
greater_equal: typed.PlainOfTwo = _defined("greater_equal")
isnan: typed.PlainOfOne = _defined("isnan")
isinf: typed.PlainOfOne = _defined("isinf")
isfinite: typed.PlainOfOne = _defined("isfinite")
signbit: typed.PlainOfOne = _defined("signbit")
logical_and: typed.PlainOfTwo = _defined("logical_and")
logical_or: typed.PlainOfTwo = _defined("logical_or")
logical_xor: typed.PlainOfTwo = _defined("logical_xor")
logical_not: typed.PlainOfOne = _defined("logical_not")
bitwise_and: typed.PlainOfTwo = _defined("bitwise_and")
bitwise_or: typed.PlainOfTwo = _defined("bitwise_or")
bitwise_xor: typed.PlainOfTwo = _defined("bitwise_xor")
bitwise_invert: typed.PlainOfOne = _defined("bitwise_invert")
bitwise_left_shift: typed.PlainOfTwo = _defined("bitwise_left_shift")
bitwise_right_shift: typed.PlainOfTwo = _defined("bitwise_right_shift")


# --- functions made of others ---------------------------------------------------------------------


@typed.as_(typed.AlikeOfOne)
@maskable
def square(x: AnyArray, /, *, out: AnyArray | None = None) -> Any:
    """x x."""
    return multiply(x, x, out=out)


@typed.as_(typed.OfOne)
@maskable
def reciprocal(x: AnyArray, /, *, out: AnyArray | None = None) -> Any:
    """1 / x."""
    return divide(1, x, out=out)


def where(condition: AnyArray, x1: Any, x2: Any, /) -> Any:
    """x1 where *condition* is true, else x2, with broadcasting; bits are copied."""
    chosen = condition.planes if isinstance(condition, Viewed) else None
    if isinstance(chosen, Numbers) and chosen.dtype == "bool" and alike((x1, x2)) is not None:
        return wrapped(moves.selected(chosen, x1.planes, x2.planes))
    if isinstance(condition, Viewed) and not isinstance(x1, Viewed) and not isinstance(x2, Viewed):
        x1 = made(x1, device=condition.queue)
    first, second = views("where", [x1, x2])
    if not isinstance(condition, Viewed):
        condition = made(condition, device=first.queue)
    chosen = as_dtype(condition.planes, BOOL)
    assert isinstance(chosen, Numbers)
    return wrapped(moves.selected(chosen, first.planes, second.planes))


def views(
    operation: str,
    operands: Sequence[Any],
    least: Callable[[], Format] | None = None,
    real: bool = False,
) -> list[Any]:
    """Operands as arrays of one dtype, as ``together`` finds it; numbers have shape ().

    *real*: the operation refuses complex numbers.
    """
    found = together(operation, operands, least)
    known = next(v for v in found if isinstance(v, View))
    if real and isinstance(known, Planes):
        formats.real_only(known.format, operation)
    return [wrapped(v if isinstance(v, View) else like_number(v, known)) for v in found]


def like_number(value: Any, like: V) -> V:
    """A number, as routines take it, in memory beside a view of the same dtype; shape ()."""
    made = moves.like(like, ())
    if isinstance(made, Planes):
        made.write([np.asarray(w, made.format.dtype(i)) for i, w in enumerate(value)])
    else:
        made.write_parts([np.asarray(value, like.elements)])
    return made


@typed.as_(typed.Clipped)
def clip(
    x: AnyArray,
    /,
    min: Any = None,
    max: Any = None,
    *,
    out: AnyArray | None = None,
    a_min: Any = None,
    a_max: Any = None,
) -> Any:
    """x, at least *min* and at most *max*, where they are given; NaN propagates.

    *a_min* and *a_max* are NumPy's older names of them.
    """
    min, max = a_min if min is None else min, a_max if max is None else max
    x = as_arrays([x, *(end for end in (min, max) if isinstance(end, Viewed))], "clip: x")[0]
    if isinstance(x.dtype, Format):
        formats.real_only(x.dtype, "clip")
    found = positive(x) if min is None and max is None else x
    for end, cut in ((min, maximum), (max, minimum)):
        found = found if end is None else cut(found, end)
    return given_back(found.planes, out)


@typed.as_(typed.OfTwo)
@maskable
def copysign(x1: Any, x2: Any, /) -> Any:
    """|x1| with the sign of x2, zeros' and NaN's too; a NaN stays, which has no sign."""
    size, other = views("copysign", [x1, x2], dtypes.default, real=True)
    turned = logical_and(not_equal(signbit(size), signbit(other)), equal(size, size))
    return where(turned, negative(size), size)


_NUMERIC = ("__float__", "__index__", "__complex__", "__array__", "_mpf_")
"""One of these has whatever may be a number; what has none is none."""


def is_same(x: AnyArray, other: object, name: str) -> Any:
    """x == other or x != other, as operators mean them: what is no number differs from all."""
    known = (str, bytes, Viewed, list, tuple, np.ndarray)
    number = is_number(other) and any(hasattr(other, n) for n in _NUMERIC)
    if number or isinstance(other, known) or is_column(other):
        try:
            return call(name, x, other)
        except PortmpError:
            if not isinstance(other, str) or is_readable(other):
                raise
    return wrapped(_filled(x.planes, name == "not_equal"))


def is_readable(text: str) -> bool:
    """Whether a text is a number."""
    try:
        complex_parts(text, "text")
    except InputError:
        return False
    return True

"""Results of a user's kernel: compared with a host function's, and from device to device.

*reference*: a function on the host that takes the kernel's arguments by their names, as many as
it names: arrays of values as Arrays on the host (``to_fractions``, ``to_float64``, ...), arrays of
integers as NumPy's, numbers as the exact ones that the kernel gets, sizes as integers. It returns
what the arrays that are written should hold, in the signature's order: Arrays, NumPy arrays or
nested lists of numbers. None: bits are compared from device to device alone.

*bound*: 0 for exactly these numbers, or how far a result may be from what is expected, relative to
that; or a function of an expected number that gives a distance.

*digests*: a file that keeps what each device gave. Bits that differ from what another device, or
the same one, gave for the same arguments are an error, and the file stays as it is.
"""

import datetime
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from portmp import discovery
from portmp.arrays.array import Array
from portmp.arrays.plain import PlainArray
from portmp.arrays.viewed import Viewed
from portmp.backends.base import Device
from portmp.errors import ArgumentError, InputError, PortmpError, ShapeError, VerifyError
from portmp.files import target as targets
from portmp.formats import Format, complexes, convert, exact, foreign
from portmp.kernels.signature import Operand
from portmp.kernels.tuned import Subject
from portmp.progress import lasting
from portmp.routines import base
from portmp.runtime.digests import bits_of, digest
from portmp.verify.outcome import planes_of

VERSION = 1
Arrays = Mapping[str, Array | PlainArray]


@dataclass(frozen=True)
class Call:
    """A kernel and the arguments that it is verified with, which stay as they are."""

    kernel: Subject
    arguments: Mapping[str, Any]

    @property
    def written(self) -> list[Operand]:
        """The arrays that it writes."""
        return [p for p in self.kernel.signature.parameters if p.is_array and p.written]

    def result(self, device: Device) -> Arrays:
        """What a device leaves in the arrays that are written."""
        given = {name: _copied(value, device) for name, value in self.arguments.items()}
        found = self.kernel(device=device, **given)
        outs = [p.name for p in self.written if p.way == "out"]
        made = dict(zip(outs, found if len(outs) > 1 else (found,), strict=False)) if outs else {}
        every: dict[str, Any] = given | made
        return {p.name: every[p.name] for p in self.written}

    def digest(self) -> str:
        """Which arguments these are."""
        state = hashlib.sha256()
        outs = {p.name for p in self.written if p.way == "out"}
        for name, value in sorted(self.arguments.items()):
            if name in outs:
                continue
            told = (
                digest(planes_of(value)) if isinstance(value, Viewed) else self._number(name, value)
            )
            state.update(f"{name} {told}\n".encode())
        return state.hexdigest()[:32]

    def on_host(self) -> dict[str, Any]:
        """The arguments, and the sizes that follow, as a host function takes them."""
        shapes = {n: v.shape for n, v in self.arguments.items() if isinstance(v, Viewed)}
        signature = self.kernel.signature
        asked = {n: int(self.arguments[n]) for n in signature.sizes if n in self.arguments}
        found: dict[str, Any] = dict(signature.measured(shapes, asked))
        for name, value in self.arguments.items():
            if isinstance(value, PlainArray):
                found[name] = value.to_numpy()
            elif isinstance(value, Array):
                found[name] = _copied(value, discovery.get(discovery.HOST))
            elif value is not None:
                found[name] = self._number(name, value)
        return found

    def _number(self, name: str, value: Any) -> Any:
        """A number as the kernel gets it: exactly, or a float that is not finite."""
        parameter = self.kernel.signature.by_name.get(name)
        if parameter is None or parameter.is_array or parameter.is_plain:
            return value
        form = parameter.format(self.kernel.module.format)
        return _exact(tuple(map(float, base.scalar_limbs(form, value, name))), form)


@dataclass(frozen=True)
class Outcome:
    """What a device gave: a digest of all bits, or why there is none; what is wrong with it."""

    device: str
    hardware: str
    driver: str
    compiler: str
    digest: str = ""
    refusal: str = ""
    error: str = ""

    def row(self) -> str:
        """A line of the table."""
        told = self.refusal and f"refused: {self.refusal}"
        return f"{self.device:18} {self.digest or '-':32}  {self.error or told or 'ok'}"


@dataclass(frozen=True)
class Verified:
    """What came of ``Kernel.verify``: prints as a table, one line a device."""

    kernel: str
    outcomes: tuple[Outcome, ...]
    arguments: str
    kept: int = 0

    @property
    def errors(self) -> tuple[str, ...]:
        """A sentence for each device that gave something else."""
        return tuple(f"{self.kernel}: {o.device}: {o.error}" for o in self.outcomes if o.error)

    @property
    def ok(self) -> bool:
        """Whether a device ran it, and all that did gave what they should."""
        return not self.errors and any(o.digest for o in self.outcomes)

    def check(self) -> None:
        """VerifyError where it is not ok."""
        if self.errors:
            raise VerifyError("; ".join(self.errors))
        if not self.ok:
            raise VerifyError(f"{self.kernel}: no device ran it")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = [vars(outcome) for outcome in self.outcomes]
        return {"kernel": self.kernel, "ok": self.ok, "arguments": self.arguments, "devices": rows}

    def __str__(self) -> str:
        counted = [o for o in self.outcomes if not o.refusal]
        right = sum(not o.error for o in counted)
        head = f"{self.kernel}: {right} of {len(counted)} devices as expected"
        if self.kept:
            head += f"; {self.kept} digests kept before"
        return "\n".join([head, *(outcome.row() for outcome in self.outcomes)])

    __repr__ = __str__


def verify(
    call: Call,
    reference: Callable[..., Any] | None,
    devices: Sequence[str | Device],
    digests: str | Path | None,
    bound: Any,
) -> Verified:
    """Run a call on all devices that run kernels and on those asked for, and compare."""
    if reference is not None and not callable(reference):
        raise ArgumentError(
            f"{call.kernel.name}: reference: {reference!r:.60} given, a function of the arguments "
            "or None is needed"
        )
    if isinstance(devices, (str, Device)):
        devices = [devices]
    file = Path(digests) if digests is not None else None
    kept = Kept(file, call) if file else None
    expected = _expected(call, reference) if reference else {}
    allowed = _allowance(call, bound)
    outcomes: list[Outcome] = []
    first: tuple[str, Arrays] | None = None
    for device, refusal in _targets(devices):
        facts = device.properties
        compiler = "" if refusal else device.compiler_key()
        outcome = Outcome(device.name, facts.name, facts.driver, compiler, refusal=refusal)
        if not refusal:
            try:
                with lasting(f"{call.kernel.name} on {device.name}", sys.stderr.isatty()):
                    found = call.result(device)
                    outcome = replace(outcome, digest=_digest(found))
                    error = _unexpected(found, expected, allowed)
                if first is None:
                    first = device.name, found
                elif not error:
                    error = _difference(found, *first)
                if not error and kept:
                    error = kept.difference(outcome)
                outcome = replace(outcome, error=error)
            except PortmpError as error:
                outcome = replace(outcome, error=str(error))
        outcomes.append(outcome)
    result = Verified(
        call.kernel.name, tuple(outcomes), call.digest(), len(kept.mine) if kept else 0
    )
    if kept and result.ok:
        kept.write(result.outcomes)
    return result


def _targets(asked: Sequence[str | Device]) -> Iterable[tuple[Device, str]]:
    """All devices that run kernels, each with its refusal or nothing; those asked for first."""
    found = {device.name: (device, "") for device in map(discovery.get, asked)}
    for device, refusal in discovery.opened():
        found.setdefault(device.name, (device, refusal))
    return found.values()


# --- numbers ----------------------------------------------------------------------------------


def _copied(value: Any, device: Device) -> Any:
    """A copy of an array on a device; anything else as it is."""
    if not isinstance(value, Viewed):
        return value
    return value.copy() if value.device is device else value.to(device)


def _digest(found: Arrays) -> str:
    """Of one array as of its planes; of several of theirs."""
    each = [digest(planes_of(array)) for array in found.values()]
    return each[0] if len(each) == 1 else hashlib.sha256(" ".join(each).encode()).hexdigest()[:32]


def _exact(limbs: tuple[float, ...], form: Format) -> Any:
    """A number exactly: a Fraction, or a float that is not finite; of complex ones such parts."""
    halves = [limbs[i : i + form.limbs] for i in range(0, len(limbs), form.limbs)]
    found = [convert.to_fraction(half) if math.isfinite(half[0]) else half[0] for half in halves]
    return exact.Complex(*found) if form.components > 1 else found[0]


def _numbers(value: Any, where: str) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of an array, and its elements exactly."""
    if isinstance(value, Array):
        rows = convert.element_rows(value.to_limbs())
        return value.shape, [_exact(row, value.format) for row in rows]
    data = value.to_numpy() if isinstance(value, PlainArray) else np.asarray(value)
    if data.dtype.kind not in "iubfcOU":
        raise ArgumentError(f"{where}: elements of {data.dtype} given, numbers are needed")
    return data.shape, [_fraction(one, where) for one in data.ravel().tolist()]


def _fraction(number: Any, where: str) -> Any:
    if isinstance(number, float) and not math.isfinite(number):
        return number
    if foreign.is_complex(number):
        return exact.Complex(*(part or 0 for part in complexes.parts(number, where)))
    try:
        return Fraction(number)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{where}: {number!r:.60} given, a number is needed") from None


Expected = Mapping[str, tuple[tuple[int, ...], list[Any]]]


def _expected(call: Call, reference: Callable[..., Any]) -> Expected:
    """What the host function says, by array."""
    from inspect import Parameter as Kind
    from inspect import signature as parameters_of

    known = call.on_host()
    takes = parameters_of(reference).parameters.values()
    if any(one.kind is Kind.VAR_KEYWORD for one in takes):
        given = known
    else:
        given = {one.name: known[one.name] for one in takes if one.name in known}
        missing = [p.name for p in takes if p.name not in known and p.default is Kind.empty]
        if missing:
            raise ArgumentError(
                f"{call.kernel.name}: reference: takes {missing[0]!r}, which is no argument of the "
                f"call; {', '.join(known)} are"
            )
    found = reference(**given)
    names = [p.name for p in call.written]
    several = found if len(names) != 1 else (found,)
    if not isinstance(several, (tuple, list)) or len(several) != len(names):
        raise ArgumentError(
            f"{call.kernel.name}: reference: must return {', '.join(names)}, in this order"
        )
    where = f"{call.kernel.name}: reference: "
    return {n: _numbers(v, where + n) for n, v in zip(names, several, strict=True)}


Allowed = Callable[[Fraction, Any], Any]
"""Whether a result may be so far, squared, from an expected number."""


def _allowance(call: Call, bound: Any) -> Allowed:
    """How far a result may be from an expected number: a distance of it, or relative to it."""
    if callable(bound):

        def within(square: Fraction, expected: Any) -> Any:
            limit = foreign.exact(bound(expected), f"{call.kernel.name}: bound")
            return limit >= 0 and square <= limit**2

        return within
    relative = _fraction(bound, f"{call.kernel.name}: bound")
    if foreign.is_complex(relative) or not relative >= 0:
        raise ArgumentError(f"{call.kernel.name}: bound: {bound!r:.60} given, at least 0 is needed")
    return lambda square, expected: square <= relative**2 * _square(expected)


def _square(number: Any) -> Any:
    """The square of an absolute value."""
    return number.real**2 + number.imag**2


def _unexpected(found: Arrays, expected: Expected, allowed: Allowed) -> str:
    """Where a result is too far from what is expected; nothing where none is."""
    for name, (shape, wanted) in expected.items():
        have, numbers = _numbers(found[name], name)
        if shape != have:
            raise ShapeError(f"{name}: reference has shape {shape}, the kernel's result {have}")
        for i, (x, y) in enumerate(zip(numbers, wanted, strict=True)):
            if not _near(x, y, allowed):
                place = ", ".join(map(str, np.unravel_index(i, shape))) if shape else ""
                return f"{name}[{place}] is {_short(x)}, the reference says {_short(y)}"
    return ""


def _near(x: Any, y: Any, allowed: Allowed) -> bool:
    if any(isinstance(part, float) for one in (x, y) for part in (one.real, one.imag)):
        return str(x) == str(y)  # not finite: NaN is NaN
    return bool(x == y or allowed(_square(x - y), y))


def _short(number: Any) -> str:
    """Forty digits at most."""
    if isinstance(number, float):
        return str(number)
    if isinstance(number, exact.Complex):
        return exact.joined(_short(number.real), _short(number.imag))
    with localcontext(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN):
        return str((Decimal(number.numerator) / Decimal(number.denominator)).normalize())


def _difference(found: Arrays, other: str, first: Arrays) -> str:
    """Where bits differ from another device's; nothing where none do."""
    for name, array in found.items():
        here, there = planes_of(array), planes_of(first[name])
        if here[0].shape != there[0].shape:
            return f"{name} has shape {here[0].shape}, {there[0].shape} on {other}"
        for x, y in zip(here, there, strict=True):
            for place in np.argwhere(bits_of(x) != bits_of(y)).tolist():
                at = tuple(place)
                return (
                    f"{name}[{', '.join(map(str, at))}] has other bits than on {other}: "
                    f"{_hex(here, at)}, there {_hex(there, at)}"
                )
    return ""


def _hex(planes: Sequence[np.ndarray[Any, Any]], at: tuple[int, ...]) -> str:
    words = [plane[at] for plane in planes]
    return " ".join(w.hex() if isinstance(w, float) else str(w) for w in (x.item() for x in words))


# --- digests in a file ------------------------------------------------------------------------


class Kept:
    """What devices gave for the same kernel and arguments, in a file of the user's."""

    def __init__(self, file: Path, call: Call) -> None:
        targets.check_place(file)
        self.file = file
        self._call = {"kernel": call.kernel.name, "arguments": call.digest()}
        self._all = read_digests(file)
        self.mine = [one for one in self._all if self._call.items() <= one.items()]
        """Those of this call."""

    def difference(self, outcome: Outcome) -> str:
        """What is wrong with a digest, by the file; nothing where it is the same."""
        for one in self.mine:
            if one["digest"] != outcome.digest:
                return (
                    f"its bits differ from those that {one['device']} gave on {one['date']}, by "
                    f"{self.file}; remove the file where that is meant"
                )
        return ""

    def write(self, outcomes: Sequence[Outcome]) -> None:
        """Add what the devices gave, in place of what they gave before."""
        new = [
            {
                **self._call,
                "device": one.hardware,
                "driver": one.driver,
                "compiler": one.compiler,
                "digest": one.digest,
                "date": datetime.date.today().isoformat(),
            }
            for one in outcomes
            if one.digest
        ]
        # The first date stays.
        merged = {tuple(one[name] for name in WHO): one for one in (*new, *self._all)}
        rows = ",\n".join(json.dumps(merged[key]) for key in sorted(merged))
        text = f'{{"version": {VERSION}, "digests": [\n{rows}\n]}}\n'
        targets.replace(self.file, text.encode())


WHO = ("kernel", "arguments", "device", "driver", "compiler")
"""What tells entries of a file of digests apart."""
FIELDS = (*WHO, "digest", "date")
"""What an entry of a file of digests holds."""


def read_digests(file: Path) -> list[dict[str, str]]:
    """The entries of a file; none where there is no file."""
    try:
        if not file.exists():
            return []
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise InputError(f"{file}: version {data['version']!r}, {VERSION} is read")
        entries = [{name: one[name] for name in FIELDS} for one in data["digests"]]
        if not all(isinstance(text, str) for one in entries for text in one.values()):
            raise ValueError("texts are needed")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file}: not a file of digests: {error}") from None
    return entries

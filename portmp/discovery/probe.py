"""The arithmetic probe: a device must round as IEEE 754 says before portmp uses it.

Operations that everything rests on run on hostile inputs (subnormals, infinities, wide
exponents), in the widest vectors that the device is given, and are compared bit for bit with the
host reference. A difference that another spelling or narrower vectors cure is repaired
(``Traits``); any other refuses the device, with words. Where reciprocal roots start from the
hardware's estimate, all of them are tried. A matrix unit is used if it adds up as products are
defined, step by step. The verdict is kept on disk by compiler, driver and
device. Where a driver can take the process down with it, the probe runs in a process of its own
(``isolated``).
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from portmp import definition, formats, networks, paths
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.platform import Traits
from portmp.codegen.signature import Array, Index, Plain, Scratch
from portmp.discovery.verdict import Verdict, narrower
from portmp.errors import CompileError, DeviceError, LaunchError
from portmp.formats import inputs
from portmp.networks.operators import ARITY
from portmp.routines import base
from portmp.routines.elementwise import reference
from portmp.runtime import launch, planes, program
from portmp.schedules.base import widths

COUNT, THREADS = 400, 64
"""Numbers of a check, a multiple of every width; work-items of a block."""

SAMPLES, DEPTH = 64, 8
"""Products that a matrix unit is tried with, and steps of each."""

ROOTS, ROOTS_EACH, ROOT_THREADS = 2**24, 256, 128
"""Reciprocal roots that are tried, those of a work-item, work-items of a block."""

MOST_REPAIRS = 8

_verdicts: dict[str, Verdict] = {}


def approve(device: Device) -> Verdict:
    """Probe *device* (or recall its verdict) and set its traits; DeviceError if refused."""
    if device.by_reference:
        return Verdict(device.traits)  # what others are compared with
    verdict = _verdicts.get(device.name)
    if verdict is None:
        traits = device.traits
        verdict = _found(device)
        while verdict.refusal and device.next_compiler():
            program.forget(device)
            device.traits = traits
            why = f"by another compiler, since {verdict.refusal}"
            verdict = _found(device)
            verdict = replace(verdict, repairs=(why, *verdict.repairs))
    _verdicts[device.name] = verdict
    if verdict.refusal:
        full = paths.full_disk()
        remedy = f"; {device.remedy}" if device.remedy and not full else full
        raise DeviceError(
            f"{device.name} ({device.properties.name}) is refused: {verdict.refusal}{remedy}"
        )
    device.traits = verdict.traits
    return verdict


def _found(device: Device) -> Verdict:
    """The verdict by the device's compiler, recalled or made."""
    key = _key(device)
    verdict = _recalled(key)
    if verdict is not None:
        return verdict
    if device.fragile:
        from portmp.discovery import isolated  # which is much to import, and seldom needed

        verdict = isolated.examine(device)
    else:
        verdict = examine(device)
    _remember(key, verdict)
    return verdict


def trust(device: Device) -> None:
    """Take a device with the traits that it has: one that computes nothing is never right."""
    _verdicts[device.name] = Verdict(device.traits)


def examine(device: Device, started: Callable[[str], None] = lambda check: None) -> Verdict:
    """Run the checks in this process, repairing what another spelling cures.

    *started* is told of each check before it runs.
    """
    repairs: list[str] = []
    while True:
        failed = _first_failure(device, started)
        if failed is None:
            return Verdict(device.traits, tuple(repairs))
        check, words = failed
        repaired = _repair(device, check)
        if repaired is None or len(repairs) > MOST_REPAIRS:
            return Verdict(device.traits, tuple(repairs), words)
        repairs.append(words)
        device.traits = repaired


def _repair(device: Device, check: str) -> Traits | None:
    """Other traits that may cure a failed check, or None."""
    traits = device.traits
    if check.startswith("fma") and traits.fma == "builtin":
        return replace(traits, fma="contracted")
    if check == "division float32" and traits.division == "native":
        return replace(traits, division="widened")
    if check == "square root float32" and traits.sqrt == "native":
        return replace(traits, sqrt="widened")
    if check == "barrier" and traits.barriers == "optimised":
        return replace(traits, barriers="unoptimised")
    if check == "reciprocal root" and traits.root != "ieee":
        return replace(traits, root="estimate" if traits.root == "assembly" else "ieee")
    if check == "matrix unit":
        return replace(traits, matrix_unit="")
    return narrower(device)


def _first_failure(device: Device, started: Callable[[str], None]) -> tuple[str, str] | None:
    """The first check that fails, with words, or None."""
    for check, what, differing, count in _checks(device, started):
        if differing:
            told = f"{differing} of {count} results differ from IEEE 754" if count else "not tried"
            return check, f"{what}: {told}"
    return None


Check = tuple[str, str, int, int]
"""A check's name, what it tests, how many results differ of how many, of 0 where none ran."""


def _checks(device: Device, started: Callable[[str], None]) -> Iterator[Check]:
    """Run each check."""
    for name in ("ds", "dd") if device.properties.float64 else ("ds",):
        form = formats.get(name)
        width = max(widths(form, device))
        what = f"arithmetic of {form.word}" + (f" in vectors of {width}" if width > 1 else "")
        started(what)
        try:
            yield from _arithmetic(device, form, width)
        except (CompileError, LaunchError) as error:
            yield f"{what}: {error}", f"{what}: {error}", COUNT, 0
    if device.traits.root != "ieee":
        what = "reciprocal square root from the estimate"
        started(what)
        yield "reciprocal root", what, *_roots(device)
    what = "a number kept over a barrier"
    started(what)
    yield "barrier", what, *_kept(device)
    if device.traits.matrix_unit:
        what = "sums by the matrix unit"
        started(what)
        yield "matrix unit", what, *_multiplied(device)


def _differences(
    got: list[np.ndarray[Any, Any]], expected: list[np.ndarray[Any, Any]]
) -> tuple[int, int]:
    wrong = np.zeros(got[0].shape, bool)
    for a, b in zip(got, expected, strict=True):
        same = (a == b) & (np.signbit(a) == np.signbit(b))
        wrong |= ~(same | (np.isnan(a) & np.isnan(b)))
    return int(wrong.sum()), wrong.size


def arithmetic_spec(form: formats.Format, width: int, threads: int = THREADS) -> KernelSpec:
    """The kernel that does each operation once: of words, and of values of two words.

    *threads*: of a block of single words; vectors have one.
    """
    words = {op: networks.get(f"{op}1") for op in ("add", "mul", "div", "sqrt")}
    words["fma"] = networks.get("accumulate1")
    values = {name: form.operator(op) for name, op, _ in _VALUES}
    return spec(
        "probe_arithmetic",
        "probe/arithmetic.mako",
        form,
        words | values,
        width=width,
        takes=[
            *(Index("n"), *(Array(name, start=False) for name in "xyz")),
            *(Array(op, const=False, plain=(form.word,), start=False) for op, *_ in _WORDS),
            *(Array(name, const=False, start=False) for name in values),
        ],
        threads=threads if width == 1 else 1,
    )


def _arithmetic(device: Device, form: formats.Format, width: int) -> Iterator[Check]:
    """Each operation on hostile numbers."""
    word = formats.get(form.word)
    threads = base.threads(device, THREADS) if width == 1 else 1
    one = arithmetic_spec(form, width, threads)
    hosts = [inputs.hostile(form, COUNT, f"probe {name}") for name in "xyz"]
    given = [planes.upload(form, host, device.queue) for host in hosts]
    outputs = [planes.allocate(word, (COUNT,), device.queue) for _ in _WORDS]
    pairs = [planes.allocate(form, (COUNT,), device.queue) for _ in _VALUES]
    names = ["n", *"xyz", *(one[0] for one in (*_WORDS, *_VALUES))]
    bound = dict(zip(names, (COUNT, *given, *outputs, *pairs), strict=True))
    grid = (base.blocks(COUNT, threads * width), 1, 1)
    launch.run(device.queue, (one,), grid, (threads, 1, 1), bound)
    leading = [[host[0]] for host in hosts]
    for (op, check, what), got in zip(_WORDS, outputs, strict=True):
        expected = reference.elementwise(word, op, *leading[: ARITY[op]])
        name = check.format(word.name)
        yield name, f"{what} in {word.name}", *_differences(got.read_dense(), expected)
    for (_, op, check), got in zip(_VALUES, pairs, strict=True):
        expected = reference.elementwise(form, op, *hosts[: ARITY[op]])
        yield check, f"{check} in {form.name}", *_differences(got.read_dense(), expected)


_WORDS = (
    ("add", "rounding", "addition and subnormals"),
    ("mul", "rounding", "multiplication and subnormals"),
    ("div", "division {}", "division"),
    ("sqrt", "square root {}", "square root"),
    ("fma", "fma", "fused multiply-add"),
)
"""Operations of words: operator, check, what it tests; in the order of the kernel's outputs."""

_VALUES = (("sum", "add", "two_sum"), ("product", "mul", "two_prod"))
"""Operations of values: output, operator, check."""


def roots_spec(threads: int = ROOT_THREADS) -> KernelSpec:
    """The kernel that tries reciprocal roots."""
    return spec(
        "roots",
        "probe/roots.mako",
        formats.get("float32"),
        {"root": networks.get("inverse_root")},
        takes=[Plain("scale", "float32"), Scratch("wrong", "float32")],
        threads=threads,
        count=ROOTS_EACH,
    )


def _roots(device: Device) -> tuple[int, int]:
    """Every float from 1 up to 4, also near the ends of the exponents' range."""
    if not device.properties.float64:
        return ROOTS, 0  # nothing to compare with
    form = formats.get("float32")
    threads = base.threads(device, ROOT_THREADS)
    try:
        program.kernels(device, roots_spec(threads))
    except CompileError:
        return ROOTS, 0  # no such instruction here
    items = ROOTS // ROOTS_EACH
    wrong = planes.allocate(form, (items,), device.queue)
    differing = 0
    for scale in (1, 2.0**-126, 2.0**126):
        given = {"scale": scale, "wrong": wrong}
        grid = (items // threads, 1, 1)
        launch.run(device.queue, (roots_spec(threads),), grid, (threads, 1, 1), given)
        differing += int(wrong.read_dense()[0].sum())
    return differing, 3 * ROOTS


def barrier_spec(threads: int) -> KernelSpec:
    """A block whose work-items keep a number over a barrier, in its one array."""
    takes, form = [Scratch("numbers", "float32")], formats.get("float32")
    return spec("negated", "probe/barrier.mako", form, {}, takes=takes, threads=threads)


def _kept(device: Device) -> tuple[int, int]:
    """A negated number, which Intel's runtime 2026.2 takes from another work-item."""
    threads, form = base.threads(device, THREADS), formats.get("float32")
    given = np.arange(1, threads + 1, dtype=np.float32)
    numbers = planes.upload(form, [given], device.queue)
    one = (barrier_spec(threads),)
    launch.run(device.queue, one, (1, 1, 1), (threads, 1, 1), {"numbers": numbers})
    return _differences(numbers.read_dense(), [-given * given[::-1]])


def unit_spec() -> KernelSpec:
    """Products by a matrix unit, each by one warp, added to sums."""
    return spec(
        "matrix_unit",
        "probe/matrix_unit.mako",
        formats.get("float64"),
        {},
        takes=[
            Array("a", start=False),
            Array("b", start=False),
            Array("c", const=False, start=False),
        ],
        depth=DEPTH,
    )


def factors(rows: int, columns: int) -> list[np.ndarray[Any, Any]]:
    """What a unit is tried with: sums that rounding, order and range change.

    Of (SAMPLES, rows, DEPTH), (SAMPLES, DEPTH, columns) and (SAMPLES, rows, columns) numbers:
    ordinary ones, of wide exponents, with products that are subnormal, and hostile ones.
    """
    form, each = formats.get("float64"), SAMPLES // 4
    found = []
    shapes = {"a": (rows, DEPTH), "b": (DEPTH, columns), "c": (rows, columns)}
    for name, shape in shapes.items():
        count = each * shape[0] * shape[1]
        small = inputs.ordinary(form, (count,), f"unit small {name}")[0]
        kinds = [
            inputs.ordinary(form, (count,), f"unit {name}")[0],
            inputs.wide(form, (count,), f"unit {name}")[0],
            np.ldexp(small, -1060 if name == "c" else -530),
            inputs.hostile(form, count, f"unit {name}")[0],
        ]
        found.append(np.concatenate(kinds).reshape(SAMPLES, *shape))
    return found


def chain(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], c: np.ndarray[Any, Any]) -> Any:
    """What such sums are: one fused multiply-add after the other, in order of the steps."""
    form, total = formats.get("float64"), c.ravel()
    for step in range(a.shape[2]):
        left, right = (
            np.broadcast_to(one, c.shape).ravel()
            for one in (a[:, :, step, None], b[:, None, step, :])
        )
        total = reference.elementwise(form, "fma", [left], [right], [total])[0]
    return total


def _multiplied(device: Device) -> tuple[int, int]:
    """Products of hostile numbers; those of a unit that is not there differ."""
    unit = platform.get(device.platform).matrix_units[device.traits.matrix_unit]
    form, hosts = formats.get("float64"), factors(unit.rows, unit.columns)
    given = [planes.upload(form, [host.ravel()], device.queue) for host in hosts]
    try:
        bound = dict(zip("abc", given, strict=True))
        launch.run(device.queue, (unit_spec(),), (SAMPLES, 1, 1), (unit.lanes, 1, 1), bound)
    except (CompileError, LaunchError):
        return hosts[2].size, 0
    return _differences(given[2].read_dense(), [chain(*hosts)])


# --- verdicts on disk ---------------------------------------------------------------------


def _key(device: Device) -> str:
    known = f"{definition.__version__}\0{definition.VERSION}"
    if device.interpreted:
        # What an interpreter does may change with every line of it.
        known = f"{known}\0{device.name}\0{program.code()}"
    text = f"{device.compiler_key()}\0{known}\0{asdict(device.traits)}"
    return f"probe-{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _recalled(key: str) -> Verdict | None:
    try:
        return Verdict.from_json(paths.recalled(key))
    except (ValueError, KeyError, TypeError):
        return None


def _remember(key: str, verdict: Verdict) -> None:
    if not verdict.refusal:
        paths.remember(key, verdict.as_json())

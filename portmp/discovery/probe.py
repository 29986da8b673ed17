"""The arithmetic probe: a device must round as IEEE 754 says before portmp uses it.

Operations that everything rests on run on hostile inputs (subnormals, infinities, wide
exponents) and are compared bit for bit with the host reference. A difference that
another spelling cures is repaired (``Traits``); any other refuses the device, with
words. Where reciprocal roots start from the hardware's estimate, all of them are tried.
The verdict is kept on disk by compiler, driver and device. Where a driver can take the
process down with it, the probe runs in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from portmp import definition, formats, paths
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.platform import Traits
from portmp.errors import CompileError, DeviceError

PROCESS = "portmp.discovery.probe_process"

TIMEOUT = 300
"""Seconds after which a probe process counts as hung."""

COUNT = 400

ROOTS, ROOTS_EACH, ROOT_THREADS = 2**24, 256, 128
"""Reciprocal roots that are tried, those of a work-item, work-items of a block."""


@dataclass(frozen=True)
class Verdict:
    """How a device may be used: with these traits, or not at all."""

    traits: Traits
    repairs: tuple[str, ...] = ()
    refusal: str = ""


_verdicts: dict[str, Verdict] = {}


def approve(device: Device) -> Verdict:
    """Probe *device* (or recall its verdict) and set its traits; DeviceError if refused."""
    verdict = _verdicts.get(device.name)
    if verdict is None and device.interpreted:
        # What an interpreter does may change with every line of it.
        verdict = examine(device)
    if verdict is None:
        key = _key(device)
        verdict = _recalled(key)
        if verdict is None:
            verdict = _in_own_process(device) if device.fragile else examine(device)
            _remember(key, verdict)
    _verdicts[device.name] = verdict
    if verdict.refusal:
        raise DeviceError(f"{device.name} ({device.properties.name}) is refused: {verdict.refusal}")
    device.traits = verdict.traits
    return verdict


def examine(device: Device) -> Verdict:
    """Run the checks in this process, repairing what another spelling cures."""
    repairs: list[str] = []
    while True:
        failed = _first_failure(device)
        if failed is None:
            return Verdict(device.traits, tuple(repairs))
        check, words = failed
        repaired = _repair(device.traits, check)
        if repaired is None or len(repairs) > 5:
            return Verdict(device.traits, tuple(repairs), words)
        repairs.append(words)
        device.traits = repaired


def _repair(traits: Traits, check: str) -> Traits | None:
    """Other traits that may cure a failed check, or None."""
    if check.startswith("fma") and traits.fma == "builtin":
        return replace(traits, fma="contracted")
    if check == "fma" and traits.fma == "contracted":
        return None
    if check == "division float32" and traits.division == "native":
        return replace(traits, division="widened")
    if check == "square root float32" and traits.sqrt == "native":
        return replace(traits, sqrt="widened")
    if check == "reciprocal root" and traits.root != "ieee":
        return replace(traits, root="estimate" if traits.root == "assembly" else "ieee")
    return None


def _first_failure(device: Device) -> tuple[str, str] | None:
    """The first check that fails, with words, or None."""
    for check, what, differing, count in _checks(device):
        if differing:
            return check, f"{what}: {differing} of {count} results differ from IEEE 754"
    return None


def _checks(device: Device) -> Iterator[tuple[str, str, int, int]]:
    """Run each check: its name, what it tests, how many results differ of how many."""
    words = ("float32", "float64") if device.properties.float64 else ("float32",)
    for word in words:
        double = {"float32": "ds", "float64": "dd"}[word]
        for check, what, form, op in (
            ("rounding", "addition and subnormals", word, "add"),
            ("rounding", "multiplication and subnormals", word, "mul"),
            ("fma", "fused multiply-add", word, "fma"),
            ("division", "division", word, "div"),
            ("square root", "square root", word, "sqrt"),
            ("two_sum", "two_sum", double, "add"),
            ("two_prod", "two_prod", double, "mul"),
        ):
            name = check if check in ("fma", "rounding") else f"{check} {word}"
            yield name, f"{what} in {word}", *_elementwise(device, form, op)
        yield "fma", f"fused multiply-add in vectors of {word}", *_product(device, word)
    if device.traits.root != "ieee":
        yield "reciprocal root", "reciprocal square root from the estimate", *_roots(device)


def _differences(
    got: list[np.ndarray[Any, Any]], expected: list[np.ndarray[Any, Any]]
) -> tuple[int, int]:
    wrong = np.zeros(got[0].shape, bool)
    for a, b in zip(got, expected, strict=True):
        same = (a == b) & (np.signbit(a) == np.signbit(b))
        wrong |= ~(same | (np.isnan(a) & np.isnan(b)))
    return int(wrong.sum()), wrong.size


def _elementwise(device: Device, form: str, op: str) -> tuple[int, int]:
    from portmp.formats import inputs
    from portmp.networks.operators import ARITY
    from portmp.routines import elementwise
    from portmp.routines.elementwise import reference as elementwise_reference
    from portmp.runtime import planes

    f = formats.get(form)
    host = [inputs.hostile(f, COUNT, f"probe {op}{i}") for i in range(ARITY[op])]
    given = [planes.upload(f, h, device.queue) for h in host]
    got = elementwise.apply(op, given).read_dense()
    return _differences(got, elementwise_reference.elementwise(f, op, *host))


def _product(device: Device, form: str) -> tuple[int, int]:
    from portmp.formats import inputs
    from portmp.routines import base, gemm
    from portmp.routines.gemm import reference as gemm_reference
    from portmp.runtime import planes

    f = formats.get(form)
    a, b = inputs.ordinary(f, (5, 12), "probe a"), inputs.ordinary(f, (12, 9), "probe b")
    got = gemm.gemm(
        planes.upload(f, a, device.queue), planes.upload(f, b, device.queue),
        alpha=base.words(f, 1, "alpha"), beta=base.words(f, 0, "beta"),
    ).read_dense()  # fmt: skip
    return _differences(got, gemm_reference.gemm(f, a, b))


def roots_spec() -> KernelSpec:
    """The kernel that tries reciprocal roots."""
    from portmp import networks
    from portmp.codegen.kernel_spec import spec

    return spec(
        "roots", "probe/roots.mako", formats.get("float32"),
        {"root": networks.get("inverse_root")}, threads=ROOT_THREADS, count=ROOTS_EACH,
    )  # fmt: skip


def _roots(device: Device) -> tuple[int, int]:
    """Every float from 1 up to 4, also near the ends of the exponents' range."""
    from portmp.runtime import planes, program

    if not device.properties.float64:
        return ROOTS, ROOTS  # nothing to compare with
    form = formats.get("float32")
    try:
        kernel = program.kernels(device, roots_spec())["roots"]
    except CompileError:
        return ROOTS, ROOTS  # no such instruction here
    items = ROOTS // ROOTS_EACH
    wrong = planes.allocate(form, (items,), device.queue)
    differing = 0
    for scale in (1, 2.0**-126, 2.0**126):
        device.queue.launch(
            kernel, (items // ROOT_THREADS, 1, 1), (ROOT_THREADS, 1, 1),
            [np.float32(scale), *wrong.buffers],
        )  # fmt: skip
        differing += int(wrong.read_dense()[0].sum())
    return differing, 3 * ROOTS


# --- a process of its own ------------------------------------------------------------------


def _in_own_process(device: Device) -> Verdict:
    # -P: a file of the current folder must not stand for a module of Python.
    command = [sys.executable, "-P", "-m", PROCESS, device.platform, device.compiler_key()]
    environment = {**os.environ, "PYTHONPATH": paths.python_path()}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return Verdict(device.traits, refusal=f"the arithmetic probe hung for {TIMEOUT} s")
    except OSError as error:
        return Verdict(device.traits, refusal=f"the arithmetic probe could not start: {error}")
    answer = done.stdout.strip().splitlines()[-1:] or [""]
    try:
        return from_json(json.loads(answer[0]))
    except (ValueError, KeyError, TypeError):
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        return Verdict(device.traits, refusal=f"the arithmetic probe ended with {how}: {last[0]}")


def as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "traits": asdict(verdict.traits),
        "repairs": list(verdict.repairs),
        "refusal": verdict.refusal,
    }


def from_json(data: dict[str, Any]) -> Verdict:
    return Verdict(Traits(**data["traits"]), tuple(data["repairs"]), data["refusal"])


# --- verdicts on disk ---------------------------------------------------------------------


def _key(device: Device) -> str:
    from portmp import __version__

    known = f"{__version__}\0{definition.VERSION}"
    text = f"{device.compiler_key()}\0{known}\0{asdict(device.traits)}"
    return f"probe-{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _recalled(key: str) -> Verdict | None:
    try:
        return from_json(paths.recalled(key))
    except (ValueError, KeyError, TypeError):
        return None


def _remember(key: str, verdict: Verdict) -> None:
    if not verdict.refusal:
        paths.remember(key, as_json(verdict))

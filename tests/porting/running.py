"""Kernels of the reference on devices: one thread block after the other, two arrays at most."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from porting import toolchains
from porting.entries import DEVICES
from portmp.backends.base import Device
from portmp.errors import BackendUnavailable, DeviceError

Numbers = np.ndarray[Any, Any]


@cache
def device(name: str) -> Device:
    """The device that a claim names; BackendUnavailable says why it is not here."""
    from portmp import discovery

    if DEVICES[name] == "opencl":
        return toolchains.pocl()
    if DEVICES[name] == "hip":
        toolchains.get(compiler(name)).make(()).version()
    try:
        return discovery.get("cuda" if DEVICES[name] == "cuda" else f"emulated:{name}")
    except DeviceError as error:
        raise BackendUnavailable(str(error)) from None


def compiler(name: str) -> str:
    """The compiler whose code a device runs."""
    if DEVICES[name] == "hip":
        return "clang" if name.startswith("gfx1") else "hiprtc"
    return {"cuda": "nvrtc", "opencl": "pocl"}[DEVICES[name]]


def run(
    name: str,
    text: str,
    options: tuple[str, ...],
    out: Numbers,
    given: Numbers | None,
    blocks: int,
    threads: int,
    compile_text: Callable[[str, str, str, tuple[str, ...]], bytes],
) -> Numbers:
    """What the kernel k leaves in *out*."""
    on = device(name)
    if DEVICES[name] == "opencl":
        on = toolchains.pocl_with(options)
    code = compile_text(compiler(name), text, on.properties.arch, options)
    kernel = on.load(code, ["k"])["k"]
    arrays = [out.copy()] + ([given] if given is not None else [])
    buffers = on.allocate_parts([array.nbytes for array in arrays])
    for buffer, array in zip(buffers, arrays, strict=True):
        on.queue.write(buffer, array)
    on.queue.launch(kernel, (blocks, 1, 1), (threads, 1, 1), buffers)
    on.queue.read(buffers[0], arrays[0])
    return arrays[0]

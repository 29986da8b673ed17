"""OpenCL C by the installed driver; the only compiler that needs a driver."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

from portmp.errors import CompileError

KEEP = ("-cl-std=CL1.2",)


def build_options(handle: Any) -> tuple[str, ...]:
    """Options for a device: correctly rounded float32 division and roots where offered."""
    import pyopencl as cl

    config = int(handle.single_fp_config)
    rounded = int(getattr(cl.device_fp_config, "CORRECTLY_ROUNDED_DIVIDE_SQRT", 1 << 7))
    extra = ("-cl-fp32-correctly-rounded-divide-sqrt",) if config & rounded else ()
    return KEEP + extra


def build_program(context: Any, handle: Any, source: str, options: tuple[str, ...]) -> Any:
    """Build *source* for one device; CompileError carries the driver's log."""
    import pyopencl as cl

    program = cl.Program(context, source)
    try:
        return quietly_built(program, handle, options)
    except cl.Error as error:
        log = ""
        with contextlib.suppress(cl.Error):
            log = program.get_build_info(handle, cl.program_build_info.LOG).strip()
        raise CompileError(log or str(error)) from None


def quietly_built(program: Any, handle: Any, options: tuple[str, ...]) -> Any:
    """Build a program of source or binaries without a warning for every non-empty log."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program.build(options=list(options), devices=[handle], cache_dir=False)

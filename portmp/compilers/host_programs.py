"""How a program in one file runs a kernel on each platform, without portmp.

A platform's part (templates/programs/driver.mako, opencl.mako) is C that a C++ compiler takes as
well, with four functions that the common part (kernel.mako, routine.mako there) calls:
``host_start`` chooses a device, ``host_memory`` gives memory with a content, ``host_fetch`` copies
it back, ``host_launch`` runs the kernel of a number and waits (*memory*: bytes of block memory
beside its own). What they may use: ``host_fail``, ``host_device`` (a number that the user gives,
or -1), and what parts.mako there defines: ``host_kernels`` (their addresses), and where the
kernels' texts are strings ``host_modules``, ``host_entries``, ``HOST_MODULES``, ``HOST_KERNELS``.
"""

from dataclasses import dataclass

from portmp.errors import ArgumentError


@dataclass(frozen=True)
class HostProgram:
    """A platform's part: the file's ending, what builds it ({0}: the name), headers, the template
    of its functions, what names in it begin with, and whether the kernel's text is a string.
    """

    ending: str
    build: str
    headers: str
    functions: str
    prefix: str = ""
    embedded: bool = False


_OPENCL_HEADERS = """\
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif
"""

PROGRAMS = {
    "cuda": HostProgram(
        ".cu",
        "nvcc -O3 -fmad=false -o {0} {0}.cu",
        "#include <cuda_runtime.h>\n",
        "driver",
        prefix="cuda",
    ),
    "rocm": HostProgram(
        ".hip.cpp",
        "HIP_PLATFORM=amd hipcc -O3 -ffp-contract=off -o {0} {0}.hip.cpp",
        "#include <hip/hip_runtime.h>\n",
        "driver",
        prefix="hip",
    ),
    "opencl": HostProgram(
        ".c", "cc -O2 -o {0} {0}.c -lOpenCL", _OPENCL_HEADERS, "opencl", embedded=True
    ),
}


def get(platform: str) -> HostProgram:
    """The part of a platform; ArgumentError where there is none."""
    if platform not in PROGRAMS:
        raise ArgumentError(
            f"platform: {platform!r} given, programs are written for {', '.join(PROGRAMS)}"
        )
    return PROGRAMS[platform]

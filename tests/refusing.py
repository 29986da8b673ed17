"""A stand-in for OpenCL drivers whose compiler does not work: the probe refuses their devices.

``python tests/refusing.py TEXT COMMAND ...`` runs a command in which each platform whose version
holds TEXT (``PoCL 3.0``; ``OpenCL``: all) refuses to build any program, with words as PoCL has them
for a processor that it does not know. So the suite shows what it is on such a machine:

    python tests/refusing.py "PoCL 3.0" python -m pytest tests/test_exchange.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DRIVER = r"""
/* Put before a process's libraries. Objects of OpenCL begin with a pointer to the table of their
   driver's functions (cl_khr_icd): by it all that is not refused is handed on. */
#include <stdlib.h>
#include <string.h>

#define DRIVER(object, number, type) ((type)(*(void ***)(object))[number])

enum { GET_PLATFORM_INFO = 1, GET_DEVICE_INFO = 3, BUILD_PROGRAM = 30, GET_PROGRAM_INFO = 32 };
enum { PLATFORM_VERSION = 0x0901, DEVICE_PLATFORM = 0x1031, PROGRAM_DEVICES = 0x1163 };
enum { BUILD_PROGRAM_FAILURE = -11 };

typedef int (*Information)(void *, unsigned, size_t, void *, size_t *);
typedef int (*Build)(void *, unsigned, void **, const char *, void *, void *);

int clBuildProgram(
    void *program, unsigned count, void **devices, const char *options, void *told, void *data)
{
    void *device[64] = {0}, *platform = 0;
    char version[256] = "";
    DRIVER(program, GET_PROGRAM_INFO, Information)
        (program, PROGRAM_DEVICES, sizeof device, device, 0);
    DRIVER(*device, GET_DEVICE_INFO, Information)
        (*device, DEVICE_PLATFORM, sizeof platform, &platform, 0);
    DRIVER(platform, GET_PLATFORM_INFO, Information)
        (platform, PLATFORM_VERSION, sizeof version - 1, version, 0);
    if (strstr(version, getenv("REFUSED_OPENCL")))
        return BUILD_PROGRAM_FAILURE;
    return DRIVER(program, BUILD_PROGRAM, Build)(program, count, devices, options, told, data);
}
"""


def settings(refused: str, folder: Path) -> dict[str, str] | None:
    """The environment of a command that meets the stand-in; None where there is no C compiler.

    *folder* takes the stand-in and all that is kept of devices, which holds under it alone.
    """
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    source, library = folder / "refusing.c", folder / "refusing.so"
    source.write_text(DRIVER)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    left_out = ("PORTMP_DEVICE", "PORTMP_DRIVERS_TRIED", "PORTMP_TEST_DEVICE")
    return {
        **{name: text for name, text in os.environ.items() if name not in left_out},
        "LD_PRELOAD": str(library),
        "REFUSED_OPENCL": refused,
        "PORTMP_CACHE_DIR": str(folder / "cache"),
        "PORTMP_TEST_CACHE": str(folder / "cache"),
    }


def main(refused: str, *command: str) -> int:
    """Run the command; its status."""
    with tempfile.TemporaryDirectory() as folder:
        environment = settings(refused, Path(folder))
        if environment is None:
            print("a C compiler (cc) is needed, on Linux", file=sys.stderr)
            return 2
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

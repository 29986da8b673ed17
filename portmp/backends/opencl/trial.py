"""Start OpenCL drivers in a process of its own, run as a file: one that crashes ends no other.

Of each library named it prints a line before it is loaded and asked for its platforms' devices, by
OpenCL's interface between loader and driver (cl_khr_icd), and a last line at the end. It imports
nothing of portmp, so that it takes a few hundredths of a second.
"""

import ctypes
import sys

ALL_DEVICES = 0xFFFFFFFF
DEVICE_IDS = 2
"""Where clGetDeviceIDs stands in a driver's table of functions."""


def start(library: str) -> None:
    """Load a driver and count its devices. What is missing the OpenCL loader will find missing."""
    driver = ctypes.CDLL(library)
    address = driver.clGetExtensionFunctionAddress
    address.restype = ctypes.c_void_p
    found = address(b"clIcdGetPlatformIDsKHR")
    if not found:
        return
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)
    count, platforms = ctypes.c_uint(0), (ctypes.c_void_p * 16)()
    if kind(found)(16, platforms, ctypes.byref(count)):
        return
    for platform in filter(None, platforms[: count.value]):
        table = ctypes.cast(platform, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
        devices = ctypes.CFUNCTYPE(
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_uint64,
            ctypes.c_uint,
            ctypes.c_void_p,
            ctypes.c_void_p,
        )(table[DEVICE_IDS])
        devices(platform, ALL_DEVICES, 0, None, ctypes.byref(count))


def main(libraries: list[str]) -> None:
    """Start each."""
    for library in libraries:
        print(f"start {library}", flush=True)
        try:
            start(library)
        except (OSError, AttributeError):
            continue  # not there, or no driver: the OpenCL loader leaves it out
    print("end", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

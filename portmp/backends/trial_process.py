"""Start drivers in a process of its own, run as a file: one that crashes ends no other.

Of each start named (``function=library``) it prints a line before the library is loaded and its
function called with 0, and a last line at the end. The function ``icd`` asks an OpenCL driver for
its platforms' devices, by the interface between loader and driver (cl_khr_icd). It imports nothing
of portmp, so that it takes a few hundredths of a second.
"""

import ctypes
import sys

ALL_DEVICES = 0xFFFFFFFF
DEVICE_IDS = 2
"""Where clGetDeviceIDs stands in a driver's table of functions."""


def start(function: str, library: str) -> None:
    """Load a driver and start it. What is missing its users will find missing."""
    driver = ctypes.CDLL(library)
    if function == "icd":
        count_devices(driver)
    else:
        getattr(driver, function)(0)


def count_devices(driver: ctypes.CDLL) -> None:
    """Start an OpenCL driver."""
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
        pointer = ctypes.c_void_p
        kinds = ctypes.c_int, pointer, ctypes.c_uint64, ctypes.c_uint, pointer, pointer
        devices = ctypes.CFUNCTYPE(*kinds)(table[DEVICE_IDS])
        devices(platform, ALL_DEVICES, 0, None, ctypes.byref(count))


def main(starts: list[str]) -> None:
    """Start each."""
    for one in starts:
        print(f"start {one}", flush=True)
        try:
            start(*one.split("=", 1))
        except (OSError, AttributeError):
            continue  # not there, or no driver
    print("end", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

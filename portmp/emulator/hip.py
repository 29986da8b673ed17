"""The calls of HIP's runtime that the ROCm backend makes, on the interpreter.

They take and return what hip-python's do: a tuple with a status first. So the backend's own
code runs, from the first query of the device to the last free. Handles are checked, leaks can
be counted, and calls can be made to fail.
"""

import ctypes
import functools
import itertools
import time
from collections.abc import Callable
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np

from portmp.emulator.loaded import Loaded
from portmp.emulator.machine import Machine
from portmp.errors import CheckError, DeviceError, LaunchError

HIP_VERSION_MAJOR = 6
_RUNTIME = 60_000_000


class hipError_t(IntEnum):
    """HIP's statuses."""

    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorOutOfMemory = 2
    hipErrorInvalidImage = 200
    hipErrorInvalidHandle = 400
    hipErrorNotFound = 500
    hipErrorIllegalAddress = 700
    hipErrorLaunchFailure = 719


class hipDeviceAttribute_t(IntEnum):
    """The attributes that the backend asks for."""

    hipDeviceAttributeMemoryPoolsSupported = 1


class hipMemLocationType(IntEnum):
    """Where memory is."""

    hipMemLocationTypeDevice = 1


_OK = (hipError_t.hipSuccess,)
_BAD_VALUE = (hipError_t.hipErrorInvalidValue,)
_BAD_HANDLE = (hipError_t.hipErrorInvalidHandle,)


class Hip:
    """One interpreted device with HIP's calls.

    ``failing`` maps a call's name to the status that it returns instead of working; ``calls``
    lists the names of calls in their order where it is a list.
    """

    hipError_t = hipError_t
    hipDeviceAttribute_t = hipDeviceAttribute_t
    HIP_VERSION_MAJOR = HIP_VERSION_MAJOR

    def __init__(self, machine: Machine, facts: dict[str, Any]) -> None:
        self.machine = machine
        self.failing: dict[str, hipError_t] = {}
        self.calls: list[str] | None = None
        self.streams: set[int] = set()
        self.events: dict[int, float] = {}
        self.host_memory: dict[int, Any] = {}
        self._facts = facts
        self._modules: dict[int, dict[str, Loaded]] = {}
        self._functions: dict[int, Loaded] = {}
        self._numbers = itertools.count(1)
        self._message = ""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("hip") or isinstance(found, type):
            return found

        def called(*given: Any) -> Any:
            if self.calls is not None:
                self.calls.append(name)
            return (self.failing[name], None) if name in self.failing else found(*given)

        return functools.update_wrapper(called, found)

    # --- the device ---------------------------------------------------------------------

    def hipGetErrorString(self, status: Any) -> str:
        """What a status means; for a failed launch, what went wrong in it."""
        if self._message and status in (
            hipError_t.hipErrorIllegalAddress,
            hipError_t.hipErrorInvalidImage,
        ):
            return self._message
        return str(getattr(status, "name", status))

    def hipRuntimeGetVersion(self) -> tuple[Any, int]:
        """The version of the runtime."""
        return hipError_t.hipSuccess, _RUNTIME

    def hipSetDevice(self, index: int) -> tuple[Any, ...]:
        """Make a device current."""
        return _OK if index == 0 else _BAD_VALUE

    def hipDeviceGetAttribute(self, attribute: Any, index: int) -> tuple[Any, int]:
        """An attribute: there are no memory pools."""
        return hipError_t.hipSuccess, 0

    def hipGetDeviceProperties(self, target: Any, index: int) -> tuple[Any, ...]:
        """Fill the structure of properties."""
        for name, value in self._facts.items():
            setattr(target, name, value)
        return _OK

    @staticmethod
    def hipDeviceProp_t() -> SimpleNamespace:
        """An empty structure of properties."""
        return SimpleNamespace()

    # --- memory -------------------------------------------------------------------------

    def hipMemGetInfo(self) -> tuple[Any, int, int]:
        """Free and total bytes."""
        memory = self.machine.memory
        return hipError_t.hipSuccess, memory.free_bytes, memory.capacity

    def hipMalloc(self, nbytes: int) -> tuple[Any, Any]:
        """Memory."""
        address = self.machine.memory.allocate(nbytes)
        if address is None:
            return hipError_t.hipErrorOutOfMemory, None
        return hipError_t.hipSuccess, address

    def hipFree(self, pointer: int) -> tuple[Any, ...]:
        """Give memory back."""
        return _OK if self.machine.memory.free(pointer) else _BAD_VALUE

    def hipHostMalloc(self, nbytes: int, flags: int) -> tuple[Any, Any]:
        """Memory of the host."""
        memory = (ctypes.c_uint8 * nbytes)()
        address = ctypes.addressof(memory)
        self.host_memory[address] = memory
        return hipError_t.hipSuccess, address

    def hipHostFree(self, address: int) -> tuple[Any, ...]:
        """Give it back."""
        return _BAD_VALUE if self.host_memory.pop(address, None) is None else _OK

    def _reaches(self, pointer: int, nbytes: int, stream: Any) -> bool:
        return stream in self.streams and self.machine.memory.holds(pointer, nbytes)

    def _copied(
        self, way: Callable[[int, Any], None], pointer: int, address: int, nbytes: int, stream: Any
    ) -> tuple[Any, ...]:
        """Copy between memory here and the host's."""
        if not self._reaches(pointer, nbytes, stream):
            return _BAD_VALUE
        way(pointer, np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address)))
        return _OK

    def hipMemcpyHtoDAsync(
        self, pointer: int, address: int, nbytes: int, stream: Any
    ) -> tuple[Any, ...]:
        """Copy from the host."""
        return self._copied(self.machine.memory.write, pointer, address, nbytes, stream)

    def hipMemcpyDtoHAsync(
        self, address: int, pointer: int, nbytes: int, stream: Any
    ) -> tuple[Any, ...]:
        """Copy to the host."""
        return self._copied(self.machine.memory.read, pointer, address, nbytes, stream)

    def hipMemsetD8Async(
        self, pointer: int, value: int, nbytes: int, stream: Any
    ) -> tuple[Any, ...]:
        """Set bytes."""
        if not self._reaches(pointer, nbytes, stream):
            return _BAD_VALUE
        self.machine.memory.write(pointer, np.full(nbytes, value, np.uint8))
        return _OK

    def hipMemcpyDtoDAsync(
        self, target: int, source: int, nbytes: int, stream: Any
    ) -> tuple[Any, ...]:
        """Copy within the device."""
        if not (self._reaches(target, nbytes, stream) and self._reaches(source, nbytes, stream)):
            return _BAD_VALUE
        self.machine.memory.copy(target, source, nbytes)
        return _OK

    def hipMemcpyPeerAsync(
        self, target: int, to: int, source: int, of: int, nbytes: int, stream: Any
    ) -> tuple[Any, ...]:
        """The same: no other device is reached."""
        return self.hipMemcpyDtoDAsync(target, source, nbytes, stream)

    def hipDeviceCanAccessPeer(self, mine: int, theirs: int) -> tuple[Any, int]:
        """No device reaches another one."""
        return hipError_t.hipSuccess, 0

    # --- streams and events -------------------------------------------------------------

    def hipStreamCreateWithFlags(self, flags: int) -> tuple[Any, int]:
        """A stream; its work is done when a call returns."""
        stream = next(self._numbers)
        self.streams.add(stream)
        return hipError_t.hipSuccess, stream

    def hipStreamDestroy(self, stream: Any) -> tuple[Any, ...]:
        """Destroy a stream."""
        if stream not in self.streams:
            return _BAD_HANDLE
        self.streams.remove(stream)
        return _OK

    def hipStreamSynchronize(self, stream: Any) -> tuple[Any, ...]:
        """Nothing is left to wait for."""
        return _OK if stream in self.streams else _BAD_HANDLE

    def hipStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> tuple[Any, ...]:
        """Streams are in order with one another."""
        return _OK if stream in self.streams and event in self.events else _BAD_HANDLE

    def hipEventCreateWithFlags(self, flags: int) -> tuple[Any, int]:
        """An event."""
        event = next(self._numbers)
        self.events[event] = 0.0
        return hipError_t.hipSuccess, event

    def hipEventRecord(self, event: Any, stream: Any) -> tuple[Any, ...]:
        """Note the time."""
        if event not in self.events or stream not in self.streams:
            return _BAD_HANDLE
        self.events[event] = time.perf_counter()
        return _OK

    def hipEventSynchronize(self, event: Any) -> tuple[Any, ...]:
        """Nothing is left to wait for."""
        return _OK if event in self.events else _BAD_HANDLE

    def hipEventQuery(self, event: Any) -> tuple[Any, ...]:
        """All is done at once."""
        return _OK if event in self.events else _BAD_HANDLE

    def hipEventElapsedTime(self, start: Any, stop: Any) -> tuple[Any, float]:
        """Milliseconds that the interpreter took."""
        if start not in self.events or stop not in self.events:
            return hipError_t.hipErrorInvalidHandle, 0.0
        return hipError_t.hipSuccess, 1e3 * (self.events[stop] - self.events[start])

    def hipEventDestroy(self, event: Any) -> tuple[Any, ...]:
        """Destroy an event."""
        return _OK if self.events.pop(event, None) is not None else _BAD_HANDLE

    # --- kernels ------------------------------------------------------------------------

    def hipModuleLoadData(self, binary: bytes) -> tuple[Any, Any]:
        """Load a code object."""
        try:
            kernels = self.machine.load(binary)
        except DeviceError as error:
            self._message = str(error)
            return hipError_t.hipErrorInvalidImage, None
        module = next(self._numbers)
        self._modules[module] = kernels
        return hipError_t.hipSuccess, module

    def hipModuleGetFunction(self, module: Any, name: bytes) -> tuple[Any, Any]:
        """A kernel of a module."""
        kernels = self._modules.get(module)
        if kernels is None or name.decode() not in kernels:
            return hipError_t.hipErrorNotFound, None
        function = next(self._numbers)
        self._functions[function] = kernels[name.decode()]
        return hipError_t.hipSuccess, function

    def hipModuleLaunchKernel(self, function: Any, *numbers: Any) -> tuple[Any, ...]:
        """Run a kernel: grid, block, dynamic shared memory, stream, argument addresses, extra."""
        grid, block = numbers[:3], numbers[3:6]
        dynamic, stream, arguments, extra = numbers[6:]
        loaded = self._functions.get(function)
        if loaded is None or stream not in self.streams:
            return _BAD_HANDLE
        if extra is not None:
            return _BAD_VALUE
        explicit = loaded.kernel.explicit
        addresses = (ctypes.c_void_p * len(explicit)).from_address(arguments)
        values = [
            ctypes.string_at(address, argument.nbytes)
            for address, argument in zip(addresses, explicit, strict=True)
        ]
        try:
            self.machine.launch(loaded, grid, block, values, dynamic)
        except CheckError:
            raise  # no status of HIP's says what is wrong in a kernel
        except LaunchError as error:
            self._message = str(error)
            return (hipError_t.hipErrorIllegalAddress,)
        return _OK

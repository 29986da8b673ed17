"""OpenCL C by the installed driver; the only compiler that needs a driver."""

import contextlib
import warnings
from typing import Any

from portmp import paths
from portmp.compilers.base import Compiler, KernelReport
from portmp.errors import BackendUnavailable, CompileError

KEEP = ("-cl-std=CL1.2",)

_POCL, _BITCODE = b"poclbin", b"BC\xc0\xde"
"""How PoCL's binaries begin, and the code in them: it leaves out what it cannot read, and ends the
process that loads such a binary.
"""


def build_options(handle: Any) -> tuple[str, ...]:
    """Options for a device: correctly rounded float32 division and roots where offered.

    CPUs get no warnings: explicit vectors, which only they have, make some compilers count
    calls on standard error that are inlined.
    """
    import pyopencl as cl

    config = int(handle.single_fp_config)
    rounded = int(getattr(cl.device_fp_config, "CORRECTLY_ROUNDED_DIVIDE_SQRT", 1 << 7))
    extra = ("-cl-fp32-correctly-rounded-divide-sqrt",) if config & rounded else ()
    quiet = ("-w",) if handle.type & cl.device_type.CPU else ()
    return KEEP + quiet + extra


class OpenclCompiler(Compiler):
    """The compiler inside the driver of one OpenCL device."""

    name = "opencl"

    def __init__(self, context: Any, handle: Any) -> None:
        self.context = context
        self.handle = handle
        self.build_options = build_options(handle)

    def version(self) -> str:
        platform = self.handle.platform
        return f"{platform.name.strip()} {platform.version.strip()} {self.handle.driver_version}"

    def options(self, arch: str) -> tuple[str, ...]:
        return self.build_options

    def compile(self, source: str, arch: str, *more: str) -> bytes:
        import pyopencl as cl

        program = cl.Program(self.context, source)
        try:
            built = self._quietly(program, *more)
        except cl.Error as error:
            log = ""
            with contextlib.suppress(cl.Error), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                log = program.get_build_info(self.handle, cl.program_build_info.LOG).strip()
            raise CompileError(log or str(error)) from None
        binary: bytes = built.get_info(cl.program_info.BINARIES)[0]
        if binary.startswith(_POCL) and _BITCODE not in binary:
            raise CompileError(
                f"{self.handle.platform.name.strip()} gave a binary without code: it could not "
                f"read its own temporary files{paths.full_disk()}"
            )
        return binary

    def program(self, binary: bytes) -> Any:
        """A pyopencl program made from machine code; raises pyopencl's errors."""
        import pyopencl as cl

        return self._quietly(cl.Program(self.context, [self.handle], [binary]))

    def _quietly(self, program: Any, *more: str) -> Any:
        """Build without a warning for every log that is not empty."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = [*self.build_options, *more]
            return program.build(options=options, devices=[self.handle], cache_dir=False)

    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        raise BackendUnavailable(
            "OpenCL drivers keep their machine code to themselves; "
            "compile for the platform cuda or rocm to read instructions"
        )

    def report(self, binary: bytes, arch: str) -> list[KernelReport]:
        """What the driver tells of each kernel: private and local memory."""
        import pyopencl as cl

        info = cl.kernel_work_group_info
        return [
            KernelReport(
                name=kernel.function_name,
                arch=arch,
                registers=None,
                scalar_registers=None,
                spills=None,
                scratch=int(kernel.get_work_group_info(info.PRIVATE_MEM_SIZE, self.handle)),
                shared=int(kernel.get_work_group_info(info.LOCAL_MEM_SIZE, self.handle)),
            )
            for kernel in self.program(binary).all_kernels()
        ]

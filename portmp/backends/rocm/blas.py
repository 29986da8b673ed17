"""hipBLAS, the BLAS of AMD GPUs, through hip-python's bindings."""

import ctypes
from typing import Any

from portmp.backends.blas import BlasLibrary, Interface
from portmp.backends.driver_api import Driver
from portmp.compilers.hiprtc import find_library, findable
from portmp.errors import BackendUnavailable

_INSTALL = (
    "install hipBLAS (hipblas of ROCm; on Debian and Ubuntu apt-get install libhipblas0) "
    "and pip install 'hip-python[libraries]'"
)

OLD_TYPES = {
    "int8": ("HIPBLAS_R_8I", "HIPBLAS_R_32I", "HIPBLAS_R_32I"),
    "float32": ("HIPBLAS_R_32F",) * 3,
    "float64": ("HIPBLAS_R_64F",) * 3,
}
"""Types of entries, results and sums until ROCm 6."""

TYPES = {
    "int8": ("HIP_R_8I", "HIP_R_32I", "HIPBLAS_COMPUTE_32I"),
    "float32": ("HIP_R_32F", "HIP_R_32F", "HIPBLAS_COMPUTE_32F"),
    "float64": ("HIP_R_64F", "HIP_R_64F", "HIPBLAS_COMPUTE_64F"),
}


def interface(bindings: Any, data_types: Any) -> Interface:
    """The codes of these bindings, as the members of enumerations that they insist on."""
    operations = bindings.hipblasOperation_t
    old = getattr(bindings, "hipblasDatatype_t", None)
    names = TYPES if old is None else OLD_TYPES
    entries = data_types if old is None else old
    sums = bindings.hipblasComputeType_t if old is None else old
    kinds = {
        word: (entries[entry], entries[result], sums[compute])
        for word, (entry, result, compute) in names.items()
    }
    return Interface(
        "hipBLAS",
        "hipblasCreate",
        "hipblasSetStream",
        "hipblasGemmStridedBatchedEx",
        plain=operations.HIPBLAS_OP_N,
        transposed=operations.HIPBLAS_OP_T,
        kinds=kinds,
        end=(bindings.hipblasGemmAlgo_t.HIPBLAS_GEMM_DEFAULT,),
        statuses={int(status): status.name for status in bindings.hipblasStatus_t},
        axpy={"float32": "hipblasSaxpy", "float64": "hipblasDaxpy"},
        gemv={"float32": "hipblasSgemv", "float64": "hipblasDgemv"},
    )


class HipBlas(BlasLibrary):
    """hipBLAS on one device."""

    def __init__(self, driver: Driver) -> None:
        bindings, data_types = _bindings()
        super().__init__(interface(bindings, data_types), bindings, driver)

    def _create(self) -> Any:
        try:
            with findable("hipblas"):
                status, handle = self._library.hipblasCreate()
        except RuntimeError as error:  # so hip-python tells that a library does not load
            raise BackendUnavailable(f"hipBLAS does not load ({error}); {_INSTALL}") from error
        self._check("hipblasCreate", int(status))
        return handle

    def _call(self, function: str, *arguments: object) -> None:
        plain = [a.value if isinstance(a, ctypes.c_int64) else a for a in arguments]
        (status,) = getattr(self._library, function)(*plain)
        self._check(function, int(status))


def _bindings() -> tuple[Any, Any]:
    """hip-python's modules; BackendUnavailable where they or the library are missing."""
    try:
        from hip import hip, hipblas
    except ImportError as error:
        raise BackendUnavailable(
            f"hip-python has no bindings of hipBLAS ({error}); {_INSTALL}"
        ) from error
    if find_library("hipblas") is None:
        raise BackendUnavailable(f"hipBLAS is missing; {_INSTALL}")
    return hipblas, hip.hipDataType

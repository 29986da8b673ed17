"""cuBLAS behind the interface of a platform's BLAS."""

import ctypes

from portmp.backends.blas import Interface
from portmp.errors import BackendUnavailable

_INSTALL = "pip install nvidia-cublas (for drivers of CUDA 12: nvidia-cublas-cu12)"

CUBLAS = Interface(
    "cuBLAS",
    "cublasCreate_v2",
    "cublasSetStream_v2",
    "cublasGemmStridedBatchedEx",
    plain=0,
    transposed=1,
    kinds={"int8": (3, 10, 72), "float32": (0, 0, 68), "float64": (1, 1, 70)},
    end=(-1,),
    statuses={
        1: "not initialised",
        3: "out of memory",
        7: "invalid value",
        8: "not for this architecture",
        13: "execution failed",
        14: "internal error",
        15: "not supported",
    },
    axpy={"float32": "cublasSaxpy_v2", "float64": "cublasDaxpy_v2"},
    gemv={"float32": "cublasSgemv_v2", "float64": "cublasDgemv_v2"},
)


def cublas() -> ctypes.CDLL:
    """The library; BackendUnavailable says how to install it."""
    try:
        from cuda import pathfinder

        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
    except Exception as error:  # several types, for a missing package and a missing library
        reason = str(error).partition("\n")[0]
        raise BackendUnavailable(f"cuBLAS is missing ({reason}); {_INSTALL}") from error

"""Names of CUDA's interfaces in HIP.

Most change their prefix alone. Which names of HIP there are is in names.json, made from the
bindings for Python: ``ci/porting bindings`` writes it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from portmp.paths import PACKAGE

FILE = PACKAGE / "porting/names.json"

HEADERS = {
    "cuda_runtime.h": "hip/hip_runtime.h",
    "cuda_runtime_api.h": "hip/hip_runtime_api.h",
    "cuda.h": "hip/hip_runtime.h",
    "device_launch_parameters.h": "hip/hip_runtime.h",
    "device_functions.h": "hip/hip_runtime.h",
    "device_atomic_functions.h": "hip/hip_runtime.h",
    "sm_30_intrinsics.h": "hip/hip_runtime.h",
    "cuda_profiler_api.h": "hip/hip_runtime_api.h",
    "driver_types.h": "hip/driver_types.h",
    "vector_types.h": "hip/hip_vector_types.h",
    "vector_functions.h": "hip/hip_vector_types.h",
    "texture_types.h": "hip/texture_types.h",
    "cuda_texture_types.h": "hip/hip_texture_types.h",
    "surface_types.h": "hip/surface_types.h",
    "channel_descriptor.h": "hip/channel_descriptor.h",
    "library_types.h": "hip/library_types.h",
    "cuda_fp16.h": "hip/hip_fp16.h",
    "cuda_bf16.h": "hip/hip_bf16.h",
    "cuComplex.h": "hip/hip_complex.h",
    "cooperative_groups.h": "hip/hip_cooperative_groups.h",
    "cooperative_groups/reduce.h": "hip/hip_cooperative_groups.h",
    "cooperative_groups/scan.h": "hip/hip_cooperative_groups.h",
    "math_constants.h": "hip/hip_math_constants.h",
    "math_functions.h": "hip/math_functions.h",
    "nvrtc.h": "hip/hiprtc.h",
    "cublas.h": "hipblas/hipblas.h",
    "cublas_v2.h": "hipblas/hipblas.h",
    "cublasLt.h": "hipblaslt/hipblaslt.h",
    "cufft.h": "hipfft/hipfft.h",
    "cufftXt.h": "hipfft/hipfftXt.h",
    "curand.h": "hiprand/hiprand.h",
    "curand_kernel.h": "hiprand/hiprand_kernel.h",
    "curand_mtgp32_host.h": "hiprand/hiprand_mtgp32_host.h",
    "cusparse.h": "hipsparse/hipsparse.h",
    "cusparse_v2.h": "hipsparse/hipsparse.h",
    "cusolverDn.h": "hipsolver/hipsolver.h",
    "cub/cub.cuh": "hipcub/hipcub.hpp",
    "thrust/system/cuda/execution_policy.h": "thrust/system/hip/execution_policy.h",
    "thrust/system/cuda/error.h": "thrust/system/hip/error.h",
    "thrust/system/cuda/vector.h": "thrust/system/hip/vector.h",
    "nccl.h": "rccl/rccl.h",
    "nvToolsExt.h": "roctracer/roctx.h",
    "nvtx3/nvToolsExt.h": "roctracer/roctx.h",
    "nvtx3/nvtx3.hpp": "roctracer/roctx.h",
}
"""Headers that have another name in HIP; other headers of Thrust and of C++ keep theirs."""

DEFINED = {
    "__CUDACC__": "__HIPCC__",
    "__NVCC__": "__HIPCC__",
    "__CUDA_RUNTIME_H__": "HIP_INCLUDE_HIP_HIP_RUNTIME_H",
    "__CUDA_RUNTIME_API_H__": "HIP_INCLUDE_HIP_HIP_RUNTIME_API_H",
    "__DRIVER_TYPES_H__": "HIP_INCLUDE_HIP_DRIVER_TYPES_H",
    "__VECTOR_TYPES_H__": "HIP_INCLUDE_HIP_HIP_VECTOR_TYPES_H",
    "__CUDA_FP16_H__": "HIP_INCLUDE_HIP_HIP_FP16_H",
    "__cuda_cuda_h__": "HIP_INCLUDE_HIP_HIP_RUNTIME_API_H",
}
"""What compilers and headers define, so that programs can ask for them."""

_CALLED_OTHERWISE = {
    "cudaMallocHost": "hipHostMalloc",
    "cudaHostAlloc": "hipHostMalloc",
    "cudaFreeHost": "hipHostFree",
    "cudaHostAllocDefault": "hipHostMallocDefault",
    "cudaHostAllocPortable": "hipHostMallocPortable",
    "cudaHostAllocMapped": "hipHostMallocMapped",
    "cudaHostAllocWriteCombined": "hipHostMallocWriteCombined",
    "cudaThreadSynchronize": "hipDeviceSynchronize",
    "cudaThreadExit": "hipDeviceReset",
    "cudaThreadSetCacheConfig": "hipDeviceSetCacheConfig",
    "cudaThreadGetCacheConfig": "hipDeviceGetCacheConfig",
    "cudaThreadSetLimit": "hipDeviceSetLimit",
    "CUDART_CB": "/* CUDART_CB */",
    "__trap": "__builtin_trap",
    "__brkpt": "__builtin_debugtrap",
    **DEFINED,
    "cudaDeviceProp": "hipDeviceProp_t",
    "cudaPointerAttributes": "hipPointerAttribute_t",
    "cudaDeviceBlockingSync": "hipDeviceScheduleBlockingSync",
    "cudaTextureObject_t": "hipTextureObject_t",
    "cudaStreamPerThread": "hipStreamPerThread",
    "cuMemAlloc": "hipMalloc",
    "cuMemFree": "hipFree",
    "cuMemAllocManaged": "hipMallocManaged",
    "cuMemAllocAsync": "hipMallocAsync",
    "cuMemAllocFromPoolAsync": "hipMallocFromPoolAsync",
    "cuMemFreeAsync": "hipFreeAsync",
    "cuMemHostAlloc": "hipHostMalloc",
    "cuMemFreeHost": "hipHostFree",
    "cuMemHostRegister": "hipHostRegister",
    "cuMemHostUnregister": "hipHostUnregister",
    "cuMemHostGetDevicePointer": "hipHostGetDevicePointer",
    "cuMemcpy2D": "hipMemcpyParam2D",
    "cuMemcpy2DAsync": "hipMemcpyParam2DAsync",
    "cuMemcpy2DUnaligned": "hipDrvMemcpy2DUnaligned",
    "cuMemcpy3D": "hipDrvMemcpy3D",
    "cuMemcpy3DAsync": "hipDrvMemcpy3DAsync",
    "CUDA_MEMCPY2D": "hip_Memcpy2D",
    "CUDA_MEMCPY3D": "HIP_MEMCPY3D",
    "CUBLAS_GEMM_DEFAULT_TENSOR_OP": "HIPBLAS_GEMM_DEFAULT",
    "cuDeviceGetCount": "hipGetDeviceCount",
    "cuStreamCreate": "hipStreamCreateWithFlags",
    "cuEventCreate": "hipEventCreateWithFlags",
    "cuGetErrorString": "hipDrvGetErrorString",
    "cuGetErrorName": "hipDrvGetErrorName",
    "cuLaunchKernel": "hipModuleLaunchKernel",
    "cuLaunchCooperativeKernel": "hipModuleLaunchCooperativeKernel",
    "nvrtcGetPTX": "hiprtcGetCode",
    "nvrtcGetPTXSize": "hiprtcGetCodeSize",
    "nvrtcGetCUBIN": "hiprtcGetCode",
    "nvrtcGetCUBINSize": "hiprtcGetCodeSize",
    "cudaError": "hipError_t",
    "cudaUUID_t": "hipUUID",
    "CUuuid_st": "hipUUID_t",
    "CUctx_st": "ihipCtx_t",
    "CUstream_st": "ihipStream_t",
    "CUevent_st": "ihipEvent_t",
    "CUmod_st": "ihipModule_t",
    "CUfunc_st": "ihipModuleSymbol_t",
    "CUmemPoolHandle_st": "ihipMemPoolHandle_t",
    "CUgraph_st": "ihipGraph",
    "CUgraphNode_st": "hipGraphNode",
    "CUgraphExec_st": "hipGraphExec",
    "CUarray_st": "hipArray",
    "CUmipmappedArray_st": "hipMipmappedArray",
    "cudaError_enum": "hipError_t",
    "CUdevice_attribute_enum": "hipDeviceAttribute_t",
    "CUipcMemHandle_st": "hipIpcMemHandle_st",
    "CUipcEventHandle_st": "hipIpcEventHandle_st",
    "cudaIpcMemHandle_st": "hipIpcMemHandle_st",
    "cudaIpcEventHandle_st": "hipIpcEventHandle_st",
    "cudaLimit": "hipLimit_t",
    "cudaFuncCache": "hipFuncCache_t",
    "cudaDeviceAttr": "hipDeviceAttribute_t",
    "cudaDevAttrMaxSharedMemoryPerBlockOptin": "hipDeviceAttributeMaxSharedMemoryPerBlock",
    "cudaDevAttrGlobalMemoryBusWidth": "hipDeviceAttributeMemoryBusWidth",
    "CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH": "hipDeviceAttributeMemoryBusWidth",
    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": "hipFuncAttributeMaxDynamicSharedMemorySize",
    "CUmem_advise": "hipMemoryAdvise",
    "CUdeviceptr": "hipDeviceptr_t",
    "CUmodule": "hipModule_t",
    "CUfunction": "hipFunction_t",
    "CUcontext": "hipCtx_t",
    "CUdevice": "hipDevice_t",
    "CUstream": "hipStream_t",
    "CUevent": "hipEvent_t",
    "CUresult": "hipError_t",
    "CUlinkState": "hipLinkState_t",
    "cudaLaunchKernelEx": "hipLaunchKernelEx",
    "CUDA_SUCCESS": "hipSuccess",
    "cuComplex": "hipComplex",
    "cuFloatComplex": "hipFloatComplex",
    "cuDoubleComplex": "hipDoubleComplex",
    "make_cuComplex": "make_hipComplex",
    "make_cuFloatComplex": "make_hipFloatComplex",
    "make_cuDoubleComplex": "make_hipDoubleComplex",
    "nvtxRangePushA": "roctxRangePushA",
    "nvtxRangePush": "roctxRangePush",
    "nvtxRangePop": "roctxRangePop",
    "nvtxMark": "roctxMark",
    "nvtxMarkA": "roctxMarkA",
    "nvtxRangeStart": "roctxRangeStart",
    "nvtxRangeStartA": "roctxRangeStartA",
    "nvtxRangeEnd": "roctxRangeStop",
    "nvtxRangeId_t": "roctx_range_id_t",
    "cub": "hipcub",
    "CUFFT_INVERSE": "HIPFFT_BACKWARD",
    "cudaDataType": "hipDataType",
    "cudaDataType_t": "hipDataType",
}

_TYPES_OF_LIBRARIES = {
    "blas": ("Status_t", "Handle_t", "Operation_t", "FillMode_t", "DiagType_t", "SideMode_t"),
    "fft": ("Handle", "Result", "Type", "Complex", "DoubleComplex", "Real", "DoubleReal"),
    "rand": ("Generator_t", "Status_t", "RngType_t"),
    "sparse": (
        "Handle_t",
        "Status_t",
        "MatDescr_t",
        "SpMatDescr_t",
        "DnVecDescr_t",
        "DnMatDescr_t",
    ),
    "solver": ("Handle_t", "Status_t", "DnHandle_t"),
}
_CALLED_OTHERWISE |= {
    f"cu{library}{kind}": f"hip{library}{kind}"
    for library, kinds in _TYPES_OF_LIBRARIES.items()
    for kind in kinds
}
_CALLED_OTHERWISE |= {
    f"CU_SHARED_MEM_CONFIG_{n}_BANK_SIZE": f"hipSharedMemBankSize{other}"
    for n, other in (("DEFAULT", "Default"), ("FOUR_BYTE", "FourByte"), ("EIGHT_BYTE", "EightByte"))
}
_OCCUPANCY = (
    *("MaxActiveBlocksPerMultiprocessor", "MaxActiveBlocksPerMultiprocessorWithFlags"),
    *("MaxPotentialBlockSize", "MaxPotentialBlockSizeWithFlags"),
)
_CALLED_OTHERWISE |= {f"cuOccupancy{n}": f"hipModuleOccupancy{n}" for n in _OCCUPANCY}

_COMPLEX = ("Cadd", "Csub", "Cmul", "Cdiv", "Cabs", "Creal", "Cimag", "Conj", "Cfma")
_CALLED_OTHERWISE |= {f"cu{n}{f}": f"hip{n}{f}" for n in _COMPLEX for f in ("", "f")}

_RANDOM_KERNELS = (
    *("init", "poisson", "poisson4", "discrete", "discrete4"),
    *(
        f"{kind}{count}{double}"
        for kind in ("uniform", "normal", "log_normal")
        for count in ("", "2", "4")
        for double in ("", "_double")
    ),
)
_CALLED_OTHERWISE |= {f"curand_{n}": f"hiprand_{n}" for n in _RANDOM_KERNELS}
_CALLED_OTHERWISE |= {
    "curand": "hiprand",
    "curand4": "hiprand4",
    **{
        f"curandState{n}": f"hiprandState{n}"
        for n in ("", "_t", "XORWOW", "XORWOW_t", "MRG32k3a", "MRG32k3a_t", "Sobol32_t", "Mtgp32_t")
    },
    **{f"curandStatePhilox4_32_10{n}": f"hiprandStatePhilox4_32_10{n}" for n in ("", "_t")},
}

_NUMBERS = (
    *("INF", "NAN", "MIN_DENORM", "NEG_ZERO", "ZERO", "ONE", "SQRT_HALF", "SQRT_TWO", "THIRD"),
    *("PIO4", "PIO2", "3PIO4", "2_OVER_PI", "PI", "L2E", "L2T", "LG2", "LGE", "LN2", "LNT", "LNPI"),
)
_CALLED_OTHERWISE |= {
    f"CUDART_{n}{kind}": f"HIP_{n}{kind}" for n in _NUMBERS for kind in ("", "_F")
}
_CALLED_OTHERWISE |= {
    f"CUDART_{n}": f"HIP_{n}"
    for n in ("MAX_NORMAL_F", "SQRT_2_OVER_PI_F", "TWOTHIRD", "SQRT_2PI", "SQRT_2OPI", "SQRT_PIO2")
}

_CALLED_OTHERWISE |= {f"make_cuda{n}": f"make_hip{n}" for n in ("Extent", "Pos", "PitchedPtr")}

_PREFIXES = (
    (r"cudaDevAttr(?=[A-Z])", "hipDeviceAttribute"),
    (r"CU_DEVICE_ATTRIBUTE(?=_)", "hipDeviceAttribute"),
    (r"CU_JIT(?=_)", "hipJitOption"),
    (r"cuda(?=[A-Z])", "hip"),
    (r"CUBLAS(?=_)", "HIPBLAS"),
    (r"cublas(?=[A-Z])", "hipblas"),
    (r"CUFFT(?=_)", "HIPFFT"),
    (r"cufft(?=[A-Z])", "hipfft"),
    (r"CURAND(?=_)", "HIPRAND"),
    (r"curand(?=[A-Z])", "hiprand"),
    (r"CUSPARSE(?=_)", "HIPSPARSE"),
    (r"cusparse(?=[A-Z])", "hipsparse"),
    (r"CUSOLVER(?=_)", "HIPSOLVER"),
    (r"cusolver(?=[A-Z])", "hipsolver"),
    (r"NVRTC(?=_)", "HIPRTC"),
    (r"nvrtc(?=[A-Z])", "hiprtc"),
    (r"cu(?=[A-Z])", "hip"),
)


_DEFAULTS = {
    "cudaStreamWaitEvent": (2, ("0",)),
    "cudaMalloc3DArray": (3, ("0",)),
    "cudaGraphInstantiate": (2, ("0",)),
    "cudaGraphInstantiateWithFlags": (2, ("0",)),
    "cudaSignalExternalSemaphoresAsync": (3, ("0",)),
    "cudaWaitExternalSemaphoresAsync": (3, ("0",)),
    "cudaLaunchCooperativeKernel": (4, ("0", "0")),
    "cudaMemcpyToSymbolAsync": (3, ("0", "hipMemcpyHostToDevice")),
    "cudaMemcpyFromSymbolAsync": (3, ("0", "hipMemcpyDeviceToHost")),
}
"""Functions whose last arguments CUDA has a value for, and HIP (of ROCm 5.2) wants: how many others
there are, and those values.
"""


def defaults(name: str, given: int) -> tuple[str, ...]:
    """What must be added to a call with so many arguments."""
    least, values = _DEFAULTS.get(name, (0, ()))
    return values[given - least :] if given >= least else ()


def header(name: str) -> str:
    """What a header is called in HIP; nothing for one that keeps its name, or has none there."""
    if re.fullmatch(r"cub/(\w+/)?\w+\.cuh", name):
        return HEADERS["cub/cub.cuh"]
    if re.fullmatch(
        r"curand_(discrete2?|globals|lognormal|mrg32k3a|normal|poisson|uniform)\.h", name
    ):
        return HEADERS["curand_kernel.h"]
    return HEADERS.get(name, "")


POINTERS = {"cudaMallocPitch": 0, "cudaHostGetDevicePointer": 0, "cudaGetSymbolAddress": 0}
"""Functions that take a pointer to a pointer to anything in CUDA alone: at which place."""


@cache
def _known() -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    sets = {key: frozenset(found[key]) for key in ("cuda", "later")}
    return found | {"hip": _by_plain(found["hip"]), **sets}


def _by_plain(some: Iterable[str]) -> dict[str, str]:
    """Names by how they are compared, and by their letters alone where no two have the same."""
    some = list(some)
    loose: dict[str, list[str]] = {}
    for name in some:
        loose.setdefault(_letters(name), []).append(name)
    return {f"~{k}": n[0] for k, n in loose.items() if len(n) == 1} | {_plain(n): n for n in some}


def _letters(name: str) -> str:
    return name.lower().replace("_", "")


def _plain(name: str) -> str:
    """A name as it is compared: MultiProcessorCount is MultiprocessorCount in HIP."""
    return name.lower() if name.startswith("hipDeviceAttribute") else name


def _renamed(name: str, known: Mapping[str, str]) -> str:
    """By the change of a prefix, if HIP has that name; else nothing."""
    for prefix, other in _PREFIXES:
        changed = re.sub(f"^{prefix}", other, name)
        key = f"~{_letters(changed)}" if prefix.startswith("CU_") else _plain(changed)
        if changed != name and key in known:
            return known[key]
    return _by_letters(name, known)


def _by_letters(name: str, known: Mapping[str, str]) -> str:
    """Constants and types of the driver's: CU_STREAM_NON_BLOCKING, CUmemLocation."""
    found = re.match(r"CUDA_(?=[A-Z]+[_0-9])|CU_|CU(?=[a-z])", name)
    if not found:
        return ""
    rest = _letters(name[found.end() :])
    return next((known[key] for key in (f"~hip{rest}", f"~hip{rest}t") if key in known), "")


@cache
def hip_name(name: str) -> str | None:
    """What a name of CUDA is called in HIP; nothing ('') where CUDA has it and HIP has not;
    None for a name that is not known to be CUDA's.
    """
    if name in _CALLED_OTHERWISE:
        return _CALLED_OTHERWISE[name]
    if re.match(r"CUBLASLT_|cublasLt[A-Z]", name):  # no bindings for Python tell of them
        return re.sub("^cu", "hip", re.sub("^CU", "HIP", name))
    if re.fullmatch(r"cu(blas)?[A-Z]\w*_v2", name):
        return hip_name(name.removesuffix("_v2"))
    known = _known()
    found = known["by_value"].get(name) or _renamed(name, known["hip"])
    if re.match(r"cu(da)?[A-Z]|CU(DA)?_|CU[a-z]|make_cuda|nvrtc", name):
        return found if name in known["cuda"] | known["by_value"].keys() else None
    return found or ("" if name in known["cuda"] else None)


def later(name: str) -> str:
    """What a name of CUDA is called in HIP, where ROCm 5.2 has not got it yet."""
    other = hip_name(name) or ""
    return other if other in _known()["later"] | {"hipLaunchKernelEx"} else ""

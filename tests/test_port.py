"""``portmp port``: traps that a hand-made list names, HIP texts that compile and run, templates."""

from __future__ import annotations

import builtins
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiers
from porting import bindings, checks, entries, running
from slow import TWICE, mostly_slow, on_two_devices, slow

import portmp as mp
from portmp import cli
from portmp.errors import BackendUnavailable, InputError
from portmp.porting import hipify, names, report, sources, templates
from portmp.porting.traps.base import CERTAIN, HIP, POSSIBLE, Facts

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = {path.stem: path for path in sorted((ROOT / "tests/data/cuda").glob("*.cu"))}
_MARK = re.compile(r"// expect(-opencl)?: ([\w/, -]+?)(?: @([+-]\d+))?$")

CONSTRUCTS = {
    "bitonic": "template operator __device__ __shfl_xor_sync __syncthreads extern~__shared__ "
    "#pragma~unroll cudaMemcpy cudaGetLastError cudaFree <<<>>>",
    "conjugate": "cooperative_groups.h cooperative_groups this_grid thread_block_tile "
    "tiled_partition this_thread_block cudaLaunchCooperativeKernel cudaDevAttrCooperativeLaunch "
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor cudaDeviceGetAttribute atomicAdd "
    "extern~__shared__",
    "double_float": "__fmul_rn __CUDA_ARCH__ __CUDACC__ template __device__ asm <<<>>>",
    "lookback": "__shfl_up_sync __threadfence __ldg volatile atomicAdd __launch_bounds__ "
    "__shared__ #pragma~unroll cudaMemset cudaDeviceSynchronize",
    "matmul": "__launch_bounds__ float4 __shared__ fmaf #pragma~unroll cublas_v2.h cublasCreate "
    "cublasSgemm CUBLAS_OP_N cublasHandle_t CUBLAS_STATUS_SUCCESS cublasDestroy template",
    "mining": "__funnelshift_l __byte_perm __brev __clz __ffs __ballot_sync __activemask asm "
    "__constant__ uint4 make_uint4 atomicMin clock64 cudaMemcpyFromSymbol __global__",
    "monte_carlo": "cub/cub.cuh curand.h curand_kernel.h curandState curand_init curand_normal2 "
    "cub BlockReduce __expf sqrtf fmaxf atomicAdd curandCreateGenerator "
    "curandSetPseudoRandomGeneratorSeed curandGenerateNormal CURAND_RNG_PSEUDO_PHILOX4_32_10 "
    "curandDestroyGenerator float2",
    "pipeline": "__managed__ atomicAdd_system cudaHostAlloc cudaHostRegister cudaHostUnregister "
    "cudaHostGetDevicePointer cudaMallocAsync cudaFreeAsync cudaStreamCreateWithPriority "
    "cudaStreamWaitEvent cudaLaunchHostFunc cudaStreamAddCallback CUDART_CB cudaGraphLaunch "
    "cudaStreamBeginCapture cudaStreamEndCapture cudaGraphInstantiate cudaStreamQuery "
    "cudaErrorNotReady cudaMallocManaged cudaMemAdvise cudaMemPrefetchAsync cudaProfilerStart "
    "cuda_profiler_api.h cudaDeviceGetStreamPriorityRange cudaGraphExecDestroy",
    "spmv": "warpSize __shfl_down_sync __ldg volatile __shared__ template #pragma~unroll "
    "cudaMemset cudaGetLastError",
    "vector_add": "cudaGetErrorName cudaGetErrorString cudaPeekAtLastError cudaGetDeviceCount "
    "cudaOccupancyMaxPotentialBlockSize cudaMemGetInfo cudaSetDevice cudaDeviceReset gridDim "
    "cudaEventRecord cudaEventElapsedTime device_launch_parameters.h template cudaDeviceProp",
    "volume": "__constant__ cudaTextureObject_t cudaSurfaceObject_t tex3D surf2Dwrite atomicInc "
    "cudaMalloc3DArray cudaMemcpy3D make_cudaExtent make_cudaPitchedPtr cudaMemcpy3DParms "
    "cudaCreateTextureObject cudaCreateSurfaceObject cudaMemcpyToSymbol cudaMemcpyToSymbolAsync "
    "cudaMemcpyFromSymbol cudaMemcpy2DFromArray cudaFilterModeLinear float3 float4 sqrtf "
    "cudaDestroyTextureObject cudaDestroySurfaceObject cudaFreeArray make_float3",
    "bfs": "cudaMallocManaged cudaDeviceSynchronize atomicCAS atomicAdd __ldg <<<>>>",
    "compact": "__ballot_sync __popc __ffs __shfl_sync __syncwarp asm atomicAdd cudaMemset",
    "compensated": "__dadd_rn __dmul_rn __fma_rn __frsqrt_rn cudaMemcpyHostToDevice",
    "groups": "cooperative_groups.h cooperative_groups/reduce.h cooperative_groups atomicAdd",
    "histogram": "__shared__ atomicAdd __syncthreads cudaMalloc cudaMemset cudaFree",
    "nbody": "rsqrtf float4 float3 make_float3 __launch_bounds__ cudaEventRecord cudaEvent_t "
    "cudaEventElapsedTime cudaEventSynchronize",
    "reduction": "__shfl_down_sync atomicAdd cudaError_t cudaGetErrorString cudaGetLastError "
    "cudaSuccess cudaFree",
    "scan": "__shfl_up_sync __shared__ __syncthreads threadIdx cudaMemcpyDeviceToHost",
    "stencil": "__constant__ cudaMemcpyToSymbol cudaFuncSetAttribute extern~__shared__ "
    "#pragma~unroll cudaFuncAttributeMaxDynamicSharedMemorySize",
    "streams": "cudaStream_t cudaMemcpyAsync cudaMallocHost cudaFreeHost cudaStreamWaitEvent "
    "cudaGraphInstantiate cudaStreamBeginCapture cudaDeviceProp cudaGetDeviceProperties "
    "cudaStreamCreateWithFlags multiProcessorCount cudaEventDisableTiming",
    "texture": "cudaTextureObject_t tex2D cudaResourceDesc cudaTextureDesc cudaMallocArray "
    "cudaMemcpy2DToArray cudaCreateTextureObject cudaAddressModeClamp",
    "transpose": "template __shared__ threadIdx blockIdx cudaMalloc <<<>>>",
    "warp_synchronous": "volatile __CUDA_ARCH__ cudaThreadSynchronize atomicAdd template",
    "lud": "__shared__ extern~__shared__ __fmaf_rn assert cudaMallocManaged "
    "cudaEventCreateWithFlags cudaEventElapsedTime __syncthreads threadIdx cudaEvent_t <<<>>>",
    "aggregate": "__shfl_sync __ballot_sync __ffs __popc atomicAdd warpSize __syncwarp "
    "__all_sync volatile float4 rsqrtf tiled_partition thread_block_tile "
    "cooperative_groups.h cudaMemPool_t cudaMemPoolSetAttribute "
    "cudaDeviceGetDefaultMemPool extern~__shared__",
    "tensor": "mma.h nvcuda cuda_fp16.h half cuda/barrier cuda/pipeline memcpy_async "
    "cudaFuncSetAttribute cudaFuncAttributeMaxDynamicSharedMemorySize warpSize",
    "globals": "__constant__ __device__ __managed__ atomicAdd_block atomicAdd_system powf "
    "__int_as_float __float_as_int cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemcpyFromSymbol "
    "cudaGetSymbolAddress cudaFuncGetAttributes cudaFuncAttributes",
    "halves": "cuda_fp16.h cuda_bf16.h half2 __nv_bfloat16 __half __half2 __float2bfloat16 "
    "__bfloat162float __half2float __dp4a __vabsdiffu4 __shfl_down_sync atomicMax",
    "ptx": "asm clock64 __ldcs __stcg __funnelshift_r __umulhi __popcll __clzll __byte_perm __brev "
    "atomicCAS atomicExch __threadfence __frsqrt_rn __fadd_rz __trap float4 make_float4",
    "unified": "cudaMallocManaged cudaMemAdvise cudaMemPrefetchAsync cudaStreamPerThread "
    "cudaDeviceCanAccessPeer cudaDeviceEnablePeerAccess cudaMemcpyPeerAsync cudaMemGetInfo "
    "cudaPointerAttributes cudaPointerGetAttributes cudaMemoryTypeManaged",
    "sorted": "cub/cub.cuh cub thrust thrust/device_vector.h thrust/sort.h WarpReduce BlockScan "
    "DeviceRadixSort thrust/system/cuda/execution_policy.h template cudaStream_t",
    "nested": "cudaStreamCreateWithFlags cudaStreamNonBlocking malloc printf cudaDeviceSetLimit "
    "new "
    "cudaLimitMallocHeapSize cudaLimitDevRuntimePendingLaunchCount <<<>>> cudaMalloc",
    "srad": "template volatile cudaMallocPitch cudaMemcpy2D __syncthreads max min #pragma~unroll "
    "__shared__ __saturatef cudaMemcpyDeviceToDevice",
    "arches": "__CUDA_ARCH__ atomicCAS atomicMax atomicMin __double_as_longlong __shfl_down_sync "
    "__longlong_as_double warpSize extern~__shared__ template cudaRuntimeGetVersion operator",
    "overlap": "cudaHostAlloc cudaHostAllocMapped cudaHostAllocPortable cudaHostGetDevicePointer "
    "cudaStreamAddCallback CUDART_CB cudaEventQuery cudaErrorNotReady cudaStreamWaitEvent "
    "cudaMemcpyDefault __fdividef __sinf cudaFreeHost cudaDeviceSetLimit cudaLimitPrintfFifoSize",
    "votes": "asm __activemask __ffs __popc __shfl_sync __match_any_sync __match_all_sync "
    "__reduce_add_sync __all_sync __nanosleep __syncwarp atomicAdd __shared__ __forceinline__",
    "relax": "cooperative_groups.h cooperative_groups/reduce.h this_grid this_thread_block "
    "tiled_partition __launch_bounds__ atomicMax __double_as_longlong cudaLaunchCooperativeKernel "
    "sharedMemPerMultiprocessor asyncEngineCount multiProcessorCount cudaDevAttrCooperativeLaunch",
    "branches": "cooperative_groups.h float2 make_float2 extern~__shared__ atomicOr __popc "
    "warpSize meta_group_rank thread_block_tile template asm",
}
"""What stands in each program, by hand; ~ for a space."""

REFUSED_HERE = {"branches", "globals", "relax", "unified"}
"""Programs that hipcc of ROCm 5.2 refuses, where the report calls what stops it likely."""


def stopping(path: Path) -> set[str]:
    """Entries of places that certainly do not compile in the HIP text."""
    source = sources.read(path)
    after = report.after(report.of(source), hipify.translated(source))
    return {
        t.entry
        for t in after.traps
        if t.platform == HIP and t.effect == "compile" and t.certainty == CERTAIN and not t.cured
    }


def expected(path: Path) -> set[tuple[int, str, str]]:
    """Lines, entries and platforms that the comments of a program name."""
    found = set()
    for line, text in enumerate(path.read_text().splitlines(), 1):
        if mark := _MARK.search(text):
            for entry in mark[2].split(","):
                where = line + int(mark[3] or 0)
                found.add((where, entry.strip(), "opencl" if mark[1] else "hip"))
    return found


def reported(path: Path) -> report.Report:
    """The report of a file."""
    return report.of(sources.read(path))


# --- reports ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_traps(name: str) -> None:
    """Each trap of the list is found at its line, and no other is told as certain or likely."""
    found = {
        (t.line, t.entry, t.platform)
        for t in reported(PROGRAMS[name]).traps
        if t.certainty != POSSIBLE
    }
    assert found == expected(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_constructs(name: str) -> None:
    """Each construct of the list is found, on lines where it stands, with what it becomes."""
    found = {one.name: one for one in reported(PROGRAMS[name]).constructs}
    lines = PROGRAMS[name].read_text().splitlines()
    for word in CONSTRUCTS[name].split():
        construct = found[word.replace("~", " ")]
        assert construct.hip and construct.opencl
        text = word.partition("~")[0].replace("<<<>>>", "<<<")
        assert all(text in lines[line - 1] for line in construct.lines)


def test_entries_are_there() -> None:
    """Every entry that a trap may name is one of the reference."""
    every, groups = entries.every(), "|".join(entries.GROUPS)
    folder = ROOT / "portmp/porting"
    for path in (*folder.glob("traps/*.py"), *folder.glob("*.toml")):
        for entry in re.findall(rf'"((?:{groups})/[a-z0-9-]+)"', path.read_text()):
            assert entry in every, (path.name, entry)


SMALL = {
    "a mask by another name": (
        "const unsigned ALL = ~0u;\n__device__ int f(int x) { return __any_sync(ALL, x); }",
        {(2, "warps/mask-32-bits", CERTAIN)},
    ),
    "a ballot of 64 bits": (
        "__device__ int f(int x) { unsigned long long b = __ballot(x); return __popcll(b); }",
        set(),
    ),
    "a shuffle with a width": ("__device__ int f(int x) { return __shfl(x, 0, 32); }", set()),
    "a wave's width everywhere": (
        "__device__ int f(int x) {\n"
        "  for (int d = warpSize / 2; d > 0; d /= 2) x += __shfl_down(x, d);\n"
        "  return x; }",
        set(),
    ),
    "mixed widths": (
        "__device__ int f(int x) {\n"
        "  int lane = threadIdx.x & 31;\n"
        "  for (int d = warpSize / 2; d > 0; d /= 2) x += __shfl_down(x, d);\n"
        "  return lane ? 0 : x; }",
        {(2, "warps/hard-coded-32", CERTAIN), (3, "warps/shuffle-width", POSSIBLE)},
    ),
    "tiles of 32 without warps": (
        "__global__ void k(int *p) { p[threadIdx.x / 32] = threadIdx.x % 32; }",
        set(),
    ),
    "a spin lock": (
        "__global__ void k(int *lock) {\n  while (atomicCAS(lock, 0, 1) != 0);\n  *lock = 0; }",
        {(2, "warps/independent-scheduling", "likely")},
    ),
    "a loop that works": (
        "__global__ void k(int *p) {\n  bool done = false;\n"
        "  while (!done) { if (atomicCAS(p, 0, 1) == 0) { done = true; atomicExch(p, 0); } } }",
        set(),
    ),
    "a barrier in a branch of some threads": (
        "__global__ void k(int *p) {\n  int i = threadIdx.x + 1;\n"
        "  if (i < 7) {\n    __syncthreads();\n  }\n}",
        {(4, "synchronisation/divergent-barrier", "likely")},
    ),
    "a barrier in a loop of as many steps for all": (
        "__global__ void k(int *p) {\n  auto mine = part(p, threadIdx.x);\n  int n = size(mine);\n"
        "  for (int i = 0; i < n; i++)\n    __syncthreads();\n}",
        {(5, "synchronisation/divergent-barrier", POSSIBLE)},
    ),
    "a barrier in a branch of whole blocks": (
        "__global__ void k(int *p) {\n  if (blockIdx.x < 7) __syncthreads();\n}",
        set(),
    ),
    "more block memory than there is": (
        "__global__ void k(float *p) {\n  __shared__ double s[64][129];\n  p[0] = s[0][0]; }",
        {(2, "memory/shared-limit", CERTAIN)},
    ),
    "names of CUDA that HIP lacks": (
        "int main() { cudaGraphConditionalHandleCreate(); }",
        {(1, "host/graphs", CERTAIN)},
    ),
    "names of the program's own": (
        "void cudaLaunchAttributeMine() {}\n#define cudaMine 3\nint main() { return cudaMine; }",
        set(),
    ),
    "a product's error": (
        "__device__ double f(double a, double b) {\n  double p = a * b;\n  return a * b - p; }",
        {(3, "arithmetic/contraction", CERTAIN)},
    ),
    "a guard of one architecture": (
        "#if __CUDA_ARCH__ >= 700\n#endif\n"
        "#if defined(__HIP_PLATFORM_AMD__) || defined(__CUDACC__)\n#endif",
        {(1, "language/cuda-arch", CERTAIN)},
    ),
    "words in comments and strings": (
        '// __syncwarp() cudaGraphConditionalHandleCreate\nconst char *s = "__syncwarp()";',
        set(),
    ),
    "words in a macro": (
        "#define HD __host__ __device__\n#define FN HD inline\n"
        "FN int f(int x) { return __any_sync(~0u, x); }",
        {(3, "warps/mask-32-bits", CERTAIN)},
    ),
    "a macro for other compilers": (
        "#ifdef __CUDACC__\n#define HD __host__ __device__\n#else\n#define HD\n#endif\n"
        "struct s { HD s() { __syncwarp(); } HD explicit s(int x) {} };",
        {(1, "language/cuda-arch", "likely"), (6, "warps/syncwarp", CERTAIN)},
    ),
    "a macro of the host's": (
        "#define API static\nAPI int f(int x) { return __any_sync(~0u, x); }",
        set(),
    ),
    "a macro with the kernel's name": (
        '#define KERNEL(f) extern "C" __global__ void f\n'
        "KERNEL(k)(int *p) { p[threadIdx.x] = __any_sync(~0u, p[0]); }",
        {(2, "warps/mask-32-bits", CERTAIN)},
    ),
    "a macro with the kernel's parameters": (
        "#define KERNEL(f, ...) __global__ void f(__VA_ARGS__)\n"
        "KERNEL(k, int *p, int n)\n{ p[n] = __any_sync(~0u, p[0]); }",
        {(3, "warps/mask-32-bits", CERTAIN)},
    ),
    "a macro with the whole kernel": (
        "#define MAKE(name, T) \\\n  __global__ void name##_kernel(T *p) \\\n  { \\\n"
        "    p[0] = __any_sync(~0u, p[1]); \\\n  }\nMAKE(a, int)\nMAKE(b, unsigned)\n"
        "__global__ void c(int *p) { __syncwarp(); }",
        {(4, "warps/mask-32-bits", CERTAIN), (8, "warps/syncwarp", CERTAIN)},
    ),
    "a macro that is defined elsewhere": (
        '#include "mine.h"\nMINE_HOST_DEVICE\nint f(int x) { __syncwarp(); return MEM_DEVICE; }\n'
        "template <int N> MINE_DEVICE int g(int x) {\n  switch (x) { case MEM_DEVICE: x = 1; }\n"
        "  __syncwarp(); return x; }",
        {(3, "warps/syncwarp", CERTAIN), (6, "warps/syncwarp", CERTAIN)},
    ),
    "a macro of instances": (
        "template <int N> __global__ void k(int *p) { __syncwarp(); }\n"
        "#define MAKE(N) template __global__ void k<N>(int *);\nMAKE(1)\nMAKE(2)\nMAKE(4)\n"
        "#define OK(x) { if (x) exit(1); }\n"
        "int main() { OK(cudaStreamWaitEvent(s, e)); }",
        {(1, "warps/syncwarp", CERTAIN), (7, "host/default-arguments", CERTAIN)},
    ),
    "a lambda of the device": (
        "void g() { each([=] __host__ __device__ (int i) {\n  __syncwarp(); }); }",
        {(2, "warps/syncwarp", CERTAIN)},
    ),
    "a loop after a pragma": (
        "__global__ void k(int *p) {\n  for (int i = 0; i < 4; ++i)\n#pragma unroll\n"
        "    for (int j = 0; j < 4; ++j)\n      __syncwarp(); }",
        {(5, "warps/syncwarp", CERTAIN)},
    ),
    "two heads and one body": (
        "#ifdef WIDE\n__global__ void k(double *p) {\n#else\n__global__ void k(float *p) {\n"
        "#endif\n  __syncwarp(); }",
        {(6, "warps/syncwarp", CERTAIN)},
    ),
    "aligned": (
        "struct __align__(16) s { float x; };\n"
        "__global__ void k(s *p) { __shared__ __align__(8) char c[80]; __syncwarp(); }",
        {(2, "warps/syncwarp", CERTAIN)},
    ),
    "what AMD's compilers do not see": (
        "__device__ int f(int x) {\n#ifdef __CUDA_ARCH__\n  __syncwarp();\n#endif\n"
        "#if CUDART_VERSION >= 12000\n  __syncwarp();\n#endif\n  return x; }",
        {
            (2, "language/cuda-arch", CERTAIN),
            (3, "warps/syncwarp", POSSIBLE),
            (5, "language/cuda-arch", "likely"),
            (6, "warps/syncwarp", POSSIBLE),
        },
    ),
    "a default that HIP has not": (
        "int main() { cudaStreamWaitEvent(s, e); cudaStreamWaitEvent(s, e, 0); }",
        {(1, "host/default-arguments", CERTAIN)},
    ),
    "what no compiler reads": (
        "#if 0\n__device__ void f() { __syncwarp(); }\n#endif\n#if 1\n"
        "__device__ void g() { __syncwarp(); }\n#else\n__device__ void h() { __syncwarp(); }\n"
        "#endif\n__device__ void i() { __syncwarp(); }",
        {(5, "warps/syncwarp", CERTAIN), (9, "warps/syncwarp", CERTAIN)},
    ),
    "branches in a list of parameters": (
        "__global__ void k(int *a,\n#ifdef MORE\n  int *b,\n#else\n  float *b,\n#endif\n"
        '  int c)\n{ a[c] = __any_sync(~0u, b[0]); }\n#define S "("\n#ifdef X // )\n#endif',
        {(8, "warps/mask-32-bits", CERTAIN)},
    ),
    "a barrier for the compiler": (
        '__device__ void f() { asm volatile("" ::: "memory"); __asm__(""); }\n'
        '__device__ void g() {\n  asm("exit;"); }',
        {(3, "language/inline-asm", CERTAIN)},
    ),
    "pointers to pointers": (
        "struct s { float *p; } a[2];\nint main() {\n  float *p; void *q; size_t n;\n"
        "  cudaMallocPitch(&p, &n, 4, 4);\n  cudaMallocPitch(&q, &n, 4, 4);\n"
        "  cudaMallocPitch((void **)&p, &n, 4, 4);\n  cudaMallocPitch(&a[1].p, &n, 4, 4); }",
        {(4, "host/pointer-to-pointer", CERTAIN), (7, "host/pointer-to-pointer", CERTAIN)},
    ),
    "properties of another structure": (
        "struct mine { int uuid; };\nint f(mine m) { return m.uuid; }",
        set(),
    ),
    "properties": (
        "int f() {\n  cudaDeviceProp p;\n  cudaPointerAttributes a;\n"
        "  return p.sharedMemPerBlockOptin + p.warpSize\n  + a.type + a.device; }",
        {(4, "host/property-members", "likely"), (5, "host/pointer-attributes", "likely")},
    ),
    "members and streams that HIP has not": (
        "__global__ void k(int *p) {\n  k<<<1, 1, 0, cudaStreamTailLaunch>>>(p);\n"
        "  cudaTriggerProgrammaticLaunchCompletion(); }\nstruct mine { int flags; };\n"
        "void f(cudaTextureDesc *t, cudaResourceDesc r, mine m) {\n  t->seamlessCubemap = 1;\n"
        "  m.flags = 1;\n  r.flags = 1; }",
        {
            (2, "language/launch-in-kernel", CERTAIN),
            (3, "launch/clusters", CERTAIN),
            (6, "memory/texture-object", CERTAIN),
            (8, "memory/texture-object", CERTAIN),
        },
    ),
    "functions that came late": (
        "__device__ int f(half2 a, int *p) {\n  a = __hmax2(a, a);\n  atomicInc_system(p, 1);\n"
        "  if (__isShared(p)) __trap();\n  return __viaddmax_s32(1, 2, 3) + umax(1u, 2u); }\n"
        "int umin(int a) { return umin(a); }",
        {
            (2, "language/half", "likely"),
            (3, "atomics/scopes", "likely"),
            (4, "language/address-predicates", CERTAIN),
            (4, "language/assert", CERTAIN),
            (5, "arithmetic/video-instructions", CERTAIN),
            (5, "language/min-max", "likely"),
        },
    ),
    "a parameter of the grid": (
        "struct s { int a; };\n__global__ void k(const __grid_constant__ s p, int *q)\n"
        "{ q[0] = __any_sync(~0u, p.a); }",
        {(2, "language/grid-constant", CERTAIN), (3, "warps/mask-32-bits", CERTAIN)},
    ),
    "members of groups and of others": (
        "namespace cg = cooperative_groups;\nstruct row { bool any(int); } r;\n"
        "__global__ void k(int *p) {\n  auto tile = cg::tiled_partition<32>(b);\n"
        "  cg::thread_block block = cg::this_thread_block();\n  p[0] = tile.any(1);\n"
        "  p[1] = r.any(1);\n  p[2] = block.num_threads() + block.size(); }",
        {(6, "warps/group-members", "likely"), (8, "warps/group-members", "likely")},
    ),
    "copies of a ballot": (
        "__device__ int f(int x) {\n  unsigned long long b = __ballot(x), c = b;\n"
        "  int n = __popcll(c);\n  return __popc(c) + __clz(n); }",
        {(4, "warps/popc-of-ballot", CERTAIN)},
    ),
    "a sum of doubles at file scope": (
        "namespace n { __device__ double total; }\n__device__ float other;\n"
        "__global__ void k() {\n  atomicAdd(&n::total, 1.0);\n  atomicAdd(&other, 1.0f); }",
        {(4, "atomics/double-add", CERTAIN), (5, "atomics/float-add", CERTAIN)},
    ),
    "policies of Thrust": (
        "int main() { thrust::sort(thrust::cuda::par.on(s), a, b);\n  cuda::other(); }",
        {(1, "libraries/thrust", CERTAIN)},
    ),
    "lanes by names": (
        "#define WARP_SIZE 32 // lanes\n#define LOG_LANES 5 /* of WARP_SIZE */\n"
        "constexpr int kWarps = 256 / 32;\nconst int tile = 32;\n"
        "__device__ int f(int x, int lane) {\n  if (threadIdx.x >> LOG_LANES) x = kWarps + tile;\n"
        "  if (lane == 31) x = 1;\n"
        "  for (int i = lane; i < 99; i += 32) x++;\n  for (int i = 0; i < 99; i += 32) x++;\n"
        "  int w = (blockIdx.x * blockDim.x + threadIdx.x) / WARP_SIZE, t = threadIdx.x * 4 / 32;\n"
        "  return __shfl(x, (lane + 1) & 31, 32) + w + t; }",
        {
            *((1, "warps/hard-coded-32", "likely"), (2, "warps/hard-coded-32", "likely")),
            (3, "warps/hard-coded-32", "likely"),
            *((6, "warps/hard-coded-32", "likely"), (7, "warps/hard-coded-32", POSSIBLE)),
            *((8, "warps/hard-coded-32", "likely"), (10, "warps/hard-coded-32", "likely")),
            (11, "warps/hard-coded-32", "likely"),
        },
    ),
    "the last lane of a wave": (
        "__device__ int f(int x) {\n  int lane = threadIdx.x % warpSize;\n"
        "  if (lane == 31) x = 0;\n  return __any(x); }",
        {(3, "warps/hard-coded-32", CERTAIN), (4, "warps/vote-without-sync", "likely")},
    ),
    "lanes without warps": (
        "#define WARP_SIZE 32\n__global__ void k(int *p, int lane) {\n"
        "  for (int i = lane; i < 99; i += WARP_SIZE) p[i] = lane == 31; }",
        set(),
    ),
    "places that lanes take in turns": (
        "__device__ void f(volatile unsigned *s, int i, unsigned tag) {\n  unsigned n;\n"
        "  do {\n    n = tag | (s[i] + 1);\n    s[i] = n;\n  } while (s[i] != n); }\n"
        "__global__ void k(int *p) {\n  do { p[0]++; } while (p[0] != 9); }",
        {(6, "synchronisation/volatile-warp", "likely")},
    ),
    "bits of a match": (
        "__device__ int f(int x) {\n  unsigned long long m = __match_any_sync(~0ull, x);\n"
        "  return __ffs(m); }",
        {
            *((2, "warps/mask-32-bits", CERTAIN), (2, "warps/match-any", CERTAIN)),
            (3, "warps/popc-of-ballot", CERTAIN),
            (3, "arithmetic/integer-intrinsics", CERTAIN),
        },
    ),
    "shuffles by macros": (
        "#define SHFL(v, l) __shfl_sync(~0u, v, l)\n__device__ int f(int x) {\n"
        "  return SHFL(x, threadIdx.x & 31); }",
        {(1, "warps/mask-32-bits", CERTAIN), (3, "warps/hard-coded-32", "likely")},
    ),
    "the runtime in kernels": (
        "__global__ void k(int *p) {\n  cudaDeviceSynchronize(); }\n"
        "__host__ __device__ int f(int x) { return cudaDeviceSynchronize(); }",
        {(2, "language/launch-in-kernel", CERTAIN)},
    ),
    "clusters": (
        "#include <cuda/ptx>\nusing lock = cuda::barrier<cuda::thread_scope_block>;\n"
        "__global__ void __cluster_dims__(2, 1, 1) k(int *p) {\n"
        "  auto c = cooperative_groups::this_cluster();\n  p[0] = *c.map_shared_rank(p, 1); }\n"
        "int main() { cudaLaunchKernelEx(&c, k, p);\n  f(CU_TENSOR_MAP_SWIZZLE_NONE); }",
        {
            *((1, "language/inline-asm", CERTAIN), (2, "synchronisation/cuda-atomic", CERTAIN)),
            *((3, "launch/clusters", CERTAIN), (4, "launch/clusters", CERTAIN)),
            *((5, "launch/clusters", CERTAIN), (6, "launch/clusters", "likely")),
            (7, "launch/clusters", CERTAIN),
        },
    ),
    "inside of a macro": (
        "#define SUM(x) \\\n  __reduce_add_sync(0xffffffff, x)\n#define H cudaStreamLegacy",
        {(2, "warps/reduce-sync", CERTAIN), (3, "host/default-stream", CERTAIN)},
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_sources(name: str) -> None:
    """What applies and what does not, with its certainty."""
    text, wanted = SMALL[name]
    found = report.of(sources.Source("small.cu", text.encode())).traps
    assert {(t.line, t.entry, t.certainty) for t in found if t.platform == HIP} == wanted


def test_any_bytes() -> None:
    """Mutated programs, deep parentheses and bytes that are no text end nothing."""
    rng = random.Random(3)
    texts = [path.read_bytes() for path in PROGRAMS.values()]
    cases = [b"", b"\xff\xfe", b"((" * 5000, b"#define A #define B " * 500, b"{" * 3000]
    cases += [
        b"#define A A\n#define B C\n#define C B\nA B int f() {}\n" * 50,
        b"#if\n{\n#else\n" * 500,
    ]
    cases += [
        b"#define K(f) __global__ void f\nK(",
        b"#define K(f, ...) __global__ void f(__VA_ARGS__)\nK()(K(a)",
    ]
    cases += [b"__global__ void k(int *p) { p[0] = " + b"(" * 4000 + b"1" + b")" * 4000 + b"; }"]
    for _ in range(40):
        case = bytearray(rng.choice(texts))
        for _ in range(rng.randrange(1, 9)):
            at = rng.randrange(len(case) + 1)
            case[at : at + rng.randrange(60)] = rng.choice(
                (b"", b"(", b"}", b"<<<", b"#if", b"\xff", b"__shfl_sync(", b"template<", b"\\\n")
            )
        cases.append(bytes(case))
    for case in cases:
        source = sources.Source("case.cu", case)
        "\n".join(report.text(report.of(source), True)).encode("utf-8", "surrogateescape")
        hipify.translated(source)
        facts = Facts(source)
        for inside in facts.functions:
            if inside.is_kernel:
                templates.of(facts, inside)


def test_macros_of_other_files() -> None:
    """What a header that is read as well hides, and its kernels."""
    header = sources.Source("mine.cuh", b"#define MINE static __device__\n")
    user = sources.Source("a.cu", b"MINE int f(int x) { return __any_sync(~0u, x); }\n")
    alone, (_, beside) = user, sources.together([header, user])
    assert not report.of(alone).traps
    assert {t.entry for t in report.of(beside).traps} == {"warps/mask-32-bits"}


def test_nothing_moves() -> None:
    """The text that is parsed has each byte where the source has it, or a space or a word there."""
    for path in PROGRAMS.values():
        source = sources.read(path)
        given, parsed = source.content, source._prepared[0]
        assert len(given) == len(parsed)
        assert given.count(b"\n") == parsed.count(b"\n")
        assert not source.root.has_error, path.name


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_marks(ending: str, mark: str) -> None:
    """Windows' ends of lines, a byte order mark: the same traps, and headers after the mark."""
    text = PROGRAMS["mining"].read_text()
    other = sources.Source("mining.cu", (mark + text).replace("\n", ending).encode())
    assert [(t.line, t.entry) for t in report.of(other).traps] == [
        (t.line, t.entry) for t in reported(PROGRAMS["mining"]).traps
    ]
    made = hipify.translated(other).content
    assert made.startswith(mark.encode() + f'#include "cuda_warps.h"{ending}'.encode())
    assert made.count(b"\n") == made.count(ending.encode())
    assert made.count(b"\xef\xbb\xbf") == len(mark)


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a folder, a binary, one that is too large."""
    binary, large = tmp_path / "a.cu", tmp_path / "b.cu"
    binary.write_bytes(b"\x7fELF\0\0")
    large.write_bytes(b"int x;\n" * 100)
    monkeypatch.setattr(sources, "_LARGEST", 99)
    for path, words in (
        (tmp_path / "none.cu", "No such file"),
        (tmp_path, "Is a directory"),
        (large, "700 bytes given, sources have at most 99"),
    ):
        with pytest.raises(InputError, match=words):
            sources.read(path)
    with pytest.raises(InputError, match="is no text"):
        sources.read(binary)
    binary.write_bytes("int x;".encode("utf-16"))
    with pytest.raises(InputError, match="is UTF-16"):
        sources.read(binary)


def test_a_file_without_cuda() -> None:
    """Nothing in it, or C++ alone: it is said."""
    for text in (b"", b"int main() { return 0; }\n"):
        assert report.of(sources.Source("x.cu", text)).remarks == (
            "nothing of CUDA was found in it",
        )


def test_without_the_parser(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """One line that says what to install."""
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("tree_sitter"):
            raise ImportError(name)
        return real(name, *rest)

    sources._parser.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    try:
        with pytest.raises(BackendUnavailable, match=r"pip install '\.\[port\]'"):
            sources.parsed(b"")
        assert cli.main(["port", str(PROGRAMS["scan"])]) == 2
        assert "pip install '.[port]'" in capsys.readouterr().err
    finally:
        sources._parser.cache_clear()


# --- the command ----------------------------------------------------------------------------------


def test_the_command(capsys: Any) -> None:
    """Lines as compilers print them, a summary, an exit status by certainty, JSON."""
    scan, histogram = str(PROGRAMS["scan"]), str(PROGRAMS["histogram"])
    assert cli.main(["port", scan, histogram]) == 1
    out = capsys.readouterr().out
    assert f"{scan}:8: certain: __shfl_up_sync is not there before ROCm 6.2" in out
    assert "What stands between this code and AMD, through HIP:" in out
    assert "1 place that does not compile: warps/mask-32-bits (1)" in out
    assert cli.main(["port", histogram]) == 0
    for fail, status in (("certain", 1), ("likely", 1), ("possible", 1), ("never", 0)):
        assert cli.main(["port", "--fail", fail, scan]) == status
    capsys.readouterr()
    assert cli.main(["port", "--json", scan]) == 1
    found = json.loads(capsys.readouterr().out)
    (file,) = found["files"]
    assert file["file"] == scan
    assert {"entry", "line", "certainty", "effect", "platform"} <= set(file["traps"][0])
    assert {"name", "lines", "hip", "opencl", "entries"} == set(file["constructs"][0])


def test_what_the_hip_text_cures(tmp_path: Path, capsys: Any) -> None:
    """With --hip the summary and the exit status are about the text that was written."""
    source = tmp_path / "x.cu"
    source.write_text(
        "__constant__ int c[2];\n__device__ unsigned f(int x) {\n"
        "  unsigned v = __ballot_sync(~0u, x);\n  return v & ((1u << (threadIdx.x & 31)) - 1); }\n"
        "int main() {\n  float *p; size_t n;\n  cudaMallocPitch(&p, &n, 4, 4);\n"
        "  cudaMemcpyToSymbol(c, p, 8); }\n"
    )
    assert cli.main(["port", str(source)]) == 1
    assert "2 places that do not compile" in capsys.readouterr().out
    command = ["port", "--hip", "-o", str(tmp_path / "out"), str(source)]
    assert cli.main(command) == 0
    out = capsys.readouterr().out
    assert "What stands between the HIP text and AMD, through HIP:\n    nothing" in out
    assert "x.cu:3: certain, right in the HIP text: unsigned v holds the votes" in out
    assert "6 places are right in the HIP text." in out
    text = (tmp_path / "out/x.hip.cpp").read_text()
    assert "hipMallocPitch((void **)&p, &n, 4, 4)" in text
    source.write_text(source.read_text() + '__device__ void g() { asm("exit;"); }\n')
    assert cli.main(command) == 1
    assert "1 place that does not compile: language/inline-asm (1)" in capsys.readouterr().out
    assert cli.main([*command, "--json"]) == 1
    (file,) = json.loads(capsys.readouterr().out)["files"]
    cured = {(t["line"], t["entry"]): t["cured"] for t in file["traps"] if t["platform"] == "hip"}
    assert cured[3, "warps/mask-32-bits"] and cured[8, "host/symbols"]
    assert not cured[9, "language/inline-asm"]


def test_what_has_another_function() -> None:
    """Graphs with the arguments of CUDA 12, traps, collective groups: renamed, and cured."""
    text = (
        b"#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
        b"__global__ void k(int *p) {\n  p[0] = cooperative_groups::reduce(g, 1, f);\n"
        b"  p[1] = cooperative_groups::labeled_partition(g, 1); __trap(); }\n"
        b"int main() {\n  cudaGraphInstantiate(&e, g, 0); cudaGraphInstantiate(&e, g);\n"
        b"  cudaGraphInstantiate(&e, g, 0, 0, 0); f(CUDA_R_32F, CUFFT_INVERSE); }\n"
    )
    source = sources.Source("x.cu", text)
    made = hipify.translated(source)
    assert made.content.decode() == (
        '#include "cuda_groups.h"\n#include <hip/hip_cooperative_groups.h>\n'
        "#include <hip/hip_cooperative_groups.h>\n"
        "__global__ void k(int *p) {\n  p[0] = cooperative_groups::reduce(g, 1, f);\n"
        "  p[1] = cooperative_groups::labeled_partition(g, 1); __builtin_trap(); }\n"
        "int main() {\n  hipGraphInstantiateWithFlags(&e, g, 0); "
        "hipGraphInstantiateWithFlags(&e, g, 0);\n"
        "  hipGraphInstantiate(&e, g, 0, 0, 0); f(HIP_R_32F, HIPFFT_BACKWARD); }\n"
    )
    after = report.after(report.of(source), made)
    left = {(t.line, t.entry) for t in after.traps if not t.cured and t.platform == HIP}
    assert left == {(5, "warps/cooperative-groups")}


def test_names_that_the_program_defines_are_not_cured() -> None:
    """A function of its own keeps its name, and 64 lanes."""
    text = (
        b"__device__ unsigned __ballot_sync(unsigned m, int x) { return __ballot(x); }\n"
        b"__device__ unsigned f(int x) { unsigned v = __ballot_sync(~0u, x); return __popc(v); }\n"
    )
    source = sources.Source("x.cu", text)
    made = hipify.translated(source)
    assert b"unsigned v = __ballot_sync(" in made.content
    after = report.after(report.of(source), made)
    assert {t.cured for t in after.traps if t.entry == "warps/ballot-64-bits"} == {False}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--hip"], "--hip and --template write into a folder: -o DIR"),
        (["-o", "x"], "-o: give --hip or --template, or both"),
        (["--fail", "perhaps"], "invalid choice: 'perhaps'"),
    ],
)
def test_bad_use(words: list[str], message: str, capsys: Any) -> None:
    """One sentence and status 2."""
    try:
        status = cli.main(["port", *words, str(PROGRAMS["scan"])])
    except SystemExit as error:
        status = int(error.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err


def test_one_name_for_two(tmp_path: Path, capsys: Any) -> None:
    """Files of one name in two folders keep their folders, which includes name; one file twice,
    or a folder whose files were read, is refused before anything is written.
    """
    sources_of = {
        "a/x.h": "#include <cuda_runtime.h>\nenum { n = cudaHostAllocMapped };\n",
        "b/x.h": "enum { m = 1 };\n",
        "a/y.cuh": '#include "../b/x.h"\n#include <a/x.h>\n',
        "b/y.cpp": "#include <y.cuh>\nint l = n + m;\n",
    }
    for name, text in sources_of.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    every = [str(tmp_path / name) for name in sources_of]
    out = tmp_path / "out"
    assert cli.main(["port", "--hip", "-o", str(out), *every[:1], *every]) == 2
    assert "a/x.h would be written twice" in capsys.readouterr().err
    assert cli.main(["port", "--hip", "-o", str(tmp_path), *every]) == 2
    message = f"-o: {every[0]} was read and would be written over: give another folder"
    assert message in capsys.readouterr().err
    assert not list(out.glob("*")) and (tmp_path / "a/x.h").read_text() == sources_of["a/x.h"]
    assert cli.main(["port", "--hip", "-o", str(out), *every]) == 0
    runtime = "#include <hip/hip_runtime.h>\n"
    assert (out / "a/x.h").read_text() == f"{runtime}enum {{ n = hipHostMallocMapped }};\n"
    assert (out / "a/y.cuh").read_text() == '#include "../b/x.h"\n#include "x.h"\n'
    assert (out / "b/y.cpp").read_text() == '#include "../a/y.cuh"\nint l = n + m;\n'


# --- HIP ------------------------------------------------------------------------------------------


def test_names_of_the_bindings() -> None:
    """What names.json lists is what the bindings have, of HIP, and of CUDA and not of HIP."""
    tiers.check("nvrtc")
    tiers.check("hiprtc")
    stored = json.loads(names.FILE.read_text())
    made = bindings.made()
    assert len(set(stored["hip"]) - set(made["hip"])) < 40, "ci/porting bindings"
    assert not set(stored["cuda"]) & set(stored["hip"])
    for name, other in (
        ("cudaMallocHost", "hipHostMalloc"),
        ("cudaErrorLaunchTimeout", "hipErrorLaunchTimeOut"),
        ("cudaDevAttrMultiProcessorCount", "hipDeviceAttributeMultiprocessorCount"),
        ("CUBLAS_OP_T", "HIPBLAS_OP_T"),
        ("cuModuleLoadData", "hipModuleLoadData"),
        ("cuMemAlloc_v2", "hipMalloc"),
        ("cuLaunchCooperativeKernel", "hipModuleLaunchCooperativeKernel"),
        ("CU_STREAM_NON_BLOCKING", "hipStreamNonBlocking"),
        ("CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure"),
        ("CUmemLocation", "hipMemLocation"),
        ("CUarray_format_enum", "hipArray_Format"),
        ("CUDA_RESOURCE_DESC", "HIP_RESOURCE_DESC"),
        ("cuComplexDoubleToFloat", "hipComplexDoubleToFloat"),
        ("CUDA_VERSION", ""),
        (
            "cudaDevAttrCooperativeMultiDeviceLaunch",
            "hipDeviceAttributeCooperativeMultiDeviceLaunch",
        ),
        ("cudaSetDoubleForDevice", ""),
        ("CU_JIT_MAX_REGISTERS", "hipJitOptionMaxRegisters"),
        ("CUDA_R_32F", "HIP_R_32F"),
        ("curand_normal2_double", "hiprand_normal2_double"),
        ("CUDART_PI_F", "HIP_PI_F"),
        ("cudaErrorMisalignedAddress", ""),
        ("cudaOfSomebody", None),
    ):
        assert names.hip_name(name) == other


def test_every_name_and_member_of_the_toolkits() -> None:
    """What NVIDIA's headers declare has a name in HIP, or is told to have none."""
    missing, told = bindings.members_told()
    folders = bindings.toolkits()
    if not folders or not missing:
        pytest.skip("needs NVIDIA's headers and HIP's")
    for folder in folders:
        of_runtime = bindings.names_of_runtime(folder)
        assert {"cudaStreamTailLaunch", "CUtexref"} < of_runtime
        assert [name for name in sorted(of_runtime) if names.hip_name(name) is None] == []
    elsewhere = {"cudaPointerAttributes": {"type"}}  # host.attributes tells of it
    assert {"seamlessCubemap"} < missing["cudaTextureDesc"]
    for kind, fields in missing.items():
        assert fields <= told.get(kind, set()) | elsewhere.get(kind, set()), kind


def test_only_names_change() -> None:
    """The text is the source with the changes that are told, and no other."""
    for path in PROGRAMS.values():
        source = sources.read(path)
        made = hipify.translated(source)
        added = [c.after for c in made.changes if c.kind == "added"]
        lines = made.content.splitlines()
        assert [line.decode() for line in lines[: len(added)]] == added
        changed = [c for c in made.changes if c.kind != "added"]
        pairs = zip(source.lines, lines[len(added) :], strict=False)
        for number, (before, after) in enumerate(pairs, 1):
            here = [change for change in changed if change.line == number]
            assert with_changes(before, here) == after.decode()


def with_changes(line: str, changes: list[hipify.Change]) -> str:
    """A line with changes made from left to right."""
    done = ""
    for change in changes:
        word = rf"(?<!\w){re.escape(change.before)}(?!\w)"
        found = re.search(word if change.before != ")" else r"\)", line)
        assert found, (line, change)
        done += line[: found.start()] + change.after
        line = line[found.end() :]
    return done + line


def written(made: hipify.Hip, folder: Path) -> None:
    """The HIP text in a folder, with the headers that it needs."""
    (folder / made.file).write_bytes(made.content)
    for helper in made.helpers:
        (folder / helper.name).write_bytes(helper.read_bytes())


HIPCC_FAST = ("compact", "groups", "stencil", "streams")
"""``reduction`` and ``scan`` are compiled and run by test_hip_runs."""


@pytest.mark.parametrize("name", mostly_slow(PROGRAMS, HIPCC_FAST, "each is a run of hipcc"))
def test_hip_compiles(name: str, tmp_path: Path) -> None:
    """hipcc takes the text, unless a trap says that a place does not compile."""
    tiers.check("hipcc")
    made = hipify.translated(sources.read(PROGRAMS[name]))
    written(made, tmp_path)
    compiles, words = hipify.compiled(tmp_path / made.file)
    refused = stopping(PROGRAMS[name])
    if missing := re.search(r"'((hipcub|hiprand|rocrand)/[\w.]+)' file not found", words):
        pytest.skip(f"{missing[1]} of ROCm is not installed here")
    assert compiles == (not refused and name not in REFUSED_HERE), words


def test_nearly_all_compile() -> None:
    """By the same rule all but these do: PTX, libcu++, nested launches, short types."""
    stopped = {name for name, path in PROGRAMS.items() if stopping(path)}
    assert stopped == {
        *("compact", "mining", "arches", "halves", "nested", "overlap", "ptx", "tensor", "votes")
    }


WARPS = {
    "shfl": ("cuda_shfl_sync(~0u, x, 40)", lambda x, i: x[i // 32 * 32 + 8]),
    "shfl_up": (
        "cuda_shfl_up_sync(~0u, x, 3)",
        lambda x, i: np.where(i % 32 < 3, x, x[np.maximum(i - 3, 0)]),
    ),
    "shfl_down": (
        "cuda_shfl_down_sync(~0u, x, 5)",
        lambda x, i: np.where(i % 32 > 26, x, x[np.minimum(i + 5, 63)]),
    ),
    "shfl_xor": ("cuda_shfl_xor_sync(~0u, x, 17)", lambda x, i: x[i ^ 17]),
    "width": ("cuda_shfl_sync(~0u, x, 2, 8)", lambda x, i: x[i // 8 * 8 + 2]),
    "ballot": (
        "(int)cuda_ballot_sync(0xfffffff0u, x > 40)",
        lambda x, i: [
            int(
                np.uint32(sum((1 << j) for j in range(4, 32) if x[n // 32 * 32 + j] > 40)).view(
                    np.int32
                )
            )
            for n in i
        ],
    ),
    "any": (
        "cuda_any_sync(~0u, x == 33)",
        lambda x, i: [int(33 in x[n // 32 * 32 :][:32]) for n in i],
    ),
    "all": (
        "cuda_all_sync(~0u, x != 33)",
        lambda x, i: [int(33 not in x[n // 32 * 32 :][:32]) for n in i],
    ),
    "match": (
        "(int)cuda_match_any_sync(~0u, x & 7)",
        lambda x, i: [
            int(
                np.uint32(
                    sum(1 << j for j in range(32) if (x[n // 32 * 32 + j] ^ x[n]) & 7 == 0)
                ).view(np.int32)
            )
            for n in i
        ],
    ),
    "bits of floats": (
        "(int)(cuda_match_any_sync(~0u, x & 1 ? 0.f : -0.f) ^ cuda_match_any_sync(~0u, x & 1)) + "
        "(cuda_match_any_sync(~0u, x ? __int_as_float(0x7fc00000) : 1.f) == 0xffffffff)",
        lambda x, i: [int(0 not in x[n // 32 * 32 :][:32]) for n in i],
    ),
    "coordinates": (
        "(int)(cuda_shfl_sync(~0u, place{}, 3) + cuda_reduce_max_sync(~0u, place{}))",
        lambda x, i: [2 * (n // 32 * 32) + 3 + 31 for n in i],
    ),
    "sum": (
        "cuda_reduce_add_sync(0x0ffffff0u, x)",
        lambda x, i: [int(x[n // 32 * 32 + 4 : n // 32 * 32 + 28].sum()) for n in i],
    ),
    "least": (
        "cuda_reduce_min_sync(~0u, x)",
        lambda x, i: [x[n // 32 * 32 :][:32].min() for n in i],
    ),
    "structures": (
        "cuda_shfl_xor_sync(~0u, three{(short)x, 1, (short)-x}, 3).c * 8 + "
        "cuda_shfl_up(three{1, (short)x, 2}, 1).b",
        lambda x, i: [-8 * x[n ^ 3] + x[n - (n % 32 > 0)] for n in i],
    ),
    "size": ("cuda_warp_size + (cuda_activemask() == ~0u)", lambda x, i: 33 + 0 * x),
}
"""Functions of the helper, and what CUDA's of 32 lanes give."""


@pytest.mark.parametrize("device", ["gfx90a", "gfx1100"])
def test_warps_of_32(device: str) -> None:
    """On waves of 64 and of 32 the helper's functions mean what CUDA's do."""
    tiers.check("hiprtc" if device == "gfx90a" else "clang")
    given = (np.arange(64) * 37 % 61).astype(np.int32)
    lines = "".join(
        f"    out[{i} * 64 + threadIdx.x] = {call};\n" for i, (call, _) in enumerate(WARPS.values())
    )
    helper = hipify.HELPER.read_text().replace("#include <hip/hip_runtime.h>\n", "")
    text = (
        f"{helper}\nstruct three {{ short a, b, c; }};\n"
        "struct place { __device__ operator unsigned() const { return threadIdx.x; } };\n"
        'extern "C" __global__ void k(int *out, const int *in)\n'
        f"{{\n    const int x = in[threadIdx.x];\n    cuda_syncwarp();\n{lines}}}\n"
    )
    out = np.zeros(64 * len(WARPS), np.int32)
    found = running.run(device, text, (), out, given, 1, 64, checks.compile_text)
    for i, (name, (_, right)) in enumerate(WARPS.items()):
        wanted = np.broadcast_to(np.asarray(right(given, np.arange(64)), np.int64), 64)
        assert found[64 * i : 64 * i + 64].tolist() == wanted.tolist(), name


GROUPS = {
    "sum": (
        "cg::reduce(tile, x, cg::plus<int>())",
        lambda x, i: [x[n // 8 * 8 :][:8].sum() for n in i],
    ),
    "least": (
        "cg::reduce(warp, x, cg::less<int>())",
        lambda x, i: [x[n // 32 * 32 :][:32].min() for n in i],
    ),
    "most": (
        "cg::reduce(warp, x, cg::greater<int>())",
        lambda x, i: [x[n // 32 * 32 :][:32].max() for n in i],
    ),
    "bits": (
        "cg::reduce(warp, x, cg::bit_xor<int>())",
        lambda x, i: [np.bitwise_xor.reduce(x[n // 32 * 32 :][:32]) for n in i],
    ),
    "scan": (
        "cg::inclusive_scan(warp, x)",
        lambda x, i: [x[n // 32 * 32 : n + 1].sum() for n in i],
    ),
    "before": (
        "cg::exclusive_scan(tile, x, cg::plus<int>())",
        lambda x, i: [x[n // 8 * 8 : n].sum() for n in i],
    ),
    "some": ("some", lambda x, i: [x[20:51].sum() if 20 <= n < 51 else 0 for n in i]),
}
"""Collective functions of groups, and what CUDA's give; ``some``: of a part of a wave."""


def test_groups(tmp_path: Path) -> None:
    """Reductions and scans of tiles of 8 and 32 threads and of a group, on a wave of 64."""
    tiers.check("hipcc")
    lines = "".join(
        f"    out[{i} * 64 + threadIdx.x] = {call};\n"
        for i, (call, _) in enumerate(GROUPS.values())
    )
    text = (
        '#include "cuda_groups.h"\nnamespace cg = cooperative_groups;\n'
        'extern "C" __global__ void k(int *out, const int *in)\n{\n'
        "    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());\n"
        "    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());\n"
        "    const int x = in[threadIdx.x];\n    int some = 0;\n"
        "    if (threadIdx.x >= 20 && threadIdx.x < 51)\n"
        f"        some = cg::reduce(cg::coalesced_threads(), x, cg::plus<int>());\n{lines}}}\n"
    )
    (tmp_path / "k.hip.cpp").write_text(text)
    (tmp_path / hipify.GROUPS.name).write_bytes(hipify.GROUPS.read_bytes())
    given = (np.arange(64) * 37 % 61).astype(np.int32)
    out = np.zeros(64 * len(GROUPS), np.int32)
    ran_by_hipcc(tmp_path, "k.hip.cpp", "k", [given, out], ([1, 0]), (1, 64))
    for i, (name, (_, right)) in enumerate(GROUPS.items()):
        assert out[64 * i : 64 * i + 64].tolist() == [int(v) for v in right(given, range(64))], name


def ran_by_hipcc(
    folder: Path,
    file: str,
    kernel: str,
    arrays: list[np.ndarray[Any, Any]],
    order: list[int],
    launch: tuple[int, int],
    more: tuple[Any, ...] = (),
) -> None:
    """A kernel of a HIP file on interpreted gfx90a; the last of *arrays* gets its result."""
    command = ["hipcc", "--genco", "--offload-arch=gfx90a", "-w", "-o", "code", file]
    subprocess.run(command, cwd=folder, check=True, env=os.environ | {"HIP_PLATFORM": "amd"})
    from portmp import discovery
    from portmp.compilers import amd_code

    device = discovery.get("emulated:gfx90a")
    code = unbundled((folder / "code").read_bytes())
    (mangled,) = [r.name for r in amd_code.report(code, "gfx90a") if kernel in r.name]
    loaded = device.load(code, [mangled])[mangled]
    buffers = device.allocate_parts([array.nbytes for array in arrays])
    for buffer, array in zip(buffers, arrays, strict=True):
        device.queue.write(buffer, array)
    blocks, threads = launch
    given = [*(buffers[i] for i in order), *more]
    device.queue.launch(loaded, (blocks, 1, 1), (threads, 1, 1), given)
    device.queue.read(buffers[-1], arrays[-1])


RUNS = {
    "scan": ("block_scan", np.cumsum, 512, 1),
    "reduction": ("sum_kernel", lambda x: np.array([x.sum()]), 256, 3),
}


@pytest.mark.parametrize("name", RUNS)
def test_hip_runs(name: str, tmp_path: Path) -> None:
    """Code for warps of 32 lanes gives CUDA's results on a wave of 64, interpreted."""
    tiers.check("hipcc")
    tiers.check("hiprtc")
    kernel, right, threads, blocks = RUNS[name]
    made = hipify.translated(sources.read(PROGRAMS[name]))
    written(made, tmp_path)
    given = (np.arange(512) * 29 % 23 - 5).astype(np.int32)
    out = np.zeros(512, np.int32)
    more = () if name == "scan" else (np.int32(512),)
    ran_by_hipcc(tmp_path, made.file, kernel, [given, out], [0, 1], (blocks, threads), more)
    wanted = right(given)
    assert out[: len(wanted)].tolist() == wanted.tolist()


def unbundled(content: bytes) -> bytes:
    """The code object in what hipcc --genco writes."""
    start = content.rfind(b"\x7fELF")
    return content[start:]


def test_other_translators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """hipify-perl and hipify-clang are compared with where they are on PATH."""
    stand_in = tmp_path / "hipify-perl"
    stand_in.write_text(
        f"#!{sys.executable}\nimport sys\nt = open(sys.argv[1]).read()\n"
        "print(t.replace('cuda', 'hip'), end='')\n"
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    source = tmp_path / "x.cu"
    source.write_text("#include <hip/hip_runtime.h>\nint main() { return cudaFree(0); }\n")
    assert cli.main(["port", "--hip", "-o", str(tmp_path / "out"), str(source)]) == 0
    out = capsys.readouterr().out
    assert "hipify-perl: the same text" in out
    assert "hipify-clang" not in out
    assert "not compiled for gfx90a (-std=c++17): hipcc is not on PATH" in out
    source.write_text("#include <hip/hip_runtime.h>\nint main() { return cudaMallocHost(0, 1); }\n")
    assert cli.main(["port", "--hip", "-o", str(tmp_path / "out"), str(source)]) == 0
    assert "1 lines differ" in capsys.readouterr().out


# --- templates ------------------------------------------------------------------------------------


def begun(name: str, kernel: str) -> tuple[templates.Template, Any]:
    """The template of a kernel, and the kernel that its file declares."""
    facts = Facts(sources.read(PROGRAMS[name]))
    (inside,) = [f for f in facts.functions if f.name == kernel]
    made = templates.of(facts, inside)
    space: dict[str, Any] = {}
    exec(compile(made.text, f"{kernel}.py", "exec"), space)
    return made, space[kernel]


@pytest.mark.parametrize(
    "line",
    [
        "const int i = blockIdx.x __shfl_sync(ockDim.x + threadIdx.x;",
        "out[0] = __shfl_sync(~0u, 1);",
        "out[0] = in[];",
        "out[] = 1;",
        "atomicAdd(&out[], 1);",
        "out[0] = ();",
    ],
)
def test_what_is_cut_off_is_marked(line: str, tmp_path: Path) -> None:
    """Calls without their arguments, brackets without an index."""
    path = tmp_path / "cut.cu"
    path.write_text(f"__global__ void cut(int *in, int *out)\n{{\n    {line}\n}}\n")
    facts = Facts(sources.read(path))
    (inside,) = facts.functions
    assert templates.of(facts, inside).marks


@slow(TWICE, unless=on_two_devices(0))
def test_a_template_that_is_whole(every_device: str) -> None:
    """A transposition in dd: the template as it was begun, with another format."""
    made, _ = begun("transpose", "transpose")
    assert not made.marks
    space: dict[str, Any] = {}
    exec(made.text.replace('format="float64"', 'format="dd"'), space)
    values = [[i + j / 3 for j in range(40)] for i in range(35)]
    given = mp.array([v for row in values for v in row], "dd", every_device)
    out = mp.zeros((35 * 40,), "dd", every_device)
    space["transpose"](out=out, **{"in": given}, width=40, height=35, blocks_x=2, blocks_y=2)
    before = given.to_fractions()
    assert out.to_fractions() == [before[i * 40 + j] for j in range(40) for i in range(35)]


@slow(TWICE, unless=on_two_devices(1))
def test_a_template_of_a_grid_of_rows(every_device: str) -> None:
    """Blocks of one axis in a grid of two: the block has one axis too."""
    text = (
        b"__global__ void rows(const float *a, float *out, int n) {\n"
        b"  __shared__ float part[256];\n  int i = threadIdx.x;\n"
        b"  part[i] = a[(blockIdx.y * gridDim.x + blockIdx.x) * n + i];\n  __syncthreads();\n"
        b"  if (i == 0) {\n    float sum = 0;\n    for (int k = 0; k < 256; k++) sum += part[k];\n"
        b"    out[blockIdx.y * gridDim.x + blockIdx.x] = sum; } }\n"
    )
    facts = Facts(sources.Source("rows.cu", text))
    made = templates.of(facts, facts.functions[0])
    assert not made.marks
    space: dict[str, Any] = {}
    exec(made.text, space)
    given = np.arange(6 * 256.0) % 7
    out = mp.zeros(6, "float32", device=every_device)
    a = mp.array(given, "float32", device=every_device)
    space["rows"](a=a, out=out, n=256, blocks_x=3, blocks_y=2)
    assert out.to_float64().tolist() == given.reshape(6, 256).sum(1).tolist()


@slow(TWICE, unless=on_two_devices(2))
def test_a_template_of_integers(every_device: str) -> None:
    """A histogram: atomics in block memory and in an array."""
    made, kernel = begun("histogram", "histogram")
    assert not made.marks
    data = (np.arange(3000) ** 2 % 256).astype(np.uint8)
    bins = mp.plain_zeros((256,), "uint32", every_device)
    kernel(data=mp.plain_array(data, "uint8", every_device), bins=bins, n=3000, blocks=3)
    assert bins.to_numpy().tolist() == np.bincount(data, minlength=256).tolist()


@slow(TWICE, unless=on_two_devices(0))
def test_a_template_of_a_decomposition(every_device: str) -> None:
    """A block of LU: two variables in a loop's head, block memory of two dimensions."""
    made, kernel = begun("lud", "lud_diagonal")
    assert not made.marks
    n = 16
    values = np.array([(i * 7 % 13) / 16 + (16 if i % 17 == 0 else 0) for i in range(n * n)])
    right = values.astype(np.float32).reshape(n, n)
    for i in range(n):  # each element by the kernel's own steps, in its order
        for j in range(n):
            for k in range(min(i, j)):
                right[i, j] -= right[i, k] * right[k, j]
            if i > j:
                right[i, j] /= right[j, j]
    m = mp.array(values.tolist(), "float32", every_device)
    kernel(m=m, dim=n, offset=0, blocks=1)
    assert [float(v) for v in m.to_fractions()] == right.ravel().tolist()


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("stencil", "stencil"),
        ("scan", "block_scan"),
        ("compensated", "dot"),
        ("nbody", "accelerations"),
        ("texture", "shifted"),
        ("groups", "dot"),
    ],
)
def test_what_is_not_translated_is_marked(name: str, kernel: str) -> None:
    """The template renders for each platform, and its marks stop each compiler."""
    made, declared = begun(name, kernel)
    assert made.marks
    for platform in ("cuda", "rocm", "opencl"):
        text = declared.render(platform)
        for line, _ in made.marks:
            assert f"#error line {line} is not translated" in text
    tiers.check("nvrtc")
    with pytest.raises(mp.errors.CompileError, match="is not translated"):
        declared.compile("cuda")

"""``portmp port``: nothing is lost without a word: names by scopes, what is written, "
"what is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_port
import tiers

from portmp import cli
from portmp.porting import hipify, report, sources
from portmp.porting.sources import Source
from portmp.porting.traps.base import HIP, OPENCL, POSSIBLE

RUNTIME = "#include <hip/hip_runtime.h>\n"

WRITTEN = {
    "tags": (
        "struct cudaDeviceProp p; enum cudaMemcpyKind k(const struct cudaPos *a, cudaPos b);",
        "hipDeviceProp_t p; hipMemcpyKind k(const hipPos *a, hipPos b);",
    ),
    "handles that are told of ahead": (
        "struct CUevent_st; typedef struct CUevent_st *cudaEvent_t; typedef CUmod_st *CUmodule;",
        "struct ihipEvent_t; typedef struct ihipEvent_t *hipEvent_t; typedef "
        "ihipModule_t *hipModule_t;",
    ),
    "a method, a member and CUDA's own": (
        "struct pool { cudaArray *cudaArray; void cudaFree(); void f() { cudaFree(); "
        "::cudaFree(0); } };"
        "\nvoid pool::cudaFree() { cudaArray = 0; }\nvoid g(pool &p) { p.cudaFree(); "
        "cudaFree(0); }",
        "struct pool { hipArray *cudaArray; void cudaFree(); void f() { cudaFree(); "
        "::hipFree(0); } };"
        "\nvoid pool::cudaFree() { cudaArray = 0; }\nvoid g(pool &p) { p.cudaFree(); hipFree(0); }",
    ),
    "a class that rests on another": (
        "struct a { int cudaMalloc(); };\nstruct b : a { int f() { return cudaMalloc(); } };",
        "struct a { int cudaMalloc(); };\nstruct b : a { int f() { return cudaMalloc(); } };",
    ),
    "namespaces": (
        "namespace n { int cudaSetDevice(int); int f() { return cudaSetDevice(1); } }\n"
        "int g() { return n::cudaSetDevice(1) + cudaSetDevice(1) + away::cudaFree(2); }\n"
        "int h() { using namespace n; return cudaSetDevice(1); }\n"
        "int i() { using n::cudaSetDevice; return cudaSetDevice(1); }",
        "namespace n { int cudaSetDevice(int); int f() { return cudaSetDevice(1); } }\n"
        "int g() { return n::cudaSetDevice(1) + hipSetDevice(1) + away::cudaFree(2); }\n"
        "int h() { using namespace n; return cudaSetDevice(1); }\n"
        "int i() { using n::cudaSetDevice; return cudaSetDevice(1); }",
    ),
    "variables and parameters": (
        "void f(int cudaFree) { int cudaMemset = cudaFree; cudaMemset++; }\n"
        "void g(void *p) { cudaFree(p); { int cudaMemset = 1; } cudaMemset(p, 0, 1); }\n"
        "void h() { for (int cudaFree = 0; cudaFree < 2; ) cudaFree++; cudaFree(0); }",
        "void f(int cudaFree) { int cudaMemset = cudaFree; cudaMemset++; }\n"
        "void g(void *p) { hipFree(p); { int cudaMemset = 1; } hipMemset(p, 0, 1); }\n"
        "void h() { for (int cudaFree = 0; cudaFree < 2; ) cudaFree++; hipFree(0); }",
    ),
    "enumerators": (
        "enum class mine { cudaSuccess }; int f() { return (int)mine::cudaSuccess + "
        "cudaSuccess; }\n"
        "int g() { return cudaError::cudaErrorUnknown; }",
        "enum class mine { cudaSuccess }; int f() { return (int)mine::cudaSuccess + hipSuccess; }\n"
        "int g() { return hipError_t::hipErrorUnknown; }",
    ),
    "functions and macros of the file": (
        "static int cudaFree(int x) { return x; }\n#define cudaMalloc(p) p\nint f() { return "
        "cudaFree(1) + cudaMalloc(2) + cudaMemset(0, 0, 0); }",
        "static int cudaFree(int x) { return x; }\n#define cudaMalloc(p) p\nint f() { return "
        "cudaFree(1) + cudaMalloc(2) + hipMemset(0, 0, 0); }",
    ),
    "functions of CUDA's that are declared again": (
        'extern "C" cudaError_t cudaFree(void *);\nint f() { return cudaFree(0); }',
        'extern "C" hipError_t hipFree(void *);\nint f() { return hipFree(0); }',
    ),
    "what stands in for CUDA": (
        "#ifdef WITH\n#include <cuda_runtime.h>\n#else\ntypedef int cudaStream_t;\n"
        "#define cudaSuccess 0\n#endif\ncudaStream_t s = cudaSuccess;",
        "#ifdef WITH\n#include <hip/hip_runtime.h>\n#else\ntypedef int hipStream_t;\n"
        "#define hipSuccess 0\n#endif\nhipStream_t s = hipSuccess;",
    ),
    "names that are none of CUDA's": (
        "void cudaInit(); cudaArray *cuArray; int cudaModuleLoad(int); void f() { cudaInit(); }",
        "void cudaInit(); hipArray *cuArray; int cudaModuleLoad(int); void f() { cudaInit(); }",
    ),
    "headers by macros and in questions": (
        "#define HALF <cuda_fp16.h>\n#include HALF\n#if __has_include(<curand.h>)\n#endif",
        "#define HALF <hip/hip_fp16.h>\n#include HALF\n#if "
        "__has_include(<hiprand/hiprand.h>)\n#endif",
    ),
    "guards of CUDA's headers": (
        "#if defined(__CUDA_RUNTIME_API_H__) && !defined __CUDACC__\n#endif",
        "#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H) && !defined __HIPCC__\n#endif",
    ),
    "launches with spaces and braces": (
        "void f(int n) { k<< <1, n>> >(); k <<<1, n>>>(); k<int><< <{1, 2}, n>>>(n >> 2); }",
        "void f(int n) { k<<<1, n>>>(); k <<<1, n>>>(); k<int><<<dim3{1, 2}, n>>>(n >> 2); }",
    ),
    "copies of the driver's": (
        "void f(CUdeviceptr a) { cuMemcpy(a, a, 4); "
        "cuMemcpyAsync(a, a, 4, CU_STREAM_PER_THREAD); }",
        "void f(hipDeviceptr_t a) { hipMemcpy(a, a, 4, hipMemcpyDefault); hipMemcpyAsync(a, a, 4, "
        "hipMemcpyDefault, hipStreamPerThread); }",
    ),
    "what is defined for editors": (
        "#ifdef __INTELLISENSE__\n#define cudaSuccess 1\n#endif\nint e = cudaSuccess;",
        "#ifdef __INTELLISENSE__\n#define hipSuccess 1\n#endif\nint e = hipSuccess;",
    ),
    "indices as they are": (
        '__device__ void f(int n) { printf("%d", blockIdx.y); auto i = threadIdx.x; n = max(n, '
        "blockDim.x) + threadIdx.y; int j = gridDim.z; }",
        '__device__ void f(int n) { printf("%d", (unsigned)blockIdx.y); auto i = '
        "(unsigned)threadIdx.x;"
        " n = max(n, (unsigned)blockDim.x) + threadIdx.y; int j = gridDim.z; }",
    ),
    "indices that functions go by the type of": (
        "#define TID (threadIdx.x)\ntemplate <class T> __device__ T f(T v, int l) { return v; }\n"
        "__device__ void g(cg::tile t, int n) { f(TID, threadIdx.y); f<int>(TID, 0);\n"
        "  __shfl_sync(~0u, (threadIdx.x), 3); __ballot_sync(~0u, threadIdx.x); t.shfl(TID, 0);\n"
        "  decltype(blockIdx.x) q = threadIdx.x; cooperative_groups::reduce(t, threadIdx.x, p); }",
        '#include "cuda_warps.h"\n'
        "#define TID (threadIdx.x)\ntemplate <class T> __device__ T f(T v, int l) { return v; }\n"
        "__device__ void g(cg::tile t, int n) { f((unsigned)TID, threadIdx.y); f<int>(TID, 0);\n"
        "  cuda_shfl_sync(~0u, ((unsigned)threadIdx.x), 3); cuda_ballot_sync(~0u, threadIdx.x); "
        "t.shfl((unsigned)TID, 0);\n  decltype((unsigned)blockIdx.x) q = threadIdx.x; "
        "cooperative_groups::reduce(t, (unsigned)threadIdx.x, p); }",
    ),
    "warps where no function of warps is": (
        "__global__ void k(int *x) { x[0] = threadIdx.x / warpSize; }\n"
        "int f(cudaDeviceProp p) { return cudaGetDeviceProperties(&p, 0) + p.warpSize; }",
        '#include "cuda_warps.h"\n'
        "__global__ void k(int *x) { x[0] = threadIdx.x / cuda_warp_size; }\n"
        "int f(hipDeviceProp_t p) { return cuda_get_device_properties(&p, 0) + p.warpSize; }",
    ),
    "a host's program that asks for warps": (
        "int f(cudaDeviceProp p) { return cudaGetDeviceProperties(&p, 0) + p.warpSize; }",
        "int f(hipDeviceProp_t p) { return hipGetDeviceProperties(&p, 0) + p.warpSize; }",
    ),
    "alignment": (
        "struct __builtin_align__(8) s { int a, b; };",
        "struct __align__(8) s { int a, b; };",
    ),
    "kernels and symbols": (
        "void f(const void *a, F b) { cudaLaunchKernel(k, 1, 2, c); cudaLaunchKernel(a, 1, 2, c);\n"
        "  cudaFuncSetCacheConfig(t<float>, d); cudaMemcpyToSymbol(n::c, b, 4); "
        "cudaMemcpyToSymbol(a, b, 4);\n  cudaMemcpyToSymbol(t<int>[1], b, 4); "
        'cudaMemcpyToSymbol("c", b, 4); cudaMemcpyToSymbol(t<int, 2>, b, 4); }',
        "void f(const void *a, F b) { hipLaunchKernel((const void *)k, 1, 2, c); "
        "hipLaunchKernel(a, 1, 2, c);\n  hipFuncSetCacheConfig((const void *)t<float>, d); "
        "hipMemcpyToSymbol(HIP_SYMBOL(n::c), b, 4); hipMemcpyToSymbol(a, b, 4);\n"
        '  hipMemcpyToSymbol(HIP_SYMBOL(t<int>[1]), b, 4); hipMemcpyToSymbol("c", b, 4); '
        "hipMemcpyToSymbol(t<int, 2>, b, 4); }",
    ),
    "bits of other types": (
        "typedef uint64_t word;\n__device__ int f(int a, long b, word *c, unsigned d) {\n"
        "  return __ffs(a) + __ffsll(b) + __ffsll(c[1]) + __ffs(d) + __ffs(b); }",
        "typedef uint64_t word;\n__device__ int f(int a, long b, word *c, unsigned d) {\n"
        "  return __ffs(a) + __ffsll((unsigned long long)(b)) + __ffsll((unsigned long "
        "long)(c[1])) "
        "+ __ffs(d) + __ffs((int)(b)); }",
    ),
    "a word that is gone": (
        "int f() { register int i = 1; return i; }",
        "int f() { /* register */ int i = 1; return i; }",
    ),
    "defaults": (
        "void f() { cudaMemcpyToSymbolAsync(a, b, 4); cudaMemcpyFromSymbolAsync(b, a, 4, 0);\n"
        "  cudaLaunchCooperativeKernel(k, 1, 2, 0); cudaMemcpyToSymbolAsync(a, b, 4, 0, c); }",
        "void f() { hipMemcpyToSymbolAsync(HIP_SYMBOL(a), b, 4, 0, hipMemcpyHostToDevice); "
        "hipMemcpyFromSymbolAsync(b, HIP_SYMBOL(a), 4, 0, hipMemcpyDeviceToHost);\n"
        "  hipLaunchCooperativeKernel(k, 1, 2, 0, 0, 0); "
        "hipMemcpyToSymbolAsync(HIP_SYMBOL(a), b, 4, 0, c); }",
    ),
    "events with flags": (
        "void f() { cudaEventCreate(&e); cudaEventCreate(&e, cudaEventDisableTiming); }",
        "void f() { hipEventCreate(&e); hipEventCreateWithFlags(&e, hipEventDisableTiming); }",
    ),
    "a file that names nothing of CUDA's": ("int f() { return abs(1); }",) * 2,
}
"""Sources and their HIP texts, but for the include at the start."""


@pytest.mark.parametrize("name", WRITTEN)
def test_written(name: str) -> None:
    """Names of CUDA's alone are changed, and what HIP's compilers read otherwise."""
    text, wanted = WRITTEN[name]
    made = hipify.translated(Source("a.cu", text.encode(), place=Path("a.cu"))).content.decode()
    assert made.removeprefix(RUNTIME) == wanted
    assert made.startswith(RUNTIME) or "hip/hip_runtime.h" in wanted or "cuda_warps.h" in wanted


TOLD = {
    "a later name": (
        "int f(const char **s) { return cuGetErrorName(CUDA_SUCCESS, s); }",
        {(1, "host/driver-api")},
    ),
    "pasted names": (
        "#define A(f) cuda##f##Async\n#define B(x) \\\n  x##_sync\n#define C(x) my##x",
        {(1, "host/names"), (3, "host/names")},
    ),
    "sizes of one type from another": (
        "void f(uint3 u, dim3 d) {\n  dim3 a = u;\n  dim3 b(make_uint3(1, 1, 1));\n  d = dim3(2);\n"
        "  uint3 c = d;\n  k<<<make_uint3(1, 1, 1), d>>>();\n  uint3 e = blockIdx; }",
        {(line, "language/thread-index-type") for line in (2, 3, 5, 6, 7)},
    ),
    "groups": (
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        "__global__ void k(float2 *x, double *y) {\n  auto t = cg::tiled_partition<16>("
        "cg::this_thread_block());\n  x[0] = t.shfl(x[1], 0);\n  y[0] = t.shfl_up(y[1], 1);\n"
        "  y[1] = cg::this_grid().block_rank();\n  __shared__ cg::block_tile_memory<4> m;\n"
        "  auto s = cg::tiled_partition<4>(t);\n  y[2] = cg::coalesced_threads().size(); }",
        {
            *((5, "warps/group-members"), (7, "warps/group-members")),
            *((8, "warps/cooperative-groups"), (9, "warps/group-members")),
        },
    ),
    "block memory of launches": (
        "#define KIB 1024\n__global__ void k() { __shared__ float s[8192]; }\nvoid f() {\n"
        "  const size_t bytes = 80 * KIB;\n  k<<<1, 64, bytes>>>();\n"
        "  k<<<1, 64, 10000 * sizeof(float)>>>();\n  k<<<1, 64, 32 * KIB>>>();\n"
        "  cudaFuncSetAttribute((void *)k, cudaFuncAttributeMaxDynamicSharedMemorySize, 70000);\n"
        "  cudaLaunchKernel((void *)k, 1, 2, 0, 65537, 0); }",
        {(line, "memory/shared-limit") for line in (5, 6, 8, 9)},
    ),
    "floats that are added": (
        "__device__ float total;\n__global__ void k(float *a) {\n  __shared__ float s;\n"
        "  atomicAdd(&s, 1.f);\n  atomicAdd(a, 1.f);\n  atomicAdd(&total, 1.f); }",
        {(5, "atomics/float-add"), (6, "atomics/float-add")},
    ),
    "warps that wait": (
        "__global__ void k(volatile int *f, int n) {\n  __shared__ volatile int s[4];\n"
        "  while (s[n] == 0);\n  int v, warp = n;\n  do { v = f[warp]; } while (v == 0);\n"
        "  while (f[blockIdx.x] == 0) __threadfence();\n  while (s[n] > 2) n++; }",
        {(3, "warps/independent-scheduling"), (5, "warps/independent-scheduling")},
    ),
    "lanes that wait for others of their wave": (
        "struct lock { int *m; __device__ void take() { while (atomicCAS(m, 0, 1)); } };\n"
        "__global__ void k(int *h, int *b, lock l, volatile int *f) {\n"
        "  int lane = threadIdx.x & 31;\n"
        "  if (lane == 0) { atomicExch(h, 1); } else { while (atomicAdd(h, 0) == 0); }\n"
        "  if (threadIdx.x == 0) while (!*f);\n"
        "  if (threadIdx.x == 0) { while (atomicCAS(b, 0, 1)); l.take(); }\n"
        "  if (threadIdx.x < 32) { b[0] = 1; } else { while (((volatile int *)b)[0] == 0); }\n"
        "  if (lane == 0) while (atomicExch(b, 1)); }",
        {(line, "warps/independent-scheduling") for line in (4, 7, 8)},
    ),
    "other names of types, members of vectors": (
        "#define DTYPE double\ntypedef float real;\n"
        "__global__ void k(real *a, DTYPE *b, float3 *c, int2 *d) {\n  atomicAdd(a, 1.f);\n"
        "  atomicAdd(b, 1.);\n  atomicAdd(&c[1].x, 1.f);\n  atomicAdd(&d[1].x, 1); }",
        {(4, "atomics/float-add"), (5, "atomics/double-add"), (6, "atomics/float-add")},
    ),
    "loops that all threads count alike": (
        "__global__ void k(int n) {\n  int i = threadIdx.x;\n"
        "  for (i = 0; i < n; i++) __syncthreads();\n"
        "  for (int j = i; j < n; j++) __syncthreads();\n"
        "  for (i = 0; i < n; i += threadIdx.x) __syncthreads(); }",
        {(4, "synchronisation/divergent-barrier"), (5, "synchronisation/divergent-barrier")},
    ),
    "steps of a warp under conditions": (
        "__global__ void k(float *s) {\n  int t = threadIdx.x;\n"
        "  if (t < 8) s[t] += s[t + 8];\n  if (t < 4) s[t] += s[t + 4];\n"
        "  if (t < 2) s[t] += s[t + 2];\n  __syncthreads();\n}\n#define RED(s, t) \\\n"
        "  s[t] = max(s[t], s[t + 8]); \\\n  s[t] = max(s[t], s[t + 4]);\n"
        "#define SYNC(s, t) s[t] += s[t + 8]; __syncwarp(); s[t] += s[t + 4]; __syncwarp();",
        {(3, "synchronisation/volatile-warp"), (9, "synchronisation/volatile-warp")},
    ),
    "matrix units, whose waves have 64 lanes": (
        "#define WARP_SIZE 32\n__global__ void k() {\n  int warp = threadIdx.x / WARP_SIZE;\n"
        "  wmma::mma_sync(c, a, b, c); }",
        {(1, "warps/hard-coded-32"), (3, "warps/hard-coded-32")},
    ),
    "handles that are numbers in CUDA": (
        "CUdeviceptr f(cudaTextureObject_t t, CUdeviceptr p, CUdeviceptr *q) {\n"
        "  unsigned u = t & 255;\n  u = (unsigned)(((cudaTextureObject_t)u) >> 32);\n"
        "  q[0] = p;\n  if (t == 0 || !p) return 0;\n  return p + 8; }",
        {(2, "memory/texture-object"), (3, "memory/texture-object"), (6, "host/driver-api")},
    ),
    "a symbol by its name, a capability that is kept": (
        'int major;\nvoid f(cudaDeviceProp p) {\n  cudaMemcpyToSymbol("c", &p, 4);\n'
        "  major = p.major;\n  if (major >= 8) return; }",
        {(3, "host/symbols"), (4, "host/device-properties")},
    ),
    "headers of the program's own": (
        '#include "cudaimage.h"\n#include <cuda_helper.h>\n#include <cuda_occupancy.h>\n'
        "#include <cudaEGL.h>",
        {(3, "compilation/headers"), (4, "compilation/headers")},
    ),
    "names that are defined for editors alone": (
        "#ifdef __INTELLISENSE__\n#define __CUDA_ARCH__ 900\n#endif\n#if __CUDA_ARCH__ > 800\n"
        "#endif",
        {(4, "language/cuda-arch")},
    ),
    "functions of kernels in macros": (
        "#define LOAD(p) __ldcs(p)\n#define ROOT(x) __frsqrt_rn(x)\n#define NOW clock()\n"
        "#define STOP __trap()",
        {(1, "memory/read-only"), (2, "arithmetic/frsqrt-rn")},
    ),
    "a rest that is no rounding error": (
        "__device__ float f(float x, float y, float z, float p) {\n"
        "  float s = x * x + y * y + z * z, t = x * y + p;\n  s = s - z * z;\n  return t - p; }",
        {(4, "arithmetic/contraction")},
    ),
    "textures of all kinds": (
        "__global__ void f(cudaTextureObject_t t, float4 *x) {\n"
        "  x[0] = tex2Dgather<float4>(t, 0, 0, 0);\n  x[0].x = texCubemap<float>(t, 1, 0, 0);\n"
        "  x[0].y = tex2DGrad<float>(t, 0, 0, x[1], x[2]); }",
        {(line, "memory/texture-object") for line in (2, 3, 4)},
    ),
    "an index in a macro's text": (
        "#define T(v) auto v = threadIdx.x\n#define U(v) int v = threadIdx.x",
        {(1, "language/thread-index-type")},
    ),
    "kernels of templates that a macro names": (
        "#define KERNEL(T, name) template <typename T, int N> __global__ void name\n"
        "#define DEVICE template <typename T> __device__ __forceinline__\n"
        "KERNEL(T, f)(T *x) {\n  __prof_trigger(1); }\nDEVICE T g(T x) {\n  return __tanhf(x); }",
        {(4, "debugging/profiling"), (6, "mathematics/fast-intrinsics")},
    ),
    "PTX and bounds in macros": (
        '#define A asm volatile\n#define B() asm("bar.sync 0;")\n#define C() asm volatile("")\n'
        "#define D __launch_bounds__(256, max(1, 4))\n#define E __launch_bounds__(256)\n"
        '__global__ void __launch_bounds__(256, 2, 1) k() {\n  A("bar.sync 0;");\n  A(""); }',
        {
            *((7, "synchronisation/named-barrier"), (2, "synchronisation/named-barrier")),
            *((4, "launch/launch-bounds-second"), (6, "launch/launch-bounds-second")),
        },
    ),
    "functions of nvcc's library": (
        "#include <nvfunctional>\n__global__ void k(half *h) {\n"
        "  nvstd::function<int(int)> f; h[0] = __double2half(1.0); }",
        {
            *((1, "language/function-pointers"), (3, "language/function-pointers")),
            (3, "language/half"),
        },
    ),
    "functions of groups without their namespace": (
        "#include <cooperative_groups.h>\nusing namespace cooperative_groups;\n"
        "__global__ void k(int *x) {\n  auto p = labeled_partition(coalesced_threads(), x[0]);\n"
        "  x[1] = thread_block::size();\n  wait(this_thread_block()); }\n"
        "void wait_for(int); void f() { wait_for(1); }",
        {
            *((4, "warps/cooperative-groups"), (5, "warps/cooperative-groups")),
            (6, "memory/async-copy"),
        },
    ),
    "the driver's ways": (
        "CUdeviceptr p;\nvoid f() {\n  cuCtxCreate(&c, nullptr, 0, d);\n"
        '  cuModuleLoad(&m, "k.ptx");\n  size_t n = p;\n  float *q = (float *)p; if (p) p = 0; }',
        {(3, "host/driver-api"), (4, "compilation/no-ptx"), (5, "host/driver-api")},
    ),
    "capabilities after arithmetic": (
        "void f(cudaDeviceProp p, Version v) {\n  int sm = p.major * 10 + p.minor;\n"
        "  if (sm > 70) f();\n"
        "  if (p.major * 10 + 1 >= 71) f();\n  switch (p.major) { case 7: f(); }\n"
        '  printf("%d", p.major * 10 + p.minor); int b = p.minor + 1; }',
        {(line, "host/device-properties") for line in (2, 4, 5)},
    ),
    "names of libraries": (
        "void f() {\n  cublasFooBar();\n  cufftXtMalloc(0);\n  nvtxDomainCreateA(0);\n"
        "  CubDebugExit(0);\n  CUBLAS_CHECK(cublasCreate(0));\n  cusparseSpVecDescr_t v; }\n"
        "#ifdef CUBLAS_MINE\n#endif\nint cusolverMine; int g() { return cusolverMine; }",
        {
            *((2, "libraries/blas"), (3, "libraries/fft-sparse-solver")),
            *((4, "debugging/profiling"), (5, "libraries/cub")),
        },
    ),
    "guards that new GPUs decide as AMD's do": (
        "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600\n#endif\n"
        "#if defined __CUDA_ARCH__ && (__CUDA_ARCH__ < 350)\n#endif\n"
        "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 600\n#endif\n"
        "#if CUDART_VERSION >= 9000 && MINE != 1\n#endif",
        {(5, "language/cuda-arch"), (7, "language/cuda-arch")},
    ),
    "barriers that all threads reach": (
        "__global__ void k(int *s) {\n  int any = __syncthreads_or(s[threadIdx.x]);\n"
        "  if (any) __syncthreads();\n"
        "  if (__syncthreads_count(s[threadIdx.x]) > 3) __syncthreads();\n"
        "  if (s[threadIdx.x] > any) __syncthreads(); }",
        {(5, "synchronisation/divergent-barrier")},
    ),
    "operators": (
        "namespace n { struct float4 { float x; };\n"
        "__device__ void operator+=(float4 &a, const float4 &b) {} }\n"
        "__device__ float4 operator+(float4 a, float4 b) { return a; }\n"
        "__device__ void operator*=(float3 &a, const float3 &b) {}\n"
        "__device__ void operator*=(float3 &a, float3 b) {}",
        {(4, "language/vector-operators")},
    ),
    "functions of warps of one's own": (
        "struct w { __device__ int __shfl_sync(int m, int v, int l) { return v; } };\n"
        "namespace n { __device__ int __any_sync(int m, int p) { return p; } }\n"
        "__global__ void k(w a, int *x) {\n"
        "  x[0] = a.__shfl_sync(1, 2, 3) + n::__any_sync(1, 2); }",
        set(),
    ),
    "past the end of block memory": (
        "__global__ void k(float *g, int n) {\n"
        "  __shared__ float a[64]; float *p = a, *e = &a[64];\n"
        "  g[0] = a[63] + p[63] + e[-1] + *(p + 1);\n  g[1] = a[60 + 4];\n  g[2] = *(p + 80);\n"
        "  e[2] = 1;\n  for (int i = 0; i < 65; ++i) if (n) g[i] = p[i];\n"
        "  for (int i = 0; i < 99; ++i) { if (i < n) g[i] = a[i]; g[i] = a[n]; }\n"
        "  float *q = r, *r = q; q[9] = a[];\n"
        "  for (int i = 0; i < 99; i += 50) a[i] = 1; for (int i = 0; i < 64; i++) a[i] = 1; }",
        {(line, "memory/shared-static") for line in (4, 5, 6, 7)},
    ),
    "warps counted by 32 in macros and enumerations": (
        "#define LANE() (threadIdx.x & 31)\nenum { W = 32 }; static const unsigned V{32u};\n"
        "__global__ void k(int *x) {\n  int wid = threadIdx.x / W;\n  int lane = threadIdx.x % V;\n"
        "  auto t = cooperative_groups::tiled_partition<32>(b); }\n"
        "constexpr int LOG_WARP = 5;\nconstexpr int WARPS = 5;",
        {(line, "warps/hard-coded-32") for line in (1, 4, 5, 7)},
    ),
    "kernels, libraries and options in strings": (
        'const char *a = R"(\n__global__ void k(int *x) { x[threadIdx.x & 31] = '
        '__any_sync(~0u, 1); })";\n'
        'const char *b = "__global__ void k(int *x) {\\n"\n  "x[0] = __any_sync(~0u, 1); }";\n'
        'int f() { puts("cudaMalloc fails, sm_80"); nvrtcCompileProgram(0, 0, 0);\n'
        '  const char *given[] = {"-arch=sm_80",\n  "--use_fast_math", "-std=c++17"};\n'
        '  dlopen("libcudart.so.12", 1);\n  dlsym(0, "cudaFree"); dlsym(0, "mine"); }\n'
        "__global__ void l(int *x) { x[0] = __any_sync(~0u, x[0]); }",
        {
            *(
                (2, "warps/hard-coded-32"),
                (2, "warps/mask-32-bits"),
                (4, "warps/mask-32-bits"),
                (6, "compilation/options"),
            ),
            *((7, "compilation/options"), (8, "host/names"), (9, "host/names")),
        },
    ),
    "words and arguments": (
        "__global__ void __maxnreg__(32) k(float *x) {\n  x[0] = __tanhf(x[1]); }\n"
        "void f() { cudaGraphExecUpdate(a, b, c);\n  cudaEventCreate(&e, 2); }",
        {
            *((1, "launch/launch-bounds-second"), (2, "mathematics/fast-intrinsics")),
            (3, "host/graphs"),
        },
    ),
    "headers of CUDA's": (
        "#include <cuda_fp8.h>\n#include <crt/device_functions.h>\n#include <cuda_fp4.h>\n"
        "#include <cudaGL.h>\n#include <nvml.h>\n#include <cupti_events.h>",
        {
            *((1, "language/half"), (3, "compilation/headers"), (4, "compilation/headers")),
            *((5, "compilation/headers"), (6, "compilation/headers")),
        },
    ),
    "types of halves": (
        "__device__ float f(__nv_bfloat16 x) {\n  nv_bfloat162 y;\n  __nv_fp8_e4m3 z;\n"
        "  return __bfloat162float(x); }",
        {
            *((1, "language/bfloat16"), (2, "language/bfloat16"), (3, "language/half")),
            (4, "language/bfloat16"),
        },
    ),
    "capabilities": (
        "int f(int *a) {\n  cudaDeviceGetAttribute(a, cudaDevAttrComputeCapabilityMajor, 0);\n"
        "  cuDeviceGetAttribute(a, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0); }",
        {(2, "host/device-properties"), (3, "host/device-properties")},
    ),
    "a kernel that a macro names": (
        '#define KERNEL(name) extern "C" __global__ void __launch_bounds__(64, 2) name\n'
        "KERNEL(f)(double *x) {\n  atomicAdd(x, 1.0); }",
        {(1, "launch/launch-bounds-second"), (3, "atomics/double-add")},
    ),
    "addresses of the driver's": (
        "void f(CUdeviceptr p, size_t n) {\n  CUdeviceptr q;\n  cuMemAlloc(&q, n);\n"
        "  q += n;\n  f(p + n, 1);\n  if (p == 0) n = 2 * n; }",
        {(4, "host/driver-api"), (5, "host/driver-api")},
    ),
    "libcu++ on the host": (
        "cuda::std::array<int, 3> a;\nint f(cuda::mine x);",
        {(1, "synchronisation/cuda-atomic")},
    ),
    "guards": (
        "#ifdef __TEXTURE_TYPES_H__\n#endif\n#ifndef MY_CUDA_RUNTIME_H\n#define MY_CUDA_RUNTIME_H\n"
        "#endif\n#if CUBLAS_VER_MAJOR > 10\n#endif",
        {(1, "language/cuda-arch"), (6, "language/cuda-arch")},
    ),
}
"""What is told with certainty, or is likely, of the HIP text."""


@pytest.mark.parametrize("name", TOLD)
def test_told(name: str) -> None:
    """What cannot be translated is told where it stands, and nothing else is."""
    text, wanted = TOLD[name]
    source = Source("a.cu", text.encode(), place=Path("a.cu"))
    found = report.after(report.of(source), hipify.translated(source)).traps
    left = [t for t in found if t.platform == HIP and t.certainty != POSSIBLE and not t.cured]
    told = {(t.line, t.entry) for t in left}
    assert told == wanted


PARSED = (
    "int a[4] __attribute__((aligned(64)));\nstruct alignas(16) s { int x; };",
    "#define EACH(m) for (int i = 0; i < 2; i++) { m; }\nint f(int c) { EACH(c++) return c; }",
    "int f(int *p, int c) {\n#if A\n  while (p[c] > 1)\n#else\n  for (; p[c] > "
    "2;)\n#endif\n  { c++; }"
    "\n  return c; }",
    "#define OFF(x)\n#define ON f();\nint f() { OFF(1)\n  ON\n  OFF(2) // and\n  /* so */ OFF(3)\n"
    "  ON\n  return 0; }",
    "#define run(x) { x; }\nvoid run(int x) { if (x) return; }\nint y;",
    "void f() { k<<<1, {1, 2}, 0, s>>>(1); }",
    "#define TRY(x) do { if (x) return 1; } while (0);\nint f() { if (1) "
    "TRY(cudaFree(0)) TRY(2); return 0; }",
)


@pytest.mark.parametrize("text", PARSED)
def test_parsed(text: str) -> None:
    """Attributes, heads of loops in branches, macros of statements without a semicolon."""
    assert not Source("a.cu", text.encode()).root.has_error


SKETCH = {
    'asm("trap;");': "language/inline-asm",
    "x[0] = __shfl_sync(~0u, x[0], 1);": "warps/mask-32-bits",
    "auto t = cooperative_groups::this_thread_block();": "warps/cooperative-groups",
    "cub::WarpReduce<int> r;": "libraries/cub",
    "x[0] = cg::reduce(x[1]);": "warps/cooperative-groups",
    "g.sync();": "warps/cooperative-groups",
    "using namespace cooperative_groups; sync(x);": "warps/cooperative-groups",
    "cuda::atomic_ref<int> r(x[0]);": "synchronisation/cuda-atomic",
    "x[0] = CUDART_PI_F;": "compilation/limits-of-types",
    "__half *h; atomicAdd(h, x[0]);": "atomics/short-types",
    "x[0] = tex2D<int>(t, 0, 1);": "memory/texture-object",
    "float *f; atomicAdd(f, 1.f);": "atomics/float-add",
    "unsigned long long *u; atomicMax(u, 1);": "atomics/signed-64",
    "char4 c = *(char4 *)x;": "language/address-spaces",
    "thing t; t.f();": "language/templates",
    "long long l = 1LL;": "language/long",
    "float y = sqrtf(2.f) + __expf(1.f);": "language/float-functions",
    "int *p = new int[3];": "language/device-malloc",
    "int4 v = make_int4(1, 2, 3, 4);": "language/vector-operators",
    "extern __shared__ int s[];": "memory/shared-dynamic",
    "int n = mix(x);": "language/address-spaces",
    "half h = __float2half(1.f);": "language/half",
    "auto l = [=] { return 1; };": "language/templates",
    "k<<<1, 2>>>(x, 0);": "language/launch-in-kernel",
}
"""Statements in a kernel, and the entries about them for OpenCL."""

OUTSIDE = {
    "__constant__ float c[16];": "memory/constant",
    "extern __shared__ float s[];": "memory/shared-dynamic",
    "texture<float, 2, cudaReadModeElementType> t;": "memory/texture-reference",
}
"""Declarations outside of functions."""


def test_opencl_is_a_sketch(tmp_path: Path, capsys: Any) -> None:
    """Each kind is counted, a kernel that is plain C is not; what is looked for is said."""
    head = "struct thing { int a; __device__ void f() {} };\n"
    head += "__device__ int mix(int *p) { return *p; } namespace cg = cooperative_groups;\n"
    for statement, entry in SKETCH.items():
        text = f"{head}__global__ void k(int *x, int t) {{\n{statement} }}\n"
        found = report.of(Source("a.cu", text.encode()))
        lines = {
            t.line
            for t in (*found.sketch, *found.traps)
            if t.platform == OPENCL and t.entry == entry
        }
        assert lines & {1, 2, 4}, statement
    for declaration, entry in OUTSIDE.items():
        found = report.of(Source("a.cu", declaration.encode()))
        assert {t.entry for t in found.sketch} == {entry}
    plain = tmp_path / "plain.cu"
    plain.write_text(
        "__global__ void k(float *x, int n) { __shared__ float s[64]; int i = threadIdx.x;\n"
        "  s[i] = x[i] * 2 + n; __syncthreads(); if (i < n) x[i] = s[i ^ 1]; atomicAdd(&n, 1); }\n"
    )
    assert cli.main(["port", str(plain)]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"OpenCL, .*:\n    a sketch: .*\n    not looked for are .*\n    nothing that", out
    )


def test_the_hip_text_alone(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --hip the sketch is printed where it is asked for; what stays the same is not."""
    monkeypatch.setattr("shutil.which", lambda name: None)
    plain = tmp_path / "plain.cu"
    plain.write_text("__global__ void k(float *x) { x[threadIdx.x] = sqrtf(x[0]); }\n")
    command = ["port", "--hip", "-o", str(tmp_path / "out"), str(plain)]
    cli.main(command)
    out = capsys.readouterr().out
    assert "OpenCL" not in out and "the same" not in out
    cli.main([*command, "--opencl"])
    assert "a sketch" in capsys.readouterr().out


def test_one_line_a_cause(tmp_path: Path, capsys: Any) -> None:
    """Places of one cause are one line; half-empty waves and slow places are no errors."""
    many = tmp_path / "many.cu"
    many.write_text("int main() {\n" + "  checkCudaErrors(cudaFree(0));\n" * 99 + "}\n")
    assert cli.main(["port", "--traps", str(many)]) == 1
    out = capsys.readouterr().out
    assert out.count("of CUDA's samples") == 1 and "and lines 3, 4, 5, 6, 7, 8 and 92 more" in out
    assert "99 places that do not compile" in out
    many.write_text("__global__ void k() {}\nint main() { k<<<1, 32>>>(); }\n")
    assert cli.main(["port", str(many)]) == 0
    assert "slower" in capsys.readouterr().out


def test_what_is_kept_is_told(tmp_path: Path, capsys: Any) -> None:
    """A name that the program declares stays, and the report says so."""
    kept = tmp_path / "kept.cu"
    kept.write_text("static int cudaFree(int x) { return x; }\nint f() { return cudaFree(1); }\n")
    assert cli.main(["port", str(kept)]) == 0
    out = capsys.readouterr().out
    assert "names that the program declares itself, and that stay: cudaFree (line 1)" in out


def group(**texts: str) -> list[Source]:
    """Files that are read together; __ is a dot in their names, and lies in a folder "
    "after ``in_``."""
    names = {name: name.replace("__", ".").replace("in_", "in/") for name in texts}
    return sources.together([Source(names[n], text.encode()) for n, text in texts.items()])


def test_kernels_that_are_not_seen() -> None:
    """A macro that makes kernels in a way that is not looked into is named; votes are told."""
    text = "#define K(a) MORE(a) __global__ a\n#define L(f) __global__ void f\n"
    assert report.of(Source("a.cu", text.encode())).remarks[0] == (
        "kernels that the macro K (line 1) makes are not looked into"
    )
    votes = Source("a.cu", b"__global__ void k(int *x) {\n  x[0] = __any(x[1]); }")
    (trap,) = report.after(report.of(votes), hipify.translated(votes)).traps
    assert (trap.line, trap.entry, trap.cured) == (2, "warps/vote-without-sync", True)


def test_files_that_are_read_together() -> None:
    """Members of a header's class, its own functions, warps of 32 for all, where includes lead."""
    made = [
        hipify.translated(one).content.decode()
        for one in group(
            in_a__h="struct s { int cudaFree(); void g(); };\nstatic int "
            "cudaSetDevice(char c) { return c; }",
            b__cu="#include <a.h>\nvoid s::g() { cudaFree(); cudaSetDevice('c'); "
            "cudaMalloc(0, 0); }",
            c__cu="void f(cudaDeviceProp *p, int *w) { cudaGetDeviceProperties(p, 0); *w "
            "= p->warpSize;\n"
            "cudaDeviceGetAttribute(w, cudaDevAttrWarpSize, 0); cudaSetDevice(0); }",
            in_d__cu="__device__ int f(int x) { return __any_sync(~0u, x); }",
        )
    ]
    assert made[1] == (
        f"{RUNTIME}#include \"in/a.h\"\nvoid s::g() {{ cudaFree(); cudaSetDevice('c'); "
        f"hipMalloc(0, 0); }}"
    )
    assert made[2] == (
        '#include "cuda_warps.h"\n'
        "void f(hipDeviceProp_t *p, int *w) { cuda_get_device_properties(p, 0); *w = p->warpSize;\n"
        "cuda_device_get_attribute(w, hipDeviceAttributeWarpSize, 0); hipSetDevice(0); }"
    )
    assert made[3].startswith('#include "../cuda_warps.h"\n')
    sources_read = group(
        w__cuh="#define WS 32\n__device__ int sum(int v) { return __shfl_down_sync(~0u, v, 1); }",
        m__cu='#include "w.cuh"\n__global__ void k(int *x) {\n  int lane = threadIdx.x % WS;\n'
        "  x[lane] = sum(x[0]); }",
    )
    found = report.after(report.of(sources_read[1]), hipify.translated(sources_read[1])).traps
    assert [(t.line, t.entry, t.cured) for t in found] == [(3, "warps/hard-coded-32", True)]


def test_what_hipcc_says(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that hipcc refuses: the status and the summary say so; parts of others are left."""
    tiers.check("hipcc")
    monkeypatch.chdir(tmp_path)
    Path("part.cu").write_text("__global__ void k(int *x) { x[0] = SIZE; }\n")
    Path("main.cu").write_text('#define SIZE 4\n#include "part.cu"\nint f() { return unknown; }\n')
    command = ["port", "--hip", "-o", "out", "main.cu", "part.cu"]
    assert cli.main(command) == 1
    out = capsys.readouterr().out
    assert "hipcc refuses 1 of 1 HIP texts: out/main.hip.cpp" in out
    assert "it is compiled with main.cu, which includes it" in out
    assert cli.main([*command, "--fail", "never"]) == 0


def test_coordinates_are_numbers(tmp_path: Path) -> None:
    """Lanes of their own, not bytes of a structure: of macros, templates, groups, deduced types."""
    tiers.check("hipcc")
    tiers.check("hiprtc")
    source = (
        b"#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
        b"#define MINE(v) auto v = threadIdx.x\n#define TID threadIdx.x\n"
        b"namespace cg = cooperative_groups;\n"
        b"template <typename T> __device__ T from(T v, int l) { return __shfl_sync(~0u, v, l); }\n"
        b"__global__ void k(const int *x, int *y) {\n  MINE(t);\n"
        b"  auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
        b"  unsigned sum = from(TID, 2) + __shfl_sync(~0u, t, 1) + __reduce_max_sync(~0u, TID);\n"
        b"  sum += __popc(__match_any_sync(~0u, t)) + tile.shfl(threadIdx.x, 3);\n"
        b"  y[t] = sum + cg::reduce(tile, (threadIdx.x), cg::greater<unsigned>()); }\n"
    )
    made = hipify.translated(Source("k.cu", source, place=Path("k.cu")))
    test_port.written(made, tmp_path)
    x, y = np.zeros(64, np.int32), np.zeros(64, np.int32)
    test_port.ran_by_hipcc(tmp_path, made.file, "k", [x, y], [0, 1], (1, 64))
    first = np.arange(64) // 32 * 32
    assert y.tolist() == (5 * first + 2 + 1 + 31 + 1 + 3 + 31).tolist()


def test_coalesced_groups_of_32(tmp_path: Path) -> None:
    """On a wave of 64 a coalesced group is of one warp of 32, and the host's warp has 32 lanes."""
    tiers.check("hipcc")
    tiers.check("hiprtc")
    source = (
        b"#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        b"__global__ void k(const int *x, int *y) {\n  if (x[threadIdx.x] > 40) {\n"
        b"    auto g = cg::coalesced_threads();\n"
        b"    y[threadIdx.x] = g.size() * 64 + g.thread_rank(); } }\n"
    )
    made = hipify.translated(Source("k.cu", source, place=Path("k.cu")))
    test_port.written(made, tmp_path)
    x, y = (np.arange(64) * 37 % 61).astype(np.int32), np.zeros(64, np.int32)
    test_port.ran_by_hipcc(tmp_path, made.file, "k", [x, y], [0, 1], (1, 64))
    taken = (x > 40).reshape(2, 32)
    ranks = taken.cumsum(axis=1) - 1 + taken.sum(axis=1, keepdims=True) * 64
    assert y.tolist() == np.where(taken, ranks, 0).ravel().tolist()

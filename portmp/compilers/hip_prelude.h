// What rendered kernels use of the HIP language, so that a plain clang compiles them
// without any header or device library of ROCm. Included before the source by clang.py.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
// The second argument of CUDA's form, blocks per multiprocessor, is only a hint.
#define __launch_bounds__(threads, ...) \
  __attribute__((amdgpu_flat_work_group_size(1, threads)))

// Neighbours that are read and written at once.
typedef float float4 __attribute__((ext_vector_type(4)));
typedef double double2 __attribute__((ext_vector_type(2)));
typedef unsigned uint2 __attribute__((ext_vector_type(2)));
typedef unsigned uint4 __attribute__((ext_vector_type(4)));

namespace portmp_prelude {

// Each index is an empty object whose members read a register when they are used.
#define PORTMP_INDEX(type, axis_x, axis_y, axis_z)                                   \
  struct type {                                                                      \
    __device__ __forceinline__ unsigned get_x() const { return axis_x; }             \
    __device__ __forceinline__ unsigned get_y() const { return axis_y; }             \
    __device__ __forceinline__ unsigned get_z() const { return axis_z; }             \
    __declspec(property(get = get_x)) unsigned x;                                    \
    __declspec(property(get = get_y)) unsigned y;                                    \
    __declspec(property(get = get_z)) unsigned z;                                    \
  };

#define PORTMP_BLOCKS(axis) \
  (__builtin_amdgcn_grid_size_##axis() / __builtin_amdgcn_workgroup_size_##axis())

PORTMP_INDEX(thread_index, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
             __builtin_amdgcn_workitem_id_z())
PORTMP_INDEX(block_index, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
             __builtin_amdgcn_workgroup_id_z())
PORTMP_INDEX(block_size, __builtin_amdgcn_workgroup_size_x(),
             __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z())
PORTMP_INDEX(grid_size, PORTMP_BLOCKS(x), PORTMP_BLOCKS(y), PORTMP_BLOCKS(z))

#undef PORTMP_BLOCKS
#undef PORTMP_INDEX

}  // namespace portmp_prelude

static const __device__ __attribute__((unused)) portmp_prelude::thread_index threadIdx = {};
static const __device__ __attribute__((unused)) portmp_prelude::block_index blockIdx = {};
static const __device__ __attribute__((unused)) portmp_prelude::block_size blockDim = {};
static const __device__ __attribute__((unused)) portmp_prelude::grid_size gridDim = {};

// The fences keep the compiler from moving shared memory accesses over the barrier.
static __device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Order a thread's accesses without waiting for another.
static __device__ __forceinline__ void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
static __device__ __forceinline__ void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

static __device__ __forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
static __device__ __forceinline__ int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
// The language's built-in functions leave zero undefined.
static __device__ __forceinline__ int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static __device__ __forceinline__ int __clzll(unsigned long long x) {
  return x ? __builtin_clzll(x) : 64;
}

static __device__ __forceinline__ double fma(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
static __device__ __forceinline__ float fma(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
static __device__ __forceinline__ float fmaf(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
static __device__ __forceinline__ double sqrt(double x) { return __builtin_sqrt(x); }
static __device__ __forceinline__ float sqrt(float x) { return __builtin_sqrtf(x); }
static __device__ __forceinline__ float sqrtf(float x) { return __builtin_sqrtf(x); }
static __device__ __forceinline__ double fabs(double x) { return __builtin_fabs(x); }
static __device__ __forceinline__ double floor(double x) { return __builtin_floor(x); }
static __device__ __forceinline__ float fabs(float x) { return __builtin_fabsf(x); }
static __device__ __forceinline__ float fabsf(float x) { return __builtin_fabsf(x); }

static __device__ __forceinline__ int __double2hiint(double x) {
  return (int)(__builtin_bit_cast(unsigned long long, x) >> 32);
}
static __device__ __forceinline__ int __double2loint(double x) {
  return (int)__builtin_bit_cast(unsigned long long, x);
}
static __device__ __forceinline__ double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, (unsigned long long)(unsigned)high << 32 | (unsigned)low);
}

// Inexact roots: the bare instruction; with subnormals scaled; in float64 refined by one step.
static __device__ __forceinline__ float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }
static __device__ __forceinline__ float rsqrtf(float x) {
  const bool small = x < 0x1p-126f;
  return __builtin_amdgcn_rsqf(x * (small ? 0x1p24f : 1.0f)) * (small ? 0x1p12f : 1.0f);
}
static __device__ __forceinline__ double rsqrt(double x) {
  const double y = __builtin_amdgcn_rsq(x), e = __builtin_fma(-(x * y), y, 1.0);
  return __builtin_fma(y * e, __builtin_fma(0.375, e, 0.5), y);
}
static __device__ __forceinline__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
static __device__ __forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }

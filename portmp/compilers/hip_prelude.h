// What kernels use of the HIP language, so that a plain clang compiles them without any header of
// ROCm. Included before the source by clang.py. What hiprtc of ROCm 5.2 declares and users' kernels
// are likely to name is here, with the same meaning; functions marked `library` are AMD's own, which
// clang.py links where a kernel calls one of them.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// The second argument of CUDA's form, blocks per multiprocessor, is only a hint.
#define __launch_bounds__(threads, ...) \
  __attribute__((amdgpu_flat_work_group_size(1, threads)))

#define PORTMP_DEVICE static __device__ __forceinline__

typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

// --- vectors ---------------------------------------------------------------------------------

namespace portmp_prelude {

// Three neighbours take the place of three; the compiler's own vectors take that of four.
template <class T>
struct triple {
  T x, y, z;
};

#define PORTMP_OPERATOR(op)                                                                       \
  template <class T>                                                                              \
  PORTMP_DEVICE triple<T> operator op(triple<T> a, triple<T> b) {                                 \
    return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z)};                                         \
  }                                                                                               \
  template <class T>                                                                              \
  PORTMP_DEVICE triple<T> operator op(triple<T> a, T b) {                                         \
    return a op triple<T>{b, b, b};                                                               \
  }                                                                                               \
  template <class T>                                                                              \
  PORTMP_DEVICE triple<T> operator op(T a, triple<T> b) {                                         \
    return triple<T>{a, a, a} op b;                                                               \
  }                                                                                               \
  template <class T, class U>                                                                     \
  PORTMP_DEVICE triple<T>& operator op##=(triple<T>& a, U b) {                                    \
    return a = a op b;                                                                            \
  }
PORTMP_OPERATOR(+)
PORTMP_OPERATOR(-)
PORTMP_OPERATOR(*)
PORTMP_OPERATOR(/)
#undef PORTMP_OPERATOR

}  // namespace portmp_prelude

#define PORTMP_VECTORS(type, name)                                                                \
  typedef type name##1 __attribute__((ext_vector_type(1)));                                       \
  typedef type name##2 __attribute__((ext_vector_type(2)));                                       \
  typedef portmp_prelude::triple<type> name##3;                                                   \
  typedef type name##4 __attribute__((ext_vector_type(4)));                                       \
  PORTMP_DEVICE name##1 make_##name##1(type x) { return name##1{x}; }                             \
  PORTMP_DEVICE name##2 make_##name##2(type x, type y) { return name##2{x, y}; }                  \
  PORTMP_DEVICE name##3 make_##name##3(type x, type y, type z) { return name##3{x, y, z}; }       \
  PORTMP_DEVICE name##4 make_##name##4(type x, type y, type z, type w) {                          \
    return name##4{x, y, z, w};                                                                   \
  }
PORTMP_VECTORS(char, char)
PORTMP_VECTORS(unsigned char, uchar)
PORTMP_VECTORS(short, short)
PORTMP_VECTORS(unsigned short, ushort)
PORTMP_VECTORS(int, int)
PORTMP_VECTORS(unsigned, uint)
PORTMP_VECTORS(long, long)
PORTMP_VECTORS(unsigned long, ulong)
PORTMP_VECTORS(long long, longlong)
PORTMP_VECTORS(unsigned long long, ulonglong)
PORTMP_VECTORS(float, float)
PORTMP_VECTORS(double, double)
#undef PORTMP_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// --- threads ---------------------------------------------------------------------------------

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
    __device__ __forceinline__ operator uint3() const { return {x, y, z}; }          \
    __device__ __forceinline__ operator dim3() const { return {x, y, z}; }           \
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
PORTMP_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Order a thread's accesses without waiting for another.
PORTMP_DEVICE void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
PORTMP_DEVICE void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
PORTMP_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

PORTMP_DEVICE long long clock64() { return __builtin_readcyclecounter(); }
PORTMP_DEVICE long long clock() { return clock64(); }
PORTMP_DEVICE long long __clock64() { return clock64(); }
PORTMP_DEVICE long long __clock() { return clock64(); }
#if __has_builtin(__builtin_readsteadycounter)
PORTMP_DEVICE long long wall_clock64() { return __builtin_readsteadycounter(); }
#endif

PORTMP_DEVICE void abort() { __builtin_trap(); }
// The compiler turns it into calls of the library, which need the help of the host's runtime.
extern "C" __device__ int printf(const char* format, ...);

PORTMP_DEVICE void* memcpy(void* target, const void* source, size_t bytes) {
  return __builtin_memcpy(target, source, bytes);
}
PORTMP_DEVICE void* memset(void* target, int value, size_t bytes) {
  return __builtin_memset(target, value, bytes);
}

// --- warps -----------------------------------------------------------------------------------

#ifdef __GFX9__
static constexpr __device__ int warpSize = 64;
PORTMP_DEVICE unsigned long long __ballot(int x) { return __builtin_amdgcn_ballot_w64(x != 0); }
#else
static constexpr __device__ int warpSize = 32;
PORTMP_DEVICE unsigned long long __ballot(int x) { return __builtin_amdgcn_ballot_w32(x != 0); }
#endif
PORTMP_DEVICE int __any(int x) { return __ballot(x) != 0; }
PORTMP_DEVICE int __all(int x) { return __ballot(!x) == 0; }
PORTMP_DEVICE unsigned __lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

namespace portmp_prelude {

// The x of a lane, in words of 32 bits.
template <class T>
PORTMP_DEVICE T from_lane(T x, int lane) {
  struct words {
    int word[sizeof(T) / 4];
  };
  auto all = __builtin_bit_cast(words, x);
  for (int& word : all.word) word = __builtin_amdgcn_ds_bpermute(lane << 2, word);
  return __builtin_bit_cast(T, all);
}

// Lanes of other groups of `width` are not reached (by xor, those of later ones): a thread then gets
// its own x.
PORTMP_DEVICE int of_group(int lane, int width) {
  return (lane & (width - 1)) + ((int)__lane_id() & ~(width - 1));
}
PORTMP_DEVICE int lane_within(int lane, int width) {
  const int self = __lane_id();
  return (lane ^ self) & ~(width - 1) ? self : lane;
}

PORTMP_DEVICE int lane_until(int lane, int width) {
  const int self = __lane_id();
  return lane < ((self + width) & ~(width - 1)) ? lane : self;
}

}  // namespace portmp_prelude

#define PORTMP_SHUFFLES(T)                                                                        \
  PORTMP_DEVICE T __shfl(T x, int lane, int width = warpSize) {                                   \
    return portmp_prelude::from_lane(x, portmp_prelude::of_group(lane, width));                   \
  }                                                                                               \
  PORTMP_DEVICE T __shfl_up(T x, unsigned by, int width = warpSize) {                             \
    return portmp_prelude::from_lane(x, portmp_prelude::lane_within(__lane_id() - by, width));    \
  }                                                                                               \
  PORTMP_DEVICE T __shfl_down(T x, unsigned by, int width = warpSize) {                           \
    return portmp_prelude::from_lane(x, portmp_prelude::lane_within(__lane_id() + by, width));    \
  }                                                                                               \
  PORTMP_DEVICE T __shfl_xor(T x, int by, int width = warpSize) {                                 \
    return portmp_prelude::from_lane(x, portmp_prelude::lane_until(__lane_id() ^ by, width));     \
  }
PORTMP_SHUFFLES(int)
PORTMP_SHUFFLES(unsigned)
PORTMP_SHUFFLES(long)
PORTMP_SHUFFLES(unsigned long)
PORTMP_SHUFFLES(long long)
PORTMP_SHUFFLES(unsigned long long)
PORTMP_SHUFFLES(float)
PORTMP_SHUFFLES(double)
#undef PORTMP_SHUFFLES

// --- atomics: relaxed, seen by the whole device, or by the whole system ----------------------

#define PORTMP_ATOMIC(name, T, call)                                                              \
  PORTMP_DEVICE T name(T* p, T x) {                                                               \
    constexpr int scope = __HIP_MEMORY_SCOPE_AGENT;                                               \
    return call;                                                                                  \
  }                                                                                               \
  PORTMP_DEVICE T name##_system(T* p, T x) {                                                      \
    constexpr int scope = __HIP_MEMORY_SCOPE_SYSTEM;                                              \
    return call;                                                                                  \
  }
#define PORTMP_FETCH(operation, x) __hip_atomic_##operation(p, x, __ATOMIC_RELAXED, scope)
#define PORTMP_ORDERS(T)                                                                          \
  PORTMP_ATOMIC(atomicMin, T, PORTMP_FETCH(fetch_min, x))                                         \
  PORTMP_ATOMIC(atomicMax, T, PORTMP_FETCH(fetch_max, x))
#define PORTMP_NUMBERS(T)                                                                         \
  PORTMP_ORDERS(T)                                                                                \
  PORTMP_ATOMIC(atomicAdd, T, PORTMP_FETCH(fetch_add, x))                                         \
  PORTMP_ATOMIC(atomicSub, T, PORTMP_FETCH(fetch_add, -x))                                        \
  PORTMP_ATOMIC(atomicExch, T, PORTMP_FETCH(exchange, x))                                         \
  PORTMP_SWAP(atomicCAS, T, __HIP_MEMORY_SCOPE_AGENT)                                             \
  PORTMP_SWAP(atomicCAS_system, T, __HIP_MEMORY_SCOPE_SYSTEM)
#define PORTMP_SWAP(name, T, scope)                                                               \
  PORTMP_DEVICE T name(T* p, T expected, T x) {                                                   \
    __hip_atomic_compare_exchange_strong(p, &expected, x, __ATOMIC_RELAXED, __ATOMIC_RELAXED,     \
                                         scope);                                                  \
    return expected;                                                                              \
  }
#define PORTMP_BITS(T)                                                                            \
  PORTMP_NUMBERS(T)                                                                               \
  PORTMP_ATOMIC(atomicAnd, T, PORTMP_FETCH(fetch_and, x))                                         \
  PORTMP_ATOMIC(atomicOr, T, PORTMP_FETCH(fetch_or, x))                                           \
  PORTMP_ATOMIC(atomicXor, T, PORTMP_FETCH(fetch_xor, x))
PORTMP_BITS(int)
PORTMP_BITS(unsigned)
PORTMP_BITS(unsigned long)
PORTMP_BITS(unsigned long long)
PORTMP_NUMBERS(float)
PORTMP_NUMBERS(double)
PORTMP_ORDERS(long long)  // since ROCm 5.3
PORTMP_DEVICE unsigned atomicInc(unsigned* p, unsigned last) {
  return __builtin_amdgcn_atomic_inc32(p, last, __ATOMIC_RELAXED, "agent");
}
PORTMP_DEVICE unsigned atomicDec(unsigned* p, unsigned last) {
  return __builtin_amdgcn_atomic_dec32(p, last, __ATOMIC_RELAXED, "agent");
}
#undef PORTMP_BITS
#undef PORTMP_SWAP
#undef PORTMP_NUMBERS
#undef PORTMP_ORDERS
#undef PORTMP_FETCH
#undef PORTMP_ATOMIC

template <class T>
PORTMP_DEVICE T __ldg(const T* p) {
  return *p;
}

// --- bits ------------------------------------------------------------------------------------


PORTMP_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
PORTMP_DEVICE int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
// The language's built-in functions leave zero undefined.
PORTMP_DEVICE int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
PORTMP_DEVICE int __clzll(unsigned long long x) {
  return x ? __builtin_clzll(x) : 64;
}
PORTMP_DEVICE int __ffs(unsigned x) { return x ? __builtin_ctz(x) + 1 : 0; }
PORTMP_DEVICE int __ffs(int x) { return __ffs((unsigned)x); }
PORTMP_DEVICE int __ffsll(unsigned long long x) { return x ? __builtin_ctzll(x) + 1 : 0; }
PORTMP_DEVICE int __ffsll(long long x) { return __ffsll((unsigned long long)x); }
PORTMP_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
PORTMP_DEVICE unsigned long long __brevll(unsigned long long x) {
  return __builtin_bitreverse64(x);
}
// Four bits of the selector say which of the eight bytes of y and x; the instruction takes eight.
PORTMP_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  return __builtin_amdgcn_perm(
      y, x, (s & 0x7) | (s & 0x70) << 4 | (s & 0x700) << 8 | (s & 0x7000) << 12);
}
#define PORTMP_FUNNEL(name, amount, expression)                                                   \
  PORTMP_DEVICE unsigned name(unsigned low, unsigned high, unsigned shift) {                      \
    const unsigned long long both = (unsigned long long)high << 32 | low;                         \
    shift = amount;                                                                               \
    return (unsigned)(expression);                                                                \
  }
PORTMP_FUNNEL(__funnelshift_l, shift & 31, both << shift >> 32)
PORTMP_FUNNEL(__funnelshift_lc, shift < 32 ? shift : 32, both << shift >> 32)
PORTMP_FUNNEL(__funnelshift_r, shift & 31, both >> shift)
PORTMP_FUNNEL(__funnelshift_rc, shift < 32 ? shift : 32, both >> shift)
#undef PORTMP_FUNNEL
#define PORTMP_HIGH(name, T, wide)                                                                \
  PORTMP_DEVICE T name(T x, T y) { return (T)(((wide)x * y) >> 8 * sizeof(T)); }
PORTMP_HIGH(__mulhi, int, long long)
PORTMP_HIGH(__umulhi, unsigned, unsigned long long)
PORTMP_HIGH(__mul64hi, long long, __int128)
PORTMP_HIGH(__umul64hi, unsigned long long, unsigned __int128)
#undef PORTMP_HIGH
// Products of the low 24 bits.
PORTMP_DEVICE int __mul24(int x, int y) {
  return (int)((unsigned)((int)((unsigned)x << 8) >> 8) * ((int)((unsigned)y << 8) >> 8));
}
PORTMP_DEVICE int __umul24(unsigned x, unsigned y) {
  return (int)((x & 0xffffff) * (y & 0xffffff));
}

#define PORTMP_CAST(name, from, to) \
  PORTMP_DEVICE to name(from x) { return __builtin_bit_cast(to, x); }
PORTMP_CAST(__float_as_int, float, int)
PORTMP_CAST(__int_as_float, int, float)
PORTMP_CAST(__float_as_uint, float, unsigned)
PORTMP_CAST(__uint_as_float, unsigned, float)
PORTMP_CAST(__double_as_longlong, double, long long)
PORTMP_CAST(__longlong_as_double, long long, double)
#undef PORTMP_CAST

// --- numbers: one instruction, or a few -------------------------------------------------------

namespace portmp_prelude {

template <bool>
struct only_if {};
template <>
struct only_if<true> {
  typedef double real;  // what functions make of integers, and of floats beside doubles
};
template <class T, class U = T>
using mixed = typename only_if<__is_arithmetic(T) && __is_arithmetic(U)>::real;

}  // namespace portmp_prelude

#define PORTMP_ONE(name, of_double, of_float)                                                     \
  PORTMP_DEVICE double name(double x) { return of_double(x); }                                    \
  PORTMP_DEVICE float name(float x) { return of_float(x); }                                       \
  PORTMP_DEVICE float name##f(float x) { return of_float(x); }                                    \
  template <class T>                                                                              \
  PORTMP_DEVICE portmp_prelude::mixed<T> name(T x) {                                              \
    return name((double)x);                                                                       \
  }
#define PORTMP_TWO(name, of_double, of_float)                                                     \
  PORTMP_DEVICE double name(double x, double y) { return of_double(x, y); }                       \
  PORTMP_DEVICE float name(float x, float y) { return of_float(x, y); }                           \
  PORTMP_DEVICE float name##f(float x, float y) { return of_float(x, y); }                        \
  template <class T, class U>                                                                     \
  PORTMP_DEVICE portmp_prelude::mixed<T, U> name(T x, U y) {                                      \
    return name((double)x, (double)y);                                                            \
  }
#define PORTMP_SCALED(name)                                                                       \
  PORTMP_DEVICE double name(double x, int n) { return __builtin_ldexp(x, n); }                    \
  PORTMP_DEVICE float name(float x, int n) { return __builtin_ldexpf(x, n); }                     \
  PORTMP_DEVICE float name##f(float x, int n) { return __builtin_ldexpf(x, n); }
PORTMP_ONE(sqrt, __builtin_sqrt, __builtin_sqrtf)
PORTMP_ONE(fabs, __builtin_fabs, __builtin_fabsf)
PORTMP_ONE(floor, __builtin_floor, __builtin_floorf)
PORTMP_ONE(ceil, __builtin_ceil, __builtin_ceilf)
PORTMP_ONE(trunc, __builtin_trunc, __builtin_truncf)
PORTMP_ONE(round, __builtin_round, __builtin_roundf)
PORTMP_ONE(rint, __builtin_rint, __builtin_rintf)
PORTMP_ONE(nearbyint, __builtin_rint, __builtin_rintf)
PORTMP_TWO(fmin, __builtin_fmin, __builtin_fminf)
PORTMP_TWO(fmax, __builtin_fmax, __builtin_fmaxf)
PORTMP_TWO(copysign, __builtin_copysign, __builtin_copysignf)
PORTMP_SCALED(ldexp)
PORTMP_SCALED(scalbn)
#undef PORTMP_SCALED

PORTMP_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
PORTMP_DEVICE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
PORTMP_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

#define PORTMP_PARTS(T, f)                                                                        \
  PORTMP_DEVICE T frexp##f(T x, int* exponent) { return __builtin_frexp##f(x, exponent); }        \
  PORTMP_DEVICE T modf##f(T x, T* whole) {                                                        \
    *whole = __builtin_trunc##f(x);                                                               \
    return __builtin_copysign##f(__builtin_isinf(x) ? 0 : x - *whole, x);                         \
  }
PORTMP_PARTS(double, )
PORTMP_PARTS(float, f)
#undef PORTMP_PARTS
PORTMP_DEVICE float frexp(float x, int* exponent) { return frexpf(x, exponent); }
PORTMP_DEVICE float modf(float x, float* whole) { return modff(x, whole); }

#define PORTMP_TEST(name, test)                                                                   \
  PORTMP_DEVICE bool name(double x) { return test(x); }                                           \
  PORTMP_DEVICE bool name(float x) { return test(x); }
PORTMP_TEST(isnan, __builtin_isnan)
PORTMP_TEST(isinf, __builtin_isinf)
PORTMP_TEST(isfinite, __builtin_isfinite)
PORTMP_TEST(signbit, __builtin_signbit)
#undef PORTMP_TEST

PORTMP_DEVICE int abs(int x) { return x < 0 ? -x : x; }
PORTMP_DEVICE long abs(long x) { return x < 0 ? -x : x; }
PORTMP_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
PORTMP_DEVICE double abs(double x) { return __builtin_fabs(x); }
PORTMP_DEVICE float abs(float x) { return __builtin_fabsf(x); }
PORTMP_DEVICE long labs(long x) { return abs(x); }
PORTMP_DEVICE long long llabs(long long x) { return abs(x); }

// Of numbers of two types, in the type of their sum.
#define PORTMP_EXTREMUM(name, op)                                                                 \
  template <class T, class U, class = portmp_prelude::mixed<T, U>>                                \
  PORTMP_DEVICE auto name(T x, U y) -> decltype(x + y) {                                          \
    typedef decltype(x + y) sum;                                                                  \
    if constexpr (__is_floating_point(sum))                                                       \
      return f##name((sum)x, (sum)y);                                                             \
    else                                                                                          \
      return (sum)x op(sum) y ? x : y;                                                            \
  }
PORTMP_EXTREMUM(min, <)
PORTMP_EXTREMUM(max, >)
#undef PORTMP_EXTREMUM

// One operation, rounded to nearest: the compiler contracts nothing.
#define PORTMP_ROUNDED(T, f, d)                                                                   \
  PORTMP_DEVICE T __##d##add_rn(T x, T y) { return x + y; }                                       \
  PORTMP_DEVICE T __##d##sub_rn(T x, T y) { return x - y; }                                       \
  PORTMP_DEVICE T __##d##mul_rn(T x, T y) { return x * y; }                                       \
  PORTMP_DEVICE T __##d##div_rn(T x, T y) { return x / y; }                                       \
  PORTMP_DEVICE T __##d##sqrt_rn(T x) { return __builtin_sqrt##f(x); }                            \
  PORTMP_DEVICE T __##d##rcp_rn(T x) { return 1 / x; }                                            \
  PORTMP_DEVICE T __fma##f##_rn(T x, T y, T z) { return __builtin_fma##f(x, y, z); }
PORTMP_ROUNDED(float, f, f)
PORTMP_ROUNDED(double, , d)
#undef PORTMP_ROUNDED
PORTMP_DEVICE float __fdividef(float x, float y) { return x / y; }
PORTMP_DEVICE float fdividef(float x, float y) { return x / y; }
PORTMP_DEVICE float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

// To integers, by each way to round; from integers, and to float, to nearest.
#define PORTMP_WAYS(name, from, to)                                                               \
  PORTMP_DEVICE to name##_rn(from x) { return (to)rint(x); }                                      \
  PORTMP_DEVICE to name##_rz(from x) { return (to)x; }                                            \
  PORTMP_DEVICE to name##_rd(from x) { return (to)floor(x); }                                     \
  PORTMP_DEVICE to name##_ru(from x) { return (to)ceil(x); }
#define PORTMP_CONVERSIONS(T, name)                                                               \
  PORTMP_WAYS(__float2##name, float, T)                                                           \
  PORTMP_WAYS(__double2##name, double, T)                                                         \
  PORTMP_DEVICE float __##name##2float_rn(T x) { return (float)x; }                               \
  PORTMP_DEVICE double __##name##2double_rn(T x) { return (double)x; }
PORTMP_CONVERSIONS(int, int)
PORTMP_CONVERSIONS(unsigned, uint)
PORTMP_CONVERSIONS(long long, ll)
PORTMP_CONVERSIONS(unsigned long long, ull)
#undef PORTMP_CONVERSIONS
#undef PORTMP_WAYS
PORTMP_DEVICE float __double2float_rn(double x) { return (float)x; }
#define PORTMP_WHOLE(name, T, way)                                                                \
  PORTMP_DEVICE T name(double x) { return (T)way(x); }                                            \
  PORTMP_DEVICE T name##f(float x) { return (T)way(x); }
PORTMP_WHOLE(lrint, long, rint)
PORTMP_WHOLE(llrint, long long, rint)
PORTMP_WHOLE(lround, long, round)
PORTMP_WHOLE(llround, long long, round)
#undef PORTMP_WHOLE

PORTMP_DEVICE int __double2hiint(double x) {
  return (int)(__builtin_bit_cast(unsigned long long, x) >> 32);
}
PORTMP_DEVICE int __double2loint(double x) {
  return (int)__builtin_bit_cast(unsigned long long, x);
}
PORTMP_DEVICE double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, (unsigned long long)(unsigned)high << 32 | (unsigned)low);
}

// Inexact roots: the bare instruction; with subnormals scaled; in float64 refined by one step.
PORTMP_DEVICE float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }
PORTMP_DEVICE float rsqrtf(float x) {
  const bool small = x < 0x1p-126f;
  return __builtin_amdgcn_rsqf(x * (small ? 0x1p24f : 1.0f)) * (small ? 0x1p12f : 1.0f);
}
PORTMP_DEVICE double rsqrt(double x) {
  const double y = __builtin_amdgcn_rsq(x), e = __builtin_fma(-(x * y), y, 1.0);
  return __builtin_fma(y * e, __builtin_fma(0.375, e, 0.5), y);
}

// --- the library: functions whose last bits are AMD's -----------------------------------------

#define PORTMP_LIBRARY(name, ...)                                                                 \
  extern "C" __device__ double __ocml_##name##_f64(__VA_ARGS__(double));                          \
  extern "C" __device__ float __ocml_##name##_f32(__VA_ARGS__(float));
#define PORTMP_ARGUMENT(T) T
#define PORTMP_ARGUMENTS(T) T, T
#define PORTMP_LIBRARY_ONE(name)                                                                  \
  PORTMP_LIBRARY(name, PORTMP_ARGUMENT)                                                           \
  PORTMP_ONE(name, __ocml_##name##_f64, __ocml_##name##_f32)
#define PORTMP_LIBRARY_TWO(name)                                                                  \
  PORTMP_LIBRARY(name, PORTMP_ARGUMENTS)                                                          \
  PORTMP_TWO(name, __ocml_##name##_f64, __ocml_##name##_f32)
// What C does not have: of a float, too, in float64.
#define PORTMP_LIBRARY_OWN(name)                                                                  \
  PORTMP_LIBRARY(name, PORTMP_ARGUMENT)                                                           \
  PORTMP_DEVICE double name(double x) { return __ocml_##name##_f64(x); }                          \
  PORTMP_DEVICE float name##f(float x) { return __ocml_##name##_f32(x); }
PORTMP_LIBRARY_ONE(exp)
PORTMP_LIBRARY_ONE(exp2)
PORTMP_LIBRARY_ONE(expm1)
PORTMP_LIBRARY_ONE(log)
PORTMP_LIBRARY_ONE(log2)
PORTMP_LIBRARY_ONE(log10)
PORTMP_LIBRARY_ONE(log1p)
PORTMP_LIBRARY_ONE(logb)
PORTMP_LIBRARY_ONE(sin)
PORTMP_LIBRARY_ONE(cos)
PORTMP_LIBRARY_ONE(tan)
PORTMP_LIBRARY_ONE(asin)
PORTMP_LIBRARY_ONE(acos)
PORTMP_LIBRARY_ONE(atan)
PORTMP_LIBRARY_ONE(sinh)
PORTMP_LIBRARY_ONE(cosh)
PORTMP_LIBRARY_ONE(tanh)
PORTMP_LIBRARY_ONE(asinh)
PORTMP_LIBRARY_ONE(acosh)
PORTMP_LIBRARY_ONE(atanh)
PORTMP_LIBRARY_ONE(cbrt)
PORTMP_LIBRARY_ONE(erf)
PORTMP_LIBRARY_ONE(erfc)
PORTMP_LIBRARY_ONE(tgamma)
PORTMP_LIBRARY_ONE(lgamma)
PORTMP_LIBRARY_OWN(exp10)
PORTMP_LIBRARY_OWN(sinpi)
PORTMP_LIBRARY_OWN(cospi)
PORTMP_LIBRARY_OWN(rcbrt)
PORTMP_LIBRARY_OWN(erfcx)
PORTMP_LIBRARY_TWO(pow)
PORTMP_LIBRARY_TWO(fmod)
PORTMP_LIBRARY_TWO(remainder)
PORTMP_LIBRARY_TWO(atan2)
PORTMP_LIBRARY_TWO(hypot)
PORTMP_LIBRARY_TWO(fdim)
PORTMP_LIBRARY_TWO(nextafter)
#undef PORTMP_LIBRARY_OWN
#undef PORTMP_LIBRARY_TWO
#undef PORTMP_LIBRARY_ONE
#undef PORTMP_LIBRARY
#undef PORTMP_ARGUMENTS
#undef PORTMP_ARGUMENT
#undef PORTMP_TWO
#undef PORTMP_ONE

extern "C" __device__ int __ocml_ilogb_f64(double);
extern "C" __device__ int __ocml_ilogb_f32(float);
PORTMP_DEVICE int ilogb(double x) { return __ocml_ilogb_f64(x); }
PORTMP_DEVICE int ilogb(float x) { return __ocml_ilogb_f32(x); }
PORTMP_DEVICE int ilogbf(float x) { return __ocml_ilogb_f32(x); }
PORTMP_DEVICE void sincos(double x, double* sine, double* cosine) {
  *sine = sin(x), *cosine = cos(x);
}
PORTMP_DEVICE void sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x), *cosine = cosf(x);
}
PORTMP_DEVICE float __powf(float x, float y) { return powf(x, y); }
PORTMP_DEVICE float __tanf(float x) { return tanf(x); }
#define PORTMP_NATIVE(name)                                                                       \
  extern "C" __device__ float __ocml_native_##name##_f32(float);                                  \
  PORTMP_DEVICE float __##name##f(float x) { return __ocml_native_##name##_f32(x); }
PORTMP_NATIVE(exp)
PORTMP_NATIVE(exp10)
PORTMP_NATIVE(log)
PORTMP_NATIVE(log2)
PORTMP_NATIVE(log10)
PORTMP_NATIVE(sin)
PORTMP_NATIVE(cos)
#undef PORTMP_NATIVE

// Barriers that tell of how many, of all or of any thread of the block a number is not zero.
#define PORTMP_MEETING(name, operation)                                                           \
  extern "C" __device__ int __ockl_wgred_##operation##_i32(int);                                  \
  PORTMP_DEVICE int __syncthreads_##name(int x) { return __ockl_wgred_##operation##_i32(!!x); }
PORTMP_MEETING(count, add)
PORTMP_MEETING(and, and)
PORTMP_MEETING(or, or)
#undef PORTMP_MEETING
#undef PORTMP_DEVICE

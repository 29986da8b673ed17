/* CUDA's warps of 32 lanes on AMD's waves of 64 and of 32: written by portmp port --hip.

   A wave of 64 lanes counts as two warps. Functions of warps are called cuda_... here, with the
   arguments of CUDA's; masks and ballots have 32 bits and are about the warp that a thread is in. As in
   CUDA, all lanes that a mask names must reach a call. The host is told of 32 lanes too. */
#ifndef PORTMP_CUDA_WARPS_H
#define PORTMP_CUDA_WARPS_H

#include <hip/hip_runtime.h>

enum { cuda_warp_size = 32 };

static __device__ inline unsigned cuda_activemask()
{
    return (unsigned)(__ballot(1) >> (__lane_id() / 32 * 32));
}

static __device__ inline unsigned cuda_ballot_sync(unsigned mask, int predicate)
{
    return (unsigned)(__ballot(predicate) >> (__lane_id() / 32 * 32)) & mask;
}

static __device__ inline int cuda_any_sync(unsigned mask, int predicate)
{
    return cuda_ballot_sync(mask, predicate) != 0;
}

static __device__ inline int cuda_all_sync(unsigned mask, int predicate)
{
    return cuda_ballot_sync(mask, !predicate) == 0;
}

/* What a value is as a number: before ROCm 6 threadIdx.x is an empty structure in HIP. */
template <typename T, bool is_coordinate> struct cuda_number_if {
    using type = T;
};
template <typename T> struct cuda_number_if<T, true> {
    using type = unsigned;
};
template <typename T> struct cuda_number_of : cuda_number_if<T, __is_empty(T)> {};
template <typename T> using cuda_number = typename cuda_number_of<T>::type;

/* Also of types that HIP's shuffles do not take, such as half and half2. */
template <typename T, typename F> static __device__ inline T cuda_by_words(T value, F shuffled)
{
    int words[(sizeof(T) + 3) / 4] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (int &word : words)
        word = shuffled(word);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}

template <typename T>
static __device__ inline cuda_number<T> cuda_shfl_sync(unsigned, T value, int lane, int width = 32)
{
    const auto by_lanes = [=](int word) { return __shfl(word, lane & (width - 1), width); };
    return cuda_by_words<cuda_number<T>>(value, by_lanes);
}

template <typename T>
static __device__ inline cuda_number<T> cuda_shfl_up_sync(unsigned, T value, unsigned by,
                                                          int width = 32)
{
    const auto by_lanes = [=](int word) { return __shfl_up(word, by, width); };
    return cuda_by_words<cuda_number<T>>(value, by_lanes);
}

template <typename T>
static __device__ inline cuda_number<T> cuda_shfl_down_sync(unsigned, T value, unsigned by,
                                                            int width = 32)
{
    const auto by_lanes = [=](int word) { return __shfl_down(word, by, width); };
    return cuda_by_words<cuda_number<T>>(value, by_lanes);
}

template <typename T>
static __device__ inline cuda_number<T> cuda_shfl_xor_sync(unsigned, T value, int bits,
                                                           int width = 32)
{
    const auto by_lanes = [=](int word) { return __shfl_xor(word, bits, width); };
    return cuda_by_words<cuda_number<T>>(value, by_lanes);
}

static __device__ inline unsigned cuda_ballot(int predicate)
{
    return cuda_ballot_sync(0xffffffffu, predicate);
}

static __device__ inline int cuda_any(int predicate) { return cuda_ballot(predicate) != 0; }

static __device__ inline int cuda_all(int predicate) { return cuda_ballot(!predicate) == 0; }

template <typename T>
static __device__ inline cuda_number<T> cuda_shfl(T value, int lane, int width = 32)
{
    return cuda_shfl_sync(0xffffffffu, value, lane, width);
}

template <typename T>
static __device__ inline cuda_number<T> cuda_shfl_up(T value, unsigned by, int width = 32)
{
    return cuda_shfl_up_sync(0xffffffffu, value, by, width);
}

template <typename T>
static __device__ inline cuda_number<T> cuda_shfl_down(T value, unsigned by, int width = 32)
{
    return cuda_shfl_down_sync(0xffffffffu, value, by, width);
}

template <typename T>
static __device__ inline cuda_number<T> cuda_shfl_xor(T value, int bits, int width = 32)
{
    return cuda_shfl_xor_sync(0xffffffffu, value, bits, width);
}

static __device__ inline void cuda_syncwarp(unsigned = 0xffffffffu)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/* By their bits, as CUDA compares floats too. */
template <typename T> static __device__ inline unsigned cuda_match_any_sync(unsigned mask, T value)
{
    const cuda_number<T> number = value;
    static_assert(sizeof(number) <= 8, "CUDA matches numbers of 4 and 8 bytes");
    long long mine = 0;
    __builtin_memcpy(&mine, &number, sizeof(number));
    unsigned same = 0;
    for (int lane = 0; lane < 32; ++lane)
        same |= (unsigned)(cuda_shfl(mine, lane) == mine) << lane;
    return same & mask;
}

template <typename T>
static __device__ inline unsigned cuda_match_all_sync(unsigned mask, T value, int *all)
{
    *all = cuda_match_any_sync(mask, value) == mask;
    return *all ? mask : 0;
}

#define CUDA_REDUCTION(name, expression)                                                           \
    template <typename T>                                                                          \
    static __device__ inline cuda_number<T> cuda_reduce_##name##_sync(unsigned mask, T x)          \
    {                                                                                              \
        const int first = __ffs((int)mask) - 1;                                                    \
        cuda_number<T> a = cuda_shfl(x, first);                                                    \
        for (int lane = first + 1; lane < 32; ++lane) {                                            \
            const cuda_number<T> b = cuda_shfl(x, lane);                                           \
            if (mask >> lane & 1)                                                                  \
                a = expression;                                                                    \
        }                                                                                          \
        return a;                                                                                  \
    }
CUDA_REDUCTION(add, a + b)
CUDA_REDUCTION(min, b < a ? b : a)
CUDA_REDUCTION(max, a < b ? b : a)
CUDA_REDUCTION(and, a & b)
CUDA_REDUCTION(or, a | b)
CUDA_REDUCTION(xor, a ^ b)
#undef CUDA_REDUCTION

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H) && !defined(__HIPCC_RTC__)
static inline hipError_t cuda_get_device_properties(hipDeviceProp_t *found, int device)
{
    const hipError_t status = hipGetDeviceProperties(found, device);
    found->warpSize = cuda_warp_size;
    return status;
}

static inline hipError_t cuda_device_get_attribute(int *found, hipDeviceAttribute_t of, int device)
{
    const hipError_t status = hipDeviceGetAttribute(found, of, device);
    if (of == hipDeviceAttributeWarpSize && status == hipSuccess)
        *found = cuda_warp_size;
    return status;
}
#endif

static __device__ inline void cuda_nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }

#endif

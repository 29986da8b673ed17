/* CUDA's collective functions of cooperative groups, which HIP has not: written by portmp port --hip.

   Reductions and scans of tiles and of coalesced groups, by the shuffles that HIP's groups have. All
   threads of the group must reach a call, as in CUDA. */
#ifndef PORTMP_CUDA_GROUPS_H
#define PORTMP_CUDA_GROUPS_H

#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>

namespace cooperative_groups {

/* The threads of a half of a wave: a coalesced group has 32 threads at most, as CUDA's. */
struct cuda_half_of_group : coalesced_group {
    __device__ explicit cuda_half_of_group(lane_mask members) : coalesced_group(members) {}
};

static __device__ inline coalesced_group cuda_coalesced_threads()
{
    const unsigned first = __lane_id() / 32 * 32;
    return cuda_half_of_group(__builtin_amdgcn_read_exec() & (lane_mask)0xffffffffu << first);
}

#define CUDA_OPERATION(name, expression)                                                           \
    template <typename T> struct name {                                                            \
        __device__ T operator()(T a, T b) const { return expression; }                             \
    };
CUDA_OPERATION(plus, a + b)
CUDA_OPERATION(less, b < a ? b : a)
CUDA_OPERATION(greater, a < b ? b : a)
CUDA_OPERATION(bit_and, a & b)
CUDA_OPERATION(bit_or, a | b)
CUDA_OPERATION(bit_xor, a ^ b)
#undef CUDA_OPERATION

template <typename G, typename T, typename F>
static __device__ inline T reduce(const G &group, T value, F operation)
{
    T all = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.size(); ++rank)
        all = operation(all, group.shfl(value, rank));
    return all;
}

template <unsigned int N, typename P, typename T, typename F>
static __device__ inline T reduce(const thread_block_tile<N, P> &tile, T value, F operation)
{
    for (unsigned bit = N / 2; bit > 0; bit /= 2)
        value = operation(value, tile.shfl_xor(value, bit));
    return value;
}

template <typename G, typename T, typename F>
static __device__ inline T inclusive_scan(const G &group, T value, F operation)
{
    const unsigned mine = group.thread_rank();
    T all = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.size(); ++rank) {
        const T next = group.shfl(value, rank);
        if (rank <= mine)
            all = operation(all, next);
    }
    return all;
}

template <typename G, typename T> static __device__ inline T inclusive_scan(const G &group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}

template <typename G, typename T, typename F>
static __device__ inline T exclusive_scan(const G &group, T value, F operation)
{
    const T all = inclusive_scan(group, value, operation);
    const unsigned mine = group.thread_rank();
    const T before = group.shfl(all, mine ? mine - 1 : 0);
    return mine ? before : T();
}

template <typename G, typename T> static __device__ inline T exclusive_scan(const G &group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups

#endif

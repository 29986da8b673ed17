// Heads with branches in them, methods with qualifiers, an include of kernels.
#ifndef BRANCHES_CU
#define BRANCHES_CU
#include <cooperative_groups.h>
#include "parameters.cuh"
namespace cg = cooperative_groups;
class Box {
    float2 low, high;
  public:
    __host__ __device__ Box() : low(make_float2(0.f, 0.f)), high() {}
    __host__ __device__ __forceinline__ bool holds(const float2 &p) const { return p.x >= low.x && p.x < high.x; } // expect-opencl: language/references
};
__global__ static void encode(unsigned int *data,
#ifdef TESTING
                              unsigned int *words, unsigned int *lengths,
#endif
                              unsigned int *out)
{
    unsigned int k = threadIdx.x;
    extern __shared__ unsigned int sm[];
#ifdef CACHED
    unsigned int *as = sm + 256;
    sm[k] = data[k];
    __syncthreads();
#else
    unsigned int *as = sm;
#endif
    as[k] = data[k] / 32;
    atomicOr(&as[k % 32], 1u << (k & 7));
    __syncthreads();
    out[k] = as[k];
}
template <int THREADS> // expect-opencl: language/templates
__global__ void build(const Box *boxes, const float2 *points, int *counts, int n)
{
    cg::thread_block block = cg::this_thread_block();
    const int WARPS = THREADS / warpSize;
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    int below = (1 << lane) - 1; // expect: warps/lane-mask
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int count = 0;
    for (int i = tile.thread_rank(); tile.any(i < n); i += warpSize) { // expect: warps/group-members
        int votes = tile.ballot(i < n && boxes[0].holds(points[i])); // expect: warps/group-members
        count += __popc(votes & below);
        count += tile.shfl(__popc(votes), 0);
    }
    cg::sync(block);
    if (tile.meta_group_rank() == 0 && lane < WARPS) // expect: warps/group-members
        counts[warp] = count;
    asm("" ::: "memory");
}
#endif

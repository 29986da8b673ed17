// Histogram by groups of equal keys, sums by hardware, and an aggregated counter.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#define FULL_MASK 0xffffffffu
static constexpr int WARP_SIZE = 32; // expect: warps/hard-coded-32
__device__ __forceinline__ unsigned lane_id() { unsigned r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; } // expect: warps/lane-id
__device__ __forceinline__ unsigned lanemask_lt() { unsigned r; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r)); return r; } // expect: warps/lane-id
__device__ int aggregated_add(int *counter)
{
    unsigned active = __activemask(); // expect: warps/activemask, warps/ballot-64-bits
    int leader = __ffs(active) - 1; // expect: warps/popc-of-ballot
    int base = 0;
    if (lane_id() == leader)
        base = atomicAdd(counter, __popc(active)); // expect: warps/popc-of-ballot
    return __shfl_sync(active, base, leader) + __popc(active & lanemask_lt()); // expect: warps/mask-32-bits, warps/popc-of-ballot, warps/shuffle-width
}
__global__ void keys(const uint32_t *data, int n, int *histogram, int *counter, int *order)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned peers = __match_any_sync(__activemask(), data[i]); // expect: warps/mask-32-bits, warps/match-any, warps/activemask
        if ((threadIdx.x & (WARP_SIZE - 1)) == __ffs(peers) - 1) // expect: warps/hard-coded-32, warps/popc-of-ballot
            atomicAdd(&histogram[data[i]], __popc(peers)); // expect: warps/popc-of-ballot
        if (data[i] & 1)
            order[aggregated_add(counter)] = i;
    }
}
__global__ void sums(const int *x, int *out, int n)
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE; // expect: warps/hard-coded-32
    __shared__ int partial[WARP_SIZE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = __reduce_add_sync(FULL_MASK, i < n ? x[i] : 0); // expect: warps/reduce-sync
    if (lane == 0)
        partial[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / WARP_SIZE ? partial[lane] : 0; // expect: warps/hard-coded-32
        v = __reduce_add_sync(FULL_MASK, v); // expect: warps/reduce-sync
        if (lane == 0)
            atomicAdd(out, v);
    }
    int all;
    __match_all_sync(FULL_MASK, v, &all); // expect: warps/mask-32-bits, warps/match-any
    if (__all_sync(FULL_MASK, all) && lane == 0) // expect: warps/mask-32-bits
        __nanosleep(10); // expect: warps/independent-scheduling
    __syncwarp(); // expect: warps/syncwarp
}
int main()
{
    const int n = 100000;
    uint32_t *data; int *histogram, *counter, *order;
    cudaMalloc(&data, n * 4); cudaMalloc(&histogram, 1024); cudaMalloc(&counter, 8); cudaMalloc(&order, n * 4);
    cudaMemset(data, 1, n * 4); cudaMemset(histogram, 0, 1024); cudaMemset(counter, 0, 8);
    keys<<<80, 128>>>(data, n, histogram, counter, order);
    sums<<<(n + 1023) / 1024, 1024>>>((int *)data, counter + 1, n);
    int out[2];
    cudaMemcpy(out, counter, 8, cudaMemcpyDeviceToHost);
    printf("%d %d\n", out[0], out[1]);
}

// Increments gathered by address without match, group reductions over any group, a tree walked by warps.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda.h>
#define WARPSIZE 32 // expect: warps/hard-coded-32
#define MAXDEPTH 32
using namespace cooperative_groups;
__device__ int gathered(int *ptr)
{
    int mask;
    unsigned all = 0xFFFFFFFF;
    for (int i = 0; i < warpSize; i++) {
        unsigned long long other = __shfl_sync(all, (unsigned long long)ptr, i); // expect: warps/mask-32-bits
        unsigned mine = __ballot_sync(all, other == (unsigned long long)ptr); // expect: warps/mask-32-bits, warps/ballot-64-bits
        if (i == (threadIdx.x & (warpSize - 1)))
            mask = mine;
    }
    int leader = __ffs(mask) - 1, res; // expect: warps/popc-of-ballot
    unsigned lane = threadIdx.x % warpSize;
    if (lane == leader)
        res = atomicAdd(ptr, __popc(mask)); // expect: warps/popc-of-ballot
    res = __shfl_sync(mask, res, leader); // expect: warps/mask-32-bits
    return res + __popc(mask & ((1 << lane) - 1)); // expect: warps/popc-of-ballot, warps/lane-mask
}
__device__ int total(thread_group g, int *x, int val)
{
    int lane = g.thread_rank();
    for (int i = g.size() / 2; i > 0; i /= 2) {
        x[lane] = val;
        g.sync();
        if (lane < i)
            val += x[lane + i];
        g.sync();
    }
    return g.thread_rank() == 0 ? val : -1;
}
__global__ void walk(const int *__restrict__ children, volatile float4 *const __restrict mass, const float *dq, float *out, int n, int root)
{
    extern __shared__ int pos[];
    __shared__ int node[256 / WARPSIZE];
    thread_block block = this_thread_block();
    thread_block_tile<16> tile = tiled_partition<16>(block);
    int base = threadIdx.x / WARPSIZE; // expect: warps/hard-coded-32
    int sbase = base * WARPSIZE, diff = threadIdx.x - sbase;
    for (int k = threadIdx.x + blockIdx.x * blockDim.x; k < n; k += blockDim.x * gridDim.x) {
        int depth = base * MAXDEPTH;
        if (sbase == threadIdx.x) {
            pos[base] = 0;
            node[base] = root * 8;
        }
        __syncwarp(); // expect: warps/syncwarp
        float a = 0;
        while (depth >= base * MAXDEPTH && pos[base] < 8) {
            int c = children[node[base] + pos[base]];
            __syncwarp(); // expect: warps/syncwarp
            if (diff == 0)
                pos[base]++;
            __syncwarp(); // expect: warps/syncwarp
            float d = mass[c < 0 ? 0 : c].x - a + 1e-6; // expect: language/literals
            if (c < n || __all_sync(0xffffffff, d >= dq[depth])) // expect: warps/mask-32-bits
                a += rsqrtf(d) * mass[c < 0 ? 0 : c].w;
        }
        out[k] = a;
    }
    out[0] = total(tile, pos + block.thread_rank() - tile.thread_rank(), tile.shfl_down(1, 2));
}
__global__ void count(int *d) { gathered(d + threadIdx.x % 32); }
int main()
{
    int *d;
    cudaMalloc(&d, 128);
    count<<<32, 256>>>(d);
    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemAccessDesc desc = {};
    desc.location.type = cudaMemLocationTypeDevice;
    desc.flags = cudaMemAccessFlagsProtReadWrite;
    unsigned long long keep = 1 << 20;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
    cudaMemPoolSetAccess(pool, &desc, 1);
    printf("%d\n", cudaDeviceSynchronize());
}

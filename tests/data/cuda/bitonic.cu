// Bitonic sort of keys and values: steps within a warp by shuffles, within a block in shared
// memory, beyond it in global memory. The order is a template parameter.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

typedef unsigned int uint;

#define WARP_SIZE 32 // expect: warps/hard-coded-32
#define BLOCK 512
#define FULL_MASK 0xffffffffu

struct Less {
    __host__ __device__ bool operator()(uint a, uint b) const { return a < b; }
};
struct Greater {
    __host__ __device__ bool operator()(uint a, uint b) const { return a > b; }
};

template <class Compare> __device__ __forceinline__ void exchange(uint &a, uint &b, bool up) // expect-opencl: language/references, language/templates
{
    Compare before;
    if (before(b, a) == up) {
        const uint t = a;
        a = b;
        b = t;
    }
}

template <class Compare> // expect-opencl: language/templates
__device__ uint warp_sort(uint key)
{
    const int lane = threadIdx.x & (WARP_SIZE - 1); // expect: warps/hard-coded-32
    Compare before;
#pragma unroll
    for (int size = 2; size <= WARP_SIZE; size <<= 1)
#pragma unroll
        for (int stride = size / 2; stride > 0; stride >>= 1) {
            const uint other = __shfl_xor_sync(FULL_MASK, key, stride); // expect: warps/mask-32-bits
            const bool lower = (lane & stride) == 0;
            const bool up = (lane & size) == 0 || size == WARP_SIZE;
            if (before(other, key) == (lower == up) && other != key)
                key = other;
        }
    return key;
}

template <class Compare> __global__ void sort_warps(uint *keys) // expect-opencl: language/templates
{
    const uint i = blockIdx.x * blockDim.x + threadIdx.x;
    keys[i] = warp_sort<Compare>(keys[i]);
}

template <class Compare> __global__ void sort_blocks(uint *keys) // expect-opencl: language/templates
{
    extern __shared__ uint s[];
    const uint base = blockIdx.x * BLOCK * 2;
    s[threadIdx.x] = keys[base + threadIdx.x];
    s[threadIdx.x + BLOCK] = keys[base + threadIdx.x + BLOCK];
    for (uint size = 2; size <= 2 * BLOCK; size *= 2) {
        for (uint stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            const bool up = (threadIdx.x & (size / 2)) == 0 ||
                            (size == 2 * BLOCK && (blockIdx.x & 1) == 0);
            exchange<Compare>(s[pos], s[pos + stride],
                              size == 2 * BLOCK ? (blockIdx.x & 1) == 0 : up);
        }
    }
    __syncthreads();
    keys[base + threadIdx.x] = s[threadIdx.x];
    keys[base + threadIdx.x + BLOCK] = s[threadIdx.x + BLOCK];
}

template <class Compare> __global__ void merge_step(uint *keys, uint size, uint stride) // expect-opencl: language/templates
{
    const uint i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint pos = 2 * i - (i & (stride - 1));
    exchange<Compare>(keys[pos], keys[pos + stride], (i & (size / 2)) == 0);
}

template <class Compare> static bool test(uint n)
{
    uint *host = (uint *)malloc(n * sizeof(uint)), *keys;
    srand(7);
    for (uint i = 0; i < n; ++i)
        host[i] = rand() ^ (rand() << 16);
    cudaMalloc((void **)&keys, n * sizeof(uint));
    cudaMemcpy(keys, host, n * sizeof(uint), cudaMemcpyHostToDevice);
    sort_blocks<Compare><<<n / (2 * BLOCK), BLOCK, 2 * BLOCK * sizeof(uint)>>>(keys);
    for (uint size = 4 * BLOCK; size <= n; size *= 2)
        for (uint stride = size / 2; stride > 0; stride /= 2)
            merge_step<Compare><<<n / 2 / 256, 256>>>(keys, size, stride);
    cudaMemcpy(host, keys, n * sizeof(uint), cudaMemcpyDeviceToHost);
    bool right = cudaGetLastError() == cudaSuccess;
    Compare before;
    for (uint i = 1; i < n; ++i)
        right = right && !before(host[i], host[i - 1]);
    sort_warps<Compare><<<n / BLOCK, BLOCK>>>(keys);
    cudaMemcpy(host, keys, n * sizeof(uint), cudaMemcpyDeviceToHost);
    for (uint i = 1; i < n; ++i)
        right = right && (i % WARP_SIZE == 0 || !before(host[i], host[i - 1]));
    cudaFree(keys);
    free(host);
    return right;
}

int main(void)
{
    assert(WARP_SIZE == 32);
    const bool right = test<Less>(1 << 16) && test<Greater>(1 << 14);
    printf("%s\n", right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}

// A dot product by cooperative groups: tiles of 32 threads, with a collective function.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h> // expect: warps/cooperative-groups
#include <cstdio>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void dot(const float *a, const float *b, float *sum, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    float part = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        part += a[i] * b[i];
    part = cg::reduce(tile, part, cg::plus<float>()); // expect: warps/cooperative-groups
    if (tile.thread_rank() == 0)
        atomicAdd(sum, part); // expect: atomics/float-add
    block.sync();
}

int main()
{
    const int n = 4096;
    float *a, *b, *sum;
    cudaMallocManaged(&a, n * sizeof(float)); // expect: host/managed
    cudaMallocManaged(&b, n * sizeof(float)); // expect: host/managed
    cudaMallocManaged(&sum, sizeof(float)); // expect: host/managed
    for (int i = 0; i < n; ++i)
        a[i] = i % 4, b[i] = 1.0f;
    *sum = 0;
    dot<<<16, 128>>>(a, b, sum, n);
    cudaDeviceSynchronize();
    printf(*sum == 1.5f * n ? "PASSED\n" : "FAILED\n");
    return *sum != 1.5f * n;
}

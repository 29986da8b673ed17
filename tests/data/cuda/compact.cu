// Stream compaction: ranks from ballots, one atomic a warp.
#include <cstdio>
#include <cuda_runtime.h>

__device__ unsigned lane_id()
{
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)); // expect: warps/lane-id
    return lane;
}

__global__ void positive(const int *in, int *out, int *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned lane = threadIdx.x & (32 - 1); // expect: warps/hard-coded-32
    const bool keep = i < n && in[i] > 0;
    const unsigned votes = __ballot_sync(0xffffffff, keep); // expect: warps/mask-32-bits, warps/ballot-64-bits
    const int rank = __popc(votes & ((1u << lane) - 1)); // expect: warps/popc-of-ballot, warps/lane-mask
    const int leader = __ffs(votes) - 1; // expect: warps/popc-of-ballot
    int start = 0;
    if (lane_id() == leader)
        start = atomicAdd(count, __popc(votes)); // expect: warps/popc-of-ballot
    start = __shfl_sync(0xffffffff, start, leader < 0 ? 0 : leader); // expect: warps/mask-32-bits, warps/shuffle-width
    __syncwarp(); // expect: warps/syncwarp
    if (keep)
        out[start + rank] = in[i];
}

int main()
{
    const int n = 1000;
    int host[n], result[n], *in, *out, *count, found = 0, expected = 0;
    long long sum = 0, expected_sum = 0;
    for (int i = 0; i < n; ++i) {
        host[i] = i * 37 % 101 - 50;
        if (host[i] > 0)
            ++expected, expected_sum += host[i];
    }
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&count, sizeof(int));
    cudaMemset(count, 0, sizeof(int));
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    positive<<<8, 128>>>(in, out, count, n);
    cudaMemcpy(&found, count, sizeof found, cudaMemcpyDeviceToHost);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    for (int i = 0; i < found; ++i)
        sum += result[i];
    const bool right = found == expected && sum == expected_sum;
    printf(right ? "PASSED\n" : "FAILED\n");
    return !right;
}

// Inclusive prefix sums of a block: scans of warps, a scan of the warps' totals.
#include <cstdio>
#include <cuda_runtime.h>

__device__ int warp_scan(int value, int lane)
{
    for (int d = 1; d < 32; d <<= 1) {
        const int other = __shfl_up_sync(0xffffffffu, value, d); // expect: warps/mask-32-bits, warps/shuffle-width
        if (lane >= d)
            value += other;
    }
    return value;
}

__global__ void block_scan(const int *in, int *out)
{
    __shared__ int totals[32];
    const int tid = threadIdx.x;
    const int lane = tid & 31; // expect: warps/hard-coded-32
    const int warp = tid >> 5; // expect: warps/hard-coded-32
    int value = warp_scan(in[tid], lane);
    if (lane == 31)
        totals[warp] = value;
    __syncthreads();
    if (warp == 0)
        totals[lane] = warp_scan(lane < blockDim.x / 32 ? totals[lane] : 0, lane); // expect: warps/hard-coded-32
    __syncthreads();
    if (warp > 0)
        value += totals[warp - 1];
    out[tid] = value;
}

int main()
{
    const int n = 512;
    int host[n], result[n], *in, *out, wrong = 0, sum = 0;
    for (int i = 0; i < n; ++i)
        host[i] = i * i % 11;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    block_scan<<<1, n>>>(in, out);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i)
        wrong += result[i] != (sum += host[i]);
    printf(wrong ? "FAILED\n" : "PASSED\n");
    return wrong != 0;
}

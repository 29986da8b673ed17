// A reduction of the time before shuffles: the last warp without barriers, through volatile.
#include <cstdio>
#include <cuda_runtime.h>

template <unsigned int block> __device__ void last_warp(volatile double *sums, unsigned int tid) // expect-opencl: language/templates
{
    if (block >= 64) sums[tid] += sums[tid + 32]; // expect-opencl: synchronisation/volatile-warp
    sums[tid] += sums[tid + 16];
    sums[tid] += sums[tid + 8];
    sums[tid] += sums[tid + 4];
    sums[tid] += sums[tid + 2];
    sums[tid] += sums[tid + 1];
}

template <unsigned int block> __global__ void reduce(const double *in, double *total, int n) // expect-opencl: language/templates
{
    __shared__ double sums[block];
    const unsigned int tid = threadIdx.x;
    double sum = 0;
    for (int i = blockIdx.x * block + tid; i < n; i += gridDim.x * block)
        sum += in[i];
    sums[tid] = sum;
    __syncthreads();
    for (unsigned int d = block / 2; d > 32; d /= 2) {
        if (tid < d)
            sums[tid] += sums[tid + d];
        __syncthreads();
    }
    if (tid < 32)
        last_warp<block>(sums, tid);
#if __CUDA_ARCH__ >= 600 // expect: language/cuda-arch
    if (tid == 0)
        atomicAdd(total, sums[0]); // expect: atomics/double-add
#endif
}

int main()
{
    const int n = 5000;
    double host[n], result = 0, expected = 0, *in, *total;
    for (int i = 0; i < n; ++i)
        expected += host[i] = i % 9;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&total, sizeof(double));
    cudaMemset(total, 0, sizeof(double));
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    reduce<256><<<10, 256>>>(in, total, n);
    cudaThreadSynchronize();
    cudaMemcpy(&result, total, sizeof result, cudaMemcpyDeviceToHost);
    printf(result == expected ? "PASSED\n" : "FAILED\n");
    return result != expected;
}

// 256 bins by atomics in shared memory, added to the bins in device memory.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

const int BINS = 256;

__global__ void histogram(const unsigned char *data, unsigned int *bins, int n)
{
    __shared__ unsigned int local_bins[BINS];
    local_bins[threadIdx.x] = 0;
    __syncthreads();
    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&local_bins[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local_bins[threadIdx.x]);
}

int main()
{
    const int n = 1 << 18;
    unsigned char *data = new unsigned char[n], *device_data;
    unsigned int *device_bins, bins[BINS], expected[BINS] = {0}, wrong = 0;
    for (int i = 0; i < n; ++i) {
        data[i] = (unsigned char)(i * 2654435761u >> 13);
        ++expected[data[i]];
    }
    cudaMalloc((void **)&device_data, n);
    cudaMalloc((void **)&device_bins, sizeof bins);
    cudaMemcpy(device_data, data, n, cudaMemcpyHostToDevice);
    cudaMemset(device_bins, 0, sizeof bins);
    histogram<<<120, BINS>>>(device_data, device_bins, n);
    cudaMemcpy(bins, device_bins, sizeof bins, cudaMemcpyDeviceToHost);
    for (int b = 0; b < BINS; ++b)
        wrong += bins[b] != expected[b];
    printf(wrong ? "FAILED\n" : "PASSED\n");
    cudaFree(device_data);
    cudaFree(device_bins);
    delete[] data;
    return wrong != 0;
}

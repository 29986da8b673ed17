// Stencil in one dimension: weights in constant memory, a halo in dynamic shared memory.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define RADIUS 4

__constant__ float weights[2 * RADIUS + 1];

__global__ void stencil(const float *__restrict__ in, float *__restrict__ out, int n)
{
    extern __shared__ float tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int at = threadIdx.x + RADIUS;
    tile[at] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        tile[at - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        tile[at + blockDim.x] = i + blockDim.x < n ? in[i + blockDim.x] : 0.0f;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += weights[k + RADIUS] * tile[at + k];
    if (i < n)
        out[i] = 0.5 * sum; // expect: language/literals
}

int main()
{
    const int n = 10000, block = 256;
    const size_t bytes = (block + 2 * RADIUS) * sizeof(float);
    float w[2 * RADIUS + 1], *x = (float *)malloc(n * sizeof(float)), *a, *b;
    for (int k = 0; k <= 2 * RADIUS; ++k)
        w[k] = k + 1;
    for (int i = 0; i < n; ++i)
        x[i] = i % 16;
    cudaMemcpyToSymbol(weights, w, sizeof w);
    cudaFuncSetAttribute(stencil, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes); // expect: launch/shared-opt-in
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, x, n * sizeof(float), cudaMemcpyHostToDevice);
    stencil<<<(n + block - 1) / block, block, bytes>>>(a, b, n);
    float *y = (float *)malloc(n * sizeof(float));
    cudaMemcpy(y, b, n * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        float sum = 0;
        for (int k = -RADIUS; k <= RADIUS; ++k)
            sum += w[k + RADIUS] * (i + k >= 0 && i + k < n ? x[i + k] : 0.0f);
        wrong += y[i] != 0.5f * sum;
    }
    printf(wrong ? "FAILED\n" : "PASSED\n");
    return wrong != 0;
}

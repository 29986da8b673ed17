// Sum of an array: shuffles in a warp, one word a warp in shared memory.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define FULL_MASK 0xffffffff
#define WARP_SIZE 32 // expect: warps/hard-coded-32
#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

__inline__ __device__ int warp_sum(int value)
{
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        value += __shfl_down_sync(FULL_MASK, value, offset); // expect: warps/mask-32-bits
    return value;
}

__inline__ __device__ int block_sum(int value)
{
    static __shared__ int parts[WARP_SIZE]; // expect-opencl: memory/shared-static
    int lane = threadIdx.x % WARP_SIZE; // expect: warps/hard-coded-32
    int warp = threadIdx.x / WARP_SIZE; // expect: warps/hard-coded-32
    value = warp_sum(value);
    if (lane == 0)
        parts[warp] = value;
    __syncthreads();
    value = (threadIdx.x < blockDim.x / WARP_SIZE) ? parts[lane] : 0; // expect: warps/hard-coded-32
    if (warp == 0)
        value = warp_sum(value);
    return value;
}

__global__ void sum_kernel(const int *in, int *out, int n)
{
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(out, sum);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 16;
    int *host = (int *)malloc(n * sizeof(int)), *in, *out, result, expected = 0;
    for (int i = 0; i < n; ++i)
        expected += host[i] = i % 7 - 2;
    CHECK(cudaMalloc(&in, n * sizeof(int)));
    CHECK(cudaMalloc(&out, sizeof(int)));
    CHECK(cudaMemcpy(in, host, n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(out, 0, sizeof(int)));
    sum_kernel<<<64, 256>>>(in, out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost));
    printf(result == expected ? "PASSED\n" : "FAILED: %d\n", result);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    free(host);
    return result != expected;
}

// Half and bfloat16 sums, packed; conversions; an 8-bit dot product.
#include <cuda_bf16.h> // expect: language/bfloat16
#include <cuda_fp16.h>
#include <cstdio>
#include <cuda_runtime.h>
__global__ void scalar_product(const half2 *a, const half2 *b, float *out, size_t n) // expect-opencl: language/kernel-arguments
{
    half2 v = __float2half2_rn(0.f);
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) v = __hfma2(a[i], b[i], v);
    float f = __low2float(v) + __high2float(v);
    for (int d = 16; d; d /= 2) f += __shfl_down_sync(0xffffffff, f, d); // expect: warps/mask-32-bits
    if (threadIdx.x % 32 == 0) atomicAdd(out, f); // expect: warps/hard-coded-32, atomics/float-add
}
__global__ void relu(__nv_bfloat16 *x, const __half *y, __half2 *acc, int n) // expect: language/bfloat16
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = __hmax(x[i], __float2bfloat16(0.f)); // expect: language/half, language/bfloat16
        float f = __bfloat162float(x[i]) + __half2float(y[i]); // expect: language/bfloat16
        atomicAdd(&acc[0], __halves2half2(__float2half(f), y[i])); // expect: atomics/short-types
    }
}
__global__ void dot8(const int *a, const int *b, int *out, int n)
{
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum = __dp4a(a[i], b[i], sum); // expect: arithmetic/video-instructions
    sum = __vabsdiffu4(sum, 0x01020304); // expect: arithmetic/video-instructions
    atomicMax(out, sum);
}
int main()
{
    half2 *a; float *f; __nv_bfloat16 *x; int *i; // expect: language/bfloat16
    cudaMalloc(&a, 4096); cudaMalloc(&f, 4); cudaMalloc(&x, 4096); cudaMalloc(&i, 4096);
    scalar_product<<<1, 256>>>(a, a, f, 1024);
    relu<<<8, 256>>>(x, (const half *)a, a, 2048);
    dot8<<<1, 64>>>(i, i, i, 1024);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}

// A dot product in double-double, guarded by intrinsics that round each operation.
#include <cstdio>
#include <cuda_runtime.h>

struct pair {
    double high, low;
};

__device__ pair two_sum(double a, double b)
{
    const double s = a + b;
    const double t = s - a;
    const double e = (a - (s - t)) + (b - t);
    return {s, e};
}

__device__ pair two_product(double a, double b)
{
    const double p = a * b;
    return {p, __fma_rn(a, b, -p)};
}

__device__ double guarded(double a, double b, double c)
{
    return __dadd_rn(__dmul_rn(a, b), c); // expect: arithmetic/rounded-operations
}

__global__ void dot(const double *x, const double *y, double *out, int n)
{
    pair sum = {0.0, 0.0};
    for (int i = threadIdx.x; i < n; i += 64) {
        const pair p = two_product(x[i], y[i]);
        const pair s = two_sum(sum.high, p.high);
        sum.high = s.high;
        sum.low += s.low + p.low;
    }
    out[2 * threadIdx.x] = sum.high;
    out[2 * threadIdx.x + 1] = guarded(sum.low, 1.0, 0.0) * __frsqrt_rn(1.0f); // expect: arithmetic/frsqrt-rn
}

int main()
{
    const int n = 640;
    double x[n], y[n], out[128], *a, *b, *c;
    for (int i = 0; i < n; ++i)
        x[i] = 1.0 + i * 1e-10, y[i] = i % 2 ? -1.0 : 1.0;
    cudaMalloc(&a, sizeof x);
    cudaMalloc(&b, sizeof y);
    cudaMalloc(&c, sizeof out);
    cudaMemcpy(a, x, sizeof x, cudaMemcpyHostToDevice);
    cudaMemcpy(b, y, sizeof y, cudaMemcpyHostToDevice);
    dot<<<1, 64>>>(a, b, c, n);
    cudaMemcpy(out, c, sizeof out, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < 128; ++i)
        sum += out[i];
    const bool right = sum > -3.21e-8 && sum < -3.19e-8;
    printf(right ? "PASSED\n" : "FAILED: %.17g\n", sum);
    return !right;
}

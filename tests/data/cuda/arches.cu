// One source for many architectures: branches on __CUDA_ARCH__, fallbacks of one's own.
#include <cstdio>
#include <cuda_runtime.h>
#include <limits>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
__device__ double atomicAdd(double *address, double val)
{
    unsigned long long int *p = (unsigned long long int *)address, old = *p, assumed;
    do {
        assumed = old;
        old = atomicCAS(p, assumed, __double_as_longlong(val + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}
#endif
__device__ __forceinline__ float atomicMaxFloat(float *p, float v)
{
    return v >= 0 ? __int_as_float(atomicMax((int *)p, __float_as_int(v)))
                  : __uint_as_float(atomicMin((unsigned *)p, __float_as_uint(v)));
}
template <typename T> struct SharedMemory;
template <> struct SharedMemory<float> { __device__ operator float *() { extern __shared__ float s_float[]; return s_float; } }; // expect-opencl: memory/shared-static
template <> struct SharedMemory<double> { __device__ operator double *() { extern __shared__ double s_double[]; return s_double; } }; // expect-opencl: memory/shared-static
template <class T, unsigned int blockSize> // expect-opencl: language/templates
__global__ void reduce(const T *in, T *out, unsigned int n)
{
    T *s = SharedMemory<T>();
    unsigned int tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + tid;
    T sum = i < n ? in[i] : T(0);
    if (i + blockSize < n) sum += in[i + blockSize];
    s[tid] = sum;
    __syncthreads();
    if (blockSize >= 256) { if (tid < 128) s[tid] = sum = sum + s[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) s[tid] = sum = sum + s[tid + 64]; __syncthreads(); }
#if (__CUDA_ARCH__ >= 300) // expect: language/cuda-arch
    if (tid < 32) {
        if (blockSize >= 64) sum += s[tid + 32];
        for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffU, sum, offset);
    }
#else
    if (tid < 32) { s[tid] = sum = sum + s[tid + 32]; }
    __syncthreads();
#endif
    if (tid == 0) atomicAdd(out, sum);
}
__global__ void largest(const float *x, float *out, int n)
{
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, x[i]);
    atomicMaxFloat(out, m);
}
int main()
{
    double *d; float *f;
    cudaMalloc(&d, 8192); cudaMalloc(&f, 8192);
    reduce<double, 256><<<2, 256, 256 * sizeof(double)>>>(d, d + 1000, 1000);
    reduce<float, 256><<<2, 256, 256 * sizeof(float)>>>(f, f + 1000, 1000);
    largest<<<1, 128>>>(f, f + 1001, 1000);
    int runtime = 0, driver = 0;
    cudaRuntimeGetVersion(&runtime); cudaDriverGetVersion(&driver);
    printf("%d %d %d\n", CUDART_VERSION, runtime, driver); // expect: language/cuda-arch
}

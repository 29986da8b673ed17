/*
 * Vector addition with every call checked, in float and in double, with a grid-stride loop.
 *
 * Usage: vector_add [elements] [repetitions]
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#define CUDA_CHECK(expr)                                                                           \
    do {                                                                                           \
        const cudaError_t err_ = (expr);                                                           \
        if (err_ != cudaSuccess) {                                                                 \
            std::fprintf(stderr, "%s:%d: %s failed: %s (%s)\n", __FILE__, __LINE__, #expr,         \
                         cudaGetErrorName(err_), cudaGetErrorString(err_));                        \
            std::exit(EXIT_FAILURE);                                                               \
        }                                                                                          \
    } while (0)

#define DIV_UP(a, b) (((a) + (b)-1) / (b))

template <typename T> // expect-opencl: language/templates
__global__ void vector_add(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c,
                           size_t n) // expect-opencl: language/kernel-arguments
{
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<size_t>(gridDim.x) * blockDim.x)
        c[i] = a[i] + b[i];
}

template <typename T> static bool run(size_t n, int repetitions)
{
    std::vector<T> a(n), b(n), c(n);
    std::iota(a.begin(), a.end(), T(1));
    std::transform(a.begin(), a.end(), b.begin(), [](T x) { return T(0.5) * x; });

    T *da = nullptr, *db = nullptr, *dc = nullptr;
    const size_t bytes = n * sizeof(T);
    CUDA_CHECK(cudaMalloc(&da, bytes));
    CUDA_CHECK(cudaMalloc(&db, bytes));
    CUDA_CHECK(cudaMalloc(&dc, bytes));
    CUDA_CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));

    int grid = 0, block = 0;
    CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, vector_add<T>, 0, 0));
    grid = std::min<size_t>(grid, DIV_UP(n, block));

    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    for (int i = 0; i < repetitions; ++i)
        vector_add<T><<<grid, block>>>(da, db, dc, n);
    CUDA_CHECK(cudaPeekAtLastError());
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    std::printf("%zu elements of %zu bytes: %.3f GB/s\n", n, sizeof(T),
                3e-6 * bytes * repetitions / ms);

    CUDA_CHECK(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < n; ++i)
        wrong += std::fabs(c[i] - (a[i] + b[i])) > 0;
    for (T *p : {da, db, dc})
        CUDA_CHECK(cudaFree(p));
    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    return wrong == 0;
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;
    const int repetitions = argc > 2 ? std::atoi(argv[2]) : 10;
    int count = 0;
    CUDA_CHECK(cudaGetDeviceCount(&count));
    for (int d = 0; d < count; ++d) {
        cudaDeviceProp prop;
        CUDA_CHECK(cudaGetDeviceProperties(&prop, d));
        size_t free_bytes, total;
        CUDA_CHECK(cudaSetDevice(d));
        CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total));
        std::printf("%d: %s, %d.%d, %zu of %zu bytes free\n", d, prop.name, prop.major, prop.minor,
                    free_bytes, total);
    }
    CUDA_CHECK(cudaSetDevice(0));
    const bool right = run<float>(n, repetitions) && run<double>(n, repetitions);
    std::puts(right ? "PASSED" : "FAILED");
    CUDA_CHECK(cudaDeviceReset());
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

// Copies and kernels overlapped over streams; mapped memory; a callback.
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>
#include <cuda_runtime.h>
#include "helper_cuda.h" // expect: debugging/error-checks
struct Freed { void operator()(void *p) const { cudaFreeHost(p); } };
__global__ void work(float *x, int n, int loops)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        for (int k = 0; k < loops; ++k) v = __fdividef(v, 1.5f) + __sinf(v); // expect: mathematics/fast-intrinsics
        x[i] = v;
    }
}
void CUDART_CB done(cudaStream_t, cudaError_t status, void *data) { *static_cast<int *>(data) += status == cudaSuccess; }
int main()
{
    const int n = 1 << 20, parts = 4;
    float *raw, *device, *mapped;
    checkCudaErrors(cudaHostAlloc(&raw, n * sizeof(float), cudaHostAllocMapped | cudaHostAllocPortable)); // expect: debugging/error-checks
    std::unique_ptr<float, Freed> host(raw);
    checkCudaErrors(cudaMalloc(&device, n * sizeof(float))); // expect: debugging/error-checks
    cudaHostGetDevicePointer(&mapped, raw, 0); // expect: host/pointer-to-pointer
    std::vector<cudaStream_t> streams(parts);
    cudaEvent_t begin, end, ready;
    cudaEventCreate(&begin); cudaEventCreate(&end);
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming | cudaEventInterprocess);
    int low, high, finished = 0;
    cudaDeviceGetStreamPriorityRange(&low, &high);
    for (auto &s : streams) cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, high);
    cudaEventRecord(begin);
    for (int i = 0; i < parts; ++i) {
        size_t at = size_t(i) * n / parts, bytes = n / parts * sizeof(float);
        cudaMemcpyAsync(device + at, raw + at, bytes, cudaMemcpyDefault, streams[i]);
        work<<<dim3{128}, dim3{256}, 0, streams[i]>>>(device + at, n / parts, 20);
        cudaMemcpyAsync(raw + at, device + at, bytes, cudaMemcpyDefault, streams[i]);
        cudaStreamAddCallback(streams[i], done, &finished, 0);
        cudaEventRecord(ready, streams[i]);
        cudaStreamWaitEvent(nullptr, ready); // expect: host/default-arguments
    }
    cudaEventRecord(end, cudaStreamLegacy); // expect: host/default-stream
    while (cudaEventQuery(end) == cudaErrorNotReady) {}
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    for (auto s : streams) { cudaStreamSynchronize(s); cudaStreamDestroy(s); }
    std::printf("%f %d\n", ms, finished);
    cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20); // expect: host/limits
}

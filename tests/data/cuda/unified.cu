// Managed memory with advice and prefetching, over all devices; peers.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
__global__ void scale(float *x, size_t n, float by) { size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; if (i < n) x[i] *= by; } // expect-opencl: language/kernel-arguments
int main()
{
    int count = 0, access = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || !count) { puts("no device"); return EXIT_SUCCESS; }
    const size_t n = 1 << 22;
    float *x;
    cudaMallocManaged(&x, n * sizeof *x); // expect: host/managed
    std::vector<std::thread> threads;
    for (int d = 0; d < count; ++d)
        threads.emplace_back([=] {
            cudaSetDevice(d);
            size_t part = n / count;
            float *mine = x + d * part;
#if CUDART_VERSION >= 13000 // expect: language/cuda-arch
            cudaMemLocation where = {cudaMemLocationTypeDevice, d};
            cudaMemAdvise(mine, part * sizeof *x, cudaMemAdviseSetPreferredLocation, where);
            cudaMemPrefetchAsync(mine, part * sizeof *x, where, 0, cudaStreamPerThread);
#else
            cudaMemAdvise(mine, part * sizeof *x, cudaMemAdviseSetPreferredLocation, d);
            cudaMemPrefetchAsync(mine, part * sizeof *x, d, cudaStreamPerThread);
#endif
            scale<<<(part + 255) / 256, 256, 0, cudaStreamPerThread>>>(mine, part, 2.f);
            cudaStreamSynchronize(cudaStreamPerThread);
        });
    for (auto &t : threads) t.join();
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < count; ++j)
            if (i != j && cudaDeviceCanAccessPeer(&access, i, j) == cudaSuccess && access) {
                cudaSetDevice(i);
                cudaDeviceEnablePeerAccess(j, 0);
                cudaMemcpyPeerAsync(x, i, x + 1, j, 4);
            }
    size_t free_bytes, all;
    cudaMemGetInfo(&free_bytes, &all);
    cudaPointerAttributes about;
    cudaPointerGetAttributes(&about, x);
    printf("%zu %d %d\n", free_bytes, about.type == cudaMemoryTypeManaged, about.device); // expect: host/pointer-attributes, host/names
    cudaFree(x);
}

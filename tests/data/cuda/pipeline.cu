// Copies and kernels that overlap: pinned and registered memory, streams of two priorities, events,
// a graph, a stream-ordered pool, managed memory, a callback of the host.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>

static void fail(const char *file, int line, cudaError_t code)
{
    fprintf(stderr, "%s(%d): error %d, %s\n", file, line, (int)code, cudaGetErrorString(code));
    cudaDeviceReset();
    exit(1);
}
#define gpuErrchk(ans)                                                                             \
    {                                                                                              \
        cudaError_t code = (ans);                                                                  \
        if (code != cudaSuccess)                                                                   \
            fail(__FILE__, __LINE__, code);                                                        \
    }

static std::atomic<int> callbacks{0};

static void CUDART_CB finished(void *data) { callbacks += *static_cast<int *>(data); }

static void CUDART_CB added(cudaStream_t, cudaError_t status, void *)
{
    callbacks += status == cudaSuccess;
}

__global__ void triad(float *a, const float *b, const float *c, float s, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n)
        a[i] = b[i] + s * c[i];
}

__managed__ int launches = 0; // expect-opencl: memory/device-variables

__global__ void count_launch() { atomicAdd_system(&launches, 1); }

int main()
{
    const int n = 1 << 18, chunk = n / 8;
    const size_t bytes = n * sizeof(float);
    int low, high, one = 1;
    gpuErrchk(cudaDeviceGetStreamPriorityRange(&low, &high));
    cudaStream_t copying, computing;
    gpuErrchk(cudaStreamCreateWithPriority(&copying, cudaStreamNonBlocking, low));
    gpuErrchk(cudaStreamCreateWithPriority(&computing, cudaStreamNonBlocking, high));

    float *pinned, *mapped, *a, *b, *c;
    gpuErrchk(cudaHostAlloc((void **)&pinned, bytes, cudaHostAllocDefault));
    gpuErrchk(cudaHostAlloc((void **)&mapped, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
    std::vector<float> pageable(n, 3.0f);
    gpuErrchk(cudaHostRegister(pageable.data(), bytes, cudaHostRegisterDefault));
    for (int i = 0; i < n; ++i)
        pinned[i] = i, mapped[i] = 2;
    gpuErrchk(cudaMallocAsync((void **)&a, bytes, computing));
    gpuErrchk(cudaMalloc((void **)&b, bytes));
    gpuErrchk(cudaHostGetDevicePointer((void **)&c, mapped, 0));
    gpuErrchk(cudaStreamSynchronize(computing));

    std::vector<cudaEvent_t> there(8);
    cudaProfilerStart();
    for (int p = 0; p < 8; ++p) {
        const int at = p * chunk;
        gpuErrchk(cudaEventCreateWithFlags(&there[p], cudaEventDisableTiming));
        gpuErrchk(cudaMemcpyAsync(b + at, pinned + at, chunk * sizeof(float),
                                  cudaMemcpyHostToDevice, copying));
        gpuErrchk(cudaEventRecord(there[p], copying));
        gpuErrchk(cudaStreamWaitEvent(computing, there[p])); // expect: host/default-arguments
        triad<<<(chunk + 127) / 128, 128, 0, computing>>>(a + at, b + at, c + at, 0.5f, chunk);
    }
    gpuErrchk(cudaMemcpyAsync(pageable.data(), a, bytes, cudaMemcpyDeviceToHost, computing));
    gpuErrchk(cudaLaunchHostFunc(computing, finished, &one));
    gpuErrchk(cudaStreamAddCallback(computing, added, nullptr, 0));
    gpuErrchk(cudaStreamSynchronize(computing));
    cudaProfilerStop();
    int wrong = callbacks != 2;
    for (int i = 0; i < n; ++i)
        wrong += pageable[i] != i + 0.5f * 2;

    cudaGraph_t graph;
    cudaGraphExec_t instance;
    gpuErrchk(cudaStreamBeginCapture(computing, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 4; ++i)
        count_launch<<<1, 32, 0, computing>>>(); // expect: warps/half-empty-waves
    gpuErrchk(cudaStreamEndCapture(computing, &graph));
    gpuErrchk(cudaGraphInstantiate(&instance, graph, NULL, NULL, 0));
    for (int i = 0; i < 3; ++i)
        gpuErrchk(cudaGraphLaunch(instance, computing));
    while (cudaStreamQuery(computing) == cudaErrorNotReady)
        std::this_thread::yield();
    wrong += launches != 4 * 3 * 32;

    float *managed;
    int device;
    gpuErrchk(cudaGetDevice(&device));
    gpuErrchk(cudaMallocManaged(&managed, bytes)); // expect: host/managed
    for (int i = 0; i < n; ++i)
        managed[i] = 1;
#if CUDART_VERSION < 13000 // expect: language/cuda-arch
    gpuErrchk(cudaMemAdvise(managed, bytes, cudaMemAdviseSetPreferredLocation, device));
    gpuErrchk(cudaMemPrefetchAsync(managed, bytes, device, computing));
#endif
    triad<<<(n + 255) / 256, 256, 0, computing>>>(managed, managed, b, 1.f, n);
    gpuErrchk(cudaStreamSynchronize(computing));
    for (int i = 0; i < n; ++i)
        wrong += managed[i] != 1.f + i;

    gpuErrchk(cudaFreeAsync(a, computing));
    gpuErrchk(cudaGraphExecDestroy(instance));
    gpuErrchk(cudaGraphDestroy(graph));
    gpuErrchk(cudaHostUnregister(pageable.data()));
    gpuErrchk(cudaFreeHost(pinned));
    gpuErrchk(cudaFreeHost(mapped));
    gpuErrchk(cudaFree(managed));
    gpuErrchk(cudaStreamDestroy(copying));
    gpuErrchk(cudaStreamDestroy(computing));
    puts(wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}

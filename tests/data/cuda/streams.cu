// Copies and kernels that overlap: pinned memory, streams, events, a graph of a capture.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(float *x, float by, int n)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}

int main()
{
    const int n = 1 << 16, parts = 4, size = n / parts;
    float *host, *device;
    cudaStream_t streams[parts];
    cudaEvent_t done;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    printf("%s, %d units\n", properties.name, properties.multiProcessorCount);
    if (properties.major >= 7) // expect: host/device-properties
        printf("Volta or newer\n");
    cudaMallocHost((void **)&host, n * sizeof(float));
    cudaMalloc((void **)&device, n * sizeof(float));
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    for (int i = 0; i < n; ++i)
        host[i] = i;
    for (int p = 0; p < parts; ++p) {
        cudaStreamCreateWithFlags(&streams[p], cudaStreamNonBlocking);
        float *from = host + p * size, *to = device + p * size;
        cudaMemcpyAsync(to, from, size * sizeof(float), cudaMemcpyHostToDevice, streams[p]);
        scale<<<(size + 255) / 256, 256, 0, streams[p]>>>(to, 2.0f, size);
        cudaMemcpyAsync(from, to, size * sizeof(float), cudaMemcpyDeviceToHost, streams[p]);
    }
    cudaEventRecord(done, streams[0]);
    cudaStreamWaitEvent(streams[1], done, 0);
    cudaDeviceSynchronize();
    cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal);
    scale<<<(n + 255) / 256, 256, 0, streams[0]>>>(device, 0.5f, n);
    cudaStreamEndCapture(streams[0], &graph);
    cudaGraphInstantiate(&exec, graph, 0); // expect: host/graphs
    cudaGraphLaunch(exec, streams[0]);
    cudaStreamSynchronize(streams[0]);
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += host[i] != 2.0f * i;
    printf(wrong ? "FAILED\n" : "PASSED\n");
    for (int p = 0; p < parts; ++p)
        cudaStreamDestroy(streams[p]);
    cudaFreeHost(host);
    cudaFree(device);
    return wrong != 0;
}

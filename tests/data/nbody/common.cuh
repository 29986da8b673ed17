// What the three programs share: bodies, a check in float64 on the host, the time by events.
#ifndef COMMON_CUH
#define COMMON_CUH

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

typedef float4 position;
typedef float4 acceleration;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

typedef void (*Kernel)(const position *, acceleration *, int, const position *, float);

static int run(Kernel calc_acc, int threads)
{
    const int n = 4096;
    const float eps = 0.03125f;
    position *host, *bodies;
    acceleration *result, *device;
    CHECK(cudaMallocHost((void **)&host, n * sizeof(position)));
    CHECK(cudaMallocHost((void **)&result, n * sizeof(acceleration)));
    CHECK(cudaMalloc((void **)&bodies, n * sizeof(position)));
    CHECK(cudaMalloc((void **)&device, n * sizeof(acceleration)));
    for (int i = 0; i < n; ++i) {
        host[i].x = sinf(12.9898f * i);
        host[i].y = sinf(78.233f * i + 1.0f);
        host[i].z = sinf(37.719f * i + 2.0f);
        host[i].w = 1.0f / n;
    }
    CHECK(cudaMemcpy(bodies, host, n * sizeof(position), cudaMemcpyHostToDevice));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin, 0));
    calc_acc<<<dim3(n / threads), dim3(threads)>>>(bodies, device, n, bodies, eps);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end, 0));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    CHECK(cudaMemcpy(result, device, n * sizeof(acceleration), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int i = 0; i < n; i += 61) {
        double x = 0, size = 0;
        for (int j = 0; j < n; ++j) {
            const double dx = (double)host[j].x - host[i].x, dy = (double)host[j].y - host[i].y;
            const double dz = (double)host[j].z - host[i].z;
            const double r2 = dx * dx + dy * dy + dz * dz + (double)eps * eps;
            x += dx * host[j].w / (r2 * sqrt(r2));
            size += fabs(dx) * host[j].w / (r2 * sqrt(r2));
        }
        worst = fmax(worst, fabs(x - result[i].x) / size);
    }
    printf("%g ms, error %g of the terms: %s\n", milliseconds, worst,
           worst < 1e-5 ? "PASSED" : "FAILED");
    CHECK(cudaFreeHost(host));
    CHECK(cudaFreeHost(result));
    CHECK(cudaFree(bodies));
    CHECK(cudaFree(device));
    return !(worst < 1e-5);
}

#endif

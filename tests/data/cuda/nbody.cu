// All pairs of bodies, sources by tiles of shared memory, times by events.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK 128
#define SOFTENING 1e-3f

__device__ float3 interaction(float4 target, float4 source, float3 a)
{
    const float dx = source.x - target.x, dy = source.y - target.y, dz = source.z - target.z;
    const float r2 = dx * dx + dy * dy + dz * dz + SOFTENING;
    const float inverse = rsqrtf(r2);
    const float strength = source.w * inverse * inverse * inverse;
    a.x += dx * strength;
    a.y += dy * strength;
    a.z += dz * strength;
    return a;
}

__global__ void __launch_bounds__(BLOCK, 4) accelerations(const float4 *bodies, float3 *a, int n) // expect: launch/launch-bounds-second
{ // expect-opencl: language/vec3-size @-1
    __shared__ float4 tile[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int first = 0; first < n; first += BLOCK) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK; ++j)
            sum = interaction(bodies[i], tile[j], sum);
        __syncthreads();
    }
    a[i] = sum;
}

int main()
{
    const int n = 1024;
    float4 *bodies = (float4 *)malloc(n * sizeof(float4)), *device_bodies;
    float3 *a = (float3 *)malloc(n * sizeof(float3)), *device_a;
    for (int i = 0; i < n; ++i)
        bodies[i] = make_float4(cosf(i), sinf(1.7f * i), cosf(0.3f * i + 1), 1.0f / n);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaMalloc(&device_bodies, n * sizeof(float4));
    cudaMalloc(&device_a, n * sizeof(float3));
    cudaMemcpy(device_bodies, bodies, n * sizeof(float4), cudaMemcpyHostToDevice);
    cudaEventRecord(begin, 0);
    accelerations<<<n / BLOCK, BLOCK>>>(device_bodies, device_a, n);
    cudaEventRecord(end, 0);
    cudaEventSynchronize(end);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    cudaMemcpy(a, device_a, n * sizeof(float3), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; i += 37) {
        double x = 0;
        for (int j = 0; j < n; ++j) {
            const double dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y;
            const double dz = bodies[j].z - bodies[i].z;
            x += dx * bodies[j].w / pow(dx * dx + dy * dy + dz * dz + SOFTENING, 1.5);
        }
        wrong += !(fabs(x - a[i].x) < 1e-4 * (1 + fabs(x)));
    }
    printf("%f ms\n%s\n", milliseconds, wrong ? "FAILED" : "PASSED");
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return wrong != 0;
}

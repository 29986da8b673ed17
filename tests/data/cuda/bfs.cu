// Breadth-first search level by level, with a queue that is filled by atomics.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void expand(
    const int *offsets, const int *edges, int *level, const int *queue, int count, int *next,
    int *next_count, int depth)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const int node = queue[i];
    for (int e = offsets[node]; e < offsets[node + 1]; ++e) {
        const int other = __ldg(&edges[e]);
        if (atomicCAS(&level[other], -1, depth + 1) == -1)
            next[atomicAdd(next_count, 1)] = other;
    }
}

int main()
{
    const int side = 64, n = side * side;
    int *offsets, *edges, *level, *queue, *next, *next_count;
    cudaMallocManaged(&offsets, (n + 1) * sizeof(int)); // expect: host/managed
    cudaMallocManaged(&edges, 4 * n * sizeof(int)); // expect: host/managed
    cudaMallocManaged(&level, n * sizeof(int)); // expect: host/managed
    cudaMallocManaged(&queue, n * sizeof(int)); // expect: host/managed
    cudaMallocManaged(&next, n * sizeof(int)); // expect: host/managed
    cudaMallocManaged(&next_count, sizeof(int)); // expect: host/managed
    int count = 0;
    for (int i = 0; i < n; ++i) {
        const int x = i % side, y = i / side;
        offsets[i] = count;
        if (x > 0)
            edges[count++] = i - 1;
        if (x < side - 1)
            edges[count++] = i + 1;
        if (y > 0)
            edges[count++] = i - side;
        if (y < side - 1)
            edges[count++] = i + side;
        level[i] = -1;
    }
    offsets[n] = count;
    level[0] = 0;
    queue[0] = 0;
    int waiting = 1;
    for (int depth = 0; waiting > 0; ++depth) {
        *next_count = 0;
        expand<<<(waiting + 127) / 128, 128>>>(
            offsets, edges, level, queue, waiting, next, next_count, depth);
        cudaDeviceSynchronize();
        waiting = *next_count;
        int *other = queue;
        queue = next;
        next = other;
    }
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += level[i] != i % side + i / side;
    printf(wrong ? "FAILED\n" : "PASSED\n");
    return wrong != 0;
}

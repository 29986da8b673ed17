// Quicksort by kernels that launch kernels, with device-side malloc and printf.
#include <cstdio>
#include <cuda_runtime.h>
#define MAX_DEPTH 16
#define INSERTION 32
__device__ void selection(unsigned *data, int left, int right)
{
    for (int i = left; i <= right; ++i) {
        unsigned least = data[i]; int at = i;
        for (int j = i + 1; j <= right; ++j) if (data[j] < least) { at = j; least = data[j]; }
        if (i != at) { data[at] = data[i]; data[i] = least; }
    }
}
__global__ void quick(unsigned *data, int left, int right, int depth)
{
    if (depth >= MAX_DEPTH || right - left <= INSERTION) { selection(data, left, right); return; }
    unsigned *l = data + left, *r = data + right, pivot = data[(left + right) / 2];
    while (l <= r) {
        unsigned a = *l, b = *r;
        while (a < pivot) { l++; a = *l; }
        while (b > pivot) { r--; b = *r; }
        if (l <= r) { *l++ = b; *r-- = a; }
    }
    int nright = l - data, nleft = r - data;
    if (left < nleft) {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); // expect: language/launch-in-kernel
        quick<<<1, 1, 0, s>>>(data, left, nleft, depth + 1); // expect: language/launch-in-kernel
        cudaStreamDestroy(s); // expect: language/launch-in-kernel
    }
    if (nright < right) {
        cudaStream_t s1;
        cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking); // expect: language/launch-in-kernel
        quick<<<1, 1, 0, s1>>>(data, nright, right, depth + 1); // expect: language/launch-in-kernel
        cudaStreamDestroy(s1); // expect: language/launch-in-kernel
    }
}
struct List { int value; List *next; };
__global__ void lists(int *out)
{
    List *head = nullptr;
    for (int i = 0; i < 3; ++i) {
        auto *one = (List *)malloc(sizeof(List)); // expect: language/device-malloc
        if (!one) { printf("no memory in thread %d\n", threadIdx.x); return; } // expect: language/thread-index-type
        *one = {i, head};
        head = one;
    }
    int *more = new int[4]; // expect: language/device-malloc
    more[0] = head->value;
    out[threadIdx.x] = more[0];
    delete[] more;
    while (head) { List *next = head->next; free(head); head = next; }
}
int main()
{
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20); // expect: host/limits
    cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 4096); // expect: host/limits, host/limits
    const int n = 5000;
    unsigned *d;
    cudaMalloc(&d, n * 4);
    quick<<<1, 1>>>(d, 0, n - 1, 0);
    lists<<<1, 64>>>((int *)d);
    return cudaDeviceSynchronize();
}
